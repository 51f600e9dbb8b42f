"""Items to look at: those that divide groups, and those that deserve more ratings."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.domain.axis import CROSS, withheld_on_items
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws, weighted_counts_of
from plurivox.engine.pool import Running
from plurivox.infer.call import Call
from plurivox.infer.claims import tells_unweighted, weights_in
from plurivox.infer.families import SIGNIFICANT, DrawPlan, most_shuffles
from plurivox.infer.grouping import named_axes
from plurivox.infer.lens import keywords
from plurivox.lenses.items import ItemsSettings
from plurivox.lenses.items.dividing import NOTHING, TOLERANCE, DividingCandidates, family, prior_of, shrunken
from plurivox.lenses.items.result import Items
from plurivox.lenses.soft.matching import Prior, prior_words, resolve_prior
from plurivox.statistics.posterior import information_gain, mean_interval, ratings_needed
from plurivox.statistics.soft import posterior_mean

# Rows of the items that divide groups ---------------------------------------------------------------------------------

DIVIDED = {
    "item": pl.String, "axis": pl.String, "group": pl.String, "direction": pl.String, "mean_group": pl.Float64,
    "mean_rest": pl.Float64, "difference": pl.Float64, "shrunken": pl.Float64, "n_group": pl.Int64, "n_rest": pl.Int64,
    "z": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64, "note": pl.String,
}  # fmt: skip
FEW = "withheld except for the rounded, shrunken difference, since the rest would reveal what few raters said"
_INTERNAL = {"_extent": pl.Float64, "_side": pl.Int64, "_place": pl.Int64}
_WITHHELD = ("mean_group", "mean_rest", "difference", "n_group", "n_rest", "z", "p_value")

Floats = NDArray[np.float64]


def differences(ratings: Ratings, found: DividingCandidates) -> pl.DataFrame:
    """Return for each item and axis the group that stands out, with everything known about it."""
    frames = [pl.DataFrame(schema={**DIVIDED, **_INTERNAL})]
    frames += [_side_rows(ratings, found, at) for at in range(len(found.sides))]
    rows = pl.concat(frames)
    if len({side.axis.name for side in found.sides}) < len(found.sides):  # values of one attribute: only one stays
        rows = rows.sort("_extent", descending=True, maintain_order=True)
        rows = rows.unique(["item", "axis"], keep="first", maintain_order=True)
    return rows


def divided(ratings: Ratings, found: DividingCandidates, rows: pl.DataFrame, least: int) -> pl.DataFrame:
    """Return rows as they may be shown, the clearest first.

    Some rows, together or with the distribution of the item, would reveal what fewer than ``least`` raters of it said.
    Of these, claims are shown without their numbers, and then nothing else of the item is; the others are left out.
    """
    few, claimed = pl.Series(_telling(ratings, found, rows, least)), (rows["p_adjusted"] < SIGNIFICANT).fill_null(False)
    few |= rows["item"].is_in(rows["item"].filter(few & claimed).implode())
    length = ratings.scale.values[-1] - ratings.scale.values[0]
    # Withheld differences are rounded to a tenth, or on scales of length 40 and more to a power of ten.
    step = float(max(0.1, 10.0 ** math.floor(math.log10(length / 40))))
    rounded = (pl.col("shrunken") / step).round() * step + 0.0  # not -0.0
    rows = rows.with_columns(
        *(pl.when(~few).then(pl.col(name)).alias(name) for name in _WITHHELD),
        pl.when(few).then(rounded.round(6)).otherwise("shrunken").alias("shrunken"),
        pl.when(few).then(pl.lit(FEW)).otherwise("note").alias("note"),
    ).filter(~few | claimed)
    order = [pl.col("p_adjusted"), pl.col("z").abs(), pl.col("item"), pl.col("axis")]
    return rows.drop(_INTERNAL).sort(order, descending=[False, True, False, False], nulls_last=True)


def _side_rows(ratings: Ratings, found: DividingCandidates, at: int) -> pl.DataFrame:
    """Return the rows of one axis."""
    side = found.sides[at]
    rows = np.flatnonzero(side.group >= 0)
    signed = side.signed[rows]
    z = np.sign(signed) * np.sqrt(np.abs(signed))
    n_group, n_rest = side.n_group[rows], (side.n - side.n_group)[rows]
    total, base = side.total_group[rows], ratings.scale.values[0]
    pulled = shrunken(side, prior_of(found.observed[at], found.null.sums[at]))[rows]
    swap = side.mirrored & (signed < 0)  # of two groups, the one that rates higher is named
    group = np.where(swap, 1 - side.group[rows], side.group[rows])
    sign = np.where(swap, -1.0, 1.0)
    means = base + np.stack([total / n_group, (side.total[rows] - total) / n_rest])
    own, rest = np.where(swap, means[::-1], means)
    names = np.array(side.axis.groups, dtype=object)
    at_most, at_least, defined = found.null.ranks[at][rows].T.astype(np.float64)
    p = np.minimum(1.0, 2 * (np.minimum(at_most, at_least) + 1) / (defined + 1))  # as in infer.permutation.compare
    p = np.where(defined > 0, p, np.nan)
    n, ways = len(rows), [0.0 if abs(q) <= TOLERANCE else q for q in (sign * signed).tolist()]
    frame = pl.DataFrame({
        "item": ratings.items["item"].cast(pl.String).gather(rows), "axis": [side.axis.name] * n,
        "group": names[group].tolist(),
        "direction": [None if q == 0 else "higher" if q > 0 else "lower" for q in ways],
        "mean_group": own, "mean_rest": rest, "difference": own - rest, "shrunken": sign * pulled,
        "n_group": np.where(swap, n_rest, n_group), "n_rest": np.where(swap, n_group, n_rest),
        "z": sign * z, "p_value": p, "p_adjusted": found.p_adjusted(z, p), "note": [""] * n,
        "_extent": np.abs(z), "_side": [at] * n, "_place": rows,
    }, schema={**DIVIDED, **_INTERNAL})  # fmt: skip
    return frame.with_columns(pl.col("p_value", "p_adjusted").fill_nan(None))


def _telling(ratings: Ratings, found: DividingCandidates, rows: pl.DataFrame, least: int) -> NDArray[np.bool_]:
    """Return for each row whether its numbers, alone or with other rows, would reveal what few raters said."""
    if rows.is_empty():
        return np.zeros(0, dtype=bool)
    axes = sorted(rows["axis"].unique(), key=lambda name: (name.count(CROSS), name))
    axis = rows["axis"].replace_strict(axes, range(len(axes)), return_dtype=pl.Int64).to_numpy()
    items, place = np.unique(rows["_place"].to_numpy(), return_inverse=True)
    asked = np.zeros((len(axes), len(items)), dtype=bool)
    asked[axis, place] = True
    which = np.full(asked.shape, -1)
    which[axis, place] = rows["_side"].to_numpy()
    each = [ratings.of_items(one, one + 1) for one in items.tolist()]
    owner = np.repeat(np.arange(len(items)), [len(one.raters) for one in each])
    raters = np.concatenate([one.raters for one in each])
    sides = np.zeros((len(axes), len(raters)), dtype=np.int8)
    for at, side in enumerate(found.sides):
        own = side.axis.codes[raters]
        code = np.where(own == side.group[items][owner], 2, np.where(own >= 0, 1, 0)).astype(np.int8)
        sides = np.where(which[:, owner] == at, code, sides)
    withheld: NDArray[np.bool_] = withheld_on_items(owner, sides, asked, least)[axis, place]
    return withheld


# The call -------------------------------------------------------------------------------------------------------------

OUT_OF_REACH = 2.0**53


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
    call = Call.of(ratings, settings, how, by=by, exchanged=bool(by))
    found, rows = _decided(call, how)
    call.check_design(call.axes)
    listed, largest = divided(ratings, found, rows, settings.min_group_size), found.null.largest
    values = np.array(ratings.scale.values)
    counts = ratings.counts()
    chosen = resolve_prior(settings.prior, counts, None)
    precision = (values[-1] - values[0]) / 10 if settings.precision is None else settings.precision
    asked = {
        **settings.as_dict(), "by": named_axes([one.axis.attributes for one in call.axes]),
        "n_permutations": found.draws, "n_comparisons": found.n_comparisons, "unmoved": list(found.unmoved),
        "largest_z_by_chance": {
            "median": float(np.median(largest)), "95 %": float(np.quantile(largest, 0.95))
        } if len(largest) else None,
        "n_unlisted": rows.height - listed.height,
        "least_p": dict(rows.group_by("axis", maintain_order=True).agg(pl.col("p_adjusted").min()).iter_rows()),
        "design": call.inference.remembered(),
        "points": [str(label) for label in ratings.scale.labels], "prior": chosen.weights.tolist(),
        "prior_note": prior_words(chosen, counts.sum(axis=1)), "precision": float(precision),
        **weights_in(whole, settings.min_group_size),
    }  # fmt: skip
    weighed = weighted_counts_of(whole)[:, 0] if tells_unweighted(whole, settings.min_group_size) else None
    uncertain = _uncertain(ratings.items["item"].cast(pl.String), counts, values, chosen, precision, weighed)
    told = listed.filter(pl.col("note") != "")["item"]  # claims about few raters, next to which no scores are shown
    uncertain = uncertain.filter(~pl.col("item").is_in(told.implode()))
    return Items(listed, uncertain, asked, ratings.items, counts, largest, weighed)


def _decided(call: Call, how: Running) -> tuple[DividingCandidates, pl.DataFrame]:
    """Shuffle until each corrected p-value is on one side of .05, or as often as allowed; return all rows."""
    ratings, asked, seed = call.ratings, call.settings, call.settings.seed
    plan = DrawPlan(asked.permutations, most_shuffles(asked.permutations, asked.max_permutations), asked.n_lenses)
    strata = call.inference.exchange.strata
    found = family(ratings, call.axes, strata, Draws.permuted(0, seed), how) if call.axes else NOTHING
    rows = differences(ratings, found)

    def step(made: int, wanted: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        nonlocal found, rows
        found = found.further(ratings, Draws.permuted(wanted, seed).between(made, wanted), how.doing("items"))
        rows = differences(ratings, found)
        return rows["p_adjusted"].fill_null(math.nan).to_numpy(), np.zeros(0)

    plan.run(step)
    return found, rows


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
