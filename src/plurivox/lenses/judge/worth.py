"""What a model's answers are worth in further human ratings, as estimate computes it for the mean score."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from plurivox.base.wording import are
from plurivox.domain.answers import Answers
from plurivox.domain.ratings import Ratings
from plurivox.lenses.estimate.measuring import PoweredEstimate
from plurivox.lenses.estimate.population import EstimatedItems, Floats, Mask, RatingEntries, population

TIMES, MOST_ITEMS = 10, 20_000
"""Without unrated items: how many times as many further items are assumed, for up to how many rated ones."""
LEAST_ITEMS = 10
"""With fewer items of both, nothing is said."""


class Saved(NamedTuple):
    """Further human ratings, with an interval over items; what it rests on, and why it is undefined or assumed."""

    value: float
    low: float
    high: float
    n_items: int
    note: str


@dataclass(frozen=True, slots=True, eq=False)
class Saving:
    """Ratings with answers to rated and further items, as an estimate of the mean score uses them."""

    found: EstimatedItems
    numbers: Floats
    over_raters: bool

    @classmethod
    def of(cls, ratings: Ratings, answers: Answers, resample: str) -> Saving:
        """Combine the items of both; variation between raters counts where intervals are over raters."""
        numbers = np.array(ratings.scale.values, dtype=float)
        return cls(population(ratings, answers, None), numbers, ratings.has_raters and resample != "items")

    def saved(self, v: int) -> Saved:
        """Return how many further human ratings the answers of a voice are worth for the mean score.

        Items that it refused or answered unreadably count with its mean answer, as estimates count them by default.
        """
        measured = self._measured(v, self.found.rated)
        n, n_further = len(measured.human), len(measured.further)
        if n < LEAST_ITEMS:
            return _nothing(n, f"{LEAST_ITEMS} items with a rating and an answer are needed; there {are(n)} {n}")
        if not n_further and n > MOST_ITEMS:
            return _nothing(n, "it answered no unrated items")
        (value, low, high), why = _supposed(measured).worth()
        if not why and not n_further:
            why = f"if it also answered {TIMES} times as many unrated items (here it answered none)"
        return Saved(value, low, high, n, why)

    def alike(self, v: int) -> float:
        """Return the same with all raters counted equally."""
        return _supposed(self._measured(v, self.found.rated.alike())).worth()[0].items

    def _measured(self, v: int, rated: RatingEntries) -> PoweredEstimate:
        spoken, n = self.found.spoken[v], self.found.n_items
        answers = spoken.numbers(self.numbers, n, keep_silent=True)[:, np.newaxis]
        every: Mask = np.ones(n, dtype=bool)
        return PoweredEstimate.of(rated, answers, spoken.answered(n), self.numbers, every, over_raters=self.over_raters)


def _nothing(n_items: int, why: str) -> Saved:
    return Saved(np.nan, np.nan, np.nan, n_items, why)


def _supposed(found: PoweredEstimate) -> PoweredEstimate:
    """Return what was measured; without further items, as if a voice had answered many like the rated ones."""
    return found if len(found.further) else replace(found, further=np.tile(found.model, (TIMES, 1)))
