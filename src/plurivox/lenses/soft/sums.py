"""Means of item scores per bin of rating counts, and what resampled items make of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.engine.draws import item_weights
from plurivox.engine.families import adjust_families
from plurivox.engine.intervals import percentile_interval
from plurivox.engine.pool import batched
from plurivox.engine.running import Running
from plurivox.engine.units import units_of
from plurivox.lenses.soft.matching import MARGINAL, REFERENCES, UNIFORM, Counts, Floats
from plurivox.results.result import Row
from plurivox.statistics.soft_blocks import EMPIRICAL, Scoring
from plurivox.statistics.undefined import NO_RATING

ALL = "all"
ROUNDING = 1e-11
"""Scores that differ by less, as a part of themselves, are equal."""

COMPARISONS = {
    "bin": pl.String, "statistic": pl.String, "model": pl.String, "other": pl.String, "difference": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "p_better": pl.Float64, "p_value": pl.Float64,
    "p_adjusted": pl.Float64, "n_items": pl.Int64,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The ratings of all raters, or of a group, that predictions are held against.

    Attributes
    ----------
    counts
        Items × points.
    codes
        The number of each item's bin; ``len(bins)`` for items in none.
    bins
        The names of the bins.
    predictions
        For each model and reference, items × points.
    """

    counts: Counts
    codes: NDArray[np.int64]
    bins: tuple[str, ...]
    predictions: Mapping[str, Floats]
    n_raters: int
    axis: str = ALL
    group: str = ALL


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums of item scores over units, sorted by bin.

    Attributes
    ----------
    finite, infinite
        Units × predictions × metrics: the sum of finite scores, and how many are infinite.
    n_items, n_rated
        For each unit, how many items it has, and how many of them have a rating.
    starts
        Where the units of each bin begin, those in no bin last, and the end of all.
    """

    target: Target
    metrics: tuple[str, ...]
    finite: Floats
    infinite: Floats
    n_items: Floats
    n_rated: Floats
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, target: Target, scoring: Scoring, seed: int, how: Running) -> Sums:
        """Score every item by every prediction, and add up."""
        unit, starts = units_of(target.codes, len(target.bins) + 1, seed)
        n_units, shape = int(starts[-1]), (len(target.predictions), len(scoring.metrics))
        finite, infinite = np.zeros((n_units, *shape)), np.zeros((n_units, *shape))
        for at, q in enumerate(target.predictions.values()):
            how.tell(at, shape[0])
            scores = scoring.scores(target.counts, q)
            endless = np.isposinf(scores)
            scores[~np.isfinite(scores)] = 0.0
            for m in range(shape[1]):
                finite[:, at, m] = np.bincount(unit, weights=scores[:, m], minlength=n_units)
                if endless[:, m].any():
                    infinite[:, at, m] = np.bincount(unit, weights=endless[:, m], minlength=n_units)
        how.tell(shape[0], shape[0])
        rated = target.counts.sum(axis=1) > 0
        n_items = np.bincount(unit, minlength=n_units).astype(float)
        n_rated = np.bincount(unit, weights=rated.astype(float), minlength=n_units)
        return cls(target, scoring.metrics, finite, infinite, n_items, np.asarray(n_rated, dtype=float), starts)

    def values(self) -> Floats:
        """Return the mean of each bin and, last, of all items: bins + 1 × predictions × metrics."""
        ones = np.ones((1, int(self.starts[-1])), dtype=np.int64)
        return np.asarray(self._means(ones)[0])

    def draws(self, n: int, seed: int, how: Running) -> Floats:
        """Return the means when items are drawn with replacement: draws × bins + 1 × predictions × metrics."""

        def work(first: int, last: int) -> Floats:
            return self._means(item_weights(int(self.starts[-1]), last - first, seed, first))

        n_units = int(self.starts[-1])
        cost = (self.finite.size + 20 * n_units) / 1e9
        made = batched(work, n, how, cost=cost, width=n_units)
        return np.concatenate([np.zeros((0, len(self.target.bins) + 1, *self.finite.shape[1:])), *made])

    def _means(self, weights: NDArray[np.int64]) -> Floats:
        from plurivox.kernels.resampling import weighted_sums

        n_units, shape = int(self.starts[-1]), self.finite.shape[1:]
        size = int(np.prod(shape))
        columns = [self.finite.reshape(n_units, size), self.n_items[:, None], self.n_rated[:, None]]
        endless = self.infinite.any()
        if endless:
            columns.append(self.infinite.reshape(n_units, size))
        parts = np.zeros((len(weights), len(self.starts) - 1, sum(column.shape[1] for column in columns)))
        weighted_sums(weights, np.concatenate(columns, axis=1), self.starts, parts)
        sums = np.concatenate([parts[:, :-1], parts.sum(axis=1, keepdims=True)], axis=1)
        counted = np.where(
            [name in EMPIRICAL for name in self.metrics], sums[..., size + 1, None], sums[..., size, None]
        )
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where no item was drawn
            means = sums[..., :size].reshape(*sums.shape[:2], *shape) / counted[..., None, :]
        if endless:
            means[sums[..., size + 2 :].reshape(means.shape) > 0] = np.inf
        return np.asarray(means)


# Rows ----------------------------------------------------------------------------------------------------------------


def rows_of(sums: Sums, values: Floats, draws: Floats) -> list[Row]:
    """Return a row for each bin, all items first, prediction and metric."""
    target = sums.target
    n_ratings = target.counts.sum(axis=1)
    interval = percentile_interval(draws) if len(draws) > 1 else None
    rows = []
    for b in (len(target.bins), *range(len(target.bins))):
        inside = slice(None) if b == len(target.bins) else target.codes == b
        n_items, n_rated = len(n_ratings[inside]), int(np.count_nonzero(n_ratings[inside]))
        total = int(n_ratings[inside].sum())
        for p, name in enumerate(target.predictions):
            for m, metric in enumerate(sums.metrics):
                counted = n_rated if metric in EMPIRICAL else n_items
                row = Row(
                    "reference" if name in REFERENCES else "model", target.axis, target.group, metric,
                    float(values[b, p, m]), n_raters=target.n_raters, n_items=counted, n_ratings=total,
                    note=_note(metric, float(values[b, p, m]), int(_in_bin(sums, b, p, m)), counted, n_items),
                    subset=ALL if b == len(target.bins) else target.bins[b], model=name,
                )  # fmt: skip
                if interval is not None and not math.isnan(row.value) and counted > 1:
                    row = row.with_interval(
                        float(interval.low[b, p, m]), float(interval.high[b, p, m]),
                        float(interval.n_undefined[b, p, m]) / len(draws),
                    )  # fmt: skip
                rows.append(row)
    return rows


def _in_bin(sums: Sums, b: int, p: int, m: int) -> float:
    first, last = (0, sums.starts[-1]) if b == len(sums.target.bins) else (sums.starts[b], sums.starts[b + 1])
    return float(sums.infinite[first:last, p, m].sum())


def _note(metric: str, value: float, n_infinite: int, counted: int, n_items: int) -> str:
    if math.isnan(value):
        return NO_RATING if n_items else "no item is in this bin"
    notes = []
    if n_infinite:
        one = n_infinite == 1
        given = "was given" if one else "were given"
        what = f"{given} a point" if metric in EMPIRICAL else "may be given a point, by the prior,"
        items = "1 item" if one else f"{n_infinite:,} items"
        notes.append(f"{items} {what} that has the predicted probability 0; a floor makes this finite")
    if counted < n_items:
        left_out = n_items - counted
        notes.append(f"{left_out:,} items without a rating are left out" if left_out > 1 else
                     "1 item without a rating is left out")  # fmt: skip
    return "; ".join(notes)


# Comparisons ---------------------------------------------------------------------------------------------------------


def comparisons(sums: Sums, values: Floats, draws: Floats, correction: str) -> pl.DataFrame:
    """Return every two models, and each model with uniform and marginal, per bin and metric.

    p-values are corrected over all pairs and metrics of a bin. E[CE] and E[KL] of two predictions differ by the same,
    as do CE and KL, since the ratings' own entropy is in both; the correction counts each such couple once.
    """
    target = sums.target
    names = list(target.predictions)
    models = [name for name in names if name not in REFERENCES]
    pairs = [(one, other) for at, one in enumerate(models) for other in (*models[at + 1 :], UNIFORM, MARGINAL)]
    frames = [pl.DataFrame(schema=COMPARISONS)]
    for b in (len(target.bins), *range(len(target.bins))):
        inside = slice(None) if b == len(target.bins) else target.codes == b
        rated = np.atleast_1d(target.counts[inside].any(axis=1))
        counted = {
            metric: int(np.count_nonzero(rated)) if metric in EMPIRICAL else len(rated) for metric in sums.metrics
        }
        rows = [
            (
                ALL if b == len(target.bins) else target.bins[b], metric, one, other,
                *_difference(values[b, :, m], draws[:, b, :, m], names.index(one), names.index(other), counted[metric]),
                None, counted[metric],
            )
            for one, other in pairs
            for m, metric in enumerate(sums.metrics)
        ]  # fmt: skip
        frames.append(_corrected(pl.DataFrame(rows, schema=COMPARISONS, orient="row"), correction))
    return pl.concat(frames)


def _difference(values: Floats, draws: Floats, one: int, other: int, n_items: int) -> tuple[float | None, ...]:
    """Return the difference, its interval, how likely the first is better, and p.

    With n items, however alike, p is at least 2^(1 − n), that of a sign test.
    """
    difference = float(_less(values[one], values[other]))
    drawn = _less(draws[:, one], draws[:, other])
    drawn = drawn[~np.isnan(drawn)]
    if math.isnan(difference) or len(drawn) < 2 or n_items < 2:
        return difference, None, None, None, None
    interval = percentile_interval(drawn)
    lower, higher = int(np.count_nonzero(drawn < 0)), int(np.count_nonzero(drawn > 0))
    better = (lower + (len(drawn) - lower - higher) / 2) / len(drawn)
    p = min(1.0, max(2 * (1 + len(drawn) - max(lower, higher)) / (len(drawn) + 1), 2.0 ** (1 - n_items)))
    return difference, float(interval.low), float(interval.high), better, p


def _less(one: Any, other: Any) -> Any:
    """Return a difference, 0 where it is only rounding, NaN where both are infinite."""
    with np.errstate(invalid="ignore"):
        difference = one - other
        return np.where(np.isfinite(other) & (np.abs(difference) <= ROUNDING * np.abs(other)), 0.0, difference)


_SAME = {"kl": "cross_entropy", "expected_kl": "expected_cross_entropy"}


def _corrected(frame: pl.DataFrame, correction: str) -> pl.DataFrame:
    key = frame.with_columns(pl.col("statistic").replace(_SAME)).select("statistic", "model", "other")
    p = frame["p_value"].to_numpy().astype(float)
    adjusted = np.fmax(adjust_families(p.tolist(), frame["bin"].to_list(), list(key.iter_rows()), correction), p)
    return frame.with_columns(pl.when(frame["p_value"].is_not_null()).then(pl.Series(adjusted)).alias("p_adjusted"))


def ranked(values: Mapping[str, float]) -> list[str]:
    """Return names from the lowest value, which is best, to the highest; undefined ones last, equal ones by name."""
    return sorted(values, key=lambda name: (math.isnan(values[name]), shortened(values[name]), name))


def ranks(values: Mapping[str, float]) -> dict[str, int | None]:
    """Return the rank of each name, 1 for the lowest value; equal ones share it, undefined ones have none."""
    known = [shortened(value) for value in values.values() if not math.isnan(value)]
    return {
        name: None if math.isnan(value) else 1 + sum(other < shortened(value) for other in known)
        for name, value in values.items()
    }


def shortened(value: float) -> float:
    """Return a score without the digits that are only rounding."""
    return float(f"{value:.11g}")


def n_hypotheses(frame: pl.DataFrame) -> int:
    """Return how many different hypotheses were tested, CE and KL of the same pair being one."""
    tested = frame.filter(pl.col("p_value").is_not_null()).with_columns(pl.col("statistic").replace(_SAME))
    return tested.select("bin", "statistic", "model", "other").n_unique()
