"""How the program ends when it is stopped, or when its output cannot be written."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import IO, Any

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
