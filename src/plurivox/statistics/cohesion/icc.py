"""Intraclass correlations: the share of the variance of scores that is between items, by an analysis of variance.

ICC(1) is one-way: raters are not distinguished, so counts are enough. It is a sum over items, then a finish.

================ ======= ===================================================== ================
contribution     parts   layout                                                items that count
================ ======= ===================================================== ================
icc1_parts       4 + L   squares within the item; m − 1; m²; m; counts n       m ≥ 1
================ ======= ===================================================== ================

ICC(A,1) and ICC(C,1) are two-way: raters' own means are removed from the error, which needs raters' scores instead of
counts, and items that all of them scored. Names are McGraw and Wong's; Shrout and Fleiss call ICC(1), ICC(A,1) and
ICC(C,1) by the names ICC(1,1), ICC(2,1) and ICC(3,1). Scale values are numbers throughout.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from plurivox.statistics.checks import Floats, counts_of, scores_of, values_of
from plurivox.statistics.cohesion.parts import ROUNDING, Counts, paired, ratio, squares_of
from plurivox.statistics.mokken import heights
from plurivox.statistics.records import About, Known, Slots, Statistic
from plurivox.statistics.undefined import NO_PAIR, ONE_POINT, ONE_RATER

ONE_ITEM = "only one item was rated"
SAME_MEANS = "all items have the same mean"
FEW_COMPLETE = "fewer than two items were scored by every rater"
NO_VARIANCE = "neither items nor raters differ beyond error"
NO_SPREAD = "each rater gave all items the same score"


# One-way: counts are enough ------------------------------------------------------------------------------------------


def icc1(counts: ArrayLike, *, values: ArrayLike | None = None) -> float:
    """Return ICC(1), the reliability of a single rating when raters differ from item to item.

    ICC(1) = (MSB − MSW)/(MSB + (k₀ − 1)·MSW), with the mean squares between items, Σ_i m_i(x̄_i − x̄)²/(n − 1), and
    within, Σ_i Σ_r (x_ir − x̄_i)²/(N − n). n is the number of items with m_i ≥ 1, N = Σ_i m_i, and
    k₀ = (N − Σ_i m_i²/N)/(n − 1) stands for the number of ratings per item if it is unequal. ``values`` are the numbers
    of the points, 0, 1, 2, … by default.

    1 if raters of an item agree and items differ; 0 if ratings of an item are no more alike than ratings of different
    items; below 0 if less, at least −1/(k₀ − 1). NaN if no item has two ratings, only one was rated, or everyone gave
    the same point.

    References
    ----------
    McGraw and Wong (1996), Forming inferences about some intraclass correlation coefficients; Donner (1986), A review
    of inference procedures for the intraclass correlation coefficient, for k₀.

    Examples
    --------
    >>> round(icc1([[2, 0], [0, 2], [1, 1]]), 6)  # k₀ = 2, MSB = 1/2, MSW = 1/6
    0.5
    """
    n = counts_of("counts", counts)
    numbers = values_of(values, n.shape[1])
    return float(icc1_from(icc1_parts(n, numbers).sum(axis=0), numbers))


def icc1k(counts: ArrayLike, *, values: ArrayLike | None = None) -> float:
    """Return ICC(1,k), the reliability of an item's mean when raters differ from item to item.

    ICC(1,k) = (MSB − MSW)/MSB in the terms of :func:`icc1`; for unequal numbers of ratings it is the reliability of a
    mean of k₀ ratings. At most 1, without a lower bound. NaN as for ICC(1), and if all items have the same mean.

    References
    ----------
    McGraw and Wong (1996), Forming inferences about some intraclass correlation coefficients.

    Examples
    --------
    >>> round(icc1k([[2, 0], [0, 2], [1, 1]]), 6)  # (1/2 − 1/6)/(1/2)
    0.666667
    """
    n = counts_of("counts", counts)
    numbers = values_of(values, n.shape[1])
    return float(icc1k_from(icc1_parts(n, numbers).sum(axis=0), numbers))


def icc1_parts(counts: Counts, values: Floats, *, self_pairs: Counts | None = None) -> Floats:
    """Contribute Σ_c n_c(v_c − v̄)², (W² − Q)/W, W², Q, and n; (items, …, 4 + L).

    ``self_pairs`` Q (items, …) is Σw² in a bootstrap over raters, m by default; see
    :mod:`~plurivox.statistics.cohesion.parts`.
    """
    n, total, q, pairs = paired(counts, self_pairs)
    free = pairs / np.where(total > 0, total, 1.0)
    return np.concatenate([np.stack([squares_of(n, values), free, total**2, q], axis=-1), n], axis=-1)


class OneWay(NamedTuple):
    """A one-way analysis of variance, each field (…); NaN where it is not possible.

    ``error`` is the variance of ratings of one item, and ``between`` the sum of squares between items, whose
    expectation is ``noise``·error + ``weight``·(variance of items).
    """

    error: Floats
    between: Floats
    noise: Floats
    weight: Floats


def one_way_from(sums: Floats, values: Floats) -> OneWay:
    """Return the analysis of variance of sums (…, 4 + L).

    With weights w, the expected squares between items are σ_i²·(W − ΣW_i²/W) + σ_e²·(ΣQ_i/W_i − ΣQ_i/W), which are
    (n − 1)(k₀σ_i² + σ_e²) if each rating counts once.
    """
    within, free, squared, q = np.moveaxis(sums[..., :4], -1, 0)
    marginals = sums[..., 4:]
    n: Floats = marginals.sum(axis=-1)
    whole = squares_of(marginals, values)
    between = np.where(whole - within > ROUNDING * whole, whole - within, 0.0)
    weight = n - ratio(squared, n)
    possible = (weight > ROUNDING * n) & (whole > 0)
    error = np.where(possible, ratio(within, free), np.nan)
    return OneWay(error, between, n - free - ratio(q, n), weight)


def icc1_from(sums: Floats, values: Floats) -> Floats:
    """Return ICC(1) of sums (…, 4 + L): the items' variance over that of items and error."""
    error, between, noise, weight = one_way_from(sums, values)
    return ratio(between - noise * error, between + (weight - noise) * error)


