"""Exports whose column names begin with what they hold: ratings are made from them piece by piece."""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from numpy.typing import NDArray

from plurivox.domain.attributes import as_categories
from plurivox.domain.check import SEVERAL
from plurivox.domain.points import BETWEEN
from plurivox.domain.raw import RawTable, by_name

ROW = "\0row"
"""The column with the number of the row from which a row was made."""


@dataclass(slots=True)
class Remade:
    """A table whose pieces are turned into others, in which each row knows where it came from.

    ``make`` receives a piece of text with the column :data:`ROW` and returns rows that still have it, at most
    ``times`` as many; pieces are cut accordingly so that they stay small.
    """

    table: RawTable
    columns: Sequence[str]
    make: Callable[[pl.DataFrame], pl.DataFrame]
    times: int = 1
    _ends: list[int] = field(default_factory=list)
    _rows: list[NDArray[Any]] = field(default_factory=list)

    def remade(self) -> RawTable:
        """Return the table of the new rows."""
        return replace(self.table, columns=list(self.columns), pieces=self._pieces(), text=True, locate=self._locate)

    def _pieces(self) -> Iterator[pl.DataFrame]:
        at = n_rows = 0
        for piece in self._cut():
            texts = piece.with_columns(as_categories(one) for one in piece if one.dtype != pl.String)
            made = self.make(texts.with_columns(pl.int_range(at, at + piece.height, dtype=pl.UInt32).alias(ROW)))
            at, n_rows = at + piece.height, n_rows + made.height
            self._ends.append(n_rows)
            self._rows.append(made[ROW].to_numpy())
            yield made.select(self.columns)

    def _cut(self) -> Iterator[pl.DataFrame]:
        for piece in self.table.pieces:
            yield from piece.iter_slices(max(1, -(-piece.height // self.times)))

    def _locate(self, position: int) -> str:
        place = bisect.bisect_right(self._ends, position)
        start = self._ends[place - 1] if place else 0
        return self.table.locate(int(self._rows[place][position - start]))


def answer(column: str, *empty: str) -> pl.Expr:
    """Return what a column holds without surrounding spaces; blanks and the given texts become null."""
    text = pl.col(column).str.strip_chars()
    return pl.when(~text.is_in(["", *empty])).then(text)


def chosen(answers: Sequence[pl.Expr]) -> pl.Expr:
    """Return the only answer among several columns, null if there is none; more become a text that is on no scale."""
    n_given = pl.sum_horizontal(one.is_not_null().cast(pl.UInt32) for one in answers)
    texts = pl.concat_str(answers, separator=", ", ignore_nulls=True)
    return pl.when(n_given == 1).then(texts).when(n_given > 1).then(pl.lit(SEVERAL) + texts)


def parts_of_item(names: Sequence[str]) -> list[str]:
    """Return which of the columns shown to raters say what was rated: one named so, the only one, or all."""
    named = by_name(names, "item")
    return list(names) if named is None else [named]


def item_id(columns: Sequence[str]) -> pl.Expr:
    """Return ids made from one or several columns; line breaks, which ids must not contain, become spaces."""
    texts = [answer(column).str.replace_all(r"\p{Cc}+", " ") for column in columns]
    joined = pl.concat_str([text.fill_null("") for text in texts], separator=BETWEEN)
    return pl.when(pl.any_horizontal(text.is_not_null() for text in texts)).then(joined)
