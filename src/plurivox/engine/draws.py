"""Draws: the raters as they are, shuffled between groups, or subsampled; items and raters drawn or left out.

A draw is made from the seed and its number alone, wherever it is needed, so it does not depend on threads, batches or
machines. Each kind of draw has a child of the seed of its own, since numbers of one stream that are used twice would
tie together what must be independent::

    seed ──┬─ child 1001, draw d ──▶ items, n out of n ──▶ how often each counts:  2 0 1 1 0 …
           ├─ child 1002, draw d ──▶ raters, within their groups ──▶ the same:     1 0 2 0 1 …
           └─ child 1006, draw d ──▶ as many of each group as the smallest has

Only permutations are made elsewhere, one by one in the kernels (:mod:`plurivox.kernels.shuffling`).
Copies are weights, never new items or raters: an item drawn twice is added twice, and a rater of weight 2 counts twice
but is never paired with themselves. So memory does not grow, and codes stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings

Ints = NDArray[np.int64]

# Which child of the seed draws what. Items and raters must not share one, since "both" multiplies their weights;
# the numbers are far from those of plurivox.simulation, whose studies may have the same seed.
_ITEMS, _RATERS, _SUBSAMPLES, _SIGNS, _ORDERS = 1001, 1002, 1006, 1009, 1010


class Draws(NamedTuple):
    """Draws ``first`` to ``last`` of one kind.

    Permutation 0 is the observed labelling, so permutations are numbered from 1 and bootstrap draws from 0. In a
    jackknife, a draw is the unit that is left out, and ``units`` holds the unit of each item or rater.
    """

    kind: Literal["permuted", "resampled", "subsampled", "units"]
    first: int
    last: int
    seed: int = 0
    resample: str = ""
    units: Ints | None = None

    @classmethod
    def observed(cls) -> Draws:
        """Return the raters as they are."""
        return cls("permuted", 0, 1)

    @classmethod
    def permuted(cls, n: int, seed: int) -> Draws:
        """Return permutations 1 to ``n``."""
        return cls("permuted", 1, n + 1, seed)

    @classmethod
    def resampled(cls, n: int, seed: int, resample: str) -> Draws:
        """Return ``n`` draws of items, raters (within their groups) or both."""
        return cls("resampled", 0, n, seed, resample)

    @classmethod
    def subsampled(cls, n: int, seed: int, resample: str = "") -> Draws:
        """Return ``n`` draws of as many raters of each group as the smallest has, and of items if in ``resample``."""
        return cls("subsampled", 0, n, seed, resample)

    @classmethod
    def of_units(cls, units: Ints, resample: Literal["items", "raters"]) -> Draws:
        """Return a draw for each unit: for items, the unit alone; for raters, all except the unit.

        The sum over all items except a unit is the sum over all minus that of the unit, which is faster. This does not
        work for raters, since an item's contribution is not a sum over its raters. Raters outside every unit, -1, do
        not count.
        """
        return cls("units", 0, int(units.max(initial=-1)) + 1, resample=resample, units=units)

    @classmethod
    def of_blocks(cls, n: int) -> Draws:
        """Return a draw for each block of single ratings: all ratings except those of the block."""
        return cls("units", 0, n, resample="ratings")

    @property
    def total(self) -> int:
        """How many draws these are."""
        return self.last - self.first

    def between(self, first: int, last: int) -> Draws:
        """Return some of the draws, counted from the first."""
        return self._replace(first=self.first + first, last=self.first + last)

    def item_weights(self, n_items: int, some: slice = slice(None)) -> NDArray[np.int32]:
        """Return how often each item, or each of some, counts, draws × items; draws × 0 if each counts once."""
        if self.resample not in ("items", "both"):
            return np.zeros((self.total, 0), dtype=np.int32)
        if self.units is not None:
            return np.asarray(self.units[some] == self._numbers(), dtype=np.int32)
        return item_weights(n_items, self.total, self.seed, self.first)[:, some].astype(np.int32)

    def rater_weights(self, codes: ArrayLike) -> NDArray[np.int32]:
        """Return how often each rater counts, draws × raters; draws × 0 if each counts once."""
        if self.resample not in ("raters", "both"):
            return np.zeros((self.total, 0), dtype=np.int32)
        if self.units is not None:
            return np.asarray((self.units != self._numbers()) & (self.units >= 0), dtype=np.int32)
        return rater_weights(codes, self.total, self.seed, self.first).astype(np.int32)

    def _numbers(self) -> Ints:
        return np.arange(self.first, self.last)[:, np.newaxis]


def item_weights(n_items: int, draws: int, seed: int, first: int = 0) -> Ints:
    """Return how often each item is drawn, draws × items; each row sums to the number of items.

    Parameters
    ----------
    n_items
        How many items there are; as many are drawn, with replacement.
    draws, first
        How many draws to make, and the number of the first.
    seed
        A whole number, 0 or greater.

    Examples
    --------
    >>> item_weights(5, draws=3, seed=0).sum(axis=1).tolist()
    [5, 5, 5]
    """
    weights = np.zeros((draws, n_items), dtype=np.int64)
    if n_items > 0:
        for row, rng in zip(weights, _generators(seed, _ITEMS, first, draws), strict=True):
            row[:] = np.bincount(rng.integers(n_items, size=n_items), minlength=n_items)
    return weights


def kept_signs(n_units: int, draws: int, seed: int, first: int = 0) -> Ints:
    """Return which units keep their sign, draws × units: 1 with probability ½, else 0.

    Examples
    --------
    >>> kept_signs(1000, draws=2, seed=0).sum(axis=1).tolist()
    [483, 504]
    """
    kept = np.zeros((draws, n_units), dtype=np.int64)
    for row, rng in zip(kept, _generators(seed, _SIGNS, first, draws), strict=True):
        row[:] = rng.integers(2, size=n_units)
    return kept


def orders(n_units: int, draws: int, seed: int, first: int = 0) -> Iterator[Ints]:
    """Yield for each draw the units in a random order.

    Examples
    --------
    >>> [sorted(order.tolist()) for order in orders(3, draws=2, seed=0)]
    [[0, 1, 2], [0, 1, 2]]
    """
    for rng in _generators(seed, _ORDERS, first, draws):
        yield rng.permutation(n_units)


def rater_weights(group_of: ArrayLike, draws: int, seed: int, first: int = 0) -> Ints:
    """Return how often each rater is drawn from their own group, draws × raters.

    The weights of a group sum to its size in each draw; raters outside every group have weight 0.

    Parameters
    ----------
    group_of
        For each rater, a whole number that names the group, -1 if outside.
    draws, seed, first
        As in :func:`item_weights`.

    Examples
    --------
    >>> weights = rater_weights([0, 0, 0, 1, 1, -1], draws=2, seed=0)
    >>> weights[:, :3].sum(axis=1).tolist(), weights[:, 3:5].sum(axis=1).tolist(), weights[:, 5].tolist()
    ([3, 3], [2, 2], [0, 0])
    """
    groups = np.asarray(group_of, dtype=np.int64)
    members = np.argsort(groups, kind="stable")
    members = members[groups[members] >= 0]  # those inside, group by group
    start, size = _runs(groups[members])
    weights = np.zeros((draws, len(groups)), dtype=np.int64)
    if len(members):
        for row, rng in zip(weights, _generators(seed, _RATERS, first, draws), strict=True):
            row[:] = np.bincount(members[start + rng.integers(size)], minlength=len(groups))
    return weights


def subsamples(groups: Sequence[Ints], draws: int, seed: int, first: int = 0) -> Iterator[Ints]:
    """Yield for each draw as many members of each group as the smallest has, drawn without replacement.

    Examples
    --------
    >>> [len(set(chosen.tolist())) for chosen in subsamples([np.arange(3), np.arange(3, 9)], draws=2, seed=0)]
    [6, 6]
    """
    size = min(map(len, groups), default=0)
    for rng in _generators(seed, _SUBSAMPLES, first, draws):
        yield np.concatenate([np.zeros(0, np.int64), *(rng.choice(own, size, replace=False) for own in groups)])


def _runs(groups: Ints) -> tuple[Ints, Ints]:
    """Return for each of the sorted members where their group starts, and its size."""
    _, first, place, size = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    return first[place], size[place]


def _generators(seed: int, child: int, first: int, draws: int) -> Iterator[np.random.Generator]:
    """Yield a generator for each draw, which depends only on the seed and the draw's number."""
    for number in range(first, first + draws):
        yield np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(child, number))))


