# mypy: disable-error-code="no-untyped-def"
"""Answers of models beside the votes of groups: one pass over items gives the sums behind every distance.

An item's votes are counted per group; from them come the mode (the mean of tied points), the mean distance of each
point from the votes, and from the posterior's mean. Each answer then looks up what it needs. Item by item, everything
that is read lies together.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled

ITEMS, ANSWERED, TO_MODE, TO_VOTERS, TO_POSTERIOR = range(5)
"""What is summed: items that count, the answered part of them, and distances of answers."""
N_SUMS = 5


@compiled
def _count(i, offsets, raters, scores, weights, of_raters, group_of, counts):
    """Count the votes of item i per group, weighted as ratings or as raters; those outside every group do not vote."""
    counts[:] = 0
    for r in range(offsets[i], offsets[i + 1]):
        g = group_of[raters[r]]
        if g >= 0:
            counts[g, scores[r]] += weights[raters[r] if of_raters else r] if len(weights) else 1


@compiled
def _mode(votes):
    """Return the mean of the most frequent points, -1 without votes."""
    top, places, n = 0, 0, 0
    for p in range(len(votes)):
        if votes[p] > top:
            top, places, n = votes[p], p, 1
        elif votes[p] == top and top > 0:
            places += p
            n += 1
    return places / n if top > 0 else -1.0


@compiled
def sums_by_unit(offsets, raters, scores, weights, group_of, rows, voice, point, part, unit, prior, sums):
    """Add to ``sums``, units × voices × groups × :data:`N_SUMS`, the answers to every item that a group voted on.

    ``offsets``, ``raters``, ``scores``, ``weights`` are the ratings by item; answers to item ``i`` are entries
    ``rows[i]`` to ``rows[i + 1]`` of ``voice``, ``point`` (-1 where there is none) and ``part`` (of the item, since
    several samples share one). ``unit`` is that of each item, -1 to leave it out.
    """
    n_groups, n_points = sums.shape[2], len(prior)
    counts = np.zeros((n_groups, n_points), dtype=weights.dtype)
    distances = np.zeros((n_groups, n_points, 2))
    mode = np.zeros(n_groups)
    prior_sum = prior.sum()
    for i in range(len(offsets) - 1):
        if unit[i] < 0 or rows[i] == rows[i + 1]:
            continue
        _count(i, offsets, raters, scores, weights, False, group_of, counts)
        for g in range(n_groups):
            mode[g] = _mode(counts[g])
            if mode[g] < 0:
                continue
            n = counts[g].sum()
            for s in range(n_points):
                voters, posterior = 0.0, 0.0
                for p in range(n_points):
                    voters += counts[g, p] * abs(p - s)
                    posterior += (prior[p] + counts[g, p]) * abs(p - s)
                distances[g, s, 0] = voters / n
                distances[g, s, 1] = posterior / (prior_sum + n)
        for a in range(rows[i], rows[i + 1]):
            s, share = point[a], part[a]
            for g in range(n_groups):
                if mode[g] < 0:
                    continue
                cell = sums[unit[i], voice[a], g]
                cell[ITEMS] += share
                if s >= 0:
                    cell[ANSWERED] += share
                    cell[TO_MODE] += share * abs(mode[g] - s)
                    cell[TO_VOTERS] += share * distances[g, s, 0]
                    cell[TO_POSTERIOR] += share * distances[g, s, 1]


COMPARED, WEIGHT, FARTHER, ANSWERS = range(4)
"""What is summed of two groups: items that both voted on, their weight, how much farther the second is; then for each
point of the scale the answers that are it, and how much farther the second would be if all answers were it."""


@compiled
def _distances(votes, to_voters, far):
    """Fill the distance of each point from the mode of votes, or from single ones; return how many votes there are."""
    n = votes.sum()
    if n == 0:
        return n
    mode = _mode(votes)
    for s in range(len(votes)):
        far[s] = abs(mode - s)
        if to_voters:
            far[s] = 0.0
            for p in range(len(votes)):
                far[s] += votes[p] * abs(p - s)
            far[s] /= n
    return n


@compiled
def _pairs(i, offsets, raters, scores, weights, group_of, pair_of, to_voters, counts, far, n, pair, weight, apart):
    """Fill the pairs of groups that both voted on item i, and by weight how much farther the second is from each point.

    Return how many pairs these are.
    """
    n_groups, n_points = counts.shape
    _count(i, offsets, raters, scores, weights, True, group_of, counts)
    for g in range(n_groups):
        n[g] = _distances(counts[g], to_voters, far[g])
    k = 0
    for g in range(n_groups):
        if n[g] == 0:
            continue
        for h in range(g + 1, n_groups):
            if n[h] == 0 or pair_of[g, h] < 0:
                continue
            pair[k], weight[k] = pair_of[g, h], n[g] * n[h] / (n[g] + n[h]) if to_voters else 1.0
            for p in range(n_points):
                apart[k, p] = weight[k] * (far[h, p] - far[g, p])
            k += 1
    return k


@compiled
def labelled_pairs(
    offsets, raters, scores, weights, labels, pair_of, to_voters, n_points, rows, voice, point, part, unit, sums
):
    """Add to ``sums``, draws × units × voices × pairs × (3 + 2 points), how much farther the second of two groups is.

    Each draw has a row of ``labels``, the groups of raters, and one of ``weights``.

    An item counts for two groups if both voted on it: as one in distances from modes; in distances ``to_voters`` by
    n·m/(n + m) for n and m votes, so that an item of many votes counts more and item effects cancel. An answer that is
    none is as far from both. ``pair_of`` is groups × groups, -1 for groups that are not compared. With room for three
    sums only, nothing is added up by points. ``weights`` are those of the raters, empty if all count 1; those that make
    ties must add up without rounding.
    """
    n_groups, n_pairs = len(pair_of), sums.shape[3]
    counts, far, n = np.zeros((n_groups, n_points), weights.dtype), np.zeros((n_groups, n_points)), np.zeros(n_groups)
    pair, weight, apart = np.zeros(n_pairs, dtype=np.int64), np.zeros(n_pairs), np.zeros((n_pairs, n_points))
    by_point = sums.shape[4] > ANSWERS
    for d in range(len(labels)):
        group_of, own_weights = labels[d], weights[d]
        for i in range(len(offsets) - 1):
            if unit[i] < 0 or rows[i] == rows[i + 1]:
                continue
            found = _pairs(
                i, offsets, raters, scores, own_weights, group_of, pair_of, to_voters, counts, far, n, pair, weight,
                apart,
            )  # fmt: skip
            for a in range(rows[i], rows[i + 1]):
                s, share = point[a], part[a]
                for k in range(found):
                    cell = sums[d, unit[i], voice[a], pair[k]]
                    cell[COMPARED] += share
                    cell[WEIGHT] += share * weight[k]
                    if s < 0:
                        continue
                    cell[FARTHER] += share * apart[k, s]
                    if by_point:
                        cell[ANSWERS + s] += share
                        for p in range(n_points):
                            cell[ANSWERS + n_points + p] += share * apart[k, p]


BY_VALUE, BY_AGREEMENT, BY_MATRIX = range(3)
"""How closeness to the other raters is measured: by squared distance of values, agreement, or a matrix of distances."""
MET, WON, BEHIND, SQUARED = range(4)
"""What is summed of a voice and a rater: items, those that the voice wins or ties, W_h − W_m and its square."""
N_CONTEST_SUMS = 4
_TIED = 1e-12  # times the number of raters, where the whole scale is 1


@compiled
def _side(s, own, scores, counts, total, values, cost, how):
    """Return 1 where a point is closer to an item's other raters than a rater's own is, -1 where farther, 0 if tied.

    The sums of squared distances of s and h from the n − 1 others differ by (s − h)((n − 1)(s + h) − 2·Σ others).
    """
    n = len(scores)
    if how == BY_AGREEMENT:
        gap = float((counts[own] - 1) - (counts[s] - (1 if s == own else 0)))
    elif how == BY_VALUE:
        x, h = values[s], values[own]
        gap = (x - h) * ((n - 1) * (x + h) - 2.0 * (total - h))
    else:
        gap = -cost[s, own]
        for r in range(n):
            gap += cost[s, scores[r]] - cost[own, scores[r]]
    if abs(gap) <= _TIED * n:
        return 0
    return -1 if gap > 0 else 1


@compiled
def _meet(a, b, point, part, scores, used, counts, total, values, cost, how, won, behind):
    """Write how answers a … b of one voice do against a rater who gave each of the ``used`` points.

    ``won`` is W_m, ``behind`` W_h − W_m; samples share them. Without an answer a voice loses.
    """
    for own in used:
        won[own] = behind[own] = 0.0
        for k in range(a, b):
            side = -1 if point[k] < 0 else _side(point[k], own, scores, counts, total, values, cost, how)
            won[own] += part[k] if side >= 0 else 0.0
            behind[own] -= part[k] * side


@compiled
def contests(offsets, raters, scores, how, values, cost, rows, voice, point, part, weight, sums, by_item):
    """Let every voice and every rater of an item compete in how close they are to the other raters.

    Added to ``sums``, voices × raters × :data:`N_CONTEST_SUMS`. ``values`` are those of the points, ``cost`` the matrix
    of :data:`BY_MATRIX`. Samples of an item share it, and stand together.

    Or, if ``weight`` is not empty, what each item adds to the mean over raters of the share of items that a voice wins
    is written into ``by_item``, items × voices: Σ over the item's raters of weight · W_m, where ``weight``, voices ×
    raters, is 1/(raters · their items), and 0 for raters who do not count.
    """
    counts = np.zeros(len(values), dtype=np.int64)
    won, behind = np.zeros(len(values)), np.zeros(len(values))
    for i in range(len(offsets) - 1):
        first, last = offsets[i], offsets[i + 1]
        if last - first < 2 or rows[i] == rows[i + 1]:
            continue
        given = scores[first:last]
        used, total = _tally(given, values, counts)
        a = rows[i]
        while a < rows[i + 1]:
            b = a + 1
            while b < rows[i + 1] and voice[b] == voice[a]:
                b += 1
            _meet(a, b, point, part, given, used, counts, total, values, cost, how, won, behind)
            v, added = voice[a], 0.0
            for r in range(first, last):
                own = scores[r]
                if len(weight) > 0:
                    added += weight[v, raters[r]] * won[own]
                    continue
                cell = sums[v, raters[r]]
                cell[MET] += 1.0
                cell[WON] += won[own]
                cell[BEHIND] += behind[own]
                cell[SQUARED] += behind[own] * behind[own]
            if len(weight) > 0:
                by_item[i, v] = added
            a = b
        for own in used:
            counts[own] = 0


@compiled
def _tally(given, values, counts):
    """Count an item's scores, in place, and return the points that were used and the sum of values."""
    used = np.empty(len(given), dtype=np.int64)
    n, total = 0, 0.0
    for score in given:
        if counts[score] == 0:
            used[n] = score
            n += 1
        counts[score] += 1
        total += values[score]
    return used[:n], total


