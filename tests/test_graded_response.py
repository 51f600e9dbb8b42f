"""The graded response model against its literal likelihood, other software, simulated studies, and what must hold."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from plurivox.base.errors import InputError
from plurivox.statistics.graded import APART, AT_BOUND, GradedResponse, graded_response
from plurivox.statistics.mokken import NO_SCORE, ONE_SCORE

Array = NDArray[np.float64]
NAN = math.nan
FOUR_CUTS = np.array([-1.5, -0.5, 0.4, 1.3])
SLOPES = (1.5, 0.9, 2.0, 0.7)


# Data ----------------------------------------------------------------------------------------------------------------
class Study(NamedTuple):
    table: Array
    severity: Array
    a: Array
    b: Array


def simulated(
    n_items: int,
    slopes: Sequence[float] = SLOPES,
    cuts: Sequence[float] | Array = FOUR_CUTS,
    seed: int = 0,
    *,
    missing: float = 0.0,
) -> Study:
    """Return scores 0, 1, … by the model; each rater's cuts are shifted by an amount of its own."""
    rng = np.random.default_rng(seed)
    a = np.array(slopes)
    b = np.asarray(cuts) + np.linspace(-0.4, 0.4, len(a))[:, None]
    severity = rng.normal(size=n_items)
    reached = 1 / (1 + np.exp(-a[:, None] * (severity[:, None, None] - b)))
    table = (rng.random((n_items, len(a), 1)) < reached).sum(axis=-1).astype(float)
    table[rng.random(table.shape) < missing] = NAN
    return Study(table, severity, a, b)


def reversed_at(table: Array, *raters: int) -> Array:
    """Turn the scores of some raters around."""
    found = table.copy()
    for rater in raters:
        found[:, rater] = np.nanmax(table) + np.nanmin(table) - table[:, rater]
    return found


def close(found: object, expected: object, tolerance: float) -> bool:
    """Compare to an absolute tolerance; NaN equals NaN."""
    a, b = np.asarray(found, dtype=float), np.asarray(expected, dtype=float)
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=0, atol=tolerance, equal_nan=True))


# The literal likelihood ----------------------------------------------------------------------------------------------
def used_points(column: Array) -> Array:
    return np.unique(column[~np.isnan(column)])


def own_thresholds(found: GradedResponse, table: Array) -> list[Array]:
    """Return each fitted rater's thresholds of the points used, but the lowest."""
    return [
        found.thresholds[j, np.searchsorted(found.points, used_points(table[:, j])[1:]) - 1]
        for j in range(table.shape[1])
    ]


def literal_log_likelihood(table: Array, a: Array, b: Sequence[Array], grid: int = 61) -> float:
    theta = np.linspace(-6, 6, grid)
    weights = np.exp(-(theta**2) / 2)
    log_posterior = np.tile(np.log(weights / weights.sum()), (len(table), 1))
    for j, slope in enumerate(a.tolist()):
        if math.isnan(slope):
            continue
        with np.errstate(over="ignore"):
            reached = 1 / (1 + np.exp(-slope * (theta - b[j][:, None])))
        edges = np.vstack([np.ones(grid), reached, np.zeros(grid)])
        there = ~np.isnan(table[:, j])
        point = np.searchsorted(used_points(table[:, j]), table[there, j])
        log_posterior[there] += np.log(np.maximum(edges[:-1] - edges[1:], 1e-300))[point]
    best = log_posterior.max(axis=1)
    return float((best + np.log(np.exp(log_posterior - best[:, None]).sum(axis=1))).sum())


def parts_of(parameters: Array, sizes: Sequence[int]) -> tuple[Array, list[Array]]:
    """Take discriminations and thresholds out of one vector."""
    ends = len(sizes) + np.cumsum([0, *sizes])
    return parameters[: len(sizes)], [parameters[first:last] for first, last in itertools.pairwise(ends)]


def literal_in(table: Array, sizes: Sequence[int]) -> Callable[[Array], float]:
    return lambda parameters: literal_log_likelihood(table, *parts_of(parameters, sizes))


def gradient(function: Callable[[Array], float], at: Array, step: float = 1e-4) -> Array:
    moves = np.eye(len(at)) * step
    return np.array([(function(at + move) - function(at - move)) / (2 * step) for move in moves])


