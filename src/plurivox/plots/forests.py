"""Forest plots: a row per group, its value with its interval over what chance gives."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from plurivox.base.wording import interval_method
from plurivox.domain.poles import Poles
from plurivox.infer.result import GroupResult
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.plots import groups as g
from plurivox.plots.layout import Rows, defined, extent, shorten
from plurivox.plots.once import once
from plurivox.plots.pieces import Grid, across, tips, vertical
from plurivox.plots.theme import QUIET, saying, themed
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
    made = [
        _panel(
            rows.place(own[name]), measured or name, rows, scales, neutral, grid.width, ends[name],
            labels=grid.starts(at),
        ).properties(height=rows.height, name=f"panel_{at}")
        for at, name in enumerate(names)
    ]  # fmt: skip
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
    tooltip = tips("group", "axis", *TOLD, names={"value": name})
    point = base.mark("point", filled=True, size=65, opacity=1).encode(
        x=x("value"), color=colour, shape=shape, tooltip=tooltip
    )
    return layer(*layers, interval, point).properties(width=width)


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
    return (
        "A line that reaches an edge continues beyond it. "
        if defined(values, "ci low", "ci high").filter(beyond).height
        else ""
    )


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
