"""Fleiss' and Cohen's kappa, intraclass correlations and nDFU against other software, published tables and twins."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy.stats import f_oneway
from sklearn.metrics import cohen_kappa_score

import reference
from plurivox.base.errors import InputError
from plurivox.statistics import undefined
from plurivox.statistics.checks import values_of
from plurivox.statistics.cohesion.cohen import (
    NO_SHARED_ITEMS,
    SAME_POINT,
    WEIGHTS,
    cohen_kappa,
    disagreements,
    fleiss_from,
    fleiss_kappa,
    kappa_from,
    mean_over_pairs,
    tables_with,
    why_fleiss,
)
from plurivox.statistics.cohesion.icc import (
    FEW_COMPLETE,
    NO_SPREAD,
    NO_VARIANCE,
    ONE_ITEM,
    SAME_MEANS,
    icc,
    icc1,
    icc1_from,
    icc1_parts,
    icc1k,
    icc1k_from,
    one_way_from,
    why_icc1,
    why_icc1k,
)
from plurivox.statistics.cohesion.parts import ac_parts as fleiss_parts
from plurivox.statistics.cohesion.parts import mean_of
from plurivox.statistics.cohesion.records import distance_from_unimodality, ndfu, ndfu_parts
from plurivox.statistics.records import About
from plurivox.statistics.undefined import why_unpaired

Array = NDArray[Any]
NAN = math.nan
VALUES = np.array([0.0, 1.0, 2.5, 7.0, 7.5])
BOTH_KINDS = ("icc1", "icc_a1", "icc_c1", "icc1k", "icc_ak", "icc_ck")


def ndfu_from(sums: Array) -> Array:
    return mean_of("ndfu", {"ndfu": sums}, About(2, VALUES), {})


def why_ndfu(sums: Array) -> str | None:
    return why_unpaired("ndfu", {"ndfu": sums}, About(2, VALUES), {}, None)


# Data ----------------------------------------------------------------------------------------------------------------
def tables(n_points: int | None = None, top: int = 3) -> st.SearchStrategy[Array]:
    """Draw counts, items × points; many cells and rows are empty."""
    points = st.integers(2, 5) if n_points is None else st.just(n_points)
    shapes = st.tuples(st.integers(0, 6), points)
    return shapes.flatmap(lambda shape: arrays(np.int64, shape, elements=st.integers(0, top), fill=st.just(0)))


def scored(most_items: int = 7, most_raters: int = 5) -> st.SearchStrategy[Array]:
    """Draw scores, items × raters, of which some are missing."""
    shapes = st.tuples(st.integers(1, most_items), st.integers(1, most_raters))
    elements = st.sampled_from([0.0, 1.0, 2.0, 3.0, NAN])
    return shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=elements))


def same(value: float, twin: Fraction | float | None, tolerance: float = 1e-11) -> bool:
    """Compare with a twin, for which None is undefined."""
    if twin is None or math.isnan(value):
        return twin is None and math.isnan(value)
    return math.isclose(value, float(twin), rel_tol=tolerance, abs_tol=tolerance)


def alike(a: float, b: float) -> bool:
    return same(a, None if math.isnan(b) else b)


def counted(scores: Array, n_points: int) -> Array:
    """Count whole scores, items × raters, NaN where one is missing."""
    return np.stack([(scores == point).sum(axis=1) for point in range(n_points)], axis=1)


# Published tables: ten items, fourteen raters and five points, the common worked example of Fleiss' kappa, .210.
FOURTEEN = np.array([
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
])  # fmt: skip

# Shrout and Fleiss (1979), table 2: six targets and four judges.
SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)


def test_fleiss_against_the_published_example() -> None:
    assert round(fleiss_kappa(FOURTEEN), 3) == 0.210
    # statsmodels 0.15.0: statsmodels.stats.inter_rater.fleiss_kappa(FOURTEEN)
    assert same(fleiss_kappa(FOURTEEN), 0.20993070442195522)


def test_icc_against_shrout_and_fleiss() -> None:
    found = icc(SHROUT)
    published = {"icc1": 0.17, "icc_a1": 0.29, "icc_c1": 0.71, "icc1k": 0.44, "icc_ak": 0.62, "icc_ck": 0.91}
    assert {name: round(getattr(found, name), 2) for name in BOTH_KINDS} == published
    assert (found.n_items, found.n_complete, found.n_raters, found.notes) == (6, 6, 4, {})


# Other software ------------------------------------------------------------------------------------------------------
CAC = np.array([
    [1, 1, NAN, 1], [2, 2, 3, 2], [3, 3, 3, 3], [3, 3, 3, 3], [2, 2, 2, 2], [1, 2, 3, 4],
    [4, 4, 4, 4], [1, 1, 2, 1], [2, 2, 2, 2], [NAN, 5, 5, 5], [NAN, NAN, 1, 1], [NAN, NAN, 3, NAN],
])  # fmt: skip


def test_fleiss_against_irrcac_for_unequal_numbers() -> None:
    # irrCAC 0.4.4 (Python): CAC(pandas.DataFrame(CAC), digits=12).fleiss()["est"], twelve digits
    sums = fleiss_parts(counted(CAC - 1, 5)).sum(axis=0)
    assert float(sums[0] / sums[1]) == pytest.approx(0.818181818182, abs=1e-12)  # "pa"
    assert float(((sums[3:] / sums[2]) ** 2).sum()) == pytest.approx(0.238715277778, abs=1e-12)  # "pe"
    assert fleiss_kappa(counted(CAC - 1, 5)) == pytest.approx(0.761169275422, abs=1e-12)


@given(arrays(np.int64, (8, 3), elements=st.integers(0, 3)))
def test_fleiss_against_krippendorff(scores: Array) -> None:
    """With m ratings of each of n items, 1 − alpha = (1 − kappa)·(1 − 1/(n·m)); alpha is another package's."""
    assume(len(np.unique(scores)) > 1)
    counts = counted(scores.astype(float), 4)
    alpha = krippendorff.alpha(value_counts=counts, level_of_measurement="nominal")
    assert same(1 - alpha, (1 - fleiss_kappa(counts)) * (1 - 1 / scores.size))


