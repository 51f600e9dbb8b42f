# mypy: disable-error-code="no-untyped-def"
"""One label per item: passes of expectation and maximisation, and how far labels lie from what groups say.

An item has a hidden point t. Given the share π_t of each point and what raters say where it is t, Bayes' rule has
P(t | scores) ∝ π_t Π_r P_r(x_r | t); a pass fills these and adds up expected counts, from which shares and raters are
fitted anew, until nothing changes. Raters are described in one of three ways::

    Dawid and Skene   P_r(x | t) = share of x among what r says of items that are t
    MACE              P_r(x | t) = P(r knows)·[x = t] + P(r guesses)·P(r guesses x)
    ordered           P_r(x | t) = σ(u) − σ(u − a),  u = a·(x + ½ − t) − b,  precision a and bias b of r

All is added up in logarithms, in the order of the items, so that neither many raters nor threads change the result.
"""

from __future__ import annotations

import math

import numpy as np

from plurivox.kernels import compiled

LEAST = 1e-10  # of an expected count or share, so that nothing is impossible
STEPS = 3  # of Newton's method for a rater in each round: more would be fitted to counts that change again


@compiled
def errors_pass(offsets, raters, scores, log_errors, log_shares, posterior, counts, mass):
    """Fill the probability of each point for each item, and add the expected counts; return the log-likelihood.

    ``log_errors[r, x, t]`` is ln P(rater r says x | the item is t); with none, probabilities are given. To ``counts[r,
    x, t]`` and ``mass[t]``, of the items that are rated, probabilities are added in the order of items, so that nothing
    else decides on a bit.
    """
    n_points, given = len(log_shares), len(log_errors) == 0
    total = 0.0
    for i in range(len(offsets) - 1):
        first, last = offsets[i], offsets[i + 1]
        found = posterior[i]
        if first == last:
            if not given:
                found[:] = np.nan
            continue
        if not given:
            found[:] = log_shares
            for k in range(first, last):
                row = log_errors[raters[k], scores[k]]
                for t in range(n_points):
                    found[t] += row[t]
            total += _normalise(found)
        for t in range(n_points):
            mass[t] += found[t]
        for k in range(first, last):
            own = counts[raters[k], scores[k]]
            for t in range(n_points):
                own[t] += found[t]
    return total


@compiled
def _normalise(logs):
    """Turn logarithms into shares of their sum, and return its logarithm."""
    top, total = logs.max(), 0.0
    for t in range(len(logs)):
        logs[t] = math.exp(logs[t] - top)
        total += logs[t]
    for t in range(len(logs)):
        logs[t] /= total
    return top + math.log(total)


@compiled
def fill_errors(counts, log_errors):
    """Fill ln P(x | t) of every rater from expected counts, over the points that the rater ever gave.

    A point of the items that a rater met none of leaves these points alike, so that it tells nothing.
    """
    n_raters, n_points, _ = counts.shape
    for r in range(n_raters):
        for t in range(n_points):
            total = 0.0
            for x in range(n_points):
                if counts[r, x].sum() > 0:
                    total += max(counts[r, x, t], LEAST)
            for x in range(n_points):
                log_errors[r, x, t] = math.log(max(counts[r, x, t], LEAST) / total) if total > 0 else 0.0


# MACE ----------------------------------------------------------------------------------------------------------------


@compiled
def competence_pass(offsets, raters, scores, log_shares, guessed, gained, knows, posterior, strategy, knowing):
    """Fill the probability of each point for each item, and add what raters are expected to know and to guess.

    ``guessed[r, x]`` is ln P(rater r guesses x), ``gained[r, x]`` what x adds to it where x is right, and ``knows[r,
    x]`` P(r knew | said x, x is right). Returns the log-likelihood.
    """
    found, total = np.empty(len(log_shares)), 0.0
    for i in range(len(offsets) - 1):
        first, last = offsets[i], offsets[i + 1]
        if first == last:
            posterior[i, :] = np.nan
            continue
        found[:] = log_shares
        for k in range(first, last):
            total += guessed[raters[k], scores[k]]
            found[scores[k]] += gained[raters[k], scores[k]]
        total += _normalise(found)
        posterior[i, :] = found
        for k in range(first, last):
            r, x = raters[k], scores[k]
            known = found[x] * knows[r, x]
            knowing[r] += known
            strategy[r, x] += 1.0 - known
    return total


