"""Who is compared with whom: the axes of a call, strata, and the raters that a permutation shuffles.

A shuffle moves labels, never ratings. All raters stand in one order, stratum by stratum; draw d gives them one random
order within each stratum, made from the seed and d alone, whatever the axis. An axis then reads its labels
off that order, skipping raters whom it does not shuffle (-1 - r below), so that they keep their own::

    everyone   3   0  -6  | 4   1   2        stratum by stratum; rater 5 is not on this axis
    bounds     0            3          6
    draw d     0  -6   3  | 1   4   2        the same order for every axis of the call
    labels     the code of 3 goes to 0, that of 0 to 3;  4's to 1, 1's to 4; 2 keeps its own

Because all axes share their shuffles, their values can be compared shuffle by shuffle: the largest deviation over all
of them in each draw is what a family of tests is held against. Weights move with the labels, since they are a function
of the attributes that move; under a bootstrap or a jackknife raters stay who they are, and so do their weights.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import InputError, SelectionError, few
from plurivox.domain.attributes import category_order
from plurivox.domain.axis import (
    MIN_GROUP_SIZE,
    OUTSIDE,
    Axis,
    AxisRaters,
    By,
    in_turn,
    memberships,
    withheld_together,
    withholding,
)
from plurivox.domain.ratings import Ratings, with_items
from plurivox.domain.raw import chosen_rows
from plurivox.engine.draws import Draws, subsamples


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Raters sorted into groups, and who is shuffled with whom.

    Attributes
    ----------
    codes
        The group of each rater, -1 outside the axis.
    everyone, bounds
        All raters, stratum by stratum, -1 − r for those that a permutation does not shuffle, and where each stratum
        starts. A draw puts all of them into one random order, so that all axes of a call share their shuffles.
    weights
        The weight of each rater; empty if all count equally.
    """

    codes: NDArray[np.int32]
    n_groups: int
    everyone: NDArray[np.int64]
    bounds: NDArray[np.int64]
    weights: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(
        cls,
        ratings: Ratings,
        codes: NDArray[np.int32],
        n_groups: int,
        strata: NDArray[np.int32] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Grouping:
        """Find who is shuffled.

        Parameters
        ----------
        strata
            A stratum for each rater, within which raters are shuffled; by default all together.
        among
            Which raters to shuffle; by default those with a group. A rater without ratings is never shuffled.
        """
        rated = raters_who_rated(ratings)
        chosen = (codes >= 0) & rated if among is None else among & rated
        own = np.zeros(ratings.n_raters, np.int32) if strata is None else strata
        order = np.argsort(own, kind="stable")
        starts = np.flatnonzero(np.diff(own[order])) + 1
        bounds = np.concatenate(([0], starts, [len(order)])).astype(np.int64)
        everyone = np.where(chosen[order], order, -1 - order).astype(np.int64)
        return cls(codes, n_groups, everyone, bounds, np.zeros(0) if ratings.weights is None else ratings.weights)

    @classmethod
    def together(cls, ratings: Ratings) -> Grouping:
        """Put all raters into one group."""
        return cls.of(ratings, np.zeros(ratings.n_raters, np.int32), 1)

    @property
    def shuffled(self) -> NDArray[np.int64]:
        """The raters that a permutation shuffles or from whom subsamples are drawn, stratum by stratum."""
        return self.everyone[self.everyone >= 0]

    @property
    def exchangeable(self) -> NDArray[np.bool_]:
        """Which groups share a stratum with raters of others, so that a shuffle can change them at all."""
        strata, codes = np.zeros(len(self.codes), np.int32), np.full(len(self.codes), OUTSIDE, np.int32)
        of_each = np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))
        strata[np.where(self.everyone < 0, -1 - self.everyone, self.everyone)] = of_each
        codes[self.shuffled] = self.codes[self.shuffled]
        return exchangeable(codes, self.n_groups, strata)

    @property
    def kernel_codes(self) -> NDArray[Any]:
        """The codes as kernels expect them: raters outside are in one more group at the end."""
        return self._for_kernels(self.codes)

    def _for_kernels(self, codes: NDArray[np.int32]) -> NDArray[Any]:
        return np.where(codes < 0, self.n_groups, codes).astype(np.uint8 if self.n_groups < 255 else np.int32)

    def kernel_labels(self, draws: Draws) -> NDArray[Any]:
        """Return the labels in the form in which kernels expect codes."""
        return _kept(self, draws, "kernel", lambda: self._for_kernels(self.labels(draws)))

    def sixteens(self, draws: Draws) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the labels for kernels that process sixteen draws together: words, or places if groups are many.

        Words are sixteens × raters, places sixteens × raters × 16; the one that is not used is empty.
        """
        from plurivox.kernels.shuffling import FEW, TOGETHER, fill_places, fill_words

        shape = (-(-draws.total // TOGETHER), len(self.codes))

        def filled(fill: Callable[..., None], made: NDArray[Any]) -> NDArray[Any]:
            fill(self.labels(draws), self.n_groups, made)
            return made

        if self.n_groups <= FEW:
            words = _kept(self, draws, "words", lambda: filled(fill_words, np.zeros(shape, np.uint64)))
            return words, _nothing(3, np.uint16)
        kind = np.uint16 if (self.n_groups + 1) * TOGETHER < 1 << 16 else np.int32
        places = _kept(self, draws, "places", lambda: filled(fill_places, np.zeros((*shape, TOGETHER), kind)))
        return _nothing(2, np.uint64), places

    def sixteens_if_many(self, draws: Draws) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the same if there are many raters; if few, whose rows of counts are made quickly, both are empty."""
        from plurivox.kernels.shuffling import TOGETHER
        from plurivox.kernels.variation import LARGEST_TABLE

        if len(self.codes) * self.n_groups * TOGETHER > LARGEST_TABLE:
            return self.sixteens(draws)
        return _nothing(2, np.uint64), _nothing(3, np.uint16)

    def labels(self, draws: Draws) -> NDArray[np.int32]:
        """Return the group of each rater in each draw, draws × raters: shuffled, or outside unless drawn."""
        make = self._subsampled if draws.kind == "subsampled" else lambda draws: self._shuffled(self.codes, draws)
        return _kept(self, draws, "labels", lambda: make(draws))

    def _shuffled(self, own: NDArray[Any], draws: Draws) -> NDArray[Any]:
        """Return what each rater has in each draw, if it is shuffled, draws × raters."""
        from plurivox.kernels.shuffling import permute

        made = np.tile(own, (draws.total, 1))
        for row, number in zip(made, range(draws.first, draws.last), strict=True):
            permute(own, self.everyone, self.bounds, np.uint64(draws.seed), number, row)
        return made

    def rater_weights(self, draws: Draws) -> NDArray[Any]:
        """Return the weight of each rater in each draw, draws × raters; draws × 0 if each counts once.

        A shuffle gives a rater another's group and with it their weight, which is a function of their attributes.
        Raters who are drawn or left out keep their own weight, times how often they are drawn.
        """
        drawn = draws.rater_weights(self.codes)
        if not len(self.weights):
            return drawn
        if draws.kind == "permuted":
            return _kept(self, draws, "weights", lambda: self._shuffled(self.weights, draws))
        return self.weights * drawn if drawn.shape[1] else np.tile(self.weights, (draws.total, 1))

    def _subsampled(self, draws: Draws) -> NDArray[np.int32]:
        own = self.codes[self.shuffled]
        groups = [self.shuffled[own == g] for g in np.unique(own)]
        made = np.full((draws.total, len(self.codes)), OUTSIDE, dtype=np.int32)
        for row, chosen in zip(made, subsamples(groups, draws.total, draws.seed, draws.first), strict=True):
            row[chosen] = self.codes[chosen]
        return made