# pingouin 0.7.0: intraclass_corr(long, targets="i", raters="r", ratings="x", nan_policy="omit")["ICC"], where long has
# a row for each score: ICC(1,1), ICC(A,1), ICC(C,1), ICC(1,k), ICC(A,k), ICC(C,k).
PINGOUIN = (
    (SHROUT, (0.1657417684054755, 0.28976377952755916, 0.7148407148407154),
     (0.44279713367926876, 0.6200505475989893, 0.9093155423770697)),
    (np.array([[1, 5, 2], [5, 1, 3], [2, 4, 5], [4, 2, 1], [3, 3, 4]], dtype=float),
     (-0.29729729729729737, -0.45454545454545464, -0.33333333333333337),
     (-2.200000000000001, -15.000000000000027, -3.0000000000000013)),
    (np.array([[1, 2, 1], [3, 3, NAN], [4, 5, 5], [2, 2, 3], [5, 4, 5], [1, NAN, 2], [3, 4, 4], [2, 1, 2], [4, 4, 3]]),
     (0.841708542713568, 0.8409090909090909, 0.8283582089552239),
     (0.9410112359550562, 0.940677966101695, 0.9353932584269664)),
)  # fmt: skip


@pytest.mark.parametrize(("scores", "single", "average"), PINGOUIN, ids=["published", "negative", "missing"])
def test_icc_against_pingouin(scores: Array, single: tuple[float, ...], average: tuple[float, ...]) -> None:
    found = icc(scores)
    complete = icc(scores[~np.isnan(scores).any(axis=1)])  # pingouin drops incomplete items for the one-way as well
    assert found.n_complete == complete.n_items
    for name, value in zip(BOTH_KINDS, single + average, strict=True):
        assert same(getattr(complete, name), value), name
        assert name.startswith("icc1") or same(getattr(found, name), value), name


