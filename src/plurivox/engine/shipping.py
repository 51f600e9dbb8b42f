"""Shipping: how a unit of work reaches the workers, once for all of its batches.

Threads get the work itself. Processes on this machine read it from a file and map its large arrays from separate files,
so that these are on disk and in memory only once. Workers of a cluster get it through their scheduler
(:mod:`plurivox.engine.cluster`). Any other executor gets it with every batch.

A record of work is small except for arrays that hundreds of batches share, so it travels in two pieces. The pickler
writes a number in place of each large array; the unpickler puts the same array there, writable only if it was, since
kernels are compiled for one or the other::

    work ──pickle──▶ content: … array 0, array 1 …   ──┬──▶ a worker: content + arrays ──▶ work, kept for all batches
                     arrays:  [ratings], [weights]   ──┘        (mapped from files, or sent once by the scheduler)

Content and arrays are known by their checksums, so the same array is stored once, whatever work it belongs to.
"""

from __future__ import annotations

import atexit
import hashlib
import io
import pickle
import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

LARGE = 1 << 16
"""From this many bytes on, an array is sent separately from the record that holds it."""
_LOADED = 4  # units of work that a worker keeps
Work = Callable[[int, int], Any]


class Shipment(Protocol):
    """Work that has been handed over."""

    def submit(self, first: int, last: int) -> Future[Any]:
        """Have a batch done."""

    def watch(self) -> None:
        """Raise an error if no worker is left that could do it; called while nothing is finished."""

    def forget(self) -> None:
        """Take it back."""


def shipped(work: Work, pool: Executor) -> Shipment:
    """Hand work to an executor in the way that suits it."""
    if isinstance(pool, ThreadPoolExecutor):
        return _Plain(pool, work)
    if isinstance(pool, ProcessPoolExecutor):
        return _Plain(pool, _InFile.of(work))
    if (ship := getattr(pool, "ship", None)) is not None:  # a cluster
        return cast(Shipment, ship(work))
    return _Plain(pool, _Carried.of(work))


@dataclass(frozen=True, slots=True)
class _Plain:
    """Work that is called directly."""

    pool: Executor
    work: Work

    def submit(self, first: int, last: int) -> Future[Any]:
        return self.pool.submit(self.work, first, last)

    def watch(self) -> None:
        pass

    def forget(self) -> None:
        if isinstance(self.work, _InFile):
            Path(self.work.path).unlink(missing_ok=True)


# A record, and its large arrays apart --------------------------------------------------------------------------------


class Parcel(NamedTuple):
    """A unit of work without its large arrays, and these."""

    content: bytes
    arrays: list[NDArray[Any]]

    @classmethod
    def of(cls, work: Work) -> Parcel:
        """Take work apart."""
        buffer = io.BytesIO()
        pickler = _Pickler(buffer, pickle.HIGHEST_PROTOCOL)
        pickler.dump(work)
        return cls(buffer.getvalue(), pickler.arrays)

    @property
    def name(self) -> str:
        """A name that distinguishes it from all others."""
        whole = hashlib.blake2b(self.content, digest_size=16)
        for array in self.arrays:
            whole.update(digest_of(array).encode())
        return whole.hexdigest()


class _Pickler(pickle.Pickler):
    """Writes for each large array only its number and whether it is writable, which matters to kernels."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.arrays: list[NDArray[Any]] = []
        self._numbers: dict[int, int] = {}

    def persistent_id(self, obj: Any) -> tuple[int, bool] | None:
        """Return the number of a large array."""
        if type(obj) is not np.ndarray or obj.nbytes < LARGE or obj.dtype.hasobject:
            return None
        if id(obj) not in self._numbers:
            self._numbers[id(obj)] = len(self.arrays)
            self.arrays.append(obj)
        return self._numbers[id(obj)], bool(obj.flags.writeable)


class _Unpickler(pickle.Unpickler):
    """Puts the arrays back."""

    def __init__(self, content: bytes, arrays: Sequence[NDArray[Any]]) -> None:
        super().__init__(io.BytesIO(content))
        self._arrays = arrays

    def persistent_load(self, pid: Any) -> NDArray[Any]:
        """Return a large array."""
        number, writeable = pid
        array: NDArray[Any] = self._arrays[number]
        if writeable:
            return array if array.flags.writeable else np.array(array)
        array = array.view()
        array.flags.writeable = False
        return array


class _Loaded:
    """The last few units of work that this process has put together."""

    def __init__(self) -> None:
        self._found: OrderedDict[str, Work] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, name: str, make: Callable[[], Parcel]) -> Work:
        """Return the work with a name, put together if it is not yet known."""
        with self._lock:
            if name not in self._found:
                content, arrays = make()
                self._found[name] = _Unpickler(content, arrays).load()  # written by this very program
                while len(self._found) > _LOADED:
                    self._found.popitem(last=False)
            self._found.move_to_end(name)
            return self._found[name]


loaded = _Loaded()

_digests: dict[int, str] = {}


def digest_of(array: NDArray[Any]) -> str:
    """Return a checksum of an array, computed once: work in progress is never changed."""
    if id(array) not in _digests:
        whole = hashlib.blake2b(repr((array.dtype.str, array.shape)).encode(), digest_size=16)
        whole.update(np.ascontiguousarray(array).data)
        weakref.finalize(array, _digests.pop, id(array), None)
        _digests[id(array)] = whole.hexdigest()
    return _digests[id(array)]


# Processes of this machine -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _InFile:
    """Work in a file; each worker reads it once."""

    path: str

    @classmethod
    def of(cls, work: Work) -> _InFile:
        """Store work."""
        content, arrays = Parcel.of(work)
        place = tempfile.NamedTemporaryFile(dir=_folder(), suffix=".work", delete=False)  # noqa: SIM115
        with place:
            pickle.dump((content, [_place_of(array) for array in arrays]), place)
        return cls(place.name)

    def __call__(self, first: int, last: int) -> Any:
        return loaded.get(self.path, self._read)(first, last)

    def _read(self) -> Parcel:
        with open(self.path, "rb") as file:
            content, places = pickle.load(file)  # noqa: S301 - written by this very program
        return Parcel(content, [_mapped(place) for place in places])


@lru_cache(maxsize=1)
def _folder() -> str:
    """Return a folder of this process, removed when it ends."""
    folder = tempfile.mkdtemp(prefix="plurivox-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


_places: dict[int, str] = {}


def _place_of(array: NDArray[Any]) -> str:
    """Store an array, unless that was done before, and return where it is."""
    if id(array) not in _places:
        with tempfile.NamedTemporaryFile(dir=_folder(), suffix=".npy", delete=False) as file:
            np.save(file, array)
        _places[id(array)] = file.name
        weakref.finalize(array, _gone, id(array))
    return _places[id(array)]


def _gone(number: int) -> None:
    Path(_places.pop(number)).unlink(missing_ok=True)


@lru_cache(maxsize=512)
def _mapped(path: str) -> NDArray[Any]:
    """Map an array from disk into memory."""
    return np.asarray(np.load(path, mmap_mode="r"))


# Any other executor --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Carried:
    """Work that travels with every batch, and is put together once."""

    name: str
    content: bytes

    @classmethod
    def of(cls, work: Work) -> _Carried:
        """Store work."""
        content = pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
        return cls(hashlib.blake2b(content, digest_size=16).hexdigest(), content)

    def __call__(self, first: int, last: int) -> Any:
        return loaded.get(self.name, lambda: Parcel(self.content, []))(first, last)
