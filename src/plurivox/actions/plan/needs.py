"""What a group needs for a study to claim it often enough: more raters, more items, or a larger study."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from plurivox.actions.plan.power import Powers
from plurivox.actions.plan.settings import MOST_TIMES
from plurivox.actions.plan.simulated import Shape
from plurivox.actions.plan.standing import PilotStanding

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


Way = Callable[[Shape, float], Shape]


def _more_raters(now: Shape, times: float) -> Shape:
    return now._replace(n_group=math.ceil(now.n_group * times))


def _more_items(now: Shape, times: float) -> Shape:
    return now._replace(n_items=math.ceil(now.n_items * times))


def _more_of_all(now: Shape, times: float) -> Shape:
    return now._replace(n_group=math.ceil(now.n_group * times), n_rest=math.ceil(now.n_rest * times))


def _more_of_all_and_items(now: Shape, times: float) -> Shape:
    return _more_items(_more_of_all(now, times), times)


def need_of(standing: PilotStanding, now: Shape, powers: Powers, wanted: float) -> Need:
    """Find what a group needs.

    ``now`` is its study as it is; that of ``standing`` is what was shuffled, which has fewer items if there are many.
    """
    factors = powers.factors(standing.shape, standing.variance)

    def reached(shape: Shape) -> Reached:
        return Reached(shape, *powers.power(shape, factors))

    def smallest(way: Way) -> Reached:
        low, high = 1.0, float(MOST_TIMES)
        if powers.value(way(now, high), factors) >= wanted:
            for _ in range(_STEPS):
                middle = math.sqrt(low * high)
                enough = powers.value(way(now, middle), factors) >= wanted
                low, high = (low, middle) if enough else (middle, high)
        return reached(way(now, high))

    present = reached(now)
    if present.power >= wanted:
        return Need(standing, present)
    raters, items = smallest(_more_raters), smallest(_more_items)
    if max(raters.power, items.power) >= wanted:
        return Need(standing, present, raters, items)
    everyone = smallest(_more_of_all)
    return Need(
        standing, present, raters, items, everyone if everyone.power >= wanted else smallest(_more_of_all_and_items)
    )
