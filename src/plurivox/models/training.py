"""Training one network: batches, early stopping, and an environment in which the same seed gives the same bits.

The records come first: how a model is trained, and how that went.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from plurivox.base.errors import InputError
from plurivox.models.kinds import ModelKind, parameter_groups, tensors
from plurivox.models.texts import Inputs, Sequences

LARGEST = 2**63 - 1
WIDEST = 1_000
"""The largest sigma: beyond it, all points are alike on any scale that can be learned."""
MOST = {"features": 10_000_000, "length": 100_000, "epochs": 1_000_000, "patience": 1_000_000, "batch": 10_000_000}
"""What still fits into memory, or into a lifetime."""


def plain(number: Any) -> Any:
    """Return a number of NumPy as one of Python, which JSON knows."""
    return number.item() if isinstance(number, np.generic) else number


@dataclass(frozen=True, slots=True)
class TrainingSettings:
    """The choices of a training.

    Attributes
    ----------
    seed
        The start of all random numbers.
    epochs, patience
        The largest number of passes over all training items, and after how many epochs without the validation loss
        falling by a thousandth training stops.
    batch, learning_rate
        Items per step, and the step size of Adam.
    validation
        The share of items held out to decide when to stop.
    features
        The most words that the model knows.
    length
        The most tokens of one item that the transformer reads.
    device
        Where it was trained.
    sigma
        How far mlp-kl spreads a rating to neighbouring points, in points; None for 0.5, and for other models.
    min_ratings
        Items with fewer ratings are left out.
    sample_items, sample_ratings
        How many items are drawn at random, and at most how many ratings of each; None for all.
    """

    seed: int
    epochs: int
    patience: int
    batch: int
    learning_rate: float
    validation: float
    features: int
    length: int
    device: str
    sigma: float | None = None
    min_ratings: int = 1
    sample_items: int | None = None
    sample_ratings: int | None = None

    def check(self) -> None:
        """Raise if a number makes no sense."""
        for name in ("seed", "epochs", "patience", "batch", "features", "length"):
            value, least, most = getattr(self, name), int(name != "seed"), MOST.get(name, LARGEST)
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
                upto = f"to {most:,}" if name in MOST else "on"
                raise InputError(f"{name} is {value!r}", hint=f"Give a whole number from {least} {upto}.")
        for name, least in (("min_ratings", 1), ("sample_items", 2), ("sample_ratings", 1)):
            value = getattr(self, name)
            if value is None and name != "min_ratings":
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= LARGEST:
                raise InputError(f"{name} is {value!r}", hint=f"Give a whole number of at least {least}.")
        if self.sigma is not None and (
            isinstance(self.sigma, bool) or not isinstance(self.sigma, int | float) or not 0 <= self.sigma <= WIDEST
        ):
            raise InputError(f"sigma is {self.sigma!r}", hint=f"Give a number of points from 0 to {WIDEST}.")
        for name, below, hint in (
            ("learning_rate", math.inf, "Give a positive number, such as 0.001."),
            ("validation", 1, "Give a share of the items between 0 and 1, such as 0.15."),
        ):
            number = getattr(self, name)
            if isinstance(number, bool) or not isinstance(number, int | float) or not 0 < number < below:
                raise InputError(f"{name} is {number!r}", hint=hint)


@dataclass(frozen=True, slots=True)
class Epoch:
    """How one pass over the training items went.

    Attributes
    ----------
    number, of
        Which epoch, counted from 1, and how many there are at most.
    train_loss, validation_loss
        The model's own loss: of the training items while it learned from them, and of those held out, afterwards.
    best_epoch
        The epoch with the lowest validation loss up to now.
    """

    number: int
    of: int
    train_loss: float
    validation_loss: float
    best_epoch: int


@dataclass(frozen=True, slots=True)
class Training:
    """How a training went.

    Attributes
    ----------
    n_items, n_validation, n_ratings
        Items with text and ratings, how many of them were held out for validation, and the ratings of all of them.
    epochs, best_epoch
        How many epochs were run, and after which the model was kept, counted from 1.
    train_losses, validation_losses
        One of each per epoch, as in :class:`Epoch`.
    best_validation_loss
        That of the model that was kept.
    baseline_loss
        The validation loss if every text gets the same prediction, the best one for the training items: a model that is
        no better has learned nothing from the texts.
    stopped
        Why it ended: ``"early"`` when the validation loss got no better, ``"epochs"`` when all were run,
        ``"interrupted"`` by Ctrl-C.
    seconds
        How long it took, reading the texts included.
    unseen
        Points of the scale that no training rating has.
    notes
        What was left out or needs care, as sentences without their full stop.
    """

    n_items: int
    n_validation: int
    n_ratings: int
    epochs: int
    best_epoch: int
    train_losses: tuple[float, ...]
    validation_losses: tuple[float, ...]
    best_validation_loss: float
    baseline_loss: float
    stopped: str
    seconds: float
    unseen: tuple[str, ...]
    notes: tuple[str, ...]

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Training:
        """Rebuild it from plain lists; raise TypeError if that is impossible."""
        types = {"int": int, "float": float, "str": str}
        parts: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in data.items()}
        for part in fields(cls):
            if not isinstance(parts.get(part.name), types.get(str(part.type), tuple)):
                raise TypeError(f"{part.name} is {parts.get(part.name)!r}")
        return cls(**parts)


# Training -------------------------------------------------------------------------------------------------------------

Progress = Callable[[Epoch], object]
AT_ONCE = 256
"""Items that are predicted together."""
SMOOTHING = 0.5
"""What each point's count is raised by in the shares that networks start from, so that none is 0."""
LEAST_GAIN = 1e-3
"""The fraction by which the validation loss must fall to justify waiting longer."""
POOL = 16
"""Batches of sequences that are divided up by length."""
NOT_FINITE = "training ended in epoch {}, in which the loss was no longer a finite number; the best epoch was kept"


