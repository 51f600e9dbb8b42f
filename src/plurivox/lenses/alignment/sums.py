"""What a part of the items adds to the distances of answers from votes: observed, shuffled, at equal group sizes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.engine.draws import Draws, group_counts, weighted_counts
from plurivox.engine.pool import Running
from plurivox.engine.run import MOST_UNITS, Contribution, Sums, UnitSums, Values, and_all, run, total, units_of
from plurivox.infer.grouping import Compared, Grouping
from plurivox.lenses.alignment.matching import ALL, AnsweredItems, Floats, Ints, soft_voices
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


# Two groups at a time: how much farther one is from a voice than the other, and which leads all others ---------------

LEAST_ITEMS = 10
"""Two groups that both voted on fewer items than this are not compared."""


class GroupPairs(NamedTuple):
    """The pairs of groups of an axis that may be shown, each once, in the order of the axis.

    Attributes
    ----------
    groups
        The positions of the groups that are shown.
    first, second
        For each pair, positions among them.
    table
        All groups × all groups: the number of a pair, -1 where a group is withheld.
    """

    groups: tuple[int, ...]
    first: Ints
    second: Ints
    table: Ints

    @classmethod
    def of(cls, axis: Axis) -> GroupPairs:
        """List the pairs of an axis."""
        shown = np.flatnonzero(~axis.withheld)
        first, second = np.triu_indices(len(shown), 1)
        table = np.full((len(axis), len(axis)), -1, dtype=np.int64)
        table[shown[first], shown[second]] = np.arange(len(first))
        return cls(tuple(shown.tolist()), first.astype(np.int64), second.astype(np.int64), table)

    def __len__(self) -> int:
        return len(self.first)

    def against(self, values: Floats) -> Floats:
        """Return values of pairs, … × pairs, as … × groups × groups, NaN where two are not compared.

        Values of the first against the second are unchanged; the other way round they have the opposite sign.
        """
        n = len(self.groups)
        found = np.full((*values.shape[:-1], n, n), np.nan)
        found[..., self.first, self.second] = values
        found[..., self.second, self.first] = -values
        return found

    def margins(self, farther: Floats) -> Floats:
        """Return by how much each group is closer than every other it is compared with: … × groups.

        From how much farther the second group of each pair is, … × pairs. Negative where another group is closer; NaN
        for a group that is compared with none.
        """
        against = self.against(farther)
        least = np.where(np.isnan(against), np.inf, against).min(axis=-1, initial=np.inf)
        return np.where(np.isinf(least), np.nan, least)


def differences(sums: Values) -> Floats:
    """Return from … × pairs × (3 + 2 points) sums how much farther the second group is, and that beyond random order.

    With weights w_i, answers s_i and f_i(s) how much farther point s is from the second group than from the first::

        farther = Σ_i w_i f_i(s_i) / Σ_i w_i        beyond = farther − Σ_s q_s Σ_i w_i f_i(s) / Σ_i w_i

    where q_s is the share of point s among the answers: what the same answers would give on average if they were
    assigned to the items in random order. … × pairs × 2; NaN where fewer than :data:`LEAST_ITEMS` items are compared.
    """
    from plurivox.kernels.alignment import ANSWERS, COMPARED, FARTHER, WEIGHT

    n_points = (sums.shape[-1] - ANSWERS) // 2
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = np.where(sums[..., COMPARED] >= LEAST_ITEMS - 1e-6, sums[..., WEIGHT], np.nan)
        farther = sums[..., FARTHER] / weight
        by_order = (_shares(sums, n_points) * sums[..., ANSWERS + n_points :]).sum(axis=-1) / weight
        beyond = farther - by_order
    return np.stack([farther, np.where(np.abs(beyond) < 1e-12, 0.0, beyond)], axis=-1)  # 0 of a constant is 0


def _shares(sums: Values, n_points: int) -> Floats:
    """Return how answers are shared between the points; 0 without any."""
    from plurivox.kernels.alignment import ANSWERS

    answers = sums[..., ANSWERS : ANSWERS + n_points]
    return np.asarray(answers / np.maximum(answers.sum(axis=-1, keepdims=True), 1e-12))


def influences(by_unit: Values) -> Floats:
    """Return what each unit of items contributes to the error of :func:`differences`, units × voices × pairs × 2.

    To first order. Each column adds up to 0, and the squares to the variance of what other items would give.
    """
    return np.stack([_influences(by_unit[:, v]) for v in range(by_unit.shape[1])], axis=1)


def _influences(by_unit: Values) -> Floats:
    """Return the same for one voice, since all of them at once would fill memory."""
    from plurivox.kernels.alignment import ANSWERS, FARTHER, WEIGHT

    n_points = (by_unit.shape[-1] - ANSWERS) // 2
    whole = by_unit.sum(axis=0)
    values, shares = differences(whole), _shares(whole, n_points)
    answers, at_point = by_unit[..., ANSWERS : ANSWERS + n_points], by_unit[..., ANSWERS + n_points :]
    with np.errstate(invalid="ignore", divide="ignore"):
        weight = whole[..., WEIGHT]
        mean = whole[..., ANSWERS + n_points :] / weight[..., np.newaxis]
        n = np.maximum(whole[..., ANSWERS : ANSWERS + n_points].sum(axis=-1), 1e-12)
        own = by_unit[..., WEIGHT]
        farther = (by_unit[..., FARTHER] - values[..., 0] * own) / weight
        of_shares = ((answers - shares * answers.sum(axis=-1, keepdims=True)) * mean).sum(axis=-1) / n
        of_means = (shares * (at_point - mean * own[..., np.newaxis])).sum(axis=-1) / weight
    return np.stack([farther, farther - of_shares - of_means], axis=-1)


def farther_of_all(sums: Sums) -> Values:
    """Return how much farther the second group of each pair is, draws × voices × pairs, with all items as one unit."""
    return differences(sums["by_unit"][:, 0])[..., 0]


def shifted(moved: Values) -> Values:
    """Return what draws of units add to the differences: draws × voices × pairs, from draws × one subset × … × 2."""
    return np.asarray(moved[:, 0, ..., 0])


def wins(margins: Floats) -> Floats:
    """Return how often each group has the largest margin: voices × groups; ties share. NaN without draws."""
    if not len(margins):
        return np.full(margins.shape[1:], np.nan)
    known = ~np.isnan(margins).all(axis=-1, keepdims=True)
    largest = np.nanmax(np.where(known, margins, 0.0), axis=-1, keepdims=True)
    ahead = (margins >= largest - 1e-12) & known
    with np.errstate(invalid="ignore"):
        share = ahead / ahead.sum(axis=-1, keepdims=True)
    won = np.nansum(share, axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(np.isnan(margins).all(axis=0), np.nan, won)


# Contributions -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Once:
    """What is only added up for the raters as they are: by a function of a part, which can be pickled."""

    add: Callable[[Part], Sums]
    cost: float
    width: int

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part."""
        return self.add(part)


