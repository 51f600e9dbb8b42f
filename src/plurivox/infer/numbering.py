"""Raters as people see them: numbered unless their ids were requested. Frames, CSV and JSON hold ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from plurivox.domain.axis import CROSS, names_raters, rater_name

if TYPE_CHECKING:
    from plurivox.infer.result import Result

R = TypeVar("R", bound="Result")
Calls = Mapping[tuple[str, str], str]


def for_people(found: R) -> R:
    """Return a result with raters numbered in its rows and tables, in order of appearance."""
    if found.settings.get("ids") or not any(map(names_raters, found.axes)):
        return found
    calls = _calls((row.axis, row.group) for row in found.rows)
    renamed: dict[str, Any] = {
        name: tuple(_renamed(one, calls) for one in getattr(found, name)) for name in found.PARTS
    }
    return replace(found, **renamed)


def numbered(frame: pl.DataFrame, settings: Mapping[str, Any]) -> pl.DataFrame:
    """Return a table of groups in which raters are numbered unless ids are requested."""
    if settings.get("ids") or not {"axis", "group"} <= set(frame.columns):
        return frame
    return _frame(frame, _calls(frame.select("axis", "group").iter_rows()))


def _calls(groups: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return what each group of raters is called, by axis and group."""
    calls: dict[tuple[str, str], str] = {}
    numbers: dict[str, int] = {}
    for axis, group in groups:
        if (axis, group) not in calls and names_raters(axis) and group:
            numbers[axis] = numbers.get(axis, -1) + 1
            calls[axis, group] = _called(axis, group, rater_name(numbers[axis]))
    return calls


def _called(axis: str, group: str, name: str) -> str:
    """Replace an id with a name; an id that contains the sign of a crossing replaces the rest as well."""
    attributes, values = axis.split(CROSS), group.split(CROSS)
    if len(attributes) != len(values):
        return name
    return CROSS.join(name if one == "rater" else value for one, value in zip(attributes, values, strict=True))


def _renamed(one: Any, calls: Calls) -> Any:
    """Return a part of a result with its groups renamed."""
    if hasattr(one, "frame"):
        return replace(one, frame=_frame(one.frame, calls))
    if hasattr(one, "groups"):
        return replace(one, groups=tuple(calls.get((one.axis, group), group) for group in one.groups))
    if (one.axis, one.group) not in calls and (one.axis, one.other) not in calls:
        return one
    return replace(
        one, group=calls.get((one.axis, one.group), one.group), other=calls.get((one.axis, one.other), one.other)
    )


def _frame(frame: pl.DataFrame, calls: Calls) -> pl.DataFrame:
    if not calls or not {"axis", "group"} <= set(frame.columns):
        return frame
    names = [calls.get(key, key[1]) for key in frame.select("axis", "group").iter_rows()]
    return frame.with_columns(group=pl.Series(names, dtype=pl.String))
