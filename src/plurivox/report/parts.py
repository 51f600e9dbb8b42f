"""What a report consists of: sections with findings, figures and tables, and what they add to its first screen.

No HTML here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from plurivox.base.settings import Axes
from plurivox.domain.ratings import Ratings
from plurivox.infer.result import Statement
from plurivox.plots.writing import Picture
from plurivox.report.settings import ReportSettings
from plurivox.study import Study


@dataclass(frozen=True, slots=True)
class Finding:
    """A statement (see :class:`plurivox.infer.result.Statement`), and the id of its evidence.

    ``fact`` marks what holds for all raters, and ``of_groups`` what compares groups of them, not models alone.
    """

    said: Statement
    anchor: str
    fact: bool = False
    of_groups: bool = True

    @property
    def text(self) -> str:
        """The sentence."""
        return self.said.text


@dataclass(frozen=True, slots=True)
class Tile:
    """A key figure: its value, what it is, and what to compare it with."""

    value: str
    name: str
    compared: str
    anchor: str


COLLECT, CHECK, CAUTION = "Collect", "Check", "Do not conclude"
"""The kinds of action."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something to do, or not to do, about a finding, and where the reason is; smaller ranks come first.

    What follows from claims, ``rests_on``, is only said if one of them holds in the whole report.
    """

    kind: str
    text: str
    anchor: str
    rank: int = 0
    rests_on: tuple[Statement, ...] = ()


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms and what they mean, as a list: the id, the term and its meaning."""

    entries: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class DataTable:
    """A table that can be sorted, and copied as CSV.

    Attributes
    ----------
    id, title
        The anchor and the heading.
    frame
        What it shows; the names of its columns are its header.
    digits
        For columns of numbers, how many decimals to show; 3 by default.
    note
        A sentence below it.
    search
        Whether rows can be searched by their text.
    """

    id: str
    title: str
    frame: pl.DataFrame
    digits: Mapping[str, int] = field(default_factory=dict)
    note: str = ""
    search: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Figure:
    """A chart, what it shows in words, and the table behind it.

    Attributes
    ----------
    title
        What it shows: the finding.
    chart, narrow
        The picture, and the same drawn for a phone.
    alt
        What a reader who cannot see it should know.
    caption
        How to read it.
    measure
        What is measured.
    half
        Whether it goes next to another on a wide page.
    """

    id: str
    title: str
    chart: Picture
    narrow: Picture
    alt: str
    caption: str
    table: pl.DataFrame
    measure: str = ""
    half: bool = False
    digits: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Switch:
    """One question with a chart for each attribute, shown one at a time."""

    id: str
    label: str
    figures: Sequence[tuple[str, Figure]]


Block = Prose | Terms | DataTable | Figure | Switch


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A part of the report.

    Attributes
    ----------
    lead
        What question it answers.
    blocks, more
        What everybody should see, and what goes into the appendix.
    remarks
        What could not be computed and why, what was withheld, what is missing and how to add it.
    sentence, tiles, actions, lead_figure
        What it adds to the first screen. The title of the figure is what it shows if nothing is claimed.
    """

    id: str
    title: str
    lead: str
    blocks: Sequence[Block] = ()
    findings: Sequence[Finding] = ()
    remarks: Sequence[str] = ()
    more: Sequence[Block] = ()
    sentence: str = ""
    tiles: Sequence[Tile] = ()
    actions: Sequence[Action] = ()
    lead_figure: Figure | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Brief:
    """What a report should show: the study, which answers every question once, and the settings.

    Attributes
    ----------
    by
        The axes without individual raters, who are not shown in reports.
    command
        The command that recreates the file.
    digests
        SHA-256 of the input files, by their name.
    remarks
        What a reader should know before anything else.
    notes
        Notes that somebody wrote on results, by the id of a section, ``answer`` for the first screen, or in words what
        else it is about.
    """

    study: Study
    asked: ReportSettings
    by: Axes = ()
    command: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def ratings(self) -> Ratings:
        """Who rated what."""
        return self.study.ratings

    @property
    def axes(self) -> Axes:
        """The axes whose groups to compare, none if it is not known who rated."""
        return self.by if self.ratings.has_raters else ()

    def ask(self, name: str, *, inputs: Mapping[str, Any] | None = None, **settings: Any) -> Any:
        """Ask the study with the report's settings that a question shares, and others as given."""
        import plurivox

        known = getattr(plurivox, name).settings.specs()
        own = {one: getattr(self.asked, one) for one in self.asked.specs() if one in known}
        if not own.get("bootstrap"):
            own.pop("bootstrap", None)  # by default each lens makes intervals in its own way
        return self.study.ask(name, inputs=inputs, **{**own, "by": self.axes, **settings})

    @property
    def text_column(self) -> str | None:
        """The item attribute that holds their text, if there is one."""
        return text_column(self.ratings)

    @property
    def texts(self) -> dict[str, str] | None:
        """The text of each item by its id, None if items have none."""
        if self.text_column is None:
            return None
        known = self.ratings.items.select(pl.col("item", self.text_column).cast(pl.String)).drop_nulls()
        return dict(known.iter_rows())


def text_column(ratings: Ratings) -> str | None:
    """Return the item attribute that holds their text, if there is one."""
    known = {name.casefold(): name for name in ratings.items.columns[1:]}
    return next((known[name] for name in ("text", "prompt", "comment", "content", "rot") if name in known), None)


def slug(*parts: object) -> str:
    """Return an id made of letters, digits and hyphens."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for part in parts for c in f" {part}").split()
    return "-".join(words).lower() or "part"
