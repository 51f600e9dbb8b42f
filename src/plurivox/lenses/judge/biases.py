"""Bias: how far answers are above ratings of the same items, for all raters, each group, and each part of the items.

Two questions are asked about each. Does the mean difference differ from 0? And is it larger than that of single
raters, each compared with the others? A judge that is like a randomly drawn rater is off by as much as raters are, so
only both together make a bias.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtr

from plurivox.base.wording import are, counted
from plurivox.domain.answer_columns import ANSWERED
from plurivox.domain.answers import Answers
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws, orders
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, total
from plurivox.infer.families import SIGNIFICANT, adjust, undecided
from plurivox.infer.grouping import Compared
from plurivox.infer.jackknife import number_of_blocks
from plurivox.lenses.alignment.matching import ALL, AnsweredItems, Floats, Ints
from plurivox.lenses.alignment.sums import ShownGroup
from plurivox.lenses.estimate.measuring import PoweredEstimate
from plurivox.lenses.estimate.population import EstimatedItems, Mask, RatingEntries, population
from plurivox.lenses.judge.sums import LEAST_TESTED, AnswersByItem, Levels, left_out, mean_levels, weights_of

# Position bias --------------------------------------------------------------------------------------------------------
# Position bias: whether options are chosen for their position, beyond what orders and answers explain.

PLACES = {
    "model": pl.String, "prompt": pl.String, "place": pl.Int64, "n": pl.Int64, "share": pl.Float64,
    "expected": pl.Float64,
}  # fmt: skip
DRAWS, MORE_DRAWS = 1_999, 19_999
"""How often orders are shuffled, and how often if the p-value is too close to .05."""
_MOST = 200_000_000  # the most positions that are looked up
_FEWEST = 199
LEAST_ORDERED = 20
"""With fewer items, nothing is said about positions."""


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
    if len(items) < LEAST_ORDERED:
        return f"orders are known for {counted(len(items), 'item')}, but {LEAST_ORDERED} are needed"
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


# Biases ---------------------------------------------------------------------------------------------------------------

BIASES = {
    "model": pl.String, "prompt": pl.String, "axis": pl.String, "group": pl.String, "subset": pl.String,
    "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64,
    "p_beyond": pl.Float64, "humans_low": pl.Float64, "humans_high": pl.Float64, "shifted": pl.Boolean,
    "biased": pl.Boolean, "n_raters": pl.Int64, "n_items": pl.Int64, "note": pl.String,
}  # fmt: skip
USUAL = (0.05, 0.95)
"""The quantiles between which raters' own biases are shown."""
NOTHING = "no item has both a rating and an answer"


