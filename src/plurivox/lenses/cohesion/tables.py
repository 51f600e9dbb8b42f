"""Cohesion as tables."""

from __future__ import annotations

from collections.abc import Iterable

from plurivox.base.wording import interval_method, intervals_over
from plurivox.infer.result import Row
from plurivox.infer.view import TESTED, TESTED_RANGE, Column, P, View, columns, compact, notes_of
from plurivox.infer.weighting import beside_unweighted
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.statistics.registry import STATISTICS, of_role

ALPHA = {"irr": "alpha (IRR)"}


def headings(*roles: str) -> dict[str, str]:
    """Return the heading of each statistic of some roles."""
    return {record.name: record.heading for record in of_role(*roles)}


def tables(found: Cohesion, *, arrows: bool = False) -> list[View]:
    """Return all tables of a result, with arrows on every tested value if wanted."""
    tested, beside = headings("tested", "asked"), headings("beside", "whole")
    level = f"{found.settings['level']} level"
    if not found.axes:
        return [_everybody(found, tested | beside), *beside_unweighted(found.rows, tested | beside)]
    shown = [_of_axes(found, f"All raters together, {level}", ["all"], tested | beside)]
    shown += [_of_axes(found, f"{axis}, {level}", [axis], tested) for axis in found.axes]
    shown += [*_contrasts(found), *_ranked(found), *_pairs(found)]
    if found.settings["interval"] != "none":
        wide = {record.name: record.heading for record in of_role("tested", "asked") if record.interval_shown}
        title = f"95 % intervals {interval_method(found.settings)}"
        shown.append(_of_axes(found, title, found.axes, wide, TESTED_RANGE))
    shown.append(_of_axes(found, "Other measures of agreement, next to alpha", found.axes, ALPHA | beside))
    main = [row for row in found.rows if row.kind in ("overall", "group")]
    return [view._replace(arrows=arrows) for view in (*shown, *beside_unweighted(main, tested))]


def brief(found: Cohesion, *, arrows: bool = False) -> list[View]:
    """Return the groups of all axes in one table, and whatever else was requested."""
    if not found.axes:
        return tables(found)
    title = f"Agreement within groups (IRR) and with others (XRR), {found.settings['level']}"
    view = compact(found, title=title, over=intervals_over(found.settings))
    return [one._replace(arrows=arrows) for one in (view, *_contrasts(found), *_pairs(found))]


def _everybody(found: Cohesion, names: dict[str, str]) -> View:
    """Return how far all raters agree, one measure per line, where there are no groups."""
    rows = {row.statistic: row for row in found.rows if row.kind in ("overall", "beside")}
    lines = [[names[name], rows[name], rows[name].n_raters] for name in names if name in rows]
    method = "" if found.settings["interval"] == "none" else f", 95 % intervals {interval_method(found.settings)}"
    title = f"All raters together, {found.settings['level']} level{method}"
    return View(title, ["measure of agreement", Column("value", TESTED_RANGE), "raters"], lines)


def _of_axes(found: Cohesion, title: str, axes: Iterable[str], names: dict[str, str], form: str = TESTED) -> View:
    """Return the groups of some axes, a column for each of these statistics that one of them has."""
    groups: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.axis in axes and row.kind in ("overall", "group", "beside"):
            groups.setdefault((row.axis, row.group), {})[row.statistic] = row
    used = [name for name in names if any(name in own for own in groups.values())]
    lines = [
        [group, next(iter(own.values())).n_raters, *(own.get(name, "") for name in used)]
        for (_, group), own in groups.items()
    ]
    return View(title, ["group", "raters", *columns(form, (names[name] for name in used))], lines)


def _contrasts(found: Cohesion) -> list[View]:
    rows = [row for row in found.rows if row.kind == "contrast"]
    lines = [[STATISTICS[row.statistic].heading, row, row.p_value] for row in rows]
    header = ["statistic", Column("difference", TESTED_RANGE), Column("p", P)]
    title = f"Difference {rows[0].group}, {found.settings['level']} level" if rows else ""
    return [View(title, header, lines)] if rows else []


def _ranked(found: Cohesion) -> list[View]:
    lines = [[row.axis, row.value, row.group, row.p_value, row.p_adjusted] for row in found.ranked_axes()]
    tested = "p (of the group)" if found.settings["convention"] == "published" else "p (max-T)"
    header = ["axis", "DSI", "group", *columns(P, [tested, "p corrected"])]
    title = f"Which axis divides the raters most, {found.settings['level']} level"
    return [View(title, header, lines)] if lines else []


def _pairs(found: Cohesion) -> list[View]:
    """Return a matrix for each axis, whose columns are numbered, since many group names do not fit side by side."""
    shown = []
    for axis in dict.fromkeys(row.axis for row in found.pair_rows):
        rows = [row for row in found.pair_rows if row.axis == axis]
        groups = [row.group for row in rows if row.statistic == "irr"]
        cells = {frozenset((row.group, row.other or row.group)): row for row in rows}
        lines = [[f"{i} {a}", *(cells.get(frozenset((a, b)), "") for b in groups)] for i, a in enumerate(groups, 1)]
        title = f"{axis}: XRR between groups, IRR on the diagonal, {found.settings['level']} level"
        shown.append(View(title, ["", *columns(TESTED, map(str, range(1, len(groups) + 1)))], lines))
    return shown


def notes(found: Cohesion) -> list[str]:
    """Return why values are undefined, and what to be careful about."""
    main = [row for row in found.rows if row.kind in ("overall", "group", "contrast")]
    return notes_of(main, headings("tested", "asked"))
