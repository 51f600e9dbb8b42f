"""What a section says in sentences: claims, merged if groups do the same; weak signals; and everything in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from plurivox.base.wording import counted, listed
from plurivox.infer.merging import merged
from plurivox.infer.result import Statement
from plurivox.report.parts import Block, DataTable, Figure, Section, Switch

FIRST = 4
"""Sentences that a section starts with."""


class Sentence(NamedTuple):
    """A sentence, and whether it claims a difference."""

    text: str
    claim: bool


class Said(NamedTuple):
    """The first sentences of a section, weak signals, and every finding in full if there are more than the first."""

    first: Sequence[Sentence]
    weak: Sequence[str]
    every: Sequence[Sentence]


def said_of(section: Section) -> Said:
    """Sort what a section found: claims first, then what holds for all raters, then what is open."""
    every = [one.said for one in section.findings]
    claims = [one for one in every if one.claim]
    first = [
        Sentence(f"{one.text}{f' ({one.p} after correction)' if one.p else ''}.", True)
        if len(one.statements) > 1
        else Sentence(one.statements[0].text, True)
        for one in merged(claims)
    ]
    first += [Sentence(one.text, True) for one in claims if not one.short]
    first += [Sentence(one.text, False) for one in _after(section)]
    weak = [one.text for one in every if one.standing == "weak"]
    shown = {sentence.text for sentence in first[:FIRST]} | set(weak)
    hidden = any(one.text not in shown for one in every)
    return Said(first[:FIRST], weak, [Sentence(one.text, one.claim) for one in every] if hidden else [])


def _after(section: Section) -> list[Statement]:
    facts = [one.said for one in section.findings if one.fact]
    return facts + [one.said for one in section.findings if one.said.standing == "open" and not one.fact]


def contents(blocks: Sequence[Block]) -> str:
    """Count the charts and tables of a part of the appendix.

    Examples
    --------
    >>> contents([])
    'nothing more'
    """
    figures = sum(len(one.figures) if isinstance(one, Switch) else isinstance(one, Figure) for one in blocks)
    tables = sum(isinstance(one, DataTable) for one in blocks)
    parts = [counted(n, word) for n, word in ((figures, "chart"), (tables, "table")) if n]
    return listed(parts) or "nothing more"
