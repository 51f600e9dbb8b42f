"""Results read back from JSON, which may be damaged or made up: they work, or there is one clear error."""

from __future__ import annotations

import inspect
import json
import math
import typing
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.base.arguments import fits, shown, wrong
from plurivox.base.errors import InputError, PlurivoxError, SelectionError

T = TypeVar("T")

AGAIN = "Write it again with to_json()."
_LEFT_OUT = ("from_json", "to_json", "to_latex", "to_html")  # to_markdown makes the same tables


def restored(cls: type[T], text: str, build: Callable[[dict[str, Any]], T]) -> T:
    """Return the result that JSON describes.

    Its parts are checked against the types of its fields, and then every table and sentence that needs no argument is
    made. So a result that comes back can be used, and one that cannot is refused here.

    Raises
    ------
    InputError
        If the text is not JSON, is not from such a result, or is damaged.
    """
    kind = cls.KIND  # type: ignore[attr-defined]
    if not isinstance(text, str):
        raise wrong("text", text, str)
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"this is not JSON ({_reason(error)})", hint=AGAIN) from None
    found = data.get("kind") if isinstance(data, dict) else None
    if found != kind:
        raise SelectionError(f"this is the JSON of a {shown(found)} result, not of a {kind!r} result")
    try:
        made = build(data)
        _check(made)
        _use(made)
    except (Exception, pl.exceptions.PanicException) as error:
        raise InputError(f"the JSON of this {kind} result is damaged ({_reason(error)})", hint=AGAIN) from None
    return made


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())[:120]
    return f"{text} is missing" if isinstance(error, KeyError) else text or type(error).__name__


def _check(made: Any) -> None:
    """Raise unless the fields of a record, and of the records in them, are of their types."""
    hints = typing.get_type_hints(type(made))
    for one in fields(made):
        value = getattr(made, one.name)
        if isinstance(value, tuple) and value and is_dataclass(value[0]):
            _check_records(value)
        elif not fits(value, hints[one.name]):
            raise wrong(one.name, value, hints[one.name])


def _check_records(records: Sequence[Any]) -> None:
    """Raise unless all records are of one class and their fields of their types, 100,000 of them quickly."""
    hints = typing.get_type_hints(type(records[0]))
    if any(type(record) is not type(records[0]) for record in records):
        raise TypeError("records of several kinds")
    for one in fields(records[0]):
        values = [getattr(record, one.name) for record in records]
        by_type: dict[type, Any] = {}
        for value in values:
            before = by_type.get(type(value))
            if before is None or (isinstance(value, int) and abs(value) > abs(before)):  # if the largest fits, all do
                by_type[type(value)] = value
        simple = all(kind in (str, int, float, bool, type(None)) for kind in by_type)
        for value in by_type.values() if simple else values:
            if not fits(value, hints[one.name]):
                raise wrong(one.name, value, hints[one.name])


def _use(made: Any) -> None:
    """Ask a result for everything that needs no argument; lacking something is a valid answer, too."""
    made._repr_html_()
    for name, member in inspect.getmembers(type(made)):
        if name.startswith("_") or name in _LEFT_OUT or not (callable(member) or isinstance(member, property)):
            continue
        try:
            if isinstance(member, property):
                getattr(made, name)
            elif not _needs(member):
                getattr(made, name)()
        except PlurivoxError:
            continue


def _needs(function: Callable[..., Any]) -> bool:
    """Return whether a method needs an argument."""
    known = list(inspect.signature(function).parameters.values())
    return any(one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL) for one in known[1:])


def array_of(values: Any, *shape: int) -> NDArray[np.float64]:
    """Return nested lists of JSON as an array whose dimensions, except the first, are known."""
    return np.array(loose(values), dtype=np.float64).reshape(len(values), *shape)


_WORDS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def dtype_named(name: str) -> Any:
    """Return the type of a column by its name."""
    kind = getattr(pl, name)
    if not (isinstance(kind, type) and issubclass(kind, pl.DataType)):
        raise TypeError(f"{name} is not a column type")
    return kind


def loose(value: Any) -> Any:
    """Undo :func:`plurivox.infer.result.strict` where there are only numbers."""
    return [loose(part) for part in value] if isinstance(value, list) else _WORDS.get(value, value)
