"""Simulated studies: who rates what as in a real one, raters like those of :mod:`plurivox.actions.plan.crowd`.

A study has a group and its rest, of any size, and any number of items. If raters saw the same items in blocks, or all
in one block, a simulated rater sees what a real one saw and is shuffled within the same block; otherwise each sees as
large a share of the items as a real one, drawn at random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.actions.plan.crowd import Crowd, Floats
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.lenses.cohesion.sums import Agreement, AgreementValues
from plurivox.statistics.records import About
from plurivox.statistics.registry import STATISTICS

MOST_CELLS = 20_000_000
"""The largest number of items × raters for which who saw what is looked up."""
GROUP, REST = 0, 1
SHUFFLES = 40
"""How many times raters of a simulated study are shuffled, to find how many standard deviations its group is apart."""
PLAIN_SHUFFLES = 10
"""The same without a view, used only for the variance over many studies."""
_STUDY = 1010  # child of the seed
_DENSE = 0.3  # from this share of rated cells upwards, every cell gets its own draw
_GAI = tuple(STATISTICS[name] for name in ("irr", "xrr", "gai"))


class Shape(NamedTuple):
    """The size of a study, as far as it matters to one group."""

    n_group: int
    n_rest: int
    n_items: int


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Who rates what in a study.

    Attributes
    ----------
    share
        Of each rater who rated anything, the share of the items that they rated.
    rated
        Items × raters: who rated what, if raters form blocks; otherwise empty.
    strata
        Of each rater, within which raters are shuffled; None for all together.
    """

    share: Floats
    rated: NDArray[np.bool_]
    strata: NDArray[np.int32] | None

    @classmethod
    def of(cls, ratings: Ratings, exchange: Exchange) -> Layout:
        """Learn who rated what."""
        who = np.flatnonzero(raters_who_rated(ratings))
        items = np.flatnonzero(np.diff(ratings.offsets))
        given = np.bincount(ratings.codes_of_raters, minlength=ratings.n_raters)[who]
        rated = np.zeros((0, 0), bool)
        if exchange.kind == "blocks" and len(who) * len(items) <= MOST_CELLS:
            whole = np.zeros((ratings.n_items, ratings.n_raters), bool)
            whole[ratings.item_codes, ratings.codes_of_raters] = True
            rated = whole[np.ix_(items, who)]
        return cls(given / max(len(items), 1), rated, None if exchange.strata is None else exchange.strata[who])

    def ratings(self, shape: Shape) -> float:
        """Return about how many ratings a study of a shape has."""
        return (shape.n_group + shape.n_rest) * shape.n_items * float(self.share.mean())

    def cells(
        self, shape: Shape, rng: np.random.Generator
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32] | None]:
        """Return item and rater of each rating, sorted, and the stratum of each rater."""
        n_raters = shape.n_group + shape.n_rest
        like = _repeated(len(self.share), n_raters, rng)
        strata = None if self.strata is None else self.strata[like]
        if self.rated.size:
            items = _repeated(len(self.rated), shape.n_items, rng)
            cells = np.flatnonzero(self.rated[np.ix_(items, like)])
        elif self.share.mean() > _DENSE:
            cells = np.flatnonzero(rng.random((shape.n_items, n_raters)) < self.share[like])
        else:
            cells = _few_cells(self.share[like], shape.n_items, rng)
        return cells // n_raters, cells % n_raters, strata


