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
        whole = hashlib.blake2b(digest_size=16)
        try:
            _Digest(_Hashed(whole), 5).dump((metadata.version("plurivox"), parts, contribution, draws, finish))
            folder.mkdir(exist_ok=True)
        except (OSError, pickle.PicklingError, AttributeError, TypeError):  # of what cannot travel, either
            return None
        return cls(folder, whole.hexdigest())

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
        """Write down what so many parts add up to, now and then."""
        if time.monotonic() - self._last < SECONDS:
            return
        buffer = io.BytesIO()
        arrays: dict[str, Any] = {_DONE: np.array(n_parts), **sums}
        np.savez(buffer, **arrays)
        _written(self._sums, buffer.getvalue())
        self._last = time.monotonic()

    def keep_values(self, values: NDArray[np.float64]) -> None:
        """Write down what all parts make."""
        buffer = io.BytesIO()
        np.save(buffer, values)
        _written(self._values, buffer.getvalue())
        with contextlib.suppress(OSError):
            self._sums.unlink(missing_ok=True)


def _loaded(path: Path) -> Any:
    """Return what a file of numpy holds, None if there is none or it is damaged."""
    try:
        found = np.load(path, allow_pickle=False)
        return {name: found[name] for name in found.files} if path.suffix == ".npz" else found
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None


def _written(path: Path, content: bytes) -> None:
    with contextlib.suppress(FileError, OSError):  # a question can be answered without a log
        write_bytes(path, content)


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
        return len(data)


class _Digest(pickle.Pickler):
    """Writes parts by what is in them, wherever they lie."""

    def persistent_id(self, obj: Any) -> Any:
        """Return the content of a part, or what tells a packed study from all others."""
        if isinstance(obj, Part):
            arrays = (obj.offsets, obj.raters, obj.scores, obj.multiplicity)
            return obj.first, [
                (one.dtype.str, hashlib.blake2b(np.ascontiguousarray(one).data).digest()) for one in arrays
            ]
        return getattr(obj, "identity", None) if hasattr(obj, "log") else None
