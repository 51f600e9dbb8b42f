"""Amazon Mechanical Turk: the results of a batch, with one row per assignment.

``Input.*`` says what was rated, since a HIT that is posted again has another id. A HIT may show several items:
``Input.image_url1`` goes with ``Answer.Content1``. Radio buttons may have a column each, ``Answer.severity.4``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from plurivox.base.errors import ColumnError
from plurivox.base.wording import counted
from plurivox.domain.raw import RawTable
from plurivox.read.formats.record import REJECTED, Export, Platform, Tally
from plurivox.read.formats.unfolding import (
    Record,
    Remade,
    Row,
    Unfolded,
    answer,
    chosen,
    item_id,
    nested,
    parts_of_item,
    wrong,
)
from plurivox.read.settings import ReadSettings

_IDS = {"HITId", "AssignmentId", "WorkerId"}
_INPUT, _ANSWER = "Input.", "Answer."
_AS_JSON = f"{_ANSWER}taskAnswers"
_STATUS, _REJECT = "AssignmentStatus", "Reject"
_NUMBERED = re.compile(r"(.*?[^\d_. -])[_. -]?(\d{1,6})", re.DOTALL)
_UNANSWERED = "{}"
_HEAD = 1000
Answers = Mapping[str, "str | Mapping[str, str]"]  # question → its column, or the column of each point


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names."""
    return set(columns) >= _IDS and any(name.startswith((_INPUT, _ANSWER)) for name in columns)


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per assignment and item."""
    tally = Tally()
    if _AS_JSON in table.columns:
        table = _without_json(table, tally)
    shape = _Shape.of(table.columns, table.first().head(_HEAD))
    if not shape.inputs and asked.item is None:
        raise ColumnError(
            "no column Input.* says what was rated", source=table.name,
            hint="Name with --item a column that does; the id of a HIT changes when it is posted again.",
        )  # fmt: skip
    derived, item = shape.derived(table.columns)
    if shape.numbers:
        pair = f"{_INPUT}{next(iter(shape.inputs))} with {_ANSWER}{next(iter(shape.questions))}, by their numbers"
        tally.notes.append(f"each row holds {counted(len(shape.numbers), 'item')}: {pair}")

    def make(piece: pl.DataFrame) -> pl.DataFrame:
        made = pl.concat(
            [piece.with_columns(one.alias(name) for name, one in derived(number)) for number in shape.numbers or [0]]
        )
        if shape.numbers:
            empty = made.select(
                pl.all_horizontal(pl.col(name).is_null() for name in (item, *shape.names.values()))
            ).to_series()
            tally.left_out["empty places of HITs"] += int(empty.sum())
            made = made.filter(~empty) if empty.any() else made
        return tally.decided(made, _rejected(made), REJECTED, asked)

    columns = list(dict.fromkeys([*table.columns, *(name for name, _ in derived(next(iter(shape.numbers), 0)))]))
    return Export(
        table=Remade(table, columns, make, max(1, len(shape.numbers))).remade(), item=item, rater="WorkerId",
        tally=tally, questions=tuple(shape.names.values()),
        item_attributes=tuple(name for name in shape.shown.values() if name != item),
    )  # fmt: skip


def _rejected(made: pl.DataFrame) -> pl.Series:
    """Return which rows were rejected, or are marked for rejection."""
    nothing = pl.lit(None, dtype=pl.String)
    status = (pl.col(_STATUS) if _STATUS in made.columns else nothing).str.strip_chars().str.to_lowercase()
    marked = answer(_REJECT).is_not_null() & ~status.is_in(["approved"]).fill_null(value=False)
    rejected = status.is_in(["rejected"]).fill_null(value=False)
    return made.select((rejected | marked if _REJECT in made.columns else rejected).alias("rejected")).to_series()


@dataclass(frozen=True, slots=True)
class _Shape:
    """What the columns of a batch are.

    Attributes
    ----------
    inputs, questions
        What was shown, and what was asked, by number; 0 is the only number where a HIT has one item.
    shown, names
        Their names in the new table.
    numbers
        The numbers of the items of a HIT; empty if it has one.
    whole
        Answers about the whole HIT where it has several items, such as the age of a worker.
    """

    inputs: Mapping[str, Mapping[int, str]]
    questions: Mapping[str, Mapping[int, str | Mapping[str, str]]]
    shown: Mapping[str, str]
    names: Mapping[str, str]
    numbers: tuple[int, ...]
    whole: Answers

    @classmethod
    def of(cls, columns: Sequence[str], head: pl.DataFrame) -> _Shape:
        """Find items and questions by the names of columns, and radio buttons by what they hold."""
        inputs = {name.removeprefix(_INPUT): name for name in columns if name.startswith(_INPUT)}
        questions = _answers(columns, head)
        numbered = {stem: by for stem, by in _by_number(inputs).items() if len(by) > 1}
        numbers = tuple(sorted({number for by in numbered.values() for number in by}))
        paired = {stem: by for stem, by in _by_number(questions).items() if len(by) > 1 and {*by} <= {*numbers}}
        if not paired:
            numbers, numbered = (), {name: {0: column} for name, column in inputs.items()}
            paired = {name: {0: column} for name, column in questions.items()}
        taken = {name for name in columns if not name.startswith((_INPUT, _ANSWER))}
        names = {stem: f"{_ANSWER}{stem}" if stem in taken else stem for stem in paired}
        taken |= set(names.values())
        shown = {stem: f"{_INPUT}{stem}" if stem in taken else stem for stem in numbered}
        taken |= set(shown.values())
        alone = {name for name in questions if not ((one := _NUMBERED.fullmatch(name)) and one[1] in paired)}
        whole = {name: questions[name] for name in questions if numbers and name in alone - taken}
        return cls(numbered, paired, shown, names, numbers, whole)

    def derived(self, columns: Sequence[str]) -> tuple[Any, str]:
        """Return a function that gives the columns for an item's number, and the name of the column of items."""
        parts = parts_of_item(list(self.inputs))
        item = self.shown[parts[0]] if len(parts) == 1 else ",".join(parts)

        def of(number: int) -> Iterator[tuple[str, pl.Expr]]:
            for stem, by in self.questions.items():
                yield from self._called(_ANSWER, stem, self.names[stem], _value(by.get(number)), columns)
            for stem, by in self.inputs.items():
                text = answer(by[number]) if number in by else _nothing()
                if stem in parts and len(parts) == 1:
                    text = item_id([by[number]]) if number in by else _nothing()
                yield from self._called(_INPUT, stem, self.shown[stem], text, columns)
            for name, column in self.whole.items():
                yield name, _value(column)
            if len(parts) > 1:
                there = [self.inputs[part][number] for part in parts if number in self.inputs[part]]
                yield item, item_id(there) if there else _nothing()

        return of, item

    @staticmethod
    def _called(start: str, stem: str, name: str, text: pl.Expr, columns: Sequence[str]) -> Iterator[Any]:
        """Yield a column under its name and under the full one, by which it may also be requested."""
        yield name, text
        if f"{start}{stem}" != name and f"{start}{stem}" not in columns:
            yield f"{start}{stem}", text


