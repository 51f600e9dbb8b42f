"""Statistics of responsiveness against golden values, other software, literal twins, and what holds for all data."""

from __future__ import annotations

import math
import statistics as standard
import sys
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import reference
from plurivox import statistics
from plurivox.base.errors import InputError
from plurivox.statistics import STATISTICS, undefined, undefined_reason
from reference import same

Array = NDArray[Any]
Samples = tuple[Array, Array]  # ones and zeros
TWINS: dict[str, Callable[[Sequence[float], Sequence[float]], Fraction | float | None]] = {
    "mpa": reference.mpa, "mpa_raw": reference.mpa_raw, "wra": reference.wra, "auroc": reference.auroc,
    "kendall_tau_b": reference.kendall_tau_b, "spearman_rho": reference.spearman_rho,
    "average_precision": reference.average_precision,
}  # fmt: skip


# Data ----------------------------------------------------------------------------------------------------------------
def samples(elements: st.SearchStrategy[Any], max_size: int = 6) -> st.SearchStrategy[Samples]:
    """Draw ones and zeros of the same length; many weights, and whole vectors, are 0."""

    def of_length(n_scores: int) -> st.SearchStrategy[Samples]:
        weight = st.one_of(st.just(0), elements)
        vector = st.lists(weight, min_size=n_scores, max_size=n_scores).map(np.array)
        return st.tuples(st.one_of(vector, vector, vector, st.just(np.zeros(n_scores, dtype=int))), vector)

    swapped = st.integers(2, max_size).flatmap(of_length)
    return st.tuples(swapped, st.booleans()).map(lambda drawn: drawn[0][::-1] if drawn[1] else drawn[0])


COUNTS = samples(st.integers(0, 5))
SHARED = samples(st.sampled_from([0.5, 1 / 3, 2 / 3, 1.0, 1.5, 7 / 3, 4.0]))  # tied votes share a sample
ANY_SIZE = samples(st.floats(0, sys.float_info.max), 4)


def value_of(name: str, ones: Any, zeros: Any) -> float:
    function = STATISTICS[name].function
    assert function is not None
    return function(ones, zeros)


def counted(scores: Sequence[int | None], ratings: Sequence[Sequence[int]], n_scores: int) -> Samples:
    """Count samples: one score of each item, None where it was not rated, beside its ratings by the reference."""
    ones, zeros = np.zeros(n_scores), np.zeros(n_scores)
    for score, item in zip(scores, ratings, strict=True):
        if score is not None:
            ones[score] += sum(item)
            zeros[score] += len(item) - sum(item)
    return ones, zeros


def assert_golden(case: dict[str, Any], ones: Array, zeros: Array) -> int:
    """Compare all that a golden case holds; return how much that was."""
    values = {name: value_of(name, ones, zeros) for name in TWINS}
    values["hm"] = statistics.harmonic_mean(values["mpa"], values["wra"])
    keys = {"tau_b": "kendall_tau_b", "spearman": "spearman_rho", "auprc_average_precision": "average_precision"}
    held = [key for key in case if keys.get(key, key) in values]
    for key in held:
        assert same(values[keys.get(key, key)], case[key]), key
    for value, expected in zip(statistics.precision(ones, zeros), case.get("precision", []), strict=False):
        assert same(value, expected)
    return len(held)


# Golden values -------------------------------------------------------------------------------------------------------
def test_guideline_reference_against_golden(golden: dict[str, Any]) -> None:
    trained = [golden["inputs"]["trained"][item] for item in golden["inputs"]["items"]]
    cases, n_compared = golden["mpa_wra"]["guideline"], 0
    for case in cases.values():
        if "score" in case:
            ones, zeros = counted(case["score"], trained, 5)
        else:
            ones, zeros = np.array(case["one"]), np.array(case["zero"])
        n_compared += assert_golden(case, ones, zeros)
    assert n_compared == 5 * 8 + 2 * 4


