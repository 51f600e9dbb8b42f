"""LeWiDi 2025 (Leonardelli et al.): how predictions that know nothing about an item score, and small models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from plurivox.base.errors import MissingExtraError
from plurivox.domain.predictions import Predictions
from plurivox.domain.ratings import Ratings
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.run import soft_scores
from plurivox.read.beside import attributes_in
from plurivox.read.read import read_ratings
from plurivox.reproduce.record import Paper, PublishedCell
from plurivox.statistics.registry import LABELS

METRICS = ("manhattan", "wasserstein", "error_rate", "absolute_distance", "absolute_distance_points")
SETS = {"CSC": ("1:6", "CSC_dev"), "Paraphrase": ("-5:5", "Paraphrase_train")}
"""Data set → its scale, and the file from which the marginal prediction and models learn."""
KINDS = ("mlp-kl", "cumulative-link")
SEED = 0


def scored(folder: Path, name: str) -> SoftScores:
    """Score the test part of a set: the most frequent point for everybody, and models trained on its training part."""
    scale, learned = SETS[name]
    test, train = (read_ratings(folder / f"{one}.json", scale=scale) for one in (f"{name}_test", learned))
    models = [constant(test, int(train.counts().sum(axis=0).argmax()))]
    if name == "Paraphrase":
        models += fitted(folder, train)
    known = Predictions.from_frame(pl.concat(models, how="vertical_relaxed"), test.scale)
    return soft_scores(test, known, train=train, metrics=("rps", *METRICS), bootstrap=0, permutations=0, curve=False)


def constant(ratings: Ratings, point: int) -> pl.DataFrame:
    """Return the prediction that every rater gives the same point."""
    frame = pl.DataFrame({"model": "most frequent point", "item": ratings.items["item"].cast(pl.String)})
    return frame.with_columns(
        pl.lit(float(at == point)).alias(str(label)) for at, label in enumerate(ratings.scale.labels)
    )


def fitted(folder: Path, train: Ratings) -> Iterator[pl.DataFrame]:
    """Yield what small models of the two questions predict; nothing without PyTorch."""
    try:
        from plurivox import models
    except (MissingExtraError, ImportError):
        return
    texts, wanted = (attributes_in(folder / f"Paraphrase_{part}.json", "item").frame() for part in ("train", "test"))
    for kind in KINDS:
        model = models.fit(train, texts, kind, text="Question2", context=("Question1",), seed=SEED)
        yield model.predict(wanted).with_columns(pl.col("item").cast(pl.String))


def cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield the task's scores for every prediction."""
    assert folder is not None
    for name in SETS:
        found = scored(folder, name)
        for model in (*found.models, "uniform", "marginal"):
            for metric in METRICS:
                yield PublishedCell(f"{name}, test", model, LABELS[metric], "", found.value(model, metric))


PAPER = Paper(
    name="lewidi",
    order=60,
    citation="Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives: The Third Edition of the Learning with "
    "Disagreements Shared Task, arXiv 2510.08460",
    cells=cells,
    files=("CSC_dev.json", "CSC_test.json", "Paraphrase_train.json", "Paraphrase_test.json"),
    origin="LeWiDi 2025 (https://le-wi-di.github.io)",
    parts=(
        "The task's tables are not included, so nothing is compared: compare a submission with these numbers.",
        "The description divides absolute distance by the range, 5 and 10 (AD); a public implementation divides by the "
        "number of points, 6 and 11 (AD/points).",
        "ER and AD of uniform and marginal are the expected values if each rater's point is drawn from them; the most "
        "frequent point for everybody is the fairer baseline for predictions of individual raters.",
        "The marginal prediction for CSC comes from its dev part, since the training part is not available.",
    ),
)
