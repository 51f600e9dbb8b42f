# mypy: disable-error-code="no-untyped-def"
"""Which items groups saw, under permutations of the raters; and which raters saw nearly the same items as another."""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled
from plurivox.kernels.shuffling import TOGETHER, mixed, place_in

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
