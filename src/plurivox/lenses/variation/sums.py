"""What a part of the items adds to leniency, dominance and components of variance of all groups, under any draws."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running, batched
from plurivox.engine.run import Contribution, Finish, Sums, Values, run, total
from plurivox.infer.exchange import count_type, signs_of
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.jackknife import (
    LeftOut,
    RaterUnits,
    left_out,
    number_of_blocks,
    rating_blocks,
    without_items,
    without_raters,
)
from plurivox.statistics.variance import NESTED, WITHIN, Classes, Nested, components, nested_components

COMPARED = ("leniency", "dominance")
"""The statistics of a group compared with the others, in the order of values."""
_NONE = 1e-9  # weights are sums of fractions of whole numbers; without all items, less than this remains of them


@dataclass(frozen=True, slots=True, eq=False)
class LeniencySums:
    """The contribution of a part to the sums of one grouping of the raters.

    Attributes
    ----------
    grouping
        The groups, and who is shuffled with whom.
    values
        The numbers of the scale minus its middle, which changes no difference or variance.
    n_items
        How many items all parts have together.
    with_raters
        Whether sums of single raters are also wanted, for components of variance.
    cost
        Roughly how many seconds a draw takes.
    """

    grouping: Grouping
    values: NDArray[np.float64]
    n_items: int
    with_raters: bool
    cost: float

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        n_raters = len(self.grouping.codes)
        return self.grouping.n_groups * 11 + n_raters * (16 if self.with_raters else 1) + len(self.grouping.weights)

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        from plurivox.kernels import variation as k

        given = (part.offsets, part.raters, part.scores, self.values)
        items, raters = draws.item_weights(self.n_items, part.items), self.grouping.rater_weights(draws)
        sums = self.empty(draws.total)
        no_units = (np.zeros(0, np.int64), 0)
        if draws.kind == "permuted" and len(self.grouping.weights):
            for d, labels in enumerate(self.grouping.labels(draws)):  # each with weights of its own
                one = slice(d, d + 1)
                k.add_items(*given, labels, raters[one], items[one], *no_units, *(own[one] for own in sums.values()))
        else:
            k.add_items(*given, self.grouping.codes, raters, items, *no_units, *sums.values())
        return sums

    def without(self, keep: Callable[[Part], NDArray[np.bool_]]) -> LeniencySums:
        """Return the same, since all ratings are in the parts."""
        return self

    def empty(self, n_draws: int) -> Sums:
        """Return sums of nothing."""
        from plurivox.kernels import variation as k

        n_raters = len(self.grouping.codes) if self.with_raters else 0
        return Sums(
            groups=np.zeros((n_draws, self.grouping.n_groups, k.N_SUMS)),
            items=np.zeros((n_draws, k.N_ITEM_SUMS)),
            raters=np.zeros((n_draws, n_raters, 2)),
        )


@dataclass(frozen=True, slots=True, eq=False)
class Without:
    """What remains of a part without the ratings of a unit of raters, of a block, or of units of items alone.

    Attributes
    ----------
    rated
        What a part adds.
    whole
        What each part adds as a whole, by its first item; units only change items that they have ratings of.
    n_blocks
        How many blocks of ratings there are.
    """

    rated: LeniencySums
    whole: dict[int, Sums]
    n_blocks: int

    @property
    def cost(self) -> float:
        """Roughly how many seconds a draw takes."""
        return self.rated.cost / 20  # a unit has few of the ratings, and a batch reads all of them once

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return self.rated.width

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums without each unit."""
        from plurivox.kernels import variation as k

        given = (part.offsets, part.raters, part.scores, self.rated.values, self.rated.grouping.codes)
        if draws.resample == "items":
            assert draws.units is not None
            sums = self.rated.empty(draws.total)
            none = np.zeros((1, 0), np.int32)
            k.add_items(*given, none, none, draws.units[part.items], draws.first, *sums.values())
            return sums
        units = (np.zeros(0, np.int64), rating_blocks(part, self.n_blocks))
        if draws.units is not None:
            units = (draws.units, np.zeros(0, np.int16))
        sums = Sums({name: np.repeat(own, draws.total, axis=0) for name, own in self.whole[part.first].items()})
        k.add_without(*given, *units, draws.first, *sums.values())
        return sums


def compared_values(gap: Values, weight: Values, balance: Values, pairs: Values) -> Values:
    """Return leniency and dominance of groups along a new last dimension, NaN where nothing was compared."""
    lenient = np.divide(gap, weight, out=np.full(gap.shape, np.nan), where=weight > _NONE)
    dominant = np.divide(balance, pairs, out=np.full(gap.shape, np.nan), where=pairs > _NONE)
    return np.stack([lenient, dominant + 0.5], axis=-1)


