"""Results as tables of text, for terminals, Markdown, LaTeX and HTML; printing them is left to others."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.infer.families import SIGNIFICANT

if TYPE_CHECKING:
    from plurivox.infer.result import Row

ARROWS = {"above": "↑", "below": "↓", None: " "}
BARS = "▁▂▃▄▅▆▇█"
LEGEND = "↑ ↓ above or below what chance gives; * p < .05, ** p < .05 after correction"


class Shown(NamedTuple):
    """A table ready to print: its title, its header and its rows."""

    title: str
    header: list[str]
    rows: list[list[str]]


def notes_of(rows: Iterable[Row], names: Mapping[str, str]) -> list[str]:
    """Return the notes of rows, with identical ones of a group combined."""
    found: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        if row.note:
            found.setdefault((row.subset, row.axis, row.group, row.note), []).append(names[row.statistic])
    return [
        f"{group if axis != 'all' else 'all raters'}{'' if subset == 'all' else f' on {subset}'}, "
        f"{', '.join(statistics)}: {note}"
        for (subset, axis, group, note), statistics in found.items()
    ]


def value_cell(row: Row, *, intervals: bool = False, arrows: bool = False) -> str:
    """Return a value, optionally with its interval, and how it compares with chance, optionally even if p is large."""
    if math.isnan(row.value):
        return "–"
    text = f"{row.value:.3f}"
    if intervals:
        text = interval_text(row.value, row.ci_low, row.ci_high, ".3f").replace("inf", "∞")
    mark = mark_of(row, arrows=arrows)
    return f"{text} {mark}" if mark else text


def mark_of(row: Row, *, arrows: bool = False) -> str:
    """Return how a value compares with chance, as symbols; nothing where p is large, unless arrows are wanted there."""
    stars = ""
    if row.p_value is not None and row.p_value < SIGNIFICANT:
        stars = "**" if row.p_adjusted is not None and row.p_adjusted < SIGNIFICANT else "*"
    return f"{ARROWS[row.direction]}{stars}" if stars or (arrows and row.direction) else ""


QUANTILES = {"lowest": 0.0, "10 %": 0.1, "median": 0.5, "90 %": 0.9, "highest": 1.0}


def spread_header() -> list[str]:
    """Return the header of a table of how statistics spread over raters."""
    return ["statistic", "raters", "undefined", *QUANTILES]


def quantile_cells(values: NDArray[np.float64]) -> list[str]:
    """Return how many values are defined and undefined, and quantiles of the defined ones."""
    defined = values[~np.isnan(values)]
    spread = [f"{np.quantile(defined, q) + 0.0:.3f}" if len(defined) else "–" for q in QUANTILES.values()]
    return [f"{len(defined):,}", f"{len(values) - len(defined):,}", *spread]


def number_cell(value: float | None, form: str = ".2f") -> str:
    """Return a number, a dash if there is none."""
    if value is None or math.isnan(value):
        return "–"
    return "∞" if math.isinf(value) else format(value + 0.0, form)  # + 0.0, since -0.0 is 0


def score_cell(value: float | None) -> str:
    """Return a number with three decimals, a dash if there is none."""
    return number_cell(value if value is None else round(value, 3), ".3f")


def interval_text(
    value: float | None, low: float | None, high: float | None, form: str = ".2f", *, ends: str = ".2f",
    undefined: str = "–",
) -> str:  # fmt: skip
    """Return a value with its interval, where one is known.

    Examples
    --------
    >>> interval_text(0.5, 0.25, 0.75), interval_text(0.5, None, None, ".3f"), interval_text(math.nan, 0, 1)
    ('0.50 [0.25, 0.75]', '0.500', '–')
    """
    if value is None or math.isnan(value):
        return undefined
    known = low is not None and high is not None and not math.isnan(low)
    return f"{value:{form}} [{low:{ends}}, {high:{ends}}]" if known else f"{value:{form}}"


def p_cell(p: float | None) -> str:
    """Return a p-value, a dash if there is none."""
    if p is None or math.isnan(p):
        return "–"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")
