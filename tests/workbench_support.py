"""A workbench for tests: the real application behind its guard, real worker processes, and somebody who may ask."""

from __future__ import annotations

import contextlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from starlette.testclient import TestClient

from forking import forks
from plurivox.workbench.server import guarded
from plurivox.workbench.store import StudyStore

PORT = 8765
HOME = f"http://127.0.0.1:{PORT}"
OWN = {"origin": HOME}
RATINGS = "item,rater,score,gender\n" + "".join(
    f"i{item},r{rater},{(item + rater * (1 + rater % 2)) % 4},{'man' if rater % 2 else 'woman'}\n"
    for item in range(12)
    for rater in range(14)
)
"""A small study: 12 items, 14 raters of two groups, scores from 0 to 3."""


@contextlib.contextmanager
def workbench(folder: Path, *, drawn: bool = False, **options: Any) -> Iterator[TestClient]:
    """Yield a client that has opened the first address of a workbench; unless ``drawn``, its charts are empty."""
    store = StudyStore(folder)
    guard = guarded(store, PORT, **options)
    try:
        with forks().instead(drawn), TestClient(guard, base_url=HOME, raise_server_exceptions=False) as client:
            client.guard = guard  # type: ignore[attr-defined]
            assert client.get(f"/?token={guard.token}", follow_redirects=False).status_code == 303
            yield client
    finally:
        store.close()


def add_study(client: TestClient, ratings: str = RATINGS, name: str = "ratings.csv", **more: str) -> str:
    """Upload files and return the address of the study."""
    files = [("files", (name, ratings)), *(("files", (f"{role}.csv", text)) for role, text in more.items())]
    done = client.post("/studies/files", files=files, headers=OWN, follow_redirects=False)
    assert done.status_code == 303, done.text
    return str(done.headers["location"])


def settled(client: TestClient, address: str, seconds: float = 120.0) -> str:
    """Return a page once nothing is being worked out for it any more."""
    end = time.monotonic() + seconds
    pause = 0.02
    while True:
        found = client.get(address)
        assert found.status_code == 200, (found.status_code, found.text[:2000])
        if 'id="stream"' not in found.text:
            return found.text
        assert time.monotonic() < end, "it takes too long"
        time.sleep(pause)
        pause = min(2 * pause, 0.2)


def send(client: TestClient, address: str, **form: Any) -> Any:
    """Send a form of ours."""
    return client.post(address, data=form, headers=OWN, follow_redirects=False)


OFTEN = "from plurivox.workbench import watches; watches.EVERY = 0.2"
"""What a server runs first that shall look often at the files it watches."""


def serve_line(folder: Path, *files: str, first: str = "") -> list[str]:
    """Return the command that starts a server as somebody does; it may run a line of Python first."""
    program = ["-c", f"{first}\nfrom plurivox.cli import main\nmain()"] if first else ["-m", "plurivox"]
    return [sys.executable, *program, "serve", *files, "--folder", str(folder), "--no-open"]


class Server:
    """A server that is a process of its own, and somebody who has opened its address; its errors go to a file."""

    def __init__(self, folder: Path, *files: str, errors: Any = None, first: str = "", **how: Any) -> None:
        line = serve_line(folder, *files, first=first)
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=errors, text=True, **how)
        assert self.process.stdout is not None
        address = self.process.stdout.readline().strip()
        home = re.match(r"http://[^/]+", address)
        assert home, address
        self.client = httpx.Client(base_url=home[0], headers={"origin": home[0]}, timeout=60, follow_redirects=True)
        assert self.client.get(address).status_code == 200

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.communicate()
        self.client.close()

    def end(self) -> None:
        """End it as somebody does."""
        self.process.send_signal(signal.SIGINT)
        self.process.communicate(timeout=30)
        self.client.close()
