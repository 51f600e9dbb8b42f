"""The scores of LeWiDi 2025, a shared task on learning with disagreements.

They take the same arguments as :mod:`plurivox.statistics.soft`: the ratings of one item or of many, and a predicted
distribution. The last three score predictions of individual raters; for a distribution, they give the expected value if
every rater's point is drawn from it.
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from plurivox.statistics import soft_blocks as blocks
from plurivox.statistics.soft import Value, against_shares


def manhattan(p: ArrayLike, q: ArrayLike) -> Value:
    """Return the Manhattan distance between ratings and a prediction: the sum of each point's excess or shortfall.

    ``MD = Σ_c |p_c − q_c|``.

    Parameters are those of :func:`cross_entropy`. 0 if q = p; 2 if no point has a share in both; NaN for an item
    without ratings.

    References
    ----------
    Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives.

    Examples
    --------
    >>> round(manhattan([0, 8, 2, 0, 0], [0, 0.2, 0.8, 0, 0]), 4)
    1.2
    """
    return against_shares(blocks.manhattan, p, q)


def wasserstein(p: ArrayLike, q: ArrayLike) -> Value:
    """Return the Wasserstein distance in steps of the scale, each of length 1.

    ``WS = Σ_{k<K} |F_p(k) − F_q(k)|``, which is :func:`emd` without normalisation.

    Parameters are those of :func:`cross_entropy`. 0 if q = p; K if all ratings are at one end and the prediction at the
    other; NaN for an item without ratings.

    References
    ----------
    Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives.

    Examples
    --------
    >>> round(wasserstein([0, 8, 0, 0, 2], [0, 0.2, 0, 0, 0.8]), 4)  # .6 moves by three steps
    1.8
    """
    return against_shares(blocks.wasserstein, p, q)


def error_rate(p: ArrayLike, q: ArrayLike) -> Value:
    """Return how often a rater's point is predicted wrongly, if it is drawn from q.

    ER = 1 − Σ_c p_c q_c. If raters are predicted individually, it is the share of raters predicted wrongly.

    Parameters are those of :func:`cross_entropy`. 0 if all ratings are alike and predicted with certainty; 1 if no
    point has a share in both; NaN for an item without ratings.

    References
    ----------
    Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives.

    Examples
    --------
    >>> error_rate([3, 1], [1.0, 0.0])
    0.25
    """
    return against_shares(blocks.error_rate, p, q)


def absolute_distance(p: ArrayLike, q: ArrayLike) -> Value:
    """Return how far a rater's predicted point is from the actual one, if it is drawn from q; 1 is the whole scale.

    ``AD = Σ_{c,k} p_c q_k |c − k|/K``, where K is the number of steps of the scale. If raters are predicted
    individually, it is the mean over raters of the steps between the two, divided by K.
    :func:`absolute_distance_points` divides by the number of points instead.

    Parameters are those of :func:`cross_entropy`. 0 if all ratings are alike and predicted with certainty; 1 if they
    are at one end and the prediction at the other; NaN for an item without ratings.

    References
    ----------
    Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives.

    Examples
    --------
    >>> absolute_distance([1, 1, 0], [0.0, 0.0, 1.0])  # (2 + 1)/2 steps of two
    0.75
    """
    return against_shares(lambda x, y: blocks.steps_apart(x, y) / (x.shape[1] - 1), p, q)


def absolute_distance_points(p: ArrayLike, q: ArrayLike) -> Value:
    """Return :func:`absolute_distance` divided by the number of points instead of that of steps.

    ``AD = Σ_{c,k} p_c q_k |c − k|/(K + 1)``. The description of the shared task divides by the range, K; a public
    implementation of it divides by the number of points, and so cannot reach 1.

    Parameters are those of :func:`cross_entropy`.

    References
    ----------
    Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives.

    Examples
    --------
    >>> absolute_distance_points([1, 1, 0], [0.0, 0.0, 1.0])  # (2 + 1)/2 steps, of three points
    0.5
    """
    return against_shares(lambda x, y: blocks.steps_apart(x, y) / x.shape[1], p, q)