@given(tables(5), st.booleans())
def test_icc1_against_scipy(counts: Array, own_values: bool) -> None:
    """F of a one-way analysis of variance is MSB/MSW."""
    values = VALUES if own_values else np.arange(5.0)
    items = [values[item] for item in reference.ratings_of(counts) if item]
    sizes = np.array([len(item) for item in items])
    assume(len(items) > 1 and sizes.max() > 1 and any(len(set(item)) > 1 for item in items))
    f = float(f_oneway(*items).statistic)
    k0 = (sizes.sum() - (sizes**2).sum() / sizes.sum()) / (len(items) - 1)
    given_values = values if own_values else None
    assert same(icc1(counts, values=given_values), (f - 1) / (f + k0 - 1))
    average = icc1k(counts, values=given_values)
    # As F, since 1 − 1/F of a small F magnifies rounding; F is 0 where items have the same mean.
    assert same(0.0 if math.isnan(average) else 1 / (1 - average), f)


def sklearn_kappas(scores: Array, weights: str) -> list[float]:
    """Return the kappa of each pair that shares two items, NaN where it is undefined."""
    found = []
    for a, b in itertools.combinations(range(scores.shape[1]), 2):
        both = ~np.isnan(scores[:, [a, b]]).any(axis=1)
        if both.sum() >= 2:
            one, other = scores[both, a].astype(int), scores[both, b].astype(int)
            if len({*one, *other}) == 1:
                found.append(NAN)  # scikit-learn warns of it and returns NaN or a replacement
                continue
            kind = None if weights == "unweighted" else weights
            found.append(float(cohen_kappa_score(one, other, labels=[0, 1, 2, 3], weights=kind)))
    return found


@pytest.mark.parametrize("weights", WEIGHTS)
@given(scores=scored())
def test_cohen_against_scikit_learn(scores: Array, weights: str) -> None:
    found = cohen_kappa(scores, weights)
    expected = sklearn_kappas(scores, weights)
    defined = [one for one in expected if not math.isnan(one)]
    n_raters = scores.shape[1]
    assert found.n_pairs == len(defined)
    assert found.n_undefined_pairs == len(expected) - len(defined)
    assert found.n_apart == n_raters * (n_raters - 1) // 2 - len(expected)
    assert same(found.kappa, float(np.mean(defined)) if defined else None)
    upper = found.kappa_pairs[np.triu_indices(n_raters, 1)]
    assert sorted(upper[~np.isnan(upper)]) == pytest.approx(sorted(defined), abs=1e-11)
    assert (found.note == "") == bool(defined)


# nDFU 0.9.3, the authors' package: ndfu.dfu(histogram). It takes the lowest mode, so two modes need both directions.
AUTHORS = (
    ([3, 0, 1, 3], 2 / 3, 1.0), ([3, 1, 0, 3], 1.0, 2 / 3), ([2, 2, 1, 0, 0], 0.0, 0.0), ([5, 0, 0, 0, 5], 1.0, 1.0),
    ([4, 1, 2, 0, 3], 0.75, 0.75), ([0, 3, 1, 3, 0], 2 / 3, 2 / 3), ([1, 2, 3, 2, 1], 0.0, 0.0),
    ([2, 0, 2, 0, 2], 1.0, 1.0), ([1, 4, 0, 2, 4], 0.5, 1.0), ([7, 3, 4, 1, 6], 5 / 7, 5 / 7),
)  # fmt: skip


@pytest.mark.parametrize(("histogram", "forwards", "backwards"), AUTHORS)
def test_ndfu_against_the_authors_package(histogram: list[int], forwards: float, backwards: float) -> None:
    assert same(ndfu([histogram]), max(forwards, backwards))


# Literal twins -------------------------------------------------------------------------------------------------------
def slow_dfu(row: Sequence[int], mode: int) -> Fraction:
    """Walk away from a mode on both sides, and take the largest rise."""
    rise = 0
    for at in range(mode, len(row) - 1):
        rise = max(rise, row[at + 1] - row[at])
    for at in range(mode, 0, -1):
        rise = max(rise, row[at - 1] - row[at])
    return Fraction(rise, row[mode])


