"""A raw table: named columns in pieces, not yet ratings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from plurivox.intake.attributes import COUNTED_FROM_1, Locate


@dataclass(slots=True)
class RawTable:
    """Columns by name, the pieces to read once, and how to name a row in a message.

    ``text`` tells that the values are text from a file, so that ``12`` may be a number.
    """

    name: str
    columns: list[str]
    pieces: Iterator[pl.DataFrame]
    text: bool = False
    locate: Locate = COUNTED_FROM_1

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
