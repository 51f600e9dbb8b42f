"""Tests of whether the comparison of two models depends on the number of ratings, the items, or whose ratings count.

**Bins.** For two models and a bin, the difference of their scores in the bin is compared with that in all other bins,
in its own standard errors (Welch's t). Items are assigned to bins at random; with its own standard errors, the test is
also valid where items of some bins vary more (Chung & Romano 2013, Annals of Statistics 41, 484–507). Parts of the
items by an attribute are tested in the same way.

**Groups.** Only scores that are means over an item's ratings, CE and RPS, can be compared between groups of different
size.
With δ = score of one model − score of the other for a single rating, and δ̄_i its mean over all ratings of item i by
raters of the axis, a group's sum of δ − δ̄_i over its ratings is::

    Σ_i n_gi n_ri / (n_gi + n_ri) · (mean δ of the group − mean δ of the rest)

so items are compared with themselves. Raters, each with the sum over their own ratings, are shuffled between groups:
raters have habits, so flipping the signs of items would mistake a few raters' leniency for a view of their group.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.domain.axis import names_raters
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws, orders
from plurivox.infer.grouping import Compared, Grouping
from plurivox.lenses.soft.matching import Floats
from plurivox.lenses.soft.sums import MetricSums, ScoringTarget
from plurivox.lenses.soft.testing import Drawn
from plurivox.statistics.soft_blocks import Scoring

FEWEST = 5
"""The fewest items that a bin and all others must have to be compared."""
MOST_MODELS = 10
"""Of more models, only this many are compared in pairs, best first; that order does not depend on bins or groups."""
BY_RATING = {"rps": "rps", "cross_entropy": "cross_entropy", "kl": "cross_entropy"}
"""Metrics whose differences are means over single ratings, and what these are scored by."""
BINS, GROUPS, PARTS = "ratings of an item", "group", "items"

INTERACTIONS = {
    "kind": pl.String, "axis": pl.String, "group": pl.String, "statistic": pl.String, "model": pl.String,
    "other": pl.String, "difference": pl.Float64, "elsewhere": pl.Float64, "p_value": pl.Float64,
    "p_adjusted": pl.Float64, "n_items": pl.Int64, "n_permutations": pl.Int64, "claim": pl.Boolean,
}  # fmt: skip


class Interaction(NamedTuple):
    """Two models, by name, in a bin or for a group: their difference there and elsewhere, and the number of items."""

    kind: str
    axis: str
    group: str
    model: str
    other: str
    difference: float
    elsewhere: float
    n_items: int


class Tests(NamedTuple):
    """What is tested, and how null values are made."""

    rows: list[Interaction]
    block: Drawn


Two = tuple[NDArray[np.intp], NDArray[np.intp]]


def two_by_two(models: Sequence[str], order: Sequence[str]) -> Two:
    """Return the positions of every two of the first models, in the order in which they are listed."""
    chosen = [at for at, name in enumerate(models) if name in order[:MOST_MODELS]]
    one, other = np.triu_indices(len(chosen), 1)
    return np.array(chosen, dtype=np.intp)[one], np.array(chosen, dtype=np.intp)[other]


# Bins ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class InOtherBins:
    """Welch's t of each bin against all others, for differences of pairs by unit, sorted by bin.

    ``sizes`` are the units of each bin, ``chosen`` the bins that are tested.
    """

    differences: Floats
    sizes: NDArray[np.int64]
    chosen: NDArray[np.intp]
    seed: int

    def __call__(self, first: int, last: int) -> Floats:
        """Return draws × tested bins × pairs, as draws × hypotheses; draw 0 is as observed."""
        n = len(self.differences)
        made = [self.t(order) for order in orders(n, last - first, self.seed, first)]
        return np.array(made).reshape(last - first, -1)

    def t(self, order: NDArray[np.int64] | None = None) -> Floats:
        """Return t of each tested bin and pair, with units in another order."""
        own = self.differences if order is None else self.differences[order]
        starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        sums, squares = (np.add.reduceat(values, starts, axis=0) for values in (own, own**2))
        n, total = self.sizes[self.chosen, np.newaxis], len(own)
        mean, variance = _moments(n, sums[self.chosen], squares[self.chosen])
        rest = _moments(total - n, sums.sum(axis=0) - sums[self.chosen], squares.sum(axis=0) - squares[self.chosen])
        spread = np.sqrt(variance / n + rest[1] / (total - n))
        known = spread > 1e-12 * np.abs(own).max(axis=0, initial=0.0)
        return np.asarray(np.divide(mean - rest[0], spread, out=np.full(mean.shape, np.nan), where=known)).ravel()


def _moments(n: NDArray[np.int64], sums: Floats, squares: Floats) -> tuple[Floats, Floats]:
    mean = sums / n
    return mean, np.maximum(squares - n * mean**2, 0.0) / (n - 1)


def over_bins(
    scores: MetricSums, target: ScoringTarget, pairs: Two, seed: int, kind: str = BINS, axis: str = "all"
) -> Tests | None:
    """Prepare the tests of how pairs of models compare in each bin, by ratings or by another attribute of items.

    None if there are not two bins to compare.
    """
    names, starts = list(target.predictions), scores.sums.starts
    inside = [np.flatnonzero(scores.n_items[a:b] > 0) + a for a, b in itertools.pairwise(starts[:-1])]
    kept = [b for b, units in enumerate(inside) if len(units)]
    if len(kept) < 2 or not len(pairs[0]):
        return None
    sizes = np.array([len(inside[b]) for b in kept])
    chosen = np.flatnonzero((sizes >= FEWEST) & (sizes.sum() - sizes >= FEWEST))[: 1 if len(kept) == 2 else None]
    units = np.concatenate([inside[b] for b in kept])
    endless = scores.endless[units].any(axis=0)
    usable = ~(endless[pairs[0]] | endless[pairs[1]])
    one, other = pairs[0][usable], pairs[1][usable]
    if not len(chosen) or not len(one):
        return None
    items = scores.n_items[units, np.newaxis]
    values = scores.sums.by_unit[units] / items
    work = InOtherBins(_centred(values[:, one] - values[:, other]), sizes, chosen, seed)
    ends = np.cumsum(sizes)
    rows = []
    for at in chosen.tolist():
        here = np.arange(ends[at] - sizes[at], ends[at])
        rest = np.setdiff1d(np.arange(len(units)), here)
        means = [(scores.sums.by_unit[units[some]].sum(axis=0) / items[some].sum()) for some in (here, rest)]
        rows += [
            Interaction(kind, axis, target.bins[kept[at]], names[a], names[b], float(means[0][a] - means[0][b]),
                        float(means[1][a] - means[1][b]), int(items[here].sum()))
            for a, b in zip(one.tolist(), other.tolist(), strict=True)
        ]  # fmt: skip
    size = work.differences.size
    return Tests(rows, Drawn(work.t(), work, cost=1e-5 + size * 2e-8, width=2 * size))


def _centred(differences: Floats) -> Floats:
    """Return differences around their mean, 0 where they are only rounding error."""
    found = differences - differences.mean(axis=0)
    return np.where(np.abs(found) <= 1e-14, 0.0, found)


# Groups --------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class InOtherGroups:
    """Sums over the raters of each tested group of what they add, for every pair of models, under shuffles."""

    grouping: Grouping
    listed: list[int]
    by_rater: Floats
    pairs: Two
    seed: int

    def __call__(self, first: int, last: int) -> Floats:
        """Return draws × groups × pairs, as draws × hypotheses."""
        labels = self.grouping.labels(Draws("permuted", first, last, self.seed))
        own = self.by_rater[:, self.pairs[0]] - self.by_rater[:, self.pairs[1]]
        made = [np.einsum("dr,rp->dp", (labels == g).astype(float), own) for g in self.listed]  # not by BLAS
        return np.stack(made, axis=1).reshape(last - first, -1)


class ScoredVotes(NamedTuple):
    """Ratings of scored items: their item, counted from the first scored, their rater, and models' scores of each."""

    item: NDArray[np.int64]
    rater: NDArray[np.int64]
    scores: Floats

    @classmethod
    def of(cls, ratings: Ratings, target: ScoringTarget, models: Sequence[str], scoring: Scoring) -> ScoredVotes:
        """Score every single rating by every model."""
        place = np.full(ratings.n_items, -1)
        place[target.items] = np.arange(len(target.items))
        item, score = place[ratings.item_codes], ratings.scores.astype(np.int64)
        inside = item >= 0
        eye = np.eye(target.counts.shape[1], dtype=np.int64)
        n = len(target.items)
        votes = [np.broadcast_to(one, (n, len(eye))) for one in eye]
        given = [np.stack([scoring.scores(one, target.predictions[name])[:, 0] for one in votes]) for name in models]
        found = np.stack([table[score[inside], item[inside]] for table in given], axis=1)
        return cls(item[inside], ratings.codes_of_raters[inside].astype(np.int64), found)


