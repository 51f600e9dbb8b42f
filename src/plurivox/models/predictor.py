"""A trained model: what it predicts, and how it is kept in a folder."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from pathlib import Path

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from torch import nn

from plurivox.base.arguments import FilePath, Frame, checked
from plurivox.base.errors import FileError, InputError, ScaleError
from plurivox.domain.attributes import Locate
from plurivox.domain.scale import Scale, text_of
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.models import saving
from plurivox.models.inputs import ItemTable, turns_of
from plurivox.models.kinds import kind_named
from plurivox.models.records import Training, TrainingSettings
from plurivox.models.texts import Encoder, Turns
from plurivox.models.training import AT_ONCE, log_shares, one_thread

BLOCK = 4096
"""Items that are read together."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Predictor:
    """A model that predicts from texts how ratings are distributed; make one with :func:`fit` or :func:`load`.

    Attributes
    ----------
    kind
        The name of the model, one of :data:`MODELS`.
    scale
        The points that it predicts.
    text, context, item
        The columns it was trained on, which :meth:`predict` looks for.
    training, settings
        How it was trained, and with which settings.
    versions
        Those of plurivox, Python and what else it was trained with.
    """

    kind: str
    scale: Scale
    text: str
    context: tuple[str, ...]
    item: str
    training: Training
    settings: TrainingSettings
    versions: Mapping[str, str]
    _encoder: Encoder = field(repr=False)
    _network: nn.Module = field(repr=False)  # in float64, although it was trained in float32

    def __repr__(self) -> str:
        return f"<Predictor: {self.kind} on {self.scale}, trained on {self.training.n_items:,} items>"

    @checked
    def predict(
        self,
        items: Frame,
        *,
        text: str | None = None,
        context: Sequence[str] | str | None = None,
        item: str | None = None,
        name: str | None = None,
        scale: GivenScale | None = None,
        progress: Callable[[int, int], object] | None = None,
        source: str = "items",
        locate: Locate | None = None,
    ) -> pl.DataFrame:
        """Predict how items are rated.

        Parameters
        ----------
        items
            One row per item, in any frame.
        text, context, item
            The columns of the text, of what came before it, and of the id; those of the training by default.
        name
            The name of the model; by default its kind.
        scale
            The expected scale; a model for another one is refused.
        progress
            Called from time to time with the number of items done and the total.
        source, locate
            How to name the table and its rows in messages.

        Returns
        -------
        DataFrame
            One row per item in the order given: ``model``, ``item``, and a column of probabilities for each point,
            as :func:`plurivox.soft_scores` reads them.
        """
        require_scale(self.scale, as_scale(scale), self.kind)
        columns = self.context if context is None else (context,) if isinstance(context, str) else tuple(context)
        self._refuse_context(bool(columns))
        table = ItemTable.read(
            items,
            text=self.text if text is None else text,
            context=columns,
            item=self.item if item is None else item,
            source=source,
            locate=locate,
        )
        shares = self._shares(table.complete(), table.contexts, progress)
        frame = pl.DataFrame({"model": pl.repeat(name or self.kind, len(table.ids), eager=True), "item": table.ids})
        return frame.with_columns(pl.Series(str(label), shares[:, at]) for at, label in enumerate(self.scale.labels))

    def shares(
        self, texts: Sequence[str], contexts: Sequence[Sequence[str | None] | str | None] | None = None
    ) -> Shares:
        """Return the probability of each point, texts × points.

        Parameters
        ----------
        texts
            The texts to predict for.
        contexts
            For each text what came before it, oldest first.
        """
        if isinstance(texts, str):
            raise InputError("texts is one text", hint="Give a list of texts, even if there is only one.")
        given = ["" if text is None else str(text) for text in texts]
        for at, text in enumerate(given):
            if not text.strip():
                raise InputError(f"text {at + 1} is blank", hint="Leave it out.")
        turns: list[Turns] = [()] * len(given) if contexts is None else [turns_of(context) for context in contexts]
        if len(turns) != len(given):
            raise InputError(
                f"there are {len(given):,} texts but {len(turns):,} contexts",
                hint="Give one context per text, None where there is none.",
            )
        self._refuse_context(any(turns))
        return self._shares(given, turns)

    @checked
    def save(self, folder: FilePath) -> list[Path]:
        """Write the model into a folder, replacing any model there, and return the files.

        Whatever happens, the folder holds either the old model or the new one. It contains no text except the words
        that the model knows, and no raters.
        """
        about = {
            "kind": self.kind,
            "scale": self.scale.to_dict(),
            "text": self.text,
            "context": list(self.context),
            "item": self.item,
            "settings": asdict(self.settings),
            "training": asdict(self.training),
            "versions": dict(self.versions),
            "vocabulary": self._encoder.to_dict(),
        }
        state = self._network.state_dict()
        return saving.write(folder, about, {name: tensor.float().contiguous() for name, tensor in state.items()})

    def _refuse_context(self, given: bool) -> None:
        if given and not self.context:
            raise InputError(
                "there is context, but the model was trained without any", hint="Leave it out, or train with context=."
            )

    def _shares(
        self, texts: list[str], contexts: list[Turns], progress: Callable[[int, int], object] | None = None
    ) -> Shares:
        """Predict block by block, with texts of similar length together."""
        shares = np.empty((len(texts), len(self.scale)))
        like = torch.zeros(1, dtype=torch.float64)
        with one_thread(), torch.inference_mode():
            for first in range(0, len(texts), BLOCK):
                inputs = self._encoder.encode(texts[first : first + BLOCK], contexts[first : first + BLOCK])
                order = np.argsort(inputs.sizes(), kind="stable")
                for start in range(0, len(order), AT_ONCE):
                    rows = order[start : start + AT_ONCE]
                    shares[first + rows] = log_shares(self._network, inputs, rows, like).exp().numpy()
                if progress is not None:
                    progress(first + len(order), len(texts))
        shares /= shares.sum(axis=1, keepdims=True)
        return shares


