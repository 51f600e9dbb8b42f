"""How much a few ratings tell about an item: what one more would teach, credible intervals, and how many are enough.

Every function takes the counts of one item, a row of numbers over the points of the scale, or of many, items × points.
A prior, with some weight α on every point, and the counts n give the posterior: the item's distribution over points is
p ~ Dirichlet(a), a = α + n, a₀ = Σ_c a_c. For an item without ratings, the posterior is the prior.

==================================== ==================================================================
information_gain                     how much would one more rating teach, in nats?
share_interval                       between which shares is the probability of each point?
mean_interval                        between which scores is the item's mean score?
ratings_needed                       how many ratings make the mean score as precise as desired?
==================================== ==================================================================

Intervals are equal-tailed: with probability ``level``, the truth is inside, and it is as likely below as above.
Items with equal counts are computed once. The last section, the integral behind ``mean_interval``, is why this module
is longer than others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.statistics import dirichlet
from plurivox.statistics.checks import Floats, amount_of, items_of, prior_of, values_of
from plurivox.statistics.dirichlet import Heights, beta_quantiles, mean_ends, moments
from plurivox.statistics.soft import Value

_ROWS = 1 << 15
"""How many items are processed at a time, so that temporary arrays stay small."""
_HIGHEST_LEVEL = 0.999999


def information_gain(counts: ArrayLike, prior: ArrayLike = 1.0, *, weighted: bool = False) -> Value:
    """Return how much one more rating is expected to teach about an item's distribution, in nats.

    This is the entropy of the posterior now minus its expectation after one more rating, which is the mutual
    information of that rating and p: I = Σ_c μ_c (ψ(a_c + 1) − ln a_c) − (ψ(a₀ + 1) − ln a₀), μ = a/a₀, ψ the digamma
    function.

    Parameters
    ----------
    counts
        n, how many raters gave each point: one item (points) or many (items × points).
    prior
        α, the weight of each point before any rating: a positive number for all, or one for each point.
    weighted
        Whether counts are sums of raters' weights, which need not be whole numbers.

    Returns
    -------
    float or array of float
        At least 0; near ln L on L points without ratings under a weak prior, where one rating tells everything; about
        (L − 1)/(2n) after many ratings n.

    References
    ----------
    Lindley (1956), On a measure of the information provided by an experiment.

    Examples
    --------
    >>> round(information_gain([0, 0]), 4)  # ln 2 − ½
    0.1931
    >>> information_gain([[1, 0, 0], [10, 0, 0], [4, 3, 3]]).round(3)
    array([0.206, 0.065, 0.073])
    """
    table, single = items_of("counts", counts, whole=not weighted)
    weights = prior_of(prior, table.shape[1])
    parts = [_information(table[at : at + _ROWS] + weights) for at in range(0, max(len(table), 1), _ROWS)]
    return float(parts[0][0]) if single else np.concatenate(parts)


def share_interval(
    counts: ArrayLike, prior: ArrayLike = 1.0, level: float = 0.95, *, weighted: bool = False
) -> tuple[Floats, Floats]:
    """Return the credible interval of the probability of each point, p_c ~ Beta(a_c, a₀ − a_c).

    Parameters
    ----------
    counts, prior, weighted
        n, α and whether n are weights, as in :func:`information_gain`.
    level
        The probability that the truth is inside, at most 0.999999.

    Returns
    -------
    tuple of two arrays of float
        The lower and the upper ends, each of the shape of ``counts``. Below 10⁻²⁹⁰, an end is 0.

    References
    ----------
    Gelman et al. (2013), Bayesian Data Analysis, section 2.

    Examples
    --------
    >>> low, high = share_interval([3, 0, 1])
    >>> low.round(3), high.round(3)
    (array([0.223, 0.004, 0.043]), array([0.882, 0.459, 0.641]))
    """
    table, single = items_of("counts", counts, whole=not weighted)
    weights, tail = prior_of(prior, table.shape[1]), _tail(level)
    totals, others = table.sum(axis=1), dirichlet.others(weights)
    low, high = np.empty_like(table), np.empty_like(table)
    for c, own in enumerate(table.T):
        first, at = _distinct(np.stack([own, totals - own], axis=1))
        a, b = own[first] + weights[c], (totals - own)[first] + others[c]
        low[:, c] = beta_quantiles(a, b, tail, upper=False)[at]
        high[:, c] = beta_quantiles(a, b, tail, upper=True)[at]
    return (low[0], high[0]) if single else (low, high)


def mean_interval(
    counts: ArrayLike, values: ArrayLike | None = None, prior: ArrayLike = 1.0, level: float = 0.95, *,
    weighted: bool = False,
) -> tuple[Value, Value]:  # fmt: skip
    """Return the credible interval of an item's mean score, Σ_c v_c p_c.

    It is exact, although its distribution has no closed form: a Dirichlet distribution is that of independent G_c ~
    Gamma(a_c) divided by their sum, so P(Σ_c v_c p_c ≤ t) = P(Σ_c (v_c − t) G_c ≤ 0), which follows from the
    characteristic function Π_c (1 − i(v_c − t)u)^(−a_c) by an integral.

    Parameters
    ----------
    counts, prior, level, weighted
        As in :func:`share_interval`.
    values
        v, the number of each point, rising; 0, 1, 2, … by default.

    Returns
    -------
    tuple of two floats, or of two arrays of float
        The lower and the upper end. The probability below each end is right to 10⁻⁹, or the end to its last digits.

    References
    ----------
    Imhof (1961), Computing the distribution of quadratic forms in normal variables.

    Examples
    --------
    >>> low, high = mean_interval([0, 1, 4, 2, 0])
    >>> round(low, 4), round(high, 4)
    (1.5017, 2.6413)
    >>> low, high = mean_interval([[0, 0], [5, 5]], values=[1, 2])
    >>> low.round(3), high.round(3)
    (array([1.025, 1.234]), array([1.975, 1.766]))
    """
    table, single = items_of("counts", counts, whole=not weighted)
    weights, tail = prior_of(prior, table.shape[1]), _tail(level)
    scale = _scale(values, table.shape[1])
    first, at = _distinct(table)
    blocks = (table[first[start : start + _ROWS]] + weights for start in range(0, max(len(first), 1), _ROWS))
    parts = zip(*(mean_ends(a, scale, tail) for a in blocks), strict=True)
    low, high = (np.concatenate(ends)[at] for ends in parts)
    return (float(low[0]), float(high[0])) if single else (low, high)


def ratings_needed(
    counts: ArrayLike, precision: float, values: ArrayLike | None = None, prior: ArrayLike = 1.0, level: float = 0.95,
    *, weighted: bool = False,
) -> Value:  # fmt: skip
    """Return how many ratings, including existing ones, make an item's mean score as precise as desired.

    The variance of the mean score is now V = (Σ_c μ_c v_c² − (Σ_c μ_c v_c)²)/(a₀ + 1), μ = a/a₀. After m more ratings
    it is expected to be V·a₀/(a₀ + m), by the law of total variance. The smallest m for which this is at most
    (precision/z)² is counted, where z is the normal quantile for ``level``.

    Parameters
    ----------
    counts, values, prior, level, weighted
        As in :func:`mean_interval`, for the desired interval.
    precision
        Half the width of the desired interval of the mean score, in the unit of ``values``; above 0.

    Returns
    -------
    float or array of float
        Whole numbers, including existing ratings; the existing number if that is enough.

    References
    ----------
    Adcock (1997), Sample size determination: a review.

    Examples
    --------
    >>> ratings_needed([0, 1, 4, 2, 0], precision=0.25)
    57.0
    >>> ratings_needed([0, 1, 4, 2, 0], precision=1)
    7.0
    """
    from scipy.special import ndtri

    table, single = items_of("counts", counts, whole=not weighted)
    wanted, tail = amount_of("precision", precision), _tail(level)
    if not wanted:
        raise InputError(f"precision is {precision!r}", hint="Give a number above 0, such as 0.5 points of the scale.")
    a, scale = table + prior_of(prior, table.shape[1]), _scale(values, table.shape[1])
    deviation = np.sqrt(moments(a, scale.v)[2]) * (scale.highest / 2 - scale.lowest / 2)  # halves do not overflow
    with np.errstate(over="ignore"):  # infinitely many, if the precision is out of reach
        more = a.sum(axis=1) * ((deviation * ndtri(tail) / (wanted / 2)) ** 2 - 1)
    needed = table.sum(axis=1) + np.maximum(np.ceil(more * (1 - 1e-12)), 0.0)  # not one more for rounding's sake
    return float(needed[0]) if single else needed


# Helpers -------------------------------------------------------------------------------------------------------------


def _scale(values: ArrayLike | None, n_points: int) -> Heights:
    """Return the numbers of the points, 0, 1, 2, … by default."""
    heights = values_of(values, n_points)
    numbers = heights if values is None else np.asarray(values, dtype=float)
    return Heights(heights / heights[-1], float(numbers[0]), float(numbers[-1]))


def _tail(level: float) -> float:
    """Return the probability on each side of an interval."""
    share = amount_of("level", level)
    if not 0 < share <= _HIGHEST_LEVEL:
        raise InputError(
            f"level is {level!r}", hint=f"Give a probability above 0 and at most {_HIGHEST_LEVEL}, such as 0.95."
        )
    return (1 - share) / 2


def _distinct(counts: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return where each distinct row is first, and for each row which of these it equals."""
    if (counts != np.floor(counts)).any():  # weights
        _, first, at = np.unique(counts, axis=0, return_index=True, return_inverse=True)
        return first, at.ravel()
    code, size = np.zeros(len(counts), dtype=np.int64), 1
    for column in counts.T if len(counts) else ():
        digit, base = column, int(column.max()) + 1
        if size * base >= 2**62:  # one number for a whole row would be too large: number what occurs
            code, digit = (np.unique(x, return_inverse=True)[1] for x in (code, column))
            size, base = int(code.max()) + 1, int(digit.max()) + 1
        code, size = code * base + digit.astype(np.int64), size * base
    _, first, at = np.unique(code, return_index=True, return_inverse=True)
    return first, at


def _information(a: Floats) -> Floats:
    """Return Σ_c μ_c (r(a_c) − r(a₀)) with r(x) = ψ(x + 1) − ln x, which falls: no term is below 0."""
    a0 = a.sum(axis=1, keepdims=True)
    gaps = a / a0 * (dirichlet.digamma_rest(a) - dirichlet.digamma_rest(a0))
    return np.asarray(np.maximum(gaps.sum(axis=1), 0.0))
