"""Soft metrics against golden values, integrals in many digits, Monte Carlo, and what holds for all data."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import reference
from plurivox import statistics
from plurivox.base.errors import InputError
from plurivox.statistics import STATISTICS, dirichlet

Array = NDArray[Any]
Case = tuple[Array, Array, Array]  # counts, q and prior

OF_PREDICTION = [record for record in STATISTICS.values() if record.needs == "prediction"]
SHARED_TASK = (
    "manhattan",
    "wasserstein",
    "error_rate",
    "absolute_distance",
    "absolute_distance_points",
)  # test_lewidi.py
EMPIRICAL = ("cross_entropy", "kl", "js", "emd", "rps")
EXPECTED = tuple(f"expected_{name}" for name in EMPIRICAL)


def value_of(name: str, *given: Any, **options: Any) -> Any:
    return getattr(statistics, name)(*given, **options)


# Data ----------------------------------------------------------------------------------------------------------------
def cases(max_points: int = 5, largest: float = 1e6, zeros: bool = True) -> st.SearchStrategy[Case]:
    """Draw counts, a prediction, often on the boundary of the simplex, and a prior from 0.001 to 1,000,000."""

    def of_length(n: int) -> st.SearchStrategy[Case]:
        strength = st.floats(-3, 6).map(lambda x: 10.0**x)
        prior = st.one_of(
            strength.map(lambda x: np.full(n, x)), st.lists(strength, min_size=n, max_size=n).map(np.array)
        )
        few = st.lists(st.integers(0, 9), min_size=n, max_size=n)
        many = st.lists(st.floats(0, math.log10(largest)).map(lambda x: int(10**x)), min_size=n, max_size=n)
        corner = st.sampled_from(range(n)).map(lambda c: np.eye(n)[c])
        share = st.floats(1e-9, 1) if not zeros else st.sampled_from([0.0, 1e-12, 1e-4, 0.1, 0.5, 1.0])
        inside = st.lists(share, min_size=n, max_size=n).filter(any).map(lambda x: np.array(x) / np.sum(x))
        q = st.one_of(corner, inside) if zeros else inside
        return st.tuples(st.one_of(few, many, st.just([0] * n)).map(np.array), q, prior)

    return st.integers(2, max_points).flatmap(of_length)


# Golden values and the paper's examples ------------------------------------------------------------------------------
def golden(real_data: Path) -> Any:
    return json.loads((real_data.parent / "golden" / "golden.json").read_text())["soft_metrics"]


def test_against_golden_values(real_data: Path) -> None:
    keys = {"E_CE": "expected_cross_entropy", "E_KL": "expected_kl", "CE": "cross_entropy", "KL": "kl", "JS": "js"}
    compared = 0
    for case in golden(real_data)["cases"]:
        counts, q, prior = case["counts"], case["q"], case["alpha"]
        for key, name in keys.items():
            if key in case:
                given = (counts, q, prior) if key.startswith("E_") else (counts, q)
                assert value_of(name, *given) == pytest.approx(case[key], abs=1e-12), key
                compared += 1
        for suffix, normalized in (("norm", True), ("unnorm", False)):
            found = statistics.expected_emd(counts, q, prior, normalized)
            assert found == pytest.approx(case[f"E_EMD_{suffix}"], abs=1e-12)
            if f"EMD_{suffix}" in case:
                assert statistics.emd(counts, q, normalized) == pytest.approx(case[f"EMD_{suffix}"], abs=1e-12)
                compared += 1
        assert statistics.expected_entropy(counts, prior) == pytest.approx(case["E_H"], abs=1e-12)
        assert statistics.posterior_mean(counts, prior) == pytest.approx(np.array(case["E_p"]), abs=1e-12)
        assert statistics.expected_js(counts, q, prior) == pytest.approx(case["E_JS"], abs=1e-10)
        mean = statistics.posterior_mean(counts, prior)
        assert statistics.emd(mean, q) == pytest.approx(case["EMD_of_mean_norm"], abs=1e-12)
    assert compared >= 40


def test_against_table_1_of_the_paper(real_data: Path) -> None:
    """Example 2: entropies do not see that ratings are further off; the distance does."""
    for case in golden(real_data)["paper_table1"].values():
        p, q = case["p"], case["q"]
        assert statistics.kl(p, q) == pytest.approx(case["KL_nats"], abs=1e-12)
        assert statistics.cross_entropy(p, q) == pytest.approx(case["CE_nats"], abs=1e-12)
        assert statistics.js(p, q) == pytest.approx(case["JS_nats"], abs=1e-12)
        assert statistics.emd(p, q) == pytest.approx(case["EMD_norm"], abs=1e-12)
        assert statistics.emd(p, q, normalized=False) == pytest.approx(case["EMD_unnorm"], abs=1e-12)


def test_figure_1_of_the_paper() -> None:
    """Example 1: the same shares from more ratings tell a right prediction from a wrong one more clearly."""
    counts = np.outer([1, 2, 4, 10], [1, 2, 4, 2, 1])
    right, wrong = [0.1, 0.2, 0.4, 0.2, 0.1], [0.1, 0.3, 0.3, 0.2, 0.1]
    for name in EXPECTED:
        gaps = value_of(name, counts, wrong) - value_of(name, counts, right)
        assert (np.diff(gaps) > 0).all(), name
        assert gaps[0] > 0
    for name in EMPIRICAL:  # which see no difference
        assert np.ptp(value_of(name, counts, wrong)) < 1e-15, name


def test_hand_derived_values() -> None:
    # p = [1/2, 0, 1/2], q = [1/2, 1/4, 1/4]: F_p = 1/2, 1/2 and F_q = 1/2, 3/4
    assert statistics.emd([1, 0, 1], [0.5, 0.25, 0.25]) == pytest.approx(1 / 8)
    assert statistics.rps([1, 0, 1], [0.5, 0.25, 0.25], normalized=False) == pytest.approx(9 / 16)
    # one rating on two points and prior 1: X ~ Beta(2, 1), density 2x: E|X − ½| = ∫ 2x|x − ½| = 1/4
    assert statistics.expected_emd([1, 0], [0.5, 0.5]) == pytest.approx(1 / 4, abs=1e-15)
    # μ = 2/3: μ(1 − μ) + (μ − ½)² = 1/4
    assert statistics.expected_rps([1, 0], [0.5, 0.5]) == pytest.approx(1 / 4, abs=1e-15)
    # E[H] for a uniform X: −2∫ x ln x = ½
    assert statistics.expected_entropy([0, 0]) == pytest.approx(1 / 2, abs=1e-15)


def test_rps_is_a_mean_over_ratings() -> None:
    counts, q = [2, 0, 1, 3], [0.125, 0.25, 0.5, 0.125]
    below = [Fraction(sum(q[: k + 1])) for k in range(3)]
    terms = [n * (int(y <= k) - below[k]) ** 2 for y, n in enumerate(counts) for k in range(3)]
    assert statistics.rps(counts, q) == pytest.approx(float(sum(terms) / 6 / 3), abs=1e-15)


# Against integrals in many digits ------------------------------------------------------------------------------------
@given(cases(largest=1e9, zeros=False))
@example((np.array([10**9, 2 * 10**9]), np.array([1 / 3, 2 / 3]), np.array([1.0, 1.0])))
@example((np.array([10**9, 0, 0]), np.array([1 - 2e-9, 1e-9, 1e-9]), np.array([1e-3, 1e-3, 1e-3])))
def test_entropies_against_mpmath(case: Case) -> None:
    counts, q, prior = case
    given = (counts.tolist(), (q / q.sum()).tolist(), prior.tolist())
    cross, own, divergence = reference.expected_entropies(*given)
    assert statistics.expected_cross_entropy(counts, q, prior) == pytest.approx(float(cross), rel=1e-13)
    assert statistics.expected_entropy(counts, prior) == pytest.approx(float(own), rel=1e-13)
    assert statistics.expected_kl(counts, q, prior) == pytest.approx(float(divergence), rel=1e-10, abs=1e-16)


@pytest.mark.slow
@settings(max_examples=12)
@given(cases(max_points=3))
@example((np.array([0, 0]), np.array([0.5, 0.5]), np.array([1e-3, 1e-3])))
@example((np.array([3, 0]), np.array([1.0, 0.0]), np.array([1e-3, 1e-3])))
@example((np.array([0, 0]), np.array([1e-4, 1 - 1e-4]), np.array([1e6, 1e6])))
@example((np.array([10**9, 2 * 10**9]), np.array([1 / 3, 2 / 3]), np.array([1.0, 1.0])))
@example((np.array([10**9, 3]), np.array([1 - 4e-9, 4e-9]), np.array([1.0, 1e-3])))
@example((np.array([0, 0]), np.array([1 - 1e-11, 1e-11]), np.array([4.0, 0.1])))
@example((np.array([0, 0]), np.array([1 - 1e-11, 1e-11]), np.array([0.05, 0.05])))
@example((np.array([9, 7]), np.array([0.6, 0.4]), np.array([0.5, 0.5])))
def test_js_and_emd_against_mpmath(case: Case) -> None:
    counts, q, prior = case
    given = (counts.tolist(), q.tolist(), prior.tolist())
    expected = float(reference.expected_js(*given))
    # 10⁻¹⁰ is promised; more is kept, also beside small values
    assert statistics.expected_js(counts, q, prior) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    distance = float(reference.expected_emd(*given))
    assert statistics.expected_emd(counts, q, prior) == pytest.approx(distance, rel=1e-10, abs=1e-16)


def test_small_differences_against_mpmath() -> None:
    x = [1e-9, 0.3, 1.0, 4.0, 9.99, 10.01, 11.99, 12.01, 40.0, 1e5, 1e12]
    small = [-0.9, -0.3, -0.2, -1e-3, -1e-9, 1e-12, 1e-5, 0.1, 0.24, 0.26, 0.6, 3.0]
    for function, twin, points, near in (
        (dirichlet.stirling_rest, reference.stirling_rest, x, 5e-15),
        (dirichlet.digamma_rest, reference.digamma_rest, x, 0),
        (dirichlet.log1p_rest, reference.log1p_rest, small, 0),
        (dirichlet.expm1_rest, reference.expm1_rest, small, 0),
    ):
        assert function(np.array(points)) == pytest.approx([float(twin(y)) for y in points], rel=2e-14, abs=near)
    for rise in (1e-9, 0.7, 30.0, 1e8):
        expected = [float(reference.digamma_rise(y, rise)) for y in x[2:]]
        assert dirichlet.digamma_rise(np.array(x[2:]), np.full(9, rise)) == pytest.approx(expected, rel=1e-14, abs=0)


def test_the_integrals_in_many_digits_against_closed_forms() -> None:
    """The oracle itself: E[1] = 1, E[X] = a/(a + b), E[X²] = a(a + 1)/((a + b)(a + b + 1))."""
    for a, b in ((1e-3, 1e-3), (1e-3, 2.0), (0.7, 1e6), (5.0, 3.0), (1e9, 2e9)):
        assert float(reference.beta_mean(lambda x: x**0, a, b)) == pytest.approx(1, rel=1e-14)
        assert float(reference.beta_mean(lambda x: x, a, b)) == pytest.approx(a / (a + b), rel=1e-14)
        square = a * (a + 1) / ((a + b) * (a + b + 1))
        assert float(reference.beta_mean(lambda x: x * x, a, b)) == pytest.approx(square, rel=1e-14)


@pytest.mark.parametrize("ends", [True, False])
def test_the_rule_against_moments(ends: bool) -> None:
    a = np.array([1.5, 9.0, 40.0, 3e4, 1e9]) if not ends else np.array([1e-9, 1e-3, 0.3, 2.0, 7.0])
    b = np.array([2.5, 8.0, 1e6, 2e4, 1e9])
    low, high = np.minimum(a, b) + ends, np.maximum(a, b) + ends
    p, w = dirichlet.beta_rule(a, b, int(dirichlet._reach(low, high)[2].max()), ends=ends)
    for k in range(5):
        exact = np.prod([(a + j) / (a + b + j) for j in range(k)], axis=0)
        assert (w * p**k).sum(axis=-1) == pytest.approx(exact, rel=1e-10)


def test_predictions_that_rule_points_out() -> None:
    """At q_c = 0, a point's part of E[JS] is closed: half of ln 2 times its mean."""
    counts, q = np.array([2, 0, 5]), np.array([0.0, 0.0, 1.0])
    one = reference.expected_js(counts.tolist(), q.tolist(), [1.0] * 3)
    assert statistics.expected_js(counts, q) == pytest.approx(float(one), abs=1e-14)
    for a, b in ((1e-3, 5.0), (3.0, 1e5), (9.0, 1e6), (1e8, 20.0)):
        part = dirichlet.mean_js_terms(np.array([a]), np.array([b]), np.array([0.0]))[0]
        assert part == pytest.approx(math.log(2) / 2 * a / (a + b), rel=1e-10)


