"""Layouts: tables with one row per rating, one column per rater, or one column of counts per point, made long."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plurivox.base.errors import InputError, ScoreError
from plurivox.domain.attributes import where
from plurivox.domain.check import LongTable
from plurivox.domain.code import as_numbers, as_text
from plurivox.domain.raw import RawTable, pick
from plurivox.domain.scale import Scale
from plurivox.read.recognise import Recognised

MAX_COUNT = 2.0**53  # whole numbers up to here are exact
_RATER, _SCORE, _COUNT = "\0rater", "\0score", "\0count"  # no column has such a name


def scale_of_totals(found: Recognised) -> Scale | None:
    """Return the points after which the columns of totals are named; None for another layout."""
    return Scale.parse(",".join(found.values)) if found.layout == "totals" else None


def _long(
    table: RawTable, found: Recognised, rater_attributes: tuple[str, ...], item_attributes: tuple[str, ...]
) -> LongTable:
    assert found.rater is not None
    assert found.score is not None
    names = {"item": found.item, "rater": found.rater, "score": found.score}
    if found.time is not None:
        names["time"] = found.time
    pieces = table.bounded(pick(piece, names, [*rater_attributes, *item_attributes]) for piece in table.pieces)
    return LongTable(table.name, pieces, names, "long", table.text, table.locate, rater_attributes, item_attributes)


def _wide(
    table: RawTable, found: Recognised, rater_attributes: tuple[str, ...], item_attributes: tuple[str, ...]
) -> LongTable:
    frame = _alike(table.frame(), found.values)
    ids = as_text(frame[found.item])
    twice = ids.is_duplicated()
    if twice.any():
        raise InputError(
            f"a wide table has one row per item, but {ids.filter(twice)[0]!r} has more than one",
            column=found.item,
            **where(table.name, table.locate, twice),
            hint="Give one row per item, or a long table with one row per rating.",
        )
    n_rows = frame.height
    long = frame.unpivot(
        on=list(found.values), index=[found.item, *item_attributes], variable_name=_RATER, value_name=_SCORE
    ).rename({found.item: "item", _RATER: "rater", _SCORE: "score"})

    places = [table.columns.index(name) + 1 for name in found.values]  # their names are the ids of raters

    def locate(position: int) -> str:
        column, row = divmod(position, n_rows)
        return f"{table.locate(row)}, column {places[column]}"

    names = {"item": found.item, "rater": "one column each", "score": "their cells"}
    return LongTable(table.name, [long], names, "wide", table.text, locate, item_attributes=item_attributes)


def _totals(
    table: RawTable, found: Recognised, rater_attributes: tuple[str, ...], item_attributes: tuple[str, ...]
) -> LongTable:
    frame = table.frame()
    frame = frame.with_columns([_whole_counts(frame[column], table) for column in found.values])
    n_rows = frame.height
    total = sum(float(frame[column].cast(pl.Float64).sum()) for column in found.values)
    if total > MAX_COUNT:
        raise ScoreError(
            f"the counts add up to {total:.3g}, too many to be true", source=table.name, hint="Check them."
        )
    long = frame.unpivot(
        on=list(found.values), index=[found.item, *item_attributes], variable_name=_SCORE, value_name=_COUNT
    ).rename({found.item: "item", _SCORE: "score", _COUNT: "count"})
    names = {"item": found.item, "score": f"{found.values[0]} … {found.values[-1]}"}

    def locate(position: int) -> str:
        return table.locate(position % n_rows)

    return LongTable(table.name, [long], names, "totals", table.text, locate, item_attributes=item_attributes)


def _alike(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Return the frame with these columns as text, unless they have one type or are all numeric."""
    kinds = {frame[name].dtype for name in columns}
    if len(kinds) == 1 or all(kind.is_numeric() or kind == pl.Null for kind in kinds):
        return frame
    return frame.with_columns(as_text(frame[name]) for name in columns)


LAYOUTS = {"long": _long, "wide": _wide, "totals": _totals}


def _whole_counts(column: pl.Series, table: RawTable) -> pl.Series:
    numbers = as_numbers(column).fill_nan(None)
    bad = numbers.is_null() | (numbers < 0) | (numbers != numbers.round()) | (numbers > MAX_COUNT)
    if bad.any():
        raise ScoreError(
            f"{as_text(column).filter(bad)[0]!r} is not a count",
            column=column.name,
            **where(table.name, table.locate, bad),
            hint="Totals must be whole numbers from 0 up; name columns that describe items with --item-attributes.",
        )
    return numbers.cast(pl.Int64)
