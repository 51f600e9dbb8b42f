"""Which items divide groups: every item × group against its rest, tested against the largest difference of all.

A candidate is an item and a shown group of an axis, with two ratings or more in the group and in its rest. With n
ratings of the item on the axis, n_g of them in the group and n_r in the rest, and D the difference of their means::

    z = D / (s · √(1/n_g + 1/n_r))        s² = (Σ(x − x̄)² + 10 · s²_pooled) / (n − 1 + 10)

s² is the item's variance over all raters of the axis, which shuffling them does not change, stabilised as if ten more
ratings had the variance within items of the axis, so that a few equal ratings are not taken for certainty. Whole
profiles are shuffled, the same shuffle for all items, and every |z| is compared with the largest |z| of each shuffle.
A maximum over items is not a sum over them; it runs on the same pool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis, names_raters
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running, as_made, at_once, batched
from plurivox.infer.grouping import Compared, Grouping, exchangeable
from plurivox.infer.permutation import compare

STEADY = 10.0
"""How many ratings with the pooled variance stabilise an item's own."""
FEWEST = 2
"""The fewest ratings on either side for a difference to be a candidate."""
TOLERANCE = 1e-10
"""Squares closer than this times max(1, z²) are ties: equal sums may differ in their last bits."""
CELLS = 1 << 21
"""The most items × groups held in memory at once."""
_COST = 2e-9  # seconds that a rating takes in a shuffle, roughly
_BATCH = 0.2  # seconds that a batch should take

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class AxisCandidates:
    """The candidates of an axis.

    Attributes
    ----------
    axis, listed
        The axis, and which of its groups are compared with their rest: only one of two, since the other says the same.
    mirrored
        Whether the rest of the listed group is a group of its own.
    grouping
        Who is shuffled with whom.
    n, total, squares, variance
        For each item, over the raters of the axis: the number of ratings, Σx, Σ(x − mean)², and s². Scores x are
        counted from the first value of the scale.
    pooled
        The pooled variance within items.
    group, n_group, total_group
        For each item, the group with the largest z, -1 without a candidate; how many ratings it gave, and their sum.
    n_candidates
        How many items × groups there are to choose from.
    """

    axis: Axis
    listed: Bools
    mirrored: bool
    grouping: Grouping
    n: Ints
    total: Floats
    squares: Floats
    variance: Floats
    pooled: float
    group: NDArray[np.int32]
    n_group: Ints
    total_group: Floats
    n_candidates: int = 0

    @property
    def mean(self) -> Floats:
        """The mean of each item, 0 without a rating."""
        return self.total / np.maximum(self.n, 1)

    @property
    def shift(self) -> Floats:
        """By how much the sum of the group exceeds that of as many ratings with the item's mean."""
        return self.total_group - self.n_group * self.mean

    @property
    def signed(self) -> Floats:
        """z² of the group with the largest, with the sign of z; 0 without a candidate."""
        shift = self.shift
        with np.errstate(divide="ignore", invalid="ignore"):
            q = shift * np.abs(shift) * self.n / (self.n_group * (self.n - self.n_group)) / self.variance
        return np.where(self.group >= 0, q, 0.0)


class Null(NamedTuple):
    """What shuffles give."""

    largest: Floats
    """The largest absolute z of each draw."""
    ranks: list[NDArray[np.int32]]
    """For each side, items × (at most, at least, defined): where the z shown lies among its draws."""
    sums: list[Floats]
    """For each side, draws × groups × sums by which its differences are shrunken."""


