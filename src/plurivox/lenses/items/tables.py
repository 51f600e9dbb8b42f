"""Items to look at as tables of text."""

from __future__ import annotations

from plurivox.infer.text import Shown, number_cell, p_cell
from plurivox.lenses.items.result import Items
from plurivox.lenses.items.words import comparisons


def tables(found: Items, *, top: int = 20) -> list[Shown]:
    """Return the first items of each list."""
    shown = [_uncertain(found, top)]
    return [*shown, _divided(found, top)] if found.divided.height else shown


def brief(found: Items, *, top: int = 8) -> list[Shown]:
    """Return the first few items of each list."""
    return tables(found, top=top)


def _uncertain(found: Items, top: int) -> Shown:
    precision, total = found.settings["precision"], found.uncertain.height
    first = f"the first {top:,} of {total:,}" if total > top else f"{total:,}"
    lines = [
        [
            row["item"], f"{row['n_ratings']:,}", number_cell(row["mean"]), number_cell(row["expected_mean"]),
            f"[{row['ci_low']:.2f}, {row['ci_high']:.2f}]", f"{row['prior_share']:.0%}",
            f"{row['information_gain']:.3f}",
            "∞" if row["ratings_needed"] is None else f"{row['ratings_needed']:,}",
        ]
        for row in found.uncertain.head(top).iter_rows(named=True)
    ]  # fmt: skip
    header = [
        "item", "ratings", "mean", "expected", "95 % interval", "prior's share", "gain of one more",
        f"needed for ±{precision:g}",
    ]  # fmt: skip
    return Shown(f"Items that deserve more ratings, {first}", header, lines)


def _divided(found: Items, top: int) -> Shown:
    lines = [
        [
            row["item"], row["axis"], row["group"], row["direction"] or "equal",
            "withheld" if row["note"] else f"{row['difference']:+.2f}", f"{row['shrunken']:+.2g}",
            p_cell(row["p_value"]), p_cell(row["p_adjusted"]),
        ]
        for row in found.divided.head(top).iter_rows(named=True)
    ]  # fmt: skip
    header = ["item", "axis", "group", "rates it", "difference", "shrunken", "p alone", "p corrected"]
    first = f", the first {top:,} of {found.divided.height:,}" if found.divided.height > top else ""
    return Shown(f"Differences between groups on items, {comparisons(found.settings)}{first}", header, lines)
