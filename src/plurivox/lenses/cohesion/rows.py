"""The rows of a cohesion result: all raters, the groups of an axis, contrasts and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.bootstrap import Interval, percentile_interval
from plurivox.engine.permutation import compare, max_t
from plurivox.engine.tallies import Counts, tally
from plurivox.errors import SelectionError
from plurivox.lenses.calls import Report, warn_apart
from plurivox.lenses.cohesion.passes import BESIDE, OF_ONE_SIDE, STATISTICS, Parts, Passes, Running, Values
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Row
from plurivox.statistics import cohesion_parts, undefined
from plurivox.statistics.levels import Level

RESAMPLED = (*STATISTICS, *BESIDE)
"""What the bootstrap gives intervals of."""
SKEWED = 0.9
"""From this share of one point on, with high percent agreement, a low alpha misleads."""


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One call of :func:`plurivox.cohesion`: what all of its axes share."""

    ratings: Ratings
    level: Level
    permutations: int
    bootstrap: int
    resample: str
    seed: int
    convention: str
    strata: NDArray[np.int32] | None
    ties: str
    running: Running
    progress: Report | None

    def overall(self) -> list[Row]:
        """Return the rows of all raters together, who have no rest."""
        ratings = self.ratings
        passes = self._passes(np.zeros(ratings.n_raters, np.int32), 1)
        parts = passes.observed()
        values = passes.values(parts)[0, 0]
        interval = percentile_interval(self._resampled(passes, "all")) if self.bootstrap else None
        rows = []
        for name in OF_ONE_SIDE:
            at = STATISTICS.index(name)
            note = self._reason(name, parts, 0, ratings.n_raters, values) or ""
            row = Row("overall", "all", "all", name, float(values[at]), note=note)
            rows.append(row if interval is None else _with_interval(row, interval, (0, at), self.bootstrap))
        rows += self._beside("all", ("all",), None, interval)
        return _sized(rows, {"all": (ratings.n_raters, ratings.n_items, len(ratings))})

    def axis(self, axis: Axis) -> tuple[list[Row], Draws]:
        """Return the rows of an axis, DSI among them, and its draws."""
        passes = self._passes(axis.codes, len(axis), strata=self.strata)
        parts = passes.observed()
        values = passes.values(parts)[0]
        null = self._shuffled(passes, axis.name)
        resampled = self._resampled(passes, axis.name) if self.bootstrap else None
        test = compare(values, null, convention=self.convention)
        interval = None if resampled is None else percentile_interval(resampled)
        rows = []
        for g in np.flatnonzero(~axis.withheld).tolist():
            for at, name in enumerate(STATISTICS):
                reason = self._reason(name, parts, g, int(axis.sizes[g]), values[g])
                row = Row("group", axis.name, axis.groups[g], name, float(values[g, at]), note=reason or "")
                if interval is not None:
                    row = _with_interval(row, interval, (g, at), self.bootstrap)
                if self.permutations:
                    undefined_share = int(test.n_undefined[g, at]) / self.permutations
                    row = row.with_test(
                        test.p_value[g, at], test.direction[g, at], test.null_median[g, at], undefined_share
                    )
                rows.append(row)
        shown = np.flatnonzero(~axis.withheld)
        rows += self._beside(axis.name, axis.groups, axis, interval)
        warn_apart(self.ratings, axis)
        sized = _sized(rows, _sizes(self.ratings, axis))
        sized += self._dsi(axis.name, axis.shown, values[shown], null[:, shown], sized)
        kept = np.zeros((0, len(shown), len(RESAMPLED))) if resampled is None else resampled[:, shown]
        return sized, Draws(axis.name, axis.shown, STATISTICS, null[:, shown], RESAMPLED, kept)

    def values(self, name: str, axes: Sequence[Axis]) -> tuple[list[Row], Draws]:
        """Return the rows of overlapping groups, each the first of two on an axis of its own, and their draws.

        All axes shuffle the same raters in the same way, so one draw is one shuffle of whole profiles.
        """
        rows: list[Row] = []
        shown: list[str] = []
        null, resampled = [], []
        for axis in axes:
            if axis.withheld.any():
                continue
            found, draws = self.axis(axis)
            rows += [row for row in found if row.kind != "dsi" and row.group == axis.groups[0]]
            shown.append(axis.groups[0])
            null.append(draws.null[:, :1])
            resampled.append(draws.bootstrap[:, :1])
        together = np.concatenate([np.zeros((self.permutations, 0, len(STATISTICS))), *null], axis=1)
        observed = np.array(
            [[row.value for row in rows if row.group == group and row.kind == "group"] for group in shown]
        ).reshape(len(shown), len(STATISTICS))
        rows += self._dsi(name, shown, observed, together, rows)
        kept = np.concatenate([np.zeros((self.bootstrap, 0, len(RESAMPLED))), *resampled], axis=1)
        return rows, Draws(name, tuple(shown), STATISTICS, together, RESAMPLED, kept)

    def _dsi(self, name: str, shown: Sequence[str], values: Values, null: Values, rows: Sequence[Row]) -> list[Row]:
        """Return the largest GAI of the axis with a p-value of its own, raw and standardised."""
        at = STATISTICS.index("gai")
        largest = max_t(values[:, at], null[:, :, at])
        found = []
        for statistic, maximum in (("dsi", largest.raw), ("dsi_standardised", largest.standardised)):
            group = shown[maximum.index] if maximum.index >= 0 else ""
            sizes = next((row for row in rows if row.group == group), None)
            note = "" if group else "no group of this axis has a GAI"
            if statistic == "dsi_standardised" and not self.permutations:
                continue
            found.append(
                Row(
                    "dsi", name, group, statistic, maximum.value,
                    p_value=maximum.p_value if self.permutations else None,
                    null_median=float(np.nanmedian(maximum.null)) if np.isfinite(maximum.null).any() else None,
                    n_raters=sizes.n_raters if sizes else 0, n_items=sizes.n_items if sizes else 0,
                    n_ratings=sizes.n_ratings if sizes else 0, note=note,
                )
            )  # fmt: skip
        return found

    def contrast(self, axis: Axis, groups: tuple[str, str]) -> list[Row]:
        """Return the difference of two groups; only their raters are shuffled, and only among each other."""
        a, b = (axis.groups.index(group) for group in groups)
        if axis.withheld[a] or axis.withheld[b]:
            raise SelectionError(f"{groups[0]} or {groups[1]} is withheld as too small to show")
        among = (axis.codes == a) | (axis.codes == b)
        passes = self._passes(axis.codes, len(axis), strata=self.strata, among=among)
        values = passes.values(passes.observed())[0]
        null = self._shuffled(passes, f"{axis.name}: {groups[0]} − {groups[1]}")
        test = compare(values[a] - values[b], null[:, a] - null[:, b], convention=self.convention)
        interval = None
        if self.bootstrap:
            resampled = self._resampled(passes, f"{axis.name}: {groups[0]} − {groups[1]}")
            interval = percentile_interval(resampled[:, a] - resampled[:, b])
        sizes = _sizes(self.ratings, axis)
        n = [sum(pair) for pair in zip(sizes[groups[0]], sizes[groups[1]], strict=True)]
        rows = []
        for at, name in enumerate(STATISTICS):
            value = float(values[a, at] - values[b, at])
            note = "undefined in one of the two" if np.isnan(value) else ""
            row = Row("contrast", axis.name, f"{groups[0]} − {groups[1]}", name, value, note=note,
                      n_raters=n[0], n_items=self.ratings.n_items, n_ratings=n[2])  # fmt: skip
            if interval is not None:
                row = _with_interval(row, interval, (at,), self.bootstrap)
            if self.permutations:
                share = int(test.n_undefined[at]) / self.permutations
                row = row.with_test(test.p_value[at], test.direction[at], test.null_median[at], share)
            rows.append(row)
        return rows

    def pairs(self, axis: Axis) -> list[Row]:
        """Return XRR of every pair of groups, with the IRR of each group on the diagonal."""
        rows = []
        shown = np.flatnonzero(~axis.withheld).tolist()
        sizes = _sizes(self.ratings, axis)
        own = self._passes(axis.codes, len(axis))
        alone = own.values(own.observed())[0, :, STATISTICS.index("irr")]
        for g in shown:
            name = axis.groups[g]
            rows.append(Row("pair", axis.name, name, "irr", float(alone[g]), other=name).with_sizes(*sizes[name]))
        at = STATISTICS.index("xrr")
        for a, b in combinations(shown, 2):
            codes = np.select([axis.codes == a, axis.codes == b], [0, 1], -1).astype(np.int32)
            passes = self._passes(codes, 2, strata=self.strata)
            parts = passes.observed()
            values = passes.values(parts)[0, 0]
            first, second = axis.groups[a], axis.groups[b]
            reason = self._reason("xrr", parts, 0, int(axis.sizes[a]), values)
            row = Row("pair", axis.name, first, "xrr", float(values[at]), other=second, note=reason or "")
            row = row.with_sizes(*(a + b for a, b in zip(sizes[first], sizes[second], strict=True)))
            if self.permutations:
                null = self._shuffled(passes, f"{axis.name}: {first} and {second}")[:, 0, at]
                test = compare(values[at], null, convention=self.convention)
                share = int(test.n_undefined) / self.permutations
                row = row.with_test(float(test.p_value), test.direction.item(), float(test.null_median), share)
            rows.append(row)
        return rows

    def _beside(self, axis_name: str, groups: Sequence[str], axis: Axis | None, interval: Interval | None) -> list[Row]:
        """Return percent agreement, AC1 and AC2 of each group."""
        ratings = self.ratings
        numbers = np.array(ratings.scale.values)
        ac1 = tally(ratings, cohesion_parts.ac_parts, axis).total()
        ac2 = tally(ratings, partial(_ac2_parts, values=numbers), axis).total()
        rows: list[Row] = []
        for g, group in enumerate(groups):
            if axis is not None and axis.withheld[g]:
                continue
            found = {
                "percent_agreement": cohesion_parts.mean_from(ac1[g, 0], ac1[g, 1]),
                "ac1": cohesion_parts.ac_from(ac1[g, 0], ac1[g, 1], ac1[g, 2], ac1[g, 3:]),
                "ac2": cohesion_parts.ac_from(ac2[g, 0], ac2[g, 1], ac2[g, 2], ac2[g, 3:], numbers),
            }
            n_raters = None if axis is None else int(axis.sizes[g])
            note = undefined.why_mean(ac1[g, 1], "pairable", n_raters=n_raters) or ""
            for at, name in enumerate(BESIDE, start=len(STATISTICS)):
                row = Row("beside", axis_name, group, name, float(found[name]), note=note)
                rows.append(row if interval is None else _with_interval(row, interval, (g, at), self.bootstrap))
        return rows

    def _passes(
        self,
        codes: NDArray[np.int32],
        n_groups: int,
        *,
        strata: NDArray[np.int32] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Passes:
        return Passes.of(
            self.ratings, codes, n_groups, level=self.level, published=self.convention == "published",
            ties=self.ties, seed=self.seed, strata=strata, among=among,
        )  # fmt: skip

    def _shuffled(self, passes: Passes, what: str) -> Values:
        return passes.null(self.permutations, self.seed, self._telling(f"permuting {what}"))

    def _resampled(self, passes: Passes, what: str) -> Values:
        return passes.bootstrap(self.bootstrap, self.seed, self.resample, self._telling(f"resampling {what}"))

    def _telling(self, what: str) -> Running:
        return self.running if self.progress is None else self.running._replace(progress=partial(self.progress, what))

    def _reason(self, name: str, parts: Parts, g: int, n_raters: int, values: Values) -> str | None:
        """Tell why a value is undefined, or what to beware of."""
        from plurivox.kernels import cohesion as k

        sums, vectors = parts.sums[0, g], parts.vectors[0, g]
        why_irr = undefined.why_irr(vectors[k.MARGINALS], self.level, n_raters=n_raters)
        why_xrr = undefined.why_xrr(vectors[k.OWN], vectors[k.REST], self.level)
        reasons = {
            "irr": why_irr,
            "xrr": why_xrr,
            "gai": undefined.why_gai(float(values[STATISTICS.index("xrr")]), why_irr, why_xrr),
            "negentropy": undefined.why_mean(sums[k.RATED]),
            "plurality_size": undefined.why_mean(sums[k.RATED]),
            "cross_negentropy": undefined.why_mean(sums[k.SHARED], "common"),
            "voting_agreement": undefined.why_voting(vectors[k.OWN_VOTES], vectors[k.REST_VOTES]),
        }
        reason = reasons[name]
        if reason is None and name == "irr" and self.level == "nominal":
            return _skew(vectors[k.MARGINALS], sums[k.COINCIDENT], float(values[STATISTICS.index("irr")]))
        return reason


def _with_interval(row: Row, interval: Interval, place: tuple[int, ...], draws: int) -> Row:
    return row.with_interval(interval.low[place], interval.high[place], int(interval.n_undefined[place]) / draws)


def _ac2_parts(counts: Counts, values: NDArray[Any]) -> NDArray[Any]:
    return cohesion_parts.ac_parts(counts, values)


def _skew(marginals: NDArray[Any], coincident: float, alpha: float) -> str | None:
    total = float(marginals.sum())
    top, agreement = float(marginals.max()) / total, float(coincident) / total
    if top < SKEWED or alpha > 0.5 * agreement:
        return None
    return f"{top:.0%} of the ratings are one point, where alpha is low even if raters agree; see AC1"


def _sizes(ratings: Ratings, axis: Axis) -> dict[str, tuple[int, int, int]]:
    """Return raters, items and ratings of each group."""
    group = axis.codes[ratings.codes_of_raters]
    inside = group >= 0
    n_ratings = np.bincount(group[inside], minlength=len(axis))
    cells = np.unique(group[inside].astype(np.int64) * ratings.n_items + ratings.item_codes[inside])
    n_items = np.bincount(cells // max(ratings.n_items, 1), minlength=len(axis))
    return {name: (int(axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g, name in enumerate(axis.groups)}


def _sized(rows: Sequence[Row], sizes: dict[str, tuple[int, int, int]]) -> list[Row]:
    return [row.with_sizes(*sizes[row.group]) for row in rows]
