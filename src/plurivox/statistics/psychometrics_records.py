"""The records of Mokken's coefficient and the graded response model."""

from __future__ import annotations

import math

from plurivox.statistics.graded_fit import BOUND
from plurivox.statistics.records import Statistic

RECORDS = (
    Statistic(
        name="mokken_h", label="Mokken H", needs="scores", range=(-math.inf, 1.0), role="scaled", order=10,
        equation="H_j = Σ_i cov(i, j) / Σ_i max cov(i, j) over all other raters i, where max cov is the largest "
        "covariance that both distributions of scores allow; H of all raters sums over all pairs",
        meaning="how far a rater orders items as the others do, given how often each of them uses each point (Mokken's "
        "scalability)",
        higher_means="more in line with the order that the others see; 0.3 weak, 0.4 medium, 0.5 strong",
        reference="Mokken (1971), A theory and procedure of scale analysis; Molenaar (1991), A weighted Loevinger "
        "H-coefficient extending Mokken scaling to multicategory items",
    ),
    Statistic(
        name="grm_a", label="GRM a", needs="scores", range=(-BOUND, BOUND), role="scaled", order=20,
        equation="P(S_j ≥ k | θ) = 1 / (1 + exp(−a_j·(θ − b_jk))), θ ~ N(0, 1), with a_j and b_jk of the highest "
        "marginal likelihood",
        meaning="how sharply a rater's scores rise with the severity that all raters have in common (discrimination of "
        "the graded response model)",
        higher_means="scores that distinguish smaller differences in severity; negative if they fall with severity",
        reference="Samejima (1969), Estimation of latent ability using a response pattern of graded scores",
    ),
)  # fmt: skip
