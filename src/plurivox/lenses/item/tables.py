"""One item as tables."""

from __future__ import annotations

import polars as pl

from plurivox.base.wording import one_line
from plurivox.infer.view import BARS, Column, P, View, columns, filled, view_of
from plurivox.lenses.item.result import ItemView

MAX_TEXT = 4000
MAX_POINTS = 25
MAX_TIED = 4
MAX_LABEL = 20
_COLUMNS = [
    "group", "ratings", "plurality", Column("mean", ".2f"), Column("difference", "+.2f"), "distance", "chance",
    *columns(P, ("p", "p groups", "p items")),
]  # fmt: skip
_VALUES = ("mean", "difference", "value", "null_median", "p_value", "p_adjusted", "p_adjusted_items")
_USE = {"point": "point", "n_ratings": "ratings", "share": Column("share", ".1%"),
        "share_of_study": Column("all items", ".1%")}  # fmt: skip


def use_of(found: ItemView) -> View:
    """Return how often each point was given, here and in the study; for a long scale, only its two ends."""
    frame = found.table("use").with_columns(pl.Series("point", list(map(one_line, found.table("use")["point"]))))
    view = view_of("Scores of all raters, compared with all items of the study", frame, _USE)
    half, rows = MAX_POINTS // 2, view.rows
    return view if len(rows) <= MAX_POINTS else view._replace(rows=[*rows[:half], ["…", "", "", ""], *rows[-half:]])


def tables(found: ItemView) -> list[View]:
    """Return everything that the terminal shows as tables."""
    known = [[one_line(name), one_line(value[:MAX_TEXT])] for name, value in found.table("attributes").iter_rows()]
    about = View(one_line(f"Item {found.settings['item']}"), ["attribute", "value"], known)
    return filled(about, use_of(found)) + group_tables(found)


def group_tables(found: ItemView) -> list[View]:
    """Return a table for each axis."""
    parts = found.table("distribution").partition_by("axis", "group", as_dict=True)
    points = found.settings["points"]
    header = [*_COLUMNS, "distribution"] if len(points) <= MAX_POINTS else _COLUMNS
    shown: list[View] = []
    if found.table("use").is_empty():
        return shown
    for axis, n_withheld in found.settings["withheld"].items():
        counted = "n_ratings" if "weights" not in found.settings else "share"
        lines = []
        for row in found.to_frame()[1:].filter(axis=axis).iter_rows(named=True):
            counts = parts[axis, row["group"]][counted].to_list()
            top = max(counts)
            tied = [_cut(point) for point, n in zip(points, counts, strict=True) if n == top]
            plurality = ", ".join(tied) if len(tied) <= MAX_TIED else f"{len(tied)} tied"
            bars = "".join("·" if n == 0 else BARS[int(-(-8 * n // top)) - 1] for n in counts)
            line = [one_line(row["group"]), row["n_ratings"], plurality, *(row[name] for name in _VALUES), bars]
            lines.append(line[: len(header)])
        withheld = f", {n_withheld:,} withheld" if n_withheld else ""
        shown.append(View(f"{one_line(axis)}{withheld}", header, lines))
    return shown


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MAX_LABEL else f"{line[: MAX_LABEL - 1].rstrip()}…"
