"""What a reply says: the option that its text names, and the distribution from log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from plurivox.ask.question import Asking
from plurivox.base.errors import InputError
from plurivox.domain.reader import Options, Reading, read_answer

SECOND_READER = "second reader: "
"""The beginning of the rule if a model read the answer; its name follows."""


def as_shown(question: Asking, order: Sequence[int], prompt: str = "") -> Options:
    """Return the options as a prompt showed them, to read an answer by: letter, label, and description if there is one.

    Examples
    --------
    >>> from plurivox.ask.question import Question
    >>> from plurivox.domain.scale import Scale
    >>> as_shown(Question(Scale(["no", "yes"]), "Is it rude?"), (1, 0))
    [('A', 'yes'), ('B', 'no')]
    """
    if sorted(order) != list(range(len(question.letters))):
        raise InputError(f"an answer has the options {list(order)}, and the scale {len(question.letters)} points")
    return [tuple(option) if option.description else option[:2] for option in question.options(order, prompt)]


def read_reply(text: str, refusal: str, options: Options, order: Sequence[int]) -> Reading:
    """Return how a reply is read; the point is the position on the scale, not among the options as shown."""
    if refusal:
        return Reading("refused", None, "server refused", None)
    found = read_answer(text, options)
    return found if found.point is None else replace(found, point=order[found.point])


def distribution_of(top: Sequence[tuple[str, float]], options: Options) -> tuple[list[float], float] | None:
    """Return the share of each option among the most likely first tokens, and how much probability they hold together.

    None if no option is among them.

    Examples
    --------
    >>> shares, held = distribution_of([("A", -0.6931), (" a", -2.3026), ("The", -1.0)], [("A", "no"), ("B", "yes")])
    >>> [round(share, 3) for share in shares], round(held, 3)
    ([1.0, 0.0], 0.6)
    """
    letters = {option[0].casefold(): place for place, option in enumerate(options)}
    mass = [0.0] * len(options)
    for token, log_probability in top:
        place = letters.get(token.strip(" \t\n*_\"'()[]:.").casefold())
        if place is not None:
            mass[place] += math.exp(min(log_probability, 0.0))
    total = sum(mass)
    return ([share / total for share in mass], min(total, 1.0)) if total > 0 else None
