"""GAI of pairs of measures other than IRR and XRR: one within the group over its counterpart with the rest."""

from __future__ import annotations

import math
from functools import partial

from numpy.typing import ArrayLike

from plurivox.statistics import undefined
from plurivox.statistics.checks import pair_of
from plurivox.statistics.cohesion import functions, parts
from plurivox.statistics.levels import Floats
from plurivox.statistics.records import About, Known, Slots, Statistic

_GRASP = (
    "Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives"
)


def gai_negentropy(counts_group: ArrayLike, counts_rest: ArrayLike) -> float:
    """Return how much more concentrated a group's answers are than the rest would predict: GAI of negentropies.

    negentropy(group)/cross-negentropy(group, rest), see :func:`negentropy` and :func:`cross_negentropy`.

    Never below 1 if the rest rated all items of the group, since no prediction of answers can exceed their own
    concentration; and the fewer ratings items have, the larger it is. So compare it with a permutation null, never with
    1. NaN if either half is undefined or cross-negentropy is not above 0.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> round(gai_negentropy([[2, 0]], [[3, 0]]), 6)  # ln 2 over ln 2 + ln 7/8
    1.238613
    """
    x, y = pair_of("counts_group", counts_group, "counts_rest", counts_rest)
    return float(parts.gai_from(functions.negentropy(x), functions.cross_negentropy(x, y)))


def gai_plurality(counts_group: ArrayLike, counts_rest: ArrayLike) -> float:
    """Return how large a group's pluralities are relative to their agreement with the rest's: GAI of votes.

    plurality size(group)/voting agreement(group, rest), see :func:`plurality_size` and :func:`voting_agreement`.

    The first is a share and the second is corrected for chance, so 1 has no meaning of its own: compare it with a
    permutation null. NaN if either half is undefined or voting agreement is not above 0.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> round(gai_plurality([[3, 1], [1, 3], [4, 0]], [[2, 0], [0, 2], [0, 2]]), 6)  # 5/6 over 4/9
    1.875
    """
    x, y = pair_of("counts_group", counts_group, "counts_rest", counts_rest)
    return float(parts.gai_from(functions.plurality_size(x), functions.voting_agreement(x, y)))


# The records ---------------------------------------------------------------------------------------------------------


def _finish(within: str, cross: str, s: Slots, about: About, known: Known) -> Floats:
    return parts.gai_from(known[within], known[cross])


def _why_negentropy(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    reason = undefined.why_mean(float(s["shared"]), "common")
    return undefined.why_ratio(float(known["cross_negentropy"]), undefined.NOT_FORESEEN, reason)


def _why_plurality(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    reason = undefined.why_voting(s["own_votes"], s["rest_votes"])
    return undefined.why_ratio(float(known["voting_agreement"]), undefined.NOT_ABOVE_CHANCE, reason)


RECORDS = (
    Statistic(
        name="gai_negentropy", label="GAI of negentropy", function=gai_negentropy, needs="pair", column="GAI negent.",
        range=(-math.inf, math.inf), role="asked", order=32,
        finish=partial(_finish, "negentropy", "cross_negentropy"), why=_why_negentropy, interval_scale="inverse",
        equation="negentropy(group) / cross-negentropy(group, rest)",
        meaning="how much more concentrated a group's answers are than the rest would predict",
        higher_means="answers that the group shares more within itself than with others", reference=_GRASP,
    ),
    Statistic(
        name="gai_plurality", label="GAI of plurality", function=gai_plurality, needs="pair", column="GAI plural.",
        range=(-math.inf, math.inf), role="asked", order=33,
        finish=partial(_finish, "plurality_size", "voting_agreement"), why=_why_plurality, interval_scale="inverse",
        equation="plurality size(group) / voting agreement(group, rest)",
        meaning="how large a group's pluralities are relative to their agreement with the rest's",
        higher_means="pluralities that the group shares more within itself than with others", reference=_GRASP,
    ),
)  # fmt: skip
