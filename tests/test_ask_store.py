"""The store of answers: nothing is asked twice, nothing stored is lost."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from plurivox.ask import database
from plurivox.ask import store as module
from plurivox.ask.database import StoreError
from plurivox.ask.question import Question, Reply, Request
from plurivox.ask.store import Store
from plurivox.base.errors import FileError, InputError, PlurivoxError
from support import some

ABOUT = {"labels": ["never", "sometimes", "often"], "question": "How rude is it?"}
KEPT = "answers stored before are intact"


def a_request(item: object = 0, **changes: Any) -> Request:
    given: dict[str, Any] = {"model": "small", "prompt": "plain", "sample": 0, "order": (0, 1, 2)} | changes
    messages = ({"role": "user", "content": f"How rude is {item}? {given['prompt']}"},)
    return Request("http://localhost:1", item=str(item), messages=messages, params={"temperature": 1.0}, **given)


REQUESTS = [a_request(item) for item in range(20)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.db"


def rows(path: Path, statement: str = "SELECT * FROM answers ORDER BY item") -> list[dict[str, Any]]:
    """Look into the file without the store."""
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(statement)]


def change(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


def answer(store: Store, *requests: Request) -> None:
    for request in requests:
        store.put(request, Reply("A"), state="answered", point=0)


# what is stored
def test_everything_comes_back(path: Path) -> None:
    request = a_request("ä/7", order=(2, 0, 1), mode="logprobs", sample=3)
    text = "B) „sometimes“ 🙂\n\ta\u200dé " + "x" * 100_000
    reply = Reply(text, "", "stop", "small-2026", 120, 7, (("B", -0.1),), attempts=2, seconds=0.5)
    reading: dict[str, Any] = {"state": "answered", "point": 0, "rule": "letter first", "span": (0, 1)}
    with Store.open(path, ABOUT) as store:
        assert store.claim([request]) == [request]
        store.put(request, reply, **reading, distribution=[0.1, 1 / 3, 0.5], held=0.97)
    (row,) = rows(path)
    assert (row["span_start"], row["span_end"], row["attempts"], row["seconds"]) == (0, 1, 2, 0.5)
    assert row["refusal"] == row["error"] == ""
    assert (row["key"], tuple(json.loads(row["messages_json"]))) == (request.key, request.messages)
    with Store.read(path) as store:
        assert store.about == ABOUT
        (shown,) = store.frame(with_prompts=True).to_dicts()
    assert shown.pop("asked_at").endswith("+00:00")
    assert tuple(json.loads(shown.pop("messages"))) == request.messages
    assert shown == {
        "model": "small", "prompt": "plain", "item": "ä/7", "sample": 3, "state": "answered", "answer": "never",
        "point": 0, "rule": "letter first", "text": text, "read": "B", "distribution": [0.1, 1 / 3, 0.5],
        "held": 0.97, "finish": "stop", "version": "small-2026", "prompt_tokens": 120, "completion_tokens": 7,
        "server": "http://localhost:1", "mode": "logprobs", "params": '{"temperature": 1.0}', "order": [2, 0, 1],
        "error": "",
    }  # fmt: skip


def test_frame_is_sorted_and_typed_also_if_empty_or_in_chunks(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHUNK", 3)
    names = [
        "model", "prompt", "item", "sample", "state", "answer", "point", "rule", "text", "read", "distribution", "held",
        "finish", "version", "prompt_tokens", "completion_tokens", "server", "mode", "params", "order", "error",
        "asked_at",
    ]  # fmt: skip
    requests = [
        a_request(item, model=model, prompt=prompt, sample=sample)
        for sample in (1, 0) for item in ("z", "b", "é") for prompt in ("two", "one") for model in ("m2", "m1")
    ]  # fmt: skip
    with Store.open(path, ABOUT) as store:
        empty = store.frame()
        store.claim([*requests, a_request("not answered")])
        answer(store, *requests)
        frame = store.frame()
        assert store.frame(True).columns == [*names, "messages"]
    assert (frame.columns, frame.schema) == (names, empty.schema)
    assert (frame.schema["distribution"], frame.schema["order"]) == (pl.List(pl.Float64), pl.List(pl.Int64))
    assert frame.height == len(requests)
    keys = [(one.model, one.prompt, one.item, one.sample) for one in requests]
    assert frame.select("model", "prompt", "item", "sample").rows() == sorted(keys)


def test_counts_and_tokens(path: Path) -> None:
    with Store.open(path, ABOUT) as store:
        store.claim(REQUESTS)
        answer(store, *REQUESTS[:3])
        store.put(REQUESTS[3], Reply("", "no", prompt_tokens=10, completion_tokens=2), state="refused")
        store.put(REQUESTS[4], Reply("?", prompt_tokens=5, completion_tokens=1), state="unreadable")
        store.put(REQUESTS[5], None, state="failed", error="timed out")
        store.put(a_request(prompt="other", model="big"), Reply("A"), state="answered", point=2)
        assert store.counts() == {
            ("big", "other"): {"answered": 1},
            ("small", "plain"): {"answered": 3, "refused": 1, "unreadable": 1, "failed": 1},
        }
        assert store.tokens() == {"big": (0, 0), "small": (15, 3)}


def test_odd_texts_points_and_names_are_stored(path: Path) -> None:
    path.symlink_to(path.with_name("a?mode=ro#x%41 ü.db"))
    store = Store.open(path)
    store.put(REQUESTS[0], Reply("B\ud83d!\0end"), state="unreadable", error="\udc00")
    threads = [threading.Thread(target=answer, args=(store, *REQUESTS[at::4])) for at in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    store.close()
    assert path.is_symlink()
    reading = Store.read(path.with_name("a?mode=ro#x%41 ü.db"))
    frame, connection = reading.frame(), reading._connection
    assert (frame.height, reading.about) == (len(REQUESTS), {})
    assert frame.row(0, named=True)["text"] == "B\ufffd!\0end"
    assert (frame["error"][0], frame["answer"].null_count()) == ("\ufffd", len(REQUESTS))  # no labels are known
    del reading, store
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):  # what is forgotten closes its file
        connection.execute("SELECT 1")


# claims
def test_nothing_is_claimed_twice_by_one_run_nor_by_two(path: Path) -> None:
    with Store.open(path, ABOUT) as store, Store.open(path, ABOUT) as other:
        assert store.claim([*REQUESTS[:15], *REQUESTS[:15]]) == REQUESTS[:15]
        answer(store, *REQUESTS[:5])
        assert store.claim(REQUESTS[:15]) == []
        assert other.claim(REQUESTS) == REQUESTS[15:]


def test_released_and_closed_claims_are_free_and_answers_stay(path: Path) -> None:
    with Store.open(path, ABOUT) as one, Store.open(path, ABOUT) as other:
        one.claim(REQUESTS)
        answer(one, REQUESTS[0])
        one.release(REQUESTS[:5])
        other.release(REQUESTS)
        assert other.claim(REQUESTS) == REQUESTS[1:5]
        one.close()
        one.close()
        assert other.claim(REQUESTS) == REQUESTS[5:]
    assert [row["key"] for row in rows(path)] == [REQUESTS[0].key]
    assert rows(path, "SELECT * FROM runs") == []


def test_failed_requests_are_claimed_again_by_later_runs_only(path: Path) -> None:
    with Store.open(path, ABOUT) as one, Store.open(path, ABOUT) as later:
        one.put(REQUESTS[0], None, state="failed", error="timed out")
        later.put(REQUESTS[1], None, state="failed")
        one.put(REQUESTS[2], Reply("", "no"), state="refused")
        one.put(REQUESTS[3], Reply("?"), state="unreadable")
        assert one.claim(REQUESTS[:4]) == []
    with Store.open(path, ABOUT) as third:
        assert third.claim(REQUESTS[:4]) == REQUESTS[:2]
        third.put(REQUESTS[0], None, state="failed")
        assert third.claim(REQUESTS[:4]) == []


def test_a_recycled_process_number_is_not_taken_for_the_run(path: Path) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("only Linux tells when a process started")
    with Store.open(path, ABOUT) as one, Store.open(path, ABOUT) as other:
        one.claim(REQUESTS)
        change(path, f"UPDATE runs SET started_ticks = started_ticks - 1 WHERE id = {one.run}")
        assert other.claim(REQUESTS) == REQUESTS


def test_a_run_on_another_host_lives_by_its_heartbeat(path: Path) -> None:
    with Store.open(path, ABOUT) as far, Store.open(path, ABOUT) as here:
        far.claim(REQUESTS[:3])
        change(path, f"UPDATE runs SET host = 'far', pid = 999999999, heartbeat = heartbeat - 30 WHERE id = {far.run}")
        assert here.claim(REQUESTS[:3]) == []
        change(path, f"UPDATE runs SET heartbeat = heartbeat - 40 WHERE id = {far.run}")
        assert here.claim(REQUESTS[:3]) == REQUESTS[:3]
        # It was only asleep, and comes back.
        answer(here, REQUESTS[0])
        far.put(REQUESTS[0], None, state="failed")
        far.put(REQUESTS[1], Reply("C"), state="answered", point=2)
        here.put(REQUESTS[1], None, state="failed")
        far.beat()
        assert (far.claim(REQUESTS[:3]), here.frame()["answer"].to_list()) == ([], ["never", "often"])
        assert len(rows(path, "SELECT * FROM runs")) == 2


CHILD = """
import sys, time
from plurivox.ask.question import Reply, Request
from plurivox.ask.store import Store
requests = [Request("s", "m", "p", str(n), 0, (0,), ({"role": "user", "content": str(n)},)) for n in range(500)]
store = Store.open(sys.argv[1], {"labels": ["a"]})
print("ready", flush=True)
sys.stdin.readline()
"""
CLAIM_ALL = (
    CHILD
    + """
