"""Cohen's kappa of every pair of raters, and its mean: a sum over pairs of raters, not over items.

Each pair has a joint table (L × L): on how many of the items that both scored they gave the points c and k. An item
adds 1 to one cell of the table of every pair that scored it. Tables can be added over parts of the items, and a kappa
is computed from each::

    scores ──tables_with, Σ over items──▶ (pairs, L, L) ──kappa_from──▶ (pairs) ──mean_over_pairs──▶ one number

A bootstrap over raters leaves the kappas as they are and weights each pair by the product of both raters' weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.statistics.checks import choice_of, scores_of
from plurivox.statistics.cohesion.parts import Counts, ratio
from plurivox.statistics.levels import Floats
from plurivox.statistics.mokken import heights
from plurivox.statistics.records import Statistic

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
    return Cohen(
        float(mean_over_pairs(kappas)),
        n_pairs,
        n_sharing - n_pairs,
        n_all - n_sharing,
        kappas,
        n_common,
        "" if n_pairs else SAME_POINT if n_sharing else NO_SHARED_ITEMS,
    )


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
        name="weighted_kappa", label="weighted κ", function=weighted_kappa, needs="scores", range=(-1.0, 1.0),
        role="whole", order=130, whole=_of_scores,
        equation="mean over pairs of raters of 1 − Σ_ck d_ck p_ck / Σ_ck d_ck p_c q_k, d_ck = (v_c − v_k)²",
        meaning="how far pairs of raters of a group agree beyond chance, with partial credit for near misses (Cohen's "
        "weighted kappa, mean over pairs)",
        higher_means="more agreement within the group",
        reference="Cohen (1968), Weighted kappa; Light (1971), Measures of response agreement for qualitative data",
    ),
)  # fmt: skip