def icc1k_from(sums: Floats, values: Floats) -> Floats:
    """Return ICC(1,k) of sums (…, 4 + L)."""
    error, between, noise, _ = one_way_from(sums, values)
    return ratio(between - noise * error, between)


def why_icc1(sums: Floats, values: Floats, *, n_raters: int | None = None) -> str | None:
    """Say why ICC(1) is undefined, from its sums (4 + L,); None if it is defined."""
    if not math.isnan(icc1_from(sums, values)):
        return None
    if not sums[1] > 0:
        return ONE_RATER if n_raters == 1 else NO_PAIR
    return ONE_POINT if np.count_nonzero(sums[4:]) == 1 else ONE_ITEM


def why_icc1k(sums: Floats, values: Floats, *, n_raters: int | None = None) -> str | None:
    """Say why ICC(1,k) is undefined, from its sums (4 + L,); None if it is defined."""
    reason = why_icc1(sums, values, n_raters=n_raters)
    return SAME_MEANS if reason is None and math.isnan(icc1k_from(sums, values)) else reason


# Two-way: scores of raters -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Icc:
    """Intraclass correlations of scores.

    Attributes
    ----------
    icc1, icc_a1, icc_c1
        Of a single rating: one-way; two-way, absolute agreement; two-way, consistency.
    icc1k, icc_ak, icc_ck
        Of the mean of an item's ratings, in the same order.
    n_items, n_complete, n_raters
        Items with a score, those that every rater scored, and raters with a score.
    notes
        Why a coefficient is NaN, by the attribute's name.
    """

    icc1: float
    icc_a1: float
    icc_c1: float
    icc1k: float
    icc_ak: float
    icc_ck: float
    n_items: int
    n_complete: int
    n_raters: int
    notes: dict[str, str]


