# mypy: disable-error-code="no-untyped-def"
"""The graded response model: expectations over severity, one rater's best parameters, and the observed information.

Rater j scores an item of severity θ at or above cut k with probability logistic(a·θ + d_k), d_1 > d_2 > …. With u
and v the logits at the cuts below and above a point, log P = log σ(u) + log σ(−v) + log(1 − e^(v − u)), which loses no
digits and is concave in θ. So is what an item's scores add up to: away from its highest point it only falls, and the
points where it is below e^−40 of that need not be looked at.

Sums run in the order of the items.
"""

from __future__ import annotations

import math

import numpy as np

from plurivox.kernels import compiled

COARSE = 8
"""Every so many points of severity are tried before the others."""
FAR = 40.0
BOUND = 10.0
"""The largest discrimination, in either direction."""


@compiled
def _log_sigmoid(u):
    return -math.log1p(math.exp(-u)) if u >= 0 else u - math.log1p(math.exp(u))


@compiled
def _sigmoid(u):
    if u >= 0:
        return 1.0 / (1.0 + math.exp(-u))
    e = math.exp(u)
    return e / (1.0 + e)


@compiled
def _ratio(u, v):
    """Return 1 / (e^(u − v) − 1)."""
    return 1.0 / math.expm1(u - v)


@compiled
def log_probabilities(a, d, n_cuts, theta, log_p):
    """Fill in the log-probability of each point, raters × points × θ."""
    for j in range(len(a)):
        for x in range(n_cuts[j] + 1):
            for q in range(len(theta)):
                one = 0.0
                if x > 0:
                    one += _log_sigmoid(a[j] * theta[q] + d[j, x - 1])
                if x < n_cuts[j]:
                    one += _log_sigmoid(-(a[j] * theta[q] + d[j, x]))
                if 0 < x < n_cuts[j]:
                    one += math.log(-math.expm1(d[j, x] - d[j, x - 1]))
                log_p[j, x, q] = one


@compiled
def slopes(a, d, n_cuts, theta, rise, fall):
    """Fill in how each log-probability changes with its logit below (``rise``) and above (``fall``)."""
    for j in range(len(a)):
        for x in range(n_cuts[j] + 1):
            between = _ratio(d[j, x - 1], d[j, x]) if 0 < x < n_cuts[j] else 0.0
            for q in range(len(theta)):
                rise[j, x, q] = fall[j, x, q] = 0.0
                if x > 0:
                    rise[j, x, q] = _sigmoid(-(a[j] * theta[q] + d[j, x - 1])) + between
                if x < n_cuts[j]:
                    fall[j, x, q] = -_sigmoid(a[j] * theta[q] + d[j, x]) - between


@compiled
def _window(raters, points, log_p, log_prior, work):
    """Return the first and the last severity to look at, and after it, where the rest is negligible."""
    n = len(log_prior)
    best, at = -np.inf, 0
    for q in range(0, n, COARSE):
        one = log_prior[q]
        for r in range(len(raters)):
            one += log_p[raters[r], points[r], q]
        work[q] = one
        if one > best:
            best, at = one, q
    low = at
    while low > 0 and work[low] > best - FAR:
        low -= COARSE
    high = at
    while high + COARSE < n and work[high] > best - FAR:
        high += COARSE
    if work[high] > best - FAR:
        high = n - 1
    return max(low, 0), min(high, n - 1) + 1


@compiled
def expect(offsets, raters, points, log_p, log_prior, theta, counts, severity, spread, starts, ends):
    """Add up the expected number of items at each severity, raters × points × θ, and return the log-likelihood.

    Fill in each item's mean severity and its standard deviation, and which severities matter for it.
    """
    counts[:] = 0.0
    work = np.zeros(len(theta))
    total = 0.0
    for i in range(len(offsets) - 1):
        own, given = raters[offsets[i] : offsets[i + 1]], points[offsets[i] : offsets[i + 1]]
        first, last = _window(own, given, log_p, log_prior, work)
        starts[i], ends[i] = first, last
        total += _posterior(own, given, log_p, log_prior, first, last, work)
        mean = square = 0.0
        for q in range(first, last):
            mean += work[q] * theta[q]
        for q in range(first, last):
            square += work[q] * (theta[q] - mean) ** 2
        severity[i], spread[i] = mean, math.sqrt(square)
        for r in range(len(own)):
            row = counts[own[r], given[r]]
            for q in range(first, last):
                row[q] += work[q]
    return total


@compiled
def _posterior(raters, points, log_p, log_prior, first, last, work):
    """Fill in the distribution of an item's severity, and return the logarithm of its scores' probability."""
    for q in range(first, last):
        work[q] = log_prior[q]
    for r in range(len(raters)):
        row = log_p[raters[r], points[r]]
        for q in range(first, last):
            work[q] += row[q]
    best = work[first:last].max()
    total = 0.0
    for q in range(first, last):
        work[q] = math.exp(work[q] - best)
        total += work[q]
    for q in range(first, last):
        work[q] /= total
    return best + math.log(total)


