"""From results to the parts of a report: figures, tables, findings and remarks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from plurivox.infer.merging import merged
from plurivox.infer.result import Result, Statement
from plurivox.infer.view import View
from plurivox.lenses.items.result import Items
from plurivox.report.parts import Block, Brief, DataTable, Figure, Finding, Switch
from plurivox.statistics.registry import LABELS

WIDE, HALF, NARROW = 950, 450, 340
"""Widths of charts in pixels: on a full-width page, two side by side there, and on a phone."""
MOST_UNDEFINED = 5
OF_MODELS = ("alignment", "estimate", "judge", "soft scores")
"""Results whose claims are about models, not about differences between groups of raters."""


def drawn(
    chart: str, found: Any, name: str, title: str, alt: str, caption: str, *which: Any, measure: str = "",
    half: bool = False, **options: Any,
) -> Figure:  # fmt: skip
    """Return a figure of a chart in :mod:`plurivox.plots` with the table behind it, from the same arguments."""
    from plurivox import plots
    from plurivox.plots.theme import trusted
    from plurivox.plots.writing import Picture

    pictures = []
    for width in (HALF if half else WIDE, NARROW):
        with plots.sized(width), trusted():
            pictures.append(Picture.untitled(getattr(plots, chart)(found, *which, **options)))
    data = getattr(plots, f"{chart}_data")(found, *which, **options)
    wide, narrow = pictures
    return Figure(name, title, wide, narrow, alt, caption, data, measure, half)


def switched(name: str, label: str, figures: Iterable[tuple[str, Figure]]) -> list[Block]:
    """Return charts of one question with a switch between them, or the chart itself if there is only one.

    Either has the id of the question, so that links lead there.
    """
    every = list(figures)
    return [Switch(name, label, every)] if len(every) > 1 else [replace(figure, id=name) for _, figure in every]


def shown(
    name: str, view: View, note: str = "", *, title: str = "", most: int = 1000, brief: Brief | None = None
) -> list[Block]:  # fmt: skip
    """Return a view of a lens as a table with its numbers, nothing if it has no rows; ``brief`` knows items' texts."""
    frame = view.frame() if brief is None else with_text(view.frame(), brief)
    said = title or view.title[:1].upper() + view.title[1:]
    return [table(name, said, frame, most, note, digits=view.digits, search=True)] if view.rows else []


def table(
    name: str, title: str, frame: pl.DataFrame, most: int, note: str = "", *, ending: str = "",
    digits: Mapping[str, int] | None = None, search: bool = False,
) -> DataTable:  # fmt: skip
    """Return the first rows of a frame as a table; its note says if there are more."""
    cut = f"The first {most:,} of {frame.height:,} rows." if frame.height > most else ""
    said = " ".join(filter(None, (note, cut, ending)))
    return DataTable(name, title, frame.head(most), digits or {}, said, search)


_NAMES = {
    "of": "estimated", "model": "model", "prompt": "prompt", "reference": "reference", "method": "method",
    "bin": "ratings of an item",
    "axis": "axis", "group": "group", "subset": "subset", "statistic": "statistic", "value": "value", "ci_low": "low",
    "ci_high": "high", "null_median": "chance", "p_value": "p", "p_adjusted": "p corrected", "rank": "rank",
    "n_raters": "raters", "n_items": "items", "prior_share": "share of prior", "note": "note",
    "unweighted": "unweighted",
}  # fmt: skip
"""What readers see of the frame of a result, and under which names."""


def tested_values(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of a result, each value next to what chance gives, without columns that say nothing."""
    known = frame.select(pl.col(name).alias(to) for name, to in _NAMES.items() if name in frame.columns)
    said = [
        name for name in known.columns
        if name == "value" or not known[name].cast(pl.String).fill_null("").is_in(["", "NaN", "all"]).all()
    ]  # fmt: skip
    return known.with_columns(pl.col("statistic").replace(LABELS)).select(said)


def values(name: str, title: str, frame: pl.DataFrame, most: int = 1000) -> DataTable:
    """Return all values of a result as a table."""
    return table(name, title, tested_values(frame), most, search=True)


def findings_of(found: Result | Items, default: str, anchors: Mapping[str, str] | None = None) -> list[Finding]:
    """Return the findings, each with the id of its evidence: that of its statistic, or the usual one."""
    of_groups = not (isinstance(found, Result) and found.KIND in OF_MODELS)
    return [
        Finding(one, (anchors or {}).get(one.statistic, default), one.group == "all" and not one.claim, of_groups)
        for one in sorted(found.statements(), key=lambda one: -one.weight)
        if one.weight > 0
    ]


def headline(statements: Sequence[Statement], *statistics: str, otherwise: str) -> str:
    """Return what some statistics claim in a few words, as a title; otherwise the given alternative."""
    said = [one for one in statements if one.claim and one.short and one.statistic in statistics]
    lines = merged(said, 2, amounts=len(said) == 1)
    return lines[0].text if lines else otherwise


def remarks_of(found: Result) -> list[str]:
    """Return what a lens says about the analysis itself, except what is withheld, which the study section covers."""
    return [one.text for one in found.statements() if one.weight == 0 and one.statistic != "withheld"]


def undefined_remarks(found: Result, statistic: str) -> list[str]:
    """Return why values could not be computed, for the first few groups, and for how many more."""
    name = LABELS[statistic]
    rows = [row for row in found.rows if math.isnan(row.value) and (row.kind, row.statistic) == ("group", statistic)]
    remarks = [f"{name} of {row.group} could not be computed: {row.note}." for row in rows[:MOST_UNDEFINED]]
    if len(rows) > MOST_UNDEFINED:
        remarks.append(f"{name} of {len(rows) - MOST_UNDEFINED:,} more groups could not be computed either.")
    return remarks


def with_text(frame: pl.DataFrame, brief: Brief) -> pl.DataFrame:
    """Add the items' text after their id, if they have one."""
    column = brief.text_column
    if column is None:
        return frame
    known = brief.ratings.items.select(pl.col("item").cast(pl.String), pl.col(column).cast(pl.String).alias("text"))
    joined = frame.join(known, on="item", how="left", maintain_order="left")
    return joined.select("item", "text", *(name for name in frame.columns if name != "item"))
