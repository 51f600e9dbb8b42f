"""kill -9 at any moment: what was there is there, nothing half-written shows, and what was going on is interrupted."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("httpx")

import httpx

from plurivox.workbench.store import StudyStore
from plurivox.workbench.watches import Watches
from workbench_support import OFTEN, RATINGS, Server

pytestmark = pytest.mark.slow
KILLS, OF_A_FOLDER = 100, 10
"""Each folder is looked through after every kill, and grows until the next one takes its place."""
BUSY = """
import sys
from plurivox.workbench.store import StudyStore

store = StudyStore(sys.argv[1])
print("ready", flush=True)
turn = 0
while True:
    turn += 1
    study = store.add_study(f"study {turn}", {"scale": "0:4"})
    for role in ("ratings", "raters", "ratings"):
        with store.adding(study, role, f"{role}.csv") as upload:
            for piece in range(40):
                upload.write(bytes([turn % 256]) * 5_000)
    store.change_study(study, reading={"scale": "0:3"}, asked={"by": [["age"]]})
    run = store.add_run(study, "run", "key", {})
    store.end_run(run.id, "running")
    store.write_note(study, "answer", "a note")
    if turn % 3 == 0:
        store.delete_study(study)
"""
"""Does all that a store can, over and over."""


def whole(folder: Path) -> int:
    """Hold that a folder is in order after a restart; return how many studies are in it."""
    store = StudyStore(folder)
    studies = store.studies()
    for study in studies:
        on_disk = {path.name for path in store.inputs(study.id).iterdir()}
        newest = Watches(store).newest(study)
        every = [*study.files.values(), *(one for role, one in newest.files.items() if one != study.files.get(role))]
        assert on_disk == {one.stored for one in every}
        for one in every:
            content = (store.inputs(study.id) / one.stored).read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (one.size, one.sha256)
        assert not any(run.going for run in store.runs(study.id))
    assert {path.name for path in (folder / "studies").iterdir()} == {study.id for study in studies}
    store.close()
    return len(studies)


def test_the_store_survives_a_hundred_kills(tmp_path: Path) -> None:
    chance, found = random.Random(0), {}
    for number in range(KILLS):
        folder = tmp_path / f"bench {number // OF_A_FOLDER}"
        process = subprocess.Popen([sys.executable, "-c", BUSY, str(folder)], stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(chance.uniform(0.0, 0.2))
        process.kill()
        process.communicate()
        found[folder] = whole(folder)
    assert sum(found.values()) > 10


def children(pid: int) -> list[int]:
    """Return the processes that one has started."""
    found = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(one) for one in found.read_text().split()] if found.exists() else []


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="only Linux tells of processes in /proc")
def test_a_server_killed_in_the_midst_of_an_analysis(tmp_path: Path) -> None:
    server = Server(tmp_path)
    home = server.client.post("/studies/files", files={"files": ("r.csv", RATINGS)}).url.path
    long: dict[str, Any] = {"permutations": "50000", "max_permutations": "50000", "interval": "bootstrap"}
    done = server.client.post(f"{home}/reading", data={"about:gender": "raters", "scale": "0:3"})
    assert done.status_code == 200
    run = server.client.post(f"{home}/ask", data={"by": "gender", **long, "bootstrap": "5000"}).url
    while "part=study" not in server.client.get(run.raw_path.decode()).text:
        time.sleep(0.2)
    workers = children(server.process.pid)
    assert workers
    server.kill()
    end = time.monotonic() + 20
    while any(map(alive, workers)) and time.monotonic() < end:
        time.sleep(0.1)
    assert not any(map(alive, workers))  # nothing computes on
    again = Server(tmp_path)
    page = again.client.get(run.raw_path.decode()).text
    assert "This was interrupted" in page
    assert "Try again" in page
    assert again.client.get(home).status_code == 200
    again.end()


def test_a_server_killed_in_the_midst_of_reading_anew(tmp_path: Path) -> None:
    """Ten kills at any moment while a watched file grows: what was read is whole, and the rest comes afterwards."""
    chance, file, folder = random.Random(1), tmp_path / "growing.csv", tmp_path / "bench"
    file.write_text(RATINGS)
    server = Server(folder, str(file), first=OFTEN)
    home = server.client.get("/api/v1/studies").json()[0]["id"]
    watch = f"/studies/{home}/watch"
    assert server.client.post(watch, data={"going": "1", "planned": "3"}).status_code == 200
    for turn in range(10):
        with file.open("a") as opened:
            opened.write("".join(f"i{item},s{turn},1,man\n" for item in range(12)))
        time.sleep(chance.uniform(0.5, 3.0))
        server.kill()
        assert whole(folder) == 1
        server = Server(folder, first=OFTEN)
    end = time.monotonic() + 60
    while "<strong>288</strong>" not in (page := server.client.get(watch).text):
        assert time.monotonic() < end, page
        time.sleep(0.3)
    assert "168" in server.client.get(f"/studies/{home}").text  # the study itself is as it was
    server.kill()


def test_a_server_killed_in_the_midst_of_an_upload(tmp_path: Path) -> None:
    server = Server(tmp_path)
    home = server.client.post("/studies/files", files={"files": ("r.csv", RATINGS)}).url.path

    def slowly() -> Any:
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="new.csv"\r\n\r\n'
        for _ in range(20):
            yield b"a,b,c\n" * 20_000
        server.process.kill()
        yield b"the rest of it"

    kind = {"content-type": "multipart/form-data; boundary=x"}
    with pytest.raises(httpx.TransportError):
        server.client.post(f"{home}/files", content=slowly(), headers=kind)
    server.kill()
    assert whole(tmp_path) == 1
    assert not list((tmp_path / "incoming").iterdir())
