"""The table behind a chart is made once for a result, although both the chart and its reader need it."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import polars as pl

P = ParamSpec("P")
Made = TypeVar("Made", bound=pl.DataFrame)


def once(data: Callable[P, Made]) -> Callable[P, Made]:
    """Keep what was made from a result, the first argument, for as long as the result exists."""
    kept: WeakKeyDictionary[Any, dict[str, Made]] = WeakKeyDictionary()
    signature = inspect.signature(data)

    @functools.wraps(data)
    def asked(*args: P.args, **options: P.kwargs) -> Made:
        given = signature.bind(*args, **options)
        given.apply_defaults()
        result, *rest = given.arguments.values()
        own = kept.setdefault(result, {})
        key = repr([list(one) if isinstance(one, tuple) else one for one in rest])
        if key not in own:
            own[key] = data(*args, **options)
        return own[key]

    return asked
