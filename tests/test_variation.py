"""Who rates higher, and what varies: against least squares with item dummies, plain loops, and at its edges."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import plurivox as pv
import reference as twin
from plurivox.axis import Axis
from plurivox.engine import jackknife, pool
from plurivox.engine.draws import Draws, item_weights, rater_weights
from plurivox.engine.grouping import Grouping
from plurivox.engine.jackknife import RaterUnits, rating_blocks, without_items, without_raters
from plurivox.engine.part import cut
from plurivox.engine.run import run, total
from plurivox.engine.running import Running
from plurivox.lenses.variation.adjusted import Adjusted
from plurivox.lenses.variation.sums import Measured
from plurivox.ratings import Ratings
from support import run_cli

HOW = Running(threads=1)
FEW: dict[str, Any] = {"permutations": 0, "interval": "none", "min_group_size": 1}
Rows = list[twin.Rating]

# Studies: crossed, where items have more than four times as many ratings as points; sparse, where they have fewer; of
# very many points, where single ratings are looked up; and with gaps of every size.
SHAPES: dict[str, dict[str, Any]] = {
    "crossed": {"n_items": 8, "n_raters": 26, "missing": 0.0, "values": [0, 1, 2, 7]},
    "sparse": {"n_items": 24, "n_raters": 22, "missing": 0.75, "values": [1, 2, 3, 4, 5]},
    "many points": {"n_items": 20, "n_raters": 18, "missing": 0.6, "values": list(range(101))},
    "mixed": {"n_items": 14, "n_raters": 40, "missing": 0.5, "values": [-1, 0, 3], "uneven": True},
}


def study(seed: int, shape: str = "sparse", **changed: Any) -> pv.Ratings:
    """Return ratings of raters with two attributes, of which some are missing."""
    asked = {**SHAPES[shape], **changed}
    n_items, n_raters, values = asked["n_items"], asked["n_raters"], asked["values"]
    rng = np.random.default_rng(seed)
    missing = np.full(n_items, asked["missing"])
    if asked.get("uneven"):
        missing = np.linspace(0.0, 0.95, n_items)
    rated = rng.random((n_items, n_raters)) >= missing[:, np.newaxis]
    rated[:, :2] |= ~rated.any(axis=1, keepdims=True)
    rated[0] |= ~rated.any(axis=0)
    item, rater = np.nonzero(rated)
    latent = rng.normal(size=n_items)[item] + 0.7 * rng.normal(size=n_raters)[rater] + rng.normal(size=len(item))
    place = np.searchsorted(np.linspace(-2, 2, len(values) - 1), latent)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": np.array(values)[place]})
    g = np.array(["x", "y", "z"])[np.arange(n_raters) % 3]
    h = rng.choice(["p", "q", "r"], n_raters)
    known = asked["missing"] == 0
    raters = pl.DataFrame({
        "rater": range(n_raters),
        "g": [None if k == 7 and not known else str(one) for k, one in enumerate(g)],
        "h": [None if k in (3, 7) and not known else str(one) for k, one in enumerate(h)],
    })  # fmt: skip
    items = pl.DataFrame({"item": range(n_items), "topic": ["a" if i % 3 else "b" for i in range(n_items)]})
    return pv.Ratings.from_frame(frame, scale=pv.Scale(values), raters=raters, items=items)


def rows_of(ratings: pv.Ratings, keep: Callable[[Any, Any], bool] = lambda item, rater: True) -> Rows:
    """Return items, raters and scores as numbers."""
    rows = ratings.to_frame().select("item", "rater", "score").rows()
    return [(item, rater, float(score)) for item, rater, score in rows if keep(item, rater)]


def groups_of(ratings: pv.Ratings, name: str) -> dict[Any, Any]:
    return dict(ratings.raters.select("rater", name).rows())


def lenient(rows: Rows, group: dict[Any, Any], one: Any) -> float:
    """Return a group's coefficient in a regression with item dummies, of raters whose group is known."""
    inside = [row for row in rows if group[row[1]] is not None]
    found = twin.absorbed(inside, [lambda rater: group[rater] == one])
    return math.nan if found is None else float(found[0])


def dominant(rows: Rows, group: dict[Any, Any], one: Any) -> float:
    found = twin.dominance(rows, group, one)
    return math.nan if found is None else found


