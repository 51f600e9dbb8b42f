"""What the calls of all lenses share: reading ``by``, checking choices, correcting p-values over families."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from plurivox.axis import Axis, By
from plurivox.engine.families import adjust
from plurivox.errors import DifferentItemsWarning, InputError, SelectionError
from plurivox.intake.attributes import category_order
from plurivox.ratings import Ratings, chosen_rows, with_items
from plurivox.results.result import Row

APART = 0.5
"""Below this share of items in common with the rest, a group is said to have seen different items."""
RESAMPLE = ("items", "raters", "both")

Report = Callable[[str, int, int], object]
"""Progress: what is being done, how many draws are done, how many there are."""


def each_axis(by: By | Sequence[By]) -> list[By]:
    """Return one entry per axis: ``("race", "gender")`` is one crossing, ``["race", "gender"]`` are two axes."""
    one = isinstance(by, str) or (isinstance(by, tuple) and len(by) > 0 and all(isinstance(part, str) for part in by))
    return [by] if one else list(by)  # type: ignore[list-item]


def named_axes(by: Sequence[By]) -> list[list[str]]:
    """Return the attributes of each axis, as settings keep them."""
    return [[one] if isinstance(one, str) else list(one) for one in by]


def axes_of(ratings: Ratings, by: Sequence[By], min_group_size: int) -> list[Axis]:
    """Sort the raters along each axis."""
    axes = [Axis.of(ratings, one, min_group_size=min_group_size) for one in by]
    if len({axis.name for axis in axes}) < len(axes):
        raise SelectionError("an axis is listed twice", hint="List each attribute or crossing once.")
    return axes


def overlapping_axes(by: Sequence[By], several: Mapping[str, str], *, pairs: bool) -> dict[str, str]:
    """Return the attributes of ``by`` with several values per rater; refuse what their groups cannot give."""
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


def parts_by(ratings: Ratings, items_by: str | None) -> dict[str, Ratings]:
    """Return all ratings, and those of the items of each value of an item attribute."""
    parts = {"all": ratings}
    if items_by is not None:
        if items_by not in ratings.items.columns:
            known = ", ".join(ratings.items.columns[1:]) or "none: give them with --items"
            raise SelectionError(f"items have no attribute '{items_by}'; they have: {known}")
        for value in category_order(ratings.items[items_by]):
            chosen = chosen_rows(ratings.items, {items_by: value}, "item")
            parts[f"{items_by} = all" if value == "all" else value] = with_items(ratings, chosen)
    return parts


def check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    """Raise unless a word is one of a few."""
    if value not in allowed:
        raise InputError(f"{name} is {value!r}", hint=f"Choose one of {', '.join(allowed)}.")


def check_draws(permutations: int, bootstrap: int, seed: int) -> None:
    """Raise unless the numbers of draws and the seed are usable."""
    if permutations < 0 or bootstrap < 0:
        raise InputError("permutations and bootstrap count draws", hint="Give 0 or more.")
    if not 0 <= seed < 2**63:
        raise InputError(f"seed is {seed}", hint="Give a whole number of at least 0.")


def warn_apart(ratings: Ratings, axis: Axis) -> None:
    """Warn if a group rated mostly items that nobody else of the axis did, since shuffling then compares items."""
    group = axis.codes[ratings.codes_of_raters].astype(np.int64)
    inside = group >= 0
    cells = np.unique(group[inside] * ratings.n_items + ratings.item_codes[inside])
    owner, item = np.divmod(cells, max(ratings.n_items, 1))
    by_others = np.bincount(item, minlength=ratings.n_items)[item] > 1
    rated = np.bincount(owner, minlength=len(axis))
    shared = np.bincount(owner[by_others], minlength=len(axis))
    apart = [g for g in np.flatnonzero(~axis.withheld) if rated[g] > 0 and shared[g] < APART * rated[g]]
    if apart and len(axis) > 1:
        names = ", ".join(axis.groups[g] for g in apart[:3]) + (" and others" if len(apart) > 3 else "")
        warnings.warn(
            f"{axis.name}: {names} rated mostly items that nobody else did, so a difference may be one of items; "
            "if raters were assigned by batch or region, give it as within=",
            DifferentItemsWarning,
            stacklevel=4,
        )


def corrected(rows: Sequence[Row], correction: str, same: Callable[[Row], bool] | None = None) -> list[Row]:
    """Correct p-values over each family: one statistic, one kind of hypothesis, all axes and subsets of the call.

    Where ``same`` says so, the rows of an axis are one hypothesis: what the first of two groups says of the second,
    the second says of the first. The rows must be new: they are completed, not copied.
    """
    families: dict[tuple[str, str], dict[tuple[str, ...], list[int]]] = {}
    for number, row in enumerate(rows):
        if row.p_value is None:
            continue
        one = same is not None and same(row)
        hypothesis = (row.subset, row.axis) if one else (row.subset, row.axis, row.group, row.other)
        families.setdefault((row.kind, row.statistic), {}).setdefault(hypothesis, []).append(number)
    for family in families.values():
        p = np.array([rows[numbers[0]].p_value for numbers in family.values()], dtype=float)
        for numbers, adjusted in zip(family.values(), adjust(p, correction).tolist(), strict=True):
            for number in numbers:
                rows[number].set_adjusted(adjusted)
    return list(rows)
