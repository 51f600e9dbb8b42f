"""One record for each statistic: it feeds the tests, the choices on the command line, the docs and the glossary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from plurivox.statistics import cohesion, responsiveness, soft

_GRASP = (
    "Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives"
)
_RESPONSIVENESS = (
    "Mishra et al. (2025), Decoding Safety Feedback from Diverse Raters: "
    "A Data-driven Lens on Responsiveness to Severity, arXiv 2503.05609"
)
_SOFT = "Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes"
_POSTERIOR = "averaged over the distributions that are likely after the ratings (Dirichlet posterior)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """What a statistic is, in words and in properties that hold for all data.

    Attributes
    ----------
    name
        As in frames and JSON.
    function
        From what it needs to one float; None for those made of the values of others.
    needs
        What it is a property of: a ``"group"`` (one array of counts, items × points), a ``"pair"`` of sides (two such
        arrays), an ``"axis"``, or a rater or group beside a ``"reference"`` (two vectors, ``ones`` and ``zeros``: the
        weight of samples with each score that the reference calls unsafe and safe), or ratings beside a
        ``"prediction"`` (counts and predicted probabilities, of which the function gives a value for each item).
    symmetric
        Whether exchanging the two sides of a pair changes nothing.
    range
        The lowest and the highest value that any data can have; infinite where there is no bound that holds for all.
    equation, meaning, higher_means, reference
        For the reader.
    """

    name: str
    function: Callable[..., float] | None
    needs: Literal["group", "pair", "axis", "reference", "prediction"]
    symmetric: bool
    range: tuple[float, float]
    equation: str
    meaning: str
    higher_means: str
    reference: str


_RECORDS = (
    Statistic(
        name="irr",
        function=cohesion.krippendorff_alpha,
        needs="group",
        symmetric=False,
        range=(-1.0, 1.0),
        equation="α = 1 − (Σ O_ck δ_ck / n) / (Σ n_c n_k δ_ck / (n(n − 1))), O_ck = Σ_i n_ic(n_ik − [c=k])/(m_i − 1)",
        meaning="how far raters of a group agree on the same items beyond chance (Krippendorff's alpha)",
        higher_means="more agreement within the group",
        reference="Krippendorff (2004), Content Analysis: An Introduction to Its Methodology",
    ),
    Statistic(
        name="xrr",
        function=cohesion.xrr,
        needs="pair",
        symmetric=True,
        range=(-math.inf, 1.0),
        equation="1 − (Σ B_ck δ_ck / (R + S)) / (Σ X_c Y_k δ_ck / (R·S)), B_ck = Σ_i (R_i + S_i)/(R_i S_i) · x_ic y_ik",
        meaning="how far a group and the rest agree on the same items beyond chance (cross-replication reliability)",
        higher_means="more agreement between the group and the rest",
        reference="Wong, Paritosh and Aroyo (2021), Cross-replication Reliability: "
        "An Empirical Approach to Interpreting Inter-rater Reliability",
    ),
    Statistic(
        name="gai",
        function=cohesion.gai,
        needs="pair",
        symmetric=False,
        range=(-math.inf, math.inf),
        equation="GAI = IRR(group) / XRR(group, rest)",
        meaning="how much more a group agrees with itself than with the rest (group association index)",
        higher_means="a view the group shares more within than with others",
        reference=_GRASP,
    ),
    Statistic(
        name="dsi",
        function=None,
        needs="axis",
        symmetric=False,
        range=(-math.inf, math.inf),
        equation="DSI = max over groups of GAI",
        meaning="the largest group association index of an axis (diversity sensitivity index)",
        higher_means="an axis along which at least one group stands apart",
        reference=_GRASP,
    ),
    Statistic(
        name="negentropy",
        function=cohesion.negentropy,
        needs="group",
        symmetric=False,
        range=(0.0, math.inf),
        equation="ln L − mean_i H(n_i / m_i)",
        meaning="how far an item's ratings are, on average, from an even spread over the scale",
        higher_means="ratings of an item closer together",
        reference=_GRASP,
    ),
    Statistic(
        name="cross_negentropy",
        function=cohesion.cross_negentropy,
        needs="pair",
        symmetric=False,
        range=(-math.inf, math.inf),
        equation="ln L − mean_i (−Σ_c x_ic/R_i · ln q_ic), q_ic = (y_ic + ½)/(S_i + L/2)",
        meaning="how well the rest's ratings of an item foretell the group's",
        higher_means="a group whose ratings the rest foretells better",
        reference=_GRASP,
    ),
    Statistic(
        name="plurality_size",
        function=cohesion.plurality_size,
        needs="group",
        symmetric=False,
        range=(0.0, 1.0),
        equation="mean_i max_c n_ic / m_i",
        meaning="the mean share of an item's ratings on its most given point",
        higher_means="larger pluralities",
        reference=_GRASP,
    ),
    Statistic(
        name="voting_agreement",
        function=cohesion.voting_agreement,
        needs="pair",
        symmetric=True,
        range=(-1.0, 1.0),
        equation="nominal α of two votes per item: coincidences V + Vᵀ, V_ck = Σ_i x̃_ic ỹ_ik",
        meaning="how far the plurality votes of a group and of the rest agree beyond chance",
        higher_means="the same choices by the group and the rest",
        reference=_GRASP,
    ),
    Statistic(
        name="percent_agreement",
        function=cohesion.percent_agreement,
        needs="group",
        symmetric=False,
        range=(0.0, 1.0),
        equation="mean_i Σ_c n_ic(n_ic − 1) / (m_i(m_i − 1))",
        meaning="the mean share of pairs of raters that agree on an item, chance not taken out",
        higher_means="more agreeing pairs",
        reference="Fleiss (1971), Measuring nominal scale agreement among many raters",
    ),
    Statistic(
        name="ac1",
        function=cohesion.ac1,
        needs="group",
        symmetric=False,
        range=(-1.0, 1.0),
        equation="(p_a − p_e)/(1 − p_e), p_e = Σ_c π_c(1 − π_c)/(L − 1), π_c = mean_i n_ic/m_i",
        meaning="agreement beyond chance that stays steady where nearly everyone gives one point (Gwet's AC1)",
        higher_means="more agreement within the group",
        reference="Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement",
    ),
    Statistic(
        name="ac2",
        function=cohesion.ac2,
        needs="group",
        symmetric=False,
        range=(-math.inf, 1.0),
        equation="(p_a − p_e)/(1 − p_e), p_a with weights w_ck = 1 − (v_c − v_k)²/(v_max − v_min)², "
        "p_e = Σw/(L(L − 1)) · Σ_c π_c(1 − π_c)",
        meaning="AC1 in which near misses count in part (Gwet's AC2, quadratic weights)",
        higher_means="more agreement within the group",
        reference="Gwet (2014), Handbook of Inter-Rater Reliability",
    ),
    Statistic(
        name="mpa",
        function=responsiveness.mpa,
        needs="reference",
        symmetric=False,
        range=(0.0, 1.0),
        equation="MPA = max(0, Σ_s Y(s) / (⌈L/2⌉·⌊L/2⌋)), Y(s) = Σ_{i<s} [P(s) − max_{j≤i} P(j)] over used scores, "
        "P(s) = one_s/(one_s + zero_s)",
        meaning="how steadily a higher score means that the reference says unsafe more often "
        "(monotonic precision area)",
        higher_means="scores that rise with severity, over more of the scale",
        reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="mpa_raw",
        function=responsiveness.mpa_raw,
        needs="reference",
        symmetric=False,
        range=(-2.0, 1.0),
        equation="Σ_s Y(s) / (⌈L/2⌉·⌊L/2⌋), Y(s) as in MPA",
        meaning="the monotonic precision area before it is cut at 0, below which precision falls more than it rises",
        higher_means="scores that rise with severity, over more of the scale",
        reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="wra",
        function=responsiveness.wra,
        needs="reference",
        symmetric=False,
        range=(0.0, 1.0),
        equation="WRA = Σ_s (Σ_{t<s} zero_t)·one_s / (Σzero·Σone) = P(score of a safe sample < score of an unsafe one)",
        meaning="how often an unsafe sample has a higher score than a safe one (weighted recall area)",
        higher_means="unsafe and safe told apart more often",
        reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="hm",
        function=None,
        needs="reference",
        symmetric=False,
        range=(0.0, 1.0),
        equation="HM = 2·MPA·WRA / (MPA + WRA), 0 where both are 0; with several boundaries, the mean of theirs",
        meaning="the harmonic mean of MPA and WRA, large only if both are",
        higher_means="more responsive to severity, in small steps and broadly",
        reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="hm_of_means",
        function=None,
        needs="reference",
        symmetric=False,
        range=(0.0, 1.0),
        equation="2·M·W / (M + W), M and W the means of MPA and WRA over the boundaries, 0 where both are 0",
        meaning="the harmonic mean of the mean MPA and the mean WRA over the boundaries between safe and unsafe",
        higher_means="more responsive to severity, in small steps and broadly",
        reference=_RESPONSIVENESS,
    ),
    Statistic(
        name="auroc",
        function=responsiveness.auroc,
        needs="reference",
        symmetric=False,
        range=(0.0, 1.0),
        equation="Σ_s one_s·(Σ_{t<s} zero_t + zero_s/2) / (Σone·Σzero)",
        meaning="how often an unsafe sample has a higher score than a safe one, ties counted half "
        "(area under the receiver operating characteristic)",
        higher_means="unsafe and safe told apart more often; ½ is chance",
        reference="Hanley and McNeil (1982), The meaning and use of the area under a receiver operating characteristic "
        "(ROC) curve",
    ),
    Statistic(
        name="kendall_tau_b",
        function=responsiveness.kendall_tau_b,
        needs="reference",
        symmetric=False,
        range=(-1.0, 1.0),
        equation="τ_b = (C − D) / √((n² − Σ_s n_s²)/2 · N₁N₀), C and D the pairs of an unsafe and a safe sample "
        "with the higher score on the unsafe and on the safe one",
        meaning="the rank correlation of scores and reference by pairs, corrected for ties (Kendall's tau-b)",
        higher_means="scores and reference more in the same order",
        reference="Kendall (1945), The treatment of ties in ranking problems",
    ),
    Statistic(
        name="spearman_rho",
        function=responsiveness.spearman_rho,
        needs="reference",
        symmetric=False,
        range=(-1.0, 1.0),
        equation="ρ = (C − D)·√(3n) / √((n³ − Σ_s n_s³)·N₁N₀), C and D as in τ_b",
        meaning="the correlation of the ranks of scores with the reference (Spearman's rho)",
        higher_means="scores and reference more in the same order",
        reference="Spearman (1904), The proof and measurement of association between two things",
    ),
    Statistic(
        name="average_precision",
        function=responsiveness.average_precision,
        needs="reference",
        symmetric=False,
        range=(0.0, 1.0),
        equation="Σ_s one_s/Σone · (Σ_{t≥s} one_t) / (Σ_{t≥s} one_t + zero_t)",
        meaning="the share of unsafe among the samples at or above a score, averaged over the scores of unsafe ones",
        higher_means="unsafe samples more concentrated at the top of the scale; the share of unsafe samples is chance",
        reference="scikit-learn, sklearn.metrics.average_precision_score",
    ),
    Statistic(
        name="cross_entropy",
        function=soft.cross_entropy,
        needs="prediction",
        symmetric=False,
        range=(0.0, math.inf),
        equation="CE = −Σ_c p_c ln q_c, p the shares of ratings, q the prediction",
        meaning="the mean surprise at the ratings, given the prediction (cross-entropy, nats)",
        higher_means="a worse prediction",
        reference=_SOFT,
    ),
    Statistic(
        name="kl",
        function=soft.kl,
        needs="prediction",
        symmetric=False,
        range=(0.0, math.inf),
        equation="KL = Σ_c p_c ln(p_c/q_c)",
        meaning="the surprise at the ratings that a perfect prediction would avoid (Kullback–Leibler divergence, nats)",
        higher_means="a worse prediction",
        reference="Kullback and Leibler (1951), On information and sufficiency",
    ),
    Statistic(
        name="js",
        function=soft.js,
        needs="prediction",
        symmetric=False,
        range=(0.0, math.log(2)),
        equation="JS = ½KL(p‖m) + ½KL(q‖m), m = (p + q)/2",
        meaning="how far the prediction and the shares of ratings are from their middle "
        "(Jensen–Shannon divergence, nats)",
        higher_means="a worse prediction",
        reference="Lin (1991), Divergence measures based on the Shannon entropy",
    ),
    Statistic(
        name="emd",
        function=soft.emd,
        needs="prediction",
        symmetric=False,
        range=(0.0, 1.0),
        equation="EMD = Σ_{k<K} |F_p(k) − F_q(k)|/K",
        meaning="how far along the scale probability has to be moved to make the prediction right "
        "(earth mover's distance)",
        higher_means="a worse prediction",
        reference=_SOFT,
    ),
    Statistic(
        name="rps",
        function=soft.rps,
        needs="prediction",
        symmetric=False,
        range=(0.0, 1.0),
        equation="RPS = Σ_{k<K} [F_p(1 − F_p) + (F_p − F_q)²]/K at each k",
        meaning="the mean squared error of the predicted cumulative probabilities, rating by rating "
        "(ranked probability score)",
        higher_means="a worse prediction",
        reference="Epstein (1969), A scoring system for probability forecasts of ranked categories",
    ),
    Statistic(
        name="expected_cross_entropy",
        function=soft.expected_cross_entropy,
        needs="prediction",
        symmetric=False,
        range=(0.0, math.inf),
        equation="E[CE] = −Σ_c (a_c/a₀) ln q_c, a = α + n",
        meaning=f"cross-entropy, {_POSTERIOR}",
        higher_means="a worse prediction",
        reference=_SOFT,
    ),
    Statistic(
        name="expected_kl",
        function=soft.expected_kl,
        needs="prediction",
        symmetric=False,
        range=(0.0, math.inf),
        equation="E[KL] = E[CE] − E[H], E[H] = Σ_c (a_c/a₀)(ψ(a₀ + 1) − ψ(a_c + 1))",
        meaning=f"Kullback–Leibler divergence, {_POSTERIOR}",
        higher_means="a worse prediction",
        reference=_SOFT,
    ),
    Statistic(
        name="expected_js",
        function=soft.expected_js,
        needs="prediction",
        symmetric=False,
        range=(0.0, math.log(2)),
        equation="E[JS] = Σ_c E[½p_c ln p_c + ½q_c ln q_c − m_c ln m_c], p_c ~ Beta(a_c, a₀ − a_c)",
        meaning=f"Jensen–Shannon divergence, {_POSTERIOR}",
        higher_means="a worse prediction",
        reference=_SOFT,
    ),
    Statistic(
        name="expected_emd",
        function=soft.expected_emd,
        needs="prediction",
        symmetric=False,
        range=(0.0, 1.0),
        equation="E[EMD] = Σ_{k<K} {2c·I_c(A, B) − 2μ·I_c(A + 1, B) + μ − c}/K, "
        "A = Σ_{j≤k} a_j, B = a₀ − A, μ = A/a₀, c = F_q(k)",
        meaning=f"earth mover's distance, {_POSTERIOR}",
        higher_means="a worse prediction",
        reference=_SOFT,
    ),
    Statistic(
        name="expected_rps",
        function=soft.expected_rps,
        needs="prediction",
        symmetric=False,
        range=(0.0, 1.0),
        equation="E[RPS] = Σ_{k<K} [μ(1 − μ) + (μ − F_q)²]/K, μ = Σ_{j≤k} a_j/a₀",
        meaning=f"ranked probability score, {_POSTERIOR}",
        higher_means="a worse prediction",
        reference="Epstein (1969), A scoring system for probability forecasts of ranked categories",
    ),
)

STATISTICS: dict[str, Statistic] = {record.name: record for record in _RECORDS}
