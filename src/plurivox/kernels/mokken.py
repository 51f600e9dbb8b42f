# mypy: disable-error-code="no-untyped-def"
"""Covariances of raters' scores, the largest that their margins allow, and what each item adds to both.

Everything about a pair of raters follows from the table of their joint scores, which takes one look at each item; a
second look adds up what each item does to a rater's sums over pairs. Pairs are taken in one order, so that sums are the
same each time.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled

# Where each number of a pair stands in the first dimension of ``pairs``.
COVARIANCE, LARGEST, SPREAD, ERROR = range(4)
N_NUMBERS = 4


@compiled
def pair_sums(codes, steps, pairs, n_common, added):
    """Fill in what every two raters have in common.

    ``codes``, raters × items, are points, the number of points where a score is missing. ``steps`` are the
    distances from each point to the one before it, 0 for the first. ``pairs``, numbers × raters × raters, gets the
    covariance, the largest possible one, the product of both variances over n − 1, and the standard error of their
    ratio; NaN where a rater gave one score only. ``added``, (covariance, largest) × raters × items, gets the influence
    of each item on a rater's sums over pairs.
    """
    n_raters, n_items = codes.shape
    n_points = len(steps)
    width = n_points + 1
    joint = np.zeros(width * width, np.int64)
    rows, columns = np.zeros(n_points, np.int64), np.zeros(n_points, np.int64)
    heights = np.cumsum(steps)
    influence = np.zeros((2, width * width))
    bends = np.zeros((2, n_points))
    for i in range(n_raters):
        for j in range(i + 1, n_raters):
            joint[:] = 0
            for t in range(n_items):
                joint[codes[i, t] * width + codes[j, t]] += 1
            n, used_i, used_j = _margins(joint, width, rows, columns)
            n_common[i, j] = n_common[j, i] = n
            if n < 2 or used_i < 2 or used_j < 2:
                pairs[:, i, j] = pairs[:, j, i] = np.nan
                continue
            covariance, largest, spread = _pair(joint, rows, columns, heights, steps, n, influence, bends)
            if not largest > 0:  # steps so small that their products vanish
                pairs[:, i, j] = pairs[:, j, i] = np.nan
                continue
            h = covariance / largest
            squares = 0.0
            for x in range(n_points):
                for y in range(n_points):
                    cell = x * width + y
                    if joint[cell]:
                        one = influence[0, cell] - h * influence[1, cell]
                        squares += joint[cell] * one * one
            pairs[COVARIANCE, i, j] = pairs[COVARIANCE, j, i] = covariance
            pairs[LARGEST, i, j] = pairs[LARGEST, j, i] = largest
            pairs[SPREAD, i, j] = pairs[SPREAD, j, i] = spread
            pairs[ERROR, i, j] = pairs[ERROR, j, i] = np.sqrt(squares) / largest
            for t in range(n_items):
                cell = codes[i, t] * width + codes[j, t]
                first, second = influence[0, cell], influence[1, cell]
                added[0, i, t] += first
                added[1, i, t] += second
                added[0, j, t] += first
                added[1, j, t] += second


@compiled
def _margins(joint, width, rows, columns):
    """Count each rater's points among the items that both scored; return how many these are, and points used."""
    n_points = width - 1
    rows[:] = 0
    columns[:] = 0
    n = 0
    for x in range(n_points):
        for y in range(n_points):
            count = joint[x * width + y]
            rows[x] += count
            columns[y] += count
            n += count
    n_rows, n_columns = 0, 0
    for x in range(n_points):
        n_rows += rows[x] > 0
        n_columns += columns[x] > 0
    return n, n_rows, n_columns


@compiled
def _pair(joint, rows, columns, heights, steps, n, influence, bends):
    """Return covariance, largest covariance and spread of a pair, and fill in an item's influence on the first two.

    By Hoeffding, cov(X, Y) = Σ_a Σ_b step_a·step_b·[P(X ≥ a, Y ≥ b) − P(X ≥ a)·P(Y ≥ b)], largest where the joint
    probability is the smaller of both; counts are whole numbers, so that nothing cancels.
    """
    n_points = len(heights)
    width = n_points + 1
    covariance = largest = mean_x = mean_y = square_x = square_y = 0.0
    above_x = n
    for a in range(1, n_points):
        above_x -= rows[a - 1]
        above_y, both = n, above_x
        for b in range(1, n_points):
            above_y -= columns[b - 1]
            for x in range(a, n_points):
                both -= joint[x * width + b - 1]
            weight = steps[a] * steps[b] / n / n
            covariance += weight * (n * both - above_x * above_y)
            largest += weight * (n * min(above_x, above_y) - above_x * above_y)
    for x in range(n_points):
        mean_x += rows[x] * heights[x] / n
        mean_y += columns[x] * heights[x] / n
    for x in range(n_points):
        square_x += rows[x] * (heights[x] - mean_x) ** 2
        square_y += columns[x] * (heights[x] - mean_y) ** 2
    together = _bend(rows, columns, steps, n, bends[0])
    _bend(columns, rows, steps, n, bends[1])
    unbiased = n / (n - 1)
    for x in range(n_points):
        for y in range(n_points):
            cell = x * width + y
            if joint[cell]:
                off_x, off_y = heights[x] - mean_x, heights[y] - mean_y
                influence[0, cell] = (off_x * off_y - covariance) / n * unbiased
                bent = bends[0, x] + bends[1, y] - together - off_x * mean_y - off_y * mean_x
                influence[1, cell] = bent / n * unbiased
    return covariance * unbiased, largest * unbiased, square_x * square_y / (n - 1) ** 3


@compiled
def _bend(own, other, steps, n, bend):
    """Fill in how E[XY] of scores that rise together changes with a rater's point, and return it.

    The smaller of P(X ≥ a) and P(Y ≥ b) changes with its own rater; where both are equal, half with each.
    """
    n_points = len(steps)
    total = 0.0
    above = n
    bend[0] = 0.0
    for a in range(1, n_points):
        above -= own[a - 1]
        more = 0.0
        other_above = n
        for b in range(1, n_points):
            other_above -= other[b - 1]
            total += steps[a] * steps[b] * min(above, other_above) / n
            if above < other_above:
                more += steps[b]
            elif above == other_above:
                more += 0.5 * steps[b]
        bend[a] = bend[a - 1] + steps[a] * more
    return total
