"""Charts of variation hold the numbers of the result and say what they leave out."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import SelectionError
from plurivox.infer.result import Table
from plurivox.lenses.variation.result import Variation
from support import Write, run_cli

pytest.importorskip("vl_convert", reason="charts need plurivox[report]")

from plurivox import plots
from plurivox.plots import forests
from plurivox.plots.variation import together

CHARTS = ("leniency_forest", "variance_shares", "rater_reliability", "adjusted_effects")
QUICK: dict[str, Any] = {"permutations": 19, "max_permutations": 19}


def study(names: tuple[str, str, str] = ("north", "south", "west"), n_items: int = 20, **options: Any) -> Variation:
    """Return a study in which the third team rates a point higher; the attribute ``shift`` says nothing."""
    rng = np.random.default_rng(5)
    team = np.repeat(names, 6)
    raters = pl.DataFrame({"rater": [f"secret-{at}" for at in range(18)], "team": team, "shift": ["day", "night"] * 9})
    severity = rng.normal(0, 1.2, n_items)
    seen = (
        3
        + severity
        + rng.normal(0, 0.3, (18, 1))
        + (team == names[2])[:, np.newaxis]
        + rng.normal(0, 0.7, (18, n_items))
    )
    frame = pl.DataFrame(
        {
            "item": [f"item-{at}" for at in range(n_items)] * 18,
            "rater": np.repeat(raters["rater"].to_numpy(), n_items),
            "score": np.clip(np.round(seen), 0, 6).astype(int).ravel(),
        }
    )  # fmt: skip
    items = pl.DataFrame({"item": [f"item-{at}" for at in range(n_items)], "kind": ["a", "b"] * (n_items // 2)})
    ratings = pv.Ratings.from_frame(frame, scale="0:6", raters=raters, items=items)
    return pv.variation(ratings, options.pop("by", ["team", "shift"]), **{**QUICK, "adjust": True, **options})


@pytest.fixture(scope="module")
def found() -> Variation:
    return study(items_by="kind")


def data_of(chart: Any, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of the chart's data that have all of some columns."""
    rows = [row for data in chart.to_dict()["datasets"].values() for row in data]
    return [row for row in rows if set(columns) <= set(row)]


def subtitle(chart: Any) -> str:
    return " ".join(chart.to_dict()["title"].get("subtitle", []))


def said(chart: Any) -> str:
    """Return what a chart without a drawing says."""
    return " ".join(row["text"] for row in data_of(chart, "line", "text"))


@pytest.mark.parametrize("name", CHARTS)
def test_charts_draw_fit_and_name_nobody(found: Variation, name: str) -> None:
    chart, table = getattr(plots, name)(found), getattr(plots, f"{name}_data")(found)
    assert isinstance(table, pl.DataFrame)
    assert table.height
    svg = plots.to_svg(chart, "chart")
    root = ElementTree.fromstring(svg)
    assert float(root.attrib["width"]) <= 690
    used = set(re.findall(r'(?:fill|stroke)="(#\w+|black|white)"', svg))
    assert not used & {"#000", "#000000", "black", "white"}
    assert "secret" not in chart.to_json()
    assert chart.to_json() == getattr(plots, name)(found).to_json()


def test_the_forest_has_the_values_and_a_line_at_zero(found: Variation) -> None:
    table = plots.leniency_forest_data(found, "team")
    assert dict(table.select("group", "value").iter_rows()) == {
        group: found.value("team", group, "leniency") for group in ("north", "south", "west")
    }
    assert table["group"][0] == "west"  # the highest first
    chart = plots.leniency_forest(found, "team")
    assert [row["at"] for row in data_of(chart, "at")] == [0.0]
    low, high = next(
        layer["encoding"]["x"]["scale"]["domain"] for layer in chart.to_dict()["layer"] if "x" in layer["encoding"]
    )
    assert low < 0 < high


def test_bars_end_at_one_and_name_what_has_room(found: Variation) -> None:
    table = plots.variance_shares_data(found)
    assert table["axis"].unique(maintain_order=True).to_list() == ["all raters", "team", "shift"]
    own = table.filter(axis="team")
    assert own["component"].to_list() == ["item", "rater", "group", "group × item", "rest"]
    of_lens = found.components().filter(subset="all", axis="team")
    shares = dict(of_lens.select("component", "share").iter_rows())
    assert own["share"].to_list() == [shares[name] for name in ("item", "rater", "group", "group_item", "rest")]
    chart = plots.variance_shares(found)
    parts = data_of(chart, "start", "end", "share")
    ends = {row["row"]: row["end"] for row in parts}
    assert list(ends.values()) == pytest.approx([1.0, 1.0, 1.0])
    assert all(row["end"] - row["start"] == pytest.approx(row["share"]) for row in parts)
    texts = {(row["row"], row["text"]) for row in data_of(chart, "middle", "text")}
    assert (1, f"item {100 * shares['item']:.0f} %") in texts
    beside = {(row["row"], row["column"]): row["text"] for row in data_of(chart, "column", "text")}
    assert beside[1, 0].startswith(f"{100 * shares['group']:.1f} (")
    assert set(beside) == {(1, 0), (1, 1), (2, 0), (2, 1)}


