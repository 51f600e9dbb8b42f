"""What one label per item would hide."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from plurivox.base.wording import counted, listed
from plurivox.lenses.aggregate import CALLED, METHODS, OF_COUNTS
from plurivox.lenses.aggregate import result as tables
from plurivox.lenses.aggregate.fits import too_large
from plurivox.lenses.aggregate.result import Aggregation
from plurivox.report.parts import Block, Brief, Section, drawn, findings_of, headline, remarks_of, shown, values

LEAD = (
    "If every item could have only one label, whose view would it be? All methods here assume one true label per item."
)
MOST_RATINGS = 5_000_000
"""Ratings up to which a report fits models of raters; each round looks at all of them."""


def found_in(brief: Brief) -> Aggregation:
    """Return the lens's result for the report."""
    interval = "none" if brief.asked.interval == "none" else "jackknife"
    found: Aggregation = brief.ask("aggregate", methods=_methods(brief), interval=interval, n_lenses=1)
    return found


def _methods(brief: Brief) -> tuple[str, ...]:
    ratings = brief.ratings
    if not ratings.has_raters or ratings.n_entries > MOST_RATINGS or too_large(ratings):
        return OF_COUNTS
    return METHODS


def section(brief: Brief) -> Section | None:
    """Show which groups labels are far from, if there are groups, and how much methods differ.

    Its claims stay out of the headlines, and so out of their correction, because other sections test groups more
    directly.
    """
    if not brief.axes:
        return None
    found = found_in(brief)
    findings = [
        replace(one, said=replace(one.said, p=None, standing="" if one.said.standing == "open" else one.said.standing))
        for one in findings_of(found, "aggregate-views", {"differing": "aggregate-differing"})
    ]
    more: list[Block] = []
    if any(row.kind == "group" for row in found.rows):
        frame = found.to_frame().with_columns(pl.col("method").replace(CALLED))
        more += [_views(found), values("aggregate-values", "Labels and groups: all values", frame)]
    more += _tables(found)
    return Section("aggregate", "What one label would hide", LEAD, [], findings, _remarks(found), more)


def _remarks(found: Aggregation) -> list[str]:
    absent = [CALLED[name] for name in METHODS if name not in found.settings["methods"]]
    left = f"{listed(absent)} were left out: they need to know who rated, and take long with very many ratings."
    return [*remarks_of(found), *([left] if absent else [])]


def _views(found: Aggregation) -> Block:
    title = headline(found.statements(), "departure", otherwise="Labels are not certain to be far from any group")
    return drawn(
        "hidden_views", found, "aggregate-views", title,
        "For each labelling method, how far its labels are from what each group says, compared with chance.",
        "How much raters of a group differ among themselves is subtracted. A group far to the right sees many items "
        "differently from their labels; models trained or judged by these labels do not reflect its view.",
        measure="Typical distance between an item's label and the group's mean, in points of the scale.",
    )  # fmt: skip


def _tables(found: Aggregation) -> list[Block]:
    """Return how labels were made, and where methods differ."""
    rated = found.labels().drop_nulls("agreed")
    n = int((~rated["agreed"]).sum())
    note = f"All methods together give different labels to {n:,} of {counted(rated.height, 'item')}."
    return [
        *shown("aggregate-methods", tables.methods(found), title="How labels were made"),
        *shown("aggregate-differing", tables.differing(found), note, title="Where methods differ"),
    ]
