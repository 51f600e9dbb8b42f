"""Forest plots: a row per group, its value with its interval over what chance gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import polars as pl

from plurivox.base.wording import interval_method, named
from plurivox.domain.axis import CROSS
from plurivox.domain.scale_names import Poles
from plurivox.infer.result import GroupResult, Row
from plurivox.lenses.aggregate import CALLED
from plurivox.lenses.aggregate.result import Aggregation
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.lenses.variation.result import Variation
from plurivox.plots import groups as g
from plurivox.plots.layout import Rows, defined, extent, fitting, shorten, unique_labels
from plurivox.plots.pieces import Grid, across, once, tips, vertical
from plurivox.plots.theme import GRID, INK, QUIET, columns, saying, themed, wide
from plurivox.plots.vega import Chart, Encoder, Spec, field, layer

_BANDS = (("chance low", "chance high", 0.16), ("chance lower quarter", "chance upper quarter", 0.28))
_FIRST = ("axis", "group", "statistic", "value", "ci low", "ci high", "chance")
_LAST = ("p", "p corrected", "finding", "raters", "items", "ratings", "note")


@once
def gai_forest_data(
    result: Cohesion, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 40
) -> pl.DataFrame:
    """Return what :func:`gai_forest` draws: one row per group, including undefined values."""
    return forest_data(result, ("gai",), axis, subset, max_groups)


def gai_forest(
    result: Cohesion, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 40
) -> Chart:
    """Draw the GAI of each group with its interval over what shuffled raters give.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=30, n_raters=40, seed=1)
    >>> chart = gai_forest(pv.cohesion(study.ratings, "gender", permutations=19))
    >>> chart.to_dict()["title"]["text"]
    'Who agrees among themselves: GAI of each group, ordinal level'
    """
    data = gai_forest_data(result, axis, subset=subset, max_groups=max_groups)
    title = "Who agrees among themselves: GAI of each group"
    title += f", {result.settings['level']} level"
    return forest(result, data, title, axis, len(g.group_rows(result, ("gai",), axis, subset)))


@once
def responsiveness_forest_data(
    result: Responsiveness, axis: str | None = None, statistics: Sequence[str] = ("mpa", "wra"), *,
    subset: str | None = None, max_groups: int | None = 40,
) -> pl.DataFrame:  # fmt: skip
    """Return what :func:`responsiveness_forest` draws: one row per group and statistic, including undefined ones."""
    return forest_data(result, tuple(statistics), axis, subset, max_groups)


def responsiveness_forest(
    result: Responsiveness, axis: str | None = None, statistics: Sequence[str] = ("mpa", "wra"), *,
    subset: str | None = None, max_groups: int | None = 40,
) -> Chart:  # fmt: skip
    """Draw MPA and WRA, or other statistics, of each group over what shuffled raters give, a panel each."""
    names = tuple(statistics)
    data = responsiveness_forest_data(result, axis, names, subset=subset, max_groups=max_groups)
    tell = Poles.of(result.settings).fill("Whose scores tell {high} from {low}")
    title = f"{tell}: {' and '.join(g.name_of(name) for name in names)}"
    return forest(result, data, title, axis, len(g.group_rows(result, names, axis, subset)))


@once
def scale_forest_data(
    result: Psychometrics, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 40
) -> pl.DataFrame:
    """Return what :func:`scale_forest` draws: one row per group and statistic, including undefined ones."""
    return forest_data(result, ("mokken_h", "grm_a"), axis, subset, max_groups)


def scale_forest(
    result: Psychometrics, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 40
) -> Chart:
    """Draw Mokken's H_j and the discrimination of each group with their intervals."""
    data = scale_forest_data(result, axis, subset=subset, max_groups=max_groups)
    title = "Whose scores order items like the others', and how sharply they rise"
    total = len(g.group_rows(result, ("mokken_h", "grm_a"), axis, subset))
    return forest(result, data, title, axis, total, "by the delta method for H, by the information for a")


def forest_data(
    result: GroupResult, statistics: Sequence[str], axis: str | None, subset: str | None, max_groups: int | None
) -> pl.DataFrame:
    """Return one row per group and statistic for the most notable groups, including undefined values."""
    rows = g.group_rows(result, statistics, axis, subset)
    shown = set(g.most_notable(result, rows, subset, max_groups))
    first = statistics[0] if statistics else ""

    def place(key: tuple[str, str]) -> tuple[int, float]:
        value = rows[key][first].value if first in rows[key] else math.nan
        return ["all", *result.axes].index(key[0]), math.inf if math.isnan(value) else -value

    ordered = sorted(shown, key=lambda key: (*place(key), list(rows).index(key)))
    listed = [rows[key][name] for key in ordered for name in statistics if name in rows[key]]
    null = pl.DataFrame([g.null_quantiles(result, row) for row in listed], schema=g.numbers(*g.QUANTILES))
    return pl.concat([g.row_frame(listed, *_FIRST), null, g.row_frame(listed, *_LAST)], how="horizontal")


