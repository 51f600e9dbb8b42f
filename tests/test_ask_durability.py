"""What a store promises: answers in the file within seconds, claims that lapse, and reading past damage."""

from __future__ import annotations

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from model_server import Answer, Body, ModelServer, misbehave, say
from plurivox.ask import database
from plurivox.ask import store as module
from plurivox.ask.database import StoreError
from plurivox.ask.question import Reply, Request
from plurivox.ask.store import Store
from plurivox.base.errors import DamageWarning, FileError
from support import Done, Write, ran, run_cli

ABOUT = {"labels": ["never", "sometimes", "often"], "question": "How rude is it?"}
N = 40
PAGE = 4096


def a_request(item: int) -> Request:
    messages = ({"role": "user", "content": f"How rude is {item}? " + "why " * (1 + item % 7 * 300)},)
    return Request("http://localhost:1", "small", "plain", f"i{item:03d}", 0, (0, 1, 2), messages)


REQUESTS = [a_request(item) for item in range(N)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


def put(store: Store, *requests: Request) -> None:
    for request in requests:
        store.put(request, Reply(f"A {request.item}"), state="answered", point=0)


def in_copy(path: Path) -> int:
    """Copy the file alone, without the log beside it, and count the answers in the copy."""
    copy = path.with_name("copy.db")
    shutil.copyfile(path, copy)
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        ((n,),) = connection.execute("SELECT count(*) FROM answers WHERE state = 'answered'")
    for end in ("", "-wal", "-shm"):
        Path(f"{copy}{end}").unlink(missing_ok=True)
    return int(n)


# Answers reach the file itself ---------------------------------------------------------------------------------------
def test_answers_reach_the_file_when_they_are_many_with_time_and_at_the_end(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(module, "MOST_LOOSE", 20)
    with Store.open(path, ABOUT), Store.open(path, ABOUT) as store:
        put(store, *REQUESTS[:19])
        assert in_copy(path) == 0
        put(store, *REQUESTS[19:30])
        assert in_copy(path) == 20
        now[0] = 2.1
        put(store, REQUESTS[30])
        assert in_copy(path) == 31
        put(store, REQUESTS[31])
        store.beat()
        assert in_copy(path) == 32
        put(store, *REQUESTS[32:])
        store.close()  # settles also while another has it open
        assert in_copy(path) == N


def command(server: ModelServer, write: Write, store: Path, n: int, *more: str) -> list[str]:
    table = pl.DataFrame({"item": [f"i{at}" for at in range(n)], "text": [f"Rule number {at}." for at in range(n)]})
    return ["ask", str(write("items.csv", table.write_csv())), "--question", "How?",
    "--scale", "never,sometimes,always", "--model", "m",
            "--base-url", server.base_url, "-o", str(store), *more]  # fmt: skip


@pytest.mark.slow
def test_a_copy_of_the_file_of_a_run_lacks_a_few_seconds(path: Path, write: Write) -> None:
    """What was stored when 20 had been asked is in the file before 150 are, which takes six seconds at least."""

    def copied() -> int:
        try:
            return in_copy(path)
        except (AssertionError, sqlite3.DatabaseError):
            return 0  # it was being written

    with ModelServer(say("A", delay=0.05)) as server:
        given = [sys.executable, "-m", "plurivox", *command(server, write, path, 400, "--concurrency", "1")]
        with subprocess.Popen(given, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                while len(server.requests) < 20:
                    time.sleep(0.01)
                while copied() < 19:
                    assert len(server.requests) < 150
                    time.sleep(0.2)
                assert process.poll() is None
            finally:
                process.kill()


# Claims lapse --------------------------------------------------------------------------------------------------------
def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def test_a_silent_run_of_this_machine_loses_its_claims(path: Path) -> None:
    with Store.open(path, ABOUT) as stopped, Store.open(path, ABOUT) as other:
        stopped.claim(REQUESTS[:6])
        change(path, f"UPDATE runs SET heartbeat = heartbeat - {database.LEASE - 5} WHERE id = {stopped.run}")
        assert other.claim(REQUESTS[:6]) == []
        change(path, f"UPDATE runs SET heartbeat = heartbeat - 10 WHERE id = {stopped.run}")
        assert other.claim(REQUESTS[:3]) == REQUESTS[:3]
        # It goes on.
        assert [stopped.holds(request) for request in REQUESTS[:6]] == [False] * 3 + [True] * 3
        assert other.holds(REQUESTS[0])
        assert not stopped.put(REQUESTS[0], None, state="failed", error="too late")
        assert other.holds(REQUESTS[0])
        put(other, REQUESTS[0])
        assert not stopped.put(REQUESTS[0], Reply("C"), state="answered", point=2)
        assert stopped.put(REQUESTS[1], Reply("C"), state="answered", point=2)  # the first answer stays
        assert not other.put(REQUESTS[1], Reply("B"), state="answered", point=1)
        stopped.beat()
        assert (other.claim(REQUESTS[:6]), other.frame()["answer"].to_list()) == ([], ["never", "often"])


STOPPABLE = """
import sys
from plurivox.ask import database, running
database.LEASE, running._BEAT = 1.0, 0.2
from plurivox.cli import main
sys.argv = ["plurivox", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_a_stopped_run_is_taken_over_and_stores_nothing_twice(
    path: Path, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped while four requests get no answer and others are claimed; then it goes on."""
    monkeypatch.setattr(database, "LEASE", 1.0)
    stuck = [True]

    def behave(body: Body, number: int) -> Answer:
        return (misbehave("hang") if stuck[0] and number >= 40 else say("A"))(body, number)

    with ModelServer(behave) as server:
        given = command(server, write, path, 150, "--concurrency", "4", "--timeout", "5")
        called = [sys.executable, "-c", STOPPABLE, *given]
        with subprocess.Popen(called, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as stopped:
            try:
                while len(server.requests) < 44:
                    assert stopped.poll() is None, "it ended before it had asked"
                    time.sleep(0.01)
                stopped.send_signal(signal.SIGSTOP)
                stuck[0] = False
                time.sleep(1.5)
                assert (run_cli(*given).code, states(path)) == (0, {"answered": 150})
                stopped.send_signal(signal.SIGCONT)
                _, told = stopped.communicate(timeout=60)
            finally:
                stopped.kill()
        asked = Counter(
            re.findall(r"Rule number (\d+)\.", body["messages"][-1]["content"])[0] for body in server.requests
        )
    assert stopped.returncode == 0
    assert "Traceback" not in told
    assert "stored before or being asked by another run" in told
    assert len(asked) == 150
    assert asked.total() - 150 <= 8  # the four on their way, tried again by both; not the twenty that were claimed
    assert states(path) == {"answered": 150}


def states(path: Path) -> dict[str, int]:
    with closing(sqlite3.connect(path)) as connection:
        return dict(connection.execute("SELECT state, count(*) FROM answers GROUP BY 1").fetchall())


# Damage --------------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A store of 40 answers as bytes; its pages hold the table, its index, and long prompts."""
    path = tmp_path_factory.mktemp("whole") / "a.db"
    with Store.open(path, ABOUT) as store:
        put(store, *REQUESTS)
    return path.read_bytes()


def truth() -> dict[str, str]:
    return {request.item: f"A {request.item}" for request in REQUESTS}


def overwritten(content: bytes, page: int, fill: bytes) -> bytes:
    start = (page - 1) * PAGE
    return content[:start] + (fill * PAGE)[:PAGE] + content[start + PAGE :]


def read_past(path: Path) -> tuple[dict[str, str], str]:
    """Return the texts that can be read, and the warning; empty if there is none."""
    import warnings

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with Store.read(path) as store:
            frame = store.frame(with_prompts=True)
            assert sum(n for states in store.counts().values() for n in states.values()) == frame.height
            assert len(list(store.each())) == frame.height
    assert all(one.category is DamageWarning for one in told)
    assert len(told) <= 1
    return dict(frame.select("item", "text").iter_rows()), str(told[0].message) if told else ""


@pytest.mark.parametrize("fill", [b"\xff", b"\0", b"plurivox"])
def test_one_damaged_page_takes_only_what_is_on_it(path: Path, whole: bytes, fill: bytes) -> None:
    """Each page in turn but the first, without which there is no database; no answer comes back changed."""
    lost_by_page = []
    for page in range(2, len(whole) // PAGE + 1):
        path.write_bytes(overwritten(whole, page, fill))
        try:
            found, told = read_past(path)
        except (StoreError, FileError) as error:
            pytest.fail(f"page {page}: {error}")
        assert found.items() <= truth().items()
        lost_by_page.append(N - len(found))
        if len(found) < N:
            assert f"{len(found)} answers can be read, {N - len(found)} cannot" in told
        elif told:
            assert f"{N} answers can be read, 0 cannot" in told
    assert sum(lost_by_page) >= N  # every answer is somewhere
    assert sorted(lost_by_page)[-3] < N / 4  # all but a root hold few


@pytest.mark.parametrize("harm", ["order_json = '[0, '", "order_json = x'ff'", "distribution_json = '{\"', held = 1"])
def test_an_answer_that_makes_no_sense_is_left_out_and_told(path: Path, harm: str) -> None:
    with Store.open(path, ABOUT) as store:
        put(store, *REQUESTS)
    change(path, f"UPDATE answers SET {harm} WHERE item = 'i007'")
    change(path, "UPDATE answers SET text = CAST(x'41ff42' AS TEXT) WHERE item = 'i000'")
    done = ran("answers", path, "--csv")
    assert done.frame().height == N - 1
    assert f"{path}: the file is damaged; 1 answers cannot be read" in done.err
    assert "Traceback" not in ran("answers", path, "--reread").err
    with Store.read(path) as store, pytest.warns(DamageWarning):
        assert store.frame().filter(item="i000")["text"].to_list() == ["A\ufffdB"]  # bytes that are no text
    change(path, "UPDATE meta SET value = '[' WHERE key = 'labels'")
    assert "what was asked cannot be read" in one_error(run_cli("answers", path))


def a_leaf(whole: bytes) -> int:
    """Return a page that holds answers: a leaf of a table, in the middle of the file."""
    pages = [page for page in range(3, len(whole) // PAGE + 1) if whole[(page - 1) * PAGE] == 13]
    return next(page for page in pages[len(pages) // 2 :] if b"answered" in whole[(page - 1) * PAGE : page * PAGE])


@pytest.fixture
def damaged(path: Path, whole: bytes) -> Path:
    path.write_bytes(overwritten(whole, a_leaf(whole), b"\xff"))
    return path


def test_a_truncated_file_gives_what_it_has(path: Path, whole: bytes) -> None:
    path.write_bytes(whole[: len(whole) // 2 // PAGE * PAGE])
    found, told = read_past(path)
    assert 0 < len(found) < N
    assert found.items() <= truth().items()
    assert "the file is damaged" in told
    assert "there is no folder" in one_error(run_cli("answers", path.with_name("x") / "y.db"))


def one_error(done: Done) -> str:
    assert done.code == 1
    assert "Traceback" not in done.err
    (line,) = [line for line in done.err.splitlines() if line.startswith("error: ")]
    return line


def test_a_damaged_store_is_not_written_and_the_error_says_what_helps(damaged: Path) -> None:
    before = damaged.read_bytes()
    with pytest.raises(StoreError, match="the file is damaged") as told:
        Store.open(damaged, ABOUT)
    assert f"plurivox answers {damaged} --export {damaged.with_suffix('.saved.db')}; then" in str(told.value)
    assert "\n" not in str(told.value)
    assert damaged.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "read"), [("out.csv", pl.read_csv), ("out.jsonl", pl.read_ndjson), ("out.parquet", pl.read_parquet)]
)
def test_export_goes_past_damage_and_says_how_many_are_lost(damaged: Path, name: str, read: Any) -> None:
    target = damaged.with_name(name)
    done = ran("answers", damaged, "--export", target)
    found = dict(read(target).select("item", "text").iter_rows())
    assert found.items() < truth().items()
    assert f"{len(found)} answers can be read, {N - len(found)} cannot" in done.err
    assert re.search(rf"small +plain +{len(found)} ", run_cli("answers", damaged).out)


def test_a_saved_store_goes_on_where_the_damaged_one_ended(damaged: Path) -> None:
    saved = damaged.with_name("saved.db")
    assert run_cli("answers", damaged, "--export", saved).code == 0
    with Store.open(saved, ABOUT) as store:
        missing = store.claim(REQUESTS)
        assert 0 < len(missing) < N / 4
        assert store.run == 2  # so that it asks again what failed in the run that is stored
        put(store, *missing)
        assert dict(store.frame().select("item", "text").iter_rows()) == truth()
        assert store._execute("PRAGMA journal_mode") == [("wal",)]
    assert "it exists" in one_error(run_cli("answers", damaged, "--export", saved))


def test_a_store_is_copied_whole_while_another_writes(path: Path) -> None:
    with Store.open(path, ABOUT) as store:
        put(store, *REQUESTS[:10])
        store.put(REQUESTS[10], None, state="failed", error="no")
        store.claim(REQUESTS[:20])
        copy = path.with_name("copy.db")
        assert run_cli("answers", path, "--export", copy).code == 0
        put(store, *REQUESTS[11:13])
    with Store.open(copy, ABOUT) as store:
        assert store.frame().height == 11
        assert store.claim(REQUESTS) == REQUESTS[10:]  # claims are not copied, and failures are asked again


# Files that are no store ---------------------------------------------------------------------------------------------


def changed(*statements: str) -> Callable[[Path], object]:
    """Return what makes a store and changes it."""

    def make(path: Path) -> None:
        Store.open(path, ABOUT).close()
        for statement in statements:
            change(path, statement)

    return make


def cut(keep: slice, more: bytes = b"") -> Callable[[Path], object]:
    """Return what makes a store and keeps a part of it, with other bytes before the second page."""

    def make(path: Path) -> None:
        Store.open(path, ABOUT).close()
        content = path.read_bytes()
        path.write_bytes(content[keep] + more + (content[PAGE:] if more else b""))

    return make


WRONG: dict[str, tuple[Callable[[Path], object], str]] = {
    "a table": (lambda path: path.write_text("item,score\n1,2\n"), "it is not a store of answers"),
    "nothing": (lambda path: None, "there is no such file"),
    "empty": (lambda path: path.touch(), "it is empty"),
    "a folder": (lambda path: path.mkdir(), "this is a folder"),
    "a FIFO": (lambda path: os.mkfifo(path), "this is not a regular file"),
    "a device": (lambda path: path.symlink_to("/dev/null"), "this is not a regular file"),
    "newer": (changed("PRAGMA user_version = 7"), "a newer plurivox wrote it (version 7 of the file;"),
    "older": (changed("PRAGMA user_version = 0"), "it has a version that plurivox does not know (0)"),
    "without tables": (changed("DROP TABLE answers", "DROP TABLE meta"), "it lacks parts of a store of answers"),
    "of another program": (lambda path: change(path, "CREATE TABLE answers (key TEXT)"),
                           "it is a database of another program"),
    "half a header": (cut(slice(60)), "it is not a store of answers"),
    "no schema": (cut(slice(100), b"\xff" * (PAGE - 100)), "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_file_gives_one_error(name: str, path: Path, write: Write) -> None:
    make, told = WRONG[name]
    make(path)
    table = write("items.csv", "item,text\n1,Be kind.\n")
    before = {entry.name for entry in path.parent.iterdir()}
    calls = [("answers", path), ("answers", path, "--export", path.with_name("out.csv"))]
    with ModelServer() as server:
        asked = ("ask", table, "--question", "How?", "--scale", "0:4", "--model", "m", "--base-url", server.base_url)
        calls += [(*asked, "-o", path)] if name != "nothing" else []
        tried = [run_cli(*call) for call in calls]
        assert not server.requests
    for done in tried:
        assert told in one_error(done)
        assert str(path) in done.err
    after = {entry.name for entry in path.parent.iterdir()}
    assert after - before <= {"answers.db-wal", "answers.db-shm"}  # which SQLite makes to read


def test_a_locked_store_gives_one_error(path: Path, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 0.05)
    Store.open(path, ABOUT).close()
    table = write("items.csv", "item,text\n1,Be kind.\n")
    with closing(sqlite3.connect(path, isolation_level=None)) as other, ModelServer() as server:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        given = ["--scale", "never,sometimes,often", "--question", "How rude is it?", "--model", "m"]
        asked = run_cli("ask", table, *given, "--base-url", server.base_url, "-o", path)
        assert "another program has locked it" in one_error(asked)
        assert "another program has locked it" in one_error(run_cli("answers", path))
        assert not server.requests
