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
Items with equal counts are computed once. The last section fits a prior to the items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.statistics import dirichlet
from plurivox.statistics.checks import Floats, amount_of, counts_of, items_of, prior_of, values_of
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


# Priors ---------------------------------------------------------------------------------------------------------------
#
# A prior that the items themselves suggest: how raters use the scale, and how far items differ from one another.
#
# Under a Dirichlet prior with the weights α, the counts of an item with m ratings follow the Dirichlet–multinomial
# distribution. Their mean shares are α/a₀; the strength a₀ = Σ_c α_c says how alike items are: as it approaches 0, the
# raters of each item all agree on one point; as it grows without bound, all items have the same shares.


STRONGEST = 1e4
"""The largest strength of a fitted prior: compared with it, the ratings of an item hardly count."""
WEAKEST = 1e-2
"""The smallest: compared with it, a single rating is nearly everything."""
UNUSED = 1e-3
"""The weight of a point that nobody used: unlikely, but not impossible."""

_MOST_STEPS = 100
_SETTLED = 1e-8


@dataclass(frozen=True, slots=True)
class PriorFit:
    """A prior fitted to ratings.

    Attributes
    ----------
    alpha
        The weight of each point, to pass as ``prior``.
    strength
        Their sum a₀: the number of ratings that the prior is worth.
    converged
        Whether the fit converged: the gradient of the log-likelihood is 0 to within a relative 10⁻⁸.
    iterations
        The steps it took.
    log_likelihood
        The log probability of the counts under ``alpha``, in nats.
    capped
        Whether the strength was held at 10,000 because items differ no more than by chance.
    unused
        The positions of points that nobody used.
    n_items
        How many items have two ratings or more. Only these were used, as one rating does not show how raters differ.
    note
        What to know about the fit, in sentences; empty if nothing.
    """

    alpha: tuple[float, ...]
    strength: float
    converged: bool
    iterations: int
    log_likelihood: float
    capped: bool
    unused: tuple[int, ...]
    n_items: int
    note: str


def fit_prior(counts: ArrayLike) -> PriorFit:
    """Return the prior under which the counts of all items are most likely (empirical Bayes).

    The weights α that maximise Σ_i ln P(n_i | α), P(n | α) = m!/Π_c n_c! · Γ(a₀)/Γ(a₀ + m) · Π_c Γ(α_c + n_c)/Γ(α_c),
    over items i with m ≥ 2 ratings. The strength a₀ is kept between 0.01 and 10,000; points that nobody used are left
    out of the fit and then get the weight 0.001. If the strength cannot be estimated, as with one item or with all
    ratings on one point, the used points have the weight 1 on average, as in the usual prior.

    A prior fitted to the items it is then used for has seen them; if there are other items, fit it to those.

    Parameters
    ----------
    counts
        n, how many raters gave each point: items × points.

    Returns
    -------
    PriorFit
        The prior, and how the fit went. The order of items does not matter.

    References
    ----------
    Minka (2000), Estimating a Dirichlet distribution.

    Examples
    --------
    >>> fit = fit_prior([[3, 0, 0], [0, 3, 0], [1, 2, 0], [2, 1, 0], [0, 2, 0], [3, 0, 0]])
    >>> [round(weight, 3) for weight in fit.alpha], fit.unused, fit.n_items
    ([0.472, 0.452, 0.001], (2,), 6)
    >>> fit.note
    'Nobody used 1 of 3 points; it has the weight 0.001.'
    """
    table = counts_of("counts", counts)
    table = table[table.sum(axis=1) >= 2]
    if not len(table):
        raise InputError(
            "counts has no item with two ratings",
            hint="A prior is fitted to how raters of the same item differ. Give such items, or a prior such as 1.",
        )
    used = np.flatnonzero(table.any(axis=0))
    points, totals = _tally(table[:, used]), _tally(table.sum(axis=1, keepdims=True))
    told = len(used) > 1 and len(table) > 1
    pooled = _sums(points, points.n)
    unknown = (len(used) * pooled / pooled.sum(), True, 0)
    weights, converged, iterations = _fit(points, totals, pooled) if told else unknown
    alpha = np.full(table.shape[1], UNUSED)
    alpha[used] = weights
    strength = float(weights.sum())
    capped = told and strength > STRONGEST * (1 - 1e-9)
    return PriorFit(
        alpha=tuple(alpha.tolist()),
        strength=float(alpha.sum()),
        converged=converged,
        iterations=iterations,
        log_likelihood=_log_likelihood(points, totals, weights, float(alpha.sum())),
        capped=capped,
        unused=tuple(np.flatnonzero(~table.any(axis=0)).tolist()),
        n_items=len(table),
        note=_note(len(table), len(used), table.shape[1], strength, capped, converged),
    )


def _note(n_items: int, n_used: int, n_points: int, strength: float, capped: bool, converged: bool) -> str:
    """Return what to know about a fit."""
    said = []
    if n_used == 1:
        said.append("All ratings are on one point, so the strength is unknown; this point has the weight 1.")
    elif n_items == 1:
        said.append("Only one item has two ratings, so the strength is unknown; used points have weight 1 on average.")
    elif capped:
        said.append(f"Items differ no more than by chance, so the strength is held at {STRONGEST:,.0f}.")
    elif strength < WEAKEST * (1 + 1e-9):
        said.append(f"Raters of the same item hardly ever differ, so the strength is held at {WEAKEST:g}.")
    if not converged:
        said.append("The fit did not converge, so the weights may be off.")
    if n_used < n_points:
        each = "it has" if n_points - n_used == 1 else "each has"
        said.append(f"Nobody used {n_points - n_used} of {n_points} points; {each} the weight {UNUSED:g}.")
    return " ".join(said)


