from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import InputError, ScaleError
from plurivox.config import config_text, load_config
from plurivox.domain.scale import Scale, infer_scale
from support import run_cli


@pytest.mark.parametrize("answer", [3, 3.0, "3", " 3 ", "3.0", "3.", "+3", "3e0", np.int8(3), np.float32(3)])
def test_a_point_has_many_spellings(answer: object) -> None:
    assert Scale.range(1, 5).position(answer) == 2


@pytest.mark.parametrize("answer", ["", "  ", "NA", "na", "N/A", "NaN", "nan", "null", None, float("nan")])
def test_missing_is_recognised(answer: object) -> None:
    assert Scale.range(1, 5).position(answer) == -1


def test_labels_come_before_missing_and_in_the_order_given() -> None:
    assert Scale(["NA", "some", "all"]).position("NA") == 0
    assert Scale(["No", "Unsure", "Yes"]).position("Unsure") == 1
    assert Scale(["No", "Yes"], missing=["Unsure"]).position("Unsure") == -1
    with pytest.raises(ScaleError, match="'Unsure' is not a point of the scale No < Yes"):
        Scale(["No", "Yes"]).position("Unsure")
    assert [Scale(["bad", "average", "good"]).position(x) for x in ("average", "bad", "good")] == [1, 0, 2]
    assert [Scale([False, True]).position(x) for x in (True, "true", "TRUE", "False")] == [1, 1, 1, 0]
    assert Scale([1, 2, 4]).values == (1.0, 2.0, 4.0)
    assert Scale(["low", "mid", "high"]).values == (0.0, 1.0, 2.0)
    assert Scale(["low", "mid", "high"], values=[0, 1, 10]).values == (0.0, 1.0, 10.0)


@pytest.mark.parametrize(("text", "labels"), [
    ("0:4", (0, 1, 2, 3, 4)), ("-1:1", (-1, 0, 1)), ("0.5:2:0.5", (0.5, 1, 1.5, 2)), ("0:0.3:0.1", (0, 0.1, 0.2, 0.3)),
    ("No,Unsure, Yes", ("No", "Unsure", "Yes")), ("1,2,5", (1, 2, 5)),
])  # fmt: skip
def test_parse(text: str, labels: tuple[object, ...]) -> None:
    assert Scale.parse(text).labels == labels


@pytest.mark.parametrize(("text", "message"), [
    ("4:0", "has no points"), ("0:4:0", "has no points"), ("0:1:0.3", "does not end on a step"),
    ("a:b", "is not a range"), ("1:2:3:4", "is not a range"), ("only", "at least two points, this one has 1"),
    ("0:40000", "40,001 points, but at most 32,767"), ("5,3,1", "do not increase"), ("3,3.0", "'3' is listed twice"),
])  # fmt: skip
def test_unusable_scales_say_why(text: str, message: str) -> None:
    with pytest.raises(ScaleError, match=message):
        Scale.parse(text)


@pytest.mark.parametrize(("labels", "options", "message"), [
    ([], {}, "a scale needs at least two points"), (range(32_768), {}, "32,768 points, but at most 32,767"),
    (["No", "Yes"], {"missing": ["Yes"]}, "both as a point and as missing"),
    ([0.0, float("inf")], {}, "inf cannot be a point"), (["a", "b"], {"values": [1, 2, 3]}, "2 points have 3 values"),
    (["a", "b"], {"values": [1, float("nan")]}, "do not increase"),
])  # fmt: skip
def test_more_unusable_scales(labels: Any, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ScaleError, match=message):
        Scale(labels, **options)


def test_the_largest_scale_works() -> None:
    scale = Scale(range(32_767))
    assert scale.position("32766") == 32_766
    assert scale.dtype is np.int16
    assert Scale.range(0, 255).dtype is np.uint8
    assert Scale.range(0, 256).dtype is np.int16