def _nothing() -> pl.Expr:
    return pl.lit(None, dtype=pl.String)


def _value(column: str | Mapping[str, str] | None) -> pl.Expr:
    """Return the answer held by a column, or by the columns of all points."""
    if column is None:
        return _nothing()
    if isinstance(column, str):
        return answer(column, _UNANSWERED)
    return chosen([_mark(point, name) for point, name in column.items()])


def _mark(point: str, column: str) -> pl.Expr:
    """Return the point if its column says true; a cell that says neither true nor false is an answer off the scale."""
    cell = answer(column).str.to_lowercase()
    return pl.when(cell == "true").then(pl.lit(point)).when(cell != "false").then(pl.col(column))


def _answers(columns: Sequence[str], head: pl.DataFrame) -> dict[str, str | Mapping[str, str]]:
    """Return the questions; columns of true and false whose names differ after a dot are the points of one question."""
    names = [name.removeprefix(_ANSWER) for name in columns if name.startswith(_ANSWER)]
    groups: dict[str, dict[str, str]] = {}
    for name in names:
        stem, dot, point = name.partition(".")
        if stem and dot and point:
            groups.setdefault(stem, {})[point] = f"{_ANSWER}{name}"
    marked = {stem: group for stem, group in groups.items() if stem not in names and _is_marked(head, group)}
    found: dict[str, str | Mapping[str, str]] = {}
    for name in names:
        stem = name.partition(".")[0]
        found[stem if stem in marked else name] = marked.get(stem, f"{_ANSWER}{name}")
    return found


def _is_marked(head: pl.DataFrame, group: Mapping[str, str]) -> bool:
    """Return whether columns hold only true and false, and at least one true."""
    cells = {str(one).strip().lower() for name in group.values() for one in head[name].drop_nulls().unique()}
    return len(group) > 1 and "true" in cells and cells <= {"true", "false", ""}


def _by_number(names: Mapping[str, Any]) -> dict[str, dict[int, Any]]:
    """Return the columns of each name by the numbers at their ends."""
    found: dict[str, dict[int, Any]] = {}
    for name, column in names.items():
        if fitting := _NUMBERED.fullmatch(name):
            found.setdefault(fitting[1], {})[int(fitting[2])] = column
    return found


def _without_json(table: RawTable, tally: Tally) -> RawTable:
    """Return the table with a column for each answer instead of one with all answers as JSON."""
    head = table.first().head(_HEAD)
    found: dict[str, None] = {}
    for at, cell in enumerate(head[_AS_JSON].to_list()):
        found |= dict.fromkeys(_flat(cell, table.locate(at), table.name))
    others = [name for name in table.columns if name != _AS_JSON]
    columns = list(dict.fromkeys([*others, *found]))

    def rows(record: Record, place: str) -> Iterator[Row]:
        answers = _flat(record[_AS_JSON], place, table.name)
        for name in answers:
            if name not in found:
                tally.left_out[f"answers to '{name.removeprefix(_ANSWER)}'"] += 1
        yield {**{name: record[name] for name in others}, **answers}

    return Unfolded(table, columns, rows).unfolded()


def _flat(cell: Any, place: str, source: str) -> dict[str, Any]:
    """Return the answers of an assignment: question → answer, or question.point → true or false."""
    found = nested(cell, place, source, _AS_JSON)
    found = found[0] if isinstance(found, list) and len(found) == 1 else found
    if found is None or found == []:
        return {}
    if not isinstance(found, dict):
        raise wrong("the answers of an assignment are not an object", place, source)
    flat: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, dict):
            flat |= {f"{_ANSWER}{name}.{point}": one for point, one in value.items()}
        else:
            flat[f"{_ANSWER}{name}"] = value
    return flat


PLATFORM = Platform(
    name="mturk", title="the results of a batch of Amazon Mechanical Turk", fits=fits, ratings=ratings
)  # fmt: skip
