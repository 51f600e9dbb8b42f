"""Exports of tools for annotating texts.

Argilla 2: records flattened to one column per question, or nested as in its library.

Only submitted responses are ratings. A nested record does not say whether a response was submitted, so drafts and
discarded ones cannot be left out. Suggestions come from models.

doccano: one file of JSON lines per user, in a ZIP or in a folder; the rater is the name of the file.

A project whose annotations are shared is exported as one file, ``all.jsonl``, which does not say who annotated.

Prodigy: one record per task and annotator; the answer is what was accepted.

With options, the score is the id of the accepted one. Without, each label is a question that is answered by accept or
reject. Unnamed sessions are named by the time at which they began, which does not identify a person.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from plurivox.base.errors import IdError
from plurivox.domain.raw import MEMBER, RawTable
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

# Argilla --------------------------------------------------------------------------------------------------------------


_RESPONSES, _USERS, _STATUS, _SUGGESTION = ".responses", ".responses.users", ".responses.status", ".suggestion"
_NESTED = {"fields", "responses"}
_OWN = ("id", "status", "_server_id")
_ARGILLA_LEFT_OUT = {"draft": "drafts", "discarded": "discarded answers"}
_VECTOR = r"^\s*\[\s*-?\d+\.\d"
UNKNOWN_STATUS = (
    "drafts and discarded answers cannot be distinguished from submitted ones here, so all of them count; export the "
    "records flattened to leave them out"
)


def argilla_fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names."""
    if set(columns) >= _NESTED:
        return bool({"suggestions", "metadata", "vectors"} & set(columns))
    return any(f"{name}{_USERS}" in columns for name in _questions(columns))


def _questions(columns: Sequence[str]) -> list[str]:
    return [name.removesuffix(_RESPONSES) for name in columns if name.endswith(_RESPONSES)]


def _flattened(table: RawTable) -> Export:
    """Read records with columns ``severity.responses``, ``severity.responses.users`` and ``….status``."""
    tally = Tally()
    questions = _questions(table.columns)
    suggested = [f"{name}{_SUGGESTION}" for name in questions if f"{name}{_SUGGESTION}" in table.columns]
    if not any(f"{name}{_STATUS}" in table.columns for name in questions):
        tally.notes.append(UNKNOWN_STATUS)
    fields = _fields(table, questions)

    def rows(record: Record, place: str) -> Iterator[Row]:
        tally.left_out["suggestions"] += sum(record[name] not in (None, "") for name in suggested)
        found: list[tuple[str, Any, Any, Any]] = []
        for name in questions:
            values, users, states = (
                list_in(record.get(f"{name}{part}"), place, table.name, f"{name}{part}")
                for part in (_RESPONSES, _USERS, _STATUS)
            )
            if len(values) != len(users) or (states and len(states) != len(values)):
                raise wrong(f"there are {len(values)} responses to '{name}' but {len(users)} users", place, table.name)
            states = states or [None] * len(values)
            found += [(name, *one) for one in zip(values, users, states, strict=True)]
        known = {name: record.get(name) for name in ("id", "status", *fields)}
        yield from (known | row for row in _by_user(found, tally))

    made = unfolded(table, ["id", "user_id", "status", *fields, *questions], rows)
    return Export(
        table=made, item="id", rater="user_id", questions=tuple(questions), item_attributes=tuple(fields), tally=tally
    )


def _fields(table: RawTable, questions: Sequence[str]) -> list[str]:
    """Return the columns that are neither questions nor vectors: fields and metadata."""
    of_questions = tuple(f"{name}{part}" for name in questions for part in (_RESPONSES, _SUGGESTION))
    head = table.first().head(HEAD)
    others = [name for name in table.columns if name not in (*_OWN, "user_id", *questions)]
    return [
        name for name in others
        if not any(name == one or name.startswith(f"{one}.") for one in of_questions)
        and not head[name].dtype.is_nested()
        and not texts_of(head[name]).str.contains(_VECTOR).any()
    ]  # fmt: skip


def _nested(table: RawTable, asked: ReadSettings) -> Export:
    """Read records with the objects ``fields``, ``metadata`` and ``responses``."""
    tally = Tally(notes=[UNKNOWN_STATUS])
    questions = _asked_or_seen(table, asked, "responses")
    about = [name for name in ("fields", "metadata") if name in table.columns]
    described = [name for name in _keys(table, about) if name not in (*questions, *_OWN, "user_id")]

    def rows(record: Record, place: str) -> Iterator[Row]:
        suggestions = object_in(record.get("suggestions"), place, table.name, "suggestions")
        tally.left_out["suggestions"] += sum(one is not None for one in suggestions.values())
        known: Row = {name: record.get(name) for name in ("id", "status")}
        for part in about:
            found = object_in(record[part], place, table.name, part)
            known |= {name: found[name] for name in found if name in described}
        yield from (known | row for row in _by_user(_responses(record, place, table.name), tally))

    columns = ["id", "user_id", "status", *described, *questions]
    unseen = set(asked.score.split(",")) & set(questions) if asked.score else set()
    return Export(
        table=unfolded(table, columns, rows, unseen), item="id", rater="user_id", questions=tuple(questions),
        item_attributes=tuple(described), tally=tally,
    )  # fmt: skip


