"""The sections of a report: what the study is, one for each lens, in the module named after it, and methods.

A lens with headlines but without such a module has its findings and values shown by :mod:`~.plain`.
"""

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
    return lens.home in _modules() or lens.headlines


def home_of(lens: Lens) -> Any:
    """Return what has the section about a lens."""
    if lens.home not in _modules():
        from plurivox.report.sections.plain import Plain

        return Plain(lens)
    return importlib.import_module(f"{__name__}.{lens.home}")
