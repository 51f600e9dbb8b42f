"""Intervals: from draws, and without them."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NORMAL_95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution, for intervals that need no draws."""


class Interval(NamedTuple):
    """The ends of an interval for each column of draws."""

    low: Floats
    """NaN where fewer than two draws are defined."""
    high: Floats
    """As ``low``."""
    n_undefined: NDArray[Any]
    """How many draws, or which share of them, are NaN and were left out."""


def percentile_interval(draws: ArrayLike, level: float = 0.95) -> Interval:
    """Return the interval that contains the middle ``level`` of the defined draws.

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


def _quantile(ordered: Floats, n: Ints, q: float) -> Floats:
    """Return the q-quantile of the first n of the sorted draws, NaN if n < 2."""
    position = np.maximum(n - 1, 0) * q
    below = np.floor(position).astype(np.int64)
    low = np.take_along_axis(ordered, below[np.newaxis], axis=0)[0]
    high = np.take_along_axis(ordered, np.minimum(below + 1, np.maximum(n - 1, 0))[np.newaxis], axis=0)[0]
    part = position - below
    with np.errstate(invalid="ignore"):  # ∞ − ∞ and 0·∞, for which the lower of the two is used
        between = np.minimum(low + (high - low) * part, high)
    exact = (low == high) | (part == 0) | np.isneginf(low)
    return np.where(n < 2, np.nan, np.where(exact, low, between))


def wilson(share: float, n: float, z: float = NORMAL_95) -> tuple[float, float]:
    """Return Wilson's interval for a share of n trials, at 95 % unless another normal quantile is given.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.

    Examples
    --------
    >>> low, high = wilson(0.0, 10)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.278)
    """
    square = z**2
    centre = (share + square / (2 * n)) / (1 + square / n)
    reach = z / (1 + square / n) * math.sqrt(max(share * (1 - share), 0.0) / n + square / (4 * n * n))
    return max(0.0, centre - reach), min(1.0, centre + reach)
