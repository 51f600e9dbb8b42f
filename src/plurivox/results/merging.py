"""Statements of one pattern as one sentence: what several groups do alike is said once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from plurivox.axis import CROSS
from plurivox.results.result import Statement, p_text
from plurivox.results.wording import counted, listed

NAMED = 4
"""Subjects that a merged sentence names; others are counted."""


class Line(NamedTuple):
    """What is said of one or several subjects, and the statements it is made of, the surest first."""

    text: str
    p: str
    statements: tuple[Statement, ...]


def merged(statements: Iterable[Statement], most: int = NAMED) -> list[Line]:
    """Return claims in a few words, those of one pattern together, in the order of the first of each pattern.

    A crossing of attributes is counted, not named, where one of its own groups is said to do the same.
    """
    patterns: dict[str, list[Statement]] = {}
    for one in statements:
        if one.short:
            patterns.setdefault(one.short, []).append(one)
    return [_line(short, members, most) for short, members in patterns.items()]


def _line(short: str, members: Sequence[Statement], most: int) -> Line:
    named = [one for one in members if not _implied(one, members)]
    amounts = [f"{one.subject} ({one.amount})" if one.amount else one.subject for one in named]
    if len(members) == 1:
        one = members[0]
        text = f"{one.subject} {short}" + (f", {one.amount}" if one.amount else "")
    else:
        text = f"{listed(amounts, most)} {short}"
    n_implied = len(members) - len(named)
    if n_implied:
        text += f"; so {'does' if n_implied == 1 else 'do'} {counted(n_implied, 'crossing')} of them with others"
    known = [one.p for one in members if one.p is not None]
    p = f"{p_text(max(known))}{' or less' if len(known) > 1 and max(known) >= 0.001 else ''}" if known else ""
    return Line(text, p, tuple(members))


def _implied(one: Statement, members: Sequence[Statement]) -> bool:
    """Tell whether a crossing does what a group that it is a part of does."""
    parts = set(zip(one.axis.split(CROSS), one.group.split(CROSS), strict=False))
    return len(parts) > 1 and any(parts > set(zip(other.axis.split(CROSS), other.group.split(CROSS), strict=False))
                                  for other in members if other is not one)  # fmt: skip
