"""Ratings at known times, and sums over them: as they are, with times shuffled, or resampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import OUTSIDE
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running, batched
from plurivox.engine.run import Values
from plurivox.infer.jackknife import in_block, most_blocks

STEADY = 1e-12
"""Variation below this share of the total is only rounding error."""
NANOSECONDS = 5e-9
"""Roughly how many seconds a shuffle takes for each rating."""
Ints = NDArray[np.int64]


# Ratings with times ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Timed:
    """Ratings at known times, one rater after the other, in the order of item and occasion.

    Attributes
    ----------
    items, times, scores
        For each rating, its item, its time minus the rater's mean, and its number minus the item's mean.
    bounds
        The ratings of rater r are ``bounds[r]`` to ``bounds[r + 1]``.
    means
        The mean of each rater's times.
    n_items
        How many items there are.
    """

    items: NDArray[np.int32]
    times: Values
    scores: Values
    bounds: Ints
    means: Values
    n_items: int

    @classmethod
    def of(cls, ratings: Ratings) -> Timed:
        """Use all ratings at known times, including repeated ones; none if no times were read."""
        every = ratings.every_rating()
        known = np.zeros(len(every.scores), bool) if every.times is None else np.isfinite(every.times)
        order = np.flatnonzero(known)
        order = order[np.argsort(every.rater_codes[order], kind="stable")]
        items, raters = every.item_codes[order], every.rater_codes[order]
        bounds = np.searchsorted(raters, np.arange(ratings.n_raters + 1)).astype(np.int64)
        scores = np.asarray(ratings.scale.values)[every.scores[order]]
        sizes = np.bincount(items, minlength=ratings.n_items)
        scores -= (np.bincount(items, scores, minlength=ratings.n_items) / np.maximum(sizes, 1))[items]
        times = np.zeros(0) if every.times is None else every.times[order]
        moved, means = _centred(times, raters, bounds)
        return cls(items, moved, scores, bounds, means, ratings.n_items)

    def __len__(self) -> int:
        return len(self.items)

    @cached_property
    def raters(self) -> NDArray[np.int32]:
        """The rater of each rating."""
        return np.repeat(np.arange(len(self.bounds) - 1, dtype=np.int32), np.diff(self.bounds))

    @cached_property
    def squares(self) -> Values:
        """Σ (t − t̄_r)² of each rater."""
        return added(self.raters, self.times**2, len(self.bounds) - 1)

    @cached_property
    def products(self) -> Values:
        """Σ (t − t̄_r)(x − x̄_i) of each rater."""
        return added(self.raters, self.times * self.scores, len(self.bounds) - 1)

    @cached_property
    def item_is_time(self) -> bool:
        """Whether all ratings of an item were given at the same time, for every item."""
        low, high = np.full(self.n_items, np.inf), np.full(self.n_items, -np.inf)
        moments = self.times + self.means[self.raters]
        np.minimum.at(low, self.items, moments)
        np.maximum.at(high, self.items, moments)
        return not bool((high - low > STEADY * np.maximum(np.abs(high), 1)).any())


def added(place: NDArray[Any], numbers: Values | None, n: int) -> Values:
    """Add up numbers, or ones, by position."""
    return np.bincount(place, numbers, minlength=n).astype(np.float64)


def _centred(times: Values, raters: NDArray[np.int32], bounds: Ints) -> tuple[Values, Values]:
    """Return times minus the mean of each rater's, exactly 0 where all are the same, and these means."""
    busy = np.flatnonzero(np.diff(bounds))
    low, high = np.zeros(len(bounds) - 1), np.zeros(len(bounds) - 1)
    if len(busy):
        low[busy], high[busy] = np.minimum.reduceat(times, bounds[busy]), np.maximum.reduceat(times, bounds[busy])
    moved = times - low[raters]  # first, since sums of large numbers lose digits
    means = added(raters, moved, len(low)) / np.maximum(np.diff(bounds), 1)
    return np.where((high > low)[raters], moved - means[raters], 0.0), low + means


# Shuffles -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Shuffles:
    """Some of the shuffles: the products of all groups, draws × groups."""

    timed: Timed
    groups: NDArray[np.int32]
    n_groups: int
    draws: Draws

    def __call__(self, first: int, last: int) -> Values:
        from plurivox.kernels.regression import shuffled_products

        timed, some = self.timed, self.draws.between(first, last)
        sums = np.zeros((some.total, self.n_groups))
        seed = np.uint64(some.seed)
        shuffled_products(timed.times, timed.scores, timed.bounds, self.groups, seed, some.first, sums)
        return sums


