"""Statistics as pure functions (counts in, a number out) and their registry; they may use only ``errors``.

The only other packages are numpy and ``scipy.special``. Statistics of raters' scores, namely Mokken's and the graded
response model, sum over pairs of raters and over severities; their loops are in ``kernels``.
"""

from __future__ import annotations

from plurivox.statistics.alignment import ada_met, ada_met_answered, advantage, modes, voter_distance
from plurivox.statistics.calibration import (
    absolute_distance,
    absolute_distance_points,
    calibration_slope,
    error_rate,
    manhattan,
    pit,
    pit_histogram,
    reliability,
    wasserstein,
)
from plurivox.statistics.cohesion import (
    ac1,
    ac2,
    cross_negentropy,
    gai,
    krippendorff_alpha,
    negentropy,
    percent_agreement,
    plurality_size,
    voting_agreement,
    xrr,
)
from plurivox.statistics.cohesion.cohen import Cohen, cohen_kappa, fleiss_kappa, weighted_kappa
from plurivox.statistics.cohesion.icc import Icc, icc, icc1, icc1k
from plurivox.statistics.cohesion.records import gai_negentropy, gai_plurality, ndfu, view_correlation
from plurivox.statistics.graded import GradedResponse, graded_response
from plurivox.statistics.mokken import Mokken, Monotonicity, mokken_h, mokken_scales, monotonicity
from plurivox.statistics.posterior import (
    PriorFit,
    fit_prior,
    information_gain,
    mean_interval,
    ratings_needed,
    share_interval,
)
from plurivox.statistics.records import Statistic
from plurivox.statistics.registry import STATISTICS
from plurivox.statistics.responsiveness import (
    auroc,
    average_precision,
    harmonic_mean,
    kendall_tau_b,
    mpa,
    mpa_raw,
    precision,
    recall,
    spearman_rho,
    wra,
)
from plurivox.statistics.soft import (
    cross_entropy,
    emd,
    expected_cross_entropy,
    expected_emd,
    expected_entropy,
    expected_js,
    expected_kl,
    expected_rps,
    js,
    kl,
    posterior_mean,
    rps,
)
from plurivox.statistics.undefined import undefined_reason

__all__ = [
    "STATISTICS", "Cohen", "GradedResponse", "Icc", "Mokken", "Monotonicity", "PriorFit", "Statistic",
    "absolute_distance", "absolute_distance_points", "ac1", "ac2", "ada_met", "ada_met_answered", "advantage", "auroc",
    "average_precision", "calibration_slope", "cohen_kappa", "cross_entropy", "cross_negentropy", "emd", "error_rate",
    "expected_cross_entropy", "expected_emd", "expected_entropy", "expected_js", "expected_kl", "expected_rps",
    "fit_prior", "fleiss_kappa", "gai", "gai_negentropy", "gai_plurality",
    "graded_response", "harmonic_mean", "icc", "icc1", "icc1k", "information_gain",
    "js", "kendall_tau_b", "kl", "krippendorff_alpha", "manhattan", "mean_interval", "modes", "mokken_h",
    "mokken_scales", "monotonicity", "mpa", "mpa_raw", "ndfu", "negentropy", "percent_agreement", "pit",
    "pit_histogram", "plurality_size", "posterior_mean", "precision", "ratings_needed", "recall", "reliability", "rps",
    "share_interval", "spearman_rho", "undefined_reason", "view_correlation", "voter_distance", "voting_agreement",
    "wasserstein", "weighted_kappa", "wra", "xrr",
]  # fmt: skip
