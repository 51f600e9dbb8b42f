"""Settings for a judge card, the quantities it has, and requirements on these.

``statistics/judge_records`` defines the quantities; this module has what requirements need, which are read before
anything heavy.
"""

from __future__ import annotations

import math
import operator
import re
from dataclasses import dataclass
from typing import Any, NamedTuple

from plurivox.base.settings import Axes, OfGroups, setting, shared
from plurivox.base.settings.record import names

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


# What a judge must reach ----------------------------------------------------------------------------------------------
# What a judge must reach: requirements as text, and whether a row of a card meets them.

_SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}
_WRITTEN = re.compile(
    r"\s*(?P<name>\w+)\s*(?:\[(?P<part>[^\]]+)\])?\s*(?:\.(?P<field>\w+))?\s*"
    r"(?P<sign>>=|<=|>|<)\s*(?P<limit>[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*"
)


class Requirement(NamedTuple):
    """A quantity, or one of its fields, and its limit.

    Attributes
    ----------
    text
        As it was written.
    name, field
        The quantity and which part of it is meant: its value, or one of :data:`FIELDS`.
    part
        For ``bias``, the group of raters or part of the items; empty for all.
    sign, limit
        ``>=``, ``>``, ``<=`` or ``<``, and a number.
    """

    text: str
    name: str
    part: str
    field: str
    sign: str
    limit: float

    @classmethod
    def of(cls, text: str) -> Requirement:
        """Read one.

        Raises
        ------
        ValueError
            Saying what to give instead.

        Examples
        --------
        >>> Requirement.of("agreement.low >= .4")[1:]
        ('agreement', '', 'ci_low', '>=', 0.4)
        >>> Requirement.of("bias[Woman]<0.2").part
        'Woman'
        """
        found = _WRITTEN.fullmatch(text)
        if found is None:
            raise ValueError("Write a quantity, then >=, >, <= or <, then a number: 'omega>=0.5'.")
        name, part, field = found["name"], (found["part"] or "").strip(), found["field"]
        if name not in NAMES:
            raise ValueError(f"There is no quantity {name!r}; the quantities are {', '.join(NAMES)}.")
        if field and field not in FIELDS:
            raise ValueError(f"There is no field {field!r}; the fields are {', '.join(FIELDS)}, as in {name}.low.")
        if part and name != "bias":
            raise ValueError(f"Groups and parts of the items have only bias, not {name}.")
        return cls(text.strip(), name, part, FIELDS[field] if field else "value", found["sign"], float(found["limit"]))

    def checked(self, row: dict[str, Any] | None) -> tuple[float | None, bool, str]:
        """Return the value in question, whether the requirement holds, and why; a card may have no such row."""
        if row is None:
            why = f"no group or part of the items called {self.part!r} is shown; it may be too small or unknown"
            return None, False, why
        value = row[self.field]
        if value is None or math.isnan(value):
            reason = row["note"] if row["value"] is None or math.isnan(row["value"]) else "there is no such number"
            return None, False, f"{self.said} is undefined: {reason or 'no reason is known'}"
        holds = bool(_SIGNS[self.sign](value, self.limit))
        return float(value), holds, f"{self.said} is {value:.4g}"

    @property
    def said(self) -> str:
        """What it is about, as it was written."""
        return re.split("[<>]", self.text)[0].strip()


def canonical(given: Any) -> tuple[str, ...]:
    """Return one requirement or several as a tuple of texts, each of which can be read."""
    texts = (given,) if isinstance(given, str) else tuple(given or ())
    if not all(isinstance(one, str) for one in texts):
        raise TypeError("a requirement must be text")
    return tuple(Requirement.of(one).text for one in texts)


def read(texts: list[str]) -> tuple[str, ...]:
    """Read the texts of an option."""
    for text in texts:
        try:
            Requirement.of(text)
        except ValueError as error:
            raise ValueError(f"is {text!r}. {error}") from None
    return tuple(texts)


# Settings -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeSettings(OfGroups):
    """Settings for a judge card."""

    by: Axes = shared.by((), doc="Rater attributes and crossings of several; bias is also given for each group.")
    subset: str | None = setting(
        None, "Also give bias for each value of this item attribute.", metavar="COLUMN",
        doc="An item attribute; bias is also given for each of its values.",
    )  # fmt: skip
    models: tuple[str, ...] | None = setting(
        None, "Only this model. Repeatable.", option="--judge", metavar="MODEL", parse=tuple, repeated=True,
        canonical=names, hint="Give names of models.", accepts="str | Sequence[str] | None",
        doc="The models to judge, all of them by default. p-values are corrected over these.",
    )  # fmt: skip
    require: tuple[str, ...] = setting(
        (), "End with code 4 unless this holds for every model: 'omega>=0.5', 'agreement.low>0.3'. Repeatable.",
        metavar="REQUIREMENT", parse=read, repeated=True, canonical=canonical, accepts="str | Sequence[str]",
        quiet=True,
        doc='What every model must reach, such as ``"omega>=0.5"``, ``"agreement.low>0.3"`` or '
        '``"bias[Woman]<=0.2"``; ``requirements()`` shows which hold.',
    )  # fmt: skip
    level: Any = shared.level(
        "ordinal",
        doc="How agreement weighs points: nominal, ordinal, interval, or a matrix of distances. Distances are between "
        "positions; on the nominal level they are the share that differs; or they come from the matrix.",
    )
    tolerance: float = shared.tolerance()
    resample: str = shared.resample()
    seed: int = shared.seed()
