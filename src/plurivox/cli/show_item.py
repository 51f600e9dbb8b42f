"""One item on the terminal."""

from __future__ import annotations

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from plurivox.base.wording import harmless, one_line
from plurivox.cli.show import ACCENT, bar, plain_table
from plurivox.cli.tables import print_sentences, print_table
from plurivox.lenses.item import LENS
from plurivox.lenses.item.result import ItemView
from plurivox.lenses.item.tables import MAX_TEXT, group_tables, use_rows


def show_item(found: ItemView, out: Console) -> None:
    """Print one item."""
    out.print(Text(one_line(f"Item {found.settings['item']}"), style="bold"))
    for name, value in found.table("attributes").iter_rows():
        text = value if len(value) <= MAX_TEXT else f"{value[:MAX_TEXT]}…"
        out.print(Padding(Text(f"{one_line(name)}: {harmless(text)}"), (0, 0, 0, 2)))
    out.print()
    if found.table("use").height:
        out.print(Text("Scores of all raters, compared with all items of the study", style=f"bold {ACCENT}"))
        out.print(Padding(_bars(found), (0, 0, 1, 2)))
    groups = group_tables(found)
    for shown in groups:
        print_table(shown, out)
    if groups:
        out.print(Text(LENS.legend or ""))
        out.print()
    print_sentences(map(one_line, found.findings()), out)


def _bars(found: ItemView) -> Table:
    """Return the use of the scale with a small bar for each point; for a long scale, only its two ends."""
    table = plain_table("point", "ratings", "share", "all items", "")
    table.columns[-1].justify = "left"
    top = max(found.table("use")["n_ratings"])
    for line, n in use_rows(found):
        table.add_row(*map(Text, line), bar(n or 0, top))
    return table