@dataclass(frozen=True, slots=True, eq=False)
class LeniencyValues:
    """From sums to values: those of each group, the first two being :data:`COMPARED`, and of the axis in a last row.

    The others are variances: for a group :data:`WITHIN`, for the axis :data:`NESTED`; NaN fills the row. Without
    ``codes`` there is only what is compared.
    """

    codes: NDArray[np.int32]

    def __call__(self, sums: Sums) -> Values:
        """Finish the sums of all draws: draws × groups (and axis) × statistics."""
        from plurivox.kernels import variation as k

        groups = sums["groups"]
        found = compared_values(*(groups[..., at] for at in (k.GAP, k.WEIGHT, k.BALANCE, k.PAIRS)))
        if not len(self.codes):
            return found
        n_draws, n_groups, _ = groups.shape
        values = np.full((n_draws, n_groups + 1, len(COMPARED) + len(NESTED)), np.nan)
        values[:, :-1, : len(COMPARED)] = found
        own, raters = self._raters(sums["raters"], n_groups)
        by_group = [
            np.maximum(groups[..., at], 0.0) for at in (k.RATINGS, k.SQUARES, k.CELLS, k.CELL_SQUARES, k.COUNTS)
        ]
        n, squares, cells, cell_squares, counts = by_group
        totals = groups[..., k.TOTAL]
        values[:, :-1, len(COMPARED) : len(COMPARED) + len(WITHIN)] = components(
            n, totals, squares, Classes(cells, cell_squares, counts), own
        )
        shared = n - groups[..., k.WEIGHT]  # Σ n_gi²/n_i
        safe = np.where(n > 0, n, 1.0)
        nested = Nested(
            Classes(np.sum(n > 0, axis=1).astype(float), np.sum(totals**2 / safe, axis=1), np.sum(n**2, axis=1)),
            Classes(cells.sum(axis=1), cell_squares.sum(axis=1), counts.sum(axis=1)),
            np.sum(counts / safe, axis=1), np.sum(own.counts / safe, axis=1), shared.sum(axis=1),
        )  # fmt: skip
        items = Classes(*(sums["items"][:, at] for at in (k.ITEMS, k.ITEM_SQUARES, k.ITEM_COUNTS)))
        values[:, -1, len(COMPARED) :] = nested_components(
            n.sum(axis=1), totals.sum(axis=1), squares.sum(axis=1), items, raters, nested
        )
        return values

    def _raters(self, sums: Values, n_groups: int) -> tuple[Classes, Classes]:
        """Return what raters add up to in each group, and in total."""
        n, squared = np.maximum(sums[..., 0], 0.0), sums[..., 1] ** 2
        rated = n > 0.5
        each = np.stack(
            [rated.astype(float), np.divide(squared, n, out=np.zeros(n.shape), where=rated), n * n], axis=-1
        )
        found = np.zeros((len(sums), n_groups, 3))
        order = np.argsort(self.codes, kind="stable")  # once for all groups, which may be many
        bounds = np.searchsorted(self.codes[order], np.arange(n_groups + 1))
        for g in range(n_groups):
            found[:, g] = each[:, order[bounds[g] : bounds[g + 1]]].sum(axis=1)
        whole = found.sum(axis=1)
        own, every = (Classes(*(part[..., at] for at in range(3))) for part in (found, whole))
        return own, every


