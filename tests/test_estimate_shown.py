"""Estimates as a chart, a section of the report and a command hold the numbers of the result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox import plots
from plurivox.lenses.estimate.measuring import TOGETHER
from plurivox.report.build import brief_of, make_report
from plurivox.report.sections import estimate as section
from plurivox.report.settings import ReportSettings
from plurivox.study import Study
from support import only_sections, ran, refused, run_cli

pytest.importorskip("vl_convert", reason="charts need plurivox[report]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("estimate") / "study"
    done = run_cli("simulate", made, "--items", 200, "--rated", 50, "--raters", 40, "--ratings-per-item", 5)
    assert done.code == 0, done.err
    return made


@pytest.fixture(scope="module")
def ratings(folder: Path) -> pv.Ratings:
    return pv.read_ratings(
        folder / "ratings.csv", scale="0:4", raters=folder / "raters.csv", items=folder / "items.csv"
    )


@pytest.fixture(scope="module")
def answers(folder: Path, ratings: pv.Ratings) -> pv.Answers:
    return pv.read_answers(folder / "answers.csv", ratings.scale, items=folder / "items.csv")


@pytest.fixture(scope="module")
def found(ratings: pv.Ratings, answers: pv.Answers) -> pv.Estimate:
    return pv.estimate(ratings, answers, "age", subset="violation", threshold=3)


def words(chart: Any) -> str:
    subtitle = chart.to_dict()["title"]["subtitle"]
    return subtitle if isinstance(subtitle, str) else " ".join(subtitle)


# The chart -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("width", [340, 680, 950])
def test_the_forest_has_every_part_group_and_judge(found: pv.Estimate, width: int) -> None:
    with plots.sized(width):
        chart = plots.estimate_forest(found).to_dict()
    data = plots.estimate_forest_data(found)
    assert data["axis"].unique(maintain_order=True).to_list() == ["all", "judge", "violation", "age"]
    whole = data.filter(axis="all").row(0, named=True)
    row = found.row(TOGETHER)
    assert (whole["together"], whole["together low"], whole["together high"]) == (row.value, row.ci_low, row.ci_high)
    one = data.filter(axis="judge", group="model-b").row(0, named=True)
    assert one["model"] == found.value("model-b", "estimate_model")
    young = data.filter(axis="age", group="18-29").row(0, named=True)
    assert young["humans"] == found.value(TOGETHER, "estimate_humans", axis="age", group="18-29")
    assert chart["width"] < width
    assert "all judges together" in words(plots.estimate_forest(found))


def test_another_share_and_axis_are_drawn(found: pv.Estimate) -> None:
    share = plots.estimate_forest_data(found, "share of 3 or higher", axis="age")
    assert share["together"].is_between(0, 1).all()
    with pytest.raises(pv.PlurivoxError, match="of"):
        plots.estimate_forest(found, "median")


def test_what_cannot_be_estimated_is_said() -> None:
    ratings = pv.Ratings.from_frame(
        pl.DataFrame({"item": ["a", "b"], "rater": ["x", "x"], "score": [0, 1]}), scale="0:1"
    )
    silent = pl.DataFrame({"model": "m", "item": ["a", "c"], "answer": [None, 1], "state": ["refused", "answered"]})
    found = pv.estimate(ratings, silent, unanswered="out")
    assert "no item has both human ratings and an answer" in plots.estimate_forest(found).to_json()
    assert "cannot be estimated" in found.findings()[0]


# The report ----------------------------------------------------------------------------------------------------------
@pytest.mark.usefixtures("undrawn")
def test_the_report_has_a_section_where_models_answered_more(
    ratings: pv.Ratings, answers: pv.Answers, found: pv.Estimate
) -> None:
    with only_sections("study", "estimate"):
        made = make_report(ratings, ["age"], answers=answers, items_by="violation", threshold=3, permutations=19)
        rated = pv.simulate(n_items=30, n_raters=12, seed=1)
        without = make_report(rated.ratings, answers=rated.answers, permutations=0)
    assert "estimate" not in {one.id for one in without.sections}
    own = next(one for one in made.sections if one.id == "estimate")
    assert section.found_in(made.brief).to_frame().equals(found.to_frame())
    texts = [one.text for one in own.findings]
    assert set(texts) <= set(found.findings())
    assert any("is estimated at" in text for text in texts)
    assert {"estimate-accounts", "estimate-table", "estimate-judges", "estimate-errors", "estimate-population"} <= {
        getattr(block, "id", "") for block in own.more
    }
    assert "What people think of all items" in made.html()
    # a threshold of the reference alone is not one of the ratings
    assert section._threshold(brief_of(Study(ratings), ReportSettings(threshold="unsafe"))) is None


# The command ---------------------------------------------------------------------------------------------------------
def test_the_command_gives_what_the_function_gives(folder: Path, found: pv.Estimate) -> None:
    arguments = ("estimate", folder / "ratings.csv", folder / "answers.csv", "--by", "age", "--subset", "violation",
                 "--threshold", 3)  # fmt: skip
    assert pv.Estimate.from_json(ran(*arguments, "--json").out).to_frame().equals(found.to_frame())
    assert ran(*arguments, "--csv").frame().height == found.to_frame().height
    accounts = ran(*arguments, "--csv", "--table", "accounts").frame()
    assert accounts.height == found.accounts().height


def test_the_command_draws_and_refuses(folder: Path, tmp_path: Path) -> None:
    asked = ("estimate", folder / "ratings.csv", folder / "answers.csv")
    ran(*asked, "--chart", tmp_path / "e.svg")
    assert "humans alone" in (tmp_path / "e.svg").read_text(encoding="utf-8")
    assert "Choose from mean, shares and at_least" in refused(*asked, "--what", "median", code=None)
    refused(*asked, "--width", -1, code=None)


def test_items_that_nobody_rated_are_sorted_by_the_table_of_items(folder: Path, tmp_path: Path) -> None:
    """An item with two rows is treated as it is for the ratings: it has no value where they differ."""
    items = pl.read_csv(folder / "items.csv").with_columns(length=pl.int_range(pl.len()) % 3)
    again = items.tail(1).with_columns(length=pl.col("length") + 1)
    pl.concat([items, again]).write_csv(tmp_path / "items.csv")
    done = run_cli(
        "estimate", folder / "ratings.csv", folder / "answers.csv", "--scale", "0:4", "--items", tmp_path / "items.csv",
        "--subset", "length", "--json",
    )  # fmt: skip
    assert done.code == 0, done.err
    found = pv.Estimate.from_json(done.out)
    assert (found.settings["subsets"], found.settings["n_unsorted"]) == (["0", "1", "2"], 1)
    assert sum(found.accounts().filter(pl.col("subset") != "all", model="model-a")["n_further"]) == 149


def test_a_width_that_takes_every_item_is_not_laid_to_the_model(ratings: pv.Ratings, answers: pv.Answers) -> None:
    found = [pv.estimate(ratings, answers, width=width).findings() for width in (0.02, 0.8)]
    needed = [next(text for text in one if "interval" in text and "needs" in text) for one in found]
    assert "since people would then rate every item that was answered" in needed[0]
    assert "every item" not in needed[1]
