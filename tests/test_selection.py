"""Selection of raters: against a literal choice from responsiveness, and against raters of known quality."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.actions.select.choosing import JudgedRater, _ranked
from plurivox.base.errors import InputError, NeedsRatersError, SelectionError
from support import Write, run_cli

TRAINED = pv.Scale(["safe", "unsafe"])
GROUPS = {"g0": 8, "g1": 7, "g2": 6}


def study(seed: int = 0, n_items: int = 90) -> pl.DataFrame:
    """Return ratings on 0 to 4 by raters of three groups, each with a noise and a number of ratings of their own."""
    rng = np.random.default_rng(seed)
    severity = np.linspace(-2, 2, n_items)
    rows = []
    names = [group for group, n in GROUPS.items() for _ in range(n)]
    for r, group in enumerate(names):
        rated = rng.choice(n_items, size=rng.integers(12, n_items), replace=False)
        scores = np.round(severity[rated] + rng.normal(0, rng.uniform(0.3, 2), len(rated)) + 2).clip(0, 4).astype(int)
        rows += [(f"i{i:03}", f"r{r:02}", s, group, f"h{r % 2}") for i, s in zip(rated.tolist(), scores, strict=True)]
    return pl.DataFrame(rows, schema=["item", "rater", "score", "group", "half"], orient="row")


def ratings_of(frame: pl.DataFrame, top: int = 4) -> pv.Ratings:
    attributes = [name for name in frame.columns if name not in ("item", "rater", "score")]
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, top), rater_attributes=attributes)


def trained_frame(n_items: int = 90, shares: tuple[float, ...] = (0.5, 0.6, 0.7)) -> pl.DataFrame:
    """Return what trained raters say of the items of :func:`study`, which get more severe by their number."""
    rows = [
        (f"i{i:03}", f"t{t}", "unsafe" if i >= share * n_items else "safe")
        for t, share in enumerate(shares)
        for i in range(n_items)
    ]
    return pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")


def trained(n_items: int = 90, shares: tuple[float, ...] = (0.5, 0.6, 0.7)) -> pv.Ratings:
    return pv.Ratings.from_frame(trained_frame(n_items, shares), scale=TRAINED)


def perfect(rater: str, group: str, n: int, n_items: int = 90) -> pl.DataFrame:
    """Return 0 for the first and 1 for the last items, as one strict trained rater does: every value and bound is 1."""
    items = [*range(n // 2), *range(n_items - (n - n // 2), n_items)]
    rows = [(f"i{i:03}", rater, int(i >= n_items // 2), group) for i in items]
    return pl.DataFrame(rows, schema=["item", "rater", "score", "group"], orient="row")


def cells(frame: pl.DataFrame, group: str) -> list[Any]:
    return frame.filter(pl.col("group") == group)["rater"].to_list()


@pytest.mark.parametrize("metric", ["hm", "mpa", "wra"])
@pytest.mark.parametrize("order", ["lower", "value"])
@pytest.mark.parametrize("against", ["trained", "crowd"])
def test_the_choice_is_a_literal_one_from_responsiveness(metric: str, order: str, against: str) -> None:
    frame = study()
    ratings, reference = ratings_of(frame), trained() if against == "trained" else "crowd"
    options: dict[str, Any] = {"bootstrap": 100, "seed": 3}
    found = pv.select_raters(
        ratings, reference, ["group", "half"], per_group=2, metric=metric, order=order, min_ratings=30,
        within=None, **options,
    )  # fmt: skip
    table = pv.responsiveness(ratings, reference, "rater", permutations=0, **options, ids=True).to_frame()
    value = table.filter((pl.col("axis") == "rater") & (pl.col("statistic") == metric))
    by = "ci_low" if order == "lower" else "value"
    for axis in ("group", "half"):
        members = dict(frame.select("rater", axis).unique().iter_rows())
        for group in sorted(set(members.values())):
            own = [row for row in value.iter_rows(named=True) if members[row["group"]] == group]
            able = [row for row in own if row["n_ratings"] >= 30 and not math.isnan(row[by])]
            best = sorted(able, key=lambda row: -row[by])[:2]
            rows = found.to_frame().filter((pl.col("axis") == axis) & (pl.col("group") == group))
            assert rows["rater"].to_list() == [row["group"] for row in best]
            assert rows["rank"].to_list() == [1, 2]
            for name in ("value", "ci_low", "ci_high", "n_ratings"):
                assert rows[name].to_list() == [row[name] for row in best]
            for name in ("mpa", "wra", "hm"):
                at = dict(table.filter(pl.col("statistic") == name).select("group", "value").iter_rows())
                assert rows[name].to_list() == [at[row["group"]] for row in best]
            (counts,) = found.table("groups").filter(pl.col("axis") == axis, pl.col("group") == group).to_dicts()
            assert (counts["n_raters"], counts["n_eligible"], counts["n_chosen"]) == (len(own), len(able), 2)
            assert counts["n_too_few"] == sum(row["n_ratings"] < 30 for row in own)
            assert counts["n_undefined"] == len(own) - len(able) - counts["n_too_few"]
    assert not found.to_frame()["tied"].any()


def test_candidates_are_all_raters_in_the_order_of_choice() -> None:
    frame = study()
    found = pv.select_raters(ratings_of(frame), trained(), "group", min_ratings=40, bootstrap=50, within=None)
    table = found.table("candidates")
    assert sorted(table["rater"]) == sorted(frame["rater"].unique())
    for group in GROUPS:
        own = table.filter(pl.col("group") == group)
        able = own.filter("eligible")
        assert able["rank"].to_list() == list(range(1, able.height + 1))
        assert able["ci_low"].to_list() == sorted(able["ci_low"], reverse=True)
        assert able["chosen"].to_list() == [rank <= 3 for rank in able["rank"]]
        assert own.tail(own.height - able.height)["rank"].null_count() == own.height - able.height
    for row in table.filter(~pl.col("eligible")).iter_rows(named=True):
        assert row["note"] == f"{row['n_ratings']} ratings of items that have a reference, fewer than 40"


def test_a_group_without_an_eligible_rater_is_said_and_not_dropped() -> None:
    few = pl.concat([perfect(f"f{r}", "quiet", 6) for r in range(5)]).with_columns(half=pl.lit("h0"))
    found = pv.select_raters(ratings_of(pl.concat([study(), few])), trained(), "group", bootstrap=50)
    assert found.to_frame()["group"].unique(maintain_order=True).to_list() == ["g0", "g1", "g2", "quiet"]
    (row,) = found.to_frame().filter(pl.col("group") == "quiet").to_dicts()
    why = "5 raters have fewer than 20 ratings of items that have a reference"
    assert row.pop("note") == why
    assert (row.pop("axis"), row.pop("group"), row.pop("tied")) == ("group", "quiet", False)
    assert set(row.values()) == {None}
    (counts,) = found.table("groups").filter(pl.col("group") == "quiet").to_dicts()
    assert list(counts.values()) == ["group", "quiet", 5, 0, 5, 0, 3, 0, 4.0, why]
    assert f"Nobody is chosen from quiet (group): {why}." in found.findings()
    assert found.findings()[0].startswith("9 raters from 3 of 4 groups are chosen by HM against the reference")
    assert repr(found) == "<Selection: 9 raters of 4 groups by HM>"


def test_many_groups_without_anybody_are_counted() -> None:
    few = [perfect(f"f{g}{r}", f"quiet {g}", 6) for g in range(7) for r in range(5)]
    frame = pl.concat([study().drop("half"), *few])
    told = pv.select_raters(ratings_of(frame), trained(), "group", bootstrap=50).findings()
    assert sum(one.startswith("Nobody is chosen from quiet") for one in told) == 5
    assert "Nobody is chosen from 2 more groups either; the table groups says why." in told


def test_the_floor_counts_only_ratings_of_items_with_a_reference() -> None:
    frame = pl.concat([perfect(f"r{n}", "g", n) for n in (18, 19, 20, 21, 40)])
    whole = pv.select_raters(ratings_of(frame, 1), trained(shares=(0.5,)), "group", per_group=9, bootstrap=20)
    assert sorted(cells(whole.to_frame(), "g")) == ["r20", "r21", "r40"]
    assert "2 raters are not eligible yet, having fewer than 20 ratings" in " ".join(whole.findings())
    assert "Fewer than 9 are eligible in g (group)." in whole.findings()
    assert whole.table("groups")["note"][0].startswith("3 eligible, 2 raters have fewer than 20 ratings")
    part = trained().where(items={"item": [f"i{i:03}" for i in range(5, 90)]})  # the first five have no reference
    fewer = pv.select_raters(ratings_of(frame, 1), part, "group", per_group=9, min_ratings=15, bootstrap=20)
    rows = dict(fewer.table("candidates").select("rater", "n_ratings").iter_rows())
    assert rows == {"r18": 13, "r19": 14, "r20": 15, "r21": 16, "r40": 35}
    assert sorted(cells(fewer.to_frame(), "g")) == ["r20", "r21", "r40"]
    none = pv.select_raters(ratings_of(frame, 1), part, "group", per_group=9, min_ratings=0, bootstrap=20)
    assert none.to_frame().height == 5
    assert none.table("groups")["note"].to_list() == ["5 eligible, it has no more raters"]


def test_more_ratings_decide_a_tie_and_all_who_are_tied_are_marked() -> None:
    frame = pl.concat([perfect(f"r{n}", "g", n) for n in (24, 50, 30, 60, 26)])
    found = pv.select_raters(ratings_of(frame, 1), trained(shares=(0.5,)), "group", per_group=2, bootstrap=20)
    chosen = found.to_frame()
    assert chosen["ci_low"].to_list() == [1.0, 1.0]
    assert chosen["rater"].to_list() == ["r60", "r50"]
    assert chosen["tied"].to_list() == [True, True]
    assert set(chosen["note"]) == {"tied with 3 others, not chosen; the number of ratings decided"}
    rest = found.table("candidates").filter(~pl.col("chosen"))
    assert rest["rater"].to_list() == ["r30", "r26", "r24"]
    assert rest["tied"].all()
    assert set(rest["note"]) == {"tied with 2 others, chosen; the number of ratings decided"}
    assert any(one.startswith("The last place is a tie in g (group):") for one in found.findings())
    everybody = pv.select_raters(ratings_of(frame, 1), trained(shares=(0.5,)), "group", per_group=5, bootstrap=20)
    assert everybody.to_frame()["tied"].all()
    assert everybody.to_frame()["note"][4] == "tied with 4 others, also chosen"
    assert "a tie" not in " ".join(everybody.findings())


def test_the_seed_decides_a_tie_of_as_many_ratings_and_nothing_else_does() -> None:
    raters = [f"r{n}" for n in range(12)]
    frame = pl.concat([perfect(rater, "g", 30) for rater in raters])
    options: dict[str, Any] = {"per_group": 2, "bootstrap": 20}
    reference = trained(shares=(0.5,))
    picks = [
        pv.select_raters(ratings_of(frame, 1), reference, "group", seed=seed, **options).to_frame() for seed in range(8)
    ]
    assert len({tuple(pick["rater"]) for pick in picks}) > 3
    assert picks[0]["note"][0] == "tied with 10 others, not chosen; the seed decided"
    again = frame.sample(fraction=1.0, shuffle=True, seed=1)
    assert pv.select_raters(ratings_of(again, 1), reference, "group", **options).to_frame().equals(picks[0])
    fewer = frame.filter(~pl.col("rater").is_in([r for r in raters if r not in picks[0]["rater"]][:4]))
    same = pv.select_raters(ratings_of(fewer, 1), reference, "group", **options).to_frame()
    assert same["rater"].to_list() == picks[0]["rater"].to_list()


def test_a_tie_below_or_above_the_last_place_is_none() -> None:
    flipped = pl.when(pl.col("item") == "i000").then(1).otherwise("score")
    same = [perfect(f"s{n}", "g", 30).with_columns(score=flipped) for n in range(4)]
    frame = pl.concat([*same, perfect("best", "g", 40), perfect("good", "g", 30)])
    below = pv.select_raters(ratings_of(frame, 1), trained(shares=(0.5,)), "group", per_group=2, bootstrap=20)
    assert below.to_frame().select("rater", "tied").rows() == [("best", True), ("good", True)]
    assert not below.table("candidates").filter(pl.col("rater").str.starts_with("s"))["tied"].any()
    above = pv.select_raters(ratings_of(frame, 1), trained(shares=(0.5,)), "group", per_group=3, bootstrap=20)
    assert above.to_frame()["tied"].to_list() == [False, False, True]
    assert above.table("candidates")["tied"].to_list() == [False, False, True, True, True, True]


def test_bounds_that_differ_by_rounding_only_are_a_tie() -> None:
    bounds = {"a": 0.5, "b": 0.5 + 5e-13, "c": 0.5 + 3e-12, "d": 0.5 - 3e-12}
    raters = [JudgedRater(name, (), 30 + (name == "a"), bound, "", "") for name, bound in bounds.items()]
    found = _ranked(raters, 2, 0)
    assert [one.rater for one in found.chosen] == ["c", "a"]
    assert [one.rater for one in found.others] == ["b", "d"]
    assert found.tied == {"a", "b"}


def test_small_groups_are_withheld_counted_and_their_raters_not_named() -> None:
    frame = study().with_columns(
        group=pl.when(pl.col("rater").is_in(["r00", "r01", "r02"])).then(pl.lit("tiny")).otherwise("group")
    )
    found = pv.select_raters(ratings_of(frame), trained(), "group", min_group_size=5, bootstrap=50)
    assert found.settings["withheld"] == {"group": 2}
    assert "2 groups are withheld: 1 has fewer than 5 raters, and 1 would reveal it." in found.findings()
    for hidden in ("tiny", "r00", "r01", "r02"):
        assert hidden not in found.to_json()
    shown = pv.select_raters(ratings_of(frame), trained(), "group", min_group_size=3, min_ratings=1, bootstrap=50)
    assert sorted(cells(shown.to_frame(), "tiny")) == ["r00", "r01", "r02"]


def test_where_all_groups_are_withheld_there_is_nobody_to_choose() -> None:
    two = study().with_columns(group=pl.when(pl.col("rater") < "r03").then(pl.lit("a")).otherwise(pl.lit("b")))
    said = "all 2 groups are withheld: 1 has fewer than 5 raters, and 1 would reveal it"
    with pytest.raises(SelectionError, match=said):
        pv.select_raters(ratings_of(two), trained(), "group")
    with pytest.raises(SelectionError, match=r"all 21 groups are withheld, having fewer than 5 raters\. Cross fewer"):
        pv.select_raters(ratings_of(study().with_columns(name="rater")), trained(), ("group", "name"))
    raters = study().select("rater", pl.lit(None, dtype=pl.String).alias("colour")).unique()
    unknown = pv.Ratings.from_frame(study(), scale=pv.Scale.range(0, 4), raters=raters)
    with pytest.raises(SelectionError, match="no rater has a value on any axis of by"):
        pv.select_raters(unknown, trained(), "colour")


def test_raters_without_a_value_are_in_no_group() -> None:
    frame = study().with_columns(group=pl.when(pl.col("rater") != "r00").then("group"))
    found = pv.select_raters(ratings_of(frame), trained(), "group", bootstrap=50)
    assert "r00" not in found.to_json()
    assert "1 rater has no value for group and is in no group there." in found.findings()


def test_raters_whose_values_are_undefined_are_not_eligible() -> None:
    safe_only = study().filter(pl.col("item") < "i045", pl.col("group") == "g2")
    frame = pl.concat([study().filter(pl.col("group") != "g2"), safe_only])
    found = pv.select_raters(ratings_of(frame), trained(), "group", min_ratings=1, bootstrap=50)
    rows = found.table("candidates").filter(pl.col("group") == "g2")
    assert not rows["eligible"].any()
    assert rows["value"].is_nan().all()
    assert set(rows["note"]) == {"lower end of HM is undefined: every reference rating lies below the boundary"}
    (counts,) = found.table("groups").filter(pl.col("group") == "g2").to_dicts()
    assert (counts["n_undefined"], counts["n_too_few"], counts["n_chosen"]) == (6, 0, 0)
    assert counts["note"] == "6 raters have no defined lower end of HM"
    assert "6 raters are not eligible, having no defined lower end of HM." in found.findings()
    with pytest.raises(SelectionError, match="no group has an eligible rater: 6 raters have no defined MPA"):
        pv.select_raters(ratings_of(safe_only), trained(), "group", metric="mpa", order="value", min_ratings=1)


def test_nobody_is_held_against_themselves() -> None:
    found = pv.select_raters(ratings_of(study()), {"rater": "r00"}, "group", min_ratings=1, bootstrap=50)
    (row,) = found.table("candidates").filter(pl.col("rater") == "r00").to_dicts()
    assert (row["n_ratings"], row["eligible"]) == (0, False)
    assert row["note"] == "0 ratings of items that have a reference, fewer than 1"


def test_a_rater_of_several_groups_can_be_chosen_in_each() -> None:
    both = {"r00": "a;b", "r01": "a;b", "r02": "b"}
    side = pl.when(pl.col("rater") < "r10").then(pl.lit("a")).otherwise(pl.lit("b"))
    frame = study().with_columns(group=pl.coalesce(pl.col("rater").replace_strict(both, default=None), side))
    options: dict[str, Any] = {
        "several": {"group": ";"}, "min_ratings": 1, "per_group": 30, "bootstrap": 50, "min_group_size": 1,
    }  # fmt: skip
    found = pv.select_raters(ratings_of(frame), trained(), "group", **options)
    for value in ("a", "b"):
        own = frame.filter(pl.col("group").str.contains(value))["rater"].unique()
        assert sorted(cells(found.to_frame(), value)) == sorted(own)
    assert "2 raters are chosen in several groups." in found.findings()
    with pytest.raises(InputError, match="cannot be crossed with others"):
        pv.select_raters(ratings_of(frame), trained(), ("group", "half"), **options)


def test_without_draws_the_value_orders_and_there_is_no_interval() -> None:
    found = pv.select_raters(ratings_of(study()), trained(), "group", order="value", bootstrap=0)
    assert found.to_frame()["ci_low"].null_count() == found.to_frame().height
    assert found.to_frame()["value"].is_not_nan().all()
    assert "in the order of the value itself" in found.findings()[0]


def test_what_is_said_speaks_of_the_reference_and_of_nobodys_fault() -> None:
    found = pv.select_raters(ratings_of(study()), "crowd", "group", bootstrap=50)
    told = found.findings()
    said = "A lower value means further from the rest of the crowd, which has its own view; it does not make anybody's"
    assert told[-1] == f"{said} rating wrong."
    assert not {"bad", "worse", "exclude", "drop", "remove", "unreliable"} & set(" ".join(told).lower().split())
    assert "<strong>Selection</strong> · 9 raters of 3 groups by HM" in found._repr_html_()


@pytest.mark.parametrize(("options", "error", "words"), [
    ({"by": "nobody"}, SelectionError, "no attribute 'nobody'"), ({"by": []}, InputError, "by names no axis"),
    ({"by": "rater"}, InputError, "raters are chosen from groups"),
    ({"by": ("group", "rater")}, InputError, "raters are chosen from groups"),
    ({"by": ["group", "group"]}, SelectionError, "listed twice"),
    ({"metric": "auroc"}, InputError, "metric is 'auroc'. Choose one of hm, mpa, wra"),
    ({"order": "upper"}, InputError, "order is 'upper'. Choose one of lower, value"),
    ({"per_group": 0}, InputError, "per_group is 0"), ({"min_ratings": -1}, InputError, "min_ratings is -1"),
    ({"min_ratings": 500}, SelectionError, "no group has an eligible rater: 21 raters have fewer than 500 ratings"),
    ({"bootstrap": 0}, InputError, "bootstrap is 0, but the lower end of an interval needs draws"),
    ({"bootstrap": -3}, InputError, "is -[13]\\."), ({"seed": -1}, InputError, "seed is -1"),
    ({"reference": "Woman"}, InputError, "reference is 'Woman'"),
    ({"reference": "crowd", "threshold": 9}, InputError, "9"),
])  # fmt: skip
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    given: dict[str, Any] = {"reference": trained(), "by": "group", **options}
    with pytest.raises(error, match=words):
        pv.select_raters(ratings_of(study()), **given)


def test_totals_have_no_raters_to_choose_and_progress_is_told(write: Write) -> None:
    totals = pv.read_ratings(write("totals.csv", "item,0,1\n1,3,1\n2,1,2\n"), layout="totals")
    with pytest.raises(NeedsRatersError):
        pv.select_raters(totals, "crowd", "gender")
    told: list[tuple[str, int, int]] = []
    pv.select_raters(ratings_of(study()), trained(), "group", bootstrap=50, progress=lambda *one: told.append(one))
    assert told[-1][0] == "resampling raters"
    assert told[-1][1] == told[-1][2]


# Raters of known quality: who sees severity with less noise is better.
CUTS = np.linspace(-1.5, 1.5, 4)
CHOSEN = 3


def known(seed: int, *, noise: tuple[float, float], n_raters: int, n_groups: int) -> tuple[pv.Ratings, pv.Ratings, Any]:
    """Return ratings, reference and each rater's noise; by chance half of the raters rate 20 items, half 300."""
    rng = np.random.default_rng([seed, 77])
    n_items = 400
    severity = rng.normal(size=n_items)
    spread = rng.uniform(*noise, n_raters)
    own = rng.normal(0, 0.3, n_raters)
    few = rng.permutation(n_raters) < n_raters // 2
    parts = []
    for r in range(n_raters):
        items = rng.choice(n_items, 20 if few[r] else 300, replace=False)
        seen = severity[items] + own[r] + rng.normal(0, spread[r], len(items))
        columns = {
            "item": items, "rater": f"r{r:02}", "score": np.searchsorted(CUTS, seen), "group": f"g{r % n_groups}",
        }  # fmt: skip
        parts.append(pl.DataFrame(columns))
    unsafe = severity > np.quantile(severity, [0.55, 0.6, 0.65, 0.7, 0.75, 0.8])[:, np.newaxis]
    trainer, item = np.divmod(np.arange(unsafe.size), n_items)
    says = pl.Series(["safe", "unsafe"]).gather(unsafe.ravel().astype(np.uint8))
    names = [f"t{trainer + 900}" for trainer in trainer.tolist()]
    reference = pl.DataFrame({"item": item, "rater": names, "score": says})
    return ratings_of(pl.concat(parts)), pv.Ratings.from_frame(reference, scale=TRAINED), spread


