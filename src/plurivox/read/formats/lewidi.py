"""The shared tasks LeWiDi 2023 and 2025 (learning with disagreements): their data sets, and submissions.

A submission to that of 2025 has no header: an item, a tab, and a list in brackets. In ``…_soft.tsv`` that is one
probability for each point, in ``…_pe.tsv`` (perspectivist) one point for each annotator of the item, in the order in
which the data lists them.

A data set has an object of items, and one of annotators. In 2023 ``annotations`` and ``annotators`` are texts with
commas, in 2025 ``annotations`` is an object from annotators to labels. Soft and hard labels are made from them and
rounded, so they are not read. If an annotator gave several labels (VariErrNLI), commas separate them. In one set (MP),
an annotator is called ``0`` in the file about annotators and ``Ann0`` in the items.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from plurivox.base.errors import FileError, InputError, ScoreError
from plurivox.domain.attributes import id_texts
from plurivox.domain.predictions import PERSPECTIVIST, SOFT, Predictions, natural
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import KEY, ROLE_NAMES, RawTable, plain, plain_names
from plurivox.domain.scale import Scale, text_of
from plurivox.read.formats import lists
from plurivox.read.formats.record import Export, Platform, frame_of, nested, one_of
from plurivox.read.settings import ReadSettings

SOFT_LABEL = "soft_label"
_POINT_NAMES = ("point", "prediction", "predicted", "predictedpoint")  # not score: that may be a table of ratings


def predictions(raw: RawTable, scale: Scale, name: str, like: Ratings | None) -> Predictions | None:
    """Return the predictions in a submission, or in a table with a row per rater; None for any other table."""
    if len(raw.columns) == 2 and raw.columns[1].strip().startswith("[") and raw.text:
        return _submission(raw, scale, name, like)
    if {KEY, SOFT_LABEL} <= set(raw.columns):
        return _labelled(raw, scale, name)
    known = plain_names(raw.columns)
    item, rater, point = (
        next((known[one] for one in names if one in known and one != "model"), None)
        for names in (ROLE_NAMES["item"], ROLE_NAMES["rater"], _POINT_NAMES)
    )
    has_points = {str(label) for label in scale.labels} <= set(raw.columns)
    if item is None or rater is None or point is None or has_points:
        return None
    return Predictions.from_raters(
        raw.frame(), scale, item=item, rater=rater, point=point, model=known.get("model"), name=name, source=raw.name,
        locate=raw.locate,
    )  # fmt: skip


def _labelled(raw: RawTable, scale: Scale, name: str) -> Predictions:
    """Read the task's JSON, in which each item has a soft label: an object that maps points to shares."""
    frame = raw.frame()
    rows = []
    for at, (item, cell) in enumerate(frame.select(KEY, SOFT_LABEL).iter_rows()):
        label = nested(cell, raw.locate(at), raw.name, SOFT_LABEL)
        if not isinstance(label, dict):
            raise FileError(
                f"item {item!r} has no soft label", source=raw.name, places=[raw.locate(at)],
                hint='Give each item an object that maps points to probabilities: {"0": 0.25, "1": 0.75}.',
            )  # fmt: skip
        rows.append({"item": item, **{text_of(point): share for point, share in label.items()}})
    columns = list(dict.fromkeys(column for row in rows for column in row))
    table = frame_of(rows, columns, raw.name)
    return Predictions.from_frame(table, scale, name=name, source=raw.name, locate=raw.locate)


def _submission(raw: RawTable, scale: Scale, name: str, like: Ratings | None) -> Predictions:
    """Read a submission, whose first line was taken for a header."""
    frame = raw.frame()
    ids = [raw.columns[0], *frame[raw.columns[0]]]
    lists = [_list(text, at, raw.name) for at, text in enumerate([raw.columns[1], *frame[raw.columns[1]]], 1)]
    soft = name.endswith(SOFT) or (
        not name.endswith(PERSPECTIVIST)
        and all(len(one) == len(scale) and abs(sum(one) - 1) < 1e-6 and min(one) >= 0 for one in lists)
    )

    if not soft:
        return _perspectivist(ids, lists, scale, name, raw.name, like)
    for at, one in enumerate(lists, 1):
        if len(one) != len(scale):
            raise InputError(
                f"there are {len(one)} probabilities, but the scale {scale} has {len(scale)} points",
                source=raw.name, places=[f"line {at}"], n_places=1,
                hint="Give one for each point, lowest first, or the right --scale.",
            )  # fmt: skip
    table = {"item": ids} | {str(label): [one[at] for one in lists] for at, label in enumerate(scale.labels)}
    return Predictions.from_frame(
        pl.DataFrame(table), scale, name=_model(name), source=raw.name, locate=lambda row: f"line {row + 1}"
    )


