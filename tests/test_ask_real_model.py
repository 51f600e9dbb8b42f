"""A run against a real model server: transformers' own, with a small model of random weights made on the spot."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from plurivox import Scale, ask

HOME = Path(__file__).parents[1] / ".venv" / "model-server" / "bin"
QUESTION = ask.Question(Scale(["never", "sometimes", "always"]), "How often is this right?")
ITEMS = pl.DataFrame({"item": ["a", "b", "c"], "text": ["Be kind.", "Never lie.", "Share your food."]})

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (HOME / "transformers").exists(), reason="there is no model server; make model-server installs one"
    ),
]


class Served(NamedTuple):
    """A running server and the model it serves."""

    url: str
    model: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("model")
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    maker = Path(__file__).with_name("tiny_model.py")
    subprocess.run([HOME / "python", maker, folder / "tiny"], check=True, capture_output=True, env=offline)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    asked = [HOME / "transformers", "serve", folder / "tiny", "--device", "cpu", "--host", "127.0.0.1", "--port"]
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([*map(str, asked), str(port)], stdout=log, stderr=log, env=offline)
    try:
        for _ in range(180):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                break
            except OSError:
                assert process.poll() is None, (folder / "log").read_text()
                time.sleep(1)
        yield Served(f"http://127.0.0.1:{port}/v1", str(folder / "tiny"))
    finally:
        process.terminate()
        process.wait()


def test_a_real_model_is_asked_and_nothing_is_lost(served: Served, tmp_path: Path) -> None:
    store = tmp_path / "answers.db"
    given = {"base_url": served.url, "max_tokens": 6, "samples": 2, "timeout": 300.0}
    found = ask.run(ITEMS, QUESTION, [served.model], store, **given)  # type: ignore[arg-type]
    assert found.total == found.asked == 6
    assert not found.problems
    frame = ask.Store.read(store).frame()
    assert frame["state"].is_in(["answered", "refused", "unreadable"]).all()
    assert (frame["prompt_tokens"] > 100).all()
    assert frame["completion_tokens"].is_between(1, 6).all()
    assert frame["version"].str.contains("tiny").all()
    same = frame.group_by("item").agg(pl.col("text").n_unique())
    assert (same["text"] == 1).all()  # at temperature 0 a model repeats itself
    again = ask.run(ITEMS, QUESTION, [served.model], store, **given)  # type: ignore[arg-type]
    assert (again.asked, again.states["stored"]) == (0, 6)
