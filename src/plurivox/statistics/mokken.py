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
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.statistics.checks import Floats, scores_of

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


# Mokken checks --------------------------------------------------------------------------------------------------------
#
# Mokken's checks of a set of raters: which of them form scales, and whose scores fall where the others' rise.


SIGNIFICANT_Z = 1.6448536269514722
"""The 95 % quantile of the standard normal distribution: a violation beyond it is unlikely to be chance."""
ROUNDING = 1e-12
TOO_FEW_ITEMS = "too few items for two groups by rest score"


def mokken_scales(scores: ArrayLike, lower_bound: float = 0.3, alpha: float = 0.05) -> NDArray[np.int64]:
    """Sort raters into scales by Mokken's selection procedure: 1 for the first scale, 0 for those in none.

    A scale starts with the pair with the highest H_ij, which must reach the lower bound and be significantly above 0.
    Among the raters whose coefficients with all of its raters are not negative, and whose H_j with them reaches the
    bound and is significantly above 0, the one that leaves the highest H joins, until there are none. Then the next
    scale starts among the others. Significance is by Mokken's Z, with Bonferroni's correction for the tests of a scale
    so far.

    Parameters
    ----------
    scores
        Items × raters, NaN where a score is missing.
    lower_bound
        The H_j that a rater must reach, from 0 to 1.
    alpha
        The significance level.

    References
    ----------
    Mokken (1971), A theory and procedure of scale analysis, chapter 5; Sijtsma and Molenaar (2002), Introduction to
    nonparametric item response theory, chapter 5.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> severity = rng.normal(size=(200, 1))
    >>> scores = np.hstack([severity + 0.5 * rng.normal(size=(200, 4)), rng.normal(size=(200, 1))]).round().clip(-2, 2)
    >>> mokken_scales(scores).tolist()
    [1, 1, 1, 1, 0]
    """
    for name, value in (("lower_bound", lower_bound), ("alpha", alpha)):
        if not 0 <= value < 1 or (name == "alpha" and value == 0):
            raise InputError(f"{name} is {value!r}", hint="Give a number from 0 to 1, such as 0.3 or 0.05.")
    return scales_of(mokken_h(scores), lower_bound, alpha)


def scales_of(found: Mokken, lower_bound: float = 0.3, alpha: float = 0.05) -> NDArray[np.int64]:
    """Sort raters into scales by their coefficients; see :func:`mokken_scales`."""
    there = ~np.isnan(found.covariance)
    numbers = (np.where(there, one, 0.0) for one in (found.covariance, found.largest, found.spread))
    pairs = _Pairs(there, *numbers)
    scale = np.zeros(len(there), np.int64)
    free: NDArray[np.bool_] = np.asarray(there.any(axis=1))
    number = 1
    while (start := _start(pairs, free, lower_bound, alpha)) is not None:
        chosen = _grown(pairs, start, free, lower_bound, alpha)
        scale[chosen] = number
        free &= ~chosen
        number += 1
    return scale


class _Pairs(NamedTuple):
    """What is known about every pair of raters, 0 if a pair has no coefficient."""

    there: NDArray[np.bool_]
    covariance: Floats
    largest: Floats
    spread: Floats


def _critical(alpha: float, n_tests: int) -> float:
    """Return the z beyond which one of this many tests is significant."""
    from scipy.special import ndtri

    return float(-ndtri(alpha / n_tests))


