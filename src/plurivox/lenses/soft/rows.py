"""The rows of a result of soft scores: every prediction against all raters, bin by bin, and against each group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.counting import group_counts, weighted_counts
from plurivox.engine.pool import Running
from plurivox.infer.grouping import items_of_values, raters_who_rated
from plurivox.infer.intervals import percentile_interval
from plurivox.infer.result import Row
from plurivox.infer.weighting import tells_unweighted
from plurivox.lenses.soft.matching import (
    REFERENCES,
    Bin,
    Counts,
    Floats,
    PredictedItems,
    Prior,
    bin_codes,
    folds_of,
    reference_predictions,
)
from plurivox.lenses.soft.settings import SoftSettings
from plurivox.lenses.soft.sums import ALL, Scored, Target
from plurivox.statistics.soft_blocks import EMPIRICAL, Scoring
from plurivox.statistics.undefined import NO_RATING


class Found(NamedTuple):
    """What was found about a target: its sums, the values, and those of resampled items."""

    scored: Scored
    values: Floats
    draws: Floats
    unweighted: Floats | None = None

    def rows(self) -> list[Row]:
        """Return a row for each bin, all items first, prediction and metric."""
        return rows_of(self.scored, self.values, self.draws, self.unweighted)


class GroupFound(NamedTuple):
    """The rows of a group, and what predictions were compared with; None if it rated nothing."""

    rows: list[Row]
    target: Target | None


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One call of :func:`plurivox.soft_scores`: what scoring all raters and each group share."""

    ratings: Ratings
    models: tuple[str, ...]
    matched: PredictedItems
    prior: Prior
    train: Counts | None
    scoring: Scoring
    settings: SoftSettings
    how: Running

    def everybody(self, bins: Sequence[Bin]) -> Target:
        """Return the ratings of all raters, in bins of their numbers."""
        pool, names = self.ratings.counts(), tuple(one.name for one in bins)
        codes = bin_codes(pool[self.matched.items].sum(axis=1), bins)
        return self._target(pool, None, slice(None), codes, names, int(np.count_nonzero(self.rated())))

    def parts(self) -> Target | None:
        """Return the ratings of all raters, in parts of the items by the requested attribute; None without one."""
        if self.settings.items_by is None:
            return None
        masks = items_of_values(self.ratings, self.settings.items_by)
        codes = np.full(len(self.matched.items), len(masks), dtype=np.int64)
        for at, mask in enumerate(masks.values()):
            codes[mask[self.matched.items]] = at
        n_raters = int(np.count_nonzero(self.rated()))
        return self._target(self.ratings.counts(), None, slice(None), codes, tuple(masks), n_raters)

    def rated(self) -> NDArray[np.bool_]:
        """Return which raters rated any scored item; empty for totals."""
        ratings = self.ratings
        if not ratings.has_raters:
            return np.zeros(0, dtype=bool)
        chosen = np.zeros(ratings.n_items, dtype=bool)
        chosen[self.matched.items] = True
        return raters_who_rated(ratings, chosen)

    def group(self, axis: Axis, g: int) -> GroupFound:
        """Return the rows of a group: models are scored against its ratings, on the items that it rated."""
        raters = np.where(axis.codes == g, 0, -1).astype(np.int32)
        counted = [group_counts(part, raters, 1, len(self.ratings.scale))[:, 0] for part in self.ratings.parts()]
        pool = np.concatenate(counted)
        rated = np.flatnonzero(pool[self.matched.items].sum(axis=1) > 0)
        name, n_raters = axis.groups[g], int(axis.sizes[g])
        if not len(rated):
            rows = [
                Row("model", axis.name, name, metric, np.nan, n_raters=n_raters, model=model,
                    note="the group rated none of the items")
                for model in self.models for metric in self.scoring.metrics
            ]  # fmt: skip
            return GroupFound(rows, None)
        nowhere = np.zeros(len(rated), dtype=np.int64)
        target = self._target(pool, raters, rated, nowhere, (), n_raters, axis.name, name)
        return GroupFound(self.score(target, f"{axis.name}: {name}").rows(), target)

    def score(self, target: Target, what: str) -> Found:
        """Score all items of a target, as they are and resampled."""
        seed = self.settings.seed
        scored = Scored.of(target, self.scoring, seed, self.how.doing(what))
        draws = scored.draws(self.settings.bootstrap, seed, self.how.doing(f"{what}, resampling"))
        return Found(scored, scored.values(), draws, self._unweighted(target))

    def _unweighted(self, target: Target) -> Floats | None:
        """Return the values with all raters counted equally; None without weights, or if that would reveal too much."""
        if target.weights is None or not tells_unweighted(self.ratings, self.settings.min_group_size):
            return None
        alike = replace(self, ratings=self.ratings.unweighted())
        kept = np.searchsorted(self.matched.items, target.items)
        pool = np.zeros((self.ratings.n_items, target.counts.shape[1]), np.int64)
        pool[target.items] = target.counts
        if target.raters is None:
            pool = self.ratings.counts()
        given = (pool, target.raters, kept, target.codes, target.bins, target.n_raters, target.axis, target.group)
        return Scored.of(alike._target(*given), self.scoring, self.settings.seed, Running()).values()

    def _target(
        self,
        pool: Counts,
        raters: NDArray[np.int32] | None,
        kept: NDArray[np.intp] | slice,
        codes: NDArray[np.int64],
        bins: tuple[str, ...],
        n_raters: int,
        axis: str = ALL,
        group: str = ALL,
    ) -> Target:
        """Return what predictions are compared with: the counts of ``pool`` for the scored items that are kept."""
        items = self.matched.items[kept]
        counts, folds = pool[items], folds_of(len(self.matched.items), self.settings.seed)[kept]
        train, weighed = self.train is not None, self._weighed(raters)
        own = None if weighed is None else weighed[items]
        others = self.train if self.train is not None else pool if weighed is None else weighed
        beside = reference_predictions(counts if own is None else own, others, items, self.prior.weights, folds, train)
        predictions = {**dict(zip(self.models, self.matched.shares[:, kept], strict=True)), **beside}
        told = {name: one.told(items, raters) for name, one in self.matched.by_rater.items()}
        return Target(
            self.ratings.parts(), raters, items, counts, codes, bins, predictions, n_raters, axis, group, told,
            self.ratings.weights, own,
        )  # fmt: skip

    def _weighed(self, raters: NDArray[np.int32] | None) -> Floats | None:
        """Return the weights of some raters, or of all, on each point of every item; None where all count equally."""
        ratings = self.ratings
        if ratings.weights is None:
            return None
        codes = np.zeros(ratings.n_raters, np.int32) if raters is None else raters
        parts = [
            weighted_counts(part, codes, 1, len(ratings.scale), ratings.weights, 0, part.n_items)[0][:, 0]
            for part in ratings.parts()
        ]
        return np.concatenate(parts)


