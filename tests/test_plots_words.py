"""Every mark says its value in words, colours mean the same everywhere, and items say what they are."""

from __future__ import annotations

import math
import re
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import InputError

pytest.importorskip("vl_convert", reason="charts need plurivox[report]")

import all_charts
from all_charts import DRAWN, Charts, labels_of, units
from plurivox import plots
from plurivox.plots import groups, theme, writing
from test_plots import HOSTILE, study_of
from test_plots import drawn as drawn_of
from test_plots_alignment import aligned, asked, rated
from test_plots_variation import study as varied

SHOWN = {
    "adjusted_effects": ("accounted for", ".3f"), "alignment_dots": ("value", ".3f"),
    "alignment_heat": ("value", ".3f"),
    "alignment_items": ("answer", ".2f"), "alignment_wins": ("wins", ".1%"), "design": ("share rated", ".1%"),
    "distance_histogram": ("share", ".1%"), "drift_forest": ("value", ".3f"), "dsi_ranking": ("DSI", ".3f"),
    "estimate_forest": ("together", ".3f"),
    "gai_forest": ("value", ".3f"), "group_sizes": ("raters", ",d"), "hidden_views": ("value", ".3f"),
    "item_groups": ("ratings", ",d"),
    "item_severity": ("severity", ".2f"), "items_divided": ("shrunken", ".3f"),
    "items_uncertain": ("expected mean", ".3f"), "judge_card": ("value", ".3f"), "leniency_forest": ("value", ".3f"),
    "metric_comparison": ("value", ".3f"), "metric_lines": ("value", ".3f"), "mpa_wra_plane": ("MPA", ".3f"),
    "null_histograms": ("permutations", ",d"), "pit_histograms": ("share", ".1%"),
    "precision_recall": ("precision", ".3f"), "precision_recall_spread": ("median", ".3f"),
    "prior_sensitivity": ("score", ".3f"), "rater_reliability": ("relative", ".3f"),
    "ratings_per_item": ("items", ",d"),
    "refusals": ("share", ".1%"), "reliability_curves": ("observed", ".2f"),
    "repeat_agreement": ("with themselves", ".3f"),
    "reproduction": ("value", ".3f"), "response_styles": ("ends median", ".1%"),
    "responsiveness_forest": ("value", ".3f"), "scale_forest": ("value", ".3f"), "scale_use": ("share", ".1%"),
    "score_curves": ("expected score", ".2f"), "soft_by_bin": ("score", ".3f"), "soft_ranking": ("score", ".3f"),
    "variance_shares": ("share", ".1%"), "xrr_matrix": ("value", ".3f"),
}  # fmt: skip
"""For each chart the column of its table that is seen, and how it is written."""
SOME = ("score_curves", "rater_reliability", "prior_sensitivity", "reliability_curves", "soft_by_bin", "soft_ranking",
        "refusals", "precision_recall", "design")  # fmt: skip
"""Charts that have a mark for some rows of their table only: lines have points where the axis has numbers."""


@pytest.fixture(scope="module")
def charts() -> Charts:
    return all_charts.charts()


def test_every_chart_is_here() -> None:
    assert sorted(SHOWN) == DRAWN
    assert len(DRAWN) == 42


@pytest.mark.parametrize("name", DRAWN)
def test_every_mark_tells_its_value_in_words(name: str, charts: Charts) -> None:
    chart, table = charts(name)
    column, form = SHOWN[name]
    values = [value for value in table[column] if value is not None and math.isfinite(value)]
    written = {format(value, form).replace("-", "−") for value in values}
    labels = labels_of(plots.to_svg(chart, "chart"))
    assert labels
    if name not in SOME:
        assert all(any(one in label for label in labels) for one in written)
        assert len(labels) >= len(values) or name in ("alignment_heat", "item_groups", "scale_use")
    for label in labels:
        assert re.search(r"\d", label)
        assert not re.search(r"(?:^|; )(?:row|n_\w+|ci\w*|ci low|axis|who|value|described)\b", label)
        assert "nan" not in label
        assert "None" not in label


@pytest.mark.parametrize("name", DRAWN)
def test_marks_that_say_nothing_are_only_what_they_stand_upon(name: str, charts: Charts) -> None:
    for unit in units(charts(name)[0].to_dict()):
        mark = unit["mark"]
        if mark["type"] in ("point", "bar", "rect") and "tooltip" not in unit["encoding"]:
            assert mark.get("color") == theme.QUIET or mark.get("fill", "") in (None, theme.ON_DARK), mark


