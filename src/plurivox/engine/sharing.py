"""Sharing work between programs that share only a folder, started by anyone, in any order, any number of times.

An analysis of a packed study adds up parts under draws. Everything that takes long is cut into pieces: a few draws over
all parts, or over some. A piece is a file, named after everything that determines its content. So a plan is the
analysis run without any pieces: it continues with undefined values instead of missing ones, and notes what it would
have needed. A task is the same analysis, run by a program that makes its own pieces and no others. The end is the
analysis run once all pieces are there. What only then turns out to be needed, such as more shuffles if a p-value is
undecided, takes another round.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plurivox.engine.draws import Draws
from plurivox.engine.part import Part
from plurivox.engine.resuming import SHARE, loaded, name_of, write_arrays
from plurivox.engine.run import Contribution, EachPart, Finish, Sums, Values, added, blocks
from plurivox.engine.running import Running
from plurivox.errors import PlurivoxError


class Unfinished(PlurivoxError):  # noqa: N818 - nothing went wrong
    """An analysis shares its work and has no result yet."""


def settle() -> None:
    """Raise an error if the last analysis has no result because its work is shared."""
    if (share := SHARE.get()) is not None:
        share.settle()


class Piece(NamedTuple):
    """Some draws over some parts."""

    name: str
    draws: Draws
    first: int
    last: int
    whole: bool

    @property
    def file(self) -> str:
        """Its name: it holds the values if all parts are in it, otherwise the sums of each part."""
        return f"{self.name}.npy" if self.whole else f"{self.name}-{self.first}-{self.last}.npz"


class Pass(NamedTuple):
    """A run of the engine with missing pieces: its name, and the names of their files."""

    name: str
    n_draws: int
    files: tuple[str, ...]


@dataclass(slots=True, eq=False)
class Share:
    """What this program does of shared work.

    Attributes
    ----------
    folder
        Where pieces are kept.
    n_tasks
        The number of tasks among which pieces are divided.
    planned
        The passes of the current round, each with the number of its first piece. A task continues as if they were
        missing, even if they are not, so that all tasks of a round meet the same passes.
    task
        The task that is done here, None if none is.
    met
        The passes that were met.
    missing
        Those that lack pieces.
    made
        How many pieces were made here.
    ends
        Whether the analysis is to be completed here.
    """

    folder: Path
    n_tasks: int
    planned: Mapping[str, int] = field(default_factory=dict)
    task: int | None = None
    met: set[str] = field(default_factory=set)
    missing: list[Pass] = field(default_factory=list)
    made: int = 0
    ends: bool = False

    @contextlib.contextmanager
    def of_questions(self) -> Iterator[None]:
        """Run analyses of packed studies such that this share of their work is done."""
        token = SHARE.set(self)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # about stand-ins for missing values
                yield
        finally:
            SHARE.reset(token)

    def settle(self) -> None:
        """Raise an error unless all pieces were there and a result is wanted."""
        if self.missing or not self.ends:
            raise Unfinished

    # What the engine asks for ----------------------------------------------------------------------------------------

    def total(self, parts: Sequence[Part], contribution: Contribution, how: Running) -> dict[str, Any]:
        """Return the sums over all parts for the raters as they are: one pass, made by the program that comes first."""
        work = EachPart(parts, contribution, Draws.observed())
        path = self.folder / f"{name_of(parts, contribution)}.npz"
        found = loaded(path)
        if found is None:
            found = dict(added(work, how))
            write_arrays(path, found)
        return dict(found)

    def values(
        self, parts: Sequence[Part], contribution: Contribution, draws: Draws, finish: Finish, how: Running
    ) -> list[Values]:
        """Return values under draws, undefined where pieces are missing; make the pieces of this task."""
        name = name_of(parts, contribution, draws, finish)
        self.met.add(name)
        pieces = tuple(self._pieces(parts, contribution, draws, finish))
        if self.task is not None and name in self.planned:
            self._make(pieces, self.planned[name], parts, contribution, finish, how)
            found = None
        else:
            found = self._read(pieces, finish)
        if found is None:
            self.missing.append(Pass(name, draws.total, tuple(one.file for one in pieces)))
            found = [self._undefined(parts, contribution, draws, finish)]
        return found

    def _pieces(
        self, parts: Sequence[Part], contribution: Contribution, draws: Draws, finish: Finish
    ) -> Iterator[Piece]:
        each = list(blocks(contribution, draws))
        n_ranges = min(len(parts), -(-self.n_tasks // len(each)))
        bounds = [len(parts) * at // n_ranges for at in range(n_ranges + 1)]
        for _, some in each:
            name = name_of(parts, contribution, some, finish)
            yield from (Piece(name, some, first, last, n_ranges == 1) for first, last in pairwise(bounds))

    def _make(
        self, pieces: Sequence[Piece], number: int, parts: Sequence[Part], contribution: Contribution, finish: Finish,
        how: Running,
    ) -> None:  # fmt: skip
        """Make the missing pieces of this task; the first of all pieces has this number."""
        for place, one in enumerate(pieces, number):
            path = self.folder / one.file
            if place % self.n_tasks != self.task or path.exists():
                continue
            work = EachPart(parts, contribution, one.draws)
            if one.whole:
                write_arrays(path, finish(added(work, how)))
            else:
                each = work.each(one.first, one.last, how)
                write_arrays(path, {key: np.stack([sums[key] for sums in each]) for key in each[0]})
            self.made += 1

    def _read(self, pieces: Sequence[Piece], finish: Finish) -> list[Values] | None:
        """Return the values from pieces, None if one is missing or damaged; a damaged one is removed and made again."""
        found: dict[str, list[Any]] = {}
        for one in pieces:
            content = loaded(self.folder / one.file)
            if content is None:
                (self.folder / one.file).unlink(missing_ok=True)
                return None
            found.setdefault(one.name, []).append(content)
        return [
            each[0] if isinstance(each[0], np.ndarray) else finish(_added_in_order(each)) for each in found.values()
        ]

    def _undefined(self, parts: Sequence[Part], contribution: Contribution, draws: Draws, finish: Finish) -> Values:
        """Return values of the right shape, all undefined."""
        few = parts[0].some(slice(0, min(parts[0].n_items, 2)))
        like = finish(contribution(few, draws.between(0, 1)))
        return np.full((draws.total, *like.shape[1:]), np.nan)


def _added_in_order(pieces: Sequence[dict[str, Any]]) -> Sums:
    """Add the sums of parts one after the other, as if all had been made here."""
    return reduce(add, (Sums({key: array[at] for key, array in one.items()}) for one in pieces for at in _places(one)))


def _places(piece: dict[str, Any]) -> range:
    return range(len(next(iter(piece.values()))))
