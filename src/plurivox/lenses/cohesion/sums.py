"""What a part of the items adds to the cohesion statistics of all groups of an axis, under any draws.

Most statistics share one compiled pass over the ratings; those that are functions of counts alone are added up
separately, and those of scores as numbers share a second pass.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws, add_up, group_counts, weighted_counts
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values, run, total
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.jackknife import LeftOut, left_out
from plurivox.statistics.checks import Level, tie_ranks
from plurivox.statistics.mokken import heights
from plurivox.statistics.records import MOMENTS, SLOTS, About, Statistic, finished
from plurivox.statistics.registry import STATISTICS, of_role

MOST_RATERS, MOST_CELLS, MOST_POINTS = 300, 20_000_000, 200
"""Raters, scores and points up to which statistics of whole scores are computed: those of pairs are slow."""
MOST_KNOWN = 20_000_000
"""The most numbers to keep of what items add to statistics of counts, for a bootstrap over items."""
NOBODY = 1e-9
"""A sum of raters' weights of at most this is 0 up to rounding error."""
TOO_MANY = f"not computed for more than {MOST_RATERS} raters, or very many items or points"


@dataclass(frozen=True, slots=True, eq=False)
class Agreement:
    """The contribution of a part to the sums of one grouping of the raters.

    Attributes
    ----------
    grouping
        The groups, and who is shuffled with whom.
    about
        The scale and its level.
    n_items
        How many items all parts have together.
    published
        Whether cross-entropy is that of the published numbers.
    ranks
        Items × sides × points: how ties are decided; empty if tied points share a vote.
    counted
        The statistics whose contribution is a function of counts.
    means
        The mean score of each rater, with the scale mapped to 0 … 1, for statistics of moments; empty if there are
        none.
    cost
        Roughly how many seconds a draw takes.
    known
        What the items of a part add to statistics of counts, by its first item, where that is already computed.
    """

    grouping: Grouping
    about: About
    n_items: int
    published: bool
    ranks: NDArray[np.int32]
    counted: tuple[Statistic, ...]
    means: NDArray[np.float64]
    cost: float
    known: Mapping[int, Values] = field(default_factory=dict)

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        n_points = self.about.n_points
        sums = self.grouping.n_groups * n_points * (7 + 2 * n_points * (not self.about.nominal))
        sums += self.grouping.n_groups * len(MOMENTS) + len(self.means) // 2 if len(self.means) else 0
        return sums + len(self.grouping.weights)

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        items = draws.item_weights(self.n_items, part.items)
        raters = self.grouping.rater_weights(draws)
        sums = self._pass(part, draws, items, raters)
        if len(self.means):
            sums |= self._moments(part, draws, items, raters)
        if self.counted:
            sums |= self._counted(part, draws, items, raters)
        return sums

    def without(self, keep: Callable[[Part], NDArray[np.bool_]]) -> Agreement:
        """Return the same, since all ratings are in the parts."""
        return self

    def contributed(self, part: Part, codes: NDArray[Any], raters: NDArray[Any], start: int, stop: int) -> Values:
        """Return what items add to the statistics that are functions of counts: items × groups × all their parts."""
        n_groups, n_points, squares = self.grouping.n_groups, self.about.n_points, None
        counts: NDArray[Any]
        if len(raters):
            counts, squares = weighted_counts(part, codes, n_groups, n_points, raters, start, stop)
        else:
            counts = group_counts(part, codes, n_groups, n_points, start, stop)
        return np.concatenate([self._parts(record, counts, squares) for record in self.counted], axis=-1)

    def _parts(self, record: Statistic, counts: NDArray[Any], squares: NDArray[Any] | None) -> NDArray[Any]:
        assert record.contribution is not None
        return record.contribution(counts, _rest(counts) if record.needs == "pair" else squares, self.about)

    def _pass(self, part: Part, draws: Draws, items: NDArray[Any], raters: NDArray[Any]) -> Sums:
        """Return the sums of the compiled pass, in the order of :data:`SLOTS`."""
        from plurivox.kernels import cohesion as k

        grouping, n_points = self.grouping, self.about.n_points
        scalars, vectors, matrices = (len(names) for names in SLOTS.values())
        n_matrices = 0 if self.about.nominal else grouping.n_groups
        sums = Sums(
            scalars=np.zeros((draws.total, grouping.n_groups, scalars)),
            vectors=np.zeros((draws.total, grouping.n_groups, vectors, n_points)),
            matrices=np.zeros((draws.total, n_matrices, matrices, n_points, n_points)),
        )
        given = (part.offsets, part.raters, part.scores)
        ranks = self.ranks[part.items]
        most = int(np.diff(part.offsets).max(initial=0))
        if len(grouping.weights):
            from plurivox.kernels.weighted_cohesion import weighted_passes

            labels = grouping.kernel_labels(draws) if draws.kind == "permuted" else grouping.kernel_codes[np.newaxis]
            weighted_passes(*given, labels, raters, items, self.published, ranks, *sums.values())
        elif draws.kind == "permuted":
            k.permuted_passes(
                *given, grouping.kernel_labels(draws), most, *k.make_tables(most, n_points), self.published, ranks,
                *sums.values(),
            )  # fmt: skip
        else:
            tables = k.make_tables(most * int(raters.max(initial=1)), n_points)
            k.weighted_passes(
                *given, grouping.kernel_codes, raters, items, *tables, self.published, ranks, *sums.values()
            )
        return sums

    def _moments(self, part: Part, draws: Draws, items: NDArray[Any], raters: NDArray[Any]) -> Sums:
        """Return the sums of the pass over scores as numbers, draws × groups × :data:`MOMENTS`."""
        from plurivox.kernels import moments as k

        sums = np.zeros((draws.total, self.grouping.n_groups, len(MOMENTS)))
        scores = k.centred(part.raters, part.scores, heights(self.about.values), self.means)
        given = (part.offsets, part.raters, scores)
        permuted = draws.kind == "permuted"
        if permuted and not len(self.grouping.weights):
            k.permuted_moments(*given, self.grouping.labels(draws), *self.grouping.sixteens(draws), sums)
        else:
            labels = self.grouping.labels(draws) if permuted else self.grouping.codes[np.newaxis]
            k.weighted_moments(*given, labels, raters, items, sums)
        return Sums(moments=sums)

    def _counted(self, part: Part, draws: Draws, items: NDArray[Any], raters: NDArray[Any]) -> Sums:
        """Return the sums of the statistics that are functions of counts, each draws × groups × parts."""
        weighted = len(self.grouping.weights) > 0  # then there are always weights, even where each draw has the same
        varies = raters.shape[1] > 0 and (not weighted or draws.resample in ("raters", "both"))
        if draws.kind == "units" and varies:
            return self._named(self._without_raters(part, draws, raters))
        shuffled = draws.kind == "permuted" and draws.last > 1
        labels = self.grouping.labels(draws) if shuffled else self.grouping.codes[np.newaxis]
        known, none = self.known.get(part.first), np.zeros(0, np.int32)

        def contributed(d: int, start: int, stop: int) -> NDArray[Any]:
            if known is not None and not shuffled and not varies:
                return known[start:stop]
            weights = raters[d] if raters.shape[1] else none
            return self.contributed(part, labels[d if shuffled else 0], weights, start, stop)

        same = not shuffled and not varies
        whole = add_up(contributed, part.n_items, draws.total, items, same=same)
        return self._named(whole)

    def _without_raters(self, part: Part, draws: Draws, raters: NDArray[Any]) -> Values:
        """Return the sums of counts without units of raters: only their groups change, on the items they rated."""
        codes, weighted = self.grouping.codes, self.grouping.weights
        whole = add_up(
            lambda _, *at: self.contributed(part, codes, weighted, *at), part.n_items, 1, raters[:, :0], same=True
        )
        sums = np.repeat(whole, draws.total, axis=0)
        alone = all(record.needs != "pair" for record in self.counted)
        item = part.item_of_each()
        for own, weights in zip(sums, raters, strict=True):
            gone = (weights == 0) & (codes >= 0)
            groups = np.unique(codes[gone]) if alone else np.arange(self.grouping.n_groups)
            place = np.full(self.grouping.n_groups + 1, -1, np.int32)  # the last is for raters in no group
            place[groups] = np.arange(len(groups))
            hit = np.zeros(part.n_items, np.bool_)
            hit[item[gone[part.raters]]] = True
            few = _some_ratings(part, item, hit, (place[codes] >= 0)[part.raters])
            work = replace(self, grouping=replace(self.grouping, codes=place[codes], n_groups=len(groups)))
            given = (few, place[codes])
            own[groups] -= work.contributed(*given, weighted, 0, few.n_items).sum(axis=0)
            own[groups] += work.contributed(*given, weights, 0, few.n_items).sum(axis=0)
        return sums

    def _named(self, whole: Values) -> Sums:
        """Return sums of counts by statistic."""
        nothing = np.zeros((0, 1, self.about.n_points))
        widths = [self._parts(record, nothing, None).shape[-1] for record in self.counted]
        each = np.split(whole, np.cumsum(widths)[:-1], axis=-1)
        return Sums({record.name: own for record, own in zip(self.counted, each, strict=True)})


