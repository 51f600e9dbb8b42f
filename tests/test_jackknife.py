"""The two-way jackknife against literal twins: every unit really left out, textbook errors, bits, and edges."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from statistics import fmean, pvariance, stdev
from typing import Any
from unittest import mock

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plurivox as pv
import reference as twin
from claims import interval_coverage as claims
from plurivox.domain.axis import Axis
from plurivox.domain.part import cut
from plurivox.domain.ratings import Ratings
from plurivox.engine.pool import Running
from plurivox.infer import jackknife
from plurivox.infer.grouping import Grouping
from plurivox.infer.intervals import Interval
from plurivox.infer.jackknife import LeftOut, RaterUnits, blocks
from plurivox.lenses.cohesion.sums import GroupAgreement
from plurivox.lenses.responsiveness.raters import RaterResponses
from plurivox.lenses.responsiveness.references import resolve
from plurivox.lenses.responsiveness.sums import Responses
from plurivox.statistics.cohesion import functions
from plurivox.statistics.records import scales_of
from plurivox.statistics.responsiveness import MEASURED_ON, MEASURES

HOW = Running(threads=1)
ANY = (-math.inf, math.inf)


def study(seed: int, n_items: int = 9, groups: str = "xxxyyyyz", chance: float = 0.7) -> pv.Ratings:
    rng = np.random.default_rng(seed)
    rated = rng.random((n_items, len(groups))) < chance
    item, rater = np.nonzero(rated)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": rng.integers(0, 4, len(item))})
    raters = pl.DataFrame({"rater": range(len(groups)), "g": [None if g == "." else g for g in groups]})
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 3), raters=raters)


def without(ratings: pv.Ratings, column: str, wanted: Any) -> pv.Ratings:
    frame = ratings.to_frame().filter(pl.col(column) != wanted)
    return pv.Ratings.from_frame(frame, scale=ratings.scale, raters=ratings.raters)


def measured(ratings: pv.Ratings, level: Any = "ordinal") -> GroupAgreement:
    axis = Axis.of(ratings, "g", min_group_size=1)
    return GroupAgreement.of(ratings, Grouping.of(ratings, axis.codes, len(axis)), level=level)


def interval_of(one: GroupAgreement | Responses, resample: str, how: Running = HOW) -> Interval:
    """Return the intervals of all values, groups × statistics, on the scales of their statistics."""
    scales = MEASURED_ON if isinstance(one, Responses) else scales_of((*one.tested, *one.beside))
    return one.left_out(resample, how).interval(*scales)


def names_of(one: GroupAgreement) -> list[str]:
    return [record.name for record in (*one.tested, *one.beside)]


def literal_cohesion(ratings: pv.Ratings, group: str, level: Any) -> dict[str, float]:
    """Return statistics of a group by the public functions of counts."""

    def counts(chosen: pl.Expr) -> np.ndarray[Any, Any]:
        found = np.zeros((1 + max(ratings.items["item"].to_list()), 4), dtype=np.int64)
        for item, score in ratings.to_frame().filter(chosen).select("item", "score").iter_rows():
            found[item, score] += 1
        return found

    of = dict(ratings.raters.select("rater", "g").iter_rows())
    own = [rater for rater, g in of.items() if g == group]
    rest = [rater for rater, g in of.items() if g not in (group, None)]
    x, y = counts(pl.col("rater").is_in(own)), counts(pl.col("rater").is_in(rest))
    return {
        "irr": functions.krippendorff_alpha(x, level), "xrr": functions.xrr(x, y, level),
        "percent_agreement": functions.percent_agreement(x), "negentropy": functions.negentropy(x),
        "voting_agreement": functions.voting_agreement(x, y),
    }  # fmt: skip


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_cohesion_without_a_unit_is_that_of_the_other_ratings(level: Any) -> None:
    ratings = study(3, groups="xxxyyyyz.")
    one = measured(ratings, level)
    left, names = one.left_out("both", HOW), names_of(one)
    units = [("item", item) for item in ratings.items["item"]]
    units += [("rater", rater) for rater in range(3)] + [("rater", rater) for rater in range(3, 8)]
    made = np.concatenate(left.each)
    assert [len(values) for values in left.each] == [9, 3, 5]  # z is alone and varies with the largest group
    for values, unit in zip(made, units, strict=True):
        for g, group in enumerate("xy"):
            for name, literal in literal_cohesion(without(ratings, *unit), group, level).items():
                assert values[g, names.index(name)] == pytest.approx(literal, abs=1e-12, nan_ok=True), (unit, name)


@pytest.mark.parametrize("kind", ["crowd", "group"])
def test_a_rater_left_out_leaves_the_reference_too(kind: str) -> None:
    ratings = study(4, n_items=12, groups="xxxyyyy.")
    axis = Axis.of(ratings, "g", min_group_size=1)
    against = resolve(ratings, "crowd" if kind == "crowd" else {"g": "y"})
    left = Responses.of(ratings, axis.codes, 2, against).left_out("both", HOW)
    members = {"x": {0, 1, 2}, "y": {3, 4, 5, 6}}
    units = [("item", item) for item in ratings.items["item"]] + [("rater", rater) for rater in range(7)]
    of_reference = set(range(7)) if kind == "crowd" else members["y"]
    for values, unit in zip(np.concatenate(left.each), units, strict=True):
        rows = without(ratings, *unit).to_frame().select("item", "rater", "score").rows()
        given = [row for row in rows if row[1] in of_reference]
        for g, group in enumerate("xy"):
            literal = twin.responsiveness(twin.responses(rows, members[group], given), 4, 4)
            for at, name in enumerate(MEASURES):
                own = literal[name]
                expected = math.nan if own is None else float(own)
                assert values[g, at] == pytest.approx(expected, abs=1e-12, nan_ok=True), (unit, group, name)


def test_blocks_of_ratings_leave_votes_and_the_crowd() -> None:
    """With a block for each rating, every block is a set of ratings that the twin leaves out, too."""
    ratings = study(5, n_items=7, groups="xxxyyy")
    axis = Axis.of(ratings, "g", min_group_size=1)
    responses = Responses.of(ratings, axis.codes, 2, resolve(ratings, "crowd"))
    whole = ratings.to_frame().select("item", "rater", "score").rows()
    made = responses.left_out("both", HOW).ratings
    assert made is not None
    assert len(made) == len(whole)
    (part,) = ratings.parts()
    dropped = 0

    def of_members(rows: list[Any], members: set[int]) -> float:
        own = twin.responsiveness(twin.responses(rows, members, rows), 4, 4)["wra"]
        return math.nan if own is None else float(own)

    for block, values in enumerate(made):
        keep = jackknife.not_in_block(block, len(whole), part)
        dropped += int((~keep).sum())
        rows = [row for row, stays in zip(sorted(whole), keep, strict=True) if stays]
        for g, members in enumerate(({0, 1, 2}, {3, 4, 5})):
            assert values[g, MEASURES.index("wra")] == pytest.approx(of_members(rows, members), nan_ok=True)
    assert dropped == len(whole)  # each rating is in one block


def test_the_mean_over_items_has_the_textbook_interval() -> None:
    """Percent agreement is a mean over items, so that the interval over items is that of Student's t."""
    rng = np.random.default_rng(0)
    scores = rng.integers(0, 4, (25, 4))
    columns = {"item": np.repeat(range(25), 4), "rater": np.tile(range(4), 25), "score": scores.ravel()}
    frame = pl.DataFrame(columns)
    raters = pl.DataFrame({"rater": range(4), "g": ["x"] * 4})
    one = measured(pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 3), raters=raters))
    at = names_of(one).index("percent_agreement")
    found = interval_of(one, "items")
    agreed = [fmean(a == b for a, b in itertools.combinations(row, 2)) for row in scores.tolist()]
    left = one.left_out("items", HOW)
    plain = left.interval(["plain"] * len(names_of(one)), [ANY] * len(names_of(one)))
    half = stats.t.ppf(0.975, freedom_of(agreed)) * stdev(agreed) / 5
    assert plain.low[0, at] == pytest.approx(fmean(agreed) - half)
    assert plain.high[0, at] == pytest.approx(fmean(agreed) + half)
    without_one = [1 / (1 - (sum(agreed) - own) / 24) for own in agreed]  # the default is symmetric in 1/(1 − x)
    reach = stats.t.ppf(0.975, freedom_of(without_one)) * math.sqrt(24 * pvariance(without_one))
    assert found.low[0, at] == pytest.approx(1 - 1 / (1 / (1 - fmean(agreed)) - reach))
    assert found.high[0, at] == pytest.approx(1 - 1 / (1 / (1 - fmean(agreed)) + reach))


