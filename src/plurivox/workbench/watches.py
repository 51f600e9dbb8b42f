"""What is kept of a study whose files grow: where they are, what was read last, and how often tests were looked at.

Only files that were named on the command line are watched; nothing that a browser sends becomes one of them. New
ratings are kept separately until somebody runs the analyses: until then every page, and every test, shows the ratings
of the last look.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import stat
import sys
import time
import traceback
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from plurivox.base.errors import FileError, InputError, PlurivoxError
from plurivox.report.settings import MOST_LOOKS
from plurivox.workbench.jobs import ENDED, Jobs, Listener, Listeners
from plurivox.workbench.making import digest_of, problem_in_words, problem_of
from plurivox.workbench.records import CANCELLED, DONE, INTERRUPTED, StoredFile, StudyRecord, remove_folder
from plurivox.workbench.store import StudyStore

PLANNED = 5
"""The default number of planned looks."""
MOST_EXPECTED = 1_000_000_000
KEPT = 200
"""Arrivals that are kept."""


@dataclass(frozen=True, slots=True)
class Watch:
    """How a study is watched: whether now, how many looks were planned, how many ratings are expected.

    ``sources`` holds the paths of its files by role, ``marks`` the marks of the versions read last, and ``looks`` when
    the tests of new data were looked at.
    """

    study: str
    going: bool
    planned: int
    expected: int | None
    counted: bool
    sources: dict[str, str]
    marks: dict[str, str]
    looks: tuple[float, ...]

    @property
    def spent(self) -> bool:
        """Whether all planned looks have been made."""
        return len(self.looks) >= self.planned


def data_of(files: Mapping[str, StoredFile]) -> str:
    """Return the fingerprint of the content of files."""
    return digest_of({role: one.sha256 for role, one in files.items()})


class Watches:
    """What a store knows about files that grow."""

    def __init__(self, store: StudyStore) -> None:
        self._store = store

    def add_sources(self, study: str, sources: Mapping[str, tuple[str, str]]) -> None:
        """Note where the files of a study are, and the marks of its versions."""
        with self._store.changing() as base:
            for role, (path, mark) in sources.items():
                base.execute("insert or replace into sources values (?, ?, ?, ?)", (study, role, path, mark))

    def of(self, study: str) -> Watch | None:
        """Return how a study is watched; None if it never had files on this machine."""
        known = self._store.rows("select * from watches where study = ?", study)
        sources = self._store.rows("select * from sources where study = ?", study)
        if not known and not sources:
            return None
        looks = tuple(row["at"] for row in self._store.rows("select at from looks where study = ? order by at", study))
        said: Any = known[0] if known else {"going": 0, "planned": PLANNED, "expected": None}
        return Watch(
            study, bool(said["going"]) and bool(sources), said["planned"], said["expected"], bool(known),
            {row["role"]: row["path"] for row in sources}, {row["role"]: row["mark"] for row in sources}, looks,
        )  # fmt: skip

    def going(self) -> list[Watch]:
        """Return all that is watched now."""
        rows = self._store.rows("select study from watches where going")
        return [found for row in rows if (found := self.of(row["study"])) is not None and found.going]

    def same_sources(self, paths: Iterable[str]) -> str | None:
        """Return the study that watches just these files, the newest if there are several."""
        wanted = set(paths)
        every = [one for one in self.going() if set(one.sources.values()) == wanted]
        return max(every, key=lambda one: self._store.study(one.study).created).study if every else None

    def change(self, study: str, *, going: bool, planned: int | None = None, expected: int | None = None) -> None:
        """Start or stop watching; the number of planned looks cannot be changed once one has been made.

        Tests that were looked at before anybody planned looks are the first.
        """
        with self._store.changing() as base:
            known = self.of(study)
            if known is None or (going and not known.sources):
                raise InputError(
                    "this study has no file to watch", hint="Name the file when you start: plurivox serve ratings.csv."
                )
            planned = known.planned if planned is None else planned
            if not 1 <= planned <= MOST_LOOKS:
                raise InputError(f"{planned} looks are planned", hint=f"Give a number from 1 to {MOST_LOOKS}.")
            if expected is not None and not 1 <= expected <= MOST_EXPECTED:
                raise InputError("the number of ratings expected is out of range", hint="Give at least 1, or nothing.")
            if known.looks and planned != known.planned:
                hint = "A plan that is changed after a look offers no protection."
                raise InputError(f"{known.planned} looks were planned, and the first has been made", hint=hint)
            base.execute("insert or replace into watches values (?, ?, ?, ?)", (study, going, planned, expected))
            if not known.counted and self._store.runs(study, "run", 1):
                self.look(study)

    # What arrives -----------------------------------------------------------------------------------------------------

    def newest(self, study: StudyRecord) -> StudyRecord:
        """Return a study with the files that arrived last in place of those of the last look."""
        rows = self._store.rows("select * from arrived where study = ?", study.id)
        files = {row["role"]: StoredFile(*(row[name] for name in StoredFile.__slots__)) for row in rows}
        return replace(study, files={**study.files, **files})

    def settle(
        self, watch: Watch, marks: Mapping[str, str], files: Mapping[str, StoredFile], told: Mapping[str, Any] | None
    ) -> None:
        """Note, all at once, which versions were read, the files that can be used from now on, and what is in them."""
        study, old = watch.study, []
        with self._store.changing() as base:
            for role, mark in marks.items():
                base.execute(
                    "update sources set mark = ? where study = ? and role = ? and path = ?",
                    (mark, study, role, watch.sources[role]),
                )
            for role, one in files.items():
                if not self._store.rows("select 1 from sources where study = ? and role = ?", study, role):
                    old.append(one.stored)  # another file has replaced it in the meantime
                    continue
                before = self._store.rows("select stored from arrived where study = ? and role = ?", study, role)
                old += [row["stored"] for row in before]
                base.execute("insert or replace into arrived values (?, ?, ?, ?, ?, ?)", (study, *astuple(one)))
            if told is not None:
                base.execute("insert into arrivals values (?, ?, ?)", (study, time.time(), json.dumps(told)))
                base.execute(
                    "delete from arrivals where study = ?1 and rowid not in"
                    " (select rowid from arrivals where study = ?1 order by rowid desc limit ?2)", (study, KEPT),
                )  # fmt: skip
        for stored in old:
            self._store.discard(study, stored)

    def arrivals(self, study: str) -> list[dict[str, Any]]:
        """Return what was found in the files, the first first, each with when."""
        rows = self._store.rows("select at, told from arrivals where study = ? order by rowid", study)
        return [{"at": row["at"], **json.loads(row["told"])} for row in rows]

    # Looks at tests ---------------------------------------------------------------------------------------------------

    def take_in(self, study: str, revision: int | None) -> StudyRecord:
        """Make what arrived last the data of the study, which is a look at its tests; return the study."""
        with self._store.changing() as base:
            self._store.change_study(study, revision)
            before = self._store.study(study)
            newest = self.newest(before)
            new = [one for role, one in newest.files.items() if one != before.files.get(role)]
            for one in new:
                self._store.put_in(base, study, one)
            base.execute("delete from arrived where study = ?", (study,))
            self.look(study)
        for one in new:
            if one.role in before.files:
                self._store.discard(study, before.files[one.role].stored)
        return self._store.study(study)

    def look(self, study: str) -> int:
        """Count a look at the tests of a study, unless these data were looked at; return for how many to correct.

        Raises
        ------
        InputError
            If all planned looks have been made.
        """
        with self._store.changing() as base:
            known = self.of(study)
            if known is None or not known.counted:
                return 1
            data = data_of(self._store.study(study).files)
            if not self._store.rows("select 1 from looks where study = ? and data = ?", study, data):
                if known.spent:
                    raise InputError(
                        f"all {known.planned} planned looks have been made: nothing more can be claimed at 5 %",
                        hint="The counts continue. To test a claim again, collect a new study.",
                    )
                base.execute("insert into looks values (?, ?, ?)", (study, data, time.time()))
            return known.planned


# In words -------------------------------------------------------------------------------------------------------------


def summary(look: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of the files' content: only counts, nothing that is tested."""
    return {
        "sizes": {name: n for name, n in look["sizes"].items() if name != "raters" or look["has_raters"]},
        "groups": [[one["name"], name, n] for one in look["raters"] for name, n in one["groups"]],
        "scale": look["scale"], "usage": look["usage"],
    }  # fmt: skip


