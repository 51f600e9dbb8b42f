"""Bias: how far answers are above ratings of the same items, for all raters, each group, and each part of the items.

Two questions are asked about each. Does the mean difference differ from 0? And is it larger than that of single
raters, each compared with the others? A judge that is like a randomly drawn rater is off by as much as raters are, so
only both together make a bias.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import stdtr

from plurivox.domain.part import Part
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, total
from plurivox.infer.families import SIGNIFICANT, adjust
from plurivox.infer.grouping import Compared
from plurivox.infer.jackknife import number_of_blocks
from plurivox.lenses.alignment.matching import ALL, AnsweredItems, Floats, Ints
from plurivox.lenses.alignment.rows import Group
from plurivox.lenses.judge.sums import LEAST_TESTED, Judged, Levels, left_out, mean_levels, weights_of

BIASES = {
    "model": pl.String, "prompt": pl.String, "axis": pl.String, "group": pl.String, "subset": pl.String,
    "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "p_value": pl.Float64, "p_adjusted": pl.Float64,
    "p_beyond": pl.Float64, "humans_low": pl.Float64, "humans_high": pl.Float64, "shifted": pl.Boolean,
    "biased": pl.Boolean, "n_raters": pl.Int64, "n_items": pl.Int64, "note": pl.String,
}  # fmt: skip
USUAL = (0.05, 0.95)
"""The quantiles between which raters' own biases are shown."""
NOTHING = "no item has both a rating and an answer"


@dataclass(frozen=True, slots=True, eq=False)
class OwnLevels:
    """How far each rater is above the others of the same group on the same items: columns × raters × [Σ, ratings].

    Columns are all items and each subset of them. Only items that any model answered count.
    """

    asked: NDArray[np.bool_]
    values: Floats
    codes: NDArray[np.int32]
    n_groups: int
    subset: Ints
    n_subsets: int
    weights: Floats

    @property
    def cost(self) -> float:
        """Roughly how many seconds it takes."""
        return 1e-3

    @property
    def width(self) -> int:
        """How many numbers it holds."""
        return len(self.codes) * (1 + self.n_subsets) * 2

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part."""
        item, group = part.item_of_each(), self.codes[part.raters].astype(np.int64)
        kept = (group >= 0) & self.asked[part.items][item]
        cell, score = (item * self.n_groups + group)[kept], self.values[part.scores][kept]
        weight = self.weights[part.raters[kept]] if len(self.weights) else np.ones(len(cell))
        n, weighed, whole = (
            np.bincount(cell, one, minlength=part.n_items * self.n_groups) for one in (None, weight, weight * score)
        )
        met = n[cell] > 1
        above = score[met] - (whole[cell] - weight * score)[met] / (weighed[cell] - weight)[met]
        rater, subset = part.raters[kept][met].astype(np.int64), self.subset[part.items][item[kept][met]]
        size = len(self.codes)
        sums = np.zeros((1 + self.n_subsets, size, 2))
        for at in range(1 + self.n_subsets):
            own = slice(None) if at == 0 else subset == at - 1
            sums[at, :, 0] = np.bincount(rater[own], above[own], minlength=size)
            sums[at, :, 1] = np.bincount(rater[own], minlength=size)
        return Sums(own=sums[np.newaxis])


class Beside(NamedTuple):
    """Raters' own biases: quantiles, and the p-value of a further rater being as far off as a value."""

    low: float
    high: float
    p: Floats
    n_raters: int

    @classmethod
    def of(cls, sums: Floats, values: Floats, weights: Floats) -> Beside:
        """Compare values with raters × [Σ, ratings], by t with the spread of raters' means (a prediction interval).

        With weights, n of the prediction interval is the effective number of raters.
        """
        met = sums[:, 1] > 0
        own = sums[met, 0] / sums[met, 1]
        n = len(own)
        if n < 2:
            return cls(np.nan, np.nan, np.full(values.shape, np.nan), n)
        if len(weights):
            weights = weights[met]
            low, high = weighted_quantiles(own, weights, USUAL)
            size = float(weights.sum() ** 2 / (weights**2).sum())
            mean = float(np.average(own, weights=weights))
            deviation = float(np.sqrt(np.average((own - mean) ** 2, weights=weights) * size / (size - 1)))
        else:
            (low, high), size, mean, deviation = np.quantile(own, USUAL), n, own.mean(), own.std(ddof=1)
        spread, far = deviation * np.sqrt(1 + 1 / size), np.abs(values - mean)
        with np.errstate(divide="ignore", invalid="ignore"):
            p = np.where(spread > 0, 2 * stdtr(size - 1, -far / spread), np.where(far > 0, 0.0, 1.0))
        return cls(float(low), float(high), np.where(np.isnan(values), np.nan, p), n)


def weighted_quantiles(values: Floats, weights: Floats, wanted: Sequence[float]) -> Floats:
    """Return interpolated quantiles; those of numpy where all weights are equal.

    Neighbouring values are as far apart as the mean of their weights, with the lowest at 0 and the highest at 1.
    """
    order = np.argsort(values, kind="stable")
    steps = (weights[order][1:] + weights[order][:-1]) / 2
    places = np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum()
    return np.asarray(np.interp(wanted, places, values[order]), dtype=float)


