"""Statements of one pattern as one sentence: what several groups have in common is said once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from plurivox.base.wording import in_words, listed
from plurivox.domain.axis import CROSS
from plurivox.infer.result import Statement, p_text

NAMED = 4
"""The most subjects, and parts of the items, that a merged sentence names; others are counted."""


class MergedLine(NamedTuple):
    """What is said about one or several subjects, and the statements it is made from, in order."""

    text: str
    p: str
    statements: tuple[Statement, ...]


def merged(statements: Iterable[Statement], most: int = NAMED, *, amounts: bool = True) -> list[MergedLine]:
    """Return claims in a few words, merged by pattern, in the order of the first claim of each pattern.

    A crossing of attributes is counted, not named, where one of the groups it is part of is said to do the same. What a
    subject does on all items and on some parts of them is said once.
    """
    patterns: dict[str, list[Statement]] = {}
    for one in statements:
        if one.short:
            patterns.setdefault(one.short, []).append(one)
    return [_line(short, members, most, amounts) for short, members in patterns.items()]


def _line(short: str, members: Sequence[Statement], most: int, amounts: bool) -> MergedLine:
    subjects: dict[str, list[Statement]] = {}
    for one in members:
        subjects.setdefault(one.subject, []).append(one)
    named = [own for own in subjects.values() if not _implied(own[0], members)]
    alone = len(named) == 1
    names = [named[0][0].subject] if alone else [_subject(own, most, amounts) for own in named]
    text = f"{listed(names, most)} {short}"
    text = f"T{text[1:]}" if text.startswith("the ") else text  # names of models and groups stay as they are
    if alone:
        text += f", {named[0][0].amount}" if amounts and named[0][0].amount else ""
        text += _parts(named[0], most)
    implied = len(subjects) - len(named)
    if implied:
        which = "one crossing" if implied == 1 else f"{in_words(implied)} crossings"
        text += f"; so {'does' if implied == 1 else 'do'} {which} with other attributes"
    known = [one.p for one in members if one.p is not None]
    p = f"{p_text(max(known))}{' or less' if len(known) > 1 and max(known) >= 0.001 else ''}" if known else ""
    return MergedLine(text, p, tuple(members))


def _subject(own: Sequence[Statement], most: int, amounts: bool) -> str:
    """Name a subject among several, with how much in as few words as possible."""
    beside = [own[0].amount.partition(", ")[0]] if amounts and own[0].amount else []
    if own[0].subset != "all":
        beside.append(f"on {listed([one.subset for one in own], most)}")
    return f"{own[0].subject} ({', '.join(beside)})" if beside else own[0].subject


def _parts(own: Sequence[Statement], most: int) -> str:
    """Say on which parts of the items a claim holds, or also holds."""
    parts = [one.subset for one in own if one.subset != "all"]
    if not parts:
        return ""
    return f"{', also' if len(parts) < len(own) else ''} on {listed(parts, most)}"


def _implied(one: Statement, members: Sequence[Statement]) -> bool:
    """Return whether a crossing does the same as a group that it is part of."""
    parts = _values(one)
    return len(parts) > 1 and any(parts > _values(other) for other in members)


def _values(one: Statement) -> set[tuple[str, str]]:
    return set(zip(one.axis.split(CROSS), one.group.split(CROSS), strict=False))
