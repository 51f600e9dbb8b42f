"""What a part of the items adds to how far labels lie from what groups say, under any draws.

Labels are made from all ratings, no matter who gave them, so shuffling raters between groups leaves them unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings
from plurivox.engine.counting import weighted_counts_of
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import Sums, Values, run, total
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.jackknife import LeftOut, left_out
from plurivox.lenses.aggregate.fits import MethodLabels

STATISTICS = ("departure", "overruled", "label_shift")
"""The statistics of a group and a method, in the order of values."""
KINDS = {"plurality": 1, "mean": 2, "posterior": 3}
"""How methods that do not need to know who gave a rating make labels, as named in :mod:`plurivox.kernels.aggregate`."""
_NONE = 1e-9  # rounding error of whole numbers that were added and subtracted again


@dataclass(frozen=True, slots=True, eq=False)
class Departing:
    """The contribution of a part to the sums of one grouping of the raters.

    Attributes
    ----------
    grouping
        The groups, and who is shuffled with whom.
    values
        The numbers of the scale.
    chosen, numbers, own
        Items × methods: the label's position, the item's score, and by how much one rating moves it.
    cost
        Roughly how many seconds a draw takes.
    mass, kinds, prior
        Where raters have weights: the weight of all ratings of each item, how each method makes labels, and the
        posterior's prior.
    """

    grouping: Grouping
    values: NDArray[np.float64]
    chosen: NDArray[np.int64]
    numbers: NDArray[np.float64]
    own: NDArray[np.float64]
    cost: float
    mass: NDArray[np.float64]
    kinds: NDArray[np.int64]
    prior: NDArray[np.float64]

    @property
    def width(self) -> int:
        """How many numbers a draw holds."""
        return len(self.grouping.codes) + self.grouping.n_groups * self._n_sums

    @property
    def _n_sums(self) -> int:
        return 2 + 3 * int(self.chosen.shape[1])

    def __call__(self, part: Part, draws: Draws) -> Sums:
        """Return the sums over the items of a part, for each draw."""
        from plurivox.kernels.aggregate import add_departures, weighted_departures

        sums = np.zeros((draws.total, self.grouping.n_groups, self._n_sums))
        units = np.zeros(0, np.int64)
        if draws.resample == "items" and draws.units is not None:
            units = draws.units[part.items] - draws.first
        if len(self.grouping.weights):
            labels, weights = self._labels(draws), self.grouping.rater_weights(draws)
            weighted_departures(
                part.offsets, part.raters, part.scores, self.values, labels, weights, units,
                *(array[part.items] for array in (self.chosen, self.numbers, self.mass)), self.kinds, self.prior,
                draws.kind == "permuted" and draws.first > 0, sums,
            )  # fmt: skip
            return Sums(groups=sums)
        given = (part.offsets, part.raters, part.scores, self.values, self._labels(draws), units)
        add_departures(*given, *(array[part.items] for array in (self.chosen, self.numbers, self.own)), sums)
        return Sums(groups=sums)

    def _labels(self, draws: Draws) -> NDArray[np.int32]:
        """Return the group of each rater under each draw; raters left out are in none."""
        if draws.kind == "permuted":
            return self.grouping.labels(draws)
        if len(self.grouping.weights):  # raters left out have weight 0
            return np.tile(self.grouping.codes, (draws.total, 1))
        keep = draws.rater_weights(self.grouping.codes)
        codes = np.tile(self.grouping.codes, (draws.total, 1))
        found = np.where(keep > 0, codes, np.int32(-1)) if keep.shape[1] else codes
        found.flags.writeable = False  # kernels are compiled for one kind of array
        return found

    def without(self, keep: Callable[[Part], NDArray[np.bool_]]) -> Departing:
        """Return the same: it holds no ratings itself."""
        return self


def finish(sums: Sums) -> Values:
    """Return the values of all groups, draws × groups × (methods × statistics)."""
    groups = sums["groups"]
    rated, twice = groups[..., 0], groups[..., 1]
    each = groups[..., 2:].reshape(*groups.shape[:-1], -1, 3)
    n = np.stack([twice, rated, rated], axis=-1)[..., np.newaxis, :]
    means = np.divide(each, n, out=np.full(each.shape, np.nan), where=np.broadcast_to(n > _NONE, each.shape))
    means[..., 0] = np.sign(means[..., 0]) * np.sqrt(np.abs(means[..., 0]))
    return np.asarray(means.reshape(*groups.shape[:-1], -1))


@dataclass(frozen=True, eq=False)
class LabelDepartures:
    """Groups compared with the labels of all methods: values, observed and under draws."""

    ratings: Ratings
    grouping: Grouping
    labels: Sequence[MethodLabels]
    prior: NDArray[np.float64]

    @cached_property
    def work(self) -> Departing:
        """What a part of the items adds."""
        values = np.array(self.ratings.scale.values, dtype=float)
        chosen = np.stack([one.chosen for one in self.labels], axis=1)
        numbers = np.stack([one.numbers for one in self.labels], axis=1)
        own = np.stack([one.own for one in self.labels], axis=1)
        cost = self.ratings.n_entries * 4e-9 + self.ratings.n_items * self.grouping.n_groups * 2e-8
        kinds = np.array([KINDS.get(one.method, 0) for one in self.labels])
        mass = np.zeros(0)
        if len(self.grouping.weights):
            mass = weighted_counts_of(self.ratings)[:, 0].sum(axis=1)
        return Departing(self.grouping, values, chosen, numbers, own, cost, mass, kinds, self.prior)

    @cached_property
    def observed(self) -> Sums:
        """The sums of the raters as they are."""
        return total(self.ratings.parts(), self.work)

    @cached_property
    def value(self) -> Values:
        """Groups × (methods × statistics)."""
        return np.asarray(finish(self.observed)[0])

    @cached_property
    def _made(self) -> dict[tuple[int, int], Values]:
        return {}

    def null(self, shuffles: Draws, how: Running) -> Values:
        """Return the values of shuffled raters; those of the last shuffles are kept, since every method needs them."""
        key = shuffles.first, shuffles.last
        if key not in self._made:
            made = run(self.ratings.parts(), self.work, shuffles, finish, how)
            self._made.clear()
            self._made[key] = np.concatenate([np.zeros((0, *self.value.shape)), *made])
        return self._made[key]

    def left_out(self, resample: str, how: Running) -> LeftOut:
        """Return the values without each item, each rater of a group, or both; labels stay as they are."""
        rated = np.where(raters_who_rated(self.ratings), self.grouping.codes, -1)
        given = (self.work, self.observed, finish, rated, self.grouping.n_groups)
        return left_out(self.ratings.parts(), *given, resample, how)

    def of(self, at: int) -> OfMethod:
        """Return the values of one method."""
        return OfMethod(self, at)


@dataclass(frozen=True, slots=True, eq=False)
class OfMethod:
    """The values of one method among those of all."""

    measured: LabelDepartures
    at: int

    @property
    def columns(self) -> slice:
        """Their columns."""
        return slice(self.at * len(STATISTICS), (self.at + 1) * len(STATISTICS))

    @property
    def value(self) -> Values:
        """The values of the raters as they are, groups × statistics."""
        return self.measured.value[:, self.columns]

    def null(self, shuffles: Draws, how: Running) -> Values:
        """Return the values of shuffled raters."""
        return self.measured.null(shuffles, how)[..., self.columns]

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return nothing: there are no draws, see :class:`~plurivox.lenses.aggregate.settings.AggregateSettings`."""
        return np.zeros((0, self.measured.grouping.n_groups, len(STATISTICS)))

    def left_out(self, resample: str, how: Running) -> LeftOut:
        """Return the values without each item, each rater of a group, or both."""
        left = self.measured.left_out(resample, how)
        return of_columns(left, self.columns)


def of_columns(left: LeftOut, columns: slice) -> LeftOut:
    """Return left-out values for some of the statistics."""
    return left.made(lambda values: values[..., columns])
