"""Charts as SVG for a page, without what its style already sets; a dark page inverts their lightness."""

from __future__ import annotations

import re

from plurivox.plots.theme import INK
from plurivox.report.parts import Figure

_IDLE = re.compile(
    r' (?:font-family|class|role|aria-hidden|aria-roledescription|xmlns:xlink|version)="[^"]*"'
    r'| (?:pointer-events="none"|(?:\w+-)?opacity="1"|stroke-width="1"|stroke-dasharray="1,0"|font-size="11px"'
    r'|font-weight="normal"|text-anchor="start"|transform="translate\(0,0\)")'
)
"""Attributes that the style of the page sets for all charts, or that change nothing."""
_BLANK = re.compile(r'<path[^>]*? d="(?:|M0,0h[\d.]*v[\d.]*h-?[\d.]*Z)"(?: display="none")?/>')
_PLACED = re.compile(r'(<text[^>]*?) transform="translate\(([-\d.]+),([-\d.]+)\)"([^>]*>)(?!<tspan)')
_LINE = re.compile(
    r'<line transform="translate\(([-\d.]+),([-\d.]+)\)"(?: x2="([-\d.]+)")?(?: y2="([-\d.]+)")?'
    r'((?: (?!aria-label)[\w-]+="[^"]*")*)/>'
)
_LINES = re.compile(rf"(?:{_LINE.pattern})+")
_CIRCLE = re.compile(
    r'<path([^>]*?) transform="translate\(([-\d.]+),([-\d.]+)\)"'
    r' d="M([\d.]+),0A\4,\4,0,1,1,-\4,0A\4,\4,0,1,1,\4,0"([^>]*)/>'
)
_NO_WAY = re.compile(r' [xy]2="0"')  # of lines; in a gradient it gives the direction
_UNSTROKED = re.compile(r' stroke-width="[^"]*"')
_HOLLOW = re.compile(r"<g(?: [^<>]*)?></g>")
_NUMBER = re.compile(r"-?\d+\.\d{2,}(?:e-?\d+)?|-?\d+(?:\.\d)?e-\d+")
_TAG = re.compile(r"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_SAID = re.compile(r'(aria-label="[^"]*")')
_KEPT = re.compile(r'((?:aria-label|offset|(?:\w+-)?opacity)="[^"]*")')
"""Attributes that are not places on the picture."""


def pictures(figure: Figure) -> dict[str, str]:
    """Return a chart as two pictures, for a wide page and for a narrow one, and its subtitle."""
    found = {"subtitle": figure.chart.subtitle}
    for name, picture in (("wide", figure.chart), ("narrow", figure.narrow)):
        found[name] = slim(picture.svg(f"{figure.id}-{name}"))
    if _SAID.findall(found["wide"]) == _SAID.findall(found["narrow"]):  # said once; the page's script copies it
        found["narrow"] = _SAID.sub("data-said", found["narrow"])
    return found


def slim(svg: str) -> str:
    """Return a picture without what its page already sets.

    Examples
    --------
    >>> slim('<svg class="marks"><g class="a"><path class="background" d=""/></g><text x="0.123">0.123</text></svg>')
    '<svg><text x="0.1">0.123</text></svg>'
    """
    svg = _TAG.sub(lambda found: _tag(found[0]), svg)
    svg = _PLACED.sub(r'\1 x="\2" y="\3"\4', _BLANK.sub("", svg))
    svg = _CIRCLE.sub(r'<circle\1 cx="\2" cy="\3" r="\4"\5/>', svg)
    svg = _LINES.sub(lambda found: _joined(found[0]), svg)
    before = None
    while before != svg:
        before, svg = svg, _HOLLOW.sub("", svg)
    return _unwrapped(svg)


def _unwrapped(svg: str) -> str:
    """Return a picture without groups that only hold others."""
    kept: list[bool] = []

    def one(found: re.Match[str]) -> str:
        tag = found[0]
        if tag == "</g>":
            return tag if kept.pop() else ""
        if tag.startswith(("<g>", "<g ")) and not tag.endswith("/>"):
            kept.append(tag != "<g>")
            return tag if kept[-1] else ""
        return tag

    return _TAG.sub(one, svg)


def _tag(tag: str) -> str:
    """Return an element's start without idle attributes and with short numbers; its texts stay unchanged."""
    tag = _IDLE.sub("", tag)
    if tag.startswith("<text"):
        tag = tag.replace(f' fill="{INK}"', "")
    if ' stroke="' not in tag:
        tag = _UNSTROKED.sub("", tag)
    parts = _KEPT.split(tag)
    for at in range(0, len(parts), 2):
        parts[at] = _NUMBER.sub(_rounded, parts[at])
    tag = "".join(parts)
    return _NO_WAY.sub("", tag) if tag.startswith("<line ") else tag


def _joined(lines: str) -> str:
    """Return successive lines as one path for each run of the same look, since grids and ticks are many."""
    pieces: list[list[str]] = []
    before = None
    for x, y, right, down, look in _LINE.findall(lines):
        move = f"M{x},{y}" + (f"l{right or 0},{down}" if down and right else f"v{down}" if down else f"h{right or 0}")
        if look != before:
            pieces.append([look])
        pieces[-1].append(move)
        before = look
    return "".join(f'<path d="{"".join(moves)}"{look}/>' for look, *moves in pieces)


def _rounded(found: re.Match[str]) -> str:
    text = f"{float(found[0]):.1f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
