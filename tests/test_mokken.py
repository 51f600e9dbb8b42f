"""Mokken's coefficients and checks against literal twins, resampling, simulations, and what holds for all data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import hypergeom, norm

from plurivox.base.errors import InputError
from plurivox.statistics.mokken import (
    NO_PARTNER,
    NO_SCALE,
    NO_SCORE,
    ONE_SCORE,
    TOO_FEW_ITEMS,
    Mokken,
    Monotonicity,
    mokken_h,
    mokken_scales,
    monotonicity,
)

Array = NDArray[np.float64]
Exact = Fraction | None
NAN = math.nan
SPACINGS = ([0.0, 1.0], [1.0, 2.0, 3.0, 4.0], [-1.0, 0.0, 2.0, 7.0], [0.0, 0.5, 10.0], [-3.25, 0.125, 1e3], [5.0])


# Data ----------------------------------------------------------------------------------------------------------------
@st.composite
def tables(draw: st.DrawFn, max_items: int = 9, max_raters: int = 4) -> Array:
    """Draw items × raters, with raters of one score or none and items that nobody rated."""
    n_items, n_raters = draw(st.integers(1, max_items)), draw(st.integers(1, max_raters))
    points = draw(st.sampled_from(SPACINGS))
    score = st.one_of(st.sampled_from(points), st.sampled_from(points), st.sampled_from(points), st.just(NAN))
    rows = st.lists(st.lists(score, min_size=n_raters, max_size=n_raters), min_size=n_items, max_size=n_items)
    table = np.array(draw(rows), dtype=float).reshape(n_items, n_raters)
    for rater, habit in enumerate(draw(st.lists(st.sampled_from(["free"] * 6 + ["one", "none"]), max_size=n_raters))):
        if habit == "one":
            table[~np.isnan(table[:, rater]), rater] = points[0]
        if habit == "none":
            table[:, rater] = NAN
    for item in draw(st.lists(st.integers(0, n_items - 1), max_size=2)):
        table[item] = NAN
    return table


def simulated(
    n_items: int,
    loadings: Sequence[float],
    seed: int,
    *,
    missing: float = 0.0,
    points: Sequence[float] = (0, 1, 2, 3, 4),
) -> Array:
    """Return scores that follow a severity with some loading, cut into points at places of each rater's own."""
    rng = np.random.default_rng(seed)
    weight = np.array(loadings)
    latent = rng.normal(size=(n_items, 1)) * weight + rng.normal(size=(n_items, len(weight))) * np.sqrt(1 - weight**2)
    shifts = np.linspace(-0.6, 0.6, len(weight))
    cuts = np.linspace(-1.2, 1.2, len(points) - 1)
    table = np.array(points)[(latent[..., None] > cuts + shifts[:, None]).sum(axis=-1)].astype(float)
    table[rng.random(table.shape) < missing] = NAN
    return np.asarray(table, dtype=float)


def two_dimensional(n_items: int, seed: int, *, missing: float = 0.0) -> Array:
    """Return four raters who follow one severity, three who follow another, and one who follows none."""
    first = simulated(n_items, [0.9, 0.85, 0.8, 0.75], seed, missing=missing)
    second = simulated(n_items, [0.85, 0.8, 0.8], seed + 10_000, missing=missing)
    return np.hstack([first, second, simulated(n_items, [0.0], seed + 20_000)])


def close(found: object, expected: object, tolerance: float = 1e-10) -> bool:
    """Compare to an absolute tolerance; NaN and None are both undefined."""
    a = np.asarray(found, dtype=float)
    b = np.asarray(expected, dtype=float)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True))


def numbers_of(found: Mokken) -> list[object]:
    return [
        found.h, found.h_se, found.h_low, found.h_high, found.h_raters, found.h_raters_se, found.h_raters_low,
        found.h_raters_high, found.h_pairs, found.h_pairs_se,
    ]  # fmt: skip


def assert_same(found: Mokken, other: Mokken, tolerance: float = 1e-12) -> None:
    for one, two in zip(numbers_of(found), numbers_of(other), strict=True):
        assert close(one, two, tolerance)
    assert found.n_common.tolist() == other.n_common.tolist()
    assert (found.notes, found.note) == (other.notes, other.note)
    assert (found.smallest_pair, found.n_undefined_pairs) == (other.smallest_pair, other.n_undefined_pairs)


# Twins in exact arithmetic -------------------------------------------------------------------------------------------
class Coefficients(NamedTuple):
    h: Exact
    h_raters: list[Exact]
    h_pairs: list[list[Exact]]
    n_common: list[list[int]]
    smallest_pair: int
    n_undefined_pairs: int


