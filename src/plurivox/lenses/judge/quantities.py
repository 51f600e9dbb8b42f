"""The quantities of a judge card: their names, which direction is good, and how they are written.

``statistics/judge_records`` defines them; this module has what requirements need, which are read before anything heavy.
"""

from __future__ import annotations

from typing import NamedTuple

FIELDS = {
    "low": "ci_low", "high": "ci_high", "p": "p_adjusted", "humans": "humans", "constant": "constant",
    "marginal": "marginal",
}  # fmt: skip
"""What else a requirement may name, after a dot: ends of the interval, corrected p, and values for comparison."""


class CardQuantity(NamedTuple):
    """A number that a card has for every judge.

    Attributes
    ----------
    name
        As in frames and requirements.
    better
        ``"higher"``, ``"lower"``, or ``"zero"`` where neither side is good.
    unit
        ``"share"``, ``"points"`` of the scale or further ``"ratings"``.
    """

    name: str
    better: str
    unit: str = "share"

    @property
    def label(self) -> str:
        """What tables and charts call it."""
        from plurivox.statistics.registry import LABELS

        return LABELS[self.name]


QUANTITIES = tuple(
    CardQuantity(*one) for one in (
        ("agreement", "higher"), ("relative", "higher"), ("distance", "lower", "points"), ("lead", "higher", "points"),
        ("omega", "higher"), ("advantage", "higher"), ("bias", "zero", "points"), ("largest_bias", "lower", "points"),
        ("position_bias", "lower"), ("consistency", "higher"), ("answered", "higher"), ("refused", "lower"),
        ("unreadable", "lower"), ("worth", "higher", "ratings"),
    )
)  # fmt: skip
NAMES = tuple(one.name for one in QUANTITIES)
OF = {one.name: one for one in QUANTITIES}
