"""Label Studio: JSON with tasks and their annotations, JSON-MIN and CSV with one row per annotation.

Drafts hold no ratings, predictions come from models, and cancelled annotations are refusals. JSON-MIN and CSV silently
leave all of these out, and have a row without an annotator for tasks that nobody annotated. An annotation marked as
ground truth was given by somebody and starred later, so it counts for whoever gave it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import polars as pl

from plurivox.base.errors import FileError
from plurivox.domain.raw import RawTable, plain_names
from plurivox.read.formats.record import (
    HEAD,
    Export,
    Platform,
    Record,
    Row,
    Tally,
    list_in,
    nested,
    object_in,
    one_of,
    texts_of,
    unfolded,
    wrong,
)
from plurivox.read.settings import ReadSettings

_TASK = {"data", "annotations"}
_MIN = {"annotation_id", "annotator", "lead_time"}
_OWN = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time")
_POINTS = ("rating", "choices", "number", "taxonomy", "selected", "pairwise")
_KINDS = (*_POINTS, "text")
_UNRATED = "tasks without an annotation"
_CHOSEN = rf'^\s*\[?\s*\{{.*"({"|".join(_POINTS)})"\s*:'


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names, and by data that are objects."""
    if set(columns) >= _TASK:
        return head["data"].dtype == pl.Struct or bool(texts_of(head["data"]).str.contains(r"^\s*\{").any())
    return set(columns) >= _MIN


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per annotation."""
    return _tasks(table, asked) if set(table.columns) >= _TASK else _annotations(table, asked)


class _Names(NamedTuple):
    """What the first tasks contain: fields of the data, under their names here, names of controls, and questions."""

    data: dict[str, str]
    controls: list[str]
    questions: tuple[str, ...]  # the controls by which points are chosen rather than text written

    def described(self, record: Record, place: str, source: str) -> Row:
        """Return what the data of a task say."""
        known = object_in(record["data"], place, source, "data")
        return {**{self.data.get(name, name): value for name, value in known.items()}, "id": record.get("id")}


def _names(table: RawTable, asked: ReadSettings, key: Literal["annotations", "predictions"]) -> _Names:
    """Look at the first tasks; a requested question may appear later."""
    data: dict[str, None] = {}
    controls: dict[str, bool] = {}
    for at, record in enumerate(table.first().head(HEAD).iter_rows(named=True)):
        place = table.locate(at)
        data |= dict.fromkeys(object_in(record["data"], place, table.name, "data"))
        for one in _objects(record, key, place, table.name):
            for name, (_, chosen) in _answers(one).items():
                controls[name] = controls.get(name, False) or chosen
    for name in asked.score.split(",") if asked.score else ():
        if name not in data and name not in _OWN:
            controls[name] = True
    clash = {*_OWN, *controls}
    named = {name: f"_data_{name}" if name in clash else name for name in data}
    return _Names(named, [*controls], tuple(name for name, chosen in controls.items() if chosen))


def _tasks(table: RawTable, asked: ReadSettings) -> Export:
    """Read JSON: the data of each task, and the answers in each of its annotations."""
    tally = Tally()
    names = _names(table, asked, "annotations")
    columns = list(dict.fromkeys([*_OWN, *names.data.values(), *names.controls]))

    def rows(record: Record, place: str) -> Iterator[Row]:
        row = names.described(record, place, table.name)
        for key in ("drafts", "predictions"):
            tally.left_out[key] += len(list_in(record.get(key), place, table.name, key))
        annotations = _objects(record, "annotations", place, table.name)
        tally.left_out[_UNRATED] += not annotations
        for annotation in annotations:
            if annotation.get("was_cancelled"):
                tally.left_out["cancelled annotations"] += 1
                continue
            tally.marked["annotations marked as ground truth"] += bool(annotation.get("ground_truth"))
            answers = {name: answer for name, (answer, _) in _answers(annotation).items()}
            for name in answers:
                tally.left_out[f"answers to '{name}'"] += name not in names.controls
            own = {name: annotation.get(name) for name in ("created_at", "updated_at", "lead_time")}
            who = annotation.get("completed_by")  # a number, or an object that contains one
            who = who.get("id", who.get("email")) if isinstance(who, dict) else who
            yield row | own | {"annotation_id": annotation.get("id"), "annotator": who} | answers

    asked_for = set((asked.score or "").split(",")) & set(names.controls)
    made = unfolded(table, columns, rows, asked_for)
    return _export(made, list(names.data.values()), names.questions, tally)


def _annotations(table: RawTable, asked: ReadSettings) -> Export:
    """Read JSON-MIN or CSV."""
    tally = Tally()
    others = [name for name in table.columns if name not in _OWN]
    chosen = [name for name in (asked.score or "").split(",") if name in others]
    questions = _questions(table, others, chosen)

    def rows(record: Record, place: str) -> Iterator[Row]:
        if record["annotator"] in (None, "") and record["annotation_id"] in (None, ""):
            tally.left_out[_UNRATED] += 1
            return
        yield {**record, **{name: _flat(record[name], place, table.name, name) for name in questions}}

    made = unfolded(table, table.columns, rows)
    return _export(made, [name for name in others if name not in questions], questions, tally)


def _export(table: RawTable, described: Sequence[str], questions: tuple[str, ...], tally: Tally) -> Export:
    item = _item(described)
    return Export(
        table=table, item=item, rater="annotator", questions=questions, tally=tally,
        item_attributes=tuple(name for name in described if name != item),
    )  # fmt: skip


def _item(described: Sequence[str]) -> str:
    """Return the field of the data that names the item, or the id of the task if no field is named so."""
    known = plain_names(described)
    return known.get("item", known.get("itemid", "id"))


def _questions(table: RawTable, others: Sequence[str], chosen: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of JSON-MIN or CSV that hold what annotators chose, not what a task is about.

    JSON-MIN has them after the task's id. CSV sorts its columns; ratings and multiple choices are objects there, and
    anything that differs between two annotators of a task was chosen, too. Any other column may be either.
    """
    columns, head = table.columns, table.first().head(HEAD)
    in_order = "id" in columns and columns != sorted(columns)
    after = set(columns[columns.index("id") + 1 :] if in_order else ())
    return tuple(
        name for name in others
        if name in chosen or name in after or _is_chosen(head[name]) or (not in_order and _differs(head, name))
    )  # fmt: skip


