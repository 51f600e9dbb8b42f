"""Connections to a real server on this machine: those who are silent take no place of somebody who was let in."""

from __future__ import annotations

import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

from plurivox.workbench.server import KNOWN, STRANGERS
from workbench_support import Server

pytestmark = pytest.mark.slow
MANY = 210
SOON = "from plurivox.workbench import server; server.WITHIN = 2.0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with (tmp_path / "errors.txt").open("w") as errors:
        found = Server(tmp_path / "bench", errors=errors, first=SOON)
        yield found
        found.end()
    assert "Traceback" not in (tmp_path / "errors.txt").read_text()


@contextlib.contextmanager
def connections(server: Server, n: int, said: bytes = b"") -> Iterator[list[socket.socket]]:
    """Yield connections of a stranger who says no more than this."""
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 2 * n
    port = server.client.base_url.port
    with contextlib.ExitStack() as stack:
        every = []
        for _ in range(n):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", port), 20))
            with contextlib.suppress(ConnectionError):  # it had to leave at once
                one.sendall(said)
            every.append(one)
        yield every


def closed(one: socket.socket) -> bool:
    """Wait for the end of a connection."""
    try:
        return one.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("said", [b"", b"G", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "])
def test_the_owner_is_answered_beside_silent_connections(server: Server, said: bytes) -> None:
    with connections(server, MANY, said) as silent:
        for _ in range(3):
            assert server.client.get("/").status_code == 200
            with httpx.Client(base_url=server.client.base_url, cookies=server.client.cookies) as another:
                assert another.get("/help").status_code == 200
        assert all(map(closed, silent))  # in time, or this test runs into its own
    assert server.client.get("/").status_code == 200


def test_who_says_a_little_now_and_then_is_not_waited_for(server: Server) -> None:
    with connections(server, 1, b"GET / HTTP/1.1\r\n") as (one,):
        one.settimeout(0.5)
        end = time.monotonic() + 30
        with contextlib.suppress(ConnectionError):
            while time.monotonic() < end:
                one.sendall(b"X: y\r\n")
                with contextlib.suppress(TimeoutError):
                    if one.recv(1) == b"":
                        break
        assert time.monotonic() < end


def test_a_stranger_is_answered_once(server: Server) -> None:
    port = server.client.base_url.port
    line = f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
    with connections(server, MANY, line) as every:
        one = every[-1].makefile("rb").read()
        assert one.startswith(b"HTTP/1.1 401")
        assert b"connection: close" in one
        assert server.client.get("/").status_code == 200


def test_a_request_whose_body_is_slow_is_not_cut_off(server: Server) -> None:
    """Only what is asked for must be said in time."""

    def slowly() -> Iterator[bytes]:
        yield b'--x\r\nContent-Disposition: form-data; name="files"; filename="new.csv"\r\n\r\n'
        for at in range(6):
            time.sleep(0.6)
            yield f"i{at},r{at},1\n".encode() if at else b"item,rater,score\n"
        yield b"\r\n--x--\r\n"

    kind = {"content-type": "multipart/form-data; boundary=x"}
    assert server.client.post("/studies/files", content=slowly(), headers=kind).status_code == 200


def test_those_who_were_let_in_keep_their_connections(server: Server) -> None:
    assert STRANGERS < MANY < STRANGERS + KNOWN
    with contextlib.ExitStack() as stack:
        tabs = [
            stack.enter_context(httpx.Client(base_url=server.client.base_url, cookies=server.client.cookies))
            for _ in range(STRANGERS + 20)
        ]
        assert {one.get("/help").status_code for one in tabs} == {200}
        with connections(server, MANY):
            assert {one.get("/help").status_code for one in tabs} == {200}