@dataclass(frozen=True, slots=True, eq=False)
class OwnLevels:
    """How far each rater is above the others of the same group on the same items: columns × raters × [Σ, ratings].

    Columns are all items and each subset of them. Only items that any model answered count.
    """

    asked: NDArray[np.bool_]
    values: Floats
    codes: NDArray[np.int32]
    n_groups: int
    subset: Ints
    n_subsets: int
    weights: Floats

    @property
    def cost(self) -> float:
        """Roughly how many seconds it takes."""
        return 1e-3

    @property
    def width(self) -> int:
        """How many numbers it holds."""
        return len(self.codes) * (1 + self.n_subsets) * 2

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part."""
        item, group = part.item_of_each(), self.codes[part.raters].astype(np.int64)
        kept = (group >= 0) & self.asked[part.items][item]
        cell, score = (item * self.n_groups + group)[kept], self.values[part.scores][kept]
        weight = self.weights[part.raters[kept]] if len(self.weights) else np.ones(len(cell))
        n, weighed, whole = (
            np.bincount(cell, one, minlength=part.n_items * self.n_groups) for one in (None, weight, weight * score)
        )
        met = n[cell] > 1
        above = score[met] - (whole[cell] - weight * score)[met] / (weighed[cell] - weight)[met]
        rater, subset = part.raters[kept][met].astype(np.int64), self.subset[part.items][item[kept][met]]
        size = len(self.codes)
        sums = np.zeros((1 + self.n_subsets, size, 2))
        for at in range(1 + self.n_subsets):
            own = slice(None) if at == 0 else subset == at - 1
            sums[at, :, 0] = np.bincount(rater[own], above[own], minlength=size)
            sums[at, :, 1] = np.bincount(rater[own], minlength=size)
        return Sums(own=sums[np.newaxis])


class RaterBiases(NamedTuple):
    """Raters' own biases: quantiles, and the p-value of a further rater being as far off as a value."""

    low: float
    high: float
    p: Floats
    n_raters: int

    @classmethod
    def of(cls, sums: Floats, values: Floats, weights: Floats) -> RaterBiases:
        """Compare values with raters × [Σ, ratings], by t with the spread of raters' means (a prediction interval).

        With weights, n of the prediction interval is the effective number of raters.
        """
        met = sums[:, 1] > 0
        own = sums[met, 0] / sums[met, 1]
        n = len(own)
        if n < 2:
            return cls(np.nan, np.nan, np.full(values.shape, np.nan), n)
        if len(weights):
            weights = weights[met]
            low, high = weighted_quantiles(own, weights, USUAL)
            size = float(weights.sum() ** 2 / (weights**2).sum())
            mean = float(np.average(own, weights=weights))
            deviation = float(np.sqrt(np.average((own - mean) ** 2, weights=weights) * size / (size - 1)))
        else:
            (low, high), size, mean, deviation = np.quantile(own, USUAL), n, own.mean(), own.std(ddof=1)
        spread, far = deviation * np.sqrt(1 + 1 / size), np.abs(values - mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.where(spread > 0, 2 * stdtr(size - 1, -far / spread), np.where(far > 0, 0.0, 1.0))
        return cls(float(low), float(high), np.where(np.isnan(values), np.nan, p), n)


def weighted_quantiles(values: Floats, weights: Floats, wanted: Sequence[float]) -> Floats:
    """Return interpolated quantiles; those of numpy where all weights are equal.

    Neighbouring values are as far apart as the mean of their weights, with the lowest at 0 and the highest at 1.
    """
    order = np.argsort(values, kind="stable")
    steps = (weights[order][1:] + weights[order][:-1]) / 2
    places = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
    return np.asarray(np.interp(wanted, places, values[order]), dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class Biases:
    """One call: what its means share."""

    matched: AnsweredItems
    how: Running
    resample: str

    def rows(self, axes: Sequence[Compared]) -> list[dict[str, Any]]:
        """Return a row for each voice: all raters and items, each part of the items, and each group that is shown."""
        matched = self.matched
        everybody = np.zeros(max(matched.ratings.n_raters, 1), dtype=np.int32)
        parts = [(ALL, ALL, ALL), *((ALL, ALL, name) for name in matched.subsets)]
        columns = [(at, key, at) for at, key in enumerate(parts)]
        found = list(self._of(None, everybody, 1, columns))
        for one in axes:
            for axis, shown in ShownGroup.shown(one):
                groups = [(group.at, (axis.name, group.name, ALL), 0) for group in shown]
                found += self._of(axis.codes, axis.codes, len(axis), groups)
        order = {voice: at for at, voice in enumerate(matched.voices)}
        return sorted(found, key=lambda row: order[row["model"], row["prompt"]])  # type: ignore[index]

    def _of(
        self, codes: NDArray[np.int32] | None, own: NDArray[np.int32], n_groups: int,
        columns: Sequence[tuple[int, tuple[str, str, str], int]],
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Yield the rows of some columns: the position of each, what it is about, and its part of the items."""
        matched, ratings = self.matched, self.matched.ratings
        n_subsets = 0 if codes is not None else len(matched.subsets)
        values = np.array(ratings.scale.values, dtype=float)
        blocks, n_raters = number_of_blocks(ratings.parts()), ratings.n_raters if ratings.has_raters else 0
        weights = weights_of(ratings)
        work = Levels(
            AnswersByItem.of(matched),
            values,
            n_raters,
            blocks,
            codes,
            n_groups,
            matched.subset,
            n_subsets,
            weights=weights,
        )
        groups = None if codes is None else (codes, n_groups)
        sums, left = left_out(matched, work, mean_levels, self.how, self.resample, groups)
        n_columns = left.observed.shape[1]
        interval = left.interval(["plain"] * n_columns, [(-np.inf, np.inf)] * n_columns)
        items = sums["levels"][0, ..., 1]
        p = np.where(items < LEAST_TESTED, np.nan, left.p_value())
        spread = self._own(own, n_groups, n_subsets, values)
        for at, (axis, group, subset), part in columns:
            inside = np.ones(len(own), dtype=bool) if codes is None else own == at
            own_sums = spread[part][inside] if spread is not None else np.zeros((0, 2))
            beside = RaterBiases.of(own_sums, left.observed[:, at], weights[inside] if len(weights) else weights)
            for v, voice in enumerate(matched.voices):
                value = float(left.observed[v, at])
                yield {
                    "model": voice.model, "prompt": voice.prompt, "axis": axis, "group": group, "subset": subset,
                    "value": value, "ci_low": float(interval.low[v, at]), "ci_high": float(interval.high[v, at]),
                    "p_value": float(p[v, at]), "p_further": float(beside.p[v]), "humans_low": beside.low,
                    "humans_high": beside.high, "n_raters": beside.n_raters,
                    "n_items": int(items[v, at]), "note": _note(value, int(items[v, at])),
                }  # fmt: skip

    def _own(self, codes: NDArray[np.int32], n_groups: int, n_subsets: int, values: Floats) -> Floats | None:
        """Return how each rater compares with the others, columns × raters × [Σ, ratings]; None without raters."""
        matched = self.matched
        if not matched.ratings.has_raters:
            return None
        asked = np.diff(matched.rows) > 0
        weights = weights_of(matched.ratings)
        work = OwnLevels(asked, values, codes, n_groups, matched.subset, n_subsets, weights)
        own: Floats = total(matched.ratings.parts(), work)["own"][0]
        return own


def _note(value: float, n_items: int) -> str:
    if np.isnan(value):
        return NOTHING
    return f"not tested: {LEAST_TESTED} items are needed" if n_items < LEAST_TESTED else ""


def corrected(rows: Sequence[dict[str, Any]], others: Sequence[float]) -> tuple[pl.DataFrame, Floats]:
    """Correct p of all biases together with other p-values of the same family, by Holm's method.

    ``p_adjusted`` is for a mean difference, ``p_beyond`` for one that is also larger than raters'. Also return the
    corrected others.
    """
    plain = np.array([row["p_value"] for row in rows])
    further = np.array([row.pop("p_further") for row in rows])
    beyond = np.where(np.isnan(further), np.where(np.isnan(plain), np.nan, 1.0), np.maximum(plain, further))
    family = np.asarray(others, dtype=float)
    shifted, far = (adjust(np.concatenate([one, family]), "holm") for one in (plain, beyond))
    frame = pl.DataFrame(
        [
            tuple({**row, "p_adjusted": s, "p_beyond": b, "shifted": s < SIGNIFICANT, "biased": b < SIGNIFICANT}[name]
                  for name in BIASES)
            for row, s, b in zip(rows, shifted[: len(rows)].tolist(), far[: len(rows)].tolist(), strict=True)
        ],
        schema=BIASES, orient="row",
    )  # fmt: skip
    names = ("ci_low", "ci_high", "p_value", "p_adjusted", "p_beyond", "humans_low", "humans_high")
    return frame.with_columns(pl.col(*names).fill_nan(None)), shifted[len(rows) :]


# What a model's answers are worth in further human ratings, as estimate computes it for the mean score ----------------

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
