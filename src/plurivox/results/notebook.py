"""Results in notebooks: what they rest on, what stands out, and one row for each group."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from plurivox.cards import MOST_ROWS, Cell, Grid, Sentence, card
from plurivox.results.compact import Compact, compact, marked
from plurivox.results.exported import document_of
from plurivox.results.exports import legend_of, right_columns
from plurivox.results.numbering import for_people
from plurivox.results.result import Result, Row, Statement
from plurivox.results.text import Shown, interval_text, number_cell
from plurivox.results.wording import counted, interval_method

MORE = "to_frame()"
LOWER = "Lower is better."


def result_html(found: Any) -> str:
    """Return what a notebook shows of a result, raters numbered unless they are to be called by their ids."""
    kind, rests_on = heading_of(found)
    if not isinstance(found, Result):
        document = document_of(found, {})
        grids = [_table(table) for table in document.tables if table.rows]
        return card(kind, rests_on, said=sentences(found.statements()), grids=grids, more=MORE)
    seen = for_people(found)
    rests_on = " · ".join([rests_on, *_sizes(seen), *_intervals(seen)])
    view = compact(seen, MOST_ROWS)
    return card(kind, rests_on, said=sentences(seen.statements()), grids=[_grid(view)] if view.lines else [])


def heading_of(found: Any) -> tuple[str, str]:
    """Return what something is, and what it rests on, as its ``repr`` says.

    Examples
    --------
    >>> from plurivox.scale import Scale
    >>> heading_of(range(3))
    ('range', '')
    """
    kind, _, rest = repr(found).removeprefix("<").removesuffix(">").partition(": ")
    return (kind, rest) if rest else (type(found).__name__, "")


def sentences(said: Iterable[Statement]) -> list[Sentence]:
    """Return statements as a card takes them."""
    return [Sentence(one.text, one.claim, remark=one.weight <= 0) for one in said]


def _sizes(found: Result) -> list[str]:
    """Return how much the largest value rests on, so that nobody has to look it up."""
    n = {name: max((getattr(row, name) for row in found.rows), default=0) for name in ("n_items", "n_ratings")}
    parts = [counted(n["n_items"], "item")] if n["n_items"] else []
    return [", ".join([*parts, *([counted(n["n_ratings"], "rating")] if n["n_ratings"] else [])])] if parts else []


def _intervals(found: Result) -> list[str]:
    known = found.settings
    if known.get("interval", "none") == "none" or "resample" not in known:
        return []
    return [f"95 % intervals {interval_method(known)}"]


def _grid(view: Compact) -> Grid:
    """Return the short view of a result as a table."""
    rows: list[list[Cell]] = []
    last = ""
    for line in view.lines:
        if line.heading != last:
            rows.append([Cell(line.heading, strong=True)])
        last = line.heading
        rows.append([Cell(line.name), Cell(f"{line.n:,}"), *(_value(row, view) for row in line.cells)])
    header = [view.first, view.counts, *(record.heading for record in view.columns)]
    marks = Shown("", header, [[cell.text for cell in row] for row in rows])
    below = [legend] if (legend := legend_of([marks], None, tested=True)) else []
    below += [f"{view.more} more: {MORE}"] if view.n_more else []
    return Grid(header, [False, *[True] * (len(header) - 1)], rows, below=below)


def _value(row: Row | None, view: Compact) -> Cell:
    """Return a value with its interval in small type; one that stands out is bold, and has signs."""
    if row is None:
        return Cell("")
    if math.isnan(row.value):
        return Cell("–")
    mark = marked(row, view)
    ends = interval_text(row.value, row.ci_low, row.ci_high).partition(" ")[2].replace("inf", "∞")
    return Cell(f"{number_cell(row.value, '.3f')}{f' {mark}' if mark else ''}", ends, strong="*" in mark)


def _table(table: Shown) -> Grid:
    """Return a table of text as one of a card."""
    return Grid(table.header, right_columns(table), [list(map(Cell, line)) for line in table.rows], table.title)
