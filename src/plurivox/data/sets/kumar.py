"""Kumar et al. 2021: comments rated for toxicity by people of diverse views."""

from __future__ import annotations

import polars as pl

from plurivox.base.errors import IdError
from plurivox.data.making import objects_of, one_each, ratings_of, text
from plurivox.data.reading import KEY
from plurivox.data.record import Both, Counts, Dataset, SourceTable, Tables

_FILE = "toxicity_ratings.json"
_RATERS = (
    "gender", "race", "age_range", "education", "political_affilation", "religion_important", "is_parent",
    "lgbtq_status", "identify_as_transgender", "technology_impact", "toxic_comments_problem",
    "personally_seen_toxic_content", "personally_been_target", "uses_media_social", "uses_media_news",
    "uses_media_video", "uses_media_forums",
)  # fmt: skip


def _load(tables: Tables) -> Both:
    comments = objects_of(tables, _FILE)
    rows = [(one[KEY], rating) for one in comments for rating in one["ratings"]]
    if nameless := [item for item, rating in rows if "worker_id" not in rating]:
        raise IdError(
            "these ratings do not say who gave them", places=[f"row {item}" for item in nameless[:5]],
            n_places=len(nameless), hint="Ask the authors for the file that has worker_id.",
        )  # fmt: skip
    long = pl.DataFrame(
        [
            (item, str(rating["worker_id"]), text(rating["toxic_score"]), *(text(rating.get(one)) for one in _RATERS))
            for item, rating in rows
        ],
        schema=dict.fromkeys(("item", "rater", "score", *_RATERS), pl.String),
        orient="row",
    )
    items = pl.DataFrame(
        {
            "item": [one[KEY] for one in comments],
            "text": [text(one["comment"]) for one in comments],
            "source": [text(one.get("source")) for one in comments],
        },
        schema=dict.fromkeys(("item", "text", "source"), pl.String),
    )
    ratings = ratings_of(
        long.select("item", "rater", "score"), scale="0:4", poles=("not toxic", "extremely toxic"), duplicates="first",
        raters=one_each(long, "rater", _RATERS), items=items,
    )  # fmt: skip
    return ratings, None


DATASETS = (
    Dataset(
        name="kumar-2021",
        title="Toxicity by diverse raters (Kumar et al. 2021)",
        question="How toxic is a comment?",
        citation=(
            "Kumar, Kelley, Consolvo, Mason, Bursztein, Durumeric, Thomas and Bailey (2021): Designing Toxic Content "
            "Classification for a Diversity of Perspectives. SOUPS."
        ),
        licence="None is stated. The authors provide the file on its home page; the comments may be offensive.",
        home="https://data.esrg.stanford.edu/study/toxicity-perspectives",
        scale="0 < 1 < 2 < 3 < 4",
        tables=(SourceTable(_FILE, "jsonl", ("comment", "ratings"), ("source", "perspective_score")),),
        downloads=(),
        counts=Counts(107_620, 17_280, None, "the paper"),
        seen="no original file; it follows the keys that public code reads from it",
        load=_load,
        rater_attributes=_RATERS,
        item_attributes=("text", "source"),
        note=(
            "Items are named by their line. A rater who answered a question about themselves in two ways has no value "
            "there. The freely available file lacks worker_id and is refused: raters are not invented."
        ),
    ),
)
