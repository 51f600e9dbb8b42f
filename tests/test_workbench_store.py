"""Studies on disk: they are there after a restart, whole, and nothing of them is left when they are deleted."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from plurivox.base.errors import FileError, SelectionError
from plurivox.workbench.records import DONE, INTERRUPTED, RUNNING, ChangedError
from plurivox.workbench.store import StudyStore


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], StudyStore]]:
    """Yield what opens a folder, once more after a restart; all are closed at the end."""
    every: list[StudyStore] = []

    def open_store() -> StudyStore:
        for one in every:
            one.close()
        every.append(StudyStore(tmp_path / "bench"))
        return every[-1]

    yield open_store
    for one in every:
        one.close()


@pytest.fixture
def store(opened: Callable[[], StudyStore]) -> StudyStore:
    return opened()


def put(store: StudyStore, study: str, role: str, name: str, content: bytes = b"a,b\n") -> None:
    with store.adding(study, role, name) as upload:
        upload.write(content)


def files_of(store: StudyStore, study: str) -> list[bytes]:
    return sorted(path.read_bytes() for path in store.inputs(study).iterdir())


def test_a_study_is_there_after_a_restart(store: StudyStore, opened: Callable[[], StudyStore]) -> None:
    study = store.add_study("One", {"scale": "0:4"}, {"by": [["age"]]})
    put(store, study, "ratings", "My ratings.csv", b"item,rater,score\n")
    store.write_note(study, "cohesion", "look here")
    before = store.study(study)
    again = opened()
    assert again.study(study) == before
    assert again.notes(study) == {"cohesion": "look here"}
    assert before.files["ratings"].shown == "My ratings.csv"
    assert (before.reading, before.asked) == ({"scale": "0:4"}, {"by": [["age"]]})


@pytest.mark.parametrize(
    "name",
    ["../../etc/passwd", "..\\..\\x.csv", "/etc/passwd", "a/../b.csv", "", "\x00.csv", "x" * 5000 + ".csv", "..", "."],
)
def test_files_are_named_by_us(store: StudyStore, name: str) -> None:
    study = store.add_study("One")
    put(store, study, "ratings", name)
    stored = store.study(study).files["ratings"].stored
    assert stored.startswith("ratings-")
    assert "/" not in stored
    assert len(stored) < 40
    assert [path.name for path in store.inputs(study).iterdir()] == [stored]


def test_a_file_in_the_place_of_another_leaves_nothing_of_it(store: StudyStore) -> None:
    study = store.add_study("One")
    put(store, study, "ratings", "a.csv", b"old")
    put(store, study, "ratings", "b.parquet", b"new")
    assert files_of(store, study) == [b"new"]
    assert store.study(study).revision == 2


def test_an_upload_that_breaks_off_changes_nothing(store: StudyStore) -> None:
    study = store.add_study("One")
    put(store, study, "ratings", "a.csv", b"old")
    before = store.study(study)

    def break_off() -> None:
        with store.adding(study, "ratings", "b.csv") as upload:
            upload.write(b"half of")
            raise EOFError

    with pytest.raises(EOFError):
        break_off()
    assert store.study(study) == before
    assert files_of(store, study) == [b"old"]
    assert store.rows("select count(*) from ours")[0][0] == 2


def test_deleting_a_study_deletes_its_files(store: StudyStore) -> None:
    study, other = store.add_study("One"), store.add_study("Two")
    put(store, study, "ratings", "a.csv")
    store.add_run(study, "run", "key", {})
    store.write_note(study, "answer", "gone")
    store.delete_study(study)
    assert [one.id for one in store.studies()] == [other]
    assert not store.home(study).exists()
    with pytest.raises(SelectionError, match="no such study"):
        store.study(study)
    base = sqlite3.connect(store.folder / "workbench.sqlite3")
    for table in ("files", "runs", "notes"):
        assert base.execute(f"select count(*) from {table}").fetchone() == (0,)
    base.close()


def test_two_tabs_cannot_both_change_one_state(store: StudyStore) -> None:
    study = store.add_study("One")
    seen = store.study(study).revision
    store.change_study(study, seen, name="first")
    with pytest.raises(ChangedError, match="another tab"):
        store.change_study(study, seen, name="second")
    assert store.study(study).name == "first"


def test_runs_that_did_not_end_are_interrupted_after_a_restart(
    store: StudyStore, opened: Callable[[], StudyStore]
) -> None:
    study = store.add_study("One")
    going, done = store.add_run(study, "run", "a", {"by": []}), store.add_run(study, "run", "b", {})
    store.end_run(going.id, RUNNING)
    store.end_run(done.id, DONE)
    again = opened()
    assert {run.id: run.state for run in again.runs(study)} == {going.id: INTERRUPTED, done.id: DONE}
    assert again.run(going.id).ended is not None


def test_what_was_made_and_no_row_tells_of_is_swept_away(store: StudyStore, opened: Callable[[], StudyStore]) -> None:
    """As after a kill in the midst of an upload, of a new study, and of a deletion: the names were noted before."""
    study = store.add_study("One")
    put(store, study, "ratings", "a.csv", b"kept")
    cut = store.inputs(study) / "ratings-12345678.csv"
    begun, deleted = store.folder / "studies" / "0123456789ab", store.add_study("Two")
    put(store, deleted, "ratings", "b.csv", b"deleted")
    with store.receiving(study, "ratings", "a.csv") as upload:
        upload.write(b"arrived")
    (store.home(deleted) / "study.json").unlink()  # with which a deletion begins
    with store.changing() as base:
        row = (study, "ratings", "a.csv", upload.stored.stored, 7, upload.stored.sha256)
        base.execute("insert into arrived values (?, ?, ?, ?, ?, ?)", row)
        base.execute("insert into ours values (?, ?)", (study, cut.name))
        base.execute("insert into ours values (?, '')", (begun.name,))
        base.execute("delete from studies where id = ?", (deleted,))
    cut.write_bytes(b"of an upload that was cut off")
    cut.with_name(f".{cut.name}.0123abcd.part").write_bytes(b"half of it")
    (begun / "inputs").mkdir(parents=True)
    again = opened()
    assert files_of(again, study) == [b"arrived", b"kept"]
    assert [path.name for path in (again.folder / "studies").iterdir()] == [study]
    assert again.rows("select count(*) from ours")[0][0] == 3  # the study and its files
    assert again.remarks == []


def test_what_others_put_there_stays(store: StudyStore, opened: Callable[[], StudyStore]) -> None:
    study, deleted = store.add_study("One"), store.add_study("Two")
    put(store, study, "ratings", "a.csv", b"kept")
    put(store, deleted, "ratings", "a.csv", b"gone")
    theirs = {
        store.folder / "notes.txt": b"1", store.folder / "studies" / "list.txt": b"2",
        store.folder / "studies" / "2024-survey" / "interviews.csv": b"3",
        store.folder / "studies" / "0123456789ab" / "inputs" / "ratings-12345678.csv": b"4",
        store.inputs(study) / "ratings-12345678.csv": b"5", store.inputs(study) / "other.csv": b"6",
        store.made(study) / "sketch.png": b"7", store.made(deleted) / "results" / "mine.json": b"8",
        store.home(deleted) / "letter.txt": b"9", store.inputs(deleted) / "ratings-12345678.csv": b"10",
    }  # fmt: skip
    for path, content in theirs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    (store.made(deleted) / ("0" * 24)).mkdir()
    (store.made(deleted) / ("0" * 24) / "done.json").write_text("{}")
    store.delete_study(deleted)
    assert not (store.made(deleted) / ("0" * 24)).exists()
    again = opened()
    assert {path: path.read_bytes() for path in theirs} == theirs
    assert len(list(again.home(deleted).rglob("*"))) == 6  # theirs, and the folders that these are in
    named = ", ".join(sorted(["2024-survey", "0123456789ab", deleted]))
    assert again.remarks == [f"3 folders in studies/ are not studies, and are left alone: {named}"]


def test_one_server_at_a_time(store: StudyStore) -> None:
    with pytest.raises(FileError, match="another plurivox serve is using it"):
        StudyStore(store.folder)
    store.close()
    StudyStore(store.folder).close()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="--folder"):
        StudyStore(tmp_path / "file")


def test_a_damaged_base_is_named(tmp_path: Path) -> None:
    StudyStore(tmp_path).close()
    (tmp_path / "workbench.sqlite3").write_bytes(b"this is not a database" * 100)
    with contextlib.closing(StudyStore(tmp_path)) as store:
        assert "was damaged (file is not a database)" in store.remarks[0]
    assert (tmp_path / "damaged-1" / "workbench.sqlite3").read_bytes().startswith(b"this is not a database")


@pytest.mark.parametrize("name", ["..", "../x", "a/b", "", "a.b"])
def test_no_path_outside_the_folder_can_be_named(store: StudyStore, name: str) -> None:
    with pytest.raises(SelectionError, match="no such study"):
        store.home(name)


def test_unknown_roles_and_files_are_refused(store: StudyStore) -> None:
    study = store.add_study("One")
    with pytest.raises(SelectionError, match="ratings, raters"):
        put(store, study, "secrets", "a.csv")
    with pytest.raises(SelectionError, match="no file 'raters'"):
        store.remove_file(study, "raters")
