"""The file of answers as SQLite sees it: making one, connecting to it, and errors in plain words."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

from plurivox.base.errors import FileError, PlurivoxError
from plurivox.base.files import note_input
from plurivox.read.opening import ANSWERS

VERSION = 1
"""The version of the tables."""
SMALLEST = 511
"""A file this small is not a database, though SQLite accepts it as an empty one."""
WAIT = 30.0
"""How many seconds to wait for another process that writes."""

SCHEMA = f"""
BEGIN;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,  -- a number is never given again, so that "earlier" keeps its meaning
    host TEXT, pid INTEGER, started_ticks INTEGER, heartbeat REAL
);
CREATE TABLE answers (
    key TEXT PRIMARY KEY, server TEXT, model TEXT, prompt TEXT, item TEXT, sample INTEGER, order_json TEXT,
    messages_json TEXT, mode TEXT, params_json TEXT, state TEXT, text TEXT, refusal TEXT, point INTEGER, rule TEXT,
    span_start INTEGER, span_end INTEGER, distribution_json TEXT, held REAL, finish TEXT, version TEXT,
    prompt_tokens INTEGER, completion_tokens INTEGER, attempts INTEGER, seconds REAL, error TEXT, asked_at TEXT,
    run INTEGER
);
PRAGMA application_id = {ANSWERS};
PRAGMA user_version = {VERSION};
COMMIT;
"""


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
