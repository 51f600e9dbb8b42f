"""Results of lenses as tables of text, for terminals and Markdown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plurivox.cli.show import ACCENT, console, csv_text, markdown_text, plain_table
from plurivox.results.result import SIGNIFICANT, Result, Row
from plurivox.results.tables import TableResult

MAX_NOTES = 12
_GAP, _LEAST_NAME = 3, 16  # between two columns, and of the first, which may wrap
ARROWS = {"above": "↑", "below": "↓", None: " "}
LEGEND = "↑ ↓ above or below what chance gives; * p < .05, ** p < .05 after correction"


class Shown(NamedTuple):
    """A table ready to print: its title, its header and its rows."""

    title: str
    header: list[str]
    rows: list[list[str]]


def show_tables(tables: Iterable[Shown], notes: Sequence[str], findings: Iterable[str], out: Console) -> None:
    """Print the tables of a result, then notes, then what stands out."""
    for shown in tables:
        print_table(shown, out)
    print_notes(notes, out)
    out.print(Text(LEGEND))
    out.print()
    for sentence in findings:
        out.print(Text(f"• {sentence}", style="bold" if " survives" in sentence else ""))


def print_notes(notes: Sequence[str], out: Console) -> None:
    """Print notes, the first of many."""
    for note in notes[:MAX_NOTES]:
        out.print(Text(f"• {note}"))
    more = len(notes) - MAX_NOTES
    if more > 0:
        out.print(Text(f"• and {more} more note{'s' if more > 1 else ''}; see --csv"))


def print_table(shown: Shown, out: Console) -> None:
    """Print one table."""
    out.print(Text(shown.title, style=f"bold {ACCENT}"))
    if not shown.rows:
        out.print(Padding(Text("no group is large enough to show"), (0, 0, 1, 2)))
    for part in _fitting(shown, out.width - 2):
        out.print(Padding(_rich(part), (0, 0, 1, 2)))


def _fitting(shown: Shown, width: int) -> Iterator[Shown]:
    """Yield a table in parts that are no wider than a terminal, each with the first column, if it has rows."""
    cells = [shown.header, *shown.rows]
    widths = [max(cell_len(line[at]) for line in cells) + _GAP for at in range(len(shown.header))]
    first = min(widths[0], max(_LEAST_NAME, width // 2))
    start = 1
    while shown.rows and start < max(len(widths), 2):
        end, used = start, first
        while end < len(widths) and (end == start or used + widths[end] <= width):
            used += widths[end]
            end += 1
        columns = [0, *range(start, end)]
        yield Shown(shown.title, [shown.header[at] for at in columns],
                    [[line[at] for at in columns] for line in shown.rows])  # fmt: skip
        start = max(end, start + 1)


def notes_of(rows: Iterable[Row], names: Mapping[str, str]) -> list[str]:
    """Return the notes of rows, alike ones of a group together."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        if row.note:
            found.setdefault((row.subset, row.axis, row.group, row.note), []).append(names[row.statistic])
    return [
        f"{group if axis != 'all' else 'all raters'}{'' if subset == 'all' else f' on {subset}'}, "
        f"{', '.join(statistics)}: {note}"
        for (subset, axis, group, note), statistics in found.items()
    ]


def value_cell(row: Row, *, intervals: bool = False) -> str:
    """Return a value, with its interval if wanted, and how it compares with chance."""
    if math.isnan(row.value):
        return "–"
    text = f"{row.value:.3f}"
    if intervals and row.ci_low is not None and row.ci_high is not None:
        text += f" [{row.ci_low:.2f}, {row.ci_high:.2f}]"
    if row.p_value is not None and row.p_value < SIGNIFICANT:
        corrected = row.p_adjusted is not None and row.p_adjusted < SIGNIFICANT
        text += f" {ARROWS[row.direction]}{'**' if corrected else '*'}"
    return text


QUANTILES = {"lowest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "highest": 1.0}


def spread_header() -> list[str]:
    """Return the header of a table of how statistics spread over raters."""
    return ["statistic", "raters", "undefined", *QUANTILES]


def quantile_cells(values: NDArray[np.float64]) -> list[str]:
    """Return how many values are defined and undefined, and how the defined ones spread."""
    defined = values[~np.isnan(values)]
    spread = [f"{np.quantile(defined, q) + 0.0:.3f}" if len(defined) else "–" for q in QUANTILES.values()]
    return [f"{len(defined):,}", f"{len(values) - len(defined):,}", *spread]


def p_cell(p: float | None) -> str:
    """Return a p-value, a dash if there is none."""
    if p is None or math.isnan(p):
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def _rich(shown: Shown) -> Table:
    table = plain_table(*shown.header)
    for column in table.columns[1:]:
        column.no_wrap = True
    for line in shown.rows:
        table.add_row(*(Text(" ".join(cell.splitlines())) for cell in line))
    return table


def print_result(
    found: Result,
    frame: pl.DataFrame,
    tables: Callable[[Any], list[Shown]],
    show: Callable[[Any, Console], None],
    *,
    json: bool,
    csv: bool,
    markdown: bool,
) -> None:
    """Print a result as JSON, its frame as CSV, its tables as Markdown, or for the terminal."""
    if json:
        print(found.to_json(draws=False))
    elif csv:
        print(csv_text(frame), end="")
    elif markdown:
        print(markdown_text(tables(found), found.findings()))
    else:
        show(found, console())


def print_tables(
    found: TableResult,
    table: str,
    tables: Callable[[Any], list[Shown]],
    show: Callable[[Any, Console], None],
    *,
    json: bool,
    csv: bool,
    markdown: bool,
) -> None:
    """Print a result that is tables: as JSON, one of its tables as CSV, as Markdown, or for the terminal."""
    if json:
        print(found.to_json())
    elif csv:
        print(csv_text(found.table(table)), end="")
    elif markdown:
        print(markdown_text(tables(found), found.findings()))
    else:
        show(found, console())
