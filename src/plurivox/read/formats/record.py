"""What exports have in common: the record of a platform, and how its columns and cells become one row per answer."""

from __future__ import annotations

import bisect
import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from plurivox.base.errors import ColumnError, FileError, InputError, no_column
from plurivox.base.wording import counted, listed
from plurivox.domain.attributes import as_categories
from plurivox.domain.check import SEVERAL
from plurivox.domain.points import BETWEEN
from plurivox.domain.raw import RawTable, by_name
from plurivox.read.json_documents import text_of_json
from plurivox.read.opening import is_whole
from plurivox.read.respondents import tells_of_people
from plurivox.read.settings import ReadSettings

HEAD = 1000
"""How many rows are looked at to recognise a table."""
REJECTED, UNFINISHED = "rejected", "unfinished"
WAITING = "\0waiting"
"""A column of a table of raters that says whether a rater's ratings need a decision.

It says which decision, and because of which status: ``unfinished:RETURNED``; null if a rater counts in any case.
"""


@dataclass(slots=True)
class Tally:
    """What is counted while an export is read; complete only when all pieces have been read.

    Attributes
    ----------
    left_out
        What holds no rating and was left out, such as ``cancelled annotations`` → 3; named in the plural.
    undecided
        What the user has to decide about, by :data:`REJECTED` or :data:`UNFINISHED`.
    marked
        What counts as a rating although the export marks it, such as ``annotations marked as ground truth`` → 2.
    notes
        Sentences that a reader needs to know, such as that drafts cannot be distinguished from answers.
    of, n_of
        What the decision is about, if not single answers, such as ``respondent``, and how many there are.
    """

    left_out: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    marked: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    of: str = ""
    n_of: int = 0

    def sentences(self) -> list[str]:
        """Return the sentences about everything except what was left out."""
        return [*self.notes, *(f"counted as ratings: {what} ({n:,})" for what, n in self.marked.items() if n)]

    def decided(self, frame: pl.DataFrame, waiting: pl.Series, what: str, asked: ReadSettings) -> pl.DataFrame:
        """Return the rows that are kept: all or none of those that need a decision."""
        n_waiting = int(waiting.sum())
        if not n_waiting or getattr(asked, what) == "keep":
            return frame
        if getattr(asked, what) is None:
            self.undecided[what] += n_waiting
            return frame
        self.left_out[f"{what} {self.of or 'row'}s"] += n_waiting
        return frame.filter(~waiting)

    def checked(self, pieces: Iterator[pl.DataFrame], source: str) -> Iterator[pl.DataFrame]:
        """Yield the pieces; raise an error at the end if a decision is missing or everything was left out."""
        n_rows = 0
        for piece in pieces:
            n_rows += piece.height
            yield piece
        of = counted(self.n_of, self.of) if self.of else counted(n_rows, "answer")
        for what, n in self.undecided.items():
            raise InputError(
                f"{n:,} of {of} {'is' if n == 1 else 'are'} {what}, and you have to decide whether they count",
                source=source, hint=f"Use --{what} drop to leave them out, or --{what} keep.",
            )  # fmt: skip
        if not n_rows and (left_out := [f"{what} ({n:,})" for what, n in self.left_out.items() if n]):
            raise InputError(
                f"no answers remain, because {listed(left_out)} are left out", source=source,
                hint="Check that this is the file with the answers, or name its format with --format.",
            )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export as a table with one row per answer, per rater or per item.

    Attributes
    ----------
    table
        Its columns are text. Those of questions hold scores, and nothing where a question was not answered.
    item, rater
        The columns that hold them.
    questions
        The columns of scores.
    item_attributes, rater_attributes
        Columns that describe items or raters.
    time
        The column of times at which ratings were given, if there is one that :mod:`plurivox.domain.numbers` reads.
    tally
        What is counted while the table is read.
    layout
        What the table was before, if not one row for each answer.
    """

    table: RawTable
    item: str = "item"
    rater: str = "rater"
    questions: tuple[str, ...] = ()
    item_attributes: tuple[str, ...] = ()
    rater_attributes: tuple[str, ...] = ()
    time: str | None = None
    tally: Tally = field(default_factory=Tally)
    layout: str = ""

    def question(self, platform: Platform) -> str:
        """Return the only question, or raise an error that names all of them."""
        if len(self.questions) == 1:
            return self.questions[0]
        if not self.questions:
            raise ColumnError(
                f"it is {platform.title}, in which no column of answers was recognised",
                source=self.table.name,
                hint="Name the column with --score, or name the right format with --format.",
            )  # fmt: skip
        likely = [name for name in self.questions if not tells_of_people(name)] or self.questions
        several = f"; if an analysis accepts several: --score '{','.join(likely[:2])}'" if len(likely) > 1 else ""
        raise ColumnError(
            f"it holds answers to {len(self.questions)} questions: {listed(self.questions, 8)}",
            source=self.table.name,
            hint=f"Choose one with --score '{likely[0]}'{several}.",
        )

    def no_attributes(self, used: Collection[str]) -> Iterator[str]:
        """Yield sentences about columns that describe items or raters but are not used as their attributes."""
        for what, names in (("item", self.item_attributes), ("rater", self.rater_attributes)):
            if lacking := [f"'{name}'" for name in names if name not in used]:
                yield (
                    f"not read as attributes of {what}s, because they differ between answers for the same {what} or "
                    f"have the name of another column: {listed(lacking, 5)}"
                )


Fits = Callable[[Sequence[str], pl.DataFrame, ReadSettings], bool]
Reads = Callable[[RawTable, ReadSettings], Export]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Where exports come from.

    Attributes
    ----------
    name
        What ``--format`` calls it.
    title
        What a file was recognised as, as in "it is …".
    fits
        Whether a table is an export of the platform, judged by column names and the first rows.
    ratings
        Turns such a table into one row per answer.
    raters
        Turns such a table into one row per rater; None if it says nothing about raters.
    items
        Turns such a table into one row per item; None if it already has that form, or says nothing about items.
    answers
        Turns such a table into one row per model answer, with the columns ``item``, ``model`` and ``answer``; None if
        it holds none.
    """

    name: str
    title: str
    fits: Fits
    ratings: Reads
    raters: Reads | None = None
    items: Reads | None = None
    answers: Reads | None = None


