"""Tables with one row per respondent and one column per question: sorted, and unfolded into one row per answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from plurivox.base.errors import ColumnError, ScaleError, few, no_column
from plurivox.base.wording import counted
from plurivox.domain.attributes import as_categories, in_order
from plurivox.domain.raw import RawTable, by_name, plain_names
from plurivox.domain.scale import ALWAYS_MISSING, text_of
from plurivox.read.formats.record import Export, Tally, remade
from plurivox.read.respondents import (
    NARROW,
    Held,
    are_genders,
    asks_for_words,
    beyond,
    held,
    is_administrative,
    is_id,
    named_like_question,
    tells_of_people,
)
from plurivox.read.settings import ReadSettings

CLEAR, SHARED = 10, 0.25
"""Numbers are on different scales if this many answers of each question share at most this part of their range."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_MOST = 4


@dataclass(frozen=True, slots=True)
class _Question:
    """The answers to a question: words, or the range of numbers."""

    name: str
    n: int
    values: frozenset[str]
    low: float | None = None
    high: float | None = None

    def differs(self, other: _Question) -> bool:
        """Return whether two questions cannot be on one scale."""
        if self.low is None or other.low is None or self.high is None or other.high is None:
            return (self.low is None) != (other.low is None) or not self.values & other.values
        if min(self.n, other.n) < CLEAR or min(len(self.values), len(other.values)) < 2:
            return False
        whole = max(self.high, other.high) - min(self.low, other.low)
        shared = max(0.0, min(self.high, other.high) - max(self.low, other.low))
        within = shared in (self.high - self.low, other.high - other.low)
        # People may have used only a few points of a short scale, but hardly of a long one.
        return shared <= SHARED * whole and (not within or whole > 2 * CLEAR)


def refuse_mixed(
    answers: Mapping[str, Mapping[str, int]], columns: Sequence[str], missing: Collection[str], source: str
) -> None:
    """Raise an error if questions are on different scales, and list them by their answers.

    Parameters
    ----------
    answers
        How often each answer was given to each question.
    columns
        All columns in their order.
    missing
        Answers that mean no rating.
    """
    groups = _groups([one for name in answers if (one := _question(name, answers[name], missing)) is not None])
    if len(groups) < 2:
        return
    groups.sort(key=len, reverse=True)
    shown = [f"{_values(group)} ({few([one.name for one in group], 6)})" for group in groups[:_MOST]]
    more = f", and {len(groups) - _MOST} more" if len(groups) > _MOST else ""
    chosen = questions_text([one.name for one in groups[0]], columns)
    raise ScaleError(
        f"the questions are not on one scale: {'; '.join(shown)}{more}", source=source,
        hint=f"Choose questions that belong together: --questions '{chosen}'; name those that describe people with "
        "--rater-attributes.",
    )  # fmt: skip


def questions_text(chosen: Sequence[str], columns: Sequence[str]) -> str:
    """Return columns in the form ``--questions`` accepts: a range if they are adjacent.

    Examples
    --------
    >>> questions_text(["b", "c", "d"], "abcde"), questions_text(["a", "c"], "abcde")
    ('b:d', 'a,c')
    """
    places = [columns.index(name) for name in chosen]
    if len(places) > 2 and places == list(range(places[0], places[0] + len(places))):
        return f"{chosen[0]}:{chosen[-1]}"
    return ",".join(chosen)


def _question(name: str, counts: Mapping[str, int], missing: Collection[str]) -> _Question | None:
    """Return what most of the answers are; None if there are none."""
    texts: dict[str, int] = {}
    for value, n in counts.items():
        text = text_of(value)
        if text.casefold() not in ALWAYS_MISSING and text not in missing:
            texts[text] = texts.get(text, 0) + n
    if not texts:
        return None
    n = sum(texts.values())
    numbers = {text: float(text) for text in texts if _NUMBER.fullmatch(text)}
    if 2 * sum(texts[text] for text in numbers) > n:
        return _Question(name, n, frozenset(numbers), min(numbers.values()), max(numbers.values()))
    return _Question(name, n, frozenset(texts) - frozenset(numbers))


