"""How far raters agree with themselves on items that they rated again, compared with how far they agree with others.

A cell is an item and a rater with two or more ratings. For agreement within raters each cell is a unit; for agreement
between raters each item on which the group has a cell is one, with the first rating of every rater. All three
statistics are sums over units and a finish, so leaving out items, raters and single cells is subtraction; only a rater
left out between raters changes what an item adds, which is then counted again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.domain.ratings import Ratings
from plurivox.engine.run import Values
from plurivox.infer.grouping import Compared, counting
from plurivox.infer.jackknife import MOST_ITEMS, LeftOut, RaterUnits, blocks, in_block, most_blocks
from plurivox.lenses.variation.drift import of_units
from plurivox.statistics.checks import Level, level_of, usual_level
from plurivox.statistics.cohesion import parts
from plurivox.statistics.registry import STATISTICS
from plurivox.statistics.undefined import NO_PAIR, ONE_POINT, ONE_RATER

MEASURED = ("percent", "alpha", "change")
"""Share of equal pairs, Krippendorff's alpha, and mean absolute change in values of the scale."""
COLUMNS = {
    "axis": pl.String, "group": pl.String, "statistic": pl.String, "within": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "between": pl.Float64, "between_ci_low": pl.Float64, "between_ci_high": pl.Float64,
    "n_raters": pl.Int64, "n_items": pl.Int64, "n_pairs": pl.Int64, "note": pl.String,
}  # fmt: skip
NOTHING_AGAIN = "nobody rated an item again"
_SCALES = ("fisher", "plain")  # scales on which intervals of alpha and change are symmetric; alpha's as in cohesion
_CELLS = 2_000_000  # the most numbers held at once
_NOTHING = 1e-9  # a remaining sum below this is 0; the smallest that is not is one pair of very many ratings
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]


def repeated(
    ratings: Ratings, axes: Sequence[Compared] = (), *, min_group_size: int = 5,
    level: str | NDArray[np.float64] = "auto", interval: str | None = "jackknife",
) -> pl.DataFrame:  # fmt: skip
    """Return how far raters agree with themselves and with each other on the items that they rated again.

    Parameters
    ----------
    ratings
        Read with ``duplicates="keep"``; without any repeats the frame is empty.
    axes
        The groups to compare. Those with too few raters who rated anything again are withheld. On an axis of raters,
        each is compared with all raters on their items, and intervals generalise over items alone.
    min_group_size
        If fewer raters rated anything again, they are not shown, not even together.
    level
        The distance between two points for alpha: ordinal unless there are more than 1,000 points.
    interval
        ``"none"`` leaves out the intervals. They come from a two-way jackknife over items and raters.

    Returns
    -------
    polars.DataFrame
        One row for all raters and each group, by statistic: ``"percent"``, ``"alpha"`` and ``"change"``; ``within``
        raters and ``between`` them, with intervals, how many raters and items, and how many pairs of both were rated
        again.
    """
    if ratings.again is None:
        return pl.DataFrame(schema=COLUMNS)
    study = _Study.of(ratings, level, intervals=interval != "none")
    has_cells = np.bincount(study.cell_rater, minlength=ratings.n_raters) > 0
    rows = study.rows("all", "all", np.ones(ratings.n_raters, bool), shown=int(has_cells.sum()) >= min_group_size)
    for one in counting(axes, has_cells) if axes else ():
        for axis, places in one.shown:
            alone = axis.attributes == ("rater",)
            for g in places:
                rows += study.rows(axis.name, axis.groups[g], axis.codes == g, alone=alone)
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


