from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import plurivox as pv
from support import run_cli, some


def test_against_a_table_counted_by_hand(small: pl.DataFrame) -> None:
    """Rater a rated items 1, 2, 3 with 0, 4, 2; rater b items 1, 2 with 1, 3."""
    found = pv.describe(pv.Ratings.from_frame(small))
    assert (found.n_ratings, found.n_items, found.n_raters) == (5, 3, 2)
    assert (found.per_item.low, found.per_item.median, found.per_item.high) == (1, 2, 2)
    assert found.per_item.counts == (1, 2)
    assert found.per_rater is not None
    assert (found.per_rater.low, found.per_rater.median, found.per_rater.high) == (2, 2.5, 3)
    assert not found.crossed
    assert found.density == pytest.approx(5 / 6)
    assert found.usage == (1, 1, 1, 1, 1)
    assert found.scale_inferred
    assert "inferred" in found.notes[0]


def test_groups_against_polars() -> None:
    ratings = pv.simulate(n_items=40, n_raters=80, missing=0.7, missing_attributes=0.1, seed=3).ratings
    found = pv.describe(ratings, by=["gender", "age", "ethnicity", ("gender", "age")], min_group_size=1)
    axes = {axis.name: axis for axis in found.axes}
    names = ["gender", "age", "ethnicity", "gender × age", "gender × ethnicity", "age × ethnicity"]
    assert [axis.name for axis in pv.describe(ratings).axes] == names
    joined = ratings.to_frame().join(ratings.raters, on="rater")
    sizes = ratings.raters.drop_nulls(["gender", "age"]).group_by("gender", "age").len()
    shown = {f"{g} × {a}": n for g, a, n in sizes.iter_rows()}
    assert {group.name: group.n_raters for group in axes["gender × age"].groups} == shown
    assert axes["gender × age"].n_withheld == sizes.height - len(shown)
    assert axes["gender"].n_outside == ratings.raters["gender"].null_count()
    for group in axes["ethnicity"].groups:
        own = joined.filter(ethnicity=group.name)
        assert (group.n_ratings, group.n_items) == (own.height, own["item"].n_unique())


def test_sizes_of_a_crossing_against_polars() -> None:
    ratings = pv.simulate(n_items=10, n_raters=80, missing_attributes=0.1, seed=3).ratings
    [axis] = pv.describe(ratings, by=[("age", "ethnicity", "gender")], min_group_size=1).axes
    assert axis.sizes is not None
    known = ratings.raters.drop_nulls(["age", "ethnicity", "gender"]).group_by("age", "ethnicity", "gender").len()
    expected = {(f"{a} × {e}", g): n for a, e, g, n in known.iter_rows()}
    found = {
        (row, column): n
        for row, cells in zip(axis.sizes.rows, axis.sizes.n_raters, strict=True)
        for column, n in zip(axis.sizes.columns, cells, strict=True)
    }
    assert {cell: n for cell, n in found.items() if n is not None} == expected
    assert set(found) - set(expected)  # nobody has these


def test_sizes_of_a_crossing_keep_the_order_of_bins_and_tell_nothing_of_small_cells() -> None:
    rows = [(f"r{r}", 25 + r, "ab"[r % 2]) for r in range(40)]
    raters = pl.DataFrame([*rows, ("x", 70, "a")], schema=["rater", "age", "team"], orient="row")
    frame = pl.DataFrame({"item": 1, "rater": raters["rater"], "score": [0, 1] * 20 + [1]})
    ratings = pv.Ratings.from_frame(frame, raters=raters).with_bins("age", [0, 45, 65], ["young", "middle", "ancient"])
    [axis] = pv.describe(ratings, by=[("team", "age")]).axes
    assert axis.sizes is not None
    assert (axis.n_withheld, axis.n_revealing) == (2, 1)
    assert (axis.sizes.rows, axis.sizes.columns) == (("a", "b"), ("young", "middle"))
    assert sorted(n or 0 for cells in axis.sizes.n_raters for n in cells) == [0, 10, 10, 10]
    assert "ancient" not in str(axis.sizes)
    assert pv.describe(ratings, by=["team"]).axes[0].sizes is None


def test_sizes_against_the_table_of_a_paper(real_data: Path) -> None:
    """Race × gender of DICES-350, as Prabhakaran et al. (2024) have it in Table 2; men, women."""
    folder = real_data / "dices350"
    ratings = pv.read_ratings(folder / "ratings.csv", scale="No,Unsure,Yes", raters=folder / "raters.csv")
    ratings = ratings.where(raters={"removed": "False"})
    [axis] = pv.describe(ratings, by=[("race", "gender")], min_group_size=1).axes
    assert some(axis.sizes).columns == ("Man", "Woman")
    assert some(axis.sizes).n_raters == ((12, 9), (7, 16), (10, 12), (9, 4), (9, 16))
    shown = run_cli(
        "describe", folder / "ratings.csv", "--raters", folder / "raters.csv", "--scale", "No,Unsure,Yes",
        "--where", "removed=False", "--by", "race,gender",
    )  # fmt: skip
    assert "Raters by race × gender; –: nobody, or withheld" in shown.out
    assert "Multiracial 9 –" in shown.words
    assert "Black/African American – 16" in shown.words  # else the four could be worked out


