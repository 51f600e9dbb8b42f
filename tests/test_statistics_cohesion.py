"""Statistics of cohesion against golden values, other software, literal twins, and what must hold for all data."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

import plurivox as pv
import reference
from plurivox import statistics
from plurivox.base.errors import InputError
from plurivox.engine.draws import counts_of as group_counts
from plurivox.reproduce import published as published_table
from plurivox.reproduce.printed import RACES
from plurivox.statistics import STATISTICS, Statistic, registry, undefined, undefined_reason
from plurivox.statistics.checks import distances, tie_priorities, votes
from plurivox.statistics.cohesion import parts as parts
from plurivox.statistics.records import About
from plurivox.statistics.registry import names_of

Array = NDArray[Any]
Sides = tuple[Array, ...]
VALUES = [0.0, 1.0, 2.5, 7.0, 7.5]
LEVELS: tuple[Literal["nominal", "ordinal", "interval"], ...] = ("nominal", "ordinal", "interval")


# Data ----------------------------------------------------------------------------------------------------------------
def tables(n_points: int | None = None, n_tables: int = 1, top: int = 3) -> st.SearchStrategy[Sides]:
    """Draw tables of counts of the same shape; many cells, rows and whole tables are empty."""

    def of_shape(shape: tuple[int, int]) -> st.SearchStrategy[Sides]:
        table = arrays(np.int64, shape, elements=st.integers(0, top), fill=st.just(0))
        return st.tuples(*[table] * n_tables)

    points = st.integers(2, 5) if n_points is None else st.just(n_points)
    return st.tuples(st.integers(0, 6), points).flatmap(of_shape)


def same(value: float, twin: Fraction | float | None, tolerance: float = 1e-12) -> bool:
    """Compare with a literal twin, for which None is undefined.

    A large GAI has a small divisor, whose rounding it magnifies by its own size.
    """
    if twin is None or math.isnan(value):
        return twin is None and math.isnan(value)
    size = max(1.0, min(abs(value), abs(float(twin))))
    return math.isclose(value, float(twin), rel_tol=tolerance * size, abs_tol=tolerance)


def alike(a: float, b: float, tolerance: float = 1e-12) -> bool:
    return same(a, None if math.isnan(b) else b, tolerance)


def counted(columns: Sequence[Sequence[int | None]], n_points: int) -> Array:
    """Count raters' columns of scores, None where a rater did not rate."""
    rows = [[column[i] for column in columns] for i in range(len(columns[0]))]
    return np.array([[row.count(point) for point in range(n_points)] for row in rows])


def counted_items(items: Sequence[Sequence[object]], points: Sequence[object]) -> Array:
    return np.array([[list(item).count(point) for point in points] for item in items])


# Golden values -------------------------------------------------------------------------------------------------------
def groups_of(golden: dict[str, Any], table: str) -> Callable[[Sequence[str]], Array]:
    columns = golden["inputs"][table]
    return lambda raters: counted([columns[rater] for rater in raters], len(golden["inputs"]["scale"]))


def test_alpha_against_golden(golden: dict[str, Any]) -> None:
    for case in golden["alpha"]:
        counts = groups_of(golden, case["table"])(case["raters"])
        value = statistics.krippendorff_alpha(counts, case["level"])
        assert same(value, case["alpha"]), case
        assert same(value, Fraction(case["fraction"])), case


def test_xrr_against_golden(golden: dict[str, Any]) -> None:
    for case in golden["xrr"]:
        if "table" in case:
            group = groups_of(golden, case["table"])
            a, b = group(case["X"]), group(case["Y"])
        else:
            points = sorted({rating for item in case["X"] + case["Y"] for rating in item})
            a, b = counted_items(case["X"], points), counted_items(case["Y"], points)
        assert same(statistics.xrr(a, b, case["level"]), Fraction(case["fraction"])), case
        for wrong in case.get("wrong_variants", {}).values():
            assert not same(statistics.xrr(a, b, case["level"]), wrong)


def test_gai_against_golden(golden: dict[str, Any]) -> None:
    case, group = golden["gai"], groups_of(golden, golden["gai"]["table"])
    g1, g2 = group(golden["inputs"]["g1"]), group(golden["inputs"]["g2"])
    assert same(statistics.gai(g1, g2), case["gai_g1"])
    assert same(statistics.gai(g2, g1), case["gai_g2"])
    case, group = golden["plurality_negentropy"], groups_of(golden, "missing")
    g1, g2 = group(golden["inputs"]["g1"]), group(golden["inputs"]["g2"])
    cross = case["cross_negentropy_g1_given_g2"]["add_half"]
    assert same(statistics.gai_negentropy(g1, g2), case["g1"]["negentropy_ln"] / cross if cross > 0 else None)
    votes = Fraction(case["voting_agreement_g1_g2"]["ties_share_fraction"])
    size = Fraction(case["g1"]["plurality_fraction"])
    assert same(statistics.gai_plurality(g1, g2), size / votes if votes > 0 else None)


def test_means_and_votes_against_golden(golden: dict[str, Any]) -> None:
    case, group = golden["plurality_negentropy"], groups_of(golden, "missing")
    g1, g2 = group(golden["inputs"]["g1"]), group(golden["inputs"]["g2"])
    for name, counts in (("g1", g1), ("g2", g2), ("all", g1 + g2)):
        assert same(statistics.plurality_size(counts), Fraction(case[name]["plurality_fraction"]))
        assert same(statistics.negentropy(counts), case[name]["negentropy_ln"])
    cross = case["cross_negentropy_g1_given_g2"]
    assert same(statistics.cross_negentropy(g1, g2), cross["add_half"])
    assert same(statistics.cross_negentropy(g1, g2, 1.0), cross["add_one"])
    assert statistics.cross_negentropy(g1, g2, 0) == -math.inf
    assert same(statistics.cross_negentropy(g2, g1), case["cross_negentropy_g2_given_g1_add_half"])
    voting = case["voting_agreement_g1_g2"]
    assert same(statistics.voting_agreement(g1, g2), Fraction(voting["ties_share_fraction"]))
    assert same(statistics.voting_agreement(g1, g2, "lowest"), Fraction(voting["tie_lowest_fraction"]))
    drawn = [statistics.voting_agreement(g1, g2, "random", seed=seed) for seed in range(3000)]
    assert (min(drawn), max(drawn)) == pytest.approx((voting["min"], voting["max"]), abs=1e-12)
    # Of 3000 draws from six equally likely outcomes of sd about .09 the mean is within .09/√3000·5 ≈ .008.
    assert float(np.mean(drawn)) == pytest.approx(voting["mean_over_all_tie_resolutions"], abs=0.008)


