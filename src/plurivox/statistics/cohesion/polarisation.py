"""Polarisation: how far the ratings of an item are from having a single peak.

A sum over items, then a finish: an item adds its own distance from unimodality, and the finish is the mean.

================ ======= =================================== ==================
contribution     parts   layout                              items that count
================ ======= =================================== ==================
ndfu_parts       2       distance from unimodality; 1        m ≥ 2
================ ======= =================================== ==================
"""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from plurivox.statistics.checks import counts_of
from plurivox.statistics.cohesion.parts import Counts, ratio
from plurivox.statistics.cohesion.sums import mean_of, paired, why_unpaired
from plurivox.statistics.levels import Floats
from plurivox.statistics.records import About, Statistic


def ndfu(counts: ArrayLike) -> float:
    """Return the mean normalised distance from unimodality (nDFU) over items with at least two ratings.

    nDFU_i is the largest rise of n_ic from a point to the next while moving away from the mode, divided by the mode's
    own count: max(0, max_{c ≥ mode} n_{c+1} − n_c, max_{c ≤ mode} n_{c−1} − n_c)/max_c n_c. ``counts`` are n_ic, how
    many raters gave item i the point c of an ordered scale.

    0 if the ratings of every item fall off on both sides of one peak; 1 if those of every item have an equally high
    second peak next to a point that nobody chose. NaN if no item has two ratings. An item with one rating always has
    one peak and says nothing, so it is left out.

    If several points are modes, the result is the largest that any of them gives. The authors' code uses the lowest
    mode. The two differ for 3, 0, 1, 3: the rise is 2 seen from the left, 3 from the right. The largest is the same
    when the scale is reversed. Up to three points, the choice of mode makes no difference.

    References
    ----------
    Pavlopoulos and Likas (2024), Polarized Opinion Detection Improves the Detection of Toxic Language; the same
    (2023), Distance from Unimodality for the Assessment of Opinion Polarization.

    Examples
    --------
    >>> ndfu([[4, 0, 0, 4], [1, 3, 2, 0], [4, 1, 2, 1]])  # the mean of 1, 0 and 1/4
    0.4166666666666667
    """
    return float(ratio(*ndfu_parts(counts_of("counts", counts)).sum(axis=0)))


def distance_from_unimodality(counts: Counts) -> Floats:
    """Return the nDFU of each histogram (…, L) → (…), 0 where nobody rated.

    If there are several modes, the lowest sees all upward rises that any of them sees, and the highest all downward
    ones.
    """
    n = np.asarray(counts, dtype=float)
    n_points = n.shape[-1]
    top = n.max(axis=-1, keepdims=True)
    lowest = np.argmax(n == top, axis=-1)[..., None]
    highest = n_points - 1 - np.argmax(n[..., ::-1] == top, axis=-1)[..., None]
    step, at = np.diff(n, axis=-1), np.arange(n_points - 1)
    upwards = np.where(at >= lowest, step, 0.0)
    downwards = np.where(at < highest, -step, 0.0)
    rise: Floats = np.maximum(upwards, downwards).max(axis=-1, initial=0.0)
    return rise / np.where(top[..., 0] > 0, top[..., 0], 1.0)


def ndfu_parts(counts: Counts, *, self_pairs: Counts | None = None) -> Floats:
    """Contribute nDFU and 1 if W² > Q; (items, …, 2).

    ``self_pairs`` Q (items, …) is Σw² in a bootstrap over raters, m by default; see
    :mod:`~plurivox.statistics.cohesion.sums`. Copies of one rater are one rating, so such an item does not count; its
    nDFU is 0.
    """
    return np.stack([distance_from_unimodality(counts), paired(counts, self_pairs).pairs > 0], axis=-1)


# The record ----------------------------------------------------------------------------------------------------------


def _parts(counts: Counts, self_pairs: Counts | None, about: About) -> Floats:
    return ndfu_parts(counts, self_pairs=self_pairs)


RECORDS = (
    Statistic(
        name="ndfu", label="nDFU", function=ndfu, needs="group", range=(0.0, 1.0), role="beside", order=180,
        contribution=_parts, finish=partial(mean_of, "ndfu"), why=partial(why_unpaired, "ndfu"),
        equation="mean_i max(0, largest rise of n_ic away from the mode)/max_c n_ic",
        meaning="how far the ratings of an item are, on average, from having a single peak (normalised distance from "
        "unimodality)",
        higher_means="more polarised ratings",
        reference="Pavlopoulos and Likas (2024), Polarized Opinion Detection Improves the Detection of Toxic Language",
    ),
)  # fmt: skip
