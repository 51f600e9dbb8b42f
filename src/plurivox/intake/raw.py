"""A raw table: named columns in pieces, not yet ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from plurivox.intake.attributes import COUNTED_FROM_1, Locate
from plurivox.intake.check import CodedColumns


@dataclass(slots=True)
class RawTable:
    """Columns by name, the pieces to read once, and how to name a row in a message.

    ``text`` tells that the values are text from a file, so that ``12`` may be a number. ``coded``, where there is such
    a thing, codes whole columns faster than piece by piece, or returns None if it cannot.
    """

    name: str
    columns: list[str]
    pieces: Iterator[pl.DataFrame]
    text: bool = False
    locate: Locate = COUNTED_FROM_1
    coded: CodedColumns | None = None

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
        pieces = list(self.pieces)
        return pl.concat(pieces) if pieces else pl.DataFrame(schema=dict.fromkeys(self.columns, pl.String))
