"""The distribution over the options that log-probabilities tell."""

from __future__ import annotations

import math
from collections.abc import Sequence

from plurivox.reader import Options


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
