"""Training targets: the shares of ratings, the same smoothed over the scale, or the posterior mean."""

from __future__ import annotations

from numbers import Real

import torch
from torch import Tensor

from plurivox.base.errors import InputError
from plurivox.torch.inputs import Counts, as_counts, as_prior

_REACH = 4.0
"""The Gaussian is cut where it is below e⁻⁸ of its peak, at four standard deviations."""
_WIDEST = 1000


def empirical_target(counts: Counts, *, dtype: torch.dtype | None = None) -> Tensor:
    """Return the shares of ratings, p_c = n_c/n; NaN for an item without ratings.

    Parameters
    ----------
    counts
        n, how many raters gave each point, or any weights: one item (points) or many (… × points).
    dtype
        The type of the result; by default that of ``counts`` if they are floating-point numbers, else PyTorch's.

    Examples
    --------
    >>> empirical_target([1, 3])
    tensor([0.2500, 0.7500])
    """
    return shares_of(_counts(counts, dtype))


def smoothed_target(counts: Counts, sigma: float, *, dtype: torch.dtype | None = None) -> Tensor:
    """Return the shares of ratings, smoothed along the scale: a rating also says something about neighbouring points.

    s_c ∝ Σ_d exp(−d²/2σ²) p_{c + d}, where p beyond an end of the scale is that of the end. The sum over d reaches four
    σ on both sides, rounded to whole points, and s is divided by its sum.

    Parameters
    ----------
    counts, dtype
        As in :func:`empirical_target`.
    sigma
        σ, in points of the scale. 0 leaves the shares as they are.

    Returns
    -------
    Tensor
        Of the shape of ``counts``; NaN for an item without ratings.

    References
    ----------
    Magnani (2025), Soft Metrics for Ordinal Label Uncertainty with Variable Sample Sizes.

    Examples
    --------
    >>> smoothed_target([0, 4, 0, 0], sigma=0.5)
    tensor([1.0648e-01, 7.8678e-01, 1.0648e-01, 2.6393e-04])
    """
    if isinstance(sigma, bool) or not isinstance(sigma, Real) or not 0 <= sigma <= _WIDEST:
        raise InputError(f"sigma is {sigma!r}", hint=f"Give a number of points of the scale from 0 to {_WIDEST}.")
    shares = empirical_target(counts, dtype=dtype)
    if sigma == 0:
        return shares
    with torch.autocast(shares.device.type, enabled=False):
        smoothed = shares @ _spread(shares.shape[-1], float(sigma)).to(shares)
    return smoothed / smoothed.sum(-1, keepdim=True)


def posterior_target(counts: Counts, prior: Counts | float = 1.0, *, dtype: torch.dtype | None = None) -> Tensor:
    """Return the posterior mean, (α_c + n_c)/Σ_k (α_k + n_k): shares pulled to the prior, more so with few ratings.

    A model trained on it with cross-entropy minimises the expected cross-entropy.

    Parameters
    ----------
    counts, dtype
        As in :func:`empirical_target`.
    prior
        α, the weight of each point before any rating: a positive number for all, or one for each point.

    Examples
    --------
    >>> posterior_target([3, 0, 0])
    tensor([0.6667, 0.1667, 0.1667])
    """
    weights = _counts(counts, dtype)
    a = weights + as_prior(prior, weights)
    return a / a.sum(-1, keepdim=True)


def _counts(counts: Counts, dtype: torch.dtype | None) -> Tensor:
    weights = as_counts(counts, dtype)
    if weights.device.type == "cpu" and not torch.compiler.is_compiling() and bool((weights < 0).any()):
        raise InputError("counts hold a negative number", hint="Give 0 or more for each point.")
    return weights


def shares_of(weights: Tensor) -> Tensor:
    """Return weights divided by their sum, NaN if that is 0."""
    sums = weights.sum(-1, keepdim=True)
    return weights / torch.where(sums > 0, sums, torch.nan)


def _spread(n_points: int, sigma: float) -> Tensor:
    """Return points × points: how much of one point's share (row) goes to another (column)."""
    radius = max(1, int(_REACH * sigma + 0.5))
    offsets = torch.arange(-radius, radius + 1)
    weights = torch.exp(-0.5 * (offsets.double() / sigma) ** 2)
    columns = torch.arange(n_points)
    rows = (columns[:, None] + offsets).clamp(0, n_points - 1)  # beyond an end, the end
    spread = torch.zeros(n_points, n_points, dtype=torch.float64)
    return spread.index_put_((rows, columns[:, None].expand_as(rows)), weights.expand(rows.shape), accumulate=True)
