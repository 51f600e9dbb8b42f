"""Which rows of a result a chart shows: those of one subset, never raters by name, the most notable first."""

from __future__ import annotations

import math
import statistics as averages
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
import polars as pl

from plurivox.base.errors import SelectionError
from plurivox.domain.axis import names_raters as names_raters
from plurivox.infer.families import SIGNIFICANT
from plurivox.infer.result import GroupResult, Row
from plurivox.plots.layout import Rows, legend_columns
from plurivox.plots.pieces import looks
from plurivox.plots.theme import COLOURS, INK, QUIET
from plurivox.plots.vega import Spec
from plurivox.statistics.registry import LABELS

CHANCE = "not distinguishable from chance"
BEFORE = "p < .05 before correction only"
AFTER = "p < .05 after correction"
UNTESTED = "not tested"
LOOKS = {CHANCE: (QUIET, "circle"), BEFORE: (COLOURS[1], "triangle-up"), AFTER: (COLOURS[0], "diamond"),
         UNTESTED: (INK, "circle")}  # fmt: skip
"""Colour and shape of the outcome of a test, the same in every chart."""
ByGroup = dict[tuple[str, str], dict[str, Row]]
"""The rows of each axis and group, by statistic."""
Name = TypeVar("Name", str, str | None)
QUANTILES = ("chance low", "chance lower quarter", "chance upper quarter", "chance high")
NOTABLE = "those with the smallest p and the largest deviation from chance"
RATERS_UNNAMED = "Individual raters are not listed by name; mpa_wra_plane(result, 'rater') shows how they spread."


def state(row: Row) -> str:
    """Say in words what the test of a row says.

    Examples
    --------
    >>> state(Row("group", "gender", "Man", "gai", 1.2, p_value=0.03, p_adjusted=0.2))
    'p < .05 before correction only'
    """
    if not row.tested or row.p_value is None:
        return UNTESTED
    if row.p_adjusted is not None and row.p_adjusted < SIGNIFICANT:
        return AFTER
    return BEFORE if row.p_value < SIGNIFICANT else CHANCE


def state_scales(
    found: Sequence[str], rows: Rows | None = None, column: str = "finding", **more: Any
) -> tuple[Spec, Spec]:
    """Return colour and shape of states in a column; their legend is above the rows, and only if there are tests."""
    tested = set(found) - {UNTESTED}
    states = [name for name in LOOKS if name in found or (name != UNTESTED and tested)]
    place = {"columns": legend_columns(states)} if rows is None else rows.legend(states)
    key = {"title": None, "symbolOpacity": 1, **place, **more} if tested else None
    colours, shapes = ([LOOKS[name][at] for name in states] for at in (0, 1))
    scales = looks(column, states, key, color=colours, shape=shapes)
    return scales["color"], scales["shape"]


def known(what: str, name: Name, there_are: Iterable[str | None]) -> Name:
    """Return the name if it is known, or raise and list the known ones; None stands for any."""
    every = list(there_are)
    if name not in every:
        listed = ", ".join(one for one in every if one is not None) or "none"
        raise SelectionError(f"there is no {what} {name!r}; choose from: {listed}")
    return name


def name_of(statistic: str) -> str:
    """Return the label of a statistic, or raise if there is none of that name."""
    return LABELS[known("statistic", statistic, LABELS)]


def check_axis(result: GroupResult, axis: str | None) -> None:
    """Raise if a result has no such axis."""
    known("axis", axis, (None, *result.axes))


def group_rows(result: GroupResult, statistics: Sequence[str], axis: str | None, subset: str | None) -> ByGroup:
    """Return the rows of each group by statistic, in the order of the result, without groups that are raters."""
    check_axis(result, axis)
    rows = rater_rows(result, chosen_subset(result, subset), statistics, "group")
    return {key: own for key, own in rows.items() if axis in (None, key[0]) and not names_raters(key[0])}


def rater_rows(
    result: GroupResult, subset: str, statistics: Sequence[str] = ("mpa", "wra"), kind: str = "rater"
) -> ByGroup:
    """Return the rows of individual raters by statistic; their ids are only keys, never to be drawn."""
    found: ByGroup = {}
    for row in result.rows:
        if (row.kind, row.subset) == (kind, subset) and row.statistic in statistics:
            found.setdefault((row.axis, row.group), {})[row.statistic] = row
    return found


def chosen_subset(result: GroupResult, subset: str | None) -> str:
    """Return the subset to show: all items, or the question that the result is about."""
    subsets = list(dict.fromkeys(row.subset for row in result.rows)) or ["all"]
    return subsets[0] if subset is None else known("subset", subset, subsets)


def most_notable(result: GroupResult, rows: ByGroup, subset: str | None, at_most: int | None) -> list[tuple[str, str]]:
    """Return the groups to show, the most notable first: by p, then by distance from chance; undefined ones last."""
    centres = _centres(result, rows, chosen_subset(result, subset))

    def rank(key: tuple[str, str]) -> tuple[float, float]:
        own = [row for row in rows[key].values() if not math.isnan(row.value)]
        p = min((row.p_value for row in own if row.tested and row.p_value is not None), default=1.0)
        return (p if own else 2.0, -max((_distance(row, centres[row.statistic]) for row in own), default=0.0))

    return sorted(rows, key=rank)[:at_most]


