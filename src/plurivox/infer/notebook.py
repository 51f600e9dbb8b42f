"""Results in notebooks: what they rest on, what stands out, and one row for each group."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from plurivox.base.cards import MOST_ROWS, CardCell, CardGrid, CardSentence, card, heading_of, right_columns
from plurivox.base.wording import counted, interval_method
from plurivox.infer.compact import ALL, Compact, by_model, compact, marked
from plurivox.infer.exported import document_of
from plurivox.infer.exports import legend_of
from plurivox.infer.numbering import for_people
from plurivox.infer.result import Result, Row, Statement
from plurivox.infer.text import Shown, interval_text, number_cell
from plurivox.statistics.registry import LABELS


def result_html(found: Any) -> str:
    """Return what a notebook shows of a result, with raters numbered unless ids are requested."""
    kind, rests_on = heading_of(found)
    if not isinstance(found, Result):
        document = document_of(found, found.IN_NOTEBOOKS)
        grids = [_table(table) for table in document.tables if table.rows]
        return card(kind, rests_on, said=sentences(found.statements()), grids=grids, more=found.ALL_ROWS)
    seen = for_people(found)
    sizes = [size for size in _sizes(seen) if size not in rests_on]
    rests_on = " · ".join([rests_on, *([", ".join(sizes)] if sizes else []), *_intervals(seen)])
    views = (compact(seen, MOST_ROWS), by_model(seen, MOST_ROWS))
    grids = [_grid(view, found.ALL_ROWS) for view in views if view.lines]
    return card(kind, rests_on, said=sentences(seen.statements()), grids=grids, more=found.ALL_ROWS)


def sentences(said: Iterable[Statement]) -> list[CardSentence]:
    """Return statements in the form that a card needs."""
    return [CardSentence(one.text, one.claim, remark=one.weight <= 0) for one in said]


def _sizes(found: Result) -> list[str]:
    """Return the sizes behind all raters together; for groups alone, the number of items."""
    whole = [row for row in found.rows if row.axis == ALL]
    n_items = max((row.n_items for row in whole or found.rows), default=0)
    n_ratings = max((row.n_ratings for row in whole), default=0)
    return [counted(n, what) for n, what in ((n_items, "item"), (n_ratings, "rating")) if n]


def _intervals(found: Result) -> list[str]:
    known = found.settings
    if known.get("interval", "none") == "none" or "resample" not in known:
        return []
    return [f"95 % intervals {interval_method(known)}"]


def _grid(view: Compact, all_rows: str) -> CardGrid:
    """Return the short view of a result as a table."""
    rows: list[list[CardCell]] = []
    last = ""
    for line in view.lines:
        if line.heading != last:
            rows.append([CardCell(line.heading, strong=True)])
        last = line.heading
        rows.append([*map(CardCell, view.named(line)), *(_value(row, view) for row in line.cells)])
    marks = Shown("", view.header, [[cell.text for cell in row] for row in rows])
    below = [legend] if (legend := legend_of([marks], None, tested=True)) else []
    below += [f"{view.more}: {all_rows}"] if view.more else []
    return CardGrid(view.header, [False, *[True] * (len(view.header) - 1)], rows, view.title, below)


def _value(row: Row | None, view: Compact) -> CardCell:
    """Return a value with its interval in small type; one that stands out is bold and marked."""
    if row is None:
        return CardCell("")
    if math.isnan(row.value):
        return CardCell("–")
    mark = marked(row, view)
    ends = interval_text(row.value, row.ci_low, row.ci_high).partition(" ")[2].replace("inf", "∞")
    return CardCell(f"{number_cell(row.value, '.3f')}{f' {mark}' if mark else ''}", ends, strong="*" in mark)


def _table(table: Shown) -> CardGrid:
    """Return a table of text as one of a card."""
    return CardGrid(
        table.header, right_columns(table.rows), [list(map(CardCell, line)) for line in table.rows], table.title
    )


def frame_html(found: Any, *keys: str) -> str:
    """Return what a notebook shows of an object whose frame has a row for each statistic: a row for each key."""
    lines: dict[tuple[str, ...], dict[str, CardCell]] = {}
    for row in found.to_frame().iter_rows(named=True):
        ends = interval_text(row["value"], row.get("ci_low"), row.get("ci_high")).partition(" ")[2]
        key = tuple(str(row[name]) for name in keys)
        lines.setdefault(key, {})[row["statistic"]] = CardCell(number_cell(row["value"], ".3f"), ends)
    names = list(dict.fromkeys(name for own in lines.values() for name in own))
    rows = [[*map(CardCell, key), *(own.get(name, CardCell("")) for name in names)] for key, own in lines.items()]
    header = [*(key.replace("_", " ") for key in keys), *(LABELS.get(name, name) for name in names)]
    grid = CardGrid(header, [at > 0 for at in range(len(header))], rows)
    return card(*heading_of(found), said=sentences(found.statements()), grids=[grid], more="to_frame()")
