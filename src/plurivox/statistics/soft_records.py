"""The records of the soft scores."""

from __future__ import annotations

import math
from functools import partial

from plurivox.statistics import lewidi, soft
from plurivox.statistics.records import Statistic

_SOFT = "Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes"
_POSTERIOR = "averaged over the distributions that are likely after the ratings (Dirichlet posterior)"

_LEWIDI = "Leonardelli et al. (2025), LeWiDi-2025 at NLPerspectives"
_DRAWN = "for a distribution, if each rater's point is drawn from it"

_score = partial(
    Statistic, needs="prediction", higher_means="a worse prediction", reference=_SOFT, role="scored",
    interval_shown=False,
)  # fmt: skip

RECORDS = (
    _score(
        name="cross_entropy", label="CE", function=soft.cross_entropy, range=(0.0, math.inf),
        equation="CE = −Σ_c p_c ln q_c, p the shares of ratings, q the prediction",
        meaning="the mean surprise at the ratings, given the prediction (cross-entropy, nats)",
    ),
    _score(
        name="kl", label="KL", function=soft.kl, range=(0.0, math.inf),
        equation="KL = Σ_c p_c ln(p_c/q_c)",
        meaning="the surprise at the ratings that a perfect prediction would avoid (Kullback–Leibler divergence, nats)",
        reference="Kullback and Leibler (1951), On information and sufficiency",
    ),
    _score(
        name="js", label="JS", function=soft.js, range=(0.0, math.log(2)),
        equation="JS = ½KL(p‖m) + ½KL(q‖m), m = (p + q)/2",
        meaning="how far the prediction and the shares of ratings are from their average "
        "(Jensen–Shannon divergence, nats)",
        reference="Lin (1991), Divergence measures based on the Shannon entropy",
    ),
    _score(
        name="emd", label="EMD", function=soft.emd, range=(0.0, 1.0),
        equation="EMD = Σ_{k<K} |F_p(k) − F_q(k)|/K",
        meaning="how far along the scale probability has to be moved to make the prediction right "
        "(earth mover's distance)",
    ),
    _score(
        name="rps", interval_shown=True, label="RPS", function=soft.rps, range=(0.0, 1.0),
        equation="RPS = Σ_{k<K} [F_p(1 − F_p) + (F_p − F_q)²]/K at each k",
        meaning="the mean squared error of the predicted cumulative probabilities, rating by rating "
        "(ranked probability score)",
        reference="Epstein (1969), A scoring system for probability forecasts of ranked categories",
    ),
    _score(
        name="expected_cross_entropy", label="E[CE]", function=soft.expected_cross_entropy,
        range=(0.0, math.inf),
        equation="E[CE] = −Σ_c (a_c/a₀) ln q_c, a = α + n",
        meaning=f"cross-entropy, {_POSTERIOR}",
    ),
    _score(
        name="expected_kl", label="E[KL]", function=soft.expected_kl, range=(0.0, math.inf),
        equation="E[KL] = E[CE] − E[H], E[H] = Σ_c (a_c/a₀)(ψ(a₀ + 1) − ψ(a_c + 1))",
        meaning=f"Kullback–Leibler divergence, {_POSTERIOR}",
    ),
    _score(
        name="expected_js", label="E[JS]", function=soft.expected_js, range=(0.0, math.log(2)),
        equation="E[JS] = Σ_c E[½p_c ln p_c + ½q_c ln q_c − m_c ln m_c], p_c ~ Beta(a_c, a₀ − a_c)",
        meaning=f"Jensen–Shannon divergence, {_POSTERIOR}",
    ),
    _score(
        name="expected_emd", interval_shown=True, label="E[EMD]", function=soft.expected_emd, range=(0.0, 1.0),
        equation="E[EMD] = Σ_{k<K} {2c·I_c(A, B) − 2μ·I_c(A + 1, B) + μ − c}/K, "
        "A = Σ_{j≤k} a_j, B = a₀ − A, μ = A/a₀, c = F_q(k)",
        meaning=f"earth mover's distance, {_POSTERIOR}",
    ),
    _score(
        name="expected_rps", label="E[RPS]", function=soft.expected_rps, range=(0.0, 1.0),
        equation="E[RPS] = Σ_{k<K} [μ(1 − μ) + (μ − F_q)²]/K, μ = Σ_{j≤k} a_j/a₀",
        meaning=f"ranked probability score, {_POSTERIOR}",
        reference="Epstein (1969), A scoring system for probability forecasts of ranked categories",
    ),
    _score(
        name="manhattan", label="MD", function=lewidi.manhattan, range=(0.0, 2.0), reference=_LEWIDI,
        equation="MD = Σ_c |p_c − q_c|",
        meaning="how much the shares of all points differ in total (Manhattan distance)",
    ),
    _score(
        name="wasserstein", label="WS", function=lewidi.wasserstein, range=(0.0, math.inf), reference=_LEWIDI,
        equation="WS = Σ_{k<K} |F_p(k) − F_q(k)|",
        meaning="how many steps of the scale probability has to be moved (Wasserstein distance)",
    ),
    _score(
        name="error_rate", label="ER", function=lewidi.error_rate, range=(0.0, 1.0), reference=_LEWIDI,
        equation="ER = mean over raters of [predicted ≠ given]; for a distribution 1 − Σ_c p_c q_c",
        meaning=f"the share of raters whose point is predicted wrongly; {_DRAWN}",
    ),
    _score(
        name="absolute_distance", label="AD", function=lewidi.absolute_distance, range=(0.0, 1.0), reference=_LEWIDI,
        equation="AD = mean over raters of |predicted − given|/K, in steps; "
        "for a distribution Σ_{c,k} p_c q_k |c − k|/K",
        meaning=f"how far the predicted point is from a rater's, as a fraction of the scale; {_DRAWN}",
    ),
    _score(
        name="absolute_distance_points", label="AD/points", function=lewidi.absolute_distance_points,
        range=(0.0, 1.0), reference=_LEWIDI,
        equation="AD/points = mean over raters of |predicted − given|/(K + 1)",
        meaning="absolute distance divided by the number of points, as in a public implementation",
    ),
)  # fmt: skip
