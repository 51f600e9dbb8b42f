"""A few cases of every target of the fuzzer, the same in every run; ``make fuzz`` goes on for minutes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fuzz import targets
from fuzz.cases import Case
from fuzz.searching import search
from support import some

EXAMPLES = {"options": 6, "calls": 8, "restored": 8, "logs": 20}


@pytest.mark.parametrize("target", [one for one in targets.TARGETS if one != "packed"])
def test_only_errors_of_ours(target: str, tmp_path: Path) -> None:
    found = search(target, 0, EXAMPLES.get(target, 30), tmp_path)
    assert found is None, found.told() if found else ""


@pytest.mark.slow
def test_made_up_folders_crash_no_process(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "fuzz", "--target", "packed", "--seconds", "0.01", "--failures", str(tmp_path)]
    path = os.pathsep.join([str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(line, capture_output=True, text=True, timeout=300, env={**os.environ, "PYTHONPATH": path})
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.fullmatch(r"seeds 0 to 0: 2\d\d cases, no failures\n", done.stdout)


def test_a_foreign_error_is_found_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> Case:
        return Case("int('x')", lambda: int("x"), {"table.csv": b"a,b\n"})

    monkeypatch.setitem(targets.TARGETS, "broken", broken)
    found = search("broken", 7, 3, tmp_path / "scratch")
    kept = some(found).keep(tmp_path)
    assert (kept / "table.csv").read_bytes() == b"a,b\n"
    assert "target broken, seed 7\nint('x')" in (kept / "case.txt").read_text()
