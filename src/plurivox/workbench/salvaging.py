"""Whether the SQLite file of a workbench is in order, and what can be read of one that is not.

It is examined as a copy, so that nothing is written into a file that is damaged, newer, or somebody else's. What is in
it counts as data: a row that we would not have written is left out, and so is every table, view and trigger that is
not ours.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import re
import shutil
import sqlite3
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plurivox.base.errors import FileError, PlurivoxError, few
from plurivox.report.settings import MOST_LOOKS, ReportSettings
from plurivox.workbench.reading import ReadingSettings
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
    STUDIES,
    WAITING,
    StoredFile,
    StudyRecord,
    role_in,
    within,
)

if TYPE_CHECKING:
    from plurivox.workbench.store import StudyStore


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
            studies = {row["id"] for row in found.rows.get("studies", ()) if _valid("studies", row)}
            for table, names in _ROWS.items():
                if table == _OURS:
                    continue
                marks = ", ".join("?" * len(names))
                for row in found.rows.get(table, ()):
                    if _valid(table, row) and row.get("study", row.get("id")) in studies:
                        line = f"insert or ignore into {table} ({', '.join(names)}) values ({marks})"  # noqa: S608
                        base.execute(line, [row[name] for name in names])
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


# Adopting -------------------------------------------------------------------------------------------------------------
#
# What a study's own folder says about it, so that the study can be taken in again if the list of studies is lost.
# This manifest is written whole whenever the study changes. When it is read, it is data from anywhere: it can name only
# files of the study itself, under names that we give, with the sizes and checksums that it states.


MANIFEST = "study.json"
KIND = "plurivox study"
VERSION = 1
LARGEST = 4 << 20
SHOWN = 10
"""Folders that a sentence names."""
_PIECE = 1 << 20
_LEFT = "It was left as it is."


_PARTS = ("name", "created", "reading", "asked", "files", "notes", "planned", "expected", "looks", "revision")
"""What a manifest holds; ``looks`` are the data whose tests were looked at, and when, if the study was watched."""


def text_of(study: StudyRecord, notes: Mapping[str, str], watch: Mapping[str, Any],
            looks: Mapping[str, float]) -> str:  # fmt: skip
    """Return the manifest of a study; a packed study that it uses is not ours, and not in it."""
    told = {
        "name": study.name, "created": study.created, "reading": study.reading, "asked": study.asked,
        "files": [asdict(file) for file in study.files.values() if not file.linked], "notes": dict(notes),
        "planned": watch.get("planned"), "expected": watch.get("expected"), "looks": dict(looks),
        "revision": study.revision,
    }  # fmt: skip
    return json.dumps({"kind": KIND, "version": VERSION, **told}, ensure_ascii=False, indent=1) + "\n"


def read_manifest(folder: Path, study: str) -> dict[str, Any]:
    """Return what the folder of a study says about it, if it is one that we can have written and its files are there.

    Raises
    ------
    FileError
        If it is not.
    """
    home = folder / "studies" / study
    if not ID.fullmatch(study):
        raise _wrong(home, "its name is not that of a study's folder")
    if not within(folder, home / "inputs" / "file"):
        raise _wrong(home, "it is a link, or has links in it")
    told = _parsed(home / MANIFEST)
    problem = _problem_with(told)
    if problem is not None:
        raise _wrong(home / MANIFEST, problem)
    files = tuple(StoredFile(**one) for one in told["files"])
    for file in files:
        path = home / "inputs" / file.stored
        digest, size = hashlib.sha256(), 0
        for piece in _pieces(path, file.size):
            digest.update(piece)
            size += len(piece)
        if (size, digest.hexdigest()) != (file.size, file.sha256):
            raise _wrong(path, f"it is not the file that {MANIFEST} names: its size or checksum differs")
    return {**told, "files": files}


def names_file(path: Path, stored: str, revision: int) -> bool:
    """Return whether a manifest, if it is not older than a revision of its study, names a file."""
    try:
        told = _parsed(path)
    except FileError:
        return False
    return _problem_with(told) is None and told["revision"] >= revision and any(
        one["stored"] == stored for one in told["files"]
    )  # fmt: skip


def _wrong(path: Path, problem: str) -> FileError:
    return FileError(problem, source=str(path), hint=_LEFT)


def _parsed(path: Path) -> dict[str, Any]:
    content = b"".join(_pieces(path, LARGEST))
    if len(content) > LARGEST:
        raise _wrong(path, "it is too large")
    try:
        told = json.loads(content)
    except (ValueError, RecursionError):
        raise _wrong(path, "it is not valid JSON") from None
    if not isinstance(told, dict) or told.get("kind") != KIND or type(told.get("version")) is not int:
        raise _wrong(path, "it does not describe a study of the workbench")
    if told["version"] > VERSION:
        raise _wrong(path, "it was made by a newer version of plurivox")
    return told


def _problem_with(told: Mapping[str, Any]) -> str | None:
    """Return which part of a manifest is not one that we write, None if all are."""
    if not told.keys() >= {*_PARTS}:
        return "a part of it is missing"
    files, notes, looks = told["files"], told["notes"], told["looks"]
    if not is_count(told["revision"]):
        return "its revision is not valid"
    if not (is_text(told["name"]) and 0 < len(told["name"]) <= 200 and is_number(told["created"])):
        return "its name or date is not valid"
    if not isinstance(files, list) or not all(map(_is_file, files)):
        return "it names files that a study cannot have"
    if any(len({one[name] for one in files}) < len(files) for name in ("role", "stored")):
        return "it names a file twice"
    if not isinstance(notes, dict) or not all(is_text(part) for pair in notes.items() for part in pair):
        return "its notes are not text"
    if not isinstance(looks, dict) or not all(is_text(data) and is_number(at) for data, at in looks.items()):
        return "its looks are not valid"
    planned, expected = told["planned"], told["expected"]
    if planned is not None and not (is_count(planned) and 1 <= planned <= MOST_LOOKS):
        return "its planned looks are not valid"
    if expected is not None and not is_count(expected):
        return "the number of ratings expected is not valid"
    for name, record in (("reading", ReadingSettings), ("asked", ReportSettings)):
        try:
            record.from_dict(told[name])
        except (PlurivoxError, TypeError, ValueError, AttributeError, RecursionError):
            return f"its settings ({name}) are not valid"
    return None


def _is_file(one: Any) -> bool:
    return (
        isinstance(one, dict) and one.keys() == {*StoredFile.__slots__}
        and all(_FILE[name](value) for name, value in one.items()) and len(one["shown"]) <= 200
        and STORED.fullmatch(one["stored"]) is not None and may_be(one["role"], one["stored"])
    )  # fmt: skip


def _pieces(path: Path, most: int) -> Iterator[bytes]:
    """Yield what is in a file, up to the first piece that exceeds a size; a link or a pipe is not opened."""
    try:
        flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _wrong(path, "it is not a file")
            size = 0
            while size <= most and (piece := file.read(_PIECE)):
                size += len(piece)
                yield piece
    except OSError as error:
        text = "it is missing" if isinstance(error, FileNotFoundError) else f"it cannot be read ({error.strerror})"
        raise _wrong(path, text) from None


def unlisted(store: StudyStore) -> list[str]:
    """Return the names of folders among the studies that are not in the list of studies."""
    known = {row["id"] for row in store.rows("select id from studies")}
    return sorted(
        entry.name for entry in os.scandir(store.folder / STUDIES) if entry.is_dir() and entry.name not in known
    )


def remarks_on(store: StudyStore, adopted: bool) -> list[str]:
    """Return what to say about folders that are not in the list of studies; ``adopted`` if those that can be, were."""
    names = unlisted(store)
    ours = [name for name in names if os.path.lexists(store.folder / STUDIES / name / MANIFEST)]
    others = [name for name in names if name not in ours]
    told = []
    if ours and not adopted:
        start, them = _folders(ours), "it" if len(ours) == 1 else "them"
        told.append(f"{start} not in the list of studies: {few(ours, SHOWN)}; plurivox serve --adopt takes {them} in")
    if others:
        what = "a study, and is" if len(others) == 1 else "studies, and are"
        told.append(f"{_folders(others)} not {what} left alone: {few(others, SHOWN)}")
    return told


def _folders(names: Sequence[str]) -> str:
    return f"1 folder in {STUDIES}/ is" if len(names) == 1 else f"{len(names):,} folders in {STUDIES}/ are"


def adopt(store: StudyStore) -> list[str]:
    """Take in what the folders of studies say, unless the list of studies is newer; return what to say about it."""
    told, taken, new = [], [], unlisted(store)
    known = {one.id: one for one in store.studies()}
    for study in (*new, *known):
        if not os.path.lexists(store.folder / STUDIES / study / MANIFEST):
            continue
        try:
            found = read_manifest(store.folder, study)
        except FileError as error:
            told += [f"{STUDIES}/{study} was not taken in: {error}"] if study in new else []
            continue
        listed = known.get(study)
        if listed is not None and listed.revision > found["revision"]:
            continue
        with store.changing() as base:
            _take(base, study, found)
        if listed is None:
            taken.append(found["name"])
        elif store.study(study).files != listed.files:
            told.append(f"files of {found['name']} were no longer in the list of studies, and were taken in again")
    if taken:
        told.insert(
            0, f"{len(taken):,} {'study was' if len(taken) == 1 else 'studies were'} taken in: {few(taken, SHOWN)}"
        )
    return told


def _take(base: sqlite3.Connection, study: str, found: Mapping[str, Any]) -> None:
    """Add what is not there yet; a file that grows is no longer watched, but looks at its tests count."""
    settings = [json.dumps(found[name]) for name in ("reading", "asked")]
    row = (study, found["name"], found["created"], time.time(), *settings, 0)
    base.execute("insert or ignore into studies values (?, ?, ?, ?, ?, ?, ?)", row)
    base.execute("insert or ignore into ours values (?, '')", (study,))
    for one in found["files"]:
        base.execute("insert or replace into files values (?, ?, ?, ?, ?, ?)", (study, *astuple(one)))
        base.execute("insert or ignore into ours values (?, ?)", (study, one.stored))
    for place, text in found["notes"].items():
        base.execute("insert or ignore into notes values (?, ?, ?, ?)", (study, place, text, time.time()))
    if found["planned"] is not None:
        base.execute("insert or ignore into watches values (?, 0, ?, ?)", (study, found["planned"], found["expected"]))
        for data, at in found["looks"].items():
            base.execute("insert or ignore into looks values (?, ?, ?)", (study, data, at))
