"""Workers: units of work in batches, on threads or any executor, in order, and quick to stop; and how callers want it.

A unit of work is a callable of a range, ``work(first, last)``. To run in another process or on another machine, it must
be a small frozen record of a module-level class: it returns what it made and writes nothing.
It travels to the worker once for all of its batches, see :func:`shipped`.
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
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (  # fmt: skip
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from plurivox.base import processors
from plurivox.base.arguments import MOST_THREADS, Kind, check_given, whole
from plurivox.base.errors import InputError

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is in total."""


_KINDS = {
    "executor": Annotated[
        Any,
        Kind(
            "an executor, such as concurrent.futures.ThreadPoolExecutor(4)",
            lambda one: one is None or callable(getattr(one, "submit", None)),
        ),
    ],
    "progress": Annotated[
        Any, Kind("a function of what is done, how far, and the total", lambda one: one is None or callable(one))
    ],
}


class Running(NamedTuple):
    """How work is run.

    Attributes
    ----------
    threads
        How many calls run at once, by default as many as there are processors.
    executor
        Runs them instead of threads: any executor, including one of processes or of a cluster.
    progress
        Called with the progress.
    what
        What is being done, in a few words.
    """

    threads: int | None = None
    executor: Executor | None = None
    progress: Progress | None = None
    what: str = ""

    @classmethod
    def given(cls, threads: Any = None, executor: Any = None, progress: Any = None) -> Running:
        """Return how a caller wants work to run.

        Raises
        ------
        InputError
            If threads is not a whole number from 1 up, executor is not an executor, or progress is not a function.
        """
        count = None if threads is None else whole("threads", threads, 1, MOST_THREADS)
        check_given({"executor": executor, "progress": progress}, _KINDS)
        if type(executor).__module__.partition(".")[0] == "distributed":
            from plurivox.engine.cluster import Cluster

            executor = Cluster.of(executor)
        return cls(count, executor, progress)

    def doing(self, what: str) -> Running:
        """Return the same for another kind of work."""
        return self._replace(what=what)

    def within(self, done: int, total: int, times: int = 1) -> Running:
        """Return the same for a part of a whole: it reports the progress of the whole, of which ``done`` was done."""
        tell = self.progress
        if tell is None:
            return self
        return self._replace(progress=lambda what, more, _: tell(what, done + more * times, total))

    def tell(self, done: int, total: int) -> None:
        """Report the progress, if there is a function to call."""
        if self.progress is not None:
            self.progress(self.what, done, total)


T = TypeVar("T")

_AHEAD = 2  # batches handed out per worker, so that none waits for the next
_GLANCE = 0.1  # seconds between looks for Ctrl-C, which cannot break a longer wait on every platform
_SECONDS = 0.2  # a batch should take about this long, so that Ctrl-C and progress are prompt
CELLS = 2_000_000
"""The most numbers that a batch holds at once."""


