"""Items to look at: those that divide groups, and those that deserve more ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from plurivox.axis import MIN_GROUP_SIZE, Axis, By
from plurivox.engine.counting import counts_of
from plurivox.engine.grouping import each_axis, named_axes
from plurivox.engine.intervals import NORMAL_95
from plurivox.errors import SelectionError
from plurivox.intake.attributes import places_of
from plurivox.lenses.soft.matching import resolve_prior
from plurivox.ratings import Ratings
from plurivox.statistics.posterior import information_gain, mean_interval, ratings_needed, share_interval
from plurivox.statistics.soft import posterior_mean

BLOCK = 8192
OUT_OF_REACH = 2.0**53


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False, repr=False)
class Items:
    """Items worth a look.

    Attributes
    ----------
    divided
        One row per item and axis on which at least two groups gave enough ratings, the clearest difference first:
        the groups with the lowest and the highest mean, both means, their difference with a 95 % interval, how many
        ratings each rests on, and ``z``, the difference in standard errors.
    uncertain
        One row per item, those that one more rating tells most about first: ``n_ratings``, their ``mean`` and
        ``entropy`` in nats; given the prior and the ratings, the ``expected_mean`` of the scores that all raters would
        give, with its 95 % credible interval ``ci_low`` to ``ci_high``; ``information_gain``, what one more rating is
        expected to tell, in nats; and ``ratings_needed``, how many ratings it takes in all until the interval is
        expected to be no wider than the mean ± ``settings["precision"]``, null if out of reach.
    settings
        What was asked for; ``prior`` is the weight of each point.
    """

    divided: pl.DataFrame
    uncertain: pl.DataFrame
    settings: dict[str, Any]
    _ids: pl.Series
    _counts: NDArray[np.int64]

    def __repr__(self) -> str:
        return f"<Items: {self.uncertain.height:,} items, {self.divided['item'].n_unique():,} rated by several groups>"

    def distributions(self, items: Sequence[str] | None = None) -> pl.DataFrame:
        """Return the expected share of each point, with its 95 % credible interval, for some items or all.

        One row per ``item`` and ``point``: ``n_ratings`` that gave the point, ``probability``, ``ci_low``, ``ci_high``.
        """
        places = np.arange(len(self._ids))
        if items is not None:
            wanted = [items] if isinstance(items, str) else [str(item) for item in items]
            places = places_of(pl.Series(wanted, dtype=pl.String), self._ids)
            if (places < 0).any():
                unknown = wanted[int(np.flatnonzero(places < 0)[0])]
                raise SelectionError(f"there is no item {unknown!r}", hint="uncertain lists the items.")
        counts, points = self._counts[places], self.settings["points"]
        prior = np.array(self.settings["prior"])
        low, high = share_interval(counts, prior)
        return pl.DataFrame(
            {
                "item": np.repeat(self._ids.gather(places).to_numpy(), len(points)), "point": points * len(places),
                "n_ratings": counts.ravel(), "probability": posterior_mean(counts, prior).ravel(),
                "ci_low": low.ravel(), "ci_high": high.ravel(),
            },
            schema_overrides={"item": pl.String, "point": pl.String},
        )  # fmt: skip


def items(
    ratings: Ratings,
    by: By | Sequence[By] = (),
    *,
    several: Mapping[str, str] | None = None,
    prior: ArrayLike | str = 1.0,
    precision: float | None = None,
    min_group_size: int = MIN_GROUP_SIZE,
) -> Items:
    """Find the items that divide groups most, and those that one more rating would tell most about.

    Means are of the scale's values. Groups are compared on an item where each has at least ``min_group_size`` ratings
    of it, which also keeps single raters from being recognised; the standard error of a group's mean is that of a
    posterior with one rating's worth of prior spread over the points, so that three equal ratings are not taken for
    certainty. Of many items some differ by chance: this is a list to look at, not a test.

    Parameters
    ----------
    ratings
        Who rated what.
    by
        Rater attributes and crossings of several, as in :func:`plurivox.cohesion`.
    several
        Attributes of which a rater may have several values; they are left out here, since such groups overlap.
    prior
        The weight of each point before any rating: a number, one for each point, or ``"empirical-bayes"``.
    precision
        How far, in units of the scale, the mean score should be known on either side; by default a tenth of the way
        from the lowest point to the highest.
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
    for one in axes_by:
        axis = Axis.of(ratings, one, min_group_size=min_group_size)
        if axis.attributes != ("rater",) and len(axis.shown) > 1:
            divided += [
                _divided(ratings, axis, values, start, min(start + BLOCK, ratings.n_items), min_group_size)
                for start in range(0, ratings.n_items, BLOCK)
            ]
    order = pl.concat(divided).sort("z", "item", "axis", descending=[True, False, False])
    counts = ratings.counts()
    chosen = resolve_prior(prior, counts, None)
    wanted = (values[-1] - values[0]) / 10 if precision is None else precision
    settings = {
        "by": named_axes(axes_by), "min_group_size": min_group_size,
        "points": [str(label) for label in ratings.scale.labels], "prior": chosen.weights.tolist(),
        "precision": float(wanted),
    }  # fmt: skip
    ids = ratings.items["item"].cast(pl.String)
    return Items(order, _uncertain(ids, counts, values, chosen.weights, wanted), settings, ids, counts)


_DIVIDED = {
    "item": pl.String, "axis": pl.String, "low_group": pl.String, "high_group": pl.String, "low_mean": pl.Float64,
    "high_mean": pl.Float64, "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "n_low": pl.Int64,
    "n_high": pl.Int64, "z": pl.Float64,
}  # fmt: skip


def _divided(
    ratings: Ratings, axis: Axis, values: NDArray[np.float64], start: int, stop: int, least: int
) -> pl.DataFrame:
    shown = np.flatnonzero(~axis.withheld)
    counts = counts_of(ratings, axis, start, stop)[:, shown]
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
