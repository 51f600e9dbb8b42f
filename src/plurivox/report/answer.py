"""The first screen, and what each section says: who rated what, what is claimed, what is not certain, what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from plurivox.base.wording import counted, in_words, listed
from plurivox.infer.claims import merged
from plurivox.infer.result import Statement
from plurivox.lenses.cohesion.result import OWN_VIEW
from plurivox.report.parts import (
    CAUTION,
    CHECK,
    COLLECT,
    Action,
    Block,
    DataTable,
    Figure,
    Finding,
    Section,
    Switch,
    Tile,
    headline,
)

MOST_CLAIMS, MOST_OPEN, MOST_ACTIONS, MOST_TILES = 5, 3, 3, 5
NOTHING = "No difference between groups is certain"
ALIKE = "That nothing stands out does not prove that groups are alike: with few raters, small differences go unnoticed."
CONSEQUENCE = (
    ("leniency",), ("mpa", "wra", "hm", "drift"), ("closest_gap", "stand_in"), ("items",), ("rps", "cross_entropy"),
    ("gai", "irr", "xrr"), ("dsi",), ("view_correlation",),
)  # fmt: skip
"""Statistics in the order of how much follows from a claim; a view of one's own comes before all of them."""

LEADING = ("leniency",)
"""What the lead chart is about."""
OF_NOBODY = ("items", "dsi")
"""Statistics whose claims name a group and are about items or attributes."""


@dataclass(frozen=True, slots=True)
class ScreenLine:
    """A sentence, what supports it, and where its evidence is."""

    text: str
    detail: str
    anchor: str


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a reader sees first.

    Attributes
    ----------
    subject, agreement
        Who rated what, and how far raters agree.
    heading, claims, n_more, nothing
        How many groups differ; what is claimed, at most five lines; how many more lines there would be; and what is
        said if nothing is claimed about groups.
    uncertain
        What is not certain.
    actions
        What to collect, to check, and not to conclude.
    tiles, figure
        Key figures and the lead chart.
    """

    subject: str
    agreement: str
    heading: str
    claims: Sequence[ScreenLine]
    n_more: int
    nothing: str
    uncertain: Sequence[ScreenLine]
    actions: Sequence[Action]
    tiles: Sequence[Tile]
    figure: Figure | None


def answer_of(sections: Sequence[Section], findings: Sequence[Finding], groups: set[tuple[str, str]]) -> Answer:
    """Choose what goes on the first screen: from the findings at the top of the report, and from its sections."""
    claims = sorted((one for one in findings if one.said.claim), key=lambda one: _rank(one.said))
    standing = [one.said for one in claims]
    anchors = {id(one.said): one.anchor for one in claims}
    lines = [
        ScreenLine(one.text, f"{one.p} after correction" if one.p else "", anchors[id(one.statements[0])])
        for one in merged(one.said for one in claims)
    ]
    differ = {
        (one.said.axis, one.said.group) for one in claims if one.of_groups and one.said.statistic not in OF_NOBODY
    }
    groups = groups | differ
    return Answer(
        sections[0].lead,
        next((one.sentence for one in sections if one.sentence), ""),
        _heading(len(differ), len(groups)),
        lines[:MOST_CLAIMS]
        or ([] if groups else [ScreenLine(one.text.removesuffix("."), "", one.anchor) for one in findings if one.fact]),
        max(0, len(lines) - MOST_CLAIMS),
        _instead(sections, bool(lines)) if groups else "",
        _uncertain(sections, len(differ), len(groups)),
        _actions([one for section in sections for one in section.actions if _stands(one, standing)]),
        [tile for section in sections for tile in section.tiles][:MOST_TILES],
        _figure(sections, standing),
    )


def _stands(action: Action, standing: Sequence[Statement]) -> bool:
    return not action.rests_on or any(one in standing for one in action.rests_on)


def _figure(sections: Sequence[Section], standing: Sequence[Statement]) -> Figure | None:
    """Return the lead chart, with the main claim as its title."""
    figure = next((one.lead_figure for one in sections if one.lead_figure is not None), None)
    if figure is None:
        return None
    alone = headline([one.said for section in sections for one in section.findings if one.said.subset == "all"],
                     *LEADING, otherwise="")  # fmt: skip
    otherwise = f"Within this analysis alone, {alone}" if alone else figure.title
    on_all = [one for one in standing if one.subset == "all"]
    return replace(figure, title=headline(on_all, *LEADING, otherwise=otherwise))


def _instead(sections: Sequence[Section], certain: bool) -> str:
    """Say that nothing is claimed, and whether something is within one analysis alone."""
    if certain:
        return ""
    alone = any(one.said.claim for section in sections for one in section.findings)
    text = "Nothing that was tested remains significant after correction over all analyses."
    return f"{text} Some of it is significant within one analysis alone, as its section says." if alone else text


def _rank(said: Statement) -> tuple[int, float]:
    """Return the rank of a claim: first the one from which most follows, then the surest."""
    if said.short == OWN_VIEW:
        return 0, -said.weight
    places = [at for at, names in enumerate(CONSEQUENCE, 1) if said.statistic in names]
    return (places[0] if places else len(CONSEQUENCE)), -said.weight


def _heading(n_differ: int, n_groups: int) -> str:
    if not n_groups:
        return "What the ratings say"
    if not n_differ:
        return NOTHING
    verb = "differs" if n_differ == 1 else "differ"
    return f"Of {counted(n_groups, 'group')} {in_words(n_differ)} {verb}"


def _uncertain(sections: Sequence[Section], n_differ: int, n_groups: int) -> list[ScreenLine]:
    """Return what is open, groups first, and a caution about what that does not prove."""
    open_ = [one for section in sections for one in section.findings if one.said.standing == "open"]
    open_.sort(key=lambda one: (not one.of_groups, -one.said.weight))
    lines = [
        ScreenLine(f"{one.said.subject} {one.said.short}." if one.said.short else one.text, "", one.anchor)
        for one in open_
    ]
    if (left := n_groups - n_differ) > 0:
        of_whom = "group" if left == 1 else f"{left:,} groups"
        others = f"Nothing is certain about the other {of_whom}. {ALIKE}" if n_differ else ALIKE
        lines.insert(0, ScreenLine(others, "", sections[0].id))
    return list({line.text: line for line in lines}.values())[:MOST_OPEN]


def _actions(every: Sequence[Action]) -> list[Action]:
    """Return at most one action of each kind, the first by rank; then others while there is room."""
    order = sorted(every, key=lambda one: one.rank)
    first = [next((one for one in order if one.kind == kind), None) for kind in (COLLECT, CHECK, CAUTION)]
    chosen = [one for one in first if one is not None]
    rest = [one for one in order if not any(one is other for other in chosen)]
    kinds = (COLLECT, CHECK, CAUTION)
    return sorted([*chosen, *rest][:MOST_ACTIONS], key=lambda one: kinds.index(one.kind))


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
    first += [Sentence(one.said.text, False) for one in section.findings if one.fact]
    first += [
        Sentence(one.said.text, False) for one in section.findings if one.said.standing == "open" and not one.fact
    ]
    weak = [one.text for one in every if one.standing == "weak"]
    shown = {sentence.text for sentence in first[:FIRST]} | set(weak)
    hidden = any(one.text not in shown for one in every)
    return Said(first[:FIRST], weak, [Sentence(one.text, one.claim) for one in every] if hidden else [])


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
