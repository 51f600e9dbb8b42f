"""The kinds of models: what each reads, its network, and its training target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from torch import Tensor, nn

from plurivox.base.errors import InputError, SelectionError
from plurivox.models.networks import CumulativeLink, Mlp, Transformer
from plurivox.models.texts import BagEncoder, Encoder, SequenceEncoder
from plurivox.torch import cross_entropy, emd, empirical_target, kl, smoothed_target

SIGMA = 0.5
"""How far mlp-kl spreads a rating to neighbouring points, in points."""


@dataclass(frozen=True, slots=True)
class ModelKind:
    """One kind of model."""

    name: str  # what users call it
    description: str  # what it is, in one line
    encoder: type[Encoder]  # how it reads texts
    network: Callable[[int, int, int], nn.Module]  # from the number of features, of points, and the longest sequence
    target: Callable[[Tensor], Tensor]  # from counts, items × points, to what a prediction is compared with
    distance: Callable[[Tensor, Tensor], Tensor]  # from targets and log-probabilities to the loss of each item
    # from targets and how much each counts to the one prediction with the lowest mean loss for all
    constant: Callable[[Tensor, Tensor], Tensor]
    # whether each rating counts once in the mean loss, so that an item counts as often as it was rated; else
    # each item counts once
    by_rating: bool = False
    smooths: bool = False  # whether shares are smoothed along the scale, by a sigma that can be chosen

    def weights(self, counts: Tensor) -> Tensor:
        """Return how much each item counts in the mean."""
        sums = counts.sum(-1)
        return sums if self.by_rating else sums.new_ones(sums.shape)


def mean(targets: Tensor, weights: Tensor) -> Tensor:
    """Return the mean of targets, which is optimal for cross-entropy and KL divergence."""
    return weights @ targets / weights.sum()


def median(targets: Tensor, weights: Tensor) -> Tensor:
    """Return the shares whose cumulative shares are the medians of the targets', which is optimal for EMD."""
    below, order = targets.cumsum(-1).sort(dim=0)
    reached = weights[order].cumsum(0) >= weights.sum() / 2
    medians = below.gather(0, reached.int().argmax(0, keepdim=True))[0]
    medians[-1] = 1.0
    return medians.diff(prepend=medians.new_zeros(1))


_each: dict[str, Any] = {"from_logits": True, "reduction": "none", "validate": False}


def _kinds() -> Iterator[ModelKind]:
    shares, distance = empirical_target, partial(cross_entropy, **_each)
    text = "words in a two-layer network, cross-entropy to the shares of each item's ratings"
    yield ModelKind("mlp-ce", text, BagEncoder, Mlp, shares, distance, mean)
    text = "words in a two-layer network, KL divergence to the shares smoothed along the scale"
    smoothed = partial(smoothed_target, sigma=SIGMA)
    yield ModelKind("mlp-kl", text, BagEncoder, Mlp, smoothed, partial(kl, **_each), mean, smooths=True)
    text = "words in a network with one score and ordered cut-points, likelihood of every rating"
    yield ModelKind("cumulative-link", text, BagEncoder, CumulativeLink, shares, distance, mean, by_rating=True)
    text = "the sequence of words and symbols in a small transformer, earth mover's distance to the shares"
    yield ModelKind("transformer-emd", text, SequenceEncoder, Transformer, shares, partial(emd, **_each), median)


KINDS = {kind.name: kind for kind in _kinds()}

MODELS = {name: kind.description for name, kind in KINDS.items()}
"""The available models, with a description of each."""


def kind_named(name: str, sigma: float | None = None) -> ModelKind:
    """Return a kind, with another sigma if one is given, or raise with the known names."""
    if not isinstance(name, str) or name not in KINDS:
        raise SelectionError(f"there is no model {name!r}", hint=f"Choose one of {', '.join(KINDS)}.")
    kind = KINDS[name]
    if sigma is None:
        return kind
    if not kind.smooths:
        able = ", ".join(one.name for one in KINDS.values() if one.smooths)
        raise InputError(f"sigma is {sigma!r}, but {name} does not smooth", hint=f"Leave sigma out, or choose {able}.")
    return replace(kind, target=partial(smoothed_target, sigma=sigma))
