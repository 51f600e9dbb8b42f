"""The known data sets: what ``sets.toml`` says about each, and what reads its tables."""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

import polars as pl

from plurivox.base.errors import IdError, SelectionError
from plurivox.data.record import KEY, Both, Counts, Dataset, Download, SourceTable, Tables
from plurivox.domain import raw
from plurivox.domain.code import whole_numbers
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import RawTable
from plurivox.read.formats import lewidi
from plurivox.read.json_documents import table_of_rows
from plurivox.read.settings import ReadSettings

Told = Mapping[str, Any]
"""What ``sets.toml`` says about a data set."""
_PLAIN = ("title", "question", "citation", "licence", "home", "scale", "seen", "reference", "note")


@functools.cache
def catalogue() -> dict[str, Dataset]:
    """Return every data set by its name."""
    told = tomllib.loads(resources.files("plurivox.data").joinpath("sets.toml").read_text(encoding="utf-8"))
    return {name: _record(name, told[name]) for name in sorted(told)}


def _record(name: str, told: Told) -> Dataset:
    return Dataset(
        name=name, **{key: told[key] for key in _PLAIN if key in told},
        tables=tuple(SourceTable(**one) for one in _files(told.get("tables", ()))),
        downloads=tuple(Download(**one) for one in _files(told.get("downloads", ()))),
        counts=Counts(**told.get("counts", {})), load=functools.partial(_LOADERS[told["load"]], told) if "load" in told
        else None, rater_attributes=tuple(told.get("rater_attributes", ())),
        item_attributes=tuple(told.get("item_attributes", ())),
    )  # fmt: skip


def _files(groups: Sequence[Told]) -> Iterator[dict[str, Any]]:
    """Yield what is known of each file; what differs within a group is told by name."""
    for group in groups:
        for name in group["names"]:
            said: dict[str, Any] = {"name": name}
            for key, value in group.items():
                own = value.get(name) if isinstance(value, dict) else value
                if key != "names" and own is not None:
                    said[key] = tuple(own) if isinstance(own, list) else own
            if "address" in said:
                said["address"] = said["address"].replace("{name}", name)
            yield said


def dataset(name: str) -> Dataset:
    """Return the data set with this name, or raise with the known names."""
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.casefold(), known, 1, 0.6)
    meant = f"Did you mean {near[0]}? " if near else ""
    raise SelectionError(
        f"there is no data set '{name}'; there are {', '.join(known)}", hint=f"{meant}plurivox data list shows them."
    )


# Loaders --------------------------------------------------------------------------------------------------------------
#
# From what is told of a data set, and its tables, to ratings and those of experts.


_ROW = ("item", "rater", "score")


def _frame_of(tables: Tables, name: str) -> pl.DataFrame:
    found = tables[name]
    assert isinstance(found, pl.DataFrame)
    return found


def _objects_of(told: Told, tables: Tables, ending: str = "") -> list[dict[str, Any]]:
    """Return the objects of all tables, in their order, whose names have an ending."""
    names = [name for group in told["tables"] for name in group["names"] if name.endswith(ending)]
    return [one for name in names for one in tables.get(name, ()) if isinstance(one, dict)]


