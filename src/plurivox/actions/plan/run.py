"""What can be asked of a table of ratings, which groups are too small for what, and what to collect next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.plan.applicable import Sides, facts_of, lens_rows
from plurivox.actions.plan.power import MORE_ITEMS, MORE_RATERS, Step, gai_steps, gai_studies, mpa_steps, mpa_studies
from plurivox.actions.plan.result import KEY, SCHEMAS, Plan, gai_question, larger
from plurivox.actions.plan.settings import PlanSettings
from plurivox.actions.plan.simulated import GROUP, REST, Crowd, Design
from plurivox.axis import By
from plurivox.engine.exchange import Exchange
from plurivox.engine.grouping import compared, overlapping_axes
from plurivox.engine.running import Running
from plurivox.errors import InputError
from plurivox.intake.attributes import category_order
from plurivox.ratings import Ratings
from plurivox.results.result import Table
from plurivox.settings import keywords

FEWEST_VALUES, MOST_VALUES = 2, 20
"""Attributes with fewer or more values are no axis unless they are asked for."""
ENOUGH = "enough as it is"
ABOUT_AS_LARGE = 1.25
"""A median group that is at most this many times the smallest is not looked at, too."""

_Cells = tuple[Any, ...]


@keywords(PlanSettings)
def plan(ratings: Ratings, *, settings: PlanSettings, how: Running) -> Plan:
    """Tell which lenses apply to a table of ratings, which groups are too small for what, and what to collect next.

    Of each axis the smallest group is looked at, and the median one unless it is about as large. For GAI, studies of
    the same shape are simulated in which the group is as cohesive as asked for, and tested as
    :func:`plurivox.cohesion` does; then the same with up to 16 times as many raters in all groups, or items. Simulated
    raters draw from real ratings; they agree as much as those of the study do, and differ as much, see
    :mod:`plurivox.actions.plan.simulated`. A cohesive group is one whose members share a point of their own on some
    of their ratings: one kind of cohesion. For MPA against the crowd, items of the study are drawn with replacement,
    and the interval over items is computed anew.

    Parameters
    ----------
    ratings
        Who rated what; totals get a plan, too.

    Returns
    -------
    Plan
        With ``to_frame()``, ``table("groups")``, ``table("power")``, ``table("collect")``, ``findings()`` and
        ``to_json()``.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=60, n_raters=30, seed=1)
    >>> result = pv.plan(study.ratings, "gender", simulations=0)
    >>> result
    <Plan: 4 of 7 lenses apply>
    >>> result.table("groups")["n_raters"].to_list()
    [14, 16]
    """
    if how.threads is not None and how.threads < 1:
        raise InputError(f"threads is {how.threads}", hint="Give 1 or more.")
    by, left_out = (settings.by, {}) if settings.by else _default_axes(ratings, settings.several)
    overlapping = overlapping_axes(by, settings.several, pairs=False)
    axes = list(compared(ratings, by, overlapping, settings.min_group_size)) if ratings.has_raters else []
    facts = facts_of(ratings, axes, settings.min_group_size)
    chosen = [one for _, own in groupby(facts.sides, key=lambda side: side.axis) for one in _chosen(list(own))]
    powers: list[_Cells] = []
    collects: list[_Cells] = []
    if settings.simulations and chosen:
        powers, collects = _power_rows(ratings, chosen, settings, how.doing("simulating studies"))
    tables = (
        _table("lenses", lens_rows(ratings, facts)), Table("groups", facts.groups), _table("power", powers),
        _table("collect", collects),
    )  # fmt: skip
    named = [list(one.axis.attributes) for one in axes]
    return Plan(tables, {**settings.as_dict(), "by": named, "several": overlapping, "left_out": left_out})


def _default_axes(ratings: Ratings, several: Mapping[str, str]) -> tuple[list[By], dict[str, int]]:
    """Return the attributes that make axes, and how many values those have that have too many."""
    axes: list[By] = []
    left_out = {}
    for attribute in ratings.raters.columns[1:]:
        values = category_order(ratings.raters[attribute])
        if attribute in several:
            values = sorted({part.strip() for value in values for part in value.split(several[attribute])} - {""})
        if len(values) > MOST_VALUES:
            left_out[attribute] = len(values)
        elif len(values) >= FEWEST_VALUES:
            axes.append(attribute)
    return axes, left_out


def _table(name: str, rows: Sequence[tuple[Any, ...]]) -> Table:
    return Table(name, pl.DataFrame(list(rows), schema=SCHEMAS[name], orient="row"))


# Power ---------------------------------------------------------------------------------------------------------------


def _chosen(sides: Sequence[Sides]) -> list[Sides]:
    """Return the smallest group that has a rest, and the median one unless it is about as large."""
    ordered = sorted((one for one in sides if (one.codes == REST).any()), key=lambda one: one.n_raters)
    middle = ordered[len(ordered) // 2 :][:1]
    return ordered[:1] + [one for one in middle if one.n_raters > ABOUT_AS_LARGE * ordered[0].n_raters]


def _power_rows(
    ratings: Ratings, chosen: Sequence[Sides], wanted: PlanSettings, how: Running
) -> tuple[list[_Cells], list[_Cells]]:
    """Return the rows of power and of what to collect, for some groups."""
    powers: list[_Cells] = []
    collects: list[_Cells] = []
    crowd, strata = Crowd.of(ratings), Exchange.of(ratings, wanted.within).strata
    impossible = _impossible(crowd, wanted.gai)
    of_gai = 0 if impossible else gai_studies(wanted)
    each = of_gai + mpa_studies(wanted)
    for number, one in enumerate(chosen):
        now, before, total = _design(ratings, one, strata), number * each, each * len(chosen)
        found = [] if impossible else gai_steps(crowd, now, wanted, how.within(before, total))
        known = mpa_steps(ratings, one.codes, wanted, how.within(before + of_gai, total))
        how.tell(before + each, total)
        questions = (gai_question(wanted.gai), found, impossible), (f"MPA ± {wanted.mpa_width:g}", known, "")
        for question, steps, why_not in questions:
            key = (question, one.axis, one.group)
            powers += [(*key, *(getattr(step, name) for name in SCHEMAS["power"] if name not in KEY)) for step in steps]
            collects.append((*key, one.n_raters, now.n_items, *_needed(steps, now, why_not)))
    return powers, collects


def _design(ratings: Ratings, one: Sides, strata: NDArray[np.int32] | None) -> Design:
    """Return the study as it is, as far as it matters to one group."""
    sizes = [int(np.count_nonzero(one.codes == side)) for side in (GROUP, REST)]
    given = np.bincount(one.codes[ratings.codes_of_raters] + 1, minlength=3)[1:]
    n_items = int(np.count_nonzero(np.diff(ratings.offsets)))
    group_share, rest_share = (float(n) / max(size * n_items, 1) for n, size in zip(given, sizes, strict=True))
    now = Design(sizes[0], sizes[1], n_items, group_share, rest_share)
    if strata is None:
        return now
    numbers, of_each = np.unique(strata, return_inverse=True)
    group, rest = (np.bincount(of_each[one.codes == side], minlength=len(numbers)) for side in (GROUP, REST))
    return now._replace(strata_group=tuple(group.tolist()), strata_rest=tuple(rest.tolist()))


def _impossible(crowd: Crowd, gai: float) -> str:
    """Tell why no group can have the GAI, if so."""
    if math.isnan(crowd.agreement):
        return "the agreement of raters is undefined, so that no GAI can be looked for"
    if crowd.agreement <= 0:
        return "raters agree no more than by chance, so that no GAI can be looked for"
    if gai >= crowd.highest_gai:
        return f"raters agree so much that no GAI can be above {crowd.highest_gai:.2f}"
    return ""


def _needed(steps: Sequence[Step], now: Design, why_not: str) -> tuple[bool, int | None, int | None, str]:
    """Return whether it is enough now, the raters and the items that are, and both in words."""
    if not steps:
        return False, None, None, why_not
    first = steps[0]
    if first.enough:
        return True, first.n_raters, now.n_items, ENOUGH
    if math.isnan(first.value):
        return False, None, None, "MPA is undefined"
    enough = [step for step in steps if step.enough]
    needed = {step.what: step for step in enough}
    raters, items = needed.get(MORE_RATERS), needed.get(MORE_ITEMS)
    words = " or ".join(larger(first, step) for step in enough)
    if not enough:
        times = max(step.n_raters * step.n_items // max(first.n_raters * first.n_items, 1) for step in steps)
        words = f"not within {times} times today's size" if times > 1 else "larger studies are not simulated"
    tried = [step.n_items for step in steps if step.what == MORE_ITEMS]
    if raters and tried and not items:
        words += f"; more items alone, up to {max(tried):,}, are not enough"
    return False, raters.n_raters if raters else None, items.n_items if items else None, words
