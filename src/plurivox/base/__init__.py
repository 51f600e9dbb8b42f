"""What everything rests on: errors, checks of arguments, settings records, files, quoting and wording.

Here are functions of higher floors that lower ones call, whose places the package's own ``__init__`` says, and what the
machine offers.
"""

from __future__ import annotations

import importlib
import os
from typing import Any

_PLACES: dict[str, str] = {}


def imported(reference: str) -> Any:
    """Return what ``"module:attribute"`` names, None for an empty text."""
    if not reference:
        return None
    module, _, attribute = reference.partition(":")
    return getattr(importlib.import_module(module), attribute)


def found_in(**places: str) -> None:
    """Say where functions are, each as ``"module:attribute"``."""
    _PLACES.update(places)


def later(name: str) -> Any:
    """Import a function of a higher floor."""
    return imported(_PLACES[name])


def processors() -> int:
    """Return how many processors this process may use, as far as the system can tell."""
    if hasattr(os, "process_cpu_count"):
        return os.process_cpu_count() or 1
    if hasattr(os, "sched_getaffinity"):  # Python before 3.13, on Linux
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
