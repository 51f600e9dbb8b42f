"""Axes of diversity: raters sorted into groups by one attribute or a crossing, and which groups are not shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import checked, whole
from plurivox.base.cards import card, plain_grid
from plurivox.base.errors import NeedsRatersError, SelectionError, few
from plurivox.domain.attributes import as_categories, category_order, in_order
from plurivox.domain.ratings import Ratings

CROSS = " × "
MIN_GROUP_SIZE = 5
OUTSIDE = -1
WITHHELD = "withheld"  # the internal name for all withheld groups together

By = str | Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class Axis:
    """Raters → groups.

    A rater with a missing value on any of the attributes is outside the axis: in no group and in nobody's rest.
    Groups smaller than ``min_group_size`` are withheld from results but stay in the rest of the others. In an axis
    of two groups the withheld one is the other's rest, so both are withheld.

    Attributes
    ----------
    name, attributes
        ``race × gender`` and ``("race", "gender")``.
    groups
        Their names, in order; a crossing joins its parts: ``Asian × Man``. Only ``shown`` ones may be printed.
    codes
        For each rater the group, -1 if outside.
    sizes
        Raters per group.
    withheld
        For each group whether it is not shown: because it is too small, or because it would reveal one that is.
    overlaps
        Whether the groups are those with and without one value of an attribute of which a rater may have several.
    """

    name: str
    attributes: tuple[str, ...]
    groups: tuple[str, ...]
    codes: NDArray[np.int32]
    sizes: NDArray[np.int64]
    withheld: NDArray[np.bool_]
    min_group_size: int
    overlaps: bool = False

    @classmethod
    @checked
    def of(cls, ratings: Ratings, by: By, *, min_group_size: int = MIN_GROUP_SIZE) -> Axis:
        """Sort the raters of ``ratings`` into groups.

        Parameters
        ----------
        ratings
            The ratings whose raters to sort.
        by
            An attribute, several to cross, or ``"rater"``: each rater is a group, which is never withheld because it
            was requested.
        min_group_size
            Below this many raters a group is withheld.

        Raises
        ------
        SelectionError
            If raters lack the attribute.
        NeedsRatersError
            If the ratings are totals.
        """
        if not ratings.has_raters:
            raise NeedsRatersError(f"{ratings.intake.source} holds counts per scale point, not who gave them.")
        least = whole("min_group_size", min_group_size, 1)
        attributes = (by,) if isinstance(by, str) else tuple(by)
        for attribute in attributes:
            if attribute not in ratings.raters.columns:
                known, hint = ratings.raters.columns[1:], None
                problem = f"raters have no attribute '{attribute}'; they have: {few(known)}"
                near = [name for name in known if attribute.casefold() in name.casefold()]
                if not known:
                    problem = f"raters have no attribute '{attribute}', nor any other"
                    hint = "Give a table of raters with --raters, or name a column of the ratings."
                elif len(near) == 1:
                    hint = f"Name it in full: '{near[0]}'."
                raise SelectionError(problem, hint=hint)
        if len(set(attributes)) < len(attributes) or not attributes:
            raise SelectionError(f"an axis needs attributes that differ, not {attributes}")
        groups, codes = _crossed([ratings.raters[attribute] for attribute in attributes])
        sizes = np.bincount(codes[codes != OUTSIDE], minlength=len(groups))
        small = too_small(sizes, least, alone=attributes == ("rater",))
        return withholding([cls(CROSS.join(attributes), attributes, groups, codes, sizes, small, least)])[0]

    def counting(self, rated: NDArray[np.bool_]) -> Axis:
        """Return the axis with sizes, and so withholding, that count only raters who rated something."""
        inside = self.codes[rated & (self.codes != OUTSIDE)]
        sizes = np.bincount(inside, minlength=len(self.groups))
        small = too_small(sizes, self.min_group_size, alone=self.attributes == ("rater",))
        return replace(self, sizes=sizes, withheld=self.withheld | small)

    @property
    def withheld_as_one(self) -> Axis:
        """The axis with all withheld groups merged into the last, so that results for shown groups reveal none."""
        if not self.withheld.any():
            return self
        shown = np.flatnonzero(~self.withheld)
        place, last = np.full(len(self), len(shown), np.int32), np.arange(len(shown) + 1) == len(shown)
        place[shown] = np.arange(len(shown))
        return replace(
            self, groups=(*self.shown, WITHHELD), codes=np.where(self.codes < 0, self.codes, place[self.codes]),
            sizes=np.append(self.sizes[shown], self.sizes[self.withheld].sum()), withheld=last,
        )  # fmt: skip

    @property
    def shown(self) -> tuple[str, ...]:
        """The groups that are not withheld."""
        return tuple(group for group, hidden in zip(self.groups, self.withheld, strict=True) if not hidden)

    @property
    def n_withheld(self) -> int:
        """How many groups are not shown."""
        return int(np.count_nonzero(self.withheld))

    @property
    def revealing(self) -> NDArray[np.bool_]:
        """For each group whether it is withheld although it is large enough, since it would reveal a small one."""
        return revealing(self.sizes, self.withheld, self.min_group_size)

    @property
    def n_outside(self) -> int:
        """How many raters have no known value on this axis."""
        return int(np.count_nonzero(self.codes == OUTSIDE))

    def __len__(self) -> int:
        return len(self.groups)

    def _repr_html_(self) -> str:
        """Show the groups that may be shown in a notebook, and individual raters as numbers."""
        alone = names_raters(self.name)
        rows = [
            [rater_name(at) if alone else name, f"{self.sizes[at]:,}"]
            for at, name in enumerate(self.groups)
            if not self.withheld[at]
        ]
        kind, _, rests_on = repr(self)[1:-1].partition(": ")
        return card(kind, rests_on, grids=[plain_grid(["group", "raters"], rows)] if rows else [], more="shown")

    def __repr__(self) -> str:
        withheld = f", {self.n_withheld} withheld" if self.n_withheld else ""
        return f"<Axis {self.name}: {len(self)} groups{withheld}, {self.n_outside} raters outside>"


def withholding(axes: Sequence[Axis], rated: NDArray[np.bool_] | None = None) -> list[Axis]:
    """Return axes that are shown together, without the groups that must not be shown lest they reveal a small one.

    What is hidden on an axis stays hidden. Individual raters were requested, so only those who rated nothing are left
    out. With ``rated``, only those raters count.
    """
    order = in_turn(axes)
    sides = [AxisRaters(axes[at].codes if rated is None else axes[at].codes[rated], axes[at].withheld) for at in order]
    found = dict(zip(order, withheld_together(sides, axes[order[0]].min_group_size), strict=True)) if order else {}
    return [replace(axis, withheld=found[at]) if at in found else axis for at, axis in enumerate(axes)]


def in_turn(axes: Sequence[Axis]) -> list[int]:
    """Return the places of axes in the order in which their groups are withheld; individual raters never are.

    Attributes come before crossings, and values of which a rater may have several last, so that what is shown of an
    attribute does not depend on what else is, in a section of a report that leaves it out.
    """
    grouped = [at for at, axis in enumerate(axes) if axis.attributes != ("rater",)]
    return sorted(grouped, key=lambda at: (axes[at].overlaps, len(axes[at].attributes)))


def names_raters(axis: str) -> bool:
    """Return whether the groups of an axis are raters, whose ids appear neither in charts nor in sentences."""
    return "rater" in axis.split(CROSS)


def memberships(
    ratings: Ratings, attribute: str, separator: str, *, min_group_size: int = MIN_GROUP_SIZE
) -> list[Axis]:
    """Return one axis for each value of an attribute of which a rater may have several, such as ``Asian; White``.

    Its two groups are those who have the value and those who do not, who are its rest. Raters with no value at all are
    outside. A value that few have is withheld, and one that few lack.
    """
    whole = Axis.of(ratings, attribute, min_group_size=1)
    lists = [[part.strip() for part in group.split(separator) if part.strip()] for group in whole.groups]
    axes = []
    for value in in_order({part for parts in lists for part in parts}):
        lacks = np.array([value not in parts for parts in lists] or [True])
        codes = np.where(whole.codes >= 0, lacks[whole.codes], OUTSIDE).astype(np.int32)
        sizes = np.bincount(codes[codes != OUTSIDE], minlength=2)
        groups, small = (value, f"not {value}"), too_small(sizes, min_group_size)
        axes.append(Axis(attribute, (attribute,), groups, codes, sizes, small, min_group_size, overlaps=True))
    return withholding(axes)


def rater_name(code: int) -> str:
    """Return the name of a rater whose id must not be shown.

    Examples
    --------
    >>> rater_name(0), rater_name(1233)
    ('rater 1', 'rater 1234')
    """
    return f"rater {code + 1}"


def _crossed(columns: Sequence[pl.Series]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    """Return the names of the combinations that occur, in order, and each rater's code."""
    # Raters keep the order of their codes, on which everything computed for them depends.
    orders = [as_categories(one).to_list() if one.name == "rater" else category_order(one) for one in columns]
    combined = np.zeros(len(columns[0]), dtype=np.int64)
    outside = np.zeros(len(columns[0]), dtype=bool)
    for column, order in zip(columns, orders, strict=True):
        place = as_categories(column).replace_strict(order, range(len(order)), default=None, return_dtype=pl.Int64)
        outside |= place.is_null().to_numpy()
        combined = combined * len(order) + place.fill_null(0).to_numpy()
    combined[outside] = OUTSIDE
    cells, codes = np.unique(combined, return_inverse=True)
    if outside.any():  # the cell -1 comes first
        cells, codes = cells[1:], codes - 1
    names = []
    for cell in cells.tolist():
        parts = []
        for order in reversed(orders):
            cell, part = divmod(cell, len(order))
            parts.append(order[part])
        names.append(CROSS.join(reversed(parts)))
    return tuple(names), codes.astype(np.int32)


