"""Intervals of shares."""

from __future__ import annotations

import math

from plurivox.engine.bootstrap import NORMAL_95


def wilson(share: float, n: float, z: float = NORMAL_95) -> tuple[float, float]:
    """Return Wilson's interval of a share of n trials, of 95 % unless another normal quantile is given.

    References
    ----------
    Wilson (1927), Probable inference, the law of succession, and statistical inference.

    Examples
    --------
    >>> low, high = wilson(0.0, 10)
    >>> round(low, 3), round(high, 3)
    (0.0, 0.278)
    """
    square = z**2
    centre = (share + square / (2 * n)) / (1 + square / n)
    reach = z / (1 + square / n) * math.sqrt(max(share * (1 - share), 0.0) / n + square / (4 * n * n))
    return max(0.0, centre - reach), min(1.0, centre + reach)
