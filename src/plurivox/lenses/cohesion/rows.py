"""The rows of a cohesion result: all raters, the groups of an axis, contrasts and pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws as Shuffles
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values
from plurivox.infer.families import corrected, standardised
from plurivox.infer.grouping import Compared, Grouping, raters_who_rated
from plurivox.infer.held import held
from plurivox.infer.inference import Inference, Pair, Shuffled, Sizes
from plurivox.infer.intervals import Interval
from plurivox.infer.permutation import Maximum, max_t, upper_p
from plurivox.infer.result import Draws, Row
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.lenses.cohesion.sums import TOO_MANY, Measured, place_of, scores_of, tested_with
from plurivox.statistics.checks import Level
from plurivox.statistics.records import Statistic
from plurivox.statistics.registry import STATISTICS, of_role

NOT_WEIGHTED = "it counts all raters equally"
"""The note on a value that does not use the weights of raters."""


class Found(NamedTuple):
    """Rows of an axis, and its draws."""

    rows: list[Row]
    draws: Draws


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The groups of an axis that are shown, measured and ready to be tested."""

    axis: Axis
    places: list[int]
    measured: Measured
    sums: Sums
    values: Values
    tested: Shuffled
    unweighted: Values | None

    @property
    def groups(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.axis.groups[g] for g in self.places)

    @property
    def gai(self) -> Values:
        """GAI of each group."""
        return self.tested.observed[:, place_of("gai")]

    @property
    def null_gai(self) -> Values:
        """GAI under each shuffle, draws × groups."""
        return self.tested.null[:, :, place_of("gai")]


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One call of :func:`plurivox.cohesion`: what all of its axes share."""

    ratings: Ratings
    level: Level
    settings: CohesionSettings
    inference: Inference

    def overall(self) -> list[Row]:
        """Return the rows of all raters together, who have no rest."""
        ratings = self.ratings
        grouping = Grouping.together(ratings)
        measured, plain = self._measured(grouping), self._unweighted(grouping)
        sums = measured.observed()
        values = measured.values(sums)
        interval = self.inference.spread(measured, "all").interval((*measured.tested, *measured.beside))
        sizes = (ratings.n_raters, ratings.n_items, len(ratings))
        rows = []
        for kind, records, n_raters in (("overall", measured.tested, sizes[0]), ("beside", measured.beside, None)):
            columns = [one for one in _columns(measured, records) if _of_group(one[1])]
            notes = {name: measured.why(name, sums, values, 0, n_raters) for _, name in columns}
            rows += self.inference.rows(
                kind, "all", ("all",), columns, values[0], [sizes], [notes], interval, unweighted=plain
            )
        return rows + self._whole("all", "all", np.ones(ratings.n_raters, bool), sizes)

    def prepare(self, one: Compared) -> list[Prepared]:
        """Measure the groups of an axis; overlapping groups are each the first group of an axis of their own."""
        found = []
        for (whole, _), (axis, places) in zip(one.shown, one.told, strict=True):
            self.inference.check(self.ratings, one.axis.name, self._grouping(whole))
            found.append(self._prepared(axis, places, one))
        return found

    def _prepared(self, axis: Axis, places: list[int], one: Compared) -> Prepared:
        grouping = self._grouping(axis)
        measured = self._measured(grouping)
        sums = measured.observed()
        values = measured.values(sums)
        names = _names(measured.tested)
        mirrored = tuple(
            name for name in names if len(axis) == 2 and not one.overlapping and STATISTICS[name].symmetric
        )
        observed = values[0, :, : len(names)]
        tested = self.inference.shuffled(measured, grouping, names, observed, places, axis.name, mirrored)
        return Prepared(axis, places, measured, sums, values, tested, self._unweighted(grouping))

    def found(self, name: str, prepared: Sequence[Prepared]) -> Found:
        """Return the rows of the groups of an axis, and its draws."""
        rows: list[Row] = []
        tested = tested_with(self.settings.gai)
        names = _names(tested)
        both = names + _names(of_role("beside"))
        kept = [np.zeros((self.settings.bootstrap, 0, len(both)))]
        records = (*tested, *of_role("beside"))
        null = [np.zeros((max([len(one.tested.null) for one in prepared], default=0), 0, len(names)))]
        for one in prepared:
            spread = self.inference.spread(one.measured, one.axis.name).of(one.places)
            rows += self._rows(name, one, spread.interval(records))
            null.append(one.tested.null)
            kept.append(spread.kept(len(one.places), len(both)))
        draws = Draws(
            name, tuple(group for one in prepared for group in one.groups), names, np.concatenate(null, axis=1), both,
            np.concatenate(kept, axis=1),
        )  # fmt: skip
        return Found(rows, draws)

    def _rows(self, name: str, one: Prepared, interval: Interval | None) -> list[Row]:
        """Return the rows of some groups."""
        sizes = _sizes(self.ratings, one.axis)
        rows: list[Row] = []
        for kind, records in (("group", one.measured.tested), ("beside", one.measured.beside)):
            columns = _columns(one.measured, records)
            notes = [
                {name: one.measured.why(name, one.sums, one.values, g, int(one.axis.sizes[g])) for _, name in columns}
                for g in one.places
            ]
            rows += self.inference.rows(
                kind, name, one.groups, columns, one.values[0, one.places], [sizes[group] for group in one.groups],
                notes, interval, one.tested if kind == "group" else None,
                None if one.unweighted is None else one.unweighted[one.places],
            )  # fmt: skip
        for g in one.places:
            rows += self._whole(name, one.axis.groups[g], one.axis.codes == g, sizes[one.axis.groups[g]])
        return rows

    # Which axis divides most ------------------------------------------------------------------------------------------

    def dsi(
        self, prepared: Mapping[str, Sequence[Prepared]], rows: Sequence[Row], adjusted: NDArray[np.float64]
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
            null = [np.zeros((len(each[0].tested.null) if each else 0, 0)), *(one.null_gai for one in each)]
            raw, scaled = self._largest(
                np.concatenate([np.zeros(0), *(one.gai for one in each)]), np.concatenate(null, axis=1)
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

    def _largest(self, gai: Values, null: Values) -> list[Maximum]:
        """Test the largest GAI of an axis, raw and standardised."""
        looks = self.inference.looks
        at_looks = [max_t(gai, null[:n]) for n in looks.until(len(null))]
        return [
            replace(each[-1], p_value=float(looks.told([one.p_value for one in each], len(null))))
            for each in zip(*at_looks, strict=True)
        ]

    def dsi_adjusted(self, prepared: Mapping[str, Sequence[Prepared]]) -> NDArray[np.float64]:
        """Return each axis's p-value from the largest standardised GAI of all axes in each shuffle."""
        each = [(name, one) for name, several in prepared.items() for one in several]
        z, draws = standardised(
            np.concatenate([one.gai for _, one in each]), np.concatenate([one.null_gai for _, one in each], axis=1)
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

    # Correlated attributes --------------------------------------------------------------------------------------------

    def held(self, prepared: Mapping[str, Sequence[Prepared]], rows: Sequence[Row]) -> list[Row]:
        """Test claims about groups again, within each other attribute of the call."""
        return held(
            self.inference, self.ratings, self.settings.by, rows,
            {(name, group): one for name, each in prepared.items() for one in each for group in one.groups},
            lambda one, strata: self._measured(Grouping.of(self.ratings, one.axis.codes, len(one.axis), strata)),
        )  # fmt: skip

    # Two groups -------------------------------------------------------------------------------------------------------

    def contrast(self, axis: Axis, groups: tuple[str, str]) -> list[Row]:
        """Return the difference of two groups; only their raters are shuffled, and only with each other."""
        pair = Pair.of(axis, groups)
        grouping = self._grouping(axis, pair.among)
        measured = self._measured(grouping)
        names = _names(measured.tested)
        observed = pair.difference(measured.values(measured.observed())[0, :, : len(names)])

        def make(shuffles: Shuffles, how: Running) -> Values:
            return pair.difference(measured.null(shuffles, how))

        tested = Shuffled(pair.what, names, observed, make, ~grouping.exchangeable[[pair.a]])
        self.inference.decide([tested])
        spread = self.inference.spread(measured, pair.what).made(pair.difference)
        interval = spread.difference(len(measured.tested) + len(measured.beside))
        first, second = (_sizes(self.ratings, axis)[group] for group in groups)
        sizes = (first[0] + second[0], self.ratings.n_items, first[2] + second[2])
        plain = self._unweighted(grouping)
        return self.inference.contrast(
            pair, _columns(measured, measured.tested), sizes, interval, tested,
            unweighted=None if plain is None else pair.difference(plain),
        )  # fmt: skip

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
        own, plain = self._measured(grouping), self._unweighted(grouping)
        values = own.values(own.observed())[0]
        shown, sizes = np.flatnonzero(~axis.withheld).tolist(), _sizes(self.ratings, axis)
        return [
            Row(
                "pair", axis.name, name, "irr", float(values[g, at]), other=name,
                unweighted=None if plain is None else float(plain[g, at]),
            ).with_sizes(*sizes[name])
            for g, name in ((g, axis.groups[g]) for g in shown)
        ]  # fmt: skip

    def _crossed(self, axis: Axis, a: int, b: int) -> Crossed:
        """Prepare XRR of two groups."""
        codes = np.select([axis.codes == a, axis.codes == b], [0, 1], -1).astype(np.int32)
        grouping = Grouping.of(self.ratings, codes, 2, self.inference.exchange.strata)
        measured = self._measured(grouping)
        sums = measured.observed()
        values = measured.values(sums)
        note = measured.why("xrr", sums, values, 0, int(axis.sizes[a]))
        at = place_of("xrr")

        def make(shuffles: Shuffles, how: Running) -> Values:
            return measured.null(shuffles, how)[:, :1, [at]]

        what = f"{axis.name}: {axis.groups[a]} and {axis.groups[b]}"
        tested = Shuffled(what, ("xrr",), values[0, :1, [at]].T, make, ~grouping.exchangeable[:1])
        plain = self._unweighted(grouping)
        return Crossed(axis, a, b, note, tested, None if plain is None else plain[:1, [at]])

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

    def _grouping(self, axis: Axis, among: NDArray[np.bool_] | None = None) -> Grouping:
        return Grouping.of(self.ratings, axis.codes, len(axis), self.inference.exchange.strata, among)

    def _unweighted(self, grouping: Grouping) -> Values | None:
        """Return the values with all raters counted equally, groups × statistics; None if raters have no weights."""
        if not len(grouping.weights):
            return None
        measured = self._measured(replace(grouping, weights=np.zeros(0)))
        return np.asarray(measured.values(measured.observed())[0])

    def _measured(self, grouping: Grouping) -> Measured:
        wanted = self.settings
        return Measured.of(
            self.ratings, grouping, level=self.level, published=wanted.convention == "published", ties=wanted.ties,
            seed=wanted.seed, gai=wanted.gai,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Crossed:
    """XRR of two groups, ready to be tested."""

    axis: Axis
    a: int
    b: int
    note: str
    tested: Shuffled
    unweighted: Values | None

    def row(self, work: Analysis) -> Row:
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


def _top(z: Values) -> float:
    """Return the largest defined value, NaN if there is none."""
    return float(np.fmax.reduce(z, initial=np.nan))


def _of_group(name: str) -> bool:
    """Return whether a statistic is a property of a group alone, without a rest."""
    return STATISTICS[name].needs == "group"


def _columns(measured: Measured, records: Sequence[Statistic]) -> list[tuple[int, str]]:
    """Return the positions of some statistics among the values, and their names."""
    return [(at, one.name) for at, one in enumerate((*measured.tested, *measured.beside)) if one in records]


def _names(records: Sequence[Statistic]) -> tuple[str, ...]:
    return tuple(record.name for record in records)


def _sizes(ratings: Ratings, axis: Axis) -> dict[str, Sizes]:
    """Return raters, items and ratings of each group."""
    n_items, n_ratings = ratings.sizes(axis.codes, len(axis))
    return {name: (int(axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g, name in enumerate(axis.groups)}