def slow_ndfu(counts: Array) -> Fraction | None:
    rows = [[int(n) for n in row] for row in counts if row.sum() >= 2]
    return reference.mean([max(slow_dfu(row, at) for at, n in enumerate(row) if n == max(row)) for row in rows])


def slow_fleiss(counts: Array) -> Fraction | None:
    agreement = reference.percent_agreement(reference.ratings_of(counts))
    rated = [item for item in reference.ratings_of(counts) if item]
    if agreement is None:
        return None
    points = range(counts.shape[1])
    pi = [reference.mean([Fraction(item.count(c), len(item)) for item in rated]) or Fraction(0) for c in points]
    chance = sum((p * p for p in pi), Fraction(0))
    return None if chance == 1 else (agreement - chance) / (1 - chance)


def slow_icc1(counts: Array) -> tuple[Fraction | None, Fraction | None]:
    """Return ICC(1) and ICC(1,k) by mean squares of the ratings."""
    items = [[Fraction(point) for point in item] for item in reference.ratings_of(counts) if item]
    pooled = [x for item in items for x in item]
    n, size = len(items), len(pooled)
    if n < 2 or size == n or len(set(pooled)) == 1:
        return None, None
    means = [reference.mean(item) or Fraction(0) for item in items]
    grand = reference.mean(pooled) or Fraction(0)
    around = list(zip(items, means, strict=True))
    msb = sum((len(item) * (mean - grand) ** 2 for item, mean in around), Fraction(0)) / (n - 1)
    msw = sum(((x - mean) ** 2 for item, mean in around for x in item), Fraction(0)) / (size - n)
    k0 = (size - Fraction(sum(len(item) ** 2 for item in items), size)) / (n - 1)
    return (msb - msw) / (msb + (k0 - 1) * msw), (msb - msw) / msb if msb else None


@given(tables())
def test_against_exact_twins(counts: Array) -> None:
    assert same(fleiss_kappa(counts), slow_fleiss(counts))
    assert same(ndfu(counts), slow_ndfu(counts))
    single, average = slow_icc1(counts)
    assert same(icc1(counts), single)
    assert same(icc1k(counts), average)


def test_ndfu_against_exact_for_all_small_histograms() -> None:
    for n_points in (2, 3, 4, 5):
        rows = [row for row in itertools.product(range(4), repeat=n_points) if sum(row) > 0]
        found = distance_from_unimodality(np.array(rows))
        for row, value in zip(rows, found.tolist(), strict=True):
            by_mode = {slow_dfu(row, at) for at, n in enumerate(row) if n == max(row)}
            assert same(value, max(by_mode)), row
            assert len(by_mode) == 1 or n_points > 3  # up to three points it does not matter which mode is taken


@given(scored(), st.sampled_from(WEIGHTS))
def test_cohen_against_its_exact_twin(scores: Array, weights: str) -> None:
    points = np.array([0.0, 1.0, 4.0, 6.0])  # unequal steps, which weights of values and of positions tell apart
    unequal = np.where(np.isnan(scores), NAN, points[np.nan_to_num(scores).astype(int)])
    distance: dict[str, Callable[[int, int], Fraction]] = {
        "unweighted": lambda c, k: Fraction(c != k), "linear": lambda c, k: Fraction(abs(c - k)),
        "quadratic": lambda c, k: Fraction((c - k) ** 2),
    }  # fmt: skip
    found = cohen_kappa(unequal, weights).kappa_pairs
    for a, b in itertools.combinations(range(scores.shape[1]), 2):
        pairs = [(int(x), int(y)) for x, y in unequal[:, [a, b]] if not math.isnan(x + y)]
        twin = reference.cohen_kappa(pairs, distance[weights]) if len(pairs) >= 2 else None
        assert same(found[a, b], twin)
        assert alike(found[a, b], found[b, a])