def test_grasp_table_5(real_data: Path) -> None:
    """The 104 kept raters of DICES-350 give the published values of 20 groups to three decimals."""
    folder = real_data / "dices350"
    ratings = pv.read_ratings(folder / "ratings.csv", scale="No,Unsure,Yes", raters=folder / "raters.csv")
    ratings = ratings.where(raters={"removed": "False"})
    published = {(row["axis"], row["group"]): row for row in published_table("grasp_table5").to_dicts()}
    names = ["irr", "xrr", "gai", "negentropy", "cross_negentropy", "plurality_size"]
    compared = 0
    for by in ("age", "gender", "race", ("race", "gender")):
        axis = pv.Axis.of(ratings, by, min_group_size=1)
        counts = group_counts(ratings, axis)
        for code, group in enumerate(axis.groups):
            short = group.replace(" × ", ", ")
            for name, long in RACES.items():
                short = short.replace(long, name)
            row = published[axis.name.replace("×", "x"), short]
            own, rest = counts[:, code], counts.sum(axis=1) - counts[:, code]
            for name in names:
                function = STATISTICS[name].function
                assert function is not None
                sides = (own, rest) if STATISTICS[name].needs == "pair" else (own,)
                options = {"convention": "published"} if name == "cross_negentropy" else {}
                assert abs(function(*sides, **options) - float(row[name])) <= 0.0005 + 1e-9, (group, name)
                compared += 1
    assert compared == 120


# Other software ------------------------------------------------------------------------------------------------------
@given(arrays(np.int64, st.tuples(st.integers(2, 5), st.integers(1, 7)), elements=st.integers(-1, 3)))
def test_alpha_against_krippendorff(table: Array) -> None:
    counts = np.stack([(table == point).sum(axis=0) for point in range(4)], axis=1)
    scores = np.where(table < 0, np.nan, table.astype(float))
    assume(np.count_nonzero(counts[counts.sum(axis=1) > 1].sum(axis=0)) > 1)  # else it raises
    for level in LEVELS:
        theirs = krippendorff.alpha(scores, level_of_measurement=level, value_domain=[0.0, 1.0, 2.0, 3.0])
        assert statistics.krippendorff_alpha(counts, level) == pytest.approx(theirs, abs=1e-10)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=9))
def test_xrr_of_two_raters_against_cohen_kappa(pairs: list[tuple[int, int]]) -> None:
    a, b = (np.eye(5, dtype=int)[[pair[side] for pair in pairs]] for side in (0, 1))
    assert same(statistics.xrr(a, b), reference.cohen_kappa(pairs, reference.nominal))
    quadratic = reference.cohen_kappa(pairs, reference.interval(range(5)))
    assert same(statistics.xrr(a, b, "interval"), quadratic)
    assert same(statistics.xrr(a, b, distances("interval", a)), quadratic)


# Literal twins -------------------------------------------------------------------------------------------------------
Items = list[list[int]]


def _alpha(items: Items, level: str) -> Fraction | None:
    return reference.alpha(items, _delta(level, reference.pairable(items)))


def _xrr(a: Items, b: Items, level: str) -> Fraction | None:
    own, rest = reference.shared(a, b)
    return reference.xrr(a, b, _delta(level, own + rest))


def _delta(level: str, pooled: list[int]) -> reference.Distance:
    return {
        "nominal": reference.nominal, "ordinal": reference.ordinal(pooled), "interval": reference.interval(VALUES),
    }[level]  # fmt: skip


ONE_SIDED: dict[str, Callable[[Items, int], Fraction | float | None]] = {
    "irr": lambda items, _: _alpha(items, "nominal"),
    "plurality_size": lambda items, _: reference.plurality_size(items),
    "percent_agreement": lambda items, _: reference.percent_agreement(items),
    "negentropy": reference.negentropy,
    "ac1": lambda items, n_points: reference.ac(items, n_points, reference.identity_weight),
    "ac2": lambda items, n_points: reference.ac(items, n_points, reference.quadratic_weight(range(n_points))),
}
TWO_SIDED: dict[str, Callable[[Items, Items, int], Fraction | float | None]] = {
    "xrr": lambda a, b, _: _xrr(a, b, "nominal"),
    "gai": lambda a, b, _: reference.gai(_alpha(a, "nominal"), _xrr(a, b, "nominal")),
    "cross_negentropy": reference.cross_negentropy,
    "gai_negentropy": lambda a, b, n: reference.gai(reference.negentropy(a, n), reference.cross_negentropy(a, b, n)),
    "gai_plurality": lambda a, b, _: reference.gai(reference.plurality_size(a), reference.voting_agreement(a, b)),
    "voting_agreement": lambda a, b, _: reference.voting_agreement(a, b),
}


@given(tables())
def test_one_sided_statistics_against_twins(sides: Sides) -> None:
    items, n_points = reference.ratings_of(sides[0]), sides[0].shape[1]
    for name, twin in ONE_SIDED.items():
        assert same(value_of(name, sides), twin(items, n_points)), name


@given(tables(n_tables=2))
def test_two_sided_statistics_against_twins(sides: Sides) -> None:
    a, b = (reference.ratings_of(side) for side in sides)
    for name, twin in TWO_SIDED.items():
        assert same(value_of(name, sides), twin(a, b, sides[0].shape[1])), name


@given(tables(5, 2), st.sampled_from(LEVELS))
def test_levels_against_twins(sides: Sides, level: str) -> None:
    x, y = sides
    a, b = reference.ratings_of(x), reference.ratings_of(y)
    irr, cross = _alpha(a, level), _xrr(a, b, level)
    assert same(statistics.krippendorff_alpha(x, level, values=VALUES), irr)
    assert same(statistics.xrr(x, y, level, values=VALUES), cross)
    assert same(statistics.gai(x, y, level, values=VALUES), reference.gai(irr, cross))


