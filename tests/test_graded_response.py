"""The graded response model against its literal likelihood, other software, simulated studies, and what must hold."""

from __future__ import annotations

import itertools
import math
import re
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


def own(found: GradedResponse, table: Array, values: Array | None = None) -> list[Array]:
    """Return of each fitted rater's thresholds, or of their errors, those of the points used, but the lowest."""
    values = found.thresholds if values is None else values
    raters = range(table.shape[1])
    return [values[j, np.searchsorted(found.points, used_points(table[:, j])[1:]) - 1] for j in raters]


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
def test_the_log_likelihood_is_the_literal_one_and_flat_at_the_solution(table: Array) -> None:
    found = graded_response(table, grid=61)
    cuts = own(found, table)
    literal = literal_log_likelihood(table, found.discrimination, cuts)
    assert (found.n_grid, found.converged) == (61, True)
    assert found.log_likelihood == pytest.approx(literal, rel=1e-10, abs=1e-6)
    slopes = gradient(literal_in(table, [len(one) for one in cuts]), np.concatenate([found.discrimination, *cuts]))
    assert np.abs(slopes).max() < 1e-3


@pytest.mark.parametrize("seed", range(20))
def test_few_items_and_weak_raters_are_fitted_to_the_top_too(seed: int) -> None:
    rng = np.random.default_rng(seed)
    slopes = rng.uniform(-0.5, 2, rng.integers(3, 6)).tolist()
    table = simulated(60, slopes, np.sort(rng.normal(size=2)), seed=seed, missing=float(rng.choice([0, 0.3]))).table
    found = graded_response(table, grid=61)
    cuts = own(found, table)
    parameters = np.concatenate([found.discrimination, *cuts])
    rise = gradient(literal_in(table, [len(one) for one in cuts]), parameters, 1e-5)
    held = np.zeros(len(parameters), bool)
    held[: len(slopes)] = np.abs(found.discrimination) >= 10
    assert found.converged
    assert (rise[held] * parameters[held] >= -1e-3).all()
    assert np.abs(rise[~held]).max() < 5e-3


@pytest.mark.parametrize("table", TABLES)
def test_standard_errors_are_those_of_the_literal_likelihood(table: Array) -> None:
    found = graded_response(table, grid=61)
    cuts = own(found, table)
    sizes = [len(one) for one in cuts]
    curvature = hessian(literal_in(table, sizes), np.concatenate([found.discrimination, *cuts]))
    errors = np.sqrt(np.diagonal(np.linalg.inv(-curvature)))
    theirs = np.concatenate([found.discrimination_se, *own(found, table, found.thresholds_se)])
    np.testing.assert_allclose(theirs, errors, rtol=1e-3)


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
    fine = literal_log_likelihood(table, found.discrimination, own(found, table), 3841)
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
SIMULATED = {
    "complete": simulated(500, seed=11).table,
    "missing": simulated(800, (1.2, 0.9, 2.1, 1.7, 0.6, 1.0), (-0.8, 0.1, 1.0), seed=12, missing=0.4).table,
    "binary": simulated(600, (1.2, 1.8, 0.8, 1.5, 1.0), (0.1,), seed=13).table,
    "seven points": simulated(600, (1.4, 1.0, 0.8, 1.9), SEVEN, seed=14).table,
    "reversed": reversed_at(simulated(600, (1.4, 1.0, 0.8, 1.9), (-1, 0.5), seed=15).table, 1, 2),
}


@pytest.mark.parametrize("name", SIMULATED)
def test_simulated_scores_are_fitted_as_by_mirt_and_at_least_as_well_as_by_girth(name: str) -> None:
    assert_like_mirt(SIMULATED[name])
    if name not in ("missing", "reversed"):
        assert_not_below_girth(SIMULATED[name], 0.05)


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
    for name, change in (("discrimination", 1), ("discrimination_se", 1), ("severity", -1)):
        assert close(getattr(other, name), change * getattr(found, name), 1e-5)
    assert close(other.thresholds, -found.thresholds[:, ::-1], 1e-5)
    assert close(other.thresholds_se, found.thresholds_se[:, ::-1], 1e-5)
    assert other.log_likelihood == pytest.approx(found.log_likelihood, abs=1e-6)
    turned = graded_response(reversed_at(table, 1))  # one rater's scores, and so its discrimination, alone
    assert close(turned.discrimination, found.discrimination * [1, -1, 1, 1], 1e-5)
    assert close(turned.thresholds[1], found.thresholds[1, ::-1], 1e-5)
    assert close(np.delete(turned.thresholds, 1, axis=0), np.delete(found.thresholds, 1, axis=0), 1e-5)
    assert close(turned.severity, found.severity, 1e-5)


