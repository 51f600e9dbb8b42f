"""How packing and a packed study grow with the number of ratings: seconds, processor seconds and peak memory.

``python -m benchmarks.scale`` goes from 100,000 to 10 million ratings; ``--largest 1e8`` further. Everything is made in
a folder of temporary files (``--folder``), about 20 bytes for each rating, and removed at the end. Each step runs in a
process of its own, whose peak is that of its resident memory, mapped files included, without that of processes that it
starts. Items have 100 ratings of 5 points each; there are as many raters as items, 4,000 at least, in 8 groups; rows
are in random order. What is done once, such as loading compiled code and starting workers, is not in the times of
permutations.

At the end, ratios of one run are compared with those in ``benchmarks/scale_ratios.json``: a ratio that has grown by
more than half ends it with an error. ``--write`` puts those of this run in their place.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import plurivox as pv
from benchmarks.reading import peak
from plurivox.engine.cluster import Cluster

PER_ITEM, GROUPS, BLOCK = 100, 8, 5_000_000
STEP = 1_000_000_007  # a prime, so that it leads through all rows once


def make(folder: Path, n: int, *, text: bool = False, groups: int = GROUPS) -> None:
    """Write ratings in random order into Parquet files, and a table of raters."""
    rng = np.random.default_rng(0)
    n_items = n // PER_ITEM
    n_raters = max(n_items, 4000)  # more than 300 in a group, for whom no statistics of pairs of raters are made
    start, step = rng.integers(n_raters, size=n_items), rng.integers(n_raters // 10, size=n_items) * 10
    step += rng.choice([1, 3, 7, 9], n_items)  # shares no factor with the number of raters, so no rater comes twice
    severity, group = rng.normal(size=n_items), rng.integers(groups, size=n_raters)
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


WORKERS = ("1 thread", "2 threads", "2 processes", "Dask, 1 worker", "Dask, 3 workers")
RATIOS = Path(__file__).with_name("scale_ratios.json")


@contextlib.contextmanager
def workers(who: str) -> Iterator[dict[str, Any]]:
    """Yield how a lens is told who works."""
    count = int(next(word for word in who.split() if word.isdigit()))
    if "thread" in who:
        yield {"threads": count}
    elif "process" in who:
        with ProcessPoolExecutor(count, mp_context=get_context("forkserver")) as pool:
            yield {"executor": pool}
    else:
        with Cluster.local(count) as cluster:
            yield {"executor": cluster}


def cohere(folder: Path, permutations: int, who: str) -> dict[str, float]:
    """Make this many permutations of all cohesion statistics, and return what they took."""
    asked: dict[str, Any] = {"interval": "none", "permutations": permutations, "max_permutations": permutations}
    ratings = pv.read_ratings(folder / "study.pvx")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with workers(who) as how:
        pv.cohesion(pv.read_ratings(folder / "small.pvx"), "group", **asked, **how)
        wall, cpu = time.perf_counter(), time.process_time()
        pv.cohesion(ratings, "group", **asked, **how)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    there = (
        after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    )  # with their start, without a forkserver's
    return {"wall": wall, "cpu": cpu + there, "peak": peak() / 1000}


def timed(work: Callable[[], object]) -> dict[str, float]:
    """Return what a call took."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu, "peak": peak() / 1000}


def measured(step: str, folder: Path, *given: str) -> dict[str, float]:
    """Run a step in a process of its own, and return what it took."""
    command = [sys.executable, "-m", "benchmarks.scale", "--step", step, str(folder), *given]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def one(step: str, folder: Path, given: Sequence[str]) -> None:
    """Run a step here, and print what it took."""
    steps: dict[str, Callable[[], dict[str, float]]] = {
        "pack": lambda: timed(lambda: pack(folder, given[0])),
        "cohesion": lambda: cohere(folder, int(given[0]), given[1]),
    }
    print(json.dumps(steps[step]()))


def row(n: int, step: str, found: dict[str, float], units: float) -> str:
    """Return a line of the table; nanoseconds are those of the processor for each unit."""
    return (
        f"{n:>13,}  {step:<24} {found['wall']:>8.1f} {found['cpu']:>8.1f} {found['peak']:>8.2f} "
        f"{found['cpu'] / units * 1e9:>10.1f}"
    )


def small(folder: Path) -> None:
    """Pack a study that takes no time, for what is done once."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        make(Path(name), 10_000)
        pack(Path(name), "2GB")
        (Path(name) / "study.pvx").rename(folder / "small.pvx")


def ratios(found: dict[tuple[int, str], dict[str, float]], largest: int) -> dict[str, float]:
    """Return what is compared between runs: seconds for each rating at one size relative to another, and who works."""

    def each(n: int, who: str = "1 thread", kind: str = "cpu") -> float:
        return found[n, who][kind] / n

    sizes = sorted({n for n, _ in found})
    flat = {
        f"a rating among {b:,} beside one among {a:,}": each(b) / each(a) for a, b in pairwise(sizes) if b <= largest
    }
    most = min(max(sizes), largest)
    pairs = [("2 threads", "1 thread"), ("2 processes", "2 threads"), ("Dask, 1 worker", "1 thread"),
             ("Dask, 3 workers", "2 threads")]  # fmt: skip
    return flat | {
        f"{a} beside {b}": each(most, a, "wall") / each(most, b, "wall") for a, b in pairs if (most, a) in found
    }


def guard(found: dict[str, float], *, write: bool) -> None:
    """Hold ratios against those that are committed, or put them in their place."""
    if write:
        RATIOS.write_text(json.dumps({name: round(value, 3) for name, value in found.items()}, indent=1) + "\n")
    known = json.loads(RATIOS.read_text())
    grown = []
    print(f"\n{'ratio':<52} {'now':>6} {'before':>7}")
    for name, value in found.items():
        print(f"{name:<52} {value:>6.2f} {known.get(name, float('nan')):>7.2f}")
        grown += [name] if value > 1.5 * known.get(name, float("inf")) else []
    if grown:
        sys.exit(f"slower than before by more than half: {'; '.join(grown)}")


def main() -> None:
    """Print a table of all sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=float, default=1e7)
    parser.add_argument("--permutations", type=int, default=100)
    parser.add_argument("--memory", default="2GB")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        one(asked.step[0], Path(asked.step[1]), asked.step[2:])
        return
    print(f"{'ratings':>13}  {'step':<24} {'seconds':>8} {'cpu':>8} {'peak GB':>8} {'ns per':>10}")
    found = {}
    size = 1e5
    while size <= asked.largest:
        n = int(size)
        for kind in ("numbers", "text") if n <= 10**7 else ("numbers",):
            with tempfile.TemporaryDirectory(prefix="plurivox-scale-", dir=asked.folder) as name:
                folder = Path(name)
                make(folder, n, text=kind == "text")
                print(row(n, f"pack, ids are {kind}", measured("pack", folder, asked.memory), n), flush=True)
                small(folder)
                for who in WORKERS if kind == "numbers" else ():
                    found[n, who] = measured("cohesion", folder, str(asked.permutations), who)
                    print(row(n, f"cohesion, {who}", found[n, who], n * (asked.permutations + 1)), flush=True)
        size *= 10
    guard(ratios(found, int(min(asked.largest, 1e7))), write=asked.write)


if __name__ == "__main__":
    main()