@compiled
def posteriors(offsets, raters, points, log_p, log_prior, starts, ends, places, weights):
    """Fill in the distributions of all items' severities, one after the other from ``places`` on."""
    work = np.zeros(len(log_prior))
    for i in range(len(offsets) - 1):
        first, last = starts[i], ends[i]
        own, given = raters[offsets[i] : offsets[i + 1]], points[offsets[i] : offsets[i + 1]]
        _posterior(own, given, log_p, log_prior, first, last, work)
        weights[places[i] : places[i + 1]] = work[first:last]


@compiled
def _complete(counts, a, d, n_cuts, theta, gradient, curvature):
    """Return one rater's expected log-likelihood; fill in its gradient and negative second derivatives (d…, a)."""
    value = 0.0
    gradient[:] = 0.0
    curvature[:] = 0.0
    for x in range(n_cuts + 1):
        inner = 0 < x < n_cuts
        between = _ratio(d[x - 1], d[x]) if inner else 0.0
        bend = between * (1.0 + between)
        log_between = math.log(-math.expm1(d[x] - d[x - 1])) if inner else 0.0
        for q in range(len(theta)):
            n = counts[x, q]
            if n == 0.0:
                continue
            t = theta[q]
            value += n * log_between
            rise = fall = rise_bend = fall_bend = 0.0
            if x > 0:
                u = a * t + d[x - 1]
                p = _sigmoid(u)
                value += n * _log_sigmoid(u)
                rise = 1.0 - p + between
                rise_bend = p * (1.0 - p) + bend
                gradient[x - 1] += n * rise
                curvature[x - 1, x - 1] += n * rise_bend
            if x < n_cuts:
                v = a * t + d[x]
                p = _sigmoid(v)
                value += n * _log_sigmoid(-v)
                fall = -p - between
                fall_bend = p * (1.0 - p) + bend
                gradient[x] += n * fall
                curvature[x, x] += n * fall_bend
            if inner:
                curvature[x - 1, x] -= n * bend
                curvature[x, x - 1] -= n * bend
            # With respect to a, both logits move by θ; what their difference adds cancels.
            gradient[n_cuts] += n * t * (rise + fall)
            along_u = t * (rise_bend - (bend if inner else 0.0))
            along_v = t * (fall_bend - (bend if inner else 0.0))
            curvature[n_cuts, n_cuts] += n * t * (along_u + along_v)
            if x > 0:
                curvature[x - 1, n_cuts] += n * along_u
                curvature[n_cuts, x - 1] += n * along_u
            if x < n_cuts:
                curvature[x, n_cuts] += n * along_v
                curvature[n_cuts, x] += n * along_v
    return value


@compiled
def _solve(matrix, right, n):
    """Solve a small positive definite system in place by Cholesky; return whether it is one."""
    for k in range(n):
        for i in range(k, n):
            one = matrix[i, k]
            for m in range(k):
                one -= matrix[i, m] * matrix[k, m]
            if i == k:
                if not one > 0.0:
                    return False
                matrix[k, k] = math.sqrt(one)
            else:
                matrix[i, k] = one / matrix[k, k]
    for i in range(n):
        for m in range(i):
            right[i] -= matrix[i, m] * right[m]
        right[i] /= matrix[i, i]
    for i in range(n - 1, -1, -1):
        for m in range(i + 1, n):
            right[i] -= matrix[m, i] * right[m]
        right[i] /= matrix[i, i]
    return True


@compiled
def maximise(counts, a, d, n_cuts, theta, rounds, first, last):
    """Move the parameters of raters from first to before last towards the highest expected log-likelihood.

    By Newton's method, in so many rounds.
    """
    most = d.shape[1]
    gradient, curvature = np.zeros(most + 1), np.zeros((most + 1, most + 1))
    trial_gradient, trial_curvature = np.zeros(most + 1), np.zeros((most + 1, most + 1))
    trial = np.zeros(most)
    for j in range(first, last):
        k = n_cuts[j]
        value = _complete(counts[j], a[j], d[j], k, theta, gradient, curvature)
        for _ in range(rounds):
            held = abs(a[j]) >= BOUND and gradient[k] * a[j] > 0
            n = k if held else k + 1
            if not _solve(curvature, gradient, n):
                break
            step_a = 0.0 if held else gradient[k]
            scale, better = 1.0, False
            for _ in range(40):
                slope = min(max(a[j] + scale * step_a, -BOUND), BOUND)
                ordered = True
                for m in range(k):
                    trial[m] = d[j, m] + scale * gradient[m]
                    ordered = ordered and (m == 0 or trial[m] < trial[m - 1])
                if ordered:
                    new = _complete(counts[j], slope, trial, k, theta, trial_gradient, trial_curvature)
                    if new >= value:
                        better = True
                        break
                scale *= 0.5
            if not better:
                break
            moved = abs(slope - a[j])
            for m in range(k):
                moved = max(moved, abs(trial[m] - d[j, m]))
                d[j, m] = trial[m]
            a[j] = slope
            value = new
            gradient[:] = trial_gradient
            curvature[:] = trial_curvature
            if moved < 1e-9:
                break


