"""Power by simulation: how often a study of some size would find a cohesive group, and how wide its intervals would be.

:mod:`plurivox.actions.plan.simulated` tells what simulated raters are like, and what a cohesive group is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.actions.plan.settings import PlanSettings
from plurivox.actions.plan.simulated import BLOCK, GROUP, Crowd, Design, as_ratings
from plurivox.axis import OUTSIDE
from plurivox.engine.draws import Draws
from plurivox.engine.grouping import Grouping
from plurivox.engine.intervals import percentile_interval, wilson
from plurivox.engine.part import Part
from plurivox.engine.permutation import compare
from plurivox.engine.pool import in_batches
from plurivox.engine.running import Running
from plurivox.lenses.cohesion.sums import Measured, place_of
from plurivox.lenses.responsiveness.references import CROWD, resolve
from plurivox.lenses.responsiveness.sums import Responses
from plurivox.ratings import Ratings
from plurivox.scale import Scale
from plurivox.statistics.responsiveness_records import MEASURES

NOW, MORE_RATERS, MORE_ITEMS, BOTH = "as it is now", "more raters", "more items", "both"
FACTORS = (2, 4, 8, 16)
"""How many times as many raters, or items, are tried."""
BOTH_FACTORS = (2, 4)
"""The same for both together, tried where neither alone is enough."""
BOOTSTRAP = 200
MOST_RESAMPLED = 2_000_000
"""Studies of resampled items with more ratings are not looked at."""
_FIRST_LOOK = 30  # shuffles
_GAI, _MPA = 1010, 1011  # children of the seed


class Step(NamedTuple):
    """One design, and what a study of it would reach."""

    what: str
    n_raters: int
    n_items: int
    ratings_per_item: float
    value: float
    ci_low: float | None
    ci_high: float | None
    enough: bool
    n_simulations: int


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """Simulated studies of a design, each of which finds a group to be cohesive or does not.

    ``sharing`` is how often members of the group share their point, ``start`` the number of the first study.
    """

    crowd: Crowd
    design: Design
    sharing: float
    wanted: PlanSettings
    start: int = 0

    def __call__(self, first: int, last: int) -> int:
        """Return how many of the studies ``first`` to ``last`` find the group."""
        return sum(self.finds(self.start + number) for number in range(first, last))

    def finds(self, number: int) -> bool:
        """Simulate a study, and tell whether its group is found to be cohesive.

        The test is that of :func:`plurivox.cohesion`. After a few shuffles it ends if so many of them reach the
        observed value that p cannot be small any more, whatever the others give.
        """
        design, wanted = self.design, self.wanted
        key = (_GAI, design.n_group, design.n_rest, design.n_items, number)
        rng = np.random.default_rng(np.random.SeedSequence(wanted.seed, spawn_key=key))
        ratings, sides = self.crowd.study(design, self.sharing, rng)
        work = Measured.of(ratings, Grouping.of(ratings, sides, 2, design.strata()))
        at, seed = place_of("gai"), int(rng.integers(2**62))
        value = work.values(work.observed())[0, GROUP, at]

        def shuffled(permutations: int) -> NDArray[np.float64]:
            draws: NDArray[np.float64] = work.null(Draws.permuted(permutations, seed), Running(threads=1))[:, GROUP, at]
            return draws

        reaching = np.count_nonzero(shuffled(min(_FIRST_LOOK, wanted.permutations)) >= value)
        if np.isnan(value) or 2 * (reaching + 1) / (wanted.permutations + 1) >= wanted.alpha:
            return False
        test = compare(value, shuffled(wanted.permutations))
        return bool(test.p_value < wanted.alpha) and test.direction.item() == "above"


def detected(crowd: Crowd, design: Design, wanted: PlanSettings, *, settle: bool, how: Running) -> tuple[int, int]:
    """Return in how many of how many simulated studies the group was found to be cohesive.

    If ``settle``, no more studies are simulated than it takes to tell whether the wanted power is reached.
    """
    sharing, total = crowd.sharing(wanted.gai), design.studies(wanted.simulations)
    found = done = 0
    while done < total:
        block = min(BLOCK, total - done) if settle else total
        work = Detection(crowd, design, sharing, wanted, done)
        found += sum(in_batches(work, block, how.within(done, wanted.simulations)))
        done += block
        low, high = wilson(found / done, done)
        if settle and not low <= wanted.power <= high:
            break
    how.tell(wanted.simulations, wanted.simulations)
    return found, done


def gai_steps(crowd: Crowd, now: Design, wanted: PlanSettings, how: Running) -> list[Step]:
    """Return how often the wanted GAI is found as it is now, and with more raters, items or both until it is enough."""
    steps: list[Step] = []

    def step(what: str, design: Design) -> bool:
        part = how.within(len(steps) * wanted.simulations, gai_studies(wanted))
        found, done = detected(crowd, design, wanted, settle=what != NOW, how=part)
        low, high = wilson(found / done, done)
        sizes = design.n_group, design.n_items, design.ratings_per_item
        steps.append(Step(what, *sizes, found / done, low, high, found / done >= wanted.power, done))
        return steps[-1].enough

    today = now.fitted()
    if step(NOW, today):
        return steps
    for what, factors in ((MORE_RATERS, FACTORS), (MORE_ITEMS, FACTORS), (BOTH, BOTH_FACTORS)):
        if what == BOTH and any(one.enough for one in steps):
            break
        for design in _larger(today, what, factors):
            if step(what, design):
                break
    return steps


def gai_studies(wanted: PlanSettings) -> int:
    """Return how many studies :func:`gai_steps` simulates at most."""
    return wanted.simulations * (1 + 2 * len(FACTORS) + len(BOTH_FACTORS))


def mpa_studies(wanted: PlanSettings) -> int:
    """Return how many studies :func:`mpa_steps` looks at, at most."""
    return wanted.studies * len(FACTORS)


def mpa_steps(ratings: Ratings, sides: NDArray[np.int32], wanted: PlanSettings, how: Running) -> list[Step]:
    """Return how wide the interval of a group's MPA against the crowd is, now and with ever more items until enough."""
    n_raters = int(np.count_nonzero(sides == GROUP))
    n_inside = int(np.count_nonzero(sides[ratings.codes_of_raters] != OUTSIDE))
    per_item = n_inside / max(ratings.n_items, 1)
    width = half_width(ratings, sides, wanted.seed)
    enough = width <= wanted.mpa_width
    steps = [Step(NOW, n_raters, ratings.n_items, per_item, width, None, None, enough, 0)]
    if enough or math.isnan(width):
        return steps
    for number, factor in enumerate(FACTORS):
        n_items = factor * ratings.n_items
        if n_items * per_item > MOST_RESAMPLED:
            break
        work = Widths(ratings.scale, ratings.parts(), sides, n_items, wanted.seed)
        part = how.within(number * wanted.studies, mpa_studies(wanted))
        widths = np.array([width for some in in_batches(work, wanted.studies, part) for width in some])
        low, high, _ = percentile_interval(widths)
        mean = float(np.nanmean(widths)) if not np.isnan(widths).all() else math.nan
        enough = mean <= wanted.mpa_width
        ends = float(low), float(high)  # NaN of a single study
        steps.append(Step(MORE_ITEMS, n_raters, n_items, per_item, mean, *ends, enough, wanted.studies))
        if enough:
            break
    return steps


