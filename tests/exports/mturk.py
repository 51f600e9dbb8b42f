"""Batch results of Amazon Mechanical Turk, with the columns that it writes."""

from __future__ import annotations

import csv
import io
import json

from exports.record import Case

FIXED = (
    "HITId", "HITTypeId", "Title", "Description", "Keywords", "Reward", "CreationTime", "MaxAssignments",
    "RequesterAnnotation", "AssignmentDurationInSeconds", "AutoApprovalDelayInSeconds", "Expiration",
    "NumberOfSimilarHITs", "LifetimeInSeconds",
    "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime", "AutoApprovalTime",
    "ApprovalTime", "RejectionTime", "RequesterFeedback", "WorkTimeInSeconds", "LifetimeApprovalRate",
    "Last30DaysApprovalRate", "Last7DaysApprovalRate",
)  # fmt: skip


def batch(*rows: tuple[str, str, str, dict[str, str]]) -> str:
    """Return a batch of rows: HIT, worker, status, and what was shown and answered."""
    given = sorted({name for *_, cells in rows for name in cells})
    given = [one for one in given if one not in ("Approve", "Reject")]
    out = io.StringIO()
    write = csv.writer(out, quoting=csv.QUOTE_ALL)
    write.writerow([*FIXED, *given, "Approve", "Reject"])
    for number, (hit, worker, status, cells) in enumerate(rows):
        known = {
            "HITId": hit, "HITTypeId": "3T1", "Title": "How severe?", "Reward": "$0.05", "AssignmentId": f"3A{number}",
            "WorkerId": worker, "AssignmentStatus": status, "WorkTimeInSeconds": "31",
            "AcceptTime": "Tue Nov 03 10:02:11 PST 2020", "SubmitTime": "Tue Nov 03 10:02:42 PST 2020",
            "LifetimeApprovalRate": "0% (0/0)",
        }  # fmt: skip
        write.writerow([(known | cells).get(name, "") for name in (*FIXED, *given, "Approve", "Reject")])
    return out.getvalue()


def shown(item: str, severity: str, **more: str) -> dict[str, str]:
    """Return what was shown of an item, and how it was answered."""
    return {"Input.item_id": item, "Input.topic": f"topic {item}", "Answer.severity": severity, **more}


def buttons(item: str, *points: str) -> dict[str, str]:
    """Return radio buttons, each of which is true or false."""
    return {"Input.text": item} | {f"Answer.severity.{at}": str(at in points).lower() for at in ("1", "4", "10")}


TEN = {f"Input.image_url{n}": f"http://x.org/{n}.png" for n in range(1, 11)}
RATED = {f"Answer.Content{n}": str(n % 4) for n in range(1, 11)}
CASES = [
    Case(
        "mturk", "plain", "Batch_1_batch_results.csv",
        batch(
            ("H1", "W1", "Approved", shown("173", "4")), ("H1", "W2", "Submitted", shown("173", "2")),
            ("H2", "W1", "Approved", shown("174", "1")), ("H9", "W3", "Approved", shown("173", "")),
        ),
        ratings=(("173", "W1", "4"), ("173", "W2", "2"), ("174", "W1", "1")),
        items={"173": {"topic": "topic 173"}},
    ),
    Case(
        "mturk", "awkward", "ten-in-a-hit.csv",
        batch(("H1", "W1", "Approved", TEN | RATED), ("H2", "W2", "Approved", {"Input.image_url1": "http://x.org/2.png",
              "Answer.Content1": "3", "Input.image_url2": "http://x.org/1.png", "Answer.Content2": "{}"})),
        ratings=(
            *((f"http://x.org/{n}.png", "W1", str(n % 4)) for n in range(1, 11)), ("http://x.org/2.png", "W2", "3"),
        ),
        left_out={"empty places of HITs": 8},
    ),
    Case(
        "mturk", "awkward", "two-questions.csv",
        batch(("H1", "W1", "Approved", {
            "Input.id1": "a", "Input.id2": "b", "Input.text1": "Hi", "Input.text2": "Ho", "Input.batch": "7",
            "Answer.severity1": "4", "Answer.severity2": "0", "Answer.safe1": "No", "Answer.safe2": "Yes",
            "Answer.comment": "nice",
        })),
        given={"score": "severity"},
        ratings=(("a", "W1", "4"), ("b", "W1", "0")),
        items={"a": {"text": "Hi"}, "b": {"text": "Ho"}},
    ),
    Case(
        "mturk", "awkward", "buttons.csv",
        batch(
            ("H1", "W1", "Approved", buttons("Two\nlines", "10")), ("H1", "W2", "Approved", buttons("Two\nlines", "4")),
            ("H2", "W1", "Approved", buttons("One line", "1")), ("H2", "W2", "Approved", buttons("One line")),
        ),
        ratings=(("One line", "W1", "1"), ("Two lines", "W1", "10"), ("Two lines", "W2", "4")),
    ),
    Case(
        "mturk", "awkward", "differing.csv",
        batch(
            ("H1", "W1", "Approved", shown("173", "4", **{"Input.position": "1", "Input.score": ".7"})),
            ("H2", "W2", "Approved", shown("173", "2", **{"Input.position": "9", "Input.score": ".7"})),
        ),
        ratings=(("173", "W1", "4"), ("173", "W2", "2")),
        items={"173": {"topic": "topic 173"}},
    ),
    Case(
        "mturk", "awkward", "rejected.csv",
        batch(
            ("H1", "W1", "Approved", shown("173", "4")), ("H1", "W2", "Rejected", shown("173", "0")),
            ("H1", "W3", "Submitted", shown("173", "0", Reject="too fast")),
        ),
        given={"rejected": "drop", "scale": "0:4"},
        ratings=(("173", "W1", "4"),),
        left_out={"rejected rows": 2},
    ),
    Case(
        "mturk", "awkward", "as-json.csv",
        batch(
            ("H1", "W1", "Approved", {"Input.title": "A", "Input.text": "a | b",
             "Answer.taskAnswers": json.dumps([{"severity": {"0": False, "3": True}}])}),
            ("H1", "W2", "Approved", {"Input.title": "A", "Input.text": "a | b",
             "Answer.taskAnswers": json.dumps([{"severity": {"0": True, "3": False}}])}),
        ),
        ratings=(("a | b | A", "W1", "3"), ("a | b | A", "W2", "0")),
        items={"a | b | A": {"title": "A", "text": "a | b"}},
    ),
    Case(
        "mturk", "broken", "undecided.csv",
        batch(("H1", "W1", "Approved", shown("173", "4")), ("H1", "W2", "Rejected", shown("173", "0"))),
        error=("undecided.csv", "1 of 2 answers is rejected", "--rejected drop"),
    ),
    Case(
        "mturk", "broken", "many-questions.csv",
        batch(("H1", "W1", "Approved", shown("173", "4", **{"Answer.safe": "No"}))),
        error=("many-questions.csv", "2 questions: safe and severity", "--score"),
    ),
    Case(
        "mturk", "broken", "several.csv",
        batch(("H1", "W1", "Approved", buttons("a", "1", "4")), ("H1", "W2", "Approved", buttons("a", "4"))),
        given={"scale": "1:10"},
        error=("several.csv", "row 2", "several: 1, 4"),
    ),
    Case(
        "mturk", "broken", "no-input.csv",
        batch(("H1", "W1", "Approved", {"Answer.severity": "4"})),
        error=("no-input.csv", "Input.*", "--item"),
    ),
]  # fmt: skip
