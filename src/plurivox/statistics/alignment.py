"""How far a model's answers are from people's votes, and whether it may stand in for one of them.

Votes are counts, items × points. Answers are positions 0 … K, one per item, and None (or NaN) where the model refused
or its answer cannot be read. An item that nobody voted on is left out; if none is left, the value is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr

from plurivox.base.errors import InputError
from plurivox.statistics.checks import Floats, Level, counts_of, level_of
from plurivox.statistics.records import Statistic

Answer = float | int | None


def modes(votes: ArrayLike) -> Floats:
    """Return the most frequent point of each item; if several tie, their arithmetic mean; NaN without votes.

    Examples
    --------
    >>> modes([[0, 0, 1, 5, 2], [0, 3, 3, 1, 0], [0, 0, 0, 0, 0]])
    array([3. , 1.5, nan])
    """
    counts = counts_of("votes", votes)
    top = counts == counts.max(axis=1, keepdims=True)
    tied = np.where(counts.any(axis=1), (top @ np.arange(counts.shape[1])) / top.sum(axis=1), np.nan)
    return np.asarray(tied, dtype=float)


def ada_met(votes: ArrayLike, answers: Sequence[Answer] | ArrayLike) -> float:
    """Return the mean distance of answers from the mode of the votes (ADA-Met).

    ``ADA_i = |mode_i − s_i|``, or K, the longest distance on the scale, if there is no answer.

    Parameters
    ----------
    votes
        Items × points.
    answers
        The position that the model chose for each item, None if it refused or its answer cannot be read.

    Returns
    -------
    float
        0 if every answer is the mode, K if every item was refused.

    References
    ----------
    Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?

    Examples
    --------
    >>> ada_met([[0, 0, 1, 5, 2], [0, 3, 3, 1, 0], [2, 0, 0, 0, 2]], [4, 1, None])  # (1 + .5 + 4)/3
    1.8333333333333333
    """
    counts, positions = checked(votes, answers)
    return _mean(np.abs(modes(counts) - positions), counts, float(counts.shape[1] - 1))


def ada_met_answered(votes: ArrayLike, answers: Sequence[Answer] | ArrayLike) -> float:
    """Return the mean distance of answers from the mode of the votes, over the items that were answered.

    Parameters are those of :func:`ada_met`.

    References
    ----------
    Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?

    Examples
    --------
    >>> ada_met_answered([[0, 0, 1, 5, 2], [0, 3, 3, 1, 0], [2, 0, 0, 0, 2]], [4, 1, None])
    0.75
    """
    counts, positions = checked(votes, answers)
    return _mean(np.abs(modes(counts) - positions), counts, None)


def voter_distance(votes: ArrayLike, answers: Sequence[Answer] | ArrayLike) -> float:
    """Return the mean distance of answers from individual votes: the mean over items of the mean over voters.

    ``D_i = Σ_p n_ip |p − s_i|/n_i``, or K if there is no answer. Unlike :func:`ada_met`, it reflects how votes spread.

    Parameters are those of :func:`ada_met`.

    References
    ----------
    A mean absolute difference; Galarnyk et al. (2025) name as a limitation of ADA-Met that it ignores this spread.

    Examples
    --------
    >>> voter_distance([[1, 0, 1], [0, 0, 2]], [1, 0])  # (1 + 2)/2
    1.5
    """
    counts, positions = checked(votes, answers)
    apart = np.abs(np.arange(counts.shape[1]) - positions[:, np.newaxis])
    with np.errstate(invalid="ignore", divide="ignore"):  # NaN without votes or a position
        distances = np.asarray((counts * apart).sum(axis=1) / counts.sum(axis=1))
    return _mean(distances, counts, float(counts.shape[1] - 1))


def checked(votes: ArrayLike, answers: Sequence[Answer] | ArrayLike) -> tuple[Floats, Floats]:
    """Return votes as counts and answers as positions, NaN where there is none; or raise an error."""
    counts = counts_of("votes", votes)
    return counts, positions_of("answers", answers, counts.shape)


def positions_of(name: str, given: Any, shape: tuple[int, ...]) -> Floats:
    """Return positions as floats, NaN where there is none."""
    try:
        positions = np.array([np.nan if one is None else one for one in np.asarray(given, dtype=object)], dtype=float)
    except (TypeError, ValueError):
        raise InputError(f"{name} holds something that is not a position", hint="Give numbers or None.") from None
    if positions.shape != shape[:1]:
        raise InputError(
            f"{name} has the shape {positions.shape}, but votes has {shape[0]} items", hint="Give one for each item."
        )
    wrong = ~np.isnan(positions) & ~((positions >= 0) & (positions < shape[1]) & (positions == np.floor(positions)))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InputError(
            f"{name} holds {positions[place]:g} for item {place}",
            hint=f"Give positions on the scale, 0 to {shape[1] - 1}, or None.",
        )
    return positions


def _mean(distances: Floats, counts: Floats, charge: float | None) -> float:
    """Return the mean over items with votes; those without an answer cost ``charge``, or are left out if None."""
    voted = np.asarray(counts.any(axis=1))
    silent = np.isnan(distances)
    kept = distances[voted & ~silent] if charge is None else np.where(silent, charge, distances)[voted]
    return float(kept.mean()) if len(kept) else float("nan")


# Stand in -------------------------------------------------------------------------------------------------------------
#
# Standing in for a rater: the alternative annotator test of Calderon, Reichart and Dror (2025).
#
# A model and a human are each compared with what the other humans say about an item. The closer one wins the item;
# both win a tie. The model may stand in for the human unless the human wins more often by ε or more.


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
    if not 0 <= tolerance < 0.5:
        raise InputError(f"tolerance is {tolerance!r}", hint="Give a number from 0 to below 0.5, such as 0.1.")
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


# Alignment records ----------------------------------------------------------------------------------------------------
#
# The records of alignment.


_NORMS = "Galarnyk et al. (2025), How Inclusively do LMs Perceive Social and Moral Norms?"

_distance = partial(
    Statistic, needs="answers", range=(0.0, math.inf), higher_means="a model further from these raters", role="distance"
)

RECORDS = (
    _distance(
        name="ada_met", label="ADA-Met", function=ada_met,
        equation="ADA-Met = mean_i |mode_i − s_i|, K if there is no answer; tied modes are averaged",
        meaning="how far a model's answers are from the most frequent vote, in points of the scale; no answer counts "
        "as the largest distance",
        reference=_NORMS,
    ),
    _distance(
        name="ada_met_answered", label="ADA-Met, answered", function=ada_met_answered,
        equation="mean of |mode_i − s_i| over the items with an answer",
        meaning="how far a model's answers are from the most frequent vote, where it answered", reference=_NORMS,
        interval_shown=False,
    ),
    _distance(
        name="voter_distance", label="distance to voters", function=voter_distance,
        equation="mean_i Σ_p n_ip |p − s_i|/n_i, K if there is no answer",
        meaning="how far a model's answers are from individual votes, in points of the scale; no answer counts as the "
        "largest distance",
        reference="Mean absolute difference; it keeps the spread of votes, which ADA-Met ignores",
    ),
    Statistic(
        name="closest_gap", label="gap", needs="axis", range=(0.0, math.inf),
        equation="max_g min_{h≠g} d(g,h), d(g,h) = Σ_i w_i (D_hi − D_gi)/Σ_i w_i over items that g and h rated; D is "
        "the distance from the mode (w = 1) or from votes (w_i = n_gi n_hi/(n_gi + n_hi))",
        meaning="how much closer a model is to its closest group than to the next, on items that both groups rated",
        higher_means="a model that sides more clearly with one group",
        reference="Tested by shuffling whole raters between groups", traits=("claims",),
    ),
)  # fmt: skip
