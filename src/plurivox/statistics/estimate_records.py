"""The records of estimates from few human ratings and many model ratings."""

from __future__ import annotations

import math
from functools import partial

from plurivox.statistics.records import Statistic

_PPI = "Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient Prediction-Powered Inference"

_estimated = partial(
    Statistic, needs="answers", range=(-math.inf, math.inf), role="estimated",
    higher_means="a higher mean score, or a larger share",
)  # fmt: skip
_beside = partial(Statistic, needs="answers", interval_shown=False)

RECORDS = (
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
        name="ppi_worth", label="worth in ratings", column="worth", order=50, range=(-math.inf, math.inf),
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
