"""The records of what one label per item hides: how far it is from what a group of raters says."""

from __future__ import annotations

from plurivox.statistics.records import Statistic

_BESIDE = "Basile et al. (2021), We need to consider disagreement in evaluation"

RECORDS = (
    Statistic(
        name="departure", label="departure", column="departs by", needs="labels",
        range=(-float("inf"), float("inf")), role="hidden", order=10, traits=("claims",),
        equation="±√|D|, with the sign of D = mean over items with n_gi ≥ 2 of (x̄_gi − a_i)² − s²_gi (1/n_gi − 2 w_i)",
        meaning="how many points of the scale the label a of an item typically is from the group's mean x̄; the noise "
        "of that mean, s²/n, is subtracted, with a correction if the label is itself a mean that includes the group's "
        "ratings (w = 1/m for each of its m ratings)",
        higher_means="labels further from what the group says; 0 or less means no further than the group's own noise",
        reference=_BESIDE,
    ),
    Statistic(
        name="overruled", label="overruled", column="overruled", needs="labels", range=(0.0, 1.0), role="hidden",
        order=20,
        equation="mean over items of 1 − v_gi(y_i), where v is the group's vote: 1 on its most frequent point, shared "
        "by tied points",
        meaning="the share of items whose label y is not the point that most raters of the group gave",
        higher_means="a group whose majority is overruled more often",
        reference=_BESIDE,
    ),
    Statistic(
        name="label_shift", label="shift", column="above label", needs="labels",
        range=(-float("inf"), float("inf")), role="hidden", order=30,
        equation="mean over items of x̄_gi − a_i",
        meaning="how many points of the scale the group's mean is above the label, on average",
        higher_means="a group that scores items higher than they are labelled; 0 means neither",
        reference=_BESIDE,
    ),
)  # fmt: skip
