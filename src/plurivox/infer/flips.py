"""Sign-flips: what paired differences would add up to if chance had decided which of the two is which.

If two predictions are equally good, the difference of their scores on an item is as likely to be d as −d. Flipping the
signs of some items therefore gives sums that might equally well have been observed. For up to 16 items, all flips are
made, and p is exact; for more, as many random ones as requested.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.engine.draws import kept_signs

Floats = NDArray[np.float64]

EXACT = 16
"""Up to this many items, all sign-flips are made."""
ROUNDING = 1e-10
"""Sums that differ by less, as a share of the sum of all magnitudes, are equal."""


class Flips(NamedTuple):
    """Sign-flips of some units, the same for every test, numbered from 1; number 0 flips nothing."""

    n_units: int
    seed: int
    exact: bool
    """Whether all flips are made."""

    @classmethod
    def of(cls, n_units: int, seed: int, *, every: bool = True) -> Flips:
        """Use all flips if there are few units and ``every`` is set, otherwise random ones."""
        return cls(n_units, seed, every and n_units <= EXACT)

    @property
    def number(self) -> int:
        """How many flips there are if all are made, without the one that flips nothing; otherwise 0."""
        return 2**self.n_units - 1 if self.exact else 0

    def kept(self, first: int, last: int) -> NDArray[np.int64]:
        """Return which units keep their sign under flips ``first`` to ``last``, draws × units."""
        if not self.exact:
            return kept_signs(self.n_units, last - first, self.seed, first)
        numbers = np.arange(first, last)[:, np.newaxis]
        return 1 - ((numbers >> np.arange(self.n_units)) & 1)


def exact_p(differences: ArrayLike) -> float:
    """Return the share of all sign-flips under which the sum is at least as far from 0, on either side.

    Differences of 0 have no sign and do not count. NaN if there are no others.

    Examples
    --------
    >>> exact_p([1.0, 2.0, 3.0]), exact_p([1.0, -1.0, 0.0])
    (0.25, 1.0)
    """
    given = np.asarray(differences, dtype=np.float64)
    given = given[given != 0]
    if not len(given) or not np.isfinite(given).all():
        return float("nan")
    sums = np.array([given[0]])  # the first keeps its sign: flipping all changes no magnitude
    for one in given[1:]:
        sums = np.concatenate([sums + one, sums - one])
    reached = np.abs(sums) >= abs(given.sum()) - ROUNDING * np.abs(given).sum()
    return float(np.count_nonzero(reached) / len(sums))
