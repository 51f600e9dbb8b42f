"""What files contain: their first rows, what was recognised in them and why, and what is wrong with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from plurivox.base.errors import PlurivoxError, PlurivoxWarning
from plurivox.base.files import write_text
from plurivox.base.wording import listed, one_line, short
from plurivox.domain.axis import MIN_GROUP_SIZE
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import ROLE_NAMES, plain
from plurivox.lenses.overview.description import describe
from plurivox.read.formats import PLATFORMS, kind_of
from plurivox.read.tables import open_table
from plurivox.report.parts import Section
from plurivox.report.sections.study import panel_table
from plurivox.workbench.making import BESIDE, PANEL, Desk, fragment, problem_of
from plurivox.workbench.reading import POPULATION, source_of
from plurivox.workbench.records import role_in

ROWS = 6
LONGEST = 60
"""Rows, and characters of a cell, that are shown of a file."""
MANY = 12
"""The fewest distinct numbers for which bins are offered."""
MOST_VALUES = 40
"""The most values of an attribute that a menu offers."""


def look(desk: Desk, asked: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Read everything as specified, and report the result."""
    found: dict[str, Any] = {"problem": None, "beside": {}, "warnings": []}
    try:
        found |= _recognised(desk, desk.unweighted)
    except PlurivoxError as error:
        found["problem"] = problem_of(error)
    named = found.get("columns") or {"score": found["problem"]["column"]}  # an error of a scale names the column
    found["files"] = {role: _head(desk, role, named) for role in desk.names}
    found["decided"] = bool(found["files"].get("ratings", {}).get("stored"))
    if found["decided"] and found["problem"] is None:
        found["why"] = dict.fromkeys(found["columns"], "decided when plurivox stored it")
    if found["problem"] is None:
        for role in BESIDE:
            found["beside"][role] = _beside(desk, role)
        found["beside"][POPULATION] = _population(desk, out)
    return found


def _recognised(desk: Desk, ratings: Ratings) -> dict[str, Any]:
    """Return how columns were understood, sizes, attributes and their groups."""
    intake, reading = ratings.intake, desk.source.reading
    attributes = [] if not ratings.has_raters else ratings.raters.columns[1:]
    described = describe(ratings, [(name,) for name in attributes])
    told = {name: [(group.name, group.n_raters) for group in axis.groups]
            for name, axis in zip(attributes, described.axes, strict=True)}  # fmt: skip
    withheld = {name: axis.n_withheld for name, axis in zip(attributes, described.axes, strict=True)}
    platform = next((one.title for one in PLATFORMS if one.name == intake.platform), None)
    return {
        "columns": dict(intake.columns),
        "why": {one: _why(one, name, getattr(reading, one, None), platform) for one, name in intake.columns.items()},
        "layout": intake.layout, "platform": platform,
        "scale": [str(label) for label in ratings.scale.labels][:200], "scale_inferred": intake.points_inferred,
        "poles": list(ratings.scale.poles or ()), "has_raters": ratings.has_raters,
        "sizes": {"ratings": len(ratings), "items": ratings.n_items, "raters": ratings.n_raters},
        "raters": [
            {"name": name, "groups": told[name], "withheld": withheld[name], "numbers": _numbers(ratings.raters[name])}
            for name in attributes
        ],
        "items": [{"name": name, "values": few_values(ratings.items[name])} for name in ratings.items.columns[1:]],
        "notes": [*described.findings(), *intake.left_out_and_remarks()],
        "usage": [int(n) for n in ratings.used()][:200],
    }  # fmt: skip


def _why(role: str, name: str, said: str | None, platform: str | None) -> str:
    """Say why a column was given a role."""
    if said is not None:
        return "as you said"
    if platform is not None:
        return f"so {platform} exports it"
    known = ROLE_NAMES.get(role, ())
    if plain(name) in known:
        return "by its name"
    return "by its content, as the other columns are assigned"


def _numbers(values: pl.Series) -> bool:
    """Return whether an attribute has so many numbers that intervals are useful."""
    texts = values.drop_nulls().cast(pl.String)
    return texts.n_unique() > MANY and texts.cast(pl.Float64, strict=False).null_count() == 0


