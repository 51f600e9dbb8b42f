"""Fitted priors against scipy's likelihood and optimisers, known weights, and what holds for all data."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.statistics import posterior as priors
from plurivox.statistics.posterior import fit_prior, information_gain

Array = NDArray[Any]


def simulated(alpha: Any, ratings: Any, n_items: int, seed: int = 0) -> Array:
    """Counts of items whose distributions are drawn from a Dirichlet distribution."""
    random = np.random.default_rng(seed)
    return random.multinomial(ratings, random.dirichlet(alpha, n_items))


def log_likelihood(counts: Array, alpha: Any) -> float:
    """scipy's, over items with at least two ratings."""
    from scipy.stats import dirichlet_multinomial

    rated = counts[counts.sum(axis=1) >= 2]
    return float(dirichlet_multinomial.logpmf(rated, np.asarray(alpha), rated.sum(axis=1)).sum())


# Against scipy and known weights -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("alpha", "ratings"),
    [((0.5, 1, 2), 5), ((0.05, 0.02, 0.1), 3), ((3, 1, 4, 1, 5), 20), ((0.2, 0.3), 2), ((30, 20, 10), 50)],
)
def test_against_an_optimiser_of_scipy(alpha: tuple[float, ...], ratings: int) -> None:
    from scipy.optimize import minimize

    counts = simulated(alpha, ratings, 300)
    fit = fit_prior(counts)
    found = minimize(lambda x: -log_likelihood(counts, np.exp(x)), np.zeros(len(alpha)), method="BFGS")
    assert fit.converged
    assert not fit.capped
    assert fit.note == ""
    assert fit.log_likelihood == pytest.approx(-found.fun, abs=1e-6)
    assert fit.alpha == pytest.approx(np.exp(found.x), rel=1e-3)
    assert fit.strength == pytest.approx(sum(fit.alpha))


CASES: dict[str, Array] = {
    "mostly unanimous": simulated((0.02, 0.002, 0.01, 0.002, 0.03), 3, 2_000),
    "two camps": np.repeat([[10, 0, 0], [0, 0, 10], [5, 0, 5], [4, 1, 5]], [70, 60, 3, 1], axis=0),
    "a million ratings an item": simulated((2, 3, 4), 10**6, 200),
    "101 points": simulated(np.linspace(0.01, 0.3, 101), 8, 1_000),
    "unequal numbers of ratings": simulated((1, 2, 3), np.arange(2, 302), 300),
    "a point used once": np.concatenate([simulated((1, 2), 6, 300), [[3, 2]]]) @ [[1, 0, 0], [0, 1, 0]]
    + np.eye(301, 3, k=-298, dtype=int),
}


@pytest.mark.parametrize("name", CASES)
def test_no_neighbour_is_more_likely(name: str) -> None:
    counts = CASES[name]
    fit = fit_prior(counts)
    assert fit.converged
    best = log_likelihood(counts, fit.alpha)
    assert fit.log_likelihood == pytest.approx(best, rel=1e-9)
    random = np.random.default_rng(1)
    for size in (0.3, 0.03, 0.003):
        for _ in range(10):
            near = np.array(fit.alpha) * np.exp(random.normal(0, size, len(fit.alpha)))
            assert log_likelihood(counts, near) < best
    for factor in (0.99, 1.01):
        assert log_likelihood(counts, np.array(fit.alpha) * factor) < best


def test_known_weights_are_recovered() -> None:
    alpha = np.array([0.3, 0.5, 0.2, 0.4, 0.6])
    fit = fit_prior(simulated(alpha, np.tile(np.arange(2, 12), 2_000), 20_000))
    assert fit.alpha == pytest.approx(alpha, rel=0.04)
    assert fit.n_items == 20_000


def test_hand_derived_weights() -> None:
    """Pairs of ratings on two points: P(equal) = (α + 1)/(2α + 1), so 3 of 4 equal pairs give α = ½."""
    fit = fit_prior([[2, 0], [0, 2], [1, 1], [2, 0], [0, 2], [2, 0], [0, 2], [1, 1]])
    assert fit.alpha == pytest.approx((0.5, 0.5), rel=1e-8)
    # three pairs on each side of P = 3/8, and two mixed, of 1/4
    assert fit.log_likelihood == pytest.approx(6 * math.log(3 / 8) + 2 * math.log(1 / 4), abs=1e-12)


def test_the_better_of_two_maxima() -> None:
    """A few ratings unlike very many: the likelihood rises again as the strength grows without bound."""
    for rows in ([[1, 19], [2468, 832]], [[232, 168, 83], [26, 3, 8], [1, 0, 3]], [[1, 1], [913435, 113]]):
        counts = np.array(rows)
        fit = fit_prior(counts)
        shares = counts.sum(axis=0) / counts.sum()
        assert not fit.capped
        assert fit.log_likelihood > log_likelihood(counts, 1e4 * shares)


# What holds for all data ---------------------------------------------------------------------------------------------

tables = st.integers(2, 5).flatmap(
    lambda n: (
        st.lists(
            st.lists(st.one_of(st.integers(0, 4), st.integers(0, 1000)), min_size=n, max_size=n),
            min_size=2,
            max_size=12,
        )
        .map(np.array)
        .filter(lambda table: (table.sum(axis=1) >= 2).any())
    )
)


