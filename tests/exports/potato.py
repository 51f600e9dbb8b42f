"""What Potato writes."""

from __future__ import annotations

import json
from typing import Any

from exports.record import Case, lines


def label(schema: str, name: str, value: Any = None) -> list[Any]:
    """Return a label and its value as the state of a user has them."""
    return [{"schema": schema, "name": name}, name if value is None else value]


def change(at: float, name: str, schema: str = "severity", action: str = "select") -> dict[str, Any]:
    """Return an entry of the record of changes."""
    return {
        "timestamp": at, "schema_name": schema, "label_name": name, "action": action, "old_value": None,
        "new_value": name, "source": "user",
    }  # fmt: skip


def state(user: Any, answers: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return the state of a user; keywords are pages and behaviour."""
    return {
        "user_id": user, "instance_id_ordering": list(answers), "current_instance_index": 0,
        "current_phase_and_page": ["annotation", "annotation"], "completed_phase_and_pages": [],
        "max_assignments": -1,
        "instance_id_to_label_to_value": answers, "instance_id_to_span_to_value": {},
        "phase_to_page_to_label_to_value": more.get("pages", {}),
        "instance_id_to_behavioral_data": more.get("behaviour", {}),
    }  # fmt: skip


PAGES = {
    "consent": {"consent.jsonl": [label("agree", "I agree", "true")]},
    "prestudy": {"demographics.jsonl": [
        label("gender", "woman"), label("age", "text_box", "30-39"), label("race", "Asian"), label("race", "White"),
    ]},
}  # fmt: skip


def record(item: str, user: str, labels: dict[str, Any]) -> dict[str, Any]:
    """Return a line of the exporter."""
    return {"instance_id": item, "user_id": user, "labels": labels, "spans": {}, "links": {}}


CASES = [
    Case(
        "potato", "plain", "user_state.json",
        json.dumps(state(
            "u1", {"173": [label("severity", "4")], "174": [label("severity", "2", "true")], "175": []}, pages=PAGES,
            behaviour={"173": {"total_time_ms": 45000}},
        ), indent=4),
        ratings=(("173", "u1", "4"), ("174", "u1", "2")),
        left_out={"instances without an answer": 1},
        raters={"u1": {"agree": "I agree", "gender": "woman", "age": "30-39", "race": "Asian; White"}},
    ),
    Case(  # 4, then 2, then 4 again: the two choices stand in the order in which each was first made
        "potato", "awkward", "changed.json",
        json.dumps(state(
            "u1", {"173": [label("severity", "4"), label("severity", "2"), label("severity", "free_response", "hm")],
                   "174": [label("severity", "1"), label("severity", "3", False)]},
            behaviour={"173": {"annotation_changes": [change(3.5, "4"), change(1.5, "4"), change(2.5, "2"),
                                                      change(9.5, "2", action="deselect")]}},
        )),
        ratings=(("173", "u1", "4"), ("174", "u1", "1")),
    ),
    Case(
        "potato", "awkward", "sliders.json",
        json.dumps(state(
            "u1", {"173": [label("severity", "slider", "40"), label("why", "text_box", "It hurts")],
                   "174": [label("severity", "slider", 7)]},
        )),
        given={"score": "severity"},
        ratings=(("173", "u1", "40"), ("174", "u1", "7")),
    ),
    Case(
        "potato", "broken", "both.json",
        json.dumps(state(
            "u1", {"173": [label("severity", "4"), label("severity", "2")], "174": [label("severity", "1")]},
        )),
        given={"scale": "0:4"},
        error=("both.json", "'several: 4, 2' is not a point", "--missing"),
    ),
    Case(
        "potato", "broken", "nobody.json",
        json.dumps(state(None, {"173": [label("severity", "4")]})),
        error=("nobody.json", "row 1", "no user_id"),
    ),
    Case(
        "potato", "plain", "annotations.jsonl",
        lines(
            record("173", "u1", {"severity": {"4": "4"}}), record("173", "u2", {"severity": {"2": "true"}}),
            record("174", "u1", {"severity": {"1": "1"}}), record("174", "u2", {}),
        ),
        ratings=(("173", "u1", "4"), ("173", "u2", "2"), ("174", "u1", "1")),
        left_out={"instances without an answer": 1},
    ),
    Case(
        "potato", "awkward", "annotations.json",
        json.dumps([
            record("173", "u1", {"severity": {"slider": "4"}, "safe": {"No": "No"}}),
            record("173", "u2", {"severity": {"slider": "2"}, "safe": {"No": "No", "Yes": "Yes"}}),
        ]),
        given={"score": "severity"},
        ratings=(("173", "u1", "4"), ("173", "u2", "2")),
    ),
    Case(
        "potato", "broken", "lists.jsonl",
        lines(record("173", "u1", {"severity": {"4": "4"}}), {**record("173", "u2", {}), "labels": ["4"]}),
        error=("lists.jsonl", "row 2", "labels of an instance are not an object"),
    ),
    Case(
        "potato", "plain", "annotations.csv",
        "instance_id,user_id,severity.4,severity.2\n173,u1,4,\n173,u2,,2\n174,u1,,2\n",
        ratings=(("173", "u1", "4"), ("173", "u2", "2"), ("174", "u1", "2")),
    ),
    Case(  # of two choices the column without a point has the value of the one that counts
        "potato", "awkward", "resolved.csv",
        "instance_id,user_id,severity.4,severity.2,severity,severity._spans\n"
        '173,u1,4,2,4,[]\n173,u2,,true,,"[1, 2]"\n',
        ratings=(("173", "u1", "4"), ("173", "u2", "2")),
    ),
    Case(
        "potato", "broken", "both.csv",
        "instance_id,user_id,severity.4,severity.2\n173,u1,4,2\n173,u2,,2\n",
        given={"scale": "0:4"},
        error=("both.csv", "row 2", "several: 4, 2"),
    ),
    Case(
        "potato", "plain", "annotated_instances.tsv",
        "user\tinstance_id\tdisplayed_text\tseverity:::2\tseverity:::4\n"
        "u1\t173\tHi there\t\t4\nu2\t173\tHi there\t2\t\nu1\t174\tBye\t2\t\n",
        ratings=(("173", "u1", "4"), ("173", "u2", "2"), ("174", "u1", "2")),
        items={"173": {"displayed_text": "Hi there"}},
    ),
    Case(
        "potato", "awkward", "two-questions.tsv",
        "user\tinstance_id\tdisplayed_text\tsafe:::No\tsafe:::Yes\tseverity:::2\tseverity:::4\n"
        "u1\t173\tHi there\ttrue\t\t\ttrue\nu2\t173\tHi there\t\ttrue\t\t\n",
        given={"score": "safe", "scale": "No,Yes"},
        ratings=(("173", "u1", "No"), ("173", "u2", "Yes")),
    ),
    Case(
        "potato", "broken", "annotated_instances.jsonl",
        lines({
            "id": "173", "displayed_text": "Hi", "label_annotations": {"severity": {"4": "4"}}, "span_annotations": {},
        }),
        error=("annotated_instances.jsonl", "raters are missing", "annotated_instances.tsv"),
    ),
]  # fmt: skip
CASES += [
    Case(
        "potato", "plain", "annotation_output",
        {
            "u1/user_state.json": json.dumps(state("u1", {"173": [label("severity", "4")]}, pages=PAGES)),
            "u2/user_state.json": json.dumps(
                state("u2", {"173": [label("severity", "2")], "174": [label("severity", "1")]})
            ),
        },
        ratings=(("173", "u1", "4"), ("173", "u2", "2"), ("174", "u2", "1")),
        raters={"u1": {"gender": "woman"}, "u2": {"gender": None}},
    ),
    Case(
        "potato", "awkward", "other_questions",
        {
            "u1/user_state.json": json.dumps(state("u1", {"173": [label("severity", "4")]})),
            "u2/user_state.json": json.dumps(state("u2", {"173": [label("severity", "2"), label("safe", "No")]})),
        },
        given={"score": "severity"},
        ratings=(("173", "u1", "4"), ("173", "u2", "2")),
    ),
    Case(
        "potato", "broken", "half_a_folder",
        {
            "u1/user_state.json": json.dumps(state("u1", {"173": [label("severity", "4")]})),
            "u2/user_state.json": json.dumps(state("u2", {"173": [label("severity", "2")]}))[:-40],
        },
        error=("user_state.json", "not JSON"),
    ),
]  # fmt: skip
