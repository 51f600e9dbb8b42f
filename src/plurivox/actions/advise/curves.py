"""Precision at each score, with its error."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class PrecisionCurve(NamedTuple):
    """Precision at each score, with its standard error and the number of items it is based on; NaN where unused."""

    precision: Floats
    error: Floats
    n_items: Floats


def curve_of(point: NDArray[np.int64], share: Floats, ones: Floats, total: Floats, n_points: int) -> PrecisionCurve:
    """Return the precision at each score of one member, from its scores of items and the reference ratings they meet.

    Items are treated as drawn at random: of a score's items with reference ratings n_i, of which u_i are unsafe, the
    error of Σu/Σn is √Σ(u_i − P·n_i)² / Σn, with m/(m − 1) for m items.
    """
    met = total > 0
    point, share, ones, total = point[met], share[met], ones[met], total[met]
    weight = np.bincount(point, share * total, n_points)
    n_items = np.bincount(point, share, n_points).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.bincount(point, share * ones, n_points) / weight
        off = share * (ones - precision[point] * total)
        spread = np.bincount(point, off**2, n_points)
        error = np.sqrt(spread * n_items / np.maximum(n_items - 1, 0.0)) / weight
    known = n_items > 1
    return PrecisionCurve(np.where(known, precision, np.nan), np.where(known, error, np.nan), n_items)
