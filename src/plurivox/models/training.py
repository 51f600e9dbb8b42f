"""Training one network: batches, early stopping, and an environment in which the same seed gives the same bits."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from plurivox.base.errors import InputError
from plurivox.models.kinds import ModelKind, parameter_groups, tensors
from plurivox.models.records import Epoch, TrainingSettings
from plurivox.models.texts import Inputs, Sequences

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
