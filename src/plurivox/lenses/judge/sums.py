"""What a part of the items adds to agreement, distance and bias of judges, with and without single items and raters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.engine.draws import Draws
from plurivox.engine.grouping import raters_who_rated
from plurivox.engine.jackknife import (
    LeftOut,
    RaterUnits,
    number_of_blocks,
    rating_blocks,
    without_items,
    without_raters,
)
from plurivox.engine.part import Part
from plurivox.engine.run import Contribution, Finish, Sums, Values, run, total
from plurivox.engine.running import Running
from plurivox.lenses.alignment.matching import AnsweredItems, Floats, Ints
from plurivox.statistics.cohesion import parts as cohesion
from plurivox.statistics.levels import Level

RESAMPLED = (
    "agreement", "human_agreement", "relative", "half_gap", "distance", "human_distance", "constant_distance",
    "marginal_distance", "lead", "same",
)  # fmt: skip
"""Values with an interval, in the order of the last dimension: see :class:`AgreementFinish`."""
ENOUGH = 0.5
"""A judge that agrees with raters less than this share of their own agreement is not one."""


# Ratings under draws -------------------------------------------------------------------------------------------------


def weights_in(part: Part, draws: Draws, n_blocks: int) -> Iterator[Floats | None]:
    """Yield how much each rating of a part counts in each draw; None where each counts once.

    Units of raters and blocks of ratings are left out; units of items, of which a draw is one, leave ratings alone.
    """
    if draws.resample == "raters":
        yield from (row[part.raters].astype(float) for row in draws.rater_weights(()))
    elif draws.resample == "ratings":
        block = rating_blocks(part, n_blocks)
        yield from ((block != number).astype(float) for number in range(draws.first, draws.last))
    else:
        yield from [part.multiplicity.astype(float) if len(part.multiplicity) else None] * draws.total


class Asked(NamedTuple):
    """What a voice answered to the items of a part: the places of items with an answer, and how often each point."""

    items: Ints
    counts: NDArray[np.int32]

    def in_each(self, part: Part, draws: Draws) -> list[Asked]:
        """Return the answers that count in each draw: all, or those to a unit of items."""
        if draws.resample != "items":
            return [self] * draws.total
        assert draws.units is not None
        unit = draws.units[part.items][self.items]
        order = np.argsort(unit, kind="stable")
        bounds = np.searchsorted(unit[order], np.arange(draws.first, draws.last + 1))
        each = (np.sort(order[start:stop]) for start, stop in pairwise(bounds))
        return [Asked(self.items[some], self.counts[some]) for some in each]


@dataclass(frozen=True, slots=True, eq=False)
class Judged:
    """Answers by item: those to item ``i`` are entries ``rows[i]`` to ``rows[i + 1]``, each on a point of the scale."""

    rows: Ints
    voice: Ints
    point: Ints
    n_voices: int
    n_points: int

    @classmethod
    def of(cls, matched: AnsweredItems) -> Judged:
        """Return the answers that can be read."""
        there = np.flatnonzero(matched.point >= 0)
        rows = np.searchsorted(there, matched.rows).astype(np.int64)
        return cls(rows, matched.voice[there], matched.point[there], len(matched.voices), matched.top + 1)

    def within(self, part: Part) -> list[Asked]:
        """Return what each voice answered to the items of a part."""
        rows = self.rows[part.first : part.first + part.n_items + 1]
        own = slice(int(rows[0]), int(rows[-1]))
        item = np.repeat(np.arange(part.n_items), np.diff(rows))
        found = []
        for v in range(self.n_voices):
            mine = self.voice[own] == v
            items, at = np.unique(item[mine], return_inverse=True)
            counts = np.zeros((len(items), self.n_points), dtype=np.int32)
            np.add.at(counts, (at, self.point[own][mine]), 1)
            found.append(Asked(items, counts))
        return found


# Agreement and distance ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Agreements:
    """What agreement and distance of each voice are made of, over the items that it answered.

    ``cost`` of points is how far apart two are; ``n_blocks`` how many blocks of ratings are left out in turn.
    """

    judged: Judged
    apart: Floats
    n_blocks: int
    n_ratings: int

    @property
    def cost(self) -> float:
        """About how many seconds a draw takes."""
        return self.n_ratings * 1e-8 + self.judged.n_voices * 1e-4

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return self.judged.n_voices * (2 * self.judged.n_points**2 + 5 * self.judged.n_points) + self.n_ratings

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        n_voices, n_points = self.judged.n_voices, self.judged.n_points
        shape = (draws.total, n_voices, n_points)
        sums = Sums(
            crossed=np.zeros((*shape, n_points)), own=np.zeros(shape), other=np.zeros(shape), scaled=np.zeros(shape),
            coincident=np.zeros((*shape, n_points)), flat=np.zeros(shape), far=np.zeros((draws.total, n_voices, 5)),
        )  # fmt: skip
        voices = [one.in_each(part, draws) for one in self.judged.within(part)]
        cell = part.item_of_each() * n_points + part.scores
        votes: NDArray[Any] = np.zeros(0)
        before: Floats | None = None
        for d, weight in enumerate(weights_in(part, draws, self.n_blocks)):
            if weight is not before or d == 0:
                votes = np.bincount(cell, weight, minlength=part.n_items * n_points).reshape(part.n_items, n_points)
                before = weight
            known: dict[bytes, tuple[Any, ...]] = {}
            for v, voice in enumerate(voices):
                asked = voice[d]
                key = asked.items.tobytes()
                if key not in known:
                    known[key] = self._humans(votes[asked.items].astype(float))
                self._add(sums, (d, v), asked, *known[key])
        return sums

    def _humans(self, n: Floats) -> tuple[Any, ...]:
        """Return the votes of items, and what they make without a voice: see :meth:`_add`."""
        m = n.sum(axis=1)
        rated, pairs = m > 0, m > 1
        safe = np.where(rated, m, 1.0)
        flat = (n @ self.apart) / safe[:, np.newaxis]
        pairwise = np.where(pairs, m * (m - 1), 1.0)
        apart, same = ((n @ self.apart) * n).sum(axis=1), (n * (n - 1)).sum(axis=1)
        far = [(one[pairs] / pairwise[pairs]).sum() for one in (apart, same)]
        scaled = n * ((m + 1) / safe)[:, np.newaxis]
        sums = cohesion.alpha_sum(n), scaled.sum(axis=0), flat[rated].sum(axis=0), n.sum(axis=0)
        return n, m, flat, sums, (*far, np.count_nonzero(pairs))

    def _add(
        self, sums: Sums, at: tuple[int, int], asked: Asked, n: Floats, m: Floats, flat: Floats,
        humans: tuple[Floats, ...], pairs: tuple[float, ...],
    ) -> None:  # fmt: skip
        """Add what a voice has in a draw; ``far``: Σ distance, items, then Σ distance and sameness of pairs, items."""
        rated = m > 0
        answers = asked.counts[rated].astype(float)
        size = answers.sum(axis=1)
        pairings = cohesion.xrr_sum(answers, n[rated])
        sums["crossed"][at], sums["own"][at] = pairings[:-2], pairings[-2]
        sums["coincident"][at], sums["scaled"][at], sums["flat"][at], sums["other"][at] = humans
        distance = ((answers * flat[rated]).sum(axis=1) / size).sum() if len(size) else 0.0
        sums["far"][at] = (distance, len(size), *pairs)


@dataclass(frozen=True, slots=True, eq=False)
class AgreementFinish:
    """From sums to :data:`RESAMPLED`: draws × voices × values.

    Agreement is XRR between the voice and the raters, that of humans Krippendorff's alpha on the same items;
    ``relative`` is the one divided by the other, ``half_gap`` the one less :data:`ENOUGH` of the other. Distances are
    means over items of how far a voice, another rater, the best constant and a draw from all votes are from a rater;
    ``lead`` is how much nearer the voice is than the constant. ``same`` is how often two raters say the same.
    """

    level: Level
    values: Floats

    def __call__(self, sums: Sums) -> Values:
        """Finish the sums of all draws."""
        own = cohesion.xrr_from(sums["crossed"], sums["own"], sums["other"], self.level, self.values)
        humans = cohesion.alpha_from(sums["coincident"], self.level, self.values)
        far, items, apart, same, pairs = np.moveaxis(sums["far"], -1, 0)
        distance, apart, same = (cohesion.ratio(*one) for one in ((far, items), (apart, pairs), (same, pairs)))
        constants = constant_distances(sums)
        best = _least(constants)
        marginal = (constants * shares_of(sums["other"])).sum(axis=-1)
        relative = cohesion.ratio(own, np.where(humans > cohesion.ROUNDING, humans, np.nan))
        gap, lead = own - ENOUGH * humans, best - distance
        found = (own, humans, relative, gap, distance, apart, best, marginal, lead, same)
        return np.stack(found, axis=-1)


def constant_distances(sums: Sums) -> Floats:
    """Return how far each constant is from a rater, … × points; NaN without items."""
    return cohesion.ratio(sums["flat"], np.broadcast_to(sums["far"][..., 1:2], sums["flat"].shape))


def shares_of(counts: Floats) -> Floats:
    """Return counts over the points as shares of all, NaN where there are none."""
    whole = np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)
    return cohesion.ratio(counts, whole)


def _least(values: Floats) -> Floats:
    return np.where(np.isnan(values).all(axis=-1), np.nan, np.min(np.where(np.isnan(values), np.inf, values), axis=-1))


def agreement_of_shares(sums: Sums, shares: Floats, level: Level, values: Floats) -> Floats:
    """Return XRR of answers that are drawn from the same shares for every item, from expected pairs and marginals.

    A constant has all of its share on one point. ``shares`` is voices × points; no draw is made: pairs of an answer and
    a rating, and the answers given, are what they are on average over all draws.
    """
    items = sums["far"][0, :, 1, np.newaxis]
    pairs = shares[..., :, np.newaxis] * sums["scaled"][0][..., np.newaxis, :]
    return cohesion.xrr_from(pairs, items * shares, sums["other"][0], level, values)


# Bias ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """How far answers are above the mean rating of groups: voices × columns of [Σ differences, items].

    A column is a group of raters on all items, or, without groups, a subset of the items after all of them.
    """

    judged: Judged
    values: Floats
    codes: NDArray[np.int32] | None
    n_groups: int
    subset: Ints
    n_subsets: int
    n_blocks: int
    n_ratings: int

    @property
    def n_columns(self) -> int:
        """How many means there are for each voice."""
        return self.n_groups if self.codes is not None else 1 + self.n_subsets

    @property
    def cost(self) -> float:
        """About how many seconds a draw takes."""
        return self.n_ratings * 2e-8 + self.judged.n_voices * 1e-4

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return self.n_ratings + self.judged.n_voices * self.n_columns * 2

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        sums = Sums(levels=np.zeros((draws.total, self.judged.n_voices, self.n_columns, 2)))
        voices = [one.in_each(part, draws) for one in self.judged.within(part)]
        item, score = part.item_of_each(), self.values[part.scores]
        group = np.zeros(len(item), np.int64) if self.codes is None else self.codes[part.raters].astype(np.int64)
        inside = group >= 0
        cell, score = (item * self.n_groups + group)[inside], score[inside]
        size = part.n_items * self.n_groups
        n: NDArray[Any] = np.zeros(0)
        mean: NDArray[Any] = np.zeros(0)
        before: Floats | None = None
        for d, weight in enumerate(weights_in(part, draws, self.n_blocks)):
            if weight is not before or d == 0:
                own = None if weight is None else weight[inside]
                n = np.bincount(cell, own, minlength=size).astype(float)
                whole = np.bincount(cell, score if own is None else score * own, minlength=size)
                mean = np.divide(whole, n, out=np.zeros(size), where=n > 0).reshape(part.n_items, self.n_groups)
                n, before = n.reshape(part.n_items, self.n_groups), weight
            for v, voice in enumerate(voices):
                items, counts = voice[d]
                answer = (counts @ self.values) / counts.sum(axis=1)
                rated = n[items] > 0
                above = np.where(rated, answer[:, np.newaxis] - mean[items], 0.0)
                sums["levels"][d, v] = self._columns(above, rated, self.subset[part.items][items])
        return sums

    def _columns(self, above: Floats, rated: NDArray[np.bool_], subset: Ints) -> Floats:
        """Return sums and items of each column, columns × 2."""
        whole = np.stack([above.sum(axis=0), rated.sum(axis=0)], axis=-1)
        if self.codes is not None or not self.n_subsets:
            return whole
        each = [
            np.bincount(subset, one[:, 0], minlength=self.n_subsets + 1)[: self.n_subsets] for one in (above, rated)
        ]
        return np.concatenate([whole, np.stack(each, axis=-1)])


def mean_levels(sums: Sums) -> Values:
    """Return how far answers are above ratings on average: draws × voices × columns, NaN where no item has both."""
    return cohesion.ratio(sums["levels"][..., 0], sums["levels"][..., 1])


# Without items and raters --------------------------------------------------------------------------------------------


def left_out(
    matched: AnsweredItems, work: Contribution, finish: Finish, how: Running, resample: str,
    groups: tuple[NDArray[np.int32], int] | None = None,
) -> tuple[Sums, LeftOut]:  # fmt: skip
    """Return the sums of all, and values without each item, each rater of a group, and blocks of ratings.

    Without raters, or groups of them, all raters are one stratum; a table of totals has items only.
    """
    ratings = matched.ratings
    parts = ratings.parts()
    observed = total(parts, work)
    each: list[Values] = []
    raters = ratings.has_raters and resample in ("raters", "both")
    if resample in ("items", "both") or not ratings.has_raters:
        each.append(without_items(parts, work, observed, finish, how))
    if raters:
        codes, n_groups = groups or (np.zeros(ratings.n_raters, dtype=np.int32), 1)
        units = RaterUnits.of(np.where(raters_who_rated(ratings), codes, -1), n_groups)
        made = without_raters(parts, work, units._replace(alone=np.zeros_like(units.alone)), finish, how)
        for g in np.flatnonzero(units.alone):  # what it would be with another rater cannot be told
            made[units.strata[g]][(..., g) if groups else ...] = np.nan
        each.extend(made)
    blocks = None
    if raters and resample == "both":
        made_of = run(parts, work, Draws.of_blocks(number_of_blocks(parts)), finish, how)
        blocks = np.concatenate(made_of) if made_of else None
    return observed, LeftOut(finish(observed)[0], tuple(each), blocks)
