"""Turn columns of ids, given piece by piece, into dense integer codes of their sorted distinct values.

The codes do not depend on the order of rows or on how the column was cut into pieces. Memory is four bytes per
row plus the distinct values, for any kind of id; if a :class:`Spill` keeps the rows, it is the distinct values alone.
A table may have more rows than memory can hold: the few codes known for each row are then kept in files without a
name, which vanish as soon as they are closed, even if the program is killed.
"""

from __future__ import annotations

import bisect
import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import polars as pl
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
    """The codes of rows whose provisional codes may be on disk: ``rank[provisional - low]``, the last of it for -1."""

    provisional: Codes
    rank: NDArray[Any]
    low: int = 0

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


ABSENT = -1
_LEAST_SLOTS = 1 << 12
_SLOTS_PER_VALUE = 8
_WIDEST_TABLE = 1 << 24  # integers further apart are hashed


CodeArray = NDArray[np.signedinteger[Any]]
Pieces = list[NDArray[Any]] | Spill


class Coded(NamedTuple):
    """Distinct values in their order, and for each row the position of its value (-1 where there is none).

    The codes have the smallest signed integer type that holds them. Rows on disk can only be read in slices.
    """

    values: pl.Series
    codes: Any


class Coder:
    """Codes one column, one piece at a time.

    As long as all values are integers, they are their own codes. Otherwise, a hash table with linear probing gives
    the codes: each row guesses the value in the slot of its hash; rows that guessed right are done, the others look
    one slot further, and a row that meets an empty slot has a value not seen before. Values are compared, not only
    hashes.

    Parameters
    ----------
    text
        Whether the values come from a text file, where ``12`` may be a number. If every value is a whole number in
        its shortest form, they become integers; a single ``007`` or ``1e3`` leaves all of them as text.
    keep
        Makes the container for the rows: a list, or a spill on disk.
    """

    def __init__(self, *, text: bool, keep: Callable[[], Pieces] = list) -> None:
        self._text = text
        self._integers: Pieces | None = keep()  # None once a value is something else
        self._pieces: Pieces = keep()
        # While coding, 0 stands for "nothing": the content of an empty slot, and the code of a null.
        self._values = pl.Series([None], dtype=pl.String)
        self._slots = np.zeros(_LEAST_SLOTS, dtype=np.uint32)

    def add(self, piece: pl.Series) -> None:
        """Add the next rows of the column."""
        values = piece if self._text else _comparable(piece)
        if self._integers is not None:
            numbers = _small_integers(values, text=self._text)
            if numbers is not None:
                self._integers.append(numbers)
                return
            self._leave_integers(values.dtype)
        self._add_to_table(values)

    def _leave_integers(self, dtype: pl.DataType) -> None:
        earlier, self._integers = self._integers, None
        for numbers in earlier or ():
            self._add_to_table(pl.Series(numbers.astype(np.int32, copy=False)).cast(dtype))
        if isinstance(earlier, Spill):
            earlier.close()

    def _add_to_table(self, values: pl.Series) -> None:
        if len(self._values) == 1:
            self._values = pl.Series([None], dtype=values.dtype)
        elif values.dtype != self._values.dtype and values.dtype.is_numeric():
            values = self._as_floats(values)
        codes, new = self._look_up(values)
        if len(new):
            late = values.gather(new)
            self._learn(late.unique(maintain_order=True))
            codes[new] = self._look_up(late)[0]
        self._pieces.append(codes)

    def _as_floats(self, values: pl.Series) -> pl.Series:
        """Return whole numbers as floats, like the rest of their column, and turn earlier whole numbers into floats."""
        if self._values.dtype == pl.Int64:
            known, self._values = self._values[1:].cast(pl.Float64), pl.Series([None], dtype=pl.Float64)
            self._slots = np.zeros(_LEAST_SLOTS, dtype=np.uint32)
            self._learn(known)
        return values.cast(pl.Float64)

    def finish(self) -> Coded:
        """Return the distinct values, sorted, and the codes of all rows in the order they came."""
        if self._integers:
            coded = _dense(self._integers)
            if coded is not None:
                return coded
            self._leave_integers(pl.String() if self._text else pl.Int64())
        values = self._values[1:]
        if self._text and (numbers := whole_numbers(values)) is not None:
            values = numbers
        order = values.arg_sort().to_numpy()
        rank = np.empty(len(values) + 1, dtype=np.min_scalar_type(-len(values) - 1))
        rank[order + 1] = np.arange(len(values))
        rank[0] = ABSENT
        return Coded(values.gather(order), _translated(self._pieces, rank))

    def _look_up(self, values: pl.Series) -> tuple[NDArray[np.uint32], NDArray[np.intp]]:
        """Return the codes, and the rows whose value is not yet known."""
        slots = self._slot_of(values)
        codes = self._slots.take(slots)
        rows = np.flatnonzero(self._wrong(codes, values))
        unknown = []
        while len(rows):
            empty = codes[rows] == 0
            unknown.append(rows[empty])
            rows = rows[~empty]
            slots[rows] = (slots[rows] + 1) % len(self._slots)
            codes[rows] = self._slots[slots[rows]]
            rows = rows[self._wrong(codes[rows], values.gather(rows))]
        return codes, np.concatenate([np.empty(0, np.intp), *unknown])

    def _wrong(self, codes: NDArray[np.uint32], values: pl.Series) -> NDArray[np.bool_]:
        return self._values.gather(pl.Series(codes)).ne_missing(values).to_numpy()

    def _learn(self, new: pl.Series) -> None:
        """Give values that are not yet known the next codes and a slot."""
        first = len(self._values)
        self._values = pl.concat([self._values, new], rechunk=True)
        size = len(self._slots)
        while len(self._values) * _SLOTS_PER_VALUE > size:
            size *= 4
        if size > len(self._slots):
            self._slots, first = np.zeros(size, dtype=np.uint32), 1
        codes = np.arange(first, len(self._values), dtype=np.uint32)
        slots = self._slot_of(self._values[first:])
        while len(codes):
            free = self._slots[slots] == 0
            self._slots[slots[free]] = codes[free]  # if several need the same slot, one gets it
            left = self._slots[slots] != codes
            codes, slots = codes[left], (slots[left] + 1) % len(self._slots)

    def _slot_of(self, values: pl.Series) -> NDArray[np.int64]:
        shift = np.uint64(64 - (len(self._slots) - 1).bit_length())
        return (values.hash(seed=0x9E3779B9).to_numpy() >> shift).view(np.int64)


