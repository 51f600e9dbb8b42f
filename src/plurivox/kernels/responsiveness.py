# mypy: disable-error-code="no-untyped-def, assignment"
"""Scores against a reference: tables of score × reference point, whose metrics :mod:`plurivox.kernels.metrics` has.

An evaluated group has one score per item, its vote, shared where points tie. Item *i* adds the vote times the item's
reference ratings to the group's table, ``table[s, t]`` = how many reference ratings of point t met score s. Ratings of
the reference by raters of the evaluated group do not count.

Sums run in the order of the items, and one draw is made by one thread, so neither threads nor batches change a bit.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.kernels import compiled
from plurivox.kernels.metrics import N_VALUES, macro, make_work
from plurivox.kernels.shuffling import permute

PLURALITY, MEDIAN, MEAN = range(3)
FEW_GROUPS = 64


class ItemRatings(NamedTuple):
    """Ratings sorted by item: those of item i are entries ``offsets[i]`` to ``offsets[i + 1]``."""

    offsets: NDArray[np.int64]
    raters: NDArray[np.int32]
    scores: NDArray[Any]


class Against(NamedTuple):
    """Reference ratings, sorted by item as well.

    ``raters`` are codes among the evaluated raters, -1 for those who are not among them; ``totals``, items × points,
    counts them all; ``shared`` tells whether any rater is among the evaluated, and ``same`` whether the reference is
    the evaluated ratings themselves.
    """

    offsets: NDArray[np.int64]
    raters: NDArray[np.int32]
    scores: NDArray[np.int64]
    totals: NDArray[np.int64]
    shared: bool
    same: bool


class Voting(NamedTuple):
    """How a group's ratings of an item become its vote.

    ``numbers`` are the values of the points, for the mean; non-empty ``ranks``, items × points, give a tied vote to the
    point of the highest rank.
    """

    how: int
    numbers: NDArray[np.float64]
    ranks: NDArray[np.int32]


class Scratch(NamedTuple):
    """Room for one item: counts by group, which groups were met, and its entries.

    An entry is a group and a point with its share of the group's vote and the reference ratings that it meets.
    """

    counts: NDArray[np.int32]
    own: NDArray[np.int64]
    total: NDArray[np.int64]
    seen: NDArray[np.bool_]
    met: NDArray[np.int64]
    share: NDArray[np.float64]
    places: NDArray[np.int32]
    shares: NDArray[np.float64]
    references: NDArray[np.int64]


@compiled
def _scratch(n_groups, n_points, n_reference):
    """Return room for an item; the group after the last one is "outside the axis"."""
    most = n_groups * n_points
    return Scratch(
        np.zeros((n_groups + 1, n_points), np.int32),
        np.zeros((n_groups + 1, n_reference), np.int64),
        np.zeros(n_reference, np.int64),
        np.zeros(n_groups + 1, np.bool_),
        np.zeros(n_groups + 1, np.int64),
        np.zeros(n_points, np.float64),
        np.zeros((most, 2), np.int32),
        np.zeros(most, np.float64),
        np.zeros((most, n_reference), np.int64),
    )


@compiled
def _vote(counts, voting, i, slack, reach, share):
    """Fill ``share`` with the vote on item ``i``: 1 on a point, or shared by the points that tie.

    Counts that differ by up to ``slack`` of all are tied, and points whose distances from the mean differ by up to
    ``reach`` of the scale; weights that are not whole numbers leave rounding errors.
    """
    n_points, total = len(counts), counts.sum()
    slack = slack * total
    if voting.how == PLURALITY:
        top = counts.max() - slack
        for c in range(n_points):
            share[c] = 1.0 if counts[c] >= top else 0.0
    elif voting.how == MEDIAN:  # the middle rating, or the middle two
        below = 0.0
        for c in range(n_points):
            upto = below + counts[c]
            middle = 2 * upto >= total - slack and 2 * below <= total + slack
            share[c] = 1.0 if counts[c] > slack and middle else 0.0
            below = upto
    else:  # the point nearest to the mean
        numbers = voting.numbers
        mean = 0.0
        for c in range(n_points):
            mean += counts[c] * numbers[c]
        mean /= total
        nearest = np.inf
        for c in range(n_points):
            nearest = min(nearest, abs(numbers[c] - mean))
        nearest += reach * (numbers[n_points - 1] - numbers[0])
        for c in range(n_points):
            share[c] = 1.0 if abs(numbers[c] - mean) <= nearest else 0.0
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
def _count(given, i, group_of, weights, room):
    """Count the ratings of an item by group and point, list the groups met, and return their number."""
    counts, raters, scores = room.counts, given.raters, given.scores
    n_groups, n_points = len(counts) - 1, counts.shape[1]
    start, stop = given.offsets[i], given.offsets[i + 1]
    if len(weights) == 0:
        for k in range(start, stop):
            counts[np.uint64(group_of[np.uint64(raters[k])]), np.uint64(scores[k])] += np.int32(1)
    else:
        for k in range(start, stop):
            rater = np.uint64(raters[k])
            counts[np.uint64(group_of[rater]), np.uint64(scores[k])] += weights[rater]
    n_met = 0
    if n_groups <= FEW_GROUPS:
        for g in range(n_groups):
            size = 0
            for c in range(n_points):
                size += counts[g, c]
            room.met[n_met] = g
            n_met += size > 0
        counts[n_groups] = 0
        return n_met
    for k in range(start, stop):  # few of many groups rated the item
        g = np.int64(group_of[raters[k]])
        if not room.seen[g] and g != n_groups and counts[g].sum() > 0:
            room.seen[g] = True
            room.met[n_met] = g
            n_met += 1
    for j in range(n_met):
        room.seen[room.met[j]] = False
    counts[n_groups] = 0
    return n_met


@compiled
def _count_reference(reference, i, group_of, weights, room):
    """Count an item's reference ratings, in total and by the raters of each group."""
    outside = len(room.own) - 1
    weighted = len(weights) > 0
    for t in range(len(room.total)):
        room.total[t] = 0 if weighted else reference.totals[i, t]
    if not reference.shared or (reference.same and not weighted):
        if weighted:
            room.total[:] = reference.totals[i]
        return
    for k in range(reference.offsets[i], reference.offsets[i + 1]):
        rater, t = reference.raters[k], reference.scores[k]
        g = outside if rater < 0 else group_of[rater]
        weight = weights[rater] if weighted and g != outside else 1
        if weighted:
            room.total[t] += weight
        if g != outside:
            room.own[g, t] += weight


