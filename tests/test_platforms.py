"""What exports of platforms say besides their ratings, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

import plurivox as pv
from exports import mturk, potato, prolific
from exports.record import Case
from plurivox.base.errors import InputError
from support import run_cli


def case(module: ModuleType, name: str) -> Case:
    cases: list[Case] = module.CASES
    return next(one for one in cases if one.name == name)


def test_columns_that_differ_within_an_item_are_named_and_are_not_attributes(tmp_path: Path) -> None:
    ratings = pv.read_ratings(case(mturk, "differing.csv").write(tmp_path))
    assert ratings.items.columns == ["item", "topic"]
    (remark,) = ratings.intake.remarks
    assert "'position' and 'score'" in remark


def test_a_column_that_was_asked_for_must_not_differ(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"column 'Input\.position': it does not describe items"):
        pv.read_ratings(case(mturk, "differing.csv").write(tmp_path), item_attributes=["Input.position"])


def test_what_a_table_of_raters_tells_comes_before_what_they_said(tmp_path: Path) -> None:
    raters = pl.DataFrame({"user_id": ["u1"], "gender": ["man"]})
    ratings = pv.read_ratings(case(potato, "user_state.json").write(tmp_path), raters=raters)
    assert ratings.raters["gender"].to_list() == ["man"]
    assert ratings.raters["race"].to_list() == ["Asian; White"]


def test_both_names_of_a_column_are_known(tmp_path: Path) -> None:
    file = case(mturk, "two-questions.csv").write(tmp_path)
    for score, item in (("safe", "Input.id"), ("Answer.safe", "id")):
        ratings = pv.read_ratings(file, score=score, item=item, scale="No,Yes")
        assert ratings.to_frame()["score"].to_list() == ["No", "Yes"]
        assert ratings.to_frame()["item"].to_list() == ["a", "b"]


def test_columns_of_a_batch_stay_at_hand(tmp_path: Path) -> None:
    file = case(mturk, "ten-in-a-hit.csv").write(tmp_path)
    ratings = pv.read_ratings(file, rater_attributes=["WorkTimeInSeconds"])
    assert ratings.raters["WorkTimeInSeconds"].to_list() == [31, 31]


def test_a_wrong_score_in_a_hit_of_ten_is_found_by_its_row(tmp_path: Path) -> None:
    file = tmp_path / "batch.csv"
    file.write_text(
        mturk.batch(
            ("H1", "W1", "Rejected", mturk.TEN | mturk.RATED),
            ("H1", "W2", "Approved", mturk.TEN | mturk.RATED),
            ("H1", "W3", "Approved", mturk.TEN | mturk.RATED | {"Answer.Content10": "77"}),
        )
    )
    with pytest.raises(InputError, match="row 4: '77' is not a point"):
        pv.read_ratings(file, scale="0:4", rejected="drop")


def test_a_changed_answer_is_told_of(tmp_path: Path) -> None:
    ratings = pv.read_ratings(case(potato, "changed.json").write(tmp_path))
    assert ratings.intake.remarks == ["1 answer to 'severity' was changed; the last choice counts"]


def test_times_of_potato_stay_at_hand(tmp_path: Path) -> None:
    ratings = pv.read_ratings(case(potato, "user_state.json").write(tmp_path), item_attributes=["total_time_ms"])
    assert ratings.items["total_time_ms"].to_list() == [45000, None]


def test_administrative_columns_of_prolific_are_not_attributes(tmp_path: Path) -> None:
    plain = case(prolific, "ratings.csv")
    ratings = pv.read_ratings(plain.write(tmp_path), **plain.arguments(tmp_path))
    assert ratings.raters.columns == [
        "rater", "Fluent languages", "Age", "Sex", "Ethnicity simplified", "Country of birth", "Country of residence",
        "Nationality", "Language", "Student status", "Employment status",
    ]  # fmt: skip
    assert ratings.intake.idle_raters == 1


def test_the_program_asks_about_raters_who_were_not_approved(tmp_path: Path) -> None:
    undecided = case(prolific, "undecided.csv")
    file, raters = undecided.write(tmp_path), undecided.arguments(tmp_path)["raters"]
    asked = run_cli("describe", file, "--raters", raters)
    assert asked.code == 1
    assert "not approved" in asked.words
    assert prolific.B not in asked.words
    done = run_cli("describe", file, "--raters", raters, "--rejected", "drop", "--unfinished", "drop")
    assert done.code == 0, done.err
    assert "ratings by raters of status AWAITING REVIEW (2)" in done.words
    assert "ratings by raters of status RETURNED (1)" in done.words


def test_ratings_given_again_by_dropped_raters_are_counted_and_dropped(tmp_path: Path) -> None:
    file, raters = tmp_path / "ratings.csv", tmp_path / "prolific.csv"
    file.write_text(prolific.RATED + f"{prolific.B},1,2\n")
    people = (prolific.person(prolific.A), prolific.person(prolific.B, "REJECTED"))
    raters.write_text("\n".join([prolific.HEADER, *people]))
    ratings = pv.read_ratings(file, raters=raters, rejected="drop", duplicates="keep")
    assert ratings.intake.left_out == {"ratings by raters of status REJECTED": 3}
    assert ratings.repeats().height == 0
    assert ratings.raters["rater"].to_list() == [prolific.A]


def test_tasks_of_label_studio_that_nobody_annotated_are_counted(tmp_path: Path) -> None:
    def task(number: int, *stars: int) -> dict[str, object]:
        given = [{"from_name": "stars", "type": "rating", "value": {"rating": one}} for one in stars]
        annotations = [{"id": at, "completed_by": at, "result": [one]} for at, one in enumerate(given)]
        return {"id": number, "data": {"text": "t"}, "annotations": annotations}

    (tmp_path / "ls.json").write_text(json.dumps([task(1, 2, 4), task(2), task(3, 1, 1), task(4)]))
    ratings = pv.read_ratings(tmp_path / "ls.json")
    assert len(ratings) == 4
    assert ratings.intake.left_out == {"tasks without an annotation": 2}


@pytest.mark.parametrize("name", ["mood", "Answer.mood"])
def test_answers_about_a_whole_hit_are_known_by_both_names(tmp_path: Path, name: str) -> None:
    file = tmp_path / "b.csv"
    file.write_text(
        "HITId,AssignmentId,WorkerId,Input.text1,Input.text2,Answer.mood,Answer.stars1,Answer.stars2\n"
        "h,1,v,x,y,good,1,2\nh,2,w,x,y,bad,2,1\n"
    )
    found = pv.read_ratings(file, rater_attributes=[name])
    assert found.raters.rows() == [("v", "good"), ("w", "bad")]
    assert sorted(found.to_frame().select("item", "rater", "score").rows()) == [
        ("x", "v", 1), ("x", "w", 2), ("y", "v", 2), ("y", "w", 1),
    ]  # fmt: skip


def test_questions_about_people_are_not_the_example(tmp_path: Path) -> None:
    file = tmp_path / "b.csv"
    file.write_text(
        "HITId,AssignmentId,WorkerId,Input.text,Answer.age,Answer.gender,Answer.stars\nh,1,v,x,30,F,1\nh,2,w,x,40,M,2\n"
    )
    with pytest.raises(InputError, match=r"age, gender and stars. Choose one with --score 'stars'.$"):
        pv.read_ratings(file)
