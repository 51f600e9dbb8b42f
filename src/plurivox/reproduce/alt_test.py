"""The alternative annotator test (Calderon et al., ACL 2025): six models on CEBaB stars."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from plurivox.base.errors import FileError
from plurivox.base.files import note_input
from plurivox.domain.ratings import Ratings
from plurivox.lenses.alignment.result import Alignment
from plurivox.lenses.alignment.run import alignment
from plurivox.reproduce.record import Paper, PublishedCell, published

HUMANS, MODELS = "human_annotations.json", "llm_annotations.json"
COLUMNS = {"omega": "omega", "rho": "advantage"}
"""Printed name → our column."""


def aligned(folder: Path) -> Alignment:
    """Return the answers of the models compared with the ratings of ten people."""
    ratings = Ratings.from_frame(_long(folder / HUMANS, "rater", "score"), scale="1:5")
    return alignment(
        ratings, _long(folder / MODELS, "model", "answer"), bootstrap=0, permutations=0, subsamples=0, as_rater=False
    )


def _long(file: Path, who: str, what: str) -> pl.DataFrame:
    """Return one row per person or model and item from an object of objects."""
    note_input(file)
    try:
        given: dict[str, dict[str, Any]] = json.loads(file.read_bytes())
        rows = [(name, item, score) for name, own in given.items() for item, score in own.items()]
        return pl.DataFrame(rows, schema={who: pl.String, "item": pl.String, what: pl.Int64}, orient="row")
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        raise FileError(
            f"it is not an object that maps names to items to whole numbers ({error})",
            source=str(file),
            hint="Download it again.",
        ) from None


def cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield ω and ρ of six models."""
    assert folder is not None
    found = aligned(folder).stand_ins()
    for row in published("alt_test").iter_rows(named=True):
        ours = found.filter(pl.col("model") == row["model"])
        for printed, name in COLUMNS.items():
            value = float(ours[name][0]) if ours.height else float("nan")
            yield PublishedCell("CEBaB stars, ε = .1", row["model"], printed, row[printed], value)


PAPER = Paper(
    name="alt-test",
    order=50,
    citation="Calderon et al. (2025), The Alternative Annotator Test for LLM-as-a-Judge, ACL",
    cells=cells,
    files=(HUMANS, MODELS),
    origin="the paper's CEBaB stars set (https://github.com/nitaytech/AltTest)",
    parts=(
        "The published test alone lets constants pass if one point dominates, so here a model is said to stand in only "
        "if its advantage also exceeds that of the best constant.",
    ),
)
