"""Packed studies at an address: in a store that fsspec has itself, in memory, and on web servers, good and bad ones."""

from __future__ import annotations

import hashlib
import json
import pickle
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import plurivox as pv
from fuzz.packed import mended
from plurivox.base.errors import FileError
from plurivox.read.packed.manifest import MANIFEST, RemoteFolder
from support import run_cli

fsspec: Any = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install 'plurivox[dask]'")
CSV = "item,rater,score,g\n" + "".join(f"{i},r{r},{(i * r) % 5},{'xy'[r % 2]}\n" for i in range(30) for r in range(12))


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a packed study; what is fetched is kept in the test's folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "a.csv").write_text(CSV)
    pv.pack(tmp_path / "a.csv", tmp_path / "study.pvx", scale="0:4", rater_attributes=["g"])
    return tmp_path / "study.pvx"


@pytest.fixture
def old(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a study that version 0.2.0 packed, and appended to."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Path(__file__).parent / "packed" / "0.2.0.pvx"


@pytest.fixture
def memory(study: Path) -> Iterator[str]:
    store = fsspec.filesystem("memory")
    store.put(f"{study}/", "/bucket/study.pvx/", recursive=True)
    yield "memory://bucket/study.pvx"
    store.rm("/bucket", recursive=True)


def asked(name: Any) -> str:
    found: str = pv.cohesion(pv.read_ratings(name), "g", permutations=9).to_json()
    return found


def test_a_store_gives_the_bits_of_the_folder(study: Path, memory: str) -> None:
    assert asked(memory) == asked(study).replace(str(study), memory)


def test_files_are_fetched_once(study: Path, memory: str) -> None:
    here = asked(memory)
    store = fsspec.filesystem("memory")
    for name in store.ls("/bucket/study.pvx", detail=False):
        if "manifest" not in name:
            store.rm(name)
    assert asked(memory) == here
    kept = sorted(RemoteFolder(memory).cache.iterdir())
    assert len(kept) == len(list(study.iterdir())) - 1
    kept[0].write_bytes(kept[0].read_bytes()[:-1])  # cut short, and no longer to be had
    with pytest.raises(FileError, match=r"memory://bucket/study\.pvx: its file \S+ cannot be fetched"):
        asked(memory)


def test_what_was_damaged_on_its_way_is_noticed(study: Path, memory: str) -> None:
    store = fsspec.filesystem("memory")
    part = next(name for name in store.ls("/bucket/study.pvx", detail=False) if "/part-" in name)
    whole = store.cat(part)
    store.pipe(part, whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(FileError, match="is damaged"):
        asked(memory)
    store.pipe(part, whole)
    assert asked(memory) == asked(study).replace(str(study), memory)


def test_other_processes_fetch_for_themselves(study: Path, memory: str) -> None:
    parts = pv.read_ratings(memory).parts()
    sent = pickle.dumps(parts)
    assert len(sent) < 300
    assert [part.scores.tolist() for part in pickle.loads(sent)] == [part.scores.tolist() for part in parts]


def test_over_the_web(study: Path) -> None:
    handler = partial(Quiet, directory=str(study.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/study.pvx"
        assert asked(address) == asked(study).replace(str(study), address)
        with pytest.raises(FileError, match=r"manifest\.json cannot be fetched \(HTTPError: HTTP Error 404"):
            pv.read_ratings(f"http://127.0.0.1:{server.server_port}/other.pvx")
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """A web server that says nothing."""

    def log_message(self, *args: Any) -> None:
        pass


@pytest.mark.parametrize(("address", "said"), [
    ("memory://bucket/nothing.pvx", "its file manifest.json cannot be fetched (FileNotFoundError"),
    ("nostore://bucket/study.pvx", "not read from such addresses"),
    ("http://plurivox.example/study.pvx", "http only leads to this machine"),
    ("http://localhost@plurivox.example/study.pvx", "not read from such addresses"),
    ("https://[::1/study.pvx", "not read from such addresses"),
    ("file:///tmp/study.pvx", "Use https, or an object store"),
    ("ftp://plurivox.example/study.pvx", "Use https, or an object store"),
    ("dir://bucket/study.pvx", "Use https, or an object store"),
    ("github://who:what@main/study.pvx", "Use https, or an object store"),
    ("simplecache::memory://bucket/study.pvx", "Use https, or an object store"),
    ("zip://study.pvx::memory://bucket/study.pvx", "Use https, or an object store"),
    ("memory://bucket/*.pvx", "Use https, or an object store"),
])  # fmt: skip
def test_what_is_not_there_is_said(address: str, said: str) -> None:
    done = run_cli("cohesion", address, "--by", "g")
    assert done.code == 1
    assert said in done.err
    assert address in done.err


def test_a_store_is_read_only(study: Path, memory: str) -> None:
    with pytest.raises(FileError, match="Pack into a folder on this machine, then copy it there"):
        pv.pack(study.parent / "a.csv", memory)
    with pytest.raises(FileError, match="can only be read"):
        pv.pack(study.parent / "a.csv", memory, append=True)


# Servers that are not to be trusted -----------------------------------------------------------------------------------
class Server(ThreadingHTTPServer):
    """A web server that answers as a test says, and notes what it is asked for."""

    def __init__(self, files: dict[str, bytes], to: str = "") -> None:
        super().__init__(("127.0.0.1", 0), Answers)
        self.files, self.to, self.asked = files, to, list[str]()
        self.address = f"http://127.0.0.1:{self.server_port}/study.pvx"

    def __enter__(self) -> Server:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()
        self.server_close()


class Answers(Quiet):
    """What such a server says."""

    def do_GET(self) -> None:
        server: Any = self.server
        server.asked.append(self.path)
        content = server.files.get(self.path.rpartition("/")[2])
        self.send_response(302 if server.to else 404 if content is None else 200)
        if server.to:
            self.send_header("Location", server.to)
        self.end_headers()  # without a length: the answer ends when the connection does
        sent = 0
        while content and sent < 1 << 28:
            self.wfile.write(content)
            sent += len(content)
            if not server.files.get("endless"):
                break


def files_in(study: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in study.iterdir()}


def everything(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", [
    "/../../planted.pth", "../planted.pth", "{here}/planted.pth", "..", "part-0001-00000.bin/../../planted.pth",
    "x.pth",
])  # fmt: skip
def test_names_from_a_server_lead_nowhere(name: str, study: Path, tmp_path: Path) -> None:
    files = files_in(study)
    known = json.loads(files[MANIFEST])
    known["layers"][0]["parts"][0]["name"] = name.replace("{here}", str(tmp_path))
    files = {**mended(files, known, checksums=False), "planted.pth": files["part-0001-00000.bin"]}
    before = everything(tmp_path)
    with Server(files) as server:
        with pytest.raises(FileError, match=r"manifest\.json is damaged \(name is "):
            list(pv.read_ratings(server.address).parts())
        assert server.asked == ["/study.pvx/manifest.json"]
    assert {path for path in everything(tmp_path) if path.suffix == ".pth"} == set()
    assert everything(tmp_path) == before


def test_the_cache_has_names_of_ours(study: Path, memory: str, tmp_path: Path) -> None:
    asked(memory)
    cache = tmp_path / "cache" / "plurivox" / "packed"
    kept = [path for path in everything(tmp_path / "cache") if path.name != "secret"]
    assert kept
    assert {path.parent.parent for path in kept} == {cache}
    assert all(re.fullmatch(r"sha256-[0-9a-f]{64}-\d+", path.name) for path in kept)


def test_what_goes_on_is_cut_off(study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_in(study)
    with Server({**files, "part-0001-00000.bin": files["part-0001-00000.bin"] * 9}) as server:
        with pytest.raises(FileError, match=r"part-0001-00000\.bin goes on after [\d,]+ bytes"):
            asked(server.address)
        server.files["part-0001-00000.bin"] = files["part-0001-00000.bin"][:-9]
        with pytest.raises(FileError, match=r"part-0001-00000\.bin is damaged"):
            asked(server.address)
    monkeypatch.setattr("plurivox.read.packed.folder.LARGEST_MANIFEST", 1 << 20)
    endless, told = {MANIFEST: b" " * (1 << 16), "endless": b"yes"}, r"manifest\.json goes on after 1,048,576 bytes"
    with Server(endless) as server, pytest.raises(FileError, match=told):
        asked(server.address)
    assert not [path for path in everything(tmp_path / "cache") if ".part" in path.name]


def test_redirects_lead_only_to_https(study: Path) -> None:
    with Server(files_in(study)) as other, Server({}, to=f"{other.address}/manifest.json") as server:
        with pytest.raises(FileError, match="HTTP Error 302"):
            pv.read_ratings(server.address)
        for scheme in ("file:///etc/hostname", "ftp://127.0.0.1/x", "//127.0.0.1/x"):
            server.to = scheme
            with pytest.raises(FileError, match="cannot be fetched"):
                pv.read_ratings(server.address)
        assert other.asked == []


def test_a_store_with_another_study_in_a_part(study: Path, memory: str) -> None:
    store = fsspec.filesystem("memory")
    part = next(name for name in store.ls("/bucket/study.pvx", detail=False) if "/part-" in name)
    whole = store.cat(part)
    store.pipe(part, whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])  # of the same length
    with pytest.raises(FileError, match="its checksum differs"):
        asked(memory)


def test_what_an_old_version_packed_is_read_from_a_store(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Server(files_in(old)) as server:
        assert pv.read_ratings(server.address).in_memory() == pv.read_ratings(old).in_memory()
        digest = hashlib.sha256((old / MANIFEST).read_bytes()).hexdigest()
        with pytest.raises(FileError, match=r"packed by plurivox 0\.2\.0, so that a SHA-256 does not decide"):
            pv.read_ratings(f"{server.address}#sha256={digest}")


@pytest.mark.parametrize("where", ["local", "memory", "web"])
def test_a_sha256_can_be_demanded(where: str, study: Path, memory: str) -> None:
    digest = hashlib.sha256((study / MANIFEST).read_bytes()).hexdigest()
    with Server(files_in(study)) as server:
        name = {"local": str(study), "memory": memory, "web": server.address}[where]
        assert asked(f"{name}#sha256={digest}") == asked(name)
        assert asked(f"{name}#sha256={digest.upper()}") == asked(name)
        done = run_cli("cohesion", f"{name}#sha256={digest}", "--by", "g", "--permutations", 9, "--json")
        assert done.code == 0, done.err
        other = "0" * 64
        with pytest.raises(FileError, match=rf"its SHA-256 is {digest}, but {other} is demanded"):
            pv.read_ratings(f"{name}#sha256={other}")
        done = run_cli("describe", f"{name}#sha256={other}")
        assert (done.code, digest in done.err, other in done.err) == (1, True, True)
        for wrong in (digest[:-1], digest + "0", "", "x" * 64):
            with pytest.raises(FileError, match="what it demands is not a SHA-256"):
                pv.read_ratings(f"{name}#sha256={wrong}")


def test_a_demand_is_not_met_by_a_folder_that_has_it_in_its_name(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody who unpacked an archive may have such a folder beside the study, or in place of an address."""
    monkeypatch.chdir(study.parent)
    other = f"{study.name}#sha256={'0' * 64}"
    study.with_name(other).mkdir()
    for path in study.iterdir():
        (study.with_name(other) / path.name).write_bytes(path.read_bytes())
    for name in (other, f"{other}#sha256={'1' * 64}"):
        with pytest.raises(FileError, match=r"is demanded"):
            pv.read_ratings(name)
    digest = hashlib.sha256((study / MANIFEST).read_bytes()).hexdigest()
    with pytest.raises(FileError, match="there is no such file"):
        pv.read_ratings(f"study.pvx#sha256={'2' * 64}#sha256={digest}")  # neither demand is left out
