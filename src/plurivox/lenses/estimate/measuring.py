"""One estimate: the ratings of a group of raters with the answers of one judge or several, over some items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from plurivox.base.errors import InputError
from plurivox.domain.answers import Voice
from plurivox.domain.scale import Scale
from plurivox.infer.result import Row
from plurivox.lenses.estimate import AT_LEAST, MEAN, SHARES, EstimateSettings
from plurivox.lenses.estimate.population import Floats, Mask, RatingEntries
from plurivox.statistics.ppi import (
    Powered,
    RaterVariance,
    Worth,
    added,
    effective_interval,
    error_correlation,
    items_needed,
    prediction_powered,
    rater_variance,
    reach,
    worth,
)

# What can be estimated ------------------------------------------------------------------------------------------------
# What can be estimated: the mean over items of a number for each point of the scale.


class Estimand(NamedTuple):
    """What is estimated: its name, the number of each point, and whether it is a share."""

    name: str
    numbers: Floats
    share: bool

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest value that it can have."""
        return float(self.numbers.min()), float(self.numbers.max())


def estimands(scale: Scale, settings: EstimateSettings) -> list[Estimand]:
    """Return what is requested: by default the mean, and the share at or above the threshold if there is one."""
    place = None
    if settings.threshold not in (None, "each"):
        place = scale.position(settings.threshold)
        if place < 1:
            what = "the lowest point, so everything would be unsafe" if place == 0 else "which means no rating"
            raise InputError(f"threshold is {settings.threshold!r}, {what}", hint=f"Give a higher point of {scale}.")
    wanted = settings.what or ((AT_LEAST,) if len(scale) == 2 else (MEAN, *((AT_LEAST,) if place is not None else ())))
    labels = [str(label) for label in scale.labels]
    found = []
    for one in wanted:
        if one == MEAN:
            found.append(Estimand(MEAN, np.array(scale.values, dtype=float), share=False))
        elif one == SHARES:
            found += [_share(f"share of {label}", len(scale), at, at + 1) for at, label in enumerate(labels)]
        else:
            first = range(1, len(scale)) if place is None else (place,)
            found += [
                _share(f"share of {labels[at]}{' or higher' if at < len(scale) - 1 else ''}", len(scale), at)
                for at in first
            ]
    return list({one.name: one for one in found}.values())


def _share(name: str, n_points: int, first: int, last: int | None = None) -> Estimand:
    numbers = np.zeros(n_points)
    numbers[first:last] = 1.0
    return Estimand(name, numbers, share=True)


# Measuring ------------------------------------------------------------------------------------------------------------

NO_ITEM = "no item has both human ratings and an answer"
NO_FURTHER = "the model answered no further items"
ALIKE = "the model gives every item the same answer"
ONE_ITEM = "one item says nothing about others"
ONE_RATER = "one rater says nothing about others"
NO_SPREAD = "all items have the same value, which says nothing about others"
_KNOWN = RaterVariance(0.0, math.inf)


@dataclass(frozen=True, slots=True, eq=False)
class PoweredEstimate:
    """What humans and judges say about some items.

    Attributes
    ----------
    human, model, further
        Numbers given to items: by humans and judges for the items of both, and by judges for further ones.
    spoken
        The mean number of the judges for each item that they answered.
    error
        The variance of each item's mean over its raters, NaN for a single rating.
    powered
        The estimate.
    alone, together
        What other raters add to the variance of humans alone, and of both together.
    n_raters, n_ratings
        How many it rests on.
    """

    human: Floats
    model: Floats
    further: Floats
    spoken: Floats
    error: Floats
    powered: Powered
    alone: RaterVariance
    together: RaterVariance
    n_raters: int
    n_ratings: int

    @classmethod
    def of(
        cls, rated: RatingEntries, answers: Floats, answered: Mask, numbers: Floats, part: Mask, *, over_raters: bool
    ) -> PoweredEstimate:  # fmt: skip
        """Measure some items by ratings of some raters and answers, items × judges, NaN where there is none.

        ``answered`` marks the items that all judges answered themselves.
        """
        known = ~np.isnan(answers).any(axis=1) & part
        own = rated.some(known[rated.item])
        x = numbers[own.score]
        every = own.means(numbers, len(known))
        both = ~np.isnan(every)
        human = every[both]
        powered = prediction_powered(human, answers[both], answers[known & ~both])
        alone = together = _KNOWN
        if over_raters:
            alone = rater_variance(own.item, own.rater, x, own.weight)
            together = rater_variance(own.item, own.rater, x - (answers[own.item] @ powered.weights), own.weight)
        n_raters = len(np.unique(own.rater[own.rater >= 0]))
        spoken = np.asarray(answers[known & answered].mean(axis=1), dtype=float)
        return cls(
            human, answers[both], answers[known & ~both], spoken, _errors(own, x, every)[both], powered, alone,
            together, n_raters, int(own.times.sum()),
        )  # fmt: skip

    @property
    def noise(self) -> float:
        """The mean variance of the humans' mean of an item, 0 where no item has two ratings."""
        known = self.error[~np.isnan(self.error)]
        return float(known.mean()) if len(known) else 0.0

    @property
    def ratings_per_item(self) -> float:
        """How many ratings the items of both have on average."""
        return self.n_ratings / len(self.human) if len(self.human) else math.nan

    def worth(self) -> tuple[Worth, str]:
        """Return what the judges are worth in further human ratings, and why that is unknown, empty if it is known."""
        if self.useless:
            return Worth(math.nan, math.nan, math.nan), self.useless
        found = worth(self.human, self.model, self.further, self.together.variance)
        why = ONE_RATER if math.isnan(self.together.variance) else NO_SPREAD
        return Worth(*(one * self.ratings_per_item for one in found)), why if math.isnan(found.items) else ""

    @property
    def useless(self) -> str:
        """Why the judges cannot add anything, empty if they can."""
        if not len(self.human):
            return NO_ITEM
        if not len(self.further):
            return NO_FURTHER
        if len(self.human) < 2:
            return ONE_ITEM
        every = np.concatenate([self.model, self.further])
        return ALIKE if (every == every[:1]).all() else ""