def test_beneath_the_bars_of_a_narrow_chart_only_attributes_have_a_row(found: Variation) -> None:
    with plots.sized(340):
        bars, beneath = plots.variance_shares(found).to_dict()["vconcat"]
    assert bars["layer"][0]["encoding"]["y"]["scale"]["domain"] == [0, 1, 2]
    assert beneath["encoding"]["y"]["scale"]["domain"] == [1, 2]


def test_an_interval_that_is_far_wider_than_others_is_cut_and_said_to_be(found: Variation) -> None:
    intervals = {"ci low": [0.0, -0.2, -9.0], "ci high": [0.2, 0.0, 9.0]}
    chance = {"chance": [0.0] * 3, "chance low": [-0.1] * 3, "chance high": [0.1] * 3}
    values = pl.DataFrame({"value": [0.1, -0.1, 0.0], **chance, **intervals})
    low, high = forests._ends(values, 0.0)
    assert -1 < low < -0.2
    assert 0.2 < high < 1
    assert forests.cut_words(values, (low, high)) == "A line that reaches an edge continues beyond it. "
    assert forests.cut_words(values.head(2), forests._ends(values.head(2), 0.0)) == ""
    undefined = values.with_columns(pl.lit(None, pl.Float64).alias("ci low"), pl.lit(float("nan")).alias("ci high"))
    assert forests.cut_words(undefined, (low, high)) == ""
    for order in ("attribute", "value"):
        assert "beyond it" not in subtitle(plots.leniency_forest(found, order=order))


def test_negative_estimates_are_said_and_count_as_nothing(found: Variation) -> None:
    negative = found.components().filter((pl.col("subset") == "all") & (pl.col("variance") < 0))
    assert negative.height  # the shift says nothing, so that an estimate falls below 0
    chart = plots.variance_shares(found)
    assert "Estimates below 0 are counted as 0: " in subtitle(chart)
    assert all(f"({axis})" in subtitle(chart) for axis in negative["axis"])
    shown = plots.variance_shares_data(found).filter(pl.col("variance") < 0)
    assert shown["share"].to_list() == [0.0] * negative.height


def test_reliability_has_both_lines_their_bands_and_the_target(found: Variation) -> None:
    table = plots.rater_reliability_data(found)
    for k, relative, absolute in table.select("raters", "relative", "absolute").iter_rows():
        one = table.row(0, named=True)  # Spearman and Brown: what k raters have follows from what one has
        assert relative == pytest.approx(k * one["relative"] / (1 + (k - 1) * one["relative"]))
        assert absolute == pytest.approx(k * one["absolute"] / (1 + (k - 1) * one["absolute"]))
    chart = plots.rater_reliability(found)
    assert len({row["line"] for row in data_of(chart, "line", "value")}) == 2
    assert [row["at"] for row in data_of(chart, "at")] == [0.8]
    assert [layer["mark"]["type"] for layer in chart.to_dict()["layer"]].count("area") == 1
    needed = found.needed().filter(subset="all", axis="all").row(0, named=True)
    least = table.filter(pl.col("relative") >= 0.8)["raters"].min()
    assert isinstance(least, int)
    assert f"relative {least}" in subtitle(chart)
    assert needed["relative"] == least


def test_reliability_of_groups_stands_beside_that_of_all(found: Variation) -> None:
    table = plots.rater_reliability_data(found, "team")
    assert table["group"].unique(maintain_order=True).to_list() == ["all raters", "north", "south", "west"]
    few = plots.rater_reliability(found, "team", max_groups=2)
    assert subtitle(few).startswith("2 of 3 groups shown, the largest. ")
    with pytest.raises(SelectionError, match="there is no axis 'tribe'"):
        plots.rater_reliability(found, "tribe")


def test_effects_stand_before_and_after_with_the_reference_at_zero(found: Variation) -> None:
    table = plots.adjusted_effects_data(found)
    frame = found.adjusted().filter(subset="all")
    assert table["alone"].to_list() == frame["unadjusted"].to_list()
    assert table["accounted for"].to_list() == frame["effect"].to_list()
    chart = plots.adjusted_effects(found)
    drawn = data_of(chart, "when")
    assert len({row["when"] for row in drawn}) == 2
    references = set(frame.select("attribute", "reference").iter_rows())
    assert not references & {(row["axis"], row["group"]) for row in drawn}
    assert chart.to_json(ensure_ascii=True).count("(reference)") >= 2


def test_a_reference_alone_is_left_out_and_that_is_said(found: Variation) -> None:
    frame = found.adjusted().filter((pl.col("attribute") != "team") | (pl.col("group") == pl.col("reference")))
    tables = [Table("adjusted", frame) if one.name == "adjusted" else one for one in found.tables]
    chart = plots.adjusted_effects(replace(found, tables=tuple(tables)))
    assert {row["axis"] for row in data_of(chart, "when")} == {"shift"}
    assert "team is left out: only the reference group is shown." in subtitle(chart)