for start in range(0, 500, 5):
    for request in store.claim(requests[start : start + 5]):
        store.put(request, Reply(str(store.run)), state="answered", point=0)
        print(request.item, flush=True)
store.close()
"""
)
ANSWER_HALF = (
    CHILD
    + """
store.claim(requests[:400])
for request in requests[:200]:
    store.put(request, Reply("A"), state="answered", point=0)
print("stored", flush=True)
for request in requests[200:300]:  # killed somewhere in between, or after
    store.put(request, Reply("A"), state="answered", point=0)
time.sleep(600)
"""
)


@contextmanager
def child(script: str, path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", script, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def line(process: subprocess.Popen[str]) -> str:
    return some(process.stdout).readline().strip()


def go(process: subprocess.Popen[str]) -> None:
    some(process.stdin).write("go\n")
    some(process.stdin).flush()


def test_two_processes_share_the_requests(path: Path) -> None:
    with child(CLAIM_ALL, path) as one, child(CLAIM_ALL, path) as other:
        assert line(one) == line(other) == "ready"
        go(one)
        go(other)
        mine, theirs = (process.communicate()[0].split() for process in (one, other))
    assert sorted(mine + theirs, key=int) == [str(n) for n in range(500)]
    assert (one.returncode, other.returncode) == (0, 0)
    assert {row["text"] for row in rows(path)} <= {"1", "2"}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
def test_a_killed_process_loses_nothing_and_its_claims_are_free_at_once(path: Path) -> None:
    requests = [Request("s", "m", "p", str(n), 0, (0,), ({"role": "user", "content": str(n)},)) for n in range(500)]
    with child(ANSWER_HALF, path) as process:
        assert line(process) == "ready"
        go(process)
        assert line(process) == "stored"
        os.kill(process.pid, signal.SIGKILL)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # dead, but still in the table of processes
        with Store.open(path, {"labels": ["a"]}) as store:
            claimed = store.claim(requests)
            answered = store.frame()
    assert set(answered["item"].to_list()) >= {str(n) for n in range(200)}
    assert {one.item for one in claimed} == {one.item for one in requests} - set(answered["item"].to_list())
    assert rows(path, "PRAGMA integrity_check") == [{"integrity_check": "ok"}]


# what it is about
def test_another_question_or_scale_is_refused_and_named(path: Path) -> None:
    Store.open(path).close()
    Store.open(path, ABOUT).close()  # a store without a question takes it over
    Store.open(path, {"labels": ("never", "sometimes", "often"), "question": "How rude is it?"}).close()
    Store.open(path).close()
    with Store.read(path) as store:
        assert store.about == ABOUT
    for other, told in (
        (ABOUT | {"question": "How kind?"}, r"answers to another question: 'How rude is it\?'; now it is 'How kind\?'"),
        (ABOUT | {"labels": ["no", "yes"]}, "on another scale: 'never, sometimes, often'; now it is 'no, yes'"),
        ({"question": "How rude is it?"}, "on another scale: 'never, sometimes, often'; now it is 'none'"),
    ):
        with pytest.raises(InputError, match=told) as raised:
            Store.open(path, other)
        assert "Choose another file with -o" in str(raised.value)
    assert rows(path, "SELECT * FROM runs") == []
    long = path.with_name("long.db")  # questions that differ late are told in full
    Store.open(long, ABOUT | {"question": "word " * 60 + "one"}).close()
    with pytest.raises(InputError, match=r"word one.*word two"):
        Store.open(long, ABOUT | {"question": "word " * 60 + "two"})


# files that are no store
def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []


def refused(path: Path, match: str, **options: Any) -> None:
    """See that opening raises one plain line and leaves the folder as it was."""
    before = names(path.parent)
    with pytest.raises(FileError, match=match) as told:
        Store.open(path, ABOUT, **options)
    assert "\n" not in str(told.value)
    assert str(path) in str(told.value)
    assert names(path.parent) == before


def test_files_that_are_no_store_are_refused(path: Path) -> None:
    """Further ones are in test_ask_durability."""
    refused(path, "there is no such file", create=False)
    refused(path.parent / "nowhere" / "a.db", "there is no folder")
    refused(path.parent / ("x" * 300), "cannot be opened")
    with pytest.raises(FileError, match="no such file"):
        Store.read(path.with_name("other.db"))
    path.write_bytes(b"item,score\n1,2\n" * 400)
    refused(path, "it is not a store of answers")
    assert path.read_bytes().startswith(b"item,score")
    path.unlink()
    Store.open(path, ABOUT).close()
    change(path, "PRAGMA user_version = 2")
    refused(path, r"a newer plurivox wrote it \(version 2 of the file; this one knows 1\)")
    with pytest.raises(FileError, match="newer"):
        Store.read(path)


@contextmanager
def as_plain_user() -> Iterator[None]:
    """Permissions do not bind the superuser."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has other permissions")
