"""Surveys of any origin: one row per respondent, one column per question."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plurivox.domain.raw import RawTable, by_name
from plurivox.read.formats.qualtrics import responses, tool_columns
from plurivox.read.formats.record import Asked, Export, Platform
from plurivox.read.formats.sheets import Cell, Sheet
from plurivox.read.formats.sorting import question_names, respondent_column, sort_columns
from plurivox.read.people import asks_for_words, is_administrative, plain
from plurivox.read.respondents import held, named_like_question, respondents

_HEAD = 1000
_MAY_BE_PEOPLE = ("id", "responseid")
"""Names of item columns that are also used for respondents."""


def fits(columns: Sequence[str], head: pl.DataFrame, asked: Asked) -> bool:
    """Recognise it by names of questions, or of what is known about people, next to columns of scores."""
    if asked.questions is not None:
        return True
    if asked.item in columns or asked.item_attributes or not head.height:
        return False
    free = [name for name in columns if name not in asked.rater_attributes]
    ids = [name for place, name in enumerate(free) if not place or not asks_for_words(name)]  # comments are not items
    item, rater, score = (by_name(ids, role) for role in ("item", "rater", "score"))
    rater = asked.rater if asked.rater in columns else rater
    if score is not None or (item is not None and rater is not None):
        return False
    owner = rater or item
    if owner is None and not named_like_question(free[0]) and not head[free[0]].is_duplicated().any():
        owner = free[0]
    if owner is not None and head[owner].is_duplicated().any():
        return False
    others = [name for name in free if name != owner and not is_administrative(name)]
    if all(name.strip().lstrip("-").isdecimal() for name in others):
        return False
    named = question_names(others, 0) is not None
    if item is not None and rater is None and plain(item) not in _MAY_BE_PEOPLE:
        return False
    if named or owner is None:
        return named
    if asked.rater in columns or asked.rater_attributes:  # whoever names raters has one row for each
        scores = [name for name in others if held(head[name], asked.scale, asked.missing).holds_scores]
        return len(scores) > 1
    found = respondents(head, others, asked.scale, asked.missing)
    return found is not None and found.sure


def ratings(table: RawTable, asked: Asked) -> Export:
    """Return one row for each respondent and question."""
    head = table.first().head(_HEAD)
    respondent = respondent_column(head, table.columns, asked, table.name)
    others = [name for name in table.columns if name != respondent]
    scores = [name for name in others if held(head[name], asked.scale, asked.missing).holds_scores]
    named = question_names(others, len([name for name in scores if not is_administrative(name)]))
    found = sort_columns(head, others, asked, table.name, named=named)
    sheet = Sheet(
        respondent=respondent, cells=tuple(Cell(name, name) for name in found.questions), attributes=found.attributes,
        aside=found.aside, gate=responses if tool_columns(table.columns) else None,
    )  # fmt: skip
    return sheet.export(table, asked)


PLATFORM = Platform(name="survey", title="a survey with a row for each respondent", fits=fits, ratings=ratings)
