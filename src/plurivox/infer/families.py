"""Many tests at once: which p-values make a family, how they are adjusted for their number, and when shuffling ends.

By default, a family is everything that one call may claim: all groups, axes, parts of the items, and all statistics
that make claims. A study without any difference should claim something in at most 5 of 100 calls, however many groups
there are; so each deviation is compared with the largest one of each shuffle, all in standard deviations of their own
null::

    |z|  of the values, largest first      4.1   2.0   0.3
    max |z*| of the draw over these        2.2   1.9   0.8     each value against those not yet decided (step-down)

Values of one call depend on each other (two halves of the raters mirror one another, statistics share their sums); the
joint shuffles carry that dependence, where Bonferroni or Holm would count one finding many times. A value that can only
repeat another, as the second of two groups does, is in the family once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.arguments import MOST_DRAWS
from plurivox.base.errors import InputError
from plurivox.infer.permutation import TOLERANCE

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

SIGNIFICANT = 0.05
"""Below this, after correction, a p-value is significant."""
ERRORS = 2.0
"""A p-value within this many standard errors of the level is undecided."""


def standardised(observed: ArrayLike, null: ArrayLike) -> tuple[Floats, Floats]:
    """Return values and their draws in standard deviations from the mean of both together.

    The observed labelling is one of the relabellings, so it counts in the mean and the deviation. All are NaN if a
    value is undefined or draws do not vary.

    Examples
    --------
    >>> z, draws = standardised([3.0], [[1.0], [1.0], [3.0]])
    >>> z.tolist(), draws[:, 0].tolist()
    ([1.0], [-1.0, -1.0, 1.0])
    """
    values, draws = np.asarray(observed, dtype=np.float64), np.asarray(null, dtype=np.float64)
    together = np.concatenate([values[np.newaxis], draws])
    defined = np.isfinite(together)
    n = np.maximum(np.count_nonzero(defined, axis=0), 1)
    mean = np.where(defined, together, 0.0).sum(axis=0) / n
    deviation = np.sqrt(np.where(defined, (together - mean) ** 2, 0.0).sum(axis=0) / n)
    deviation = np.where(
        np.isfinite(values) & (deviation > TOLERANCE * np.maximum(1.0, np.abs(mean))), deviation, np.nan
    )
    scaled = np.where(defined, (together - mean) / deviation, np.nan)
    return scaled[0], scaled[1:]


def step_down(observed: ArrayLike, null: ArrayLike) -> Floats:
    """Return p-values adjusted for all values at once, from the largest deviation of every joint shuffle.

    Each value is standardised by its own null, z = (o − mean)/sd. From the largest ``|z|`` down, a value is compared
    with the largest ``|z*|`` that it and those below it have in each draw; no p is smaller than the one before::

        p = (#{max |z*| ≥ |z|} + 1) / (N + 1)

    Dependence between values is kept, and the smallest p does not grow with their number. Values that are undefined or
    do not vary are in no family and get NaN. If a draw is undefined for a value, that value is left out of the draw's
    maximum.

    Parameters
    ----------
    observed
        One value for each hypothesis.
    null
        Draws × hypotheses, with the same shuffles for all.

    References
    ----------
    Westfall & Young (1993), Resampling-based multiple testing, Wiley, algorithm 2.8.

    Examples
    --------
    >>> step_down([9.0, 0.0], [[1.0, -1.0], [-1.0, 2.0], [0.0, -2.0]]).tolist()
    [0.25, 1.0]
    """
    z, draws = standardised(observed, null)
    adjusted = np.full(z.shape, np.nan)
    order = np.argsort(np.where(np.isnan(z), np.inf, -np.abs(z)), kind="stable")[: np.count_nonzero(~np.isnan(z))]
    if len(order) == 0 or len(draws) == 0:
        return adjusted
    extent = np.abs(z[order])
    reached = np.where(np.isnan(draws[:, order]), -np.inf, np.abs(draws[:, order]))
    largest = np.maximum.accumulate(reached[:, ::-1], axis=1)[:, ::-1]  # of each value and those below it
    count = np.count_nonzero(largest >= extent * (1 - TOLERANCE), axis=0)
    adjusted[order] = np.maximum.accumulate((count + 1) / (len(draws) + 1))
    return adjusted


MORE = 10
"""Up to this many times the requested permutations are made while a p-value is undecided."""


def most_shuffles(asked: int, most: int | None) -> int:
    """Return how many shuffles may be made: ten times as many as requested, unless another number is given.

    Examples
    --------
    >>> most_shuffles(1000, None), most_shuffles(1000, 1000), most_shuffles(0, None)
    (10000, 1000, 0)
    """
    return max(asked, min(MORE * asked, MOST_DRAWS) if most is None else most)


def unsettled(p: ArrayLike, draws: int, n_lenses: int) -> bool:
    """Return whether any p-value is too close to the level, alone or after Holm's correction over some lenses."""
    return any(bool(undecided(p, draws, SIGNIFICANT / k).any()) for k in range(1, n_lenses + 1))


def undecided(p: ArrayLike, draws: ArrayLike, at: float = SIGNIFICANT) -> Bools:
    """Return which p-values from a number of draws are too close to the level to be on one side of it for certain.

    Examples
    --------
    >>> undecided([0.04, 0.001, 0.2], 999).tolist()
    [True, False, False]
    """
    values = np.asarray(p, dtype=np.float64)
    error = np.sqrt(values * (1 - values) / np.maximum(np.asarray(draws, dtype=np.float64), 1.0))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.abs(values - at) <= ERRORS * error)


