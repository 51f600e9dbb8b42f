"""Results as charts in Vega-Lite; nothing is computed here. Pictures need ``pip install 'plurivox[report]'``.

Every chart ``x(result)`` has its numbers as a table, ``x_data(result)``. Charts are imported when they are first used.
Unless a chart says otherwise, ``result`` is what the lens found; ``axis`` names the axis whose groups to show, by
default all axes; ``subset`` is the question or set of items, by default the first, which is all items; and of more than
``max_groups`` groups the most notable are shown. Charts are 680 pixels wide; ``with plots.sized(340):`` draws them for
a phone, and other widths work as well.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from plurivox.base.arguments import checked

_CHARTS = {
    "alignment": ("alignment_dots", "distance_histogram", "refusals"),
    "alignment_matrices": ("alignment_heat", "alignment_items", "alignment_wins"),
    "cohesion": ("dsi_ranking", "null_histograms", "xrr_matrix"),
    "forests": ("gai_forest", "hidden_views", "leniency_forest", "responsiveness_forest", "scale_forest"),
    "items": ("item_groups", "item_severity", "items_divided", "items_uncertain", "score_curves"),
    "models": ("estimate_forest", "judge_card"),
    "overview": ("design", "group_sizes", "ratings_per_item", "response_styles", "scale_use"),
    "planes": ("mpa_wra_plane",),
    "responsiveness": ("metric_comparison", "metric_lines", "precision_recall", "precision_recall_spread"),
    "soft": ("pit_histograms", "prior_sensitivity", "reliability_curves", "soft_by_bin", "soft_ranking"),
    "studies": ("reproduction",),
    "variation": ("adjusted_effects", "drift_forest", "rater_reliability", "repeat_agreement", "variance_shares"),
}
_HOMES = {name: module for module, charts in _CHARTS.items() for chart in charts for name in (chart, f"{chart}_data")}
_HOMES |= {"responsiveness_study": "studies", "sized": "theme", "soft_study": "studies", "to_svg": "writing",
           "write_chart": "writing"}  # fmt: skip
__all__ = sorted(_HOMES)
OF_LENSES = {
    "aggregate": "hidden_views", "alignment": "alignment_items", "estimate": "estimate_forest",
    "item_view": "item_groups", "judge": "judge_card", "variation": "together",
}  # fmt: skip
"""The chart that the command of a lens draws, by the name of the lens."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plurivox.plots' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"plurivox.plots.{_HOMES[name]}"), name)
    globals()[name] = checked(value)
    return globals()[name]


def chart_of(lens: str) -> Callable[..., Any]:
    """Return the chart that the command of a lens draws."""
    name = OF_LENSES[lens]
    home = "variation" if name == "together" else _HOMES[name]  # it has no table of its own, and is not public
    chart: Callable[..., Any] = getattr(importlib.import_module(f"plurivox.plots.{home}"), name)
    return chart


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
