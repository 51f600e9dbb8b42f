"""Studies that the list of studies has lost are taken in by what their own folders say, which is data from anywhere."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plurivox.workbench import making
from plurivox.workbench.records import DATABASE
from plurivox.workbench.store import StudyStore
from plurivox.workbench.watches import Watches
from workbench_support import RATINGS, add_study, send, settled, workbench

pytest.importorskip("starlette")
pytest.importorskip("httpx")


ASKED = {"by": "gender", "permutations": "20", "max_permutations": "20"}


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    """Return the folder of a study in a store whose list of studies is lost."""
    with contextlib.closing(StudyStore(tmp_path / "store")) as store:
        study = store.add_study("One", {"scale": "0:3"}, {"by": [["gender"]]})
        for role in ("ratings", "raters", "predictions", "predictions-2"):
            with store.adding(study, role, f"{role}.csv") as upload:
                upload.write(f"of {role}".encode())
        store.write_note(study, "answer", "look here")
        Watches(store).add_sources(study, {"ratings": ("/somewhere/ratings.csv", "1")})
        Watches(store).change(study, going=True, planned=4)
        Watches(store).look(study)
    (tmp_path / "store" / DATABASE).unlink()
    return tmp_path / "store" / "studies" / study


def store_of(client: Any) -> StudyStore:
    found: StudyStore = client.guard.app.state.bench.store
    return found


def opened(home: Path, adopt: bool = True) -> tuple[list[Any], list[str]]:
    """Open the store that a study's folder is in; return its studies and what was said."""
    with contextlib.closing(StudyStore(home.parent.parent, adopt=adopt)) as store:
        return store.studies(), store.remarks


def test_a_study_goes_there_and_back(tmp_path: Path) -> None:
    """Delete the list, take the study in, and ask again: the same files, settings, notes and looks, and results."""
    with workbench(tmp_path) as client:
        home = add_study(client)
        study = home.rpartition("/")[2]
        assert send(client, f"{home}/reading", **{"about:gender": "raters", "scale": "0:3"}).status_code == 303
        results = send(client, f"{home}/ask", **ASKED).headers["location"]
        before = settled(client, results)
        assert send(client, f"{home}/notes", place="answer", text="look here").status_code == 303
        store = store_of(client)
        known, notes = store.study(study), store.notes(study)
    for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
        (tmp_path / name).unlink(missing_ok=True)
    studies, remarks = opened(tmp_path / "studies" / study, adopt=False)
    assert studies == []
    lost = f"1 folder in studies/ is not in the list of studies: {study}; plurivox serve --adopt takes it in"
    assert remarks == [lost]
    studies, remarks = opened(tmp_path / "studies" / study)
    assert remarks == ["1 study was taken in: ratings"]
    assert opened(tmp_path / "studies" / study) == (studies, ["there was no study to take in"])
    with workbench(tmp_path) as client:
        store = store_of(client)
        now = store.study(study)
        assert (now.name, now.files, now.reading, now.asked) == (known.name, known.files, known.reading, known.asked)
        assert store.notes(study) == notes == {"answer": "look here"}
        again = settled(client, send(client, f"{home}/ask", **ASKED).headers["location"])
        assert "In short" in before
        assert "In short" in again
        assert send(client, f"{home}/delete").status_code == 303
    assert not (tmp_path / "studies" / study).exists()


