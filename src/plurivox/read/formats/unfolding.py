"""Records with several answers each, unfolded into rows: what nested exports have in common."""

from __future__ import annotations

import bisect
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from plurivox.base.errors import FileError, no_column
from plurivox.domain.check import SEVERAL
from plurivox.domain.raw import RawTable
from plurivox.read.formats.python_text import as_json
from plurivox.read.json_documents import text_of_json
from plurivox.read.opening import is_whole

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
