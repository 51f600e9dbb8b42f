"""Copies of charts that take no time: of a large report, Altair's own copies were three quarters of the work."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def quick_copies() -> Iterator[None]:
    """Have Altair copy parts of charts without making each anew, and without a look at what is not set.

    Altair joins charts by copying all of their parts, each with up to a hundred settings that are not set, as often as
    they are joined. The copies made here are the same. Where Altair has no such function any more, nothing is done.
    """
    schemapi: Any = importlib.import_module("altair.utils.schemapi")
    ours = getattr(schemapi, "_deep_copy", None)
    if ours is None or ours.__module__ == __name__:
        yield
        return
    schemapi._deep_copy = _copy
    try:
        yield
    finally:
        schemapi._deep_copy = ours


def _copy(part: Any, by_ref: set[str]) -> Any:
    """Copy a part of a chart and all that is in it, but for what goes by reference."""
    from altair.utils.schemapi import SchemaBase, Undefined

    if isinstance(part, SchemaBase):
        own = getattr(type(part), "__deepcopy__", None)
        if own is not None:
            return own(part, None)
        made = object.__new__(type(part))
        made.__dict__.update(part.__dict__)
        settings = {
            name: value if value is Undefined or name in by_ref else _copy(value, by_ref)
            for name, value in part._kwds.items()
        }
        object.__setattr__(made, "_args", tuple(_copy(one, by_ref) for one in part._args))
        object.__setattr__(made, "_kwds", settings)
        return made
    if isinstance(part, list):
        return [_copy(one, by_ref) for one in part]
    if isinstance(part, dict):
        return {name: one if name in by_ref else _copy(one, by_ref) for name, one in part.items()}
    return part
