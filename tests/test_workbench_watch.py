"""A study whose file grows: counts come by themselves, tests only when somebody asks, and looks are counted."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from plurivox.base.errors import InputError
from plurivox.workbench import watches
from plurivox.workbench.bench import begin
from plurivox.workbench.store import StudyStore
from plurivox.workbench.watches import Watches
from workbench_support import OWN, RATINGS, send, settled, workbench

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")


FEW = {"by": "gender", "permutations": "20", "max_permutations": "20", "reference": "crowd"}
MORE = "".join(f"i{item},r14,1,woman\n" for item in range(12))
LINES = RATINGS.count("\n") - 1


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watches, "EVERY", 0.1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "growing.csv"
    found.write_text(RATINGS)
    return found


def begun(folder: Path, *files: Path) -> str:
    store = StudyStore(folder)
    try:
        return begin(store, [str(one) for one in files])
    finally:
        store.close()


@pytest.fixture
def home(tmp_path: Path, file: Path) -> str:
    return begun(tmp_path / "bench", file)


@pytest.fixture
def client(tmp_path: Path, home: str) -> Iterator[Any]:
    with workbench(tmp_path / "bench") as found:
        page = settled(found, home)
        revision = re.search(r'name="revision" value="(\d+)"', page)
        assert revision
        form = {"about:gender": "raters", "scale": "0:3", "revision": revision[1]}
        assert send(found, f"{home}/reading", **form).status_code == 303
        settled(found, home)
        yield found


def watched(client: Any, home: str, **form: str) -> str:
    """Switch the watch on, and return the page once it says what is there."""
    assert send(client, f"{home}/watch", going="1", **form).status_code == 303
    return until(client, home, "At first: 168 ratings")


def until(client: Any, home: str, text: str | Callable[[str], bool]) -> str:
    """Return the page of a watch once it says something."""
    end = time.monotonic() + 60
    while True:
        found = client.get(f"{home}/watch")
        assert found.status_code == 200
        page: str = found.text
        if text(page) if callable(text) else text in page:
            return page
        assert time.monotonic() < end, page[page.find("<main") :]
        time.sleep(0.1)


def grow(file: Path, text: str = MORE) -> None:
    with file.open("a") as opened:
        opened.write(text)


def run_now(client: Any, home: str) -> Any:
    revision = re.search(r'name="revision" value="(\d+)"', client.get(home).text)
    assert revision
    return send(client, f"{home}/watch/run", revision=revision[1])


def test_a_file_that_grows_is_counted_and_not_tested(client: Any, home: str, file: Path) -> None:
    watched(client, home)
    grow(file)
    page = until(client, home, "ratings 168 → 180")
    assert "raters 14 → 15" in page
    assert "gender woman 7 → 8" in page
    assert "168</strong>" in settled(client, home)  # all other pages stay at what was looked at
    assert client.get(f"{home}/results").status_code == 404
    kinds = [one["kind"] for one in client.get(f"/api/v1{home}/runs").json()]
    assert set(kinds) == {"look"}  # nothing with a test was worked out


def test_looks_are_counted_and_corrected_for(client: Any, home: str, file: Path) -> None:
    watched(client, home, planned="2", expected="1000")
    assert send(client, f"{home}/ask", **FEW).status_code == 303
    first = settled(client, f"{home}/results")
    assert "Look 1 of 2 planned" in first
    assert "corrected for all 2 looks" in first
    part = settled(client, f"{home}/results?part=cohesion")
    assert "nothing here is marked as certain" in part
    assert 'class="claim"' not in part
    assert "nothing here is marked as certain" in settled(client, f"{home}/groups?axis=gender&group=woman")
    assert "nothing here is marked as certain" in settled(client, f"{home}/lenses/cohesion?go=1&by=gender")
    assert "nothing here is marked as certain" not in settled(client, f"{home}/results?part=study")
    assert "--looks 2" in first  # the command does the same
    grow(file)
    page = until(client, home, "ratings 168 → 180")
    assert "show 168 ratings; there are 180 now: look 1 of 2" in page
    assert "180 of 1,000 ratings expected, 18 %" in page
    assert "Run now: look 2 of 2" in page
    done = run_now(client, home)
    assert done.status_code == 303, done.text
    assert "Look 2 of 2 planned" in settled(client, done.headers["location"])
    assert "180</strong>" in settled(client, home)
    grow(file, MORE.replace("r14", "r15"))
    page = until(client, home, "ratings 180 → 192")
    assert "All 2 planned looks have been made. Nothing more can be claimed at 5 %" in page
    assert "Run now" not in page
    refused = run_now(client, home)
    assert refused.status_code == 400
    assert "nothing more can be claimed" in refused.text
    assert "180</strong>" in settled(client, home)  # nothing was taken in
    assert send(client, f"{home}/ask", **{**FEW, "seed": "1"}).status_code == 303  # the same data: no new look
    changed = send(client, f"{home}/watch", going="1", planned="9")
    assert changed.status_code == 400
    assert "2 looks were planned" in changed.text


def test_data_that_are_uploaded_between_looks_are_a_look_too(client: Any, home: str) -> None:
    watched(client, home, planned="1")
    assert send(client, f"{home}/ask", **FEW).status_code == 303
    settled(client, f"{home}/results")
    new = {"files": ("new.csv", RATINGS + MORE)}
    done = client.post(f"{home}/files", files=new, data={"role": "ratings"}, headers=OWN, follow_redirects=False)
    assert done.status_code == 303
    settled(client, home)
    assert send(client, f"{home}/ask", **FEW).status_code == 400
    assert client.post(f"/api/v1{home}/runs", json={"by": [["gender"]]}, headers=OWN).status_code == 400
    assert "nothing left to watch" in client.get(f"{home}/watch").text


def test_tests_from_before_the_watch_are_the_first_look(client: Any, home: str) -> None:
    assert send(client, f"{home}/ask", **FEW).status_code == 303
    settled(client, f"{home}/results")
    assert "look 1 of 3" in watched(client, home, planned="3")
    assert "not corrected for looks" in client.get(f"{home}/results").text


def test_what_cannot_be_read_is_said_and_changes_nothing(client: Any, home: str, file: Path) -> None:
    watched(client, home)
    grow(file)
    until(client, home, "ratings 168 → 180")
    file.write_text(RATINGS.replace("i3,r2,", "i3,r2,very "))
    page = until(client, home, "cannot be read as they are now")
    assert "180</strong>" in page  # what was read before
    file.unlink()
    page = until(client, home, "it is gone")
    assert "180</strong>" in page
    file.write_text(RATINGS + MORE + MORE.replace("r14", "r15"))
    page = until(client, home, "ratings 180 → 192")
    assert 'role="alert"' not in page
    if os.geteuid() != 0:  # root reads everything
        file.chmod(0)
        until(client, home, "Permission denied")


def test_a_file_that_is_replaced_or_cut_off(client: Any, home: str, file: Path) -> None:
    watched(client, home)
    other = file.with_name("other.csv")
    other.write_text(RATINGS + MORE)
    other.replace(file)
    until(client, home, "ratings 168 → 180")
    lines = RATINGS.splitlines(keepends=True)
    file.write_text("".join(lines[:113]))
    assert "fewer than before: is the file whole?" in until(client, home, "ratings 180 → 112")
    file.unlink()
    file.mkdir()
    until(client, home, "no longer a file")


def test_a_file_that_moves_all_the_time_is_left_alone(client: Any, home: str, file: Path) -> None:
    watched(client, home)
    for rater in range(20, 40):
        grow(file, MORE.replace("r14", f"r{rater}"))
        time.sleep(0.03)
    page = until(client, home, f"→ {LINES + 240}")
    counts = re.findall(r"ratings (\d+) → (\d+)", page)
    assert counts
    assert all(int(n) % 12 == 0 for pair in counts for n in pair)  # whole raters, as they were written


def test_touching_a_file_is_no_news(client: Any, home: str, file: Path) -> None:
    watched(client, home)
    os.utime(file, (1, 1))
    grow(file, "")
    time.sleep(1.0)
    assert client.get(f"{home}/watch").text.count("<time>") == 1


def test_two_tabs(client: Any, home: str, file: Path) -> None:
    watched(client, home)
    grow(file)
    page = until(client, home, "ratings 168 → 180")
    revision = re.search(r'name="revision" value="(\d+)"', page)
    assert revision
    assert send(client, f"{home}/watch/run", revision=revision[1]).status_code == 303
    assert send(client, f"{home}/watch/run", revision=revision[1]).status_code == 409
    assert "look 1 of 5" in client.get(f"{home}/watch").text


def test_no_path_comes_from_a_browser(client: Any, home: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text(RATINGS + MORE)
    names = ("path", "source", "sources", "file", "ratings")
    form = {name: str(secret) for name in names}
    assert send(client, f"{home}/watch", going="1", **form).status_code == 303
    until(client, home, "At first: 168 ratings")
    for name in (str(secret), "../../../secret.csv"):
        added = client.post("/studies/files", files={"files": (name, RATINGS)}, headers=OWN, follow_redirects=False)
        other = added.headers["location"]
        assert client.get(f"{other}/watch").status_code == 404
        assert send(client, f"{other}/watch", going="1", **form).status_code == 400
    page = client.get(f"{home}/watch").text
    assert str(tmp_path) not in page  # nor is one told
    for bad in ({"planned": "0"}, {"planned": "17"}, {"planned": "x"}, {"expected": "-1"}, {"expected": "9" * 11}):
        assert send(client, f"{home}/watch", going="1", **bad).status_code == 400, bad


def test_a_watch_goes_on_after_a_restart_and_deleting_ends_it(tmp_path: Path, file: Path, home: str) -> None:
    with workbench(tmp_path / "bench") as client:
        settled(client, home)
        watched(client, home)
    grow(file)
    assert begun(tmp_path / "bench", file) == f"{home}/watch"  # not another one, which would count looks anew
    with workbench(tmp_path / "bench") as client:
        until(client, home, "ratings 168 → 180")
        assert send(client, f"{home}/watch", going="0").status_code == 303
        grow(file, MORE.replace("r14", "r15"))
        time.sleep(0.5)
        assert "192" not in client.get(f"{home}/watch").text
        assert send(client, f"{home}/watch", going="1").status_code == 303
        until(client, home, "ratings 180 → 192")
        assert send(client, f"{home}/delete").status_code == 303
    assert file.read_text().count("\n") - 1 == 192  # the file itself is nobody's to delete
    assert not list((tmp_path / "bench" / "studies").iterdir())


def test_raters_beside_the_ratings_are_watched_too(tmp_path: Path) -> None:
    ratings, raters = tmp_path / "ratings.csv", tmp_path / "raters.csv"
    plain = [line.rsplit(",", 1)[0] for line in RATINGS.splitlines()]
    ratings.write_text("\n".join(plain) + "\n")
    raters.write_text("rater,age\n" + "".join(f"r{at},{'old' if at % 2 else 'young'}\n" for at in range(14)))
    home = begun(tmp_path / "bench", ratings, raters)
    with workbench(tmp_path / "bench") as client:
        watched(client, home)
        raters.write_text("rater,age\n" + "".join(f"r{at},{'old' if at % 3 else 'young'}\n" for at in range(14)))
        until(client, home, "age old 7 → 9")


def test_looks_are_counted_by_data(tmp_path: Path, file: Path, home: str) -> None:
    store = StudyStore(tmp_path / "bench")
    try:
        watches, study = Watches(store), home.rpartition("/")[2]
        assert watches.look(study) == 1  # nobody watches it
        watches.change(study, going=True, planned=2)
        assert [watches.look(study), watches.look(study)] == [2, 2]
        for size in (1, 2):
            with store.adding(study, "ratings", "r.csv") as upload:
                upload.write(b"x" * size)
            if size == 1:
                assert watches.look(study) == 2
        with pytest.raises(InputError, match="nothing more can be claimed"):
            watches.look(study)
        known = watches.of(study)
        assert known is not None
        assert len(known.looks) == 2
    finally:
        store.close()
