"""Where a workbench may live: it starts in folders of all kinds, and not a byte of what is not its own changes."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plurivox.base.errors import FileError
from plurivox.workbench.records import DATABASE, MARKER
from plurivox.workbench.store import StudyStore

OLD = Path(__file__).parent / "stores" / "0.2.0.zip"
"""A folder that version 0.2.0 made: two studies, one with a note, settings and a counted look."""
Seen = dict[str, tuple[object, ...]]


def seen(folder: Path) -> Seen:
    """Return all that is in a folder, byte for byte, with modes, times, and where links lead."""
    found: Seen = {}
    for path in sorted(folder.rglob("*")):
        now = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (now.st_mode, now.st_mtime_ns if not path.is_dir() else 0, content)
    return found


def write(path: Path, content: bytes = b"item,rater,score\na,b,1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def with_a_study(folder: Path) -> str:
    """Make a store with one study of one file, closed."""
    with contextlib.closing(StudyStore(folder)) as store:
        study = store.add_study("One")
        with store.adding(study, "ratings", "ratings.csv") as upload:
            upload.write(b"item,rater,score\na,b,1\n")
        return study


def start(folder: Path) -> tuple[list[str], list[str]]:
    """Start in a folder, add and delete a study, and end; return the names of the studies, and the remarks."""
    with contextlib.closing(StudyStore(folder)) as store:
        names = sorted(one.name for one in store.studies())
        new = store.add_study("new")
        with store.adding(new, "ratings", "ratings.csv") as upload:
            upload.write(b"x")
        store.delete_study(new)
        return names, store.remarks


# Folders of others ---------------------------------------------------------------------------------------------------
def project(folder: Path) -> None:
    write(folder / "studies" / "2024-survey" / "interviews.csv")
    write(folder / "README.md")


def only_studies(folder: Path) -> None:
    write(folder / "studies" / "2024-survey" / "interviews.csv")


def home(folder: Path) -> None:
    for name in (".bashrc", ".ssh/id_ed25519", "Documents/thesis.docx", "studies/a/inputs/b.csv", "lock"):
        write(folder / name)


def names_like_ours(folder: Path) -> None:
    write(folder / "studies" / "0123456789ab" / "inputs" / "ratings-12345678.csv")
    write(folder / "lock", b"")


def study_is_a_file(folder: Path) -> None:
    write(folder / "studies")


def something_incoming(folder: Path) -> None:
    write(folder / "incoming" / "letter.txt")


def foreign_base(folder: Path) -> None:
    project(folder)
    with contextlib.closing(sqlite3.connect(folder / DATABASE)) as base:
        base.executescript("create table studies (title text); insert into studies values ('a survey');")


def dead(base: Path, *lines: str) -> None:
    """Let a process die that has changed a base, so that the end of the file is in the log beside it."""
    done = "".join(f" b.execute({line!r});" for line in ("pragma journal_mode = wal", *lines))
    program = f"import sqlite3, os; b = sqlite3.connect({str(base)!r});{done} b.commit(); os._exit(0)"
    subprocess.run([sys.executable, "-c", program], check=True)


def foreign_base_in_use(folder: Path) -> None:
    project(folder)
    dead(folder / DATABASE, "create table t (a)", "insert into t values (1)")
    assert (folder / f"{DATABASE}-wal").stat().st_size


def text_called_base(folder: Path) -> None:
    project(folder)
    write(folder / DATABASE, b"notes on workbenches")


def old_store_damaged_beyond_recognition(folder: Path) -> None:
    shutil.unpack_archive(OLD, folder)
    (folder / DATABASE).write_bytes(b"")


def old_store_without_base(folder: Path) -> None:
    shutil.unpack_archive(OLD, folder)
    (folder / DATABASE).unlink()


def other_marker(folder: Path) -> None:
    project(folder)
    write(folder / MARKER, b'{"kind": "a recipe for tables", "version": 1}')


def marker_of_nothing(folder: Path) -> None:
    project(folder)
    write(folder / MARKER, b"[" * 100_000)


def pipe_called_marker(folder: Path) -> None:
    project(folder)
    os.mkfifo(folder / MARKER)


def newer_marker(folder: Path) -> None:
    with_a_study(folder)
    write(folder / MARKER, json.dumps({"kind": "plurivox workbench", "version": 2}).encode())


def newer_base(folder: Path) -> None:
    study = with_a_study(folder)
    with contextlib.closing(sqlite3.connect(folder / DATABASE)) as base:
        base.execute("alter table studies add column colour text")
        base.execute("pragma user_version = 3")
    write(folder / "studies" / study / "inputs" / "ratings-00000000.csv")


def newer_base_unmarked(folder: Path) -> None:
    newer_base(folder)
    (folder / MARKER).unlink()


def marked_but_studies_is_a_file(folder: Path) -> None:
    with_a_study(folder)
    shutil.rmtree(folder / "studies")
    write(folder / "studies")


def base_is_a_folder(folder: Path) -> None:
    with_a_study(folder)
    (folder / DATABASE).unlink()
    write(folder / DATABASE / "letter.txt")


def linked(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        with_a_study(folder)
        other = folder.parent / "elsewhere" / name
        other.parent.mkdir()
        if (folder / name).exists():
            (folder / name).rename(other)
        else:
            other.mkdir()
        (folder / name).symlink_to(other)

    make.__name__ = f"linked_{name}"
    return make


FOREIGN: dict[Callable[[Path], None], str] = {
    project: "not empty, and not a folder of the workbench", only_studies: "not empty", home: "not empty",
    names_like_ours: "not empty", study_is_a_file: "not empty", something_incoming: "not empty",
    foreign_base: "not the list of studies of a workbench", foreign_base_in_use: "not the list of studies",
    text_called_base: "not empty", old_store_damaged_beyond_recognition: "not empty",
    old_store_without_base: "not empty", other_marker: "not empty", marker_of_nothing: "not empty",
    pipe_called_marker: "not empty", newer_marker: "made by a newer version of plurivox",
    newer_base: "made by a newer version of plurivox", newer_base_unmarked: "made by a newer version of plurivox",
    marked_but_studies_is_a_file: "studies: it is not a folder", base_is_a_folder: "it is a folder, not a file",
    linked("studies"): "studies: it is a link", linked("lock"): "lock: it is a link",
    linked("incoming"): "incoming: it is a link", linked(DATABASE): "sqlite3: it is a link",
    linked(MARKER): "json: it is a link",
}  # fmt: skip


@pytest.mark.parametrize("make", FOREIGN, ids=lambda make: make.__name__)
def test_a_folder_of_others_is_refused_and_stays_as_it_is(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder)
    before = seen(tmp_path)
    for _ in range(2):
        with pytest.raises(FileError, match=FOREIGN[make]) as found:
            StudyStore(folder, adopt=True)
        assert "--folder" in str(found.value)
        assert "Nothing was changed" in str(found.value)
    assert seen(tmp_path) == before


def test_a_folder_that_is_read_only_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        with_a_study(disk / "store")
        shutil.unpack_archive(OLD, disk / "old")
        (disk / "empty").mkdir()
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        before = seen(disk)
        for name in ("store", "old", "empty", "new"):
            with pytest.raises(FileError, match=r"Read-only file system.*--folder"):
                StudyStore(disk / name)
        assert seen(disk) == before
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=True)


def test_the_command_refuses_in_one_line(tmp_path: Path) -> None:
    pytest.importorskip("starlette")
    project(tmp_path)
    before = seen(tmp_path)
    line = [sys.executable, "-m", "plurivox", "serve", "--folder", str(tmp_path), "--no-open"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: {tmp_path}: it is not empty, and not a folder of the workbench. "
        "Name a new or empty folder with --folder. Nothing was changed.\n"
    )
    assert seen(tmp_path) == before


# Folders of ours -----------------------------------------------------------------------------------------------------
def nothing(folder: Path) -> None:
    """A folder that does not exist."""
    folder.rmdir()


def empty(folder: Path) -> None:
    """An empty folder."""


def interrupted_at_once(folder: Path) -> None:
    """What a first start leaves that is killed before the folder is marked."""
    write(folder / "lock", b"")
    write(folder / f".{MARKER}.0123abcd.part", b'{"ki')


@pytest.mark.parametrize("make", [nothing, empty, interrupted_at_once])
def test_a_new_folder_is_marked(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    make(folder)
    assert start(folder) == ([], [])
    assert json.loads((folder / MARKER).read_text()) == {"kind": "plurivox workbench", "version": 1}
    write(folder / "notes.txt")
    assert start(folder) == ([], [])


def test_a_store_of_version_0_2_goes_on_and_gets_the_marker(tmp_path: Path) -> None:
    shutil.unpack_archive(OLD, tmp_path)
    inputs = {path: path.read_bytes() for path in tmp_path.glob("studies/*/inputs/*")}
    assert len(inputs) == 2
    assert start(tmp_path) == (["Second", "ratings"], [])
    assert (tmp_path / MARKER).is_file()
    with contextlib.closing(StudyStore(tmp_path)) as store:
        first = next(one for one in store.studies() if one.name == "ratings")
        assert first.reading == {"scale": "0:3", "rater_attributes": ["gender"]}
        assert first.asked["by"] == [["gender"]]
        assert store.notes(first.id) == {"cohesion": "look here"}
        assert {path: path.read_bytes() for path in inputs} == inputs
        for one in store.studies():
            store.delete_study(one.id)  # which knows the names of files that version 0.2 made
    assert not list((tmp_path / "studies").iterdir())


def test_an_old_store_that_a_killed_server_left(tmp_path: Path) -> None:
    """Its tables may be only in the log beside the file."""
    shutil.unpack_archive(OLD, tmp_path)
    dead(tmp_path / DATABASE, "update studies set name = name || name")
    assert (tmp_path / f"{DATABASE}-wal").stat().st_size
    assert start(tmp_path)[0] == ["SecondSecond", "ratingsratings"]


# Links within ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("place", ["", "inputs", "made", "made/results", "made/" + "0" * 24])
def test_nothing_behind_a_link_is_deleted(tmp_path: Path, place: str) -> None:
    """A part of a study's folder was moved to another disk, say, and a link put in its place."""
    folder, other = tmp_path / "store", tmp_path / "elsewhere"
    study = with_a_study(folder)
    home = folder / "studies" / study
    write(home / "made" / "results" / f"{'1' * 24}.json")
    write(home / "made" / ("0" * 24) / "done.json")
    (home / place).rename(other)
    (home / place).symlink_to(other)
    before = {name: one for name, one in seen(other).items() if name != "study.json"}
    with contextlib.closing(StudyStore(folder)) as store:
        assert store.study(study).files["ratings"].shown == "ratings.csv"
        with store.adding(study, "ratings", "new.csv") as upload:
            upload.write(b"new")
        store.delete_study(study)
        assert store.studies() == []
    with contextlib.closing(StudyStore(folder)) as store:
        assert any(study in one for one in store.remarks)
    assert (home / place).is_symlink()
    assert {name: one for name, one in seen(other).items() if name in before} == before