@dataclass(frozen=True, slots=True, eq=False)
class Biases:
    """One call: what its means share."""

    matched: AnsweredItems
    how: Running
    resample: str

    def rows(self, axes: Sequence[Compared]) -> list[dict[str, Any]]:
        """Return a row for each voice: all raters and items, each part of the items, and each group that is shown."""
        matched = self.matched
        everybody = np.zeros(max(matched.ratings.n_raters, 1), dtype=np.int32)
        parts = [(ALL, ALL, ALL), *((ALL, ALL, name) for name in matched.subsets)]
        columns = [(at, key, at) for at, key in enumerate(parts)]
        found = list(self._of(None, everybody, 1, columns))
        for one in axes:
            for axis, shown in Group.shown(one):
                groups = [(group.at, (axis.name, group.name, ALL), 0) for group in shown]
                found += self._of(axis.codes, axis.codes, len(axis), groups)
        order = {voice: at for at, voice in enumerate(matched.voices)}
        return sorted(found, key=lambda row: order[row["model"], row["prompt"]])  # type: ignore[index]

    def _of(
        self, codes: NDArray[np.int32] | None, own: NDArray[np.int32], n_groups: int,
        columns: Sequence[tuple[int, tuple[str, str, str], int]],
    ) -> Iterator[dict[str, Any]]:  # fmt: skip
        """Yield the rows of some columns: the position of each, what it is about, and its part of the items."""
        matched, ratings = self.matched, self.matched.ratings
        n_subsets = 0 if codes is not None else len(matched.subsets)
        values = np.array(ratings.scale.values, dtype=float)
        blocks, n_raters = number_of_blocks(ratings.parts()), ratings.n_raters if ratings.has_raters else 0
        weights = weights_of(ratings)
        work = Levels(
            Judged.of(matched), values, n_raters, blocks, codes, n_groups, matched.subset, n_subsets, weights=weights
        )
        groups = None if codes is None else (codes, n_groups)
        sums, left = left_out(matched, work, mean_levels, self.how, self.resample, groups)
        n_columns = left.observed.shape[1]
        interval = left.interval(["plain"] * n_columns, [(-np.inf, np.inf)] * n_columns)
        items = sums["levels"][0, ..., 1]
        p = np.where(items < LEAST_TESTED, np.nan, left.p_value())
        spread = self._own(own, n_groups, n_subsets, values)
        for at, (axis, group, subset), part in columns:
            inside = np.ones(len(own), dtype=bool) if codes is None else own == at
            own_sums = spread[part][inside] if spread is not None else np.zeros((0, 2))
            beside = Beside.of(own_sums, left.observed[:, at], weights[inside] if len(weights) else weights)
            for v, voice in enumerate(matched.voices):
                value = float(left.observed[v, at])
                yield {
                    "model": voice.model, "prompt": voice.prompt, "axis": axis, "group": group, "subset": subset,
                    "value": value, "ci_low": float(interval.low[v, at]), "ci_high": float(interval.high[v, at]),
                    "p_value": float(p[v, at]), "p_further": float(beside.p[v]), "humans_low": beside.low,
                    "humans_high": beside.high, "n_raters": beside.n_raters,
                    "n_items": int(items[v, at]), "note": _note(value, int(items[v, at])),
                }  # fmt: skip

    def _own(self, codes: NDArray[np.int32], n_groups: int, n_subsets: int, values: Floats) -> Floats | None:
        """Return how each rater compares with the others, columns × raters × [Σ, ratings]; None without raters."""
        matched = self.matched
        if not matched.ratings.has_raters:
            return None
        asked = np.diff(matched.rows) > 0
        weights = weights_of(matched.ratings)
        work = OwnLevels(asked, values, codes, n_groups, matched.subset, n_subsets, weights)
        own: Floats = total(matched.ratings.parts(), work)["own"][0]
        return own


def _note(value: float, n_items: int) -> str:
    if np.isnan(value):
        return NOTHING
    return f"not tested: {LEAST_TESTED} items are needed" if n_items < LEAST_TESTED else ""


def corrected(rows: Sequence[dict[str, Any]], others: Sequence[float]) -> tuple[pl.DataFrame, Floats]:
    """Correct p of all biases together with other p-values of the same family, by Holm's method.

    ``p_adjusted`` is for a mean difference, ``p_beyond`` for one that is also larger than raters'. Also return the
    corrected others.
    """
    plain = np.array([row["p_value"] for row in rows])
    further = np.array([row.pop("p_further") for row in rows])
    beyond = np.where(np.isnan(further), np.where(np.isnan(plain), np.nan, 1.0), np.maximum(plain, further))
    family = np.asarray(others, dtype=float)
    shifted, far = (adjust(np.concatenate([one, family]), "holm") for one in (plain, beyond))
    frame = pl.DataFrame(
        [
            tuple({**row, "p_adjusted": s, "p_beyond": b, "shifted": s < SIGNIFICANT, "biased": b < SIGNIFICANT}[name]
                  for name in BIASES)
            for row, s, b in zip(rows, shifted[: len(rows)].tolist(), far[: len(rows)].tolist(), strict=True)
        ],
        schema=BIASES, orient="row",
    )  # fmt: skip
    names = ("ci_low", "ci_high", "p_value", "p_adjusted", "p_beyond", "humans_low", "humans_high")
    return frame.with_columns(pl.col(*names).fill_nan(None)), shifted[len(rows) :]
