"""Noticing a table of respondents × questions, which looks like one of items × raters and must not be read as such."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from plurivox.errors import ColumnError
from plurivox.results.wording import listed
from plurivox.scale import ALWAYS_MISSING, Scale, text_of

# Names of what is known of people, compared without case, spaces and punctuation. No rater is called so.
_OF_PEOPLE = frozenset((
    "age", "ages", "agegroup", "agerange", "agebracket", "agebin", "ageband", "birthyear", "yearofbirth", "yob", "dob",
    "gender", "genderidentity", "sex", "race", "ethnicity", "ethnicitysimplified", "raceethnicity", "ethnicgroup",
    "education", "educationlevel", "income", "householdincome", "country", "countryofbirth", "countryofresidence",
    "nationality", "region", "zipcode", "postcode", "nativelanguage", "firstlanguage", "mothertongue", "religion",
    "politics", "politicalorientation", "politicalviews", "ideology", "party", "occupation", "employment",
    "employmentstatus", "studentstatus", "maritalstatus",
))  # fmt: skip
_QUESTION = re.compile(r"(q|qid|question|frage|statement|stmt)[\s_.-]*\d+([\s_.-]*\w{1,3})?", re.IGNORECASE)
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?([eE][+-]?\d+)?")
NARROW, ROWS, OUTSIDE = 10, 20, 0.9
"""Numbers such as ages: few columns, of this many rows, span more than scores do, and lie almost all outside them."""
_NAMED = 5


@dataclass(frozen=True, slots=True)
class _Column:
    """What the cells of a column are: so many that may be scores, so many that cannot, and those that are numbers."""

    name: str
    scores: int
    others: int
    numbers: tuple[float, ...]

    @property
    def holds_scores(self) -> bool:
        return self.scores >= max(self.others, 1)

    @property
    def spread(self) -> float:
        return max(self.numbers) - min(self.numbers) if self.numbers else 0

    def outside(self, low: float, high: float) -> float:
        """Return the share of numbers that lie beyond an interval."""
        return sum(not low <= number <= high for number in self.numbers) / max(len(self.numbers), 1)


def respondents(
    head: pl.DataFrame, columns: Sequence[str], source: str, scale: Scale | None, missing: Collection[str]
) -> ColumnError | None:
    """Return the error if rows seem to be respondents: columns named like questions, or some that tell of people.

    Parameters
    ----------
    head
        The first rows, each with an id of its own.
    columns
        Those that would be raters.
    scale, missing
        The scale, if it is known, and further answers that mean no rating.
    """
    found = [_column(head[name], scale, missing) for name in columns]
    people = [one.name for one in found if _plain(one.name) in _OF_PEOPLE or one.others > one.scores]
    people += _beyond([one for one in found if one.name not in people])
    scores = [one.name for one in found if one.name not in people and one.holds_scores]
    questions = [name for name in scores if _QUESTION.fullmatch(name.strip())]
    if len(questions) < max(2, len(scores) / 2):
        questions = []
    if len(scores) < 2 or not (people or questions):
        return None
    named = any(_plain(name) in _OF_PEOPLE for name in people) or bool(questions)
    return _error(people, scores, questions, source, sure=named or not any(one.others for one in found))


def _error(
    people: Sequence[str], scores: Sequence[str], questions: Sequence[str], source: str, *, sure: bool
) -> ColumnError:
    """Name the columns and the ways out; where only text tells, rows may as well be items that it describes."""
    apart = listed(people, _NAMED)
    why = f"{apart} {'holds' if len(people) == 1 else 'hold'} no scores, as {listed(scores, _NAMED)} do"
    if not people:
        why = f"{listed(questions, _NAMED)} are named like questions"
    reshape = "make one row for each respondent and question, with columns item, rater and score"
    reshape += f", and give {apart} in a table of raters with --raters" if people else ""
    if sure:
        problem = f"rows seem to be respondents and columns questions: {why}"
        describing = f", and name {apart} with --item-attributes" if people else ""
        hint = f"{reshape[0].upper()}{reshape[1:]}. If rows are items and columns raters, say --wide{describing}."
    else:
        problem = why
        hint = f"If rows are items and columns raters, name {apart} with --item-attributes. "
        hint += f"If rows are respondents and columns questions, {reshape}."
    return ColumnError(problem, source=source, hint=hint)


def hold_scores(head: pl.DataFrame, columns: Sequence[str], scale: Scale | None, missing: Collection[str] = ()) -> bool:
    """Tell whether columns hold points of one scale, but for odd cells: the one given, or a few whole numbers."""
    found = [_column(head[name], scale, missing) for name in columns]
    if scale is None:
        numbers = [number for one in found for number in one.numbers]
        few = numbers and 0 < max(numbers) - min(numbers) <= 100
        if not few or not all(number.is_integer() for number in numbers):
            return False
    return any(one.scores for one in found) and all(one.scores >= one.others for one in found)


def _column(cells: pl.Series, scale: Scale | None, missing: Collection[str]) -> _Column:
    """Count cells; every number may be a score unless the scale has words, since a number off it is told of later."""
    scores = others = 0
    numbers: list[float] = []
    if cells.dtype.is_nested():
        return _Column(cells.name, 0, len(cells), ())
    labels = set() if scale is None else {text_of(label) for label in scale.labels}
    in_words = any(not _NUMBER.fullmatch(label) for label in labels)
    unrated = {*missing, *(scale.missing if scale else ())}
    for value, count in cells.drop_nulls().alias("cell").value_counts().iter_rows():
        text = text_of(value)
        if text not in labels and (text.casefold() in ALWAYS_MISSING or text in unrated):
            continue
        number = _NUMBER.fullmatch(text)
        if text in labels or (number and not in_words):
            scores += count
        else:
            others += count
        if number:
            numbers += [float(text)] * count
    return _Column(cells.name, scores, others, tuple(numbers))


def _beyond(columns: Sequence[_Column]) -> list[str]:
    """Return columns of numbers that are no scores, such as ages beside answers from 1 to 5."""
    narrow = [one for one in columns if one.numbers and one.spread <= NARROW]
    numbers = [number for one in narrow for number in one.numbers]
    if len(narrow) < 2 or max(numbers) - min(numbers) > NARROW:
        return []
    low, high = min(numbers), max(numbers)
    far = [one for one in columns if one.spread > NARROW and len(one.numbers) >= ROWS]
    return [one.name for one in far if one.outside(low, high) >= OUTSIDE] if len(far) < len(narrow) else []


def _plain(name: str) -> str:
    return "".join(c for c in name.casefold() if c.isalnum())
