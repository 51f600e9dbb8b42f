"""Views: what a result shows as tables, once for all surfaces.

A view is a title, a header and rows of values. A heading that is a :class:`Column` says how the values below it are
written; terminals, Markdown, LaTeX, HTML and notebooks write them out, reports keep them as numbers that can be sorted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.wording import counted
from plurivox.domain.answers import Voice
from plurivox.domain.axis import names_raters
from plurivox.infer.families import SIGNIFICANT
from plurivox.statistics.registry import LABELS, STATISTICS, of_role

if TYPE_CHECKING:
    from plurivox.infer.result import Result, Row

ARROWS = {"above": "↑", "below": "↓", None: " "}
BARS = "▁▂▃▄▅▆▇█"
LEGEND = "↑ ↓ above or below what chance gives; * p < .05, ** p < .05 after correction"
NONE = "–"

# How values are written: a format specification, that of interval ends in brackets, and * to mark what chance gives.
SCORE, TESTED, RANGE, TESTED_RANGE = ".3f", ".3f *", ".2f [.2f]", ".3f [.2f] *"
P = "p"
INTERVAL = " [.2f]"
"""An interval alone."""
SHORT = "short"
"""A tested value that may be written in one of :data:`SIZES`, depending on the room."""
SIZES = (".3f [.2f]", ".2f [.2f]", ".2f")
_FIELDS = {"value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "after": pl.String}
_PLACES = re.compile(r"\.(\d)[f%]")
_LEADING_ZERO = re.compile(r"(?<!\d)0(?=\.)")


class Column(str):
    """A heading, and how the values below it are written; ``extra`` ones are shown only where tables can be wide."""

    form: str
    extra: bool

    def __new__(cls, name: str, form: str = SCORE, *, extra: bool = False) -> Self:
        """Return a heading with a form."""
        made = super().__new__(cls, name)
        made.form, made.extra = form, extra
        return made


def columns(form: str, names: Iterable[str]) -> list[Column]:
    """Return headings with the same form."""
    return [Column(name, form) for name in names]


def form_of(heading: str) -> str:
    """Return how the values below a heading are written."""
    return getattr(heading, "form", SCORE)


class Value(NamedTuple):
    """A number, its interval, and what is written after it."""

    value: float | None
    low: float | None = None
    high: float | None = None
    after: str = ""

    @classmethod
    def of(cls, cell: Any, form: str = "", *, arrows: bool = False) -> Value:
        """Return a cell that is a number, a value or a row of a result as a value."""
        if isinstance(cell, Value):
            return cell
        if cell is None or isinstance(cell, int | float):
            return cls(cell)
        marked = form == SHORT or form.endswith("*")
        return cls(cell.value, cell.ci_low, cell.ci_high, mark_of(cell, arrows=arrows) if marked else "")

    @property
    def defined(self) -> bool:
        """Whether there is a number."""
        return self.value is not None and not math.isnan(self.value)

    def ends(self, form: str) -> str:
        """Return the interval, empty where none is known."""
        if self.low is None or self.high is None or math.isnan(self.low):
            return ""
        return f"[{_number(self.low, form)}, {_number(self.high, form)}]"


Cell = "str | float | None | Value | Row"


def mark_of(row: Row, *, arrows: bool = False) -> str:
    """Return how a value compares with chance, as symbols; nothing where p is large, unless arrows are wanted there."""
    stars = ""
    if row.p_value is not None and row.p_value < SIGNIFICANT:
        stars = "**" if row.p_adjusted is not None and row.p_adjusted < SIGNIFICANT else "*"
    return f"{ARROWS[row.direction]}{stars}" if stars or (arrows and row.direction) else ""


def written(cell: Any, form: str = SCORE, *, arrows: bool = False, none: str = NONE) -> str:
    """Return a cell as text: a number in its form, a dash if there is none.

    Examples
    --------
    >>> written(Value(0.5, 0.25, 0.75), RANGE), written(Value(0.5), RANGE), written(float("nan"))
    ('0.50 [0.25, 0.75]', '0.50', '–')
    >>> written(1234), written(True), written(0.012, P), written(0.0004, P), written(0.25, ".0%")
    ('1,234', 'yes', '.012', '<.001', '25%')
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    value = Value.of(cell, form, arrows=arrows)
    if value.value is None or math.isnan(value.value):
        return value.after or none
    spec, _, ends = form.removesuffix(" *").partition(" ")
    text = spec and _number(value.value, spec)
    return " ".join(filter(None, (text, ends and value.ends(ends[1:-1]), value.after)))


