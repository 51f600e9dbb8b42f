"""The names by which columns of items, raters and scores are recognised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from plurivox.base.errors import no_column

KEY = "_key"
"""The column with the keys of an object whose values are rows."""

# Names by which a role is recognised, the surest first; compared without case, spaces and punctuation.
ROLE_NAMES: dict[str, tuple[str, ...]] = {
    "item": (
        "item", "itemid", "itemno", "itemnumber", "unit", "unitid", "exampleid", "instanceid", "sampleid", "taskid",
        "textid", "commentid", "postid", "tweetid", "messageid", "conversationid", "convid", "dialogid", "promptid",
        "questionid", "documentid", "docid", "imageid", "videoid", "reviewid", "productid", "movieid",
        "example", "instance", "comment", "prompt", "document", "image", "product", "id",
    ),
    "rater": (
        "rater", "raterid", "annotator", "annotatorid", "worker", "workerid", "coder", "coderid", "judge", "judgeid",
        "labeler", "labelerid", "labeller", "labellerid", "reviewer", "reviewerid", "participant", "participantid",
        "respondent", "respondentid", "subject", "subjectid", "evaluator", "evaluatorid", "user", "userid", "person",
        "personid", "assessor", "assessorid", "juror", "jurorid", "turker", "turkerid", "mturkid", "prolificpid",
        "prolificid", "annotatedby", "ratedby", "labeledby", "labelledby", "judgedby", "scoredby", "evaluatedby",
        "completedby", "createdby", "username", "useremail", "email", "emailaddress", "responseid", "model",
    ),
    "score": (
        "score", "rating", "ratings", "label", "grade", "stars", "severity", "judgment", "judgement", "annotation",
        "response", "answer", "value", "vote", "points",
    ),
}  # fmt: skip

RESPONSE = "responseid"
"""In surveys, it is the respondent; where somebody else rates, it is what they rate: a model's response."""


AS_IN_RATINGS = "Give it the name it has in the ratings."


def id_column(
    columns: Sequence[str], role: Literal["item", "rater"], wanted: str, source: str, hint: str = AS_IN_RATINGS
) -> str:
    """Return the id column of an attribute table: named as in the ratings, or recognised."""
    if wanted in columns:
        return wanted
    found = by_name(columns, role) or (KEY if KEY in columns else None)
    if found is None:
        raise no_column(wanted, columns, source, hint, role=f" with the {role} ids")
    return found


def by_name(columns: Sequence[str], role: str) -> str | None:
    """Return the column with the surest name of a role, or with this one name."""
    known = plain_names(columns)
    return next((known[name] for name in ROLE_NAMES.get(role, (role,)) if name in known), None)


def plain_names(columns: Sequence[str]) -> dict[str, str]:
    """Return the columns by their names without case, spaces and punctuation; the first if several are alike."""
    return {plain(column): column for column in reversed(columns)}


def plain(name: str) -> str:
    """Return a name without case, spaces and punctuation."""
    return "".join(c for c in name.casefold() if c.isalnum())


class Named(NamedTuple):
    """What a name says: a role, and the rest."""

    role: Literal["rater", "score"]
    stem: str


def named(name: str) -> Named | None:
    """Return the role (rater or score) that the first or last words of a name give, also in the plural.

    Examples
    --------
    >>> named("annotator_ids"), named("toxicity_labels"), named("workerIds_toxicity")
    (Named(role='rater', stem=''), Named(role='score', stem='toxicity'), Named(role='rater', stem='toxicity'))
    >>> named("text")
    """
    words = _WORDS.findall(re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).casefold())
    single = [word.removesuffix("s") for word in words]
    roles: tuple[Literal["rater", "score"], ...] = ("rater", "score")
    for own, stem in ((slice(-2, None), slice(0, -2)), (slice(-1, None), slice(0, -1)),
                      (slice(0, 2), slice(2, None)), (slice(0, 1), slice(1, None))):  # fmt: skip
        for role in roles:
            if {"".join(words[own]), "".join(single[own])} & set(ROLE_NAMES[role]):
                return Named(role, " ".join(single[stem]))
    return None


_WORDS = re.compile(r"[^\W_]+")
