"""Results on a terminal: everything, or what matters most, so that it fits a screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plurivox.base import imported
from plurivox.base.wording import counted, harmless, listed, one_line
from plurivox.infer.exports import legend_of
from plurivox.infer.result import Statement
from plurivox.infer.view import LEGEND, SIZES, View

if TYPE_CHECKING:
    from plurivox.infer.lens import Lens


ACCENT = "cyan"
MAX_NOTES = 12
MOST_FINDINGS, SCREEN = 4, 42
"""The largest number of findings, and how many lines of a screen tables and findings should fill together."""
_INDENT, _GAPS, _LEAST_NAME = 2, (3, 2), 14  # of a table, between columns, and of the first, which may wrap
WITHHELD = "withheld"
_FEWEST_LINES = 6
_SHOWN = {
    "advise": "plurivox.cli.show:show_advice",
    "item_view": "plurivox.cli.show:show_item",
    "select_raters": "plurivox.cli.show:show_selection",
}
"""Lenses for which tables, notes and findings are not enough, and what prints their results."""


def show_result(lens: Lens, result: Any, out: Console, **showing: Any) -> None:
    """Print the tables of a result, notes on them, then the findings; or as the lens itself shows it."""
    if lens.name in _SHOWN:
        imported(_SHOWN[lens.name])(result, out, **showing)
        return
    made = [View(*one) for one in lens.load("tables")(result, **showing)]
    said = result.statements() if hasattr(result, "statements") else []
    if lens.notes or lens.legend is not None:
        show_tables(made, _notes(lens, result), said, out, _legend(lens, result))
    else:
        print_table(*made, out=out)
        print_findings(said, out)
    if lens.closing:
        print_sentences([lens.closing], out)


def show_brief(lens: Lens, result: Any, out: Console, showing: Mapping[str, Any], n_tables: int) -> None:
    """Print what matters most of a result, and say what ``--all`` adds."""
    made: list[View] = []
    hidden: list[str] = []
    for view in lens.load("brief")(result, **showing):
        for size in SIZES if view.short else SIZES[:1]:  # the widest that fits
            table = view.text(size)
            if _gap(table, out.width) is not None:
                break
        print_table(table, out=out)
        made.append(table)
        hidden += [view.more] if view.more else []
        hidden += [view.over] if view.over and size == SIZES[-1] else []
    if legend := legend_of(made, _legend(lens, result), tested=bool(lens.notes)):
        print_sentences([f"{one_line(legend)}\n"], out, sign="")
    n_findings = _findings(result.statements(), made, out)
    left = {"table": n_tables - len(made), "finding": n_findings, "note": len(_notes(lens, result))}
    hidden += [counted(n, f"more {what}") for what, n in left.items() if n > 0]
    print_sentences([lens.closing] if lens.closing else [], out)
    print_sentences([f"… {listed(hidden)}: --all"] if hidden else [], out, sign="")


def _notes(lens: Lens, result: Any) -> list[str]:
    return lens.load("notes")(result) if lens.notes else []


def _legend(lens: Lens, result: Any) -> str | None:
    """Return the legend of the tables; without groups or ratings there is nothing to explain."""
    groups = lens.every_attribute and any(row.axis != "all" or row.p_value is not None for row in result.rows)
    without = not groups if lens.every_attribute else lens.alone and not result.rows
    return "" if without else lens.legend


def _findings(said: Sequence[Statement], tables: Iterable[View], out: Console) -> int:
    """Print the most important findings, as many as fit a screen, and who is withheld; count the others."""
    room = SCREEN - 6 - sum(len(one.rows) + 4 for one in tables)
    found = [one for one in said if one.weight > 0] or list(said)[:1]
    chosen: list[Statement] = []
    lines = 0
    for one in found[:MOST_FINDINGS]:
        lines += math.ceil((cell_len(one_line(one.text)) + 2) / out.width)
        if chosen and lines > max(room, _FEWEST_LINES):
            break
        chosen.append(one)
    chosen += [one for one in said if one.statistic == WITHHELD and one not in chosen]
    print_findings(chosen, out)
    return len(said) - len(chosen)


def show_tables(
    tables: Iterable[View], notes: Sequence[str], said: Iterable[Statement], out: Console, legend: str | None = None
) -> None:
    """Print the tables of a result, their legend, notes, the usual legend if there is no other, and the findings."""
    print_table(*tables, out=out)
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


def print_table(*views: View, out: Console) -> None:
    """Print views."""
    for view in views:
        text = view.text()
        title, header, rows = map(_lines, (text.title, text.header, text.rows))  # before widths are measured
        out.print(Text(title, style=f"bold {ACCENT}"))
        if not rows:
            out.print(Padding(Text("no group is large enough to show"), (0, 0, 1, _INDENT)))
        for part, gap in _fitting(View(title, header, rows), out.width) if rows else ():
            out.print(Padding(_rich(part, gap), (0, 0, 1, _INDENT)))


def _gap(shown: View, width: int) -> int | None:
    """Return the gap that makes a table fit in one piece, None if none does; it is rather narrow than wraps names."""
    name, *others = _widths(shown)
    for first in (name, min(name, _LEAST_NAME)):
        for gap in _GAPS:
            if first + sum(others) + gap * len(others) <= width - _INDENT:
                return gap
    return None


def _widths(shown: View) -> list[int]:
    """Return how wide each column is."""
    cells = [shown.header, *shown.rows]
    return [max(cell_len(line[at]) for line in cells) for at in range(len(shown.header))]


def _fitting(shown: View, width: int) -> Iterator[tuple[View, int]]:
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
        yield View(shown.title, [shown.header[at] for at in columns], rows), _GAPS[0]
        start = max(end, start + 1)


def _rich(shown: View, gap: int) -> Table:
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


class _Table(Table):
    """A table whose cells are made harmless before their widths are measured."""

    def add_row(self, *cells: RenderableType | None, **more: Any) -> None:
        """Add a row of texts."""
        texts = (cell if isinstance(cell, Text) else Text(str(cell)) for cell in cells)
        super().add_row(*(Text(harmless(cell.plain), cell.style) for cell in texts), **more)


def plain_table(*headers: str, left: int = 1) -> Table:
    """Return an empty table without a frame; only the first ``left`` columns are left-aligned."""
    table = _Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for i, header in enumerate(headers):
        table.add_column(Text(harmless(header)), justify="left" if i < left else "right", overflow="fold")
    return table
