"""What further sums over items share: pairs of ratings, and spread.

Counts n are (items, …, L). In a bootstrap over raters they are sums of the raters' weights w, and ``self_pairs`` Q
(items, …) is Σw² for each item. A rater of weight w is w copies of one person. Copies do not pair with each other, so
an item with the total W has W² − Q ordered pairs. If every rater counts once, Q = W = m, and these are m(m − 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from plurivox.statistics.cohesion.parts import Counts, moments, ratio
from plurivox.statistics.levels import Floats
from plurivox.statistics.records import About, Known, Slots
from plurivox.statistics.undefined import why_mean

ROUNDING = 1e-12
"""A part of a sum of squares that is at most this share of the whole is 0 up to rounding."""


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


def squares_of(counts: Counts, values: Floats) -> Floats:
    """Return Σ_c n_c(v_c − mean)², exactly 0 where one point was used, since its share is exactly 1."""
    squares: Floats = counts.sum(axis=-1) * moments(counts, values)[1]
    return squares


def mean_of(name: str, s: Slots, about: About, known: Known) -> Floats:
    """Finish a statistic whose first two sums are a total and how many items count."""
    return ratio(s[name][..., 0], s[name][..., 1])


def why_unpaired(name: str, s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    """Say why there is no value if the second sum, of items with two ratings, is 0."""
    return why_mean(float(s[name][1]), "pairable", n_raters=n_raters)
