"""Bias: how far answers are above ratings of the same items, for all raters, each group, and each part of the items.

Two questions are asked about each. Does the mean difference differ from 0? And is it larger than that of single
raters, each compared with the others? A judge that is like a randomly drawn rater is off by as much as raters are, so
only both together make a bias.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtr

from plurivox.base.wording import are, counted
from plurivox.domain.answer_columns import ANSWERED
from plurivox.domain.answers import Answers
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import orders
from plurivox.engine.pool import Running
from plurivox.infer.families import SIGNIFICANT, adjust, undecided
from plurivox.infer.grouping import Compared
from plurivox.infer.tables import typed
from plurivox.lenses.alignment.matching import ALL, AnsweredItems, Floats, Ints
from plurivox.lenses.alignment.sums import ShownGroup
from plurivox.lenses.estimate.measuring import PoweredEstimate
from plurivox.lenses.estimate.population import EstimatedItems, Mask, RatingEntries, population
from plurivox.lenses.judge.sums import LEAST_TESTED, Levels, left_out, mean_levels, weights_of

# Position bias --------------------------------------------------------------------------------------------------------
# Position bias: whether options are chosen for their position, beyond what orders and answers explain.

PLACES = typed("model prompt place n share expected")
DRAWS, MORE_DRAWS = 1_999, 19_999
"""How often orders are shuffled, and how often if the p-value is too close to .05."""
_MOST = 200_000_000  # the most positions that are looked up
_FEWEST = 199
LEAST_ORDERED = 20
"""With fewer items, nothing is said about positions."""


def position_bias(answers: Answers, v: int, seed: int) -> tuple[dict[str, Any], list[tuple[int, int, float, float]]]:
    """Test whether a voice chooses options for their position.

    If it does not, its answers to an item are the same in any order of the options. So orders are shuffled between
    items; which points it favours, and which orders there are, makes no difference.

    Returns
    -------
    dict, list
        Cells of the card: the value is half the sum over positions of the absolute difference between the observed and
        the expected share of answers, which is the share of answers that would have to move; ``marginal`` is what
        shuffled orders give on average, p that of χ². And for each position: its number, how many answers it has, and
        the share of all that it has and is expected to have, given the points chosen and the orders shown.
    """
    shown = _shown(answers, v)
    if isinstance(shown, str):
        return {"value": math.nan, "marginal": math.nan, "p_value": math.nan, "scored": 0, "note": shown}, []
    item, number, point, order, place = shown
    n_points, n_items, n_answers = len(answers.scale), len(order), len(item)

    def counts(items: Ints) -> Ints:
        """Return how many answers would be at each position if items had the orders of others."""
        return np.bincount(place[order[items[item], number], point], minlength=n_points)

    observed, expected = counts(np.arange(n_items)), np.zeros(n_points)
    for at in range(order.shape[1]):  # the mean over all ways to give items the orders of others
        chosen = np.bincount(point[number == at], minlength=n_points)
        times = np.bincount(order[:, at], minlength=len(place)) / n_items
        np.add.at(expected, place, times[:, np.newaxis] * chosen)
    safe = np.where(expected > 0, expected, 1.0)
    for fewest, most in ((_FEWEST, DRAWS), (DRAWS, MORE_DRAWS)):
        n = int(min(most, max(fewest, _MOST // n_answers)))
        draws = np.array([counts(items) for items in orders(n_items, n, seed)])
        far, others = (((one - expected) ** 2 / safe).sum(axis=-1) for one in (observed, draws))
        p = float((np.count_nonzero(others >= far * (1 - 1e-12)) + 1) / (n + 1))
        if n < DRAWS or not undecided(p, n):
            break
    value, chance = (float(np.mean(np.abs(one - expected).sum(axis=-1) / 2)) / n_answers for one in (observed, draws))
    each = enumerate(zip(observed.tolist(), expected.tolist(), strict=True), 1)
    rows = [(at, here, here / n_answers, mean / n_answers) for at, (here, mean) in each]
    return {"value": value, "marginal": chance, "p_value": p, "scored": n_items, "note": ""}, rows


def _shown(answers: Answers, v: int) -> tuple[Ints, Ints, Ints, Ints, Ints] | str:
    """Return what a voice was shown and chose, or why that says nothing about positions.

    For each answer, its item, its number within the item, and the point chosen; the order shown, items × numbers; and
    the position of each point in each order.
    """
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
    return item.astype(np.int64), number, answers.point[own].astype(np.int64), order, place


# Biases ---------------------------------------------------------------------------------------------------------------

BIASES = typed(
    "model prompt axis group subset value ci_low ci_high p_value p_adjusted p_beyond humans_low humans_high shifted "
    "biased n_raters n_items note"
)
USUAL = (0.05, 0.95)
"""The quantiles between which raters' own biases are shown."""
NOTHING = "no item has both a rating and an answer"
_Column = tuple[tuple[str, str, str], int, slice | NDArray[np.bool_]]
"""What a bias is about (axis, group, part of the items), the number of that part, and whose ratings these are."""


