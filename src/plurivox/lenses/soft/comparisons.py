"""Models compared: which is better, by how much, how sure that is, and their ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from plurivox.engine.pool import Running, in_batches
from plurivox.infer.intervals import NORMAL_95, percentile_interval, wilson
from plurivox.infer.permutation import Flips
from plurivox.infer.tables import typed
from plurivox.lenses.soft.interactions import (
    INTERACTIONS,
    FamilyTests,
    InBins,
    Tests,
    Two,
    decide,
)
from plurivox.lenses.soft.matching import MARGINAL, POSTERIOR_MEAN, REFERENCES, UNIFORM, Counts, Floats
from plurivox.lenses.soft.settings import SoftSettings
from plurivox.lenses.soft.sums import ALL, ScoreSums, ScoringTarget
from plurivox.statistics.calibration import calibration_slope, pit, pit_histogram, reliability
from plurivox.statistics.soft_blocks import EMPIRICAL, Scoring

MOST_MODELS = 10
"""Of more models, only this many are compared in pairs, best first; that order does not depend on bins or groups."""
LEADING = ("rps", "cross_entropy", "expected_rps", "expected_cross_entropy", "expected_emd")
"""The metric that sentences, tables and charts lead with: the first of these that was requested."""
ROUNDING = 1e-11
"""Scores with a smaller relative difference are equal."""

COMPARISONS = typed(
    "bin statistic model other difference ci_low ci_high p_better p_value p_adjusted n_items n_permutations exact "
    "claim note"
)


def leading(metrics: Sequence[str]) -> str:
    """Return the metric that sentences, tables and charts lead with.

    RPS is a proper score of the ratings themselves: it needs no prior, and however few ratings there are, it is lowest
    on average for the true distribution. It uses the order of points and is never infinite, unlike CE, the next choice.

    Examples
    --------
    >>> leading(["cross_entropy", "emd", "rps"]), leading(["cross_entropy", "expected_emd"])
    ('rps', 'cross_entropy')
    """
    return next((name for name in LEADING if name in metrics), metrics[-1])


def compared(
    scored: ScoreSums, values: Floats, draws: Floats, asked: SoftSettings, how: Running, interactions: Sequence[Tests]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare every two models, and each with uniform and marginal, per bin and metric.

    From the scores of all raters, and those of resampled items. Return all comparisons, and the interactions. All that
    may be claimed is one family: all pairs by the leading metric on all items, and the interactions. Every other
    metric is a family of its own on all items, and each metric is another one over its bins.
    """
    target, main, claims = scored.target, leading(scored.metrics), FamilyTests.untested(0)
    names, n_bins = list(target.predictions), len(target.bins)
    models = [name for name in names if name not in REFERENCES]
    pairs = [(one, other) for at, one in enumerate(models) for other in (*models[at + 1 :], UNIFORM, MARGINAL)]
    places, tests = [(names.index(one), names.index(other)) for one, other in pairs], []
    for metric in scored.metrics:
        sums = InBins.of(scored.of_metric(metric), places, asked.seed)
        exact, overall = sums.flips.number, replace(sums, bins=[n_bins])
        bins = decide([replace(sums, bins=range(n_bins))], asked, how, exact=exact, further=False)
        if metric == main and interactions:
            random = Flips.of(sums.flips.n_units, asked.seed, every=False)
            whole = claims = decide([replace(overall, flips=random), *(one for _, one in interactions)], asked, how)
        else:
            whole = decide([overall], asked, how, exact=exact, further=metric == main)
        tests.append((metric, sums.why, whole, bins))
    rows = []
    for b in (n_bins, *range(n_bins)):
        name = ALL if b == n_bins else target.bins[b]
        rated = np.asarray(target.counts[slice(None) if b == n_bins else target.codes == b].any(axis=1))
        for at, (one, other) in enumerate(pairs):
            for m, (metric, why, whole, bins) in enumerate(tests):
                n_items = int(np.count_nonzero(rated)) if metric in EMPIRICAL else len(rated)
                family, place = (whole, at) if b == n_bins else (bins, b * len(pairs) + at)
                said = _difference(values[b, :, m], draws[:, b, :, m], *places[at], n_items)
                p, adjusted, n_draws, claimed = family.cells(place)
                rows.append((
                    name, metric, one, other, *said, p, adjusted, n_items, n_draws,
                    None if p is None else family.exact, claimed and metric == main and b == n_bins, why[b][at],
                ))  # fmt: skip
    listed = [row for part, _ in interactions for row in part]
    found = [claims.cells(place) for place in range(len(pairs), len(pairs) + len(listed))]
    lines = [(*own, p, adjusted, n, n_draws, claimed)
             for (*own, n), (p, adjusted, n_draws, claimed) in zip(listed, found, strict=True)]  # fmt: skip
    moved = pl.DataFrame(lines, schema=INTERACTIONS, orient="row")
    return pl.DataFrame(rows, schema=COMPARISONS, orient="row"), moved


def _difference(values: Floats, draws: Floats, one: int, other: int, n_items: int) -> tuple[float | None, ...]:
    """Return the difference, its interval over resampled items, and how often the first is better in them."""
    difference = float(_less(values[one], values[other]))
    drawn = _less(draws[:, one], draws[:, other])
    drawn = drawn[~np.isnan(drawn)]
    if math.isnan(difference) or len(drawn) < 2 or n_items < 2:
        return difference, None, None, None
    interval = percentile_interval(drawn)
    lower, higher = int(np.count_nonzero(drawn < 0)), int(np.count_nonzero(drawn > 0))
    better = (lower + (len(drawn) - lower - higher) / 2) / len(drawn)
    return difference, float(interval.low), float(interval.high), better


