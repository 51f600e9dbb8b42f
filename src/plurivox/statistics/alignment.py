"""How far a model's answers are from people's votes, in positions 0 … K of a scale.

Votes are counts, items × points. Answers are positions, one per item, and None (or NaN) where the model refused or its
answer cannot be read. An item that nobody voted on is left out; if none is left, the value is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from plurivox.base.errors import InputError
from plurivox.statistics.checks import counts_of
from plurivox.statistics.levels import Floats

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
    return _mean(_to_voters(counts, positions), counts, float(counts.shape[1] - 1))


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


def _to_voters(counts: Floats, positions: Floats) -> Floats:
    """Return the mean distance of a position from the votes on each item; NaN without votes or a position."""
    distance = np.abs(np.arange(counts.shape[1]) - positions[:, np.newaxis])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((counts * distance).sum(axis=1) / counts.sum(axis=1))


def _mean(distances: Floats, counts: Floats, charge: float | None) -> float:
    """Return the mean over items with votes; those without an answer cost ``charge``, or are left out if None."""
    voted = np.asarray(counts.any(axis=1))
    silent = np.isnan(distances)
    kept = distances[voted & ~silent] if charge is None else np.where(silent, charge, distances)[voted]
    return float(kept.mean()) if len(kept) else float("nan")
