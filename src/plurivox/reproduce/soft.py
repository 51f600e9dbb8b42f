"""Soft metrics (Magnani, ASSE 2025): the worked examples, and baselines next to the models on ConvAbuse."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from plurivox.base.errors import SoftScoresWarning
from plurivox.domain.ratings import Ratings
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.run import soft_scores
from plurivox.read.read import read_ratings
from plurivox.reproduce.record import Paper, PublishedCell, published
from plurivox.statistics import soft

CONVABUSE = "ConvAbuseEMNLPfull.csv"
SEVERITIES = range(-3, 2)
SCENARIOS = {
    "scenario A": ([0, 0.8, 0.2, 0, 0], [0, 0.2, 0.8, 0, 0]),
    "scenario B": ([0, 0.8, 0, 0, 0.2], [0, 0.2, 0, 0, 0.8]),
}
COUNTS, RIGHT, NEAR = [1, 2, 4, 2, 1], [0.1, 0.2, 0.4, 0.2, 0.1], [0.1, 0.3, 0.3, 0.2, 0.1]
FUNCTIONS: dict[str, Callable[..., Any]] = {"KL": soft.kl, "CE": soft.cross_entropy, "EMD": soft.emd}
EXPECTED = {"E[CE]": "expected_cross_entropy", "E[EMD]": "expected_emd"}


def convabuse(folder: Path) -> Ratings:
    """Return the severity of user turns, −3 to 1: an item is a conversation and a text, and the first rating counts."""
    points = tuple(f"is_abuse.{value}" for value in SEVERITIES)
    return read_ratings(
        folder / CONVABUSE, item="conv_id,user", rater="annotator_id", point_columns=points, duplicates="first"
    )


def baselines(ratings: Ratings) -> dict[tuple[str, str], float]:
    """Return the expected scores, with a flat prior and steps of length 1, of predictions that know nothing."""
    flat = {str(label): 1 / len(ratings.scale) for label in ratings.scale.labels}
    items = ratings.items.select("item").with_columns(pl.lit("flat").alias("model"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)  # the notes on the paper say that the prior outweighs
        found = _scored(ratings, items.with_columns(pl.lit(share).alias(name) for name, share in flat.items()))
    return {(name, metric): found.value(name, column) for name in ("uniform", "marginal")
            for metric, column in EXPECTED.items()}  # fmt: skip


def _scored(ratings: Ratings, predictions: pl.DataFrame) -> SoftScores:
    return soft_scores(
        ratings, predictions, 1.0, metrics=tuple(EXPECTED.values()), normalized=False, min_ratings=2, bootstrap=0,
        permutations=0, curve=False,
    )  # fmt: skip


def cells(folder: Path | None) -> Iterator[PublishedCell]:
    """Yield Table 1, the gap of Figure 1, and Table 3 with baselines."""
    for row in published("soft_table1").iter_rows(named=True):
        for name, (p, q) in SCENARIOS.items():
            yield PublishedCell("Table 1", row["metric"], name, row[name], FUNCTIONS[row["metric"]](p, q))
    for times in (1, 2, 4, 10):
        counts = [times * n for n in COUNTS]
        for name, column in EXPECTED.items():
            function: Callable[..., Any] = getattr(soft, column)
            gap = function(counts, NEAR) - function(counts, RIGHT)
            yield PublishedCell("Figure 1, gap between the two predictions", f"counts × {times}", name, "", gap)
    if folder is None:
        return
    ours = baselines(convabuse(folder))
    for row in published("soft_table3").iter_rows(named=True):
        for name in ("model A", "model B"):
            yield PublishedCell("Table 3, ConvAbuse", name, row["metric"], row[name], float("nan"))
        for name in ("uniform", "marginal"):
            yield PublishedCell("Table 3, ConvAbuse", name, row["metric"], "", ours[name, row["metric"]])


PAPER = Paper(
    name="soft",
    order=40,
    citation="Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes, ASSE",
    cells=cells,
    files=(CONVABUSE,),
    dataset="convabuse",
    origin="ConvAbuse (Cercas Curry et al. 2021, https://github.com/amandacurry/convabuse)",
    without="Table 3 is left out without ConvAbuse.",
    parts=(
        "KL .97 and CE 1.83 in Table 1 are neither nats nor bits for its distributions: KL is .6 ln 4 = .832 nats, CE "
        "is 1.332.",
        "Equation 7 divides EMD by the length of the scale, as in Table 1; Tables 2 and 3 do not.",
        "The paper samples E[EMD] for lack of a closed form; it has one, since each cumulative probability is Beta.",
        "With α = 1 and two or three ratings, the prior has over 60 % of the weight: on ConvAbuse, the uniform "
        "prediction has a lower E[CE] and E[EMD] than both of its models, whose scores are from its own test split.",
    ),
)
