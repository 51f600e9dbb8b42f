"""What one label per item hides: how far the labels of each method lie from what groups say."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl

from plurivox.infer.result import Row
from plurivox.lenses.aggregate.result import Aggregation
from plurivox.lenses.aggregate.settings import CALLED
from plurivox.plots import groups as g
from plurivox.plots.forests import forest
from plurivox.plots.once import once
from plurivox.plots.vega import Chart

_TITLE = "What one label per item hides: distance of labels from what groups say, in points"
_FIRST = ("axis", "group", "value", "ci low", "ci high", "chance")
_LAST = ("p", "p corrected", "finding", "raters", "items", "ratings", "note")


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
        g.row_frame(listed, *_FIRST), pl.DataFrame(null, schema=g.numbers(*g.QUANTILES)), g.row_frame(listed, *_LAST),
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
    return forest(result, data, _TITLE, axis, len(_by_group(result, axis)), panels="method")


def _by_group(result: Aggregation, axis: str | None) -> dict[tuple[str, str], dict[str, Row]]:
    """Return how far labels lie from each group, by method."""
    g.check_axis(result, axis)
    found: dict[tuple[str, str], dict[str, Row]] = {}
    for row in result.rows:
        if (row.kind, row.statistic) == ("group", "departure") and axis in (None, row.axis):
            found.setdefault((row.axis, row.group), {})[row.model] = row
    return found