# Withholding ----------------------------------------------------------------------------------------------------------
#
# Who is not shown, so that nobody is recognised in a small group; the only place that decides this.
#
# Groups with few raters are withheld and, if one of two is, so is the other, whose rest it is (:func:`too_small`). If
# numbers are sums over raters, that is not enough, since published sums let one work out unpublished ones: all raters
# minus the groups shown are those withheld, and groups of one attribute together with those of another, or of a
# crossing together with its attributes, reveal those in both. So larger groups are withheld, too, until no sum or
# difference of what is published gives a small set of raters::
#
#               18–29   30+    all     The 3 young men are too few. Their number, and the sum of what they said, is that
#    women        40     37     77     of all young raters minus that of the young women, and that of all men minus that
#    men           3     36     39     of the older men. So one more cell of their row and one of their column is
#    all          43     73    116     withheld, until neither difference can be formed.
#
# Sums can be added or subtracted only as the sets of raters behind them can. So it is enough to look at sets: the
# published ones are all raters, the raters of each axis as soon as one of its groups is shown, and the groups shown.
# A small set is revealed if it is a linear combination of these. :func:`withheld_together` decides for a whole study
# or for the raters of one item, :func:`withheld_on_items` for many items at once.


_SPANNED = 1e-6  # a set is revealed if no more than this share of it is outside of what is published
_NO_MORE = 1e-12  # an eigenvalue below this share of the largest belongs to a set that the others give anyway