def exact_icc(table: Sequence[Sequence[int]]) -> dict[str, Fraction | None]:
    """Return the two-way coefficients of a complete table by its mean squares."""
    x = [[Fraction(score) for score in row] for row in table]
    n, k = len(x), len(x[0])
    grand = sum((score for row in x for score in row), Fraction(0)) / (n * k)
    rows = [sum(row, Fraction(0)) / k for row in x]
    columns = [sum(column, Fraction(0)) / n for column in zip(*x, strict=True)]
    msr = k * sum(((one - grand) ** 2 for one in rows), Fraction(0)) / (n - 1)
    msc = n * sum(((one - grand) ** 2 for one in columns), Fraction(0)) / (k - 1)
    cells = itertools.product(range(n), range(k))
    mse = sum(((x[i][j] - rows[i] - columns[j] + grand) ** 2 for i, j in cells), Fraction(0)) / ((n - 1) * (k - 1))
    below = {
        "icc_a1": msr + (k - 1) * mse + Fraction(k, n) * (msc - mse), "icc_c1": msr + (k - 1) * mse,
        "icc_ak": msr + (msc - mse) / n, "icc_ck": msr,
    }  # fmt: skip
    return {name: (msr - mse) / divisor if divisor > 0 else None for name, divisor in below.items()}


@given(
    st.tuples(st.integers(2, 5), st.integers(2, 4)).flatmap(lambda s: arrays(np.int64, s, elements=st.integers(1, 4)))
)
def test_two_way_icc_against_exact(table: Array) -> None:
    found, twin = icc(table), exact_icc(table.tolist())
    for name, value in twin.items():
        assert same(getattr(found, name), value, 1e-9), name
        assert (name in found.notes) == (value is None)


# Weights of a bootstrap over raters ----------------------------------------------------------------------------------
def weighted(scores: Array, weights: Array, n_points: int) -> tuple[Array, Array]:
    """Return Σw by item and point, and Σw² by item."""
    counts = np.stack([((scores == point) * weights).sum(axis=1) for point in range(n_points)], axis=1)
    return counts, (~np.isnan(scores) * weights**2).sum(axis=1)


@given(scored(), st.data())
def test_weighted_fleiss_against_pairs_of_different_raters(scores: Array, data: st.DataObject) -> None:
    n_raters = scores.shape[1]
    weights = data.draw(arrays(np.int64, n_raters, elements=st.integers(0, 3)))
    sums = fleiss_parts(weighted(scores, weights, 4)[0], self_pairs=weighted(scores, weights, 4)[1]).sum(axis=0)
    agreements = []
    for row in scores:
        pairs = [(a, b) for a, b in itertools.permutations(range(n_raters), 2) if not math.isnan(row[a] + row[b])]
        whole = sum(int(weights[a] * weights[b]) for a, b in pairs)
        if whole:
            agreements.append(Fraction(sum(int(weights[a] * weights[b]) for a, b in pairs if row[a] == row[b]), whole))
    assert sums[1] == len(agreements)
    assert same(float(sums[0]), sum(agreements, Fraction(0)))


@given(scored())
def test_weights_of_one_change_nothing(scores: Array) -> None:
    counts, q = weighted(scores, np.ones(scores.shape[1]), 4)
    values = np.arange(4.0)
    assert (fleiss_parts(counts) == fleiss_parts(counts, self_pairs=q)).all()
    assert (ndfu_parts(counts) == ndfu_parts(counts, self_pairs=q)).all()
    assert (icc1_parts(counts, values) == icc1_parts(counts, values, self_pairs=q)).all()


def test_copies_of_one_rater_are_not_pairs() -> None:
    """One rater drawn three times says what one rating says: nothing about agreement."""
    counts, q = np.array([[3.0, 0], [0, 3.0]]), np.array([9.0, 9.0])
    sums = [fleiss_parts(counts, self_pairs=q).sum(axis=0), ndfu_parts(counts, self_pairs=q).sum(axis=0)]
    assert math.isnan(fleiss_from(sums[0]))
    assert math.isnan(ndfu_from(sums[1]))
    assert why_fleiss(sums[0]) == why_ndfu(sums[1]) == undefined.NO_PAIR
    values = np.arange(2.0)
    one_way = icc1_parts(counts, values, self_pairs=q).sum(axis=0)
    assert math.isnan(icc1_from(one_way, values))
    assert why_icc1(one_way, values) == undefined.NO_PAIR