Shares = NDArray[np.float64]


@checked
def load(folder: FilePath, *, scale: GivenScale | None = None) -> Predictor:
    """Read a model from the folder it was saved in; nothing in there is executed.

    Parameters
    ----------
    folder
        Where :meth:`Predictor.save` wrote it.
    scale
        The scale that is expected.

    Raises
    ------
    FileError
        If there is no model, or it is damaged or of a newer version.
    ScaleError
        If the model is for another scale.
    """
    about, tensors, source = saving.read(folder)
    try:
        kind = kind_named(about["kind"])
        found = Scale.from_dict(about["scale"])
        settings = TrainingSettings(**about["settings"])
        settings.check()
        training = Training.from_dict(about["training"])
        encoder = kind.encoder.from_dict(about["vocabulary"], length=settings.length)
        of, text, context, item = dict(about["versions"]), about["text"], about["context"], about["item"]
        if not isinstance(context, list) or not all(isinstance(name, str) for name in (text, item, *context)):
            raise TypeError("columns have names")
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError, RecursionError):
        raise FileError("it is not a model saved by plurivox", source=source, hint=saving.AGAIN) from None
    require_scale(found, as_scale(scale), source)
    with torch.device("meta"):  # shapes without numbers: nothing is drawn, and no file makes it take much memory
        network = kind.network(encoder.n_features, len(found), settings.length)
    saving.require_shapes(tensors, {name: tuple(like.shape) for name, like in network.state_dict().items()}, source)
    network.load_state_dict({name: tensor.double() for name, tensor in tensors.items()}, assign=True)
    return Predictor(kind.name, found, text, tuple(context), item, training, settings, of, encoder, network.eval())


def versions() -> dict[str, str]:
    """Return what a model is made with."""
    packages = ("plurivox", "torch", "numpy", "safetensors")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in packages}


def refuse_names(scale: Scale) -> None:
    """Raise if a point has the name of another column of predictions."""
    taken = {str(label) for label in scale.labels} & {"model", "item"}
    if taken:
        raise ScaleError(
            f"a point of the scale is called {min(taken)!r}, like another column of predictions",
            hint="Give the point another name.",
        )


def require_scale(found: Scale, wanted: Scale | None, source: str) -> None:
    """Raise if a scale is expected but the model has another."""
    if wanted is None:
        return
    mine, theirs = ([text_of(label) for label in scale.labels] for scale in (found, wanted))
    if mine != theirs:
        raise ScaleError(
            f"the model is on the scale {found}, not on {wanted}",
            source=source,
            hint="Train one on the scale you need.",
        )
    if found.values != wanted.values:
        raise ScaleError(
            f"the points of the model have the values {_shown(found)}, not {_shown(wanted)}",
            source=source,
            hint="Train one on the scale you need.",
        )


def _shown(scale: Scale) -> str:
    return ", ".join(f"{value:g}" for value in scale.values[:12]) + (", …" if len(scale) > 12 else "")
