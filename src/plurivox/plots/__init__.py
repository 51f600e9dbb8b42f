"""Results as charts in Vega-Lite; nothing is computed here. Pictures need ``pip install 'plurivox[report]'``.

Every chart ``x(result)`` has its numbers as a table, ``x_data(result)``. Charts are imported when they are first used.
Unless a chart says otherwise, ``result`` is what the lens found; ``axis`` names the axis whose groups to show, by
default all axes; ``subset`` is the question or set of items, by default the first, which is all items; and of more than
``max_groups`` groups the most notable are shown. Charts are 680 pixels wide; ``with plots.sized(340):`` draws them for
a phone, and other widths work as well.
"""

from __future__ import annotations

import importlib
from typing import Any

from plurivox.base.arguments import checked

_CHARTS = {
    "aggregate": ("hidden_views",),
    "alignment": ("alignment_dots", "distance_histogram", "refusals"),
    "alignment_matrices": ("alignment_heat", "alignment_items", "alignment_wins"),
    "calibration": ("pit_histograms", "reliability_curves"),
    "comparisons": ("metric_comparison", "metric_lines"),
    "curves": ("precision_recall", "precision_recall_spread"),
    "estimate": ("estimate_forest",),
    "forests": ("gai_forest", "responsiveness_forest", "scale_forest"),
    "item_views": ("item_groups",),
    "items": ("items_divided", "items_uncertain"),
    "judge": ("judge_card",),
    "leniency": ("leniency_forest",),
    "matrices": ("dsi_ranking", "xrr_matrix"),
    "nulls": ("null_histograms",),
    "overview": ("design", "group_sizes", "ratings_per_item", "response_styles", "scale_use"),
    "planes": ("mpa_wra_plane",),
    "psychometrics": ("item_severity", "score_curves"),
    "reproduce": ("reproduction",),
    "repeats": ("drift_forest", "repeat_agreement"),
    "soft": ("prior_sensitivity", "soft_by_bin", "soft_ranking"),
    "variation": ("adjusted_effects", "rater_reliability", "variance_shares"),
}
_HOMES = {name: module for module, charts in _CHARTS.items() for chart in charts for name in (chart, f"{chart}_data")}
_HOMES |= {"responsiveness_study": "studies", "sized": "theme", "soft_study": "studies", "to_svg": "writing",
           "write_chart": "writing"}  # fmt: skip
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'plurivox.plots' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"plurivox.plots.{_HOMES[name]}"), name)
    globals()[name] = checked(value)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
