"""Data sets with a list of raters and labels for each item."""

from __future__ import annotations

import io
import json
from typing import Any

import polars as pl

from exports.record import Case, lines


def parquet(rows: list[dict[str, Any]], schema: dict[str, Any] | None = None) -> bytes:
    """Return rows as a Parquet file with real lists and objects."""
    buffer = io.BytesIO()
    pl.DataFrame(rows, schema=schema).write_parquet(buffer)
    return buffer.getvalue()


PARALLEL = [
    {"id": "q1", "text": "first", "annotators": ["ann", "bob", "cy"], "annotations": [0, 2, 1]},
    {"id": "q2", "text": "second", "annotators": ["bob"], "annotations": [2]},
]
READ = (("q1", "ann", "0"), ("q1", "bob", "2"), ("q1", "cy", "1"), ("q2", "bob", "2"))
TEXTS = {"q1": {"text": "first"}, "q2": {"text": "second"}}
KEYED = [
    {"id": "q1", "text": "first", "ratings": {"ann": 0, "bob": 2, "cy": 1}},
    {"id": "q2", "text": "second", "ratings": {"bob": 2}},
]
OBJECTS = [
    {
        "id": "q1",
        "text": "first",
        "votes": [{"user": one, "label": label} for one, label in zip("abc", "012", strict=True)],
    },
    {"id": "q2", "text": "second", "votes": [{"user": "b", "label": "2"}]},
]
VOTED = (("q1", "a", "0"), ("q1", "b", "1"), ("q1", "c", "2"), ("q2", "b", "2"))
# The shape of HateXplain: an object of posts, whose annotators have a label, an id and targets each.
POSTS: dict[str, dict[str, Any]] = {
    "24198545_gab": {
        "post_id": "24198545_gab",
        "annotators": [
            {"label": "normal", "annotator_id": 4, "target": ["None"]},
            {"label": "hatespeech", "annotator_id": 3, "target": ["African", "Women"]},
        ],
        "rationales": [[0, 1], [1, 1]], "post_tokens": ["u", "really"],
    },
    "1179_twitter": {
        "post_id": "1179_twitter",
        "annotators": [{"label": "offensive", "annotator_id": 4, "target": ["None"]}],
        "rationales": [], "post_tokens": ["all"],
    },
}  # fmt: skip
POINTS = {"scale": "normal,offensive,hatespeech"}
POSTED = (
    ("1179_twitter", "4", "offensive"), ("24198545_gab", "3", "hatespeech"), ("24198545_gab", "4", "normal"),
)  # fmt: skip
COLUMNAR = [
    {"id": name, "annotators": {"label": [one["label"] for one in post["annotators"]],
                                "annotator_id": [one["annotator_id"] for one in post["annotators"]]}}
    for name, post in POSTS.items()
]  # fmt: skip
TWO = [
    {"item": 1, "worker_ids": ["x", "y"], "toxicity_scores": [3, 1], "insult_scores": [0, 1], "seconds": [9, 12]},
    {"item": 2, "worker_ids": ["y"], "toxicity_scores": [2], "insult_scores": [0], "seconds": [4]},
]
PAIRS = [
    {"item": 1, "harm_raters": ["x", "y"], "harm_labels": [3, 1], "bias_raters": ["z"], "bias_labels": [2]},
    {"item": 2, "harm_raters": ["y"], "harm_labels": [2], "bias_raters": ["x", "y"], "bias_labels": [0, 1]},
]
CSV = (
    "id,text,annotators,annotations\r\n"
    '7,"a, b","Ann1,Ann2","0,1"\r\n'
    '8,[deleted],"Ann2,Ann1,Ann3","1,1,0"\r\n'
    "9,c,Ann3,1\r\n"
)
CSV_READ = (("7", "Ann1", "0"), ("7", "Ann2", "1"), ("8", "Ann1", "1"), ("8", "Ann2", "1"), ("8", "Ann3", "0"),
            ("9", "Ann3", "1"))  # fmt: skip
JSON_CELLS = (
    "item_id,rater_ids,labels\n"
    '7,"[""a"", ""b""]","[1, 2]"\n'
    '8,"[""b""]",[2]\n'
)  # fmt: skip


def changed(rows: list[dict[str, Any]], at: int, **more: Any) -> list[dict[str, Any]]:
    """Return rows of which one is another."""
    return [{**row, **more} if place == at else row for place, row in enumerate(rows)]