def test_what_marks_say_is_inert() -> None:
    study = study_of([*HOSTILE, "a & b", '"quoted" <b>'], n_items=10, permutations=9, bootstrap=0)
    for name in ("gai_forest", "group_sizes", "xrr_matrix", "mpa_wra_plane", "metric_lines"):
        svg = plots.to_svg(drawn_of(name, study)[0], "chart")
        assert "<script" not in svg
        said = " ".join(labels_of(svg))
        assert "</script><b>bold" in said
        assert '"quoted" <b>' in said
        assert not re.search("[\x00-\x1f\u202e\u2028]", said)
        assert all(len(label) < 1000 for label in labels_of(svg))


def test_very_many_marks_say_nothing(charts: Charts, monkeypatch: pytest.MonkeyPatch) -> None:
    chart, table = charts("gai_forest")
    monkeypatch.setattr(writing, "MOST_TOLD", table.height)
    assert len(labels_of(plots.to_svg(chart, "chart"))) == table.height
    monkeypatch.setattr(writing, "MOST_TOLD", table.height - 1)
    svg = plots.to_svg(chart, "chart")
    assert labels_of(svg) == []
    assert "aria-label" not in svg


def test_what_is_told_of_a_mark() -> None:
    tips = [
        {"field": "group", "title": "group"}, {"field": "gai", "title": "GAI", "format": ".3f"},
        {"field": "low", "title": "95 % interval from", "format": ".2f"},
        {"field": "high", "title": "to", "format": ".2f"},
        {"field": "p", "format": ".2~g"}, {"field": "n", "title": "raters", "format": ",d"}, {"field": "sure"},
        {"field": "share", "format": ".1%"},
    ]  # fmt: skip
    row = {"group": "a\nb", "gai": -1.0, "low": -2.0, "high": 0.5, "p": 0.0123, "n": 1200, "sure": True, "share": 0.256}
    assert writing.sentence(row, tips) == (
        "group: a b; GAI: −1.000; 95 % interval from −2.00 to 0.50; p: 0.012; raters: 1,200; sure: yes; share: 25.6%"
    )
    assert writing.sentence({"group": None, "gai": math.nan, "n": 3.0}, tips) == "raters: 3"
    assert len(writing.sentence({"group": "x" * 999}, tips)) < 260


def scales(chart: Any, column: str) -> list[Any]:
    found = (unit["encoding"].get("color", {}) for unit in units(chart.to_dict()))
    return [one["scale"] for one in found if one.get("field") == column and "domain" in one.get("scale", {})]


def test_agreement_has_the_same_colours_everywhere(charts: Charts) -> None:
    one = scales(charts("xrr_matrix")[0], "value")
    assert one == scales(plots.xrr_matrix(study_of(["a", "b"], permutations=0).cohesion, "team"), "value")
    assert one[0]["clamp"]
    assert (one[0]["domain"][0], one[0]["domain"][-1]) == (-0.2, 1.0)
    found = charts.found["alignment_heat"][0]
    assert scales(plots.alignment_heat(found, statistic="xrr"), "value")[0]["domain"] == pytest.approx(one[0]["domain"])


