"""Raters held against what raters of the same items do.

A value such as WRA depends on the items as much as on the rater: who got a harder batch has a lower one. So a rater is
compared with what would be expected of another rater of these items, the rater left out. In blocks of raters who saw
the same items that is the median of the others of the block. Else values are a mean of effects of the rater's items,
drawn from one normal distribution, beside what is the rater's own, and what is expected follows from the values of
those who share items with the rater (best linear prediction, the rater left out).

What is left over is held against the spread of the others around their own expectation. The spread is Rousseeuw and
Croux's Q_n (1993), which a fifth of careless raters hardly moves, so that they do not hide one another. The tail
probability is calibrated for raters drawn from one population with normal residuals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurivox.engine.exchange import Exchange
from plurivox.ratings import Ratings

Floats = NDArray[np.float64]

LEAST_PEERS = 5
"""With fewer others to compare with, nothing is said of a rater."""
MOST_LEFT_OUT = 200
"""Up to so many raters each is left out of the spread in turn; in larger sets one rater hardly moves it."""
MOST_PAIRED = 1000
"""So many values the spread is computed of, at most: evenly spaced ones of those sorted."""
NEAR = 0.02
MOST_TOGETHER = 1500
"""So many raters are predicted from one another, at most; more are dealt into parts."""
EFFICIENCY = 0.82
"""Of Q_n beside the standard deviation, for normal values: so many degrees of freedom are left of one."""
TAILS = 4.0
"""Degrees of freedom of the values of ordinary raters, of whom few are much more lenient than others and so far lower."""
FAR = 3.0
"""Values further out, in spreads, are drawn in before anything is expected of others from them."""
_RATIOS = np.concatenate(([0.0], np.geomspace(1e-2, 1e3, 31)))


@dataclass(frozen=True, slots=True, eq=False)
class Peers:
    """What is expected of raters, and how far each is from it; NaN where it cannot be told.

    Attributes
    ----------
    expected
        The value to expect of another rater of the same items.
    residual
        The value less that.
    z
        The residual in spreads of the others'.
    below, above
        How likely a rater of the same population is so far below, or above.
    n_peers
        With how many others each is compared.
    adjusted
        Whether there are no blocks, so that values were adjusted for the items.
    """

    expected: Floats
    residual: Floats
    z: Floats
    below: Floats
    above: Floats
    n_peers: NDArray[np.int64]
    adjusted: bool

    @property
    def either(self) -> Floats:
        """How likely a rater of the same population is so far on either side."""
        return np.minimum(1.0, 2 * np.fmin(self.below, self.above))


def against_peers(values: Floats, ratings: Ratings, exchange: Exchange, errors: Floats | None = None, top=1.0) -> Peers:
    """Hold each rater's value against those of raters of the same items.

    Parameters
    ----------
    values
        One for each rater; NaN where undefined, and such raters are nobody's peers.
    ratings
        Whose raters they are.
    exchange
        Blocks of raters who saw the same items, or given strata; else values are adjusted for items.
    errors
        Standard errors of the values where raters have unlike numbers of ratings; only their ratios matter.
    """
    whole = values
    if top is not None:
        errors = None if errors is None else errors/(top-values+NEAR)
        values = -np.log(top - values + NEAR)
    known = np.isfinite(values)
    given = np.full(len(values), np.nan) if errors is None else errors
    apart = exchange.kind == "all"
    strata = np.zeros(len(values), np.int64) if exchange.strata is None else exchange.strata.astype(np.int64)
    found = np.full((4, len(values)), np.nan)
    n_peers = np.zeros(len(values), np.int64)
    if apart:
        part = np.flatnonzero(known)
        groups = [part[at :: -(-len(part) // MOST_TOGETHER)] for at in range(-(-len(part) // MOST_TOGETHER))]
    else:
        groups = [np.flatnonzero(known & (strata == number)) for number in np.unique(strata[known & (strata >= 0)])]
    for own in groups:
        n_peers[own] = len(own) - 1
        if len(own) > LEAST_PEERS:
            found[:, own] = _predicted(values[own], given[own], ratings, own) if apart else _block(values[own], given[own])
    expected, z, below, above = found
    if top is not None:
        expected = top + NEAR - np.exp(-expected)
    return Peers(expected, whole - expected, z, below, above, n_peers, apart)


def _block(values: Floats, errors: Floats) -> Floats:
    """Return what is expected, z and both tails for raters of one block."""
    sizes = _sizes(values, errors)
    middle = _without_each(values, np.median)
    return _tails(middle, (values - middle) / sizes, math.pi / 2)


def _tails(expected: Floats, x: Floats, looseness: float) -> Floats:
    """Return z and tails of residuals x, whose expectation has ``looseness`` / n of their variance."""
    from scipy.stats import t

    n = len(x) - 1
    scale = _without_each(x - np.median(x), spread)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(x == 0, 0.0, x / (scale * math.sqrt(1 + looseness / n)))
    freedom = 1 / (1 / TAILS + 1 / (EFFICIENCY * (n - 1)))
    return np.stack([expected, z, t.cdf(z, freedom), t.sf(z, freedom)])


def _sizes(values: Floats, errors: Floats) -> Floats:
    """Return how much each value scatters, up to a factor: between raters, and its own sampling error."""
    known = np.isfinite(errors)
    if not known.any():
        return np.ones(len(values))
    squares = np.where(known, errors, np.median(errors[known])) ** 2
    between = max(0.0, spread(values) ** 2 - float(np.median(squares)))
    sizes = np.sqrt(between + squares)
    return sizes if (sizes > 0).all() else np.ones(len(values))


def _without_each(values: Floats, of: object) -> Floats:
    """Return a function of the others for each value; in large sets of all."""
    assert callable(of)
    if len(values) > MOST_LEFT_OUT:
        return np.full(len(values), float(of(values)))
    return np.array([float(of(np.delete(values, at))) for at in range(len(values))])


def spread(values: Floats) -> float:
    """Return Rousseeuw and Croux's Q_n: about the lower quartile of all distances between two values.

    Scaled to estimate the standard deviation of normal values without bias, also of few.
    """
    values = np.sort(values)
    n = len(values)
    if n < 2:
        return math.nan
    if n > MOST_PAIRED:
        values = values[np.linspace(0, n - 1, MOST_PAIRED).round().astype(np.int64)]
        n = MOST_PAIRED
    first, second = np.triu_indices(n, 1)
    half = n // 2 + 1
    at = half * (half - 1) // 2 - 1
    return float(np.partition(values[second] - values[first], at)[at]) * 2.2219 * _few(n)


def _few(n: int) -> float:
    """Return the correction of Q_n for few values: Croux and Rousseeuw's table (1992) up to 9, their formula above."""
    table = {2: 0.399, 3: 0.994, 4: 0.512, 5: 0.844, 6: 0.611, 7: 0.857, 8: 0.669, 9: 0.872}
    return table.get(n) or (n / (n + 1.4) if n % 2 else n / (n + 3.8))


