"""Items to look at: those that divide groups, and those whose rating is least sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.axis import MIN_GROUP_SIZE, Axis, By
from plurivox.inference.bootstrap import NORMAL_95
from plurivox.lenses.calls import each_axis
from plurivox.ratings import Ratings
from plurivox.tallies import group_counts

BLOCK = 8192


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Items:
    """Items worth a look.

    Attributes
    ----------
    divided
        One row per item and axis on which at least two groups gave enough ratings, the clearest difference first:
        the groups with the lowest and the highest mean, both means, their difference with a 95 % interval, how many
        ratings each rests on, and ``z``, the difference in standard errors.
    uncertain
        One row per item, the least sure first: ``n_ratings``, ``mean``, its ``ci_low`` and ``ci_high``, the standard
        error ``se``, and ``entropy`` of the ratings in nats.
    """

    divided: pl.DataFrame
    uncertain: pl.DataFrame
    settings: dict[str, Any]

    def __repr__(self) -> str:
        return f"<Items: {self.uncertain.height:,} items, {self.divided['item'].n_unique():,} rated by several groups>"


def items(
    ratings: Ratings,
    by: By | Sequence[By] = (),
    *,
    several: Mapping[str, str] | None = None,
    min_group_size: int = MIN_GROUP_SIZE,
) -> Items:
    """Find the items that divide groups most, and those whose rating is least sure.

    Means are of the scale's values. Their standard error is that of a Dirichlet posterior with one rating's worth of
    prior spread over the points, so that three equal ratings are not taken for certainty. Groups are compared on an
    item where each has at least ``min_group_size`` ratings of it, which also keeps single raters from being recognised.
    Of many items some differ by chance: this is a list to look at, not a test.

    Parameters
    ----------
    ratings
        Who rated what.
    by
        Rater attributes and crossings of several, as in :func:`plurivox.cohesion`.
    several
        Attributes of which a rater may have several values; they are left out here, since such groups overlap.
    min_group_size
        Groups with fewer raters, or with fewer ratings of an item, are not compared.

    Examples
    --------
    >>> import plurivox as pv
    >>> effect = pv.Effect({"gender": "Woman"}, shared_sd=2.0)
    >>> study = pv.simulate(n_items=50, n_raters=60, effects=[effect], seed=1)
    >>> pv.items(study.ratings, by="gender").divided["high_group"][0] in ("Man", "Woman")
    True
    """
    axes_by = [one for one in each_axis(by) if not (isinstance(one, str) and one in (several or {}))]
    values = np.array(ratings.scale.values)
    divided = [pl.DataFrame(schema=_DIVIDED)]
    for one in axes_by if ratings.has_raters else ():
        axis = Axis.of(ratings, one, min_group_size=min_group_size)
        if axis.attributes != ("rater",) and len(axis.shown) > 1:
            divided += [
                _divided(ratings, axis, values, start, min(start + BLOCK, ratings.n_items), min_group_size)
                for start in range(0, ratings.n_items, BLOCK)
            ]
    order = pl.concat(divided).sort("z", "item", "axis", descending=[True, False, False])
    settings = {
        "by": [[one] if isinstance(one, str) else list(one) for one in axes_by], "min_group_size": min_group_size
    }  # fmt: skip
    return Items(order, _uncertain(ratings, values), settings)


_DIVIDED = {
    "item": pl.String, "axis": pl.String, "low_group": pl.String, "high_group": pl.String, "low_mean": pl.Float64,
    "high_mean": pl.Float64, "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n_low": pl.Int64,
    "n_high": pl.Int64, "z": pl.Float64,
}  # fmt: skip


def _divided(
    ratings: Ratings, axis: Axis, values: NDArray[np.float64], start: int, stop: int, least: int
) -> pl.DataFrame:
    shown = np.flatnonzero(~axis.withheld)
    counts = group_counts(ratings, axis, start, stop)[:, shown]
    mean, variance = _mean_and_variance(counts, values)
    n = counts.sum(axis=2)
    enough = n >= max(least, 1)
    rows = np.flatnonzero(enough.sum(axis=1) > 1)
    low = np.where(enough, mean, np.inf).argmin(axis=1)[rows]
    high = np.where(enough, mean, -np.inf).argmax(axis=1)[rows]
    difference = mean[rows, high] - mean[rows, low]
    error = np.sqrt(variance[rows, high] + variance[rows, low])
    names = np.array([axis.groups[g] for g in shown], dtype=object)
    return pl.DataFrame(
        {
            "item": ratings.items["item"].cast(pl.String).gather(start + rows),
            "axis": [axis.name] * len(rows),
            "low_group": names[low].tolist(),
            "high_group": names[high].tolist(),
            "low_mean": mean[rows, low],
            "high_mean": mean[rows, high],
            "difference": difference,
            "ci_low": difference - NORMAL_95 * error,
            "ci_high": difference + NORMAL_95 * error,
            "n_low": n[rows, low],
            "n_high": n[rows, high],
            "z": difference / error,
        },
        schema=_DIVIDED,
    )


def _uncertain(ratings: Ratings, values: NDArray[np.float64]) -> pl.DataFrame:
    counts = ratings.counts()
    mean, variance = _mean_and_variance(counts, values)
    n = counts.sum(axis=1)
    share = counts / np.maximum(n, 1)[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 · ln 0 is 0
        entropy = -np.where(counts > 0, share * np.log(share), 0.0).sum(axis=1)
    error = np.sqrt(variance)
    frame = pl.DataFrame(
        {
            "item": ratings.items["item"].cast(pl.String), "n_ratings": n, "mean": mean,
            "ci_low": np.maximum(mean - NORMAL_95 * error, values[0]),
            "ci_high": np.minimum(mean + NORMAL_95 * error, values[-1]), "se": error, "entropy": entropy,
        }
    )  # fmt: skip
    return frame.filter(pl.col("n_ratings") > 0).sort("se", "item", descending=[True, False])


def _mean_and_variance(
    counts: NDArray[np.int64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the mean of the ratings, and the variance of the mean under the posterior; NaN mean without a rating."""
    n = counts.sum(axis=-1)
    posterior = counts + 1 / len(values)
    total = n + 1.0
    centre = posterior @ values / total
    spread = posterior @ values**2 / total - centre**2
    with np.errstate(invalid="ignore", divide="ignore"):  # 0/0 is the NaN that is meant
        mean = counts @ values / n
    return mean, np.maximum(spread, 0.0) / (total + 1)