def _errors(own: RatingEntries, x: Floats, mean: Floats) -> Floats:
    """Return the variance of the mean of each item over its raters, NaN for a single rating.

    With W = Σw, Q = Σw² and the mean square s of deviations from the mean it is s/(W²/Q − 1), for raters who are drawn
    independently of their weights.
    """
    squared = own.weight**2 / own.times  # ratings that are counted together come from different raters
    size, whole, square, second = (
        np.bincount(own.item, weights=one, minlength=len(mean))
        for one in (own.times, own.weight, squared, own.weight * x * x)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.maximum(second / whole - mean**2, 0.0)
        return np.where(size > 1, spread / (whole**2 / square - 1), np.nan)


def beside(rows: list[Row], alike: list[Row]) -> list[Row]:
    """Return rows with their unweighted values; a model alone has no raters."""
    return [
        own if own.statistic == "estimate_model" else replace(own, unweighted=plain.value)
        for own, plain in zip(rows, alike, strict=True)
    ]


def rows_of(
    found: PoweredEstimate, base: Row, estimand: Estimand, width: float | None, level: float = 0.95
) -> list[Row]:
    """Return the rows of one estimate: both together, each alone, λ of a single judge, its worth and what it needs."""
    powered, both = found.powered, len(found.human)
    sized = replace(base, other=estimand.name, n_raters=found.n_raters, n_ratings=found.n_ratings)
    whole, humans = (replace(sized, n_items=n) for n in (both + len(found.further), both))
    together = added(powered.variance, powered.freedom, *found.together)
    alone = added(powered.human_variance, powered.human_freedom, *found.alone)
    spoken = found.spoken
    spread = spoken.var(ddof=1) / len(spoken) if len(spoken) > 1 else math.nan
    rows = [
        _with(whole, "estimate", powered.value, together, estimand, found, level),
        _with(humans, "estimate_humans", powered.human, alone, estimand, found),
        _with(
            replace(whole, n_raters=0, n_ratings=0, n_items=len(spoken)), "estimate_model",
            float(spoken.mean()) if len(spoken) else math.nan, (float(spread), len(spoken) - 1.0), estimand, None,
        ),
    ]  # fmt: skip
    if len(powered.weights) == 1:
        value = math.nan if found.useless else float(powered.weights[0])
        rows.append(replace(whole, statistic="ppi_lambda", value=value).with_note(found.useless))
    (value, low, high), why = found.worth()
    row = replace(whole, statistic="ppi_worth", value=value).with_note(why)
    rows.append(row if math.isnan(low) else row.with_interval(low, high))
    sides = ((whole, "", found.together, "together"), (humans, "_humans", found.alone, "alone"))
    if width is None:
        return rows
    for side, ending, raters, name in sides:
        needed = items_needed(width, found.human, found.model, found.further, raters.variance)
        value = getattr(needed, name) * found.ratings_per_item
        row = replace(
            side, statistic=f"ratings_needed{ending}", value=math.ceil(value) if math.isfinite(value) else value
        )
        rows.append(row.with_note("the variation of items or raters is not known") if math.isnan(value) else row)
    return rows


def _with(
    base: Row, statistic: str, value: float, spread: tuple[float, float], estimand: Estimand,
    found: PoweredEstimate | None, level: float = 0.95,
) -> Row:  # fmt: skip
    """Return a row with its interval, or with why there is none."""
    row = replace(base, statistic=statistic, value=value)
    variance, freedom = spread
    if math.isnan(value):
        return row.with_note(NO_ITEM if found is not None else "the model answered no item")
    if found is not None and not len(found.further) and statistic == "estimate":
        row = row.with_note(f"{NO_FURTHER}, so this is the mean of the human ratings")
    if math.isnan(variance):
        alone = found is not None and math.isnan(found.alone.variance) and base.n_items > 1
        return row.with_note(ONE_RATER if alone else ONE_ITEM)
    if variance <= 0:
        return row.with_note(NO_SPREAD)
    half, (lowest, highest) = float(reach(variance, freedom, level)), estimand.ends
    return row.with_interval(max(value - half, lowest), min(value + half, highest))


# Several judges together ----------------------------------------------------------------------------------------------
# Several judges together: the best one, their mean, a weight for each, and how far they err alike.

TOGETHER, MEAN_OF_JUDGES, BEST = "all judges together", "mean of all judges", "best single judge"
COMBINED = (TOGETHER, MEAN_OF_JUDGES, BEST)
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


def together(
    rated: RatingEntries, answers: Floats, answered: Mask, voices: Sequence[Voice], estimand: Estimand, base: Row,
    width: float | None, *, over_raters: bool, both_ways: bool,
) -> tuple[list[Row], list[tuple[Any, ...]], list[tuple[Any, ...]]]:  # fmt: skip
    """Estimate with all judges on the items that all have: rows, and those of :data:`WEIGHTS` and :data:`ERRORS`.

    Answers are items × judges, NaN where there is none. With ``both_ways``, unweighted values are included; the best
    judge stays the same.
    """
    every, whole = (np.asarray(own.all(axis=1), dtype=bool) for own in (~np.isnan(answers), answered))

    def measured(own: RatingEntries) -> tuple[PoweredEstimate, PoweredEstimate, list[PoweredEstimate], PoweredEstimate]:
        """Measure with a weight for each judge, with their mean, with each alone; and on items that all answered."""

        def by(numbers: Floats, spoken: Mask) -> PoweredEstimate:
            return PoweredEstimate.of(own, numbers, spoken, estimand.numbers, every, over_raters=over_raters)

        return (
            by(answers, whole),
            by(answers.mean(axis=1, keepdims=True), whole),
            [by(answers[:, [k]], answered[:, k]) for k in range(len(voices))],
            PoweredEstimate.of(own, answers, whole, estimand.numbers, every & whole, over_raters=False),
        )

    def rows(
        joint: PoweredEstimate, mean: PoweredEstimate, chosen: PoweredEstimate, spoken: PoweredEstimate
    ) -> list[Row]:
        """Return the rows of all together, of their mean and of the best one."""
        made = rows_of(joint, replace(base, model=TOGETHER), estimand, width)
        made += rows_of(mean, replace(base, model=MEAN_OF_JUDGES), estimand, width)
        why = (
            f"{voices[best]}, selected for its variance; the interval holds for all {len(voices)} at once (Bonferroni)"
        )
        for row in rows_of(chosen, replace(base, model=BEST).with_note(why), estimand, width, 1 - 0.05 / len(voices)):
            # a value selected for its size has no interval of its own
            made.append(replace(row, ci_low=None, ci_high=None) if row.statistic == "ppi_worth" else row)
        return [*made, _effective(spoken, replace(base, model=TOGETHER, other=estimand.name))]

    base = base.with_note(f"on the items of all {len(voices)} judges")
    joint, mean, single, spoken = measured(rated)
    variances = np.array([one.powered.variance for one in single])
    best = int(np.argmin(np.where(np.isnan(variances), np.inf, variances)))
    found = rows(joint, mean, single[best], spoken)
    if both_ways:
        other_joint, other_mean, other_single, other_spoken = measured(rated.alike())
        found = beside(found, rows(other_joint, other_mean, other_single[best], other_spoken))
    weights = [
        (estimand.name, *voice, float(joint.powered.weights[k]), float(single[k].powered.weights[0]),
         *_beside(spoken.human, spoken.model[:, k]), k == best, len(joint.human), len(joint.further))
        for k, voice in enumerate(voices)
    ]  # fmt: skip
    corrected, raw = (error_correlation(spoken.human, spoken.model, noise) for noise in (spoken.noise, 0.0))
    errors = [
        (estimand.name, *one, *other, float(corrected[a, b]), float(raw[a, b]), len(spoken.human))
        for a, one in enumerate(voices)
        for b, other in enumerate(voices)
    ]
    return found, weights, errors


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
