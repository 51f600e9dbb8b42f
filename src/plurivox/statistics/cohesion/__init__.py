"""How much a group agrees with itself and with others. A new statistic is one file here, with its ``RECORDS``."""

from __future__ import annotations

from plurivox.statistics.cohesion.functions import (
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

__all__ = [
    "ac1", "ac2", "cross_negentropy", "gai", "krippendorff_alpha", "negentropy", "percent_agreement", "plurality_size",
    "voting_agreement", "xrr",
]  # fmt: skip
