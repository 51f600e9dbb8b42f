"""Who computes what: a few processes, each for one study at a time, with progress for everybody who waits.

What was made under the same key, that is, from the same files, reading, settings and version, is not made again.
Cancelling ends the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plurivox.base.errors import FileError
from plurivox.workbench.making import Source, digest_of, problem_in_words
from plurivox.workbench.reading import ReadingSettings
from plurivox.workbench.records import (
    CANCELLED,
    DONE,
    DONE_FILE,
    FAILED,
    INTERRUPTED,
    RUNNING,
    StoredRun,
    StudyRecord,
    prune,
    remove_folder,
    touch,
)
from plurivox.workbench.store import StudyStore

AT_ONCE = 2
"""Processes that compute at the same time."""
IDLE = 300.0
"""Seconds that a process waits for the next question about its study."""
LONGEST_LINE = 1 << 20
ENDED = "ended"


@dataclass
class Progress:
    """How far a run is: which step of how many, what is being done, and which parts are finished."""

    what: str = ""
    done: int = 0
    total: int = 0
    step: int = 0
    steps: int = 0
    name: str = ""
    parts: list[dict[str, str]] = field(default_factory=list)

    @property
    def share(self) -> int:
        """Roughly how much of the whole is done, in percent."""
        within = self.done / self.total if self.total else 0.0
        return round(100 * (self.step + min(within, 1.0)) / self.steps) if self.steps else round(100 * within)

    def take(self, told: Mapping[str, Any]) -> str:
        """Note what a worker reports; return the name of what changed."""
        if told["event"] == "progress":
            self.what, self.done, self.total = told["what"], told["done"], told["total"]
        elif told["event"] == "step":
            self.step, self.steps, self.name = told["step"], told["steps"], told["name"]
            self.what, self.done, self.total = "", 0, 0
        else:
            self.parts.append({"id": told["id"], "title": told["title"]})
            return f"part-{told['id']}"
        return "progress"


@dataclass(eq=False)
class _Job:
    run: StoredRun
    line: dict[str, Any]
    out: Path
    progress: Progress = field(default_factory=Progress)
    worker: _Worker | None = None


@dataclass(eq=False)
class _Worker:
    process: asyncio.subprocess.Process
    study: str
    job: _Job | None = None
    reader: asyncio.Task[None] | None = None
    idle: asyncio.TimerHandle | None = None


class Listener:
    """Somebody who waits for a run: what changed is kept until it is fetched, each name once."""

    def __init__(self) -> None:
        self._names: dict[str, None] = {}
        self._there = asyncio.Event()

    def tell(self, name: str) -> None:
        """Note that something changed."""
        self._names[name] = None
        self._there.set()

    async def changes(self, every: float = 15.0) -> AsyncIterator[list[str]]:
        """Yield names of what changed, or an empty list from time to time, until the run has ended."""
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._there.wait(), every)
            names, self._names = list(self._names), {}
            self._there.clear()
            yield names
            if ENDED in names:
                return


class Listeners:
    """Everybody who waits, by what they wait for."""

    def __init__(self) -> None:
        self._every: dict[str, set[Listener]] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._every))

    @contextlib.contextmanager
    def to(self, what: str) -> Iterator[Listener]:
        """Yield a listener for the changes of something."""
        listener = Listener()
        every = self._every.setdefault(what, set())
        every.add(listener)
        try:
            yield listener
        finally:
            every.discard(listener)
            if not every:
                self._every.pop(what, None)

    def tell(self, what: str, name: str) -> None:
        """Tell all listeners of something what changed."""
        for listener in self._every.get(what, ()):
            listener.tell(name)


class Jobs:
    """Everything that is being computed, or waits for its turn."""

    def __init__(self, store: StudyStore, at_once: int = AT_ONCE) -> None:
        self._store = store
        self._at_once = at_once
        self._waiting: deque[_Job] = deque()
        self._going: dict[str, _Job] = {}
        self._workers: list[_Worker] = []
        self._listeners = Listeners()
        self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()  # the loop itself keeps no hold of them

    # Asking -----------------------------------------------------------------------------------------------------------

    def key(self, study: StudyRecord, kind: str, asked: Mapping[str, Any]) -> str:
        """Return the key of a question about a study as it is now."""
        return digest_of([self._source(study).key, kind, asked])

    def _source(self, study: StudyRecord) -> Source:
        files = {role: (one.stored, one.shown, one.sha256) for role, one in study.files.items()}
        reading = ReadingSettings.from_dict(study.reading)
        return Source(files, reading, self._store.inputs(study.id), self._store.made(study.id))

    def made(self, study: str, key: str) -> tuple[Path | None, dict[str, Any]]:
        """Return the folder of what was made under a key, and its record; None and nothing until it is complete."""
        folder = self._store.made(study) / key
        if not (folder / DONE_FILE).is_file():
            return None, {}
        return folder, json.loads((folder / DONE_FILE).read_text(encoding="utf-8"))

    def made_by(self, run: StoredRun | None) -> tuple[Path | None, dict[str, Any]]:
        """Return the same for what a run makes; None and nothing without a run."""
        return (None, {}) if run is None else self.made(run.study, run.key)

    def last(self, study: StudyRecord, kind: str, asked: Mapping[str, Any]) -> StoredRun | None:
        """Return the last run of a question, None if it was never asked."""
        key = self.key(study, kind, asked)
        return next((run for run in self._store.runs(study.id, kind, 500) if run.key == key), None)

    def ask(self, study: StudyRecord, kind: str, asked: Mapping[str, Any], *, again: bool = False) -> StoredRun:
        """Have something computed, unless it was or is; what failed or was cancelled, only if asked ``again``."""
        source = self._source(study)
        key = self.key(study, kind, asked)
        before = self.last(study, kind, asked)
        out = source.made / key
        if (out / DONE_FILE).is_file():
            touch(out / DONE_FILE)
            return before if before is not None and before.state == DONE else self._store.add_run(
                study.id, kind, key, asked, DONE
            )  # fmt: skip
        if before is not None and (before.going or (before.state in (FAILED, CANCELLED, INTERRUPTED) and not again)):
            return before
        run = self._store.add_run(study.id, kind, key, asked)
        line = {
            "id": run.id, "kind": kind, "asked": asked, "out": str(out.resolve()), "files": source.files,
            "reading": study.reading, "inputs": str(source.inputs.resolve()), "made": str(source.made.resolve()),
        }  # fmt: skip
        job = _Job(run, line, out)
        self._going[run.id] = job
        self._waiting.append(job)
        self._next()
        return run

    def progress(self, run: str) -> Progress:
        """Return how far a run is; nothing if it is not running."""
        job = self._going.get(run)
        return job.progress if job is not None else Progress()

    @contextlib.contextmanager
    def listening(self, run: str) -> Iterator[Listener]:
        """Yield a listener for the changes of a run; if it has ended, it hears that."""
        with self._listeners.to(run) as listener:
            listener.tell("progress" if run in self._going else ENDED)
            yield listener

    async def until_ended(self, run: str) -> StoredRun:
        """Wait for the end of a run."""
        with self.listening(run) as listener:
            async for _ in listener.changes():
                pass
        return self._store.run(run)

    async def cancel(self, run: str) -> None:
        """End a run, and the process that works on it."""
        job = self._going.get(run)
        if job is None:
            return
        if job.worker is None:
            self._waiting.remove(job)
        else:
            worker, job.worker = job.worker, None
            worker.job = None
            await self._stop(worker)
        self._end(job, CANCELLED)
        self._next()

    async def forget(self, study: str) -> None:
        """End all running work on a study."""
        for job in list(self._going.values()):
            if job.run.study == study:
                await self.cancel(job.run.id)
        for worker in [one for one in self._workers if one.study == study]:
            await self._stop(worker)

    async def close(self) -> None:
        """End every process; running work is interrupted."""
        self._closed = True
        for job in list(self._going.values()):
            if job.worker is not None:
                job.worker.job = None
            self._end(job, INTERRUPTED)
        for worker in list(self._workers):
            await self._stop(worker)
        if self._tasks:  # including processes that are just being started, which end as soon as they have
            await asyncio.wait(self._tasks)

    # Processes --------------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        """Give waiting jobs to a free process: one that knows the study, a new one, or one that replaces another."""
        while self._waiting and not self._closed:
            job = self._waiting[0]
            free = [one for one in self._workers if one.job is None]
            own = next((one for one in free if one.study == job.run.study), None)
            if own is None and len(self._workers) >= self._at_once:
                if not free:
                    return
                self._workers.remove(free[0])  # now: its place is given away below
                self._later(self._stop(free[0]))
            self._waiting.popleft()
            self._store.end_run(job.run.id, RUNNING)
            if own is not None:
                self._later(self._give(own, job))
                own.job, job.worker = job, own
            else:  # it has a process as soon as it runs
                worker = _Worker(None, job.run.study, job)  # type: ignore[arg-type]
                self._workers.append(worker)
                job.worker = worker
                self._later(self._begin(worker, job))

    def _later(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _begin(self, worker: _Worker, job: _Job) -> None:
        """Start a process, in its own process group, so that all of it can be ended."""
        try:
            worker.process = await asyncio.create_subprocess_exec(
                sys.executable, "-P", "-m", "plurivox.workbench.worker", stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE, start_new_session=True, limit=LONGEST_LINE,
            )  # fmt: skip
        except OSError as error:
            self._workers.remove(worker)
            text = f"no process could be started ({error.strerror})"
            self._end(job, FAILED, problem_in_words(text, "Try again when the machine is less busy."))
            self._next()
            return
        worker.reader = asyncio.get_running_loop().create_task(self._read(worker))
        if worker.job is job:
            await self._give(worker, job)
        else:  # cancelled in the meantime
            await self._stop(worker)

    async def _give(self, worker: _Worker, job: _Job) -> None:
        if worker.idle is not None:
            worker.idle.cancel()
        assert worker.process.stdin is not None
        worker.process.stdin.write(json.dumps(job.line).encode() + b"\n")
        with contextlib.suppress(ConnectionError):  # if it is gone, the reader reports it
            await worker.process.stdin.drain()

    async def _read(self, worker: _Worker) -> None:
        """Listen to a process until it ends."""
        assert worker.process.stdout is not None
        async for line in worker.process.stdout:
            told = json.loads(line)
            job = worker.job
            if job is None or told.get("job") != job.run.id:
                continue
            if told["event"] in ("done", "failed"):
                worker.job = job.worker = None
                worker.idle = asyncio.get_running_loop().call_later(IDLE, self._retire, worker)
                self._end(job, DONE if told["event"] == "done" else FAILED, told.get("problem"))
                self._next()
            else:
                self._listeners.tell(job.run.id, job.progress.take(told))
        code = await worker.process.wait()
        if worker in self._workers:
            self._workers.remove(worker)
        if worker.job is not None:
            text = "the process that worked on it ended unexpectedly"
            text += ", perhaps because it ran out of memory" if code == -signal.SIGKILL else ""
            self._end(worker.job, FAILED, problem_in_words(text, "Try again, or ask for less at once."))
            self._next()

    def _retire(self, worker: _Worker) -> None:
        if worker.job is None and worker in self._workers:
            self._workers.remove(worker)
            self._later(self._stop(worker))

    async def _stop(self, worker: _Worker) -> None:
        """End a process and all that it started."""
        if worker in self._workers:
            self._workers.remove(worker)
        if worker.idle is not None:
            worker.idle.cancel()
        if worker.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            if hasattr(os, "killpg"):
                os.killpg(worker.process.pid, signal.SIGKILL)  # it writes whole files or none, and may be in C for long
            else:
                worker.process.kill()
        await worker.process.wait()

    def _end(self, job: _Job, state: str, problem: Mapping[str, Any] | None = None) -> None:
        """Note how a job ended, and tell everybody; unfinished output is removed."""
        self._going.pop(job.run.id, None)
        if state != DONE:
            remove_folder(self._store.folder, job.out)
        self._store.end_run(job.run.id, state, problem)
        if state == DONE:
            study = job.run.study
            newest = [run.key for kind in ("look", "run") for run in self._store.runs(study, kind, 1)]
            with contextlib.suppress(FileError):  # a disk that is full; next time
                prune(self._store, study, {job.run.key, *newest, *(one.run.key for one in self._going.values())})
        self._listeners.tell(job.run.id, ENDED)
