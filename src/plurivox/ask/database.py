"""The file of answers: as SQLite sees it, who is writing it, reading past damage, and answers as rows."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import secrets
import shlex
import sqlite3
import time
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple, Self

import polars as pl

from plurivox.base.errors import FileError, PlurivoxError
from plurivox.base.files import note_input
from plurivox.domain.reader import Reading
from plurivox.read.opening import ANSWERS

_FILE = resources.files("plurivox.ask") / "answers.sql"
VERSION = 1
"""The version of the tables."""
SMALLEST = 511
"""A file this small is not a database, though SQLite accepts it as an empty one."""
WAIT = 30.0
"""How many seconds to wait for another process that writes."""

SQL = dict(re.findall(r"-- name: (\w+)\n(.*?)\n(?=\n--|\Z)", _FILE.read_text(encoding="utf-8"), re.DOTALL))
"""The tables, and questions to them, by their names."""
SCHEMA = f"BEGIN;\n{SQL['tables']}\nPRAGMA application_id = {ANSWERS};\nPRAGMA user_version = {VERSION};\nCOMMIT;\n"


class StoreError(PlurivoxError):
    """Answers cannot be stored or read any more; the message says what is intact and what to do."""


def target_of(path: str | os.PathLike[str], *, create: bool) -> Path:
    """Return the real file behind a path, after checking that there can be one."""
    target = Path(os.path.realpath(path))
    if os.path.isdir(target):
        raise FileError("this is a folder", source=os.fspath(path), hint="Name a file.")
    if not os.path.isdir(target.parent):
        raise FileError(f"there is no folder {target.parent}", source=os.fspath(path), hint="Create it first.")
    if not create and not os.path.exists(target):
        raise FileError("there is no such file", source=os.fspath(path))
    if os.path.exists(target) and not os.path.isfile(target):
        raise FileError("this is not a regular file", source=os.fspath(path), hint="Name a file.")
    for end in ("", "-wal", "-shm"):
        note_input(f"{target}{end}")  # no other output of the same call may take its place
    return target


def connect(target: Path, mode: str) -> sqlite3.Connection:
    """Connect without transactions of Python's own."""
    uri = f"{target.as_uri()}?{mode}"
    return sqlite3.connect(uri, timeout=WAIT, isolation_level=None, check_same_thread=False, uri=True)


def make_file(target: Path, path: str, stated: Mapping[str, str]) -> None:
    """Make an empty store, which appears whole or not at all; keep one that another process has just made."""
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with plain(path), contextlib.closing(connect(temporary, "mode=rwc")) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)
            connection.executemany("INSERT INTO meta VALUES (?, ?)", stated.items())
        try:
            os.link(temporary, target)
        except FileExistsError:
            pass
        except OSError:  # a file system without links
            os.rename(temporary, target)
    except OSError as error:
        raise FileError(f"it cannot be written ({error.strerror})", source=path) from None
    finally:
        for end in ("", "-wal", "-shm", "-journal"):
            with contextlib.suppress(OSError):
                os.unlink(f"{temporary}{end}")


@contextlib.contextmanager
def plain(path: str) -> Iterator[None]:
    """Turn an error of SQLite into one that says what to do."""
    try:
        yield
    except sqlite3.Error as error:
        raise explained(error, path) from None


NAME_ANOTHER = "Name a file that plurivox ask wrote, or a new one to ask into."
_KEPT = "The answers stored before are intact"
_NO_FILE = {
    sqlite3.SQLITE_NOTADB: ("it is not a store of answers", NAME_ANOTHER),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", "Check who may read and write it and its folder."),
    sqlite3.SQLITE_READONLY: ("it can be read but not written", "Check who may write it and its folder."),
}
_NO_STORE = {
    sqlite3.SQLITE_FULL: f"the disk is full. {_KEPT}; free some space and run the same command again.",
    sqlite3.SQLITE_BUSY: f"another program has locked it. {_KEPT}; close that program and run the same command again.",
    sqlite3.SQLITE_IOERR: f"the disk could not be read or written. {_KEPT} if the disk is; run the same command again.",
    sqlite3.SQLITE_CORRUPT: "the file is damaged. Keep a copy; the command 'sqlite3 FILE .recover' may save most.",
}


def damaged(path: str, what: str) -> StoreError:
    """Return the error that a store is damaged, with what to do."""
    saved = os.fspath(Path(path).with_suffix(".saved.db"))
    return StoreError(
        f"{path}: the file is damaged ({what}), so nothing more is stored in it. Save what can be read with: plurivox "
        f"answers {shlex.quote(path)} --export {shlex.quote(saved)}; then continue with that file."
    )


