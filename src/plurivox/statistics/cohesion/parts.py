"""What items contribute to the statistics of cohesion, and how the sums become numbers.

A statistic is a sum over items, then a finish. ``…_parts`` turns the counts of items (items, …, points) into the
parts of each item (items, …, parts), and ``…_from`` turns sums of parts into values::

    counts (items, …, L) ──…_parts──▶ (items, …, P) ──Σ over items──▶ (…, P) ──…_from──▶ (…)

Dimensions between items and the last, such as groups, pass through a contribution. Leading dimensions, such as draws
and groups, pass through a finish. An undefined value is NaN, and :mod:`~plurivox.statistics.undefined` says why. Sums
over parts of the items can be added; weights of a bootstrap over items multiply the parts.

============================== ================ ================================================== ================
contribution                   parts of an item layout (zeros for items that do not count)         items that count
============================== ================ ================================================== ================
alpha_nominal_parts            1 + L            agreeing coincidences Σ_c O_cc; counts n           m ≥ 2
alpha_interval_parts           1 + L            disagreement Σ_ck O_ck δ_ck; counts n              m ≥ 2
alpha_parts                    L × L            coincidences O, which sum to m and by row to n     m ≥ 2
xrr_nominal_parts              1 + 2L           agreeing pairs Σ_c B_cc; counts x; counts y        R, S ≥ 1
xrr_interval_parts             1 + 2L           disagreement Σ_ck B_ck δ_ck; counts x; counts y    R, S ≥ 1
xrr_parts                      (L + 2) × L      pairs B, which sum to R + S; counts x; counts y    R, S ≥ 1
plurality_parts                2                largest share; 1                                   m ≥ 1
entropy_parts                  2                entropy; 1                                         m ≥ 1
cross_entropy_parts            2                cross-entropy; 1                                   R, S ≥ 1
voting_parts                   1 + 2L           agreement of votes Σ_c V_cc; votes x; votes y      R, S ≥ 1
percent_agreement_parts        2                share of agreeing pairs; 1                         m ≥ 2
ac_parts                       3 + L            weighted share of agreeing pairs; 1; 1; shares n/m m ≥ 2; 2; 1; 1
============================== ================ ================================================== ================

n, x, y are counts over the points c, k of a scale of L points; m, R, S their sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.checks import Floats, Level, distances
from plurivox.statistics.records import About, Known, Slots

Counts = NDArray[Any]
Sums = NDArray[Any] | float
GRASP = (
    "Prabhakaran et al. (2024), GRASP: A Disagreement Analysis Framework to Assess Group Associations in Perspectives"
)
"""A reference of many records."""
ROUNDING = 1e-12
"""A cross-agreement, or a share of a sum of squares, of at most this is 0 up to rounding."""


# Krippendorff's alpha ------------------------------------------------------------------------------------------------


def alpha_nominal_parts(counts: Counts) -> Floats:
    """Contribute Σ_c n_c(n_c − 1)/(m − 1) and n; (items, …, 1 + L)."""
    n, m, _ = pairable(counts)
    return _packed((n * (n - 1)).sum(axis=-1) / np.maximum(m - 1, 1), n)


def alpha_nominal_from(agreeing: Sums, marginals: Counts, *, self_pairs: Sums | None = None) -> Floats:
    """Return alpha of agreeing coincidences (…) and marginals (…, L): 0 and 1 are the only distances.

    ``self_pairs`` is Σ w² over ratings of weight w in a bootstrap over raters, n if each counts once: pairs of a rating
    with itself, which the chance term leaves out.
    """
    marginals, n = _summed(marginals)
    expected = (marginals * (n[..., None] - marginals)).sum(axis=-1)  # n² − Σ n_c², and exactly 0 if one point is used
    return _corrected((n - agreeing) * _chance_pairs(n, self_pairs), n * expected)


def alpha_interval_parts(counts: Counts, values: Floats) -> Floats:
    """Contribute Σ_ck n_c n_k (v_c − v_k)²/(m − 1) = 2m²·variance/(m − 1) and n; (items, …, 1 + L)."""
    n, m, _ = pairable(counts)
    return _packed(2 * m**2 * moments(n, values)[1] / np.maximum(m - 1, 1), n)


def alpha_interval_from(
    disagreement: Sums, marginals: Counts, values: Floats, *, self_pairs: Sums | None = None
) -> Floats:
    """Return alpha of disagreement (…) and marginals (…, L), with the squared difference of values as distance."""
    marginals, n = _summed(marginals)
    expected = 2 * n**2 * moments(marginals, values)[1]
    return _corrected(disagreement * _chance_pairs(n, self_pairs), n * expected)


def alpha_parts(counts: Counts) -> Floats:
    """Contribute the coincidences n_c(n_k − [c = k])/(m − 1); (items, …, L, L)."""
    n, m, _ = pairable(counts)
    pairs = n[..., :, None] * (n[..., None, :] - np.eye(n.shape[-1]))
    return pairs / np.maximum(m - 1, 1)[..., None, None]


def alpha_sum(counts: Counts) -> Floats:
    """Return the sum of :func:`alpha_parts` over items, (items, L) → (L, L), without a matrix for each item.

    Items with the same number of ratings are added as a product of integer matrices, which is exact in any order.
    """
    n, m, _ = pairable(counts)
    total = np.zeros((n.shape[1], n.shape[1]))
    for size in np.unique(m[m > 0]):
        rows = n[m == size]
        total += (rows.T @ rows - np.diag(rows.sum(axis=0))) / (size - 1)
    return total


def weighted_alpha_sum(counts: Counts, self_pairs: Counts) -> Floats:
    """Return the sum of coincidences over items if raters have weights, (items, L) and Q = Σw² (items,) → (L, L).

    Two points of an item coincide W/(W² − Q)·n_c n_k times. The remainder of n_c is on the diagonal, which has no
    distance, so that rows add up to the marginals.
    """
    n, m, q = pairable(counts, self_pairs)
    found = (n * (m / np.where(m > 0, m * m - q, 1.0))[:, None]).T @ n
    np.fill_diagonal(found, 0.0)
    np.fill_diagonal(found, n.sum(axis=0) - found.sum(axis=1))
    return np.asarray(found, dtype=float)


def alpha_from(
    coincidences: Counts, level: Level = "nominal", values: Floats | None = None, *, self_pairs: Sums | None = None
) -> Floats:
    """Return alpha of coincidences (…, L, L), whose row sums are the marginals, at any level."""
    marginals, n = _summed(coincidences.sum(axis=-1))
    delta = distances(level, marginals, values)
    expected = _weighed(marginals, delta, marginals)
    return _corrected((coincidences * delta).sum(axis=(-2, -1)) * _chance_pairs(n, self_pairs), n * expected)


# Cross-replication reliability ---------------------------------------------------------------------------------------


def xrr_nominal_parts(counts_x: Counts, counts_y: Counts) -> Floats:
    """Contribute (R + S)/(R·S)·Σ_c x_c y_c, x and y; (items, …, 1 + 2L)."""
    x, y, r, s = _common(counts_x, counts_y)
    return _packed((r + s) * (x * y).sum(axis=-1) / np.maximum(r * s, 1), x, y)


def xrr_nominal_from(agreeing: Sums, marginals_x: Counts, marginals_y: Counts) -> Floats:
    """Return XRR of agreeing pairs (…) and both marginals (…, L): 0 and 1 are the only distances."""
    (x, r), (y, s) = _summed(marginals_x), _summed(marginals_y)
    expected = (x * (s[..., None] - y)).sum(axis=-1)  # R·S − Σ X_c Y_c
    return _corrected((r + s - agreeing) * r * s, (r + s) * expected)


def xrr_interval_parts(counts_x: Counts, counts_y: Counts, values: Floats) -> Floats:
    """Contribute (R + S)·mean over pairs of (v_c − v_k)², x and y; (items, …, 1 + 2L)."""
    x, y, r, s = _common(counts_x, counts_y)
    return _packed((r + s) * _mean_square(x, y, values), x, y)


def xrr_interval_from(disagreement: Sums, marginals_x: Counts, marginals_y: Counts, values: Floats) -> Floats:
    """Return XRR of disagreement (…) and both marginals (…, L), with the squared difference of values as distance."""
    (x, r), (y, s) = _summed(marginals_x), _summed(marginals_y)
    return _corrected(disagreement, (r + s) * _mean_square(x, y, values))


def xrr_parts(counts_x: Counts, counts_y: Counts) -> Floats:
    """Contribute B = (R + S)/(R·S)·x_c y_k, then x and y as two more rows; (items, …, L + 2, L)."""
    x, y, r, s = _common(counts_x, counts_y)
    weight = ((r + s) / np.maximum(r * s, 1))[..., None, None]
    return np.concatenate([weight * x[..., :, None] * y[..., None, :], x[..., None, :], y[..., None, :]], axis=-2)


def xrr_sum(counts_x: Counts, counts_y: Counts) -> Floats:
    """Return the sum of :func:`xrr_parts` over items, (items, L) twice → (L + 2, L), as :func:`alpha_sum` does."""
    x, y, r, s = _common(counts_x, counts_y)
    pairs = np.zeros((x.shape[1], x.shape[1]))
    sizes, kind = np.unique(np.stack([r, s], axis=1), axis=0, return_inverse=True)
    for code, (size_x, size_y) in enumerate(sizes):
        if size_x > 0:
            pairs += (size_x + size_y) * (x[kind == code].T @ y[kind == code]) / (size_x * size_y)
    return np.vstack([pairs, x.sum(axis=0), y.sum(axis=0)])


def weighted_xrr_sum(counts_x: Counts, counts_y: Counts) -> Floats:
    """Return :func:`xrr_sum` for counts that are sums of weights, where few items have the same sum."""
    x, y, r, s = _common(counts_x, counts_y)
    pairs = (x * ((r + s) / np.where(r * s > 0, r * s, 1.0))[:, None]).T @ y
    return np.vstack([pairs, x.sum(axis=0), y.sum(axis=0)])


def xrr_from(
    pairs: Counts, marginals_x: Counts, marginals_y: Counts, level: Level = "nominal", values: Floats | None = None
) -> Floats:
    """Return XRR of pairs B (…, L, L) and both marginals (…, L) at any level; ordinal ranks pool both sides."""
    (x, r), (y, s) = _summed(marginals_x), _summed(marginals_y)
    delta = distances(level, x + y, values)
    return _corrected((pairs * delta).sum(axis=(-2, -1)) * r * s, (r + s) * _weighed(x, delta, y))


def gai_from(irr: Sums, xrr: Sums) -> Floats:
    """Return IRR/XRR; NaN where XRR is not above chance, or where either is undefined."""
    return ratio(irr, np.where(xrr > ROUNDING, xrr, np.nan))


# Means over items ----------------------------------------------------------------------------------------------------


def plurality_parts(counts: Counts) -> Floats:
    """Contribute max_c n_c/m and 1; (items, …, 2)."""
    p = shares_of(counts)
    return _packed(p.max(axis=-1), _any(p))


def percent_agreement_parts(counts: Counts, self_pairs: Counts | None = None) -> Floats:
    """Contribute Σ_c n_c(n_c − 1)/(m(m − 1)) and 1; (items, …, 2).

    A rater of weight w counts w times and never pairs with themselves: with ``self_pairs``, Q = Σw² for each item, the
    agreeing share of pairs is (Σ_c n_c² − Q)/(m² − Q).
    """
    n, m, q = pairable(counts, self_pairs)
    return _packed(((n * n).sum(axis=-1) - q) / np.where(m * m > q, m * m - q, 1), _any(n))


def entropy_parts(counts: Counts) -> Floats:
    """Contribute −Σ_c p_c ln p_c with p = n/m, and 1; (items, …, 2)."""
    p = shares_of(counts)
    return _packed(-(p * np.log(np.where(p > 0, p, 1.0))).sum(axis=-1), _any(p))


def cross_entropy_parts(
    counts_x: Counts, counts_y: Counts, smoothing: float = 0.5, *, published: bool = False
) -> Floats:
    """Contribute −Σ_c x_c/R·ln q_c with q = (y + smoothing)/(S + L·smoothing), and 1; (items, …, 2).

    Without smoothing, it is infinite if x has a point that y lacks. ``published`` uses plain shares and counts an item
    as 0 if any point is empty in y: this is wrong, but the published numbers rest on it.
    """
    x, y, r, s = _common(counts_x, counts_y)
    if published:
        smoothing = 0.0
        x = np.where((y > 0).all(axis=-1, keepdims=True), x, 0.0)
    p = shares_of(x)
    q = (y + smoothing) / (np.maximum(s, 1) + y.shape[-1] * smoothing)[..., None]
    logarithm = np.full_like(q, -np.inf)
    np.log(q, out=logarithm, where=q > 0)
    terms = np.where(p > 0, logarithm, 0.0)
    return _packed(-(p * terms).sum(axis=-1), r[..., None] > 0)


def negentropy_from(total: Sums, count: Sums, n_points: int) -> Floats:
    """Return ln L minus the mean (cross-)entropy of items."""
    value: Floats = np.log(n_points) - ratio(total, count)
    return value


# Votes of two sides --------------------------------------------------------------------------------------------------


def voting_parts(votes_x: Counts, votes_y: Counts) -> Floats:
    """Contribute Σ_c x̃_c ỹ_c and the votes x̃, ỹ of items on which both sides have one; (items, …, 1 + 2L)."""
    both = _any(votes_x) & _any(votes_y)
    x, y = np.where(both, votes_x, 0.0), np.where(both, votes_y, 0.0)
    return _packed((x * y).sum(axis=-1), x, y)


def voting_from(agreeing: Sums, votes_x: Counts, votes_y: Counts) -> Floats:
    """Return the nominal alpha of two votes per item: coincidences V + Vᵀ, so 2Σ_c V_cc agree."""
    return alpha_nominal_from(2 * agreeing, votes_x + votes_y)


# Gwet's coefficients -------------------------------------------------------------------------------------------------


def ac_parts(counts: Counts, values: Floats | None = None, *, self_pairs: Counts | None = None) -> Floats:
    """Contribute p_a, 1 if m ≥ 2, 1 if m ≥ 1, and n/m; (items, …, 3 + L).

    p_a = Σ_c n_c(n*_c − 1)/(m(m − 1)) with n* = Σ_k w_ck n_k: agreement counts fully or not at all (AC1) or, with
    values, by quadratic weights w = 1 − (v_c − v_k)²/range² (AC2), for which p_a = 1 − 2m·variance/((m − 1)·range²).
    ``self_pairs`` is as in :func:`percent_agreement_parts`; m − 1 is then (m² − Q)/m.
    """
    shares = shares_of(counts)
    if values is None:
        parts = percent_agreement_parts(counts, self_pairs)
    else:
        n, m, q = pairable(counts, self_pairs)
        others = (m * m - q) / np.where(m > 0, m, 1)
        lost = 2 * m * moments(n, values)[1] / (np.where(others > 0, others, 1) * (values[-1] - values[0]) ** 2)
        parts = _packed(np.where(m > 0, 1 - lost, 0.0), _any(n))
    return np.concatenate([parts, _any(shares), shares], axis=-1)


def ac_from(agreement: Sums, n_pairable: Sums, n_rated: Sums, shares: Counts, values: Floats | None = None) -> Floats:
    """Return (p_a − p_e)/(1 − p_e) of sums (…) and shares (…, L): AC1, or AC2 if values are given."""
    n_points = shares.shape[-1]
    pi = ratio(shares, np.asarray(n_rated)[..., None])
    weight = float(n_points)
    if values is not None:
        spread = moments(np.ones(n_points), values)[1] / (values[-1] - values[0]) ** 2
        weight = n_points**2 * (1 - 2 * float(spread))  # Σ_ck w_ck
    chance = weight / (n_points * (n_points - 1)) * (pi * (1 - pi)).sum(axis=-1)
    value: Floats = (ratio(agreement, n_pairable) - chance) / (1 - chance)
    return value


# What they share -----------------------------------------------------------------------------------------------------


def _packed(first: Counts, *rest: Counts) -> Floats:
    """Put one number and some vectors into one row of parts."""
    return np.concatenate([first[..., None], *rest], axis=-1)


def _any(counts: Counts) -> NDArray[np.bool_]:
    """Return which items have a rating; the last dimension stays, with length 1."""
    found: NDArray[np.bool_] = np.any(counts, axis=-1, keepdims=True)
    return found


def _summed(marginals: Counts) -> tuple[Floats, Floats]:
    """Return marginals as floats, since cubes of whole numbers would overflow, and their sum."""
    n = np.asarray(marginals, dtype=float)
    return n, n.sum(axis=-1)


def pairable(counts: Counts, self_pairs: Counts | None = None) -> tuple[Floats, Floats, Floats]:
    """Return counts, their sums m and Q = Σw² (m if every rater counts once), 0 for items without a pair: m² = Q."""
    n = np.asarray(counts, dtype=float)
    m = n.sum(axis=-1)
    q = m if self_pairs is None else np.asarray(self_pairs, dtype=float)
    paired = m * m > q
    return np.where(paired[..., None], n, 0.0), np.where(paired, m, 0.0), np.where(paired, q, 0.0)


def _common(counts_x: Counts, counts_y: Counts) -> tuple[Floats, Floats, Floats, Floats]:
    """Return both sides' counts and their sums, 0 for items that only one side rated."""
    x, y = np.asarray(counts_x, dtype=float), np.asarray(counts_y, dtype=float)
    both = _any(x) & _any(y)
    x, y = np.where(both, x, 0.0), np.where(both, y, 0.0)
    return x, y, x.sum(axis=-1), y.sum(axis=-1)


