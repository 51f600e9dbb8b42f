"""The border of the array functions: what users pass becomes float arrays, or an error that says what is wrong.

Beside them stands what such input decides: the distance δ between two points of a scale, with which alpha and XRR
weight disagreement, and the vote of a side on an item, with who gets it when points tie.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.base.errors import InputError

Floats = NDArray[np.float64]
Level = Literal["nominal", "ordinal", "interval"] | Floats
"""The name of a level of measurement, or a matrix of distances between points."""

LEVELS = ("nominal", "ordinal", "interval")
MAX_MATRIX_POINTS = 1_000


def distances(level: Level, marginals: NDArray[Any], values: Floats | None = None) -> Floats:
    """Return δ, points × points.

    Parameters
    ----------
    level
        ``"nominal"``: 0 or 1. ``"interval"``: the squared difference of values. ``"ordinal"``: the squared
        difference of :func:`mid_ranks`. A matrix is used as it is.
    marginals
        How often each point was used, (…, points). Ordinal distances depend on it and have its leading dimensions.
    values
        The number of each point, 0, 1, 2, … by default; only interval distances use them.
    """
    n_points = marginals.shape[-1]
    if not isinstance(level, str):
        return level
    if level == "nominal":
        return 1.0 - np.eye(n_points)
    if level == "ordinal":
        numbers = mid_ranks(marginals)
    else:
        numbers = np.arange(n_points, dtype=float) if values is None else values
    difference: Floats = numbers[..., :, None] - numbers[..., None, :]
    return difference**2


def mid_ranks(marginals: NDArray[Any]) -> Floats:
    """Return the mean rank of the ratings on each point: r_k − r_c = Σ_{g=c..k} n_g − (n_c + n_k)/2."""
    ranks: Floats = np.cumsum(marginals, axis=-1) - marginals / 2
    return ranks


MAX_COUNT = 2**53
"""Up to here, every whole number is a float."""
SUM_TOLERANCE = 1e-6
"""How far the sum of predicted probabilities may be from 1."""
MIN_PRIOR = 1e-12
"""The smallest weight of a prior, compared with which a single rating is everything."""
MAX_POINTS = 200
"""The most points of a rating scale whose raters are compared pair by pair or fitted by a model."""


def counts_of(name: str, counts: ArrayLike) -> Floats:
    """Return counts, items × points, as floats that are whole numbers."""
    table = _table(name, _numbers(name, counts), "Give a table of items × points, one row for each item.")
    _two_points(name, table)
    _refuse(name, table, ~(np.abs(table) <= MAX_COUNT), "a count that is not finite or too large")
    _refuse(name, table, table < 0, "a negative count")
    _refuse(name, table, table != np.floor(table), "a count that is not a whole number")
    return table


def pair_of(first: str, counts_a: ArrayLike, second: str, counts_b: ArrayLike) -> tuple[Floats, Floats]:
    """Return the counts of two sides; their rows must be the same items and their columns the same points."""
    a, b = counts_of(first, counts_a), counts_of(second, counts_b)
    if a.shape != b.shape:
        raise InputError(
            f"{first} has the shape {a.shape}, but {second} has {b.shape}",
            hint="Both need the same items as rows and the same points as columns; an unrated item is a row of zeros.",
        )
    return a, b


def weights_of(first: str, ones: ArrayLike, second: str, zeros: ArrayLike) -> tuple[Floats, Floats]:
    """Return two vectors of weights, one for each score of the same scale, as floats that are not negative."""
    one, zero = _weights(first, ones), _weights(second, zeros)
    if len(one) != len(zero):
        raise InputError(
            f"{first} has {len(one)} weights, but {second} has {len(zero)}",
            hint="Both need one weight for each score of the same scale; a score without samples has 0.",
        )
    return one, zero


def values_of(values: ArrayLike | None, n_points: int) -> Floats:
    """Return one number for each point, 0, 1, 2, … by default.

    Given ones are rescaled to 0 … 1, which changes no statistic and keeps their squares in range.
    """
    if values is None:
        return np.arange(n_points, dtype=float)
    numbers = _numbers("values", values)
    if numbers.shape == (n_points,) and np.isfinite(numbers).all():
        height: Floats = numbers / 2 - numbers[0] / 2  # halves, since the whole difference may overflow
        if height[-1] > 0:
            height = height / height[-1]
        if (np.diff(height) > 0).all() and (np.diff(height) ** 2 > 0).all():
            return height
    shown = np.array2string(numbers, threshold=8, separator=", ")
    raise InputError(
        f"values is {shown}", hint=f"Give {n_points} finite numbers, each clearly larger than the one before."
    )


def usual_level(level: Any, n_points: int, *, published: bool = False) -> Any:
    """Return the level that ``"auto"`` stands for, or any other level unchanged."""
    if not isinstance(level, str) or level != "auto":
        return level
    return "nominal" if published else "ordinal" if n_points <= MAX_MATRIX_POINTS else "interval"


def level_of(level: str | ArrayLike, n_points: int) -> Level:
    """Return the level of measurement: its name, or a matrix of distances, rescaled so that the largest is 1."""
    if isinstance(level, str):
        name = choice_of("level", level, LEVELS, or_else="a matrix of distances between points")
        if name == "ordinal":
            _few_points("ordinal", n_points)
        return name  # type: ignore[return-value]  # one of LEVELS
    matrix = _numbers("level", level)
    _few_points("a matrix", n_points)
    if matrix.shape != (n_points, n_points):
        problem = f"level has the shape {matrix.shape}"
    elif not np.isfinite(matrix).all() or (matrix < 0).any():
        problem = "level holds a distance that is negative or not finite"
    elif np.diagonal(matrix).any():
        problem = "level puts a point at a distance from itself"
    elif not np.allclose(matrix, matrix.T, rtol=1e-9, atol=0.0):
        problem = "level is not symmetric"
    else:
        return matrix / (matrix.max() or 1.0)
    raise InputError(
        problem,
        hint=f"Give a symmetric {n_points} × {n_points} matrix of distances, 0 on its diagonal, "
        f"or one of {', '.join(LEVELS)}.",
    )


def choice_of(name: str, given: object, allowed: Sequence[str], or_else: str = "") -> str:
    """Return a word after checking that it is one of the allowed ones."""
    if isinstance(given, str) and given in allowed:
        return given
    options = ", ".join(allowed) + (f", or {or_else}" if or_else else "")
    raise InputError(f"{name} is {given!r}", hint=f"Choose one of {options}.")


def amount_of(name: str, given: object, *, or_nan: bool = False) -> float:
    """Return a finite number that is not negative, or NaN if that is allowed."""
    number = _numbers(name, given)
    if number.ndim == 0 and or_nan and np.isnan(number):
        return float(number)
    if number.ndim or not np.isfinite(number) or number < 0:
        raise InputError(
            f"{name} is {given!r}", hint=f"Give one finite number, 0 or greater{', or NaN' if or_nan else ''}."
        )
    return float(number)


def items_of(name: str, given: ArrayLike, *, whole: bool = False) -> tuple[Floats, bool]:
    """Return weights that are not negative, items × points, and whether a single item was given as one row.

    ``whole`` weights are counts of ratings, as in :func:`counts_of`.
    """
    table = _numbers(name, given)
    single = table.ndim == 1
    hint = "Give one number for each point, or a table of items × points, one row for each item."
    table = _table(name, table[None, :] if single else table, hint)
    if whole and not (np.asarray(given).dtype.kind in "biu" and table.shape[1] > 1 and _between(table, MAX_COUNT)):
        return counts_of(name, table), single  # whole numbers in range, as most are, need no closer look
    _two_points(name, table)
    if not _between(table, MAX_COUNT):
        _refuse(name, table, ~(np.abs(table) <= MAX_COUNT), "a weight that is not finite or too large")
        _refuse(name, table, table < 0, "a negative weight")
    return table, single


def prediction_of(name: str, given: ArrayLike, shape: tuple[int, ...], floor: float | None = None) -> Floats:
    """Return predicted distributions, items × points, each with sum 1 and no probability below a floor.

    One row serves all items.
    """
    table = _numbers(name, given)
    table = table[None, :] if table.ndim == 1 else table
    if table.ndim != 2 or table.shape[1] != shape[1] or table.shape[0] not in (1, shape[0]):
        raise InputError(
            f"{name} has the shape {np.shape(given)}, but there are {shape[0]} items and {shape[1]} points",
            hint="Give one probability for each point: one row for all items, or a row for each item.",
        )
    sums = table.sum(axis=1)
    if not (_between(table, 2.0) and _between(np.abs(sums - 1), SUM_TOLERANCE)):
        _refuse_predictions(name, table, sums)
    table = table / sums[:, None]
    if floor is not None:
        lowest = amount_of("floor", floor)
        if not 0 < lowest < 1:
            raise InputError(f"floor is {floor!r}", hint="Give a small probability above 0, such as 1e-6, or None.")
        table = raise_to(table, lowest)
    return np.asarray(np.broadcast_to(table, shape))


def raise_to(q: Floats, floor: float) -> Floats:
    """Return max(q, floor), divided by its sum."""
    raised = np.maximum(q, floor)
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def scores_of(name: str, scores: ArrayLike) -> tuple[NDArray[np.int32], Floats]:
    """Return raters × items, the index of each score's point, -1 where it is missing; and the points themselves.

    The points are the numbers that anybody gave, in order.
    """
    table = _score_table(name, scores)
    points = np.unique(table[~np.isnan(table)])
    if len(points) > MAX_POINTS:
        raise InputError(
            f"{name} holds {len(points):,} different scores, but at most {MAX_POINTS} are supported",
            hint="Give points of a rating scale, or round the scores.",
        )
    codes = np.searchsorted(points, table.T).astype(np.int32)
    codes[np.isnan(table.T)] = -1
    return np.ascontiguousarray(codes), points


def sides_of(first: str, scores_a: ArrayLike, second: str, scores_b: ArrayLike) -> tuple[Floats, Floats]:
    """Return the scores of two sides, items × raters, NaN where one is missing; rows must be the same items.

    All are rescaled to 0 … 1, which changes no correlation and keeps their squares in range.
    """
    a, b = _score_table(first, scores_a), _score_table(second, scores_b)
    if len(a) != len(b):
        raise InputError(
            f"{first} has {len(a)} items, but {second} has {len(b)}",
            hint="Both need the same items as rows; an item that a side did not rate is a row of NaN.",
        )
    given = np.concatenate([a[~np.isnan(a)], b[~np.isnan(b)], np.zeros(0)])
    low, high = (given.min() / 2, given.max() / 2) if len(given) else (0.0, 0.0)
    width = (high - low) or 1.0  # halves, since the whole difference may overflow
    return (a / 2 - low) / width, (b / 2 - low) / width


def _refuse_predictions(name: str, table: Floats, sums: Floats) -> None:
    """Raise an error that names the rows that are not distributions."""
    for wrong, what in (
        (np.isnan(table).any(axis=1), "a probability that is missing (NaN)"),
        ((table < 0).any(axis=1), "a negative probability"),
        (~(np.abs(sums - 1) <= SUM_TOLERANCE), "probabilities that do not sum to 1"),
    ):
        rows = np.flatnonzero(wrong)
        if len(rows):
            shown = ", ".join(f"{row} (sum {sums[row]:.7g})" for row in rows[:5].tolist())
            more = f" and {len(rows) - 5:,} more" if len(rows) > 5 else ""
            raise InputError(
                f"{name} holds {what} in row {shown}{more}, counted from 0",
                hint="Give probabilities from 0 to 1 that sum to 1 in every row.",
            )


def _between(table: Floats, highest: float) -> bool:
    """Return, faster than by looking at each, whether all are numbers from 0 to the highest."""
    return not table.size or bool(table.min() >= 0 and table.max() <= highest)


def prior_of(prior: ArrayLike, n_points: int) -> Floats:
    """Return the prior's weight on each point: one number for all, or one for each."""
    weights = _numbers("prior", prior)
    if weights.shape in ((), (n_points,)) and ((weights >= MIN_PRIOR) & (weights <= MAX_COUNT)).all():
        return np.asarray(np.broadcast_to(weights, (n_points,)))
    listed = weights.ravel()[:8].tolist()
    shown = f"{listed[0]:g}" if weights.ndim == 0 else f"{listed}{' …' if weights.size > 8 else ''}"
    raise InputError(
        f"prior is {shown}",
        hint=f"Give a number from {MIN_PRIOR:g} to {MAX_COUNT:g}, or {n_points} of them, one for each point.",
    )


