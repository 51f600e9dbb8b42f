"""The records of alignment."""

from __future__ import annotations

import math
from functools import partial

from plurivox.statistics import alignment
from plurivox.statistics.records import Statistic

_NORMS = "Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?"

_distance = partial(
    Statistic, needs="answers", range=(0.0, math.inf), higher_means="a model further from these raters", role="distance"
)

RECORDS = (
    _distance(
        name="ada_met", label="ADA-Met", function=alignment.ada_met,
        equation="ADA-Met = mean_i |mode_i − s_i|, K if there is no answer; tied modes are averaged",
        meaning="how far a model's answers are from the most frequent vote, in points of the scale; no answer counts "
        "as the largest distance",
        reference=_NORMS,
    ),
    _distance(
        name="ada_met_answered", label="ADA-Met, answered", function=alignment.ada_met_answered,
        equation="mean of |mode_i − s_i| over the items with an answer",
        meaning="how far a model's answers are from the most frequent vote, where it answered", reference=_NORMS,
        interval_shown=False,
    ),
    _distance(
        name="voter_distance", label="distance to voters", function=alignment.voter_distance,
        equation="mean_i Σ_p n_ip |p − s_i|/n_i, K if there is no answer",
        meaning="how far a model's answers are from individual votes, in points of the scale; no answer counts as the "
        "largest distance",
        reference="Mean absolute difference; it keeps the spread of votes, which ADA-Met ignores",
    ),
    Statistic(
        name="closest_gap", label="gap", needs="axis", range=(0.0, math.inf),
        equation="max_g min_{h≠g} d(g,h), d(g,h) = Σ_i w_i (D_hi − D_gi)/Σ_i w_i over items that g and h rated; D is "
        "the distance from the mode (w = 1) or from votes (w_i = n_gi n_hi/(n_gi + n_hi))",
        meaning="how much closer a model is to its closest group than to the next, on items that both groups rated",
        higher_means="a model that sides more clearly with one group",
        reference="Tested by shuffling whole raters between groups", traits=("claims",),
    ),
)  # fmt: skip
