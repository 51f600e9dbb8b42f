"""Results on a terminal: everything, or what matters most, so that it fits a screen; and studies, in their own way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl
from rich import box
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plurivox.actions.advise.result import REMARK, Advice, counted_raters, lists_of, members_of, pairs_of
from plurivox.actions.select import result as selection
from plurivox.base.wording import counted, harmless, listed, one_line, protected, withheld_note
from plurivox.domain.axis import names_raters
from plurivox.infer.exports import legend_of
from plurivox.infer.result import Statement
from plurivox.infer.view import BARS, LEGEND, SIZES, View, filled
from plurivox.lenses.item import LENS
from plurivox.lenses.item.result import MAX_TEXT, ItemView, group_tables, use_of
from plurivox.lenses.overview.description import AxisSummary, Description
from plurivox.lenses.overview.run import panel_view

if TYPE_CHECKING:
    from plurivox.infer.lens import Lens


ACCENT = "cyan"
MAX_NOTES = 12
MOST_FINDINGS, SCREEN = 4, 42
"""The largest number of findings, and how many lines of a screen tables and findings should fill together."""
_INDENT, _GAPS, _LEAST_NAME = 2, (3, 2), 14  # of a table, between columns, and of the first, which may wrap
WITHHELD = "withheld"
_FEWEST_LINES = 6


def show_result(lens: Lens, result: Any, out: Console, **showing: Any) -> None:
    """Print the tables of a result, notes on them, then the findings; or as the lens itself shows it."""
    if lens.name in _SHOWN:
        _SHOWN[lens.name](result, out, **showing)
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


# What a terminal shows in its own way: a study, advice, a selection, and one item ------------------------------------

MAX_GROUPS = 12
BAR_WIDTH = 24


def show_description(found: Description, out: Console, *, ids: bool = False, sizes: bool = False) -> None:
    """Print a description, with tables of the sizes of crossings if requested.

    Individual raters are numbered unless their ids are requested.
    """
    out.print(Text(found.source, style="bold"))
    full = "fully crossed: every rater rated every item"
    design = full if found.crossed else f"sparse: {found.density:.1%} of all item–rater pairs rated"
    who = [counted(found.n_raters, "rater"), design] if found.has_raters else ["totals: who rated what is not known"]
    out.print(Text(" · ".join([counted(found.n_ratings, "rating"), counted(found.n_items, "item"), *who])))
    for title, block in (
        ("Design", _design(found)),
        (f"Scale, {len(found.points)} points from low to high", _scale(found)),
        ("Raters", _axes(found, ids=ids)),
        *(_crossings(found) if sizes else ()),
        ("Panel against population", _panel(found)),
    ):
        if block is not None:
            out.print()
            out.print(Text(title, style=f"bold {ACCENT}"))
            out.print(Padding(block, (0, 0, 0, 2)))
    out.print()
    for line in _remarks(found):
        out.print(Text(f"• {line}"))


def _panel(found: Description) -> Table | None:
    """Return the shares of panel and population, and the weight of a rater in each group."""
    if found.panel is None:
        return None
    view = panel_view(found.panel).text()
    table = plain_table(*view.header, left=2)
    for row in view.rows:
        table.add_row(*(cell if at < 3 else cell.replace("%", " %") for at, cell in enumerate(row)))
    return table


def _design(found: Description) -> Table:
    table = plain_table("", "min", "median", "max", "distribution")
    table.columns[-1].justify = "left"
    for name, spread in (("ratings per item", found.per_item), ("ratings per rater", found.per_rater)):
        if spread is not None:
            numbers = f"{spread.low:,}", f"{spread.median:,g}", f"{spread.high:,}"
            top = max(spread.counts)  # each bin that is not empty is visible
            bins = "".join(" " if n == 0 else BARS[min(7, n * 8 // (top + 1))] for n in spread.counts)
            table.add_row(name, *numbers, Text(bins, ACCENT))
    return table


def _scale(found: Description) -> Table:
    table = plain_table("point", "ratings", "share", "")
    table.columns[-1].justify = "left"
    total, top = max(1, sum(found.usage)), max(1, *found.usage)
    rows = list(zip(found.points, found.usage, strict=True))
    for point, n in rows if len(rows) <= 25 else [*rows[:12], ("…", None), *rows[-12:]]:
        if n is None:
            table.add_row("…", "", "", "")
        else:
            table.add_row(Text(point), f"{n:,}", f"{n / total:.1%}", _bar(n, top))
    return table


def _bar(n: int, top: int) -> Text:
    """Return a bar for a number, visible unless it is 0."""
    return Text("█" * round(BAR_WIDTH * n / top) or ("▏" if n else ""), ACCENT)


def _axes(found: Description, *, ids: bool) -> Table | None:
    if not found.axes:
        return None
    table = plain_table("attribute", "groups", "raters in each")
    for axis in found.axes:
        told = _groups(axis if ids else axis.numbered())
        table.add_row(Text(axis.name), f"{len(axis.groups) + axis.n_withheld:,}", Text(told))
    table.columns[2].justify = "left"
    return table


def _crossings(found: Description) -> Iterable[tuple[str, Table]]:
    """Yield a table of the sizes of each crossing, except for individual raters."""
    for axis in found.axes:
        if axis.sizes is None or not axis.sizes.rows or names_raters(axis.name):
            continue
        table = plain_table("", *axis.sizes.columns)
        for row, cells in zip(axis.sizes.rows, axis.sizes.n_raters, strict=True):
            table.add_row(Text(row), *("–" if n is None else f"{n:,}" for n in cells))
        yield f"Raters by {axis.name}; –: nobody, or withheld", table


def _groups(axis: AxisSummary) -> str:
    sizes = sorted((group.n_raters for group in axis.groups), reverse=True)
    crossing = " × " in axis.name
    if not sizes:
        shown = "none shown"
    elif crossing and axis.n_withheld:
        shown = f"{len(sizes):,} shown"  # their range next to the sizes of attributes would tell who is withheld
    elif crossing or len(sizes) > MAX_GROUPS:
        shown = f"{sizes[-1]:,} to {sizes[0]:,}" if sizes[0] > sizes[-1] else f"{sizes[0]:,} each"
        if not crossing:
            largest = sorted(axis.groups, key=lambda group: -group.n_raters)[:3]
            shown += "; largest: " + ", ".join(f"{group.name} ({group.n_raters:,})" for group in largest)
    else:
        shown = ", ".join(f"{group.name} ({group.n_raters:,})" for group in axis.groups)
    notes = []
    if axis.n_withheld:
        notes.append(withheld_note(axis.n_withheld, axis.n_revealing))
    if axis.n_outside:
        notes.append(f"{axis.n_outside:,} raters without a value")
    return f"{shown}  ({'; '.join(notes)})" if notes else shown


def _remarks(found: Description) -> Iterable[str]:
    yield f"Missing scores: {found.missing_scores:,}." if found.missing_scores else "No scores are missing."
    if found.repeated_pairs and found.duplicates != "keep":  # otherwise a note says it
        tied = f", {found.tied_repeats:,} of them tied and left unrated" if found.tied_repeats else ""
        yield f"Rated more than once: {found.repeated_pairs:,} item–rater pairs, {found.duplicates} kept{tied}."
    elif found.has_raters and not found.repeated_pairs:
        yield "No rater rated an item twice."
    if found.unrated_items:
        yield f"Items without any rating: {found.unrated_items:,}."
    if found.silent_raters:
        yield f"Raters whose every score is missing: {found.silent_raters:,}."
    ids = {"raters": (found.unknown_raters, found.idle_raters), "items": (found.unknown_items, found.idle_items)}
    for what, (unknown, idle) in ids.items():
        if unknown:
            yield f"{unknown:,} {what} are not in the table of {what}; their attributes are unknown."
        if idle:
            yield f"{idle:,} rows of the table of {what} have no ratings here and are left out."
    if any(axis.n_withheld for axis in found.axes):
        n_revealing = sum(axis.n_revealing for axis in found.axes)
        yield f"{protected(found.min_group_size, n_revealing)}, to protect the people in them."
    yield from found.notes


def show_advice(found: Advice, out: Console) -> None:
    """Print a result, with remarks as paragraphs."""
    for axis in found.axes:
        own = found.to_frame().filter(pl.col("axis") == axis)
        members = found.table("members").filter(pl.col("axis") == axis)
        if axis == "rater":
            counted = counted_raters(own, members.height)
            if counted.rows:
                short = View(counted.title, counted.header[:3], [row[:3] for row in counted.rows])
                print_table(short, out=out)
            for name, *_, meaning, following in counted.rows:
                _paragraph(name, "", meaning, following, out)
        else:
            print_table(members_of(axis, members), out=out)
            for group, text, meaning, following, sure in own.select(list(REMARK)).iter_rows():
                _paragraph(group, f"{text} ({sure})", meaning, following, out)
            print_table(*filled(pairs_of(axis, found), *lists_of(axis, found)), out=out)
        if own.is_empty() and members.height:
            print_sentences([found.nothing(axis)], out)
    print_sentences(found.closing(), out)


def _paragraph(who: str, text: str, meaning: str, following: str, out: Console) -> None:
    out.print(Text(who, style="bold") + Text(f": {text}" if text else ""))
    out.print(Padding(Text(f"May mean: {meaning}"), (0, 0, 0, 2)))
    out.print(Padding(Text(f"Look at next: {following}"), (0, 0, 1, 2)))


def show_selection(found: selection.Selection, out: Console) -> None:
    """Print a selection, with how ties were decided."""
    print_table(*selection.tables(found), out=out)
    ties = found.shown_frame().filter("tied").select("group", "rater", "note").rows()
    print_notes([f"{group}, {rater}: {note}" for group, rater, note in ties], out)
    if ties:
        out.print()
    print_sentences(found.findings(), out)


def show_item(found: ItemView, out: Console) -> None:
    """Print one item."""
    out.print(Text(one_line(f"Item {found.settings['item']}"), style="bold"))
    for name, value in found.table("attributes").iter_rows():
        text = value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
        out.print(Padding(Text(f"{one_line(name)}: {harmless(text)}"), (0, 0, 0, 2)))
    out.print()
    if found.table("use").height:
        out.print(Text("Scores of all raters, compared with all items of the study", style=f"bold {ACCENT}"))
        use, top = use_of(found), max(found.table("use")["n_ratings"])
        table = plain_table(*use.header, "")
        table.columns[-1].justify = "left"
        for line, (_, n, *_) in zip(use.text().rows, use.rows, strict=True):
            table.add_row(*map(Text, line), _bar(n or 0, top))
        out.print(Padding(table, (0, 0, 1, 2)))
    groups = group_tables(found)
    print_table(*groups, out=out)
    if groups:
        out.print(Text(LENS.legend or ""))
        out.print()
    print_sentences(map(one_line, found.findings()), out)


_SHOWN: dict[str, Callable[..., None]] = {
    "advise": show_advice, "item_view": show_item, "select_raters": show_selection
}  # fmt: skip
"""Lenses for which tables, notes and findings are not enough, and what prints their results."""
