"""How long plurivox takes to start: the import, the help, and what the first run compiles.

``python -m benchmarks.starting [ROUNDS]``. Each figure is a process of its own, all of them in turn, beside Python that
does nothing and beside the import of numpy and of polars; medians, and ratios to Python alone. The last table runs the
same command first with an empty folder for compiled code (NUMBA_CACHE_DIR), then again with what the first run left
there: the difference is what compiling takes, once after an installation.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 5
PROGRAM = ("-m", "plurivox")
STARTS: dict[str, tuple[str, ...]] = {
    "python": ("-c", "pass"),
    "import numpy": ("-c", "import numpy"),
    "import polars": ("-c", "import polars"),
    "import plurivox": ("-c", "import plurivox"),
    "import plurivox, read_ratings": ("-c", "import plurivox; plurivox.read_ratings"),
    "import plurivox, cohesion": ("-c", "import plurivox; plurivox.cohesion"),
    "plurivox --version": (*PROGRAM, "--version"),
    "plurivox --help": (*PROGRAM, "--help"),
    "plurivox describe --help": (*PROGRAM, "describe", "--help"),
    "plurivox cohesion --help": (*PROGRAM, "cohesion", "--help"),
    "plurivox report --help": (*PROGRAM, "report", "--help"),
}
FIRST_RUNS: dict[str, tuple[str, ...]] = {
    "plurivox describe": ("describe", "study/ratings.csv", "--raters", "study/raters.csv"),
    "plurivox cohesion": ("cohesion", "study/ratings.csv", "--raters", "study/raters.csv", "--by", "age"),
    "plurivox variation": ("variation", "study/ratings.csv", "--raters", "study/raters.csv", "--by", "age"),
    "plurivox demo": ("demo", "--force"),
}


def seconds(words: tuple[str, ...], folder: Path, **environment: str) -> float:
    """Return how long a process takes."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=folder, env=os.environ | environment, check=True, capture_output=True)
    return time.perf_counter() - began


def starts(folder: Path, rounds: int) -> None:
    """Print how long each start takes, and how many times as long as Python alone."""
    taken: dict[str, list[float]] = {label: [] for label in STARTS}
    for words in STARTS.values():  # brings bytecode and libraries into memory
        seconds(words, folder)
    for _ in range(rounds):
        for label, words in STARTS.items():
            taken[label].append(seconds(words, folder))
    medians = {label: statistics.median(found) for label, found in taken.items()}
    print(f"{'start, median of ' + str(rounds):32}{'seconds':>9}{'ratio':>8}")
    for label, median in medians.items():
        print(f"{label:32}{median:9.2f}{median / medians['python']:8.1f}")


def first_runs(folder: Path) -> None:
    """Print how long a first run takes, with nothing compiled, beside the next one."""
    seconds((*PROGRAM, "simulate", "study"), folder)
    print(f"\n{'first run':32}{'seconds':>9}{'again':>9}{'compiling':>11}{'ratio':>8}")
    for label, words in FIRST_RUNS.items():
        with tempfile.TemporaryDirectory() as cache:
            first, again = (seconds((*PROGRAM, *words), folder, NUMBA_CACHE_DIR=cache) for _ in range(2))
        print(f"{label:32}{first:9.1f}{again:9.1f}{first - again:11.1f}{first / again:8.1f}")


def main() -> None:
    """Measure starts, then first runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rounds", nargs="?", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        starts(Path(folder), rounds)
        first_runs(Path(folder))


if __name__ == "__main__":
    main()
