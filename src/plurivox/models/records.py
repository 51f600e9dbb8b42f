"""What is known about a trained model: how it was trained, and how that went."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from plurivox.base.errors import InputError

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
