"""Individual raters, who have no votes to count: the tables of their scores, sorted by rater.

These are sums over items like those of groups, but over each rater's few items, so draws run over raters instead of
parts of the items.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import item_weights
from plurivox.engine.pool import Running, batched
from plurivox.engine.run import Sums, Values
from plurivox.infer.intervals import Interval, percentile_interval
from plurivox.infer.jackknife import LeftOut
from plurivox.lenses.responsiveness.references import Reference
from plurivox.lenses.responsiveness.sums import Metrics, Support, refuse_tables
from plurivox.statistics.responsiveness import MEASURED_ON, MEASURES

_KEPT = 4_000_000  # the most bootstrap draws of raters kept in a result
_COST = 1e-6  # seconds for one draw of one rater, roughly
_MAKING = Lock()


@dataclass(frozen=True, slots=True, eq=False)
class RaterResponses:
    """The responsiveness of every rater to one reference.

    Attributes
    ----------
    bounds
        The ratings of rater ``r`` are entries ``bounds[r]`` to ``bounds[r + 1]``.
    items, scores
        The item and the score of each rating.
    references
        Ratings × reference points: how many reference ratings it meets, or their weight, without the rater's own.
    """

    n_points: int
    bounds: NDArray[np.int64]
    items: NDArray[np.int32]
    scores: NDArray[Any]
    references: NDArray[Any]
    n_items: int
    capped: bool

    @classmethod
    def of(cls, ratings: Ratings, reference: Reference, *, capped: bool = True) -> RaterResponses:
        """Sort the ratings by rater and find each one's own part in the reference."""
        n_items = ratings.n_items
        order = np.argsort(ratings.codes_of_raters, kind="stable")
        rater, items = ratings.codes_of_raters[order], ratings.item_codes[order]
        references = reference.weighted_totals()[items]
        references = references if len(reference.weights) else references.astype(np.int32)
        inside = reference.raters >= 0
        item = np.repeat(np.arange(n_items), np.diff(reference.offsets))[inside]
        places = _sorted_places(
            rater.astype(np.int64) * n_items + items, reference.raters[inside].astype(np.int64) * n_items + item
        )
        own = (places[places >= 0], reference.scores[inside][places >= 0])
        if len(reference.weights):
            np.subtract.at(references, own, reference.weights[inside][places >= 0])
            references[references < 1e-9 * references.sum(axis=1, keepdims=True).max(initial=1.0)] = 0.0  # rounding
        else:
            np.subtract.at(references, own, 1)
        bounds = np.searchsorted(rater, np.arange(ratings.n_raters + 1)).astype(np.int64)
        return cls(len(ratings.scale), bounds, items, ratings.scores[order], references, n_items, capped)

    def observed(self) -> tuple[Values, Values]:
        """Return the tables, raters × scores × reference points, and the values."""
        from plurivox.kernels.responsiveness import rater_tables

        shape = (len(self.bounds) - 1, self.n_points, self.references.shape[1])
        refuse_tables(*shape)
        tables = np.zeros((1, *shape))
        rater_tables(self.bounds, self.items, self.scores, self.references, tables[0])
        return tables[0], Metrics(self.capped)(Sums(tables=tables))[0]

    def votes(self) -> Support:
        """Return what each rater's scores rest on."""
        met = self.references.any(axis=1)
        n_raters = len(self.bounds) - 1
        rater = np.repeat(np.arange(n_raters), np.diff(self.bounds))[met]
        votes = np.bincount(rater * self.n_points + self.scores[met], minlength=n_raters * self.n_points)
        votes = votes.reshape(n_raters, self.n_points)
        n_items = votes.sum(axis=1).astype(np.int64)
        return Support(votes.astype(float), n_items, n_items)

    def bootstrap(self, draws: int, seed: int, how: Running) -> tuple[Interval, Values]:
        """Return intervals with items drawn with replacement, and the draws unless they are too many to keep."""
        n_raters = len(self.bounds) - 1
        work = _Resampled(self, draws, seed, draws * n_raters * len(MEASURES) <= _KEPT, how.threads)
        width = max(1, len(MEASURES) * draws)
        try:
            parts = batched(work, n_raters, how, cost=draws * _COST, width=width)
        finally:
            _weights.cache_clear()
        low, high, n_undefined = (np.concatenate([part[at] for part in parts]) for at in range(3))
        return Interval(low, high, n_undefined), np.concatenate([part[3] for part in parts], axis=1)

    def jackknife(self, how: Running) -> Interval:
        """Return intervals over items, raters × :data:`MEASURES`: each rater without each of their items."""
        most = int(np.diff(self.bounds).max(initial=1))
        width = max(1, most * self.n_points * self.references.shape[1])
        parts = batched(_Left(self), len(self.bounds) - 1, how, cost=most * _COST, width=width)
        low, high, n_undefined = (np.concatenate([part[at] for part in parts]) for at in range(3))
        return Interval(low, high, n_undefined)


