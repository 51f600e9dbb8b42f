"""Intervals: from draws, and without them; and what they rest on, values of groups with other items or raters."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.base.settings.record import Settings
from plurivox.base.settings.shared import settled_interval
from plurivox.engine.run import Values
from plurivox.statistics.records import Statistic, scales_of

if TYPE_CHECKING:
    from plurivox.infer.jackknife import LeftOut

S = TypeVar("S", bound=Settings)

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


def with_interval(settings: S) -> S:
    """Return settings that say how intervals are made, and with how many draws."""
    given: Any = settings
    interval, draws = settled_interval(given.interval, given.bootstrap)
    return settings.replace(interval=interval, bootstrap=draws)


class Spread(NamedTuple):
    """What values of groups become with other items or raters: bootstrap draws, values without each unit, or nothing.

    Draws are draws × groups × statistics.
    """

    draws: Values | None = None
    left: LeftOut | None = None

    def made(self, change: Callable[[Values], Values]) -> Spread:
        """Apply a function of all groups' values: from … × groups × statistics to … × 1 × statistics."""
        left = None if self.left is None else self.left.made(change)
        return Spread(None if self.draws is None else change(self.draws), left)

    def of(self, places: Sequence[int]) -> Spread:
        """Return the same for some of the groups."""
        return self.made(lambda values: values[:, list(places)])

    def kept(self, n_groups: int, n_statistics: int) -> Values:
        """Return the bootstrap draws that a result keeps."""
        return np.zeros((0, n_groups, n_statistics)) if self.draws is None else self.draws

    def interval(self, records: Sequence[Statistic]) -> Interval | None:
        """Return the intervals of statistics, if there are any; they stay within the range of each."""
        return self._interval(*scales_of(records))

    def difference(self, n_statistics: int) -> Interval | None:
        """Return the intervals of differences, which have no scale or range of their own."""
        return self._interval(["plain"] * n_statistics, [(-np.inf, np.inf)] * n_statistics)

    def _interval(self, scales: Sequence[str], ranges: Any) -> Interval | None:
        if self.draws is not None:
            low, high, n_undefined = percentile_interval(self.draws)
            return Interval(low, high, n_undefined / max(len(self.draws), 1))
        if self.left is None:
            return None
        low, high, n_undefined = self.left.interval(scales, ranges)
        return Interval(low, high, n_undefined / max(self.left.n_units, 1))
