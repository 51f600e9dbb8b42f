"""What a report is made of: sections with findings, figures and tables. No HTML here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from plurivox.axis import MIN_GROUP_SIZE, By
from plurivox.lenses.responsiveness.references import ReferenceLike
from plurivox.ratings import Ratings
from plurivox.results.result import Result, Row
from plurivox.scale import Label

MOST_UNDEFINED = 5

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True, slots=True)
class Finding:
    """A sentence, how much it matters (see :class:`plurivox.results.result.Statement`), and the id of its evidence."""

    text: str
    weight: float
    anchor: str


@dataclass(frozen=True, slots=True)
class Prose:
    """A paragraph of plain text."""

    text: str


@dataclass(frozen=True, slots=True)
class Terms:
    """Terms and what they mean, as a list."""

    entries: tuple[tuple[str, str], ...]


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
    alt
        What a reader who cannot see it should know.
    caption
        How to read it.
    """

    id: str
    title: str
    chart: Any
    alt: str
    caption: str
    table: pl.DataFrame
    digits: Mapping[str, int] = field(default_factory=dict)


Block = Prose | Terms | DataTable | Figure


@dataclass(frozen=True, slots=True, eq=False)
class Section:
    """A part of the report.

    Attributes
    ----------
    lead
        What question it answers.
    remarks
        What could not be computed and why, what was withheld, what is missing and how to add it: shown at the top of
        the report, too.
    """

    id: str
    title: str
    lead: str
    blocks: Sequence[Block] = ()
    findings: Sequence[Finding] = ()
    remarks: Sequence[str] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Everything a section may use; ``extras`` holds what only some lens needs, by the name that it registered."""

    ratings: Ratings
    by: Sequence[By] = ()
    reference: ReferenceLike | None = None
    threshold: Label | None = None
    items_by: str | None = None
    several: Mapping[str, str] = field(default_factory=dict)
    min_group_size: int = MIN_GROUP_SIZE
    permutations: int = 1000
    bootstrap: int = 1000
    seed: int = 0
    title: str = "What the ratings say"
    command: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)
    remarks: Sequence[str] = ()
    progress: Progress | None = None
    extras: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text_column(self) -> str | None:
        """The item attribute that holds their text, if there is one."""
        known = {name.casefold(): name for name in self.ratings.items.columns[1:]}
        return next((known[name] for name in ("text", "prompt", "comment", "content", "rot") if name in known), None)


@dataclass(frozen=True, slots=True)
class Registered:
    """A section of the report, and the names of the inputs that it alone needs; None if it has nothing to say."""

    make: Callable[[Inputs], Section | None]
    extras: tuple[str, ...] = ()


def remarks_of(found: Result) -> list[str]:
    """Return what a lens says of the analysis itself, without what is withheld, which the study says for all."""
    return [one.text for one in found.statements() if one.weight == 0 and one.statistic != "withheld"]


def undefined_remarks(name: str, rows: Sequence[Row]) -> list[str]:
    """Return why a value could not be computed, for the first few groups, and for how many more."""
    remarks = [f"{name} of {row.group} could not be computed: {row.note}." for row in rows[:MOST_UNDEFINED]]
    if len(rows) > MOST_UNDEFINED:
        remarks.append(f"{name} of {len(rows) - MOST_UNDEFINED:,} more groups could not be computed either.")
    return remarks


def slug(*parts: object) -> str:
    """Return an id made of letters, digits and hyphens."""
    words = "".join(c if c.isascii() and c.isalnum() else " " for part in parts for c in f" {part}").split()
    return "-".join(words).lower() or "part"


def top_rows(frame: pl.DataFrame, n: int) -> tuple[pl.DataFrame, str]:
    """Return the first rows, and a sentence if that is not all."""
    if frame.height <= n:
        return frame, ""
    return frame.head(n), f"The first {n:,} of {frame.height:,} rows."


def with_text(frame: pl.DataFrame, inputs: Inputs) -> pl.DataFrame:
    """Add the items' text after their id, if they have one."""
    column = inputs.text_column
    if column is None:
        return frame
    known = inputs.ratings.items.select(pl.col("item").cast(pl.String), pl.col(column).cast(pl.String).alias("text"))
    joined = frame.join(known, on="item", how="left", maintain_order="left")
    return joined.select("item", "text", *(name for name in frame.columns if name != "item"))
