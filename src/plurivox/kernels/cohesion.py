# mypy: disable-error-code="no-untyped-def, assignment"
"""All cohesion parts of all groups of an axis, in one pass over the ratings.

For each item the pass counts how many raters of each group gave each point, and from these counts adds to every
group's sums what the statistics need: of the group alone, and of the group against its rest, the other raters of the
axis. Logarithms and quotients of counts come from tables, since counts are small.

One permutation of the raters is one such pass, and so is one draw of a bootstrap, which weighs items and raters: a
rater of weight 2 counts twice but never pairs with themselves. Passes are spread over threads, each one computed by a
single thread in the order of the items, so that neither threads nor batches change a bit of the result.

Longer than other modules, since there are two such passes: one for any scale and weights, and a faster one for short
scales without weights, which most permutations take.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.kernels import compiled

# Where each sum stands in ``sums`` …
PAIRABLE, COINCIDENT, SELF_PAIRS, RATED, PLURALITY, ENTROPY, SHARED, CROSSED, CROSS_ENTROPY, SAME_VOTE = range(10)
N_SUMS = 10
# … each vector with one entry per point in ``vectors``, and each points × points matrix in ``matrices``.
MARGINALS, OWN, REST, OWN_VOTES, REST_VOTES = range(5)
COINCIDENCES, CROSSINGS = range(2)
FEW_GROUPS = 64


class CountTables(NamedTuple):
    """Functions of a count n: 1/n, ln n and n ln n."""

    inverse: NDArray[np.float64]
    log: NDArray[np.float64]
    n_log_n: NDArray[np.float64]


def make_tables(most: int, n_points: int) -> CountTables:
    """Return the tables for items of at most ``most`` ratings on a scale of ``n_points``."""
    n = np.arange(2 * most + n_points + 2, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        log = np.log(n)
        return CountTables(1.0 / n, log, np.where(n > 0, n * log, 0.0))


@compiled
def _count(raters, scores, group_of, start, stop, counts, sizes, met, total):
    """Count one item's ratings by group and point, and in total without the last group, which is outside the axis.

    List the groups met with their sizes, and return how many there are.
    """
    for k in range(start, stop):
        counts[np.uint64(group_of[np.uint64(raters[k])]), np.uint64(scores[k])] += np.int32(1)
    n_groups, n_points = counts.shape
    n_met = 0
    if n_groups <= FEW_GROUPS:
        for g in range(n_groups - 1):
            size = np.int32(0)
            for c in range(n_points):
                size += counts[g, c]
                total[c] += counts[g, c]
            sizes[g] = size
            met[n_met] = np.uint64(g)
            n_met += size > 0
        for c in range(n_points):
            counts[n_groups - 1, c] = 0
        return n_met
    for k in range(start, stop):  # few of many groups rated the item
        g = np.uint64(group_of[np.uint64(raters[k])])
        if sizes[g] == 0:
            met[n_met] = g
            n_met += 1
        sizes[g] += np.int32(1)
    _add_up(counts, met, n_met, total)
    return n_met


@compiled
def _add_up(counts, met, n_met, total):
    """Add up the counts of all groups met but the last of all."""
    outside = np.uint64(len(counts) - 1)
    for j in range(n_met):
        if met[j] != outside:
            for c in range(len(total)):
                total[c] += counts[met[j], c]


@compiled
def _count_weighted(raters, scores, group_of, weights, start, stop, counts, sizes, squares, met, total):
    """Count as :func:`_count` does, each rater as often as their weight."""
    n_met = 0
    for k in range(start, stop):
        rater = np.uint64(raters[k])
        weight = weights[rater]
        if weight == 0:
            continue
        group = np.uint64(group_of[rater])
        counts[group, np.uint64(scores[k])] += weight
        if sizes[group] == 0:
            met[n_met] = group
            n_met += 1
        sizes[group] += weight
        squares[group] += weight * weight
    _add_up(counts, met, n_met, total)
    return n_met


@compiled
def _add_items(  # noqa: C901
    offsets, raters, scores, group_of, rater_weights, item_weights, inverse, log, n_log_n, published, ranks,
    sums, vectors, matrices,
):  # fmt: skip
    """Add all items to the groups' sums; the group after the last one is "outside the axis".

    One long loop on purpose: it runs for every item, group and permutation, and handing rows of arrays to smaller
    functions takes several times as long as the work itself. Empty weights mean 1, empty ``ranks`` that tied points
    share a vote, empty ``matrices`` that none are wanted.
    """
    n_groups, _, n_points = vectors.shape
    weighted = len(rater_weights) > 0
    counts = np.zeros((n_groups + 1, n_points), np.int32)
    sizes = np.zeros(n_groups + 1, np.int32)
    squares = np.zeros(n_groups + 1, np.int32)
    met = np.zeros(n_groups + 2, np.uint64)
    total = np.zeros(n_points, np.int32)
    given = np.zeros((n_groups, n_points), np.int64)  # all ratings of the group
    opposite = np.zeros((n_groups, n_points), np.int64)  # all ratings of the others on the same items
    unpaired = np.zeros((n_groups, n_points), np.int64)  # of which on items that it rated once
    unshared = np.zeros((n_groups, n_points), np.int64)  # of which on items that nobody else rated
    for i in range(len(offsets) - 1):
        times = np.int64(1)
        if len(item_weights) > 0:
            times = np.int64(item_weights[i])
            if times == 0:
                continue
        total[:] = 0
        if weighted:
            n_met = _count_weighted(
                raters, scores, group_of, rater_weights, offsets[i], offsets[i + 1], counts, sizes, squares, met, total
            )
        else:
            n_met = _count(raters, scores, group_of, offsets[i], offsets[i + 1], counts, sizes, met, total)
        everyone = np.int32(total.sum())
        for j in range(n_met):
            g = met[j]
            m = sizes[g]
            others = everyone - m
            sizes[g] = 0
            if g == n_groups:
                for c in range(n_points):
                    counts[g, c] = 0
                continue
            square = same = np.int64(0)
            top = rest_top = np.int32(-1)
            tied = rest_tied = np.uint32(0)
            vote = rest_vote = np.uint64(0)
            information = surprise = 0.0
            for c in range(n_points):
                n = counts[g, c]
                y = total[c] - n
                square += n * n
                same += n * y
                information += n_log_n[np.uint32(n)]
                surprise += n * log[np.uint32(2 * y + 1)]
                # Choices instead of branches, which random counts would mislead.
                above, rest_above = n > top, y > rest_top
                tied = np.uint32(1) if above else tied + np.uint32(n == top)
                rest_tied = np.uint32(1) if rest_above else rest_tied + np.uint32(y == rest_top)
                vote = np.uint64(c) if above else vote
                rest_vote = np.uint64(c) if rest_above else rest_vote
                top = n if above else top
                rest_top = y if rest_above else rest_top
                given[g, c] += times * n
                opposite[g, c] += times * y
            one = inverse[np.uint32(m)] * times
            sums[g, RATED] += times
            sums[g, PLURALITY] += top * one
            sums[g, ENTROPY] += log[np.uint32(m)] * times - information * one
            selves = m
            if weighted:
                selves = squares[g]
                squares[g] = 0
            pairs = np.int64(m) * m - selves
            if pairs > 0:
                # W/(W² − Q), W the weight of the item's ratings and Q the sum of its squares; 1/(m − 1) if all are 1.
                share = times * m / pairs if weighted else times * inverse[np.uint32(m - 1)]
                sums[g, PAIRABLE] += times
                sums[g, COINCIDENT] += times * m - share * (np.int64(m) * m - square)
                sums[g, SELF_PAIRS] += times * selves
                if len(matrices) > 0:
                    for c in range(n_points):
                        if counts[g, c] > 0:  # few of many points are given
                            for k in range(c + 1, n_points):
                                matrices[g, COINCIDENCES, c, k] += share * counts[g, c] * counts[g, k]
            else:
                for c in range(n_points):
                    unpaired[g, c] += times * counts[g, c]
            if others == 0:
                for c in range(n_points):
                    unshared[g, c] += times * counts[g, c]
                    counts[g, c] = 0
                continue
            weight = one + inverse[np.uint32(others)] * times
            sums[g, SHARED] += times
            sums[g, CROSSED] += weight * same
            if not published:
                sums[g, CROSS_ENTROPY] += log[np.uint32(2 * others + n_points)] * times - surprise * one
            else:
                entropy = 0.0  # without smoothing, and 0 where some point of the rest is empty
                for c in range(n_points):
                    y = total[c] - counts[g, c]
                    if y == 0:
                        entropy = 0.0
                        break
                    entropy -= counts[g, c] * one * (log[np.uint32(y)] - log[np.uint32(others)])
                sums[g, CROSS_ENTROPY] += entropy
            if len(ranks) > 0:
                for c in range(n_points):
                    if counts[g, c] == top and ranks[i, 0, c] > ranks[i, 0, vote]:
                        vote = np.uint64(c)
                    if total[c] - counts[g, c] == rest_top and ranks[i, 1, c] > ranks[i, 1, rest_vote]:
                        rest_vote = np.uint64(c)
                tied = rest_tied = np.uint32(1)
            if tied + rest_tied == 2:
                vectors[g, OWN_VOTES, vote] += times
                vectors[g, REST_VOTES, rest_vote] += times
                sums[g, SAME_VOTE] += times * (vote == rest_vote)
            else:
                own_share, rest_share = times * inverse[tied], inverse[rest_tied]
                for c in range(n_points):
                    mine = own_share * (counts[g, c] == top)
                    theirs = rest_share * (total[c] - counts[g, c] == rest_top)
                    vectors[g, OWN_VOTES, c] += mine
                    vectors[g, REST_VOTES, c] += times * theirs
                    sums[g, SAME_VOTE] += mine * theirs
            if len(matrices) > 0:
                for c in range(n_points):
                    if counts[g, c] > 0:
                        for k in range(n_points):
                            matrices[g, CROSSINGS, c, k] += weight * counts[g, c] * (total[k] - counts[g, k])
            for c in range(n_points):
                counts[g, c] = 0
    for g in range(n_groups):
        for c in range(n_points):
            vectors[g, MARGINALS, c] += given[g, c] - unpaired[g, c]
            vectors[g, OWN, c] += given[g, c] - unshared[g, c]
            vectors[g, REST, c] += opposite[g, c]
    for g in range(len(matrices)):
        mirror(matrices[g, COINCIDENCES], vectors[g, MARGINALS])


@compiled
def mirror(coincidences, marginals):
    """Fill in the half below the diagonal, and the diagonal, which makes rows add up to the counts.

    No distance weighs the diagonal.
    """
    for c in range(len(marginals)):
        for k in range(c):
            coincidences[c, k] = coincidences[k, c]
    for c in range(len(marginals)):
        coincidences[c, c] = 0.0
        coincidences[c, c] = marginals[c] - coincidences[c].sum()


_ONE, _BYTE = np.uint64(1), np.uint64(8)
_LOW, _EVEN = np.uint64(0xFF), np.uint64(0x00FF_00FF_00FF_00FF)
_ONES = np.uint64(0x0101_0101_0101_0101)
_PLACES = np.uint64(0x0001_0203_0405_0607)  # times a word with a single 1: its place, in the highest byte
MOST_PACKED = 255  # ratings of an item, so that a byte holds any count
PACKED_POINTS = 8
WAITING = 64  # items of a group whose pairs are added together


@compiled
def _add_items_packed(  # noqa: C901
    offsets, raters, scores, group_of, inverse, log, n_log_n, sums, vectors, matrices
):  # fmt: skip
    """Add all items as :func:`_add_items` does without weights, with an item's counts of a group in one word.

    A byte for each point: one addition counts a rating, adds up the groups, or takes a group from the total. Sums of
    counts are kept in lanes of 16 bits, even and odd points apart, and emptied before they can overflow. What goes into
    matrices waits until it is enough for :func:`_add_waiting`. One long loop for the same reason.
    """
    n_groups, _, n_points = vectors.shape
    words = np.zeros(n_groups + 1, np.uint64)
    lanes = np.zeros((n_groups, 8), np.uint64)  # given, opposite, unpaired, unshared, each even and odd
    with_matrices = len(matrices) > 0
    rows = n_groups if with_matrices else 0
    waiting = np.zeros((rows, 2, WAITING), np.uint64)  # counts of the group, and of its rest
    shares = np.zeros((rows, 2, WAITING))  # what a pair within the group weighs, and one across
    n_waiting = np.zeros(rows, np.uint64)
    pairs = np.zeros((rows, 2, n_points * (n_points - 1) // 2, WAITING))
    unpacked = np.zeros((2, n_points, WAITING))
    for i in range(len(offsets) - 1):
        for k in range(offsets[i], offsets[i + 1]):
            words[np.uint64(group_of[np.uint64(raters[k])])] += _ONE << (np.uint64(scores[k]) * _BYTE)
        words[n_groups] = 0
        total = np.uint64(0)
        for g in range(n_groups):
            total += words[g]
        everyone = (total * _ONES) >> np.uint64(56)
        for g in range(n_groups):
            word = words[g]
            if word == 0:
                continue
            words[g] = 0
            rest = total - word
            m = (word * _ONES) >> np.uint64(56)
            others = everyone - m
            lanes[g, 0] += word & _EVEN
            lanes[g, 1] += (word >> _BYTE) & _EVEN
            lanes[g, 2] += rest & _EVEN
            lanes[g, 3] += (rest >> _BYTE) & _EVEN
            square = same = top = rest_next = np.uint64(0)  # the largest count of the rest, and 1
            tied = rest_tied = vote = rest_vote = np.uint64(0)
            information = surprise = 0.0
            if m == 1:  # of the group itself all is known
                square = top = tied = _ONE
                vote = (word * _PLACES) >> np.uint64(56)
                same = (rest >> (vote * _BYTE)) & _LOW
                surprise = log[same + same + _ONE]
                for c in range(n_points):
                    y = (rest >> (np.uint64(c) * _BYTE)) & _LOW
                    rest_above = y >= rest_next
                    rest_tied = _ONE if rest_above else rest_tied + np.uint64(y + _ONE == rest_next)
                    rest_vote = np.uint64(c) if rest_above else rest_vote
                    rest_next = y + _ONE if rest_above else rest_next
            else:
                for c in range(n_points):
                    shift = np.uint64(c) * _BYTE
                    n, y = (word >> shift) & _LOW, (rest >> shift) & _LOW
                    square += n * n
                    same += n * y
                    information += n_log_n[n]
                    surprise += n * log[y + y + _ONE]
                    # Choices instead of branches, which random counts would mislead.
                    above, rest_above = n > top, y >= rest_next
                    tied = _ONE if above else tied + np.uint64(n == top)
                    rest_tied = _ONE if rest_above else rest_tied + np.uint64(y + _ONE == rest_next)
                    vote = np.uint64(c) if above else vote
                    rest_vote = np.uint64(c) if rest_above else rest_vote
                    top = n if above else top
                    rest_next = y + _ONE if rest_above else rest_next
            rest_top = rest_next - _ONE
            one = inverse[m]
            if with_matrices:
                at = n_waiting[g]
                waiting[g, 0, at], waiting[g, 1, at] = word, rest
                shares[g, 0, at] = inverse[m - _ONE] if m > 1 else 0.0
                shares[g, 1, at] = one + inverse[others] if others > 0 else 0.0
                n_waiting[g] = at + _ONE
                if at + _ONE == WAITING:
                    _add_waiting(waiting[g], shares[g], unpacked, pairs[g])
                    n_waiting[g] = 0
            sums[g, RATED] += 1.0
            sums[g, PLURALITY] += top * one
            sums[g, ENTROPY] += log[m] - information * one
            if m > 1:
                sums[g, PAIRABLE] += 1.0
                share = inverse[m - _ONE]
                sums[g, COINCIDENT] += m - share * (m * m - square)
            else:
                lanes[g, 4] += word & _EVEN
                lanes[g, 5] += (word >> _BYTE) & _EVEN
            if others == 0:
                sums[g, SHARED] -= 1.0
                lanes[g, 6] += word & _EVEN
                lanes[g, 7] += (word >> _BYTE) & _EVEN
                continue
            weight = one + inverse[others]
            sums[g, CROSSED] += weight * same
            sums[g, CROSS_ENTROPY] += log[others + others + np.uint64(n_points)] - surprise * one
            if tied + rest_tied == 2:
                vectors[g, OWN_VOTES, vote] += 1.0
                vectors[g, REST_VOTES, rest_vote] += 1.0
                sums[g, SAME_VOTE] += vote == rest_vote
            else:
                for c in range(n_points):
                    shift = np.uint64(c) * _BYTE
                    mine = inverse[tied] * ((word >> shift) & _LOW == top)
                    theirs = inverse[rest_tied] * ((rest >> shift) & _LOW == rest_top)
                    vectors[g, OWN_VOTES, c] += mine
                    vectors[g, REST_VOTES, c] += theirs
                    sums[g, SAME_VOTE] += mine * theirs
        if i % 256 == 255:
            _empty_lanes(lanes, vectors)
    _empty_lanes(lanes, vectors)
    for g in range(rows):
        shares[g, :, n_waiting[g] :] = 0.0
        _add_waiting(waiting[g], shares[g], unpacked, pairs[g])
        _fill_matrices(pairs[g], vectors[g], matrices[g])
    for g in range(n_groups):
        sums[g, SHARED] += sums[g, RATED]  # less those that nobody else rated
        for c in range(n_points):
            sums[g, SELF_PAIRS] += vectors[g, MARGINALS, c]


@compiled
def _add_waiting(waiting, shares, unpacked, pairs):
    """Add the pairs of different points of the items that wait, each in a place of its own.

    The same for all places at once, so that it becomes a few instructions for several of them; nothing is added across
    places before the end, so the order of adding is fixed.
    """
    n_points = unpacked.shape[1]
    for side in range(2):
        for c in range(n_points):
            shift = np.uint64(c) * _BYTE
            for j in range(WAITING):
                unpacked[side, c, j] = np.int32((waiting[side, j] >> shift) & _LOW)
    own, rest = unpacked[0], unpacked[1]
    pair = 0
    for c in range(n_points):
        for k in range(c + 1, n_points):
            for j in range(WAITING):
                pairs[0, pair, j] += shares[0, j] * own[c, j] * own[k, j]
                pairs[1, pair, j] += shares[1, j] * (own[c, j] * rest[k, j] + own[k, j] * rest[c, j])
            pair += 1


@compiled
def _fill_matrices(pairs, vectors, matrices):
    """Add sums over pairs of different points to the matrices of a group.

    Distances are symmetric and 0 on the diagonal, so crossings are halved between (c, k) and (k, c), and have none.
    """
    n_points = vectors.shape[1]
    pair = 0
    for c in range(n_points):
        for k in range(c + 1, n_points):
            matrices[COINCIDENCES, c, k] += pairs[0, pair].sum()
            matrices[CROSSINGS, c, k] += pairs[1, pair].sum() / 2
            matrices[CROSSINGS, k, c] = matrices[CROSSINGS, c, k]
            pair += 1
    mirror(matrices[COINCIDENCES], vectors[MARGINALS])


@compiled
def _empty_lanes(lanes, vectors):
    """Add the lanes of packed sums to the vectors, and start them anew."""
    n_groups, _, n_points = vectors.shape
    for g in range(n_groups):
        for c in range(n_points):
            odd = c % 2
            shift = np.uint64(c // 2 * 16)
            given = np.float64((lanes[g, odd] >> shift) & np.uint64(0xFFFF))
            vectors[g, REST, c] += np.float64((lanes[g, 2 + odd] >> shift) & np.uint64(0xFFFF))
            vectors[g, MARGINALS, c] += given - np.float64((lanes[g, 4 + odd] >> shift) & np.uint64(0xFFFF))
            vectors[g, OWN, c] += given - np.float64((lanes[g, 6 + odd] >> shift) & np.uint64(0xFFFF))
        lanes[g] = 0


@compiled
def permuted_passes(
    offsets, raters, scores, labels, most, inverse, log, n_log_n, published, ranks, sums, vectors, matrices
):
    """Fill ``sums[p]``, ``vectors[p]`` and ``matrices[p]`` with the parts where rater r is in group ``labels[p, r]``.

    ``most`` is the largest number of ratings that an item has.
    """
    none = np.zeros(0, np.int32)
    packed = (
        most <= MOST_PACKED and vectors.shape[3] <= PACKED_POINTS and vectors.shape[1] <= FEW_GROUPS
        and not published and len(ranks) == 0
    )  # fmt: skip
    for p in range(len(sums)):
        permuted = labels[p]
        if packed:
            _add_items_packed(
                offsets, raters, scores, permuted, inverse, log, n_log_n, sums[p], vectors[p], matrices[p]
            )
            continue
        _add_items(
            offsets, raters, scores, permuted, none, none, inverse, log, n_log_n, published, ranks,
            sums[p], vectors[p], matrices[p],
        )  # fmt: skip


@compiled
def weighted_passes(
    offsets, raters, scores, group_of, rater_weights, item_weights, inverse, log, n_log_n, published, ranks,
    sums, vectors, matrices,
):  # fmt: skip
    """Fill ``sums[d]``, ``vectors[d]`` and ``matrices[d]`` with the parts under the weights of draw ``d``."""
    for d in range(len(sums)):
        _add_items(
            offsets, raters, scores, group_of, rater_weights[d], item_weights[d], inverse, log, n_log_n, published,
            ranks, sums[d], vectors[d], matrices[d],
        )  # fmt: skip
