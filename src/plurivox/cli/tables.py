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
from plurivox.quoting import harmless
from plurivox.results.text import LEGEND, Shown

MAX_NOTES = 12
_GAP, _LEAST_NAME = 3, 16  # between two columns, and of the first, which may wrap


def show_tables(
    tables: Iterable[Shown], notes: Sequence[str], findings: Iterable[str], out: Console, legend: str | None = None
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
    for sentence in findings:
        out.print(Text(f"• {sentence}", style="bold" if " survives" in sentence else ""))


def print_sentences(sentences: Iterable[str], out: Console) -> None:
    """Print sentences, one a line."""
    for sentence in sentences:
        out.print(Text(f"• {sentence}"))


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


def _rich(shown: Shown) -> Table:
    table = plain_table(*shown.header)
    for column in table.columns[1:]:
        column.no_wrap = True
    for line in shown.rows:
        table.add_row(*map(Text, line))
    return table


def _lines(part: Any) -> Any:
    """Return each text of a table as one harmless line; what is within lists, too."""
    return " ".join(harmless(part).splitlines()) if isinstance(part, str) else [_lines(one) for one in part]
