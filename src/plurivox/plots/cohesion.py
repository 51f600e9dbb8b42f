"""Agreement between groups, axes ranked by how much they divide, and what permutations give."""

from __future__ import annotations

import numpy as np
import polars as pl

from plurivox.base.wording import counted
from plurivox.infer.result import GroupResult, Row, p_text
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.plots import groups as g
from plurivox.plots.layout import LABEL, Rows, defined, extent, fitting, pixels, row_axis, shorten, unique_labels
from plurivox.plots.pieces import Grid, across, once, tips
from plurivox.plots.theme import (
    AGREEMENT,
    DARK,
    INK,
    ON_DARK,
    ON_LIGHT,
    QUIET,
    SEQUENCE,
    full_width,
    narrow,
    saying,
    themed,
)
from plurivox.plots.vega import Chart, field, layer

_CELL = {"statistic": "measure", "value": "agreement"}
_STARS = {g.BEFORE: "*", g.AFTER: "**"}
_READABLE = 24  # pixels that a cell needs for its value
_CORNER = 6  # with this many groups or more, the empty corner has room for the legend
_SMALLEST = 11  # the fewest pixels of a cell
_PAIRS = ("axis", "group", "other", "statistic", "value", "chance", "p", "p corrected", "finding", "raters", "note")
_MOST = {"group": "group with the largest GAI"}
_RANKED = ("axis", "group", "value", "chance", "p", "p corrected", "finding", "note")


