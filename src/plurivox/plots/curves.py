"""Precision and recall over the points of the scale."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.domain.poles import Poles
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.plots import groups as g
from plurivox.plots.layout import ALL_RATERS, defined, pixels, row_axis, shorten, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import Grid, legend, looks, tips, titled
from plurivox.plots.theme import COLOURS, INK, QUIET, SHAPES, saying, themed
from plurivox.plots.vega import Chart, Spec, field, layer

_METRICS = ("precision", "recall")
_COLUMNS = {
    "axis": "axis", "group": "group", "score": "score", "position": "position", "precision": "precision",
    "recall": "recall", "n_items": "items", "n_ratings": "ratings", "share": "share of ratings", "rare": "few items",
}  # fmt: skip


@once
def precision_recall_data(
    result: Responsiveness, axis: str, boundary: str | None = None, *, subset: str | None = None,
    max_groups: int | None = 7,
) -> pl.DataFrame:  # fmt: skip
    """Return what :func:`precision_recall` draws: one row per group and score, all raters first."""
    g.check_axis(result, axis)
    subset = g.chosen_subset(result, subset)
    rows = g.group_rows(result, ("mpa", "wra"), axis, subset)
    shown = {group for _, group in g.most_notable(result, rows, subset, max_groups)}
    frame = result.scores().filter(pl.col("subset") == subset, pl.col("boundary") == _boundary(result, boundary))
    places = {point: at for at, point in enumerate(result.settings["points"])}
    frame = frame.with_columns(position=pl.col("score").replace_strict(places, return_dtype=pl.Int64))
    whole = frame.filter(axis="all").with_columns(group=pl.lit(ALL_RATERS))
    own = frame.filter(pl.col("axis") == axis, pl.col("group").is_in(shown))
    return pl.concat([whole, own]).select(pl.col(name).alias(shown) for name, shown in _COLUMNS.items())


def precision_recall(
    result: Responsiveness, axis: str, boundary: str | None = None, *, subset: str | None = None, max_groups: int = 7
) -> Chart:
    """Draw for each score how many of the items with it are unsafe, and how many of the unsafe items have it.

    Parameters
    ----------
    axis
        The axis whose groups to show, in addition to all raters.
    boundary
        The lowest reference point that means unsafe; by default the middle one.
    max_groups
        If there are more groups, the most notable are shown; at most seven.
    """
    max_groups = min(max_groups, len(COLOURS))
    title = f"Precision and recall at each score, by {shorten(axis)}"
    data = precision_recall_data(result, axis, boundary, subset=subset, max_groups=max_groups)
    if data.filter(pl.col("axis") != "all").is_empty():
        words = g.RATERS_UNNAMED if g.names_raters(axis) else "There are no groups to show."
        return saying(title, words)
    if defined(data, "precision").is_empty():
        return saying(title, "Precision and recall are undefined: no score meets a reference.")
    placed, scales = _coloured(data)
    panels = [_panel(placed, name, result, scales) for name in _METRICS]
    return themed(_grid().lines(panels), title, _words(result, axis, boundary, subset, data))


@once
def precision_recall_spread_data(
    result: Responsiveness, axis: str, boundary: str | None = None, *, subset: str | None = None
) -> pl.DataFrame:
    """Return what :func:`precision_recall_spread` draws: one row per metric and score, quantiles over groups."""
    g.check_axis(result, axis)
    subset = g.chosen_subset(result, subset)
    own = result.scores().filter(
        pl.col("axis") == axis, pl.col("subset") == subset, pl.col("boundary") == _boundary(result, boundary)
    )
    if not g.names_raters(axis):
        own = own.filter(pl.col("group").is_in([group for _, group in g.group_rows(result, ("mpa",), axis, subset)]))
    places = {point: at for at, point in enumerate(result.settings["points"])}
    long = own.unpivot(["precision", "recall"], index="score", variable_name="metric").filter(
        pl.col("value").is_finite()
    )
    found = long.group_by("metric", "score").agg(
        *(pl.col("value").quantile(at, "linear").alias(name) for name, at in _QUANTILES.items()), pl.len().alias("n")
    )
    placed = found.with_columns(position=pl.col("score").replace_strict(places, return_dtype=pl.Int64))
    return placed.sort("metric", "position").select("metric", "score", "position", *_QUANTILES, "n")


_QUANTILES = {"lowest tenth": 0.1, "lower quarter": 0.25, "median": 0.5, "upper quarter": 0.75, "highest tenth": 0.9}


def precision_recall_spread(
    result: Responsiveness, axis: str, boundary: str | None = None, *, subset: str | None = None
) -> Chart:
    """Draw how precision and recall at each score spread over groups, or over raters without names.

    Parameters
    ----------
    axis
        The axis whose groups to use; ``"rater"`` for individual raters.
    boundary
        The lowest reference point that means unsafe; by default the middle one.
    """
    what = "raters" if g.names_raters(axis) else "groups"
    title = f"How precision and recall spread over {what}"
    title += "" if what == "raters" else f" of {shorten(axis)}"
    data = precision_recall_spread_data(result, axis, boundary, subset=subset)
    if data.is_empty():
        return saying(title, "Precision and recall are undefined: no score meets a reference.")
    grid = _grid()
    wide = max(2, min(18, round(0.6 * grid.width / len(result.settings["points"]))))
    told = tips("metric", "score", "median", *_TOLD, names=_TOLD)
    panels = []
    for name in _METRICS:
        base = Chart.of(data.filter(metric=name)).encode(x=_scores(result, grid.width))
        value = {"domain": [0, 1]}
        ends = {"y": field("lowest tenth:Q", title=name, scale=value), "y2": field("highest tenth")}
        box = {"y": field("lower quarter:Q", title=name, scale=value), "y2": field("upper quarter")}
        panels.append(layer(
            base.mark("rule", color=COLOURS[0], strokeWidth=1.5).encode(**ends),
            base.mark("bar", color=COLOURS[0], opacity=0.45, width=wide).encode(**box, tooltip=told),
            base.mark("tick", color=INK, thickness=2.5, width=wide).encode(
                y=field("median:Q", title=name, scale=value)
            ),
        ).properties(width=grid.width, height=240, name=name))  # fmt: skip
    n = int(data.select(pl.col("n").max()).item())
    words = f"Of {n:,} {what}: the middle 80 % (line), the middle half (bar), the median. "
    return themed(grid.lines(panels), title, words)


_TOLD = {
    "lowest tenth": "middle 80 % from", "highest tenth": "to", "lower quarter": "middle half from",
    "upper quarter": "to",
}  # fmt: skip


def _grid() -> Grid:
    return Grid.of(len(_METRICS), 220, each=56, gap=24)


def _scores(result: Responsiveness, width: int) -> Spec:
    """Return the encoding of positions as scores from left to right, in this many pixels."""
    labels = unique_labels(result.settings["points"], 14)
    crowded = pixels(labels) * len(labels) > width
    axis = row_axis(
        labels, title="score", labelAngle=-40 if crowded else 0, domain=True, ticks=True, labelOverlap=True,
        labelAlign="right" if crowded else "center",
    )  # fmt: skip
    return field("position:O", axis=axis, scale={"domain": list(range(len(labels)))})


def _coloured(data: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, Any]]:
    """Return the groups that have a curve with their ``label``, and how each looks; all raters are dashed."""
    known = data.filter(pl.col("precision").is_finite().any().over("axis", "group"))
    keys = known.select("axis", "group").unique(maintain_order=True)
    labels = unique_labels(keys["group"])
    number = 0
    colours, shapes, dashes = [], [], []
    for axis in keys["axis"]:
        colours.append(QUIET if axis == "all" else COLOURS[number])
        shapes.append("stroke" if axis == "all" else SHAPES[number])
        dashes.append([4, 3] if axis == "all" else [1, 0])
        number += axis != "all"
    scales = looks("label", labels, legend(labels), color=colours, fill=colours, shape=shapes, strokeDash=dashes)
    names = keys.with_columns(label=pl.Series(labels, dtype=pl.String))
    return known.join(names, on=["axis", "group"], how="left", maintain_order="left"), scales


def _panel(placed: pl.DataFrame, name: str, result: Responsiveness, scales: dict[str, Spec]) -> Chart:
    high, width = Poles.of(result.settings).high, _grid().width
    meaning = {"precision": f"precision: {high} among those with the score", "recall": f"recall: share of all {high}"}
    base = Chart.of(placed).encode(
        x=_scores(result, width),
        y=field(f"{name}:Q", title=titled(meaning[name], 240), scale={"domain": [0, 1]}, axis={"tickCount": 5}),
        color=scales["color"],
    )
    lines = base.mark("line", strokeWidth=1.8).encode(strokeDash=scales["strokeDash"])
    rare = {"condition": {"test": "datum['few items']", "value": 0}, "value": 1}
    dots = base.mark("point", size=45, opacity=1, strokeWidth=1.5).encode(
        shape=scales["shape"], fill=scales["fill"], fillOpacity=rare,
        tooltip=tips("group", "score", name, "items"),
    )  # fmt: skip
    return layer(lines, dots).properties(width=width, height=240, name=name)


def _boundary(result: Responsiveness, boundary: str | None) -> str:
    known = result.settings["reference"]["boundaries"]
    if boundary is None:
        return str(known[len(known) // 2])
    if str(boundary) not in known:
        raise SelectionError(f"there is no boundary {boundary!r}; the boundaries are: {', '.join(known)}")
    return str(boundary)


def _words(result: Responsiveness, axis: str, boundary: str | None, subset: str | None, data: pl.DataFrame) -> str:
    total = len(g.group_rows(result, ("mpa", "wra"), axis, subset))
    shown = data.filter(pl.col("axis") != "all")["group"].n_unique()
    least = shorten(_boundary(result, boundary))
    text = g.shown_words(shown, shown, total)
    several = len(result.settings["reference"]["boundaries"]) > 1
    who = shorten(result.settings["reference"]["name"], 40)
    high = Poles.of(result.settings).fill("{High}")
    text += f"{high} is what {who} rates “{least}”{' or above' if several else ''}. "
    if data["few items"].any():
        text += f"Hollow: fewer than {result.settings['min_support']:g} items. "
    return text
