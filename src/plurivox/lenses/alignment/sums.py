"""Sums behind the distances of answers from votes: observed, over resampled items, permuted, at equal group sizes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import OUTSIDE, Axis
from plurivox.engine.draws import Draws, item_weights
from plurivox.engine.grouping import Grouping
from plurivox.engine.pool import batched
from plurivox.engine.running import Running
from plurivox.engine.units import MOST_UNITS, units_of
from plurivox.lenses.alignment.matching import Floats, Ints, Matched, distributions, soft_voices
from plurivox.statistics.cohesion import parts as finish
from plurivox.statistics.levels import Level
from plurivox.statistics.soft import expected_emd

STATISTICS = ("ada_met", "ada_met_answered", "voter_distance", "expected_emd")
"""What is a mean over items, in the order of the last dimension of values."""
_CELLS = 30_000_000  # numbers that sums by unit may hold
_SUBSAMPLE = 1006  # the child of the seed that draws raters for equal group sizes


@dataclass(frozen=True, slots=True, eq=False)
class Aligner:
    """Passes over the items that have votes and answers.

    Attributes
    ----------
    matched
        Votes and answers.
    prior
        The weight of each point before any vote.
    seed, how
        What decides the draws, and how they are made.
    """

    matched: Matched
    prior: Floats
    seed: int
    how: Running

    @property
    def votes(self) -> tuple[Any, ...]:
        """The ratings as kernels want them: by item, who gave them, their positions, and how often each counts."""
        ratings = self.matched.ratings
        if ratings.rater_codes is None:
            assert ratings.multiplicity is not None
            nobody = np.zeros(len(ratings.scores), dtype=np.int32)
            return ratings.offsets, nobody, ratings.scores, ratings.multiplicity
        return ratings.offsets, ratings.rater_codes, ratings.scores, np.zeros(0, dtype=np.int64)

    @property
    def answers(self) -> tuple[Any, ...]:
        """The answers as kernels want them."""
        found = self.matched
        return found.rows, found.voice, found.point, found.part

    def everybody(self) -> NDArray[np.int32]:
        """Return a group for each rater: the same one for all."""
        return np.zeros(max(self.matched.ratings.n_raters, 1), dtype=np.int32)

    # Means over items -----------------------------------------------------------------------------------------------

    def sums(self, codes: NDArray[np.int32], n_groups: int, *, by_subset: bool) -> Sums:
        """Return the sums of a grouping of raters, by units of items."""
        from plurivox.kernels.alignment import N_SUMS, TO_POSTERIOR, sums_by_unit

        matched = self.matched
        n_voices = len(matched.voices)
        most = max(200, min(MOST_UNITS, _CELLS // max(1, n_voices * n_groups * N_SUMS)))
        subset = matched.subset if by_subset else np.zeros(matched.ratings.n_items, dtype=np.int64)
        n_parts = len(matched.subsets) + 1 if by_subset else 1
        unit, starts = units_of(subset, n_parts, self.seed, most)
        sums = np.zeros((int(starts[-1]), n_voices, n_groups, N_SUMS))
        sums_by_unit(*self.votes, codes, *self.answers, unit, self.prior, sums)
        for v in soft_voices(matched):
            soft = distributions(matched, v)
            for g in range(n_groups):
                sums[:, v, g, TO_POSTERIOR] = self._to_posterior(soft, codes, g, unit, len(sums))
        return Sums(sums, starts, matched.top)

    def _to_posterior(
        self, soft: tuple[Ints, Floats, Floats], codes: NDArray[np.int32], g: int, unit: Ints, n_units: int
    ) -> Floats:
        """Return by unit the expected earth mover's distances of distributions, in steps of the scale."""
        items, q, weight = soft
        counts = self._counts(codes, g)[items]
        voted = counts.any(axis=1)
        far = np.zeros(len(items))
        if voted.any():
            far[voted] = expected_emd(counts[voted], q[voted], self.prior, normalized=False)
        return np.asarray(np.bincount(unit[items], weights=far * weight, minlength=n_units), dtype=float)

    def _counts(self, codes: NDArray[np.int32], g: int) -> Ints:
        ratings = self.matched.ratings
        if ratings.rater_codes is None:
            return ratings.counts()
        inside = codes[ratings.rater_codes] == g
        cells = ratings.item_codes[inside].astype(np.int64) * len(ratings.scale) + ratings.scores[inside]
        counts = np.bincount(cells, minlength=ratings.n_items * len(ratings.scale))
        return counts.reshape(ratings.n_items, -1).astype(np.int64)

    def draws(self, sums: Sums, n: int) -> Floats:
        """Return values when items are drawn with replacement: draws × parts × voices × groups × statistics."""

        def work(first: int, last: int) -> Floats:
            return sums.values(item_weights(sums.n_units, last - first, self.seed, first))

        cost = (sums.by_unit.size + 20 * sums.n_units) / 1e9
        made = batched(work, n, self.how, cost=cost, width=sums.n_units + sums.by_unit[0].size)
        shape = sums.values().shape[1:]
        return np.concatenate([np.zeros((0, *shape)), *made])

    def xrr(self, codes: NDArray[np.int32], n_groups: int, level: Level) -> Floats:
        """Return XRR between each voice and each group: voices × groups."""
        from plurivox.kernels.alignment import cross_counts

        matched = self.matched
        n_voices, n_points = len(matched.voices), matched.top + 1
        answered = matched.point >= 0
        cell = matched.item * n_voices + matched.voice
        together = np.bincount(cell[answered], minlength=int(cell.max(initial=0)) + 1)[cell]
        crossed = np.zeros((n_voices, n_groups, n_points, n_points))
        own, other = np.zeros((n_voices, n_groups, n_points)), np.zeros((n_voices, n_groups, n_points))
        cross_counts(*self.votes, codes, matched.rows, matched.voice, matched.point, together, crossed, own, other)
        return finish.xrr_from(crossed, own, other, level, np.array(matched.ratings.scale.values))

    # Groups on the same items ----------------------------------------------------------------------------------------

    def in_common(self, axis: Axis) -> Ints:
        """Return 0 for the items on which every shown group voted, -1 for others."""
        ratings, shown = self.matched.ratings, np.flatnonzero(~axis.withheld)
        group = axis.codes[ratings.codes_of_raters].astype(np.int64)
        kept = np.isin(group, shown)
        cells = np.unique(ratings.item_codes[kept] * np.int64(len(axis)) + group[kept])
        n = np.bincount(cells // len(axis), minlength=ratings.n_items)
        return np.where(n == len(shown), 0, -1).astype(np.int64)

    def common(self, axis: Axis) -> Sums:
        """Return charged distances from the modes of groups, on the items on which all shown groups voted."""
        from plurivox.kernels.alignment import common_sums

        matched, n_voices = self.matched, len(self.matched.voices)
        most = max(200, min(MOST_UNITS, _CELLS // max(1, n_voices * (1 + len(axis)))))
        unit, starts = units_of(np.zeros(matched.ratings.n_items, dtype=np.int64), 1, self.seed, most)
        sums = np.zeros((int(starts[-1]), n_voices, 1 + len(axis)))
        drawn = np.ones(matched.ratings.n_items, dtype=np.int64)
        offsets, raters, scores, _ = self.votes
        common_sums(
            offsets, raters, scores, axis.codes, ~axis.withheld, matched.top + 1, *self.answers, unit, drawn, sums
        )  # fmt: skip
        return Sums(sums, starts, matched.top)

    def common_draws(self, sums: Sums, n: int) -> Floats:
        """Return the means of groups when items are drawn with replacement: draws × voices × groups."""

        def work(first: int, last: int) -> Floats:
            return means(sums.totals(item_weights(sums.n_units, last - first, self.seed, first))[:, 0])

        cost = (sums.by_unit.size + 20 * sums.n_units) / 1e9
        made = batched(work, n, self.how, cost=cost, width=sums.n_units + sums.by_unit[0].size)
        return np.concatenate([np.zeros((0, *means(sums.by_unit[:1]).shape[1:])), *made])

    def permuted(self, axis: Axis, strata: NDArray[np.int32] | None, n: int) -> Floats:
        """Return the means of groups when whole raters are shuffled between them: draws × voices × groups."""
        grouping = Grouping.of(self.matched.ratings, axis.codes, len(axis), strata)

        def labels(first: int, last: int) -> NDArray[np.int32]:
            return grouping.labels(Draws.permuted(n, self.seed).between(first, last))

        return self._labelled(axis, labels, n, weigh=False)

    def matched_sizes(self, axis: Axis, n: int, *, weigh: bool) -> Floats:
        """Return the means of groups when as many raters are drawn of each as the smallest has, without replacement.

        With ``weigh``, items are drawn anew, too. Draws × voices × groups.
        """
        rated = np.bincount(self.matched.ratings.codes_of_raters, minlength=len(axis.codes)) > 0
        groups = [np.flatnonzero((axis.codes == g) & rated) for g in np.flatnonzero(~axis.withheld)]
        size = min(map(len, groups), default=0)

        def labels(first: int, last: int) -> NDArray[np.int32]:
            made = np.full((last - first, len(axis.codes)), OUTSIDE, dtype=np.int32)
            for row, number in enumerate(range(first, last)):
                rng = np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(_SUBSAMPLE, number)))
                for members in groups:
                    chosen = rng.choice(members, size, replace=False)
                    made[row, chosen] = axis.codes[chosen]
            return made

        return self._labelled(axis, labels, n, weigh=weigh)

    def _labelled(self, axis: Axis, labels: Any, n: int, *, weigh: bool) -> Floats:
        from plurivox.kernels.alignment import labelled_sums

        matched, n_voices, n_items = self.matched, len(self.matched.voices), self.matched.ratings.n_items
        unit = self.in_common(axis)  # shuffled raters must not bring in items that were not compared
        offsets, raters, scores, _ = self.votes

        def work(first: int, last: int) -> Floats:
            sums = np.zeros((last - first, n_voices, 1 + len(axis)))
            ones = np.ones((1, n_items), dtype=np.int64)
            drawn = item_weights(n_items, last - first, self.seed, first) if weigh else ones
            labelled_sums(
                offsets, raters, scores, labels(first, last), ~axis.withheld, matched.top + 1, *self.answers, unit,
                drawn, sums,
            )  # fmt: skip
            return means(sums)

        cost = (len(scores) + len(matched.voice) * len(axis) + 100) / 4e8
        made = batched(work, n, self.how, cost=cost, width=n_items + len(axis.codes) + n_voices * len(axis))
        return np.concatenate([np.zeros((0, n_voices, len(axis))), *made])


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Sums by units of items, sorted by part.

    Attributes
    ----------
    by_unit
        Units × voices × … .
    starts
        Where the units of each part begin, and the end of all.
    top
        The last position of the scale.
    """

    by_unit: Floats
    starts: Ints
    top: int

    @property
    def n_units(self) -> int:
        """How many units there are."""
        return int(self.starts[-1])

    def totals(self, weights: Ints) -> Floats:
        """Return sums over the units of each part, last of all: draws × parts + 1 × voices × …, one part only alone."""
        from plurivox.kernels.resampling import weighted_sums

        flat = self.by_unit.reshape(self.n_units, -1)
        parts = np.zeros((len(weights), len(self.starts) - 1, flat.shape[1]))
        weighted_sums(weights, flat, self.starts, parts)
        if len(self.starts) > 2:  # one part is all there is
            parts = np.concatenate([parts, parts.sum(axis=1, keepdims=True)], axis=1)
        return parts.reshape(*parts.shape[:2], *self.by_unit.shape[1:])

    def values(self, weights: Ints | None = None) -> Floats:
        """Return :data:`STATISTICS`: draws × parts × voices × groups × statistics; one draw of all without weights."""
        from plurivox.kernels import alignment as k

        ones = np.ones((1, self.n_units), dtype=np.int64)
        total = self.totals(ones if weights is None else weights)
        items, answered = total[..., k.ITEMS], total[..., k.ANSWERED]
        charge = self.top * (items - answered)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (
                (total[..., k.TO_MODE] + charge) / items, total[..., k.TO_MODE] / answered,
                (total[..., k.TO_VOTERS] + charge) / items, total[..., k.TO_POSTERIOR] / answered / self.top,
            )  # fmt: skip
        return np.stack(found, axis=-1)


def means(sums: Floats) -> Floats:
    """Return mean distances of … × (1 + groups) sums, the first of which counts items."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[..., 1:] / sums[..., :1])
