"""Columns and cells that hold several answers, unfolded into rows: what exports have in common."""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import FileError, no_column
from plurivox.domain.attributes import as_categories
from plurivox.domain.check import SEVERAL
from plurivox.domain.points import BETWEEN
from plurivox.domain.raw import RawTable, by_name
from plurivox.read.json_documents import text_of_json
from plurivox.read.opening import is_whole

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|(?P<open>[\[{(])|(?P<close>[\]})])|(?P<sign>[,:])"""
    r"""|(?P<word>[^\s,:\[\]{}()'"]+)|\s+""",
    re.DOTALL,
)
_WORDS = {"None": "null", "nan": "null", "True": "true", "False": "false", "array": "", "dtype=object": ""}
_BRACKETS = str.maketrans("()", "[]")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "\n": ""}
_NUMBER = re.compile(r"(-?\d+)\.(?=$|[eE])")


def as_json(text: str) -> str:
    r"""Return Python's text of a list as JSON; for any other text the result is undefined.

    Examples
    --------
    >>> as_json(r"['it\'s', None, True]"), as_json("[4 2]"), as_json("['a' 'b']"), as_json("[4., 2.5]")
    ('["it\'s",null,true]', '[4,2]', '["a","b"]', '[4.0,2.5]')
    """
    parts: list[str] = []
    ended = False  # whether a value has ended, so that a comma must come before the next
    at = 0
    while found := _TOKEN.match(text, at):
        at = found.end()
        kind, token = found.lastgroup, found[0]
        if kind is None:
            continue
        made = _made(kind, token)
        if ended and made and kind in ("text", "open", "word"):
            parts.append(",")
        parts.append(made)
        ended = kind in ("text", "close") or (kind == "word" and bool(made))
    return "".join(parts) + text[at:]


def _made(kind: str, token: str) -> str:
    if kind == "text":
        return json.dumps(_ESCAPE.sub(_unescaped, token[1:-1]), ensure_ascii=False)
    if kind == "word":
        return _WORDS.get(token, _NUMBER.sub(r"\1.0", token))
    return token.translate(_BRACKETS)


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        point = int(code[1:], 16)
        return chr(point) if point <= 0x10FFFF else ""
    return _ESCAPED.get(code, code)


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


Record = Mapping[str, Any]
Row = dict[str, Any]


@dataclass(slots=True)
class Unfolded:
    """Rows made from the records of a table, block by block; each row knows the record it came from.

    ``rows_of`` receives a record and its place, and yields rows: column → text, or any JSON value. Whether the columns
    in ``unseen`` exist is not yet known; it is an error if no row has one of them.
    """

    table: RawTable
    columns: Sequence[str]
    rows_of: Callable[[Record, str], Iterable[Row]]
    unseen: set[str] = field(default_factory=set)
    _ends: list[int] = field(default_factory=list)
    _records: list[int] = field(default_factory=list)

    def unfolded(self) -> RawTable:
        """Return the table of the rows."""
        return replace(
            self.table, columns=list(self.columns), pieces=self._pieces(), text=True, locate=self._locate
        )  # fmt: skip

    def _pieces(self) -> Iterator[pl.DataFrame]:
        at = n_rows = 0
        for piece in self.table.pieces:
            rows: list[Row] = []
            for record in piece.iter_rows(named=True):
                before = len(rows)
                rows.extend(self.rows_of(record, self.table.locate(at)))
                if len(rows) > before:
                    self._ends.append(n_rows + len(rows))
                    self._records.append(at)
                at += 1
            n_rows += len(rows)
            self.unseen -= {name for name in self.unseen if any(row.get(name) is not None for row in rows)}
            if rows:
                yield frame_of(rows, self.columns, self.table.name)
        for name in sorted(self.unseen):
            others = [column for column in self.columns if column not in self.unseen]
            raise no_column(name, others, self.table.name, "Name one of these with --score.")

    def _locate(self, position: int) -> str:
        return self.table.locate(self._records[bisect.bisect_right(self._ends, position)])


def frame_of(rows: Sequence[Row], columns: Sequence[str], source: str) -> pl.DataFrame:
    """Return rows as a frame of text."""
    cells = {name: [text_of_json(row.get(name)) for row in rows] for name in columns}
    try:
        return pl.DataFrame(cells, schema=dict.fromkeys(columns, pl.String))
    except (pl.exceptions.PolarsError, UnicodeEncodeError, TypeError) as error:
        if all(is_whole(cell) for column in cells.values() for cell in column if cell):
            raise
        raise FileError("a text in it contains half a character", source=source, hint="Write it again.") from error


def texts_of(column: pl.Series) -> pl.Series:
    """Return the values of a column as text, none if it holds lists, objects or bytes."""
    if column.dtype.is_nested() or column.dtype == pl.Binary:
        return pl.Series(column.name, [], dtype=pl.String)
    return column.cast(pl.String, strict=False).drop_nulls()


def nested(value: Any, place: str, source: str, column: str) -> Any:
    """Return what a cell holds (in text files, JSON or lists as Python writes them); None if it is blank."""
    if not isinstance(value, str):
        return value
    if not value.strip():
        return None
    try:
        try:
            return json.loads(value)
        except json.JSONDecodeError:
            return json.loads(as_json(value))
    except (ValueError, RecursionError) as error:
        why = (
            error.msg if isinstance(error, json.JSONDecodeError) else "it is nested too deeply, or holds a huge number"
        )
        raise FileError(
            f"the cell is not JSON ({why})", source=source, column=column, places=[place],
            hint="Export the file again, or name its format with --format.",
        ) from None  # fmt: skip


def one_of(answers: Sequence[Any]) -> str | None:
    """Return the only answer as text, None if there is none; several become a text that is on no scale.

    Examples
    --------
    >>> one_of([4]), one_of([]), one_of(["No", "Yes"])
    ('4', None, 'several: No, Yes')
    """
    texts = [str(text_of_json(one)) for one in answers if one is not None]
    return SEVERAL + ", ".join(texts) if len(texts) > 1 else texts[0] if texts else None


def object_in(value: Any, place: str, source: str, column: str) -> dict[str, Any]:
    """Return the object that a cell holds, an empty one if it is blank."""
    found = nested(value, place, source, column)
    if found is not None and not isinstance(found, dict):
        raise wrong(f"'{column}' of a record is not an object", place, source)
    return found or {}


def list_in(value: Any, place: str, source: str, column: str) -> list[Any]:
    """Return the list that a cell holds, an empty one if it is blank."""
    found = nested(value, place, source, column)
    if found is not None and not isinstance(found, list):
        raise wrong(f"'{column}' of a record is not a list", place, source)
    return found or []


def wrong(problem: str, place: str, source: str, hint: str = "Export the file again.") -> FileError:
    """Return the error for a record that does not belong in such an export."""
    return FileError(problem, source=source, places=[place], hint=hint)
