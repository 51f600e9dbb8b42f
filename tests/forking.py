"""Processes of the workbench, forked from one that has loaded everything: each is real, but begins at once.

``python tests/forking.py`` is that one. It never works itself: what it starts would not live on in a fork, such as the
threads of polars.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import importlib
import json
import os
import pkgutil
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numba

AHEAD = ("kernels", "lenses", "plots", "report", "workbench")
"""What takes long to load, and is loaded before anything is asked."""


def main() -> None:
    """Fork a process for each request, which has where it reads, writes, complains, and says how it ended."""
    load()
    signal.signal(signal.SIGCHLD, _buried)
    asking = socket.socket(fileno=int(sys.argv[1]))
    while True:
        text, files, _, _ = socket.recv_fds(asking, 1 << 16, 4)
        if not text:
            return
        if os.fork() == 0:
            asking.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            _mind(json.loads(text), files)
        for file in files:
            os.close(file)


def _buried(*_: Any) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def load() -> None:
    """Import what runs need, and load the kernels that were compiled before."""
    for name in AHEAD:
        package = importlib.import_module(f"plurivox.{name}")
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.endswith("__main__"):
                importlib.import_module(found.name)
    for name in ("undrawn", "jinja2", "scipy.optimize", "scipy.special", "scipy.stats", "vl_convert"):
        importlib.import_module(name)
    for name, module in list(sys.modules.items()):
        if name.startswith("plurivox.kernels."):
            for kernel in vars(module).values():
                if isinstance(kernel, numba.core.dispatcher.Dispatcher):
                    _load(kernel)


def _load(kernel: Any) -> None:
    own = getattr(kernel._cache._own, "_cache_file", None)  # none if numba finds no place for its cache
    compiled_here = [signature for signature, _, _ in own._load_index()] if own else []
    for signature in {*kernel._cache.shipped, *compiled_here}:
        kernel.compile(signature)


def _mind(asked: dict[str, Any], files: list[int]) -> None:
    """Have another do the work, tell its number, and, when it has ended, how."""
    reading, writing, complaining, telling = files
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            for file, place in ((reading, 0), (writing, 1), (complaining, 2)):
                os.dup2(file, place)
            os.closerange(3, max(files) + 1)
            _work(asked)
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(1)
    with contextlib.suppress(PermissionError, ProcessLookupError):  # it may have done so itself, or have ended
        os.setpgid(child, child)  # before anybody knows of it and could end its group
    for file in files[:3]:
        os.close(file)
    os.write(telling, b"%d\n" % child)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    os.write(telling, b"%d\n" % code)
    os._exit(0)


def _work(asked: dict[str, Any]) -> None:
    from plurivox.workbench import worker
    from undrawn import undrawn

    os.environ.clear()
    os.environ.update(asked["environment"])
    os.chdir(asked["folder"])
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False, buffering=1)  # noqa: SIM115
    with contextlib.nullcontext() if asked["drawn"] else undrawn():
        worker.main()


# The side that asks -------------------------------------------------------------------------------------------------


class Forks:
    """Starts processes that are forked."""

    def __init__(self) -> None:
        self._asking, theirs = socket.socketpair()
        with theirs:
            line = [sys.executable, "-P", __file__, str(theirs.fileno())]
            environment = {
                **os.environ,
                "OPENBLAS_NUM_THREADS": "1",
                "_RJEM_MALLOC_CONF": "background_thread:false",
                "PYTHONPATH": os.pathsep.join(sys.path),
            }
            self._process = subprocess.Popen(line, pass_fds=[theirs.fileno()], env=environment)

        atexit.register(self._close)

    def _close(self) -> None:
        """End the process that forks; those that were forked end as they do anyway."""
        self._asking.close()
        self._process.wait()

    @contextlib.contextmanager
    def instead(self, drawn: bool) -> Iterator[None]:
        """Have the workbench start its processes here; unless charts are to be ``drawn``, their pictures are empty."""

        async def start(*line: str, limit: int, **how: Any) -> Forked:
            assert line[1:] == ("-P", "-m", "plurivox.workbench.worker")
            return await self._fork(drawn, limit)

        with mock.patch.object(asyncio, "create_subprocess_exec", start):
            yield

    async def _fork(self, drawn: bool, limit: int) -> Forked:
        (reading, to), (back, writing), (ending, telling) = os.pipe(), os.pipe(), os.pipe()
        asked = {"drawn": drawn, "environment": dict(os.environ), "folder": os.getcwd()}
        theirs = [reading, writing, 2, telling]
        socket.send_fds(self._asking, [json.dumps(asked).encode()], theirs)
        for file in (reading, writing, telling):
            os.close(file)
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(to, "wb"))
        stdin = asyncio.StreamWriter(transport, protocol, None, loop)
        end, told = await _reader(ending, limit)
        stdout, heard = await _reader(back, limit)
        return Forked(int(await end.readline()), stdin, stdout, end, [transport, told, heard])


@functools.cache
def forks() -> Forks:
    """Return who forks, for all tests of a worker."""
    return Forks()


class Forked:
    """A process as asyncio shows those that it starts."""

    def __init__(self, pid: int, stdin: Any, stdout: Any, end: asyncio.StreamReader, pipes: list[Any]) -> None:
        self.pid, self.stdin, self.stdout = pid, stdin, stdout
        self._pipes = pipes
        self._code = asyncio.get_running_loop().create_task(end.readline())

    async def wait(self) -> int:
        """Wait for its end."""
        code = int(await asyncio.shield(self._code))
        for pipe in self._pipes:
            pipe.close()
        return code


async def _reader(file: int, limit: int) -> tuple[asyncio.StreamReader, asyncio.BaseTransport]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit, loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    return reader, (await loop.connect_read_pipe(lambda: protocol, os.fdopen(file, "rb")))[0]


if __name__ == "__main__":
    main()
