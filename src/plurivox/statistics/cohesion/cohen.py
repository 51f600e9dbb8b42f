"""Kappas: agreement beyond chance, of many raters (Fleiss) and of pairs of raters (Cohen).

Fleiss' kappa takes the shared use of the points as chance. It finishes the sums of AC1
(:func:`~plurivox.statistics.cohesion.parts.ac_parts`), from which it differs only in its chance agreement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.statistics.checks import Floats, choice_of, counts_of, scores_of
from plurivox.statistics.cohesion.parts import Counts, ac_parts, of_sums, ratio
from plurivox.statistics.mokken import heights
from plurivox.statistics.records import About, Known, Slots, Statistic
from plurivox.statistics.undefined import ONE_POINT, why_mean


def fleiss_kappa(counts: ArrayLike) -> float:
    """Return Fleiss' kappa, agreement beyond chance when raters may differ from item to item.

    κ = (p_a − p_e)/(1 − p_e) with p_a the mean over items with m_i ≥ 2 of Σ_c n_ic(n_ic − 1)/(m_i(m_i − 1)) and
    p_e = Σ_c π_c². ``counts`` are n_ic, how many raters gave item i the point c, and m_i their sum.

    Fleiss assumed the same number of ratings for each item. For unequal numbers, π_c is the mean of the shares n_ic/m_i
    over items with m_i ≥ 1, in which each item counts once, as Gwet defines it; pooled ratings would give more weight
    to items with more ratings. Both equal Fleiss' own π_c if all m_i are equal.

    1 if all pairs agree; 0 if they agree as often as by chance; below 0 if less often. NaN if no item has two ratings
    or everyone gave the same point.

    References
    ----------
    Fleiss (1971), Measuring nominal scale agreement among many raters; Gwet (2014), Handbook of Inter-Rater
    Reliability, for unequal numbers of ratings.

    Examples
    --------
    >>> fleiss_kappa([[2, 0], [0, 2], [2, 0], [1, 1]])  # p_a = 3/4, π = (5/8, 3/8), p_e = 17/32
    0.4666666666666667
    """
    return float(fleiss_from(ac_parts(counts_of("counts", counts)).sum(axis=0)))


def fleiss_from(sums: Floats) -> Floats:
    """Return kappa of sums (…, 3 + L), as 1 − (1 − p_a)/Σ_c π_c(1 − π_c), which is exact if one point is used."""
    agreement = ratio(sums[..., 0], sums[..., 1])
    pi = ratio(sums[..., 3:], sums[..., 2, None])
    return 1 - ratio(1 - agreement, (pi * (1 - pi)).sum(axis=-1))


def why_fleiss(sums: Floats, *, n_raters: int | None = None) -> str | None:
    """Say why kappa is undefined, from its sums (3 + L,); None if it is defined."""
    if np.count_nonzero(sums[3:]) == 1 and sums[1] > 0:
        return ONE_POINT
    return why_mean(float(sums[1]), "pairable", n_raters=n_raters)


# The record ----------------------------------------------------------------------------------------------------------


def _why(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    return why_fleiss(s["ac1"], n_raters=n_raters)


# Cohen ----------------------------------------------------------------------------------------------------------------
#
# Cohen's kappa of every pair of raters, and its mean: a sum over pairs of raters, not over items.
#
# scores ──tables_with, Σ over items──▶ (pairs, L, L) ──kappa_from──▶ (pairs) ──mean_over_pairs──▶ one number
#
# A bootstrap over raters leaves the kappas as they are and weights each pair by the product of both raters' weights.


Weights = Literal["unweighted", "linear", "quadratic"]
WEIGHTS = ("unweighted", "linear", "quadratic")
MIN_COMMON = 2
"""How many items a pair must share: with one, kappa is always 0 or undefined."""
NO_SHARED_ITEMS = f"no two raters scored {MIN_COMMON} of the same items"
SAME_POINT = "every pair of raters who scored the same items gave only one point"


@dataclass(frozen=True, slots=True, eq=False)
class Cohen:
    """Cohen's kappa of pairs of raters.

    Attributes
    ----------
    kappa
        The mean over the pairs that have one, each pair counting once.
    n_pairs
        Pairs of raters whose kappa is in the mean.
    n_undefined_pairs
        Pairs that share two items or more but have no kappa, since both gave the same single point on all of them.
    n_apart
        Pairs that share fewer than two items.
    kappa_pairs, n_common
        Raters × raters: the kappas, NaN on the diagonal and where there is none, and how many items both scored.
    note
        Why kappa is NaN, "" if it is not.
    """

    kappa: float
    n_pairs: int
    n_undefined_pairs: int
    n_apart: int
    kappa_pairs: Floats
    n_common: NDArray[np.int64]
    note: str


def cohen_kappa(scores: ArrayLike, weights: str = "unweighted") -> Cohen:
    """Return the mean of Cohen's kappa over all pairs of raters who share at least two items.

    κ_ab = 1 − Σ_ck d_ck p_ck/Σ_ck d_ck p_c q_k over the items that both scored: p_ck is the share on which a gave c
    and b gave k; p_c and q_k are the sums of its rows and columns. d_ck, the weight of a disagreement, is [c ≠ k]
    (``"unweighted"``), ``|c − k|`` (``"linear"``) or (c − k)² (``"quadratic"``), with the scores themselves as numbers.

    1 if every pair of raters agrees on all items they share; 0 if they agree as often as their own uses of the points
    give by chance; below 0 if less often. NaN if no pair has a kappa. Pairs that share few items count as much as
    others, so the mean is noisy if raters share few items; look at ``n_common``.

    Parameters
    ----------
    scores
        Items × raters, NaN where a score is missing.

    References
    ----------
    Cohen (1960), A coefficient of agreement for nominal scales; Cohen (1968), Weighted kappa; Light (1971), Measures
    of response agreement for qualitative data, for the mean over pairs.

    Examples
    --------
    >>> found = cohen_kappa([[0, 0, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1]])
    >>> found.kappa, found.n_pairs, found.kappa_pairs[0].tolist()  # (1/2 + 0 + 0)/3
    (0.16666666666666666, 3, [nan, 0.5, 0.0])
    """
    rule = choice_of("weights", weights, WEIGHTS)
    codes, points = scores_of("scores", scores)
    n_raters = len(codes)
    distance = disagreements(points, rule)
    kappas, n_common = np.full((n_raters, n_raters), np.nan), np.zeros((n_raters, n_raters), np.int64)
    for rater in range(n_raters - 1):
        tables = tables_with(codes, rater, len(points))
        kappas[rater, rater + 1 :] = kappas[rater + 1 :, rater] = kappa_from(tables, distance)
        n_common[rater, rater + 1 :] = n_common[rater + 1 :, rater] = tables.sum(axis=(-2, -1))
    n_all = n_raters * (n_raters - 1) // 2
    n_sharing, n_pairs = (int(np.count_nonzero(one)) // 2 for one in (n_common >= MIN_COMMON, ~np.isnan(kappas)))
    note = "" if n_pairs else SAME_POINT if n_sharing else NO_SHARED_ITEMS
    mean = float(mean_over_pairs(kappas))
    return Cohen(mean, n_pairs, n_sharing - n_pairs, n_all - n_sharing, kappas, n_common, note)


def disagreements(points: Floats, weights: str) -> Floats:
    """Return the weight of each disagreement, points × points, rescaled to at most 1, which changes no kappa."""
    if weights == "unweighted" or not len(points):
        return 1.0 - np.eye(len(points))
    height = heights(points)
    apart: Floats = np.abs(height[:, None] - height)
    return apart if weights == "linear" else apart**2


def tables_with(
    codes: NDArray[np.int32], rater: int, n_points: int, *, item_weights: NDArray[np.float64] | None = None
) -> Floats:
    """Return the joint tables of a rater with every later one, (later raters, L, L), from codes raters × items.

    A code of −1 is a missing score. ``item_weights`` says how often each item counts, by default once.
    """
    there = np.flatnonzero(codes[rater] >= 0)  # only the items that the rater scored: sparse ratings stay cheap
    own, others = codes[rater, there].astype(np.int64), codes[rater + 1 :, there].astype(np.int64)
    width = n_points + 1  # a column for missing scores, which is cut off
    cells = (np.arange(len(others))[:, None] * n_points + own) * width + np.where(others < 0, n_points, others)
    times = None if item_weights is None else np.broadcast_to(item_weights[there], cells.shape).ravel()
    counts = np.bincount(cells.ravel(), times, len(others) * n_points * width)
    return counts.reshape(len(others), n_points, width)[..., :n_points].astype(float)


def kappa_from(tables: Counts, distance: Floats) -> Floats:
    """Return kappa of joint tables (…, L, L), with weights of disagreements (L, L); NaN below two items."""
    n: Floats = np.asarray(tables, dtype=float).sum(axis=(-2, -1))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    observed = (tables * distance).sum(axis=(-2, -1))
    expected = ((rows[..., :, None] * columns[..., None, :]) * distance).sum(axis=(-2, -1))
    return 1 - ratio(observed * n, np.where(n >= MIN_COMMON, expected, 0.0))


def mean_over_pairs(kappa_pairs: Floats, rater_weights: Counts | None = None) -> Floats:
    """Return the mean kappa of different raters, from raters × raters with NaN where there is none.

    ``rater_weights`` (…, raters) weight a pair by the product of both weights; raters never pair with copies of
    themselves.
    """
    known = ~np.isnan(kappa_pairs) & ~np.eye(len(kappa_pairs), dtype=bool)
    kappas = np.where(known, kappa_pairs, 0.0)
    w = np.ones(len(kappas)) if rater_weights is None else np.asarray(rater_weights, dtype=float)
    return ratio((w * (w @ kappas)).sum(axis=-1), (w * (w @ known.astype(float))).sum(axis=-1))


# The record ----------------------------------------------------------------------------------------------------------


def weighted_kappa(scores: ArrayLike) -> float:
    """Return the mean over pairs of raters of Cohen's kappa with quadratic weights; see :func:`cohen_kappa`.

    References
    ----------
    Cohen (1968), Weighted kappa; Light (1971), Measures of response agreement for qualitative data.

    Examples
    --------
    >>> weighted_kappa([[0, 0], [2, 1], [4, 4]])
    0.9411764705882353
    """
    return cohen_kappa(scores, "quadratic").kappa


def _of_scores(scores: Floats) -> tuple[float, str]:
    found = cohen_kappa(scores, "quadratic")
    return found.kappa, found.note


RECORDS = (
    Statistic(
        name="fleiss_kappa", label="Fleiss' κ", function=fleiss_kappa, needs="group", range=(-math.inf, 1.0),
        role="beside", order=120, sums_of="ac1", finish=partial(of_sums, fleiss_from, ("ac1",)), why=_why,
        equation="κ = (p_a − p_e)/(1 − p_e), p_e = Σ_c π_c², π_c = mean_i n_ic/m_i",
        meaning="how far raters of a group agree beyond chance, at the nominal level (Fleiss' kappa)",
        higher_means="more agreement within the group",
        reference="Fleiss (1971), Measuring nominal scale agreement among many raters",
    ),
    Statistic(
        name="weighted_kappa", label="weighted κ", function=weighted_kappa, needs="scores", range=(-1.0, 1.0),
        role="whole", order=130, whole=_of_scores,
        equation="mean over pairs of raters of 1 − Σ_ck d_ck p_ck / Σ_ck d_ck p_c q_k, d_ck = (v_c − v_k)²",
        meaning="how far pairs of raters of a group agree beyond chance, with partial credit for near misses (Cohen's "
        "weighted kappa, mean over pairs)",
        higher_means="more agreement within the group",
        reference="Cohen (1968), Weighted kappa; Light (1971), Measures of response agreement for qualitative data",
    ),
)  # fmt: skip