def half_width(ratings: Ratings, sides: NDArray[np.int32], seed: int) -> float:
    """Return half the 95 % interval over items of a group's MPA, as :func:`plurivox.responsiveness` gives it."""
    work = Responses.of(ratings, sides, 2, resolve(ratings, CROWD))
    draws = work.bootstrap(BOOTSTRAP, seed, "items", Running(threads=1))
    low, high, _ = percentile_interval(draws[:, GROUP, MEASURES.index("mpa")])
    return float(high - low) / 2


@dataclass(frozen=True, slots=True, eq=False)
class Widths:
    """Studies of so many items, drawn with replacement from those of a real one, and the interval of MPA in each."""

    scale: Scale
    parts: tuple[Part, ...]
    sides: NDArray[np.int32]
    n_items: int
    seed: int

    def __call__(self, first: int, last: int) -> list[float]:
        """Return half the widths in the studies ``first`` to ``last``."""
        per_item = np.concatenate([np.diff(part.offsets) for part in self.parts])
        starts = np.cumsum(per_item) - per_item
        raters, scores = (np.concatenate([getattr(part, name) for part in self.parts]) for name in ("raters", "scores"))
        widths = []
        for number in range(first, last):
            rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(_MPA, self.n_items, number)))
            items = rng.integers(len(per_item), size=self.n_items)
            sizes = per_item[items]
            item = np.repeat(np.arange(self.n_items), sizes)
            entries = np.arange(len(item)) + np.repeat(starts[items] - np.cumsum(sizes) + sizes, sizes)
            study = as_ratings(self.scale, item, raters[entries], scores[entries], self.n_items, len(self.sides))
            widths.append(half_width(study, self.sides, int(rng.integers(2**62))))
        return widths


def _larger(now: Design, what: str, factors: Sequence[int]) -> Iterator[Design]:
    """Yield the designs to try, as far as they can be simulated."""
    for factor in factors:
        design = now.times(raters=1 if what == MORE_ITEMS else factor, items=1 if what == MORE_RATERS else factor)
        if design.too_large:
            return
        yield design