Codes = NDArray[np.int32]
Soft = tuple[int, Ints, Floats, Floats]
"""A voice that has distributions: its items, the distributions over the points, and what part was answered."""


def distance_sums(
    given: KernelAnswers, codes: Codes, n_groups: int, unit: Ints, n_units: int, prior: Floats,
    soft: Sequence[Soft], weights: Floats | None, part: Part,
) -> Sums:  # fmt: skip
    """Return items, answers and distances from the votes of each group: units × voices × groups × the kernel's sums."""
    from plurivox.kernels.alignment import N_SUMS, sums_by_unit

    sums = np.zeros((n_units, given.n_voices, n_groups, N_SUMS))
    sums_by_unit(*votes_of(part, weights), codes, *given.within(part), unit[part.items], prior, sums)
    for g in range(n_groups) if soft else ():
        _to_posterior(part, codes, g, unit, prior, soft, weights, sums[:, :, g])
    return Sums(by_unit=sums[np.newaxis])


def _to_posterior(
    part: Part, codes: Codes, g: int, unit: Ints, prior: Floats, soft: Sequence[Soft], weights: Floats | None,
    sums: Floats,
) -> None:  # fmt: skip
    """Write the expected earth mover's distances of distributions, in steps of the scale, over those of points."""
    from plurivox.kernels.alignment import TO_POSTERIOR

    own, n_points = None if len(part.multiplicity) else np.where(codes == g, 0, -1), len(prior)
    counts: NDArray[Any] = group_counts(part, own, 1, n_points)[:, 0]
    if weights is not None and own is not None:
        counts = weighted_counts(part, own, 1, n_points, weights, 0, part.n_items)[0][:, 0]
    for voice, items, q, answered in soft:
        inside = slice(*np.searchsorted(items, (part.first, part.first + part.n_items)))
        votes = counts[items[inside] - part.first]
        voted = votes.any(axis=1)
        far = np.zeros(len(votes))
        if voted.any() and weights is None:
            far[voted] = expected_emd(votes[voted], q[inside][voted], prior, normalized=False)
        elif voted.any():
            far[voted] = mean_emd(votes[voted] + prior, q[inside][voted], np.ones(n_points - 1))
        sums[:, voice, TO_POSTERIOR] = np.bincount(unit[items[inside]], far * answered[inside], len(sums))


