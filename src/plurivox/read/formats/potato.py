"""Potato: the answers of each user (version 2), what its exporter writes, and the table of version 1.

An answer is the name of what was chosen; its value may be anything. If something was typed, moved or picked from a
list, the name is that of the control and the value is the answer. Up to version 2.7.1, a changed answer left both
choices, in the order in which each was first made; only the record of changes shows which one was last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from plurivox.base.errors import ColumnError
from plurivox.base.wording import counted
from plurivox.domain.raw import RawTable
from plurivox.read.formats.record import (
    HEAD,
    Export,
    Platform,
    Record,
    Row,
    Tally,
    answer,
    chosen,
    frame_of,
    nested,
    object_in,
    one_of,
    reworked,
    unfolded,
    wrong,
)
from plurivox.read.json_documents import text_of_json
from plurivox.read.settings import ReadSettings

_ITEM, _USER, _TIME = "instance_id", "user_id", "total_time_ms"
_LABELS, _PHASES, _BEHAVIOUR = (
    "instance_id_to_label_to_value", "phase_to_page_to_label_to_value", "instance_id_to_behavioral_data",
)  # fmt: skip
_STATE = {_USER, _LABELS}
_OWN = (_ITEM, _USER, _TIME)
_PAGE = "\0"  # separates a page from its questions
_EXPORTED = {_ITEM, _USER, "labels", "spans"}
_FIRST, _BETWEEN = {"user", _ITEM}, ":::"
_NAMELESS = "label_annotations"
_CONTROLS = ("slider", "number", "select-one", "text_box")
_BESIDE = ("free_response", "_spans", "_room", "_room_id")
_UNSET = ("", "false")
Given = tuple[str, str, Any]  # question, name, value


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names."""
    known = set(columns)
    if known >= _STATE or known >= _EXPORTED or _is_nameless(known):
        return True
    if known >= _FIRST and any(_BETWEEN in name for name in columns):
        return True
    # the exporter's CSV: after the ids come columns named question.point
    others = [name for name in columns[2:] if not name.startswith("annotator_origin")]
    stems = {name.partition(".")[0] for name in others if "." in name}
    fitting = bool(stems) and all(name.partition(".")[0] in stems for name in others)
    return list(columns[:2]) == [_ITEM, _USER] and fitting