def test_results_that_came_with_a_study_are_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages hold them as they are. Whoever hands over a study may have put others in their place."""
    monkeypatch.setattr(making, "secret", lambda: b"that of somebody else")
    with workbench(tmp_path / "theirs") as client:
        home = add_study(client)
        assert send(client, f"{home}/reading", **{"about:gender": "raters", "scale": "0:3"}).status_code == 303
        settled(client, send(client, f"{home}/ask", **ASKED).headers["location"])
    study = home.rpartition("/")[2]
    told = [path for path in (tmp_path / "theirs").rglob("*.html") if "made" in path.parts]
    assert told
    for path in told:
        path.write_text("<p hx-post='/studies/simulated' hx-trigger='load'>PLANTED</p>")
    with contextlib.closing(StudyStore(tmp_path / "mine")) as store:
        shutil.copytree(tmp_path / "theirs" / "studies" / study, store.home(study))
    assert opened(tmp_path / "mine" / "studies" / study)[1] == ["1 study was taken in: ratings"]
    monkeypatch.undo()
    with workbench(tmp_path / "mine") as client:
        shown = settled(client, send(client, f"{home}/ask", **ASKED).headers["location"])
    assert "In short" in shown
    assert "PLANTED" not in shown


def test_looks_are_counted_on_and_no_path_is_watched(lost: Path) -> None:
    opened(lost)
    with contextlib.closing(StudyStore(lost.parent.parent)) as store:
        watch = Watches(store).of(lost.name)
        assert watch is not None
        assert (watch.planned, len(watch.looks), watch.going, watch.sources) == (4, 1, False, {})
        assert store.study(lost.name).files.keys() == {"ratings", "raters", "predictions", "predictions-2"}
        store.remove_file(lost.name, "predictions")
        assert len(list((lost / "inputs").iterdir())) == 3
    with workbench(lost.parent.parent) as client:
        assert client.get(f"/studies/{lost.name}/watch").status_code == 200


def test_each_change_is_in_the_manifest(tmp_path: Path) -> None:
    with contextlib.closing(StudyStore(tmp_path)) as store:
        study = store.add_study("One")
        manifest = store.home(study) / "study.json"

        def told() -> dict[str, Any]:
            found: dict[str, Any] = json.loads(manifest.read_text())
            return found

        assert (told()["name"], told()["files"]) == ("One", [])
        with store.adding(study, "ratings", "a.csv") as upload:
            upload.write(b"x")
        assert [one["shown"] for one in told()["files"]] == ["a.csv"]
        store.change_study(study, name="Two", reading={"scale": "0:4"}, asked={"by": [["age"]]})
        assert (told()["name"], told()["reading"], told()["asked"]) == ("Two", {"scale": "0:4"}, {"by": [["age"]]})
        store.write_note(study, "answer", "a note")
        assert told()["notes"] == {"answer": "a note"}
        store.remove_file(study, "ratings")
        assert told()["files"] == []
        manifest.unlink()
    with contextlib.closing(StudyStore(tmp_path)):
        assert told()["name"] == "Two"  # each start writes those that are missing


Told = dict[str, Any]
Spoil = Callable[[Told], Any]


def first(told: Told) -> Told:
    found: Told = told["files"][0]
    return found


def settings(name: str, *values: Any) -> list[Spoil]:
    def spoil(value: Any) -> Spoil:
        return lambda told: told.update({name: value})

    return [spoil(value) for value in values]


def of_file(name: str, *values: Any) -> list[Spoil]:
    return [lambda told, change=change: change(first(told)) for change in settings(name, *values)]  # type: ignore[misc]


def deep(n: int) -> Any:
    found: Any = []
    for _ in range(n):
        found = [found]
    return found


HOSTILE: list[Spoil] = [
    *of_file(
        "stored", "../../../mine.csv", "/etc/passwd", "..", ".", "", "mine.csv", "ratings-12345678.csv/../x",
        "C:\\x.csv", None, 7, ["ratings-12345678.csv"], "ratings-1234567g.csv", "ratings-12345678.exe",
        "raters-12345678.csv", "a\x00b", "ratings-12345678.csv\n", "ratings-١٢٣٤٥٦٧٨.csv",
    ),
    *of_file("role", "secrets", "items", "ratings-2", "predictions-99", None, [], {}, 1),
    *of_file("size", 0, -1, 9, 11, 1 << 80, 10.0, "10", None, True),
    *of_file("sha256", "0" * 64, "", None, "A" * 64, 5),
    *of_file("shown", None, 5, "x" * 5000, "\ud800"),
    *settings("name", None, 5, "", "x" * 5000, "\ud800", []),
    *settings("created", None, "1", -1, 1e300, float("nan"), float("inf"), True),
    *settings("files", None, {}, "x", [None], [[]], [{}], deep(50)),
    *settings("notes", None, [], {"a": 5}, {"a": None}, {"a": "\ud800"}),
    *settings("looks", None, [], {"a": "b"}, {"a": float("nan")}),
    *settings("planned", 0, -1, 17, 1.5, "4", True),
    *settings("expected", -1, 1 << 70, "x"),
    *settings("reading", None, [], {"colour": 1}, {"bins": 5}, {"where": [1]},
        {"bins": deep(90)}),
    *settings("asked", None, 1, {"permutations": -1}, {"by": 5},
        {"by": deep(90)}, {"seed": "x"}),
    *settings("revision", None, -1, "1", 1.0, True),
    *settings("version", 2, "1", None, 1.0),
    *settings("kind", None, "a recipe"),
    lambda told: told["files"].append(first(told)),
    lambda told: told["files"].append({**first(told), "role": "items"}),
    lambda told: first(told).update(more=1),
    lambda told: first(told).pop("shown"),
    *(lambda told, name=name: told.pop(name) for name in (
        "name", "created", "reading", "asked", "files", "notes", "planned", "expected", "looks", "revision",
    )),
    lambda told: told.clear(),
]  # fmt: skip


def test_a_manifest_that_we_would_not_write_is_left(lost: Path) -> None:
    """One thing is wrong in each; nothing is taken in, and nothing changes."""
    manifest, mine = lost / "study.json", lost.parent.parent.parent / "mine.csv"
    mine.write_bytes(b"of ratings")
    good = json.loads(manifest.read_text())
    files = {path: path.read_bytes() for path in (lost / "inputs").iterdir()}
    for spoil in HOSTILE:
        told = json.loads(json.dumps(good))
        spoil(told)
        manifest.write_text(json.dumps(told))
        before = manifest.read_bytes()
        studies, remarks = opened(lost)
        assert (studies, len(remarks)) == ([], 1), [key for key in told if told[key] != good[key]]
        assert remarks[0].startswith(f"studies/{lost.name} was not taken in: "), remarks
        assert manifest.read_bytes() == before
    assert {path: path.read_bytes() for path in (lost / "inputs").iterdir()} == files
    manifest.write_text(json.dumps(good))
    assert [one.name for one in opened(lost)[0]] == ["One"]


def told(content: bytes) -> Callable[[Path], Any]:
    return lambda home: (home / "study.json").write_bytes(content)


def instead(make: Callable[[Path], Any]) -> Callable[[Path], None]:
    """Put something else in the place of the manifest."""

    def spoil(home: Path) -> None:
        (home / "study.json").unlink()
        make(home / "study.json")

    return spoil


def of_ratings(change: Callable[[Path], Any]) -> Callable[[Path], Any]:
    return lambda home: change(next(home.glob("inputs/ratings-*")))


def moved(what: Callable[[Path], Path], name: str) -> Callable[[Path], None]:
    """Move a part of the study away, and put a link in its place."""

    def spoil(home: Path) -> None:
        one, other = what(home), home.parent.parent.parent / name
        one.rename(other)
        one.symlink_to(other)

    return spoil


def a_pipe_for_a_file(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


SPOILT: dict[str, Callable[[Path], Any]] = {
    "not text": told(random.Random(0).randbytes(1000)), "too deep": told(b"[" * 1_000_000),
    "too large": told(b" " * (5 << 20)), "a pipe": instead(os.mkfifo), "a folder": instead(Path.mkdir),
    "a link to it": moved(lambda home: home / "study.json", "other.json"),
    "a link of a file": moved(lambda home: next(home.glob("inputs/ratings-*")), "mine.csv"),
    "a link of inputs": moved(lambda home: home / "inputs", "inputs"),
    "a link of all": moved(lambda home: home, "study"),
    "a pipe for a file": of_ratings(a_pipe_for_a_file), "a file missing": of_ratings(Path.unlink),
    "a file changed": of_ratings(lambda path: path.write_bytes(b"OF ratings")),
    "a file grown": of_ratings(lambda path: path.write_bytes(path.read_bytes() + b"x" * 10_000_000)),
    "another name": lambda home: home.rename(home.with_name("2024-survey")),
}  # fmt: skip


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_a_folder_that_is_not_as_we_made_it_is_left_and_named(lost: Path, spoil: Callable[[Path], None]) -> None:
    spoil(lost)
    (name,) = (path.name for path in lost.parent.iterdir())
    studies, remarks = opened(lost)
    assert studies == []
    assert [one.split(" was not taken in: ")[0] for one in remarks] == [f"studies/{name}"]


def test_only_folders_with_a_manifest_are_taken_in(lost: Path) -> None:
    (lost.parent / "2024-survey").mkdir()
    (lost.parent / "2024-survey" / "interviews.csv").write_text(RATINGS)
    shutil.copytree(lost, lost.with_name("0123456789ab"))
    said = opened(lost, adopt=False)[1]
    both = ", ".join(sorted((lost.name, "0123456789ab")))
    assert said == [
        f"2 folders in studies/ are not in the list of studies: {both}; plurivox serve --adopt takes them in",
        "1 folder in studies/ is not a study, and is left alone: 2024-survey",
    ]
    studies, said = opened(lost)
    assert len(studies) == 2
    assert said == [
        "2 studies were taken in: One, One", "1 folder in studies/ is not a study, and is left alone: 2024-survey",
    ]  # fmt: skip
    assert (lost.parent / "2024-survey" / "interviews.csv").read_text() == RATINGS
