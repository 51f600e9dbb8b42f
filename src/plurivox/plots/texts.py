"""The text of items: its start next to the id, and more of it in the tooltip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from plurivox.plots.layout import shorten, unique_labels

Texts = Mapping[str, str] | None
"""The texts of items by id, or None."""
MOST = 200
"""The most characters of a text in a tooltip."""
_ID = 24
_BOTH = 46


def with_texts(frame: pl.DataFrame, texts: Texts) -> pl.DataFrame:
    """Return a frame of items with the ``text`` of each after its id, where it is known."""
    if texts is None:
        return frame
    found = pl.Series([texts.get(str(item)) for item in frame["item"]], dtype=pl.String)
    before = frame.columns[: frame.get_column_index("item") + 1]
    return frame.select(*before, found.alias("text"), pl.exclude(before))


def cut(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a frame for a chart, which does not need all of a long text."""
    if "text" not in frame.columns:
        return frame
    short = [None if text is None else shorten(text, MOST) for text in frame["text"]]
    return frame.with_columns(text=pl.Series(short, dtype=pl.String))


def item_labels(items: Sequence[str], texts: Texts, length: int = 34, both: int = _BOTH) -> list[str]:
    """Return a unique label for each item: its id, and the start of its text where that is known.

    Examples
    --------
    >>> item_labels(["7", "8"], {"7": "Who are you?"})
    ['7 · Who are you?', '8']
    """
    known = [(texts or {}).get(str(item), "") for item in items]
    names = [
        f"{shorten(item, _ID)} · {text}" if text.strip() else item for item, text in zip(items, known, strict=True)
    ]
    return unique_labels(names, length if texts is None else both)


def told_of(frame: pl.DataFrame) -> list[str]:
    """Return the columns that say what an item is."""
    return [name for name in ("item", "text") if name in frame.columns]
