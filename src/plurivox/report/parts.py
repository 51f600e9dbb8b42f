"""What a report consists of, and how results become its parts: sections, findings, figures and tables.

No HTML here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from plurivox.base.settings import Axes
from plurivox.domain.ratings import Ratings
from plurivox.infer.claims import merged
from plurivox.infer.result import Result, Statement
from plurivox.infer.view import View
from plurivox.lenses.items.result import Items
from plurivox.plots.writing import Picture
from plurivox.report.settings import ReportSettings
from plurivox.statistics.registry import LABELS
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
    def texts(self) -> dict[str, str] | None:
        """The text of each item by its id, None if items have none."""
        column = text_column(self.ratings)
        if column is None:
            return None
        known = self.ratings.items.select(pl.col("item", column).cast(pl.String)).drop_nulls()
        return dict(known.iter_rows())


def text_column(ratings: Ratings) -> str | None:
    """Return the item attribute that holds their text, if there is one."""
    known = {name.casefold(): name for name in ratings.items.columns[1:]}
    return next((known[name] for name in ("text", "prompt", "comment", "content", "rot") if name in known), None)


def slug(*parts: object) -> str:
    """Return an id made of letters, digits and hyphens."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for part in parts for c in f" {part}").split()
    return "-".join(words).lower() or "part"


WIDE, HALF, NARROW = 950, 450, 340
"""Widths of charts in pixels: on a full-width page, two side by side there, and on a phone."""
MOST_UNDEFINED = 5
OF_MODELS = ("alignment", "estimate", "judge", "soft scores")
"""Results whose claims are about models, not about differences between groups of raters."""


def drawn(
    chart: str, found: Any, name: str, title: str, alt: str, caption: str, *which: Any, measure: str = "",
    half: bool = False, **options: Any,
) -> Figure:  # fmt: skip
    """Return a figure of a chart in :mod:`plurivox.plots` with the table behind it, from the same arguments."""
    from plurivox import plots
    from plurivox.plots.writing import Picture

    pictures = []
    for width in (HALF if half else WIDE, NARROW):
        with plots.sized(width):
            pictures.append(Picture.untitled(getattr(plots, chart)(found, *which, **options)))
    data = getattr(plots, f"{chart}_data")(found, *which, **options)
    wide, narrow = pictures
    return Figure(name, title, wide, narrow, alt, caption, data, measure, half)


def switched(name: str, label: str, figures: Iterable[tuple[str, Figure]]) -> list[Block]:
    """Return charts of one question with a switch between them, or the chart itself if there is only one.

    Either has the id of the question, so that links lead there.
    """
    every = list(figures)
    return [Switch(name, label, every)] if len(every) > 1 else [replace(figure, id=name) for _, figure in every]


def shown(
    name: str, view: View, note: str = "", *, title: str = "", most: int = 1000, brief: Brief | None = None
) -> list[Block]:  # fmt: skip
    """Return a view of a lens as a table with its numbers, nothing if it has no rows; ``brief`` knows items' texts."""
    frame = view.frame() if brief is None else with_text(view.frame(), brief)
    return [table(name, title or view.title, frame, most, note, digits=view.digits, search=True)] if view.rows else []


def table(
    name: str, title: str, frame: pl.DataFrame, most: int, note: str = "", *,
    digits: Mapping[str, int] | None = None, search: bool = False,
) -> DataTable:  # fmt: skip
    """Return the first rows of a frame as a table; its note says if there are more."""
    cut = f"The first {most:,} of {frame.height:,} rows." if frame.height > most else ""
    said = " ".join(filter(None, (note, cut)))
    return DataTable(name, title, frame.head(most), digits or {}, said, search)


_NAMES = {
    "of": "estimated", "model": "model", "prompt": "prompt", "reference": "reference", "method": "method",
    "bin": "ratings of an item",
    "axis": "axis", "group": "group", "subset": "subset", "statistic": "statistic", "value": "value", "ci_low": "low",
    "ci_high": "high", "null_median": "chance", "p_value": "p", "p_adjusted": "p corrected", "rank": "rank",
    "n_raters": "raters", "n_items": "items", "prior_share": "share of prior", "note": "note",
    "unweighted": "unweighted",
}  # fmt: skip
"""What readers see of the frame of a result, and under which names."""


def tested_values(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a result, each value next to what chance gives, without columns that say nothing."""
    known = frame.select(pl.col(name).alias(to) for name, to in _NAMES.items() if name in frame.columns)
    said = [
        name for name in known.columns
        if name == "value" or not known[name].cast(pl.String).fill_null("").is_in(["", "NaN", "all"]).all()
    ]  # fmt: skip
    return known.with_columns(pl.col("statistic").replace(LABELS)).select(said)


def values(name: str, title: str, frame: pl.DataFrame, most: int = 1000) -> DataTable:
    """Return all values of a result as a table."""
    return table(name, title, tested_values(frame), most, search=True)


def findings_of(found: Result | Items, default: str, anchors: Mapping[str, str] | None = None) -> list[Finding]:
    """Return the findings, each with the id of its evidence: that of its statistic, or the usual one."""
    of_groups = not (isinstance(found, Result) and found.KIND in OF_MODELS)
    return [
        Finding(one, (anchors or {}).get(one.statistic, default), one.group == "all" and not one.claim, of_groups)
        for one in sorted(found.statements(), key=lambda one: -one.weight)
        if one.weight > 0
    ]


def headline(statements: Sequence[Statement], *statistics: str, otherwise: str) -> str:
    """Return what some statistics claim in a few words, as a title; otherwise the given alternative."""
    said = [one for one in statements if one.claim and one.short and one.statistic in statistics]
    lines = merged(said, 2, amounts=len(said) == 1)
    return lines[0].text if lines else otherwise


def remarks_of(found: Result) -> list[str]:
    """Return what a lens says about the analysis itself, except what is withheld, which the study section covers."""
    return [one.text for one in found.statements() if one.weight == 0 and one.statistic != "withheld"]


def undefined_remarks(found: Result, statistic: str) -> list[str]:
    """Return why values could not be computed, for the first few groups, and for how many more."""
    name = LABELS[statistic]
    rows = [row for row in found.rows if math.isnan(row.value) and (row.kind, row.statistic) == ("group", statistic)]
    remarks = [f"{name} of {row.group} could not be computed: {row.note}." for row in rows[:MOST_UNDEFINED]]
    if len(rows) > MOST_UNDEFINED:
        remarks.append(f"{name} of {len(rows) - MOST_UNDEFINED:,} more groups could not be computed either.")
    return remarks


def with_text(frame: pl.DataFrame, brief: Brief) -> pl.DataFrame:
    """Add the items' text after their id, if they have one."""
    column = text_column(brief.ratings)
    if column is None:
        return frame
    known = brief.ratings.items.select(pl.col("item").cast(pl.String), pl.col(column).cast(pl.String).alias("text"))
    joined = frame.join(known, on="item", how="left", maintain_order="left")
    return joined.select("item", "text", *(name for name in frame.columns if name != "item"))