def test_against_monte_carlo() -> None:
    random = np.random.default_rng(6)
    counts, q, prior = np.array([1, 0, 3, 2]), np.array([0.4, 0.1, 0.3, 0.2]), np.array([0.5, 1.0, 2.0, 0.1])
    draws = random.dirichlet(counts + prior, 200_000)
    for name in EMPIRICAL:
        values = value_of(name, draws, q)
        error = values.std() / math.sqrt(len(values))
        assert abs(values.mean() - value_of(f"expected_{name}", counts, q, prior)) < 5 * error, name
        assert error < 1e-3
    entropies = statistics.cross_entropy(draws, q) - statistics.kl(draws, q)
    assert abs(entropies.mean() - statistics.expected_entropy(counts, prior)) < 5 * entropies.std() / math.sqrt(2e5)


# What holds for all data ---------------------------------------------------------------------------------------------
def test_every_soft_statistic_is_here() -> None:
    assert {record.name for record in OF_PREDICTION} == {*EMPIRICAL, *SHARED_TASK, *EXPECTED}


@given(cases())
def test_range_and_bounds(case: Case) -> None:
    counts, q, prior = case
    for record in OF_PREDICTION:
        expected = record.name in EXPECTED
        value = value_of(record.name, counts, q, prior) if expected else value_of(record.name, counts, q)
        assert isinstance(value, float)
        if not expected and not counts.any():
            assert math.isnan(value)
        else:
            assert record.range[0] - 1e-15 <= value <= record.range[1] + 1e-12, record.name
    mean = statistics.posterior_mean(counts, prior)
    assert statistics.expected_kl(counts, q, prior) > 0
    # Jensen's inequality for what is convex in p, and the reverse for the entropy
    for name in ("kl", "js", "emd"):
        assert value_of(f"expected_{name}", counts, q, prior) >= value_of(name, mean, q) - 1e-13, name
    assert statistics.expected_entropy(counts, prior) <= statistics.cross_entropy(mean, mean) + 1e-14


