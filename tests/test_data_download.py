"""The downloader against a real server on this machine: ranges, cut connections, wrong checksums, a full disk."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest import mock

import polars as pl
import pytest

import plurivox as pv
from plurivox.base.errors import FileError
from plurivox.base.files import resuming
from plurivox.data import download
from plurivox.data.download import DownloadError, allowed, fetch
from plurivox.data.record import Dataset, Download
from plurivox.data.sets import catalogue, dataset
from support import ran, refused, run_cli

BODY = bytes(range(256)) * 4_096
"""A mebibyte, in which no part is like the one before a shift."""
SUM = hashlib.sha256(BODY).hexdigest()


class Server(ThreadingHTTPServer):
    """A server that can be told how to misbehave, and notes what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.tag = BODY, '"v1"'
        self.cuts: list[int] = []  # after how many bytes each of the next answers is cut
        self.ranges = True
        self.length = True
        self.asked: list[str | None] = []

    def address(self, name: str = "file.bin") -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{name}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        server = self.server
        server.asked.append(self.headers.get("Range"))
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "http://example.org/file.bin")
            self.end_headers()
            return
        if self.path == "/missing":
            self.send_error(404)
            return
        start = 0
        wanted = self.headers.get("Range")
        if wanted and server.ranges and self.headers.get("If-Range") == server.tag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if start >= len(server.body):
            self.send_error(416)
            return
        rest = server.body[start:]
        self.send_response(206 if start else 200)
        self.send_header("ETag", server.tag)
        if server.length:
            self.send_header("Content-Length", str(len(rest)))
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(server.body) - 1}/{len(server.body)}")
        self.end_headers()
        self.wfile.write(rest[: server.cuts.pop(0)] if server.cuts else rest)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(download, "_WAIT", 0.0)
    made = Server()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join()


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_comes_whole_with_its_progress_and_goes_on_where_it_was_cut(server: Server, tmp_path: Path) -> None:
    server.cuts = [300_000, 200_000]
    told: list[tuple[str, int, int]] = []
    path = fetch(server.address(), tmp_path / "a.bin", sha256=SUM, progress=lambda *one: told.append(one))
    assert path.read_bytes() == BODY
    assert server.asked == [None, "bytes=300000-", "bytes=500000-"]
    assert told[-1] == ("a.bin", len(BODY), len(BODY))
    assert [done for _, done, _ in told] == sorted({done for _, done, _ in told})
    with pytest.raises(DownloadError, match=f"its SHA-256 is {SUM}, but the published one of a.bin is {'0' * 64}"):
        fetch(server.address(), path, sha256="0" * 64)  # which leaves nothing, and the old file as it was
    assert (names(tmp_path), path.read_bytes()) == (["a.bin"], BODY)
    (tmp_path / "b.bin.partial").write_bytes(BODY + b"more")  # a part longer than the file begins anew
    (tmp_path / "b.bin.partial.json").write_text(json.dumps({"address": server.address(), "etag": server.tag}))
    assert fetch(server.address(), tmp_path / "b.bin", sha256=SUM).read_bytes() == BODY


def test_the_next_call_goes_on_with_a_part(server: Server, tmp_path: Path) -> None:
    server.cuts = [100_000, 0, 0, 0]
    with pytest.raises(DownloadError, match=r"100,000 bytes have arrived\. Run the same command again") as raised:
        fetch(server.address(), tmp_path / "a.bin", sha256=SUM)
    assert server.address() in str(raised.value)
    assert names(tmp_path) == ["a.bin.partial", "a.bin.partial.json"]
    server.cuts, server.asked = [], []
    assert fetch(server.address(), tmp_path / "a.bin", sha256=SUM).read_bytes() == BODY
    assert (server.asked, names(tmp_path)) == (["bytes=100000-"], ["a.bin"])


