"""Power by simulation: how often a study of some size would find a cohesive group, and how wide its intervals would be.

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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.border import Intake
from plurivox.inference.batches import in_batches
from plurivox.inference.bootstrap import NORMAL_95, percentile_interval
from plurivox.inference.permutation import compare
from plurivox.lenses import passes, responding
from plurivox.lenses.passes import Passes, Running
from plurivox.lenses.references import CROWD, resolve
from plurivox.lenses.responding import Responses
from plurivox.ratings import Ratings
from plurivox.scale import Scale
from plurivox.statistics.cohesion_parts import alpha_nominal_from, alpha_nominal_parts

NOW, MORE_RATERS, MORE_ITEMS, BOTH = "as it is now", "more raters", "more items", "both"
FACTORS = (2, 4, 8, 16)
"""How many times as many raters, or items, are tried."""
BOTH_FACTORS = (2, 4)
"""The same for both together, tried where neither alone is enough."""
MOST_EFFORT = 600_000
"""Larger studies are not simulated, since a test of each takes its time; see :attr:`Design.effort`."""
FULL_EFFORT = 100_000
"""Of larger studies fewer are simulated, in proportion."""
BOOTSTRAP = 200
STUDIES = 10
"""Studies of resampled items, at most, that an expected width is the mean of."""
MOST_RESAMPLED = 2_000_000
"""The same for studies of resampled items, which are not tested."""
GROUP, REST, OUTSIDE = 0, 1, -1
_EFFORT_OF_ITEM = 20  # ratings
_BLOCK = 25  # simulations between two looks whether a design is settled
_DENSE = 0.3  # from this share of rated cells on, every cell is drawn for
_FIRST_LOOK = 30  # shuffles
_FEW_RATERS = 10  # with fewer, nothing is said of how raters differ
_GAI, _MPA = 1010, 1011  # children of the seed

Tell = Callable[[int], object]
"""Told how many more studies are done."""


class Wanted(NamedTuple):
    """What a study should be able to do, and how that is found out."""

    gai: float
    mpa_width: float
    power: float
    alpha: float
    simulations: int
    permutations: int
    seed: int
    threads: int | None


class Design(NamedTuple):
    """The size of a study: raters of a group and of its rest, items, and the share of items that each side rates."""

    n_group: int
    n_rest: int
    n_items: int
    density_group: float = 1.0
    density_rest: float = 1.0

    @property
    def ratings_per_item(self) -> float:
        """How many ratings an item has on average."""
        return self.n_group * self.density_group + self.n_rest * self.density_rest

    @property
    def effort(self) -> float:
        """What a shuffle takes, as a number of ratings; an item takes as long as some."""
        return (self.ratings_per_item + _EFFORT_OF_ITEM) * self.n_items

    def times(self, *, raters: int = 1, items: int = 1) -> Design:
        """Return the design with more raters, in the group and in its rest alike, and more items."""
        return self._replace(n_group=self.n_group * raters, n_rest=self.n_rest * raters, n_items=self.n_items * items)

    def fitted(self) -> Design:
        """Return the design with as many items as can be simulated."""
        most = int(MOST_EFFORT / (self.ratings_per_item + _EFFORT_OF_ITEM))
        return self if self.effort <= MOST_EFFORT else self._replace(n_items=max(2, most))

    def studies(self, simulations: int) -> int:
        """Return how many studies to simulate if ``simulations`` are asked for."""
        share = min(1.0, FULL_EFFORT / max(self.effort, 1.0))
        return min(simulations, max(_BLOCK, round(simulations * share)))


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
        return _table(self.scale, item, rater, scores, design.n_items, n_raters), sides

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


def finds(crowd: Crowd, design: Design, sharing: float, wanted: Wanted, number: int) -> bool:
    """Simulate study number ``number`` of a design, and tell whether its group is found to be cohesive.

    The test is that of :func:`plurivox.cohesion`. After a few shuffles it ends if so many of them reach the observed
    value that p cannot be small any more, whatever the others give.
    """
    key = (_GAI, design.n_group, design.n_rest, design.n_items, number)
    rng = np.random.default_rng(np.random.SeedSequence(wanted.seed, spawn_key=key))
    ratings, sides = crowd.study(design, sharing, rng)
    work = Passes.of(ratings, sides, 2)
    at, seed = passes.STATISTICS.index("gai"), int(rng.integers(2**62))
    value = work.values(work.observed())[0, GROUP, at]

    def shuffled(permutations: int) -> NDArray[np.float64]:
        draws: NDArray[np.float64] = work.null(permutations, seed, Running(threads=1))[:, GROUP, at]
        return draws

    reaching = np.count_nonzero(shuffled(min(_FIRST_LOOK, wanted.permutations)) >= value)
    if np.isnan(value) or 2 * (reaching + 1) / (wanted.permutations + 1) >= wanted.alpha:
        return False
    test = compare(value, shuffled(wanted.permutations))
    return bool(test.p_value < wanted.alpha) and test.direction.item() == "above"


def detected(crowd: Crowd, design: Design, wanted: Wanted, *, settle: bool, tell: Tell) -> tuple[int, int]:
    """Return in how many of how many simulated studies the group was found to be cohesive.

    If ``settle``, no more studies are simulated than it takes to tell whether the wanted power is reached.
    """
    sharing, total = crowd.sharing(wanted.gai), design.studies(wanted.simulations)
    found = done = 0
    while done < total:
        block = min(_BLOCK, total - done) if settle else total

        def work(first: int, last: int, start: int = done) -> int:
            return sum(finds(crowd, design, sharing, wanted, start + number) for number in range(first, last))

        told = _Counted(tell)
        found += sum(in_batches(work, block, batch=1, threads=wanted.threads, progress=told))
        done += block
        low, high = wilson(found, done)
        if settle and not low <= wanted.power <= high:
            break
    tell(wanted.simulations - done)
    return found, done


def gai_steps(crowd: Crowd, now: Design, wanted: Wanted, tell: Tell) -> list[Step]:
    """Return how often the wanted GAI is found as it is now, and with more raters, items or both until it is enough."""

    def step(what: str, design: Design) -> Step:
        found, done = detected(crowd, design, wanted, settle=what != NOW, tell=tell)
        low, high = wilson(found, done)
        share = found / done
        return Step(
            what, design.n_group, design.n_items, design.ratings_per_item, share, low, high, share >= wanted.power, done
        )

    today = now.fitted()
    steps = [step(NOW, today)]
    if steps[0].enough:
        return steps
    for what, factors in ((MORE_RATERS, FACTORS), (MORE_ITEMS, FACTORS), (BOTH, BOTH_FACTORS)):
        if what == BOTH and any(one.enough for one in steps):
            break
        for design in _larger(today, what, factors):
            steps.append(step(what, design))
            if steps[-1].enough:
                break
    return steps


def n_designs() -> int:
    """Return how many designs :func:`gai_steps` tries at most."""
    return 1 + 2 * len(FACTORS) + len(BOTH_FACTORS)


def mpa_steps(ratings: Ratings, sides: NDArray[np.int32], wanted: Wanted, tell: Tell) -> list[Step]:
    """Return how wide the interval of a group's MPA against the crowd is, now and with ever more items until enough."""
    n_raters = int(np.count_nonzero(sides == GROUP))
    n_inside = int(np.count_nonzero(sides[ratings.codes_of_raters] != OUTSIDE))
    per_item = n_inside / max(ratings.n_items, 1)
    width = half_width(ratings, sides, wanted.seed)
    enough = width <= wanted.mpa_width
    steps = [Step(NOW, n_raters, ratings.n_items, per_item, width, None, None, enough, 0)]
    if enough or math.isnan(width):
        return steps
    studies = min(STUDIES, wanted.simulations)
    for factor in FACTORS:
        n_items = factor * ratings.n_items
        if n_items * per_item > MOST_RESAMPLED:
            break
        work = partial(_widths, ratings, sides, n_items, wanted.seed)
        parts = in_batches(work, studies, batch=1, threads=wanted.threads, progress=_Counted(tell))
        widths = np.concatenate(parts)
        low, high, _ = percentile_interval(widths)
        mean = float(np.nanmean(widths)) if not np.isnan(widths).all() else math.nan
        enough = mean <= wanted.mpa_width
        ends = float(low), float(high)  # NaN of a single study
        steps.append(Step(MORE_ITEMS, n_raters, n_items, per_item, mean, *ends, enough, studies))
        if enough:
            break
    return steps