def freedom_of(values: Any) -> float:
    """Return twice the squared mean over the variance of a sum of squares, which are n of chi-square if normal."""
    squares = [(x - fmean(values)) ** 2 for x in values]
    return float(min(len(values) - 1, 2 * len(values) * fmean(squares) ** 2 / pvariance(squares)))


def test_the_variance_of_a_two_way_mean() -> None:
    """The two-way variance of the mean of a crossed table, by the mean squares of its rows, columns and cells."""
    rng = np.random.default_rng(1)
    table = rng.normal(size=(6, 1)) + rng.normal(size=(1, 5)) + rng.normal(size=(6, 5))
    rows = np.array([np.delete(table, i, axis=0).mean() for i in range(6)]).reshape(-1, 1, 1)
    columns = np.array([np.delete(table, j, axis=1).mean() for j in range(5)]).reshape(-1, 1, 1)
    cells = np.array([np.delete(table.ravel(), k).mean() for k in range(30)]).reshape(-1, 1, 1)
    found = LeftOut(np.array([[table.mean()]]), (rows, columns), cells).interval(["plain"], [ANY])
    parts = [table.mean(axis=1).var(ddof=1) / 6, table.mean(axis=0).var(ddof=1) / 5, table.var(ddof=1) / 30]
    variance = max(parts[0] + parts[1] - parts[2], parts[0])
    each = [freedom_of(values.ravel().tolist()) for values in (rows, columns, cells)]
    freedom = variance**2 / sum(part**2 / df for part, df in zip(parts, each, strict=True))
    half = stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    assert float(found.high[0, 0] - found.low[0, 0]) == pytest.approx(2 * half)


