"""Posterior intervals against splines in fractions, integrals in many digits, scipy, and what holds for all data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import mpmath as mp  # type: ignore[import-untyped]
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import reference
from plurivox.base.errors import InputError
from plurivox.statistics import dirichlet, posterior
from plurivox.statistics.posterior import information_gain, mean_interval, ratings_needed, share_interval

Array = NDArray[Any]
Case = tuple[Array, Array, Array]  # counts, prior and values


def cases(max_points: int = 6, largest: float = 1e6, weakest: float = -2) -> st.SearchStrategy[Case]:
    """Draw counts, a prior, and values with unequal steps."""

    def of_length(n: int) -> st.SearchStrategy[Case]:
        strength = st.floats(weakest, 3).map(lambda x: 10.0**x)
        prior = st.one_of(
            strength.map(lambda x: np.full(n, x)), st.lists(strength, min_size=n, max_size=n).map(np.array)
        )
        few = st.lists(st.integers(0, 9), min_size=n, max_size=n)
        many = st.lists(st.floats(0, math.log10(largest)).map(lambda x: int(10**x)), min_size=n, max_size=n)
        steps = st.lists(st.sampled_from([0.5, 1.0, 1.0, 3.0]), min_size=n - 1, max_size=n - 1)
        values = steps.map(lambda x: np.cumsum([0.0, *x]) - 1)
        return st.tuples(st.one_of(few, many, st.just([0] * n)).map(np.array), prior, values)

    return st.integers(2, max_points).flatmap(of_length)


# Expected information gain -------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("counts", "prior"), [([3, 1, 0], 1.0), ([0, 0], 0.5), ([2, 9, 0, 1, 1], 0.3), ([0, 4, 2], [0.2, 1.0, 3.0])]
)
def test_information_gain_against_scipy(counts: list[int], prior: Any) -> None:
    from scipy.stats import dirichlet

    a = np.array(counts) + np.broadcast_to(prior, len(counts))
    after = sum(a[c] / a.sum() * dirichlet(a + np.eye(len(a))[c]).entropy() for c in range(len(a)))
    assert information_gain(counts, prior) == pytest.approx(dirichlet(a).entropy() - after, rel=1e-10)


@pytest.mark.parametrize(
    ("counts", "prior"),
    [([10**9, 2 * 10**9, 5], 1.0), ([10**9, 0], 1e-3), ([0, 0, 0], 1e-3), ([4] * 101, 0.01), ([10**9, 10**9], 1e-3)],
)
def test_information_gain_against_mpmath(counts: list[int], prior: float) -> None:
    with mp.workdps(60):
        a = [mp.mpf(n) + mp.mpf(prior) for n in counts]
        a0 = mp.fsum(a)
        parts = mp.fsum(x / a0 * (mp.digamma(x + 1) - mp.log(x)) for x in a)
        expected = float(parts - (mp.digamma(a0 + 1) - mp.log(a0)))
    assert information_gain(counts, prior) == pytest.approx(expected, rel=1e-12)


def test_information_gain_hand_derived() -> None:
    assert information_gain([0, 0]) == pytest.approx(math.log(2) - 1 / 2, abs=1e-15)  # ψ(2) = 1 − γ, ψ(3) = 3/2 − γ
    assert information_gain([0] * 5, prior=1e-12) == pytest.approx(math.log(5), abs=1e-9)  # one rating tells all
    assert information_gain([10**6] * 4) == pytest.approx(3 / (2 * 4e6), rel=1e-5)


@given(cases())
def test_information_gain_is_an_information(case: Case) -> None:
    """It is at least 0 and at most the entropy of the rating, and the order of points does not matter."""
    counts, prior, _ = case
    gain = information_gain(counts, prior)
    mean = (counts + prior) / (counts + prior).sum()
    assert 0 <= gain <= -(mean * np.log(mean)).sum() * (1 + 1e-12)
    assert information_gain(counts[::-1], prior[::-1]) == pytest.approx(gain, rel=1e-9, abs=1e-22)


# The interval of a share ---------------------------------------------------------------------------------------------
def beta_below(x: float, a: float, b: float) -> float:
    """P(X ≤ x) for X ~ Beta(a, b), by an integral in 40 digits."""
    return float(reference.beta_mean(lambda p: mp.mpf(bool(p <= x)), a, b, [x]))


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_share_interval_against_scipy(level: float) -> None:
    from scipy.stats import beta

    counts = np.array([[3, 0, 1, 9], [0, 0, 0, 0], [120, 40, 7, 1]])
    prior = np.array([0.5, 1.0, 2.0, 0.3])
    a = counts + prior
    rest = a.sum(axis=1, keepdims=True) - a
    low, high = share_interval(counts, prior, level)
    assert low == pytest.approx(beta.ppf((1 - level) / 2, a, rest), rel=1e-9)
    assert high == pytest.approx(beta.isf((1 - level) / 2, a, rest), rel=1e-9)


@pytest.mark.parametrize(("a", "b"), [
    (1000.0, 1e9), (2.0, 1e9), (30.0, 1e9), (1000.0, 1e7), (1e9, 1e9), (0.1, 0.1), (1.0, 1e-2), (0.5, 1e9), (5e3, 1e8),
])  # fmt: skip
def test_share_interval_against_mpmath(a: float, b: float) -> None:
    """Also where scipy's inverse is off, up to a factor of two."""
    (low, _), (high, _) = share_interval([0, 0], prior=[a, b])
    for end, expected in ((low, 0.025), (high, 0.975)):
        resolution = 0 if end < 0.5 else 40 * np.spacing(end) / (1 - end) if end < 1 else 1
        assert beta_below(float(end), a, b) == pytest.approx(expected, abs=1e-9 + resolution)


