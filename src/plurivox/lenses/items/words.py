"""What :func:`plurivox.items` found, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plurivox.results.result import Statement

if TYPE_CHECKING:
    from plurivox.lenses.items.result import Items


def statements(found: Items) -> list[Statement]:
    """Return a sentence on the item that divides groups most, if any does."""
    return [
        Statement(
            f"Item {first['item']} divides {first['axis']} most: mean {first['high_mean']:.2f} among "
            f"{first['high_group']} and {first['low_mean']:.2f} among {first['low_group']}, a difference of "
            f"{first['difference']:.2f} ({first['ci_low']:.2f} to {first['ci_high']:.2f}).",
            1.5,
            first["axis"],
        )
        for first in found.divided.head(1).iter_rows(named=True)
    ]
