"""Which groups are withheld, so that nobody is recognised in a small one: the only place that decides it.

Of a whole study, groups with few raters are withheld, and with one of two groups the other, which is its rest. Of a
single item, leaving out small groups is not enough: counts that are published let one work out counts that are not.
All raters less the groups shown are those withheld, and groups of one axis beside those of another tell of those in
both. So larger groups are withheld too, until no sum or difference of published counts gives those of a small group,
or of an axis's withheld raters where they are few, be it in all or within a group of another axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_SPANNED = 1e-7  # counts that follow from others do so up to this

Counts = NDArray[np.int64]
Members = NDArray[np.bool_]


def too_small(sizes: Counts, least: int, *, alone: bool = False) -> Members:
    """Tell which groups of an axis are withheld: those with few raters, and with one of two the other.

    Raters who are ``alone`` in their groups were asked for, so that only those who rated nothing are left out.

    Examples
    --------
    >>> too_small(np.array([9, 4, 7]), 5).tolist(), too_small(np.array([9, 4]), 5).tolist()
    ([False, True, False], [True, True])
    """
    withheld: Members = sizes == 0 if alone else sizes < least
    return np.repeat(withheld.any(), 2) if len(sizes) == 2 and not alone else withheld


def revealing(sizes: Counts, withheld: Members, least: int) -> Members:
    """Tell which groups are withheld only to protect another: they are large enough, and would reveal a small one.

    Examples
    --------
    >>> revealing(np.array([9, 4]), np.array([True, True]), 5).tolist()
    [True, False]
    """
    protecting: Members = withheld & (sizes >= least)
    return protecting


def comparable(n_ratings: Counts, least: int) -> Members:
    """Tell which groups gave an item so many ratings that they can be compared on it without recognising anybody."""
    enough: Members = n_ratings >= max(least, 1)
    return enough


class Side(NamedTuple):
    """The raters of an item along one axis: the group of each, and how many each group has."""

    codes: NDArray[np.int32]
    sizes: Counts


def withheld_together(sides: Sequence[Side], least: int) -> list[Members]:
    """Tell which groups of an item are withheld: the small ones, and those by which a small one could be worked out.

    Counts of all raters, of shown groups and, through their comparison with others, of the raters of an axis are
    known, and so is every sum and difference of them. While that includes a small set of raters who are withheld, the
    smallest group that takes part in it is withheld, of the same axis if there is one. Then groups that need not have
    been are shown again, the largest first. With two groups on an axis, a small one takes the other along.
    """
    hidden = [(side.sizes > 0) & (side.sizes < least) for side in sides]
    if not any(unseen.any() for unseen in hidden):
        return hidden
    cells = np.unique(np.stack([side.codes for side in sides]), axis=1, return_counts=True)
    taken: list[tuple[int, int]] = []

    def size(owner: tuple[int, int]) -> tuple[int, tuple[int, int]]:
        return int(sides[owner[0]].sizes[owner[1]]), owner

    while (part := _giving_away(sides, hidden, cells, least)) is not None:
        taken.append(min(part, key=size))
        hidden[taken[-1][0]][taken[-1][1]] = True
    for side, group in sorted(taken, key=size, reverse=True):
        hidden[side][group] = False
        hidden[side][group] = _giving_away(sides, hidden, cells, least) is not None
    return hidden


def _giving_away(
    sides: Sequence[Side], hidden: Sequence[Members], cells: tuple[NDArray[np.int32], Counts], least: int
) -> list[tuple[int, int]] | None:
    """Return the axes and shown groups by which a small set of withheld raters can be worked out, None if none can.

    ``cells`` are the distinct combinations of groups, axes × cells, and how many raters each has.
    """
    groups_of, raters = cells
    owners, known = _published(sides, hidden, groups_of)
    small = [(at, one) for at, one in _unpublished(sides, hidden, groups_of) if 0 < raters[one].sum() < least]
    if not small:
        return None
    wanted = np.stack([one for _, one in small]).astype(float)
    weights = np.linalg.lstsq(known.T, wanted.T, rcond=None)[0].T
    for one in np.flatnonzero(np.abs(weights @ known - wanted).max(axis=1) < _SPANNED).tolist():
        used = np.abs(weights[one]) > _SPANNED
        part = [owner for owner, uses in zip(owners, used, strict=True) if uses and owner is not None]
        if part:
            return [owner for owner in part if owner[0] == small[one][0]] or part
    return None


def _published(
    sides: Sequence[Side], hidden: Sequence[Members], cells: NDArray[np.int32]
) -> tuple[list[tuple[int, int] | None], NDArray[np.float64]]:
    """Return the sets of raters whose counts are known, as rows of cells, and the axis and group that each shows."""
    owners: list[tuple[int, int] | None] = [None]
    sets = [np.ones(cells.shape[1])]
    for at, (side, unseen) in enumerate(zip(sides, hidden, strict=True)):
        shown = np.flatnonzero((side.sizes > 0) & ~unseen).tolist()
        if shown:
            owners += [None, *((at, g) for g in shown)]
            sets += [cells[at] >= 0, *(cells[at] == g for g in shown)]
    return owners, np.stack(sets).astype(float)


def _unpublished(
    sides: Sequence[Side], hidden: Sequence[Members], cells: NDArray[np.int32]
) -> Iterator[tuple[int, Members]]:
    """Yield the axis and cells of what is withheld: each group, all of an axis, and all within each other group."""
    for at, unseen in enumerate(hidden):
        groups = np.flatnonzero(unseen)
        yield from ((at, cells[at] == g) for g in groups)
        together = np.isin(cells[at], groups)
        yield at, together
        for other, side in enumerate(sides):
            if other != at and len(groups):
                yield from ((at, together & (cells[other] == g)) for g in range(len(side.sizes)))