def _small_integers(values: pl.Series, *, text: bool) -> NDArray[np.int32] | None:
    """Return the values as 32-bit integers if that loses nothing."""
    if not text and values.dtype != pl.Int64:
        return None
    numbers = values.cast(pl.Int32, strict=False)
    if numbers.null_count():
        return None
    array = numbers.to_numpy()
    # A number's shortest text is unique, so all texts are the shortest ones if their total length is.
    if text and _total_length(array) != values.str.len_bytes().sum():
        return None
    return array


def _total_length(numbers: NDArray[np.int32]) -> int:
    """Return how many characters the numbers take when each is written in its shortest form."""
    total = len(numbers) + int(np.count_nonzero(numbers < 0))
    if total > len(numbers):
        numbers = np.abs(numbers.astype(np.int64))
    bound, high = 10, int(numbers.max(initial=0))
    while bound <= high:
        total += int(np.count_nonzero(numbers >= bound))
        bound *= 10
    return total


def _dense(pieces: Pieces) -> Coded | None:
    """Return the codes of integers, None if their range is too wide for a table; empties the list."""
    low, high = 2**31 - 1, -(2**31)
    for piece in pieces:
        if len(piece):
            low, high = min(low, int(piece.min())), max(high, int(piece.max()))
    if high < low:
        return Coded(pl.Series(dtype=pl.Int64), np.empty(0, np.int32))
    if high - low >= _WIDEST_TABLE:
        return None
    present = np.zeros(high - low + 1, dtype=bool)
    for piece in pieces:
        present[piece.astype(np.int32, copy=False) - low] = True
    values = np.flatnonzero(present) + low
    rank = np.cumsum(present).astype(np.min_scalar_type(-len(values) - 1)) - 1
    return Coded(pl.Series(values, dtype=pl.Int64), _translated(pieces, rank, low))


def _translated(pieces: Pieces, rank: CodeArray, low: int = 0) -> Any:
    """Return ``rank[piece - low]`` of all pieces in one array, or as read from disk; a list is emptied."""
    if isinstance(pieces, Spill):
        return Translated(pieces, rank, low)
    codes = np.empty(sum(map(len, pieces)), dtype=rank.dtype)
    end = len(codes)
    while pieces:  # from the end, so that each piece is freed once copied
        piece = pieces.pop()
        codes[end - len(piece) : end] = rank.take(piece - low if low else piece)
        end -= len(piece)
    return codes


def _comparable(piece: pl.Series) -> pl.Series:
    """Return a typed column as integers, floats or text: the three kinds of value that can be ids."""
    dtype = piece.dtype
    if dtype.is_integer() and dtype != pl.UInt64 and dtype != pl.Int128:
        return piece.cast(pl.Int64)
    if dtype.is_float():
        return whole_floats(piece.cast(pl.Float64).fill_nan(None))
    return as_text(piece)


def whole_floats(numbers: pl.Series) -> pl.Series:
    """Return floats as integers if all are whole: pandas turns whole numbers with gaps into floats."""
    whole = numbers.drop_nulls()
    return numbers.cast(pl.Int64) if ((whole == whole.round()) & (whole.abs() < 2.0**53)).all() else numbers


def as_text(piece: pl.Series) -> pl.Series:
    """Return any column as text, as Python would print its values (``True``, not ``true``)."""
    if piece.dtype == pl.String:
        return piece
    if piece.dtype == pl.Boolean:
        texts = pl.Series(["False", "True"])
        return texts.gather(piece.cast(pl.UInt32)).alias(piece.name)
    if piece.dtype == pl.Object or piece.dtype.is_nested():
        return pl.Series(piece.name, [None if v is None else str(v) for v in piece.to_list()], dtype=pl.String)
    if piece.dtype == pl.Duration:
        return piece.dt.to_string("iso")
    if piece.dtype == pl.Binary:
        try:
            return piece.cast(pl.String)
        except pl.exceptions.ComputeError:  # bytes that are not text, such as UUIDs, are shown as hex digits
            return piece.bin.encode("hex")
    return piece.cast(pl.String)


def as_numbers(column: pl.Series) -> pl.Series:
    """Return any column as floats, null where it has no number."""
    if column.dtype.is_numeric() or column.dtype in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64)
    return as_text(column).str.strip_chars().cast(pl.Float64, strict=False)


def whole_numbers(values: pl.Series) -> pl.Series | None:
    """Return text values as integers if each is a whole number in its shortest form."""
    numbers = values.cast(pl.Int64, strict=False)
    return numbers if (numbers.cast(pl.String) == values).all() and not numbers.null_count() else None