def test_links_in_inputs_are_not_followed(tmp_path: Path) -> None:
    folder, mine = tmp_path / "store", write(tmp_path / "mine.csv")
    study = with_a_study(folder)
    (stored,) = (folder / "studies" / study / "inputs").iterdir()
    stored.unlink()
    stored.symlink_to(mine)
    (stored.parent / "theirs.csv").symlink_to(mine)
    (folder / "studies" / study / "study.json").unlink()
    (folder / "studies" / study / "study.json").symlink_to(mine)
    with contextlib.closing(StudyStore(folder)) as store:
        store.write_note(study, "answer", "not written through the link")
        store.delete_study(study)
    assert mine.read_bytes() == b"item,rater,score\na,b,1\n"
    assert [path.name for path in stored.parent.iterdir()] == ["theirs.csv"]


# Damage ---------------------------------------------------------------------------------------------------------------
def changed(name: str, script: str) -> Callable[[Path], None]:
    def damage(base: Path) -> None:
        with contextlib.closing(sqlite3.connect(base)) as opened:
            opened.executescript(script)  # the connection does not enforce references

    damage.__name__ = name
    return damage


without_a_table = changed("without_a_table", "drop table runs")
CHANGED = [
    without_a_table,
    changed("with_a_trigger", "create trigger t after insert on runs begin delete from studies; end"),
    changed("with_a_view", "drop table notes; create view notes as select 1"),
    changed("with_a_row_of_nothing",
            "insert into runs select '0123456789abcdef', id, 'run', 'k', '{', 'done', 0, 0, null from studies"),
    changed("with_a_path_for_a_name",
            "insert into files select id, 'raters', 'a', '../../../mine.csv', 1, sha256 from studies, files;"
            "insert into files select id, 'items', 'a', '/etc/passwd', 1, sha256 from studies, files limit 1"),
    changed("with_paths_for_what_is_ours",
            "insert into ours select id, '../../../../mine.csv' from studies;"
            "insert into ours values ('..', '../mine.csv')"),
    changed("without_the_study", "delete from studies"),
]  # fmt: skip


