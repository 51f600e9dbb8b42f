"""Tables of raters from Prolific, beside ratings that came from somewhere else."""

from __future__ import annotations

from exports.record import Case

HEADER = (
    "Submission id,Participant id,Status,Custom study tncs accepted at,Started at,Completed at,Reviewed at,Archived at,"
    "Time taken,Completion code,Total approvals,Fluent languages,Age,Sex,Ethnicity simplified,Country of birth,"
    "Country of residence,Nationality,Language,Student status,Employment status"
)  # fmt: skip
A, B, C = "5f8a1b2c3d4e5f6a7b8c9d0e", "60aa1b2c3d4e5f6a7b8c9d0e", "61bb1b2c3d4e5f6a7b8c9d0e"


def person(who: str, status: str = "APPROVED", *, sex: str = "Female", number: int = 1, **more: str) -> str:
    """Return a submission of a person; the keyword is employment."""
    ended = "" if status == "RETURNED" else "2024-05-02T10:12:00.123000Z"
    return (
        f"66{who[:6]}{number},{who},{status},Not Applicable,2024-05-02T10:0{number}:00.123000Z,{ended},{ended},,"
        f'{600 + number},C1A2B3,{100 + number},"English, German",{more.get("age", "34")},{sex},White,Germany,Germany,'
        f"Germany,German,No,{more.get('employment', 'Full-Time')}"
    )


def raters(*people: str) -> dict[str, tuple[str, str]]:
    """Return the table as a file beside."""
    return {"raters": ("prolific_export.csv", "\n".join([HEADER, *people]) + "\n")}


RATED = f"PROLIFIC_PID,item,score\n{A},1,4\n{A},2,3\n{B},1,0\n{B},2,1\n"
ALL = (("1", A, "4"), ("1", B, "0"), ("2", A, "3"), ("2", B, "1"))
CASES = [
    Case(  # the third person never rated, so that nothing has to be decided about them
        "prolific", "plain", "ratings.csv", RATED,
        beside=raters(person(A), person(B, sex="Male"), person(C, "RETURNED")),
        ratings=ALL,
        raters={A: {"Sex": "Female", "Language": "German"}, B: {"Sex": "Male"}},
    ),
    Case(
        "prolific", "awkward", "expired.csv", RATED.replace("PROLIFIC_PID", "participant_id"),
        beside=raters(person(A, employment="DATA_EXPIRED"), person(B, sex="CONSENT_REVOKED")),
        ratings=ALL,
        raters={A: {"Sex": "Female", "Employment status": None}, B: {"Sex": None}},
    ),
    Case(  # whoever returned a submission and then sent another was approved
        "prolific", "awkward", "twice.csv", RATED,
        beside=raters(
            person(A, "RETURNED", sex="DATA_EXPIRED", age="33"), person(A, number=2), person(B),
            person(B, number=2, employment="DATA_EXPIRED"),
        ),
        ratings=ALL,
        raters={A: {"Sex": "Female"}, B: {"Employment status": "Full-Time"}},
    ),
    Case(
        "prolific", "awkward", "dropped.csv", RATED + f"{C},1,2\n",
        given={"rejected": "drop", "unfinished": "keep"},
        beside=raters(person(A), person(B, "REJECTED"), person(C, "TIMED-OUT")),
        ratings=(("1", A, "4"), ("1", C, "2"), ("2", A, "3")),
        left_out={"ratings by raters of status REJECTED": 2},
    ),
    Case(
        "prolific", "broken", "undecided.csv", RATED + f"{C},1,2\n",
        beside=raters(person(A), person(B, "AWAITING REVIEW"), person(C, "RETURNED")),
        error=("prolific_export.csv", "2 of 3 raters are not approved: AWAITING REVIEW (1) and RETURNED (1)",
               "--rejected drop and --unfinished drop"),
    ),
    Case(
        "prolific", "broken", "half-decided.csv", RATED + f"{C},1,2\n",
        given={"rejected": "drop"},
        beside=raters(person(A), person(B, "REJECTED"), person(C, "RETURNED")),
        error=("prolific_export.csv", "1 of 3 raters is not approved: RETURNED (1)", "--unfinished drop"),
    ),
    Case(
        "prolific", "broken", "nobody-left.csv", RATED,
        given={"rejected": "drop"},
        beside=raters(person(A, "REJECTED"), person(B, "REJECTED")),
        error=("prolific_export.csv", "no raters remain"),
    ),
    Case(
        "prolific", "broken", "prolific_export.csv", "\n".join([HEADER, person(A), person(B)]) + "\n",
        error=("prolific_export.csv", "table of raters from Prolific", "--raters"),
    ),
    Case(
        "prolific", "broken", "two-ages.csv", RATED,
        beside=raters(person(A), person(A, number=2, age="35"), person(B)),
        given={"conflicts": "error"},
        error=("prolific_export.csv", "'Age'", "rows 2, 3", "one rater has more than one value"),
    ),
]  # fmt: skip
