"""Fleiss' kappa: agreement of many raters beyond what their shared use of the points gives by chance.

It finishes the sums of AC1 (:func:`~plurivox.statistics.cohesion.parts.ac_parts`), from which it differs only in its
chance agreement.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from plurivox.statistics.checks import counts_of
from plurivox.statistics.cohesion.parts import ac_parts, ratio
from plurivox.statistics.levels import Floats
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


def _finish(s: Slots, about: About, known: Known) -> Floats:
    return fleiss_from(s["ac1"])


def _why(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    return why_fleiss(s["ac1"], n_raters=n_raters)


RECORDS = (
    Statistic(
        name="fleiss_kappa", label="Fleiss' κ", function=fleiss_kappa, needs="group", range=(-math.inf, 1.0),
        role="beside", order=120, sums_of="ac1", finish=_finish, why=_why,
        equation="κ = (p_a − p_e)/(1 − p_e), p_e = Σ_c π_c², π_c = mean_i n_ic/m_i",
        meaning="how far raters of a group agree beyond chance, at the nominal level (Fleiss' kappa)",
        higher_means="more agreement within the group",
        reference="Fleiss (1971), Measuring nominal scale agreement among many raters",
    ),
)  # fmt: skip
