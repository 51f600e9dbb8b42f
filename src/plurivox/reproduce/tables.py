"""Published tables next to ours, as tables of text."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from plurivox.infer.view import View
from plurivox.reproduce.record import Reproduction
from plurivox.statistics.registry import LABELS

LEGEND = (
    "=: ours equals the printed number to all of its decimals; otherwise printed, ours and the difference. In "
    "brackets: ours alone."
)


def tables(found: Reproduction) -> list[View]:
    """Return one table for each of the paper's, with what agrees in its last line."""
    return [_table(str(name), part) for (name,), part in found.to_frame().group_by("table", maintain_order=True)]


def _table(name: str, part: pl.DataFrame) -> View:
    columns = part["column"].unique(maintain_order=True).to_list()
    cells = {(row["row"], row["column"]): _cell(row) for row in part.iter_rows(named=True)}
    lines = [[row, *(cells.get((row, one), "") for one in columns)] for row in part["row"].unique(maintain_order=True)]
    known = part.filter(pl.col("agrees").is_not_null())
    if known.height:
        decimals = max(known["decimals"].drop_nulls().to_list(), default=None)
        label = "agrees" if decimals is None else f"agrees to {decimals} decimals" if decimals else "agrees exactly"
        counts = [known.filter(column=one)["agrees"] for one in columns]
        lines.append([label, *(f"{int(one.sum())} of {len(one)}" if len(one) else "" for one in counts)])
    return View(name, ["", *(LABELS.get(one, one) for one in columns)], lines)


def _cell(row: dict[str, Any]) -> str:
    printed, ours = row["published"], row["ours"]
    if not printed:
        return f"[{ours:.3f}]"
    if math.isnan(ours):
        return f"{printed} –"
    if row["difference"] is None:
        return f"{printed} {'=' if row['agrees'] else '≠'} {ours:+.3f}"
    digits = max(3, row["decimals"]) if row["decimals"] else 0
    return f"{printed} =" if row["agrees"] else f"{printed} ≠ {ours:.{digits}f} ({row['difference']:+.{digits}f})"