@given(cases(zeros=False))
def test_the_posterior_mean_is_the_best_prediction(case: Case) -> None:
    counts, q, prior = case
    mean = statistics.posterior_mean(counts, prior)
    for name in ("expected_cross_entropy", "expected_kl", "expected_rps"):
        best = value_of(name, counts, mean, prior)
        assert best <= value_of(name, counts, q, prior) * (1 + 1e-12), name
        assert value_of(name, counts, 0.9 * mean + 0.1 * np.eye(len(q))[0], prior) > best or mean[0] > 0.99, name


def test_medians_are_the_best_prediction_for_emd() -> None:
    from scipy.special import betaincinv

    counts = np.array([3, 0, 1, 2])
    a = counts + 1.0
    medians = betaincinv(np.cumsum(a)[:-1], a.sum() - np.cumsum(a)[:-1], 0.5)
    best = np.diff(medians, prepend=0, append=1)
    lowest = statistics.expected_emd(counts, best)
    assert lowest < statistics.expected_emd(counts, statistics.posterior_mean(counts)) - 1e-6
    for move in np.eye(4) - np.roll(np.eye(4), 1, axis=1):
        for size in (-1e-3, 1e-3):
            assert statistics.expected_emd(counts, best + size * move) > lowest


@given(cases())
def test_direction_of_the_scale_does_not_matter(case: Case) -> None:
    counts, q, prior = case
    for name in EXPECTED:
        one, other = value_of(name, counts, q, prior), value_of(name, counts[::-1], q[::-1], prior[::-1])
        assert one == pytest.approx(other, rel=1e-9, abs=1e-14), name


