"""Fixtures shared by the tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import polars as pl
import pytest
from hypothesis import settings

from support import Write, all_shipped, made_once


def stay_on_one_core() -> None:
    """Keep a worker of pytest-xdist on a core of its own, if there are as many: threads of several would only wait."""
    worker, n_workers = (os.environ.get(f"PYTEST_XDIST_WORKER{ending}", "") for ending in ("", "_COUNT"))
    if worker and hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        if len(cores) == int(n_workers):
            os.sched_setaffinity(0, {cores[int(worker.removeprefix("gw"))]})


stay_on_one_core()
settings.register_profile("plurivox", deadline=None, max_examples=60, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=600)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "plurivox"))


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file into the test's folder and return its path."""

    def writer(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return writer


@pytest.fixture
def small() -> pl.DataFrame:
    """Two raters, three items, one gap."""
    return pl.DataFrame({"item": [1, 1, 2, 2, 3], "rater": ["a", "b", "a", "b", "a"], "score": [0, 1, 4, 3, 2]})


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder of real data sets, named by PLURIVOX_TEST_DATA."""
    folder = os.environ.get("PLURIVOX_TEST_DATA")
    if not folder or not (Path(folder) / "data").is_dir():
        pytest.skip("PLURIVOX_TEST_DATA does not name a folder with the real data sets")
    return Path(folder) / "data"


@pytest.fixture(scope="session")
def golden() -> dict[str, Any]:
    """Return the worked values beside the real data."""
    folder = os.environ.get("PLURIVOX_TEST_DATA")
    path = Path(folder or ".") / "golden" / "golden.json"
    if not folder or not path.is_file():
        pytest.skip("PLURIVOX_TEST_DATA does not name a folder with golden/golden.json")
    data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return data


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which ``plurivox demo`` ran, with what it printed in printed.txt; nobody may write there.

    Kernels that it has to compile are kept in kernels/, so that a test can tell which the package does not ship.
    """

    def make(folder: Path) -> None:
        own = {"NUMBA_CACHE_DIR": str(folder / "kernels")} if all_shipped() else {}
        command = [sys.executable, "-m", "plurivox", "demo"]
        done = subprocess.run(command, cwd=folder, env=os.environ | own, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        (folder / "printed.txt").write_text(done.stdout, encoding="utf-8")

    return made_once(tmp_path_factory, "demo", make)


@pytest.fixture(scope="session", autouse=True)
def _here() -> Iterator[None]:
    """Let no process of its own draw the charts of a report: to start one takes longer than to draw a few here."""
    from plurivox.plots import writing

    with mock.patch.object(writing, "MOST", 0):
        yield


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Let charts of reports be made, but not drawn, in a test that looks at something else."""
    from undrawn import undrawn

    with undrawn():
        yield


@pytest.fixture(scope="module")
def client(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Yield somebody who may ask a workbench, which all tests of a file share; only files with DRAWN have charts."""
    from workbench_support import workbench

    with workbench(tmp_path_factory.mktemp("bench"), drawn=hasattr(request.module, "DRAWN")) as found:
        yield found