def _groups(questions: Sequence[_Question]) -> list[list[_Question]]:
    """Group questions that may share a scale, those with the widest range of answers first."""
    groups: list[list[_Question]] = []
    for one in sorted(questions, key=lambda one: -len(one.values)):
        home = next((group for group in groups if not any(one.differs(other) for other in group[:1])), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    order = {one.name: place for place, one in enumerate(questions)}
    return [sorted(group, key=lambda one: order[one.name]) for group in groups]


def _values(group: Sequence[_Question]) -> str:
    lows = [one.low for one in group if one.low is not None]
    highs = [one.high for one in group if one.high is not None]
    if lows:
        return f"{min(lows):g} to {max(highs):g}"
    return few(in_order({value for one in group for value in one.values}), 6)


ITEM, SCORE, RATER, TEXT = "question", "answer", "respondent", "text"
SURVEY = "survey"
"""The name of such a table's layout."""
_SLICE = 1 << 18
_ROW = re.compile(r"row (\d+)")
Gate = Callable[[pl.DataFrame, Tally, ReadSettings], pl.DataFrame]


@dataclass(frozen=True, slots=True)
class Cell:
    """A column of answers: which item they are about, and which question they answer."""

    column: str
    item: str
    question: str = SCORE


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """What the columns of a table of respondents are.

    Attributes
    ----------
    respondent
        The column of respondents, None if each row is one.
    cells
        The columns of answers.
    attributes, aside
        Columns that describe respondents, and those that are not used.
    asked_by
        The question texts of columns that describe respondents, if their names do not say it.
    about
        What is known about items: attribute → item → value.
    gate
        Leaves out rows that are not answers, and counts them.
    skip
        How many rows below the header hold no answers.
    """

    respondent: str | None
    cells: tuple[Cell, ...]
    attributes: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    about: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    asked_by: Mapping[str, str] = field(default_factory=dict)
    gate: Gate | None = None
    skip: int = 0

    def export(self, table: RawTable, asked: ReadSettings, *, item: str = ITEM, notes: Sequence[str] = ()) -> Export:
        """Return the table with one row for each respondent and item."""
        if asked.score in table.columns:
            raise ColumnError(
                f"'{asked.score}' is one of several columns of answers, each of which is an item of a survey",
                source=table.name, hint=f"Choose the columns to read with --questions '{asked.score}'.",
            )  # fmt: skip
        tally = Tally(of="respondent")
        taken = {*self.attributes, *(cell.question for cell in self.cells)}
        rater = self.respondent or _other(RATER, taken)
        item = _other(item, {*taken, rater})
        about = {_other(name, {*taken, rater, item}): values for name, values in self.about.items()}
        if self.respondent is None:
            tally.notes.append("there is no column of respondents, so each row counts as one rater")
        if self.attributes:
            told = [f"{name} ({self.asked_by[name]})" if name in self.asked_by else name for name in self.attributes]
            tally.notes.append(f"columns that describe raters: {few(told)}")
        if self.aside:
            tally.notes.append(f"{counted(len(self.aside), 'column')} not used: {few(self.aside)}")
        tally.notes += notes
        questions = tuple(dict.fromkeys(cell.question for cell in self.cells))
        wanted = asked.score or SCORE
        wanted = wanted if wanted in questions else next(iter(questions), "")
        compared = [cell for cell in self.cells if cell.question == wanted]
        items = self.items

        def locate(answer: int) -> str:
            row, place = divmod(answer, len(items))
            columns = [cell.column for cell in compared if cell.item == items[place]]
            return f"{table.locate(row)}, column {few(columns)}" if columns else table.locate(row)

        people = self._people(table, asked, tally, [cell.column for cell in compared])
        made = ((self._long(part, who.alias(rater), item, about, questions), rows) for part, who, rows in people)
        return Export(
            table=remade(  # the limits on its file are checked before it is unfolded
                replace(table, locate=locate, size=None), [rater, *self.attributes, item, *about, *questions], made
            ),
            item=item, rater=rater, questions=questions, item_attributes=tuple(about),
            rater_attributes=self.attributes, tally=tally, layout=SURVEY,
        )  # fmt: skip

    @property
    def items(self) -> list[str]:
        """The items that its cells are about."""
        return list(dict.fromkeys(cell.item for cell in self.cells))

    def _people(
        self, table: RawTable, asked: ReadSettings, tally: Tally, compared: Sequence[str]
    ) -> Iterator[tuple[pl.DataFrame, pl.Series, Any]]:
        """Yield slices of the table: its texts, who they are, and the number of each answer, item by item.

        An answer is numbered by its row times the number of items, plus the place of its item. Columns that are
        ``compared`` must be on one scale.
        """
        at, n_items = 0, len(self.items)
        seen = {name: Counter[str]() for name in compared}
        index = _other("row", set(table.columns))
        named = [self.respondent] if self.respondent else []
        used = dict.fromkeys([*named, *self.attributes, *(cell.column for cell in self.cells)])
        for piece in table.bounded(table.pieces):
            kept = piece.with_row_index(index, at)
            at += piece.height
            kept = kept.filter(pl.col(index) >= self.skip)
            kept = kept if self.gate is None else self.gate(kept, tally, asked)
            tally.n_of += kept.height
            for part in kept.iter_slices(max(1, _SLICE // max(1, n_items))):
                rows = part[index].to_numpy().astype(np.int64)
                texts = part.drop(index).with_columns(as_categories(part[name]) for name in used)
                for name, counts in seen.items():
                    counts.update(dict(texts[name].drop_nulls().alias("text").value_counts().iter_rows()))
                if self.respondent is None:  # respondents that are just rows have row numbers, as in a spreadsheet
                    places = [table.locate(int(row)) for row in rows]
                    who = pl.Series([found[1] if (found := _ROW.fullmatch(place)) else place for place in places])
                else:
                    who = texts[self.respondent]
                yield texts, who, (rows * n_items + np.arange(n_items)[:, np.newaxis]).reshape(-1)
        if asked.scale is None:
            refuse_mixed(seen, table.columns, asked.missing, table.name)

    def _long(
        self, part: pl.DataFrame, who: pl.Series, item: str, about: Mapping[str, Mapping[str, str]],
        questions: Sequence[str],
    ) -> pl.DataFrame:  # fmt: skip
        """Return one row for each item and respondent, item by item."""
        items, n = self.items, part.height
        people = pl.DataFrame([who, *(part[name] for name in self.attributes)])
        columns = pl.concat([people] * len(items)).get_columns()
        item_of = np.repeat(np.arange(len(items)), n)
        columns.append(pl.Series(item, items, dtype=pl.String).gather(item_of))
        for name, known in about.items():
            columns.append(pl.Series(name, [known.get(one) for one in items], dtype=pl.String).gather(item_of))
        unanswered = pl.Series([None] * n, dtype=pl.String)
        for question in questions:
            of = {cell.item: cell.column for cell in self.cells if cell.question == question}
            answers = [part[of[one]].alias("") if one in of else unanswered for one in items]
            columns.append(pl.concat(answers).alias(question))
        return pl.DataFrame(columns)


def _other(name: str, taken: set[str]) -> str:
    """Return a name that nothing else has."""
    while name in taken:
        name += "_"
    return name


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
    asked: ReadSettings,
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


def _kind(one: Held, text: str, asked: ReadSettings) -> str | None:
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


def _questions(found: Sequence[Held], named: Collection[str] | None, asked: ReadSettings) -> set[str]:
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


def respondent_column(
    head: pl.DataFrame, columns: Sequence[str], asked: ReadSettings, source: str
) -> tuple[str | None, list[str]]:
    """Return the column of respondents and the others: one asked for, named so, or the first if its values differ.

    It is None if plurivox itself made that column because each row is one respondent.
    """
    found: str | None = None
    if asked.rater is not None and asked.rater in columns:
        found = asked.rater
    elif asked.rater is not None and not asked.rater.startswith(RATER):
        raise no_column(asked.rater, columns, source, role=" for the rater")
    elif asked.rater is None and (free := [name for name in columns if name not in asked.rater_attributes]):
        plainly = plain_names(free)
        known = [by_name(free, "rater"), *(plainly.get(name) for name in _RESPONDENT)]
        told = (one for one in known if one and any(str(cell).strip() for cell in head[one].drop_nulls().head(100)))
        found = next(told, None)  # tools leave some columns blank
        first = free[0]
        odd = is_administrative(first) or tells_of_people(first) or named_like_question(first) or asks_for_words(first)
        if found is None and not odd and head.height and not head[first].is_duplicated().any():
            one = held(head[first], None, ())  # numbers close together that are not row numbers may be scores
            if not (one.holds_scores and one.spread <= NARROW and sorted(one.numbers) != [*one.numbers]):
                found = first
    return found, [name for name in columns if name != found]
