"""Means over Beta and Dirichlet distributions with exact gradients in the prediction.

For X ~ Beta(a, b), a share of a Dirichlet distribution, and a predicted share, these are functions of that share alone:
:func:`mean_distance` gives E|X − c|, :func:`mean_js` a point's part of E[JS]. Value, slope and curvature are computed
together, without a graph, and then passed to PyTorch's autograd by :class:`_Known`; so integration nodes are not kept
for the backward pass. No result is inspected in between, so a GPU need not wait. With ``single``, for results in
float32, fewer nodes are enough. The counterparts in :mod:`plurivox.statistics.dirichlet` also keep the last digits of
values near 0, which training does not need.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from plurivox.base.errors import InputError

_BLOCK, _BLOCK_ON_GPU = 1 << 13, 1 << 17
"""How many elements are processed at a time, each with up to 200 nodes."""


class _Curve(NamedTuple):
    """A function's value, first and second derivative at some arguments."""

    value: Tensor
    slope: Tensor
    curvature: Tensor


class _Known(torch.autograd.Function):
    """A function of x whose value and derivatives at x are already known."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, value: Tensor, *derivatives: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0], *inputs[2:])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, *derivatives = ctx.saved_tensors
        if not derivatives:
            raise NotImplementedError("plurivox.torch has no third derivatives")
        return gradient * _Known.apply(x, *derivatives), None, *(None for _ in derivatives)


def mean_entropy(a: Tensor) -> Tensor:
    """Return the mean entropy of Dirichlet(a): Σ_c (a_c/a₀)(ψ(a₀ + 1) − ψ(a_c + 1))."""
    a0 = a.sum(-1, keepdim=True)
    return (a / a0 * (torch.digamma(a0 + 1) - torch.digamma(a + 1))).sum(-1)


def mean_distance(a: Tensor, b: Tensor, c: Tensor, *, single: bool) -> Tensor:
    """Return E|X − c| for X ~ Beta(a, b), differentiable in c.

    E|X − c| = (c − μ)(2 I_c(a, b) − 1) + 2D/(a + b), with D = cᵃ(1 − c)ᵇ/B(a, b), whose slope is 2 I_c(a, b) − 1.
    """
    return _differentiable(_distance, a, b, c, single)


def mean_js(a: Tensor, b: Tensor, q: Tensor, *, single: bool) -> Tensor:
    """Return E[½X ln X + ½q ln q − m ln m], m = (X + q)/2, for X ~ Beta(a, b), differentiable in q."""
    return _differentiable(_js, a, b, q, single)


def _differentiable(curve: Callable[..., _Curve], a: Tensor, b: Tensor, x: Tensor, single: bool) -> Tensor:
    if a.requires_grad:
        raise InputError("counts or prior require a gradient", hint="Detach them: this loss has gradients only in q.")
    a, b, x = torch.broadcast_tensors(a, b, x)
    with torch.no_grad():
        size = _BLOCK if x.device.type == "cpu" else _BLOCK_ON_GPU
        blocks = zip(*(one.reshape(-1).split(size) for one in (a, b, x)), strict=True)
        parts = [curve(*block, single) for block in blocks]
        known = [torch.cat(part).reshape(x.shape) for part in zip(*parts, strict=True)]
    result: Tensor = _Known.apply(x, *known)
    return result


# E|X − c| ------------------------------------------------------------------------------------------------------------


def _distance(a: Tensor, b: Tensor, c: Tensor, single: bool) -> _Curve:
    c = c.clamp(0, 1)
    a0 = a + b
    upper = c > (a + 1) / (a0 + 2)  # the tail on the other side is the smaller one
    low, high = torch.where(upper, b, a), torch.where(upper, a, b)
    near, far = torch.where(upper, 1 - c, c), torch.where(upper, c, 1 - c)
    density = _density(low, high, near, far)
    # I_c(a, b) from I_c(a + 1, b + 1), whose density has no pole at 0 or 1
    tail = density * near * (a0 + 1) * _tail(low, high, near, single) + density * (high / a0 - near)
    tail = tail * a0 / (low * high)
    below = torch.where(upper, 1 - tail, tail)
    slope = 2 * below - 1
    return _Curve((c - a / a0) * slope + 2 * density / a0, slope, 2 * density / (c * (1 - c)).clamp_min(1e-300))


def _density(a: Tensor, b: Tensor, c: Tensor, rest: Tensor) -> Tensor:
    """Return cᵃ(1 − c)ᵇ/B(a, b) as √(ab/2πa₀)·exp(−a₀ KL(μ‖c) − Δ(a) − Δ(b) + Δ(a₀)), after Stirling."""
    a0 = a + b
    shift = c - a / a0
    exponent = a * _log1p_rest(shift * a0 / a, c * a0 / a) + b * _log1p_rest(-shift * a0 / b, rest * a0 / b)
    exponent = exponent + _stirling_rest(a) + _stirling_rest(b) - _stirling_rest(a0)
    return (a / (2 * math.pi) * (b / a0)).sqrt() * torch.exp(-exponent)


def _tail(a: Tensor, b: Tensor, c: Tensor, single: bool) -> Tensor:
    """Return ∫₀^∞ exp(g(s)) ds with g(s) = −(a + 1)s + b ln((1 − ce^(−s))/(1 − c)), a tail of a Beta's density.

    The density of Beta(a + 1, b + 1) at x = ce^(−s) ≤ c is proportional to exp(g). g falls from 0 and is concave, so
    Newton's method quickly finds where it is so low that the rest does not matter, and Gauss's rule integrates up to
    there.
    """
    depth, n_nodes = (20.0, 24) if single else (38.0, 64)
    ratio = c / (1 - c)
    fall, bend = a + 1 - b * ratio, b * ratio / (1 - c)
    end = 2 * depth / (fall + (fall * fall + 2 * depth * bend).sqrt())
    for _ in range(3):
        shrunk = torch.exp(-end)
        rise = ratio * -torch.expm1(-end)
        height = -(a + 1) * end + b * torch.log1p(rise)
        end = end - (height + depth) / (-(a + 1) + b * ratio * shrunk / (1 + rise))
    nodes, weights = _gauss(n_nodes, c.dtype, c.device)
    s = end[:, None] * nodes
    heights = -(a + 1)[:, None] * s + b[:, None] * torch.log1p(-ratio[:, None] * torch.expm1(-s))
    return end * (heights.exp() @ weights)


@cache
def _gauss(n_nodes: int, dtype: torch.dtype, device: torch.device) -> tuple[Tensor, Tensor]:
    """Return nodes and weights of the Gauss–Legendre rule on [0, 1]."""
    from numpy.polynomial.legendre import leggauss

    nodes, weights = (torch.as_tensor(one).to(device, dtype) for one in leggauss(n_nodes))
    return (nodes + 1) / 2, weights / 2


# E[JS] ---------------------------------------------------------------------------------------------------------------


def _js(a: Tensor, b: Tensor, q: Tensor, single: bool) -> _Curve:
    """Return a point's part of E[JS]; its slope is ½(ln q − E ln m), kept finite at q = 0."""
    p, weights = _beta_rule(a, b, single)
    column = q.clamp_min(1e-30)[:, None]
    m = (p + column) / 2
    logs = m.log()
    own = (weights * torch.xlogy(p, p)).sum(-1) / 2
    value = own + torch.xlogy(q, q) / 2 - (weights * m * logs).sum(-1)
    slope = (column[:, 0].log() - (weights * logs).sum(-1)) / 2
    return _Curve(value, slope, (1 / column[:, 0] - (weights / m).sum(-1) / 2) / 2)


