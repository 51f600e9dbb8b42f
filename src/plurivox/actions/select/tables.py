"""A selection as tables of text."""

from __future__ import annotations

from plurivox.actions.select.result import Selection
from plurivox.results.text import Shown, interval_text
from plurivox.statistics.registry import LABELS


def tables(found: Selection) -> list[Shown]:
    """Return the chosen raters of each axis as text."""
    metric = found.settings["metric"]
    others = [name for name in ("mpa", "wra", "hm") if name != metric]
    header = [
        "group", "rank", "rater", f"{LABELS[metric]} [95 %]", *(LABELS[name] for name in others), "ratings", "tied",
    ]  # fmt: skip
    lines: dict[str, list[list[str]]] = {}
    for row in found.to_frame().iter_rows(named=True):
        line = [row["group"], "–", "nobody", *["–"] * (2 + len(others)), ""]
        if row["rater"] is not None:
            values = [
                interval_text(row["value"], row["ci_low"], row["ci_high"], ".3f"),
                *(f"{row[name]:.3f}" for name in others),
            ]
            line = [row["group"], str(row["rank"]), row["rater"], *values, f"{row['n_ratings']:,}"]
            line.append("yes" if row["tied"] else "")
        lines.setdefault(row["axis"], []).append(line)
    return [Shown(f"The most responsive raters by {axis}", header, rows) for axis, rows in lines.items()]