def _numbers(name: str, given: Any) -> Floats:
    """Return an array of floats."""
    try:
        array: NDArray[Any] = np.asarray(given)
    except ValueError:
        raise InputError(f"{name} has rows of unequal length", hint="Give every row the same columns.") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype} instead of numbers", hint="Give an array of numbers.")
    return array.astype(np.float64)


def _table(name: str, table: Floats, hint: str) -> Floats:
    """Return a table, or raise an error if it is something else."""
    if table.ndim != 2:
        raise InputError(f"{name} has the shape {table.shape}", hint=hint)
    return table


def _score_table(name: str, scores: ArrayLike) -> Floats:
    """Return items × raters, NaN where a score is missing."""
    table = _table(name, _numbers(name, scores), "Give a table of items × raters, NaN where a score is missing.")
    _refuse(name, table, np.isinf(table), "a score that is not finite", "Give NaN where a score is missing.")
    return table


def _weights(name: str, given: ArrayLike) -> Floats:
    """Return one weight for each score."""
    weights = _numbers(name, given)
    if weights.ndim != 1:
        raise InputError(f"{name} has the shape {weights.shape}", hint="Give one row, a weight for each score.")
    if len(weights) < 2:
        raise InputError(
            f"{name} has {len(weights)} weights, one for each score, but a scale has at least two scores",
            hint="Give a weight for every score that raters could choose, 0 for those nobody chose.",
        )
    for wrong, what in ((~np.isfinite(weights), "a weight that is not finite"), (weights < 0, "a negative weight")):
        if wrong.any():
            score = int(wrong.argmax())
            raise InputError(
                f"{name} holds {what}: {weights[score]:g} at score {score}, counted from 0",
                hint="Give the number of samples with each score, 0 if there are none.",
            )
    return weights


