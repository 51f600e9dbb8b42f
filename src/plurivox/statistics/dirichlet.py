"""Expectations under Beta and Dirichlet distributions, exact from tiny priors to a billion ratings.

Textbook forms of these expectations subtract large numbers that are nearly equal. The forms here add positive ones:

* ``t − ln(1 + t)`` and ``eʸ − 1 − y`` are series where they are small;
* factorials enter through the remainder of Stirling's formula, ``Δ(x) = ln Γ(x) − (x − ½) ln x + x − ½ ln 2π``;
* a share's complement is the sum of the other shares, never 1 minus the share.

Internally, X ~ Beta(A, B) is a share of a Dirichlet distribution and μ = A/(A + B) its mean. scipy is imported on first
use, because importing it is slow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.checks import Floats

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


# Dirichlet mean -------------------------------------------------------------------------------------------------------
#
# The distribution of a share and of the mean score of an item whose distribution over points is p ~ Dirichlet(a).
#
# With independent G_c ~ Gamma(a_c), p is G divided by its sum. So the mean score Σ_c v_c p_c is at most t if Σ_c (v_c
# − t) G_c ≤ 0, and the probability of that is an integral of a characteristic function.


_LEAST_SHARE = 1e-290
"""A quantile of a share below this is given as 0, …"""
_LEAST = 1e-140
"""… and one of the mean score below this part of the scale."""
_CLOSE = 1e-5
"""Relative distance from the target probability at which one more step of Newton's method is the last."""
_MEAN_STEP = 0.2
"""The step of the rule in ln u; halved if the rule with twice the step is off by more than ``_ROUGH``."""
_ROUGH = 1e-6
_HALVINGS = 12
_MEAN_CELLS = 1 << 15
"""How many nodes × items are processed at a time: small enough for the cache."""
_MEAN_DEPTH = 34.0
"""Nodes reach as far as the integrand is above e⁻³⁴ ≈ 10⁻¹⁵."""
_LEFTMOST = -3.45
_MOST_STEPS = 150


class Heights(NamedTuple):
    """The numbers of the points, rescaled to 0 … 1, and the first and the last as given."""

    v: Floats
    lowest: float
    highest: float


