"""Tables of respondents × questions, against what was written into them by hand."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import plurivox as pv
from exports.qualtrics import R1, R2, export, response
from plurivox.base.errors import ColumnError, InputError, ScaleError
from plurivox.read.formats import sheets
from plurivox.read.respondents import tells_of_people
from support import run_cli

Write = Callable[[str, str], Path]
PEOPLE = "respondent,Q1,Q2,age\na,1,2,20\nb,2,1,30\n"


def message(path: Path, **given: object) -> str:
    with pytest.raises(InputError) as raised:
        pv.read_ratings(path, **given)  # type: ignore[arg-type]
    return str(raised.value).replace(f"{path.parent}/", "")


@pytest.mark.parametrize(("text", "expected"), [
    ("What is your gender?", True), ("What is your gender identity?", True), ("Gender", True), ("AGE", True),
    ("How old are you?", True), ("What is your highest level of education?", True), ("Age (in years)", True),
    ("In which country do you live?", True), ("Which gender do you identify with?", True),
    ("Please indicate your age", True), ("What is your political orientation?", True),
    ("What is your view of gender quotas?", False), ("How offensive is this to people of your religion?", False),
    ("Does it mention the age of the speaker?", False), ("Should race matter in hiring?", False),
    ("How harmful is it?", False), ("Sexton", False), ("r1", False), ("Is this text about education?", False),
])  # fmt: skip
def test_texts_that_ask_who_somebody_is(text: str, expected: bool) -> None:
    assert tells_of_people(text) is expected


def test_what_is_left_aside_is_said(write: Write) -> None:
    path = write("s.csv", "Timestamp,id,Q1,Q2,comments,age\n2024-01-01,a,1,2,so so,20\n2024-01-02,b,2,1,,30\n")
    ratings = pv.read_ratings(path)
    assert ratings.intake.layout == "survey"
    assert ratings.intake.remarks == ["columns that describe raters: age", "2 columns not used: Timestamp, comments"]
    unnamed = pv.read_ratings(write("t.csv", "Q1,Q2\n1,2\n2,1\n"))
    assert unnamed.intake.remarks == ["there is no column of respondents, so each row counts as one rater"]
    assert unnamed.raters["rater"].to_list() == [2, 3]  # the header is row 1


@pytest.mark.parametrize(("name", "text", "options"), [
    ("s.csv", PEOPLE, ""),
    ("s.csv", "Q1,Q2\n1,2\n2,1\n", ""),  # no column of respondents
    ("s.csv", PEOPLE, "--questions Q2,age --scale 1:40"),
    ("q.csv", export(R1, R2, response("R_3", "3", "", "", "Man", "", finished="False")), "--unfinished drop"),
    ("g.csv", "Timestamp,Age,Safe? [a],Safe? [b]\n1/2/2024 1:00:00,9,1,2\n1/2/2024 2:00:00,10,2,1\n", ""),
])  # fmt: skip
def test_a_written_config_reads_the_same(write: Write, name: str, text: str, options: str) -> None:
    path = write(name, text)
    first = run_cli("describe", path, "--json", "--write-config", *shlex.split(options))
    assert first.code == 0, first.err
    again = run_cli("describe", path, "--json")
    assert again.code == 0, again.err
    inferred = {"scale_inferred": False, "notes": []}  # the config says what was inferred
    assert {**first.json(), **inferred} == {**again.json(), **inferred}


def test_stored_ratings_remember_that_they_were_a_survey(write: Write, tmp_path: Path) -> None:
    ratings = pv.read_ratings(write("s.csv", PEOPLE), questions="Q1:Q2")
    pv.write_ratings(ratings, tmp_path / "s.parquet")
    again = pv.read_ratings(tmp_path / "s.parquet")
    assert (
        again.intake.layout, again.intake.platform, again.intake.said,
    ) == ("survey", "survey", {"questions": "Q1:Q2"})  # fmt: skip


def test_pieces_do_not_change_what_is_read(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers of 7 respondents to 3 questions, read two respondents at a time; rows are still those of the file."""
    rows = [(f"p{n}", n % 3, (n + 1) % 3, (n + 2) % 3, "mw"[n % 2]) for n in range(7)]
    text = "\n".join(",".join(map(str, row)) for row in [("who", "Q1", "Q2", "Q3", "gender"), *rows])
    path = write("s.csv", f"{text}\n")
    whole = pv.read_ratings(path)
    monkeypatch.setattr(sheets, "_SLICE", 6)
    parts = pv.read_ratings(path)
    assert parts == whole
    assert sorted(parts.to_frame().select("item", "rater", "score").iter_rows()) == sorted(
        (f"Q{at}", row[0], row[at]) for row in rows for at in (1, 2, 3)
    )
    assert "row 6, column Q2" in message(write("o.csv", text.replace("p4,1,2", "p4,1,9") + "\n"), scale="0:2")


def test_parquet_with_numbers(tmp_path: Path) -> None:
    frame = pl.DataFrame({"pid": [7.0, 8.0], "Q1": [1, None], "Q2": [2.0, 1.0], "age": [20, 30]})
    frame.write_parquet(tmp_path / "s.parquet")
    ratings = pv.read_ratings(tmp_path / "s.parquet", questions="Q1:Q2", rater="pid")
    assert sorted(ratings.to_frame().select("item", "rater", "score").iter_rows()) == [
        ("Q1", 7, 1), ("Q2", 7, 2), ("Q2", 8, 1),
    ]  # fmt: skip
    assert ratings.raters["age"].to_list() == [20, 30]


