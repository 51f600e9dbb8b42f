"""Scores of predicted rating distributions as losses; lower is better, logarithms are natural.

All take ``counts``, the ratings of items over the points of the scale, and ``q``, the predicted probabilities; the last
dimension of both is the scale, and all others broadcast. :class:`How` has the keywords that all of them accept.

Gradients are partial derivatives in the elements of ``q`` as they are, without dividing by their sum. Everything is
computed in float64, if the device supports it, and returned in the type of ``q``, or in float32 for half precision.
Empirical losses of an item without ratings are NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Unpack

import torch
from torch import Tensor

from plurivox.base.errors import InputError
from plurivox.torch import expectations
from plurivox.torch.inputs import (
    Counts,
    Prediction,
    as_counts,
    as_numbers,
    as_prediction,
    as_prior,
    check,
    reduced,
    shares_of,
)


class How(TypedDict, total=False):
    """The keywords of every loss."""

    from_logits: bool
    """Whether ``q`` holds logits, whose softmax is the prediction: better for training, since no probability becomes
    0. False by default."""
    reduction: str
    """``"mean"`` over items, the default, ``"sum"``, or ``"none"`` for one value per item."""
    validate: bool
    """Whether to check that counts are not negative and ``q`` are distributions. True by default, which waits for a GPU
    to finish; must be False inside ``torch.vmap``."""


# Against the shares of ratings ---------------------------------------------------------------------------------------


def cross_entropy(counts: Counts, q: Tensor, *, floor: float | None = None, **how: Unpack[How]) -> Tensor:
    """Return −Σ_c p_c ln q_c, where p are the shares of ratings.

    Infinite if a point that was given has the probability 0; ``floor`` raises all probabilities to at least that.

    Examples
    --------
    >>> cross_entropy([[1, 1], [3, 1]], torch.tensor([[0.5, 0.5], [0.75, 0.25]]), reduction="none")
    tensor([0.6931, 0.5623])
    """
    p, prediction = _empirical(counts, q, how, floor)
    return reduced(_cross_entropy(p, prediction), prediction)


def kl(counts: Counts, q: Tensor, *, floor: float | None = None, **how: Unpack[How]) -> Tensor:
    """Return Σ_c p_c ln(p_c/q_c), with p the shares of ratings: cross-entropy minus a constant, same gradients."""
    p, prediction = _empirical(counts, q, how, floor)
    return reduced(_cross_entropy(p, prediction) + torch.xlogy(p, p).sum(-1), prediction)


def js(counts: Counts, q: Tensor, **how: Unpack[How]) -> Tensor:
    """Return ½KL(p‖m) + ½KL(q‖m), m = (p + q)/2, where p are the shares of ratings."""
    p, prediction = _empirical(counts, q, how)
    m = (p + prediction.q) / 2
    return reduced((_xlogx(p) / 2 + _xlogx(prediction.q) / 2 - _xlogx(m)).sum(-1), prediction)


def emd(
    counts: Counts, q: Tensor, *, normalized: bool = True, values: Sequence[float] | None = None, **how: Unpack[How]
) -> Tensor:
    """Return ``Σ_{k<K} |F_p(k) − F_q(k)|/K``, where F are cumulative probabilities and p the shares of ratings.

    ``values`` are the numbers of the points if steps differ; without ``normalized``, a step has its own length.
    """
    p, prediction = _empirical(counts, q, how)
    gaps = (_below(p) - _below(prediction.q)).abs()
    return reduced(gaps @ _steps(gaps, normalized, values), prediction)


def rps(counts: Counts, q: Tensor, *, normalized: bool = True, **how: Unpack[How]) -> Tensor:
    """Return Σ_{k<K} [F_p(1 − F_p) + (F_p − F_q)²]/K at each k: the ranked probability score of the ratings."""
    p, prediction = _empirical(counts, q, how)
    return reduced(_rps(p, prediction, normalized), prediction)


# Under the posterior -------------------------------------------------------------------------------------------------


def expected_cross_entropy(
    counts: Counts, q: Tensor, prior: Counts | float = 1.0, *, floor: float | None = None, **how: Unpack[How]
) -> Tensor:
    """Return −Σ_c (a_c/a₀) ln q_c, a = α + n: the cross-entropy of the posterior mean.

    ``prior`` is α: a positive number for all points, or one for each.
    """
    a, prediction = _expected(counts, q, prior, how, floor)
    return reduced(_cross_entropy(a / a.sum(-1, keepdim=True), prediction), prediction)


def expected_kl(
    counts: Counts, q: Tensor, prior: Counts | float = 1.0, *, floor: float | None = None, **how: Unpack[How]
) -> Tensor:
    """Return E[KL] = E[CE] − E[H]: expected cross-entropy minus expected entropy, which does not depend on q."""
    a, prediction = _expected(counts, q, prior, how, floor)
    mean = a / a.sum(-1, keepdim=True)
    return reduced(_cross_entropy(mean, prediction) - expectations.mean_entropy(a), prediction)


def expected_js(counts: Counts, q: Tensor, prior: Counts | float = 1.0, **how: Unpack[How]) -> Tensor:
    """Return E[JS], the mean of JS(p, q) over p ~ Dirichlet(a), a = α + n, by integration.

    There are no gradients in ``counts`` and ``prior``.
    """
    a, prediction = _expected(counts, q, prior, how)
    return reduced(
        expectations.mean_js(a, a.sum(-1, keepdim=True) - a, prediction.q, single=prediction.single).sum(-1), prediction
    )


def expected_emd(
    counts: Counts,
    q: Tensor,
    prior: Counts | float = 1.0,
    *,
    normalized: bool = True,
    values: Sequence[float] | None = None,
    **how: Unpack[How],
) -> Tensor:
    """Return E[EMD], the mean of EMD(p, q) over p ~ Dirichlet(a), a = α + n, exactly.

    Its gradient is exact, too: ∂E[EMD]/∂F_q(k) = (2 I_{F_q(k)}(A, B) − 1)/K, A = Σ_{j≤k} a_j, B = a₀ − A, I the
    regularised incomplete beta function. It is 0 if F_q(k) is the median of F_p(k) and, unlike that of EMD, it is
    smooth. There are no gradients in ``counts`` and ``prior``.
    """
    a, prediction = _expected(counts, q, prior, how)
    above = a.flip(-1).cumsum(-1).flip(-1)[..., 1:]
    gaps = expectations.mean_distance(_below(a), above, _below(prediction.q), single=prediction.single)
    return reduced(gaps @ _steps(gaps, normalized, values), prediction)


def expected_rps(
    counts: Counts, q: Tensor, prior: Counts | float = 1.0, *, normalized: bool = True, **how: Unpack[How]
) -> Tensor:
    """Return E[RPS], the ranked probability score of the next rating, which is the score of the posterior mean."""
    a, prediction = _expected(counts, q, prior, how)
    return reduced(_rps(a / a.sum(-1, keepdim=True), prediction, normalized), prediction)


# Helpers -------------------------------------------------------------------------------------------------------------


def _empirical(counts: Counts, q: Tensor, how: How, floor: float | None = None) -> tuple[Tensor, Prediction]:
    """Return shares of ratings, and the prediction."""
    weights, prediction = _given(counts, q, floor, **how)
    return shares_of(weights), prediction


def _expected(
    counts: Counts, q: Tensor, prior: Counts | float, how: How, floor: float | None = None
) -> tuple[Tensor, Prediction]:
    """Return a = α + n, and the prediction."""
    weights, prediction = _given(counts, q, floor, **how)
    return weights + as_prior(prior, weights), prediction


def _given(
    counts: Counts, q: Tensor, floor: float | None, *, from_logits: bool = False, reduction: str = "mean",
    validate: bool = True,
) -> tuple[Tensor, Prediction]:  # fmt: skip
    prediction = as_prediction(q, from_logits=from_logits, floor=floor)._replace(reduction=reduction)
    weights = as_counts(counts, prediction.q.dtype, prediction.q.device)
    check(weights, prediction, validate=validate)
    return weights, prediction


def _cross_entropy(p: Tensor, prediction: Prediction) -> Tensor:
    return -(p * prediction.log(p != 0)).sum(-1)


def _rps(p: Tensor, prediction: Prediction, normalized: bool) -> Tensor:
    below = _below(p)
    terms = below * (1 - below) + (below - _below(prediction.q)).square()
    return terms @ _steps(terms, normalized)


def _below(p: Tensor) -> Tensor:
    """Return the sum of each point and all lower ones, without the last."""
    return p.cumsum(-1)[..., :-1]


def _xlogx(x: Tensor) -> Tensor:
    """Return x ln x, with a gradient that is finite even at 0."""
    return x * x.clamp_min(torch.finfo(x.dtype).tiny).log()


def _steps(like: Tensor, normalized: bool, values: Sequence[float] | None = None) -> Tensor:
    """Return the length of the step after each point except the last."""
    n_points = like.shape[-1] + 1
    numbers = torch.arange(n_points) if values is None else as_numbers("values", values)
    lengths = numbers.double().diff() if numbers.dim() else numbers
    if numbers.shape != (n_points,) or not bool(((lengths > 0) & lengths.isfinite()).all()):
        raise InputError(
            f"values are {numbers.tolist()}", hint=f"Give {n_points} rising numbers, one for each point of the scale."
        )
    return (lengths / lengths.sum() if normalized else lengths).to(like)