def cross_ratings(
    given: KernelAnswers, codes: Codes, n_groups: int, together: Ints, weights: Floats | None, part: Part
) -> Sums:
    """Return the parts of XRR between each voice and each group; see ``statistics.cohesion.parts.xrr_parts``.

    ``together`` is, for each answer, how many answers its voice gave to the item.
    """
    from plurivox.kernels.alignment import cross_counts

    shape = (1, given.n_voices, n_groups, given.n_points)
    sums = Sums(crossed=np.zeros((*shape, given.n_points)), own=np.zeros(shape), other=np.zeros(shape))
    rows, voice, point, _ = given.within(part)
    arrays = (array[0] for array in sums.values())
    cross_counts(*votes_of(part, weights), codes, rows, voice, point, together, *arrays)
    return sums


def vote_counts(given: KernelAnswers, codes: Codes, n_groups: int, subset: Ints, n_subsets: int, part: Part) -> Sums:
    """Return how many ratings each group gave to items with answers, by subset: subsets × groups."""
    _, raters, _, times = votes_of(part)
    item, group = part.item_of_each(), codes[raters].astype(np.int64)
    kept = (np.diff(given.rows)[part.items][item] > 0) & (group >= 0)
    cells = subset[part.items][item[kept]] * n_groups + group[kept]
    n = np.bincount(cells, times[kept] if len(times) else None, minlength=n_subsets * n_groups)
    return Sums(votes=n.reshape(1, n_subsets, n_groups))


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


def mean_distances(top: int, sums: Values) -> Values:
    """From sums to :data:`STATISTICS`: draws × subsets, then all of them × voices × groups × statistics.

    ``top`` is the last position of the scale.
    """
    from plurivox.kernels import alignment as k

    sums = and_all(sums)
    items, answered = sums[..., k.ITEMS], sums[..., k.ANSWERED]
    charge = top * (items - answered)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (
            (sums[..., k.TO_MODE] + charge) / items, sums[..., k.TO_MODE] / answered,
            (sums[..., k.TO_VOTERS] + charge) / items, sums[..., k.TO_POSTERIOR] / answered / top,
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

    def everybody(self) -> Codes:
        """Return a group for each rater: the same one for all."""
        return np.zeros(max(self.matched.ratings.n_raters, 1), dtype=np.int32)

    def added(self, add: Callable[..., Sums], given: KernelAnswers, codes: Codes, n_groups: int, *more: Any) -> Sums:
        """Return the sums over all items that a function makes from answers, groups, what else it needs, and a part."""
        cost, width = len(given.voice) * n_groups / 4e8, given.n_voices * n_groups
        return self._total(Once(partial(add, given, codes, n_groups, *more), cost, width))

    def distances(self, codes: Codes, n_groups: int, *, by_subset: bool) -> UnitSums:
        """Return the sums of a grouping of raters, by units of items."""
        from plurivox.kernels.alignment import N_SUMS

        matched = self.matched
        subset = matched.subset if by_subset else np.zeros(matched.ratings.n_items, dtype=np.int64)
        n_subsets = len(matched.subsets) + 1 if by_subset else 1
        unit, starts = self._units(subset, n_subsets, len(matched.voices) * n_groups * N_SUMS)
        more = unit, int(starts[-1]), self.prior, soft_voices(matched), matched.ratings.weights
        sums = self.added(distance_sums, KernelAnswers.of(matched), codes, n_groups, *more)
        return UnitSums(sums["by_unit"][0], starts)

    def xrr(self, codes: Codes, n_groups: int, level: Level) -> Floats:
        """Return XRR between each voice and each group: voices × groups."""
        matched = self.matched
        cell = matched.item * len(matched.voices) + matched.voice
        together = np.bincount(cell[matched.point >= 0], minlength=int(cell.max(initial=0)) + 1)[cell]
        given, weights = KernelAnswers.of(matched), matched.ratings.weights
        sums = self.added(cross_ratings, given, codes, n_groups, together, weights)
        crossed, own, other = (array[0] for array in sums.values())
        return finish_parts.xrr_from(crossed, own, other, level, np.array(matched.ratings.scale.values))

    # Groups on the same items ----------------------------------------------------------------------------------------

    def pairs(self, axis: Axis, pairs: GroupPairs, *, to_voters: bool) -> UnitSums:
        """Return how much farther the second group of each pair is, by units of items on which both voted."""
        matched = self.matched
        nowhere = np.zeros(matched.ratings.n_items, dtype=np.int64)
        unit, starts = self._units(nowhere, 1, len(matched.voices) * len(pairs) * (3 + 2 * (matched.top + 1)))
        grouping = Grouping.of(matched.ratings, axis.codes, len(axis))
        work = self._pair_sums(grouping, pairs, to_voters, unit, int(starts[-1]), by_point=True)
        return UnitSums(self._total(work)["by_unit"][0], starts)

    def shuffled(self, grouping: Grouping, pairs: GroupPairs, draws: Draws, how: Running, *, to_voters: bool) -> Floats:
        """Return the differences of pairs when whole raters are shuffled or drawn: draws × voices × pairs."""
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

    def _total(self, work: Contribution) -> Sums:
        return total(self.matched.ratings.parts(), work, self.how._replace(progress=None))


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