def test_questions_that_share_no_scale_are_listed(write: Write) -> None:
    rows = [f"p{n},{n % 5 + 1},{n % 4 + 1},{n % 2},{n * 9 % 101},{'Yes' if n % 2 else 'No'}" for n in range(20)]
    path = write("s.csv", "\n".join(["who,Q1,Q2,Q3,Q4,Q5", *rows]) + "\n")
    text = message(path)
    assert "the questions are not on one scale: 1 to 5 (Q1, Q2); 0 to 99 (Q4); " in text
    assert "0 to 1 (Q3)" in text
    assert "No, Yes (Q5)" in text
    assert "--questions 'Q1,Q2'" in text
    assert pv.read_ratings(path, questions="Q1:Q2").scale.labels == (1, 2, 3, 4, 5)
    assert pv.read_ratings(path, scale="No,Yes").items["item"].to_list() == ["Q5"]


def test_points_that_nobody_used_do_not_make_another_scale(write: Write) -> None:
    rows = [f"p{n},{n % 5 + 1},{n % 2 + 1},3,{n % 7 + 1}" for n in range(40)]
    path = write("s.csv", "\n".join(["who,Q1,Q2,Q3,Q4", *rows]) + "\n")
    assert len(pv.read_ratings(path).items) == 4


def test_where_questions_do_not_belong(write: Write) -> None:
    path = write("s.csv", PEOPLE)
    assert message(path, questions="Q1,Q2", layout="wide") == (
        "s.csv: --questions needs a table with one row per respondent, but it is read as a plain table. Leave out "
        "--questions, or use --format survey without --wide, --totals and --one-hot."
    )
    assert "there is no column 'Q7' for --questions; it has Q1, Q2, age" in message(path, questions="Q1,Q7")
    assert "there is no column 'X*' for --questions" in message(path, questions="X*")
    assert "'Q1' is named twice" in message(path, questions="Q1,Q*")
    assert "there is no column 'nobody' for the rater" in message(path, rater="nobody", questions="Q1:Q2")
    assert "--questions 'Q1'" in message(path, score="Q1")
    assert "--questions 'Q1'" in message(write("q.csv", export(R1, R2)), score="Q1")


@pytest.mark.parametrize("text", [
    "worker,trial,Q1,Q2,age\na,1,1,2,20\na,2,2,1,20\n",  # raters are repeated: not a row for each
    "trial,harm,bias,gender\n1,1,2,m\n1,2,1,w\n2,2,2,m\n",  # nobody is named, and nothing is named like questions
    "text_id,Q1,Q2\nx,1,2\ny,2,1\n",  # rows are named like items
])  # fmt: skip
def test_what_may_be_something_else_is_not_read_as_a_survey(write: Write, text: str) -> None:
    with pytest.raises(ColumnError, match="--questions"):
        pv.read_ratings(write("s.csv", text))


def test_naming_what_columns_are_settles_it(write: Write) -> None:
    path = write("s.csv", "name_of_row,calm,happy,note\nx,1,2,hello there\ny,2,1,well\nz,1,1,so\n")
    assert "--questions 'calm,happy'; if rows are items" in message(path)
    assert pv.read_ratings(path, item_attributes=["note"]).intake.layout == "wide"
    told = pv.read_ratings(path, rater_attributes=["note"])
    assert told.intake.layout == "survey"
    assert told.raters.columns == ["rater", "note"]
    assert pv.read_ratings(path, questions="calm,happy").intake.layout == "survey"


def test_a_scale_in_words_needs_an_order(write: Write) -> None:
    path = write("s.csv", "id,Q1,Q2,gender\na,Agree,Disagree,Man\nb,Disagree,Agree,Woman\n")
    with pytest.raises(ScaleError, match="--scale"):
        pv.read_ratings(path)
    ratings = pv.read_ratings(path, scale="Disagree,Agree")
    assert ratings.raters.columns == ["rater", "gender"]
    assert len(ratings) == 4


@pytest.mark.parametrize(
    "header",
    ["respondent,Q1,Q2,age", "Timestamp,How safe? [a],How safe? [b]", export().rstrip(), "a,b,c,d"],
)
def test_a_table_without_a_row_is_said_to_be_one(write: Write, header: str) -> None:
    """Whatever its columns would have been taken for."""
    assert message(write("s.csv", header + "\n")).startswith("s.csv: there are no ratings, only a header.")


def test_an_attribute_that_is_asked_for_by_a_part_of_its_name(write: Write) -> None:
    form = "Timestamp,How safe? [a],How safe? [b],What is your gender?\n" + "2024-01-01,1,2,F\n2024-01-02,2,1,M\n" * 5
    path = write("form.csv", form)
    assert run_cli("cohesion", path, "--by", "gender").err.endswith(
        "raters have no attribute 'gender'; they have: What is your gender?. Name it in full: 'What is your gender?'.\n"
    )
    plain = write("plain.csv", "item,rater,score\n1,a,1\n1,b,2\n")
    assert run_cli("cohesion", plain, "--by", "gender").err.endswith(
        "raters have no attribute 'gender', nor any other. "
        "Give a table of raters with --raters, or name a column of the ratings.\n"
    )


def test_what_qualtrics_calls_by_a_number_is_told_with_its_text(write: Write) -> None:
    ratings = pv.read_ratings(write("q.csv", export(R1, R2)))
    assert "columns that describe raters: Q3 (What is your gender?)" in ratings.intake.remarks


def test_a_scale_is_offered_beside_answers_that_are_not_points(write: Write) -> None:
    path = write("s.csv", "id,Q1,Q2\na,Never,Always\nb,Prefer not to say,Often\nc,I don't know,Never\n")
    offered = """add --scale likert-frequency --missing "I don't know" --missing "Prefer not to say"."""
    assert offered in message(path)
    scale, *missing = shlex.split(offered.rstrip(".").partition("--scale ")[2].replace("--missing ", ""))
    assert len(pv.read_ratings(path, scale=scale, missing=missing)) == 4
