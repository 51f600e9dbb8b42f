"""From ratings and texts to a trained predictor."""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from plurivox.base.arguments import Frame, checked
from plurivox.base.errors import InputError, ModelWarning
from plurivox.domain.attributes import Locate
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import Scale
from plurivox.infer.lens import counting_alike
from plurivox.models.inputs import Examples, ItemTable
from plurivox.models.kinds import kind_named
from plurivox.models.predictor import Predictor, refuse_names, versions
from plurivox.models.training import (
    SMOOTHING,
    Progress,
    Training,
    TrainingItems,
    TrainingSettings,
    constant_loss,
    plain,
    repeatable,
    train,
)

NO_BETTER = "its loss on held-out items is no lower than that of the same prediction for all, so the texts did not help"


@checked
def fit(
    ratings: Ratings,
    items: Frame,
    model: str = "mlp-kl",
    *,
    text: str = "text",
    context: Sequence[str] | str | None = (),
    item: str = "item",
    seed: int = 0,
    epochs: int = 200,
    patience: int = 5,
    batch: int = 64,
    learning_rate: float = 1e-3,
    validation: float = 0.15,
    features: int = 10_000,
    length: int = 128,
    device: str = "cpu",
    sigma: float | None = None,
    min_ratings: int = 1,
    sample_items: int | None = None,
    sample_ratings: int | None = None,
    progress: Progress | None = None,
    source: str = "items",
    locate: Locate | None = None,
) -> Predictor:
    """Train a model to predict, from the text of an item, how its ratings are distributed.

    On a CPU, the same seed gives the same model to the last bit, regardless of the order of rows and the number of
    threads.

    Parameters
    ----------
    ratings
        Who rated what, or totals; each item needs only a few ratings.
    items
        One row per item, in a frame of pandas, polars, pyarrow or anything else that narwhals knows.
    model
        Its name, one of :data:`MODELS`.
    text, context, item
        The columns of ``items`` that hold the text that was rated, what was said before it (oldest first, blank if
        nothing), and the ids used in the ratings.
    seed, epochs, patience, batch, learning_rate, validation, features, length, device, sigma, min_ratings, \
sample_items, sample_ratings
        As in :class:`Settings`.
    progress
        Called with an :class:`Epoch` after each. Ctrl-C keeps the best model so far.
    source, locate
        How to name the table of items and its rows in messages.

    Raises
    ------
    InputError
        If a column is missing, an item occurs twice, or fewer than two items have both a text and a rating.

    Warns
    -----
    ModelWarning
        If the ratings it learns from lack points of the scale.
    """
    begun = time.perf_counter()
    numbers = map(plain, (seed, epochs, patience, batch, learning_rate, validation, features, length))
    drawn = {"min_ratings": min_ratings, "sample_items": sample_items, "sample_ratings": sample_ratings}
    more = {name: plain(value) for name, value in {"sigma": sigma, **drawn}.items()}
    settings = TrainingSettings(*numbers, device=str(device), **more)  # type: ignore[misc]
    settings.check()
    kind = kind_named(model, settings.sigma)
    ratings = counting_alike(ratings, "fit")
    refuse_names(ratings.scale)
    where = _device(settings.device)
    columns = (context,) if isinstance(context, str) else tuple(context or ())
    table = ItemTable.read(items, text=text, context=columns, item=item, source=source, locate=locate)
    examples = Examples.join(ratings, table).drawn(settings)
    learned, held_out = map(examples.take, _split(len(examples.texts), settings))
    seen = learned.counts.sum(axis=0)
    unseen, warning = _unseen(ratings.scale, seen)
    if warning:
        warnings.warn(warning, ModelWarning, stacklevel=3)  # past the check of arguments
    # From the items learned from alone: the loss of those held out shall tell how well new texts are read, and new
    # texts have new words.
    encoder, remark = kind.encoder.learn(learned.texts, learned.contexts, features=features, length=length)
    with repeatable(settings.seed, where):
        network = kind.network(encoder.n_features, len(ratings.scale), length)
        network.start_from(torch.as_tensor((seen + SMOOTHING) / (seen + SMOOTHING).sum()))
        to_learn, to_check = (
            TrainingItems.of(kind, encoder.encode(part.texts, part.contexts), part.counts, where)
            for part in (learned, held_out)
        )
        run = train(network.to(where), kind, to_learn, to_check, settings, progress)
        baseline = constant_loss(kind, to_learn, to_check)
    learned_little = NO_BETTER if run.best.validation_loss >= baseline else ""
    notes = [note for note in (*examples.notes, remark, warning, *run.notes, learned_little) if note]
    training = Training(
        n_items=len(examples.texts), n_validation=len(held_out.texts), n_ratings=int(examples.counts.sum()),
        epochs=len(run.epochs), best_epoch=run.best.number,
        train_losses=tuple(epoch.train_loss for epoch in run.epochs),
        validation_losses=tuple(epoch.validation_loss for epoch in run.epochs),
        best_validation_loss=run.best.validation_loss, baseline_loss=baseline, stopped=run.stopped,
        seconds=time.perf_counter() - begun, unseen=unseen, notes=tuple(notes),
    )  # fmt: skip
    ready = network.cpu().double().eval()
    return Predictor(kind.name, ratings.scale, text, columns, item, training, settings, versions(), encoder, ready)


def _split(n_items: int, settings: TrainingSettings) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return which items to learn from and which to hold out, at least one each."""
    n_held_out = min(max(1, round(settings.validation * n_items)), n_items - 1)
    order = np.random.default_rng([settings.seed, 1]).permutation(n_items)
    return np.sort(order[n_held_out:]), np.sort(order[:n_held_out])


def _device(name: str) -> torch.device:
    if not re.fullmatch(r"cpu|mps|cuda(:\d+)?", name):
        raise InputError(f"device is {name!r}", hint="Choose cpu, cuda, cuda:1 or mps.")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise InputError(f"device is {name!r}, which cannot be used ({reason})", hint="Choose cpu.") from None
    return device


def _unseen(scale: Scale, counts: NDArray[np.int64]) -> tuple[tuple[str, ...], str]:
    """Return the points that no rating has, and what follows from it."""
    names = [str(label) for label in scale.labels]
    unseen = tuple(name for name, n in zip(names, counts, strict=True) if not n)
    told, only = "", names[int(counts.argmax())]
    if len(unseen) == len(names) - 1:
        told = f"all training ratings are {only}: texts cannot be distinguished, and {only} is predicted for all"
    elif unseen:
        shown = " or ".join(unseen[:8]) + (" …" if len(unseen) > 8 else "")
        told = f"no training rating is {shown}: when to expect it cannot be learned, and it will rarely be predicted"
    return unseen, told
