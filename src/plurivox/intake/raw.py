"""A raw table: named columns in pieces, not yet ratings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from plurivox.errors import ColumnError, FileError
from plurivox.intake.attributes import COUNTED_FROM_1, Locate

MAX_COLUMNS = 10_000
MAX_CELLS = 50_000_000
CELLS_PER_BYTE = 16
"""A table may have so many cells whatever the size of its file, or so many for each of its bytes.

Ids and scores that differ take a bit each, however well they are packed. What has far more cells is one thing repeated,
and fills the memory with it.
"""


def refuse_columns(n_columns: int, source: str) -> None:
    """Raise if a table has too many columns."""
    if n_columns > MAX_COLUMNS:
        raise ColumnError(
            f"there are {n_columns:,} columns or more, and at most {MAX_COLUMNS:,} are read",
            source=source,
            hint="Give a long table, with one row for each rating, and leave out columns that are not used.",
        )


def refuse_cells(n_cells: int, size: int, source: str) -> None:
    """Raise if a table has far more cells than its file can have told apart."""
    if n_cells > max(MAX_CELLS, size * CELLS_PER_BYTE):
        raise FileError(
            f"it has {n_cells:,} cells or more, too many for a file of {size:,} bytes",
            source=source,
            hint="Check how it was packed; if it is right, give it as plain CSV.",
        )


@dataclass(slots=True)
class RawTable:
    """Columns by name, the pieces to read once, and how to name a row in a message.

    ``text`` tells that the values are text from a file, so that ``12`` may be a number; ``size`` how many bytes of the
    file have been read, if there is one.
    """

    name: str
    columns: list[str]
    pieces: Iterator[pl.DataFrame]
    text: bool = False
    locate: Locate = COUNTED_FROM_1
    size: Callable[[], int] | None = None

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

    def frame(self) -> pl.DataFrame:
        """Read all pieces into one frame."""
        pieces = list(self.bounded(self.pieces))
        return pl.concat(pieces) if pieces else pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))

    def bounded(self, pieces: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield pieces of the table, but raise before there are more than its file can have told apart."""
        n_cells = 0
        for piece in pieces:
            n_cells += piece.height * piece.width
            if self.size is not None and n_cells > MAX_CELLS:
                refuse_cells(n_cells, self.size(), self.name)
            yield piece
