"""Where the groups of a real study stand: what a call of cohesion would compare them with, and how their GAI varies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plurivox.actions.plan.crowd import Crowd, Floats, coarse
from plurivox.actions.plan.power import FEWEST_ITEMS, MOST_RATERS, MOST_RATINGS
from plurivox.actions.plan.settings import PlanSettings
from plurivox.actions.plan.simulated import GROUP, REST, Layout, Shape, shuffled_gai, variance
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings, ratings_of, with_items
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.families import standardised
from plurivox.infer.grouping import Compared, raters_who_rated
from plurivox.infer.inference import Inference
from plurivox.lenses.cohesion.rows import Analysis, Prepared
from plurivox.lenses.cohesion.settings import CohesionSettings
from plurivox.lenses.cohesion.sums import place_of
from plurivox.statistics.checks import level_of, usual_level
from plurivox.statistics.registry import of_role, with_trait

MOST_SHUFFLED = 500_000
"""The most ratings that are shuffled; for a larger study, those of some items drawn at random."""
NOBODY = "there are no other raters to compare it with"
ENTANGLED = "who rated what depends on the group; assign items to raters at random, or within batches"
_ITEMS, _RATERS, _LABELS = 1011, 1012, 1013  # children of the seed


class Standing(NamedTuple):
    """A group that may be shown: its shape, the variance of its GAI under shuffles, and why nothing can be claimed."""

    axis: str
    group: str
    n_raters: int
    shape: Shape
    variance: float
    why_not: str


class Family(NamedTuple):
    """All groups of a call, and the largest deviation of any of their values in each shuffle."""

    standings: list[Standing]
    largest: Floats


def family_of(
    ratings: Ratings, axes: Sequence[Compared], asked: PlanSettings, exchange: Exchange, how: Running
) -> Family:
    """Shuffle the raters of a study as :func:`plurivox.cohesion` would by default."""
    by = tuple(one.axis.attributes for one in axes)
    settings = CohesionSettings(
        by=by, permutations=asked.permutations, interval="none", within=asked.within, several=asked.several,
        min_group_size=asked.min_group_size, seed=asked.seed,
    )  # fmt: skip
    n_points = len(ratings.scale)
    level = level_of(usual_level("auto", n_points), n_points)
    inference = Inference(settings, how, exchange)
    work = Analysis(ratings, level, settings, inference)
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
    return Family(standings, largest)


def _standings(
    ratings: Ratings, axis: str, one: Prepared, null: Floats, why: str, exchange: Exchange
) -> list[Standing]:
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
        if not own and np.isnan(one.values[0, g, at]):
            own = one.measured.why("gai", one.sums, one.values, g, int(one.axis.sizes[g]))
        if not own and not varies > 0:
            own = "its GAI is the same whoever is in it"
        found.append(Standing(axis, one.axis.groups[g], int(one.axis.sizes[g]), shape, varies, own))
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


# A sample that simulated studies are like -----------------------------------------------------------------------------


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
