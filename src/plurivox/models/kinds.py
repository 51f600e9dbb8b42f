"""The kinds of model, each with its network: from encoded texts to log-probabilities, items × points.

Each network can start from given shares, so that before learning anything from the texts it predicts about the shares
of all items together, not something arbitrary.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from plurivox.base.errors import InputError, SelectionError
from plurivox.models.texts import OF_TEXT, PAD, BagEncoder, Encoder, SequenceEncoder
from plurivox.torch import cross_entropy, emd, empirical_target, kl, smoothed_target

HIDDEN, NARROW = 128, 64
WIDTH, LAYERS, HEADS, FEED_FORWARD = 64, 2, 4, 128
DROPOUT = 0.1
FASTER = 10.0
"""How much faster the transformer's words learn than its other parameters."""


class BagLayer(nn.Module):
    """A linear layer over weighted bags of words, which never stores zeros for the words a text lacks."""

    def __init__(self, n_features: int, width: int) -> None:
        super().__init__()
        self.words = nn.EmbeddingBag(max(1, n_features), width, mode="sum")
        self.bias = nn.Parameter(torch.zeros(width))
        bound = 1 / math.sqrt(max(1, n_features))  # as nn.Linear draws them
        nn.init.uniform_(self.words.weight, -bound, bound)

    def forward(self, features: Tensor, starts: Tensor, weights: Tensor) -> Tensor:
        """Return one row per text."""
        return self.words(features, starts, per_sample_weights=weights) + self.bias


class Mlp(nn.Module):
    """Bag of words → 128 → softmax."""

    def __init__(self, n_features: int, n_points: int, length: int) -> None:
        super().__init__()
        self.first = BagLayer(n_features, HIDDEN)
        self.last = nn.Linear(HIDDEN, n_points)

    def start_from(self, shares: Tensor) -> None:
        """Let the prediction begin at these shares."""
        _set(self.last.bias, shares.log())

    def forward(self, features: Tensor, starts: Tensor, weights: Tensor) -> Tensor:
        """Return log-probabilities."""
        return self.last(self.first(features, starts, weights).relu()).log_softmax(-1)


class CumulativeLink(nn.Module):
    """Bag of words → 128 → 64 → one score s, divided by increasing cut-points θ: P(y ≤ k) = σ(θ_k − s).

    θ_1 is any number and each further one exceeds the one before it by softplus of a free number, so they are always in
    order. The score has no constant of its own, since shifting all cut-points does the same.
    """

    def __init__(self, n_features: int, n_points: int, length: int) -> None:
        super().__init__()
        self.first = BagLayer(n_features, HIDDEN)
        self.dropout = nn.Dropout(DROPOUT)
        self.second = nn.Linear(HIDDEN, NARROW)
        self.score = nn.Linear(NARROW, 1, bias=False)
        self.lowest = nn.Parameter(torch.zeros(1))
        self.steps = nn.Parameter(torch.zeros(n_points - 2))

    def start_from(self, shares: Tensor) -> None:
        """Let the prediction of an item with the score 0 begin at these shares."""
        cuts = torch.logit(shares.double().cumsum(-1)[:-1])
        gaps = cuts.diff()
        _set(self.lowest, cuts[:1])
        _set(self.steps, gaps + torch.log(-torch.expm1(-gaps)))  # what softplus turns into the gaps

    def cut_points(self) -> Tensor:
        """Return θ, one fewer than there are points."""
        gaps = torch.cat([torch.zeros_like(self.lowest), functional.softplus(self.steps)])
        return self.lowest + gaps.cumsum(0)

    def scores(self, features: Tensor, starts: Tensor, weights: Tensor) -> Tensor:
        """Return s, items × 1."""
        hidden = self.dropout(self.first(features, starts, weights).relu())
        return self.score(self.second(hidden).relu())

    def forward(self, features: Tensor, starts: Tensor, weights: Tensor) -> Tensor:
        """Return log-probabilities."""
        scores = self.scores(features, starts, weights)
        return cumulative_link(self.cut_points() - scores, functional.softplus(self.steps))