def explained(error: sqlite3.Error, path: str) -> PlurivoxError:
    """Return the error to raise instead."""
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the rest is detail
    if str(error).startswith("no such "):  # table or column
        return FileError("it lacks parts of a store of answers, or is damaged", source=path, hint=NAME_ANOTHER)
    if code in _NO_FILE:
        problem, hint = _NO_FILE[code]
        return FileError(problem, source=path, hint=hint)
    return StoreError(f"{path}: {_NO_STORE.get(code, f'{error}. {_KEPT}.')}")


# Processes ------------------------------------------------------------------------------------------------------------
#
# Which runs are alive: processes on this machine, and those on others that send a heartbeat.


LEASE = 60.0
"""How many seconds a run keeps what it has claimed without a heartbeat. Its process may be stopped, or its machine
asleep; a process on this machine that has ended keeps nothing."""


def host_name() -> str:
    """Name the machine, and the part of it within which process numbers are unique (a container has its own)."""
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def process(pid: int) -> tuple[str, int | None]:
    """Return the state of a process and when it started, as Linux reports them; empty and None elsewhere."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[19])
    except (OSError, IndexError, ValueError):
        return "", None


def alive(host: str, pid: int, started: int | None, heartbeat: float) -> bool:
    """Return whether a run is still going."""
    if time.time() - heartbeat > LEASE:
        return False
    if host != host_name() or os.name == "nt":  # on Windows os.kill would end the process rather than look at it
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, and is another user's
        pass
    state, ticks = process(pid)
    return state not in ("Z", "X") and (ticks is None or started is None or ticks == started)


# Salvage --------------------------------------------------------------------------------------------------------------
#
# Damaged stores: detecting the damage, and reading past it.
#
# A page of the file that cannot be read costs only the answers on it: the others are read one by one, by their
# numbers, into a separate store.


_FEW = 200
# A text as long as our times that is not a time. The length is stored apart from the text.
_DATE = "-".join("[0-9]" * n for n in (4, 2, 2))
_UNSOUND = f"length(CAST(asked_at AS BLOB)) = 25 AND NOT asked_at GLOB '{_DATE}*'"
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOTADB})


def damage_in(connection: sqlite3.Connection) -> str:
    """Return what is wrong with a file, mostly in SQLite's words; empty if nothing.

    SQLite keeps no checksums that would show a changed text. If the last page of a long answer holds something else,
    the time at its end shows it.
    """
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA quick_check(1)")]
        if found != ["ok"]:
            return " ".join(found[0].replace("*** in database main ***", "").split())
        ((wrong,),) = connection.execute(f"SELECT count(*) FROM answers WHERE {_UNSOUND}")  # noqa: S608
    except sqlite3.Error as error:
        if not _is_damage(error):
            raise
        return str(error)
    return f"{wrong} answers are not as they were stored" if wrong else ""


def salvage(damaged: sqlite3.Connection) -> tuple[sqlite3.Connection, int, int, bool, bool]:
    """Copy all that can be read into a database that is deleted when it is closed.

    Returns its connection, how many answers were read, how many were lost and whether that is sure or the most that can
    be lost, and whether what was asked is known.
    """
    copy = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    copy.executescript(SCHEMA)
    copy.execute("BEGIN")
    knows_question = False
    with _past_damage():
        copy.executemany("INSERT INTO meta VALUES (?, ?)", damaged.execute("SELECT key, value FROM meta").fetchall())
        knows_question = True
    numbers, sure = _numbers(damaged)
    n_lost = 0
    places = ", ".join("?" * len(copy.execute("SELECT * FROM pragma_table_info('answers')").fetchall()))
    for rows, lost in _rows(damaged, numbers):
        copy.executemany(f"INSERT OR IGNORE INTO answers VALUES ({places})", rows)  # noqa: S608
        n_lost += lost
    copy.execute(f"DELETE FROM answers WHERE {_UNSOUND}")  # noqa: S608
    # Future runs need higher numbers than those whose failures are stored, or these would not be asked again.
    copy.execute("INSERT INTO sqlite_sequence SELECT 'runs', max(run) FROM answers")
    copy.execute("COMMIT")
    ((n_read,),) = copy.execute("SELECT count(*) FROM answers")
    return copy, n_read, len(numbers) - n_read if sure else n_lost, sure, knows_question


def _is_damage(error: sqlite3.Error) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    return code in _DAMAGED or "decode" in str(error)  # the latter is Python's, for bytes that are not text


@contextlib.contextmanager
def _past_damage() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        if not _is_damage(error):
            raise


def _numbers(damaged: sqlite3.Connection) -> tuple[Sequence[int], bool]:
    """Return the numbers of all rows, and whether each is known to be one.

    They are in the table and in the index of keys. If both are damaged, there is at most a row for every number up to
    the highest that can be found from either end.
    """
    known: set[int] = set()
    sure = False
    for source in ("FROM answers ORDER BY key", "FROM answers NOT INDEXED ORDER BY rowid"):
        for direction in ("ASC", "DESC"):
            with _past_damage():
                known.update(number for (number,) in damaged.execute(f"SELECT rowid {source} {direction}"))
                sure = True
    return sorted(known) if sure else range(1, max(known, default=0) + 1), sure


def _rows(damaged: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[tuple[list[tuple[object, ...]], int]]:
    """Yield rows, some at a time, and how many of them could not be read."""
    left = iter(numbers)
    while few := list(islice(left, _FEW)):
        with _past_damage():
            between = "SELECT * FROM answers NOT INDEXED WHERE rowid BETWEEN ? AND ?"
            yield damaged.execute(between, (few[0], few[-1])).fetchall(), 0
            continue
        rows, lost = [], 0
        for number in few:
            lost += 1
            with _past_damage():
                rows += damaged.execute("SELECT * FROM answers NOT INDEXED WHERE rowid = ?", (number,)).fetchall()
                lost -= 1
        yield rows, lost


# Stored ---------------------------------------------------------------------------------------------------------------
#
# An answer from the store, alone or as a row of a frame, and a new reading of it.


REFUSED_COLUMNS: dict[str, Any] = {
    "model": pl.String, "prompt": pl.String, "item": pl.String, "sample": pl.Int64, "rule": pl.String,
    "text": pl.String,
}  # fmt: skip
COLUMNS: dict[str, Any] = {
    "model": pl.String, "prompt": pl.String, "item": pl.String, "sample": pl.Int64, "state": pl.String,
    "answer": pl.String, "point": pl.Int64, "rule": pl.String, "text": pl.String, "read": pl.String,
    "distribution": pl.List(pl.Float64), "held": pl.Float64, "finish": pl.String, "version": pl.String,
    "prompt_tokens": pl.Int64, "completion_tokens": pl.Int64, "server": pl.String, "mode": pl.String,
    "params": pl.String, "order": pl.List(pl.Int64), "error": pl.String, "asked_at": pl.String, "messages": pl.String,
}  # fmt: skip
"""The columns of a frame of answers; the last only if requested."""
_ANSWER, _POINT, _TEXT, _READ, _SHARES, _ORDER = (
    list(COLUMNS).index(name) for name in ("answer", "point", "text", "read", "distribution", "order")
)


class Stored(NamedTuple):
    """An answer that is stored."""

    key: str
    model: str
    prompt: str
    item: str
    sample: int
    order: tuple[int, ...]  # the options as they were shown, as positions on the scale
    text: str  # what came back; empty if nothing did
    refusal: str
    reading: Reading  # how it was read; the point is a position on the scale
    came: tuple[str, int]  # when it was asked, and by which run

    @classmethod
    def from_row(cls, row: tuple[Any, ...]) -> Self:
        """Return the answer in a row of ``each`` in :data:`SQL`."""
        key, model, prompt, item, sample, order, text, refusal, state, point, rule, start, end, *came = row
        span = None if start is None or end is None else (start, end)
        reading = Reading(state, point, rule, span)
        shown = tuple(json.loads(order))
        return cls(key, model, prompt, item, sample, shown, text, refusal, reading, (came[0], came[1]))

    def read_as(self, reading: Reading) -> Change:
        """Return the change to another reading, to be stored if the answer is still as it was."""
        return (*_columns(reading), self.key, *_columns(self.reading), *self.came)


Change = tuple[Any, ...]
"""The values for ``change`` in :data:`SQL`."""


def label_of(point: int | None, labels: Sequence[object]) -> str | None:
    """Return the label of a point, None if there is none."""
    return str(labels[point]) if point is not None and 0 <= point < len(labels) else None


def in_frame(row: tuple[Any, ...], labels: Sequence[str]) -> list[Any]:
    """Return a row of the frame: lists read from JSON, the label of the point, and the piece of text that was read."""
    *values, start, end = row
    for at in (_SHARES, _ORDER):
        values[at] = None if row[at] is None else json.loads(row[at])
    values[_READ] = None if start is None or row[_TEXT] is None else row[_TEXT][start:end]
    values[_ANSWER] = label_of(row[_POINT], labels)
    return values


def _columns(reading: Reading) -> tuple[Any, ...]:
    return (reading.state, reading.point, reading.rule, *(reading.span or (None, None)))