def changes(before: Mapping[str, Any] | None, after: Mapping[str, Any]) -> str:
    """Return in words what changed between two arrivals.

    Examples
    --------
    >>> old = {"sizes": {"ratings": 1204, "items": 40}, "groups": [["gender", "Woman", 40]]}
    >>> new = {"sizes": {"ratings": 1310, "items": 43}, "groups": [["gender", "Woman", 44], ["gender", "Man", 5]]}
    >>> changes(old, new)
    'ratings 1,204 → 1,310 · items 40 → 43 · gender Woman 40 → 44 · gender Man new, 5'
    >>> changes(new, new)
    'other values, the same counts'
    """
    if before is None:
        return " · ".join(f"{n:,} {name}" for name, n in after["sizes"].items())
    parts = [
        f"{name} {before['sizes'].get(name, 0):,} → {n:,}"
        for name, n in after["sizes"].items()
        if n != before["sizes"].get(name, 0)
    ]
    known = {(axis, name): n for axis, name, n in before["groups"]}
    for axis, name, n in after["groups"]:
        old = known.pop((axis, name), None)
        if old != n:
            parts.append(f"{axis} {name} {'new, ' if old is None else f'{old:,} → '}{n:,}")
    parts += [f"{axis} {name} no longer shown" for axis, name in known]
    return " · ".join(parts) or "other values, the same counts"


