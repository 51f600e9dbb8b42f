"""What statistics that are sums over items share: pairs of ratings, shares of points, spread, and quotients.

Counts n are (items, …, L). In a bootstrap over raters they are sums of the raters' weights w, and ``self_pairs`` Q
(items, …) is Σw² of each item. A rater of weight w is w copies of one person. Copies do not pair with each other, so
an item with the total W has W² − Q ordered pairs. Where every rater counts once, Q = W = m, and these are m(m − 1).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.levels import Floats

Counts = NDArray[Any]
ROUNDING = 1e-12
"""A part of a sum of squares that is at most this share of the whole is 0 but for rounding."""


class Paired(NamedTuple):
    """Counts of items with their totals and pairs: n (items, …, L), the rest (items, …)."""

    n: Floats
    total: Floats
    self_pairs: Floats
    pairs: Floats


def paired(counts: Counts, self_pairs: Counts | None = None) -> Paired:
    """Return the counts as floats, their totals W, self-pairs Q and the ordered pairs of different raters W² − Q."""
    n = np.asarray(counts, dtype=float)
    total: Floats = n.sum(axis=-1)
    q = total if self_pairs is None else np.asarray(self_pairs, dtype=float)
    return Paired(n, total, q, total**2 - q)


def shares_of(counts: Counts) -> Floats:
    """Return the shares of the points, 0 everywhere where there are no ratings."""
    total = np.asarray(counts, dtype=float).sum(axis=-1, keepdims=True)
    shares: Floats = counts / np.where(total > 0, total, 1.0)
    return shares


def squares_of(counts: Counts, values: Floats) -> Floats:
    """Return Σ_c n_c(v_c − mean)², exactly 0 where one point was used, since its share is exactly 1."""
    share, height = shares_of(counts), values - values[0]
    mean = (share * height).sum(axis=-1, keepdims=True)
    squares: Floats = counts.sum(axis=-1) * (share * (height - mean) ** 2).sum(axis=-1)
    return squares


def ratio(above: Counts, below: Counts) -> Floats:
    """Return a quotient, NaN where the divisor is not above 0."""
    numerator, divisor = np.broadcast_arrays(np.asarray(above, dtype=float), np.asarray(below, dtype=float))
    quotient: Floats = np.full(numerator.shape, np.nan)
    np.divide(numerator, divisor, out=quotient, where=divisor > 0)
    return quotient
