"""Fewer shuffles than asked for: looks that are planned, at which a family of tests may end, and p-values for them.

Draws are joint, so all tests of a family end together. After n₁ < n₂ < … < N draws the usual p-values p₁, p₂, …, p_N
are made, alone and corrected, each from all draws so far. A look k has two borders, fixed before any draw:

- **far**, a_k, above the level and never rising: a test with p ≥ a_k is given up.
- **clear**, b: at one look, a test with p ≤ b is taken for certain. b is *spent* there: it is added to every p of later
  looks, and to p_N.

The family ends once every test that may make a claim was far or clear at a look, or after all N draws. What is told of
a test, of its p alone and of its corrected p alike, is

1. if it was clear, p of that look; else p of the last, with what was spent, and at an early end not less than a_k: so
   few draws say nothing of smaller ones;
2. never less than what p was, with what was spent, at a look at which it was far.

**Why that is valid.** From a number of draws fixed beforehand p is valid, P(p ≤ α) ≤ α, since it treats the observed
labelling and the draws alike; standardising by all of them and taking the largest changes nothing about that. Take any
α, and let k be the first look with a_k ≤ α, or N if there is none. Let α or less be told of a test. Then it was not far
at a look j before k, since a_j > α, nor did all end there unless it was clear by then. So it was clear before k; or
look k was reached, and p_k with what was spent before k is α or less, since either no less is told (it was far at k, or
all ended there), or it was not far, below a_k ≤ α. The first has a probability of at most b, the second of α − b; or of
α and 0 if α < b, and of 0 and α if nothing was spent before k. The sum is always α.

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
"""At most one of so many parts of the level, over the lenses corrected together, is spent on clear differences."""
SOONEST = 1 / 8
"""The look that spends comes after this share of the draws asked for, so that more of these make it cheaper."""


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
        # The smallest two-sided p of n draws is 2/(n + 1).
        soonest = max(2 * PARTS * n_lenses / level * (1 - 1e-9), SOONEST * asked)
        first = next((n for n in at if n + 1 >= soonest), 0) if ends_clear else 0
        return cls(tuple(at), tuple(far), tuple(2 / (n + 1) if n == first else 0.0 for n in at))

    def until(self, made: int) -> list[int]:
        """Return after how many draws p-values were made, the last number being that of all."""
        return [*(n for n in self.at if n < made), made]

    def spent(self, made: int) -> float:
        """Return what is added to p-values of so many draws: what was spent at earlier looks."""
        return math.fsum(clear for n, clear in zip(self.at, self.clear, strict=True) if n < made)

    def end(self, p: Sequence[ArrayLike], *, clear: bool = True) -> bool:
        """Return whether a family may end at the last of some looks, at each of which its p-values are given.

        All that are defined, one at least, were far, or ``clear``.
        """
        if not 0 < len(p) <= len(self.at):
            return False
        looked = self._at_looks(p)
        settled = [self._is_far(then, k) | (self._is_clear(then, k) & clear) for k, then in enumerate(looked)]
        defined = ~np.isnan(looked[-1])
        return bool(defined.any() and np.any(settled, axis=0)[defined].all())

    def told(self, p: Sequence[ArrayLike], made: int) -> Floats:
        """Return what is told of p-values, whose arrays at every look that was made and, last, now are given.

        Examples
        --------
        >>> looks = Looks.of(1000)
        >>> looks.told([[0.3, 0.04, 0.01]], 99).tolist()  # ended early
        [0.3, 0.2, 0.2]
        >>> looks.told([[0.3, 0.02], [0.22, 0.01], [0.2, 0.01], [0.2, 0.02], [0.02, 0.02]], 1000).tolist()
        [0.3, 0.025]
        """
        values = np.asarray(p[-1], dtype=np.float64)
        if not self.at:
            return values
        found = values + self.spent(made)
        if made in self.at:
            found = np.maximum(found, self.far[self.at.index(made)])
        looked = self._at_looks(p)
        for k, then in enumerate(looked):
            found = np.where(self._is_clear(then, k), then, found)
        for k, then in enumerate(looked):
            found = np.where(self._is_far(then, k), np.maximum(found, then + self.spent(self.at[k])), found)
        return np.asarray(np.minimum(found, 1.0))

    def told_of(self, p: Callable[[int], ArrayLike], made: int) -> Floats:
        """Return what is told of p-values that are made of the first so many draws."""
        return self.told([p(n) for n in self.until(made)], made)

    def _at_looks(self, p: Sequence[ArrayLike]) -> list[Floats]:
        """Return those of some p-values that are of early looks, which come first."""
        return [np.asarray(values, dtype=np.float64) for values in p[: len(self.at)]]

    def _is_far(self, p: Floats, k: int) -> NDArray[np.bool_]:
        return np.asarray(p + self.spent(self.at[k]) >= self.far[k])

    def _is_clear(self, p: Floats, k: int) -> NDArray[np.bool_]:
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

    def enough(self, p: Sequence[Floats], made: int, beside: Sequence[Floats] | None = None) -> bool:
        """Return whether corrected p-values, given as they were at each look, need no more draws, or get none.

        Nothing is claimed of p-values ``beside`` without a claim of the others, if there are any.
        """
        every = p if beside is None else [np.concatenate(both) for both in zip(p, beside, strict=True)]
        if made < self.asked:
            return self.looks.end(p, clear=False) or self.looks.end(every)
        return made >= self.most or not unsettled(self.looks.told(every, made), made, self.n_lenses)


def _far(n: int, level: float) -> float:
    """Return from which two-sided p of n draws on a test is far, as its smaller side has so many draws by chance."""
    from scipy.special import bdtrc

    side = level / 2
    counts = np.arange(math.ceil(n * side), math.ceil(n * side + 10 * math.sqrt(n * side)) + 10)
    least = int(counts[bdtrc(counts - 1.0, n, side) <= RISK][0])
    return min(1.0, 2 * (least + 1) / (n + 1))
