"""The one resampling loop: draws in batches on a pool of threads, in order, and quick to stop."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from itertools import islice
from typing import TypeVar

from plurivox.errors import InputError

T = TypeVar("T")

_AHEAD = 2  # batches handed out per thread, so that none waits for the next
_GLANCE = 0.1  # seconds between looks for Ctrl-C, which cannot break a longer wait on every platform


def in_batches(
    work: Callable[[int, int], T],
    total: int,
    *,
    batch: int,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> list[T]:
    """Call ``work(first, last)`` for consecutive ranges that cover ``range(total)``, and return its results in order.

    What ``work`` returns must depend on its range alone; then neither the number of threads nor which batch ends
    first changes the result. An error in ``work`` is raised here. Upon an error or Ctrl-C no further batch starts,
    and those running are not waited for; the interpreter does wait for them when it exits, so batches should take a
    second at most.

    Parameters
    ----------
    work
        From the first number and the one after the last to any result; it should release the GIL.
    total
        How many draws to make.
    batch
        How many draws a call makes; the last may make fewer.
    threads
        How many calls run at once, by default as many as there are processors. Twice as many batches are handed out.
    executor
        Runs the calls instead of a pool of this function's own, and is left running; ``threads`` still says how many
        to hand out at once. Its workers must share memory with this process, as threads do.
    progress
        Called with the number of draws done and the total, in the thread that called this function.

    Examples
    --------
    >>> in_batches(lambda first, last: list(range(first, last)), 5, batch=2)
    [[0, 1], [2, 3], [4]]
    """
    count = processors() if threads is None else threads
    if batch < 1 or count < 1:
        raise InputError(f"batch is {batch} and threads is {count}", hint="Give whole numbers, 1 or more.")
    ranges = [(first, min(first + batch, total)) for first in range(0, total, batch)]
    results: dict[int, T] = {}
    running: dict[Future[T], int] = {}
    waiting = iter(enumerate(ranges))
    done = 0
    pool = executor or ThreadPoolExecutor(count, thread_name_prefix="plurivox-draw")
    try:
        while len(results) < len(ranges):
            for number, (first, last) in islice(waiting, _AHEAD * count - len(running)):
                running[pool.submit(work, first, last)] = number
            finished, _ = wait(running, timeout=_GLANCE, return_when=FIRST_COMPLETED)
            for future in sorted(finished, key=running.__getitem__):
                number = running.pop(future)
                results[number] = future.result()
                first, last = ranges[number]
                done += last - first
            if finished and progress is not None:
                progress(done, total)
    finally:
        for future in running:
            future.cancel()
        if executor is None:
            pool.shutdown(wait=False, cancel_futures=True)
    return [results[number] for number in range(len(ranges))]


def processors() -> int:
    """Return how many processors this process may use, as far as the Python version can tell."""
    count: int | None = getattr(os, "process_cpu_count", os.cpu_count)()
    return count or 1
