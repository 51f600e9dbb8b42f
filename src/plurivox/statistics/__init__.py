"""Statistics as pure functions, counts in and a number out, and their registry; may use numpy and ``errors`` only."""

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
from plurivox.statistics.undefined import undefined_reason

__all__ = [
    "STATISTICS",
    "Statistic",
    "ac1",
    "ac2",
    "cross_negentropy",
    "gai",
    "krippendorff_alpha",
    "negentropy",
    "percent_agreement",
    "plurality_size",
    "undefined_reason",
    "voting_agreement",
    "xrr",
]
