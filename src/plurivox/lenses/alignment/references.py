"""Answers that need no judgement: always the same point of the scale, a draw from all votes, and a uniform draw.

They are shown wherever models are ranked, since a distance says little without them: where one point has most of the
votes, always giving it is close to everybody. They are not models, and nothing is claimed about them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.answers import Voice
from plurivox.lenses.alignment.matching import AnsweredItems, Floats, Ints
from plurivox.statistics.checks import tie_priorities

MOST_CONSTANTS = 21
"""On a scale with more points, constants are the points that cut the votes into parts of 5 %, and the most frequent."""
MARGINAL, UNIFORM = "draw from votes", "uniform draw"
N_RANDOM = 2
"""How many of the references are random; they come last."""


@dataclass(frozen=True, slots=True, eq=False)
class References:
    """Reference answers to every rated item that a model was asked about.

    Attributes
    ----------
    matched
        The answers, in the same form as those of models; its voices are the references.
    constants
        The point of each constant; these are the first voices.
    """

    matched: AnsweredItems
    constants: Ints

    @classmethod
    def of(cls, matched: AnsweredItems, seed: int) -> References:
        """Make them; random ones depend only on the seed and the item's id."""
        items = np.flatnonzero(np.diff(matched.rows))
        votes = matched.ratings.counts()[items].sum(axis=0)
        votes = votes if votes.any() else np.ones_like(votes)
        constants = constant_points(votes)
        chance = [_uniform(matched, items, seed, side) for side in (0, 1)]
        drawn = np.searchsorted(np.cumsum(votes) / votes.sum(), chance[0], side="right").clip(max=matched.top)
        even = (chance[1] * len(votes)).astype(np.int64)
        each = [np.full(len(items), point) for point in constants] + [drawn, even]
        labels = [str(matched.ratings.scale.labels[point]) for point in constants]
        names = _unlike([f"always {label}" for label in labels] + [MARGINAL, UNIFORM], matched)
        return cls(answering(matched, items, names, np.stack(each)), constants)


def constant_points(votes: NDArray[Any]) -> Ints:
    """Return the points of constants: all of them, or on a long scale those that represent the votes.

    Examples
    --------
    >>> constant_points(np.array([3, 0, 1])).tolist()
    [0, 1, 2]
    """
    if len(votes) <= MOST_CONSTANTS:
        return np.arange(len(votes))
    shares = np.cumsum(votes) / votes.sum()
    cuts = np.searchsorted(shares, np.linspace(0.0, 1.0, MOST_CONSTANTS)[1:-1])
    return np.unique([*cuts, votes.argmax()])


def answering(matched: AnsweredItems, items: Ints, names: list[str], points: NDArray[Any]) -> AnsweredItems:
    """Return answers of other voices to some items, voices × items."""
    n = np.zeros(len(matched.rows), dtype=np.int64)
    n[items + 1] = len(names)
    size = len(names) * len(items)
    return replace(
        matched, voices=tuple(Voice(name, "") for name in names), rows=np.cumsum(n),
        voice=np.tile(np.arange(len(names)), len(items)), point=np.ascontiguousarray(points.T).reshape(size),
        part=np.ones(size), shares=None, shown=None, order=None,
    )  # fmt: skip


def _uniform(matched: AnsweredItems, items: Ints, seed: int, side: int) -> Floats:
    """Return a number from 0 to below 1 for each item, the same for any order of rows."""
    ids = matched.ratings.items["item"].gather(items).to_list()
    return np.asarray((tie_priorities(ids, 1, seed=seed, side=side)[:, 0] >> np.uint64(11)) / 2.0**53)


def _unlike(names: list[str], matched: AnsweredItems) -> list[str]:
    """Return names that no model has."""
    models = {voice.model for voice in matched.voices}
    found = []
    for name in names:
        while name in models:
            name += " (reference)"
        found.append(name)
    return found