@settings(max_examples=25)
@given(tables, st.randoms(use_true_random=False))
def test_order_of_items_does_not_matter(table: Array, random: Any) -> None:
    assert fit_prior(table[random.sample(range(len(table)), len(table))]) == fit_prior(table)
    few = np.zeros((2, table.shape[1]), dtype=int)
    few[1, 0] = 1
    assert fit_prior(np.concatenate([few, table])) == fit_prior(table)  # no rating, and one, tell nothing


@settings(max_examples=30)
@given(tables)
def test_fits_settle_and_are_priors(table: Array) -> None:
    fit = fit_prior(table)
    assert fit.converged
    assert len(fit.alpha) == table.shape[1]
    assert all(0 < weight < math.inf for weight in fit.alpha)
    assert 0.01 * (1 - 1e-9) <= fit.strength <= 1e4 + 0.01
    assert fit.log_likelihood <= 1e-9
    assert information_gain(table[0], fit.alpha) >= 0
    assert fit_prior(table[:, ::-1]).log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-7, abs=1e-7)


def test_repeated_data_give_the_same_weights() -> None:
    counts = simulated((0.5, 1, 2), 5, 300)
    once, thrice = fit_prior(counts), fit_prior(np.tile(counts, (3, 1)))
    assert thrice.alpha == pytest.approx(once.alpha, rel=1e-8)
    assert thrice.log_likelihood == pytest.approx(3 * once.log_likelihood, rel=1e-10)


# Special data --------------------------------------------------------------------------------------------------------
def test_items_that_do_not_differ() -> None:
    counts = np.random.default_rng(0).multinomial(20, [0.2, 0.3, 0.5], 1_000)
    counts[:] = np.where(np.arange(1_000)[:, None] % 2, counts, [4, 6, 10])  # even more alike
    fit = fit_prior(counts)
    assert fit.capped
    assert fit.converged
    assert fit.strength == pytest.approx(1e4)
    assert np.array(fit.alpha) / fit.strength == pytest.approx(counts.sum(axis=0) / counts.sum(), rel=1e-3)
    assert fit.note == "Items differ no more than by chance, so the strength is held at 10,000."


def test_raters_who_never_differ() -> None:
    fit = fit_prior(np.repeat(np.diag([3, 3, 3]), [20, 30, 50], axis=0))
    assert fit.strength == pytest.approx(0.01)
    assert fit.converged
    assert not fit.capped
    assert fit.alpha == pytest.approx((0.002, 0.003, 0.005), rel=0.02)
    assert fit.note == "Raters of the same item hardly ever differ, so the strength is held at 0.01."


def test_points_that_nobody_used() -> None:
    counts = simulated((0.5, 1, 2), 5, 300)
    wide = np.zeros((300, 5), dtype=int)
    wide[:, [0, 2, 3]] = counts
    fit = fit_prior(wide)
    assert fit.unused == (1, 4)
    assert fit.alpha[1] == fit.alpha[4] == 0.001
    assert np.array(fit.alpha)[[0, 2, 3]] == pytest.approx(fit_prior(counts).alpha, rel=1e-12)
    assert fit.log_likelihood == pytest.approx(log_likelihood(wide, fit.alpha), rel=1e-10)
    assert fit.note == "Nobody used 2 of 5 points; each has the weight 0.001."


def test_one_point_for_all() -> None:
    fit = fit_prior([[0, 5, 0], [0, 3, 0], [0, 1, 0]])
    assert fit.alpha == (0.001, 1.0, 0.001)
    assert fit.n_items == 2
    assert not fit.capped
    assert fit.note.startswith("All ratings are on one point, so the strength is unknown; this point has the weight")


def test_one_item() -> None:
    fit = fit_prior([[3, 1, 0], [0, 1, 0]])
    assert fit.alpha == (1.5, 0.5, 0.001)
    assert fit.n_items == 1
    assert fit.note.startswith("Only one item has two ratings, so the strength is unknown;")
    assert fit.note.endswith("Nobody used 1 of 3 points; it has the weight 0.001.")


def test_no_item_with_two_ratings() -> None:
    for counts in ([[1, 0], [0, 1]], np.zeros((0, 3)), [[0, 0]]):
        with pytest.raises(InputError, match=r"counts has no item with two ratings\. A prior is fitted to how raters"):
            fit_prior(counts)


@pytest.mark.parametrize(("counts", "message"), [
    ([1, 2], r"counts has the shape \(2,\)"), ([[1, -2]], "counts holds a negative count: -2 in row 0, column 1"),
    ([[1.5, 2]], r"a count that is not a whole number: 1\.5"), ([["a", "b"]], "counts holds <U1 instead of numbers"),
])  # fmt: skip
def test_counts_are_checked(counts: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        fit_prior(counts)


def test_huge_counts() -> None:
    fit = fit_prior([[2**53, 1], [1, 2**53], [3, 5], [10**9, 10**9]])
    assert fit.converged
    assert 0.01 < fit.strength < 1


def test_a_fit_that_does_not_settle_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(priors, "_MOST_STEPS", 1)
    fit = fit_prior(simulated((0.5, 1, 2), 5, 300))
    assert not fit.converged
    assert fit.note == "The fit did not converge, so the weights may be off."


def test_fits_are_frozen_and_input_is_not_changed() -> None:
    counts = simulated((0.5, 1), 5, 20)
    kept = counts.copy()
    fit = fit_prior(counts)
    assert (counts == kept).all()
    with pytest.raises(dataclasses.FrozenInstanceError):
        fit.strength = 1.0  # type: ignore[misc]
