"""Mokken's scalability: whether raters order items alike, as far as their uses of the points allow.

Raters play the part of a questionnaire's items, and the items they rated that of its respondents. The covariance of two
raters' scores is divided by the largest that both distributions of scores allow, over the items that both scored:

    H_ij = cov(i, j) / max cov(i, j),   H_j = Σ_i cov / Σ_i max cov,   H = Σ_ij cov / Σ_ij max cov.

Standard errors are those of the delta method with items drawn at random: each item's influence on a coefficient,
squared and added up. Intervals are symmetric on log(1 − H), so none goes beyond 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.statistics.checks import scores_of
from plurivox.statistics.levels import Floats

NORMAL_95 = 1.959963984540054
NO_SCORE = "no score"
ONE_SCORE = "only one score was used"
NO_PARTNER = "no other rater scored two of the same items, with different scores"
NO_SCALE = "no two raters scored the same items with different scores"
STRENGTHS = ((0.5, "strong"), (0.4, "medium"), (0.3, "weak"))
"""What Mokken called a scale with at least this H."""


@dataclass(frozen=True, slots=True, eq=False)
class Mokken:
    """Scalability coefficients of raters.

    Attributes
    ----------
    h, h_se, h_low, h_high
        Of all raters together, with standard error and 95 % interval.
    h_raters, h_raters_se, h_raters_low, h_raters_high
        Of each rater with all others.
    h_pairs, h_pairs_se, n_common
        Raters × raters, and how many items both scored; NaN on the diagonal and where a pair is undefined.
    notes
        Why each rater was set aside, "" if they were not.
    smallest_pair
        The smallest number of common items among the pairs that count.
    n_undefined_pairs
        Pairs of raters with two different scores each that have no coefficient and are left out of all sums.
    note
        Why H is NaN, "" if it is not.
    covariance, largest, spread
        Of each pair: the covariance, the largest possible, and the product of both variances over n − 1.
    """

    h: float
    h_se: float
    h_low: float
    h_high: float
    h_raters: Floats
    h_raters_se: Floats
    h_raters_low: Floats
    h_raters_high: Floats
    h_pairs: Floats
    h_pairs_se: Floats
    n_common: NDArray[np.int64]
    notes: tuple[str, ...]
    smallest_pair: int
    n_undefined_pairs: int
    note: str
    covariance: Floats
    largest: Floats
    spread: Floats

    @property
    def strength(self) -> str:
        """What Mokken called a scale with such an H: strong, medium, weak or none."""
        return next((word for least, word in STRENGTHS if self.h >= least), "none")


def mokken_h(scores: ArrayLike) -> Mokken:
    """Return the scalability coefficients H, H_j and H_ij of raters.

    1 means that two raters order items as similarly as their uses of the scale allow, 0 that their scores are
    unrelated, less than 0 that one tends to rise where the other falls. Raters without two different scores are set
    aside.

    Parameters
    ----------
    scores
        Items × raters, NaN where a score is missing. Pairs of raters are compared on the items that both scored.

    References
    ----------
    Mokken (1971), A theory and procedure of scale analysis; Molenaar (1991), A weighted Loevinger H-coefficient;
    Kuijpers, van der Ark and Croon (2013), Standard errors and confidence intervals for scalability coefficients.

    Examples
    --------
    >>> found = mokken_h([[0, 0, 1], [1, 1, 0], [2, 1, 2], [2, 3, 3]])
    >>> round(found.h, 3), found.h_raters.round(3).tolist()
    (0.814, [0.84, 0.862, 0.75])
    """
    codes, points = scores_of("scores", scores)
    return mokken_of(codes, points)


def mokken_of(codes: NDArray[np.int32], points: Floats) -> Mokken:
    """Return the coefficients from raters × items, -1 where a score is missing, and the numbers of the points."""
    from plurivox.kernels.mokken import COVARIANCE, ERROR, LARGEST, N_NUMBERS, SPREAD, pair_sums

    n_raters, n_items = codes.shape
    n_used = np.array([len(np.unique(row[row >= 0])) for row in codes], dtype=np.int64)
    pairs = np.full((N_NUMBERS, n_raters, n_raters), np.nan)
    n_common = np.zeros((n_raters, n_raters), np.int64)
    added = np.zeros((2, n_raters, n_items))
    if len(points):
        steps = np.diff(heights(points), prepend=0.0)
        pair_sums(np.where(codes < 0, len(points), codes).astype(np.int32), steps, pairs, n_common, added)
    there = ~np.isnan(pairs[COVARIANCE])
    covariance, largest = np.where(there, pairs[COVARIANCE], 0.0), np.where(there, pairs[LARGEST], 0.0)
    h, h_se = _ratio(covariance.sum() / 2, largest.sum() / 2, added.sum(axis=1) / 2)
    each = [_ratio(covariance[j].sum(), largest[j].sum(), added[:, j]) for j in range(n_raters)]
    h_raters, h_raters_se = (np.array([one[at] for one in each], dtype=float) for at in range(2))
    low, high = interval(np.array([h, *h_raters]), np.array([h_se, *h_raters_se]))
    n_inside = int(np.count_nonzero(n_used > 1))
    apart = [NO_PARTNER if math.isnan(one) else "" for one in h_raters]
    notes = tuple(set_aside(int(n)) or other for n, other in zip(n_used, apart, strict=True))
    return Mokken(
        h, h_se, float(low[0]), float(high[0]), h_raters, h_raters_se, low[1:], high[1:],
        pairs[COVARIANCE] / pairs[LARGEST], pairs[ERROR], n_common,
        notes,
        int(n_common[there].min()) if there.any() else 0,
        n_inside * (n_inside - 1) // 2 - int(np.count_nonzero(there)) // 2,
        "" if there.any() else NO_SCALE,
        pairs[COVARIANCE], pairs[LARGEST], pairs[SPREAD],
    )  # fmt: skip


def heights(points: Floats) -> Floats:
    """Return the points rescaled to 0 … 1, by halves, since their whole difference may overflow."""
    above = points / 2 - points[0] / 2
    return np.asarray(above / above[-1]) if above[-1] > 0 else np.zeros(len(points))


def interval(h: Floats, se: Floats) -> tuple[Floats, Floats]:
    """Return 95 % intervals of coefficients: symmetric on log(1 − H), NaN without a standard error."""
    distance = 1 - h
    known = (distance > 0) & (se > 0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        wide = np.exp(NORMAL_95 * se / distance)
        low, high = 1 - distance * wide, 1 - distance / wide
    return np.where(known, low, np.nan), np.where(known, high, np.nan)


def _ratio(covariance: float, largest: float, added: Floats) -> tuple[float, float]:
    """Return a coefficient and its standard error."""
    if not largest > 0:
        return math.nan, math.nan
    h = float(covariance / largest)
    return h, float(np.sqrt(((added[0] - h * added[1]) ** 2).sum()) / largest)


def set_aside(n_used: int) -> str:
    """Say why a rater who used this many points is set aside, "" if they are not."""
    return "" if n_used > 1 else ONE_SCORE if n_used else NO_SCORE
