"""Exports of Argilla 2: flattened and nested records."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import polars as pl

from exports.record import Case, lines

A, B, C = "3f0c1d4e", "91aa22bb", "c0ffee00"
"""Users."""


def flat(item: str, answers: dict[str, tuple[list[Any], list[str], list[str]]], **more: Any) -> dict[str, Any]:
    """Return a flattened record: a question has answers, users and states."""
    record: dict[str, Any] = {"id": item, "status": "completed", "_server_id": f"s-{item}", "text": f"text {item}"}
    for name, (values, users, states) in answers.items():
        record |= {f"{name}.responses": values, f"{name}.responses.users": users, f"{name}.responses.status": states}
    return {**record, **more}


def suggested(name: str, value: Any, agent: str | None = "m0") -> dict[str, Any]:
    """Return the columns of a suggestion in a flattened record."""
    return {f"{name}.suggestion": value, f"{name}.suggestion.score": 0.8, f"{name}.suggestion.agent": agent}


def nested(item: str, responses: dict[str, Any], **suggestions: Any) -> dict[str, Any]:
    """Return a nested record."""
    return {
        "id": item, "fields": {"text": f"text {item}"}, "metadata": {"topic": "t"}, "vectors": {"v": [0.5, 0.25]},
        "suggestions": suggestions, "responses": responses, "status": "completed", "_server_id": f"s-{item}",
    }  # fmt: skip


def given(value: Any, user: str) -> dict[str, Any]:
    """Return a response of a nested record."""
    return {"value": value, "user_id": user}


def table(rows: list[dict[str, Any]]) -> str:
    """Return CSV with lists as Python writes them, as pandas does."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def parquet(rows: list[dict[str, Any]]) -> bytes:
    """Return Parquet with real lists and objects."""
    data = io.BytesIO()
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(data)
    return data.getvalue()


BOTH = ["submitted", "submitted"]
PLAIN = [
    flat("173", {"severity": ([4, 2], [A, B], BOTH)}), flat("174", {"severity": ([1], [A], ["submitted"])}),
]  # fmt: skip
THREE = (("173", A, "4"), ("173", B, "2"), ("174", A, "1"))
DRAFTS = [
    flat("173", {"severity": ([4, 2, 3], [A, B, C], ["submitted", "draft", "discarded"])}, **suggested("severity", 3)),
    flat("174", {"severity": ([1], [B], ["submitted"])}, **suggested("severity", None, None)),
    flat("175", {"severity": ([], [], [])}, **suggested("severity", 2)),
]
SUBMITTED = (("173", A, "4"), ("174", B, "1"))
OTHERS = {"suggestions": 2, "drafts": 1, "discarded answers": 1}
SUGGESTIONS = lines(*DRAFTS)
NESTED = [
    nested("173", {"severity": [given(4, A), given(2, B)]}, severity={"value": 3, "score": 0.8, "agent": "m0"}),
    nested("174", {"severity": [given(1, A)]}, severity={"value": 1, "score": None, "agent": "m1"}),
]
UNTOLD = "cannot be distinguished from submitted ones"
_FLATTENED = [
    Case(
        "argilla", "plain", "records.jsonl", lines(*PLAIN), ratings=THREE,
        items={"173": {"text": "text 173"}},
    ),
    Case("argilla", "awkward", "drafts.jsonl", lines(*DRAFTS), ratings=SUBMITTED, left_out=OTHERS),
    Case("argilla", "awkward", "drafts.json", json.dumps(DRAFTS), ratings=SUBMITTED, left_out=OTHERS),
    Case("argilla", "awkward", "drafts.csv", table(DRAFTS), ratings=SUBMITTED, left_out=OTHERS),
    Case("argilla", "awkward", "drafts.parquet", parquet(DRAFTS), ratings=SUBMITTED, left_out=OTHERS),
    Case(  # as data sets of Hugging Face write arrays into CSV: without commas
        "argilla", "awkward", "arrays.csv",
        "id,status,text,severity.responses,severity.responses.users,severity.responses.status\n"
        f"173,completed,a,[4 2],['{A}' '{B}'],['submitted' 'submitted']\n"
        f"174,completed,b,[1],['{A}'],['submitted']\n",
        ratings=THREE,
    ),
    Case(  # labels of which several may be chosen, and a question that only one of two answered
        "argilla", "awkward", "labels.jsonl",
        lines(
            flat("173", {"how": ([["2"], ["1", "3"]], [A, B], BOTH), "severity": ([4], [A], ["submitted"])}),
            flat("174", {"how": ([["1"]], [B], ["submitted"]), "severity": ([1], [B], ["submitted"])}),
        ),
        given={"score": "how", "missing": ["several"]},
        ratings=(("173", A, "2"), ("174", B, "1")),
    ),
    Case(
        "argilla", "awkward", "no-status.jsonl",
        lines(*({key: value for key, value in row.items() if not key.endswith("es.status")} for row in PLAIN)),
        ratings=THREE, remarks=(UNTOLD,),
    ),
    Case(
        "argilla", "broken", "uneven.jsonl", lines(PLAIN[1], flat("173", {"severity": ([4, 2], [A], ["submitted"])})),
        error=("uneven.jsonl", "row 2", "2 responses to 'severity' but 1 users"),
    ),
    Case(
        "argilla", "broken", "questions.jsonl",
        lines(flat("173", {"how": (["a"], [A], ["submitted"]), "severity": ([4], [A], ["submitted"])})),
        error=("questions.jsonl", "2 questions: how and severity", "--score"),
    ),
    Case(
        "argilla", "broken", "ranked.jsonl",
        lines(flat("173", {"order": ([["b", "a"]], [A], ["submitted"])}), flat("174", {"order": ([], [], [])})),
        given={"scale": "a,b"},
        error=("ranked.jsonl", "row 1", "several: b, a", "More than one point was chosen"),
    ),
]  # fmt: skip
_NESTED = [
    Case(
        "argilla", "plain", "nested.json", json.dumps(NESTED), ratings=THREE, left_out={"suggestions": 2},
        items={"173": {"text": "text 173", "topic": "t"}}, remarks=(UNTOLD,),
    ),
    Case(
        "argilla", "awkward", "nested.parquet",
        parquet([*NESTED, nested("175", {"severity": []}, severity={"value": 2, "score": 0.1, "agent": "m0"})]),
        ratings=THREE, left_out={"suggestions": 3}, remarks=(UNTOLD,),
    ),
    Case(
        "argilla", "awkward", "nested.jsonl",
        lines(*NESTED, nested("175", {}), nested("176", {"severity": [given(None, A)], "why": [given("so", A)]})),
        given={"score": "severity"}, ratings=THREE, left_out={"suggestions": 2}, remarks=(UNTOLD,),
    ),
    Case(
        "argilla", "broken", "nested-list.json", json.dumps([NESTED[0], nested("174", {"severity": [4, 2]})]),
        error=("nested-list.json", "row 2", "a response to 'severity' is not an object"),
    ),
    Case(
        "argilla", "broken", "nested-user.jsonl", lines(NESTED[0], nested("174", {"severity": [{"value": 4}]})),
        error=("nested-user.jsonl", "row 2", "the rater id is missing"),
    ),
]  # fmt: skip
CASES = [*_FLATTENED, *_NESTED]
