"""An answer as the store gives it back, and another reading of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from plurivox.reader import Reading

EACH = """
SELECT key, model, prompt, item, sample, order_json, coalesce(text, ''), coalesce(refusal, ''), state, point, rule,
    span_start, span_end, asked_at, run
FROM answers WHERE key > ? AND state <> 'asking' ORDER BY key LIMIT ?"""
CHANGE = """
UPDATE answers SET state = ?, point = ?, rule = ?, span_start = ?, span_end = ?
WHERE key = ? AND state IS ? AND point IS ? AND rule IS ? AND span_start IS ? AND span_end IS ? AND asked_at IS ?
    AND run IS ?"""


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
        """What :data:`CHANGE` wants."""
        return (*_columns(self.after), self.key, *_columns(self.before), *self.came)


def label_of(point: int | None, labels: Sequence[object]) -> str | None:
    """Return the label of a point, None if there is none."""
    return str(labels[point]) if point is not None and 0 <= point < len(labels) else None


def _columns(reading: Reading) -> tuple[Any, ...]:
    return (reading.state, reading.point, reading.rule, *(reading.span or (None, None)))
