"""Results as charts in Vega-Lite; nothing is computed here. Pictures need ``pip install 'plurivox[report]'``."""

# Written by python -m tools.stubs.

from collections.abc import Callable
from typing import Any

from plurivox.plots.alignment import alignment_dots as alignment_dots
from plurivox.plots.alignment import alignment_dots_data as alignment_dots_data
from plurivox.plots.alignment import distance_histogram as distance_histogram
from plurivox.plots.alignment import distance_histogram_data as distance_histogram_data
from plurivox.plots.alignment import refusals as refusals
from plurivox.plots.alignment import refusals_data as refusals_data
from plurivox.plots.alignment_matrices import alignment_heat as alignment_heat
from plurivox.plots.alignment_matrices import alignment_heat_data as alignment_heat_data
from plurivox.plots.alignment_matrices import alignment_items as alignment_items
from plurivox.plots.alignment_matrices import alignment_items_data as alignment_items_data
from plurivox.plots.alignment_matrices import alignment_wins as alignment_wins
from plurivox.plots.alignment_matrices import alignment_wins_data as alignment_wins_data
from plurivox.plots.cohesion import dsi_ranking as dsi_ranking
from plurivox.plots.cohesion import dsi_ranking_data as dsi_ranking_data
from plurivox.plots.cohesion import null_histograms as null_histograms
from plurivox.plots.cohesion import null_histograms_data as null_histograms_data
from plurivox.plots.cohesion import xrr_matrix as xrr_matrix
from plurivox.plots.cohesion import xrr_matrix_data as xrr_matrix_data
from plurivox.plots.forests import gai_forest as gai_forest
from plurivox.plots.forests import gai_forest_data as gai_forest_data
from plurivox.plots.forests import hidden_views as hidden_views
from plurivox.plots.forests import hidden_views_data as hidden_views_data
from plurivox.plots.forests import leniency_forest as leniency_forest
from plurivox.plots.forests import leniency_forest_data as leniency_forest_data
from plurivox.plots.forests import responsiveness_forest as responsiveness_forest
from plurivox.plots.forests import responsiveness_forest_data as responsiveness_forest_data
from plurivox.plots.forests import scale_forest as scale_forest
from plurivox.plots.forests import scale_forest_data as scale_forest_data
from plurivox.plots.items import item_groups as item_groups
from plurivox.plots.items import item_groups_data as item_groups_data
from plurivox.plots.items import item_severity as item_severity
from plurivox.plots.items import item_severity_data as item_severity_data
from plurivox.plots.items import items_divided as items_divided
from plurivox.plots.items import items_divided_data as items_divided_data
from plurivox.plots.items import items_uncertain as items_uncertain
from plurivox.plots.items import items_uncertain_data as items_uncertain_data
from plurivox.plots.items import score_curves as score_curves
from plurivox.plots.items import score_curves_data as score_curves_data
from plurivox.plots.models import estimate_forest as estimate_forest
from plurivox.plots.models import estimate_forest_data as estimate_forest_data
from plurivox.plots.models import judge_card as judge_card
from plurivox.plots.models import judge_card_data as judge_card_data
from plurivox.plots.overview import design as design
from plurivox.plots.overview import design_data as design_data
from plurivox.plots.overview import group_sizes as group_sizes
from plurivox.plots.overview import group_sizes_data as group_sizes_data
from plurivox.plots.overview import ratings_per_item as ratings_per_item
from plurivox.plots.overview import ratings_per_item_data as ratings_per_item_data
from plurivox.plots.overview import response_styles as response_styles
from plurivox.plots.overview import response_styles_data as response_styles_data
from plurivox.plots.overview import scale_use as scale_use
from plurivox.plots.overview import scale_use_data as scale_use_data
from plurivox.plots.planes import mpa_wra_plane as mpa_wra_plane
from plurivox.plots.planes import mpa_wra_plane_data as mpa_wra_plane_data
from plurivox.plots.responsiveness import metric_comparison as metric_comparison
from plurivox.plots.responsiveness import metric_comparison_data as metric_comparison_data
from plurivox.plots.responsiveness import metric_lines as metric_lines
from plurivox.plots.responsiveness import metric_lines_data as metric_lines_data
from plurivox.plots.responsiveness import precision_recall as precision_recall
from plurivox.plots.responsiveness import precision_recall_data as precision_recall_data
from plurivox.plots.responsiveness import precision_recall_spread as precision_recall_spread
from plurivox.plots.responsiveness import precision_recall_spread_data as precision_recall_spread_data
from plurivox.plots.soft import pit_histograms as pit_histograms
from plurivox.plots.soft import pit_histograms_data as pit_histograms_data
from plurivox.plots.soft import prior_sensitivity as prior_sensitivity
from plurivox.plots.soft import prior_sensitivity_data as prior_sensitivity_data
from plurivox.plots.soft import reliability_curves as reliability_curves
from plurivox.plots.soft import reliability_curves_data as reliability_curves_data
from plurivox.plots.soft import soft_by_bin as soft_by_bin
from plurivox.plots.soft import soft_by_bin_data as soft_by_bin_data
from plurivox.plots.soft import soft_ranking as soft_ranking
from plurivox.plots.soft import soft_ranking_data as soft_ranking_data
from plurivox.plots.studies import reproduction as reproduction
from plurivox.plots.studies import reproduction_data as reproduction_data
from plurivox.plots.studies import responsiveness_study as responsiveness_study
from plurivox.plots.studies import soft_study as soft_study
from plurivox.plots.theme import sized as sized
from plurivox.plots.variation import adjusted_effects as adjusted_effects
from plurivox.plots.variation import adjusted_effects_data as adjusted_effects_data
from plurivox.plots.variation import drift_forest as drift_forest
from plurivox.plots.variation import drift_forest_data as drift_forest_data
from plurivox.plots.variation import rater_reliability as rater_reliability
from plurivox.plots.variation import rater_reliability_data as rater_reliability_data
from plurivox.plots.variation import repeat_agreement as repeat_agreement
from plurivox.plots.variation import repeat_agreement_data as repeat_agreement_data
from plurivox.plots.variation import variance_shares as variance_shares
from plurivox.plots.variation import variance_shares_data as variance_shares_data
from plurivox.plots.writing import to_svg as to_svg
from plurivox.plots.writing import write_chart as write_chart

