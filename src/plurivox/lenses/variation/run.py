"""One call of variation: for every set of items, groups of every axis, contrasts, pairs, and what scores vary by."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import poles_in
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared, Grouping, compared, compared_in_parts, overlapping_axes, subsets_by
from plurivox.infer.inference import Inference
from plurivox.infer.result import Draws, Row, Table
from plurivox.infer.spread import Spread, with_interval
from plurivox.infer.weighting import weights_in
from plurivox.lenses.variation.adjusted import SCHEMA, Adjusted
from plurivox.lenses.variation.components import Frames, Tables
from plurivox.lenses.variation.drift import drifts
from plurivox.lenses.variation.repeats import repeated
from plurivox.lenses.variation.result import Variation
from plurivox.lenses.variation.rows import Analysis, Prepared, Versus
from plurivox.lenses.variation.settings import VariationSettings
from plurivox.lenses.variation.sums import Measured


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
    whole = Inference(settings, how, Exchange.of(ratings, settings.within))
    beside = _single(settings.by, overlapping) if settings.adjust else []
    every = compared(ratings, [*settings.by, *beside], overlapping, settings.min_group_size)
    axes, subsets = every[: len(settings.by)], subsets_by(ratings, settings.items_by)
    each, frames, adjusted = [], Frames.none(), [pl.DataFrame(schema=SCHEMA)]
    for (subset, part), shown in zip(subsets.items(), compared_in_parts(every, subsets), strict=True):
        work = Analysis(part, settings, replace(whole, subset=subset))
        each += [_Part.of(work, one) for one in shown[: len(axes)]]
        frames = frames.joined(_together(work))
        fit = Adjusted.of(part, _alone(shown) if settings.adjust else [], dict(settings.reference))
        adjusted += [fit.table(settings, subset, how)] if fit.axes else []
    drifting = [
        (one, one.tested() if one.testable else None)
        for one in drifts(ratings, axes, min_group_size=settings.min_group_size)
    ]
    for one, _ in drifting:
        if one.name != "all" and not one.alone and not math.isnan(one.same_order):
            whole.times[one.name] = min(one.same_order, whole.times.get(one.name, 1.0))
    by_groups = [one.tested for part in each for one in part.prepared]
    whole.decide([*by_groups, *(tested for one, tested in drifting if tested is not None and not one.alone)])
    whole.decide([tested for one, tested in drifting if tested is not None and one.alone], further=False)
    whole.decide([pair.prepared.tested for part in each for pair in part.contrasts])
    whole.decide([pair.prepared.tested for part in each for pair in part.pairs], further=False)
    rows: list[Row] = []
    draws: list[Draws] = []
    for own in each:
        found = own.found()
        rows += found.rows
        draws += found.draws
        frames = frames.joined(found.frames)
    on_all = Analysis(ratings, settings, whole)
    for one, tested in drifting:
        rows += on_all.drifted(one, tested)
    _check(settings, axes, rows)
    known = {
        (part.one.axis.name, group): one for part in each if part.work.inference.subset == "all"
        for one in part.prepared for group in one.groups
    }  # fmt: skip
    again = repeated(
        ratings, axes, min_group_size=settings.min_group_size, level=settings.level, interval=settings.interval
    )
    tables = {**frames._asdict(), "repeats": again, "adjusted": pl.concat(adjusted, how="diagonal")}
    return Variation(
        rows=tuple(rows),
        withheld={
            one.axis.name if part.work.inference.subset == "all" else f"{one.axis.name}, {part.work.inference.subset}":
            one.n_withheld
            for part in each for one in [part.one]
        },
        revealing={one.axis.name: one.n_revealing for one in axes},
        outside={one.axis.name: one.axis.n_outside for one in axes},
        draws=tuple(draws),
        settings=_remembered(settings, ratings, overlapping, whole),
        pair_rows=tuple(row for part in each for row in part.work.compared(part.pairs, "pair")),
        held_rows=tuple(on_all.held(known, rows)),
        tables=tuple(Table(name, frame) for name, frame in tables.items()),
    )  # fmt: skip


class _Found(NamedTuple):
    """Rows of the groups of an axis, the draws behind them, and tables of components and reliability."""

    rows: list[Row]
    draws: list[Draws]
    frames: Frames


@dataclass(frozen=True, eq=False)
class _Part:
    """The groups of one axis on one set of items, ready to be tested, and what else was requested."""

    work: Analysis
    one: Compared
    prepared: list[Prepared]
    contrasts: list[Versus]
    pairs: list[Versus]

    @classmethod
    def of(cls, work: Analysis, one: Compared) -> _Part:
        """Measure the groups; individual raters are not shuffled."""
        axis, asked = one.axis, work.settings
        if _of_raters(axis):
            return cls(work, one, [], [], [])
        contrasts, pairs = [], []
        if not one.overlapping:
            groups = axis.groups if work.inference.subset == "all" else axis.shown
            if asked.contrast is not None and set(asked.contrast) <= set(groups):
                contrasts.append(work.versus(axis, asked.contrast))
            if asked.pairs:
                pairs = [work.versus(axis, two) for two in combinations(axis.shown, 2)]
        return cls(work, one, work.prepare(one), contrasts, pairs)

    def found(self) -> _Found:
        """Return the rows of the groups, their draws, and tables of components and reliability."""
        work, axis = self.work, self.one.axis
        if _of_raters(axis):
            return _Found(work.raters(axis), [], Frames.none())
        rows: list[Row] = []
        spreads, frames = [], Frames.none()
        for one in self.prepared:
            if not one.places:
                spreads.append(Spread())
                continue  # nothing is shown of an axis whose groups are all withheld
            left = work.left_out(one)
            spreads.append(work.spread(one, left))
            rows += work.rows(axis.name, one, spreads[-1].interval(work.records))
            measured, left = work.among_shown(one, left)
            frames = frames.joined(Tables(
                work.inference.subset, axis.name, list(zip(one.groups, one.places, strict=True)), measured, left,
                work.settings.target, self.one.overlapping,
            ).frames())  # fmt: skip
        rows += work.compared(self.contrasts, "contrast")
        return _Found(rows, [work.draws(axis.name, self.prepared, spreads)], frames)


def _of_raters(axis: Axis) -> bool:
    return axis.attributes == ("rater",)


def _together(work: Analysis) -> Frames:
    """Return the components of all raters together, and the reliability of their means."""
    asked, ratings = work.settings, work.ratings.unweighted()
    measured = Measured(ratings, Grouping.together(ratings))
    left = None
    if asked.interval != "none":
        left = measured.left_out(asked.resample, work.inference.doing("resampling all raters"))
    return Tables(work.inference.subset, "all", [("all", 0)], measured, left, asked.target).frames()


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


def _check(settings: VariationSettings, axes: Sequence[Compared], rows: Sequence[Row]) -> None:
    """Raise if no axis has both groups of a requested contrast."""
    if settings.contrast is not None and not any(row.kind == "contrast" for row in rows):
        raise SelectionError(
            f"no axis has both groups {settings.contrast[0]!r} and {settings.contrast[1]!r}",
            hint=f"The groups shown are: {', '.join(g for one in axes for g in one.axis.shown[:20]) or 'none'}.",
        )


def _remembered(
    settings: VariationSettings, ratings: Ratings, overlapping: dict[str, str], whole: Inference
) -> dict[str, Any]:
    """Return what was requested, and what is known about scale and design."""
    return {
        **settings.as_dict(), "several": overlapping, "contrast": list(settings.contrast or ()),
        "poles": poles_in(ratings.scale), "values": [float(value) for value in ratings.scale.values],
        "n_items_in_no_subset": 0 if settings.items_by is None else ratings.items[settings.items_by].null_count(),
        "design": whole.remembered(), "time_unit": ratings.intake.time_unit,
        **weights_in(ratings, settings.min_group_size),
    }  # fmt: skip
