"""What a prediction-powered mean is made of: sums over items, then a finish in which λ is fitted."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.statistics.levels import Floats

Ints = NDArray[np.int64]

_SWEEPS, _STILL = 10_000, 1e-13


class ItemSums(NamedTuple):
    """Sums over the common items, one for each set of them, and over further items: all that θ and its variance need.

    Numbers are relative to the first item, so that anything that does not vary is 0.
    """

    n: Floats
    y: Floats
    yy: Floats
    f: Floats
    yf: Floats
    ff: Floats
    n_further: int
    g: Floats
    gg: Floats

    @classmethod
    def of(cls, y: Floats, f: Floats, more: Floats, units: Ints | None = None) -> ItemSums:
        """Add up all common items or, with units, all except those of each unit."""
        first = f[:1].sum(axis=0) if len(f) else more[:1].sum(axis=0)
        y, f, more = y - y[:1].sum(), f - first, more - first
        terms = (np.ones(len(y)), y, y * y, f, y[:, np.newaxis] * f, f[:, :, np.newaxis] * f[:, np.newaxis])
        whole = [term.sum(axis=0)[np.newaxis] for term in terms]
        if units is not None:
            order = np.argsort(units, kind="stable")
            starts = np.searchsorted(units[order], np.arange(int(units.max()) + 1))
            whole = [
                total - np.add.reduceat(term[order], starts, axis=0) for total, term in zip(whole, terms, strict=True)
            ]
        n, own, square, f, both, ff = whole
        return cls(n, own, square, f, both, ff, len(more), more.sum(axis=0), more.T @ more)


class PpiEstimates(NamedTuple):
    """What follows from the sums of each set of items."""

    moved: Floats
    weights: Floats
    variance: Floats
    freedom: Floats
    human_variance: Floats


def finish(sums: ItemSums) -> PpiEstimates:
    """Return λ, how far it moves the mean, and the variance with Satterthwaite's degrees of freedom."""
    n, more = sums.n[:, np.newaxis], sums.n_further
    with np.errstate(invalid="ignore", divide="ignore"):
        every = (sums.f + sums.g) / (n + more)
        spread = (sums.ff + sums.gg) - (n + more)[..., np.newaxis] * every[:, :, np.newaxis] * every[:, np.newaxis]
        spread = spread / (n + more - 1)[..., np.newaxis]
        shared = sums.yf - sums.y[:, np.newaxis] * sums.f / n
        own = sums.ff - sums.f[:, :, np.newaxis] * sums.f[:, np.newaxis] / n[..., np.newaxis]
        weights = np.zeros_like(sums.f)
        if more:
            each = zip(spread * (1 + n / more)[..., np.newaxis], shared / n, sums.n, strict=True)
            last = weights[0]
            for at, (q, c, size) in enumerate(each):
                weights[at] = last = least(q, c, last) if size > 1 else np.zeros(len(c))  # starts near where it ends
        squares = sums.yy - sums.y**2 / sums.n
        left = squares - 2 * (weights * shared).sum(axis=1) + np.einsum("uk,ukl,ul->u", weights, own, weights)
        free = sums.n - 1 - np.count_nonzero((weights > 0) & (weights < 1), axis=1)
        of_both = np.where(free > 0, np.maximum(left, 0.0) / free / sums.n, np.nan)
        of_model = np.einsum("uk,ukl,ul->u", weights, spread, weights) / more if more else np.zeros(len(free))
        of_model = np.where(weights.any(axis=1), of_model, 0.0)
        total = of_both + of_model
        freedom = total**2 / (of_both**2 / free + of_model**2 / np.maximum(sums.n + more - 1, 1))
        beside = sums.g / max(more, 1) - sums.f / n
        moved = np.where(weights.any(axis=1), (weights * beside).sum(axis=1), 0.0)
        human = np.where(sums.n > 1, squares / (sums.n - 1) / sums.n, np.nan)
    return PpiEstimates(moved, weights, total, np.where(total > 0, freedom, np.where(free > 0, free, np.nan)), human)


def least(quadratic: Floats, linear: Floats, start: Floats) -> Floats:
    """Return the λ in [0, 1] that minimise λ'Qλ − 2c'λ, one coordinate after the other until none moves.

    The function is convex and the bounds apply to single coordinates, so this ends at its minimum. A judge that does
    not vary keeps 0.
    """
    size = np.diag(quadratic)
    varies = np.flatnonzero(size > 1e-12 * max(float(size.max(initial=0.0)), 1e-300))
    weights = np.where(np.isin(np.arange(len(linear)), varies), start, 0.0)
    if len(size) == 1 and len(varies):
        return np.clip(linear / size, 0.0, 1.0)
    for _ in range(_SWEEPS):
        before = weights.copy()
        for k in varies:
            rest = linear[k] - quadratic[k] @ weights + size[k] * weights[k]
            weights[k] = min(max(rest / size[k], 0.0), 1.0)
        if np.abs(weights - before).max(initial=0.0) <= _STILL:
            break
    return weights