def _repeated(n: int, wanted: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return this many of n in random order, each equally often except in the last round."""
    rounds = [rng.permutation(n) for _ in range(-(-wanted // n))]
    return np.concatenate(rounds)[:wanted]


def _few_cells(share: Floats, n_items: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return which cells of items × raters are filled, each with the probability of its rater.

    A Poisson number of draws with replacement, of mean −n·ln(1 − share), fills each of n cells with exactly that
    probability.
    """
    draws = rng.poisson(-n_items * np.log1p(-np.minimum(share, 0.999)))
    rater = np.repeat(np.arange(len(share)), draws)
    return np.unique(rng.integers(n_items, size=len(rater)) * len(share) + rater)


class SimulatedGroup(NamedTuple):
    """What a simulated study shows about its group: GAI minus the mean of shuffled raters, and their variance.

    Also the same if the group had no view of its own and was apart only by chance.
    """

    apart: float
    variance: float
    null_apart: float
    null_variance: float


@dataclass(frozen=True, slots=True, eq=False)
class Studies:
    """Simulated studies of several shapes, each with a group that has a view of its own."""

    crowd: Crowd
    layout: Layout
    shapes: tuple[Shape, ...]
    view: float
    seed: int

    def __call__(self, first: int, last: int) -> list[SimulatedGroup]:
        """Return what studies ``first`` to ``last`` show; their shapes take turns."""
        return [self.study(number) for number in range(first, last)]

    def study(self, number: int) -> SimulatedGroup:
        """Simulate a study without and with a view, and shuffle its raters."""
        shape = self.shapes[number % len(self.shapes)]
        rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(_STUDY, number)))
        item, rater, strata = self.layout.cells(shape, rng)
        sizes = [shape.n_group, shape.n_rest]
        codes = np.repeat(np.array([GROUP, REST], np.int32), sizes)
        plain, viewed = self._scores(shape, item, rater, rng)
        offsets = np.concatenate(([0], np.cumsum(np.bincount(item, minlength=shape.n_items)))).astype(np.int64)
        seed, found = int(rng.integers(2**62)), []
        for scores, n in ((plain, PLAIN_SHUFFLES), (viewed, SHUFFLES))[: 2 if self.view else 1]:
            part = Part(0, offsets, rater.astype(np.int32), scores, np.zeros(0, np.int64))
            draws = Draws.permuted(n, seed)._replace(first=0)  # 0 is the group as it is
            found.append(_apart(shuffled_gai(part, codes, strata, len(self.crowd.shares), draws)))
        return SimulatedGroup(*found[-1], *found[0])

    def _scores(
        self, shape: Shape, item: NDArray[np.int64], rater: NDArray[np.int64], rng: np.random.Generator
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Return scores as if the group had no view of its own, and as it has one."""
        crowd, n_raters = self.crowd, shape.n_group + shape.n_rest
        severity = math.sqrt(crowd.items) * rng.standard_normal(shape.n_items)
        leniency = math.sqrt(crowd.leniency) * rng.standard_normal(n_raters)
        noise = math.sqrt(crowd.noise) * np.exp(crowd.unequal * rng.standard_normal(n_raters) - crowd.unequal**2)
        view = self.view * rng.standard_normal(shape.n_items)
        latent = severity[item] + leniency[rater] + noise[rater] * rng.standard_normal(len(item))
        plain = _cut(latent, crowd.cuts)
        viewed = plain.copy()
        own = np.flatnonzero(rater < shape.n_group)
        viewed[own] = _cut(latent[own] + view[item[own]], crowd.cuts)
        return plain, viewed


def _cut(latent: Floats, cuts: tuple[float, ...]) -> NDArray[np.uint8]:
    """Return the points of latent scores; with few cuts, this is faster than searching for each."""
    points = np.zeros(len(latent), np.uint8)
    for cut in cuts:
        points += latent > cut
    return points


def shuffled_gai(
    part: Part, codes: NDArray[np.int32], strata: NDArray[np.int32] | None, n_points: int, draws: Draws
) -> Floats:
    """Return the GAI of the group of code 0 against its rest, of code 1, under each draw."""
    n_raters = len(codes)
    own = np.zeros(n_raters, np.int32) if strata is None else strata
    order = np.argsort(own, kind="stable").astype(np.int64)
    bounds = np.concatenate(([0], np.flatnonzero(np.diff(own[order])) + 1, [n_raters])).astype(np.int64)
    about = About(n_points, np.arange(n_points, dtype=float), "ordinal")
    none = np.zeros((0, 2, n_points), np.int32)
    work = Agreement(Grouping(codes, 2, order, bounds), about, part.n_items, False, none, (), np.zeros(0), 1.0)
    return np.asarray(AgreementValues(_GAI, about)(work(part, draws))[:, GROUP, -1])


def _apart(values: Floats) -> tuple[float, float]:
    """Return how far the first of some values lies above the mean of the others, and their variance."""
    known = values[1:][np.isfinite(values[1:])]
    return (float(values[0] - known.mean()), variance(known)) if len(known) else (math.nan, math.nan)


def variance(values: Floats) -> float:
    """Return the variance of those that are defined."""
    known = values[np.isfinite(values)]
    return float(known.var(ddof=1)) if len(known) > 1 else math.nan
