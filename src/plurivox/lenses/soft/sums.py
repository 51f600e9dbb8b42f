"""What a part of the items adds to the scores of predictions, and to those of resampled items."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.engine.draws import Draws, group_counts, weighted_counts
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, UnitSums, units_of
from plurivox.lenses.soft.matching import Counts, Floats
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
