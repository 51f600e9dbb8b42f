"""What type checkers tell users: their scripts pass mypy --strict, wrong ones fail, and nothing public is untyped."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import plurivox as pv

pytest.importorskip("mypy", reason="mypy is not installed")
SCRIPT = Path(__file__).parent / "user_script.py"
MODULES = ("ask", "data", "plots", "reproduce", "statistics", "studies")
UNTYPED = re.compile(r'"(Any|def \(\*\w+: Any, \*\*\w+: Any\).*|.*-> Any)"$')
"""What mypy reveals of a name, or of a function, of which users could not know anything."""

WRONG = """
import plurivox as pv
from plurivox import plots, statistics

study = pv.simulate(n_items="many")
pv.cohesion(study.ratings, by=["age"], permutation=9)
pv.cohesion(study.ratings, by=["age"], permutations="9")
pv.cohesion(study.ratings).value("age", "18-29", "gai").upper()
pv.responsiveness(study.ratings, by=3)
pv.nonsense(study.ratings)
plots.nonsense(study.ratings)
plots.gai_forest(study)
statistics.krippendorff_alpha(level="nominal")
pv.judge(study.ratings)
"""
ERRORS = [
    "arg-type", "call-arg", "arg-type", "attr-defined", "arg-type", "attr-defined", "attr-defined", "arg-type",
    "call-arg", "call-arg",
]  # fmt: skip
"""What is wrong with each line of it, from the call of simulate on."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return what the checks of this file share."""
    return tmp_path_factory.mktemp("mypy")


def checked(script: Path, cache: Path) -> list[str]:
    """Return what mypy says of a script in a folder of its own, to which plurivox is an installed package."""
    home = str(Path(pv.__file__).parents[1])
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(cache), str(script)]
    environment = os.environ | {"PYTHONPATH": home}
    done = subprocess.run(command, cwd=script.parent, env=environment, capture_output=True, text=True)
    assert "Traceback" not in done.stderr, done.stderr
    return (done.stdout + done.stderr).splitlines()


def copied(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "script.py"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.slow
def test_a_users_script_passes_mypy_strict(tmp_path: Path, cache: Path) -> None:
    pytest.importorskip("vl_convert", reason="the script draws: pip install 'plurivox[report]'")
    said = checked(copied(tmp_path, SCRIPT.read_text(encoding="utf-8")), cache)
    assert said == ["Success: no issues found in 1 source file"]


@pytest.mark.slow
def test_the_script_runs(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert", reason="the script draws: pip install 'plurivox[report]'")
    done = subprocess.run([sys.executable, SCRIPT, tmp_path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_each_wrong_line_is_found(tmp_path: Path, cache: Path) -> None:
    said = checked(copied(tmp_path, WRONG), cache)
    found = [
        (int(one[1]), one[2]) for one in (re.search(r":(\d+): error: .*\[([\w-]+)\]$", line) for line in said) if one
    ]
    first = WRONG.splitlines().index('study = pv.simulate(n_items="many")') + 1
    assert found == [(first + number, kind) for number, kind in enumerate(ERRORS)], said


@pytest.mark.slow
def test_nothing_public_is_untyped(tmp_path: Path, cache: Path) -> None:
    """Of every public name a type checker knows what it is, and what a function returns."""
    names = [f"pv.{name}" for name in [*pv.__all__, "__version__"]]
    for module in MODULES:
        loaded = importlib.import_module(f"plurivox.{module}")
        public = getattr(loaded, "__all__", [name for name in vars(loaded) if inspect.isfunction(vars(loaded)[name])])
        names += [f"pv.{module}.{name}" for name in public if not name.startswith("_")]
    lines = ["import plurivox as pv", *(f"reveal_type({name})" for name in names)]
    said = [line for line in checked(copied(tmp_path, "\n".join(lines)), cache) if "Revealed type" in line]
    told = dict(zip(names, said, strict=True))
    # Any chart, also one of Altair, which need not be installed, can be written; statistics of arrays give a number or
    # an array, as they get.
    known = {name for name in told if name.startswith("pv.statistics.")} | {"pv.plots.to_svg", "pv.plots.write_chart"}
    untyped = {name: line for name, line in told.items() if UNTYPED.search(line)}
    assert {name: line for name, line in untyped.items() if name not in known or "(*" in line} == {}


def test_the_stubs_say_what_the_program_says() -> None:
    """Else: ``python -m tools.stubs``."""
    pytest.importorskip("ruff", reason="ruff, which formats them, is not installed")
    stubs = pytest.importorskip("tools.stubs", reason="the tools are not beside the tests")
    for name, make in stubs.STUBS.items():
        assert (Path(pv.__file__).parent / name).read_text(encoding="utf-8") == make()
