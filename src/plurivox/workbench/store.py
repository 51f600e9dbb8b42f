"""Studies on disk: what is known about them in SQLite, their files in a folder each, all named by us.

Only the server writes here, and one server at a time. A file is whole or absent; a row refers to a file only once it
exists. So whenever the server ends, the next one finds studies as they were, and unfinished runs are marked as
interrupted. The name of a file or folder is noted before it is made: only what was noted is ever removed. Each study's
folder also holds a manifest, by which the study can be taken in if the list of studies is lost.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple
from typing import Any

from plurivox.base.errors import FileError, InputError, SelectionError
from plurivox.base.files import replacing, write_text
from plurivox.workbench import salvaging
from plurivox.workbench.base import Folders
from plurivox.workbench.records import (
    KINDS,
    PLACES,
    RUNNING,
    STUDIES,
    WAITING,
    ChangedError,
    StoredFile,
    StoredRun,
    StudyRecord,
    free_place,
    remove_written,
    role_in,
    within,
)
from plurivox.workbench.salvaging import MANIFEST, text_of

_TRIGGER = """
create temp trigger stale_{table}_{event} after {event} on main.{table}
begin insert or ignore into stale values ({row}.{column}); end;
"""
_STALE = "create temp table stale (study text primary key);" + "".join(
    _TRIGGER.format(table=table, event=event, row="old" if event == "delete" else "new", column=column)
    for table, column in (("studies", "id"), *((one, "study") for one in ("files", "notes", "watches", "looks")))
    for event in ("insert", "update", "delete")
)
"""Notes which studies have changed since their manifests were written, whoever changes them."""


class StudyStore(Folders):
    """A folder of studies."""

    def __init__(self, folder: str | os.PathLike[str], adopt: bool = False) -> None:
        super().__init__(folder)
        self._late: dict[str, dict[str, Any]] = {}
        try:
            try:
                (self.folder / STUDIES).mkdir(exist_ok=True)
            except OSError as error:
                raise self._unwritable(error.strerror) from None
            self._base.executescript(_STALE)
            adopting_all = self.sweep() or self.salvaged or adopt
            if adopting_all:
                self.remarks += salvaging.adopt(self) or (["there was no study to take in"] if adopt else [])
            self.remarks += salvaging.remarks_on(self, adopting_all)
            with self.changing() as base:
                base.execute("insert or ignore into stale select id from studies")
        except BaseException:
            self.close()
            raise

    @contextlib.contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Change several rows, all or none; within another change, with that one. Then renew the manifests."""
        with self._guard:
            with super().changing() as base:
                yield base
            if not base.in_transaction:
                self._write_manifests(base)

    def _write_manifests(self, base: sqlite3.Connection) -> None:
        """Write what each changed study's folder says about it; what fails is tried at the next change or start."""
        for (study,) in base.execute("select study from stale").fetchall():
            known = base.execute("select * from studies where id = ?", (study,)).fetchone()
            path = self.home(study) / MANIFEST
            if known is not None and within(self.folder, path) and not path.is_symlink():
                watch = next(map(dict, self.rows("select * from watches where study = ?", study)), {})
                looks = {row["data"]: row["at"] for row in self.rows("select * from looks where study = ?", study)}
                text = text_of(self._record(known), self.notes(study), watch, looks)
                try:
                    if not path.is_file() or path.read_bytes() != text.encode("utf-8", "replace"):
                        write_text(path, text)
                except (FileError, OSError):
                    continue
            base.execute("delete from stale where study = ?", (study,))

    # Studies ----------------------------------------------------------------------------------------------------------

    def studies(self) -> list[StudyRecord]:
        """Return all studies, the one changed last first."""
        with self._guard:
            return [self._record(row) for row in self.rows("select * from studies order by changed desc, id")]

    def study(self, name: str) -> StudyRecord:
        """Return a study by its id, or raise if there is none."""
        with self._guard:
            for row in self.rows("select * from studies where id = ?", name):
                return self._record(row)
        raise SelectionError("there is no such study", hint="It may have been deleted; go to the list of studies.")

    def _record(self, row: sqlite3.Row) -> StudyRecord:
        rows = self.rows("select * from files where study = ?", row["id"])
        files = {one["role"]: StoredFile(*(one[name] for name in StoredFile.__slots__)) for one in rows}
        files = {place: files[place] for place in PLACES if place in files}
        known = {name: row[name] for name in ("id", "name", "created", "changed", "revision")}
        return StudyRecord(**known, reading=json.loads(row["reading"]), asked=json.loads(row["asked"]), files=files)

    def add_study(
        self, name: str, reading: Mapping[str, Any] | None = None, asked: Mapping[str, Any] | None = None
    ) -> str:
        """Make a study without files, and return its id."""
        with self.beginning(name, reading, asked) as found:
            pass
        return found.id

    @contextlib.contextmanager
    def beginning(
        self, name: str, reading: Mapping[str, Any] | None = None, asked: Mapping[str, Any] | None = None
    ) -> Iterator[Beginning]:
        """Make a study: in the end it exists with all its files, or not at all."""
        found = Beginning(self, secrets.token_hex(6))
        self.note(found.id)
        try:
            self.home(found.id).mkdir(parents=True)
            self.inputs(found.id).mkdir()
            self.made(found.id).mkdir()
            yield found
            now = time.time()
            with self.changing() as base:
                row = (found.id, name, now, now, json.dumps(reading or {}), json.dumps(asked or {}), 0)
                base.execute("insert into studies values (?, ?, ?, ?, ?, ?, ?)", row)
                for file in found.files:
                    self.put_in(base, found.id, file)
        except BaseException:
            self.remove_home(found.id)
            raise

    def change_study(self, study: str, revision: int | None = None, **changes: Any) -> int:
        """Change the name, how files are read or the settings; return its new revision.

        Raises
        ------
        ChangedError
            If the study is not at the revision that the change was made for, because another tab was quicker.
        """
        known: dict[str, Callable[[Any], str]] = {"name": str, "reading": json.dumps, "asked": json.dumps}
        with self.changing() as base:
            now = self.study(study).revision
            if revision is not None and revision != now:
                hint = "Look at it again and repeat the change."
                raise ChangedError("this study was changed in another tab in the meantime", hint=hint)
            for column, value in changes.items():
                base.execute(f"update studies set {column} = ? where id = ?", (known[column](value), study))  # noqa: S608
            base.execute("update studies set revision = ?, changed = ? where id = ?", (now + 1, time.time(), study))
            return now + 1

    def delete_study(self, name: str) -> None:
        """Delete a study and its files."""
        self.study(name)
        with self._guard:
            remove_written(self.folder, self.home(name) / MANIFEST)  # first, since it says that the study is there
            with self.changing() as base:
                base.execute("delete from studies where id = ?", (name,))
        self.remove_home(name)

    # Files ------------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def adding(self, study: str, role: str, shown: str) -> Iterator[Upload]:
        """Receive a file piece by piece; in the end it replaces the previous one as a whole, or not at all.

        ``role`` is what it is, or its place among several. A file of this machine in this place is no longer watched.
        """
        files = self.study(study).files
        if role not in PLACES:
            raise SelectionError(f"a study has no file {role!r}", hint=f"It has: {', '.join(PLACES)}.")
        following = free_place(role_in(role), files)
        if role not in files and role != following:
            raise InputError(f"there is no file before {role!r}", hint=f"Add it as {following!r}.")
        with self.receiving(study, role, shown) as upload:
            yield upload
        self.link(study, upload.stored)

    def link(self, study: str, file: StoredFile) -> None:
        """Note a file in its place: one that was received, or what stays elsewhere, as the folder of a packed study."""
        before = self.study(study).files.get(file.role)
        with self.changing() as base:
            self.put_in(base, study, file)
            known = (study, file.role)
            old = base.execute("select stored from arrived where study = ? and role = ?", known).fetchall()
            for table in ("sources", "arrived"):
                base.execute(f"delete from {table} where study = ? and role = ?", known)  # noqa: S608
        for stored in [*(row["stored"] for row in old), *([before.stored] if before else [])]:
            self.discard(study, stored)

    @contextlib.contextmanager
    def receiving(self, study: str, role: str, shown: str) -> Iterator[Upload]:
        """Receive a file, whole or not at all, that no row refers to yet; the next start removes it if none does."""
        shown = os.path.basename(shown.replace("\\", "/")).strip() or role
        kind = next((one for one in sorted(KINDS, key=len, reverse=True) if shown.lower().endswith(one)), "")
        stored = f"{role}-{secrets.token_hex(4)}{kind}"  # a new name, so that a row never refers to other content
        self.note(study, stored)
        try:
            with replacing(self.inputs(study) / stored) as temporary, temporary.open("r+b") as file:
                upload = Upload(file, role, shown[:200], stored)
                yield upload
                file.flush()
        except BaseException:
            self.discard(study, stored)
            raise

    def put_in(self, base: sqlite3.Connection, study: str, file: StoredFile) -> None:
        """Note within a change that a file belongs to the study, replacing the previous one."""
        base.execute("insert or replace into files values (?, ?, ?, ?, ?, ?)", (study, *astuple(file)))
        self.change_in(base, study)

    def change_in(self, base: sqlite3.Connection, study: str) -> None:
        """Note within a change that the study has changed."""
        base.execute("update studies set revision = revision + 1, changed = ? where id = ?", (time.time(), study))

    def remove_file(self, study: str, role: str) -> None:
        """Remove a file of a study."""
        known = self.study(study).files.get(role)
        if known is None:
            raise SelectionError(f"the study has no file {role!r}", hint="It may have been removed already.")
        later = [place for place in PLACES[PLACES.index(role) + 1 :] if role_in(place) == role_in(role)]
        with self.changing() as base:
            for table in ("files", "sources", "arrived"):
                base.execute(f"delete from {table} where study = ? and role = ?", (study, role))  # noqa: S608
                for place, before in zip(later, (role, *later), strict=False):  # the others move up
                    moved = (before, study, place)
                    base.execute(f"update {table} set role = ? where study = ? and role = ?", moved)  # noqa: S608
            self.change_in(base, study)
        self.discard(study, known.stored)

    # Runs -------------------------------------------------------------------------------------------------------------

    def add_run(self, study: str, kind: str, key: str, asked: Mapping[str, Any], state: str = WAITING) -> StoredRun:
        """Note that something is to be computed."""
        found = secrets.token_hex(8)
        with self.changing() as base:
            row = (found, study, kind, key, json.dumps(asked), state, time.time(), None, None)
            base.execute("insert into runs values (?, ?, ?, ?, ?, ?, ?, ?, ?)", row)
        return self.run(found)

    def end_run(self, name: str, state: str, problem: Mapping[str, Any] | None = None) -> None:
        """Note a run's progress, or how it ended; nothing is noted for a study deleted in the meantime.

        What does not fit on a full disk is remembered until it does, or until the server ends.
        """
        told = None if problem is None else json.dumps(problem)
        ended = None if state in (WAITING, RUNNING) else time.time()
        self._late[name] = {"state": state, "ended": ended, "problem": told}
        with self._guard, contextlib.suppress(FileError):
            with self.changing() as base:
                for late, known in self._late.items():
                    row = (*known.values(), late)
                    base.execute("update runs set state = ?, ended = ?, problem = ? where id = ?", row)
            self._late.clear()

    def drop_run(self, name: str) -> None:
        """Forget a run."""
        with self.changing() as base:
            base.execute("delete from runs where id = ?", (name,))

    def drop_runs(self, study: str, key: str) -> None:
        """Forget the runs whose results are, or were, kept under a key."""
        with self.changing() as base:
            base.execute("delete from runs where study = ? and key = ?", (study, key))

    def run(self, name: str) -> StoredRun:
        """Return a run by its id."""
        for row in self.rows("select * from runs where id = ?", name):
            return self._run(row)
        raise SelectionError("there is no such run", hint="Its study may have been deleted.")

    def runs(self, study: str, kind: str | None = None, most: int = 50) -> list[StoredRun]:
        """Return the runs of a study, the last first."""
        line = (
            "select * from runs where study = ? and (? is null or kind = ?) order by created desc, rowid desc limit ?"
        )
        return [self._run(row) for row in self.rows(line, study, kind, kind, most)]

    def _run(self, row: sqlite3.Row) -> StoredRun:
        known = {name: row[name] for name in row.keys()} | self._late.get(row["id"], {})  # noqa: SIM118
        problem = None if known["problem"] is None else json.loads(known["problem"])
        return StoredRun(**{**known, "asked": json.loads(known["asked"]), "problem": problem})

    # Notes ------------------------------------------------------------------------------------------------------------

    def notes(self, study: str) -> dict[str, str]:
        """Return the notes on results, by place."""
        rows = self.rows("select place, text from notes where study = ? order by place", study)
        return {row["place"]: row["text"] for row in rows}

    def write_note(self, study: str, place: str, text: str) -> None:
        """Save a note on a result; an empty one removes it."""
        with self.changing() as base:
            if text.strip():
                row = (study, place, text.strip(), time.time())
                base.execute("insert or replace into notes values (?, ?, ?, ?)", row)
            else:
                base.execute("delete from notes where study = ? and place = ?", (study, place))


class Beginning:
    """A study that is being made: its id, and the files that it has so far."""

    def __init__(self, store: StudyStore, name: str) -> None:
        self._store, self.id = store, name
        self.files: list[StoredFile] = []

    @contextlib.contextmanager
    def adding(self, place: str, shown: str) -> Iterator[Upload]:
        """Receive a file piece by piece."""
        with self._store.receiving(self.id, place, shown) as upload:
            yield upload
        self.files.append(upload.stored)


class Upload:
    """A file that is being received."""

    def __init__(self, file: Any, role: str, shown: str, stored: str) -> None:
        self._file = file
        self._names = (role, shown, stored)
        self.digest = hashlib.sha256()
        self.size = 0

    @property
    def stored(self) -> StoredFile:
        """What is known about the file, once it is complete."""
        return StoredFile(*self._names, self.size, self.digest.hexdigest())

    def write(self, piece: bytes) -> None:
        """Add a piece."""
        self._file.write(piece)
        self.digest.update(piece)
        self.size += len(piece)
