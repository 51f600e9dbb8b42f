"""A selection as tables."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.actions.select.result import Selection
from plurivox.infer.view import RANGE, SIZES, Column, Value, View, columns, written
from plurivox.statistics.registry import LABELS


def tables(found: Selection) -> list[View]:
    """Return the chosen raters of each axis, how groups fare, and raters to look at."""
    return [*_chosen(found), *_fairness(found), *_look_at(found)]


def _chosen(found: Selection) -> list[View]:
    metric = found.settings["metric"]
    others = [name for name in ("mpa", "wra", "hm") if name != metric]
    header = [
        "group",
        "rank",
        "rater",
        Column(f"{LABELS[metric]} [95 %]", SIZES[0]),
        *(LABELS[name] for name in others),
    ]
    lines: dict[str, list[list[Any]]] = {}
    for row in found.shown_frame().iter_rows(named=True):
        values = [Value(row["value"], row["ci_low"], row["ci_high"]), *(row[name] for name in others)]
        rank = None if row["rank"] is None else str(row["rank"])
        tied = "yes" if row["tied"] else ""
        line = [row["group"], rank, row["rater"] or "nobody", *values, row["n_ratings"], tied]
        lines.setdefault(row["axis"], []).append(line)
    named = "" if found.settings.get("ids") else " (numbered; --ids names them)"
    title = "The most responsive raters by {}" + named
    return [View(title.format(axis), [*header, "ratings", "tied"], rows) for axis, rows in lines.items()]


def _fairness(found: Selection) -> list[View]:
    """Return how the groups of each axis fare."""
    frame = found.table("fairness")
    batches = frame["hard_eligible"].null_count() < frame.height
    lines: dict[str, list[list[Any]]] = {}
    for row in frame.iter_rows(named=True):
        shares = [_counted(row, name) for name in ("raters", "eligible", "chosen")]
        kept = Value(row["kept"], row["kept_low"], row["kept_high"])
        line = [row["group"], *shares, row["rate"], row["rate_ratio"], kept, row["mean_score"], row["mean_chosen"]]
        if batches:
            line.append(f"{_share(row['hard_chosen'])} (eligible {_share(row['hard_eligible'])})")
        lines.setdefault(row["axis"], []).append(line)
    header = [
        "group", "raters", "eligible", "chosen", Column("rate", ".0%"), Column("× overall", ".2f"),
        Column("view kept [95 %]", RANGE), *columns(".2f", ("mean score", "of chosen")),
    ]  # fmt: skip
    header += ["of chosen in a harder batch"] if batches else []
    return [View(f"Fairness by {axis}", header, rows) for axis, rows in lines.items()]


def _look_at(found: Selection) -> list[View]:
    """Return how many raters of each group are listed, compared with chance; their names are in the CSV."""
    signs = found.table("look_at")["sign"].unique()
    lines: dict[str, list[list[Any]]] = {}
    for row in found.table("alarms").filter(pl.col("sign").is_in(signs.implode())).iter_rows(named=True):
        line = [row["group"], row["sign"], row["n_raters"], _counted(row, "listed")]
        lines.setdefault(row["axis"], []).append([*line, row["share_by_chance"], row["share_low"]])
    header = ["group", "sign", "raters", "listed", Column("by chance", ".2%"), Column("p ≤ .05", ".0%")]
    return [View(f"Raters to look at by {axis}", header, rows) for axis, rows in lines.items()]


def _counted(row: dict[str, Any], what: str) -> str:
    return f"{row[f'n_{what}']:,} ({_share(row[f'share_{what}'])})"


def _share(value: float | None) -> str:
    return written(value, ".0%")
