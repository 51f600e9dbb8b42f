"""View correlation: whether a group and the rest order the items alike, apart from noise, leniency and spread.

A sum over items, then a finish. Scores are numbers, and each rater's own mean over all their items is subtracted. For
an item with two ratings or more on each side, x is the group's mean, r that of the rest, and e, f are the sampling
variances s²/n of the two, where s² has the divisor n − 1.

================ ======= ============================ ============================
contribution     parts   layout                       items that count
================ ======= ============================ ============================
view_parts       8       1; x; r; x·r; x²; r²; e; f   n ≥ 2 on both sides
================ ======= ============================ ============================

If raters have weights w, let W = Σw and Q = Σw²: a mean is Σwy/W, s² = Σw(y − mean)²/(W − Q/W), and its sampling
variance is s²·Q/W². In lenses, the sums come from ``kernels/moments``; a rater's mean is that of all their ratings in
every draw, even if items are drawn.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from plurivox.statistics.checks import sides_of
from plurivox.statistics.cohesion.sums import ROUNDING
from plurivox.statistics.levels import Floats
from plurivox.statistics.records import About, Known, Slots, Statistic

MIN_ITEMS = 3
FEW_ITEMS = "fewer than three items have two ratings on each side"
GROUP_NOISE = "the group's item means differ no more than sampling explains"
REST_NOISE = "the rest's item means differ no more than sampling explains"


def view_correlation(scores_group: ArrayLike, scores_rest: ArrayLike) -> float:
    """Return the correlation of two sides' views of the items, corrected for the noise of their means.

    Cov_i(x, r)/√(V_x V_r), V_x = Var_i(x) − mean_i(s²_i/n_i), over the K items with two scores or more on each side.
    x_i and r_i are the sides' means of an item, and s²_i/n_i is the sampling variance of such a mean. The mean of each
    rater over all their items is subtracted from their scores first. Variance and covariance over items have the
    divisor K − 1, and s²_i has n_i − 1.

    Parameters
    ----------
    scores_group, scores_rest
        Items × raters of either side, NaN where a rater did not score an item; the same items in the same rows.

    Returns
    -------
    float
        1 if both sides have the same view of the items, apart from noise, leniency and spread; 0 if their views have
        nothing in common; below 0 if they are opposed. It is not clipped, so sampling may take it above 1 or below −1.
        NaN if fewer than three items count, or a side's means differ no more than sampling explains.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things, for the correction for attenuation.

    Examples
    --------
    >>> group = [[0, 1], [1, 2], [2, 3], [3, 4]]  # a second rater who gives one point more
    >>> round(view_correlation(group, [[0, 0], [2, 2], [3, 3], [3, 3]]), 6)  # 5/3 over the root of 5/3 · 2
    0.912871
    """
    own, rest = sides_of("scores_group", scores_group, "scores_rest", scores_rest)
    return float(view_from(view_parts(_centred(own), _centred(rest)).sum(axis=0)))


def view_parts(own: Floats, rest: Floats) -> Floats:
    """Contribute the eight moments of each item; scores are items × raters, without raters' means; (items, 8)."""
    (n, x, e), (m, r, f) = _side(own), _side(rest)
    parts = np.stack([np.ones(len(x)), x, r, x * r, x * x, r * r, e, f], axis=-1)
    counts = (n > 1) & (m > 1)
    return np.where(counts[:, None], parts, 0.0)


def view_from(moments: Floats) -> Floats:
    """Return the view correlation of moments (…, 8)."""
    product = _over_items(moments, 3, 1, 2)
    own, rest = _variances(moments)
    possible = (moments[..., 0] >= MIN_ITEMS) & ~np.isnan(own) & ~np.isnan(rest)
    root = np.sqrt(np.where(possible, own, 1.0)) * np.sqrt(np.where(possible, rest, 1.0))
    return np.asarray(np.where(possible, product / root, np.nan))


def _centred(scores: Floats) -> Floats:
    """Subtract each rater's mean over all their items."""
    given = ~np.isnan(scores)
    total = np.where(given, scores, 0.0).sum(axis=0)
    return np.asarray(scores - total / np.maximum(given.sum(axis=0), 1))


def _side(scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Return for each item how many scores it has, their mean, and the sampling variance of the mean."""
    given = ~np.isnan(scores)
    n = given.sum(axis=1).astype(float)
    mean = np.where(given, scores, 0.0).sum(axis=1) / np.maximum(n, 1)
    squares = np.where(given, scores - mean[:, None], 0.0) ** 2
    return n, mean, squares.sum(axis=1) / np.maximum(n - 1, 1) / np.maximum(n, 1)


def _over_items(moments: Floats, product: int, first: int, second: int) -> Floats:
    """Return a covariance over items with the divisor K − 1; meaningless if K < 2."""
    k = moments[..., 0]
    crossed = moments[..., product] - moments[..., first] * moments[..., second] / np.maximum(k, 1)
    return np.asarray(crossed / np.maximum(k - 1, 1))


def _variances(moments: Floats) -> tuple[Floats, Floats]:
    """Return the variances of both sides' views minus the sampling variance of means; NaN if nothing is left.

    Numbers run from 0 to 1, so rounding errors are far below the bound.
    """
    k = np.maximum(moments[..., 0], 1)
    found = []
    for first, square, error in ((1, 4, 6), (2, 5, 7)):
        own = _over_items(moments, square, first, first) - moments[..., error] / k
        nothing = ROUNDING * (moments[..., square] / k + moments[..., error] / k + ROUNDING)
        found.append(np.asarray(np.where(own > nothing, own, np.nan)))
    return found[0], found[1]


# The record ----------------------------------------------------------------------------------------------------------


def _finish(s: Slots, about: About, known: Known) -> Floats:
    return view_from(s["moments"])


def _why(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    if s["moments"][0] < MIN_ITEMS:
        return FEW_ITEMS
    own, rest = _variances(s["moments"])
    if np.isnan(own):
        return GROUP_NOISE
    return REST_NOISE if np.isnan(rest) else None


RECORDS = (
    Statistic(
        name="view_correlation", label="view correlation", function=view_correlation, needs="sides", symmetric=True,
        range=(-math.inf, math.inf), column="view corr.", role="tested", order=35, of_moments=True, traits=("claims",),
        finish=_finish, why=_why,
        equation="Cov_i(x_i, r_i)/√(V_x V_r), V_x = Var_i(x_i) − mean_i(s²_i/n_i), x_i and r_i the two sides' means of "
        "item i with raters' own means removed",
        meaning="whether a group and the rest view the items alike, apart from noise, leniency and spread",
        higher_means="the same view in the group and the rest",
        reference="Spearman (1904), The proof and measurement of association between two things",
    ),
)  # fmt: skip
