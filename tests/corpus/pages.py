"""Every page of the workbench about one study, found by following its links; charts are not drawn."""

from __future__ import annotations

import html
import re
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from starlette.testclient import TestClient

from corpus.records import compact_page
from corpus.running import World
from workbench_support import OWN, send, settled, workbench

_LINK = re.compile(r'\bhref="([/?][^"#]*)')
_ASKED = re.compile(r"(?<=[?&])(?!part=)(\w+)=[^&]*")
_WHEN = re.compile(r"\b\d+(\.\d+)? seconds?\b|\b20\d\d-\d\d-\d\d \d\d:\d\d\b")
ALIKE = 2
"""How many pages to visit whose addresses differ only in what they ask for."""
NOT_PAGES = ("/assets/", "/api", "/export/", "/tables/")


def pages(world: World) -> Any:
    """Upload a study with all that can stand beside ratings, ask every question of it, and record the pages' words."""
    roles = ("ratings", "raters", "items", "answers", "predictions")
    files = [("files", (f"{role}.csv", Path(f"dense/{role}.csv").read_bytes())) for role in roles]
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory(dir=world.root) as folder, workbench(Path(folder)) as client:
        done = client.post("/studies/files", files=files, headers=OWN, follow_redirects=False)
        home = str(done.headers["location"])
        revision = re.findall(r'name="revision" value="(\d+)"', _settled(client, f"{home}/ask"))[0]
        asked = {"by": ["age", "gender"], "permutations": "40", "max_permutations": "40", "seed": "3"}
        results = str(send(client, f"{home}/ask", revision=revision, **asked).headers["location"])
        ids = re.compile("|".join((home.rpartition("/")[2], results.rpartition("=")[2])))
        waiting, visits = [home, results, "/", f"{home}/nothing"], Counter[str]()
        while waiting:
            address = waiting.pop(0)
            name = ids.sub("…", address)
            shape = _ASKED.sub(r"\1=…", name)
            if name in found or visits[shape] == ALIKE or any(part in address for part in NOT_PAGES):
                continue
            visits[shape] += 1
            page = _settled(client, address)
            words: str = compact_page(_WHEN.sub("<while>", page))["text"]
            found[name] = world.normal(ids.sub("…", words.replace(folder, "<folder>")))
            waiting += [urljoin(address, html.unescape(link)) for link in _LINK.findall(page)]
    return found


def _settled(client: TestClient, address: str) -> str:
    """Return a page once nothing is being worked out for it, or the page that says what is wrong."""
    first = client.get(address)
    return settled(client, address) if first.status_code == 200 else first.text
