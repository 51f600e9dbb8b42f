"""Ratings of the attractiveness of 102 faces."""

from __future__ import annotations

from plurivox.data.making import frame_of, ratings_of
from plurivox.data.record import Both, Counts, Dataset, SourceTable, Tables

_FILE = "faceratings.csv"
_RATERS, _ITEMS = ("rater_sex", "rater_age", "rater_sexpref"), ("face_sex", "face_age", "face_eth")


def _load(tables: Tables) -> Both:
    names = {one: one.removeprefix("rater_") for one in _RATERS}
    ratings = ratings_of(
        frame_of(tables, _FILE).rename(names), item="face_id", rater="rater_id", score="rating", scale="1:7",
        poles=("unattractive", "attractive"), rater_attributes=list(names.values()), item_attributes=list(_ITEMS),
    )  # fmt: skip
    return ratings, None


DATASETS = (
    Dataset(
        name="faceratings",
        title="Face ratings",
        question="How attractive is a face?",
        citation="DeBruine and Jones (2017): Face Research Lab London Set; as data of the R package faux (DeBruine).",
        licence="MIT, as a part of the R package faux.",
        home="https://github.com/debruine/faux",
        scale="1 < 2 < 3 < 4 < 5 < 6 < 7",
        tables=(SourceTable(_FILE, "csv", ("rater_id", "face_id", "rating", *_RATERS, *_ITEMS), rows=256_326),),
        downloads=(),
        counts=Counts(102, 2_513, 256_326, "counted in a copy"),
        seen="a copy as Parquet with the original's columns; the original is a file of R",
        load=_load,
        rater_attributes=("sex", "age", "sexpref"),
        item_attributes=_ITEMS,
        note="Save it from R: write.csv(faux::faceratings, 'faceratings.csv', row.names = FALSE). Or as Parquet.",
    ),
)
