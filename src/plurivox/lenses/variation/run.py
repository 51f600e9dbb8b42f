"""One call of variation: for every set of items, groups of every axis, contrasts, pairs, and what scores vary by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from plurivox.domain.axis import OUTSIDE, Axis
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import AxisMeasured, Call, Comparison, MeasuredGroups
from plurivox.infer.grouping import Compared, Grouping, compared, compared_in_parts, overlapping_axes, subsets_by
from plurivox.infer.inference import Shuffled, Sizes, TwoGroups
from plurivox.infer.intervals import Interval, Spread, with_interval
from plurivox.infer.jackknife import LeftOut
from plurivox.infer.keywords import keywords
from plurivox.infer.result import AxisDraws, Row, Table
from plurivox.infer.weighting import tells_unweighted
from plurivox.lenses.variation.adjusted import SCHEMA, Adjusted
from plurivox.lenses.variation.components import ComponentTables, Frames
from plurivox.lenses.variation.drift import MOST_RATERS, Drifting, drifts
from plurivox.lenses.variation.repeats import repeated
from plurivox.lenses.variation.result import Variation
from plurivox.lenses.variation.settings import VariationSettings
from plurivox.lenses.variation.sums import COMPARED, GroupLeniency
from plurivox.statistics.registry import STATISTICS, of_role

# The rows of a variation result ---------------------------------------------------------------------------------------
# The rows of a variation result: groups compared with the others, contrasts and pairs, on one set of items.

NOTHING_SHARED = "no item was rated by this group and by others"


@dataclass(frozen=True, eq=False)
class Versus:
    """Two groups of an axis, each the other's rest, ready to be tested."""

    axis: Axis
    names: tuple[str, str]
    groups: MeasuredGroups

    @property
    def tested(self) -> Shuffled:
        """Their test."""
        return self.groups.tested


@dataclass(frozen=True, eq=False)
class Leniency(Comparison):
    """How much higher the groups of a call rate than the others, on one set of items."""

    settings: VariationSettings

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics that are tested."""
        return COMPARED

    @property
    def mirrored(self) -> tuple[str, ...]:
        """Those that say the same about both of two groups."""
        return COMPARED

    @property
    def both_ways(self) -> bool:
        """Whether values are also measured with all raters counted equally; not if both would reveal a group's mean."""
        return tells_unweighted(self.ratings, self.settings.min_group_size)

    def measure(self, grouping: Grouping, *, alike: bool = False) -> GroupLeniency:
        """Compare some groups with the others; weights are those of the grouping."""
        return GroupLeniency(self.ratings, grouping)

    def two(self, axis: Axis, names: tuple[str, str]) -> Versus:
        """Compare two groups; only their raters are shuffled, and only with each other."""
        pair = TwoGroups.of(axis, names)
        codes = np.select([axis.codes == pair.a, axis.codes == pair.b], [0, 1], -1).astype(np.int32)
        two = replace(axis, groups=names, codes=codes, sizes=axis.sizes[[pair.a, pair.b]], withheld=np.zeros(2, bool))
        return Versus(axis, names, self.groups(two, [0], self.grouping(two)))

    # Rows -------------------------------------------------------------------------------------------------------------

    def left_out(self, one: MeasuredGroups) -> LeftOut | None:
        """Return all values without each item and rater, including components of variance, if intervals are wanted.

        All raters count equally there.
        """
        return self._left_out(one.measured.plain, one.axis.name)

    def _left_out(self, measured: GroupLeniency, what: str) -> LeftOut | None:
        asked = self.settings
        if asked.interval == "none":
            return None
        return measured.left_out(asked.resample, self.inference.doing(f"resampling {what}"))

    def among_shown(self, one: MeasuredGroups, left: LeftOut | None) -> tuple[GroupLeniency, LeftOut | None]:
        """Return the sums from which components of variance are computed, without raters of withheld groups.

        They add up squares of the sums of all groups, which together with the groups shown would give the sums of a
        small one. Where a single group is shown, those withheld are merged into one, which reveals nothing new.
        """
        axis = one.axis
        if axis.overlaps or not axis.withheld.any() or len(one.places) < 2:
            return one.measured.plain, left
        codes = np.where(axis.codes == len(axis) - 1, OUTSIDE, axis.codes).astype(np.int32)  # those withheld are last
        shown = replace(one, measured=self.measure(Grouping.of(self.ratings, codes, len(axis))))
        return shown.measured.plain, self.left_out(shown)

    def spread(self, one: MeasuredGroups, left: LeftOut | None) -> Spread:
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

    def rows(
        self, name: str, one: MeasuredGroups, interval: Interval | None, kind: str = "group", *, tested: bool = True
    ) -> list[Row]:
        """Return the rows of the groups of an axis that are shown."""
        sizes, values = sizes_of(one), one.measured.value
        notes = [dict.fromkeys(COMPARED, NOTHING_SHARED) if np.isnan(values[g, 0]) else {} for g in one.places]
        return self.inference.rows(
            kind, name, one.groups, list(enumerate(COMPARED)), values[one.places], [sizes[g] for g in one.places],
            notes, interval, one.tested if tested else None,
            None if one.unweighted is None else one.unweighted[one.places],
        )  # fmt: skip

    def draws(self, name: str, prepared: Sequence[MeasuredGroups], spreads: Sequence[Spread]) -> AxisDraws:
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
        return AxisDraws(
            name, groups, COMPARED, np.sort(np.concatenate(null, axis=1), axis=0), COMPARED,
            np.sort(np.concatenate(drawn, axis=1), axis=0), self.subset,
        )  # fmt: skip

    def compared(self, pairs: Iterable[Versus], kind: str) -> list[Row]:
        """Return the rows of tested pairs of groups: how much higher the first rates than the second."""
        found = []
        for pair in pairs:
            left = None if pair.groups.measured.weighted else self.left_out(pair.groups)
            interval = self.spread(pair.groups, left).interval(of_role("higher"))
            first, second = sizes_of(pair.groups)
            for row in self.rows(pair.axis.name, pair.groups, interval, kind):
                row = replace(row, other=pair.names[1], n_raters=first[0] + second[0], n_ratings=first[2] + second[2])
                found.append(replace(row, group=" − ".join(pair.names)) if kind == "contrast" else row)
        return found

    def raters(self, axis: Axis) -> list[Row]:
        """Return how much higher each rater scores than the others, with intervals over items."""
        one = self.groups(axis, list(range(len(axis))), Grouping.of(self.ratings, axis.codes, len(axis)))
        interval = None
        if self.settings.interval != "none" and len(axis) <= MOST_RATERS:
            left = one.measured.without_each_item(self.inference.doing("leaving out items"))
            interval = Spread(left=left).interval(of_role("higher"))
        return self.rows(axis.name, one, interval, "rater", tested=False)

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


