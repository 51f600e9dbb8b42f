"""What is known about a public data set: where it is from, what its files look like, and how they become Ratings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from plurivox.domain.ratings import Ratings

Form = Literal["csv", "tsv", "jsonl", "json"]
"""How a table is written: ``jsonl`` has one object per line, ``json`` is one list, or one object, of objects."""
Tables = Mapping[str, pl.DataFrame | list[dict[str, Any]]]
"""What the tables of a data set hold, by the name of the table: frames of text, or objects."""
Both = tuple[Ratings, Ratings | None]
"""The ratings, and those of experts, if the data set has some."""


@dataclass(frozen=True, slots=True)
class SourceTable:
    """One table that a loader reads: a file, or a file in an archive."""

    name: str
    form: Form
    columns: tuple[str, ...]
    """Columns, or keys of each object, that the loader needs."""
    more: tuple[str, ...] = ()
    """Further columns of the original; it also loads without them."""
    rows: int | None = None
    """How many rows or objects there are, if published or counted."""
    sha256: str | None = None
    """The SHA-256 of a copy that was seen."""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Download:
    """A file to fetch. Its address is where the authors put it."""

    name: str
    address: str
    sha256: str | None = None
    """The SHA-256 of the file at the address, if known; a file with another one is refused."""
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """How large a data set is; None if unknown."""

    items: int | None = None
    raters: int | None = None
    ratings: int | None = None
    said_by: str = ""
    """Who says so."""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A public data set.

    Attributes
    ----------
    seen
        Which original file the loader has read, or that it has read none and follows the published description.
    load
        From tables to ratings and the reference; None if the format is unknown.
    """

    name: str
    title: str
    question: str
    citation: str
    licence: str
    home: str
    scale: str
    tables: tuple[SourceTable, ...]
    downloads: tuple[Download, ...]
    counts: Counts
    seen: str
    load: Callable[[Tables], Both] | None
    rater_attributes: tuple[str, ...] = ()
    item_attributes: tuple[str, ...] = ()
    reference: str = ""
    """What the reference is."""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A data set that was read: ratings, the reference, and what must be stated when it is used.

    Attributes
    ----------
    name, title
        What it is called.
    ratings
        Who rated what, with the scale in its right order and the attributes of raters and items.
    reference
        Ratings of experts, or None.
    licence, citation
        The terms on which it may be used, and whom to cite.
    """

    name: str
    title: str
    ratings: Ratings
    reference: Ratings | None
    licence: str
    citation: str
