"""What a part of the items adds to the scores of predictions, their ranking, and what lies behind it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.engine.draws import Draws, group_counts, weighted_counts
from plurivox.engine.pool import Running, in_batches
from plurivox.engine.run import Sums, UnitSums, units_of
from plurivox.infer.intervals import NORMAL_95, wilson
from plurivox.infer.tables import typed
from plurivox.lenses.soft.matching import POSTERIOR_MEAN, REFERENCES, Counts, Floats
from plurivox.statistics.calibration import calibration_slope, pit, pit_histogram, reliability
from plurivox.statistics.soft_blocks import EMPIRICAL, Scoring

ALL = "all"


@dataclass(frozen=True, slots=True, eq=False)
class ScoringTarget:
    """The ratings of all raters, or of a group, that predictions are compared with.

    Attributes
    ----------
    parts
        The ratings, including those that do not count.
    raters
        0 for raters whose ratings count, -1 for others; None if all do.
    items
        The codes of the scored items, in ascending order.
    counts
        Items × points.
    codes
        The number of each item's bin; ``len(bins)`` for items in none.
    bins
        The names of the bins.
    predictions
        For each model and reference, items × points.
    told
        For each model that predicts individual raters, items × 2, as ``Scoring.scores`` expects them.
    weights, weighed
        The weight of each rater, and the weights on each point, items × points; None where all count equally.
    """

    parts: Sequence[Part]
    raters: NDArray[np.int32] | None
    items: NDArray[np.int64]
    counts: Counts
    codes: NDArray[np.int64]
    bins: tuple[str, ...]
    predictions: Mapping[str, Floats]
    n_raters: int
    axis: str = ALL
    group: str = ALL
    told: Mapping[str, Floats] = field(default_factory=dict)
    weights: Floats | None = None
    weighed: Floats | None = None

    @property
    def held(self) -> Counts | Floats:
        """What predictions are compared with, items × points: weights where raters have any, otherwise counts."""
        return self.counts if self.weighed is None else self.weighed


@dataclass(frozen=True, slots=True, eq=False)
class PredictionScores:
    """What a part of the items adds to the scores of one prediction: the sum of finite ones, and the number infinite.

    Both are units × metrics, side by side. ``raters`` and ``items`` are those of :class:`ScoringTarget`; ``q`` and
    ``unit`` are the prediction and the unit of each item, ``told`` what the model says about single raters.
    """

    raters: NDArray[np.int32] | None
    items: NDArray[np.int64]
    q: Floats
    unit: NDArray[np.int64]
    n_units: int
    scoring: Scoring
    told: Floats | None = None
    weights: Floats | None = None

    @property
    def cost(self) -> float:
        """Roughly how many seconds it takes."""
        return self.q.size * 1e-6

    @property
    def width(self) -> int:
        """How many numbers it holds."""
        return len(self.items) * len(self.scoring.metrics)

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part."""
        own = slice(*np.searchsorted(self.items, (part.first, part.first + part.n_items)))
        codes: NDArray[Any] | None = self.raters
        if self.weights is None:
            counts: NDArray[Any] = group_counts(part, codes, 1, self.q.shape[1])
        else:
            codes = np.zeros(len(self.weights), np.int32) if codes is None else codes
            counts = weighted_counts(part, codes, 1, self.q.shape[1], self.weights, 0, part.n_items)[0]
        counts = counts[self.items[own] - part.first, 0]
        scores = self.scoring.scores(counts, self.q[own], None if self.told is None else self.told[own])
        endless = np.isposinf(scores)
        scores[~np.isfinite(scores)] = 0.0
        columns = np.concatenate([scores, endless], axis=1).T
        sums = np.zeros((1, self.n_units, len(columns)))
        for at, column in enumerate(columns):
            if column.any():
                sums[0, :, at] = np.bincount(self.unit[own], column, self.n_units)
        return Sums(by_unit=sums)


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """From sums to means: draws × bins, then all items × predictions × metrics.

    ``sums`` are draws × bins, then items in none × predictions × (finite scores, the number infinite, if any are),
    followed by the number of items and that of rated ones.
    """

    metrics: tuple[str, ...]
    endless: bool

    def __call__(self, sums: Floats) -> Floats:
        """Finish the sums of all draws."""
        sums = bins_and_all(sums)
        scores, infinite = self.split(sums)
        rated = [name in EMPIRICAL for name in self.metrics]
        counted = np.where(rated, sums[..., -1, None], sums[..., -2, None])
        with np.errstate(invalid="ignore", divide="ignore"):  # NaN where no item was drawn
            means = scores / counted[..., None, :]
        if self.endless:
            means[infinite > 0] = np.inf
        return np.asarray(means)

    def split(self, sums: Floats) -> tuple[Floats, Floats]:
        """Return the finite scores, and how many are infinite."""
        each = sums[..., :-2].reshape(*sums.shape[:-1], 2 if self.endless else 1, -1, len(self.metrics))
        return each[..., 0, :, :], each[..., -1, :, :] if self.endless else np.zeros_like(each[..., 0, :, :])


