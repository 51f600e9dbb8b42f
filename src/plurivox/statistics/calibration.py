"""Whether ratings fall where predicted distributions say they will, and the scores of LeWiDi 2025.

The PIT (probability integral transform) of a rating is its place in its predicted distribution, from 0 to 1. A point of
the scale covers a stretch of that range as long as its probability, so a rating's place within its stretch is drawn at
random. If predictions are right, PITs are uniform: too many at both ends means that predictions are too sure, too many
in the middle that they are too vague, more at one end that they lean towards the other.
"""

from __future__ import annotations

import math
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.statistics import soft
from plurivox.statistics import soft_blocks as blocks
from plurivox.statistics.checks import Floats, items_of, prediction_of
from plurivox.statistics.records import Statistic
from plurivox.statistics.soft import Value, against_shares

_BLOCK = 1 << 16  # items at a time


def pit(scores: ArrayLike, q: ArrayLike, seed: int = 0) -> Floats:
    """Return the randomised PIT of ratings: u = F_q(y − 1) + v·q_y with v uniform on 0 to 1.

    Parameters
    ----------
    scores
        The position of each rating on the scale, counted from 0.
    q
        The predicted distribution of each rating's item, ratings × points; one row may serve all.
    seed
        Same seed, same v.

    Returns
    -------
    array of float
        One number from 0 to 1 for each rating, uniform if the predictions are right.

    References
    ----------
    Czado, Gneiting and Held (2009), Predictive model assessment for count data.

    Examples
    --------
    >>> pit([0, 1], [0.5, 0.5], seed=1).round(3).tolist()
    [0.088, 0.929]
    """
    positions = np.asarray(scores)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise InputError("scores holds no positions", hint="Give whole numbers from 0, the lowest point.")
    n_points = np.shape(q)[-1] if np.ndim(q) else 0
    table = prediction_of("q", q, (len(positions), n_points))
    if len(positions) and not (positions.min() >= 0 and positions.max() < n_points):
        raise InputError(
            f"scores runs from {positions.min()} to {positions.max()}, but there are {n_points} points",
            hint=f"Give positions from 0 to {n_points - 1}.",
        )
    if not isinstance(seed, int) or seed < 0:
        raise InputError(f"seed is {seed!r}", hint="Give a whole number of at least 0.")
    v = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(1003,))).random(len(positions))
    rows = np.arange(len(positions))
    upper = np.cumsum(table, axis=1)
    own = table[rows, positions]
    return np.asarray(np.clip(upper[rows, positions] - own + v * own, 0.0, 1.0))


class Histogram(NamedTuple):
    """Shares of ratings in bars of equal width from 0 to 1."""

    share: Floats
    """One for each bar; they sum to 1."""
    error: Floats
    """Standard errors if items are drawn at random with all their ratings."""
    mean: float
    """The mean PIT: ½ if predictions lean to neither side, more if ratings are higher than predicted."""
    variance: float
    """The variance of PITs: 1/12 if predictions are as sure as they should be, more if they are too sure."""


def pit_histogram(counts: ArrayLike, q: ArrayLike, n_bars: int = 10) -> Histogram:
    """Return how the PITs of all ratings are distributed, with each rating spread evenly over its point's stretch.

    This is the average of histograms of :func:`pit` over v, so it needs neither a seed nor individual ratings.

    Parameters
    ----------
    counts
        How many raters gave each point, items × points.
    q
        Predicted probabilities of the same shape; one row may serve all items.
    n_bars
        How many bars of equal width.

    References
    ----------
    Czado, Gneiting and Held (2009), Predictive model assessment for count data.

    Examples
    --------
    >>> pit_histogram([[1, 3]], [0.25, 0.75], n_bars=4).share.tolist()
    [0.25, 0.25, 0.25, 0.25]
    """
    table, _ = items_of("counts", counts, whole=True)
    prediction = prediction_of("q", q, table.shape)
    edges = np.linspace(0.0, 1.0, _number("n_bars", n_bars) + 1)
    total, moments = 0.0, np.zeros(2)
    sums, products, squares, own = np.zeros(n_bars), np.zeros(n_bars), np.zeros(n_bars), 0.0
    for start in range(0, len(table), _BLOCK):
        n, part = table[start : start + _BLOCK], prediction[start : start + _BLOCK]
        high = np.minimum(np.cumsum(part, axis=1), 1.0)  # where the stretch of each point begins and ends
        high[:, -1] = 1.0
        low = np.concatenate([np.zeros((len(part), 1)), high[:, :-1]], axis=1)
        spread = np.einsum("ic,icb->ib", n, _overlap(low, high, edges))
        rated = n.sum(axis=1)
        total += float(rated.sum())
        own += float(rated @ rated)
        sums += spread.sum(axis=0)
        squares += (spread**2).sum(axis=0)
        products += np.einsum("i,ib->b", rated, spread)
        moments += [(n * (low + high)).sum() / 2, (n * (low**2 + low * high + high**2)).sum() / 3]
    if not total:
        nothing = np.full(n_bars, np.nan)
        return Histogram(nothing, nothing, np.nan, np.nan)
    share = sums / total
    spread = squares - 2 * share * products + share**2 * own  # of an item's ratings in a bar, around its share
    mean, square = moments / total
    return Histogram(share, np.sqrt(np.maximum(spread, 0.0)) / total, float(mean), float(square - mean**2))


