"""One estimate: the ratings of a group of raters with the answers of one judge or several, over some items."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from plurivox.infer.result import Row
from plurivox.lenses.estimate.estimands import Estimand
from plurivox.lenses.estimate.population import Floats, Mask, RatingEntries
from plurivox.statistics.ppi import (
    Needed,
    Powered,
    RaterVariance,
    Worth,
    added,
    items_needed,
    prediction_powered,
    rater_variance,
    reach,
    worth,
)

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

    def needed(self, width: float) -> Needed:
        """Return how many human ratings an interval of a given width needs, without and with the judges."""
        alone, together = (
            items_needed(width, self.human, self.model, self.further, raters.variance)
            for raters in (self.alone, self.together)
        )
        return Needed(alone.alone * self.ratings_per_item, together.together * self.ratings_per_item)


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
    rows.append(_worth(found, whole))
    if width is not None:
        without, beside = found.needed(width)
        rows.append(_needed(whole, "ratings_needed", beside))
        rows.append(_needed(humans, "ratings_needed_humans", without))
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


def _worth(found: PoweredEstimate, base: Row) -> Row:
    (value, low, high), why = found.worth()
    row = replace(base, statistic="ppi_worth", value=value).with_note(why)
    return row if math.isnan(low) else row.with_interval(low, high)


def _needed(base: Row, statistic: str, value: float) -> Row:
    row = replace(base, statistic=statistic, value=math.ceil(value) if math.isfinite(value) else value)
    return row.with_note("the variation of items or raters is not known") if math.isnan(value) else row
