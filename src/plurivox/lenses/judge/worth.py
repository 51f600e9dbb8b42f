"""What a model's answers are worth in further human ratings, by prediction-powered inference of the mean score."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plurivox.answers import Answers
from plurivox.intake.answer_columns import ANSWERED
from plurivox.lenses.alignment.matching import AnsweredItems, Floats, Ints, distributions
from plurivox.results.wording import counted
from plurivox.statistics.ppi import rater_variance, worth

TIMES, MOST_ITEMS = 10, 20_000
"""Without unrated items: how many times as many further ones are supposed, with up to how many rated ones."""
LEAST_ITEMS = 10
"""With fewer items of both, nothing is said."""


class Saved(NamedTuple):
    """Further human ratings, with an interval over items; what it rests on, and why it is undefined or supposed."""

    value: float
    low: float
    high: float
    n_items: int
    n_further: int
    note: str


class Human(NamedTuple):
    """The human ratings: of each item their number and mean, and all of them by item and rater."""

    size: Ints
    mean: Floats
    items: Ints
    raters: Ints
    numbers: Floats

    @classmethod
    def of(cls, matched: AnsweredItems) -> Human:
        """Return those of rated items."""
        values = np.array(matched.scale.values, dtype=float)
        counts = matched.ratings.counts()
        size = counts.sum(axis=1)
        mean = np.divide(counts @ values, size, out=np.zeros(len(size)), where=size > 0)
        if not matched.ratings.has_raters:
            return cls(size, mean, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        parts = matched.ratings.parts()
        items = np.concatenate([part.item_of_each() + part.first for part in parts])
        raters, scores = (np.concatenate([getattr(part, name) for part in parts]) for name in ("raters", "scores"))
        return cls(size, mean, items, raters.astype(np.int64), values[scores])

    def variance_over_raters(self, items: Ints) -> float:
        """Return what other raters would add to the variance of the mean over some items; 0 where nobody knows."""
        inside = np.isin(self.items, items)
        found = rater_variance(self.items[inside], self.raters[inside], self.numbers[inside]).variance
        return 0.0 if np.isnan(found) else float(found)


def ratings_saved(matched: AnsweredItems, answers: Answers, v: int, rated: Human) -> Saved:
    """Return how many further human ratings the answers of a voice are worth for the mean score."""
    values = np.array(matched.scale.values, dtype=float)
    items, shares, _ = distributions(matched, v)
    kept = rated.size[items] > 0
    items, f = items[kept], (shares @ values)[kept]
    if len(items) < LEAST_ITEMS:
        nothing = f"{counted(len(items), 'item')} with a rating and an answer, and {LEAST_ITEMS} are needed"
        return Saved(np.nan, np.nan, np.nan, len(items), 0, nothing)
    further = _further(matched, answers, v, values)
    note = ""
    if not len(further) and len(items) > MOST_ITEMS:
        return Saved(np.nan, np.nan, np.nan, len(items), 0, "it answered no items that nobody rated")
    if not len(further):
        note = f"if it also answered {TIMES} times as many items that nobody rated; here there are none"
    found = worth(
        rated.mean[items], f, further if len(further) else np.tile(f, TIMES), rated.variance_over_raters(items)
    )
    per_item = float(rated.size[items].mean())
    value, low, high = (one * per_item for one in found)
    return Saved(
        value, low, high, len(items), len(further), note or ("" if np.isfinite(found.items) else "ratings do not vary")
    )


def _further(matched: AnsweredItems, answers: Answers, v: int, values: Floats) -> Floats:
    """Return the mean answer of a voice to each item that nobody rated."""
    known = matched.ratings.items["item"].gather(np.flatnonzero(np.diff(matched.ratings.offsets) > 0))
    unrated = ~answers.items.is_in(known.cast(answers.items.dtype).implode()).to_numpy()
    own = (answers.voice == v) & (answers.state == ANSWERED) & unrated[answers.item]
    _, at, n = np.unique(answers.item[own], return_inverse=True, return_counts=True)
    return np.asarray(np.bincount(at, values[answers.point[own]], minlength=len(n)) / n)
