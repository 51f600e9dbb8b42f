"""A disk that is really full: each thing says so once, nothing half-written shows, and afterwards all goes on."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")
pytest.importorskip("httpx")

from workbench_support import RATINGS, Server

ASKED = {"by": "gender", "permutations": "20", "max_permutations": "20"}
LARGE = RATINGS + "".join(f"x{item},r1,1,man\n" for item in range(200_000))
ROOM = 4 << 20


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path]:
    """Yield a folder that is a disk of its own, of a few megabytes."""
    folder.mkdir()
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small disk")
    line = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    if subprocess.run(line, capture_output=True).returncode:
        pytest.skip("this machine lets nobody mount a small disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder: Path) -> Path:
    """Write until nothing more goes in."""
    filler = folder / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    return filler


def settled(found: Server, address: str) -> str:
    end = time.monotonic() + 120
    while True:
        page = found.client.get(address).text
        if 'id="stream"' not in page:
            return page
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.2)


def content(page: str) -> str:
    """Return a page without what is drawn anew each time."""
    return re.sub(r'nonce="[^"]*"', "", page)


def refused(answer: Any) -> None:
    """Hold that somebody is told of the disk in one page, with what to do."""
    assert answer.status_code == 507, answer.text
    assert answer.text.count('role="alert"') == 1
    assert re.search(r"No space left on device|disk is full", answer.text)
    assert "Free some space" in answer.text


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    with small_disk(tmp_path / "disk") as disk, errors.open("w") as file:
        found = Server(disk / "bench", errors=file)
        try:
            home = str(found.client.post("/studies/files", files={"files": ("r.csv", RATINGS)}).url.path)
            given = {"about:gender": "raters", "scale": "0:3"}
            assert found.client.post(f"{home}/reading", data=given).status_code == 200
            seen = settled(found, home)
            filler = fill(disk)
            before = found.client.get("/api/v1/studies").json()

            refused(found.client.post("/studies/files", files={"files": ("large.csv", LARGE)}))
            refused(found.client.post("/studies/files", files={"files": ("small.csv", RATINGS)}))
            refused(found.client.post(f"{home}/files", files={"files": ("a.csv", LARGE)}, data={"role": "ratings"}))
            refused(found.client.post("/studies/simulated"))
            refused(found.client.post(f"{home}/notes", data={"place": "answer", "text": "A note " * 500}))
            refused(found.client.post(f"{home}/ask", data=ASKED))
            told = found.client.put(f"/api/v1{home}/files/raters?name=raters.csv", content=LARGE.encode())
            assert (told.status_code, told.json()["error"]["status"]) == (507, 507)
            assert found.client.get("/api/v1/studies").json() == before
            assert content(settled(found, home)) == content(seen)  # the study opens as before

            filler.write_bytes(b"x" * (filler.stat().st_size - (200 << 10)))  # room for rows, not for results
            results = found.client.post(f"{home}/ask", data=ASKED).url.raw_path.decode()
            fill(disk)
            page = settled(found, results)
            assert "This could not be computed" in page
            assert "No space left on device" in page
            assert "In short" not in page
            assert "Try again" in page

            (disk / "filler").unlink()
            run = results.rpartition("=")[2]
            again = found.client.post(f"{home}/runs/{run}/again").url.raw_path.decode()
            assert "In short" in settled(found, again)
            assert found.client.post(f"{home}/notes", data={"place": "answer", "text": "A note"}).status_code == 200
        finally:
            found.end()
        filler = fill(disk)
        line = [sys.executable, "-m", "plurivox", "serve", "--folder", str(disk / "bench"), "--no-open"]
        done = subprocess.run(line, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "it cannot be written" in done.stderr
        assert "Free some space there" in done.stderr
        assert "Traceback" not in done.stderr
        filler.unlink()
        found = Server(disk / "bench", errors=file)
        try:
            assert "In short" in found.client.get(again).text
            assert len(found.client.get("/api/v1/studies").json()) == 1
            inputs = list((disk / "bench" / "studies").glob("*/inputs/*"))
            assert len(inputs) == 1  # no file of what was refused is left
        finally:
            found.end()
    assert "Traceback" not in errors.read_text(), errors.read_text()