def test_with_many_ratings_or_a_strong_prior_expected_is_empirical() -> None:
    shares, q = np.array([1, 2, 4, 2, 1]), np.array([0.1, 0.3, 0.3, 0.2, 0.1])
    for name in EMPIRICAL:
        value = value_of(name, shares, q)
        # where F_p = F_q, what is left of EMD is the spread of F_p, at most ½/√10¹⁰; of the others, its square
        near = 5e-6 if name == "emd" else 1e-9
        assert value_of(f"expected_{name}", shares * 10**9, q) == pytest.approx(value, abs=near), name
        strong = value_of(f"expected_{name}", [1, 0, 0, 0, 0], q, prior=shares * 1e9)
        assert strong == pytest.approx(value, abs=near), name
    flat = statistics.expected_js([3, 1, 0, 0, 0], q, prior=1e9)
    assert flat == pytest.approx(statistics.js(np.ones(5), q), abs=1e-8)


def test_a_weak_prior_puts_all_on_one_point() -> None:
    """As the prior vanishes without ratings, p is a corner: each metric is the mean over the corners."""
    q = np.array([0.2, 0.5, 0.3])
    for name in ("cross_entropy", "kl", "js", "emd", "rps"):
        corners = value_of(name, np.eye(3), q).mean()
        assert value_of(f"expected_{name}", [0, 0, 0], q, prior=1e-12) == pytest.approx(corners, abs=1e-10), name


