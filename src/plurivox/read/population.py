"""Shares of a population: from a table of attribute, value and share, from such a frame, or from a mapping."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import polars as pl

from plurivox.base.arguments import FilePath, checked
from plurivox.base.errors import FileError, SelectionError, no_column
from plurivox.domain.attributes import COUNTED_FROM_1, Locate, as_categories, where
from plurivox.domain.code import as_numbers, as_text
from plurivox.domain.panel import PopulationShares, population_of
from plurivox.domain.raw import to_polars
from plurivox.read.tables import read_table

COLUMNS = {
    "attribute": ("attribute", "margin", "variable"),
    "value": ("value", "category", "group", "level"),
    "share": ("share", "proportion", "percent", "percentage", "count", "population"),
}
"""Possible names of the columns, ignoring case."""


@checked
def read_population(source: FilePath, *, encoding: str = "utf-8") -> PopulationShares:
    """Read shares of a population from a table with the columns ``attribute``, ``value`` and ``share``.

    There is one row per value. Shares of an attribute add up to 1 or to 100 %, or are counts. A crossing is written
    ``gender × age`` or ``gender,age``, and its values likewise.

    Raises
    ------
    InputError
        Names the file, the column and the rows, and says what to do.
    """
    table = read_table(source, encoding=encoding)
    return _from_rows(table.frame(), table.name, table.locate)


def given_population(given: Any) -> PopulationShares:
    """Return a population from a file, a frame, a mapping, or as it is."""
    if isinstance(given, PopulationShares):
        return given
    if isinstance(given, str | os.PathLike):
        return read_population(given)
    if isinstance(given, Mapping):
        return _from_mapping(given)
    return _from_rows(to_polars(given), "population frame", COUNTED_FROM_1)


def _from_mapping(given: Mapping[Any, Any]) -> PopulationShares:
    rows = []
    for name, shares in given.items():
        if not isinstance(shares, Mapping):
            raise SelectionError(
                f"the population has no shares for '{name}'",
                hint='Write them by value: {"gender": {"Woman": 0.51, "Man": 0.49}}.',
            )
        rows += [{"attribute": str(name), "value": str(value), "share": str(share)} for value, share in shares.items()]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(COLUMNS, pl.String))
    return _from_rows(frame, "population", COUNTED_FROM_1)


def _from_rows(frame: pl.DataFrame, source: str, locate: Locate) -> PopulationShares:
    """Return the population in a table, or raise an error that names the rows without a share."""
    known = {name.strip().casefold(): name for name in reversed(frame.columns)}
    names = {}
    for role, possible in COLUMNS.items():
        found_name = next((known[name] for name in possible if name in known), None)
        if found_name is None:
            hint = "A population has the columns attribute, value and share: one row for each value."
            raise no_column(role, frame.columns, source, hint)
        names[role] = found_name
    if not frame.height:
        raise FileError("there is only a header", source=source, hint="It needs one row for each value.")
    attributes, values = (as_categories(frame[names[role]]).str.strip_chars() for role in ("attribute", "value"))
    shares = _numbers(frame[names["share"]])
    for role, blank, hint in (
        ("attribute", attributes.is_null() | (attributes == ""), "Name the attribute in each row."),
        ("value", values.is_null() | (values == ""), "Name the value in each row."),
        ("share", shares.is_null() | ~shares.is_finite().fill_null(False) | (shares < 0), _HINT),
    ):
        if blank.any():
            problem = "it is empty" if role != "share" else "it is not a number that is 0 or greater"
            raise SelectionError(problem, column=names[role], hint=hint, **where(source, locate, blank.to_numpy()))
    twice = pl.DataFrame([attributes.alias("a"), values.alias("v")]).is_duplicated()
    if twice.any():
        at = where(source, locate, twice.to_numpy())
        raise SelectionError("a value occurs twice", column=names["value"], hint="Give each value one share.", **at)
    found: dict[str, dict[str, float]] = {}
    for name, value, share in zip(attributes, values, shares, strict=True):
        found.setdefault(name, {})[value] = share
    return population_of(found, source)


_HINT = "Give shares that add up to 1, percentages, or counts."


def _numbers(column: pl.Series) -> pl.Series:
    """Return shares as numbers, null where there is none; ``51 %`` is 51, and ``0,51`` is 0.51."""
    if column.dtype.is_numeric():
        return as_numbers(column)
    plain = as_text(column).str.strip_chars().str.strip_suffix("%").str.strip_chars()
    comma = plain.str.contains(r"^\d+,\d+$")
    return as_numbers(plain.zip_with(~comma.fill_null(False), plain.str.replace(",", ".")))
