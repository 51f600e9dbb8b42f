"""An axis of diversity: raters sorted into groups by one attribute, or by a crossing of several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import checked, whole
from plurivox.base.cards import card, plain_grid
from plurivox.base.errors import NeedsRatersError, SelectionError, few
from plurivox.domain.attributes import as_categories, category_order, in_order
from plurivox.domain.ratings import Ratings
from plurivox.domain.withholding import AxisRaters, revealing, too_small, withheld_together

CROSS = " × "
MIN_GROUP_SIZE = 5
OUTSIDE = -1
WITHHELD = "withheld"
"""The internal name for all withheld groups together."""

By = str | Sequence[str]


def _without(attribute: str, known: Sequence[str]) -> SelectionError:
    """Return the error that raters lack an attribute, with the one that was probably meant."""
    if not known:
        return SelectionError(
            f"raters have no attribute '{attribute}', nor any other",
            hint="Give a table of raters with --raters, or name a column of the ratings.",
        )
    near = [name for name in known if attribute.casefold() in name.casefold()]
    hint = f"Name it in full: '{near[0]}'." if len(near) == 1 else None
    return SelectionError(f"raters have no attribute '{attribute}'; they have: {few(known)}", hint=hint)


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
                raise _without(attribute, ratings.raters.columns[1:])
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
