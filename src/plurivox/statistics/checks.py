"""The border of the array functions: what users give becomes float arrays, or an error that says what is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.errors import InputError
from plurivox.statistics.levels import LEVELS, MAX_MATRIX_POINTS, Floats, Level

MAX_COUNT = 2**53
"""Up to here every whole number is a float."""


def counts_of(name: str, counts: ArrayLike) -> Floats:
    """Return counts, items × points, as floats that are whole numbers."""
    table = _numbers(name, counts)
    if table.ndim != 2:
        raise InputError(
            f"{name} has the shape {table.shape}", hint="Give a table of items × points, one row for each item."
        )
    if table.shape[1] < 2:
        raise InputError(
            f"{name} has {table.shape[1]} columns, one for each point, and a scale has at least two points",
            hint="Give a column to every point that raters could choose, also to those nobody chose.",
        )
    _refuse(name, table, ~(np.abs(table) <= MAX_COUNT), "a count that is not finite or too large")
    _refuse(name, table, table < 0, "a negative count")
    _refuse(name, table, table != np.floor(table), "a count that is not a whole number")
    return table


def pair_of(first: str, counts_a: ArrayLike, second: str, counts_b: ArrayLike) -> tuple[Floats, Floats]:
    """Return the counts of two sides, whose rows are the same items and whose columns are the same points."""
    a, b = counts_of(first, counts_a), counts_of(second, counts_b)
    if a.shape != b.shape:
        raise InputError(
            f"{first} has the shape {a.shape} and {second} {b.shape}",
            hint="Both need the same items as rows and the same points as columns; an unrated item is a row of zeros.",
        )
    return a, b


def weights_of(first: str, ones: ArrayLike, second: str, zeros: ArrayLike) -> tuple[Floats, Floats]:
    """Return two vectors of weights, one for each score of the same scale, as floats that are not negative."""
    one, zero = _weights(first, ones), _weights(second, zeros)
    if len(one) != len(zero):
        raise InputError(
            f"{first} has {len(one)} weights and {second} {len(zero)}",
            hint="Both need one weight for each score of the same scale; a score without samples has 0.",
        )
    return one, zero


def values_of(values: ArrayLike | None, n_points: int) -> Floats:
    """Return one number for each point, 0, 1, 2, … by default.

    Given ones are moved to 0 … 1, which changes no statistic and keeps their squares in range.
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


def level_of(level: str | ArrayLike, n_points: int) -> Level:
    """Return the level of measurement: its name, or a matrix of distances, the largest moved to 1."""
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
    """Return a word that has to be one of a few."""
    if isinstance(given, str) and given in allowed:
        return given
    options = ", ".join(allowed) + (f", or {or_else}" if or_else else "")
    raise InputError(f"{name} is {given!r}", hint=f"Choose one of {options}.")


def amount_of(name: str, given: object, *, or_nan: bool = False) -> float:
    """Return a finite number that is not negative, or NaN where that is allowed."""
    number = _numbers(name, given)
    if number.ndim == 0 and or_nan and np.isnan(number):
        return float(number)
    if number.ndim or not np.isfinite(number) or number < 0:
        raise InputError(
            f"{name} is {given!r}", hint=f"Give one finite number, 0 or more{', or NaN' if or_nan else ''}."
        )
    return float(number)


def _numbers(name: str, given: Any) -> Floats:
    """Return an array of floats."""
    try:
        array: NDArray[Any] = np.asarray(given)
    except ValueError:
        raise InputError(f"{name} has rows of unequal length", hint="Give every row the same columns.") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} holds {array.dtype} instead of numbers", hint="Give an array of numbers.")
    return array.astype(np.float64)


def _weights(name: str, given: ArrayLike) -> Floats:
    """Return one weight for each score."""
    weights = _numbers(name, given)
    if weights.ndim != 1:
        raise InputError(f"{name} has the shape {weights.shape}", hint="Give one row, a weight for each score.")
    if len(weights) < 2:
        raise InputError(
            f"{name} has {len(weights)} weights, one for each score, and a scale has at least two scores",
            hint="Give a weight to every score that raters could choose, 0 to those nobody chose.",
        )
    for wrong, what in ((~np.isfinite(weights), "a weight that is not finite"), (weights < 0, "a negative weight")):
        if wrong.any():
            score = int(wrong.argmax())
            raise InputError(
                f"{name} holds {what}: {weights[score]:g} at score {score}, counted from 0",
                hint="Give how many samples got each score, 0 where there is none.",
            )
    return weights


def _refuse(name: str, table: Floats, wrong: NDArray[np.bool_], what: str) -> None:
    """Raise where something is wrong, naming the first place."""
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise InputError(
            f"{name} holds {what}: {table[row, column]:g} in row {row}, column {column}, both counted from 0",
            hint="Give how many raters gave each item each point.",
        )


def _few_points(what: str, n_points: int) -> None:
    """Raise where a matrix of points × points would be too large."""
    if n_points > MAX_MATRIX_POINTS:
        raise InputError(
            f"level is {what} on {n_points:,} points, and at most {MAX_MATRIX_POINTS:,} are supported",
            hint="Choose level nominal or interval, or group the points.",
        )
