"""Items that deserve more ratings as tasks for annotation platforms."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import ColumnError, InputError
from support import Write, run_cli

RATINGS = """item,rater,score
173,secret-a,0
173,secret-b,4
173,secret-c,2
9,secret-a,1
9,secret-b,1
"=x",secret-a,3
"""
ITEMS = """item,text,topic
173,"Is it ""fine"" & <b>well</b>?\nSecond line é",health
9,Nine,
=x,+1,sport
"""


@pytest.fixture
def files(write: Write) -> tuple[Path, Path]:
    return write("ratings.csv", RATINGS), write("items.csv", ITEMS)


@pytest.fixture
def ratings(files: tuple[Path, Path]) -> pv.Ratings:
    return pv.read_ratings(files[0], scale="0:4", items=files[1])


def lines(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_tasks_are_the_items_that_lack_ratings(ratings: pv.Ratings) -> None:
    found = pv.items(ratings, uncertain=True)
    needed = {row["item"]: row for row in found.uncertain.iter_rows(named=True)}
    listed = found.tasks()
    assert listed.columns == [
        "item", "text", "topic", "n_ratings", "ratings_needed", "ratings_wanted", "information_gain",
    ]  # fmt: skip
    assert listed["item"].to_list() == found.uncertain["item"].to_list()  # six ratings are too few for ± 0.4
    assert dict(listed.select("item", "n_ratings").iter_rows()) == {"173": 3, "9": 2, "=x": 1}
    for item, wanted in listed.select("item", "ratings_wanted").iter_rows():
        assert wanted == needed[item]["ratings_needed"] - needed[item]["n_ratings"] > 0
    assert found.tasks(at_most=2)["item"].to_list() == listed["item"].to_list()[:2]
    assert pv.items(ratings, uncertain=True, precision=4.0).tasks().is_empty()  # the scale is 4 long


def test_label_studio_takes_data_and_meta(ratings: pv.Ratings, tmp_path: Path) -> None:
    found = pv.items(ratings, uncertain=True)
    path = found.write_tasks(tmp_path / "t.json", form="label-studio")
    tasks = json.loads(path.read_text())
    assert {task["data"]["item"] for task in tasks} == {"173", "9", "=x"}
    assert all(task.keys() == {"data", "meta"} for task in tasks)
    one = next(task for task in tasks if task["data"]["item"] == "173")
    assert one["data"] == {"item": "173", "text": 'Is it "fine" & <b>well</b>?\nSecond line é', "topic": "health"}
    assert one["meta"].keys() == {"n_ratings", "ratings_needed", "ratings_wanted", "information_gain"}
    assert one["meta"]["n_ratings"] == 3
    assert "secret" not in path.read_text()


def test_argilla_takes_fields_and_metadata_without_nulls(ratings: pv.Ratings, tmp_path: Path) -> None:
    found = pv.items(ratings, uncertain=True)
    records = {one["id"]: one for one in lines(found.write_tasks(tmp_path / "t.jsonl", form="argilla"))}
    assert records.keys() == {"173", "9", "=x"}
    assert records["9"]["fields"] == {"text": "Nine"}
    assert "topic" not in records["9"]["metadata"]
    assert records["=x"]["metadata"]["topic"] == "sport"
    assert records["=x"]["metadata"]["n_ratings"] == 1
    whole = json.loads(found.write_tasks(tmp_path / "t.json", form="argilla").read_text())
    assert whole == list(records.values())
    both = found.write_tasks(tmp_path / "b.json", form="argilla", text=["text", "topic"])
    assert json.loads(both.read_text())[0]["fields"].keys() == {"text", "topic"}


def test_a_table_is_safe_in_spreadsheets(ratings: pv.Ratings, tmp_path: Path) -> None:
    path = pv.items(ratings, uncertain=True).write_tasks(tmp_path / "t.csv")
    table = pl.read_csv(path)
    assert set(table["item"]) == {"173", "9", "'=x"}
    assert "'=x,+1,sport,1," in path.read_text()
    assert "ratings_wanted" in table.columns


def test_without_texts_a_task_is_an_id(files: tuple[Path, Path], tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    done = run_cli("items", files[0], "--scale", "0:4", "--uncertain", "-o", path, "--as", "argilla")
    assert done.code == 0, done.err
    assert {one["fields"]["item"] for one in json.loads(path.read_text())} == {"173", "9", "=x"}
    assert f"tasks: {path}: 3 tasks; " in done.words
    assert "no column holds the text, so they contain only ids: give a table with it, --items" in done.words
    assert "or name it in the ratings, --item-attributes" in done.words
    assert "Items that deserve more ratings" in done.out


def test_the_command_writes_what_python_does(files: tuple[Path, Path], ratings: pv.Ratings, tmp_path: Path) -> None:
    asked = ("items", files[0], "--items", files[1], "--scale", "0:4", "--uncertain")
    path = tmp_path / "t.json"
    run_cli(*asked, "-o", path, "--as", "label-studio", "--at-most", 2, "--csv", tmp_path / "u.csv")
    same = pv.items(ratings, uncertain=True).write_tasks(tmp_path / "p.json", form="label-studio", at_most=2)
    assert path.read_bytes() == same.read_bytes()
    assert pl.read_csv(tmp_path / "u.csv").height == 3
    done = run_cli(*asked, "-o", path, "--as", "label-studio", "--precision", 4)
    assert json.loads(path.read_text()) == []
    assert "no item needs more ratings for a mean known to ± 4" in done.words


@pytest.mark.parametrize(("more", "code", "told"), [
    (["-o", "t.csv", "--csv", "t.csv"], 2, "-o and --csv name the same file"),
    (["-o", "t.json"], 1, "does not say what kind of tasks it should hold. Add --as label-studio, --as argilla or"),
    (["-o", "t.csv", "--as", "argilla"], 1,
     "cannot write argilla tasks to t.csv. Use a name that ends in .json or .jsonl"),
    (["--as", "csv"], 2, "--as requires -o FILE"), (["--at-most", "3"], 2, "--at-most requires -o FILE"),
    (["-o", "t.json", "--as", "prodigy"], 1, "form is 'prodigy'. Choose one of label-studio, argilla, csv"),
    (["-o", "ratings.csv"], 1, "this file is an input and would be overwritten"),
    (["-o", "t.csv", "--text", "prompt"], 1, "no column 'prompt' describes items"),
])  # fmt: skip
def test_bad_calls(
    files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, more: list[str], code: int, told: str
) -> None:
    monkeypatch.chdir(files[0].parent)
    done = run_cli("items", "ratings.csv", "--scale", "0:4", "--uncertain", *more)
    assert (done.code, done.out) == (code, "")
    assert told in done.words
    assert sorted(one.name for one in files[0].parent.iterdir()) == ["items.csv", "ratings.csv"]


def test_bad_calls_in_python(ratings: pv.Ratings, tmp_path: Path) -> None:
    found = pv.items(ratings, uncertain=True)
    with pytest.raises(ColumnError, match="no column 'prompt'"):
        found.write_tasks(tmp_path / "t.csv", text="prompt")
    with pytest.raises(InputError, match="form is 'x'"):
        found.write_tasks(tmp_path / "t.csv", form="x")  # type: ignore[arg-type]
    assert not list(tmp_path.glob("t.*"))
