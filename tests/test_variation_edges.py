"""Who rates higher, and what varies: pairs and parts, honest edges, bad input, results and the command line."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from support import run_cli
from variation_studies import FEW, dominant, fitted, groups_of, lenient, rows_of, study


def again(ratings: pv.Ratings, raters: pl.DataFrame | None = None, frame: pl.DataFrame | None = None) -> pv.Ratings:
    """Return the study with other raters, or with some of its rows."""
    rows = ratings.to_frame().select("item", "rater", "score") if frame is None else frame
    return pv.Ratings.from_frame(rows, scale=ratings.scale, raters=ratings.raters if raters is None else raters)


# Contrasts, pairs, parts of the items, raters one by one --------------------------------------------------------------
def test_pairs_and_contrasts_are_two_groups_alone_on_the_same_items() -> None:
    ratings = study(14, "mixed")
    rows, group = rows_of(ratings), groups_of(ratings, "g")
    found = pv.variation(ratings, "g", permutations=40, min_group_size=1, pairs=True, contrast=("z", "x"))
    pairs = found.pairs()
    assert pairs.select("group", "other").unique(maintain_order=True).rows() == [("x", "y"), ("x", "z"), ("y", "z")]
    for row in pairs.iter_rows(named=True):
        two = {rater: own if own in (row["group"], row["other"]) else None for rater, own in group.items()}
        literal = lenient if row["statistic"] == "leniency" else dominant
        assert row["value"] == pytest.approx(literal(rows, two, row["group"]), abs=1e-10)
        assert row["ci_low"] < row["value"] < row["ci_high"]
        assert row["n_raters"] == sum(own is not None for own in two.values())
    contrast = found.row("g", "z − x", "leniency")
    beside = pairs.filter((pl.col("other") == "z") & (pl.col("group") == "x") & (pl.col("statistic") == "leniency"))
    assert contrast.value == pytest.approx(-beside["value"][0], abs=1e-12)
    assert contrast.ci_low == pytest.approx(-beside["ci_high"][0], abs=1e-10)
    only = ratings.raters.filter(pl.col("g").is_in(["x", "z"]))
    frame = ratings.to_frame().select("item", "rater", "score").join(only.select("rater"), on="rater")
    apart = again(ratings, only, frame)
    alone = pv.variation(apart, "g", permutations=0, min_group_size=1).row("g", "x", "leniency")
    assert alone.value == pytest.approx(beside["value"][0], abs=1e-10)
    assert alone.ci_low == pytest.approx(beside["ci_low"][0], abs=0.01)  # other blocks of ratings are left out


def test_parts_of_the_items_are_as_if_there_were_no_others() -> None:
    ratings = study(15, n_items=30, missing=0.3)
    found = pv.variation(ratings, "g", permutations=0, min_group_size=1, items_by="topic", adjust=True)
    topics = dict(ratings.items.rows())
    frame = ratings.to_frame().select("item", "rater", "score")
    for topic in "ab":
        own = frame.filter(pl.col("item").replace_strict(topics) == topic)
        alone = pv.variation(again(ratings, frame=own), "g", permutations=0, min_group_size=1, adjust=True)
        here = found.to_frame().filter(pl.col("subset") == topic)
        assert here["value"].to_list() == pytest.approx(alone.to_frame()["value"].to_list(), abs=1e-10)
        for table in ("components", "reliability", "needed", "adjusted"):
            got = getattr(found, table)().filter(pl.col("subset") == topic).drop("subset")
            wanted = getattr(alone, table)().drop("subset")
            numbers = [name for name, kind in wanted.schema.items() if kind == pl.Float64]
            assert np.allclose(got.select(numbers).to_numpy(), wanted.select(numbers).to_numpy(), equal_nan=True), table


def test_raters_one_by_one() -> None:
    ratings = study(16)
    rows, each = rows_of(ratings), {rater: str(rater) for rater in range(ratings.n_raters)}
    found = pv.variation(ratings, ["rater"], permutations=20, ids=True)
    assert found.adjusted().is_empty()
    own = [row for row in found.rows if row.kind == "rater"]
    assert len(own) == 2 * ratings.n_raters
    assert all(row.p_value is None for row in own)
    for row in own[:12]:
        literal = lenient if row.statistic == "leniency" else dominant
        assert row.value == pytest.approx(literal(rows, each, row.group), abs=1e-10)
    assert any(row.ci_low is not None and row.ci_low < row.value < (row.ci_high or 0) for row in own)


def test_overlapping_groups_against_least_squares() -> None:
    ratings = study(17, n_raters=30, missing=0.2)
    rng = np.random.default_rng(17)
    sets = [set(rng.choice(["a", "b", "c"], size=rng.integers(1, 3), replace=False).tolist()) for _ in range(30)]
    sets[4] = set()
    frame = ratings.raters.with_columns(pl.Series("race", ["; ".join(sorted(own)) for own in sets]))
    ratings = again(ratings, frame)
    found = pv.variation(ratings, "race", several={"race": ";"}, permutations=30, min_group_size=1, adjust=True)
    rows = rows_of(ratings)
    for value in "abc":
        group = {rater: None if not own else value if value in own else "others" for rater, own in enumerate(sets)}
        row = found.row("race", value, "leniency")
        assert row.value == pytest.approx(lenient(rows, group, value), abs=1e-10)
        assert found.value("race", value, "dominance") == pytest.approx(dominant(rows, group, value), abs=1e-12)
        assert row.n_raters == sum(value in own for own in sets)
        assert row.p_value is not None
    assert set(found.components()["axis"]) == {"all"}  # no variance lies between groups that overlap
    assert found.adjusted().is_empty()
    assert {"a", "b", "c"} <= set(found.reliability()["group"])
    with pytest.raises(pv.InputError, match="cannot be compared in pairs"):
        pv.variation(ratings, "race", several={"race": ";"}, pairs=True)


def test_shuffles_within_an_attribute_that_decides_leave_nothing_to_test() -> None:
    ratings = study(18, n_raters=30)
    found = pv.variation(ratings, "g", permutations=30, min_group_size=1, within="g", interval="none")
    row = found.row("g", "x", "leniency")
    assert row.p_value is None or math.isnan(row.p_value)
    assert row.value == pytest.approx(lenient(rows_of(ratings), groups_of(ratings, "g"), "x"), abs=1e-10)
    assert row.note


def test_withheld_groups_stay_in_the_rest() -> None:
    ratings = study(19, n_raters=31)
    g = ["x"] * 12 + ["y"] * 9 + ["z"] * 7 + ["tiny"] * 3
    ratings = again(ratings, pl.DataFrame({"rater": range(31), "g": g}))
    every = pv.variation(ratings, "g", **FEW)
    found = pv.variation(ratings, "g", permutations=20, pairs=True, adjust=True, min_group_size=5)
    shown = {row.group for row in found.rows}
    assert "tiny" not in shown
    assert len(shown) == 2  # the smallest of the others would reveal the tiny one
    for group in shown:
        assert found.value("g", group, "leniency") == every.value("g", group, "leniency")
    tables = (found.adjusted(), found.reliability(), found.needed(), found.pairs())
    hidden = {"x", "y", "z", "tiny"} - shown
    assert not any(hidden & set(table["group"]) for table in tables)
    assert not hidden & set(found.pairs()["other"])
    assert found.withheld == {"g": 2}
    with pytest.raises(pv.InputError, match="has no group 'tiny' to use as the reference, or it is withheld"):
        pv.variation(ratings, "g", adjust=True, reference={"g": "tiny"}, permutations=0)


# Honest edges ---------------------------------------------------------------------------------------------------------
def made(scores: dict[str, list[int | None]], n_points: int = 5, **attributes: str) -> pv.Ratings:
    """A table written by hand: rater → scores of items 0, 1, 2, …; attributes as one letter per rater."""
    rows = [(i, rater, score) for rater, own in scores.items() for i, score in enumerate(own) if score is not None]
    frame = pl.DataFrame(rows, schema={"item": pl.Int64, "rater": pl.String, "score": pl.Int64}, orient="row")
    raters = pl.DataFrame({"rater": list(scores), **{name: list(text) for name, text in attributes.items()}})
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, n_points - 1), raters=raters)


EDGE: dict[str, Any] = {"permutations": 19, "min_group_size": 1, "adjust": True, "pairs": True}


def defined_or_noted(found: pv.Variation) -> None:
    """Everything that is undefined has a reason, and every result can be said, printed and kept."""
    for row in found.to_frame().iter_rows(named=True):
        assert not math.isnan(row["value"]) or row["note"]
    for row in found.components().iter_rows(named=True):
        assert not math.isnan(row["variance"]) or row["note"]
    for row in found.adjusted().iter_rows(named=True):
        assert not math.isnan(row["effect"]) or row["note"]
    for row in (*found.reliability().iter_rows(named=True), *found.needed().iter_rows(named=True)):
        assert not math.isnan(row["relative"]) or row["note"]
    assert all(one.text and "nan" not in one.text.split() for one in found.statements())
    assert pv.Variation.from_json(found.to_json()).to_json() == found.to_json()


def test_one_group() -> None:
    found = pv.variation(made({"a": [1, 2, 3], "b": [2, 2, 4], "c": [0, 1, 4]}, g="xxx"), "g", **EDGE)
    row = found.row("g", "x", "leniency")
    assert math.isnan(row.value)
    assert row.note == "no item was rated by this group and by others"
    own = found.components().filter(pl.col("axis") == "g")
    assert own["variance"].is_nan().all()
    assert own["note"][0] == "there is only one group"
    assert found.components().filter(pl.col("axis") == "all")["variance"].is_not_nan().all()
    defined_or_noted(found)


def test_one_item_one_rater_and_groups_of_single_raters() -> None:
    found = pv.variation(made({"a": [1], "b": [2], "c": [4], "d": [4]}, g="xxyy"), "g", **EDGE)
    assert found.value("g", "x", "leniency") == pytest.approx(1.5 - 4)
    assert found.value("g", "x", "dominance") == 0
    assert found.components()["note"][0] == "there is only one item"
    defined_or_noted(found)
    found = pv.variation(made({"a": [1, 2, 3]}, g="x"), "g", **EDGE)
    assert math.isnan(found.value("g", "x", "leniency"))
    assert found.components()["note"][0] == "there is only one rater"
    defined_or_noted(found)
    found = pv.variation(made({"a": [1, 2, 3], "b": [2, 2, 4], "c": [0, 1, 4]}, g="xyz"), "g", **EDGE)
    assert found.value("g", "x", "leniency") == pytest.approx(np.mean([1 - 1, 2 - 1.5, 3 - 4]))
    defined_or_noted(found)


ISLANDS: dict[str, list[int | None]] = {
    "a": [1, 2, None, None], "b": [2, 4, None, None], "c": [None, None, 0, 3], "d": [None, None, 1, 4],
}  # fmt: skip


def test_raters_of_a_single_group_for_each_item() -> None:
    """Each item was rated by one group alone, so nothing can be compared."""
    found = pv.variation(made(ISLANDS, g="xxyy"), "g", **EDGE)
    for group in "xy":
        for statistic in ("leniency", "dominance"):
            row = found.row("g", group, statistic)
            assert math.isnan(row.value)
            assert row.note == "no item was rated by this group and by others"
            assert row.p_value is None or math.isnan(row.p_value)
    said = "its raters share no items with raters of other groups, or only with groups for which the same holds"
    assert found.adjusted().filter(pl.col("group") != pl.col("reference"))["note"].to_list() == [said]
    defined_or_noted(found)


def test_two_islands_of_groups() -> None:
    """Groups x and y share items, and so do u and v, but not these with those: differences within islands are told."""
    found = pv.variation(made(ISLANDS, g="xyuv"), "g", **EDGE)
    assert found.value("g", "x", "leniency") == pytest.approx(-1.5)
    assert found.value("g", "v", "leniency") == pytest.approx(1.0)
    effects = {row["group"]: row["effect"] for row in found.adjusted().iter_rows(named=True)}
    (reference,) = set(found.adjusted()["reference"])
    partner = {"x": "y", "y": "x", "u": "v", "v": "u"}[reference]
    assert effects[reference] == 0
    assert not math.isnan(effects[partner])
    assert all(math.isnan(effects[name]) for name in set("xyuv") - {reference, partner})
    pairs = found.pairs().filter(pl.col("statistic") == "leniency")
    assert pairs["value"].is_nan().sum() == 4
    defined_or_noted(found)


def test_constant_scores() -> None:
    found = pv.variation(made({name: [2, 2, 2] for name in "abcdef"}, g="xxxyyy"), "g", **EDGE)
    assert found.value("g", "x", "leniency") == 0
    assert found.value("g", "x", "dominance") == 0.5
    p = found.row("g", "x", "leniency").p_value
    assert p is None or math.isnan(p) or p == 1
    assert not any(row.claim for row in found.rows)
    assert max(abs(value) for value in found.components()["variance"].fill_nan(0)) < 1e-12
    assert found.reliability()["relative"].is_nan().all()
    defined_or_noted(found)


def test_attributes_that_determine_each_other_are_named_and_others_keep_their_effects() -> None:
    ratings = study(20, "mixed", n_raters=24)
    g = groups_of(ratings, "g")
    renamed = {"x": "one", "y": "two", "z": "three", None: None}
    raters = ratings.raters.with_columns(pl.Series("copy", [renamed[g[rater]] for rater in range(24)]))
    ratings = again(ratings, raters)
    found = pv.variation(ratings, ["g", "copy", "h"], adjust=True, **FEW).adjusted()
    notes = {row["attribute"]: row["note"] for row in found.iter_rows(named=True) if row["group"] != row["reference"]}
    assert notes["g"] == "within items it cannot be told apart from copy: one follows from the other"
    assert notes["copy"] == "within items it cannot be told apart from g: one follows from the other"
    assert notes["h"] == ""
    lost = found.filter((pl.col("attribute") != "h") & (pl.col("group") != pl.col("reference")))
    assert lost["effect"].is_nan().all()
    assert lost["unadjusted"].is_not_nan().all()
    reference = found.filter(pl.col("attribute") == "h")["reference"][0]
    both = {name: groups_of(ratings, name) for name in "gh"}
    expected = fitted(rows_of(ratings), both, {"g": "x", "h": reference})
    for row in found.filter(pl.col("attribute") == "h").iter_rows(named=True):
        assert row["effect"] == pytest.approx(expected.get(("h", row["group"]), 0.0), abs=1e-9)
    full = pv.variation(ratings, ["g", "copy", "h"], adjust=True, permutations=19, min_group_size=1)
    defined_or_noted(full)
    apart = full.adjusted().filter(pl.col("attribute") == "h")
    beside = pv.variation(ratings, ["g", "h"], adjust=True, permutations=0, min_group_size=1).adjusted()
    wanted = beside.filter(pl.col("attribute") == "h")
    assert np.allclose(apart["ci_low"].to_numpy(), wanted["ci_low"].to_numpy(), equal_nan=True)


def test_an_attribute_that_follows_from_two_others() -> None:
    """Three attributes of which any two can be told apart, but not all three: exclusive or."""
    g, h = "xxxxyyyyxxxxyyyy", "ppqqppqqppqqppqq"
    both = "".join("s" if (a == "x") == (b == "p") else "t" for a, b in zip(g, h, strict=True))
    crossing = "".join({"xp": "1", "xq": "2", "yp": "3", "yq": "4"}[a + b] for a, b in zip(g, h, strict=True))
    rng = np.random.default_rng(0)
    table: dict[str, list[int | None]] = {f"r{k:02}": rng.integers(0, 5, 6).tolist() for k in range(16)}
    found = pv.variation(made(table, g=g, h=h, both=both), ["g", "h", "both"], adjust=True, **FEW).adjusted()
    assert found["effect"].is_not_nan().all()
    found = pv.variation(made(table, g=g, h=h, cell=crossing), ["g", "h", "cell"], adjust=True, **FEW).adjusted()
    open_ = found.filter(pl.col("effect").is_nan())
    assert set(open_["attribute"]) >= {"g", "h"}
    said = "within items it cannot be told apart from cell: one follows from the other"
    assert open_.filter(pl.col("attribute") == "g")["note"].to_list() == [said]


def test_raters_and_items_without_ratings_count_for_nothing() -> None:
    ratings = made({"a": [1, 2, None], "b": [2, 4, None], "c": [3, 1, None], "d": [0, 0, None]}, g="xxyy")
    more = pl.concat([ratings.raters, pl.DataFrame({"rater": ["e", "f"], "g": ["x", "w"]})])
    items = pl.DataFrame({"item": [0, 1, 2], "topic": ["s", "s", "t"]})
    frame = ratings.to_frame().select("item", "rater", "score")
    other = pv.Ratings.from_frame(frame, scale=ratings.scale, raters=more, items=items)
    found, wanted = pv.variation(other, "g", **EDGE), pv.variation(ratings, "g", **EDGE)
    assert found.value("g", "x", "leniency") == wanted.value("g", "x", "leniency")
    shown = found.components().filter(pl.col("axis") == "g")["variance"].to_list()
    assert shown == pytest.approx(wanted.components().filter(pl.col("axis") == "g")["variance"].to_list(), abs=1e-12)
    defined_or_noted(found)


def test_without_attributes_there_are_components_and_reliability() -> None:
    found = pv.variation(study(1), permutations=10)
    assert found.components()["component"].to_list() == ["item", "rater", "rest"]
    assert len(found.reliability()) == 100
    assert found.rows == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "mood"}, "raters have no attribute 'mood'"),
        ({"by": ["g", "g"]}, "an axis is listed twice"),
        ({"reference": {"mood": "x"}, "adjust": True}, "reference names 'mood', which is not one of the attributes"),
        ({"reference": {"g": "w"}, "adjust": True}, "g has no group 'w' to use as the reference"),
        ({"contrast": ("x", "w")}, "no axis has both groups 'x' and 'w'"),
        ({"items_by": "size"}, "items have no attribute 'size'"),
        ({"within": "wave"}, "raters have no attribute 'wave'"),
        ({"resample": "people"}, "resample is 'people'"),
        ({"permutations": -1}, "permutations is -1"),
        ({"target": 1.5}, "target is 1.5"),
        ({"interval": "wide"}, "interval is 'wide'"),
    ],
)  # fmt: skip
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(pv.InputError, match=message):
        pv.variation(study(1), **{"by": "g", "permutations": 9, "min_group_size": 1, **options})


def test_totals_are_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,0,1\nx,2,3\n")
    ratings = pv.read_ratings(tmp_path / "t.csv", layout="totals")
    for by in ("g", ()):
        with pytest.raises(pv.PlurivoxError, match="counts per scale point"):
            pv.variation(ratings, by)


# Results and the command line -----------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from plurivox.simulation.simulate import write_study

    folder = tmp_path_factory.mktemp("study")
    write_study(pv.simulate(n_items=40, n_raters=80, effects=[pv.Effect({"gender": "Man"}, bias=0.9)], seed=3), folder)
    return folder


def test_command_line_says_who_rates_higher(files: Path) -> None:
    done = run_cli(
        "variation", files / "ratings.csv", "--by", "gender", "--by", "age", "--permutations", 99, "--adjust",
        "--reference", "gender=Woman", "--pairs", "--contrast", "Man,Woman", "--min-group-size", 2,
    )  # fmt: skip
    assert done.code == 0, done.err
    for part in ("gender: who rates higher on the same items", "Shares of the variance in scores",
                 "Reliability of a mean of k raters", "Two groups on the items that both rated",
                 "All attributes at once, compared with the reference (gender: Woman", "every pair of groups",
                 "gender: Man rate the same items", "points higher than the others"):  # fmt: skip
        assert part in done.words, part
    assert "rater-0" not in done.out


def test_command_line_for_programs(files: Path) -> None:
    common = ("variation", files / "ratings.csv", "--by", "gender", "--permutations", 50, "--seed", 4, "--adjust",
              "--reference", "gender=Woman")  # fmt: skip
    ratings = pv.read_ratings(
        files / "ratings.csv", scale="0:4", raters=files / "raters.csv", items=files / "items.csv",
        poles=("safe", "unsafe"),
    )  # fmt: skip
    expected = pv.variation(ratings, [("gender",)], permutations=50, seed=4, adjust=True, reference={"gender": "Woman"})
    assert run_cli(*common, "--json").json() == json.loads(expected.to_json(draws=False))
    table = run_cli(*common, "--csv").frame()
    assert table["value"].to_list() == pytest.approx(expected.to_frame()["value"].to_list())
    for name in ("components", "reliability", "needed", "adjusted"):
        shown = run_cli(*common, "--csv", "--table", name).frame()
        wanted = getattr(expected, name)()
        assert shown.columns == wanted.columns
        numbers = [column for column, kind in wanted.schema.items() if kind == pl.Float64]
        for column in numbers:
            got = shown[column].cast(pl.Float64).fill_null(math.nan).to_list()
            assert got == pytest.approx(wanted[column].fill_null(math.nan).to_list(), nan_ok=True), column
    bad = run_cli(*common[:4], "--adjust", "--reference", "gender=Women")
    assert bad.code != 0
    assert "gender has no group 'Women' to use as the reference" in bad.words


def test_a_reference_asks_for_all_attributes_at_once() -> None:
    study = pv.simulate(n_items=12, n_raters=40, seed=3)
    quick: dict[str, Any] = {"permutations": 0, "interval": "none", "min_group_size": 1}
    found = pv.variation(study.ratings, [("age", "ethnicity")], reference={"age": "30-44"}, **quick).adjusted()
    assert found["attribute"].unique(maintain_order=True).to_list() == ["age", "ethnicity"]
    assert found.filter(attribute="age")["reference"].unique().to_list() == ["30-44"]
    assert found.filter(group="30-44")["effect"].to_list() == [0.0]


def test_attributes_of_a_crossing_are_withheld_together_with_it() -> None:
    """Three men of team B: women of either team may be shown, but not beside all of a team and all women."""
    raters = pl.DataFrame({
        "rater": range(20), "gender": ["w"] * 12 + ["m"] * 8, "team": ["A", "B"] * 6 + ["A"] * 5 + ["B"] * 3,
    })  # fmt: skip
    frame = pl.DataFrame({"item": [i for i in range(6) for _ in range(20)], "rater": list(range(20)) * 6})
    frame = frame.with_columns(score=(pl.col("item") * 7 + pl.col("rater") * 3) % 5)
    ratings = pv.Ratings.from_frame(frame, scale="0:4", raters=raters)
    quick: dict[str, Any] = {"permutations": 0, "interval": "none"}
    crossed = pv.variation(ratings, [("gender", "team")], **quick)
    assert {row.group for row in crossed.rows} == {"w × A", "w × B"}
    both = pv.variation(ratings, [("gender", "team")], adjust=True, **quick)
    assert both.adjusted()["group"].to_list() == ["m", "w", "A", "B"]
    assert not both.rows  # women of A beside all of A would tell of the men of A, and these of the men of B


def _crossed(scores: np.ndarray, **attributes: Sequence[str | None]) -> pv.Ratings:
    """Return ratings of items × raters, with attributes of the raters."""
    item, rater = (one.ravel() for one in np.indices(scores.shape))
    frame = pl.DataFrame({"item": item, "rater": rater, "score": scores.ravel()})
    types = dict.fromkeys(attributes, pl.String)
    raters = pl.DataFrame({"rater": range(scores.shape[1]), **attributes}, schema_overrides=types)
    return pv.Ratings.from_frame(frame, scale="0:4", raters=raters)


def _scores(n_items: int = 8, n_raters: int = 24) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 5, (n_items, n_raters))


@pytest.mark.parametrize("lens", [pv.variation, pv.cohesion, pv.responsiveness])
def test_an_attribute_that_nobody_has_changes_nothing(lens: Any) -> None:
    ratings = _crossed(_scores(), team=["A", "B"] * 12, nothing=[None] * 24)
    more = {"adjust": True} if lens is pv.variation else {"reference": "crowd"} if lens is pv.responsiveness else {}
    found = lens(ratings, by=["team", "nothing"], permutations=9, **more)
    alone = lens(ratings, by=["team"], permutations=9, **more)
    assert found.to_frame().filter(axis="team").equals(alone.to_frame().filter(axis="team"), null_equal=True)
    if lens is pv.variation:
        assert found.adjusted().equals(alone.adjusted(), null_equal=True)


def test_the_reference_is_the_largest_group_of_those_in_the_fit() -> None:
    """The largest team has no value of the other attribute, so that nobody of it could be held beside."""
    team = ["A"] * 12 + ["B"] * 5 + ["C"] * 7
    other = [None] * 12 + ["x", "y"] * 6
    found = pv.variation(_crossed(_scores(), team=team, other=other), ["team", "other"], adjust=True, permutations=0)
    own = found.adjusted().filter(attribute="team")
    assert own["reference"].unique().to_list() == ["C"]
    effects = dict(own.select("group", "effect").iter_rows())
    assert effects["C"] == 0
    assert not math.isnan(effects["B"])
    assert math.isnan(effects["A"])


def test_variances_that_are_0_but_for_rounding_are_0() -> None:
    alike = np.arange(8)[:, np.newaxis] % 5 + np.zeros((1, 24), int)
    found = pv.variation(_crossed(alike, team=["A", "B"] * 12), "team", permutations=0)
    nothing = found.components().filter(pl.col("component") != "item")
    assert nothing["variance"].to_list() == [0.0] * 6
    assert not any("-0" in text for text in found.findings())


def test_who_rates_what_is_told_right_where_raters_do_not_vary() -> None:
    """Relative and absolute reliability are the same then, whoever rated each item."""
    rng = np.random.default_rng(1)
    item, rater = np.repeat(np.arange(80), 4), np.concatenate([rng.choice(60, 4, replace=False) for _ in range(80)])
    score = np.clip(np.round(rng.normal(size=80)[item] + rng.normal(size=320) * 0.7 + 2), 0, 4).astype(int)
    ratings = pv.Ratings.from_frame(pl.DataFrame({"item": item, "rater": rater, "score": score}), scale="0:4")
    found = pv.variation(ratings, permutations=0)
    assert found.components().filter(component="rater")["variance"].item() < 0
    assert any(text.startswith("A mean of 4 raters, different for each item,") for text in found.findings())


def test_several_negative_estimates_are_told_in_the_plural() -> None:
    found = pv.variation(_crossed(_scores(), team=["A", "B"] * 12), "team", permutations=0)
    text = next(text for text in found.findings() if "of team" in text)
    assert found.components().filter((pl.col("axis") == "team") & (pl.col("variance") < 0)).height > 1
    assert "are negative and count as 0.)" in text