@dataclass(frozen=True, slots=True, eq=False)
class _Left:
    """Some of the raters, each without any one of the items that have a reference."""

    responses: RaterResponses

    def __call__(self, first: int, last: int) -> Interval:
        from plurivox.kernels.responsiveness import rater_tables

        own, finish = self.responses, Metrics(self.responses.capped)
        tables = np.zeros((last - first, own.n_points, own.references.shape[1]))
        rater_tables(own.bounds[first : last + 1], own.items, own.scores, own.references, tables)
        found = []
        for r, table in enumerate(tables):
            met = np.arange(*own.bounds[first + r : first + r + 2])
            met = met[own.references[met].any(axis=1)]
            without = np.repeat(table[np.newaxis], len(met), axis=0)
            without[np.arange(len(met)), own.scores[met]] -= own.references[met]
            values = finish(Sums(tables=without[:, np.newaxis]))
            observed = finish(Sums(tables=table[np.newaxis, np.newaxis]))[0]
            found.append(LeftOut(observed, (values,)).interval(*MEASURED_ON))
        low, high, n_undefined = (np.concatenate([one[at] for one in found]) for at in range(3))
        return Interval(low, high, n_undefined)


@dataclass(frozen=True, slots=True, eq=False)
class _Resampled:
    """Some of the raters under all draws of items."""

    responses: RaterResponses
    draws: int
    seed: int
    kept: bool
    threads: int | None

    def __call__(self, first: int, last: int) -> tuple[Values, Values, NDArray[np.int64], Values]:
        from plurivox.kernels.responsiveness import rater_draws

        own = self.responses
        values = np.zeros((last - first, len(MEASURES), self.draws))
        with _MAKING:  # the first makes them, the others wait
            made = _weights(own.n_items, self.draws, self.seed, self.threads)
        at = 0
        for weights in made:
            given = (own.bounds, own.items, own.scores, own.references, weights)
            rater_draws(*given, first, at, own.n_points, own.capped, values)
            at += len(weights)
        by_draw = np.moveaxis(values, 2, 0)
        low, high, n_undefined = percentile_interval(by_draw)
        nothing = np.zeros((0, *low.shape))  # not a view, which would keep everything
        return low, high, n_undefined, by_draw if self.kept else nothing


@lru_cache(maxsize=1)
def _weights(n_items: int, draws: int, seed: int, threads: int | None) -> list[NDArray[np.uint8]]:
    """Return how often each item is drawn, in batches of draws; each process makes them once."""
    work = _Weights(n_items, seed)
    return batched(work, draws, Running(threads), cost=1e-8 * max(n_items, 1), width=max(n_items, 1))


@dataclass(frozen=True, slots=True)
class _Weights:
    """Weights of some draws, one byte each: no item is drawn more than 255 times unless there are 10^500 weights."""

    n_items: int
    seed: int

    def __call__(self, first: int, last: int) -> NDArray[np.uint8]:
        return item_weights(self.n_items, last - first, self.seed, first).astype(np.uint8)


def _sorted_places(known: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the position of each wanted key among the known ones, which are sorted and unique; -1 if it is missing."""
    places = np.searchsorted(known, wanted)
    there = places < len(known)
    there[there] = known[places[there]] == wanted[there]
    return np.where(there, places, -1)
