"""The known data sets: each module here has some of them as ``DATASETS``."""

from __future__ import annotations

import difflib
import functools
import importlib
import pkgutil

from plurivox.base.errors import SelectionError
from plurivox.data.record import Dataset


@functools.cache
def catalogue() -> dict[str, Dataset]:
    """Return every data set by its name."""
    modules = [importlib.import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    return {
        one.name: one
        for one in sorted((one for module in modules for one in module.DATASETS), key=lambda one: one.name)
    }


def dataset(name: str) -> Dataset:
    """Return the data set with this name, or raise with the known names."""
    known = catalogue()
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name.casefold(), known, 1, 0.6)
    meant = f"Did you mean {near[0]}? " if near else ""
    raise SelectionError(
        f"there is no data set '{name}'; there are {', '.join(known)}", hint=f"{meant}plurivox data list shows them."
    )
