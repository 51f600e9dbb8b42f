"""Functions of higher floors that lower ones call: the package's own ``__init__`` says where they are."""

from __future__ import annotations

import importlib
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
