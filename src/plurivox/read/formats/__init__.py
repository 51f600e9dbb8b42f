"""Exports of platforms, recognised by column names and the first rows; one module for each kind."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

from plurivox.base.errors import FileError
from plurivox.domain.raw import RawTable
from plurivox.read.formats import annotation, crowds, label_studio, lewidi, lists, potato, surveys
from plurivox.read.formats.record import HEAD, Export, Platform
from plurivox.read.opening import KINDS, Kind
from plurivox.read.settings import ReadSettings

PLAIN = "table"
PLATFORMS: tuple[Platform, ...] = (
    label_studio.PLATFORM, annotation.ARGILLA, potato.PLATFORM, crowds.PROLIFIC, crowds.MTURK, annotation.DOCCANO,
    annotation.PRODIGY, crowds.TOLOKA, surveys.QUALTRICS, lewidi.PLATFORM, lists.PLATFORM, surveys.GOOGLE_FORMS,
    surveys.SURVEY,
)  # fmt: skip
"""Platforms in the order in which they are tried: those that fit few tables come before those that fit many."""
What = Literal["raters", "items", "answers"]


class Taken(NamedTuple):
    """What a table was taken for."""

    platform: Platform
    export: Export


def kind_of(given: str | None) -> Kind | None:
    """Return the kind of file that was named, None if a platform was, or nothing."""
    return next((kind for kind in KINDS if kind == given), None)


def ratings_of(table: RawTable, given: str | None, asked: ReadSettings) -> Taken | None:
    """Return the answers in an export of a platform, None if the table is not one."""
    if (platform := _platform(table, given, asked, "ratings")) is None:
        return None
    named: Any = platform.name if given == platform.name else None
    export = platform.ratings(table, replace(asked, format=named))
    export.table.pieces = export.tally.checked(export.table.pieces, table.name)
    return Taken(platform, export)


def export_of(table: RawTable, given: str | None, asked: ReadSettings, what: What) -> Export | None:
    """Return what an export of a platform says about raters or items, or what models answer in it; None if nothing."""
    read: Any = getattr(_platform(table, given, asked, what), what, None)
    return None if read is None else read(table, asked)


def _platform(table: RawTable, given: str | None, asked: ReadSettings, what: str) -> Platform | None:
    if given == PLAIN:
        return None
    head = table.first().head(HEAD)
    named = next((one for one in PLATFORMS if one.name == given), None)
    if named is None:
        able = (one for one in PLATFORMS if getattr(one, what) is not None)
        return next((one for one in able if one.fits(table.columns, head, asked)), None)
    if getattr(named, what) is None or not named.fits(table.columns, head, asked):
        raise FileError(
            f"it does not look like {named.title}", source=table.name,
            hint=f"Leave out --format so that it is recognised, or use --format {PLAIN} for a plain table.",
        )  # fmt: skip
    return named