@compiled
def expected_slopes(codes, theta, starts, ends, places, weights, rise, fall, means):
    """Fill in what is expected of each score's slopes, raters × items × (rise, fall, both times θ)."""
    for j in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            x = codes[j, i]
            if x < 0:
                continue
            up = down = along = 0.0
            for q in range(starts[i], ends[i]):
                w = weights[places[i] + q - starts[i]]
                r, f = rise[j, x, q], fall[j, x, q]
                up += w * r
                down += w * f
                along += w * theta[q] * (r + f)
            means[j, i, 0], means[j, i, 1], means[j, i, 2] = up, down, along


@compiled
def information(codes, theta, starts, ends, places, weights, rise, fall, means, n_cuts, firsts, first, last, matrix):
    """Fill in what the uncertainty of severities takes from the information, for raters from first to before last.

    Rater j has the parameters from ``firsts[j]`` on: cuts, then the discrimination. Of two scores it is the covariance
    of their slopes over the severities that the item may have. Only blocks of j ≤ k are filled in.
    """
    n_raters, n_items = codes.shape
    n_points = rise.shape[1]
    table = np.zeros((n_points * n_points, len(theta)))
    ranges = np.zeros((n_points * n_points, 2), np.int64)
    products = np.zeros((n_points * n_points, 9))
    for j in range(first, last):
        for k in range(j, n_raters):
            ranges[:, 0] = len(theta)
            ranges[:, 1] = 0
            for i in range(n_items):
                x, y = codes[j, i], codes[k, i]
                if x < 0 or y < 0:
                    continue
                cell = x * n_points + y
                low, high = starts[i], ends[i]
                if ranges[cell, 1] == 0:
                    table[cell] = 0.0
                    products[cell] = 0.0
                ranges[cell, 0] = min(ranges[cell, 0], low)
                ranges[cell, 1] = max(ranges[cell, 1], high)
                row, own = table[cell, low:high], weights[places[i] : places[i + 1]]
                for q in range(high - low):
                    row[q] += own[q]
                sums = products[cell]
                for one in range(3):
                    for two in range(3):
                        sums[3 * one + two] -= means[j, i, one] * means[k, i, two]
            for x in range(n_cuts[j] + 1):
                for y in range(n_cuts[k] + 1):
                    cell = x * n_points + y
                    low, high = ranges[cell]
                    if high:
                        _add_products(
                            table[cell, low:high], theta[low:high], rise[j, x, low:high], fall[j, x, low:high],
                            rise[k, y, low:high], fall[k, y, low:high], products[cell],
                        )  # fmt: skip
                        _add_block(products[cell], x, y, n_cuts[j], n_cuts[k], firsts[j], firsts[k], matrix)


@compiled
def _add_products(row, theta, rise_j, fall_j, rise_k, fall_k, sums):
    """Add the expected products of two scores' slopes (rise, fall, both times θ)."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = s8 = 0.0
    for q in range(len(row)):
        w, t = row[q], theta[q]
        r, f, s, g = w * rise_j[q], w * fall_j[q], rise_k[q], fall_k[q]
        u, v = t * (r + f), t * (s + g)
        s0 += r * s
        s1 += r * g
        s2 += r * v
        s3 += f * s
        s4 += f * g
        s5 += f * v
        s6 += u * s
        s7 += u * g
        s8 += u * v
    for at, one in enumerate((s0, s1, s2, s3, s4, s5, s6, s7, s8)):
        sums[at] += one


@compiled
def _add_block(sums, x, y, cuts_j, cuts_k, j, k, matrix):
    """Add the products of two scores' slopes where the parameters of their points are."""
    rows = (j + x - 1 if x > 0 else -1, j + x if x < cuts_j else -1, j + cuts_j)
    columns = (k + y - 1 if y > 0 else -1, k + y if y < cuts_k else -1, k + cuts_k)
    for one in range(3):
        for two in range(3):
            if rows[one] >= 0 and columns[two] >= 0:
                matrix[rows[one], columns[two]] += sums[3 * one + two]


@compiled
def gradients(codes, means, n_cuts, firsts, gradient):
    """Add up the slopes of the log-likelihood."""
    for j in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            x = codes[j, i]
            if x > 0:
                gradient[firsts[j] + x - 1] += means[j, i, 0]
            if 0 <= x < n_cuts[j]:
                gradient[firsts[j] + x] += means[j, i, 1]
            if x >= 0:
                gradient[firsts[j] + n_cuts[j]] += means[j, i, 2]


@compiled
def curvatures(counts, a, d, n_cuts, theta, firsts, matrix):
    """Fill in the negative second derivatives of the expected log-likelihood, a block for each rater."""
    most = d.shape[1]
    gradient, block = np.zeros(most + 1), np.zeros((most + 1, most + 1))
    for j in range(len(a)):
        _complete(counts[j], a[j], d[j], n_cuts[j], theta, gradient, block)
        n = n_cuts[j] + 1
        matrix[firsts[j] : firsts[j] + n, firsts[j] : firsts[j] + n] = block[:n, :n]
