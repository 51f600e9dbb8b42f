"""Cohesion as tables of text."""

from __future__ import annotations

from plurivox.base.wording import interval_method, intervals_over
from plurivox.infer.compact import MOST_LINES, Compact, compact
from plurivox.infer.result import Row
from plurivox.infer.text import Shown, notes_of, p_cell, value_cell
from plurivox.infer.weighting import beside_unweighted
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.statistics.registry import STATISTICS, of_role

ALPHA = {"irr": "alpha (IRR)"}


def columns(*roles: str) -> dict[str, str]:
    """Return the heading of each statistic of some roles."""
    return {record.name: record.heading for record in of_role(*roles)}


def tables(found: Cohesion, *, arrows: bool = False) -> list[Shown]:
    """Return all tables of a result as text, with arrows on every tested value if wanted."""
    tested, beside = columns("tested", "asked"), columns("beside", "whole")
    if not found.axes:
        return [_everybody(found, tested | beside), *beside_unweighted(found.rows, tested | beside)]
    shown = [_axis_table(found, axis, tested, arrows=arrows) for axis in found.axes]
    shown.insert(0, _axis_table(found, "all", tested | beside))
    shown += _more(found, arrows=arrows)
    if found.settings["interval"] != "none":
        wide = {record.name: record.heading for record in of_role("tested", "asked") if record.interval_shown}
        shown.append(
            _all_axes(found, f"95 % intervals {interval_method(found.settings)}", wide, intervals=True, arrows=arrows)
        )
    shown.append(_all_axes(found, "Other measures of agreement, next to alpha", ALPHA | beside, arrows=arrows))
    main = [row for row in found.rows if row.kind in ("overall", "group")]
    return [*shown, *beside_unweighted(main, tested)]


def brief(found: Cohesion, *, arrows: bool = False) -> list[Shown | Compact]:
    """Return the groups of all axes in one table, and whatever else was requested."""
    if not found.axes:
        return [*tables(found)]
    title = f"Agreement within groups (IRR) and with others (XRR), {found.settings['level']}"
    view = compact(found, MOST_LINES, title=title, over=intervals_over(found.settings), arrows=arrows)
    return [view, *_contrasts(found, arrows=arrows), *_pairs(found, arrows=arrows)]


def _everybody(found: Cohesion, columns: dict[str, str]) -> Shown:
    """Return how far all raters agree, one measure per line, where there are no groups."""
    rows = {row.statistic: row for row in found.rows if row.kind in ("overall", "beside")}
    lines = [
        [columns[name], value_cell(rows[name], intervals=True), f"{rows[name].n_raters:,}"]
        for name in columns
        if name in rows
    ]
    method = "" if found.settings["interval"] == "none" else f", 95 % intervals {interval_method(found.settings)}"
    title = f"All raters together, {found.settings['level']} level{method}"
    return Shown(title, ["measure of agreement", "value", "raters"], lines)


def _all_axes(found: Cohesion, title: str, columns: dict[str, str], **marks: bool) -> Shown:
    """Return one table of the groups of all axes."""
    each = [_axis_table(found, axis, columns, **marks) for axis in found.axes]
    header = max((table.header for table in each), key=len)
    return Shown(title, header, [line for table in each for line in table.rows])


def _axis_table(found: Cohesion, axis: str, columns: dict[str, str], **marks: bool) -> Shown:
    rows = [row for row in found.rows if row.axis == axis and row.kind in ("overall", "group", "beside")]
    names = [name for name in columns if any(row.statistic == name for row in rows)]
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        own = {row.statistic: row for row in rows if row.group == group}
        cells = [value_cell(own[name], **marks) for name in names]
        lines.append([group, f"{next(iter(own.values())).n_raters:,}", *cells])
    title = f"{'All raters together' if axis == 'all' else axis}, {found.settings['level']} level"
    return Shown(title, ["group", "raters", *(columns[name] for name in names)], lines)


def _contrasts(found: Cohesion, *, arrows: bool) -> list[Shown]:
    contrasts = [row for row in found.rows if row.kind == "contrast"]
    if contrasts:
        lines = [
            [STATISTICS[row.statistic].heading, value_cell(row, intervals=True, arrows=arrows), p_cell(row.p_value)]
            for row in contrasts
        ]
        title = f"Difference {contrasts[0].group}, {found.settings['level']} level"
        return [Shown(title, ["statistic", "difference", "p"], lines)]
    return []


def _more(found: Cohesion, *, arrows: bool) -> list[Shown]:
    shown = _contrasts(found, arrows=arrows)
    ranked = found.ranked_axes()
    if ranked:
        lines = [
            [row.axis, f"{row.value:.3f}", row.group, p_cell(row.p_value), p_cell(row.p_adjusted)] for row in ranked
        ]
        published = found.settings["convention"] == "published"
        header = ["axis", "DSI", "group", "p (of the group)" if published else "p (max-T)", "p corrected"]
        shown.append(Shown(f"Which axis divides the raters most, {found.settings['level']} level", header, lines))
    return shown + _pairs(found, arrows=arrows)


def _pairs(found: Cohesion, *, arrows: bool) -> list[Shown]:
    return [
        _pair_table(axis, [row for row in found.pair_rows if row.axis == axis], found.settings["level"], arrows=arrows)
        for axis in dict.fromkeys(row.axis for row in found.pair_rows)
    ]


def _pair_table(axis: str, rows: list[Row], level: str, *, arrows: bool) -> Shown:
    """Return a matrix whose columns are numbered, since many group names do not fit side by side."""
    groups = [row.group for row in rows if row.statistic == "irr"]
    cells = {(row.group, row.other): value_cell(row, arrows=arrows) for row in rows}
    lines = [
        [f"{i} {a}", *(cells.get((a, b)) or cells.get((b, a), "") for b in groups)]
        for i, a in enumerate(groups, start=1)
    ]
    header = ["", *(str(i) for i in range(1, len(groups) + 1))]
    return Shown(f"{axis}: XRR between groups, IRR on the diagonal, {level} level", header, lines)


def notes(found: Cohesion) -> list[str]:
    """Return why values are undefined, and what to be careful about."""
    main = [row for row in found.rows if row.kind in ("overall", "group", "contrast")]
    return notes_of(main, columns("tested", "asked"))