Codes = NDArray[np.int64]
Counts = NDArray[np.int64]
Members = NDArray[np.bool_]
Floats = NDArray[np.float64]


def too_small(sizes: Counts, least: int, *, alone: bool = False) -> Members:
    """Return which groups of an axis have no results at all: those with few raters and, if there are two, the other.

    Raters who are ``alone`` in their groups were requested, so only those who rated nothing are left out.

    Examples
    --------
    >>> too_small(np.array([9, 4, 7]), 5).tolist(), too_small(np.array([9, 4]), 5).tolist()
    ([False, True, False], [True, True])
    """
    withheld: Members = sizes == 0 if alone else sizes < least
    return np.repeat(withheld.any(), 2) if len(sizes) == 2 and not alone else withheld


def revealing(sizes: Counts, withheld: Members, least: int) -> Members:
    """Return which groups are withheld only to protect another: they are large enough but would reveal a small one.

    Examples
    --------
    >>> revealing(np.array([9, 4]), np.array([True, True]), 5).tolist()
    [True, False]
    """
    protecting: Members = withheld & (sizes >= least)
    return protecting


def enough_left(n_raters: int, least: int, source: str) -> None:
    """Raise an error if, after selecting raters by their attributes, fewer are left than a group must have.

    Examples
    --------
    >>> enough_left(5, 5, "ratings.csv")
    """
    if n_raters < least:
        left = "no rater is" if not n_raters else "1 rater is" if n_raters == 1 else f"{n_raters:,} raters are"
        raise SelectionError(
            f"{left} left after selecting, fewer than the {least:,} that a group must have to be shown",
            source=source,
            hint="Select more raters, or give min_group_size=1 (--min-group-size 1) if these may be identified.",
        )


