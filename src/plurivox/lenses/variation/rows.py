"""The rows of a variation result: groups compared with the others, contrasts and pairs, on one set of items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import OUTSIDE, Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.run import Values
from plurivox.infer.grouping import Compared, Grouping
from plurivox.infer.held import held
from plurivox.infer.inference import Inference, Pair, Shuffled, Sizes
from plurivox.infer.intervals import Interval
from plurivox.infer.jackknife import LeftOut
from plurivox.infer.result import Draws, Row
from plurivox.infer.spread import Spread
from plurivox.infer.weighting import tells_unweighted
from plurivox.lenses.variation.drift import MOST_RATERS, Drifting
from plurivox.lenses.variation.settings import VariationSettings
from plurivox.lenses.variation.sums import COMPARED, Finish, Measured
from plurivox.statistics.records import Statistic
from plurivox.statistics.registry import STATISTICS, of_role

NOTHING_SHARED = "no item was rated by this group and by others"


@dataclass(frozen=True, eq=False)
class Prepared:
    """The groups of an axis that are shown, measured and ready to be tested."""

    axis: Axis
    places: list[int]
    measured: Measured
    values: Values
    tested: Shuffled

    @property
    def groups(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.axis.groups[g] for g in self.places)

    @property
    def sizes(self) -> list[Sizes]:
        """Raters, items that others also rated, and ratings of each group of the axis."""
        from plurivox.kernels.variation import RATINGS, SHARED

        sums = self.measured.plain.observed["groups"][0]
        return [
            (int(n), int(own[SHARED]), int(own[RATINGS])) for n, own in zip(self.axis.sizes.tolist(), sums, strict=True)
        ]

    @property
    def unweighted(self) -> Values | None:
        """The unweighted values of the groups shown; None without weights, or if they would reveal too much.

        Where raters are weighted by an attribute with a withheld group, the weighted and the unweighted mean would be
        two equations for the mean of that group.
        """
        if not tells_unweighted(self.measured.ratings, self.axis.min_group_size):
            return None
        return Finish(np.zeros(0, np.int32))(self.measured.plain.observed)[0, self.places]

    @property
    def notes(self) -> list[dict[str, str]]:
        """Why values of the groups that are shown are undefined."""
        return [
            dict.fromkeys(COMPARED, NOTHING_SHARED) if np.isnan(self.values[g, 0]) else {} for g in self.places
        ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class Versus:
    """Two groups of an axis, each the other's rest, ready to be tested."""

    axis: Axis
    names: tuple[str, str]
    prepared: Prepared


