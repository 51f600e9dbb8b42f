"""Going on: what an interrupted question had added up of a packed study is read, not made again.

Beside the folder lies another, with a file for each few draws that are finished, and the sums over the parts that were
done of those that are not. A file is named after all that decides what is in it: the parts, the contribution, the draws
and what is made of them. So it is never taken for something else; what differs in anything is computed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
import shutil
import time
import zipfile
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.engine.draws import Draws
from plurivox.engine.part import Part
from plurivox.errors import FileError
from plurivox.files import write_bytes

SECONDS = 5.0
"""How often sums over some of the parts are written down."""
_DONE = "_parts_done"  # what no sum is called


SHARE: ContextVar[Any] = ContextVar("share", default=None)
"""Which share of the work on packed studies is done here: a :class:`plurivox.engine.sharing.Share`, None if all is."""


def sharing(parts: Sequence[Part]) -> Any:
    """Return the share that is done of some parts, None if all is."""
    return SHARE.get() if hasattr(parts, "log") else None


class Log:
    """What is finished of a contribution under some draws."""

    def __init__(self, folder: Path, name: str) -> None:
        self._values, self._sums = folder / f"{name}.npy", folder / f"{name}.npz"
        self._last = time.monotonic()

    @classmethod
    def of(cls, parts: Sequence[Part], contribution: Any, draws: Draws, finish: Any) -> Log | None:
        """Return the log of some draws, None where parts are not those of a packed study or nothing can be kept."""
        folder: Path | None = getattr(parts, "log", None)
        if folder is None:
            return None
        try:
            name = name_of(parts, contribution, draws, finish)
            folder.mkdir(exist_ok=True)
        except (OSError, pickle.PicklingError, AttributeError, TypeError):  # of what cannot travel, either
            return None
        return cls(folder, name)

    def values(self) -> NDArray[np.float64] | None:
        """Return the values, if all parts were done."""
        found: NDArray[np.float64] | None = loaded(self._values)
        return found

    def sums(self) -> tuple[int, dict[str, NDArray[Any]]]:
        """Return how many parts were done, and what they add up to."""
        found = loaded(self._sums)
        if found is None:
            return 0, {}
        return int(found.pop(_DONE)), found

    def keep_sums(self, n_parts: int, sums: dict[str, NDArray[Any]]) -> None:
        """Write down what so many parts add up to, now and then."""
        if time.monotonic() - self._last < SECONDS:
            return
        with contextlib.suppress(FileError, OSError):  # a question can be answered without a log
            write_arrays(self._sums, {_DONE: np.array(n_parts), **sums})
        self._last = time.monotonic()

    def keep_values(self, values: NDArray[np.float64]) -> None:
        """Write down what all parts make."""
        with contextlib.suppress(FileError, OSError):
            write_arrays(self._values, values)
            self._sums.unlink(missing_ok=True)


def name_of(*what: Any) -> str:
    """Return what tells a piece of work from all others: a checksum of all that decides what comes of it."""
    whole = hashlib.blake2b(digest_size=16)
    pickler = _Digest(_Hashed(whole), 5)
    pickler.fast = True  # what is equal is written alike, whether or not it is the same object
    pickler.dump((metadata.version("plurivox"), *what))
    return whole.hexdigest()


def loaded(path: Path) -> Any:
    """Return what a file of numpy holds, None if there is none or it is damaged."""
    try:
        found = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
        return {name: found[name] for name in found.files} if path.suffix == ".npz" else found
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def write_arrays(path: Path, arrays: Any) -> None:
    """Write an array as .npy, or named ones as .npz, in one step."""
    buffer = io.BytesIO()
    if path.suffix == ".npz":
        np.savez(buffer, **arrays)
    else:
        np.save(buffer, arrays)
    write_bytes(path, buffer.getvalue())


@contextlib.contextmanager
def answering(ratings: Any) -> Iterator[None]:
    """Remove the log of a packed study once a question is answered."""
    yield
    parts = ratings.parts() if hasattr(ratings, "parts") else ()
    if (folder := getattr(parts, "log", None)) is not None and folder.is_dir():
        shutil.rmtree(folder, ignore_errors=True)


class _Hashed(io.RawIOBase):
    """A file that only its checksum is kept of."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def writable(self) -> bool:
        """Tell that it can be written to."""
        return True

    def write(self, data: Any) -> int:
        """Take bytes."""
        self._whole.update(data)
        return memoryview(data).nbytes


class _Digest(pickle.Pickler):
    """Writes arrays by what is in them, wherever they come from, and a packed study by what tells it from others."""

    def persistent_id(self, obj: Any) -> Any:
        """Return what stands for an array or a packed study."""
        if type(obj) is np.ndarray and not obj.dtype.hasobject:
            return obj.dtype.str, obj.shape, hashlib.blake2b(np.ascontiguousarray(obj).data).digest()
        return getattr(obj, "identity", None) if hasattr(obj, "log") else None