OF_LENSES: dict[str, str]

def chart_of(lens: str) -> Callable[..., Any]: ...

__all__ = [
    "adjusted_effects",
    "adjusted_effects_data",
    "alignment_dots",
    "alignment_dots_data",
    "alignment_heat",
    "alignment_heat_data",
    "alignment_items",
    "alignment_items_data",
    "alignment_wins",
    "alignment_wins_data",
    "design",
    "design_data",
    "distance_histogram",
    "distance_histogram_data",
    "drift_forest",
    "drift_forest_data",
    "dsi_ranking",
    "dsi_ranking_data",
    "estimate_forest",
    "estimate_forest_data",
    "gai_forest",
    "gai_forest_data",
    "group_sizes",
    "group_sizes_data",
    "hidden_views",
    "hidden_views_data",
    "item_groups",
    "item_groups_data",
    "item_severity",
    "item_severity_data",
    "items_divided",
    "items_divided_data",
    "items_uncertain",
    "items_uncertain_data",
    "judge_card",
    "judge_card_data",
    "leniency_forest",
    "leniency_forest_data",
    "metric_comparison",
    "metric_comparison_data",
    "metric_lines",
    "metric_lines_data",
    "mpa_wra_plane",
    "mpa_wra_plane_data",
    "null_histograms",
    "null_histograms_data",
    "pit_histograms",
    "pit_histograms_data",
    "precision_recall",
    "precision_recall_data",
    "precision_recall_spread",
    "precision_recall_spread_data",
    "prior_sensitivity",
    "prior_sensitivity_data",
    "rater_reliability",
    "rater_reliability_data",
    "ratings_per_item",
    "ratings_per_item_data",
    "refusals",
    "refusals_data",
    "reliability_curves",
    "reliability_curves_data",
    "repeat_agreement",
    "repeat_agreement_data",
    "reproduction",
    "reproduction_data",
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
    "sized",
    "soft_by_bin",
    "soft_by_bin_data",
    "soft_ranking",
    "soft_ranking_data",
    "soft_study",
    "to_svg",
    "variance_shares",
    "variance_shares_data",
    "write_chart",
    "xrr_matrix",
    "xrr_matrix_data",
]
