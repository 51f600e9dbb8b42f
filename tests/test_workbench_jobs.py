"""Work in processes of its own: it can be cancelled, it may die, and two at once are enough."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from forking import forks
from plurivox.workbench import records
from plurivox.workbench.jobs import Jobs, Progress
from plurivox.workbench.making import Desk, Source, make
from plurivox.workbench.reading import ReadingSettings
from plurivox.workbench.records import CANCELLED, DONE, FAILED, INTERRUPTED
from plurivox.workbench.store import StudyStore
from workbench_support import RATINGS

pytest.importorskip("vl_convert")


READING = {"rater_attributes": ["gender"], "scale": "0:3"}
ASKED = {"by": [["gender"]], "permutations": 20, "max_permutations": 20}
LONG = {**ASKED, "permutations": 50_000, "max_permutations": 50_000, "bootstrap": 5_000, "interval": "bootstrap"}


def working(folder: Path, work: Callable[[StudyStore, Jobs, str], Awaitable[None]], *, forked: bool = True) -> None:
    """Run something on a store with one study, and end all processes afterwards."""

    async def all_of_it() -> None:
        store = StudyStore(folder)
        jobs = Jobs(store)
        study = store.add_study("One", READING)
        with store.adding(study, "ratings", "my ratings.csv") as upload:
            upload.write(RATINGS.encode())
        try:
            await work(store, jobs, study)
        finally:
            await jobs.close()
            store.close()

    with forks().instead(drawn=False) if forked else contextlib.nullcontext():
        asyncio.run(all_of_it())


def pids(jobs: Jobs) -> list[int]:
    return [worker.process.pid for worker in jobs._workers if worker.process is not None]


def gone(pid: int) -> bool:
    """Tell whether a process has ended; one that is waited for is a zombie at most."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


