"""Charts of published tables next to ours."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.plots.layout import pixels
from plurivox.plots.pieces import Grid, legend, tips
from plurivox.plots.theme import COLOURS, load_altair, narrow, themed
from plurivox.reproduce.record import Reproduction
from plurivox.statistics.registry import LABELS

PUBLISHED, OURS = "published", "ours"
MOST_COLUMNS = 4
_TOLD = {"row": "of", "column": "what", "value": "number"}


def reproduction_data(found: Reproduction) -> pl.DataFrame:
    """Return one row per cell and source, printed numbers and ours; words are left out."""
    printed = pl.col("published").cast(pl.Float64, strict=False)
    frame = found.to_frame().with_columns(pl.col("column").replace(LABELS))
    keys = ["table", "row", "column"]
    sides = [
        frame.select(*keys, source=pl.lit(name), value=value, difference="difference")
        for name, value in ((PUBLISHED, printed), (OURS, pl.col("ours")))
    ]
    return pl.concat(sides).filter(pl.col("value").is_not_nan(), pl.col("value").is_not_null())


def reproduction(found: Reproduction) -> Any:
    """Draw each column of each table: a ring for the printed number, a dot in it for ours."""
    alt = load_altair()
    frame, whole = reproduction_data(found), found.to_frame()
    tables = [
        _panels(alt, name, frame.filter(table=name), both=PUBLISHED in frame["source"])
        for name in whole["table"].unique(maintain_order=True)
    ]
    chart = alt.vconcat(*tables, spacing=30).resolve_scale(x="independent", y="independent", color="shared")
    known = whole["agrees"].drop_nulls()
    said = "Rings are printed, dots are ours" if PUBLISHED in frame["source"] else "Dots are ours"
    said += f": {int(known.sum())} of {len(known)} cells agree with the printed ones" if len(known) else ""
    return themed(chart, found.settings["citation"].partition(",")[0], said)


def _panels(alt: Any, name: str, part: pl.DataFrame, *, both: bool) -> Any:
    """Draw a table; columns with a common unit, shares or changes of them, also share an axis."""
    alike = not both and max(map(abs, part["value"])) <= 1
    rows = part["row"].unique(maintain_order=True).to_list()
    columns = part["column"].unique(maintain_order=True).to_list()
    limit = 110 if narrow() else 260
    grid = Grid.of(len(columns), 90, most=MOST_COLUMNS, first=min(pixels(rows), limit) + 34)
    look = alt.Scale(domain=[PUBLISHED, OURS], range=[COLOURS[1], COLOURS[0]])
    base = alt.Chart().encode(
        x=alt.X("value:Q", title=None, scale=alt.Scale(zero=False, padding=8), axis=alt.Axis(tickCount=3)),
        y=alt.Y("row:N", title=None, sort=rows, axis=alt.Axis(labelLimit=limit, grid=True)),
        color=alt.Color("source:N", title=None, scale=look, legend=legend([PUBLISHED, OURS]) if both else None),
        tooltip=tips("row", "column", "source", "value", "difference", names=_TOLD),
    )
    ring = base.transform_filter(alt.datum.source == PUBLISHED).mark_point(size=90, strokeWidth=2, filled=False)
    dot = base.transform_filter(alt.datum.source == OURS).mark_point(size=22, filled=True, opacity=1)
    return (
        alt.layer(ring, dot, data=part)
        .properties(width=min(grid.width, 180), height=alt.Step(13))
        .facet(facet=alt.Facet("column:N", title=None, sort=columns), columns=grid.n, title=name)
        .resolve_scale(x="shared" if alike else "independent")
    )
