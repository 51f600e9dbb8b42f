from __future__ import annotations

import itertools
import math
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import plurivox
from plurivox.base.errors import InputError
from plurivox.engine.draws import item_weights, rater_weights
from plurivox.engine.pool import Running, in_batches
from plurivox.infer.families import METHODS, adjust
from plurivox.infer.intervals import percentile_interval
from plurivox.infer.permutation import compare, max_t, upper_p

Floats = NDArray[np.float64]
nan, inf = math.nan, math.inf


# Permutation: slow twins, written as the definitions read
def defined(values: Iterable[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]


def literal_default(o: float, draws: Iterable[float], *, exhaustive: bool = False) -> float:
    s, plus = defined(draws), 0 if exhaustive else 1
    if math.isnan(o) or not s:
        return nan
    at_most = sum(value <= o + 1e-12 * max(1, abs(o)) for value in s)
    at_least = sum(value >= o - 1e-12 * max(1, abs(o)) for value in s)
    return min(1, 2 * min(at_most + plus, at_least + plus) / (len(s) + plus))


def literal_published(o: float, draws: Iterable[float]) -> float:
    s = sorted(defined(draws))
    if math.isnan(o) or not s:
        return nan
    if o < s[(len(s) - 1) // 2]:
        return sum(value < o for value in s) / len(s)
    return sum(value > o for value in s) / len(s)


def gappy(seed: int, *shape: int) -> Floats:
    """Values with many ties and many gaps; in the last column nothing is defined."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-3, 4, shape) / 4
    values[rng.random(shape) < 0.3] = nan
    values[..., -1] = nan
    return values


# Permutation
def test_p_values_against_golden(golden: Any) -> None:
    for case in golden["pvalue"]:
        assert compare(case["obs"], case["s"]).p_value == pytest.approx(case["two_sided_plus_one"], abs=1e-15)
        published = compare(case["obs"], case["s"], convention="published")
        assert published.p_value == pytest.approx(case["paper"], abs=1e-15)
    assert adjust(golden["bh"]["p"]).tolist() == pytest.approx(golden["bh"]["adjusted"], abs=1e-15)


def counts_of(table: dict[str, list[int]], raters: Sequence[str]) -> list[Counter[int]]:
    return [Counter(scores) for scores in zip(*(table[rater] for rater in raters), strict=True)]


def disagreeing(a: Counter[int], b: Counter[int]) -> int:
    return sum(a[c] * b[k] for c in a for k in b if c != k)


def alpha(table: dict[str, list[int]], raters: Sequence[str]) -> Fraction:
    items = counts_of(table, raters)
    pooled, n = sum(items, Counter[int]()), sum(item.total() for item in items)
    within = sum((Fraction(disagreeing(item, item), item.total() - 1) for item in items), Fraction(0)) / n
    return 1 - within / Fraction(disagreeing(pooled, pooled), n * (n - 1))


def cross(table: dict[str, list[int]], group: Sequence[str], rest: Sequence[str]) -> Fraction:
    x, y = counts_of(table, group), counts_of(table, rest)
    r, s = sum(item.total() for item in x), sum(item.total() for item in y)
    pairs = zip(x, y, strict=True)
    weighed = (Fraction(a.total() + b.total(), a.total() * b.total()) * disagreeing(a, b) for a, b in pairs)
    between = sum(weighed, Fraction(0)) / (r + s)
    return 1 - between / Fraction(disagreeing(sum(x, Counter[int]()), sum(y, Counter[int]())), r * s)


@pytest.mark.parametrize("statistic", ["irr", "xrr", "gai"])
def test_exhaustive_p_against_all_20_subsets(golden: Any, statistic: str) -> None:
    expected = golden["exact_permutation_20_subsets"]
    table = golden["inputs"][expected["table"]]
    null = []
    for subset in itertools.combinations(table, 3):
        rest = [rater for rater in table if rater not in subset]
        irr, xrr = alpha(table, subset), cross(table, subset, rest)
        null.append(float({"irr": irr, "xrr": xrr, "gai": irr / xrr}[statistic]))
        if list(subset) == expected["group"]:
            observed = null[-1]
    if statistic == "irr":
        assert sorted(null) == pytest.approx(expected["irr_null_sorted"], abs=1e-14)
    case = expected[statistic]
    assert observed == pytest.approx(case["obs"], abs=1e-14)
    noisy = np.array(null) + np.resize([1e-15, -1e-15], len(null))  # a sum in another order
    for draws in (np.array(null), noisy):
        assert compare(observed, draws, exhaustive=True).p_value == pytest.approx(case["p_exact_two_sided"])
        published = compare(observed, draws, convention="published")
        assert published.p_value == pytest.approx(case["p_paper"])
        assert published.null_median == pytest.approx(case["median_used"], abs=1e-14)
        at_least = case["n_equal"] + case["n_greater"]
        assert upper_p(observed, draws, exhaustive=True) == pytest.approx(at_least / 20)
        assert upper_p(observed, draws) == pytest.approx((at_least + 1) / 21)


@pytest.mark.parametrize("seed", range(5))
def test_compare_against_literal_loops(seed: int) -> None:
    null, observed = gappy(seed, 15, 4, 6), gappy(seed + 100, 4, 6)
    result = compare(observed, null)
    exhaustive = compare(observed, null, exhaustive=True)
    published = compare(observed, null, convention="published")
    for cell in np.ndindex(observed.shape):
        o, draws = float(observed[cell]), null[:, *cell].tolist()
        s = sorted(defined(draws))
        assert result.p_value[cell] == pytest.approx(literal_default(o, draws), nan_ok=True)
        assert exhaustive.p_value[cell] == pytest.approx(literal_default(o, draws, exhaustive=True), nan_ok=True)
        assert published.p_value[cell] == pytest.approx(literal_published(o, draws), nan_ok=True)
        assert result.n_undefined[cell] == 15 - len(s)
        median = float(np.median(s)) if s else nan
        lower = s[(len(s) - 1) // 2] if s else nan
        assert result.null_median[cell] == pytest.approx(median, nan_ok=True)
        assert published.null_median[cell] == pytest.approx(lower, nan_ok=True)
        for found, middle in ((result, median), (published, lower)):
            assert found.direction[cell] == ("above" if o > middle else "below" if o < middle else None)


def test_identical_values_give_p_1() -> None:
    # 0.1 + 0.2 and 0.3 differ in the last bit, and mean the same
    for null in ([0.3] * 9, [0.1 + 0.2] * 9, [0.3, 0.1 + 0.2, nan]):
        result = compare(0.3, null)
        assert result.p_value == 1
        assert result.direction.item() is None
        assert compare(0.3, null, exhaustive=True).p_value == 1
        assert compare(0.3, null, convention="published").p_value == 0  # no draw is strictly more extreme
        assert upper_p(0.3, null) == 1


@pytest.mark.parametrize(
    ("observed", "null", "p"),
    [
        (1e6, [1e6 + 1e-7] * 9, 1), (1.0, [1.0 + 1e-7] * 9, 0.2),  # the tolerance grows with the value
        (1e-9, [1e-9 + 1e-13] * 9, 1),  # max(1, |o|): absolute for small values
        (-inf, [-inf, -inf, 0.0, 1.0, inf], 2 * 3 / 6), (inf, [-inf, -inf, 0.0, 1.0, inf], 2 * 2 / 6),
        (inf, [inf, inf], 1), (0.0, [-inf, inf], 1),
    ],
)  # fmt: skip
def test_p_values_of_very_large_and_small_values(observed: float, null: list[float], p: float) -> None:
    result = compare(observed, null)
    assert result.p_value == pytest.approx(p)
    if null == [inf, inf]:
        assert result.direction.item() is None
    assert math.isnan(float(result.null_median)) == (null == [-inf, inf])


@pytest.mark.parametrize("convention", ["default", "published"])
def test_undefined_is_nan_and_counted(convention: str) -> None:
    null = np.array([[0.0, nan, 0.0], [1.0, nan, nan], [2.0, nan, 2.0]])
    result = compare([nan, 1.0, 3.0], null, convention=convention)
    assert np.isnan(result.p_value).tolist() == [True, True, False]
    assert (result.direction.tolist(), result.n_undefined.tolist()) == ([None, None, "above"], [0, 3, 1])
    assert np.isnan(upper_p([nan, 1.0, 3.0], null)).tolist() == [True, True, False]
    nothing = compare([1.0, 2.0], np.empty((0, 2)), convention=convention)
    assert np.isnan([nothing.p_value, nothing.null_median]).all()
    assert nothing.n_undefined.tolist() == [0, 0]
    assert np.isnan(compare(1.0, [], convention=convention, exhaustive=True).p_value)
    columns, observed = gappy(3, 20, 5), gappy(4, 5)
    many = compare(observed, columns, convention=convention)
    for column in range(5):  # one value is as one of many
        one = compare(observed[column], columns[:, column], convention=convention)
        assert [np.shape(field) for field in one] == [()] * 4
        for a, b in zip(one, many, strict=True):
            np.testing.assert_array_equal(a, b[column])


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: compare(0.0, [1.0], convention="paper"), "convention is 'paper'. Choose one of default, published"),
        (lambda: compare([0.0, 1.0], np.zeros((5, 3))), r"observed has the shape \(2,\), but null has \(5, 3\)"),
        (lambda: upper_p(0.0, np.zeros((5, 3))), "observed has the shape"),
        (lambda: max_t(np.zeros((2, 2)), np.zeros((5, 2, 2))), "one value for each group"),
        (lambda: adjust([0.1], "fdr"), "method is 'fdr'. Choose one of bh, by, holm, bonferroni, none"),
        *((partial(adjust, [0.1, p]), f"p holds {p}") for p in (-0.1, 1.5)),
        *((partial(percentile_interval, [1.0, 2.0], p), "level is") for p in (0.0, 1.0, 95.0, nan)),
        (lambda: percentile_interval(1.0), "draws is a single number"),
        *((partial(in_batches, range, 5, Running(threads), batch=batch), "1 or greater")
          for batch, threads in ((0, None), (-1, 2), (1, 0))),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_an_error(call: Callable[[], object], told: str) -> None:
    with pytest.raises(InputError, match=told):
        call()


def _range(first: int, last: int) -> range:
    return range(first, last)


# Permutation: what p-values promise. Tolerances are four standard errors of a rejection rate over 20,000 tests.

TESTS, DRAWS = 20_000, 199


def near(rate: float, wanted: float) -> bool:
    return abs(rate - wanted) <= 4 * math.sqrt(wanted * (1 - wanted) / TESTS)


@pytest.fixture(scope="module")
def true_null() -> tuple[Floats, Floats]:
    rng = np.random.default_rng(20_240_501)
    return rng.normal(size=TESTS), rng.normal(size=(DRAWS, TESTS))


@pytest.mark.parametrize("size", [0.01, 0.05, 0.1, 0.2, 0.5, 0.8])
def test_default_p_is_uniform_under_a_true_null(true_null: tuple[Floats, Floats], size: float) -> None:
    # the rank of o among 200 exchangeable values is uniform, so P(p ≤ size) = size for size a multiple of 0.01
    assert near(float(np.mean(compare(*true_null).p_value <= size + 1e-9)), size)
    assert near(float(np.mean(upper_p(*true_null) <= size + 1e-9)), size)


def test_published_p_rejects_twice_as_often_as_it_says(true_null: tuple[Floats, Floats]) -> None:
    p = compare(*true_null, convention="published").p_value
    assert near(float(np.mean(p <= 0.05)), 0.10)  # at most 9 of 199 draws beyond o: 10 ranks of 200 on each side
    assert (p == 0).any()
    assert (compare(*true_null).p_value >= 2 / 200).all()


def test_default_p_is_valid_for_shuffled_labels_with_ties() -> None:
    rng = np.random.default_rng(7)
    scores = rng.integers(0, 3, (TESTS, 10))
    observed = scores[:, :4].mean(axis=1)
    null = np.stack([rng.permuted(scores, axis=1)[:, :4].mean(axis=1) for _ in range(39)])
    p = compare(observed, null).p_value
    for size in (0.05, 0.1, 0.25, 0.5):
        rate = float(np.mean(p <= size + 1e-9))
        assert rate < size or near(rate, size)


# Maximum over groups
def literal_max(values: Iterable[float]) -> tuple[float, int]:
    best, where = nan, -1
    for index, value in enumerate(values):
        if not math.isnan(value) and (where < 0 or value > best):
            best, where = value, index
    return best, where


@pytest.mark.parametrize("seed", range(5))
def test_max_t_against_literal_loops(seed: int) -> None:
    null, observed = gappy(seed, 30, 5), gappy(seed + 50, 5)
    null[5] = nan
    null[:, 3] = 0.25  # does not vary: raw only
    observed[3] = 0.25
    found = max_t(observed, null)

    scaled, scaled_null = np.full(5, nan), np.full((30, 5), nan)
    for group in (0, 1, 2):
        draws = defined(null[:, group].tolist())
        mean = sum(draws) / len(draws)
        deviation = math.sqrt(sum((value - mean) ** 2 for value in draws) / (len(draws) - 1))
        scaled[group] = (observed[group] - mean) / deviation
        scaled_null[:, group] = (null[:, group] - mean) / deviation
    for part, values, draws_of in ((found.raw, observed, null), (found.standardised, scaled, scaled_null)):
        value, index = literal_max(values.tolist())
        maxima = [literal_max(row)[0] for row in draws_of.tolist()]
        s = defined(maxima)
        assert part.index == index
        assert part.value == pytest.approx(value, nan_ok=True)
        assert part.null.tolist() == pytest.approx(maxima, nan_ok=True)
        p = (sum(m >= value - 1e-12 * max(1, abs(value)) for m in s) + 1) / (len(s) + 1) if index >= 0 else nan
        assert part.p_value == pytest.approx(p, nan_ok=True)


def test_max_t_standardised_sees_through_a_noisy_group() -> None:
    rng = np.random.default_rng(5)
    null = rng.normal([0.9, 0.9], [0.5, 0.02], (499, 2))
    found = max_t([1.2, 1.1], null)  # 0.6 and 10 standard deviations
    assert (found.raw.index, found.standardised.index) == (0, 1)
    assert found.raw.p_value > 0.2
    assert found.standardised.p_value == pytest.approx(1 / 500)


def test_max_t_without_defined_groups_is_nan() -> None:
    for observed, null in (([nan, nan], np.zeros((4, 2))), ([nan], np.full((4, 1), nan)), ([], np.empty((4, 0)))):
        for part in max_t(observed, null):
            assert np.isnan([part.value, part.p_value]).all()
            assert (part.index, part.null.shape) == (-1, (4,))
    no_draws = max_t([1.0, 2.0], np.empty((0, 2)))
    assert (no_draws.raw.value, no_draws.raw.index, no_draws.standardised.index) == (2.0, 1, -1)
    assert math.isnan(no_draws.raw.p_value)
    infinite = max_t([-inf, nan, 1.0], np.array([[-inf, 0.0, 0.0], [0.0, 1.0, 2.0]]))
    assert infinite.standardised.index == 2
    assert max_t([nan, -inf], np.zeros((3, 2))).raw.index == 1


# Multiplicity
def literal_holm(p: Sequence[float]) -> list[float]:
    order = sorted(range(len(p)), key=p.__getitem__)
    adjusted = [0.0] * len(p)
    for rank, test in enumerate(order):
        adjusted[test] = max(min(1, (len(p) - before) * p[order[before]]) for before in range(rank + 1))
    return adjusted


some_p = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.01, 0.05, 1.0])), min_size=1, max_size=30)


@given(some_p)
def test_bh_and_by_against_scipy(p: list[float]) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle and is not installed")
    for method in ("bh", "by"):
        np.testing.assert_allclose(adjust(p, method), stats.false_discovery_control(p, method=method), rtol=1e-12)


@given(some_p)
def test_holm_and_bonferroni_against_their_definitions(p: list[float]) -> None:
    np.testing.assert_allclose(adjust(p, "holm"), literal_holm(p), rtol=1e-12)
    np.testing.assert_allclose(adjust(p, "bonferroni"), [min(1, value * len(p)) for value in p], rtol=1e-12)
    assert adjust(p, "none").tolist() == p


@given(some_p, st.randoms(use_true_random=False), st.integers(0, 4))
def test_adjusted_p_are_monotone_bounded_and_free_of_order(p: list[float], random: Any, n_undefined: int) -> None:
    for method in METHODS:
        plain = adjust(p, method)
        order = np.argsort(p, kind="stable")
        assert (np.diff(plain[order]) >= 0).all()
        assert (plain >= p).all()
        assert (plain <= 1).all()
        mixed = list(enumerate([*p, *[nan] * n_undefined]))
        random.shuffle(mixed)
        again = adjust([value for _, value in mixed], method)
        for (number, _), value in zip(mixed, again.tolist(), strict=True):
            assert math.isnan(value) if number >= len(p) else value == plain[number]


@pytest.mark.parametrize("method", METHODS)
def test_adjust_keeps_the_shape_and_passes_over_nan(method: str) -> None:
    p = np.array([[0.01, nan, 0.2], [0.03, 0.5, nan]])
    before = p.copy()
    adjusted = adjust(p, method)
    np.testing.assert_array_equal(p, before)
    assert adjusted.shape == p.shape
    np.testing.assert_array_equal(np.isnan(adjusted), np.isnan(p))
    np.testing.assert_array_equal(adjusted[~np.isnan(p)], adjust([0.01, 0.2, 0.03, 0.5], method))
    assert adjust(0.02, method).shape == ()
    assert adjust(0.02, method) == 0.02
    assert np.isnan(adjust(nan, method))
    assert adjust([], method).shape == (0,)
    assert np.isnan(adjust([nan, nan], method)).all()


# Bootstrap
@given(arrays(np.float64, (12, 3), elements=st.floats(-1e6, 1e6) | st.just(nan)), st.floats(0.01, 0.99))
def test_interval_against_numpy_quantiles(draws: Floats, level: float) -> None:
    low, high, n_undefined = percentile_interval(draws, level)
    for column in range(3):
        s = defined(draws[:, column].tolist())
        assert n_undefined[column] == 12 - len(s)
        if len(s) < 2:
            assert np.isnan(low[column])
            assert np.isnan(high[column])
        else:
            wanted = np.quantile(s, [(1 - level) / 2, 1 - (1 - level) / 2])
            np.testing.assert_allclose([low[column], high[column]], wanted, rtol=1e-12, atol=1e-9)
            assert min(s) <= low[column] <= high[column] <= max(s)


def test_interval_of_few_draws_is_undefined() -> None:
    for draws in (np.empty((0, 2)), np.zeros((1, 2)), np.full((9, 2), nan)):
        interval = percentile_interval(draws)
        assert np.isnan([interval.low, interval.high]).all()
        assert [np.shape(field) for field in interval] == [(2,)] * 3
    for shape in ((2, 3), ()):
        assert [np.shape(field) for field in percentile_interval(np.zeros((5, *shape)))] == [shape] * 3
    assert percentile_interval([inf] * 5).low == percentile_interval([inf] * 5).high == inf
    # positions 0.025·40 = 1 and 0.975·40 = 39 of 0 … 40
    low, high, _ = percentile_interval(np.random.default_rng(0).permutation(41).astype(float))
    assert (float(low), float(high)) == pytest.approx((1, 39))
    halfway = percentile_interval([0.0, 1.0], level=0.5)
    assert (float(halfway.low), float(halfway.high)) == (0.25, 0.75)


def of_items(draws: int, first: int = 0, seed: int = 3) -> NDArray[np.int64]:
    return item_weights(17, draws, seed, first)


def of_raters(draws: int, first: int = 0, seed: int = 3) -> NDArray[np.int64]:
    return rater_weights([2, 0, -1, 0, 2, 2, 5, -1, 0], draws, seed, first)


@pytest.mark.parametrize("weights", [of_items, of_raters])
def test_batches_do_not_change_weights(weights: Callable[..., NDArray[np.int64]]) -> None:
    whole = weights(20)
    np.testing.assert_array_equal(np.concatenate([weights(3), weights(16, 3), weights(1, 19)]), whole)
    np.testing.assert_array_equal(weights(20), whole)
    assert len(np.unique(whole, axis=0)) > 10
    assert not np.array_equal(weights(20, seed=4), whole)
    assert not np.array_equal(weights(20, first=1), whole)
    assert weights(0).shape == (0, whole.shape[1])


def test_weights_sum_to_the_items_and_to_the_raters_of_each_group() -> None:
    assert (of_items(50).sum(axis=1) == 17).all()
    assert of_items(50).min() >= 0
    assert item_weights(0, 4, seed=0).shape == (4, 0)
    assert item_weights(1, 4, seed=0).tolist() == [[1]] * 4
    groups, weights = np.array([2, 0, -1, 0, 2, 2, 5, -1, 0]), of_raters(50)
    for group, size in ((0, 3), (2, 3), (5, 1), (-1, 0)):
        assert (weights[:, groups == group].sum(axis=1) == size).all()
    assert rater_weights([-1, -1], 3, seed=0).tolist() == [[0, 0]] * 3
    assert rater_weights([], 3, seed=0).shape == (3, 0)


def test_weights_have_multinomial_moments() -> None:
    # n of n with equal chances: mean 1, variance 1 − 1/n, covariance −1/n
    draws, n = 20_000, 4
    for weights in (item_weights(n, draws, seed=1), rater_weights([0, 1, 0, 1, 0, 1, 0, 1], draws, seed=1)[:, ::2]):
        covariance = np.cov(weights.T)
        assert np.allclose(weights.mean(axis=0), 1, atol=4 * math.sqrt((1 - 1 / n) / draws))
        assert np.allclose(covariance, np.eye(n) - 1 / n, atol=0.04)


def test_items_and_raters_are_drawn_independently() -> None:
    items, raters = item_weights(6, 5_000, seed=9), rater_weights([0] * 6, 5_000, seed=9)
    both = np.corrcoef(items.T, raters.T)[:6, 6:]
    assert np.abs(both).max() < 4.5 / math.sqrt(5_000)


# Batches


@pytest.mark.parametrize("threads", [None, 1, 3])
def test_batches_cover_the_range_in_order(threads: int | None) -> None:
    for total, batch in ((0, 5), (1, 5), (5, 5), (11, 5), (40, 1)):
        ranges = in_batches(_range, total, Running(threads), batch=batch)
        assert [number for one in ranges for number in one] == list(range(total))
        assert all(0 < len(one) <= batch for one in ranges)


def test_threads_and_batches_do_not_change_results() -> None:
    def work(first: int, last: int) -> NDArray[np.int64]:
        time.sleep(0.01 if first % 2 else 0)  # so that later ones end first
        return item_weights(9, last - first, 1, first)

    whole = work(0, 24)
    for batch, threads in ((1, 1), (1, 4), (3, 2), (5, 8), (24, 3)):
        parts = in_batches(work, 24, Running(threads), batch=batch)
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_progress_is_told_in_the_calling_thread_and_ends_at_the_total() -> None:
    told: list[tuple[int, int]] = []
    callers: set[int] = set()

    def progress(what: str, done: int, total: int) -> None:
        told.append((done, total))
        callers.add(threading.get_ident())

    in_batches(lambda first, last: None, 23, Running(2, progress=progress), batch=2)
    done = [number for number, _ in told]
    assert done == sorted(set(done))
    assert told[-1] == (23, 23)
    assert callers == {threading.get_ident()}


def test_few_batches_are_in_flight() -> None:
    lock, started, told = threading.Lock(), [0], [0]
    lead = [0]

    def work(first: int, last: int) -> None:
        with lock:
            started[0] += 1
            lead[0] = max(lead[0], started[0] - told[0])

    def progress(what: str, done: int, total: int) -> None:
        time.sleep(0.001)  # a slow reader holds the workers up
        told[0] = done

    in_batches(work, 200, Running(3, progress=progress), batch=1)
    assert started[0] == 200
    assert lead[0] <= 6  # 2 · threads


def test_an_error_in_work_is_raised_and_stops_the_rest() -> None:
    started = []

    def work(first: int, last: int) -> None:
        started.append(first)
        if first == 2:
            raise ZeroDivisionError("draw 2")
        time.sleep(0.01)

    with pytest.raises(ZeroDivisionError, match="draw 2"):
        in_batches(work, 1_000, Running(2), batch=1)
    assert len(started) < 100


STOPPED = """
import signal, threading
from plurivox.engine.pool import in_batches
from plurivox.engine.pool import Running

signal.signal(signal.SIGINT, signal.default_int_handler)  # may be ignored in a job in the background
release, started, ended = threading.Event(), [], []

def work(first, last):
    started.append(first)
    if first == 3:
        print("ready", flush=True)
    if first >= 2:
        release.wait(300)
    ended.append(first)

try:
    in_batches(work, 1000, Running(2), batch=1)
except KeyboardInterrupt:
    print("stopped", len(started), len(ended), flush=True)
    release.set()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot send Ctrl-C to one child alone")
def test_ctrl_c_does_not_wait_for_running_or_queued_batches() -> None:
    home = str(Path(plurivox.__file__).parents[1])
    child = subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": home}
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        child.send_signal(signal.SIGINT)
        out, _ = child.communicate(timeout=60)  # the two running batches would take five minutes
    finally:
        child.kill()
        child.wait()
    assert out == "stopped 4 2\n"  # 0 and 1 ended, 2 and 3 still run, nothing else began
    assert child.returncode == 0
