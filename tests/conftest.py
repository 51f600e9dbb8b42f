"""Fixtures shared by the tests."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest
from hypothesis import settings

from support import Write

settings.register_profile("plurivox", deadline=None, max_examples=60)
settings.load_profile("plurivox")


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