def shares_of(counts: Counts) -> Floats:
    """Return the shares of the points, 0 everywhere for items without ratings."""
    total = counts.sum(axis=-1, keepdims=True)
    shares: Floats = counts / np.where(total > 0, total, 1)
    return shares


def moments(weights: Counts, values: Floats) -> tuple[Floats, Floats]:
    """Return the weighted mean and variance of values, measured from the lowest so that little cancels.

    If one point is used, its share is exactly 1 and the variance exactly 0, on which the finishes rely.
    """
    share, height = shares_of(weights), values - values[0]
    mean = (share * height).sum(axis=-1)
    return mean, (share * (height - mean[..., None]) ** 2).sum(axis=-1)


def _mean_square(x: Counts, y: Counts, values: Floats) -> Floats:
    """Return the mean of (v_c − v_k)² over pairs: the sum of both variances and the squared difference of means."""
    (mean_x, variance_x), (mean_y, variance_y) = moments(x, values), moments(y, values)
    mean: Floats = variance_x + variance_y + (mean_x - mean_y) ** 2
    return mean


def _weighed(marginals_x: Counts, delta: Floats, marginals_y: Counts) -> Floats:
    """Return Σ_ck X_c δ_ck Y_k."""
    total: Floats = (marginals_x * (delta @ marginals_y[..., None])[..., 0]).sum(axis=-1)
    return total


