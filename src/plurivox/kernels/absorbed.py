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
