"""The soft-scores lens: calibration against literal counting."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from plurivox import statistics
from soft_studies import VALUES_ONLY, about, constant, predictions_of, ratings_of, soft, truthful


def test_calibration_against_literal_counting() -> None:
    """Each rating is spread evenly over the stretch of its point; thresholds are points but the lowest."""
    rng = np.random.default_rng(12)
    counts = rng.multinomial(5, [0.1, 0.5, 0.2, 0.2], 15)
    counts[3] = 0
    q = np.round(rng.dirichlet(np.ones(4), 15), 2)
    q[:, -1] = 1 - q[:, :-1].sum(axis=1)
    q = np.clip(q, 0, 1) / np.clip(q, 0, 1).sum(axis=1, keepdims=True)
    found = soft(ratings_of(counts), predictions_of({"m": q}), **VALUES_ONLY)
    bars, stretches = [0.0] * 10, []
    for row, shares in zip(counts.tolist(), q.tolist(), strict=True):
        ends = [0.0, *itertools.accumulate(shares)]
        for point, n in enumerate(row):
            stretches += [(ends[point], ends[point + 1])] * n
    for low, high in stretches:
        for b in range(10):
            if high > low:
                bars[b] += max(0.0, min(high, (b + 1) / 10) - max(low, b / 10)) / (high - low)
            else:
                bars[b] += float(b == min(int(low * 10), 9))
    assert found.pit()["share"].to_list() == pytest.approx([bar / len(stretches) for bar in bars], abs=1e-9)
    mean = math.fsum((low + high) / 2 for low, high in stretches) / len(stretches)
    square = math.fsum((low**2 + low * high + high**2) / 3 for low, high in stretches) / len(stretches)
    row = found.calibration().row(0, named=True)
    assert (row["pit_mean"], row["pit_variance"]) == pytest.approx((mean, square - mean**2))
    assert (row["n_items"], row["n_ratings"]) == (14, 70)
    for one in found.reliability().iter_rows(named=True):
        k = int(one["threshold"]) - 1
        reached = [(row[k:].sum(), row.sum(), shares[k:].sum()) for row, shares in zip(counts, q, strict=True)
                   if row.sum() and one["low"] <= shares[k:].sum() + 1e-9 and shares[k:].sum() - 1e-9 <= one["high"]
                   and min(int(np.cumsum(shares[::-1])[3 - k] * 10), 9) == round(one["low"] * 10)]  # fmt: skip
        total = sum(n for _, n, _ in reached)
        assert (one["n_items"], one["n_ratings"]) == (len(reached), total)
        assert one["observed"] == pytest.approx(sum(n for n, _, _ in reached) / total)
        assert one["predicted"] == pytest.approx(sum(n * p for _, n, p in reached) / total)
        assert one["ci_low"] - 1e-12 <= one["observed"] <= one["ci_high"] + 1e-12


def test_the_test_of_uniform_pits_against_scipy() -> None:
    """With one rating an item there is nothing to draw but its place in the stretch."""
    rng = np.random.default_rng(13)
    q = rng.dirichlet(np.ones(4), 200)
    points = np.array([rng.choice(4, p=p) for p in q])
    found = soft(ratings_of(np.eye(4, dtype=np.int64)[points]), predictions_of({"m": q}), seed=3, **VALUES_ONLY)
    row = found.calibration().row(0, named=True)
    test = stats.kstest(statistics.pit(points, q, seed=3), "uniform")
    assert row["ks"] == pytest.approx(test.statistic)
    assert row["p_value"] == pytest.approx(test.pvalue, abs=0.02)


def test_right_predictions_are_calibrated() -> None:
    ratings, q = truthful(14, 3000, n_ratings=2)
    found = soft(ratings, predictions_of({"right": q}), metrics=["rps"], **VALUES_ONLY)
    row = found.calibration().row(0, named=True)
    assert row["pit_mean"] == pytest.approx(0.5, abs=0.02)
    assert row["pit_variance"] == pytest.approx(1 / 12, rel=0.05)
    assert row["calibration_error"] < 0.03
    assert (found.pit()["ci_low"] <= 0.1).sum() >= 8
    assert (found.pit()["ci_high"] >= 0.1).sum() >= 8
    assert about(found, "No model is clearly miscalibrated")


@pytest.mark.slow
def test_p_values_of_right_predictions_are_uniform() -> None:
    """Six ratings of an item are not six independent numbers, and the test does not take them for such."""
    p = []
    for seed in range(40):
        ratings, q = truthful(1000 + seed, 40, n_ratings=6)
        found = soft(ratings, predictions_of({"m": q}), metrics=["rps"], seed=seed, **VALUES_ONLY)
        p.append(found.calibration()["p_value"][0])
    assert stats.kstest(p, "uniform").pvalue > 0.001


def test_habits_of_predictions_are_told() -> None:
    truth = [0.05, 0.2, 0.5, 0.2, 0.05]
    ratings = ratings_of(np.random.default_rng(15).multinomial(4, truth, 400))
    models = constant(
        400, right=truth, sure=[0.005, 0.045, 0.9, 0.045, 0.005], vague=[0.2] * 5, high=[0.02, 0.08, 0.35, 0.4, 0.15],
        low=[0.15, 0.4, 0.35, 0.08, 0.02],
    )  # fmt: skip
    found = soft(ratings, models, metrics=["rps"], **VALUES_ONLY)
    told = {text.split()[0]: text for text in found.findings() if "PIT" in text}
    assert set(told) == {"sure", "vague", "high", "low"}
    assert told["sure"].startswith("sure is too sure")
    assert told["vague"].startswith("vague is too vague")
    assert "predicts too high" in told["high"]
    assert "predicts too low" in told["low"]
    assert not about(found, "No model is clearly miscalibrated")
    frame = {row["model"]: row for row in found.calibration().iter_rows(named=True)}
    assert frame["sure"]["pit_variance"] > 1.15 / 12 > 0.85 / 12 > frame["vague"]["pit_variance"]
    assert frame["high"]["pit_mean"] < 0.45 < 0.55 < frame["low"]["pit_mean"]


def test_a_leaning_model_is_not_called_vague() -> None:
    """All ratings at the low end of what was predicted have a small variance, but not since the model is vague."""
    rng = np.random.default_rng(16)
    ratings = ratings_of(rng.multinomial(4, [0.75, 0.2, 0.05], 100))
    found = soft(ratings, constant(100, high=[0.05, 0.2, 0.75]), **VALUES_ONLY)
    told = [text for text in found.findings() if "PIT" in text]
    assert len(told) == 1
    assert "predicts too high" in told[0]
    assert "vague" not in told[0]


def test_shares_and_their_intervals_are_from_0_to_1() -> None:
    counts = [[1, 0, 0], [0, 0, 1], [0, 0, 1]]
    found = soft(ratings_of(counts), constant(3, m=[0.05, 0.9, 0.05]), **VALUES_ONLY)
    for frame in (found.pit(), found.reliability()):
        assert (frame["ci_low"] >= 0).all()
        assert (frame["ci_high"] <= 1).all()
    assert found.pit()["share"].sum() == pytest.approx(1)
