"""Items to look at as tables."""

from __future__ import annotations

import polars as pl

from plurivox.infer.view import INTERVAL, Column, View, view_of, written
from plurivox.lenses.items.result import Items
from plurivox.lenses.items.words import comparisons


def tables(found: Items, *, top: int = 20) -> list[View]:
    """Return the first items of each list."""
    shown = [_uncertain(found, top)]
    return [*shown, _divided(found, top)] if found.divided.height else shown


def brief(found: Items, *, top: int = 8) -> list[View]:
    """Return the first few items of each list."""
    return tables(found, top=top)


def _uncertain(found: Items, top: int) -> View:
    total = found.uncertain.height
    first = f"the first {top:,} of {total:,}" if total > top else f"{total:,}"
    frame = found.uncertain.head(top).with_columns(pl.col("ratings_needed").cast(pl.Float64).fill_null(float("inf")))
    names = {
        "item": "item", "n_ratings": "ratings", "mean": Column("mean", ".2f"),
        "expected_mean": Column("expected", ".2f"), "ci_low": Column("95 % interval", INTERVAL),
        "prior_share": Column("prior's share", ".0%"), "information_gain": "gain of one more",
        "ratings_needed": Column(f"needed for ±{found.settings['precision']:g}", ",.0f"),
    }  # fmt: skip
    return view_of(f"Items that deserve more ratings, {first}", frame, names)


def _divided(found: Items, top: int) -> View:
    total = found.divided.height
    first = f", the first {top:,} of {total:,}" if total > top else ""
    frame = found.divided.head(top)
    shown = [
        "withheld" if note else written(value, "+.2f") for note, value in frame.select("note", "difference").iter_rows()
    ]
    frame = frame.with_columns(pl.Series("difference", shown), pl.col("direction").fill_null("equal"))
    names = {
        "item": "item", "axis": "axis", "group": "group", "direction": "rates it", "difference": "difference",
        "shrunken": Column("shrunken", "+.2g"), "p_value": "p alone", "p_adjusted": "p corrected",
    }  # fmt: skip
    return view_of(f"Differences between groups on items, {comparisons(found.settings)}{first}", frame, names)