def own_levels(matched: AnsweredItems, codes: NDArray[np.int32], n_groups: int, n_subsets: int) -> Floats:
    """Return how far each rater is above the others of a group on the same items: columns × raters × [Σ, ratings].

    Columns are all items and each subset of them. Only items that any model answered count.
    """
    asked, values = np.diff(matched.rows) > 0, np.array(matched.ratings.scale.values, dtype=float)
    weights, size = weights_of(matched.ratings), len(codes)
    sums = np.zeros((1 + n_subsets, size, 2))
    for part in matched.ratings.parts():
        item, group = part.item_of_each(), codes[part.raters].astype(np.int64)
        kept = (group >= 0) & asked[part.items][item]
        cell, score = (item * n_groups + group)[kept], values[part.scores][kept]
        weight = weights[part.raters[kept]] if len(weights) else np.ones(len(cell))
        n, weighed, whole = (
            np.bincount(cell, one, minlength=part.n_items * n_groups) for one in (None, weight, weight * score)
        )
        met = n[cell] > 1
        above = score[met] - (whole[cell] - weight * score)[met] / (weighed[cell] - weight)[met]
        rater, subset = part.raters[kept][met].astype(np.int64), matched.subset[part.items][item[kept][met]]
        for at in range(1 + n_subsets):
            mine = slice(None) if at == 0 else subset == at - 1
            sums[at, :, 0] += np.bincount(rater[mine], above[mine], minlength=size)
            sums[at, :, 1] += np.bincount(rater[mine], minlength=size)
    return sums


def rater_biases(sums: Floats, values: Floats, weights: Floats) -> tuple[float, float, Floats, int]:
    """Return quantiles of raters' own biases, p of a further rater being as far off as each value, and their number.

    From raters × [Σ, ratings], by t with the spread of raters' means (a prediction interval). With weights, n of the
    prediction interval is the effective number of raters.
    """
    met = sums[:, 1] > 0
    own = sums[met, 0] / sums[met, 1]
    n = len(own)
    if n < 2:
        return np.nan, np.nan, np.full(values.shape, np.nan), n
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
    return float(low), float(high), np.where(np.isnan(values), np.nan, p), n


def weighted_quantiles(values: Floats, weights: Floats, wanted: Sequence[float]) -> Floats:
    """Return interpolated quantiles; those of numpy where all weights are equal.

    Neighbouring values are as far apart as the mean of their weights, with the lowest at 0 and the highest at 1.
    """
    order = np.argsort(values, kind="stable")
    steps = (weights[order][1:] + weights[order][:-1]) / 2
    places = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
    return np.asarray(np.interp(wanted, places, values[order]), dtype=float)


def bias_rows(matched: AnsweredItems, axes: Sequence[Compared], how: Running, resample: str) -> list[dict[str, Any]]:
    """Return a row for each voice: all raters and items, each part of the items, and each group that is shown."""
    parts: list[_Column] = [((ALL, ALL, name), at, slice(None)) for at, name in enumerate((ALL, *matched.subsets))]
    work = Levels.of(matched, None, 1, matched.subset, len(matched.subsets))
    found = list(_biases(matched, work, dict(enumerate(parts)), how, resample))
    for one in axes:
        for axis, shown in ShownGroup.shown(one):
            groups: dict[int, _Column] = {g.at: ((axis.name, g.name, ALL), 0, axis.codes == g.at) for g in shown}
            work = Levels.of(matched, axis.codes, len(axis), matched.subset, 0)
            found += _biases(matched, work, groups, how, resample)
    order = {voice: at for at, voice in enumerate(matched.voices)}
    return sorted(found, key=lambda row: order[row["model"], row["prompt"]])  # type: ignore[index]


