"""Bootstrap: how often each item or rater is drawn, and the interval that the draws make.

Copies are weights, never new items or raters. Draw number d of a seed is the same in whatever batch it is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution, for intervals that need no draws."""

# Which child of the seed draws what. Items and raters must not share one, since "both" multiplies their weights;
# the numbers are far from those of plurivox.simulation.simulate, whose studies may carry the same seed.
_ITEMS, _RATERS = 1001, 1002


class Interval(NamedTuple):
    """Ends of an interval for each column of draws."""

    low: Floats
    """NaN where fewer than two draws are defined."""
    high: Floats
    """As ``low``."""
    n_undefined: Ints
    """How many draws are NaN and were left out."""


def percentile_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Return the interval that holds the middle ``level`` of the defined draws.

    Its ends are the quantiles q = (1 − level)/2 and 1 − q. The q-quantile of n sorted draws x(0) ≤ … ≤ x(n−1) is
    interpolated linearly at the position (n − 1)·q: type 7 of Hyndman & Fan (1996), which is numpy's default.

    Parameters
    ----------
    draws
        Draws × any shape, which the ends keep; NaN where a draw is undefined.
    level
        Between 0 and 1.

    References
    ----------
    Efron & Tibshirani (1993), An introduction to the bootstrap, chapter 13; Hyndman & Fan (1996), The American
    Statistician 50, 361–365.

    Examples
    --------
    >>> low, high, n_undefined = percentile_interval([0.0, 1.0, 2.0, 3.0, 4.0, float("nan")], level=0.5)
    >>> float(low), float(high), int(n_undefined)
    (1.0, 3.0, 1)
    """
    if not 0 < level < 1:
        raise InputError(f"level is {level!r}", hint="Give a number between 0 and 1, for example 0.95.")
    table = np.asarray(draws, dtype=np.float64)
    if table.ndim == 0:
        raise InputError("draws is a single number", hint="Give the draws as the first dimension.")
    n = np.asarray(np.count_nonzero(~np.isnan(table), axis=0), dtype=np.int64)
    n_undefined = np.asarray(len(table) - n)
    if len(table) < 2:
        nothing = np.full(table.shape[1:], np.nan)
        return Interval(nothing, nothing.copy(), n_undefined)
    ordered = np.sort(table, axis=0)  # NaN come last
    tail = (1 - level) / 2
    return Interval(_quantile(ordered, n, tail), _quantile(ordered, n, 1 - tail), n_undefined)


def item_weights(n_items: int, draws: int, seed: int, first: int = 0) -> Ints:
    """Return how often each item is drawn, draws × items; each row sums to the number of items.

    Parameters
    ----------
    n_items
        How many items there are, and are drawn with replacement.
    draws, first
        How many draws to make, and the number of the first.
    seed
        A whole number, 0 or more.

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


def rater_weights(group_of: ArrayLike, draws: int, seed: int, first: int = 0) -> Ints:
    """Return how often each rater is drawn from their own group, draws × raters.

    The weights of a group sum to its size in each draw; raters outside every group have weight 0.

    Parameters
    ----------
    group_of
        For each rater a whole number that names the group, -1 if outside.
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


def _runs(groups: Ints) -> tuple[Ints, Ints]:
    """Return for each of the sorted members where their group starts, and its size."""
    _, first, place, size = np.unique(groups, return_index=True, return_inverse=True, return_counts=True)
    return first[place], size[place]


def _generators(seed: int, child: int, first: int, draws: int) -> Iterator[np.random.Generator]:
    """Yield a generator for each draw, which depends on the seed and the draw's number alone."""
    for number in range(first, first + draws):
        yield np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(child, number))))


def _quantile(ordered: Floats, n: Ints, q: float) -> Floats:
    """Return the q-quantile of the first n of the sorted draws, NaN if n < 2."""
    position = np.maximum(n - 1, 0) * q
    below = np.floor(position).astype(np.int64)
    low = np.take_along_axis(ordered, below[np.newaxis], axis=0)[0]
    high = np.take_along_axis(ordered, np.minimum(below + 1, np.maximum(n - 1, 0))[np.newaxis], axis=0)[0]
    part = position - below
    with np.errstate(invalid="ignore"):  # ∞ − ∞ and 0·∞, where the lower of the two is meant
        between = np.minimum(low + (high - low) * part, high)
    exact = (low == high) | (part == 0) | np.isneginf(low)
    return np.where(n < 2, np.nan, np.where(exact, low, between))
