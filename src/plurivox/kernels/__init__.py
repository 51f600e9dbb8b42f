"""Compiled loops over bytes and codes; nothing else imports numba, and kernels use only what is below them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function that lets other threads run, and keep the result on disk where that is possible.

    In a read-only installation without a cache folder of the user's it is compiled anew in each process.
    """
    try:
        return njit(cache=True, nogil=True, error_model="numpy")(function)
    except RuntimeError:  # numba finds no place for its cache
        return njit(nogil=True, error_model="numpy")(function)


def compiled_before(kernel: Any) -> bool:
    """Tell whether a kernel was compiled on this machine before."""
    cache = getattr(kernel, "_cache", None)  # numba's own record of where it keeps compiled code
    folder = getattr(cache, "cache_path", None)
    name = f"{kernel.__module__.rpartition('.')[2]}.{kernel.__name__}"
    return folder is not None and any(Path(folder).glob(f"{name}*.nbi"))
