"""Studies on disk: what is known of them in SQLite, their files in a folder each, all named by us.

Only the server writes here, and one server at a time. A file is whole or not there; a row tells of a file only once it
is there. So whatever ends the server at any moment, the next one finds studies as they were, and runs that did not come
to an end are said to be interrupted.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plurivox.errors import FileError, SelectionError
from plurivox.files import replacing

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ROLES = ("ratings", "raters", "items", "reference", "predictions", "answers")
"""What a file of a study can be."""
KINDS = (
    ".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".ipc", ".xlsx", ".xls",
    ".xlsb", ".ods", ".db", ".sqlite", ".sqlite3", ".duckdb", ".zip", ".gz", ".zst", ".csv.gz", ".tsv.gz", ".json.gz",
    ".jsonl.gz", ".csv.zst", ".tsv.zst", ".json.zst", ".jsonl.zst", ".eval", ".toml",
)  # fmt: skip
"""Ends of names that are kept, since readers go by them; others are left out."""
WAITING, RUNNING, DONE, FAILED, CANCELLED, INTERRUPTED = (
    "waiting", "running", "done", "failed", "cancelled", "interrupted",
)  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file of a study: what it is, what its owner calls it, what we call it."""

    role: str
    shown: str
    stored: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class StudyRecord:
    """A study: how its files are read, what is asked of it, and how often either was changed."""

    id: str
    name: str
    created: float
    changed: float
    reading: dict[str, Any]
    asked: dict[str, Any]
    revision: int
    files: dict[str, StoredFile]


@dataclass(frozen=True, slots=True)
class Run:
    """Something that was worked out, or is: what, under which key, and how it ended."""

    id: str
    study: str
    kind: str
    key: str
    asked: dict[str, Any]
    state: str
    created: float
    ended: float | None
    problem: dict[str, Any] | None

    @property
    def going(self) -> bool:
        """Whether it has not ended."""
        return self.state in (WAITING, RUNNING)


class ChangedError(SelectionError):
    """A study was changed meanwhile, from another tab."""


