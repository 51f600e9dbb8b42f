"""Who rates the same items higher: by attribute, or all groups in one list from the lowest to the highest."""

from __future__ import annotations

from typing import Any, Literal

import polars as pl

from plurivox.base.wording import named
from plurivox.domain.axis import CROSS
from plurivox.lenses.variation.result import Variation
from plurivox.plots import groups as g
from plurivox.plots.forests import TOLD, chance_strips, cut_words, forest, forest_data, forest_words, usual_ends
from plurivox.plots.layout import Rows, defined, extent, fitting, unique_labels
from plurivox.plots.measure import columns, wide
from plurivox.plots.once import once
from plurivox.plots.pieces import across, tips
from plurivox.plots.theme import GRID, INK, QUIET, themed
from plurivox.plots.vega import Chart, Encoder, layer

MOST_IN_ONE_LIST = 24
"""The most groups in one list."""
Order = Literal["attribute", "value"]
_TITLE = "Who rates higher on the same items, in points of the scale"
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
        return forest(result, data, _TITLE, axis, total, neutral=0.0, measured=_MEASURED)
    chart, ends = _list(drawn)
    return themed(chart, _TITLE, forest_words(result, data, drawn, total) + cut_words(drawn, ends))


def _list(drawn: pl.DataFrame) -> tuple[Any, tuple[float, float]]:
    """Draw groups one below another, with a line at zero that says what its two sides mean, and values next to them.

    Also return the ends of the axis.
    """
    rows = Rows.listed(unique_labels(_names(drawn), _LABEL))
    width = rows.plot_width(_NUMBER)
    ends = _ends(drawn, width)
    x = across(_MEASURED, ends, width, 7)
    placed = drawn.with_columns(
        row=pl.int_range(pl.len()), shown=pl.Series(map(_signed, drawn["value"]), dtype=pl.String)
    )
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


def _signed(value: float) -> str:
    """Write a value with its sign; what rounds to zero has no sign."""
    return f"{value:+.2f}".replace("-", "−") if round(value, 2) else "0.00"


def _names(drawn: pl.DataFrame) -> list[str]:
    """Return groups with their attributes; for a crossing, whose values identify them, without if too long."""
    keys = list(drawn.select("axis", "group").iter_rows())
    long = {axis for axis, group in keys if CROSS in axis and columns(named(axis, group)) > fitting(_LABEL)}
    return [group if axis in long else named(axis, group) for axis, group in keys]


def _ends(drawn: pl.DataFrame, width: int) -> tuple[float, float]:
    """Return the ends of the axis, with room for words on both sides of zero."""
    around = ("ci low", "ci high", "chance low", "chance high")
    low, high = extent(
        [*drawn["value"], 0.0, *usual_ends(drawn)], [value for column in around for value in drawn[column]]
    )
    share = min(0.45, (max(wide(words, 12) for words in _SIDES) + 10) / width)
    return min(low, -high * share / (1 - share)), max(high, -low * share / (1 - share))


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
