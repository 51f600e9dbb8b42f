"""A raw table: named columns in pieces, not yet ratings."""

from __future__ import annotations

import bisect
import datetime
import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

import polars as pl

from plurivox.base.errors import ColumnError, FileError
from plurivox.domain.attributes import COUNTED_FROM_1, Locate

ROWS = 1 << 14
"""How many rows a block has if cells come one by one."""
MAX_COLUMNS = 10_000
MAX_CELLS = 50_000_000
CELLS_PER_BYTE = 16
"""The most cells a table may have, absolutely or for each byte of its file.

Distinct ids and scores take at least a bit each, however well they are packed. A file with far more cells repeats the
same thing and would fill the memory with it.
"""

MEMBER = "\0file"
"""The column with the name, without its ending, of the file a row comes from, if a table is made of several files."""
FILE = "_file"
"""The name of that column for users, who may use it for raters or items."""


def refuse_columns(n_columns: int, source: str) -> None:
    """Raise an error if a table has too many columns."""
    if n_columns > MAX_COLUMNS:
        raise ColumnError(
            f"there are at least {n_columns:,} columns, but at most {MAX_COLUMNS:,} can be read",
            source=source,
            hint="Give a long table with one row per rating, and leave out unused columns.",
        )


def refuse_cells(n_cells: int, size: int, source: str) -> None:
    """Raise an error if a table has far more cells than its file can hold distinct values."""
    if n_cells > max(MAX_CELLS, size * CELLS_PER_BYTE):
        raise FileError(
            f"it has at least {n_cells:,} cells, too many for a file of {size:,} bytes",
            source=source,
            hint="Check how it was packed; if it is right, give it as plain CSV.",
        )


@dataclass(slots=True)
class RawTable:
    """Columns by name, the pieces to read once, and how to name a row in a message.

    ``text`` says that the values are text from a file, so that ``12`` may be a number; ``size`` returns how many bytes
    of the file have been read, if there is one; ``ids`` is the column of ids, if an export knows it. ``remarks`` are
    sentences about what was used as the table.
    """

    name: str
    columns: list[str]
    pieces: Iterator[pl.DataFrame]
    text: bool = False
    locate: Locate = COUNTED_FROM_1
    size: Callable[[], int] | None = None
    ids: str | None = None
    remarks: list[str] = field(default_factory=list)

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, name: str) -> RawTable:
        """Wrap a frame that is already in memory."""
        return cls(name, frame.columns, iter([frame]))

    def first(self) -> pl.DataFrame:
        """Return the first piece and keep it for reading."""
        piece = next(self.pieces, None)
        if piece is None:
            return pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))
        rest = self.pieces

        def again() -> Iterator[pl.DataFrame]:
            yield piece
            yield from rest

        self.pieces = again()
        return piece

    def plain(self, used: Collection[str | None] = ()) -> RawTable:
        """Return the table without the names of its files, or with them in ``_file`` if that column is used."""
        if MEMBER not in self.columns or MEMBER in used:
            return self
        if FILE in used and FILE not in self.columns:
            renamed = {MEMBER: FILE}
            columns = [renamed.get(name, name) for name in self.columns]
            return replace(self, columns=columns, pieces=(piece.rename(renamed) for piece in self.pieces))
        pieces = (piece.drop(MEMBER) for piece in self.pieces)
        return replace(self, columns=[name for name in self.columns if name != MEMBER], pieces=pieces)

    def frame(self) -> pl.DataFrame:
        """Read all pieces into one frame."""
        pieces = list(self.bounded(self.pieces))
        return pl.concat(pieces) if pieces else pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))

    def bounded(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield pieces of the table, but raise an error before there are more cells than its file can hold."""
        n_cells = 0
        for piece in pieces:
            n_cells += piece.height * piece.width
            if self.size is not None and n_cells > MAX_CELLS:
                refuse_cells(n_cells, self.size(), self.name)
            yield piece


class Runs:
    """Where the rows of a table are, if their numbers increase by one except in a few places."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._numbers: list[int] = []
        self._rows = 0

    def add(self, number: int) -> None:
        """Give the number of the next row."""
        if not self._starts or number != self._numbers[-1] + self._rows - self._starts[-1]:
            self._starts.append(self._rows)
            self._numbers.append(number)
        self._rows += 1

    def locate(self, position: int) -> str:
        """Name a row by its number."""
        run = bisect.bisect_right(self._starts, position) - 1
        return f"row {self._numbers[run] + position - self._starts[run]}"


def frame_of_cells(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    """Return rows of values of any kind as a frame of text."""
    cells = {
        name: [None if cell is None else cell if type(cell) is str else cell_text(cell) for cell in column]
        for name, column in zip(columns, zip(*rows, strict=True), strict=True)
    }
    return pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))


def cell_text(value: Any) -> str | None:
    """Return a value as it would appear in a text file: whole numbers without ``.0``, dates as ISO, bytes in hex.

    Examples
    --------
    >>> cell_text(4.0), cell_text("007"), cell_text(b"az"), cell_text(datetime.date(2026, 1, 31)), cell_text([1, "a"])
    ('4', '007', '617a', '2026-01-31', '[1, "a"]')
    """
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, float | Decimal):
        if math.isnan(value):
            return None
        return str(int(value)) if math.isfinite(value) and value == int(value) else str(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value).hex()
    if isinstance(value, list | tuple | dict):
        return json.dumps(value, ensure_ascii=False, default=cell_text)
    return str(value)