def over_groups(
    ratings: Ratings, votes: ScoredVotes, models: Sequence[str], pairs: Two, axes: Sequence[Compared],
    strata: NDArray[np.int32] | None, seed: int,
) -> Iterator[Tests]:  # fmt: skip
    """Yield the tests of how pairs of models compare for the groups of each axis whose raters can be exchanged."""
    usable = np.atleast_1d(np.isfinite(votes.scores).all(axis=0))
    chosen = usable[pairs[0]] & usable[pairs[1]]
    own = (pairs[0][chosen], pairs[1][chosen])
    if not len(own[0]):
        return
    for one in axes:
        for axis, shown in one.shown if not names_raters(one.axis.name) else ():
            grouping = Grouping.of(ratings, axis.codes, len(axis), strata)
            able = grouping.exchangeable
            listed = [g for g in shown if able[g]]
            if len(axis) == 2 and not one.overlapping:
                listed = listed[:1]  # the second only mirrors the first
            if listed:
                yield _of_axis(votes, models, own, grouping, listed, axis.groups, one.axis.name, seed)


def _of_axis(
    votes: ScoredVotes, models: Sequence[str], pairs: Two, grouping: Grouping, listed: list[int], groups: Sequence[str],
    name: str, seed: int,
) -> Tests:  # fmt: skip
    """Prepare the tests of one axis."""
    group = grouping.codes[votes.rater]
    known = group >= 0
    item, rater, scores, group = votes.item[known], votes.rater[known], votes.scores[known], group[known]
    n_items, n_raters = int(votes.item.max(initial=0)) + 1, len(grouping.codes)
    n = np.maximum(np.bincount(item, minlength=n_items), 1)
    totals = _summed(item, scores, n_items)
    by_rater = _summed(rater, scores - (totals / n[:, np.newaxis])[item], n_raters)
    work = InOtherGroups(grouping, listed, by_rater, pairs, seed)
    rows = []
    for g in listed:
        mine = group == g
        count = np.bincount(item[mine], minlength=n_items)
        both = (count > 0) & (count < n)
        weight = (count * (n - count) / n)[both, np.newaxis]
        own = _summed(item[mine], scores[mine], n_items)
        means = [
            (weight * sums[both] / number[both, np.newaxis]).sum(axis=0) / max(float(weight.sum()), 1e-300)
            for sums, number in ((own, count), (totals - own, n - count))
        ]
        rows += [
            Interaction(GROUPS, name, groups[g], models[a], models[b], float(means[0][a] - means[0][b]),
                        float(means[1][a] - means[1][b]), int(np.count_nonzero(both)))
            for a, b in zip(*(side.tolist() for side in pairs), strict=True)
        ]  # fmt: skip
    observed = work(0, 1)[0]
    size = n_raters * len(pairs[0]) * len(listed)
    return Tests(rows, Drawn(observed, work, cost=1e-6 + size * 3e-9, width=n_raters * (len(listed) + 1) + size))


def _summed(place: NDArray[np.int64], values: Floats, n: int) -> Floats:
    """Return the sum of values for each position, positions × columns."""
    return np.stack([np.bincount(place, column, n) for column in values.T], axis=1).astype(np.float64)