@pytest.mark.parametrize("rest", [1e-3, 0.1, 1.0, 7.0, 1e5, 1e9])
def test_shares_of_a_tiny_prior(rest: float) -> None:
    """At 0 as far as floats can tell, as P(X ≤ x) is about xᵃ; above, 1 − (a/x)ᵃ or so."""
    (low, _), (high, other) = share_interval([0, 0], prior=[1e-3, rest], level=0.99)
    assert low == 0
    assert 0 < high <= 1
    assert other == 1 or rest > 1e-3
    if 1e-20 < high < 1 - 1e-9:
        assert beta_below(float(high), 1e-3, rest) == pytest.approx(0.995, abs=1e-10)


@given(cases(largest=1e9, weakest=-3))
def test_share_intervals_in_general(case: Case) -> None:
    counts, prior, _ = case
    low, high = share_interval(counts, prior)
    inner = share_interval(counts, prior, level=0.5)
    assert ((low >= 0) & (low <= inner[0]) & (inner[0] <= inner[1]) & (inner[1] <= high) & (high <= 1)).all()
    if len(counts) == 2:  # the one share is what the other leaves
        assert low == pytest.approx(1 - high[::-1], abs=1e-12)


# The interval of the mean score --------------------------------------------------------------------------------------
def spline_below(a: Sequence[int], v: Sequence[float], t: float) -> float:
    """P(Σ v_c p_c ≤ t) for p ~ Dirichlet(a), a whole: 1 minus a divided difference of (x − t)₊^(a₀ − 1), exactly.

    The density is the B-spline with each v_c as a knot a_c times (Curry and Schoenberg 1966).
    """
    knots = [Fraction(x) for x, k in zip(v, a, strict=True) for _ in range(k)]
    at, degree = Fraction(t), len(knots) - 1

    def derivative(x: Fraction, j: int) -> Fraction:
        return math.comb(degree, j) * (x - at) ** (degree - j) if x > at else Fraction(0)

    table = [derivative(x, 0) for x in knots]
    for j in range(1, len(knots)):
        table = [
            (after - before) / (knots[i + j] - knots[i]) if knots[i + j] > knots[i] else derivative(knots[i], j)
            for i, (before, after) in enumerate(itertools.pairwise(table))
        ]
    return float(1 - table[0])


