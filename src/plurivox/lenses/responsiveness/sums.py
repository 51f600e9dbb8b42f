"""What a part of the items adds to the tables of score × reference point of all groups, under any draws.

All metrics at all boundaries are a finish of these tables. A vote does not change when only items are drawn, so those
draws weigh votes that are recorded once. :mod:`plurivox.lenses.responsiveness.raters` has individual raters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import ScaleError
from plurivox.base.settings.shared import GROUP_SCORES
from plurivox.base.wording import counted
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Contribution, Sums, Values, run, total
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.jackknife import LeftOut, kept, left_out
from plurivox.lenses.responsiveness.references import CROWD, Reference
from plurivox.statistics.checks import tie_ranks
from plurivox.statistics.responsiveness import MEASURES

MAX_CELLS = 1 << 27
"""The most numbers in the tables of all groups at once: a gigabyte."""


def refuse_tables(n_groups: int, n_points: int, n_reference: int) -> None:
    """Raise if the tables of all groups or raters would fill memory."""
    if n_groups * n_points * n_reference > MAX_CELLS:
        raise ScaleError(
            f"{counted(n_groups, 'table')} of {n_points:,} points × {n_reference:,} of the reference would fill memory",
            hint="Split the reference with a threshold, compare fewer groups, or use a scale with fewer points.",
        )


class Support(NamedTuple):
    """What the scores of groups or raters rest on, as far as there is a reference.

    ``votes``, groups × points, counts the items for which the group's score was each point.
    """

    votes: Values
    n_items: NDArray[np.int64]
    n_ratings: NDArray[np.int64]

    def of(self, groups: NDArray[np.intp]) -> Support:
        """Return what some groups, in the order given, rest on."""
        return Support(self.votes[groups], self.n_items[groups], self.n_ratings[groups])


class VoteEntries(NamedTuple):
    """Each item's votes: where they start, their group and score, their shares, and the reference that they meet."""

    offsets: NDArray[np.int64]
    places: NDArray[np.int32]
    shares: Values
    references: NDArray[Any]

    def items(self, n_items: int) -> NDArray[np.int64]:
        """Return the item of each vote."""
        return np.repeat(np.arange(n_items), np.diff(self.offsets))

    def some(self, items: slice) -> VoteEntries:
        """Return the votes on some items."""
        start, stop = int(self.offsets[items.start]), int(self.offsets[items.stop])
        own = self.offsets[items.start : items.stop + 1] - start
        return VoteEntries(own, self.places[start:stop], self.shares[start:stop], self.references[start:stop])


