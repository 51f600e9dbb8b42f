"""Compile the kernels that the package ships; run by the build, and by hand to list what a program compiled.

``python -m plurivox.kernels.shipping`` compiles all of ``signatures.txt`` into ``shipped/``, ``… none`` empties it, and
``python -m plurivox.kernels.shipping list FOLDER`` prints such a list from the cache that numba kept in a
folder (``NUMBA_CACHE_DIR``), one line per kernel and types of arguments. Kernels whose names begin with an underscore
are called only by other kernels, which hold their code.
"""

from __future__ import annotations

import importlib
import os
import pickle
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba import types
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from plurivox.kernels.shipped import FOLDER, PROCESSORS, holds, save

SIGNATURES = Path(__file__).with_name("signatures.txt")
PARTS = 4
"""The list is compiled in so many processes, however many cores there are, so that every build gives the same bytes."""

_ANNOTATION = 6
"""Where a compiled function keeps its source with types and path, which is only for people and differs by folder."""

_TOKEN = re.compile(r"readonly array|[A-Za-z_]\w*|[(),]|\d+d?")


class ArgumentTypes:
    """Read types of arguments as numba prints them, ``readonly array(uint8, 2d, C), int64, ItemRatings(…)``."""

    def __init__(self, text: str, module: Any) -> None:
        self._tokens, self._module = _TOKEN.findall(text), module

    def several(self) -> tuple[Any, ...]:
        """Read ``(type, type, …)``."""
        self._tokens.pop(0)
        found = []
        while self._tokens[0] != ")":
            found.append(self._one())
            if self._tokens[0] == ",":
                self._tokens.pop(0)
        self._tokens.pop(0)
        return tuple(found)

    def _one(self) -> Any:
        name = self._tokens.pop(0)
        if name.endswith("array"):
            _, element, _, dimensions, _, layout, _ = (self._tokens.pop(0) for _ in range(7))
            readonly = name.startswith("readonly")
            return types.Array(getattr(types, element), int(dimensions[:-1]), layout, readonly=readonly)
        if self._tokens[0] == "(":
            named: Any = types.NamedTuple
            return named(self.several(), getattr(self._module, name))
        return getattr(types, name)


def entries() -> list[tuple[str, str, str]]:
    """Return module, kernel and types of arguments of every line."""
    lines = SIGNATURES.read_text("utf-8").splitlines()
    matches = (re.fullmatch(r"(\w+)\.(\w+)(\(.*\))", line) for line in lines)
    return [(match[1], match[2], match[3]) for match in matches if match]


class _Collected(NullCache):
    """Keep what was compiled, and never take what another run has left."""

    def __init__(self) -> None:
        self.forms: dict[Any, bytes] = {}

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep compiled code for these types of arguments."""
        reduced = list(data._reduce())
        reduced[_ANNOTATION] = ""
        self.forms[sig] = pickle.dumps(tuple(reduced), protocol=5)


def compile_part(part: int) -> None:
    """Compile the kernels of every ``PARTS``-th module, beginning with one."""
    listed = entries()
    names = sorted({name for name, _, _ in listed})
    modules = {name: importlib.import_module(f"plurivox.kernels.{name}") for name in names}
    every: list[Any] = [kernel for module in modules.values() for kernel in vars(module).values()]
    for kernel in every:
        if isinstance(kernel, Dispatcher) and not isinstance(kernel._cache, _Collected):  # type: ignore[attr-defined]
            kernel._cache = _Collected()  # type: ignore[attr-defined]
    for name in names[part::PARTS]:
        kernels = [(kernel, text) for found, kernel, text in listed if found == name]
        for kernel, text in kernels:
            getattr(modules[name], kernel).compile(ArgumentTypes(text, modules[name]).several())
        for kernel in {kernel for kernel, _ in kernels}:
            save(name, kernel, getattr(modules[name], kernel)._cache.forms)


def ship() -> None:
    """Compile all that is listed, for the plainest processor of this architecture that has wide instructions."""
    architecture = binding.get_process_triple().partition("-")[0]
    if architecture not in PROCESSORS or all(holds(module, kernel) for module, kernel, _ in entries()):
        return
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    environment = os.environ | {
        "NUMBA_CPU_NAME": PROCESSORS[architecture][0],
        "NUMBA_CPU_FEATURES": "",
        "NUMBA_DISABLE_INTEL_SVML": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path]),
    }
    command = [sys.executable, "-m", "plurivox.kernels.shipping", "part"]
    running = [subprocess.Popen([*command, str(part)], env=environment) for part in range(PARTS)]  # noqa: S603
    codes = [process.wait() for process in running]
    if any(codes):
        shutil.rmtree(FOLDER)
        raise RuntimeError("The kernels could not be compiled.")


def list_of(folder: Path) -> Iterator[str]:
    """Yield the lines of a list for what numba kept in a folder."""
    for path in sorted(folder.rglob("*.nbi")):
        with path.open("rb") as file:
            pickle.load(file)  # noqa: S301 - the version of numba; the developer's own cache
            _, overloads = pickle.load(file)  # noqa: S301
        name = path.name.partition("-")[0]
        if not name.partition(".")[2].startswith("_"):
            for arguments, *_ in overloads:
                yield f"{name}({', '.join(map(str, arguments))})"


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            ship()
        case ["none"]:
            shutil.rmtree(FOLDER, ignore_errors=True)
        case ["part", part]:
            compile_part(int(part))
        case ["list", folder]:
            print("\n".join(sorted(list_of(Path(folder)))))