def _asked_or_seen(table: RawTable, asked: ReadSettings, part: str) -> list[str]:
    """Return the questions in the first records, and those that were asked for, which may come later."""
    return [*dict.fromkeys([*_keys(table, [part]), *(asked.score.split(",") if asked.score else ())])]


def _keys(table: RawTable, parts: Sequence[str]) -> list[str]:
    """Return the keys of objects in the first records."""
    seen: dict[str, None] = {}
    for at, record in enumerate(table.first().head(HEAD).iter_rows(named=True)):
        for part in parts:
            seen |= dict.fromkeys(object_in(record.get(part), table.locate(at), table.name, part))
    return [*seen]


def _responses(record: Record, place: str, source: str) -> list[tuple[str, Any, Any, Any]]:
    """Return question, value, user and status of each response in a nested record."""
    found: list[tuple[str, Any, Any, Any]] = []
    for name, given in object_in(record["responses"], place, source, "responses").items():
        if given is not None and not isinstance(given, list):
            raise wrong(f"the responses to '{name}' are not a list", place, source)
        for one in given or ():
            if not isinstance(one, dict):
                raise wrong(f"a response to '{name}' is not an object", place, source)
            found.append((name, one.get("value"), one.get("user_id"), one.get("status")))
    return found


def _by_user(found: Sequence[tuple[str, Any, Any, Any]], tally: Tally) -> Iterator[Row]:
    """Yield one row per user with their submitted answers, and a further row if they answer a question again."""
    rows: dict[tuple[str, int], Row] = {}
    times: Counter[tuple[str, str]] = Counter()
    others: dict[tuple[str, int], str] = {}
    for question, value, user, status in found:
        times[question, str(user)] += 1
        key = (str(user), times[question, str(user)])
        if status not in (None, "submitted"):
            others[key] = str(status)
            continue
        answers = value if isinstance(value, list) else [value]
        rows.setdefault(key, {"user_id": user})[question] = one_of(answers)
    for status in others.values():
        tally.left_out[_ARGILLA_LEFT_OUT.get(status, f"answers that are {status}")] += 1
    yield from rows.values()


