"""Prediction-powered means against ppi-python, closed forms, literal twins, and simulations with a known truth."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import ModuleType
from typing import cast

import numpy as np
import pytest
from scipy import optimize, stats

from plurivox.base.errors import InputError
from plurivox.statistics.checks import Floats
from plurivox.statistics.ppi import (
    added,
    effective_judges,
    error_correlation,
    items_needed,
    prediction_powered,
    rater_variance,
    reach,
    worth,
)

JUDGES: dict[str, Callable[[Floats, np.random.Generator], Floats]] = {
    "good": lambda y, rng: y + rng.normal(0, 0.5, len(y)),
    "biased": lambda y, rng: 0.8 * y + 1.5 + rng.normal(0, 0.7, len(y)),
    "useless": lambda y, rng: rng.normal(0, 1, len(y)),
    "anti-correlated": lambda y, rng: -y + rng.normal(0, 0.5, len(y)),
    "short of scale": lambda y, rng: 0.4 * y + rng.normal(0, 0.1, len(y)),  # λ would be above 1
}


@pytest.fixture(scope="module")
def ppi_python() -> ModuleType:
    with warnings.catch_warnings():  # importing it switches warnings off
        ppi_py = pytest.importorskip("ppi_py", reason="needs ppi-python, another program for the same estimates")
    return cast(ModuleType, ppi_py)


def study(kind: str, n: int, n_further: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.normal(0, 1, n + n_further)
    f = JUDGES[kind](y, rng)
    return y[:n], f[:n], f[n:]


# Against ppi-python --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", JUDGES)
@pytest.mark.parametrize(("n", "n_further"), [(12, 30), (200, 2000), (100, 40)])
def test_values_and_weights_against_ppi_python(ppi_python: ModuleType, kind: str, n: int, n_further: int) -> None:
    y, f, more = study(kind, n, n_further, seed=n)
    found = prediction_powered(y, f, more)
    theirs = ppi_python.ppi_mean_pointestimate(y, f, more)
    assert found.value == pytest.approx(theirs.item(), abs=1e-12)
    weighted = ppi_python.ppi_mean_pointestimate(y, f, more, lam=found.weights[0])
    assert found.value == pytest.approx(weighted.item(), abs=1e-12)


@pytest.mark.parametrize("kind", JUDGES)
def test_shares_against_ppi_python(ppi_python: ModuleType, kind: str) -> None:
    y, f, more = (1.0 * (one > 0.3) for one in study(kind, 150, 900, seed=3))
    theirs = ppi_python.ppi_mean_pointestimate(y, f, more)
    assert prediction_powered(y, f, more).value == pytest.approx(theirs.item(), abs=1e-12)


@pytest.mark.parametrize("kind", JUDGES)
def test_the_variance_against_ppi_python(ppi_python: ModuleType, kind: str) -> None:
    """Theirs divides by n, has the model's variance over further items alone, and a normal quantile."""
    n, n_further = 4000, 40_000
    y, f, more = study(kind, n, n_further, seed=5)
    found = prediction_powered(y, f, more)
    low, high = ppi_python.ppi_mean_ci(y, f, more, alpha=0.05)
    assert float(reach(found.variance, found.freedom)) == pytest.approx((high - low).item() / 2, rel=2e-3)
    lam = found.weights[0]
    free = n - 1 - (0 < lam < 1)
    exact = ((high - low).item() / 2 / stats.norm.ppf(0.975)) ** 2
    ours = found.variance * 1.0
    ours += (np.var(y - lam * f) - np.var(y - lam * f) * n / free) / n
    ours += lam**2 * (np.var(more) - np.var(np.concatenate([f, more]), ddof=1)) / n_further
    assert ours == pytest.approx(exact, rel=1e-9)


# Against the definition ----------------------------------------------------------------------------------------------
def test_humans_and_model_alone_against_numpy() -> None:
    y, f, more = study("biased", 40, 100)
    found = prediction_powered(y, f, more)
    every = np.concatenate([f, more])
    assert found.human == pytest.approx(y.mean())
    assert found.human_variance == pytest.approx(y.var(ddof=1) / 40)
    assert (found.model, found.model_variance) == pytest.approx((every.mean(), every.var(ddof=1) / 140))
    assert (found.n, found.n_further, found.human_freedom) == (40, 100, 39)


