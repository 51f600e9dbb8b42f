"""A study as tables."""

from __future__ import annotations

from plurivox.domain.panel import PanelSummary
from plurivox.infer.view import Column, View, columns


def panel_view(panel: PanelSummary) -> View:
    """Return the shares of panel and population, and the weight of a rater in each group."""
    header = ["attribute", "value", "raters", *columns(".1%", ("panel", "population", "weighted"))]
    rows = [
        [
            cell.attribute, cell.value, cell.n_raters, cell.panel_share, cell.population_share, cell.weighted_share,
            cell.mean_weight,
        ]
        for cell in panel.cells
    ]  # fmt: skip
    return View("Panel against population", [*header, Column("weight of each", ".2f")], rows)
