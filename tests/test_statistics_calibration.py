"""Calibration against loops over single ratings, resampled items, the truth, and what holds for all data."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from plurivox.base.errors import InputError
from plurivox.statistics import calibration_slope, pit, pit_histogram, reliability

Array = NDArray[Any]
Case = tuple[Array, Array]  # counts and q


# Data ----------------------------------------------------------------------------------------------------------------
def drawn(n_items: int, n_points: int, seed: int = 0, most: int = 9, right: bool = True) -> Case:
    """Draw predictions, and from one to ``most`` ratings of each item, from them or from others."""
    rng = np.random.default_rng(seed)
    q = rng.dirichlet(np.full(n_points, 0.8), n_items)
    truth = q if right else rng.dirichlet(np.full(n_points, 0.8), n_items)
    n = rng.integers(1, most + 1, n_items)
    return np.array([rng.multinomial(k, p) for k, p in zip(n, truth, strict=True)]), q


def cases(zeros: bool = True) -> st.SearchStrategy[Case]:
    """Draw counts, also none and very many, and predictions with zeros and ones."""

    def of_shape(shape: tuple[int, int]) -> st.SearchStrategy[Case]:
        n_items, n_points = shape
        count = st.one_of(st.integers(0, 3), st.sampled_from([0, 10**9]))
        weights = st.lists(st.integers(0, 9), min_size=n_points, max_size=n_points).filter(any)
        table = st.lists(st.lists(count, min_size=n_points, max_size=n_points), min_size=n_items, max_size=n_items)
        both = st.tuples(table, st.lists(weights, min_size=n_items, max_size=n_items))
        return both.map(lambda case: _whole(np.array(case[0]), np.array(case[1], dtype=float), zeros))

    return st.tuples(st.integers(1, 5), st.integers(2, 6)).flatmap(of_shape)


def _whole(counts: Array, weights: Array, zeros: bool) -> Case:
    q = weights / weights.sum(axis=1, keepdims=True)
    return (counts if zeros else np.where(q > 0, counts, 0)), q


# Twins ---------------------------------------------------------------------------------------------------------------
def single_ratings(counts: Array) -> tuple[list[int], list[int]]:
    """Return the item and the position of each rating."""
    pairs = [(i, y) for i, row in enumerate(counts.tolist()) for y, n in enumerate(row) for _ in range(n)]
    return [i for i, _ in pairs], [y for _, y in pairs]


def stretch(q: Array, y: int) -> tuple[float, float]:
    return math.fsum(q[:y]), 1.0 if y == len(q) - 1 else math.fsum(q[: y + 1])


def spread(q: Array, y: int, n_bars: int) -> list[float]:
    """Return which part of a rating falls into each bar."""
    low, high = stretch(q, y)
    if high <= low:
        return [float(min(int(low * n_bars), n_bars - 1) == b) for b in range(n_bars)]
    parts = [min(high, (b + 1) / n_bars) - max(low, b / n_bars) for b in range(n_bars)]
    return [max(part, 0.0) / (high - low) for part in parts]


def literal_shares(counts: Array, q: Array, n_bars: int) -> Array:
    items, scores = single_ratings(counts)
    return np.asarray(np.mean([spread(q[i], y, n_bars) for i, y in zip(items, scores, strict=True)], axis=0))


def literal_reliability(counts: Array, q: Array, n_bins: int) -> dict[str, Array]:
    n_steps = counts.shape[1] - 1
    found = {name: np.zeros((n_steps, n_bins)) for name in ("predicted", "observed", "n_items", "n_ratings")}
    for row, own in zip(counts, q, strict=True):
        for k in range(n_steps if row.any() else 0):
            p = math.fsum(own[k + 1 :])
            b = min(int(p * n_bins), n_bins - 1)
            found["n_items"][k, b] += 1
            for y, n in enumerate(row):
                for _ in range(n):
                    found["n_ratings"][k, b] += 1
                    found["predicted"][k, b] += p
                    found["observed"][k, b] += y > k
    with np.errstate(invalid="ignore"):
        for name in ("predicted", "observed"):
            found[name] = found[name] / found["n_ratings"]
    return found


# The PIT of single ratings -------------------------------------------------------------------------------------------
def test_pits_lie_in_the_stretch_of_their_point() -> None:
    counts, q = drawn(50, 5, right=False)
    items, scores = single_ratings(counts)
    found = pit(scores, q[items], seed=4)
    for u, i, y in zip(found, items, scores, strict=True):
        low, high = stretch(q[i], y)
        assert low - 1e-12 <= u <= high + 1e-12


def test_the_seed_decides_the_place() -> None:
    q = [0.2, 0.3, 0.5]
    assert pit([0, 1, 2], q, seed=7).tolist() == pit([0, 1, 2], q, seed=7).tolist()
    assert pit([0, 1, 2], q, seed=7).tolist() != pit([0, 1, 2], q, seed=8).tolist()


def test_places_are_spread_evenly() -> None:
    u = pit(np.ones(20_000, dtype=int), [0.2, 0.3, 0.5], seed=1)
    assert stats.kstest(u, stats.uniform(0.2, 0.3).cdf).pvalue > 1e-3


def test_true_predictions_have_uniform_pits() -> None:
    counts, q = drawn(4000, 5, seed=2, most=1)
    scores = counts.argmax(axis=1)
    assert stats.kstest(pit(scores, q), "uniform").pvalue > 1e-3
    assert stats.kstest(pit(scores, q[::-1]), "uniform").pvalue < 1e-9


def test_sure_and_impossible_predictions() -> None:
    assert pit([0, 2], [[0, 1, 0], [0, 1, 0]]).tolist() == [0, 1]
    assert pit([1, 1], [[0.5, 0, 0.5], [0.25, 0, 0.75]]).tolist() == [0.5, 0.25]
    u = pit([1] * 50, [0, 1, 0])
    assert 0 <= u.min() < u.max() <= 1


def test_a_row_for_all_and_rows_for_each() -> None:
    one = pit([0, 2, 1], [0.2, 0.3, 0.5], seed=3)
    assert one.tolist() == pit([0, 2, 1], np.tile([0.2, 0.3, 0.5], (3, 1)), seed=3).tolist()


def test_no_ratings_have_no_pits() -> None:
    assert pit(np.zeros(0, dtype=int), [0.5, 0.5]).shape == (0,)


@given(st.integers(2, 101), st.data())
def test_pits_are_between_0_and_1(n_points: int, data: st.DataObject) -> None:
    weights = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n_points, max_size=n_points).filter(any)))
    scores = data.draw(st.lists(st.integers(0, n_points - 1), min_size=1, max_size=20))
    u = pit(scores, weights / weights.sum(), seed=data.draw(st.integers(0, 5)))
    assert ((u >= 0) & (u <= 1)).all()


# The histogram -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_bars", [1, 2, 3, 10, 37])
@pytest.mark.parametrize(("n_items", "n_points"), [(1, 5), (30, 2), (30, 5), (3, 101)])
def test_the_histogram_is_a_mean_over_ratings(n_items: int, n_points: int, n_bars: int) -> None:
    counts, q = drawn(n_items, n_points, right=False)
    assert pit_histogram(counts, q, n_bars).share == pytest.approx(literal_shares(counts, q, n_bars), abs=1e-12)


def test_mean_and_variance_over_ratings() -> None:
    counts, q = drawn(40, 4, right=False)
    items, scores = single_ratings(counts)
    ends = np.array([stretch(q[i], y) for i, y in zip(items, scores, strict=True)])
    within = (ends[:, 1] - ends[:, 0]) ** 2 / 12
    centre = ends.mean(axis=1)
    found = pit_histogram(counts, q)
    assert found.mean == pytest.approx(centre.mean(), abs=1e-12)
    assert found.variance == pytest.approx(centre.var() + within.mean(), abs=1e-12)


def test_the_histogram_is_what_random_ones_come_to() -> None:
    counts, q = drawn(20, 4, right=False)
    items, scores = single_ratings(counts)
    found = pit_histogram(counts, q, 8)
    repeats = 2000
    u = np.array([pit(scores, q[items], seed=seed) for seed in range(repeats)])
    shares = np.array([np.histogram(row, 8, (0, 1))[0] / len(scores) for row in u])
    assert shares.mean(axis=0) == pytest.approx(found.share, abs=5 * shares.std(axis=0).max() / math.sqrt(repeats))
    assert u.mean() == pytest.approx(found.mean, abs=1e-3)
    assert u.var() == pytest.approx(found.variance, abs=1e-3)


def test_true_predictions_have_a_flat_histogram() -> None:
    counts, q = drawn(5000, 5, seed=3)
    found = pit_histogram(counts, q)
    assert (np.abs(found.share - 0.1) < 4.5 * found.error).all()
    assert found.mean == pytest.approx(1 / 2, abs=0.01)
    assert found.variance == pytest.approx(1 / 12, abs=0.003)


@given(st.lists(st.lists(st.integers(0, 50), min_size=4, max_size=4).filter(any), min_size=1, max_size=5))
def test_shares_as_predicted_are_exactly_flat(rows: list[list[int]]) -> None:
    counts = np.array(rows)
    q = counts / counts.sum(axis=1, keepdims=True)
    found = pit_histogram(counts, q, 7)
    assert found.share == pytest.approx(np.full(7, 1 / 7), abs=1e-12)
    assert (found.mean, found.variance) == pytest.approx((1 / 2, 1 / 12), abs=1e-12)
    assert found.error == pytest.approx(np.zeros(7), abs=1e-7)
    assert reliability(counts, q).errors() == pytest.approx(np.zeros(3), abs=1e-12)


def test_what_the_shape_says() -> None:
    centre = np.array([[1, 2, 4, 2, 1]])
    sure = pit_histogram(centre, [0.02, 0.1, 0.76, 0.1, 0.02])
    vague = pit_histogram(centre, np.full(5, 0.2))
    low = pit_histogram(centre, [0.6, 0.2, 0.1, 0.06, 0.04])
    assert sure.variance > 1 / 12 > vague.variance
    assert sure.share[[0, -1]].min() > sure.share[4:6].max()
    assert low.mean > 1 / 2


def test_a_rating_on_an_impossible_point() -> None:
    assert pit_histogram([[1, 0, 0]], [0, 0.5, 0.5], 4).share.tolist() == [1, 0, 0, 0]
    assert pit_histogram([[0, 0, 1]], [0.5, 0.5, 0], 4).share.tolist() == [0, 0, 0, 1]
    assert pit_histogram([[0, 1, 0]], [0.3, 0, 0.7], 4).share.tolist() == [0, 1, 0, 0]
    assert pit_histogram([[2, 2, 0]], [0, 1, 0], 2).share.tolist() == [0.75, 0.25]
    assert pit_histogram([[1, 0, 0]], [0, 0, 1], 4).mean == 0


@given(cases())
def test_shares_sum_to_1(case: Case) -> None:
    counts, q = case
    found = pit_histogram(counts, q)
    if not counts.any():
        assert np.isnan([*found.share, *found.error, found.mean, found.variance]).all()
        return
    assert found.share.sum() == pytest.approx(1, abs=1e-12)
    assert (found.share >= 0).all()
    assert (found.error >= 0).all()
    assert 0 <= found.mean <= 1
    assert -1e-12 <= found.variance <= 1 / 4 + 1e-12


@given(cases(zeros=False), st.sampled_from([1, 2, 5, 10]))
def test_reversing_the_scale_mirrors_the_histogram(case: Case, n_bars: int) -> None:
    counts, q = case
    one, other = pit_histogram(counts, q, n_bars), pit_histogram(counts[:, ::-1], q[:, ::-1], n_bars)
    assert other.share[::-1] == pytest.approx(one.share, abs=1e-9, nan_ok=True)
    assert other.error[::-1] == pytest.approx(one.error, abs=1e-6, nan_ok=True)
    assert 1 - other.mean == pytest.approx(one.mean, abs=1e-9, nan_ok=True)
    assert other.variance == pytest.approx(one.variance, abs=1e-9, nan_ok=True)


@given(cases(zeros=False))
def test_wide_bars_are_sums_of_narrow_ones(case: Case) -> None:
    wide, narrow = pit_histogram(*case, 4).share, pit_histogram(*case, 12).share
    assert narrow.reshape(4, 3).sum(axis=1) == pytest.approx(wide, abs=1e-9, nan_ok=True)


@given(cases())
def test_unrated_items_and_the_order_of_items_are_no_matter(case: Case) -> None:
    counts, q = case
    rated = counts.any(axis=1)
    for one, other in (
        (pit_histogram(counts, q), pit_histogram(counts[::-1], q[::-1])),
        (pit_histogram(counts, q), pit_histogram(counts[rated], q[rated])),
    ):
        assert one.share == pytest.approx(other.share, abs=1e-12, nan_ok=True)
        assert one.error == pytest.approx(other.error, abs=1e-6, nan_ok=True)
    assert reliability(counts, q).n_items.tolist() == reliability(counts[rated], q[rated]).n_items.tolist()


def test_many_items_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    counts, q = drawn(25, 4, right=False)
    whole = pit_histogram(counts, q)
    monkeypatch.setattr("plurivox.statistics.calibration._BLOCK", 4)
    for one, other in zip(pit_histogram(counts, q), whole, strict=True):
        assert one == pytest.approx(other, abs=1e-14)


def test_one_row_of_predictions_and_one_item() -> None:
    counts = np.array([[1, 2, 3], [0, 1, 0]])
    q = [0.2, 0.3, 0.5]
    one, each = pit_histogram(counts, q), pit_histogram(counts, np.tile(q, (2, 1)))
    assert one.share.tolist() == each.share.tolist()
    assert pit_histogram([1, 2, 3], q).share.tolist() == pit_histogram([[1, 2, 3]], [q]).share.tolist()
    assert reliability([1, 2, 3], q).n_ratings.sum(axis=1).tolist() == [6, 6]


def test_a_billion_ratings() -> None:
    few = np.array([[1, 2, 0], [0, 3, 1]])
    q = [[0.1, 0.6, 0.3], [0, 0.5, 0.5]]
    small, large = pit_histogram(few, q), pit_histogram(few * 10**9, q)
    assert large.share == pytest.approx(small.share, abs=1e-14)
    assert large.error == pytest.approx(small.error, abs=1e-7)
    assert (large.mean, large.variance) == pytest.approx((small.mean, small.variance), abs=1e-14)
    one, other = reliability(few, q), reliability(few * 10**9, q)
    assert other.observed == pytest.approx(one.observed, nan_ok=True, abs=1e-14)
    assert other.n_items.tolist() == one.n_items.tolist()


# Standard errors -----------------------------------------------------------------------------------------------------
def test_errors_are_those_of_a_mean_where_items_have_as_many_ratings() -> None:
    rng = np.random.default_rng(5)
    counts, q = rng.multinomial(6, [0.1, 0.2, 0.3, 0.4], 80), rng.dirichlet(np.ones(4), 80)
    own = np.array([pit_histogram(row, p).share for row, p in zip(counts, q, strict=True)])
    assert pit_histogram(counts, q).error == pytest.approx(own.std(axis=0) / math.sqrt(80), rel=1e-9)


def test_errors_against_leaving_one_item_out() -> None:
    counts, q = drawn(200, 5, seed=6, right=False)
    n = len(counts)
    without = np.array([pit_histogram(np.delete(counts, i, 0), np.delete(q, i, 0)).share for i in range(n)])
    jackknife = np.sqrt((n - 1) / n * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    assert pit_histogram(counts, q).error == pytest.approx(jackknife, rel=0.03)


def test_errors_against_drawing_items_anew() -> None:
    counts, q = drawn(300, 4, seed=7, right=False)
    rng = np.random.default_rng(8)
    shares = []
    for _ in range(1500):
        chosen = rng.integers(0, len(counts), len(counts))
        shares.append(pit_histogram(counts[chosen], q[chosen]).share)
    assert pit_histogram(counts, q).error == pytest.approx(np.std(shares, axis=0), rel=0.1)


# Reliability ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("n_bins", [1, 2, 10])
@pytest.mark.parametrize(("n_items", "n_points"), [(1, 5), (60, 2), (60, 5), (3, 101)])
def test_reliability_is_a_count_of_ratings(n_items: int, n_points: int, n_bins: int) -> None:
    counts, q = drawn(n_items, n_points, right=False)
    counts[::7] = 0 if n_items > 1 else counts[::7]
    found, twin = reliability(counts, q, n_bins), literal_reliability(counts, q, n_bins)
    for name, expected in twin.items():
        assert getattr(found, name) == pytest.approx(expected, abs=1e-12, nan_ok=True), name
    gaps = np.abs(twin["observed"] - twin["predicted"])
    errors = [np.nansum(g * n) / n.sum() for g, n in zip(gaps, twin["n_ratings"], strict=True)]
    assert found.errors() == pytest.approx(errors, abs=1e-12)


def test_predictions_of_0_and_1_are_in_the_outer_bins() -> None:
    found = reliability([[2, 0], [0, 3], [1, 1]], [[1, 0], [0, 1], [0, 1]], 4)
    assert found.n_items.tolist() == [[1, 0, 0, 2]]
    assert found.n_ratings.tolist() == [[2, 0, 0, 5]]
    assert found.predicted[0, [0, 3]].tolist() == [0, 1]
    assert found.observed[0, [0, 3]].tolist() == [0, 0.8]
    assert np.isnan(found.predicted[0, 1:3]).all()
    assert found.errors() == pytest.approx([1 / 7])


def test_true_predictions_are_reliable() -> None:
    found = reliability(*drawn(5000, 5, seed=9))
    n = found.n_items
    kept = n > 100
    assert (np.abs(found.observed - found.predicted)[kept] < 5 * np.sqrt(0.25 / n[kept])).all()
    assert (found.errors() < 0.02).all()
    assert (reliability(*drawn(5000, 5, seed=9, right=False)).errors() > 0.1).all()


def test_reversing_the_scale_turns_reliability() -> None:
    counts, q = drawn(200, 4, right=False)
    one, other = reliability(counts, q), reliability(counts[:, ::-1], q[:, ::-1])
    assert 1 - other.observed[::-1, ::-1] == pytest.approx(one.observed, abs=1e-12, nan_ok=True)
    assert 1 - other.predicted[::-1, ::-1] == pytest.approx(one.predicted, abs=1e-12, nan_ok=True)
    assert other.n_items[::-1, ::-1].tolist() == one.n_items.tolist()


@given(cases(), st.integers(1, 12))
def test_items_and_ratings_add_up(case: Case, n_bins: int) -> None:
    counts, q = case
    found = reliability(counts, q, n_bins)
    n_steps = counts.shape[1] - 1
    assert found.n_items.sum(axis=1).tolist() == [np.count_nonzero(counts.any(axis=1))] * n_steps
    assert found.n_ratings.sum(axis=1).tolist() == [counts.sum()] * n_steps
    empty = found.n_ratings == 0
    assert np.isnan(found.observed[empty]).all()
    assert np.isnan(found.predicted[empty]).all()
    for share in (found.observed[~empty], found.predicted[~empty]):
        assert ((share >= 0) & (share <= 1 + 1e-12)).all()
    inside = (found.predicted * n_bins).round(9)
    at = np.broadcast_to(np.arange(n_bins), inside.shape)
    assert ((inside >= at) & (inside <= at + 1))[~empty].all()


def test_without_ratings_there_is_no_error() -> None:
    found = reliability([[0, 0, 0]], [0.2, 0.3, 0.5])
    assert found.n_items.sum() == 0
    assert np.isnan(found.errors()).all()  # not 0, which would be perfect


# Bad input -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("scores", "q", "problem"), [
    ([0.5], [0.5, 0.5], "scores holds no positions"), (["a"], [0.5, 0.5], "scores holds no positions"),
    ([[0]], [0.5, 0.5], "scores holds no positions"),
    ([0, 2], [0.5, 0.5], "scores runs from 0 to 2, but there are 2 points"),
    ([-1, 1], [0.5, 0.5], "scores runs from -1 to 1, but there are 2 points"), ([0], 0.5, "q has the shape"),
    ([0, 1], [[0.5, 0.5]] * 3, "q has the shape (3, 2), but there are 2 items and 2 points"),
    ([0], [0.5, 0.6], "q holds probabilities that do not sum to 1 in row 0 (sum 1.1)"),
])  # fmt: skip
def test_bad_ratings(scores: Any, q: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        pit(scores, q)
    assert problem in str(caught.value)


@pytest.mark.parametrize("function", [pit_histogram, reliability])
@pytest.mark.parametrize(("counts", "q", "problem"), [
    ([[1, -1]], [0.5, 0.5], "counts holds a negative count: -1 in row 0, column 1"),
    ([[1, 0.5]], [0.5, 0.5], "counts holds a count that is not a whole number: 0.5"),
    ([[1, math.nan]], [0.5, 0.5], "counts holds a count that is not finite"),
    ([[1, math.inf]], [0.5, 0.5], "counts holds a count that is not finite"),
    ([[1], [2]], [1.0], "at least two points"), ([[1, 2], [1]], [0.5, 0.5], "counts has rows of unequal length"),
    ([["a", "b"]], [0.5, 0.5], "instead of numbers"),
    ([[1, 2]], [0.5, 0.25, 0.25], "q has the shape (3,), but there are 1 items and 2 points"),
    ([[1, 2]], [[0.5, math.nan]], "q holds a probability that is missing (NaN) in row 0"),
    ([[1, 2]], [1.5, -0.5], "q holds a negative probability in row 0"),
    ([[1, 2]], [0.5, 0.50001], "q holds probabilities that do not sum to 1 in row 0 (sum 1.00001)"),
])  # fmt: skip
def test_bad_tables(function: Any, counts: Any, q: Any, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        function(counts, q)
    assert problem in str(caught.value)


@pytest.mark.parametrize("function", [pit_histogram, reliability])
@pytest.mark.parametrize("number", [0, -1, 2.5])
def test_bad_numbers_of_bars(function: Any, number: float) -> None:
    with pytest.raises(InputError):
        function([[1, 2]], [0.5, 0.5], number)


def test_bad_seed() -> None:
    with pytest.raises(InputError):
        pit([0], [0.5, 0.5], seed=-1)


# The slope -----------------------------------------------------------------------------------------------------------
def test_slope_is_that_of_least_squares() -> None:
    """Against a regression on one row per rating and threshold, thresholds as dummies, errors by item."""
    rng = np.random.default_rng(4)
    counts = rng.multinomial(6, [0.1, 0.2, 0.3, 0.4], 40)
    q = rng.dirichlet(np.ones(4), 40)
    rows, labels, items = [], [], []
    for i, (own, shares) in enumerate(zip(counts, q, strict=True)):
        for point, n in enumerate(own):
            for _ in range(n):
                for k in range(1, 4):
                    rows.append([shares[k:].sum(), *(float(k == other) for other in range(1, 4))])
                    labels.append(float(point >= k))
                    items.append(i)
    x, y = np.array(rows), np.array(labels)
    beta, *_ = np.linalg.lstsq(x, y, rcond=None)
    bread = np.linalg.inv(x.T @ x)
    scores = x * (y - x @ beta)[:, None]
    meat = sum(np.outer(total, total) for total in (scores[np.array(items) == i].sum(axis=0) for i in range(40)))
    found = calibration_slope(counts, q)
    assert found.value == pytest.approx(beta[0], rel=1e-9)
    assert found.error == pytest.approx(np.sqrt((bread @ meat @ bread)[0, 0]), rel=1e-9)


def test_slope_notices_vague_and_sure_predictions_of_varied_items() -> None:
    rng = np.random.default_rng(5)
    truth = rng.dirichlet(np.ones(5), 2000)
    counts = np.array([rng.multinomial(8, shares) for shares in truth])
    for weight, expected in ((1.0, 1.0), (0.5, 2.0), (0.25, 4.0)):
        found = calibration_slope(counts, weight * truth + (1 - weight) / 5)
        assert found.value == pytest.approx(expected, abs=4 * found.error)
        assert found.error < 0.05 * expected
    sharp = truth**3 / (truth**3).sum(axis=1, keepdims=True)
    assert calibration_slope(counts, sharp).value < 0.85


def test_slope_without_differences() -> None:
    for counts in ([[1, 2, 3]], [[1, 2, 3], [3, 2, 1]], [[0, 0, 0]]):
        assert np.isnan(calibration_slope(counts, [0.2, 0.3, 0.5]).value)
