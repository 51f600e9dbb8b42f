"""Sort the columns of a survey: questions, descriptions of respondents, and columns that are not used."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from plurivox.base.errors import ColumnError, few, no_column
from plurivox.domain.raw import by_name
from plurivox.read.formats.record import Asked
from plurivox.read.people import are_genders, asks_for_words, is_administrative, is_id, plain, tells_of_people
from plurivox.read.respondents import NARROW, Held, beyond, held, named_like_question

MANY, LONG = 12, 80
"""With this many different texts, or this many characters on average, texts were not chosen from a list."""
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([ T].*)?")
_RESPONDENT = ("responseid", "respondentid", "emailaddress", "email", "username", "prolificpid", "caseid", "id")


class Columns(NamedTuple):
    """What columns hold, each in the order of the table."""

    questions: tuple[str, ...]
    attributes: tuple[str, ...]
    aside: tuple[str, ...]


def sort_columns(
    head: pl.DataFrame,
    columns: Sequence[str],
    asked: Asked,
    source: str,
    *,
    named: Collection[str] | None = None,
    texts: Mapping[str, str] | None = None,
) -> Columns:
    """Return what columns other than that of respondents hold.

    Parameters
    ----------
    named
        Columns that are questions by their names, unless they describe people or ask for free text; None if names do
        not say: then questions are columns that hold scores, or words that other columns hold, too.
    texts
        Texts of questions, by column.
    """
    texts = texts or {}
    found = {name: held(head[name], asked.scale, asked.missing) for name in columns}
    chosen = chosen_questions(asked.questions, columns, source) - set(asked.rater_attributes)
    kinds = {name: _kind(found[name], texts.get(name, ""), asked) for name in columns if name not in chosen}
    rest = [name for name, kind in kinds.items() if kind is None]
    if asked.questions is None:
        chosen = _questions([found[name] for name in rest], named, asked)
    for name in rest:
        of_tool = name in (named or ()) or named_like_question(name)
        kinds[name] = "aside" if of_tool else "attribute"
    return Columns(
        tuple(name for name in columns if name in chosen),
        tuple(name for name in columns if name not in chosen and kinds[name] == "attribute"),
        tuple(name for name in columns if name not in chosen and kinds[name] == "aside"),
    )


def _kind(one: Held, text: str, asked: Asked) -> str | None:
    """Return whether a column describes people or is not used, None if it may hold answers."""
    if one.name in asked.rater_attributes:
        return "attribute"
    if not one.texts or is_administrative(one.name, text):
        return "aside"
    if tells_of_people(one.name, text) or are_genders(set(one.texts)):
        return "attribute"
    n, distinct = sum(one.texts.values()), len(one.texts)
    if (is_id(one.name) and distinct == n) or all(map(_DATE.fullmatch, one.texts)):
        return "aside"
    in_words = 2 * (n - len(one.numbers)) > n and not one.holds_scores
    length = sum(len(value) * count for value, count in one.texts.items()) / n
    if in_words and (asks_for_words(one.name, text) or length > LONG or (distinct > MANY and 3 * distinct > n)):
        return "aside"
    return None


def _questions(found: Sequence[Held], named: Collection[str] | None, asked: Asked) -> set[str]:
    """Return which columns hold answers."""
    if named is not None:
        return {one.name for one in found if one.name in named and (asked.scale is None or one.holds_scores)}
    far = beyond(found)
    scores = {one.name for one in found if one.holds_scores and one.name not in far}
    if asked.scale is not None:
        return scores
    words = [one for one in found if not one.holds_scores]
    for one in words:
        if any(set(one.texts) & set(other.texts) for other in words if other is not one):
            scores.add(one.name)
    return scores


def question_names(columns: Iterable[str], n_scores: int) -> list[str] | None:
    """Return the columns named like questions, None unless they are at least two and half of those with scores."""
    named = [name for name in columns if named_like_question(name)]
    return named if len(named) >= max(2, n_scores / 2) else None


def chosen_questions(given: str | None, columns: Sequence[str], source: str) -> set[str]:
    """Return the columns that ``Q1:Q20``, ``Q1,Q3`` or ``Q*`` names; None names none."""
    if given is None:
        return set()
    parts = given.split(",")
    chosen: list[str] = []
    at = 0
    while at < len(parts):
        # A name may itself contain commas, as texts of questions do.
        ends = range(len(parts), at, -1)
        found, end = next(((here, end) for end in ends if (here := _one(",".join(parts[at:end]), columns))), ([], at))
        if not found:
            hint = "Name questions as a range in the order of columns (Q1:Q20), a list (Q1,Q3) or a pattern ('Q*')."
            raise no_column(parts[at].strip(), columns, source, hint, role=" for --questions")
        chosen += found
        at = end
    if len(set(chosen)) < len(chosen):
        twice = next(name for place, name in enumerate(chosen) if name in chosen[:place])
        raise ColumnError(f"'{few([twice])}' is named twice as a question", source=source, hint="Name each once.")
    return set(chosen)


def _one(text: str, columns: Sequence[str]) -> list[str]:
    """Return the columns that a name, a range or a pattern means."""
    text = text.strip()
    if text in columns:
        return [text]
    for colon in (found.start() for found in re.finditer(":", text)):
        first, last = text[:colon].strip(), text[colon + 1 :].strip()
        if first in columns and last in columns:
            return list(columns[columns.index(first) : columns.index(last) + 1])
    if "*" in text and "," not in text:
        pattern = re.compile(".*".join(map(re.escape, text.split("*"))), re.DOTALL)
        return [name for name in columns if pattern.fullmatch(name)]
    return []


def respondent_column(head: pl.DataFrame, columns: Sequence[str], asked: Asked, source: str) -> str | None:
    """Return the column of respondents: the one that was asked for, one named so, or the first if its values differ.

    It is None if plurivox itself made that column because each row is one respondent.
    """
    from plurivox.read.formats.sheets import RATER

    if asked.rater is not None and asked.rater in columns:
        return asked.rater
    if asked.rater is not None and not asked.rater.startswith(RATER):
        raise no_column(asked.rater, columns, source, role=" for the rater")
    if asked.rater is not None:
        return None
    free = [name for name in columns if name not in asked.rater_attributes]
    plainly = {plain(name): name for name in reversed(free)}
    known = [by_name(free, "rater"), *(plainly.get(name) for name in _RESPONDENT)]
    found = next((name for name in known if name is not None and _told(head[name])), None)
    if found is not None or not free:
        return found
    first = free[0]
    odd = is_administrative(first) or tells_of_people(first) or named_like_question(first) or asks_for_words(first)
    return None if odd or not _distinct(head[first]) or _scores(head[first]) else first


def _told(cells: pl.Series) -> bool:
    """Return whether any cell holds something: tools leave some columns blank."""
    return any(str(cell).strip() for cell in cells.drop_nulls().head(100))


def _distinct(cells: pl.Series) -> bool:
    return len(cells) > 0 and not cells.is_duplicated().any()


def _scores(cells: pl.Series) -> bool:
    """Return whether a column may hold scores: numbers close together that are not row numbers."""
    one = held(cells, None, ())
    return one.holds_scores and one.spread <= NARROW and sorted(one.numbers) != list(one.numbers)
