"""Soft scores: how good predicted rating distributions are."""

from __future__ import annotations

import warnings

import polars as pl

from plurivox.errors import SoftScoresWarning
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.sums import ALL
from plurivox.report.making import drawn, findings_of, remarks_of, table
from plurivox.report.parts import Block, Brief, DataTable, Prose, Section
from plurivox.statistics.registry import LABELS

LEAD = (
    "How good are predicted distributions over the scale, and how sure is that where items have few ratings? Lower is "
    "better. Expected scores, E[…], average over the distributions that are likely given a prior and the ratings; the "
    "others take the shares of an item's ratings for the truth."
)
MAX_ROWS = 1000
_WEIGHTS = {"bin": "ratings of an item", "n_items": "items", "n_ratings": "ratings", "prior_share": "share of prior"}


def section(brief: Brief) -> Section | None:
    """Score the predictions, if there are any."""
    if "predictions" not in brief.study.inputs:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)  # they are among the findings
        found: SoftScores = brief.ask("soft_scores")
    blocks = [Prose(_beside(found)), *_charts(found), _comparisons(found), _table(found)]
    findings = findings_of(found, "soft-ranking", {"prior": "soft-prior", "pit": "soft-pit"})
    return Section("soft", "Soft scores", LEAD, blocks, findings, remarks_of(found))


def _beside(found: SoftScores) -> str:
    prior = ", ".join(f"{weight:.3g}" for weight in found.settings["prior"][:12])
    prior = prior.split(",")[0] if len(set(found.settings["prior"])) == 1 else prior
    of = "training items" if found.settings["train"] else "other items"
    return (
        f"{len(found.models)} models on {found.settings['n_items']:,} items with {found.settings['n_ratings']:,} "
        f"ratings; weight of each point in the prior: {prior}. Beside them stand the uniform prediction, which knows "
        f"nothing; the marginal one, the shares of points among ratings of {of}; and the posterior mean, which knows "
        "the item's own ratings."
    )


def _charts(found: SoftScores) -> list[Block]:
    """Return the charts, and beside that of priors how much the prior weighs."""
    blocks: list[Block] = [
        drawn(
            "soft_ranking", found, "soft-ranking", "Which model predicts best",
            "Scores of each model and of predictions to compare with, by every metric, with 95 % intervals.",
            "KL is not drawn: two predictions differ in it by as much as in CE.",
        ),
        *_bins(found),
        drawn(
            "prior_sensitivity", found, "soft-prior", "How scores move with the prior",
            "Expected scores of each model for prior weights of a point from 0.01 to 100.",
            "A ranking that holds over the whole range does not hang on the prior.",
        ),
        DataTable("soft-prior-weight", "How much the prior weighs", found.prior_weight().rename(_WEIGHTS)),
        drawn(
            "pit_histograms", found, "soft-pit", "Where ratings fall in their predicted distribution",
            "Histogram of the probability integral transform of all ratings, one for each model.",
            "The PIT of a rating is where it lies in its predicted distribution, 0 at the low end and 1 at the high.",
        ),
        drawn(
            "reliability_curves", found, "soft-reliability", "Are predicted probabilities kept?",
            "Predicted against observed shares of ratings at or above each point, one panel for each model.",
            "If “at least 3” is predicted with probability .7, 7 of 10 ratings should be 3 or more.",
        ),
    ]  # fmt: skip
    return blocks


def _weights(found: SoftScores) -> str:
    """Tell how much the prior weighs where items have few ratings, and where they have many."""
    known = found.prior_weight().filter(pl.col("bin") != ALL, pl.col("prior_share").is_finite())
    parts = [f"{share:.0%} with {ratings} ratings" for ratings, share in known.select("bin", "prior_share").iter_rows()]
    told = f"Weight of the prior: {', '.join(parts)}. " if parts else ""
    return f"{told}The more the prior weighs, the less a score tells of the ratings."


def _bins(found: SoftScores) -> list[Block]:
    return [] if len(found.bins) < 2 else [drawn(
        "soft_by_bin", found, "soft-bins", "With few ratings and with many",
        "Expected scores by how many ratings an item has, with 95 % intervals.",
        _weights(found),
    )]  # fmt: skip


def _comparisons(found: SoftScores) -> DataTable:
    names = {
        "bin": "ratings of an item", "statistic": "metric", "ci_low": "low", "ci_high": "high",
        "p_better": "first is better", "p_value": "p", "p_adjusted": "p corrected", "n_items": "items",
    }  # fmt: skip
    frame = _shown_bins(found, found.comparisons()).with_columns(pl.col("statistic").replace(LABELS)).rename(names)
    note = "A negative difference: the first is better; how often so when items are drawn anew."
    return table("soft-comparisons", "Two predictions on the same items", frame, MAX_ROWS, note, search=True)


def _shown_bins(found: SoftScores, frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the one bin that holds all items."""
    return frame.filter(pl.col("bin") == ALL) if len(found.bins) == 1 else frame


def _table(found: SoftScores) -> DataTable:
    frame = _shown_bins(found, found.to_frame()).select(
        "model", pl.col("bin").alias("ratings of an item"), "axis", "group",
        pl.col("statistic").replace(LABELS).alias("metric"), "value", "rank", low="ci_low", high="ci_high",
        items="n_items", note="note",
    )  # fmt: skip
    if (frame["axis"] == ALL).all():
        frame = frame.drop("axis", "group")
    return table("soft-table", "All scores", frame, MAX_ROWS, search=True)
