"""How all charts look: colours that everyone can distinguish, quiet axes, room to read at any width.

What a colour means is the same in every chart and every report:

- **Standing out** (:data:`plurivox.plots.groups.LOOKS`): a blue diamond is beyond chance after correction, an orange
  triangle before correction only, a grey circle is not distinguishable from chance, a black circle was not tested.
- **The rating scale**: :data:`LOW_HUE` is its low end, :data:`HIGH_HUE` its high end, grey its middle, of points and
  of means.
- **Agreement** (alpha, IRR, XRR): :data:`SEQUENCE` between the ends of :data:`AGREEMENT`, and clipped beyond,
  regardless of the values, so that two charts can be compared.
- **Other amounts**: :data:`SEQUENCE` from little to much; shares from 0 to 1, distances over all that the result has.
- **Series** (models, groups as lines): :data:`COLOURS` in order, each with its own shape or dashes; what they are
  compared with (all raters, references) is grey and dashed, or a grey square.
- **Chance** is a grey strip; a single series without a test has the first of :data:`COLOURS`.

Charts are drawn for a light page, with nothing behind them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from plurivox.base.errors import InputError
from plurivox.plots.vega import Chart, field

INK, QUIET = "#222222", "#767676"
"""All text and marks in black or grey; a dark page replaces it and the next two."""
GRID, LINE = "#ececec", "#bbbbbb"
ON_LIGHT, ON_DARK = "#1a1a1a", "#ffffff"
"""Text on a coloured cell, which stays the same on a dark page."""
# Okabe & Ito (2008), Color universal design: distinct with any colour vision; yellow is left out for its low contrast.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9", INK)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right")
SEQUENCE = ("#eef4fa", "#56B4E9", "#0072B2", "#003f66")
"""From little to much in one hue, darker step by step, so that it also works in grey."""
DARK = 0.55
"""The share of :data:`SEQUENCE` above which text on it is light."""
AGREEMENT = (-0.2, 1.0)
"""The ends of the colours of agreement, everywhere."""
LOW_HUE, MIDDLE_HUE, HIGH_HUE = "#0072B2", "#d0d0d0", "#D55E00"
"""The ends and the middle of a scale, or of values around zero."""
FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"  # charts are measured in it, so pages should show them in it
WIDTH = 680
"""The default width of a chart, in pixels."""
NARROW = 480
"""Below this width, as on a phone, panels are stacked and words are fewer."""
WIDTHS = (320, 2_000)
"""The narrowest and the widest possible chart."""
STEP = 18
"""The height of a row, in pixels."""
_ASKED: ContextVar[int] = ContextVar("width of charts", default=WIDTH)


@contextmanager
def sized(width: int) -> Iterator[None]:
    """Draw charts of a given width: ``with plots.sized(340): chart = plots.gai_forest(result)``.

    Labels, legends and panels then use the available room, from about 330 pixels (a phone) to 1,000 and more; by
    default, charts are 680 pixels wide. A chart keeps the width that it was made with.

    Parameters
    ----------
    width
        In pixels, including axes and legends.

    Examples
    --------
    >>> import plurivox as pv
    >>> with pv.plots.sized(340):
    ...     chart = pv.plots.ratings_per_item(pv.overview(pv.simulate(n_items=20, n_raters=10).ratings))
    >>> chart.to_dict()["width"] < 340
    True
    """
    if not WIDTHS[0] <= width <= WIDTHS[1]:
        raise InputError(f"width is {width}", hint=f"Give a number of pixels from {WIDTHS[0]} to {WIDTHS[1]:,}.")
    before = _ASKED.set(width)
    try:
        yield
    finally:
        _ASKED.reset(before)


def full_width() -> int:
    """Return the current width of charts, in pixels."""
    return _ASKED.get()


def narrow() -> bool:
    """Return whether there is little room, as on a phone."""
    return full_width() < NARROW


def themed(chart: Chart, title: str, subtitle: str = "") -> Chart:
    """Return the chart with its title and the common looks."""
    size, room = 14 if narrow() else 15, full_width() - 12
    above, beneath = lines(title, room, size, bold=True), lines(subtitle, room, 12)
    heading: dict[str, Any] = {"text": above if len(above) > 1 else title, "anchor": "start", "offset": 12,
                               "frame": "bounds"}  # fmt: skip
    if beneath:
        heading["subtitle"] = beneath
    ink = {"labelColor": INK, "titleColor": INK}
    config = {
        "font": FONT, "background": "white",
        "title": {"fontSize": size, "color": INK, "subtitleColor": QUIET, "subtitleFontSize": 12},
        "axis": {
            **ink, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "grid": True,
            "gridColor": GRID, "domainColor": LINE, "tickColor": LINE,
        },
        "header": {"labelFontSize": 12, "labelFontWeight": "bold", "labelColor": INK, "title": None},
        "legend": {
            **ink, "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "symbolSize": 80,
            "orient": "top", "labelLimit": 240,
        },
        "mark": {"aria": False}, "view": {"stroke": None},
    }  # fmt: skip
    return chart.properties(title=heading, config=config)


def saying(title: str, text: str) -> Chart:
    """Return a chart that says in words why there is nothing to draw."""
    said = lines(text, full_width() - 30, 12)
    chart = (
        Chart.of([{"line": at, "text": line} for at, line in enumerate(said)])
        .mark("text", align="left", baseline="middle", color=QUIET, fontSize=12)
        .encode(x={"value": 0}, y=field("line:O", axis=None), text="text:N")
        .properties(width=full_width() - 30, height={"step": STEP})
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


# How wide text is: what fits into a number of pixels, and where lines end ---------------------------------------------


JOINERS = "\u200c\u200d"  # they make Persian words and composed emoji
_BOLD = 1.08
_THOUSANDTHS = {
    222: "'ijl|", 278: " !,./:;I[\\]ft·", 333: "()-`r", 355: '"{}*', 500: "Jckvxyzs^", 584: "+<=>~×−±", 611: "FTZ",
    667: "&ABEKPSVXY", 722: "CDHNRUw", 778: "GOQ", 833: "Mm", 889: "%", 944: "W", 1000: "…—→←≥≤@τρα",
}  # fmt: skip
_WIDTHS = {character: width for width, characters in _THOUSANDTHS.items() for character in characters}
_OTHERS = 570  # digits, most small letters, and other alphabets on average
_WIDE = 1050


def wide(text: str, size: float = 11, *, bold: bool = False) -> float:
    r"""Return how many pixels a text takes in Arial of a given size, to within a few percent.

    Examples
    --------
    >>> round(wide("group")), round(wide("group", 22)), wide("") == wide("\u0301")
    (29, 57, True)
    """
    thousandths = sum(0 if _nothing(c) else _WIDTHS.get(c) or (_WIDE if _double(c) else _OTHERS) for c in text)
    return thousandths * size / 1000 * (_BOLD if bold else 1)


def columns(text: str) -> int:
    """Return how many Latin characters are roughly as wide as a text."""
    return sum(0 if _nothing(c) else 2 if _double(c) else 1 for c in text)


def lines(text: str, room: float, size: float = 11, *, bold: bool = False) -> list[str]:
    """Return a text in lines that fit into this many pixels; a word that is too wide by itself is broken.

    Examples
    --------
    >>> lines("one two three", 50)
    ['one two', 'three']
    """
    found: list[str] = []
    for word in (part for whole in text.split() for part in _parts(whole, room, size, bold)):
        longer = f"{found[-1]} {word}" if found else word
        if found and wide(longer, size, bold=bold) <= room:
            found[-1] = longer
        else:
            found.append(word)
    return found


def in_columns(widths: Iterable[float], room: float) -> int:
    """Return how many columns a list fits in, filled line by line, if each is as wide as its widest entry.

    Examples
    --------
    >>> in_columns([30, 30, 30], 65), in_columns([30, 30, 30], 90), in_columns([30], 10)
    (2, 3, 1)
    """
    every = list(widths)
    for n in range(len(every), 1, -1):
        if sum(max(every[at::n]) for at in range(n)) <= room:
            return n
    return 1


def _parts(word: str, room: float, size: float, bold: bool) -> Iterator[str]:
    start = 0
    for at in range(1, len(word)):
        if wide(word[start : at + 1], size, bold=bold) > room:
            yield word[start:at]
            start = at
    yield word[start:]


def _nothing(character: str) -> bool:
    return bool(unicodedata.combining(character)) or character in JOINERS


def _double(character: str) -> bool:
    return unicodedata.east_asian_width(character) in "WF"
