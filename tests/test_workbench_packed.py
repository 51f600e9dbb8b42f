"""A packed study in the workbench: opened where it lies, shown like any other, and never changed or deleted."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import plurivox as pv
from plurivox.base.errors import FileError
from plurivox.workbench.bench import WHOLE, begin, link_of
from plurivox.workbench.store import StudyStore
from support import run_cli
from workbench_support import OWN, RATINGS, send, settled, workbench

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")


PREDICTIONS = "item,0,1,2,3\n" + "".join(f"i{item},0.1,0.2,0.3,0.4\n" for item in range(12))
FEW = {"by": "gender", "permutations": "20", "max_permutations": "20", "reference": "crowd"}


def pack(folder: Path, ratings: str = RATINGS) -> Path:
    """Pack a study whose raters have a gender."""
    (folder / "ratings.csv").write_text(ratings)
    pv.pack(folder / "ratings.csv", folder / "study.pvx", rater_attributes=["gender"], scale="0:3")
    return folder / "study.pvx"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("packed")


@pytest.fixture(scope="module")
def packed(folder: Path) -> Path:
    return pack(folder)


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[Any]:
    with workbench(folder / "bench") as found:
        yield found


@pytest.fixture(scope="module")
def study(client: Any, packed: Path) -> str:
    done = send(client, "/studies/packed", path=str(packed))
    assert done.status_code == 303, done.text
    home = str(done.headers["location"])
    settled(client, home)
    return home


@pytest.fixture(scope="module")
def results(client: Any, study: str) -> str:
    done = send(client, f"{study}/ask", **FEW)
    assert done.status_code == 303, done.text
    where = str(done.headers["location"])
    settled(client, where)
    return where


def test_what_is_in_it_is_shown_as_it_was_decided(client: Any, study: str, packed: Path) -> None:
    page = settled(client, study)
    assert "What is in it" in page
    assert "168</strong>" in page
    assert "woman (7)" in page
    assert "decided when plurivox stored it" in page
    assert str(packed) in page
    assert "never deletes or changes that folder" in page
    assert 'id="f-item"' not in page  # nothing is left to choose of columns
    assert 'id="f-scale"' not in page
    assert '<option value="raters">' not in page
    assert f"plurivox report {packed.name} --in-memory" in page


def test_it_is_like_any_other_study(client: Any, study: str, results: str, packed: Path) -> None:
    before = contents(packed)
    assert "In short" in settled(client, results)
    assert "woman: 7 raters" in settled(client, f"{study}/groups?axis=gender&group=woman")
    assert 'id="view-title"' in settled(client, f"{study}/compare?axis=gender&one=woman&other=man")
    assert "/item?item=i11" in settled(client, f"{study}/items")
    assert "Item i3" in settled(client, f"{study}/item?item=i3")
    assert 'id="view-title"' in settled(client, f"{study}/lenses/cohesion?go=1&by=gender&permutations=0")
    table = client.get(f"{study}/tables/cohesion/values.csv")
    assert table.headers["content-disposition"].endswith('"cohesion-values.csv"')
    assert client.get(f"{study}/export/plurivox.toml").status_code == 200
    assert contents(packed) == before
    assert sorted(path.name for path in packed.parent.iterdir()) == ["bench", "ratings.csv", "study.pvx"]


def test_the_command_that_is_shown_gives_the_same_numbers(
    client: Any, study: str, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = settled(client, f"{study}/lenses/cohesion?go=1&by=gender&permutations=20&max_permutations=20&seed=3")
    command = re.search(r"<code>(plurivox cohesion [^<]+)</code>", page)
    assert command
    assert "--in-memory" in command[1]
    monkeypatch.chdir(packed.parent)
    shown = json.loads(run_cli(*command[1].split()[1:], "--json").out)
    settings = {"by": [["gender"]], "permutations": 20, "max_permutations": 20, "seed": 3}
    told = client.post(f"/api/v1{study}/questions/cohesion", json={"settings": settings}, headers=OWN).json()
    assert told["result"]["rows"] == shown["rows"]


def test_the_lines_of_python_run(client: Any, study: str, packed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = settled(client, f"{study}/lenses/variation?go=1&by=gender")
    lines = re.search(r"<code>(import plurivox as pv.*?)</code>", page, re.DOTALL)
    assert lines
    assert ".in_memory()" in lines[1]
    monkeypatch.chdir(packed.parent)
    exec(lines[1].replace("&#39;", "'"), {})


def test_part_by_part_without_reading_it_whole(client: Any, packed: Path) -> None:
    home = str(send(client, "/studies/packed", path=str(packed)).headers["location"])
    settled(client, home)
    assert send(client, f"{home}/reading", in_memory="0").status_code == 303
    page = settled(client, home)
    assert "168</strong>" in page
    assert "--in-memory -" not in page
    assert 'id="view-title"' in settled(client, f"{home}/lenses/cohesion?go=1&by=gender&permutations=9")
    failed = settled(client, str(send(client, f"{home}/ask", **FEW).headers["location"]))
    assert "This needs all ratings of the packed study in memory." in failed
    assert "Choose “Read it whole into memory” on the Data page" in failed
    assert [path.name for path in packed.parent.glob("*.log")] == []  # what is half done lies elsewhere


def test_what_stands_beside_it(client: Any, packed: Path) -> None:
    home = str(send(client, "/studies/packed", path=str(packed)).headers["location"])
    files = [("files", (f"{name}.csv", PREDICTIONS)) for name in ("one", "two")]
    done = client.post(f"{home}/files", data={"role": "predictions"}, files=files, headers=OWN, follow_redirects=False)
    assert done.status_code == 303, done.text
    assert "of one, two" in settled(client, home)
    refused = client.post(
        f"{home}/files", data={"role": "raters"}, files=[("files", ("raters.csv", "rater,a\nr1,b\n"))], headers=OWN
    )
    assert "already contain their attributes" in settled(client, home), refused.text
    assert send(client, f"{home}/files/raters/delete").status_code == 303
    assert "of one, two" in settled(client, home)


def test_deleting_the_study_leaves_the_folder(client: Any, packed: Path) -> None:
    before = contents(packed)
    home = str(send(client, "/studies/packed", path=str(packed)).headers["location"])
    settled(client, home)
    assert f"The packed folder {packed} stays as it is" in client.get("/").text
    assert send(client, f"{home}/delete").status_code == 303
    assert contents(packed) == before
    again = str(send(client, "/studies/packed", path=str(packed)).headers["location"])
    files = [("files", ("ratings.csv", RATINGS))]
    assert client.post(f"{again}/files", data={"role": "ratings"}, files=files, headers=OWN).status_code == 200
    assert contents(packed) == before  # a file took its place


def test_a_folder_that_vanishes_or_changes(client: Any, tmp_path: Path) -> None:
    own = pack(tmp_path)
    home = str(send(client, "/studies/packed", path=str(own)).headers["location"])
    settled(client, home)
    done = send(client, f"{home}/ask", **FEW)
    results = str(done.headers["location"])
    assert "In short" in settled(client, results)
    shutil.move(own, tmp_path / "away.pvx")
    assert "The packed study is no longer there" in settled(client, home)
    assert "In short" in settled(client, results)  # what was worked out stays
    page = settled(client, f"{home}/lenses/cohesion?go=1&by=gender&permutations=0")
    assert "The packed study is no longer there" in page
    assert "Put the folder back" in page
    assert "Try again" in page
    shutil.move(tmp_path / "away.pvx", own)
    pack(tmp_path, RATINGS + "".join(f"i{item},r14,1,woman\n" for item in range(12)))
    page = settled(client, home)
    assert "The packed study has changed" in page
    assert "168</strong>" in page
    assert "In short" in settled(client, results)
    page = settled(client, f"{home}/lenses/cohesion?go=1&by=gender&permutations=0&seed=1")
    assert "changed since it was opened here" in page
    assert send(client, f"{home}/packed").status_code == 303
    assert "180</strong>" in settled(client, home)
    assert "have changed since" in settled(client, results)


def test_one_that_is_demanded(packed: Path) -> None:
    digest = hashlib.sha256((packed / "manifest.json").read_bytes()).hexdigest()
    found = link_of(f"{packed}#sha256={digest}")
    assert (found.stored, found.sha256) == (str(packed), digest)
    with pytest.raises(FileError, match=f"its SHA-256 is {digest}, but {'0' * 64} is demanded"):
        link_of(f"{packed}#sha256={'0' * 64}")


def test_what_is_not_one_is_said(client: Any, tmp_path: Path, packed: Path) -> None:
    for path, told in (
        (tmp_path, "It is not a packed study"), (tmp_path / "none", "There is no such folder"),
        ("", "No folder is named"), ("a\0b", "No folder is named"),
        ("s3://bucket/study.pvx", "only opens packed studies on this machine"),
    ):  # fmt: skip
        answer = send(client, "/studies/packed", path=str(path))
        assert answer.status_code == 400, path
        assert told in answer.text
    bad = tmp_path / "bad.pvx"
    shutil.copytree(packed, bad)
    (bad / "manifest.json").write_text("{}")
    assert "is damaged" in send(client, "/studies/packed", path=str(bad)).text
    told = client.post("/api/v1/studies", json={"packed": str(packed)}, headers=OWN)
    assert told.status_code == 201
    assert told.json()["name"] == "study"
    for wrong in (7, "", "a\0b"):
        assert client.post("/api/v1/studies", json={"packed": wrong}, headers=OWN).status_code == 400


def test_another_machine_names_no_folders(packed: Path, tmp_path: Path) -> None:
    with workbench(tmp_path / "bench", local=False) as client:
        assert "/studies/packed" not in client.get("/").text
        assert "cannot be opened from another machine" in send(client, "/studies/packed", path=str(packed)).text
        assert client.post("/api/v1/studies", json={"packed": str(packed)}, headers=OWN).status_code == 400


def test_it_is_begun_from_the_command_line(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "predictions.csv").write_text(PREDICTIONS)
    (tmp_path / "predictions_two.csv").write_text(PREDICTIONS)
    store = StudyStore(tmp_path / "bench")
    try:
        first = begin(store, [str(packed)])
        assert begin(store, [str(packed)]) == first  # it is open already
        beside = [str(tmp_path / "predictions.csv"), str(tmp_path / "predictions_two.csv")]
        other = store.study(begin(store, [str(packed), *beside]).rpartition("/")[2])
        assert list(other.files) == ["ratings", "predictions", "predictions-2"]
        assert other.packed is not None
        assert other.packed.stored == str(packed)
        assert other.reading == {"in_memory": True}
        assert len(store.studies()) == 2
        with pytest.raises(FileError, match="it is a folder, but the workbench expects files"):
            begin(store, [str(tmp_path)])
    finally:
        store.close()
    assert WHOLE * 18 < 1e9  # two codes, a score, and as much again: less than a gigabyte


def test_the_command_that_is_shown_holds_beside_a_config_that_names_tables(
    client: Any, study: str, packed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = settled(client, f"{study}/lenses/variation?go=1&by=gender")
    command = re.search(r"<code>(plurivox variation [^<]+)</code>", page)
    assert command
    monkeypatch.chdir(packed.parent)
    config = packed.parent / "plurivox.toml"
    config.write_text('[raters]\nfile = "raters.csv"\n[items]\nfile = "items.csv"\n')
    try:
        done = run_cli(*command[1].split()[1:], "--json")
    finally:
        config.unlink()
    assert done.code == 0, done.err
    told = client.post(
        f"/api/v1{study}/questions/variation", json={"settings": {"by": [["gender"]]}}, headers=OWN
    ).json()
    assert told["result"]["rows"] == json.loads(done.out)["rows"]
