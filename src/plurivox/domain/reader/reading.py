"""How an answer was read: its state, and the option it names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["answered", "refused", "unreadable", "failed"]
STATES: tuple[State, ...] = ("answered", "refused", "unreadable", "failed")
Options = Sequence[Sequence[str]]
"""The options as shown; each has what to answer with, its text, and any further texts that mean the same."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How an answer was read.

    Attributes
    ----------
    state
        ``"answered"``, ``"refused"`` or ``"unreadable"``.
    point
        The option's position among those shown, or None.
    rule
        The rule that decided.
    span
        Where in the text it saw the answer, start and end, or None.
    """

    state: State
    point: int | None
    rule: str
    span: tuple[int, int] | None
