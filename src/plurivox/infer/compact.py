"""The short view of a result: one line for each group, one column for each statistic that matters first.

Notebooks and terminals show it. The registry decides which statistics have a column: those in the roles that a result
names whose interval is shown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from plurivox.base.wording import counted
from plurivox.domain.axis import names_raters
from plurivox.infer.text import Shown, interval_text, mark_of, number_cell
from plurivox.statistics.registry import STATISTICS, of_role

if TYPE_CHECKING:
    from plurivox.infer.result import Result, Row

ALL, RATER, REFERENCE = "all", "rater", "reference"
KINDS = ("overall", "group", RATER, "model", "voice", REFERENCE)
"""Rows about someone, rather than about a difference or a whole axis."""
_LEADING_ZERO = re.compile(r"(?<!\d)0(?=\.)")
ALL_RATERS = "all raters"
MOST_LINES = 24
"""The most lines that a terminal shows."""
MOST_VOICES = 6
"""The most models shown side by side."""


class Line(NamedTuple):
    """One group, rater or model: its heading, its name, its size, and its values."""

    heading: str
    name: str
    n: int
    cells: tuple[Row | None, ...]

    @property
    def surest(self) -> tuple[bool, bool, float]:
        """The sort key of lines: first that of all raters, then those that stand out most."""
        tested = [row for row in self.cells if row is not None and row.tested]
        p = min((row.p_value for row in tested if row.p_value is not None), default=1.0)
        return not self.whole, not any(row.survives for row in tested), p

    @property
    def whole(self) -> bool:
        """Whether it is about all raters."""
        return any(row is not None and row.axis == ALL for row in self.cells)

    @property
    def empty(self) -> bool:
        """Whether no value is defined."""
        return all(row is None or math.isnan(row.value) for row in self.cells)


class Compact(NamedTuple):
    """The lines of a result that stand out most, in the order of the result, and how many others there are."""

    first: str
    counts: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]
    n_more: int
    title: str = ""
    over: str = ""
    arrows: bool = False

    @property
    def more(self) -> str:
        """How many groups, raters or models are left out, empty if none are."""
        return counted(self.n_more, f"more {self.first}") if self.n_more else ""

    @property
    def header(self) -> list[str]:
        """The column headings; individual raters have no column of sizes."""
        return [self.first, *([self.counts] if self.counts else []), *self.columns]

    def named(self, line: Line) -> list[str]:
        """Return the cells before the values of a line."""
        return [line.name, *([f"{line.n:,}"] if self.counts else [])]


def compact(
    found: Result, most: int, *, without: Collection[str] = (), title: str = "", over: str = "", arrows: bool = False
) -> Compact:
    """Return the short view of a result.

    Parameters
    ----------
    found
        The result, with raters numbered unless ids are requested.
    most
        The most lines; if there are more, those that stand out most are kept.
    without
        Axes that are shown in another way.
    title, over
        The title, and what it says about intervals where they are shown.
    arrows
        Whether every tested value has an arrow.
    """
    names = _columns(found)
    several = len({row.subset for row in found.rows if row.kind in KINDS}) > 1
    beside = found.compared_with()
    lines: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in found.rows:
        if row.statistic not in names or row.kind not in KINDS or row.axis in without:
            continue
        if row.model and ((row.axis, row.subset) != (ALL, ALL) or (row.kind == REFERENCE and row.model not in beside)):
            continue  # one line for each model; see by_model
        lines.setdefault((row.subset, row.axis, row.group, row.model, row.prompt), {})[row.statistic] = row
    kept = [name for name in names if any(name in own for own in lines.values())]
    each = [_line(list(own.values()), [own.get(name) for name in kept], several=several) for own in lines.values()]
    made = [line for line in each if not (line.name == ALL_RATERS and line.empty)]
    first, counts = _called(made)
    columns = tuple(STATISTICS[name].heading for name in kept)
    return _view(Compact(first, counts, columns, tuple(made), 0, title, over, arrows), most)


def by_model(found: Result, most: int) -> Compact:
    """Return one line for each group and one column for each model, for the most important statistic."""
    name = next(iter(_columns(found)), "")
    groups: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.statistic == name and row.subset == ALL and row.axis != ALL and row.kind != REFERENCE and row.model:
            groups.setdefault((row.axis, row.group), {})[_voice(row)] = row
    voices = list(dict.fromkeys(voice for own in groups.values() for voice in own))
    cut = f", the first {MOST_VOICES} of {len(voices):,} models" if len(voices) > MOST_VOICES else ""
    voices = voices[:MOST_VOICES]
    lines = [
        Line(axis, group, max(row.n_raters for row in own.values()), tuple(own.get(voice) for voice in voices))
        for (axis, group), own in groups.items()
    ]
    title = f"{STATISTICS[name].label} by group{cut}" if lines else ""
    return _view(Compact("group", "raters", tuple(voices), tuple(lines), 0, title), most)


def _view(view: Compact, most: int) -> Compact:
    """Return the lines that stand out most, in their original order."""
    chosen = sorted(range(len(view.lines)), key=lambda at: view.lines[at].surest)[:most]
    return view._replace(lines=tuple(view.lines[at] for at in sorted(chosen)), n_more=len(view.lines) - len(chosen))


def _voice(row: Row) -> str:
    return f"{row.model}, {row.prompt}" if row.prompt else row.model


def _called(lines: Sequence[Line]) -> tuple[str, str]:
    """Return what lines are about, and what their sizes count."""
    rows = [row for line in lines for row in line.cells if row is not None]
    if any(row.model for row in rows):
        return "model", ""
    alone = all(names_raters(row.axis) for row in rows if row.axis != ALL)
    return ("rater", "") if alone and any(row.axis != ALL for row in rows) else ("group", "raters")


def _columns(found: Result) -> list[str]:
    """Return the main statistics of the result's roles, or all of them if none is marked as main."""
    there = {row.statistic for row in found.rows}
    own = [record for record in of_role(*found.ROLES) if record.name in there]
    return [record.name for record in own if record.interval_shown] or [record.name for record in own]