def test_the_spline_itself() -> None:
    assert spline_below([1, 1], [0, 1], 0.25) == 0.25  # uniform
    assert spline_below([1, 1, 1], [0, 1, 2], 0.5) == 1 / 8  # a triangle, t²/2
    assert spline_below([2, 3], [0, 1], 0.25) == 13 / 256  # Beta(3, 2): 4t³ − 3t⁴


@pytest.mark.parametrize("level", [0.95, 0.5, 0.9999])
@pytest.mark.parametrize(("counts", "values"), [
    ([0, 0, 0, 0, 0], [0, 1, 2, 3, 4]), ([3, 0, 1, 0, 2], [0, 1, 2, 3, 4]), ([19, 0, 0, 0, 0], [0, 1, 2, 3, 4]),
    ([0, 0, 12, 1, 0], [1, 2, 3, 4, 5]), ([5, 0, 0, 0, 6], [-2, -1, 0, 1, 2]), ([1, 3, 0], [0, 1, 100]),
    ([0, 7], [2, 3]), ([2, 0, 1, 0, 0, 4, 0, 0, 0, 0, 1], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
    ([1, 1, 1, 1], [0, 0.125, 0.25, 16]),
])  # fmt: skip
def test_mean_interval_against_exact_splines(counts: list[int], values: list[float], level: float) -> None:
    low, high = mean_interval(counts, values, level=level)
    a = [n + 1 for n in counts]
    assert spline_below(a, values, low) == pytest.approx((1 - level) / 2, abs=1e-12)
    assert 1 - spline_below(a, values, high) == pytest.approx((1 - level) / 2, abs=1e-12)


def test_mean_interval_of_101_points_against_a_spline() -> None:
    counts = np.zeros(101, dtype=int)
    counts[[3, 50, 51]] = 1, 4, 2
    low, high = mean_interval(counts)
    assert spline_below((counts + 1).tolist(), range(101), low) == pytest.approx(0.025, abs=1e-12)
    assert spline_below((counts + 1).tolist(), range(101), high) == pytest.approx(0.975, abs=1e-12)


def nested_below(a: Sequence[float], middle: float, t: float) -> float:
    """P(v·p₁ + p₂ ≤ t) on the points 0, v, 1, by an integral over p₁ of the Beta distribution that is left."""
    from scipy.special import betainc

    def inner(p: Any) -> Any:
        x = min(max((mp.mpf(t) - mp.mpf(middle) * p) / (1 - p), 0), 1) if p < 1 else mp.mpf(middle <= t)
        return mp.mpf(float(betainc(a[2], a[0], float(x))))

    kinks = [x for x in (t / middle, (1 - t) / (1 - middle)) if 0 < x < 1]
    return float(reference.beta_mean(inner, a[1], a[0] + a[2], kinks))


@pytest.mark.parametrize(("a", "middle"), [
    ([2.5, 4.2, 3.1], 0.5), ([4.5, 20.0, 6.5], 0.25), ([300.5, 20.0, 1e5], 0.7), ([1e5, 2e5, 3e5], 0.5),
    ([4e8, 1e9, 7e8], 0.3), ([1e9, 50.5, 40.5], 0.5),
])  # fmt: skip
def test_mean_interval_against_a_nested_integral(a: list[float], middle: float) -> None:
    """From few ratings to a billion: the integral of the characteristic function needs no approximation for many."""
    low, high = mean_interval([0, 0, 0], [0, middle, 1], prior=a)
    assert nested_below(a, middle, low) == pytest.approx(0.025, abs=1e-9)
    assert nested_below(a, middle, high) == pytest.approx(0.975, abs=1e-9)


def test_mean_interval_against_a_closed_density() -> None:
    """With a₀ = 1 the density is sin(πA)/π·Π|v_c − t|^(−a_c), A the sum up to t (Cifarelli and Regazzini 1990)."""
    a, v = [0.3, 0.2, 0.1, 0.4], [0.0, 0.25, 0.75, 1.0]
    for level in (0.95, 0.8, 0.3):
        low, high = mean_interval([0, 0, 0, 0], v, prior=a, level=level)
        for end, expected in ((low, (1 - level) / 2), (high, (1 + level) / 2)):
            below = mp.mpf(0)
            for k in range(3):
                right = min(end, v[k + 1])
                if right > v[k]:
                    wave = mp.sin(mp.pi * mp.fsum(a[: k + 1])) / mp.pi
                    below += wave * mp.quad(
                        lambda x: mp.fprod(abs(y - x) ** -s for y, s in zip(v, a, strict=True)), [v[k], right]
                    )
            assert float(below) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=40)
