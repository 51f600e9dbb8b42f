"""What exports are good for besides ratings, against what was written into them by hand."""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import random
import tempfile
import warnings
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plurivox as pv
from exports import argilla, doccano, label_studio
from exports.record import lines
from plurivox.base.errors import IdError, InputError, PlurivoxError, PlurivoxWarning
from plurivox.domain.raw import MEMBER, RawTable
from plurivox.read.formats import ratings_of
from plurivox.read.formats.record import as_json
from plurivox.read.settings import ReadSettings
from support import Write, ran, run_cli, some
from test_formats import damaged

POINTS = range(1, 6)


def told(answers: pv.Answers) -> list[tuple[str, str, object]]:
    """Return item, model and point of each answer."""
    labels = [None if point < 0 else answers.scale.labels[point] for point in answers.point.tolist()]
    items = answers.items.gather(answers.item).to_list()
    return sorted(zip(items, (answers.voices[at].model for at in answers.voice), labels, strict=True))


def test_the_question_that_models_answered_is_that_of_the_ratings_or_the_one_named(write: Write) -> None:
    both = [label_studio.rated("severity", 3), label_studio.rated("harm", 5)]
    people = [label_studio.annotation(7, 1, *both)]
    path = write("two.json", json.dumps([
        label_studio.task(1, "173", *people, predictions=[label_studio.predicted("m0", *both)]),
    ]))  # fmt: skip
    with pytest.raises(InputError, match="2 questions: severity and harm"):
        pv.read_answers(path, POINTS)
    assert told(pv.read_answers(path, POINTS, answer="harm")) == [("173", "m0", 5)]
    like = pv.read_ratings(path, score="harm", scale=POINTS)
    assert told(pv.read_answers(path, POINTS, like=like)) == [("173", "m0", 5)]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("tasks.json", label_studio.PREDICTIONS, [("173", "m0", 3), ("174", "m0", 1)]),
        ("sugg.jsonl", argilla.SUGGESTIONS, [("173", "m0", 3), ("175", "m0", 2)]),
        ("sugg.json", json.dumps(argilla.DRAFTS), [("173", "m0", 3), ("175", "m0", 2)]),
        ("sugg.csv", argilla.table(argilla.DRAFTS), [("173", "m0", 3), ("175", "m0", 2)]),
        ("sugg.parquet", argilla.parquet(argilla.DRAFTS), [("173", "m0", 3), ("175", "m0", 2)]),
        ("nested.json", json.dumps(argilla.NESTED), [("173", "m0", 3), ("174", "m1", 1)]),
    ],
    ids=lambda one: one if isinstance(one, str) and len(one) < 20 else "",
)
def test_predictions_and_suggestions_are_answers_of_models(
    name: str, content: str | bytes, expected: list[tuple[str, str, int]], write: Write
) -> None:
    path = write(name, content)
    assert told(pv.read_answers(path, POINTS)) == expected
    if name == "tasks.json":
        ratings = pv.read_ratings(path, item="id", scale=POINTS)
        assert told(pv.read_answers(path, POINTS, like=ratings)) == [("1", "m0", 3), ("2", "m0", 1)]
        done = ran("align", path, path, "--scale", "1:5")  # models and people of one file
        assert "2 answers of m0" in done.words
        assert "predictions (3)" in done.words
        ran("describe", path, "--write-config")
        again = ran("describe", path)  # by what the written config says
        assert "as " in again.err
        assert "plurivox.toml says" in again.words
        items = write("items.csv", "item,text\n173,mine\n174,too\n")  # comes before what an export offers
        assert pv.read_ratings(path, items=items).items["text"].to_list() == ["mine", "too"]


@pytest.mark.parametrize(
    ("name", "content", "error"),
    [
        ("min.json", str(next(case for case in label_studio.CASES if case.name == "min.json").content),
         r"min\.json: it contains no predictions\. Export JSON"),
        ("log.json", '{"samples": []}', "log"),  # a JSON object is still a log of Inspect
    ],
    ids=["min", "log"],
)  # fmt: skip
def test_forms_without_predictions_say_so(name: str, content: str, error: str, write: Write) -> None:
    with pytest.raises(InputError, match=error):
        pv.read_answers(write(name, content), POINTS)
    path = write("r.csv", "data,annotations,rater\na,1,x\na,2,y\nb,1,x\n")  # has only names of such columns
    ratings = pv.read_ratings(path, item="data", score="annotations")
    assert (len(ratings), ratings.intake.platform) == (3, "")


