"""What a part of the items adds to agreement, distance and bias of judges, with and without single items or raters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import pairwise
from operator import add
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Finish, Sums, Values, run
from plurivox.infer.grouping import raters_who_rated
from plurivox.infer.jackknife import (
    LeftOut,
    RaterUnits,
    number_of_blocks,
    rating_blocks,
    without_items,
    without_raters,
)
from plurivox.lenses.alignment.matching import AnsweredItems, Floats, Ints
from plurivox.lenses.alignment.sums import KernelAnswers
from plurivox.statistics.checks import Level
from plurivox.statistics.cohesion import parts as cohesion

RESAMPLED = (
    "agreement", "human_agreement", "relative", "half_gap", "distance", "human_distance", "constant_distance",
    "marginal_distance", "lead", "same",
)  # fmt: skip
"""Values with an interval, in the order of the last dimension: see :func:`finished_agreements`."""
LEAST_TESTED = 10
"""With fewer items, nothing is tested: a few differences may be equal by chance and look certain."""
ENOUGH = 0.5
"""A model whose agreement with raters is below this share of their own agreement should not judge."""


# Answers and ratings under draws -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class AnswersAndRatings(ABC):
    """What answers and ratings of the same items add, and what remains without some ratings.

    A part has a table with a row for each item. Where ratings are left out, rows of few items change; what these add
    before and after is all that a draw needs in addition to the whole.

    Attributes
    ----------
    given
        The answers.
    values
        The numbers of the scale.
    n_raters
        How many raters there are.
    n_blocks
        How many blocks of ratings are left out in turn.
    weights
        The weight of each rater, empty where all count equally.
    whole
        What each part adds as a whole, by its first item; empty until that is known.
    """

    given: KernelAnswers
    values: Floats
    n_raters: int
    n_blocks: int
    weights: Floats
    whole: Mapping[int, Sums] = field(default_factory=dict, kw_only=True)

    @classmethod
    def of(cls, matched: AnsweredItems, *more: Any) -> Self:
        """Prepare the answers and ratings; ``more`` is what a subclass needs besides."""
        ratings = matched.ratings
        return cls(
            KernelAnswers.of(matched), np.array(ratings.scale.values, dtype=float),
            ratings.n_raters if ratings.has_raters else 0, number_of_blocks(ratings.parts()), weights_of(ratings),
            *more,
        )  # fmt: skip

    @property
    def cost(self) -> float:
        """Roughly how many seconds a draw takes."""
        return len(self.given.voice) * 1e-7 + self.given.n_voices * 2e-4

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return self.n_raters + sum(array.size for array in self.empty(1).values())

    @abstractmethod
    def empty(self, n_draws: int) -> Sums:
        """Return sums of nothing."""

    @abstractmethod
    def table(self, part: Part, chosen: Ints | None = None) -> Floats:
        """Return a row for each item, of all ratings of a part or of some."""

    @abstractmethod
    def of_voice(self, part: Part, items: Ints, counts: NDArray[np.int32], table: Floats) -> Sums:
        """Return what the answers of a voice add, without draws and voices.

        From the positions of items, how often the voice gave each point to them, and their rows.
        """

    def asked(self, part: Part) -> Iterator[tuple[Ints, NDArray[np.int32]]]:
        """Yield for each voice the items of a part that it answered, and how often it gave each point to them."""
        rows, voice, point, _ = self.given.within(part)
        first, last = int(rows[0]), int(rows[-1])
        item = np.repeat(np.arange(part.n_items), np.diff(rows))
        for v in range(self.given.n_voices):
            own = np.flatnonzero((voice[first:last] == v) & (point[first:last] >= 0))
            items, at = np.unique(item[own].astype(np.int64), return_inverse=True)
            counts = np.zeros((len(items), self.given.n_points), dtype=np.int32)
            np.add.at(counts, (at, point[first:last][own]), 1)
            yield items, counts

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        voices, table, sums = list(self.asked(part)), self.table(part), self.empty(draws.total)
        if draws.resample in ("raters", "ratings"):
            self._without(part, draws, voices, table, sums)
            return sums
        for v, (items, counts) in enumerate(voices):
            every: Iterable[Any] = [slice(None)] * draws.total
            if draws.resample == "items":
                assert draws.units is not None
                every = _in_each(draws.units[part.items][items], draws)
            for d, some in enumerate(every):
                for name, array in self.of_voice(part, items[some], counts[some], table[items[some]]).items():
                    sums[name][d, v] = array
        return sums

    def _without(
        self, part: Part, draws: Draws, voices: Sequence[tuple[Ints, NDArray[np.int32]]], table: Floats, sums: Sums
    ) -> None:
        """Write what remains without a unit of raters or a block of ratings in each draw."""
        item = part.item_of_each()
        for name, array in self.whole[part.first].items():
            sums[name][:] = array
        places = np.full((len(voices), part.n_items), -1, dtype=np.int64)
        for v, (items, _) in enumerate(voices):
            places[v, items] = np.arange(len(items))
        unit = rating_blocks(part, self.n_blocks) if draws.units is None else draws.units[part.raters]
        for d, gone in enumerate(_in_each(unit, draws)):
            touched = np.unique(item[gone])
            now = table[touched] - self.table(part, gone)[touched]
            for v, (_, counts) in enumerate(voices):
                rows = places[v, touched]
                there = rows >= 0
                items = touched[there]
                before, after = (
                    self.of_voice(part, items, counts[rows[there]], own) for own in (table[items], now[there])
                )
                for name in before:
                    sums[name][d, v] += after[name] - before[name]


def _in_each(unit: NDArray[Any], draws: Draws) -> Iterator[Ints]:
    """Yield the positions of each draw's unit, in order."""
    order = np.argsort(unit, kind="stable")
    bounds = np.searchsorted(unit[order], np.arange(draws.first, draws.last + 1))
    yield from (order[start:stop] for start, stop in pairwise(bounds))