# Sums over units -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Sums:
    """From counts of units, units × points, to sums: units that count, shares of equal pairs, change, alpha's parts."""

    level: Level
    values: Values

    @property
    def width(self) -> int:
        """How many numbers a unit adds."""
        return 3 + (1 + len(self.values) if self._linear else len(self.values) ** 2)

    @property
    def _linear(self) -> bool:
        """Whether alpha needs no matrix of coincidences."""
        return isinstance(self.level, str) and self.level in ("nominal", "interval")

    def each(self, counts: Values, change: Values | None) -> Values:
        """Return what each unit adds."""
        return np.concatenate([self._means(counts, change), self._alpha(counts)], axis=1)

    def total(self, counts: Values, change: Values | None) -> Values:
        """Return what all of them add, without a matrix for each."""
        alpha = self._alpha(counts).sum(axis=0) if self._linear else parts.alpha_sum(counts).ravel()
        return np.concatenate([self._means(counts, change).sum(axis=0), alpha])

    def _means(self, counts: Values, change: Values | None) -> Values:
        equal = parts.percent_agreement_parts(counts)
        if change is None:  # the mean |v_c − v_k| over pairs of ratings, 0 where there are none
            below = np.cumsum(counts, axis=1) - counts
            lower = np.cumsum(counts * self.values, axis=1) - counts * self.values
            m = counts.sum(axis=1)
            change = (counts * (self.values * below - lower)).sum(axis=1) / np.maximum(m * (m - 1) / 2, 1)
        return np.column_stack([equal[:, 1], equal[:, 0], np.where(equal[:, 1] > 0, change, 0.0)])

    def _alpha(self, counts: Values) -> Values:
        if not self._linear:
            return parts.alpha_parts(counts).reshape(len(counts), -1)
        if self.level == "nominal":
            return parts.alpha_nominal_parts(counts)
        return parts.alpha_interval_parts(counts, self.values)

    def finish(self, sums: Values) -> Values:
        """Return the three values, (…, width) → (…, 3)."""
        clean = np.where(np.abs(sums) < _NOTHING, 0.0, sums)
        n, own = clean[..., 0], clean[..., 3:]
        if not self._linear:
            size = len(self.values)
            alpha = parts.alpha_from(own.reshape(*own.shape[:-1], size, size), self.level, self.values)
        elif self.level == "nominal":
            alpha = parts.alpha_nominal_from(own[..., 0], own[..., 1:])
        else:
            alpha = parts.alpha_interval_from(own[..., 0], own[..., 1:], self.values)
        return np.stack([parts.ratio(clean[..., 1], n), alpha, parts.ratio(clean[..., 2], n)], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class _Units:
    """Units, some of which may be added up or left out.

    Attributes
    ----------
    counts
        From units to how often each point was given, units × points.
    changes
        The change of each unit; None if it is the mean difference over pairs.
    """

    sums: _Sums
    counts: Callable[[Ints], Values]
    changes: Values | None = None

    def change(self, units: Ints) -> Values | None:
        """Return the change of some units."""
        return None if self.changes is None else self.changes[units]

    def total(self, units: Ints) -> Values:
        """Return what some units add."""
        found = np.zeros(self.sums.width)
        step = max(1, _CELLS // len(self.sums.values))
        for first in range(0, len(units), step):
            some = units[first : first + step]
            found += self.sums.total(self.counts(some), self.change(some))
        return found

    def without(self, units: Ints, blocks_of: Ints, whole: Values) -> Values:
        """Return the values without each block of units, blocks × 1 × statistics; ``whole`` is what all units add."""
        order = np.argsort(blocks_of, kind="stable")
        starts = np.append(np.flatnonzero(np.diff(blocks_of[order], prepend=-1)), len(order))
        found, first, most = [], 0, max(1, _CELLS // self.sums.width)
        while first < len(starts) - 1:
            last = max(first + 1, int(np.searchsorted(starts, starts[first] + most, side="right")) - 1)
            own = units[order[starts[first] : starts[last]]]
            if last - first == 1:
                added = self.total(own)[np.newaxis]
            else:
                each = self.sums.each(self.counts(own), self.change(own))
                added = np.add.reduceat(each, starts[first:last] - starts[first], axis=0)
            found.append(self.sums.finish(whole - added)[:, np.newaxis])
            first = last
        return np.concatenate([np.zeros((0, 1, len(MEASURED))), *found])

    def recounted(
        self, rows: Ints, scores: NDArray[Any], unit_of: Ints, whole: Values, lost: Callable[[int], Ints]
    ) -> Values:
        """Return the values without each unit of ratings, units × 1 × statistics: the items that they rate change.

        Parameters
        ----------
        rows, scores, unit_of
            The item, the point and the unit of each rating.
        whole
            What all items add.
        lost
            The items that do not count without a unit.
        """
        units = of_units(unit_of, int(unit_of.max(initial=-1)) + 1)
        found = np.zeros((len(units), len(MEASURED)))
        held, most = [], max(1, _CELLS // len(whole))
        for unit, theirs in enumerate(units):
            gone = lost(unit)
            touched = np.union1d(rows[theirs], gone).astype(np.int64)
            before = self.counts(touched)
            after = before - _table(np.searchsorted(touched, rows[theirs]), scores[theirs], *before.shape)
            after[np.searchsorted(touched, gone)] = 0.0
            held.append(whole - self.sums.total(before, None) + self.sums.total(after, None))
            if len(held) == most or unit + 1 == len(found):  # many points make wide sums, which are not kept
                found[unit + 1 - len(held) : unit + 1] = self.sums.finish(np.array(held))
                held = []
        return found[:, np.newaxis]


def _table(rows: NDArray[Any], scores: NDArray[Any], n_rows: int, n_points: int) -> Values:
    """Return how often each row has each point."""
    cells = np.bincount(rows.astype(np.int64) * n_points + scores, minlength=n_rows * n_points)
    return cells.reshape(n_rows, n_points).astype(float)


# Within and between raters -------------------------------------------------------------------------------------------


_Repeated = tuple[list[list[float]], list[str]]
"""For each statistic its value and the ends of its interval, and why it is undefined."""


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """The cells of a study, and how often each item got each point on first occasions."""

    ratings: Ratings
    sums: _Sums
    cells: _Units
    cell_item: NDArray[np.int32]
    cell_rater: NDArray[np.int32]
    firsts: _Units
    intervals: bool

    @classmethod
    def of(cls, ratings: Ratings, level: Any, *, intervals: bool) -> _Study:
        """Find the cells."""
        n_points = len(ratings.scale)
        sums = _Sums(level_of(usual_level(level, n_points), n_points), np.asarray(ratings.scale.values))
        every = ratings.every_rating()
        at = np.flatnonzero(every.repeated)
        starts = np.flatnonzero(every.occasions[at] == 1)
        offsets, scores = np.append(starts, len(at)), every.scores[at]  # the ratings of a cell stand together

        def counts(units: Ints) -> Values:
            sizes = offsets[units + 1] - offsets[units]
            owner = np.repeat(np.arange(len(units)), sizes)
            place = np.arange(len(owner)) + np.repeat(offsets[units] - np.cumsum(sizes) + sizes, sizes)
            return _table(owner, scores[place], len(units), n_points)

        steps = np.abs(np.diff(sums.values[scores], prepend=0.0))  # from one occasion to the next
        steps[starts] = 0.0
        sizes = np.diff(starts, append=len(at))
        cells = _Units(sums, counts, np.add.reduceat(steps, starts) / (sizes - 1) if len(starts) else np.zeros(0))
        items, raters = every.item_codes[at[starts]], every.rater_codes[at[starts]]
        firsts = _Units(sums, ratings.counts().astype(float).__getitem__)
        return cls(ratings, sums, cells, items, raters, firsts, intervals)

    def rows(
        self, axis: str, group: str, members: Mask, *, alone: bool = False, shown: bool = True
    ) -> list[tuple[Any, ...]]:
        """Return a row for each statistic of a group; a single rater is compared with all; too few have no values."""
        own = np.flatnonzero(members[self.cell_rater])
        raters, items = np.unique(self.cell_rater[own]), np.unique(self.cell_item[own]).astype(np.int64)
        sizes = (len(raters), len(items), len(own))
        if not shown:
            nothing = (np.nan,) * 6
            return [(axis, group, name, *nothing, *sizes, "too few raters rated anything again") for name in MEASURED]
        within = self._within(own, alone=alone)
        between = self._among_all(items) if alone else self._between(own, items, members)
        rows = []
        for s, name in enumerate(MEASURED):
            told = (("within raters", within[1][s]), ("between raters", between[1][s]))
            note = "; ".join(f"{where}: {why}" for where, why in told if why)
            rows.append((axis, group, name, *within[0][s], *between[0][s], *sizes, note))
        return rows

    def _within(self, own: Ints, *, alone: bool) -> _Repeated:
        """Compare raters with themselves."""
        whole = self.cells.total(own)
        items, raters = self.cell_item[own], self.cell_rater[own]
        left: list[Values] = []
        if self.intervals:
            known, place = np.unique(items, return_inverse=True)
            left.append(self.cells.without(own, blocks(len(known), MOST_ITEMS)[place], whole))
            if not alone:
                left.append(self.cells.without(own, self._units(raters)[raters], whole))
                left.append(self.cells.without(own, in_block(items, raters, max(most_blocks(len(own)), 1)), whole))
        return self._made(whole, left, NOTHING_AGAIN if not len(own) else "", "plain")

    def _units(self, raters: NDArray[np.int32]) -> Ints:
        """Return the unit of each rater, -1 for all other raters."""
        codes = np.full(self.ratings.n_raters, -1)
        codes[raters] = 0
        return RaterUnits.of(codes, 1).units

    def _among_all(self, items: Ints) -> _Repeated:
        """Compare all raters with each other on some items."""
        whole = self.firsts.total(items)
        left = [self.firsts.without(items, blocks(len(items), MOST_ITEMS), whole)] if self.intervals else []
        return self._made(whole, left, "" if whole[0] else NO_PAIR)

    def _between(self, own: Ints, items: Ints, members: Mask) -> _Repeated:
        """Compare the raters of a group with each other on some items."""
        place = np.full(self.ratings.n_items, -1)
        place[items] = np.arange(len(items))
        at = np.flatnonzero((place[self.ratings.item_codes] >= 0) & members[self.ratings.codes_of_raters])
        rows, scores = place[self.ratings.item_codes[at]], self.ratings.scores[at]
        raters = self.ratings.codes_of_raters[at]
        given = _table(rows, scores, len(items), len(self.sums.values))
        table = _Units(self.sums, given.__getitem__)
        every = np.arange(len(items))
        whole = table.total(every)
        left: list[Values] = []
        if self.intervals:
            unit_of = self._units(raters)
            item, unit = place[self.cell_item[own]], unit_of[self.cell_rater[own]]

            def only_theirs(one: int) -> Ints:
                """Return the items on which nobody but a unit of raters has a cell."""
                return np.setdiff1d(item[unit == one], item[unit != one])

            block = in_block(items[rows], raters, max(most_blocks(len(at)), 1))
            nowhere = np.zeros(0, np.int64)
            left = [
                table.without(every, blocks(len(items), MOST_ITEMS), whole),
                table.recounted(rows, scores, unit_of[raters], whole, only_theirs),
                table.recounted(rows, scores, block, whole, lambda _: nowhere),
            ]
        alone = len(np.unique(raters)) == 1
        return self._made(whole, left, "" if whole[0] else ONE_RATER if alone else NO_PAIR)

    def _made(self, whole: Values, left: Sequence[Values], reason: str, share: str = "complement") -> _Repeated:
        """Return values and their intervals; ``left`` has those without items, raters and single ratings."""
        values = self.sums.finish(whole)
        nothing = np.full(len(MEASURED), np.nan)
        low, high = nothing, nothing
        if left:
            out = LeftOut(values[np.newaxis], tuple(left[:2]), left[2] if len(left) > 2 else None)
            longest = float(self.sums.values[-1] - self.sums.values[0])
            ends = out.interval([share, *_SCALES], [(0.0, 1.0), STATISTICS["irr"].range, (0.0, longest)])
            known = ends.low[0] < ends.high[0]  # where nothing varies, nothing is known about how it would
            low, high = np.where(known, ends.low[0], np.nan), np.where(known, ends.high[0], np.nan)
        notes = [(reason or ONE_POINT) if np.isnan(value) else "" for value in values]
        return np.stack([values, low, high], axis=1).tolist(), notes
