"""What soft scores leave out, and what they rest on, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import polars as pl

from plurivox.base.wording import are, counted, listed
from plurivox.infer.families import SIGNIFICANT
from plurivox.infer.result import Statement, p_text
from plurivox.lenses.soft.matching import NO_PREDICTION, NO_RATING
from plurivox.statistics.soft_blocks import EMPIRICAL

if TYPE_CHECKING:
    from plurivox.lenses.soft.result import SoftScores


# Habits of models, in sentences ---------------------------------------------------------------------------------------
# Habits of models, in sentences: predictions that are too sure, too vague, too high or too low.

HALF = 0.5
TOO_SURE, TOO_VAGUE = 1.15, 0.85
"""PIT variances beyond these multiples of 1/12 are worth a sentence."""
LEANING = 0.05
SLOPE_LOW, SLOPE_HIGH = 0.9, 1.1
"""A slope of observed on predicted shares that is certainly beyond these is worth a sentence."""


def calibrated(calibration: pl.DataFrame) -> list[Statement]:
    """Return how the predictions of each model are off, or that none clearly is."""
    rows = list(calibration.iter_rows(named=True))
    found = []
    for row in rows:
        habits = _habits(row, by_pit=row["p_value"] < SIGNIFICANT / len(rows))
        if habits:
            found.append(Statement(f"{row['model']} {listed(habits)}.", 2.3, statistic="pit"))
    if rows and not found:
        text = "No model is clearly miscalibrated, judging by PITs and by how observed shares rise with predicted ones."
        found.append(Statement(text, 1.1, statistic="pit"))
    return found


def _habits(row: dict[str, Any], *, by_pit: bool) -> list[str]:
    """Return how the predictions of a model are off, as far as that is clear."""
    ratio, leans = 12 * row["pit_variance"], abs(row["pit_mean"] - HALF) > LEANING
    habits = []
    if by_pit and ratio > TOO_SURE:
        variance = f"PIT variance {ratio:.1f} times the ideal, {p_text(row['p_value'])}"
        habits.append(f"is too sure: ratings fall outside its narrow predictions ({variance})")
    elif by_pit and ratio < TOO_VAGUE and not leans:  # PITs that are all at one end also vary little
        habits.append(f"is too vague (PIT variance {ratio:.1f} times the ideal, {p_text(row['p_value'])})")
    elif row["slope_high"] < SLOPE_LOW or row["slope_low"] > SLOPE_HIGH:
        what = "sure" if row["slope"] < 1 else "vague"
        interval = f"{row['slope_low']:.2f} to {row['slope_high']:.2f}"
        habits.append(f"is too {what}: for every 10 % more it predicts, {10 * row['slope']:.1f} % more ratings follow "
                      f"(slope {interval}, ideally 1)")  # fmt: skip
    if by_pit and leans:
        side = "low" if row["pit_mean"] > HALF else "high"
        habits.append(f"predicts too {side} (mean PIT {row['pit_mean']:.2f}, ideally .50, {p_text(row['p_value'])})")
    return habits


# Left_out -------------------------------------------------------------------------------------------------------------

WHY_RPS = (
    "RPS against the ratings: it needs no prior and, however few ratings there are, is lowest on average for the true "
    "distribution, so it does not reward flat predictions as expected scores do."
)


def left_out(found: SoftScores) -> Iterator[str]:
    """Yield what was not scored, and why, and what scores rest on."""
    s = found.settings
    whole = s["n_items"] + s["n_unpredicted"] + s["n_few"]
    if whole > s["n_items"]:
        least = "a rating" if s["min_ratings"] == 1 else f"at least {s['min_ratings']:,} ratings"
        those, have = ("that", "has") if s["n_items"] == 1 else ("those", "have")
        yield (
            f"{s['n_items']:,} of {whole:,} items {are(s['n_items'])} scored: {those} that every model predicts"
            + (f" and that {have} {least}." if s["n_few"] else ".")
        )
    missing = found.missing().group_by("model", "problem", maintain_order=True).len().iter_rows()
    for model, problem, n in missing:
        items = counted(n, "item")
        said = {NO_PREDICTION: f"{model} does not predict {items} with ratings",
                NO_RATING: f"{model} predicts {items} without ratings"}  # fmt: skip
        yield f"{said[problem]}: see missing(), or --csv --table missing."
    if s["n_trained_on"]:
        yield f"{s['n_trained_on']:,} of the scored items {are(s['n_trained_on'])} among the training items."
    if s["n_unrated"]:
        items, have = counted(s["n_unrated"], "item"), "has" if s["n_unrated"] == 1 else "have"
        yield f"{items} {have} no rating: expected scores use only the prior there, the others leave them out."
    if s["n_in_no_bin"]:
        n, count = s["n_in_no_bin"], "counts" if s["n_in_no_bin"] == 1 else "count"
        yield f"{counted(n, 'item')} {are(n)} in none of the bins, but {count} towards all items."
    if s["n_items_in_no_part"]:
        n = s["n_items_in_no_part"]
        have, count = ("has", "counts") if n == 1 else ("have", "count")
        yield f"{counted(n, 'item')} {have} no value for {s['items_by']}: in no part, but {count} towards all items."
    if any(name not in EMPIRICAL for name in found.metrics):
        yield s["prior_note"]
    if found.main == "rps":
        yield f"Models are ranked by {WHY_RPS}"