def recovery(order: str, n_seeds: int = 30, **design: Any) -> tuple[float, float]:
    """Return the mean share of the truly best raters of a group who are chosen, and the mean noise of the chosen."""
    shares, noises = [], []
    for seed in range(n_seeds):
        ratings, reference, spread = known(seed, **design)
        asked: dict[str, Any] = {"bootstrap": 200, "threads": 1, "min_ratings": 20}
        found = pv.select_raters(ratings, reference, "group", per_group=CHOSEN, order=order, **asked)
        for g in range(design["n_groups"]):
            members = np.arange(g, design["n_raters"], design["n_groups"])
            best = set(members[np.argsort(spread[members])][:CHOSEN].tolist())
            picked = [int(rater[1:]) for rater in cells(found.to_frame(), f"g{g}")]
            assert len(picked) == CHOSEN
            shares.append(len(best & set(picked)) / CHOSEN)
            noises.append(float(spread[picked].mean()))
    return float(np.mean(shares)), float(np.mean(noises))


@pytest.mark.slow
def test_among_many_raters_much_alike_the_lower_bound_finds_more_of_the_best_than_the_raw_ranking() -> None:
    design: dict[str, Any] = {"noise": (0.8, 1.6), "n_raters": 60, "n_groups": 2}
    lower, value = recovery("lower", **design), recovery("value", **design)
    assert lower[0] > value[0] + 0.05
    assert lower[1] < value[1] - 0.05