@pytest.mark.parametrize("change", ["the file", "weak", "no ranges", "another address"])
def test_a_part_of_another_file_is_not_gone_on_with(server: Server, tmp_path: Path, change: str) -> None:
    """Were it, the two halves would be put together: the old part is of other bytes."""
    if change == "weak":
        server.tag = 'W/"v1"'
    server.body, server.cuts = b"\xff" * len(BODY), [100_000, 0, 0, 0]
    with pytest.raises(DownloadError):
        fetch(server.address(), tmp_path / "a.bin")
    server.body, server.cuts, server.ranges = BODY, [], change != "no ranges"
    if change == "the file":
        server.tag = '"v2"'
    path = fetch(server.address("other" if change == "another address" else "file.bin"), tmp_path / "a.bin")
    assert (path.read_bytes(), names(tmp_path)) == (BODY, ["a.bin"])


def test_a_full_disk_is_one_error_and_the_part_is_gone_on_with(server: Server, tmp_path: Path) -> None:
    """The limit on the size of files is real: the system refuses the write, as it does on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, before[1]))
    try:
        with pytest.raises(FileError, match=r"a\.bin: it cannot be written \(File too large\)\. Free some space"):
            fetch(server.address(), tmp_path / "a.bin", sha256=SUM)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "a.bin.partial").stat().st_size == 300_000
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with mock.patch.object(download, "_write", side_effect=full), pytest.raises(FileError, match="No space left"):
        fetch(server.address(), tmp_path / "a.bin", sha256=SUM)
    assert fetch(server.address(), tmp_path / "a.bin", sha256=SUM).read_bytes() == BODY
    assert server.asked == [None, "bytes=300000-", "bytes=300000-"]


def test_sizes_are_bounded_whatever_a_server_says(server: Server, tmp_path: Path) -> None:
    with pytest.raises(DownloadError, match="it has more than 1,000 bytes"):
        fetch(server.address(), tmp_path / "a.bin", largest=1_000)
    server.length = False  # and then only what comes tells
    with pytest.raises(DownloadError, match="it has more than 1,000 bytes"):
        fetch(server.address(), tmp_path / "a.bin", largest=1_000)
    assert names(tmp_path) == []


def test_only_https_is_fetched_also_behind_redirects(server: Server, tmp_path: Path) -> None:
    for address in ("http://example.org/a", "ftp://example.org/a", "file:///etc/passwd", "https:///a",
                    "http://127.0.0.1.example.org/a", server.address("away")):  # fmt: skip
        with pytest.raises(DownloadError, match="only https addresses"):
            fetch(address, tmp_path / "a.bin")
    with pytest.raises(DownloadError, match=r"the server answered 404\. It was moved or withdrawn"):
        fetch(server.address("missing"), tmp_path / "a.bin")
    assert names(tmp_path) == []
    for one in catalogue().values():
        for file in one.downloads:
            allowed(file.address)
            assert file.address.startswith("https://")


def test_two_processes_do_not_write_one_file(server: Server, tmp_path: Path) -> None:
    with resuming(tmp_path / "a.bin") as file:
        file.write(b"first")
        with pytest.raises(FileError, match="another process is writing it"):
            fetch(server.address(), tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == b"first"


def test_ctrl_c_keeps_the_part(server: Server, tmp_path: Path) -> None:
    def stop(name: str, done: int, total: int) -> None:
        if done >= 500_000:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server.address(), tmp_path / "a.bin", progress=stop)
    assert names(tmp_path) == ["a.bin.partial", "a.bin.partial.json"]
    assert fetch(server.address(), tmp_path / "a.bin").read_bytes() == BODY
    assert str(server.asked[1]).startswith("bytes=524288-")


# The command ---------------------------------------------------------------------------------------------------------

CSV = b"instance_id,user_id,text,offensiveness,gender,race,age,occupation,education\n1,7,hi,2.0,Man,White,35-39,x,y\n"


@pytest.fixture
def offered(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Dataset:
    """Offer a data set on the server, and have the cache in the test's folder."""

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    server.body = CSV
    one = replace(dataset("popquorn-offensiveness"), downloads=(Download("raw_data.csv", server.address()),))
    monkeypatch.setitem(catalogue(), one.name, one)
    return one


