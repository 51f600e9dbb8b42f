"""Somebody leaves in the midst of something, the disk is full, two tabs change one study: nothing breaks."""

from __future__ import annotations

import contextlib
import itertools
import re
import signal
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("vl_convert")
pytest.importorskip("httpx")

from workbench_support import OFTEN, RATINGS, Server, add_study, send, settled, workbench

LONG = {"by": "gender", "permutations": "50000", "max_permutations": "50000", "interval": "bootstrap"}
needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="only Linux tells of open files in /proc")


@contextlib.contextmanager
def server(folder: Path, *files: str, **how: Any) -> Iterator[Server]:
    """Yield a server that says nothing of errors on its way."""
    errors = folder / "errors.txt"
    with errors.open("w") as file:
        found = Server(folder / "bench", *files, errors=file, **how)
        try:
            yield found
        finally:
            found.end()
    assert "Traceback" not in errors.read_text(), errors.read_text()


def until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)


def begun(found: Server) -> str:
    """Add a study whose raters have a gender, and return its address."""
    home = str(found.client.post("/studies/files", files={"files": ("r.csv", RATINGS)}).url.path)
    done = found.client.post(f"{home}/reading", data={"about:gender": "raters", "scale": "0:3"})
    assert done.status_code == 200
    until(lambda: 'id="stream"' not in found.client.get(home).text)
    return home


def coming_in(found: Server) -> int:
    """Return how many files of uploads a server has open; they have no name, so that none is left behind."""
    count = 0
    for one in Path(f"/proc/{found.process.pid}/fd").iterdir():
        with contextlib.suppress(OSError):  # it was closed meanwhile
            count += "/bench/incoming/" in str(one.readlink())
    return count


@pytest.mark.slow
@needs_proc
def test_a_connection_cut_during_an_upload_leaves_nothing(tmp_path: Path) -> None:
    with server(tmp_path) as found:
        home = begun(found)
        before = found.client.get("/api/v1/studies").json()
        url = found.client.base_url
        cookies = "; ".join(f"{name}={value}" for name, value in found.client.cookies.items())
        for path in ("/studies/files", f"{home}/files"):
            head = (
                f"POST {path} HTTP/1.1\r\nHost: {url.host}:{url.port}\r\nOrigin: http://{url.host}:{url.port}\r\n"
                f"Cookie: {cookies}\r\nContent-Type: multipart/form-data; boundary=x\r\nContent-Length: 9000000\r\n\r\n"
                '--x\r\nContent-Disposition: form-data; name="files"; filename="new.csv"\r\n\r\n'
            )
            with socket.create_connection((url.host, url.port)) as connection:
                connection.sendall(head.encode() + b"a,b,c\n" * 500_000)
                until(lambda: coming_in(found) == 1)
        until(lambda: coming_in(found) == 0)
        assert not list((tmp_path / "bench" / "incoming").iterdir())
        assert found.client.get("/api/v1/studies").json() == before
        assert found.client.get(home).status_code == 200


@pytest.mark.slow
@needs_proc
def test_a_browser_that_leaves_lets_go_of_everything(tmp_path: Path) -> None:
    with server(tmp_path) as found:
        home = begun(found)
        results = found.client.post(f"{home}/ask", data=LONG).url
        run = results.params["run"]
        files = Path(f"/proc/{found.process.pid}/fd")
        before = len(list(files.iterdir()))
        for _ in range(20):
            with found.client.stream("GET", f"{home}/runs/{run}/events") as stream:
                assert next(stream.iter_bytes())
        until(lambda: len(list(files.iterdir())) <= before + 2)
        assert 'id="stream"' in found.client.get(results.raw_path.decode()).text  # the work goes on
        found.client.post(f"{home}/runs/{run}/cancel", data={"back": home})
        assert "This was cancelled" in found.client.get(results.raw_path.decode()).text


