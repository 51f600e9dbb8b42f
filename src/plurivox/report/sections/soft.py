"""Soft scores: how good predicted rating distributions are."""

from __future__ import annotations

import warnings

import polars as pl

from plurivox.base.errors import SoftScoresWarning
from plurivox.lenses.soft import result as views
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.sums import ALL
from plurivox.report.parts import (
    CHECK,
    Action,
    Block,
    Brief,
    Prose,
    Section,
    drawn,
    findings_of,
    headline,
    remarks_of,
    shown,
    values,
)
from plurivox.statistics.registry import LABELS

LEAD = (
    "How good are predicted distributions over the scale? Lower is better. Models are ordered by RPS, which needs no "
    "prior and does not reward flat predictions if items have few ratings."
)


def found_in(brief: Brief) -> SoftScores:
    """Return the lens's result for the report."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SoftScoresWarning)  # they are among the findings
        found: SoftScores = brief.ask("soft_scores")
    return found


def section(brief: Brief) -> Section | None:
    """Score the predictions, if there are any."""
    if "predictions" not in brief.study.inputs:
        return None
    found = found_in(brief)
    ranking, *charts = _charts(found)
    more = [Prose(_beside(found)), *charts, *_tables(found)]
    anchors = {"prior": "soft-prior", "pit": "soft-pit", "design": "soft-interactions"}
    findings = findings_of(found, "soft-ranking", anchors)
    actions = [
        Action(CHECK, f"{one.subject}: it {one.short}.", "soft-ranking", 1, (one,))
        for one in found.statements() if one.short.startswith("predicts worse")
    ]  # fmt: skip
    title = "Who predicts ratings well"
    return Section("soft", title, LEAD, [ranking], findings, remarks_of(found), more, actions=actions)


def _beside(found: SoftScores) -> str:
    of = "training items" if found.settings["train"] else "other items"
    return (
        f"{len(found.models)} models on {found.settings['n_items']:,} items with {found.settings['n_ratings']:,} "
        f"ratings. {found.settings['prior_note']} For comparison there are the uniform prediction, which knows "
        f"nothing; the marginal one, the shares of points among ratings of {of}; and the posterior mean, which knows "
        "the item's own ratings."
    )


def _charts(found: SoftScores) -> list[Block]:
    """Return the charts, and how much the prior weighs."""
    best = headline(found.statements(), found.main, otherwise="No model is certain to predict best")
    blocks: list[Block] = [
        drawn(
            "soft_ranking", found, "soft-ranking", best,
            "Scores of each model and of predictions to compare with, by every metric, with 95 % intervals over items.",
            "The test below decides whether two models differ, not whether lines overlap: both are scored on the same "
            "items. KL is not drawn: two predictions differ in it by as much as in CE.",
            measure="Scores of predicted distributions; lower is better.",
        ),
        *([] if len(found.bins) < 2 else [drawn(
            "soft_by_bin", found, "soft-bins", "With few ratings and with many",
            f"{LABELS[found.main]}, CE and expected scores by how many ratings items have, with 95 % intervals over "
            "items.",
            f"{_weights(found)} The test below shows whether the number of ratings changes how models compare.",
        )]),
        drawn(
            "prior_sensitivity", found, "soft-prior", "How scores change with the prior",
            "Expected scores of each model for prior weights of a point from 0.01 to 100.",
            "An order that holds over the whole range does not depend on the prior. Nothing here is tested.",
        ),
        *shown("soft-prior-weight", views.prior_weights(found)),
        drawn(
            "pit_histograms", found, "soft-pit", "Where ratings fall in their predicted distribution",
            "Histogram of the probability integral transform of all ratings, one for each model.",
            "The PIT of a rating is where it lies in its predicted distribution, 0 at the low end and 1 at the high.",
        ),
        drawn(
            "reliability_curves", found, "soft-reliability", "Do predicted probabilities hold?",
            "Predicted against observed shares of ratings at or above each point, one panel for each model.",
            "If “at least 3” is predicted with probability .7, 7 of 10 ratings should be 3 or more.",
        ),
    ]  # fmt: skip
    return blocks


def _weights(found: SoftScores) -> str:
    """Say how much the prior weighs if items have few ratings, and if they have many."""
    known = found.prior_weight().filter(pl.col("bin") != ALL, pl.col("prior_share").is_finite())
    parts = [f"{share:.0%} with {ratings} ratings" for ratings, share in known.select("bin", "prior_share").iter_rows()]
    told = f"Weight of the prior in expected scores: {', '.join(parts)}. " if parts else ""
    return f"{told}The more the prior weighs, the less such a score says about the ratings."


def _tables(found: SoftScores) -> list[Block]:
    """Return how models compare, how that depends on bins and groups, and all scores."""
    note = (
        "A negative difference: the first is better. The interval, and how often the first is better, come from "
        "resampled items; p comes from flipping the signs of the items' differences, corrected over all pairs, in "
        f"bins over all pairs and bins. Claims are based on {LABELS[found.main]} on all items."
    )
    depends = (
        "The difference between two models in a bin of ratings compared with that in all other bins, with items put "
        "into bins at random; and by a group's ratings compared with those of the others on the same items, with "
        "raters shuffled between groups."
    )
    title, frame = "Does it depend on how many ratings, or on whose", found.to_frame()
    if found.settings["items_by"] is not None:
        title = "Does it depend on how many ratings, on which items, or on whose"
        depends += f" Parts of the items by {found.settings['items_by']} are tested as bins are."
    frame = frame.filter(bin=ALL) if len(found.bins) < 2 else frame
    every = views.comparisons(found, found.metrics, every=True)
    return [
        *shown("soft-comparisons", every, note, title="Two predictions on the same items"),
        *shown("soft-interactions", views.interactions(found, found.interactions().height), depends, title=title),
        values("soft-table", "All scores", frame),
    ]