def _nothing(dimensions: int, kind: Any) -> NDArray[Any]:
    """Return an empty array, which kernels read as none."""
    none = np.zeros((1, 0, 16)[:dimensions], kind)
    none.flags.writeable = False
    return none


_FEW, _MANY = 8, 1 << 16
"""How many sets of labels are kept, and how large one must be to be kept: every part of the items needs the same."""
_kept_labels: OrderedDict[tuple[int, Draws, str], tuple[Grouping, threading.Lock, list[NDArray[Any]]]] = OrderedDict()
_lock = threading.Lock()


def _kept(of: Grouping, draws: Draws, form: str, make: Callable[[], NDArray[Any]]) -> NDArray[Any]:
    """Return what any thread already made for the same draws, or make it."""
    if draws.units is not None or draws.total * len(of.codes) < _MANY:
        made = make()
        made.flags.writeable = False  # as below: kernels are compiled for one kind of array
        return made
    key = (id(of), draws, form)
    with _lock:
        entry = _kept_labels.setdefault(key, (of, threading.Lock(), []))  # keeps the id from being reused
        while len(_kept_labels) > _FEW:
            _kept_labels.popitem(last=False)
    with entry[1]:
        if not entry[2]:
            made = make()
            made.flags.writeable = False
            entry[2].append(made)
    return entry[2][0]


