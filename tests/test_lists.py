"""Lists of raters and labels per item on real files, against plain Python; and what stands beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import InputError, PlurivoxWarning
from plurivox.domain.raw import named
from support import run_cli

SCALES = {"CSC": "1:6", "Paraphrase": "-5:5"}
FILES = ("CSC_dev", "CSC_test", "Paraphrase_train", "Paraphrase_dev", "Paraphrase_test")


@pytest.mark.parametrize("name", FILES)
def test_real_files_of_lewidi_against_plain_python(real_data: Path, name: str) -> None:
    file = real_data / "lewidi2025" / f"{name}.json"
    found = pv.read_ratings(file, scale=SCALES[name.partition("_")[0]])
    given: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    expected = {(item, who, int(label)) for item, one in given.items() for who, label in one["annotations"].items()}
    frame = found.to_frame().select(pl.col("item").cast(pl.String), "rater", "score")
    assert set(frame.iter_rows()) == expected
    assert len(found) == len(expected)
    about = {str(row["item"]): row for row in found.items.iter_rows(named=True)}
    for item, one in given.items():
        known = {key: value for key, value in (one.get("other_info") or {}).items() if isinstance(value, str)}
        for key, value in {**one["text"], **known, "split": one["split"], "lang": one["lang"]}.items():
            assert about[item][key] == value


def test_annotators_of_lewidi_beside_their_ratings(real_data: Path) -> None:
    folder = real_data / "lewidi2025"
    meta = json.loads((folder / "CSC_annotators_meta.json").read_text())
    with pytest.warns(PlurivoxWarning, match="lacks 32 of the 850 raters"):
        found = pv.read_ratings(folder / "CSC_dev.json", scale="1:6", raters=folder / "CSC_annotators_meta.json")
    for rater, gender in found.raters.select("rater", "Gender").iter_rows():
        told = meta.get(rater, {}).get("Gender")
        if told not in ("DATA_EXPIRED", "CONSENT_REVOKED"):  # which words are not answers is a rule of attributes
            assert gender == (None if told in (None, "nan") else told)
    with pytest.raises(InputError, match="it holds items, not annotators"):
        pv.read_ratings(folder / "CSC_dev.json", scale="1:6", raters=folder / "CSC_test.json")


def item(**annotations: str) -> dict[str, Any]:
    return {"text": "t", "annotation task": "irony", "annotations": annotations, "soft_label": {"0.0": 1.0}}


@pytest.mark.parametrize("key", ["", "Ann"])
def test_annotators_may_be_called_by_their_number(tmp_path: Path, key: str) -> None:
    """MP calls Ann0 "0" where it tells who that is; gender may be nan, and nothing may be told of a rater."""
    (tmp_path / "MP_dev.json").write_text(json.dumps({"5": item(Ann0="0", Ann12="1", Ann3="1")}))
    people = {f"{key}0": {"Gender": "Female", "Age": "31"}, f"{key}12": {"Gender": "nan", "Age": "40"}, f"{key}3": {}}
    (tmp_path / "meta.json").write_text(json.dumps(people).replace("}", ",}").replace("{,", "{"))
    found = pv.read_ratings(tmp_path / "MP_dev.json", raters=tmp_path / "meta.json")
    assert sorted(found.raters.select("rater", "Gender", "Age").rows()) == [
        ("Ann0", "Female", "31"), ("Ann12", None, "40"), ("Ann3", None, None),
    ]  # fmt: skip
    assert found.intake.unknown_raters == 0


def test_groups_that_items_list_are_of_raters(tmp_path: Path) -> None:
    def one(annotators: str, groups: str) -> dict[str, Any]:
        labels = ",".join("01"[at % 2] for at in range(annotators.count(",") + 1))
        return {
            "text": "t", "annotations": labels, "annotators": annotators, "other_info": {"Annotators group": groups},
        }  # fmt: skip

    items = {"1": one("Ann1,Ann2", "Target , Control"), "2": one("Ann2,Ann3", "Control,Target"),
             "3": one("Ann1,Ann3", "Control,Target")}  # fmt: skip
    (tmp_path / "x.json").write_text(json.dumps(items))
    found = pv.read_ratings(tmp_path / "x.json")
    assert sorted(found.raters.rows()) == [("Ann1", "Target"), ("Ann2", "Control"), ("Ann3", "Target")]
    assert found.intake.left_out == {"groups other than a rater's first": 1}


def test_an_object_from_raters_to_items_against_plain_python(real_data: Path, tmp_path: Path) -> None:
    """Its keys may be items as well, so that somebody has to say what they are."""
    file = real_data / "alt_test" / "human_annotations.json"
    with pytest.raises(InputError, match=r"its keys may be items or raters.*--item _key.*--rater _key"):
        pv.read_ratings(file)
    given: dict[str, dict[str, int]] = json.loads(file.read_text())
    found = pv.read_ratings(file, rater="_key", scale="1:5")
    rows = {(what, who, score) for who, own in given.items() for what, score in own.items()}
    assert set(found.to_frame().select("item", "rater", "score").iter_rows()) == rows
    assert len(found) == len(rows)
    assert found.intake.missing_scores == 0
    turned: dict[str, dict[str, int]] = {}
    for what, who, score in rows:
        turned.setdefault(what, {})[who] = score
    (tmp_path / "turned.json").write_text(json.dumps(turned))
    again = pv.read_ratings(tmp_path / "turned.json", item="_key", scale="1:5")
    assert set(again.to_frame().select("item", "rater", "score").iter_rows()) == rows


PARALLEL = [
    {"id": 1, "users": ["a", "b"], "scores": [1, 2], "age": [30, 40], "seconds": [5, 9]},
    {"id": 2, "users": ["b", "a"], "scores": [2, 2], "age": [40, 30], "seconds": [8, 6]},
]


def test_what_is_listed_beside_may_describe_raters(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps(PARALLEL))
    found = pv.read_ratings(tmp_path / "x.json", rater_attributes=["age"])
    assert sorted(found.raters.rows()) == [("a", 30), ("b", 40)]
    assert pv.read_ratings(tmp_path / "x.json", time="seconds").intake.time_unit == "number"
    objects = [{"id": 1, "ratings": [{"worker_id": who, "toxic_score": 1 + (who == "a"), "gender": who * 2}
                                     for who in "ab"]}]  # fmt: skip
    (tmp_path / "y.json").write_text(json.dumps(objects))
    found = pv.read_ratings(tmp_path / "y.json", rater_attributes=["gender"])
    assert sorted(found.raters.rows()) == [("a", "aa"), ("b", "bb")]


def test_names_that_were_given_are_held_to(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps([{**one, "score": 9, "author": "z"} for one in PARALLEL]))
    assert len(pv.read_ratings(path, rater="users", score="scores")) == 4
    with pytest.raises(InputError, match="there is no column 'nobody' for the rater"):
        pv.read_ratings(path, rater="nobody")
    with pytest.raises(InputError, match="cannot tell which column holds the rater"):
        pv.read_ratings(path, score="score")
    with pytest.raises(InputError, match="it does not look like an export of Label Studio"):
        pv.read_ratings(path, format="label-studio")


def test_a_long_table_with_lists_stays_a_long_table(tmp_path: Path) -> None:
    rows = [{"item": at // 2, "rater": "ab"[at % 2], "score": at, "tags": ["x"], "meta": {"a": 1}} for at in range(4)]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    assert pv.read_ratings(tmp_path / "x.json").intake.platform == ""
    rows = [{**row, "labels": ["p", "q"]} for row in rows]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    assert pv.read_ratings(tmp_path / "x.json").intake.platform == ""


@pytest.mark.parametrize(
    ("raters", "labels"),
    [("annotator_ids", "labels"), ("rater_ids", "ratings"), ("users", "scores"), ("workers", "judgments"),
     ("workerIds", "Answers"), ("annotators_ids", "annotator_labels"), ("coders", "stars")],
)  # fmt: skip
def test_names_of_lists(tmp_path: Path, raters: str, labels: str) -> None:
    rows = [{"text_id": "t1", raters: ["a", "b"], labels: [1, 2]}, {"text_id": "t2", raters: ["a"], labels: [2]}]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, rows)))
    found = pv.read_ratings(tmp_path / "x.jsonl")
    assert sorted(found.to_frame().select("item", "rater", "score").rows()) == [
        ("t1", "a", 1), ("t1", "b", 2), ("t2", "a", 2),
    ]  # fmt: skip
    assert named("text_id") is None


def test_ids_of_raters_are_not_quoted(tmp_path: Path) -> None:
    rows = [{"id": "q", "annotators": ["jane@x.org", "joe@x.org"], "labels": [1]}]
    (tmp_path / "x.jsonl").write_text(json.dumps(rows[0]))
    done = run_cli("describe", tmp_path / "x.jsonl")
    assert done.code == 1
    assert "has 2 annotators but 1 labels" in done.err
    assert "x.org" not in done.err


WHO = {"annotators": ["a", "b", "c"], "gender_annotators": ["F", "M", "F"], "age_annotators": ["18-22", "46+", "46+"]}


def test_lists_that_tell_of_annotators_are_not_lists_of_raters(tmp_path: Path) -> None:
    """As in EXIST: several questions, and beside the annotators their gender and age in the same order."""
    tweets = {
        "100": WHO | {"tweet": "t", "labels_task1_1": [1, 0, 1], "labels_task1_2": [2, 3, 2]},
        "101": WHO | {"tweet": "u", "labels_task1_1": [0, 0, 1], "labels_task1_2": [3, 3, 3]},
    }
    (tmp_path / "exist.json").write_text(json.dumps(tweets))
    with pytest.raises(InputError, match="2 questions: labels_task1_1 and labels_task1_2"):
        pv.read_ratings(tmp_path / "exist.json")
    found = pv.read_ratings(
        tmp_path / "exist.json", score="labels_task1_2", rater_attributes=["gender_annotators", "age_annotators"]
    )
    assert sorted(found.to_frame().select("item", "rater", "score").rows()) == [
        (100, "a", 2), (100, "b", 3), (100, "c", 2), (101, "a", 3), (101, "b", 3), (101, "c", 3),
    ]  # fmt: skip
    assert sorted(found.raters.select("rater", "gender_annotators", "age_annotators").rows()) == [
        ("a", "F", "18-22"), ("b", "M", "46+"), ("c", "F", "46+"),
    ]  # fmt: skip
    assert "gender_annotators, age_annotators" in " ".join(found.intake.remarks)


def test_texts_that_tell_of_annotators_are_read_in_their_order(tmp_path: Path) -> None:
    rows = 'id,annotators,annotator_gender,labels\n1,"a,b,c","F,M,F","1,0,1"\n2,"c,b,a","F,M,F","0,0,1"\n'
    (tmp_path / "x.csv").write_text(rows)
    found = pv.read_ratings(tmp_path / "x.csv", rater_attributes=["annotator_gender"])
    assert sorted(found.raters.rows()) == [("a", "F"), ("b", "M"), ("c", "F")]
    assert sorted(found.to_frame().select("item", "rater", "score").rows()) == [
        (1, "a", 1), (1, "b", 0), (1, "c", 1), (2, "a", 1), (2, "b", 0), (2, "c", 0),
    ]  # fmt: skip
