"""Results as Altair charts; nothing is computed here. Needs ``pip install 'plurivox[report]'``.

Every chart ``x(result)`` has its numbers as a table, ``x_data(result)``.
"""

from __future__ import annotations

from plurivox.plots.alignment import (
    alignment_dots,
    alignment_dots_data,
    distance_histogram,
    distance_histogram_data,
    refusals,
    refusals_data,
)
from plurivox.plots.alignment_matrices import (
    alignment_heat,
    alignment_heat_data,
    alignment_wins,
    alignment_wins_data,
)
from plurivox.plots.calibration import (
    pit_histograms,
    pit_histograms_data,
    reliability_curves,
    reliability_curves_data,
)
from plurivox.plots.comparisons import metric_comparison, metric_comparison_data
from plurivox.plots.curves import precision_recall, precision_recall_data
from plurivox.plots.forests import (
    gai_forest,
    gai_forest_data,
    responsiveness_forest,
    responsiveness_forest_data,
    scale_forest,
    scale_forest_data,
)
from plurivox.plots.item_views import item_groups, item_groups_data
from plurivox.plots.items import items_divided, items_divided_data, items_uncertain, items_uncertain_data
from plurivox.plots.matrices import dsi_ranking, dsi_ranking_data, xrr_matrix, xrr_matrix_data
from plurivox.plots.nulls import null_histograms, null_histograms_data
from plurivox.plots.overview import (
    design,
    design_data,
    group_sizes,
    group_sizes_data,
    ratings_per_item,
    ratings_per_item_data,
    response_styles,
    response_styles_data,
    scale_use,
    scale_use_data,
)
from plurivox.plots.planes import mpa_wra_plane, mpa_wra_plane_data
from plurivox.plots.psychometrics import item_severity, item_severity_data, score_curves, score_curves_data
from plurivox.plots.soft import (
    prior_sensitivity,
    prior_sensitivity_data,
    soft_by_bin,
    soft_by_bin_data,
    soft_ranking,
    soft_ranking_data,
)
from plurivox.plots.studies import responsiveness_study
from plurivox.plots.writing import to_svg, write_chart

__all__ = [
    "alignment_dots",
    "alignment_dots_data",
    "alignment_heat",
    "alignment_heat_data",
    "alignment_wins",
    "alignment_wins_data",
    "design",
    "design_data",
    "distance_histogram",
    "distance_histogram_data",
    "dsi_ranking",
    "dsi_ranking_data",
    "gai_forest",
    "gai_forest_data",
    "group_sizes",
    "group_sizes_data",
    "item_groups",
    "item_groups_data",
    "item_severity",
    "item_severity_data",
    "items_divided",
    "items_divided_data",
    "items_uncertain",
    "items_uncertain_data",
    "metric_comparison",
    "metric_comparison_data",
    "mpa_wra_plane",
    "mpa_wra_plane_data",
    "null_histograms",
    "null_histograms_data",
    "pit_histograms",
    "pit_histograms_data",
    "precision_recall",
    "precision_recall_data",
    "prior_sensitivity",
    "prior_sensitivity_data",
    "ratings_per_item",
    "ratings_per_item_data",
    "refusals",
    "refusals_data",
    "reliability_curves",
    "reliability_curves_data",
    "response_styles",
    "response_styles_data",
    "responsiveness_forest",
    "responsiveness_forest_data",
    "responsiveness_study",
    "scale_forest",
    "scale_forest_data",
    "scale_use",
    "scale_use_data",
    "score_curves",
    "score_curves_data",
    "soft_by_bin",
    "soft_by_bin_data",
    "soft_ranking",
    "soft_ranking_data",
    "to_svg",
    "write_chart",
    "xrr_matrix",
    "xrr_matrix_data",
]