@compiled
def _forget_reference(reference, i, group_of, room):
    for k in range(reference.offsets[i], reference.offsets[i + 1]):
        if reference.raters[k] >= 0:
            room.own[group_of[reference.raters[k]], reference.scores[k]] = 0


@compiled
def _item_entries(given, reference, voting, i, group_of, weights, room):
    """Write the votes of all groups on item ``i`` into ``room`` and return how many entries there are.

    Empty ``weights``, one per rater, mean 1. A plurality whose tied points share is found right here, since handing
    rows of arrays to other functions takes longer than the work.
    """
    if reference.offsets[i] == reference.offsets[i + 1]:
        return 0
    _count_reference(reference, i, group_of, weights, room)
    n_met = _count(given, i, group_of, weights, room)
    counts, own, share, total = room.counts, room.own, room.share, room.total
    places, shares, references = room.places, room.shares, room.references
    same = reference.same and len(weights) == 0
    plain = voting.how == PLURALITY and len(voting.ranks) == 0
    n_points, n_reference = len(share), len(total)
    n = 0
    for j in range(n_met):
        g = np.uint64(room.met[j])
        if plain:
            top, tied = counts[g, 0], 1
            for c in range(1, n_points):
                count = counts[g, c]
                tied = 1 if count > top else tied + (count == top)
                top = max(top, count)
            part = 1.0 / tied
            for s in range(n_points):
                share[s] = part if counts[g, s] == top else 0.0
        else:
            _vote(counts[g], voting, i, 0.0, 1e-12, share)
        for s in range(n_points):
            if share[s] > 0:
                places[n, 0] = g
                places[n, 1] = s
                shares[n] = share[s]
                for t in range(n_reference):
                    references[n, t] = total[t] - (counts[g, t] if same else own[g, t])
                n += 1
        for s in range(n_points):
            counts[g, s] = 0
    if reference.shared and not same:
        _forget_reference(reference, i, group_of, room)
    return n