def _predicted(values: Floats, errors: Floats, ratings: Ratings, raters: NDArray[np.intp]) -> Floats:
    """Return what is expected, z and both tails for raters who share some items with some.

    With X a column of ones (and of 1/√n where raters have unlike numbers n of ratings, since MPA of few is lower), K the
    covariance of means over the raters' items of item effects of variance 1, D what is each rater's own, the covariance of the
    values is φ·(λK + D). λ is that of the largest restricted likelihood. Without rater r, the value expected of r is off
    by (Py)_r / P_rr, which has the variance φ / P_rr, where P = C⁻¹ − C⁻¹X(X'C⁻¹X)⁻¹X'C⁻¹ (Craven and Wahba 1979).
    """
    own = _sizes(values, errors)
    design, shared = _shared(ratings, raters)
    middle, width = np.median(values), spread(values)
    drawn_in = np.clip(values, middle - FAR * width, middle + FAR * width)
    k, axes = np.linalg.eigh(shared / np.outer(own, own))
    y, x = axes.T @ (drawn_in / own), axes.T @ (design / own[:, np.newaxis])
    k = np.maximum(k, 0.0) / max(float(k.mean()), 1e-300)
    ratio = max(_RATIOS.tolist(), key=lambda one: _likelihood(one, k, x, y))
    weights = 1 / (1 + ratio * k)
    root = np.linalg.cholesky(np.linalg.inv(x.T @ (weights[:, np.newaxis] * x)))
    side = axes @ (weights[:, np.newaxis] * x) @ root
    diagonal = (axes**2) @ weights - (side**2).sum(axis=1)
    projected = axes @ (weights * y) - side @ (side.T @ (drawn_in / own))
    # Nothing is left of a rater who alone decides a column of X.
    diagonal = np.where(diagonal > 1e-9, diagonal, np.nan)
    expected = drawn_in - own * projected / diagonal
    return _tails(expected, (values - expected) / own * np.sqrt(diagonal), 0.0)


def _shared(ratings: Ratings, raters: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return the columns X and the matrix K of some raters."""
    from scipy.sparse import csr_array

    codes = ratings.codes_of_raters
    n = np.bincount(codes, minlength=ratings.n_raters).astype(float)
    rated = csr_array((1 / n[codes], (codes, ratings.item_codes)), shape=(ratings.n_raters, ratings.n_items))[raters]
    columns = [np.ones(len(raters))]
    if n[raters].std() > 0.05 * n[raters].mean():
        columns.append(1 / np.sqrt(n[raters]))
    return np.stack(columns, axis=1), np.asarray((rated @ rated.T).todense())


def _likelihood(ratio: float, k: Floats, x: Floats, y: Floats) -> float:
    """Return the restricted log-likelihood of how large item effects are, up to a constant."""
    weights = 1 / (1 + ratio * k)
    inner = x.T @ (weights[:, np.newaxis] * x)
    off = y - x @ np.linalg.solve(inner, x.T @ (weights * y))
    freedom = len(y) - x.shape[1]
    residual = float((weights * off**2).sum())
    if residual <= 0:
        return -math.inf if ratio else math.inf
    return float(np.log(weights).sum() - np.linalg.slogdet(inner)[1] - freedom * math.log(residual)) / 2