COUNTS = lines({"id": 1, "votes": {"1": 3, "2": 4}}, {"id": 2, "votes": {"1": 3}})
ALONE = lines({"id": 1, "annotations": [0, 1, 1]}, {"id": 2, "annotations": [1]})
NAMED = lines({"id": 1, "votes": {"no": 3, "yes": 4}}, {"id": 2, "votes": {"no": 3}})
FAR = lines({"id": 1, "votes": {"8": 1, "7": 2}}, {"id": 2, "votes": {"8": 1}})
CASES = [
    Case("lists", "plain", "parallel.jsonl", lines(*PARALLEL), ratings=READ, items=TEXTS),
    Case("lists", "plain", "parallel.json", json.dumps(PARALLEL, indent=1), ratings=READ, items=TEXTS),
    Case("lists", "plain", "parallel.parquet", parquet(PARALLEL), ratings=READ, items=TEXTS),
    Case("lists", "plain", "keyed.jsonl", lines(*KEYED), ratings=READ, items=TEXTS),
    Case("lists", "plain", "objects.json", json.dumps({"data": OBJECTS}), ratings=VOTED, items=TEXTS),
    Case("lists", "plain", "objects.parquet", parquet(OBJECTS), ratings=VOTED, items=TEXTS),
    Case("lists", "plain", "posts.json", json.dumps(POSTS), POINTS, ratings=POSTED),
    Case("lists", "plain", "texts.csv", CSV, ratings=CSV_READ, items={"8": {"text": "[deleted]"}}),
    Case("lists", "plain", "cells.csv", JSON_CELLS, ratings=(("7", "a", "1"), ("7", "b", "2"), ("8", "b", "2"))),
    # An object in Parquet has every key in every row; who did not rate an item is null there.
    Case("lists", "awkward", "keyed.parquet", parquet(KEYED), ratings=READ, items=TEXTS),
    Case("lists", "awkward", "columnar.parquet", parquet(COLUMNAR), POINTS, ratings=POSTED),
    Case("lists", "awkward", "questions.jsonl", lines(*TWO), {"score": "toxicity_scores", "scale": "0:3"},
         ratings=(("1", "x", "3"), ("1", "y", "1"), ("2", "y", "2"))),
    Case("lists", "awkward", "pairs.jsonl", lines(*PAIRS), {"score": "bias_labels", "scale": "0:3"},
         ratings=(("1", "z", "2"), ("2", "x", "0"), ("2", "y", "1"))),
    Case("lists", "awkward", "seconds.jsonl", lines(*TWO),
         {"score": "insult_scores", "scale": "0:3", "rater": "worker_ids", "item": "item"},
         ratings=(("1", "x", "0"), ("1", "y", "1"), ("2", "y", "0"))),
    # A label made of the answers is called as they are; who nobody rated is told.
    Case("lists", "awkward", "made.jsonl",
         lines(*({**one, "label": "9", "user": "author"} for one in OBJECTS), {"id": "q3", "votes": []}),
         ratings=VOTED, left_out={"items that nobody rated": 1}, items={"q1": {"item.label": 9, "user": "author"}}),
    Case("lists", "awkward", "no-ids.jsonl",
         lines(*({"text": one["text"], "annotators": one["annotators"], "labels": one["annotations"]}
                 for one in PARALLEL)),
         ratings=(("1", "ann", "0"), ("1", "bob", "2"), ("1", "cy", "1"), ("2", "bob", "2")), items={"2": TEXTS["q2"]}),
    Case("lists", "awkward", "parts.json",
         json.dumps({"a": {"meta": {"topic": "x", "text": 1}, "text": "t", "raters": ["u", "v"], "scores": [1, None]},
                     "b": {"meta": {"topic": "y"}, "text": "s", "raters": [], "scores": []}}),
         {"scale": "0:1"}, ratings=(("a", "u", "1"),), left_out={"items that nobody rated": 1},
         items={"a": {"topic": "x", "text": "t", "meta.text": 1}}),
    Case("lists", "awkward", "numbered.jsonl", COUNTS,
         {"format": "lists"}, ratings=(("1", "1", "3"), ("1", "2", "4"), ("2", "1", "3"))),
    Case("lists", "awkward", "numbers.jsonl", FAR,
         {"scale": "1:5"}, ratings=(("1", "7", "2"), ("1", "8", "1"), ("2", "8", "1"))),
    Case("lists", "broken", "lengths.jsonl", lines(*changed(PARALLEL, 1, annotations=[2, 1])),
         error=("lengths.jsonl", "row 2", "item 'q2' has 1 annotators but 2 annotations")),
    Case("lists", "broken", "lengths.csv", CSV.replace('"0,1"', '"0,1,1"'),
         error=("lengths.csv", "row 2", "item '7' has 2 annotators but 3 annotations")),
    Case("lists", "broken", "lengths.parquet", parquet(changed(PARALLEL, 0, annotators=["ann"])),
         error=("lengths.parquet", "row 1", "item 'q1' has 1 annotators but 3 annotations")),
    Case("lists", "broken", "no-raters.jsonl", ALONE,
         error=("no-raters.jsonl", "annotations lists labels of each item, and nothing says who gave them")),
    Case("lists", "broken", "counts.jsonl", COUNTS,
         error=("counts.jsonl", "column 'votes'", "may be raters or points of a scale: 1, 2", "--format lists")),
    Case("lists", "broken", "points.jsonl", NAMED,
         {"scale": "no,yes"}, error=("points.jsonl", "may be raters or points of a scale: no, yes")),
    Case("lists", "broken", "which.jsonl", lines(*TWO),
         error=("which.jsonl", "answers to 2 questions: toxicity_scores and insult_scores", "--score")),
    Case("lists", "broken", "several.jsonl", lines(*changed(PARALLEL, 0, annotations=[[0, 1], [1], [2]])),
         {"scale": "0:2"}, error=("several.jsonl", "row 1", "'several: 0, 1'")),
    Case("lists", "broken", "who.jsonl", lines(*changed(PARALLEL, 1, annotators=[["bob"]])),
         error=("who.jsonl", "row 2", "a rater of item 'q2' is not a name or a number")),
    Case("lists", "broken", "damaged.csv", JSON_CELLS.replace("[2]", "[2"),
         error=("damaged.csv", "column 'labels'", "row 3", "the cell is not JSON")),
]  # fmt: skip
