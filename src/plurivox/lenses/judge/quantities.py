"""The quantities of a judge card, each declared once: tables, charts, requirements and the documentation read them."""

from __future__ import annotations

from typing import NamedTuple

FIELDS = {
    "low": "ci_low", "high": "ci_high", "p": "p_adjusted", "humans": "humans", "constant": "constant",
    "marginal": "marginal",
}  # fmt: skip
"""What else a requirement may name, after a point: ends of the interval, corrected p, and what stands beside."""


class Quantity(NamedTuple):
    """A number that a card has for every judge.

    Attributes
    ----------
    name, label
        As in frames and requirements, and as in tables and charts.
    meaning
        For the reader.
    better
        ``"higher"``, ``"lower"``, or ``"zero"`` where neither side is good.
    unit
        ``"share"``, ``"points"`` of the scale or further ``"ratings"``.
    """

    name: str
    label: str
    meaning: str
    better: str
    unit: str = "share"


QUANTITIES = (
    Quantity(
        "agreement", "agreement with a rater",
        "XRR of the model and a rater, 0 by chance; beside it Krippendorff's alpha of raters", "higher",
    ),
    Quantity(
        "relative", "… as a share of raters' own",
        "agreement with a rater divided by the agreement of raters with each other", "higher",
    ),
    Quantity(
        "distance", "distance from a rater",
        "mean distance between an answer and a rating of the same item; beside it two raters", "lower", "points",
    ),
    Quantity(
        "lead", "nearer than the best constant", "how much nearer it is to a rater than the best constant answer",
        "higher", "points",
    ),
    Quantity("omega", "stands in for raters (ω)", "share of raters that it holds its own against", "higher"),
    Quantity(
        "advantage", "wins or ties (ρ)",
        "share of items on which it is at least as near to the others as a rater is", "higher",
    ),
    Quantity(
        "bias", "bias", "mean answer less mean rating of the same items; beside it nine of ten raters", "zero",
        "points",
    ),
    Quantity(
        "largest_bias", "largest bias",
        "the largest bias, whichever its sign, of all raters, groups, and parts of the items", "lower", "points",
    ),
    Quantity(
        "position_bias", "position bias",
        "share of answers that would have to move for places to be chosen as expected; beside it what chance gives",
        "lower",
    ),
    Quantity(
        "consistency", "self-consistency",
        "how often two of its answers to the same question are the same; beside it two raters", "higher",
    ),
    Quantity("answered", "answered", "share of the items asked that have an answer", "higher"),
    Quantity("refused", "refused", "share of the items asked that it refused to answer", "lower"),
    Quantity("unreadable", "unreadable", "share of the items asked whose answer cannot be read", "lower"),
    Quantity(
        "worth", "worth in ratings", "how many further human ratings its answers are worth for the mean score",
        "higher", "ratings",
    ),
)  # fmt: skip
NAMES = tuple(one.name for one in QUANTITIES)
OF = {one.name: one for one in QUANTITIES}