@pytest.mark.parametrize(("scale", "value", "there", "back"), [
    ("fisher", 0.6, math.atanh, math.tanh), ("inverse", 1.3, lambda x: -1 / x, lambda y: -1 / y),
    ("complement", 0.6, lambda x: 1 / (1 - x), lambda y: 1 - 1 / y),
])  # fmt: skip
def test_the_jackknife_is_made_on_the_scale(scale: str, value: float, there: Any, back: Any) -> None:
    each = [value - 0.02, value, value + 0.02, value + 0.03]
    found = LeftOut(np.array([[value]]), (np.array(each).reshape(4, 1, 1),)).interval([scale], [ANY])
    moved = [there(x) for x in each]
    half = stats.t.ppf(0.975, freedom_of(moved)) * math.sqrt(3 * pvariance(moved))
    assert found.low[0, 0] == pytest.approx(back(there(value) - half))
    assert found.high[0, 0] == pytest.approx(back(there(value) + half))


def test_an_inverse_that_may_be_zero_has_no_upper_end() -> None:
    each = np.array([0.5, 1.0, 1.5]).reshape(3, 1, 1)
    found = LeftOut(np.array([[1.0]]), (each,)).interval(["inverse"], [ANY])
    assert 0 < found.low[0, 0] < 1
    assert found.high[0, 0] == math.inf
    outside = LeftOut(np.array([[-1.0]]), (-each,)).interval(["inverse"], [ANY])
    assert outside.low[0, 0] + outside.high[0, 0] == pytest.approx(-2)  # no place there, so on its own scale
    each = np.array([0.5, 0.9, 1.0]).reshape(3, 1, 1)
    found = LeftOut(np.array([[0.9]]), (each,)).interval(["plain"], [(0.0, 1.0)])
    assert (found.low[0, 0], found.high[0, 0]) == (0.0, 1.0)  # no end leaves the range


