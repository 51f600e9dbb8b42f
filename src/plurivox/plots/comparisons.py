"""MPA and WRA compared with common metrics."""

from __future__ import annotations

import math
import statistics
from typing import Any

import polars as pl

from plurivox.base.wording import listed
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.plots import groups as g
from plurivox.plots.layout import Rows, defined, extent, shorten, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import Grid, across, looks, tips, vertical
from plurivox.plots.theme import COLOURS, INK, LINE, SHAPES, STEP, saying, themed
from plurivox.plots.vega import Chart, field, joined, layer
from plurivox.statistics.registry import LABELS

_BESIDE = ("kendall_tau_b", "auroc")
_SIDE_BY_SIDE = ("mpa", "wra", "hm", "kendall_tau_b", "spearman_rho", "auroc", "average_precision")
MAX_POINTS = 1000
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
        rows = sorted(rows, key=lambda own: (math.isnan(own["mpa"].value), own["mpa"].value))[
            :: -(-len(rows) // max_groups)
        ]
    correlations = result.correlations().filter(pl.col("axis") == axis, pl.col("subset") == subset)
    cells: list[tuple[Any, ...]] = []
    for first, second in _pairs():
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
    grid = Grid.of(len(_pairs()), 200, most=2, each=52, gap=24)
    panels = [
        _panel(data, first, second, grid.width).properties(name=f"{first}_{second}") for first, second in _pairs()
    ]
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
    legend = {"title": None, "symbolOpacity": 1, **rows.legend(metrics)}
    look = looks("metric", metrics, legend, color=COLOURS, shape=SHAPES)
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
            f"{'undefined' if g.finite_or_none(r) is None else _signed(r)} with {beside}"
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


def _panel(data: pl.DataFrame, first: str, second: str, width: int) -> Chart:
    own = data.filter(metric=LABELS[first], beside=LABELS[second])
    drawn = defined(own, "value", "beside value")
    x, y = (
        {"domain": list(extent(drawn[column])), "nice": False, "zero": False} for column in ("beside value", "value")
    )
    who = ["group"] if "group" in data.columns else []
    words = f"{LABELS[first]} and {LABELS[second]}: {_correlation(*own.select('r', 'r low', 'r high').row(0))}"
    return (
        Chart.of(drawn)
        .mark("point", filled=True, size=45, opacity=0.6, color=COLOURS[0])
        .encode(
            x=field("beside value:Q", title=LABELS[second], scale=x, axis={"tickCount": 4}),
            y=field("value:Q", title=LABELS[first], scale=y, axis={"tickCount": 4}),
            tooltip=tips(*who, "value", "beside value", names={"value": LABELS[first], "beside value": LABELS[second]}),
        )
        .properties(
            width=width, height=150,
            title={"text": words, "anchor": "start", "fontSize": 12, "color": INK, "frame": "group"},
        )
    )  # fmt: skip


def _pairs() -> list[tuple[str, str]]:
    return [(first, second) for first in ("mpa", "wra") for second in _BESIDE]


def _correlation(r: float, low: float, high: float) -> str:
    if g.finite_or_none(r) is None:
        return "r is undefined"
    interval = "" if g.finite_or_none(low) is None else f" ({_signed(low)} to {_signed(high)})"
    return f"r = {_signed(r)}{interval}"


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