def _relabelled(
    parts: Sequence[Part], grouping: Grouping, totals: Values, same: Values | None, draws: Draws, first: int, last: int
) -> Values:
    """Return leniency and dominance under draws ``first`` to ``last``; only squares of counts need a pass.

    Parameters
    ----------
    totals
        What each rater adds to their group, whichever it is.
    same
        Groups × 2, Σ n_g²/n and Σ n_g² over items, where no permutation changes them; otherwise None.
    """
    from plurivox.kernels import variation as k

    some = draws.between(first, last)
    labels, sixteens = grouping.labels(some), grouping.sixteens_if_many(some)
    sums = np.zeros((some.total, grouping.n_groups, k.N_TOTALS))
    k.add_labelled(labels, totals, sums)
    squares = np.zeros((some.total, grouping.n_groups, 2))
    if same is None:
        for part in parts:
            k.add_squares(part.offsets, part.raters, labels, *sixteens, count_type(part), squares)
    else:
        squares += same
    return compared_values(
        sums[..., k.OWN_GAP], sums[..., k.OWN_RATINGS] - squares[..., 0],
        sums[..., k.OWN_BALANCE], sums[..., k.OWN_COUNTS] - squares[..., 1],
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class GroupLeniency:
    """Groups compared with the others on the same items: sums and values, observed and under draws.

    Where raters have weights, these count in leniency and dominance, and there are no components of variance.
    """

    ratings: Ratings
    grouping: Grouping

    @property
    def weighted(self) -> bool:
        """Whether raters have weights."""
        return len(self.grouping.weights) > 0

    @cached_property
    def plain(self) -> GroupLeniency:
        """The same with all raters counted equally."""
        return GroupLeniency(self.ratings, replace(self.grouping, weights=np.zeros(0))) if self.weighted else self

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """The numbers of the scale minus its middle."""
        numbers = np.array(self.ratings.scale.values, dtype=float)
        return np.asarray(numbers - (numbers.min() + numbers.max()) / 2)

    def rated(self, *, with_raters: bool) -> LeniencySums:
        """Return what a part of the items adds."""
        cost = self.ratings.n_entries * 1.5e-8
        return LeniencySums(self.grouping, self.values, self.ratings.n_items, with_raters, cost)

    @cached_property
    def observed(self) -> Sums:
        """The sums of the raters as they are."""
        return total(self.ratings.parts(), self.rated(with_raters=not self.weighted))

    @cached_property
    def value(self) -> Values:
        """Leniency and dominance of the raters as they are, groups × 2."""
        return np.asarray(LeniencyValues(np.zeros(0, np.int32))(self.observed)[0])

    @property
    def finish(self) -> LeniencyValues:
        """What makes all values, including components unless raters have weights."""
        return LeniencyValues(np.zeros(0, np.int32) if self.weighted else self.grouping.codes)

    def null(self, shuffles: Draws, how: Running) -> Values:
        """Return leniency and dominance under permutations of the raters."""
        grouping, parts = self.grouping, self.ratings.parts()
        if self.weighted:  # then a shuffle changes every sum
            made = run(parts, self.rated(with_raters=False), shuffles, self.finish, how)
            return np.concatenate([np.zeros((0, grouping.n_groups, len(COMPARED))), *made])
        from plurivox.kernels import variation as k

        same = None
        if self._always_alike():
            groups = self.observed["groups"][0]
            same = np.stack([groups[:, k.RATINGS] - groups[:, k.WEIGHT], groups[:, k.COUNTS]], axis=-1)
        inside, totals = grouping.codes >= 0, np.zeros((len(grouping.codes), k.N_TOTALS))
        for part in parts:
            added = np.zeros_like(totals)
            k.add_totals(part.offsets, part.raters, part.scores, self.values, inside, added)
            totals = totals + added
        work = partial(_relabelled, parts, grouping, totals, same, shuffles)
        cost = len(grouping.codes) * 2e-8 + (self.ratings.n_entries * 2e-9 if same is None else 0.0)
        made = batched(work, shuffles.total, how, cost=cost, width=len(grouping.codes) + grouping.n_groups * 9)
        return np.concatenate([np.zeros((0, grouping.n_groups, len(COMPARED))), *made])

    def _always_alike(self) -> bool:
        """Return whether exchanged raters rated the same items, so that no shuffle changes any count."""
        grouping = self.grouping
        stratum = np.repeat(np.arange(len(grouping.bounds) - 1), np.diff(grouping.bounds))[grouping.everyone >= 0]
        own = signs_of(self.ratings.parts(), len(grouping.codes))[grouping.shuffled]
        return bool(np.all((own[1:] == own[:-1]) | (stratum[1:] != stratum[:-1])))

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return leniency and dominance when items, raters (within their groups) or both are drawn with replacement."""
        finish = LeniencyValues(np.zeros(0, np.int32))
        drawn = Draws.resampled(draws, seed, resample)
        made = run(self.ratings.parts(), self.rated(with_raters=False), drawn, finish, how)
        return np.concatenate([np.zeros((0, self.grouping.n_groups, len(COMPARED))), *made])

    def left_out(self, resample: str, how: Running) -> LeftOut:
        """Return all values, including components, without each item, each rater of a group, or both."""
        parts, finish = self.ratings.parts(), self.finish
        rated = np.where(raters_who_rated(self.ratings), self.grouping.codes, -1)
        if self.weighted:  # leniency and dominance; each unit takes a pass over the ratings
            given = (self.rated(with_raters=False), self.observed, finish, rated, self.grouping.n_groups)
            return left_out(parts, *given, resample, how)
        work = self.rated(with_raters=True)
        whole = {part.first: work(part, Draws.observed()) for part in parts}
        without = Without(work, whole, number_of_blocks(parts))
        units = RaterUnits.of(rated, self.grouping.n_groups)
        return without_each(parts, without, self.observed, finish, units, resample, how)

    def without_each_item(self, how: Running) -> LeftOut:
        """Return leniency and dominance without each item."""
        finish, rated = LeniencyValues(np.zeros(0, np.int32)), self.rated(with_raters=False)
        work = rated if self.weighted else Without(rated, {}, 0)
        whole = Sums({name: array if name != "raters" else array[:, :0] for name, array in self.observed.items()})
        return LeftOut(finish(whole)[0], (without_items(self.ratings.parts(), work, whole, finish, how),))


def without_each(
    parts: Sequence[Part], without: Contribution, whole: Sums, finish: Finish, units: RaterUnits, resample: str,
    how: Running,
) -> LeftOut:  # fmt: skip
    """Return values without each item, each unit of raters, or both, for what can itself leave out units and blocks."""
    each: list[Values] = []
    if resample in ("items", "both"):
        each.append(without_items(parts, without, whole, finish, how))
    if resample in ("raters", "both"):
        each.extend(without_raters(parts, without, units, finish, how))
    blocks = Draws.of_blocks(number_of_blocks(parts))
    ratings = run(parts, without, blocks, finish, how) if resample == "both" else []
    return LeftOut(finish(whole)[0], tuple(each), np.concatenate(ratings) if ratings else None)
