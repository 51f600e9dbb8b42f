"""The records of the statistics that share one compiled pass, and of Gwet's coefficients."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from plurivox.statistics import undefined
from plurivox.statistics.checks import Floats
from plurivox.statistics.cohesion import functions as cohesion
from plurivox.statistics.cohesion import parts
from plurivox.statistics.cohesion.parts import mean_of
from plurivox.statistics.records import About, Known, Slots, Statistic
from plurivox.statistics.undefined import why_unpaired

SKEWED = 0.9
"""If one point has at least this share of ratings and percent agreement is high, a low alpha misleads."""


def _irr(s: Slots, about: About, known: Known) -> Floats:
    if about.nominal:
        return parts.alpha_nominal_from(s["coincident"], s["marginals"], self_pairs=s["self_pairs"])
    return parts.alpha_from(s["coincidences"], about.level, about.values, self_pairs=s["self_pairs"])


def _why_irr(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    reason = undefined.why_irr(s["marginals"], about.level, n_raters=n_raters)
    if reason is not None or "irr" not in known:
        return reason
    total = float(s["marginals"].sum())
    top, agreement = float(s["marginals"].max()) / total, float(s["coincident"]) / total
    if top < SKEWED or float(known["irr"]) > 0.5 * agreement:
        return None
    return f"{top:.0%} of the ratings are one point; alpha is then low even if raters agree, so see AC1"


def _xrr(s: Slots, about: About, known: Known) -> Floats:
    if about.nominal:
        return parts.xrr_nominal_from(s["crossed"], s["own"], s["rest"])
    return parts.xrr_from(s["crossings"], s["own"], s["rest"], about.level, about.values)


def _why_xrr(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    return undefined.why_xrr(s["own"], s["rest"], about.level)


def _gai(s: Slots, about: About, known: Known) -> Floats:
    return parts.gai_from(known["irr"], known["xrr"])


def _why_gai(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    why_irr = undefined.why_irr(s["marginals"], about.level, n_raters=n_raters)
    return undefined.why_gai(float(known["xrr"]), why_irr, _why_xrr(s, about, known, n_raters))


def _negentropy(entropy: str, count: str, s: Slots, about: About, known: Known) -> Floats:
    return parts.negentropy_from(s[entropy], s[count], about.n_points)


def _plurality_size(s: Slots, about: About, known: Known) -> Floats:
    return parts.ratio(s["plurality"], s["rated"])


def _why_mean(
    count: str, over: undefined.Over, s: Slots, about: About, known: Known, n_raters: int | None
) -> str | None:
    return undefined.why_mean(float(s[count]), over)


def _voting_agreement(s: Slots, about: About, known: Known) -> Floats:
    return parts.voting_from(s["same_vote"], s["own_votes"], s["rest_votes"])


def _why_votes(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    return undefined.why_voting(s["own_votes"], s["rest_votes"])


def _ac_parts(weighted: bool, counts: parts.Counts, self_pairs: parts.Counts | None, about: About) -> Floats:
    return parts.ac_parts(counts, about.values if weighted else None, self_pairs=self_pairs)


def _ac(name: str, s: Slots, about: About, known: Known) -> Floats:
    agreement, n_pairable, n_rated = np.moveaxis(s[name][..., :3], -1, 0)
    return parts.ac_from(agreement, n_pairable, n_rated, s[name][..., 3:], about.values if name == "ac2" else None)


RECORDS = (
    Statistic(
        name="irr", label="IRR", function=cohesion.krippendorff_alpha, needs="group", range=(-1.0, 1.0), role="tested",
        order=10, traits=("claims",), finish=_irr, why=_why_irr, interval_scale="fisher",
        equation="α = 1 − (Σ O_ck δ_ck / n) / (Σ n_c n_k δ_ck / (n(n − 1))), O_ck = Σ_i n_ic(n_ik − [c=k])/(m_i − 1)",
        meaning="how far raters of a group agree on the same items beyond chance (Krippendorff's alpha)",
        higher_means="more agreement within the group",
        reference="Krippendorff (2004), Content Analysis: An Introduction to Its Methodology",
    ),
    Statistic(
        name="xrr", label="XRR", function=cohesion.xrr, needs="pair", symmetric=True, range=(-math.inf, 1.0),
        role="tested", order=20, traits=("claims",), finish=_xrr, why=_why_xrr, interval_scale="fisher",
        equation="1 − (Σ B_ck δ_ck / (R + S)) / (Σ X_c Y_k δ_ck / (R·S)), B_ck = Σ_i (R_i + S_i)/(R_i S_i) · x_ic y_ik",
        meaning="how far a group and the rest agree on the same items beyond chance (cross-replication reliability)",
        higher_means="more agreement between the group and the rest",
        reference="Wong, Paritosh and Aroyo (2021), Cross-replication Reliability: "
        "An Empirical Approach to Interpreting Inter-rater Reliability",
    ),
    Statistic(
        name="gai", label="GAI", function=cohesion.gai, needs="pair", range=(-math.inf, math.inf), role="tested",
        order=30, traits=("claims",), finish=_gai, why=_why_gai, interval_scale="inverse",
        equation="GAI = IRR(group) / XRR(group, rest)",
        meaning="how much more a group agrees with itself than with the rest (group association index)",
        higher_means="a view the group shares more within itself than with others", reference=parts.GRASP,
    ),
    Statistic(
        name="dsi", label="DSI", needs="axis", range=(-math.inf, math.inf), order=40, traits=("claims",),
        equation="DSI = max over groups of GAI",
        meaning="the largest group association index of an axis (diversity sensitivity index)",
        higher_means="an axis along which at least one group stands apart", reference=parts.GRASP,
    ),
    Statistic(
        name="negentropy", label="negentropy", function=cohesion.negentropy, needs="group", range=(0.0, math.inf),
        column="negent.", role="tested", order=50, finish=partial(_negentropy, "entropy", "rated"),
        why=partial(_why_mean, "rated", "rated"), interval_shown=False, equation="ln L − mean_i H(n_i / m_i)",
        meaning="how far an item's ratings are, on average, from an even spread over the scale",
        higher_means="ratings of an item closer together", reference=parts.GRASP,
    ),
    Statistic(
        name="cross_negentropy", label="cross-negentropy", function=cohesion.cross_negentropy, needs="pair",
        range=(-math.inf, math.inf), column="cross-neg.", role="tested", order=60,
        finish=partial(_negentropy, "cross_entropy", "shared"), why=partial(_why_mean, "shared", "common"),
        interval_shown=False, equation="ln L − mean_i (−Σ_c x_ic/R_i · ln q_ic), q_ic = (y_ic + ½)/(S_i + L/2)",
        meaning="how well the rest's ratings of an item predict the group's",
        higher_means="a group whose ratings the rest predicts better", reference=parts.GRASP,
    ),
    Statistic(
        name="plurality_size", label="plurality size", function=cohesion.plurality_size, needs="group",
        range=(0.0, 1.0), column="plurality", role="tested", order=70, finish=_plurality_size,
        why=partial(_why_mean, "rated", "rated"), interval_shown=False, equation="mean_i max_c n_ic / m_i",
        meaning="the mean share of an item's ratings on its most frequent point", higher_means="larger pluralities",
        reference=parts.GRASP,
    ),
    Statistic(
        name="voting_agreement", label="voting agreement", function=cohesion.voting_agreement, needs="pair",
        symmetric=True, range=(-1.0, 1.0), column="votes", role="tested", order=80, finish=_voting_agreement,
        why=_why_votes, interval_shown=False,
        equation="nominal α of two votes per item: coincidences V + Vᵀ, V_ck = Σ_i x̃_ic ỹ_ik",
        meaning="how far the plurality votes of a group and of the rest agree beyond chance",
        higher_means="the same choices by the group and the rest", reference=parts.GRASP,
    ),
    Statistic(
        name="percent_agreement", label="percent agreement", function=cohesion.percent_agreement, needs="group",
        range=(0.0, 1.0), column="% agree", role="beside", order=90, sums_of="ac1", finish=partial(mean_of, "ac1"),
        interval_scale="complement", why=partial(why_unpaired, "ac1"),
        equation="mean_i Σ_c n_ic(n_ic − 1) / (m_i(m_i − 1))",
        meaning="the mean share of pairs of raters who agree on an item, not corrected for chance",
        higher_means="more agreeing pairs",
        reference="Fleiss (1971), Measuring nominal scale agreement among many raters",
    ),
    Statistic(
        name="ac1", label="AC1", function=cohesion.ac1, needs="group", range=(-1.0, 1.0), role="beside", order=100,
        contribution=partial(_ac_parts, False), finish=partial(_ac, "ac1"), why=partial(why_unpaired, "ac1"),
        equation="(p_a − p_e)/(1 − p_e), p_e = Σ_c π_c(1 − π_c)/(L − 1), π_c = mean_i n_ic/m_i",
        meaning="agreement beyond chance that stays stable when nearly everyone gives one point (Gwet's AC1)",
        higher_means="more agreement within the group",
        reference="Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement",
    ),
    Statistic(
        name="ac2", label="AC2", function=cohesion.ac2, needs="group", range=(-math.inf, 1.0), role="beside", order=110,
        contribution=partial(_ac_parts, True), finish=partial(_ac, "ac2"), why=partial(why_unpaired, "ac2"),
        equation="(p_a − p_e)/(1 − p_e), p_a with weights w_ck = 1 − (v_c − v_k)²/(v_max − v_min)², "
        "p_e = Σw/(L(L − 1)) · Σ_c π_c(1 − π_c)",
        meaning="AC1 with partial credit for near misses (Gwet's AC2, quadratic weights)",
        higher_means="more agreement within the group", reference="Gwet (2014), Handbook of Inter-Rater Reliability",
    ),
)  # fmt: skip
