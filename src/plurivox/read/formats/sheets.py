"""Tables with one row per respondent and one column per question, unfolded into one row per answer."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError, few
from plurivox.base.wording import counted
from plurivox.domain.attributes import as_categories
from plurivox.domain.raw import RawTable
from plurivox.read.formats.mixed import refuse_mixed
from plurivox.read.formats.record import Export, Tally
from plurivox.read.settings import ReadSettings

ITEM, SCORE, RATER, TEXT = "question", "answer", "respondent", "text"
SURVEY = "survey"
"""The name of such a table's layout."""
_SLICE = 1 << 18
_ROW = re.compile(r"row (\d+)")
Gate = Callable[[pl.DataFrame, Tally, ReadSettings], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Cell:
    """A column of answers: which item they are about, and which question they answer."""

    column: str
    item: str
    question: str = SCORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What the columns of a table of respondents are.

    Attributes
    ----------
    respondent
        The column of respondents, None if each row is one.
    cells
        The columns of answers.
    attributes, aside
        Columns that describe respondents, and those that are not used.
    asked_by
        The question texts of columns that describe respondents, if their names do not say it.
    about
        What is known about items: attribute → item → value.
    gate
        Leaves out rows that are not answers, and counts them.
    skip
        How many rows below the header hold no answers.
    """

    respondent: str | None
    cells: tuple[Cell, ...]
    attributes: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    about: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    asked_by: Mapping[str, str] = field(default_factory=dict)
    gate: Gate | None = None
    skip: int = 0

    def export(self, table: RawTable, asked: ReadSettings, *, item: str = ITEM, notes: Sequence[str] = ()) -> Export:
        """Return the table with one row for each respondent and item."""
        if asked.score in table.columns:
            raise ColumnError(
                f"'{asked.score}' is one of several columns of answers, each of which is an item of a survey",
                source=table.name, hint=f"Choose the columns to read with --questions '{asked.score}'.",
            )  # fmt: skip
        tally = Tally(of="respondent")
        taken = {*self.attributes, *(cell.question for cell in self.cells)}
        rater = self.respondent or _other(RATER, taken)
        item = _other(item, {*taken, rater})
        about = {_other(name, {*taken, rater, item}): values for name, values in self.about.items()}
        if self.respondent is None:
            tally.notes.append("there is no column of respondents, so each row counts as one rater")
        if self.attributes:
            told = [f"{name} ({self.asked_by[name]})" if name in self.asked_by else name for name in self.attributes]
            tally.notes.append(f"columns that describe raters: {few(told)}")
        if self.aside:
            tally.notes.append(f"{counted(len(self.aside), 'column')} not used: {few(self.aside)}")
        tally.notes += notes
        answers = _Answers(table, replace(self, about=about), asked, tally, item, rater)
        return Export(
            table=answers.table_of_answers(), item=item, rater=rater, questions=answers.questions,
            item_attributes=tuple(about), rater_attributes=self.attributes, tally=tally, layout=SURVEY,
        )  # fmt: skip


def _other(name: str, taken: set[str]) -> str:
    """Return a name that nothing else has."""
    while name in taken:
        name += "_"
    return name


@dataclass(slots=True)
class _Answers:
    """Unfolds a table piece by piece and remembers which row each answer came from."""

    table: RawTable
    sheet: Sheet
    asked: ReadSettings
    tally: Tally
    item: str
    rater: str
    _ends: list[int] = field(default_factory=list)
    _rows: list[NDArray[np.int64]] = field(default_factory=list)

    @property
    def questions(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.question for cell in self.sheet.cells))

    @property
    def items(self) -> list[str]:
        return list(dict.fromkeys(cell.item for cell in self.sheet.cells))

    def table_of_answers(self) -> RawTable:
        """Return the table; the limits on its file are checked before it is unfolded."""
        columns = [self.rater, *self.sheet.attributes, self.item, *self.sheet.about, *self.questions]
        return replace(
            self.table, columns=columns, pieces=self._pieces(), text=True, locate=self._locate, size=None
        )  # fmt: skip

    def _pieces(self) -> Iterator[pl.DataFrame]:
        at = end = 0
        seen = {cell.column: Counter[str]() for cell in self._compared()}
        index = _other("row", set(self.table.columns))
        step = max(1, _SLICE // max(1, len(self.items)))
        for piece in self.table.bounded(self.table.pieces):
            kept = piece.with_row_index(index, at)
            at += piece.height
            kept = kept.filter(pl.col(index) >= self.sheet.skip)
            kept = kept if self.sheet.gate is None else self.sheet.gate(kept, self.tally, self.asked)
            self.tally.n_of += kept.height
            for part in kept.iter_slices(step):
                rows = part[index].to_numpy().astype(np.int64)
                texts = part.drop(index).with_columns(as_categories(part[name]) for name in self._used())
                for name, counts in seen.items():
                    counts.update(dict(texts[name].drop_nulls().alias("text").value_counts().iter_rows()))
                end += len(rows) * len(self.items)
                self._ends.append(end)
                self._rows.append(rows)
                yield self._long(texts, rows)
        if self.asked.scale is None:
            refuse_mixed(seen, self.table.columns, self.asked.missing, self.table.name)

    def _used(self) -> list[str]:
        named = [self.sheet.respondent] if self.sheet.respondent else []
        return [*dict.fromkeys([*named, *self.sheet.attributes, *(cell.column for cell in self.sheet.cells)])]

    def _compared(self) -> list[Cell]:
        """Return the columns whose answers must be on one scale: those of the requested question."""
        asked = self.asked.score or SCORE
        wanted = asked if asked in self.questions else self.questions[0] if self.questions else ""
        return [cell for cell in self.sheet.cells if cell.question == wanted]

    def _long(self, part: pl.DataFrame, rows: NDArray[np.int64]) -> pl.DataFrame:
        """Return one row for each item and respondent, item by item."""
        items, n = self.items, part.height
        who = pl.Series(self.rater, self._named(rows)) if self.sheet.respondent is None else part[self.sheet.respondent]
        people = pl.DataFrame([who.alias(self.rater), *(part[name] for name in self.sheet.attributes)])
        columns = pl.concat([people] * len(items)).get_columns()
        places = np.repeat(np.arange(len(items)), n)
        columns.append(pl.Series(self.item, items, dtype=pl.String).gather(places))
        for name, known in self.sheet.about.items():
            columns.append(pl.Series(name, [known.get(item) for item in items], dtype=pl.String).gather(places))
        unanswered = pl.Series([None] * n, dtype=pl.String)
        for question in self.questions:
            of = {cell.item: cell.column for cell in self.sheet.cells if cell.question == question}
            answers = [part[of[item]].alias("") if item in of else unanswered for item in items]
            columns.append(pl.concat(answers).alias(question))
        return pl.DataFrame(columns)

    def _named(self, rows: NDArray[np.int64]) -> list[str]:
        """Return names for respondents that are just rows: their row numbers, as a spreadsheet shows them."""
        places = [self.table.locate(int(row)) for row in rows]
        return [found[1] if (found := _ROW.fullmatch(place)) else place for place in places]

    def _locate(self, position: int) -> str:
        at = bisect.bisect_right(self._ends, position)
        start = self._ends[at - 1] if at else 0
        item, row = divmod(position - start, len(self._rows[at]))
        columns = [cell.column for cell in self._compared() if cell.item == self.items[item]]
        place = self.table.locate(int(self._rows[at][row]))
        return f"{place}, column {few(columns)}" if columns else place
