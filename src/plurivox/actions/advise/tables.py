"""Advice as tables of text."""

from __future__ import annotations

import polars as pl

from plurivox.actions.advise.result import NAMES, Advice
from plurivox.domain.scale_names import Poles
from plurivox.infer.text import Shown, interval_text, number_cell


def tables(found: Advice) -> list[Shown]:
    """Return all tables of a result as text; raters are counted, not named."""
    shown = []
    for axis in found.axes:
        own = found.to_frame().filter(pl.col("axis") == axis)
        members = found.table("members").filter(pl.col("axis") == axis)
        if axis == "rater":
            shown.append(counted_raters(own, members.height))
        else:
            shown += [members_of(axis, members), _remarks(axis, own), pairs_of(axis, found), *lists_of(axis, found)]
    return [table for table in shown if table.rows or table.header[0] == "group"]


REMARK = ("group", "seen", "meaning", "next", "sure")


def counted_raters(own: pl.DataFrame, n_raters: int) -> Shown:
    """Return how many raters show each habit."""
    counts = (
        own.unique(["group", "habit"], maintain_order=True)
        .group_by("habit", maintain_order=True)
        .agg(pl.len(), (pl.col("sure") == "clear").sum(), pl.col("meaning").first(), pl.col("next").first())
        .sort("len", descending=True, maintain_order=True)
    )
    lines = [[NAMES[row[0]], f"{row[1]:,}", f"{row[2]:,}", *row[3:]] for row in counts.iter_rows()]
    title = f"{n_raters:,} individual raters (--csv names them)"
    return Shown(title, ["what was seen", "raters", "clear", "may mean", "look at next"], lines)


def members_of(axis: str, members: pl.DataFrame) -> Shown:
    """Return the values of each group."""
    lines = []
    for row in members.iter_rows(named=True):
        habits = dict.fromkeys(NAMES[habit] for habit in row["habits"].split(", ") if habit)
        lines.append(
            [
                row["group"], f"{row['n_raters']:,}", f"{row['n_items']:,}",
                *(interval_text(row[name], row[f"{name}_low"], row[f"{name}_high"]) for name in ("mpa", "wra")),
                number_cell(row["same_score"], ".0%"), ", ".join(habits) or "–",
            ]
        )  # fmt: skip
    header = ["group", "raters", "items", "MPA [95 %]", "WRA [95 %]", "same score", "what was seen"]
    return Shown(axis, header, lines)


def _remarks(axis: str, own: pl.DataFrame) -> Shown:
    lines = [list(row) for row in own.select(REMARK).iter_rows()]
    return Shown(f"{axis}: what was seen", ["group ", "seen", "may mean", "look at next", "sure"], lines)


def pairs_of(axis: str, found: Advice) -> Shown:
    """Return pairs of items of groups whose WRA is low."""
    low = found.to_frame().filter((pl.col("axis") == axis) & pl.col("habit").is_in(["low_wra", "both_low"]))
    pairs = found.table("pairs").filter((pl.col("axis") == axis) & pl.col("group").is_in(low["group"].implode()))
    lines = [
        [group, score, _with_share(unsafe, high), _with_share(safe, share)]
        for _, group, score, unsafe, high, safe, share in pairs.group_by("group", maintain_order=True).head(3).select(
            pairs.columns
        ).iter_rows()
    ]  # fmt: skip
    poles = Poles.of(found.settings)
    header = ["group ", "score", poles.fill("{high} item (share of {high})"), poles.fill("{low} item")]
    return Shown(f"{axis}: items to compare, {poles.high} and {poles.low} with the same score", header, lines)


LISTS = {
    "range": "items of a range over which precision is flat or falls",
    "high": "items that the reference calls {high}, at every score",
    "golden": "items on which the reference is most certain, those scored farthest from it first",
}
"""The titles of the lists of items."""


def lists_of(axis: str, found: Advice) -> list[Shown]:
    """Return the items behind the remarks on groups, a table for each list."""
    poles, items = Poles.of(found.settings), found.table("items").filter(pl.col("axis") == axis)
    shown = []
    for name, title in LISTS.items():
        own = items.filter(pl.col("list") == name)
        first = own.group_by("group", "score", maintain_order=True).head(3).select(own.columns)
        lines = [
            [group, score, _with_share(item, share)]
            for group, score, item, share in first.select("group", "score", "item", "unsafe_share").iter_rows()
        ]
        header = ["group ", "score", poles.fill("item (share of {high})")]
        shown.append(Shown(f"{axis}: {poles.fill(title)}", header, lines))
    return [one for one in shown if one.rows]


def _with_share(item: str, share: float | None) -> str:
    return item if share is None else f"{item} ({share:.0%})"
