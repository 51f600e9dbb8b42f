"""An answer from the store, alone or as a row of a frame, and a new reading of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import polars as pl

from plurivox.domain.reader import Reading

EACH = """
SELECT key, model, prompt, item, sample, order_json, coalesce(text, ''), coalesce(refusal, ''), state, point, rule,
    span_start, span_end, asked_at, run
FROM answers WHERE key > ? AND state <> 'asking' ORDER BY key LIMIT ?"""
CHANGE = """
UPDATE answers SET state = ?, point = ?, rule = ?, span_start = ?, span_end = ?
WHERE key = ? AND state IS ? AND point IS ? AND rule IS ? AND span_start IS ? AND span_end IS ? AND asked_at IS ?
    AND run IS ?"""


FRAME = """
SELECT model, prompt, item, sample, state, NULL, point, rule, text, NULL, distribution_json, held, finish, version,
    prompt_tokens, completion_tokens, server, mode, params_json, order_json, error, asked_at, messages_json, span_start,
    span_end
FROM answers WHERE state <> 'asking' ORDER BY model, prompt, item, sample, key"""
REFUSED = """
SELECT model, prompt, item, sample, rule, coalesce(nullif(text, ''), refusal, '')
FROM answers WHERE state = 'refused' ORDER BY model, prompt, item, sample, key"""
REFUSED_COLUMNS: dict[str, Any] = {
    "model": pl.String, "prompt": pl.String, "item": pl.String, "sample": pl.Int64, "rule": pl.String,
    "text": pl.String,
}  # fmt: skip
COLUMNS: dict[str, Any] = {
    "model": pl.String, "prompt": pl.String, "item": pl.String, "sample": pl.Int64, "state": pl.String,
    "answer": pl.String, "point": pl.Int64, "rule": pl.String, "text": pl.String, "read": pl.String,
    "distribution": pl.List(pl.Float64), "held": pl.Float64, "finish": pl.String, "version": pl.String,
    "prompt_tokens": pl.Int64, "completion_tokens": pl.Int64, "server": pl.String, "mode": pl.String,
    "params": pl.String, "order": pl.List(pl.Int64), "error": pl.String, "asked_at": pl.String, "messages": pl.String,
}  # fmt: skip
"""The columns of a frame of answers; the last only if requested."""
_ANSWER, _POINT, _TEXT, _READ, _SHARES, _ORDER = (
    list(COLUMNS).index(name) for name in ("answer", "point", "text", "read", "distribution", "order")
)


class Stored(NamedTuple):
    """An answer that is stored."""

    key: str
    model: str
    prompt: str
    item: str
    sample: int
    order: tuple[int, ...]  # the options as they were shown, as positions on the scale
    text: str  # what came back; empty if nothing did
    refusal: str
    reading: Reading  # how it was read; the point is a position on the scale
    came: tuple[str, int]  # when it was asked, and by which run

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """Return the answer in a row of :data:`EACH`."""
        key, model, prompt, item, sample, order, text, refusal, state, point, rule, start, end, *came = row
        span = None if start is None or end is None else (start, end)
        reading = Reading(state, point, rule, span)
        shown = tuple(json.loads(order))
        return cls(key, model, prompt, item, sample, shown, text, refusal, reading, (came[0], came[1]))

    def read_as(self, reading: Reading) -> Change:
        """Return the change to another reading."""
        return Change(self.key, self.reading, self.came, reading)


class Change(NamedTuple):
    """Another reading of an answer, to be stored if the answer is still as it was."""

    key: str
    before: Reading
    came: tuple[str, int]
    after: Reading

    @property
    def values(self) -> tuple[Any, ...]:
        """The values for :data:`CHANGE`."""
        return (*_columns(self.after), self.key, *_columns(self.before), *self.came)


def label_of(point: int | None, labels: Sequence[object]) -> str | None:
    """Return the label of a point, None if there is none."""
    return str(labels[point]) if point is not None and 0 <= point < len(labels) else None


def in_frame(row: tuple[Any, ...], labels: Sequence[str]) -> list[Any]:
    """Return a row of the frame: lists read from JSON, the label of the point, and the piece of text that was read."""
    *values, start, end = row
    for at in (_SHARES, _ORDER):
        values[at] = None if row[at] is None else json.loads(row[at])
    values[_READ] = None if start is None or row[_TEXT] is None else row[_TEXT][start:end]
    values[_ANSWER] = label_of(row[_POINT], labels)
    return values


def _columns(reading: Reading) -> tuple[Any, ...]:
    return (reading.state, reading.point, reading.rule, *(reading.span or (None, None)))
