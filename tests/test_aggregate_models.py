"""Models that take one point of each item for true, beside crowd-kit, brute force, and a known truth."""

from __future__ import annotations

import itertools
import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, logsumexp

import plurivox as pv
from crowd_kit.freeze import ROUNDS_DS, ROUNDS_MACE, STUDIES, study
from plurivox.base.errors import InputError
from plurivox.domain.part import cut
from plurivox.lenses.aggregate import fits
from plurivox.lenses.aggregate.fits import ORDERED, LabelModel, Start, dawid_skene, mace, ordinal

FROZEN = json.loads((Path(__file__).parent / "crowd_kit" / "values.json").read_text())


def rated(rows: Any, n_points: int | None = None) -> pv.Ratings:
    frame = pl.DataFrame(rows, schema=["item", "rater", "score"], orient="row")
    top = int(frame["score"].max()) if n_points is None else n_points - 1  # type: ignore[arg-type]
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, top))


def graded(
    seed: int, n_items: int, n_raters: int, n_points: int, per_item: int
) -> tuple[pv.Ratings, NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return ratings as the ordinal model has them, with the true points, precisions and biases."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_points, size=n_items)
    precision, bias = rng.uniform(1.5, 5.0, n_raters), rng.normal(0, 0.5, n_raters)
    rows = []
    for i in range(n_items):
        for r in rng.choice(n_raters, per_item, replace=False).tolist():
            seen = truth[i] + bias[r] + rng.logistic() / precision[r]
            rows.append((f"i{i:04}", f"r{r:03}", int(np.clip(np.rint(seen), 0, n_points - 1))))
    return rated(rows, n_points), truth, precision, bias


# crowd-kit -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", FROZEN)
def test_dawid_skene_and_mace_against_crowd_kit(name: str) -> None:
    case, ratings = FROZEN[name], rated(FROZEN[name]["ratings"])
    assert [list(row) for row in study(*STUDIES[name])] == case["ratings"]
    start = Start(*(np.array(case["mace"]["start"][what]) for what in ("knows", "guesses")))
    for model, rounds, found, error in (  # Dawid and Skene's of theirs end at 1e-10
        ("dawid_skene", ROUNDS_DS, dawid_skene(ratings, max_iterations=ROUNDS_DS, tolerance=-1.0), 1e-9),
        ("mace", ROUNDS_MACE, mace(ratings, max_iterations=ROUNDS_MACE, tolerance=-1.0, start=start), 1e-12),
    ):
        assert np.abs(found.posterior - np.array(case[model]["probabilities"])).max() < error
        assert found.posterior.argmax(axis=1).tolist() == case[model]["labels"]
        if model == "dawid_skene":
            assert (found.iterations, found.converged) == (rounds, False)


# Brute force ---------------------------------------------------------------------------------------------------------
def of_raters(ratings: pv.Ratings, log_errors: NDArray[Any], shares: NDArray[Any]) -> float:
    """Return the log-likelihood of ratings, item by item; log_errors are raters × said × true."""
    total = 0.0
    for i in range(ratings.n_items):
        own = slice(int(ratings.offsets[i]), int(ratings.offsets[i + 1]))
        logs = np.log(shares)
        for rater, score in zip(ratings.codes_of_raters[own], ratings.scores[own], strict=True):
            logs = logs + log_errors[rater, score]
        total += float(logsumexp(logs))
    return total


def ordered(precision: NDArray[Any], bias: NDArray[Any], n_points: int) -> NDArray[Any]:
    """Return the logarithms of what raters say, raters × said × true, from differences of the logistic function."""
    said, true = np.arange(n_points)[:, None], np.arange(n_points)[None, :]
    a, b = precision[:, None, None], bias[:, None, None]
    upto = np.where(said < n_points - 1, expit(a * (said + 0.5 - true) - b), 1.0)
    below = np.where(said > 0, expit(a * (said - 0.5 - true) - b), 0.0)
    found: NDArray[Any] = np.log(upto - below)
    return found


def test_the_ordinal_model_is_where_scipy_finds_the_maximum() -> None:
    ratings, *_ = graded(3, n_items=40, n_raters=5, n_points=3, per_item=4)
    n, n_points = ratings.n_raters, 3

    def value(at: NDArray[Any]) -> float:
        precision, bias = np.exp(at[:n]), at[n : 2 * n]
        shares = np.exp(at[2 * n :] - logsumexp(at[2 * n :]))
        own = ORDERED[0] * (np.log(precision) - ORDERED[1] * precision) - ORDERED[2] * bias**2 / 2
        return -(of_raters(ratings, ordered(precision, bias, n_points), shares) + float(own.sum()))

    found = ordinal(ratings, tolerance=1e-13, max_iterations=20_000)
    precision, bias = found.raters["precision"], found.raters["bias"] * found.raters["precision"]
    shares = np.nanmean(found.posterior, axis=0)
    here = np.concatenate([np.log(precision), bias, np.log(shares)])
    assert found.converged
    assert found.log_likelihood == pytest.approx(-value(here), abs=1e-6)
    best = minimize(value, np.zeros(2 * n + n_points), method="BFGS", options={"gtol": 1e-4})
    assert -best.fun == pytest.approx(found.log_likelihood, abs=1e-4)
    assert np.exp(best.x[:n]) == pytest.approx(precision, abs=0.01)


def test_the_ordinal_model_on_two_points_is_dawid_and_skenes_of_raters_better_than_chance() -> None:
    rng = np.random.default_rng(8)
    truth = rng.integers(2, size=300)
    hit, alarm = rng.uniform(0.6, 0.9, 8), rng.uniform(0.1, 0.4, 8)
    rows = [(i, r, int(rng.random() < (hit if truth[i] else alarm)[r])) for i in range(300) for r in range(8)]
    ratings, tight = rated(rows), {"tolerance": 1e-14, "max_iterations": 50_000}
    two, free = ordinal(ratings, prior=(0.0, 0.0, 0.0), **tight), dawid_skene(ratings, **tight)  # type: ignore[arg-type]
    assert two.log_likelihood == pytest.approx(free.log_likelihood, abs=1e-5)
    assert two.posterior == pytest.approx(free.posterior, abs=1e-4)


def test_rounds_of_dawid_skene_and_of_the_ordinal_model_only_go_uphill() -> None:
    ratings, *_ = graded(5, n_items=60, n_raters=12, n_points=5, per_item=4)
    for model in (dawid_skene, ordinal):
        each = [model(ratings, max_iterations=n, tolerance=-1.0).log_likelihood for n in range(1, 25)]
        assert all(later >= before - 1e-9 for before, later in itertools.pairwise(each)), model


def test_dawid_skene_ends_at_a_maximum_of_the_likelihood() -> None:
    ratings, *_ = graded(6, n_items=50, n_raters=4, n_points=3, per_item=4)
    found = dawid_skene(ratings, tolerance=1e-13, max_iterations=20_000)
    counts = np.zeros((4, 3, 3))
    for i in range(ratings.n_items):
        own = slice(int(ratings.offsets[i]), int(ratings.offsets[i + 1]))
        for rater, score in zip(ratings.codes_of_raters[own], ratings.scores[own], strict=True):
            counts[rater, score] += found.posterior[i]
    errors = np.maximum(counts / counts.sum(axis=1, keepdims=True), 1e-12)
    shares = found.posterior.mean(axis=0)
    top = of_raters(ratings, np.log(errors), shares)
    assert top == pytest.approx(found.log_likelihood, abs=1e-4)
    rng = np.random.default_rng(0)
    for _ in range(200):  # no step nearby is better
        other = errors * np.exp(rng.normal(0, 0.02, errors.shape))
        near = shares * np.exp(rng.normal(0, 0.02, 3))
        assert of_raters(ratings, np.log(other / other.sum(axis=1, keepdims=True)), near / near.sum()) < top + 1e-6


# A known truth -------------------------------------------------------------------------------------------------------
def test_the_ordinal_model_finds_the_truth_and_the_raters() -> None:
    ratings, truth, precision, bias = graded(1, n_items=600, n_raters=40, n_points=5, per_item=6)
    found = ordinal(ratings)
    right = float(np.mean(found.posterior.argmax(axis=1) == truth))
    counts = ratings.counts()
    assert right > np.mean(counts.argmax(axis=1) == truth) + 0.1
    assert right > np.mean(dawid_skene(ratings).posterior.argmax(axis=1) == truth)
    assert np.corrcoef(found.raters["bias"], bias)[0, 1] > 0.97
    assert np.corrcoef(found.raters["precision"], precision)[0, 1] > 0.8


@pytest.mark.parametrize("model", [dawid_skene, mace])
def test_raters_who_only_guess_are_seen_through(model: Any) -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(3, size=200)
    rows = [(i, f"good{r}", int(truth[i]) if rng.random() < 0.9 else int(rng.integers(3)))
            for i in range(200) for r in range(4)]  # fmt: skip
    rows += [(i, f"guess{r}", 0 if r < 3 else int(rng.integers(3))) for i in range(200) for r in range(5)]
    ratings = rated(rows)
    found = model(ratings)
    assert np.mean(found.posterior.argmax(axis=1) == truth) > 0.97 > np.mean(ratings.counts().argmax(axis=1) == truth)
    (quality,) = found.raters.values()
    good = ratings.raters["rater"].str.starts_with("good").to_numpy()
    assert quality[good].min() > quality[~good].max()


# Edges ---------------------------------------------------------------------------------------------------------------

MODELS: tuple[Any, ...] = (dawid_skene, mace, ordinal)


@pytest.mark.parametrize("model", MODELS)
def test_rows_in_another_order_change_no_bit(model: Any) -> None:
    rows = [tuple(row) for row in FROZEN["five points"]["ratings"]]
    other = [rows[at] for at in np.random.default_rng(0).permutation(len(rows))]
    first, second = model(rated(rows)), model(rated(other))
    assert np.array_equal(first.posterior, second.posterior)
    assert (first.log_likelihood, first.iterations) == (second.log_likelihood, second.iterations)


@pytest.mark.parametrize("model", MODELS)
def test_items_and_raters_with_one_rating_and_points_that_nobody_gave(model: Any) -> None:
    rows = [("a", "x", 1), ("b", "x", 3), ("b", "y", 3), ("b", "z", 3), ("c", "y", 1), ("c", "z", 1), ("d", "w", 3)]
    found = model(rated(rows, 5))
    assert found.converged
    assert found.posterior.sum(axis=1) == pytest.approx(np.ones(4))
    assert (found.posterior[:, [0, 2, 4]] == 0).all()  # nobody gave them, so that no item is of them
    assert (found.posterior[1].argmax(), found.posterior[2].argmax()) == (3, 1)


@pytest.mark.parametrize("model", MODELS)
def test_everybody_of_one_mind_very_many_raters_and_nobody(model: Any) -> None:
    found = model(rated([(i, r, 2) for i in range(3) for r in range(4)], 5))
    assert found.posterior[:, 2] == pytest.approx(np.ones(3), abs=1e-9)
    assert found.converged
    assert all(np.isfinite(values).all() for values in found.raters.values())
    many = model(rated([(i, r, (i + r // 900) % 2) for i in range(4) for r in range(1000)]))  # nothing underflows
    assert np.isfinite(many.posterior).all()
    assert many.posterior.argmax(axis=1).tolist() == [0, 1, 0, 1]
    frame = pl.DataFrame({"item": ["a", "a", "b", "c"], "rater": ["x", "y", "x", "z"], "score": [0, 0, 1, None]})
    none: LabelModel = model(pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 1)))
    assert np.isnan(none.posterior).all(axis=1).tolist() == [False, False, True]
    assert np.isfinite(none.posterior[:2]).all()
    assert all(math.isnan(values[2]) and np.isfinite(values[:2]).all() for values in none.raters.values())


def test_mace_takes_the_best_of_its_starts_and_the_same_for_a_seed() -> None:
    ratings = rated([tuple(row) for row in FROZEN["five points"]["ratings"]])
    ten, again = mace(ratings, seed=3), mace(ratings, seed=3)
    assert np.array_equal(ten.posterior, again.posterior)
    assert ten.log_likelihood >= mace(ratings, starts=1).log_likelihood - 1e-3
    rows = [tuple(row) for row in FROZEN["three points"]["ratings"]]  # a rater with one rating tells nothing
    without, beside = dawid_skene(rated(rows)), dawid_skene(rated([*rows, (0, 99, 2)]))
    assert beside.posterior == pytest.approx(without.posterior, abs=1e-6)


def test_one_part_or_several_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [tuple(row) for row in FROZEN["five points"]["ratings"]]
    whole = [model(rated(rows)).posterior for model in MODELS]
    monkeypatch.setattr("plurivox.domain.counts.cut", partial(cut, size=40))
    ratings = rated(rows)
    assert len(ratings.parts()) > 3
    for model, one in zip(MODELS, whole, strict=True):
        assert model(ratings).posterior == pytest.approx(one, abs=1e-12)


def test_tables_that_are_too_large_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fits, "MOST_CELLS", 50)
    with pytest.raises(InputError, match="Dawid–Skene needs a table of 3 × 3 points for each of 6 raters"):
        dawid_skene(rated(FROZEN["three points"]["ratings"]))