class Store:
    """A folder of studies."""

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
                raise FileError("another plurivox serve works in it", source=str(self.folder), hint=hint) from None
        self._guard = threading.RLock()
        try:
            self._open()
        except sqlite3.DatabaseError as error:
            self.close()
            hint = "Move it away; the files of studies lie beside it."
            source = str(self.folder / "workbench.sqlite3")
            raise FileError(f"it is damaged ({error})", source=source, hint=hint) from None

    def _open(self) -> None:
        """Open what is known of studies, and put in order what an end in the midst of something left behind."""
        self._base = sqlite3.connect(self.folder / "workbench.sqlite3", check_same_thread=False, isolation_level=None)
        self._base.row_factory = sqlite3.Row
        self._base.execute("pragma journal_mode = wal")
        self._base.execute("pragma synchronous = full")
        self._base.execute("pragma foreign_keys = on")
        version = self._base.execute("pragma user_version").fetchone()[0]
        if version > _VERSION:
            raise sqlite3.DatabaseError("it was written by a newer plurivox")
        self._base.executescript(_TABLES)
        self._base.execute(f"pragma user_version = {_VERSION}")
        going = (INTERRUPTED, time.time(), WAITING, RUNNING)
        self._base.execute("update runs set state = ?, ended = ? where state in (?, ?)", going)
        self._sweep()

    def close(self) -> None:
        """Let go of the folder."""
        with self._guard:
            self._base.close()
            self._lock.close()

    def _sweep(self) -> None:
        """Remove what no row tells of: of uploads, studies and runs that were cut off, or deleted half."""
        known = {row["id"] for row in self._base.execute("select id from studies")}
        home = self.folder / "studies"
        home.mkdir(exist_ok=True)
        for entry in os.scandir(home):
            if entry.name not in known:
                shutil.rmtree(entry.path, ignore_errors=True)
                continue
            every = "select stored from files where study = ?1 union select stored from arrived where study = ?1"
            named = {row[0] for row in self._base.execute(every, (entry.name,))}
            for one in os.scandir(self.inputs(entry.name)):
                if one.name not in named:
                    _remove(Path(one.path))

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
                hint = "Free some space, and try again; nothing was changed."
                raise FileError(f"it cannot be written ({error})", source=str(self.folder), hint=hint) from None
            except BaseException:
                self._roll_back()
                raise

    def _roll_back(self) -> None:
        with contextlib.suppress(sqlite3.OperationalError):
            self._base.execute("rollback")

    # Studies ----------------------------------------------------------------------------------------------------------

    def studies(self) -> list[StudyRecord]:
        """Return all studies, the one changed last first."""
        with self._guard:
            rows = self._base.execute("select * from studies order by changed desc, id").fetchall()
            return [self._record(row) for row in rows]

    def study(self, name: str) -> StudyRecord:
        """Return a study by its id, or raise if there is none."""
        with self._guard:
            row = self._base.execute("select * from studies where id = ?", (name,)).fetchone()
            if row is None:
                raise SelectionError(
                    "there is no such study", hint="It may have been deleted; go to the list of studies."
                )
            return self._record(row)

    def _record(self, row: sqlite3.Row) -> StudyRecord:
        rows = self._base.execute("select * from files where study = ?", (row["id"],)).fetchall()
        files = {one["role"]: StoredFile(*(one[name] for name in StoredFile.__slots__)) for one in rows}
        files = {role: files[role] for role in ROLES if role in files}
        known = {name: row[name] for name in ("id", "name", "created", "changed", "revision")}
        return StudyRecord(**known, reading=json.loads(row["reading"]), asked=json.loads(row["asked"]), files=files)

    def add_study(
        self, name: str, reading: Mapping[str, Any] | None = None, asked: Mapping[str, Any] | None = None
    ) -> str:
        """Make a study without files, and return its id."""
        found = secrets.token_hex(6)
        self.inputs(found).mkdir(parents=True)
        self.made(found).mkdir()
        now = time.time()
        with self.changing() as base:
            row = (found, name, now, now, json.dumps(reading or {}), json.dumps(asked or {}), 0)
            base.execute("insert into studies values (?, ?, ?, ?, ?, ?, ?)", row)
        return found

    def change_study(self, study: str, revision: int | None = None, **changes: Any) -> int:
        """Change the name, how files are read or what is asked; return its new revision.

        Raises
        ------
        ChangedError
            If the study is not at the revision that the change was made for: another tab was quicker.
        """
        known: dict[str, Callable[[Any], str]] = {"name": str, "reading": json.dumps, "asked": json.dumps}
        with self.changing() as base:
            now = self.study(study).revision
            if revision is not None and revision != now:
                raise ChangedError(
                    "this study was changed in another tab meanwhile", hint="Look at it again, and repeat the change."
                )
            for column, value in changes.items():
                base.execute(f"update studies set {column} = ? where id = ?", (known[column](value), study))  # noqa: S608
            base.execute("update studies set revision = ?, changed = ? where id = ?", (now + 1, time.time(), study))
            return now + 1

    def delete_study(self, name: str) -> None:
        """Delete a study and its files."""
        self.study(name)
        with self.changing() as base:
            base.execute("delete from studies where id = ?", (name,))
        shutil.rmtree(self.home(name), ignore_errors=True)

    # Files ------------------------------------------------------------------------------------------------------------

    def home(self, study: str) -> Path:
        """Return the folder of a study, whose name is one of ours."""
        if not study.isalnum():
            raise SelectionError("there is no such study", hint="Go to the list of studies.")
        return self.folder / "studies" / study

    def inputs(self, study: str) -> Path:
        """Return the folder of the files that a study was made of."""
        return self.home(study) / "inputs"

    def made(self, study: str) -> Path:
        """Return the folder of what was worked out."""
        return self.home(study) / "made"

    @contextlib.contextmanager
    def adding(self, study: str, role: str, shown: str) -> Iterator[Upload]:
        """Take a file piece by piece; at the end it is there as a whole, in place of the one before, or not at all.

        Whatever file of this machine stood in this place is not watched any more.
        """
        before = self.study(study).files.get(role)
        with self.receiving(study, role, shown) as upload:
            yield upload
        with self.changing() as base:
            self.put_in(base, study, upload.stored)
            old = base.execute("select stored from arrived where study = ? and role = ?", (study, role)).fetchall()
            for table in ("sources", "arrived"):
                base.execute(f"delete from {table} where study = ? and role = ?", (study, role))  # noqa: S608
        for stored in [*(row["stored"] for row in old), *([before.stored] if before else [])]:
            self.discard(study, stored)

    @contextlib.contextmanager
    def receiving(self, study: str, role: str, shown: str) -> Iterator[Upload]:
        """Take a file, whole or not at all, of which no row tells yet; the next start removes it if none ever does."""
        if role not in ROLES:
            raise SelectionError(f"a study has no file {role!r}", hint=f"It has: {', '.join(ROLES)}.")
        shown = os.path.basename(shown.replace("\\", "/")).strip() or role
        kind = next((one for one in sorted(KINDS, key=len, reverse=True) if shown.lower().endswith(one)), "")
        stored = f"{role}-{secrets.token_hex(4)}{kind}"  # a new name, so that a row never tells of another content
        path = self.inputs(study) / stored
        with replacing(path) as temporary, temporary.open("r+b") as file:
            upload = Upload(file, role, shown[:200], stored)
            yield upload
            file.flush()

    def put_in(self, base: sqlite3.Connection, study: str, file: StoredFile) -> None:
        """Note in a change under way that a file is one of the study, in place of the one before."""
        row = (study, file.role, file.shown, file.stored, file.size, file.sha256)
        base.execute("insert or replace into files values (?, ?, ?, ?, ?, ?)", row)
        self.change_in(base, study)

    def discard(self, study: str, stored: str) -> None:
        """Remove a file of which no row tells any more."""
        _remove(self.inputs(study) / stored)

    def rows(self, question: str, *given: Any) -> list[sqlite3.Row]:
        """Return what the base answers."""
        with self._guard:
            return self._base.execute(question, given).fetchall()

    def change_in(self, base: sqlite3.Connection, study: str) -> None:
        """Note in a change under way that the study is another one from now on."""
        base.execute("update studies set revision = revision + 1, changed = ? where id = ?", (time.time(), study))

    def remove_file(self, study: str, role: str) -> None:
        """Remove a file of a study."""
        known = self.study(study).files.get(role)
        if known is None:
            raise SelectionError(f"the study has no file {role!r}", hint="It may have been removed before.")
        with self.changing() as base:
            for table in ("files", "sources", "arrived"):
                base.execute(f"delete from {table} where study = ? and role = ?", (study, role))  # noqa: S608
            self.change_in(base, study)
        _remove(self.inputs(study) / known.stored)

    # Runs -------------------------------------------------------------------------------------------------------------

    def add_run(self, study: str, kind: str, key: str, asked: Mapping[str, Any], state: str = WAITING) -> Run:
        """Note that something is to be worked out."""
        found = secrets.token_hex(8)
        with self.changing() as base:
            row = (found, study, kind, key, json.dumps(asked), state, time.time(), None, None)
            base.execute("insert into runs values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return self.run(found)

    def end_run(self, name: str, state: str, problem: Mapping[str, Any] | None = None) -> None:
        """Note how a run goes on, or how it ended; of a study that was deleted meanwhile nothing is noted."""
        told = None if problem is None else json.dumps(problem)
        ended = None if state in (WAITING, RUNNING) else time.time()
        with self.changing() as base:
            base.execute("update runs set state = ?, ended = ?, problem = ? where id = ?", (state, ended, told, name))

    def drop_run(self, name: str) -> None:
        """Forget a run."""
        with self.changing() as base:
            base.execute("delete from runs where id = ?", (name,))

    def run(self, name: str) -> Run:
        """Return a run by its id."""
        with self._guard:
            row = self._base.execute("select * from runs where id = ?", (name,)).fetchone()
        if row is None:
            raise SelectionError("there is no such run", hint="Its study may have been deleted.")
        return _run(row)

    def runs(self, study: str, kind: str | None = None, most: int = 50) -> list[Run]:
        """Return the runs of a study, the last first."""
        with self._guard:
            rows = self._base.execute(
                "select * from runs where study = ? and (? is null or kind = ?)"
                " order by created desc, rowid desc limit ?",
                (study, kind, kind, most),
            ).fetchall()
        return [_run(row) for row in rows]

    # Notes ------------------------------------------------------------------------------------------------------------

    def notes(self, study: str) -> dict[str, str]:
        """Return what was written beside results, by the place."""
        with self._guard:
            rows = self._base.execute(
                "select place, text from notes where study = ? order by place", (study,)
            ).fetchall()
        return {row["place"]: row["text"] for row in rows}

    def write_note(self, study: str, place: str, text: str) -> None:
        """Keep what was written beside a result; nothing removes it."""
        with self.changing() as base:
            if text.strip():
                row = (study, place, text.strip(), time.time())
                base.execute("insert or replace into notes values (?, ?, ?, ?)", row)
            else:
                base.execute("delete from notes where study = ? and place = ?", (study, place))


class Upload:
    """A file that is coming in."""

    def __init__(self, file: Any, role: str, shown: str, stored: str) -> None:
        self._file = file
        self._names = (role, shown, stored)
        self.digest = hashlib.sha256()
        self.size = 0

    @property
    def stored(self) -> StoredFile:
        """What is known of the file, once it is there."""
        return StoredFile(*self._names, self.size, self.digest.hexdigest())

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        self._file.write(piece)
        self.digest.update(piece)
        self.size += len(piece)


def _run(row: sqlite3.Row) -> Run:
    known = {name: row[name] for name in ("id", "study", "kind", "key", "state", "created", "ended")}
    problem = None if row["problem"] is None else json.loads(row["problem"])
    return Run(**known, asked=json.loads(row["asked"]), problem=problem)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink(missing_ok=True)
