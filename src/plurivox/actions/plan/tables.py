"""A plan as tables."""

from __future__ import annotations

import polars as pl

from plurivox.actions.plan.result import Plan
from plurivox.base.wording import named
from plurivox.infer.view import RANGE, Column, Value, View, filled, view_of

_HAS = {"n_raters": "raters", "n_ratings": "ratings", "n_items_twice": "rated twice", "n_items_shared": "shared"}
"""Items with two ratings of the group are rated twice; those that others also rated are shared."""
_ENOUGH_FOR = ("cohesion", "responsiveness", "psychometrics")
_NEEDED = {
    "raters_needed": "raters needed", "items_needed": "or items", "all_raters": "or raters of all",
    "all_items": "and items",
}  # fmt: skip


def tables(found: Plan) -> list[View]:
    """Return the tables of a plan; findings say what to collect."""
    lenses = view_of("Which analyses apply", found.to_frame(), {"lens": "analysis", "applies": "applies"})
    groups = found.table("groups").group_by("axis", maintain_order=True)
    return [lenses, *(_groups(str(axis), own) for (axis,), own in groups), *filled(_power(found.table("power")))]


def _groups(axis: str, own: pl.DataFrame) -> View:
    """Return what the groups of an axis have, and what it is enough for; withheld ones are counted."""
    lines = [
        [f"{row['withheld']:,} withheld", *[None] * 7]
        if row["group"] is None
        else [row["group"], *(row[name] for name in (*_HAS, *_ENOUGH_FOR))]
        for row in own.iter_rows(named=True)
    ]
    return View(axis, ["group", *_HAS.values(), *_ENOUGH_FOR], lines)


def _power(power: pl.DataFrame) -> View:
    """Return one line for each group: what it has, and what would be enough."""
    lines = [
        [
            named(row["axis"], row["group"]), row["n_raters"], row["n_items"],
            Value(row["power_now"], row["ci_low"], row["ci_high"]), *(row[name] for name in _NEEDED),
        ]
        for row in power.iter_rows(named=True)
    ]  # fmt: skip
    header = ["group", "raters", "items", Column("power now", RANGE), *_NEEDED.values()]
    return View("Power to claim a group", header, lines)