def _is_chosen(column: pl.Series) -> bool:
    """Return whether a column contains objects with a rating or a choice."""
    if column.dtype.is_nested():
        return any(f"'{point}'" in str(column.dtype) for point in _POINTS)
    return bool(texts_of(column).str.contains(_CHOSEN).any())


def _differs(head: pl.DataFrame, name: str) -> bool:
    """Return whether a column has two values for one task."""
    if "id" not in head.columns or texts_of(head[name]).is_empty():
        return False
    texts = pl.col(name).cast(pl.String, strict=False).replace("", None)
    return bool(head.select("id", texts).drop_nulls().unique()["id"].is_duplicated().any())


def _flat(value: Any, place: str, source: str, column: str) -> str | None:
    """Return what a cell of JSON-MIN says."""
    if isinstance(value, str) and not value.lstrip().startswith(("[", "{")):
        return value
    found = nested(value, place, source, column)
    answers: list[Any] = []
    for one in found if isinstance(found, list) else [found]:
        answers += _values(one)[0] if isinstance(one, dict) else [one]
    return one_of(answers)


def _objects(record: Record, key: str, place: str, source: str) -> list[dict[str, Any]]:
    found = list_in(record.get(key), place, source, key)
    if not all(isinstance(one, dict) for one in found):
        raise wrong(f"the {key} of a task are not objects", place, source)
    return found


def _answers(annotation: Record) -> dict[str, tuple[str | None, bool]]:
    """Return the answer to each question of an annotation, by the name of its control, and whether it was chosen."""
    found: dict[str, tuple[list[Any], bool]] = {}
    result = annotation.get("result")
    for one in result if isinstance(result, list) else ():
        if isinstance(one, dict) and isinstance(one.get("value"), dict) and isinstance(one.get("from_name"), str):
            values, kind = _values(one["value"])
            if kind is not None:
                found.setdefault(one["from_name"], ([], kind in _POINTS))[0].extend(values)
    return {name: (one_of(values), chosen) for name, (values, chosen) in found.items()}


def _values(value: Record) -> tuple[list[Any], str | None]:
    """Return what was chosen, rated or typed, and which of these it was."""
    for kind in _KINDS:
        if value.get(kind) is not None:
            chosen = value[kind]
            return (list(chosen) if isinstance(chosen, list) else [chosen]), kind
    return [], None


def answers(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per prediction of a model."""
    if "predictions" not in table.columns:
        raise FileError(
            "it contains no predictions", source=table.name,
            hint="Export JSON from Label Studio; its JSON-MIN and CSV leave predictions out.",
        )  # fmt: skip
    names = _names(table, asked, "predictions")
    found = Export(table=table, questions=names.questions)
    question = asked.score or found.question(PLATFORM)
    fields = ["id", *names.data.values()]
    item = asked.item if asked.item in fields else _item(fields)

    def rows(record: Record, place: str) -> Iterator[Row]:
        row = names.described(record, place, table.name)
        for prediction in _objects(record, "predictions", place, table.name):
            answer, _ = _answers(prediction).get(question, (None, False))
            if answer is not None:
                yield {"item": row.get(item), "model": prediction.get("model_version") or "model", "answer": answer}

    return Export(table=unfolded(table, ["item", "model", "answer"], rows))


PLATFORM = Platform(
    name="label-studio", title="an export of Label Studio", fits=fits, ratings=ratings, answers=answers
)  # fmt: skip
