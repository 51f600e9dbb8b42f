"""Every page of the workbench, from a file to what is taken away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("starlette")
pytest.importorskip("altair")

from workbench_support import RATINGS, add_study, send, settled, workbench


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with workbench(tmp_path_factory.mktemp("bench")) as found:
        yield found


@pytest.fixture(scope="module")
def study(client: Any) -> str:
    """A study whose column of gender is said to be about raters."""
    home = add_study(client)
    settled(client, home)
    done = send(client, f"{home}/reading", **{"about:gender": "raters", "scale": "0:3", "revision": "1"})
    assert done.status_code == 303, done.text
    page = settled(client, home)
    assert "woman (7)" in page
    return home


@pytest.fixture(scope="module")
def results(client: Any, study: str) -> str:
    """The address of the results of a run with few shuffles."""
    revision = re.search(r'name="revision" value="(\d+)"', client.get(f"{study}/ask").text)
    assert revision
    done = send(client, f"{study}/ask", by="gender", permutations="20", max_permutations="20", reference="crowd",
                revision=revision[1])  # fmt: skip
    assert done.status_code == 303, done.text
    where = str(done.headers["location"])
    settled(client, where)
    return where


def test_what_was_recognised_is_shown_with_the_reason(client: Any) -> None:
    page = settled(client, add_study(client))
    assert "by its name" in page
    assert "168" in page  # 12 items by 14 raters
    assert ">r0<" not in page  # raters are numbered
    assert "rater 1" in page


def test_the_whole_way(client: Any, study: str, results: str) -> None:
    first = settled(client, results)
    assert "In short" in first
    for part in ("study", "variation", "cohesion", "responsiveness", "items", "methods"):
        page = settled(client, f"{results}&part={part}")
        assert "<h2 id=\"part-title\">" in page, part
    assert "plurivox report ratings.csv" in first
    assert "--rater-attributes gender" in first
