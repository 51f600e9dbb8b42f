"""Several judges together: the best one, their mean, a weight for each, and how far they err alike."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from plurivox.domain.answers import Voice
from plurivox.infer.result import Row
from plurivox.lenses.estimate.estimands import Estimand
from plurivox.lenses.estimate.measuring import PoweredEstimate, beside, rows_of
from plurivox.lenses.estimate.population import Floats, Mask, RatingEntries
from plurivox.statistics.ppi import effective_interval, error_correlation

TOGETHER, MEAN, BEST = "all judges together", "mean of all judges", "best single judge"
COMBINED = (TOGETHER, MEAN, BEST)
WEIGHTS = {
    "of": pl.String, "model": pl.String, "prompt": pl.String, "weight": pl.Float64, "alone": pl.Float64,
    "correlation": pl.Float64, "bias": pl.Float64, "selected": pl.Boolean, "n_items": pl.Int64, "n_further": pl.Int64,
}  # fmt: skip
"""λ of each judge among all and alone, its correlation with the humans, its bias, and which judge is the best."""
ERRORS = {
    "of": pl.String, "model": pl.String, "prompt": pl.String, "other_model": pl.String, "other_prompt": pl.String,
    "correlation": pl.Float64, "uncorrected": pl.Float64, "n_items": pl.Int64,
}  # fmt: skip
"""How far the errors of two judges correlate over items."""


class JudgesTogether(NamedTuple):
    """Rows of several judges, and their tables."""

    rows: list[Row]
    weights: list[tuple[Any, ...]]
    errors: list[tuple[Any, ...]]


def together(
    rated: RatingEntries, answers: Floats, answered: Mask, voices: Sequence[Voice], estimand: Estimand, base: Row,
    width: float | None, *, over_raters: bool, both_ways: bool,
) -> JudgesTogether:  # fmt: skip
    """Estimate with all judges, on the items that all have; items × judges, NaN where there is no answer.

    With ``both_ways``, unweighted values are included; the best judge stays the same.
    """
    found = _All.of(rated, answers, answered, estimand, over_raters=over_raters)
    best = int(np.argmin([_or_last(one.powered.variance) for one in found.single]))
    base = base.with_note(f"on the items of all {len(voices)} judges")
    rows = found.rows(voices, best, estimand, base, width)
    if both_ways:
        alike = _All.of(rated.alike(), answers, answered, estimand, over_raters=over_raters)
        rows = beside(rows, alike.rows(voices, best, estimand, base, width))
    joint, spoken = found.joint, found.spoken
    weights = [
        (estimand.name, *voice, float(joint.powered.weights[k]), float(found.single[k].powered.weights[0]),
         *_beside(spoken.human, spoken.model[:, k]), k == best, len(joint.human), len(joint.further))
        for k, voice in enumerate(voices)
    ]  # fmt: skip
    return JudgesTogether(rows, weights, _errors(spoken, voices, estimand))


class _All(NamedTuple):
    """All judges on the items that all have: with a weight each, their mean, each alone; and on items all answered."""

    joint: PoweredEstimate
    mean: PoweredEstimate
    single: list[PoweredEstimate]
    spoken: PoweredEstimate

    @classmethod
    def of(
        cls, rated: RatingEntries, answers: Floats, answered: Mask, estimand: Estimand, *, over_raters: bool
    ) -> _All:
        """Measure them against some raters."""
        every: Mask = np.asarray(~np.isnan(answers).any(axis=1), dtype=bool)
        whole: Mask = np.asarray(answered.all(axis=1), dtype=bool)

        def measured(own: Floats, spoken: Mask) -> PoweredEstimate:
            return PoweredEstimate.of(rated, own, spoken, estimand.numbers, every, over_raters=over_raters)

        return cls(
            measured(answers, whole),
            measured(answers.mean(axis=1, keepdims=True), whole),
            [measured(answers[:, [k]], answered[:, k]) for k in range(answers.shape[1])],
            PoweredEstimate.of(rated, answers, whole, estimand.numbers, every & whole, over_raters=False),
        )

    def rows(self, voices: Sequence[Voice], best: int, estimand: Estimand, base: Row, width: float | None) -> list[Row]:
        """Return the rows of all together, of their mean and of the best one."""
        rows = rows_of(self.joint, replace(base, model=TOGETHER), estimand, width)
        rows += rows_of(self.mean, replace(base, model=MEAN), estimand, width)
        chosen = replace(base, model=BEST).with_note(
            f"{voices[best]}, selected for its variance; the interval holds for all {len(voices)} at once (Bonferroni)"
        )
        level = 1 - 0.05 / len(voices)
        # a value selected for its size has no interval of its own
        rows += [_unclaimed(row) for row in rows_of(self.single[best], chosen, estimand, width, level)]
        return [*rows, _effective(self.spoken, replace(base, model=TOGETHER, other=estimand.name))]


def _or_last(variance: float) -> float:
    return math.inf if math.isnan(variance) else variance


def _unclaimed(row: Row) -> Row:
    return replace(row, ci_low=None, ci_high=None) if row.statistic == "ppi_worth" else row


def _beside(human: Floats, model: Floats) -> tuple[float, float]:
    """Return the correlation of a judge with the humans' means, NaN where either does not vary, and its bias."""
    if len(human) < 2:
        return math.nan, float((model - human).mean()) if len(human) else math.nan
    a, b = human - human.mean(), model - model.mean()
    size = math.sqrt(float(a @ a) * float(b @ b))
    return (float(a @ b) / size if size > 0 else math.nan), float((model - human).mean())


def _effective(joint: PoweredEstimate, base: Row) -> Row:
    """Return how many judges with unrelated errors they amount to, on the items that all answered."""
    row = replace(
        base, statistic="effective_judges", value=math.nan, n_items=len(joint.human), n_raters=joint.n_raters,
        n_ratings=joint.n_ratings,
    )  # fmt: skip
    if len(joint.human) < 4:
        return row.with_note("fewer than four items")
    if np.isnan(joint.error).all():
        row = row.with_note("no item has two ratings, so chance in ratings counts as an error that judges share")
    value, low, high = effective_interval(joint.human, joint.model, joint.noise)
    if math.isnan(value):
        return row.with_note("no judge errs beyond the chance in ratings")
    row = replace(row, value=value)
    return row if math.isnan(low) else row.with_interval(low, high)


def _errors(joint: PoweredEstimate, voices: Sequence[Voice], estimand: Estimand) -> list[tuple[Any, ...]]:
    """Return how far the errors of each two judges correlate, on the items that all answered."""
    corrected, raw = (error_correlation(joint.human, joint.model, noise) for noise in (joint.noise, 0.0))
    return [
        (estimand.name, *one, *other, float(corrected[a, b]), float(raw[a, b]), len(joint.human))
        for a, one in enumerate(voices)
        for b, other in enumerate(voices)
    ]
