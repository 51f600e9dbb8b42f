"""Argilla 2: records flattened to one column per question, or nested as in its library.

Only submitted responses are ratings. A nested record does not say whether a response was submitted, so drafts and
discarded ones cannot be left out. Suggestions come from models.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from plurivox.domain.raw import RawTable
from plurivox.read.formats.record import Export, Platform, Tally
from plurivox.read.formats.unfolding import Record, Row, Unfolded, list_in, nested, object_in, one_of, texts_of, wrong
from plurivox.read.settings import ReadSettings

_RESPONSES, _USERS, _STATUS, _SUGGESTION = ".responses", ".responses.users", ".responses.status", ".suggestion"
_NESTED = {"fields", "responses"}
_OWN = ("id", "status", "_server_id")
_LEFT_OUT = {"draft": "drafts", "discarded": "discarded answers"}
_VECTOR = r"^\s*\[\s*-?\d+\.\d"
_HEAD = 1000
UNKNOWN_STATUS = (
    "drafts and discarded answers cannot be distinguished from submitted ones here, so all of them count; export the "
    "records flattened to leave them out"
)


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names."""
    if set(columns) >= _NESTED:
        return bool({"suggestions", "metadata", "vectors"} & set(columns))
    return any(f"{name}{_USERS}" in columns for name in _questions(columns))


def _questions(columns: Sequence[str]) -> list[str]:
    return [name.removesuffix(_RESPONSES) for name in columns if name.endswith(_RESPONSES)]


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per record and user."""
    return _nested(table, asked) if set(table.columns) >= _NESTED else _flattened(table)


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

    made = Unfolded(table, ["id", "user_id", "status", *fields, *questions], rows).unfolded()
    return Export(
        table=made, item="id", rater="user_id", questions=tuple(questions), item_attributes=tuple(fields), tally=tally
    )


def _fields(table: RawTable, questions: Sequence[str]) -> list[str]:
    """Return the columns that are neither questions nor vectors: fields and metadata."""
    of_questions = tuple(f"{name}{part}" for name in questions for part in (_RESPONSES, _SUGGESTION))
    head = table.first().head(_HEAD)
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
    questions = dict.fromkeys(_asked_or_seen(table, asked, "responses"))
    about = [name for name in ("fields", "metadata") if name in table.columns]
    fields: dict[str, None] = {}
    for at, record in enumerate(table.first().head(_HEAD).iter_rows(named=True)):
        for part in about:
            fields |= dict.fromkeys(object_in(record[part], table.locate(at), table.name, part))
    described = [name for name in fields if name not in (*questions, *_OWN, "user_id")]

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
    made = Unfolded(table, columns, rows, unseen).unfolded()
    return Export(
        table=made, item="id", rater="user_id", questions=tuple(questions), item_attributes=tuple(described),
        tally=tally,
    )  # fmt: skip


def _asked_or_seen(table: RawTable, asked: ReadSettings, part: str) -> list[str]:
    """Return the questions in the first records, and those that were asked for, which may come later."""
    seen: dict[str, None] = {}
    for at, record in enumerate(table.first().head(_HEAD).iter_rows(named=True)):
        seen |= dict.fromkeys(object_in(record.get(part), table.locate(at), table.name, part))
    return [*seen, *(name for name in (asked.score.split(",") if asked.score else ()) if name not in seen)]


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
        tally.left_out[_LEFT_OUT.get(status, f"answers that are {status}")] += 1
    yield from rows.values()


def answers(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per suggestion of a model."""
    is_nested = set(table.columns) >= _NESTED
    questions = _asked_or_seen(table, asked, "suggestions") if is_nested else _questions(table.columns)
    question = (
        asked.score if asked.score in questions else Export(table=table, questions=(*questions,)).question(PLATFORM)
    )

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

    return Export(table=Unfolded(table, ["item", "model", "answer"], rows).unfolded())


PLATFORM = Platform(name="argilla", title="an export of Argilla", fits=fits, ratings=ratings, answers=answers)
