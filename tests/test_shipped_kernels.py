"""Kernels that are compiled when the package is built: the list, what is written and read, and where it is not used."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llvmlite import binding

from plurivox import kernels
from plurivox.kernels import shipped, shipping, shuffling
from support import all_shipped

ONE = "shuffling.mixed(uint64)"


def test_types_are_read_as_numba_prints_them() -> None:
    import importlib

    for name, kernel, text in shipping.entries():
        module = importlib.import_module(f"plurivox.kernels.{name}")
        types = shipping.ArgumentTypes(text, module).several()
        assert f"({', '.join(map(str, types))})" == text
        assert getattr(module, kernel).py_func.__code__.co_argcount == len(types)


def test_the_list_is_sorted_and_has_no_kernel_that_only_kernels_call() -> None:
    lines = shipping.SIGNATURES.read_text("utf-8").splitlines()
    assert lines == sorted(set(lines))
    assert len(shipping.entries()) == len(lines) > 50
    assert not [line for line in lines if "._" in line]


SHIP = """
import sys
from pathlib import Path
from plurivox.kernels import shipped, shipping
shipped.FOLDER = shipping.FOLDER = Path(sys.argv[1])
shipping.SIGNATURES = Path(sys.argv[2])
shipped.FOLDER.mkdir()
for part in range(shipping.PARTS):
    shipping.compile_part(part)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One small kernel, compiled as the build does, twice."""
    home = tmp_path_factory.mktemp("shipped")
    (home / "list.txt").write_text(f"{ONE}\nvariation.add_signs{signs()}\n", encoding="utf-8")
    for name in ("one", "two"):
        command = [sys.executable, "-c", SHIP, str(home / name), str(home / "list.txt")]
        subprocess.run(command, check=True, env=os.environ | {"NUMBA_CACHE_DIR": str(home / f"cache-{name}")})
    return home


def signs() -> str:
    return next(text for module, kernel, text in shipping.entries() if (module, kernel) == ("variation", "add_signs"))


USE = """
import sys
from pathlib import Path
from numba.core import event
from plurivox.kernels import shipped

shipped.FOLDER = Path(sys.argv[1])
compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event)
    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
from plurivox.kernels import compiled_before, shuffling
import numpy as np
before = compiled_before(shuffling.mixed)
print(int(shuffling.mixed(np.uint64(5))), len(compiled), before)
"""


def used(folder: Path, cache: Path, **variables: str) -> list[str]:
    command = [sys.executable, "-c", USE, str(folder)]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)} | variables
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout.split()


def test_two_builds_give_the_same_bytes(folder: Path) -> None:
    names = sorted(one.name for one in (folder / "one").iterdir())
    assert names == ["shuffling.mixed", "variation.add_signs"]
    for name in names:
        content = (folder / "one" / name).read_bytes()
        assert content == (folder / "two" / name).read_bytes()
        assert str(folder).encode() not in content
        assert os.fsencode(Path(kernels.__file__).parent) not in content  # nothing of where it was built


def test_what_is_shipped_is_not_compiled(folder: Path, tmp_path: Path) -> None:
    with np.errstate(over="ignore"):
        value = str(int(shuffling.mixed.py_func(np.uint64(5))))  # the same lines in plain Python
    assert used(folder / "one", tmp_path) == [value, "0", "True"]
    assert not list(tmp_path.rglob("*.nbi"))
    value_without, compilations, before = used(tmp_path / "nothing", tmp_path)
    assert value_without == value
    assert int(compilations) > 0
    assert before == "False"


def test_what_does_not_hold_here_is_not_used(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipped, "FOLDER", folder / "one")
    assert len(shipped.load("plurivox.kernels.shuffling", "mixed")) == 1
    assert shipped.load("plurivox.kernels.shuffling", "place_in") == {}
    with monkeypatch.context() as patched:  # other sources, another version
        patched.setattr(shipped, "stamp", lambda: "0" * 64)
        assert shipped.load("plurivox.kernels.shuffling", "mixed") == {}
    with monkeypatch.context() as patched:  # a processor that lacks the instructions
        patched.setattr(shipped, "usable_here", lambda: False)
        assert shipped.load("plurivox.kernels.shuffling", "mixed") == {}
    content = (folder / "one" / "shuffling.mixed").read_bytes()
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    for damaged in (b"", content[:30], content[:64], content[:200]):
        (tmp_path / "shuffling.mixed").write_bytes(damaged)
        assert shipped.load("plurivox.kernels.shuffling", "mixed") == {}


def test_a_processor_without_the_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    def here(triple: str, **features: bool) -> Any:
        monkeypatch.setattr(binding, "get_process_triple", lambda: triple)
        monkeypatch.setattr(binding, "get_host_cpu_features", lambda: features)
        return shipped.usable_here.__wrapped__()

    every = dict.fromkeys(shipped.PROCESSORS["x86_64"][1].split(), True)
    assert here("x86_64-unknown-linux-gnu", **every)
    assert not here("x86_64-unknown-linux-gnu", **every | {"avx2": False})
    assert not here("x86_64-unknown-linux-gnu")
    assert here("aarch64-unknown-linux-gnu")
    assert not here("riscv64-unknown-linux-gnu", **every)


@pytest.mark.parametrize("changed", ["one.py", "signatures.txt"])
def test_a_change_of_any_kernel_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str) -> None:
    for name in ("shipped.py", "one.py", "signatures.txt"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    monkeypatch.setattr(shipped, "__file__", str(tmp_path / "shipped.py"))
    before = shipped.stamp.__wrapped__()
    assert shipped.stamp.__wrapped__() == before
    (tmp_path / changed).write_text("two", encoding="utf-8")
    assert shipped.stamp.__wrapped__() != before


def test_compilation_that_is_switched_off(tmp_path: Path) -> None:
    assert used(tmp_path, tmp_path, NUMBA_DISABLE_JIT="1")[1:] == ["0", "True"]


@pytest.mark.slow
def test_the_demo_compiles_nothing(demo_folder: Path) -> None:
    if not all_shipped():
        reason = "The shipped kernels are older than their sources: python -m plurivox.kernels.shipping"
        assert not os.environ.get("CI"), reason
        pytest.skip(reason)
    assert not list((demo_folder / "kernels").rglob("*.nbi"))
