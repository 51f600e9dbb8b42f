"""Statistics as pure functions, counts in and a number out, and their registry; may use ``errors`` only.

Of other packages, numpy and ``scipy.special``.
"""

from __future__ import annotations

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
from plurivox.statistics.registry import STATISTICS, Statistic
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
    "STATISTICS",
    "Statistic",
    "ac1",
    "ac2",
    "auroc",
    "average_precision",
    "cross_entropy",
    "cross_negentropy",
    "emd",
    "expected_cross_entropy",
    "expected_emd",
    "expected_entropy",
    "expected_js",
    "expected_kl",
    "expected_rps",
    "gai",
    "harmonic_mean",
    "js",
    "kendall_tau_b",
    "kl",
    "krippendorff_alpha",
    "mpa",
    "mpa_raw",
    "negentropy",
    "percent_agreement",
    "plurality_size",
    "posterior_mean",
    "precision",
    "recall",
    "rps",
    "spearman_rho",
    "undefined_reason",
    "voting_agreement",
    "wra",
    "xrr",
]