def sizes_of(one: MeasuredGroups) -> list[Sizes]:
    """Return raters, items that others also rated, and ratings of each group of an axis."""
    from plurivox.kernels.variation import RATINGS, SHARED

    sums = one.measured.plain.observed["groups"][0]
    return [(int(n), int(own[SHARED]), int(own[RATINGS])) for n, own in zip(one.axis.sizes.tolist(), sums, strict=True)]


# The call -------------------------------------------------------------------------------------------------------------


@keywords(VariationSettings, weights=True)
def variation(ratings: Ratings, *, settings: VariationSettings, how: Running) -> Variation:
    """Find out who rates higher on the same items, and how much variation lies in items, raters and groups.

    Returns
    -------
    Variation
        With ``to_frame()``, ``components()``, ``reliability()``, ``needed()``, ``adjusted()``, ``pairs()``,
        ``findings()``, ``to_json()`` and the draws.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=60, n_raters=60, effects=[pv.Effect({"age": "18-29"}, bias=0.8)], seed=4)
    >>> result = pv.variation(study.ratings, "age", permutations=99)
    >>> result.value("age", "18-29", "leniency") > 0
    True
    """
    if ratings.again is not None:
        few_points(ratings.scale, "agreement of repeated ratings")
    settings = with_interval(settings)
    settings = replace(settings, adjust=settings.adjust or bool(settings.reference))
    overlapping = overlapping_axes(settings.by, settings.several, pairs=settings.pairs)
    call = Call.of(ratings, settings, how, also=_single(settings.by, overlapping) if settings.adjust else [])
    each: list[AxisMeasured] = []
    frames, adjusted = Frames.none(), [pl.DataFrame(schema=SCHEMA)]
    for part in call.parts:
        work = Leniency(part.ratings, settings, part.inference)
        each += [work.everything(one) for one in part.axes]
        frames = frames.joined(_together(work))
        fit = Adjusted.of(
            part.ratings, _alone([*part.axes, *part.also]) if settings.adjust else [], dict(settings.reference)
        )
        adjusted += [fit.table(settings, work.subset, how)] if fit.axes else []
    drifting = [
        (one, one.tested() if one.testable else None)
        for one in drifts(ratings, call.axes, min_group_size=settings.min_group_size)
    ]
    times = call.inference.times
    for one, _ in drifting:
        if one.name != "all" and not one.alone and not math.isnan(one.same_order):
            times[one.name] = min(one.same_order, times.get(one.name, 1.0))
    call.decide(each, [tested for one, tested in drifting if tested is not None and not one.alone])
    call.inference.decide([tested for one, tested in drifting if tested is not None and one.alone], further=False)
    rows: list[Row] = []
    draws: list[AxisDraws] = []
    for own in each:
        if _of_raters(own.one.axis):
            rows += own.work.raters(own.one.axis)
            continue
        shown, made, further = _found(own)
        rows += shown
        draws.append(made)
        frames = frames.joined(further)
    on_all = Leniency(ratings, settings, call.inference)
    for one, tested in drifting:
        rows += on_all.drifted(one, tested)
    call.refuse_missing(rows)
    known = {own.one.axis.name: own.prepared for own in each if own.work.subset == "all"}
    again = repeated(
        ratings, call.axes, min_group_size=settings.min_group_size, level=settings.level, interval=settings.interval
    )
    tables = {**frames._asdict(), "repeats": again, "adjusted": pl.concat(adjusted, how="diagonal")}
    return Variation(
        rows=tuple(rows),
        draws=tuple(draws),
        pair_rows=tuple(row for own in each for row in own.work.compared(own.pairs, "pair")),
        held_rows=tuple(on_all.held(known, [row for row in rows if row.statistic in COMPARED])),
        tables=tuple(Table(name, frame) for name, frame in tables.items()),
        **call.kept(
            contrast=list(settings.contrast or ()), poles=poles_in(ratings.scale),
            values=[float(value) for value in ratings.scale.values],
            n_items_in_no_subset=0 if settings.items_by is None else ratings.items[settings.items_by].null_count(),
            design=call.inference.remembered(), time_unit=ratings.intake.time_unit,
        ),
    )  # fmt: skip


