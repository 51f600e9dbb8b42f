"""Columns of ids, given piece by piece, become dense integer codes of their sorted distinct values.

The codes do not depend on the order of rows or on how the column was cut into pieces. Memory is four bytes per
row and the distinct values, whatever the ids look like.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

ABSENT = -1
_WIDEST_TABLE = 1 << 24  # distinct integers are looked up in a table this long at most, else by hashing


class Coded(NamedTuple):
    """Distinct values in their order, and for each row the position of its value (-1 where there is none)."""

    values: pl.Series
    codes: NDArray[np.int32]


class Coder:
    """Codes one column.

    Parameters
    ----------
    text
        Whether the values come from a text file, where ``12`` may be a number. If every value is a whole number in
        its shortest form they become integers; a single ``007`` or ``1e3`` leaves all of them text.
    """

    def __init__(self, *, text: bool) -> None:
        self._text = text
        self._integers = True  # until a value says otherwise
        self._pieces: list[NDArray[np.int32]] = []
        self._waiting: list[pl.Series] = []
        self._dictionary = pl.DataFrame()

    def add(self, piece: pl.Series) -> None:
        """Take the next rows of the column."""
        values = piece if self._text else _comparable(piece)
        if self._integers:
            integers = self._as_integers(values)
            if integers is not None:
                self._pieces.append(integers)
                return
            self._leave_integers(values.dtype)
        self._waiting.append(values)
        # Each look-up hashes the whole dictionary, so a large one waits for enough rows to be worth it.
        if sum(map(len, self._waiting)) * 4 >= self._dictionary.height:
            self._flush()

    def finish(self) -> Coded:
        """Return the distinct values, sorted, and the codes of all rows in the order they came."""
        if self._integers:
            return self._finish_integers()
        self._flush()
        values = self._dictionary["value"]
        if self._text and (numbers := _whole_numbers(values)) is not None:
            values = numbers
        order = values.arg_sort().to_numpy()
        rank = np.empty(len(values) + 1, dtype=np.int32)
        rank[order] = np.arange(len(values), dtype=np.int32)
        rank[ABSENT] = ABSENT  # the last slot: where a code of -1 looks
        codes = np.concatenate([rank[piece] for piece in self._take_pieces()])
        return Coded(values.gather(order), codes)

    def _as_integers(self, values: pl.Series) -> NDArray[np.int32] | None:
        """Return the piece as integers if that loses nothing."""
        if not self._text and values.dtype != pl.Int64:
            return None
        numbers = values.cast(pl.Int32, strict=False)
        if numbers.null_count():
            return None
        array = numbers.to_numpy()
        # A number's shortest text is unique, so all texts are the shortest ones if their total length is.
        if self._text and _total_length(array) != values.str.len_bytes().sum():
            return None
        return array

    def _finish_integers(self) -> Coded:
        codes = np.concatenate([np.empty(0, np.int32), *self._pieces])
        if not len(codes):
            return Coded(pl.Series(dtype=pl.String if self._text else pl.Int64), codes)
        low, high = int(codes.min()), int(codes.max())
        if high - low >= _WIDEST_TABLE:
            self._leave_integers(pl.String() if self._text else pl.Int64())
            return self.finish()
        self._pieces.clear()
        codes -= low
        present = np.zeros(high - low + 1, dtype=bool)
        present[codes] = True
        if not present.all():
            rank = np.cumsum(present, dtype=np.int32) - np.int32(1)
            codes = rank[codes]
        return Coded(pl.Series(np.flatnonzero(present) + low, dtype=pl.Int64), codes)

    def _leave_integers(self, dtype: pl.DataType) -> None:
        """Go on with a dictionary of values, into which what was coded so far is carried over."""
        self._integers = False
        self._dictionary = pl.DataFrame({"value": [], "code": []}, schema={"value": dtype, "code": pl.Int32})
        for piece in self._take_pieces():
            self._waiting.append(pl.Series(piece).cast(dtype))
            self._flush()

    def _flush(self) -> None:
        """Code the waiting rows, and add values not seen before to the dictionary."""
        if not self._waiting:
            return
        values = pl.concat(self._waiting).alias("value")
        self._waiting.clear()
        codes = self._look_up(values)
        unknown = codes.is_null() & values.is_not_null()
        if unknown.any():
            new = values.filter(unknown).unique(maintain_order=True)
            first = self._dictionary.height
            added = pl.DataFrame({"value": new, "code": np.arange(first, first + len(new), dtype=np.int32)})
            self._dictionary = self._dictionary.vstack(added)
            late = self._look_up(values.filter(unknown)).to_numpy()
            array = codes.fill_null(ABSENT).to_numpy().copy()
            array[unknown.to_numpy()] = late
        else:
            array = codes.fill_null(ABSENT).to_numpy()
        self._pieces.append(array)

    def _look_up(self, values: pl.Series) -> pl.Series:
        found = values.to_frame().join(self._dictionary, on="value", how="left", maintain_order="left")
        return found["code"]

    def _take_pieces(self) -> list[NDArray[np.int32]]:
        pieces, self._pieces = self._pieces, []
        return pieces


def _total_length(numbers: NDArray[np.int32]) -> int:
    """Return how many characters the numbers take when each is written in its shortest form."""
    if not len(numbers):
        return 0
    total = len(numbers)
    if numbers.min() < 0:
        total += int(np.count_nonzero(numbers < 0))
        numbers = np.abs(numbers.astype(np.int64))  # type: ignore[assignment]
    bound, high = 10, int(numbers.max())
    while bound <= high:
        total += int(np.count_nonzero(numbers >= bound))
        bound *= 10
    return total


def _comparable(piece: pl.Series) -> pl.Series:
    """Return a typed column as integers, floats or text: the three kinds of value that can be ids."""
    dtype = piece.dtype
    if dtype.is_integer() and dtype != pl.UInt64 and dtype != pl.Int128:
        return piece.cast(pl.Int64)
    if dtype.is_float():
        numbers = piece.cast(pl.Float64).fill_nan(None)
        whole = numbers.drop_nulls()
        # A column of whole numbers with gaps reaches us as floats from pandas.
        if ((whole == whole.round()) & (whole.abs() < 2.0**53)).all():
            return numbers.cast(pl.Int64)
        return numbers
    return as_text(piece)


def as_text(piece: pl.Series) -> pl.Series:
    """Return any column as text, as Python would print its values (``True``, not ``true``)."""
    if piece.dtype == pl.String:
        return piece
    if piece.dtype == pl.Boolean:
        texts = pl.Series(["False", "True"])
        return texts.gather(piece.cast(pl.UInt32)).alias(piece.name)
    if piece.dtype == pl.Object or piece.dtype.is_nested():
        return pl.Series(piece.name, [None if v is None else str(v) for v in piece], dtype=pl.String)
    return piece.cast(pl.String)


def _whole_numbers(values: pl.Series) -> pl.Series | None:
    """Return text values as integers if each is a whole number in its shortest form."""
    numbers = values.cast(pl.Int64, strict=False)
    return numbers if (numbers.cast(pl.String) == values).all() and not numbers.null_count() else None