class Reliability(NamedTuple):
    """Predicted and observed shares of ratings at or above each threshold, thresholds × bins of the prediction."""

    predicted: Floats
    """The mean predicted probability, NaN in an empty bin."""
    observed: Floats
    """The share of ratings that are at or above the threshold."""
    n_items: NDArray[np.int64]
    n_ratings: Floats

    def errors(self) -> Floats:
        """Return for each threshold the mean of |observed − predicted| over ratings."""
        total = self.n_ratings.sum(axis=1)
        gaps = np.nansum(np.abs(self.observed - self.predicted) * self.n_ratings, axis=1)
        return np.asarray(np.where(total > 0, gaps / np.maximum(total, 1), np.nan))


class Slope(NamedTuple):
    """How much observed shares rise with predicted ones: 1 is right, less is too sure, more is too vague."""

    value: float
    """NaN if all items have the same prediction."""
    error: float
    """Its standard error if items are drawn at random with all their ratings."""


def calibration_slope(counts: ArrayLike, q: ArrayLike) -> Slope:
    """Return how much the share of ratings at or above a point rises if its predicted probability rises by 1.

    This is the least-squares slope over all items and all points except the lowest, with ratings weighted equally,
    after the mean of each point is subtracted. Unlike PITs, it detects predictions that are equally vague for many
    different items.

    Parameters
    ----------
    counts, q
        As in :func:`pit_histogram`.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression.

    Examples
    --------
    >>> round(calibration_slope([[9, 1], [1, 9]], [[0.7, 0.3], [0.3, 0.7]]).value, 6)  # .8 for a difference of .4
    2.0
    """
    table, _ = items_of("counts", counts, whole=True)
    prediction = prediction_of("q", q, table.shape)
    n = table.sum(axis=1)
    table, prediction, n = table[n > 0], prediction[n > 0], n[n > 0]
    foretold = np.cumsum(prediction[:, ::-1], axis=1)[:, -2::-1]
    reached = np.cumsum(table[:, ::-1], axis=1)[:, -2::-1] / n[:, None]
    share = n / n.sum() if len(n) else n
    x, y = (z - np.einsum("i,ik->k", share, z) for z in (foretold, reached))
    spread = float(np.einsum("i,ik,ik->", share, x, x))
    if not spread > 1e-12:
        return Slope(np.nan, np.nan)
    slope = float(np.einsum("i,ik,ik->", share, x, y)) / spread
    rest = np.einsum("ik,ik->i", x, y - slope * x) * share
    return Slope(slope, float(np.sqrt(np.einsum("i,i->", rest, rest))) / spread)


