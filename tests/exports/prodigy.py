"""Exports of Prodigy."""

from __future__ import annotations

import json
from typing import Any

from exports.record import Case, lines

OPTIONS = [{"id": point, "text": str(point)} for point in range(1, 5)]
UNNAMED = "2024-02-06_10-50-49"


def by(who: str | None) -> dict[str, Any]:
    """Return who answered, and in which session."""
    return {"_annotator_id": who and f"ds-{who}", "_session_id": who and f"ds-{who}"}


def task(number: int, who: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return what every record has."""
    return {
        "text": f"text {number}", "_input_hash": -number, "_task_hash": 1000 - number, "_is_binary": False,
        "answer": "accept", "_timestamp": 1707211049 + number, **who, "meta": {"id": f"i{170 + number}"}, **more,
    }  # fmt: skip


def choice(number: int, who: str, *accept: int, **more: Any) -> dict[str, Any]:
    """Return a record of the choice interface."""
    return task(number, by(who), options=OPTIONS, _view_id="choice", accept=list(accept), config={}, **more)


def binary(number: int, who: str, answer: str, label: str = "INSULT") -> dict[str, Any]:
    """Return a record that asks whether a label fits."""
    return task(number, by(who), label=label, _view_id="classification", answer=answer)


CHOICES = (choice(1, "alice", 2), choice(1, "bob", 4), choice(2, "alice", 1))
CASES = [
    Case(
        "prodigy", "plain", "choices.jsonl", lines(*CHOICES),
        ratings=(("-1", "ds-alice", "2"), ("-1", "ds-bob", "4"), ("-2", "ds-alice", "1")),
        items={"-1": {"text": "text 1", "meta.id": "i171"}},
    ),
    Case(  # by another id, with answers that are not: refused, skipped, empty
        "prodigy", "awkward", "ignored.jsonl",
        lines(*CHOICES, choice(3, "alice", 3, answer="reject"), choice(3, "bob", answer="ignore"), choice(4, "bob")),
        given={"item": "meta.id"},
        ratings=(("i171", "ds-alice", "2"), ("i171", "ds-bob", "4"), ("i172", "ds-alice", "1")),
        left_out={"rejected tasks": 1, "ignored tasks": 1},
    ),
    Case(
        "prodigy", "awkward", "several.jsonl", lines(*CHOICES, choice(2, "bob", 1, 3)),
        given={"missing": ["several"]},
        ratings=(("-1", "ds-alice", "2"), ("-1", "ds-bob", "4"), ("-2", "ds-alice", "1")),
    ),
    Case(
        "prodigy", "awkward", "binary.json",
        json.dumps([binary(1, "alice", "accept"), binary(1, "bob", "reject"), binary(2, "bob", "ignore")]),
        given={"scale": "reject,accept"},
        ratings=(("-1", "ds-alice", "accept"), ("-1", "ds-bob", "reject")),
        left_out={"ignored tasks": 1},
    ),
    Case(
        "prodigy", "awkward", "labels.jsonl",
        lines(binary(1, "alice", "accept"), binary(1, "alice", "reject", "THREAT"), binary(2, "bob", "reject")),
        given={"score": "INSULT", "scale": "reject,accept"},
        ratings=(("-1", "ds-alice", "accept"), ("-2", "ds-bob", "reject")),
    ),
    Case(
        "prodigy", "awkward", "sessions.jsonl",
        lines(
            *(task(number, {"_session_id": UNNAMED}, options=OPTIONS, accept=[number]) for number in (1, 2)),
            task(1, {"_session_id": "2024-02-07_08-00-00"}, options=OPTIONS, accept=[3]),
        ),
        given={"rater": "_session_id"},
        ratings=(("-1", UNNAMED, "1"), ("-1", "2024-02-07_08-00-00", "3"), ("-2", UNNAMED, "2")),
    ),
    Case(
        "prodigy", "broken", "unnamed.jsonl",
        lines(choice(1, "alice", 2), task(2, {"_annotator_id": UNNAMED, "_session_id": UNNAMED}, accept=[1])),
        error=("unnamed.jsonl", "row 2", "raters are missing", "--rater _session_id"),
    ),
    Case(
        "prodigy", "broken", "nobody.jsonl", lines(task(1, {}, options=OPTIONS, accept=[1])),
        error=("nobody.jsonl", "row 1", "raters are missing", "--rater"),
    ),
    Case(
        "prodigy", "broken", "order.jsonl", lines(binary(1, "alice", "accept"), binary(1, "bob", "reject")),
        error=("order.jsonl", "INSULT", "'accept', 'reject'", "--scale"),
    ),
    Case(
        "prodigy", "broken", "two-labels.jsonl",
        lines(binary(1, "alice", "accept"), binary(1, "alice", "reject", "THREAT")),
        error=("two-labels.jsonl", "2 questions: INSULT and THREAT", "--score"),
    ),
    Case(
        "prodigy", "broken", "crowded.jsonl", lines(*CHOICES, choice(2, "bob", 1, 3)),
        error=("crowded.jsonl", "row 4", "several: 1, 3", "--missing several"),
    ),
]  # fmt: skip
