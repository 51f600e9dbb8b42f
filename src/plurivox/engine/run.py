"""The driver: what parts of the items contribute in each draw is added up in order and finished."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.engine.draws import Draws
from plurivox.engine.pool import CELLS, as_made, at_once, batched
from plurivox.engine.resuming import ProgressLog
from plurivox.engine.running import Running

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
