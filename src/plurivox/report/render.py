"""Sections as HTML. All text is escaped and harmless; markup comes from the template and from charts alone."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any

import polars as pl

from plurivox import __version__
from plurivox.errors import MissingExtraError
from plurivox.plots.theme import INK, QUIET
from plurivox.plots.writing import to_svg
from plurivox.quoting import harmless
from plurivox.report.parts import Block, Brief, DataTable, Figure, Finding, Section

MAX_BEHIND = 300
"""Rows of the table behind a chart, at most."""
LONGEST = 300
"""Characters of a text that are shown; what is longer is cut, and said to be."""


def page(brief: Brief, findings: Sequence[Finding], sections: Sequence[Section]) -> str:
    """Return the whole file."""
    environment = _environment()
    sections = with_unique_ids(sections)
    script = _asset("report.js")
    remarks = list(dict.fromkeys([*brief.remarks, *(text for one in sections for text in one.remarks)]))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text: str = environment.get_template("report.html.j2").render(
        title=brief.asked.title, findings=findings, sections=sections, style=_asset("report.css"), script=script,
        script_digest=digest, version=__version__, remarks=remarks,
    )  # fmt: skip
    return harmless(text)


def with_unique_ids(sections: Sequence[Section]) -> list[Section]:
    """Return the sections with an id of its own for each block; names without Latin letters make the same ones."""
    taken = {"findings", "main", "theme", "print", "said", *(section.id for section in sections)}
    found = []
    for section in sections:
        blocks: list[Block] = []
        for block in section.blocks:
            if isinstance(block, DataTable | Figure):
                parts = ("", "-table", "-title") if isinstance(block, Figure) else ("",)
                name, number = block.id, 2
                while taken.intersection(name + part for part in parts):
                    name, number = f"{block.id}-{number}", number + 1
                taken.update(name + part for part in parts)
                block = replace(block, id=name)
            blocks.append(block)
        found.append(replace(section, blocks=blocks))
    return found


def drawn(figure: Figure) -> dict[str, str]:
    """Return a chart as SVG whose ink follows the page, light or dark, and its subtitle; the page has its title."""
    chart = figure.chart.copy(deep=False)
    subtitle = chart.title.subtitle
    chart.title = type(chart.title)("")
    svg = to_svg(chart, f"{figure.id}-svg")
    for attribute in ("fill", "stroke"):
        svg = svg.replace(f'{attribute}="{INK}"', f'{attribute}="currentColor"')
        svg = svg.replace(f'{attribute}="{QUIET}"', f'{attribute}="currentColor" {attribute}-opacity="0.7"')
    svg = svg.replace('stroke="#ececec"', 'stroke="currentColor" stroke-opacity="0.1"')
    svg = svg.replace('stroke="#bbbbbb"', 'stroke="currentColor" stroke-opacity="0.35"')
    svg = re.sub(r'(<rect width="[\d.]+" height="[\d.]+" fill=")white(")', r"\1none\2", svg, count=1)
    lines = [subtitle] if isinstance(subtitle, str) else list(subtitle) if isinstance(subtitle, list) else []
    return {"svg": svg, "subtitle": " ".join(lines)}


def rows_of(frame: pl.DataFrame, digits: Mapping[str, int]) -> list[list[dict[str, Any]]]:
    """Return the cells of a table: what is shown, and the plain value if that differs."""
    columns = []
    for column in frame.iter_columns():
        places = digits.get(column.name, 3)
        columns.append([_cell(value, places) for value in column.to_list()])
    return [list(row) for row in zip(*columns, strict=True)]


def kinds_of(frame: pl.DataFrame) -> list[str]:
    """Return for each column whether it holds numbers or text."""
    return ["n" if dtype.is_numeric() else "t" for dtype in frame.dtypes]


def _cell(value: Any, places: int) -> dict[str, Any]:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return {"text": "–", "raw": ""}
    if isinstance(value, bool):
        return {"text": "yes" if value else "no"}
    if isinstance(value, int):
        return {"text": f"{value:,}", "raw": str(value)} if abs(value) >= 1000 else {"text": str(value)}
    if isinstance(value, float):
        if math.isinf(value):
            return {"text": "∞" if value > 0 else "−∞", "raw": str(value)}
        shown = f"{round(value, places) + 0.0:,.{places}f}"
        return {"text": shown, "raw": repr(value)}
    text = str(value)
    if len(text) > LONGEST:
        return {"text": f"{text[:LONGEST]} … ({len(text):,} characters)"}
    return {"text": text}


def _environment() -> Any:
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("a report needs Jinja", "report") from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_asset), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.globals.update(rows_of=rows_of, kinds_of=kinds_of, drawn=drawn, max_behind=MAX_BEHIND)
    environment.tests["kind"] = lambda block, name: type(block).__name__ == name
    return environment


def _asset(name: str) -> str:
    return (resources.files("plurivox.report") / "assets" / name).read_text(encoding="utf-8")
