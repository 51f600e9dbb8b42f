# mypy: disable-error-code="no-untyped-def"
"""Which items groups saw, under permutations of the raters."""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled
from plurivox.kernels.shuffling import permute


@compiled
def permuted_exposure(offsets, raters, group_of, everyone, bounds, seed, first, sums):
    """Add for each permutation and group Σ n²/n_i over the items, n of its n_i ratings, and the group's ratings.

    Raters outside the axis, in the group after the last, count nowhere.
    """
    n_groups = sums.shape[1]
    permuted = group_of.copy()
    counts = np.zeros(n_groups + 1, np.int64)
    for p in range(len(sums)):
        permute(group_of, everyone, bounds, seed, first + p, permuted)
        for i in range(len(offsets) - 1):
            inside = 0
            for k in range(offsets[i], offsets[i + 1]):
                group = permuted[raters[k]]
                counts[group] += 1
                inside += group < n_groups
            for g in range(n_groups):
                n = counts[g]
                if n > 0:
                    sums[p, g, 0] += n * n / inside
                    sums[p, g, 1] += n
                    counts[g] = 0
            counts[n_groups] = 0
