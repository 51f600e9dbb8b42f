"""How far apart two points of a scale are: the distance δ with which alpha and XRR weight disagreement."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"] | Floats
"""The name of a level of measurement, or a matrix of distances between points."""

LEVELS = ("nominal", "ordinal", "interval")
MAX_MATRIX_POINTS = 1_000


def distances(level: Level, marginals: NDArray[Any], values: Floats | None = None) -> Floats:
    """Return δ, points × points.

    Parameters
    ----------
    level
        ``"nominal"``: 0 or 1. ``"interval"``: the squared difference of values. ``"ordinal"``: the squared
        difference of :func:`mid_ranks`. A matrix is used as it is.
    marginals
        How often each point was used, (…, points). Ordinal distances depend on it and have its leading dimensions.
    values
        The number of each point, 0, 1, 2, … by default; only interval distances use them.
    """
    n_points = marginals.shape[-1]
    if not isinstance(level, str):
        return level
    if level == "nominal":
        return 1.0 - np.eye(n_points)
    if level == "ordinal":
        numbers = mid_ranks(marginals)
    else:
        numbers = np.arange(n_points, dtype=float) if values is None else values
    difference: Floats = numbers[..., :, None] - numbers[..., None, :]
    return difference**2


def mid_ranks(marginals: NDArray[Any]) -> Floats:
    """Return the mean rank of the ratings on each point: r_k − r_c = Σ_{g=c..k} n_g − (n_c + n_k)/2."""
    ranks: Floats = np.cumsum(marginals, axis=-1) - marginals / 2
    return ranks
