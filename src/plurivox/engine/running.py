"""How work is run: on how many threads, by whom, and who is told how far it is."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Annotated, Any, NamedTuple

from plurivox.arguments import MOST_THREADS, Kind, check_given, whole

Progress = Callable[[str, int, int], object]
"""Called with what is being done, how much of it is done, and how much there is."""


_KINDS = {
    "executor": Annotated[
        Any,
        Kind(
            "an executor, such as concurrent.futures.ThreadPoolExecutor(4)",
            lambda one: one is None or callable(getattr(one, "submit", None)),
        ),
    ],
    "progress": Annotated[
        Any, Kind("a function of what is done, how far, and how far it goes", lambda one: one is None or callable(one))
    ],
}


class Running(NamedTuple):
    """How work is run.

    Attributes
    ----------
    threads
        How many calls run at once, by default as many as there are processors.
    executor
        Who runs them instead of threads of our own: any executor, also one of processes or of a cluster.
    progress
        Who is told how far it is.
    what
        What is being done, in a few words.
    """

    threads: int | None = None
    executor: Executor | None = None
    progress: Progress | None = None
    what: str = ""

    @classmethod
    def given(cls, threads: Any = None, executor: Any = None, progress: Any = None) -> Running:
        """Return how a caller wants work to be run.

        Raises
        ------
        InputError
            If threads is not a whole number from 1 on, executor not an executor, or progress not a function.
        """
        count = None if threads is None else whole("threads", threads, 1, MOST_THREADS)
        check_given({"executor": executor, "progress": progress}, _KINDS)
        if type(executor).__module__.partition(".")[0] == "distributed":
            from plurivox.engine.cluster import Cluster

            executor = Cluster.of(executor)
        return cls(count, executor, progress)

    def doing(self, what: str) -> Running:
        """Return the same for something else that is done."""
        return self._replace(what=what)

    def within(self, done: int, total: int, times: int = 1) -> Running:
        """Return the same for a part of something: it tells how far the whole is, of which so much was done before."""
        tell = self.progress
        if tell is None:
            return self
        return self._replace(progress=lambda what, more, _: tell(what, done + more * times, total))

    def tell(self, done: int, total: int) -> None:
        """Tell how far it is, if anybody wants to know."""
        if self.progress is not None:
            self.progress(self.what, done, total)
