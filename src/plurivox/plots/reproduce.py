"""Charts of published tables next to ours."""

from __future__ import annotations

import polars as pl

from plurivox.plots.layout import pixels
from plurivox.plots.pieces import Grid, legend, tips
from plurivox.plots.theme import COLOURS, narrow, themed
from plurivox.plots.vega import Chart, field, layer, vconcat
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


def reproduction(found: Reproduction) -> Chart:
    """Draw each column of each table: a ring for the printed number, a dot in it for ours."""
    frame, whole = reproduction_data(found), found.to_frame()
    tables = [
        _panels(name, frame.filter(table=name), both=PUBLISHED in frame["source"])
        for name in whole["table"].unique(maintain_order=True)
    ]
    chart = vconcat(*tables, spacing=30).properties(
        resolve={"scale": {"x": "independent", "y": "independent", "color": "shared"}}
    )
    known = whole["agrees"].drop_nulls()
    said = "Rings are printed, dots are ours" if PUBLISHED in frame["source"] else "Dots are ours"
    said += f": {int(known.sum())} of {len(known)} cells agree with the printed ones" if len(known) else ""
    return themed(chart, found.settings["citation"].partition(",")[0], said)


def _panels(name: str, part: pl.DataFrame, *, both: bool) -> Chart:
    """Draw a table; columns with a common unit, shares or changes of them, also share an axis."""
    alike = not both and max(map(abs, part["value"])) <= 1
    rows = part["row"].unique(maintain_order=True).to_list()
    columns = part["column"].unique(maintain_order=True).to_list()
    limit = 110 if narrow() else 260
    grid = Grid.of(len(columns), 90, most=MOST_COLUMNS, first=min(pixels(rows), limit) + 34)
    look = {"domain": [PUBLISHED, OURS], "range": [COLOURS[1], COLOURS[0]]}
    base = Chart.of(part).encode(
        x=field("value:Q", title=None, scale={"zero": False, "padding": 8}, axis={"tickCount": 3}),
        y=field("row:N", title=None, sort=rows, axis={"labelLimit": limit, "grid": True}),
        color=field("source:N", title=None, scale=look, legend=legend([PUBLISHED, OURS]) if both else None),
        tooltip=tips("row", "column", "source", "value", "difference", names=_TOLD),
    )
    ring = base.filter(f"(datum.source === {PUBLISHED!r})").mark("point", size=90, strokeWidth=2, filled=False)
    dot = base.filter(f"(datum.source === {OURS!r})").mark("point", size=22, filled=True, opacity=1)
    return (
        layer(ring, dot)
        .properties(width=min(grid.width, 180), height={"step": 13})
        .facet(
            field("column:N", title=None, sort=columns),
            grid.n,
            title=name,
            resolve={"scale": {"x": "shared" if alike else "independent"}},
        )
    )
