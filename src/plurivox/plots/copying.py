"""Faster versions of what Altair does with charts that are already correct.

For a large report this was three quarters of the work. The charts are the same. If Altair no longer has one of these
functions, its own way is kept.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_WITHIN = ("layer", "hconcat", "vconcat", "concat", "spec", "params")
"""What Altair changes in a chart that it makes part of another; everything else is replaced, never changed."""
_LOCK = threading.Lock()
_INSIDE: list[int] = []
_REPLACED: list[tuple[Any, str, Any]] = []
"""How often :func:`quick_copies` is open, in any thread, and what Altair had before the first."""


@contextmanager
def quick_copies() -> Iterator[None]:
    """Make Altair copy only what it will change in charts, without checking or looking up the kinds of its inputs.

    Altair joins charts by copying all of their parts, each with up to a hundred unset settings, every time they are
    joined. It checks each property against its schema, and each text or value that becomes a channel against the
    schemas of everything that a chart can have, although it comes out unchanged.
    """
    with _LOCK:
        if not _INSIDE:
            _REPLACED.extend(_replace())
        _INSIDE.append(1)
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE.pop()
            while not _INSIDE and _REPLACED:
                setattr(*_REPLACED.pop())


def _replace() -> list[tuple[Any, str, Any]]:
    """Put our functions in place of Altair's, and return what was there."""
    schemapi: Any = importlib.import_module("altair.utils.schemapi")
    base = schemapi.SchemaBase
    ours = ((schemapi, "_deep_copy", _copy), (base, "from_dict", _MADE), (base, "validate_property", _TRUSTED))
    before = [(home, name, vars(home)[name]) for home, name, _ in ours if name in vars(home)]
    for home, name, new in ours:
        if name in vars(home):
            setattr(home, name, new)
    return before


def _copy(part: Any, by_ref: set[str]) -> Any:
    """Copy a part of a chart: for a chart, what is changed in it; otherwise, all except what goes by reference."""
    from altair import SchemaBase, TopLevelMixin, Undefined

    if isinstance(part, SchemaBase):
        own = getattr(type(part), "__deepcopy__", None)
        if own is not None:
            return own(part, None)
        made = object.__new__(type(part))
        made.__dict__.update(part.__dict__)
        settings = dict(part._kwds)
        for name in _WITHIN if isinstance(part, TopLevelMixin) else tuple(settings):
            value = settings.get(name, Undefined)
            if value is not Undefined and name not in by_ref:
                settings[name] = _copy(value, by_ref)
        object.__setattr__(made, "_args", tuple(_copy(one, by_ref) for one in part._args))
        object.__setattr__(made, "_kwds", settings)
        return made
    if isinstance(part, list):
        return [_copy(one, by_ref) for one in part]
    if isinstance(part, dict):
        return {name: one if name in by_ref else _copy(one, by_ref) for name, one in part.items()}
    return part


_MADE = classmethod(lambda cls, given, **_: cls(**given))
_TRUSTED = classmethod(lambda cls, name, value, schema=None: None)
