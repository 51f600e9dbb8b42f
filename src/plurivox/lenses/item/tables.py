"""One item as tables of text."""

from __future__ import annotations

from typing import Any

from plurivox.base.wording import one_line
from plurivox.infer.text import BARS, Shown, number_cell, p_cell
from plurivox.lenses.item.result import ItemView

MAX_TEXT = 4000
MAX_POINTS = 25
MAX_TIED = 4
MAX_LABEL = 20
_HEADER = ["group", "ratings", "plurality", "mean", "difference", "distance", "chance", "p", "p groups", "p items"]

_USE = ("point", "n_ratings", "share", "share_of_study")


def use_rows(found: ItemView) -> list[tuple[list[str], int | None]]:
    """Return point, ratings, share and share of the study as text, and the ratings as a number."""
    rows: list[tuple[list[str], int | None]] = [
        ([one_line(point), f"{n:,}", f"{share:.1%}", f"{usual:.1%}"], n)
        for point, n, share, usual in found.table("use").select(_USE).iter_rows()
    ]
    half = MAX_POINTS // 2
    return rows if len(rows) <= MAX_POINTS else [*rows[:half], (["…", "", "", ""], None), *rows[-half:]]


def tables(found: ItemView) -> list[Shown]:
    """Return everything that the terminal shows as tables of text."""
    known = [[one_line(name), one_line(value[:MAX_TEXT])] for name, value in found.table("attributes").iter_rows()]
    title = one_line(f"Item {found.settings['item']}")
    about = [Shown(title, ["attribute", "value"], known)] if known else []
    lines = [line for line, _ in use_rows(found)]
    use = Shown(
        "Scores of all raters, compared with all items of the study", ["point", "ratings", "share", "all items"], lines
    )
    return [*about, *([use] if lines else []), *group_tables(found)]


def group_tables(found: ItemView) -> list[Shown]:
    """Return a table for each axis."""
    parts = found.table("distribution").partition_by("axis", "group", as_dict=True)
    points = found.settings["points"]
    header = [*_HEADER, "distribution"] if len(points) <= MAX_POINTS else _HEADER
    shown: list[Shown] = []
    if found.table("use").is_empty():
        return shown
    for axis, n_withheld in found.settings["withheld"].items():
        rows = found.to_frame()[1:].filter(axis=axis).iter_rows(named=True)
        counted = "n_ratings" if "weights" not in found.settings else "share"
        lines = [_group_line(row, points, parts[axis, row["group"]][counted].to_list()) for row in rows]
        withheld = f", {n_withheld:,} withheld" if n_withheld else ""
        shown.append(Shown(f"{one_line(axis)}{withheld}", header, [line[: len(header)] for line in lines]))
    return shown


def _group_line(row: dict[str, Any], points: list[str], counts: list[float]) -> list[str]:
    top = max(counts)
    tied = [_cut(point) for point, n in zip(points, counts, strict=True) if n == top]
    plurality = ", ".join(tied) if len(tied) <= MAX_TIED else f"{len(tied)} tied"
    bars = "".join("·" if n == 0 else BARS[int(-(-8 * n // top)) - 1] for n in counts)
    return [
        one_line(row["group"]), f"{row['n_ratings']:,}", plurality, f"{row['mean']:.2f}",
        number_cell(row["difference"], "+.2f"), number_cell(row["value"], ".3f"),
        number_cell(row["null_median"], ".3f"), p_cell(row["p_value"]), p_cell(row["p_adjusted"]),
        p_cell(row["p_adjusted_items"]), bars,
    ]  # fmt: skip


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MAX_LABEL else f"{line[: MAX_LABEL - 1].rstrip()}…"