@given(
    st.integers(0, 10**9), st.integers(0, 10**9), st.floats(-2, 2).map(lambda x: 10.0**x), st.sampled_from([0.5, 0.95])
)
@example(0, 0, 0.005, 0.95)
@example(10**9, 10**9, 1e-3, 0.95)
@example(10**9, 0, 1e-3, 0.95)
@example(1000, 10**9, 1.0, 0.95)
@example(0, 10**9, 1e-3, 0.999)
def test_two_points_equal_beta(zeros: int, ones: int, prior: float, level: float) -> None:
    low, high = mean_interval([zeros, ones], prior=prior, level=level)
    shares = share_interval([zeros, ones], prior, level)
    assert low == pytest.approx(shares[0][1], rel=1e-8, abs=1e-100)
    assert high == pytest.approx(shares[1][1], rel=1e-8, abs=1e-100)


@pytest.mark.parametrize(
    "a", [(1e-3, 2e-3, 0.5), (0.3, 5.0, 1e-2), (1e9, 1e-3, 3.0), (5.0, 1e9, 1e9), (1.0, 2.0, 1e-3)]
)
def test_points_close_together_are_nearly_one(a: tuple[float, float, float]) -> None:
    low, high = mean_interval([0, 0, 0], [0, 1e-13, 1], prior=a)
    shares = share_interval([0, 0], prior=[a[0] + a[1], a[2]])
    assert low == pytest.approx(shares[0][1], rel=1e-7, abs=2e-13)
    assert high == pytest.approx(shares[1][1], rel=1e-7, abs=2e-13)


def test_points_close_together_among_others_against_monte_carlo() -> None:
    """Many scales at once: the rule is refined until it holds."""
    random = np.random.default_rng(3)
    prior, values = np.array([0.01, 1e6, 1e3]), np.array([0.0, 1 - 1e-5, 1.0])
    draws = random.standard_gamma(prior, (400_000, 3))
    for level in (0.92, 0.6):
        for end, expected in zip(mean_interval([0] * 3, values, prior, level), (0.04, 0.96), strict=True):
            wanted = expected if level == 0.92 else (0.2, 0.8)[expected > 0.5]
            share = float((draws @ (values - end) <= 0).mean())
            assert abs(share - wanted) < 5 * math.sqrt(wanted * (1 - wanted) / len(draws))


def test_mean_interval_against_monte_carlo() -> None:
    random = np.random.default_rng(8)
    counts, prior, values = np.array([1, 0, 3, 2]), np.array([0.5, 0.01, 2.0, 0.1]), np.array([0.0, 1.0, 5.0, 6.0])
    means = random.dirichlet(counts + prior, 400_000) @ values
    low, high = mean_interval(counts, values, prior, level=0.9)
    for share in ((means < low).mean(), (means > high).mean()):
        assert abs(share - 0.05) < 5 * math.sqrt(0.05 * 0.95 / len(means))