class MetricSums(NamedTuple):
    """The scores of one metric by units of items: finite sums and whether any is infinite, units × predictions."""

    sums: UnitSums
    endless: NDArray[np.bool_]
    n_items: Floats
    """How many items of each unit count."""

    @property
    def bounds(self) -> list[slice]:
        """The units of each bin and, last, all units."""
        starts = self.sums.starts.tolist()
        return [slice(a, b) for a, b in itertools.pairwise(starts[:-1])] + [slice(0, starts[-1])]


@dataclass(frozen=True, slots=True, eq=False)
class ScoreSums:
    """The scores of all predictions of a target, by units of items.

    Attributes
    ----------
    metrics
        In the order of the last dimension of values.
    units
        The sums, as :class:`Means` expects them.
    """

    target: ScoringTarget
    metrics: tuple[str, ...]
    units: UnitSums
    means: Means

    @classmethod
    def of(cls, target: ScoringTarget, scoring: Scoring, seed: int, how: Running) -> ScoreSums:
        """Score every item by every prediction, and add up."""
        unit, starts = units_of(target.codes, len(target.bins) + 1, seed)
        n_units, n = int(starts[-1]), len(target.predictions)
        finite, infinite = [], []
        for at, (name, q) in enumerate(target.predictions.items()):
            how.tell(at, n)
            work = PredictionScores(
                target.raters, target.items, q, unit, n_units, scoring, target.told.get(name), target.weights
            )
            sums = UnitSums.of(target.parts, work, starts, how._replace(progress=None)).by_unit
            finite.append(sums[:, : len(scoring.metrics)])
            infinite.append(sums[:, len(scoring.metrics) :])
        how.tell(n, n)
        rated = target.counts.sum(axis=1) > 0
        numbers = [np.bincount(unit, weights, n_units)[:, None] for weights in (None, rated.astype(float))]
        endless = any(one.any() for one in infinite)
        by_unit = np.concatenate([*finite, *(infinite if endless else ()), *numbers], axis=1)
        return cls(target, scoring.metrics, UnitSums(by_unit, starts), Means(scoring.metrics, endless))

    def values(self) -> Floats:
        """Return the mean of each bin and, last, of all items: bins + 1 × predictions × metrics."""
        return np.asarray(self.means(self.units.totals())[0])

    def infinite(self) -> Floats:
        """Return how many scores of each bin and, last, of all items are infinite, as :meth:`values`."""
        return np.asarray(self.means.split(bins_and_all(self.units.totals()))[1][0])

    def of_metric(self, metric: str) -> MetricSums:
        """Return the sums of one metric by units."""
        at, n = self.metrics.index(metric), len(self.target.predictions)
        shape = (self.units.n_units, -1, n, len(self.metrics))
        each = self.units.by_unit[:, :-2].reshape(shape)[..., at]
        endless = each[:, 1] > 0 if self.means.endless else np.zeros(each[:, 0].shape, dtype=bool)
        counted = self.units.by_unit[:, -1 if metric in EMPIRICAL else -2]
        return MetricSums(UnitSums(np.ascontiguousarray(each[:, 0]), self.units.starts), endless, counted)

    def draws(self, n: int, seed: int, how: Running) -> Floats:
        """Return the means when items are drawn with replacement: draws × bins + 1 × predictions × metrics."""
        return self.units.resampled(n, seed, self.means, how)


def bins_and_all(sums: Floats) -> Floats:
    """Return draws × bins, then all items × …; items in no bin, which come last, count only towards all."""
    return np.concatenate([sums[:, :-1], sums.sum(axis=1, keepdims=True)], axis=1)


# The ranking of predictions -------------------------------------------------------------------------------------------

LEADING = ("rps", "cross_entropy", "expected_rps", "expected_cross_entropy", "expected_emd")
"""The metric that sentences, tables and charts lead with: the first of these that was requested."""


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
# How it changes with the prior, and whether predictions are calibrated.

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
