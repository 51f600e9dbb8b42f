"""The inputs of losses, turned into tensors of one device and type, and checked; and training targets made of them."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import torch
from torch import Tensor

from plurivox.base.errors import InputError

Counts: TypeAlias = Any
"""A tensor, an array, or nested lists of numbers; the last dimension is the scale."""

_SUM_TOLERANCE = 1e-3
"""Wide enough for half precision: the check is there to catch logits passed as probabilities."""
_BELOW_0 = 1e-5
"""How far below 0 rounding may lead."""


class Prediction(NamedTuple):
    """Predicted probabilities in float64, the logits they came from, if any, the type of results, and the reduction."""

    q: Tensor
    logits: Tensor | None
    dtype: torch.dtype
    reduction: str = "mean"

    @property
    def single(self) -> bool:
        """Whether results are in float32, for which less precision is enough."""
        return bool(self.dtype != torch.float64)

    def log(self, used: Tensor) -> Tensor:
        """Return ln q, but 0 where it is not used, so that q = 0 does not make gradients NaN there."""
        if self.logits is not None:
            return torch.where(used, torch.log_softmax(self.logits, -1), 0.0)
        return torch.where(used, self.q, 1.0).log()


def as_counts(counts: Counts, dtype: torch.dtype | None = None, device: Any = None) -> Tensor:
    """Return weights as floating-point numbers."""
    weights = as_numbers("counts", counts, device)
    if dtype is None:
        dtype = weights.dtype if weights.is_floating_point() else torch.get_default_dtype()
        dtype = torch.float32 if dtype.itemsize < 4 else dtype  # sums of counts are too large for half precision
    if weights.is_complex() or not weights.dim() or weights.shape[-1] < 2:
        raise InputError(
            f"counts have the shape {tuple(weights.shape)} and the type {weights.dtype}",
            hint="Give a number for each point of the scale in the last dimension, with at least two points.",
        )
    return weights.to(dtype)


def as_prior(prior: Counts | float, like: Tensor) -> Tensor:
    """Return the prior's weight on each point."""
    weights = as_numbers("prior", prior, like.device).to(like.dtype)
    if weights.dim() and weights.shape[-1] not in (1, like.shape[-1]):
        raise InputError(
            f"prior has the shape {tuple(weights.shape)}, but the scale has {like.shape[-1]} points",
            hint="Give one positive number, or one for each point.",
        )
    known = not (isinstance(prior, Tensor) and prior.is_cuda) and not torch.compiler.is_compiling()
    if known and not bool(((weights > 0) & weights.isfinite()).all()):
        raise InputError(f"prior is {prior!r}", hint="Give a positive number, or one for each point.")
    return weights


def as_numbers(name: str, given: Any, device: Any = None) -> Tensor:
    """Return numbers as a tensor with all their digits."""
    if isinstance(given, Tensor):
        return given.to(device)
    try:
        array = np.asarray(given)
    except ValueError:
        raise InputError(f"{name} have rows of unequal length", hint="Give every row the same columns.") from None
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} hold {array.dtype} instead of numbers", hint="Give a tensor, an array or a list.")
    return torch.from_numpy(np.ascontiguousarray(array)).reshape(array.shape).to(device)


def as_prediction(q: Tensor, *, from_logits: bool, floor: float | None = None) -> Prediction:
    """Return probabilities in float64."""
    if not isinstance(q, Tensor) or not q.is_floating_point() or not q.dim():
        kind = f"{q.dtype} tensor" if isinstance(q, Tensor) else type(q).__name__
        raise InputError(
            f"q is a {kind}", hint="Give a tensor of floating-point numbers whose last dimension is the scale."
        )
    dtype = q.dtype if q.dtype == torch.float64 else torch.float32
    wide = widened(q)
    prediction = Prediction(wide.softmax(-1), wide, dtype) if from_logits else Prediction(wide, None, dtype)
    if floor is None:
        return prediction
    if not isinstance(floor, int | float) or not 0 < floor < 1:
        raise InputError(f"floor is {floor!r}", hint="Give a small probability above 0, such as 1e-6, or None.")
    raised = prediction.q.clamp_min(floor)
    return Prediction(raised / raised.sum(-1, keepdim=True), None, dtype)


def widened(x: Tensor) -> Tensor:
    """Return float64, or float32 on Apple's GPUs, which do not support more."""
    return x.float() if x.device.type == "mps" else x.double()


def check(counts: Tensor, prediction: Prediction, *, validate: bool) -> None:
    """Raise an error if shapes do not match or, with ``validate``, values are not counts or distributions."""
    if counts.shape[-1] != prediction.q.shape[-1]:
        raise InputError(
            f"counts have {counts.shape[-1]} points, but q has {prediction.q.shape[-1]}",
            hint="Give both for the same scale, a number for each point in the last dimension.",
        )
    try:
        torch.broadcast_shapes(counts.shape, prediction.q.shape)
    except RuntimeError:
        raise InputError(
            f"counts of the shape {tuple(counts.shape)} and q of the shape {tuple(prediction.q.shape)} do not match",
            hint="Give a row of q for each item, or one for all.",
        ) from None
    if validate and not torch.compiler.is_compiling():
        with torch.no_grad():
            _look(counts, prediction.q)


def reduced(values: Tensor, prediction: Prediction) -> Tensor:
    """Return the mean, the sum, or each value, in the type of the prediction."""
    way = prediction.reduction
    if way not in ("mean", "sum", "none"):
        raise InputError(f"reduction is {way!r}", hint="Choose one of mean, sum, none.")
    return (values if way == "none" else getattr(values, way)()).to(prediction.dtype)


def _look(counts: Tensor, q: Tensor) -> None:
    """Raise an error if values are not counts or distributions; if they are, this waits for a GPU once."""
    proper = ((counts >= 0) & counts.isfinite()).all()
    sums = q.sum(-1)
    likely = ((sums - 1).abs() <= _SUM_TOLERANCE).all() & (q >= -_BELOW_0).all()
    if bool(proper & likely):
        return
    if not bool(proper):
        raise InputError("counts hold a number that is negative or not finite", hint="Give 0 or more for each point.")
    raise InputError(
        f"q holds rows that are not distributions: numbers from {q.min().item():.4g} to {q.max().item():.4g}, sums "
        f"from {sums.min().item():.4g} to {sums.max().item():.4g}",
        hint="Give probabilities that sum to 1, or use from_logits=True.",
    )


# Training targets: the shares of ratings, the same smoothed over the scale, or the posterior mean ---------------------

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
