"""What a record of a statistic holds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """What a statistic is, in words and in properties that hold for all data.

    Attributes
    ----------
    name, label
        As in frames and JSON, and as in tables and sentences.
    function
        From what it needs to one float; None for those made of others, or for all raters at once.
    needs
        What it is a property of: a ``"group"`` (one array of counts, items × points), a ``"pair"`` of sides (two such
        arrays), an ``"axis"``, or a rater or group beside a ``"reference"`` (two vectors, ``ones`` and ``zeros``: the
        weight of samples with each score that the reference calls unsafe and safe), or ratings beside a
        ``"prediction"`` (counts and predicted probabilities, of which the function gives a value for each item) or
        ``"answers"`` (counts, and one position per item or None), or raters beside each other (``"scores"``, items ×
        raters).
    symmetric
        Whether exchanging the two sides of a pair changes nothing.
    range
        The lowest and the highest value that any data can have; infinite where there is no bound that holds for all.
    equation, meaning, higher_means, reference
        For the reader.
    """

    name: str
    label: str
    function: Callable[..., float] | None
    needs: Literal["group", "pair", "axis", "reference", "prediction", "answers", "scores"]
    symmetric: bool
    range: tuple[float, float]
    equation: str
    meaning: str
    higher_means: str
    reference: str
