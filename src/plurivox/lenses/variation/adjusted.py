"""All attributes at once: what a group adds to scores of the same items after accounting for the other attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError, few
from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values, run, total
from plurivox.infer.claims import tells_unweighted
from plurivox.infer.grouping import raters_who_rated
from plurivox.infer.intervals import Interval, percentile_interval
from plurivox.infer.jackknife import RaterUnits, kept, number_of_blocks, rating_blocks
from plurivox.lenses.variation.sums import without_each

EFFECTS = ("effect", "unadjusted", "deviation", "deviation_unadjusted")
"""The effects of each group: relative to the reference group, adjusted for the others or not; and to all raters."""
_RANK = 1e-9  # of a singular value relative to the largest, below which groups cannot be told apart
_MANY = 200  # groups above which eigenvalues are slow
_APART = "within items it cannot be told apart from {other}: one follows from the other"
_NO_OVERLAP = "its raters share no items with raters of other groups, or only with groups for which the same holds"
SCHEMA = {
    "subset": pl.String, "attribute": pl.String, "group": pl.String, "reference": pl.String, "effect": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "unadjusted": pl.Float64, "unadjusted_low": pl.Float64,
    "unadjusted_high": pl.Float64, "deviation_unadjusted": pl.Float64,
    "deviation": pl.Float64, "deviation_low": pl.Float64, "deviation_high": pl.Float64,
    "n_raters": pl.Int64, "note": pl.String,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Crossed:
    """What a part of the items adds to the cross products of all groups, and of groups and scores, within items.

    Attributes
    ----------
    profiles
        Raters × attributes: the position of each rater's group among those of all attributes, -1 without a value.
    values
        The numbers of the scale.
    n_groups, n_items
        How many groups all attributes have, and how many items all parts have.
    cost
        Roughly how many seconds a draw takes.
    whole, n_blocks
        What each part adds as a whole, by its first item, and how many blocks of ratings there are: for what remains
        without units.
    weights
        The weight of each rater; empty if all count equally.
    """

    profiles: NDArray[np.int32]
    values: NDArray[np.float64]
    n_groups: int
    n_items: int
    cost: float
    whole: Mapping[int, Sums]
    n_blocks: int
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return self.n_groups * (self.n_groups + 1) + len(self.profiles) + len(self.weights)

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        from plurivox.kernels import regression as k

        given = (part.offsets, part.raters, part.scores, self.values, self.profiles)
        if draws.kind == "units" and draws.resample == "ratings" and len(self.weights):
            block, left = rating_blocks(part, self.n_blocks), range(draws.first, draws.last)
            made = [self(kept(part, block != number), Draws.observed()) for number in left]
            return Sums({name: np.concatenate([sums[name] for sums in made]) for name in made[0]})
        if draws.kind == "units" and draws.resample != "items" and not len(self.weights):
            units = (
                rating_blocks(part, self.n_blocks) if draws.units is None else draws.units.astype(np.int16)[part.raters]
            )
            sums = Sums({name: np.repeat(own, draws.total, axis=0) for name, own in self.whole[part.first].items()})
            k.add_crosses_without(*given, units, draws.first, *sums.values())
            return sums
        sums = Sums(
            products=np.zeros((draws.total, self.n_groups, self.n_groups)),
            scores=np.zeros((draws.total, self.n_groups)),
        )
        strata = self.profiles[:, 0]
        if draws.kind == "resampled":  # raters are drawn within the crossing of all attributes
            place = np.unique(self.profiles, axis=0, return_inverse=True)[1]
            strata = np.where(strata < 0, -1, place.ravel())
        raters: NDArray[Any] = draws.rater_weights(strata)
        if len(self.weights):
            raters = self.weights * raters if raters.shape[1] else np.tile(self.weights, (draws.total, 1))
        k.add_crosses(*given, raters, draws.item_weights(self.n_items, part.items), *sums.values())
        return sums


@dataclass(frozen=True, slots=True, eq=False)
class Solve:
    """From cross products to effects, draws × groups × :data:`EFFECTS`; NaN where groups cannot be told apart.

    Attributes
    ----------
    bounds
        The groups of attribute a are ``bounds[a]`` to ``bounds[a + 1]``.
    references
        The reference group of each attribute, by its position among all groups.
    sizes
        How many raters each group has, or their weight.
    """

    bounds: tuple[int, ...]
    references: tuple[int, ...]
    sizes: Values

    def __call__(self, sums: Sums) -> Values:
        """Solve for the effects of all draws."""
        products, scores = sums["products"], sums["scores"]
        found = np.full((*scores.shape, len(EFFECTS)), np.nan)
        everything = self._free(range(len(self.references)))
        found[..., 0] = _effects(products, scores, everything, self.references)
        for a, reference in enumerate(self.references):
            own = slice(self.bounds[a], self.bounds[a + 1])
            alone = _effects(products, scores, self._free([a]), (reference,))
            found[:, own, 1] = alone[:, own]
            share = self.sizes[own] / max(self.sizes[own].sum(), 1.0)
            for at, made in ((2, found[:, own, 0]), (3, found[:, own, 1])):
                used = np.where(share > 0, made, 0.0)  # an empty group has no effect and no part in the mean
                found[:, own, at] = made - np.sum(used * share, axis=1, keepdims=True)
        return found

    def _free(self, attributes: Sequence[int] | range) -> NDArray[np.int64]:
        """Return the groups of some attributes that are not references and have raters."""
        places = [place for a in attributes for place in range(self.bounds[a], self.bounds[a + 1])]
        free = [place for place in places if place not in self.references and self.sizes[place] > 0]
        return np.array(free, dtype=np.int64)


def _effects(products: Values, scores: Values, free: NDArray[np.int64], references: Sequence[int]) -> Values:
    """Return the effects of some groups, 0 for references; NaN for those that the design leaves undetermined."""
    found = np.full(scores.shape, np.nan)
    found[:, list(references)] = 0.0
    if not len(free):
        return found
    for one, own, scored in zip(found, products[:, free[:, np.newaxis], free], scores[:, free], strict=True):
        if len(free) >= _MANY and (certain := _well_posed(own, scored)) is not None:
            one[free] = certain
            continue
        values, vectors = np.linalg.eigh(own)  # draw by draw, so that no bit depends on the number of draws
        known = values > _RANK * max(values[-1], 1e-300)
        solved = vectors[:, known] @ ((vectors[:, known].T @ scored) / values[known])
        unknown = (vectors[:, ~known] ** 2).sum(axis=1) > 1e-6  # takes part in what is undetermined
        one[free] = np.where(unknown, np.nan, solved)
    return found


def _well_posed(products: Values, scores: Values) -> Values | None:
    """Return the effects of groups that can be told apart by a wide margin; None where that needs a closer look.

    A Cholesky decomposition and the estimate of its condition take a twentieth of the time of all eigenvalues.
    """
    from scipy.linalg import lapack

    factor, failed = lapack.dpotrf(products)
    if failed:
        return None
    share, _ = lapack.dpocon(factor, np.abs(products).sum(axis=0).max())
    if share < 100 * _RANK:  # for a symmetric matrix: the smallest eigenvalue over the largest, up to its error
        return None
    solved: Values = lapack.dpotrs(factor, scores)[0]
    return solved


@dataclass(frozen=True, eq=False)
class Adjusted:
    """Effects of all attributes at once on one set of items.

    Attributes
    ----------
    axes
        One for each attribute; groups that are withheld are merged into one, whose effect is not shown. Each on its own
        would change the effects that are shown, from which its sums could be worked out.
    references
        The group of each attribute that others are compared with.
    """

    ratings: Ratings
    axes: tuple[Axis, ...]
    references: tuple[str, ...]

    @classmethod
    def of(cls, ratings: Ratings, axes: Sequence[Axis], wanted: Mapping[str, str]) -> Adjusted:
        """Find the reference of each attribute: the one requested, or the largest shown among those in the fit.

        An attribute for which nobody has a value is left out, since otherwise everybody would be.
        """
        for attribute in wanted:
            if attribute not in [axis.name for axis in axes]:
                raise SelectionError(
                    f"reference names '{attribute}', which is not one of the attributes compared",
                    hint=f"They are: {few([axis.name for axis in axes]) or 'none'}.",
                )
        fitted = [axis.withheld_as_one for axis in axes if len(axis) or axis.name in wanted]
        known = _complete(ratings, fitted)
        chosen = tuple(_reference(axis, wanted.get(axis.name), known) for axis in fitted)
        return cls(ratings, tuple(fitted), chosen)

    @cached_property
    def bounds(self) -> tuple[int, ...]:
        """Where the groups of each attribute start among all, and where the last ends."""
        return tuple(np.cumsum([0, *map(len, self.axes)]).tolist())

    @cached_property
    def profiles(self) -> NDArray[np.int32]:
        """Raters × attributes, all -1 for raters who lack a value or rated nothing."""
        each = np.stack([axis.codes + start for axis, start in zip(self.axes, self.bounds, strict=False)], axis=1)
        known = _complete(self.ratings, self.axes)
        return np.where(known[:, np.newaxis], each, -1).astype(np.int32)

    @cached_property
    def sizes(self) -> Values:
        """How many raters each group has, among those who have a value for every attribute."""
        return self._counted(None)

    def _counted(self, weights: Values | None) -> Values:
        known = self.profiles[:, 0] >= 0
        each = None if weights is None else np.repeat(weights[known], self.profiles.shape[1])
        return np.bincount(self.profiles[known].ravel(), each, self.bounds[-1]).astype(float)

    @property
    def solve(self) -> Solve:
        """What turns sums into effects."""
        places = tuple(
            start + axis.groups.index(name)
            for axis, start, name in zip(self.axes, self.bounds, self.references, strict=False)
        )
        return Solve(self.bounds, places, self._counted(self.ratings.weights))

    def work(self) -> Crossed:
        """Return what a part adds."""
        numbers = np.array(self.ratings.scale.values, dtype=float)
        values = numbers - (numbers.min() + numbers.max()) / 2
        cost = len(self.ratings.scores) * 1e-8 * len(self.axes)
        parts = self.ratings.parts()
        weights = np.zeros(0) if self.ratings.weights is None else self.ratings.weights
        plain = Crossed(self.profiles, values, self.bounds[-1], self.ratings.n_items, cost, {}, 0, weights)
        whole = {part.first: plain(part, Draws.observed()) for part in parts}
        return replace(plain, whole=whole, n_blocks=number_of_blocks(parts))

    def table(self, asked: Any, subset: str, how: Running) -> pl.DataFrame:
        """Return one row per attribute and group that is shown."""
        parts, work, solve = self.ratings.parts(), self.work(), self.solve
        whole = total(parts, work)
        values = solve(whole)[0]
        interval = self._interval(asked, parts, work, whole, how)
        notes = self._notes(whole, values)
        rows = []
        for axis, start, reference in zip(self.axes, self.bounds, self.references, strict=False):
            for g in np.flatnonzero(~axis.withheld).tolist():
                at = start + g
                ends: list[tuple[float | None, float | None]] = [(None, None)] * 3
                if interval is not None:
                    ends = [(float(interval.low[at, s]), float(interval.high[at, s])) for s in range(3)]
                if axis.groups[g] == reference:
                    ends[0] = ends[1] = (None, None)
                rows.append((
                    subset, axis.name, axis.groups[g], reference, values[at, 0], *ends[0], values[at, 1], *ends[1],
                    values[at, 3], values[at, 2], *ends[2], int(self.sizes[at]), notes[at],
                ))  # fmt: skip
        found = pl.DataFrame(rows, schema=SCHEMA, orient="row")
        if not tells_unweighted(self.ratings, asked.min_group_size):
            return found
        alike = replace(self, ratings=self.ratings.unweighted()).table(asked.replace(interval="none"), subset, how)
        return found.with_columns(alike["effect"].alias("unweighted"))

    def _interval(self, asked: Any, parts: Sequence[Part], work: Crossed, whole: Sums, how: Running) -> Interval | None:
        solve = self.solve
        if asked.interval == "none":
            return None
        if asked.interval == "bootstrap":
            made = run(parts, work, Draws.resampled(asked.bootstrap, asked.seed, asked.resample), solve, how)
            return Interval(*percentile_interval(np.concatenate(made)))
        work = replace(work, cost=work.cost / 20)  # a batch reads all ratings once, few of them of each unit
        largest = max(range(len(self.axes)), key=lambda a: len(self.axes[a])) if self.axes else 0
        codes = np.where(self.profiles[:, 0] < 0, -1, self.axes[largest].codes)
        units = RaterUnits.of(codes, len(self.axes[largest]))
        units = units._replace(alone=np.zeros(len(units.alone), bool))  # one rater leaves no other group undefined
        left = without_each(parts, work, whole, solve, units, asked.resample, how)
        return left.interval(["plain"] * len(EFFECTS), [(-np.inf, np.inf)] * len(EFFECTS))

    def _notes(self, whole: Sums, values: Values) -> list[str]:
        """Say for each group why its effect cannot be determined."""
        notes = [""] * self.bounds[-1]
        alone = [np.isnan(values[start:stop, 1]) for start, stop in zip(self.bounds, self.bounds[1:], strict=False)]
        for a, b in combinations(range(len(self.axes)), 2):
            free = self.solve._free([a, b])
            both = _effects(whole["products"], whole["scores"], free, ())[0]
            for one, other in ((a, b), (b, a)):
                start, stop = self.bounds[one : one + 2]
                for g in range(start, stop):
                    lost = g in free and np.isnan(both[g]) and not alone[one][g - start]
                    if lost and not notes[g]:
                        notes[g] = _APART.format(other=self.axes[other].name)
        for at in range(self.bounds[-1]):
            if np.isnan(values[at, 0]) and not notes[at]:
                several = not np.isnan(values[at, 1])
                notes[at] = _APART.format(other="the other attributes together") if several else _NO_OVERLAP
        return notes


def _complete(ratings: Ratings, axes: Sequence[Axis]) -> NDArray[np.bool_]:
    """Return which raters have a value for every attribute and rated anything."""
    rated = raters_who_rated(ratings)
    return np.asarray(np.all([rated, *(axis.codes >= 0 for axis in axes)], axis=0))


def _reference(axis: Axis, wanted: str | None, known: NDArray[np.bool_]) -> str:
    """Return an attribute's reference group; sizes count raters who are in the fit."""
    shown = axis.shown
    if wanted is None:
        sizes = np.bincount(axis.codes[known & (axis.codes >= 0)], minlength=len(axis))
        at = {name: g for g, name in enumerate(axis.groups)}
        return max(shown or axis.groups, key=lambda name: (sizes[at[name]], int(axis.sizes[at[name]])))
    if wanted not in shown:
        raise SelectionError(
            f"{axis.name} has no group '{wanted}' to use as the reference, or it is withheld",
            hint=f"The groups shown are: {few(list(shown)) or 'none'}.",
        )
    return wanted
