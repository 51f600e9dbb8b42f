# mypy: disable-error-code="no-untyped-def"
"""Permutation number p of a seed, the groups of the raters shuffled within strata; and sums over resampled units.

A permutation is made from its own key alone, so any thread can make any of them. A counter starts at the key and goes
one step on for each place of a stratum, from the last place i to the second; what it is then, well mixed, exchanges i
with a place j from the stratum's first to i, each with the same chance (Fisher and Yates)::

    key ──+ step──▶ counter ──mixed──▶ word ──▶ j = first + (upper half of word · (i − first + 1) >> 32)
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled


@compiled
def mixed(word):
    """Return a well-mixed word of a counter (splitmix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _shuffle(order, bounds, key):
    """Shuffle a list within each stratum; ``key`` alone decides how."""
    state = key
    for s in range(len(bounds) - 1):
        for i in range(bounds[s + 1] - 1, bounds[s], -1):
            state += np.uint64(0x9E3779B97F4A7C15)
            width = np.uint64(i - bounds[s] + 1)
            # The upper half of a 32 × 32 bit product is uniform on 0..width-1, up to width in 2³².
            j = bounds[s] + np.int64(((mixed(state) >> np.uint64(32)) * width) >> np.uint64(32))
            order[i], order[j] = order[j], order[i]


TOGETHER = 16  # permutations that walk over the items together, in kernels that do


@compiled
def fill_places(labels, n_groups, places):
    """Fill ``places[c, r, p]`` with where what rater r adds goes under permutation ``16·c + p``.

    It is ``16·g + p`` in group g, and behind all groups where the label is -1, outside the axis. Behind the last
    permutation the last one is repeated.
    """
    last = len(labels) - 1
    for c in range(len(places)):
        for r in range(places.shape[1]):
            for p in range(TOGETHER):
                label = labels[min(c * TOGETHER + p, last), r]
                places[c, r, p] = (label if label >= 0 else n_groups) * TOGETHER + p


FEW = 15
"""Groups whose numbers fit into four bits, that of who is outside the axis among them."""


@compiled
def fill_words(labels, n_groups, words):
    """Fill ``words[c, r]`` with the groups of rater r under permutations ``16·c`` to ``16·c + 15``, four bits for each.

    A label of -1, outside the axis, becomes ``n_groups``. There are 15 groups at most.
    """
    for c in range(len(words)):
        for r in range(words.shape[1]):
            word = np.uint64(0)
            for p in range(min(TOGETHER, len(labels) - c * TOGETHER)):
                label = labels[c * TOGETHER + p, r]
                word |= np.uint64(label if label >= 0 else n_groups) << np.uint64(4 * p)
            words[c, r] = word


@compiled
def place_in(word, p):
    """Return where what a rater adds under permutation p goes: 16·g + p in group g."""
    return ((word >> np.uint64(4 * p)) & np.uint64(15)) * np.uint64(TOGETHER) + np.uint64(p)


@compiled
def permute(group_of, everyone, bounds, seed, number, permuted):
    """Fill ``permuted`` with the groups of the raters under a permutation; number 0 leaves them as they are.

    ``everyone`` lists all raters, stratum by stratum, -1 − r for those that are not shuffled, and ``bounds`` where each
    stratum starts. All are put into one random order, in which those to be shuffled take each other's places, so that
    axes which lack different raters still make the same shuffle of those that they share.
    """
    if number == 0:
        for r in everyone:
            if r >= 0:
                permuted[r] = group_of[r]
        return
    order = everyone.copy()
    _shuffle(order, bounds, mixed(np.uint64(seed) + np.uint64(number) * np.uint64(0xD1342543DE82EF95)))
    for s in range(len(bounds) - 1):
        j = bounds[s]
        for i in range(bounds[s], bounds[s + 1]):
            if order[i] >= 0:
                while everyone[j] < 0:
                    j += 1
                permuted[order[i]] = group_of[everyone[j]]
                j += 1


# Resampling -----------------------------------------------------------------------------------------------------------
#
# Sums over resampled units: what a bootstrap of means needs.


@compiled
def weighted_sums(weights, values, starts, sums):
    """Add to ``sums``, draws × parts × columns, the rows of ``values`` as often as each was drawn.

    ``weights`` is draws × rows; part ``b`` has the rows from ``starts[b]`` to ``starts[b + 1]``. Rows are added in
    their order, so the result does not depend on how draws are divided up.
    """
    for d in range(weights.shape[0]):
        for b in range(len(starts) - 1):
            for row in range(starts[b], starts[b + 1]):
                weight = weights[d, row]
                if weight > 0:
                    for c in range(values.shape[1]):
                        sums[d, b, c] += weight * values[row, c]
