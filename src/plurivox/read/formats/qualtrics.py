"""Qualtrics: respondents in rows, and three rows of headers: names, texts of questions, and ids of questions.

Previews, tests and responses marked as spam hold no ratings. What identifies people (addresses, places, e-mail) is
never used as an attribute.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from plurivox.domain.check import no_rows
from plurivox.domain.code import as_text
from plurivox.domain.raw import RawTable
from plurivox.read.formats.record import UNFINISHED, Export, Platform, Tally
from plurivox.read.formats.sheets import TEXT, Cell, Sheet, respondent_column, sort_columns
from plurivox.read.respondents import held
from plurivox.read.settings import ReadSettings

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
_HEAD = 1000


class _Headers(NamedTuple):
    """The rows below the names: texts of questions and ids, by column, and how many such rows there are."""

    texts: dict[str, str]
    ids: dict[str, str]
    n_rows: int


def tool_columns(columns: Sequence[str]) -> bool:
    """Return whether Qualtrics wrote a table: it has three or more of Qualtrics' own columns."""
    return len(_TOOL & set(columns)) >= 3


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by the columns that every export has, and by the row of ids."""
    return bool(_TOOL & set(columns)) and _headers(head) is not None


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row for each respondent and question."""
    head = table.first().head(_HEAD)
    headers = _headers(head) or _Headers({}, {}, 0)
    head = head[headers.n_rows :]
    if not head.height:
        raise no_rows(table.columns, table.name)
    respondent = respondent_column(head, table.columns, asked, table.name)
    others = [name for name in table.columns if name != respondent]
    named = [name for name in others if _QUESTION.search(headers.ids.get(name, ""))]
    found = sort_columns(head, others, asked, table.name, named=named, texts=headers.texts)
    notes = []
    if any(held(head[name], None, asked.missing).numbers for name in found.questions):
        notes = ["the numbers are recode values of Qualtrics; check in the survey which answer each of them means"]
    sheet = Sheet(
        respondent=respondent, cells=tuple(Cell(name, name) for name in found.questions), attributes=found.attributes,
        aside=found.aside, about=_about(found.questions, headers.texts), gate=responses, skip=headers.n_rows,
        asked_by=_about(found.attributes, headers.texts).get(TEXT, {}),
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


def _headers(head: pl.DataFrame) -> _Headers | None:
    """Return what the rows below the names say, None if none of them holds ids."""
    rows = [{name: str(cell or "") for name, cell in row.items()} for row in head.head(2).iter_rows(named=True)]
    for place, row in enumerate(rows):
        ids = {name: found[1] for name, cell in row.items() if (found := _IMPORT.search(cell))}
        if ids:
            return _Headers(rows[0] if place else {}, ids, place + 1)
    return None


def _about(questions: Sequence[str], texts: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return the text of each question and, for parts of a matrix, the question they belong to."""
    known = {name: " ".join(texts[name].split()) for name in questions if texts.get(name)}
    stems = {name: text.rsplit(_PART, 1)[0] for name, text in known.items() if _PART in text}
    shared = {name: stem for name, stem in stems.items() if list(stems.values()).count(stem) > 1}
    return {name: values for name, values in ((TEXT, known), ("matrix", shared)) if values}


PLATFORM = Platform(name="qualtrics", title="an export of Qualtrics", fits=fits, ratings=ratings)
