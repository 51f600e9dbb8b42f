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
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import OUTSIDE, names_raters
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Values
from plurivox.infer.grouping import Compared, counting
from plurivox.infer.inference import Shuffled, Sizes
from plurivox.infer.jackknife import MOST_ITEMS, LeftOut, RaterUnits, blocks
from plurivox.lenses.variation.timed import STEADY, Timed, Together, Weighted, added, moments, products_of, weighted

NAMES = ("drift",)
NO_TIMES = "nobody has ratings at two different times"
NO_COMPANY = "no item has two ratings at known times"
ALIKE = "everyone gave the same point to the same items"
SAME_TIME = "everyone rated each item at the same time, so an overall drift cannot be told apart from the items"
TOO_FEW = "too few raters have ratings at two different times"
_MOST_KEPT = 20_000_000  # the most left-out values held at once, with very many raters
MOST_RATERS = 5_000
"""The most individual raters that are tested and have intervals, since all of their draws are kept."""
Ints = NDArray[np.int64]


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
    together: Together
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
        """Whether there are few enough of them to be tested."""
        return _testable(self.name, self.groups)

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

    def tested(self, what: str | None = None) -> Shuffled:
        """Return the test of the groups shown, ready to be decided together with others."""

        def make(shuffles: Draws, how: Running) -> Values:
            return self.null(shuffles, how)[:, self.places]

        nobody = np.zeros(len(self.places), bool)
        return Shuffled(what or f"times of {self.name}", NAMES, self.observed[self.places], make, nobody)

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
        both = resample == "both" and not self.alone
        if resample in ("items", "both"):
            each.append(self._without_items())
        if resample == "raters" or both:
            each.extend(self._without_raters())
        return LeftOut(self.observed, tuple(each), self._without_ratings(how) if both else None)

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return the slopes when items, raters (within their groups) or both are drawn with replacement."""
        drawn = Draws.resampled(draws, seed, resample)
        made = weighted(Weighted(self.timed, self.codes, drawn, n_groups=len(self.groups)), how)
        return self._slopes(made[:, 0], made[:, 1])

    def _without_items(self) -> Values:
        """Remove the ratings of each unit of items from the sums of the raters who gave them."""
        timed, n_raters = self.timed, len(self.codes)
        most = max(10, min(MOST_ITEMS, _MOST_KEPT // max(len(self.groups), 1)))
        unit = blocks(timed.n_items, most)[timed.items]
        order = np.argsort(unit, kind="stable")
        bounds = np.searchsorted(unit[order], np.arange(int(blocks(timed.n_items, most).max(initial=-1)) + 2))
        sums = moments(timed, slice(None), timed.raters, n_raters)
        products, squares = self._added(timed.products), self._added(timed.squares)
        found = np.zeros((2, len(bounds) - 1, len(self.groups)))
        for u in range(len(bounds) - 1):
            own = order[bounds[u] : bounds[u + 1]]
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
        unit = units.units[timed.raters]
        order = np.argsort(unit, kind="stable")
        bounds = np.searchsorted(unit[order], np.arange(int(units.units.max(initial=-1)) + 2))
        found = np.zeros((2, len(bounds) - 1, n_groups))
        found[0], found[1] = self._added(timed.products), self._added(timed.squares)
        for u in range(len(bounds) - 1):
            own = order[bounds[u] : bounds[u + 1]]
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
        for g in np.flatnonzero(units.alone):
            first, last = units.bounds[units.strata[g] : units.strata[g] + 2]
            values[first:last, g] = np.nan
        return tuple(np.split(values, units.bounds[1:-1])) if len(values) else ()

    def _without_ratings(self, how: Running) -> Values | None:
        """Leave out blocks of single ratings."""
        found = self.together.without_blocks(how)
        return self._slopes(self._added(found[:, 0]), self._added(found[:, 1])) if len(found) else None


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
    together = Together(timed, [
        (own, len(groups)) if _testable(name, groups) else (np.full_like(own, OUTSIDE), 0)
        for own, (name, groups, _) in zip(codes, names, strict=True)
    ])  # fmt: skip
    few = 0 < int(np.count_nonzero(moving)) < min_group_size
    return [
        Drifting(name, groups, places, own, timed, together, at, withheld=few and at == 0)
        for at, (own, (name, groups, places)) in enumerate(zip(codes, names, strict=True))
    ]


def _testable(name: str, groups: Sequence[str]) -> bool:
    """Return whether groups are tested: not for very many individual raters, since all of their draws would be kept."""
    return not names_raters(name) or len(groups) <= MOST_RATERS
