"""The soft-scores lens: intervals against literal resampling."""

from __future__ import annotations

import functools
import math
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import plurivox as pv
from plurivox import statistics
from plurivox.domain import counts as counts_module
from plurivox.domain.part import cut
from plurivox.engine import run
from plurivox.engine.draws import item_weights
from plurivox.engine.run import MOST_UNITS, units_of
from plurivox.lenses.soft import sums
from soft_studies import (
    EMPIRICAL,
    LEFT,
    METRICS,
    RIGHT,
    VALUES_ONLY,
    Array,
    assert_same,
    constant,
    ids_of,
    in_bin,
    mean_of,
    predictions_of,
    ratings_of,
    soft,
    truthful,
)


@pytest.mark.slow
def test_processes_and_parts_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = pv.simulate(n_items=70, n_raters=30, ratings_per_item=(1, 6), seed=2)
    predictions = simulated.predictions
    assert predictions is not None
    own = [name for name in METRICS if name != "expected_js"]  # whose nodes depend on the items beside each other
    options: dict[str, Any] = {"by": "gender", "bootstrap": 60, "permutations": 60, "seed": 5}
    once = soft(simulated.ratings, predictions, metrics=own, threads=1, **options)
    all_metrics = soft(simulated.ratings, predictions, **options)
    with ProcessPoolExecutor(2) as processes:
        assert_same(soft(simulated.ratings, predictions, executor=processes, **options), all_metrics)
        monkeypatch.setattr(counts_module, "cut", functools.partial(cut, size=40))
        again = pv.Ratings.from_frame(simulated.ratings_frame, scale=simulated.scale, raters=simulated.raters)
        assert len(again.parts()) > 3
        assert_same(soft(again, predictions, metrics=own, **options), once)
        in_parts = soft(again, predictions, threads=1, **options)
        assert_same(soft(again, predictions, executor=processes, **options), in_parts)
    for mine, theirs in zip(all_metrics.draws, in_parts.draws, strict=True):
        assert theirs.bootstrap == pytest.approx(mine.bootstrap, rel=1e-13, nan_ok=True)


def test_bundles_in_several_parts_differ_by_rounding_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_LEAST", 4)
    monkeypatch.setattr(sums, "units_of", functools.partial(units_of, most=12))
    simulated = pv.simulate(n_items=70, n_raters=30, ratings_per_item=(1, 6), seed=2)
    predictions = simulated.predictions
    assert predictions is not None
    once = soft(simulated.ratings, predictions, bootstrap=60)
    monkeypatch.setattr(counts_module, "cut", functools.partial(cut, size=40))
    again = pv.Ratings.from_frame(simulated.ratings_frame, scale=simulated.scale, raters=simulated.raters)
    several = soft(again, predictions, bootstrap=60)
    for mine, theirs in zip(once.draws, several.draws, strict=True):
        assert theirs.bootstrap == pytest.approx(mine.bootstrap, rel=1e-12, nan_ok=True)


def drawn_means(scores: Array, order: Array, weights: Array) -> list[float]:
    """Return the mean of the defined scores for each draw; scores are in the order of items, weights are not."""
    return [
        mean_of([score for at, times in zip(order, row, strict=True) for score in [scores[at]] * times])
        for row in weights.tolist()
    ]


def test_intervals_and_comparisons_against_literal_resampling() -> None:
    rng = np.random.default_rng(4)
    n_items, bins = 30, ["1-2", "4", "6+"]
    numbers = rng.choice([0, 1, 2, 3, 4, 6, 8], n_items)
    counts = np.array([rng.multinomial(n, [0.2, 0.3, 0.5]) for n in numbers])
    q = {"a": rng.dirichlet([2, 2, 2], n_items), "b": rng.dirichlet([1, 2, 3], n_items)}
    found = soft(ratings_of(counts), predictions_of(q), bins=bins, bootstrap=40, seed=9, curve=False)
    codes = np.array([next((b for b, name in enumerate(bins) if in_bin(n, name)), 3) for n in numbers])
    order = np.argsort(codes, kind="stable")
    weights = item_weights(n_items, 40, 9)
    for metric in METRICS:
        scores = {name: getattr(statistics, metric)(counts, shares) for name, shares in q.items()}
        for bin_ in (*bins, "all"):
            kept = {name: np.where([in_bin(n, bin_) for n in numbers], own, np.nan) for name, own in scores.items()}
            draws = {name: np.array(drawn_means(own, order, weights)) for name, own in kept.items()}
            for name, own in draws.items():
                row = found.row(name, metric, bin_)
                assert (row.ci_low, row.ci_high) == pytest.approx(np.nanquantile(own, [0.025, 0.975]), abs=1e-9)
            drawn = draws["a"] - draws["b"]
            drawn = drawn[~np.isnan(drawn)]
            pair = found.comparisons().row(by_predicate=(
                (pl.col("bin") == bin_) & (pl.col("statistic") == metric) & (pl.col("other") == "b")
            ), named=True)  # fmt: skip
            difference = found.value("a", metric, bin_) - found.value("b", metric, bin_)
            assert pair["difference"] == pytest.approx(difference, abs=1e-12)
            assert (pair["ci_low"], pair["ci_high"]) == pytest.approx(np.quantile(drawn, [0.025, 0.975]), abs=1e-9)
            assert pair["p_better"] == pytest.approx(np.mean(drawn < 0))
            assert pair["n_items"] == sum(in_bin(n, bin_) for n in numbers if n or metric not in EMPIRICAL)