def _texts(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _text(value: Any) -> str | None:
    """Return a value of JSON as the text of an attribute, None if it says nothing."""
    return None if value is None or str(value) in ("", "nan", "NaN", "None") else str(value)


def _ratings_of(frame: pl.DataFrame, *, item: str = "item", rater: str = "rater", **more: Any) -> Ratings:
    """Return a frame as ratings; ids that are all whole numbers become numbers, as where a file is read."""
    ids = {name: whole_numbers(frame[name]) for name in (item, rater) if frame[name].dtype == pl.String}
    whole = frame.with_columns(**{name: column for name, column in ids.items() if column is not None})
    return Ratings.from_frame(whole, item=item, rater=rater, **more)


def _from_columns(told: Told, tables: Tables) -> Both:
    """Read tables with a row for each rating, whose attributes stand beside it or in tables of their own."""
    read = dict(told["read"])
    frame = _frame_of(tables, told["tables"][0]["names"][0])
    frame = frame.rename({old: new for old, new in told.get("rename", {}).items() if old in frame.columns})
    if "removed" in told:
        left_out = pl.col("rater_id").cast(pl.String).is_in(told["removed"])
        frame = frame.with_columns(removed=pl.when(left_out).then(pl.lit("True")).otherwise(pl.lit("False")))
    for whose in ("rater", "item"):
        if f"{whose}s" in read:
            read[f"{whose}s"] = _frame_of(tables, read[f"{whose}s"])
        else:
            read[f"{whose}_attributes"] = [
                name for name in told.get(f"{whose}_attributes", ()) if name in frame.columns
            ]
    ratings, gold = _ratings_of(frame, **read), told.get("gold", {})
    if gold.get("score") not in ratings.items.columns:
        return ratings, None
    rows = ratings.items.select(item=pl.col("item"), rater=pl.lit("experts"), score=pl.col(gold["score"]))
    return ratings, _ratings_of(rows.drop_nulls().unique(maintain_order=True), scale=gold["scale"])


def _kumar(told: Told, tables: Tables) -> Both:
    comments, about = _objects_of(told, tables), told["rater_attributes"]
    given = [(one[KEY], rating) for one in comments for rating in one["ratings"]]
    if nameless := [item for item, rating in given if "worker_id" not in rating]:
        raise IdError(
            "these ratings do not say who gave them", places=[f"row {item}" for item in nameless[:5]],
            n_places=len(nameless), hint="Ask the authors for the file that has worker_id.",
        )  # fmt: skip
    long = _texts((*_ROW, *about), [
        (item, str(rating["worker_id"]), _text(rating["toxic_score"]), *(_text(rating.get(one)) for one in about))
        for item, rating in given
    ])  # fmt: skip
    alike = [  # a rater whose answers about themselves differ has none
        pl.when(pl.col(name).drop_nulls().n_unique() == 1).then(pl.col(name).drop_nulls().first()).alias(name)
        for name in about
    ]
    items = [(one[KEY], _text(one["comment"]), _text(one.get("source"))) for one in comments]
    ratings = _ratings_of(
        long.select(_ROW), **told["read"], raters=long.group_by("rater", maintain_order=True).agg(alike),
        items=_texts(("item", "text", "source"), items),
    )  # fmt: skip
    return ratings, None


def _convabuse(told: Told, tables: Tables) -> Both:
    frame = _frame_of(tables, told["tables"][0]["names"][0])
    frame = frame.with_columns(item=pl.format("{} | {}", "conv_id", "user"))
    items = frame.with_columns(text="user").group_by("item", maintain_order=True)
    return _ratings_of(frame, **told["read"], items=items.agg(pl.col(told["item_attributes"]).first())), None


def _amazon(told: Told, tables: Tables) -> Both:
    rows = _objects_of(told, tables)
    columns: dict[str, Any] = {name: [_text(one[name]) for one in rows] for name in ("asin", "reviewerID")}
    columns["overall"] = pl.Series([one["overall"] for one in rows], dtype=pl.Float64, strict=True)
    return _ratings_of(pl.DataFrame(columns), **told["read"]), None


def _cebab(told: Told, tables: Tables) -> Both:
    ratings, items = [], []
    for name in (name for group in told["tables"] for name in group["names"]):
        for one in tables[name]:
            assert isinstance(one, dict)
            given = one["review_workers"] or {}  # an empty text where nobody rated
            ratings += [(one["id"], worker, str(stars)) for worker, stars in given.items()]
            further = (_text(one.get(key)) for key in told["item_attributes"][2:])
            items.append((one["id"], name.removesuffix(".json"), _text(one["description"]), *further))
    known = _texts(("item", *told["item_attributes"]), items)
    return _ratings_of(_texts(_ROW, ratings), **told["read"], items=known), None


def _multipref(told: Told, tables: Tables) -> Both:
    rows = _objects_of(told, tables)
    known = [one for one in told["item_attributes"] if any(one in row for row in rows)]
    items = _texts(("item", *known), [(row["comparison_id"], *(_text(row.get(one)) for one in known)) for row in rows])
    crowd, experts = (
        _texts(_ROW, [
            (row["comparison_id"], str(one["evaluator"]), _text(one["overall_pref"]))
            for row in rows for one in row[who]
        ])
        for who in ("normal_worker_annotations", "expert_worker_annotations")
    )  # fmt: skip
    options = {**told["read"], "items": items.unique("item", maintain_order=True)}
    return _ratings_of(crowd, **options), _ratings_of(experts, **options)


def _lewidi_2025(told: Told, tables: Tables) -> Both:
    items = [*_objects_of(told, tables, "_train.json"), *_objects_of(told, tables, "_dev.json"),
             *_objects_of(told, tables, "_test.json")]  # fmt: skip
    return _lewidi(items, _objects_of(told, tables, "_annotators_meta.json"), told), None


def _lewidi_2023(told: Told, tables: Tables) -> Both:
    items = _objects_of(told, tables)
    items = [{**one, KEY: f"{one.get('split', '')}-{one[KEY]}"} for one in items]  # each split counts from 1
    return _lewidi(items, (), told), None


def _lewidi(items: Sequence[dict[str, Any]], about: Sequence[dict[str, Any]], told: Told) -> Ratings:
    """Return ratings with what each object says about its item, and what is known about raters."""
    export = lewidi.ratings(_table(items), ReadSettings())
    frame = export.table.frame()
    raters = frame.select(export.rater, *export.rater_attributes).unique(maintain_order=True)
    if about:  # raters who are not in the table have a row without values
        known = lewidi.raters(_table(about), ReadSettings(format="lewidi")).table.frame()
        raters = raters.select(export.rater).join(known, on=export.rater, how="left", maintain_order="left")
    return _ratings_of(
        frame.drop(export.rater_attributes), score=export.questions[0], **told["read"],
        item_attributes=export.item_attributes, raters=raters if raters.width > 1 else None,
    )  # fmt: skip


def _table(objects: Sequence[dict[str, Any]]) -> RawTable:
    rows = [{raw.KEY: one[KEY], **{name: value for name, value in one.items() if name != KEY}} for one in objects]
    return table_of_rows(rows, "frame", 0)


_LOADERS: dict[str, Callable[[Told, Tables], Both]] = {
    "columns": _from_columns, "kumar": _kumar, "convabuse": _convabuse, "amazon": _amazon, "cebab": _cebab,
    "multipref": _multipref, "lewidi_2025": _lewidi_2025, "lewidi_2023": _lewidi_2023,
}  # fmt: skip
