"""One call of variation: for every set of items, groups of every axis, contrasts, pairs, and what scores vary by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from plurivox.domain.axis import Axis
from plurivox.domain.poles import poles_in
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.engine.running import Running
from plurivox.infer.call import keywords
from plurivox.infer.call_of import AxisMeasured, Call
from plurivox.infer.grouping import Compared, Grouping, overlapping_axes
from plurivox.infer.result import Draws, Row, Table
from plurivox.infer.spread import Spread, with_interval
from plurivox.lenses.variation.adjusted import SCHEMA, Adjusted
from plurivox.lenses.variation.components import ComponentTables, Frames
from plurivox.lenses.variation.drift import drifts
from plurivox.lenses.variation.repeats import repeated
from plurivox.lenses.variation.result import Variation
from plurivox.lenses.variation.rows import Leniency
from plurivox.lenses.variation.settings import VariationSettings
from plurivox.lenses.variation.sums import COMPARED, GroupLeniency
from plurivox.statistics.registry import of_role


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
    draws: list[Draws] = []
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


def _found(measured: AxisMeasured) -> tuple[list[Row], Draws, Frames]:
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


def _alone(axes: Sequence[Compared]) -> list[Axis]:
    """Return the axes of one attribute each that can be fitted at once: not raters or overlapping groups."""
    return [
        one.axis for one in axes if len(one.axis.attributes) == 1 and not one.overlapping and not _of_raters(one.axis)
    ]
