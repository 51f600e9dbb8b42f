"""Results of lenses as tables of text, for terminals."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plurivox.base.wording import harmless, one_line
from plurivox.cli.show import ACCENT, plain_table
from plurivox.infer.result import Statement
from plurivox.infer.text import LEGEND, Shown

MAX_NOTES = 12
_INDENT, _GAPS, _LEAST_NAME = 2, (3, 2), 14  # of a table, between columns, and of the first, which may wrap


def show_tables(
    tables: Iterable[Shown], notes: Sequence[str], said: Iterable[Statement], out: Console, legend: str | None = None
) -> None:
    """Print the tables of a result, their legend, notes, the usual legend if there is no other, and the findings."""
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
    """Print the findings, claims in bold."""
    for one in said:
        out.print(Text(f"• {one_line(one.text)}", style="bold" if one.claim else ""))


def print_sentences(sentences: Iterable[str], out: Console, *, sign: str = "• ") -> None:
    """Print sentences, one per line."""
    for sentence in sentences:
        out.print(Text(f"{sign}{sentence}"))


def print_notes(notes: Sequence[str], out: Console) -> None:
    """Print notes; if there are many, only the first ones."""
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
    for part, gap in _fitting(shown, out.width) if shown.rows else ():
        out.print(Padding(_rich(part, gap), (0, 0, 1, _INDENT)))


def fits(shown: Shown, width: int) -> bool:
    """Return whether a table fits this width in one piece, with names wrapped if necessary."""
    return _gap(shown, width) is not None


def _gap(shown: Shown, width: int) -> int | None:
    """Return the gap between columns that makes a table fit; a narrow gap is preferred to wrapped names."""
    name, *others = _widths(shown)
    for first in (name, min(name, _LEAST_NAME)):
        for gap in _GAPS:
            if first + sum(others) + gap * len(others) <= width - _INDENT:
                return gap
    return None


def _widths(shown: Shown) -> list[int]:
    """Return how wide each column is."""
    cells = [shown.header, *shown.rows]
    return [max(cell_len(line[at]) for line in cells) for at in range(len(shown.header))]


def _fitting(shown: Shown, width: int) -> Iterator[tuple[Shown, int]]:
    """Yield a table in one piece if it fits, otherwise in parts with the first column each; and the gap to leave."""
    if (gap := _gap(shown, width)) is not None:
        yield shown, gap
        return
    widths = [one + _GAPS[0] for one in _widths(shown)]
    first = min(widths[0], max(_LEAST_NAME, width // 2))
    start = 1
    while start < max(len(widths), 2):
        end, used = start, first
        while end < len(widths) and (end == start or used + widths[end] <= width - _INDENT):
            used += widths[end]
            end += 1
        columns = [0, *range(start, end)]
        rows = [[line[at] for at in columns] for line in shown.rows]
        yield Shown(shown.title, [shown.header[at] for at in columns], rows), _GAPS[0]
        start = max(end, start + 1)


def _rich(shown: Shown, gap: int) -> Table:
    table = plain_table(*shown.header)
    table.padding = (0, (gap - 1) // 2, 0, gap - 1 - (gap - 1) // 2)  # and one between them
    for column in table.columns[1:]:
        column.no_wrap = True
    for line in shown.rows:
        heading = len(line) > 1 and not any(line[1:])  # over the lines below it
        table.add_row(*(Text(cell, style=f"bold {ACCENT}" if heading else "") for cell in line))
    return table


def _lines(part: Any) -> Any:
    """Return each text of a table as one harmless line, including those in lists."""
    return " ".join(harmless(part).splitlines()) if isinstance(part, str) else [_lines(one) for one in part]
