"""Components of variance for unbalanced data, by Henderson's first method, and the reliability of means from them.

A score is x = μ + item + group + rater(group) + group × item + rest, each term with mean 0 and a variance of its own.
For each kind of class A (items, raters, groups, group × item, everything) T_A = Σ_a (Σ x)²/n_a is a sum over classes,
and its expectation is linear in μ² and the variances: a variance σ²_B counts Σ_a Σ_b n_ab²/n_a times, with n_ab the
ratings that class a and class b share. So there are as many equations as unknowns. Nothing is assumed about
distributions, and an estimate may be negative, which means that its variance is small compared with sampling noise.

Arrays may have leading dimensions, such as draws and groups, which pass through.

References
----------
Henderson (1953), Estimation of variance and covariance components; Searle, Casella & McCulloch (1992), Variance
components, chapter 5; Brennan (2001), Generalizability theory.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

WITHIN = ("item", "rater", "rest")
"""The components of raters who are not sorted into groups."""
NESTED = ("item", "group", "rater", "group_item", "rest")
"""Those of raters in groups."""
_SINGULAR = 1e-10  # smallest singular value relative to the largest
_ROUNDING = 1e-12  # a variance below this share of the mean square of all scores is 0 up to rounding


class Classes(NamedTuple):
    """What ratings add up to over the classes of one kind.

    Attributes
    ----------
    number
        How many classes have ratings.
    squares
        Σ (Σ x)²/n over them.
    counts
        Σ n² over them.
    """

    number: Floats
    squares: Floats
    counts: Floats


def components(n: Floats, total: Floats, squares: Floats, items: Classes, raters: Classes) -> Floats:
    """Return the variances of items, raters and the rest along a new last dimension, :data:`WITHIN`.

    Parameters
    ----------
    n, total, squares
        How many ratings there are, their sum and the sum of their squares.
    items, raters
        What the ratings add up to over items and over raters; no rater may rate an item twice.

    Examples
    --------
    Two raters, three items, scores 1 2 / 2 4 / 3 6: mean squares 3.5 of items, 6 of raters and .5 of the rest.

    >>> found = components(
    ...     np.array(6.0), np.array(18.0), np.array(70.0), Classes(np.array(3.0), np.array(63.0), np.array(12.0)),
    ...     Classes(np.array(2.0), np.array(60.0), np.array(18.0)))
    >>> found.round(6).tolist()  # (4.5 − .5)/2, (6 − .5)/3, .5
    [2.0, 1.833333, 0.5]
    """
    forms = _stacked(squares, _ratio(total * total, n), items.squares, raters.squares)
    one = np.ones_like(n)
    rows = [
        [n, n, n, n],
        [n, _ratio(items.counts, n), _ratio(raters.counts, n), one],
        [n, n, items.number, items.number],
        [n, raters.number, n, raters.number],
    ]
    return _solved(rows, forms)[..., 1:]


class Nested(NamedTuple):
    """Further sums of ratings by raters in groups: over groups, and over cells of a group and an item.

    Attributes
    ----------
    groups
        As for items and raters.
    cells
        The same for group × item.
    items_in_groups, raters_in_groups
        Σ_g Σ n²/N_g over the items, and over the raters, of each group.
    groups_in_items
        Σ_i Σ_g n_gi²/n_i.
    """

    groups: Classes
    cells: Classes
    items_in_groups: Floats
    raters_in_groups: Floats
    groups_in_items: Floats


def nested_components(
    n: Floats, total: Floats, squares: Floats, items: Classes, raters: Classes, nested: Nested
) -> Floats:
    """Return the variances of :data:`NESTED` along a new last dimension; see :func:`components`."""
    groups, cells = nested.groups, nested.cells
    forms = _stacked(
        squares, _ratio(total * total, n), items.squares, groups.squares, raters.squares, cells.squares
    )  # fmt: skip
    one = np.ones_like(n)
    item_counts, group_counts, rater_counts, cell_counts = (
        _ratio(each.counts, n) for each in (items, groups, raters, cells)
    )
    rows = [
        [n, n, n, n, n, n],
        [n, item_counts, group_counts, rater_counts, cell_counts, one],
        [n, n, nested.groups_in_items, items.number, nested.groups_in_items, items.number],
        [n, nested.items_in_groups, n, nested.raters_in_groups, nested.items_in_groups, groups.number],
        [n, raters.number, n, n, raters.number, raters.number],
        [n, n, n, cells.number, n, cells.number],
    ]
    return _solved(rows, forms)[..., 1:]


def _solved(rows: list[list[Floats]], forms: Floats) -> Floats:
    """Solve for μ² and the variances; NaN if the design cannot separate them."""
    matrix = np.stack([np.stack(np.broadcast_arrays(*row), axis=-1) for row in rows], axis=-2)
    scale = np.maximum(matrix[..., :1, :1], 1.0)  # the number of ratings
    matrix, forms = matrix / scale, forms / scale[..., 0]
    found = np.full(forms.shape, np.nan)
    known = np.isfinite(matrix).all(axis=(-1, -2)) & np.isfinite(forms).all(axis=-1)
    if known.any():
        singular = np.linalg.svd(matrix[known], compute_uv=False)
        good = singular[..., -1] > _SINGULAR * singular[..., 0]
        solved = np.full(forms[known].shape, np.nan)
        solved[good] = np.linalg.solve(matrix[known][good], forms[known][good][..., np.newaxis])[..., 0]
        found[known] = solved
    found[np.abs(found) < _ROUNDING * forms[..., :1]] = 0.0
    return found


def shares(variances: Floats) -> Floats:
    """Return each variance as a share of the total along the last dimension; negative ones count as 0 in the total.

    The share of a negative estimate is negative, too, so that intervals know how far below 0 it is; show it as 0.

    Examples
    --------
    >>> shares(np.array([3.0, -1.0, 1.0])).tolist()
    [0.75, -0.25, 0.25]
    """
    whole = np.sum(np.maximum(variances, 0.0), axis=-1, keepdims=True)
    return _ratio(variances, whole)


def reliability(item: Any, error: Any, k: Any = 1) -> Floats:
    """Return the reliability of a mean of k raters: item/(item + error/k); NaN unless items differ.

    Parameters
    ----------
    item
        The variance of items.
    error
        The variance of the rest for relative decisions (which item is higher); plus that of raters for absolute ones.
    k
        How many raters.

    Examples
    --------
    >>> float(reliability(1.0, 2.0, k=8))
    0.8
    """
    item, error = np.asarray(item, dtype=float), np.maximum(np.asarray(error, dtype=float), 0.0)
    return np.where(item > 0, _ratio(item, item + error / np.asarray(k)), np.nan)


def raters_needed(item: Any, error: Any, target: float = 0.8) -> Floats:
    """Return the smallest number of raters whose mean reaches a reliability; NaN unless items differ.

    Examples
    --------
    >>> float(raters_needed(1.0, 2.0)), float(raters_needed(1.0, 2.1))
    (8.0, 9.0)
    """
    item, error = np.asarray(item, dtype=float), np.maximum(np.asarray(error, dtype=float), 0.0)
    exact = np.where(item > 0, _ratio(target * error, (1 - target) * item), np.nan)
    return np.maximum(np.ceil(exact - 1e-9), 1.0)  # 8 is enough for a target that 8 reach up to rounding


def _stacked(*forms: Floats) -> Floats:
    return np.stack(np.broadcast_arrays(*forms), axis=-1)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """Divide where the divisor allows it, NaN elsewhere."""
    top, bottom = np.broadcast_arrays(np.asarray(top, dtype=float), np.asarray(bottom, dtype=float))
    found: Floats = np.divide(top, bottom, out=np.full(top.shape, np.nan), where=bottom > 0)
    return found
