"""Expectations under Beta and Dirichlet distributions, exact from tiny priors to a billion ratings.

Textbook forms of these expectations subtract large numbers that are nearly equal. The forms here add positive ones:

* ``t − ln(1 + t)`` and ``eʸ − 1 − y`` are series where they are small;
* factorials enter through the remainder of Stirling's formula, ``Δ(x) = ln Γ(x) − (x − ½) ln x + x − ½ ln 2π``;
* a share's complement is the sum of the other shares, never 1 minus the share.

Internally, X ~ Beta(A, B) is a share of a Dirichlet distribution and μ = A/(A + B) its mean. scipy is imported on first
use, because importing it is slow.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.levels import Floats

_STEP = 0.3
"""The step of the rule in logit p is this, or less where the distribution is narrow; see :func:`beta_rule`."""
_STEP_OF_SPREAD = 0.4
_DEPTH = 37.0
"""Nodes reach as far as the density is above e⁻³⁷ ≈ 10⁻¹⁶ of its peak."""
_ENDS_BELOW = 8.0
_AS_GOOD_AS_0 = 1e-300
"""Below this, half of a number may be 0."""
_CELLS = 200_000
"""How many nodes × triples are processed at a time: small enough for the cache."""

# Functions that are small differences of large ones ------------------------------------------------------------------


def log1p_rest(t: Floats, ratio: Floats | None = None) -> Floats:
    """Return t − ln(1 + t) ≥ 0, accurately even for small t; infinite at −1.

    ``ratio`` is 1 + t, if it is known with more digits than t has, near −1.
    """
    s = t / (2 + t)  # ln(1 + t) = 2 artanh s, and t − 2s = s·t
    square = s * s
    series = np.zeros_like(s)
    for k in range(19, 1, -2):
        series = series * square + 1 / k
    with np.errstate(divide="ignore"):
        far = t - (np.log1p(t) if ratio is None else np.log(ratio))
    return np.where(np.abs(t) < 0.25, s * t - 2 * s * square * series, far)


def expm1_rest(y: Floats) -> Floats:
    """Return eʸ − 1 − y ≥ 0, accurately even for small y."""
    near = np.where(np.abs(y) < 0.5, y, 0.0)
    series = np.zeros_like(near)
    for k in range(14, 2, -1):
        series = (series + 1) * near / k
    return np.where(np.abs(y) < 0.5, (series + 1) * near * near / 2, np.expm1(y) - y)


def stirling_rest(x: Floats) -> Floats:
    """Return Δ(x) = ln Γ(x) − (x − ½) ln x + x − ½ ln 2π, which is about 1/(12x)."""
    from scipy.special import gammaln

    small = np.where(x < 10, x, 10.0)
    direct = gammaln(small) - (small - 0.5) * np.log(small) + small - 0.5 * np.log(2 * np.pi)
    u = 1 / np.maximum(x, 10.0)
    square = u * u
    series = np.zeros_like(u)
    for coefficient in (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = series * square + coefficient
    return np.where(x < 10, direct, u * series)


_DIGAMMA = (3617 / 8160, -1 / 12, 691 / 32760, -1 / 132, 1 / 240, -1 / 252, 1 / 120, -1 / 12)
"""ψ(x) = ln x − 1/(2x) + Σ_k _DIGAMMA[−k]·x^(−2k)."""


def digamma_rest(x: Floats) -> Floats:
    """Return ψ(x + 1) − ln x > 0, which is about 1/(2x)."""
    from scipy.special import digamma

    small = np.where(x < 12, x, 12.0)
    u = 1 / np.maximum(x, 12.0)
    square = u * u
    series = np.zeros_like(u)
    for coefficient in _DIGAMMA:
        series = (series + coefficient) * square
    return np.where(x < 12, digamma(small + 1) - np.log(small), u / 2 + series)


def digamma_rise(x: Floats, rise: Floats) -> Floats:
    """Return ψ(x + rise) − ψ(x) ≥ 0 for x ≥ 1, accurate to all digits even if the rise is small."""
    total = np.zeros_like(x)
    for k in range(10):  # ψ(x + 1) = ψ(x) + 1/x
        total += rise / ((x + k) * (x + rise + k))
    low, high = 1 / (x + 10), 1 / (x + rise + 10)
    u, v = low * low, high * high
    value = slope = np.zeros_like(u)
    for coefficient in (*_DIGAMMA, 0.0):  # Horner's rule for the series at v and for its slope between u and v
        slope = slope * u + value
        value = value * v + coefficient
    gap = rise * low * high  # low − high
    result: Floats = total + np.log1p(rise * low) + gap / 2 - slope * gap * (low + high)
    return result


def others(a: Floats) -> Floats:
    """Return, for each point (last dimension), the sum over the other points."""
    below = np.cumsum(a, axis=-1)
    above = np.cumsum(a[..., ::-1], axis=-1)[..., ::-1]
    rest = np.zeros_like(a)
    rest[..., 1:] += below[..., :-1]
    rest[..., :-1] += above[..., 1:]
    return rest


# Expectations --------------------------------------------------------------------------------------------------------


def divergence(p: Floats, q: Floats) -> Floats:
    """Return Σ_c p_c ln(p_c/q_c) over the last dimension, as Σ_c p_c·r(q_c/p_c − 1) with r(t) = t − ln(1 + t)."""
    used = ~(p < _AS_GOOD_AS_0)  # true also if p is NaN, which stays
    share = np.where(used, p, 1.0)
    shift = (q - p) / share
    near = np.abs(shift) < 0.25
    with np.errstate(divide="ignore", invalid="ignore"):
        far = p * (np.log(share) - np.log(q)) - p + q
    terms: Floats = np.where(used, np.where(near, p * log1p_rest(np.where(near, shift, 0.0)), far), q)
    return np.asarray(terms.sum(axis=-1))


def mean_distance(a: Floats, b: Floats, c: Floats, rest: Floats) -> Floats:
    """Return E|X − c| for X ~ Beta(a, b); ``rest`` is 1 − c.

    E|X − c| = (c − μ)(2 I_c(a, b) − 1) + 2μ cᵃ(1 − c)ᵇ/(a·B(a, b)), from I_c(a + 1, b) = I_c(a, b) − cᵃ(1 − c)ᵇ/(a·B).
    Stirling's formula makes the last term √(2μ(1 − μ)/(π a₀))·exp(−a₀ KL(μ‖c) − Δ(a) − Δ(b) + Δ(a₀)).
    Since E|X − c| ≥ |c − μ|, no term is much larger than the result.
    """
    from scipy.special import betainc

    swap = c > rest  # |X − c| = |(1 − X) − (1 − c)|: look from the side where c is small and has all its digits
    a, b, c, rest = np.where(swap, b, a), np.where(swap, a, b), np.where(swap, rest, c), np.where(swap, c, rest)
    a0 = a + b
    mean = a / a0
    shift = c - mean
    exponent = a * log1p_rest(shift * a0 / a, c * a0 / a) + b * log1p_rest(-shift * a0 / b, rest * a0 / b)
    exponent += stirling_rest(a) + stirling_rest(b) - stirling_rest(a0)
    peak = np.sqrt(2 / np.pi * mean * (b / a0) / a0) * np.exp(-exponent)
    result: Floats = shift * (2 * betainc(a, b, c) - 1) + peak
    return result


def beta_rule(a: Floats, b: Floats, n: int, *, ends: bool) -> tuple[Floats, Floats]:
    """Return n nodes p and weights w, (…, n), with E f(X) ≈ Σ_k w_k f(p_k) for X ~ Beta(a, b), and the ends 0 and 1.

    This is the trapezoid rule in x = logit p, in which the density pᵃ(1 − p)ᵇ is smooth and falls on both sides, so
    that the error shrinks with e^(−const/step). With ``ends``, f is split into its straight line from f(0) to f(1),
    whose mean is known, and p(1 − p) times a remainder, whose mean is one under Beta(a + 1, b + 1). So distributions
    concentrated at 0 and 1, with a or b far below 1, need no more nodes than others, apart from 0 and 1 themselves.
    """
    shifted = (a + 1, b + 1) if ends else (a, b)
    swap = shifted[0] > shifted[1]
    low, high = np.where(swap, shifted[1], shifted[0]), np.where(swap, shifted[0], shifted[1])
    left, right, _ = _reach(low, high)
    y = left[..., None] + (right - left)[..., None] * np.linspace(0, 1, n)
    mean = (low / (low + high))[..., None]
    weights = np.exp(_fall((low + high)[..., None], mean, y))
    weights /= weights.sum(axis=-1, keepdims=True)
    nodes = mean * np.exp(y) / (1 + mean * np.expm1(y))
    complement = (1 - mean) / (1 + mean * np.expm1(y))
    side = swap[..., None]
    p, rest = np.where(side, complement, nodes), np.where(side, nodes, complement)
    if not ends:
        return p, weights
    a0 = a + b
    weights *= ((a / a0) * (b / (a0 + 1)))[..., None] / (p * rest)
    zero = b / a0 - (weights * rest).sum(axis=-1)
    one = a / a0 - (weights * p).sum(axis=-1)
    edge = np.zeros(p.shape[:-1])[..., None]
    return np.concatenate([edge, p, edge + 1], axis=-1), np.concatenate([zero[..., None], weights, one[..., None]], -1)


def _fall(a0: Floats, mean: Floats, y: Floats) -> Floats:
    """Return the log density in logit p at a distance y from its peak, minus that at the peak."""
    rise = mean * np.expm1(y)
    near = np.abs(y) < 1
    close = log1p_rest(np.where(near, rise, 0.0)) - mean * expm1_rest(np.where(near, y, 0.0))
    result: Floats = a0 * np.where(near, close, mean * y - np.log1p(rise))
    return result


def _reach(low: Floats, high: Floats) -> tuple[Floats, Floats, Floats]:
    """Return how far left and right of the peak nodes are needed, and how many, for low ≤ high.

    Newton's method on the concave log density, started from points certainly too far out, stays outside.
    """
    a0 = low + high
    mean = low / a0
    tau = _DEPTH / (low * (high / a0))
    # The log density falls at least by ab/a₀·(e^(−|y|) − 1 + |y|) ≥ ab/a₀·y²/(2 + |y|), …
    wide = (tau + np.sqrt(tau * (tau + 8))) / 2
    # … everywhere to the right by b·y + a₀ ln μ, and up to the mirror image of the peak by ab/a₀·y²/2.
    root = np.sqrt(2 * tau)
    right = np.minimum(wide, (_DEPTH - a0 * np.log(mean)) / high)
    right = np.where(root <= 2 * np.log(high / low), np.minimum(right, root), right)
    left = np.maximum(-wide, -_DEPTH / low + np.log1p(-mean) / mean)
    for _ in range(4):
        left, right = (
            y - (_fall(a0, mean, y) + _DEPTH) / (low * ((1 - mean) * -np.expm1(y) / (1 + mean * np.expm1(y))))
            for y in (left, right)
        )
    spread = np.sqrt(1 / low + 0.5 / low**2 + 1 / high + 0.5 / high**2)  # at most that of logit p
    return left, right, np.ceil((right - left) / np.minimum(_STEP, _STEP_OF_SPREAD * spread)) + 1


# Jensen–Shannon ------------------------------------------------------------------------------------------------------


def mean_js_terms(a: Floats, b: Floats, q: Floats) -> Floats:
    """Return E[½X ln X + ½q ln q − m ln m], m = (X + q)/2, for X ~ Beta(a, b): a point's part of E[JS]; all are 1-D.

    Equal (a, b) share their nodes.
    """
    pairs, inverse = np.unique(a + 1j * b, return_inverse=True)
    a, b = pairs.real.copy(), pairs.imag.copy()
    ends = np.minimum(a, b) < _ENDS_BELOW
    one, other = a + ends, b + ends
    n_nodes = _reach(np.minimum(one, other), np.maximum(one, other))[2].astype(int)
    order = np.lexsort((n_nodes, ends))  # neighbours need about as many nodes of the same kind
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    by_pair = np.argsort(rank[inverse], kind="stable")
    place = rank[inverse][by_pair]
    result = np.empty_like(q)
    start, n_plain = 0, int((~ends).sum())
    first_with_ends = int(np.searchsorted(place, n_plain))
    while start < len(by_pair):
        with_ends = start >= first_with_ends
        stop = min(start + max(1, _CELLS // int(n_nodes[order[place[start]]])), len(by_pair))
        if not with_ends:
            stop = min(stop, first_with_ends)
        lowest, highest = place[start], place[stop - 1] + 1
        chosen = order[lowest:highest]
        p, w = beta_rule(a[chosen], b[chosen], int(n_nodes[chosen].max()), ends=with_ends)
        rows = by_pair[start:stop]
        result[rows] = (_apart if with_ends else _close)(p, w, place[start:stop] - lowest, q[rows])
        start = stop
    return result


def _apart(p: Floats, w: Floats, of: NDArray[np.intp], q: Floats) -> Floats:
    """Return the parts of E[JS] if X is spread out: the difference of means of x ln x."""
    m = p[of]
    m += q[:, None]
    m /= 2
    own = (w * p * np.log(np.maximum(p, 1e-300))).sum(axis=-1) / 2
    logs = np.log(np.maximum(m, 1e-300))
    logs *= m
    result: Floats = own[of] + q * np.log(np.maximum(q, 1e-300)) / 2 - np.einsum("ij,ij->i", logs, w[of])
    return result


def _close(p: Floats, w: Floats, of: NDArray[np.intp], q: Floats) -> Floats:
    """Return the parts of E[JS] if X may be close to q: E[m·(d artanh d + ½ ln(1 − d²))], d = (X − m)/m."""
    p, column = p[of], q[:, None]
    m = (p + column) / 2
    d = (p - column) / (2 * m)
    inner = np.clip(d, -0.9, 0.9)
    series = inner * np.arctanh(inner) + np.log1p(-inner * inner) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(np.abs(d) < 1, (1 + d) * np.log1p(d) + (1 - d) * np.log1p(-d), 2 * np.log(2)) / 2
    result: Floats = np.einsum("ij,ij->i", m * np.where(np.abs(d) < 0.9, series, logs), w[of])
    return result