def reliability(counts: ArrayLike, q: ArrayLike, n_bins: int = 10) -> Reliability:
    """Return, for each point except the lowest, how often ratings reach it, by how likely that was predicted to be.

    Parameters
    ----------
    counts, q
        As in :func:`pit_histogram`.
    n_bins
        How many bins of equal width the predicted probabilities are sorted into.

    References
    ----------
    Murphy and Winkler (1977), Reliability of subjective probability forecasts of precipitation and temperature.

    Examples
    --------
    >>> found = reliability([[1, 3], [3, 1]], [[0.3, 0.7], [0.7, 0.3]], n_bins=2)
    >>> found.predicted.tolist(), found.observed.tolist()
    ([[0.3, 0.7]], [[0.25, 0.75]])
    """
    table, _ = items_of("counts", counts, whole=True)
    prediction = prediction_of("q", q, table.shape)
    rated = table.sum(axis=1)
    table, prediction, rated = table[rated > 0], prediction[rated > 0], rated[rated > 0]
    n_steps, n_bins = table.shape[1] - 1, _number("n_bins", n_bins)
    sums = np.zeros((3, n_steps, n_bins))
    n_items = np.zeros((n_steps, n_bins), dtype=np.int64)
    foretold = np.clip(np.cumsum(prediction[:, ::-1], axis=1)[:, ::-1], 0.0, 1.0)
    reached = np.cumsum(table[:, ::-1], axis=1)[:, ::-1]
    for k in range(n_steps):
        at = np.minimum((foretold[:, k + 1] * n_bins).astype(np.int64), n_bins - 1)
        n_items[k] = np.bincount(at, minlength=n_bins)
        for part, weights in zip(sums, (rated, rated * foretold[:, k + 1], reached[:, k + 1]), strict=True):
            part[k] = np.bincount(at, weights=weights, minlength=n_bins)
    with np.errstate(invalid="ignore", divide="ignore"):  # NaN in an empty bin
        return Reliability(sums[1] / sums[0], sums[2] / sums[0], n_items, sums[0])


def _number(name: str, given: object) -> int:
    if not isinstance(given, int) or given < 1:
        raise InputError(f"{name} is {given!r}", hint="Give a whole number of at least 1.")
    return given


def _overlap(low: Floats, high: Floats, edges: Floats) -> Floats:
    """Return the share of each stretch in each bar, items × points × bars; a stretch of length 0 is in one bar."""
    inside = np.clip(np.minimum(high[..., None], edges[1:]) - np.maximum(low[..., None], edges[:-1]), 0.0, None)
    length = inside.sum(axis=-1, keepdims=True)
    bar = np.minimum((low * (len(edges) - 1)).astype(np.int64), len(edges) - 2)
    whole = np.arange(len(edges) - 1) == bar[..., None]
    return np.asarray(np.where(length > 0, inside / np.where(length > 0, length, 1.0), whole))


# Lewidi ---------------------------------------------------------------------------------------------------------------
#
# The scores of LeWiDi 2025, a shared task on learning with disagreements.
#
# They take the same arguments as :mod:`plurivox.statistics.soft`: the ratings of one item or of many, and a predicted
# distribution. The last three score predictions of individual raters; for a distribution, they give the expected
# value if every rater's point is drawn from it.


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


# Soft records ---------------------------------------------------------------------------------------------------------
#
# The records of the soft scores.


_SOFT = "Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes"
_POSTERIOR = "averaged over the distributions that are likely after the ratings (Dirichlet posterior)"

_LEWIDI = "Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives"
_DRAWN = "for a distribution, if each rater's point is drawn from it"

_score = partial(
    Statistic, needs="prediction", higher_means="a worse prediction", reference=_SOFT, role="scored",
    interval_shown=False,
)  # fmt: skip

