"""The record of a platform: how its exports are recognised, and how they become one row per answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import polars as pl

from plurivox.errors import ColumnError, InputError
from plurivox.intake.people import tells_of_people
from plurivox.intake.raw import RawTable
from plurivox.results.wording import counted, listed
from plurivox.scale import Scale

Choice = Literal["keep", "drop"]
"""What becomes of answers that somebody has to decide about."""
CHOICES: tuple[Choice, ...] = get_args(Choice)
REJECTED, UNFINISHED = "rejected", "unfinished"
WAITING = "\0waiting"
"""A column of a table of raters, by which all ratings of a rater wait for a decision.

It says which of the two it is, and by what status: ``unfinished:RETURNED``; nothing where a rater counts in any case.
"""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user said about a table before it is read; None where nothing was said.

    Attributes
    ----------
    item, rater, score
        Columns. The score may name several questions: ``"Q1,Q2"``.
    questions
        Which columns of a survey are questions: ``"Q1:Q20"``, names, or a pattern with a star.
    rejected, unfinished
        Whether answers of rejected people, and those of people who did not finish, are kept or dropped.
    scale, missing
        The scale, if it is given, and further answers that mean no rating.
    platform
        The platform that was named; of a table of raters or items the one that the ratings come from.
    rater_attributes, item_attributes
        Columns that describe raters or items.
    """

    item: str | None = None
    rater: str | None = None
    score: str | None = None
    questions: str | None = None
    rejected: Choice | None = None
    unfinished: Choice | None = None
    scale: Scale | None = None
    missing: frozenset[str] = frozenset()
    platform: str | None = None
    rater_attributes: tuple[str, ...] = ()
    item_attributes: tuple[str, ...] = ()

    def said(self) -> dict[str, str]:
        """Return what was said that only exports need, by the name of the option."""
        given = {name: getattr(self, name) for name in ("questions", REJECTED, UNFINISHED)}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(slots=True)
class Tally:
    """What is counted while an export is read, and so is complete only when all pieces are.

    Attributes
    ----------
    left_out
        What holds no rating and was left out, such as ``cancelled annotations`` → 3. Named in the plural.
    undecided
        What needs a word from the user, by :data:`REJECTED` or :data:`UNFINISHED`.
    marked
        What counts as a rating although the export marks it, such as ``annotations marked as ground truth`` → 2.
    notes
        Sentences about what a reader has to know, such as that drafts cannot be told from answers.
    of, n_of
        What is decided about, if not single answers, such as ``respondent``, and how many there are.
    """

    left_out: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    marked: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    of: str = ""
    n_of: int = 0

    def sentences(self) -> list[str]:
        """Return what there is to say besides what was left out."""
        return [*self.notes, *(f"counted as ratings: {what} ({n:,})" for what, n in self.marked.items() if n)]

    def decided(self, frame: pl.DataFrame, waiting: pl.Series, what: str, asked: Asked) -> pl.DataFrame:
        """Return the rows that are kept: of those that wait for a decision all, or none."""
        n_waiting = int(waiting.sum())
        if not n_waiting or getattr(asked, what) == "keep":
            return frame
        if getattr(asked, what) is None:
            self.undecided[what] += n_waiting
            return frame
        self.left_out[f"{what} {self.of or 'row'}s"] += n_waiting
        return frame.filter(~waiting)

    def checked(self, pieces: Iterator[pl.DataFrame], source: str) -> Iterator[pl.DataFrame]:
        """Yield the pieces; raise at the end if something waits for a decision, or everything was left out."""
        n_rows = 0
        for piece in pieces:
            n_rows += piece.height
            yield piece
        of = counted(self.n_of, self.of) if self.of else counted(n_rows, "answer")
        for what, n in self.undecided.items():
            raise InputError(
                f"{n:,} of {of} are {what}, and whether they count is not known",
                source=source, hint=f"Say --{what} drop to leave them out, or --{what} keep.",
            )  # fmt: skip
        if not n_rows and (left_out := [f"{what} ({n:,})" for what, n in self.left_out.items() if n]):
            raise InputError(
                f"no answer is left, since {listed(left_out)} are left out", source=source,
                hint="Check that this is the file with the answers; --format says what it is otherwise.",
            )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An export as a table with one row per answer, per rater or per item.

    Attributes
    ----------
    table
        Its columns are text. Those of questions hold scores, and nothing where a question was not answered.
    item, rater
        The columns that hold them.
    questions
        The columns of scores.
    item_attributes, rater_attributes
        Columns that describe items or raters.
    time
        The column with when a rating was given, if there is one that :mod:`plurivox.intake.times` reads.
    tally
        What is counted while the table is read.
    layout
        What the table was before, if not one row for each answer.
    """

    table: RawTable
    item: str = "item"
    rater: str = "rater"
    questions: tuple[str, ...] = ()
    item_attributes: tuple[str, ...] = ()
    rater_attributes: tuple[str, ...] = ()
    time: str | None = None
    tally: Tally = field(default_factory=Tally)
    layout: str = ""

    def question(self, platform: Platform) -> str:
        """Return the only question, or raise an error that names all of them."""
        if len(self.questions) == 1:
            return self.questions[0]
        if not self.questions:
            raise ColumnError(
                f"it is {platform.title}, in which no column was recognised as that of the answers",
                source=self.table.name,
                hint="Name it with --score; --format says what the file is otherwise.",
            )  # fmt: skip
        likely = [name for name in self.questions if not tells_of_people(name)] or self.questions
        several = f"; where an analysis takes several: --score '{','.join(likely[:2])}'" if len(likely) > 1 else ""
        raise ColumnError(
            f"it holds answers to {len(self.questions)} questions: {listed(self.questions, 8)}",
            source=self.table.name,
            hint=f"Choose one with --score '{likely[0]}'{several}.",
        )

    def no_attributes(self, used: Collection[str]) -> Iterator[str]:
        """Yield sentences about columns that describe items or raters, but are not used as attributes of them."""
        for what, names in (("item", self.item_attributes), ("rater", self.rater_attributes)):
            if lacking := [f"'{name}'" for name in names if name not in used]:
                yield (
                    f"not read as attributes of {what}s, since they differ between answers for the same {what} or are "
                    f"called like another column: {listed(lacking, 5)}"
                )


Fits = Callable[[Sequence[str], pl.DataFrame, Asked], bool]
Reads = Callable[[RawTable, Asked], Export]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Where exports come from.

    Attributes
    ----------
    name
        What ``--format`` calls it.
    title
        What a file was taken for, as in "it is …".
    fits
        Tells by the names of columns and the first rows whether a table is an export of it.
    ratings
        Turns such a table into one row per answer; None if it holds none.
    raters
        Turns such a table into one row per rater; None if it tells nothing about raters.
    items
        Turns such a table into one row per item; None if it already has one, or tells nothing about items.
    answers
        Turns such a table into one row per answer of a model, with the columns ``item``, ``model`` and ``answer``; None
        if it holds none.
    """

    name: str
    title: str
    fits: Fits
    ratings: Reads | None = None
    raters: Reads | None = None
    items: Reads | None = None
    answers: Reads | None = None
