"""The record of a platform: how its exports are recognised, and how they become one row per answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

import polars as pl

from plurivox.base.errors import ColumnError, InputError
from plurivox.base.wording import counted, listed
from plurivox.domain.raw import RawTable
from plurivox.read.respondents import tells_of_people
from plurivox.read.settings import ReadSettings

HEAD = 1000
"""How many rows are looked at to recognise a table."""
REJECTED, UNFINISHED = "rejected", "unfinished"
WAITING = "\0waiting"
"""A column of a table of raters that says whether a rater's ratings need a decision.

It says which decision, and because of which status: ``unfinished:RETURNED``; null if a rater counts in any case.
"""


@dataclass(slots=True)
class Tally:
    """What is counted while an export is read; complete only when all pieces have been read.

    Attributes
    ----------
    left_out
        What holds no rating and was left out, such as ``cancelled annotations`` → 3; named in the plural.
    undecided
        What the user has to decide about, by :data:`REJECTED` or :data:`UNFINISHED`.
    marked
        What counts as a rating although the export marks it, such as ``annotations marked as ground truth`` → 2.
    notes
        Sentences that a reader needs to know, such as that drafts cannot be distinguished from answers.
    of, n_of
        What the decision is about, if not single answers, such as ``respondent``, and how many there are.
    """

    left_out: Counter[str] = field(default_factory=Counter)
    undecided: Counter[str] = field(default_factory=Counter)
    marked: Counter[str] = field(default_factory=Counter)
    notes: list[str] = field(default_factory=list)
    of: str = ""
    n_of: int = 0

    def sentences(self) -> list[str]:
        """Return the sentences about everything except what was left out."""
        return [*self.notes, *(f"counted as ratings: {what} ({n:,})" for what, n in self.marked.items() if n)]

    def decided(self, frame: pl.DataFrame, waiting: pl.Series, what: str, asked: ReadSettings) -> pl.DataFrame:
        """Return the rows that are kept: all or none of those that need a decision."""
        n_waiting = int(waiting.sum())
        if not n_waiting or getattr(asked, what) == "keep":
            return frame
        if getattr(asked, what) is None:
            self.undecided[what] += n_waiting
            return frame
        self.left_out[f"{what} {self.of or 'row'}s"] += n_waiting
        return frame.filter(~waiting)

    def checked(self, pieces: Iterator[pl.DataFrame], source: str) -> Iterator[pl.DataFrame]:
        """Yield the pieces; raise an error at the end if a decision is missing or everything was left out."""
        n_rows = 0
        for piece in pieces:
            n_rows += piece.height
            yield piece
        of = counted(self.n_of, self.of) if self.of else counted(n_rows, "answer")
        for what, n in self.undecided.items():
            raise InputError(
                f"{n:,} of {of} {'is' if n == 1 else 'are'} {what}, and you have to decide whether they count",
                source=source, hint=f"Use --{what} drop to leave them out, or --{what} keep.",
            )  # fmt: skip
        if not n_rows and (left_out := [f"{what} ({n:,})" for what, n in self.left_out.items() if n]):
            raise InputError(
                f"no answers remain, because {listed(left_out)} are left out", source=source,
                hint="Check that this is the file with the answers, or name its format with --format.",
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
        The column of times at which ratings were given, if there is one that :mod:`plurivox.domain.numbers` reads.
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
                f"it is {platform.title}, in which no column of answers was recognised",
                source=self.table.name,
                hint="Name the column with --score, or name the right format with --format.",
            )  # fmt: skip
        likely = [name for name in self.questions if not tells_of_people(name)] or self.questions
        several = f"; if an analysis accepts several: --score '{','.join(likely[:2])}'" if len(likely) > 1 else ""
        raise ColumnError(
            f"it holds answers to {len(self.questions)} questions: {listed(self.questions, 8)}",
            source=self.table.name,
            hint=f"Choose one with --score '{likely[0]}'{several}.",
        )

    def no_attributes(self, used: Collection[str]) -> Iterator[str]:
        """Yield sentences about columns that describe items or raters but are not used as their attributes."""
        for what, names in (("item", self.item_attributes), ("rater", self.rater_attributes)):
            if lacking := [f"'{name}'" for name in names if name not in used]:
                yield (
                    f"not read as attributes of {what}s, because they differ between answers for the same {what} or "
                    f"have the name of another column: {listed(lacking, 5)}"
                )


Fits = Callable[[Sequence[str], pl.DataFrame, ReadSettings], bool]
Reads = Callable[[RawTable, ReadSettings], Export]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Where exports come from.

    Attributes
    ----------
    name
        What ``--format`` calls it.
    title
        What a file was recognised as, as in "it is …".
    fits
        Whether a table is an export of the platform, judged by column names and the first rows.
    ratings
        Turns such a table into one row per answer.
    raters
        Turns such a table into one row per rater; None if it says nothing about raters.
    items
        Turns such a table into one row per item; None if it already has that form, or says nothing about items.
    answers
        Turns such a table into one row per model answer, with the columns ``item``, ``model`` and ``answer``; None if
        it holds none.
    """

    name: str
    title: str
    fits: Fits
    ratings: Reads
    raters: Reads | None = None
    items: Reads | None = None
    answers: Reads | None = None
