"""Drift: whether raters score the same items higher as time goes on.

Each score is compared with the mean of all ratings of its item, and each time with the mean of its rater's times. The
slope of a group is Σ (t − t̄_r)(x − x̄_i) / Σ (t − t̄_r)² over the ratings of its raters. Without drift, a rater's times
are exchangeable, so they are shuffled; only the products change, and one shuffle of all raters serves all groups of all
axes.

This assumes that raters have their own orders. Where raters of a group rate items in the same order, their view of
single items looks like a drift, however often it is shuffled away rater by rater; so nothing is claimed there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import OUTSIDE, names_raters
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running, batched
from plurivox.engine.run import Values
from plurivox.infer.grouping import Compared, counting
from plurivox.infer.inference import Shuffled, Sizes
from plurivox.infer.jackknife import MOST_ITEMS, LeftOut, RaterUnits, blocks, in_block, most_blocks

NO_TIMES = "nobody has ratings at two different times"
NO_COMPANY = "no item has two ratings at known times"
ALIKE = "everyone gave the same point to the same items"
SAME_TIME = "everyone rated each item at the same time, so an overall drift cannot be told apart from the items"
TOO_FEW = "too few raters have ratings at two different times"
_MOST_KEPT = 20_000_000  # the most left-out values held at once, with very many raters
MOST_RATERS = 5_000
"""The most individual raters that are tested and have intervals, since all of their draws are kept."""
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


def of_units(unit: Ints, n: int) -> list[Ints]:
    """Return the places of what belongs to each of n units; those of unit -1 are left out."""
    order = np.argsort(unit, kind="stable")
    return np.split(order, np.searchsorted(unit[order], np.arange(n + 1)))[1:-1]


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


def _shuffled_products(
    timed: Timed, groups: NDArray[np.int32], n_groups: int, draws: Draws, first: int, last: int
) -> Values:
    """Return the products of all groups under draws ``first`` to ``last``, draws × groups."""
    from plurivox.kernels.regression import shuffled_products

    some = draws.between(first, last)
    sums = np.zeros((some.total, n_groups))
    seed = np.uint64(some.seed)
    shuffled_products(timed.times, timed.scores, timed.bounds, groups, seed, some.first, sums)
    return sums


class SharedTimes:
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
            work = partial(_shuffled_products, self.timed, self.groups, n_groups, shuffles)
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
            self._blocks = weighted(timed, everyone, draws, how, block_of)
        return self._blocks


def _weighted_products(
    timed: Timed, codes: NDArray[np.int32], draws: Draws, block_of: Ints, n_groups: int, first: int, last: int
) -> Values:
    """Return draws ``first`` to ``last`` of :func:`weighted`."""
    from plurivox.kernels.regression import weighted_products

    some = draws.between(first, last)
    found = np.zeros((some.total, 2, n_groups or len(codes)))
    if not len(timed):
        return found
    items = raters = np.zeros((some.total, 0))
    if some.kind == "resampled":
        items = some.item_weights(timed.n_items).astype(float)
        raters = some.rater_weights(codes).astype(float)
    if raters.size:
        raters[:, codes < 0] = 1.0  # in no group, but in the means of items
    inside, made = codes >= 0, np.zeros((2, len(codes)))
    for d, (item_weights, rater_weights) in enumerate(zip(items, raters, strict=True)):
        weighted_products(
            timed.items, timed.times, timed.scores, timed.bounds, item_weights, rater_weights, block_of,
            some.first + d, made[0], made[1],
        )  # fmt: skip
        for part, numbers in zip(found[d], made, strict=True):
            part[:] = added(codes[inside], numbers[inside], n_groups) if n_groups else numbers
    return found


def weighted(
    timed: Timed, codes: NDArray[np.int32], draws: Draws, how: Running, block_of: Ints | None = None, n_groups: int = 0
) -> Values:
    """Return products and squares with items and raters drawn, or without blocks; draws × 2 × groups or raters.

    Those of groups, if there are any, otherwise those of each rater.
    """
    none = np.zeros(0, np.int64)
    work = partial(_weighted_products, timed, codes, draws, none if block_of is None else block_of, n_groups)
    cost, width = max(len(timed), 1) * 4 * NANOSECONDS, max(len(codes) + 3 * timed.n_items, 1)
    made = batched(work, draws.total, how, cost=cost, width=width)
    return np.concatenate([np.zeros((0, 2, n_groups or len(codes))), *made])


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


# Groups of an axis ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Drifting:
    """The drift of the groups of one axis: observed, shuffled, resampled.

    Attributes
    ----------
    name, groups
        The axis and all of its groups.
    places
        Which of them are shown.
    codes
        The group of each rater, -1 for none.
    timed
        The ratings.
    together, at
        What shuffles for all axes, and which of them this is.
    withheld
        Whether too few raters have two times for anything to be shown.
    """

    name: str
    groups: tuple[str, ...]
    places: list[int]
    codes: NDArray[np.int32]
    timed: Timed
    together: SharedTimes
    at: int
    withheld: bool = False

    @property
    def shown(self) -> tuple[str, ...]:
        """The names of the groups that are shown."""
        return tuple(self.groups[g] for g in self.places)

    @property
    def alone(self) -> bool:
        """Whether groups are single raters, so that nothing is known about how raters vary."""
        return names_raters(self.name)

    @property
    def testable(self) -> bool:
        """Whether there are few enough to be tested: all draws are kept, and of raters there may be very many."""
        return not self.alone or len(self.groups) <= MOST_RATERS

    @cached_property
    def squares(self) -> Values:
        """What slopes are divided by; 0 where a slope is undefined."""
        found = self._added(self.timed.squares)
        found[[bool(reason) for reason in self.reasons]] = 0.0
        return found

    @cached_property
    def reasons(self) -> list[str]:
        """Why the slope of each group is undefined, empty where it is defined."""
        moving = self._added(self.timed.squares) > 0
        spread = self._added(added(self.timed.raters, self.timed.scores**2, len(self.codes)))
        several = len(np.unique(self.timed.items)) < len(self.timed)
        flat = ALIKE if several else NO_COMPANY
        whole = len(self.groups) == 1 and not (self.codes < 0).any()
        confounded = SAME_TIME if whole and self.timed.item_is_time else ""
        return [
            TOO_FEW if self.withheld else NO_TIMES if not moves else flat if square < STEADY else confounded
            for moves, square in zip(moving, spread, strict=True)
        ]

    @cached_property
    def observed(self) -> Values:
        """The slope of each group, groups × 1."""
        return self._slopes(self._added(self.timed.products))

    def null(self, shuffles: Draws, how: Running) -> Values:
        """Return the slopes with the times of each rater shuffled, draws × groups × 1."""
        return self._slopes(self.together(self.at, shuffles, how))

    def tested(self) -> Shuffled:
        """Return the test of the groups shown, ready to be decided together with others."""

        def make(shuffles: Draws, how: Running) -> Values:
            return self.null(shuffles, how)[:, self.places]

        nobody = np.zeros(len(self.places), bool)
        return Shuffled(f"times of {self.name}", ("drift",), self.observed[self.places], make, nobody)

    @property
    def notes(self) -> list[dict[str, str]]:
        """Why values of the groups that are shown are undefined, by statistic."""
        return [{"drift": self.reasons[g]} if self.reasons[g] else {} for g in self.places]

    @cached_property
    def same_order(self) -> float:
        """How likely raters of a group are to rate items in as similar an order if each had their own random order.

        Σ (t − t̄_r)(t − t̄_s) over pairs of raters of one group and items both rated, relative to its standard deviation
        under shuffles. NaN where no two raters of a group share an item.
        """
        timed, n = self.timed, np.diff(self.timed.bounds)
        group = np.where(timed.squares > 0, self.codes, OUTSIDE)[timed.raters]
        inside = group >= 0
        cells = group[inside].astype(np.int64) * timed.n_items + timed.items[inside]
        raters, times = timed.raters[inside], timed.times[inside]
        variance = timed.squares / np.maximum(n, 1)
        # Times of a rater add up to 0, so those of two items are slightly dependent: n/(n − 1).
        spread = (variance * np.sqrt(n / np.maximum(n - 1, 1)))[raters]
        largest = max(float(variance.max(initial=0.0)), np.finfo(float).tiny)  # against overflow of fourth powers
        size = len(self.groups) * timed.n_items
        together = added(cells, times, size) ** 2 - added(cells, times**2, size)
        squared = (added(cells, spread / largest, size) ** 2 - added(cells, (spread / largest) ** 2, size)).sum()
        if not squared > STEADY:
            return math.nan
        return 0.5 * math.erfc(float(together.sum()) / largest / math.sqrt(2 * squared) / math.sqrt(2))

    @cached_property
    def sizes(self) -> list[Sizes]:
        """For each group shown, its raters with two different times, their items and their ratings."""
        moving = self.timed.squares > 0
        group = np.where(moving, self.codes, OUTSIDE)[self.timed.raters]
        inside = group >= 0
        ratings = np.bincount(group[inside], minlength=len(self.groups))
        cells = np.unique(group[inside].astype(np.int64) * self.timed.n_items + self.timed.items[inside])
        items = np.bincount(cells // max(self.timed.n_items, 1), minlength=len(self.groups))
        raters = self._added(moving.astype(float))
        return [(int(raters[g]), int(items[g]), int(ratings[g])) for g in self.places]

    def _added(self, of_raters: Values) -> Values:
        """Add up what raters of each group have, along the last dimension."""
        inside = self.codes >= 0
        rows = of_raters.reshape(-1, len(self.codes))
        n_groups = len(self.groups)
        found = [added(self.codes[inside], row[inside], n_groups) for row in rows]
        return np.array(found).reshape(*of_raters.shape[:-1], n_groups)

    def _slopes(self, products: Values, squares: Values | None = None) -> Values:
        """Return slopes along a new last dimension; undefined without squares, and where the observed one is."""
        below = np.broadcast_to(self.squares if squares is None else squares, products.shape)
        defined = (below > 0) & (self.squares > 0)
        found = np.full(products.shape, np.nan)
        np.divide(products, below, out=found, where=defined)
        return found[..., np.newaxis]

    # Other items and raters -------------------------------------------------------------------------------------------

    def left_out(self, resample: str, how: Running) -> LeftOut:
        """Return the slopes without each item, each rater of a group, or both; single raters only without items."""
        each: list[Values] = []
        both, ratings = resample == "both" and not self.alone, None
        if resample in ("items", "both"):
            each.append(self._without_items())
        if resample == "raters" or both:
            each.extend(self._without_raters())
        if both and len(found := self.together.without_blocks(how)):
            ratings = self._slopes(self._added(found[:, 0]), self._added(found[:, 1]))
        return LeftOut(self.observed, tuple(each), ratings)

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return the slopes when items, raters (within their groups) or both are drawn with replacement."""
        drawn = Draws.resampled(draws, seed, resample)
        made = weighted(self.timed, self.codes, drawn, how, n_groups=len(self.groups))
        return self._slopes(made[:, 0], made[:, 1])

    def _without_items(self) -> Values:
        """Remove the ratings of each unit of items from the sums of the raters who gave them."""
        timed, n_raters = self.timed, len(self.codes)
        most = max(10, min(MOST_ITEMS, _MOST_KEPT // max(len(self.groups), 1)))
        unit = blocks(timed.n_items, most)[timed.items]
        units = of_units(unit, int(blocks(timed.n_items, most).max(initial=-1)) + 1)
        sums = moments(timed, slice(None), timed.raters, n_raters)
        products, squares = self._added(timed.products), self._added(timed.squares)
        found = np.zeros((2, len(units), len(self.groups)))
        for u, own in enumerate(units):
            who, place = np.unique(timed.raters[own], return_inverse=True)
            rest = sums[:, who] - moments(timed, own, place, len(who))
            change = products_of(rest, timed.squares[who]) - np.stack([timed.products[who], timed.squares[who]])
            inside = self.codes[who] >= 0
            for part, whole, moved in zip(found, (products, squares), change, strict=True):
                part[u] = whole + np.bincount(self.codes[who][inside], moved[inside], minlength=len(self.groups))
        return self._slopes(found[0], np.where(found[1] > STEADY * squares, found[1], 0.0))

    def _without_raters(self) -> tuple[Values, ...]:
        """Remove each unit of raters from its group, and from the means of the items that they rated."""
        timed, n_groups = self.timed, len(self.groups)
        rated = np.where(np.diff(timed.bounds) > 0, self.codes, OUTSIDE)
        units = RaterUnits.of(rated, n_groups)
        # Σ (t − t̄_r) of each group and item, by which a change of an item's mean is multiplied.
        group = self.codes[timed.raters]
        inside = group >= 0
        cells = group[inside].astype(np.int64) * timed.n_items + timed.items[inside]
        weights = np.bincount(cells, timed.times[inside], minlength=n_groups * timed.n_items)
        weights = weights.reshape(n_groups, timed.n_items)
        n_of = np.bincount(timed.items, minlength=timed.n_items)
        each = of_units(units.units[timed.raters], int(units.units.max(initial=-1)) + 1)
        found = np.zeros((2, len(each), n_groups))
        found[0], found[1] = self._added(timed.products), self._added(timed.squares)
        for u, own in enumerate(each):
            items, place = np.unique(timed.items[own], return_inverse=True)
            left = n_of[items] - np.bincount(place, minlength=len(items))
            means = -np.bincount(place, timed.scores[own], minlength=len(items)) / np.maximum(left, 1)
            # The unit's own raters are in one stratum, which may hold single raters of other groups.
            of_own = self.codes[timed.raters[own]].astype(np.int64)
            rest = weights[:, items].copy()
            np.subtract.at(rest, (of_own, place), timed.times[own])
            found[0, u] -= np.bincount(of_own, timed.times[own] * timed.scores[own], minlength=n_groups) + rest @ means
            found[1, u] -= np.bincount(of_own, timed.times[own] ** 2, minlength=n_groups)
        values = self._slopes(found[0], np.where(found[1] > STEADY * self._added(timed.squares), found[1], 0.0))
        return units.by_stratum(values)


def drifts(ratings: Ratings, axes: Sequence[Compared] = (), *, min_group_size: int = 5) -> list[Drifting]:
    """Return the drift of all raters, then of the groups of each axis, with what its test and interval need.

    Parameters
    ----------
    ratings
        Ratings with times; nothing is returned without them.
    axes
        The groups to compare. Those with too few raters who have ratings at two different times are withheld.
        Overlapping groups are an axis each.
    min_group_size
        With fewer raters who have ratings at two different times, nothing is shown even of all of them together.
    """
    if ratings.times is None:
        return []
    timed = Timed.of(ratings)
    moving = timed.squares > 0
    shown = [(axis, places) for one in counting(axes, moving) for axis, places in one.told] if axes else []
    codes = [np.zeros(ratings.n_raters, np.int32), *(axis.codes for axis, _ in shown)]
    names = [("all", ("all",), [0]), *((axis.name, axis.groups, places) for axis, places in shown)]
    together = SharedTimes(timed, [
        (np.full_like(own, OUTSIDE), 0) if names_raters(name) and len(groups) > MOST_RATERS else (own, len(groups))
        for own, (name, groups, _) in zip(codes, names, strict=True)
    ])  # fmt: skip
    few = 0 < int(np.count_nonzero(moving)) < min_group_size
    return [
        Drifting(name, groups, places, own, timed, together, at, withheld=few and at == 0)
        for at, (own, (name, groups, places)) in enumerate(zip(codes, names, strict=True))
    ]
