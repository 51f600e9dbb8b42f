# mypy: disable-error-code="no-untyped-def"
"""Groups beside the others who rated the same items, and squares of sums for components of variance, in one pass.

Scores are numbers here. For each item i the pass adds up how many ratings n_g each group gave and their sum s_g, n and
s being those of all groups. Two groups' numbers of one item never meet in a product, so an item adds a few numbers to
each group's row, in the order of the names below, and three to those of all items.

Where raters are shuffled most of it stays: what a group adds to ``GAP`` and ``BALANCE`` is a sum over its raters, of
numbers that no shuffle changes (:func:`add_totals`). Only squares of counts need a pass (:func:`add_squares`), unless
raters who are exchanged rated the same items.

Every sum runs in the order of the items, each draw apart from all others, so that neither threads nor batches change a
bit of the result.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled
from plurivox.kernels.shuffling import TOGETHER, mixed, place_in

# Of each group: Σ n_g, Σ s_g, Σ x², Σ s_g − n_g·s/n, Σ n_g·(n − n_g)/n, the sum over pairs of a rater of the group and
# another of ½, 0 or −½ as the first gave more, the same or less, Σ n_g·(n − n_g), Σ n_g², items it rated, Σ s_g²/n_g,
# and items that others rated, too …
RATINGS, TOTAL, SQUARES, GAP, WEIGHT, BALANCE, PAIRS, COUNTS, CELLS, CELL_SQUARES, SHARED = range(11)
N_SUMS = 11
# … of all items: how many were rated, Σ s²/n, Σ n² …
ITEMS, ITEM_SQUARES, ITEM_COUNTS = range(3)
N_ITEM_SUMS = 3
# … and of each rater, over the items that they rated: ratings, their sum, Σ x − s/n, the balance against all others,
# Σ n.
OWN_RATINGS, OWN_TOTAL, OWN_GAP, OWN_BALANCE, OWN_COUNTS = range(5)
N_TOTALS = 5


@compiled
def _below(score, other):
    """Return 1, ½ or 0 as a score lies below another, is the same, or lies above."""
    return 1.0 if score < other else 0.5 if score == other else 0.0


@compiled
def _fill_places(start, stop, raters, scores, group_of, weights, place):
    """Fill how many ratings of an item lie below each point of the scale, half of those on it included."""
    place[:] = 0.0
    for k in range(start, stop):
        rater = raters[k]
        if group_of[rater] >= 0:
            place[scores[k]] += weights[rater] if len(weights) > 0 else 1.0
    below = 0.0
    for c in range(len(place)):
        own = place[c]
        place[c] = below + 0.5 * own
        below += own


@compiled
def _place_among(start, stop, raters, scores, group_of, weights, k):
    """Return the same for the point of one rating, by looking at all others: for scales of very many points."""
    below = 0.0
    for j in range(start, stop):
        rater = raters[j]
        if group_of[rater] >= 0:
            below += (weights[rater] if len(weights) > 0 else 1.0) * _below(scores[j], scores[k])
    return below


@compiled
def _gather(start, stop, raters, scores, values, group_of, weights, own, met, place):
    """Fill the groups that rated an item: ratings, their sum, that of squares and of places; empty weights mean 1.

    Return how many groups there are, and ratings and their sum over all of them.
    """
    n_met, n, s = 0, 0.0, 0.0
    few = (stop - start) ** 2 < len(place)
    if not few:
        _fill_places(start, stop, raters, scores, group_of, weights, place)
    for k in range(start, stop):
        rater = raters[k]
        g = group_of[rater]
        w = weights[rater] if len(weights) > 0 else 1.0
        if g < 0 or w == 0.0:
            continue
        if own[g, 0] == 0.0:
            met[n_met] = g
            n_met += 1
        x = values[scores[k]]
        below = _place_among(start, stop, raters, scores, group_of, weights, k) if few else place[scores[k]]
        own[g, 0] += w
        own[g, 1] += w * x
        own[g, 2] += w * x * x
        own[g, 3] += w * below
        n += w
        s += w * x
    return n_met, n, s


@compiled
def _add_group(row, times, n_g, s_g, squares, places, n, s):
    """Add what an item adds to the sums of one group, so many times."""
    if n_g == 0.0:
        return
    row[RATINGS] += times * n_g
    row[TOTAL] += times * s_g
    row[SQUARES] += times * squares
    row[COUNTS] += times * n_g * n_g
    row[CELLS] += times
    row[CELL_SQUARES] += times * s_g * s_g / n_g
    if n > n_g:
        row[GAP] += times * (s_g - n_g * s / n)
        row[WEIGHT] += times * n_g * (n - n_g) / n
        row[BALANCE] += times * (places - 0.5 * n_g * n)
        row[PAIRS] += times * n_g * (n - n_g)
        row[SHARED] += times


@compiled
def _add_all(row, times, n, s):
    """Add what an item adds to the sums of all items, so many times."""
    if n > 0.0:
        row[ITEMS] += times
        row[ITEM_SQUARES] += times * s * s / n
        row[ITEM_COUNTS] += times * n * n


@compiled
def add_items(
    offsets, raters, scores, values, group_of, rater_weights, item_weights, units, first, sums, items, totals
):
    """Fill ``sums[d]`` and ``items[d]`` under the weights of draw d, and what raters gave if ``totals`` has room.

    Where ``units`` has a unit for each item, draw d is the items of unit ``first + d`` alone.
    """
    n_groups = sums.shape[1]
    own, met, place = np.zeros((n_groups, 4)), np.zeros(n_groups, np.int64), np.zeros(len(values))
    by_unit = len(units) > 0
    for draw in range(1 if by_unit else len(sums)):
        weights = rater_weights[draw]
        for i in range(len(offsets) - 1):
            d, times = units[i] - first if by_unit else draw, 1.0
            if d < 0 or d >= len(sums):
                continue
            if item_weights.shape[1] > 0:
                times = np.float64(item_weights[d, i])
                if times == 0.0:
                    continue
            start, stop = offsets[i], offsets[i + 1]
            n_met, n, s = _gather(start, stop, raters, scores, values, group_of, weights, own, met, place)
            for j in range(n_met):
                g = met[j]
                _add_group(sums[d, g], times, own[g, 0], own[g, 1], own[g, 2], own[g, 3], n, s)
                own[g] = 0.0
            _add_all(items[d], times, n, s)
            if totals.shape[1] > 0:
                for k in range(start, stop):
                    rater = raters[k]
                    if group_of[rater] >= 0:
                        w = times * weights[rater] if len(weights) > 0 else times
                        totals[d, rater, 0] += w
                        totals[d, rater, 1] += w * values[scores[k]]


@compiled
def add_without(  # noqa: C901
    offsets, raters, scores, values, group_of, unit_of, units, first, sums, items, totals,
):  # fmt: skip
    """Add to the sums of draw d what changes without the ratings of unit ``first + d``.

    ``units`` has that of each rating, or is empty, and then ``unit_of`` has that of each rater.

    A unit changes the items that it has ratings of. There its ratings are taken off the sums of their groups, and off
    the places of all others: m ratings of an item cost m², or, where m is large, m times the number of groups.
    """
    n_units, n_groups = len(sums), sums.shape[1]
    own, met, place = np.zeros((n_groups, 4)), np.zeros(n_groups, np.int64), np.zeros(len(values))
    gone, none = np.zeros((n_groups, 4)), np.zeros(0, np.int32)
    head, here = np.full(n_units, -1, np.int64), np.zeros(n_units, np.int64)
    most = np.int64(0)
    for i in range(len(offsets) - 1):
        most = max(most, offsets[i + 1] - offsets[i])
    after = np.zeros(most, np.int64)
    above = np.zeros((n_groups, len(values)))
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        n_here = 0
        for k in range(stop - 1, start - 1, -1):  # backwards, so that each unit's list runs forwards
            unit = units[k] if len(units) > 0 else unit_of[raters[k]]
            d = unit - first
            if unit >= 0 and 0 <= d < n_units and group_of[raters[k]] >= 0:
                if head[d] < 0:
                    here[n_here] = d
                    n_here += 1
                after[k - start] = head[d]
                head[d] = k
        if n_here == 0:
            continue
        n_met, n, s = _gather(start, stop, raters, scores, values, group_of, none, own, met, place)
        by_points = stop - start > 4 * len(values)
        if by_points:
            _fill_above(start, stop, raters, scores, group_of, met[:n_met], above)
        for j in range(n_here):
            d = here[j]
            left, rest = n, s
            k = head[d]
            while k >= 0:
                left, rest = left - 1.0, rest - values[scores[k]]
                _take_off(
                    start, stop, raters, scores, values, group_of, k, head[d], after, met[:n_met], place, by_points,
                    above, gone,
                )  # fmt: skip
                if totals.shape[1] > 0:
                    totals[d, raters[k], 0] -= 1.0
                    totals[d, raters[k], 1] -= values[scores[k]]
                k = after[k - start]
            head[d] = -1
            for at in range(n_met):
                g = met[at]
                one, two = own[g], gone[g]
                _add_group(sums[d, g], -1.0, one[0], one[1], one[2], one[3], n, s)
                _add_group(
                    sums[d, g], 1.0, one[0] - two[0], one[1] - two[1], one[2] - two[2], one[3] - two[3], left, rest
                )
                gone[g] = 0.0
            _add_all(items[d], -1.0, n, s)
            _add_all(items[d], 1.0, left, rest)
        for at in range(n_met):
            own[met[at]] = 0.0


@compiled
def _fill_above(start, stop, raters, scores, group_of, met, above):
    """Fill for each group and point how many ratings of the item lie above it, half of those on it included."""
    for g in met:
        above[g] = 0.0
    for k in range(start, stop):
        g = group_of[raters[k]]
        if g >= 0:
            above[g, scores[k]] += 1.0
    for g in met:
        higher = 0.0
        for c in range(above.shape[1] - 1, -1, -1):
            at = above[g, c]
            above[g, c] = higher + 0.5 * at
            higher += at


@compiled
def _take_off(start, stop, raters, scores, values, group_of, k, first, after, met, place, by_points, above, gone):
    """Add to ``gone`` what groups lose without the rating k: its own sums and place, and places of all above it.

    A place is lost once: of a rating that goes, too, it is not taken off again.
    """
    g, x = group_of[raters[k]], values[scores[k]]
    gone[g, 0] += 1.0
    gone[g, 1] += x
    gone[g, 2] += x * x
    if by_points:
        gone[g, 3] += place[scores[k]]
        for other in met:
            gone[other, 3] += above[other, scores[k]]
    else:
        for j in range(start, stop):
            other = group_of[raters[j]]
            if other >= 0:
                gone[g, 3] += _below(scores[j], scores[k])
                gone[other, 3] += _below(scores[k], scores[j])
    j = first
    while j >= 0:
        gone[group_of[raters[j]], 3] -= _below(scores[k], scores[j])
        j = after[j - start]


@compiled
def add_totals(offsets, raters, scores, values, inside, totals):
    """Add to ``totals[r]`` what rater r gave beside all others of the axis, of whom ``inside`` tells."""
    place, none = np.zeros(len(values)), np.zeros(0, np.int32)
    group_of = np.where(inside, 0, -1).astype(np.int32)
    for i in range(len(offsets) - 1):
        start, stop = offsets[i], offsets[i + 1]
        n, s = 0.0, 0.0
        for k in range(start, stop):
            if inside[raters[k]]:
                n += 1.0
                s += values[scores[k]]
        if n == 0.0:
            continue
        few = (stop - start) ** 2 < len(values)
        if not few:
            _fill_places(start, stop, raters, scores, group_of, none, place)
        for k in range(start, stop):
            rater = raters[k]
            if inside[rater]:
                below = _place_among(start, stop, raters, scores, group_of, none, k) if few else place[scores[k]]
                row = totals[rater]
                row[OWN_RATINGS] += 1.0
                row[OWN_TOTAL] += values[scores[k]]
                row[OWN_GAP] += values[scores[k]] - s / n
                row[OWN_BALANCE] += below - 0.5 * n
                row[OWN_COUNTS] += n


# Exposure -------------------------------------------------------------------------------------------------------------
#
# Which items groups saw, under permutations of the raters; and which raters saw nearly the same items as another.


LARGEST_TABLE = 1 << 22
"""Raters × groups × 16 up to which what a rater adds is a row; a larger table would be fetched from memory again."""


@compiled
def add_squares(offsets, raters, labels, words, places, kind, squares):
    """Add to ``squares[d, g]`` Σ n_g²/n and Σ n_g² where rater r is in group ``labels[d, r]``, -1 outside the axis.

    No permutation moves a rater into the axis or out of it. A few permutations walk over the items together: what a
    rater adds to the counts of all groups under all of them is one row of zeros and ones, so that an item adds up rows.
    Of many raters ``words`` or, where there are more groups than these can hold, ``places`` tell where the ones are;
    the other is empty.
    ``kind`` is an array of the type that counts have; no item has more ratings than it can hold.
    """
    n_draws, n_groups, _ = squares.shape
    wide = n_groups * TOGETHER
    by_word, by_place = words.shape[1] > 0, places.shape[1] > 0
    by_row = not by_word and not by_place
    ones = np.zeros((labels.shape[1] if by_row else 0, wide), kind.dtype)
    counts, parts, whole = np.zeros(wide + TOGETHER, kind.dtype), np.zeros(wide), np.zeros(wide)
    outside = np.uint64(n_groups)
    for first in range(0, n_draws, TOGETHER):
        together = min(TOGETHER, n_draws - first)
        own = places[first // TOGETHER if by_place else 0]
        packed = words[first // TOGETHER if by_word else 0]
        if by_row:
            _fill_ones(ones, labels[first : first + together])
        parts[:] = 0.0
        whole[:] = 0.0
        for i in range(len(offsets) - 1):
            n = 0
            for k in range(offsets[i], offsets[i + 1]):
                rater = np.uint64(raters[k])
                if by_word:
                    word = packed[rater]
                    n += (word & np.uint64(15)) != outside
                    if together == TOGETHER:
                        _add_word(counts, word)
                    else:
                        for p in range(together):
                            counts[place_in(word, p)] += 1
                    continue
                n += labels[0, rater] >= 0
                if by_row:
                    _add_row(counts[:wide], ones[rater])
                else:
                    _add_places(counts, own[rater])
            if n > 0:
                _add_counts(counts[:wide], 1.0 / n, parts, whole)
        for p in range(together):
            for g in range(n_groups):
                squares[first + p, g, 0] += parts[g * TOGETHER + p]
                squares[first + p, g, 1] += whole[g * TOGETHER + p]


@compiled
def _fill_ones(ones, labels):
    """Write for each rater the row of zeros and ones that each of their ratings adds."""
    ones[:] = 0
    for r in range(len(ones)):
        for p in range(len(labels)):
            if labels[p, r] >= 0:
                ones[r, labels[p, r] * TOGETHER + p] = 1


@compiled
def _add_word(counts, word):
    """Count a rating under all permutations; a loop whose end is known is unrolled."""
    for p in range(TOGETHER):
        counts[place_in(word, p)] += 1


@compiled
def _add_places(counts, places):
    for p in range(TOGETHER):
        counts[np.uint64(places[p])] += 1


@compiled
def _add_row(counts, row):
    for j in range(len(counts)):
        counts[j] += row[j]


@compiled
def _add_counts(counts, share, parts, whole):
    """Add the squares of an item's counts, and start again."""
    for j in range(len(counts)):
        own = np.float64(counts[j])
        square = own * own
        whole[j] += square
        parts[j] += square * share
        counts[j] = 0


