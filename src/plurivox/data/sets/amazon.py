"""Amazon reviews of electronics: stars that customers gave to products."""

from __future__ import annotations

import polars as pl

from plurivox.data.making import objects_of, ratings_of, text
from plurivox.data.record import Both, Counts, Dataset, SourceTable, Tables

_FILE = "reviews_Electronics_5.json.gz"


def _load(tables: Tables) -> Both:
    rows = objects_of(tables, _FILE)
    long = pl.DataFrame(
        {
            "asin": [text(one["asin"]) for one in rows],
            "reviewerID": [text(one["reviewerID"]) for one in rows],
            "overall": pl.Series([one["overall"] for one in rows], dtype=pl.Float64, strict=True),
        }
    )
    ratings = ratings_of(
        long, item="asin", rater="reviewerID", score="overall", scale="1:5", poles=("bad", "good"), duplicates="first"
    )
    return ratings, None


DATASETS = (
    Dataset(
        name="amazon-electronics",
        title="Amazon reviews, electronics (2014, 5-core)",
        question="How many stars does a product deserve?",
        citation=(
            "He and McAuley (2016): Ups and Downs: Modeling the Visual Evolution of Fashion Trends with One-Class "
            "Collaborative Filtering. WWW."
        ),
        licence="None is stated. The authors offer it for research; see its home page.",
        home="https://jmcauley.ucsd.edu/data/amazon/",
        scale="1 < 2 < 3 < 4 < 5",
        tables=(SourceTable(_FILE, "jsonl", ("reviewerID", "asin", "overall")),),
        downloads=(),
        counts=Counts(63_001, 192_403, 1_689_188, "home page and papers that use it"),
        seen="no original file; it follows the keys that public code reads from it",
        load=_load,
        note="Its known address does not use https, so it is not fetched. Texts belong to ratings and are left out.",
    ),
)
