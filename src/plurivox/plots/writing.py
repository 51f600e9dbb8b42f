"""Charts as files and as parts of a page."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plurivox.base.errors import InputError, MissingExtraError
from plurivox.base.files import write_bytes
from plurivox.base.wording import one_line
from plurivox.plots.converting import Conversion, load_vl_convert
from plurivox.plots.vega import Chart

FORMATS = (".svg", ".png", ".pdf", ".html", ".json")
_TAG = re.compile(r"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_KIND = re.compile(r' aria-roledescription="[^"]*"')  # knowing that a mark is a "rect mark" helps nobody
_HEARD = re.compile(r' (?:role|aria-label)="[^"]*"')
_ID = re.compile(r'(?<=\sid=")[^"]*(?=")|(?<=url\(#)[^)]*(?=\))|(?<=href="#)[^"]*(?=")')


def write_chart(chart: Any, path: str | Path) -> Path:
    """Write a chart as SVG, PNG, PDF, self-contained HTML or Vega-Lite JSON, by file extension; all or nothing."""
    target = Path(path)
    kind = target.suffix.lower()
    problem = not_drawn(target)
    if problem:
        raise InputError(problem)
    return write_bytes(target, chart_bytes(chart, kind))


def not_drawn(path: Path) -> str:
    """Return why no chart can be written under a name, empty if one can.

    Examples
    --------
    >>> not_drawn(Path("a.txt")), not_drawn(Path("a.pdf"))
    ('cannot write a chart as .txt; use .svg, .png, .pdf, .html or .json', '')
    """
    kind = path.suffix.lower()
    if kind in FORMATS:
        return ""
    known = f"use {', '.join(FORMATS[:-1])} or {FORMATS[-1]}"
    return f"cannot write a chart as {kind}; {known}" if kind else f"{path.name} has no ending; {known}"


def chart_bytes(chart: Any, kind: str) -> bytes:
    """Return a chart as the content of a file of one of :data:`FORMATS`."""
    spec = chart.to_dict()
    if kind == ".json":
        return json.dumps(spec).encode()
    engine, version = load_vl_convert(), _version(spec)
    if kind == ".png":
        return bytes(engine.vegalite_to_png(spec, vl_version=version, scale=2))
    if kind == ".pdf":
        return bytes(engine.vegalite_to_pdf(spec, vl_version=version))
    if kind == ".svg":
        return str(engine.vegalite_to_svg(spec, vl_version=version)).encode()
    inside = json.dumps(spec).replace("<", "\\u003c")  # a </script> in a name must not end the script
    return _PAGE.format(program=engine.javascript_bundle(vl_version=version), spec=inside).encode()


_PAGE = """<!DOCTYPE html>
<html>
<head><meta charset="UTF-8"><script>{program}</script></head>
<body>
<div id="vis"></div>
<script>vegaEmbed("#vis", {spec}, {{mode: "vega-lite"}}).catch(console.error);</script>
</body>
</html>
"""


def _version(spec: dict[str, Any]) -> str:
    """Return the version of Vega-Lite that a specification is written for, as vl-convert calls it."""
    return ".".join(spec["$schema"].rpartition("/v")[2].split(".")[:2])


def shown(chart: Any) -> dict[str, Any]:
    """Return a chart as the picture that a notebook shows if it cannot draw charts; nothing without vl-convert."""
    try:
        return {"image/svg+xml": chart_bytes(chart, ".svg").decode()}
    except MissingExtraError:
        return {}


def to_svg(chart: Any, prefix: str) -> str:
    """Return a chart as SVG for a page: no background, ids that start with ``prefix``, the same text each time.

    Each mark that shows a value has it in words as its ``aria-label``; with more than 700 marks, none has.

    Parameters
    ----------
    chart
        Any chart of this package, or of Altair.
    prefix
        A word of letters, digits and hyphens that no other chart on the page has.

    Examples
    --------
    >>> from plurivox.plots.theme import saying
    >>> to_svg(saying("Nothing", "There is nothing to draw."), "nothing").startswith("<svg")
    True
    """
    if not re.fullmatch(r"[A-Za-z][\w-]*", prefix, re.ASCII):
        raise InputError(f"prefix is {prefix!r}", hint="Give a word of letters, digits and hyphens.")
    return Picture(begun(chart)).svg(prefix)


@dataclass(frozen=True, slots=True)
class Picture:
    """A chart being made part of a page, and the line below its title."""

    conversion: Conversion
    subtitle: str = ""

    @classmethod
    def untitled(cls, chart: Chart) -> Picture:
        """Start with a chart without its title, which the page shows."""
        lines = chart.spec["title"].get("subtitle", [])
        return cls(begun(chart.properties(title={"text": ""})), " ".join(lines))

    def svg(self, prefix: str) -> str:
        """Return it as SVG with ids that start with a prefix, as :func:`to_svg` does."""
        ids: dict[str, str] = {}

        def numbered(found: re.Match[str]) -> str:
            return ids.setdefault(found[0], f"{prefix}-{len(ids) + 1}")

        return _TAG.sub(lambda tag: _ID.sub(numbered, _heard(tag[0])), self.conversion.svg())


def begun(chart: Any) -> Conversion:
    """Start converting a chart to SVG: no background, and marks that say their values."""
    spec = described(chart.to_dict())
    spec["background"] = None
    spec.get("config", {}).pop("background", None)
    return Conversion(spec, _version(spec))


def _heard(tag: str) -> str:
    """Return a tag without what helps nobody: titles are text already, and marks without a label say nothing."""
    plain = _KIND.sub("", tag)
    silent = "role-title-" in plain or ('role="graphics-symbol"' in plain and "aria-label=" not in plain)
    return _HEARD.sub("", plain) if silent else plain


MOST_TOLD = 700
"""The most marks of a chart that are described; with more, none are, so that the image stays small."""
LONGEST = 240
"""The most characters of a text in a description."""
_SILENT = {"aria": False}
_PARTS = ("layer", "hconcat", "vconcat", "concat")


def described(spec: dict[str, Any]) -> dict[str, Any]:
    """Return a Vega-Lite specification whose marks with a tooltip have it as their description."""
    config = spec.get("config", {})
    quiet = {name: {**config.get(name, {}), **_SILENT} for name in ("axis", "legend", "mark")}
    spec = {**spec, "config": {**config, **quiet}, "datasets": dict(spec.get("datasets", {}))}
    units = list(_units(spec, None))
    datasets = spec["datasets"]
    if sum(len(datasets[name]) for name in {name for _, name in units}) <= MOST_TOLD:  # layers share rows out
        for number, (unit, name) in enumerate(units):
            _describe(unit, datasets, name, f"described {number}")
    return spec


def _units(part: dict[str, Any], name: str | None) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield each unit with a tooltip and the name of its data, which parts inherit; what is changed is copied first."""
    name = part.get("data", {}).get("name", name) if isinstance(part.get("data", {}), dict) else name
    for key in _PARTS:
        if key in part:
            part[key] = [dict(one) for one in part[key]]
            for one in part[key]:
                yield from _units(one, name)
    if isinstance(part.get("spec"), dict):
        part["spec"] = dict(part["spec"])
        yield from _units(part["spec"], name)
    if "tooltip" in part.get("encoding", {}) and "mark" in part and name is not None:
        yield part, name