def half_width(ratings: Ratings, sides: NDArray[np.int32], seed: int) -> float:
    """Return half the 95 % interval over items of a group's MPA, as :func:`plurivox.responsiveness` gives it."""
    work = Responses.of(ratings, sides, 2, resolve(ratings, CROWD))
    draws = work.bootstrap(BOOTSTRAP, seed, "items", Running(threads=1))
    low, high, _ = percentile_interval(draws[:, GROUP, responding.STATISTICS.index("mpa")])
    return float(high - low) / 2


def wilson(found: int, n: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share.

    Examples
    --------
    >>> [round(end, 3) for end in wilson(8, 10)]
    [0.49, 0.943]
    """
    z2 = NORMAL_95**2
    share = found / n
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n**2))) / (1 + z2 / n)
    return max(0.0, centre - reach), min(1.0, centre + reach)


class _Counted:
    """Turns how many studies are done in all into how many more there are."""

    def __init__(self, tell: Tell) -> None:
        self.tell, self.done = tell, 0

    def __call__(self, done: int, total: int) -> None:
        self.tell(done - self.done)
        self.done = done


def _larger(now: Design, what: str, factors: Sequence[int]) -> Iterator[Design]:
    """Yield the designs to try, as far as they can be simulated."""
    for factor in factors:
        design = now.times(
            raters=1 if what == MORE_ITEMS else factor,
            items=1 if what == MORE_RATERS else factor,
        )
        if design.effort > MOST_EFFORT:
            return
        yield design


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


def _widths(
    ratings: Ratings, sides: NDArray[np.int32], n_items: int, seed: int, first: int, last: int
) -> NDArray[np.float64]:
    """Return the half-widths of studies ``first`` to ``last`` of so many items, drawn with replacement."""
    widths = []
    for number in range(first, last):
        rng = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(_MPA, n_items, number)))
        items = rng.integers(ratings.n_items, size=n_items)
        sizes = np.diff(ratings.offsets)[items]
        item = np.repeat(np.arange(n_items), sizes)
        entries = np.arange(len(item)) + np.repeat(ratings.offsets[items] - np.cumsum(sizes) + sizes, sizes)
        rater = ratings.codes_of_raters[entries]
        study = _table(ratings.scale, item, rater, ratings.scores[entries], n_items, ratings.n_raters)
        widths.append(half_width(study, sides, int(rng.integers(2**62))))
    return np.array(widths)


def _table(
    scale: Scale, item: NDArray[Any], rater: NDArray[Any], scores: NDArray[Any], n_items: int, n_raters: int
) -> Ratings:
    return Ratings(
        scale, pl.DataFrame({"item": np.arange(n_items)}), pl.DataFrame({"rater": np.arange(n_raters)}),
        item.astype(np.int32), rater.astype(np.int32), scores, None, Intake(),
    )  # fmt: skip
