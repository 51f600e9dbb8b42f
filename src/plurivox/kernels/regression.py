# mypy: disable-error-code="no-untyped-def"
"""Cross products of groups and scores within items: least squares with an effect of every item, never solved for.

A rater has one group of each attribute, ``profiles[r]``, as places among the groups of all attributes; the first is -1
for raters who do not count. With z the indicators of a rater's groups, c = Σ z over the n ratings of an item and s
their sum, an item adds Σ z z' − c c'/n to X'X and Σ z x − c s/n to X'y.

Items are added in their order, each draw apart from all others.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled
from plurivox.kernels.shuffling import mixed


@compiled
def _add_rating(profile, times, x, products, scores_with):
    """Add the indicators of one rating, so many times."""
    for a in profile:
        scores_with[a] += times * x
        for b in profile:
            products[a, b] += times


@compiled
def _gather(start, stop, raters, scores, values, profiles, weights, count, met):
    """Fill how often each group rated an item, and which did; return how many did, ratings and their sum."""
    n_met, n, s = 0, 0.0, 0.0
    for k in range(start, stop):
        rater = raters[k]
        w = weights[rater] if len(weights) > 0 else 1.0
        if profiles[rater, 0] < 0 or w == 0.0:
            continue
        for a in profiles[rater]:
            if count[a] == 0.0:
                met[n_met] = a
                n_met += 1
            count[a] += w
        n += w
        s += w * values[scores[k]]
    return n_met, n, s


@compiled
def _add_means(met, count, gone, times, n, s, products, scores_with):
    """Take the means of an item off, so many times; without what is gone."""
    if n <= 0.0:
        return
    for a in met:
        own = count[a] - gone[a]
        if own == 0.0:
            continue
        scores_with[a] -= times * own * s / n
        for b in met:
            products[a, b] -= times * own * (count[b] - gone[b]) / n


@compiled
def add_crosses(offsets, raters, scores, values, profiles, rater_weights, item_weights, products, scores_with):
    """Fill the cross products of draw d under its weights; empty weights mean 1."""
    n_groups = products.shape[1]
    count, met, gone = np.zeros(n_groups), np.zeros(n_groups, np.int64), np.zeros(n_groups)
    for d in range(len(products)):
        weights = rater_weights[d]
        for i in range(len(offsets) - 1):
            times = 1.0
            if item_weights.shape[1] > 0:
                times = np.float64(item_weights[d, i])
                if times == 0.0:
                    continue
            start, stop = offsets[i], offsets[i + 1]
            n_met, n, s = _gather(start, stop, raters, scores, values, profiles, weights, count, met)
            for k in range(start, stop):
                rater = raters[k]
                if profiles[rater, 0] >= 0:
                    w = times * weights[rater] if len(weights) > 0 else times
                    _add_rating(profiles[rater], w, values[scores[k]], products[d], scores_with[d])
            _add_means(met[:n_met], count, gone, times, n, s, products[d], scores_with[d])
            count[met[:n_met]] = 0.0


@compiled
def add_crosses_without(offsets, raters, scores, values, profiles, units, first, products, scores_with):
    """Add to the cross products of draw d what changes without the ratings of unit ``first + d``."""
    n_units, n_groups = products.shape[:2]
    count, met, gone = np.zeros(n_groups), np.zeros(n_groups, np.int64), np.zeros(n_groups)
    none, nothing = np.zeros(0, np.int32), np.zeros(n_groups)
    here, left, rest = np.zeros(n_units, np.int64), np.zeros(n_units), np.zeros(n_units)
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        n_here = 0
        for k in range(start, stop):
            d = units[k] - first
            if units[k] >= 0 and 0 <= d < n_units and profiles[raters[k], 0] >= 0:
                if left[d] == 0.0:
                    here[n_here] = d
                    n_here += 1
                left[d] += 1.0
                rest[d] += values[scores[k]]
        if n_here == 0:
            continue
        n_met, n, s = _gather(start, stop, raters, scores, values, profiles, none, count, met)
        groups = met[:n_met]
        for j in range(n_here):
            d = here[j]
            found = 0.0
            for k in range(start, stop):
                if units[k] - first == d and profiles[raters[k], 0] >= 0:
                    profile = profiles[raters[k]]
                    gone[profile] += 1.0
                    _add_rating(profile, -1.0, values[scores[k]], products[d], scores_with[d])
                    found += 1.0
                    if found == left[d]:
                        break
            _add_means(groups, count, nothing, -1.0, n, s, products[d], scores_with[d])
            _add_means(groups, count, gone, 1.0, n - left[d], s - rest[d], products[d], scores_with[d])
            gone[groups] = 0.0
            left[d], rest[d] = 0.0, 0.0
        count[groups] = 0.0


# Drift ----------------------------------------------------------------------------------------------------------------
#
# Scores over time: products of times and scores of each rater, with times shuffled, or with items and raters
# weighted.
#
# Ratings lie one rater after the other, those of rater r from ``bounds[r]`` to ``bounds[r + 1]``.


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
