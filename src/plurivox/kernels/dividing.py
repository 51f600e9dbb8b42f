# mypy: disable-error-code="no-untyped-def"
"""Differences between groups and their rests on every item, under many relabellings of the raters.

One relabelling is one pass over the ratings. It keeps the largest difference of all, where the difference that the list
shows for each item lies, and six sums for each group, so that memory depends on neither items × groups nor on how
ratings are cut into parts. Items are met in their order, so that no bit does either.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled

# The sums of each group, where t = w · D², w = n_g n_r / n, v the variance within the two sides of an item …
SQUARES, SHIFTS, WEIGHTS, WEIGHTS_SQUARED, VARIANCES, WEIGHTED_VARIANCES = range(6)
N_SUMS = 6
# … and how many draws put the difference that is shown at most, and at least, where it is; and all defined ones.
AT_MOST, AT_LEAST, DEFINED = range(3)


@compiled
def add_differences(
    offsets, raters, scores, values, labels, listed, n, mean, squares, variance, within, extra, chosen, signed,
    tolerance, largest, ranks, sums,
):  # fmt: skip
    """Add the items of a part under each draw; one long loop on purpose, since it runs for every rating and draw.

    Parameters
    ----------
    labels
        Draws × raters: the group of each, the last one being outside the axis.
    listed
        Which groups are compared with their rest.
    n, mean, squares, variance
        Of each item over the axis: ratings, their mean, Σ(x − mean)² and the steadied variance.
    within, extra
        What steadies a variance within sides: (squares − t + within) / (n − 2 + extra).
    chosen, signed
        The group that is shown of each item, -1 for none, and its z² with the sign of the difference.
    largest, ranks, sums
        What is filled: draws; items × 3; draws × groups × 6.
    """
    n_groups = len(listed)
    size, total = np.zeros(n_groups + 1, np.int64), np.zeros(n_groups + 1, np.float64)
    for draw in range(len(labels)):
        group_of, top = labels[draw], largest[draw]
        for i in range(len(offsets) - 1):
            if n[i] < 4:  # two ratings on each side
                continue
            start, stop = offsets[i], offsets[i + 1]
            for k in range(start, stop):
                g = np.uint64(group_of[np.uint64(raters[k])])
                size[g] += 1
                total[g] += values[np.uint64(scores[k])]
            few = stop - start < n_groups  # then go through those who rated instead of through all groups
            for at in range(stop - start if few else n_groups):
                g = np.uint64(group_of[np.uint64(raters[start + at])]) if few else np.uint64(at)
                own, shift = size[g], total[g]
                size[g], total[g] = 0, 0.0
                rest = n[i] - own
                if own < 2 or rest < 2 or g >= n_groups or not listed[g]:
                    continue
                shift -= own * mean[i]
                weight = own * rest / n[i]
                t = shift * shift / weight
                q = t / variance[i]
                top = max(top, q)
                v = (max(squares[i] - t, 0.0) + within) / (n[i] - 2 + extra)
                sums[draw, g, SQUARES] += t
                sums[draw, g, SHIFTS] += shift
                sums[draw, g, WEIGHTS] += weight
                sums[draw, g, WEIGHTS_SQUARED] += weight * weight
                sums[draw, g, VARIANCES] += v
                sums[draw, g, WEIGHTED_VARIANCES] += weight * v
                if np.int64(g) == chosen[i]:
                    q = q if shift >= 0 else -q
                    margin = tolerance * max(1.0, abs(signed[i]))
                    ranks[i, AT_MOST] += q <= signed[i] + margin
                    ranks[i, AT_LEAST] += q >= signed[i] - margin
                    ranks[i, DEFINED] += 1
            size[n_groups], total[n_groups] = 0, 0.0
        largest[draw] = top