class AxisRaters(NamedTuple):
    """Raters along one axis: the group of each, -1 for none, and which groups are already withheld."""

    codes: NDArray[np.int32]
    withheld: Members

    @property
    def sizes(self) -> Counts:
        """How many raters each group has."""
        return np.bincount(self.codes[self.codes >= 0], minlength=len(self.withheld))


def withheld_together(sides: Sequence[AxisRaters], least: int, given: Sequence[Members] = ()) -> list[Members]:
    """Return which groups of raters are withheld: small ones, and those from which a small set could be worked out.

    Small sets are groups of fewer than ``least`` raters, all small groups of an axis together, what groups of two axes
    have in common, and raters who are alike on all axes. Axes are processed in order, and their groups from the largest
    down; a group that would reveal a small set is withheld. So what is shown of an axis does not depend on later ones.
    Sets of raters that are ``given`` are published in any case.

    Examples
    --------
    >>> def shown(*sizes):
    ...     groups = np.repeat(np.arange(len(sizes)), sizes).astype(np.int32)
    ...     return (~withheld_together([AxisRaters(groups, np.zeros(len(sizes), dtype=bool))], 5)[0]).tolist()
    >>> shown(20, 19, 1), shown(20, 19, 3, 2), shown(9, 4)
    ([True, False, False], [True, True, False, False], [False, False])
    """
    small = [(side.sizes > 0) & (side.sizes < least) for side in sides]
    hidden = [side.withheld | few for side, few in zip(sides, small, strict=True)]
    if least <= 1 or not sides:
        return hidden
    alike = np.stack([*(side.codes for side in sides), *given])
    cells, raters = np.unique(alike, axis=1, return_counts=True)
    cells, published = cells[: len(sides)].astype(np.int64), cells[len(sides) :].astype(float)
    told = _Told(_small_sets(cells, raters, small, least), len(raters))
    if not len(told.sizes):
        return hidden
    told.add([np.ones(len(raters)), *published])
    for side, own, hides in zip(sides, cells, hidden, strict=True):
        sizes, axis = side.sizes, [(own >= 0).astype(float)]
        for g in np.argsort(-sizes, kind="stable").tolist():
            if sizes[g] > 0 and not hides[g]:
                hides[g] = told.reveals([*axis, (own == g).astype(float)])
                axis = axis if hides[g] else []
    return hidden


class _Told:
    """What is published of sets of cells, and how much of each protected set can be worked out from it.

    Whoever knows the sums of some sets knows those of everything in the space that the sets span. ``basis`` is an
    orthonormal basis of that space, so that the part of a protected set inside it is the sum of its squared projections
    on the basis; a set is revealed as soon as all of it is inside.
    """

    def __init__(self, protected: tuple[NDArray[np.intp], NDArray[np.intp]], n_cells: int) -> None:
        self.cells, self.starts = protected
        self.sizes = np.diff(np.append(self.starts, len(self.cells)))
        self.inside = np.zeros(len(self.sizes))
        self.basis = np.zeros((0, n_cells))

    def add(self, sets: Iterable[Floats]) -> None:
        """Publish sets."""
        for one in sets:
            beyond = one
            for _ in range(2):  # the second time takes off what rounding left
                beyond = beyond - (self.basis @ beyond) @ self.basis
            length = float(beyond @ beyond)
            if length > _NO_MORE * float(one @ one):
                beyond = beyond / np.sqrt(length)
                self.basis = np.vstack([self.basis, beyond])
                self.inside = self.inside + np.add.reduceat(beyond[self.cells], self.starts) ** 2

    def reveals(self, sets: Iterable[Floats]) -> bool:
        """Return whether sets, next to what is published, would reveal a protected one; if not, publish them."""
        before = self.basis, self.inside
        self.add(sets)
        found = bool((self.inside > self.sizes * (1 - _SPANNED)).any())
        if found:
            self.basis, self.inside = before
        return found


