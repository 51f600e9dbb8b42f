"""Weighted results: what they keep about the weights, what is said about them, and the unweighted values."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from plurivox.base.wording import named
from plurivox.domain.answers import Voice
from plurivox.domain.panel import PanelSummary
from plurivox.domain.ratings import Ratings
from plurivox.infer.result import Row, Statement
from plurivox.infer.view import SCORE, View, written
from plurivox.statistics.registry import LABELS

TITLE = "Weighted values, unweighted ones in brackets"
COUNTED_ALIKE = (
    "All raters count equally on single items: weights next to counts would reveal what a withheld group said."
)
"""Said where weighted values of single items would reveal a group."""
NOT_BOTH = (
    "Unweighted values are not shown next to weighted ones: with both, the mean of a withheld group could be worked "
    "out."
)


def raters_of(row: Row) -> str:
    """Return what the unweighted values of a row are about: its raters, on its items."""
    return named(row.axis, row.group) + ("" if row.subset == "all" else f", {row.subset}")


def judge_and_raters_of(row: Row) -> str:
    """Return the same with the judge whose answers it is about."""
    judge = str(Voice(row.model, row.prompt))
    return judge if (row.axis, row.subset) == ("all", "all") else f"{judge}, {raters_of(row)}"


def weights_in(ratings: Ratings, min_group_size: int) -> dict[str, Any]:
    """Return what a result keeps about weights in its settings, nothing if all raters count equally."""
    if ratings.panel is None:
        return {}
    found = asdict(ratings.panel.summary(min_group_size))
    return {"weights": {name: value for name, value in found.items() if name != "cells"}}


def tells_unweighted(ratings: Ratings, min_group_size: int) -> bool:
    """Return whether unweighted values may be shown next to weighted ones.

    Where raters are weighted by an attribute with a withheld group, the weighted and the unweighted mean would be two
    equations for the mean of that group.
    """
    panel = ratings.panel
    return ratings.weights is not None and (panel is None or not panel.summary(min_group_size).withholds)


def not_both(settings: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    """Return why no unweighted values are shown, if that is so."""
    both = "weights" not in settings or any(row.unweighted is not None for row in rows)
    return [] if both else [NOT_BOTH]


def weighted_statements(
    settings: Mapping[str, Any],
    rows: Sequence[Row],
    statistic: str,
    name: str = "",
    about: Callable[[Row], str] = raters_of,
) -> list[Statement]:
    """Return what the weights amount to, and where they change a statistic most: facts, not claims."""
    if "weights" not in settings:
        return []
    told = PanelSummary(**{**settings["weights"], "cells": ()}).sentence
    changed = [
        row for row in rows
        if row.statistic == statistic and row.unweighted is not None and row.kind in ("overall", "group", "voice")
        and math.isfinite(row.value - row.unweighted)
    ]  # fmt: skip
    if changed:
        most = max(changed, key=lambda row: abs(row.value - (row.unweighted or 0.0)))
        told += f" They change {name or LABELS[statistic]} most for {about(most)}: from {most.unweighted:.2f} to "
        told += f"{most.value:.2f}."
    return [Statement(told, 0.0, statistic="weights")]


def beside_unweighted(
    rows: Sequence[Row],
    headings: Mapping[str, str],
    about: Callable[[Row], str] = raters_of,
    first: str = "raters",
    forms: Mapping[str, str] | None = None,
) -> list[View]:
    """Return a table of weighted and unweighted values, if raters have weights.

    Rows about the same subject make one line. ``first`` is the heading of the subjects; ``forms`` is how some
    statistics are written.
    """
    known = [row for row in rows if row.unweighted is not None and row.statistic in headings]
    cells: dict[str, dict[str, str]] = {}
    for row in known:
        form = (forms or {}).get(row.statistic, SCORE)
        text = f"{written(row.value, form)} ({written(row.unweighted, form)})"
        cells.setdefault(about(row), {})[row.statistic] = text
    used = [name for name in headings if any(name in own for own in cells.values())]
    lines = [[name, *(own.get(statistic, "") for statistic in used)] for name, own in cells.items()]
    return [View(TITLE, [first, *(headings[name] for name in used)], lines)] if lines else []
