"""Two-way jackknife: values without single items and without single raters, and intervals made from them.

Nothing is drawn. Each unit is left out once: an item, or a rater of a group. The spread of the values over items shows
how much other items would change a value; the spread over the raters of each group shows how much other raters would.
If there are very many, a unit is a block of them, so that the number of passes over the ratings stays bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError
from plurivox.domain.part import Part
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Contribution, Finish, Sums, Values, run
from plurivox.infer.intervals import Interval

Ints = NDArray[np.int64]

MOST_ITEMS = 1000
"""The most units of items."""
MOST_PER_GROUP = 100
"""The most units of raters of one group …"""
MOST_RATERS = 600
"""… and of all groups, unless every group has ``LEAST_PER_GROUP``."""
LEAST_PER_GROUP = 10
MOST_BLOCKS = 100
"""The most blocks of single ratings."""
LARGE, FEWER = 100_000, 0.4
"""With more ratings than this, or more raters than units, this share of blocks or units remains: passes take long."""
SCALES = ("plain", "fisher", "inverse", "complement", "logit")
"""The scales on which an interval may be symmetric: the value's own, artanh x, 1/x, 1/(1 − x), or log(x/(1 − x))."""


_NONE = 1e-12  # differences up to this are rounding
_AT_ONCE = 1 << 16
_MIX = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)  # odd numbers without a pattern


# Units ---------------------------------------------------------------------------------------------------------------


