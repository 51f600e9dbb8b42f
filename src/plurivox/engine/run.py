"""The driver: what parts of the items contribute in each draw is added up in order and finished.

Work is a table of draws × parts, of which each cell is one call of the contribution. It is cut where that is cheaper;
in either case sums run over the parts from the first to the last, so that no cut changes a bit::

                 part 1   part 2   part 3 …
    draws 1–8   ┌──────────────────────────┐
    draws 9–16  ├──────────────────────────┤   few parts: a worker has some draws over all parts (_EachDraw)
         …      └──────────────────────────┘
    draws 1–16  ┌───────┬────────┬─────────┐   many parts, as on disk: a worker has a part under a few draws
         …      └───────┴────────┴─────────┘   (_EachPart); what all parts share is made once, and few are in memory

A bootstrap over items needs no third way: units of items are added up once, and draws weight these sums (``UnitSums``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.engine.draws import Draws, item_weights
from plurivox.engine.pool import CELLS, Running, as_made, at_once, batched
from plurivox.engine.resuming import ProgressLog

MANY_PARTS, TOGETHER = 8, 16
"""With at least this many parts, parts are spread over workers, each under this many draws at once."""
Values = NDArray[np.float64]
"""Draws × whatever a finish makes from their sums."""


class Sums(dict[str, NDArray[Any]]):
    """Named arrays that add, each with the draws as its first dimension."""

    def __add__(self, other: Sums) -> Sums:
        return Sums({name: array + other[name] for name, array in self.items()})


class Contribution(Protocol):
    """What a part of the items adds in some draws: a frozen record of a module-level class, numbers in and out."""

    @property
    def cost(self) -> float:
        """Roughly how many seconds a draw takes, over all parts."""

    @property
    def width(self) -> int:
        """How many numbers a draw holds at once."""

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""


Finish = Callable[[Sums], Values]
"""Maps sums to values; a function or a record of a module-level class, so that it can be pickled."""


def total(parts: Sequence[Part], contribution: Contribution, how: Running | None = None) -> Sums:
    """Return the sums over all items for the raters as they are; parts are added in order."""
    work = _EachPart(parts, contribution, Draws.observed())
    if len(parts) == 1:
        return work(0, 1)[0]
    return _added(work, how or Running())


def run(
    parts: Sequence[Part], contribution: Contribution, draws: Draws, finish: Finish, how: Running | None = None
) -> list[Values]:
    """Return the values from the sums in each draw, batch by batch; neither workers nor batches change a single bit.

    Parameters
    ----------
    parts
        The parts, of whole items.
    contribution
        What a part adds.
    draws
        Which draws.
    finish
        Maps the sums over all parts to values, draws first.
    how
        How the work is run, and what is called with its progress.
    """
    how = how or Running()
    if not draws.total:
        return []
    if len(parts) >= MANY_PARTS or (len(parts) > 1 and draws.total < at_once(how)):
        return list(_by_part(parts, contribution, draws, finish, how))
    each = _EachDraw(parts, contribution, draws, finish)
    return batched(each, draws.total, how, cost=contribution.cost, width=contribution.width)


@dataclass(frozen=True, slots=True, eq=False)
class _EachDraw:
    """Some of the draws over all parts."""

    parts: Sequence[Part]
    contribution: Contribution
    draws: Draws
    finish: Finish

    def __call__(self, first: int, last: int) -> Values:
        some = self.draws.between(first, last)
        return self.finish(reduce(add, (self.contribution(part, some) for part in self.parts)))


@dataclass(frozen=True, slots=True, eq=False)
class _EachPart:
    """All draws over some of the parts."""

    parts: Sequence[Part]
    contribution: Contribution
    draws: Draws
    skipped: int = 0

    def __call__(self, first: int, last: int) -> list[Sums]:
        some = range(first + self.skipped, last + self.skipped)
        return [self.contribution(self.parts[at], self.draws) for at in some]


def _by_part(
    parts: Sequence[Part], contribution: Contribution, draws: Draws, finish: Finish, how: Running
) -> Iterator[Values]:
    """Yield values of a few draws at a time, with parts spread over workers; what all parts share is made once."""
    together = max(1, min(TOGETHER, TOGETHER * CELLS // max(contribution.width, 1)))
    for first in range(0, draws.total, together):
        some = draws.between(first, min(first + together, draws.total))
        log = ProgressLog.of(parts, contribution, some, finish)
        values = None if log is None else log.values()
        if values is None:
            each = how.within(first * len(parts), draws.total * len(parts), some.total)
            values = finish(_added(_EachPart(parts, contribution, some), each, log))
            if log is not None:
                log.keep_values(values)
        yield values


def _added(work: _EachPart, how: Running, log: ProgressLog | None = None) -> Sums:
    """Return the sums over all parts, added in order as they come, so that only a few are held at once."""
    done, known = (0, {}) if log is None else log.sums()
    whole = Sums(known) if done else None
    left = replace(work, skipped=done)
    for batch in as_made(left, len(work.parts) - done, how):
        for sums in batch:
            whole = sums if whole is None else whole + sums
            done += 1
            if log is not None:
                log.keep_sums(done, whole)
    assert whole is not None
    return whole


# Units ----------------------------------------------------------------------------------------------------------------
#
# Units of a bootstrap over items: single items, or bundles of them if there are very many; and their sums.
#
# A bootstrap over items need not read the ratings again: it weights sums that were made once. One item is one unit if
# there are few enough; then sums by unit have the same bits, however the items are cut into parts. The items of a
# bundle may be in several parts, whose sums are added in order: since the cuts depend on the data alone, so does the
# result, whoever computes it; another cut may change its last bits.


MOST_UNITS = 20_000
"""How many units a bootstrap draws; with more items, a unit is a few items of one subset, chosen at random."""
_LEAST = 200  # units per subset, however many subsets there are


def units_of(
    codes: NDArray[np.int64], n_subsets: int, seed: int, most: int = MOST_UNITS
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the unit of each item, and where the units of each subset begin; a unit's items belong to one subset.

    Parameters
    ----------
    codes
        The subset of each item.
    n_subsets
        How many subsets there are.
    seed
        Decides which items form a bundle.
    most
        Roughly the most units to make.

    Examples
    --------
    >>> unit, starts = units_of(np.array([0, 1, 0]), 2, seed=0)
    >>> unit.tolist(), starts.tolist()
    ([0, 2, 1], [0, 2, 3])
    """
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1005,)))
    sizes = np.bincount(codes, minlength=n_subsets)
    n_units = sizes.copy()
    if len(codes) > most:
        n_units = np.minimum(sizes, np.maximum(sizes * most // len(codes), _LEAST))
    starts = np.concatenate([[0], np.cumsum(n_units)])
    unit = np.empty(len(codes), dtype=np.int64)
    for number, size in enumerate(sizes.tolist()):
        place = np.arange(size) if size == n_units[number] else rng.permutation(size)
        unit[codes == number] = starts[number] + place * n_units[number] // max(size, 1)
    return unit, starts


UnitFinish = Callable[[Values], Values]
"""Maps draws × subsets × … sums to draws × … values; a function or a record of a module-level class."""


@dataclass(frozen=True, slots=True, eq=False)
class UnitSums:
    """Sums by units of items, sorted by the subset that :func:`units_of` put them in.

    Attributes
    ----------
    by_unit
        Units × … .
    starts
        Where the units of each subset begin, and the end of all.
    """

    by_unit: Values
    starts: NDArray[np.int64]

    @classmethod
    def of(
        cls, parts: Sequence[Part], contribution: Contribution, starts: NDArray[np.int64], how: Running | None = None
    ) -> UnitSums:
        """Add up the contribution's ``by_unit``, one draw × units × … ."""
        return cls(total(parts, contribution, how)["by_unit"][0], starts)

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return int(self.starts[-1])

    def totals(self, weights: NDArray[np.int64] | None = None) -> Values:
        """Return the sums over the units of each subset, draws × subsets × …; each unit counts once without weights."""
        from plurivox.kernels.shuffling import weighted_sums

        drawn = np.ones((1, self.n_units), dtype=np.int64) if weights is None else weights
        flat = self.by_unit.reshape(self.n_units, -1)
        sums = np.zeros((len(drawn), len(self.starts) - 1, flat.shape[1]))
        weighted_sums(drawn, flat, self.starts, sums)
        return sums.reshape(*sums.shape[:2], *self.by_unit.shape[1:])

    def resampled(self, n: int, seed: int, finish: UnitFinish, how: Running) -> Values:
        """Return the values when units are drawn with replacement, ``n`` times."""
        if not n:
            return finish(self.totals())[:0]
        cost = (self.by_unit.size + 20 * self.n_units) / 1e9
        width = self.n_units + self.by_unit[:1].size
        return np.concatenate(batched(_ResampledUnits(self, seed, finish), n, how, cost=cost, width=width))


@dataclass(frozen=True, slots=True, eq=False)
class _ResampledUnits:
    """Some of the draws of units."""

    sums: UnitSums
    seed: int
    finish: UnitFinish

    def __call__(self, first: int, last: int) -> Values:
        return self.finish(self.sums.totals(item_weights(self.sums.n_units, last - first, self.seed, first)))


def and_all(sums: Values) -> Values:
    """Append the sums of all subsets to draws × subsets × … sums; a single subset is already all."""
    if sums.shape[1] == 1:
        return sums
    return np.concatenate([sums, sums.sum(axis=1, keepdims=True)], axis=1)
