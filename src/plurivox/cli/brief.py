"""What matters first of a result, so that it fits a screen; ``--all`` shows the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from plurivox.cli.tables import fits, print_findings, print_table
from plurivox.quoting import one_line
from plurivox.results.compact import FORMS, Compact, bare, shown
from plurivox.results.result import Statement
from plurivox.results.text import Shown

MOST_FINDINGS, MOST_LINES = 4, 12
"""Findings, and lines of them, at most."""
WITHHELD = "withheld"


def print_brief(views: Iterable[Shown | Compact], out: Console) -> tuple[list[Shown], dict[str, int]]:
    """Print tables and short views; return them as they were printed, and how many groups are left out."""
    tables, hidden = [], {}
    for view in views:
        table = view if isinstance(view, Shown) else _fitting(view, out.width)
        print_table(table, out)
        tables.append(table)
        if isinstance(view, Compact):
            hidden[view.first] = hidden.get(view.first, 0) + view.n_more
    return tables, hidden


def _fitting(view: Compact, width: int) -> Shown:
    """Return the widest form of a short view that a terminal has room for."""
    for form in FORMS:
        table = shown(view, form)
        if fits(table, width):
            break
    has_intervals = any(row is not None and row.ci_low is not None for line in view.lines for row in line.cells)
    if form is bare and has_intervals:
        return table._replace(title=f"{table.title}, in a wider terminal or with --all")
    return table


def brief_findings(said: Sequence[Statement], out: Console) -> int:
    """Print the findings that matter most and who is withheld; return how many others there are."""
    found = [one for one in said if one.weight > 0] or list(said)[:1]
    chosen, lines = [], 0
    for one in found[:MOST_FINDINGS]:
        lines += math.ceil((cell_len(one_line(one.text)) + 2) / out.width)
        if chosen and lines > MOST_LINES:
            break
        chosen.append(one)
    chosen += [one for one in said if one.statistic == WITHHELD and one not in chosen]
    out.print(Text(""))
    print_findings(chosen, out)
    return len(said) - len(chosen)