def hessian(function: Callable[[Array], float], at: Array, step: float = 1e-3) -> Array:
    n = len(at)
    moves = np.eye(n) * step
    found = np.zeros((n, n))
    for i in range(n):
        for j in range(i, n):
            up = function(at + moves[i] + moves[j]) - function(at + moves[i] - moves[j])
            down = function(at - moves[i] + moves[j]) - function(at - moves[i] - moves[j])
            found[i, j] = found[j, i] = (up - down) / (4 * step**2)
    return found


def with_gaps_in_the_scale() -> Array:
    """Return scores of raters who leave out a middle point, the top, and the bottom."""
    table = simulated(300, seed=4).table
    table[table[:, 0] == 2, 0] = 3
    table[table[:, 1] == 4, 1] = 3
    table[table[:, 2] == 0, 2] = 1
    return table


TABLES = [
    pytest.param(simulated(300, seed=1).table, id="complete"),
    pytest.param(simulated(400, seed=2, missing=0.3).table, id="missing"),
    pytest.param(simulated(300, (1.0, 1.5, 0.8), (0.2,), seed=3).table, id="binary"),
    pytest.param(reversed_at(simulated(300, (1.4, 1.0, 0.9), (-0.5, 0.6), seed=5).table, 1), id="one reversed"),
    pytest.param(with_gaps_in_the_scale(), id="points never used"),
    pytest.param(simulated(300, seed=6).table * [1, 0.5, 2, 1] - [0, 7, 0, 3], id="points of their own"),
]


@pytest.mark.parametrize("table", TABLES)
def test_the_log_likelihood_is_the_literal_one(table: Array) -> None:
    found = graded_response(table, grid=61)
    literal = literal_log_likelihood(table, found.discrimination, own_thresholds(found, table))
    assert (found.n_grid, found.log_likelihood) == (61, pytest.approx(literal, rel=1e-10, abs=1e-6))


@pytest.mark.parametrize("table", TABLES)
def test_the_literal_likelihood_is_flat_at_the_solution(table: Array) -> None:
    found = graded_response(table, grid=61)
    cuts = own_thresholds(found, table)
    parameters = np.concatenate([found.discrimination, *cuts])
    slopes = gradient(literal_in(table, [len(own) for own in cuts]), parameters)
    assert found.converged
    assert np.abs(slopes).max() < 1e-3


@pytest.mark.parametrize("seed", range(20))
def test_few_items_and_weak_raters_are_fitted_to_the_top_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes = rng.uniform(-0.5, 2, rng.integers(3, 6)).tolist()
    table = simulated(60, slopes, np.sort(rng.normal(size=2)), seed=seed, missing=float(rng.choice([0, 0.3]))).table
    found = graded_response(table, grid=61)
    cuts = own_thresholds(found, table)
    parameters = np.concatenate([found.discrimination, *cuts])
    rise = gradient(literal_in(table, [len(own) for own in cuts]), parameters, 1e-5)
    held = np.zeros(len(parameters), bool)
    held[: len(slopes)] = np.abs(found.discrimination) >= 10
    assert found.converged
    assert (rise[held] * parameters[held] >= -1e-3).all()
    assert np.abs(rise[~held]).max() < 5e-3


@pytest.mark.parametrize("table", TABLES)
def test_standard_errors_are_those_of_the_literal_likelihood(table: Array) -> None:
    found = graded_response(table, grid=61)
    cuts = own_thresholds(found, table)
    sizes = [len(own) for own in cuts]
    curvature = hessian(literal_in(table, sizes), np.concatenate([found.discrimination, *cuts]))
    errors = np.sqrt(np.diagonal(np.linalg.inv(-curvature)))
    a_se, b_se = parts_of(errors, sizes)
    np.testing.assert_allclose(found.discrimination_se, a_se, rtol=1e-3)
    own_se = own_thresholds_se(found, table)
    for own, literal in zip(own_se, b_se, strict=True):
        np.testing.assert_allclose(own, literal, rtol=1e-3)


def own_thresholds_se(found: GradedResponse, table: Array) -> list[Array]:
    return [
        found.thresholds_se[j, np.searchsorted(found.points, used_points(table[:, j])[1:]) - 1]
        for j in range(table.shape[1])
    ]


@pytest.mark.parametrize("table", TABLES)
def test_severities_are_means_and_deviations_of_the_literal_distribution(table: Array) -> None:
    found = graded_response(table, grid=61)
    theta = np.linspace(-6, 6, 61)
    probability = found.probabilities(theta)
    for item in range(0, len(table), 7):
        weights = np.exp(-(theta**2) / 2)
        for j in np.flatnonzero(~np.isnan(table[item])):
            weights = weights * probability[:, j, int(np.searchsorted(found.points, table[item, j]))]
        weights /= weights.sum()
        if np.isnan(table[item]).all():
            assert math.isnan(found.severity[item])
            continue
        mean = float(weights @ theta)
        assert close(found.severity[item], mean, 1e-8)
        assert close(found.severity_se[item], math.sqrt(float(weights @ (theta - mean) ** 2)), 1e-8)


