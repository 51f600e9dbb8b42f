"""The sections of a report: what the study is, one for each lens, in the module named after its folder, and methods."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plurivox.infer.lens import Lens


@functools.cache
def _modules() -> frozenset[str]:
    return frozenset(module.name for module in pkgutil.iter_modules(__path__))


def has_section(lens: Lens) -> bool:
    """Return whether a report has a section about a lens."""
    return lens.home in _modules()


def home_of(lens: Lens) -> Any:
    """Return the module with the section about a lens."""
    return importlib.import_module(f"{__name__}.{lens.home}")