@compiled
def add_labelled(labels, totals, sums):
    """Add to ``sums[d, g]`` the totals of the raters whom ``labels[d]`` puts into group g."""
    for d in range(len(labels)):
        for r in range(len(totals)):
            g = labels[d, r]
            if g >= 0:
                sums[d, g] += totals[r]


@compiled
def add_signs(first_item, offsets, raters, signs):
    """Add a word for each item to the sign of every rater who rated it: the same items, the same sign."""
    for i in range(len(offsets) - 1):
        word = mixed((np.uint64(first_item + i) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
        for k in range(offsets[i], offsets[i + 1]):
            signs[raters[k]] += word


@compiled
def alone(offsets, raters, twins, alike, most, budget):  # noqa: C901
    """Count raters who share so much with nobody: of two sets of items, the shared ones beside those of either.

    Raters of whom ``twins`` says that another saw the same items are not looked at. It stops as soon as there are more
    than ``most``; and with -1 where that takes more than ``budget`` steps.
    """
    n_raters = len(twins)
    sizes = np.zeros(n_raters, np.int32)
    for rater in raters:
        sizes[rater] += 1
    starts = np.zeros(n_raters + 1, np.int64)
    starts[1:] = np.cumsum(sizes)
    items, free = np.zeros(len(raters), np.int32), starts.copy()
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            items[free[raters[k]]] = i
            free[raters[k]] += 1
    shared, met = np.zeros(n_raters, np.int32), np.zeros(n_raters, np.int32)
    found = 0
    for rater in range(n_raters):
        if twins[rater] or sizes[rater] == 0:
            continue
        n_met, partner = 0, False
        for at in range(starts[rater], starts[rater + 1]):
            i = items[at]
            budget -= offsets[i + 1] - offsets[i]
            for k in range(offsets[i], offsets[i + 1]):
                if shared[raters[k]] == 0:
                    met[n_met] = raters[k]
                    n_met += 1
                shared[raters[k]] += 1
        for j in range(n_met):
            other = met[j]
            if other != rater and shared[other] >= alike * (sizes[rater] + sizes[other] - shared[other]):
                partner = True
            shared[other] = 0
        found += not partner
        if found > most:
            return found
        if budget < 0:
            return -1
    return found