@pytest.mark.parametrize("prior", [1e-12, 2.0**53])
def test_the_ends_of_what_is_allowed(prior: float) -> None:
    for counts in ([0, 0, 0], [2**53, 0, 1], [0, 3, 0], [2**53, 2**53, 2**53]):
        for q in ([0.2, 0.3, 0.5], [0.0, 1.0, 0.0], [1 - 2e-16, 1e-16, 1e-16]):
            for record in OF_PREDICTION:
                if record.name in EXPECTED:
                    value = value_of(record.name, counts, q, prior)
                    assert -1e-15 <= value <= record.range[1] + 1e-15, record.name
                    assert math.isfinite(value) or 0 in q


def test_no_rating_leaves_the_prior() -> None:
    q = [0.2, 0.3, 0.5]
    for name in EXPECTED:
        assert value_of(name, [0, 0, 0], q, [3.0, 1.0, 2.0]) == value_of(name, [2, 0, 1], q, [1.0, 1.0, 1.0]), name
    assert statistics.posterior_mean([0, 0, 0], [3.0, 1.0, 2.0]) == pytest.approx([3 / 6, 1 / 6, 2 / 6])


# Shapes --------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_points", [2, 5, 101])
def test_many_items_are_many_single_ones(n_points: int) -> None:
    random = np.random.default_rng(n_points)
    counts = random.poisson(0.7, (40, n_points))
    counts[0] = 0
    q = random.dirichlet(np.full(n_points, 0.5), 40)
    for name in (*EMPIRICAL, *EXPECTED):
        together = value_of(name, counts, q)
        assert together.shape == (40,)
        alone = [value_of(name, n, row) for n, row in zip(counts, q, strict=True)]
        assert together == pytest.approx(np.array(alone), rel=1e-10, abs=1e-14, nan_ok=True), name
        assert value_of(name, counts, q[3])[3] == pytest.approx(together[3], rel=1e-10, abs=1e-14, nan_ok=True)
        assert value_of(name, counts[:0], q[:0]).shape == (0,)
    assert statistics.posterior_mean(counts).shape == counts.shape
    assert statistics.expected_entropy(counts)[7] == statistics.expected_entropy(counts[7])


def test_blocks_do_not_change_the_answer() -> None:
    random = np.random.default_rng(0)
    counts = random.multinomial(6, [0.1, 0.2, 0.4, 0.2, 0.1], 120_000)
    q = random.dirichlet(np.ones(5), 120_000)
    at = [0, 52_427, 52_428, 60_000, 104_856, 104_857, 119_999]  # some beside the ends of blocks
    for name in (*EMPIRICAL, *EXPECTED):
        assert value_of(name, counts, q)[at] == pytest.approx(value_of(name, counts[at], q[at]), rel=1e-11), name