@given(tables(5, 2))
def test_values_and_matrices_against_twins(sides: Sides) -> None:
    x, y = sides
    a, b = reference.ratings_of(x), reference.ratings_of(y)
    assert same(statistics.ac2(x, values=VALUES), reference.ac(a, 5, reference.quadratic_weight(VALUES)))
    matrix = [[abs(c - k) + (c != k) * 3 * (c == 2 or k == 2) for k in range(5)] for c in range(5)]
    distance = reference.custom(matrix)
    assert same(statistics.krippendorff_alpha(x, matrix), reference.alpha(a, distance))
    assert same(statistics.xrr(x, y, matrix), reference.xrr(a, b, distance))


@given(tables(n_tables=2), st.sampled_from([0.0, 0.1, 1.0]))
def test_smoothing_and_convention_against_twins(sides: Sides, smoothing: float) -> None:
    x, y = sides
    a, b, n_points = reference.ratings_of(x), reference.ratings_of(y), x.shape[1]
    assert same(statistics.cross_negentropy(x, y, smoothing), reference.cross_negentropy(a, b, n_points, smoothing))
    published = statistics.cross_negentropy(x, y, convention="published")
    assert same(published, reference.cross_negentropy(a, b, n_points, published=True))


@given(
    st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(st.integers(-1, 2), min_size=n, max_size=n), max_size=5)),
    st.lists(st.integers(0, 3), min_size=4, max_size=4),
)
def test_weighted_raters_against_twin(scores: list[list[int]], weights: list[int]) -> None:
    """A bootstrap over raters counts copies as weights; the finishes take Σw² for the pairs that chance leaves out."""
    rated = [[(c, w) for c, w in zip(row, weights, strict=False) if c >= 0] for row in scores]
    coincidences, self_pairs = np.zeros((3, 3)), 0
    for item in rated:
        W, Q = sum(w for _, w in item), sum(w * w for _, w in item)
        if W * W > Q:
            n = np.array([sum(w for c, w in item if c == point) for point in range(3)])
            off = W / (W * W - Q) * np.outer(n, n) * (1 - np.eye(3))
            coincidences += off + np.diag(n - off.sum(axis=1))
            self_pairs += Q
    kept = [item for item in rated if sum(w for _, w in item) ** 2 > sum(w * w for _, w in item)]
    pooled = [c for item in kept for c, w in item for _ in range(w)]
    diagonal, marginals = np.trace(coincidences), coincidences.sum(axis=1)
    twin = reference.weighted_alpha(rated, reference.nominal)
    assert same(float(parts.alpha_nominal_from(diagonal, marginals, self_pairs=self_pairs)), twin, 1e-10)
    assert same(float(parts.alpha_from(coincidences, self_pairs=self_pairs)), twin, 1e-10)
    twin = reference.weighted_alpha(rated, reference.ordinal(pooled))
    assert same(float(parts.alpha_from(coincidences, "ordinal", self_pairs=self_pairs)), twin, 1e-10)
    values = np.arange(3.0)
    disagreement = (coincidences * distances("interval", marginals)).sum()
    twin = reference.weighted_alpha(rated, reference.interval(range(3)))
    value = parts.alpha_interval_from(disagreement, marginals, values, self_pairs=self_pairs)
    assert same(float(value), twin, 1e-10)


# Sums over items and finishes ----------------------------------------------------------------------------------------
Contribute = Callable[..., Array]
Finish = Callable[[Array], Array]
NUMBERS = np.arange(4.0)


def _one(finish: Callable[..., Array], *extra: Any) -> Finish:
    """Finish [number, vector]."""
    return lambda s: finish(s[..., 0], s[..., 1:], *extra)


def _two(finish: Callable[..., Array], *extra: Any) -> Finish:
    """Finish [number, vector of four, vector of four]."""
    return lambda s: finish(s[..., 0], s[..., 1:5], s[..., 5:], *extra)


def _mean(finish: Callable[..., Array], *extra: Any) -> Finish:
    """Finish [sum, count]."""
    return lambda s: finish(s[..., 0], s[..., 1], *extra)


def _ac(*extra: Any) -> Finish:
    return lambda s: parts.ac_from(s[..., 0], s[..., 1], s[..., 2], s[..., 3:], *extra)


def _gai(s: Array) -> Array:
    irr, cross = _one(parts.alpha_nominal_from)(s[..., :5]), _two(parts.xrr_nominal_from)(s[..., 5:])
    return parts.gai_from(irr, cross)


def _ratio(within: str, cross: str, split: int) -> tuple[Contribute, Finish]:
    """Return what two statistics contribute side by side, and the ratio of what is finished of both."""
    (one, first), (two, second) = ADDITIVE[within], ADDITIVE[cross]
    return (
        lambda x, y: np.concatenate([one(x), two(x, y)], axis=-1),
        lambda s: parts.gai_from(first(s[..., :split]), second(s[..., split:])),
    )


# For each statistic, and on four points: what items contribute, and how their sum is finished.
# fmt: off
ADDITIVE: dict[str, tuple[Contribute, Finish]] = {
    "irr": (parts.alpha_nominal_parts, _one(parts.alpha_nominal_from)),
    "irr interval": (lambda n: parts.alpha_interval_parts(n, NUMBERS), _one(parts.alpha_interval_from, NUMBERS)),
    "irr ordinal": (parts.alpha_parts, lambda s: parts.alpha_from(s, "ordinal")),
    "xrr": (parts.xrr_nominal_parts, _two(parts.xrr_nominal_from)),
    "xrr interval": (lambda x, y: parts.xrr_interval_parts(x, y, NUMBERS), _two(parts.xrr_interval_from, NUMBERS)),
    "xrr ordinal": (parts.xrr_parts, lambda s: parts.xrr_from(s[..., :4, :], s[..., 4, :], s[..., 5, :], "ordinal")),
    "gai": (lambda x, y: np.concatenate([parts.alpha_nominal_parts(x), parts.xrr_nominal_parts(x, y)], axis=-1), _gai),
    "plurality_size": (parts.plurality_parts, _mean(parts.ratio)),
    "percent_agreement": (parts.percent_agreement_parts, _mean(parts.ratio)),
    "negentropy": (parts.entropy_parts, _mean(parts.negentropy_from, 4)),
    "cross_negentropy": (parts.cross_entropy_parts, _mean(parts.negentropy_from, 4)),
    "voting_agreement": (lambda x, y: parts.voting_parts(votes(x), votes(y)), _two(parts.voting_from)),
    "ac1": (parts.ac_parts, _ac()), "ac2": (lambda n: parts.ac_parts(n, NUMBERS), _ac(NUMBERS)),
}  # fmt: skip
# fmt: on
FURTHER = ("fleiss_kappa", "icc1", "icc1k", "ndfu")
"""Statistics with files of their own, whose oracles are in test_statistics_agreement."""
ABOUT = About(4, NUMBERS)


