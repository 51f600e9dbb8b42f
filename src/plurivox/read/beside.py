"""Tables that accompany ratings and describe raters or items: files, frames or exports of platforms."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from plurivox.base.arguments import FilePath
from plurivox.base.errors import FileError
from plurivox.domain.attributes import AttributeTable
from plurivox.domain.points import with_joined
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import RawTable, id_column, to_polars
from plurivox.read.formats import export_of, kind_of, ratings_of
from plurivox.read.settings import Format, ReadSettings
from plurivox.read.tables import open_table


def read_table(source: FilePath, *, format: Format | None = None, encoding: str = "utf-8") -> RawTable:  # noqa: A002
    """Read a whole file of attributes as a frame."""
    return read_again(source, None, format=format, encoding=encoding).plain()


def read_again(
    source: FilePath, asked: ReadSettings | None, *, format: Format | None, encoding: str  # noqa: A002
) -> RawTable:  # fmt: skip
    """Read the whole table that ratings came from once more; for an export, if ``asked`` is given, its answers."""
    with open_table(source, kind_of(format), encoding) as table:
        taken = None if asked is None or isinstance(table, Ratings) else ratings_of(table, format, asked)
        return _whole(table if taken is None else taken.export.table, source)


def _whole(table: RawTable | Ratings, source: FilePath) -> RawTable:
    if isinstance(table, Ratings):
        raise FileError("it holds ratings that plurivox stored, not a table", source=os.fspath(source))
    return replace(table, pieces=iter([table.frame()]))


def opened(given: Any, role: Literal["item", "rater"], encoding: str, platform: str | None = None) -> Any:
    """Read a table that is a file, so that its columns can be looked at first."""
    return attributes_in(given, role, encoding, platform) if isinstance(given, str | os.PathLike) else given


def names_in(table: Any) -> Sequence[str]:
    """Return the column names of an opened table or a frame, none for None."""
    if table is None:
        return ()
    return table.columns if isinstance(table, RawTable) else to_polars(table).columns


def attribute_table(
    given: Any, role: Literal["item", "rater"], wanted: str, encoding: str, platform: str | None = None
) -> AttributeTable | None:
    """Return a table of items or raters from a file or a frame, None if there is none.

    ``platform`` is the platform that the ratings come from.
    """
    if given is None:
        return None
    if isinstance(given := opened(given, role, encoding, platform), RawTable):
        table = with_joined(given, wanted)
        frame, name, locate = table.frame(), table.name, table.locate
        if not frame.height:
            raise FileError("there is only a header", source=name, hint=f"It needs one row per {role}.")
        ids = table.ids or id_column(frame.columns, role, wanted, name)
        return AttributeTable(frame, ids, name, locate, table.remarks)
    frame = to_polars(given)
    name = f"{role}s frame"
    return AttributeTable(frame, id_column(frame.columns, role, wanted, name), name)


def attributes_in(
    source: FilePath, role: Literal["item", "rater"], encoding: str = "utf-8", platform: str | None = None
) -> RawTable:
    """Read a table of items or raters, plain or as a platform exports it; the platform knows the column of ids."""
    table = read_again(source, None, format=None, encoding=encoding)
    named: Any = platform
    export = export_of(table, None, ReadSettings(format=named), "raters" if role == "rater" else "items")
    if export is None:
        return table.plain()
    return replace(_whole(export.table, source).plain(), ids=getattr(export, role))