class Together:
    """Shuffles times for the groups of all axes at once, and keeps what the last call made for the other axes."""

    def __init__(self, timed: Timed, axes: Sequence[tuple[NDArray[np.int32], int]]) -> None:
        self.timed = timed
        self.starts = np.cumsum([0, *(n for _, n in axes)])
        numbered = [
            np.where(codes >= 0, codes + at, OUTSIDE) for (codes, _), at in zip(axes, self.starts, strict=False)
        ]
        self.groups = np.array(numbered, dtype=np.int32).reshape(len(axes), len(timed.bounds) - 1)
        self._made: tuple[Draws, Values] | None = None
        self._blocks: Values | None = None

    def __call__(self, at: int, shuffles: Draws, how: Running) -> Values:
        """Return the products of the groups of an axis under each shuffle, draws × groups."""
        if self._made is None or self._made[0] != shuffles:
            n_groups = int(self.starts[-1])
            work = _Shuffles(self.timed, self.groups, n_groups, shuffles)
            cost = max(len(self.timed), 1) * NANOSECONDS
            made = batched(work, shuffles.total, how, cost=cost, width=max(n_groups, 1))
            self._made = shuffles, np.concatenate([np.zeros((0, n_groups)), *made])
        return self._made[1][:, self.starts[at] : self.starts[at + 1]]

    def without_blocks(self, how: Running) -> Values:
        """Return products and squares of each rater without each block of single ratings, blocks × 2 × raters."""
        if self._blocks is None:
            timed, n_blocks = self.timed, most_blocks(len(self.timed))
            block_of = in_block(timed.items, timed.raters, max(n_blocks, 1))
            draws = Draws.of_units(np.arange(n_blocks), "items")
            everyone = np.zeros(len(timed.bounds) - 1, np.int32)
            self._blocks = weighted(Weighted(timed, everyone, draws, block_of), how)
        return self._blocks


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Products and squares with items and raters drawn, or without blocks of ratings; draws × 2 × raters or groups.

    Those of groups, if there are any, otherwise those of each rater.
    """

    timed: Timed
    codes: NDArray[np.int32]
    draws: Draws
    block_of: Ints = field(default_factory=lambda: np.zeros(0, np.int64))
    n_groups: int = 0

    def __call__(self, first: int, last: int) -> Values:
        """Return some of the draws."""
        from plurivox.kernels.regression import weighted_products

        timed, some = self.timed, self.draws.between(first, last)
        found = np.zeros((some.total, 2, self.n_groups or len(self.codes)))
        if not len(timed):
            return found
        nothing = np.zeros((some.total, 0))
        resampled = some.kind == "resampled"
        items = some.item_weights(timed.n_items).astype(float) if resampled else nothing
        raters = some.rater_weights(self.codes).astype(float) if resampled else nothing
        if raters.size:
            raters[:, self.codes < 0] = 1.0  # in no group, but in the means of items
        inside, made = self.codes >= 0, np.zeros((2, len(self.codes)))
        for d, (item_weights, rater_weights) in enumerate(zip(items, raters, strict=True)):
            weighted_products(
                timed.items, timed.times, timed.scores, timed.bounds, item_weights, rater_weights, self.block_of,
                some.first + d, made[0], made[1],
            )  # fmt: skip
            for part, numbers in zip(found[d], made, strict=True):
                part[:] = added(self.codes[inside], numbers[inside], self.n_groups) if self.n_groups else numbers
        return found


def weighted(work: Weighted, how: Running) -> Values:
    """Return all draws of weighted ratings."""
    cost = max(len(work.timed), 1) * 4 * NANOSECONDS
    made = batched(work, work.draws.total, how, cost=cost, width=max(len(work.codes) + 3 * work.timed.n_items, 1))
    return np.concatenate([np.zeros((0, 2, work.n_groups or len(work.codes))), *made])


def moments(timed: Timed, own: Any, place: NDArray[Any], n: int) -> Values:
    """Return n, Σt, Σt², Σy and Σty of some ratings by rater, 5 × raters."""
    t, y = timed.times[own], timed.scores[own]
    return np.stack([added(place, part, n) for part in (None, t, t * t, y, t * y)])


def products_of(found: Values, all_squares: Values) -> Values:
    """Return Σ (t − t̄)y and Σ (t − t̄)² from moments, 2 × raters; 0 where times do not differ."""
    n, t, tt, y, ty = found
    size = np.maximum(n, 1)
    squares = tt - t * t / size
    steady = (n < 2) | (squares <= STEADY * all_squares)
    return np.where(steady, 0.0, np.stack([ty - t * y / size, squares]))
