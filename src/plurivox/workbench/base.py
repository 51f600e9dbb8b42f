"""The folder of studies: one server at a time, one SQLite file, and names that are noted before files are made."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import IO, Any

from plurivox.base.errors import FileError, SelectionError
from plurivox.workbench.records import (
    ANOTHER,
    DATABASE,
    INTERRUPTED,
    LOCK,
    MARKED,
    RUNNING,
    SIDES,
    STUDIES,
    UNMARKED,
    WAITING,
    kind_of,
    mark,
    names_in,
    newer,
    remove_empty,
    remove_made,
    remove_written,
    within,
)
from plurivox.workbench.salvaging import MANIFEST, Examined, examine, names_file, renew

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

_VERSION = 2
_TABLES = (resources.files("plurivox.workbench") / "assets" / "tables.sql").read_text(encoding="utf-8")
_SCHEMAS = {1: _TABLES.partition("-- Version 2")[0], 2: _TABLES}
_ROOM = "Free some space there, or name another folder with --folder."


class Folders:
    """A folder that is ours alone, what is known about it, and a folder in it for each study.

    The name of each folder and file is noted before it is made, and only those are removed.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.remarks: list[str] = []
        """What whoever starts should know."""
        self._lock: IO[bytes] | None = None
        self._base: Any = None
        self._guard = threading.RLock()
        kind = kind_of(self.folder)
        try:
            self._begin(kind)
        except BaseException:
            self.close()
            raise

    def _begin(self, kind: str) -> None:
        """Take the folder, and examine what is there before anything is written."""
        if kind != UNMARKED:
            self._take()
        elif (self.folder / LOCK).exists():  # otherwise no server has ever used it
            self._take(make=False)
        found = self._examined(kind)
        try:
            if kind != MARKED:
                mark(self.folder)
            if self._lock is None:
                self._take()
            self.salvaged = found.problem is not None
            if self.salvaged:
                aside = renew(self.folder, found, _SCHEMAS[_VERSION], _VERSION)
                told = f"{DATABASE} was damaged ({found.problem}); what can be read in it was copied to a new one"
                self.remarks.append(f"{told}, and the damaged one is in {aside}")
            self._open()
        except OSError as error:
            raise self._unwritable(error.strerror) from None
        except sqlite3.DatabaseError as error:  # a full disk, or one that cannot be written
            raise self._unwritable(error) from None

    def _take(self, make: bool = True) -> None:
        """Hold the folder, so that no other server uses it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            flags = os.O_RDWR | (os.O_CREAT if make else 0) | getattr(os, "O_NOFOLLOW", 0)
            self._lock = os.fdopen(os.open(self.folder / LOCK, flags, 0o666), "r+b")
        except OSError as error:
            hint = "Name another with --folder."
            raise FileError(f"it cannot be used ({error.strerror})", source=str(self.folder), hint=hint) from None
        if fcntl is not None:
            try:
                fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                hint = "Use that one, or name another folder with --folder."
                raise FileError("another plurivox serve is using it", source=str(self.folder), hint=hint) from None

    def _examined(self, kind: str) -> Examined:
        """Return what is in the SQLite file, or raise if it must be left alone."""
        path = self.folder / DATABASE
        if not path.exists():  # what may be beside it belongs to one that is lost
            beside = any((self.folder / (DATABASE + side)).exists() for side in SIDES)
            return Examined(problem="it is missing" if beside else None)
        found = examine(self.folder, _SCHEMAS)
        if found.version > _VERSION and (found.ours or kind == MARKED):
            raise newer(path)
        if kind == UNMARKED and not found.ours:
            told = found.problem or "it has other tables"
            hint = f"If it was one, the files of its studies are in {STUDIES}. {ANOTHER}"
            raise FileError(f"it is not the list of studies of a workbench ({told})", source=str(path), hint=hint)
        if not (found.version or found.problem) and names_in(self.folder / STUDIES):
            found.problem = "it is empty"
        return found

    def _open(self) -> None:
        """Open what is known about studies, and note what an interrupted server did not finish."""
        self._base = sqlite3.connect(self.folder / DATABASE, check_same_thread=False, isolation_level=None)
        self._base.row_factory = sqlite3.Row
        self._base.execute("pragma journal_mode = wal")
        self._base.execute("pragma synchronous = full")
        self._base.execute("pragma foreign_keys = on")
        self._base.execute("pragma temp_store = memory")
        if self._base.execute("pragma user_version").fetchone()[0] < _VERSION:  # a full disk is not written to in vain
            self._base.executescript(f"begin; {_SCHEMAS[_VERSION]} pragma user_version = {_VERSION}; commit;")
        going = (INTERRUPTED, time.time(), WAITING, RUNNING)
        self._base.execute("update runs set state = ?, ended = ? where state in (?, ?)", going)

    def _unwritable(self, reason: object, hint: str = _ROOM) -> FileError:
        return FileError(f"it cannot be written ({reason})", source=str(self.folder), hint=hint)

    def close(self) -> None:
        """Release the folder."""
        with self._guard:
            for one in (self._base, self._lock):
                if one is not None:
                    one.close()

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
            except BaseException as error:
                with contextlib.suppress(sqlite3.OperationalError):
                    self._base.execute("rollback")
                if isinstance(error, sqlite3.OperationalError):
                    raise self._unwritable(error, "Free some space and try again; nothing was changed.") from None
                raise

    def rows(self, question: str, *given: Any) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        with self._guard:
            found: list[sqlite3.Row] = self._base.execute(question, given).fetchall()
            return found

    # Folders of studies -----------------------------------------------------------------------------------------------

    def home(self, study: str) -> Path:
        """Return the folder of a study, whose name is one of ours."""
        if not study.isalnum():
            raise SelectionError("there is no such study", hint="Go to the list of studies.")
        return self.folder / STUDIES / study

    def inputs(self, study: str) -> Path:
        """Return the folder of the files that a study was made of."""
        return self.home(study) / "inputs"

    def made(self, study: str) -> Path:
        """Return the folder of computed output."""
        return self.home(study) / "made"

    def note(self, study: str, stored: str = "") -> None:
        """Note a name before a file of a study, or its folder, is made under it."""
        with self.changing() as base:
            base.execute("insert into ours values (?, ?)", (study, stored))

    def remove_home(self, study: str) -> None:
        """Remove what was made for a study; what somebody else put there stays, and so does its folder then."""
        if not within(self.folder, self.inputs(study)):
            return  # its folder was moved elsewhere, and a link put in its place
        for row in self.rows("select stored from ours where study = ? and stored != ''", study):
            self.discard(study, row["stored"])
        remove_made(self.folder, self.made(study))
        remove_written(self.folder, self.home(study) / MANIFEST)
        remove_empty(self.folder, (self.inputs(study), self.home(study)))
        if not self.rows("select 1 from ours where study = ? and stored != ''", study):
            self._forget("delete from ours where study = ?", study)

    def _forget(self, line: str, *given: str) -> None:
        # If the disk is full, the next start finds that there is nothing to remove.
        with contextlib.suppress(FileError), self.changing() as base:
            base.execute(line, given)

    def discard(self, study: str, stored: str) -> None:
        """Remove a file of ours that no row refers to any more; what is kept elsewhere is never touched."""
        if stored and self.rows("select 1 from ours where study = ? and stored = ?", study, stored):
            path = self.inputs(study) / stored
            remove_written(self.folder, path)
            if not os.path.lexists(path):  # otherwise the next start tries again
                self._forget("delete from ours where study = ? and stored = ?", study, stored)

    def sweep(self) -> bool:
        """Remove what was made and no row refers to, of interrupted uploads or deletions; return whether rows are lost.

        A deletion begins with what a study's folder says. So if it says that the study is there, or has a file, and
        the list of studies is not newer, then the list has lost a row, and what belongs to it is not ours to remove.
        """
        for row in self.rows("select distinct study from ours where study not in (select id from studies)"):
            if not os.path.lexists(self.home(row["study"]) / MANIFEST):
                self.remove_home(row["study"])
        every = (
            "select study, stored, revision from ours join studies on id = study where stored != '' and (study, stored)"
            " not in (select study, stored from files union select study, stored from arrived)"
        )
        lost = False
        for study, stored, revision in self.rows(every):
            if names_file(self.home(study) / MANIFEST, stored, revision):
                lost = True
                self._forget("delete from ours where study = ? and stored = ?", study, stored)
            else:
                self.discard(study, stored)
        return lost
