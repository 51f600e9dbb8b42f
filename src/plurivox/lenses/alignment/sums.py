"""What a part of the items adds to the distances of answers from votes: observed, shuffled, at equal group sizes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.engine.counting import group_counts, weighted_counts
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import MOST_UNITS, Contribution, Sums, UnitSums, Values, and_all, run, total, units_of
from plurivox.infer.grouping import Compared, Grouping
from plurivox.infer.intervals import Interval, percentile_interval
from plurivox.infer.result import Row
from plurivox.lenses.alignment.matching import ALL, AnsweredItems, Floats, Ints, distributions, soft_voices
from plurivox.lenses.alignment.pairs import GroupPairs, farther_of_all
from plurivox.statistics.checks import Level
from plurivox.statistics.cohesion import parts as finish_parts
from plurivox.statistics.soft import expected_emd
from plurivox.statistics.soft_blocks import mean_emd

STATISTICS = ("ada_met", "ada_met_answered", "voter_distance", "expected_emd")
"""The means over items, in the order of the last dimension of values."""
_CELLS = 30_000_000  # numbers that sums by unit may hold


class KernelAnswers(NamedTuple):
    """Answers as kernels expect them.

    Those to item ``i`` are entries ``rows[i]`` to ``rows[i + 1]``: the voice, the position on the scale or -1, and its
    share of the item, which samples divide up.
    """

    rows: Ints
    voice: Ints
    point: Ints
    share: Floats
    n_voices: int
    n_points: int

    @classmethod
    def of(cls, matched: AnsweredItems) -> KernelAnswers:
        """Return all answers to rated items."""
        return cls(matched.rows, matched.voice, matched.point, matched.part, len(matched.voices), matched.top + 1)

    def within(self, part: Part) -> tuple[Ints, Ints, Ints, Floats]:
        """Return the answers to the items of a part."""
        return self.rows[part.first : part.first + part.n_items + 1], self.voice, self.point, self.share


def votes_of(part: Part, weights: Floats | None = None) -> tuple[Any, ...]:
    """Return the ratings as kernels expect them: by item, who gave them, their positions, and how often each counts.

    With ``weights``, a rating counts by the weight of its rater.
    """
    raters = part.raters
    if weights is not None:
        return part.offsets, raters, part.scores, weights[raters]
    if len(part.multiplicity):  # totals: one dummy rater gives everything
        raters = np.zeros(len(part.scores), dtype=np.int32)
        raters.flags.writeable = False  # as those of parts are, so that kernels are compiled once
    return part.offsets, raters, part.scores, part.multiplicity


# Contributions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Once:
    """What contributions share that are only computed for the raters as they are."""

    given: KernelAnswers
    codes: NDArray[np.int32]
    n_groups: int

    @property
    def cost(self) -> float:
        """Roughly how many seconds it takes."""
        return len(self.given.voice) * self.n_groups / 4e8

    @property
    def width(self) -> int:
        """How many numbers it holds."""
        return self.given.n_voices * self.n_groups


class Soft(NamedTuple):
    """A voice that has distributions: its items, the distributions over the points, and what part was answered."""

    voice: int
    items: Ints
    q: Floats
    weight: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Distances(Once):
    """Items, answers and distances from the votes of each group: units × voices × groups × the kernel's sums."""

    unit: Ints
    n_units: int
    prior: Floats
    soft: tuple[Soft, ...]
    weights: Floats | None = None

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part."""
        from plurivox.kernels.alignment import N_SUMS, sums_by_unit

        sums = np.zeros((self.n_units, self.given.n_voices, self.n_groups, N_SUMS))
        unit = self.unit[part.items]
        sums_by_unit(*votes_of(part, self.weights), self.codes, *self.given.within(part), unit, self.prior, sums)
        if self.soft:
            for g in range(self.n_groups):
                self._to_posterior(part, g, sums[:, :, g])
        return Sums(by_unit=sums[np.newaxis])

    def _to_posterior(self, part: Part, g: int, sums: Floats) -> None:
        """Write the expected earth mover's distances of distributions, in steps of the scale, over those of points."""
        from plurivox.kernels.alignment import TO_POSTERIOR

        codes = None if len(part.multiplicity) else np.where(self.codes == g, 0, -1)
        n_points = self.given.n_points
        counts: NDArray[Any] = group_counts(part, codes, 1, n_points)[:, 0]
        if self.weights is not None and codes is not None:
            counts = weighted_counts(part, codes, 1, n_points, self.weights, 0, part.n_items)[0][:, 0]
        for voice, items, q, weight in self.soft:
            own = slice(*np.searchsorted(items, (part.first, part.first + part.n_items)))
            votes = counts[items[own] - part.first]
            voted = votes.any(axis=1)
            far = np.zeros(len(votes))
            if voted.any():
                given = votes[voted], q[own][voted]
                far[voted] = (
                    expected_emd(*given, self.prior, normalized=False) if self.weights is None
                    else mean_emd(given[0] + self.prior, given[1], np.ones(n_points - 1))
                )  # fmt: skip
            unit = self.unit[items[own]]
            sums[:, voice, TO_POSTERIOR] = np.bincount(unit, weights=far * weight[own], minlength=self.n_units)