def test_a_weak_prior_puts_all_on_one_point() -> None:
    """As the prior vanishes, the mean score is v_c with the probability of point c: .2, .3, .4 and .1."""
    values, shares = [1.0, 2.0, 4.0, 5.0], np.array([0.2, 0.3, 0.4, 0.1])
    for strength in (1e-2, 1e-5):
        expected = {0.5: (2.0, 4.0), 0.7: (1.0, 4.0), 0.9: (1.0, 5.0)}
        for level, ends in expected.items():
            assert mean_interval([0] * 4, values, strength * shares, level) == pytest.approx(ends, abs=1e-6)


@given(cases())
def test_reversing_the_scale_mirrors_the_interval(case: Case) -> None:
    counts, prior, values = case
    low, high = mean_interval(counts, values, prior)
    mirrored = mean_interval(counts[::-1], -values[::-1], prior[::-1])
    assert (-mirrored[1], -mirrored[0]) == pytest.approx((low, high), rel=1e-8, abs=1e-11)


@given(cases(), st.sampled_from([-1e3, 0.25, 7.0]), st.sampled_from([1e-3, 2.0, 1e4]))
def test_moving_and_stretching_values(case: Case, shift: float, factor: float) -> None:
    counts, prior, values = case
    low, high = mean_interval(counts, values, prior)
    moved = mean_interval(counts, values * factor + shift, prior)
    expected = (low * factor + shift, high * factor + shift)
    assert moved == pytest.approx(expected, rel=1e-8, abs=1e-10 * (factor + abs(shift)))


@given(cases())
def test_a_higher_rating_raises_both_ends(case: Case) -> None:
    counts, prior, values = case
    after = counts.copy()
    after[-1] += 1
    low, high = mean_interval(counts, values, prior)
    raised = mean_interval(after, values, prior)
    assert raised[0] >= low - 1e-10
    assert raised[1] >= high - 1e-10
    inner = mean_interval(counts, values, prior, level=0.5)
    assert values[0] <= low <= inner[0] <= inner[1] <= high <= values[-1]


def test_a_billion_ratings_are_normal() -> None:
    counts = np.array([10**9, 3 * 10**9, 2 * 10**9])
    low, high = mean_interval(counts)
    shares = counts / counts.sum()
    mean = shares @ [0, 1, 2]
    error = 1.959963984540054 * math.sqrt((shares @ [0, 1, 4] - mean**2) / counts.sum())
    assert (low, high) == pytest.approx((mean - error, mean + error), abs=1e-4 * error)


@pytest.mark.parametrize("prior", [1e-12, 1e-3, 2.0**53])
def test_the_ends_of_what_is_allowed(prior: float) -> None:
    for counts in ([0, 0, 0], [2**53, 0, 1], [0, 3, 0], [2**53, 2**53, 2**53], [0, 2**53, 0]):
        for level in (0.95, 0.999999):
            low, high = mean_interval(counts, prior=prior, level=level)
            assert 0 <= low <= high <= 2
            lows, highs = share_interval(counts, prior, level)
            assert ((lows >= 0) & (lows <= highs) & (highs <= 1)).all()
        assert 0 <= information_gain(counts, prior) <= math.log(3) + 1e-12
    low, high = mean_interval([1, 2, 3], values=[-1e308, 0, 1.7e308])
    assert -1e308 < low < high < 1.7e308


# How many ratings are enough -----------------------------------------------------------------------------------------
def variance_of(a: Sequence[Fraction], values: Sequence[int]) -> Fraction:
    """The variance of the mean score under Dirichlet(a)."""
    pairs, a0 = list(zip(a, values, strict=True)), sum(a, Fraction(0))
    mean = sum((x * v for x, v in pairs), Fraction(0)) / a0
    return sum((x * (v - mean) ** 2 for x, v in pairs), Fraction(0)) / a0 / (a0 + 1)