@compiled
def _add_entries(places, shares, references, start, stop, times, tables):
    """Add entries to the tables of their groups."""
    for e in range(start, stop):
        weight = times * shares[e]
        g, s = places[e, 0], places[e, 1]
        for t in range(references.shape[1]):
            tables[g, s, t] += weight * references[e, t]


@compiled
def _fill_tables(given, reference, voting, group_of, rater_weights, item_weights, room, tables):
    """Add to the tables of all groups, which are 0; empty weights mean 1."""
    for i in range(len(given.offsets) - 1):
        times = item_weights[i] if len(item_weights) > 0 else 1
        if times > 0:
            n = _item_entries(given, reference, voting, i, group_of, rater_weights, room)
            _add_entries(room.places, room.shares, room.references, 0, n, times, tables)


@compiled
def permuted_tables(given, reference, voting, group_of, everyone, bounds, seed, first, tables):
    """Fill ``tables[p]``, which are 0, under permutation number ``first + p``."""
    room = _scratch(*tables.shape[1:])
    permuted = group_of.copy()
    none = np.zeros(0, np.int32)
    for p in range(len(tables)):
        permute(group_of, everyone, bounds, seed, first + p, permuted)
        _fill_tables(given, reference, voting, permuted, none, none, room, tables[p])


@compiled
def weighted_tables(given, reference, voting, group_of, rater_weights, item_weights, tables):
    """Fill ``tables[d]``, which are 0, under the weights of draw ``d``, in which the groups' votes change."""
    room = _scratch(*tables.shape[1:])
    for d in range(len(tables)):
        _fill_tables(given, reference, voting, group_of, rater_weights[d], item_weights[d], room, tables[d])


@compiled
def write_entries(given, reference, voting, group_of, n_groups, entry_offsets, places, shares, references):
    """Write down every vote, item by item, and return how many there are; empty ``shares`` only count them."""
    n_reference = references.shape[1]
    room = _scratch(n_groups, len(voting.numbers), n_reference)
    none = np.zeros(0, np.int32)
    written = 0
    for i in range(len(given.offsets) - 1):
        n = _item_entries(given, reference, voting, i, group_of, none, room)
        if len(shares) > 0:
            places[written : written + n] = room.places[:n]
            shares[written : written + n] = room.shares[:n]
            references[written : written + n] = room.references[:n]
        written += n
        entry_offsets[i + 1] = written
    return written


@compiled
def resampled_tables(entry_offsets, places, shares, references, item_weights, tables):
    """Fill ``tables[d]``, which are 0, with items weighted as in draw ``d``: nothing is counted anew."""
    for d in range(len(tables)):
        own = tables[d]
        for i in range(len(entry_offsets) - 1):
            times = item_weights[d, i]
            if times > 0:
                _add_entries(places, shares, references, entry_offsets[i], entry_offsets[i + 1], times, own)


@compiled
def _add_rater(items, scores, references, weights, start, stop, table):
    """Fill one rater's table from their scores and the reference ratings that each of them meets."""
    n_points, n_reference = table.shape
    for s in range(n_points):
        for t in range(n_reference):
            table[s, t] = 0.0
    for k in range(start, stop):
        times = np.float64(weights[np.uint64(items[k])]) if len(weights) > 0 else 1.0
        if times == 0:
            continue
        s = np.uint64(scores[k])
        for t in range(n_reference):
            table[s, t] += times * references[k, t]


