"""What a notebook shows: a title, sentences and a small table, as a piece of HTML.

Styles are inline and colours are those of the notebook, so that a card neither changes its surroundings nor fades in
dark mode. All text is escaped and harmless, and a card stays small, whatever its content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from plurivox.base.wording import harmless

MOST_ROWS = 12
"""Rows of a table that a card shows."""
MOST_SENTENCES, MOST_FOLDED = 4, 12
"""Sentences that a card shows, and those that it folds away."""
LONGEST_NAME, LONGEST_SENTENCE = 60, 600
CLAIMED = "◆"
"""The mark before a sentence that claims a difference."""
_NUMBER = re.compile(r"[<+\-−±]?[\d.,]*\d.*|\[.*\]|[–∞=]|withheld|")
_SMALL = "font-size:.85em;opacity:.8"
_LINE = "1px solid rgba(128,128,128,.45)"
_CELL = "padding:.15em .7em;vertical-align:baseline;white-space:nowrap;text-align:"


class CardSentence(NamedTuple):
    """A sentence, and whether it claims a difference or is a remark on the analysis itself."""

    text: str
    claim: bool = False
    remark: bool = False


class CardCell(NamedTuple):
    """A cell of a table: a text, a smaller one after it, and whether it is emphasised."""

    text: str
    small: str = ""
    strong: bool = False


class CardGrid(NamedTuple):
    """A table: its title, its header, which columns are right-aligned, its rows, and notes.

    A row of fewer cells than the header is a heading over those below it.
    """

    header: Sequence[str]
    right: Sequence[bool]
    rows: Sequence[Sequence[CardCell]]
    title: str = ""
    below: Sequence[str] = ()


def plain_grid(header: Sequence[str], rows: Sequence[Sequence[object]], *below: str, title: str = "") -> CardGrid:
    """Return a table of texts and whole numbers; the first column names the rows."""
    texts = [[f"{value:,}" if isinstance(value, int) else str(value) for value in row] for row in rows]
    return CardGrid(header, right_columns(texts), [list(map(CardCell, row)) for row in texts], title, below)


def right_columns(rows: Sequence[Sequence[str]]) -> list[bool]:
    """Return which columns hold numbers and are right-aligned; the first one names the rows."""
    return [
        at > 0 and all(map(_NUMBER.fullmatch, map(str.strip, column)))
        for at, column in enumerate(zip(*rows, strict=True))
    ]


def heading_of(thing: object) -> tuple[str, str]:
    """Return what an object is and what it is based on, as in its ``repr``.

    Examples
    --------
    >>> class Box:
    ...     def __repr__(self) -> str:
    ...         return "<Box: 3 apples>"
    >>> heading_of(Box()), heading_of(object())
    (('Box', '3 apples'), ('object', ''))
    """
    kind, _, rest = repr(thing).removeprefix("<").removesuffix(">").partition(": ")
    return (kind, rest) if rest else (type(thing).__name__, "")


def card(
    title: str, rests_on: str = "", *, said: Iterable[CardSentence] = (), grids: Iterable[CardGrid] = (), more: str = ""
) -> str:
    """Return what a notebook shows.

    Parameters
    ----------
    title, rests_on
        What it is, and what it is based on.
    said
        The findings; claims come first, and remarks last.
    grids
        Tables, of which together at most :data:`MOST_ROWS` rows are shown.
    more
        How to get all rows, shown if some are left out.
    """
    known = list(said)
    remarks = [one for one in known if one.remark]
    found = sorted((one for one in known if not one.remark), key=lambda one: not one.claim)
    parts = [
        f"<div><strong>{_text(title)}</strong>{f' · {_text(rests_on, LONGEST_SENTENCE)}' if rests_on else ''}</div>"
    ]
    parts += [_list(found[:MOST_SENTENCES])] if found else []
    if others := found[MOST_SENTENCES:]:
        parts.append(_folded(f"{len(others):,} more", others))
    if len(remarks) > 1:
        parts.append(_folded(f"{len(remarks):,} remarks", remarks, _SMALL))
    parts += [
        f'<div style="{_SMALL}">{_text(one.text, LONGEST_SENTENCE)}</div>' for one in remarks if len(remarks) == 1
    ]
    tables = list(grids)
    parts += [_grid(grid, n, more) for grid, n in zip(tables, _shared([_n_rows(one) for one in tables]), strict=True)]
    return f'<div style="line-height:1.4;max-width:75em">{"".join(parts)}</div>'


def _shared(sizes: Sequence[int], most: int = MOST_ROWS) -> list[int]:
    """Return how many rows each of several tables may show: short ones all of theirs, long ones share the rest.

    Examples
    --------
    >>> _shared([2, 30, 9]), _shared([300])
    ([2, 5, 5], [12])
    """
    shown = [0] * len(sizes)
    while most > 0 and (open_ := [at for at, size in enumerate(sizes) if shown[at] < size]):
        for at in open_[:most]:
            shown[at] += 1
        most -= len(open_)
    return shown


def _n_rows(grid: CardGrid) -> int:
    return sum(len(row) == len(grid.header) for row in grid.rows)


def _list(said: Iterable[CardSentence], style: str = "") -> str:
    items = "".join(
        f"<li>{f'<strong>{CLAIMED} claimed</strong> ' if one.claim else ''}{_text(one.text, LONGEST_SENTENCE)}</li>"
        for one in said
    )
    return f'<ul style="margin:.3em 0;padding-left:1.4em;white-space:normal;{style}">{items}</ul>'


def _folded(heading: str, said: Sequence[CardSentence], style: str = "") -> str:
    cut = said[:MOST_FOLDED]
    rest = f"<div>{len(said) - len(cut):,} more: findings()</div>" if len(said) > len(cut) else ""
    return f'<details style="margin:.2em 0;{style}"><summary>{heading}</summary>{_list(cut)}{rest}</details>'


def _grid(grid: CardGrid, most: int, more: str) -> str:
    """Return a table with as many rows as may still be shown; if none, only its name and count."""
    shown, n_rows = _first(grid, most)
    cut = n_rows - sum(len(row) == len(grid.header) for row in shown)
    below = [*grid.below, *([f"{cut:,} more: {more}" if more else f"{cut:,} more"] if cut else [])]
    title = f'<div style="margin-top:.5em">{_text(grid.title, LONGEST_SENTENCE)}</div>' if grid.title else ""
    notes = "".join(f'<div style="{_SMALL}">{_text(line, LONGEST_SENTENCE)}</div>' for line in below)
    if not shown:
        return f"{title}{notes}"
    head = "".join(
        f'<th scope="col" style="{_side(right)};border-bottom:{_LINE}">{_text(name)}</th>'
        for name, right in zip(grid.header, grid.right, strict=True)
    )
    body = "".join(f"<tr>{_row(row, grid)}</tr>" for row in shown)
    table = (
        '<table style="border-collapse:collapse;margin:.3em 0;font-variant-numeric:tabular-nums">'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    )
    return f'{title}<div style="overflow-x:auto">{table}</div>{notes}'


def _first(grid: CardGrid, most: int) -> tuple[list[Sequence[CardCell]], int]:
    """Return the first rows with the headings above them, and how many rows there are in total."""
    shown: list[Sequence[CardCell]] = []
    waiting: list[Sequence[CardCell]] = []
    n_rows = 0
    for row in grid.rows:
        if len(row) < len(grid.header):
            waiting = [row]
            continue
        n_rows += 1
        if n_rows <= most:
            shown += [*waiting, row]
            waiting = []
    return shown, n_rows


def _row(row: Sequence[CardCell], grid: CardGrid) -> str:
    if len(row) < len(grid.header):
        return f'<th scope="rowgroup" colspan="{len(grid.header)}" style="{_CELL}left">{_cell(row[0])}</th>'
    name, *values = row
    first = f'<th scope="row" style="{_CELL}left;font-weight:normal">{_cell(name)}</th>'
    pairs = zip(values, grid.right[1:], strict=True)
    return first + "".join(f'<td style="{_side(right)}">{_cell(one)}</td>' for one, right in pairs)


def _side(right: bool) -> str:
    return f"{_CELL}{'right' if right else 'left'}"


def _cell(cell: CardCell) -> str:
    text = f"<strong>{_text(cell.text)}</strong>" if cell.strong else _text(cell.text)
    return f'{text} <small style="opacity:.8">{_text(cell.small)}</small>' if cell.small else text


def _text(text: str, most: int = LONGEST_NAME) -> str:
    """Return a one-line text that is not interpreted as HTML and does not change the text direction around it."""
    line = " ".join(harmless(text).split())
    return escape(line if len(line) <= most else f"{line[: most - 1]}…")