def _biases(
    matched: AnsweredItems, work: Levels, columns: Mapping[int, _Column], how: Running, resample: str
) -> Iterator[dict[str, Any]]:
    """Yield the rows of some columns, by their positions among the values."""
    codes = np.zeros(max(matched.ratings.n_raters, 1), dtype=np.int32) if work.codes is None else work.codes
    groups = None if work.codes is None else (codes, work.n_groups)
    sums, left = left_out(matched, work, mean_levels, how, resample, groups)
    n_columns = left.observed.shape[1]
    interval = left.interval(["plain"] * n_columns, [(-np.inf, np.inf)] * n_columns)
    items = sums["levels"][0, ..., 1]
    p = np.where(items < LEAST_TESTED, np.nan, left.p_value())
    own, weights = np.zeros((1 + work.n_subsets, 0, 2)), work.weights
    if matched.ratings.has_raters:
        own = own_levels(matched, codes, work.n_groups, work.n_subsets)
    for at, ((axis, group, subset), part, members) in columns.items():
        mine = weights[members] if len(weights) else weights
        low, high, further, n_raters = rater_biases(own[part][members], left.observed[:, at], mine)
        for v, voice in enumerate(matched.voices):
            value, n_items = float(left.observed[v, at]), int(items[v, at])
            few = f"not tested: {LEAST_TESTED} items are needed" if n_items < LEAST_TESTED else ""
            yield {
                "model": voice.model, "prompt": voice.prompt, "axis": axis, "group": group, "subset": subset,
                "value": value, "ci_low": float(interval.low[v, at]), "ci_high": float(interval.high[v, at]),
                "p_value": float(p[v, at]), "p_further": float(further[v]), "humans_low": low, "humans_high": high,
                "n_raters": n_raters, "n_items": n_items, "note": NOTHING if np.isnan(value) else few,
            }  # fmt: skip


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

    def saved(self, v: int) -> dict[str, Any]:
        """Return how many further human ratings the answers of a voice are worth for the mean score.

        As cells of the card: with an interval over items, how many it rests on, and why it is undefined or assumed.
        Items that it refused or answered unreadably count with its mean answer, as estimates count them by default.
        """
        measured = self._measured(v, self.found.rated)
        n, n_further = len(measured.human), len(measured.further)
        value = low = high = math.nan
        if n < LEAST_ITEMS:
            why = f"{LEAST_ITEMS} items with a rating and an answer are needed; there {are(n)} {n}"
        elif not n_further and n > MOST_ITEMS:
            why = "it answered no unrated items"
        else:
            (value, low, high), why = _supposed(measured).worth()
            if not why and not n_further:
                why = f"if it also answered {TIMES} times as many unrated items (here it answered none)"
        return {"value": value, "ci_low": low, "ci_high": high, "scored": n, "note": why}

    def alike(self, v: int) -> float:
        """Return the same with all raters counted equally."""
        return _supposed(self._measured(v, self.found.rated.alike())).worth()[0].items

    def _measured(self, v: int, rated: RatingEntries) -> PoweredEstimate:
        spoken, n = self.found.spoken[v], self.found.n_items
        answers = spoken.numbers(self.numbers, n, keep_silent=True)[:, np.newaxis]
        every: Mask = np.ones(n, dtype=bool)
        return PoweredEstimate.of(rated, answers, spoken.answered(n), self.numbers, every, over_raters=self.over_raters)


def _supposed(found: PoweredEstimate) -> PoweredEstimate:
    """Return what was measured; without further items, as if a voice had answered many like the rated ones."""
    return found if len(found.further) else replace(found, further=np.tile(found.model, (TIMES, 1)))