NAMES = ("discrimination", "discrimination_se", "thresholds", "thresholds_se", "severity", "severity_se")


def same(found: GradedResponse, other: GradedResponse) -> None:
    """Compare two results bit by bit."""
    assert [getattr(found, name).tobytes() for name in NAMES] == [getattr(other, name).tobytes() for name in NAMES]
    assert (found.log_likelihood, found.iterations) == (other.log_likelihood, other.iterations)


@pytest.mark.parametrize(
    "points", [[0, 1, 2, 3, 4], [-10, 0, 0.5, 3, 1e6], [1e-9, 2e-9, 3e-9, 1, 2], [5, 6, 7, 8, 9]], ids=str
)
def test_naming_points_by_other_rising_numbers_changes_nothing(points: list[float]) -> None:
    table = simulated(200, seed=33).table
    other = graded_response(np.array(points, float)[table.astype(int)])
    assert other.points.tolist() == points
    same(graded_response(table), other)


def test_parameters_move_with_their_raters_and_severities_with_their_items() -> None:
    table = simulated(300, seed=34, missing=0.2).table
    found = graded_response(table)
    same(found, graded_response(table))
    raters, items = [2, 0, 3, 1], np.random.default_rng(0).permutation(len(table))
    for order, moved, least in ((raters, table[:, raters], 1e-6), (range(4), table[items], 1e-8)):
        other = graded_response(moved)
        assert close(other.discrimination, found.discrimination[order], least)
        assert close(other.thresholds, found.thresholds[order], least)
        assert close(other.severity, found.severity if order is raters else found.severity[items], least)


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
    assert (probability.shape, found.probabilities(0.5).shape) == ((4, 4, 5), (1, 4, 5))
    for at, severity in enumerate(theta):
        for j in range(4):
            a, b = float(found.discrimination[j]), found.thresholds[j].tolist()
            reached = [1.0, *(1 / (1 + math.exp(-a * (severity - cut))) for cut in b), 0.0]
            literal = [reached[k] - reached[k + 1] for k in range(5)]
            assert close(probability[at, j], literal, 1e-12)
            assert close(expected[at, j], sum(p * s for p, s in zip(literal, [1, 3, 5, 7, 9], strict=True)), 1e-12)
    falling = found.discrimination < 0
    assert close(found.expected_scores([-1e6, 1e6]), [np.where(falling, 9, 1), np.where(falling, 1, 9)], 1e-9)


def test_expected_scores_rise_with_severity_where_the_discrimination_is_positive() -> None:
    found = graded_response(reversed_at(simulated(300, seed=42).table, 1))
    steps = np.diff(found.expected_scores(np.linspace(-5, 5, 101)), axis=0)
    assert (steps[:, found.discrimination > 0] > 0).all()
    assert (steps[:, found.discrimination < 0] < 0).all()


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
        assert re.search(f"never used.*{point}|{point}.*never used", note)
    middle, top, bottom, whole = found.thresholds
    assert middle[1] == middle[2]
    assert not np.isnan([middle, whole]).any()
    assert np.isnan([top, bottom]).tolist() == [[False, False, False, True], [True, False, False, False]]
    assert np.isnan(found.thresholds_se).tolist() == np.isnan(found.thresholds).tolist()
    theta = np.linspace(-6, 6, 25)
    probability, expected = found.probabilities(theta), found.expected_scores(theta)
    for rater, unused in enumerate((2, 4, 0)):
        assert close(probability[:, rater, unused], np.zeros(25), 1e-12)
    assert ((expected >= [0, 0, 1, 0]) & (expected <= [4, 3, 4, 4])).all()


@pytest.mark.parametrize("raters", [(), (1,), (0, 1, 2)], ids=str)
def test_reversed_raters_with_unused_points_have_probabilities_that_sum_to_1(raters: tuple[int, ...]) -> None:
    found = graded_response(reversed_at(with_gaps_in_the_scale(), *raters))
    probability = found.probabilities(np.linspace(-6, 6, 25))
    assert close(probability.sum(axis=-1), np.ones((25, 4)), 1e-12)
    assert (probability >= 0).all()