# Unfolding ------------------------------------------------------------------------------------------------------------
#
# Columns and cells that hold several answers, unfolded into rows.


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
        if kind == "text":
            made = json.dumps(_ESCAPE.sub(_unescaped, token[1:-1]), ensure_ascii=False)
        else:
            made = _WORDS.get(token, _NUMBER.sub(r"\1.0", token)) if kind == "word" else token.translate(_BRACKETS)
        if ended and made and kind in ("text", "open", "word"):
            parts.append(",")
        parts.append(made)
        ended = kind in ("text", "close") or (kind == "word" and bool(made))
    return "".join(parts) + text[at:]


def _unescaped(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "xuU" and len(code) > 1:
        point = int(code[1:], 16)
        return chr(point) if point <= 0x10FFFF else ""
    return _ESCAPED.get(code, code)


ROW = "\0row"
"""The column with the number of the row from which a row was made."""


def remade(table: RawTable, columns: Sequence[str], made: Iterable[tuple[pl.DataFrame, Sequence[int]]]) -> RawTable:
    """Return a table of text made from another; each frame comes with the numbers of the rows it was made from."""
    ends: list[int] = []
    rows: list[Sequence[int]] = []

    def pieces() -> Iterator[pl.DataFrame]:
        for frame, origins in made:
            ends.append((ends[-1] if ends else 0) + frame.height)
            rows.append(origins)
            yield frame.select(columns)

    def locate(position: int) -> str:
        at = bisect.bisect_right(ends, position)
        return table.locate(int(rows[at][position - (ends[at - 1] if at else 0)]))

    return replace(table, columns=list(columns), pieces=pieces(), text=True, locate=locate)


def reworked(
    table: RawTable, columns: Sequence[str], make: Callable[[pl.DataFrame], pl.DataFrame], times: int = 1
) -> RawTable:
    """Return a table whose pieces are turned into others.

    ``make`` receives a piece of text with the column :data:`ROW` and returns rows that still have it, at most
    ``times`` as many; pieces are cut accordingly so that they stay small.
    """

    def made() -> Iterator[tuple[pl.DataFrame, Any]]:
        at = 0
        for piece in table.pieces:
            for part in piece.iter_slices(max(1, -(-piece.height // times))):
                texts = part.with_columns(as_categories(one) for one in part if one.dtype != pl.String)
                found = make(texts.with_columns(pl.int_range(at, at + part.height, dtype=pl.UInt32).alias(ROW)))
                at += part.height
                yield found, found[ROW].to_numpy()

    return remade(table, columns, made())


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


def unfolded(
    table: RawTable, columns: Sequence[str], rows_of: Callable[[Record, str], Iterable[Row]], unseen: Iterable[str] = ()
) -> RawTable:
    """Return a table of rows made from the records of another, block by block.

    ``rows_of`` receives a record and its place, and yields rows: column → text, or any JSON value. Whether the columns
    in ``unseen`` exist is not yet known; it is an error if no row has one of them.
    """

    def made() -> Iterator[tuple[pl.DataFrame, Any]]:
        at, unknown = 0, {*unseen}
        for piece in table.pieces:
            rows: list[Row] = []
            ends = []
            for place, record in enumerate(piece.iter_rows(named=True), at):
                rows.extend(rows_of(record, table.locate(place)))
                ends.append(len(rows))
            unknown -= {name for name in unknown if any(row.get(name) is not None for row in rows)}
            if rows:
                records = np.arange(at, at + piece.height)
                yield frame_of(rows, columns, table.name), np.repeat(records, np.diff(ends, prepend=0))
            at += piece.height
        for name in sorted(unknown):
            others = [column for column in columns if column not in unknown]
            raise no_column(name, others, table.name, "Name one of these with --score.")

    return remade(table, columns, made())


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
        beyond = "it is nested too deeply, or holds a huge number"
        why = error.msg if isinstance(error, json.JSONDecodeError) else beyond
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


def object_in(value: Any, place: str, source: str, column: str, problem: str = "") -> dict[str, Any]:
    """Return the object that a cell holds, an empty one if it is blank."""
    found = nested(value, place, source, column)
    if found is not None and not isinstance(found, dict):
        raise wrong(problem or f"'{column}' of a record is not an object", place, source)
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
