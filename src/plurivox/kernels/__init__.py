"""Compiled loops over bytes and codes; nothing else imports numba, and kernels use only what is below them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.dispatcher import Dispatcher

from plurivox.kernels.shipped import ShippedFirst


def compiled(function: Callable[..., Any]) -> Any:
    """Make a kernel of a function; while it runs, other threads run, too.

    It is compiled on first use, unless the package brings it compiled, and kept on disk. In a read-only installation
    without a cache folder of the user's it is compiled again in each process.
    """
    try:
        kernel = njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no place for its cache
        kernel = njit(nogil=True, error_model="numpy")(function)
    if isinstance(kernel, Dispatcher):  # a plain function if compilation is switched off
        kernel._cache = ShippedFirst(function, kernel._cache)  # type: ignore[attr-defined]
    return kernel


def compiled_before(kernel: Any) -> bool:
    """Tell whether a kernel need not be compiled: the package brings it, or it was compiled on this machine before."""
    cache = getattr(kernel, "_cache", None)
    if cache is None or cache.shipped:
        return True
    name = f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}"
    return cache.cache_path is not None and any(Path(cache.cache_path).glob(f"{name}*.nbi"))
