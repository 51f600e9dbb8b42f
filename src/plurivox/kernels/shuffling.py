# mypy: disable-error-code="no-untyped-def"
"""Permutation number p of a seed: the groups of the raters, shuffled within strata."""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled


@compiled
def _mixed(word):
    """Return a well-mixed word of a counter (splitmix64)."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return word ^ (word >> np.uint64(31))


@compiled
def _shuffle(codes, bounds, key):
    """Shuffle the codes within each stratum; ``key`` alone decides how."""
    state = key
    for s in range(len(bounds) - 1):
        for i in range(bounds[s + 1] - 1, bounds[s], -1):
            state += np.uint64(0x9E3779B97F4A7C15)
            width = np.uint64(i - bounds[s] + 1)
            # The upper half of a 32 × 32 bit product is uniform on 0..width-1, up to width in 2³².
            j = bounds[s] + np.int64(((_mixed(state) >> np.uint64(32)) * width) >> np.uint64(32))
            codes[i], codes[j] = codes[j], codes[i]


@compiled
def permute(group_of, inside, bounds, seed, number, permuted):
    """Fill ``permuted`` with the groups of the raters under a permutation; number 0 leaves them as they are.

    ``inside`` lists the raters to shuffle, stratum by stratum, and ``bounds`` where each stratum starts.
    """
    codes = group_of[inside]
    if number > 0:
        _shuffle(codes, bounds, _mixed(np.uint64(seed) + np.uint64(number) * np.uint64(0xD1342543DE82EF95)))
    for j in range(len(inside)):
        permuted[inside[j]] = codes[j]