def test_a_page_that_comes_late_is_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "growing.csv"
    file.write_text(RATINGS)
    with server(tmp_path, str(file), first=OFTEN) as found:
        (study,) = found.client.get("/api/v1/studies").json()
        home = f"/studies/{study['id']}"
        found.client.post(f"{home}/watch", data={"going": "1"})
        until(lambda: "At first: " in found.client.get(f"{home}/watch").text)
        (address,) = re.findall(r'hx-sse:connect="([^"]+)"', found.client.get(f"{home}/watch").text)
        with found.client.stream("GET", address.partition("?")[0], params={"shown": ""}) as stream:  # an empty page's
            assert "event: arrived" in "".join(itertools.islice(stream.iter_text(), 2))
        with found.client.stream("GET", address) as stream:
            told = stream.iter_text()
            assert next(told) == ": here\n\n"
            file.write_text(f"{RATINGS}i0,new,1,woman\n")
            assert any("event: arrived" in text for text in itertools.islice(told, 4))
            assert "ratings 168 → 169" in found.client.get(f"{home}/watch").text


def children(pid: int) -> list[int]:
    """Return the processes that a process started."""
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(one) for one in found]


@needs_proc
@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_while_pages_listen_to_running_work(number: signal.Signals, tmp_path: Path) -> None:
    errors = tmp_path / "errors.txt"
    with errors.open("w") as file, contextlib.ExitStack() as stack:
        found = Server(tmp_path / "bench", errors=file)
        home = begun(found)
        run = found.client.post(f"{home}/ask", data=LONG).url.params["run"]
        for _ in range(3):
            pieces = stack.enter_context(found.client.stream("GET", f"{home}/runs/{run}/events")).iter_bytes()
            assert next(pieces)
        workers = children(found.process.pid)
        assert workers
        found.process.send_signal(number)
        found.process.communicate(timeout=30)
        said = b"".join(pieces).decode()
    assert "event: ended" in said  # the page was told, and not cut off
    until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in workers))
    with contextlib.closing(sqlite3.connect(tmp_path / "bench" / "workbench.sqlite3")) as base:
        assert base.execute("select state from runs where id = ?", (run,)).fetchall() == [("interrupted",)]
    assert "Traceback" not in errors.read_text(), errors.read_text()
    assert "rror" not in errors.read_text(), errors.read_text()
    assert not list((tmp_path / "bench" / "studies").glob("*/made/*/parts.json"))  # nothing half-made is left
    with server(tmp_path) as found:
        assert "This was interrupted" in found.client.get(f"{home}/results?run={run}").text


@pytest.mark.slow
@needs_proc
def test_a_disk_that_is_full_for_the_work_is_said(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="only Unix limits how large files may get")
    most = 30_000  # too little for the first section of a run

    with server(tmp_path) as found:
        home = begun(found)
        for worker in children(found.process.pid):
            resource.prlimit(worker, resource.RLIMIT_FSIZE, (most, most))
        asked = {"by": "gender", "permutations": "20", "max_permutations": "20"}
        results = found.client.post(f"{home}/ask", data=asked).url.raw_path.decode()
        until(lambda: 'id="stream"' not in found.client.get(results).text, 120)
        page = found.client.get(results).text
        assert "This could not be computed" in page
        assert "File too large" in page
        assert "Try again" in page
        assert "In short" not in page
        assert found.client.get(home).status_code == 200


def test_two_tabs_that_change_one_study(tmp_path: Path) -> None:
    with workbench(tmp_path) as client:
        home = add_study(client)
        seen = settled(client, home).partition('name="revision" value="')[2].partition('"')[0]
        given = {"about:gender": "raters", "revision": seen}
        assert send(client, f"{home}/reading", **given, scale="0:3").status_code == 303
        late = send(client, f"{home}/reading", **given, scale="0:9")
        assert late.status_code == 409
        assert "changed in another tab" in late.text
        assert f'href="{home}"' in late.text  # the way back, to look at it again
        page = settled(client, home)
        assert "points, 0 to 3" in page
        assert "points, 0 to 9" not in page
