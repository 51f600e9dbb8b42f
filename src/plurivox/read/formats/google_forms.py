"""Google Forms: a timestamp, then one column for each question, named by its text.

A grid has a column for each of its rows: ``How severe? [Item 173]``. Then the row is the item, and the text before it
is the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from plurivox.domain.raw import RawTable, by_name
from plurivox.read.formats.record import Asked, Export, Platform
from plurivox.read.formats.sheets import SCORE, Cell, Sheet
from plurivox.read.formats.sorting import chosen_questions, respondent_column, sort_columns
from plurivox.read.people import plain

_TIMESTAMP = ("timestamp", "zeitstempel", "horodateur", "marcatemporal", "carimbodedatahora")
_GRID = re.compile(r"(?P<question>.*?)\s*\[(?P<item>[^\[\]]+)\]\s*", re.DOTALL)
_HEAD = 1000


def fits(columns: Sequence[str], head: pl.DataFrame, asked: Asked) -> bool:
    """Recognise it by the timestamp in the first column, and by names that are texts of questions."""
    if not columns or plain(columns[0]) not in _TIMESTAMP or {asked.item, asked.score} & set(columns):
        return False
    if all(by_name(columns, role) for role in ("item", "rater", "score")):
        return False
    texts = [name for name in columns if _GRID.fullmatch(name) or "?" in name or " " in name.strip()]
    return len(texts) >= 2 or (len(texts) == 1 and asked.questions is not None)


def ratings(table: RawTable, asked: Asked) -> Export:
    """Return one row for each respondent and grid item, or each respondent and question if there are no grids."""
    head = table.first().head(_HEAD)
    respondent = respondent_column(head, table.columns, asked, table.name)
    others = [name for name in table.columns if name != respondent]
    grid = {name: match for name in others if (match := _GRID.fullmatch(name))}
    named = list(grid) if len(grid) > 1 else None
    found = sort_columns(head, others, asked, table.name, named=named)
    chosen = chosen_questions(asked.questions, others, table.name) or set(found.questions)
    in_grids = named is not None and all(name in grid for name in chosen)
    cells = tuple(_cell(name, grid[name]) if in_grids else Cell(name, name) for name in found.questions)
    sheet = Sheet(respondent=respondent, cells=cells, attributes=found.attributes, aside=found.aside)
    return sheet.export(table, asked, item="item" if in_grids else "question")


def _cell(column: str, found: re.Match[str]) -> Cell:
    return Cell(column, found["item"].strip(), found["question"].strip() or SCORE)


PLATFORM = Platform(name="google-forms", title="answers to a Google Form", fits=fits, ratings=ratings)
