"""The short view of a result: one line for each group, one column for each statistic that matters first.

Notebooks and terminals show it. Which statistics have a column is told by the registry: those of the roles that a
result names whose interval is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from plurivox.results.text import Shown, interval_text, mark_of, number_cell
from plurivox.results.wording import counted, named
from plurivox.statistics.records import Statistic
from plurivox.statistics.registry import STATISTICS, of_role

if TYPE_CHECKING:
    from plurivox.results.result import Result, Row

ALL = "all"
KINDS = ("overall", "group", "rater", "model", "voice", "reference")
"""Rows that are of somebody, not of a difference or of a whole axis."""


class Line(NamedTuple):
    """One group, rater or model: under which heading it stands, its name, how many it counts, and its values."""

    heading: str
    name: str
    n: int
    cells: tuple[Row | None, ...]

    @property
    def surest(self) -> tuple[bool, float]:
        """By what lines are put in order, those first that stand out most; a line of all raters is before them."""
        tested = [row for row in self.cells if row is not None and row.tested]
        whole = any(row is not None and row.axis == ALL for row in self.cells)
        p = min((row.p_value for row in tested if row.p_value is not None), default=1.0)
        return not any(row.survives for row in tested), -1.0 if whole else p


class Compact(NamedTuple):
    """The lines of a result that stand out most, in the order of the result, and how many there are besides."""

    first: str
    counts: str
    columns: tuple[Statistic, ...]
    lines: tuple[Line, ...]
    n_more: int
    title: str = ""
    arrows: bool = False

    @property
    def more(self) -> str:
        """How many groups, raters or models are left out."""
        return counted(self.n_more, self.first)


def compact(
    found: Result, most: int, *, without: Collection[str] = (), title: str = "", arrows: bool = False
) -> Compact:
    """Return the short view of a result.

    Parameters
    ----------
    found
        The result, raters numbered unless by id.
    most
        How many lines, those that stand out most if there are more.
    without
        Axes that are shown in another way.
    title, arrows
        What stands above it, and whether every tested value has an arrow.
    """
    names = _columns(found)
    several = len({row.subset for row in found.rows if row.kind in KINDS}) > 1
    lines: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in found.rows:
        apart = row.kind == "reference" and (row.axis, row.subset) != (ALL, ALL)  # models are held against them once
        if row.statistic in names and row.kind in KINDS and row.axis not in without and not apart:
            lines.setdefault((row.subset, row.axis, row.group, row.model, row.prompt), {})[row.statistic] = row
    kept = [name for name in names if any(name in own for own in lines.values())]
    made = [_line(list(own.values()), [own.get(name) for name in kept], several=several) for own in lines.values()]
    chosen = sorted(range(len(made)), key=lambda at: made[at].surest)[:most]
    raters = any(line.n for line in made)
    first = "model" if any(key[3] for key in lines) else "group"
    if not raters:
        made = [line._replace(n=max((row.n_items for row in line.cells if row), default=0)) for line in made]
    return Compact(
        first, "raters" if raters else "items", tuple(STATISTICS[name] for name in kept),
        tuple(made[at] for at in sorted(chosen)), len(made) - len(chosen), title, arrows,
    )  # fmt: skip


def _columns(found: Result) -> list[str]:
    """Return the statistics of the result's roles that matter first, else all of these roles."""
    there = {row.statistic for row in found.rows}
    own = [record for record in of_role(*found.ROLES) if record.name in there]
    return [record.name for record in own if record.interval_shown] or [record.name for record in own]


def _line(rows: Sequence[Row], cells: Iterable[Row | None], *, several: bool) -> Line:
    row = rows[0]
    where = [row.subset] if several and row.subset != ALL else []
    n = max(one.n_raters for one in rows)
    if row.model:
        who = [] if row.axis == ALL else [named(row.axis, row.group)]
        name = f"{row.model}, {row.prompt}" if row.prompt else row.model
        return Line(", ".join([*who, *where]), name, n, tuple(cells))
    who = [] if row.axis == ALL else [row.axis]
    return Line(", ".join([*who, *where]), "all raters" if row.axis == ALL else row.group, n, tuple(cells))


# As text -------------------------------------------------------------------------------------------------------------


def wide(row: Row) -> str:
    """Return a value with three decimals and its interval with two."""
    return interval_text(row.value, row.ci_low, row.ci_high, ".3f").replace("inf", "∞")


def narrow(row: Row) -> str:
    """Return a value and its interval with two decimals, in as little room as can be."""
    text = interval_text(row.value, row.ci_low, row.ci_high, ".2f").replace("inf", "∞")
    value, ends = text.partition(" ")[::2]
    return f"{value} {ends.replace(', ', ',').replace('0.', '.') if ends else ''}".rstrip()


def bare(row: Row) -> str:
    """Return a value with two decimals."""
    return number_cell(row.value)


FORMS: tuple[Callable[[Row], str], ...] = (wide, narrow, bare)
"""How a cell may be written, from the widest form to the narrowest."""


def shown(view: Compact, form: Callable[[Row], str]) -> Shown:
    """Return the short view as a table of text, each heading a line of its own with nothing beside it."""
    columns = [_column([line.cells[at] for line in view.lines], form, view) for at in range(len(view.columns))]
    rows, last = [], ""
    for line, *cells in zip(view.lines, *columns, strict=True):
        if line.heading != last:
            rows.append([line.heading, *[""] * (len(columns) + 1)])
        last = line.heading
        rows.append([f"  {line.name}" if line.heading else line.name, f"{line.n:,}", *cells])
    return Shown(view.title, [view.first, view.counts, *(record.heading for record in view.columns)], rows)


def _column(rows: Sequence[Row | None], form: Callable[[Row], str], view: Compact) -> list[str]:
    """Return the cells of a column; where one has a mark, all have room for it, so that numbers stand in line."""
    marks = [marked(row, view) for row in rows]
    room = max(map(len, marks), default=0)
    gap = " " if room and form is wide else ""
    return ["" if row is None else f"{form(row)}{gap}{mark:<{room}}" for row, mark in zip(rows, marks, strict=True)]


def marked(row: Row | None, view: Compact) -> str:
    """Return how a value compares with chance, in signs."""
    return "" if row is None or math.isnan(row.value) else mark_of(row, arrows=view.arrows)