def forest(
    result: GroupResult, data: pl.DataFrame, title: str, axis: str | None, total: int, how: str | None = None,
    neutral: float | None = None, measured: str | None = None, shuffled: str = "shuffled raters",
    panels: str = "statistic",
) -> Chart:  # fmt: skip
    """Draw the frame of :func:`forest_data`, one panel per statistic, or per value of another column.

    ``how`` says where intervals come from; ``neutral`` is the value that says nothing, which has a line; ``measured``
    is the axis title instead of the statistic's name; ``shuffled`` is what makes up chance.
    """
    drawn = defined(data, "value")
    if drawn.is_empty():
        return saying(title, _nothing(data, axis))
    rows = Rows.of(drawn.select("axis", "group").iter_rows())
    names = drawn[panels].unique(maintain_order=True).to_list()
    grid = Grid.of(len(names), _LEAST, most=3 if len(names) > 4 else 4, first=rows.width + 22)
    scales = g.state_scales(drawn["finding"].to_list(), rows)
    own = {name: drawn.filter(pl.col(panels) == name) for name in names}
    alike = panels != "statistic"  # values of one statistic are compared between panels
    ends = {name: _ends(drawn if alike else own[name], neutral) for name in names}
    asked = (rows, scales, neutral, grid.width)
    made = [
        _panel(rows.place(own[name]), measured or name, *asked, ends[name], labels=grid.starts(at)).properties(
            height=rows.height, name=f"panel_{at}"
        )
        for at, name in enumerate(names)
    ]
    chart = made[0] if len(made) == 1 else grid.lines(made)
    cut = {cut_words(own[name], ends[name]) for name in names}
    return themed(chart, title, forest_words(result, data, drawn, total, how, shuffled) + max(cut))


def _panel(
    placed: pl.DataFrame, name: str, rows: Rows, scales: tuple[Spec, Spec], neutral: float | None, width: int,
    ends: tuple[float, float], *, labels: bool,
) -> Chart:  # fmt: skip
    x = across(name, ends, width, 5)
    y, (colour, shape) = rows.y(labels=labels), scales
    base = Chart.of(placed).encode(y=y)
    layers = [] if neutral is None else [vertical(neutral, x)]
    layers += chance_strips(base, x, 11)
    interval = base.mark("rule", strokeWidth=1.5, clip=True).encode(x=x("ci low"), x2="ci high", color=colour)
    told = tips("group", "axis", *TOLD, names={"value": name})
    point = base.mark("point", filled=True, size=65, opacity=1)
    return layer(*layers, interval, point.encode(x=x("value"), color=colour, shape=shape, tooltip=told)).properties(
        width=width
    )


def _ends(values: pl.DataFrame, neutral: float | None) -> tuple[float, float]:
    """Return the ends of an axis that holds the values, the neutral value, and what lies near them."""
    core = [*values["value"], *values["chance"]]
    if neutral is not None:  # readers should see whether intervals contain it
        core += [neutral, *usual_ends(values)]
    around = ("ci low", "ci high", "chance low", "chance high")
    return extent(core, [value for column in around for value in values[column]])


def usual_ends(values: pl.DataFrame) -> list[float]:
    """Return the ends of intervals, except those of a few groups that are far wider than most."""
    known = defined(values, "ci low", "ci high")
    width = pl.col("ci high") - pl.col("ci low")
    kept = known.filter(width <= _WIDE * width.median())
    return [*kept["ci low"], *kept["ci high"]]


def cut_words(values: pl.DataFrame, ends: tuple[float, float]) -> str:
    """Say that lines continue beyond an axis, where one does."""
    beyond = (pl.col("ci low") < ends[0]) | (pl.col("ci high") > ends[1])
    n_cut = defined(values, "ci low", "ci high").filter(beyond).height
    return "A line that reaches an edge continues beyond it. " if n_cut else ""


def chance_strips(base: Chart, x: Encoder, height: int) -> list[Chart]:
    """Return where shuffled raters lie: two strips of a height, and a tick at their median."""
    strips = [
        base.mark("bar", height=height, color=QUIET, opacity=opacity, clip=True).encode(x=x(first), x2=field(last))
        for first, last, opacity in _BANDS
    ]
    tick = base.mark("tick", thickness=2, size=height, color=QUIET, opacity=0.9, clip=True).encode(x=x("chance"))
    return [*strips, tick]


