"""One record for each statistic: it feeds the tests, the choices on the command line, the docs and the glossary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from plurivox.statistics import cohesion

_GRASP = (
    "Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """What a statistic is, in words and in properties that hold for all data.

    Attributes
    ----------
    name
        As in frames and JSON.
    function
        From counts, items × points, to one float; None where counts do not suffice.
    needs
        What it is a property of: a ``"group"`` (one array of counts), a ``"pair"`` of sides (two), or an ``"axis"``.
    symmetric
        Whether exchanging the two sides of a pair changes nothing.
    range
        The lowest and the highest value that any data can have; infinite where there is no bound that holds for all.
    equation, meaning, higher_means, reference
        For the reader.
    """

    name: str
    function: Callable[..., float] | None
    needs: Literal["group", "pair", "axis"]
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
)

STATISTICS: dict[str, Statistic] = {record.name: record for record in _RECORDS}