def test_shared_ties_against_golden(golden: dict[str, Any]) -> None:
    """The vectors of the golden file are made again from the votes of group g2."""
    inputs, case = golden["inputs"], golden["mpa_wra"]["guideline"]["g2_ties_share"]
    ones, zeros = np.zeros(5), np.zeros(5)
    for at, item in enumerate(inputs["items"]):
        votes = [inputs["missing"][rater][at] for rater in inputs["g2"]]
        tied = reference.tied_points([vote for vote in votes if vote is not None])
        for score in tied:
            ones[score] += sum(inputs["trained"][item]) / len(tied)
            zeros[score] += inputs["trained"][item].count(0) / len(tied)
    assert ones == pytest.approx(case["one"])
    assert zeros == pytest.approx(case["zero"])
    assert assert_golden(case, ones, zeros) == 4


def test_crowd_reference_against_golden(golden: dict[str, Any]) -> None:
    for case in golden["mpa_wra"]["crowd"].values():
        given_by = [golden["inputs"]["missing"][rater] for rater in case["reference_raters"]]
        boundaries = []
        for boundary, expected in enumerate(case["per_boundary"], start=1):
            ratings = [[int(t >= boundary) for t in item if t is not None] for item in zip(*given_by, strict=True)]
            ones, zeros = counted(case["score"], ratings, 5)
            table = np.array(case["crosstab"])
            assert ones.tolist() == table[:, boundary:].sum(axis=1).tolist()
            assert zeros.tolist() == table[:, :boundary].sum(axis=1).tolist()
            assert assert_golden(expected, ones, zeros) == 6
            mpa, wra = statistics.mpa(ones, zeros), statistics.wra(ones, zeros)
            boundaries.append((statistics.mpa_raw(ones, zeros), mpa, wra, statistics.harmonic_mean(mpa, wra)))
        raw, mpa, wra, hm = np.mean(boundaries, axis=0)
        assert {"mpa_raw": raw, "mpa": mpa, "wra": wra, "hm": hm} == pytest.approx(case["macro"], abs=1e-12)
        assert same(statistics.harmonic_mean(mpa, wra), case["hm_of_macro"])


def test_edge_cases_against_golden(golden: dict[str, Any]) -> None:
    cases = golden["mpa_wra"]["edge_cases"]
    assert len(cases) == 10
    for name, case in cases.items():
        ones, zeros = counted(case["S"], [[u] for u in case["U"]], case["K"] + 1)
        assert assert_golden(case, ones, zeros) == 6, name


# The same without the folder: ones, zeros, and what they give.
# fmt: off
EDGE_CASES: dict[str, tuple[list[float], list[float], dict[str, float]]] = {
    # P = 1, 1/2, 0: ((1/2 − 1) + (0 − 1) + (0 − 1))/(2·1). C = 0, D = 8 of 9 pairs.
    "negative_area": ([2, 1, 0], [0, 1, 2], {
        "mpa_raw": -5 / 4, "mpa": 0, "wra": 0, "hm": 0, "auroc": 1 / 18, "kendall_tau_b": -8 / math.sqrt(12 * 9)}),
    # All six of the 3·2 pairs of an upper and a lower score gain 1. τ_b = 6/√(10·6).
    "perfect_balanced_K4": ([0, 0, 1, 1, 1], [1, 1, 0, 0, 0], {
        "mpa_raw": 1, "mpa": 1, "wra": 1, "hm": 1, "auroc": 1, "kendall_tau_b": 6 / math.sqrt(60),
        "average_precision": 1}),
    # One gain of 1 out of 6, though the two scores are perfectly told apart.
    "two_scores_only_K4": ([0, 0, 0, 0, 2], [2, 0, 0, 0, 0], {
        "mpa_raw": 1 / 6, "mpa": 1 / 6, "wra": 1, "hm": 2 / 7, "auroc": 1, "kendall_tau_b": 1, "spearman_rho": 1,
        "average_precision": 1}),
    "all_one_score": ([0, 0, 2, 0, 0], [0, 0, 1, 0, 0], {
        "mpa_raw": 0, "mpa": 0, "wra": 0, "hm": 0, "auroc": 1 / 2, "kendall_tau_b": math.nan,
        "spearman_rho": math.nan, "average_precision": 2 / 3}),
    "single_class_U1": ([1, 1, 1, 0, 0], [0, 0, 0, 0, 0], {
        "mpa_raw": 0, "mpa": math.nan, "wra": math.nan, "hm": math.nan, "auroc": math.nan, "kendall_tau_b": math.nan,
        "spearman_rho": math.nan, "average_precision": math.nan}),
    "single_class_U0": ([0, 0, 0, 0, 0], [1, 1, 1, 0, 0], {
        "mpa_raw": 0, "mpa": math.nan, "wra": math.nan, "hm": math.nan, "auroc": math.nan, "kendall_tau_b": math.nan,
        "spearman_rho": math.nan, "average_precision": math.nan}),
    # Ten pairs of scores lose 1 each, over 6. τ_b = −4/√(10·4). From the top the unsafe sample comes last of five.
    "worst_K4": ([1, 0, 0, 0, 0], [0, 1, 1, 1, 1], {
        "mpa_raw": -5 / 3, "mpa": 0, "wra": 0, "hm": 0, "auroc": 0, "kendall_tau_b": -4 / math.sqrt(40),
        "average_precision": 1 / 5}),
    # P = 1/2, 0, –, –, 2/3: (0 − 1/2) + 2·(2/3 − 1/2) = −1/6, over 6.
    "unused_middle": ([1, 0, 0, 0, 2], [1, 2, 0, 0, 1], {
        "mpa_raw": -1 / 36, "mpa": 0, "wra": 1 / 2, "hm": 0, "auroc": 5 / 8}),
    "no_sample": ([0, 0, 0], [0, 0, 0], {
        "mpa_raw": math.nan, "mpa": math.nan, "wra": math.nan, "hm": math.nan, "auroc": math.nan,
        "kendall_tau_b": math.nan, "spearman_rho": math.nan, "average_precision": math.nan}),
}
# fmt: on