@dataclass(frozen=True, slots=True, eq=False)
class VoteTables:
    """The contribution of a part: its items' votes times their reference ratings, in the table of each group.

    Attributes
    ----------
    grouping
        The groups, and who is shuffled with whom.
    drawn
        The group of each rater among whom raters are drawn; -1 for those who rated nothing.
    reference, totals
        The reference ratings of all items, and how often each item got each of their points.
    shared, same
        Whether any of these is by a judged rater, and whether they are the judged ratings themselves.
    group_score, numbers, ranks
        How a group's ratings become its vote, the values of the points, and how ties are decided: items × points, empty
        if tied points share a vote.
    cost
        Roughly how many seconds a draw takes.
    weights
        The weight of each reference rating, where raters have weights.
    """

    grouping: Grouping
    drawn: NDArray[np.int32]
    reference: Part
    totals: NDArray[np.int64]
    shared: bool
    same: bool
    group_score: int
    numbers: Values
    ranks: NDArray[np.int32]
    cost: float
    weights: Values = field(default_factory=lambda: np.zeros(0))

    @property
    def weighted(self) -> bool:
        """Whether raters count by their weights, those who are judged or those of the reference."""
        return len(self.weights) > 0

    def __post_init__(self) -> None:
        refuse_tables(*self.shape)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Groups, points and reference points: the shape of all tables."""
        return self.grouping.n_groups, len(self.numbers), self.totals.shape[1]

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return _width(self.shape, len(self.totals))

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the tables of a part under each draw."""
        from plurivox.kernels.responsiveness import permuted_tables, weighed_tables, weighted_tables

        given, tables = self._given(part), np.zeros((draws.total, *self.shape))
        items = draws.item_weights(len(self.totals), part.items)
        if self.weighted:  # which move with the groups in a shuffle
            judged, against, voting, codes = given
            permuted = draws.kind == "permuted"
            labels = self.grouping.kernel_labels(draws) if permuted else np.tile(codes, (draws.total, 1))
            reference, raters = self._reference_weights(part), self._rater_weights(draws)
            weighed_tables(judged, against, reference, voting, labels, raters, items, tables)
        elif draws.kind == "permuted":
            everyone, bounds = self.grouping.everyone, self.grouping.bounds
            permuted_tables(*given, everyone, bounds, np.uint64(draws.seed), draws.first, tables)
        else:
            weighted_tables(*given, draws.rater_weights(self.drawn), items, tables)
        return Sums(tables=tables)

    def _rater_weights(self, draws: Draws) -> Values:
        """Return the weight of each judged rater under each draw, draws × raters."""
        own = self.grouping.weights if len(self.grouping.weights) else np.ones(len(self.drawn))
        if draws.kind == "permuted" and len(self.grouping.weights):
            return self.grouping.rater_weights(draws)
        drawn = draws.rater_weights(self.drawn)
        return own * drawn if drawn.shape[1] else np.tile(own, (draws.total, 1))

    def _reference_weights(self, part: Part) -> Values:
        first, last = (int(self.reference.offsets[at]) for at in (part.items.start, part.items.stop))
        return self.weights[first:last]

    def without(self, keep: Callable[[Part], NDArray[np.bool_]]) -> VoteTables:
        """Return the same with a reference without the judged ratings that a rule drops."""
        if not self.shared:
            return self
        left = keep(self.reference)
        reference, weights = kept(self.reference, left), self.weights[left] if self.weighted else self.weights
        n_items, n_points = self.totals.shape
        cells = reference.item_of_each() * n_points + reference.scores
        totals = np.bincount(cells, minlength=n_items * n_points).reshape(n_items, n_points).astype(np.int64)
        return replace(self, reference=reference, totals=totals, weights=weights)

    def entries(self, part: Part) -> VoteEntries:
        """Return the votes on a part's items as they are."""
        from plurivox.kernels.responsiveness import write_entries

        n_groups, _, n_reference = self.shape
        offsets = np.zeros(part.n_items + 1, np.int64)

        def room(n: int) -> tuple[NDArray[np.int32], Values, NDArray[Any]]:
            kind = np.float64 if self.weighted else np.int32
            return np.zeros((n, 2), np.int32), np.zeros(n), np.zeros((n, n_reference), kind)

        given = self._given(part)
        if self.weighted:
            from plurivox.kernels.responsiveness import write_weighed

            judged, against, voting, codes = given
            own = self._rater_weights(Draws.observed())[0]
            given = (judged, against, self._reference_weights(part), voting, codes, own)
            write_entries = write_weighed
        count = write_entries(*given, n_groups, offsets, *room(0))
        entries = VoteEntries(offsets, *room(count))
        write_entries(*given, n_groups, *entries)
        return entries

    def _given(self, part: Part) -> tuple[Any, ...]:
        """Return what kernels need to know about a part."""
        from plurivox.kernels.responsiveness import Against, ItemRatings, Voting

        reference = self.reference.some(part.items)
        totals = self.totals[part.items]
        return (
            ItemRatings(part.offsets, part.raters, part.scores),
            Against(reference.offsets, reference.raters, reference.scores, totals, self.shared, self.same),
            Voting(self.group_score, self.numbers, self.ranks[part.items]),
            self.grouping.kernel_codes,
        )


