"""How much of a group's own view its chosen raters keep.

The deviation of a group is how far its mean score of an item is from what the other raters' mean predicts. A rater's
leniency is removed, and so is a wider or narrower use of the scale, since neither is a view of single items: a group
with some members who always give the same score would otherwise seem to deviate on every item. The share kept is the
slope of the chosen raters' deviation on that of the rest of their group. With S the chosen, U the group without them, R
the others, x̄ means of an item, and covariances over items::

    d_U = x̄_U − b_U x̄_R,  b_U = Cov(x̄_U, x̄_R) / Var(x̄_R),  d_S alike;  kept = Cov(d_S, d_U) / Var(d_U)

The variances of x̄_U and x̄_R are reduced by the mean of s²/n, the sampling error of their means, so that noise counts
neither as deviation nor, through R, as something that both share. A random choice gives 1 on average.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.actions.select.result import NOISE
from plurivox.domain.ratings import Ratings
from plurivox.lenses.responsiveness.peers import Floats, leniencies

LEAST_ITEMS = 10
"""Items that chosen, group and others must share."""
PARTS = 20
"""Parts of the items that are left out in turn."""
SURE = 3.0
"""A deviation is distinguished from none if its variance is this many standard errors above 0."""


class ShareKept(NamedTuple):
    """The share kept with its 95 % interval over items; NaN with the reason if it cannot be measured."""

    share: float
    low: float
    high: float
    n_items: int
    note: str


def centred(ratings: Ratings) -> Floats:
    """Return the scores as values of the scale, without each rater's leniency."""
    values = np.asarray(ratings.scale.values, float)[ratings.scores]
    return np.asarray(values - np.nan_to_num(leniencies(ratings, values))[ratings.codes_of_raters], np.float64)


def kept(
    ratings: Ratings, scores: Floats, members: NDArray[np.bool_], rest: NDArray[np.bool_], chosen: NDArray[np.bool_]
) -> ShareKept:
    """Return the share of its deviation that a group keeps in its chosen raters.

    Parameters
    ----------
    scores
        Of each rating, from :func:`centred`.
    members, rest, chosen
        For each rater, whether they are in the group, among the others on the axis, and chosen.
    """
    nothing = ShareKept(math.nan, math.nan, math.nan, 0, "")
    if not chosen.any():
        return nothing
    if not (members & ~chosen).any():
        return nothing._replace(note="all its raters are chosen")
    s, u, r = (_means(ratings, scores, who) for who in (chosen, members & ~chosen, rest))
    shared = (s.n >= 1) & (u.n >= 2) & (r.n >= 2)
    n_items = int(np.count_nonzero(shared))
    if n_items < LEAST_ITEMS:
        return nothing._replace(n_items=n_items, note="chosen, group and others share too few items")
    s, u, r = (_Means(one.n[shared], one.mean[shared], one.noise[shared]) for one in (s, u, r))
    whole = _parts(s, u, r, np.ones(n_items, bool))
    of = np.arange(n_items) % PARTS
    without = np.array([_parts(s, u, r, of != part) for part in range(min(PARTS, n_items))])
    error = _jackknife_error(without[:, 1])
    if not whole[1] > SURE * error:
        return nothing._replace(n_items=n_items, note=NOISE)
    share = whole[0] / whole[1]
    reach = 2.09 * _jackknife_error(without[:, 0] / without[:, 1])  # t, 19 degrees of freedom
    return ShareKept(share, share - reach, share + reach, n_items, "")


class _Means(NamedTuple):
    """For each item, how many scores, their mean, and its squared sampling error (0 if unknown)."""

    n: Floats
    mean: Floats
    noise: Floats


def _means(ratings: Ratings, scores: Floats, who: NDArray[np.bool_]) -> _Means:
    own = who[ratings.codes_of_raters]
    items, x = ratings.item_codes[own], scores[own]
    n, total, squares = (
        np.bincount(items, weights, minlength=ratings.n_items).astype(np.float64)
        for weights in (np.ones(len(x)), x, x**2)
    )
    mean = total / np.maximum(n, 1)
    variance = (squares - n * mean**2) / np.maximum(n - 1, 1)
    return _Means(n, mean, np.where(n > 1, np.maximum(variance, 0.0) / np.maximum(n, 1), 0.0))


def _parts(s: _Means, u: _Means, r: _Means, use: NDArray[np.bool_]) -> tuple[float, float]:
    """Return the covariance of the chosen's deviation with the group's, and the variance of the group's."""
    x, y, z = (one.mean[use] - one.mean[use].mean() for one in (s, u, r))
    n = len(x) - 1
    others = float(z @ z / n - r.noise[use].mean())
    if others <= 0:
        return math.nan, math.nan
    like_others = float(y @ z) / n / others
    covariance = float(x @ y - like_others * (x @ z)) / n
    variance = float(y @ y - like_others * (y @ z)) / n - float(u.noise[use].mean())
    return covariance, variance


def _jackknife_error(without: Floats) -> float:
    n = len(without)
    return float(np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum()))