def blocks(n: int, most: int) -> Ints:
    """Return the unit of each of n things: each its own, or interleaved blocks of equal size.

    Examples
    --------
    >>> blocks(3, most=5).tolist(), blocks(7, most=5).tolist()
    ([0, 1, 2], [0, 1, 2, 3, 0, 1, 2])
    """
    size = -(-n // most)
    return np.arange(n, dtype=np.int64) % max(-(-n // max(size, 1)), 1)


class RaterUnits(NamedTuple):
    """Raters in units, and units in strata.

    Attributes
    ----------
    units
        The unit of each rater, -1 for those who do not count.
    bounds
        The units of stratum h are ``bounds[h]`` to ``bounds[h + 1]``.
    strata
        The stratum of each group, -1 if it has no rater.
    alone
        Which groups have a single rater, so that nothing is known about how their raters vary.
    """

    units: Ints
    bounds: Ints
    strata: Ints
    alone: NDArray[np.bool_]

    @classmethod
    def of(cls, codes: ArrayLike, n_groups: int) -> RaterUnits:
        """Make units of raters, each group a stratum; single raters join the largest group, as part of others' rest.

        Examples
        --------
        >>> found = RaterUnits.of([0, 0, 1, 1, 1, 2, -1], 3)
        >>> found.units.tolist(), found.bounds.tolist(), found.strata.tolist()
        ([0, 1, 2, 3, 4, 5, -1], [0, 2, 6], [0, 1, 1])
        """
        own = np.asarray(codes, dtype=np.int64)
        sizes = np.bincount(own[own >= 0], minlength=n_groups)
        host = int(np.argmax(sizes)) if n_groups else 0
        joined = np.where(sizes == 1, host, np.arange(n_groups))
        of_rater = np.full(len(own), -1, dtype=np.int64)
        of_rater[own >= 0] = joined[own[own >= 0]]
        held = np.unique(of_rater[of_rater >= 0])
        total = MOST_RATERS if np.count_nonzero(own >= 0) <= MOST_RATERS else int(FEWER * MOST_RATERS)
        most = max(LEAST_PER_GROUP, min(MOST_PER_GROUP, total // max(len(held), 1)))
        units, bounds = np.full(len(own), -1, dtype=np.int64), [0]
        for stratum in held:
            members = np.flatnonzero(of_rater == stratum)
            within = blocks(len(members), most)
            units[members] = bounds[-1] + within
            bounds.append(bounds[-1] + int(within.max()) + 1)
        strata = np.where(sizes > 0, np.searchsorted(held, joined), -1)
        return cls(units, np.array(bounds, dtype=np.int64), strata, sizes == 1)

    def by_stratum(self, values: Values) -> tuple[Values, ...]:
        """Return the values without each unit, units × groups × statistics, for each stratum.

        A group of a single rater has no values: what it would be with another rater is unknown.
        """
        for g in np.flatnonzero(self.alone):
            first, last = self.bounds[self.strata[g] : self.strata[g] + 2]
            values[first:last, g] = np.nan
        return tuple(np.split(values, self.bounds[1:-1])) if len(values) else ()


# Values without a unit -----------------------------------------------------------------------------------------------


class LeftOut(NamedTuple):
    """Values without each unit of items, of raters, and of single ratings.

    Attributes
    ----------
    observed
        Groups × statistics: the values with nothing left out.
    each
        For each stratum, units × groups × statistics: the values without a unit; NaN where they are undefined. Items
        are one stratum, the raters of each group another.
    ratings
        Units × groups × statistics: the values without blocks of single ratings, if items and raters are left out.
    """

    observed: Values
    each: tuple[Values, ...]
    ratings: Values | None = None

    @property
    def n_units(self) -> int:
        """How many units were left out; an interval counts the undefined ones."""
        return sum(map(len, self.each)) + (0 if self.ratings is None else len(self.ratings))

    def made(self, change: Callable[[Values], Values]) -> LeftOut:
        """Return what a function of values makes of all of them; it keeps the first dimension, that of units."""
        return LeftOut(
            change(self.observed[np.newaxis])[0], tuple(change(values) for values in self.each),
            None if self.ratings is None else change(self.ratings),
        )  # fmt: skip

    def on(
        self, there: Callable[[Values], Values], low: float, high: float, groups: NDArray[np.bool_], at: int
    ) -> LeftOut:
        """Return one statistic of some groups on another scale, undefined outside a range."""

        def moved(values: Values) -> Values:
            own = values[..., groups, at]
            inside = np.isfinite(own) & (own > low) & (own < high)
            found = np.full(own.shape, np.nan)
            found[inside] = there(own[inside])
            return found

        return self.made(moved)

    def interval(self, scales: Sequence[str], ranges: ArrayLike, level: float = 0.95) -> Interval:
        """Return intervals that generalise over what was left out, one for each value, groups × statistics.

        Let θ_(u) be the value without unit u of the U units of stratum h, on the scale g on which the interval is
        symmetric. Its variance is V_h = (U − 1)/U · Σ_u (θ_(u) − mean)². That of items and those of all strata of
        raters add up. Both include the noise of single ratings; the variance from leaving out blocks of ratings
        estimates it and is subtracted once: V = V_items + max(0, V_raters − V_ratings). The interval is
        g⁻¹(g(θ) ± t·√V).

        The degrees of freedom of t are V²/Σ(V_h²/df_h) (Satterthwaite), df_h = 2·(Σ_u d_u²)²/(Σ_u d_u⁴ − (Σ_u d_u²)²/U)
        with d_u = θ_(u) − mean, but at most U − 1: fewer if a few units dominate.

        Parameters
        ----------
        scales
            One of :data:`SCALES` for each statistic. A value not defined on it has an interval on the plain scale.
        ranges
            Statistics × 2: the lowest and the highest possible value, beyond which no interval reaches.
        level
            Between 0 and 1.

        References
        ----------
        Efron & Stein (1981), The jackknife estimate of variance; Satterthwaite (1946), An approximate distribution of
        estimates of variance components.

        Examples
        --------
        The mean of 1, 2 and 6 is 3, and its standard error √(7/3); t with 2 degrees of freedom is 4.303.

        >>> left = LeftOut(np.array([[3.0]]), (np.array([4.0, 3.5, 1.5]).reshape(3, 1, 1),))
        >>> low, high, n_undefined = left.interval(["plain"], [(-np.inf, np.inf)])
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([[-3.572]], [[9.572]])
        """
        if not 0 < level < 1:
            raise InputError(f"level is {level!r}", hint="Give a number between 0 and 1, for example 0.95.")
        from scipy.special import stdtrit

        low, high = np.full(self.observed.shape, np.nan), np.full(self.observed.shape, np.nan)
        n_undefined = np.zeros(self.observed.shape, dtype=np.int64)
        lowest, highest = np.asarray(ranges, dtype=float).T
        for at, name in enumerate(scales):
            value = self.observed[:, at]
            for scale in (_SCALES["plain"], _SCALES[name]):  # a value not defined on the second keeps the first
                inside = np.isfinite(value) & (value > scale.low) & (value < scale.high)
                if scale.narrow:
                    inside &= (low[:, at] > scale.low) & (high[:, at] < scale.high)
                own = self.on(scale.there, scale.low, scale.high, inside, at)
                variance, freedom, n_undefined[inside, at] = _variance(own)
                reach = stdtrit(freedom, (1 + level) / 2) * np.sqrt(variance)
                ends = scale.back(own.observed - reach), scale.back(own.observed + reach)
                low[inside, at], high[inside, at] = (np.clip(end, lowest[at], highest[at]) for end in ends)
        return Interval(low, high, n_undefined)

    def p_value(self) -> Values:
        """Return the two-sided p of each value being 0, by the t of :meth:`interval` on its plain scale.

        Values that no unit changes are certain: p is 0, or 1 if the value is 0.

        Examples
        --------
        The mean of 1, 2 and 6 is 3/√(7/3) = 1.964 standard errors from 0.

        >>> left = LeftOut(np.array([[3.0]]), (np.array([4.0, 3.5, 1.5]).reshape(3, 1, 1),))
        >>> left.p_value().round(4).tolist()
        [[0.1885]]
        """
        from scipy.special import stdtr

        variance, freedom, _ = _variance(self)
        size = np.abs(self.observed)
        certain = variance <= _NONE**2
        p = 2 * stdtr(freedom, -size / np.sqrt(np.where(certain, 1.0, variance)))
        return np.where(certain, np.where(size > _NONE, 0.0, 1.0), p) + 0.0 * self.observed


def _without(whole: Sums, finish: Finish, sums: Sums) -> Values:
    """Return the values of all items except those whose sums these are."""
    return finish(Sums({name: whole[name] - array for name, array in sums.items()}))


def without_items(
    parts: Sequence[Part], contribution: Contribution, whole: Sums, finish: Finish, how: Running | None = None
) -> Values:
    """Return the values without each unit of items, units × … ; ``whole`` are the sums of all items."""
    n_items = sum(part.n_items for part in parts)
    draws = Draws.of_units(blocks(n_items, MOST_ITEMS), "items")
    made = run(parts, contribution, draws, partial(_without, whole, finish), how)
    return np.concatenate([finish(whole)[:0], *made])


def without_raters(
    parts: Sequence[Part], contribution: Contribution, units: RaterUnits, finish: Finish, how: Running | None = None
) -> tuple[Values, ...]:
    """Return the values without each unit of raters, for each stratum units × groups × statistics."""
    made = run(parts, contribution, Draws.of_units(units.units, "raters"), finish, how)
    return units.by_stratum(np.concatenate(made)) if made else ()


def in_block(items: ArrayLike, raters: ArrayLike, n_blocks: int) -> Ints:
    """Return the block of each rating, by its item and rater.

    A block is spread over items and raters, so that it hardly ever contains two ratings of one item or by one rater.
    """
    item, rater = np.asarray(items).astype(np.uint64), np.asarray(raters).astype(np.uint64)
    mixed = (item * _MIX[0] + rater * _MIX[1]) >> np.uint64(33)
    return np.asarray(mixed % np.uint64(n_blocks), dtype=np.int64)


class OfRatings(Contribution, Protocol):
    """A contribution that may hold ratings itself, and can leave some of them out."""

    def without(self, keep: Callable[[Part], NDArray[np.bool_]]) -> Contribution:
        """Return the same without the ratings that a rule drops from a part."""


def rating_blocks(part: Part, n_blocks: int) -> NDArray[np.int16]:
    """Return the block of each rating of a part, -1 without a rater."""
    found = np.empty(len(part.raters), dtype=np.int16)
    step = max(1, part.n_items * _AT_ONCE // max(len(found), 1))
    for first in range(0, part.n_items, step):  # some items at a time, since each step makes arrays of their ratings
        offsets = part.offsets[first : first + step + 1]
        items = np.repeat(np.arange(first, first + len(offsets) - 1) + part.first, np.diff(offsets))
        own = slice(offsets[0], offsets[-1])
        found[own] = in_block(items, part.raters[own], n_blocks)
    found[part.raters < 0] = -1
    return found


def number_of_blocks(parts: Sequence[Part]) -> int:
    """Return how many blocks of ratings are left out in turn."""
    return most_blocks(sum(len(part.raters) for part in parts))


def most_blocks(n_ratings: int) -> int:
    """Return into how many blocks a number of ratings is cut."""
    return min(MOST_BLOCKS if n_ratings <= LARGE else int(FEWER * MOST_BLOCKS), n_ratings)


def not_in_block(block: int, n_blocks: int, part: Part) -> NDArray[np.bool_]:
    """Return which ratings of a part are not in a block of ratings."""
    return np.asarray(rating_blocks(part, n_blocks) != block)


def kept(part: Part, keep: NDArray[np.bool_]) -> Part:
    """Return a part without some of its ratings; its items stay."""
    before = np.concatenate([[0], np.cumsum(keep)])
    return Part(part.first, before[part.offsets], part.raters[keep], part.scores[keep], part.multiplicity)


@dataclass(frozen=True, slots=True, eq=False)
class _Blocks:
    """The contribution of all ratings except those of a block, for each block."""

    contribution: OfRatings
    n_blocks: int

    @property
    def cost(self) -> float:
        """Roughly how many seconds a draw takes."""
        return 2 * self.contribution.cost

    @property
    def width(self) -> int:
        """How many numbers a draw holds at once."""
        return self.contribution.width

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums of a part without each block of ratings."""
        made = []
        for number in range(draws.first, draws.last):
            keep = partial(not_in_block, number, self.n_blocks)
            made.append(self.contribution.without(keep)(kept(part, keep(part)), Draws.observed()))
        return Sums({name: np.concatenate([sums[name] for sums in made]) for name in made[0]})


def without_ratings(
    parts: Sequence[Part], contribution: OfRatings, finish: Finish, how: Running | None = None
) -> Values | None:
    """Return the values without each of up to :data:`MOST_BLOCKS` blocks of ratings, blocks × groups × statistics.

    None if there are no ratings.
    """
    n = number_of_blocks(parts)
    made = run(parts, _Blocks(contribution, n), Draws.of_units(np.arange(n), "items"), finish, how)
    return np.concatenate(made) if made else None


def left_out(
    parts: Sequence[Part], work: OfRatings, whole: Sums, finish: Finish, codes: ArrayLike, n_groups: int,
    resample: str, how: Running, by_item: Contribution | None = None,
) -> LeftOut:  # fmt: skip
    """Return the values without each item, each rater of a group, or both; nothing is drawn.

    ``codes`` are the groups of raters who rated anything, -1 for all others; ``by_item`` contributes the same as
    ``work``, but faster where only items are left out.
    """
    each: list[Values] = []
    if resample in ("items", "both"):
        each.append(without_items(parts, by_item or work, whole, finish, how))
    if resample in ("raters", "both"):
        each.extend(without_raters(parts, work, RaterUnits.of(codes, n_groups), finish, how))
    ratings = without_ratings(parts, work, finish, how) if resample == "both" else None
    return LeftOut(finish(whole)[0], tuple(each), ratings)


# Intervals -----------------------------------------------------------------------------------------------------------


class _Scale(NamedTuple):
    """A scale on which an interval is symmetric: the mapping, its inverse, and the values it is defined for.

    ``narrow`` scales are for intervals that, symmetric around the value itself, fit between the two ends; near an end,
    they would reach far beyond what is known.
    """

    there: Callable[[Values], Values]
    back: Callable[[Values], Values]
    low: float
    high: float
    narrow: bool = False


def _from_inverse(y: Values) -> Values:
    """Return −1/y, or infinity if an inverse may be 0 or less: then there is no upper end."""
    return np.where(y < 0, -1 / np.where(y < 0, y, -1.0), np.where(np.isnan(y), np.nan, np.inf))


_SCALES = {
    "plain": _Scale(lambda x: x, lambda y: y, -np.inf, np.inf),
    "fisher": _Scale(np.arctanh, np.tanh, -1.0, 1.0),
    "inverse": _Scale(lambda x: -1 / x, _from_inverse, 0.0, np.inf),
    "logit": _Scale(lambda x: np.log(x / (1 - x)), lambda y: 1 / (1 + np.exp(-np.clip(y, -700, 700))), 0.0, 1.0, True),
    "complement": _Scale(lambda x: 1 / (1 - x), lambda y: 1 - _from_inverse(-y), -np.inf, 1.0),
}


def _variance(left: LeftOut) -> _Spread:
    """Return the variance over all strata, NaN if a stratum has none or nothing was left out."""
    each = [_spread(values) for values in left.each or (np.zeros((0, *left.observed.shape)),)]
    if left.ratings is None or len(each) < 2:
        return _added(each)
    shared = _spread(left.ratings)
    return _added([*each, shared._replace(variance=-np.nan_to_num(shared.variance))], least=each[0].variance)


class _Spread(NamedTuple):
    """A variance, its degrees of freedom, and how many units leave a value undefined."""

    variance: Values
    freedom: Values
    n_undefined: Ints


def _added(each: Sequence[_Spread], least: Values | float = 0.0) -> _Spread:
    """Return the sum of variances, at least ``least``, with Satterthwaite's degrees of freedom."""
    total = np.maximum(np.sum([one.variance for one in each], axis=0), least)
    squares = np.sum([np.nan_to_num(one.variance) ** 2 / one.freedom for one in each], axis=0)
    most = np.sum([one.freedom for one in each], axis=0)
    freedom = np.where(squares > 0, np.nan_to_num(total) ** 2 / np.where(squares > 0, squares, 1.0), most)
    return _Spread(total, np.maximum(freedom, 1.0), np.sum([one.n_undefined for one in each], axis=0))


def _spread(values: Values) -> _Spread:
    """Return the jackknife variance of one stratum, NaN if fewer than two units leave a value defined."""
    defined = np.isfinite(values)
    n = np.count_nonzero(defined, axis=0)
    mean = np.where(defined, values, 0.0).sum(axis=0) / np.maximum(n, 1)
    squares = np.where(defined, values - mean, 0.0) ** 2
    total = squares.sum(axis=0)
    variance = np.where(n > 1, (len(values) - 1) * total / np.maximum(n, 1), np.nan)
    uneven = (squares**2).sum(axis=0) - total**2 / np.maximum(n, 1)
    freedom = np.where(uneven > 0, 2 * total**2 / np.where(uneven > 0, uneven, 1.0), np.inf)
    return _Spread(variance, np.clip(freedom, 1.0, np.maximum(n - 1.0, 1.0)), len(values) - n)