def _found(measured: AxisMeasured) -> tuple[list[Row], AxisDraws, Frames]:
    """Return the rows of the groups of an axis, their draws, and tables of components and reliability."""
    work, name = measured.work, measured.one.axis.name
    rows: list[Row] = []
    spreads, frames = [], Frames.none()
    for one in measured.prepared:
        if not one.places:
            spreads.append(Spread())
            continue  # nothing is shown of an axis whose groups are all withheld
        left = work.left_out(one)
        spreads.append(work.spread(one, left))
        rows += work.rows(name, one, spreads[-1].interval(of_role("higher")))
        shown, left = work.among_shown(one, left)
        frames = frames.joined(ComponentTables(
            work.subset, name, list(zip(one.groups, one.places, strict=True)), shown, left, work.settings.target,
            measured.one.overlapping,
        ).frames())  # fmt: skip
    rows += work.compared(measured.contrasts, "contrast")
    return rows, work.draws(name, measured.prepared, spreads), frames


def _of_raters(axis: Axis) -> bool:
    return axis.attributes == ("rater",)


def _together(work: Leniency) -> Frames:
    """Return the components of all raters together, and the reliability of their means."""
    asked, ratings = work.settings, work.ratings.unweighted()
    measured = GroupLeniency(ratings, Grouping.together(ratings))
    left = None
    if asked.interval != "none":
        left = measured.left_out(asked.resample, work.inference.doing("resampling all raters"))
    return ComponentTables(work.subset, "all", [("all", 0)], measured, left, asked.target).frames()


def _single(by: Sequence[tuple[str, ...]], overlapping: Mapping[str, str]) -> list[tuple[str]]:
    """Return the attributes of crossings that no axis has on its own; they are withheld together with all axes."""
    names = dict.fromkeys(name for one in by for name in one if name != "rater" and name not in overlapping)
    return [(name,) for name in names if (name,) not in by]


def adjusts_alike(
    ratings: Ratings, by: Sequence[tuple[str, ...]], several: Mapping[str, str], items_by: str | None, least: int
) -> bool:
    """Return whether the same groups of the axes are shown with and without what ``adjust`` shows besides.

    If not, it does not belong next to results of lenses that show the axes alone: together they would reveal more.
    """
    overlapping, subsets = overlapping_axes(by, several, pairs=False), subsets_by(ratings, items_by)
    plain, both = (
        compared_in_parts(compared(ratings, [*by, *beside], overlapping, least), subsets)
        for beside in ((), _single(by, overlapping))
    )
    return all(
        np.array_equal(a.withheld, b.withheld)
        for alone, others in zip(plain, both, strict=True) for one, other in zip(alone, others, strict=False)
        for a, b in zip(one.each, other.each, strict=True)
    )  # fmt: skip


def _alone(axes: Sequence[Compared]) -> list[Axis]:
    """Return the axes of one attribute each that can be fitted at once: not raters or overlapping groups."""
    return [
        one.axis for one in axes if len(one.axis.attributes) == 1 and not one.overlapping and not _of_raters(one.axis)
    ]