def test_intervals_hold_the_value_and_shrink_with_items() -> None:
    ratings, q = truthful(5, 200)
    found = soft(ratings, predictions_of({"m": q}), bootstrap=300, curve=False)
    for row in found.rows:
        assert row.ci_low is not None
        assert row.ci_high is not None
        assert row.ci_low - 1e-12 <= row.value <= row.ci_high + 1e-12
    fewer = soft(*truthful_part(ratings, q, 50), bootstrap=300, curve=False)
    width, wider = (one.row("m", "expected_emd") for one in (found, fewer))
    assert (wider.ci_high or 0) - (wider.ci_low or 0) > 1.5 * ((width.ci_high or 0) - (width.ci_low or 0))
    assert [draws.subset for draws in found.draws] == [*found.bins, "all"]
    assert found.draws[-1].bootstrap.shape == (300, 4, len(METRICS))


def truthful_part(ratings: pv.Ratings, q: Array, n_items: int) -> tuple[pv.Ratings, pl.DataFrame]:
    return ratings.where(items={"item": ids_of(n_items)}), predictions_of({"m": q[:n_items]})


@pytest.mark.slow
def test_intervals_cover_the_mean_of_all_items() -> None:
    """Items of five kinds with three ratings on two points: the mean over all such items is a sum of few terms."""
    rates, q = [0.1, 0.3, 0.5, 0.8, 0.95], [0.2, 0.5, 0.5, 0.6, 0.9]
    score = [[float(statistics.expected_emd([k, 3 - k], [p, 1 - p])) for k in range(4)] for p in q]
    wanted = sum(stats.binom.pmf(k, 3, rate) * score[kind][k] for kind, rate in enumerate(rates) for k in range(4)) / 5
    covered, n_studies = 0, 100
    for number in range(n_studies):
        rng = np.random.default_rng(number)
        kinds = rng.integers(5, size=60)
        first = rng.binomial(3, np.array(rates)[kinds])
        shares = np.array(q)[kinds]
        found = soft(
            ratings_of(np.stack([first, 3 - first], axis=1)), predictions_of({"m": np.stack([shares, 1 - shares], 1)}),
            metrics=["expected_emd"], bootstrap=100, permutations=0, curve=False, seed=number,
            prior=1.0,
        )  # fmt: skip
        row = found.row("m", "expected_emd")
        assert row.ci_low is not None
        assert row.ci_high is not None
        covered += row.ci_low <= wanted <= row.ci_high
    low, high = stats.binom.ppf([0.001, 0.999], n_studies, 0.95)
    assert low <= covered <= high


def test_bundles_of_many_items_give_the_same_standard_errors() -> None:
    """Above 20,000 items, bundles are drawn, also in a small bin; the curve is made of a sample."""
    n_items, metrics = 26_000, ["emd", "expected_emd", "expected_rps"]
    rng = np.random.default_rng(6)
    numbers = np.where(np.arange(n_items) % 50 == 0, 9, np.where(np.arange(n_items) % 2, 2, 3))
    q = rng.dirichlet([2, 3, 2], n_items)
    counts = np.array([rng.multinomial(n, p) for n, p in zip(numbers, q, strict=True)])
    ratings, predictions = ratings_of(counts, totals=True), predictions_of({"m": q, "k": q[:, ::-1]})
    assert n_items > MOST_UNITS
    found = soft(ratings, predictions, 1.0, metrics=metrics, bootstrap=600, permutations=0, threads=2)
    assert found.settings["n_items_of_curve"] == 5000
    for draws in found.draws:
        inside = np.array([in_bin(n, draws.subset) for n in numbers])
        for m, metric in enumerate(metrics):
            own = {name: getattr(statistics, metric)(counts[inside], table[inside])
                   for name, table in (("m", q), ("k", q[:, ::-1]))}  # fmt: skip
            at = {name: draws.groups.index(name) for name in own}
            for name, scores in own.items():
                assert found.value(name, metric, draws.subset) == pytest.approx(scores.mean(), rel=1e-12)
                error = scores.std() / math.sqrt(len(scores))
                assert draws.bootstrap[:, at[name], m].std() == pytest.approx(error, rel=0.1)
            apart = draws.bootstrap[:, at["m"], m] - draws.bootstrap[:, at["k"], m]
            error = (own["m"] - own["k"]).std() / math.sqrt(inside.sum())
            assert apart.std() == pytest.approx(error, rel=0.1)
    curve = found.sensitivity().filter(strength=1.0)
    for metric, name, value in curve.select("statistic", "model", "value").iter_rows():
        assert value == pytest.approx(found.value(name, metric), rel=0.03)


def test_no_bootstrap() -> None:
    found = soft(ratings_of([[2, 1, 0], [0, 1, 4]]), constant(2, a=LEFT, b=RIGHT), **VALUES_ONLY)
    assert found.to_frame()["ci_low"].null_count() == len(found.rows)
    pairs = found.comparisons()
    assert pairs.height == 3 * 10 * 5
    assert pairs["difference"].null_count() == 0
    for column in ("ci_low", "ci_high", "p_better", "p_value", "p_adjusted"):
        assert pairs[column].null_count() == pairs.height
    assert not [text for text in found.findings() if "over items" in text or "nan" in text]


def test_a_single_draw_makes_no_interval() -> None:
    found = soft(ratings_of([[2, 1, 0], [0, 1, 4]]), constant(2, a=LEFT, b=RIGHT), bootstrap=1, curve=False)
    assert not [text for text in found.findings() if "nan" in text]