def test_several_judges_against_scipy_optimize() -> None:
    rng = np.random.default_rng(4)
    n, n_further = 60, 300
    y = rng.normal(0, 1, n + n_further)
    f = np.stack([judge(y, rng) for judge in JUDGES.values()], axis=1)
    found = prediction_powered(y[:n], f[:n], f[n:])
    spread = np.cov(f.T)
    shared = np.array([np.cov(y[:n], f[:n, k], ddof=0)[0, 1] for k in range(f.shape[1])])

    def loss(lam: np.ndarray) -> float:
        return float(lam @ spread @ lam * (1 + n / n_further) - 2 * shared @ lam)

    best = optimize.minimize(loss, np.full(f.shape[1], 0.5), bounds=[(0, 1)] * f.shape[1], tol=1e-14)
    assert found.weights == pytest.approx(best.x, abs=1e-5)
    assert loss(found.weights) <= best.fun + 1e-12
    expected = y[:n].mean() + found.weights @ (f[n:].mean(axis=0) - f[:n].mean(axis=0))
    assert found.value == pytest.approx(expected)


def test_several_judges_are_no_worse_than_one_and_one_is_a_column() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(0, 1, 500)
    f = np.stack([y + rng.normal(0, 1, 500) for _ in range(3)], axis=1)
    three, one = (prediction_powered(y[:80], own[:80], own[80:]) for own in (f, f[:, :1]))
    assert three.variance < one.variance
    assert one == prediction_powered(y[:80], f[:80, 0], f[80:, 0])


@pytest.mark.parametrize(("y", "f", "more", "value", "variance"), [
    ([], [], [1.0, 2.0], np.nan, np.nan),
    ([2.0], [1.0], [1.0, 3.0], 2.0, np.nan),  # nothing to fit λ to
    ([1.0, 3.0], [1.0, 2.0], [], 2.0, 1.0),  # no further item: the humans
    ([1.0, 3.0], [1.0, 1.0], [1.0, 1.0], 2.0, 1.0),  # the model does not vary
    ([1.0, 3.0], [3.0, 1.0], [5.0, 0.0], 2.0, 1.0),  # it says the opposite
    ([2.0, 2.0], [3.0, 1.0], [5.0, 0.0], 2.0, 0.0),  # humans do not vary
])  # fmt: skip
def test_edges(y: list[float], f: list[float], more: list[float], value: float, variance: float) -> None:
    found = prediction_powered(y, f, more)
    assert found.value == pytest.approx(value, nan_ok=True)
    assert found.variance == pytest.approx(variance, nan_ok=True)
    assert found.weights == pytest.approx([0.0])


def test_wrong_shapes_and_numbers_are_named() -> None:
    with pytest.raises(InputError, match=r"shapes \(2,\), \(3, 1\) and \(1, 1\)"):
        prediction_powered([1, 2], [1, 2, 3], [1])
    with pytest.raises(InputError, match="no finite number"):
        prediction_powered([1, np.nan], [1, 2], [1])
    with pytest.raises(InputError, match="width is 0"):
        items_needed(0, [1, 2], [1, 2], [1])


# Raters --------------------------------------------------------------------------------------------------------------
def without(items: np.ndarray, raters: np.ndarray, x: np.ndarray, keep: np.ndarray) -> float:
    """Return the mean of item means of some ratings, literally."""
    return float(np.mean([x[keep & (items == i)].mean() for i in np.unique(items[keep])]))


