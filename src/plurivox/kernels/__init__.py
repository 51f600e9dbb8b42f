"""Compiled loops over bytes and codes; nothing else imports numba, and kernels use only what is below them."""

from __future__ import annotations

from collections.abc import Callable
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