def measured(ratings: pv.Ratings, name: str = "g", strata: Any = None) -> tuple[Measured, Axis]:
    axis = Axis.of(ratings, name, min_group_size=1)
    return Measured(ratings, Grouping.of(ratings, axis.codes, len(axis), strata)), axis


def fitted(rows: Rows, attributes: dict[str, dict[Any, Any]], references: dict[str, str]) -> dict[tuple[str, str], float]:
    """Return the effects of all attributes at once by least squares with item dummies; raters who lack one left out."""
    inside = [row for row in rows if all(own[row[1]] is not None for own in attributes.values())]
    names = [
        (attribute, group) for attribute, own in attributes.items()
        for group in sorted({own[rater] for _, rater, _ in inside}) if group != references[attribute]
    ]  # fmt: skip
    columns = [lambda rater, at=at: attributes[at[0]][rater] == at[1] for at in names]
    found = twin.absorbed(inside, columns)
    return dict(zip(names, [math.nan] * len(names) if found is None else found.tolist(), strict=True))


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_leniency_and_dominance_against_least_squares_and_loops(shape: str) -> None:
    for seed in range(2):
        ratings = study(seed, shape)
        rows, group = rows_of(ratings), groups_of(ratings, "g")
        found = pv.variation(ratings, "g", **FEW)
        for one in "xyz":
            assert found.value("g", one, "leniency") == pytest.approx(lenient(rows, group, one), abs=1e-10)
            assert found.value("g", one, "dominance") == pytest.approx(dominant(rows, group, one), abs=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_all_attributes_at_once_against_least_squares(shape: str) -> None:
    ratings = study(5, shape)
    rows, both = rows_of(ratings), {name: groups_of(ratings, name) for name in "gh"}
    complete = [row for row in rows if all(own[row[1]] is not None for own in both.values())]
    found = pv.variation(ratings, ["g", "h"], adjust=True, reference={"g": "y"}, **FEW).adjusted()
    references = dict(found.select("attribute", "reference").unique().rows())
    assert references["g"] == "y"
    together = fitted(rows, both, references)
    alone = {key: value for name in "gh" for key, value in fitted(complete, {name: both[name]}, references).items()}
    counts = {name: [both[name][rater] for rater in {row[1] for row in complete}] for name in "gh"}
    assert len(found) == 6
    for row in found.iter_rows(named=True):
        at = row["attribute"], row["group"]
        assert row["effect"] == pytest.approx(together.get(at, 0.0), abs=1e-10)
        assert row["unadjusted"] == pytest.approx(alone.get(at, 0.0), abs=1e-10)
        own = counts[at[0]]
        mean = sum(together.get((at[0], group), 0.0) for group in own) / len(own)
        assert row["deviation"] == pytest.approx(together.get(at, 0.0) - mean, abs=1e-10)
        assert row["n_raters"] == own.count(at[1])


def test_the_largest_group_is_the_reference_and_effects_do_not_depend_on_it() -> None:
    ratings = study(3, n_raters=40)
    sizes = ratings.raters["h"].drop_nulls().value_counts(sort=True)
    found = pv.variation(ratings, ["g", "h"], adjust=True, **FEW).adjusted()
    assert found.filter(pl.col("attribute") == "h")["reference"][0] == sizes["h"][0]
    other = pv.variation(ratings, ["g", "h"], adjust=True, reference={"h": "r"}, **FEW).adjusted()
    assert other["deviation"].to_list() == pytest.approx(found["deviation"].to_list(), abs=1e-12)
    moved = other.filter(pl.col("attribute") == "h")["effect"] - found.filter(pl.col("attribute") == "h")["effect"]
    assert moved.to_list() == pytest.approx([moved[0]] * 3, abs=1e-12)


def test_attributes_of_crossings_are_adjusted_for() -> None:
    ratings = study(3)
    crossing = pv.variation(ratings, [("g", "h")], adjust=True, **FEW).adjusted()
    assert crossing.equals(pv.variation(ratings, ["g", "h"], adjust=True, **FEW).adjusted())


# Shuffles -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("within", [None, "h"])
def test_shuffled_values_are_those_of_relabelled_raters(shape: str, within: str | None) -> None:
    """Crossed, no shuffle changes a count; elsewhere it does. Both are what the raters would have under other groups."""
    ratings = study(2, shape)
    strata = None if within is None else Axis.of(ratings, within, min_group_size=1).codes
    work, axis = measured(ratings, strata=strata)
    assert work._always_alike() == (shape == "crossed")
    null = work.null(Draws.permuted(3, 11), HOW)
    rows, ids = rows_of(ratings), ratings.raters["rater"].to_list()
    seen = set()
    for number in range(1, 4):
        each = [0] * ratings.n_raters if strata is None else strata.tolist()
        moved = twin.shuffled(axis.codes.tolist(), each, 11, number)
        group = {rater: None if code < 0 else axis.groups[code] for rater, code in zip(ids, moved, strict=True)}
        for g, name in enumerate(axis.groups):
            assert null[number - 1, g, 0] == pytest.approx(lenient(rows, group, name), abs=1e-10)
            assert null[number - 1, g, 1] == pytest.approx(dominant(rows, group, name), abs=1e-12)
        seen.add(tuple(moved))
    assert len(seen) == 3


def test_batches_of_raters_who_rated_the_same_keep_their_counts() -> None:
    """Three batches of raters, each with items of its own: shuffles within a batch change no count."""
    rows = [(10 * (r % 3) + i, r, (r * 7 + i * i) % 5) for r in range(30) for i in range(6)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    raters = pl.DataFrame({"rater": range(30), "g": ["x" if r % 2 else "y" for r in range(30)],
                           "batch": [str(r % 3) for r in range(30)]})  # fmt: skip
    ratings = pv.Ratings.from_frame(frame, scale="0:4", raters=raters)
    work, axis = measured(ratings, strata=Axis.of(ratings, "batch").codes)
    free, _ = measured(ratings)
    assert work._always_alike()
    assert not free._always_alike()
    for one in (work, free):
        labels = one.grouping.labels(Draws.permuted(4, 3))
        null = one.null(Draws.permuted(4, 3), HOW)
        for codes, values in zip(labels, null, strict=True):
            group = {rater: axis.groups[code] for rater, code in enumerate(codes)}
            assert values[0, 0] == pytest.approx(lenient(rows_of(ratings), group, axis.groups[0]), abs=1e-10)


def test_p_is_the_rank_of_the_deviation_among_shuffles() -> None:
    ratings = study(4, "crossed", n_raters=20)
    found = pv.variation(ratings, "g", permutations=60, max_permutations=60, interval="none", min_group_size=1, seed=3)
    row = found.row("g", "x", "leniency")
    null = found.null("g", "x", "leniency")
    values = np.concatenate([[row.value], null])
    below, above = (int((values <= row.value + 1e-12).sum()), int((values >= row.value - 1e-12).sum()))
    assert row.p_value == pytest.approx(min(1.0, 2 * min(below, above) / 61))
    again = pv.variation(ratings, "g", permutations=60, max_permutations=60, interval="none", min_group_size=1, seed=4)
    assert again.row("g", "x", "leniency").p_value != row.p_value or again.null("g", "x", "leniency")[0] != null[0]


# Without each unit ----------------------------------------------------------------------------------------------------


def all_values(rows: Rows, group: dict[Any, Any], names: tuple[str, ...]) -> np.ndarray[Any, Any]:
    """Return groups and axis × statistics, as the lens has them, by regressions, loops and matrices."""
    inside = [row for row in rows if group[row[1]] is not None]
    found = np.full((len(names) + 1, 7), np.nan)
    for g, name in enumerate(names):
        found[g, :2] = lenient(rows, group, name), dominant(rows, group, name)
        own = [row for row in inside if group[row[1]] == name]
        found[g, 2:5] = list(twin.henderson(own).values())
    found[-1, 2:] = list(twin.henderson(inside, group).values())
    return found


@pytest.mark.parametrize(("shape", "seed"), [("crossed", 1), ("sparse", 3), ("mixed", 2), ("many points", 1)])
def test_values_without_a_unit_are_those_of_the_other_ratings(shape: str, seed: int) -> None:
    """Items, raters and blocks of ratings left out, three of each: leniency, dominance and all components."""
    ratings = study(seed, shape, n_raters=18 if shape != "crossed" else 26)
    work, axis = measured(ratings)
    rows, group = rows_of(ratings), groups_of(ratings, "g")
    left = work.left_out("both", HOW)
    assert left.observed == pytest.approx(all_values(rows, group, axis.groups), abs=1e-8, nan_ok=True)
    items, *raters = left.each
    ids = ratings.items["item"].to_list()
    for unit in (0, 3, len(ids) - 1):
        kept = [row for row in rows if row[0] != ids[unit]]
        assert items[unit] == pytest.approx(all_values(kept, group, axis.groups), abs=1e-8, nan_ok=True)
    units = RaterUnits.of(axis.codes, len(axis)).units
    each = np.concatenate(raters)
    for rater in (0, 4, ratings.n_raters - 1):
        kept = [row for row in rows if row[1] != rater]
        assert each[units[rater]] == pytest.approx(all_values(kept, group, axis.groups), abs=1e-8, nan_ok=True)
    (part,) = ratings.parts()
    block = rating_blocks(part, jackknife.number_of_blocks(ratings.parts()))
    assert left.ratings is not None
    for number in np.unique(block)[:3]:
        kept = [row for row, own in zip(rows, block, strict=True) if own != number]
        values = all_values(kept, group, axis.groups)
        assert left.ratings[number] == pytest.approx(values, abs=1e-8, nan_ok=True)


def test_units_of_several_raters_who_share_items_are_left_out_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A unit that has several ratings of an item takes each place off once, whichever way places are found."""
    monkeypatch.setattr(jackknife, "MOST_PER_GROUP", 3)
    monkeypatch.setattr(jackknife, "LEAST_PER_GROUP", 1)
    for shape in ("crossed", "mixed", "sparse"):
        ratings = study(6, shape)
        work, axis = measured(ratings)
        rows, group = rows_of(ratings), groups_of(ratings, "g")
        units = RaterUnits.of(axis.codes, len(axis)).units
        each = np.concatenate(work.left_out("raters", HOW).each)
        assert len(each) == 9
        for unit in (0, 4, 8):
            kept = [row for row in rows if units[row[1]] != unit]
            for g, name in enumerate(axis.groups):
                assert each[unit, g, 0] == pytest.approx(lenient(kept, group, name), abs=1e-10)
                assert each[unit, g, 1] == pytest.approx(dominant(kept, group, name), abs=1e-12)


@pytest.mark.parametrize("shape", ["crossed", "sparse", "mixed"])
def test_effects_without_a_unit_are_those_of_the_other_ratings(shape: str) -> None:
    ratings = study(8, shape)
    rows, both = rows_of(ratings), {name: groups_of(ratings, name) for name in "gh"}
    axes = [Axis.of(ratings, name, min_group_size=1) for name in "gh"]
    fit = Adjusted.of(ratings, axes, {"g": "x", "h": "p"})
    parts, work, solve = ratings.parts(), fit.work(), fit.solve
    whole = total(parts, work)
    names = [(axis.name, group) for axis in axes for group in axis.groups]

    def expected(kept: Rows) -> list[float]:
        found = fitted(kept, both, {"g": "x", "h": "p"})
        return [found.get(at, 0.0) for at in names]

    items = without_items(parts, work, whole, solve, HOW)
    units = RaterUnits.of(np.where(fit.profiles[:, 0] < 0, -1, axes[0].codes), 3)
    raters = np.concatenate(without_raters(parts, work, units, solve, HOW))
    n_blocks = work.n_blocks
    ratings_left = np.concatenate(run(parts, work, Draws.of_blocks(n_blocks), solve, HOW))
    block = rating_blocks(parts[0], n_blocks)
    for item in (0, 5):
        assert items[item, :, 0] == pytest.approx(expected([row for row in rows if row[0] != item]), abs=1e-9)
    for rater in (0, 8, 11):
        kept = [row for row in rows if row[1] != rater]
        assert raters[units.units[rater], :, 0] == pytest.approx(expected(kept), abs=1e-9)
    for number in np.unique(block)[:2]:
        kept = [row for row, own in zip(rows, block, strict=True) if own != number]
        assert ratings_left[number, :, 0] == pytest.approx(expected(kept), abs=1e-9)


def test_the_interval_of_leniency_over_items_is_that_of_a_weighted_mean() -> None:
    """Crossed, leniency is a mean over items: its interval is the textbook one of t."""
    from scipy import stats

    ratings = study(9, "crossed", n_items=12)
    rows, group = rows_of(ratings), groups_of(ratings, "g")
    gaps = [lenient([row for row in rows if row[0] == item], group, "x") for item in range(12)]
    row = pv.variation(ratings, "g", permutations=0, resample="items", min_group_size=1).row("g", "x", "leniency")
    deviations = (np.array(gaps) - np.mean(gaps)) ** 2
    uneven = (deviations**2).sum() - deviations.sum() ** 2 / 12
    freedom = min(2 * deviations.sum() ** 2 / uneven, 11)
    reach = stats.t.ppf(0.975, freedom) * stats.sem(gaps)
    assert (row.ci_low, row.ci_high) == pytest.approx((row.value - reach, row.value + reach), abs=1e-10)


def test_bootstrap_draws_are_copies_of_items_and_raters() -> None:
    ratings = study(10, "sparse", n_items=12, missing=0.4)
    work, axis = measured(ratings)
    rows, group = rows_of(ratings), groups_of(ratings, "g")
    for resample in ("items", "raters", "both"):
        drawn = work.bootstrap(2, 5, resample, HOW)
        items = item_weights(ratings.n_items, 2, 5) if resample != "raters" else np.ones((2, ratings.n_items), int)
        raters = rater_weights(axis.codes, 2, 5) if resample != "items" else np.ones((2, ratings.n_raters), int)
        for d in range(2):
            copies = [
                (f"{item}, {again}", rater, score) for item, rater, score in rows for again in range(items[d, item])
                for _ in range(raters[d, rater])
            ]  # fmt: skip
            for g, name in enumerate(axis.groups):
                assert drawn[d, g, 0] == pytest.approx(lenient(copies, group, name), abs=1e-10)
                assert drawn[d, g, 1] == pytest.approx(dominant(copies, group, name), abs=1e-12)
    found = pv.variation(ratings, "g", permutations=0, bootstrap=50, min_group_size=1, adjust=True)
    row = found.row("g", "x", "leniency")
    draws = work.bootstrap(50, 0, "both", HOW)[:, 0, 0]
    assert (row.ci_low, row.ci_high) == pytest.approx(tuple(np.quantile(draws, [0.025, 0.975])), abs=1e-9)


# Bits -----------------------------------------------------------------------------------------------------------------

ASKED: dict[str, Any] = {"permutations": 40, "min_group_size": 2, "adjust": True, "items_by": "topic", "seed": 9}


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as workers:
        yield workers


def test_neither_threads_nor_batches_nor_rows_change_a_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    ratings = study(12, n_items=12, n_raters=24, missing=0.5)
    for asked in (ASKED, {**ASKED, "bootstrap": 20, "items_by": None}):
        one = pv.variation(ratings, ["g", ("g", "h")], threads=1, **asked).to_json()
        assert pv.variation(ratings, ["g", ("g", "h")], threads=3, **asked).to_json() == one
        with monkeypatch.context() as patched:
            patched.setattr(pool, "_SECONDS", 1e-9)
            assert pv.variation(ratings, ["g", ("g", "h")], threads=2, **asked).to_json() == one
        order = np.random.default_rng(0).permutation(len(ratings))
        moved = pv.Ratings.from_frame(
            ratings.to_frame().select("item", "rater", "score")[order], scale=ratings.scale, raters=ratings.raters[::-1],
            items=ratings.items[::-1],
        )  # fmt: skip
        assert pv.variation(moved, ["g", ("g", "h")], **asked).to_json() == one


def test_processes_and_parts(processes: Executor) -> None:
    ratings = study(12, n_raters=40)
    whole = pv.variation(ratings, "g", threads=1, **ASKED)
    assert pv.variation(ratings, "g", threads=2, executor=processes, **ASKED).to_json() == whole.to_json()
    parts = cut(ratings.offsets, ratings.rater_codes, ratings.scores, None, 40)
    assert len(parts) > 3
    work, axis = measured(ratings)
    fit = Adjusted.of(ratings, [axis, Axis.of(ratings, "h", min_group_size=1)], {})
    before = work.left_out("both", HOW), work.null(Draws.permuted(5, 1), HOW), total(ratings.parts(), fit.work())
    with mock.patch.object(Ratings, "parts", return_value=parts):
        again = Measured(ratings, work.grouping)
        made = {}
        for name, how in {"one": HOW, "three": Running(3), "processes": Running(2, processes)}.items():
            left = again.left_out("both", how)
            made[name] = [left.observed, *left.each, left.ratings, again.null(Draws.permuted(5, 1), how)]
            assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(made[name], made["one"], strict=True))
        split = total(parts, fit.work())
    expected = [before[0].observed, *before[0].each, before[0].ratings, before[1]]
    for x, y in zip(made["one"], expected, strict=True):
        assert np.allclose(x, y, rtol=1e-9, atol=1e-10, equal_nan=True)
    assert np.allclose(split["products"], before[2]["products"], atol=1e-10)


def test_relabelling_reversing_and_doubling() -> None:
    """Other ids change nothing, a reversed scale changes signs, and twice the items leave values as they are."""
    ratings = study(13)
    frame = ratings.to_frame().select("item", "rater", "score")
    scores = [float(value) for value in ratings.scale.values]

    def leniency(frame: pl.DataFrame) -> tuple[float, float]:
        made = pv.Ratings.from_frame(frame, scale=ratings.scale, raters=ratings.raters)
        found = pv.variation(made, "g", **FEW)
        return found.value("g", "x", "leniency"), found.value("g", "x", "dominance")

    value, share = leniency(frame)
    assert leniency(frame.with_columns(100 - pl.col("item"))) == pytest.approx((value, share), abs=1e-12)
    turned = frame.with_columns((min(scores) + max(scores) - pl.col("score")).alias("score"))
    assert leniency(turned) == pytest.approx((-value, 1 - share), abs=1e-12)
    doubled = pl.concat([frame, frame.with_columns(pl.col("item") + 1000)])
    assert leniency(doubled) == pytest.approx((value, share), abs=1e-12)


# Contrasts, pairs, parts of the items, raters one by one ---------------------------------------------------------------


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
    alone = pv.variation(
        pv.Ratings.from_frame(frame, scale=ratings.scale, raters=only), "g", permutations=0, min_group_size=1
    ).row("g", "x", "leniency")
    assert alone.value == pytest.approx(beside["value"][0], abs=1e-10)
    assert alone.ci_low == pytest.approx(beside["ci_low"][0], abs=0.01)  # other blocks of ratings are left out


def test_parts_of_the_items_are_as_if_there_were_no_others() -> None:
    ratings = study(15, n_items=30, missing=0.3)
    found = pv.variation(ratings, "g", permutations=0, min_group_size=1, items_by="topic", adjust=True)
    topics = dict(ratings.items.rows())
    frame = ratings.to_frame().select("item", "rater", "score")
    for topic in "ab":
        own = frame.filter(pl.col("item").replace_strict(topics) == topic)
        alone = pv.variation(
            pv.Ratings.from_frame(own, scale=ratings.scale, raters=ratings.raters), "g", permutations=0,
            min_group_size=1, adjust=True,
        )  # fmt: skip
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
    ratings = pv.Ratings.from_frame(
        ratings.to_frame().select("item", "rater", "score"), scale=ratings.scale, raters=frame
    )
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
    ratings = pv.Ratings.from_frame(
        ratings.to_frame().select("item", "rater", "score"), scale=ratings.scale,
        raters=pl.DataFrame({"rater": range(31), "g": g}),
    )  # fmt: skip
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
    with pytest.raises(pv.InputError, match="has no group 'tiny' to hold others beside, or it is withheld"):
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
    assert own["note"][0] == "there is one group only"
    assert found.components().filter(pl.col("axis") == "all")["variance"].is_not_nan().all()
    defined_or_noted(found)


def test_one_item() -> None:
    found = pv.variation(made({"a": [1], "b": [2], "c": [4], "d": [4]}, g="xxyy"), "g", **EDGE)
    assert found.value("g", "x", "leniency") == pytest.approx(1.5 - 4)
    assert found.value("g", "x", "dominance") == 0
    assert found.components()["note"][0] == "there is one item only"
    defined_or_noted(found)


def test_one_rater() -> None:
    found = pv.variation(made({"a": [1, 2, 3]}, g="x"), "g", **EDGE)
    assert math.isnan(found.value("g", "x", "leniency"))
    assert found.components()["note"][0] == "there is one rater only"
    defined_or_noted(found)


def test_groups_of_single_raters() -> None:
    found = pv.variation(made({"a": [1, 2, 3], "b": [2, 2, 4], "c": [0, 1, 4]}, g="xyz"), "g", **EDGE)
    assert found.value("g", "x", "leniency") == pytest.approx(np.mean([1 - 1, 2 - 1.5, 3 - 4]))
    defined_or_noted(found)


def test_raters_of_a_single_group_for_each_item() -> None:
    """Each item was rated by one group alone, so nothing can be compared."""
    table: dict[str, list[int | None]] = {
        "a": [1, 2, None, None], "b": [2, 4, None, None], "c": [None, None, 0, 3], "d": [None, None, 1, 4],
    }  # fmt: skip
    found = pv.variation(made(table, g="xxyy"), "g", **EDGE)
    for group in "xy":
        for statistic in ("leniency", "dominance"):
            row = found.row("g", group, statistic)
            assert math.isnan(row.value)
            assert row.note == "no item was rated by this group and by others"
            assert row.p_value is None or math.isnan(row.p_value)
    assert found.adjusted().filter(pl.col("group") != pl.col("reference"))["note"].to_list() == [
        "no rater of this group rated an item with raters of others, or only of groups for which the same holds"
    ]
    defined_or_noted(found)


def test_two_islands_of_groups() -> None:
    """Groups x and y share items, and so do u and v, but not these with those: differences within islands are told."""
    table: dict[str, list[int | None]] = {
        "a": [1, 2, None, None], "b": [2, 4, None, None], "c": [None, None, 0, 3], "d": [None, None, 1, 4],
    }  # fmt: skip
    found = pv.variation(made(table, g="xyuv"), "g", **EDGE)
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
    assert found.components()["variance"].fill_nan(0).abs().max() < 1e-12
    assert found.reliability()["relative"].is_nan().all()
    defined_or_noted(found)


def test_attributes_that_determine_each_other_are_named_and_others_keep_their_effects() -> None:
    ratings = study(20, "mixed", n_raters=24)
    g = groups_of(ratings, "g")
    renamed = {"x": "one", "y": "two", "z": "three", None: None}
    raters = ratings.raters.with_columns(pl.Series("copy", [renamed[g[rater]] for rater in range(24)]))
    ratings = pv.Ratings.from_frame(
        ratings.to_frame().select("item", "rater", "score"), scale=ratings.scale, raters=raters
    )
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
    assert open_.filter(pl.col("attribute") == "g")["note"].to_list() == [
        "within items it cannot be told apart from cell: one follows from the other"
    ]


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
        ({"reference": {"mood": "x"}, "adjust": True}, "reference names 'mood', which is none of the attributes"),
        ({"reference": {"g": "w"}, "adjust": True}, "g has no group 'w' to hold others beside"),
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


def test_frame_and_json() -> None:
    found = pv.variation(study(1), ["g", ("g", "h")], permutations=20, bootstrap=20, adjust=True, min_group_size=1)
    frame = found.to_frame()
    assert frame.select("axis", "group", "statistic").is_duplicated().sum() == 0
    assert set(frame["statistic"]) == {"leniency", "dominance"}
    text = found.to_json()
    json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not strict JSON"))
    back = pv.Variation.from_json(text)
    assert isinstance(back, pv.Variation)
    assert back.to_frame().equals(frame)
    for table in ("components", "reliability", "needed", "adjusted", "pairs"):
        assert getattr(back, table)().equals(getattr(found, table)()), table
    assert np.array_equal(back.null("g", "x", "leniency"), found.null("g", "x", "leniency"))
    assert [one.text for one in back.statements()] == [one.text for one in found.statements()]
    assert set(found.components().columns) >= {"axis", "component", "variance", "share", "ci_low", "ci_high"}
    assert set(found.adjusted().columns) >= {"attribute", "group", "effect", "ci_low", "ci_high", "unadjusted"}
    assert set(found.reliability().columns) >= {"k", "relative", "absolute"}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from plurivox.simulation.files import write_study

    folder = tmp_path_factory.mktemp("study")
    write_study(
        pv.simulate(n_items=40, n_raters=80, effects=[pv.Effect({"gender": "Man"}, bias=0.9)], seed=3), folder
    )
    return folder


def test_command_line_says_who_rates_higher(files: Path) -> None:
    done = run_cli("variation", files / "ratings.csv", "--by", "gender", "--by", "age", "--permutations", 99, "--adjust",
                   "--reference", "gender=Woman", "--pairs", "--contrast", "Man,Woman", "--min-group-size", 2)  # fmt: skip
    assert done.code == 0, done.err
    for part in ("gender: who rates higher on the same items", "Shares of the variance in scores",
                 "Reliability of a mean of k raters", "Two groups on the items that both rated",
                 "All attributes at once, beside the reference (gender: Woman", "every pair of groups",
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
    expected = pv.variation(
        ratings, [("gender",)], permutations=50, seed=4, adjust=True, reference={"gender": "Woman"}
    )
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
    assert "gender has no group 'Women' to hold others beside" in bad.words
