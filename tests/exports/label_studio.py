"""Exports of Label Studio: JSON, JSON-MIN and CSV."""

from __future__ import annotations

import json
from typing import Any

from exports.record import Case

TIMES = {"created_at": "2022-10-31T21:19:19.131290Z", "updated_at": "2022-10-31T21:19:19.131302Z"}


def rated(name: str, rating: int) -> dict[str, Any]:
    """Return the result of stars."""
    return {"id": "x1", "from_name": name, "to_name": "text", "type": "rating", "value": {"rating": rating}}


def chose(name: str, *choices: str) -> dict[str, Any]:
    """Return the result of choices."""
    return {"id": "x2", "from_name": name, "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}


def wrote(name: str, text: str) -> dict[str, Any]:
    """Return the result of a text area."""
    return {"id": "x3", "from_name": name, "to_name": "text", "type": "textarea", "value": {"text": [text]}}


def annotation(number: int, who: Any, *result: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return an annotation as the exporter writes it."""
    return {
        "id": number, "completed_by": who, "was_cancelled": False, "ground_truth": False, **TIMES, "lead_time": 7.662,
        "parent_prediction": None, "task": 1, "result": list(result), **more,
    }  # fmt: skip


def severity(number: int, who: Any, points: int) -> dict[str, Any]:
    """Return an annotation that is one rating."""
    return annotation(number, who, rated("severity", points))


def task(number: int, item: str, *annotations: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a task with its annotations."""
    known = {"id": number, "data": {"item": item, "text": f"text {item}"}, "annotations": list(annotations)}
    return {**known, "drafts": [], "predictions": [], "meta": {}, "inner_id": number, **more}


def brief(item: str, number: int, annotator: int | None, **answers: Any) -> dict[str, Any]:
    """Return a row of JSON-MIN: the data, the id, the answers, and who gave them."""
    who = {} if annotator is None else {"annotation_id": 10 * number + annotator, **TIMES, "lead_time": 7.662}
    return {"text": f"text {item}", "item": item, "id": number, **answers, "annotator": annotator or "", **who}


def predicted(model: str | None, *result: dict[str, Any]) -> dict[str, Any]:
    """Return a prediction of a model."""
    return {"id": 1, "model_version": model, "score": 0.7, "result": list(result)}


PERSON = {"id": 1, "email": "a@x.org", "first_name": "", "last_name": ""}
TASKS = [
    task(1, "173", severity(7, 1, 4), severity(8, 2, 2), predictions=[predicted("m0", rated("severity", 3))]),
    task(2, "174", severity(9, 1, 1), predictions=[predicted("m0", rated("severity", 1)), predicted("m1")]),
]
"""Two tasks, which two people and two models were asked about; the second model said nothing."""
PREDICTIONS = json.dumps(TASKS)
HEADER = '"annotation_id","annotator","created_at","id","item","lead_time","safe","severity","text","updated_at"\n'
WHEN, LATER = TIMES["created_at"], TIMES["updated_at"]
_JSON = [
    Case(
        "label-studio", "plain", "tasks.json",
        json.dumps([task(1, "173", severity(7, 1, 4), severity(8, 2, 2)), task(2, "174", severity(9, 1, 1))]),
        ratings=(("173", "1", "4"), ("173", "2", "2"), ("174", "1", "1")),
        items={"173": {"text": "text 173"}},
    ),
    Case(
        "label-studio", "awkward", "cancelled.json",
        json.dumps([
            task(1, "173", severity(7, PERSON, 4), annotation(8, 2, was_cancelled=True),
                 drafts=[severity(10, 3, 5)], predictions=[predicted("m0")]),
            task(2, "174", severity(9, 2, 1)),
        ], indent=2),
        ratings=(("173", "1", "4"), ("174", "2", "1")),
        left_out={"cancelled annotations": 1, "drafts": 1, "predictions": 1},
    ),
    Case(  # a comment is not a question; an empty result is not a rating; a star does not take a rating away
        "label-studio", "awkward", "comments.json",
        json.dumps([
            task(1, "173", annotation(7, 1, rated("severity", 4), wrote("why", "rude"), ground_truth=True),
                 annotation(8, 2, wrote("why", "cannot say"))),
            task(2, "174", annotation(9, 2, rated("severity", 2)), annotation(10, 1)),
        ]),
        ratings=(("173", "1", "4"), ("174", "2", "2")),
        remarks=("annotations marked as ground truth (1)",),
    ),
    Case(
        "label-studio", "awkward", "two-questions.json",
        json.dumps([
            task(1, "173", annotation(7, 1, rated("severity", 4), chose("safe", "Unsure"))),
            task(2, "174", annotation(8, 2, rated("severity", 1), chose("safe", "Yes"))),
        ]),
        given={"score": "safe", "scale": "No,Unsure,Yes"},
        ratings=(("173", "1", "Unsure"), ("174", "2", "Yes")),
    ),
    Case(  # two tasks of one item, whose data differ; its data have names that Label Studio uses itself
        "label-studio", "awkward", "same-item.json",
        json.dumps([
            {**task(1, "", severity(7, 1, 4)), "data": {"item": "173", "id": "a", "severity": "?", "url": "u1"}},
            {**task(2, "", severity(8, 2, 2)), "data": {"item": "173", "id": "a", "severity": "?", "url": "u2"}},
        ]),
        ratings=(("173", "1", "4"), ("173", "2", "2")),
        items={"173": {"_data_id": "a", "_data_severity": "?"}},
        remarks=("have the name of another column: 'url'",),
    ),
    Case(  # without a field of that name, the task is the item, also if it has a prompt that others have, too
        "label-studio", "awkward", "prompts.json",
        json.dumps([
            {**task(11, "", severity(7, 1, 4)), "data": {"prompt": "p", "response": "a"}},
            {**task(12, "", severity(8, 1, 2)), "data": {"prompt": "p", "response": "b"}},
        ]),
        ratings=(("11", "1", "4"), ("12", "1", "2")),
        items={"11": {"prompt": "p", "response": "a"}},
    ),
    Case(
        "label-studio", "awkward", "several.json",
        json.dumps([
            task(1, "173", annotation(7, 1, chose("how", "1", "2")), annotation(8, 2, chose("how", "3"))),
            task(2, "174", annotation(9, 1, chose("how", "1"))),
        ]),
        given={"missing": ["several"]},
        ratings=(("173", "2", "3"), ("174", "1", "1")),
    ),
    Case(
        "label-studio", "broken", "cut-off.json",
        json.dumps([task(1, "173", severity(7, 1, 4)), task(2, "174", severity(9, 1, 1))])[:-60],
        error=("cut-off.json", "entry 2", "cut off or not JSON"),
    ),
    Case(
        "label-studio", "broken", "undecided.json",
        json.dumps([task(1, "173", annotation(7, 1, rated("severity", 4), chose("safe", "Unsure")))]),
        error=("undecided.json", "2 questions: severity and safe", "--score"),
    ),
    Case(
        "label-studio", "broken", "no-such-question.json", json.dumps(TASKS), given={"score": "severty"},
        error=("no-such-question.json", "there is no column 'severty'", "severity", "--score"),
    ),
    Case(
        "label-studio", "broken", "two-choices.json",
        json.dumps([task(1, "173", annotation(7, 1, chose("how", "1", "2")), annotation(8, 2, chose("how", "3")),
                         annotation(9, 3, chose("how", "1")))]),
        error=("two-choices.json", "row 1", "several: 1, 2", "--missing several"),
    ),
    Case(
        "label-studio", "broken", "not-a-list.json", json.dumps([task(1, "173") | {"annotations": {"a": 1}}]),
        error=("not-a-list.json", "row 1", "annotations", "not a list"),
    ),
]  # fmt: skip
_MIN = [
    Case(
        "label-studio", "plain", "min.json",
        json.dumps([brief("173", 1, 1, severity=[{"rating": 4}]), brief("174", 2, 2, severity=[{"rating": 1}])]),
        ratings=(("173", "1", "4"), ("174", "2", "1")),
        items={"174": {"text": "text 174"}},
    ),
    Case(  # one choice is a text, several are an object, as the exporter writes them; one task has no annotation
        "label-studio", "awkward", "min-choices.json",
        json.dumps([
            brief("175", 3, None),
            brief("173", 1, 1, severity=[{"rating": 4}], safe="Unsure"),
            brief("173", 1, 2, severity=[{"rating": 2}], safe={"choices": ["No", "Yes"]}),
            brief("174", 2, 2, safe="Yes"),
        ]),
        given={"score": "safe", "scale": "No,Unsure,Yes", "missing": ["several"]},
        ratings=(("173", "1", "Unsure"), ("174", "2", "Yes")),
        left_out={"tasks without an annotation": 1},
    ),
    Case(
        "label-studio", "broken", "min-questions.json",
        json.dumps([brief("173", 1, 1, severity=[{"rating": 4}], safe="Unsure")]),
        error=("min-questions.json", "2 questions: severity and safe", "--score"),
    ),
    Case(
        "label-studio", "broken", "min-no-rater.json",
        json.dumps([brief("173", 1, 1, severity=[{"rating": 4}]), brief("174", 2, 0, severity=[{"rating": 1}])]),
        error=("min-no-rater.json", "row 2", "the rater id"),
    ),
]  # fmt: skip
_CSV = [
    Case(
        "label-studio", "plain", "export.csv",
        HEADER
        + f'7,1,"{WHEN}",1,173,7.662,Unsure,"[{{""rating"": 4}}]",text 173,"{LATER}"\n'
        + f'8,2,"{WHEN}",1,173,7.662,Unsure,"[{{""rating"": 2}}]",text 173,"{LATER}"\n'
        + f'9,1,"{WHEN}",2,174,7.662,Yes,"[{{""rating"": 1}}]",text 174,"{LATER}"\n',
        ratings=(("173", "1", "4"), ("173", "2", "2"), ("174", "1", "1")),
        items={"173": {"text": "text 173", "safe": "Unsure"}},  # both chose it, so that nothing tells it from data
    ),
    Case(  # choices are questions where two annotators differ; dialogues are lists of objects, and are not
        "label-studio", "awkward", "choices.csv",
        '"annotation_id","annotator","created_at","dialogue","id","lead_time","safe","updated_at"\n'
        + f'7,1,"{WHEN}","[{{""author"": ""A"", ""text"": ""hi""}}]",1,7.662,No,"{LATER}"\n'
        + f'8,2,"{WHEN}","[{{""author"": ""A"", ""text"": ""hi""}}]",1,7.662,"{{""choices"": [""No"", ""Yes""]}}",'
        + f'"{LATER}"\n9,1,"{WHEN}",[],2,7.662,Yes,"{LATER}"\n,,,[],3,,,\n',
        given={"scale": "No,Yes", "missing": ["several"]},
        ratings=(("1", "1", "No"), ("2", "1", "Yes")),
        left_out={"tasks without an annotation": 1},
    ),
    Case(
        "label-studio", "broken", "no-question.csv",
        '"annotation_id","annotator","created_at","id","lead_time","safe","text","updated_at"\n'
        + f'7,1,"{WHEN}",1,7.662,No,text 1,"{LATER}"\n9,1,"{WHEN}",2,7.662,Yes,text 2,"{LATER}"\n',
        error=("no-question.csv", "no column of answers was recognised", "--score"),
    ),
    Case(
        "label-studio", "broken", "cut-cell.csv",
        HEADER + f'7,1,"{WHEN}",1,173,7.662,Unsure,"[{{""rating"": 4",text 173,"{LATER}"\n'
        + f'9,1,"{WHEN}",2,174,7.662,Yes,"[{{""rating"": 1}}]",text 174,"{LATER}"\n',
        error=("cut-cell.csv", "severity", "row 2", "not JSON"),
    ),
]  # fmt: skip
CASES = [*_JSON, *_MIN, *_CSV]
