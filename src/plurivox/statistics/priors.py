"""A prior that the items themselves suggest: how raters use the scale, and how far items differ from one another.

Under a Dirichlet prior with the weights α, the counts of an item with m ratings follow the Dirichlet–multinomial
distribution. Their mean shares are α/a₀; the strength a₀ = Σ_c α_c says how alike items are: as it approaches 0, the
raters of each item all agree on one point; as it grows without bound, all items have the same shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.statistics import dirichlet
from plurivox.statistics.checks import Floats, counts_of

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


# The likelihood ------------------------------------------------------------------------------------------------------


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


# Its maximum ---------------------------------------------------------------------------------------------------------


def _fit(points: _Tally, totals: _Tally, pooled: Floats) -> tuple[Floats, bool, int]:
    """Return the weights with the highest likelihood, whether they converged, and after how many steps.

    For a given strength, the log-likelihood is concave in the weights, with a diagonal matrix of second derivatives:
    see :func:`_at_strength`. What remains is the strength. If items have very unequal numbers of ratings, there may be
    several maxima: the best of a coarse search is refined by Newton's method within a shrinking interval.
    """
    strengths = np.linspace(np.log(WEAKEST), np.log(STRONGEST), 13)
    found, weights = [], pooled
    for at in strengths[::-1]:
        found.append(_at_strength(points, totals, weights, at))
        weights = found[-1].weights
    found.reverse()
    steps = sum(one.steps for one in found)
    best = int(np.argmax([_log_likelihood(points, totals, one.weights, one.weights.sum()) for one in found]))
    beyond = best + (1 if found[best].rise > 0 else -1)
    if not 0 <= beyond < len(found):  # the likelihood still rises at the end
        return (found[best].weights, found[best].off <= _SETTLED, steps)
    low, high = sorted((strengths[best], strengths[beyond]))
    at, weights = (low + high) / 2, found[best].weights
    for _ in range(_MOST_STEPS):
        one = _at_strength(points, totals, weights, at)
        weights, steps = one.weights, steps + one.steps
        low, high = (at, high) if one.rise > 0 else (low, at)
        guess = at - one.rise / one.bend if one.bend < 0 else high
        guess = guess if low < guess < high else (low + high) / 2
        if abs(guess - at) <= 1e-10:
            return (weights, max(one.off, abs(one.rise)) <= _SETTLED, steps)
        at = guess
    return (weights, False, steps)


class _AtStrength(NamedTuple):
    """The best weights for a given strength, and how the likelihood changes with the strength."""

    weights: Floats
    rise: float
    bend: float
    off: float
    steps: int


def _at_strength(points: _Tally, totals: _Tally, weights: Floats, log_strength: float) -> _AtStrength:
    """Return the best weights for a given strength, by Newton's method with their sum held fixed.

    There, the first derivatives of all points have the same value ν, and the likelihood rises with the strength if ν
    is above the first derivative ζ of the totals' part: ``rise`` is ln(ν/ζ), ``bend`` its own slope, and ``off`` the
    largest relative deviation of a point's derivative from ν.
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
        weights, first, second = _step(points, weights, first, second, common)
        steps += 1
    (zeta,), (bend,) = _slopes(totals, np.array([strength]))
    slope = strength * (float(bend / zeta) - 1 / (common * float((1 / second).sum())))
    return _AtStrength(weights, float(np.log(common / zeta)), slope, off, steps)


def _step(
    points: _Tally, weights: Floats, first: Floats, second: Floats, common: float
) -> tuple[Floats, Floats, Floats]:
    """Return the weights after one step of Newton's method, shortened so as not to overshoot, and derivatives."""
    step = (first - common) / second
    climb = float(step @ (first - common))
    size = min(1.0, 0.9 / max(float((-step / weights).max()), 0.9))
    while True:
        moved = weights + size * step
        moved *= weights.sum() / moved.sum()
        slopes = _slopes(points, moved)
        if step @ (slopes[0] - common) >= -climb / 2 or size < 1e-9:
            return moved, *slopes
        size /= 2