def _of_record(name: str) -> tuple[Contribute, Finish]:
    record = STATISTICS[name]
    contribution, finish = STATISTICS[record.source].contribution, record.finish
    assert contribution is not None
    assert finish is not None
    return lambda n: contribution(n, None, ABOUT), lambda s: finish({record.source: s}, ABOUT, {})


ADDITIVE |= {name: _of_record(name) for name in FURTHER}
ADDITIVE |= {
    "gai_negentropy": _ratio("negentropy", "cross_negentropy", 2),
    "gai_plurality": _ratio("plurality_size", "voting_agreement", 2),
}


def sides_of(name: str, sides: Sides) -> Sides:
    return sides if STATISTICS[name.split()[0]].needs == "pair" else sides[:1]


def value_of(name: str, sides: Sides) -> float:
    """Return a statistic, named as in the registry, with a level after it if need be."""
    function = STATISTICS[name.split()[0]].function
    assert function is not None
    return function(*sides_of(name, sides), *name.split()[1:])


@given(tables(4, 2), st.integers(0, 6))
def test_sums_of_two_parts_of_the_items_make_the_whole(sides: Sides, cut: int) -> None:
    for name, (contribute, finish) in ADDITIVE.items():
        used = sides_of(name, sides)
        first = contribute(*(side[:cut] for side in used)).sum(axis=0)
        second = contribute(*(side[cut:] for side in used)).sum(axis=0)
        assert alike(float(finish(first + second)), value_of(name, sides)), name


@given(tables(4, 2), st.lists(st.integers(0, 2), min_size=6, max_size=6))
def test_weights_of_items_are_copies(sides: Sides, weights: list[int]) -> None:
    times = np.array(weights[: len(sides[0])], dtype=int)
    for name, (contribute, finish) in ADDITIVE.items():
        weighed = np.tensordot(times, contribute(*sides_of(name, sides)), axes=1)
        copies = tuple(np.repeat(side, times, axis=0) for side in sides)
        assert alike(float(finish(weighed)), value_of(name, copies)), name


@pytest.mark.parametrize("name", ADDITIVE)
def test_groups_pass_through_contributions_and_draws_through_finishes(name: str) -> None:
    contribute, finish = ADDITIVE[name]
    rng = np.random.default_rng(1)
    sides = sides_of(name, (rng.integers(0, 3, (6, 3, 5, 4)), rng.integers(0, 3, (6, 3, 5, 4))))
    for side in sides:
        side[:, 0, 0] = 0  # undefined beside defined
    summed = contribute(*sides).sum(axis=0)
    values = finish(summed)
    assert values.shape == (3, 5)
    for draw, group in np.ndindex(3, 5):
        assert alike(float(values[draw, group]), value_of(name, tuple(side[:, draw, group] for side in sides)))
    assert np.isnan(values[0, 0])