def _list(text: str | None, line: int, source: str) -> list[float]:
    try:
        found = json.loads(text or "", parse_int=float)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, list) and any(isinstance(one, list) for one in found):
        raise FileError(
            "it predicts several separate labels for an item, as in VariErrNLI; these have no order",
            source=source, places=[f"line {line}"], n_places=1,
            hint="Give a submission of a set with one label per rater: CSC, MP or Paraphrase.",
        )  # fmt: skip
    if not isinstance(found, list) or not found or not all(isinstance(one, float) for one in found):
        raise FileError(
            "there is no list of numbers after the tab", source=source, places=[f"line {line}"], n_places=1,
            hint="Write an item, a tab, and numbers in brackets: 2153<TAB>[0.0, 0.25, 0.75].",
        )  # fmt: skip
    return found


def _perspectivist(
    ids: Sequence[str], lists: Sequence[list[float]], scale: Scale, name: str, source: str, like: Ratings | None
) -> Predictions:
    """Assign each prediction to its rater: raters of an item are in the order of their names, numbers by value."""
    if like is None or like.rater_codes is None:
        raise InputError(
            "a submission that predicts individual raters does not name them",
            source=source,
            hint="Give the ratings as well, with one row per rating (like= in Python).",
        )
    names = id_texts(like.raters["rater"]).to_list()
    place = {item: at for at, item in enumerate(id_texts(like.items["item"]).to_list())}
    rows = []
    for line, (item, points) in enumerate(zip(ids, lists, strict=True), 1):
        at = place.get(item)
        if at is None:
            continue
        raters = sorted((names[code] for code in like.rater_codes[slice(*like.offsets[at : at + 2])]), key=natural)
        if len(raters) != len(points):
            raise ScoreError(
                f"there are {len(points)} predictions, but item {item!r} has {len(raters)} raters",
                source=source, places=[f"line {line}"], n_places=1,
                hint="Give one prediction for each annotator, in the order of the data.",
            )  # fmt: skip
        whole = (int(point) if float(point).is_integer() else point for point in points)
        rows += [(item, rater, str(point), line) for rater, point in zip(raters, whole, strict=True)]
    if not rows:
        raise InputError("no item of the submission was rated", source=source, hint="Give ratings of its items.")
    frame = pl.DataFrame(rows, schema=["item", "rater", "point", "line"], orient="row")
    return Predictions.from_raters(
        frame, scale, name=_model(name), source=source, locate=lambda row: f"line {rows[row][3]}"
    )


def _model(name: str) -> str:
    return name.removesuffix(SOFT).removesuffix(PERSPECTIVIST) or name


NAME, GROUP = "lewidi", "group"
_ANNOTATIONS = "annotations"
_MARKS = {"soft_label", "hard_label", "annotation task", "number of annotations", "other_info"}
_MADE = ("soft_label", "hard_label", "number of annotations", "number of annotators", "annotation task")
"""Columns that follow from the annotations, or are the same for all items."""


def fits(columns: Sequence[str], head: pl.DataFrame, asked: ReadSettings) -> bool:
    """Recognise it by the keys of items or of annotators."""
    if KEY not in columns:
        return False
    if _ANNOTATIONS in columns:
        return bool(_MARKS & set(columns))
    return asked.format == NAME or (head.height > 0 and bool(head[KEY].str.contains("^Ann[0-9]+$").all()))


def ratings(table: RawTable, asked: ReadSettings) -> Export:
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


def items(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per item."""
    if _ANNOTATIONS not in table.columns:
        return Export(table=table, item=KEY)
    return lists.described(table, asked, ignored=_MADE)


def raters(table: RawTable, asked: ReadSettings) -> Export:
    """Return one row per annotator, named as in the annotations."""
    if _ANNOTATIONS in table.columns:
        raise FileError("it holds items, not annotators", source=table.name, hint="Give it with --items.")
    frame = table.frame()
    keys = pl.col(KEY)
    if asked.format == NAME and bool(frame[KEY].str.contains("^[0-9]+$").all()):
        keys = pl.format("Ann{}", keys)
    named = frame.select(
        keys.alias(lists.RATER), *(pl.col(name) for name in frame.columns if name not in (KEY, lists.RATER))
    )
    return Export(table=replace(table, columns=named.columns, pieces=iter([named])), rater=lists.RATER)


PLATFORM = Platform(
    name=NAME, title="data of the shared task LeWiDi", fits=fits, ratings=ratings, raters=raters, items=items
)