def test_a_scale_of_101_points_against_mpmath() -> None:
    counts, q, prior = np.zeros(101, dtype=int), np.full(101, 1 / 101), [0.01] * 101
    counts[[3, 50, 51]] = 1, 4, 2
    a0 = 7 + 1.01

    def part(n: int) -> Any:
        return reference.beta_mean(lambda p: _js_part(p, 1 / 101), n + 0.01, a0 - n - 0.01)

    expected = 98 * part(0) + part(1) + part(4) + part(2)  # points without ratings are alike
    assert statistics.expected_js(counts, q, prior) == pytest.approx(float(expected), abs=1e-12)


def _js_part(p: Any, q: float) -> Any:
    h = reference.x_log_x
    return h(p) / 2 + h(q) / 2 - h((p + q) / 2)


# Unequal steps -------------------------------------------------------------------------------------------------------
def test_values_are_the_distances_of_emd() -> None:
    p, q = [1, 0, 0], [0.0, 0.0, 1.0]
    assert statistics.emd(p, q, values=[0, 1, 10]) == 1
    assert statistics.emd(p, q, normalized=False, values=[0, 1, 10]) == 10
    assert statistics.emd([0, 1, 0], q, values=[0, 1, 10]) == pytest.approx(0.9)
    for function in (statistics.emd, statistics.expected_emd):
        q = [0.2, 0.5, 0.3]
        even = function([3, 1, 2], q)
        assert function([3, 1, 2], q, values=[-1, 1, 3]) == pytest.approx(even, abs=1e-15)
        wide = function([3, 1, 2], q, normalized=False, values=[0, 1, 10])
        assert function([3, 1, 2], q, values=[0, 1, 10]) == pytest.approx(wide / 10, abs=1e-15)
        assert wide != pytest.approx(10 * even, abs=1e-3)
    # far steps count for much: Beta(4, 5) and Beta(6, 3) of a = [4, 2, 3]
    places = ((4, 5, 0.2, 0.8), (6, 3, 0.7, 0.3))
    parts = [dirichlet.mean_distance(*(np.array([x]) for x in args))[0] for args in places]
    assert wide == pytest.approx(parts[0] + 9 * parts[1], abs=1e-14)
    with pytest.raises(InputError, match=r"values is \[0\., 2\., 1\.\]"):
        statistics.expected_emd([1, 0, 0], [0.2, 0.5, 0.3], values=[0, 2, 1])


# The border ----------------------------------------------------------------------------------------------------------
def test_what_was_held_impossible() -> None:
    for name in ("cross_entropy", "kl", "expected_cross_entropy", "expected_kl"):
        assert value_of(name, [2, 1], [1.0, 0.0]) == math.inf
        floored = value_of(name, [2, 1], [1.0, 0.0], floor=1e-3)
        assert floored == pytest.approx(value_of(name, [2, 1], np.array([1, 1e-3]) / 1.001), rel=1e-14)
        with pytest.raises(InputError, match=r"floor is 0\. Give a small probability above 0"):
            value_of(name, [2, 1], [1.0, 0.0], floor=0)
        with pytest.raises(InputError, match="floor is nan"):
            value_of(name, [2, 1], [1.0, 0.0], floor=math.nan)
    assert statistics.cross_entropy([2, 0], [1.0, 0.0]) == 0
    assert statistics.kl([2, 0], [1.0, 0.0]) == 0
    assert statistics.expected_kl([2, 0], [1.0, 0.0]) == math.inf  # the next rating may be the other
    for name in ("js", "emd", "rps"):
        assert math.isfinite(value_of(name, [2, 1], [1.0, 0.0]))
        assert math.isfinite(value_of(f"expected_{name}", [2, 1], [1.0, 0.0]))


