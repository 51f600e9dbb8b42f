"""Scores as people write them, against the numbers that were written."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plurivox as pv
from plurivox.base.errors import InputError, ScaleError, ScoreError
from support import run_cli

WORDS = ("Bad", "Poor", "Fair", "Good", "Great")
STYLES = {
    "dash": "{n} - {w}", "en dash": "{n} – {w}", "colon": "{n}: {w}", "dot": "{n}. {w}", "equals": "{n} = {w}",
    "after": "{n} ({w})", "before": "({n}) {w}", "tight": "{n}-{w}", "bracket": "{n}) {w}",
    "slash": "{n}/5", "spaced slash": "{n} / 5", "out of": "{n} out of 5", "comma": "{n},0",
}  # fmt: skip


def ratings(scores: list[Any], **more: Any) -> pv.Ratings:
    frame = pl.DataFrame({"item": range(len(scores)), "rater": "a", "score": scores}, strict=False)
    return pv.Ratings.from_frame(frame, **more)


def read(scores: list[Any], **more: Any) -> list[Any]:
    """Return scores in the order of items, without those that are missing."""
    return ratings(scores, **more).to_frame()["score"].to_list()


@given(st.lists(st.integers(1, 5), min_size=1, max_size=12), st.sampled_from(sorted(STYLES)), st.booleans())
def test_numbers_written_in_a_style_are_the_same_numbers(numbers: list[int], style: str, known: bool) -> None:
    every = [*numbers, 1, 5]  # both ends, so that the scale is the same without being given
    written = [STYLES[style].format(n=n, w=WORDS[n - 1]) for n in every]
    scale = "1:5" if known else None
    assert ratings(written, scale=scale) == ratings(every, scale=scale)


@given(st.lists(st.integers(0, 10), min_size=1, max_size=12))
def test_half_points_with_commas_are_those_with_points(halves: list[int]) -> None:
    points = [f"{half / 2:.1f}" for half in halves]
    commas = [text.replace(".", ",") for text in points]
    assert ratings(commas, scale="0:5:0.5") == ratings(points, scale="0:5:0.5")


def test_plain_numbers_and_labels_are_left_alone() -> None:
    assert ratings(["1", "2", "3.0"]).intake.numbers == ""
    assert read(["1 - Bad", "2 - Poor"], scale="1 - Bad,2 - Poor") == ["1 - Bad", "2 - Poor"]
    assert ratings(["4/5", "3/5"], scale=["3/5", "4/5"]).intake.numbers == ""


def test_words_describe_points_where_each_has_some() -> None:
    whole = ratings(["1 - Bad", "2: Poor", "3", "(3) Fair", "1 - bad"])
    assert whole.scale.descriptions == ("Bad", "Poor", "Fair")
    assert whole.intake.numbers == "numbers taken from answers such as '(3) Fair'"
    assert ratings(["1 - Bad", "3 - Fair"]).scale.descriptions == ()  # nobody wrote what 2 is
    assert ratings(["1 - Bad", "2 - Poor"], scale="1:2").scale.descriptions == ("Bad", "Poor")


def test_words_beside_numbers_may_be_the_points_of_the_scale() -> None:
    assert read(["1 - Yes", "2 - No"], scale="No,Yes") == ["Yes", "No"]


@pytest.mark.parametrize("missing", ["Don't know", "9", "9 - Don't know"])
def test_a_number_with_words_is_missing_by_either(missing: str) -> None:
    found = ratings(["1 - Bad", "2 - Poor", "9 - Don't know"], missing=[missing])
    assert (found.to_frame()["score"].to_list(), found.intake.missing_scores) == ([1, 2], 1)
    assert str(found.scale) == "1 < 2"


def test_a_total_gives_the_scale() -> None:
    assert ratings(["4/5", "2/5"]).scale == pv.Scale.range(1, 5)
    assert ratings(["4/5", "0/5"]).scale == pv.Scale.range(0, 5)
    assert read(["4.5/5", "3/5", "2"], scale="0:5:0.5") == [4.5, 3, 2]


@pytest.mark.parametrize(("scores", "more", "error", "told"), [
    (["1,125", "2,250"], {}, ScoreError, r"rows 1, 2: '1,125' has a comma and may be 1125 or 1\.125\. .*--scale"),
    (["1,234,567", "12"], {}, ScoreError, r"row 1: '1,234,567' has commas between thousands"),
    (["2,5", "3.5"], {}, ScoreError, r"row 1: there are both decimal commas \('2,5'\) and decimal points"),
    (["2,5", "3"], {}, ScaleError, r"not whole numbers, such as 2.5 \(decimal commas .*--scale 2.5:3:0.5"),
    (["2,5", "3"], {"scale": "0:5"}, ScoreError, r"row 1: '2,5' is not a point of the scale"),
    (["1 - Bad", "2 - Bad"], {}, ScoreError, r"rows 1, 2: the words 'Bad' stand for two points: '1 - Bad' and"),
    (["1 - Bad", "3", "1 - Good"], {}, ScoreError, r"rows 1, 3: the number '1' stands for two points"),
    (["1 - Bad", "Don't know"], {}, ScoreError, r"row 2: \"Don't know\" has no number.*--missing \"Don't know\""),
    (["1 - Bad", "7 - Odd"], {"scale": "1:5"}, ScoreError, r"row 2: '7 - Odd' is not a point"),
    (["4/5", "3/4"], {}, ScoreError, r"rows 1, 2: scores are out of different numbers: 3/4, 4/5"),
    (["6/5", "3/5"], {}, ScoreError, r"row 1: '6/5' exceeds its maximum"),
    (["4/5", "3"], {}, ScoreError, r"row 2: '3' is not out of 5, unlike '4/5'.*--scale 1:5"),
    (["4/5", "3/5"], {"scale": "0:4"}, ScoreError, r"rows 1, 2: '3/5' is out of 5, but .* different highest point"),
    (["4.5/5", "3/5"], {}, ScaleError, r"some scores out of 5 are not whole numbers, such as 4.5.*--scale 0:5:0.5"),
    (["4/5000", "3/5000"], {}, ScaleError, r"out of 5,000, too many for a scale"),
    (["18-24 years", "25-34 years"], {}, ScaleError, "text has no order of its own"),
])  # fmt: skip
def test_what_can_be_read_in_two_ways_is_an_error_that_names_both(
    scores: list[str], more: dict[str, Any], error: type[InputError], told: str
) -> None:
    with pytest.raises(error, match=told):
        ratings(scores, **more)


def test_a_comma_that_could_stand_between_thousands_is_settled_by_the_scale() -> None:
    assert read(["1,125", "2,250"], scale="0:5:0.125") == [1.125, 2.25]
    assert read(["0,500", "1,000"], scale="0:1:0.5") == [0.5, 1]  # no thousands begin with 0


def test_wide_tables_gold_columns_and_stored_ratings(tmp_path: Path) -> None:
    (tmp_path / "wide.csv").write_text("item;r1;r2\na;1 - Bad;2 - Poor\nb;2 - Poor;3 - Fair\n")
    wide = pv.read_ratings(tmp_path / "wide.csv")
    assert wide.intake.layout == "wide"
    assert wide.to_frame()["score"].to_list() == [1, 2, 2, 3]
    (tmp_path / "commas.csv").write_text("item;r1;r2\na;2,5;3\nb;3,5;2,0\n")
    commas = pv.read_ratings(tmp_path / "commas.csv", scale="0:5:0.5")
    assert commas.to_frame()["score"].to_list() == [2.5, 3, 3.5, 2]
    pv.write_ratings(wide, tmp_path / "r.parquet")
    again = pv.read_ratings(tmp_path / "r.parquet")
    assert (
        again, again.intake.numbers, again.scale.descriptions,
    ) == (wide, wide.intake.numbers, ("Bad", "Poor", "Fair"))  # fmt: skip
    items = pl.DataFrame({"item": ["a", "b"], "gold": ["2/3", "0/3"]})
    frame = pl.DataFrame({"item": ["a", "b"], "rater": "r", "score": [1, 2]})
    assert pv.Ratings.from_frame(frame, items=items).gold("gold").to_frame()["score"].to_list() == [2, 0]


def test_the_command_line_tells_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text('item,rater,score\n1,a,"2,0"\n2,a,"4,0"\n')
    done = run_cli("describe", path)
    assert done.code == 0
    assert f"{path}: decimal commas read as points" in done.err
    assert "How scores were written: decimal commas read as points." in done.out


@pytest.mark.parametrize(("scale", "bins", "labels"), [
    ("0:100", 5, ("0–20", "21–40", "41–60", "61–80", "81–100")), ("1:10", 5, ("1–2", "3–4", "5–6", "7–8", "9–10")),
    ("1:7", 3, ("1–3", "4–5", "6–7")), ("-10:10", 3, ("-10 to -4", "-3 to 3", "4–10")), ("0:4", 5, (0, 1, 2, 3, 4)),
])  # fmt: skip
def test_bins_of_a_slider_are_named_by_their_range(scale: str, bins: int, labels: tuple[Any, ...]) -> None:
    points = list(pv.Scale.parse(scale).labels)
    made = ratings(points, scale=scale).recode(f"into {bins}")
    assert made.scale.labels == labels
    sizes = made.counts().sum(axis=0)
    assert sizes.sum() == len(points)
    assert sizes.max() - sizes.min() <= 1
    assert made.to_frame()["score"].to_list() == sorted(made.to_frame()["score"].to_list(), key=labels.index)


@pytest.mark.parametrize(("scale", "rule", "told"), [
    (pv.Scale.range(0, 3), "into 5", r"the 4 points .* cannot become 5\. Write a number from 2 to 4"),
    (pv.Scale.range(0, 3), "into 1", "cannot become 1"),
    (pv.Scale([0, 1, 10]), "into 2", r"not evenly spaced.*0-2=no,3-4=yes"),
    (pv.Scale.range(0, 3), "into", "does not say what it becomes"),
])  # fmt: skip
def test_bins_that_cannot_be(scale: pv.Scale, rule: str, told: str) -> None:
    with pytest.raises(ScaleError, match=told):
        ratings([0, 1], scale=scale).recode(rule)


def test_bins_on_the_command_line_and_in_the_config(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text("item,rater,score\n1,a,0\n2,a,50\n3,a,100\n")
    done = run_cli("describe", path, "--scale", "0:100", "--recode", "into 2", "--write-config")
    assert (done.code, "scale 0–50 < 51–100, recoded: 0–50 → 0–50, 51–100 → 51–100" in done.err) == (0, True)
    assert "scale 0–50 < 51–100" in run_cli("describe", path).err
    (tmp_path / "plurivox.toml").write_text('[scale]\nlabels = "0:100"\nrecode = "into 4"\n')
    assert "scale 0–25 < 26–50 < 51–75 < 76–100" in run_cli("describe", path).err
