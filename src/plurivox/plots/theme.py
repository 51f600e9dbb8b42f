"""How all charts look: colours that everyone can tell apart, quiet axes, room to read."""

from __future__ import annotations

from typing import Any

from plurivox.errors import MissingExtraError

# Okabe & Ito (2008), Color universal design: told apart with any colour vision, yellow left out for its low contrast.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", "#000000")
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
INK, QUIET = "#222222", "#767676"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


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
    heading = alt.TitleParams(title, subtitle=subtitle or alt.Undefined, anchor="start", offset=12)
    return (
        chart.properties(title=heading)
        .configure(font=FONT, background="white")
        .configure_title(fontSize=15, color=INK, subtitleColor=QUIET, subtitleFontSize=12)
        .configure_axis(
            labelColor=INK, titleColor=INK, labelFontSize=11, titleFontSize=11, titleFontWeight="normal", grid=True,
            gridColor="#ececec", domainColor="#bbbbbb", tickColor="#bbbbbb",
        )
        .configure_header(labelFontSize=12, labelFontWeight="bold", labelColor=INK, title=None)
        .configure_legend(labelFontSize=12, titleFontSize=12, titleFontWeight="normal", symbolSize=80, orient="top")
        .configure_view(stroke=None)
    )  # fmt: skip
