"""One record for each statistic; it feeds lenses, tables, the tests, the docs and the glossary.

Records of cohesion are discovered in every file of ``statistics/cohesion`` that has ``RECORDS``; those of other
functions stand beside them; those that a lens computes itself stand here.
"""

from __future__ import annotations

import importlib
import math
import pkgutil
from collections.abc import Iterable
from functools import partial
from itertools import chain

from plurivox.statistics import alignment, calibration, cohesion, graded, responsiveness
from plurivox.statistics.records import Statistic

_ANY = (-math.inf, math.inf)
_PPI = "Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient Prediction-Powered Inference"

_estimated = partial(
    Statistic, needs="answers", range=_ANY, role="estimated",
    higher_means="a higher mean score, or a larger share",
)  # fmt: skip
_beside = partial(Statistic, needs="answers", interval_shown=False)

ESTIMATED = (
    _estimated(
        name="estimate", label="estimate", column="together", order=10,
        equation="θ = ȳ + λ(f̄_N − f̄_n); Var θ = Var(y − λf)/n + λ²·Var(f)/N, plus what other raters add",
        meaning="the mean over all items that a model rated, the n that humans rated as well and the N others: the "
        "humans' mean, corrected by how far the model's mean over the N items is from its mean over the n",
        reference=_PPI,
    ),
    _estimated(
        name="estimate_humans", label="humans alone", order=20, equation="ȳ over the n items of both",
        meaning="the mean of the human ratings of the items that the model also answered",
        reference="Mean over items of their mean rating",
    ),
    _estimated(
        name="estimate_model", label="model alone", order=30, equation="f̄ over all n + N items",
        meaning="the mean of the model's answers to all items; it is off by the model's bias, however narrow its "
        "interval",
        reference="Mean over items of the model's answer",
    ),
    _beside(
        name="ppi_lambda", label="λ", order=40, range=(0.0, 1.0),
        equation="λ = Cov(y, f)/((1 + n/N)·Var f), clipped to [0, 1]",
        meaning="how much a model's answers count in an estimate", higher_means="a model that tracks humans better",
        reference=_PPI,
    ),
    _beside(
        name="ppi_worth", label="worth in ratings", column="worth", order=50, range=_ANY,
        equation="n(Var ȳ/Var θ − 1) items, times the mean number of ratings of an item",
        meaning="how many more human ratings would narrow the interval of humans alone as much as the model does",
        higher_means="a model that saves more human ratings", reference=_PPI,
    ),
    _beside(
        name="ratings_needed", label="ratings needed", order=60, range=(0.0, math.inf),
        equation="least n with 2·t·√(Var θ) at most the width, times the mean number of ratings of an item",
        meaning="how many human ratings an interval of the requested width needs in addition to the model's answers",
        higher_means="more human ratings for the same width", reference=_PPI,
    ),
    _beside(
        name="ratings_needed_humans", label="ratings needed, humans alone", order=70, range=(0.0, math.inf),
        equation="least n with 2·t·√(Var ȳ) at most the width, times the mean number of ratings of an item",
        meaning="how many human ratings an interval of the requested width needs without a model",
        higher_means="more human ratings for the same width", reference="Normal theory of a mean over items",
    ),
    _beside(
        name="effective_judges", label="effective judges", order=80, range=(1.0, math.inf),
        equation="(Σ l_k)²/Σ l²_k over the eigenvalues l of the correlations of judges' errors f − y, corrected for "
        "chance in ratings",
        meaning="the number of judges with unrelated errors that all judges together amount to",
        higher_means="judges that err in different ways", reference="Participation ratio of a spectrum",
    ),
)  # fmt: skip


# Judge records --------------------------------------------------------------------------------------------------------
#
# The records of what is on a judge card.


_ALT_TEST = "Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge"
_judged = partial(Statistic, needs="answers", role="judged", range=(0.0, 1.0), interval_shown=False)

JUDGED = (
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
    *(
        _judged(
            name=name, label=name, order=order, interval_shown=name == "answered",
            equation=f"{name}/(answered + refused + unreadable)",
            meaning=f"share of the rated items that were asked and {what}", higher_means=f"more {more}",
            reference="Wilson (1927), for its interval",
        )
        for order, name, what, more in (
            (110, "answered", "have an answer", "answers"), (120, "refused", "refused", "refusals"),
            (130, "unreadable", "whose answer cannot be read", "answers that cannot be read"),
        )
    ),
    _judged(
        name="worth", label="worth in ratings", range=_ANY, order=140,
        equation="n(V_human/V_PPI − 1) items × mean ratings per item",
        meaning="how many more human ratings a model's answers are worth for the mean score",
        higher_means="answers that save more ratings", reference=_PPI,
    ),
)  # fmt: skip


