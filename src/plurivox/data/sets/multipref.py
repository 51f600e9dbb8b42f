"""MultiPref: which of two language models' answers crowd workers and experts prefer."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.data.making import objects_of, ratings_of, text
from plurivox.data.record import Both, Counts, Dataset, Download, SourceTable, Tables
from plurivox.domain.ratings import Ratings

_FILE = "MultiPref-Train.jsonl"
_SCALE = ("B-is-clearly-better", "B-is-slightly-better", "Tie", "A-is-slightly-better", "A-is-clearly-better")
_ITEMS = (
    "text", "completion_a", "completion_b", "model_a", "model_b", "prompt_id", "source", "category", "subject_of_study",
    "subject_study", "highest_level_degree",
)  # fmt: skip


def _load(tables: Tables) -> Both:
    rows = objects_of(tables, _FILE)
    known = [one for one in _ITEMS if any(one in row for row in rows)]
    items = pl.DataFrame(
        [(row["comparison_id"], *(text(row.get(one)) for one in known)) for row in rows],
        schema=dict.fromkeys(("item", *known), pl.String), orient="row",
    )  # fmt: skip
    return _of(rows, "normal_worker_annotations", items), _of(rows, "expert_worker_annotations", items)


def _of(rows: list[dict[str, Any]], who: str, items: pl.DataFrame) -> Ratings:
    given = [
        (row["comparison_id"], str(one["evaluator"]), text(one["overall_pref"])) for row in rows for one in row[who]
    ]
    long = pl.DataFrame(given, schema=dict.fromkeys(("item", "rater", "score"), pl.String), orient="row")
    return ratings_of(
        long, scale=list(_SCALE), poles=("B is better", "A is better"), duplicates="first",
        items=items.unique("item", maintain_order=True),
    )  # fmt: skip


DATASETS = (
    Dataset(
        name="multipref",
        title="MultiPref",
        question="Which of two language models' answers is better overall?",
        citation="Miranda, Wang et al. (2024): Hybrid Preferences: Learning to Route Instances for Human vs. AI "
        "Feedback. arXiv:2410.19133.",
        licence="ODC-BY 1.0; answers of models are subject to the terms of their makers.",
        home="https://huggingface.co/datasets/allenai/multipref",
        scale=" < ".join(_SCALE),
        tables=(
            SourceTable(
                _FILE, "jsonl", ("comparison_id", "normal_worker_annotations", "expert_worker_annotations"), _ITEMS[:8],
                rows=10_461,
            ),
        ),
        downloads=(Download(_FILE, f"https://huggingface.co/datasets/allenai/multipref/resolve/main/{_FILE}"),),
        counts=Counts(10_461, None, None, "data card: twice by crowd workers, twice by experts"),
        seen="no original file; it follows the data card, its example and the keys that public code reads",
        load=_load,
        item_attributes=_ITEMS,
        reference="the ratings of domain experts, on the same scale",
        note="The scale compares A with B; only overall_pref is read.",
    ),
)  # fmt: skip
