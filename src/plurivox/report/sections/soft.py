"""Soft scores: how good predicted rating distributions are."""

from __future__ import annotations

import warnings

import polars as pl

from plurivox import plots
from plurivox.errors import SoftScoresWarning
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.sums import ALL
from plurivox.report.parts import Block, Brief, DataTable, Figure, Finding, Prose, Section, remarks_of, top_rows
from plurivox.statistics.registry import LABELS

LEAD = (
    "How good are predicted distributions over the scale, and how sure is that where items have few ratings? Lower is "
    "better. Expected scores, E[…], average over the distributions that are likely given a prior and the ratings; the "
    "others take the shares of an item's ratings for the truth."
)
MAX_ROWS = 1000
_ANCHORS = {"prior": "soft-prior", "pit": "soft-pit"}


def section(brief: Brief) -> Section | None:
    """Score the predictions, if there are any."""
    if "predictions" not in brief.study.inputs:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)  # they are among the findings
        found: SoftScores = brief.ask("soft_scores")
    blocks: list[Block] = [Prose(_beside(found)), _ranking(found)]
    if len(found.bins) > 1:
        blocks.append(_bins(found))
    blocks += [_prior(found), DataTable("soft-prior-weight", "How much the prior weighs", _weights(found))]
    blocks += [_pit(found), _reliability(found)]
    blocks += [_comparisons(found), _table(found)]
    findings = [
        Finding(one.text, one.weight, _ANCHORS.get(one.statistic, "soft-ranking"))
        for one in found.statements()
        if one.weight > 0
    ]
    return Section("soft", "Soft scores", LEAD, blocks, findings, remarks_of(found))


def _beside(found: SoftScores) -> str:
    prior = ", ".join(f"{weight:.3g}" for weight in found.settings["prior"][:12])
    prior = prior.split(",")[0] if len(set(found.settings["prior"])) == 1 else prior
    of = "training items" if found.settings["train"] else "other items"
    return (
        f"{len(found.models)} models on {found.settings['n_items']:,} items with {found.settings['n_ratings']:,} "
        f"ratings; weight of each point in the prior: {prior}. Beside them stand the uniform prediction, which knows "
        f"nothing; the marginal one, the shares of points among ratings of {of}; and the posterior mean, which knows "
        "the item's own ratings and is hard to beat."
    )


def _ranking(found: SoftScores) -> Figure:
    return Figure(
        "soft-ranking", "Which model predicts best", plots.soft_ranking(found),
        "Scores of each model and of predictions to compare with, by every metric, with 95 % intervals.",
        "KL is not drawn: two predictions differ in it by as much as in CE.",
        plots.soft_ranking_data(found),
    )  # fmt: skip


def _bins(found: SoftScores) -> Figure:
    return Figure(
        "soft-bins", "With few ratings and with many", plots.soft_by_bin(found),
        "Expected scores by how many ratings an item has, with 95 % intervals.",
        "With few ratings the prior has much weight, and flat predictions look good.",
        plots.soft_by_bin_data(found),
    )  # fmt: skip


def _prior(found: SoftScores) -> Figure:
    return Figure(
        "soft-prior", "How scores move with the prior", plots.prior_sensitivity(found),
        "Expected scores of each model for prior weights of a point from 0.01 to 100.",
        "A ranking that holds over the whole range does not hang on the prior.",
        plots.prior_sensitivity_data(found),
    )  # fmt: skip


def _weights(found: SoftScores) -> pl.DataFrame:
    names = {"bin": "ratings of an item", "n_items": "items", "n_ratings": "ratings", "prior_share": "share of prior"}
    return found.prior_weight().rename(names)


def _pit(found: SoftScores) -> Figure:
    return Figure(
        "soft-pit", "Where ratings fall in their predicted distribution", plots.pit_histograms(found),
        "Histogram of the probability integral transform of all ratings, one for each model.",
        "The PIT of a rating is where it lies in its predicted distribution, 0 at the low end and 1 at the high.",
        plots.pit_histograms_data(found),
    )  # fmt: skip


def _reliability(found: SoftScores) -> Figure:
    return Figure(
        "soft-reliability", "Are predicted probabilities kept?", plots.reliability_curves(found),
        "Predicted against observed shares of ratings at or above each point, one panel for each model.",
        "If “at least 3” is predicted with probability .7, 7 of 10 ratings should be 3 or more.",
        plots.reliability_curves_data(found),
    )  # fmt: skip


def _comparisons(found: SoftScores) -> DataTable:
    names = {
        "bin": "ratings of an item", "statistic": "metric", "ci_low": "low", "ci_high": "high",
        "p_better": "first is better", "p_value": "p", "p_adjusted": "p corrected", "n_items": "items",
    }  # fmt: skip
    frame = _shown_bins(found, found.comparisons()).with_columns(pl.col("statistic").replace(LABELS)).rename(names)
    shown, note = top_rows(frame, MAX_ROWS)
    return DataTable(
        "soft-comparisons", "Two predictions on the same items", shown,
        note=f"A negative difference: the first is better; how often so when items are drawn anew. {note}".strip(),
        search=True,
    )  # fmt: skip


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
    shown, note = top_rows(frame, MAX_ROWS)
    return DataTable("soft-table", "All scores", shown, note=note, search=True)
