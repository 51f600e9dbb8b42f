"""Many tests at once: which p-values make a family, and how they are adjusted for their number.

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
from typing import Any

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
