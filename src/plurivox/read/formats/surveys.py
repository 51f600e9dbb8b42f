"""Exports of survey tools: one row per respondent, one column per question.

Qualtrics: respondents in rows, and three rows of headers: names, texts of questions, and ids of questions.

Previews, tests and responses marked as spam hold no ratings. What identifies people (addresses, places, e-mail) is
never used as an attribute.

Google Forms: a timestamp, then one column for each question, named by its text.

A grid has a column for each of its rows: ``How severe? [Item 173]``. Then the row is the item, and the text before it
is the question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from plurivox.domain.check import no_rows
from plurivox.domain.code import as_text
from plurivox.domain.raw import RawTable, by_name
from plurivox.read.formats.record import HEAD, UNFINISHED, Export, Platform, Tally
from plurivox.read.formats.sheets import (
    SCORE,
    TEXT,
    Cell,
    Sheet,
    chosen_questions,
    question_names,
    respondent_column,
    sort_columns,
)
from plurivox.read.respondents import asks_for_words, held, is_administrative, named_like_question, plain, respondents
from plurivox.read.settings import ReadSettings

# Qualtrics ------------------------------------------------------------------------------------------------------------


_TOOL = {
    "StartDate", "EndDate", "Status", "IPAddress", "Progress", "Duration (in seconds)", "Finished", "RecordedDate",
    "ResponseId", "ResponseID", "DistributionChannel", "UserLanguage", "RecipientEmail", "ExternalReference",
}  # fmt: skip
_IMPORT = re.compile(r"""["']?ImportId["']?\s*:\s*["']([^"']+)["']""")
_QUESTION = re.compile(r"QID\d+")
_PREVIEWS = (
    "1", "2", "17", "survey preview", "survey test", "preview", "offline survey preview", "offline response preview",
)  # fmt: skip
_SPAM = ("8", "9", "12", "spam", "possible spam", "survey preview spam", "imported spam")
_UNFINISHED = ("false", "0", "no")
_PART = " - "


def qualtrics_ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row for each respondent and question."""
    head = table.first().head(HEAD)
    texts, ids, n_rows = _headers(head) or ({}, {}, 0)
    head = head[n_rows:]
    if not head.height:
        raise no_rows(table.columns, table.name)
    respondent, others = respondent_column(head, table.columns, asked, table.name)
    named = [name for name in others if _QUESTION.search(ids.get(name, ""))]
    found = sort_columns(head, others, asked, table.name, named=named, texts=texts)
    notes = []
    if any(held(head[name], None, asked.missing).numbers for name in found.questions):
        notes = ["the numbers are recode values of Qualtrics; check in the survey which answer each of them means"]
    sheet = Sheet(
        respondent=respondent, cells=tuple(Cell(name, name) for name in found.questions), attributes=found.attributes,
        aside=found.aside, about=_about(found.questions, texts), gate=responses, skip=n_rows,
        asked_by=_about(found.attributes, texts).get(TEXT, {}),
    )  # fmt: skip
    return sheet.export(table, asked, notes=notes)


def responses(frame: pl.DataFrame, tally: Tally, asked: ReadSettings) -> pl.DataFrame:
    """Return the rows that are responses; those of people who did not finish need a decision."""
    if "Status" in frame.columns:
        status = _words(frame["Status"])
        for values, what in ((_PREVIEWS, "previews and tests"), (_SPAM, "responses marked as spam")):
            tally.left_out[what] += int(status.is_in(values).sum())
        frame = frame.filter(~status.is_in([*_PREVIEWS, *_SPAM]))
    if "Finished" in frame.columns:
        frame = tally.decided(frame, _words(frame["Finished"]).is_in(_UNFINISHED), UNFINISHED, asked)
    return frame


def _words(cells: pl.Series) -> pl.Series:
    return as_text(cells).fill_null("").str.strip_chars().str.to_lowercase()


def _headers(head: pl.DataFrame) -> tuple[dict[str, str], dict[str, str], int] | None:
    """Return texts of questions and ids, by column, and how many rows below the names hold them; None without ids."""
    rows = [{name: str(cell or "") for name, cell in row.items()} for row in head.head(2).iter_rows(named=True)]
    for place, row in enumerate(rows):
        ids = {name: found[1] for name, cell in row.items() if (found := _IMPORT.search(cell))}
        if ids:
            return rows[0] if place else {}, ids, place + 1
    return None


def _about(questions: Sequence[str], texts: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return the text of each question and, for parts of a matrix, the question they belong to."""
    known = {name: " ".join(texts[name].split()) for name in questions if texts.get(name)}
    stems = {name: text.rsplit(_PART, 1)[0] for name, text in known.items() if _PART in text}
    shared = {name: stem for name, stem in stems.items() if list(stems.values()).count(stem) > 1}
    return {name: values for name, values in ((TEXT, known), ("matrix", shared)) if values}


QUALTRICS = Platform(
    name="qualtrics", title="an export of Qualtrics", ratings=qualtrics_ratings,
    fits=lambda columns, head, asked: bool(_TOOL & set(columns)) and _headers(head) is not None,
)  # fmt: skip


# Google Forms ---------------------------------------------------------------------------------------------------------


_TIMESTAMP = ("timestamp", "zeitstempel", "horodateur", "marcatemporal", "carimbodedatahora")
_GRID = re.compile(r"(?P<question>.*?)\s*\[(?P<item>[^\[\]]+)\]\s*", re.DOTALL)


def google_forms_fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by the timestamp in the first column, and by names that are texts of questions."""
    if not columns or plain(columns[0]) not in _TIMESTAMP or {asked.item, asked.score} & set(columns):
        return False
    if all(by_name(columns, role) for role in ("item", "rater", "score")):
        return False
    texts = [name for name in columns if _GRID.fullmatch(name) or "?" in name or " " in name.strip()]
    return len(texts) >= 2 or (len(texts) == 1 and asked.questions is not None)


def google_forms_ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row for each respondent and grid item, or each respondent and question if there are no grids."""
    head = table.first().head(HEAD)
    respondent, others = respondent_column(head, table.columns, asked, table.name)
    grid = {name: match for name in others if (match := _GRID.fullmatch(name))}
    named = list(grid) if len(grid) > 1 else None
    found = sort_columns(head, others, asked, table.name, named=named)
    chosen = chosen_questions(asked.questions, others, table.name) or set(found.questions)
    in_grids = named is not None and all(name in grid for name in chosen)
    cells = tuple(
        Cell(name, grid[name]["item"].strip(), grid[name]["question"].strip() or SCORE) if in_grids
        else Cell(name, name) for name in found.questions
    )  # fmt: skip
    sheet = Sheet(respondent=respondent, cells=cells, attributes=found.attributes, aside=found.aside)
    return sheet.export(table, asked, item="item" if in_grids else "question")


GOOGLE_FORMS = Platform(
    name="google-forms", title="answers to a Google Form", fits=google_forms_fits, ratings=google_forms_ratings
)


# Any other tool -------------------------------------------------------------------------------------------------------


_MAY_BE_PEOPLE = ("id", "responseid")
"""Names of item columns that are also used for respondents."""


def survey_fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
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


def survey_ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row for each respondent and question."""
    head = table.first().head(HEAD)
    respondent, others = respondent_column(head, table.columns, asked, table.name)
    scores = [name for name in others if held(head[name], asked.scale, asked.missing).holds_scores]
    named = question_names(others, len([name for name in scores if not is_administrative(name)]))
    found = sort_columns(head, others, asked, table.name, named=named)
    sheet = Sheet(
        respondent=respondent, cells=tuple(Cell(name, name) for name in found.questions), attributes=found.attributes,
        aside=found.aside, gate=responses if len(_TOOL & set(table.columns)) >= 3 else None,  # Qualtrics wrote it
    )  # fmt: skip
    return sheet.export(table, asked)


SURVEY = Platform(
    name="survey", title="a survey with a row for each respondent", fits=survey_fits, ratings=survey_ratings
)