FUNCTIONS: list[Callable[..., Any]] = [getattr(statistics, name) for name in (*EMPIRICAL, *EXPECTED)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize(("q", "message"), [
    ([[0.5, 0.5], [0.5, 0.6]], r"q holds probabilities that do not sum to 1 in row 1 \(sum 1\.1\), counted from 0"),
    ([[0.5, 0.5], [1.2, -0.2]], r"q holds a negative probability in row 1 \(sum 1\)"),
    ([[math.nan, 0.5], [0.5, 0.5]], r"q holds a probability that is missing \(NaN\) in row 0"),
    ([[math.inf, 0.5], [0.5, 0.5]], r"do not sum to 1 in row 0 \(sum inf\)"),
    ([[0.5, 0.5]] * 3, r"q has the shape \(3, 2\), but there are 2 items and 2 points"),
    ([0.2, 0.3, 0.5], r"q has the shape \(3,\), but there are 2 items and 2 points"), (0.5, r"q has the shape \(\)"),
    (["a", "b"], "q holds <U1 instead of numbers"),
])  # fmt: skip
def test_predictions_are_checked(function: Callable[..., Any], q: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        function([[1, 0], [0, 2]], q)


def test_many_wrong_predictions_are_counted() -> None:
    q = np.full((20, 2), 0.5)
    q[4:12, 0] = 0.4
    with pytest.raises(InputError, match=r"row 4 \(sum 0\.9\), 5 \(.*\), 8 \(sum 0\.9\) and 3 more"):
        statistics.expected_kl(np.ones((20, 2)), q)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_sum_close_to_1_is_made_1(function: Callable[..., Any]) -> None:
    near = np.array([0.25, 0.75]) * (1 + 9e-7)
    assert function([3, 1], near) == pytest.approx(function([3, 1], [0.25, 0.75]), rel=1e-14)
    with pytest.raises(InputError, match="do not sum to 1"):
        function([3, 1], np.array([0.25, 0.75]) * (1 + 2e-6))


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize(("counts", "message"), [
    ([[1, 0], [-1, 2]], r"counts holds a negative (count|weight): -1 in row 1, column 0"),
    ([1, math.nan], "counts holds a (count|weight) that is not finite or too large: nan in row 0, column 1"),
    ([[[1, 2]]], r"counts has the shape \(1, 1, 2\)\. Give one number for each point, or a table"),
    ([1], "counts has 1 columns"), (3, r"counts has the shape \(\)"),
    (["a", "b"], "counts holds <U1 instead of numbers"),
])  # fmt: skip
def test_counts_are_checked(function: Callable[..., Any], counts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        function(counts, [0.5, 0.5])


def test_shares_are_no_counts() -> None:
    """Shares given as counts would weigh as one rating; empirical metrics take both."""
    with pytest.raises(InputError, match=r"a count that is not a whole number: 0\.5"):
        statistics.expected_kl([0.5, 0.5], [0.5, 0.5])
    for name in EMPIRICAL:
        assert value_of(name, [0.25, 0.75], [0.5, 0.5]) == value_of(name, [1, 3], [0.5, 0.5])


@pytest.mark.parametrize("prior", [0, -1.0, math.nan, math.inf, [1.0, 0.0], [1.0, 1.0, 1.0], [[1.0, 1.0]]])
def test_priors_are_checked(prior: Any) -> None:
    for function in (statistics.expected_js, statistics.expected_emd):
        with pytest.raises(InputError, match=r"prior is .*Give a number from .*, or 2 of them, one for each point"):
            function([1, 2], [0.5, 0.5], prior)
    with pytest.raises(InputError, match="prior is "):
        statistics.posterior_mean([1, 2], prior)
    with pytest.raises(InputError, match="prior is "):
        statistics.expected_entropy([1, 2], prior)


def test_input_is_not_changed() -> None:
    counts, q = np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([[0.25, 0.75], [1.0, 0.0]])
    kept = counts.copy(), q.copy()
    for function in FUNCTIONS:
        function(counts, q)
    assert (counts == kept[0]).all()
    assert (q == kept[1]).all()


@pytest.mark.parametrize("name", [name for name, record in STATISTICS.items() if record.needs == "prediction"])
def test_why_a_score_is_undefined(name: str) -> None:
    missing = statistics.undefined_reason(name, [[0, 0], [0, 0]])
    assert missing == (None if name.startswith("expected") else "no item was rated")
    assert statistics.undefined_reason(name, [[0, 0], [0, 1]]) is None
    assert statistics.js([1, 0, 0], [1 - 5e-324, 5e-324, 0]) == 0  # the smallest probability there is
