"""The shared tasks LeWiDi 2023 and 2025 (learning with disagreements): an object of items, and one of annotators.

In 2023 ``annotations`` and ``annotators`` are texts with commas, in 2025 ``annotations`` is an object from annotators
to labels. Soft and hard labels are made from them and rounded, so they are not read. If an annotator gave several
labels (VariErrNLI), commas separate them. In one set (MP), an annotator is called ``0`` in the file about annotators
and ``Ann0`` in the items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from plurivox.base.errors import FileError
from plurivox.domain.raw import KEY, RawTable, plain
from plurivox.read.formats import lists
from plurivox.read.formats.record import Asked, Export, Platform
from plurivox.read.formats.unfolding import one_of

NAME, GROUP = "lewidi", "group"
_ANNOTATIONS = "annotations"
_MARKS = {"soft_label", "hard_label", "annotation task", "number of annotations", "other_info"}
_MADE = ("soft_label", "hard_label", "number of annotations", "number of annotators", "annotation task")
"""Columns that follow from the annotations, or are the same for all items."""
_ANNOTATOR = re.compile(r"Ann[0-9]+")


def fits(columns: Sequence[str], head: pl.DataFrame, asked: Asked) -> bool:
    """Recognise it by the keys of items or of annotators."""
    if KEY not in columns:
        return False
    if _ANNOTATIONS in columns:
        return bool(_MARKS & set(columns))
    return asked.platform == NAME or _are_annotators(head[KEY])


def _are_annotators(keys: pl.Series) -> bool:
    return keys.len() > 0 and bool(keys.str.contains(f"^{_ANNOTATOR.pattern}$").all())


def ratings(table: RawTable, asked: Asked) -> Export:
    """Return one row per annotation."""
    if _ANNOTATIONS not in table.columns:
        raise FileError(
            "it describes the annotators of LeWiDi and holds no annotations", source=table.name,
            hint="Give the file of items, and give this one with --raters.",
        )  # fmt: skip
    return _with_groups(lists.answers_of(table, asked, _label, ignored=_MADE))


def _with_groups(export: Export) -> Export:
    """Return the export with a column for the raters' groups, which some sets list with each item."""
    listed = next((name for name in export.item_attributes if plain(name) == "annotatorsgroup"), None)
    if listed is None or GROUP in export.table.columns:
        return export
    before, known = export.table.pieces, dict[str, str | None]()
    each = pl.col(listed).str.split(",")
    fits_each = each.list.len() == pl.len().over(export.item)
    own = each.list.get(pl.int_range(pl.len()).over(export.item), null_on_oob=True).str.strip_chars()

    def pieces() -> Iterator[pl.DataFrame]:
        for piece in before:
            told = piece.select(export.rater, group=pl.when(fits_each).then(own))
            groups = [known.setdefault(who, group) for who, group in told.iter_rows()]
            export.tally.left_out["groups other than a rater's first"] += int(
                (told["group"] != pl.Series(groups)).sum()
            )
            yield piece.with_columns(pl.Series(GROUP, groups, dtype=pl.String))

    return replace(
        export, table=replace(export.table, columns=[*export.table.columns, GROUP], pieces=pieces()),
        item_attributes=tuple(name for name in export.item_attributes if name != listed), rater_attributes=(GROUP,),
    )  # fmt: skip


def _label(value: Any) -> Any:
    return one_of([part.strip() for part in value.split(",")]) if isinstance(value, str) else lists.one_label(value)


def items(table: RawTable, asked: Asked) -> Export:
    """Return one row per item."""
    if _ANNOTATIONS not in table.columns:
        return Export(table=table, item=KEY)
    return lists.described(table, asked, ignored=_MADE)


def raters(table: RawTable, asked: Asked) -> Export:
    """Return one row per annotator, named as in the annotations."""
    if _ANNOTATIONS in table.columns:
        raise FileError("it holds items, not annotators", source=table.name, hint="Give it with --items.")
    frame = table.frame()
    keys = pl.col(KEY)
    if asked.platform == NAME and bool(frame[KEY].str.contains("^[0-9]+$").all()):
        keys = pl.format("Ann{}", keys)
    named = frame.select(
        keys.alias(lists.RATER), *(pl.col(name) for name in frame.columns if name not in (KEY, lists.RATER))
    )
    return Export(table=replace(table, columns=named.columns, pieces=iter([named])), rater=lists.RATER)


PLATFORM = Platform(
    name=NAME, title="data of the shared task LeWiDi", fits=fits, ratings=ratings, raters=raters, items=items
)
