"""Fewer shuffles than requested: planned looks at which a family of tests may end, and the p-values for them.

Draws are joint, so all tests of a family end together. After n₁ < n₂ < … < N draws, the usual p-values p₁, p₂, …, p_N
are computed, raw and corrected, each from all draws so far. A look k has two bounds, fixed before any draw:

- **far**, a_k, above the level and never rising: a test with p ≥ a_k is given up.
- **clear**, b: at one look, a test with p ≤ b is considered certain. b is *spent* there: it is added to every p of
  later looks, and to p_N.

The family ends once every test that may make a claim was far or clear at a look, or after all N draws. The p-value
reported for a test, raw and corrected alike, is

1. if it was clear, p of that look; otherwise p of the last look plus what was spent and, at an early end, not less than
   a_k: so few draws say nothing about smaller p-values;
2. never less than p plus what was spent at any look at which it was far.

**Why this is valid.** With a number of draws fixed beforehand, p is valid, P(p ≤ α) ≤ α, since it treats the observed
labelling and the draws alike; standardising by all of them and taking the largest does not change that. Take any α, and
let k be the first look with a_k ≤ α, or N if there is none. Suppose α or less is reported for a test. Then it was not
far at a look j before k, since a_j > α, nor did the family end there unless the test was clear by then. So either it
was clear before k; or look k was reached, and p_k plus what was spent before k is α or less, because either no less is
reported (it was far at k, or the family ended there), or it was not far, and so below a_k ≤ α. The first has a
probability of at most b, the second of α − b; or of α and 0 if α < b, and of 0 and α if nothing was spent before k. The
sum is always α.

None of this depends on how p is corrected or on when exactly the family ends. Applied to the smallest corrected p of
all true hypotheses, the same argument shows that any false claim is made in at most 5 of 100 studies. The false
discovery rate is also kept: without a claim it is 0, claims at the look that spends are those of the procedure at level
b, and those after N draws are those at level .05 − b.

The far bound follows Besag and Clifford, who end a single test once enough draws have reached it; it is set so that a
test that N draws would find is hardly ever given up, which is the resampling risk of Fay and Follmann and of Gandy.
Spending follows interim looks in clinical trials (Lan and DeMets).

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

from plurivox.infer.families import SIGNIFICANT, unsettled

Floats = NDArray[np.float64]

FIRST = 100
"""The first look is after one draw fewer, so that p is a multiple of 1/100; each further one after twice as many."""
LATEST = 0.8
"""No look is later than this share of the requested draws: it would save little."""
RISK = 0.001
"""How likely a look is to find a test far whose p from infinitely many draws is the level; smaller ones less often."""
PARTS = 10
"""At most one part in this many of the level, over the lenses corrected together, is spent on clear differences."""
SOONEST = 1 / 8
"""The look that spends comes after this share of the requested draws, so that requesting more makes it cheaper."""


class Looks(NamedTuple):
    """When a family of tests may end early; :meth:`of` plans it.

    Attributes
    ----------
    at
        The numbers of draws after which to look, rising; empty if all draws are made.
    far
        For each look, the p from which on a test is given up.
    clear
        For each look, the p up to which a test is certainly below the level; 0 if none can be.
    """

    at: tuple[int, ...] = ()
    far: tuple[float, ...] = ()
    clear: tuple[float, ...] = ()

    @classmethod
    def of(cls, asked: int, *, level: float = SIGNIFICANT, n_lenses: int = 1, ends_clear: bool = True) -> Looks:
        """Plan the looks for a number of requested draws.

        Parameters
        ----------
        level
            The level of significance.
        n_lenses
            The most lenses over which the level is divided.
        ends_clear
            Whether clear p-values may also end it.

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
        """Return after how many draws p-values were computed; the last number is that of all."""
        return [*(n for n in self.at if n < made), made]

    def spent(self, made: int) -> float:
        """Return what is added to p-values after ``made`` draws: what was spent at earlier looks."""
        return math.fsum(clear for n, clear in zip(self.at, self.clear, strict=True) if n < made)

    def end(self, p: Sequence[ArrayLike], *, clear: bool = True) -> bool:
        """Return whether a family may end at the last of some looks, given its p-values at each of them.

        It may if all defined ones, at least one, were far or, if ``clear`` is set, clear.
        """
        if not 0 < len(p) <= len(self.at):
            return False
        looked = self._at_looks(p)
        settled = [self._is_far(then, k) | (self._is_clear(then, k) & clear) for k, then in enumerate(looked)]
        defined = ~np.isnan(looked[-1])
        return bool(defined.any() and np.any(settled, axis=0)[defined].all())

    def told(self, p: Sequence[ArrayLike], made: int) -> Floats:
        """Return the p-values to report, given their arrays at every look so far and, last, now.

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
        """Return the p-values to report, given a function that computes them from the first draws."""
        return self.told([p(n) for n in self.until(made)], made)

    def _at_looks(self, p: Sequence[ArrayLike]) -> list[Floats]:
        """Return the p-values of early looks, which come first."""
        return [np.asarray(values, dtype=np.float64) for values in p[: len(self.at)]]

    def _is_far(self, p: Floats, k: int) -> NDArray[np.bool_]:
        return np.asarray(p + self.spent(self.at[k]) >= self.far[k])

    def _is_clear(self, p: Floats, k: int) -> NDArray[np.bool_]:
        return np.asarray(p <= self.clear[k] * (1 + 1e-9)) & (self.clear[k] > 0)


ALL_DRAWS = Looks()
"""No look before all draws are made."""


class DrawPlan(NamedTuple):
    """How many draws a family of tests gets: as many as requested, more while p-values are undecided, or fewer.

    Attributes
    ----------
    asked, most
        How many draws are requested, and how many there may be.
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
        """Return the number of draws to make next in total."""
        if made < self.asked:
            return next((n for n in self.looks.at if n > made), self.asked)
        return min(2 * made, self.most)

    def enough(self, p: Sequence[Floats], made: int, beside: Sequence[Floats] | None = None) -> bool:
        """Return whether corrected p-values, given as they were at each look, need no more draws or get none.

        Nothing is claimed about p-values ``beside`` these without a claim among the others, if there are any.
        """
        every = p if beside is None else [np.concatenate(both) for both in zip(p, beside, strict=True)]
        if made < self.asked:
            return self.looks.end(p, clear=False) or self.looks.end(every)
        return made >= self.most or not unsettled(self.looks.told(every, made), made, self.n_lenses)

    def run(self, step: Callable[[int, int], tuple[Floats, Floats]]) -> tuple[list[Floats], list[Floats]]:
        """Make draws until p-values need no more: every test that shuffles until it is decided does so here.

        ``step`` is given how many draws there are and how many there should be, makes the rest, and returns the
        corrected p-values and others beside them; what it returned at each look is returned.
        """
        p: list[Floats] = []
        beside: list[Floats] = []
        made = 0
        while not self.enough(p, made, beside):
            wanted = self.after(made)
            for known, new in zip((p, beside), step(made, wanted), strict=True):
                known.append(new)
            made = wanted
        return p, beside


def _far(n: int, level: float) -> float:
    """Return the two-sided p of n draws from which on a test is far, by how many its smaller side has by chance."""
    from scipy.special import bdtrc

    side = level / 2
    counts = np.arange(math.ceil(n * side), math.ceil(n * side + 10 * math.sqrt(n * side)) + 10)
    least = int(counts[bdtrc(counts - 1.0, n, side) <= RISK][0])
    return min(1.0, 2 * (least + 1) / (n + 1))