@pytest.mark.parametrize("name", EDGE_CASES)
def test_edge_cases_by_hand(name: str) -> None:
    ones, zeros, expected = EDGE_CASES[name]
    assert assert_golden(expected, np.array(ones), np.array(zeros)) == len(expected)


def test_one_score_and_single_class_are_exact() -> None:
    for ones, zeros in (([0, 0.1, 0], [0, 0.7, 0]), ([1 / 3, 0], [1e-9, 0])):
        assert statistics.mpa(ones, zeros) == statistics.mpa_raw(ones, zeros) == statistics.wra(ones, zeros) == 0
        assert statistics.auroc(ones, zeros) == 0.5
        assert statistics.average_precision(ones, zeros) == statistics.precision(ones, zeros)[np.argmax(ones)]
    for weights in ([1, 1 / 3, 0], [0.1, 0.2, 0.3]):
        assert statistics.mpa_raw(weights, [0, 0, 0]) == statistics.mpa_raw([0, 0, 0], weights) == 0


def test_precision_and_recall_by_hand() -> None:
    np.testing.assert_array_equal(statistics.precision([0, 3, 0, 1], [2, 1, 0, 0]), [0, 0.75, math.nan, 1])
    np.testing.assert_array_equal(statistics.recall([0, 3, 0, 1], [2, 1, 0, 0]), [0, 0.75, 0, 0.25])
    np.testing.assert_array_equal(statistics.precision([0, 0], [2, 0]), [0, math.nan])
    np.testing.assert_array_equal(statistics.recall([0, 0], [2, 0]), [math.nan, math.nan])
    np.testing.assert_array_equal(statistics.precision([0, 0], [0, 0]), [math.nan, math.nan])


# Literal twins -------------------------------------------------------------------------------------------------------
@example((np.array([0.5, 1.5, 0]), np.array([1 / 3, 0, 7 / 3])))
@given(st.one_of(COUNTS, SHARED))
def test_statistics_against_twins(drawn: Samples) -> None:
    ones, zeros = (vector.tolist() for vector in drawn)
    for name, twin in TWINS.items():
        assert same(value_of(name, ones, zeros), twin(ones, zeros)), name