def exchangeable(codes: NDArray[np.int32], n_groups: int, strata: NDArray[np.int32] | None) -> NDArray[np.bool_]:
    """Return which groups share a stratum with another group, so that shuffling can change who is in them.

    Examples
    --------
    >>> exchangeable(np.array([0, 1, 2, 2], np.int32), 3, np.array([0, 0, 1, 1], np.int32)).tolist()
    [True, True, False]
    """
    inside = codes >= 0
    own = np.zeros(len(codes), np.int64) if strata is None else strata.astype(np.int64) + 1
    pairs = np.unique(np.stack([own[inside], codes[inside]]), axis=1)
    _, place, count = np.unique(pairs[0], return_inverse=True, return_counts=True)
    found = np.zeros(n_groups, dtype=bool)
    found[pairs[1][count[place] > 1]] = True
    return found


def raters_who_rated(ratings: Ratings, items: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
    """Return which raters rated anything, or any of some items."""
    if not ratings.has_raters:
        return np.asarray(ratings.codes_of_raters > 0)  # raises an error if it is unknown who rated
    if items is None:
        return np.asarray(ratings.per_rater() > 0)
    rated = np.zeros(ratings.n_raters, np.bool_)
    for part in ratings.parts():
        rated[part.raters[items[part.items][part.item_of_each()]]] = True
    return rated


def each_axis(by: By | Sequence[By]) -> list[By]:
    """Return one entry per axis: ``("race", "gender")`` is one crossing, ``["race", "gender"]`` are two axes."""
    one = isinstance(by, str) or (isinstance(by, tuple) and len(by) > 0 and all(isinstance(part, str) for part in by))
    return [by] if one else list(by)  # type: ignore[list-item]


def named_axes(by: Sequence[By]) -> list[list[str]]:
    """Return the attributes of each axis in the form that settings keep."""
    return [[one] if isinstance(one, str) else list(one) for one in by]


def axes_of(ratings: Ratings, by: Sequence[By], min_group_size: int) -> list[Axis]:
    """Sort the raters along each axis; all axes are shown together."""
    axes = _each_alone(ratings, by, min_group_size)
    return withholding(axes, raters_who_rated(ratings)) if axes else axes


def _each_alone(ratings: Ratings, by: Sequence[By], min_group_size: int) -> list[Axis]:
    axes = [Axis.of(ratings, one, min_group_size=min_group_size) for one in by]
    if len({axis.name for axis in axes}) < len(axes):
        raise SelectionError("an axis is listed twice", hint="List each attribute or crossing once.")
    return axes


def overlapping_axes(by: Sequence[By], several: Mapping[str, str], *, pairs: bool) -> dict[str, str]:
    """Return the attributes of ``by`` with several values per rater; reject what overlapping groups cannot do."""
    found = {}
    for one in by:
        attributes = (one,) if isinstance(one, str) else tuple(one)
        overlap = [attribute for attribute in attributes if attribute in several]
        if overlap and (len(attributes) > 1 or pairs):
            what = "crossed with others" if len(attributes) > 1 else "compared in pairs"
            raise InputError(
                f"a rater may have several values of '{overlap[0]}', so its groups overlap and cannot be {what}",
                hint="Analyse it on its own, without pairs.",
            )
        found.update({attribute: several[attribute] for attribute in overlap})
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Compared:
    """The groups that one entry of ``by`` compares: those of one axis, or of one axis for each value of several.

    Attributes
    ----------
    axis
        The axis by its attributes.
    each
        The axis itself; if a rater may have several values, one axis for each value, whose first group has that value
        and whose second group is the rest.
    overlapping
        Whether a rater may have several values.
    """

    axis: Axis
    each: tuple[Axis, ...]
    overlapping: bool

    @property
    def shown(self) -> list[tuple[Axis, list[int]]]:
        """The groups that may be shown: each axis with the indices of its groups; for overlapping ones, the first."""
        if self.overlapping:
            return [(one, [0]) for one in self.each if not one.withheld[0]]
        return [(self.axis, np.flatnonzero(~self.axis.withheld).tolist())]

    @property
    def told(self) -> list[tuple[Axis, list[int]]]:
        """The groups that may be shown, with withheld ones merged, so that nothing depends on who is in which."""
        if self.axis.attributes == ("rater",):
            return self.shown
        return [(axis.withheld_as_one, list(range(len(places)))) for axis, places in self.shown]

    def decided(self, each: Sequence[Axis]) -> Compared:
        """Return the same groups with other decisions about which are withheld."""
        return replace(self, axis=self.axis if self.overlapping else each[0], each=tuple(each))

    @property
    def n_withheld(self) -> int:
        """How many groups are withheld; individual raters never are."""
        if self.axis.attributes == ("rater",):
            return 0
        return sum(one.n_withheld > 0 for one in self.each) if self.overlapping else self.axis.n_withheld

    @property
    def n_revealing(self) -> int:
        """How many of the withheld groups are large enough but would reveal a small one."""
        if self.overlapping:
            return sum(bool(one.revealing[0]) for one in self.each)
        return int(np.count_nonzero(self.axis.revealing)) if self.n_withheld else 0


def compared(
    ratings: Ratings, by: Sequence[By], overlapping: Mapping[str, str], min_group_size: int = MIN_GROUP_SIZE
) -> list[Compared]:
    """Return the groups that each axis of a call compares; all that is shown of them is shown together."""
    axes = _each_alone(ratings, by, min_group_size)
    each: list[list[Axis]] = [
        memberships(ratings, axis.name, overlapping[axis.name], min_group_size=min_group_size)
        if axis.name in overlapping else [axis]
        for axis in axes
    ]  # fmt: skip
    known = [Compared(axis, tuple(own), axis.name in overlapping) for axis, own in zip(axes, each, strict=True)]
    return together(known, raters_who_rated(ratings) if axes else np.zeros(0, dtype=bool))


def counting(axes: Sequence[Compared], rated: NDArray[np.bool_]) -> list[Compared]:
    """Return the same groups of some raters (those who rated some items), withheld accordingly."""
    sized = [own.decided([one.counting(rated) for one in own.each]) for own in axes]
    return together(sized, rated)


def together(axes: Sequence[Compared], rated: NDArray[np.bool_]) -> list[Compared]:
    """Return groups that are shown together, withheld so that none reveals a small group of these raters."""
    flat = iter(withholding([one for own in axes for one in own.each], rated))
    return [own.decided([next(flat) for _ in own.each]) for own in axes]


def compared_in_parts(axes: Sequence[Compared], subsets: Mapping[str, Ratings]) -> list[list[Compared]]:
    """Return the groups that are compared on all items, the first of ``subsets``, and on each part of them.

    The whole minus the parts in which a group is shown is the part in which it is not. So the parts are withheld
    together with the whole: what counts is how many raters rated something in a part.
    """
    flat = [one for own in axes for one in own.each]
    parts = list(subsets.values())[1:]
    if not flat or not parts:
        return [list(axes), *([] for _ in parts)]
    who, where = [], []
    for at, part in enumerate(parts):
        who.append(np.flatnonzero(raters_who_rated(part)))
        where.append(np.full(len(who[-1]), at))
    rater, place = np.concatenate(who), np.concatenate(where)
    within = [place == at for at in range(len(parts))]
    order = in_turn(flat)
    sides = [AxisRaters(flat[at].codes[rater], flat[at].withheld) for at in order]
    sides += [
        AxisRaters(np.where(chosen, flat[at].codes[rater], OUTSIDE), flat[at].withheld)
        for chosen in within
        for at in order
    ]
    hidden = iter(withheld_together(sides, flat[0].min_group_size, within)[len(order) :])
    found = [list(axes)]
    for part in parts:
        sized = [one.counting(raters_who_rated(part)) for one in flat]
        decided = {at: sized[at].withheld | next(hidden) for at in order}
        shown = iter(replace(one, withheld=decided.get(at, one.withheld)) for at, one in enumerate(sized))
        found.append([own.decided([next(shown) for _ in own.each]) for own in axes])
    return found


def subsets_by(ratings: Ratings, items_by: str | None) -> dict[str, Ratings]:
    """Return all ratings, and the ratings of the items with each value of an item attribute."""
    parts = {} if items_by is None else items_of_values(ratings, items_by)
    return {"all": ratings, **{name: with_items(ratings, chosen) for name, chosen in parts.items()}}


def items_of_values(ratings: Ratings, items_by: str) -> dict[str, NDArray[np.bool_]]:
    """Return for each value of an item attribute which items have it."""
    if items_by not in ratings.items.columns:
        known = few(ratings.items.columns[1:]) or "none; give a table of items with --items"
        raise SelectionError(f"items have no attribute '{items_by}'; they have: {known}")
    return {
        f"{items_by} = all" if value == "all" else value: chosen_rows(ratings.items, {items_by: value}, "item")
        for value in category_order(ratings.items[items_by])
    }