@dataclass(frozen=True, slots=True, eq=False)
class TrainingItems:
    """Some items to learn from or to check with: what the network reads, the targets, and how much each counts."""

    inputs: Inputs
    targets: Tensor
    weights: Tensor

    @classmethod
    def of(cls, kind: ModelKind, inputs: Inputs, counts: NDArray[np.int64], device: torch.device) -> TrainingItems:
        """Prepare items with these counts of ratings."""
        numbers = torch.as_tensor(counts, dtype=torch.float32)
        return cls(inputs, kind.target(numbers).to(device), kind.weights(numbers).to(device))


class TrainingRun(NamedTuple):
    """How the epochs went, which of them the network was left at, and why they ended."""

    epochs: tuple[Epoch, ...]
    best: Epoch
    stopped: str
    notes: tuple[str, ...]


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Compute in one thread: several would add in a different order, which changes the last digits."""
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        yield
    finally:
        torch.set_num_threads(threads)


@contextlib.contextmanager
def repeatable(seed: int, device: torch.device) -> Iterator[None]:
    """Start random numbers at the seed; afterwards, restore everything as the caller had it."""
    dtype, on_gpu = torch.get_default_dtype(), device.type == "cuda"
    with (
        torch.random.fork_rng(devices=[device] if on_gpu else []),
        torch.inference_mode(False),
        torch.enable_grad(),
        torch.autocast(device.type, enabled=False),
        one_thread(),
    ):
        torch.default_generator.manual_seed(seed)
        if on_gpu:
            with torch.cuda.device(device):
                torch.cuda.manual_seed(seed)
        try:
            torch.set_default_dtype(torch.float32)
            yield
        finally:
            torch.set_default_dtype(dtype)


def train(
    network: nn.Module, kind: ModelKind, learned: TrainingItems, held_out: TrainingItems, settings: TrainingSettings,
    progress: Progress | None,
) -> TrainingRun:  # fmt: skip
    """Train until the validation loss stops improving, and leave the network at its best.

    Ctrl-C ends it early; before the first epoch is over there is nothing to keep, and it is passed on.
    """
    shuffled = np.random.default_rng(settings.seed)
    optimizer = torch.optim.Adam(parameter_groups(network, settings.learning_rate))
    epochs: list[Epoch] = []
    best: tuple[Epoch, dict[str, Tensor]] | None = None  # one name, so that Ctrl-C cannot separate the two
    stopped, notes = "epochs", []
    mark, marked = math.inf, 0  # the last loss that was worth waiting for, and its epoch
    try:
        for number in range(1, settings.epochs + 1):
            own = batches(learned.inputs, shuffled, settings.batch)
            train_loss = _gone_through(network, kind, learned, own, optimizer)
            loss = mean_loss(network, kind, held_out)
            if not (math.isfinite(train_loss) and math.isfinite(loss)):
                stopped = "early"
                notes.append(NOT_FINITE.format(number))
                break
            better = best is None or loss < best[0].validation_loss
            epochs.append(Epoch(number, settings.epochs, train_loss, loss, number if better else epochs[-1].best_epoch))
            if better:
                best = epochs[-1], {name: tensor.detach().clone() for name, tensor in network.state_dict().items()}
            if progress is not None:
                progress(epochs[-1])
            if loss < mark - LEAST_GAIN * abs(loss):
                mark, marked = loss, number
            if number - marked >= settings.patience and number < settings.epochs:
                stopped = "early"
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        stopped = "interrupted"
    if best is None:
        raise InputError(
            f"learning_rate is {settings.learning_rate:g}, but the loss is not a finite number after one epoch",
            hint="Give a smaller learning rate, such as 0.001.",
        )
    network.load_state_dict(best[1])
    return TrainingRun(tuple(epochs), best[0], stopped, tuple(notes))


def mean_loss(network: nn.Module, kind: ModelKind, part: TrainingItems) -> float:
    """Return the mean loss of all items of a part, without learning from them."""
    rows = np.split(np.arange(len(part.inputs)), range(AT_ONCE, len(part.inputs), AT_ONCE))
    return _gone_through(network, kind, part, rows)


def _gone_through(
    network: nn.Module, kind: ModelKind, part: TrainingItems, rows: Sequence[NDArray[np.int64]],
    optimizer: torch.optim.Optimizer | None = None,
) -> float:  # fmt: skip
    """Go once through batches of a part, and return the mean loss on the way; with an optimizer, learn from them."""
    network.train(optimizer is not None)
    total = weight = 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for batch in rows:
            chosen = torch.as_tensor(batch, device=part.targets.device)
            targets, weights = part.targets[chosen], part.weights[chosen]
            losses = kind.distance(targets, log_shares(network, part.inputs, batch, targets))
            if optimizer is None:
                total += float((losses * weights).sum())
            else:
                loss = (losses * weights).sum() / weights.sum()
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += float(loss.detach()) * float(weights.sum())
            weight += float(weights.sum())
    return total / weight


def constant_loss(kind: ModelKind, learned: TrainingItems, held_out: TrainingItems) -> float:
    """Return the mean loss of held-out items if each gets the same prediction, the best one for the training items."""
    shares = kind.constant(learned.targets, learned.weights)
    shares = shares.clamp_min(SMOOTHING / (float(learned.weights.sum()) + SMOOTHING * len(shares)))
    losses = kind.distance(held_out.targets, shares.log().expand_as(held_out.targets))
    return float((losses * held_out.weights).sum() / held_out.weights.sum())


def log_shares(network: nn.Module, inputs: Inputs, rows: NDArray[np.int64], like: Tensor) -> Tensor:
    """Return the network's log-probabilities of some items, in the type and on the device of ``like``."""
    found: Any = network(*tensors(inputs.pick(rows), like.dtype, like.device))
    return found


def batches(inputs: Inputs, shuffled: np.random.Generator, batch: int) -> list[NDArray[np.int64]]:
    """Divide all items into batches at random; sequences of similar length are put together, for less padding."""
    order = shuffled.permutation(len(inputs))
    if isinstance(inputs, Sequences):
        sizes = inputs.sizes()
        pools = [order[first : first + POOL * batch] for first in range(0, len(order), POOL * batch)]
        order = np.concatenate([pool[np.argsort(sizes[pool], kind="stable")] for pool in pools])
    found = [order[first : first + batch] for first in range(0, len(order), batch)]
    return [found[at] for at in shuffled.permutation(len(found))]