_WIDE = 2.5  # times the median width, above which an interval may be cut
_LEAST = 150  # the fewest pixels of a panel
TOLD = ("value", "ci low", "ci high", "chance low", "chance high", "p", "p corrected", "finding")
"""What is shown about a value in a forest plot."""


def _nothing(data: pl.DataFrame, axis: str | None) -> str:
    if axis is not None and g.names_raters(axis):
        return g.RATERS_UNNAMED
    if data.is_empty():
        return "There are no groups to show: none were requested, or all are withheld."
    reasons = sorted({note for note in data["note"] if note})
    return f"The value is undefined for every group{f': {shorten(reasons[0], 200)}' if len(reasons) == 1 else ''}."


def forest_words(
    result: GroupResult, data: pl.DataFrame, drawn: pl.DataFrame, total: int, how: str | None = None,
    shuffled: str = "shuffled raters",
) -> str:  # fmt: skip
    """Say what a forest plot shows, what its strips and lines are, and what it leaves out."""
    keys = ["axis", "group"]
    shown = drawn.select(keys).n_unique()
    which = g.NOTABLE if how is None else "those that differ most from the median group"
    text = g.shown_words(shown, data.select(keys).n_unique(), total, which)
    if drawn["chance low"].is_not_null().any():
        text += f"Grey: where {shuffled} lie (95 %, the middle half, median). "
    elif drawn["chance"].is_not_null().any():
        text += f"Grey: the median of {shuffled}. "
    if drawn["ci low"].is_not_null().any():
        text += f"Line: 95 % interval {how or interval_method(result.settings)}. "
    if drawn["p"].is_not_null().any():
        text += g.correction_words(result)
    return text or "Neither permutations nor intervals were requested. "


MOST_IN_ONE_LIST = 24
"""The most groups in one list."""
Order = Literal["attribute", "value"]
_LENIENCY = "Who rates higher on the same items, in points of the scale"
_MEASURED = "points higher than the others"
_SIDES = ("rate lower ←", "→ rate higher")
_STEP = 27
_LABEL = 32
_NUMBER = 46  # pixels of a column of values


@once
def leniency_forest_data(
    result: Variation, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 40,
    order: Order = "attribute",
) -> pl.DataFrame:  # fmt: skip
    """Return what :func:`leniency_forest` draws: one row per group, including undefined values."""
    if order == "attribute":
        return forest_data(result, ("leniency",), axis, subset, max_groups)
    most = MOST_IN_ONE_LIST if max_groups is None else min(max_groups, MOST_IN_ONE_LIST)
    found = forest_data(result, ("leniency",), axis, subset, most)
    return found.sort(pl.col("value").fill_nan(None), nulls_last=True, maintain_order=True)


def leniency_forest(
    result: Variation, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 40,
    order: Order = "attribute",
) -> Chart:  # fmt: skip
    """Draw by how many points each group rates the same items higher than the others, over what shuffled raters give.

    Parameters
    ----------
    order
        ``"attribute"``: the groups of each attribute beneath its name, the highest first. ``"value"``: one list from
        the lowest to the highest, of at most 24 groups; of more, the most notable.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=30, n_raters=40, seed=1)
    >>> chart = leniency_forest(pv.variation(study.ratings, "age", permutations=19))
    >>> chart.to_dict()["title"]["text"]
    'Who rates higher on the same items, in points of the scale'
    """
    data = leniency_forest_data(result, axis, subset=subset, max_groups=max_groups, order=order)
    total = len(g.group_rows(result, ("leniency",), axis, subset))
    drawn = defined(data, "value")
    if order == "attribute" or drawn.is_empty():
        return forest(result, data, _LENIENCY, axis, total, neutral=0.0, measured=_MEASURED)
    chart, ends = _list(drawn)
    return themed(chart, _LENIENCY, forest_words(result, data, drawn, total) + cut_words(drawn, ends))


