"""Position bias: whether options are chosen for their position, beyond what orders and answers explain."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.wording import counted
from plurivox.domain.answer_columns import ANSWERED
from plurivox.domain.answers import Answers
from plurivox.engine.draws import orders
from plurivox.infer.families import undecided

PLACES = {
    "model": pl.String, "prompt": pl.String, "place": pl.Int64, "n": pl.Int64, "share": pl.Float64,
    "expected": pl.Float64,
}  # fmt: skip
DRAWS, MORE_DRAWS = 1_999, 19_999
"""How often orders are shuffled, and how often if the p-value is too close to .05."""
_MOST = 200_000_000  # the most positions that are looked up
_FEWEST = 199
LEAST_ITEMS = 20
"""With fewer items, nothing is said about positions."""

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class PositionChoices(NamedTuple):
    """How a voice's choices depend on position.

    Attributes
    ----------
    value
        Half the sum over positions of the absolute difference between the observed and the expected share of answers:
        the share of answers that would have to move.
    chance
        What shuffled orders give on average.
    p
        The p-value of χ², with orders shuffled between items.
    n_draws, n_items, n_answers
        What it rests on.
    counts, expected
        Answers at each position, and how many are expected given the points chosen and the orders shown.
    why
        Why nothing can be said; empty otherwise.
    """

    value: float = math.nan
    chance: float = math.nan
    p: float = math.nan
    n_draws: int = 0
    n_items: int = 0
    n_answers: int = 0
    counts: tuple[int, ...] = ()
    expected: tuple[float, ...] = ()
    why: str = ""

    def rows(self, model: str, prompt: str) -> list[tuple[object, ...]]:
        """Return a row for each position."""
        return [
            (model, prompt, at + 1, n, n / self.n_answers, expected / self.n_answers)
            for at, (n, expected) in enumerate(zip(self.counts, self.expected, strict=True))
        ]


class _Shown(NamedTuple):
    """Answers of a voice: item and number of each, the point chosen, and the order shown, items × numbers."""

    item: Ints
    number: Ints
    point: Ints
    order: Ints
    place: Ints  # orders × points

    def counts(self, items: Ints, n_points: int) -> Ints:
        """Return how many answers would be at each position if items had the orders of others."""
        return np.bincount(self.place[self.order[items[self.item], self.number], self.point], minlength=n_points)

    def expected(self, n_points: int) -> Floats:
        """Return the mean of that over all ways to give items the orders of others."""
        found = np.zeros(n_points)
        for at in range(self.order.shape[1]):
            chosen = np.bincount(self.point[self.number == at], minlength=n_points)
            shown = np.bincount(self.order[:, at], minlength=len(self.place)) / len(self.order)
            np.add.at(found, self.place, shown[:, np.newaxis] * chosen)
        return found


def position_bias(answers: Answers, v: int, seed: int) -> PositionChoices:
    """Test whether a voice chooses options for their position.

    If it does not, its answers to an item are the same in any order of the options. So orders are shuffled between
    items; which points it favours, and which orders there are, makes no difference.
    """
    shown = _shown(answers, v)
    if isinstance(shown, str):
        return PositionChoices(why=shown)
    n_points, n_items = len(answers.scale), len(shown.order)
    observed, expected = shown.counts(np.arange(n_items), n_points), shown.expected(n_points)
    n_answers = len(shown.item)
    n = int(min(DRAWS, max(_FEWEST, _MOST // n_answers)))
    draws = _drawn(shown, n_points, n, seed)
    reached = _p(observed, expected, draws)
    if n == DRAWS and undecided(reached, n):
        n = int(min(MORE_DRAWS, max(DRAWS, _MOST // n_answers)))
        draws = _drawn(shown, n_points, n, seed)
        reached = _p(observed, expected, draws)
    value, chance = (float(np.mean(_moved(one, expected))) / n_answers for one in (observed, draws))
    return PositionChoices(
        value, chance, reached, n, n_items, n_answers, tuple(observed.tolist()), tuple(expected.tolist())
    )


def _shown(answers: Answers, v: int) -> _Shown | str:
    """Return what a voice was shown and chose, or why that says nothing about positions."""
    if answers.order is None or not answers.orders:
        return "the order of options is not known"
    known = sorted(answers.orders)  # rows number orders as they appear, and sums must not depend on that
    rank = {order: at for at, order in enumerate(known)}
    number_of = np.array([rank[order] for order in answers.orders])
    full = np.array([len(order) == len(answers.scale) for order in answers.orders])
    own = np.flatnonzero((answers.voice == v) & (answers.state == ANSWERED) & (answers.order >= 0))
    own = own[full[answers.order[own]]]
    if not len(own):
        return "the order of options is not known"
    if len(np.unique(answers.order[own])) < 2:
        return "options were always shown in the same order"
    items, item = np.unique(answers.item[own], return_inverse=True)
    if len(items) < LEAST_ITEMS:
        return f"orders are known for {counted(len(items), 'item')}, but {LEAST_ITEMS} are needed"
    first = np.searchsorted(item, np.arange(len(items)))  # answers are sorted by item
    number = np.arange(len(item)) - first[item]
    shown = number_of[answers.order[own]]
    order = np.repeat(shown[first][:, np.newaxis], int(number.max()) + 1, axis=1)
    order[item, number] = shown
    place = np.zeros((len(known), len(answers.scale)), dtype=np.int64)
    for at in np.unique(shown):
        place[at, list(known[at])] = np.arange(len(answers.scale))
    return _Shown(item.astype(np.int64), number, answers.point[own].astype(np.int64), order, place)


def _drawn(shown: _Shown, n_points: int, n: int, seed: int) -> Ints:
    return np.array([shown.counts(items, n_points) for items in orders(len(shown.order), n, seed)])


def _moved(counts: NDArray[np.int64], expected: Floats) -> Floats:
    return np.asarray(np.abs(counts - expected).sum(axis=-1) / 2)


def _p(observed: Ints, expected: Floats, draws: Ints) -> float:
    """Return how often χ² of shuffled orders reaches that of the actual orders."""
    safe = np.where(expected > 0, expected, 1.0)
    far, others = (((one - expected) ** 2 / safe).sum(axis=-1) for one in (observed, draws))
    return float((np.count_nonzero(others >= far * (1 - 1e-12)) + 1) / (len(draws) + 1))
