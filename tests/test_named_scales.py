"""Scales in words that have a name: offered where they fit, used where they are named."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import ConfigError, ScaleError, ScoreError
from plurivox.domain.scale_files import as_scale
from plurivox.domain.scale_names import NAMED, fold
from support import run_cli

DOCS = Path(__file__).parents[1] / "docs"


def ratings(scores: list[Any], **more: Any) -> pv.Ratings:
    frame = pl.DataFrame({"item": range(len(scores)), "rater": "a", "score": scores}, strict=False)
    return pv.Ratings.from_frame(frame, **more)


@pytest.mark.parametrize("name", sorted(NAMED))
def test_every_scale_is_one_and_no_wording_stands_for_two_points(name: str) -> None:
    known = NAMED[name]
    scale = as_scale(name)
    assert (scale.labels, scale.poles, scale.name) == (known.labels, known.poles, name)
    wordings = [fold(text) for point in known.points for text in point]
    assert len(set(wordings)) == len(wordings)
    for place, point in enumerate(known.points):
        assert {scale.position(text) for text in point} == {place}


def test_the_documentation_lists_every_scale_with_its_points() -> None:
    page = (DOCS / "data.md").read_text()
    for name, known in NAMED.items():
        assert f"| `{name}` | {', '.join(known.labels)} |" in page


@given(st.sampled_from(sorted(NAMED)), st.data())
def test_answers_in_any_case_are_the_same_points(name: str, data: st.DataObject) -> None:
    labels = NAMED[name].labels
    chosen = data.draw(st.lists(st.sampled_from(range(len(labels))), min_size=1, max_size=8))
    change = data.draw(st.sampled_from([str.lower, str.upper, str.title, "  {} ".format]))
    assert ratings([change(labels[at]) for at in chosen], scale=name) == ratings(
        [labels[at] for at in chosen], scale=list(labels)
    )


def test_wordings_of_one_point_are_joined_and_told() -> None:
    found = ratings(["Neutral", "Undecided", "neither agree nor disagree", "AGREE"], scale="likert-agree")
    assert found.scores.tolist() == [2, 2, 2, 3]
    assert "'Neutral'" in found.intake.numbers
    assert found.intake.numbers.endswith("read as one point")
    assert ratings(["agree", "Agree"], scale="likert-agree").intake.numbers == ""
    with pytest.raises(ScoreError, match=r"row 2: 'Somewhat agree' is not a point of the scale Strongly disagree"):
        ratings(["Agree", "Somewhat agree"], scale="likert-agree")


def test_what_is_declared_missing_is_not_a_wording() -> None:
    found = ratings(["neutral", "Agree"], scale="likert-agree", missing=["Neutral"])
    assert (found.scores.tolist(), found.intake.missing_scores) == ([3], 1)


def test_numbers_with_words_are_read_by_their_words() -> None:
    assert ratings(["5 - Strongly agree", "3 - neutral"], scale="likert-agree").scores.tolist() == [4, 2]


@pytest.mark.parametrize(
    ("answers", "offered"),
    [
        (["strongly agree", "Strongly Disagree", "Neutral"], "in 5 points: add --scale likert-agree or likert-agree-s"),
        (["Strongly disagree", "Disagree", "Neutral", "Agree"], "add --scale likert-agree (likert-agree-7 fits, too)"),
        (["Yes", "No"], "This looks like yes or no: add --scale yes-no (no-unsure-yes fits, too)."),
        (["Bad", "Poor", "Good"], "This looks like quality in 5 points: add --scale likert-quality-bad."),
        (["Never", "Often", "Very often"], "add --scale likert-frequency-very-often."),
        (["Agree", "Don't know"], None),
        (["Yes", "yes"], None),  # one answer only
        (["Neutral", "Undecided"], None),  # two wordings of one point
        (["red", "green"], None),
    ],
)  # fmt: skip
def test_a_scale_is_offered_if_all_answers_fit_it(answers: list[str], offered: str | None) -> None:
    with pytest.raises(ScaleError) as caught:
        ratings(answers)
    text = str(caught.value)
    assert ("This looks like" in text) == (offered is not None)
    assert offered is None or offered in text
    assert "the points from lowest to highest, for example --scale No,Unsure,Yes" in text


def test_unknown_names_list_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ScaleError, match=r"no scale called 'likert-agreee'\. .*likert-agree, .*yes-no"):
        as_scale("likert-agreee")
    with pytest.raises(ScaleError, match="the points of 'yes-no' are others"):
        pv.Scale(["a", "b"], name="yes-no")
    (tmp_path / "scale.toml").write_text('labels = "likert"\n')
    with pytest.raises(ConfigError, match=r"scale.toml: there is no scale called 'likert'"):
        as_scale(tmp_path / "scale.toml")


def test_names_in_files_on_the_command_line_and_in_stored_ratings(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,rater,score\n1,a,strongly agree\n2,a,Neutral\n3,a,DISAGREE\n")
    (tmp_path / "scale.toml").write_text('labels = "likert-agree"\nlow = "against"\nhigh = "for"\n')
    by_file = pv.read_ratings(path, scale=tmp_path / "scale.toml")
    assert by_file == pv.read_ratings(path, scale="Likert-Agree")
    assert by_file.scale.poles == ("against", "for")
    assert run_cli("describe", path, "--scale", "likert-agree", "--write-config").code == 0
    assert 'labels = "likert-agree"' in (tmp_path / "plurivox.toml").read_text()
    assert run_cli("describe", path).code == 0  # the config knows the wordings, too
    pv.write_ratings(by_file, tmp_path / "r.parquet")
    assert pv.read_ratings(tmp_path / "r.parquet").scale.name == "likert-agree"
