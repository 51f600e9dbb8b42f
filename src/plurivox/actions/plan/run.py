"""Which analyses apply to a table of ratings, which groups are too small for which, and what to collect next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from plurivox.actions.plan.applicable import facts_of, lens_rows
from plurivox.actions.plan.crowd import WIDEST_VIEW, Crowd
from plurivox.actions.plan.needs import Need, need_of
from plurivox.actions.plan.power import Powers, shapes_around, simulated, unequal_as
from plurivox.actions.plan.result import SCHEMAS, Plan
from plurivox.actions.plan.settings import PlanSettings
from plurivox.actions.plan.simulated import Studies
from plurivox.actions.plan.standing import MOST_SHUFFLED, Pilot, family_of, fewer_items
from plurivox.base.errors import InputError
from plurivox.domain.attributes import category_order
from plurivox.domain.axis import By
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.engine.pool import Running
from plurivox.infer.call import keywords
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared, compared, overlapping_axes
from plurivox.infer.result import Table

FEWEST_VALUES, MOST_VALUES = 2, 20
"""Attributes with fewer or more values are not used as axes unless requested."""

_Cells = tuple[Any, ...]


@keywords(PlanSettings)
def plan(ratings: Ratings, *, settings: PlanSettings, how: Running) -> Plan:
    """Show which lenses apply to a table of ratings, which groups are too small for which, and what to collect next.

    Power is the share of studies that would claim a group by its GAI as :func:`plurivox.cohesion` does by default,
    after correction over all groups, axes and statistics. The threshold for a claim comes from shuffles of the study
    itself. How often a group exceeds it comes from simulated studies of the same design with raters who agree and
    differ as much, in which the group has a view of its own; see :mod:`plurivox.actions.plan.power`.

    Parameters
    ----------
    ratings
        Who rated what; totals also get a plan.

    Returns
    -------
    Plan
        With ``to_frame()``, ``table("groups")``, ``table("power")``, ``findings()`` and ``to_json()``.

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
    few_points(ratings.scale, "plan")
    if how.threads is not None and how.threads < 1:
        raise InputError(f"threads is {how.threads}", hint="Give 1 or more.")
    by, left_out = (settings.by, {}) if settings.by else _default_axes(ratings, settings.several)
    overlapping = overlapping_axes(by, settings.several, pairs=False)
    axes = compared(ratings, by, overlapping, settings.min_group_size) if ratings.has_raters else []
    facts = facts_of(ratings, axes, settings.min_group_size)
    needs = _needs(ratings, axes, settings, how) if settings.simulations and facts.sides else []
    tables = (
        _table("lenses", lens_rows(ratings, facts)), Table("groups", facts.groups),
        _table("power", [_row(need, settings.power) for need in needs]),
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


def _needs(ratings: Ratings, axes: Sequence[Compared], asked: PlanSettings, how: Running) -> list[Need]:
    """Return what each group needs so that it is claimed often enough."""
    some = fewer_items(ratings, MOST_SHUFFLED, asked.seed)
    exchange = Exchange.of(some, asked.within)
    standings, largest = family_of(some, axes, asked, exchange, how)
    open_to = [one for one in standings if not one.why_not]
    n_items = int(np.count_nonzero(np.diff(ratings.offsets)))
    if not open_to:
        return [Need(one) for one in standings]
    sizes = [(one.shape.n_group, one.shape.n_rest) for one in open_to]
    pilot = Pilot.of(some, exchange, sizes, asked)
    why = _impossible(pilot.crowd, asked.gai)
    if why:
        return [Need(one if one.why_not else one._replace(why_not=why)) for one in standings]
    learning, simulating = how.doing("learning how raters differ"), how.doing("simulating studies")
    crowd = unequal_as(pilot.crowd, pilot.layout, pilot.shape, pilot.variance, asked.seed, learning)
    shapes = shapes_around(pilot.scaled(sizes), pilot.shape.n_items)
    work = Studies(crowd, pilot.layout, shapes, crowd.view(asked.gai), asked.seed)
    powers = Powers.of(shapes, simulated(work, asked.simulations, simulating), largest)
    return [
        Need(one) if one.why_not else need_of(one, one.shape._replace(n_items=n_items), powers, asked.power)
        for one in standings
    ]


def _impossible(crowd: Crowd, gai: float) -> str:
    """Say why no group can be claimed to have the GAI, if that is so."""
    if math.isnan(crowd.agreement):
        return "the agreement of raters is undefined"
    if crowd.agreement <= 0:
        return "raters agree no more than by chance, so GAI is undefined"
    if crowd.gai(WIDEST_VIEW) < gai:
        return f"a GAI of {gai:g} is outside the range that can be simulated"
    return ""


def _row(need: Need, wanted: float) -> _Cells:
    """Return the row of a group."""
    one, now = need.standing, need.now
    if now is None:
        return (one.axis, one.group, *one.shape, *[None] * 10, one.why_not)
    raters, items, everyone = need.raters, need.items, need.everyone
    together = everyone.shape if everyone and everyone.power >= wanted else None
    return (
        one.axis, one.group, *now.shape, now.power, now.low, now.high,
        raters.shape.n_group if raters and raters.power >= wanted else None, raters.power if raters else None,
        items.shape.n_items if items and items.power >= wanted else None, items.power if items else None,
        together.n_group + together.n_rest if together else None, together.n_items if together else None,
        everyone.power if everyone else None, "",
    )  # fmt: skip