def icc(scores: ArrayLike) -> Icc:
    """Return the six intraclass correlations of items × raters.

    With n items, k raters and the mean squares of items MSR, of raters MSC and of error MSE in a two-way analysis,

        ICC(A,1) = (MSR − MSE)/(MSR + (k − 1)·MSE + k/n·(MSC − MSE)),   ICC(A,k) = (MSR − MSE)/(MSR + (MSC − MSE)/n),
        ICC(C,1) = (MSR − MSE)/(MSR + (k − 1)·MSE),                     ICC(C,k) = (MSR − MSE)/MSR.

    1 if raters agree (A), or agree up to a constant for each of them (C), and items differ; 0 if items do not differ
    beyond error. For ICC(1) and ICC(1,k) see :func:`icc1` and :func:`icc1k`.

    Two-way coefficients use only the items that every rater scored; others are dropped ("listwise"), as in other
    packages. One-way coefficients use every score. A rater without any score is left out. ``notes`` explains each NaN.

    Parameters
    ----------
    scores
        Items × raters, the numbers of the scale's points, NaN where a score is missing.

    References
    ----------
    McGraw and Wong (1996), Forming inferences about some intraclass correlation coefficients; Shrout and Fleiss
    (1979), Intraclass correlations: uses in assessing rater reliability.

    Examples
    --------
    >>> found = icc([[1, 2], [3, 4], [5, 6]])  # the second rater is always one point higher
    >>> found.icc_c1, round(found.icc_a1, 6), round(found.icc1, 6)
    (1.0, 0.888889, 0.882353)
    """
    codes, points = scores_of("scores", scores)
    codes = codes[(codes >= 0).any(axis=1)]
    if not len(points):
        names = ("icc1", "icc_a1", "icc_c1", "icc1k", "icc_ak", "icc_ck")
        nan = math.nan
        return Icc(nan, nan, nan, nan, nan, nan, 0, 0, 0, dict.fromkeys(names, NO_PAIR))
    values = heights(points)
    sums = icc1_parts(_counted(codes, len(points)), values).sum(axis=0)
    complete = codes[:, (codes >= 0).all(axis=0)]
    single_a, single_c, mean_a, mean_c = _two_way(values[complete].T)
    n_raters, n_complete = complete.shape
    missing = _why_no_two_way(complete)
    reasons = {
        "icc1": why_icc1(sums, values, n_raters=n_raters),
        "icc_a1": missing or (NO_VARIANCE if math.isnan(single_a) else None),
        "icc_c1": missing or (NO_SPREAD if math.isnan(single_c) else None),
        "icc1k": why_icc1k(sums, values, n_raters=n_raters),
        "icc_ak": missing or (NO_VARIANCE if math.isnan(mean_a) else None),
        "icc_ck": missing or (SAME_MEANS if math.isnan(mean_c) else None),
    }
    return Icc(
        float(icc1_from(sums, values)), single_a, single_c, float(icc1k_from(sums, values)), mean_a, mean_c,
        int(np.count_nonzero((codes >= 0).any(axis=0))), n_complete, n_raters,
        {name: reason for name, reason in reasons.items() if reason},
    )  # fmt: skip


def _counted(codes: Counts, n_points: int) -> Floats:
    """Return counts, items × points, of codes, raters × items, −1 where a score is missing."""
    n_items = codes.shape[1]
    raters, items = np.nonzero(codes >= 0)
    counts = np.bincount(items * n_points + codes[raters, items], minlength=n_items * n_points)
    return counts.reshape(n_items, n_points).astype(float)


def _why_no_two_way(complete: Counts) -> str | None:
    """Say why there is no two-way analysis of codes, raters × complete items."""
    n_raters, n_complete = complete.shape
    if n_raters < 2:
        return ONE_RATER
    if n_complete < 2:
        return FEW_COMPLETE
    return ONE_POINT if complete.min() == complete.max() else None


