"""How all charts look: colours that everyone can tell apart, quiet axes, room to read."""

from __future__ import annotations

import textwrap
from typing import Any

from plurivox.errors import MissingExtraError

INK, QUIET = "#222222", "#767676"
"""All text and marks in black or grey; with the next two, what a dark page replaces."""
GRID, LINE = "#ececec", "#bbbbbb"
ON_LIGHT, ON_DARK = "#1a1a1a", "#ffffff"
"""Text upon a coloured cell, which stays as it is on a dark page."""
# Okabe & Ito (2008), Color universal design: told apart with any colour vision, yellow left out for its low contrast.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", INK)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
SEQUENCE = ("#eef4fa", "#56B4E9", "#0072B2", "#003f66")
"""From little to much in one hue, darker step by step, so that it reads in grey too."""
LOW_HUE, MIDDLE_HUE, HIGH_HUE = "#0072B2", "#d0d0d0", "#D55E00"
"""The ends and the middle of a scale, or of values around zero."""
FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"  # charts are measured in it, so pages should show them in it
WIDTH = 680
"""How wide a chart is at most, in pixels."""
STEP = 18
"""How high a row is, in pixels."""
_LINE_LENGTH = 112


def load_altair() -> Any:
    """Import Altair, or say how to get it."""
    try:
        import altair
    except ImportError:
        raise MissingExtraError("charts need Altair", "report") from None
    return altair


def themed(chart: Any, title: str, subtitle: str = "") -> Any:
    """Return the chart with its title and the common looks."""
    alt = load_altair()
    lines = textwrap.wrap(subtitle, _LINE_LENGTH, break_on_hyphens=False)
    heading = alt.TitleParams(title, subtitle=lines or alt.Undefined, anchor="start", offset=12, frame="bounds")
    return (
        chart.properties(title=heading)
        .configure(font=FONT, background="white")
        .configure_title(fontSize=15, color=INK, subtitleColor=QUIET, subtitleFontSize=12)
        .configure_axis(
            labelColor=INK, titleColor=INK, labelFontSize=11, titleFontSize=11, titleFontWeight="normal", grid=True,
            gridColor=GRID, domainColor=LINE, tickColor=LINE,
        )
        .configure_header(labelFontSize=12, labelFontWeight="bold", labelColor=INK, title=None)
        .configure_legend(
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", symbolSize=80, orient="top",
            labelColor=INK, titleColor=INK, labelLimit=240,
        )
        .configure_mark(aria=False)
        .configure_view(stroke=None)
    )  # fmt: skip


def saying(title: str, text: str) -> Any:
    """Return a chart that says in words why there is nothing to draw."""
    alt = load_altair()
    lines = textwrap.wrap(text, _LINE_LENGTH)
    words = alt.InlineData(values=[{"line": at, "text": line} for at, line in enumerate(lines)])
    chart = (
        alt.Chart(words)
        .mark_text(align="left", baseline="middle", color=QUIET, fontSize=12)
        .encode(x=alt.value(0), y=alt.Y("line:O", axis=None), text=alt.Text("text:N"))
        .properties(width=WIDTH - 30, height=alt.Step(STEP))
    )
    return themed(chart, title)


def blend(first: str, second: str, share: float) -> str:
    """Return the colour between two, ``share`` of the way.

    Examples
    --------
    >>> blend("#000000", "#ffffff", 0.5)
    '#808080'
    """
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (first, second)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))


def diverging(n: int) -> list[str]:
    """Return a colour for each of ``n`` ordered points, the middle of an odd number in grey.

    Examples
    --------
    >>> diverging(3)
    ['#0072b2', '#d0d0d0', '#d55e00']
    """
    if n == 1:
        return [MIDDLE_HUE]
    places = [2 * at / (n - 1) - 1 for at in range(n)]
    return [blend(MIDDLE_HUE, LOW_HUE if place < 0 else HIGH_HUE, abs(place)) for place in places]
