"""A plan as tables of text."""

from __future__ import annotations

import polars as pl

from plurivox.actions.plan.result import Plan
from plurivox.base.wording import named
from plurivox.infer.text import Shown, interval_text

_NUMBERS = ("n_raters", "n_items", "raters_needed", "items_needed", "all_raters", "all_items")


def tables(found: Plan) -> list[Shown]:
    """Return the tables of a plan as text; findings say what to collect."""
    lenses = [[lens, applies] for lens, applies in found.to_frame().select("lens", "applies").iter_rows()]
    shown = [Shown("Which analyses apply", ["analysis", "applies"], lenses)]
    for (axis,), own in found.table("groups").group_by("axis", maintain_order=True):
        shown.append(_groups(str(axis), own))
    power = found.table("power")
    if power.height:
        shown.append(_power(power))
    return shown


def _groups(axis: str, own: pl.DataFrame) -> Shown:
    """Return what the groups of an axis have, and what it is enough for; withheld ones are counted.

    Items with two ratings of the group are rated twice; those that others also rated are shared.
    """
    lines = []
    for row in own.iter_rows(named=True):
        if row["group"] is None:
            lines.append([f"{row['withheld']:,} withheld", *["–"] * 7])
            continue
        counts = [f"{row[name]:,}" for name in ("n_raters", "n_ratings", "n_items_twice", "n_items_shared")]
        lines.append([row["group"], *counts, *(row[name] for name in ("cohesion", "responsiveness", "psychometrics"))])
    header = ["group", "raters", "ratings", "rated twice", "shared", "cohesion", "responsiveness", "psychometrics"]
    return Shown(axis, header, lines)


def _power(power: pl.DataFrame) -> Shown:
    """Return one line for each group: what it has, and what would be enough."""
    lines = []
    for row in power.iter_rows(named=True):
        now = "–" if row["power_now"] is None else interval_text(row["power_now"], row["ci_low"], row["ci_high"])
        numbers = ["–" if row[name] is None else f"{row[name]:,}" for name in _NUMBERS]
        lines.append([named(row["axis"], row["group"]), *numbers[:2], now, *numbers[2:]])
    header = ["group", "raters", "items", "power now", "raters needed", "or items", "or raters of all", "and items"]
    return Shown("Power to claim a group", header, lines)
