"""Kernels that were compiled when the package was built, so that first use does not wait for the compiler.

The build compiles every kernel of ``signatures.txt`` into ``shipped/``, one file per kernel. A file is used only with
the kernel sources, Python, numba and platform it was made with, and on a processor that has the instructions.
Elsewhere, and for other types of arguments, kernels are compiled on first use and kept in numba's own cache.
"""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding
import numba
from numba.core import compiler
from numba.core.caching import NullCache

FOLDER = Path(__file__).with_name("shipped")

PROCESSORS = {
    "x86_64": ("x86-64-v3", "avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sse4.2 xsave"),
    "aarch64": ("generic", ""),
    "arm64": ("generic", ""),
}
"""The processor that kernels are built for on each architecture, and the instructions that it has to have."""


@functools.cache
def stamp() -> str:
    """Return what compiled code depends on besides the processor: a digest of sources, signatures and versions."""
    digest = hashlib.sha256()
    folder = Path(__file__).parent
    for source in [*sorted(folder.glob("*.py")), folder / "signatures.txt"]:
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    versions = (sys.implementation.cache_tag, numba.__version__, llvmlite.__version__)
    platform = llvmlite.binding.get_process_triple()
    digest.update(repr((versions, platform)).encode())
    return digest.hexdigest()


@functools.cache
def usable_here() -> bool:
    """Tell whether this processor can run what is shipped."""
    architecture = llvmlite.binding.get_process_triple().partition("-")[0]
    if architecture not in PROCESSORS:
        return False
    present = llvmlite.binding.get_host_cpu_features()
    return all(present.get(feature, False) for feature in PROCESSORS[architecture][1].split())


def path_of(module: str, name: str) -> Path:
    """Return the file of a kernel, ``cohesion.mirror`` for ``mirror`` in ``plurivox.kernels.cohesion``."""
    return FOLDER / f"{module.rpartition('.')[2]}.{name}"


def holds(module: str, name: str) -> bool:
    """Tell whether the file of a kernel was made from these sources with these versions."""
    try:
        with path_of(module, name).open("rb") as file:
            return file.read(64) == stamp().encode()
    except OSError:
        return False


def load(module: str, name: str) -> dict[Any, bytes]:
    """Return the compiled forms of a kernel by argument types; nothing where there are none that hold here."""
    if not usable_here() or not holds(module, name):
        return {}
    try:
        forms: dict[Any, bytes] = pickle.loads(path_of(module, name).read_bytes()[64:])  # noqa: S301 - like .pyc files
    except (OSError, EOFError, pickle.UnpicklingError):  # a damaged copy: compiling helps
        return {}
    return forms


def save(module: str, name: str, forms: dict[Any, bytes]) -> None:
    """Write the compiled forms of a kernel."""
    path_of(module, name).write_bytes(stamp().encode() + pickle.dumps(forms, protocol=5))


class ShippedFirst(NullCache):
    """What a kernel's dispatcher asks for compiled code: what is shipped first, then numba's own cache."""

    def __init__(self, function: Any, own: Any) -> None:
        self._module, self._name, self._own = function.__module__, function.__name__, own

    @functools.cached_property
    def shipped(self) -> dict[Any, bytes]:
        """Return the compiled forms that the package brings."""
        return load(self._module, self._name)

    @property
    def cache_path(self) -> Any:
        """Return the folder of numba's own cache."""
        return self._own.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return compiled code for these types of arguments, or None."""
        if sig in self.shipped:
            target_context.refresh()
            rebuild: Any = compiler.CompileResult._rebuild
            return rebuild(target_context, *pickle.loads(self.shipped[sig]))  # noqa: S301
        return self._own.load_overload(sig, target_context)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was just compiled in numba's own cache."""
        self._own.save_overload(sig, data)

    def flush(self) -> None:
        """Empty numba's own cache of this kernel."""
        self._own.flush()
