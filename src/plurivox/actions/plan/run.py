"""Which analyses apply to a table of ratings, which groups are too small for which, and what to collect next."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from plurivox.actions.plan.applicable import facts_of, lens_rows
from plurivox.actions.plan.crowd import (
    GROUP,
    REST,
    WIDEST_VIEW,
    Crowd,
    Floats,
    Layout,
    Shape,
    Studies,
    coarse,
    shuffled_gai,
    variance,
)
from plurivox.actions.plan.power import (
    FEWEST_ITEMS,
    MOST_RATERS,
    MOST_RATINGS,
    Powers,
    shapes_around,
    simulated,
    unequal_as,
)
from plurivox.actions.plan.result import SCHEMAS, Plan
from plurivox.actions.plan.settings import MOST_TIMES, PlanSettings
from plurivox.base.errors import InputError
from plurivox.domain.attributes import category_order
from plurivox.domain.axis import By
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings, ratings_of, with_items
from plurivox.domain.scale import few_points
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.call import MeasuredGroups
from plurivox.infer.exchange import Exchange
from plurivox.infer.families import standardised
from plurivox.infer.grouping import Compared, compared, overlapping_axes, raters_who_rated
from plurivox.infer.inference import Inference
from plurivox.infer.lens import keywords
from plurivox.infer.result import Table
from plurivox.lenses.cohesion import CohesionSettings
from plurivox.lenses.cohesion.run import Agreeing
from plurivox.lenses.cohesion.sums import place_of
from plurivox.statistics.checks import level_of, usual_level
from plurivox.statistics.registry import of_role, with_trait

# Where the groups of a real study stand ------------------------------------------------------------------------------
MOST_SHUFFLED = 500_000
"""The most ratings that are shuffled; for a larger study, those of some items drawn at random."""
NOBODY = "there are no other raters to compare it with"
ENTANGLED = "who rated what depends on the group; assign items to raters at random, or within batches"
_ITEMS, _RATERS, _LABELS = 1011, 1012, 1013  # children of the seed


class PilotStanding(NamedTuple):
    """A group that may be shown: its shape, the variance of its GAI under shuffles, and why nothing can be claimed."""

    axis: str
    group: str
    n_raters: int
    shape: Shape
    variance: float
    why_not: str


class PlannedFamily(NamedTuple):
    """All groups of a call, and the largest deviation of any of their values in each shuffle."""

    standings: list[PilotStanding]
    largest: Floats


def family_of(
    ratings: Ratings, axes: Sequence[Compared], asked: PlanSettings, exchange: Exchange, how: Running
) -> PlannedFamily:
    """Shuffle the raters of a study as :func:`plurivox.cohesion` would by default."""
    by = tuple(one.axis.attributes for one in axes)
    settings = CohesionSettings(
        by=by, permutations=asked.permutations, interval="none", within=asked.within, several=asked.several,
        min_group_size=asked.min_group_size, seed=asked.seed,
    )  # fmt: skip
    n_points = len(ratings.scale)
    inference = Inference(settings, how, exchange)
    work = Agreeing(ratings, settings, inference, level_of(usual_level("auto", n_points), n_points))
    claims = [at for at, record in enumerate(of_role("tested")) if record.name in with_trait("claims")]
    shuffles = Draws.permuted(asked.permutations, asked.seed)
    standings, largest = [], np.full(asked.permutations, -np.inf)
    for one in axes:
        for prepared in work.prepare(one):
            null = prepared.tested.make(shuffles, how.doing(f"shuffling raters of {one.axis.name}"))
            free = ~prepared.tested.alone
            observed = prepared.tested.observed[free][:, claims]
            _, draws = standardised(observed.ravel(), null[:, free][:, :, claims].reshape(len(null), observed.size))
            largest = np.fmax(largest, np.fmax.reduce(np.abs(draws), axis=1, initial=-np.inf))
            found = inference.design.get(one.axis.name)
            why = ENTANGLED if found is not None and found.entangled else ""
            standings += _standings(ratings, one.axis.name, prepared, null, why, exchange)
    return PlannedFamily(standings, largest)


def _standings(
    ratings: Ratings, axis: str, one: MeasuredGroups, null: Floats, why: str, exchange: Exchange
) -> list[PilotStanding]:
    """Return where the groups of an axis stand."""
    rated = raters_who_rated(ratings)
    inside = (one.axis.codes >= 0) & rated
    n_items, at = int(np.count_nonzero(np.diff(ratings.offsets))), place_of("gai")
    found = []
    for number, g in enumerate(one.places):
        n = int(np.count_nonzero((one.axis.codes == g) & rated))
        shape = Shape(n, int(np.count_nonzero(inside)) - n, n_items)
        varies = variance(null[:, number, at])
        own = why or (NOBODY if not shape.n_rest else exchange.alone if one.tested.alone[number] else "")
        if not own and np.isnan(one.measured.value[g, at]):
            own = one.measured.why("gai", g, int(one.axis.sizes[g]))
        if not own and not varies > 0:
            own = "its GAI is the same whoever is in it"
        found.append(PilotStanding(axis, one.axis.groups[g], int(one.axis.sizes[g]), shape, varies, own))
    return found


def fewer_items(ratings: Ratings, most: int, seed: int) -> Ratings:
    """Return the ratings of some items, drawn at random, if there are too many ratings."""
    if len(ratings.scores) <= most:
        return ratings
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_ITEMS,)))
    share = most / len(ratings.scores)
    chosen = np.zeros(ratings.n_items, bool)
    chosen[rng.permutation(ratings.n_items)[: max(FEWEST_ITEMS, int(share * ratings.n_items))]] = True
    return with_items(ratings, chosen)


# A sample that simulated studies are like ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Pilot:
    """A study, or a sample of a large one, that simulated studies are like.

    Attributes
    ----------
    crowd, layout
        What its raters are like, and who rates what.
    share
        The part of all raters that are in it.
    shape
        A random group of the usual size.
    variance
        Of that group's GAI under shuffles.
    """

    crowd: Crowd
    layout: Layout
    share: float
    shape: Shape
    variance: float

    @classmethod
    def of(cls, ratings: Ratings, exchange: Exchange, sizes: Sequence[tuple[int, int]], asked: PlanSettings) -> Pilot:
        """Sample a study whose groups have some sizes, as have their rests."""
        n_rated = int(np.count_nonzero(raters_who_rated(ratings)))
        fewer = fewer_items(_fewer_raters(ratings, exchange, asked.seed), MOST_RATINGS, asked.seed)
        rated = raters_who_rated(fewer)
        who = np.flatnonzero(rated)
        group, rest = sorted(sizes)[len(sizes) // 2]
        n = min(max(round(len(who) * group / (group + rest)), 2), max(len(who) - 2, 1))
        shape = Shape(n, len(who) - n, int(np.count_nonzero(np.diff(fewer.offsets))))
        layout = Layout.of(fewer, exchange)
        place = coarse(np.bincount(fewer.scores, minlength=len(fewer.scale)))
        rng = np.random.default_rng(np.random.SeedSequence(asked.seed, spawn_key=(_LABELS,)))
        codes = rng.permutation(np.repeat(np.array([GROUP, REST], np.int32), [n, len(who) - n]))
        compact = (np.cumsum(rated) - 1).astype(np.int32)[fewer.codes_of_raters]
        scores = place[fewer.scores].astype(np.uint8)
        part = Part(0, fewer.offsets.copy(), compact, scores, np.zeros(0, np.int64))
        draws = Draws.permuted(asked.permutations, asked.seed)
        null = shuffled_gai(part, codes, layout.strata, int(place.max()) + 1, draws)
        return cls(Crowd.of(fewer), layout, len(who) / max(n_rated, 1), shape, variance(null))

    def scaled(self, sizes: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
        """Return sizes of groups and their rests as they would be in the sample."""
        return [(max(round(n * self.share), 2), max(round(rest * self.share), 2)) for n, rest in sizes]


def _fewer_raters(ratings: Ratings, exchange: Exchange, seed: int) -> Ratings:
    """Return the ratings of some raters if there are too many: whole strata of them, or any."""
    who = np.flatnonzero(raters_who_rated(ratings))
    if len(who) <= MOST_RATERS:
        return ratings
    rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_RATERS,)))
    strata = who if exchange.strata is None else exchange.strata[who]
    numbers, sizes = np.unique(strata, return_counts=True)
    order = rng.permutation(len(numbers))
    n_whole = int(np.searchsorted(np.cumsum(sizes[order]), MOST_RATERS, side="right"))
    chosen = numbers[order[: max(n_whole, 1)]]
    kept = np.zeros(ratings.n_raters, bool)
    kept[rng.permutation(who[np.isin(strata, chosen)])[:MOST_RATERS]] = True
    return ratings_of(ratings, raters=kept)


# What a group needs for a study to claim it often enough -------------------------------------------------------------
_STEPS = 30


class Reached(NamedTuple):
    """A size of a study, and its power with the ends of its Monte Carlo interval."""

    shape: Shape
    power: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Need:
    """What a group has, and what it needs.

    Attributes
    ----------
    standing
        The group.
    now
        Its power as it is; None if nothing can be claimed about it.
    raters, items
        The smallest study that is enough with only more raters of the group, or with only more items, otherwise the
        largest examined; None if it is enough now.
    everyone
        The same with more raters of all groups and, if that is not enough, more items; only if neither more raters of
        the group nor more items are enough.
    """

    standing: PilotStanding
    now: Reached | None = None
    raters: Reached | None = None
    items: Reached | None = None
    everyone: Reached | None = None


def need_of(standing: PilotStanding, now: Shape, powers: Powers, wanted: float) -> Need:
    """Find what a group needs.

    ``now`` is its study as it is; that of ``standing`` is what was shuffled, which has fewer items if there are many.
    """
    factors = powers.factors(standing.shape, standing.variance)

    def reached(shape: Shape) -> Reached:
        return Reached(shape, *powers.power(shape, factors))

    def smallest(*growing: str) -> Reached:
        """Return the smallest study that is enough, or the largest, where only some of its sizes grow."""

        def larger(times: float) -> Shape:
            return now._replace(**{name: math.ceil(getattr(now, name) * times) for name in growing})

        low, high = 1.0, float(MOST_TIMES)
        if powers.value(larger(high), factors) >= wanted:
            for _ in range(_STEPS):
                middle = math.sqrt(low * high)
                enough = powers.value(larger(middle), factors) >= wanted
                low, high = (low, middle) if enough else (middle, high)
        return reached(larger(high))

    present = reached(now)
    if present.power >= wanted:
        return Need(standing, present)
    raters, items = smallest("n_group"), smallest("n_items")
    if max(raters.power, items.power) >= wanted:
        return Need(standing, present, raters, items)
    everyone = smallest("n_group", "n_rest")
    return Need(standing, present, raters, items, everyone if everyone.power >= wanted else smallest(*Shape._fields))


# The call ------------------------------------------------------------------------------------------------------------

FEWEST_VALUES, MOST_VALUES = 2, 20
"""Attributes with fewer or more values are not used as axes unless requested."""


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
    rows: dict[str, Any] = {
        "lenses": lens_rows(ratings, facts), "groups": facts.groups,
        "power": [_row(need, settings.power) for need in needs],
    }  # fmt: skip
    tables = [Table(name, pl.DataFrame(own, schema=SCHEMAS[name], orient="row")) for name, own in rows.items()]
    named = [list(one.axis.attributes) for one in axes]
    return Plan(tuple(tables), {**settings.as_dict(), "by": named, "several": overlapping, "left_out": left_out})


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


# Power --------------------------------------------------------------------------------------------------------------


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
    why = ""
    if math.isnan(pilot.crowd.agreement):
        why = "the agreement of raters is undefined"
    elif pilot.crowd.agreement <= 0:
        why = "raters agree no more than by chance, so GAI is undefined"
    elif pilot.crowd.gai(WIDEST_VIEW) < asked.gai:
        why = f"a GAI of {asked.gai:g} is outside the range that can be simulated"
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


def _row(need: Need, wanted: float) -> tuple[Any, ...]:
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