def _refuse(
    name: str,
    table: Floats,
    wrong: NDArray[np.bool_],
    what: str,
    hint: str = "Give the number of raters who gave each point to each item.",
) -> None:
    """Raise an error if something is wrong, naming the first place."""
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f"{name} holds {what}: {table[row, column]:g} in row {row}, column {column}, both counted from 0", hint=hint
        )


def _two_points(name: str, table: Floats) -> None:
    """Raise an error if a table has fewer columns than any scale has points."""
    if table.shape[1] < 2:
        raise InputError(
            f"{name} has {table.shape[1]} columns, one for each point, but a scale has at least two points",
            hint="Give a column for every point that raters could choose, including those nobody chose.",
        )


def _few_points(what: str, n_points: int) -> None:
    """Raise an error if a matrix of points × points would be too large."""
    if n_points > MAX_MATRIX_POINTS:
        raise InputError(
            f"level is {what} on {n_points:,} points, but at most {MAX_MATRIX_POINTS:,} are supported",
            hint="Choose level nominal or interval, or group the points.",
        )


# Ties -----------------------------------------------------------------------------------------------------------------
#
# The vote of a side on an item, and who gets it when points tie.


TIES = ("share", "lowest", "random")


def votes(counts: NDArray[Any], ties: str = "share", priorities: NDArray[np.uint64] | None = None) -> Floats:
    """Return each item's vote, (items, …, L): 1 on the plurality, 0 everywhere for unrated items.

    Tied points share the vote, or the lowest gets it, or (``"random"``) the one with the highest priority;
    ``priorities`` are above 0, come from :func:`tie_priorities`, and broadcast to the counts.
    """
    n = np.asarray(counts)
    top = n.max(axis=-1, keepdims=True)
    tied = (n == top) & (top > 0)
    if ties == "share":
        shared: Floats = tied / np.maximum(tied.sum(axis=-1, keepdims=True), 1)
        return shared
    if ties == "random" and priorities is not None:
        chosen = np.where(tied, priorities, np.uint64(0)).argmax(axis=-1)
    else:
        chosen = tied.argmax(axis=-1)
    winner: Floats = ((np.arange(n.shape[-1]) == chosen[..., None]) & tied).astype(float)
    return winner