@contextmanager
def asked(answer: str) -> Iterator[None]:
    """Somebody sits at a terminal, and answers."""
    with mock.patch("plurivox.cli.data._in_terminal", return_value=True), mock.patch("sys.stdin") as stdin:
        stdin.readline.return_value = answer
        with mock.patch("typer.confirm", side_effect=lambda *_, **__: answer == "y"):
            yield


def test_nothing_is_fetched_before_the_licence_is_accepted(server: Server, offered: Dataset, tmp_path: Path) -> None:
    told = refused("data", "get", offered.name)
    for part in (offered.licence, offered.citation, "error: the licence was not accepted, so nothing was fetched"):
        assert " ".join(part.split()) in told
    with asked("n"):
        assert run_cli("data", "get", offered.name).code == 1
    assert server.asked == []
    assert not (tmp_path / "cache").exists()
    with asked("y"):
        done = ran("data", "get", offered.name)
    path = tmp_path / "cache" / "plurivox" / "data" / offered.name / "raw_data.csv"
    assert (done.out, path.read_bytes()) == (f"{path}\n", CSV)


def test_get_again_fetches_nothing_and_load_finds_it(server: Server, offered: Dataset) -> None:
    with pytest.raises(FileError, match=f"Get one with: plurivox data get {offered.name}"):
        pv.data.load(offered.name)
    with pytest.raises(pv.InputError, match="accept_licence=True"):
        pv.data.get(offered.name)
    pv.data.get(offered.name, accept_licence=True)
    ran("data", "get", offered.name, "--accept-licence")
    assert (len(server.asked), len(pv.data.load(offered.name).ratings)) == (1, 1)
    listed = {one["name"]: one["here"] for one in run_cli("data", "list", "--json").json()}
    assert {name for name, here in listed.items() if here} == {offered.name}


def test_ctrl_c_says_that_the_same_command_goes_on(offered: Dataset, tmp_path: Path) -> None:
    with mock.patch("plurivox.data.download._copy", side_effect=KeyboardInterrupt):
        done = run_cli("data", "get", offered.name, "--accept-licence")
    assert done.code == 130
    assert done.err.splitlines()[-1] == "interrupted; what has arrived is kept, and the same command continues"


def test_a_copy_at_hand_is_taken_if_it_is_the_one(server: Server, offered: Dataset, tmp_path: Path) -> None:
    (tmp_path / "mine.csv").write_bytes(CSV)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    asked = ("data", "get", offered.name, "--accept-licence", "--from")
    path = Path(ran(*asked, tmp_path / "mine.csv").out.strip())
    assert (path.name, path.read_bytes()) == ("raw_data.csv", CSV)
    told = refused(*asked, tmp_path / "other.csv")
    assert "there is no column instance_id, user_id, offensiveness" in told
    assert server.asked == []


def test_a_copy_keeps_its_kind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was taken out of an archive, or is of another kind, is not put into the cache under a name that lies."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache" / name)
    header = [*dataset("social-chemistry-101").tables[0].columns, "rot"]
    (tmp_path / "social-chem-101.v1.0.tsv").write_text("\t".join(header) + "\nr1\tw1\t3\tBe kind.\n")
    pv.data.get("social-chemistry-101", accept_licence=True, source=tmp_path / "social-chem-101.v1.0.tsv")
    assert len(pv.data.load("social-chemistry-101").ratings) == 1
    columns = dataset("faceratings").tables[0].columns
    pl.DataFrame({name: ["1"] for name in columns}).write_parquet(tmp_path / "f.parquet")
    assert len(pv.data.load("faceratings", tmp_path / "f.parquet").ratings) == 1
    told = r"its name differs from those of the files of faceratings: faceratings\.csv\. Rename it"
    with pytest.raises(FileError, match=told):
        pv.data.get("faceratings", accept_licence=True, source=tmp_path / "f.parquet")
    assert not (tmp_path / "cache" / "plurivox" / "data" / "faceratings" / "faceratings.csv").exists()