def test_infer_spans_whole_numbers() -> None:
    assert infer_scale(["4", "1", "", "NA"]).labels == (1, 2, 3, 4)
    assert infer_scale([-2.0, 3]).labels == (-2, -1, 0, 1, 2, 3)


@pytest.mark.parametrize(("answers", "message"), [
    (["No", "Yes"], "text has no order of its own; found, in no order, 'No', 'Yes'.*--scale No,Unsure,Yes"),
    (["1", "1.5"], r"not whole numbers, such as 1.5. Give the scale, for example --scale 1:1.5:0.5"),
    (["3", "3"], "every score is 3"), (["", "NA"], "every one is missing"), (["1", "99999"], "too far apart"),
])  # fmt: skip
def test_infer_refuses_to_guess(answers: list[str], message: str) -> None:
    with pytest.raises(ScaleError, match=message):
        infer_scale(answers)


@given(
    st.lists(st.text(min_size=1, max_size=5), min_size=2, max_size=20, unique_by=lambda s: s.strip()),
    st.lists(st.text(max_size=3), max_size=3),
)
def test_round_trip_through_plain_data(labels: list[str], missing: list[str]) -> None:
    try:
        scale = Scale(labels, missing=missing)
    except ScaleError:  # "1" and "01" are one point; a label may also be listed as missing
        return
    assert Scale.from_dict(scale.to_dict()) == scale
    assert [scale.position(label) for label in labels] == list(range(len(labels)))


def test_equality_and_text() -> None:
    assert Scale.range(0, 4) == Scale([0, 1, 2, 3, 4])
    assert Scale.range(0, 4) != Scale.range(0, 5)
    assert str(Scale(["No", "Yes"])) == "No < Yes"
    assert str(Scale.range(0, 100)) == "0 < 1 < … < 100 (101 points)"