def test_totals_crossed_and_silent(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("item,0,1\nx,2,3\ny,0,5\nz,0,0\n")
    found = pv.describe(pv.read_ratings(tmp_path / "t.csv", layout="totals"))
    assert (found.n_ratings, found.per_rater, found.usage, found.unrated_items) == (10, None, (2, 8), 1)
    assert (found.per_item.low, found.per_item.high) == (0, 5)
    frame = pl.DataFrame({"item": [1, 1, 2], "rater": ["a", "b", "b"], "score": [1, None, None]})
    silent = pv.describe(pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 1)))
    assert (silent.unrated_items, silent.silent_raters, silent.missing_scores) == (1, 1, 2)
    asked = pv.describe(pv.simulate(n_items=5, n_raters=30).ratings, ["age", ("gender", "age")])
    assert ([axis.name for axis in asked.axes], asked.crossed) == (["age", "gender × age"], True)
    assert json.loads(asked.to_json())["n_raters"] == 30
    assert "rater-0" not in asked.to_json()
    frame = asked.to_frame()
    assert frame.columns == ["axis", "group", "n_raters", "n_items", "n_ratings"]
    assert frame.row(0) == ("all", "all", 30, 5, 150)


def test_histograms_cover_all() -> None:
    ratings = pv.simulate(n_items=200, n_raters=300, missing=0.6).ratings
    found = pv.describe(ratings)
    for spread, n in ((found.per_item, 200), (found.per_rater, 300)):
        assert spread is not None
        assert sum(spread.counts) == n
        assert len(spread.counts) <= 12
        assert len(spread.edges) == len(spread.counts) + 1
        assert spread.edges[0] == spread.low
        assert spread.edges[-1] > spread.high


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (list(range(20, 36)), True), ([2.5 * i for i in range(16)], True), ([f"town {i}" for i in range(16)], False),
        ([1, 2, 3, 4] * 4, False), ([20] * 8 + list(range(30, 38)), False), (list(range(60)), True),
    ],
)  # fmt: skip
def test_numbers_that_nobody_shares_suggest_bins(values: list[float], expected: bool) -> None:
    """Few numbers may be codes of words, and an attribute with a group to show is of use as it is."""
    n = len(values)
    raters = pl.DataFrame({"rater": range(n), "age": values})
    frame = pl.DataFrame({"item": 1, "rater": range(n), "score": [i % 2 for i in range(n)]})
    found = pv.describe(pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 1), raters=raters))
    assert any("--bin 'age=" in note for note in found.notes) is expected
    if n == 60:
        assert found.notes == (
            "age has 60 different values, all of them numbers. "
            "Sort them into groups with --bin 'age=18,30,45', which lists where each group begins.",
        )


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([1, 2, 3, 4, 5, 99], "between 5 and 99. If 99 means that there is no rating, add --missing=99."),
        ([-99, 0, 1, 2, 3], "between -99 and 0. If -99 means that there is no rating, add --missing=-99."),
        ([1, 2, 3, 4, 5, 9], "between 5 and 9. If 9 means"), ([1, 2, 3, 4, 5], ""), ([1, 2, 5], ""), ([0, 50, 100], ""),
        ([1, 9], ""), ([0, 1, 2, 3, 4, 5, 6, 7, 10], ""),
    ],
)  # fmt: skip
def test_a_score_far_from_all_others_may_be_a_code(scores: list[int], expected: str) -> None:
    frame = pl.DataFrame({"item": range(len(scores)), "rater": "a", "score": scores})
    notes = [note for note in pv.describe(pv.Ratings.from_frame(frame)).notes if "No score lies" in note]
    assert len(notes) == bool(expected)
    assert expected in "".join(notes)
    given = pv.Ratings.from_frame(frame, scale=pv.Scale.range(min(scores), max(scores)))
    assert pv.describe(given).notes == ()  # whoever gives the scale knows its points


def test_the_answer_that_is_no_whole_number_is_named() -> None:
    frame = pl.DataFrame({"item": [1, 2, 3], "rater": "a", "score": ["1", "5", "3.1"]})
    with pytest.raises(pv.errors.ScaleError, match=r"not whole numbers, such as 3.1.*such as a row of means"):
        pv.Ratings.from_frame(frame)
