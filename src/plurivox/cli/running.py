"""How a command runs: who does its work, its progress bars, and how it ends when it is stopped."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Annotated, Any

import typer

from plurivox.base.wording import harmless
from plurivox.cli.options import option

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from rich.progress import Progress

    from plurivox.engine.pool import Running


INTERRUPTED = 130
"""Exit code after Ctrl-C: 128 plus the number of the signal."""
NOBODY_READS = 141
"""Exit code when nobody reads the output any more: 128 plus the number of that signal."""
STOPPING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that end the program as Ctrl-C does."""


class OutputFailed(Exception):  # noqa: N818 - a reason to end, not an error of a call
    """Standard output is full, gone or closed."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"the output cannot be written ({error.strerror or error})")
        self.nobody_reads = error.errno == errno.EPIPE


class _Stream:
    """A standard stream that hands its errors to a function, so that they are not mistaken for a file's errors.

    A stream that failed once stays failed, since some libraries ignore the error.
    """

    def __init__(self, stream: IO[str] | None, failed: Callable[[OSError], None]) -> None:
        self._stream, self._failed = stream, failed
        self._error = OSError(errno.EBADF, "it is closed") if stream is None else None

    def write(self, text: str) -> int:
        """Write a text."""
        self._try(lambda stream: stream.write(text))
        return len(text)

    def flush(self) -> None:
        """Write what is still buffered."""
        if self._stream is not None:  # None if it was closed from the start
            self._try(lambda stream: stream.flush())

    def _try(self, call: Callable[[IO[str]], object]) -> None:
        if self._error is None and self._stream is not None:
            try:
                call(self._stream)
            except OSError as error:
                self._error = error
        if self._error is not None:
            self._failed(self._error)

    def isatty(self) -> bool:
        """Return whether this is a terminal."""
        return self._stream is not None and self._stream.isatty()

    def __getattr__(self, name: str) -> Any:
        if self._stream is None:
            raise AttributeError(name)
        return getattr(self._stream, name)


@contextlib.contextmanager
def standard_streams() -> Iterator[None]:
    """Raise :class:`OutputFailed` if standard output cannot be written; drop messages that nobody can read."""

    def failed(error: OSError) -> None:
        _drop(before[1])
        raise OutputFailed(error) from None

    _occupy()
    before = sys.stdin, sys.stdout, sys.stderr
    streams: Any = sys
    streams.stdin = before[0] or open(os.devnull)  # noqa: SIM115 - open as long as the program runs
    streams.stdout, streams.stderr = _Stream(before[1], failed), _Stream(before[2], lambda error: _drop(before[2]))
    try:
        yield
    finally:
        sys.stdin, sys.stdout, sys.stderr = before


def _occupy() -> None:
    """Open the null device in place of closed standard streams, or the next file opened would get their number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one


def _drop(stream: IO[str] | None) -> None:
    """Discard what a stream still holds; it would fail again when the process ends."""
    if stream is None:
        return
    with contextlib.suppress(AttributeError, OSError, ValueError):  # a replacement may have no number
        number, nothing = stream.fileno(), os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, number)
        os.close(nothing)


def end_at_once() -> None:
    """Let another Ctrl-C end the program at once, since it waits for work elsewhere before it ends."""
    if threading.current_thread() is threading.main_thread() and callable(signal.getsignal(signal.SIGINT)):
        signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextlib.contextmanager
def stoppable(numbers: tuple[int, ...] = STOPPING) -> Iterator[list[int]]:
    """Raise KeyboardInterrupt on signals that would end the program at once; yield the numbers of those received.

    A signal that is ignored stays ignored, as under ``nohup``.
    """
    came: list[int] = []

    def stop(number: int, frame: object) -> None:
        came.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield came
        return
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: signal.signal(number, stop) for number in numbers if signal.getsignal(number) in usual}
    try:
        yield came
    finally:
        for number, handler in before.items():
            if signal.getsignal(number) is stop:  # a command may want to ignore it to the very end
                signal.signal(number, handler)


def several(n: int, what: str) -> str:
    """Return ``1 answer`` or ``2 answers``."""
    return f"1 {what}" if n == 1 else f"{n:,} {what}s"


@contextlib.contextmanager
def bars_shown() -> Iterator[Progress | None]:
    """Yield an object that draws bars on standard error, or None if nobody would see them."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from plurivox.cli.console import console

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        yield bars


@contextlib.contextmanager
def one_bar(
    what: str, total: int | None, shown: Callable[..., tuple[int, int, str]]
) -> Iterator[Callable[..., object] | None]:
    """Yield a function that moves a bar, None if nobody would see it; arguments give done, total and text."""
    with bars_shown() as bars:
        if bars is None:
            yield None
            return
        task = bars.add_task(harmless(what), total=total)

        def tell(*told: Any) -> None:
            done, of, text = shown(*told)
            bars.update(task, completed=done, total=of, description=harmless(text))

        yield tell


@contextlib.contextmanager
def telling() -> Iterator[Callable[[str, int, int], object] | None]:
    """Yield a function of what, done and total that moves a bar, or None if nobody would see it."""
    with bars_shown() as bars:
        if bars is None:
            yield None
            return
        tasks: dict[str, object] = {}

        def tell(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(harmless(what), total=total)
            bars.update(tasks[what], completed=done)  # type: ignore[arg-type]

        yield tell


OPTIONS: dict[str, Any] = {
    "threads": Annotated[int | None, option("How many threads to use (default: one per core).", "N", min=1)],
    "workers": Annotated[int | None, option("Use this many processes instead, through Dask.", "N", min=1)],
    "dask": Annotated[
        str | None,
        option("Use the workers of this Dask scheduler instead, such as tcp://scheduler:8786. They open a packed "
        "study themselves.", "ADDRESS"),
    ],
}  # fmt: skip
"""What a command may be told about who does its work; None if nothing is said."""


@contextlib.contextmanager
def running(given: Mapping[str, Any]) -> Iterator[Running]:
    """Yield how to run work as the command line says, with progress bars."""
    from plurivox.engine.pool import Running

    with telling() as progress, _executor(given) as executor:
        yield Running(given.get("threads"), executor, progress)


@contextlib.contextmanager
def _executor(given: Mapping[str, Any]) -> Iterator[Executor | None]:
    address, n_workers = given.get("dask"), given.get("workers")
    if sum(given.get(name) is not None for name in OPTIONS) > 1:
        raise typer.BadParameter("give only one of --threads, --workers and --dask")
    if address is None and n_workers is None:
        yield None
        return
    from plurivox.engine.cluster import Cluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # what matters is raised and reported once
    cluster = Cluster.connect(address) if address is not None else Cluster.local(n_workers or 1)
    with cluster:
        yield cluster