# Agreement and distance ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Agreements(AnswersAndRatings):
    """The parts of agreement and distance of each voice, over the items that it answered.

    ``apart`` is how far apart two points are. ``far`` holds Σ distance, items, then Σ distance and sameness of pairs of
    raters, items with such pairs, and Σw² of their ratings.
    """

    apart: Floats

    def empty(self, n_draws: int) -> Sums:
        """Return sums of nothing."""
        shape = (n_draws, self.given.n_voices, self.given.n_points)
        return Sums(
            crossed=np.zeros((*shape, shape[-1])), own=np.zeros(shape), other=np.zeros(shape), scaled=np.zeros(shape),
            coincident=np.zeros((*shape, shape[-1])), flat=np.zeros(shape), far=np.zeros((*shape[:2], 6)),
        )  # fmt: skip

    def table(self, part: Part, chosen: Ints | None = None) -> Floats:
        """Return how many ratings each point has, items × points × 1; or with weights, Σw, Σw² and their number."""
        n_points, some = self.given.n_points, slice(None) if chosen is None else chosen
        cell = (part.item_of_each() * n_points + part.scores)[some]
        times: list[Any] = [part.multiplicity[some] if len(part.multiplicity) else None]
        if len(self.weights):
            weight = self.weights[part.raters[some]]
            times = [weight, weight**2, None]
        counts = [np.bincount(cell, one, minlength=part.n_items * n_points) for one in times]
        return np.stack(counts, axis=-1).reshape(-1, n_points, len(times)).astype(float)

    def of_voice(self, part: Part, items: Ints, counts: NDArray[np.int32], table: Floats) -> Sums:
        """Return what the answers of a voice add."""
        there = table[..., -1] > 0.5  # ratings are counted, since sums of weights minus themselves need not be 0
        rated = there.any(axis=1)
        own, answers = np.where(there[..., np.newaxis], table, 0.0)[rated], counts[rated].astype(float)
        n, squares, ratings = np.moveaxis(np.broadcast_to(own, (*own.shape[:2], 3)), -1, 0)
        m, size = n.sum(axis=1, keepdims=True), answers.sum(axis=1, keepdims=True)
        flat, pairs, q = (n @ self.apart) / m, ratings.sum(axis=1) > 1, squares.sum(axis=1, keepdims=True)
        both = (m * m - q)[pairs]
        apart, same = (n @ self.apart * n)[pairs] / both, (n * n - squares)[pairs] / both
        weighted = len(self.weights) > 0
        crossed = (cohesion.weighted_xrr_sum if weighted else cohesion.xrr_sum)(answers, n)
        coincident = cohesion.weighted_alpha_sum(n[pairs], q[pairs, 0]) if weighted else cohesion.alpha_sum(n)
        distance = (answers / size * flat).sum()
        return Sums(
            crossed=crossed[:-2], own=crossed[-2], other=n.sum(axis=0), scaled=(n * (m + 1) / m).sum(axis=0),
            coincident=coincident, flat=flat.sum(axis=0),
            far=np.array([distance, len(n), apart.sum(), same.sum(), np.count_nonzero(pairs), q[pairs].sum()]),
        )  # fmt: skip


