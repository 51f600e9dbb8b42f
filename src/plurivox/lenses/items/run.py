"""Items to look at: those that divide groups, and those that deserve more ratings."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.counting import counts_of
from plurivox.engine.grouping import compared, named_axes
from plurivox.engine.intervals import NORMAL_95
from plurivox.engine.running import Running
from plurivox.engine.withholding import comparable
from plurivox.lenses.items.result import Items
from plurivox.lenses.items.settings import ItemsSettings
from plurivox.lenses.soft.matching import resolve_prior
from plurivox.ratings import Ratings
from plurivox.settings import keywords
from plurivox.statistics.posterior import information_gain, mean_interval, ratings_needed
from plurivox.statistics.soft import posterior_mean

BLOCK = 8192
OUT_OF_REACH = 2.0**53


@keywords(ItemsSettings)
def items(ratings: Ratings, *, settings: ItemsSettings, how: Running) -> Items:
    """Find the items that divide groups most, and those that one more rating would tell most about.

    Means are of the scale's values. Groups are compared on an item where each has at least ``min_group_size`` ratings
    of it, which also keeps single raters from being recognised; the standard error of a group's mean is that of a
    posterior with one rating's worth of prior spread over the points, so that three equal ratings are not taken for
    certainty. Of many items some differ by chance: this is a list to look at, not a test.

    Examples
    --------
    >>> import plurivox as pv
    >>> effect = pv.Effect({"gender": "Woman"}, shared_sd=2.0)
    >>> study = pv.simulate(n_items=50, n_raters=60, effects=[effect], seed=1)
    >>> pv.items(study.ratings, by="gender").divided["high_group"][0] in ("Man", "Woman")
    True
    """
    by = () if settings.uncertain else settings.by
    found = compared(ratings, by, settings.several, settings.min_group_size)
    axes = [one.axis for one in found if not one.overlapping]
    values = np.array(ratings.scale.values)
    divided = [pl.DataFrame(schema=_DIVIDED)]
    for axis in axes:
        if axis.attributes != ("rater",) and len(axis.shown) > 1:
            divided += [
                _divided(ratings, axis, values, start, min(start + BLOCK, ratings.n_items))
                for start in range(0, ratings.n_items, BLOCK)
            ]
    order = pl.concat(divided).sort("z", "item", "axis", descending=[True, False, False])
    counts = ratings.counts()
    chosen = resolve_prior(settings.prior, counts, None)
    precision = (values[-1] - values[0]) / 10 if settings.precision is None else settings.precision
    asked = {
        **settings.as_dict(), "by": named_axes([axis.attributes for axis in axes]),
        "points": [str(label) for label in ratings.scale.labels], "prior": chosen.weights.tolist(),
        "precision": float(precision),
    }  # fmt: skip
    ids = ratings.items["item"].cast(pl.String)
    return Items(order, _uncertain(ids, counts, values, chosen.weights, precision), asked, ids, counts)


_DIVIDED = {
    "item": pl.String, "axis": pl.String, "low_group": pl.String, "high_group": pl.String, "low_mean": pl.Float64,
    "high_mean": pl.Float64, "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n_low": pl.Int64,
    "n_high": pl.Int64, "z": pl.Float64,
}  # fmt: skip


def _divided(ratings: Ratings, axis: Axis, values: NDArray[np.float64], start: int, stop: int) -> pl.DataFrame:
    """Return, of some items, the groups of an axis with the lowest and the highest mean."""
    shown = np.flatnonzero(~axis.withheld)
    counts = counts_of(ratings, axis, start, stop)[:, shown]
    mean, variance = _mean_and_variance(counts, values)
    n = counts.sum(axis=2)
    enough = comparable(n, axis.min_group_size)
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


def _uncertain(
    ids: pl.Series, counts: NDArray[np.int64], values: NDArray[np.float64], prior: NDArray[np.float64], precision: float
) -> pl.DataFrame:
    n = counts.sum(axis=1)
    share = counts / np.maximum(n, 1)[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 · ln 0 is 0, and 0/0 the NaN that is meant
        entropy = 0.0 - np.where(counts > 0, share * np.log(share), 0.0).sum(axis=1)
        mean = np.einsum("ic,c->i", counts, values) / n
    low, high = mean_interval(counts, values, prior)
    needed = ratings_needed(counts, precision, values, prior)
    frame = pl.DataFrame(
        {
            "item": ids, "n_ratings": n, "mean": mean,
            "expected_mean": np.einsum("ic,c->i", posterior_mean(counts, prior), values), "ci_low": low,
            "ci_high": high, "information_gain": information_gain(counts, prior),
            "ratings_needed": pl.Series(np.where(needed < OUT_OF_REACH, needed, np.nan)).fill_nan(None).cast(pl.Int64),
            "entropy": entropy,
        }
    )  # fmt: skip
    unrated = pl.col("n_ratings") == 0
    gain = pl.col("information_gain").round(12)  # equal but for rounding: the wider interval first
    return frame.with_columns(pl.when(~unrated).then("mean"), pl.when(~unrated).then("entropy")).sort(
        gain, (pl.col("ci_high") - pl.col("ci_low")).round(9), "item", descending=[True, True, False]
    )


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