def test_weighted_variances_are_unbiased() -> None:
    """Over all signs of independent errors, and of items' effects, the mean estimates are the true variances.

    Scores are ±1. Errors alone have the variances 0 and 1 of items and of error; effects of items alone, 1 and 0.
    """
    there = np.array([[1, 1, 1], [1, 0, 1], [0, 1, 1]], dtype=bool)
    weights, values = np.array([3.0, 1.0, 2.0]), np.array([-1.0, 1.0])

    def variances(scores: Array) -> tuple[float, float]:
        counts, q = weighted(np.where(there, (scores + 1) / 2, NAN), weights, 2)
        sums = icc1_parts(counts, values, self_pairs=q).sum(axis=0)
        if np.count_nonzero(counts.sum(axis=0)) == 1:
            return 0.0, 0.0  # everyone gave the same point: no squares at all
        error, between, noise, weight = one_way_from(sums, values)
        return float((between - noise * error) / weight), float(error)

    errors = []
    for signs in itertools.product([-1.0, 1.0], repeat=7):
        scores = np.zeros((3, 3))
        scores[there] = signs
        errors.append(variances(scores))
    assert np.mean(errors, axis=0) == pytest.approx([0.0, 1.0], abs=1e-12)
    effects = [variances(np.repeat(np.array([s]).T, 3, axis=1)) for s in itertools.product([-1.0, 1.0], repeat=3)]
    assert np.mean(effects, axis=0) == pytest.approx([1.0, 0.0], abs=1e-12)


@given(scored(), st.data())
def test_weighted_pairs_of_raters_against_a_sum(scores: Array, data: st.DataObject) -> None:
    kappas = cohen_kappa(scores).kappa_pairs
    weights = data.draw(arrays(np.int64, (2, len(kappas)), elements=st.integers(0, 3)))
    for draw, found in zip(weights, mean_over_pairs(kappas, weights), strict=True):
        pairs = [(int(draw[a] * draw[b]), kappas[a, b]) for a, b in itertools.combinations(range(len(kappas)), 2)]
        known = [(w, kappa) for w, kappa in pairs if w and not math.isnan(kappa)]
        whole = sum(w for w, _ in known)
        assert same(float(found), sum(w * kappa for w, kappa in known) / whole if whole else None)


# What must hold for all data -----------------------------------------------------------------------------------------

OF_COUNTS: tuple[Callable[[Any], float], ...] = (fleiss_kappa, ndfu, icc1, icc1k)


@given(tables(), st.randoms(use_true_random=False))
def test_order_of_items_and_direction_of_the_scale_do_not_matter(counts: Array, random: Any) -> None:
    order = random.sample(range(len(counts)), len(counts))
    for statistic in OF_COUNTS:
        assert alike(statistic(counts), statistic(counts[order])), statistic
        assert alike(statistic(counts), statistic(counts[:, ::-1])), statistic


@given(tables())
def test_repeating_all_items_keeps_means(counts: Array) -> None:
    """Twice the items are the same means; ICC(1) has one item less to estimate from, so that it may move."""
    twice = np.concatenate([counts, counts])
    assert alike(fleiss_kappa(counts), fleiss_kappa(twice))
    assert alike(ndfu(counts), ndfu(twice))
    assert alike(ndfu(counts * 5), ndfu(counts * 2))  # shares decide


@given(tables())
def test_two_halves_add_up(counts: Array) -> None:
    half, values = len(counts) // 2, np.arange(counts.shape[1], dtype=float)
    for parts in (fleiss_parts, ndfu_parts, lambda n: icc1_parts(n, values)):
        added = parts(counts[:half]).sum(axis=0) + parts(counts[half:]).sum(axis=0)
        assert added == pytest.approx(parts(counts).sum(axis=0), abs=1e-12)