class _Tally(NamedTuple):
    """How many items have each count n > 0 in each column: all that the likelihood needs."""

    which: NDArray[np.intp]
    n: Floats
    items: Floats


def _tally(table: Floats) -> _Tally:
    """Return how many items have each count of each column."""
    found = [np.unique(column[column > 0], return_counts=True) for column in table.T]
    which = np.repeat(np.arange(len(found)), [len(n) for n, _ in found])
    return _Tally(which, np.concatenate([n for n, _ in found]), np.concatenate([k for _, k in found]).astype(float))


def _sums(tally: _Tally, terms: Floats) -> Floats:
    """Return the sum over items, for each column."""
    return np.bincount(tally.which, tally.items * terms).astype(np.float64)


def _slopes(tally: _Tally, weights: Floats) -> tuple[Floats, Floats]:
    """Return, for each column, the first and the negative second derivative of Σ_i ln Γ(α + n_i) − ln Γ(α)."""
    from scipy.special import polygamma

    x, n = weights[tally.which], tally.n
    first = 1 / x + dirichlet.digamma_rise(x + 1, n - 1)
    second = 1 / (x * x) + (polygamma(1, x + 1) - polygamma(1, x + n))
    return _sums(tally, first), _sums(tally, second)


def _log_likelihood(points: _Tally, totals: _Tally, weights: Floats, strength: float) -> float:
    """Return Σ_i ln P(n_i | α)."""
    given = points.items @ _log_rises(weights[points.which], points.n)
    return float(given - totals.items @ _log_rises(np.full(len(totals.n), strength), totals.n))


def _log_rises(x: Floats, n: Floats) -> Floats:
    """Return ln Γ(x + n) − ln Γ(x) − ln n!, by Stirling's formula, in which no term is as large as n ln n."""
    from scipy.special import gammaln

    up, down = x + n, n + 1
    rest = dirichlet.stirling_rest(up) - dirichlet.stirling_rest(down)
    result: Floats = (x - 1) * (np.log(up) - 1) + (down - 0.5) * np.log1p((x - 1) / down) + rest - gammaln(x)
    return result


def _fit(points: _Tally, totals: _Tally, pooled: Floats) -> tuple[Floats, bool, int]:
    """Return the weights with the highest likelihood, whether they converged, and after how many steps.

    For a given strength, the log-likelihood is concave in the weights, with a diagonal matrix of second derivatives:
    see :func:`_at_strength`. What remains is the strength. If items have very unequal numbers of ratings, there may be
    several maxima: the best of a coarse search is refined by Newton's method within a shrinking interval.
    """
    strengths = np.linspace(np.log(WEAKEST), np.log(STRONGEST), 13)
    found, weights, steps = [], pooled, 0
    for at in strengths[::-1]:
        weights, rise, _, off, more = _at_strength(points, totals, weights, at)
        found.append((_log_likelihood(points, totals, weights, weights.sum()), weights, rise, off))
        steps += more
    found.reverse()
    best = int(np.argmax([value for value, *_ in found]))
    _, weights, rise, off = found[best]
    beyond = best + (1 if rise > 0 else -1)
    if not 0 <= beyond < len(found):  # the likelihood still rises at the end
        return weights, off <= _SETTLED, steps
    low, high = sorted((strengths[best], strengths[beyond]))
    at = (low + high) / 2
    for _ in range(_MOST_STEPS):
        weights, rise, bend, off, more = _at_strength(points, totals, weights, at)
        steps += more
        low, high = (at, high) if rise > 0 else (low, at)
        guess = at - rise / bend if bend < 0 else high
        guess = guess if low < guess < high else (low + high) / 2
        if abs(guess - at) <= 1e-10:
            return weights, max(off, abs(rise)) <= _SETTLED, steps
        at = guess
    return weights, False, steps


def _at_strength(
    points: _Tally, totals: _Tally, weights: Floats, log_strength: float
) -> tuple[Floats, float, float, float, int]:
    """Return the best weights for a given strength, by Newton's method with their sum held fixed.

    There, the first derivatives of all points have the same value ν, and the likelihood rises with the strength if ν
    is above the first derivative ζ of the totals' part: ``rise`` is ln(ν/ζ), ``bend`` its own slope, and ``off`` the
    largest relative deviation of a point's derivative from ν. They follow the weights, and the number of steps follows.
    A step is shortened so as not to overshoot.
    """
    strength = float(np.exp(log_strength))
    weights = weights * (strength / weights.sum())
    first, second = _slopes(points, weights)
    off, steps = np.inf, 0
    while True:
        common = float((first / second).sum() / (1 / second).sum())
        last, off = off, float(np.abs(weights * (first - common)).max() / (strength * common))
        if off <= 1e-13 or steps == _MOST_STEPS or (off <= 1e-10 and off > last / 2):  # as near as rounding allows
            break
        step = (first - common) / second
        climb, size = float(step @ (first - common)), min(1.0, 0.9 / max(float((-step / weights).max()), 0.9))
        while True:
            moved = weights + size * step
            moved *= weights.sum() / moved.sum()
            first, second = _slopes(points, moved)
            if step @ (first - common) >= -climb / 2 or size < 1e-9:
                break
            size /= 2
        weights, steps = moved, steps + 1
    (zeta,), (bend,) = _slopes(totals, np.array([strength]))
    slope = strength * (float(bend / zeta) - 1 / (common * float((1 / second).sum())))
    return weights, float(np.log(common / zeta)), slope, off, steps