def test_many_raters_make_the_grid_finer_until_the_likelihood_is_right() -> None:
    cuts = np.random.default_rng(7).normal(size=(150, 1))
    table = simulated(120, np.linspace(0.6, 2.4, 150).tolist(), cuts, seed=8).table
    found = graded_response(table)
    assert found.n_grid > 61
    fine = literal_log_likelihood(table, found.discrimination, own_thresholds(found, table), 3841)
    assert found.log_likelihood == pytest.approx(fine, abs=1e-3)


def test_a_finer_grid_hardly_changes_a_fit_that_is_fine_enough() -> None:
    table = simulated(300, seed=9).table
    found, finer = graded_response(table), graded_response(table, grid=481)
    assert (found.n_grid, finer.n_grid) == (61, 481)
    assert found.log_likelihood == pytest.approx(finer.log_likelihood, abs=1e-3)
    assert close(found.discrimination, finer.discrimination, 1e-3)


# Other software ------------------------------------------------------------------------------------------------------
class Fitted(NamedTuple):
    a: Array
    log_likelihood: float


def by_mirt(table: Array) -> Fitted:
    """Fit scores 0, 1, … with another program, which takes discriminations above 0 only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mirt: Any = pytest.importorskip("mirt", reason="needs mirt, another program for the same model")
        found = mirt.fit_mirt(
            np.where(np.isnan(table), -1, table).astype(int), "GRM", n_categories=int(np.nanmax(table)) + 1,
            n_quadpts=61, max_iter=5000, tol=1e-9, compute_standard_errors=False,
        )  # fmt: skip
    assert found.converged
    return Fitted(np.ravel(found.model.parameters["discrimination"]), float(found.log_likelihood))


def by_girth(table: Array) -> tuple[Array, Array]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        girth: Any = pytest.importorskip("girth", reason="needs girth, another program for the same model")
        options = {"quadrature_bounds": (-6, 6), "quadrature_n": 61, "max_iteration": 500}
        found = girth.grm_mml((table.T + 1).astype(int), options)
    return np.asarray(found["Discrimination"], float), np.asarray(found["Difficulty"], float)


def assert_like_mirt(table: Array) -> None:
    """Compare fits; raters whose scores fall with severity are turned around for the other program."""
    found = graded_response(table, grid=61)
    falling = np.flatnonzero(found.discrimination < 0).tolist()
    other = by_mirt(reversed_at(table, *falling))
    assert found.converged
    assert found.log_likelihood == pytest.approx(other.log_likelihood, abs=0.05)
    assert close(np.abs(found.discrimination), other.a, 0.03)


def assert_not_below_girth(table: Array, tolerance: float) -> None:
    """Compare with a program that stops earlier, the earlier the fewer items there are for its parameters."""
    found = graded_response(table, grid=61)
    a, b = by_girth(table)
    other = literal_log_likelihood(table, a, [own[~np.isnan(own)] for own in b])
    assert other <= found.log_likelihood + 1e-3
    assert other >= found.log_likelihood - 3
    assert close(found.discrimination, a, tolerance)


SEVEN = np.linspace(-1.8, 1.8, 6)
SIMULATED = [
    pytest.param(simulated(500, seed=11).table, id="complete"),
    pytest.param(simulated(800, (1.2, 0.9, 2.1, 1.7, 0.6, 1.0), (-0.8, 0.1, 1.0), seed=12, missing=0.4).table,
                 id="missing"),
    pytest.param(simulated(600, (1.2, 1.8, 0.8, 1.5, 1.0), (0.1,), seed=13).table, id="binary"),
    pytest.param(simulated(600, (1.4, 1.0, 0.8, 1.9), SEVEN, seed=14).table, id="seven points"),
    pytest.param(reversed_at(simulated(600, (1.4, 1.0, 0.8, 1.9), (-1, 0.5), seed=15).table, 1, 2), id="reversed"),
]  # fmt: skip


@pytest.mark.parametrize("table", SIMULATED)
def test_simulated_scores_are_fitted_as_by_mirt(table: Array) -> None:
    assert_like_mirt(table)


@pytest.mark.parametrize("table", [SIMULATED[0], SIMULATED[2], SIMULATED[3]])
def test_simulated_scores_are_fitted_at_least_as_well_as_by_girth(table: Array) -> None:
    assert_not_below_girth(table, 0.05)


def faces(real_data: Path) -> Array:
    """Return 102 faces × 12 raters who used all seven points."""
    ratings = pl.read_parquet(real_data / "faceratings" / "faceratings.parquet").sort("rater_id", "face_id")
    wide = ratings.pivot(on="rater_id", index="face_id", values="rating").drop("face_id").to_numpy()
    return wide[:, [j for j in range(wide.shape[1]) if len(used_points(wide[:, j])) == 7][:12]] - 1


def conversations(real_data: Path) -> Array:
    """Return 350 conversations × 10 raters who used all three labels."""
    order = {"No": 0.0, "Unsure": 1.0, "Yes": 2.0}
    ratings = pl.read_csv(real_data / "dices350" / "ratings.csv", schema_overrides={"rater_id": pl.String})
    ratings = ratings.with_columns(score=pl.col("Q_overall").replace_strict(order)).sort("rater_id", "item_id")
    wide = ratings.pivot(on="rater_id", index="item_id", values="score").drop("item_id").to_numpy()
    return wide[:, [j for j in range(wide.shape[1]) if len(used_points(wide[:, j])) == 3][:10]]


@pytest.mark.parametrize("data", [faces, conversations], ids=["faces", "conversations"])
def test_real_scores_are_fitted_as_by_mirt_and_girth(real_data: Path, data: Callable[[Path], Array]) -> None:
    table = data(real_data)
    assert_like_mirt(table)
    assert_not_below_girth(table, 0.2)


# Recovery ------------------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_intervals_cover_what_was_simulated() -> None:
    slopes, cuts = (1.5, 0.9, 2.0, 0.7, 1.2, 1.0), (-1.0, 0.2, 1.2)
    a_in, b_in, severity_in = [], [], []
    for seed in range(100):
        study = simulated(300, slopes, cuts, seed=1000 + seed)
        found = graded_response(study.table)
        a_in.append(np.abs(found.discrimination - study.a) <= 1.96 * found.discrimination_se)
        b_in.append(np.abs(found.thresholds - study.b) <= 1.96 * found.thresholds_se)
        severity_in.append(np.abs(found.severity - study.severity) <= 1.96 * found.severity_se)
    assert 0.93 <= np.mean(a_in) <= 0.97
    assert 0.93 <= np.mean(b_in) <= 0.97
    for rater in range(6):
        assert 0.9 <= np.mean(np.array(a_in)[:, rater]) <= 0.995
        assert 0.9 <= np.mean(np.array(b_in)[:, rater]) <= 0.99
    assert np.mean(severity_in) == pytest.approx(0.95, abs=0.015)


def test_estimates_come_close_with_many_items() -> None:
    study = simulated(20_000, (1.5, -0.9, 2.0, 0.7, 1.2), cuts=(0.3,), seed=21)
    found = graded_response(study.table)
    assert close(found.discrimination, study.a, 0.12)
    assert close(found.thresholds, study.b, 0.06)


# What must hold ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("missing", [0.0, 0.3], ids=["complete", "missing"])
def test_reversing_all_scores_reverses_severity(missing: float) -> None:
    table = simulated(300, seed=31, missing=missing).table
    found, other = graded_response(table), graded_response(-table)
    assert close(other.discrimination, found.discrimination, 1e-5)
    assert close(other.thresholds, -found.thresholds[:, ::-1], 1e-5)
    assert close(other.severity, -found.severity, 1e-5)
    assert close(other.discrimination_se, found.discrimination_se, 1e-5)
    assert close(other.thresholds_se, found.thresholds_se[:, ::-1], 1e-5)
    assert other.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-6)


def test_reversing_one_rater_turns_its_discrimination_alone() -> None:
    table = simulated(300, seed=32).table
    found, other = graded_response(table), graded_response(reversed_at(table, 1))
    assert close(other.discrimination, found.discrimination * [1, -1, 1, 1], 1e-5)
    assert close(other.thresholds[1], found.thresholds[1, ::-1], 1e-5)
    assert close(np.delete(other.thresholds, 1, axis=0), np.delete(found.thresholds, 1, axis=0), 1e-5)
    assert close(other.severity, found.severity, 1e-5)


@pytest.mark.parametrize(
    "points", [[0, 1, 2, 3, 4], [-10, 0, 0.5, 3, 1e6], [1e-9, 2e-9, 3e-9, 1, 2], [5, 6, 7, 8, 9]], ids=str
)
def test_naming_points_by_other_rising_numbers_changes_nothing(points: list[float]) -> None:
    table = simulated(200, seed=33).table
    found, other = graded_response(table), graded_response(np.array(points, float)[table.astype(int)])
    assert other.points.tolist() == points
    for name in ("discrimination", "discrimination_se", "thresholds", "thresholds_se", "severity", "severity_se"):
        assert getattr(found, name).tobytes() == getattr(other, name).tobytes()
    assert found.log_likelihood == other.log_likelihood


def test_parameters_move_with_their_raters() -> None:
    table = simulated(300, seed=34, missing=0.2).table
    order = [2, 0, 3, 1]
    found, other = graded_response(table), graded_response(table[:, order])
    assert close(other.discrimination, found.discrimination[order], 1e-6)
    assert close(other.thresholds, found.thresholds[order], 1e-6)
    assert close(other.severity, found.severity, 1e-6)


def test_the_order_of_items_is_irrelevant() -> None:
    table = simulated(300, seed=35, missing=0.2).table
    order = np.random.default_rng(0).permutation(len(table))
    found, other = graded_response(table), graded_response(table[order])
    assert close(other.discrimination, found.discrimination, 1e-8)
    assert close(other.thresholds, found.thresholds, 1e-8)
    assert close(other.severity, found.severity[order], 1e-8)


def test_the_same_scores_give_the_same_result_to_the_last_bit() -> None:
    table = simulated(300, (1.0,) * 12, (-1, 0, 1), seed=36, missing=0.2).table
    found, other = graded_response(table), graded_response(table)
    for name in ("discrimination", "discrimination_se", "thresholds", "thresholds_se", "severity", "severity_se"):
        assert getattr(found, name).tobytes() == getattr(other, name).tobytes()
    assert (found.log_likelihood, found.iterations) == (other.log_likelihood, other.iterations)


def test_the_sum_of_discriminations_is_positive_also_where_most_raters_are_reversed() -> None:
    table = reversed_at(simulated(300, seed=37).table, 0, 1, 2)
    found = graded_response(table)
    assert found.discrimination.sum() > 0
    assert found.discrimination[3] < 0


def test_items_that_nobody_rated_change_nothing_but_have_no_severity() -> None:
    table = simulated(200, seed=38).table
    found, other = graded_response(table), graded_response(np.vstack([np.full((3, 4), NAN), table]))
    assert np.isnan(other.severity[:3]).all()
    assert np.isnan(other.severity_se[:3]).all()
    assert close(other.severity[3:], found.severity, 1e-8)
    assert close(other.discrimination, found.discrimination, 1e-8)
    assert other.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-8)


def test_progress_is_told_a_likelihood_that_rises() -> None:
    told: list[tuple[int, float]] = []
    found = graded_response(simulated(200, seed=39).table, grid=61, progress=lambda n, value: told.append((n, value)))
    assert [n for n, _ in told] == list(range(1, found.iterations + 1))
    values = [value for _, value in told]
    assert all(after >= before - 1e-8 for before, after in itertools.pairwise(values))
    assert values[-1] == pytest.approx(found.log_likelihood, abs=1e-6)


# Probabilities and expected scores -----------------------------------------------------------------------------------
def test_probabilities_and_expected_scores_follow_the_formula() -> None:
    found = graded_response(reversed_at(simulated(200, seed=41).table, 2) * 2 + 1)
    theta = [-2.5, 0.0, 0.7, 30.0]
    probability, expected = found.probabilities(theta), found.expected_scores(theta)
    assert probability.shape == (4, 4, 5)
    for at, severity in enumerate(theta):
        for j in range(4):
            a, b = float(found.discrimination[j]), found.thresholds[j].tolist()
            reached = [1.0, *(1 / (1 + math.exp(-a * (severity - cut))) for cut in b), 0.0]
            literal = [reached[k] - reached[k + 1] for k in range(5)]
            assert close(probability[at, j], literal, 1e-12)
            assert close(expected[at, j], sum(p * s for p, s in zip(literal, [1, 3, 5, 7, 9], strict=True)), 1e-12)


def test_expected_scores_rise_with_severity_where_the_discrimination_is_positive() -> None:
    found = graded_response(reversed_at(simulated(300, seed=42).table, 1))
    steps = np.diff(found.expected_scores(np.linspace(-5, 5, 101)), axis=0)
    assert (steps[:, found.discrimination > 0] > 0).all()
    assert (steps[:, found.discrimination < 0] < 0).all()


def test_one_severity_and_extreme_ones_have_probabilities_too() -> None:
    found = graded_response(simulated(200, seed=43).table)
    assert found.probabilities(0.5).shape == (1, 4, 5)
    extreme = found.expected_scores([-1e6, 1e6])
    assert close(extreme, [[0] * 4, [4] * 4], 1e-9)


# Edge cases ----------------------------------------------------------------------------------------------------------
def test_raters_of_one_score_or_none_are_set_aside_with_a_reason() -> None:
    table = simulated(200, seed=51).table
    found = graded_response(np.hstack([table, np.full((200, 1), 2.0), np.full((200, 1), NAN)]))
    assert found.notes == ("", "", "", "", ONE_SCORE, NO_SCORE)
    assert np.isnan(found.discrimination[4:]).all()
    assert np.isnan(found.thresholds[4:]).all()
    assert np.isnan(found.expected_scores([0.0])[0, 4:]).all()
    assert close(found.discrimination[:4], graded_response(table).discrimination, 1e-8)


def test_points_that_a_rater_never_used_are_noted_and_have_the_thresholds_of_the_next() -> None:
    found = graded_response(with_gaps_in_the_scale())
    assert [bool(note) for note in found.notes] == [True, True, True, False]
    for note, point in zip(found.notes, "240", strict=False):
        assert "never used" in note
        assert point in note
    middle, top, bottom, whole = found.thresholds
    assert middle[1] == middle[2]
    assert not np.isnan(middle).any()
    assert np.isnan(top).tolist() == [False, False, False, True]
    assert np.isnan(bottom).tolist() == [True, False, False, False]
    assert not np.isnan(whole).any()
    assert np.isnan(found.thresholds_se).tolist() == np.isnan(found.thresholds).tolist()


def test_points_that_a_rater_never_used_have_no_probability() -> None:
    found = graded_response(with_gaps_in_the_scale())
    theta = np.linspace(-6, 6, 25)
    probability, expected = found.probabilities(theta), found.expected_scores(theta)
    assert close(probability.sum(axis=-1), np.ones((25, 4)), 1e-12)
    assert (probability >= 0).all()
    for rater, point in enumerate((2, 4, 0)):
        assert close(probability[:, rater, point], np.zeros(25), 1e-12)
    assert ((expected >= [0, 0, 1, 0]) & (expected <= [4, 3, 4, 4])).all()


@pytest.mark.parametrize("reverse", [False, True], ids=["rising", "falling"])
def test_a_reversed_rater_with_unused_points_has_probabilities_that_sum_to_1(reverse: bool) -> None:
    table = with_gaps_in_the_scale()
    found = graded_response(reversed_at(table, 0, 1, 2) if reverse else reversed_at(table, 1))
    probability = found.probabilities(np.linspace(-6, 6, 25))
    assert close(probability.sum(axis=-1), np.ones((25, 4)), 1e-12)
    assert (probability >= 0).all()


def test_identical_raters_stop_at_the_bound_and_say_so() -> None:
    table = simulated(300, seed=52).table
    found = graded_response(np.hstack([table[:, :1], table[:, :3]]))
    assert found.discrimination[:2].tolist() == [10, 10]
    assert AT_BOUND in found.notes[0]
    assert AT_BOUND in found.notes[1]
    assert np.isnan(found.discrimination_se[:2]).all()
    assert found.notes[2:] == ("", "")
    assert not np.isnan(found.discrimination_se[2:]).any()
    assert close(found.probabilities([-1, 0.3, 2]).sum(axis=-1), np.ones((3, 4)), 1e-12)


@pytest.mark.parametrize("n_raters", [1, 2])
def test_fewer_than_three_raters_end_in_nan_with_a_note(n_raters: int) -> None:
    found = graded_response(simulated(100, seed=53).table[:, :n_raters])
    assert_unfitted(found, n_raters, 100)
    assert found.note
    assert found.notes == (found.note,) * n_raters


def assert_unfitted(found: GradedResponse, n_raters: int, n_items: int) -> None:
    assert not found.converged
    assert math.isnan(found.log_likelihood)
    assert found.iterations == 0
    for numbers, shape in (
        (found.discrimination, (n_raters,)), (found.discrimination_se, (n_raters,)),
        (found.severity, (n_items,)), (found.severity_se, (n_items,)),
    ):  # fmt: skip
        assert numbers.shape == shape
        assert np.isnan(numbers).all()
    assert found.thresholds.shape == found.thresholds_se.shape == (n_raters, max(len(found.points) - 1, 0))
    assert np.isnan(found.thresholds).all()


def test_fewer_than_ten_shared_items_end_in_nan_with_a_note() -> None:
    table = simulated(30, (1, 1, 1), (-0.5, 0.5), seed=54).table
    table[9:20, 1:] = NAN
    table[20:, :2] = NAN
    found = graded_response(table)
    assert_unfitted(found, 3, 30)
    assert "9" in found.note
    assert all(found.notes)


def test_few_items_are_noted() -> None:
    found = graded_response(simulated(40, (1.5, 1.5, 1.5, 1.5), (0.0,), seed=55).table)
    assert "40" in found.note
    assert not graded_response(simulated(200, seed=55).table).note


def two_blocks() -> tuple[Array, Array, Array]:
    first = simulated(200, (1.5, 1.0, 1.8), (-0.5, 0.7), seed=56).table
    second = reversed_at(simulated(200, (1.6, 0.9, 1.2, 1.4), (-0.5, 0.7), seed=57).table, 0, 1, 2, 3)
    table = np.full((400, 7), NAN)
    table[:200, :3], table[200:, 3:] = first, second
    return table, first, second


def test_two_blocks_of_raters_who_share_no_items_are_two_fits() -> None:
    table, first, second = two_blocks()
    found, one, two = graded_response(table), graded_response(first), graded_response(second)
    assert found.discrimination[:3].sum() > 0
    assert found.discrimination[3:].sum() > 0
    assert close(found.discrimination, np.concatenate([one.discrimination, two.discrimination]), 1e-5)
    assert close(found.severity, np.concatenate([one.severity, two.severity]), 1e-5)
    assert close(found.thresholds, np.vstack([one.thresholds, two.thresholds]), 1e-5)
    assert found.log_likelihood == pytest.approx(one.log_likelihood + two.log_likelihood, abs=1e-5)


def test_raters_linked_to_too_few_others_are_set_aside_with_a_reason() -> None:
    table, first, _ = two_blocks()
    found = graded_response(table[:, :5])
    assert found.notes == ("", "", "", APART, APART)
    assert np.isnan(found.discrimination[3:]).all()
    assert np.isnan(found.severity[200:]).all()
    assert close(found.discrimination[:3], graded_response(first).discrimination, 1e-5)


def test_raters_none_of_whom_is_linked_to_two_others_end_in_nan_with_a_note() -> None:
    table, _, _ = two_blocks()
    found = graded_response(table[:, [0, 1, 3, 4]])
    assert_unfitted(found, 4, 400)
    assert found.note
    assert all(found.notes)


def test_a_block_of_raters_with_hardly_any_shared_item_is_noted_for_each_of_them() -> None:
    table, _, second = two_blocks()
    table[200:, 3:] = NAN
    table[200:206, 3:] = second[np.random.default_rng(1).integers(0, 200, 6)]
    found = graded_response(table)
    assert found.notes[:3] == ("", "", "")
    assert all(found.notes[3:])


@pytest.mark.parametrize("pairs", [((0, 1), (1, 2)), ((0, 1), (1, 2), (2, 3), (3, 0))], ids=["chain", "ring"])
def test_raters_whose_links_fix_products_of_discriminations_only_are_noted(pairs: Sequence[tuple[int, int]]) -> None:
    # Every second rater's discriminations could be larger and the others' smaller, with the same covariances.
    n_raters = 1 + max(max(pair) for pair in pairs)
    full = simulated(400, SLOPES[:n_raters], (-0.5, 0.5), seed=61).table
    table = np.full_like(full, NAN)
    for at, pair in enumerate(pairs):
        table[at :: len(pairs), pair] = full[at :: len(pairs), pair]
    found = graded_response(table)
    assert all(found.notes) or found.note


def test_parameters_that_are_too_many_for_newton_are_found_by_em_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    table = simulated(300, seed=62).table
    best = graded_response(table)
    monkeypatch.setattr("plurivox.statistics.graded_fit.MAX_PARAMETERS", 5)
    found = graded_response(table)
    assert found.converged
    assert found.iterations > best.iterations
    assert best.log_likelihood - 0.01 < found.log_likelihood <= best.log_likelihood + 1e-9
    assert close(found.discrimination, best.discrimination, 0.03)
    assert np.isnan(found.discrimination_se).all()
    assert np.isnan(found.thresholds_se).all()
    assert "standard errors" in found.note


def test_too_few_iterations_are_noted() -> None:
    found = graded_response(simulated(200, seed=58).table, max_iterations=1)
    assert not found.converged
    assert found.iterations == 1
    assert "not converged" in found.note
    assert not np.isnan(found.discrimination).any()


def test_raters_who_are_independent_are_not_fitted_in_silence() -> None:
    every = np.stack(np.meshgrid(*[[0.0, 1.0]] * 3), axis=-1).reshape(-1, 3)
    found = graded_response(np.tile(every, (10, 1)))
    assert np.abs(found.discrimination).max() < 0.3
    assert np.isnan(found.discrimination_se).all()
    assert found.note
    assert found.log_likelihood == pytest.approx(-80 * 3 * math.log(2), abs=1e-3)


@pytest.mark.parametrize("grid", [0, 1, 60, -61])
def test_a_grid_below_61_is_refused(grid: int) -> None:
    with pytest.raises(InputError, match="grid") as caught:
        graded_response(simulated(50, seed=59).table, grid=grid)
    assert caught.value.hint


def test_iterations_below_1_are_refused() -> None:
    with pytest.raises(InputError, match="max_iterations"):
        graded_response(simulated(50, seed=59).table, max_iterations=0)


BAD: list[tuple[str, object, str]] = [
    ("one dimension", [1.0, 2.0, 3.0], "shape"),
    ("three dimensions", np.zeros((2, 2, 2)), "shape"),
    ("strings", [["a", "b"], ["c", "d"]], "instead of numbers"),
    ("infinite", [[0.0, 1.0], [math.inf, 0.0]], "row 1, column 0"),
    ("too many points", np.arange(201.0).reshape(67, 3), "201 different scores"),
]


@pytest.mark.parametrize(("scores", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_is_no_table_of_scores_is_refused(scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        graded_response(scores)
    assert caught.value.hint


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (20, 1), (1, 4), (20, 4)], ids=str)
@pytest.mark.parametrize("fill", [1.0, NAN], ids=["one score", "missing"])
def test_tables_without_different_scores_end_in_nan_with_a_note(shape: tuple[int, int], fill: float) -> None:
    found = graded_response(np.full(shape, fill))
    assert_unfitted(found, shape[1], shape[0])
    assert found.note
    assert all(found.notes)


@pytest.mark.parametrize("shape", [(0, 0), (20, 0), (20, 3)], ids=str)
@pytest.mark.parametrize("fill", [1.0, NAN], ids=["one score", "missing"])
def test_without_a_fit_probabilities_and_expected_scores_are_nan(shape: tuple[int, int], fill: float) -> None:
    found = graded_response(np.full(shape, fill))
    probability, expected = found.probabilities([0.0, 1.0]), found.expected_scores([0.0, 1.0])
    assert probability.shape[:2] == expected.shape == (2, shape[1])
    assert np.isnan(probability).all()
    assert np.isnan(expected).all()


@st.composite
def tables(draw: st.DrawFn) -> Array:
    n_items, n_raters = draw(st.integers(1, 16)), draw(st.integers(1, 4))
    score = st.sampled_from([0.0, 0.0, 1.0, 1.0, 2.5, NAN])
    rows = st.lists(st.lists(score, min_size=n_raters, max_size=n_raters), min_size=n_items, max_size=n_items)
    table = np.array(draw(rows), dtype=float).reshape(n_items, n_raters)
    return np.repeat(table, draw(st.sampled_from([1, 2, 5])), axis=0)


@given(tables())
def test_small_tables_never_fail_and_no_rater_is_left_out_in_silence(table: Array) -> None:
    found = graded_response(table, max_iterations=300)
    for rater, note in enumerate(found.notes):
        a, se = found.discrimination[rater], found.discrimination_se[rater]
        assert note or not math.isnan(a)
        assert abs(a) <= 10 or math.isnan(a)
        assert not math.isnan(se) or note or found.note
        assert (abs(a) >= 10) == (AT_BOUND in note)
    fitted = ~np.isnan(found.discrimination)
    scored = ~np.isnan(table[:, fitted]).all(axis=1)
    assert (~np.isnan(found.severity)).tolist() == scored.tolist()
    assert np.isnan(found.severity_se).tolist() == np.isnan(found.severity).tolist()
    assert found.converged or found.note
    if fitted.any():
        literal = literal_log_likelihood(table, found.discrimination, own_thresholds(found, table), found.n_grid)
        assert found.log_likelihood == pytest.approx(literal, abs=1e-6)