def few_values(values: pl.Series) -> list[str]:
    """Return the values of an item attribute, if there are few."""
    found = values.drop_nulls().cast(pl.String).unique().sort().to_list()
    return [short(one, LONGEST) for one in found] if len(found) <= MOST_VALUES else []


def _head(desk: Desk, role: str, columns: Mapping[str, str]) -> dict[str, Any]:
    """Return the first rows of a file as text; ids of raters are numbered."""
    reading = desk.source.reading
    own = role == "ratings"
    source = source_of(reading, desk.names) if own else desk.names[role]
    try:
        kind: Any = reading.format if own else None
        with open_table(source, kind_of(kind), reading.encoding or "utf-8") as table:
            if isinstance(table, Ratings):
                told = "This was stored by plurivox itself, so nothing needs to be recognised."
                return {"columns": [], "rows": [], "told": told, "points": [], "stored": True}
            names, frame = list(table.columns), table.first().head(ROWS)
            rows = [[_cell(value) for value in row] for row in frame.iter_rows()]
            found = {
                "columns": names,
                "rows": rows,
                "told": "",
                "points": _points(frame, table.first(), columns) if own else [],
            }
    except PlurivoxError as error:
        return {"columns": [], "rows": [], "told": str(error), "points": []}
    by_name = next((one for one in names if plain(one) in ROLE_NAMES["rater"]), None)
    rater = columns.get("rater", by_name) if own else by_name
    if rater in names and role in ("ratings", "raters", "reference"):
        seen: dict[str, str] = {}
        at = names.index(rater)
        for row in rows:
            row[at] = seen.setdefault(row[at], f"rater {len(seen) + 1}")
    return found


def _points(head: pl.DataFrame, first: pl.DataFrame, columns: Mapping[str, str]) -> list[str]:
    """Return the distinct answers in the first rows of what may be the score column."""
    name = columns.get("score") or next((one for one in first.columns if plain(one) in ROLE_NAMES["score"]), None)
    if name not in first.columns:
        return []
    found = first[name].drop_nulls().cast(pl.String, strict=False).drop_nulls().unique().sort().to_list()
    return [short(one_line(one), LONGEST) for one in found if one.strip()] if len(found) <= MOST_VALUES else []


def _cell(value: Any) -> str:
    return "" if value is None else short(one_line(str(value)), LONGEST)


def _beside(desk: Desk, role: str) -> dict[str, Any] | None:
    """Describe a further file of the study, or what is wrong with it."""
    found, known = _tried(lambda: desk.beside(role))
    if found is None:
        return known if known["problem"] else None
    if isinstance(found, Ratings):
        told = f"{len(found):,} ratings of {found.n_items:,} items; scale {found.scale}"
    else:
        told = found if isinstance(found, str) else f"of {', '.join(found.models)}"
    return {**known, "told": told, "before": _before(desk, role)}


def _tried(read: Callable[[], Any]) -> tuple[Any, dict[str, Any]]:
    """Return what is read, None if that fails, and what to say about it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlurivoxWarning)
        try:
            found = read()
        except PlurivoxError as error:
            return None, {"problem": problem_of(error), "told": "", "warnings": []}
    return found, {"problem": None, "told": "", "warnings": [str(one.message) for one in caught]}


def _population(desk: Desk, out: Path) -> dict[str, Any] | None:
    """Compare panel and population, or say why raters cannot be weighted; None without a population."""
    panel, known = _tried(lambda: desk.ratings.panel)
    if panel is None:
        return known if known["problem"] else None
    summary = panel.summary(MIN_GROUP_SIZE)
    write_text(out / PANEL, fragment(Section("panel", "", "", panel_table(summary)), desk.places({})))
    raked = [name for name in panel.population.attributes if name in desk.ratings.raters.columns]
    told = f"shares of {listed(list(summary.attributes))}, to which raters are weighted"
    return {**known, "told": told, "panel": asdict(summary), "raked": raked}


def _before(desk: Desk, role: str) -> list[str]:
    """Return which files of predictions or answers use the points before the ratings were recoded."""
    from plurivox.ask.read_answers import are_before

    if desk.recoding is None or role == "reference":
        return []
    places = [place for place in desk.names if role_in(place) == role]
    return [place for place in places if are_before(role, desk.names[place], desk.ratings, desk.recoding)]
