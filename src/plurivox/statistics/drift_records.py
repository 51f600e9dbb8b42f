"""The record of how scores drift over time."""

from __future__ import annotations

import math

from plurivox.statistics.records import Statistic

RECORDS = (
    Statistic(
        name="drift", label="drift", column="drift", needs="times", range=(-math.inf, math.inf), role="drift",
        order=10, traits=("stated", "claims"),
        equation="Σ_r Σ_k (t_k − t̄_r)(x_k − x̄_i) / Σ_r Σ_k (t_k − t̄_r)² over raters r of the group and their ratings k",
        meaning="by how many points of the scale raters of a group score higher from one unit of time to the next, "
        "compared with all ratings of the same items",
        higher_means="scores that rise over time on the same items; 0 means steady ones",
        reference="Myford and Wolfe (2009), Monitoring rater performance over time: a framework for detecting "
        "differential accuracy and differential scale category use",
    ),
)  # fmt: skip
