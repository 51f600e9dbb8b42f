# mypy: disable-error-code="no-untyped-def"
"""Scores against a reference where raters have weights: what :mod:`plurivox.kernels.responsiveness` does, in sums of w.

A group's vote is made of weighted counts, and a reference rating counts as often as its rater's weight. Points whose
weights differ by no more than rounding are tied. Each draw has its own groups and weights, since a shuffle moves both.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled
from plurivox.kernels.responsiveness import MEDIAN, PLURALITY, _add_entries

_TIED = 1e-9  # of all weight: what differs by less is equal


@compiled
def _vote(counts, total, voting, i, share):
    """Fill ``share`` with the vote on item ``i`` of a group whose weights on the points are counts."""
    n_points, slack = len(counts), _TIED * total
    if voting.how == PLURALITY:
        top = counts.max()
        for c in range(n_points):
            share[c] = 1.0 if counts[c] >= top - slack else 0.0
    elif voting.how == MEDIAN:
        below = 0.0
        for c in range(n_points):
            upto = below + counts[c]
            middle = 2 * upto >= total - slack and 2 * below <= total + slack
            share[c] = 1.0 if counts[c] > slack and middle else 0.0
            below = upto
    else:
        mean = (counts * voting.numbers).sum() / total
        apart = np.abs(voting.numbers - mean)
        reach = apart.min() + _TIED * (voting.numbers[n_points - 1] - voting.numbers[0])
        for c in range(n_points):
            share[c] = 1.0 if apart[c] <= reach else 0.0
    n_tied = share.sum()
    if n_tied > 1 and len(voting.ranks) == 0:
        share /= n_tied
    elif n_tied > 1:
        chosen = -1
        for c in range(n_points):
            if share[c] > 0 and (chosen < 0 or voting.ranks[i, c] > voting.ranks[i, chosen]):
                chosen = c
        share[:] = 0.0
        share[chosen] = 1.0


@compiled
def _item(given, reference, reference_weights, voting, i, group_of, weights, room):
    """Write the votes of all groups on item ``i`` as entries into ``room`` and return how many there are."""
    counts, own, total, share, places, shares, references = room
    n_groups, n_points = len(counts) - 1, counts.shape[1]
    first, last = reference.offsets[i], reference.offsets[i + 1]
    if first == last:
        return 0
    counts[:], own[:], total[:] = 0.0, 0.0, 0.0
    for k in range(given.offsets[i], given.offsets[i + 1]):
        rater = given.raters[k]
        counts[np.int64(group_of[rater]), given.scores[k]] += weights[rater]
    for k in range(first, last):
        rater, t = reference.raters[k], reference.scores[k]
        g = n_groups if rater < 0 else np.int64(group_of[rater])
        weight = reference_weights[k] if g == n_groups else weights[rater]
        total[t] += weight
        own[g, t] += 0.0 if g == n_groups else weight
    slack, n = _TIED * total.sum(), 0
    for g in range(n_groups):
        size = counts[g].sum()
        if size > 0:
            _vote(counts[g], size, voting, i, share)
            for s in range(n_points):
                if share[s] > 0:
                    places[n, 0], places[n, 1], shares[n] = g, s, share[s]
                    for t in range(len(total)):
                        left = total[t] - own[g, t]
                        references[n, t] = left if left > slack else 0.0
                    n += 1
    return n


@compiled
def _room(n_groups, n_points, n_reference):
    """Return room for an item; the group after the last one is "outside the axis"."""
    most = n_groups * n_points
    return (
        np.zeros((n_groups + 1, n_points)), np.zeros((n_groups + 1, n_reference)), np.zeros(n_reference),
        np.zeros(n_points), np.zeros((most, 2), np.int32), np.zeros(most), np.zeros((most, n_reference)),
    )  # fmt: skip


@compiled
def weighed_tables(given, reference, reference_weights, voting, labels, weights, item_weights, tables):
    """Fill ``tables[d]``, which are 0, with the groups ``labels[d]`` and the weights ``weights[d]`` of all raters."""
    room = _room(*tables.shape[1:])
    for d in range(len(tables)):
        for i in range(len(given.offsets) - 1):
            times = item_weights[d, i] if item_weights.shape[1] > 0 else 1
            if times > 0:
                n = _item(given, reference, reference_weights, voting, i, labels[d], weights[d], room)
                _add_entries(room[4], room[5], room[6], 0, n, times, tables[d])


@compiled
def write_weighed(
    given, reference, reference_weights, voting, group_of, weights, n_groups, entry_offsets, places, shares, references
):
    """Write down every vote, item by item, and return how many there are; empty ``shares`` only count them."""
    room = _room(n_groups, len(voting.numbers), references.shape[1])
    written = 0
    for i in range(len(given.offsets) - 1):
        n = _item(given, reference, reference_weights, voting, i, group_of, weights, room)
        if len(shares) > 0:
            places[written : written + n] = room[4][:n]
            shares[written : written + n] = room[5][:n]
            references[written : written + n] = room[6][:n]
        written += n
        entry_offsets[i + 1] = written
    return written
