"""How packing and a packed study grow with the number of ratings: seconds, processor seconds and peak memory.

``python -m benchmarks.scale`` goes from 100,000 to 10 million ratings; ``--largest 1e8`` further. Everything is made in
a folder of temporary files (``--folder``), about 20 bytes for each rating, and removed at the end. Each step runs in a
process of its own, whose peak is that of its resident memory, mapped files included. Items have 100 ratings of 5 points
each, there are as many raters as items, in 8 groups; rows are in random order.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import plurivox as pv
from benchmarks.reading import peak

PER_ITEM, GROUPS, BLOCK = 100, 8, 5_000_000
STEP = 1_000_000_007  # a prime, so that it leads through all rows once


def make(folder: Path, n: int, *, text: bool) -> None:
    """Write ratings in random order into Parquet files, and a table of raters."""
    rng = np.random.default_rng(0)
    n_items = n // PER_ITEM
    n_raters = max(n_items, 1000)
    start, step = rng.integers(n_raters, size=n_items), rng.integers(n_raters // 10, size=n_items) * 10
    step += rng.choice([1, 3, 7, 9], n_items)  # shares no factor with the number of raters, so no rater comes twice
    severity, group = rng.normal(size=n_items), rng.integers(GROUPS, size=n_raters)
    for number, first in enumerate(range(0, n, BLOCK)):
        row = (np.arange(first, min(first + BLOCK, n)) * (STEP % n) + 12_345) % n
        item = row // PER_ITEM
        rater = (start[item] + (row % PER_ITEM) * step[item]) % n_raters
        score = np.clip(np.round(severity[item] + rng.normal(size=len(row)) + 2 + 0.05 * (group[rater] == 3)), 0, 4)
        frame = pl.DataFrame({"item": item, "rater": rater, "score": score.astype(np.int64)})
        if text:
            frame = frame.with_columns(item=pl.format("item-{}", "item"), rater=pl.format("worker-{}", "rater"))
        frame.write_parquet(folder / f"ratings-{number:04d}.parquet")
    raters = pl.DataFrame({"rater": np.arange(n_raters), "group": [f"g{g}" for g in group.tolist()]})
    raters = raters.with_columns(rater=pl.format("worker-{}", "rater")) if text else raters
    raters.write_csv(folder / "raters.csv")


def pack(folder: Path, memory: str) -> None:
    """Pack the files of a folder."""
    files = sorted(folder.glob("ratings-*.parquet"))
    pv.pack([str(one) for one in files], folder / "study.pvx", scale="0:4", raters=folder / "raters.csv", memory=memory)


def cohere(folder: Path, permutations: int, threads: int) -> None:
    """Make so many permutations of all cohesion statistics."""
    ratings = pv.read_ratings(folder / "study.pvx")
    pv.cohesion(
        ratings, "group", permutations=permutations, max_permutations=permutations, interval="none", threads=threads
    )


def measured(step: str, folder: Path, *given: str) -> dict[str, float]:
    """Run a step in a process of its own, and return what it took."""
    command = [sys.executable, "-m", "benchmarks.scale", "--step", step, str(folder), *given]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def one(step: str, folder: Path, given: Sequence[str]) -> None:
    """Run a step here, and print what it took."""
    steps: dict[str, Any] = {
        "pack": lambda: pack(folder, given[0]), "cohesion": lambda: cohere(folder, int(given[0]), int(given[1]))
    }  # fmt: skip
    wall, cpu = time.perf_counter(), time.process_time()
    steps[step]()
    print(json.dumps({"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": peak() / 1000}))


def row(n: int, step: str, found: dict[str, float], units: float) -> str:
    """Return a line of the table; nanoseconds are those of the processor for each unit."""
    return (
        f"{n:>13,}  {step:<24} {found['wall']:>8.1f} {found['cpu']:>8.1f} {found['peak']:>8.2f} "
        f"{found['cpu'] / units * 1e9:>10.1f}"
    )


def main() -> None:
    """Print a table of all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=float, default=1e7)
    parser.add_argument("--permutations", type=int, default=100)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        one(asked.step[0], Path(asked.step[1]), asked.step[2:])
        return
    print(f"{'ratings':>13}  {'step':<24} {'seconds':>8} {'cpu':>8} {'peak GB':>8} {'ns per':>10}")
    size = 1e5
    while size <= asked.largest:
        n = int(size)
        for kind in ("numbers", "text") if n <= 10**7 else ("numbers",):
            with tempfile.TemporaryDirectory(prefix="plurivox-scale-", dir=asked.folder) as name:
                folder = Path(name)
                make(folder, n, text=kind == "text")
                print(row(n, f"pack, ids are {kind}", measured("pack", folder, asked.memory), n), flush=True)
                for threads in (1, 2) if kind == "numbers" else ():
                    found = measured("cohesion", folder, str(asked.permutations), str(threads))
                    step = f"cohesion, {threads} thread{'s' * (threads > 1)}"
                    print(row(n, step, found, n * (asked.permutations + 1)), flush=True)
        size *= 10


if __name__ == "__main__":
    main()