# Counts ---------------------------------------------------------------------------------------------------------------
#
# How many raters of each group gave an item each point, and what functions of counts add up to.


BLOCK = 1024
"""How many items are added up at once; blocks are then added in order, so that the sum depends on nothing else."""
Counts = NDArray[np.int64]
"""Items × groups × points: how many raters of a group gave an item a point."""


def group_counts(
    part: Part, codes: NDArray[Any] | None, n_groups: int, n_points: int, start: int = 0, stop: int | None = None
) -> Counts:
    """Return how many raters of each group gave items ``start`` to ``stop`` of a part each point.

    Without codes, all ratings are one group, including those of totals. Raters outside the axis are not counted.
    """
    item, score, group, entries = _cells(part, codes, start, stop)
    stop = part.n_items if stop is None else stop
    shape = (stop - start, n_groups, n_points)
    inside = group >= 0
    cell = ((item * n_groups + group) * n_points + score)[inside]
    if not len(part.multiplicity):
        return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64, copy=False)
    counts = np.zeros(int(np.prod(shape)), dtype=np.int64)
    np.add.at(counts, cell, part.multiplicity[entries][inside])
    return counts.reshape(shape)


def weighted_counts(
    part: Part, codes: NDArray[Any] | None, n_groups: int, n_points: int, weights: NDArray[Any], start: int, stop: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Σw by item, group and point, and Σw² by item and group, if raters have weights."""
    item, score, group, entries = _cells(part, codes, start, stop)
    shape = (stop - start, n_groups, n_points)
    inside = group >= 0
    cell, weight = (item * n_groups + group)[inside], weights[part.raters[entries]][inside].astype(float)
    n = np.bincount(cell * n_points + score[inside], weight, int(np.prod(shape))).astype(float)
    q = np.bincount(cell, weight**2, shape[0] * shape[1]).astype(float)
    return n.reshape(shape), q.reshape(shape[:2])


def counts_of(ratings: Ratings, axis: Axis | None = None, start: int = 0, stop: int | None = None) -> Counts:
    """Return the counts of items ``start`` to ``stop`` of all; see :func:`group_counts`."""
    return _of_items(ratings, axis, start, stop, None).astype(np.int64, copy=False)


def weighted_counts_of(
    ratings: Ratings, axis: Axis | None = None, start: int = 0, stop: int | None = None
) -> NDArray[np.float64]:
    """Return the counts of :func:`counts_of` with raters weighted: Σw by item, group and point."""
    return _of_items(ratings, axis, start, stop, ratings.weights).astype(float, copy=False)


def _of_items(
    ratings: Ratings, axis: Axis | None, start: int, stop: int | None, weights: NDArray[Any] | None
) -> NDArray[Any]:
    n_points, n_groups = len(ratings.scale), 1 if axis is None else len(axis)
    codes = None if axis is None else axis.codes
    stop = ratings.n_items if stop is None else stop
    found = [np.zeros((0, n_groups, n_points), np.int64 if weights is None else np.float64)]
    for part in ratings.parts():
        first, last = max(start - part.first, 0), min(stop - part.first, part.n_items)
        if first < last:
            of_part = (part, codes, n_groups, n_points)
            if weights is None:
                found.append(group_counts(*of_part, first, last))
            else:
                found.append(weighted_counts(*of_part, weights, first, last)[0])
    return np.concatenate(found)


def blocks(n_items: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks of items begin and end; one block if there are no items."""
    for start in range(0, max(n_items, 1), BLOCK):
        yield start, min(start + BLOCK, n_items)


def add_up(
    contribution: Callable[[int, int, int], NDArray[Any]],
    n_items: int,
    draws: int,
    weights: NDArray[Any],
    *,
    same: bool,
) -> NDArray[np.float64]:
    """Return for each draw the sum over items of what blocks of them contribute.

    Parameters
    ----------
    contribution
        Maps the number of a draw and the bounds of a block of items to what each item adds (items, …).
    weights
        Draws × items; draws × 0 if every item counts once.
    same
        Whether the contribution is the same in every draw, and so computed once.
    """
    totals: list[Any] = [0.0] * draws
    for start, stop in blocks(n_items):
        parts = contribution(0, start, stop) if same and draws else np.zeros(0)
        for d in range(draws):
            parts = parts if same else contribution(d, start, stop)
            if weights.shape[1]:  # not by a matrix product, whose order of adding depends on the machine
                totals[d] = totals[d] + np.einsum("i,i...->...", weights[d, start:stop].astype(float), parts)
            else:
                totals[d] = totals[d] + parts.sum(axis=0)
    return np.stack(totals)


def _cells(
    part: Part, codes: NDArray[Any] | None, start: int, stop: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], slice]:
    """Return each rating's item, counted from ``start``, its score and its group, and which ratings these are."""
    stop = part.n_items if stop is None else stop
    entries = slice(int(part.offsets[start]), int(part.offsets[stop]))
    item = np.repeat(np.arange(stop - start), np.diff(part.offsets[start : stop + 1]))
    score = part.scores[entries].astype(np.int64)
    group = np.zeros_like(item) if codes is None else codes[part.raters[entries]].astype(np.int64)
    return item, score, group, entries
