"""The rows of a cohesion result: all raters, the groups of an axis, contrasts and pairs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.grouping import Grouping, raters_who_rated, warn_apart
from plurivox.engine.permutation import max_t
from plurivox.engine.run import Values
from plurivox.engine.running import Running
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.lenses.cohesion.sums import TOO_MANY, Measured, place_of, scores_of
from plurivox.lenses.inference import Inference, Pair, Sizes
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Row
from plurivox.statistics.levels import Level
from plurivox.statistics.records import Statistic
from plurivox.statistics.registry import STATISTICS, of_role


class Found(NamedTuple):
    """Rows of an axis, and its draws."""

    rows: list[Row]
    draws: Draws


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One call of :func:`plurivox.cohesion`: what all of its axes share."""

    ratings: Ratings
    level: Level
    strata: NDArray[np.int32] | None
    settings: CohesionSettings
    how: Running

    @property
    def inference(self) -> Inference:
        """How values are tested and resampled."""
        return Inference(self.settings, self.how, self.settings.convention)

    def overall(self) -> list[Row]:
        """Return the rows of all raters together, who have no rest."""
        ratings = self.ratings
        measured = self._measured(Grouping.together(ratings))
        sums = measured.observed()
        values = measured.values(sums)
        resampled = self.inference.resampled(measured, "all") if self.settings.bootstrap else None
        sizes = (ratings.n_raters, ratings.n_items, len(ratings))
        rows = []
        for kind, records, n_raters in (("overall", measured.tested, sizes[0]), ("beside", measured.beside, None)):
            columns = [one for one in _columns(measured, records) if _of_group(one[1])]
            notes = {name: measured.why(name, sums, values, 0, n_raters) for _, name in columns}
            interval = self.inference.interval(resampled)
            rows += self.inference.rows(kind, "all", ("all",), columns, values[0], [sizes], [notes], interval)
        return rows + self._whole("all", "all", np.ones(ratings.n_raters, bool), sizes)

    def axis(self, axis: Axis) -> Found:
        """Return the rows of an axis, DSI among them, and its draws."""
        measured = self._measured(self._grouping(axis))
        sums = measured.observed()
        values = measured.values(sums)
        shown = np.flatnonzero(~axis.withheld)
        null = self.inference.null(measured, axis.name)[:, shown]
        resampled = self.inference.resampled(measured, axis.name)[:, shown] if self.settings.bootstrap else None
        observed = values[0, shown]
        test = self.inference.test(observed[:, : len(measured.tested)], null)
        interval = self.inference.interval(resampled)
        sizes = _sizes(self.ratings, axis)
        rows = []
        for kind, records in (("group", measured.tested), ("beside", measured.beside)):
            columns = _columns(measured, records)
            notes = [
                {name: measured.why(name, sums, values, g, int(axis.sizes[g])) for _, name in columns}
                for g in shown.tolist()
            ]
            rows += self.inference.rows(
                kind, axis.name, axis.shown, columns, observed, [sizes[group] for group in axis.shown], notes,
                interval, test if kind == "group" else None,
            )  # fmt: skip
        for group in axis.shown:
            rows += self._whole(axis.name, group, axis.codes == axis.groups.index(group), sizes[group])
        warn_apart(self.ratings, axis)
        rows += self._dsi(axis.name, axis.shown, observed, null, rows)
        names, both = _names(measured.tested), _names((*measured.tested, *measured.beside))
        kept = np.zeros((0, len(shown), len(both))) if resampled is None else resampled
        return Found(rows, Draws(axis.name, axis.shown, names, null, both, kept))

    def values(self, name: str, axes: Sequence[Axis]) -> Found:
        """Return the rows of overlapping groups, each the first of two on an axis of its own, and their draws."""
        names = _names(of_role("tested"))
        both = names + _names(of_role("beside"))
        rows, draws, _ = self.inference.overlapping(name, axes, self.axis, names, both)
        observed = np.array(
            [[row.value for row in rows if row.group == group and row.kind == "group"] for group in draws.groups]
        ).reshape(len(draws.groups), len(names))
        return Found([*rows, *self._dsi(name, draws.groups, observed, draws.null, rows)], draws)

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
        pair = Pair.of(axis, groups)
        measured = self._measured(self._grouping(axis, pair.among))
        values = measured.values(measured.observed())[0, :, : len(measured.tested)]
        null = self.inference.null(measured, pair.what)
        resampled = self.inference.resampled(measured, pair.what) if self.settings.bootstrap else null
        columns = _columns(measured, measured.tested)
        first, second = (_sizes(self.ratings, axis)[group] for group in groups)
        sizes = (first[0] + second[0], self.ratings.n_items, first[2] + second[2])
        return self.inference.contrast("contrast", pair, columns, values, null, pair.difference(resampled), sizes)

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
        for a, b in combinations(shown, 2):
            rows.append(self._crossed(axis, a, b, sizes))
        return rows

    def _crossed(self, axis: Axis, a: int, b: int, sizes: dict[str, Sizes]) -> Row:
        """Return XRR of two groups."""
        at, first, second = place_of("xrr"), axis.groups[a], axis.groups[b]
        codes = np.select([axis.codes == a, axis.codes == b], [0, 1], -1).astype(np.int32)
        measured = self._measured(Grouping.of(self.ratings, codes, 2, self.strata))
        sums = measured.observed()
        values = measured.values(sums)
        notes = {"xrr": measured.why("xrr", sums, values, 0, int(axis.sizes[a]))}
        test = None
        if self.settings.permutations:
            null = self.inference.null(measured, f"{axis.name}: {first} and {second}")
            test = self.inference.test(values[0, :1, : len(measured.tested)], null[:, :1])
        n_raters, n_items, n_ratings = (one + other for one, other in zip(sizes[first], sizes[second], strict=True))
        (row,) = self.inference.rows(
            "pair", axis.name, (first,), [(at, "xrr")], values[0, :1], [(n_raters, n_items, n_ratings)], [notes],
            test=test,
        )  # fmt: skip
        return replace(row, other=second)

    def _whole(self, axis: str, group: str, chosen: NDArray[np.bool_], sizes: Sizes) -> list[Row]:
        """Return the statistics of a group that are not sums over items."""
        records = of_role("whole")
        scores = scores_of(self.ratings, chosen & raters_who_rated(self.ratings)) if records else None
        rows = []
        for record in records:
            assert record.whole is not None
            value, note = (math.nan, TOO_MANY) if scores is None else record.whole(scores)
            rows.append(Row("beside", axis, group, record.name, value, note=note).with_sizes(*sizes))
        return rows

    def _grouping(self, axis: Axis, among: NDArray[np.bool_] | None = None) -> Grouping:
        return Grouping.of(self.ratings, axis.codes, len(axis), self.strata, among)

    def _measured(self, grouping: Grouping) -> Measured:
        wanted = self.settings
        return Measured.of(
            self.ratings, grouping, level=self.level, published=wanted.convention == "published", ties=wanted.ties,
            seed=wanted.seed,
        )  # fmt: skip


def _of_group(name: str) -> bool:
    """Tell whether a statistic is a property of a group alone, without a rest."""
    return STATISTICS[name].needs == "group"


def _columns(measured: Measured, records: Sequence[Statistic]) -> list[tuple[int, str]]:
    """Return where some statistics stand among the values, and their names."""
    return [(at, one.name) for at, one in enumerate((*measured.tested, *measured.beside)) if one in records]


def _names(records: Sequence[Statistic]) -> tuple[str, ...]:
    return tuple(record.name for record in records)


def _sizes(ratings: Ratings, axis: Axis) -> dict[str, Sizes]:
    """Return raters, items and ratings of each group."""
    group = axis.codes[ratings.codes_of_raters]
    inside = group >= 0
    n_ratings = np.bincount(group[inside], minlength=len(axis))
    cells = np.unique(group[inside].astype(np.int64) * ratings.n_items + ratings.item_codes[inside])
    n_items = np.bincount(cells // max(ratings.n_items, 1), minlength=len(axis))
    return {name: (int(axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g, name in enumerate(axis.groups)}