def covariance(x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
    mean_x, mean_y = sum(x, Fraction(0)) / len(x), sum(y, Fraction(0)) / len(y)
    return sum(((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True)), Fraction(0)) / (len(x) - 1)


def common(table: Array, i: int, j: int) -> tuple[list[Fraction], list[Fraction]]:
    both = [(a, b) for a, b in table[:, [i, j]].tolist() if not math.isnan(a) and not math.isnan(b)]
    return [Fraction(a) for a, _ in both], [Fraction(b) for _, b in both]


def exact(table: Array) -> Coefficients:
    n_raters = table.shape[1]
    pairs: dict[tuple[int, int], tuple[Fraction, Fraction]] = {}
    n_common = [[0] * n_raters for _ in range(n_raters)]
    for i, j in combinations(range(n_raters), 2):
        x, y = common(table, i, j)
        n_common[i][j] = n_common[j][i] = len(x)
        if len(set(x)) > 1 and len(set(y)) > 1:
            pairs[i, j] = covariance(x, y), covariance(sorted(x), sorted(y))

    def ratio(chosen: list[tuple[Fraction, Fraction]]) -> Exact:
        return sum((c for c, _ in chosen), Fraction(0)) / sum(m for _, m in chosen) if chosen else None

    varied = [len({score for score in column if not math.isnan(score)}) > 1 for column in table.T.tolist()]
    return Coefficients(
        ratio(list(pairs.values())),
        [ratio([found for pair, found in pairs.items() if j in pair]) for j in range(n_raters)],
        [
            [ratio([found for pair, found in pairs.items() if set(pair) == {i, j}]) for j in range(n_raters)]
            for i in range(n_raters)
        ],
        n_common,
        min((n_common[i][j] for i, j in pairs), default=0),
        math.comb(sum(varied), 2) - len(pairs),
    )


@given(tables())
@example(np.full((3, 2), NAN))
@example(np.array([[0.0, 1.0], [1.0, 0.0]]))
@example(np.array([[0.0, 1.0, NAN], [1.0, NAN, 0.0], [NAN, 0.0, 1.0]]))
def test_coefficients_equal_the_twin_in_exact_arithmetic(table: Array) -> None:
    found, twin = mokken_h(table), exact(table)
    assert close(found.h, twin.h)
    assert close(found.h_raters, twin.h_raters)
    assert close(found.h_pairs, np.array(twin.h_pairs, dtype=float).reshape(found.h_pairs.shape))
    assert found.smallest_pair == twin.smallest_pair
    assert found.n_undefined_pairs == twin.n_undefined_pairs
    assert found.note == ("" if twin.h is not None else NO_SCALE)
    assert [bool(note) for note in found.notes] == [one is None for one in twin.h_raters]
    assert found.n_common.tolist() == twin.n_common


@given(tables())
def test_the_sums_of_a_pair_are_covariances_in_units_of_the_whole_scale(table: Array) -> None:
    found = mokken_h(table)
    given_scores = table[~np.isnan(table)]
    width = Fraction(given_scores.max()) - Fraction(given_scores.min()) if given_scores.size else Fraction(0)
    for i, j in combinations(range(table.shape[1]), 2):
        x, y = common(table, i, j)
        if len(set(x)) < 2 or len(set(y)) < 2:
            assert math.isnan(found.covariance[i, j])
            continue
        assert close(found.covariance[i, j], covariance(x, y) / width**2)
        assert close(found.largest[i, j], covariance(sorted(x), sorted(y)) / width**2)
        assert close(found.spread[j, i], covariance(x, x) * covariance(y, y) / (len(x) - 1) / width**4)


@given(tables())
def test_no_coefficient_is_above_1_and_intervals_hold_it(table: Array) -> None:
    found = mokken_h(table)
    for h, se, low, high in (
        (np.array(found.h), np.array(found.h_se), np.array(found.h_low), np.array(found.h_high)),
        (found.h_raters, found.h_raters_se, found.h_raters_low, found.h_raters_high),
    ):
        known = ~np.isnan(h)
        assert (h[known] <= 1 + 1e-12).all()
        assert (se[known] >= 0).all()
        assert np.isnan(se[~known]).all()
        inside = ~np.isnan(low)
        assert ((low <= h) & (h <= high) & (high <= 1))[inside].all()


def test_a_small_table_has_the_coefficients_worked_out_by_hand() -> None:
    # Distances of rater 1 from the mean are −1 0 0 1, of rater 2 −½ −½ ½ ½; rater 3 gave 1 0 1 1, sorted 0 1 1 1.
    # Sums of products: 1 and 2 have 1 of at most 1; 1 and 3 have −1 + 1 = 0 of 1; 2 and 3 −½ + ½ + ½ = ½ of ½.
    found = mokken_h([[0, 0, 1], [1, 0, 0], [1, 1, 1], [2, 1, 1]])
    assert close(found.h_pairs, [[NAN, 1, 0], [1, NAN, 1], [0, 1, NAN]])
    assert close(found.h_raters, [1 / 2, 1, 1 / 3])
    assert close(found.h, 1.5 / 2.5)
    assert found.strength == "strong"


# Twins of the delta method -------------------------------------------------------------------------------------------
def together(x: Array, y: Array, weights: Array) -> float:
    """Return E[XY] of scores that rise together: both are walked through from below, weight by weight."""
    order_x, order_y = np.argsort(x, kind="stable").tolist(), np.argsort(y, kind="stable").tolist()
    left_x, left_y = weights[order_x].tolist(), weights[order_y].tolist()
    total, at, to = 0.0, 0, 0
    while at < len(order_x) and to < len(order_y):
        weight = min(left_x[at], left_y[to])
        total += weight * float(x[order_x[at]] * y[order_y[to]])
        left_x[at] -= weight
        left_y[to] -= weight
        if left_x[at] <= left_y[to]:
            at += 1
        else:
            to += 1
    return total


def weighted(table: Array, weights: Array, n_common: NDArray[np.int64]) -> Array:
    """Return H, H_j and H_ij (i < j) of weighted rows; n/(n − 1) is that of the items that there are."""
    n_raters = table.shape[1]
    sums: Array = np.zeros((2, n_raters, n_raters))
    for i, j in combinations(range(n_raters), 2):
        both = ~np.isnan(table[:, i]) & ~np.isnan(table[:, j])
        x, y, share = table[both, i], table[both, j], weights[both] / weights[both].sum()
        unbiased = n_common[i, j] / (n_common[i, j] - 1)
        means = float(share @ x) * float(share @ y)
        for at, product in enumerate((float(share @ (x * y)), together(x, y, share))):
            sums[at, i, j] = sums[at, j, i] = (product - means) * unbiased
    upper = np.triu_indices(n_raters, 1)
    pairs = sums[0][upper] / sums[1][upper]
    return np.concatenate(([sums[0].sum() / sums[1].sum()], sums[0].sum(axis=1) / sums[1].sum(axis=1), pairs))


def slopes(function: Callable[[Array], Array], at: Array, step: float) -> Array:
    """Return central differences, one row for each entry."""
    rows = []
    for one in range(len(at)):
        moved = np.zeros(len(at))
        moved[one] = step
        rows.append((function(at + moved) - function(at - moved)) / (2 * step))
    return np.array(rows)


def errors_of(found: Mokken) -> Array:
    upper = np.triu_indices(len(found.h_raters), 1)
    return np.concatenate(([found.h_se], found.h_raters_se, found.h_pairs_se[upper]))


@pytest.mark.parametrize("points", [(0, 1), (0, 1, 2), (-1, 0, 2, 7)], ids=["binary", "three points", "unequal"])
@pytest.mark.parametrize("seed", range(3))
def test_standard_errors_of_complete_scores_are_those_of_a_multinomial(points: tuple[int, ...], seed: int) -> None:
    table = simulated(120, [0.8, 0.6, 0.4, -0.3], seed, points=points)
    found = mokken_h(table)
    patterns, counts = np.unique(table, axis=0, return_counts=True)
    share = counts / counts.sum()
    slope = slopes(lambda p: weighted(patterns, p, found.n_common), share, 1e-7)
    variance = (share @ slope**2 - (share @ slope) ** 2) / len(table)
    np.testing.assert_allclose(errors_of(found), np.sqrt(variance), rtol=0, atol=1e-6)


@pytest.mark.parametrize("missing", [0.15, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_standard_errors_with_missing_scores_are_those_of_the_infinitesimal_jackknife(
    missing: float, seed: int
) -> None:
    table = simulated(60, [0.8, 0.7, 0.5, 0.2], seed, missing=missing)
    table[:2] = NAN
    found = mokken_h(table)
    slope = slopes(lambda w: weighted(table, w, found.n_common), np.ones(len(table)), 1e-5)
    np.testing.assert_allclose(errors_of(found), np.sqrt((slope**2).sum(axis=0)), rtol=1e-4, atol=0)


def test_standard_errors_where_margins_are_equal_take_half_of_either_side() -> None:
    table = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [2, 1], [1, 2], [2, 2], [0, 0.0]])
    assert sorted(table[:, 0]) == sorted(table[:, 1])
    found = mokken_h(table)
    slope = slopes(lambda w: weighted(table, w, found.n_common), np.ones(len(table)), 1e-6)
    np.testing.assert_allclose(errors_of(found), np.sqrt((slope**2).sum(axis=0)), rtol=1e-6, atol=0)


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_standard_errors_agree_with_the_bootstrap(missing: float) -> None:
    table = simulated(500, [0.85, 0.7, 0.6, 0.5], 7, missing=missing)
    found = mokken_h(table)
    rng = np.random.default_rng(8)
    again = [mokken_h(table[rng.integers(0, len(table), len(table))]) for _ in range(1000)]
    np.testing.assert_allclose(found.h_se, np.std([one.h for one in again]), rtol=0.1)
    np.testing.assert_allclose(found.h_raters_se, np.std([one.h_raters for one in again], axis=0), rtol=0.1)


@pytest.mark.slow
def test_intervals_cover_what_is_true_of_the_population() -> None:
    loadings = [0.85, 0.7, 0.6, 0.5]
    true = mokken_h(simulated(400_000, loadings, 1))
    studies = [mokken_h(simulated(200, loadings, seed)) for seed in range(2, 202)]
    whole = np.mean([one.h_low <= true.h <= one.h_high for one in studies])
    one_rater = np.mean([one.h_raters_low[1] <= true.h_raters[1] <= one.h_raters_high[1] for one in studies])
    assert 0.9 <= whole <= 0.99
    assert 0.9 <= one_rater <= 0.99


def test_intervals_are_symmetric_on_the_logarithm_of_the_distance_to_1() -> None:
    found = mokken_h(simulated(200, [0.8, 0.7, 0.6], 3))
    half = norm.ppf(0.975) * found.h_se / (1 - found.h)
    assert close([found.h_low, found.h_high], [1 - (1 - found.h) * math.exp(half), 1 - (1 - found.h) * math.exp(-half)])


# What holds for all data ---------------------------------------------------------------------------------------------
VARIED = [
    pytest.param(simulated(80, [0.8, 0.7, -0.4, 0.3], 1), id="complete"),
    pytest.param(simulated(80, [0.8, 0.7, -0.4, 0.3], 2, missing=0.3), id="missing"),
    pytest.param(simulated(40, [0.9, 0.5, 0.5], 3, points=(-1, 0, 2, 7)), id="unequal"),
]


@pytest.mark.parametrize("table", VARIED)
@pytest.mark.parametrize(
    ("shift", "scale"), [(100.0, 1.0), (0.0, 1e-3), (-7.5, 1e6), (0.1, 0.3), pytest.param(0.0, -1.0, id="reversed")]
)
def test_shifting_scaling_and_reversing_all_scores_changes_nothing(table: Array, shift: float, scale: float) -> None:
    assert_same(mokken_h(table), mokken_h(shift + scale * table))


def test_reversing_one_of_two_raters_turns_the_covariance_around() -> None:
    table = simulated(100, [0.8, 0.8], 4)
    turned = table * [1, -1] + [0, 4]
    found, other = mokken_h(table), mokken_h(turned)
    assert close(other.covariance[0, 1], -found.covariance[0, 1], 1e-12)
    assert found.h_pairs[0, 1] > 0 > other.h_pairs[0, 1]


@pytest.mark.parametrize("table", VARIED)
def test_the_order_of_items_is_irrelevant(table: Array) -> None:
    found, other = mokken_h(table), mokken_h(table[np.random.default_rng(0).permutation(len(table))])
    assert_same(found, other)
    # All that follows from tables of joint scores is the same to the last bit.
    assert found.h == other.h
    assert found.h_pairs.tobytes() == other.h_pairs.tobytes()
    assert found.h_pairs_se.tobytes() == other.h_pairs_se.tobytes()


@pytest.mark.parametrize("table", VARIED)
def test_coefficients_move_with_their_raters(table: Array) -> None:
    order = np.random.default_rng(1).permutation(table.shape[1])
    found, other = mokken_h(table), mokken_h(table[:, order])
    assert close(found.h, other.h, 1e-12)
    assert close(found.h_se, other.h_se, 1e-12)
    assert close(found.h_raters[order], other.h_raters, 1e-12)
    assert close(found.h_raters_se[order], other.h_raters_se, 1e-12)
    assert close(found.h_pairs[np.ix_(order, order)], other.h_pairs, 1e-12)
    assert found.n_common[np.ix_(order, order)].tolist() == other.n_common.tolist()


def test_the_same_scores_give_the_same_result_to_the_last_bit() -> None:
    table = simulated(80, [0.8, 0.7, 0.4], 5, missing=0.2)
    for one, two in zip(numbers_of(mokken_h(table)), numbers_of(mokken_h(table)), strict=True):
        assert np.asarray(one).tobytes() == np.asarray(two).tobytes()


@pytest.mark.parametrize("times", [2, 5])
def test_duplicating_every_item_leaves_coefficients_as_they_are(times: int) -> None:
    table = simulated(60, [0.8, 0.7, 0.4], 6)
    found, other = mokken_h(table), mokken_h(np.repeat(table, times, axis=0))
    assert close(found.h, other.h, 1e-12)
    assert close(found.h_raters, other.h_raters, 1e-12)
    assert close(found.h_pairs, other.h_pairs, 1e-12)
    assert close(found.h_se / math.sqrt(times), other.h_se, 1e-12)


def test_two_raters_of_the_same_scores_and_perfect_guttman_scores_have_1_throughout() -> None:
    column = simulated(50, [0.5], 7)
    found = mokken_h(np.hstack([column, column]))
    assert close([found.h_pairs[0, 1], found.h], [1, 1], 1e-12)
    assert close(found.h_se, 0, 1e-7)
    found = mokken_h((np.arange(21)[:, None] > np.array([3, 8, 12, 17])).astype(float))
    assert close([found.h, *found.h_raters], np.ones(5), 1e-12)
    assert found.strength == "strong"


def test_independent_raters_have_about_0() -> None:
    found = mokken_h(simulated(20_000, [0.0, 0.0, 0.0], 8))
    assert abs(found.h) < 0.02
    assert found.h_low < 0 < found.h_high
    assert found.strength == "none"


@pytest.mark.parametrize(("loading", "strength"), [(0.95, "strong"), (0.68, "medium"), (0.6, "weak"), (0.3, "none")])
def test_the_strength_of_a_scale_has_the_words_of_mokken(loading: float, strength: str) -> None:
    found = mokken_h(simulated(5000, [loading] * 3, 9))
    assert found.strength == strength
    least = {"strong": 0.5, "medium": 0.4, "weak": 0.3, "none": -1.0}[strength]
    assert least <= found.h < {"strong": 1.1, "medium": 0.5, "weak": 0.4, "none": 0.3}[strength]


def test_raters_who_cannot_be_compared_are_set_aside_with_a_reason() -> None:
    table = np.array([[0, 0, 1, NAN, NAN], [1, 1, 1, NAN, NAN], [2, 1, 1, NAN, NAN], [NAN, NAN, 1, NAN, 0],
                      [NAN, NAN, NAN, NAN, 2]])  # fmt: skip
    found = mokken_h(table)
    assert found.notes == ("", "", ONE_SCORE, NO_SCORE, NO_PARTNER)
    assert np.isnan(found.h_raters[2:]).all()
    assert close(found.h, mokken_h(table[:, :2]).h, 1e-12)
    assert found.smallest_pair == 3


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
def test_raters_far_from_the_rest_of_the_scale_keep_their_coefficient(offset: float) -> None:
    table = simulated(60, [0.8, 0.8, 0.1], 10)
    alone = mokken_h(table[:, :2]).h_pairs[0, 1]
    table[:, :2] += offset
    assert close(mokken_h(table).h_pairs[0, 1], alone, 1e-8)


# Scales --------------------------------------------------------------------------------------------------------------
class Pair(NamedTuple):
    h: float
    covariance: float
    spread: float


def pair_of(table: Array, i: int, j: int) -> Pair | None:
    both = ~np.isnan(table[:, i]) & ~np.isnan(table[:, j])
    x, y = table[both, i], table[both, j]
    if len(set(x.tolist())) < 2 or len(set(y.tolist())) < 2:
        return None
    matrix = np.cov(x, y)
    return Pair(mokken_h(table[:, [i, j]]).h, matrix[0, 1], matrix[0, 0] * matrix[1, 1] / (len(x) - 1))


def significant(pairs: Sequence[Pair], alpha: float, n_tests: int) -> bool:
    """Tell whether Mokken's Z of a sum of covariances is beyond what Bonferroni asks for."""
    z = sum(one.covariance for one in pairs) / math.sqrt(sum(one.spread for one in pairs))
    return bool(z >= norm.ppf(1 - alpha / n_tests))


def h_of_rater(table: Array, rater: int, others: Sequence[int]) -> float:
    return float(mokken_h(np.where(np.isin(np.arange(table.shape[1]), [rater, *others]), table, NAN)).h_raters[rater])


def scales_twin(table: Array, lower_bound: float, alpha: float) -> list[int]:
    n_raters = table.shape[1]
    pairs = {(i, j): pair_of(table, i, j) for i, j in combinations(range(n_raters), 2)}

    def between(i: int, j: int) -> Pair | None:
        return pairs[min(i, j), max(i, j)]

    scale = [0] * n_raters
    free = [i for i in range(n_raters) if any(i in pair and known for pair, known in pairs.items())]
    for number in range(1, n_raters):
        n_tests = math.comb(len(free), 2)
        starts = [
            (found.h, pair)
            for pair, found in pairs.items()
            if found and set(pair) <= set(free) and found.h >= lower_bound and significant([found], alpha, n_tests)
        ]
        if not starts:
            break
        chosen = list(max(starts)[1])
        while True:
            able = []
            for one in set(free) - set(chosen):
                known = [found for other in chosen if (found := between(one, other))]
                if known and all(found.covariance >= 0 for found in known):
                    able.append((one, known))
            n_tests += len(able)
            better = [
                (mokken_h(table[:, [*chosen, one]]).h, one)
                for one, known in able
                if significant(known, alpha, n_tests) and h_of_rater(table, one, chosen) >= lower_bound
            ]
            if not better:
                break
            chosen.append(max(better)[1])
        for one in chosen:
            scale[one] = number
        free = [i for i in free if i not in chosen]
    return scale


def two_dimensional_or_one(seed: int) -> Array:
    missing = (0.0, 0.25)[seed // 2 % 2]
    if seed % 2:
        return two_dimensional(150, seed, missing=missing)
    return simulated(100, [0.9, 0.8, 0.7, 0.5, 0.3, -0.6], seed, missing=missing)


@pytest.mark.parametrize("seed", range(30))
def test_scales_equal_the_literal_procedure(seed: int) -> None:
    table = two_dimensional_or_one(seed)
    bound, alpha = ((0.3, 0.05), (0.0, 0.2), (0.5, 0.01))[seed % 3]
    assert mokken_scales(table, bound, alpha).tolist() == scales_twin(table, bound, alpha)


@given(tables(max_items=12, max_raters=4))
def test_scales_are_numbered_from_1_and_hold_two_raters_or_more(table: Array) -> None:
    scale = mokken_scales(table, 0.0, 0.5)
    assert scale.shape == (table.shape[1],)
    sizes = np.bincount(scale, minlength=1)[1:]
    assert (sizes >= 2).all()


def test_two_clusters_of_raters_are_two_scales_and_a_random_rater_is_in_none() -> None:
    scale = mokken_scales(two_dimensional(400, 77))
    assert len(set(scale[:4])) == 1
    assert len(set(scale[4:7])) == 1
    assert set(scale[:7]) == {1, 2}
    assert scale[7] == 0


def test_a_higher_bound_takes_fewer_raters() -> None:
    table = simulated(400, [0.95, 0.95, 0.7, 0.6, 0.5], 78)
    members = [mokken_scales(table, bound) for bound in (0.0, 0.3, 0.6, 0.999)]
    assert members[0].tolist() == [1] * 5
    assert members[2].tolist() == [1, 1, 0, 0, 0]
    assert members[3].tolist() == [0] * 5


def test_a_reversed_rater_joins_no_scale_of_the_others() -> None:
    assert mokken_scales(simulated(300, [0.9, 0.9, 0.9, -0.9], 79), 0.0).tolist() == [1, 1, 1, 0]


def test_a_small_alpha_leaves_few_items_without_a_scale() -> None:
    table = simulated(12, [0.9, 0.9, 0.8], 80)
    assert mokken_scales(table, 0.3, 0.2).any()
    assert not mokken_scales(table, 0.3, 1e-9).any()


@pytest.mark.parametrize(("function", "name", "value"), [
    *((mokken_scales, name, value) for name in ("lower_bound", "alpha") for value in (-0.1, 1.0, 1.5, NAN, math.inf)),
    (mokken_scales, "alpha", 0), (monotonicity, "min_size", 0), (monotonicity, "min_size", -3),
    (monotonicity, "min_violation", -0.1), (monotonicity, "min_violation", NAN),
])  # fmt: skip
def test_arguments_outside_what_makes_sense_are_refused(function: Callable[..., Any], name: str, value: float) -> None:
    with pytest.raises(InputError, match=name) as caught:
        function(simulated(20, [0.5, 0.5], 1), **{name: value})
    assert caught.value.hint


# Monotonicity --------------------------------------------------------------------------------------------------------
class Check(NamedTuple):
    n_groups: int
    n_active: int
    violations: list[float]
    deviates: list[float]
    probabilities: list[float]


def rest_scores(table: Array, rater: int) -> list[Exact]:
    """Return the sum of the others' scores; with gaps, the mean of their distances from each one's own mean."""
    others = [j for j in range(table.shape[1]) if j != rater]
    if not np.isnan(table).any():
        return [sum((Fraction(row[j]) for j in others), Fraction(0)) for row in table.tolist()]
    means: dict[int, Fraction] = {}
    for j in others:
        own = [Fraction(score) for score in table[:, j].tolist() if not math.isnan(score)]
        means[j] = sum(own, Fraction(0)) / max(len(own), 1)
    rest: list[Exact] = []
    for row in table.tolist():
        above = [Fraction(row[j]) - means[j] for j in others if not math.isnan(row[j])]
        rest.append(sum(above, Fraction(0)) / len(above) if above else None)
    return rest


def groups_of(items: list[tuple[Fraction, float]], least: int) -> list[list[float]]:
    """Fill groups from below until each has enough and no equal rest score is left; what remains joins the last."""
    groups: list[list[float]] = []
    waiting = sorted(items, key=lambda item: item[0])
    while len(waiting) >= least:
        last = waiting[least - 1][0]
        groups.append([score for rest, score in waiting if rest <= last])
        waiting = [item for item in waiting if item[0] > last]
    if groups:
        groups[-1] += [score for _, score in waiting]
    return groups


def monotonicity_twin(table: Array, rater: int, least: int, min_violation: float) -> Check:
    points = sorted({score for score in table.ravel().tolist() if not math.isnan(score)})
    rest = rest_scores(table, rater)
    own = table[:, rater].tolist()
    items = [(one, score) for one, score in zip(rest, own, strict=True) if one is not None and not math.isnan(score)]
    groups = groups_of(items, least)
    check = Check(len(groups), 0, [], [], [])
    active = 0
    for low, high in combinations(groups, 2):
        for point in points[1:]:
            more, less = sum(score >= point for score in low), sum(score >= point for score in high)
            kept, gone = len(low) - more, len(high) - less
            active += more > 0 and gone > 0
            if more / len(low) - less / len(high) > min_violation:
                n = len(low) + len(high)
                z = 2 * (math.sqrt((less + 1) * (kept + 1)) - math.sqrt(more * gone)) / math.sqrt(n - 1)
                check.violations.append(more / len(low) - less / len(high))
                check.deviates.append(abs(z))
                check.probabilities.append(float(hypergeom.cdf(less, n, more + less, len(high))))
    return check._replace(n_active=active)


def crit(check: Check, h: float) -> float:
    n, active, total = len(check.violations), check.n_active, sum(check.violations)
    beyond = sum(z > norm.ppf(0.95) for z in check.deviates)
    if not n:
        return 0.0
    return float(
        50 * (0.3 - h) + math.sqrt(n) + 100 * n / active + 100 * max(check.violations) + 10 * math.sqrt(total)
        + 1000 * total / active + 5 * max(check.deviates) + 10 * math.sqrt(beyond) + 100 * beyond / active
    )  # fmt: skip


def assert_checked(found: Monotonicity, table: Array, least: int, min_violation: float) -> None:
    for rater in range(table.shape[1]):
        twin = monotonicity_twin(table, rater, least, min_violation)
        assert (found.n_groups[rater], found.n_active[rater]) == (twin.n_groups, twin.n_active)
        assert found.n_violations[rater] == len(twin.violations)
        assert close(found.largest[rater], max(twin.violations, default=0.0))
        assert close(found.total[rater], sum(twin.violations))
        assert close(found.z[rater], max(twin.deviates, default=0.0))
        assert found.n_significant[rater] == sum(z > norm.ppf(0.95) for z in twin.deviates)
        assert close(found.crit[rater], crit(twin, mokken_h(table).h_raters[rater]), 1e-8)


@pytest.mark.parametrize("missing", [0.0, 0.2], ids=["complete", "missing"])
@pytest.mark.parametrize("seed", range(6))
def test_monotonicity_equals_the_literal_twin(seed: int, missing: float) -> None:
    table = simulated(160, [0.7, 0.5, 0.3, -0.4], seed, missing=missing, points=(0, 1, 2, 4))
    if missing:
        table[:3, 1:] = NAN
    least, min_violation = ((20, 0.03), (35, 0.0), (7, 0.1))[seed % 3]
    found = monotonicity(table, least, min_violation)
    assert (found.min_size, found.min_violation) == (least, min_violation)
    assert set(found.notes) == {""}
    assert_checked(found, table, least, min_violation)
    assert found.n_violations.any()


def test_the_deviate_of_a_violation_is_about_that_of_the_hypergeometric_distribution() -> None:
    table = simulated(400, [0.6, 0.5, 0.1, -0.5], 11)
    compared = 0
    for rater in range(4):
        twin = monotonicity_twin(table, rater, 40, 0.03)
        for z, probability in zip(twin.deviates, twin.probabilities, strict=True):
            if 1e-12 < probability < 0.3:
                assert z == pytest.approx(-norm.ppf(probability), abs=0.2)
                compared += 1
    assert compared > 20


def test_a_rater_who_calls_both_ends_severe_is_flagged_and_the_others_are_not() -> None:
    table = simulated(500, [0.9, 0.9, 0.9, 0.9], 12)
    table[:, 3] = abs(table[:, 3] - 2)
    found = monotonicity(table)
    assert found.n_significant[3] > 0
    assert found.crit[3] > 80
    assert not found.n_significant[:3].any()


def test_scores_that_never_fall_have_no_violation() -> None:
    table = np.repeat(np.arange(5.0), 40)[:, None] * [1, 1, 1]
    found = monotonicity(table, 40)
    assert found.n_groups.tolist() == [5, 5, 5]
    for numbers in (found.n_violations, found.largest, found.total, found.z, found.n_significant, found.crit):
        assert not np.asarray(numbers).any()


@pytest.mark.parametrize(
    ("n_items", "least"), [(20, 50), (149, 50), (150, 50), (250, 83), (251, 50), (499, 99), (500, 50), (1000, 100)]
)
def test_groups_have_a_least_size_by_default(n_items: int, least: int) -> None:
    assert monotonicity(simulated(n_items, [0.5, 0.5], 13)).min_size == least


@pytest.mark.parametrize("table", VARIED)
def test_the_order_of_items_is_irrelevant_to_monotonicity(table: Array) -> None:
    found = monotonicity(table, 10, 0.0)
    other = monotonicity(table[np.random.default_rng(0).permutation(len(table))], 10, 0.0)
    for name in ("n_groups", "n_active", "n_violations", "n_significant"):
        assert getattr(found, name).tolist() == getattr(other, name).tolist()
    for name in ("largest", "total", "z", "crit"):
        assert close(getattr(found, name), getattr(other, name), 1e-9)


@pytest.mark.parametrize("table", VARIED)
@pytest.mark.parametrize(("shift", "scale"), [(50.0, 1.0), (0.0, 2.0**-40), (0.0, 0.1), (0.3, 0.7)])
def test_shifting_and_scaling_all_scores_leaves_monotonicity_as_it_is(table: Array, shift: float, scale: float) -> None:
    found, other = monotonicity(table, 10, 0.01), monotonicity(shift + scale * table, 10, 0.01)
    for name in ("n_groups", "n_active", "n_violations", "n_significant"):
        assert getattr(found, name).tolist() == getattr(other, name).tolist()


def test_too_few_items_are_noted() -> None:
    found = monotonicity(simulated(40, [0.5, 0.5, 0.5], 14))
    assert found.notes == (TOO_FEW_ITEMS,) * 3
    for numbers in (found.largest, found.total, found.z, found.crit):
        assert np.isnan(numbers).all()
    assert not found.n_violations.any()


def test_raters_of_one_score_or_none_are_noted_and_the_others_checked() -> None:
    table = np.hstack([simulated(60, [0.8, 0.8, 0.8], 15), np.full((60, 1), 2.0), np.full((60, 1), NAN)])
    found = monotonicity(table, 10)
    assert found.notes[:4] == ("", "", "", ONE_SCORE)
    assert found.notes[4] == NO_SCORE
    assert np.isnan(found.crit[3:]).all()
    assert not np.isnan(found.crit[:3]).any()


@given(tables(), st.integers(1, 4))
def test_small_tables_are_checked_or_noted(table: Array, least: int) -> None:
    found = monotonicity(table, least)
    for rater, note in enumerate(found.notes):
        assert math.isnan(found.largest[rater]) == bool(note)
        assert math.isnan(found.z[rater]) == bool(note)


# Input ---------------------------------------------------------------------------------------------------------------
FUNCTIONS: list[Callable[[Any], object]] = [mokken_h, mokken_scales, monotonicity]
BAD: list[tuple[str, object, str]] = [
    ("one dimension", [1.0, 2.0, 3.0], "shape"), ("three dimensions", np.zeros((2, 2, 2)), "shape"),
    ("a number", 3.0, "shape"), ("strings", [["a", "b"], ["c", "d"]], "instead of numbers"),
    ("objects", [[None, 1], [2, 3]], "instead of numbers"),
    ("infinite", [[0.0, 1.0], [math.inf, 0.0]], "row 1, column 0"),
    ("minus infinite", [[0.0, -math.inf], [1.0, 0.0]], "row 0, column 1"),
    ("unequal rows", [[0.0, 1.0], [1.0]], "unequal length"),
    ("too many points", np.arange(201.0).reshape(67, 3), "201 different scores"),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize(("scores", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_is_no_table_of_scores_is_refused(function: Callable[[Any], object], scores: object, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        function(scores)
    assert caught.value.hint


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (3, 1), (1, 3)], ids=str)
@pytest.mark.parametrize("fill", [0.0, NAN], ids=["scores", "missing"])
def test_tables_without_two_scores_end_in_nan_with_a_note(shape: tuple[int, int], fill: float) -> None:
    table = np.full(shape, fill)
    found, checked, n_raters = mokken_h(table), monotonicity(table), shape[1]
    assert math.isnan(found.h)
    assert math.isnan(found.h_se)
    assert (found.note, found.strength) == (NO_SCALE, "none")
    assert (found.h_raters.shape, found.h_pairs.shape) == ((n_raters,), (n_raters, n_raters))
    assert mokken_scales(table).tolist() == [0] * n_raters
    assert (len(found.notes), len(checked.notes)) == (n_raters, n_raters)
    assert all(found.notes + checked.notes)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
@pytest.mark.parametrize("largest", [1e300, 1.7e308, 1e-300], ids=str)
def test_scores_of_any_size_neither_overflow_nor_warn(function: Callable[[Any], object], largest: float) -> None:
    table = simulated(60, [0.8, 0.8, 0.5], 17) / 4 * largest
    function(table)
    function(np.where(table > 0, table, NAN))
    assert mokken_h(np.array([[0, 0, 1], [1e-200, 1e-200, 1], [0, 1e-200, 0], [1e-200, 0, 1]])).h_pairs.shape == (3, 3)


def test_integers_booleans_and_lists_are_scores_too() -> None:
    table = simulated(30, [0.8, 0.8], 18, points=(0, 1))
    found = mokken_h(table)
    assert_same(found, mokken_h(table.astype(np.int8)))
    assert_same(found, mokken_h(table.astype(bool)))
    rows: list[list[float]] = [[float(score) for score in row] for row in table]
    assert_same(found, mokken_h(rows))
    assert close(mokken_h(np.repeat(np.arange(200.0)[:, None], 2, axis=1)).h, 1)  # 200 points are supported
