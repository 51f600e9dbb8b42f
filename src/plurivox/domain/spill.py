"""Whole numbers that are kept on disk while a table is read: written piece by piece, read back in slices.

A table may have more rows than memory can hold. The few codes known for each row are then kept in files without a
name, which vanish as soon as they are closed, even if the program is killed.
"""

from __future__ import annotations

import bisect
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from plurivox.base.files import room_for

ROWS = 1 << 20
"""How many rows are processed together."""


class Codes(Protocol):
    """A code for each row, in memory or on disk: anything with a length whose slices are arrays."""

    def __len__(self) -> int: ...

    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


def stretches(n_rows: int, size: int = ROWS) -> Iterator[slice]:
    """Cut rows into slices to process one after the other.

    Examples
    --------
    >>> list(stretches(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return (slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size))


class Temporary:
    """A file without a name, in a folder or where the system keeps such files; if that is full, it says so."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._folder = tempfile.gettempdir() if folder is None else folder
        with room_for("a temporary file", self._folder):
            self.opened = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115 - closed with what reads it

    def append(self, array: NDArray[Any]) -> None:
        """Write an array at the end."""
        view = np.ascontiguousarray(array).data.cast("B")
        with room_for("a temporary file", self._folder):
            while view:  # one call may write less than all of it
                view = view[self.opened.write(view) :]

    def close(self) -> None:
        """Free its disk space; also done once nothing refers to it any more."""
        self.opened.close()

    def __del__(self) -> None:
        if hasattr(self, "opened"):  # otherwise it could not be made
            self.close()


class Spill:
    """Arrays of whole numbers, one after the other, each in the smallest type that holds it."""

    def __init__(self, folder: str | os.PathLike[str] | None = None) -> None:
        self._file = Temporary(folder)
        self._starts = [0]
        self._places: list[tuple[int, np.dtype[Any]]] = []
        self._bytes = 0

    def append(self, piece: NDArray[Any]) -> None:
        """Add the next numbers."""
        if not len(piece):
            return
        small = piece.astype(_smallest(int(piece.min()), int(piece.max())), copy=False)
        self._places.append((self._bytes, small.dtype))
        self._starts.append(self._starts[-1] + len(small))
        self._bytes += small.nbytes
        self._file.append(small)

    def __len__(self) -> int:
        return self._starts[-1]

    def __iter__(self) -> Iterator[NDArray[Any]]:
        return (self._read(at, 0, self._starts[at + 1] - self._starts[at]) for at in range(len(self._places)))

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return a slice of the numbers."""
        first, last, _ = rows.indices(len(self))
        found = []
        at = bisect.bisect_right(self._starts, first) - 1
        while first < last:
            start, stop = self._starts[at], min(self._starts[at + 1], last)
            found.append(self._read(at, first - start, stop - start))
            first, at = stop, at + 1
        return found[0] if len(found) == 1 else np.concatenate([np.empty(0, np.int8), *found])

    def _read(self, at: int, first: int, last: int) -> NDArray[Any]:
        place, dtype = self._places[at]
        wanted = (last - first) * dtype.itemsize
        data = os.pread(self._file.opened.fileno(), wanted, place + first * dtype.itemsize)
        if len(data) < wanted:
            raise OSError("a file of temporary data is shorter than what was written to it")
        return np.frombuffer(data, dtype)

    def close(self) -> None:
        """Free its disk space; also done once nothing refers to it any more."""
        self._file.close()


def _smallest(low: int, high: int) -> np.dtype[Any]:
    """Return the smallest type of whole numbers that holds both.

    Examples
    --------
    >>> str(_smallest(0, 255)), str(_smallest(-1, 255))
    ('uint8', 'int16')
    """
    return np.promote_types(np.min_scalar_type(low), np.min_scalar_type(high))


@dataclass(frozen=True, slots=True, eq=False)
class Translated:
    """The codes of rows whose provisional codes are on disk: ``rank[provisional - low]``."""

    provisional: Spill
    rank: NDArray[Any]
    low: int

    def __len__(self) -> int:
        return len(self.provisional)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        """Return the codes of a slice of rows."""
        found = self.provisional[rows]
        return self.rank.take(found.astype(np.int64) - self.low if self.low else found)


class FirstRows(NamedTuple):
    """Some rows: the first of them, and how many there are."""

    first: NDArray[np.int64]
    n: int


def rows_where(mask: Any, n_rows: int, most: int = 1000) -> FirstRows:
    """Return the rows that a function of slices marks; only the first ones are listed individually."""
    first, n = np.empty(0, np.int64), 0
    for rows in stretches(n_rows):
        found = np.flatnonzero(mask(rows))
        n += len(found)
        if len(first) < most:
            first = np.concatenate([first, found[: most - len(first)] + rows.start])
    return FirstRows(first, n)
