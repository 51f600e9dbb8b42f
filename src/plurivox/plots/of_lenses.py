"""Which chart the command of a lens draws; charts are imported when they are drawn."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from plurivox import plots

OF_LENSES = {
    "aggregate": "hidden_views", "alignment": "alignment_items", "estimate": "estimate_forest",
    "item_view": "item_groups", "judge": "judge_card", "variation": "variation.together",
}  # fmt: skip
"""The chart that the command of a lens draws, by the name of the lens."""


def chart_of(lens: str) -> Callable[..., Any]:
    """Return the chart that the command of a lens draws."""
    module, _, name = OF_LENSES[lens].rpartition(".")
    chart: Callable[..., Any] = getattr(importlib.import_module(f"plurivox.plots.{module}") if module else plots, name)
    return chart
