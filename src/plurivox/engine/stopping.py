"""Fewer shuffles than asked for: looks that are planned, at which a family of tests may end, and p-values for them.

Draws are joint, so all tests of a family end together. After n₁ < n₂ < … < N draws the usual p-values p₁, p₂, …, p_N
are made, alone and corrected, each from all draws so far. A look k has two borders, fixed before any draw:

- **far**, a_k, above the level and never rising: a test with p ≥ a_k is given up.
- **clear**, b: at one look, a test with p ≤ b is taken for certain. b is *spent* there: it is added to every p of later
  looks, and to p_N.

The family ends at the first look at which every p that may make a claim is far or clear, or after all N draws. What is
told of a test, of its p alone and of its corrected p alike, is

1. after N draws p_N, with what was spent; at an early end p where it is clear, and else p, but not less than a_k: so
   few draws say nothing of smaller ones;
2. never less than what p was, with what was spent, at a look at which it was far.

**Why that is valid.** From a number of draws fixed beforehand p is valid, P(p ≤ α) ≤ α, since it treats the observed
labelling and the draws alike; standardising by all of them and taking the largest changes nothing about that. Take any
α, and let k be the first look with a_k ≤ α, or N if there is none. Let α or less be told of a test. Then it was not far
at a look j before k, since a_j > α, and if all ended there, it was clear. Else look k was reached. If the test was far
there, or all ended there, p_k with what was spent is α or less, since less is never told; if not, it is below a_k ≤ α.
So either p was clear before k, or p_k ≤ α less what was spent before k. The first has a probability of at most b, the
second of α − b; or of α and 0 if α < b, and of 0 and α if nothing was spent before k. The sum is always α.

Nothing was said of how p is corrected, or of when exactly the family ends. Taken for the smallest corrected p of all
true hypotheses, the same lines say that any false claim is made in 5 of 100 studies at most. The false discovery rate
is kept, too: without a claim it is 0, claims at the look that spends are those of the procedure at level b, and those
after N draws are those at level .05 − b.

What is far follows Besag and Clifford, who end a single test once enough draws have reached it; it is set so that a
test that N draws would find is hardly ever given up, the resampling risk of Fay and Follmann and of Gandy. What is
spent follows interim looks of clinical trials (Lan and DeMets).

References
----------
Besag & Clifford (1991), Sequential Monte Carlo p-values, Biometrika 78, 301–304; Lan & DeMets (1983), Discrete
sequential boundaries for clinical trials, Biometrika 70, 659–663; Fay & Follmann (2002), Designing Monte Carlo
implementations of permutation or bootstrap hypothesis tests, American Statistician 56, 63–70; Gandy (2009), Sequential
implementation of Monte Carlo tests with uniformly bounded resampling risk, JASA 104, 1504–1511.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.engine.families import SIGNIFICANT, unsettled

Floats = NDArray[np.float64]

FIRST = 100
"""The first look is after one draw less, so that p is a multiple of 1/100; every further one after twice as many."""
LATEST = 0.8
"""No look is later than this share of the draws asked for: it would save little."""
RISK = 0.001
"""How likely a look takes a test for far whose p from endless draws is the level; smaller ones less often."""
PARTS = 10
"""One of so many parts of the level, divided by the lenses corrected together, is spent on clear differences."""


class Looks(NamedTuple):
    """When a family of tests may end early; :meth:`of` plans it.

    Attributes
    ----------
    at
        After how many draws, rising. Nothing if all draws are made.
    far
        For each look, from which p on a test is given up.
    clear
        For each look, up to which p a test is below the level for certain; 0 where none can be.
    """

    at: tuple[int, ...] = ()
    far: tuple[float, ...] = ()
    clear: tuple[float, ...] = ()

    @classmethod
    def of(cls, asked: int, *, level: float = SIGNIFICANT, n_lenses: int = 1, ends_clear: bool = True) -> Looks:
        """Plan the looks of so many draws asked for.

        Parameters
        ----------
        level
            What decides.
        n_lenses
            Over how many lenses the level is divided at most.
        ends_clear
            Whether clear p-values may end it, too.

        Examples
        --------
        >>> Looks.of(1000)
        Looks(at=(99, 199, 399, 799), far=(0.2, 0.15, 0.115, 0.0925), clear=(0.0, 0.0, 0.005, 0.0))
        """
        at = []
        n = FIRST
        while n - 1 <= LATEST * asked:
            at.append(n - 1)
            n *= 2
        far = np.minimum.accumulate([1.0, *(_far(n, level) for n in at)])[1:].tolist()
        # A two-sided p is 2/(n + 1) at least, and can be clear only where that is not more.
        most = level / (PARTS * n_lenses)
        first = next((k for k, n in enumerate(at) if (n + 1) * most * (1 + 1e-9) >= 2), -1) if ends_clear else -1
        return cls(tuple(at), tuple(far), tuple(most if k == first else 0.0 for k in range(len(at))))

    def until(self, made: int) -> list[int]:
        """Return after how many draws p-values were made, the last number being that of all."""
        return [*(n for n in self.at if n < made), made]

    def spent(self, made: int) -> float:
        """Return what is added to p-values of so many draws: what was spent at earlier looks."""
        return math.fsum(clear for n, clear in zip(self.at, self.clear, strict=True) if n < made)

    def end(self, p: ArrayLike, made: int, *, clear: bool = True) -> bool:
        """Tell whether a family may end: at a look, all its p-values are far or ``clear``, and there is one at least."""
        if made not in self.at:
            return False
        values = np.asarray(p, dtype=np.float64)
        values, k = values[~np.isnan(values)], self.at.index(made)
        settled = (values + self.spent(made) >= self.far[k]) | (self._clear(values, k) & clear)
        return bool(len(values) and settled.all())

    def told(self, p: Sequence[ArrayLike], made: int) -> Floats:
        """Return what is told of p-values, whose arrays at every look that was made and, last, now are given.

        Examples
        --------
        >>> looks = Looks.of(1000)
        >>> looks.told([[0.30, 0.04, 0.01]], 99).tolist()  # ended early
        [0.3, 0.2, 0.2]
        >>> looks.told([[0.30, 0.04], [0.22, 0.04], [0.2, 0.04], [0.2, 0.03], [0.02, 0.03]], 1000).tolist()
        [0.3, 0.035]
        """
        values = np.asarray(p[-1], dtype=np.float64)
        if not self.at:
            return values
        found = values + self.spent(made)
        if made in self.at:
            k = self.at.index(made)
            found = np.where(self._clear(values, k), found, np.maximum(found, self.far[k]))
        for n, far, before in zip(self.at, self.far, p[:-1], strict=False):
            then = np.asarray(before, dtype=np.float64) + self.spent(n)
            found = np.where(then >= far, np.maximum(found, then), found)
        return np.asarray(np.minimum(found, 1.0))

    def told_of(self, p: Callable[[int], ArrayLike], made: int) -> Floats:
        """Return what is told of p-values that are made of the first so many draws."""
        return self.told([p(n) for n in self.until(made)], made)

    def _clear(self, p: Floats, k: int) -> NDArray[np.bool_]:
        return np.asarray(p <= self.clear[k] * (1 + 1e-9)) & (self.clear[k] > 0)


ALL_DRAWS = Looks()
"""No look before all draws are made."""


class Plan(NamedTuple):
    """How many draws a family of tests is given: as many as asked for, more while p-values are undecided, or fewer.

    Attributes
    ----------
    asked, most
        How many draws are asked for, and how many there may be.
    n_lenses
        How many lenses' claims are corrected together.
    looks
        When it may end early.
    """

    asked: int
    most: int
    n_lenses: int = 1
    looks: Looks = ALL_DRAWS

    def after(self, made: int) -> int:
        """Return up to which draw to go on."""
        if made < self.asked:
            return next((n for n in self.looks.at if n > made), self.asked)
        return min(2 * made, self.most)

    def enough(self, p: ArrayLike, made: int, beside: ArrayLike = ()) -> bool:
        """Tell whether these corrected p-values need no more draws, or get none.

        Nothing is claimed of p-values ``beside`` without a claim of the others, if there are any.
        """
        every = np.concatenate([p, beside])
        if made < self.asked:
            return self.looks.end(p, made, clear=False) or self.looks.end(every, made)
        return made >= self.most or not unsettled(every + self.looks.spent(made), made, self.n_lenses)


def _far(n: int, level: float) -> float:
    """Return from which two-sided p of n draws on a test is far, as its smaller side has so many draws by chance."""
    from scipy.special import bdtrc

    side = level / 2
    counts = np.arange(math.ceil(n * side), math.ceil(n * side + 10 * math.sqrt(n * side)) + 10)
    least = int(counts[bdtrc(counts - 1.0, n, side) <= RISK][0])
    return min(1.0, 2 * (least + 1) / (n + 1))
