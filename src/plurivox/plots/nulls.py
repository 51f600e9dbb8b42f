"""Null distributions: what permutations give, and where the observed value lies."""

from __future__ import annotations

import numpy as np
import polars as pl

from plurivox.base.wording import counted
from plurivox.infer.result import GroupResult, Row, p_text
from plurivox.plots import groups as g
from plurivox.plots.layout import shorten, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import Grid, tips
from plurivox.plots.theme import saying, themed
from plurivox.plots.vega import Chart, field, layer

N_BINS = 30
_COLUMNS = 4
_BARS = {"from": "shuffles from", "permutations": "number of shuffles"}
_SCHEMA = (
    g.texts("axis", "group", "statistic")
    | g.numbers("from", "to")
    | g.counts("permutations")
    | g.numbers("observed", "chance", "p", "p corrected")
    | g.texts("finding")
)


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
        cells += [
            (
                row.axis, row.group, name, low, high, count, row.value,
                row.null_median, row.p_value, row.p_adjusted, g.state(row),
            )
            for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ]  # fmt: skip
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
        return saying(title, _nothing(axis))
    groups = data.select("axis", "group", "p").unique(subset=["axis", "group"], maintain_order=True)
    labels = _labels(groups)
    placed = data.join(
        groups.select("axis", "group", panel=pl.Series(labels)), on=["axis", "group"], how="left", maintain_order="left"
    ).with_columns(first=pl.int_range(pl.len()).over("axis", "group") == 0)
    colour, _ = g.state_scales(data["finding"].to_list(), symbolType="square")
    base = Chart.of(placed)
    scale = {"zero": False, "nice": False, "padding": 8}
    bars = base.mark("rect", opacity=0.45).encode(
        x=field("from:Q", title=None, scale=scale, axis={"tickCount": 4, "grid": False}),
        x2="to",
        y=field("permutations:Q", axis=None, scale={"zero": True}),
        y2={"datum": 0},
        color=colour,
        tooltip=tips("group", "from", "to", "permutations", names=_BARS),
    )
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
    return themed(chart, title, _words(result, statistic, axis, subset, len(labels)))


def _words(result: GroupResult, statistic: str, axis: str | None, subset: str | None, shown: int) -> str:
    total = len(_tested(result, statistic, axis, subset))
    missing = len(g.group_rows(result, (statistic,), axis, subset)) - total
    return (
        g.shown_words(shown, shown, total)
        + (f"{counted(missing, 'group has', 'groups have')} no permutations. " if missing else "")
        + f"Bars: {result.n_shuffles:,} shuffles of the raters; line: the observed value. "
        + g.correction_words(result)
    )


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


def _nothing(axis: str | None) -> str:
    if axis is not None and g.names_raters(axis):
        return g.RATERS_UNNAMED
    return "There are no permutations to show: none were requested, or no value is defined."
