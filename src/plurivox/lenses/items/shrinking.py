"""Differences on single items, pulled towards the group's difference over all items as far as they are noise.

The true difference of the item with the largest of many differences is, on average, smaller. With w = n_g n_r / n the
weight of an item, D_i its difference and D̄ = Σ w_i D_i / Σ w_i the group's difference over all items, its leniency::

    shrunken_i = D̄ + τ² / (τ² + c · v_i / w_i) · (D_i − D̄)
    τ²         = (Q − c · E) / (Σ w − Σ w² / Σ w),  not below 0
    Q          = Σ w_i (D_i − D̄)²                   E = Σ (1 − w_i / Σ w) · v_i

v_i is the variance within the two sides of an item. τ² is the variance of true differences, by moments (DerSimonian &
Kacker 2007, with weights by numbers of ratings). c = ΣQ*/ΣE* over all shuffles; it is below 1 where raters who rate
high do so on every item, since that moves D̄ but not the items around it. Without shuffles c is 1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.lenses.items.dividing import STEADY, AxisCandidates

Floats = NDArray[np.float64]


class DifferencePrior(NamedTuple):
    """What the differences of each group over all items say about those on one."""

    mean: Floats
    """The difference over all items, D̄."""
    spread: Floats
    """The variance of true differences around it, τ²."""
    noise: Floats
    """How much of the variance within items is noise around D̄, c."""


def prior_of(observed: Floats, null: Floats) -> DifferencePrior:
    """Return the prior of each group from its sums as they are (groups × sums) and under each shuffle."""
    noise = np.ones(len(observed))
    if len(null):
        chance, expected = (part.sum(axis=0) for part in _scatter(null))
        np.divide(chance, expected, out=noise, where=expected > 0)
    scatter, expected = _scatter(observed)
    _, shifts, weights, squared, *_ = observed.T  # in the order of plurivox.kernels.dividing
    total = np.maximum(weights, np.finfo(float).tiny)
    room = weights - squared / total
    spread = np.zeros(len(observed))  # one item says nothing about others
    np.divide(scatter - noise * expected, room, out=spread, where=room > 1e-9 * weights)
    return DifferencePrior(shifts / total, np.maximum(spread, 0.0), noise)


def _scatter(sums: Floats) -> tuple[Floats, Floats]:
    """Return Q and E."""
    squares, shifts, weights, _, variances, weighted = np.moveaxis(sums, -1, 0)
    total = np.maximum(weights, np.finfo(float).tiny)
    return np.maximum(squares - shifts**2 / total, 0.0), np.maximum(variances - weighted / total, 0.0)


def shrunken(side: AxisCandidates, prior: DifferencePrior) -> Floats:
    """Return the shrunken difference of each item's most extreme group; NaN without one."""
    group = np.maximum(side.group, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = side.n_group * (side.n - side.n_group) / side.n
        difference = side.shift / weight
        left = np.maximum(side.squares - weight * difference**2, 0.0)
        error = prior.noise[group] * (left + STEADY * side.pooled) / (side.n - 2 + STEADY) / weight
        trust = np.where(error > 0, prior.spread[group] / (prior.spread[group] + error), 1.0)
    mean = prior.mean[group]
    return np.where(side.group >= 0, mean + trust * (difference - mean), np.nan)
