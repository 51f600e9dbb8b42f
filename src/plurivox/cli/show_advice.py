"""Advice and plans as terminal tables."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import polars as pl
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from plurivox.actions.advise.result import NAMES, Advice
from plurivox.cli.tables import print_table
from plurivox.results.text import Shown

if TYPE_CHECKING:
    from plurivox.actions.plan.result import Plan


def tables(found: Advice) -> list[Shown]:
    """Return all tables of a result as text; raters are counted and not named."""
    shown = []
    for axis in found.axes:
        own = found.to_frame().filter(pl.col("axis") == axis)
        members = found.table("members").filter(pl.col("axis") == axis)
        if axis == "rater":
            shown.append(_counted(own, members.height))
        else:
            shown += [_members(axis, members), _remarks(axis, own), _pairs(axis, found)]
    return [table for table in shown if table.rows or table.header[0] == "group"]


def show_advice(found: Advice, out: Console) -> None:
    """Print a result, remarks as paragraphs."""
    for axis in found.axes:
        own = found.to_frame().filter(pl.col("axis") == axis)
        members = found.table("members").filter(pl.col("axis") == axis)
        if axis == "rater":
            counted = _counted(own, members.height)
            print_table(Shown(counted.title, counted.header[:3], [row[:3] for row in counted.rows]), out)
            for name, *_, meaning, following in counted.rows:
                _paragraph(name, "", meaning, following, out)
            continue
        print_table(_members(axis, members), out)
        for group, text, meaning, following, sure in own.select(_REMARK).iter_rows():
            _paragraph(group, f"{text} ({sure})", meaning, following, out)
        pairs = _pairs(axis, found)
        if pairs.rows:
            print_table(pairs, out)
        if own.is_empty() and members.height:
            out.print(Text(f"• {found.nothing(axis)}"))
    for sentence in found.closing():
        out.print(Text(f"• {sentence}"))


_REMARK = ("group", "seen", "meaning", "next", "sure")


def _paragraph(who: str, text: str, meaning: str, following: str, out: Console) -> None:
    out.print(Text(who, style="bold") + Text(f": {text}" if text else ""))
    out.print(Padding(Text(f"May mean: {meaning}"), (0, 0, 0, 2)))
    out.print(Padding(Text(f"Look at next: {following}"), (0, 0, 1, 2)))


def _counted(own: pl.DataFrame, n_raters: int) -> Shown:
    counts = (
        own.unique(["group", "habit"], maintain_order=True)
        .group_by("habit", maintain_order=True)
        .agg(pl.len(), (pl.col("sure") == "clear").sum(), pl.col("meaning").first(), pl.col("next").first())
        .sort("len", descending=True, maintain_order=True)
    )
    lines = [[NAMES[row[0]], f"{row[1]:,}", f"{row[2]:,}", *row[3:]] for row in counts.iter_rows()]
    title = f"{n_raters:,} raters one by one (--csv names them)"
    return Shown(title, ["what was seen", "raters", "clear", "may mean", "look at next"], lines)


def _members(axis: str, members: pl.DataFrame) -> Shown:
    lines = []
    for row in members.iter_rows(named=True):
        habits = dict.fromkeys(NAMES[habit] for habit in row["habits"].split(", ") if habit)
        lines.append(
            [
                row["group"], f"{row['n_raters']:,}", f"{row['n_items']:,}",
                _interval(row, "mpa"), _interval(row, "wra"),
                "–" if math.isnan(row["same_score"]) else f"{row['same_score']:.0%}", ", ".join(habits) or "–",
            ]
        )  # fmt: skip
    header = ["group", "raters", "items", "MPA [95 %]", "WRA [95 %]", "same score", "what was seen"]
    return Shown(axis, header, lines)


def _interval(row: dict[str, float], name: str) -> str:
    if math.isnan(row[name]):
        return "–"
    if row[f"{name}_low"] is None or math.isnan(row[f"{name}_low"]):
        return f"{row[name]:.2f}"
    return f"{row[name]:.2f} [{row[f'{name}_low']:.2f}, {row[f'{name}_high']:.2f}]"


def _remarks(axis: str, own: pl.DataFrame) -> Shown:
    lines = [list(row) for row in own.select(_REMARK).iter_rows()]
    return Shown(f"{axis}: what was seen", ["group ", "seen", "may mean", "look at next", "sure"], lines)


def _pairs(axis: str, found: Advice) -> Shown:
    """Return pairs of items of groups whose WRA is low."""
    low = found.to_frame().filter((pl.col("axis") == axis) & pl.col("habit").is_in(["low_wra", "both_low"]))
    pairs = found.table("pairs").filter((pl.col("axis") == axis) & pl.col("group").is_in(low["group"].implode()))
    lines = [
        [group, score, _with_share(unsafe, high), _with_share(safe, share)]
        for _, group, score, unsafe, high, safe, share in pairs.group_by("group", maintain_order=True).head(3).select(
            pairs.columns
        ).iter_rows()
    ]  # fmt: skip
    header = ["group ", "score", "unsafe item (share of unsafe)", "safe item"]
    return Shown(f"{axis}: items to compare, unsafe and safe with the same score", header, lines)


def _with_share(item: str, share: float | None) -> str:
    return item if share is None else f"{item} ({share:.0%})"


def plan_tables(found: Plan) -> list[Shown]:
    """Return the tables of a plan as text; findings say what to collect."""
    lenses = [[lens, applies] for lens, applies in found.to_frame().select("lens", "applies").iter_rows()]
    shown = [Shown("Which analyses apply", ["analysis", "applies"], lenses)]
    for (axis,), own in found.table("groups").group_by("axis", maintain_order=True):
        shown.append(_groups(str(axis), own))
    power = found.table("power")
    if power.height:
        shown.append(_power(power))
    return shown


def show_plan(found: Plan, out: Console) -> None:
    """Print a plan."""
    for table in plan_tables(found):
        print_table(table, out)
    for sentence in found.findings():
        out.print(Text(f"• {sentence}"))


def _groups(axis: str, own: pl.DataFrame) -> Shown:
    """Return what the groups of an axis have, and what that is enough for; withheld ones are counted.

    Rated twice are the items with two ratings of the group, shared those that others rated, too.
    """
    lines = []
    for row in own.iter_rows(named=True):
        if row["group"] is None:
            lines.append([f"{row['withheld']:,} withheld", *["–"] * 7])
            continue
        counts = [f"{row[name]:,}" for name in ("n_raters", "n_ratings", "n_items_twice", "n_items_shared")]
        lines.append([row["group"], *counts, *(row[name] for name in ("cohesion", "responsiveness", "psychometrics"))])
    header = ["group", "raters", "ratings", "rated twice", "shared", "cohesion", "responsiveness", "psychometrics"]
    return Shown(axis, header, lines)


def _power(power: pl.DataFrame) -> Shown:
    lines = []
    for row in power.iter_rows(named=True):
        known = row["ci_low"] is not None and not math.isnan(row["ci_low"])
        interval = f" [{row['ci_low']:.2f}, {row['ci_high']:.2f}]" if known else ""
        value = "–" if row["value"] is None or math.isnan(row["value"]) else f"{row['value']:.2f}{interval}"
        sizes = [f"{row['n_raters']:,}", f"{row['n_items']:,}", f"{row['n_simulations']:,}"]
        enough = "yes" if row["enough"] else "no"
        lines.append([f"{row['group']}: {row['question']}", row["what"], *sizes, value, enough])
    header = ["group and question", "design", "raters", "items", "studies", "found, or width", "enough"]
    return Shown("Power by simulation", header, lines)
