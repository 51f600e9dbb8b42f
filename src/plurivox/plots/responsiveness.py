"""MPA and WRA beside other metrics, and precision and recall over the points of the scale."""

from __future__ import annotations

import math
import statistics
from typing import Any

import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.base.wording import listed
from plurivox.domain.scale_names import Poles
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.plots import groups as g
from plurivox.plots.layout import ALL_RATERS, Rows, defined, extent, pixels, row_axis, shorten, unique_labels
from plurivox.plots.pieces import Grid, across, legend, looks, once, tips, titled, vertical
from plurivox.plots.theme import COLOURS, INK, LINE, QUIET, SHAPES, STEP, saying, themed
from plurivox.plots.vega import Chart, Spec, field, joined, layer
from plurivox.statistics.registry import LABELS

_BESIDE = ("kendall_tau_b", "auroc")
_SIDE_BY_SIDE = ("mpa", "wra", "hm", "kendall_tau_b", "spearman_rho", "auroc", "average_precision")
MAX_POINTS = 1000
_PAIRS = [(first, second) for first in ("mpa", "wra") for second in _BESIDE]
_SCHEMA = g.texts("group", "metric", "beside") | g.numbers("value", "beside value", "r", "r low", "r high")


@once
def metric_comparison_data(
    result: Responsiveness, axis: str, *, subset: str | None = None, max_groups: int | None = MAX_POINTS
) -> pl.DataFrame:
    """Return what :func:`metric_comparison` draws: one row per group and pair of metrics, raters without names."""
    subset = g.chosen_subset(result, subset)
    raters = g.names_raters(axis)
    rows = list(_rows(result, axis, subset).values())
    if max_groups is not None and len(rows) > max_groups:
        step = -(-len(rows) // max_groups)
        rows = sorted(rows, key=lambda own: (math.isnan(own["mpa"].value), own["mpa"].value))[::step]
    correlations = result.correlations().filter(pl.col("axis") == axis, pl.col("subset") == subset)
    cells: list[tuple[Any, ...]] = []
    for first, second in _PAIRS:
        found = correlations.filter(statistic=first, other=second).select("value", "ci_low", "ci_high").row(0)
        for own in rows:
            group = None if raters else own[first].group
            cells.append((group, LABELS[first], LABELS[second], own[first].value, own[second].value, *found))
    frame = pl.DataFrame(cells, schema=_SCHEMA, orient="row")
    return frame.drop("group").sort("metric", "beside", "value", "beside value") if raters else frame


def metric_comparison(
    result: Responsiveness, axis: str, *, subset: str | None = None, max_groups: int | None = MAX_POINTS
) -> Chart:
    """Draw MPA and WRA of each group against Kendall's τ_b and AUROC, with Pearson's r.

    Parameters
    ----------
    axis
        The axis whose groups to show; ``"rater"`` for a dot per rater, without names.
    max_groups
        If there are more groups, this many are shown, evenly spread over MPA; r uses all.
    """
    title = f"MPA and WRA against common metrics, by {shorten(axis)}"
    data = metric_comparison_data(result, axis, subset=subset, max_groups=max_groups)
    if defined(data, "value", "beside value").is_empty():
        return saying(title, "No group has both metrics." if data.height else "There are no groups to show.")
    grid = Grid.of(len(_PAIRS), 200, most=2, each=52, gap=24)
    panels = [_pair_panel(data, *pair, grid.width).properties(name="_".join(pair)) for pair in _PAIRS]
    chart = joined("concat", panels, columns=grid.n, spacing=grid.gap)
    shown = data.height // len(panels)
    total = len(_rows(result, axis, g.chosen_subset(result, subset)))
    what = "raters" if g.names_raters(axis) else "groups"
    many = f"{shown:,} of {total:,} {what} shown, evenly spread over MPA. " if shown < total else f"{total:,} {what}. "
    return themed(chart, title, many + f"r with its 95 % interval, which treats {what} as independent.")


@once
def metric_lines_data(
    result: Responsiveness, axis: str, *, subset: str | None = None, max_groups: int | None = 40
) -> pl.DataFrame:
    """Return what :func:`metric_lines` draws: one row per group and metric, groups in the order of their HM."""
    subset = g.chosen_subset(result, subset)
    rows = {key: own for key, own in g.group_rows(result, ("hm",), axis, subset).items() if key[0] == axis}
    shown = set(g.most_notable(result, rows, subset, max_groups))
    order = sorted(shown, key=lambda key: (math.isnan(rows[key]["hm"].value), -rows[key]["hm"].value, key))
    found = g.group_rows(result, _SIDE_BY_SIDE, axis, subset)
    cells = []
    for name in _SIDE_BY_SIDE:
        values = {key: found[key][name].value for key in order if name in found[key]}
        known = [value for value in values.values() if not math.isnan(value)]
        middle = statistics.median(known) if known else math.nan
        cells += [
            (key[1], LABELS[name], value, value - middle, found[key][name].ci_low, found[key][name].ci_high)
            for key, value in values.items()
        ]
    schema = g.texts("group", "metric") | g.numbers("value", "beside the median", "ci low", "ci high")
    return pl.DataFrame(cells, schema=schema, orient="row")


def metric_lines(result: Responsiveness, axis: str, *, subset: str | None = None, max_groups: int | None = 40) -> Chart:
    """Draw all metrics of each group side by side, each relative to its own median over the groups.

    Lines that rise and fall together say the same about the groups; where one departs from the others, that metric
    sees something else.
    """
    title = f"All metrics of each group, by {shorten(axis)}"
    g.check_axis(result, axis)
    data = metric_lines_data(result, axis, subset=subset, max_groups=max_groups)
    drawn = defined(data, "beside the median")
    if drawn.is_empty():
        return saying(title, g.RATERS_UNNAMED if g.names_raters(axis) else "There are no groups to show.")
    groups = drawn["group"].unique(maintain_order=True).to_list()
    rows = Rows([("", group) for group in groups], unique_labels(groups))
    metrics = drawn["metric"].unique(maintain_order=True).to_list()
    placed = rows.place(drawn.with_columns(axis=pl.lit("")))
    look = looks("metric", metrics, rows.legend(metrics, symbolOpacity=1), color=COLOURS, shape=SHAPES)
    width = rows.plot_width()
    x = across("relative to the metric's median over groups", extent([*drawn["beside the median"], 0.0]), width)
    base = Chart.of(placed).encode(y=rows.y(), x=x("beside the median"), color=look["color"])
    names = {"value": "its value", "beside the median": "relative to the median"}
    told = tips("group", "metric", "value", "ci low", "ci high", "beside the median", names=names)
    lines = base.mark("line", strokeWidth=1.6, orient="vertical")
    dots = base.mark("point", filled=True, size=45, opacity=1).encode(shape=look["shape"], tooltip=told)
    chart = layer(vertical(0.0, x, LINE), lines, dots).properties(
        width=width, height={"step": STEP + 6 if len(groups) <= 24 else STEP}
    )
    total = len(_rows(result, axis, g.chosen_subset(result, subset)))
    words = f"{g.shown_words(len(groups), len(groups), total)}Groups from the highest HM to the lowest."
    return themed(chart, title, words)


def correlation_words(data: pl.DataFrame) -> str:
    """Say how far each metric in :func:`metric_comparison` correlates with the others, and how to read that."""
    parts = []
    for metric in data["metric"].unique(maintain_order=True):
        own = data.filter(metric=metric).unique("beside", maintain_order=True)
        values = (
            f"{'undefined' if g.finite_or_none(r) is None else g.two_decimals(r)} with {beside}"
            for beside, r in own.select("beside", "r").iter_rows()
        )
        parts.append(f"{metric} {listed(values)}")
    return (
        f"r over these groups: {'; '.join(parts)}. Near 1, the two say the same about groups; near 0, each asks a "
        "question of its own."
    )


def _rows(result: Responsiveness, axis: str, subset: str) -> g.ByGroup:
    g.check_axis(result, axis)
    names = ("mpa", "wra", *_BESIDE)
    return g.rater_rows(result, subset, names) if g.names_raters(axis) else g.group_rows(result, names, axis, subset)


def _pair_panel(data: pl.DataFrame, first: str, second: str, width: int) -> Chart:
    own = data.filter(metric=LABELS[first], beside=LABELS[second])
    drawn = defined(own, "value", "beside value")
    x, y = ({"domain": list(extent(drawn[one])), "nice": False, "zero": False} for one in ("beside value", "value"))
    who = ["group"] if "group" in data.columns else []
    r, low, high = own.select("r", "r low", "r high").row(0)
    words = f"{LABELS[first]} and {LABELS[second]}: r is undefined"
    if g.finite_or_none(r) is not None:
        ends = "" if g.finite_or_none(low) is None else f" ({g.two_decimals(low)} to {g.two_decimals(high)})"
        words = f"{LABELS[first]} and {LABELS[second]}: r = {g.two_decimals(r)}{ends}"
    encoded = Chart.of(drawn).mark("point", filled=True, size=45, opacity=0.6, color=COLOURS[0]).encode(
        x=field("beside value:Q", title=LABELS[second], scale=x, axis={"tickCount": 4}),
        y=field("value:Q", title=LABELS[first], scale=y, axis={"tickCount": 4}),
        tooltip=tips(*who, "value", "beside value", names={"value": LABELS[first], "beside value": LABELS[second]}),
    )  # fmt: skip
    title = {"text": words, "anchor": "start", "fontSize": 12, "color": INK, "frame": "group"}
    return encoded.properties(width=width, height=150, title=title)


# Precision and recall over the points of the scale --------------------------------------------------------------------


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
    frame = result.scores().filter(subset=subset, boundary=_boundary(result, boundary))
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
        return saying(title, g.RATERS_UNNAMED if g.names_raters(axis) else "There are no groups to show.")
    if defined(data, "precision").is_empty():
        return saying(title, "Precision and recall are undefined: no score meets a reference.")
    placed, scales = _coloured(data)
    panels = [_score_panel(placed, name, result, scales) for name in _METRICS]
    total, settings = len(g.group_rows(result, ("mpa", "wra"), axis, subset)), result.settings
    shown, boundaries = data.filter(pl.col("axis") != "all")["group"].n_unique(), settings["reference"]["boundaries"]
    text = g.shown_words(shown, shown, total) + Poles.of(settings).fill("{High}")
    text += f" is what {shorten(settings['reference']['name'], 40)} rates “{shorten(_boundary(result, boundary))}”"
    text += f"{' or above' if len(boundaries) > 1 else ''}. "
    if data["few items"].any():
        text += f"Hollow: fewer than {settings['min_support']:g} items. "
    return themed(_grid().lines(panels), title, text)


@once
def precision_recall_spread_data(
    result: Responsiveness, axis: str, boundary: str | None = None, *, subset: str | None = None
) -> pl.DataFrame:
    """Return what :func:`precision_recall_spread` draws: one row per metric and score, quantiles over groups."""
    g.check_axis(result, axis)
    subset = g.chosen_subset(result, subset)
    own = result.scores().filter(axis=axis, subset=subset, boundary=_boundary(result, boundary))
    if not g.names_raters(axis):
        own = own.filter(pl.col("group").is_in([group for _, group in g.group_rows(result, ("mpa",), axis, subset)]))
    places = {point: at for at, point in enumerate(result.settings["points"])}
    long = own.unpivot(_METRICS, index="score", variable_name="metric").filter(pl.col("value").is_finite())
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
    title = f"How precision and recall spread over {what}{'' if what == 'raters' else f' of {shorten(axis)}'}"
    data = precision_recall_spread_data(result, axis, boundary, subset=subset)
    if data.is_empty():
        return saying(title, "Precision and recall are undefined: no score meets a reference.")
    grid = _grid()
    wide = max(2, min(18, round(0.6 * grid.width / len(result.settings["points"]))))
    told = tips("metric", "score", "median", *_TOLD, names=_TOLD)
    panels = []
    for name in _METRICS:
        base = Chart.of(data.filter(metric=name)).encode(x=_scores(result, grid.width))
        value = {"title": name, "scale": {"domain": [0, 1]}}
        ends = {"y": field("lowest tenth:Q", **value), "y2": field("highest tenth")}
        box = {"y": field("lower quarter:Q", **value), "y2": field("upper quarter")}
        panels.append(layer(
            base.mark("rule", color=COLOURS[0], strokeWidth=1.5).encode(**ends),
            base.mark("bar", color=COLOURS[0], opacity=0.45, width=wide).encode(**box, tooltip=told),
            base.mark("tick", color=INK, thickness=2.5, width=wide).encode(y=field("median:Q", **value)),
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
    whole, n = (keys["axis"] == "all").to_list(), iter(range(len(COLOURS)))
    numbers = [None if each else next(n) for each in whole]
    colours = [QUIET if at is None else COLOURS[at] for at in numbers]
    shapes = ["stroke" if at is None else SHAPES[at] for at in numbers]
    dashes = [[4, 3] if each else [1, 0] for each in whole]
    scales = looks("label", labels, legend(labels), color=colours, fill=colours, shape=shapes, strokeDash=dashes)
    names = keys.with_columns(label=pl.Series(labels, dtype=pl.String))
    return known.join(names, on=["axis", "group"], how="left", maintain_order="left"), scales


def _score_panel(placed: pl.DataFrame, name: str, result: Responsiveness, scales: dict[str, Spec]) -> Chart:
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
