"""Advice as tables."""

from __future__ import annotations

import polars as pl

from plurivox.actions.advise.result import NAMES, Advice
from plurivox.domain.scale_names import Poles
from plurivox.infer.view import RANGE, Column, View, filled, view_of

REMARK = {"group": "group ", "seen": "seen", "meaning": "may mean", "next": "look at next", "sure": "sure"}
LOW = ["low_wra", "both_low"]
"""Habits of groups whose pairs of items are worth comparing."""
LISTS = {
    "range": "items of a range over which precision is flat or falls",
    "high": "items that the reference calls {high}, at every score",
    "golden": "items on which the reference is most certain, those scored farthest from it first",
}
"""The titles of the lists of items."""


def tables(found: Advice) -> list[View]:
    """Return all tables of a result; raters are counted, not named."""
    shown = []
    for axis in found.axes:
        own, members = found.to_frame().filter(axis=axis), found.table("members").filter(axis=axis)
        if axis == "rater":
            shown += filled(counted_raters(own, members.height))
        else:
            remarks = view_of(f"{axis}: what was seen", own, REMARK)
            shown += [members_of(axis, members), *filled(remarks, pairs_of(axis, found), *lists_of(axis, found))]
    return shown


def counted_raters(own: pl.DataFrame, n_raters: int) -> View:
    """Return how many raters show each habit."""
    counts = (
        own.unique(["group", "habit"], maintain_order=True)
        .group_by("habit", maintain_order=True)
        .agg(pl.len(), (pl.col("sure") == "clear").sum(), pl.col("meaning").first(), pl.col("next").first())
        .sort("len", descending=True, maintain_order=True)
        .with_columns(pl.col("habit").replace(NAMES))
    )
    names = {"habit": "what was seen", "len": "raters", "sure": "clear", "meaning": "may mean", "next": "look at next"}
    return view_of(f"{n_raters:,} individual raters (--csv names them)", counts, names)


def members_of(axis: str, members: pl.DataFrame) -> View:
    """Return the values of each group."""
    seen = [", ".join(dict.fromkeys(NAMES[one] for one in habits.split(", ") if one)) for habits in members["habits"]]
    names = {
        "group": "group", "n_raters": "raters", "n_items": "items", "mpa": Column("MPA [95 %]", RANGE),
        "wra": Column("WRA [95 %]", RANGE), "same_score": Column("same score", ".0%"), "habits": "what was seen",
    }  # fmt: skip
    return view_of(axis, members.with_columns(pl.Series("habits", [one or None for one in seen], pl.String)), names)


def pairs_of(axis: str, found: Advice, most: int = 3) -> View:
    """Return pairs of items of groups whose WRA is low."""
    low = found.to_frame().filter(pl.col("habit").is_in(LOW), axis=axis)
    pairs = found.table("pairs").filter(pl.col("group").is_in(low["group"].implode()), axis=axis)
    first = pairs.group_by("group", maintain_order=True).head(most)
    lines = [
        [
            row["group"],
            row["score"],
            *(_with_share(row[f"{end}_item"], row[f"{end}_share"]) for end in ("unsafe", "safe")),
        ]
        for row in first.iter_rows(named=True)
    ]
    poles = Poles.of(found.settings)
    header = ["group ", "score", poles.fill("{high} item (share of {high})"), poles.fill("{low} item")]
    return View(f"{axis}: items to compare, {poles.high} and {poles.low} with the same score", header, lines)


def lists_of(axis: str, found: Advice, most: int = 3) -> list[View]:
    """Return the items behind the remarks on groups, a table for each list."""
    poles, items = Poles.of(found.settings), found.table("items").filter(axis=axis)
    header = ["group ", "score", poles.fill("item (share of {high})")]
    shown = []
    for name, title in LISTS.items():
        first = items.filter(list=name).group_by("group", "score", maintain_order=True).head(most)
        each = first.select("group", "score", "item", "unsafe_share").iter_rows()
        lines = [[group, score, _with_share(item, share)] for group, score, item, share in each]
        shown.append(View(f"{axis}: {poles.fill(title)}", header, lines))
    return filled(*shown)


def _with_share(item: str, share: float | None) -> str:
    return item if share is None else f"{item} ({share:.0%})"
