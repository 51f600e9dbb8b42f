"""Ratings of which nobody knows who the raters are: agreement of all, and a plain word on what is missing."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import SelectionError
from support import Markup, Write, run_cli

# Krippendorff (2011), Computing Krippendorff's Alpha-Reliability, example C: 4 observers, 12 units, ordinal alpha .815.
KRIPPENDORFF = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None], "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None], "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}  # fmt: skip
# Pairs of the units with two scores or more: of unit 1, 3 of 3 are the same; of 2, 3 of 6; 6 of 6 (3, 4, 5); 0 of 6;
# 6 of 6; 3 of 6; 6 of 6; 3 of 3; 1 of 1.
SAME = [1, 0.5, 1, 1, 1, 0, 1, 0.5, 1, 1, 1]
NO_GROUPS = "No attributes of raters are named, so there are no groups to compare."


def scores() -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"item": f"u{unit}", "rater": name, "score": score}
            for name, given in KRIPPENDORFF.items()
            for unit, score in enumerate(given, 1)
            if score is not None
        ]
    )


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    path = tmp_path / "plain.csv"
    study = pv.simulate(n_items=12, n_raters=8, seed=5)
    study.ratings.to_frame().select("item", "rater", "score").write_csv(path)
    return path


def test_agreement_of_all_raters_against_krippendorff() -> None:
    found = pv.cohesion(pv.Ratings.from_frame(scores(), scale="1:5"))
    assert round(found.value("all", "all", "irr"), 3) == 0.815
    assert found.value("all", "all", "percent_agreement") == pytest.approx(sum(SAME) / len(SAME))
    assert not found.axes
    assert {row.group for row in found.rows} == {"all"}
    texts = found.findings()
    assert texts[0].startswith("All raters together: alpha 0.8")
    assert any(text.startswith(NO_GROUPS) for text in texts)


def test_by_left_out_is_the_same_as_no_axes() -> None:
    ratings = pv.Ratings.from_frame(scores(), scale="1:5")
    assert pv.cohesion(ratings).to_frame().equals(pv.cohesion(ratings, []).to_frame())


def test_a_contrast_needs_groups() -> None:
    with pytest.raises(SelectionError, match="no groups to compare"):
        pv.cohesion(pv.Ratings.from_frame(scores(), scale="1:5"), contrast=("a", "b"))


@pytest.mark.parametrize("form", [[], ["--markdown"], ["--permutations", "0", "--interval", "none"]])
def test_the_command_tells_agreement_and_what_is_missing(plain: Path, form: list[str]) -> None:
    done = run_cli("cohesion", plain, *form)
    assert done.code == 0
    assert "AC1" in done.out
    assert "% agree" in done.out
    assert NO_GROUPS in done.words or NO_GROUPS in " ".join(done.out.split())
    assert "above or below what chance gives" not in done.out  # nothing is tested
    assert "no group is large enough" not in done.out


def test_a_crowd_alone_has_nobody_to_be_held_against(plain: Path) -> None:
    done = run_cli("responsiveness", plain)
    assert done.code == 0
    told = " ".join(done.out.split())
    assert "nobody is left to compare them with" in told
    assert "--by rater" in told
    trained = plain.with_name("trained.csv")
    trained.write_text(plain.read_text().replace("rater-", "trained-"))
    given = run_cli("responsiveness", plain, "--reference", trained, "--reference-scale", "same", "--threshold", "2")
    assert given.code == 0
    assert "All raters together, against" in " ".join(given.out.split())
    assert "nobody is left" not in given.out


def test_variation_tells_components_reliability_and_what_is_missing(plain: Path) -> None:
    done = run_cli("variation", plain)
    assert done.code == 0
    told = " ".join(done.out.split())
    assert "Of the variance in scores" in told
    assert "with reliability" in told
    assert NO_GROUPS in told


def test_an_interval_that_is_not_defined_is_not_shown(write: Write) -> None:
    done = run_cli("cohesion", write("tiny.csv", "item,rater,score\ni1,r1,1\ni1,r2,2\ni2,r1,1\n"))
    assert done.code == 0
    assert "% agree" in done.out
    assert "nan" not in done.out


def test_advice_on_raters_says_why_there_is_none(plain: Path) -> None:
    done = run_cli("advise", plain)
    assert done.code == 0
    assert "Nothing could be examined for" in " ".join(done.out.split())
    assert "no group is large enough" not in done.out


def test_choosing_within_groups_says_what_it_needs(plain: Path) -> None:
    done = run_cli("select", plain)
    assert done.code == 2
    assert "--raters" in done.err
    assert "--by" in done.err


def test_the_report_has_no_section_about_groups(plain: Path) -> None:
    ratings = pv.read_ratings(plain, scale="0:4")
    made = pv.report.make_report(ratings)
    titles = [section.title for section in made.sections]
    assert titles == ["The study", "What scores vary by", "Agreement of all raters", "Items to look at",
                      "Methods and glossary"]  # fmt: skip
    assert all(section.blocks or section.more for section in made.sections)
    html = made.html()
    Markup(html).sound()
    text = Markup(html[: html.index('<section id="methods-more"')]).text  # the glossary explains everything
    assert text.count(NO_GROUPS) >= 1
    for word in ("0 groups", "groups part ways", "shuffled", "needs groups", "GAI"):
        assert word not in text
    assert "All raters together: alpha" in [one.text[:26] for one in made.findings]
    assert "Items on which raters disagree most" in text
    assert made.answer.heading == "What the ratings say"
    assert made.answer.uncertain == []