def adjust(p: ArrayLike, method: str = "bh") -> Floats:
    """Return p-values adjusted for the number of tests in their family.

    With the m defined p-values in rising order p(1) ≤ … ≤ p(m)::

        bh           min over j ≥ i of  p(j) · m/j                       false discovery rate, independent tests
        by           bh times  1 + 1/2 + … + 1/m                         false discovery rate, any dependence
        holm         max over j ≤ i of  p(j) · (m − j + 1)               any false rejection
        bonferroni   p(i) · m                                            any false rejection
        none         p(i)

    each at most 1. Undefined p-values stay NaN and are not counted. The order of the tests does not matter.

    Parameters
    ----------
    p
        p-values of one family, in any shape, which the result keeps.
    method
        One of the names above.

    References
    ----------
    Benjamini & Hochberg (1995), JRSS B 57, 289–300; Benjamini & Yekutieli (2001), Annals of Statistics 29,
    1165–1188; Holm (1979), Scandinavian Journal of Statistics 6, 65–70.

    Examples
    --------
    >>> adjust([0.01, 0.04, 0.03, float("nan")]).tolist()
    [0.03, 0.04, 0.04, nan]
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}", hint=f"Choose one of {', '.join(METHODS)}.")
    values = np.asarray(p, dtype=np.float64)
    defined = ~np.isnan(values)
    raw = values[defined]
    if ((raw < 0) | (raw > 1)).any():
        raise InputError(f"p holds {raw[(raw < 0) | (raw > 1)][0]:g}", hint="Give p-values from 0 to 1, or NaN.")
    order = np.argsort(raw, kind="stable")
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(METHODS[method](raw[order]), 1.0)
    result = np.full(values.shape, np.nan)
    result[defined] = adjusted
    return result


def _benjamini_hochberg(p: Floats) -> Floats:
    # The factor comes first: it is at least 1, so that no adjusted value can be rounded below its raw one.
    factor = len(p) / np.arange(1.0, len(p) + 1)
    return np.minimum.accumulate((p * factor)[::-1])[::-1]


METHODS: dict[str, Callable[[Floats], Floats]] = {
    "bh": _benjamini_hochberg,
    "by": lambda p: _benjamini_hochberg(p) * float(np.sum(1 / np.arange(1.0, len(p) + 1))),
    "holm": lambda p: np.maximum.accumulate(p * np.arange(len(p), 0, -1.0)),
    "bonferroni": lambda p: p * len(p),
    "none": lambda p: p,
}
"""Maps the defined p-values in rising order to adjusted ones, not yet capped at 1."""


def corrected(rows: Sequence[Any], method: str, same: Callable[[Any], bool] | None = None) -> list[Any]:
    """Correct p-values within each family of the rows of a result; each hypothesis counts once.

    If ``same`` says so, the rows of an axis are one hypothesis: what the first of two groups says about the second,
    the second says about the first. The rows must be new: they are completed, not copied.
    """
    tested = [row for row in rows if row.p_value is not None]
    hypotheses = [row.hypothesis(of_axis=same is not None and same(row)) for row in tested]
    p = [math.nan if row.p_value is None else row.p_value for row in tested]
    adjusted = adjust_families(p, [row.family for row in tested], hypotheses, method)
    for row, value in zip(tested, adjusted, strict=True):
        row.set_adjusted(value)
    return list(rows)


def adjust_families(
    p: Sequence[float], families: Sequence[Hashable], hypotheses: Sequence[Hashable], method: str
) -> list[float]:
    """Return p-values adjusted within each family; each hypothesis counts once, by its first p-value.

    Examples
    --------
    >>> adjust_families([0.01, 0.01, 0.04, 0.5], ["a", "a", "a", "b"], [1, 1, 2, 1], "bonferroni")
    [0.02, 0.02, 0.08, 0.5]
    """
    found: dict[Hashable, dict[Hashable, list[int]]] = {}
    for number, (family, hypothesis) in enumerate(zip(families, hypotheses, strict=True)):
        found.setdefault(family, {}).setdefault(hypothesis, []).append(number)
    adjusted = [math.nan] * len(p)
    for tests in found.values():
        first = [p[numbers[0]] for numbers in tests.values()]
        for numbers, value in zip(tests.values(), adjust(first, method).tolist(), strict=True):
            for number in numbers:
                adjusted[number] = value
    return adjusted


# Stopping -------------------------------------------------------------------------------------------------------------
#
# Fewer shuffles than requested: planned looks at which a family of tests may end, and the p-values for them.
#
# Draws are joint, so all tests of a family end together. After n₁ < n₂ < … < N draws, the usual p-values p₁, p₂, …, p_N
# are computed, raw and corrected, each from all draws so far. A look k has two bounds, fixed before any draw:
#
# - **far**, a_k, above the level and never rising: a test with p ≥ a_k is given up.
# - **clear**, b: at one look, a test with p ≤ b is considered certain. b is *spent* there: it is added to every p of
#   later looks, and to p_N.
#
# The family ends once every test that may make a claim was far or clear at a look, or after all N draws. The p-value
# reported for a test, raw and corrected alike, is
#
# 1. if it was clear, p of that look; otherwise p of the last look plus what was spent and, at an early end, not less
#    than a_k: so few draws say nothing about smaller p-values;
# 2. never less than p plus what was spent at any look at which it was far.
#
# **Why this is valid.** With a number of draws fixed beforehand, p is valid, P(p ≤ α) ≤ α, since it treats the
# observed labelling and the draws alike; standardising by all of them and taking the largest does not change that.
# Take any α, and let k be the first look with a_k ≤ α, or N if there is none. Suppose α or less is reported for a
# test. Then it was not far at a look j before k, since a_j > α, nor did the family end there unless the test was
# clear by then. So either it was clear before k; or look k was reached, and p_k plus what was spent before k is α or
# less, because either no less is reported (it was far at k, or the family ended there), or it was not far, and so
# below a_k ≤ α. The first has a probability of at most b, the second of α − b; or of α and 0 if α < b, and of 0 and α
# if nothing was spent before k. The sum is always α.
#
# None of this depends on how p is corrected or on when exactly the family ends. Applied to the smallest corrected p
# of all true hypotheses, the same argument shows that any false claim is made in at most 5 of 100 studies. The false
# discovery rate is also kept: without a claim it is 0, claims at the look that spends are those of the procedure at
# level b, and those after N draws are those at level .05 − b.
#
# The far bound follows Besag and Clifford, who end a single test once enough draws have reached it; it is set so that a
# test that N draws would find is hardly ever given up, which is the resampling risk of Fay and Follmann and of Gandy.
# Spending follows interim looks in clinical trials (Lan and DeMets).
#
# References
# ----------
# Besag & Clifford (1991), Sequential Monte Carlo p-values, Biometrika 78, 301–304; Lan & DeMets (1983), Discrete
# sequential boundaries for clinical trials, Biometrika 70, 659–663; Fay & Follmann (2002), Designing Monte Carlo
# implementations of permutation or bootstrap hypothesis tests, American Statistician 56, 63–70; Gandy (2009),
# Sequential implementation of Monte Carlo tests with uniformly bounded resampling risk, JASA 104, 1504–1511.


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
