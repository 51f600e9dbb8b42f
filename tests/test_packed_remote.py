"""Packed studies in an object store, through stores that fsspec has itself: memory, another folder, a web server."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import plurivox as pv
from plurivox.errors import FileError
from plurivox.packed.remote import RemoteFolder
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
    assert asked(f"file://{study}") == asked(study).replace(str(study), f"file://{study}")


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
    pytest.importorskip("aiohttp", reason="fsspec reads https with aiohttp")
    handler = partial(Quiet, directory=str(study.parent))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/study.pvx"
        assert asked(address) == asked(study).replace(str(study), address)
        with pytest.raises(FileError, match=r"manifest\.json cannot be fetched \(FileNotFoundError"):
            pv.read_ratings(f"http://127.0.0.1:{server.server_port}/other.pvx")
        server.shutdown()


class Quiet(SimpleHTTPRequestHandler):
    """A web server that says nothing."""

    def log_message(self, *args: Any) -> None:
        pass


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("memory://bucket/nothing.pvx", "its file manifest.json cannot be fetched (FileNotFoundError"),
        ("nostore://bucket/study.pvx", "cannot be fetched (ValueError: Protocol not known"),
    ],
)
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