@given(tables(n_tables=2))
def test_products_of_matrices_are_the_sums_of_parts(sides: Sides) -> None:
    x, y = sides
    np.testing.assert_allclose(parts.alpha_sum(x), parts.alpha_parts(x).sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(parts.xrr_sum(x, y), parts.xrr_parts(x, y).sum(axis=0), atol=1e-12)
    by_row, B = parts.alpha_sum(x).sum(axis=1), parts.xrr_sum(x, y)
    np.testing.assert_allclose(by_row, x[x.sum(axis=1) > 1].sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(B[:-2].sum(), B[-2:].sum(), atol=1e-12)  # B sums to R + S


def test_finishes_of_large_whole_numbers_do_not_overflow() -> None:
    # Halves on each of two points, three of four coincidences agree: 1 − (1/4)/(1/2) = 1/2, n large.
    n = 4 * 10**9
    marginals = np.array([n // 2, n // 2])
    assert float(parts.alpha_nominal_from(3 * (n // 4), marginals)) == pytest.approx(0.5, abs=1e-8)
    assert float(parts.xrr_nominal_from(3 * (n // 2), marginals, marginals)) == pytest.approx(0.5, abs=1e-12)


# Properties over the registry ----------------------------------------------------------------------------------------
COUNTED = [r for r in STATISTICS.values() if r.function is not None and r.needs in ("group", "pair")]


def test_every_statistic_is_classified_and_tested() -> None:
    assert list(STATISTICS) == [record.name for record in STATISTICS.values()]
    assert {name for name, record in STATISTICS.items() if record.function is None} == {
        *("dsi", "hm", "hm_of_means", "closest_gap", "mokken_h", "grm_a", "icc_a1", "icc_ak", "icc_c1", "icc_ck"),
        *("leniency", "dominance", "drift"), *names_of("judged"), *names_of("hidden"),
        *(record.name for record in registry.ESTIMATED),
    }  # fmt: skip
    assert {*ONE_SIDED, *FURTHER} == {record.name for record in COUNTED if record.needs == "group"}
    assert set(TWO_SIDED) == {record.name for record in COUNTED if record.needs == "pair"}
    assert {name.split()[0] for name in ADDITIVE} == {record.name for record in COUNTED}
    assert all(record.why is not None for record in COUNTED)
    public = {getattr(statistics, name) for name in statistics.__all__ if not name[:1].isupper()}
    beside = {undefined_reason, statistics.precision, statistics.recall, statistics.harmonic_mean}
    beside |= {statistics.posterior_mean, statistics.expected_entropy, statistics.information_gain}
    beside |= {statistics.mean_interval, statistics.share_interval, statistics.ratings_needed}
    beside |= {statistics.fit_prior, statistics.modes, statistics.advantage}
    beside |= {statistics.mokken_h, statistics.mokken_scales, statistics.monotonicity, statistics.graded_response}
    beside |= {statistics.cohen_kappa, statistics.icc}
    beside |= {statistics.pit, statistics.pit_histogram, statistics.reliability, statistics.calibration_slope}
    assert {record.function for record in STATISTICS.values()} - {None} == public - beside
    assert len(statistics.__all__) == len(set(statistics.__all__))


@pytest.mark.parametrize("record", STATISTICS.values(), ids=lambda record: record.name)
def test_every_record_speaks(record: Statistic) -> None:
    for text in (record.equation, record.meaning, record.higher_means, record.reference):
        assert text
        assert not text.endswith(".")
    assert record.range[0] < record.range[1]
    assert record.needs in ("pair", "sides") or not record.symmetric
    if record.function is not None:
        assert "References\n" in (record.function.__doc__ or "")
        assert "Examples\n" in (record.function.__doc__ or "")


@given(tables(n_tables=2), st.randoms(use_true_random=False))
def test_order_of_items_and_direction_of_the_scale_do_not_matter(sides: Sides, random: Any) -> None:
    order = random.sample(range(len(sides[0])), len(sides[0]))
    for record in COUNTED:
        value = value_of(record.name, sides)
        assert alike(value_of(record.name, tuple(side[order] for side in sides)), value), record.name
        assert alike(value_of(record.name, tuple(side[:, ::-1] for side in sides)), value), record.name
    for name in ("irr ordinal", "irr interval", "xrr ordinal", "xrr interval", "gai ordinal", "gai interval"):
        assert alike(value_of(name, tuple(side[:, ::-1] for side in sides)), value_of(name, sides)), name


@given(tables(n_tables=2))
def test_range_and_symmetry(sides: Sides) -> None:
    for record in COUNTED:
        value = value_of(record.name, sides)
        low, high = record.range
        assert math.isnan(value) or low - 1e-12 <= value <= high + 1e-12, record.name
        if record.symmetric:
            assert alike(value_of(record.name, sides[::-1]), value), record.name
    for name in ("xrr ordinal", "xrr interval"):
        assert alike(value_of(name, sides[::-1]), value_of(name, sides)), name


@pytest.mark.parametrize("record", [r for r in COUNTED if r.needs == "pair"], ids=lambda record: record.name)
def test_what_is_called_asymmetric_is(record: Statistic) -> None:
    a, b = np.array([[3, 0, 1], [0, 2, 2], [1, 4, 0]]), np.array([[2, 1, 0], [0, 1, 4], [0, 3, 0]])
    assert alike(value_of(record.name, (a, b)), value_of(record.name, (b, a))) is record.symmetric


@given(tables(n_tables=2))
def test_unrated_items_and_twice_the_items(sides: Sides) -> None:
    twice = tuple(np.concatenate([side, side]) for side in sides)
    padded = tuple(np.concatenate([side, np.zeros_like(side)]) for side in sides)
    for record in COUNTED:
        value = value_of(record.name, sides)
        assert alike(value_of(record.name, padded), value), record.name
        doubled = value_of(record.name, twice)
        if record.name == "irr":  # D_e has n(n − 1) below: twice the data, (1 − α) grows by (2n − 1)/(2n − 2)
            n = sides[0][sides[0].sum(axis=1) > 1].sum()
            assert alike(1 - doubled, (1 - value) * (2 * n - 1) / (2 * n - 2) if n else math.nan)
        elif record.name == "voting_agreement":
            n = 2 * ((sides[0].sum(axis=1) > 0) & (sides[1].sum(axis=1) > 0)).sum()
            assert alike(1 - doubled, (1 - value) * (2 * n - 1) / (2 * n - 2) if n else math.nan)
        elif record.name not in ("gai", "gai_plurality", "icc1", "icc1k"):  # whose parts move as alpha does
            assert alike(doubled, value), record.name


@given(tables(4, 2))
def test_relabelling_points_leaves_nominal_statistics_alone(sides: Sides) -> None:
    moved = tuple(side[:, [2, 0, 3, 1]] for side in sides)
    for record in COUNTED:
        if record.name not in ("ac2", "icc1", "icc1k", "ndfu"):
            assert alike(value_of(record.name, moved), value_of(record.name, sides)), record.name


@given(tables(4, 2))
def test_unit_and_origin_of_values_do_not_matter(sides: Sides) -> None:
    plain, moved = [0.0, 1.0, 3.0, 4.0], [1e9, 1e9 + 5, 1e9 + 15, 1e9 + 20]
    a, b = sides
    functions: list[Callable[[list[float]], float]] = [
        lambda v: statistics.krippendorff_alpha(a, "interval", values=v),
        lambda v: statistics.xrr(a, b, "interval", values=v),
        lambda v: statistics.ac2(a, values=v),
    ]
    for function in functions:
        for values in (moved, [0, 1e200, 3e200, 4e200], [-4e-200, -3e-200, -1e-200, 0], [-1e308, -5e307, 5e307, 1e308]):
            assert alike(function(values), function(plain))
    far = np.array(moved)  # the finishes are as steady without the border's help
    assert alike(
        float(parts.xrr_interval_from(*_split(parts.xrr_interval_parts(a, b, far)), far)),
        statistics.xrr(a, b, "interval", values=plain),
    )
    matrix = distances("interval", a, np.array(plain))
    assert alike(statistics.krippendorff_alpha(a, matrix * 1e300), statistics.krippendorff_alpha(a, matrix))


def _split(contributions: Array) -> tuple[Any, Array, Array]:
    summed = contributions.sum(axis=0)
    return summed[0], summed[1:5], summed[5:]


@given(tables(2, 2))
def test_on_two_points_every_level_is_nominal(sides: Sides) -> None:
    for name in ("irr", "xrr", "gai"):
        for level in ("ordinal", "interval"):
            assert alike(value_of(f"{name} {level}", sides), value_of(name, sides))
    assert alike(statistics.ac2(sides[0]), statistics.ac1(sides[0]))


# Edge cases ----------------------------------------------------------------------------------------------------------
EMPTY, ALONE, PAIR = [[0, 0], [0, 0]], [[1, 0], [0, 1]], [[2, 0], [0, 2]]
ONE_POINT = [[3, 0], [2, 0]]
EVEN = [[1, 1], [1, 1]]


ALONE_SAID, ONE_SAID = "no item has two ratings", "everyone gave the same point"
BOTH_SAID = "no item was rated by both sides"
CHANCE_SAID = "cross-agreement is not above chance, so the ratio says nothing"


@pytest.mark.parametrize(("name", "sides", "reason"), [
    ("irr", [EMPTY], ALONE_SAID), ("irr", [ALONE], ALONE_SAID), ("irr", [ONE_POINT], ONE_SAID),
    ("irr", [[[3, 0], [0, 1]]], ONE_SAID),  # the other rating has no partner
    ("xrr", [[[1, 1], [0, 0]], [[0, 0], [2, 0]]], BOTH_SAID), ("xrr", [EMPTY, PAIR], BOTH_SAID),
    ("xrr", [ONE_POINT, ONE_POINT], ONE_SAID), ("gai", [ALONE, PAIR], ALONE_SAID), ("gai", [PAIR, EMPTY], BOTH_SAID),
    ("gai", [PAIR, EVEN], CHANCE_SAID), ("gai", [PAIR, PAIR[::-1]], CHANCE_SAID),  # XRR = 0, XRR = −1
    ("plurality_size", [EMPTY], "no item was rated"), ("negentropy", [EMPTY], "no item was rated"),
    ("percent_agreement", [ALONE], ALONE_SAID), ("ac1", [ALONE], ALONE_SAID), ("ac2", [EMPTY], ALONE_SAID),
    ("cross_negentropy", [PAIR, EMPTY], BOTH_SAID), ("voting_agreement", [EMPTY, PAIR], BOTH_SAID),
    ("voting_agreement", [[[2, 1]], [[1, 0]]], "both sides chose the same point for every item"),
])  # fmt: skip
def test_undefined_values_are_nan_with_a_reason(name: str, sides: list[list[list[int]]], reason: str) -> None:
    assert math.isnan(value_of(name, tuple(map(np.array, sides))))
    assert undefined_reason(name, *sides) == reason


@given(tables(n_tables=2), st.sampled_from(LEVELS))
def test_a_value_is_nan_if_and_only_if_there_is_a_reason(sides: Sides, level: str) -> None:
    for record in COUNTED:
        name = f"{record.name} {level}" if record.name in ("irr", "xrr", "gai") else record.name
        reason = undefined_reason(record.name, sides[0], sides[1], level)
        assert math.isnan(value_of(name, sides)) == (reason is not None), name


def test_reasons_from_sums() -> None:
    assert undefined.why_irr(np.zeros(3), n_raters=1) == "a group of one cannot agree with itself"
    assert undefined.why_irr(np.array([2.0, 0, 2])) is None
    assert undefined.why_mean(0.0, "pairable", n_raters=1) == "a group of one cannot agree with itself"
    assert undefined.why_mean(0.0, "common") == "no item was rated by both sides"
    assert undefined.why_mean(3.0) is None
    why = STATISTICS["gai"].why
    assert why is not None
    sums = {name: np.array([2.0, 0, 2]) for name in ("marginals", "own", "rest")}
    none = dict.fromkeys(sums, np.zeros(3))
    assert why(sums, About(3, np.arange(3.0)), {"xrr": np.array(0.4)}, 2) is None
    assert why(none, About(3, np.arange(3.0)), {"xrr": np.array(math.nan)}, None) == ALONE_SAID
    flat = [[0, 0, 1], [0, 0, 1], [1, 1, 0]]  # the first two points are the same thing
    reason = "the level puts no distance between the points given"
    assert math.isnan(statistics.krippendorff_alpha([[1, 1, 0]], flat))
    assert undefined_reason("irr", [[1, 1, 0]], level=flat) == reason
    assert math.isnan(statistics.xrr([[1, 0, 0]], [[0, 2, 0]], flat))
    assert undefined_reason("xrr", [[1, 0, 0]], [[0, 2, 0]], flat) == reason
    between = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]  # a distance within one side is none across the sides
    assert math.isnan(statistics.xrr([[1, 1, 0]], [[0, 0, 2]], between))
    assert undefined_reason("xrr", [[1, 1, 0]], [[0, 0, 2]], between) == reason
    with pytest.raises(InputError, match="statistic is 'dsi'"):
        undefined_reason("dsi", PAIR)
    with pytest.raises(InputError, match="gai compares two sides"):
        undefined_reason("gai", PAIR)


def test_whether_a_ratio_has_a_reason_depends_on_the_numbers_of_the_points() -> None:
    """Two items: one side says 0, 0 and 2, the other 0, 1, 1 and 0; the points stand for 0, 1, 5 or for 0, 1, 2.

    Within items, differences are 4 of 6 squared units 1, and 25 or 4; 5 and 3 ratings are in them. Any ratings of the
    two sides differ by 1, 25 and 16 (or 1, 4 and 1) in 4 of 16 pairs each. So XRR is 1 - (5/8 · 2/3 + 3/8 · 25) / 10.5,
    which is above chance, or 1 - (5/8 · 2/3 + 3/8 · 4) / 1.5, which is not.
    """
    own, rest = [[2, 0, 0], [0, 0, 2]], [[1, 2, 0], [1, 0, 0]]
    for values, cross in (([0, 1, 5], 1 - (5 / 12 + 75 / 8) / 10.5), ([0, 1, 2], 1 - (5 / 12 + 3 / 2) / 1.5)):
        assert statistics.xrr(own, rest, "interval", values=values) == pytest.approx(cross)
        reason = undefined_reason("gai", own, rest, "interval", values=values)
        assert reason == (None if cross > 0 else undefined.NOT_ABOVE_CHANCE)


def test_no_items_at_all() -> None:
    none = np.zeros((0, 3), dtype=int)
    for record in COUNTED:
        assert math.isnan(value_of(record.name, (none, none)))
    assert math.isnan(statistics.krippendorff_alpha(none, "ordinal"))
    assert math.isnan(statistics.voting_agreement(none, none, "random"))


def test_a_cross_agreement_of_rounding_is_not_above_chance() -> None:
    """X and Y are evenly spread on every item, so XRR is 0; sums of thirds leave a trace of rounding."""
    assert math.isnan(float(parts.gai_from(0.3, 2.2e-16)))
    a = np.array([[1, 1, 1], [1, 1, 1], [2, 2, 2]])
    b = np.array([[1, 1, 1], [3, 3, 3], [1, 1, 1]])
    assert abs(statistics.xrr(a, b)) < 1e-12
    assert math.isnan(statistics.gai(a, b))


@example([0.1, 0.7, 0.9], 3)
@given(st.lists(st.floats(0, 9), min_size=3, max_size=3, unique=True), st.integers(2, 50))
def test_one_point_is_undefined_at_any_value(values: list[float], times: int) -> None:
    """A variance of equal numbers must not be a trace of rounding, by which 0/0 would become 1."""
    assume(np.diff(sorted(values)).min() > 1e-6)
    counts = [[0, times, 0], [0, 3, 0]]
    assert math.isnan(statistics.krippendorff_alpha(counts, "interval", values=sorted(values)))
    assert math.isnan(statistics.xrr(counts, counts, "interval", values=sorted(values)))


def test_unanimous_items_on_different_points() -> None:
    counts = [[4, 0, 0], [0, 0, 2], [0, 3, 0]]
    for name in ("irr", "plurality_size", "percent_agreement", "ac1", "ac2"):
        assert value_of(name, (np.array(counts),)) == 1.0
    assert statistics.negentropy(counts) == math.log(3)
    for level in LEVELS:
        assert statistics.krippendorff_alpha(counts, level) == 1.0
        assert statistics.xrr(counts, counts, level) == 1.0
    assert statistics.voting_agreement(counts, counts) == 1.0
    assert statistics.cross_negentropy(counts, counts, 0) == math.log(3)
    for function in (statistics.ac1, statistics.ac2, statistics.percent_agreement):
        assert function(ONE_POINT) == 1.0  # where everyone gave one point, which is undefined for alpha


def test_one_item_by_hand() -> None:
    # Ratings A A B: of six ordered pairs four disagree, and the item is all there is: D_o = D_e, α = 0.
    assert statistics.krippendorff_alpha([[2, 1]]) == pytest.approx(0, abs=1e-15)
    assert same(statistics.plurality_size([[2, 1]]), Fraction(2, 3))
    assert same(statistics.percent_agreement([[2, 1]]), Fraction(1, 3))
    # p_a = 1/3, π = (2/3, 1/3), p_e = 2·(2/9)/1 = 4/9: (1/3 − 4/9)/(5/9) = −1/5
    assert same(statistics.ac1([[2, 1]]), Fraction(-1, 5))
    # One rating a side, A against B: D_o = D_e = 1.
    assert statistics.xrr([[1, 0]], [[0, 1]]) == 0
    # Two votes that differ: n = 2, D_o = 1, D_e = 2/(2·1) = 1.
    assert statistics.voting_agreement([[1, 0]], [[0, 1]]) == 0


def test_ordinal_xrr_by_hand() -> None:
    # Pairs (0,0), (1,2), (2,2): X = (1,1,1), Y = (1,0,2), pooled (2,1,3), mid-ranks 1, 2.5, 4.5. Each pair has the
    # same weight: D_o = (0 + 2² + 0)/3 = 4/3. D_e = (δ10 + δ20 + 2·δ02 + 2·δ12)/9 = (1.5² + 3·3.5² + 2·2²)/9 = 47/9.
    # XRR = 1 − (4/3)/(47/9) = 1 − 12/47 = 35/47.
    eye = np.eye(3, dtype=int)
    assert same(statistics.xrr(eye[[0, 1, 2]], eye[[0, 2, 2]], "ordinal"), Fraction(35, 47))


@pytest.mark.parametrize("n", [1, 9, 999])
def test_xrr_has_no_lower_bound(n: int) -> None:
    # Item 1: X gave A once, Y gave B n times; item 2: X gave B n times, Y gave A once. Nobody agrees, D_o = 1, and
    # both marginals are (1, n), so that D_e = 2n/(n + 1)²: XRR = 1 − (n + 1)²/(2n).
    value = statistics.xrr([[1, 0], [0, n]], [[0, n], [1, 0]])
    assert same(value, 1 - Fraction((n + 1) ** 2, 2 * n))


def test_ac2_can_be_below_minus_one() -> None:
    # Of five pairs four are (0, 2) with weight 0, and one half each of (0, 1), (1, 2) with weight 3/4; doubled:
    # p_a = 2·(3/4)/10 = 3/20; π = (9/20, 1/10, 9/20), Σw/(L(L−1)) = 1, p_e = 2·(9/20)(11/20) + 9/100 = 117/200.
    counts = [[1, 0, 1]] * 8 + [[1, 1, 0], [0, 1, 1]]
    assert same(statistics.ac2(counts), Fraction(3 * 10 - 117, 200 - 117))


# Ties ----------------------------------------------------------------------------------------------------------------
def test_votes_by_hand() -> None:
    counts = np.array([[2, 2, 1], [0, 0, 0], [0, 1, 3]])
    assert votes(counts).tolist() == [[0.5, 0.5, 0], [0, 0, 0], [0, 0, 1]]
    assert votes(counts, "lowest").tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    first, second = (np.array([row] * 3, dtype=np.uint64) for row in ([3, 2, 9], [1, 2, 9]))
    assert votes(counts, "random", first).tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert votes(counts, "random", second).tolist() == [[0, 1, 0], [0, 0, 0], [0, 0, 1]]


def test_random_ties_depend_on_seed_item_point_and_side_alone() -> None:
    ids = ["a", "b", 7, "7"]
    drawn = tie_priorities(ids, 3, seed=5, side=0)
    assert np.array_equal(drawn[::-1], tie_priorities(ids[::-1], 3, seed=5, side=0))
    assert np.array_equal(drawn[2], drawn[3])  # an id is its text
    assert np.array_equal(drawn[:, :2], tie_priorities(ids, 2, seed=5, side=0))
    others = [tie_priorities(ids, 3, seed=5, side=1), tie_priorities(ids, 3, seed=6, side=0)]
    assert len({*drawn[:3].ravel().tolist(), *(n for other in others for n in other[:3].ravel().tolist())}) == 27
    # Pinned: a change of the hash would change published results.
    assert tie_priorities(["item 1"], 2, seed=0, side=0).tolist() == [[60146802750443841, 6857756200172412191]]


def test_random_ties_are_fair() -> None:
    drawn = tie_priorities(range(30_000), 3, seed=0, side=1)
    share = np.bincount(drawn.argmax(axis=1), minlength=3) / 30_000
    assert share == pytest.approx([1 / 3] * 3, abs=5 * math.sqrt(2 / 9 / 30_000))
    assert np.corrcoef(drawn.astype(float), rowvar=False)[np.triu_indices(3, 1)] == pytest.approx(0, abs=0.03)


def test_random_ties_follow_the_ids_when_items_move() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 3, (40, 4)), rng.integers(0, 3, (40, 4))
    ids, order = [f"item {i}" for i in range(40)], rng.permutation(40)
    moved = statistics.voting_agreement(a[order], b[order], "random", seed=3, items=[ids[i] for i in order])
    assert moved == pytest.approx(statistics.voting_agreement(a, b, "random", seed=3, items=ids), abs=1e-12)
    named = statistics.voting_agreement(a, b, "random", items=[str(i) for i in range(40)])
    assert named == statistics.voting_agreement(a, b, "random")
    assert len({statistics.voting_agreement(a, b, "random", seed=seed) for seed in range(20)}) > 5


# The border ----------------------------------------------------------------------------------------------------------
MATRIX_HINT = "symmetric 2 × 2 matrix"


@pytest.mark.parametrize(("counts", "message"), [
    ([1, 2], r"counts has the shape \(2,\)\. Give a table of items × points"),
    ([[[1, 2]]], r"counts has the shape \(1, 1, 2\)"), ([[1], [2]], "counts has 1 columns"),
    ([[1, 2], [3]], "counts has rows of unequal length"),
    ([[1, -2]], "counts holds a negative count: -2 in row 0, column 1"),
    ([[1, 0], [0.5, 2]], r"counts holds a count that is not a whole number: 0\.5 in row 1, column 0"),
    ([[1, math.nan]], "not finite or too large: nan"), ([[1, math.inf]], "not finite or too large: inf"),
    ([[1, 1e300]], "not finite or too large: 1e"), ([["a", "b"]], "counts holds <U1 instead of numbers"),
    ([[1, None]], "counts holds object instead of numbers"),
])  # fmt: skip
def test_counts_are_checked(counts: Any, message: str) -> None:
    for record in COUNTED:
        assert record.function is not None
        sides = ([[1, 2]], counts) if record.needs == "pair" else (counts,)
        name = {"group": "counts", "pair": "counts_rest" if record.name.startswith("gai") else "counts_b"}[record.needs]
        with pytest.raises(InputError, match=message.replace("counts", name, 1)):
            record.function(*sides)


@pytest.mark.parametrize("function", [r.function for r in COUNTED if r.needs == "pair"])
def test_sides_have_to_match(function: Callable[..., float]) -> None:
    for other in ([[1, 2, 3]], [[1, 2], [3, 4]]):
        with pytest.raises(InputError, match=r"has the shape \(1, 2\), but counts_\w+ has \(\d, \d\)"):
            function([[1, 2]], other)


@pytest.mark.parametrize(("level", "message"), [
    ("ratio", "level is 'ratio'. Choose one of nominal, ordinal, interval, or a matrix"),
    ([[0, 1, 2]] * 3, r"level has the shape \(3, 3\).*" + MATRIX_HINT), ([[0, 1], [2, 0]], "level is not symmetric"),
    ([[1, 1], [1, 0]], "level puts a point at a distance from itself"), ([[0, -1], [-1, 0]], "negative or not finite"),
    ([[0, math.inf], [math.inf, 0]], "negative or not finite"),
    ([[0, math.nan], [math.nan, 0]], "negative or not finite"), (None, "level holds object"),
])  # fmt: skip
def test_levels_are_checked(level: Any, message: str) -> None:
    function: Any
    for function, sides in ((statistics.krippendorff_alpha, 1), (statistics.xrr, 2), (statistics.gai, 2)):
        with pytest.raises(InputError, match=message):
            function(*[PAIR] * sides, level)


@pytest.mark.parametrize("values", [[1], [1, 1], [2, 1], [0, math.nan], [-math.inf, 0], [[0, 1]], [0, 1, 2]])
def test_values_are_checked(values: Any) -> None:
    with pytest.raises(InputError, match=r"values is .*Give 2 finite numbers"):
        statistics.krippendorff_alpha(PAIR, "interval", values=values)
    with pytest.raises(InputError, match="values is"):
        statistics.ac2(PAIR, values=values)
    with pytest.raises(InputError, match="values is"):
        statistics.gai(PAIR, PAIR, values=values)


def test_other_arguments_are_checked() -> None:
    with pytest.raises(InputError, match="clearly larger"):  # values too close to tell apart
        statistics.ac2([[1, 1, 0]], values=[0, 1e-200, 1])
    with pytest.raises(InputError, match=r"ties is 'coin'\. Choose one of share, lowest, random"):
        statistics.voting_agreement(PAIR, PAIR, "coin")
    with pytest.raises(InputError, match="items has 3 ids for 2 items"):
        statistics.voting_agreement(PAIR, PAIR, "random", items=["a", "b", "c"])
    with pytest.raises(InputError, match="convention is 'paper'"):
        statistics.cross_negentropy(PAIR, PAIR, convention="paper")
    for smoothing in (-1, math.nan, math.inf, [1, 2]):
        with pytest.raises(InputError, match="smoothing is"):
            statistics.cross_negentropy(PAIR, PAIR, smoothing)  # type: ignore[arg-type]


@pytest.mark.parametrize("level", ["ordinal", np.zeros((1001, 1001))], ids=["ordinal", "matrix"])
def test_long_scales_have_no_matrix(level: Any) -> None:
    counts = np.zeros((2, 1001), dtype=int)
    with pytest.raises(InputError, match=r"on 1,001 points, but at most 1,000 are supported"):
        statistics.krippendorff_alpha(counts, level)
    with pytest.raises(InputError, match=r"on 1,001 points"):
        statistics.xrr(counts, counts, level)


def test_long_scales_without_a_matrix() -> None:
    """A scale of 32,767 points, two raters an item: interval alpha from moments equals that of the squeezed scale."""
    rng = np.random.default_rng(4)
    scores = np.sort(rng.choice(32_767, 12, replace=False)).reshape(6, 2)
    counts = np.zeros((6, 32_767), dtype=np.int8)
    counts[np.arange(6)[:, None], scores] = 1
    used = np.unique(scores)
    for level in ("nominal", "interval"):
        squeezed = statistics.krippendorff_alpha(counts[:, used], level, values=used)
        assert alike(statistics.krippendorff_alpha(counts, level), squeezed, 1e-11)
        squeezed = statistics.xrr(counts[:3][:, used], counts[3:][:, used], level, values=used)
        assert alike(statistics.xrr(counts[:3], counts[3:], level), squeezed, 1e-11)
    assert math.isfinite(statistics.ac2(counts))