@pytest.mark.parametrize("more", [1, 2, 4])
def test_the_expected_variance_by_enumeration(more: int) -> None:
    """Over all that m more raters may say, the variance is V·a₀/(a₀ + m) on average, exactly."""
    a, values = [Fraction(3), Fraction(1, 2), Fraction(2)], [0, 1, 5]
    expected = Fraction(0)
    for said in itertools.product(range(3), repeat=more):
        now, probability = list(a), Fraction(1)
        for point in said:
            probability *= now[point] / sum(now)
            now[point] += 1
        expected += probability * variance_of(now, values)
    assert expected == variance_of(a, values) * sum(a) / (sum(a) + more)


@given(cases(largest=100, weakest=-1), st.sampled_from([0.05, 0.2, 1.0, 3.0]), st.sampled_from([0.8, 0.95]))
def test_as_many_as_needed_and_no_more(case: Case, precision: float, level: float) -> None:
    from scipy.stats import norm

    counts, prior, values = case
    needed = ratings_needed(counts, precision, values, prior, level)
    a = counts + prior
    mean = a @ values / a.sum()
    variance = a @ (values - mean) ** 2 / a.sum() / (a.sum() + 1)

    def half_width(total: float) -> float:
        return float(norm.ppf((1 + level) / 2) * math.sqrt(variance * a.sum() / (a.sum() + total - counts.sum())))

    assert needed == math.floor(needed) >= counts.sum()
    assert half_width(needed) <= precision * (1 + 1e-9)
    assert needed == counts.sum() or half_width(needed - 1) > precision * (1 - 1e-9)


def test_ratings_needed_hand_derived() -> None:
    # Beta(1, 1): V = 1/12, a₀ = 2; m = 2·(1.96²/12/.01 − 1) = 62.02…
    assert ratings_needed([0, 0], 0.1) == 63
    assert ratings_needed([0, 0], 10) == 0
    assert ratings_needed([[0, 0], [60, 60], [0, 0]], 0.1).tolist() == [63, 120, 63]
    # the unit of precision is that of the values
    assert ratings_needed([0, 0], 0.2, values=[1, 3]) == 63
    assert ratings_needed([0, 0], 1e-200) == math.inf


# Shapes --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_points", [2, 5, 101])
def test_many_items_are_many_single_ones(n_points: int) -> None:
    random = np.random.default_rng(n_points)
    counts = random.poisson(0.7, (30, n_points))
    counts[0] = 0
    low, high = mean_interval(counts)
    lows, highs = share_interval(counts)
    for i, one in enumerate(counts):
        assert mean_interval(one) == pytest.approx((low[i], high[i]), rel=1e-11)
        alone = share_interval(one)
        assert (alone[0] == lows[i]).all()
        assert (alone[1] == highs[i]).all()
        assert information_gain(one) == information_gain(counts)[i]
        assert ratings_needed(one, 0.1) == ratings_needed(counts, 0.1)[i]


def test_order_and_repetition_of_items_do_not_matter() -> None:
    random = np.random.default_rng(2)
    counts = random.multinomial(6, [0.1, 0.2, 0.4, 0.2, 0.1], 300)
    order = random.integers(0, 300, 900)
    for function in (mean_interval, share_interval):
        straight, shuffled = function(counts), function(counts[order])
        for one, other in zip(straight, shuffled, strict=True):
            assert other == pytest.approx(one[order], rel=1e-12)


def test_blocks_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = np.random.default_rng(0).multinomial(9, [0.1, 0.2, 0.4, 0.2, 0.1], 200)
    whole = (*mean_interval(counts), information_gain(counts))
    monkeypatch.setattr(posterior, "_ROWS", 7)
    monkeypatch.setattr(dirichlet, "_CELLS", 100)
    for one, other in zip(whole, (*mean_interval(counts), information_gain(counts)), strict=True):
        assert other == pytest.approx(one, rel=1e-12)