def _less(one: Any, other: Any) -> Any:
    """Return a difference, 0 where it is only rounding error, NaN where both are infinite."""
    with np.errstate(invalid="ignore"):
        difference = one - other
        return np.where(np.isfinite(other) & (np.abs(difference) <= ROUNDING * np.abs(other)), 0.0, difference)


def two_by_two(models: Sequence[str], order: Sequence[str]) -> Two:
    """Return the positions of every two of the first models, in the order in which they are listed."""
    chosen = [at for at, name in enumerate(models) if name in order[:MOST_MODELS]]
    one, other = np.triu_indices(len(chosen), 1)
    return np.array(chosen, dtype=np.intp)[one], np.array(chosen, dtype=np.intp)[other]


def ranked(values: Mapping[str, float]) -> list[str]:
    """Return names from the lowest value, which is the best, to the highest; undefined ones last, ties by name."""
    return sorted(values, key=lambda name: (math.isnan(values[name]), shortened(values[name]), name))


def ranks(values: Mapping[str, float]) -> dict[str, int | None]:
    """Return the rank of each name, 1 for the lowest value; ties share a rank, undefined ones have none."""
    known = [shortened(value) for value in values.values() if not math.isnan(value)]
    return {
        name: None if math.isnan(value) else 1 + sum(other < shortened(value) for other in known)
        for name, value in values.items()
    }


def shortened(value: float) -> float:
    """Return a score without the digits that are only rounding error."""
    return float(f"{value:.11g}")


# What lies behind a ranking of predictions ----------------------------------------------------------------------------
# What lies behind a ranking of predictions: how it changes with the prior, and whether predictions are calibrated.

STRENGTHS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""The mean weights of a point in the prior for which scores are shown."""
MOST_ITEMS = 5000
"""The most items used for the curve over prior strengths; of more, a sample is used."""
BARS = 10

SENSITIVITY = typed("strength statistic model value rank prior_share")
PIT = typed("model low high share ci_low ci_high")
RELIABILITY = typed("model threshold low high predicted observed ci_low ci_high n_items n_ratings")
CALIBRATION = typed(
    "model pit_mean pit_variance calibration_error slope slope_low slope_high ks p_value n_items n_ratings"
)


def sensitivity(target: ScoringTarget, scoring: Scoring, seed: int, how: Running) -> pl.DataFrame:
    """Return expected scores and the ranking of models for priors of the same shape and other strengths.

    The posterior mean changes with the prior; all other predictions stay the same.
    """
    n_items, chosen = len(target.counts), np.arange(len(target.counts))
    if n_items > MOST_ITEMS:
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1006,)))
        chosen = np.sort(rng.choice(n_items, MOST_ITEMS, replace=False))
    counts = target.held[chosen]
    metrics = tuple(name for name in scoring.metrics if name not in EMPIRICAL)
    if not metrics:
        return pl.DataFrame(schema=SENSITIVITY)

    predictions = {name: q[chosen] for name, q in target.predictions.items()}
    work = partial(_at_strengths, counts, predictions, replace(scoring, metrics=metrics))
    rows = [row for batch in in_batches(work, len(STRENGTHS), how) for row in batch]
    return pl.DataFrame(rows, schema=SENSITIVITY, orient="row")


def _at_strengths(
    counts: Counts | Floats, predictions: Mapping[str, Floats], scoring: Scoring, first: int, last: int
) -> list[tuple[object, ...]]:
    """Return mean scores and ranks for some of :data:`STRENGTHS`."""
    rows: list[tuple[object, ...]] = []
    for strength in STRENGTHS[first:last]:
        own = replace(scoring, prior=scoring.prior / scoring.prior.mean() * strength)
        a = counts + own.prior
        total = a.sum(axis=1, keepdims=True)
        means = {
            name: own.scores(counts, a / total if name == POSTERIOR_MEAN else q).mean(axis=0)
            for name, q in predictions.items()
        }
        share = float((own.prior.sum() / total).mean())
        for m, metric in enumerate(own.metrics):
            values = {name: float(mean[m]) for name, mean in means.items()}
            places = ranks({name: value for name, value in values.items() if name not in REFERENCES})
            rows += [(strength, metric, name, values[name], places.get(name), share) for name in values]
    return rows


def calibration(target: ScoringTarget, labels: list[str], seed: int) -> dict[str, pl.DataFrame]:
    """Return the PIT histogram, reliability at each threshold, and a summary of both, for each model."""
    rated = target.counts.sum(axis=1) > 0
    counts = target.counts[rated]
    rng, ends = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1007,))), np.cumsum(counts, axis=1)
    place = (rng.random(len(counts)) * ends[:, -1]).astype(np.int64)
    drawn = np.asarray((ends <= place[:, None]).sum(axis=1))
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
        distance, p = kolmogorov(pit(drawn, q, seed))  # of one rating of each item, so that they are independent
        slope = calibration_slope(counts, q)
        reach = NORMAL_95 * slope.error
        tables["calibration"].append((
            name, bars.mean, bars.variance, float(found.errors().mean()), slope.value, slope.value - reach,
            slope.value + reach, distance, p, len(counts), int(counts.sum()),
        ))  # fmt: skip
    schemas = {"pit": PIT, "reliability": RELIABILITY, "calibration": CALIBRATION}
    return {name: pl.DataFrame(rows, schema=schemas[name], orient="row") for name, rows in tables.items()}


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