def _rest(counts: NDArray[Any]) -> NDArray[Any]:
    """Return the counts of all other groups: sums of weights that are 0 up to rounding are 0."""
    rest = counts.sum(axis=1, keepdims=True) - counts
    return np.where(np.abs(rest) < NOBODY, 0.0, rest) if rest.dtype.kind == "f" else rest


def _some_ratings(part: Part, item: NDArray[np.int64], items: NDArray[np.bool_], ratings: NDArray[np.bool_]) -> Part:
    """Return some ratings of some items, all of which have ratings, as a part of its own."""
    chosen = items[item] & ratings
    sizes = np.bincount(item[chosen], minlength=len(items))[items]
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Part(0, offsets, part.raters[chosen], part.scores[chosen], part.multiplicity)


@dataclass(frozen=True, slots=True, eq=False)
class AgreementValues:
    """From sums to the values of some statistics, draws × groups × statistics."""

    records: tuple[Statistic, ...]
    about: About

    def __call__(self, sums: Sums) -> Values:
        """Finish the sums of all draws."""
        return finished(self.records, named(sums, self.about), self.about)


def named(sums: Sums, about: About) -> dict[str, NDArray[Any]]:
    """Return every sum by the name that records call it by: groups are the second dimension, the names the third."""
    found: dict[str, NDArray[Any]] = {name: array for name, array in sums.items() if name not in SLOTS}
    for slot, names in SLOTS.items():
        if slot != "matrices" or not about.nominal:
            found |= {name: sums[slot][:, :, at] for at, name in enumerate(names)}
    return found