@example((np.array([0, 5e-53]), np.array([3e275, 4e-79])))
@example((np.array([0, 1e-254]), np.array([7e108, 2e-59])))
@given(ANY_SIZE)
def test_weights_of_any_size_against_twins(drawn: Samples) -> None:
    """Neither the largest nor the smallest floats overflow, vanish or make a defined value undefined."""
    ones, zeros = (vector.tolist() for vector in drawn)
    for name, twin in TWINS.items():
        assert same(value_of(name, ones, zeros), twin(ones, zeros)), name


@given(st.one_of(COUNTS, SHARED, ANY_SIZE))
def test_precision_and_recall_against_twins(drawn: Samples) -> None:
    ones, zeros = (vector.tolist() for vector in drawn)
    for function, twin in ((statistics.precision, reference.precision), (statistics.recall, reference.recall)):
        values, expected = function(ones, zeros), twin(ones, zeros)
        assert values.shape == (len(ones),)
        assert values.dtype == np.float64
        for value, one in zip(values.tolist(), expected, strict=True):
            assert same(value, one, 1e-15)


@example(5e-324, 5e-324)
@example(sys.float_info.max, sys.float_info.max)
@example(1e-300, 1e300)
@example(0.0, 0.0)
@given(st.floats(0, sys.float_info.max), st.floats(0, 1))
def test_harmonic_mean_against_twin(a: float, b: float) -> None:
    expected = float(reference.harmonic_mean(Fraction(a), Fraction(b)))
    assert statistics.harmonic_mean(a, b) == statistics.harmonic_mean(b, a) == expected


# Other software ------------------------------------------------------------------------------------------------------
def expanded(drawn: Samples) -> tuple[list[int], list[int]]:
    """Write counts out as scores and references, one entry for each sample."""
    written = [(s, u) for u, vector in ((1, drawn[0]), (0, drawn[1])) for s, n in enumerate(vector) for _ in range(n)]
    return [s for s, _ in written], [u for _, u in written]


@example((np.array([0, 2, 3]), np.array([4, 1, 1])))
@given(COUNTS)
def test_correlations_against_scipy(drawn: Samples) -> None:
    stats = pytest.importorskip("scipy.stats", reason="scipy is the oracle and is not installed")
    scores, references = expanded(drawn)
    assume(len(set(scores)) > 1 and len(set(references)) > 1)  # else it warns
    assert same(statistics.kendall_tau_b(*drawn), float(stats.kendalltau(scores, references).statistic))
    assert same(statistics.spearman_rho(*drawn), float(stats.spearmanr(scores, references).statistic))


@example((np.array([0, 2, 3]), np.array([4, 1, 1])))
@given(COUNTS)
def test_areas_against_sklearn(drawn: Samples) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle and is not installed")
    scores, references = expanded(drawn)
    assume(len(set(references)) > 1)  # else it warns
    assert same(statistics.auroc(*drawn), float(metrics.roc_auc_score(references, scores)))
    assert same(statistics.average_precision(*drawn), float(metrics.average_precision_score(references, scores)))


@given(SHARED)
def test_shared_samples_against_weights_of_sklearn(drawn: Samples) -> None:
    metrics = pytest.importorskip("sklearn.metrics", reason="scikit-learn is the oracle and is not installed")
    ones, zeros = drawn
    assume(ones.any() and zeros.any())
    scores, references = [*range(len(ones))] * 2, [1] * len(ones) + [0] * len(zeros)
    used = np.concatenate([ones, zeros])
    assert same(statistics.auroc(*drawn), float(metrics.roc_auc_score(references, scores, sample_weight=used)))
    theirs = metrics.average_precision_score(references, scores, sample_weight=used)
    assert same(statistics.average_precision(*drawn), float(theirs))


@given(st.floats(0, 1), st.floats(0, 1))
def test_harmonic_mean_against_python(a: float, b: float) -> None:
    assert statistics.harmonic_mean(a, b) == pytest.approx(standard.harmonic_mean([a, b]), rel=1e-12)


# Properties over the registry ----------------------------------------------------------------------------------------
OF_REFERENCE = [record for record in STATISTICS.values() if record.needs == "reference"]
ORDERED = [name for name in TWINS if name not in ("mpa", "mpa_raw")]  # only the order of used scores matters


