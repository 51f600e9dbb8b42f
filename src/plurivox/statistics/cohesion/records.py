"""The records of cohesion, apart from kappas and intraclass correlations; polarisation, further GAI, and views."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from plurivox.statistics import undefined
from plurivox.statistics.checks import Floats, counts_of, pair_of, sides_of
from plurivox.statistics.cohesion import functions, parts
from plurivox.statistics.cohesion.parts import GRASP, ROUNDING, Counts, mean_of, of_sums, paired, ratio
from plurivox.statistics.records import About, Known, Slots, Statistic, Why
from plurivox.statistics.undefined import NO_COMMON_ITEM, NOT_ABOVE_CHANCE, NOT_FORESEEN, why_unpaired

SKEWED = 0.9
"""If one point has at least this share of ratings and percent agreement is high, a low alpha misleads."""


# Polarisation ---------------------------------------------------------------------------------------------------------


def ndfu(counts: ArrayLike) -> float:
    """Return the mean normalised distance from unimodality (nDFU) over items with at least two ratings.

    nDFU_i is the largest rise of n_ic from a point to the next while moving away from the mode, divided by the mode's
    own count: max(0, max_{c ≥ mode} n_{c+1} − n_c, max_{c ≤ mode} n_{c−1} − n_c)/max_c n_c. ``counts`` are n_ic, how
    many raters gave item i the point c of an ordered scale.

    0 if the ratings of every item fall off on both sides of one peak; 1 if those of every item have an equally high
    second peak next to a point that nobody chose. NaN if no item has two ratings. An item with one rating always has
    one peak and says nothing, so it is left out.

    If several points are modes, the result is the largest that any of them gives. The authors' code uses the lowest
    mode. The two differ for 3, 0, 1, 3: the rise is 2 seen from the left, 3 from the right. The largest is the same
    when the scale is reversed. Up to three points, the choice of mode makes no difference.

    References
    ----------
    Pavlopoulos and Likas (2024), Polarized Opinion Detection Improves the Detection of Toxic Language; the same
    (2023), Distance from Unimodality for the Assessment of Opinion Polarization.

    Examples
    --------
    >>> ndfu([[4, 0, 0, 4], [1, 3, 2, 0], [4, 1, 2, 1]])  # the mean of 1, 0 and 1/4
    0.4166666666666667
    """
    return float(ratio(*ndfu_parts(counts_of("counts", counts)).sum(axis=0)))


def distance_from_unimodality(counts: Counts) -> Floats:
    """Return the nDFU of each histogram (…, L) → (…), 0 where nobody rated.

    If there are several modes, the lowest sees all upward rises that any of them sees, and the highest all downward
    ones.
    """
    n = np.asarray(counts, dtype=float)
    n_points = n.shape[-1]
    top = n.max(axis=-1, keepdims=True)
    lowest = np.argmax(n == top, axis=-1)[..., None]
    highest = n_points - 1 - np.argmax(n[..., ::-1] == top, axis=-1)[..., None]
    step, at = np.diff(n, axis=-1), np.arange(n_points - 1)
    upwards = np.where(at >= lowest, step, 0.0)
    downwards = np.where(at < highest, -step, 0.0)
    rise: Floats = np.maximum(upwards, downwards).max(axis=-1, initial=0.0)
    return rise / np.where(top[..., 0] > 0, top[..., 0], 1.0)


def ndfu_parts(counts: Counts, *, self_pairs: Counts | None = None) -> Floats:
    """Contribute nDFU and 1 if W² > Q; (items, …, 2).

    ``self_pairs`` Q (items, …) is Σw² in a bootstrap over raters, m by default; see
    :mod:`~plurivox.statistics.cohesion.parts`. Copies of one rater are one rating, so such an item does not count; its
    nDFU is 0.
    """
    return np.stack([distance_from_unimodality(counts), paired(counts, self_pairs)[3] > 0], axis=-1)


# Other gai ------------------------------------------------------------------------------------------------------------
#
# GAI of pairs of measures other than IRR and XRR: one within the group over its counterpart with the rest.


def gai_negentropy(counts_group: ArrayLike, counts_rest: ArrayLike) -> float:
    """Return how much more concentrated a group's answers are than the rest would predict: GAI of negentropies.

    negentropy(group)/cross-negentropy(group, rest), see :func:`negentropy` and :func:`cross_negentropy`.

    Never below 1 if the rest rated all items of the group, since no prediction of answers can exceed their own
    concentration; and the fewer ratings items have, the larger it is. So compare it with a permutation null, never with
    1. NaN if either half is undefined or cross-negentropy is not above 0.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> round(gai_negentropy([[2, 0]], [[3, 0]]), 6)  # ln 2 over ln 2 + ln 7/8
    1.238613
    """
    x, y = pair_of("counts_group", counts_group, "counts_rest", counts_rest)
    return float(parts.gai_from(functions.negentropy(x), functions.cross_negentropy(x, y)))


def gai_plurality(counts_group: ArrayLike, counts_rest: ArrayLike) -> float:
    """Return how large a group's pluralities are relative to their agreement with the rest's: GAI of votes.

    plurality size(group)/voting agreement(group, rest), see :func:`plurality_size` and :func:`voting_agreement`.

    The first is a share and the second is corrected for chance, so 1 has no meaning of its own: compare it with a
    permutation null. NaN if either half is undefined or voting agreement is not above 0.

    References
    ----------
    Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives.

    Examples
    --------
    >>> round(gai_plurality([[3, 1], [1, 3], [4, 0]], [[2, 0], [0, 2], [0, 2]]), 6)  # 5/6 over 4/9
    1.875
    """
    x, y = pair_of("counts_group", counts_group, "counts_rest", counts_rest)
    return float(parts.gai_from(functions.plurality_size(x), functions.voting_agreement(x, y)))


# View -----------------------------------------------------------------------------------------------------------------
#
# View correlation: whether a group and the rest order the items alike, apart from noise, leniency and spread.
#
# A sum over items, then a finish. Scores are numbers, and each rater's own mean over all their items is subtracted.
# For an item with two ratings or more on each side, x is the group's mean, r that of the rest, and e, f are the
# sampling variances s²/n of the two, where s² has the divisor n − 1.
#
# ================ ======= ============================ ============================ contribution parts layout items
# that count ================ ======= ============================ ============================ view_parts 8 1; x; r;
# x·r; x²; r²; e; f n ≥ 2 on both sides ================ ======= ============================
# ============================
#
# If raters have weights w, let W = Σw and Q = Σw²: a mean is Σwy/W, s² = Σw(y − mean)²/(W − Q/W), and its sampling
# variance is s²·Q/W². In lenses, the sums come from ``kernels/moments``; a rater's mean is that of all their ratings
# in every draw, even if items are drawn.


MIN_ITEMS = 3
FEW_ITEMS = "fewer than three items have two ratings on each side"
GROUP_NOISE = "the group's item means differ no more than sampling explains"
REST_NOISE = "the rest's item means differ no more than sampling explains"


def view_correlation(scores_group: ArrayLike, scores_rest: ArrayLike) -> float:
    """Return the correlation of two sides' views of the items, corrected for the noise of their means.

    Cov_i(x, r)/√(V_x V_r), V_x = Var_i(x) − mean_i(s²_i/n_i), over the K items with two scores or more on each side.
    x_i and r_i are the sides' means of an item, and s²_i/n_i is the sampling variance of such a mean. The mean of each
    rater over all their items is subtracted from their scores first. Variance and covariance over items have the
    divisor K − 1, and s²_i has n_i − 1.

    Parameters
    ----------
    scores_group, scores_rest
        Items × raters of either side, NaN where a rater did not score an item; the same items in the same rows.

    Returns
    -------
    float
        1 if both sides have the same view of the items, apart from noise, leniency and spread; 0 if their views have
        nothing in common; below 0 if they are opposed. It is not clipped, so sampling may take it above 1 or below −1.
        NaN if fewer than three items count, or a side's means differ no more than sampling explains.

    References
    ----------
    Spearman (1904), The proof and measurement of association between two things, for the correction for attenuation.

    Examples
    --------
    >>> group = [[0, 1], [1, 2], [2, 3], [3, 4]]  # a second rater who gives one point more
    >>> round(view_correlation(group, [[0, 0], [2, 2], [3, 3], [3, 3]]), 6)  # 5/3 over the root of 5/3 · 2
    0.912871
    """
    own, rest = sides_of("scores_group", scores_group, "scores_rest", scores_rest)
    return float(view_from(view_parts(_centred(own), _centred(rest)).sum(axis=0)))


def view_parts(own: Floats, rest: Floats) -> Floats:
    """Contribute the eight moments of each item; scores are items × raters, without raters' means; (items, 8)."""
    (n, x, e), (m, r, f) = _side(own), _side(rest)
    parts = np.stack([np.ones(len(x)), x, r, x * r, x * x, r * r, e, f], axis=-1)
    counts = (n > 1) & (m > 1)
    return np.where(counts[:, None], parts, 0.0)