def test_undefined_units_are_left_out_and_counted() -> None:
    each = np.array([1.0, np.nan, 2.0, 3.0, np.inf]).reshape(5, 1, 1)
    found = LeftOut(np.array([[2.0]]), (each,)).interval(["plain"], [ANY])
    half = stats.t.ppf(0.975, 2) * math.sqrt(4 * 2 / 3)
    assert float(found.high[0, 0]) == pytest.approx(2 + half)
    assert found.n_undefined[0, 0] == 2
    for few in ([1.0, np.nan], [np.nan, np.nan], [1.0]):
        one = np.array(few).reshape(-1, 1, 1)
        found = LeftOut(np.array([[1.0]]), (one,)).interval(["plain"], [ANY])
        assert np.isnan(found.low).all()
        assert np.isnan(found.high).all()
    nothing = LeftOut(np.array([[1.0]]), ()).interval(["plain"], [ANY])
    undefined = LeftOut(np.array([[np.nan]]), (np.ones((3, 1, 1)),)).interval(["plain"], [ANY])
    assert np.isnan([nothing.low, nothing.high, undefined.low, undefined.high]).all()
    with pytest.raises(pv.InputError, match="level is 1"):
        LeftOut(np.array([[1.0]]), ()).interval(["plain"], [ANY], 1)


def test_groups_of_two_and_of_one() -> None:
    """Without one of two raters there is no alpha; a single rater's vote has no interval over raters."""
    ratings = study(6, n_items=30, groups="xxyyyyyz")
    one = measured(ratings)
    found, at = interval_of(one, "raters"), names_of(one).index("irr")
    assert np.isnan(found.low[0, at])
    assert found.n_undefined[0, at] == 2
    assert np.isfinite(found.low[1, at])
    axis = Axis.of(ratings, "g", min_group_size=1)
    responses = Responses.of(ratings, axis.codes, 3, resolve(ratings, "crowd"))
    by_raters, by_items = interval_of(responses, "raters"), interval_of(responses, "items")
    wra = MEASURES.index("wra")
    assert np.isnan(by_raters.low[2, wra])
    assert np.isfinite(by_raters.low[:2, wra]).all()
    assert np.isfinite(by_items.low[:, wra]).all()


def test_both_is_items_and_raters_less_what_they_share() -> None:
    ratings = study(7, n_items=20, groups="xxxxxyyyyyy")
    one = measured(ratings)
    both, items, raters = (one.left_out(resample, HOW) for resample in ("both", "items", "raters"))
    for a, b in zip(both.each, (*items.each, *raters.each), strict=True):
        assert np.array_equal(a, b, equal_nan=True)
    assert items.ratings is None
    assert raters.ratings is None
    assert both.ratings is not None


def test_the_difference_of_two_groups() -> None:
    left = measured(study(8, n_items=15, groups="xxxxyyyy")).left_out("both", HOW)
    apart = left.made(lambda values: values[:, [0]] - values[:, [1]])
    assert apart.observed.shape == (1, left.observed.shape[1])
    for own, values in zip(apart.each, left.each, strict=True):
        assert np.array_equal(own[:, 0], values[:, 0] - values[:, 1], equal_nan=True)
    assert apart.ratings is not None
    assert left.ratings is not None
    assert np.array_equal(apart.ratings[:, 0], left.ratings[:, 0] - left.ratings[:, 1], equal_nan=True)


def test_raters_one_by_one_without_each_of_their_items() -> None:
    ratings = study(9, n_items=15, groups="xxxxyyyy")
    found = RaterResponses.of(ratings, resolve(ratings, "crowd")).jackknife(HOW)
    rows = ratings.to_frame().select("item", "rater", "score").rows()
    for rater in range(8):
        own = [row[0] for row in rows if row[1] == rater]
        made = []
        for left in (None, *own):
            kept = [row for row in rows if row[0] != left]
            literal = twin.responsiveness(twin.responses(kept, {rater}, kept), 4, 4)
            made.append(float(literal["wra"] or 0))
        spread = math.sqrt((len(own) - 1) / len(own) * sum((x - fmean(made[1:])) ** 2 for x in made[1:]))
        reach = stats.t.ppf(0.975, freedom_of(made[1:])) * spread
        at = MEASURES.index("wra")
        assert found.low[rater, at] == pytest.approx(max(0, made[0] - reach), abs=1e-9)
        assert found.high[rater, at] == pytest.approx(min(1, made[0] + reach), abs=1e-9)


