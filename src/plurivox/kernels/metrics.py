# mypy: disable-error-code="no-untyped-def"
"""Metrics of a table of score × reference point, at every boundary b where reference points from b on mean 1.

From one boundary to the next a single column of the table changes sides, so that zeros are added up on the way, and
what does not depend on the boundary (sizes, ranks, Σ n_s² and Σ n_s·rank²) is found once for all of them::

                t = 0   1  │  2   3        boundary b = 2
    score s   [  4      1  │  0   0 ]      zero_s = table[s, :b].sum(),  one_s = table[s, b:].sum()
    score s+1 [  1      2  │  3   1 ]

With these two numbers of each score, one walk from the lowest to the highest score has every metric.
"""

from __future__ import annotations

import numpy as np

from plurivox.kernels import compiled

# Where each metric stands in the last dimension of ``values``.
MPA_RAW, MPA, WRA, HM, HM_OF_MEANS, AUROC, TAU_B, RHO, AP = range(9)
N_VALUES = 9


@compiled
def _harmonic(a, b, capped):
    """Return the harmonic mean; of two zeros it is 0, but in the paper's listing undefined."""
    if a + b == 0:
        return 0.0 if capped else np.nan
    return 2 * a * b / (a + b)


# Rows of ``work``, each with one number per score.
ONE, ZERO, SIZE, RANK, ABOVE = range(5)


@compiled
def make_work(n_points):
    """Return room for the numbers of one table."""
    return np.zeros((5, n_points))


@compiled
def _margins(table, work):
    """Fill in what all boundaries share: samples of each score, its rank from the middle, 1 / samples from it on.

    Return the number of samples and of scores used, Σ n_s² and Σ n_s·rank².
    """
    n_points, n_reference = table.shape
    total = 0.0
    for s in range(n_points):
        n = 0.0
        for t in range(n_reference):
            n += table[s, t]
        work[SIZE, s] = n
        work[ZERO, s] = 0.0
        total += n
    n_used = 0
    below = squares = spread = 0.0
    for s in range(n_points):
        n = work[SIZE, s]
        rank = below + 0.5 * n - 0.5 * total
        work[RANK, s] = rank
        work[ABOVE, s] = 1.0 / (total - below) if n > 0 else 0.0
        squares += n * n
        spread += n * rank * rank
        below += n
        n_used += n > 0
    return total, n_used, squares, spread


@compiled
def _split(table, b, work):
    """Split the samples at boundary b, coming from boundary b - 1, and return how many are 1 and 0."""
    n_points, n_reference = table.shape
    n_one = n_zero = 0.0
    for s in range(n_points):
        work[ZERO, s] += table[s, b - 1]
        high = 0.0
        for t in range(b, n_reference):
            high += table[s, t]
        work[ONE, s] = high
        n_zero += work[ZERO, s]
        n_one += high
    return n_one, n_zero


@compiled
def _metrics(work, n_one, n_zero, n_used, squares, spread, capped):
    """Return the metrics of one boundary where both classes are there, in their order but without the HM of means.

    ``plurivox.statistics.responsiveness`` has each of them on its own and explained. Where MPA is not ``capped`` at 0,
    it is the raw one, as the paper's listing has it.
    """
    n_points = work.shape[1]
    area = highest = sum_highest = n_lower = 0.0
    concordant = tied = joint = average = 0.0
    zero_below = one_below = 0.0
    for s in range(n_points):
        if work[SIZE, s] == 0:
            continue
        one, zero = work[ONE, s], work[ZERO, s]
        precision = one / (one + zero)
        area += n_lower * precision - sum_highest
        highest = max(highest, precision)
        sum_highest += highest
        n_lower += 1.0
        concordant += one * zero_below
        tied += one * zero
        joint += one * work[RANK, s]
        average += one * (n_one - one_below) * work[ABOVE, s]  # the precision from this score on
        one_below += one
        zero_below += zero
    pairs, total = n_one * n_zero, n_one + n_zero
    raw = area / (((n_points + 1) // 2) * (n_points // 2))
    mpa = max(0.0, raw) if capped else raw
    wra = concordant / pairs
    tau_b = rho = np.nan
    if n_used > 1:
        tau_b = (2 * concordant + tied - pairs) / np.sqrt(0.5 * (total * total - squares) * pairs)
        rho = joint / np.sqrt(spread * pairs / total)
    auroc = (concordant + 0.5 * tied) / pairs
    return raw, mpa, wra, _harmonic(mpa, wra, capped), auroc, tau_b, rho, average / n_one


@compiled
def boundary_values(table, capped, values):
    """Fill ``values[b - 1]`` with the metrics at boundary b; those of a single class are NaN but for raw MPA, 0."""
    work = make_work(len(table))
    values[:] = np.nan
    total, n_used, squares, spread = _margins(table, work)
    for b in range(1, table.shape[1]):
        n_one, n_zero = _split(table, b, work)
        at = values[b - 1]
        if n_one > 0 and n_zero > 0:
            found = _metrics(work, n_one, n_zero, n_used, squares, spread, capped)
            at[MPA_RAW], at[MPA], at[WRA], at[HM] = found[:4]
            at[AUROC], at[TAU_B], at[RHO], at[AP] = found[4:]
        elif total > 0:
            at[MPA_RAW] = 0.0


@compiled
def macro(table, capped, work):
    """Return the means of all metrics over the boundaries where both classes are there.

    Raw MPA is 0 at a boundary with a single class, and stays so where no boundary has two.
    """
    total, n_used, squares, spread = _margins(table, work)
    raw = mpa = wra = hm = auroc = tau_b = rho = average = 0.0
    n = 0.0
    for b in range(1, table.shape[1]):
        n_one, n_zero = _split(table, b, work)
        if n_one == 0 or n_zero == 0:
            continue
        at = _metrics(work, n_one, n_zero, n_used, squares, spread, capped)
        raw += at[0]
        mpa += at[1]
        wra += at[2]
        hm += at[3]
        auroc += at[4]
        tau_b += at[5]
        rho += at[6]
        average += at[7]
        n += 1.0
    if n == 0:
        nan = np.nan
        return 0.0 if total > 0 else nan, nan, nan, nan, nan, nan, nan, nan, nan
    mean = _harmonic(mpa / n, wra / n, capped)
    return raw / n, mpa / n, wra / n, hm / n, mean, auroc / n, tau_b / n, rho / n, average / n


@compiled
def macro_values(tables, capped, values):
    """Fill ``values[g]`` with the metrics of each table, averaged over boundaries."""
    work = make_work(tables.shape[1])
    for g in range(len(tables)):
        found = macro(tables[g], capped, work)
        for m in range(N_VALUES):
            values[g, m] = found[m]
