"""The records of what is on a judge card."""

from __future__ import annotations

import math
from functools import partial

from plurivox.statistics.records import Statistic

_ALT_TEST = "Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge"
_ANY = (-math.inf, math.inf)
_judged = partial(Statistic, needs="answers", role="judged", range=(0.0, 1.0), interval_shown=False)

RECORDS = (
    _judged(
        name="agreement", label="agreement with a rater", column="agreement", range=(-math.inf, 1.0), order=10,
        equation="XRR between the answers of a model and the ratings, over items that have both", interval_shown=True,
        meaning="how far a model agrees with a rater beyond chance; shown with Krippendorff's alpha of the raters",
        higher_means="more agreement with raters; 0 is chance",
        reference="Wong, Paritosh and Aroyo (2021), Cross-replication reliability",
    ),
    _judged(
        name="relative", label="… as a share of raters' own", column="of raters' own", range=_ANY, order=20,
        equation="agreement/α, where α is that of raters on the same items; undefined unless α > 0",
        meaning="agreement of a model with a rater, divided by the raters' agreement with each other",
        higher_means="more agreement; 1 means as much as another rater",
        reference="A ratio of the two, tested against one half",
    ),
    _judged(
        name="distance", label="distance from a rater", column="distance", range=(0.0, math.inf), order=30,
        interval_shown=True, equation="mean_i mean_k Σ_p n_ip |p − s_ik|/n_i over answers s_ik of items with an answer",
        meaning="how far an answer is from a rating of the same item on average, in positions; shown with the distance "
        "between two raters",
        higher_means="answers further from raters", reference="Mean absolute difference",
    ),
    _judged(
        name="lead", label="nearer than the best constant", column="lead", range=_ANY, order=40, interval_shown=True,
        equation="min_p mean_i Σ_q n_iq |q − p|/n_i − distance",
        meaning="how much nearer a model is to a rater than the best constant answer",
        higher_means="answers that say more than a constant; 0 means as much", reference="Mean absolute difference",
    ),
    _judged(
        name="omega", label="stands in for raters (ω)", column="ω", order=50, interval_shown=True,
        equation="share of raters for whom H0: mean(W_h − W_m) ≥ ε is rejected, corrected by Benjamini and Yekutieli",
        meaning="share of raters against whom a model holds its own in closeness to the other raters",
        higher_means="a model that may stand in for more raters", reference=_ALT_TEST,
    ),
    _judged(
        name="advantage", label="wins or ties (ρ)", column="ρ", order=60,
        equation="mean over raters of the share of items on which the model is at least as close to the others",
        meaning="how often a model is at least as close to the other raters of an item as a rater is",
        higher_means="answers closer to raters than raters are", reference=_ALT_TEST,
    ),
    _judged(
        name="bias", label="bias", column="bias", range=_ANY, order=70, interval_shown=True,
        equation="mean_i (s̄_i − x̄_i) over items with an answer and a rating, in values of the scale",
        meaning="mean answer minus mean rating of the same items; shown with the range of nine in ten raters",
        higher_means="answers higher than ratings; 0 means neither",
        reference="Tested by the two-way jackknife, and against the spread of raters' own",
    ),
    _judged(
        name="largest_bias", label="largest bias", range=(0.0, math.inf), order=80,
        equation="max |bias| over all raters, groups, and parts of the items",
        meaning="the largest bias of all that are reported, regardless of sign", higher_means="answers off by more",
        reference="No interval: it is selected by its size",
    ),
    _judged(
        name="position_bias", label="position bias", order=90,
        equation="½ Σ_k |n_k − E n_k|/n over places k; E over all ways of exchanging the orders of items",
        meaning="share of answers that would have to change for places to be chosen as often as expected",
        higher_means="answers that depend more on where options are placed",
        reference="Tested by shuffling orders between items (χ²)",
    ),
    _judged(
        name="consistency", label="self-consistency", order=100,
        equation="mean over items with m ≥ 2 answers of Σ_p n_ip(n_ip − 1)/(m(m − 1))",
        meaning="how often two answers of a model to the same question are the same; shown with how often two raters "
        "agree",
        higher_means="a model that repeats itself", reference="Percent agreement of samples",
    ),
    _judged(
        name="answered", label="answered", order=110, interval_shown=True,
        equation="answered/(answered + refused + unreadable)",
        meaning="share of the rated items that were asked and have an answer", higher_means="more answers",
        reference="Wilson (1927), for its interval",
    ),
    _judged(
        name="refused", label="refused", order=120, equation="refused/(answered + refused + unreadable)",
        meaning="share of the rated items that were asked and refused", higher_means="more refusals",
        reference="Wilson (1927), for its interval",
    ),
    _judged(
        name="unreadable", label="unreadable", order=130, equation="unreadable/(answered + refused + unreadable)",
        meaning="share of the rated items that were asked and whose answer cannot be read",
        higher_means="more answers that cannot be read", reference="Wilson (1927), for its interval",
    ),
    _judged(
        name="worth", label="worth in ratings", range=_ANY, order=140,
        equation="n(V_human/V_PPI − 1) items × mean ratings per item",
        meaning="how many more human ratings a model's answers are worth for the mean score",
        higher_means="answers that save more ratings",
        reference="Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient Prediction-Powered Inference",
    ),
)  # fmt: skip