def test_many_items_and_raters_are_left_out_in_blocks() -> None:
    assert np.bincount(blocks(2001, 1000)).tolist() == [3] * 667
    for n, most in ((1000, 1000), (1001, 1000), (4309, 100), (7, 3), (1, 5), (0, 5)):
        sizes = np.bincount(blocks(n, most))
        assert len(sizes) <= most
        assert sizes.sum() == n
        assert n == 0 or sizes.max() - sizes.min() <= 1 or len(sizes) == 1
    many = RaterUnits.of(np.arange(5000) % 8, 8)
    assert len(many.bounds) == 9
    assert many.bounds[-1] <= jackknife.MOST_RATERS
    assert all(len(np.unique(many.units[np.arange(5000) % 8 == g])) == np.diff(many.bounds)[g] for g in range(8))
    crowded = RaterUnits.of(np.arange(5000) % 200, 200)
    assert (np.diff(crowded.bounds) <= jackknife.LEAST_PER_GROUP).all()


def test_blocks_of_items_leave_all_of_them_out() -> None:
    ratings = study(10, n_items=23, groups="xxxyyyy")
    one = measured(ratings)
    with mock.patch.object(jackknife, "MOST_ITEMS", 5):
        (values,) = one.left_out("items", HOW).each
    assert len(values) == 5
    for unit in range(5):
        kept = ratings.to_frame().filter(pl.col("item") % 5 != unit)
        rest = pv.Ratings.from_frame(kept, scale=ratings.scale, raters=ratings.raters)
        literal = literal_cohesion(rest, "x", "ordinal")
        assert values[unit, 0, names_of(one).index("irr")] == pytest.approx(literal["irr"], abs=1e-12)


# Bits ----------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        yield pool


def made(ratings: pv.Ratings, how: Running) -> list[Interval]:
    axis = Axis.of(ratings, "g", min_group_size=1)
    responses = Responses.of(ratings, axis.codes, len(axis), resolve(ratings, "crowd"))
    single = RaterResponses.of(ratings, resolve(ratings, "crowd"))
    return [interval_of(measured(ratings), "both", how), interval_of(responses, "both", how), single.jackknife(how)]


def same_bits(a: list[Interval], b: list[Interval]) -> bool:
    both = [(x, y) for one, two in zip(a, b, strict=True) for x, y in zip(one, two, strict=True)]
    return all(np.array_equal(x, y, equal_nan=True) for x, y in both)


def test_any_workers_give_the_same_bits_and_parts_nearly_those_of_one(processes: Executor) -> None:
    ratings = study(11, n_items=40, groups="xxxxyyyyyzzz")
    here = made(ratings, Running(threads=1))
    assert same_bits(here, made(ratings, Running(threads=3)))
    assert same_bits(here, made(ratings, Running(threads=2, executor=processes)))
    ratings = study(12, n_items=40, groups="xxxxyyyyyzzz")
    parts = cut(ratings.offsets, ratings.rater_codes, ratings.scores, None, 60)
    assert len(parts) > 3
    whole = made(ratings, Running(threads=1))
    with mock.patch.object(Ratings, "parts", return_value=parts):
        here = made(ratings, Running(threads=1))
        assert same_bits(here, made(ratings, Running(threads=3)))
        assert same_bits(here, made(ratings, Running(threads=2, executor=processes)))
    for one, other in zip(whole, here, strict=True):
        for x, y in zip(one, other, strict=True):
            assert np.allclose(x, y, rtol=1e-9, atol=1e-12, equal_nan=True)


# The simulation ------------------------------------------------------------------------------------------------------
def test_the_truth_of_the_simulation_is_that_of_a_large_study() -> None:
    """One study of very many items and raters, in which nearly all is known, against the integrals."""
    design = claims.Design(6000, 60, 60)
    ((ratings, _),) = claims.studies(design, claims.DIFFERENT, 1, seed=0)
    codes = (ratings.raters["g"] == "b").to_numpy()
    counts = np.zeros((2, design.n_items, claims.N_POINTS), dtype=int)
    np.add.at(counts, (codes[ratings.codes_of_raters].astype(int), ratings.item_codes, ratings.scores), 1)
    truth = claims.cohesion_truth(design, claims.DIFFERENT)
    assert functions.krippendorff_alpha(counts[0], "ordinal") == pytest.approx(truth["irr"], abs=0.02)
    assert functions.xrr(counts[0], counts[1], "ordinal") == pytest.approx(truth["xrr"], abs=0.02)
    assert functions.percent_agreement(counts[0]) == pytest.approx(truth["percent_agreement"], abs=0.02)
