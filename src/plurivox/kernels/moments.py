# mypy: disable-error-code="no-untyped-def, assignment"
"""Means of items on two sides, a group and its rest, and what sampling does to them, in one pass over the ratings.

Scores are numbers here, each rater's own mean taken out, so counts by point are not enough. The pass adds up, for each
item and group, how many ratings there are, their sum and the sum of their squares. Of an item with two ratings or more
on each side, x is the group's mean, r that of the rest, and e = s²/n the sampling variance of a mean, s² with the
divisor n − 1. Every group gets the sums over such items of 1, x, r, x·r, x², r², e of the group and e of the rest, in
this order.

Every number is added up in the order of the ratings, and every sum in the order of the items, each draw apart from all
others, so that neither threads nor batches change a bit of the result.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled
from plurivox.kernels.shuffling import TOGETHER, place_in

N_MOMENTS = 8
FEW_GROUPS = 64


@compiled
def centred(raters, scores, numbers, means):
    """Return each rating's number less the mean of its rater."""
    y = np.empty(len(raters))
    for k in range(len(raters)):
        y[k] = numbers[scores[k]] - means[raters[k]]
    return y


@compiled
def permuted_moments(offsets, raters, y, labels, words, places, sums):
    """Fill ``sums[p]`` with the sums of all groups where rater r is in group ``labels[p, r]``, -1 outside the axis.

    No permutation moves a rater into the axis or out of it. ``words`` or ``places`` are those of the labels, and the
    other is empty; where there are more than a few groups nobody looks at them.
    """
    n_draws, n_groups, _ = sums.shape
    none = np.zeros(0, np.int32)
    if n_groups > FEW_GROUPS:
        for p in range(n_draws):
            _add_weighted(offsets, raters, y, labels[p], none, none, sums[p])
        return
    for first in range(0, n_draws, TOGETHER):
        own = sums[first : min(first + TOGETHER, n_draws)]
        if words.shape[1] > 0:
            _add_in_words(offsets, raters, y, words[first // TOGETHER], own)
        else:
            _add_together(offsets, raters, y, places[first // TOGETHER], own)


@compiled
def _add_together(offsets, raters, y, places, sums):
    """Add all items under a few permutations, each of which has its own place in every group's row.

    ``places`` holds where a rater's ratings are added under each permutation. Where the same raters rated an item as
    the one before, as in a crossed study, the counts stay.
    """
    _, n_groups, _ = sums.shape
    n = np.zeros((n_groups + 1) * TOGETHER)
    s = np.zeros((n_groups + 1) * TOGETHER)
    q = np.zeros((n_groups + 1) * TOGETHER)
    found = np.zeros((n_groups, N_MOMENTS, TOGETHER))
    for i in range(len(offsets) - 1):
        if not _same_raters(offsets, raters, i):
            n[:] = 0.0
            for k in range(offsets[i], offsets[i + 1]):
                rater = np.uint64(raters[k])
                for p in range(TOGETHER):
                    n[np.uint64(places[rater, p])] += 1.0
        n_all = s_all = q_all = 0.0
        for k in range(offsets[i], offsets[i + 1]):
            rater = np.uint64(raters[k])
            value = y[k]
            square = value * value
            for p in range(TOGETHER):
                at = np.uint64(places[rater, p])
                s[at] += value
                q[at] += square
            if places[rater, 0] < n_groups * TOGETHER:  # the same in every permutation
                n_all += 1.0
                s_all += value
                q_all += square
        for g in range(n_groups):
            _add_item(n, s, q, g * TOGETHER, n_all, s_all, q_all, found[g])
        s[:] = 0.0
        q[:] = 0.0
    _add_found(found, sums)


@compiled
def _add_word(n, s, q, word, new, value, square):
    """Add a rating under all permutations; a loop whose end is known is unrolled."""
    for p in range(TOGETHER):
        at = place_in(word, p)
        n[at] += new
        s[at] += value
        q[at] += square


@compiled
def _add_found(found, sums):
    for p in range(len(sums)):
        for g in range(len(found)):
            for m in range(N_MOMENTS):
                sums[p, g, m] += found[g, m, p]


@compiled
def _add_in_words(offsets, raters, y, words, sums):
    """Add all items as :func:`_add_together` does; a rater's groups under all permutations are one word."""
    together, n_groups, _ = sums.shape
    n = np.zeros((n_groups + 1) * TOGETHER)
    s = np.zeros((n_groups + 1) * TOGETHER)
    q = np.zeros((n_groups + 1) * TOGETHER)
    found = np.zeros((n_groups, N_MOMENTS, TOGETHER))
    outside = np.uint64(n_groups)
    for i in range(len(offsets) - 1):
        new = 0.0 if _same_raters(offsets, raters, i) else 1.0  # of the same raters the counts stay
        if new > 0.0:
            n[:] = 0.0
        n_all = s_all = q_all = 0.0
        for k in range(offsets[i], offsets[i + 1]):
            word = words[np.uint64(raters[k])]
            value = y[k]
            square = value * value
            if together < TOGETHER:
                for p in range(together):
                    at = place_in(word, p)
                    s[at] += value
                    q[at] += square
                    n[at] += new
            else:
                _add_word(n, s, q, word, new, value, square)
            if word & np.uint64(15) != outside:  # the same in every permutation
                n_all += 1.0
                s_all += value
                q_all += square
        for g in range(n_groups):
            _add_item(n, s, q, g * TOGETHER, n_all, s_all, q_all, found[g])
        s[:] = 0.0
        q[:] = 0.0
    _add_found(found, sums)


@compiled
def _same_raters(offsets, raters, i):
    """Tell whether the same raters rated an item as the one before."""
    size = offsets[i + 1] - offsets[i]
    if i == 0 or size != offsets[i] - offsets[i - 1]:
        return False
    differ = 0
    for k in range(offsets[i], offsets[i + 1]):
        differ += raters[k] != raters[k - size]
    return differ == 0


@compiled
def _add_item(n, s, q, start, n_all, s_all, q_all, found):
    """Add one item to the sums of one group; without a branch, so that permutations share instructions."""
    for p in range(TOGETHER):
        own, one, square = n[start + p], s[start + p], q[start + p]
        rest, other = n_all - own, s_all - one
        counts = 1.0 if own > 1.0 and rest > 1.0 else 0.0
        own, rest = max(own, 2.0), max(rest, 2.0)
        pairs, rest_pairs = counts / (own * (own - 1.0)), counts / (rest * (rest - 1.0))
        x, r = one * (pairs * (own - 1.0)), other * (rest_pairs * (rest - 1.0))
        found[0, p] += counts
        found[1, p] += x
        found[2, p] += r
        found[3, p] += x * r
        found[4, p] += x * x
        found[5, p] += r * r
        found[6, p] += (square - one * x) * pairs
        found[7, p] += (q_all - square - other * r) * rest_pairs


@compiled
def weighted_moments(offsets, raters, y, labels, rater_weights, item_weights, sums):
    """Fill ``sums[d]`` with the sums of all groups under the weights of draw ``d``; -1 is outside the axis.

    ``labels`` has the groups of each draw, or one row for all of them.
    """
    for d in range(len(sums)):
        group_of = labels[min(d, len(labels) - 1)]
        _add_weighted(offsets, raters, y, group_of, rater_weights[d], item_weights[d], sums[d])


@compiled
def _add_weighted(offsets, raters, y, group_of, rater_weights, item_weights, sums):
    """Add all items, each as often as its weight; empty weights mean 1.

    With W = Σw and Q = Σw² of a side's raters, its mean is Σwy/W, s² = Σw(y − mean)²/(W − Q/W), and e = s²·Q/W².
    """
    n_groups = len(sums)
    own = np.zeros((n_groups, 5))  # raters, W, Q, Σwy, Σwy²
    everyone = np.zeros(5)
    met = np.zeros(n_groups, np.int64)
    for i in range(len(offsets) - 1):
        times = 1.0
        if len(item_weights) > 0:
            times = np.float64(item_weights[i])
            if times == 0.0:
                continue
        n_met = 0
        for k in range(offsets[i], offsets[i + 1]):
            rater = raters[k]
            w = 1.0
            if len(rater_weights) > 0:
                w = np.float64(rater_weights[rater])
                if w == 0.0:
                    continue
            g = group_of[rater]
            if g < 0:
                continue
            if own[g, 0] == 0.0:
                met[n_met] = g
                n_met += 1
            own[g, 0] += 1.0
            own[g, 1] += w
            own[g, 2] += w * w
            own[g, 3] += w * y[k]
            own[g, 4] += w * y[k] * y[k]
        everyone[:] = 0.0
        for j in range(n_met):
            everyone += own[met[j]]
        for j in range(n_met):
            g = met[j]
            if own[g, 0] > 1.0 and everyone[0] - own[g, 0] > 1.0:
                x, e = _mean_and_error(own[g, 1], own[g, 2], own[g, 3], own[g, 4])
                r, f = _mean_and_error(
                    everyone[1] - own[g, 1], everyone[2] - own[g, 2], everyone[3] - own[g, 3], everyone[4] - own[g, 4]
                )
                sums[g, 0] += times
                sums[g, 1] += times * x
                sums[g, 2] += times * r
                sums[g, 3] += times * x * r
                sums[g, 4] += times * x * x
                sums[g, 5] += times * r * r
                sums[g, 6] += times * e
                sums[g, 7] += times * f
            own[g] = 0.0


@compiled
def _mean_and_error(w, q, total, squares):
    """Return the mean of a side's ratings of an item, and the sampling variance of that mean."""
    mean = total / w
    return mean, (squares - total * mean) / (w - q / w) * q / (w * w)


# Dividing -------------------------------------------------------------------------------------------------------------
#
# Differences between groups and their rests on every item, under many relabellings of the raters.
#
# One relabelling is one pass over the ratings. It keeps the largest difference of all, where the difference that the
# list shows for each item lies, and six sums for each group, so that memory depends on neither items × groups nor on
# how ratings are cut into parts. Items are met in their order, so that no bit does either.


# The sums of each group, where t = w · D², w = n_g n_r / n, v the variance within the two sides of an item …
SQUARES, SHIFTS, WEIGHTS, WEIGHTS_SQUARED, VARIANCES, WEIGHTED_VARIANCES = range(6)
N_DIVIDING = 6
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