def view_from(moments: Floats) -> Floats:
    """Return the view correlation of moments (…, 8)."""
    product = _over_items(moments, 3, 1, 2)
    own, rest = _variances(moments)
    possible = (moments[..., 0] >= MIN_ITEMS) & ~np.isnan(own) & ~np.isnan(rest)
    root = np.sqrt(np.where(possible, own, 1.0)) * np.sqrt(np.where(possible, rest, 1.0))
    return np.asarray(np.where(possible, product / root, np.nan))


def _centred(scores: Floats) -> Floats:
    """Subtract each rater's mean over all their items."""
    given = ~np.isnan(scores)
    total = np.where(given, scores, 0.0).sum(axis=0)
    return np.asarray(scores - total / np.maximum(given.sum(axis=0), 1))


def _side(scores: Floats) -> tuple[Floats, Floats, Floats]:
    """Return for each item how many scores it has, their mean, and the sampling variance of the mean."""
    given = ~np.isnan(scores)
    n = given.sum(axis=1).astype(float)
    mean = np.where(given, scores, 0.0).sum(axis=1) / np.maximum(n, 1)
    squares = np.where(given, scores - mean[:, None], 0.0) ** 2
    return n, mean, squares.sum(axis=1) / np.maximum(n - 1, 1) / np.maximum(n, 1)


