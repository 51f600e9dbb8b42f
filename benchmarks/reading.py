"""How long plurivox takes from a CSV file to checked codes, beside polars reading the same file.

``python -m benchmarks.reading [ROWS]``. Both run in turn in one process, so that the ratio means something on a noisy
machine; peak memory is that of a fresh process that reads the file once. The rows are shuffled, the worst case.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from plurivox.intake.read import read_ratings

ROUNDS = 5
PER_ITEM = 100
N_RATERS = 20_000


def make(folder: Path, n_rows: int) -> dict[str, Path]:
    """Write the same ratings with integer ids and with text ids."""
    rng = np.random.default_rng(0)
    n_items = n_rows // PER_ITEM
    item = np.repeat(np.arange(n_items), PER_ITEM)
    rater = (rng.integers(0, N_RATERS, n_items)[:, None] + np.arange(PER_ITEM) * 197) % N_RATERS
    order = rng.permutation(len(item))
    score = rng.integers(0, 5, len(item))
    frame = pl.DataFrame({"item_id": item[order], "rater_id": rater.ravel()[order], "score": score})
    files = {"integer ids": folder / "integers.csv", "text ids": folder / "text.csv"}
    frame.write_csv(files["integer ids"])
    frame.with_columns(
        pl.format("item_{}", pl.col("item_id").cast(pl.String).str.zfill(7)).alias("item_id"),
        pl.format("annotator-{}", pl.col("rater_id").cast(pl.String).str.zfill(7)).alias("rater_id"),
    ).write_csv(files["text ids"])
    return files


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def peak(path: Path) -> int:
    """Return the peak memory, in MB, of a process that reads the file once."""
    command = [sys.executable, "-m", "benchmarks.reading", "--peak", str(path)]
    return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def main() -> None:
    """Print one row per kind of id."""
    if sys.argv[1:2] == ["--peak"]:
        read_ratings(sys.argv[2])
        # Not getrusage: its peak starts at that of the parent process.
        status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
        print(int(status["VmHWM"].split()[0]) * 1024 // 10**6)
        return
    n_rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000
    print(f"{n_rows:,} shuffled rows, {ROUNDS} rounds in turn; seconds are minimum and median")
    print(f"{'':12} {'polars':>14} {'plurivox':>14} {'ratio':>12} {'peak MB':>8}")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in make(Path(folder), n_rows).items():
            read_ratings(path)  # compiles once
            theirs, ours = [], []
            for _ in range(ROUNDS):
                theirs.append(seconds(lambda path=path: pl.read_csv(path)))  # type: ignore[misc]
                ours.append(seconds(lambda path=path: read_ratings(path)))  # type: ignore[misc]
            low, middle = min(ours) / min(theirs), statistics.median(ours) / statistics.median(theirs)
            print(
                f"{name:12} {min(theirs):6.2f} {statistics.median(theirs):7.2f} {min(ours):6.2f} "
                f"{statistics.median(ours):7.2f} {low:5.2f} {middle:6.2f} {peak(path):8}"
            )


if __name__ == "__main__":
    main()