def batched(work: Callable[[int, int], T], total: int, how: Running, *, cost: float, width: int) -> list[T]:
    """Run batches of a size that keeps Ctrl-C and progress prompt and memory small.

    Parameters
    ----------
    work, total, how
        As in :func:`in_batches`.
    cost, width
        Roughly how many seconds one of ``total`` takes, and how many numbers it holds at once.
    """
    spread = -(-total // (4 * at_once(how)))  # enough batches to keep every worker busy to the end
    batch = max(1, min(int(_SECONDS / cost), int(CELLS / width), spread))
    return in_batches(work, total, how, batch=batch)


def in_batches(work: Callable[[int, int], T], total: int, how: Running, *, batch: int = 1) -> list[T]:
    """Call ``work(first, last)`` for consecutive ranges that cover ``range(total)``, and return its results in order.

    What ``work`` returns must depend on its range alone; then neither the number of workers nor the order in which
    batches end changes the result. An error in ``work`` is raised here. After an error or Ctrl-C, no further batch
    starts, and running ones are not waited for; the interpreter does wait for them when it exits, so batches should
    take a second at most.

    Parameters
    ----------
    work
        Maps the first number and the one after the last to any result; on threads, it should release the GIL.
    total
        How many units there are.
    how
        The threads or the executor, which is left running, and the progress function, called in the caller's thread.
    batch
        How many units a call covers; the last may cover fewer.

    Examples
    --------
    >>> in_batches(lambda first, last: list(range(first, last)), 5, Running(), batch=2)
    [[0, 1], [2, 3], [4]]
    """
    return list(as_made(work, total, how, batch=batch))


def as_made(work: Callable[[int, int], T], total: int, how: Running, *, batch: int = 1) -> Iterator[T]:
    """Yield the results of :func:`in_batches` one by one, in order, so that not all need be kept."""
    count = at_once(how)
    if batch < 1 or count < 1:
        raise InputError(f"batch is {batch} and threads is {count}", hint="Give whole numbers, 1 or greater.")
    ranges = [(first, min(first + batch, total)) for first in range(0, total, batch)]
    results: dict[int, T] = {}
    running: dict[Future[T], int] = {}
    waiting = iter(enumerate(ranges))
    done = given = 0
    pool = how.executor or ThreadPoolExecutor(count, thread_name_prefix="plurivox-draw")
    sent = shipped(work, pool)
    try:
        while given < len(ranges):
            for number, (first, last) in islice(waiting, _AHEAD * count - len(running)):
                running[sent.submit(first, last)] = number
            finished, _ = wait(running, timeout=_GLANCE, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=running.__getitem__):
                number = running.pop(future)
                results[number] = future.result()
                first, last = ranges[number]
                done += last - first
            if finished:
                how.tell(done, total)
            else:
                sent.watch()
            while given in results:
                yield results.pop(given)
                given += 1
    finally:
        for future in running:
            future.cancel()
        if how.executor is None:
            pool.shutdown(wait=False, cancel_futures=True)
        sent.forget()


def at_once(how: Running) -> int:
    """Return how many units of work run at once: as many as requested, or as the executor has workers."""
    if how.threads is not None:
        return how.threads
    for name in ("n_workers", "_max_workers"):  # of a cluster, and of the executors of the standard library
        count = getattr(how.executor, name, None)
        if isinstance(count, int) and count > 0:
            return count
    return processors()


# Shipping -------------------------------------------------------------------------------------------------------------
#
# Shipping: how a unit of work reaches the workers, once for all of its batches.
#
# Threads get the work itself. Processes on this machine read it from a file and map its large arrays from separate
# files, so that these are on disk and in memory only once. Workers of a cluster get it through their scheduler
# (:mod:`plurivox.engine.cluster`). Any other executor gets it with every batch.
#
# A record of work is small except for arrays that hundreds of batches share, so it travels in two pieces. The pickler
# writes a number in place of each large array; the unpickler puts the same array there, writable only if it was, since
# kernels are compiled for one or the other::
#
#     work ──pickle──▶ content: … array 0, array 1 …   ──┬──▶ a worker: content + arrays ──▶ work, kept for all batches
#                      arrays:  [ratings], [weights]   ──┘        (mapped from files, or sent once by the scheduler)
#
# Content and arrays are known by their checksums, so the same array is stored once, whatever work it belongs to.


LARGE = 1 << 16
"""From this many bytes on, an array is sent separately from the record that holds it."""
_LOADED = 4  # units of work that a worker keeps
Work = Callable[[int, int], Any]


class Shipment:
    """Work that has been handed over to an executor, which calls it."""

    def __init__(self, pool: Executor, work: Work) -> None:
        self.pool, self.work = pool, work

    def submit(self, first: int, last: int) -> Future[Any]:
        """Have a batch done."""
        return self.pool.submit(self.work, first, last)

    def watch(self) -> None:
        """Raise an error if no worker is left that could do it; called while nothing is finished."""

    def forget(self) -> None:
        """Take it back."""
        if isinstance(self.work, _InFile):
            Path(self.work.path).unlink(missing_ok=True)


def shipped(work: Work, pool: Executor) -> Shipment:
    """Hand work to an executor in the way that suits it."""
    if (ship := getattr(pool, "ship", None)) is not None:  # a cluster
        return cast(Shipment, ship(work))
    if isinstance(pool, ProcessPoolExecutor):
        work = _InFile.of(work)
    elif not isinstance(pool, ThreadPoolExecutor):
        work = _Carried.of(work)
    return Shipment(pool, work)


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


_found: OrderedDict[str, Work] = OrderedDict()
_lock = threading.Lock()


def loaded(name: str, make: Callable[[], Parcel]) -> Work:
    """Return the work with a name, put together if it is not among the last few of this process."""
    with _lock:
        if name not in _found:
            content, arrays = make()
            _found[name] = _Unpickler(content, arrays).load()  # written by this very program
            while len(_found) > _LOADED:
                _found.popitem(last=False)
        _found.move_to_end(name)
        return _found[name]


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
        def read() -> Parcel:
            with open(self.path, "rb") as file:
                content, places = pickle.load(file)  # noqa: S301 - written by this very program
            return Parcel(content, [_mapped(place) for place in places])

        return loaded(self.path, read)(first, last)


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
        return loaded(self.name, lambda: Parcel(self.content, []))(first, last)