def moments(a: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the mean of Σ_c v_c p_c, how far it is below 1, and the variance."""
    a0 = a.sum(axis=1)
    mean, rest = a @ v / a0, a @ (1 - v) / a0
    return mean, rest, (a * (v - mean[:, None]) ** 2).sum(axis=1) / a0 / (a0 + 1)


def beta_quantiles(a: Floats, b: Floats, tail: float, *, upper: bool) -> Floats:
    """Return where Beta(a, b) has the probability ``tail`` below it, or above it.

    scipy's inverse is far off for some skewed distributions of many ratings, so each value is checked and, if it is
    wrong, found by bisection in ln x.
    """
    from scipy import special

    function: Callable[..., Floats] = special.betaincc if upper else special.betainc
    inverse: Callable[..., Floats] = special.betainccinv if upper else special.betaincinv

    def left(a: Floats, b: Floats, x: Floats) -> NDArray[np.bool_]:
        return np.asarray((function(a, b, np.clip(x, _LEAST_SHARE, 1.0)) < tail) == (not upper))

    x = np.asarray(inverse(a, b, tail))
    right = (left(a, b, x * (1 - 1e-11)) | (x <= _LEAST_SHARE)) & ~left(a, b, x * (1 + 1e-11))
    wrong = np.flatnonzero(~right)
    low, high = np.full(len(wrong), np.log(_LEAST_SHARE)), np.zeros(len(wrong))
    for _ in range(70 if len(wrong) else 0):
        middle = (low + high) / 2
        short = left(a[wrong], b[wrong], np.exp(middle))
        low, high = np.where(short, middle, low), np.where(short, high, middle)
    x[wrong] = np.exp(high)
    return np.where(x > 2 * _LEAST_SHARE, x, 0.0)


def mean_ends(a: Floats, scale: Heights, tail: float) -> tuple[Floats, Floats]:
    """Return the ends of the interval of Σ_c v_c p_c.

    The mean is measured from the nearer end of the scale, so that small distances keep all their digits.
    """
    low, high = np.empty(len(a)), np.empty(len(a))
    upper = moments(a, scale.v)[0] > 0.5
    for turned in (False, True):
        rows = np.flatnonzero(upper == turned)
        own, v = (a[rows, ::-1], (1 - scale.v)[::-1]) if turned else (a[rows], scale.v)
        start, end = (scale.highest, scale.lowest) if turned else (scale.lowest, scale.highest)
        near, far = (start * (1 - t) + end * t for t in (_mean_quantiles(own, v, p) for p in (tail, 1 - tail)))
        low[rows], high[rows] = (far, near) if turned else (near, far)
    return low, high


def _mean_quantiles(a: Floats, v: Floats, share: float) -> Floats:
    """Return where Σ_c v_c p_c has the probability ``share`` below it, for v from 0 to 1.

    This is Newton's method from logit t to the normal quantile of the probability, both of which straighten the curve;
    if it leaves the interval that contains the quantile, or converges slowly, that interval is halved instead.
    """
    from scipy.special import expit, logit, ndtri

    t, low, high = _first_guess(a, v, share)
    rows, last = np.arange(len(a)), np.full(len(a), np.inf)
    enough = _CLOSE * min(share, 1 - share) + 2e-16 * np.sqrt(a.sum(axis=1))  # the latter is the rounding error
    for _ in range(_MOST_STEPS):
        if not len(rows):
            break
        at = t[rows]
        below, density = _below(a[rows], v, at)
        low[rows], high[rows] = np.where(below < share, at, low[rows]), np.where(below < share, high[rows], at)
        z = ndtri(np.clip(below, 1e-300, 1 - 1e-16))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            slope = density * at * (1 - at) * np.sqrt(2 * np.pi) * np.exp(z * z / 2)
            guess = expit(logit(at) + (ndtri(share) - z) / slope)
        gap = np.abs(below - share)
        close = gap <= enough[rows]  # the next step squares this
        good = (guess >= low[rows]) & (guess <= high[rows]) & (close | (gap <= last[rows] / 2))
        t[rows] = np.where(good, guess, np.where(close, at, expit((logit(low[rows]) + logit(high[rows])) / 2)))
        last[rows] = gap
        rows = rows[~close & (high[rows] - low[rows] > 2 * np.spacing(low[rows]))]
    return np.where(t > 1 - 4e-16, 1.0, np.where(t > 2 * _LEAST, t, 0.0))


def _first_guess(a: Floats, v: Floats, share: float) -> tuple[Floats, Floats, Floats]:
    """Return the quantile of the Beta distribution with the same mean and variance, and bounds by Cantelli."""
    mean, rest, variance = moments(a, v)
    size = mean * rest / variance - 1
    spread, ratio = np.sqrt(variance) * (1 + 1e-6), np.sqrt(share / (1 - share))
    low = np.clip(mean - spread / ratio, _LEAST, 1 - 1e-15)
    high = np.clip(mean + spread * ratio, 2 * _LEAST, 1 - 1e-16)
    guess = beta_quantiles(mean * size, rest * size, min(share, 1 - share), upper=share > 0.5)
    return np.clip(guess, low, high), low, high


def _below(a: Floats, v: Floats, t: Floats) -> tuple[Floats, Floats]:
    """Return the probability that Σ_c v_c p_c is at most t, and its density there.

    With w = v − t and φ(u) = Π_c (1 − i w_c u)^(−a_c), the former is ½ − (1/π)∫ Im φ(u) du/u from 0 to ∞ (Gil-Pelaez).
    The error of the trapezoid rule in ln u shrinks with e^(−const/step), so its step is halved until it is accurate.
    """
    w = v - t[:, None]
    a = np.where(w == 0, 0.0, a)
    # The angle η of a ray u = r·e^(iη) on which |φ| falls and φ turns little; the integral grows by η. Points on one
    # side of t make |φ| fall where points on the other side make it rise. The side with more ratings decides; if both
    # have many, φ is close to that of a normal distribution, and the real axis is best.
    lower, upper = np.where(w < 0, a, 0.0).sum(axis=1), np.where(w > 0, a, 0.0).sum(axis=1)
    angle: Floats = np.pi / 5 * (upper - lower) / (upper + lower) / (1 + np.minimum(lower, upper) / 10)
    left, width, end = _window(a, w, angle)
    found = np.empty((3, len(t)))
    rows, step = np.arange(len(t)), _MEAN_STEP
    for _ in range(_HALVINGS):
        n_nodes = np.ceil((end - _LEFTMOST)[rows] / step).astype(int) + 1
        order = np.argsort(n_nodes, kind="stable")  # neighbours need about as many
        rows, n_nodes = rows[order], n_nodes[order]
        start = 0
        while start < len(rows):
            stop = min(start + max(1, _MEAN_CELLS // int(n_nodes[start])), len(rows))
            some = rows[start:stop]
            y = _LEFTMOST + step * np.arange(n_nodes[stop - 1])
            found[:, some] = _trapezoid(a[some], w[some], angle[some], left[some], width[some], y)
            start = stop
        rows, step = rows[found[2, rows] > _ROUGH], step / 2
        if not len(rows):
            break
    return found[0], found[1]


def _window(a: Floats, w: Floats, angle: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ln u where φ begins to fall, and the distances from there to where it is a power of u and where to stop.

    −ln|φ| is convex in ln u, so Newton's method from a point that is certainly beyond the end stays beyond it.
    """
    from scipy.special import expit

    logs = np.log(np.where(w == 0, 1.0, np.abs(w)))
    total, log_spread = a.sum(axis=1), np.log((a * w * w).sum(axis=1)) / 2
    left = -np.maximum(logs.max(axis=1), log_spread) - 1.5
    width = np.maximum(-logs.min(axis=1) - left, 0.0) + 1
    depth = _MEAN_DEPTH / np.cos(2 * angle)
    end = (depth - (a * logs).sum(axis=1)) / total  # ln(1 + x²)/2 > ln x
    near = np.log(2 * depth / np.log(2)) / 2 - log_spread  # ln(1 + x²) ≥ x²·ln 2 up to x = 1
    end = np.where(near <= -logs.max(axis=1), np.minimum(end, near), end)
    for _ in range(4):
        doubled = 2 * (end[:, None] + logs)
        end = end - ((a * np.logaddexp(0, doubled)).sum(axis=1) / 2 - depth) / (a * expit(doubled)).sum(axis=1)
    beyond = end - left - width
    return left, width, width + np.where(beyond > 1, np.log(np.maximum(beyond, 1.0)), np.minimum(beyond, 0.0))


def _trapezoid(
    a: Floats, w: Floats, angle: Floats, left: Floats, width: Floats, y: Floats
) -> tuple[Floats, Floats, Floats]:
    """Return the probability, the density, and how far off the probability is with only every other node.

    The nodes are at ln u = left + y − e^(−y) + e^(y − width): even steps where φ changes, and ever longer ones towards
    0 and ∞.
    """
    early, late = np.exp(-y), np.exp(y - width[:, None])
    log_u = left[:, None] + y - early + late
    held = np.minimum(log_u, (left + width)[:, None] + 20)  # beyond, |φ| is a multiple of u^(−a₀), and u may overflow
    u = np.exp(held)
    fall, turn = a.sum(axis=1)[:, None] * (log_u - held), np.zeros_like(u)
    real, imaginary = np.zeros_like(u), np.zeros_like(u)  # of Σ_c a_c/(1 − i w_c u)
    sine, cosine = np.sin(angle)[:, None], np.cos(angle)[:, None]
    for c in range(a.shape[1]):
        own, x = a[:, c, None], w[:, c, None] * u
        square = x * (2 * sine + x)  # |1 − i w_c u|² − 1
        across, along = x * cosine, 1 + x * sine
        fall += own / 2 * np.log1p(square)
        turn += own * np.arctan2(across, along)
        square += 1
        real += own * along / square
        imaginary += own * across / square
    size = np.exp(-fall) * ((1 + early + late) * ((y[1] - y[0]) / np.pi))
    terms = size * np.sin(turn)
    turn += angle[:, None]
    density = (size * u * (np.cos(turn) * real - np.sin(turn) * imaginary)).sum(axis=1)
    total = terms.sum(axis=1)
    return 0.5 - total - angle / np.pi, density, np.abs(total - 2 * terms[:, ::2].sum(axis=1))
