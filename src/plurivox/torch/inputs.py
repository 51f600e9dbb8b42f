"""The inputs of losses, turned into tensors of one device and type, and checked."""

from __future__ import annotations

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