def _number(value: float, spec: str) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if spec == P:
        return "<.001" if value < 0.001 else f"{value:.3f}".removeprefix("0")
    if spec == SCORE:
        value = round(value, 3)
    text = format(value + 0.0, spec)  # + 0.0, since -0.0 is 0
    return text.lstrip("+-") if spec.startswith("+") and not text.strip("+-0.") else text


class View(NamedTuple):
    """A table: its title, its header, and rows of texts and values.

    Attributes
    ----------
    header
        Names of columns, as :class:`Column` where values are not written with three decimals.
    rows
        Texts; numbers, None where there is none; values with intervals; rows of a result. A row of one cell is a
        heading over those below it.
    arrows
        Whether every tested value has an arrow.
    over
        What intervals are over, said where a short view shows them.
    n_more
        How many rows a short view leaves out.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[Any]]
    arrows: bool = False
    over: str = ""
    n_more: int = 0

    @property
    def short(self) -> bool:
        """Whether values may be written shorter where there is little room."""
        return any(form_of(name) == SHORT for name in self.header)

    @property
    def more(self) -> str:
        """How many groups, raters or models are left out, empty if none are."""
        return counted(self.n_more, f"more {self.header[0]}") if self.n_more else ""

    def text(self, size: str = SIZES[0]) -> View:
        """Return the same with every cell as text, without extra columns; a short view is written in this size."""
        kept = [at for at, name in enumerate(self.header) if not getattr(name, "extra", False)]
        if len(kept) < len(self.header):
            rows = [[row[at] for at in kept] for row in self.rows]
            return self._replace(header=[self.header[at] for at in kept], rows=rows).text(size)
        name, *values = self.header
        full = [row for row in self.rows if len(row) == len(self.header)]
        cells = [_texts([row[at] for row in full], one, size, self.arrows) for at, one in enumerate(self.header)]
        lines, rows, indent = zip(*cells, strict=True), [], ""
        for row in self.rows:
            if len(row) < len(self.header):
                rows.append([row[0], *[""] * len(values)])
                indent = " " if row[0] else ""
            else:
                first, *others = next(lines)
                rows.append([indent + first, *others])
        over = f"; {self.over}" if self.over and size != SIZES[-1] else ""
        less = self.short and size != SIZES[0]
        header = [name, *("n" if less and one == "raters" else str(one) for one in values)]
        return View(f"{self.title}{over}", header, rows)

    def frame(self) -> pl.DataFrame:
        """Return every cell, numbers as numbers; with intervals, as structs of value, low, high and what follows."""
        rows, heading = [], ""
        for row in self.rows:
            if len(row) < len(self.header):
                heading = f"{row[0]}: "
            else:
                rows.append([f"{heading}{row[0]}" if heading else row[0], *row[1:]])
        found: dict[str, pl.Series] = {}
        for at, name in enumerate(self.header):
            own = str(name) or ("what" if at == 0 else "result")
            own = own if own not in found else f"{own} {at + 1}"
            found[own] = _series([row[at] for row in rows], form_of(name), self.arrows)
        return pl.DataFrame(found)

    @property
    def digits(self) -> dict[str, int]:
        """How many decimals are shown of the values of each column that has a form."""
        forms = {str(name): form_of(name) for name in self.header}
        places = {name: int(found[1]) for name, form in forms.items() if (found := _PLACES.search(form))}
        return {name: n + 2 * ("%" in forms[name]) for name, n in places.items()}


def _series(cells: Sequence[Any], form: str, arrows: bool) -> pl.Series:
    """Return a column: numbers where each cell is one or empty, otherwise texts."""
    texts = any(isinstance(cell, bool) or (isinstance(cell, str) and cell) for cell in cells)
    if texts or all(cell is None or cell == "" for cell in cells):
        return pl.Series(
            [None if cell is None else written(cell, form, arrows=arrows) for cell in cells], dtype=pl.String
        )
    values = [Value(None) if isinstance(cell, str) else Value.of(cell, form, arrows=arrows) for cell in cells]
    if any(value.low is not None or value.after for value in values):
        return pl.Series([value._asdict() for value in values], dtype=pl.Struct(_FIELDS))
    whole = all(isinstance(value.value, int) for value in values if value.value is not None)
    return pl.Series([value.value for value in values], dtype=pl.Int64 if whole else pl.Float64)


def _texts(cells: Sequence[Any], heading: str, size: str, arrows: bool) -> list[str]:
    """Return a column as texts; where one of a short view has a mark, all have room for it, so that numbers line up."""
    form = form_of(heading)
    if form != SHORT:
        return [written(cell, form, arrows=arrows) for cell in cells]
    values = [None if cell is None else Value.of(cell, form, arrows=arrows) for cell in cells]
    marks = [value.after if value is not None and value.defined else "" for value in values]
    room = max(map(len, marks), default=0)
    gap = " " if room and size == SIZES[0] else ""
    texts = ["" if value is None else written(value._replace(after=""), size) for value in values]
    if size == SIZES[1]:
        texts = [_LEADING_ZERO.sub("", text.replace(", ", ",")) for text in texts]
    return [text and f"{text}{gap}{mark:<{room}}" for text, mark in zip(texts, marks, strict=True)]


def filled(*views: View) -> list[View]:
    """Return the views that have rows."""
    return [view for view in views if view.rows]


def view_of(title: str, frame: pl.DataFrame, headings: Mapping[str, str]) -> View:
    """Return columns of a frame as a view.

    Parameters
    ----------
    headings
        The heading of each column. ``model`` also names the prompt if that has no column of its own. The interval of
        a column ``x`` whose form shows one is in ``x_low`` and ``x_high``, or else in ``ci_low`` and ``ci_high``.
    """
    header = [Column(to, P) if name.startswith("p_") and type(to) is str else to for name, to in headings.items()]
    own = [_column_of(frame, name, form_of(one)) for name, one in zip(headings, header, strict=True)]
    return View(title, header, list(zip(*own, strict=True)))


def _column_of(frame: pl.DataFrame, name: str, form: str) -> Sequence[Any]:
    values = frame[name].to_list()
    if name == "model" and "prompt" in frame.columns:
        return [str(Voice(*pair)) for pair in zip(values, frame["prompt"], strict=True)]
    if name == "statistic":
        return [LABELS.get(one, one) for one in values]
    if "[" in form:
        low, high = ("ci_low", "ci_high") if f"{name}_low" not in frame.columns else (f"{name}_low", f"{name}_high")
        return [Value(*ends) for ends in zip(values, frame[low], frame[high], strict=True)]
    return values


def notes_of(rows: Iterable[Row], names: Mapping[str, str]) -> list[str]:
    """Return the notes of rows, with identical ones of a group combined."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        if row.note:
            found.setdefault((row.subset, row.axis, row.group, row.note), []).append(names[row.statistic])
    return [
        f"{group if axis != 'all' else 'all raters'}{'' if subset == 'all' else f' on {subset}'}, "
        f"{', '.join(statistics)}: {note}"
        for (subset, axis, group, note), statistics in found.items()
    ]