@compiled
def rater_tables(bounds, items, scores, references, tables):
    """Fill the table of each rater, whose scores are entries ``bounds[r]`` to ``bounds[r + 1]``."""
    weights = np.zeros(0, np.uint8)
    for r in range(len(bounds) - 1):
        _add_rater(items, scores, references, weights, bounds[r], bounds[r + 1], tables[r])


@compiled
def rater_draws(bounds, items, scores, references, weights, first, at, n_points, capped, values):
    """Fill ``values[r, :, at + d]`` of rater ``first + r`` with items weighted as in ``weights[d]``."""
    table = np.zeros((n_points, references.shape[1]))
    work = make_work(n_points)
    for d in range(len(weights)):
        own_weights = weights[d]
        for r in range(len(values)):
            _add_rater(items, scores, references, own_weights, bounds[first + r], bounds[first + r + 1], table)
            found = macro(table, capped, work)
            for m in range(N_VALUES):
                values[r, m, at + d] = found[m]


# Weighted responsiveness ----------------------------------------------------------------------------------------------
#
# Scores against a reference where raters have weights: what :mod:`plurivox.kernels.responsiveness` does, in sums of
# w.
#
# A group's vote is made of weighted counts, and a reference rating counts as often as its rater's weight. Points
# whose weights differ by no more than rounding are tied. Each draw has its own groups and weights, since a shuffle
# moves both.


_TIED = 1e-9  # of all weight: what differs by less is equal


@compiled
def _weighted_item(given, reference, reference_weights, voting, i, group_of, weights, room):
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
        if counts[g].sum() > 0:
            _vote(counts[g], voting, i, _TIED, _TIED, share)
            for s in range(n_points):
                if share[s] > 0:
                    places[n, 0], places[n, 1], shares[n] = g, s, share[s]
                    for t in range(len(total)):
                        left = total[t] - own[g, t]
                        references[n, t] = left if left > slack else 0.0
                    n += 1
    return n


@compiled
def _weighted_room(n_groups, n_points, n_reference):
    """Return room for an item; the group after the last one is "outside the axis"."""
    most = n_groups * n_points
    return (
        np.zeros((n_groups + 1, n_points)), np.zeros((n_groups + 1, n_reference)), np.zeros(n_reference),
        np.zeros(n_points), np.zeros((most, 2), np.int32), np.zeros(most), np.zeros((most, n_reference)),
    )  # fmt: skip


@compiled
def weighed_tables(given, reference, reference_weights, voting, labels, weights, item_weights, tables):
    """Fill ``tables[d]``, which are 0, with the groups ``labels[d]`` and the weights ``weights[d]`` of all raters."""
    room = _weighted_room(*tables.shape[1:])
    for d in range(len(tables)):
        for i in range(len(given.offsets) - 1):
            times = item_weights[d, i] if item_weights.shape[1] > 0 else 1
            if times > 0:
                n = _weighted_item(given, reference, reference_weights, voting, i, labels[d], weights[d], room)
                _add_entries(room[4], room[5], room[6], 0, n, times, tables[d])


@compiled
def write_weighed(
    given, reference, reference_weights, voting, group_of, weights, n_groups, entry_offsets, places, shares, references
):
    """Write down every vote, item by item, and return how many there are; empty ``shares`` only count them."""
    room = _weighted_room(n_groups, len(voting.numbers), references.shape[1])
    written = 0
    for i in range(len(given.offsets) - 1):
        n = _weighted_item(given, reference, reference_weights, voting, i, group_of, weights, room)
        if len(shares) > 0:
            places[written : written + n] = room[4][:n]
            shares[written : written + n] = room[5][:n]
            references[written : written + n] = room[6][:n]
        written += n
        entry_offsets[i + 1] = written
    return written
