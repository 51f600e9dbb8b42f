"""Charts are as wide as asked, and names stay apart in the room there is."""

from __future__ import annotations

import re
import threading
from xml.etree import ElementTree

import pytest

from plurivox.base.errors import InputError

pytest.importorskip("vl_convert", reason="charts need plurivox[report]")

import all_charts
from all_charts import DRAWN, MODELS, TEAMS, Charts
from plurivox import plots
from plurivox.plots import layout, theme
from plurivox.plots.vega import Chart

SMALL = ("ratings_per_item", "xrr_matrix", "alignment_wins", "reproduction")
"""Charts that need not be as wide as they may, because they have few columns."""


@pytest.fixture(scope="module")
def charts() -> Charts:
    return all_charts.charts()


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("width", [340, *(pytest.param(one, marks=pytest.mark.slow) for one in (680, 930))])
def test_charts_are_as_wide_as_asked(name: str, width: int, charts: Charts) -> None:
    with plots.sized(width):
        chart, _ = charts(name)
    svg = ElementTree.fromstring(plots.to_svg(chart, "chart"))
    assert float(svg.attrib["width"]) <= width + 2
    if name not in SMALL:
        assert float(svg.attrib["width"]) >= 0.85 * width


def test_widths_are_asked_for_and_given_back(charts: Charts) -> None:
    seen: list[int] = []
    with plots.sized(340):
        assert theme.full_width() == 340
        with plots.sized(930):
            assert theme.full_width() == 930
        other = threading.Thread(target=lambda: seen.append(theme.full_width()))
        other.start()
        other.join()
        assert theme.full_width() == 340
        kept, _ = charts("gai_forest")
    assert seen == [680]
    assert theme.full_width() == 680
    assert float(ElementTree.fromstring(plots.to_svg(kept, "chart")).attrib["width"]) <= 342
    with pytest.raises(InputError, match=r"width is 100\. Give a number of pixels from 320 to 2,000"), plots.sized(100):
        pass


@pytest.mark.parametrize("text", ["Woman × Black", "illicit fill", "WWW MMM", "p < .05 after correction", "0.123"])
def test_text_is_as_wide_as_it_is_drawn(text: str) -> None:
    drawn = Chart.of([{"t": text * 6}]).mark("text", align="left", fontSize=12)
    chart = drawn.encode(x={"value": 0}, y={"value": 0}, text="t:N").properties(
        width=1, height=1, config={"font": theme.FONT}
    )
    width = float(ElementTree.fromstring(plots.to_svg(chart, "chart")).attrib["width"]) - 10
    assert theme.wide(text * 6, 12) == pytest.approx(width, rel=0.06)


@pytest.mark.parametrize("width", [340, 680, 930])
def test_names_that_are_alike_stay_apart(width: int) -> None:
    with plots.sized(width):
        for names in (MODELS, TEAMS):
            labels = layout.model_labels(names)
            assert len(set(labels)) == len(names)
            assert not any(re.search(r"\(\d+\)$", label) for label in labels)
            assert max(map(len, labels)) <= layout.fitting(28)
    assert "Llama-3.1-70B" in layout.model_labels(MODELS)[0]
