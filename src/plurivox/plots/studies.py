"""Charts of the studies in :mod:`plurivox.studies`, and of published tables next to ours."""

from __future__ import annotations

import polars as pl

from plurivox.plots.layout import pixels
from plurivox.plots.pieces import Grid, legend, looks, tips
from plurivox.plots.theme import COLOURS, SHAPES, narrow, themed
from plurivox.plots.vega import Chart, field, layer, vconcat
from plurivox.reproduce import Reproduction
from plurivox.statistics.registry import LABELS
from plurivox.studies import METRICS, ResponsivenessStudy, SoftStudy

_BAND = {"statistic": "metric", "top": "highest score", "ci_low": "95 % interval from", "ci_high": "to"}


def responsiveness_study(found: ResponsivenessStudy) -> Chart:
    """Draw each metric over the length of the scale, one line per pattern of scoring."""
    names = {pattern: pattern.replace("_", " ") for pattern in found.settings["patterns"]}
    frame = found.to_frame().with_columns(pl.col("pattern").replace(names), pl.col("statistic").replace(METRICS))
    patterns = list(names.values())
    look = looks("pattern", patterns, legend(patterns), color=COLOURS)
    grid = Grid.of(len(METRICS), 120, each=34)
    shape = field("pattern:N", title=None, scale={"domain": patterns, "range": SHAPES[: len(patterns)]})
    base = Chart.of(frame).encode(
        x=field("top:Q", title="highest score K", axis={"values": found.settings["tops"], "grid": False}),
        color=look["color"],
    )
    value = field("value:Q", title=None, scale={"domain": [0, 1]})
    band = base.mark("area", opacity=0.2).encode(y=field("ci_low:Q", title=None), y2="ci_high")
    line = base.mark("line", strokeWidth=2).encode(y=value)
    tooltip = tips("pattern", "statistic", "top", "value", "ci_low", "ci_high", names=_BAND)
    point = base.mark("point", filled=True, size=50, opacity=1).encode(y=value, shape=shape, tooltip=tooltip)
    panels = (
        layer(band, line, point)
        .properties(width=grid.width, height=130)
        .facet(
            field("statistic:N", sort=list(METRICS.values()), title=None),
            grid.n,
            resolve={"axis": {"x": "independent"}},
        )
    )
    asked = found.settings
    size = f"{asked['n_raters']} raters, {asked['n_items']:,} items, {asked['repeats']} repeats"
    title = "Which metric detects which pattern of scoring"
    return themed(panels, title, f"Simulated: {size}; bands are 95 % intervals")


def soft_study(found: SoftStudy) -> Chart:
    """Draw each expected score over the number of ratings, one line per prediction; its limit is dotted."""
    frame, names = found.to_frame(), list(found.settings["predictions"])
    look = looks("prediction", names, legend(names), color=COLOURS, shape=SHAPES)
    grid = Grid.of(frame["statistic"].n_unique(), 150, most=3, gap=28, each=52)
    sizes = frame["n_ratings"].unique().sort().to_list()
    x = field(
        "n_ratings:Q", title="ratings", scale={"type": "log", "nice": False}, axis={"values": sizes, "format": "~g"}
    )
    panels = []
    for at, (statistic, label) in enumerate(
        (one, LABELS[one]) for one in frame["statistic"].unique(maintain_order=True)
    ):
        own = frame.filter(statistic=statistic)
        y = field("value:Q", title=label, scale={"zero": False}, axis={"tickCount": 5, "format": "~g"})
        base = Chart.of(own).encode(color=look["color"])
        limit = base.mark("rule", strokeDash=[2, 3], strokeWidth=1.2).encode(y="limit:Q")
        line = base.mark("line", strokeWidth=2).encode(x=x, y=y)
        tooltip = tips("prediction", "n_ratings", "value", "limit", names={"n_ratings": "ratings", "value": label})
        point = base.mark("point", filled=True, size=50, opacity=1)
        point = point.encode(x=x, y=y, shape=look["shape"], tooltip=tooltip)
        panels.append(layer(limit, line, point).properties(width=grid.width, height=150, name=f"panel_{at}"))
    counts = ", ".join(map(str, found.settings["counts"]))
    told = (
        f"Expected scores with prior weight {found.settings['prior']:g} per point, for the same shares of ratings: "
        f"{counts} and multiples of it. Dotted: the score against the shares themselves. Lower is better."
    )
    return themed(grid.lines(panels), "The same shares with more ratings", told)


# Charts of published tables next to ours ------------------------------------------------------------------------------


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
