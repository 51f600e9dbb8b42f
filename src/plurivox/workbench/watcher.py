"""Watches whether files have grown, reads them again in full, and tells the pages that show them.

A file is read only once it is the same at two successive checks, and the copy counts only if the file is still the same
afterwards; so a file that is being written is left alone. A file that cannot be read changes only the message.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
import sys
import traceback
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

from plurivox.base.errors import FileError, PlurivoxError
from plurivox.workbench.jobs import ENDED, Jobs, Listener, Listeners
from plurivox.workbench.making import problem_in_words, problem_of
from plurivox.workbench.records import CANCELLED, DONE, INTERRUPTED, StoredFile
from plurivox.workbench.removing import remove_folder
from plurivox.workbench.store import StudyStore
from plurivox.workbench.watches import Watch, Watches, data_of, summary

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
        if not self.watches.arrivals(watch.study):
            await self._begin(watch)
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
                while piece := file.read(PIECE):
                    upload.write(piece)
                if mark_of(path) != mark:
                    raise MovingError
        except PermissionError as error:
            raise _unreadable(path, error) from None
        return upload.stored

    async def _begin(self, watch: Watch) -> None:
        """Note what the study contains now, to report changes later."""
        study = self._store.study(watch.study)
        look = await self._told(study)
        said = {"problem": look["problem"]} if look["problem"] else summary(look)
        self.watches.settle(watch, {}, {}, {**said, "data": data_of(study.files)})
        self._listeners.tell(watch.study, CHANGED)

    async def _read(self, watch: Watch, marks: Mapping[str, str], files: Mapping[str, StoredFile]) -> bool:
        """Find out what new files contain; return whether they are kept."""
        now = self.watches.newest(self._store.study(watch.study))
        newest = replace(now, files={**now.files, **files})
        same = data_of(newest.files) == data_of(now.files)
        if same and not self._troubled(watch):
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
        folder = self._jobs.made(study.id, run.key)
        if run.state in (CANCELLED, INTERRUPTED):
            raise MovingError
        if run.state != DONE or folder is None:
            return {"problem": run.problem or problem_in_words("it could not be read", "Save the file again.")}
        told = self._jobs.told(folder)
        if not keep:  # one for every change of a file would pile up; what is shown of it is kept elsewhere
            self._store.drop_run(run.id)
            remove_folder(self._store.folder, folder)
        return told

    def _troubled(self, watch: Watch) -> bool:
        """Return whether the last message was that something cannot be read."""
        said = self.watches.arrivals(watch.study)
        return bool(said) and bool(said[-1].get("problem"))

    def _say_problem(self, watch: Watch, marks: Mapping[str, str], problem: Mapping[str, Any]) -> None:
        """Say once what is wrong; what was read before stays as it is."""
        said = self.watches.arrivals(watch.study)
        again = bool(said) and (said[-1].get("problem") or {}).get("text") == problem["text"]
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