def _describe(unit: dict[str, Any], datasets: dict[str, Any], name: str, column: str) -> None:
    """Give each row of a unit's data its description, and have its marks read it."""
    tips = unit["encoding"]["tooltip"]
    tips = tips if isinstance(tips, list) else [tips]
    datasets[name] = [{**row, column: sentence(row, tips)} for row in datasets[name]]
    mark = unit["mark"] if isinstance(unit["mark"], dict) else {"type": unit["mark"]}
    unit["mark"] = {**mark, "aria": True}
    unit["encoding"] = {**unit["encoding"], "description": {"field": column, "type": "nominal"}}


def sentence(row: Mapping[str, Any], tips: Sequence[Mapping[str, Any]]) -> str:
    """Return in words what a tooltip says about a row; unknown values are left out.

    Examples
    --------
    >>> tips = [
    ...     {"field": "who", "title": "group"},
    ...     {"field": "low", "title": "interval from", "format": ".2f"},
    ...     {"field": "high", "title": "to", "format": ".2f"},
    ... ]
    >>> sentence({"who": "Man", "low": -1.0, "high": 2.5}, tips)
    'group: Man; interval from −1.00 to 2.50'
    """
    text = ""
    for tip in tips:
        value = _written(row.get(tip["field"]), tip.get("format", ""))
        title = str(tip.get("title", tip["field"]))
        if not value or (title == "to" and not text):
            continue
        text += f" to {value}" if title == "to" else ("; " if text else "") + _named(title, value)
    return text


def _named(title: str, value: str) -> str:
    return f"{title} {value}" if title.endswith(" from") else f"{title}: {value}"


def _written(value: Any, form: str) -> str:
    """Return a value as d3 would write it by its format; empty if it is unknown."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        plain = form.replace("~", "")
        number = round(value) if plain.endswith("d") else value
        return format(number, plain or ("," if isinstance(value, int) else ".4g")).replace("-", "−")
    text = one_line(str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1].rstrip() + "…"