# Watcher --------------------------------------------------------------------------------------------------------------
#
# Watches whether files have grown, reads them again in full, and tells the pages that show them.
#
# A file is read only once it is the same at two successive checks, and the copy counts only if the file is still the
# same afterwards; so a file that is being written is left alone. A file that cannot be read changes only the message.


EVERY = 2.0
"""Seconds between two checks of files."""
PIECE = 1 << 20
CHANGED = "arrived"
UNKNOWN = ""
"""The mark of a file that must be read again, whatever it contains."""


class MovingError(Exception):
    """A file changed while it was read, or reading was interrupted: it is read at a later check."""


def mark_of(path: str) -> str:
    """Return the mark of a file's version, without reading it.

    Raises
    ------
    FileError
        If it is gone, or is not a readable file.
    """
    try:
        found = os.stat(path)
    except OSError as error:
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(found.st_mode):
        raise FileError("it is no longer a file", source=Path(path).name, hint="Put the file back in its place.")
    return f"{found.st_size}:{found.st_mtime_ns}:{found.st_ino}"


def _unreadable(path: str, error: OSError) -> FileError:
    hint = "What was read before stays; put it back, or stop watching."
    text = "it is gone" if isinstance(error, FileNotFoundError) else f"it cannot be read ({error.strerror})"
    return FileError(text, source=Path(path).name, hint=hint)