def tie_priorities(items: Sequence[object], n_points: int, *, seed: int, side: int) -> NDArray[np.uint64]:
    """Return an odd number for each item and point: a hash of the seed, the item's id as text, point and side.

    So a tie is decided in the same way for any order of items, in every draw and on every machine.
    """
    texts = (f"{seed}:{item}".encode() for item in items)
    keys = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    item = np.frombuffer(keys, dtype="<u8").astype(np.uint64)
    place = np.arange(side + 1, side + 1 + 2 * n_points, 2, dtype=np.uint64)
    numbers = item[:, None] + _GAMMA * place
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64; products wrap around
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    odd: NDArray[np.uint64] = (numbers ^ (numbers >> np.uint64(31))) | np.uint64(1)
    return odd


def tie_ranks(items: Sequence[object], n_points: int, ties: str, seed: int) -> NDArray[np.int32]:
    """Return for each item, side and point the rank that decides a tie; empty if tied points share."""
    if ties == "share":
        return np.zeros((0, 2, n_points), dtype=np.int32)
    if ties == "lowest":
        lowest = np.arange(n_points, 0, -1, dtype=np.int32)
        return np.ascontiguousarray(np.broadcast_to(lowest, (len(items), 2, n_points)))
    both = [tie_priorities(items, n_points, seed=seed, side=side) for side in (0, 1)]
    return np.argsort(np.argsort(np.stack(both, axis=1), axis=-1), axis=-1).astype(np.int32)


_GAMMA = np.uint64(0x9E3779B97F4A7C15)
