"""Advice and selections on the terminal."""

from __future__ import annotations

import polars as pl
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from plurivox.actions.advise.result import Advice
from plurivox.actions.advise.tables import REMARK, counted_raters, lists_of, members_of, pairs_of
from plurivox.actions.select.result import Selection
from plurivox.actions.select.tables import tables
from plurivox.cli.tables import print_notes, print_sentences, print_table
from plurivox.infer.text import Shown


def show_advice(found: Advice, out: Console) -> None:
    """Print a result, with remarks as paragraphs."""
    for axis in found.axes:
        own = found.to_frame().filter(pl.col("axis") == axis)
        members = found.table("members").filter(pl.col("axis") == axis)
        if axis == "rater":
            _show_raters(counted_raters(own, members.height), out)
        else:
            print_table(members_of(axis, members), out)
            for group, text, meaning, following, sure in own.select(REMARK).iter_rows():
                _paragraph(group, f"{text} ({sure})", meaning, following, out)
            for table in (pairs_of(axis, found), *lists_of(axis, found)):
                if table.rows:
                    print_table(table, out)
        if own.is_empty() and members.height:
            print_sentences([found.nothing(axis)], out)
    print_sentences(found.closing(), out)


def _show_raters(counted: Shown, out: Console) -> None:
    if counted.rows:
        print_table(Shown(counted.title, counted.header[:3], [row[:3] for row in counted.rows]), out)
    for name, *_, meaning, following in counted.rows:
        _paragraph(name, "", meaning, following, out)


def _paragraph(who: str, text: str, meaning: str, following: str, out: Console) -> None:
    out.print(Text(who, style="bold") + Text(f": {text}" if text else ""))
    out.print(Padding(Text(f"May mean: {meaning}"), (0, 0, 0, 2)))
    out.print(Padding(Text(f"Look at next: {following}"), (0, 0, 1, 2)))


def show_selection(found: Selection, out: Console) -> None:
    """Print a selection, with how ties were decided."""
    for table in tables(found):
        print_table(table, out)
    ties = found.shown_frame().filter("tied").select("group", "rater", "note").rows()
    print_notes([f"{group}, {rater}: {note}" for group, rater, note in ties], out)
    if ties:
        out.print()
    print_sentences(found.findings(), out)
