"""Assignments of Toloka."""

from __future__ import annotations

from exports.record import Case

HEADER = (
    "INPUT:image", "INPUT:topic", "OUTPUT:severity", "GOLDEN:severity", "HINT:text", "HINT:default_language",
    "ASSIGNMENT:link", "ASSIGNMENT:task_id", "ASSIGNMENT:assignment_id", "ASSIGNMENT:task_suite_id",
    "ASSIGNMENT:worker_id", "ASSIGNMENT:status", "ASSIGNMENT:started", "ACCEPT:verdict", "ACCEPT:comment",
)  # fmt: skip


def task(item: str, worker: str, severity: str, status: str = "APPROVED", **more: str) -> dict[str, str]:
    """Return a row; keywords are golden, hint and verdict."""
    return {
        "INPUT:image": item, "INPUT:topic": f"topic {item}", "OUTPUT:severity": severity,
        "GOLDEN:severity": more.get("golden", ""), "HINT:text": more.get("hint", ""),
        "ASSIGNMENT:link": "https://x.org/task/1", "ASSIGNMENT:task_id": "t1", "ASSIGNMENT:assignment_id": "a1",
        "ASSIGNMENT:task_suite_id": "s1", "ASSIGNMENT:worker_id": worker, "ASSIGNMENT:status": status,
        "ASSIGNMENT:started": "2021-03-01T10:00:00.000", "ACCEPT:verdict": more.get("verdict", ""),
    }  # fmt: skip


def tsv(*rows: dict[str, str] | None, header: tuple[str, ...] = HEADER) -> str:
    """Return the rows; None is the empty line between two suites of tasks."""
    lines = ["\t".join(header)]
    lines += ["" if row is None else "\t".join(row.get(name, "") for name in header) for row in rows]
    return "\n".join(lines) + "\n"


AGGREGATED = ("INPUT:image", "OUTPUT:severity", "CONFIDENCE:severity")
CASES = [
    Case(
        "toloka", "plain", "assignments.tsv",
        tsv(task("173", "w1", "4"), task("173", "w2", "2"), None, task("174", "w1", "1", "SUBMITTED")),
        ratings=(("173", "w1", "4"), ("173", "w2", "2"), ("174", "w1", "1")),
        items={"173": {"topic": "topic 173"}},
    ),
    Case(
        "toloka", "awkward", "controls.tsv",
        tsv(
            task("173", "w1", "4"), task("174", "w1", "1", golden="1"), task("175", "w1", "0", hint="Look again"),
            None, task("173", "w2", "", "SKIPPED"), task("173", "w3", "", "EXPIRED"), task("173", "w4", ""),
            task("174", "w4", "0"),
        ),
        ratings=(("173", "w1", "4"), ("174", "w4", "0")),
        left_out={"control tasks": 2, "skipped tasks": 1, "expired tasks": 1},
    ),
    Case(
        "toloka", "awkward", "rejected-kept.tsv",
        tsv(task("173", "w1", "4"), task("173", "w2", "0", "REJECTED")),
        given={"rejected": "keep"},
        ratings=(("173", "w1", "4"), ("173", "w2", "0")),
    ),
    Case(
        "toloka", "broken", "undecided.tsv",
        tsv(
            task("173", "w1", "4"), task("173", "w2", "0", "REJECTED"),
            task("173", "w3", "0", "SUBMITTED", verdict="-"),
        ),
        error=("undecided.tsv", "2 of 3 answers are rejected", "--rejected drop"),
    ),
    Case(
        "toloka", "broken", "aggregated.tsv",
        tsv({"INPUT:image": "173", "OUTPUT:severity": "4", "CONFIDENCE:severity": "88.1%"}, header=AGGREGATED),
        error=("aggregated.tsv", "raters are missing", "Download the assignments"),
    ),
    Case(
        "toloka", "broken", "controls-alone.tsv",
        tsv(task("174", "w1", "1", golden="1"), task("175", "w1", "0", hint="Look again")),
        error=("controls-alone.tsv", "no answers remain", "control tasks (2)"),
    ),
]  # fmt: skip