def with_names_that_are_no_text(base: Path) -> None:
    """SQLite quotes such a name when it says what is wrong."""
    content = base.read_bytes()
    for old, new in ((b"tablerunsruns", b"tabler\xc2nsr\xc2ns"), (b"CREATE TABLE runs (", b"CREATE TABLE runs [")):
        assert old in content
        content = content.replace(old, new)
    base.write_bytes(content)


def cut_off(base: Path) -> None:
    base.write_bytes(base.read_bytes()[:5000])


def of_zeros(base: Path) -> None:
    base.write_bytes(bytes(base.stat().st_size))


def emptied(base: Path) -> None:
    base.write_bytes(b"")


def missing_beside_its_log(base: Path) -> None:
    dead(base, "delete from runs")
    base.unlink()


DAMAGE = [*CHANGED, with_names_that_are_no_text, cut_off, of_zeros, emptied, missing_beside_its_log]


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_a_damaged_list_is_made_anew(tmp_path: Path, damage: Callable[[Path], None]) -> None:
    folder, mine = tmp_path / "store", write(tmp_path / "mine.csv")
    study = with_a_study(folder)
    with contextlib.closing(StudyStore(folder)) as store:
        before = store.study(study)
    damage(folder / DATABASE)
    damaged = {path.name: path.read_bytes() for path in folder.glob(f"{DATABASE}*")}
    names, remarks = start(folder)
    assert names == ["One"]
    assert f"{DATABASE} was damaged" in remarks[0]
    assert {path.name: path.read_bytes() for path in (folder / "damaged-1").iterdir()} == damaged
    assert start(folder) == (["One"], [])  # it is in order now
    with contextlib.closing(StudyStore(folder)) as store:
        now = store.study(study)
        assert all(getattr(now, name) == getattr(before, name) for name in ("name", "files", "reading", "asked"))
        store.delete_study(study)
    assert mine.exists()
    assert not (folder / "studies" / study).exists()


