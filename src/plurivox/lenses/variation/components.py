"""What scores vary by, and what more raters buy: tables of variance components and of the reliability of means."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl

from plurivox.engine.run import Values
from plurivox.infer.jackknife import LeftOut
from plurivox.lenses.variation.sums import COMPARED, GroupLeniency
from plurivox.statistics.variance import NESTED, WITHIN, raters_needed, reliability, shares

MOST_RATERS = 100
"""The most raters for which the reliability of their mean is given."""
COMPONENTS = {
    "subset": pl.String, "axis": pl.String, "component": pl.String, "variance": pl.Float64, "share": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "n_raters": pl.Int64, "n_items": pl.Int64, "n_ratings": pl.Int64,
    "note": pl.String,
}  # fmt: skip
RELIABILITY = {
    "subset": pl.String, "axis": pl.String, "group": pl.String, "k": pl.Int64, "relative": pl.Float64,
    "relative_low": pl.Float64, "relative_high": pl.Float64, "absolute": pl.Float64, "absolute_low": pl.Float64,
    "absolute_high": pl.Float64, "ceiling": pl.Float64, "note": pl.String,
}  # fmt: skip
NEEDED = {
    "subset": pl.String, "axis": pl.String, "group": pl.String, "target": pl.Float64, "relative": pl.Float64,
    "relative_low": pl.Float64, "relative_high": pl.Float64, "absolute": pl.Float64, "absolute_low": pl.Float64,
    "absolute_high": pl.Float64, "ratings_per_item": pl.Float64, "note": pl.String,
}  # fmt: skip
_SCALES = {"item": "logit", "rater": "logit", "rest": "logit", "group": "plain", "group_item": "plain"}
_FIRST = len(COMPARED)
_NORMAL = 1.959963984540054  # the quantile of a 95 % interval


_Parts = Callable[[Values], tuple[Values, Values, Values]]  # variance of items, and of relative and absolute errors


class Frames(NamedTuple):
    """Components, reliability and raters needed."""

    components: pl.DataFrame
    reliability: pl.DataFrame
    needed: pl.DataFrame

    @classmethod
    def none(cls) -> Frames:
        """Return empty tables."""
        return cls(*(pl.DataFrame(schema=schema) for schema in (COMPONENTS, RELIABILITY, NEEDED)))

    def joined(self, other: Frames) -> Frames:
        """Return the rows of both, one after the other."""
        return Frames(*(pl.concat([one, two]) for one, two in zip(self, other, strict=True)))


@dataclass(frozen=True, eq=False)
class ComponentTables:
    """The source of the tables of one axis on one set of items.

    Attributes
    ----------
    subset, axis
        Their names.
    groups
        The groups that are shown, and the position of each among the values.
    measured
        The sums.
    left
        Values without each item and rater, None without intervals.
    target
        The reliability to reach.
    overlapping
        Whether a rater may be in several groups, so that no variance lies between them.
    """

    subset: str
    axis: str
    groups: Sequence[tuple[str, int]]
    measured: GroupLeniency
    left: LeftOut | None
    target: float
    overlapping: bool = False

    def frames(self) -> Frames:
        """Return all tables."""
        parts = [self._of_group(name, at) for name, at in self.groups]
        found = [] if self.axis == "all" or self.overlapping else [self._of_axis()]
        each = [*found, *parts]
        return Frames(
            self._components(),
            pl.DataFrame([row for one in each for row in one.curve()], schema=RELIABILITY, orient="row"),
            pl.DataFrame([one.needed(self.target) for one in each], schema=NEEDED, orient="row"),
        )

    @cached_property
    def values(self) -> Values:
        """Groups and axis × statistics, as observed."""
        if self.left is not None:
            return self.left.observed
        values: Values = self.measured.finish(self.measured.observed)[0]
        return values

    def _components(self) -> pl.DataFrame:
        if self.axis != "all" and self.overlapping:
            return pl.DataFrame(schema=COMPONENTS)
        names, row = (WITHIN, 0) if self.axis == "all" else (NESTED, -1)
        here = slice(_FIRST, _FIRST + len(names))
        variances = self.values[row, here]
        low = high = np.full(len(names), np.nan)
        if self.left is not None:
            made = self._made(lambda values: shares(values[..., row, here]))
            ranges = [(-np.inf, np.inf) if name == "group" else (0.0, 1.0) for name in names]
            ends = made.interval([_SCALES[name] for name in names], ranges)
            low, high = ends.low[0], ends.high[0]
            if row < 0:
                at = names.index("group")
                low[at], high[at] = np.clip(self._widened(low[at], high[at], variances), 0.0, 1.0)
        note = self._why(variances, names)
        sizes = self._sizes(slice(None))
        found = np.clip(shares(variances), 0.0, 1.0)
        return pl.DataFrame(
            [
                (self.subset, self.axis, name, _number(variances[at]), _number(found[at]), _number(low[at]),
                 _number(high[at]), *sizes, note or (_NEGATIVE if variances[at] < 0 else ""))
                for at, name in enumerate(names)
            ],
            schema=COMPONENTS, orient="row",
        )  # fmt: skip

    def _widened(self, low: float, high: float, variances: Values) -> tuple[float, float]:
        """Return an interval for the share of groups that allows for sampling error where groups hardly differ.

        The estimate is a mean square of group means minus τ, what sampling adds to it. Near 0, a square hardly moves
        when a unit is left out, so the jackknife misses the variance 2τ²/(G − 1) that the mean square has by itself.
        """
        from plurivox.kernels.variation import CELLS, RATINGS

        sums, codes = self.measured.observed, self.measured.grouping.codes
        groups = sums["groups"][0]
        rated = groups[:, RATINGS] > 0
        counts = np.bincount(codes[codes >= 0], sums["raters"][0, codes >= 0, 0] ** 2, minlength=len(groups))
        n, cells, raters = groups[rated, RATINGS], groups[rated, CELLS], counts[rated]
        _, _, rater, crossed, rest = np.maximum(variances, 0.0)
        whole = float(np.maximum(variances, 0.0).sum())
        if whole == 0.0:  # all scores are the same
            return low, high
        sampling = float(np.mean(rater * raters / n**2 + crossed / cells + rest / n))
        spread = math.sqrt(2 / max(len(n) - 1, 1)) * sampling / whole
        middle, half = (low + high) / 2, math.hypot((high - low) / 2, _NORMAL * spread)
        return middle - half, middle + half

    def _made(self, change: Callable[[Values], Values]) -> LeftOut:
        """Return what a function of all values becomes without each unit; it removes the dimension of groups."""
        assert self.left is not None
        return self.left.made(lambda values: change(values)[..., np.newaxis, :])

    # Reliability ------------------------------------------------------------------------------------------------------

    def _of_axis(self) -> ReliabilityCurve:
        """Return the reliability of means of raters of all groups, from the components of the axis."""

        def parts(values: Values) -> tuple[Values, Values, Values]:
            item, group, rater, crossed, rest = np.moveaxis(values[..., -1, _FIRST:], -1, 0)
            relative = np.maximum(rest, 0.0) + np.maximum(crossed, 0.0)
            return item, relative, relative + np.maximum(rater, 0.0) + np.maximum(group, 0.0)

        return self._curve("all", slice(None), parts, self._why(self.values[-1, _FIRST:], NESTED))

    def _of_group(self, name: str, at: int) -> ReliabilityCurve:
        """Return the reliability of means of raters of one group, from its own components."""
        here = slice(_FIRST, _FIRST + len(WITHIN))

        def parts(values: Values) -> tuple[Values, Values, Values]:
            item, rater, rest = np.moveaxis(values[..., at, here], -1, 0)
            relative = np.maximum(rest, 0.0)
            return item, relative, relative + np.maximum(rater, 0.0)

        return self._curve(name, slice(at, at + 1), parts, self._why(self.values[at, here], WITHIN))

    def _curve(self, group: str, at: slice, parts: _Parts, note: str) -> ReliabilityCurve:
        item, relative, absolute = (float(part) for part in parts(self.values))
        ends = np.full((2, 2), np.nan)
        if self.left is not None:

            def single(values: Values) -> Values:
                own, *errors = parts(values)
                return np.stack([reliability(own, error) for error in errors], axis=-1)

            found = self._made(single).interval(["logit"] * 2, [(0.0, 1.0)] * 2)
            ends = np.stack([found.low[0], found.high[0]], axis=1)
        n_raters, n_items, n_ratings = self._sizes(at)
        if not note and not item > 0:
            note = "items do not differ by more than chance, so there is nothing to tell apart"
        return ReliabilityCurve(
            self.subset, self.axis, group, item, relative, absolute, ends, n_ratings == n_raters * n_items,
            n_ratings / max(n_items, 1), note,
        )  # fmt: skip

    def _sizes(self, at: slice) -> tuple[int, int, int]:
        """Return raters, items and ratings of one group, or of all."""
        from plurivox.kernels.variation import CELLS, ITEMS, RATINGS

        sums, codes = self.measured.observed, self.measured.grouping.codes
        groups = sums["groups"][0, at]
        n_items = sums["items"][0, ITEMS] if at == slice(None) else groups[0, CELLS]
        inside = codes >= 0 if at == slice(None) else codes == at.start
        n_raters = np.count_nonzero(sums["raters"][0, inside, 0] > 0)
        return int(n_raters), int(n_items), int(groups[:, RATINGS].sum())

    def _why(self, variances: Values, names: Sequence[str]) -> str:
        """Say why components cannot be separated."""
        if np.isfinite(variances).all():
            return "" if (variances > 0).any() else "all scores are the same"
        from plurivox.kernels.variation import CELLS, RATINGS

        n_raters, n_items, n_ratings = self._sizes(slice(None))
        groups = self.measured.observed["groups"][0]
        if len(names) == len(NESTED) and np.count_nonzero(groups[:, RATINGS]) < 2:
            return "there is only one group"
        if n_items < 2 or n_raters < 2:
            return f"there is only one {'item' if n_items < 2 else 'rater'}"
        if len(names) == len(NESTED) and groups[:, CELLS].sum() == n_ratings:
            return "no two raters of one group rated the same item"
        return "the design leaves them undetermined: too few raters share items, or raters rated only single items"


_NEGATIVE = "the estimate is negative, so the variance is small compared with sampling error; it counts as 0"


class ReliabilityCurve(NamedTuple):
    """The reliability of means of raters, as a function of their number.

    ``ends`` are those of the intervals for one rater: relative and absolute, low and high.
    """

    subset: str
    axis: str
    group: str
    item: float
    relative: float
    absolute: float
    ends: Values
    same_raters: bool
    ratings_per_item: float
    note: str

    def curve(self) -> list[tuple[object, ...]]:
        """Return a row for each number of raters.

        For one rater, relative reliability is r; for k raters, its log odds are those of r plus log k, and the same
        holds for the ends of its interval.
        """
        k = np.arange(1, MOST_RATERS + 1, dtype=float)
        columns = []
        for at, error in enumerate((self.relative, self.absolute)):
            columns += [reliability(self.item, error, k), *(_stepped(end, k) for end in self.ends[at])]
        ceiling = np.sqrt(columns[0] if self.same_raters else columns[3])
        return [
            (self.subset, self.axis, self.group, int(k[i]), *(_number(column[i]) for column in (*columns, ceiling)),
             self.note)
            for i in range(len(k))
        ]  # fmt: skip

    def needed(self, target: float) -> tuple[object, ...]:
        """Return how many raters reach a reliability, with an interval."""
        cells = []
        for at, error in enumerate((self.relative, self.absolute)):
            low, high = self.ends[at]
            cells.append(_number(float(raters_needed(self.item, error, target))))
            cells += [_number(float(raters_needed(end, 1 - end, target))) for end in (high, low)]
        return (self.subset, self.axis, self.group, target, *cells, self.ratings_per_item, self.note)


def _stepped(one: float, k: Values) -> Values:
    """Return the reliability of k raters where that of one is known (Spearman and Brown)."""
    return np.asarray(k * one / (1 + (k - 1) * one))


def _number(value: float) -> float | None:
    """Return a number for a table; an interval that does not exist is None, an undefined value stays NaN."""
    return float(value) if not math.isnan(value) else math.nan
