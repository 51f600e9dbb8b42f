"""The distribution of a share and of the mean score of an item whose distribution over points is p ~ Dirichlet(a).

With independent G_c ~ Gamma(a_c), p is G divided by its sum. So the mean score Σ_c v_c p_c is at most t if
Σ_c (v_c − t) G_c ≤ 0, and the probability of that is an integral of a characteristic function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.levels import Floats

_LEAST_SHARE = 1e-290
"""A quantile of a share below this is given as 0, …"""
_LEAST = 1e-140
"""… and one of the mean score below this part of the scale."""
_CLOSE = 1e-5
"""Relative distance from the target probability at which one more step of Newton's method is the last."""
_STEP = 0.2
"""The step of the rule in ln u; halved if the rule with twice the step is off by more than ``_ROUGH``."""
_ROUGH = 1e-6
_HALVINGS = 12
_CELLS = 1 << 15
"""How many nodes × items are processed at a time: small enough for the cache."""
_DEPTH = 34.0
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
    angle = _angle(a, w)
    left, width, end = _window(a, w, angle)
    found = np.empty((3, len(t)))
    rows, step = np.arange(len(t)), _STEP
    for _ in range(_HALVINGS):
        n_nodes = np.ceil((end - _LEFTMOST)[rows] / step).astype(int) + 1
        order = np.argsort(n_nodes, kind="stable")  # neighbours need about as many
        rows, n_nodes = rows[order], n_nodes[order]
        start = 0
        while start < len(rows):
            stop = min(start + max(1, _CELLS // int(n_nodes[start])), len(rows))
            some = rows[start:stop]
            y = _LEFTMOST + step * np.arange(n_nodes[stop - 1])
            found[:, some] = _trapezoid(a[some], w[some], angle[some], left[some], width[some], y)
            start = stop
        rows, step = rows[found[2, rows] > _ROUGH], step / 2
        if not len(rows):
            break
    return found[0], found[1]


def _angle(a: Floats, w: Floats) -> Floats:
    """Return the angle η of a ray u = r·e^(iη) on which |φ| falls and φ turns little; the integral grows by η.

    Points on one side of t make |φ| fall where points on the other side make it rise. The side with more ratings
    decides; if both have many, φ is close to that of a normal distribution, and the real axis is best.
    """
    lower, upper = np.where(w < 0, a, 0.0).sum(axis=1), np.where(w > 0, a, 0.0).sum(axis=1)
    result: Floats = np.pi / 5 * (upper - lower) / (upper + lower) / (1 + np.minimum(lower, upper) / 10)
    return result


def _window(a: Floats, w: Floats, angle: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ln u where φ begins to fall, and the distances from there to where it is a power of u and where to stop.

    −ln|φ| is convex in ln u, so Newton's method from a point that is certainly beyond the end stays beyond it.
    """
    from scipy.special import expit

    logs = np.log(np.where(w == 0, 1.0, np.abs(w)))
    total, log_spread = a.sum(axis=1), np.log((a * w * w).sum(axis=1)) / 2
    left = -np.maximum(logs.max(axis=1), log_spread) - 1.5
    width = np.maximum(-logs.min(axis=1) - left, 0.0) + 1
    depth = _DEPTH / np.cos(2 * angle)
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