def finished_agreements(level: Level, values: Floats, weighted: bool, sums: Sums) -> Values:
    """From sums to :data:`RESAMPLED`: draws × voices × values.

    Agreement is XRR between the voice and the raters, that of humans Krippendorff's alpha on the same items;
    ``relative`` is the first divided by the second, ``half_gap`` the first minus :data:`ENOUGH` times the second.
    Distances are means over items of how far a voice, another rater, the best constant and a draw from all votes are
    from a rater; ``lead`` is how much closer the voice is than the constant. ``same`` is how often two raters say the
    same.
    """
    far, items, apart, same, pairs, squares = np.moveaxis(sums["far"], -1, 0)
    own = cohesion.xrr_from(sums["crossed"], sums["own"], sums["other"], level, values)
    humans = cohesion.alpha_from(sums["coincident"], level, values, self_pairs=squares if weighted else None)
    distance, apart, same = (cohesion.ratio(*one) for one in ((far, items), (apart, pairs), (same, pairs)))
    constants = constant_distances(sums)
    best = np.fmin.reduce(constants, axis=-1)
    marginal = (constants * shares_of(sums["other"])).sum(axis=-1)
    relative = cohesion.ratio(own, np.where(humans > cohesion.ROUNDING, humans, np.nan))
    gap, lead = own - ENOUGH * humans, best - distance
    return np.stack((own, humans, relative, gap, distance, apart, best, marginal, lead, same), axis=-1)


def constant_distances(sums: Sums) -> Floats:
    """Return how far each constant is from a rater, … × points; NaN without items."""
    return cohesion.ratio(sums["flat"], np.broadcast_to(sums["far"][..., 1:2], sums["flat"].shape))


def shares_of(counts: Floats) -> Floats:
    """Return counts over the points as shares of all, NaN where there are none."""
    whole = np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)
    return cohesion.ratio(counts, whole)


def agreement_of_shares(sums: Sums, shares: Floats, level: Level, values: Floats) -> Floats:
    """Return XRR of answers that are drawn from the same shares for every item, from expected pairs and marginals.

    A constant has its whole share on one point. ``shares`` is voices × points; no draw is made: pairs of an answer and
    a rating, and the answers given, are averages over all draws.
    """
    items = sums["far"][0, :, 1, np.newaxis]
    pairs = shares[..., :, np.newaxis] * sums["scaled"][0][..., np.newaxis, :]
    return cohesion.xrr_from(pairs, items * shares, sums["other"][0], level, values)