def test_heat_has_the_same_colours_for_all_axes() -> None:
    ratings = rated(["north", "south", "west"])
    attributes = ratings.raters.with_columns(shift=pl.Series(["day", "night"] * (ratings.n_raters // 2)))
    ratings = pv.Ratings.from_frame(
        ratings.to_frame().select("item", "rater", "score"), scale=ratings.scale, raters=attributes
    )
    found = aligned(ratings, asked(ratings, ["one", "two"]), ("team", "shift"))
    domains = [scales(plots.alignment_heat(found, axis), "value")[0]["domain"] for axis in (None, "team", "shift")]
    assert domains[0] == domains[1] == domains[2]


def test_ends_of_the_scale_keep_their_colours(charts: Charts) -> None:
    assert scales(charts("alignment_items")[0], "value")[0]["range"] == [
        theme.LOW_HUE, theme.MIDDLE_HUE, theme.HIGH_HUE,
    ]  # fmt: skip
    points = scales(charts("scale_use")[0], "label")[0]["range"]
    assert (points[0], points[-1]) == (theme.LOW_HUE.lower(), theme.HIGH_HUE.lower())


def test_standing_out_looks_the_same_everywhere(charts: Charts) -> None:
    for name in ("gai_forest", "responsiveness_forest", "mpa_wra_plane", "dsi_ranking", "leniency_forest"):
        for unit in units(charts(name)[0].to_dict()):
            if unit["encoding"].get("color", {}).get("field") == "finding" and unit["mark"]["type"] == "point":
                domain, colours = (unit["encoding"]["color"]["scale"][key] for key in ("domain", "range"))
                shapes = unit["encoding"]["shape"]["scale"]["range"]
                looks = dict(zip(domain, zip(colours, shapes, strict=True), strict=True))
                assert looks == {name: groups.LOOKS[name] for name in domain}


TEXTS = {
    f"item-{number}": f'What "they" say & <b>do</b> </script> number {number}, ' + "on " * 99 for number in range(30)
}


@pytest.mark.parametrize("name", ["items_divided", "items_uncertain", "item_severity", "alignment_items"])
def test_items_say_what_they_are(name: str, charts: Charts) -> None:
    bare = charts(name)[1]
    chart, table = charts(name, texts=TEXTS)
    assert table["text"].to_list() == [TEXTS[item] for item in table["item"]]
    assert table.drop("text").equals(bare)
    assert "text" not in charts(name)[1].columns
    for width in (340, 930):
        with plots.sized(width):
            chart, _ = charts(name, texts=TEXTS)
        svg = plots.to_svg(chart, "chart")
        assert "<b>" not in svg
        shown = " ".join(ElementTree.fromstring(svg).itertext())
        if name != "alignment_items" or width == 930:
            assert f"{table['item'][0]} · What" in shown
        texts = [re.search("text: (.*?)(?:; |$)", label) for label in labels_of(svg)]
        assert texts
        assert all(found is not None and 150 < len(found[1]) <= 200 for found in texts)
        assert float(ElementTree.fromstring(svg).attrib["width"]) <= width + 2


def test_items_without_a_text_keep_their_id(charts: Charts) -> None:
    chart, table = charts("items_uncertain", texts={str(charts("items_uncertain")[1]["item"][0]): "Only this one."})
    assert table["text"].null_count() == table.height - 1
    assert "Only this one." in "".join(ElementTree.fromstring(plots.to_svg(chart, "chart")).itertext())


def test_one_list_from_the_lowest_to_the_highest() -> None:
    found = varied(by=["team", "shift", ("team", "shift")], min_group_size=1)
    table = plots.leniency_forest_data(found, order="value")
    assert table["value"].is_sorted()
    assert set(table["axis"]) == {"team", "shift", "team × shift"}
    assert table.sort("axis", "group").equals(plots.leniency_forest_data(found).sort("axis", "group"))
    chart = plots.leniency_forest(found, order="value")
    svg = plots.to_svg(chart, "chart")
    shown = "".join(ElementTree.fromstring(svg).itertext())
    for words in ("team: north", "team: north × shift: day", "rate lower ←", "→ rate higher"):
        assert words in shown
    for value in table["value"]:
        assert f"{value:+.2f}".replace("-", "−") in shown
    assert len(labels_of(svg)) == table.height
    assert all("by chance from" in label for label in labels_of(svg))
    few = plots.leniency_forest(found, order="value", max_groups=3)
    assert few.to_dict()["title"]["subtitle"][0].startswith(f"3 of {table.height} groups shown")
    with pytest.raises(InputError, match="order is 'size'"):
        plots.leniency_forest(found, order="size")  # type: ignore[arg-type]


def test_one_list_holds_at_most_24_groups() -> None:
    ratings = rated([f"team {number}" for number in range(30)], per_team=5, n_items=12)
    found = pv.variation(ratings, "team", permutations=9, max_permutations=9)
    for most in (None, 40, 24):
        assert plots.leniency_forest_data(found, order="value", max_groups=most).height == 24
    said = " ".join(plots.leniency_forest(found, order="value").to_dict()["title"]["subtitle"])
    assert said.startswith("24 of 30 groups shown, those with the smallest p")


def test_a_crossed_design_is_one_rectangle(charts: Charts) -> None:
    assert charts.study.overview.description.crossed
    assert len(labels_of(plots.to_svg(plots.design(charts.study.overview), "chart"))) == 1
    sparse = pv.overview(pv.simulate(n_items=40, n_raters=30, missing=0.6, seed=1).ratings)
    assert plots.design_data(sparse)["share rated"].n_unique() > 1