def _chance_pairs(n: Floats, self_pairs: Sums | None) -> Floats:
    """Return how many ordered pairs of different ratings there are."""
    pairs: Floats = n * n - (n if self_pairs is None else self_pairs)
    return pairs


def ratio(above: Sums, below: Sums) -> Floats:
    """Return a quotient, NaN where the divisor is not above 0."""
    numerator, divisor = np.broadcast_arrays(np.asarray(above, dtype=float), np.asarray(below, dtype=float))
    quotient: Floats = np.full(numerator.shape, np.nan)
    np.divide(numerator, divisor, out=quotient, where=divisor > 0)
    return quotient


def _corrected(observed: Sums, expected: Sums) -> Floats:
    """Return 1 − observed/expected disagreement."""
    return 1 - ratio(observed, expected)


# Sums -----------------------------------------------------------------------------------------------------------------
#
# What further sums over items share: pairs of ratings, and spread.
#
# Counts n are (items, …, L). In a bootstrap over raters they are sums of the raters' weights w, and ``self_pairs`` Q
# (items, …) is Σw² for each item. A rater of weight w is w copies of one person. Copies do not pair with each other,
# so an item with the total W has W² − Q ordered pairs. If every rater counts once, Q = W = m, and these are m(m − 1).


def paired(counts: Counts, self_pairs: Counts | None = None) -> tuple[Floats, Floats, Floats, Floats]:
    """Return the counts as floats, their totals W, self-pairs Q and the ordered pairs of different raters W² − Q."""
    n = np.asarray(counts, dtype=float)
    total: Floats = n.sum(axis=-1)
    q = total if self_pairs is None else np.asarray(self_pairs, dtype=float)
    return n, total, q, total**2 - q


def squares_of(counts: Counts, values: Floats) -> Floats:
    """Return Σ_c n_c(v_c − mean)², exactly 0 where one point was used, since its share is exactly 1."""
    squares: Floats = counts.sum(axis=-1) * moments(counts, values)[1]
    return squares


def mean_of(name: str, s: Slots, about: About, known: Known) -> Floats:
    """Finish a statistic whose first two sums are a total and how many items count."""
    return ratio(s[name][..., 0], s[name][..., 1])


def of_sums(function: Callable[..., Floats], names: tuple[str, ...], s: Slots, about: About, known: Known) -> Floats:
    """Finish with a function of some sums."""
    return function(*(s[name] for name in names))
