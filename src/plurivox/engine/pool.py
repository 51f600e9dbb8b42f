"""Workers: units of work in batches, on threads or any executor, in order, and quick to stop; and how callers want it.

A unit of work is a callable of a range, ``work(first, last)``. To run in another process or on another machine, it must
be a small frozen record of a module-level class: it returns what it made and writes nothing.
:mod:`plurivox.engine.shipping` says how such a record reaches the worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import Annotated, Any, NamedTuple, TypeVar

from plurivox.base import processors
from plurivox.base.arguments import MOST_THREADS, Kind, check_given, whole
from plurivox.base.errors import InputError
from plurivox.engine.shipping import shipped

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