@dataclass(frozen=True, slots=True, eq=False)
class CrossRatings(Once):
    """The parts of XRR between each voice and each group; see ``statistics.cohesion.parts.xrr_parts``.

    ``together`` is, for each answer, how many answers its voice gave to the item.
    """

    together: Ints
    weights: Floats | None = None

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part."""
        from plurivox.kernels.alignment import cross_counts

        shape, n_points = (1, self.given.n_voices, self.n_groups), self.given.n_points
        sums = Sums(
            crossed=np.zeros((*shape, n_points, n_points)),
            own=np.zeros((*shape, n_points)),
            other=np.zeros((*shape, n_points)),
        )
        rows, voice, point, _ = self.given.within(part)
        arrays = (array[0] for array in sums.values())
        cross_counts(*votes_of(part, self.weights), self.codes, rows, voice, point, self.together, *arrays)
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class VoteCounts(Once):
    """How many ratings each group gave to items with answers, by subset: subsets × groups."""

    subset: Ints
    n_subsets: int

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the counts over the items of a part."""
        _, raters, _, times = votes_of(part)
        item, group = part.item_of_each(), self.codes[raters].astype(np.int64)
        kept = (np.diff(self.given.rows)[part.items][item] > 0) & (group >= 0)
        cells = self.subset[part.items][item[kept]] * self.n_groups + group[kept]
        n = np.bincount(cells, times[kept] if len(times) else None, minlength=self.n_subsets * self.n_groups)
        return Sums(votes=n.reshape(1, self.n_subsets, self.n_groups))


@dataclass(frozen=True, slots=True, eq=False)
class PairSums:
    """How much farther the second group of each pair is, on the items on which both voted, under any draws of raters.

    Units × voices × pairs × (3 + 2 points), see ``kernels.alignment.labelled_pairs``; × 3 without sums ``by_point``.
    """

    given: KernelAnswers
    grouping: Grouping
    table: Ints
    n_pairs: int
    to_voters: bool
    by_point: bool
    unit: Ints
    n_units: int
    cost: float

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return len(self.grouping.codes) + self.n_units * self.given.n_voices * self.n_pairs * self.n_sums

    @property
    def n_sums(self) -> int:
        """How many numbers a voice and a pair have."""
        return 3 + 2 * self.given.n_points * self.by_point

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        from plurivox.kernels.alignment import labelled_pairs

        sums = np.zeros((draws.total, self.n_units, self.given.n_voices, self.n_pairs, self.n_sums))
        offsets, raters, scores, _ = votes_of(part)
        weights = np.zeros((draws.total, 0), np.int64)
        if len(self.grouping.weights):
            weights = self.grouping.rater_weights(draws)
        labelled_pairs(
            offsets, raters, scores, weights, self.grouping.labels(draws), self.table, self.to_voters,
            self.given.n_points, *self.given.within(part), self.unit[part.items], sums,
        )  # fmt: skip
        return Sums(by_unit=sums)


