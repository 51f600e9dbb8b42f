"""The section of a report on who rates higher: what was planted is found, and what is missing is said."""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import plurivox as pv
from plurivox.report.build import Report, make_report
from plurivox.report.parts import DataTable, Figure, Prose
from plurivox.simulation.simulate import DEMO
from plurivox.statistics.registry import LABELS
from support import Markup, blocks_in, only_sections, six

pytest.importorskip("vl_convert")

QUICK: dict[str, Any] = {"permutations": 99, "max_permutations": 99}


def shown(ratings: pv.Ratings, by: Any = (), **options: Any) -> Report:
    """Return a report that has this section alone."""
    with only_sections("variation"):
        return make_report(ratings, by, **{**QUICK, **options})


@pytest.fixture(scope="module")
def demo() -> Report:
    return shown(pv.simulate(**DEMO).ratings, ["age", "ethnicity", ("gender", "ethnicity")])


@pytest.fixture(scope="module")
def page(demo: Report) -> str:
    """Its HTML, drawn once."""
    return demo.html()


def ids(report: Report, kind: type[Any]) -> list[str]:
    return [name for name, block in blocks_in(report.sections[0]).items() if isinstance(block, kind)]


def test_the_leniency_that_the_demo_plants_is_a_headline(demo: Report) -> None:
    planted = [one for one in DEMO["effects"] if one.bias < 0]
    assert [dict(one.condition) for one in planted] == [{"ethnicity": "White"}]
    truth = pv.simulate(**DEMO).truth_groups.filter(condition="ethnicity=White")
    assert truth["bias"].to_list() == [planted[0].bias]
    first = demo.findings[0]
    assert first.text.startswith("ethnicity: White rate the same items 0.5")
    assert " points lower than the others" in first.text
    assert first.said.claim
    assert first.anchor in ids(demo, Figure)


def test_it_shows_every_chart_and_table_with_words_between(demo: Report, page: str) -> None:
    [section] = demo.sections
    assert ids(demo, Figure)[:4] == [
        "variation-forest", "variation-shares", "variation-reliability", "variation-adjusted"
    ]  # fmt: skip
    assert section.lead_figure is not None
    assert section.lead_figure.id == "variation-forest"
    assert ids(demo, DataTable) == ["variation-table", "variation-components", "variation-needed"]
    assert sum(isinstance(block, Prose) for block in section.more) == 3
    assert {one.anchor for one in section.findings} <= {*ids(demo, Figure), *ids(demo, DataTable)}
    found = Markup(page).ids
    assert len(found) == len(set(found))
    assert {*ids(demo, Figure), *ids(demo, DataTable)} <= set(found)


def test_its_numbers_are_those_of_the_lens_and_its_raters_are_nobody(demo: Report, page: str) -> None:
    ratings = demo.brief.ratings
    found = demo.brief.ask("variation", adjust=True)
    told = {(row["group"], row["statistic"]): row["value"] for row in Markup(page).tables["variation-table"].rows()}
    for name in ("leniency", "dominance"):
        assert told["White", LABELS[name]] == six(found.value("ethnicity", "White", name))
    behind = Markup(page).tables["variation-adjusted-table"]
    effect = found.adjusted().filter(group="White")["effect"][0]
    assert six(effect) in {value for values in behind.columns.values() for value in values if value is not None}
    page = html.unescape(page)
    assert not any(re.search(rf"\b{re.escape(str(rater))}\b", page) for rater in ratings.raters["rater"])


def test_groups_withheld_are_neither_shown_nor_named_in_it(demo: Report) -> None:
    blocks = blocks_in(demo.sections[0]).values()
    tables = [block.frame if isinstance(block, DataTable) else block.table for block in blocks]
    crossed = {
        group for frame in tables if {"axis", "group"} <= set(frame.columns)
        for group in frame.filter(pl.col("axis") == "gender × ethnicity")["group"]
    }  # fmt: skip
    assert crossed
    assert not any("Nonbinary" in group for group in crossed)


@pytest.mark.parametrize(
    ("by", "asked"),
    [(["age", "gender"], True), (["age"], False), (["age", ("age", "gender")], False), ([("age", "gender")], False)],
)
def test_attributes_are_fitted_at_once_where_there_are_two(by: list[Any], asked: bool) -> None:
    made = pv.simulate(
        n_items=12, n_raters=40, attributes={"age": {"a": 0.5, "b": 0.5}, "gender": {"c": 0.5, "d": 0.5}}
    )
    report = shown(made.ratings, by, permutations=0, interval="none")
    assert ("variation-adjusted" in ids(report, Figure)) == asked


def test_without_groups_there_is_what_scores_vary_by() -> None:
    report = shown(pv.simulate(n_items=12, n_raters=10).ratings)
    assert ids(report, Figure) == ["variation-shares", "variation-reliability"]
    assert any("there are no groups to compare" in one for one in report.sections[0].remarks)
    assert any(one.text.startswith("Of the variance in scores, ") for one in report.sections[0].findings)


def test_totals_have_nobody_who_could_rate_higher(tmp_path: Path) -> None:
    path = tmp_path / "totals.csv"
    path.write_text("item,0,1,2\na,3,1,0\nb,0,2,2\nc,1,1,1\n")
    report = shown(pv.read_ratings(path, scale="0:2", layout="totals"))
    assert report.sections[0].remarks == ["Who rates higher is unknown, because the ratings do not say who gave them."]


def test_all_groups_withheld_still_make_a_section() -> None:
    made = pv.simulate(
        n_items=10, n_raters=8, attributes={"g": {str(at): 0.25 for at in range(4)}, "h": {"x": 0.5, "y": 0.5}}
    )
    report = shown(made.ratings, ["g", "h"])
    assert "variation-shares" in ids(report, Figure)
    assert "variation-adjusted" not in ids(report, Figure)


def test_parts_of_the_items_have_charts_of_their_own() -> None:
    made = pv.simulate(n_items=24, n_raters=30, violations={"bias": 0.5, "privacy": 0.5})
    report = shown(made.ratings, "age", items_by="violation", permutations=0, interval="none")
    assert ids(report, Figure)[-2:] == ["variation-part-1", "variation-part-2"]


def test_its_claims_are_corrected_with_those_of_the_other_lenses() -> None:
    """Those that claim are this one, cohesion, responsiveness and items; answers add two, predictions one."""
    made = pv.simulate(n_items=12, n_raters=10)
    plain = {"permutations": 0, "interval": "none"}
    assert shown(made.ratings, **plain).brief.asked.n_lenses == 4
    both = shown(made.ratings, answers=made.answers, predictions=made.predictions, **plain)
    assert both.brief.asked.n_lenses == 7


def test_repeats_and_drift_have_charts_where_there_are_any() -> None:
    rows = [(item, rater, (item + rater) % 3, item) for rater in range(12) for item in range(5)]
    rows += [(0, rater, rater % 2, 5) for rater in range(12)]
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "time"], orient="row")
    raters = pl.DataFrame({"rater": range(12), "team": ["a", "b"] * 6})
    again = pv.Ratings.from_frame(frame, scale="0:2", raters=raters, duplicates="keep", time="time")
    once = pv.Ratings.from_frame(frame.filter(pl.col("time") < 5).drop("time"), scale="0:2", raters=raters)
    for ratings, expected in ((once, set()), (again, {"variation-repeats", "variation-drift"})):
        report = shown(ratings, "team", permutations=0, interval="none")
        assert set(ids(report, Figure)) & {"variation-repeats", "variation-drift"} == expected