@settings(max_examples=60)
@given(st.sampled_from(["tasks.json", "sugg.jsonl", "nested.json"]), st.integers(0, 2**32 - 1))
def test_damage_gives_answers_or_one_clear_line(name: str, seed: int) -> None:
    content = {
        "tasks.json": label_studio.PREDICTIONS, "sugg.jsonl": argilla.SUGGESTIONS,
        "nested.json": json.dumps(argilla.NESTED),
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings(), contextlib.suppress(PlurivoxError):
        path = Path(folder) / name
        path.write_bytes(damaged(content[name].encode(), random.Random(seed)))
        warnings.simplefilter("ignore", PlurivoxWarning)
        pv.read_answers(path, POINTS)


def study(seconds: dict[int, float]) -> str:
    """Return 24 tasks, and raters who took so many seconds for each."""
    return json.dumps([
        label_studio.task(number, f"i{number}", *(
            label_studio.annotation(
                100 * number + who, who, label_studio.rated("severity", 1 + (number * who) % 5),
                lead_time=took + 0.01 * number, created_at=f"2022-10-{number:02d}T12:00:{who:02d}Z",
            )
            for who, took in seconds.items()
        ))
        for number in range(1, 25)
    ])  # fmt: skip


def test_times_and_seconds_of_an_export_are_read_again(write: Write) -> None:
    """One of ten raters takes half a second where the others take twenty."""
    seconds = {who: 20.0 + who for who in range(1, 10)} | {10: 0.5}
    path = write("tasks.json", study(seconds))
    raters = write("raters.csv", "annotator,team\n" + "".join(f"{who},{'ab'[who % 2]}\n" for who in seconds))
    done = run_cli("select", path, "--raters", raters, "--seconds", "lead_time", "--time", "created_at", "--ids")
    assert done.code == 0, done.err
    assert "1 rater is worth a look for too fast (1)" in done.words
    ratings = pv.read_ratings(path, time="created_at")
    assert ratings.intake.time_unit == "days"


def test_a_table_with_the_dates_of_annotations_is_read_as_an_export(tmp_path: Path) -> None:
    days = [dt.datetime(2022, 1, day, tzinfo=dt.UTC) for day in (1, 2)]
    frame = pl.DataFrame({
        "annotation_id": [7, 8], "annotator": [1, 2], "created_at": days, "id": [1, 1], "lead_time": [7.5, 2.5],
        "severity": [[{"rating": 4}], [{"rating": 2}]],
    })  # fmt: skip
    frame.write_parquet(tmp_path / "min.parquet")
    ratings = pv.read_ratings(tmp_path / "min.parquet", time="created_at")
    assert ratings.to_frame().select("item", "rater", "score").rows() == [(1, 1, 4), (1, 2, 2)]
    assert ratings.intake.time_unit == "days"


def members(files: dict[str, str]) -> RawTable:
    """Return the table that files in an archive make together."""
    rows = [{MEMBER: name, **json.loads(line)} for name, text in files.items() for line in text.splitlines()]
    texts = [{key: one if isinstance(one, str) else json.dumps(one) for key, one in row.items()} for row in rows]
    return RawTable("project.zip", list(texts[0]), iter([pl.DataFrame(texts)]), text=True)


@pytest.mark.parametrize("asked", [ReadSettings(), ReadSettings(rater="annotator")])
def test_raters_of_doccano_are_the_names_of_files(asked: ReadSettings) -> None:
    taken = ratings_of(members(doccano.MEMBER_FILES), None, asked)
    assert taken is not None
    assert taken.platform.name == "doccano"
    frame = taken.export.table.frame().drop_nulls("label")
    assert sorted(frame.select("id", taken.export.rater, "label").rows()) == sorted(doccano.RATINGS)
    assert taken.export.item_attributes == ("text", "topic")
    shared = ratings_of(members({"all": doccano.ALICE}), None, asked)  # a shared project has no raters
    with pytest.raises(IdError, match="raters are missing"):
        some(shared).export.table.frame()
    spans = lines({"id": 1, "text": "ab", "label": [[0, 1, "PER"]], "Comments": []})
    assert ratings_of(members({"alice": spans}), None, asked) is None  # spans are not ratings


@given(
    st.lists(
        st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(allow_nan=False, allow_infinity=False)
        | st.text() | st.lists(st.text(), max_size=2)
    )
)  # fmt: skip
def test_lists_as_python_writes_them_are_read_as_python_reads_them(values: list[object]) -> None:
    assert json.loads(as_json(repr(values))) == values


@pytest.mark.parametrize("asked", [{}, {"scale": "1:3"}])
def test_several_points_at_once_are_an_error_with_a_way_out(asked: dict[str, Any], write: Write) -> None:
    path = write("r.csv", 'item,rater,score\na,1,1\na,2,3\nb,1,"several: 1, 2"\n')
    with pytest.raises(InputError, match=r"row 4: 'several: 1, 2' is not a point .*--missing several"):
        pv.read_ratings(path, **asked)
    ratings = pv.read_ratings(path, missing=["several"], **asked)
    assert (len(ratings), ratings.intake.missing_scores) == (2, 1)
