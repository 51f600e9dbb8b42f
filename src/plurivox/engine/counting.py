"""Counts: how many raters of each group gave an item each point, and what functions of counts add up to."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.part import Part
from plurivox.domain.ratings import Ratings

BLOCK = 1024
"""How many items are added up at once; blocks are then added in order, so that the sum depends on nothing else."""
Counts = NDArray[np.int64]
"""Items × groups × points: how many raters of a group gave an item a point."""


def group_counts(
    part: Part, codes: NDArray[Any] | None, n_groups: int, n_points: int, start: int = 0, stop: int | None = None
) -> Counts:
    """Return how many raters of each group gave items ``start`` to ``stop`` of a part each point.

    Without codes, all ratings are one group, including those of totals. Raters outside the axis are not counted.
    """
    item, score, group, entries = _cells(part, codes, start, stop)
    stop = part.n_items if stop is None else stop
    shape = (stop - start, n_groups, n_points)
    inside = group >= 0
    cell = ((item * n_groups + group) * n_points + score)[inside]
    if not len(part.multiplicity):
        return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64, copy=False)
    counts = np.zeros(int(np.prod(shape)), dtype=np.int64)
    np.add.at(counts, cell, part.multiplicity[entries][inside])
    return counts.reshape(shape)


def weighted_counts(
    part: Part, codes: NDArray[Any] | None, n_groups: int, n_points: int, weights: NDArray[Any], start: int, stop: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Σw by item, group and point, and Σw² by item and group, if raters have weights."""
    item, score, group, entries = _cells(part, codes, start, stop)
    shape = (stop - start, n_groups, n_points)
    inside = group >= 0
    cell, weight = (item * n_groups + group)[inside], weights[part.raters[entries]][inside].astype(float)
    n = np.bincount(cell * n_points + score[inside], weight, int(np.prod(shape))).astype(float)
    q = np.bincount(cell, weight**2, shape[0] * shape[1]).astype(float)
    return n.reshape(shape), q.reshape(shape[:2])


def counts_of(ratings: Ratings, axis: Axis | None = None, start: int = 0, stop: int | None = None) -> Counts:
    """Return the counts of items ``start`` to ``stop`` of all; see :func:`group_counts`."""
    return _of_items(ratings, axis, start, stop, None).astype(np.int64, copy=False)


def weighted_counts_of(
    ratings: Ratings, axis: Axis | None = None, start: int = 0, stop: int | None = None
) -> NDArray[np.float64]:
    """Return the counts of :func:`counts_of` with raters weighted: Σw by item, group and point."""
    return _of_items(ratings, axis, start, stop, ratings.weights).astype(float, copy=False)


def _of_items(
    ratings: Ratings, axis: Axis | None, start: int, stop: int | None, weights: NDArray[Any] | None
) -> NDArray[Any]:
    n_points, n_groups = len(ratings.scale), 1 if axis is None else len(axis)
    codes = None if axis is None else axis.codes
    stop = ratings.n_items if stop is None else stop
    found = [np.zeros((0, n_groups, n_points), np.int64 if weights is None else np.float64)]
    for part in ratings.parts():
        first, last = max(start - part.first, 0), min(stop - part.first, part.n_items)
        if first < last:
            of_part = (part, codes, n_groups, n_points)
            if weights is None:
                found.append(group_counts(*of_part, first, last))
            else:
                found.append(weighted_counts(*of_part, weights, first, last)[0])
    return np.concatenate(found)


def blocks(n_items: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks of items begin and end; one block if there are no items."""
    for start in range(0, max(n_items, 1), BLOCK):
        yield start, min(start + BLOCK, n_items)


def add_up(
    contribution: Callable[[int, int, int], NDArray[Any]],
    n_items: int,
    draws: int,
    weights: NDArray[Any],
    *,
    same: bool,
) -> NDArray[np.float64]:
    """Return for each draw the sum over items of what blocks of them contribute.

    Parameters
    ----------
    contribution
        Maps the number of a draw and the bounds of a block of items to what each item adds (items, …).
    weights
        Draws × items; draws × 0 if every item counts once.
    same
        Whether the contribution is the same in every draw, and so computed once.
    """
    totals: list[Any] = [0.0] * draws
    for start, stop in blocks(n_items):
        parts = contribution(0, start, stop) if same and draws else np.zeros(0)
        for d in range(draws):
            parts = parts if same else contribution(d, start, stop)
            if weights.shape[1]:  # not by a matrix product, whose order of adding depends on the machine
                totals[d] = totals[d] + np.einsum("i,i...->...", weights[d, start:stop].astype(float), parts)
            else:
                totals[d] = totals[d] + parts.sum(axis=0)
    return np.stack(totals)


def _cells(
    part: Part, codes: NDArray[Any] | None, start: int, stop: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], slice]:
    """Return each rating's item, counted from ``start``, its score and its group, and which ratings these are."""
    stop = part.n_items if stop is None else stop
    entries = slice(int(part.offsets[start]), int(part.offsets[stop]))
    item = np.repeat(np.arange(stop - start), np.diff(part.offsets[start : stop + 1]))
    score = part.scores[entries].astype(np.int64)
    group = np.zeros_like(item) if codes is None else codes[part.raters[entries]].astype(np.int64)
    return item, score, group, entries