@dataclass(frozen=True, slots=True, eq=False)
class WrittenVotes:
    """The same contribution where only items are drawn: weights times votes, without counting again."""

    entries: VoteEntries
    shape: tuple[int, int, int]
    cost: float

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return _width(self.shape, len(self.entries.offsets) - 1)

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the tables of a part under each draw."""
        from plurivox.kernels.responsiveness import resampled_tables

        tables = np.zeros((draws.total, *self.shape))
        weights = draws.item_weights(len(self.entries.offsets) - 1, part.items)
        resampled_tables(*self.entries.some(part.items), weights, tables)
        return Sums(tables=tables)


@dataclass(frozen=True, slots=True)
class Metrics:
    """From tables to values, draws × groups × :data:`MEASURES`; MPA is ``capped`` at 0, or not."""

    capped: bool

    def __call__(self, sums: Sums) -> Values:
        """Finish the tables of all draws."""
        from plurivox.kernels.metrics import macro_values

        tables = sums["tables"]
        values = np.zeros((*tables.shape[:2], len(MEASURES)))
        macro_values(tables.reshape(-1, *tables.shape[2:]), self.capped, values.reshape(-1, len(MEASURES)))
        return values


@dataclass(frozen=True, slots=True, eq=False)
class Responses:
    """The responsiveness of one grouping of the raters to one reference, observed and under draws."""

    ratings: Ratings
    scored: VoteTables
    finish: Metrics

    @classmethod
    def of(
        cls, ratings: Ratings, codes: NDArray[np.int32], n_groups: int, reference: Reference,
        strata: NDArray[np.int32] | None = None, **scoring: Any,
    ) -> Responses:  # fmt: skip
        """Prepare the tables of groups, shuffled within strata; ``scoring`` as in :meth:`by`."""
        return cls.by(ratings, Grouping.of(ratings, codes, n_groups, strata), reference, **scoring)

    @classmethod
    def by(
        cls, ratings: Ratings, grouping: Grouping, reference: Reference, *, group_score: str = "plurality",
        ties: str = "share", seed: int = 0, capped: bool = True,
    ) -> Responses:  # fmt: skip
        """Prepare the tables of a grouping of the raters."""
        codes, n_groups = grouping.codes, grouping.n_groups
        ids = ratings.items["item"].to_list() if ties == "random" else range(ratings.n_items)
        ranks = np.ascontiguousarray(tie_ranks(ids, len(ratings.scale), ties, seed)[:, 0])
        against = reference.on_axis(codes)
        same = against.kind == CROWD and against.n_points == len(ratings.scale) and bool((codes >= 0).all())
        n_given, weights = ratings.n_entries + len(against.scores), against.weights
        if ratings.weights is not None and not len(weights):  # only judged raters have weights
            weights = np.ones(len(against.scores))
        scored = VoteTables(
            grouping,
            np.where(raters_who_rated(ratings), codes, -1), against.part, against.totals(),
            bool((against.raters >= 0).any()), same, GROUP_SCORES.index(group_score), np.array(ratings.scale.values),
            ranks, n_given * 5e-9 + n_groups * against.n_points * 2e-7, weights,
        )  # fmt: skip
        return cls(ratings, scored, Metrics(capped))

    def observed(self) -> tuple[Values, Values]:
        """Return the tables, groups × scores × reference points, and the values, groups × :data:`MEASURES`."""
        sums = total(self.ratings.parts(), self.scored)
        tables: Values = sums["tables"][0]
        return tables, self.finish(sums)[0]

    @property
    def value(self) -> Values:
        """The values of the raters as they are, groups × :data:`MEASURES`."""
        return self.observed()[1]

    def entries(self) -> VoteEntries:
        """Return the votes on all items."""
        each = [self.scored.entries(part) for part in self.ratings.parts()]
        if len(each) == 1:
            return each[0]
        starts = np.cumsum([0, *(one.offsets[-1] for one in each[:-1])])
        offsets = [one.offsets[1:] + start for one, start in zip(each, starts, strict=True)]
        others = zip(*(one[1:] for one in each), strict=True)
        return VoteEntries(np.concatenate([np.zeros(1, np.int64), *offsets]), *map(np.concatenate, others))

    def votes(self) -> Support:
        """Return what each group's scores rest on.

        An item whose only reference ratings are the group's own has no reference for it.
        """
        entries = self.entries()
        met = entries.references.sum(axis=1) > 0
        (n_groups, n_points, _), n_items = self.scored.shape, self.ratings.n_items
        group = entries.places[met, 0].astype(np.int64)
        votes = np.bincount(group * n_points + entries.places[met, 1], entries.shares[met], n_groups * n_points)
        rated = np.unique(group * n_items + entries.items(n_items)[met])
        met_by = np.zeros((n_groups, n_items), bool)
        met_by.reshape(-1)[rated] = True
        n_given = np.zeros(n_groups, np.int64)
        for part in self.ratings.parts():
            given = self.scored.grouping.codes[part.raters]
            own = given >= 0
            own[own] = met_by[given[own], (part.item_of_each() + part.first)[own]]
            n_given += np.bincount(given[own], minlength=n_groups)
        return Support(
            votes.reshape(n_groups, n_points).astype(float),
            np.bincount(rated // max(n_items, 1), minlength=n_groups).astype(np.int64),
            n_given,
        )

    def null(self, shuffles: Draws, how: Running) -> Values:
        """Return the values under permutations of the raters."""
        return self._run(self.scored, shuffles, how)

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return the values when items, raters (within their groups) or both are drawn with replacement.

        The reference's raters are not drawn unless they are among the judged.
        """
        work: Contribution = self._written() if resample == "items" and draws else self.scored
        return self._run(work, Draws.resampled(draws, seed, resample), how)

    def left_out(self, resample: str, how: Running) -> LeftOut:
        """Return the values without each item, each judged rater, or both; nothing is drawn.

        A left-out rater of the crowd also leaves the reference. The raters of a separate reference stay.
        """
        parts, scored = self.ratings.parts(), self.scored
        by_item = None if resample == "raters" else self._written()
        given = (scored, total(parts, scored), self.finish, scored.drawn, scored.grouping.n_groups)
        return left_out(parts, *given, resample, how, by_item)

    def _written(self) -> WrittenVotes:
        return WrittenVotes(self.entries(), self.scored.shape, self.scored.cost)

    def _run(self, work: Contribution, draws: Draws, how: Running) -> Values:
        made = run(self.ratings.parts(), work, draws, self.finish, how)
        return np.concatenate([np.zeros((0, self.scored.shape[0], len(MEASURES))), *made])


def scores_of(scored: VoteTables, parts: Sequence[Part]) -> NDArray[np.int32]:
    """Return each group's score of each item, groups × items: the lowest where points tie, -1 if it has none."""
    found = np.full((scored.shape[0], sum(part.n_items for part in parts)), -1, np.int32)
    for part in parts:
        entries = scored.entries(part)
        group, point = entries.places[::-1].T  # an item's points are in order, so that the lowest is written last
        found[group, part.first + entries.items(part.n_items)[::-1]] = point
    return found


def _width(shape: tuple[int, int, int], n_items: int) -> int:
    n_groups, n_points, n_reference = shape
    return n_groups * (n_points * n_reference + len(MEASURES)) + n_items
