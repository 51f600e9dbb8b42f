"""What an answer says: a point on the scale, a refusal, or nothing that can be read."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["answered", "refused", "unreadable", "failed"]
STATES: tuple[State, ...] = ("answered", "refused", "unreadable", "failed")
Options = Sequence[tuple[str, str]]
"""The options as shown: a letter, or number, and a text each."""


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


_REFUSAL = re.compile(
    r"\b(?:I(?:['’]m| am) (?:sorry|unable|not able)|I (?:cannot|can['’]t|won['’]t)|as an AI|unable to (?:help|assist))",
    re.IGNORECASE,
)


_WORDS = ("A", "I")  # letters that may begin a sentence


def read_answer(text: str, options: Options) -> Reading:
    """Read an answer that starts with the letter of an option; a refusal, or unreadable, otherwise.

    Parameters
    ----------
    text
        What the model answered.
    options
        The options as they were shown: ``[("A", "never"), ("B", "sometimes")]``.

    Examples
    --------
    >>> read_answer("B) sometimes, I would say", [("A", "never"), ("B", "sometimes")])
    Reading(state='answered', point=1, rule='letter first', span=(0, 1))
    >>> read_answer("I cannot judge that.", [("A", "never"), ("B", "sometimes")]).state
    'refused'
    """
    letters = {letter.casefold(): place for place, (letter, _) in enumerate(options)}
    pattern = "|".join(re.escape(letter) for letter, _ in sorted(options, key=lambda one: -len(one[0])))
    found = re.match(rf"[\s*_#>\"'(\[]*({pattern})(?![\w'’]|[.,]\d)", text, re.IGNORECASE)
    word = found is not None and found[1].upper() in _WORDS and re.match(r"[ \t]+[^\W\d_]", text[found.end(1) :])
    if found is not None and not word:
        return Reading("answered", letters[found[1].casefold()], "letter first", found.span(1))
    refusal = _REFUSAL.search(text)
    if refusal is not None:
        return Reading("refused", None, "refusal", refusal.span())
    return Reading("unreadable", None, "empty" if not text.strip() else "nothing found", None)


def distribution_of(top: Sequence[tuple[str, float]], options: Options) -> tuple[list[float], float] | None:
    """Return the share of each option among the most likely first tokens, and how much probability they hold together.

    None if no option is among them.

    Examples
    --------
    >>> shares, held = distribution_of([("A", -0.6931), (" a", -2.3026), ("The", -1.0)], [("A", "no"), ("B", "yes")])
    >>> [round(share, 3) for share in shares], round(held, 3)
    ([1.0, 0.0], 0.6)
    """
    letters = {letter.casefold(): place for place, (letter, _) in enumerate(options)}
    mass = [0.0] * len(options)
    for token, log_probability in top:
        place = letters.get(token.strip(" \t\n*_\"'()[]:.").casefold())
        if place is not None:
            mass[place] += math.exp(min(log_probability, 0.0))
    total = sum(mass)
    return ([share / total for share in mass], min(total, 1.0)) if total > 0 else None