def _small_sets(
    cells: Codes, raters: Counts, small: Sequence[Members], least: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the small sets, each once: their cells, one set after the other, and where each starts.

    ``cells`` are the distinct combinations of groups, axes × cells, and ``raters`` how many are in each.
    """
    inside, n_cells = cells >= 0, cells.shape[1]
    width = cells.max(axis=1, initial=-1) + 2
    together = [np.where(np.append(own, False)[code], 0, -1) for own, code in zip(small, cells, strict=True)]
    labels = [np.where(inside.all(axis=0), np.arange(n_cells), -1), *cells, *together]
    for a in range(len(cells)):
        for b in range(len(cells)):
            crossed = (cells[a] + 1) * width[b] + cells[b] + 1
            if a < b:
                labels.append(np.where(inside[a] & inside[b], crossed, -1))
            if a != b:
                labels.append(np.where((together[a] >= 0) & inside[b], cells[b] + 1, -1))
    marks = np.random.default_rng(0).integers(1 << 62, size=(n_cells,))  # a set is known by the sum of its cells' marks
    known, chosen, lengths = np.zeros(0, np.int64), [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
    for label in labels:
        order = np.argsort(label, kind="stable")
        order = order[label[order] >= 0]
        starts = np.flatnonzero(np.diff(label[order], prepend=-1))
        if len(order):
            marked: Codes = np.add.reduceat(marks[order], starts)
            members: Counts = np.add.reduceat(raters[order], starts)
            names, first = np.unique(marked, return_index=True)
            few = (members[first] < least) & ~np.isin(names, known)
            own = np.diff(np.append(starts, len(order)))
            kept = np.isin(np.arange(len(starts)), first[few])
            known = np.append(known, names[few])
            chosen.append(order[np.repeat(kept, own)])
            lengths.append(own[kept])
    sizes = np.concatenate(lengths)
    return np.concatenate(chosen), np.cumsum(sizes) - sizes


def withheld_on_items(items: NDArray[np.integer], sides: NDArray[np.int8], asked: Members, least: int) -> Members:
    """Return for many items at once on which axes a group may not be shown next to the others, axes × items.

    All raters of each item are known and, for each axis that is shown, the group and the others. Axes are processed in
    order; one that would reveal a set of fewer than ``least`` raters of the item is withheld. Raters without a value
    are such a set, too.

    Parameters
    ----------
    items
        The item of each rating.
    sides
        Axes × ratings: 2 for a rater of the group that is shown for the item, 1 for the others, 0 for neither.
    asked
        Axes × items: where a group is to be shown.

    Examples
    --------
    >>> ten = np.zeros(10, dtype=np.intp)
    >>> group = np.array([[2] * 5 + [1] * 5, [2] * 5 + [1] * 4 + [0]], dtype=np.int8)
    >>> withheld_on_items(ten, group, np.array([[True], [True]]), 5).tolist()
    [[False], [True]]
    """
    shown = np.zeros_like(asked)
    for at in range(len(sides)):
        tried = shown.copy()
        tried[at] = asked[at]
        shown[at] = asked[at] & ~_given_away_on(items, np.where(tried[:, items], sides, 0), tried, least)
    return ~shown


def _given_away_on(items: NDArray[np.integer], sides: NDArray[np.int8], shown: Members, least: int) -> Members:
    """Return for which items a small set of raters follows from what is shown."""
    n_items = shown.shape[1]
    features = [np.ones(len(items)), *(one.astype(float) for side in sides for one in (side >= 1, side == 2))]
    common = np.empty((n_items, len(features), len(features)))
    for a, one in enumerate(features):
        for b, other in enumerate(features[: a + 1]):
            common[:, a, b] = common[:, b, a] = np.bincount(items, weights=one * other, minlength=n_items)
    values, vectors = np.linalg.eigh(common)  # what turns sets with these common sizes into an orthonormal basis
    kept = values > _NO_MORE * values[:, -1:]
    weights = np.where(kept, 1 / np.sqrt(np.where(kept, values, 1.0)), 0.0)
    basis = np.swapaxes(vectors * weights[:, np.newaxis], -1, -2)
    away = np.zeros(n_items, dtype=bool)
    codes = sides.astype(np.int64)
    alike = np.zeros(codes.shape[1], dtype=np.int64)
    for one in codes:
        _, alike = np.unique(alike * 3 + one, return_inverse=True)
    pairs = (codes[a] * 3 + codes[b] for a in range(len(codes)) for b in range(a))
    for label in (alike, *codes, *pairs):  # raters in sets: by all axes, by each, and by each pair
        width = label.max(initial=0) + 1
        sets, place, sizes = np.unique(items * width + label, return_inverse=True, return_counts=True)
        few = sizes < least
        owner = (sets // width)[few]
        sums = np.stack([np.bincount(place, weights=one, minlength=len(sets))[few] for one in features], axis=1)
        inside = (np.einsum("ist,it->is", basis[owner], sums) ** 2).sum(axis=1)
        away[owner[inside > sizes[few] * (1 - _SPANNED)]] = True
    return away