@dataclass(frozen=True, eq=False)
class Analysis:
    """One call of :func:`plurivox.variation` on one set of items: what all of its axes share."""

    ratings: Ratings
    settings: VariationSettings
    inference: Inference

    @cached_property
    def records(self) -> tuple[Statistic, ...]:
        """The statistics of a group compared with the others."""
        return of_role("higher")

    def prepare(self, one: Compared) -> list[Prepared]:
        """Measure the groups of an axis; overlapping groups are each the first group of an axis of their own."""
        found = []
        for (whole, _), (axis, places) in zip(one.shown, one.told, strict=True):
            self.inference.check(self.ratings, one.axis.name, self._grouping(whole))
            found.append(self._prepared(axis, places, self._grouping(axis)))
        return found

    def _prepared(self, axis: Axis, places: list[int], grouping: Grouping) -> Prepared:
        measured = Measured(self.ratings, grouping)
        values = Finish(np.zeros(0, np.int32))(measured.observed)[0]
        mirrored = COMPARED if len(axis) == 2 else ()
        tested = self.inference.shuffled(measured, grouping, COMPARED, values, places, axis.name, mirrored)
        return Prepared(axis, places, measured, values, tested)

    def versus(self, axis: Axis, names: tuple[str, str]) -> Versus:
        """Compare two groups; only their raters are shuffled, and only with each other."""
        pair = Pair.of(axis, names)
        codes = np.select([axis.codes == pair.a, axis.codes == pair.b], [0, 1], -1).astype(np.int32)
        grouping = Grouping.of(self.ratings, codes, 2, self.inference.exchange.strata)
        two = replace(axis, groups=names, codes=codes, sizes=axis.sizes[[pair.a, pair.b]], withheld=np.zeros(2, bool))
        return Versus(axis, names, self._prepared(two, [0], grouping))

    # Rows -------------------------------------------------------------------------------------------------------------

    def left_out(self, one: Prepared) -> LeftOut | None:
        """Return all values without each item and rater, including components of variance, if intervals are wanted.

        All raters count equally there.
        """
        return self._left_out(one.measured.plain, one.axis.name)

    def _left_out(self, measured: Measured, what: str) -> LeftOut | None:
        asked = self.settings
        if asked.interval == "none":
            return None
        return measured.left_out(asked.resample, self.inference.doing(f"resampling {what}"))

    def among_shown(self, one: Prepared, left: LeftOut | None) -> tuple[Measured, LeftOut | None]:
        """Return the sums from which components of variance are computed, without raters of withheld groups.

        They add up squares of the sums of all groups, which together with the groups shown would give the sums of a
        small one. Where a single group is shown, those withheld are merged into one, which reveals nothing new.
        """
        axis = one.axis
        if axis.overlaps or not axis.withheld.any() or len(one.places) < 2:
            return one.measured.plain, left
        codes = np.where(axis.codes == len(axis) - 1, OUTSIDE, axis.codes).astype(np.int32)  # those withheld are last
        shown = replace(one, measured=Measured(self.ratings, Grouping.of(self.ratings, codes, len(axis))))
        return shown.measured.plain, self.left_out(shown)

    def spread(self, one: Prepared, left: LeftOut | None) -> Spread:
        """Return what the compared values become with other items or raters, of the groups that are shown."""
        asked = self.settings
        if asked.interval == "bootstrap":
            how = self.inference.doing(f"resampling {one.axis.name}")
            return Spread(one.measured.bootstrap(asked.bootstrap, asked.seed, asked.resample, how)).of(one.places)
        if one.measured.weighted:
            left = self._left_out(one.measured, f"{one.axis.name}, weighted")
        if left is None:
            return Spread()
        return Spread(left=left).made(lambda values: values[..., one.places, : len(COMPARED)])

    def rows(self, name: str, one: Prepared, interval: Interval | None, kind: str = "group") -> list[Row]:
        """Return the rows of the groups of an axis that are shown."""
        sizes = one.sizes
        return self.inference.rows(
            kind, name, one.groups, self._columns, one.values[one.places], [sizes[g] for g in one.places], one.notes,
            interval, one.tested, one.unweighted,
        )  # fmt: skip

    def draws(self, name: str, prepared: Sequence[Prepared], spreads: Sequence[Spread]) -> Draws:
        """Return the draws behind the groups of an axis, those of each value sorted.

        Anyone who knows which shuffle gave which leniency has one equation per shuffle, and so every rater's mean.
        """
        n, kept = len(COMPARED), self.settings.bootstrap
        null = [np.zeros((max([len(one.tested.null) for one in prepared], default=0), 0, n))]
        null += [one.tested.null for one in prepared]
        drawn = [np.zeros((kept, 0, n))]
        if kept:
            drawn += [own.kept(len(one.places), n) for one, own in zip(prepared, spreads, strict=True)]
        groups = tuple(group for one in prepared for group in one.groups)
        return Draws(
            name, groups, COMPARED, np.sort(np.concatenate(null, axis=1), axis=0), COMPARED,
            np.sort(np.concatenate(drawn, axis=1), axis=0), self.inference.subset,
        )  # fmt: skip

    def compared(self, pairs: Iterable[Versus], kind: str) -> list[Row]:
        """Return the rows of tested pairs of groups: how much higher the first rates than the second."""
        found = []
        for pair in pairs:
            left = None if pair.prepared.measured.weighted else self.left_out(pair.prepared)
            interval = self.spread(pair.prepared, left).interval(self.records)
            first, second = pair.prepared.sizes
            for row in self.rows(pair.axis.name, pair.prepared, interval, kind):
                row = replace(row, other=pair.names[1], n_raters=first[0] + second[0], n_ratings=first[2] + second[2])
                found.append(replace(row, group=" − ".join(pair.names)) if kind == "contrast" else row)
        return found

    def raters(self, axis: Axis) -> list[Row]:
        """Return how much higher each rater scores than the others, with intervals over items."""
        grouping = Grouping.of(self.ratings, axis.codes, len(axis))
        one = self._prepared(axis, list(range(len(axis))), grouping)
        interval = None
        if self.settings.interval != "none" and len(axis) <= MOST_RATERS:
            left = one.measured.without_each_item(self.inference.doing("leaving out items"))
            interval = Spread(left=left).interval(self.records)
        sizes = one.sizes
        return self.inference.rows(
            "rater", axis.name, one.groups, self._columns, one.values, sizes, one.notes, interval,
            unweighted=one.unweighted,
        )  # fmt: skip

    @property
    def _columns(self) -> list[tuple[int, str]]:
        return list(enumerate(COMPARED))

    # Over time --------------------------------------------------------------------------------------------------------

    def drifted(self, one: Drifting, tested: Shuffled | None) -> list[Row]:
        """Return how the scores of groups, or of individual raters, drift, with tests."""
        asked, how, spread = self.settings, self.inference.doing(f"resampling times of {one.name}"), Spread()
        if asked.interval == "bootstrap" and not one.alone:
            spread = Spread(one.bootstrap(asked.bootstrap, asked.seed, asked.resample, how))
        elif asked.interval != "none" and len(one.places) <= MOST_RATERS:
            spread = Spread(left=one.left_out(asked.resample, how))
        return self.inference.rows(
            "rater" if one.alone else "group", one.name, one.shown, [(0, "drift")], one.observed[one.places], one.sizes,
            one.notes, spread.of(one.places).interval([STATISTICS["drift"]]), tested,
        )  # fmt: skip

    # Correlated attributes --------------------------------------------------------------------------------------------

    def held(self, prepared: Mapping[tuple[str, str], Prepared], rows: Sequence[Row]) -> list[Row]:
        """Test claims about groups again, within each other attribute of the call."""

        def measure(one: Prepared, strata: NDArray[np.int32]) -> Measured:
            return Measured(self.ratings, Grouping.of(self.ratings, one.axis.codes, len(one.axis), strata))

        own = [row for row in rows if row.statistic in COMPARED]
        return held(self.inference, self.ratings, self.settings.by, own, prepared, measure)

    def _grouping(self, axis: Axis) -> Grouping:
        return Grouping.of(self.ratings, axis.codes, len(axis), self.inference.exchange.strata)