def cumulative_link(logits: Tensor, gaps: Tensor) -> Tensor:
    """Return log-probabilities of points from z_k = θ_k − s, items × cut-points, and the gaps between cut-points.

    ln P(y = k) = ln(σ(z_k) − σ(z_{k−1})) = ln σ(z_k) + ln σ(−z_{k−1}) + ln(1 − exp(z_{k−1} − z_k)), which loses no
    digits where both σ are close to 0 or to 1.
    """
    at_most, above = functional.logsigmoid(logits), functional.logsigmoid(-logits)
    between = at_most[:, 1:] + above[:, :-1] + torch.log(-torch.expm1(-gaps))
    return torch.cat([at_most[:, :1], between, above[:, -1:]], dim=1)


class Transformer(nn.Module):
    """Tokens → two layers of self-attention → mean over the tokens of the text → softmax.

    The text's tokens attend to those of the context, which thus contributes, but a long context does not drown the
    text. The layers initially add nothing to a token, so that words are learned before their order, and words learn
    faster than the rest (:func:`parameter_groups`): each is seen rarely, and a constant prediction, the median of all
    ratings, is otherwise learned first, where the gradient of the earth mover's distance vanishes.
    """

    def __init__(self, n_features: int, n_points: int, length: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(n_features, WIDTH, padding_idx=PAD)
        self.positions = nn.Embedding(length, WIDTH)
        self.segments = nn.Embedding(2, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, FEED_FORWARD, DROPOUT, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS, nn.LayerNorm(WIDTH), enable_nested_tensor=False)
        self.dropout = nn.Dropout(DROPOUT)
        self.last = nn.Linear(WIDTH, n_points)
        for each in self.layers.layers:
            for part in (each.self_attn.out_proj.weight, each.linear2.weight, each.linear2.bias):
                nn.init.zeros_(part)
        for embedding in (self.positions, self.segments):  # words, initialised larger, should distinguish texts
            nn.init.normal_(embedding.weight, std=1 / math.sqrt(WIDTH))

    def start_from(self, shares: Tensor) -> None:
        """Let the prediction begin at these shares."""
        _set(self.last.bias, shares.log())

    def forward(self, tokens: Tensor, segments: Tensor) -> Tensor:
        """Return log-probabilities."""
        real = tokens != PAD
        positions = self.positions.weight[: tokens.shape[1]]
        hidden = self.dropout(self.tokens(tokens) + self.segments(segments) + positions)
        hidden = self.layers(hidden, src_key_padding_mask=~real)
        own = real & (segments == OF_TEXT)
        mean = (hidden * own[:, :, None]).sum(1) / own.sum(1, keepdim=True)
        return self.last(mean / math.sqrt(WIDTH)).log_softmax(-1)  # small at first, so that no constant wins early


def parameter_groups(network: nn.Module, rate: float) -> list[dict[str, object]]:
    """Return the parameters with their learning rates; those of a transformer's words are higher, see there."""
    fast = list(network.tokens.parameters()) if isinstance(network, Transformer) else []
    others = [one for one in network.parameters() if not any(one is word for word in fast)]
    groups: list[dict[str, object]] = [{"params": others, "lr": rate}]
    return [*groups, {"params": fast, "lr": rate * FASTER}] if fast else groups


def tensors(arrays: Sequence[object], dtype: torch.dtype, device: torch.device) -> list[Tensor]:
    """Return arrays as tensors on a device, whole numbers unchanged, the others with a given type."""
    found = [torch.as_tensor(array) for array in arrays]
    return [tensor.to(device, dtype if tensor.is_floating_point() else None) for tensor in found]


def _set(parameter: nn.Parameter, values: Tensor) -> None:
    with torch.no_grad():
        parameter.copy_(values)


# Kinds ----------------------------------------------------------------------------------------------------------------
#
# The kinds of models: what each reads, its network, and its training target.


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
