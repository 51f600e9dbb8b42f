# mypy: disable-error-code="no-untyped-def, assignment"
"""The sums of ``kernels/cohesion`` where raters have weights that are not whole numbers.

Counts are sums of weights here, so that logarithms come from no table, and how many raters stand behind a count is
counted beside it: a sum of weights less itself need not be 0. Of a rater alone there is no pair, whatever their weight.
Shares of a plurality that differ by no more than rounding are tied. Each draw has its own weights, since in a shuffle
a weight goes with the group.
"""

from __future__ import annotations

import math

import numpy as np

from plurivox.kernels import compiled
from plurivox.kernels.cohesion import (
    COINCIDENCES,
    COINCIDENT,
    CROSS_ENTROPY,
    CROSSED,
    CROSSINGS,
    ENTROPY,
    MARGINALS,
    OWN,
    OWN_VOTES,
    PAIRABLE,
    PLURALITY,
    RATED,
    REST,
    REST_VOTES,
    SAME_VOTE,
    SELF_PAIRS,
    SHARED,
    mirror,
)

_TIED = 1e-9  # of all weight: points that differ by less are tied


@compiled
def _count(raters, scores, group_of, weights, start, stop, counts, heads, sizes, met):
    """Add up the weights of an item's raters by group and point, the last row being that of all groups.

    ``heads`` are raters by group and point, ``sizes`` Σw, Σw² and raters by group. Return how many groups were met.
    """
    everyone = len(counts) - 1
    n_met = 0
    for k in range(start, stop):
        rater = raters[k]
        w, g, c = weights[rater], np.int64(group_of[rater]), np.int64(scores[k])
        if w == 0.0 or g == everyone:
            continue
        if sizes[g, 2] == 0.0:
            met[n_met] = g
            n_met += 1
        for at in (g, everyone):
            counts[at, c] += w
            heads[at, c] += 1
            sizes[at, 0] += w
            sizes[at, 1] += w * w
            sizes[at, 2] += 1.0
    return n_met


@compiled
def _votes(counts, total, ranks, side, shares):
    """Fill what each point has of a side's vote: all, or as much as other points that are tied."""
    top = counts.max()
    n_tied, vote = 0, 0
    for c in range(len(counts)):
        tied = counts[c] >= top - _TIED * total
        shares[c] = 1.0 if tied else 0.0
        if tied and (n_tied == 0 or (len(ranks) > 0 and ranks[side, c] > ranks[side, vote])):
            vote = c
        n_tied += tied
    if len(ranks) > 0:
        shares[:] = 0.0
        shares[vote] = 1.0
    else:
        shares /= n_tied


@compiled
def _add_alone(own, size, times, sums, vectors, matrices):
    """Add what an item adds to the sums of one group by itself."""
    m, selves = size[0], size[1]
    square = information = top = 0.0
    for n in own:
        square += n * n
        information += n * math.log(n) if n > 0.0 else 0.0
        top = max(top, n)
    sums[RATED] += times
    sums[PLURALITY] += times * top / m
    sums[ENTROPY] += times * (math.log(m) - information / m)
    if size[2] < 2.0:
        return
    share = times * m / (m * m - selves)  # W/(W² − Q)
    sums[PAIRABLE] += times
    sums[COINCIDENT] += times * m - share * (m * m - square)
    sums[SELF_PAIRS] += times * selves
    for c in range(len(own)):
        vectors[MARGINALS, c] += times * own[c]
        if len(matrices) > 0 and own[c] > 0.0:
            for k in range(c + 1, len(own)):
                matrices[COINCIDENCES, c, k] += share * own[c] * own[k]


