"""What a terminal shows in its own way: the description of a study, advice, a selection, and one item."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plurivox.actions.advise.result import REMARK, Advice, counted_raters, lists_of, members_of, pairs_of
from plurivox.actions.select.result import Selection, tables
from plurivox.base.wording import counted, harmless, one_line, protected, withheld_note
from plurivox.cli.tables import ACCENT, plain_table, print_notes, print_sentences, print_table
from plurivox.domain.axis import names_raters
from plurivox.infer.view import BARS, View, filled
from plurivox.lenses.item import LENS
from plurivox.lenses.item.result import MAX_TEXT, ItemView, group_tables, use_of
from plurivox.lenses.overview.description import AxisSummary, Description
from plurivox.lenses.overview.run import panel_view

MAX_GROUPS = 12
BAR_WIDTH = 24


def show_description(found: Description, out: Console, *, ids: bool = False, sizes: bool = False) -> None:
    """Print a description, with tables of the sizes of crossings if requested.

    Individual raters are numbered unless their ids are requested.
    """
    out.print(Text(found.source, style="bold"))
    out.print(_headline(found))
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


def _headline(found: Description) -> Text:
    full = "fully crossed: every rater rated every item"
    design = full if found.crossed else f"sparse: {found.density:.1%} of all item–rater pairs rated"
    who = [counted(found.n_raters, "rater"), design] if found.has_raters else ["totals: who rated what is not known"]
    return Text(" · ".join([counted(found.n_ratings, "rating"), counted(found.n_items, "item"), *who]))


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


def show_selection(found: Selection, out: Console) -> None:
    """Print a selection, with how ties were decided."""
    print_table(*tables(found), out=out)
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