@pytest.mark.parametrize("seed", range(4))
def test_the_rater_jackknife_against_leaving_out_each_rater(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = np.argwhere(rng.random((15, 8)) < (0.4, 0.9, 0.25, 1.0)[seed])
    items, raters = pairs.T
    x = rng.normal(0, 1, len(items)) + 3.0 * raters
    left = np.array([without(items, raters, x, raters != r) for r in np.unique(raters)])
    of_raters = (len(left) - 1) / len(left) * ((left - left.mean()) ** 2).sum()
    every = np.arange(len(x))
    whole = without(items, raters, x, every >= 0)
    of_ratings = sum((without(items, raters, x, every != one) - whole) ** 2 for one in every)
    assert rater_variance(items, raters, x).variance == pytest.approx(max(0.0, of_raters - of_ratings))


def test_raters_who_rate_one_item_each_add_next_to_nothing() -> None:
    """Their chance is in the variance over items already."""
    rng = np.random.default_rng(0)
    items = np.repeat(np.arange(100), 3)
    x = rng.normal(0, 1, 300)
    over_items = x.reshape(100, 3).mean(axis=1).var(ddof=1) / 100
    assert rater_variance(items, np.arange(300), x).variance < 0.05 * over_items


def test_one_rater_tells_nothing_of_others() -> None:
    assert np.isnan(rater_variance([0, 1], [0, 0], [1, 2]).variance)
    assert np.isnan(rater_variance([], [], []).variance)


def test_one_rater_apart_leaves_few_degrees_of_freedom() -> None:
    """Of twenty raters of the same items, one says 4 and the others 0.

    Without one, means lie 1 from their own mean, and -19 without the one apart, in some unit. Squares are 1 and 361,
    with the sum 380; those of the squares sum to 19 + 361², so that they differ by 130,340 - 380²/20 = 123,120 among
    themselves. Satterthwaite's degrees of freedom are 2 · 380²/123,120, where all alike would leave 19.
    """
    items, raters = np.tile(np.arange(3), 20), np.repeat(np.arange(20), 3)
    found = rater_variance(items, raters, np.where(raters == 7, 4.0, 0.0))
    assert found.freedom == pytest.approx(2 * 380**2 / 123_120)


# What a model is worth -----------------------------------------------------------------------------------------------
def test_worth_against_its_closed_form() -> None:
    """With ρ² = .8 and N = 9n the variance is 1 − .9·.8 = .28 of that of humans, so that n items are worth 2.571·n."""
    rng = np.random.default_rng(2)
    n = 10_000
    y = rng.normal(0, 1, 10 * n)
    f = y + rng.normal(0, 0.5, 10 * n)
    found = worth(y[:n], f[:n], f[n:])
    assert found.items / n == pytest.approx(1 / 0.28 - 1, rel=0.03)
    assert found.low < found.items < found.high
    assert worth(y[:n], f[:n], f[n:], raters=1e9).items == pytest.approx(0, abs=1)


def test_a_useless_judge_is_worth_nothing() -> None:
    y, f, more = study("anti-correlated", 50, 500)
    assert worth(y, f, more) == (0.0, 0.0, 0.0)


def test_needed_items_reach_the_width_and_one_less_does_not() -> None:
    y, f, more = study("good", 60, 5000)
    found = items_needed(0.2, y, f, more)
    size = int(found.alone)
    wide = [2 * float(reach(y.var(ddof=1) / k, k - 1)) for k in (size, size - 1)]
    assert wide[0] <= 0.2 < wide[1]
    assert found.together < found.alone


def test_needed_items_against_the_closed_form() -> None:
    """Var θ = σ²(1 − ρ²)/n + σ²ρ²/M with M items of the model; here σ² = 1, ρ² = .8."""
    y, f, more = study("good", 40_000, 20_000)
    target = (0.05 / 2 / stats.norm.ppf(0.975)) ** 2
    assert items_needed(0.05, y, f, more).together == pytest.approx(0.2 / (target - 0.8 / 60_000), rel=0.03)


def test_humans_who_rate_all_items_need_no_model() -> None:
    y, f, more = study("good", 20, 5)
    found = items_needed(0.1, y, f, more)
    assert found.together == found.alone
    assert np.isnan(items_needed(0.1, [1.0], [1.0], [2.0]).alone)


# Judges that err alike -----------------------------------------------------------------------------------------------
def test_effective_judges_against_eigenvalues() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(0, 1, 300)
    shared = rng.normal(0, 1, 300)
    f = np.stack([y + shared * k + rng.normal(0, 1, 300) for k in (0.0, 0.5, 1.0, 2.0)], axis=1)
    table = error_correlation(y, f)
    assert table == pytest.approx(np.corrcoef((f - y[:, None]).T))
    l = np.linalg.eigvalsh(table)  # noqa: E741
    assert effective_judges(table) == pytest.approx(l.sum() ** 2 / (l**2).sum())


def test_chance_in_the_humans_mean_is_not_an_error_that_judges_share() -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    truth = rng.normal(0, 1, n)
    f = truth[:, None] + rng.normal(0, 0.5, (n, 4))
    y = truth + rng.normal(0, 1, n)  # its variance is 1
    assert effective_judges(error_correlation(y, f)) < 1.6
    assert effective_judges(error_correlation(y, f, noise=1.0)) == pytest.approx(4, abs=0.1)


def test_a_judge_without_errors_of_its_own_is_left_out() -> None:
    table = error_correlation([0, 1, 2, 3.0], np.array([[1, 0], [2, 1], [3, 3], [4, 2]]))
    assert np.isnan(table[0]).all()
    assert effective_judges(table) == 1.0
    assert np.isnan(effective_judges(error_correlation([1.0], [[1.0, 2.0]])))


# Simulations ---------------------------------------------------------------------------------------------------------
@pytest.mark.claims
@pytest.mark.parametrize("kind", JUDGES)
@pytest.mark.parametrize(("n", "n_further"), [(20, 200), (50, 50), (100, 1000)])
def test_intervals_hold_the_mean_over_items(kind: str, n: int, n_further: int) -> None:
    """4,000 studies notice a coverage of 92.5 % or 97.5 % (four standard errors are 1.4 points)."""
    rng = np.random.default_rng(n)
    hits, wide, alone, times = 0, 0.0, 0.0, 4000
    for _ in range(times):
        y = rng.normal(0, 1, n + n_further)
        f = JUDGES[kind](y, rng)
        found = prediction_powered(y[:n], f[:n], f[n:])
        half = float(reach(found.variance, found.freedom))
        hits += abs(found.value) <= half
        wide, alone = wide + half, alone + float(reach(found.human_variance, found.human_freedom))
    assert 0.93 <= hits / times <= 0.97
    assert wide <= alone * 1.01


@pytest.mark.claims
@pytest.mark.parametrize("raters_per_item", [3, 30])
def test_intervals_hold_the_mean_over_items_and_raters(raters_per_item: int) -> None:
    """Raters are lenient or strict, and are drawn as items are; with three an item or all 30."""
    rng = np.random.default_rng(raters_per_item)
    n, n_further, n_raters, times = 60, 600, 30, 2000
    hits = over_items_alone = 0.0
    for _ in range(times):
        truth, lenient = rng.normal(0, 1, n + n_further), rng.normal(0, 0.5, n_raters)
        raters = np.argsort(rng.random((n, n_raters)), axis=1)[:, :raters_per_item].ravel()
        items = np.repeat(np.arange(n), raters_per_item)
        x = truth[items] + lenient[raters] + rng.normal(0, 1, len(items))
        f = truth + rng.normal(0, 0.5, n + n_further)
        y = np.bincount(items, weights=x) / raters_per_item
        found = prediction_powered(y, f[:n], f[n:])
        others = rater_variance(items, raters, x - found.weights[0] * f[items])
        hits += abs(found.value) <= float(reach(*added(found.variance, found.freedom, *others)))
        over_items_alone += abs(found.value) <= float(reach(found.variance, found.freedom))
    assert 0.93 <= hits / times <= 0.97
    assert over_items_alone / times < 0.9


@pytest.mark.claims
def test_intervals_of_several_judges_hold_the_mean() -> None:
    """2,000 studies of 20 items and 5 judges whose errors go together, one of them useless."""
    rng = np.random.default_rng(5)
    n, n_judges, times, hits, best = 20, 5, 2000, 0, 0
    for _ in range(times):
        y, shared = rng.normal(0, 1, 220), rng.normal(0, 0.5, 220)
        f = np.stack([(k != 2) * y + shared + rng.normal(0, 0.8, 220) for k in range(n_judges)], axis=1)
        found = prediction_powered(y[:n], f[:n], f[n:])
        hits += abs(found.value) <= float(reach(found.variance, found.freedom))
        single = [prediction_powered(y[:n], f[:n, k], f[n:, k]) for k in range(n_judges)]
        least = min(single, key=lambda one: one.variance)
        best += abs(least.value) <= float(reach(least.variance, least.freedom, 1 - 0.05 / n_judges))
    assert 0.93 <= hits / times <= 0.97
    assert best / times >= 0.95


@pytest.mark.claims
def test_intervals_of_what_a_model_is_worth_hold_it() -> None:
    """1,000 studies notice a coverage of 90 %; the truth is n(1/(1 − ρ²·N/(n + N)) − 1), ρ² = .8."""
    rng = np.random.default_rng(6)
    n, n_further, times, hits = 80, 800, 1000, 0
    truth = n * (1 / (1 - 0.8 * n_further / (n + n_further)) - 1)
    for _ in range(times):
        y = rng.normal(0, 1, n + n_further)
        f = y + rng.normal(0, 0.5, n + n_further)
        found = worth(y[:n], f[:n], f[n:])
        hits += found.low <= truth <= found.high
    assert hits / times >= 0.92
