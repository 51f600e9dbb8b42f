"""How work is run: on how many threads, by which executor, and what is called with its progress."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Annotated, Any, NamedTuple

from plurivox.base.arguments import MOST_THREADS, Kind, check_given, whole

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