def rows_of(scored: Scored, values: Floats, draws: Floats, unweighted: Floats | None = None) -> list[Row]:
    """Return a row for each bin, all items first, prediction and metric."""
    target = scored.target
    n_ratings = target.counts.sum(axis=1)
    interval = percentile_interval(draws) if len(draws) > 1 else None
    infinite = scored.infinite()
    rows = []
    for b in (len(target.bins), *range(len(target.bins))):
        inside = slice(None) if b == len(target.bins) else target.codes == b
        n_items, n_rated = len(n_ratings[inside]), int(np.count_nonzero(n_ratings[inside]))
        total = int(n_ratings[inside].sum())
        for p, name in enumerate(target.predictions):
            for m, metric in enumerate(scored.metrics):
                counted = n_rated if metric in EMPIRICAL else n_items
                row = Row(
                    "reference" if name in REFERENCES else "model", target.axis, target.group, metric,
                    float(values[b, p, m]), n_raters=target.n_raters, n_items=counted, n_ratings=total,
                    note=_note(metric, float(values[b, p, m]), int(infinite[b, p, m]), counted, n_items),
                    subset=ALL if b == len(target.bins) else target.bins[b], model=name,
                    unweighted=None if unweighted is None else float(unweighted[b, p, m]),
                )  # fmt: skip
                if interval is not None and not math.isnan(row.value) and counted > 1:
                    row = row.with_interval(
                        float(interval.low[b, p, m]), float(interval.high[b, p, m]),
                        float(interval.n_undefined[b, p, m]) / len(draws),
                    )  # fmt: skip
                rows.append(row)
    return rows


def _note(metric: str, value: float, n_infinite: int, counted: int, n_items: int) -> str:
    if math.isnan(value):
        return NO_RATING if n_items else "no item is in this bin"
    notes = []
    if n_infinite:
        one = n_infinite == 1
        given = "was given" if one else "were given"
        what = f"{given} a point" if metric in EMPIRICAL else "may, by the prior, be given a point"
        items = "1 item" if one else f"{n_infinite:,} items"
        notes.append(f"{items} {what} with predicted probability 0; --floor (floor=) makes this finite")
    if counted < n_items:
        left_out = n_items - counted
        notes.append(f"{left_out:,} items without a rating are left out" if left_out > 1 else
                     "1 item without a rating is left out")  # fmt: skip
    return "; ".join(notes)
