"""Ratings as soft labels, and predictions, as LeWiDi has them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import InputError
from support import Write, run_cli

RATINGS = """item,rater,score,text,lang,topic
2,Eve,No,second,en,x
2,Bob,Yes,second,en,x
1,Eve,Yes,first,en,x
1,Bob,Yes,first,en,x
1,Zoë,Unsure,first,en,x
1,Dan,Yes,first,en,x
3,Dan,NA,third,en,x
"""
SCALE = "No,Unsure,Yes"
GIVEN = ("--scale", SCALE, "--item-attributes", "text,lang,topic")


@pytest.fixture
def file(write: Write) -> Path:
    return write("ratings.csv", RATINGS)


@pytest.fixture
def ratings(file: Path) -> pv.Ratings:
    return pv.read_ratings(file, scale=SCALE, item_attributes=["text", "lang", "topic"])


def rows(ratings: pv.Ratings) -> list[tuple[Any, ...]]:
    """Return item, rater and score of each rating, by another way than the one that is tested."""
    items, raters = ratings.items["item"].cast(pl.String), ratings.raters["rater"]
    codes = zip(ratings.item_codes, ratings.codes_of_raters, ratings.scores, strict=True)
    return sorted((items[int(i)], raters[int(r)], str(ratings.scale.labels[int(s)])) for i, r, s in codes)


def test_shares_against_fractions_by_hand(ratings: pv.Ratings) -> None:
    found = pv.soft_labels(ratings)
    assert found.columns == ["item", "n_ratings", "No", "Unsure", "Yes"]
    assert found.rows() == [("1", 4, 0.0, 1 / 4, 3 / 4), ("2", 2, 1 / 2, 0.0, 1 / 2)]  # nobody rated item 3


def test_tsv_is_a_submission(ratings: pv.Ratings, tmp_path: Path) -> None:
    path = pv.write_soft_labels(ratings, tmp_path / "x_soft.tsv")
    assert path.read_text() == "1\t[0.0, 0.25, 0.75]\n2\t[0.5, 0.0, 0.5]\n"
    assert pv.read_predictions(path, SCALE).shares.tolist() == [[[0.0, 0.25, 0.75], [0.5, 0.0, 0.5]]]


def test_json_against_an_object_by_hand(ratings: pv.Ratings, tmp_path: Path) -> None:
    path = pv.write_soft_labels(ratings, tmp_path / "x.json", ids=True)
    assert json.loads(path.read_text()) == {
        "1": {
            "text": "first", "lang": "en", "other_info": {"topic": "x"}, "number of annotations": 4,
            "annotations": {"Bob": "Yes", "Dan": "Yes", "Eve": "Yes", "Zoë": "Unsure"}, "annotators": "Bob,Dan,Eve,Zoë",
            "soft_label": {"No": 0.0, "Unsure": 0.25, "Yes": 0.75}, "hard_label": "Yes",
        },
        "2": {
            "text": "second", "lang": "en", "other_info": {"topic": "x"}, "number of annotations": 2,
            "annotations": {"Bob": "Yes", "Eve": "No"}, "annotators": "Bob,Eve",
            "soft_label": {"No": 0.5, "Unsure": 0.0, "Yes": 0.5}, "hard_label": None,
        },
    }  # fmt: skip


def test_json_comes_back_as_the_same_ratings(ratings: pv.Ratings, tmp_path: Path) -> None:
    path = pv.write_soft_labels(ratings, tmp_path / "x.json", ids=True)
    again = pv.read_ratings(path, scale=SCALE, items=path)
    assert rows(again) == rows(ratings)
    assert dict(again.items.select("item", "text").iter_rows()) == {1: "first", 2: "second"}
    predicted = pv.read_predictions(path, SCALE)
    assert predicted.models == ("x",)
    assert predicted.shares.tolist() == [[[0.0, 0.25, 0.75], [0.5, 0.0, 0.5]]]


def test_raters_are_numbered_unless_asked_for(file: Path, ratings: pv.Ratings, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    done = run_cli("soft-labels", file, *GIVEN, "-o", path)
    assert done.out == f"{path}\n"
    assert "2 items on No < Unsure < Yes; 1 item without a rating left out" in done.words
    assert not any(name in path.read_text() for name in ("Eve", "Bob", "Zoë", "Dan"))
    assert json.loads(path.read_text())["1"]["annotators"] == "Ann1,Ann2,Ann3,Ann4"
    again = pv.read_ratings(path, scale=SCALE)
    assert [(item, score) for item, _, score in sorted(rows(again))] == [(item, s) for item, _, s in rows(ratings)]
    run_cli("soft-labels", file, *GIVEN, "-o", path, "--ids")
    assert json.loads(path.read_text())["2"]["annotators"] == "Bob,Eve"


def grouped(write: Write) -> Path:
    """Return six women and five men on item a, four women and six men on b, and one woman on c."""
    lines = ["item,rater,score,gender"]
    for item, women, men in (("a", 6, 5), ("b", 4, 6), ("c", 1, 0)):
        lines += [f"{item},w{n},{1 if n < 3 else 0},Woman" for n in range(women)]
        lines += [f"{item},m{n},1,Man" for n in range(men)]
    return write("groups.csv", "\n".join(lines) + "\n")


def test_groups_are_told_where_enough_of_them_rated(write: Write, tmp_path: Path) -> None:
    file = grouped(write)
    ratings = pv.read_ratings(file, scale="0:1", rater_attributes=["gender"])
    found = pv.soft_labels(ratings, "gender")
    assert found.rows() == [
        ("a", "all", "all", 11, 3 / 11, 8 / 11), ("a", "gender", "Man", 5, 0.0, 1.0),
        ("a", "gender", "Woman", 6, 1 / 2, 1 / 2), ("b", "all", "all", 10, 1 / 10, 9 / 10),
        ("c", "all", "all", 1, 0.0, 1.0),
    ]  # fmt: skip
    done = run_cli("soft-labels", file, "--scale", "0:1", "--rater-attributes", "gender", "--by", "gender")
    assert done.frame().select("item", "axis", "group").rows() == found.select("item", "axis", "group").rows()
    assert "withheld 3 labels of groups with fewer than 5 raters of an item, or that would reveal one" in done.words
    path = pv.write_soft_labels(ratings, tmp_path / "g.json", "gender")
    written = json.loads(path.read_text())
    assert written["a"]["soft_label_by"]["gender"]["Woman"] == {"0": 0.5, "1": 0.5}
    assert "soft_label_by" not in written["b"]
    everything = pv.soft_labels(ratings, "gender", min_group_size=1)
    assert everything.filter(axis="gender").height == 5


def test_totals_have_labels_and_no_annotations(write: Write, tmp_path: Path) -> None:
    file = write("totals.csv", "item,0,1\na,3,1\n")
    ratings = pv.read_ratings(file, layout="totals", scale="0:1")
    one = json.loads(pv.write_soft_labels(ratings, tmp_path / "t.json").read_text())["a"]
    assert one == {"number of annotations": 4, "soft_label": {"0": 0.75, "1": 0.25}, "hard_label": "0"}
    assert pv.read_predictions(tmp_path / "t.json", "0:1").shares.tolist() == [[[0.75, 0.25]]]


def test_predictions_as_json_come_back(tmp_path: Path) -> None:
    frame = pl.DataFrame({"item": ["b", "a"], "0": [0.1, 1 / 3], "1": [0.9, 2 / 3]})
    predictions = pv.Predictions.from_frame(frame, "0:1", name="m")
    path = predictions.write_submission(tmp_path / "m.json", items=["b", "a"])
    assert json.loads(path.read_text()) == {
        "b": {"soft_label": {"0": 0.1, "1": 0.9}}, "a": {"soft_label": {"0": 1 / 3, "1": 2 / 3}}
    }  # fmt: skip
    again = pv.read_predictions(path, "0:1")
    assert again.models == ("m",)
    assert np.array_equal(again.shares, predictions.shares)


@pytest.mark.parametrize(("more", "code", "told"), [
    (["-o", "x.txt"], 1, "cannot write soft labels to x.txt. Use a name that ends in .json, .csv, .parquet, .jsonl, "),
    (["-o", "x.tsv"], 1, "cannot write soft labels to x.tsv"),
    (["-o", "x_soft.tsv", "--by", "gender"], 1, "x_soft.tsv: a LeWiDi submission cannot hold groups. Write .json or"),
    (["-o", "x.csv", "--ids"], 2, "--ids requires -o FILE.json"),
    (["-o", "groups.csv"], 1, "this file is an input and would be overwritten"),
    (["--by", "colour"], 1, "raters have no attribute 'colour'"),
])  # fmt: skip
def test_bad_calls(write: Write, monkeypatch: pytest.MonkeyPatch, more: list[str], code: int, told: str) -> None:
    file = grouped(write)
    monkeypatch.chdir(file.parent)
    done = run_cli("soft-labels", "groups.csv", "--scale", "0:1", "--rater-attributes", "gender", *more)
    assert (done.code, done.out) == (code, "")
    assert told in done.words
    assert [one.name for one in file.parent.iterdir()] == ["groups.csv"]


def test_rounded_soft_labels_are_told(tmp_path: Path) -> None:
    path = tmp_path / "m.json"
    path.write_text('{"1": {"soft_label": {"0": 0.33, "1": 0.66}}}')
    with pytest.raises(InputError, match=r"m\.json.* the probabilities sum to 0\.99, not to 1"):
        pv.read_predictions(path, "0:1")


def test_too_few_selected_raters_are_refused(write: Write, tmp_path: Path) -> None:
    file = write(
        "few.csv", "item,rater,score,gender\n" + "".join(f"a,r{n},{n % 2},{'x' if n else 'y'}\n" for n in range(4))
    )
    given = ("soft-labels", file, "--scale", "0:1", "--rater-attributes", "gender", "--where", "gender=x")
    done = run_cli(*given, "-o", tmp_path / "x.json")
    assert (done.code, done.out) == (1, "")
    assert "3 raters are left after selecting, fewer than the 5 that a group must have to be shown" in done.words
    assert not (tmp_path / "x.json").exists()