class Watcher:
    """Looks after all studies that are watched."""

    def __init__(self, store: StudyStore, jobs: Jobs) -> None:
        self._store, self._jobs = store, jobs
        self.watches = Watches(store)
        self._seen: dict[str, Any] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._listeners = Listeners()

    async def run(self) -> None:
        """Check files from time to time until stopped; one study does not wait for another."""
        try:
            while True:
                going = {one.study: one for one in self.watches.going()}
                self._seen = {study: seen for study, seen in self._seen.items() if study in going}
                for study in going.keys() - self._tasks.keys():
                    self._tasks[study] = asyncio.create_task(self._glance(going[study]))
                await asyncio.sleep(EVERY)
        finally:
            tasks = list(self._tasks.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _glance(self, watch: Watch) -> None:
        try:
            await self._look(watch)
        except PlurivoxError as error:
            with contextlib.suppress(PlurivoxError):  # nothing is said about a study deleted in the meantime
                self._store.study(watch.study)
                self._say_problem(watch, dict.fromkeys(watch.sources, UNKNOWN), problem_of(error))
        except MovingError:
            pass
        except Exception:
            traceback.print_exc(file=sys.stderr)
        finally:
            self._tasks.pop(watch.study, None)

    async def _look(self, watch: Watch) -> None:
        """Read files that have changed, and are the same as at the last check."""
        if not self.watches.arrivals(watch.study):  # what the study contains now, to report changes later
            study = self._store.study(watch.study)
            look = await self._told(study)
            said = {"problem": look["problem"]} if look["problem"] else summary(look)
            self.watches.settle(watch, {}, {}, {**said, "data": data_of(study.files)})
            self._listeners.tell(watch.study, CHANGED)
        marks = await asyncio.to_thread(lambda: {role: mark_of(path) for role, path in watch.sources.items()})
        before, self._seen[watch.study] = self._seen.get(watch.study), marks
        new = {role: mark for role, mark in marks.items() if mark != watch.marks[role]}
        if marks != before or not new:
            return
        files: dict[str, StoredFile] = {}
        kept = False
        try:
            for role, mark in new.items():
                files[role] = await asyncio.to_thread(self._copy, watch, role, mark)
            kept = await self._read(watch, new, files)
        finally:
            if not kept:
                for one in files.values():
                    self._store.discard(watch.study, one.stored)

    def _copy(self, watch: Watch, role: str, mark: str) -> StoredFile:
        path = watch.sources[role]
        try:
            with open(path, "rb") as file, self._store.receiving(watch.study, role, Path(path).name) as upload:
                shutil.copyfileobj(file, upload, PIECE)
                if mark_of(path) != mark:
                    raise MovingError
        except PermissionError as error:
            raise _unreadable(path, error) from None
        return upload.stored

    async def _read(self, watch: Watch, marks: Mapping[str, str], files: Mapping[str, StoredFile]) -> bool:
        """Find out what new files contain; return whether they are kept."""
        now = self.watches.newest(self._store.study(watch.study))
        newest = replace(now, files={**now.files, **files})
        same = data_of(newest.files) == data_of(now.files)
        if same and not self._problem(watch):
            self.watches.settle(watch, marks, {}, None)
            return False
        look = await self._told(newest, keep=same)
        beside = [one["problem"] for one in look.get("beside", {}).values() if one and one["problem"]]
        for problem in (look["problem"], *beside):  # with either, a look would be spent on a run that fails
            if problem:
                self._say_problem(watch, marks, problem)
                return False
        self.watches.settle(watch, marks, {} if same else files, {**summary(look), "data": data_of(newest.files)})
        self._listeners.tell(watch.study, CHANGED)
        return not same

    async def _told(self, study: Any, keep: bool = True) -> dict[str, Any]:
        """Have a process read the files of a study, and return what it reports."""
        run = self._jobs.ask(study, "look", {}, again=True)
        run = await self._jobs.until_ended(run.id)
        folder, told = self._jobs.made_by(run)
        if run.state in (CANCELLED, INTERRUPTED):
            raise MovingError
        if run.state != DONE or folder is None:
            return {"problem": run.problem or problem_in_words("it could not be read", "Save the file again.")}
        if not keep:  # one for every change of a file would pile up; what is shown of it is kept elsewhere
            self._store.drop_run(run.id)
            remove_folder(self._store.folder, folder)
        return told

    def _problem(self, watch: Watch) -> dict[str, Any]:
        """Return what was said last if that was that something cannot be read, otherwise nothing."""
        said = self.watches.arrivals(watch.study)
        return (said[-1].get("problem") if said else None) or {}

    def _say_problem(self, watch: Watch, marks: Mapping[str, str], problem: Mapping[str, Any]) -> None:
        """Say once what is wrong; what was read before stays as it is."""
        again = self._problem(watch).get("text") == problem["text"]
        self.watches.settle(watch, marks, {}, None if again else {"problem": dict(problem)})
        if not again:
            self._listeners.tell(watch.study, CHANGED)

    # Who is told ------------------------------------------------------------------------------------------------------

    def listening(self, study: str) -> AbstractContextManager[Listener]:
        """Return a listener for arrivals."""
        return self._listeners.to(study)

    def end(self, study: str | None = None) -> None:
        """Tell all listeners, or those of one study, that nothing more will come."""
        for one in [study] if study else self._listeners:
            self._listeners.tell(one, ENDED)