@dataclass(frozen=True, slots=True, eq=False)
class DividingCandidates:
    """All candidates of a call, and what shuffles give; ``unmoved`` names axes whose groups cannot be shuffled."""

    sides: tuple[AxisCandidates, ...]
    null: Null
    observed: list[Floats]
    n_comparisons: int
    unmoved: tuple[str, ...] = ()

    @property
    def draws(self) -> int:
        """How many shuffles there were."""
        return len(self.null.largest)

    def further(self, ratings: Ratings, draws: Draws, how: Running) -> DividingCandidates:
        """Return the same with more shuffles."""
        null, more = self.null, _shuffled(ratings, self.sides, draws, how)
        if len(null.largest):
            more = Null(
                np.concatenate([null.largest, more.largest]),
                [one + other for one, other in zip(null.ranks, more.ranks, strict=True)],
                [np.concatenate(both) for both in zip(null.sums, more.sums, strict=True)],
            )
        return replace(self, null=more)

    def p_adjusted(self, z: Floats, p: Floats) -> Floats:
        """Return (#{largest |z*| ≥ |z|} + 1)/(N + 1), not less than p alone; NaN where z is, and without shuffles."""
        if not self.draws:
            return np.full(z.shape, np.nan)
        below = np.searchsorted(np.sort(self.null.largest), np.abs(z) * (1 - TOLERANCE), side="left")
        return np.where(np.isnan(z), np.nan, np.fmax(p, (self.draws - below + 1) / (self.draws + 1)))

    def of_item(self, ratings: Ratings, place: int, draws: Draws, how: Running) -> dict[tuple[str, str], float]:
        """Return p_adjusted of one item for each of its candidates, by axis and group."""
        found, part, values = {}, ratings.of_items(place, place + 1), _from_first(ratings)
        for side in self.sides:
            z = z_of(side, place, *cells_of(ratings, side, place, place + 1, values))[0]
            null = np.zeros((0, len(z)))
            if self.draws:
                inside = side.axis.codes[part.raters] >= 0
                work = partial(_of_one_item, side, place, part.raters[inside], values[part.scores[inside]], draws)
                width = len(side.grouping.codes) + len(side.axis)
                null = np.concatenate(batched(work, draws.total, how, cost=width * 1e-8, width=width))
            adjusted = self.p_adjusted(z, compare(z, null).p_value).tolist()
            if side.mirrored:
                adjusted[1] = adjusted[0]
            found.update({(side.axis.name, name): p for name, p in zip(side.axis.groups, adjusted, strict=True)})
        return {key: p for key, p in found.items() if not np.isnan(p)}


NOTHING = DividingCandidates((), Null(np.zeros(0), [], []), [], 0)
"""Without groups, nothing is compared."""


def family(
    ratings: Ratings, axes: Sequence[Compared], strata: NDArray[np.int32] | None, draws: Draws, how: Running
) -> DividingCandidates:
    """Return all candidates of some axes with what shuffles give.

    Parameters
    ----------
    axes
        The groups of the call.
    strata
        A stratum for each rater, within which raters are shuffled.
    draws
        The permutations; none for values without p.
    """
    values, sides, unmoved = _from_first(ratings), [], set()
    for one in axes:
        for axis, shown in one.shown:
            listed, mirrored = np.isin(np.arange(len(axis)), shown), not one.overlapping and len(axis) == 2
            if mirrored:
                listed[1] = False  # one of two groups represents both
            if not listed.any() or len(axis) < 2 or names_raters(axis.name):
                continue
            unmoved.add(axis.name)
            codes = np.where(ratings.per_rater() > 0, axis.codes, -1)
            listed &= exchangeable(codes, len(axis), strata)
            if listed.any():
                sides.append(_side(ratings, axis, listed, mirrored, values, strata))
    unmoved -= {side.axis.name for side in sides}
    null = _shuffled(ratings, sides, draws, how)
    observed = [sums[0] for sums in _drawn(ratings.parts(), sides, values, Draws.observed(), 0, 1).sums]
    n_candidates = sum(side.n_candidates for side in sides)
    return DividingCandidates(tuple(sides), null, observed, n_candidates, tuple(sorted(unmoved)))


def _from_first(ratings: Ratings) -> Floats:
    """Return the scale's values from the first: whole numbers stay whole, and a scale far from 0 loses no digits."""
    values: Floats = np.array(ratings.scale.values, dtype=np.float64)
    values -= values[0]
    return values