def test_every_statistic_is_classified_and_tested() -> None:
    assert set(TWINS) == {record.name for record in OF_REFERENCE if record.function is not None}
    assert {record.name for record in OF_REFERENCE} == {*TWINS, "hm", "hm_of_means"}
    assert all(record.function is getattr(statistics, record.name) for record in OF_REFERENCE if record.function)


@given(st.one_of(COUNTS, SHARED, ANY_SIZE))
def test_range(drawn: Samples) -> None:
    for name in TWINS:
        low, high = STATISTICS[name].range
        value = value_of(name, *drawn)
        assert type(value) is float, name
        assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12, name


@pytest.mark.parametrize("n_scores", range(2, 12))
def test_ends_of_the_range_of_mpa(n_scores: int) -> None:
    """The lowest score always unsafe and the others never; and the lower half of the scale never, the upper always."""
    first, upper = np.arange(n_scores) == 0, np.arange(n_scores) >= n_scores // 2
    lowest = -2 + 2 / (n_scores + n_scores % 2)
    assert same(statistics.mpa_raw(first, ~first), lowest)
    assert STATISTICS["mpa_raw"].range[0] < lowest
    assert statistics.mpa_raw(upper, ~upper) == statistics.mpa(upper, ~upper) == 1
    # No precisions of 0 and 1 go beyond, and others cannot: raw MPA is concave in them, so it is lowest at a corner;
    # and it only grows if each is raised to the highest so far, after which they are a mixture of steps from 0 to 1.
    if n_scores <= 7:
        for bits in range(2**n_scores):
            chosen = bits >> np.arange(n_scores) & 1
            assert lowest - 1e-12 <= statistics.mpa_raw(chosen, 1 - chosen) <= 1


@given(COUNTS, st.sampled_from([-1074, -500, -1, 3, 1000]))
def test_a_power_of_two_times_the_weights_changes_nothing(drawn: Samples, exponent: int) -> None:
    scaled = tuple(np.ldexp(vector, exponent) for vector in drawn)
    for name in TWINS:
        np.testing.assert_array_equal(value_of(name, *scaled), value_of(name, *drawn), name)
    for function in (statistics.precision, statistics.recall):
        np.testing.assert_array_equal(function(*scaled), function(*drawn))


@given(SHARED, st.sampled_from([1e-300, 1e-9, 1 / 3, 7.0, 1e300, 1e307]))
def test_a_constant_times_the_weights_changes_nothing(drawn: Samples, constant: float) -> None:
    for name in TWINS:
        assert same(value_of(name, *(vector * constant for vector in drawn)), value_of(name, *drawn)), name


@given(SHARED)
def test_reversing_the_scale_or_exchanging_the_classes(drawn: Samples) -> None:
    ones, zeros = drawn
    reverse, exchange = (ones[::-1], zeros[::-1]), (zeros, ones)
    for other in (reverse, exchange):
        assert same(statistics.auroc(*other), 1 - statistics.auroc(*drawn))
        assert same(statistics.kendall_tau_b(*other), -statistics.kendall_tau_b(*drawn))
        assert same(statistics.spearman_rho(*other), -statistics.spearman_rho(*drawn))
        # Unsafe above safe, safe above unsafe, and half of the ties on either side.
        tied = 2 * (statistics.auroc(*drawn) - statistics.wra(*drawn))
        assert same(statistics.wra(*other), 1 - tied - statistics.wra(*drawn))
    for name in ("wra", "auroc", "kendall_tau_b", "spearman_rho"):
        assert same(value_of(name, zeros[::-1], ones[::-1]), value_of(name, *drawn)), name