def _line(rows: Sequence[Row], cells: Iterable[Row | None], *, several: bool) -> Line:
    row = rows[0]
    where = [row.subset] if several and row.subset != ALL else []
    n = max(one.n_raters for one in rows)
    who = [] if row.axis in (ALL, RATER) else [row.axis]
    name = row.group if row.axis != ALL else _voice(row) or ALL_RATERS
    return Line(", ".join([*who, *where]), name, n, tuple(cells))


# As text -------------------------------------------------------------------------------------------------------------


def wide(row: Row) -> str:
    """Return a value with three decimals and its interval with two."""
    return interval_text(row.value, row.ci_low, row.ci_high, ".3f").replace("inf", "∞")


def narrow(row: Row) -> str:
    """Return a value and its interval with two decimals, as short as possible.

    Examples
    --------
    >>> from plurivox.infer.result import Row
    >>> narrow(Row("group", "age", "18-29", "gai", 0.5, -0.25, 10.75))
    '.50 [-.25,10.75]'
    """
    text = interval_text(row.value, row.ci_low, row.ci_high, ".2f").replace("inf", "∞")
    return _LEADING_ZERO.sub("", text.replace(", ", ","))


def bare(row: Row) -> str:
    """Return a value with two decimals."""
    return number_cell(row.value)


FORMS: tuple[Callable[[Row], str], ...] = (wide, narrow, bare)
"""How a cell may be written, from the widest form to the narrowest."""


def shown(view: Compact, form: Callable[[Row], str]) -> Shown:
    """Return the short view as a table of text, each heading alone on its line."""
    columns = [_column([line.cells[at] for line in view.lines], form, view) for at in range(len(view.columns))]
    rows, last = [], ""
    for line, *cells in zip(view.lines, *columns, strict=True):
        if line.heading != last:
            rows.append([line.heading, *[""] * (len(view.header) - 1)])
        last = line.heading
        name, *number = view.named(line)
        rows.append([f" {name}" if line.heading else name, *number, *cells])
    title = f"{view.title}; {view.over}" if view.over and form is not bare else view.title
    header = ["n" if name == view.counts and form is not wide else name for name in view.header]
    return Shown(title, header, rows)


def _column(rows: Sequence[Row | None], form: Callable[[Row], str], view: Compact) -> list[str]:
    """Return the cells of a column; where one has a mark, all have room for it, so that numbers line up."""
    marks = [marked(row, view) for row in rows]
    room = max(map(len, marks), default=0)
    gap = " " if room and form is wide else ""
    return ["" if row is None else f"{form(row)}{gap}{mark:<{room}}" for row, mark in zip(rows, marks, strict=True)]


def marked(row: Row | None, view: Compact) -> str:
    """Return how a value compares with chance, as symbols."""
    return "" if row is None or math.isnan(row.value) else mark_of(row, arrows=view.arrows)
