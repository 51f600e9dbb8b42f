"""Exports of doccano."""

from __future__ import annotations

import io
import zipfile
from typing import Any

from exports.record import Case, lines


def example(number: int, *labels: str, **more: Any) -> dict[str, Any]:
    """Return an example as a user labelled it."""
    return {"id": number, "text": f"text {number}", "label": list(labels), **more, "Comments": []}


def packed(files: dict[str, str]) -> bytes:
    """Return a ZIP."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


ALICE = lines(example(12, "4", topic="t"), example(13, "1", topic="u"))
BOB = lines(example(12, "2", topic="t"), example(13, topic="u"))
CAROL = lines(example(12, "2", "3", topic="t"), example(13, "3", topic="u"))
RATINGS = (("12", "alice", "4"), ("12", "bob", "2"), ("13", "alice", "1"))
CASES = [
    Case(
        "doccano", "plain", "named.jsonl",
        lines(example(12, "4", who="a"), example(12, "2", who="b"), example(13, "1", who="a")),
        given={"rater": "who"},
        ratings=(("12", "a", "4"), ("12", "b", "2"), ("13", "a", "1")),
        items={"12": {"text": "text 12"}},
    ),
    Case(
        "doccano", "awkward", "unlabelled.jsonl",
        lines(
            example(12, "4", who="a"), example(12, who="b"), example(13, "1", "2", who="a"), example(13, "1", who="b"),
        ),
        given={"rater": "who", "missing": ["several"]},
        ratings=(("12", "a", "4"), ("13", "b", "1")),
    ),
    Case(
        "doccano", "broken", "all.jsonl", lines(example(12, "4"), example(13, "1")),
        error=("all.jsonl", "row 1", "raters are missing", "ZIP", "--rater"),
    ),
]  # fmt: skip
# Archives and folders; ``MEMBER_FILES`` are their members, read as one table by hand.
MEMBER_FILES = {"alice": ALICE, "bob": BOB}
CASES += [
    Case(
        "doccano", "plain", "project.zip", packed({"alice.jsonl": ALICE, "bob.jsonl": BOB}), ratings=RATINGS,
        items={"12": {"text": "text 12", "topic": "t"}},
    ),
    Case("doccano", "plain", "project", {"alice.jsonl": ALICE, "bob.jsonl": BOB}, ratings=RATINGS),
    Case(
        "doccano", "awkward", "several.zip", packed({"alice.jsonl": ALICE, "carol.jsonl": CAROL}),
        given={"missing": ["several"]},
        ratings=(("12", "alice", "4"), ("13", "alice", "1"), ("13", "carol", "3")),
    ),
    Case(
        "doccano", "broken", "shared.zip", packed({"all.jsonl": ALICE}),
        error=("shared.zip", "raters are missing", "--rater"),
    ),
    Case(
        "doccano", "broken", "crowded.zip", packed({"alice.jsonl": ALICE, "carol.jsonl": CAROL}),
        error=("crowded.zip", "several: 2, 3", "--missing several"),
    ),
]  # fmt: skip
