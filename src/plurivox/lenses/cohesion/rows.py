"""The rows of a cohesion result: all raters, the groups of an axis, contrasts and pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.grouping import Grouping, raters_who_rated, warn_apart
from plurivox.engine.intervals import Interval, percentile_interval
from plurivox.engine.permutation import PermutationResult, compare, max_t
from plurivox.engine.run import Values
from plurivox.engine.running import Running
from plurivox.errors import SelectionError
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.lenses.cohesion.sums import TOO_MANY, Measured, place_of, scores_of
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Row
from plurivox.statistics.levels import Level
from plurivox.statistics.records import Statistic
from plurivox.statistics.registry import of_role


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One call of :func:`plurivox.cohesion`: what all of its axes share."""

    ratings: Ratings
    level: Level
    strata: NDArray[np.int32] | None
    settings: CohesionSettings
    how: Running

    def overall(self) -> list[Row]:
        """Return the rows of all raters together, who have no rest."""
        ratings = self.ratings
        measured = self._measured(Grouping.together(ratings))
        sums = measured.observed()
        values = measured.values(sums)
        interval = percentile_interval(self._resampled(measured, "all")) if self.settings.bootstrap else None
        rows = []
        for at, record in enumerate((*measured.tested, *measured.beside)):
            if record.needs != "group":
                continue
            kind = "overall" if record.role == "tested" else "beside"
            n_raters = ratings.n_raters if record.role == "tested" else None
            note = measured.why(record.name, sums, values, 0, n_raters)
            row = Row(kind, "all", "all", record.name, float(values[0, 0, at]), note=note)
            rows.append(self._completed(row, interval, None, (0, at)))
        rows += self._whole("all", "all", np.ones(ratings.n_raters, bool))
        return _sized(rows, {"all": (ratings.n_raters, ratings.n_items, len(ratings))})

    def axis(self, axis: Axis) -> tuple[list[Row], Draws]:
        """Return the rows of an axis, DSI among them, and its draws."""
        measured = self._measured(self._grouping(axis))
        sums = measured.observed()
        values = measured.values(sums)
        n_tested = len(measured.tested)
        null = self._shuffled(measured, axis.name)
        resampled = self._resampled(measured, axis.name) if self.settings.bootstrap else None
        test = self._test(values[0, :, :n_tested], null)
        interval = None if resampled is None else percentile_interval(resampled)
        rows = []
        shown = np.flatnonzero(~axis.withheld)
        for kind, records, first in (("group", measured.tested, 0), ("beside", measured.beside, n_tested)):
            for g in shown.tolist():
                for at, record in enumerate(records, start=first):
                    note = measured.why(record.name, sums, values, g, int(axis.sizes[g]))
                    row = Row(kind, axis.name, axis.groups[g], record.name, float(values[0, g, at]), note=note)
                    rows.append(self._completed(row, interval, test if kind == "group" else None, (g, at)))
        for g in shown.tolist():
            rows += self._whole(axis.name, axis.groups[g], axis.codes == g)
        warn_apart(self.ratings, axis)
        sized = _sized(rows, _sizes(self.ratings, axis))
        sized += self._dsi(axis.name, axis.shown, values[0, shown], null[:, shown], sized)
        names = _names(measured.tested)
        both = names + _names(measured.beside)
        kept = np.zeros((0, len(shown), len(both))) if resampled is None else resampled[:, shown]
        return sized, Draws(axis.name, axis.shown, names, null[:, shown], both, kept)

    def values(self, name: str, axes: Sequence[Axis]) -> tuple[list[Row], Draws]:
        """Return the rows of overlapping groups, each the first of two on an axis of its own, and their draws.

        All axes shuffle the same raters in the same way, so one draw is one shuffle of whole profiles.
        """
        rows: list[Row] = []
        shown: list[str] = []
        null, resampled = [], []
        names = _names(of_role("tested"))
        both = names + _names(of_role("beside"))
        for axis in axes:
            if axis.withheld.any():
                continue
            found, draws = self.axis(axis)
            rows += [row for row in found if row.kind != "dsi" and row.group == axis.groups[0]]
            shown.append(axis.groups[0])
            null.append(draws.null[:, :1])
            resampled.append(draws.bootstrap[:, :1])
        together = np.concatenate([np.zeros((self.settings.permutations, 0, len(names))), *null], axis=1)
        observed = np.array(
            [[row.value for row in rows if row.group == group and row.kind == "group"] for group in shown]
        ).reshape(len(shown), len(names))
        rows += self._dsi(name, shown, observed, together, rows)
        kept = np.concatenate([np.zeros((self.settings.bootstrap, 0, len(both))), *resampled], axis=1)
        return rows, Draws(name, tuple(shown), names, together, both, kept)

    def _dsi(self, name: str, shown: Sequence[str], values: Values, null: Values, rows: Sequence[Row]) -> list[Row]:
        """Return the largest GAI of the axis with a p-value of its own, raw and standardised."""
        at = place_of("gai")
        largest = max_t(values[:, at], null[:, :, at])
        found = []
        for statistic, maximum in (("dsi", largest.raw), ("dsi_standardised", largest.standardised)):
            group = shown[maximum.index] if maximum.index >= 0 else ""
            sizes = next((row for row in rows if row.group == group), None)
            note = "" if group else "no group of this axis has a GAI"
            if statistic == "dsi_standardised" and not self.settings.permutations:
                continue
            found.append(
                Row(
                    "dsi", name, group, statistic, maximum.value,
                    p_value=maximum.p_value if self.settings.permutations else None,
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
        what = f"{axis.name}: {groups[0]} − {groups[1]}"
        measured = self._measured(self._grouping(axis, among=(axis.codes == a) | (axis.codes == b)))
        values = measured.values(measured.observed())[0]
        null = self._shuffled(measured, what)
        n_tested = len(measured.tested)
        test = self._test(values[a, :n_tested] - values[b, :n_tested], null[:, a] - null[:, b])
        interval = None
        if self.settings.bootstrap:
            resampled = self._resampled(measured, what)
            interval = percentile_interval(resampled[:, a] - resampled[:, b])
        sizes = _sizes(self.ratings, axis)
        n = [sum(pair) for pair in zip(sizes[groups[0]], sizes[groups[1]], strict=True)]
        rows = []
        for at, record in enumerate(measured.tested):
            value = float(values[a, at] - values[b, at])
            note = "undefined in one of the two" if np.isnan(value) else ""
            row = Row("contrast", axis.name, f"{groups[0]} − {groups[1]}", record.name, value, note=note,
                      n_raters=n[0], n_items=self.ratings.n_items, n_ratings=n[2])  # fmt: skip
            rows.append(self._completed(row, interval, test, (at,)))
        return rows

    def pairs(self, axis: Axis) -> list[Row]:
        """Return XRR of every pair of groups, with the IRR of each group on the diagonal."""
        rows = []
        shown = np.flatnonzero(~axis.withheld).tolist()
        sizes = _sizes(self.ratings, axis)
        own = self._measured(Grouping.of(self.ratings, axis.codes, len(axis)))
        alone = own.values(own.observed())[0, :, place_of("irr")]
        for g in shown:
            name = axis.groups[g]
            rows.append(Row("pair", axis.name, name, "irr", float(alone[g]), other=name).with_sizes(*sizes[name]))
        at = place_of("xrr")
        for a, b in combinations(shown, 2):
            codes = np.select([axis.codes == a, axis.codes == b], [0, 1], -1).astype(np.int32)
            measured = self._measured(Grouping.of(self.ratings, codes, 2, self.strata))
            sums = measured.observed()
            values = measured.values(sums)
            first, second = axis.groups[a], axis.groups[b]
            note = measured.why("xrr", sums, values, 0, int(axis.sizes[a]))
            row = Row("pair", axis.name, first, "xrr", float(values[0, 0, at]), other=second, note=note)
            row = row.with_sizes(*(a + b for a, b in zip(sizes[first], sizes[second], strict=True)))
            if self.settings.permutations:
                null = self._shuffled(measured, f"{axis.name}: {first} and {second}")[:, 0, at]
                row = self._completed(row, None, self._test(values[0, 0, at], null), ())
            rows.append(row)
        return rows

    def _whole(self, axis: str, group: str, chosen: NDArray[np.bool_]) -> list[Row]:
        """Return the statistics of a group that are no sums over items."""
        records = of_role("whole")
        scores = scores_of(self.ratings, chosen & raters_who_rated(self.ratings)) if records else None
        rows = []
        for record in records:
            assert record.whole is not None
            value, note = (math.nan, TOO_MANY) if scores is None else record.whole(scores)
            rows.append(Row("beside", axis, group, record.name, value, note=note))
        return rows

    # What they share -------------------------------------------------------------------------------------------------

    def _grouping(self, axis: Axis, among: NDArray[np.bool_] | None = None) -> Grouping:
        return Grouping.of(self.ratings, axis.codes, len(axis), self.strata, among)

    def _measured(self, grouping: Grouping) -> Measured:
        wanted = self.settings
        return Measured.of(
            self.ratings, grouping, level=self.level, published=wanted.convention == "published", ties=wanted.ties,
            seed=wanted.seed,
        )  # fmt: skip

    def _shuffled(self, measured: Measured, what: str) -> Values:
        return measured.null(self.settings.permutations, self.settings.seed, self.how.doing(f"permuting {what}"))

    def _resampled(self, measured: Measured, what: str) -> Values:
        wanted = self.settings
        return measured.bootstrap(wanted.bootstrap, wanted.seed, wanted.resample, self.how.doing(f"resampling {what}"))

    def _test(self, values: Values, null: Values) -> PermutationResult | None:
        return compare(values, null, convention=self.settings.convention) if self.settings.permutations else None

    def _completed(
        self, row: Row, interval: Interval | None, test: PermutationResult | None, place: tuple[int, ...]
    ) -> Row:
        """Return a row with its interval and its test, as far as there are any."""
        if interval is not None:
            undefined = int(interval.n_undefined[place]) / self.settings.bootstrap
            row = row.with_interval(interval.low[place], interval.high[place], undefined)
        if test is not None:
            undefined = int(test.n_undefined[place]) / self.settings.permutations
            row = row.with_test(
                float(test.p_value[place]), test.direction[place], float(test.null_median[place]), undefined
            )
        return row


def _names(records: Sequence[Statistic]) -> tuple[str, ...]:
    return tuple(record.name for record in records)


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