def _two_way(x: Floats) -> tuple[float, float, float, float]:
    """Return ICC(A,1), ICC(C,1), ICC(A,k) and ICC(C,k) of a complete table, items × raters."""
    n, k = x.shape
    if n < 2 or k < 2 or x.min() == x.max():
        return math.nan, math.nan, math.nan, math.nan
    centred = x - x.mean()
    rows, columns = centred.mean(axis=1, keepdims=True), centred.mean(axis=0, keepdims=True)
    whole = (centred**2).sum()
    squares = [k * (rows**2).sum(), n * (columns**2).sum(), ((centred - rows - columns) ** 2).sum()]
    items, raters, error = (one if one > ROUNDING * whole else 0.0 for one in squares)
    msr, msc, mse = items / (n - 1), raters / (k - 1), error / ((n - 1) * (k - 1))
    divisors = [msr + (k - 1) * mse + k / n * (msc - mse), msr + (k - 1) * mse, msr + (msc - mse) / n, msr]
    whole_mean = whole / (n * k - 1)  # a divisor that is 0 up to rounding is 0
    divisors = [one if one > ROUNDING * whole_mean else 0.0 for one in divisors]
    single_a, single_c, mean_a, mean_c = ratio(np.full(4, msr - mse), np.array(divisors)).tolist()
    return single_a, single_c, mean_a, mean_c


# The records ---------------------------------------------------------------------------------------------------------


def _parts(counts: Counts, self_pairs: Counts | None, about: About) -> Floats:
    return icc1_parts(counts, about.values, self_pairs=self_pairs)


def _finish(finish: Callable[..., Floats], s: Slots, about: About, known: Known) -> Floats:
    return finish(s["icc1"], about.values)


def _why(why: Callable[..., str | None], s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    return why(s["icc1"], about.values, n_raters=n_raters)


def _of_scores(name: str, scores: Floats) -> tuple[float, str]:
    found = icc(scores)
    return getattr(found, name), found.notes.get(name, "")


_MCGRAW = "McGraw and Wong (1996), Forming inferences about some intraclass correlation coefficients"
_MORE = "scores that distinguish items better, compared with the noise of raters"


_two_way_record = partial(
    Statistic, needs="scores", range=(-math.inf, 1.0), higher_means=_MORE, reference=_MCGRAW, role="whole"
)

RECORDS = (
    Statistic(
        name="icc1", label="ICC(1)", function=icc1, needs="group", range=(-1.0, 1.0), role="beside", order=140,
        contribution=_parts, finish=partial(_finish, icc1_from), why=partial(_why, why_icc1),
        equation="(MSB − MSW)/(MSB + (k₀ − 1)·MSW), k₀ = (N − Σ m_i²/N)/(n − 1)",
        meaning="the reliability of a single rating when raters differ from item to item (one-way intraclass "
        "correlation)",
        higher_means=_MORE, reference=_MCGRAW,
    ),
    Statistic(
        name="icc1k", label="ICC(1,k)", function=icc1k, needs="group", range=(-math.inf, 1.0), role="beside", order=150,
        sums_of="icc1", finish=partial(_finish, icc1k_from), why=partial(_why, why_icc1k),
        equation="(MSB − MSW)/MSB",
        meaning="the reliability of the mean of an item's ratings when raters differ from item to item",
        higher_means=_MORE, reference=_MCGRAW,
    ),
    _two_way_record(
        name="icc_a1", label="ICC(A,1)", order=160, whole=partial(_of_scores, "icc_a1"),
        equation="(MSR − MSE)/(MSR + (k − 1)·MSE + k/n·(MSC − MSE))",
        meaning="the reliability of a single rating if raters' own levels count as error (absolute agreement)",
    ),
    _two_way_record(
        name="icc_ak", label="ICC(A,k)", order=161, whole=partial(_of_scores, "icc_ak"),
        equation="(MSR − MSE)/(MSR + (MSC − MSE)/n)",
        meaning="the reliability of the mean of all raters if their own levels count as error",
    ),
    _two_way_record(
        name="icc_c1", label="ICC(C,1)", order=162, whole=partial(_of_scores, "icc_c1"),
        equation="(MSR − MSE)/(MSR + (k − 1)·MSE)",
        meaning="the reliability of a single rating after raters' own levels are removed (consistency)",
    ),
    _two_way_record(
        name="icc_ck", label="ICC(C,k)", order=163, whole=partial(_of_scores, "icc_ck"),
        equation="(MSR − MSE)/MSR",
        meaning="the reliability of the mean of all raters after their own levels are removed (Cronbach's alpha)",
    ),
)  # fmt: skip
