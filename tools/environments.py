"""Try what ``make release`` built in clean environments: no extras, all extras, the oldest dependencies, every Python.

``python -m tools.environments [--dist dist] [--pythons "COMMAND, COMMAND"] [--only none,all,oldest] [--tests quick]``.
Interpreters named ``python3.N`` on the path are found; ``--pythons`` adds others, such as
``chroot /srv/testing python3.14``. Each environment is made anew. The tests come from the source distribution, whose
own ``src`` is removed first, so that only what is installed can be tested. What is printed last is how many tests
passed and were skipped where.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = ("pytest", "pytest-xdist", "hypothesis")
ORACLES = ("krippendorff", "mpmath", "pandas", "pyarrow", "scikit-learn", "httpx")
"""What tests compare with or read from. No extra brings it along, so that without extras their tests are skipped."""
QUICK = (
    "aggregate", "alignment", "ask", "ask_prompts", "ask_store", "cli", "cohesion", "config", "containers",
    "contract", "estimate", "exports", "formats", "item_view", "items", "judge", "notebooks", "packing", "plots",
    "predictions", "psychometrics", "ratings", "reader", "reading", "report_render", "responsiveness", "restoring",
    "scale", "settings", "soft_scores", "statistics_agreement", "statistics_cohesion", "statistics_soft", "variation",
    "workbench_guard", "wrong_types",
)  # fmt: skip
"""Tests of each lens, of commands, of what reads, draws and writes, and of each extra: minutes, where all take many."""


KERNELS = """
from plurivox.kernels import shipped, shipping
print(all(shipped.holds(module, kernel) for module, kernel, _ in shipping.entries()))
"""
"""Tells whether an installation has its kernels compiled; the wheel that all share has those of one Python."""


class Environment(NamedTuple):
    """A clean virtual environment and what is installed there."""

    python: tuple[str, ...]
    """The command that starts the interpreter."""
    kind: str
    """none, all or oldest."""

    @property
    def name(self) -> str:
        """Its name as that of a folder."""
        return f"{self.python[-1].rpartition('/')[2]}-{self.kind}"


class Outcome(NamedTuple):
    """What came of it."""

    name: str
    told: str
    """The interpreter and the versions of the dependencies that matter most."""
    tests: str
    seconds: float
    right: bool


def lower_bounds() -> list[str]:
    """Return the oldest allowed version of each direct dependency, as constraints."""
    needed = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    bounds = {}
    for requirement in needed:
        found = re.fullmatch(r"([\w.-]+)>=([\w.]+)[^;]*(;.*)?", requirement)
        if found:
            bounds[found[1]] = f"{found[1]}=={found[2]}{found[3] or ''}"
        elif not requirement.startswith("plurivox["):
            sys.exit(f"pyproject.toml: {requirement} has no lower bound")
    return sorted(bounds.values())


def interpreters(further: str) -> Iterator[tuple[str, ...]]:
    """Yield the command of each Python on the path that plurivox allows, oldest first, and those named."""
    first = int(PROJECT["requires-python"].removeprefix(">=3."))
    for minor in range(first, first + 20):
        command = f"python3.{minor}"
        if shutil.which(command) and not subprocess.run([command, "-c", ""], capture_output=True).returncode:
            yield (command,)
    yield from (tuple(one.split()) for one in further.split(",") if one.strip())


class Trial:
    """One environment in a folder of its own."""

    def __init__(self, environment: Environment, folder: Path, dist: Path) -> None:
        self.environment, self.folder = environment, folder
        built = (next(dist.glob(ending)) for ending in ("*.tar.gz", "*.whl"))
        self.sdist, self.wheel = (Path(shutil.copy(one, folder)) for one in built)  # where a changed root sees them
        self.start = environment.python[:-1]
        hidden = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "VIRTUAL_ENV")
        self.surroundings = {key: value for key, value in os.environ.items() if key not in hidden}

    def run(self, *command: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run something where the interpreter lives."""
        words = [*self.start, *map(str, command)]
        if self.start and cwd:  # a changed root loses the folder
            words = [*self.start, "sh", "-c", 'cd "$0" && exec "$@"', str(cwd), *map(str, command)]
        return subprocess.run(words, cwd=cwd or self.folder, env=self.surroundings, capture_output=True, text=True)

    def must(self, *command: object, cwd: Path | None = None) -> str:
        """Run something that has to work; return what it printed."""
        done = self.run(*command, cwd=cwd)
        if done.returncode:
            raise RuntimeError(f"{' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
        return done.stdout

    @property
    def program(self) -> Path:
        """The folder of the environment's programs."""
        return self.folder / "venv" / "bin"

    def install(self) -> None:
        """Make the environment: from the source distribution without extras, else from the wheel."""
        self.must(self.environment.python[-1], "-m", "venv", self.folder / "venv")
        if self.environment.kind == "none":
            wanted = [str(self.sdist)]
        else:
            wanted = [f"{self.wheel}[all]"]
        wanted += [*TOOLS, *ORACLES]
        if self.environment.kind == "oldest":
            (self.folder / "oldest.txt").write_text("\n".join(lower_bounds()) + "\n")
            wanted += ["-c", str(self.folder / "oldest.txt")]
        self.must(self.program / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", *wanted)
        self.must(self.program / "python", "-m", "pip", "check")

    def smoke(self) -> None:
        """Use the installed program as somebody would who has just installed it."""
        at = self.folder / "smoke"
        at.mkdir()
        plurivox = self.program / "plurivox"
        told = self.must(plurivox, "--version", cwd=at)
        assert self.wheel.name.split("-")[1] in told, told
        place = self.must(self.program / "python", "-c", "import plurivox; print(plurivox.__file__)", cwd=at)
        assert place.startswith(str(self.folder / "venv")), place
        self.must(plurivox, "simulate", "study", cwd=at)
        self.must(plurivox, "cohesion", "study/ratings.csv", "--raters", "study/raters.csv", "--by", "age", cwd=at)
        if self.environment.kind != "none":
            self.must(plurivox, "demo", cwd=at)
            return
        assert self.must(self.program / "python", "-c", KERNELS, cwd=at) == "True\n", "the build compiled no kernels"
        for words in (
            ("report", "study/ratings.csv"),
            ("serve",),
            ("ask", "study/items.csv", "--model", "m", "--scale", "0:4"),
        ):
            done = self.run(plurivox, *words, cwd=at)
            lines = done.stderr.strip().splitlines()
            assert done.returncode == 1, (words, done)
            assert "pip install 'plurivox[" in " ".join(lines[-2:]), (words, done.stderr)

    def test(self, tests: str) -> tuple[str, bool]:
        """Run the tests; return how they ended in one line, and whether well."""
        at = self.folder / "sdist"
        with tarfile.open(self.sdist) as archive:
            archive.extractall(at, filter="data")
        (root,) = at.iterdir()
        shutil.rmtree(root / "src")
        chosen = [f"tests/test_{name}.py" for name in QUICK] if tests == "quick" else ["tests"]
        options = ["-n", "2", "--dist", "worksteal", "-m", "not slow and not claims", "-rs", "--durations", "15"]
        if self.environment.kind == "oldest":  # they warn of each other, and of what newer packages below them do
            options += ["-W", "ignore::DeprecationWarning", "-W", "ignore::FutureWarning"]
        done = self.run(self.program / "python", "-m", "pytest", *options, *chosen, cwd=root)
        (self.folder / "tests.log").write_text(done.stdout + done.stderr)
        last = next((line for line in reversed(done.stdout.splitlines()) if line), "nothing")
        return last.strip("= "), done.returncode == 0

    def versions(self) -> str:
        """Return the interpreter's version and those of the dependencies."""
        listed = self.must(self.program / "python", "-m", "pip", "list", "--format", "json")
        found = {one["name"]: one["version"] for one in json.loads(listed)}
        told = self.must(self.program / "python", "--version").strip()
        packages = ("numpy", "numba", "scipy", "polars", "narwhals", "typer", "vl-convert-python")
        shown = (name for name in packages if name in found)
        return ", ".join([told, *(f"{name} {found[name]}" for name in shown)])


def tried(environment: Environment, folder: Path, dist: Path, tests: str) -> Outcome:
    """Make an environment, and use and test what is installed there."""
    began = time.monotonic()
    trial = Trial(environment, folder, dist)
    told, ended, right = "", "", False
    try:
        trial.install()
        told = trial.versions()
        trial.smoke()
        ended, right = trial.test(tests)
    except (RuntimeError, AssertionError) as error:
        ended = f"{type(error).__name__}: {error}"
    return Outcome(environment.name, told, ended, time.monotonic() - began, right)


def main() -> None:
    """Try every environment, one after the other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--dist", type=Path, default=ROOT / "dist", help="where the source distribution and the wheel are"
    )
    parser.add_argument("--pythons", default="", help="commands of further interpreters, divided by commas")
    parser.add_argument("--only", default="none,all,oldest", help="kinds of environments")
    parser.add_argument("--tests", choices=("quick", "all"), default="quick", help="which tests")
    parser.add_argument("--keep", type=Path, help="a folder in which the environments stay")
    given = parser.parse_args()
    every = list(interpreters(given.pythons))
    wanted = [Environment(python, kind) for python in every for kind in ("none", "all")]
    wanted.append(Environment(every[0], "oldest"))
    outcomes = []
    for environment in (one for one in wanted if one.kind in given.only.split(",")):
        with tempfile.TemporaryDirectory() as temporary:
            folder = (given.keep or Path(temporary)) / environment.name
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            outcomes.append(tried(environment, folder, given.dist.resolve(), given.tests))
            print("{0.name}: {0.tests} ({0.seconds:.0f} s)\n  {0.told}".format(outcomes[-1]), flush=True)
    sys.exit(not all(one.right for one in outcomes))


if __name__ == "__main__":
    main()