# An ordered scale ----------------------------------------------------------------------------------------------------


@compiled
def _softplus(x):
    """Return ln(1 + eˣ)."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@compiled
def _logistic(x):
    if x >= 0:
        return 1.0 / (1.0 + math.exp(-x))
    small = math.exp(x)
    return small / (1.0 + small)


@compiled
def _log_point(x, t, n_points, precision, bias):
    """Return ln P(x | t): the logistic falls between the two thresholds of x, half a point from it on either side."""
    found = 0.0
    if x < n_points - 1:
        found -= _softplus(-(precision * (x + 0.5 - t) - bias))
    if x > 0:
        found -= _softplus(precision * (x - 0.5 - t) - bias)
    if 0 < x < n_points - 1:
        found += math.log(-math.expm1(-precision))
    return found


@compiled
def fill_ordered(precision, bias, log_errors):
    """Fill ln P(x | t) of every rater."""
    n_raters, n_points, _ = log_errors.shape
    for r in range(n_raters):
        for x in range(n_points):
            for t in range(n_points):
                log_errors[r, x, t] = _log_point(x, t, n_points, precision[r], bias[r])


@compiled
def _objective(counts, precision, bias, prior):
    """Return the expected log-likelihood of a rater, and their parameters' own."""
    n_points, found = len(counts), 0.0
    for x in range(n_points):
        for t in range(n_points):
            if counts[x, t] > 0:
                found += counts[x, t] * _log_point(x, t, n_points, precision, bias)
    return found + prior[0] * (math.log(precision) - prior[1] * precision) - prior[2] * bias * bias / 2


@compiled
def _slopes(counts, precision, bias, prior, slope, bend):
    """Fill the derivatives of the objective by precision and bias; it is concave in both."""
    n_points = len(counts)
    slope[:], bend[:] = 0.0, 0.0
    inner = 0.0
    for x in range(n_points):
        for t in range(n_points):
            n = counts[x, t]
            if n <= 0:
                continue
            for side in range(2):
                if (side == 0 and x == n_points - 1) or (side == 1 and x == 0):
                    continue
                z = x + 0.5 - side - t
                p = _logistic(precision * z - bias)
                first, second = (1.0 - p if side == 0 else -p) * n, -p * (1.0 - p) * n
                slope[0] += first * z
                slope[1] -= first
                bend[0] += second * z * z
                bend[1] -= second * z
                bend[2] += second
            if 0 < x < n_points - 1:
                inner += n
    grown = math.expm1(min(precision, 700.0))
    slope[0] += inner / grown + prior[0] * (1.0 / precision - prior[1])
    bend[0] -= inner * (1.0 + 1.0 / grown) / grown + prior[0] / precision**2
    slope[1] -= prior[2] * bias
    bend[2] -= prior[2]


@compiled
def fit_ordered(counts, prior, precision, bias):
    """Move precision and bias of every rater uphill by Newton's method; return how likely they are in themselves.

    ``prior`` has the weight of ln(precision) − rate · precision, this rate, and the weight of −bias²/2.
    """
    slope, bend = np.empty(2), np.empty(3)
    own = 0.0
    for r in range(len(precision)):
        value = _objective(counts[r], precision[r], bias[r], prior)
        for _ in range(STEPS):
            _slopes(counts[r], precision[r], bias[r], prior, slope, bend)
            size = bend[0] * bend[2] - bend[1] * bend[1]
            if not size > 1e-300:
                break
            step = (bend[2] * slope[0] - bend[1] * slope[1]) / size, (bend[0] * slope[1] - bend[1] * slope[0]) / size
            scale, moved = 1.0, False
            for _ in range(30):
                a, b = precision[r] - scale * step[0], bias[r] - scale * step[1]
                if 1e-6 < a < 60.0:
                    there = _objective(counts[r], a, b, prior)
                    if there >= value:
                        moved = there > value
                        precision[r], bias[r], value = a, b, there
                        break
                scale /= 2
            if not moved:
                break
        own += prior[0] * (math.log(precision[r]) - prior[1] * precision[r]) - prior[2] * bias[r] ** 2 / 2
    return own