def _over_items(moments: Floats, product: int, first: int, second: int) -> Floats:
    """Return a covariance over items with the divisor K − 1; meaningless if K < 2."""
    k = moments[..., 0]
    crossed = moments[..., product] - moments[..., first] * moments[..., second] / np.maximum(k, 1)
    return np.asarray(crossed / np.maximum(k - 1, 1))


def _variances(moments: Floats) -> tuple[Floats, Floats]:
    """Return the variances of both sides' views minus the sampling variance of means; NaN if nothing is left.

    Numbers run from 0 to 1, so rounding errors are far below the bound.
    """
    k = np.maximum(moments[..., 0], 1)
    found = []
    for first, square, error in ((1, 4, 6), (2, 5, 7)):
        own = _over_items(moments, square, first, first) - moments[..., error] / k
        nothing = ROUNDING * (moments[..., square] / k + moments[..., error] / k + ROUNDING)
        found.append(np.asarray(np.where(own > nothing, own, np.nan)))
    return found[0], found[1]


# Finishes and reasons -------------------------------------------------------------------------------------------------


def _parts(counts: Counts, self_pairs: Counts | None, about: About) -> Floats:
    return ndfu_parts(counts, self_pairs=self_pairs)


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
    if not s["own"].any():
        return NO_COMMON_ITEM
    return undefined.why_no_spread(s["own"], s["rest"], about.level)


def _gai(within: str, cross: str, s: Slots, about: About, known: Known) -> Floats:
    return parts.gai_from(known[within], known[cross])


def _why_gai(
    halves: tuple[Why, ...], cross: str, small: str, s: Slots, about: About, known: Known, n_raters: int | None
) -> str | None:
    """Say which half is undefined, or that the divisor is too small."""
    reason = next(filter(None, (why(s, about, {}, n_raters) for why in halves)), None)
    return small if reason is None and not float(known[cross]) > ROUNDING else reason


def _negentropy(entropy: str, count: str, s: Slots, about: About, known: Known) -> Floats:
    return parts.negentropy_from(s[entropy], s[count], about.n_points)


def _why_mean(
    count: str, over: undefined.Over, s: Slots, about: About, known: Known, n_raters: int | None
) -> str | None:
    return undefined.why_mean(float(s[count]), over)