# Bias ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Levels(AnswersAndRatings):
    """How far answers are above the mean rating of groups: voices × columns of [Σ differences, items].

    A column is a group of raters on all items, or, without groups, all items and each subset of them.
    """

    codes: NDArray[np.int32] | None
    n_groups: int
    subset: Ints
    n_subsets: int

    def empty(self, n_draws: int) -> Sums:
        """Return sums of nothing."""
        n_columns = self.n_groups if self.codes is not None else 1 + self.n_subsets
        return Sums(levels=np.zeros((n_draws, self.given.n_voices, n_columns, 2)))

    def table(self, part: Part, chosen: Ints | None = None) -> Floats:
        """Return Σw, the sum of weighted ratings, and their number by group, items × groups × 3."""
        some = slice(None) if chosen is None else chosen
        item, score = part.item_of_each()[some], self.values[part.scores[some]]
        group = np.zeros(len(item), np.int64) if self.codes is None else self.codes[part.raters[some]].astype(np.int64)
        times = part.multiplicity[some].astype(float) if len(part.multiplicity) else np.ones(len(item))
        weight = self.weights[part.raters[some]] if len(self.weights) else times
        inside = group >= 0
        cell, size = (item * self.n_groups + group)[inside], part.n_items * self.n_groups
        sums = [np.bincount(cell, one[inside], minlength=size) for one in (weight, weight * score, times)]
        return np.asarray(np.stack(sums, axis=-1).reshape(part.n_items, self.n_groups, 3), dtype=float)

    def of_voice(self, part: Part, items: Ints, counts: NDArray[np.int32], table: Floats) -> Sums:
        """Return what the answers of a voice add."""
        n, whole = table[..., 0], table[..., 1]
        rated = table[..., 2] > 0.5
        answer = (counts @ self.values) / counts.sum(axis=1)
        above = np.where(rated, answer[:, np.newaxis] - whole / np.where(rated, n, 1.0), 0.0)
        found = np.stack([above.sum(axis=0), rated.sum(axis=0)], axis=-1)
        if self.codes is None and self.n_subsets:
            own = self.subset[part.items][items]
            each = [np.bincount(own, one[:, 0], minlength=self.n_subsets + 1)[:-1] for one in (above, rated)]
            found = np.concatenate([found, np.stack(each, axis=-1)])
        return Sums(levels=found)


def mean_levels(sums: Sums) -> Values:
    """Return how far answers are above ratings on average: draws × voices × columns, NaN where no item has both."""
    return cohesion.ratio(sums["levels"][..., 0], sums["levels"][..., 1])


# Without items and raters --------------------------------------------------------------------------------------------


def weights_of(ratings: Ratings) -> Floats:
    """Return the weight of each rater, empty where all count equally."""
    return np.zeros(0) if ratings.weights is None else ratings.weights


def left_out(
    matched: AnsweredItems, work: AnswersAndRatings, finish: Finish, how: Running, resample: str,
    groups: tuple[NDArray[np.int32], int] | None = None,
) -> tuple[Sums, LeftOut]:  # fmt: skip
    """Return the sums of all, and values without each item, each rater of a group, and blocks of ratings.

    Without groups, all raters are one stratum; a table of totals has only items.
    """
    ratings = matched.ratings
    parts = ratings.parts()
    whole = {part.first: work(part, Draws.observed()) for part in parts}
    observed = reduce(add, whole.values())
    work = replace(work, whole=whole)
    each: list[Values] = []
    raters = ratings.has_raters and resample in ("raters", "both")
    if resample in ("items", "both") or not ratings.has_raters:
        each.append(without_items(parts, work, observed, finish, how))
    if raters:
        codes, n_groups = groups or (np.zeros(ratings.n_raters, dtype=np.int32), 1)
        units = RaterUnits.of(np.where(raters_who_rated(ratings), codes, -1), n_groups)
        made = without_raters(parts, work, units._replace(alone=np.zeros_like(units.alone)), finish, how)
        for g in np.flatnonzero(units.alone):  # what it would be with another rater is unknown
            made[units.strata[g]][(..., g) if groups else ...] = np.nan
        each.extend(made)
    blocks = run(parts, work, Draws.of_blocks(work.n_blocks), finish, how) if raters and resample == "both" else []
    return observed, LeftOut(finish(observed)[0], tuple(each), np.concatenate(blocks) if blocks else None)