@compiled
def _add_crossed(own, rest, m, others, times, published, ranks, votes, sums, vectors, matrices):
    """Add what an item that others rated, too, adds to the sums of one group beside its rest."""
    n_points = len(own)
    same = surprise = entropy = 0.0
    for c in range(n_points):
        same += own[c] * rest[c]
        surprise += own[c] * math.log(2.0 * rest[c] + 1.0)
        vectors[OWN, c] += times * own[c]
        vectors[REST, c] += times * rest[c]
    weight = times * (1.0 / m + 1.0 / others)
    sums[SHARED] += times
    sums[CROSSED] += weight * same
    if published:
        if rest.min() > 0.0:  # without smoothing, and 0 where some point of the rest is empty
            for c in range(n_points):
                entropy -= own[c] / m * math.log(rest[c] / others)
    else:
        entropy = math.log(2.0 * others + n_points) - surprise / m
    sums[CROSS_ENTROPY] += times * entropy
    _votes(own, m, ranks, 0, votes[0])
    _votes(rest, others, ranks, 1, votes[1])
    for c in range(n_points):
        vectors[OWN_VOTES, c] += times * votes[0, c]
        vectors[REST_VOTES, c] += times * votes[1, c]
        sums[SAME_VOTE] += times * votes[0, c] * votes[1, c]
        if len(matrices) > 0 and own[c] > 0.0:
            for k in range(n_points):
                matrices[CROSSINGS, c, k] += weight * own[c] * rest[k]


@compiled
def _add_items(offsets, raters, scores, group_of, weights, item_weights, published, ranks, sums, vectors, matrices):
    """Add all items to the groups' sums; the group after the last one is "outside the axis"."""
    n_groups, _, n_points = vectors.shape
    counts, heads = np.zeros((n_groups + 1, n_points)), np.zeros((n_groups + 1, n_points), np.int64)
    sizes, met = np.zeros((n_groups + 1, 3)), np.zeros(n_groups, np.int64)
    rest, votes = np.zeros(n_points), np.zeros((2, n_points))
    no_ranks, none = np.zeros((0, 0), np.int32), np.zeros((0, n_points, n_points))
    for i in range(len(offsets) - 1):
        times = np.float64(item_weights[i]) if len(item_weights) > 0 else 1.0
        if times == 0.0:
            continue
        n_met = _count(raters, scores, group_of, weights, offsets[i], offsets[i + 1], counts, heads, sizes, met)
        own_ranks = ranks[i] if len(ranks) > 0 else no_ranks
        for j in range(n_met):
            g = met[j]
            own_matrices = matrices[g] if len(matrices) > 0 else none
            _add_alone(counts[g], sizes[g], times, sums[g], vectors[g], own_matrices)
            if sizes[n_groups, 2] > sizes[g, 2]:
                others = 0.0
                for c in range(n_points):
                    rest[c] = counts[n_groups, c] - counts[g, c] if heads[n_groups, c] > heads[g, c] else 0.0
                    others += rest[c]
                _add_crossed(
                    counts[g], rest, sizes[g, 0], others, times, published, own_ranks, votes, sums[g], vectors[g],
                    own_matrices,
                )  # fmt: skip
        for j in range(n_met):
            counts[met[j]], heads[met[j]], sizes[met[j]] = 0.0, 0, 0.0
        counts[n_groups], heads[n_groups], sizes[n_groups] = 0.0, 0, 0.0
    for g in range(len(matrices)):
        mirror(matrices[g, COINCIDENCES], vectors[g, MARGINALS])


@compiled
def weighted_passes(
    offsets, raters, scores, labels, rater_weights, item_weights, published, ranks, sums, vectors, matrices
):
    """Fill ``sums[d]``, ``vectors[d]`` and ``matrices[d]`` with the parts under the groups and weights of draw ``d``.

    ``labels`` has the groups of each draw, or one row for all of them.
    """
    for d in range(len(sums)):
        _add_items(
            offsets, raters, scores, labels[min(d, len(labels) - 1)], rater_weights[d], item_weights[d], published,
            ranks, sums[d], vectors[d], matrices[d],
        )  # fmt: skip