def scores_of(ratings: Ratings, chosen: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """Return the scores of some raters, items × raters, NaN where there is none; None if they are too many."""
    column = np.cumsum(chosen) - 1
    n_raters = int(np.count_nonzero(chosen))
    if n_raters > MOST_RATERS or n_raters * ratings.n_items > MOST_CELLS or len(ratings.scale) > MOST_POINTS:
        return None
    found = np.full((ratings.n_items, n_raters), np.nan)
    numbers = np.array(ratings.scale.values, dtype=float)
    for part in ratings.parts():
        inside = chosen[part.raters]
        found[part.item_of_each()[inside] + part.first, column[part.raters[inside]]] = numbers[part.scores[inside]]
    return found


def rater_means(ratings: Ratings) -> NDArray[np.float64]:
    """Return the mean of each rater over all items they rated, with the scale mapped to 0 … 1; 0 without ratings."""

    def make() -> NDArray[np.float64]:
        numbers, total = heights(np.array(ratings.scale.values, dtype=float)), np.zeros(ratings.n_raters)
        for part in ratings.parts():
            np.add.at(total, part.raters, numbers[part.scores])  # one rating at a time, so that the cuts do not matter
        return np.asarray(total / np.maximum(ratings.per_rater(), 1))

    return ratings.once("means of raters", make)


def tested_with(gai: Sequence[str]) -> tuple[Statistic, ...]:
    """Return the tested statistics: first those that are always there, then GAI of the other pairs requested."""
    return (*of_role("tested"), *(one for one in of_role("asked") if one.name.removeprefix("gai_") in gai))


def place_of(name: str) -> int:
    """Return the position of a tested statistic among the values."""
    return [record.name for record in of_role("tested")].index(name)


@dataclass(frozen=True, eq=False)
class GroupAgreement:
    """The cohesion of one grouping of the raters: its sums and values, observed and under draws.

    ``tested`` and ``beside`` are the statistics in the order of the last dimension of values; permutations have the
    first, bootstrap draws both.
    """

    ratings: Ratings
    agreement: Agreement
    tested: tuple[Statistic, ...]
    beside: tuple[Statistic, ...]

    @classmethod
    def of(
        cls, ratings: Ratings, grouping: Grouping, *, level: Level = "nominal", published: bool = False,
        ties: str = "share", seed: int = 0, gai: Sequence[str] = (),
    ) -> GroupAgreement:  # fmt: skip
        """Prepare all sums of a grouping."""
        tested, beside = tested_with(gai), of_role("beside")
        sources = {record.source for record in (*tested, *beside)}
        counted = tuple(one for one in (*tested, *beside) if one.contribution is not None and one.name in sources)
        n_points = len(ratings.scale)
        ids = ratings.items["item"].to_list() if ties == "random" else range(ratings.n_items)
        numbers = np.array(ratings.scale.values, dtype=float)
        with_moments = any(one.of_moments for one in (*tested, *beside))
        agreement = Agreement(
            grouping, About(n_points, numbers, level), ratings.n_items, published,
            tie_ranks(ids, n_points, ties, seed), counted, rater_means(ratings) if with_moments else np.zeros(0),
            ratings.n_entries * 3e-9 + ratings.n_items * min(grouping.n_groups, 50) * 5e-8,
        )  # fmt: skip
        return cls(ratings, agreement, tested, beside)

    @property
    def about(self) -> About:
        """The scale and its level."""
        return self.agreement.about

    @cached_property
    def sums(self) -> Sums:
        """The sums of the raters as they are."""
        return total(self.ratings.parts(), self.agreement)

    @cached_property
    def value(self) -> Values:
        """The values of the raters as they are, groups × (tested, then beside)."""
        return np.asarray(self.values(self.sums)[0])

    def values(self, sums: Sums) -> Values:
        """Return the values of all statistics: draws × groups × (tested, then beside)."""
        return AgreementValues((*self.tested, *self.beside), self.about)(sums)

    def why(self, name: str, g: int, n_raters: int | None = None) -> str:
        """Say why an observed value of a group is undefined, or what to be careful about; nothing if all is well."""
        record = STATISTICS[name]
        if record.why is None:
            return ""
        own = {slot: array[0, g] for slot, array in named(self.sums, self.about).items()}
        known = {one.name: self.value[g, at] for at, one in enumerate((*self.tested, *self.beside))}
        return record.why(own, self.about, known, n_raters) or ""

    def null(self, shuffles: Draws, how: Running) -> Values:
        """Return the tested values under permutations of the raters."""
        sources = {record.source for record in self.tested}
        work = replace(self.agreement, counted=tuple(one for one in self.agreement.counted if one.name in sources))
        return self._run(work, shuffles, self.tested, how)

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return all values when items, raters (within their groups) or both are drawn with replacement."""
        work = self._known() if resample == "items" and draws else self.agreement
        return self._run(work, Draws.resampled(draws, seed, resample), (*self.tested, *self.beside), how)

    def _known(self) -> Agreement:
        """Return the same contribution, with what each item adds to statistics of counts, for weights of items."""
        work = self.agreement
        if not work.counted:
            return work
        known, room = {}, MOST_KNOWN
        for part in self.ratings.parts():
            room -= part.n_items * work.grouping.n_groups * 8 * work.about.n_points
            if room < 0:
                break
            known[part.first] = work.contributed(part, work.grouping.codes, work.grouping.weights, 0, part.n_items)
        return replace(work, known=known)

    def left_out(self, resample: str, how: Running) -> LeftOut:
        """Return all values without each item, each rater of a group, or both; nothing is drawn."""
        work, finish = self.agreement, AgreementValues((*self.tested, *self.beside), self.about)
        rated = np.where(raters_who_rated(self.ratings), work.grouping.codes, -1)
        by_item = None if resample == "raters" else self._known()
        given = (work, self.sums, finish, rated, work.grouping.n_groups, resample, how, by_item)
        return left_out(self.ratings.parts(), *given)

    def _run(self, work: Agreement, draws: Draws, records: tuple[Statistic, ...], how: Running) -> Values:
        made = run(self.ratings.parts(), work, draws, AgreementValues(records, self.about), how)
        return np.concatenate([np.zeros((0, work.grouping.n_groups, len(records))), *made])
