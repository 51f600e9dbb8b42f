"""What lies behind a ranking of predictions: how it changes with the prior, and whether predictions are calibrated."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from plurivox.engine.pool import Running, in_batches
from plurivox.infer.intervals import NORMAL_95, wilson
from plurivox.lenses.soft.comparisons import ranks
from plurivox.lenses.soft.matching import POSTERIOR_MEAN, REFERENCES, Counts, Floats
from plurivox.lenses.soft.sums import Target
from plurivox.statistics.calibration import calibration_slope, pit, pit_histogram, reliability
from plurivox.statistics.soft_blocks import EMPIRICAL, Scoring

STRENGTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""The mean weights of a point in the prior for which scores are shown."""
MOST_ITEMS = 5000
"""The most items used for the curve over prior strengths; of more, a sample is used."""
BARS = 10

SENSITIVITY = {
    "strength": pl.Float64, "statistic": pl.String, "model": pl.String, "value": pl.Float64, "rank": pl.Int64,
    "prior_share": pl.Float64,
}  # fmt: skip
PIT = {
    "model": pl.String, "low": pl.Float64, "high": pl.Float64, "share": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64,
}  # fmt: skip
RELIABILITY = {
    "model": pl.String, "threshold": pl.String, "low": pl.Float64, "high": pl.Float64, "predicted": pl.Float64,
    "observed": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n_items": pl.Int64, "n_ratings": pl.Int64,
}  # fmt: skip
CALIBRATION = {
    "model": pl.String, "pit_mean": pl.Float64, "pit_variance": pl.Float64, "calibration_error": pl.Float64,
    "slope": pl.Float64, "slope_low": pl.Float64, "slope_high": pl.Float64, "ks": pl.Float64, "p_value": pl.Float64,
    "n_items": pl.Int64, "n_ratings": pl.Int64,
}  # fmt: skip


def sensitivity(target: Target, scoring: Scoring, seed: int, how: Running) -> pl.DataFrame:
    """Return expected scores and the ranking of models for priors of the same shape and other strengths.

    The posterior mean changes with the prior; all other predictions stay the same.
    """
    chosen = _sample(len(target.counts), seed)
    counts = target.held[chosen]
    metrics = tuple(name for name in scoring.metrics if name not in EMPIRICAL)
    if not metrics:
        return pl.DataFrame(schema=SENSITIVITY)

    predictions = {name: q[chosen] for name, q in target.predictions.items()}
    work = _AtStrengths(counts, predictions, replace(scoring, metrics=metrics))
    rows = [row for batch in in_batches(work, len(STRENGTHS), how) for row in batch]
    return pl.DataFrame(rows, schema=SENSITIVITY, orient="row")


@dataclass(frozen=True, slots=True, eq=False)
class _AtStrengths:
    """Mean scores and ranks for some of :data:`STRENGTHS`."""

    counts: Counts | Floats
    predictions: Mapping[str, Floats]
    scoring: Scoring

    def __call__(self, first: int, last: int) -> list[tuple[object, ...]]:
        return [row for strength in STRENGTHS[first:last] for row in self._at(strength)]

    def _at(self, strength: float) -> list[tuple[object, ...]]:
        prior = self.scoring.prior / self.scoring.prior.mean() * strength
        own = replace(self.scoring, prior=prior)
        a = self.counts + prior
        total = a.sum(axis=1, keepdims=True)
        means = {
            name: own.scores(self.counts, a / total if name == POSTERIOR_MEAN else q).mean(axis=0)
            for name, q in self.predictions.items()
        }
        share = float((prior.sum() / total).mean())
        rows: list[tuple[object, ...]] = []
        for m, metric in enumerate(own.metrics):
            values = {name: float(mean[m]) for name, mean in means.items()}
            places = ranks({name: value for name, value in values.items() if name not in REFERENCES})
            rows += [(strength, metric, name, values[name], places.get(name), share) for name in values]
        return rows


def _sample(n_items: int, seed: int) -> slice | np.ndarray[tuple[int], np.dtype[np.int64]]:
    if n_items <= MOST_ITEMS:
        return slice(None)
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1006,)))
    return np.sort(rng.choice(n_items, MOST_ITEMS, replace=False))


def calibration(target: Target, labels: list[str], seed: int) -> dict[str, pl.DataFrame]:
    """Return the PIT histogram, reliability at each threshold, and a summary of both, for each model."""
    rated = target.counts.sum(axis=1) > 0
    counts = target.counts[rated]
    drawn = _one_rating(counts, seed)
    tables: dict[str, list[tuple[object, ...]]] = {"pit": [], "reliability": [], "calibration": []}
    for name, whole in target.predictions.items():
        if name in REFERENCES or not len(counts):
            continue
        q = whole[rated]
        bars = pit_histogram(counts, q, BARS)
        for b in range(BARS):
            share, reach = float(bars.share[b]), NORMAL_95 * float(bars.error[b])
            tables["pit"].append(
                (name, b / BARS, (b + 1) / BARS, share, max(0.0, share - reach), min(1.0, share + reach))
            )
        found = reliability(counts, q, BARS)
        for k, label in enumerate(labels[1:]):
            for b in np.flatnonzero(found.n_items[k]).tolist():
                observed, n = float(found.observed[k, b]), int(found.n_items[k, b])
                tables["reliability"].append((
                    name, label, b / BARS, (b + 1) / BARS, float(found.predicted[k, b]), observed,
                    *wilson(observed, n), n, int(found.n_ratings[k, b]),
                ))  # fmt: skip
        distance, p = kolmogorov(pit(drawn, q, seed))
        slope = calibration_slope(counts, q)
        reach = NORMAL_95 * slope.error
        tables["calibration"].append((
            name, bars.mean, bars.variance, float(found.errors().mean()), slope.value, slope.value - reach,
            slope.value + reach, distance, p, len(counts), int(counts.sum()),
        ))  # fmt: skip
    schemas = {"pit": PIT, "reliability": RELIABILITY, "calibration": CALIBRATION}
    return {name: pl.DataFrame(rows, schema=schemas[name], orient="row") for name, rows in tables.items()}


def _one_rating(counts: Counts, seed: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the position of one of each item's ratings, drawn at random, so that they are independent."""
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1007,)))
    ends = np.cumsum(counts, axis=1)
    place = (rng.random(len(counts)) * ends[:, -1]).astype(np.int64)
    return np.asarray((ends <= place[:, None]).sum(axis=1))


def kolmogorov(u: Floats) -> tuple[float, float]:
    """Return the largest distance of numbers from the uniform distribution on 0 to 1, and its p-value.

    The p-value is asymptotic.
    """
    from scipy.special import kolmogorov as survival

    ordered, n = np.sort(u), len(u)
    steps = np.arange(n + 1) / n
    distance = float(max((steps[1:] - ordered).max(), (ordered - steps[:-1]).max()))
    root = math.sqrt(n)
    return distance, float(survival((root + 0.12 + 0.11 / root) * distance))