def _side(
    ratings: Ratings, axis: Axis, listed: Bools, mirrored: bool, values: Floats, strata: NDArray[np.int32] | None
) -> AxisCandidates:
    """Return the candidates of an axis."""
    n, total, squares = _moments(ratings, axis.codes, values)
    spare = int(np.maximum(n - 1, 0).sum())
    pooled = float(squares.sum()) / spare if spare else 0.0
    variance = (squares + STEADY * pooled) / (np.maximum(n, 1) - 1 + STEADY) if pooled > 0 else np.ones(len(n))
    grouping = Grouping.of(ratings, axis.codes, len(axis), strata)
    nobody = np.full(len(n), -1, np.int32)
    side = AxisCandidates(
        axis, listed, mirrored, grouping, n, total, squares, variance, pooled, nobody, n * 0, total * 0.0
    )
    found, size = [], max(1, CELLS // len(axis))
    for start in range(0, max(ratings.n_items, 1), size):
        n_group, own = cells_of(ratings, side, start, min(start + size, ratings.n_items), values)
        z = z_of(side, start, n_group, own)
        extent = np.where(np.isnan(z), -1.0, np.abs(z))
        group, rows = extent.argmax(axis=1), np.arange(len(extent))  # the first of ties
        number = np.count_nonzero(extent >= 0, axis=1)
        found.append((np.where(number, group, -1).astype(np.int32), n_group[rows, group], own[rows, group], number))
    groups, n_group, own, number = (np.concatenate(column) for column in zip(*found, strict=True))
    return replace(side, group=groups, n_group=n_group, total_group=own, n_candidates=int(number.sum()))


def _moments(ratings: Ratings, codes: NDArray[np.int32], values: Floats) -> tuple[Ints, Floats, Floats]:
    """Return for each item how many ratings the raters of an axis gave, Σx, and Σ(x − mean)²."""
    n = np.zeros(ratings.n_items, np.int64)
    total, squares = np.zeros(ratings.n_items), np.zeros(ratings.n_items)
    for part in ratings.parts():
        inside = codes[part.raters] >= 0
        item, x = part.item_of_each()[inside], values[part.scores[inside]]
        own = np.bincount(item, minlength=part.n_items)
        sums = np.bincount(item, x, part.n_items)
        n[part.items], total[part.items] = own, sums
        squares[part.items] = np.bincount(item, (x - (sums / np.maximum(own, 1))[item]) ** 2, part.n_items)
    return n, total, squares


def cells_of(ratings: Ratings, side: AxisCandidates, start: int, stop: int, values: Floats) -> tuple[Ints, Floats]:
    """Return for items ``start`` to ``stop``, by group, the number of ratings and Σx."""
    part = ratings.of_items(start, stop)
    item, group = part.item_of_each(), side.axis.codes[part.raters]
    inside = group >= 0
    shape = (stop - start, len(side.axis))
    cell = (item * shape[1] + group)[inside]
    n: Ints = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, values[part.scores][inside], shape[0] * shape[1])
    return n.reshape(shape), total.astype(np.float64).reshape(shape)


def z_of(side: AxisCandidates, start: int, n_group: Ints, total: Floats) -> Floats:
    """Return z of each item from ``start`` on and each group, NaN where it is not a candidate."""
    own = slice(start, start + len(n_group))
    n, mean, variance = (column[own, np.newaxis] for column in (side.n, side.mean, side.variance))
    rest = n - n_group
    usable = side.listed & (n_group >= FEWEST) & (rest >= FEWEST)
    weight = np.where(usable, n_group * rest / np.maximum(n, 1), 1.0)
    return np.where(usable, (total - n_group * mean) / np.sqrt(weight * variance), np.nan)


def _drawn(
    parts: Sequence[Part], sides: Sequence[AxisCandidates], values: Floats, draws: Draws, first: int, last: int
) -> Null:
    """Return what draws ``first`` to ``last`` give for all candidates, the same shuffle for all axes."""
    from plurivox.kernels.moments import N_DIVIDING, add_differences

    some = draws.between(first, last)
    squares = np.zeros(some.total)
    ranks: list[Any] = []
    sums: list[Any] = []
    for side in sides:
        labels = side.grouping.kernel_labels(some)
        ranks.append(np.zeros((len(side.n), 3), np.int32))
        sums.append(np.zeros((some.total, len(side.axis), N_DIVIDING)))
        mean, signed = side.mean, side.signed
        for part in parts:
            at = part.items
            add_differences(
                part.offsets, part.raters, part.scores, values, labels, side.listed, side.n[at],
                mean[at], side.squares[at], side.variance[at], STEADY * side.pooled, STEADY, side.group[at],
                signed[at], TOLERANCE, squares, ranks[-1][at], sums[-1],
            )  # fmt: skip
    return Null(np.sqrt(squares), ranks, sums)