# What labels hide ----------------------------------------------------------------------------------------------------

RATED, TWICE = 0, 1
"""Of a group's sums: items with a rating, and with two or more; then for each method the three below."""
APART, OVERRULED, BELOW = 0, 1, 2


@compiled
def add_departures(offsets, raters, scores, values, labels, units, chosen, numbers, own, sums):
    """Add to ``sums[d, g]`` how far what items are labelled lies from what group g says, under each draw.

    ``labels[d, r]`` is the group of rater r under draw d, -1 outside; or, where ``units`` has a unit for each item, the
    draw is that unit alone, and the groups are the first. ``chosen[i, m]`` is the point that method m gives item i,
    ``numbers[i, m]`` its number a, and ``own[i, m]`` by how much one rating moves that. For each method these are
    added: (x̄ − a)² − s² (1/n − 2 · own) over items with two ratings, so that neither what raters of a group differ
    among themselves counts, nor that their ratings are a part of a; the share of a group's vote that goes to other
    points, tied points sharing it; and x̄ − a.
    """
    n_draws, n_groups, _ = sums.shape
    counts = np.zeros((n_groups, len(values)), np.int64)
    for d in range(n_draws if len(units) == 0 else 1):
        group_of = labels[d]
        for i in range(len(offsets) - 1):
            first, last = offsets[i], offsets[i + 1]
            if first == last:
                continue
            at = d if len(units) == 0 else units[i]
            if at < 0 or at >= n_draws:
                continue
            for k in range(first, last):
                g = group_of[raters[k]]
                if g >= 0:
                    counts[g, scores[k]] += 1
            for g in range(n_groups):
                _add_group(counts[g], values, chosen[i], numbers[i], own[i], sums[at, g])
                counts[g, :] = 0


@compiled
def _add_group(counts, values, chosen, numbers, own, sums):
    n, top, tied = 0, 0, 0
    total, squares = 0.0, 0.0
    for c in range(len(counts)):
        here = counts[c]
        if here > 0:
            n += here
            total += here * values[c]
            squares += here * values[c] * values[c]
            if here > top:
                top, tied = here, 1
            elif here == top:
                tied += 1
    if n == 0:
        return
    mean = total / n
    sums[RATED] += 1.0
    variance = 0.0
    if n > 1:
        sums[TWICE] += 1.0
        variance = max(squares - n * mean * mean, 0.0) / (n - 1.0)
    for m in range(len(chosen)):
        at = 2 + 3 * m
        gap = mean - numbers[m]
        if n > 1:
            sums[at + APART] += gap * gap - variance * (1.0 / n - 2.0 * own[m])
        sums[at + OVERRULED] += 1.0 - (1.0 / tied if counts[chosen[m]] == top else 0.0)
        sums[at + BELOW] += gap


# The same where raters have weights ----------------------------------------------------------------------------------

FIXED, PLURALITY, MEAN, POSTERIOR = range(4)
"""How a method makes labels; those that are fixed do not depend on weights."""
_TIED = 1e-9


