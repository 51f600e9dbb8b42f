"""Prolific: a table of participants, which describes raters and holds no ratings.

A participant may have several submissions; the one with the best status counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from plurivox.base.errors import InputError
from plurivox.domain.attributes import clean
from plurivox.domain.raw import RawTable
from plurivox.read.formats.record import REJECTED, UNFINISHED, WAITING, Export, Platform
from plurivox.read.formats.unfolding import answer
from plurivox.read.settings import ReadSettings

_RATER, _STATUS = "Participant id", "Status"
_KNOWN = {"Submission id", _RATER, _STATUS}
_ADMINISTRATIVE = (
    "Submission id", _STATUS, "Custom study tncs accepted at", "Started at", "Completed at", "Reviewed at",
    "Archived at", "Time taken", "Completion code", "Total approvals",
)  # fmt: skip
_MISSING = ("DATA_EXPIRED", "CONSENT_REVOKED")
_APPROVED, _UNREVIEWED = "APPROVED", "AWAITING REVIEW"
_UNDONE = ("RETURNED", "TIMED-OUT", "TIMED OUT", "ACTIVE", "RESERVED", "SCREENED OUT")
_ROW, _RANK = "\0row", "\0rank"


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by column names."""
    return set(columns) >= _KNOWN


def ratings(table: RawTable, asked: ReadSettings) -> Export:
    """Raise an error, since there are none."""
    raise InputError(
        "it is a table of raters from Prolific and holds no ratings", source=table.name,
        hint="Give the file with the ratings, and give this one with --raters; 'Participant id' joins the two.",
    )  # fmt: skip


def raters(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per participant, with what needs a decision in :data:`WAITING`."""
    frame = table.frame()
    frame = frame.with_columns(_known(one) for one in frame).with_row_index(_ROW)
    status = answer(_STATUS).str.to_uppercase().fill_null("UNKNOWN")
    undone, awaited = status.is_in(_UNDONE), status == _UNREVIEWED
    what = pl.when(undone).then(pl.lit(UNFINISHED)).otherwise(pl.lit(REJECTED))
    best = frame.with_columns(
        pl.when(status != _APPROVED).then(what + pl.lit(":") + status).alias(WAITING),
        pl.when(status == _APPROVED).then(0).when(awaited).then(1).when(~undone).then(2).otherwise(3).alias(_RANK),
    ).filter(pl.col(_RANK) == pl.col(_RANK).min().over(_RATER))
    attributes = [name for name in table.columns if name not in (_RATER, *_ADMINISTRATIVE)]
    # One submission may have lost what another still says.
    best = best.with_columns(
        *(pl.coalesce(pl.col(name), pl.col(name).drop_nulls().first().over(_RATER)) for name in attributes),
        pl.col(WAITING).first().over(_RATER),
    )
    rows = best[_ROW].to_list()
    made = best.select(_RATER, *attributes, WAITING)
    return Export(
        table=replace(
            table, columns=made.columns, pieces=iter([made]), locate=lambda position: table.locate(rows[position])
        ),
        rater=_RATER, rater_attributes=tuple(attributes),
    )  # fmt: skip


def _known(column: pl.Series) -> pl.Series:
    """Return a column in which what Prolific no longer discloses is missing."""
    column = clean(column)
    return column.set(column.is_in(list(_MISSING)), None) if column.dtype == pl.String else column


PLATFORM = Platform(
    name="prolific", title="a table of raters from Prolific", fits=fits, ratings=ratings, raters=raters
)  # fmt: skip