def shown_words(drawn: int, listed: int, total: int, which: str = NOTABLE) -> str:
    """Say how many of all groups are drawn, if not all; some in the table may have no value."""
    text = "" if listed >= total else f"{drawn:,} of {total:,} groups shown, {which}. "
    undefined = listed - drawn
    have = "1 group has" if undefined == 1 else f"{undefined:,} groups have"
    return text + (f"{have} no value. " if undefined and listed >= total else "")


def correction_words(result: GroupResult) -> str:
    """Return how p-values were corrected."""
    method = {
        "maxt": "max-T over everything tested", "bh": "Benjamini–Hochberg", "by": "Benjamini–Yekutieli",
        "holm": "Holm", "bonferroni": "Bonferroni",
    }  # fmt: skip
    correction = str(result.settings.get("correction", "none"))
    return f"Correction: {method[correction]}. " if correction in method and result.settings.get("permutations") else ""


def null_quantiles(result: GroupResult, row: Row) -> dict[str, float | None]:
    """Return where the permutations of a value lie, or nothing where there are none."""
    draws = null_draws(result, row)
    if not len(draws):
        return dict.fromkeys(QUANTILES)
    return dict(zip(QUANTILES, np.quantile(draws, [0.025, 0.25, 0.75, 0.975]).tolist(), strict=True))


def null_draws(result: GroupResult, row: Row) -> Any:
    """Return the finite permutation draws of a row."""
    for draws in result.draws:
        of_row = (draws.axis, draws.subset) == (row.axis, row.subset) and row.group in draws.groups
        if of_row and row.statistic in draws.statistics:
            null = draws.null[:, draws.groups.index(row.group), draws.statistics.index(row.statistic)]
            return null[np.isfinite(null)]
    return np.zeros(0)


def finite_or_none(value: float | None) -> float | None:
    """Return the value, or None where it is NaN or infinite."""
    return value if value is not None and math.isfinite(value) else None


def two_decimals(value: float) -> str:
    """Write a value as readers expect it: −0.31."""
    return f"{value:.2f}".replace("-", "−")


def row_frame(rows: Iterable[Row], *columns: str) -> pl.DataFrame:
    """Return the contents of rows under the names that readers see."""
    cells = [tuple(_COLUMNS[name][1](row) for name in columns) for row in rows]
    return pl.DataFrame(cells, schema={name: _COLUMNS[name][0] for name in columns}, orient="row")


_NUMBERS = {
    "value": "value", "ci low": "ci_low", "ci high": "ci_high", "chance": "null_median", "p": "p_value",
    "p corrected": "p_adjusted",
}  # fmt: skip
_COLUMNS: dict[str, tuple[Any, Callable[[Row], Any]]] = {
    **{name: (pl.String, attrgetter(name)) for name in ("model", "prompt", "axis", "group", "other", "note")},
    **{shown: (pl.Float64, attrgetter(name)) for shown, name in _NUMBERS.items()},
    **{shown: (pl.Int64, attrgetter(f"n_{shown}")) for shown in ("raters", "items", "ratings")},
    "statistic": (pl.String, lambda row: name_of(row.statistic)),
    "finding": (pl.String, state),
}


def texts(*names: str) -> dict[str, Any]:
    """Return the types of columns of text."""
    return dict.fromkeys(names, pl.String)


def numbers(*names: str) -> dict[str, Any]:
    """Return the types of columns of numbers."""
    return dict.fromkeys(names, pl.Float64)


def counts(*names: str) -> dict[str, Any]:
    """Return the types of columns of counts."""
    return dict.fromkeys(names, pl.Int64)


def _centres(result: GroupResult, rows: ByGroup, subset: str) -> dict[str, float]:
    """Return what values are compared with where there is no null: all raters together, or else the median group."""
    overall = {row.statistic: row.value for row in result.rows if row.kind == "overall" and row.subset == subset}
    centres = {}
    for statistic in {name for own in rows.values() for name in own}:
        values = [own[statistic].value for own in rows.values() if statistic in own]
        finite = [value for value in values if math.isfinite(value)]
        centre = overall.get(statistic, math.nan)
        centres[statistic] = centre if math.isfinite(centre) else averages.median(finite) if finite else 0.0
    return centres


def _distance(row: Row, centre: float) -> float:
    chance = finite_or_none(row.null_median)
    distance = abs(row.value - (centre if chance is None else chance))
    return distance if math.isfinite(distance) else 0.0


def largest(frame: pl.DataFrame, column: str, at_most: int | None) -> pl.DataFrame:
    """Return the rows with the largest sizes, in the order they came in."""
    if at_most is None or frame.height <= at_most:
        return frame
    order = frame.with_row_index("_at").sort(column, "_at", descending=[True, False]).head(at_most)
    return order.sort("_at").drop("_at")
