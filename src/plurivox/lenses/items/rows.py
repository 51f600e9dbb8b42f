"""Rows of the items that divide groups."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.domain.axis import CROSS, withheld_on_items
from plurivox.domain.ratings import Ratings
from plurivox.infer.families import SIGNIFICANT
from plurivox.lenses.items.dividing import TOLERANCE, Family
from plurivox.lenses.items.shrinking import prior_of, shrunken

DIVIDED = {
    "item": pl.String, "axis": pl.String, "group": pl.String, "direction": pl.String, "mean_group": pl.Float64,
    "mean_rest": pl.Float64, "difference": pl.Float64, "shrunken": pl.Float64, "n_group": pl.Int64, "n_rest": pl.Int64,
    "z": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64, "note": pl.String,
}  # fmt: skip
FEW = "withheld except for the rounded, shrunken difference, since the rest would reveal what few raters said"
_INTERNAL = {"_extent": pl.Float64, "_side": pl.Int64, "_place": pl.Int64}
_WITHHELD = ("mean_group", "mean_rest", "difference", "n_group", "n_rest", "z", "p_value")

Floats = NDArray[np.float64]


def differences(ratings: Ratings, found: Family) -> pl.DataFrame:
    """Return for each item and axis the group that stands out, with everything known about it."""
    frames = [pl.DataFrame(schema={**DIVIDED, **_INTERNAL})]
    frames += [_side_rows(ratings, found, at) for at in range(len(found.sides))]
    rows = pl.concat(frames)
    if len({side.axis.name for side in found.sides}) < len(found.sides):  # values of one attribute: only one stays
        rows = rows.sort("_extent", descending=True, maintain_order=True)
        rows = rows.unique(["item", "axis"], keep="first", maintain_order=True)
    return rows


def divided(ratings: Ratings, found: Family, rows: pl.DataFrame, least: int) -> pl.DataFrame:
    """Return rows as they may be shown, the clearest first.

    Some rows, together or with the distribution of the item, would reveal what fewer than ``least`` raters of it said.
    Of these, claims are shown without their numbers, and then nothing else of the item is; the others are left out.
    """
    few, claimed = pl.Series(_telling(ratings, found, rows, least)), (rows["p_adjusted"] < SIGNIFICANT).fill_null(False)
    few |= rows["item"].is_in(rows["item"].filter(few & claimed).implode())
    rows = _withheld(rows, few, step_of(ratings)).filter(~few | claimed)
    order = [pl.col("p_adjusted"), pl.col("z").abs(), pl.col("item"), pl.col("axis")]
    return rows.drop(_INTERNAL).sort(order, descending=[False, True, False, False], nulls_last=True)


def step_of(ratings: Ratings) -> float:
    """Return what withheld differences are rounded to: a tenth, or on scales of length 40 and more a power of ten."""
    length = ratings.scale.values[-1] - ratings.scale.values[0]
    return float(max(0.1, 10.0 ** math.floor(math.log10(length / 40))))


def _side_rows(ratings: Ratings, found: Family, at: int) -> pl.DataFrame:
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
    p = _rank_p(found.null.ranks[at][rows])
    frame = pl.DataFrame(
        {
            "item": ratings.items["item"].cast(pl.String).gather(rows),
            "axis": [side.axis.name] * len(rows),
            "group": names[group].tolist(),
            "direction": _direction(sign * signed),
            "mean_group": own,
            "mean_rest": rest,
            "difference": own - rest,
            "shrunken": sign * pulled,
            "n_group": np.where(swap, n_rest, n_group),
            "n_rest": np.where(swap, n_group, n_rest),
            "z": sign * z,
            "p_value": p,
            "p_adjusted": found.p_adjusted(z, p),
            "note": [""] * len(rows),
            "_extent": np.abs(z),
            "_side": [at] * len(rows),
            "_place": rows,
        },
        schema={**DIVIDED, **_INTERNAL},
    )
    return frame.with_columns(pl.col("p_value", "p_adjusted").fill_nan(None))


def _telling(ratings: Ratings, found: Family, rows: pl.DataFrame, least: int) -> NDArray[np.bool_]:
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


def _direction(signed: Floats) -> list[str | None]:
    """Return whether groups rate higher or lower than their rest; None if neither."""
    return [None if abs(q) <= TOLERANCE else "higher" if q > 0 else "lower" for q in signed.tolist()]


def _rank_p(ranks: NDArray[np.int32]) -> Floats:
    """Return p as :func:`plurivox.infer.permutation.compare` does, from where a value lies among its own draws."""
    at_most, at_least, defined = ranks.T.astype(np.float64)
    p = np.minimum(1.0, 2 * (np.minimum(at_most, at_least) + 1) / (defined + 1))
    return np.where(defined > 0, p, np.nan)


def _withheld(frame: pl.DataFrame, hidden: pl.Series, step: float) -> pl.DataFrame:
    """Return the rows without what would reveal single raters' scores."""
    rounded = (pl.col("shrunken") / step).round() * step + 0.0  # not -0.0
    return frame.with_columns(
        *(pl.when(~hidden).then(pl.col(name)).alias(name) for name in _WITHHELD),
        pl.when(hidden).then(rounded.round(6)).otherwise("shrunken").alias("shrunken"),
        pl.when(hidden).then(pl.lit(FEW)).otherwise("note").alias("note"),
    )