QUANTILES = {"lowest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "highest": 1.0}


def spread_view(title: str, statistics: Mapping[str, NDArray[np.float64] | Sequence[float]]) -> View:
    """Return how statistics spread over raters: how many values are defined, and quantiles of these."""
    rows = []
    for name, values in statistics.items():
        every = np.asarray(values, np.float64)
        defined = every[~np.isnan(every)]
        spread = [float(np.quantile(defined, q)) if len(defined) else None for q in QUANTILES.values()]
        rows.append([name, len(defined), len(every) - len(defined), *spread])
    return View(title, ["statistic", "raters", "undefined", *QUANTILES], rows)


# Short views ---------------------------------------------------------------------------------------------------------

ALL, RATER, REFERENCE = "all", "rater", "reference"
KINDS = ("overall", "group", RATER, "model", "voice", REFERENCE)
"""Rows about someone, rather than about a difference or a whole axis."""
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
    cells: Sequence[Row | None]

    @property
    def surest(self) -> tuple[bool, bool, float]:
        """The sort key of lines: first that of all raters, then those that stand out most."""
        rows = [row for row in self.cells if row is not None]
        p = min((row.p_value for row in rows if row.tested and row.p_value is not None), default=1.0)
        whole = any(row.axis == ALL for row in rows)
        return not whole, not any(row.survives for row in rows if row.tested), p


def compact(
    found: Result, most: int = MOST_LINES, *, without: Collection[str] = (), title: str = "", over: str = "",
    arrows: bool = False,
) -> View:  # fmt: skip
    """Return the short view of a result: a line for each group, a column for each statistic that matters first.

    The registry decides which statistics have a column: those in the roles that a result names whose interval is shown.

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
    names = _main(found)
    several = len({row.subset for row in found.rows if row.kind in KINDS}) > 1
    beside = found.compared_with()
    each: dict[tuple[str, ...], dict[str, Row]] = {}
    for row in found.rows:
        if row.statistic not in names or row.kind not in KINDS or row.axis in without:
            continue
        if row.model and ((row.axis, row.subset) != (ALL, ALL) or (row.kind == REFERENCE and row.model not in beside)):
            continue  # one line for each model; see by_model
        each.setdefault((row.subset, row.axis, row.group, row.model, row.prompt), {})[row.statistic] = row
    kept = [name for name in names if any(name in own for own in each.values())]
    lines = []
    for own in each.values():
        row = next(iter(own.values()))
        where = [row.subset] if several and row.subset != ALL else []
        who = [] if row.axis in (ALL, RATER) else [row.axis]
        name = row.group if row.axis != ALL else _voice(row) or ALL_RATERS
        if name != ALL_RATERS or not all(math.isnan(one.value) for one in own.values()):
            n = max(one.n_raters for one in own.values())
            lines.append(Line(", ".join([*who, *where]), name, n, [own.get(one) for one in kept]))
    rows = [row for line in lines for row in line.cells if row is not None]
    axes = {row.axis for row in rows} - {ALL}
    first = "model" if any(row.model for row in rows) else "rater" if axes and all(map(names_raters, axes)) else "group"
    view = short_view(title, first, [STATISTICS[name].heading for name in kept], lines, most)
    return view._replace(over=over, arrows=arrows)


def by_model(found: Result, most: int) -> View:
    """Return one line for each group and one column for each model, for the most important statistic."""
    name = next(iter(_main(found)), "")
    groups: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.statistic == name and row.subset == ALL and row.axis != ALL and row.kind != REFERENCE and row.model:
            groups.setdefault((row.axis, row.group), {})[_voice(row)] = row
    voices = list(dict.fromkeys(voice for own in groups.values() for voice in own))
    cut = f", the first {MOST_VOICES} of {len(voices):,} models" if len(voices) > MOST_VOICES else ""
    voices = voices[:MOST_VOICES]
    lines = [
        Line(axis, group, max(row.n_raters for row in own.values()), [own.get(voice) for voice in voices])
        for (axis, group), own in groups.items()
    ]
    title = f"{STATISTICS[name].label} by group{cut}" if lines else ""
    return short_view(title, "group", voices, lines, most)


def short_view(title: str, first: str, names: Iterable[str], lines: Sequence[Line], most: int) -> View:
    """Return the lines that stand out most, in their order and each heading once; only groups have a size."""
    chosen = sorted(sorted(range(len(lines)), key=lambda at: lines[at].surest)[:most])
    rows: list[Sequence[Any]] = []
    last = ""
    for line in (lines[at] for at in chosen):
        if line.heading != last:
            rows.append([line.heading])
        last = line.heading
        rows.append([line.name, *([line.n] if first == "group" else []), *line.cells])
    header = [first, *(["raters"] if first == "group" else []), *columns(SHORT, names)]
    return View(title, header, rows, n_more=len(lines) - len(chosen))


def _voice(row: Row) -> str:
    return f"{row.model}, {row.prompt}" if row.prompt else row.model


def _main(found: Result) -> list[str]:
    """Return the main statistics of the result's roles, or all of them if none is marked as main."""
    there = {row.statistic for row in found.rows}
    own = [record for record in of_role(*found.ROLES) if record.name in there]
    return [record.name for record in own if record.interval_shown] or [record.name for record in own]
