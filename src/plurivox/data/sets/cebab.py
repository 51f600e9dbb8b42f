"""CEBaB: restaurant reviews, edited, with the stars that five workers gave to each."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.data.making import objects_of, ratings_of, text
from plurivox.data.record import Both, Counts, Dataset, Download, SourceTable, Tables

_SPLITS = {"train_inclusive.json": 11_728, "dev.json": 1_673, "test.json": 1_689}
_ITEMS = ("split", "text", "is_original", "edit_goal", "edit_type")


def _load(tables: Tables) -> Both:
    ratings: list[tuple[str, str, str]] = []
    items: list[tuple[Any, ...]] = []
    for name in _SPLITS:
        for one in objects_of(tables, name):
            given = one["review_workers"] or {}  # an empty text where nobody rated
            ratings += [(one["id"], worker, str(stars)) for worker, stars in given.items()]
            items.append(
                (one["id"], name.removesuffix(".json"), text(one["description"]),
                 *(text(one.get(key)) for key in _ITEMS[2:]))
            )  # fmt: skip
    strings = dict.fromkeys(("item", "rater", "score"), pl.String)
    found = ratings_of(
        pl.DataFrame(ratings, schema=strings, orient="row"), scale="1:5", poles=("bad", "good"),
        items=pl.DataFrame(items, schema=dict.fromkeys(("item", *_ITEMS), pl.String), orient="row"),
    )  # fmt: skip
    return found, None


DATASETS = (
    Dataset(
        name="cebab",
        title="CEBaB",
        question="How many stars does a review give to a restaurant?",
        citation=(
            "Abraham, D'Oosterlinck, Feder, Gat, Geiger, Potts, Reichart and Wu (2022): CEBaB: Estimating the Causal "
            "Effects of Real-World Concepts on NLP Model Behavior. NeurIPS."
        ),
        licence="CC BY 4.0.",
        home="https://github.com/CEBaBing/CEBaB",
        scale="1 < 2 < 3 < 4 < 5",
        tables=tuple(
            SourceTable(name, "json", ("id", "description", "review_workers"), (
                "original_id", "edit_id", "is_original", "edit_goal", "edit_type", "review_majority",
                "review_label_distribution",
            ), rows=rows)
            for name, rows in _SPLITS.items()
        ),
        downloads=(
            Download(
                "CEBaB-v1.1.zip",
                "https://raw.githubusercontent.com/CEBaBing/CEBaB/2a5d2896bd18a5cc30b95e89a45095241954577d/CEBaB-v1.1.zip",
            ),
        ),
        counts=Counts(15_090, 155, 75_450, "counted in a copy; the data sheet says 15,089 instances"),
        seen=(
            "no original file; it follows the README with its example, and was tested on all 75,450 ratings of a copy "
            "put into that form"
        ),
        load=_load,
        item_attributes=_ITEMS,
        note="train_exclusive.json is a part of train_inclusive.json, and is not read. No experts rated.",
    ),
)  # fmt: skip