@given(tables())
def test_groups_and_draws_pass_through(counts: Array) -> None:
    """Two groups side by side, and two draws of weights on items, are as each by itself."""
    values = np.arange(counts.shape[1], dtype=float)
    groups = np.stack([counts, counts[::-1] * 2], axis=1)
    draws = np.stack([np.ones(len(counts)), np.arange(len(counts))])
    for parts, finish in (
        (fleiss_parts, fleiss_from),
        (ndfu_parts, ndfu_from),
        (lambda n: icc1_parts(n, values), lambda sums: icc1_from(sums, values)),
        (lambda n: icc1_parts(n, values), lambda sums: icc1k_from(sums, values)),
    ):
        together = finish(np.einsum("di,igk->dgk", draws, parts(groups)))
        assert together.shape == (2, 2)
        for d, g in itertools.product(range(2), range(2)):
            alone = finish(np.einsum("i,ik->k", draws[d], parts(groups[:, g])))
            assert alike(float(together[d, g]), float(alone))


@given(scored(), st.randoms(use_true_random=False))
def test_order_of_raters_and_items_does_not_matter(scores: Array, random: Any) -> None:
    items, raters = (random.sample(range(size), size) for size in scores.shape)
    shuffled = scores[items][:, raters]
    before, after = cohen_kappa(scores, "quadratic"), cohen_kappa(shuffled, "quadratic")
    assert alike(before.kappa, after.kappa)
    assert (before.n_common[np.ix_(raters, raters)] == after.n_common).all()
    one, other = icc(scores), icc(shuffled)
    for name in BOTH_KINDS:
        assert alike(getattr(one, name), getattr(other, name)), name
    assert one.notes == other.notes


@given(scored())
def test_icc_does_not_depend_on_unit_and_origin(scores: Array) -> None:
    one, other = icc(scores), icc(1000 - scores / 8)
    for name in BOTH_KINDS:
        assert alike(getattr(one, name), getattr(other, name)), name


@given(scored())
def test_icc1_of_scores_is_that_of_counts(scores: Array) -> None:
    assume(not np.isnan(scores).all())
    found = icc(scores)
    assert alike(found.icc1, icc1(counted(scores, 4)))
    assert alike(found.icc1k, icc1k(counted(scores, 4)))


@given(scored(), st.data())
def test_cohen_tables_are_weighed_by_items(scores: Array, data: st.DataObject) -> None:
    """An item of weight 2 is that item twice."""
    times = data.draw(arrays(np.int64, len(scores), elements=st.integers(0, 3)))
    codes = np.where(np.isnan(scores), -1, np.nan_to_num(scores)).astype(np.int32).T
    repeated = np.repeat(codes, times, axis=1)
    for rater in range(len(codes)):
        once = tables_with(codes, rater, 4, item_weights=times.astype(float))
        assert (once == tables_with(repeated, rater, 4)).all()
        assert kappa_from(once, disagreements(np.arange(4.0), "linear")).shape == (len(codes) - rater - 1,)


# Extremes, NaN and errors --------------------------------------------------------------------------------------------
def test_extremes() -> None:
    assert fleiss_kappa([[3, 0], [0, 2]]) == icc1([[3, 0], [0, 2]]) == icc1k([[3, 0], [0, 2]]) == 1.0
    assert fleiss_kappa([[1, 1], [1, 1]]) == icc1([[1, 1], [1, 1]]) == -1.0
    assert ndfu([[2, 0, 2]]) == 1.0
    assert ndfu([[3, 3, 3]]) == ndfu([[0, 0, 9]]) == 0.0
    assert cohen_kappa([[0, 1], [1, 0]]).kappa == -1.0
    assert cohen_kappa([[0, 0], [1, 1]]).kappa == 1.0
    assert icc([[1, 1], [2, 2]]).icc_a1 == 1.0


def test_reasons() -> None:
    values = np.arange(2.0)
    nothing, single, one_item, one_point, flat = (
        np.array(rows) for rows in ([[0, 0]], [[1, 0], [0, 1]], [[1, 1]], [[2, 0], [3, 0]], [[1, 1], [2, 2]])
    )
    fleiss = [why_fleiss(fleiss_parts(n).sum(axis=0)) for n in (nothing, single, one_point, one_item)]
    assert fleiss == [undefined.NO_PAIR, undefined.NO_PAIR, undefined.ONE_POINT, None]
    assert why_fleiss(fleiss_parts(single).sum(axis=0), n_raters=1) == undefined.ONE_RATER
    assert [why_ndfu(ndfu_parts(n).sum(axis=0)) for n in (single, one_item)] == [undefined.NO_PAIR, None]
    one_way = [icc1_parts(n, values).sum(axis=0) for n in (nothing, single, one_item, one_point, flat)]
    reasons = [undefined.NO_PAIR, undefined.NO_PAIR, ONE_ITEM, undefined.ONE_POINT]
    assert [why_icc1(sums, values) for sums in one_way] == [*reasons, None]
    assert [why_icc1k(sums, values) for sums in one_way] == [*reasons, SAME_MEANS]