def _shuffled(ratings: Ratings, sides: Sequence[AxisCandidates], draws: Draws, how: Running) -> Null:
    """Run all shuffles and combine their results as they arrive, so that little is held at once."""
    total = draws.total if sides else 0
    work = partial(_drawn, ratings.parts(), sides, _from_first(ratings), draws)
    cost = max(1e-6, _COST * sum(len(part.scores) for part in ratings.parts()) * len(sides))
    widest = max((len(side.grouping.codes) + len(side.axis) * 8 for side in sides), default=1)
    spread = -(-total // (4 * at_once(how)))  # enough batches to keep every worker busy to the end
    batch = max(1, min(int(_BATCH / cost), CELLS // widest, spread))
    ranks = [np.zeros((len(side.n), 3), np.int32) for side in sides]
    largest: list[Floats] = [np.zeros(0)]
    sums: list[list[Floats]] = [[] for _ in sides]
    for made in as_made(work, total, how, batch=batch):
        largest.append(made.largest)
        for own, more in zip(ranks, made.ranks, strict=True):
            own += more
        for kept, new in zip(sums, made.sums, strict=True):
            kept.append(new)
    return Null(
        np.concatenate(largest), ranks, [np.concatenate(kept) if kept else np.zeros((0, 0, 6)) for kept in sums]
    )


def _of_one_item(
    side: AxisCandidates, place: int, raters: NDArray[np.int32], scores: Floats, draws: Draws, first: int, last: int
) -> Floats:
    """Return z of one item for every group of an axis under draws ``first`` to ``last``, the shuffles of all items.

    NaN where a group is not a candidate. ``raters`` and ``scores`` are those of the item's raters on the axis.
    """
    labels = side.grouping.labels(draws.between(first, last))[:, raters].astype(np.int64)
    shape = (last - first, len(side.axis))
    cell = (np.arange(shape[0])[:, np.newaxis] * shape[1] + labels).ravel()
    n: Ints = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, np.tile(scores, shape[0]), shape[0] * shape[1]).astype(np.float64)
    same = np.full(shape[0], place)
    side = replace(side, n=side.n[same], total=side.total[same], variance=side.variance[same])
    return z_of(side, 0, n.reshape(shape), total.reshape(shape))


# Shrunken differences -------------------------------------------------------------------------------------------------
# Differences on single items, pulled towards the group's difference over all items as far as they are noise.
#
# The true difference of the item with the largest of many differences is, on average, smaller. With w = n_g n_r / n the
# weight of an item, D_i its difference and D̄ = Σ w_i D_i / Σ w_i the group's difference over all items, its leniency::
#
#     shrunken_i = D̄ + τ² / (τ² + c · v_i / w_i) · (D_i − D̄)
#     τ²         = (Q − c · E) / (Σ w − Σ w² / Σ w),  not below 0
#     Q          = Σ w_i (D_i − D̄)²                   E = Σ (1 − w_i / Σ w) · v_i
#
# v_i is the variance within the two sides of an item. τ² is the variance of true differences, by moments (DerSimonian
# & Kacker 2007, with weights by numbers of ratings). c = ΣQ*/ΣE* over all shuffles; it is below 1 where raters who
# rate high do so on every item, since that moves D̄ but not the items around it. Without shuffles c is 1.


class DifferencePrior(NamedTuple):
    """What the differences of each group over all items say about those on one."""

    mean: Floats
    """The difference over all items, D̄."""
    spread: Floats
    """The variance of true differences around it, τ²."""
    noise: Floats
    """How much of the variance within items is noise around D̄, c."""


def prior_of(observed: Floats, null: Floats) -> DifferencePrior:
    """Return the prior of each group from its sums as they are (groups × sums) and under each shuffle."""
    noise = np.ones(len(observed))
    if len(null):
        chance, expected = (part.sum(axis=0) for part in _scatter(null))
        np.divide(chance, expected, out=noise, where=expected > 0)
    scatter, expected = _scatter(observed)
    _, shifts, weights, squared, *_ = observed.T  # in the order of plurivox.kernels.moments
    total = np.maximum(weights, np.finfo(float).tiny)
    room = weights - squared / total
    spread = np.zeros(len(observed))  # one item says nothing about others
    np.divide(scatter - noise * expected, room, out=spread, where=room > 1e-9 * weights)
    return DifferencePrior(shifts / total, np.maximum(spread, 0.0), noise)


def _scatter(sums: Floats) -> tuple[Floats, Floats]:
    """Return Q and E."""
    squares, shifts, weights, _, variances, weighted = np.moveaxis(sums, -1, 0)
    total = np.maximum(weights, np.finfo(float).tiny)
    return np.maximum(squares - shifts**2 / total, 0.0), np.maximum(variances - weighted / total, 0.0)


def shrunken(side: AxisCandidates, prior: DifferencePrior) -> Floats:
    """Return the shrunken difference of each item's most extreme group; NaN without one."""
    group = np.maximum(side.group, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = side.n_group * (side.n - side.n_group) / side.n
        difference = side.shift / weight
        left = np.maximum(side.squares - weight * difference**2, 0.0)
        error = prior.noise[group] * (left + STEADY * side.pooled) / (side.n - 2 + STEADY) / weight
        trust = np.where(error > 0, prior.spread[group] / (prior.spread[group] + error), 1.0)
    mean = prior.mean[group]
    return np.where(side.group >= 0, mean + trust * (difference - mean), np.nan)