@pytest.mark.slow
def test_among_few_raters_who_differ_widely_the_raw_ranking_finds_no_fewer() -> None:
    """Where luck matters little the bound passes over good raters who rated little, as the documentation says."""
    design: dict[str, Any] = {"noise": (0.2, 2.0), "n_raters": 40, "n_groups": 4, "n_seeds": 10}
    assert recovery("value", **design)[0] > recovery("lower", **design)[0]


# On the command line
@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """Write a study and a reference."""
    frame = study()
    paths = {name: tmp_path / f"{name}.csv" for name in ("ratings", "raters", "experts")}
    frame.select("item", "rater", "score").write_csv(paths["ratings"])
    frame.select("rater", "group", "half").unique(maintain_order=True).write_csv(paths["raters"])
    trained_frame().write_csv(paths["experts"])
    return paths


def given(files: dict[str, Path], *more: object) -> list[object]:
    return [
        "select", files["ratings"], "--raters", files["raters"], "--scale", "0:4", "--reference", files["experts"],
        "--reference-scale", "safe,unsafe", "--bootstrap", 60, *more,
    ]  # fmt: skip


def test_the_command_prints_what_python_gives(files: dict[str, Path]) -> None:
    arguments = given(files, "--by", "group", "--by", "group,half", "--per-group", 2, "--min-ratings", 45, "--seed", 4)
    reference = pv.read_ratings(files["experts"], scale="safe,unsafe")
    ratings = pv.read_ratings(files["ratings"], scale="0:4", raters=files["raters"])
    asked: dict[str, Any] = {"per_group": 2, "min_ratings": 45, "seed": 4, "bootstrap": 60}
    found = pv.select_raters(ratings, reference, ["group", ("group", "half")], **asked)
    told = run_cli(*arguments, "--json").json()
    told["settings"]["by"] = found.settings["by"]
    assert told == json.loads(found.to_json())
    for name in ("chosen", "groups", "candidates", "fairness", "look_at", "alarms"):
        frame = run_cli(*arguments, "--csv", "--table", name).frame()
        expected = found.table(name)
        assert frame.columns == expected.columns
        if name != "look_at":
            assert frame["group"].to_list() == expected["group"].to_list()
        if name in ("chosen", "candidates"):
            assert frame["rater"].to_list() == expected["rater"].to_list()
            assert frame["ci_low"].to_list() == pytest.approx(expected["ci_low"].to_list(), nan_ok=True)
    shown = run_cli(*arguments)
    assert shown.code == 0
    first = found.shown_frame().row(0, named=True)
    assert "The most responsive raters by group" in shown.words
    cells = f"g0 1 {first['rater']} {first['value']:.3f} [{first['ci_low']:.2f}, {first['ci_high']:.2f}]"
    assert cells in shown.words
    assert all(sentence in shown.words for sentence in found.findings())
    marked = run_cli(*arguments, "--markdown").out
    title = "### The most responsive raters by group (numbered; --ids names them)\n\n"
    assert marked.startswith(title + "| group | rank | rater |")
    assert f"| g0 | 1 | {first['rater']} | " in marked


