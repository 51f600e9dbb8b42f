"""How good a predicted distribution over a rating scale is, given the few ratings that an item has.

Every function takes one item, a row of numbers over the points of the scale, and returns a float; or many items,
items × points, and returns an array with a value for each. Lower is better. Logarithms are natural: values are nats.

*Empirical* scores compare the prediction q with the shares p of an item's ratings as if those were the truth. They
accept any weights that are not negative, counts as well as shares, and divide by their sum; an item without ratings
has no shares, and its value is NaN.

*Expected* scores allow for the fact that a few ratings say little. They start from a prior, with some weight α on every
point, add the counts n, and average the score over the posterior of p: p ~ Dirichlet(a), a = α + n. An item without
ratings is scored against the prior alone.

==================================== ==================================================================
cross_entropy, kl                    did the actual ratings get high probability? Infinite if one got 0
js                                   the same, but symmetric and always finite
emd                                  how far must probability be moved along the scale?
rps                                  are the probabilities of each point *or a lower one* right?
==================================== ==================================================================

A prediction must sum to 1 within 10⁻⁶, and is then divided by its sum.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plurivox.statistics import dirichlet
from plurivox.statistics import soft_blocks as blocks
from plurivox.statistics.checks import Floats, items_of, prediction_of, prior_of

Value = Any
"""A float for one item, an array of floats for many."""

# Against the shares of ratings ---------------------------------------------------------------------------------------


def cross_entropy(p: ArrayLike, q: ArrayLike, *, floor: float | None = None) -> Value:
    """Return the cross-entropy between ratings and a prediction: the mean surprise at the ratings.

    CE = −Σ_c p_c ln q_c, where a point with p_c = 0 adds nothing.

    Parameters
    ----------
    p
        The ratings of one item (points) or of many (items × points): counts, or shares; divided by their sum.
    q
        The predicted probabilities, of the same shape; one row may serve all items.
    floor
        If given, the least that a predicted probability counts as: max(q, floor), divided by its sum.

    Returns
    -------
    float or array of float
        The entropy of p if q = p, which is the minimum; infinite if a point that was given had the probability 0. NaN
        for an item without ratings.

    References
    ----------
    Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes.

    Examples
    --------
    >>> round(cross_entropy([0, 8, 2, 0, 0], [0, 0.2, 0.8, 0, 0]), 4)
    1.3322
    >>> cross_entropy([[1, 1], [0, 1], [0, 0]], [1.0, 0.0])
    array([inf, inf, nan])
    """
    return against_shares(blocks.cross_entropy, p, q, floor)


def kl(p: ArrayLike, q: ArrayLike, *, floor: float | None = None) -> Value:
    """Return the Kullback–Leibler divergence of a prediction from ratings: the surprise that a better one would avoid.

    KL = Σ_c p_c ln(p_c/q_c), :func:`cross_entropy` minus the entropy of p.

    Parameters are those of :func:`cross_entropy`. 0 if q = p; infinite if a point that was given had the probability
    0; NaN for an item without ratings.

    References
    ----------
    Kullback and Leibler (1951), On information and sufficiency.

    Examples
    --------
    >>> round(kl([0, 8, 2, 0, 0], [0, 0.2, 0.8, 0, 0]), 4)  # .6·ln 4
    0.8318
    """
    return against_shares(dirichlet.divergence, p, q, floor)


def js(p: ArrayLike, q: ArrayLike) -> Value:
    """Return the Jensen–Shannon divergence between ratings and a prediction, in nats and without a root.

    JS = ½KL(p‖m) + ½KL(q‖m), m = (p + q)/2.

    Parameters are those of :func:`cross_entropy`. 0 if q = p; ln 2 if no point has a share in both; NaN for an item
    without ratings.

    References
    ----------
    Lin (1991), Divergence measures based on the Shannon entropy.

    Examples
    --------
    >>> round(js([0, 8, 2, 0, 0], [0, 0.2, 0.8, 0, 0]), 4)
    0.1927
    >>> round(js([1, 0], [0, 1]), 4)
    0.6931
    """
    return against_shares(blocks.js, p, q)


def emd(p: ArrayLike, q: ArrayLike, normalized: bool = True, values: ArrayLike | None = None) -> Value:
    """Return the earth mover's distance: how far probability has to be moved along the scale to turn q into p.

    ``EMD = Σ_{k<K} |F_p(k) − F_q(k)|/K`` with F the cumulative probabilities of the points 0 … K.

    Parameters
    ----------
    p, q
        As in :func:`cross_entropy`.
    normalized
        Whether the whole scale has the length 1; otherwise a step has the length 1, or that in ``values``.
    values
        The number of each point, rising, if steps differ; the term of a step is multiplied by its length, and K is the
        distance from the first to the last point.

    Returns
    -------
    float or array of float
        0 if q = p; 1 (K if not normalised) if all ratings are at one end and the prediction at the other. NaN for an
        item without ratings.

    References
    ----------
    Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes.

    Examples
    --------
    >>> round(emd([0, 8, 2, 0, 0], [0, 0.2, 0.8, 0, 0]), 4)  # .6 moves by one step of four …
    0.15
    >>> round(emd([0, 8, 0, 0, 2], [0, 0.2, 0, 0, 0.8]), 4)  # … or by three
    0.45
    """
    return against_shares(lambda x, y: blocks.emd(x, y, _steps(x, normalized, values)), p, q)


def rps(counts: ArrayLike, q: ArrayLike, normalized: bool = True) -> Value:
    """Return the ranked probability score: the mean squared error of cumulative probabilities, rating by rating.

    RPS = Σ_{k<K} mean over ratings y of (1[y ≤ k] − F_q(k))²/K = Σ_{k<K} [F_p(1 − F_p) + (F_p − F_q)²]/K at each k.

    ``counts`` and ``q`` are p and q of :func:`cross_entropy`; without ``normalized``, the sum is not divided by K.
    Lowest if q equals the shares of ratings, but 0 only if all ratings are equal and predicted with certainty; 1 (K if
    not normalised) if all are at one end and predicted at the other. NaN for an item without ratings.

    References
    ----------
    Epstein (1969), A scoring system for probability forecasts of ranked categories.

    Examples
    --------
    >>> round(rps([1, 0, 1], [0.5, 0.25, 0.25]), 6)  # (1/4 + 1/4 + 1/16)/2
    0.28125
    """
    return against_shares(lambda x, y: blocks.rps(x, y, _steps(x, normalized)), counts, q)


# Under the posterior -------------------------------------------------------------------------------------------------


def posterior_mean(counts: ArrayLike, prior: ArrayLike = 1.0) -> Floats:
    """Return the expected distribution of an item's ratings, E[p_c] = (α_c + n_c)/Σ_k (α_k + n_k).

    It is the prediction with the lowest :func:`expected_cross_entropy`, :func:`expected_kl` and :func:`expected_rps`.

    Parameters
    ----------
    counts
        n, how many raters gave each point: one item (points) or many (items × points).
    prior
        α, the weight of each point before any rating: a positive number for all, or one for each point.

    Returns
    -------
    array of float
        Shares of the same shape as ``counts``; the prior's own shares for an item without ratings.

    References
    ----------
    Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes.

    Examples
    --------
    >>> posterior_mean([3, 0, 0])
    array([0.66666667, 0.16666667, 0.16666667])
    """
    a, single = _posterior(counts, prior)
    return _mean(a)[0] if single else _mean(a)


def expected_cross_entropy(
    counts: ArrayLike, q: ArrayLike, prior: ArrayLike = 1.0, *, floor: float | None = None
) -> Value:
    """Return the expected cross-entropy between an item's distribution and a prediction.

    E[CE] = −Σ_c (a_c/a₀) ln q_c, a = α + n, a₀ = Σ_c a_c: :func:`cross_entropy` of the posterior mean.

    Parameters
    ----------
    counts, prior
        n and α, as in :func:`posterior_mean`.
    q
        The predicted probabilities, of the shape of ``counts``; one row may serve all items.
    floor
        If given, the least that a predicted probability counts as: max(q, floor), divided by its sum.

    Returns
    -------
    float or array of float
        Lowest if q is the posterior mean, whose entropy it then is; infinite if any probability is 0, since no point is
        impossible under the posterior.

    References
    ----------
    Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes.

    Examples
    --------
    >>> round(expected_cross_entropy([1, 2, 4, 2, 1], [0.1, 0.2, 0.4, 0.2, 0.1]), 6)
    1.563228
    >>> expected_cross_entropy([2, 0], [1.0, 0.0])
    inf
    """
    return _under_posterior(lambda a, y: blocks.cross_entropy(_mean(a), y), counts, q, prior, floor)


def expected_entropy(counts: ArrayLike, prior: ArrayLike = 1.0) -> Value:
    """Return the expected entropy of an item's distribution: how much raters are expected to differ.

    E[H] = Σ_c (a_c/a₀)(ψ(a₀ + 1) − ψ(a_c + 1)), a = α + n, a₀ = Σ_c a_c, ψ the digamma function.

    Parameters are those of :func:`posterior_mean`. Above 0 and below ln L on L points, and below the entropy of the
    posterior mean.

    References
    ----------
    Wolpert and Wolf (1995), Estimating functions of probability distributions from a finite set of samples.

    Examples
    --------
    >>> round(expected_entropy([1, 2, 4, 2, 1]), 6)
    1.423785
    """
    a, single = _posterior(counts, prior)
    return _give(blocks.by_block(blocks.entropy, a), single)


def expected_kl(counts: ArrayLike, q: ArrayLike, prior: ArrayLike = 1.0, *, floor: float | None = None) -> Value:
    """Return the expected Kullback–Leibler divergence of a prediction from an item's distribution.

    E[KL] = E[CE] − E[H], the difference of :func:`expected_cross_entropy` and :func:`expected_entropy`.

    Parameters are those of :func:`expected_cross_entropy`. Above 0, however good the prediction, since the distribution
    is unknown; about (L − 1)/(2n) for the best one with many ratings n on L points. Infinite if any probability is 0.

    References
    ----------
    Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes.

    Examples
    --------
    >>> round(expected_kl([1, 2, 4, 2, 1], [0.1, 0.2, 0.4, 0.2, 0.1]), 6)
    0.139444
    """
    return _under_posterior(blocks.kl, counts, q, prior, floor)


def expected_js(counts: ArrayLike, q: ArrayLike, prior: ArrayLike = 1.0) -> Value:
    """Return the expected Jensen–Shannon divergence between an item's distribution and a prediction.

    E[JS] = Σ_c E[½p_c ln p_c + ½q_c ln q_c − m_c ln m_c], m = (p + q)/2, with p_c ~ Beta(a_c, a₀ − a_c), a = α + n.

    Parameters are those of :func:`expected_cross_entropy`. Above 0 and below ln 2. There is no closed form; the
    integrals are accurate to 10⁻¹⁰ or better.

    References
    ----------
    Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes.

    Examples
    --------
    >>> round(expected_js([1, 2, 4, 2, 1], [0.1, 0.2, 0.4, 0.2, 0.1]), 6)
    0.034272
    """
    return _under_posterior(blocks.mean_js, counts, q, prior, cells=2 * blocks.BLOCK)


def expected_emd(
    counts: ArrayLike, q: ArrayLike, prior: ArrayLike = 1.0, normalized: bool = True, values: ArrayLike | None = None
) -> Value:
    """Return the expected earth mover's distance between an item's distribution and a prediction.

    ``E[EMD] = Σ_{k<K} E|F_p(k) − F_q(k)|/K`` with F_p(k) ~ Beta(A, a₀ − A), A = Σ_{j≤k} a_j, a = α + n, which has a
    closed form: ``E|F − c| = 2c·I_c(A, B) − 2μ·I_c(A + 1, B) + μ − c``, μ = A/a₀, I the regularised incomplete beta
    function.

    Parameters
    ----------
    counts, q, prior
        As in :func:`expected_cross_entropy`.
    normalized, values
        As in :func:`emd`.

    Returns
    -------
    float or array of float
        Above 0, and at least the distance between the posterior mean and q. Lowest if the cumulative probabilities of q
        are the medians of those of p.

    References
    ----------
    Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes, which draws samples.

    Examples
    --------
    >>> round(expected_emd([1, 2, 4, 2, 1], [0.1, 0.2, 0.4, 0.2, 0.1]), 6)
    0.082276
    >>> round(expected_emd([0, 0], [0.5, 0.5]), 6)  # E|F − ½| for F uniform
    0.25
    """
    return _under_posterior(lambda a, y: blocks.mean_emd(a, y, _steps(a, normalized, values)), counts, q, prior)


def expected_rps(counts: ArrayLike, q: ArrayLike, prior: ArrayLike = 1.0, normalized: bool = True) -> Value:
    """Return the expected ranked probability score of a prediction: that of the next rating.

    E[RPS] = Σ_{k<K} (E[(F_p − F_q)²] + E[F_p(1 − F_p)])/K at each k. The variance of F_p is in both, with opposite
    signs, so this is Σ_{k<K} [μ(1 − μ) + (μ − F_q)²]/K, μ the cumulative posterior mean: its :func:`rps`.

    Parameters are those of :func:`expected_cross_entropy`, and ``normalized`` as in :func:`rps`. Above 0; lowest if q
    is the posterior mean.

    References
    ----------
    Epstein (1969), A scoring system for probability forecasts of ranked categories.

    Examples
    --------
    >>> round(expected_rps([0, 0], [0.5, 0.5]), 6)  # ½·½
    0.25
    """
    return _under_posterior(lambda a, y: blocks.rps(_mean(a), y, _steps(a, normalized)), counts, q, prior)


# Helpers -------------------------------------------------------------------------------------------------------------


_Score = Callable[[Floats, Floats], Floats]
"""Maps shares of ratings, or a = α + n, and predictions to the score of each item."""


def against_shares(score: _Score, p: ArrayLike, q: ArrayLike, floor: float | None = None) -> Value:
    """Score predictions against the shares of ratings, NaN for items without ratings."""
    weights, single = items_of("counts", p)
    prediction = prediction_of("q", q, weights.shape, floor)
    sums = weights.sum(axis=1, keepdims=True)
    return _give(blocks.by_block(score, weights / np.where(sums > 0, sums, np.nan), prediction), single)


def _under_posterior(
    score: _Score,
    counts: ArrayLike,
    q: ArrayLike,
    prior: ArrayLike,
    floor: float | None = None,
    cells: int = blocks.BLOCK,
) -> Value:
    """Score predictions under the posterior."""
    a, single = _posterior(counts, prior)
    return _give(blocks.by_block(score, a, prediction_of("q", q, a.shape, floor), cells=cells), single)


def _posterior(counts: ArrayLike, prior: ArrayLike) -> tuple[Floats, bool]:
    """Return a = α + n, and whether it is one item."""
    table, single = items_of("counts", counts, whole=True)
    return table + prior_of(prior, table.shape[1]), single


def _mean(a: Floats) -> Floats:
    mean: Floats = a / a.sum(axis=1, keepdims=True)
    return mean


def _steps(table: Floats, normalized: bool, values: ArrayLike | None = None) -> Floats:
    return blocks.step_lengths(table.shape[1], normalized, values)


def _give(values: Floats, single: bool) -> Value:
    """Return a float for one item, otherwise the array."""
    return float(values[0]) if single else values