def test_parts_of_the_items_can_be_shown(found: Variation) -> None:
    whole, part = (plots.variance_shares_data(found, subset=one)["variance"].to_list() for one in (None, "a"))
    assert whole != part
    assert plots.leniency_forest_data(found, subset="a").height == 5
    with pytest.raises(SelectionError, match="there is no subset 'c'"):
        plots.adjusted_effects(found, subset="c")


def test_without_groups_and_without_anything_to_tell() -> None:
    alone = study(by=[], adjust=False)
    assert "no groups to show" in said(plots.leniency_forest(alone))
    assert "not requested" in said(plots.adjusted_effects(alone))
    assert data_of(plots.variance_shares(alone), "start")
    assert not data_of(plots.variance_shares(alone), "column", "text")
    ratings = pv.Ratings.from_frame(
        pl.DataFrame({"item": [1, 1, 2, 2], "rater": ["a", "b", "a", "b"], "score": [2, 2, 2, 2]}), scale="0:4"
    )
    same = pv.variation(ratings, **QUICK)
    assert said(plots.variance_shares(same)).startswith("This is unknown: ")
    assert said(plots.rater_reliability(same)).startswith("This is unknown: ")
    plots.to_svg(together(same), "chart")


def test_hostile_names_are_text() -> None:
    names = ("</svg><script>alert(1)</script>", "a'] + alert(1) + ['", "x" * 300)
    result = study(names, n_items=10)
    for name in CHARTS:
        svg = plots.to_svg(getattr(plots, name)(result), "chart")
        assert "<script" not in svg
        assert float(ElementTree.fromstring(svg).attrib["width"]) <= 690


def test_the_command_draws_one_sheet(found: Variation, write: Write, tmp_path: Path) -> None:
    sheet = together(found).to_dict()
    assert len(sheet["vconcat"]) == 4
    assert "config" in sheet
    assert not any("config" in one for one in sheet["vconcat"])
    rows = "".join(f"i{at},{who},{at % 3},{'ab'[who % 2]}\n" for at in range(6) for who in range(12))
    path = write("r.csv", f"item,rater,score,team\n{rows}")
    done = run_cli(
        "variation", path, "--rater-attributes", "team", "--permutations", "9", "--chart", tmp_path / "c.svg"
    )
    assert done.code == 0, done.err
    assert ElementTree.fromstring((tmp_path / "c.svg").read_bytes()).tag.endswith("svg")


@pytest.fixture(scope="module")
def again() -> Variation:
    """Twelve raters rate eight items in an order of their own; four of each they rate twice. Team b drifts upwards."""
    rng = np.random.default_rng(2)
    rows = []
    for rater in range(12):
        order = [*rng.permutation(8), *rng.permutation(4)]
        for time, item in enumerate(order):
            score = np.clip(round(1 + item / 4 + rng.normal(0, 0.6) + (0.15 * time if rater % 2 else 0)), 0, 4)
            rows.append((f"i{item}", f"secret-{rater}", int(score), time))
    frame = pl.DataFrame(rows, schema=["item", "rater", "score", "time"], orient="row")
    raters = pl.DataFrame({"rater": [f"secret-{at}" for at in range(12)], "team": ["a", "b"] * 6})
    ratings = pv.Ratings.from_frame(frame, scale="0:4", raters=raters, duplicates="keep", time="time")
    return pv.variation(ratings, "team", **QUICK)


def test_repeats_stand_beside_what_two_raters_agree(again: Variation) -> None:
    table = plots.repeat_agreement_data(again)
    frame = again.repeats().filter(statistic="percent")
    assert table["group"].to_list() == ["all raters", "a", "b"]
    assert table["with themselves"].to_list() == frame["within"].to_list()
    assert table["with each other"].to_list() == frame["between"].to_list()
    chart = plots.repeat_agreement(again)
    assert len(data_of(chart, "when")) == 6
    assert "secret" not in chart.to_json()
    assert float(ElementTree.fromstring(plots.to_svg(chart, "chart")).attrib["width"]) <= 690
    with pytest.raises(SelectionError, match="there is no statistic 'kappa'"):
        plots.repeat_agreement(again, "kappa")


def test_drift_has_a_line_at_zero_and_says_what_was_shuffled(again: Variation) -> None:
    table = plots.drift_forest_data(again)
    assert dict(table.select("group", "value").iter_rows()) == {
        "all raters": again.value("all", "all", "drift"), "a": again.value("team", "a", "drift"),
        "b": again.value("team", "b", "drift"),
    }  # fmt: skip
    chart = plots.drift_forest(again)
    assert [row["at"] for row in data_of(chart, "at")] == [0.0]
    assert "times shuffled within raters" in subtitle(chart)
    plots.to_svg(chart, "chart")


def test_without_repeats_and_times_that_is_said(found: Variation) -> None:
    assert "Nobody rated an item again" in said(plots.repeat_agreement(found))
    assert "no groups to show" in said(plots.drift_forest(found))