def test_identical_raters_stop_at_the_bound_and_say_so() -> None:
    table = simulated(300, seed=52).table
    found = graded_response(np.hstack([table[:, :1], table[:, :3]]))
    assert found.discrimination[:2].tolist() == [10, 10]
    assert [AT_BOUND in note for note in found.notes] == [True, True, False, False]
    assert np.isnan(found.discrimination_se).tolist() == [True, True, False, False]
    assert found.notes[2:] == ("", "")
    assert close(found.probabilities([-1, 0.3, 2]).sum(axis=-1), np.ones((3, 4)), 1e-12)


def test_too_few_raters_items_or_links_end_in_nan_with_a_note() -> None:
    for n_raters in (1, 2):
        found = graded_response(simulated(100, seed=53).table[:, :n_raters])
        assert_unfitted(found, n_raters, 100)
        assert found.notes == (found.note,) * n_raters
    table = simulated(30, (1, 1, 1), (-0.5, 0.5), seed=54).table
    table[9:20, 1:] = NAN
    table[20:, :2] = NAN
    found = graded_response(table)  # nine items are shared
    assert_unfitted(found, 3, 30)
    assert "9" in found.note
    assert_unfitted(graded_response(two_blocks()[0][:, [0, 1, 3, 4]]), 4, 400)  # none is linked to two others
    assert "40" in graded_response(simulated(40, (1.5, 1.5, 1.5, 1.5), (0.0,), seed=55).table).note  # few, but enough
    assert not graded_response(simulated(200, seed=55).table).note


def assert_unfitted(found: GradedResponse, n_raters: int, n_items: int) -> None:
    assert not found.converged
    assert math.isnan(found.log_likelihood)
    assert found.iterations == 0
    assert found.note
    assert all(found.notes)
    steps = (n_raters, max(len(found.points) - 1, 0))
    each: list[tuple[int, ...]] = [(n_raters,), (n_raters,), steps, steps, (n_items,), (n_items,)]
    shapes = dict(zip(NAMES, each, strict=True))
    for name, shape in shapes.items():
        assert getattr(found, name).shape == shape
        assert np.isnan(getattr(found, name)).all()
    probability, expected = found.probabilities([0.0, 1.0]), found.expected_scores([0.0, 1.0])
    assert probability.shape[:2] == expected.shape == (2, n_raters)
    assert np.isnan(probability).all()
    assert np.isnan(expected).all()


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
    for name in ("discrimination", "severity", "thresholds"):
        assert close(getattr(found, name), np.concatenate([getattr(one, name), getattr(two, name)]), 1e-5)
    assert found.log_likelihood == pytest.approx(one.log_likelihood + two.log_likelihood, abs=1e-5)


def test_raters_linked_to_too_few_others_are_set_aside_with_a_reason() -> None:
    table, first, _ = two_blocks()
    found = graded_response(table[:, :5])
    assert found.notes == ("", "", "", APART, APART)
    assert np.isnan(found.discrimination[3:]).all()
    assert np.isnan(found.severity[200:]).all()
    assert close(found.discrimination[:3], graded_response(first).discrimination, 1e-5)


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


@pytest.mark.parametrize("given", [*({"grid": grid} for grid in (0, 1, 60, -61)), {"max_iterations": 0}], ids=str)
def test_a_grid_below_61_and_iterations_below_1_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=next(iter(given))) as caught:
        graded_response(simulated(50, seed=59).table, **given)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, 2.0, 3.0], "shape"), (np.zeros((2, 2, 2)), "shape"), ([["a", "b"], ["c", "d"]], "instead of numbers"),
        ([[0.0, 1.0], [math.inf, 0.0]], "row 1, column 0"), (np.arange(201.0).reshape(67, 3), "201 different scores"),
    ],
)  # fmt: skip
def test_what_is_no_table_of_scores_is_refused(scores: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        graded_response(scores)
    assert caught.value.hint


@pytest.mark.parametrize("shape", [(0, 0), (0, 4), (4, 0), (20, 0), (20, 1), (1, 4), (20, 3), (20, 4)], ids=str)
@pytest.mark.parametrize("fill", [1.0, NAN], ids=["one score", "missing"])
def test_tables_without_different_scores_end_in_nan_with_a_note(shape: tuple[int, int], fill: float) -> None:
    assert_unfitted(graded_response(np.full(shape, fill)), shape[1], shape[0])


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
        literal = literal_log_likelihood(table, found.discrimination, own(found, table), found.n_grid)
        assert found.log_likelihood == pytest.approx(literal, abs=1e-6)
