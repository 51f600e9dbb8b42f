"""How much a group agrees with itself and with others: array functions of counts, items × points.

Every function adds up what the items contribute and finishes the sum; :mod:`~plurivox.statistics.cohesion.parts`
holds both halves. An undefined value is NaN, never 0 and never an exception;
:func:`~plurivox.statistics.undefined_reason` says why.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from plurivox.base.errors import InputError
from plurivox.statistics.checks import (
    TIES,
    amount_of,
    choice_of,
    counts_of,
    level_of,
    pair_of,
    tie_priorities,
    values_of,
    votes,
)
from plurivox.statistics.cohesion import parts as parts

CONVENTIONS = ("default", "published")


def krippendorff_alpha(
    counts: ArrayLike, level: str | ArrayLike = "nominal", *, values: ArrayLike | None = None
) -> float:
    """Return Krippendorff's alpha, the agreement of raters on the same items beyond that of random ratings (IRR).

    α = 1 − D_o/D_e with D_o = Σ_ck O_ck δ_ck/n, D_e = Σ_ck n_c n_k δ_ck/(n(n−1)) and the coincidences
    O_ck = Σ_i n_ic(n_ik − [c=k])/(m_i−1) over items with m_i ≥ 2 ratings.

    Parameters
    ----------
    counts
        n_ic, how many raters gave item i the point c.
    level
        The distance δ between two points: ``"nominal"``, 0 or 1; ``"ordinal"``, squared difference of mid-ranks;
        ``"interval"``, squared difference of values; or a symmetric matrix, points × points. Ordinal distances and a
        matrix allow at most 1,000 points.
    values
        A number for each point, 0, 1, 2, … by default; ``"interval"`` uses them.

    Returns
    -------
    float
        1 if raters agree on every item, 0 if they agree as often as ratings drawn at random, below 0 if less often.
        NaN if no item has two ratings, or all ratings that have a partner are the same point.

    References
    ----------
    Krippendorff (2004), Content Analysis: An Introduction to Its Methodology.

    Examples
    --------
    >>> round(krippendorff_alpha([[2, 0], [0, 2], [1, 1]]), 6)  # n = 6, a third of them disagree, 3/5 expected: 4/9
    0.444444
    """
    n = counts_of("counts", counts)
    numbers, distance = values_of(values, n.shape[1]), level_of(level, n.shape[1])
    if isinstance(distance, str) and distance == "nominal":
        summed = parts.alpha_nominal_parts(n).sum(axis=0)
        return float(parts.alpha_nominal_from(summed[0], summed[1:]))
    if isinstance(distance, str) and distance == "interval":
        summed = parts.alpha_interval_parts(n, numbers).sum(axis=0)
        return float(parts.alpha_interval_from(summed[0], summed[1:], numbers))
    return float(parts.alpha_from(parts.alpha_sum(n), distance))


def xrr(
    counts_a: ArrayLike, counts_b: ArrayLike, level: str | ArrayLike = "nominal", *, values: ArrayLike | None = None
) -> float:
    """Return cross-replication reliability, the agreement between two sides beyond chance (XRR).

    XRR = 1 − D_o/D_e with D_o = Σ_ck B_ck δ_ck/(R+S), D_e = Σ_ck X_c Y_k δ_ck/(R·S) and the pairs
    B_ck = Σ_i (R_i+S_i)/(R_i S_i)·x_ic y_ik over items rated by both sides. X, Y are the marginals of these items and
    R, S their sums. With one rating per item and side it is Cohen's kappa.

    Parameters
    ----------
    counts_a, counts_b
        x_ic and y_ic, how many raters of either side gave item i the point c; the same items in the same rows.
    level, values
        The distance δ between two points, as for :func:`krippendorff_alpha`; ordinal ranks pool both sides.

    Returns
    -------
    float
        1 if everyone agrees across sides, 0 if they agree as often as ratings of unrelated items. It has no lower
        bound if sides differ in how many ratings they gave to which items. NaN if no item was rated by both sides, or
        all their ratings are the same point.

    References
    ----------
    Wong, Paritosh and Aroyo (2021), Cross-replication Reliability: An Empirical Approach to Interpreting Inter-rater
    Reliability.

    Examples
    --------
    >>> a = [[0, 2], [0, 3], [2, 0], [3, 0], [1, 1]]
    >>> b = [[0, 2], [1, 1], [1, 1], [1, 1], [2, 0]]
    >>> round(xrr(a, b), 6)
    0.181818
    """
    x, y = pair_of("counts_a", counts_a, "counts_b", counts_b)
    n_points = x.shape[1]
    numbers, distance = values_of(values, n_points), level_of(level, n_points)
    if isinstance(distance, str) and distance == "nominal":
        summed = parts.xrr_nominal_parts(x, y).sum(axis=0)
        return float(parts.xrr_nominal_from(summed[0], summed[1 : n_points + 1], summed[n_points + 1 :]))
    if isinstance(distance, str) and distance == "interval":
        summed = parts.xrr_interval_parts(x, y, numbers).sum(axis=0)
        return float(parts.xrr_interval_from(summed[0], summed[1 : n_points + 1], summed[n_points + 1 :], numbers))
    summed = parts.xrr_sum(x, y)
    return float(parts.xrr_from(summed[:n_points], summed[n_points], summed[n_points + 1], distance))


def gai(
    counts_group: ArrayLike,
    counts_rest: ArrayLike,
    level: str | ArrayLike = "nominal",
    *,
    values: ArrayLike | None = None,
) -> float:
    """Return the group association index: how much more a group agrees with itself than with the rest (GAI).

    GAI = IRR(group)/XRR(group, rest), see :func:`krippendorff_alpha` and :func:`xrr`.

    Above 1, the group agrees with itself more than with others; below 1, less. The two halves correct for chance
    differently, so the index of a group drawn at random is usually below 1, all the more so if the group is small:
    compare it with a permutation null, never with 1 alone. NaN if either half is undefined or XRR is not above 0.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> round(gai([[2, 0], [0, 2], [1, 1]], [[2, 0], [0, 2], [2, 0]]), 6)  # 4/9 over 2/3
    0.666667
    """
    x, y = pair_of("counts_group", counts_group, "counts_rest", counts_rest)
    irr = krippendorff_alpha(x, level, values=values)
    return float(parts.gai_from(irr, xrr(x, y, level, values=values)))


def plurality_size(counts: ArrayLike) -> float:
    """Return the mean share of ratings on an item's most frequent point.

    mean over items with m_i ≥ 1 of max_c n_ic/m_i.

    1 if every item has all its ratings on one point, at least 1/L on a scale of L points. Items with fewer ratings
    have larger values (one rating: 1), so compare with a null, never across group sizes. NaN if nothing is rated.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> plurality_size([[2, 2], [4, 0], [0, 0]])
    0.75
    """
    return float(parts.ratio(*parts.plurality_parts(counts_of("counts", counts)).sum(axis=0)))


def percent_agreement(counts: ArrayLike) -> float:
    """Return the mean share of pairs of raters who agree on an item, not corrected for chance.

    mean over items with m_i ≥ 2 of Σ_c n_ic(n_ic − 1)/(m_i(m_i − 1)).

    1 if all pairs agree, 0 if none does. NaN if no item has two ratings.

    References
    ----------
    Fleiss (1971), Measuring nominal scale agreement among many raters.

    Examples
    --------
    >>> round(percent_agreement([[2, 1], [3, 0], [1, 0]]), 6)  # one of three pairs, then three of three
    0.666667
    """
    return float(parts.ratio(*parts.percent_agreement_parts(counts_of("counts", counts)).sum(axis=0)))


def negentropy(counts: ArrayLike) -> float:
    """Return how far the ratings of an item are, on average, from being spread evenly over the scale.

    ln L − mean over items with m_i ≥ 1 of H_i, H_i = −Σ_c p_ic ln p_ic, p_ic = n_ic/m_i; L is the number of columns.

    ln L if every item has all its ratings on one point, 0 if all items are spread evenly. Items with fewer ratings
    have larger values (one rating: ln L), so compare with a null, never across group sizes. NaN if nothing is rated.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> negentropy([[2, 2], [3, 3]])
    0.0
    """
    n = counts_of("counts", counts)
    entropy, count = parts.entropy_parts(n).sum(axis=0)
    return float(parts.negentropy_from(entropy, count, n.shape[1]))


def cross_negentropy(
    counts_a: ArrayLike, counts_b: ArrayLike, smoothing: float = 0.5, *, convention: str = "default"
) -> float:
    """Return how well side b's ratings of an item predict those of side a.

    ln L − mean over items rated by both of H_i, H_i = −Σ_c x_ic/R_i·ln q_ic,
    q_ic = (y_ic + smoothing)/(S_i + L·smoothing); L is the number of columns.

    Parameters
    ----------
    counts_a, counts_b
        x_ic and y_ic, how many raters of either side gave item i the point c; R_i, S_i are their sums.
    smoothing
        Added to each count of side b. With 0, a point that only side a gave makes the value −∞.
    convention
        ``"published"`` counts H_i as 0, the strongest agreement, if b left any point of the scale unused, and
        does not smooth. The published tables do that; it is wrong.

    Returns
    -------
    float
        At most ln L, which is approached if both sides are unanimous and alike; 0 if b predicts a no better than even
        odds do; below 0 if it predicts worse. NaN if no item was rated by both sides.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> cross_negentropy([[2, 0]], [[1, 1]])
    0.0
    """
    x, y = pair_of("counts_a", counts_a, "counts_b", counts_b)
    published = choice_of("convention", convention, CONVENTIONS) == "published"
    summed = parts.cross_entropy_parts(x, y, amount_of("smoothing", smoothing), published=published).sum(axis=0)
    return float(parts.negentropy_from(summed[0], summed[1], x.shape[1]))


def voting_agreement(
    counts_a: ArrayLike,
    counts_b: ArrayLike,
    ties: str = "share",
    *,
    seed: int = 0,
    items: Sequence[object] | None = None,
) -> float:
    """Return the agreement beyond chance of two sides that each have one vote on every item.

    Nominal alpha of two votes per item: α = 1 − (n−1)(n − 2Σ_c V_cc)/(n² − Σ_c n_c²) with V_ck = Σ_i x̃_ic ỹ_ik over
    items rated by both, where x̃, ỹ are 1 on the point a side gave most, n_c = Σ_i x̃_ic + ỹ_ic and n = Σ_c n_c.

    Parameters
    ----------
    counts_a, counts_b
        How many raters of either side gave item i the point c.
    ties
        Tied points ``"share"`` the vote equally, or the ``"lowest"`` gets it, or a ``"random"`` one.
    seed, items
        For random ties: a point wins by a hash of the seed, the item's id as text, the point and the side, so that the
        order of items does not matter. Without ids, the row numbers are used.

    Returns
    -------
    float
        1 if both sides vote alike on every item, 0 if they agree as often as votes drawn at random; at least −1. NaN if
        no item was rated by both sides, or all votes are for one point.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> round(voting_agreement([[3, 0], [0, 2], [2, 1]], [[1, 0], [1, 2], [1, 2]]), 6)  # 1 − (2/6)/(3/5)
    0.444444
    """
    x, y = pair_of("counts_a", counts_a, "counts_b", counts_b)
    rule = choice_of("ties", ties, TIES)
    first, second = None, None
    if rule == "random":
        ids = range(len(x)) if items is None else items
        if len(ids) != len(x):
            raise InputError(f"items has {len(ids)} ids for {len(x)} items", hint="Give one id for each row of counts.")
        first, second = (tie_priorities(ids, x.shape[1], seed=seed, side=side) for side in (0, 1))
    summed = parts.voting_parts(votes(x, rule, first), votes(y, rule, second)).sum(axis=0)
    votes_a, votes_b = np.split(summed[1:], 2)
    return float(parts.voting_from(summed[0], votes_a, votes_b))


def ac1(counts: ArrayLike) -> float:
    """Return Gwet's AC1, agreement beyond chance that stays stable when nearly everyone gives one point.

    AC1 = (p_a − p_e)/(1 − p_e) with p_a = :func:`percent_agreement`, p_e = Σ_c π_c(1 − π_c)/(L − 1) and π_c the mean
    over items with m_i ≥ 1 of n_ic/m_i; L is the number of columns.

    1 if all pairs agree, even if everyone gave the same point; 0 if they agree as often as by chance; at least −1. NaN
    if no item has two ratings.

    References
    ----------
    Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement.

    Examples
    --------
    >>> round(ac1([[2, 0], [0, 2], [1, 1]]), 6)  # p_a = 2/3, p_e = 1/2
    0.333333
    """
    summed = parts.ac_parts(counts_of("counts", counts)).sum(axis=0)
    return float(parts.ac_from(summed[0], summed[1], summed[2], summed[3:]))


def ac2(counts: ArrayLike, *, values: ArrayLike | None = None) -> float:
    """Return Gwet's AC2: AC1 with partial credit for near misses, by quadratic weights.

    AC2 = (p_a − p_e)/(1 − p_e) with p_a the mean over items with m_i ≥ 2 of Σ_c n_ic(n*_ic − 1)/(m_i(m_i − 1)),
    n*_ic = Σ_k w_ck n_ik, w_ck = 1 − (v_c − v_k)²/(v_max − v_min)², and p_e = Σw/(L(L − 1))·Σ_c π_c(1 − π_c), π_c the
    mean over items with m_i ≥ 1 of n_ic/m_i. ``values`` are the v_c, 0, 1, 2, … by default; L is the number of
    columns.

    1 if all pairs agree, 0 if they agree as often as by chance, below 0 if less often. NaN if no item has two ratings.

    References
    ----------
    Gwet (2014), Handbook of Inter-Rater Reliability.

    Examples
    --------
    >>> round(ac2([[2, 0, 0], [0, 1, 1]]), 6)  # p_a = (1 + 3/4)/2, Σw = 6, π = (1/2, 1/4, 1/4), p_e = 5/8
    0.666667
    """
    n = counts_of("counts", counts)
    numbers = values_of(values, n.shape[1])
    summed = parts.ac_parts(n, numbers).sum(axis=0)
    return float(parts.ac_from(summed[0], summed[1], summed[2], summed[3:], numbers))
