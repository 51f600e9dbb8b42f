"""What each mark of a chart says in words, for those who hover over it, step through marks by key, or hear the page.

A static image has no tooltip. So the tooltip of each mark becomes its description, "group: Man; GAI: 1.02; 95 %
interval from 0.98 to 1.06", which SVG has as ``aria-label``. Marks without a tooltip are hidden from screen readers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from plurivox.base.wording import one_line

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
