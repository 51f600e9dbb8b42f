"""Who rates higher, and what varies: against least squares with item dummies, plain loops, and any workers."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest

import plurivox as pv
import reference as twin
from plurivox.domain.axis import Axis
from plurivox.domain.part import cut
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws, item_weights, rater_weights
from plurivox.engine.pool import Running
from plurivox.engine.run import run, total
from plurivox.infer import jackknife
from plurivox.infer.jackknife import RaterUnits, rating_blocks, without_items, without_raters
from plurivox.lenses.variation import adjusted
from plurivox.lenses.variation.adjusted import Adjusted
from plurivox.lenses.variation.sums import GroupLeniency
from variation_studies import FEW, SHAPES, Rows, dominant, fitted, groups_of, lenient, measured, rows_of, study

HOW = Running(threads=1)


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


def test_many_groups_have_the_effects_of_least_squares(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(5)
    design = draw.normal(size=(600, 250))
    scores = draw.normal(size=600)
    products, crossed = (design.T @ design)[np.newaxis], (design.T @ scores)[np.newaxis]
    expected = np.linalg.lstsq(design, scores, rcond=None)[0]
    assert adjusted._effects(products, crossed, np.arange(250), ())[0] == pytest.approx(expected, abs=1e-10)
    design[:, 7] = design[:, 3] + design[:, 4]  # then three of them cannot be told apart
    products, crossed = (design.T @ design)[np.newaxis], (design.T @ scores)[np.newaxis]
    careful = adjusted._effects(products, crossed, np.arange(250), ())
    assert np.flatnonzero(np.isnan(careful[0])).tolist() == [3, 4, 7]
    monkeypatch.setattr(adjusted, "_MANY", 1_000)
    assert np.array_equal(adjusted._effects(products, crossed, np.arange(250), ()), careful, equal_nan=True)


def test_attributes_of_crossings_are_adjusted_for() -> None:
    ratings = study(3)
    crossing = pv.variation(ratings, [("g", "h")], adjust=True, **FEW).adjusted()
    assert crossing.equals(pv.variation(ratings, ["g", "h"], adjust=True, **FEW).adjusted())


# Shuffles -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("within", [None, "h"])
def test_shuffled_values_are_those_of_relabelled_raters(shape: str, within: str | None) -> None:
    """Crossed, no shuffle changes a count; elsewhere it does. Values are what the raters would have in other groups."""
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


@pytest.mark.parametrize(("shape", "missing"), [("sparse", 0.4), ("many points", 0.6)])
def test_bootstrap_draws_are_copies_of_items_and_raters(shape: str, missing: float) -> None:
    ratings = study(10, shape, n_items=12, missing=missing)
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


def test_processes_and_parts(processes: Executor) -> None:
    ratings = study(12, n_raters=40)
    parts = cut(ratings.offsets, ratings.rater_codes, ratings.scores, None, 40)
    assert len(parts) > 3
    work, axis = measured(ratings)
    fit = Adjusted.of(ratings, [axis, Axis.of(ratings, "h", min_group_size=1)], {})
    before = work.left_out("both", HOW), work.null(Draws.permuted(5, 1), HOW), total(ratings.parts(), fit.work())
    with mock.patch.object(Ratings, "parts", return_value=parts):
        again = GroupLeniency(ratings, work.grouping)
        made: dict[str, list[Any]] = {}
        for name, how in {"one": HOW, "three": Running(3), "processes": Running(2, processes)}.items():
            left = again.left_out("both", how)
            made[name] = [left.observed, *left.each, left.ratings, again.null(Draws.permuted(5, 1), how)]
            assert all(np.array_equal(x, y, equal_nan=True) for x, y in zip(made[name], made["one"], strict=True))
        split = total(parts, fit.work())
    expected: list[Any] = [before[0].observed, *before[0].each, before[0].ratings, before[1]]
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