@once
def xrr_matrix_data(result: Cohesion, axis: str, *, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`xrr_matrix` draws: each pair of groups once, and each group with itself."""
    rows = _pair_rows(result, axis)
    shown = _shown(rows, max_groups)
    return g.row_frame([row for row in rows if row.group in shown and row.other in shown], *_PAIRS)


def xrr_matrix(result: Cohesion, axis: str, *, max_groups: int | None = 40) -> Chart:
    """Draw the agreement between every two groups (XRR), and on the diagonal that within each (IRR).

    It needs ``cohesion(…, pairs=True)``; of many groups, those with the most notable pairs are shown.
    """
    title = f"Agreement within and between groups of {shorten(axis)}, {result.settings['level']} level"
    fit = (full_width() - 6 * fitting(LABEL)) // _SMALLEST
    max_groups = fit if max_groups is None else min(max_groups, fit)
    data = xrr_matrix_data(result, axis, max_groups=max_groups)
    drawn = defined(data, "value")
    if drawn.is_empty():
        why = "No pair of groups has a value." if data.height else "Pairs were not requested: cohesion(…, pairs=True)."
        return saying(title, g.RATERS_UNNAMED if g.names_raters(axis) else why)
    names = data["group"].unique(maintain_order=True).to_list()
    labels = unique_labels(names)
    places = {name: at for at, name in enumerate(names)}
    stars = pl.col("finding").replace_strict(_STARS, default="", return_dtype=pl.String)
    placed = drawn.with_columns(
        row=pl.col("other").replace_strict(places, return_dtype=pl.Int64),
        column=pl.col("group").replace_strict(places, return_dtype=pl.Int64),
        shown=pl.format("{}{}", pl.col("value").round(2).map_elements(_short, pl.String), stars),
    )
    room = full_width() - pixels(labels) - (24 if len(names) >= _CORNER or narrow() else 96)
    step = max(10, min(52, room // len(names)))
    chart = _cells(placed, labels, step)
    total = len({row.group for row in _pair_rows(result, axis)})
    subtitle = (
        g.shown_words(len(names), len(names), total, "those of the pairs with the smallest p")
        + "XRR of two groups, IRR of each on the diagonal; 1 is full agreement, 0 what chance gives. Colours "
        f"go from {AGREEMENT[0]:g} to {AGREEMENT[1]:g} in every such chart. ".replace("-", "−")
    )
    if data["p"].is_not_null().any():
        subtitle += "* differs from shuffled raters with p < .05, ** also after correction. "
    return themed(chart, title, subtitle)


@once
def dsi_ranking_data(result: Cohesion) -> pl.DataFrame:
    """Return what :func:`dsi_ranking` draws: one row per axis, the most divisive first, undefined ones last."""
    ranked = result.ranked_axes()
    rest = [row for row in result.rows if row.statistic == "dsi" and row not in ranked]
    shown = [row for row in (*ranked, *rest) if not g.names_raters(row.axis)]
    return g.row_frame(shown, *_RANKED).rename({"value": "DSI"})


def dsi_ranking(result: Cohesion) -> Chart:
    """Draw how much each axis divides the raters: its largest GAI, with the group that has it and p."""
    title = f"Which axis divides the raters most: DSI, {result.settings['level']} level"
    data = dsi_ranking_data(result)
    drawn = defined(data, "DSI")
    if drawn.is_empty():
        return saying(title, "No axis has a group with a GAI.")
    axes = drawn["axis"].to_list()
    tests = ["" if p is None else f", {p_text(p)}" for p in drawn["p"]]
    words = [
        f"{shorten(group, fitting(20 if narrow() else LABEL))}{test}"
        for group, test in zip(drawn["group"], tests, strict=True)
    ]
    rows = Rows([("", name) for name in axes], unique_labels(axes))
    placed = drawn.with_columns(row=pl.Series(range(len(axes))), words=pl.Series(words))
    width = rows.plot_width(pixels(words))
    x = across("DSI, the largest GAI of the axis", extent([*drawn["DSI"], *drawn["chance"]]), width, 5)
    colour, shape = g.state_scales(drawn["finding"].to_list(), rows)
    base = Chart.of(placed).encode(y=rows.y())
    line = base.mark("rule", color=QUIET, opacity=0.5).encode(x=x("chance"), x2="DSI")
    tick = base.mark("tick", thickness=2, size=11, color=QUIET).encode(x=x("chance"))
    point = base.mark("point", filled=True, size=80, opacity=1).encode(
        x=x("DSI"), color=colour, shape=shape, tooltip=tips(*_RANKED[:2], "DSI", *_RANKED[3:7], names=_MOST)
    )
    text = base.mark("text", align="left", color=INK, fontSize=11, limit=260).encode(
        x={"value": width + 12}, text="words:N"
    )
    chart = layer(line, tick, point, text).properties(width=width, height={"step": 24})
    subtitle = "Next to each axis: the group with the largest GAI. "
    if drawn["chance"].is_not_null().any():
        subtitle += "Tick: the median of the largest GAI among shuffled raters. "
    return themed(chart, title, subtitle)


def _pair_rows(result: Cohesion, axis: str) -> list[Row]:
    g.check_axis(result, axis)
    return [] if g.names_raters(axis) else [row for row in result.pair_rows if row.axis == axis]


def _shown(rows: list[Row], max_groups: int | None) -> set[str]:
    """Return the groups to show: all, or as many of the most notable pairs as fit."""
    groups = list(dict.fromkeys(row.group for row in rows))
    if max_groups is None or len(groups) <= max_groups:
        return set(groups)

    def rank(row: Row) -> tuple[float, float]:
        chance = g.finite_or_none(row.null_median)
        p = row.p_value if row.tested and row.p_value is not None else 1.0
        return p, -abs((g.finite_or_none(row.value) or 0.0) - (chance or 0.0))

    pairs = sorted((row for row in rows if row.group != row.other), key=rank)
    ordered = dict.fromkeys(name for row in pairs for name in (row.group, row.other))
    return set(list(ordered)[:max_groups])


def _short(value: float) -> str:
    """Write a value as .31, which leaves room in a cell."""
    return f"{value:.2f}".replace("-", "−").replace("0.", ".", 1) if abs(value) < 1 else f"{value:.2f}"


def _cells(placed: pl.DataFrame, labels: list[str], step: int) -> Chart:
    low, high = AGREEMENT
    steps = [round(low + (high - low) * at / (len(SEQUENCE) - 1), 3) for at in range(len(SEQUENCE))]
    colours = {"domain": steps, "range": list(SEQUENCE), "interpolate": "rgb", "clamp": True}
    dark = f"datum.value > {low + DARK * (high - low)}"
    slanted = {"labelAngle": -45 if step > 20 else -90, "labelAlign": "right", "labelBaseline": "middle"}
    positions = {"domain": list(range(len(labels))), "paddingInner": 0.04, "paddingOuter": 0}
    base = Chart.of(placed).encode(
        x=field("column:O", scale=positions, axis=row_axis(labels, **slanted)),
        y=field("row:O", scale=positions, axis=row_axis(labels, labelFontSize=11 if step > 13 else 10)),
    )
    where = "top" if narrow() else "top-right" if len(labels) >= _CORNER else "right"
    legend = {
        "title": "agreement", "orient": where, "gradientLength": 80,
        "direction": "horizontal" if where == "top" else "vertical", "titleLimit": 80, "values": steps, "format": ".1f",
    }  # fmt: skip
    cells = base.mark("rect").encode(
        color=field("value:Q", scale=colours, legend=legend),
        tooltip=tips("group", "other", "statistic", "value", "chance", "p", "p corrected", "finding", names=_CELL),
    )
    layers = [cells]
    if step >= _READABLE:
        ink = {"condition": {"test": dark, "value": ON_DARK}, "value": ON_LIGHT}
        layers.append(
            base.mark("text", fontSize=11 if step >= 34 else 9, baseline="middle").encode(text="shown:N", color=ink)
        )
    return layer(*layers).properties(width={"step": step}, height={"step": min(step, 34) if step > 17 else step})


# Null distributions: what permutations give, and where the observed value lies ----------------------------------------


N_BINS = 30
_COLUMNS = 4
_BARS = {"from": "shuffles from", "permutations": "number of shuffles"}
_SCHEMA = {
    **g.texts("axis", "group", "statistic"), **g.numbers("from", "to"), **g.counts("permutations"),
    **g.numbers("observed", "chance", "p", "p corrected"), **g.texts("finding"),
}  # fmt: skip


@once
def null_histograms_data(
    result: GroupResult, statistic: str = "gai", axis: str | None = None, *, subset: str | None = None,
    max_groups: int | None = 12,
) -> pl.DataFrame:  # fmt: skip
    """Return what :func:`null_histograms` draws: one row per group and bin, without groups that have no test.

    The first and the last bin also hold the one draw in two hundred that lies beyond them on either side.
    """
    name = g.name_of(statistic)
    tested = _tested(result, statistic, axis, subset)
    cells = []
    for key in g.most_notable(result, tested, subset, max_groups):
        row = tested[key][statistic]
        counts, edges = _histogram(result, row)
        told = (row.value, row.null_median, row.p_value, row.p_adjusted, g.state(row))
        cells += [
            (row.axis, row.group, name, low, high, count, *told)
            for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
    return pl.DataFrame(cells, schema=_SCHEMA, orient="row")


def null_histograms(
    result: GroupResult, statistic: str = "gai", axis: str | None = None, *, subset: str | None = None,
    max_groups: int | None = 12,
) -> Chart:  # fmt: skip
    """Draw for each group the permutations as a histogram and the observed value as a line."""
    data = null_histograms_data(result, statistic, axis, subset=subset, max_groups=max_groups)
    name = g.name_of(statistic)
    title = f"What chance gives and what was observed: {name}"
    if data.is_empty():
        nothing = "There are no permutations to show: none were requested, or no value is defined."
        return saying(title, g.RATERS_UNNAMED if axis is not None and g.names_raters(axis) else nothing)
    groups = data.select("axis", "group", "p").unique(subset=["axis", "group"], maintain_order=True)
    labels = _labels(groups)
    placed = data.join(
        groups.select("axis", "group", panel=pl.Series(labels)), on=["axis", "group"], how="left", maintain_order="left"
    ).with_columns(first=pl.int_range(pl.len()).over("axis", "group") == 0)
    colour, _ = g.state_scales(data["finding"].to_list(), symbolType="square")
    base = Chart.of(placed)
    scale = {"zero": False, "nice": False, "padding": 8}
    bars = base.mark("rect", opacity=0.45).encode(
        x=field("from:Q", title=None, scale=scale, axis={"tickCount": 4, "grid": False}), x2="to",
        y=field("permutations:Q", axis=None, scale={"zero": True}), y2={"datum": 0}, color=colour,
        tooltip=tips("group", "from", "to", "permutations", names=_BARS),
    )  # fmt: skip
    told = tips(
        "group", "axis", "observed", "chance", "p", "p corrected", "finding", names={"observed": f"{name} observed"}
    )
    once_each = base.filter("datum.first").mark("rule", strokeWidth=2.5, opacity=1)
    rule = once_each.encode(x=field("observed:Q", title=None), color=colour, tooltip=told)
    grid = Grid.of(len(labels), 140, most=_COLUMNS, first=26)
    heading = {"labelAnchor": "start", "labelLimit": grid.width}
    chart = (
        layer(bars, rule)
        .properties(width=grid.width, height=70)
        .facet(
            field("panel:N", sort=labels, title=None, header=heading), grid.n,
            spacing={"row": 14, "column": grid.gap}, resolve={"scale": {"x": "independent", "y": "independent"}},
        )
    )  # fmt: skip
    total = len(_tested(result, statistic, axis, subset))
    missing, shown = len(g.group_rows(result, (statistic,), axis, subset)) - total, len(labels)
    words = g.shown_words(shown, shown, total)
    words += f"{counted(missing, 'group has', 'groups have')} no permutations. " if missing else ""
    words += f"Bars: {result.n_shuffles:,} shuffles of the raters; line: the observed value. "
    return themed(chart, title, words + g.correction_words(result))


def _tested(result: GroupResult, statistic: str, axis: str | None, subset: str | None) -> g.ByGroup:
    """Return the groups that have permutations."""
    rows = g.group_rows(result, (statistic,), axis, subset)
    return {key: own for key, own in rows.items() if len(g.null_draws(result, own[statistic]))}


def _histogram(result: GroupResult, row: Row) -> tuple[list[int], list[float]]:
    draws = g.null_draws(result, row)
    low, high = np.quantile(draws, [0.005, 0.995])
    if np.isfinite(row.value):
        low, high = min(low, row.value), max(high, row.value)
    if high - low < 1e-9:
        low, high = low - 0.5e-3, high + 0.5e-3
    counts, edges = np.histogram(np.clip(draws, low, high), bins=N_BINS, range=(low, high))
    return counts.tolist(), edges.tolist()


def _labels(groups: pl.DataFrame) -> list[str]:
    """Return a heading for each panel: the group, its axis if another has the same name, and p."""
    twice = groups["group"].is_duplicated()
    names = [
        f"{shorten(group, 9)} ({shorten(axis, 7)})" if again else group
        for axis, group, again in zip(groups["axis"], groups["group"], twice, strict=True)
    ]
    tests = ["" if p is None or not np.isfinite(p) else f", {p_text(p)}" for p in groups["p"]]
    return [label + test for label, test in zip(unique_labels(names, 19), tests, strict=True)]
