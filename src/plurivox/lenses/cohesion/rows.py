"""The rows of a cohesion result: all raters, the groups of an axis, contrasts and pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws as Shuffles
from plurivox.engine.pool import Running
from plurivox.engine.run import Values
from plurivox.infer.call import Comparison, MeasuredGroups
from plurivox.infer.families import corrected, standardised
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.inference import Shuffled, Sizes
from plurivox.infer.intervals import Interval
from plurivox.infer.permutation import Maximum, max_t, upper_p
from plurivox.infer.result import AxisDraws, Row
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.lenses.cohesion.sums import TOO_MANY, GroupAgreement, place_of, scores_of, tested_with
from plurivox.statistics.checks import Level
from plurivox.statistics.records import Statistic
from plurivox.statistics.registry import STATISTICS, of_role

NOT_WEIGHTED = "it counts all raters equally"
"""The note on a value that does not use the weights of raters."""


@dataclass(frozen=True, eq=False)
class Agreeing(Comparison):
    """How far the groups of a call agree."""

    settings: CohesionSettings
    level: Level

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics that are tested."""
        return tuple(record.name for record in tested_with(self.settings.gai))

    @property
    def mirrored(self) -> tuple[str, ...]:
        """Those that say the same about both of two groups."""
        return tuple(name for name in self.names if STATISTICS[name].symmetric)

    def measure(self, grouping: Grouping, *, alike: bool = False) -> GroupAgreement:
        """Measure all statistics of some groups; weights are those of the grouping."""
        asked = self.settings
        return GroupAgreement.of(
            self.ratings, grouping, level=self.level, published=asked.convention == "published", ties=asked.ties,
            seed=asked.seed, gai=asked.gai,
        )  # fmt: skip

    def overall(self) -> list[Row]:
        """Return the rows of all raters together, who have no rest."""
        ratings = self.ratings
        grouping = Grouping.together(ratings)
        measured, plain = self.measure(grouping), self.unweighted(grouping)
        interval = self.inference.spread(measured, "all").interval((*measured.tested, *measured.beside))
        sizes = (ratings.n_raters, ratings.n_items, len(ratings))
        rows = []
        for kind, records, n_raters in (("overall", measured.tested, sizes[0]), ("beside", measured.beside, None)):
            columns = [one for one in _columns(measured, records) if _of_group(one[1])]
            notes = {name: measured.why(name, 0, n_raters) for _, name in columns}
            rows += self.inference.rows(
                kind, "all", ("all",), columns, measured.value, [sizes], [notes], interval, unweighted=plain
            )
        return rows + self._whole("all", "all", np.ones(ratings.n_raters, bool), sizes)

    def found(self, name: str, prepared: Sequence[MeasuredGroups]) -> tuple[list[Row], AxisDraws]:
        """Return the rows of the groups of an axis, and its draws."""
        rows: list[Row] = []
        records = (*tested_with(self.settings.gai), *of_role("beside"))
        names, both = self.names, tuple(record.name for record in records)
        kept = [np.zeros((self.settings.bootstrap, 0, len(both)))]
        null = [np.zeros((max([len(one.tested.null) for one in prepared], default=0), 0, len(names)))]
        for one in prepared:
            spread = self.inference.spread(one.measured, one.axis.name).of(one.places)
            rows += self._rows(name, one, spread.interval(records))
            null.append(one.tested.null)
            kept.append(spread.kept(len(one.places), len(both)))
        draws = AxisDraws(
            name, tuple(group for one in prepared for group in one.groups), names, np.concatenate(null, axis=1), both,
            np.concatenate(kept, axis=1),
        )  # fmt: skip
        return rows, draws

    def _rows(self, name: str, one: MeasuredGroups, interval: Interval | None) -> list[Row]:
        """Return the rows of some groups."""
        sizes = _sizes(self.ratings, one.axis)
        rows: list[Row] = []
        for kind, records in (("group", one.measured.tested), ("beside", one.measured.beside)):
            columns = _columns(one.measured, records)
            notes = [
                {name: one.measured.why(name, g, int(one.axis.sizes[g])) for _, name in columns} for g in one.places
            ]
            rows += self.inference.rows(
                kind, name, one.groups, columns, one.measured.value[one.places], [sizes[group] for group in one.groups],
                notes, interval, one.tested if kind == "group" else None,
                None if one.unweighted is None else one.unweighted[one.places],
            )  # fmt: skip
        for g in one.places:
            rows += self._whole(name, one.axis.groups[g], one.axis.codes == g, sizes[one.axis.groups[g]])
        return rows

    # Which axis divides most ------------------------------------------------------------------------------------------

    def dsi(
        self, prepared: Mapping[str, Sequence[MeasuredGroups]], rows: Sequence[Row], adjusted: NDArray[np.float64]
    ) -> list[Row]:
        """Return the largest GAI of each axis with a p-value of its own, raw and standardised.

        In the published convention, the raw maximum has the p-values of its group. ``adjusted`` holds the corrected
        p-value of each axis, if there are any.
        """
        found = []
        for (name, each), p in zip(
            prepared.items(), adjusted if len(adjusted) else [math.nan] * len(prepared), strict=True
        ):
            shown = [group for one in each for group in one.groups]
            null = [np.zeros((len(each[0].tested.null) if each else 0, 0)), *(gai_of(one)[1] for one in each)]
            raw, scaled = max_t(
                np.concatenate([np.zeros(0), *(gai_of(one)[0] for one in each)]), np.concatenate(null, axis=1)
            )
            found.append(self._dsi_row(name, "dsi", raw, shown, rows, float(p)))
            if self.settings.permutations:
                found.append(self._dsi_row(name, "dsi_standardised", scaled, shown, rows, None))
        if self.settings.correction != "maxt":
            corrected(found, self.settings.correction)
        if self.settings.convention == "published":
            found = [_of_winner(row, rows) if row.statistic == "dsi" else row for row in found]
        # An axis is only said to divide raters where one of its groups stands apart, so that the family is not tested
        # twice.
        apart = {row.axis for row in rows if row.claim and row.statistic == "gai"}
        return [
            row.with_claim(row.axis in apart and self.inference.claims(row)) if row.tested else row for row in found
        ]

    def dsi_adjusted(self, prepared: Mapping[str, Sequence[MeasuredGroups]]) -> NDArray[np.float64]:
        """Return each axis's p-value from the largest standardised GAI of all axes in each shuffle."""
        each = [(name, one) for name, several in prepared.items() for one in several]
        z, draws = standardised(
            np.concatenate([gai_of(one)[0] for _, one in each]),
            np.concatenate([gai_of(one)[1] for _, one in each], axis=1),
        )
        owner = np.repeat([name for name, _ in each], [len(one.places) for _, one in each])
        largest = np.fmax.reduce(draws, axis=1, initial=np.nan)
        return np.array([float(upper_p(_top(z[owner == name]), largest)) for name in prepared])

    def _dsi_row(
        self, name: str, statistic: str, maximum: Maximum, shown: Sequence[str], rows: Sequence[Row],
        adjusted: float | None,
    ) -> Row:  # fmt: skip
        group = shown[maximum.index] if maximum.index >= 0 else ""
        own = next((row for row in rows if (row.axis, row.group) == (name, group)), None)
        gai = [row.unweighted for row in rows if row.axis == name and row.statistic == "gai" and row.kind == "group"]
        plain = [value for value in gai if value is not None] if statistic == "dsi" else []
        row = Row(
            "dsi", name, group, statistic, maximum.value, unweighted=_top(np.array(plain)) if plain else None,
            n_raters=own.n_raters if own else 0, n_items=own.n_items if own else 0,
            n_ratings=own.n_ratings if own else 0, note="" if group else "no group of this axis has a GAI",
        )  # fmt: skip
        if not self.settings.permutations:
            return row
        median = float(np.nanmedian(maximum.null)) if np.isfinite(maximum.null).any() else None
        n = len(maximum.null)
        return replace(row, p_value=maximum.p_value, null_median=median, p_adjusted=adjusted, n_permutations=n)

    # Two groups -------------------------------------------------------------------------------------------------------

    def contrast(self, axis: Axis, groups: tuple[str, str]) -> list[Row]:
        """Return the difference of two groups; only their raters are shuffled, and only with each other."""
        pair, two = self.difference(axis, groups)
        measured = two.measured
        self.inference.decide([two.tested])
        spread = self.inference.spread(measured, pair.what).made(pair.difference)
        interval = spread.difference(len(measured.tested) + len(measured.beside))
        first, second = (_sizes(self.ratings, axis)[group] for group in groups)
        sizes = (first[0] + second[0], self.ratings.n_items, first[2] + second[2])
        columns = _columns(measured, measured.tested)
        return self.inference.contrast(pair, columns, sizes, interval, two.tested, unweighted=two.unweighted)

    def pairs(self, axes: Sequence[Axis]) -> list[Row]:
        """Return XRR of every pair of groups of each axis, with the IRR of each group on the diagonal."""
        found = [self._alone(axis) for axis in axes]
        crossed = [
            [self._crossed(axis, a, b) for a, b in combinations(np.flatnonzero(~axis.withheld).tolist(), 2)]
            for axis in axes
        ]
        self.inference.decide([one.tested for each in crossed for one in each], further=False)
        for rows, each in zip(found, crossed, strict=True):
            rows += [one.row(self) for one in each]
        return [row for rows in found for row in rows]

    def _alone(self, axis: Axis) -> list[Row]:
        """Return the IRR of each group of an axis."""
        grouping, at = Grouping.of(self.ratings, axis.codes, len(axis)), place_of("irr")
        values, plain = self.measure(grouping).value, self.unweighted(grouping)
        shown, sizes = np.flatnonzero(~axis.withheld).tolist(), _sizes(self.ratings, axis)
        return [
            Row(
                "pair", axis.name, name, "irr", float(values[g, at]), other=name,
                unweighted=None if plain is None else float(plain[g, at]),
            ).with_sizes(*sizes[name])
            for g, name in ((g, axis.groups[g]) for g in shown)
        ]  # fmt: skip

    def _crossed(self, axis: Axis, a: int, b: int) -> PairAgreement:
        """Prepare XRR of two groups."""
        codes = np.select([axis.codes == a, axis.codes == b], [0, 1], -1).astype(np.int32)
        grouping = Grouping.of(self.ratings, codes, 2, self.inference.exchange.strata)
        measured, at = self.measure(grouping), place_of("xrr")
        note = measured.why("xrr", 0, int(axis.sizes[a]))

        def make(shuffles: Shuffles, how: Running) -> Values:
            return measured.null(shuffles, how)[:, :1, [at]]

        what = f"{axis.name}: {axis.groups[a]} and {axis.groups[b]}"
        tested = Shuffled(what, ("xrr",), measured.value[:1, [at]], make, ~grouping.exchangeable[:1])
        plain = self.unweighted(grouping)
        return PairAgreement(axis, a, b, note, tested, None if plain is None else plain[:1, [at]])

    def _whole(self, axis: str, group: str, chosen: NDArray[np.bool_], sizes: Sizes) -> list[Row]:
        """Return the statistics of a group that are not sums over items."""
        records = of_role("whole")
        scores = scores_of(self.ratings, chosen & raters_who_rated(self.ratings)) if records else None
        rows = []
        for record in records:
            assert record.whole is not None
            value, note = (math.nan, TOO_MANY) if scores is None else record.whole(scores)
            if self.ratings.weights is not None:
                note = f"{note}; {NOT_WEIGHTED}" if note else NOT_WEIGHTED
            rows.append(Row("beside", axis, group, record.name, value, note=note).with_sizes(*sizes))
        return rows