@given(SHARED, st.integers(0, 6))
def test_a_score_nobody_used_changes_the_size_of_the_scale_alone(drawn: Samples, place: int) -> None:
    n_scores = len(drawn[0])
    ones, zeros = (np.insert(vector, min(place, n_scores), 0) for vector in drawn)
    for name in ORDERED:
        assert same(value_of(name, ones, zeros), value_of(name, *drawn)), name
    before, after = (n // 2 * (n - n // 2) for n in (n_scores, n_scores + 1))
    assert same(statistics.mpa_raw(ones, zeros) * after, statistics.mpa_raw(*drawn) * before)


@given(SHARED, st.lists(st.sampled_from([0.1, 1.0, 30.0]), min_size=6, max_size=6))
def test_mpa_weighs_used_scores_alike(drawn: Samples, times: list[float]) -> None:
    factor = np.array(times[: len(drawn[0])])
    assert same(statistics.mpa_raw(*(vector * factor for vector in drawn)), statistics.mpa_raw(*drawn))


@given(SHARED)
def test_mpa_is_cut_at_zero_and_needs_both_classes(drawn: Samples) -> None:
    if drawn[0].any() and drawn[1].any():
        assert statistics.mpa(*drawn) == max(0.0, statistics.mpa_raw(*drawn))
    else:
        assert math.isnan(statistics.mpa(*drawn))


@given(SHARED)
def test_correlations_share_their_sign_with_auroc(drawn: Samples) -> None:
    tau = statistics.kendall_tau_b(*drawn)
    assume(not math.isnan(tau))
    excess = statistics.auroc(*drawn) - 0.5
    assert tau * excess >= 0
    assert statistics.spearman_rho(*drawn) * excess >= 0
    n = drawn[0] + drawn[1]
    # ρ/τ_b depends on how often each score is used, not on the reference.
    p = n / n.sum()
    both = tau * math.sqrt(3 * (1 - (p**2).sum()))
    assert same(statistics.spearman_rho(*drawn) * math.sqrt(2 * (1 - (p**3).sum())), both)


def test_only_two_scores_reach_a_correlation_of_one() -> None:
    for function in (statistics.kendall_tau_b, statistics.spearman_rho):
        assert function([0, 0, 3], [0, 7, 0]) == 1
        assert function([0, 0.1, 0], [0, 0, 0.7]) == -1
        assert function([0, 1, 3], [7, 0, 0]) < 0.99


@pytest.mark.parametrize("n_scores", [2, 5])
def test_wra_of_scores_at_random(n_scores: int) -> None:
    # The same shares π of scores in both classes: (1 − Σπ²)/2.
    shares = np.arange(1, n_scores + 1) / np.arange(1, n_scores + 1).sum()
    assert same(statistics.wra(3 * shares, 5 * shares), (1 - (shares**2).sum()) / 2)
    assert same(statistics.wra(np.ones(n_scores), np.ones(n_scores)), (1 - 1 / n_scores) / 2)
    assert same(statistics.mpa_raw(3 * shares, 5 * shares), 0)


def test_a_long_scale() -> None:
    """On 1,000 scores the literal twins are too slow; what is known: unsafe from the middle up, all others safe."""
    upper = np.arange(1000) >= 500
    assert statistics.mpa(upper, ~upper) == statistics.wra(upper, ~upper) == statistics.auroc(upper, ~upper) == 1
    assert same(statistics.average_precision(upper, ~upper), 1)
    # n = 1000, all scores differ: T = 1000·999/2, C = 500², τ_b = 500/√(999·500), ρ = 500²·√3000/√((10⁹ − 10³)·500²)
    assert same(statistics.kendall_tau_b(upper, ~upper), 500 / math.sqrt(999 * 500))
    assert same(statistics.spearman_rho(upper, ~upper), 500 * math.sqrt(3000) / math.sqrt(10**9 - 10**3))


# Undefined values ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("ones", "zeros", "reason", "defined"), [
    ([0, 0], [0, 0], "none of the rated items has a reference", set()),
    ([1, 2], [0, 0], "every reference rating lies at or above the boundary", {"mpa_raw"}),
    ([0, 0], [0.5, 0], "every reference rating lies below the boundary", {"mpa_raw"}),
    ([0, 2], [0, 1], "only one score was used", set(TWINS) - {"kendall_tau_b", "spearman_rho"}),
    ([1, 0], [0, 1], None, set(TWINS)),
])  # fmt: skip
def test_undefined_values_are_nan_with_a_reason(
    ones: list[float], zeros: list[float], reason: str | None, defined: set[str]
) -> None:
    for name in TWINS:
        assert math.isnan(value_of(name, ones, zeros)) == (name not in defined)
        assert undefined_reason(name, ones, zeros) == (None if name in defined else reason)
    for name in ("hm", "hm_of_means"):
        assert undefined_reason(name, ones, zeros) == undefined_reason("mpa", ones, zeros)


