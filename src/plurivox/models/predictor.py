"""A trained model: what it predicts, and how it is kept in a folder."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import metadata
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor, float32, nn

from plurivox.base.arguments import FilePath, Frame, checked
from plurivox.base.errors import FileError, InputError, ScaleError
from plurivox.base.files import note_input, write_bytes, write_text
from plurivox.base.folders import made, remove_empty
from plurivox.domain.attributes import Locate
from plurivox.domain.scale import Scale, text_of
from plurivox.domain.scale_files import GivenScale, as_scale
from plurivox.models.inputs import ItemTable, turns_of
from plurivox.models.kinds import kind_named
from plurivox.models.texts import Encoder, Turns
from plurivox.models.training import AT_ONCE, Training, TrainingSettings, log_shares, one_thread

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
        own, ids = self.text if text is None else text, self.item if item is None else item
        table = ItemTable.read(items, text=own, context=columns, item=ids, source=source, locate=locate)
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
            "kind": self.kind, "scale": self.scale.to_dict(), "text": self.text, "context": list(self.context),
            "item": self.item, "settings": asdict(self.settings), "training": asdict(self.training),
            "versions": dict(self.versions), "vocabulary": self._encoder.to_dict(),
        }  # fmt: skip
        state = self._network.state_dict()
        return write(folder, about, {name: tensor.float().contiguous() for name, tensor in state.items()})

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
    about, tensors, source = read(folder)
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
        raise FileError("it is not a model saved by plurivox", source=source, hint=AGAIN) from None
    require_scale(found, as_scale(scale), source)
    with torch.device("meta"):  # shapes without numbers: nothing is drawn, and no file makes it take much memory
        network = kind.network(encoder.n_features, len(found), settings.length)
    require_shapes(tensors, {name: tuple(like.shape) for name, like in network.state_dict().items()}, source)
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
    if mine == theirs and found.values == wanted.values:
        return
    problem = f"the model is on the scale {found}, not on {wanted}"
    if mine == theirs:
        more = ", …" if len(found) > 12 else ""
        own, other = (", ".join(f"{value:g}" for value in one.values[:12]) + more for one in (found, wanted))
        problem = f"the points of the model have the values {own}, not {other}"
    raise ScaleError(problem, source=source, hint="Train one on the scale you need.")


# Saving ---------------------------------------------------------------------------------------------------------------
#
# A model in a folder: ``model.json``, which says what it is, and its numbers in a file named by their content.
#
# The numbers are written first, and ``model.json``, which names them, replaces the old one in one step. So an
# interruption at any moment leaves a whole model, either the old one or the new. Nothing that is read is executed.


FORMAT = 1
ABOUT = "model.json"
ELSEWHERE = "Name another folder to write to."
AGAIN = "Save the model again, or copy its whole folder again."
_WEIGHTS = re.compile(r"weights-[0-9a-f]{12}\.safetensors")


def write(folder: str | PathLike[str], about: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> list[Path]:
    """Write a model into a folder, and remove the numbers of models that were there before."""
    home = Path(folder)
    content = bytes_of(dict(tensors))
    digest = hashlib.sha256(content).hexdigest()
    numbers = home / f"weights-{digest[:12]}.safetensors"
    document = {"format": FORMAT, **about, "weights": {"file": numbers.name, "sha256": digest}}
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=1)
    _refuse_other(home)
    with made(home):
        was_there = numbers.exists()
        try:
            write_bytes(numbers, content)
            write_text(home / ABOUT, text + "\n")
        except BaseException:
            if not was_there:
                numbers.unlink(missing_ok=True)
            raise
    for old in home.iterdir():
        if _WEIGHTS.fullmatch(old.name) and old != numbers:
            with contextlib.suppress(OSError):
                old.unlink()
    return [home / ABOUT, numbers]


def try_folder(folder: str | PathLike[str]) -> None:
    """Raise if a folder cannot be written to; anything created to find out is removed."""
    home = Path(folder)
    _refuse_other(home)
    with made(home) as new:
        try:
            with tempfile.TemporaryFile(dir=home):
                pass
        except OSError as error:
            raise FileError(f"it cannot be written to ({error.strerror})", source=str(home), hint=ELSEWHERE) from None
        finally:
            remove_empty(new)


def _refuse_other(home: Path) -> None:
    """Raise if there is a ``model.json`` of something else, which would be overwritten."""
    if not (home / ABOUT).exists() or any(_WEIGHTS.fullmatch(name) for name in os.listdir(home)):
        return  # with numbers next to it, it is one of ours, though perhaps damaged
    try:
        _document(home, str(home / ABOUT))
    except FileError:
        problem = "it is not a plurivox model and would be overwritten"
        raise FileError(problem, source=str(home / ABOUT), hint=ELSEWHERE) from None


def read(folder: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, Tensor], str]:
    """Return what ``model.json`` says, the numbers, and how to name the file in messages."""
    home = Path(folder)
    source = str(home / ABOUT)
    about = _document(home, source)
    named = about.get("weights")
    name, digest = (named.get("file"), named.get("sha256")) if isinstance(named, dict) else (None, None)
    if not isinstance(name, str) or not _WEIGHTS.fullmatch(name):
        raise _damaged(f"it names {name!r} as the file of its numbers, which is not a name that plurivox uses", source)
    content = _bytes(home / name, "the numbers of the model are")
    if hashlib.sha256(content).hexdigest() != digest:
        raise _damaged(f"its content is not what {ABOUT} says", home / name)
    try:
        return about, tensors_of(content), source
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        raise _damaged(f"it is not a safetensors file ({error})", home / name) from None


def require_shapes(found: Mapping[str, Tensor], wanted: Mapping[str, tuple[int, ...]], source: str) -> None:
    """Raise unless the tensors are those of the network that ``model.json`` describes."""
    shapes = {name: tuple(tensor.shape) for name, tensor in found.items()}
    broken = [name for name, tensor in found.items() if not bool(tensor.isfinite().all())]
    if broken:
        raise _damaged(f"{broken[0]!r} holds a number that is not finite", source)
    for name in sorted({*shapes, *wanted}):
        if shapes.get(name) != wanted.get(name) or found[name].dtype != float32:
            there = f"{found[name].dtype} of the shape {shapes[name]}" if name in found else "missing"
            needed = f"torch.float32 of the shape {wanted[name]}" if name in wanted else "absent"
            raise _damaged(f"it does not match its numbers: {name!r} is {there} but should be {needed}", source)


def _document(home: Path, source: str) -> dict[str, Any]:
    if not home.is_dir():
        raise FileError("there is no such folder", source=str(home), hint="Name the folder that a model was saved in.")
    content = _bytes(home / ABOUT, "what the model is, is")
    try:
        about = json.loads(content.decode("utf-8"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _damaged(f"it is not JSON ({error})", source) from None
    number = about.get("format") if isinstance(about, dict) else None
    if type(number) is not int or number < 1:
        raise _damaged("it does not say that it is a model of plurivox", source)
    if number > FORMAT:
        raise FileError(
            f"it is of format {number}, from a newer version of plurivox; this one reads format {FORMAT}",
            source=source,
            hint="Install a newer plurivox.",
        )
    found: dict[str, Any] = about
    return found


def _bytes(path: Path, what: str) -> bytes:
    try:
        if path.exists() and not path.is_file():
            raise _damaged("it is not a file", path)
        note_input(path)
        return path.read_bytes()
    except FileNotFoundError:
        raise _damaged(f"the file is missing: {what} in it", path) from None
    except OSError as error:
        raise FileError(f"it cannot be read ({error.strerror})", source=str(path)) from None


def _damaged(problem: str, source: str | Path) -> FileError:
    return FileError(problem, source=str(source), hint=AGAIN)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")