def test_a_list_that_is_in_order_but_lost_rows_costs_no_file(tmp_path: Path) -> None:
    """The log beside the SQLite file was removed, say, with the last changes in it; but names of ours stand."""
    study = with_a_study(tmp_path)
    files = {path: path.read_bytes() for path in (tmp_path / "studies" / study / "inputs").iterdir()}
    for lost, names, remark in (
        ("delete from files", ["One"], "files of One were no longer in the list of studies, and were taken in again"),
        ("delete from studies", [], f"1 folder in studies/ is not in the list of studies: {study}; plurivox"),
    ):
        with contextlib.closing(sqlite3.connect(tmp_path / DATABASE, isolation_level=None)) as base:
            base.execute("pragma foreign_keys = on")
            base.execute(lost)
        found, (said,) = start(tmp_path)
        assert (found, said[: len(remark)]) == (names, remark)
        assert {path: path.read_bytes() for path in files} == files
    with contextlib.closing(StudyStore(tmp_path, adopt=True)) as store:
        assert [one.stored for one in store.study(study).files.values()] == [path.name for path in files]
        store.delete_study(study)
    assert not list((tmp_path / "studies").iterdir())


def test_what_was_replaced_or_deleted_stays_so_after_an_interruption(tmp_path: Path, monkeypatch: Any) -> None:
    """The list of studies is further than what the folder of a study says of itself, or nothing is said there."""
    study = with_a_study(tmp_path)
    monkeypatch.setattr(StudyStore, "_write_manifests", lambda store, base: None)
    monkeypatch.setattr(StudyStore, "discard", lambda store, study, stored: None)
    with contextlib.closing(StudyStore(tmp_path)) as store:
        store.remove_file(study, "ratings")
    monkeypatch.undo()
    assert start(tmp_path) == (["One"], [])
    assert not list((tmp_path / "studies" / study / "inputs").iterdir())
    monkeypatch.setattr(StudyStore, "remove_home", lambda store, study: None)
    with contextlib.closing(StudyStore(tmp_path)) as store:
        store.delete_study(study)
    monkeypatch.undo()
    assert start(tmp_path) == ([], [])
    assert not list((tmp_path / "studies").iterdir())


def test_flipped_bytes_never_lose_a_study_nor_make_a_traceback(tmp_path: Path) -> None:
    folder = tmp_path / "store"
    study = with_a_study(folder)
    whole = seen(folder / "studies")
    good, refused = (folder / DATABASE).read_bytes(), []
    for at in range(0, len(good), len(good) // 60):
        (folder / DATABASE).write_bytes(good[:at] + bytes(255 - one for one in good[at : at + 40]) + good[at + 40 :])
        try:
            store = StudyStore(folder)
        except FileError as error:
            refused.append(str(error))
            continue
        with contextlib.closing(store):
            assert [one.id for one in store.studies()] == [study]
            assert store.study(study).files["ratings"].size == 23
            store.runs(study)
        assert {name: one[2] for name, one in seen(folder / "studies").items() if "inputs" in name} == {
            name: one[2] for name, one in whole.items() if "inputs" in name
        }
        for path in folder.glob("damaged-*"):
            shutil.rmtree(path)
    assert len(refused) <= 1, refused
    assert all("made by a newer version" in one for one in refused)


def test_a_damaged_store_of_version_0_2_keeps_what_can_be_read(tmp_path: Path) -> None:
    shutil.unpack_archive(OLD, tmp_path)
    inputs = {path: path.read_bytes() for path in tmp_path.glob("studies/*/inputs/*")}
    without_a_table(tmp_path / DATABASE)
    names, remarks = start(tmp_path)
    assert names == ["Second", "ratings"]
    assert "was damaged (its tables are not those that it should have)" in remarks[0]
    assert {path: path.read_bytes() for path in inputs} == inputs
