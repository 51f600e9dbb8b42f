"""Workers: units of work in batches, on threads or any executor, in order, and quick to stop.

A unit of work is a callable of a range, ``work(first, last)``. To run in another process or on another machine it is a
small frozen record of a module-level class: it returns what it made and writes nothing. Such a record travels once for
all of its batches, and the parts of the items in it not at all: they are written to a place that workers read from.
"""

from __future__ import annotations

import atexit
import os
import pickle
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from plurivox.engine.part import Part
from plurivox.engine.running import Running
from plurivox.errors import InputError

T = TypeVar("T")

_AHEAD = 2  # batches handed out per worker, so that none waits for the next
_GLANCE = 0.1  # seconds between looks for Ctrl-C, which cannot break a longer wait on every platform
_SECONDS = 0.2  # a batch should take about this long, so that Ctrl-C and progress are prompt
CELLS = 2_000_000
"""Numbers that a batch holds at once, at most."""


def batched(work: Callable[[int, int], T], total: int, how: Running, *, cost: float, width: int) -> list[T]:
    """Run batches of a size that keeps Ctrl-C and progress prompt and memory small.

    Parameters
    ----------
    work, total, how
        As in :func:`in_batches`.
    cost, width
        Seconds that one of ``total`` takes, roughly, and how many numbers it holds at once.
    """
    spread = -(-total // (4 * (how.threads or processors())))  # enough batches to keep every worker busy to the end
    batch = max(1, min(int(_SECONDS / cost), int(CELLS / width), spread))
    return in_batches(work, total, how, batch=batch)


def in_batches(work: Callable[[int, int], T], total: int, how: Running, *, batch: int = 1) -> list[T]:
    """Call ``work(first, last)`` for consecutive ranges that cover ``range(total)``, and return its results in order.

    What ``work`` returns must depend on its range alone; then neither the number of workers nor which batch ends
    first changes the result. An error in ``work`` is raised here. Upon an error or Ctrl-C no further batch starts,
    and those running are not waited for; the interpreter does wait for them when it exits, so batches should take a
    second at most.

    Parameters
    ----------
    work
        From the first number and the one after the last to any result; on threads it should release the GIL.
    total
        How many units there are.
    how
        Threads, or whose executor, which is left running; who is told how far it is, in the thread of the caller.
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
    count = processors() if how.threads is None else how.threads
    if batch < 1 or count < 1:
        raise InputError(f"batch is {batch} and threads is {count}", hint="Give whole numbers, 1 or more.")
    ranges = [(first, min(first + batch, total)) for first in range(0, total, batch)]
    results: dict[int, T] = {}
    running: dict[Future[T], int] = {}
    waiting = iter(enumerate(ranges))
    done = given = 0
    pool = how.executor or ThreadPoolExecutor(count, thread_name_prefix="plurivox-draw")
    shipped = work if isinstance(pool, ThreadPoolExecutor) else _Shipped.of(work)
    try:
        while given < len(ranges):
            for number, (first, last) in islice(waiting, _AHEAD * count - len(running)):
                running[pool.submit(shipped, first, last)] = number
            finished, _ = wait(running, timeout=_GLANCE, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=running.__getitem__):
                number = running.pop(future)
                results[number] = future.result()
                first, last = ranges[number]
                done += last - first
            if finished:
                how.tell(done, total)
            while given in results:
                yield results.pop(given)
                given += 1
    finally:
        for future in running:
            future.cancel()
        if how.executor is None:
            pool.shutdown(wait=False, cancel_futures=True)
        if isinstance(shipped, _Shipped):
            shipped.forget()


def processors() -> int:
    """Return how many processors this process may use, as far as the Python version can tell."""
    count: int | None = getattr(os, "process_cpu_count", os.cpu_count)()
    return count or 1


# Work in other processes ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shipped:
    """Work that lies in a file; each worker reads it once."""

    path: str

    @classmethod
    def of(cls, work: Callable[[int, int], Any]) -> _Shipped:
        """Write down a unit of work, without its parts, which lie in files of their own."""
        place = tempfile.NamedTemporaryFile(dir=_folder(), suffix=".work", delete=False)  # noqa: SIM115
        with place:
            _Pickler(place, pickle.HIGHEST_PROTOCOL).dump(work)
        return cls(place.name)

    def forget(self) -> None:
        """Remove the file."""
        Path(self.path).unlink(missing_ok=True)

    def __call__(self, first: int, last: int) -> Any:
        return _unpacked(self.path)(first, last)


class _Pickler(pickle.Pickler):
    """Writes for each part only where it lies."""

    def persistent_id(self, obj: Any) -> str | None:
        """Return the place of a part."""
        return _place_of(obj) if isinstance(obj, Part) else None


class _Unpickler(pickle.Unpickler):
    """Reads parts from where they lie."""

    def persistent_load(self, pid: Any) -> Part:
        """Return the part at a place."""
        return _read_part(pid)


_PLACES: weakref.WeakKeyDictionary[Part, str] = weakref.WeakKeyDictionary()


@lru_cache(maxsize=1)
def _folder() -> str:
    """Return a folder of this process, gone when it ends."""
    folder = tempfile.mkdtemp(prefix="plurivox-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _place_of(part: Part) -> str:
    """Write a part down, unless it was before, and return where."""
    if part not in _PLACES:
        folder = tempfile.mkdtemp(prefix="part-", dir=_folder())
        for name in ("offsets", "raters", "scores", "multiplicity"):
            np.save(Path(folder) / f"{name}.npy", getattr(part, name))
        (Path(folder) / "first").write_text(str(part.first))
        _PLACES[part] = folder
        weakref.finalize(part, shutil.rmtree, folder, ignore_errors=True)
    return _PLACES[part]


@lru_cache(maxsize=64)
def _read_part(folder: str) -> Part:
    """Read a part, which stays on disk and is mapped into memory."""
    place = Path(folder)
    arrays = (
        np.asarray(np.load(place / f"{name}.npy", mmap_mode="r"))
        for name in ("offsets", "raters", "scores", "multiplicity")
    )
    return Part(int((place / "first").read_text()), *arrays)


@lru_cache(maxsize=4)
def _unpacked(path: str) -> Callable[[int, int], Any]:
    with open(path, "rb") as file:
        work: Callable[[int, int], Any] = _Unpickler(file).load()  # written by this very program
    return work