def _beta_rule(a: Tensor, b: Tensor, single: bool) -> tuple[Tensor, Tensor]:
    """Return nodes p and weights w with E f(X) ≈ Σ_k w_k f(p_k), including 0 and 1 as nodes.

    This is the trapezoid rule in logit p under Beta(a + 1, b + 1); see
    :func:`plurivox.statistics.dirichlet.beta_rule`.
    """
    depth, n_nodes = (20.0, 64) if single else (37.0, 192)
    swap = a > b
    low, high = torch.where(swap, b, a) + 1, torch.where(swap, a, b) + 1
    mean = (low / (low + high))[:, None]
    left, right = _reach(low, high, depth)
    y = left[:, None] + (right - left)[:, None] * torch.linspace(0, 1, n_nodes, dtype=a.dtype, device=a.device)
    weights = torch.softmax(_fall((low + high)[:, None], mean, y), -1)
    rise = mean * torch.expm1(y)
    side = swap[:, None]
    share, complement = mean * torch.exp(y) / (1 + rise), (1 - mean) / (1 + rise)
    p, rest = torch.where(side, complement, share), torch.where(side, share, complement)
    a0 = a + b
    weights = weights * ((a / a0) * (b / (a0 + 1)))[:, None] / (p * rest)
    zero = b / a0 - (weights * rest).sum(-1)
    one = a / a0 - (weights * p).sum(-1)
    edge = torch.zeros_like(a)[:, None]
    return torch.cat([edge, p, edge + 1], -1), torch.cat([zero[:, None], weights, one[:, None]], -1)


def _reach(low: Tensor, high: Tensor, depth: float) -> tuple[Tensor, Tensor]:
    """Return how far left and right of the peak nodes are needed, for low ≤ high."""
    a0 = low + high
    mean = low / a0
    tau = depth / (low * (high / a0))
    right = torch.minimum((tau + (tau * (tau + 8)).sqrt()) / 2, (depth - a0 * mean.log()) / high)
    left = torch.maximum(-(tau + (tau * (tau + 8)).sqrt()) / 2, -depth / low + torch.log1p(-mean) / mean)
    for _ in range(4):
        left, right = (
            y - (_fall(a0, mean, y) + depth) / (low * ((1 - mean) * -torch.expm1(y) / (1 + mean * torch.expm1(y))))
            for y in (left, right)
        )
    return left, right


def _fall(a0: Tensor, mean: Tensor, y: Tensor) -> Tensor:
    """Return the log density in logit p at a distance y from its peak, minus that at the peak."""
    return a0 * (mean * y - torch.log1p(mean * torch.expm1(y)))


# Functions that are small differences of large ones ------------------------------------------------------------------


def _log1p_rest(t: Tensor, ratio: Tensor) -> Tensor:
    """Return t − ln(1 + t) ≥ 0, even for small t; ``ratio`` is 1 + t with more digits than t has near −1."""
    s = t / (2 + t)  # ln(1 + t) = 2 artanh s, and t − 2s = s·t
    square = s * s
    series = torch.zeros_like(s)
    for k in range(19, 1, -2):
        series = series * square + 1 / k
    return torch.where(t.abs() < 0.25, s * t - 2 * s * square * series, t - ratio.log())


def _stirling_rest(x: Tensor) -> Tensor:
    """Return Δ(x) = ln Γ(x) − (x − ½) ln x + x − ½ ln 2π, which is about 1/(12x)."""
    small = x.clamp_max(10.0)
    direct = torch.lgamma(small) - (small - 0.5) * small.log() + small - 0.5 * math.log(2 * math.pi)
    u = 1 / x.clamp_min(10.0)
    series = torch.zeros_like(u)
    for coefficient in (1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12):
        series = series * (u * u) + coefficient
    return torch.where(x < 10, direct, u * series)