def _list(drawn: pl.DataFrame) -> tuple[Any, tuple[float, float]]:
    """Draw groups one below another, with a line at zero that says what its two sides mean, and values next to them.

    Also return the ends of the axis.
    """
    keys = list(drawn.select("axis", "group").iter_rows())
    # A crossing, whose values identify groups, has no attributes if their names are too long.
    long = {axis for axis, group in keys if CROSS in axis and columns(named(axis, group)) > fitting(_LABEL)}
    names = [group if axis in long else named(axis, group) for axis, group in keys]
    rows = Rows.listed(unique_labels(names, _LABEL))
    width = rows.plot_width(_NUMBER)
    around = ("ci low", "ci high", "chance low", "chance high")
    near = [value for column in around for value in drawn[column]]
    low, high = extent([*drawn["value"], 0.0, *usual_ends(drawn)], near)
    share = min(0.45, (max(wide(words, 12) for words in _SIDES) + 10) / width)  # room for words beside zero
    ends = min(low, -high * share / (1 - share)), max(high, -low * share / (1 - share))
    x = across(_MEASURED, ends, width, 7)
    shown = [f"{value:+.2f}".replace("-", "−") if round(value, 2) else "0.00" for value in drawn["value"]]
    placed = drawn.with_columns(row=pl.int_range(pl.len()), shown=pl.Series(shown, dtype=pl.String))
    base = Chart.of(placed).encode(y=rows.y())
    colour, shape = g.state_scales(drawn["finding"].to_list(), rows.above(20))
    guides = base.mark("rule", color=GRID, strokeWidth=1).encode(x={"value": 0}, x2={"value": width})
    interval = base.mark("rule", strokeWidth=2.5, strokeCap="round", clip=True).encode(
        x=x("ci low"), x2="ci high", color=colour
    )
    points = base.mark("point", filled=True, size=130, opacity=1).encode(
        x=x("value"), color=colour, shape=shape, tooltip=tips("group", "axis", *TOLD, names={"value": _MEASURED})
    )
    numbers = base.mark("text", align="right", fontSize=12, color=INK)
    numbers = numbers.encode(x={"value": width + _NUMBER}, text="shown:N")
    layers = [guides, *chance_strips(base, x, 15), *_zero(x), interval, points, numbers]
    return layer(*layers).properties(width=width, height={"step": _STEP}, name="list"), ends


def _zero(x: Encoder) -> list[Chart]:
    """Return the line at zero and, above it, what its sides mean."""
    line = Chart.of([{"at": 0.0}]).encode(x=x("at"))
    sides = [
        Chart.of([{"at": 0.0, "side": words}])
        .mark("text", align=align, dx=dx, fontSize=12, color=QUIET, baseline="bottom")
        .encode(x=x("at"), y={"value": -5}, text="side:N")
        for words, align, dx in zip(_SIDES, ("right", "left"), (-7, 7), strict=True)
    ]
    return [line.mark("rule", color=INK, strokeWidth=1.5), *sides]


# What one label per item hides: how far the labels of each method lie from what groups say ----------------------------


@once
def hidden_views_data(result: Aggregation, axis: str | None = None, *, max_groups: int | None = 20) -> pl.DataFrame:
    """Return what :func:`hidden_views` draws: one row per group and method, including undefined values."""
    rows = _by_group(result, axis)
    methods = result.settings["methods"]

    def notable(key: tuple[str, str]) -> tuple[float, float]:
        own = [row for row in rows[key].values() if not math.isnan(row.value)]
        p = min((row.p_value for row in own if row.p_value is not None and row.tested), default=1.0)
        return (p if own else 2.0, -max((row.value for row in own), default=0.0))

    def place(key: tuple[str, str]) -> tuple[int, float]:
        value = rows[key][methods[0]].value
        return result.axes.index(key[0]), math.inf if math.isnan(value) else -value

    shown = sorted(sorted(rows, key=notable)[:max_groups], key=place)
    listed = [rows[key][method] for key in shown for method in methods]
    null = [g.null_quantiles(result, replace(row, subset=row.model)) for row in listed]  # draws are kept by method
    parts = [
        pl.DataFrame({"method": [CALLED[row.model] for row in listed]}, schema={"method": pl.String}),
        g.row_frame(listed, *(name for name in _FIRST if name != "statistic")),
        pl.DataFrame(null, schema=g.numbers(*g.QUANTILES)), g.row_frame(listed, *_LAST),
    ]  # fmt: skip
    return pl.concat(parts, how="horizontal")


def hidden_views(result: Aggregation, axis: str | None = None, *, max_groups: int | None = 20) -> Chart:
    """Draw how far the labels of each method lie from what each group says, over what shuffled raters give.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=30, n_raters=40, seed=1)
    >>> chart = hidden_views(pv.aggregate(study.ratings, "gender", methods=["plurality", "mean"], permutations=19))
    >>> chart.to_dict()["title"]["text"]
    'What one label per item hides: distance of labels from what groups say, in points'
    """
    data = hidden_views_data(result, axis, max_groups=max_groups)
    title = "What one label per item hides: distance of labels from what groups say, in points"
    return forest(result, data, title, axis, len(_by_group(result, axis)), panels="method")


def _by_group(result: Aggregation, axis: str | None) -> dict[tuple[str, str], dict[str, Row]]:
    """Return how far labels lie from each group, by method."""
    g.check_axis(result, axis)
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in result.rows:
        if (row.kind, row.statistic) == ("group", "departure") and axis in (None, row.axis):
            found.setdefault((row.axis, row.group), {})[row.model] = row
    return found
