"""Aggregation as tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.base.wording import intervals_over
from plurivox.infer.result import Row
from plurivox.infer.view import (
    ALL_RATERS,
    RANGE,
    Column,
    Value,
    View,
    columns,
    filled,
    mark_of,
    notes_of,
    view_of,
)
from plurivox.lenses.aggregate.result import Aggregation
from plurivox.lenses.aggregate.settings import CALLED
from plurivox.statistics.registry import LABELS, of_role

TITLES = {
    "departure": "how far labels lie from what a group says, in points",
    "overruled": "share of items whose label is not the group's most frequent point, in %",
    "label_shift": "how far a group's mean lies above the labels, in points",
}
"""What the table of a statistic is called."""
NOT_WEIGHTED = (
    "Plurality, mean and posterior, and what groups say, are weighted. Dawid–Skene, MACE and the ordinal model count "
    "all raters equally: their truth is not the view of a population."
)


def tables(found: Aggregation) -> list[View]:
    """Return all tables of a result."""
    groups = [_groups(found, record.name, intervals=True) for record in of_role("hidden")]
    return filled(*groups, methods(found), differing(found))


def brief(found: Aggregation) -> list[View]:
    """Return how far labels lie from each group, how often its majority is overruled, and how methods differ."""
    return filled(*(_groups(found, name) for name in ("departure", "overruled")), methods(found))


def _groups(found: Aggregation, statistic: str, *, intervals: bool = False) -> View:
    """Return a line for each group, a column for each method."""
    groups: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.statistic == statistic:
            groups.setdefault((row.axis, row.group), {})[row.model] = row
    lines: list[list[Any]] = []
    last = "all"
    for (axis, group), rows in groups.items():
        lines += [[axis]] if axis != last else []
        last = axis
        values = (_value(rows[method]) for method in found.settings["methods"])
        lines.append([ALL_RATERS if axis == "all" else group, next(iter(rows.values())).n_raters, *values])
    over = f"; {said}" if intervals and (said := intervals_over(found.settings)) else ""
    form = ".0f [.0f]" if statistic == "overruled" else RANGE
    names = columns(form if intervals else form.partition(" ")[0], map(CALLED.__getitem__, found.settings["methods"]))
    return View(f"What one label per item hides: {TITLES[statistic]}{over}", ["group", "raters", *names], lines)


def _value(row: Row) -> Value:
    scale = 100 if row.statistic == "overruled" else 1
    value, low, high = (
        None if one is None else round(scale * one, 2) + 0.0 for one in (row.value, row.ci_low, row.ci_high)
    )
    return Value(value, low, high, mark_of(row))


def methods(found: Aggregation) -> View:
    """Return how sure the labels of each method are, and how its fit went."""
    first = found.settings["methods"][0]
    frame = found.methods()
    differ = dict(found.differing().filter(method=first).select("other", "n_differ").iter_rows())
    names = {
        "method": "method", "mean_confidence": Column("mean confidence", ".2f"), "n_tied": "tied",
        "n_differ": f"differ from {CALLED[first]}", "iterations": "rounds", "converged": "converged",
    }  # fmt: skip
    beside = pl.Series("n_differ", [differ.get(name) for name in frame["method"]], pl.Int64)
    frame = frame.with_columns(pl.col("method").replace(CALLED), beside)
    return view_of("Methods, each of which assumes one true label per item", frame, names)


def differing(found: Aggregation) -> View:
    """Return to how many items every two methods give different labels."""
    frame = found.differing().with_columns(pl.col("method", "other").replace(CALLED))
    names = {"method": "method", "other": "other", "n_differ": "items", "share": Column("share", ".2f")}
    return view_of("Items to which two methods give different labels", frame, names)


def notes(found: Aggregation) -> list[str]:
    """Return why values are undefined, and what to be careful about; notes shared by all methods appear once."""
    first = found.settings["methods"][0]
    said = notes_of([row for row in found.rows if row.model == first], LABELS)
    return [*said, NOT_WEIGHTED] if "weights" in found.settings else said
