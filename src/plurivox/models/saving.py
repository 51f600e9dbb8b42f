"""A model in a folder: ``model.json``, which says what it is, and its numbers in a file named by their content.

The numbers are written first, and ``model.json``, which names them, replaces the old one in one step. So an
interruption at any moment leaves a whole model, either the old one or the new. Nothing that is read is executed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import tempfile
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor, float32

from plurivox.base.errors import FileError
from plurivox.base.files import note_input, write_bytes, write_text
from plurivox.base.folders import made, remove_empty

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
