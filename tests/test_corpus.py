"""What plurivox prints, writes and returns is bit by bit what was frozen; tests/corpus/freeze.py makes it anew."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import pytest
import typer

from corpus.cases import CASES, COMMANDS
from corpus.data import real_data
from corpus.freeze import group_of, load, through_json
from corpus.records import differences
from corpus.running import Case, World, environment, new_world
from plurivox.cli.app import program

SHOWN = 30
frozen = functools.cache(load)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with new_world() as made:
        yield made


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_nothing_changed(case: Case, world: World) -> None:
    kept: dict[str, Any] = frozen(group_of(case.name))
    elsewhere = list(differences(kept["environment"], environment()))
    if elsewhere:
        pytest.skip(f"other versions may change bits: {'; '.join(elsewhere)}")
    if case.needs_real_data and real_data() is None:
        pytest.skip("PLURIVOX_TEST_DATA does not name a folder with the real data sets")
    assert case.name in kept["cases"], "freeze it: python tests/corpus/freeze.py"
    found = list(differences(kept["cases"][case.name], through_json(case.run(world))))
    assert not found, "\n".join(found[:SHOWN])


def test_names_are_unique_and_every_command_has_cases() -> None:
    names = [case.name for case in CASES]
    assert len(set(names)) == len(names)
    assert {*typer.main.get_command(program()).commands} == {*COMMANDS}  # type: ignore[attr-defined]
    assert {case.line.split()[0] for case in CASES if case.line} >= set(COMMANDS)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ({"a": [1.0, 2.0]}, {"a": [1.0, 2.0]}, []),
        ({"a": 0.1}, {"a": 0.1 + 2**-56}, ["a: 0.1 → 0.10000000000000002"]),
        ({"a": 0.0}, {"a": -0.0}, ["a: 0.0 → -0.0"]),
        ({"a": 1}, {"a": 1.0}, ["a: 1 → 1.0"]),
        ({"a": 1}, {"a": True}, ["a: 1 → True"]),
        ({"a": [1]}, {"a": [1, 2]}, ["a: 1 → 2 entries"]),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, [": other order: ['a', 'b'] → ['b', 'a']"]),
        ({"a": 1}, {"b": 1}, ["a: gone; it was 1", "b: new: 1"]),
        ("x\ny", "x\nz", [": 1 lines differ (2 → 2 lines); the first is line 2:", "    - y", "    + z"]),
    ],
)
def test_differences_are_noticed(old: Any, new: Any, found: list[str]) -> None:
    assert list(differences(old, new)) == found