@dataclass(frozen=True, slots=True, eq=False)
class PairAgreement:
    """XRR of two groups, ready to be tested."""

    axis: Axis
    a: int
    b: int
    note: str
    tested: Shuffled
    unweighted: Values | None

    def row(self, work: Agreeing) -> Row:
        """Return the row of the pair."""
        sizes = _sizes(work.ratings, self.axis)
        first, second = self.axis.groups[self.a], self.axis.groups[self.b]
        n_raters, n_items, n_ratings = (one + other for one, other in zip(sizes[first], sizes[second], strict=True))
        (row,) = work.inference.rows(
            "pair", self.axis.name, (first,), [(0, "xrr")], self.tested.observed, [(n_raters, n_items, n_ratings)],
            [{"xrr": self.note}], tested=self.tested, unweighted=self.unweighted,
        )  # fmt: skip
        return replace(row, other=second)


def _of_winner(row: Row, rows: Sequence[Row]) -> Row:
    """Return a DSI with the p-values of the GAI that it equals."""
    for own in rows:
        if (own.kind, own.axis, own.group, own.statistic) == ("group", row.axis, row.group, "gai"):
            return replace(
                row, p_value=own.p_value, p_adjusted=own.p_adjusted, null_median=own.null_median,
                direction=own.direction, n_permutations=own.n_permutations,
            )  # fmt: skip
    return row


def gai_of(one: MeasuredGroups) -> tuple[Values, Values]:
    """Return GAI of each group, and under each shuffle, draws × groups."""
    at = place_of("gai")
    return one.tested.observed[:, at], one.tested.null[:, :, at]


def _top(z: Values) -> float:
    """Return the largest defined value, NaN if there is none."""
    return float(np.fmax.reduce(z, initial=np.nan))


def _of_group(name: str) -> bool:
    """Return whether a statistic is a property of a group alone, without a rest."""
    return STATISTICS[name].needs == "group"


def _columns(measured: GroupAgreement, records: Sequence[Statistic]) -> list[tuple[int, str]]:
    """Return the positions of some statistics among the values, and their names."""
    return [(at, one.name) for at, one in enumerate((*measured.tested, *measured.beside)) if one in records]


def _sizes(ratings: Ratings, axis: Axis) -> dict[str, Sizes]:
    """Return raters, items and ratings of each group."""
    n_items, n_ratings = ratings.sizes(axis.codes, len(axis))
    return {name: (int(axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g, name in enumerate(axis.groups)}