def _is_nameless(columns: set[str]) -> bool:
    return {_NAMELESS, "id"} <= columns and not columns & {"user", _USER}


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per user and instance."""
    known = set(table.columns)
    if known >= _STATE:
        return _States(table).export()
    if known >= _EXPORTED:
        return _exported(table, asked)
    if _is_nameless(known):
        raise ColumnError(
            "the raters are missing: these lines of Potato do not say whose they are", source=table.name,
            hint="Give annotated_instances.tsv, which has a column 'user', or a user_state.json of version 2.",
        )  # fmt: skip
    return _flat(table, "user", _BETWEEN) if known >= _FIRST else _flat(table, _USER, ".")


@dataclass(slots=True)
class _States:
    """The states of users, one record each, turned into rows as they are read."""

    table: RawTable
    tally: Tally = field(default_factory=Tally)
    questions: dict[str, None] = field(default_factory=dict)
    attributes: dict[str, None] = field(default_factory=dict)  # questions of surveys, after their page
    changed: dict[str, int] = field(default_factory=dict)
    joined: int = 0

    def export(self) -> Export:
        """Read all users, since any of them may have answered a question that no other did."""
        pieces, owners, at = [], [], 0
        for piece in self.table.pieces:
            for record in piece.iter_rows(named=True):
                rows = self._rows(record, self.table.locate(at))
                if rows:
                    keys = list(dict.fromkeys(key for row in rows for key in row))
                    pieces.append(frame_of(rows, keys, self.table.name))
                    owners += [at] * len(rows)
                at += 1
        columns = [*_OWN, *self.questions, *self.attributes]
        frame = pl.concat([pl.DataFrame(schema=dict.fromkeys(columns, pl.String)), *pieces], how="diagonal")
        # questions of surveys are named as they are, or with their page if that is not enough
        names = [one.rpartition(_PAGE)[2] for one in self.attributes]
        plain = {name for name in names if names.count(name) == 1} - {*_OWN, *self.questions}
        named = {
            one: name if name in plain else one.replace(_PAGE, " ")
            for one, name in zip(self.attributes, names, strict=True)
        }
        frame = frame.select(columns).rename(named)
        for question, n in self.changed.items():
            self.tally.notes.append(
                f"{counted(n, 'answer')} to '{question}' {'was' if n == 1 else 'were'} changed; the last choice counts"
            )
        if self.joined:
            self.tally.notes.append(
                f"{counted(self.joined, 'answer')} by raters about themselves {'has' if self.joined == 1 else 'have'} "
                "several values; they are joined with semicolons, and --several separates them"
            )
        made = replace(
            self.table, columns=frame.columns, pieces=iter([frame]), text=True,
            locate=lambda position: self.table.locate(owners[position]),
        )  # fmt: skip
        return Export(
            table=made, item=_ITEM, rater=_USER, questions=tuple(self.questions), tally=self.tally,
            rater_attributes=tuple(named.values()),
        )  # fmt: skip

    def _rows(self, record: Record, place: str) -> list[Row]:
        user = record[_USER]
        if user is None or not str(user).strip():
            raise wrong("the state of a user has no user_id", place, self.table.name)
        labels, phases, behaviour = (
            object_in(record.get(name), place, self.table.name, name, f"the {name} of a user is not an object")
            for name in (_LABELS, _PHASES, _BEHAVIOUR)
        )
        known = self._about(phases, place)
        rows: list[Row] = []
        for item, given in labels.items():
            told = behaviour.get(item)
            told = told if isinstance(told, dict) else {}
            found = _by_question(_given(given, place, self.table.name))
            answers = {name: self._answer(name, values, told) for name, values in found.items() if name not in _OWN}
            self.questions |= dict.fromkeys(answers)
            if any(one is not None for one in answers.values()):
                rows.append({**known, **answers, _ITEM: item, _USER: user, _TIME: told.get(_TIME)})
            else:
                self.tally.left_out["instances without an answer"] += 1
        return rows

    def _answer(self, question: str, values: Sequence[str], told: Mapping[str, Any]) -> str | None:
        """Return the only choice, or the last one as far as changes were recorded."""
        if len(values) < 2:
            return one_of(values)
        changes = told.get("annotation_changes")
        last = [
            one for one in (changes if isinstance(changes, list) else ())
            if isinstance(one, dict) and one.get("schema_name") == question
            and one.get("action") in ("select", "update") and one.get("label_name") in values
            and isinstance(one.get("timestamp"), int | float)
        ]  # fmt: skip
        if not last:
            return one_of(values)
        self.changed[question] = self.changed.get(question, 0) + 1
        return str(max(last, key=lambda one: one["timestamp"])["label_name"])

    def _about(self, phases: Mapping[str, Any], place: str) -> Row:
        """Return what users said about themselves on survey pages."""
        known: Row = {}
        for phase, pages in phases.items():
            for page, given in (pages if isinstance(pages, dict) else {}).items():
                for name, values in _by_question(_given(given, place, self.table.name)).items():
                    known[_PAGE.join((phase, page, name))] = "; ".join(values) or None
                    self.joined += len(values) > 1
        self.attributes |= dict.fromkeys(known)
        return known


def _given(found: Any, place: str, source: str) -> Iterator[Given]:
    """Yield what was chosen or typed: from pairs of label and value, or from an object of objects."""
    if isinstance(found, dict):
        for question, labels in found.items():
            named = labels.items() if isinstance(labels, dict) else [(_CONTROLS[0], labels)]
            yield from ((question, str(name), value) for name, value in named)
        return
    if found is not None and not isinstance(found, list):
        raise wrong("the answers to a question are neither a list nor an object", place, source)
    for one in found or ():
        label = one[0] if isinstance(one, list) and len(one) == 2 else None
        if not isinstance(label, dict) or not isinstance(label.get("schema"), str) or "name" not in label:
            raise wrong("an answer is not a pair of a label and its value", place, source)
        yield label["schema"], str(text_of_json(label["name"])), one[1]


def _by_question(given: Iterator[Given]) -> dict[str, list[str]]:
    """Return the answers to each question: names of what was chosen, values of what was typed."""
    found: dict[str, list[str]] = {}
    for question, name, value in given:
        text = text_of_json(value)
        answers = found.setdefault(question, [])
        if name in _BESIDE or text is None or text.strip().lower() in _UNSET:
            continue
        answers.append(text if name in _CONTROLS else name)
    return found


def _exported(table: RawTable, asked: ReadSettings) -> Export:
    """Read the JSON lines of the exporter."""
    tally = Tally()
    questions: dict[str, None] = dict.fromkeys((asked.score or "").split(",") if asked.score else ())

    def answers(record: Record, place: str) -> dict[str, str | None]:
        labels = nested(record["labels"], place, table.name, "labels") or {}
        if not isinstance(labels, dict):
            raise wrong("the labels of an instance are not an object", place, table.name)
        return {name: one_of(values) for name, values in _by_question(_given(labels, place, table.name)).items()}

    for at, record in enumerate(table.first().head(HEAD).iter_rows(named=True)):
        questions |= dict.fromkeys(answers(record, table.locate(at)))
    columns = [_ITEM, _USER, *(name for name in questions if name not in (_ITEM, _USER))]

    def rows(record: Record, place: str) -> Iterator[Row]:
        found = answers(record, place)
        for name in found:
            if name not in questions:
                tally.left_out[f"answers to '{name}'"] += 1
        if any(one is not None for one in found.values()):
            yield {**found, _ITEM: record[_ITEM], _USER: record[_USER]}
        else:
            tally.left_out["instances without an answer"] += 1

    made = unfolded(table, columns, rows)
    return Export(table=made, item=_ITEM, rater=_USER, questions=tuple(questions), tally=tally)


def _flat(table: RawTable, user: str, between: str) -> Export:
    """Read a table with a column for each question and point."""
    groups: dict[str, dict[str, str]] = {}
    for column in table.columns:
        question, there, name = column.partition(between)
        if there and name not in _BESIDE:
            groups.setdefault(question, {})[name] = column

    def value(name: str, column: str, final: str | None) -> pl.Expr:
        cell = answer(column)
        is_set = ~cell.str.to_lowercase().is_in(list(_UNSET))
        if final is not None:  # in later versions, the value says which of two choices counts
            is_set &= answer(final).is_null() | (cell == answer(final))
        return pl.when(is_set).then(cell if name in _CONTROLS else pl.lit(name))

    derived = {}
    for question, group in groups.items():
        final = question if question in table.columns else None
        derived[question] = chosen([value(name, column, final) for name, column in group.items()])

    columns = list(dict.fromkeys([*table.columns, *derived]))
    described = ("displayed_text",) if "displayed_text" in table.columns else ()
    return Export(
        table=reworked(table, columns, lambda piece: piece.with_columns(**derived)), item=_ITEM, rater=user,
        questions=tuple(derived), item_attributes=described,
    )  # fmt: skip


PLATFORM = Platform(name="potato", title="answers of Potato", fits=fits, ratings=ratings)