def test_equal_rows_are_found_also_among_huge_counts() -> None:
    rows = np.array([[2**53, 0, 2**53, 2**40], [2**53, 0, 2**53, 2**40 + 1], [0, 1, 0, 0], [2**53, 0, 2**53, 2**40]])
    first, at = posterior._distinct(rows.astype(float))
    assert (rows[first][at] == rows).all()
    assert len(first) == 3


def test_no_items() -> None:
    none = np.zeros((0, 3))
    assert information_gain(none).shape == ratings_needed(none, 1).shape == (0,)
    assert [ends.shape for ends in (*mean_interval(none), *share_interval(none))] == [(0,), (0,), (0, 3), (0, 3)]


def test_single_items_give_floats() -> None:
    assert all(isinstance(end, float) for end in mean_interval([1, 2, 0]))
    assert isinstance(information_gain([1, 2, 0]), float)
    assert isinstance(ratings_needed([1, 2, 0], 0.1), float)
    assert [ends.shape for ends in share_interval([1, 2, 0])] == [(3,), (3,)]


# The border ----------------------------------------------------------------------------------------------------------

FUNCTIONS: list[Callable[..., Any]] = [
    information_gain, share_interval, mean_interval, lambda counts, **options: ratings_needed(counts, 0.5, **options),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("counts", "message"), [
    ([[1, 0], [-1, 2]], "counts holds a negative count: -1 in row 1, column 0"),
    ([1, math.nan], "counts holds a count that is not finite or too large: nan"),
    ([0.5, 0.5], r"counts holds a count that is not a whole number: 0\.5"), ([1], "counts has 1 columns"),
    (["a", "b"], "counts holds <U1 instead of numbers"),
])  # fmt: skip
def test_counts_are_checked(function: Callable[..., Any], counts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        function(counts)


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("prior", [0, -1.0, math.nan, [1.0, 0.0], [1.0, 1.0, 1.0]])
def test_priors_are_checked(function: Callable[..., Any], prior: Any) -> None:
    with pytest.raises(InputError, match=r"prior is .*Give a number from .*, or 2 of them"):
        function([1, 2], prior=prior)


@pytest.mark.parametrize("function", FUNCTIONS[1:])
@pytest.mark.parametrize("level", [0, 1, 0.9999999, -0.5, 95, math.nan, [0.5, 0.9]])
def test_levels_are_checked(function: Callable[..., Any], level: Any) -> None:
    with pytest.raises(InputError, match=r"level is .*Give (a probability above 0 and at most 0\.999999|one finite)"):
        function([1, 2], level=level)


@pytest.mark.parametrize("function", FUNCTIONS[2:])
@pytest.mark.parametrize("values", [[0, 2, 1], [0, 1], [0, math.nan, 1], [1, 1, 2]])
def test_values_are_checked(function: Callable[..., Any], values: Any) -> None:
    with pytest.raises(InputError, match=r"values is .*Give 3 finite numbers, each clearly larger"):
        function([1, 2, 0], values=values)


@pytest.mark.parametrize("precision", [0, -1, math.nan, math.inf, [1, 2]])
def test_precision_is_checked(precision: Any) -> None:
    with pytest.raises(InputError, match=r"precision is .*Give (a number above 0, such as 0\.5|one finite number)"):
        ratings_needed([1, 2], precision)


def test_input_is_not_changed() -> None:
    counts, prior, values = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([1.0, 2.0]), np.array([1.0, 3.0])
    kept = counts.copy(), prior.copy(), values.copy()
    information_gain(counts, prior)
    share_interval(counts, prior)
    mean_interval(counts, values, prior)
    ratings_needed(counts, 0.1, values, prior)
    assert all((now == before).all() for now, before in zip((counts, prior, values), kept, strict=True))