FRAME = pl.DataFrame({"item": [1, 1, 2], "rater": ["a", "b", "a"], "score": [1, 5, 3]})
FORMS = ["1:5", "1,2,3,4,5", [1, 2, 3, 4, 5], (1, 2, 3, 4, 5), range(1, 6), Scale.range(1, 5), "five.toml"]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_function_takes_every_form_of_a_scale(form: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("five.toml").write_text('labels = "1:5"')
    Path("ratings.csv").write_text(FRAME.write_csv())
    wanted = Scale.range(1, 5)
    assert pv.Ratings.from_frame(FRAME, scale=form).scale == wanted
    assert pv.read_ratings("ratings.csv", scale=form).scale == wanted
    predicted = pl.DataFrame({"item": [1], **{str(point): [0.2] for point in range(1, 6)}})
    assert pv.Predictions.from_frame(predicted, form).scale == wanted
    assert pv.Answers.from_frame(pl.DataFrame({"item": [1], "answer": [4]}), form).scale == wanted
    assert pv.simulate(n_items=5, n_raters=3, scale=form, predictors=()).ratings.scale == wanted


@pytest.mark.parametrize(
    "wrong", [5, 0.5, {"a": 1, "b": 2}, "5:1", "0:4:3", "1:x", "3", ["a"], ["a", "a"], "nowhere.toml"]
)
def test_a_wrong_scale_is_told_of_a_frame_as_on_the_command_line(wrong: Any, tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(FRAME.write_csv())
    with pytest.raises(InputError) as of_frame:
        pv.Ratings.from_frame(FRAME, scale=wrong)
    if isinstance(wrong, str):
        found = run_cli("describe", path, "--scale", wrong)
        assert found.code == 1
        assert str(of_frame.value) in found.err
    if not isinstance(wrong, str | list):
        assert isinstance(of_frame.value, ScaleError)
        assert "scale is " in str(of_frame.value)
        assert ". Give text such as '0:4'" in str(of_frame.value)


def test_poles_have_names_or_none() -> None:
    assert Scale.range(0, 4).poles is None
    named = Scale(["a", "b"], poles=("safe", "unsafe"))
    assert named.poles == ("safe", "unsafe")
    assert Scale.range(0, 4).with_poles("mild , severe").poles == ("mild", "severe")
    assert named == Scale(["a", "b"])  # the same answers are the same points
    assert Scale.from_dict(named.to_dict()).poles == named.poles
    assert "poles" not in Scale(["a", "b"]).to_dict()


@pytest.mark.parametrize("wrong", ["safe", "safe,", "a,b,c", ("a", "a"), ("a",), [1, 2], "a,b\x1b[2J"])
def test_wrong_poles_are_refused(wrong: Any) -> None:
    with pytest.raises(ScaleError, match="two words that differ"):
        Scale.range(0, 4).with_poles(wrong)


def test_poles_reach_ratings_by_every_way(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text(FRAME.write_csv())
    poles = ("calm", "angry")
    assert pv.Ratings.from_frame(FRAME, poles=poles).scale.poles == poles
    assert pv.Ratings.from_frame(FRAME, scale="1:5", missing=["skip"], poles=poles).scale.poles == poles
    assert pv.read_ratings(path, poles="calm,angry").scale.poles == poles
    assert pv.Ratings.from_frame(FRAME, scale=Scale.range(1, 5).with_poles(poles), missing=["x"]).scale.poles == poles
    ratings = pv.Ratings.from_frame(FRAME, poles=poles, raters=pl.DataFrame({"rater": ["a", "b"], "age": [20, 30]}))
    assert ratings.where(items={"item": 1}).with_bins("age", [20]).scale.poles == poles
    pv.write_ratings(ratings, tmp_path / "stored.parquet")
    assert pv.read_ratings(tmp_path / "stored.parquet").scale.poles == poles
    assert pv.read_ratings(tmp_path / "stored.parquet", poles="x,y").scale.poles == ("x", "y")
    (tmp_path / "plurivox.toml").write_text('[scale]\nlow = "calm"\nhigh = "angry"\n')
    assert "from calm to angry" in run_cli("describe", path).err
    assert "from mild to wild" in run_cli("describe", path, "--poles", "mild,wild").err
    (tmp_path / "scale.toml").write_text('labels = "1:5"\nlow = "no"\nhigh = "yes"\n')
    assert "from no to yes" in run_cli("describe", path, "--scale", tmp_path / "scale.toml").err
    found = run_cli("describe", path, "--poles", "mild")
    assert found.code == 1
    assert "Give the lowest first, for example --poles safe,unsafe" in found.err
    (tmp_path / "plurivox.toml").write_text('[scale]\nlow = "calm"\n')
    assert "only one end of the scale has a name" in run_cli("describe", path).err


def test_results_that_know_the_points_know_the_poles() -> None:
    study = pv.simulate(n_items=30, n_raters=12, seed=1)
    assert study.ratings.scale.poles == ("safe", "unsafe")
    assert study.trained is not None
    assert pv.simulate(n_items=5, n_raters=3, scale="1:3").ratings.scale.poles == ("safe", "unsafe")
    for ratings, poles in ((study.ratings, ["safe", "unsafe"]), (pv.Ratings.from_frame(study.ratings_frame), None)):
        found = pv.responsiveness(ratings, study.trained, [], permutations=0, interval="none", psychometrics=True)
        assert found.settings["poles"] == found.psychometrics().settings["poles"] == poles
        assert type(found).from_json(found.to_json()).settings["poles"] == poles
        assert pv.psychometrics(ratings).settings["poles"] == poles
        assert pv.advise(ratings, study.trained, "rater", bootstrap=20).settings["poles"] == poles


def test_a_config_keeps_the_poles(tmp_path: Path) -> None:
    for names, wanted in (("safe,unsafe", ("safe", "unsafe")), (None, None)):
        text = config_text(pv.Ratings.from_frame(FRAME, poles=names))
        (tmp_path / "plurivox.toml").write_text(text)
        assert load_config(tmp_path / "plurivox.toml").reading.poles == wanted