def _why_votes(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    return undefined.why_voting(s["own_votes"], s["rest_votes"])


def _ac_parts(weighted: bool, counts: parts.Counts, self_pairs: parts.Counts | None, about: About) -> Floats:
    return parts.ac_parts(counts, about.values if weighted else None, self_pairs=self_pairs)


def _ac(name: str, s: Slots, about: About, known: Known) -> Floats:
    agreement, n_pairable, n_rated = np.moveaxis(s[name][..., :3], -1, 0)
    return parts.ac_from(agreement, n_pairable, n_rated, s[name][..., 3:], about.values if name == "ac2" else None)


def _why_view(s: Slots, about: About, known: Known, n_raters: int | None) -> str | None:
    if s["moments"][0] < MIN_ITEMS:
        return FEW_ITEMS
    own, rest = _variances(s["moments"])
    return GROUP_NOISE if np.isnan(own) else REST_NOISE if np.isnan(rest) else None


# The records ----------------------------------------------------------------------------------------------------------


RECORDS = (
    Statistic(
        name="irr", label="IRR", function=functions.krippendorff_alpha, needs="group", range=(-1.0, 1.0), role="tested",
        order=10, traits=("claims",), finish=_irr, why=_why_irr, interval_scale="fisher",
        equation="α = 1 − (Σ O_ck δ_ck / n) / (Σ n_c n_k δ_ck / (n(n − 1))), O_ck = Σ_i n_ic(n_ik − [c=k])/(m_i − 1)",
        meaning="how far raters of a group agree on the same items beyond chance (Krippendorff's alpha)",
        higher_means="more agreement within the group",
        reference="Krippendorff (2004), Content Analysis: An Introduction to Its Methodology",
    ),
    Statistic(
        name="xrr", label="XRR", function=functions.xrr, needs="pair", symmetric=True, range=(-math.inf, 1.0),
        role="tested", order=20, traits=("claims",), finish=_xrr, why=_why_xrr, interval_scale="fisher",
        equation="1 − (Σ B_ck δ_ck / (R + S)) / (Σ X_c Y_k δ_ck / (R·S)), B_ck = Σ_i (R_i + S_i)/(R_i S_i) · x_ic y_ik",
        meaning="how far a group and the rest agree on the same items beyond chance (cross-replication reliability)",
        higher_means="more agreement between the group and the rest",
        reference="Wong, Paritosh and Aroyo (2021), Cross-replication Reliability: "
        "An Empirical Approach to Interpreting Inter-rater Reliability",
    ),
    Statistic(
        name="gai", label="GAI", function=functions.gai, needs="pair", range=(-math.inf, math.inf), role="tested",
        order=30, traits=("claims",), finish=partial(_gai, "irr", "xrr"), interval_scale="inverse",
        why=partial(_why_gai, (_why_irr, _why_xrr), "xrr", NOT_ABOVE_CHANCE),
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
        name="negentropy", label="negentropy", function=functions.negentropy, needs="group", range=(0.0, math.inf),
        column="negent.", role="tested", order=50, finish=partial(_negentropy, "entropy", "rated"),
        why=partial(_why_mean, "rated", "rated"), interval_shown=False, equation="ln L − mean_i H(n_i / m_i)",
        meaning="how far an item's ratings are, on average, from an even spread over the scale",
        higher_means="ratings of an item closer together", reference=parts.GRASP,
    ),
    Statistic(
        name="cross_negentropy", label="cross-negentropy", function=functions.cross_negentropy, needs="pair",
        range=(-math.inf, math.inf), column="cross-neg.", role="tested", order=60,
        finish=partial(_negentropy, "cross_entropy", "shared"), why=partial(_why_mean, "shared", "common"),
        interval_shown=False, equation="ln L − mean_i (−Σ_c x_ic/R_i · ln q_ic), q_ic = (y_ic + ½)/(S_i + L/2)",
        meaning="how well the rest's ratings of an item predict the group's",
        higher_means="a group whose ratings the rest predicts better", reference=parts.GRASP,
    ),
    Statistic(
        name="plurality_size", label="plurality size", function=functions.plurality_size, needs="group",
        range=(0.0, 1.0), column="plurality", role="tested", order=70,
        finish=partial(of_sums, parts.ratio, ("plurality", "rated")),
        why=partial(_why_mean, "rated", "rated"), interval_shown=False, equation="mean_i max_c n_ic / m_i",
        meaning="the mean share of an item's ratings on its most frequent point", higher_means="larger pluralities",
        reference=parts.GRASP,
    ),
    Statistic(
        name="voting_agreement", label="voting agreement", function=functions.voting_agreement, needs="pair",
        symmetric=True, range=(-1.0, 1.0), column="votes", role="tested", order=80,
        finish=partial(of_sums, parts.voting_from, ("same_vote", "own_votes", "rest_votes")),
        why=_why_votes, interval_shown=False,
        equation="nominal α of two votes per item: coincidences V + Vᵀ, V_ck = Σ_i x̃_ic ỹ_ik",
        meaning="how far the plurality votes of a group and of the rest agree beyond chance",
        higher_means="the same choices by the group and the rest", reference=parts.GRASP,
    ),
    Statistic(
        name="percent_agreement", label="percent agreement", function=functions.percent_agreement, needs="group",
        range=(0.0, 1.0), column="% agree", role="beside", order=90, sums_of="ac1", finish=partial(mean_of, "ac1"),
        interval_scale="complement", why=partial(why_unpaired, "ac1"),
        equation="mean_i Σ_c n_ic(n_ic − 1) / (m_i(m_i − 1))",
        meaning="the mean share of pairs of raters who agree on an item, not corrected for chance",
        higher_means="more agreeing pairs",
        reference="Fleiss (1971), Measuring nominal scale agreement among many raters",
    ),
    Statistic(
        name="ac1", label="AC1", function=functions.ac1, needs="group", range=(-1.0, 1.0), role="beside", order=100,
        contribution=partial(_ac_parts, False), finish=partial(_ac, "ac1"), why=partial(why_unpaired, "ac1"),
        equation="(p_a − p_e)/(1 − p_e), p_e = Σ_c π_c(1 − π_c)/(L − 1), π_c = mean_i n_ic/m_i",
        meaning="agreement beyond chance that stays stable when nearly everyone gives one point (Gwet's AC1)",
        higher_means="more agreement within the group",
        reference="Gwet (2008), Computing inter-rater reliability and its variance in the presence of high agreement",
    ),
    Statistic(
        name="ac2", label="AC2", function=functions.ac2, needs="group", range=(-math.inf, 1.0), role="beside",
        order=110, contribution=partial(_ac_parts, True), finish=partial(_ac, "ac2"), why=partial(why_unpaired, "ac2"),
        equation="(p_a − p_e)/(1 − p_e), p_a with weights w_ck = 1 − (v_c − v_k)²/(v_max − v_min)², "
        "p_e = Σw/(L(L − 1)) · Σ_c π_c(1 − π_c)",
        meaning="AC1 with partial credit for near misses (Gwet's AC2, quadratic weights)",
        higher_means="more agreement within the group", reference="Gwet (2014), Handbook of Inter-Rater Reliability",
    ),
    Statistic(
        name="ndfu", label="nDFU", function=ndfu, needs="group", range=(0.0, 1.0), role="beside", order=180,
        contribution=_parts, finish=partial(mean_of, "ndfu"), why=partial(why_unpaired, "ndfu"),
        equation="mean_i max(0, largest rise of n_ic away from the mode)/max_c n_ic",
        meaning="how far the ratings of an item are, on average, from having a single peak (normalised distance from "
        "unimodality)",
        higher_means="more polarised ratings",
        reference="Pavlopoulos and Likas (2024), Polarized Opinion Detection Improves the Detection of Toxic Language",
    ),
    Statistic(
        name="gai_negentropy", label="GAI of negentropy", function=gai_negentropy, needs="pair", column="GAI negent.",
        range=(-math.inf, math.inf), role="asked", order=32, finish=partial(_gai, "negentropy", "cross_negentropy"),
        why=partial(_why_gai, (partial(_why_mean, "shared", "common"),), "cross_negentropy", NOT_FORESEEN),
        interval_scale="inverse", equation="negentropy(group) / cross-negentropy(group, rest)",
        meaning="how much more concentrated a group's answers are than the rest would predict",
        higher_means="answers that the group shares more within itself than with others", reference=GRASP,
    ),
    Statistic(
        name="gai_plurality", label="GAI of plurality", function=gai_plurality, needs="pair", column="GAI plural.",
        range=(-math.inf, math.inf), role="asked", order=33,
        finish=partial(_gai, "plurality_size", "voting_agreement"),
        why=partial(_why_gai, (_why_votes,), "voting_agreement", NOT_ABOVE_CHANCE), interval_scale="inverse",
        equation="plurality size(group) / voting agreement(group, rest)",
        meaning="how large a group's pluralities are relative to their agreement with the rest's",
        higher_means="pluralities that the group shares more within itself than with others", reference=GRASP,
    ),
    Statistic(
        name="view_correlation", label="view correlation", function=view_correlation, needs="sides", symmetric=True,
        range=(-math.inf, math.inf), column="view corr.", role="tested", order=35, of_moments=True, traits=("claims",),
        finish=partial(of_sums, view_from, ("moments",)), why=_why_view,
        equation="Cov_i(x_i, r_i)/√(V_x V_r), V_x = Var_i(x_i) − mean_i(s²_i/n_i), x_i and r_i the two sides' means of "
        "item i with raters' own means removed",
        meaning="whether a group and the rest view the items alike, apart from noise, leniency and spread",
        higher_means="the same view in the group and the rest",
        reference="Spearman (1904), The proof and measurement of association between two things",
    ),
)  # fmt: skip
