"""Resuming: what an interrupted analysis of a packed study had already added up is read, not computed again.

Next to the study's folder is another one, with a file for every few finished draws and, for unfinished ones, the sums
over the parts done so far. A file is named after everything that determines its content: the parts, the contribution,
the draws and the finish. So it is never mistaken for something else; anything that differs is computed.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import pickle
import re
import time
import zipfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import FileError
from plurivox.base.files import write_bytes
from plurivox.domain.part import Part
from plurivox.engine.draws import Draws

SECONDS = 5.0
"""How often, in seconds, sums over some of the parts are written."""
_DONE = "_parts_done"  # no sum has this name
_OURS = re.compile(r"[0-9a-f]{32}\.np[yz]|\.[0-9a-f]{32}\.np[yz]\.[0-9a-f]{8}\.part")  # also what was being written


class ProgressLog:
    """The finished part of a contribution under some draws."""

    def __init__(self, folder: Path, name: str) -> None:
        self._values, self._sums = folder / f"{name}.npy", folder / f"{name}.npz"
        self._last = time.monotonic()

    @classmethod
    def of(cls, parts: Sequence[Part], contribution: Any, draws: Draws, finish: Any) -> ProgressLog | None:
        """Return the log of some draws, None if parts do not belong to a packed study or nothing can be kept."""
        folder: Path | None = getattr(parts, "log", None)
        if folder is None:
            return None
        try:
            name = _name_of(parts, contribution, draws, finish)
            folder.mkdir(exist_ok=True)
        except (OSError, pickle.PicklingError, AttributeError, TypeError):  # also for what cannot be pickled
            return None
        return cls(folder, name)

    def values(self) -> NDArray[np.float64] | None:
        """Return the values, if all parts were done."""
        found: NDArray[np.float64] | None = _loaded(self._values)
        return found

    def sums(self) -> tuple[int, dict[str, NDArray[Any]]]:
        """Return how many parts were done, and what they add up to."""
        found = _loaded(self._sums)
        if found is None:
            return 0, {}
        return int(found.pop(_DONE)), found

    def keep_sums(self, n_parts: int, sums: dict[str, NDArray[Any]]) -> None:
        """Write what the first parts add up to, now and then."""
        if time.monotonic() - self._last < SECONDS:
            return
        with contextlib.suppress(FileError, OSError):  # an analysis works without a log
            _write_arrays(self._sums, {_DONE: np.array(n_parts), **sums})
        self._last = time.monotonic()

    def keep_values(self, values: NDArray[np.float64]) -> None:
        """Write the values from all parts."""
        with contextlib.suppress(FileError, OSError):
            _write_arrays(self._values, values)
            self._sums.unlink(missing_ok=True)


def _name_of(*what: Any) -> str:
    """Return a unique name for a piece of work: a checksum of everything that determines its result."""
    whole = hashlib.blake2b(digest_size=16)
    pickler = _Digest(_Hashed(whole), 5)
    pickler.fast = True  # equal objects are written alike, whether or not they are the same
    pickler.dump((metadata.version("plurivox"), *what))
    return whole.hexdigest()


def _loaded(path: Path) -> Any:
    """Return the content of a numpy file, None if there is none or it is damaged."""
    try:
        found = np.load(io.BytesIO(path.read_bytes()), allow_pickle=False)
        return {name: found[name] for name in found.files} if path.suffix == ".npz" else found
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _write_arrays(path: Path, arrays: Any) -> None:
    """Write an array as .npy, or named ones as .npz, in one step."""
    buffer = io.BytesIO()
    if path.suffix == ".npz":
        np.savez(buffer, **arrays)
    else:
        np.save(buffer, arrays)
    write_bytes(path, buffer.getvalue())


@contextlib.contextmanager
def answering(ratings: Any) -> Iterator[None]:
    """Remove the log of a packed study once an analysis is complete."""
    yield
    parts = ratings.parts() if hasattr(ratings, "parts") else ()
    folder: Path | None = getattr(parts, "log", None)
    if folder is not None and folder.is_dir() and not folder.is_symlink():
        with contextlib.suppress(OSError):  # the folder stays if it holds anything else
            for path in folder.iterdir():
                if _OURS.fullmatch(path.name):
                    path.unlink()
            folder.rmdir()


class _Hashed(io.RawIOBase):
    """A file of which only the checksum is kept."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole

    def writable(self) -> bool:
        """Return that it is writable."""
        return True

    def write(self, data: Any) -> int:
        """Add bytes to the checksum."""
        self._whole.update(data)
        return memoryview(data).nbytes


class _Digest(pickle.Pickler):
    """Pickles arrays by their content, wherever they come from, and a packed study by what identifies it."""

    def persistent_id(self, obj: Any) -> Any:
        """Return what stands for an array or a packed study."""
        if type(obj) is np.ndarray and not obj.dtype.hasobject:
            return obj.dtype.str, obj.shape, hashlib.blake2b(np.ascontiguousarray(obj).data).digest()
        return getattr(obj, "identity", None) if hasattr(obj, "log") else None