def _start(pairs: _Pairs, free: NDArray[np.bool_], lower_bound: float, alpha: float) -> tuple[int, int] | None:
    """Return the pair with the highest H_ij that may start a scale."""
    n_free = int(free.sum())
    if n_free < 2:
        return None
    critical = _critical(alpha, n_free * (n_free - 1) // 2)
    open_pairs = free[:, None] & free & pairs.there & (pairs.covariance >= np.sqrt(pairs.spread) * critical)
    h = np.divide(pairs.covariance, pairs.largest, out=np.full(free.shape * 2, -np.inf), where=np.triu(open_pairs, 1))
    first, second = np.unravel_index(int(h.argmax()), h.shape)
    return (int(first), int(second)) if h[first, second] >= lower_bound else None


def _grown(
    pairs: _Pairs, start: tuple[int, int], free: NDArray[np.bool_], lower_bound: float, alpha: float
) -> NDArray[np.bool_]:
    """Return the scale that grows from a pair."""
    chosen, partnered, blocked = (np.zeros(len(free), bool) for _ in range(3))
    sums = np.zeros((3, len(free)))  # covariance, largest and spread of each rater with the chosen ones
    whole = np.zeros(3)
    n_tests = int(free.sum()) * (int(free.sum()) - 1) // 2
    waiting = list(start)
    while waiting:
        one = waiting.pop(0)
        whole += sums[:, one]
        sums += np.stack([pairs.covariance[one], pairs.largest[one], pairs.spread[one]])
        chosen[one] = True
        partnered |= pairs.there[one]
        blocked |= pairs.there[one] & (pairs.covariance[one] < 0)
        if waiting:
            continue
        able = free & partnered & ~blocked & ~chosen
        n_tests += int(able.sum())
        able &= (sums[0] >= np.sqrt(sums[2]) * _critical(alpha, n_tests)) & (sums[0] >= lower_bound * sums[1])
        h = np.divide(whole[0] + sums[0], whole[1] + sums[1], out=np.full(len(free), -np.inf), where=able)
        waiting = [int(h.argmax())] if able.any() else []
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class Monotonicity:
    """Where the scores of each rater fall although the others' rise; an array has one number for each rater.

    Attributes
    ----------
    n_groups
        How many groups of items, sorted by rest score, were compared.
    n_active
        Comparisons of two groups at one point that could show a violation.
    n_violations, largest, total
        Those where the lower group reaches the point more often by more than ``min_violation``; the largest such
        difference, and their sum.
    z, n_significant
        The largest normal deviate of a violation, and how many are beyond 1.645.
    crit
        A sum of all of these and H_j; 40 or more is worth a look, 80 or more is serious. 0 without violations.
    min_size, min_violation
        As given.
    notes
        Why each rater could not be checked, "" if they could.
    """

    n_groups: NDArray[np.int64]
    n_active: NDArray[np.int64]
    n_violations: NDArray[np.int64]
    largest: Floats
    total: Floats
    z: Floats
    n_significant: NDArray[np.int64]
    crit: Floats
    min_size: int
    min_violation: float
    notes: tuple[str, ...]


def monotonicity(scores: ArrayLike, min_size: int | None = None, min_violation: float = 0.03) -> Monotonicity:
    """Check for each rater whether the probability of a high score rises with the scores of all others.

    Items are sorted by the rest score, the sum of the other raters' scores, and put into groups of at least
    ``min_size``, with equal rest scores together. At every point of the scale, a group with a higher rest score should
    not reach it less often. If scores are missing, the rest score is the mean of the others' deviations from their own
    means, which gives the same order if none is missing.

    Parameters
    ----------
    scores
        Items × raters, NaN where a score is missing.
    min_size
        The fewest items in a group; by default a tenth of the items if there are at least 500, a fifth above 250, a
        third from 150 on, otherwise 50.
    min_violation
        Smaller differences of shares are not counted.

    References
    ----------
    Molenaar and Sijtsma (2000), User's manual MSP5; van der Ark (2007), Mokken scale analysis in R; the z of a
    violation is Molenaar's (1970) approximation of the hypergeometric distribution.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> severity = rng.normal(size=(400, 1))
    >>> scores = (severity + rng.normal(size=(400, 4))).round().clip(-2, 2)
    >>> scores[:, 3] = abs(scores[:, 3])
    >>> monotonicity(scores).n_significant.tolist()
    [0, 0, 0, 4]
    """
    if not min_violation >= 0:
        raise InputError(f"min_violation is {min_violation!r}", hint="Give a share of 0 or greater, such as 0.03.")
    if min_size is not None and min_size < 1:
        raise InputError(f"min_size is {min_size!r}", hint="Give a number of items, 1 or more.")
    codes, points = scores_of("scores", scores)
    return monotonicity_of(codes, points, mokken_of(codes, points), min_size, min_violation)


def monotonicity_of(
    codes: NDArray[np.int32], points: Floats, found: Mokken, min_size: int | None = None, min_violation: float = 0.03
) -> Monotonicity:
    """Check raters × items, -1 where a score is missing, given their coefficients; see :func:`monotonicity`."""
    n_items = codes.shape[1]
    usual = 50 if n_items < 150 else n_items // (3 if n_items <= 250 else 5 if n_items < 500 else 10)
    least = usual if min_size is None else min_size
    rows = [
        _checked(row, rest, len(points), least, min_violation)
        for row, rest in zip(codes, _rest_scores(codes, points), strict=True)
    ]
    counts = np.array([row[:7] for row in rows], dtype=float).reshape(len(rows), 7)
    active, n, largest, total, z, significant = counts[:, 1:].T
    with np.errstate(invalid="ignore", divide="ignore"):
        crit = (
            50 * (0.3 - found.h_raters) + np.sqrt(n) + 100 * n / active + 100 * largest + 10 * np.sqrt(total)
            + 1000 * total / active + 5 * z + 10 * np.sqrt(significant) + 100 * significant / active
        )  # fmt: skip
    notes = tuple(
        set_aside(len(np.unique(row[row >= 0]))) or ("" if n_groups > 1 else TOO_FEW_ITEMS)
        for row, n_groups in zip(codes, counts[:, 0], strict=True)
    )
    unknown = np.array([bool(note) for note in notes], bool)
    return Monotonicity(
        counts[:, 0].astype(np.int64), active.astype(np.int64), n.astype(np.int64),
        np.where(unknown, np.nan, largest), np.where(unknown, np.nan, total), np.where(unknown, np.nan, z),
        significant.astype(np.int64), np.where(unknown, np.nan, np.where(n > 0, crit, 0.0)), least,
        min_violation, notes,
    )  # fmt: skip


def _rest_scores(codes: NDArray[np.int32], points: Floats) -> Floats:
    """Return raters × items, how severely the other raters scored each item; NaN if none of them did."""
    given = codes >= 0
    if not len(points):
        return np.full(codes.shape, np.nan)
    scores = np.where(given, heights(points)[codes], 0.0)
    if given.all():
        return np.asarray((scores.sum(axis=0) - scores).round(9))
    n_given = given.sum(axis=1, keepdims=True)
    above = np.where(given, scores - scores.sum(axis=1, keepdims=True) / np.maximum(n_given, 1), 0.0)
    n_others = given.sum(axis=0) - given
    rest = np.divide(above.sum(axis=0) - above, n_others, out=np.full(codes.shape, np.nan), where=n_others > 0)
    return np.asarray(rest.round(9))


def _checked(
    own: NDArray[np.int32], rest: Floats, n_points: int, least: int, min_violation: float
) -> tuple[float, ...]:
    """Return groups, active pairs, violations, the largest, their sum, the largest z, and how many are significant."""
    known = (own >= 0) & ~np.isnan(rest)
    order = np.argsort(rest[known], kind="stable")
    sorted_rest, sorted_own = rest[known][order], own[known][order]
    ends = _group_ends(sorted_rest, least)
    counts = np.array([np.bincount(part, minlength=n_points) for part in np.split(sorted_own, ends)[: len(ends)]])
    if len(ends) < 2 or len(np.unique(sorted_own)) < 2:
        return (len(ends), 0, 0, 0.0, 0.0, 0.0, 0)
    reached = np.cumsum(counts[:, ::-1], axis=1)[:, -2::-1]  # groups × points from the second on
    size = counts.sum(axis=1)
    share = reached / size[:, None]
    active, sizes, deviates = 0, [], []
    for low, high in combinations(range(len(size)), 2):
        active += int(np.count_nonzero((share[low] > 0) & (share[high] < 1)))
        for k in np.flatnonzero(share[low] - share[high] > min_violation + ROUNDING):
            more, less = float(reached[low, k]), float(reached[high, k])
            kept, gone = size[low] - more, size[high] - less
            z = 2 * (np.sqrt((less + 1) * (kept + 1)) - np.sqrt(more * gone)) / np.sqrt(size[low] + size[high] - 1)
            sizes.append(float(share[low, k] - share[high, k]))
            deviates.append(abs(float(z)))
    significant = sum(z > SIGNIFICANT_Z for z in deviates)
    return len(ends), active, len(sizes), max(sizes, default=0.0), sum(sizes), max(deviates, default=0.0), significant


def _group_ends(rest: Floats, least: int) -> list[int]:
    """Return where groups of ``least`` or more sorted rest scores end; equal ones stay together, the last takes all."""
    ends: list[int] = []
    start = 0
    while len(rest) - start >= least:
        start = int(np.searchsorted(rest, rest[start + least - 1], side="right"))
        ends.append(start)
    if ends:
        ends[-1] = len(rest)
    return ends
