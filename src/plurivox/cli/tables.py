"""Results of lenses as tables of text, for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plurivox.cli.show import ACCENT, plain_table
from plurivox.quoting import harmless, one_line
from plurivox.results.result import Statement
from plurivox.results.text import LEGEND, Shown

MAX_NOTES = 12
_INDENT, _GAP, _LEAST_NAME = 2, 3, 16  # of a table, between two columns, and of the first, which may wrap


def show_tables(
    tables: Iterable[Shown], notes: Sequence[str], said: Iterable[Statement], out: Console, legend: str | None = None
) -> None:
    """Print the tables of a result, their own legend, notes, the usual legend if there is no other, what stands out."""
    for shown in tables:
        print_table(shown, out)
    if legend:
        out.print(Text(legend))
    print_notes(notes, out)
    if legend is None:
        out.print(Text(LEGEND))
    out.print()
    print_findings(said, out)


def print_findings(said: Iterable[Statement], out: Console) -> None:
    """Print what stands out, what is claimed in bold."""
    for one in said:
        out.print(Text(f"• {one_line(one.text)}", style="bold" if one.claim else ""))


def print_sentences(sentences: Iterable[str], out: Console, *, sign: str = "• ") -> None:
    """Print sentences, one a line."""
    for sentence in sentences:
        out.print(Text(f"{sign}{sentence}"))


def print_notes(notes: Sequence[str], out: Console) -> None:
    """Print notes, the first of many."""
    print_sentences(notes[:MAX_NOTES], out)
    more = len(notes) - MAX_NOTES
    if more > 0:
        out.print(Text(f"• and {more} more note{'s' if more > 1 else ''}; see --csv"))


def print_table(shown: Shown, out: Console) -> None:
    """Print one table."""
    shown = Shown(*map(_lines, shown))  # before widths are measured
    out.print(Text(shown.title, style=f"bold {ACCENT}"))
    if not shown.rows:
        out.print(Padding(Text("no group is large enough to show"), (0, 0, 1, _INDENT)))
    for part in _fitting(shown, out.width - _INDENT):
        out.print(Padding(_rich(part), (0, 0, 1, _INDENT)))


def fits(shown: Shown, width: int) -> bool:
    """Tell whether a table stands in a terminal of this width as one, its names wrapped if need be."""
    widths = _widths(shown)
    return min(widths[0], _LEAST_NAME) + sum(widths[1:]) <= width - _INDENT + _GAP


def _widths(shown: Shown) -> list[int]:
    """Return the room that each column takes, with the gap behind it."""
    cells = [shown.header, *shown.rows]
    return [max(cell_len(line[at]) for line in cells) + _GAP for at in range(len(shown.header))]


def _fitting(shown: Shown, width: int) -> Iterator[Shown]:
    """Yield a table in parts that are no wider than a terminal, each with the first column, if it has rows."""
    widths = _widths(shown)
    first = min(widths[0], max(_LEAST_NAME, width // 2))
    if fits(shown, width + _INDENT):
        first = min(first, max(_LEAST_NAME, width - sum(widths[1:])))
    start = 1
    while shown.rows and start < max(len(widths), 2):
        end, used = start, first
        while end < len(widths) and (end == start or used + widths[end] <= width + _GAP):
            used += widths[end]
            end += 1
        columns = [0, *range(start, end)]
        yield Shown(shown.title, [shown.header[at] for at in columns],
                    [[line[at] for at in columns] for line in shown.rows])  # fmt: skip
        start = max(end, start + 1)


def _rich(shown: Shown) -> Table:
    table = plain_table(*shown.header)
    for column in table.columns[1:]:
        column.no_wrap = True
    for line in shown.rows:
        heading = len(line) > 1 and not any(line[1:])  # over the lines below it
        table.add_row(*(Text(cell, style=f"bold {ACCENT}" if heading else "") for cell in line))
    return table


def _lines(part: Any) -> Any:
    """Return each text of a table as one harmless line; what is within lists, too."""
    return " ".join(harmless(part).splitlines()) if isinstance(part, str) else [_lines(one) for one in part]
