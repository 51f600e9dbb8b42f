"""Items to look at: those that divide groups, and those that deserve more ratings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.domain.axis import names_raters
from plurivox.domain.ratings import Ratings
from plurivox.engine.counting import weighted_counts_of
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.exchange import Entanglement, Exchange
from plurivox.infer.families import most_shuffles
from plurivox.infer.grouping import Compared, Grouping, compared, named_axes, overlapping_axes
from plurivox.infer.stopping import ALL_DRAWS, Looks, Plan
from plurivox.infer.weighting import tells_unweighted, weights_in
from plurivox.lenses.items.dividing import NOTHING, Family, family
from plurivox.lenses.items.result import Items
from plurivox.lenses.items.rows import differences, divided
from plurivox.lenses.items.settings import ItemsSettings
from plurivox.lenses.soft.matching import Prior, prior_words, resolve_prior
from plurivox.statistics.posterior import information_gain, mean_interval, ratings_needed
from plurivox.statistics.soft import posterior_mean

OUT_OF_REACH = 2.0**53
TESTED = ("p_value", "p_adjusted")


@keywords(ItemsSettings, weights=True)
def items(ratings: Ratings, *, settings: ItemsSettings, how: Running) -> Items:
    """Find the items that divide groups, and those about which one more rating would reveal most.

    Means are of the scale's values. A group and its rest, the other raters of its axis, are compared on every item that
    has two ratings or more from both. With s² the item's variance over the axis, stabilised by the pooled one::

        z = D / (s · √(1/n_g + 1/n_r))        p_adjusted = (1 + #{largest |z*| ≥ |z|}) / (1 + permutations)

    Whole rater profiles are shuffled between groups, and every difference is compared with the largest ``|z*|`` over
    all items, groups and axes of each shuffle: of studies without any difference, at most 5 in 100 have one item or
    more below .05. Since the largest of many differences is too large, ``shrunken`` pulls each towards the group's
    difference over all items, as far as it is noise; there is no interval, which a selected difference cannot have.

    Examples
    --------
    >>> import plurivox as pv
    >>> effect = pv.Effect({"gender": "Woman"}, shared_sd=2.0)
    >>> study = pv.simulate(n_items=50, n_raters=60, effects=[effect], seed=1)
    >>> pv.items(study.ratings, by="gender", permutations=99).divided["p_adjusted"][0] < 0.05
    True
    """
    by, whole = () if settings.uncertain else settings.by, ratings
    ratings = whole.unweighted()  # all raters count equally in what divides groups
    axes = compared(ratings, by, overlapping_axes(by, settings.several, pairs=False), settings.min_group_size)
    exchange = Exchange.of(ratings, settings.within if by else None)
    found, rows = _decided(ratings, axes, exchange, settings, how)
    listed = divided(ratings, found, rows, settings.min_group_size)
    values = np.array(ratings.scale.values)
    counts = ratings.counts()
    chosen = resolve_prior(settings.prior, counts, None)
    precision = (values[-1] - values[0]) / 10 if settings.precision is None else settings.precision
    asked = {
        **settings.as_dict(), "by": named_axes([one.axis.attributes for one in axes]), **_tested(found),
        "n_unlisted": rows.height - listed.height, "least_p": _least(rows),
        "design": {**exchange.as_dict(), "axes": _design(ratings, axes, exchange, settings, how)},
        "points": [str(label) for label in ratings.scale.labels], "prior": chosen.weights.tolist(),
        "prior_note": prior_words(chosen, counts.sum(axis=1)), "precision": float(precision),
        **weights_in(whole, settings.min_group_size),
    }  # fmt: skip
    ids, weighed = ratings.items["item"].cast(pl.String), None
    if tells_unweighted(whole, settings.min_group_size):
        weighed = weighted_counts_of(whole)[:, 0]
    uncertain = _uncertain(ids, counts, values, chosen, precision, weighed)
    told = listed.filter(pl.col("note") != "")["item"]  # claims about few raters, next to which no scores are shown
    uncertain = uncertain.filter(~pl.col("item").is_in(told.implode()))
    return Items(listed, uncertain, asked, ratings.items, counts, found.null.largest, weighed)


def _decided(
    ratings: Ratings, axes: list[Compared], exchange: Exchange, settings: ItemsSettings, how: Running
) -> tuple[Family, pl.DataFrame]:
    """Shuffle until each corrected p-value is on one side of .05, or as often as allowed; return all rows."""
    asked, seed = settings.permutations, settings.seed
    looks = Looks.of(asked, n_lenses=settings.n_lenses) if settings.stop_early else ALL_DRAWS
    plan = Plan(asked, most_shuffles(asked, settings.max_permutations), settings.n_lenses, looks)
    found = family(ratings, axes, exchange.strata, Draws.permuted(0, seed), how) if axes else NOTHING
    made, rows = 0, differences(ratings, found)
    looked: list[list[NDArray[np.float64]]] = []
    while not plan.enough([adjusted for _, adjusted in looked], made):
        wanted = plan.after(made)
        draws = Draws.permuted(wanted, seed).between(made, wanted)
        found, made = found.further(ratings, draws, how.doing("items")), wanted
        rows = differences(ratings, found)
        looked.append([rows[name].fill_null(math.nan).to_numpy() for name in TESTED])
    for name, p in zip(TESTED, zip(*looked, strict=True), strict=False):  # none without permutations
        rows = rows.with_columns(pl.Series(name, looks.told(p, made), nan_to_null=True))
    return found, rows


def _design(
    ratings: Ratings, axes: list[Compared], exchange: Exchange, settings: ItemsSettings, how: Running
) -> dict[str, dict[str, Any]]:
    """Return for each axis how far the assignment depends on its groups, unless blocks take care of it."""
    found: dict[str, Entanglement | None] = {}
    for one in axes:
        for axis, _ in one.shown if not names_raters(one.axis.name) else ():
            grouping = Grouping.of(ratings, axis.codes, len(axis), exchange.strata)
            found[one.axis.name] = exchange.check(
                ratings, grouping, settings.permutations, settings.seed, how.doing("design"), found.get(one.axis.name),
                stop_early=settings.stop_early,
            )  # fmt: skip
    return {name: one.as_dict() for name, one in found.items() if one is not None}


def _least(rows: pl.DataFrame) -> dict[str, float | None]:
    """Return the smallest corrected p-value of each axis."""
    return dict(rows.group_by("axis", maintain_order=True).agg(pl.col("p_adjusted").min()).iter_rows())


def _tested(found: Family) -> dict[str, Any]:
    """Return how many comparisons there were, whose groups could not be shuffled, and what chance gives."""
    largest = found.null.largest
    chance = {"median": float(np.median(largest)), "95 %": float(np.quantile(largest, 0.95))} if len(largest) else None
    return {
        "n_permutations": found.draws,
        "n_comparisons": found.n_comparisons,
        "unmoved": list(found.unmoved),
        "largest_z_by_chance": chance,
    }


def _uncertain(
    ids: pl.Series, counts: NDArray[np.int64], values: NDArray[np.float64], chosen: Prior, precision: float,
    weighed: NDArray[np.float64] | None = None,
) -> pl.DataFrame:  # fmt: skip
    """Return what is known about each item; with weights, what the population would say and the panel's own mean."""
    n, prior, weighted = counts.sum(axis=1), chosen.weights, weighed is not None
    held: NDArray[Any] = counts if weighed is None else weighed
    total = held.sum(axis=1)
    share = held / (np.where(n > 0, total, 1.0) if weighted else np.maximum(n, 1))[:, np.newaxis]
    with np.errstate(divide="ignore", invalid="ignore"):  # 0 · ln 0 is 0, and 0/0 the intended NaN
        entropy = 0.0 - np.where(held > 0, share * np.log(share), 0.0).sum(axis=1)
        mean, plain = (np.einsum("ic,c->i", own, values) / own.sum(axis=1) for own in (held, counts))
    low, high = mean_interval(held, values, prior, weighted=weighted)
    needed = ratings_needed(held, precision, values, prior, weighted=weighted)
    needed = n + np.ceil(needed - total - 1e-6) if weighted else needed
    posterior = (held + prior) / (total + prior.sum())[:, np.newaxis] if weighted else posterior_mean(counts, prior)
    frame = pl.DataFrame(
        {
            "item": ids, "n_ratings": n, "mean": mean,
            "expected_mean": np.einsum("ic,c->i", posterior, values), "ci_low": low, "ci_high": high,
            "prior_share": chosen.share(total), "information_gain": information_gain(held, prior, weighted=weighted),
            "ratings_needed": pl.Series(np.where(needed < OUT_OF_REACH, needed, np.nan)).fill_nan(None).cast(pl.Int64),
            "entropy": entropy, **({"unweighted_mean": pl.Series(plain, nan_to_null=True)} if weighted else {}),
        }
    )  # fmt: skip
    unrated = pl.col("n_ratings") == 0
    gain = pl.col("information_gain").round(12)  # equal up to rounding: the wider interval first
    return frame.with_columns(pl.when(~unrated).then("mean"), pl.when(~unrated).then("entropy")).sort(
        gain, (pl.col("ci_high") - pl.col("ci_low")).round(9), "item", descending=[True, True, False]
    )