def answers(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per suggestion of a model."""
    is_nested = set(table.columns) >= _NESTED
    questions = _asked_or_seen(table, asked, "suggestions") if is_nested else _questions(table.columns)
    known = Export(table=table, questions=(*questions,))
    question = asked.score if asked.score in questions else known.question(ARGILLA)

    def rows(record: Record, place: str) -> Iterator[Row]:
        if is_nested:
            found = object_in(record.get("suggestions"), place, table.name, "suggestions").get(question)
            value, agent = (found.get("value"), found.get("agent")) if isinstance(found, dict) else (found, None)
        else:
            value, agent = record.get(f"{question}{_SUGGESTION}"), record.get(f"{question}{_SUGGESTION}.agent")
            value = nested(value, place, table.name, question) if str(value).startswith("[") else value
        answer = one_of(value if isinstance(value, list) else [value])
        if answer:
            yield {"item": record.get("id"), "model": agent or "model", "answer": answer}

    return Export(table=unfolded(table, ["item", "model", "answer"], rows))


ARGILLA = Platform(
    name="argilla", title="an export of Argilla", fits=argilla_fits, answers=answers,
    ratings=lambda table, asked: _nested(table, asked) if set(table.columns) >= _NESTED else _flattened(table),
)  # fmt: skip


# doccano --------------------------------------------------------------------------------------------------------------


_RATER, _LABEL, _SHARED = "annotator", "label", "all"
_OTHERS = ("Comments", "relations", "entities", "cats")
_LIST = r"^\s*\[\s*([^\[{\s]|$)"


def doccano_fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names, and by labels that are lists of texts."""
    if not set(columns) >= {"id", _LABEL} or not {"Comments", MEMBER} & set(columns):
        return False
    kind = head[_LABEL].dtype
    if isinstance(kind, pl.List):
        return not kind.inner.is_nested()
    texts = texts_of(head[_LABEL])
    return len(texts) > 0 and bool(texts.str.contains(_LIST).all())


def doccano_ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per example and file."""
    named = asked.rater in table.columns
    columns = list(dict.fromkeys([*(name for name in table.columns if name != MEMBER), _RATER]))

    def rows(record: Record, place: str) -> Iterator[Row]:
        who = record.get(MEMBER)
        if not named and who in (None, "", _SHARED):
            raise IdError(
                "raters are missing: doccano names them by writing one file per user, but this is one file for all"
                if who == _SHARED or MEMBER not in table.columns else "raters are missing: a file has no name",
                source=table.name, places=[place],
                hint="Export a project whose annotations are not shared, and give the ZIP or the folder with one file "
                "per user; or name with --rater a column that says who annotated.",
            )  # fmt: skip
        row: Row = {**record, _LABEL: one_of(list_in(record[_LABEL], place, table.name, _LABEL))}
        yield row if named else row | {_RATER: who}

    attributes = tuple(name for name in columns if name not in ("id", _LABEL, _RATER, *_OTHERS))
    return Export(
        table=unfolded(table, columns, rows), item="id", rater=_RATER, questions=(_LABEL,),
        item_attributes=attributes,
    )  # fmt: skip


DOCCANO = Platform(name="doccano", title="an export of doccano", fits=doccano_fits, ratings=doccano_ratings)


# Prodigy --------------------------------------------------------------------------------------------------------------


_ANNOTATOR, _SESSION, _HASH = "_annotator_id", "_session_id", "_input_hash"
_UNNAMED = re.compile(r"(.*-)?\d{4}-\d\d-\d\d[_T ]\d\d[-:]\d\d[-:]\d\d", re.DOTALL)
_PRODIGY_LEFT_OUT = {"reject": "rejected tasks", "ignore": "ignored tasks"}
_ACCEPT = "accept"


def prodigy_ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per record that was answered."""
    tally = Tally()
    meta, labels, chosen = _seen(table)
    taken = {*table.columns, *meta.values()}
    unseen = {name for name in (asked.score or "").split(",") if name and name not in {*taken, *labels, _ACCEPT}}
    labels = {label: f"label:{label}" if label in taken else label for label in (*labels, *unseen)}
    rater = _ANNOTATOR if _ANNOTATOR in table.columns or _SESSION not in table.columns else _SESSION
    columns = list(dict.fromkeys([*table.columns, rater, *meta.values(), *labels.values()]))

    def rows(record: Record, place: str) -> Iterator[Row]:
        known = object_in(record.get("meta"), place, table.name, "meta")
        row: Row = {**record, **{meta[name]: value for name, value in known.items() if name in meta}}
        answer, label = record["answer"], record.get("label")
        binary = _is_binary(record)
        if answer != _ACCEPT and not (binary and answer == "reject"):
            tally.left_out[_PRODIGY_LEFT_OUT.get(str(answer), "tasks without an answer")] += 1
            return
        if binary and label not in labels:
            tally.left_out[f"answers about '{label}'"] += 1
            return
        if asked.rater in (None, _ANNOTATOR):
            row[rater] = _named(record, place, table)
        row |= (
            {labels[str(label)]: answer}
            if binary
            else {_ACCEPT: one_of(list_in(record.get(_ACCEPT), place, table.name, _ACCEPT))}
        )
        yield row

    described = ("text", *meta.values())
    return Export(
        table=unfolded(table, columns, rows, {labels[name] for name in unseen}), item=_HASH, rater=rater, tally=tally,
        questions=((_ACCEPT,) if chosen else ()) + tuple(labels.values()),
        item_attributes=tuple(name for name in described if name in columns),
    )  # fmt: skip


def _seen(table: RawTable) -> tuple[dict[str, str], dict[str, str], bool]:
    """Return the fields of meta in the first records, the labels to be accepted, and whether there are options."""
    meta: dict[str, str] = {}
    labels: dict[str, str] = {}
    chosen = False
    for at, record in enumerate(table.first().head(HEAD).iter_rows(named=True)):
        known = object_in(record.get("meta"), table.locate(at), table.name, "meta")
        meta |= {name: f"meta.{name}" for name in known}
        if _is_binary(record):
            labels[str(record["label"])] = ""
        chosen = chosen or record.get(_ACCEPT) not in (None, "")
    return meta, labels, chosen


def _is_binary(record: Record) -> bool:
    """Return whether a record asks if one label fits all of it."""
    empty: tuple[Any, ...] = (None, "", "[]", [])
    return record.get("label") not in empty and all(record.get(name) in empty for name in ("options", _ACCEPT, "spans"))


def _named(record: Record, place: str, table: RawTable) -> Any:
    """Return who answered, or raise an error if only a session is known."""
    who = record.get(_ANNOTATOR) or record.get(_SESSION)
    if who is None or _UNNAMED.fullmatch(str(who)):
        raise IdError(
            "raters are missing: the session has no name, only the time at which it began"
            if who else "raters are missing: neither an annotator nor a session is named",
            source=table.name, places=[place],
            hint=f"Use --rater {_SESSION} to count every session as one rater."
            if who and _SESSION in table.columns else "Name with --rater a column that says who answered.",
        )  # fmt: skip
    return who


PRODIGY = Platform(
    name="prodigy", title="an export of Prodigy", ratings=prodigy_ratings,
    fits=lambda columns, head, asked: set(columns) >= {"answer", _HASH},
)  # fmt: skip