RECORDS = (
    _score(
        name="cross_entropy", label="CE", function=soft.cross_entropy, range=(0.0, math.inf),
        equation="CE = −Σ_c p_c ln q_c, p the shares of ratings, q the prediction",
        meaning="the mean surprise at the ratings, given the prediction (cross-entropy, nats)",
    ),
    _score(
        name="kl", label="KL", function=soft.kl, range=(0.0, math.inf),
        equation="KL = Σ_c p_c ln(p_c/q_c)",
        meaning="the surprise at the ratings that a perfect prediction would avoid (Kullback–Leibler divergence, nats)",
        reference="Kullback and Leibler (1951), On information and sufficiency",
    ),
    _score(
        name="js", label="JS", function=soft.js, range=(0.0, math.log(2)),
        equation="JS = ½KL(p‖m) + ½KL(q‖m), m = (p + q)/2",
        meaning="how far the prediction and the shares of ratings are from their average "
        "(Jensen–Shannon divergence, nats)",
        reference="Lin (1991), Divergence measures based on the Shannon entropy",
    ),
    _score(
        name="emd", label="EMD", function=soft.emd, range=(0.0, 1.0),
        equation="EMD = Σ_{k<K} |F_p(k) − F_q(k)|/K",
        meaning="how far along the scale probability has to be moved to make the prediction right "
        "(earth mover's distance)",
    ),
    _score(
        name="rps", interval_shown=True, label="RPS", function=soft.rps, range=(0.0, 1.0),
        equation="RPS = Σ_{k<K} [F_p(1 − F_p) + (F_p − F_q)²]/K at each k",
        meaning="the mean squared error of the predicted cumulative probabilities, rating by rating "
        "(ranked probability score)",
        reference="Epstein (1969), A scoring system for probability forecasts of ranked categories",
    ),
    _score(
        name="expected_cross_entropy", label="E[CE]", function=soft.expected_cross_entropy,
        range=(0.0, math.inf),
        equation="E[CE] = −Σ_c (a_c/a₀) ln q_c, a = α + n",
        meaning=f"cross-entropy, {_POSTERIOR}",
    ),
    _score(
        name="expected_kl", label="E[KL]", function=soft.expected_kl, range=(0.0, math.inf),
        equation="E[KL] = E[CE] − E[H], E[H] = Σ_c (a_c/a₀)(ψ(a₀ + 1) − ψ(a_c + 1))",
        meaning=f"Kullback–Leibler divergence, {_POSTERIOR}",
    ),
    _score(
        name="expected_js", label="E[JS]", function=soft.expected_js, range=(0.0, math.log(2)),
        equation="E[JS] = Σ_c E[½p_c ln p_c + ½q_c ln q_c − m_c ln m_c], p_c ~ Beta(a_c, a₀ − a_c)",
        meaning=f"Jensen–Shannon divergence, {_POSTERIOR}",
    ),
    _score(
        name="expected_emd", interval_shown=True, label="E[EMD]", function=soft.expected_emd, range=(0.0, 1.0),
        equation="E[EMD] = Σ_{k<K} {2c·I_c(A, B) − 2μ·I_c(A + 1, B) + μ − c}/K, "
        "A = Σ_{j≤k} a_j, B = a₀ − A, μ = A/a₀, c = F_q(k)",
        meaning=f"earth mover's distance, {_POSTERIOR}",
    ),
    _score(
        name="expected_rps", label="E[RPS]", function=soft.expected_rps, range=(0.0, 1.0),
        equation="E[RPS] = Σ_{k<K} [μ(1 − μ) + (μ − F_q)²]/K, μ = Σ_{j≤k} a_j/a₀",
        meaning=f"ranked probability score, {_POSTERIOR}",
        reference="Epstein (1969), A scoring system for probability forecasts of ranked categories",
    ),
    _score(
        name="manhattan", label="MD", function=manhattan, range=(0.0, 2.0), reference=_LEWIDI,
        equation="MD = Σ_c |p_c − q_c|",
        meaning="how much the shares of all points differ in total (Manhattan distance)",
    ),
    _score(
        name="wasserstein", label="WS", function=wasserstein, range=(0.0, math.inf), reference=_LEWIDI,
        equation="WS = Σ_{k<K} |F_p(k) − F_q(k)|",
        meaning="how many steps of the scale probability has to be moved (Wasserstein distance)",
    ),
    _score(
        name="error_rate", label="ER", function=error_rate, range=(0.0, 1.0), reference=_LEWIDI,
        equation="ER = mean over raters of [predicted ≠ given]; for a distribution 1 − Σ_c p_c q_c",
        meaning=f"the share of raters whose point is predicted wrongly; {_DRAWN}",
    ),
    _score(
        name="absolute_distance", label="AD", function=absolute_distance, range=(0.0, 1.0), reference=_LEWIDI,
        equation="AD = mean over raters of |predicted − given|/K, in steps; "
        "for a distribution Σ_{c,k} p_c q_k |c − k|/K",
        meaning=f"how far the predicted point is from a rater's, as a fraction of the scale; {_DRAWN}",
    ),
    _score(
        name="absolute_distance_points", label="AD/points", function=absolute_distance_points,
        range=(0.0, 1.0), reference=_LEWIDI,
        equation="AD/points = mean over raters of |predicted − given|/(K + 1)",
        meaning="absolute distance divided by the number of points, as in a public implementation",
    ),
)  # fmt: skip
