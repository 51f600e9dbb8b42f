"""What matters first of a result, so that it fits a screen; ``--all`` shows the rest."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console

from plurivox.cli.tables import fits, print_findings, print_table
from plurivox.quoting import one_line
from plurivox.results.compact import FORMS, Compact, bare, shown
from plurivox.results.result import Statement
from plurivox.results.text import Shown

MOST_FINDINGS, SCREEN = 4, 42
"""Findings at most, and lines of a screen that tables and findings should fill together."""
WITHHELD = "withheld"
_FEWEST_LINES = 6


def print_brief(views: Iterable[Shown | Compact], out: Console) -> tuple[list[Shown], list[str]]:
    """Print tables and short views; return them as they were printed, and what is left out of them."""
    tables: list[Shown] = []
    hidden: list[str] = []
    for view in views:
        table, without = (view, False) if isinstance(view, Shown) else _fitting(view, out.width)
        print_table(table, out)
        tables.append(table)
        hidden += [view.more] if isinstance(view, Compact) and view.more else []
        hidden += [view.over] if isinstance(view, Compact) and without else []
    return tables, hidden


def _fitting(view: Compact, width: int) -> tuple[Shown, bool]:
    """Return the widest form of a short view that a terminal has room for, and whether that leaves out intervals."""
    for form in FORMS:
        table = shown(view, form)
        if fits(table, width):
            break
    return table, form is bare and bool(view.over)


def brief_findings(said: Sequence[Statement], tables: Iterable[Shown], out: Console) -> int:
    """Print the findings that matter most, as many as a screen has room for, and who is withheld; count the others."""
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
