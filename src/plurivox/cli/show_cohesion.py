"""Cohesion as terminal tables."""

from __future__ import annotations

import math
from typing import NamedTuple

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plurivox.cli.show import ACCENT, plain_table
from plurivox.lenses.cohesion_result import Cohesion
from plurivox.lenses.results import SIGNIFICANT, Row

COLUMNS = {
    "irr": "IRR",
    "xrr": "XRR",
    "gai": "GAI",
    "negentropy": "negent.",
    "cross_negentropy": "cross-neg.",
    "plurality_size": "plurality",
    "voting_agreement": "votes",
}
BESIDE = {"percent_agreement": "% agree", "ac1": "AC1", "ac2": "AC2"}
ALPHA = {"irr": "alpha (IRR)"}
INTERVALS = {"irr": "IRR", "xrr": "XRR", "gai": "GAI"}
MAX_NOTES = 12
ARROWS = {"above": "↑", "below": "↓", None: " "}


class Shown(NamedTuple):
    """A table ready to print: its title, its header and its rows."""

    title: str
    header: list[str]
    rows: list[list[str]]


def tables(found: Cohesion) -> list[Shown]:
    """Return all tables of a result as text."""
    shown = [_axis_table(found, axis, COLUMNS) for axis in found.axes]
    shown.insert(0, _axis_table(found, "all", {**COLUMNS, **BESIDE}))
    shown += _more(found)
    if found.settings["bootstrap"]:
        shown.append(
            _all_axes(found, f"95 % intervals, {found.settings['resample']} resampled", INTERVALS, intervals=True)
        )
    shown.append(_all_axes(found, "Beside alpha: percent agreement and Gwet's coefficients", {**ALPHA, **BESIDE}))
    return shown


def _all_axes(found: Cohesion, title: str, columns: dict[str, str], *, intervals: bool = False) -> Shown:
    """Return one table of the groups of all axes."""
    each = [_axis_table(found, axis, columns, intervals=intervals) for axis in found.axes]
    header = max((table.header for table in each), key=len)
    return Shown(title, header, [line for table in each for line in table.rows])


def _axis_table(found: Cohesion, axis: str, columns: dict[str, str], *, intervals: bool = False) -> Shown:
    rows = [row for row in found.rows if row.axis == axis and row.kind in ("overall", "group", "beside")]
    names = [name for name in columns if any(row.statistic == name for row in rows)]
    lines = []
    for group in dict.fromkeys(row.group for row in rows):
        own = {row.statistic: row for row in rows if row.group == group}
        cells = [_cell(own[name], intervals=intervals) for name in names]
        lines.append([group, f"{next(iter(own.values())).n_raters:,}", *cells])
    title = "All raters together" if axis == "all" else axis
    return Shown(title, ["group", "raters", *(columns[name] for name in names)], lines)


def _more(found: Cohesion) -> list[Shown]:
    shown = []
    contrasts = [row for row in found.rows if row.kind == "contrast"]
    if contrasts:
        lines = [[COLUMNS[row.statistic], _cell(row, intervals=True), _p(row.p_value)] for row in contrasts]
        shown.append(Shown(f"Difference {contrasts[0].group}", ["statistic", "difference", "p"], lines))
    ranked = found.ranked_axes()
    if ranked:
        lines = [[row.axis, f"{row.value:.3f}", row.group, _p(row.p_value), _p(row.p_adjusted)] for row in ranked]
        header = ["axis", "DSI", "group", "p (max-T)", "p corrected"]
        shown.append(Shown("Which axis divides the raters most", header, lines))
    shown += [
        _pair_table(axis, [row for row in found.pair_rows if row.axis == axis])
        for axis in dict.fromkeys(row.axis for row in found.pair_rows)
    ]
    return shown


def _pair_table(axis: str, rows: list[Row]) -> Shown:
    """Return a matrix whose columns are numbered, since many group names do not fit side by side."""
    groups = [row.group for row in rows if row.statistic == "irr"]
    cells = {(row.group, row.other): _cell(row, intervals=False) for row in rows}
    lines = [
        [f"{i} {a}", *(cells.get((a, b)) or cells.get((b, a), "") for b in groups)]
        for i, a in enumerate(groups, start=1)
    ]
    header = ["", *(str(i) for i in range(1, len(groups) + 1))]
    return Shown(f"{axis}: XRR between groups, IRR on the diagonal", header, lines)


def show_cohesion(found: Cohesion, out: Console) -> None:
    """Print a result."""
    for shown in tables(found):
        out.print(Text(shown.title, style=f"bold {ACCENT}"))
        table = _rich(shown) if shown.rows else Text("no group is large enough to show")
        out.print(Padding(table, (0, 0, 1, 2)))
    notes = _notes(found)
    for note in notes[:MAX_NOTES]:
        out.print(Text(f"• {note}"))
    if len(notes) > MAX_NOTES:
        out.print(Text(f"• and {len(notes) - MAX_NOTES} more notes; see --csv"))
    out.print(Text("↑ ↓ above or below what chance gives; * p < .05, ** p < .05 after correction"))
    out.print()
    for sentence in found.findings():
        out.print(Text(f"• {sentence}", style="bold" if " survives" in sentence else ""))


def _notes(found: Cohesion) -> list[str]:
    """Return the notes of the values in the main tables, alike ones of a group together."""
    names: dict[tuple[str, str, str], list[str]] = {}
    for row in found.rows:
        if row.note and row.kind in ("overall", "group", "contrast"):
            names.setdefault((row.axis, row.group, row.note), []).append(row.statistic)
    return [
        f"{group if axis != 'all' else 'all raters'}, {', '.join(COLUMNS[name] for name in statistics)}: {note}"
        for (axis, group, note), statistics in names.items()
    ]


def _rich(shown: Shown) -> Table:
    table = plain_table(*shown.header)
    for column in table.columns[1:]:
        column.no_wrap = True
    for line in shown.rows:
        table.add_row(*(Text(cell) for cell in line))
    return table


def _cell(row: Row, *, intervals: bool) -> str:
    if math.isnan(row.value):
        return "–"
    text = f"{row.value:.3f}"
    if intervals and row.ci_low is not None and row.ci_high is not None:
        text += f" [{row.ci_low:.2f}, {row.ci_high:.2f}]"
    if row.p_value is not None and row.p_value < SIGNIFICANT:
        corrected = row.p_adjusted is not None and row.p_adjusted < SIGNIFICANT
        text += f" {ARROWS[row.direction]}{'**' if corrected else '*'}"
    return text


def _p(p: float | None) -> str:
    if p is None or math.isnan(p):
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
