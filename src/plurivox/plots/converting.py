"""Charts from Vega-Lite to SVG: here, or ahead of time in other processes. The result is the same everywhere.

vl-convert has one JavaScript engine per process and blocks all other threads while it works, so more threads do not
help. Other processes take their work from a queue, one chart at a time, while this one keeps drawing. Nothing depends
on them: what they cannot do, or do not do in time, is done here.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from plurivox.base.errors import MissingExtraError

MOST, ENOUGH = 4, 6
"""The most processes, and how many charts must wait before one more is started: each takes half a second to start."""
PATIENCE = 30.0
"""Seconds without a single chart after which the processes are given up."""
# Not multiprocessing, which would run a user's script again. Isolated, so that no file of the working folder is
# imported, except for what this process has on its path. It ends when this process closes the pipe, or when this
# process is gone while others hold the pipe open.
_PROGRAM = """
import json, os, sys, threading, time
sys.path[:] = json.loads(sys.argv[1])
def watch(parent):
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)
threading.Thread(target=watch, args=(os.getppid(),), daemon=True).start()
import vl_convert
for line in sys.stdin.buffer:
    spec, version = json.loads(line)
    svg = vl_convert.vegalite_to_svg(spec, vl_version=version)
    sys.stdout.buffer.write(json.dumps(svg).encode() + b"\\n")
    sys.stdout.buffer.flush()
"""


def load_vl_convert() -> Any:
    """Import vl-convert, or say how to get it."""
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("images of charts need vl-convert", "report") from None
    return vl_convert


class Conversion:
    """A chart being converted to SVG: a Vega-Lite specification, and the version that it is written for."""

    __slots__ = ("_ahead", "failed", "found", "spec", "version")

    def __init__(self, spec: dict[str, Any], version: str) -> None:
        load_vl_convert()  # now, so that nothing is drawn for nothing
        self.spec, self.version = spec, version
        self.found: str | None = None
        self.failed = False
        self._ahead = _AHEAD.get()
        if self._ahead is not None:
            self._ahead.put(self)

    def svg(self) -> str:
        """Return the image; if it has not been made yet, make it here."""
        if self._ahead is not None:
            self._ahead.settle(self)
        if self.found is None:
            made: str = load_vl_convert().vegalite_to_svg(self.spec, vl_version=self.version)
            self.found = made
        return self.found


@contextlib.contextmanager
def ahead(processes: int) -> Iterator[None]:
    """Convert charts in the background as soon as they are drawn, in up to this many processes, if there are enough.

    The processes end by themselves after the last chart drawn inside the block.
    """
    helpers = _Helpers(min(processes, MOST))
    before = _AHEAD.set(helpers)
    try:
        yield
    finally:
        _AHEAD.reset(before)
        helpers.close()


class _Helpers:
    """A queue of charts, and threads that each run a process to work on it."""

    def __init__(self, most: int) -> None:
        can = bool(sys.executable) and not getattr(sys, "frozen", False)  # otherwise it is not Python that would start
        self.most = most if can else 0
        self.waiting: deque[Conversion] = deque()
        self.turn = threading.Condition()
        self.processes: list[subprocess.Popen[bytes]] = []
        self.n_started = self.n_alive = self.n_done = 0
        self.closed = False

    def put(self, one: Conversion) -> None:
        """Add a chart; start a process if enough are waiting."""
        with self.turn:
            self.waiting.append(one)
            more = self.n_started < self.most and len(self.waiting) >= ENOUGH
            self.n_started += more
            self.n_alive += more
            self.turn.notify_all()
        if more:
            threading.Thread(target=self._serve, name="charts ahead", daemon=True).start()

    def close(self) -> None:
        """Say that no more charts will come."""
        with self.turn:
            self.closed = True
            self.turn.notify_all()

    def settle(self, one: Conversion) -> None:
        """Wait until a chart is made, or until no process is left to make it."""
        with self.turn:
            while one.found is None and not one.failed and self.n_alive:
                before = self.n_done
                if not self.turn.wait(PATIENCE) and self.n_done == before:
                    for process in self.processes:
                        process.kill()  # its thread then notices and ends

    def _serve(self) -> None:
        """Start a process and give it one chart after another; the chart it has when it fails is not made."""
        one = None
        try:
            with _started() as process:
                self.processes.append(process)
                while (one := self._next()) is not None:
                    made = _answer(process, one)
                    with self.turn:
                        one.found = made
                        self.n_done += 1
                        self.turn.notify_all()
        except (OSError, ValueError):
            pass  # it did not start, died, or said something else
        finally:
            with self.turn:
                self.n_alive -= 1
                if one is not None:
                    one.failed = True
                self.turn.notify_all()

    def _next(self) -> Conversion | None:
        """Wait for a chart; None when no more will come."""
        with self.turn:
            while not self.waiting and not self.closed:
                self.turn.wait()
            return self.waiting.popleft() if self.waiting else None


@contextlib.contextmanager
def _started() -> Iterator[subprocess.Popen[bytes]]:
    """Start a process that converts, and end it."""
    command = [sys.executable, "-I", "-c", _PROGRAM, json.dumps(sys.path)]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=nothing, cwd=os.path.abspath(os.sep)) as process:  # noqa: S603
        try:
            yield process
        finally:
            process.kill()  # nothing is lost: what it made has been read


def _answer(process: subprocess.Popen[bytes], one: Conversion) -> str:
    """Have a process convert a chart."""
    if process.stdin is None or process.stdout is None:
        raise ValueError("no pipes")
    process.stdin.write(json.dumps([one.spec, one.version]).encode() + b"\n")  # vl-convert reads numbers less exactly
    process.stdin.flush()
    made = json.loads(process.stdout.readline())
    if not isinstance(made, str) or not made.startswith("<svg"):
        raise ValueError("not an image")
    return made


_AHEAD: ContextVar[_Helpers | None] = ContextVar("who converts charts ahead", default=None)
