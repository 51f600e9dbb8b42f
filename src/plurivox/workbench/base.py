"""The folder of studies: one server at a time, and one SQLite file that is changed as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plurivox.errors import FileError
from plurivox.workbench.records import INTERRUPTED, RUNNING, WAITING

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_VERSION = 1
_TABLES = """
create table if not exists studies (
    id text primary key, name text not null, created real not null, changed real not null,
    reading text not null, asked text not null, revision integer not null
);
create table if not exists files (
    study text not null references studies on delete cascade, role text not null, shown text not null,
    stored text not null, size integer not null, sha256 text not null, primary key (study, role)
);
create table if not exists runs (
    id text primary key, study text not null references studies on delete cascade, kind text not null,
    key text not null, asked text not null, state text not null, created real not null, ended real, problem text
);
create table if not exists notes (
    study text not null references studies on delete cascade, place text not null, text text not null,
    changed real not null, primary key (study, place)
);
create table if not exists watches (
    study text primary key references studies on delete cascade, going integer not null, planned integer not null,
    expected integer
);
create table if not exists sources (
    study text not null references studies on delete cascade, role text not null, path text not null,
    mark text not null, primary key (study, role)
);
create table if not exists arrived (
    study text not null references studies on delete cascade, role text not null, shown text not null,
    stored text not null, size integer not null, sha256 text not null, primary key (study, role)
);
create table if not exists arrivals (
    study text not null references studies on delete cascade, at real not null, told text not null
);
create table if not exists looks (
    study text not null references studies on delete cascade, data text not null, at real not null,
    primary key (study, data)
);
create index if not exists runs_of_study on runs (study, created);
"""


class Base:
    """A folder that is ours alone, and what is known about it."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._lock = (self.folder / "lock").open("ab")
        except OSError as error:
            hint = "Name another with --folder."
            raise FileError(f"it cannot be used ({error.strerror})", source=str(self.folder), hint=hint) from None
        if fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                self._lock.close()
                hint = "Use that one, or name another folder with --folder."
                raise FileError("another plurivox serve is using it", source=str(self.folder), hint=hint) from None
        self._guard = threading.RLock()
        try:
            self._open()
        except sqlite3.OperationalError as error:  # a full disk, or one that cannot be written
            self.close()
            hint = "Free some space there, or name another folder with --folder."
            raise FileError(f"it cannot be written ({error})", source=str(self.folder), hint=hint) from None
        except sqlite3.DatabaseError as error:
            self.close()
            hint = "Move it away; the files of studies are next to it."
            source = str(self.folder / "workbench.sqlite3")
            raise FileError(f"it is damaged ({error})", source=source, hint=hint) from None

    def _open(self) -> None:
        """Open what is known about studies, and clean up what an interrupted server left behind."""
        self._base = sqlite3.connect(self.folder / "workbench.sqlite3", check_same_thread=False, isolation_level=None)
        self._base.row_factory = sqlite3.Row
        self._base.execute("pragma journal_mode = wal")
        self._base.execute("pragma synchronous = full")
        self._base.execute("pragma foreign_keys = on")
        version = self._base.execute("pragma user_version").fetchone()[0]
        if version > _VERSION:
            raise sqlite3.DatabaseError("it was written by a newer plurivox")
        if version < _VERSION:  # a full disk is not written to unnecessarily
            self._base.executescript(_TABLES)
            self._base.execute(f"pragma user_version = {_VERSION}")
        going = (INTERRUPTED, time.time(), WAITING, RUNNING)
        self._base.execute("update runs set state = ?, ended = ? where state in (?, ?)", going)

    def close(self) -> None:
        """Release the folder."""
        with self._guard:
            self._base.close()
            self._lock.close()

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Change several rows, all or none; within another change, with that one."""
        with self._guard:
            if self._base.in_transaction:
                yield self._base
                return
            try:
                self._base.execute("begin immediate")
                yield self._base
                self._base.execute("commit")
            except sqlite3.OperationalError as error:
                self._roll_back()
                hint = "Free some space and try again; nothing was changed."
                raise FileError(f"it cannot be written ({error})", source=str(self.folder), hint=hint) from None
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.OperationalError):
            self._base.execute("rollback")

    def rows(self, question: str, *given: Any) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        with self._guard:
            return self._base.execute(question, given).fetchall()
