"""Habits of models, in sentences: predictions that are too sure, too vague, too high or too low."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.base.wording import listed
from plurivox.infer.families import SIGNIFICANT
from plurivox.infer.result import Statement, p_text

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
