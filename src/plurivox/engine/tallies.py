"""The additive core: a statistic is a sum over items, then a finish.

Item *i* contributes something that depends on its counts alone: how many raters of each group gave it each point.
Contributions are added up, and a small formula makes the statistic of the sum::

    counts of item i ──contribution──▶ parts of item i ──Σ──▶ Tally ──finish──▶ statistic

So a tally can be made of any part of the items, by any thread or machine, and merged; and a bootstrap over items
weighs the parts again without touching the ratings. A new statistic is a new contribution and a new finish.

Sums run over blocks of items of a fixed size, kept apart until the end and then added in order, so that the result
does not depend on how the items were divided up: a tally of whole blocks merges to the very same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.ratings import Ratings

BLOCK = 1024
Counts = NDArray[np.int64]
"""Items × groups × points: how many raters of a group gave an item a point."""
Contribution = Callable[[Counts], NDArray[Any]]
"""From the counts of some items to one array of parts per item, stacked along the first dimension."""


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Sums of parts, one row per block of items."""

    blocks: NDArray[np.int64]
    sums: NDArray[Any]

    def merge(self, other: Tally) -> Tally:
        """Return the tally of the items of both; no item may be in both."""
        blocks = np.concatenate([self.blocks, other.blocks])
        sums = np.concatenate([self.sums, other.sums])
        order = np.argsort(blocks, kind="stable")
        blocks, sums = blocks[order], sums[order]
        first = np.flatnonzero(np.concatenate(([True], blocks[1:] != blocks[:-1])))
        return Tally(blocks[first], np.add.reduceat(sums, first, axis=0))

    def total(self) -> NDArray[Any]:
        """Return the sum over all items, added block by block in their order."""
        total = np.zeros(self.sums.shape[1:], dtype=self.sums.dtype)
        for row in self.sums:
            total = total + row
        return total


def group_counts(ratings: Ratings, axis: Axis | None = None, start: int = 0, stop: int | None = None) -> Counts:
    """Return how many raters of each group gave items ``start`` to ``stop`` each point.

    Without an axis all ratings make one group, also those of totals. Raters outside the axis are not counted.
    """
    stop = ratings.n_items if stop is None else stop
    entries = slice(ratings.offsets[start], ratings.offsets[stop])
    n_groups, n_points = (1 if axis is None else len(axis)), len(ratings.scale)
    item = ratings.item_codes[entries].astype(np.int64) - start
    score = ratings.scores[entries].astype(np.int64)
    weight = None if ratings.multiplicity is None else ratings.multiplicity[entries]
    group: NDArray[Any] = np.zeros_like(item)
    if axis is not None:
        group = axis.codes[ratings.codes_of_raters[entries]]
        inside = group >= 0
        item, score, group = item[inside], score[inside], group[inside]
    cell = (item * n_groups + group) * n_points + score
    shape = (stop - start, n_groups, n_points)
    if weight is None:
        return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64, copy=False)
    counts = np.zeros(int(np.prod(shape)), dtype=np.int64)
    np.add.at(counts, cell, weight)
    return counts.reshape(shape)


def tally(
    ratings: Ratings,
    contribution: Contribution,
    axis: Axis | None = None,
    *,
    start: int = 0,
    stop: int | None = None,
    weights: NDArray[Any] | None = None,
) -> Tally:
    """Add up the contributions of items ``start`` to ``stop``.

    Parameters
    ----------
    ratings, axis
        Who rated what, and the groups to count apart.
    contribution
        From counts to parts, for some items at once.
    start, stop
        Which items; all of them by default.
    weights
        One weight per item of ``ratings``, as a bootstrap over items draws them.
    """
    stop = ratings.n_items if stop is None else stop
    numbers, sums = [], []
    for first, last in _blocks(start, stop):
        parts = contribution(group_counts(ratings, axis, first, last))
        if weights is None:
            added = parts.sum(axis=0)
        else:
            added = np.tensordot(weights[first:last], parts, axes=1)
        numbers.append(first // BLOCK)
        sums.append(added)
    return Tally(np.array(numbers, dtype=np.int64), np.stack(sums))


def usage(counts: Counts) -> Counts:
    """Contribute the counts themselves; their sum tells how often each group used each point."""
    return counts


def _blocks(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield pieces of the range that do not cross a multiple of the block size; at least one, if empty."""
    if start >= stop:
        yield start, start
    while start < stop:
        end = min(stop, (start // BLOCK + 1) * BLOCK)
        yield start, end
        start = end
