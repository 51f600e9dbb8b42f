"""Results of lenses on a terminal: everything, or what matters most, so that it fits a screen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Console

from plurivox.base import imported
from plurivox.base.wording import counted, listed, one_line
from plurivox.cli.tables import fits, print_findings, print_sentences, print_table, show_tables
from plurivox.infer.compact import FORMS, Compact, bare, shown
from plurivox.infer.exports import legend_of
from plurivox.infer.result import Statement
from plurivox.infer.text import Shown

if TYPE_CHECKING:
    from plurivox.infer.lens import Lens

MOST_FINDINGS, SCREEN = 4, 42
"""The largest number of findings, and how many lines of a screen tables and findings should fill together."""
WITHHELD = "withheld"
_FEWEST_LINES = 6
_SHOWN = {
    "advise": "plurivox.cli.show_actions:show_advice",
    "item_view": "plurivox.cli.show_item:show_item",
    "select_raters": "plurivox.cli.show_actions:show_selection",
}
"""Lenses for which tables, notes and findings are not enough, and what prints their results."""


def show_result(lens: Lens, result: Any, out: Console, **showing: Any) -> None:
    """Print the tables of a result, notes on them, then the findings; or as the lens itself shows it."""
    if lens.name in _SHOWN:
        imported(_SHOWN[lens.name])(result, out, **showing)
        return
    made = [Shown(*one) for one in lens.load("tables")(result, **showing)]
    said = result.statements() if hasattr(result, "statements") else []
    if lens.notes or lens.legend is not None:
        show_tables(made, _notes(lens, result), said, out, _legend(lens, result))
    else:
        for one in made:
            print_table(one, out)
        print_findings(said, out)
    if lens.closing:
        print_sentences([lens.closing], out)


def show_brief(lens: Lens, result: Any, out: Console, showing: Mapping[str, Any], n_tables: int) -> None:
    """Print what matters most of a result, and say what ``--all`` adds."""
    made, hidden = _print_brief(lens.load("brief")(result, **showing), out)
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


def _print_brief(views: Iterable[Shown | Compact], out: Console) -> tuple[list[Shown], list[str]]:
    """Print tables and short views; return them as printed, and what was left out."""
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
    """Return the widest form of a short view that fits the terminal, and whether it leaves out intervals."""
    for form in FORMS:
        table = shown(view, form)
        if fits(table, width):
            break
    return table, form is bare and bool(view.over)


def _findings(said: Sequence[Statement], tables: Iterable[Shown], out: Console) -> int:
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
