# mypy: disable-error-code="no-untyped-def"
"""Scores over time: products of times and scores of each rater, with times shuffled, or with items and raters weighted.

Ratings lie one rater after the other, those of rater r from ``bounds[r]`` to ``bounds[r + 1]``.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled
from plurivox.kernels.shuffling import mixed


@compiled
def shuffled_products(times, scores, bounds, groups, seed, first, sums):
    """Add up Σ t·y of each rater under shuffles ``first`` … of the rater's times, in ``sums[d, g]`` of their groups.

    ``groups`` has for each axis the group of each rater, numbered through all axes, -1 outside. Shuffle 0 leaves times
    as they are.
    """
    longest = 0
    for r in range(len(bounds) - 1):
        longest = max(longest, bounds[r + 1] - bounds[r])
    room = np.zeros(longest)
    for d in range(len(sums)):
        number = first + d
        # Another stream than that of the groups of raters, which are shuffled beside.
        state = mixed(
            (np.uint64(seed) ^ np.uint64(0xA0761D6478BD642F)) + np.uint64(number) * np.uint64(0xD1342543DE82EF95)
        )
        for r in range(len(bounds) - 1):
            start, n = bounds[r], bounds[r + 1] - bounds[r]
            for i in range(n):
                room[i] = times[start + i]
            total = 0.0
            for i in range(n - 1, -1, -1):
                j = np.int64(i)
                if number > 0 and i > 0:
                    state += np.uint64(0x9E3779B97F4A7C15)
                    j = np.int64(((mixed(state) >> np.uint64(32)) * np.uint64(i + 1)) >> np.uint64(32))
                total += room[j] * scores[start + i]
                room[j] = room[i]
            for a in range(len(groups)):
                if groups[a, r] >= 0:
                    sums[d, groups[a, r]] += total


@compiled
def weighted_products(items, times, scores, bounds, item_weights, rater_weights, blocks, left, products, squares):
    """Fill ``products`` with Σ (t − t̄_r)(y − ȳ_i) and ``squares`` with Σ (t − t̄_r)² of each rater.

    Items and raters count as often as their weights say, each once without any; ratings of the block ``left`` do not
    count. Raters whose times are all the same have 0.
    """
    sums, sizes = np.zeros(item_weights.shape[0] or items.max() + 1), np.zeros(item_weights.shape[0] or items.max() + 1)
    for r in range(len(bounds) - 1):
        weight = rater_weights[r] if len(rater_weights) else 1.0
        for k in range(bounds[r], bounds[r + 1]):
            if not len(blocks) or blocks[k] != left:
                sums[items[k]] += weight * scores[k]
                sizes[items[k]] += weight
    for i in range(len(sums)):
        if sizes[i] > 0:
            sums[i] /= sizes[i]
    for r in range(len(bounds) - 1):
        products[r], squares[r] = 0.0, 0.0
        weight = rater_weights[r] if len(rater_weights) else 1.0
        if weight > 0:
            products[r], squares[r] = _of_rater(
                items, times, scores, bounds[r], bounds[r + 1], item_weights, blocks, left, sums
            )
            products[r] *= weight
            squares[r] *= weight


@compiled
def _of_rater(items, times, scores, start, stop, item_weights, blocks, left, means):
    """Return the products and squares of one rater."""
    total, size, low, high = 0.0, 0.0, np.inf, -np.inf
    for k in range(start, stop):
        weight = item_weights[items[k]] if len(item_weights) else 1.0
        if weight > 0 and (not len(blocks) or blocks[k] != left):
            total += weight * times[k]
            size += weight
            low, high = min(low, times[k]), max(high, times[k])
    if not low < high:
        return 0.0, 0.0
    product, square = 0.0, 0.0
    for k in range(start, stop):
        weight = item_weights[items[k]] if len(item_weights) else 1.0
        if weight > 0 and (not len(blocks) or blocks[k] != left):
            moved = times[k] - total / size
            product += weight * moved * (scores[k] - means[items[k]])
            square += weight * moved * moved
    return product, square
