"""A selection as tables of text."""

from __future__ import annotations

import math

import polars as pl

from plurivox.actions.select.result import Selection
from plurivox.infer.text import Shown, interval_text, number_cell
from plurivox.statistics.registry import LABELS


def tables(found: Selection) -> list[Shown]:
    """Return the chosen raters of each axis, how groups fare, and raters to look at, as text."""
    return [*_chosen(found), *_fairness(found), *_look_at(found)]


def _chosen(found: Selection) -> list[Shown]:
    metric = found.settings["metric"]
    others = [name for name in ("mpa", "wra", "hm") if name != metric]
    header = [
        "group", "rank", "rater", f"{LABELS[metric]} [95 %]", *(LABELS[name] for name in others), "ratings", "tied",
    ]  # fmt: skip
    lines: dict[str, list[list[str]]] = {}
    for row in found.shown_frame().iter_rows(named=True):
        line = [row["group"], "–", "nobody", *["–"] * (2 + len(others)), ""]
        if row["rater"] is not None:
            values = [
                interval_text(row["value"], row["ci_low"], row["ci_high"], ".3f"),
                *(f"{row[name]:.3f}" for name in others),
            ]
            line = [row["group"], str(row["rank"]), row["rater"], *values, f"{row['n_ratings']:,}"]
            line.append("yes" if row["tied"] else "")
        lines.setdefault(row["axis"], []).append(line)
    named = "" if found.settings.get("ids") else " (numbered; --ids names them)"
    return [Shown(f"The most responsive raters by {axis}{named}", header, rows) for axis, rows in lines.items()]


def _fairness(found: Selection) -> list[Shown]:
    """Return how the groups of each axis fare."""
    header = [
        "group",
        "raters",
        "eligible",
        "chosen",
        "rate",
        "× overall",
        "view kept [95 %]",
        "mean score",
        "of chosen",
    ]
    lines: dict[str, list[list[str]]] = {}
    batches = found.table("fairness")["hard_eligible"].null_count() < found.table("fairness").height
    for row in found.table("fairness").iter_rows(named=True):
        shares = [f"{row[f'n_{name}']:,} ({_share(row[f'share_{name}'])})" for name in ("raters", "eligible", "chosen")]
        kept = interval_text(row["kept"], row["kept_low"], row["kept_high"], ".2f")
        line = [
            row["group"], *shares, _share(row["rate"]), number_cell(row["rate_ratio"]), kept,
            number_cell(row["mean_score"]), number_cell(row["mean_chosen"]),
        ]  # fmt: skip
        if batches:
            line.append(f"{_share(row['hard_chosen'])} (eligible {_share(row['hard_eligible'])})")
        lines.setdefault(row["axis"], []).append(line)
    header += ["of chosen in a harder batch"] if batches else []
    return [Shown(f"Fairness by {axis}", header, rows) for axis, rows in lines.items()]


def _look_at(found: Selection) -> list[Shown]:
    """Return how many raters of each group are listed, compared with chance; their names are in the CSV."""
    if found.table("look_at").is_empty():
        return []
    header = ["group", "sign", "raters", "listed", "by chance", "p ≤ .05"]
    lines: dict[str, list[list[str]]] = {}
    signs = found.table("look_at")["sign"].unique()
    for row in found.table("alarms").filter(pl.col("sign").is_in(signs.to_list())).iter_rows(named=True):
        line = [
            row["group"], row["sign"], f"{row['n_raters']:,}", f"{row['n_listed']:,} ({_share(row['share_listed'])})",
            f"{row['share_by_chance']:.2%}", _share(row["share_low"]),
        ]  # fmt: skip
        lines.setdefault(row["axis"], []).append(line)
    return [Shown(f"Raters to look at by {axis}", header, rows) for axis, rows in lines.items()]


def _share(value: float | None) -> str:
    return "–" if value is None or math.isnan(value) else f"{value:.0%}"
