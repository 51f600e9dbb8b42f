"""What loaders have in common: columns that may be missing, rater attributes, references."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from plurivox.data.record import Tables
from plurivox.domain.code import whole_numbers
from plurivox.domain.ratings import Ratings

NOTHING = ("", "nan", "NaN", "None")


def frame_of(tables: Tables, name: str) -> pl.DataFrame:
    """Return a table that is a frame."""
    found = tables[name]
    assert isinstance(found, pl.DataFrame)
    return found


def objects_of(tables: Tables, name: str) -> list[dict[str, Any]]:
    """Return a table that is made of objects; none if it is not there."""
    found = tables.get(name, [])
    assert isinstance(found, list)
    return found


def there(frame: pl.DataFrame, wanted: Mapping[str, str] | Iterable[str]) -> dict[str, str]:
    """Return the columns that a table has, with their new names."""
    names = dict(wanted) if isinstance(wanted, Mapping) else {name: name for name in wanted}
    return {old: new for old, new in names.items() if old in frame.columns}


def one_each(frame: pl.DataFrame, key: str, columns: Sequence[str]) -> pl.DataFrame:
    """Return a row for each key; if its values in a column differ, it has none there."""
    alike = [
        pl.when(pl.col(name).drop_nulls().n_unique() == 1).then(pl.col(name).drop_nulls().first()).alias(name)
        for name in columns
    ]
    return frame.group_by(key, maintain_order=True).agg(alike)


def text(value: Any) -> str | None:
    """Return a value of JSON as the text of an attribute, None if it says nothing."""
    if value is None or str(value) in NOTHING:
        return None
    return str(value)


def ratings_of(frame: pl.DataFrame, *, item: str = "item", rater: str = "rater", **more: Any) -> Ratings:
    """Return a frame as ratings; ids that are all whole numbers become numbers, as where a file is read."""
    ids = {name: whole_numbers(frame[name]) for name in (item, rater) if frame[name].dtype == pl.String}
    whole = frame.with_columns(**{name: column for name, column in ids.items() if column is not None})
    return Ratings.from_frame(whole, item=item, rater=rater, **more)


def by_one_expert(items: pl.DataFrame, score: str, scale: Sequence[str]) -> Ratings:
    """Return a column of items as ratings of one rater, ``experts``."""
    rows = items.select(item=pl.col("item"), rater=pl.lit("experts"), score=pl.col(score)).drop_nulls()
    return ratings_of(rows.unique(maintain_order=True), scale=list(scale))