@compiled
def cross_counts(offsets, raters, scores, weights, group_of, rows, voice, point, together, crossed, own, other):
    """Add up what XRR between each voice and each group needs, over the items that both rated.

    ``together`` is, for each answer, how many answers its voice gave to the item. ``crossed`` is voices × groups ×
    points × points, ``own`` and ``other`` voices × groups × points: see ``statistics.cohesion.parts.xrr_parts``.
    """
    n_groups, n_points = crossed.shape[1], crossed.shape[2]
    counts = np.zeros((n_groups, n_points), dtype=weights.dtype)
    for i in range(len(offsets) - 1):
        if rows[i] == rows[i + 1]:
            continue
        _count(i, offsets, raters, scores, weights, False, group_of, counts)
        for a in range(rows[i], rows[i + 1]):
            s, v, r = point[a], voice[a], together[a]
            if s < 0:
                continue
            for g in range(n_groups):
                n = counts[g].sum()
                if n == 0:
                    continue
                own[v, g, s] += 1.0
                for p in range(n_points):
                    crossed[v, g, s, p] += (r + n) / (r * n) * counts[g, p]
                    other[v, g, p] += counts[g, p] / r


@compiled
def met_ratings(offsets, raters, scores, weights, group_of, n_points, rows, voice, point, tables, votes):
    """Add to ``tables``, voices × groups × answers × points, the ratings of each group that an answer of a voice meets.

    ``votes``, voices × groups × answers, counts the answers to items that the group rated.
    """
    n_groups = tables.shape[1]
    counts = np.zeros((n_groups, n_points), dtype=weights.dtype)
    for i in range(len(offsets) - 1):
        if rows[i] == rows[i + 1]:
            continue
        _count(i, offsets, raters, scores, weights, False, group_of, counts)
        for g in range(n_groups):
            if counts[g].sum() == 0:
                continue
            for a in range(rows[i], rows[i + 1]):
                v, s = voice[a], point[a]
                votes[v, g, s] += 1
                for p in range(n_points):
                    tables[v, g, s, p] += counts[g, p]
