"""Charts of the studies in :mod:`plurivox.studies`."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.plots.pieces import looks, numbers_told
from plurivox.plots.theme import COLOURS, SHAPES, load_altair, themed
from plurivox.studies import METRICS, ResponsivenessStudy


def responsiveness_study(found: ResponsivenessStudy) -> Any:
    """Draw each metric over the length of the scale, one line per pattern of scoring."""
    alt = load_altair()
    names = {pattern: pattern.replace("_", " ") for pattern in found.settings["patterns"]}
    frame = found.to_frame().with_columns(pl.col("pattern").replace(names), pl.col("statistic").replace(METRICS))
    patterns = list(names.values())
    legend = alt.Legend(title=None, symbolOpacity=1)
    look = looks("pattern", patterns, legend, color=COLOURS)
    shape = alt.Shape("pattern:N", title=None, scale=alt.Scale(domain=patterns, range=SHAPES[: len(patterns)]))
    base = alt.Chart(frame).encode(
        x=alt.X("top:Q", title="highest score K", axis=alt.Axis(values=found.settings["tops"], grid=False)),
        color=look["color"],
    )
    value = alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1]))
    band = base.mark_area(opacity=0.2).encode(y=alt.Y("ci_low:Q", title=None), y2="ci_high:Q")
    line = base.mark_line(strokeWidth=2).encode(y=value)
    tooltip = ["pattern:N", "statistic:N", alt.Tooltip("top:Q", title="K"), *numbers_told("value")]
    point = base.mark_point(filled=True, size=50, opacity=1).encode(y=value, shape=shape, tooltip=tooltip)
    panels = (
        alt.layer(band, line, point)
        .properties(width=150, height=130)
        .facet(facet=alt.Facet("statistic:N", sort=list(METRICS.values()), title=None), columns=4)
        .resolve_axis(x="independent")
    )
    asked = found.settings
    size = f"{asked['n_raters']} raters, {asked['n_items']:,} items, {asked['repeats']} repeats"
    title = "Which metric notices which pattern of scoring"
    return themed(panels, title, f"Simulated: {size}; bands are 95 % intervals")
