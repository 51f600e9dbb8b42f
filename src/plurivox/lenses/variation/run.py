"""One call of variation: for every set of items, groups of every axis, contrasts, pairs, and what scores vary by."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from plurivox.domain.axis import OUTSIDE, Axis
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import AxisMeasured, Call, Comparison, MeasuredGroups
from plurivox.infer.claims import tells_unweighted
from plurivox.infer.grouping import Grouping, compared, compared_in_parts, overlapping_axes, subsets_by
from plurivox.infer.inference import Shuffled, Sizes, TwoGroups
from plurivox.infer.intervals import Interval, Spread, with_interval
from plurivox.infer.jackknife import LeftOut
from plurivox.infer.lens import keywords
from plurivox.infer.result import AxisDraws, Row, Table
from plurivox.lenses.variation import VariationSettings
from plurivox.lenses.variation.adjusted import SCHEMA, Adjusted
from plurivox.lenses.variation.drift import MOST_RATERS, Drifting, drifts
from plurivox.lenses.variation.repeats import repeated
from plurivox.lenses.variation.result import Variation
from plurivox.lenses.variation.sums import COMPARED, GroupLeniency
from plurivox.lenses.variation.tables import SCHEMAS, ComponentTables
from plurivox.statistics.registry import STATISTICS, of_role

NOTHING_SHARED = "no item was rated by this group and by others"


@dataclass(frozen=True, eq=False)
class Leniency(Comparison):
    """How much higher the groups of a call rate than the others, on one set of items."""

    settings: VariationSettings
    names = mirrored = COMPARED

    @property
    def both_ways(self) -> bool:
        """Whether values are also measured with all raters counted equally; not if both would reveal a group's mean."""
        return tells_unweighted(self.ratings, self.settings.min_group_size)

    def measure(self, grouping: Grouping, *, alike: bool = False) -> GroupLeniency:
        """Compare some groups with the others; weights are those of the grouping."""
        return GroupLeniency(self.ratings, grouping)

    def two(self, axis: Axis, names: tuple[str, str]) -> MeasuredGroups:
        """Compare two groups; only their raters are shuffled, and only with each other."""
        pair = TwoGroups.of(axis, names)
        codes = np.select([axis.codes == pair.a, axis.codes == pair.b], [0, 1], -1).astype(np.int32)
        two = replace(axis, groups=names, codes=codes, sizes=axis.sizes[[pair.a, pair.b]], withheld=np.zeros(2, bool))
        return self.groups(two, [0], self.grouping(two))

    # Rows -------------------------------------------------------------------------------------------------------------

    def left_out(self, measured: GroupLeniency, what: str) -> LeftOut | None:
        """Return all values without each item and rater, if intervals are wanted.

        They include components of variance where all raters count equally.
        """
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
        shown = self.measure(Grouping.of(self.ratings, codes, len(axis))).plain
        return shown, self.left_out(shown, axis.name)

    def spread(self, one: MeasuredGroups, left: LeftOut | None) -> Spread:
        """Return what the compared values become with other items or raters, of the groups that are shown."""
        asked = self.settings
        if asked.interval == "bootstrap":
            how = self.inference.doing(f"resampling {one.axis.name}")
            return Spread(one.measured.bootstrap(asked.bootstrap, asked.seed, asked.resample, how)).of(one.places)
        if one.measured.weighted:
            left = self.left_out(one.measured, f"{one.axis.name}, weighted")
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

    def found(self, axis: AxisMeasured) -> tuple[list[Row], AxisDraws, list[dict[str, Any]]]:
        """Return the rows of an axis, its draws, and rows of the tables of components and reliability."""
        name, spreads = axis.one.axis.name, []
        rows: list[Row] = []
        tables = []
        for one in axis.prepared:
            spread = Spread()
            if one.places:  # nothing is shown of an axis whose groups are all withheld
                left = self.left_out(one.measured.plain, name)
                spread = self.spread(one, left)
                rows += self.rows(name, one, spread.interval(of_role("higher")))
                shown, left = self.among_shown(one, left)
                tables.append(ComponentTables(
                    self.subset, name, list(zip(one.groups, one.places, strict=True)), shown, left,
                    self.settings.target, axis.one.overlapping,
                ).rows())  # fmt: skip
            spreads.append(spread)
        draws = self.draws_of(name, axis.prepared, spreads, COMPARED, ordered=True)
        return rows + self.compared(axis.contrasts, "contrast"), draws, tables

    def compared(self, pairs: Iterable[MeasuredGroups], kind: str) -> list[Row]:
        """Return the rows of tested pairs of groups: how much higher the first rates than the second."""
        found = []
        for pair in pairs:
            left = None if pair.measured.weighted else self.left_out(pair.measured, pair.axis.name)
            interval = self.spread(pair, left).interval(of_role("higher"))
            (n_first, _, given), (n_second, _, more) = sizes_of(pair)
            for row in self.rows(pair.axis.name, pair, interval, kind):
                row = replace(row, other=pair.axis.groups[1], n_raters=n_first + n_second, n_ratings=given + more)
                found.append(replace(row, group=" − ".join(pair.axis.groups)) if kind == "contrast" else row)
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
    tables, adjusted = [], [pl.DataFrame(schema=SCHEMA)]
    for part in call.parts:
        work = Leniency(part.ratings, settings, part.inference)
        each += [work.everything(one) for one in part.axes]
        alike = GroupLeniency(part.ratings.unweighted(), Grouping.together(part.ratings.unweighted()))
        left = work.left_out(alike, "all raters")
        tables.append(ComponentTables(work.subset, "all", [("all", 0)], alike, left, settings.target).rows())
        alone = [  # the attributes that can be fitted at once: not raters or overlapping groups
            one.axis for one in (*part.axes, *part.also)
            if settings.adjust and len(one.axis.attributes) == 1 and not one.overlapping and one.axis.name != "rater"
        ]  # fmt: skip
        fit = Adjusted.of(part.ratings, alone, dict(settings.reference))
        adjusted += [fit.table(settings, work.subset, how)] if fit.axes else []
    drifting = _drifting(call)
    call.decide(each, [tested for one, tested in drifting if tested is not None and not one.alone])
    call.inference.decide([tested for one, tested in drifting if tested is not None and one.alone], further=False)
    rows: list[Row] = []
    draws: list[AxisDraws] = []
    for own in each:
        if own.one.axis.attributes == ("rater",):
            rows += own.work.raters(own.one.axis)
            continue
        shown, made, further = own.work.found(own)
        rows += shown
        draws.append(made)
        tables += further
    on_all = Leniency(ratings, settings, call.inference)
    for one, tested in drifting:
        rows += on_all.drifted(one, tested)
    call.refuse_missing(rows)
    known = {own.one.axis.name: own.prepared for own in each if own.work.subset == "all"}
    again = repeated(
        ratings, call.axes, min_group_size=settings.min_group_size, level=settings.level, interval=settings.interval
    )
    frames = {
        name: pl.DataFrame([row for one in tables for row in one[name]], schema=schema, orient="row")
        for name, schema in SCHEMAS.items()
    }
    frames |= {"repeats": again, "adjusted": pl.concat(adjusted, how="diagonal")}
    return Variation(
        rows=tuple(rows),
        draws=tuple(draws),
        pair_rows=tuple(row for own in each for row in own.work.compared(own.pairs, "pair")),
        held_rows=tuple(on_all.held(known, [row for row in rows if row.statistic in COMPARED])),
        tables=tuple(Table(name, frame) for name, frame in frames.items()),
        **call.kept(
            contrast=list(settings.contrast or ()), poles=poles_in(ratings.scale),
            values=[float(value) for value in ratings.scale.values],
            n_items_in_no_subset=0 if settings.items_by is None else ratings.items[settings.items_by].null_count(),
            design=call.inference.remembered(), time_unit=ratings.intake.time_unit,
        ),
    )  # fmt: skip


def _drifting(call: Call) -> list[tuple[Drifting, Shuffled | None]]:
    """Return the drift of all raters and of groups with their tests, and remember how similar the orders of raters are.

    Where raters of a group rated items in a similar order, no drift may be claimed.
    """
    found = drifts(call.ratings, call.axes, min_group_size=call.settings.min_group_size)
    times = call.inference.times
    for one in found:
        if one.name != "all" and not one.alone and not math.isnan(one.same_order):
            times[one.name] = min(one.same_order, times.get(one.name, 1.0))
    return [(one, one.tested() if one.testable else None) for one in found]


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