@given(tables())
def test_a_reason_exactly_where_a_value_is_nan(counts: Array) -> None:
    values = np.arange(counts.shape[1], dtype=float)
    assert (why_fleiss(fleiss_parts(counts).sum(axis=0)) is not None) == math.isnan(fleiss_kappa(counts))
    assert (why_ndfu(ndfu_parts(counts).sum(axis=0)) is not None) == math.isnan(ndfu(counts))
    sums = icc1_parts(counts, values).sum(axis=0)
    assert (why_icc1(sums, values) is not None) == math.isnan(icc1(counts))
    assert (why_icc1k(sums, values) is not None) == math.isnan(icc1k(counts))


def test_reasons_of_scores() -> None:
    assert cohen_kappa([[0, NAN], [NAN, 1]]).note == cohen_kappa([[0, 1]]).note == NO_SHARED_ITEMS
    assert cohen_kappa([[NAN, NAN]]).note == cohen_kappa([[0], [1]]).note == NO_SHARED_ITEMS
    assert cohen_kappa([[2, 2], [2, 2]]).note == SAME_POINT
    assert set(icc([[1.0], [2.0]]).notes.values()) == {undefined.ONE_RATER}
    assert set(icc([[1, 1], [1, 1]]).notes.values()) == {undefined.ONE_POINT}
    assert set(icc([[NAN, NAN]]).notes.values()) == {undefined.NO_PAIR}
    sparse = icc([[1, 2, NAN], [NAN, 2, 3], [3, NAN, 1]])
    assert sparse.notes == dict.fromkeys(["icc_a1", "icc_c1", "icc_ak", "icc_ck"], FEW_COMPLETE)
    assert (sparse.n_items, sparse.n_complete, sparse.n_raters) == (3, 0, 3)
    constant = icc([[1, 3], [1, 3]])  # each rater has one score: no consistency to speak of, and no agreement
    assert (constant.icc_a1, constant.notes["icc_c1"]) == (0.0, NO_SPREAD)
    crossed = icc([[1, 2], [2, 1]])
    assert {crossed.notes["icc_a1"], crossed.notes["icc_ak"]} == {NO_VARIANCE}
    assert (crossed.icc_c1, crossed.notes["icc_ck"]) == (-1.0, SAME_MEANS)


@given(scored())
def test_a_note_exactly_where_a_coefficient_is_nan(scores: Array) -> None:
    found = icc(scores)
    assert set(found.notes) == {name for name in BOTH_KINDS if math.isnan(getattr(found, name))}


def test_one_point_is_found_whatever_its_value() -> None:
    """Values that are not whole must not leave a spread of rounding."""
    values = values_of([0.1, 0.2, 0.7], 3)
    sums = icc1_parts(np.array([[0, 3, 0], [0, 7, 0], [0, 2, 0]]), values).sum(axis=0)
    assert why_icc1(sums, values) == undefined.ONE_POINT
    assert set(icc(np.full((7, 3), 0.1)).notes.values()) == {undefined.ONE_POINT}


@pytest.mark.parametrize(("match", "call"), [
    ("weights", lambda: cohen_kappa([[0, 1]], "cubic")), ("negative count", lambda: fleiss_kappa([[1, -1]])),
    ("values", lambda: icc1([[1, 1]], values=[1, 1])), ("shape", lambda: icc([1, 2, 3])),
])  # fmt: skip
def test_bad_input_is_named(match: str, call: Callable[[], Any]) -> None:
    with pytest.raises(InputError, match=match):
        call()