@given(st.one_of(COUNTS, SHARED, ANY_SIZE))
def test_a_value_is_nan_if_and_only_if_there_is_a_reason(drawn: Samples) -> None:
    for name in TWINS:
        assert math.isnan(value_of(name, *drawn)) == (undefined_reason(name, *drawn) is not None), name
        assert undefined.why_responsiveness(name, *drawn) == undefined_reason(name, *drawn)
    hm = statistics.harmonic_mean(statistics.mpa(*drawn), statistics.wra(*drawn))
    assert math.isnan(hm) == (undefined_reason("hm", *drawn) is not None)


@pytest.mark.parametrize(("given", "message"), [
    (("wra", [1, 2]), r"wra compares what .* counts_rest is missing\. Give ones as counts and zeros"),
    (("wra", [1, 2], [0, -1]), "counts_rest holds a negative weight: -1 at score 1"),
    (("precision", [1, 2], [0, 1]), r"statistic is 'precision'\. Choose one of .*ac1.*mpa_raw.*xrr"),
])  # fmt: skip
def test_reasons_check_their_input(given: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        undefined_reason(*given)


# The border ----------------------------------------------------------------------------------------------------------
FUNCTIONS = [statistics.precision, statistics.recall, *(getattr(statistics, name) for name in TWINS)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
@pytest.mark.parametrize(("weights", "message"), [
    ([[1, 2]], r"ones has the shape \(1, 2\)\. Give one row, a weight for each score"), (3, r"ones has the shape \(\)"),
    ([], "ones has 0 weights, one for each score, but a scale has at least two scores. Give a weight for every"),
    ([1], "ones has 1 weights"),
    ([1, -2], r"ones holds a negative weight: -2 at score 1, counted from 0\. Give the number of samples"),
    ([1, 2, math.nan], "ones holds a weight that is not finite: nan at score 2"),
    ([math.inf, -1], "ones holds a weight that is not finite: inf at score 0"),
    ([1, [2]], "ones has rows of unequal length"), (["a", "b"], "ones holds <U1 instead of numbers"),
    ([1, None], "ones holds object instead of numbers"), ([1j, 0], "ones holds complex128 instead of numbers"),
])  # fmt: skip
def test_weights_are_checked(function: Callable[[Any, Any], Any], weights: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        function(weights, [1, 2])
    with pytest.raises(InputError, match=message.replace("ones", "zeros", 1)):
        function([1, 2], weights)
    with pytest.raises(InputError, match=r"ones has 2 weights, but zeros has 3\. Both need one weight for each score"):
        function([1, 2], [1, 2, 3])


def test_input_is_not_changed_and_may_be_of_any_kind() -> None:
    ones, zeros = np.array([0.0, 1, 3]), np.array([4.0, 3, 1])
    for name in TWINS:
        value = value_of(name, ones, zeros)
        for kind in (list, tuple, np.int8, np.float32):
            made = [kind(v) if kind in (list, tuple) else v.astype(kind) for v in (ones, zeros)]
            assert value_of(name, *made) == value
    assert (ones.tolist(), zeros.tolist()) == ([0, 1, 3], [4, 3, 1])


def test_harmonic_mean_of_what_is_undefined_or_wrong() -> None:
    assert statistics.harmonic_mean(0, 0) == statistics.harmonic_mean(0, 0.7) == 0
    for a, b in ((math.nan, 0.5), (0.5, math.nan), (math.nan, 0), (math.nan, math.nan)):
        assert math.isnan(statistics.harmonic_mean(a, b))
    wrong: Any
    for *wrong, message in (
        (-0.25, 0.5, r"a is -0\.25\. Give one finite number, 0 or greater, or NaN\."), (math.nan, -1, r"b is -1"),
        (0.5, math.inf, "b is inf"), ([0.5, math.nan], 0.5, r"a is \[0\.5, nan\]"),
        (0.5, "x", "b holds <U1 instead of numbers"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=message):
            statistics.harmonic_mean(*wrong)
