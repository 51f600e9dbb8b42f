"""Frames: columns that are needed, rows that are chosen, and tables of other libraries as polars frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import ColumnError, SelectionError, few
from plurivox.base.quoting import short
from plurivox.domain.attributes import as_categories, category_order
from plurivox.domain.scale import Label, Scale

Wanted = Mapping[str, Label | Iterable[Label]]


def label_column(scale: Scale) -> pl.Series:
    """Return the labels as a column of their own type, or as text where types are mixed."""
    kinds = {type(label) for label in scale.labels}
    if len(kinds) == 1 or kinds == {int, float}:
        return pl.Series("score", scale.labels, strict=False)
    return pl.Series("score", [str(label) for label in scale.labels])


def to_polars(frame: Any) -> pl.DataFrame:
    """Return any eager or lazy frame that narwhals knows as a polars frame."""
    if isinstance(frame, pl.DataFrame):
        return frame
    if isinstance(frame, pl.LazyFrame):
        return frame.collect()
    import narwhals as nw

    try:
        known = nw.from_native(frame)
    except TypeError:
        raise ColumnError(
            f"a {type(frame).__name__} is not a frame", hint="Give a frame of pandas, polars or pyarrow."
        ) from None
    eager = known.collect() if isinstance(known, nw.LazyFrame) else known
    return eager.to_polars()


def require_columns(found: Sequence[str], wanted: Iterable[str], source: str) -> None:
    """Raise a ColumnError that lists the existing columns if a needed one is missing."""
    for name in wanted:
        if name not in found:
            raise ColumnError(
                f"there is no column '{name}'; it has {few(list(map(str, found)))}",
                source=source,
                hint="Name the columns with --item, --rater and --score (item=, rater=, score=).",
            )


ROLES = ("item", "rater", "score", "count")


def require_apart(attributes: Sequence[str], source: str, *, timed: bool = False) -> None:
    """Raise a ColumnError if a column is named twice as an attribute, or has a reserved name."""
    for place, name in enumerate(attributes):
        if name in attributes[:place]:
            raise ColumnError(f"the attribute '{name}' is named twice", source=source, hint="Name it once.")
        if name in ROLES or (timed and name == "time"):
            raise ColumnError(
                f"an attribute is called '{name}', as every table of ratings calls another column",
                source=source, hint="Rename the column.",
            )  # fmt: skip


def pick(frame: pl.DataFrame, roles: Mapping[str, str], others: Iterable[str]) -> pl.DataFrame:
    """Return the columns that are used, the main ones under the name of their role."""
    named = [frame[name].alias(role) for role, name in roles.items()]
    return pl.DataFrame([*named, *(frame[name] for name in others)])


def chosen_rows(frame: pl.DataFrame, wanted: Wanted, what: str) -> NDArray[np.bool_]:
    """Return for each row of a table of items or raters whether it has one of the wanted values of every attribute."""
    keep = np.ones(frame.height, dtype=bool)
    for name, values in wanted.items():
        if name not in frame.columns:
            known = few(frame.columns[1:]) or "none"
            raise SelectionError(f"{what}s have no attribute '{name}'; they have: {known}")
        several = [values] if isinstance(values, str | int | float | bool) else list(values)
        texts = as_categories(pl.Series([str(value) for value in several]))
        column = as_categories(frame[name])
        for text in texts.filter(~texts.is_in(column.drop_nulls().unique().to_list())):
            if name == what == "rater":
                raise SelectionError(f"no rater has the id '{short(text)}'", hint="Ids are those of the ratings.")
            known = few(category_order(frame[name]), 10)
            raise SelectionError(f"no {what} has {name} = '{short(text)}'; the values are: {known}")
        keep &= column.is_in(texts.to_list()).fill_null(False).to_numpy()
    return keep
