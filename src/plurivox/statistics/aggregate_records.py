"""The records of what one label per item hides: how far it lies from what a group of raters says."""

from __future__ import annotations

from plurivox.statistics.records import Statistic

_BESIDE = "Basile et al. (2021), We need to consider disagreement in evaluation"

RECORDS = (
    Statistic(
        name="departure", label="departure", column="departs by", needs="labels",
        range=(-float("inf"), float("inf")), role="hidden", order=10, traits=("claims",),
        equation="±√|D|, with the sign of D = mean over items with n_gi ≥ 2 of (x̄_gi − a_i)² − s²_gi (1/n_gi − 2 w_i)",
        meaning="how many points of the scale the label a of an item typically lies from the group's mean x̄; what its "
        "raters differ among themselves, s²/n, is taken off, and that their ratings are a part of a mean, w = 1/m of "
        "its m ratings each, is made up for",
        higher_means="labels that lie further from what the group says; 0 and less mean no further than its own noise",
        reference=_BESIDE,
    ),
    Statistic(
        name="overruled", label="overruled", column="overruled", needs="labels", range=(0.0, 1.0), role="hidden",
        order=20,
        equation="mean over items of 1 − v_gi(y_i), with the group's vote v: 1 on its most frequent point, tied "
        "points sharing it",
        meaning="on which share of the items the label y is not the point that most raters of the group gave",
        higher_means="a group whose majority is overruled more often",
        reference=_BESIDE,
    ),
    Statistic(
        name="label_shift", label="shift", column="above label", needs="labels",
        range=(-float("inf"), float("inf")), role="hidden", order=30,
        equation="mean over items of x̄_gi − a_i",
        meaning="by how many points of the scale the group's mean lies above the label, on average",
        higher_means="a group that scores items higher than they are labelled; 0 means neither",
        reference=_BESIDE,
    ),
)  # fmt: skip
