"""Items to look at as tables."""

from __future__ import annotations

import polars as pl

from plurivox.infer.view import INTERVAL, Column, Value, View, view_of
from plurivox.lenses.items.result import Items
from plurivox.lenses.items.words import comparisons


def tables(found: Items, *, top: int = 20) -> list[View]:
    """Return the first items of each list."""
    shown = [uncertain(found, top)]
    return [*shown, divided(found, top)] if found.divided.height else shown


def brief(found: Items, *, top: int = 8) -> list[View]:
    """Return the first few items of each list."""
    return tables(found, top=top)


def uncertain(found: Items, top: int) -> View:
    """Return the items about which one more rating reveals most."""
    total = found.uncertain.height
    first = f"the first {top:,} of {total:,}" if total > top else f"{total:,}"
    frame = found.uncertain.head(top).with_columns(pl.col("ratings_needed").cast(pl.Float64).fill_null(float("inf")))
    names = {
        "item": "item", "n_ratings": "ratings", "mean": Column("mean", ".2f"),
        "expected_mean": Column("expected", ".2f"), "ci_low": Column("95 % interval", INTERVAL),
        "prior_share": Column("prior's share", ".0%"), "information_gain": "gain of one more",
        "ratings_needed": Column(f"needed for ±{found.settings['precision']:g}", ",.0f"),
        "entropy": Column("entropy", extra=True),
    }  # fmt: skip
    return view_of(f"Items that deserve more ratings, {first}", frame, names)


def divided(found: Items, top: int) -> View:
    """Return the clearest differences between groups on items."""
    total = found.divided.height
    first = f", the first {top:,} of {total:,}" if total > top else ""
    frame = found.divided.head(top)
    frame = frame.with_columns(pl.col("direction").fill_null("equal"))
    names = {
        "item": "item", "axis": "axis", "group": "group", "direction": "rates it",
        "difference": Column("difference", "+.2f"),
        "shrunken": Column("shrunken", "+.2g"), "p_value": "p alone", "p_adjusted": "p corrected",
        "mean_group": Column("mean", ".2f", extra=True), "mean_rest": Column("mean of the others", ".2f", extra=True),
        "n_group": Column("ratings", extra=True), "n_rest": Column("ratings of the others", extra=True),
        "note": Column("note", extra=True),
    }  # fmt: skip
    view = view_of(f"Differences between groups on items, {comparisons(found.settings)}{first}", frame, names)
    hidden, place = Value(None, after="withheld"), list(names).index("difference")
    rows = [[*row[:place], hidden if row[-1] else row[place], *row[place + 1 :]] for row in view.rows]  # where noted
    return view._replace(rows=rows)
