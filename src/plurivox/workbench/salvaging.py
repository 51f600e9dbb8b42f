"""Whether the SQLite file of a workbench is in order, and what can be read of one that is not.

It is examined as a copy, so that nothing is written into a file that is damaged, newer, or somebody else's. What is in
it counts as data: a row that we would not have written is left out, and so is every table, view and trigger that is
not ours.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plurivox.base.errors import FileError
from plurivox.workbench.records import (
    CANCELLED,
    DATABASE,
    DONE,
    FAILED,
    INTERRUPTED,
    KINDS,
    PLACES,
    RUNNING,
    SIDES,
    WAITING,
    role_in,
)

if TYPE_CHECKING:
    pass


Row = dict[str, Any]
_DAMAGE = (sqlite3.Error, UnicodeDecodeError)  # the latter from messages that quote what is damaged
ID = re.compile(r"[0-9a-f]{12}")
"""The name of a study, and of its folder."""
STORED = re.compile(
    f"({'|'.join(PLACES)})-[0-9a-f]{{8}}({'|'.join(re.escape(one) for one in sorted(KINDS, key=len, reverse=True))})?"
)
"""Our name for a file of a study."""
SHA256 = re.compile(r"[0-9a-f]{64}")


# What a row may hold --------------------------------------------------------------------------------------------------


def _is(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def is_text(value: Any) -> bool:
    """Return whether a value is text that can be stored, without halves of characters."""
    return isinstance(value, str) and value.encode("utf-8", "replace").decode() == value


def is_number(value: Any) -> bool:
    """Return whether a value is a number that can be shown as a time."""
    return type(value) in (int, float) and math.isfinite(value) and 0 <= value < 2**32


def is_count(value: Any) -> bool:
    """Return whether a value is a whole number from 0 that SQLite can hold."""
    return type(value) is int and 0 <= value < 2**63


def _object(value: Any) -> bool:
    try:
        return isinstance(json.loads(value), dict)
    except (TypeError, ValueError, RecursionError):
        return False


def _or_none(check: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or check(value)


def _one_of(*known: Any) -> Callable[[Any], bool]:
    return lambda value: value in known


_OURS = "ours"
"""What may be removed: made anew from what is referred to, so that a file whose row is lost stays."""
_STATES = (WAITING, RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED)
_FILE: dict[str, Callable[[Any], bool]] = {
    "study": _is(ID), "role": _one_of(*PLACES), "shown": is_text, "stored": is_text, "size": is_count,
    "sha256": _is(SHA256),
}  # fmt: skip
_ROWS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "studies": {
        "id": _is(ID), "name": is_text, "created": is_number, "changed": is_number, "reading": _object,
        "asked": _object, "revision": is_count,
    },
    "files": _FILE,
    "runs": {
        "id": _is(re.compile(r"[0-9a-f]{16}")), "study": _is(ID), "kind": is_text, "key": _is(re.compile(r"\w{1,64}")),
        "asked": _object, "state": _one_of(*_STATES), "created": is_number, "ended": _or_none(is_number),
        "problem": _or_none(_object),
    },
    "notes": {"study": _is(ID), "place": is_text, "text": is_text, "changed": is_number},
    "watches": {
        "study": _is(ID), "going": _one_of(0, 1), "planned": is_count, "expected": _or_none(is_count),
    },
    "sources": {"study": _is(ID), "role": _one_of(*PLACES), "path": is_text, "mark": is_text},
    "arrived": _FILE,
    "arrivals": {"study": _is(ID), "at": is_number, "told": _object},
    "looks": {"study": _is(ID), "data": is_text, "at": is_number},
    _OURS: {"study": _is(ID), "stored": lambda value: value == "" or _is(STORED)(value)},
}  # fmt: skip
"""The columns of each table that is read, and what a value there may be; studies come first."""


def may_be(role: str, stored: str) -> bool:
    """Return whether a file of this role may be stored under this name: one of ours, or the path of a packed study."""
    found = STORED.fullmatch(stored)
    if found is None:
        return role == "ratings" and os.path.isabs(stored)
    return role_in(found[1]) == role_in(role)


def _valid(table: str, row: Mapping[str, Any]) -> bool:
    return all(check(row[name]) for name, check in _ROWS[table].items()) and (
        "role" not in row or "stored" not in row or may_be(row["role"], row["stored"])
    )


# Examining ------------------------------------------------------------------------------------------------------------


@dataclass
class Examined:
    """What was found in a SQLite file: its version, whether it is one of ours, what is wrong, and the rows."""

    version: int = 0
    ours: bool = False
    problem: str | None = None
    rows: dict[str, list[Row]] = field(default_factory=dict)


def examine(folder: Path, schemas: Mapping[int, str]) -> Examined:
    """Examine the SQLite file of a folder without touching it; ``schemas`` are the tables of each version."""
    found = Examined()
    with tempfile.TemporaryDirectory(prefix="plurivox-") as place:
        copy = Path(place, DATABASE)
        for side in SIDES:
            if side != "-shm" and (folder / (DATABASE + side)).is_file():
                _copy(folder / (DATABASE + side), Path(place, DATABASE + side))
        with contextlib.closing(sqlite3.connect(copy, isolation_level=None)) as base:
            base.text_factory = bytes  # damage may leave what is no text
            try:
                _look(base, found, schemas)
            except _DAMAGE as error:
                found.problem = str(error) if isinstance(error, sqlite3.Error) else "its tables have no names"
            if found.ours and found.version <= max(schemas):
                found.rows = {table: _rows(base, table) for table in _ROWS}
                lost = any(not _valid(table, row) for table, rows in found.rows.items() for row in rows)
                found.problem = found.problem or ("rows in it make no sense" if lost else None)
    return found


def _copy(path: Path, to: Path) -> None:
    try:
        shutil.copyfile(path, to)
    except OSError as error:
        hint = "Nothing was changed."
        raise FileError(f"it cannot be examined ({error.strerror})", source=str(path), hint=hint) from None


def _look(base: sqlite3.Connection, found: Examined, schemas: Mapping[int, str]) -> None:
    base.execute("pragma trusted_schema = off")
    found.version = base.execute("pragma user_version").fetchone()[0]
    there = schema_of(base)
    found.ours = all(
        ("table", name) in there and _columns(base, name) >= {*_ROWS[name]} for name in ("studies", "files")
    )
    if found.version > max(schemas) or not (found.version or there):  # a newer one, or one without anything
        return
    with contextlib.closing(sqlite3.connect(":memory:")) as wanted:
        wanted.executescript(schemas.get(found.version, ""))
        if there != schema_of(wanted):
            found.problem = "its tables are not those that it should have"
    if base.execute("pragma integrity_check(1)").fetchall() != [(b"ok",)]:
        found.problem = "its pages contradict each other"
    elif base.execute("pragma foreign_key_check").fetchone() is not None:
        found.problem = "rows in it belong to no study"


def schema_of(base: sqlite3.Connection) -> dict[tuple[str, str], str]:
    """Return the tables and all else that a base has, each with its definition, whatever its spaces."""
    rows = base.execute("select type, name, sql from sqlite_master where sql is not null").fetchall()
    return {(_text(kind), _text(name)): " ".join(_text(sql).split()) for kind, name, sql in rows}


def _columns(base: sqlite3.Connection, table: str) -> set[str]:
    return {_text(row[1]) for row in base.execute(f"pragma table_info({table})")}


def _text(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _rows(base: sqlite3.Connection, table: str) -> list[Row]:
    """Return the rows of a table that can be read: from the front up to damage, and from the back."""
    found: dict[int, Row] = {}
    names = list(_ROWS[table])
    for order in ("", "desc"):
        try:
            for number, *row in base.execute(f"select rowid, {', '.join(names)} from {table} order by rowid {order}"):  # noqa: S608
                if number in found:
                    break
                found[number] = {name: _decoded(value) for name, value in zip(names, row, strict=True)}
            else:
                break
        except _DAMAGE:
            continue
    return [found[number] for number in sorted(found)]


def _decoded(value: Any) -> Any:
    try:
        return value.decode() if isinstance(value, bytes) else value
    except UnicodeDecodeError:
        return value  # which is no text, and so not valid


# Making anew ----------------------------------------------------------------------------------------------------------


def renew(folder: Path, found: Examined, schema: str, version: int) -> Path:
    """Put a new SQLite file with all valid rows in place of a damaged one, and return the folder in which that is."""
    aside = next(one for n in range(1, 10_000) if not os.path.lexists(one := folder / f"damaged-{n}"))
    new = aside / "new.sqlite3"
    aside.mkdir(mode=0o700)
    try:
        with contextlib.closing(sqlite3.connect(new, isolation_level=None)) as base:
            base.executescript(schema)
            base.execute("begin")
            _fill(base, found.rows)
            base.execute("commit")
            base.executescript(f"{schema} pragma user_version = {version};")  # which also notes what is ours
    except BaseException:
        new.unlink(missing_ok=True)
        aside.rmdir()
        raise
    for side in SIDES:
        if (folder / (DATABASE + side)).exists():
            os.replace(folder / (DATABASE + side), aside / (DATABASE + side))
    os.replace(new, folder / DATABASE)
    return aside


def _fill(base: sqlite3.Connection, rows: Mapping[str, list[Row]]) -> None:
    studies = {row["id"] for row in rows.get("studies", ()) if _valid("studies", row)}
    for table, names in _ROWS.items():
        if table == _OURS:
            continue
        marks = ", ".join("?" * len(names))
        for row in rows.get(table, ()):
            if _valid(table, row) and row.get("study", row.get("id")) in studies:
                line = f"insert or ignore into {table} ({', '.join(names)}) values ({marks})"  # noqa: S608
                base.execute(line, [row[name] for name in names])
