"""The records of who rates higher, and whose scores drift."""

from __future__ import annotations

from plurivox.statistics.records import Statistic

RECORDS = (
    Statistic(
        name="leniency", label="leniency", column="higher by", needs="sides", range=(-float("inf"), float("inf")),
        role="higher", order=10, traits=("claims",),
        equation="Σ_i w_i (x̄_gi − x̄_ri) / Σ_i w_i over items that group and rest rated, w_i = n_gi n_ri/(n_gi + n_ri)",
        meaning="how many points of the scale higher a group scores the same items than the others do: its coefficient "
        "in a regression with an effect for every item",
        higher_means="higher scores on the same items; 0 means the same",
        reference="Frisch and Waugh (1933), Partial time regressions as compared with individual trends",
    ),
    Statistic(
        name="dominance", label="dominance", column="P(higher)", needs="sides", range=(0.0, 1.0), role="higher",
        order=20,
        equation="Σ_i (#(x_g > x_r) + ½ #(x_g = x_r)) / Σ_i n_gi n_ri over pairs of one rater each on the same item",
        meaning="how often a rater of the group scores an item higher than one of the others does, with ties counted "
        "half; it needs no distances between points",
        higher_means="higher scores on the same items; ½ means neither",
        reference="Vargha and Delaney (2000), A critique and improvement of the CL common language effect size "
        "statistics",
    ),
    Statistic(
        name="drift", label="drift", column="drift", needs="times", range=(-float("inf"), float("inf")), role="drift",
        order=10, traits=("claims",),
        equation="Σ_r Σ_k (t_k − t̄_r)(x_k − x̄_i) / Σ_r Σ_k (t_k − t̄_r)² over raters r of the group and their ratings k",
        meaning="how many points of the scale higher raters of a group score from one unit of time to the next, "
        "compared with all ratings of the same items",
        higher_means="scores that rise over time on the same items; 0 means steady scores",
        reference="Myford and Wolfe (2009), Monitoring rater performance over time: a framework for detecting "
        "differential accuracy and differential scale category use",
    ),
)  # fmt: skip
