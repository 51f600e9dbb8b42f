"""Simulated ratings: studies of some size with raters like those of a real one, and a group that is cohesive.

A simulated rating of an item is a real rating of a real item, drawn at random, which with some probability is replaced:
by any rating of the study, where an item's few ratings make raters look more alike than they are; by a point that all
raters of the item share, where what is particular to raters hides how much alike they see it; and by a point that the
rater likes to give to everything. Some raters do not look at the item and give any rating of the study. The
probabilities are such that simulated raters agree on items as much as those of the study do, that each agrees with
themselves over items as much, and that they differ as much in how far they agree with others. Without the last two
a study would seem to find far more than it does: chance makes groups of raters differ because raters do.

A group is cohesive if its members share one more point of each item, which is drawn from what the crowd gives to the
item and replaces a score with probability w. XRR does not change by it, IRR does: with α the agreement of the crowd,
and very many raters::

    GAI = 1 + w²·(1 − α)/α        w = √((GAI − 1)·α/(1 − α))

This is one kind of cohesion. A group may be alike in other ways that are easier or harder to find.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.intake.check import Intake
from plurivox.ratings import Ratings
from plurivox.scale import Scale
from plurivox.statistics.cohesion.parts import alpha_nominal_from, alpha_nominal_parts

MOST_EFFORT = 600_000
"""Larger studies are not simulated, since a test of each takes its time; see :attr:`Design.effort`."""
FULL_EFFORT = 100_000
"""Of larger studies fewer are simulated, in proportion."""
BLOCK = 25
"""Simulations between two looks whether a design is settled, and the fewest of one if as many are asked for."""
GROUP, REST = 0, 1
"""The sides of raters; those outside have no group."""
_EFFORT_OF_ITEM = 20  # ratings
_DENSE = 0.3  # from this share of rated cells on, every cell is drawn for
_FEW_RATERS = 10  # with fewer, nothing is said of how raters differ


class Design(NamedTuple):
    """The size of a study: raters of a group and of its rest, items, and the share of items that each side rates.

    ``strata_group`` and ``strata_rest`` are how many raters of each side each stratum has within which raters are
    shuffled; empty if all are.
    """

    n_group: int
    n_rest: int
    n_items: int
    density_group: float = 1.0
    density_rest: float = 1.0
    strata_group: tuple[int, ...] = ()
    strata_rest: tuple[int, ...] = ()

    def strata(self) -> NDArray[np.int32] | None:
        """Return the stratum of each rater, those of the group first, in the proportions of the study as it is."""
        if not self.strata_group:
            return None
        sides = ((self.n_group, self.strata_group), (self.n_rest, self.strata_rest))
        return np.concatenate([_spread(n, shares) for n, shares in sides])

    @property
    def ratings_per_item(self) -> float:
        """How many ratings an item has on average."""
        return self.n_group * self.density_group + self.n_rest * self.density_rest

    @property
    def effort(self) -> float:
        """What a shuffle takes, as a number of ratings; an item takes as long as some."""
        return (self.ratings_per_item + _EFFORT_OF_ITEM) * self.n_items

    @property
    def too_large(self) -> bool:
        """Whether it is not simulated, since that would take too long."""
        return self.effort > MOST_EFFORT

    def times(self, *, raters: int = 1, items: int = 1) -> Design:
        """Return the design with more raters, in the group and in its rest alike, and more items."""
        return self._replace(n_group=self.n_group * raters, n_rest=self.n_rest * raters, n_items=self.n_items * items)

    def fitted(self) -> Design:
        """Return the design with as many items as can be simulated."""
        most = int(MOST_EFFORT / (self.ratings_per_item + _EFFORT_OF_ITEM))
        return self._replace(n_items=max(2, most)) if self.too_large else self

    def studies(self, simulations: int) -> int:
        """Return how many studies to simulate if ``simulations`` are asked for."""
        share = min(1.0, FULL_EFFORT / max(self.effort, 1.0))
        return min(simulations, max(BLOCK, round(simulations * share)))


def _spread(n: int, shares: tuple[int, ...]) -> NDArray[np.int32]:
    """Spread n raters over strata in proportion, as evenly as can be."""
    ends = np.cumsum(shares) / max(sum(shares), 1)
    return np.searchsorted(ends, (np.arange(n) + 0.5) / max(n, 1)).astype(np.int32)


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """What simulated raters draw their scores from.

    Attributes
    ----------
    scores, starts, sizes
        The study's ratings; those of its rated item ``i`` are ``sizes[i]`` entries from ``starts[i]`` on.
    agreement
        Nominal alpha of all raters; NaN where it is undefined.
    blur, focus, habit
        The probability that a score is any of the whole study, the item's shared one, or the rater's favourite.
    careless
        The share of raters who do not look at items.
    """

    scale: Scale
    scores: NDArray[Any]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    agreement: float
    blur: float
    focus: float
    habit: float
    careless: float

    @classmethod
    def of(cls, ratings: Ratings) -> Crowd:
        """Learn from a study how much raters agree, with each other and with themselves, and how they differ in it.

        With shares f of an item's ratings, α_f is the agreement of raters that draw from them. A share z of careless
        raters leaves (1 − z)² of it, habits of probability v leave (1 − v)², blurring by λ leaves (1 − λ)², and a focus
        of u makes it α_f + u²(1 − α_f).
        """
        n_points = len(ratings.scale)
        counts = ratings.counts()
        rated = np.flatnonzero(counts.sum(axis=1))
        own = ratings.codes_of_raters.astype(np.int64) * n_points + ratings.scores
        habits = np.bincount(own, minlength=ratings.n_raters * n_points).reshape(-1, n_points)
        agreement = _agreement(counts)
        drawn = _agreement_of_shares(counts[rated] / counts[rated].sum(axis=1, keepdims=True))
        blur = focus = habit = careless = 0.0
        if agreement > 0 and drawn > 0:
            least = math.sqrt(agreement)  # of what the raters leave, so that items can do the rest
            differing = _differing(ratings, counts)
            careless = min(differing / (1 + differing), 1 - least)
            repeated = _agreement(habits)
            habit = min(math.sqrt(repeated) if repeated > 0 else 0.0, 1 - least / (1 - careless))
            seen = min(agreement / ((1 - careless) * (1 - habit)) ** 2, 1.0)
            if seen < drawn:
                blur = 1 - math.sqrt(seen / drawn)
            elif drawn < 1:
                focus = math.sqrt((seen - drawn) / (1 - drawn))
        starts, sizes = ratings.offsets[:-1][rated], np.diff(ratings.offsets)[rated]
        return cls(ratings.scale, ratings.scores, starts, sizes, agreement, blur, focus, habit, careless)

    @property
    def highest_gai(self) -> float:
        """The GAI of a group whose members always agree; NaN where raters agree no more than by chance."""
        return 1 / self.agreement if self.agreement > 0 else math.nan

    def sharing(self, gai: float) -> float:
        """Return how often members of a group share their point so that its GAI is the one wanted."""
        return math.sqrt((gai - 1) * self.agreement / (1 - self.agreement))

    def study(self, design: Design, sharing: float, rng: np.random.Generator) -> tuple[Ratings, NDArray[np.int32]]:
        """Simulate a study; return its ratings and the side of each rater."""
        n_raters = design.n_group + design.n_rest
        items = rng.integers(len(self.starts), size=design.n_items)
        focal = self._drawn(items, rng)
        favourites = self._anywhere(n_raters, rng)
        careless = rng.random(n_raters) < self.careless
        shared = self._seen(items, focal, rng)
        shared = _replaced(shared, 1 - (1 - self.careless) * (1 - self.habit), self._anywhere(len(items), rng), rng)
        item, rater = _cells(design, rng)
        scores = self._seen(items[item], focal[item], rng)
        unseen = careless[rater]
        scores[unseen] = self._anywhere(int(np.count_nonzero(unseen)), rng)
        scores = _replaced(scores, self.habit, favourites[rater], rng)
        in_group = rater < design.n_group
        scores[in_group] = _replaced(scores[in_group], sharing, shared[item[in_group]], rng)
        sides = np.repeat(np.array([GROUP, REST], np.int32), [design.n_group, design.n_rest])
        return as_ratings(self.scale, item, rater, scores, design.n_items, n_raters), sides

    def _drawn(self, items: NDArray[np.int64], rng: np.random.Generator) -> NDArray[Any]:
        """Return a real rating of each item."""
        places = (rng.random(len(items)) * self.sizes[items]).astype(np.int64)
        drawn: NDArray[Any] = self.scores[self.starts[items] + places]
        return drawn

    def _anywhere(self, n: int, rng: np.random.Generator) -> NDArray[Any]:
        """Return ratings of items of the whole study."""
        return self._drawn(rng.integers(len(self.starts), size=n), rng)

    def _seen(self, items: NDArray[np.int64], focal: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        """Return what raters without habits give to items."""
        scores = self._drawn(items, rng)
        if self.blur:
            scores = _replaced(scores, self.blur, self._anywhere(len(items), rng), rng)
        return _replaced(scores, self.focus, focal, rng) if self.focus else scores


def as_ratings(
    scale: Scale, item: NDArray[Any], rater: NDArray[Any], scores: NDArray[Any], n_items: int, n_raters: int
) -> Ratings:
    """Return scores by the numbers of items and raters, sorted by both, as ratings."""
    return Ratings(
        scale, pl.DataFrame({"item": np.arange(n_items)}), pl.DataFrame({"rater": np.arange(n_raters)}),
        item.astype(np.int32), rater.astype(np.int32), scores, None, Intake(),
    )  # fmt: skip


def _agreement(counts: NDArray[np.int64]) -> float:
    """Return nominal alpha of the units that are the rows."""
    sums = alpha_nominal_parts(counts).sum(axis=0)
    return float(alpha_nominal_from(sums[0], sums[1:]))


def _agreement_of_shares(shares: NDArray[np.float64]) -> float:
    """Return the alpha of very many raters that draw from the shares; 0 where all items have the same."""
    if not len(shares):
        return 0.0
    alike, chance = float((shares**2).sum(axis=1).mean()), float((shares.mean(axis=0) ** 2).sum())
    return (alike - chance) / (1 - chance) if chance < 1 else 0.0


def _differing(ratings: Ratings, counts: NDArray[np.int64]) -> float:
    """Return the variance, between raters, of how far they agree with others beyond chance, in squares of its mean.

    It is the covariance of two halves of the items, in which what is chance in a rater's few ratings cancels out.
    """
    others = counts.sum(axis=1)[ratings.item_codes] - 1
    item, rater, score = (of[others > 0] for of in (ratings.item_codes, ratings.codes_of_raters, ratings.scores))
    if not len(item):
        return 0.0
    usage = np.bincount(score, minlength=counts.shape[1]) / len(score)
    beyond = (counts[item, score] - 1) / others[others > 0] - usage[score]
    halves = []
    for half in (0, 1):
        chosen = item % 2 == half
        n = np.bincount(rater[chosen], minlength=ratings.n_raters)
        halves.append(
            np.where(n > 0, np.bincount(rater[chosen], beyond[chosen], ratings.n_raters) / np.maximum(n, 1), np.nan)
        )
    both = np.array(halves)[:, ~np.isnan(halves).any(axis=0)]
    if both.shape[1] < _FEW_RATERS or both.mean() <= 0:
        return 0.0
    return max(float(np.cov(both)[0, 1] / both.mean() ** 2), 0.0)


def _replaced(scores: NDArray[Any], probability: float, by: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
    """Return scores of which some, each with the same probability, are replaced."""
    return np.where(rng.random(len(scores)) < probability, by, scores)


def _cells(design: Design, rng: np.random.Generator) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return item and rater of each rating, sorted; all raters of a side rate an item with the same probability."""
    n_raters = design.n_group + design.n_rest
    parts = []
    for first, n, density in (
        (0, design.n_group, design.density_group),
        (design.n_group, design.n_rest, design.density_rest),
    ):
        cells = _chosen(design.n_items * n, min(density, 1.0), rng)
        parts.append(cells // max(n, 1) * n_raters + first + cells % max(n, 1))
    together = np.sort(np.concatenate(parts))
    return together // n_raters, together % n_raters


def _chosen(n: int, density: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return which of n cells are filled, each with probability ``density``.

    Where few are, a Poisson number of draws with replacement, of mean −n·ln(1 − density), fills each with just that.
    """
    if density >= 1:
        return np.arange(n)
    if density > _DENSE:
        return np.flatnonzero(rng.random(n) < density)
    return np.unique(rng.integers(max(n, 1), size=rng.poisson(-n * math.log1p(-density))))
