"""Models beside each other: which is better, by how much, how sure that is, and in which order they are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from plurivox.engine.families import adjust_families
from plurivox.engine.intervals import percentile_interval
from plurivox.lenses.soft.matching import MARGINAL, REFERENCES, UNIFORM, Floats
from plurivox.lenses.soft.sums import ALL, Scored
from plurivox.statistics.soft_blocks import EMPIRICAL

MAIN = "expected_emd"
"""The metric of which sentences speak: it knows the order of the points, and how little a few ratings say."""
ROUNDING = 1e-11
"""Scores that differ by less, as a part of themselves, are equal."""

COMPARISONS = {
    "bin": pl.String, "statistic": pl.String, "model": pl.String, "other": pl.String, "difference": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "p_better": pl.Float64, "p_value": pl.Float64,
    "p_adjusted": pl.Float64, "n_items": pl.Int64,
}  # fmt: skip


def comparisons(scored: Scored, values: Floats, draws: Floats, correction: str) -> pl.DataFrame:
    """Return every two models, and each model with uniform and marginal, per bin and metric.

    p-values are corrected over all pairs and metrics of a bin. E[CE] and E[KL] of two predictions differ by the same,
    as do CE and KL, since the ratings' own entropy is in both; the correction counts each such couple once.
    """
    target = scored.target
    names = list(target.predictions)
    models = [name for name in names if name not in REFERENCES]
    pairs = [(one, other) for at, one in enumerate(models) for other in (*models[at + 1 :], UNIFORM, MARGINAL)]
    frames = [pl.DataFrame(schema=COMPARISONS)]
    for b in (len(target.bins), *range(len(target.bins))):
        inside = slice(None) if b == len(target.bins) else target.codes == b
        rated = np.atleast_1d(target.counts[inside].any(axis=1))
        counted = {
            metric: int(np.count_nonzero(rated)) if metric in EMPIRICAL else len(rated) for metric in scored.metrics
        }
        rows = [
            (
                ALL if b == len(target.bins) else target.bins[b], metric, one, other,
                *_difference(values[b, :, m], draws[:, b, :, m], names.index(one), names.index(other), counted[metric]),
                None, counted[metric],
            )
            for one, other in pairs
            for m, metric in enumerate(scored.metrics)
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
