"""The names by which columns of items, raters and scores are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from plurivox.errors import no_column

Layout = Literal["long", "wide", "totals"]

# Names by which a role is known, the surest first; compared without case, spaces and punctuation.
ROLE_NAMES: dict[str, tuple[str, ...]] = {
    "item": (
        "item", "itemid", "itemno", "itemnumber", "unit", "unitid", "exampleid", "instanceid", "sampleid", "taskid",
        "textid", "commentid", "postid", "tweetid", "messageid", "conversationid", "convid", "dialogid", "promptid",
        "responseid", "questionid", "documentid", "docid", "imageid", "videoid", "reviewid", "productid", "movieid",
        "example", "instance", "comment", "prompt", "document", "image", "product", "id",
    ),
    "rater": (
        "rater", "raterid", "annotator", "annotatorid", "worker", "workerid", "coder", "coderid", "judge", "judgeid",
        "labeler", "labelerid", "labeller", "labellerid", "reviewer", "reviewerid", "participant", "participantid",
        "respondent", "respondentid", "subject", "subjectid", "evaluator", "evaluatorid", "user", "userid", "person",
        "personid", "annotatedby", "ratedby", "model",
    ),
    "score": (
        "score", "rating", "ratings", "label", "grade", "stars", "severity", "judgment", "judgement", "annotation",
        "response", "answer", "value", "vote", "points",
    ),
}  # fmt: skip


def id_column(columns: Sequence[str], role: Literal["item", "rater"], wanted: str, source: str) -> str:
    """Return the id column of an attribute table: named as in the ratings, or recognised."""
    if wanted in columns:
        return wanted
    found = by_name(columns, role)
    if found is None:
        raise no_column(wanted, columns, source, "Name it as in the ratings.", role=f" with the {role} ids")
    return found


def by_name(columns: Sequence[str], role: str) -> str | None:
    """Return the column whose name is the surest of a role."""
    plain = {"".join(c for c in column.casefold() if c.isalnum()): column for column in reversed(columns)}
    return next((plain[name] for name in ROLE_NAMES[role] if name in plain), None)
