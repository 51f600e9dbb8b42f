"""Weighted results: what they remember of the weights, what is said of them, and unweighted values beside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from plurivox.panel import PanelSummary
from plurivox.ratings import Ratings
from plurivox.results.result import Row, Statement
from plurivox.results.text import Shown, number_cell
from plurivox.results.wording import named
from plurivox.statistics.registry import LABELS

TITLE = "Weighted values, unweighted ones in brackets"
COUNTED_ALIKE = (
    "All raters count alike on single items: weights beside counts would tell what a group that is withheld said."
)
"""Said where weighted values of single items would reveal a group."""


def weights_in(ratings: Ratings, min_group_size: int) -> dict[str, Any]:
    """Return what a result remembers of weights among its settings, nothing if all raters count alike."""
    if ratings.panel is None:
        return {}
    found = asdict(ratings.panel.summary(min_group_size))
    return {"weights": {name: value for name, value in found.items() if name != "cells"}}


def beside_may_be_told(ratings: Ratings, least: int) -> bool:
    """Tell whether unweighted values may stand beside weighted ones.

    Where raters are weighted by an attribute of which a group is withheld, a mean with its weight and one without would
    be two equations for the mean of that group.
    """
    return ratings.weights is not None and (ratings.panel is None or not ratings.panel.summary(least).withholds)


def weighted_statements(settings: Mapping[str, Any], rows: Sequence[Row], statistic: str) -> list[Statement]:
    """Return what the weights come to, and where they change a statistic most: facts, not claims."""
    if "weights" not in settings:
        return []
    told = PanelSummary(**{**settings["weights"], "cells": ()}).sentence
    changed = [
        row for row in rows
        if row.statistic == statistic and row.unweighted is not None and row.kind in ("overall", "group")
        and math.isfinite(row.value - row.unweighted)
    ]  # fmt: skip
    if changed:
        most = max(changed, key=lambda row: abs(row.value - (row.unweighted or 0.0)))
        told += (
            f" They change {LABELS[statistic]} most for {named(most.axis, most.group)}: from {most.unweighted:.2f} to "
            f"{most.value:.2f}."
        )
    return [Statement(told, 0.0, statistic="weights")]


def beside_unweighted(rows: Sequence[Row], headings: Mapping[str, str]) -> list[Shown]:
    """Return a table of weighted values with the unweighted ones, if raters have weights."""
    known = [row for row in rows if row.unweighted is not None and row.statistic in headings]
    cells: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in known:
        text = f"{number_cell(row.value, '.3f')} ({number_cell(row.unweighted, '.3f')})"
        cells.setdefault((row.axis, row.group, row.subset), {})[row.statistic] = text
    used = [name for name in headings if any(name in own for own in cells.values())]
    lines = [
        [named(axis, group) + ("" if subset == "all" else f", {subset}"), *(own.get(name, "") for name in used)]
        for (axis, group, subset), own in cells.items()
    ]
    return [Shown(TITLE, ["raters", *(headings[name] for name in used)], lines)] if lines else []
