"""The driver: what parts of the items contribute in each draw is added up in order and finished.

Work is a table of draws × parts, of which each cell is one call of the contribution. It is cut where that is cheaper;
in either case sums run over the parts from the first to the last, so that no cut changes a bit::

                 part 1   part 2   part 3 …
    draws 1–8   ┌──────────────────────────┐
    draws 9–16  ├──────────────────────────┤   few parts: a worker has some draws over all parts (_each_draw)
         …      └──────────────────────────┘
    draws 1–16  ┌───────┬────────┬─────────┐   many parts, as on disk: a worker has a part under a few draws
         …      └───────┴────────┴─────────┘   (_each_part); what all parts share is made once, and few are in memory

A bootstrap over items needs no third way: units of items are added up once, and draws weight these sums (``UnitSums``).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
import re
import time
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from importlib import metadata
from operator import add
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import FileError
from plurivox.base.files import write_bytes
from plurivox.domain.part import Part
from plurivox.engine.draws import Draws, item_weights
from plurivox.engine.pool import CELLS, Running, as_made, at_once, batched

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
    if len(parts) == 1:
        return contribution(parts[0], Draws.observed())
    return _added(parts, contribution, Draws.observed(), how or Running())


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
    each = partial(_each_draw, parts, contribution, draws, finish)
    return batched(each, draws.total, how, cost=contribution.cost, width=contribution.width)


def _each_draw(
    parts: Sequence[Part], contribution: Contribution, draws: Draws, finish: Finish, first: int, last: int
) -> Values:
    """Return the values of some of the draws, over all parts."""
    some = draws.between(first, last)
    return finish(reduce(add, (contribution(part, some) for part in parts)))


def _each_part(
    parts: Sequence[Part], contribution: Contribution, draws: Draws, skipped: int, first: int, last: int
) -> list[Sums]:
    """Return the sums of some of the parts, under all draws."""
    return [contribution(parts[at], draws) for at in range(first + skipped, last + skipped)]


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
            values = finish(_added(parts, contribution, some, each, log))
            if log is not None:
                log.keep_values(values)
        yield values


def _added(
    parts: Sequence[Part], contribution: Contribution, draws: Draws, how: Running, log: ProgressLog | None = None
) -> Sums:
    """Return the sums over all parts, added in order as they come, so that only a few are held at once."""
    done, known = (0, {}) if log is None else log.sums()
    whole = Sums(known) if done else None
    for batch in as_made(partial(_each_part, parts, contribution, draws, done), len(parts) - done, how):
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
        return np.concatenate(batched(partial(_resampled, self, seed, finish), n, how, cost=cost, width=width))


def _resampled(sums: UnitSums, seed: int, finish: UnitFinish, first: int, last: int) -> Values:
    """Return the values of some of the draws of units."""
    return finish(sums.totals(item_weights(sums.n_units, last - first, seed, first)))


def and_all(sums: Values) -> Values:
    """Append the sums of all subsets to draws × subsets × … sums; a single subset is already all."""
    if sums.shape[1] == 1:
        return sums
    return np.concatenate([sums, sums.sum(axis=1, keepdims=True)], axis=1)


# Resuming -------------------------------------------------------------------------------------------------------------
#
# Resuming: what an interrupted analysis of a packed study had already added up is read, not computed again.
#
# Next to the study's folder is another one, with a file for every few finished draws and, for unfinished ones, the sums
# over the parts done so far. A file is named after everything that determines its content: the parts, the contribution,
# the draws and the finish. So it is never mistaken for something else; anything that differs is computed.


SECONDS = 5.0
"""How often, in seconds, sums over some of the parts are written."""
_DONE = "_parts_done"  # no sum has this name
_OURS = re.compile(r"[0-9a-f]{32}\.np[yz]|\.[0-9a-f]{32}\.np[yz]\.[0-9a-f]{8}\.part")  # also what was being written


class ProgressLog:
    """The finished part of a contribution under some draws."""

    def __init__(self, folder: Path, name: str) -> None:
        self._values, self._sums = folder / f"{name}.npy", folder / f"{name}.npz"
        self._last = time.monotonic()

    @classmethod
    def of(cls, parts: Sequence[Part], contribution: Any, draws: Draws, finish: Any) -> ProgressLog | None:
        """Return the log of some draws, None if parts do not belong to a packed study or nothing can be kept."""
        folder: Path | None = getattr(parts, "log", None)
        if folder is None:
            return None
        try:
            name = _name_of(parts, contribution, draws, finish)
            folder.mkdir(exist_ok=True)
        except (OSError, pickle.PicklingError, AttributeError, TypeError):  # also for what cannot be pickled
            return None
        return cls(folder, name)

    def values(self) -> NDArray[np.float64] | None:
        """Return the values, if all parts were done."""
        found: NDArray[np.float64] | None = _loaded(self._values)
        return found

    def sums(self) -> tuple[int, dict[str, NDArray[Any]]]:
        """Return how many parts were done, and what they add up to."""
        found = _loaded(self._sums)
        if found is None:
            return 0, {}
        return int(found.pop(_DONE)), found

    def keep_sums(self, n_parts: int, sums: dict[str, NDArray[Any]]) -> None:
        """Write what the first parts add up to, now and then."""
        if time.monotonic() - self._last < SECONDS:
            return
        with contextlib.suppress(FileError, OSError):  # an analysis works without a log
            _write_arrays(self._sums, {_DONE: np.array(n_parts), **sums})
        self._last = time.monotonic()

    def keep_values(self, values: NDArray[np.float64]) -> None:
        """Write the values from all parts."""
        with contextlib.suppress(FileError, OSError):
            _write_arrays(self._values, values)
            self._sums.unlink(missing_ok=True)


def _name_of(*what: Any) -> str:
    """Return a unique name for a piece of work: a checksum of everything that determines its result."""
    whole = hashlib.blake2b(digest_size=16)
    pickler = _Digest(SimpleNamespace(write=whole.update), 5)  # a file of which only the checksum is kept
    pickler.fast = True  # equal objects are written alike, whether or not they are the same
    pickler.dump((metadata.version("plurivox"), *what))
    return whole.hexdigest()


def _loaded(path: Path) -> Any:
    """Return the content of a numpy file, None if there is none or it is damaged."""
    try:
        found = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
        return {name: found[name] for name in found.files} if path.suffix == ".npz" else found
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write_arrays(path: Path, arrays: Any) -> None:
    """Write an array as .npy, or named ones as .npz, in one step."""
    buffer = io.BytesIO()
    if path.suffix == ".npz":
        np.savez(buffer, **arrays)
    else:
        np.save(buffer, arrays)
    write_bytes(path, buffer.getvalue())


@contextlib.contextmanager
def answering(ratings: Any) -> Iterator[None]:
    """Remove the log of a packed study once an analysis is complete."""
    yield
    parts = ratings.parts() if hasattr(ratings, "parts") else ()
    folder: Path | None = getattr(parts, "log", None)
    if folder is not None and folder.is_dir() and not folder.is_symlink():
        with contextlib.suppress(OSError):  # the folder stays if it holds anything else
            for path in folder.iterdir():
                if _OURS.fullmatch(path.name):
                    path.unlink()
            folder.rmdir()


class _Digest(pickle.Pickler):
    """Pickles arrays by their content, wherever they come from, and a packed study by what identifies it."""

    def persistent_id(self, obj: Any) -> Any:
        """Return what stands for an array or a packed study."""
        if type(obj) is np.ndarray and not obj.dtype.hasobject:
            return obj.dtype.str, obj.shape, hashlib.blake2b(np.ascontiguousarray(obj).data).digest()
        return getattr(obj, "identity", None) if hasattr(obj, "log") else None