# Finishes ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MeanDistances:
    """From sums to :data:`STATISTICS`: draws × subsets, then all of them × voices × groups × statistics."""

    top: int
    """The last position of the scale."""

    def __call__(self, sums: Values) -> Values:
        """Finish the sums of all draws."""
        from plurivox.kernels import alignment as k

        sums = and_all(sums)
        items, answered = sums[..., k.ITEMS], sums[..., k.ANSWERED]
        charge = self.top * (items - answered)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (
                (sums[..., k.TO_MODE] + charge) / items, sums[..., k.TO_MODE] / answered,
                (sums[..., k.TO_VOTERS] + charge) / items, sums[..., k.TO_POSTERIOR] / answered / self.top,
            )  # fmt: skip
        return np.stack(found, axis=-1)


# All of it -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Aligner:
    """Distances of answers from votes on the items that have both.

    Attributes
    ----------
    matched
        Votes and answers.
    prior
        The weight of each point before any vote.
    seed, how
        What decides the draws, and how they are made.
    """

    matched: AnsweredItems
    prior: Floats
    seed: int
    how: Running

    def everybody(self) -> NDArray[np.int32]:
        """Return a group for each rater: the same one for all."""
        return np.zeros(max(self.matched.ratings.n_raters, 1), dtype=np.int32)

    def added(self, contribution: Contribution) -> Sums:
        """Return the sums over all items."""
        return total(self.matched.ratings.parts(), contribution, self._quiet)

    def distances(self, codes: NDArray[np.int32], n_groups: int, *, by_subset: bool) -> UnitSums:
        """Return the sums of a grouping of raters, by units of items."""
        from plurivox.kernels.alignment import N_SUMS

        matched = self.matched
        subset = matched.subset if by_subset else np.zeros(matched.ratings.n_items, dtype=np.int64)
        n_subsets = len(matched.subsets) + 1 if by_subset else 1
        unit, starts = self._units(subset, n_subsets, len(matched.voices) * n_groups * N_SUMS)
        soft = tuple(Soft(v, *distributions(matched, v)) for v in soft_voices(matched))
        weights = matched.ratings.weights
        work = Distances(KernelAnswers.of(matched), codes, n_groups, unit, int(starts[-1]), self.prior, soft, weights)
        return UnitSums.of(matched.ratings.parts(), work, starts, self._quiet)

    def xrr(self, codes: NDArray[np.int32], n_groups: int, level: Level) -> Floats:
        """Return XRR between each voice and each group: voices × groups."""
        matched = self.matched
        cell = matched.item * len(matched.voices) + matched.voice
        together = np.bincount(cell[matched.point >= 0], minlength=int(cell.max(initial=0)) + 1)[cell]
        sums = self.added(CrossRatings(KernelAnswers.of(matched), codes, n_groups, together, matched.ratings.weights))
        crossed, own, other = (array[0] for array in sums.values())
        return finish_parts.xrr_from(crossed, own, other, level, np.array(matched.ratings.scale.values))

    def votes(self, codes: NDArray[np.int32], n_groups: int) -> NDArray[Any]:
        """Return how many ratings each group gave to items with answers, by subset: subsets + 1 × groups."""
        matched = self.matched
        work = VoteCounts(KernelAnswers.of(matched), codes, n_groups, matched.subset, len(matched.subsets) + 1)
        votes: NDArray[Any] = self.added(work)["votes"][0]
        return votes

    # Groups on the same items ----------------------------------------------------------------------------------------

    def pairs(self, axis: Axis, pairs: GroupPairs, *, to_voters: bool) -> UnitSums:
        """Return how much farther the second group of each pair is, by units of items on which both voted."""
        matched = self.matched
        nowhere = np.zeros(matched.ratings.n_items, dtype=np.int64)
        width = len(matched.voices) * len(pairs) * (3 + 2 * (matched.top + 1))
        unit, starts = self._units(nowhere, 1, width)
        grouping = Grouping.of(matched.ratings, axis.codes, len(axis))
        work = self._pair_sums(grouping, pairs, to_voters, unit, int(starts[-1]), by_point=True)
        return UnitSums.of(matched.ratings.parts(), work, starts, self._quiet)

    def shuffled(self, grouping: Grouping, pairs: GroupPairs, draws: Draws, how: Running, *, to_voters: bool) -> Floats:
        """Return the differences of pairs when whole raters are shuffled: draws × voices × pairs."""
        return self._drawn(grouping, pairs, to_voters, draws, how)

    def equal_sizes(self, axis: Axis, pairs: GroupPairs, n: int, *, to_voters: bool) -> Floats:
        """Return the differences of pairs when each group is cut to the size of the smallest by drawing raters.

        Without replacement; draws × voices × pairs.
        """
        shown = np.isin(axis.codes, np.flatnonzero(~axis.withheld))
        grouping = Grouping.of(self.matched.ratings, axis.codes, len(axis), among=shown)
        return self._drawn(grouping, pairs, to_voters, Draws.subsampled(n, self.seed), self.how)

    def _drawn(self, grouping: Grouping, pairs: GroupPairs, to_voters: bool, draws: Draws, how: Running) -> Floats:
        together = np.zeros(self.matched.ratings.n_items, dtype=np.int64)
        work = self._pair_sums(grouping, pairs, to_voters, together, 1, by_point=False)
        made = run(self.matched.ratings.parts(), work, draws, farther_of_all, how)
        return np.concatenate([np.zeros((0, len(self.matched.voices), len(pairs))), *made])

    def _pair_sums(
        self, grouping: Grouping, pairs: GroupPairs, to_voters: bool, unit: Ints, n_units: int, *, by_point: bool
    ) -> PairSums:
        matched = self.matched
        cost = (len(matched.ratings.scores) + len(matched.voice) * len(pairs) * 2 + 100) / 4e8
        return PairSums(
            KernelAnswers.of(matched), grouping, pairs.table, len(pairs), to_voters, by_point, unit, n_units, cost
        )

    def _units(self, subset: Ints, n_subsets: int, width: int) -> tuple[Ints, Ints]:
        """Return the unit of each item, and where those of each subset begin: fewer if a unit holds many numbers."""
        return units_of(subset, n_subsets, self.seed, max(200, min(MOST_UNITS, _CELLS // max(1, width))))

    @property
    def _quiet(self) -> Running:
        return self.how._replace(progress=None)


# The rows of an alignment result --------------------------------------------------------------------------------------
# The rows of an alignment result: how far each voice is from all raters, subset by subset, and from each group.

REFERENCE = "reference"
"""The kind of rows of answers that need no judgement, such as a constant."""


class ShownGroup(NamedTuple):
    """A group to show: its position among the sums, its name, and its size."""

    at: int
    axis: str
    name: str
    n_raters: int

    @classmethod
    def everybody(cls, n_raters: int) -> ShownGroup:
        """Return all raters as one group."""
        return cls(0, ALL, ALL, n_raters)

    @classmethod
    def shown(cls, compared: Compared) -> Iterator[tuple[Axis, list[ShownGroup]]]:
        """Yield each compared axis with its groups that are large enough to show, if there are any."""
        for axis, places in compared.shown:
            if places:
                yield axis, [cls(g, axis.name, axis.groups[g], int(axis.sizes[g])) for g in places]


@dataclass(frozen=True, slots=True, eq=False)
class VoiceDistances:
    """One call of :func:`plurivox.alignment`: what all of its axes share.

    Rows of ``reference`` answers are marked as such, and contain only distances.
    """

    aligner: Aligner
    level: Level
    bootstrap: int
    reference: bool = False

    def telling(self, what: str) -> Aligner:
        """Return an aligner that reports the progress of its draws under a name."""
        how = self.aligner.how.doing(what)
        how.tell(0, 1)
        return replace(self.aligner, how=how)

    def overall(self) -> list[Row]:
        """Return the distances from the votes of all raters, for all items and each subset."""
        matched = self.aligner.matched
        n = len(matched.subsets)
        subsets = [(n + 1 if n else 0, ALL), *enumerate(matched.subsets)]
        everybody = [ShownGroup.everybody(matched.ratings.n_raters)]
        return self._rows(self.aligner.everybody(), 1, everybody, subsets, "all raters, resampling")

    def groups(self, compared: Compared) -> list[Row]:
        """Return the distances from the votes of each shown group."""
        rows = []
        for axis, shown in ShownGroup.shown(compared):
            rows += self._rows(axis.codes, len(axis), shown, [(0, ALL)], f"{axis.name}, resampling")
        return rows

    def _rows(
        self, codes: NDArray[np.int32], n_groups: int, shown: Sequence[ShownGroup], subsets: Sequence[tuple[int, str]],
        what: str,
    ) -> list[Row]:  # fmt: skip
        """Return a row for each voice, group, subset and statistic."""
        from plurivox.kernels.alignment import ANSWERED, ITEMS

        aligner, matched = self.aligner, self.aligner.matched
        sums = aligner.distances(codes, n_groups, by_subset=len(subsets) > 1)
        finish, observed = MeanDistances(matched.top), sums.totals()
        total, values = and_all(observed)[0], finish(observed)[0]
        xrr = None if self.reference else aligner.xrr(codes, n_groups, self.level)
        votes = aligner.votes(codes, n_groups)
        draws = sums.resampled(self.bootstrap, aligner.seed, finish, self.telling(what).how)
        interval = percentile_interval(draws) if len(draws) > 1 else None
        rows = []
        for v, (model, prompt) in enumerate(matched.voices):
            for g, axis, group, n_raters in shown:
                for part, subset in subsets:
                    n, answered = (round(float(total[part, v, g, at])) for at in (ITEMS, ANSWERED))
                    given = votes[:, g].sum() if subset == ALL else votes[part, g]
                    base = Row(
                        self._kind(axis), axis, group, "", math.nan, n_raters=n_raters, n_items=n,
                        n_ratings=round(float(given)), subset=subset, model=model, prompt=prompt,
                        note="" if n == answered else f"answered {answered:,} of {n:,} items",
                    )  # fmt: skip
                    rows += self._of_subset(base, values[part, v, g], interval, (part, v, g))
                    if subset == ALL and xrr is not None:
                        rows.append(_with(base, "xrr", float(xrr[v, g])))
        return rows

    def _kind(self, axis: str) -> str:
        return REFERENCE if self.reference else "voice" if axis == ALL else "group"

    def _of_subset(self, base: Row, values: Floats, interval: Interval | None, place: tuple[int, ...]) -> list[Row]:
        """Return the rows of a voice, a group and a subset, one for each mean."""
        rows = []
        for at, statistic in enumerate(STATISTICS):
            row = _with(base, statistic, float(values[at]))
            if interval is not None and not math.isnan(row.value) and base.n_items > 1:
                low, high, undefined = (float(end[(*place, at)]) for end in interval)
                row = row.with_interval(low, high, undefined / self.bootstrap)
            rows.append(row)
        return rows


def _with(base: Row, statistic: str, value: float) -> Row:
    """Return a row with a value, or with why it is undefined."""
    row = replace(base, statistic=statistic, value=value)
    return row.with_note(_undefined(statistic, base.n_items)) if math.isnan(value) else row


def _undefined(statistic: str, n_items: int) -> str:
    """Say why a value is undefined."""
    if statistic == "xrr":
        return "expected disagreement is 0, or no item has both"
    return "no item has both votes and an answer" if n_items == 0 else "no answer can be read"