def test_without_permission_it_can_be_read_at_most() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "answers.db"
        with Store.open(path, ABOUT) as store:
            answer(store, *REQUESTS)
        path.chmod(0o444)
        folder.chmod(0o555)
        try:
            with as_plain_user():
                refused(folder / "new.db", "cannot be opened")
                refused(path, "cannot be opened|can be read but not written")
                with Store.read(path) as store:
                    assert store.frame().height == len(REQUESTS)
            path.chmod(0)
            with as_plain_user():
                refused(path, "cannot be opened")
        finally:
            folder.chmod(0o755)


def test_what_cannot_be_created_is_not_left_behind(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(TypeError):
        Store.open(path, {"labels": {1, 2}})
    with monkeypatch.context() as patch:
        patch.setattr(database, "SCHEMA", "PRAGMA max_page_count = 2;" + database.SCHEMA)
        with pytest.raises(StoreError, match="the disk is full"):
            Store.open(path, ABOUT)
    assert list(path.parent.iterdir()) == []


def test_without_hard_links_it_is_created_all_the_same(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", link)
    with Store.open(path, ABOUT) as store:
        assert store.claim(REQUESTS) == REQUESTS
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


# reading, and trouble while writing


@pytest.mark.parametrize(("durable", "level"), [(False, 1), (True, 2)])
def test_durable_waits_for_the_disk_and_others_may_read(path: Path, durable: bool, level: int) -> None:
    with Store.open(path, ABOUT, durable=durable) as writing, Store.read(path) as reading:
        assert writing._execute("PRAGMA synchronous") == [(level,)]
        assert writing._execute("PRAGMA journal_mode") == [("wal",)]
        writing.claim(REQUESTS)
        assert reading.frame().height == 0
        answer(writing, *REQUESTS[:2])
        assert reading.frame().height == 2
        writing._connection.execute("BEGIN IMMEDIATE")
        assert reading.counts() == {("small", "plain"): {"answered": 2}}
        writing._connection.execute("ROLLBACK")
        with pytest.raises(FileError, match="not written"):
            reading.claim(REQUESTS)


def fill(store: Store) -> None:
    for item in range(1000):
        store.put(a_request(item), Reply("x" * 5000), state="unreadable")


def test_a_full_disk_leaves_what_was_stored(path: Path) -> None:
    with Store.open(path, ABOUT) as store:
        ((pages,),) = store._execute("PRAGMA page_count")
        store._execute(f"PRAGMA max_page_count = {pages + 20}")
        with pytest.raises(StoreError, match=KEPT) as told:
            fill(store)
        assert "the disk is full" in str(told.value)
        assert "\n" not in str(told.value)
        with pytest.raises(StoreError, match="full"):
            store.claim([a_request(item, prompt="long") for item in range(1000)])
        stored = store.frame()["item"].to_list()
        assert sorted(stored, key=int) == [str(item) for item in range(len(stored))]
        assert stored
    assert (rows(path, "PRAGMA integrity_check"), len(rows(path))) == ([{"integrity_check": "ok"}], len(stored))


def test_a_lock_held_too_long_is_told(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 0.05)
    with Store.open(path, ABOUT) as store, Store.open(path, ABOUT) as other:
        other._connection.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match=f"locked it.*{KEPT}"):
            answer(store, REQUESTS[0])
        other._connection.execute("ROLLBACK")
        answer(store, REQUESTS[0])


def test_a_closed_store_and_a_disk_that_fails_say_so(path: Path) -> None:
    store = Store.open(path, ABOUT)
    store.close()
    for use in (store.beat, store.counts, store.frame, lambda: store.claim(REQUESTS)):
        with pytest.raises(PlurivoxError, match="closed"):
            use()
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR_FSYNC
    assert "could not be read or written" in str(database.explained(error, "a.db"))
    assert isinstance(database.explained(sqlite3.Error("odd"), "a.db"), StoreError)


def test_an_interrupted_claim_claims_nothing(path: Path) -> None:
    def interrupted() -> Iterator[Request]:
        yield from REQUESTS
        raise KeyboardInterrupt

    with Store.open(path, ABOUT) as store:
        with pytest.raises(KeyboardInterrupt):
            store.claim(interrupted())  # type: ignore[arg-type]
        assert store.claim(REQUESTS) == REQUESTS


@pytest.mark.slow
def test_many_answers_take_no_memory(path: Path) -> None:
    def ask(store: Store, first: int, last: int) -> None:
        for start in range(first, last, 500):
            for request in store.claim([a_request(item) for item in range(start, start + 500)]):
                store.put(request, Reply("A" * 500), state="answered", point=1)

    with Store.open(path, ABOUT) as store:
        ask(store, 0, 1_000)
        blocks = sys.getallocatedblocks()
        ask(store, 1_000, 19_000)
        assert sys.getallocatedblocks() < blocks + 2_000
        tracemalloc.start()  # slow, so for the last of them only
        try:
            ask(store, 19_000, 20_000)
            assert tracemalloc.get_traced_memory()[1] < 3_000_000
        finally:
            tracemalloc.stop()
        assert store.counts() == {("small", "plain"): {"answered": 20_000}}


def test_descriptions_of_further_prompts_join_and_others_are_refused(tmp_path: Path) -> None:
    path, about = tmp_path / "a.db", {"labels": ["no", "yes"]}
    for told in ({"one": ["n", "y"]}, {"two": ["never", "always"]}, {"one": ["n", "y"], "three": ["a", "b"]}):
        Store.open(path, about | {"descriptions": told}).close()
    known = {"one": ["n", "y"], "two": ["never", "always"], "three": ["a", "b"]}
    for other in ({"two": ["rarely", "always"]}, ["n", "y"]):
        with pytest.raises(InputError, match="with other descriptions"):
            Store.open(path, about | {"descriptions": other})
    with Store.read(path) as store:
        assert store.about == about | {"descriptions": known}
        question = Question.from_about(store.about)
    assert [question.options((1, 0), prompt)[0].description for prompt in ("two, raw", "twofold")] == ["always", ""]