def test_the_command_knows_metric_order_threshold_and_crowd(files: dict[str, Path]) -> None:
    plain = ["select", files["ratings"], "--raters", files["raters"], "--scale", "0:4", "--by", "group"]
    asked = ["--metric", "wra", "--order", "value", "--bootstrap", 0, "--threshold", 3]
    done = run_cli(*plain, *asked, "--reference", "crowd")
    assert done.code == 0, done.err
    assert "by WRA against the rest of the crowd, in the order of the value itself" in done.words
    ratings = pv.read_ratings(files["ratings"], scale="0:4", raters=files["raters"])
    found = pv.select_raters(ratings, "crowd", "group", metric="wra", order="value", bootstrap=0, threshold=3)
    for row in found.shown_frame().iter_rows(named=True):
        assert f"{row['group']} {row['rank']} {row['rater']} {row['value']:.3f} {row['mpa']:.3f}" in done.words


def test_the_terminal_names_ties_and_groups_without_anybody(write: Write) -> None:
    few = [perfect(f"f{r}", "quiet", 6) for r in range(5)]
    frame = pl.concat([*(perfect(f"r{n}", "g", n) for n in (24, 50, 30, 60, 26)), *few])
    ratings = write("ratings.csv", frame.write_csv())
    experts = write("experts.csv", trained_frame(shares=(0.5,)).write_csv())
    done = run_cli(
        "select", ratings, "--rater-attributes", "group", "--reference", experts, "--reference-scale", "safe,unsafe",
        "--by", "group", "--per-group", 1, "--bootstrap", 20, "--scale", "0:1", "--config", write("plurivox.toml", ""),
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "g 1 rater 10 1.000 [1.00, 1.00] 1.000 1.000 60 yes" in done.words
    assert "quiet – nobody – – – –" in done.words
    assert "• g, rater 10: tied with 4 others, not chosen; the number of ratings decided" in done.words
    assert "Nobody is chosen from quiet (group): 5 raters have fewer than 20 ratings" in done.words


@pytest.mark.parametrize(("more", "code", "words"), [
    (["--by", "group", "--min-ratings", 500], 1, "no group has an eligible rater"),
    (["--by", "group,half", "--min-group-size", 50], 1,
     "there is nobody to choose from, since all 6 groups are withheld"),
    (["--by", "colour"], 1, "raters have no attribute 'colour'"),
    (["--by", "group", "--metric", "auroc"], 1, "metric is 'auroc'. Choose one of hm, mpa, wra"),
    (["--by", "group", "--order", "best"], 1, "order is 'best'"),
    (["--by", "group", "--bootstrap", 0], 1, "bootstrap is 0"), (["--by", "group", "--per-group", 0], 2, "--per-group"),
    (["--by", "group", "--table", "raters"], 2,
     "--table must be one of chosen, groups, candidates, fairness, look_at, alarms, not 'raters'"),
    (["--by", "group", "--json", "--csv"], 2, "only one of --json and --csv can be printed"),
])  # fmt: skip
def test_bad_calls_end_with_one_clear_error(files: dict[str, Path], more: list[object], code: int, words: str) -> None:
    done = run_cli(*given(files, *more))
    assert (done.code, done.out) == (code, "")
    assert words in done.words
    assert "Traceback" not in done.err
