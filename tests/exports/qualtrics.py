"""Exports of Qualtrics: three rows of headers, and its own columns before the questions."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from exports.record import Case

OWN = {
    "StartDate": ("Start Date", "startDate"), "EndDate": ("End Date", "endDate"), "Status": ("Response Type", "status"),
    "IPAddress": ("IP Address", "ipAddress"), "Progress": ("Progress", "progress"),
    "Duration (in seconds)": ("Duration (in seconds)", "duration"), "Finished": ("Finished", "finished"),
    "RecordedDate": ("Recorded Date", "recordedDate"), "ResponseId": ("Response ID", "_recordId"),
    "RecipientLastName": ("Recipient Last Name", "recipientLastName"),
    "RecipientEmail": ("Recipient Email", "recipientEmail"),
    "ExternalReference": ("External Data Reference", "externalDataReference"),
    "LocationLatitude": ("Location Latitude", "locationLatitude"),
    "LocationLongitude": ("Location Longitude", "locationLongitude"),
    "DistributionChannel": ("Distribution Channel", "distributionChannel"),
    "UserLanguage": ("User Language", "userLanguage"),
}  # fmt: skip
QUESTIONS = {
    "Q1": ("How harmful is it?", "QID1"), "Q2_1": ("Please rate:\n - Item A", "QID2_1"),
    "Q2_2": ("Please rate:\n - Item B", "QID2_2"), "Q3": ("What is your gender?", "QID3"),
    "Q4": ("Any comments?", "QID4_TEXT"),
}  # fmt: skip


def response(who: str, *answers: str, status: str = "IP Address", finished: str = "True") -> list[str]:
    """Return a row as the exporter writes it."""
    return ["2024-01-01 10:00:00", "2024-01-01 10:10:00", status,
            "1.2.3.4", "100", "600", finished, "2024-01-01 10:10:01",
            who, "", "", "", "48.1", "11.5", "anonymous", "EN", *answers]  # fmt: skip


def export(*rows: Sequence[str], delimiter: str = ",", headers: int = 3) -> str:
    """Return names, texts and ids of all columns, and rows."""
    known = OWN | QUESTIONS
    ids = [f'{{"ImportId":"{one}","timeZone":"Z"}}' if one.endswith("Date") else f'{{"ImportId":"{one}"}}'
           for _, one in known.values()]  # fmt: skip
    above = [list(known), [text for text, _ in known.values()], ids][:headers]
    out = io.StringIO()
    csv.writer(out, delimiter=delimiter, lineterminator="\n").writerows([*above, *rows])
    return out.getvalue()


R1 = response("R_1", "4", "5", "1", "Man", "fine")
R2 = response("R_2", "2", "3", "", "Woman", "")
TWO = (("Q1", "R_1", "4"), ("Q2_1", "R_1", "5"), ("Q2_2", "R_1", "1"), ("Q1", "R_2", "2"), ("Q2_1", "R_2", "3"))
CASES = [
    Case(
        "qualtrics", "plain", "export.csv", export(R1, R2), ratings=TWO,
        raters={"R_1": {"rater": "R_1", "Q3": "Man"}, "R_2": {"Q3": "Woman"}},
        items={"Q1": {"text": "How harmful is it?", "matrix": None},
               "Q2_1": {"text": "Please rate: - Item A", "matrix": "Please rate:"}},
    ),
    Case("qualtrics", "plain", "export.tsv", export(R1, R2, delimiter="\t"), ratings=TWO),
    Case(
        "qualtrics", "awkward", "previews.csv",
        export(
            response("R_0", "1", "1", "1", "Man", "test", status="Survey Preview"), R1, R2,
            response("R_9", "5", "5", "5", "Man", "", status="Spam"),
            response("R_3", "3", "", "", "Man", "", finished="False"),
        ),
        given={"unfinished": "drop"}, ratings=TWO,
        left_out={"previews and tests": 1, "responses marked as spam": 1, "unfinished respondents": 1},
    ),
    Case(
        "qualtrics", "awkward", "numeric.csv",
        export(
            response("R_1", "4", "5", "1", "1", "fine", status="0", finished="1"),
            response("R_2", "2", "3", "", "2", "", status="0", finished="0"),
            response("R_0", "2", "3", "", "2", "", status="1", finished="1"),
        ),
        given={"unfinished": "keep"}, ratings=TWO, left_out={"previews and tests": 1}, raters={"R_1": {"Q3": 1}},
    ),
    Case(
        "qualtrics", "awkward", "labels.csv",
        export(response("R_1", "Very", "Not", "Not", "Man", ""), response("R_2", "Not", "Very", "", "Woman", "")),
        given={"scale": "Not,Somewhat,Very"},
        ratings=(("Q1", "R_1", "Very"), ("Q2_1", "R_1", "Not"), ("Q2_2", "R_1", "Not"), ("Q1", "R_2", "Not"),
                 ("Q2_1", "R_2", "Very")),
    ),
    Case("qualtrics", "awkward", "one-question.csv", export(R1, R2), given={"questions": "Q2_1"},
         ratings=(("Q2_1", "R_1", "5"), ("Q2_1", "R_2", "3"))),
    Case(
        "qualtrics", "broken", "undecided.csv", export(R1, response("R_3", "3", "", "", "Man", "", finished="False")),
        error=("undecided.csv", "1 of 2 respondents is unfinished", "--unfinished drop"),
    ),
    Case(
        "qualtrics", "broken", "labels-without-order.csv",
        export(response("R_1", "Very", "Not", "Not", "Man", ""), response("R_2", "Not", "Very", "", "Woman", "")),
        error=("labels-without-order.csv", "--scale"),
    ),
    Case(  # the header is row 1, texts and ids are rows 2 and 3, so that the first response is in row 4
        "qualtrics", "broken", "off.csv", export(R1, response("R_2", "9", "3", "", "Woman", "")),
        given={"scale": "1:5"},
        error=("'9' is not a point", "row 5, column Q1"),
    ),
    Case("qualtrics", "broken", "empty.csv", export(), error=("empty.csv", "there are no ratings")),
]  # fmt: skip
