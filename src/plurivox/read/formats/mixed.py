"""Questions on different scales, which cannot be analysed as if they shared one."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from plurivox.base.errors import ScaleError, few
from plurivox.domain.attributes import in_order
from plurivox.domain.scale import ALWAYS_MISSING, text_of

CLEAR, SHARED = 10, 0.25
"""Numbers are on different scales if this many answers of each question share at most this part of their range."""
_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_MOST = 4


@dataclass(frozen=True, slots=True)
class _Question:
    """The answers to a question: words, or the range of numbers."""

    name: str
    n: int
    values: frozenset[str]
    low: float | None = None
    high: float | None = None

    def differs(self, other: _Question) -> bool:
        """Return whether two questions cannot be on one scale."""
        if self.low is None or other.low is None or self.high is None or other.high is None:
            return (self.low is None) != (other.low is None) or not self.values & other.values
        if min(self.n, other.n) < CLEAR or min(len(self.values), len(other.values)) < 2:
            return False
        whole = max(self.high, other.high) - min(self.low, other.low)
        shared = max(0.0, min(self.high, other.high) - max(self.low, other.low))
        within = shared in (self.high - self.low, other.high - other.low)
        # People may have used only a few points of a short scale, but hardly of a long one.
        return shared <= SHARED * whole and (not within or whole > 2 * CLEAR)


def refuse_mixed(
    answers: Mapping[str, Mapping[str, int]], columns: Sequence[str], missing: Collection[str], source: str
) -> None:
    """Raise an error if questions are on different scales, and list them by their answers.

    Parameters
    ----------
    answers
        How often each answer was given to each question.
    columns
        All columns in their order.
    missing
        Answers that mean no rating.
    """
    groups = _groups([one for name in answers if (one := _question(name, answers[name], missing)) is not None])
    if len(groups) < 2:
        return
    groups.sort(key=len, reverse=True)
    shown = [f"{_values(group)} ({few([one.name for one in group], 6)})" for group in groups[:_MOST]]
    more = f", and {len(groups) - _MOST} more" if len(groups) > _MOST else ""
    chosen = questions_text([one.name for one in groups[0]], columns)
    raise ScaleError(
        f"the questions are not on one scale: {'; '.join(shown)}{more}", source=source,
        hint=f"Choose questions that belong together: --questions '{chosen}'; name those that describe people with "
        "--rater-attributes.",
    )  # fmt: skip


def questions_text(chosen: Sequence[str], columns: Sequence[str]) -> str:
    """Return columns in the form ``--questions`` accepts: a range if they are adjacent.

    Examples
    --------
    >>> questions_text(["b", "c", "d"], "abcde"), questions_text(["a", "c"], "abcde")
    ('b:d', 'a,c')
    """
    places = [columns.index(name) for name in chosen]
    if len(places) > 2 and places == list(range(places[0], places[0] + len(places))):
        return f"{chosen[0]}:{chosen[-1]}"
    return ",".join(chosen)


def _question(name: str, counts: Mapping[str, int], missing: Collection[str]) -> _Question | None:
    """Return what most of the answers are; None if there are none."""
    texts: dict[str, int] = {}
    for value, n in counts.items():
        text = text_of(value)
        if text.casefold() not in ALWAYS_MISSING and text not in missing:
            texts[text] = texts.get(text, 0) + n
    if not texts:
        return None
    n = sum(texts.values())
    numbers = {text: float(text) for text in texts if _NUMBER.fullmatch(text)}
    if 2 * sum(texts[text] for text in numbers) > n:
        return _Question(name, n, frozenset(numbers), min(numbers.values()), max(numbers.values()))
    return _Question(name, n, frozenset(texts) - frozenset(numbers))


def _groups(questions: Sequence[_Question]) -> list[list[_Question]]:
    """Group questions that may share a scale, those with the widest range of answers first."""
    groups: list[list[_Question]] = []
    for one in sorted(questions, key=lambda one: -len(one.values)):
        home = next((group for group in groups if not any(one.differs(other) for other in group[:1])), None)
        if home is None:
            groups.append([one])
        else:
            home.append(one)
    order = {one.name: place for place, one in enumerate(questions)}
    return [sorted(group, key=lambda one: order[one.name]) for group in groups]


def _values(group: Sequence[_Question]) -> str:
    lows = [one.low for one in group if one.low is not None]
    highs = [one.high for one in group if one.high is not None]
    if lows:
        return f"{min(lows):g} to {max(highs):g}"
    return few(in_order({value for one in group for value in one.values}), 6)
