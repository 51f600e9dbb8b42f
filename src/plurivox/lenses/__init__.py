"""The questions users ask: ratings in, one frozen result out. May use everything below plots and the command line.

A lens is a module here that holds its record as ``LENS``, or a folder whose ``__init__`` does and imports nothing
heavy; :func:`lenses` finds them all.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from plurivox.infer.lens import Lens


def lenses() -> list[Lens]:
    """Return the records of all lenses, in reading order."""
    found: list[Lens] = []
    for module in pkgutil.iter_modules(__path__):
        record = getattr(importlib.import_module(f"{__name__}.{module.name}"), "LENS", None)
        if record is not None:
            found.append(record)
    return sorted(found, key=lambda lens: (lens.order, lens.name))