@compiled
def _relabel(counts, values, prior, kinds, chosen, numbers):
    """Fill labels and numbers of an item anew from the weights on its points, for methods that are not fixed."""
    total = counts.sum()
    mean = (counts * values).sum() / total
    for m in range(len(kinds)):
        if kinds[m] == FIXED:
            continue
        best, found = -np.inf, 0
        for c in range(len(counts)):
            own = counts[c] / total
            if kinds[m] == MEAN:
                own = -abs(values[c] - mean)
            elif kinds[m] == POSTERIOR:
                own = (counts[c] + prior[c]) / (total + prior.sum())
            nearer = abs(values[c] - mean) < abs(values[found] - mean) - _TIED
            if own > best + _TIED or (own >= best - _TIED and nearer):
                found = c
            best = max(best, own)
        chosen[m] = found
        numbers[m] = values[found] if kinds[m] == PLURALITY else mean
        if kinds[m] == POSTERIOR:
            numbers[m] = ((counts + prior) * values).sum() / (total + prior.sum())


@compiled
def weighted_departures(
    offsets, raters, scores, values, labels, weights, units, chosen, numbers, mass, kinds, prior, anew, sums
):
    """Add what :func:`add_departures` does where rater r counts ``weights[d, r]`` times under draw d.

    ``mass[i]`` is the weight of all ratings of item i. With ``anew`` labels that depend on weights are made again under
    each draw, as in a shuffle, which moves weights. With W = Σw and Q = Σw² of a group's ratings of an item, s² = Σw (x
    − x̄)² / (W − Q/W), and (x̄ − a)² − s² (Q/W² − 2 Q/(W · M)), M = Σw of all ratings, to which a posterior adds its
    prior.
    """
    n_draws, n_groups, _ = sums.shape
    n_points, n_methods = len(values), chosen.shape[1]
    counts, whole = np.zeros((n_groups, n_points)), np.zeros(n_points)
    sizes, square = np.zeros(n_groups, np.int64), np.zeros(n_groups)
    own_labels, own_numbers = np.zeros(n_methods, np.int64), np.zeros(n_methods)
    for d in range(n_draws if len(units) == 0 else 1):
        for i in range(len(offsets) - 1):
            at = d if len(units) == 0 else units[i]
            if offsets[i] == offsets[i + 1] or at < 0 or at >= n_draws:
                continue
            counts[:], whole[:], sizes[:], square[:] = 0.0, 0.0, 0, 0.0
            for k in range(offsets[i], offsets[i + 1]):
                w, g = weights[d, raters[k]], labels[d, raters[k]]
                whole[scores[k]] += w
                if g >= 0 and w > 0:
                    counts[g, scores[k]] += w
                    sizes[g] += 1
                    square[g] += w * w
            own_labels[:], own_numbers[:] = chosen[i], numbers[i]
            if anew:
                _relabel(whole, values, prior, kinds, own_labels, own_numbers)
            total = whole.sum() if anew else mass[i]
            for g in range(n_groups):
                if sizes[g] > 0:
                    _add_weighted_group(
                        counts[g],
                        sizes[g],
                        square[g],
                        total,
                        values,
                        own_labels,
                        own_numbers,
                        kinds,
                        prior,
                        sums[at, g],
                    )


@compiled
def _add_weighted_group(counts, n, square, mass, values, chosen, numbers, kinds, prior, sums):
    total = counts.sum()
    mean = (counts * values).sum() / total
    slack = _TIED * total
    top = counts.max()
    tied = (counts >= top - slack).sum()
    sums[RATED] += 1.0
    variance = 0.0
    if n > 1:
        sums[TWICE] += 1.0
        variance = (counts * (values - mean) ** 2).sum() / (total - square / total)
    for m in range(len(chosen)):
        at = 2 + 3 * m
        gap = mean - numbers[m]
        if n > 1:
            own = 0.0
            if kinds[m] == MEAN or kinds[m] == POSTERIOR:
                own = 1.0 / (mass + (prior.sum() if kinds[m] == POSTERIOR else 0.0))
            sums[at + APART] += gap * gap - variance * square / total * (1.0 / total - 2.0 * own)
        sums[at + OVERRULED] += 1.0 - (1.0 / tied if counts[chosen[m]] >= top - slack else 0.0)
        sums[at + BELOW] += gap