async def until(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        await asyncio.sleep(0.1)
    raise AssertionError("it takes too long")


def test_a_run_tells_of_its_parts_and_is_made_once(tmp_path: Path) -> None:
    async def work(store: StudyStore, jobs: Jobs, study: str) -> None:
        record = store.study(study)
        run = jobs.ask(record, "run", ASKED)
        assert jobs.ask(record, "run", ASKED).id == run.id  # the same question is the same run
        heard: list[str] = []
        with jobs.listening(run.id) as listener:
            async for names in listener.changes():
                heard += names
        assert store.run(run.id).state == DONE
        assert {"part-study", "part-variation", "part-cohesion", "part-items", "ended"} <= set(heard)
        folder, told = jobs.made(study, run.key)
        assert folder is not None
        assert told["groups"] == {"gender": ["man", "woman"]}
        assert jobs.ask(record, "run", ASKED).id == run.id
        look = await jobs.until_ended(jobs.ask(record, "look", {}).id)
        _, told = jobs.made(study, look.key)
        assert (told["columns"]["item"], told["why"]["item"]) == ("item", "by its name")
        assert len(jobs._workers) == 1  # the same process, which knows the study

    working(tmp_path, work)


def test_cancelling_ends_the_process_and_leaves_nothing(tmp_path: Path) -> None:
    async def work(store: StudyStore, jobs: Jobs, study: str) -> None:
        run = jobs.ask(store.study(study), "run", LONG)
        await until(lambda: bool(jobs.progress(run.id).parts))
        (pid,) = pids(jobs)
        await jobs.cancel(run.id)
        assert store.run(run.id).state == CANCELLED
        await until(lambda: gone(pid))
        assert not (store.made(study) / run.key).exists()
        assert jobs.ask(store.study(study), "run", LONG).state == CANCELLED  # not begun again by looking at it
        again = jobs.ask(store.study(study), "look", {})
        assert (await jobs.until_ended(again.id)).state == DONE

    working(tmp_path, work)


def test_a_process_that_is_killed_is_said_to_be(tmp_path: Path) -> None:
    async def work(store: StudyStore, jobs: Jobs, study: str) -> None:
        run = jobs.ask(store.study(study), "run", LONG)
        await until(lambda: bool(jobs.progress(run.id).parts))
        os.killpg(pids(jobs)[0], signal.SIGKILL)
        ended = await jobs.until_ended(run.id)
        assert ended.state == FAILED
        assert ended.problem is not None
        assert "ended unexpectedly" in ended.problem["problem"]
        assert (await jobs.until_ended(jobs.ask(store.study(study), "look", {}).id)).state == DONE

    working(tmp_path, work)


def test_two_at_once_and_no_more(tmp_path: Path) -> None:
    async def work(store: StudyStore, jobs: Jobs, study: str) -> None:
        runs = [jobs.ask(store.study(study), "run", {**LONG, "seed": seed}) for seed in range(4)]
        await asyncio.sleep(1)
        assert len(jobs._workers) == 2
        assert [store.run(run.id).state for run in runs] == ["running", "running", "waiting", "waiting"]
        await jobs.cancel(runs[2].id)
        assert store.run(runs[2].id).state == CANCELLED
        await jobs.cancel(runs[0].id)
        assert store.run(runs[3].id).state == "running"
        await jobs.close()
        assert [store.run(run.id).state for run in runs] == [CANCELLED, INTERRUPTED, CANCELLED, INTERRUPTED]

    working(tmp_path, work)


def test_an_error_of_the_data_names_the_file_of_its_owner(tmp_path: Path) -> None:
    async def work(store: StudyStore, jobs: Jobs, study: str) -> None:
        run = await jobs.until_ended(jobs.ask(store.study(study), "run", {"by": [["shoe size"]]}).id)
        assert run.state == FAILED
        assert run.problem is not None
        assert "shoe size" in run.problem["text"]
        with store.adding(study, "ratings", "my ratings.csv") as upload:
            upload.write(RATINGS.replace("i3,r2,", "i3,r2,9").encode())
        look = await jobs.until_ended(jobs.ask(store.study(study), "look", {}).id)
        _, told = jobs.made(study, look.key)
        assert told["problem"]["source"] == "my ratings.csv"
        assert told["problem"]["column"] == "score"
        assert told["problem"]["places"] == ["row 46"]  # header, then 3 items of 14, then the third of i3
        assert str(tmp_path) not in str(told)

    working(tmp_path, work, forked=False)


def source_in(folder: Path) -> Source:
    (folder / "r.csv").write_text(RATINGS)
    return Source({"ratings": ("r.csv", "r.csv", "0")}, ReadingSettings.from_dict(READING), folder, folder / "made")


@pytest.mark.usefixtures("undrawn")
def test_what_is_taken_from_disk_is_drawn_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_in(tmp_path)
    parts: list[dict[str, str]] = []
    for name in ("first", "second"):
        desk = Desk(source)
        monkeypatch.chdir(desk.folder)
        make(desk, "run", ASKED, tmp_path / name)
        parts.append({path.name: path.read_text() for path in (tmp_path / name).glob("*.html")})
        monkeypatch.chdir(tmp_path)
        desk.close()
    assert len(list((tmp_path / "made" / "results").iterdir())) >= 3
    assert parts[0] == parts[1]


def test_what_is_kept_of_one_item_is_not_shown_for_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_in(tmp_path)
    for _ in range(2):  # worked out, then from disk
        desk = Desk(source)
        monkeypatch.chdir(desk.folder)
        for name in ("i1", "i2"):
            assert desk.study.ask("item_view", inputs={"item": name}, permutations=0).settings["item"] == name
        monkeypatch.chdir(tmp_path)
        desk.close()


def test_a_damaged_result_is_worked_out_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = source_in(tmp_path)
    desk = Desk(source)
    monkeypatch.chdir(desk.folder)
    asked: dict[str, Any] = {"by": "gender", "permutations": 0}
    first = desk.study.ask("cohesion", **asked)
    (kept,) = (tmp_path / "made" / "results").iterdir()
    kept.write_text(kept.read_text()[:100])
    other = Desk(source)
    monkeypatch.chdir(other.folder)
    assert other.study.ask("cohesion", **asked).to_json() == first.to_json()
    monkeypatch.chdir(tmp_path)
    desk.close()
    other.close()


def test_what_nobody_looked_at_for_longest_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def work(store: StudyStore, jobs: Jobs, study: str) -> None:
        record = store.study(study)

        async def done(kind: str, asked: dict[str, Any]) -> str:
            run = await jobs.until_ended(jobs.ask(record, kind, asked).id)
            assert run.state == DONE, run.problem
            return run.key

        look = await done("look", {})
        keys = [
            await done("question", {"lens": "variation", "settings": {"by": [["gender"]], "seed": seed}, "given": {}})
            for seed in range(3)
        ]
        for age, key in enumerate((look, *keys)):
            os.utime(store.made(study) / key / "done.json", (age, age))
        for result in (store.made(study) / "results").iterdir():
            os.utime(result, (9, 9))
        jobs.ask(record, "question", {"lens": "variation", "settings": {"by": [["gender"]], "seed": 0}, "given": {}})
        monkeypatch.setattr(records, "MOST_ENTRIES", 6)  # there are 4, 3 results, and one that comes
        last = await done("items", {})
        kept = {path.name for path in store.made(study).iterdir()}
        assert kept == {look, keys[0], last, "results"}  # the first was looked at again; the look stays in any case
        assert {run.key for run in store.runs(study)} == {look, keys[0], last}
        monkeypatch.setattr(records, "MOST_BYTES", 0)
        await done("config", {})
        assert len(list((store.made(study) / "results").iterdir())) == 0
        assert (store.made(study) / look).exists()
        assert await done("question", {"lens": "variation", "settings": {"by": [["gender"]], "seed": 1}, "given": {}})

    working(tmp_path, work)


def test_how_far_a_run_is() -> None:
    state = Progress()
    assert state.share == 0
    assert state.take({"event": "step", "step": 1, "steps": 4, "name": "cohesion"}) == "progress"
    state.take({"event": "progress", "what": "shuffling", "done": 1, "total": 2})
    assert state.share == 38  # one of four and a half
    assert state.take({"event": "part", "id": "cohesion", "title": "Who"}) == "part-cohesion"
    assert state.parts == [{"id": "cohesion", "title": "Who"}]
