"""Times of ratings: numbers of occasions or batches, or ISO dates, which become days since 1970."""

from __future__ import annotations

from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError
from plurivox.domain.attributes import Locate, clean, where
from plurivox.domain.code import as_text

Unit = Literal["number", "days"]
UNITS = ("number", "days")
"""The unit of times: plain numbers, or days since 1970-01-01 in UTC."""
_DAY = 86_400
_LARGEST = 1e100  # a time may not be larger
_ISO = (
    r"^(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:[T ](?P<hour>[01][0-9]|2[0-3]):(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9](?:[.,][0-9]{1,9})?))?"
    r" ?(?P<zone>Z|(?P<sign>[+-])(?P<ahead>[01][0-9])(?::?(?P<more>[0-5][0-9]))?)?)?$"
)
_HINT = "Give numbers (of occasions or batches) or ISO dates such as 2026-01-31 or 2026-01-31T12:00:00."


class Times:
    """Reads one column of times piece by piece; all of them must have one unit."""

    def __init__(self, source: str, column: str, locate: Locate) -> None:
        self._source, self._column, self._locate = source, column, locate
        self._pieces: list[NDArray[np.float64]] = []
        self._n_rows = 0
        self._unit: Unit | None = None

    def add(self, piece: pl.Series) -> None:
        """Add the next rows of the column.

        Raises
        ------
        ColumnError
            If a time is neither a number nor a date, or if a column has both.
        """
        unit, numbers = _read(piece)
        known = clean(piece) if unit is None else numbers
        wrong = known.is_not_null() if unit is None else numbers.is_null() & _told(piece)
        if wrong.any():
            raise self._error(piece, wrong, unit)
        if known.null_count() < len(known):
            if self._unit not in (None, unit):
                raise self._error(piece, known.is_not_null(), self._unit)
            self._unit = unit
        self._pieces.append(numbers.fill_null(np.nan).to_numpy())
        self._n_rows += len(piece)

    def finish(self) -> tuple[NDArray[np.float64], Unit]:
        """Return the times of all rows, NaN where there is none, and their unit."""
        return np.concatenate([np.zeros(0), *self._pieces]), self._unit or "number"

    def _error(self, piece: pl.Series, wrong: pl.Series, others: Unit | None) -> ColumnError:
        value = as_text(piece).filter(wrong)[0]
        problem = "is neither a number nor an ISO date"
        if not _read(piece.filter(wrong)[:1])[1].null_count() and piece.dtype != pl.Boolean:
            problem = f"does not match the others, which are {'numbers' if others == 'number' else 'dates'}"
        rows = np.flatnonzero(wrong.to_numpy()) + self._n_rows
        at = where(self._source, self._locate, rows)
        return ColumnError(f"the time {value!r} {problem}", column=self._column, **at, hint=_HINT)


def _told(piece: pl.Series) -> pl.Series:
    """Return where a column has a value."""
    return clean(piece).is_not_null()


def _read(piece: pl.Series) -> tuple[Unit | None, pl.Series]:
    """Return the unit of a column and its times; no unit if the type cannot hold times."""
    kind = piece.dtype
    if kind == pl.Null:
        return "number", piece.cast(pl.Float64)
    if kind.is_numeric():
        return "number", _finite(piece.cast(pl.Float64))
    if kind == pl.Date or kind == pl.Datetime:
        moments = piece.cast(pl.Datetime("us"))  # UTC, if there is a zone
        return "days", moments.dt.epoch("us").cast(pl.Float64) / (_DAY * 1e6)
    if kind == pl.Boolean:
        return None, piece.cast(pl.Float64)
    texts = clean(as_text(piece)).str.strip_chars()
    numbers = _finite(texts.cast(pl.Float64, strict=False))
    dates = _days(texts) if numbers.null_count() > texts.null_count() else None
    if dates is not None and dates.null_count() <= numbers.null_count() and dates.null_count() < len(dates):
        return "days", dates
    return "number", numbers


def _finite(numbers: pl.Series) -> pl.Series:
    """Return numbers, null where they are not finite, or so large that sums of their squares are not."""
    return numbers.set(~(numbers.is_finite() & (numbers.abs() <= _LARGEST)).fill_null(True), None)


def _days(texts: pl.Series) -> pl.Series:
    """Return ISO dates as days, null where a text is not a date; dates without a zone are in UTC."""
    parts = texts.alias("time").str.extract_groups(_ISO).struct.unnest()
    found = parts.select(
        pl.col("date").str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
        + (
            _number("hour") * 3600 + _number("minute") * 60 + _number("second")
            - pl.when(pl.col("sign") == "-").then(-1).otherwise(1) * (_number("ahead") * 3600 + _number("more") * 60)
        ) / _DAY
    )  # fmt: skip
    return found.to_series()


def _number(name: str) -> pl.Expr:
    return pl.col(name).str.replace(",", ".").cast(pl.Float64).fill_null(0)


def time_column(times: NDArray[np.float64], unit: str) -> pl.Series:
    """Return times as they are shown: numbers, or dates and times."""
    column = pl.Series("time", times).fill_nan(None)
    if unit != "days":
        return column
    return (column * (_DAY * 1e6)).round().cast(pl.Int64).cast(pl.Datetime("us"))
