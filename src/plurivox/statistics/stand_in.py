"""Standing in for a rater: the alternative annotator test of Calderon, Reichart and Dror (2025).

A model and a human are each compared with what the other humans say about an item. The closer one wins the item; both
win a tie. The model may stand in for the human unless the human wins more often by ε or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from plurivox.base.errors import InputError
from plurivox.statistics.alignment import Answer, checked, positions_of
from plurivox.statistics.checks import level_of
from plurivox.statistics.levels import Floats, Level

TOLERANCE = 0.1
"""How much less often than a human a model may win and still stand in: ε."""
LEAST_ITEMS = 30
"""Humans with fewer items that others also rated are counted but not compared with a model."""
LEAST_HUMANS = 3
"""With fewer humans to compare a model with, no statement is made."""
MAY_STAND_IN = 0.5
"""If this share of humans or more is reached (ω), a model may stand in for a rater."""
_EQUAL = 1e-12  # variances up to this are those of equal numbers


class StandIn(NamedTuple):
    """How a model compares with one human.

    ``advantage`` is the share of items that the model wins or ties (ρ), ``behind`` how much more often the human wins,
    and ``p_value`` that of the test that the human wins more often by ε or more.
    """

    n_items: int
    advantage: float
    behind: float
    p_value: float


def advantage(
    own: ArrayLike,
    others: ArrayLike,
    answers: Sequence[Answer] | ArrayLike,
    tolerance: float = TOLERANCE,
    *,
    level: str | ArrayLike = "interval",
    values: ArrayLike | None = None,
) -> StandIn:
    """Compare a model with one human by how close each is to the other raters of an item.

    Closeness is −√(mean squared distance) from the others, and on the nominal level the share that agrees. With
    W_m = [model at least as close], W_h = [human at least as close]::

        ρ = mean W_m          behind = mean(W_h − W_m)          H0: behind ≥ ε, one-sided t-test

    A refusal loses: W_m = 0, W_h = 1. If all W_h − W_m are equal, p is 0 if that value is below ε, else 1.

    Parameters
    ----------
    own
        The position that the human gave to each item.
    others
        Counts of the other raters' votes, items × points. Items without any are left out.
    answers
        The model's answers, as in :func:`ada_met`: None if it refused or cannot be read. Leave out items that it was
        not asked about.
    tolerance
        ε, from 0 to below ½: .1 if humans are crowd workers, .15 if they are skilled, .2 if they are experts.
    level
        ``"nominal"``; a matrix of distances, whose means are compared; anything else uses the distance of values.
    values
        The number of each point, 0, 1, 2, … by default.

    References
    ----------
    Calderon, Reichart and Dror (2025), The Alternative Annotator Test for LLM-as-a-Judge, ACL.

    Examples
    --------
    >>> found = advantage([0, 2, 1, 0], [[3, 0, 0], [0, 0, 2], [1, 1, 1], [0, 1, 1]], [1, 2, None, 2])
    >>> found.advantage, found.behind  # loses, ties, refuses, wins
    (0.5, 0.25)
    """
    check_tolerance(tolerance)
    counts, given = checked(others, answers)
    human = positions_of("own", own, counts.shape)
    if np.isnan(human).any():
        raise InputError("own has an item without a position", hint="Leave out items that the human did not rate.")
    cost = squares_of(level_of(level, counts.shape[1]), counts.shape[1], values)
    rated = counts.any(axis=1)
    far = (counts @ cost)[rated] / counts.sum(axis=1)[rated, np.newaxis]
    silent = np.isnan(given[rated])
    rows = np.arange(len(far))
    gap = far[rows, np.where(silent, 0, given[rated]).astype(int)] - far[rows, human[rated].astype(int)]
    side = np.where(silent, -1.0, np.where(np.abs(gap) <= _EQUAL, 0.0, -np.sign(gap)))  # 1 where the model is closer
    n = len(side)
    if n == 0:
        return StandIn(0, np.nan, np.nan, np.nan)
    p = float(stand_in_p(n, -side.sum(), np.abs(side).sum(), tolerance))
    return StandIn(n, float((side >= 0).mean()), float(-side.mean()), p)


def squares_of(level: Level, n_points: int, values: ArrayLike | None = None) -> Floats:
    """Return how far each point is from each other, such that means can be compared; at most 1."""
    if not isinstance(level, str):
        return level
    if level == "nominal":
        return 1.0 - np.eye(n_points)
    numbers = unit_values(np.arange(n_points) if values is None else np.asarray(values, dtype=float))
    return np.asarray((numbers[:, np.newaxis] - numbers) ** 2)


def unit_values(values: NDArray[Any]) -> Floats:
    """Return values rescaled to 0 … 1, which changes no comparison of distances."""
    return np.asarray((values - values[0]) / (values[-1] - values[0]), dtype=float)


def stand_in_p(n: ArrayLike, behind: ArrayLike, squared: ArrayLike, tolerance: float) -> Floats:
    """Return p of the one-sided t-test that the mean of W_h − W_m is ε or more.

    Parameters
    ----------
    n, behind, squared
        How many items there are, and the sums of W_h − W_m and of its square over them.
    tolerance
        ε.

    Examples
    --------
    >>> stand_in_p([4, 4, 4], [-1, 0, 4], [3, 0, 4], 0.1).round(4).tolist()  # the last two do not vary
    [0.2588, 0.0, 1.0]
    """
    items, total = np.asarray(n, dtype=float), np.asarray(behind, dtype=float)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = total / items
        variance = (np.asarray(squared, dtype=float) - total * mean) / (items - 1)
        p = stdtr(items - 1, (mean - tolerance) / np.sqrt(variance / items))
        constant = (variance <= _EQUAL) & (items > 1)
    return np.where(constant, np.where(mean < tolerance, 0.0, 1.0), np.where(items > 1, p, np.nan))


def check_tolerance(tolerance: float) -> None:
    """Raise an error unless a tolerance leaves something to test."""
    if not 0 <= tolerance < 0.5:
        raise InputError(f"tolerance is {tolerance!r}", hint="Give a number from 0 to below 0.5, such as 0.1.")