# Variation records ----------------------------------------------------------------------------------------------------
#
# The records of who rates higher, and whose scores drift.


VARIED = (
    Statistic(
        name="leniency", label="leniency", column="higher by", needs="sides", range=_ANY,
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
        name="drift", label="drift", column="drift", needs="times", range=_ANY, role="drift",
        order=10, traits=("claims",),
        equation="Σ_r Σ_k (t_k − t̄_r)(x_k − x̄_i) / Σ_r Σ_k (t_k − t̄_r)² over raters r of the group and their ratings k",
        meaning="how many points of the scale higher raters of a group score from one unit of time to the next, "
        "compared with all ratings of the same items",
        higher_means="scores that rise over time on the same items; 0 means steady scores",
        reference="Myford and Wolfe (2009), Monitoring rater performance over time: a framework for detecting "
        "differential accuracy and differential scale category use",
    ),
)  # fmt: skip


# Aggregate records ----------------------------------------------------------------------------------------------------
#
# The records of what one label per item hides: how far it is from what a group of raters says.


_BESIDE = "Basile et al. (2021), We need to consider disagreement in evaluation"

HIDDEN = (
    Statistic(
        name="departure", label="departure", column="departs by", needs="labels",
        range=_ANY, role="hidden", order=10, traits=("claims",),
        equation="±√|D|, with the sign of D = mean over items with n_gi ≥ 2 of (x̄_gi − a_i)² − s²_gi (1/n_gi − 2 w_i)",
        meaning="how many points of the scale the label a of an item typically is from the group's mean x̄; the noise "
        "of that mean, s²/n, is subtracted, with a correction if the label is itself a mean that includes the group's "
        "ratings (w = 1/m for each of its m ratings)",
        higher_means="labels further from what the group says; 0 or less means no further than the group's own noise",
        reference=_BESIDE,
    ),
    Statistic(
        name="overruled", label="overruled", column="overruled", needs="labels", range=(0.0, 1.0), role="hidden",
        order=20,
        equation="mean over items of 1 − v_gi(y_i), where v is the group's vote: 1 on its most frequent point, shared "
        "by tied points",
        meaning="the share of items whose label y is not the point that most raters of the group gave",
        higher_means="a group whose majority is overruled more often", reference=_BESIDE,
    ),
    Statistic(
        name="label_shift", label="shift", column="above label", needs="labels", range=_ANY, role="hidden", order=30,
        equation="mean over items of x̄_gi − a_i",
        meaning="how many points of the scale the group's mean is above the label, on average",
        higher_means="a group that scores items higher than they are labelled; 0 means neither", reference=_BESIDE,
    ),
)  # fmt: skip


# Registry -------------------------------------------------------------------------------------------------------------
#
# One record for each statistic; it feeds lenses, tables, the tests, the docs and the glossary.
#
# Records of cohesion are discovered in every file of ``statistics/cohesion`` that has ``RECORDS``.


def of_role(*roles: str) -> tuple[Statistic, ...]:
    """Return the statistics of one role or several, in their order."""
    own = (record for record in STATISTICS.values() if record.role in roles)
    return tuple(sorted(own, key=lambda record: record.order))


def names_of(role: str) -> tuple[str, ...]:
    """Return the names of the statistics of one role, in their order."""
    return tuple(record.name for record in of_role(role))


def with_trait(trait: str) -> tuple[str, ...]:
    """Return the names of the statistics that have a trait."""
    return tuple(record.name for record in STATISTICS.values() if trait in record.traits)


def refresh() -> None:
    """Find all records again, including those of new files."""
    files = (f"{cohesion.__name__}.{module.name}" for module in pkgutil.iter_modules(cohesion.__path__))
    agreement = chain(*(getattr(importlib.import_module(name), "RECORDS", ()) for name in files))
    others = (module.RECORDS for module in (responsiveness, graded, calibration, alignment))
    in_order = sorted(agreement, key=lambda record: (record.order, record.name))
    records: Iterable[Statistic] = chain(in_order, *others, ESTIMATED, JUDGED, VARIED, HIDDEN)
    STATISTICS.clear()
    STATISTICS.update({record.name: record for record in records})
    LABELS.clear()
    LABELS.update({name: record.label for name, record in STATISTICS.items()})


STATISTICS: dict[str, Statistic] = {}
"""Every record by name."""
LABELS: dict[str, str] = {}
"""What tables and sentences call each statistic."""
refresh()
