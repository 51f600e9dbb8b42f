"""How long plurivox takes from a CSV file to checked ratings, and how much memory, compared with other ways.

``python -m benchmarks.reading [ROWS] [--beside SRC]``. ``SRC`` is the ``src`` folder of another version of plurivox,
which is measured, too. Every way reads in a process of its own, all of them in turn, so that ratios mean something on
a noisy machine. The rows are shuffled, the worst case.

- ``plurivox``: polars parses blocks of the file, each block is coded as it comes.
- ``polars``: polars parses the whole file as text and codes whole columns.
- ``duckdb``: DuckDB parses the whole file as text, plurivox codes what comes.
- ``types only``: ``pl.read_csv``, which guesses types and neither codes nor checks: the yardstick.

"codes" is the way from bytes to codes, "ratings" all of ``pv.read_ratings``. "first" is the first call of a process,
as a command makes it, "again" the best of two more. The CPU seconds are of the first call, of all threads; the peak
memory is of the process after it.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from plurivox.domain import check
from plurivox.domain.check import LongTable
from plurivox.domain.code import Coded, Coder, whole_numbers
from plurivox.read.read import read_ratings

ROOT = Path(__file__).parents[1]
ROUNDS = 3
PER_ITEM = 100
N_RATERS = 20_000
Columns = tuple[dict[str, Coded], None]
FIGURES = {"codes_first": "first", "codes_again": "again", "first": "first", "again": "again", "cpu": "CPU s"}


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


def by_polars(path: str, table: LongTable) -> Columns:
    """Parse the whole file with polars, and code whole columns."""
    wanted = list(table.names.values())
    frame = pl.read_csv(path, columns=wanted, infer_schema=False, empty_string_is_null=False)
    coded = {}
    for role, name in table.names.items():
        column = frame[name]
        frame = frame.drop(name)
        distinct = column.unique()
        numbers = whole_numbers(distinct)
        values = (distinct if numbers is None else numbers).sort()
        codes = column.cast(pl.Enum(values.cast(pl.String))).to_physical().to_numpy()
        coded[role] = Coded(values, codes.astype(np.min_scalar_type(-len(values) - 1)))
    return coded, None


def by_duckdb(path: str, table: LongTable) -> Columns:
    """Parse the whole file with DuckDB, and code batches as they come."""
    import duckdb

    names = ", ".join(f'"{name}"' for name in table.names.values())
    query = f"select {names} from read_csv(?, delim = ',', quote = '', header = true, all_varchar = true)"
    coders = {role: Coder(text=True) for role in table.names}
    with duckdb.connect() as connection, ThreadPoolExecutor(len(coders)) as pool:
        for batch in connection.sql(query, params=[path]).to_arrow_reader(200_000):
            columns = [pl.Series(column).cast(pl.String) for column in batch.columns]
            list(pool.map(Coder.add, coders.values(), columns))
        return dict(zip(coders, pool.map(Coder.finish, coders.values()), strict=True)), None


WAYS = {"plurivox": None, "polars": by_polars, "duckdb": by_duckdb, "types only": None}


def peak() -> int:
    """Return the peak memory of this process in MB. Not getrusage: its peak starts at that of the parent process."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) * 1024 // 10**6


def seconds(work: Callable[[], object]) -> float:
    """Return how long one call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def one(way: str, path: str) -> dict[str, float]:
    """Read a file three times in one way; return the figures."""
    coding: list[float] = []
    usual: Callable[..., Any] = check._coded_columns
    other = WAYS.get(way)

    def timed(table: LongTable, *given: Any) -> Any:
        found: list[Any] = []
        coding.append(seconds(lambda: found.append(other(path, table) if other else usual(table, *given))))
        return found[0]

    check._coded_columns = timed  # type: ignore[assignment]
    work: Callable[[], object] = (lambda: pl.read_csv(path)) if way == "types only" else (lambda: read_ratings(path))
    before = time.process_time()
    first = seconds(work)
    figures = {"first": first, "cpu": time.process_time() - before, "peak": peak()}
    figures["again"] = min(seconds(work) for _ in range(2))
    if coding:
        figures |= {"codes_first": coding[0], "codes_again": min(coding[1:])}
    return figures


def measured(way: str, source: Path, path: Path) -> dict[str, float]:
    """Return the figures of a process of its own."""
    command = [sys.executable, "-m", "benchmarks.reading", "--one", way, str(path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), str(ROOT)])}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return dict(json.loads(done.stdout))


def compare(path: Path, ways: dict[str, tuple[str, Path]]) -> None:
    """Measure all ways in turn and print one row each: medians, and the highest peak."""
    rounds: dict[str, list[dict[str, float]]] = {label: [] for label in ways}
    measured("plurivox", ROOT / "src", path)  # compiles, and brings the file into memory
    for _ in range(ROUNDS):
        for label, (way, source) in ways.items():
            rounds[label].append(measured(way, source, path))
    for label, found in rounds.items():
        cells = []
        for figure in FIGURES:
            known = [row[figure] for row in found if figure in row]
            cells.append(f"{statistics.median(known):9.2f}" if known else f"{'–':>9}")
        print(f"{label:18}{''.join(cells)}{max(row['peak'] for row in found):9.0f}", flush=True)


def main() -> None:
    """Print a table for each kind of id."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="?", type=int, default=10_000_000)
    parser.add_argument("--beside", type=Path, metavar="SRC", help="the src folder of another version of plurivox")
    parser.add_argument("--one", nargs=2, metavar=("WAY", "PATH"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(one(*given.one)))
        return
    ways = {way: (way, ROOT / "src") for way in WAYS}
    if given.beside:
        ways = {"plurivox beside": ("plurivox", given.beside.resolve()), **ways}
    print(f"{given.rows:,} shuffled rows, {ROUNDS} processes each in turn, {os.cpu_count()} cores; median seconds")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in make(Path(folder), given.rows).items():
            print(f"\n{name}, {path.stat().st_size / 1e6:.0f} MB")
            print(f"{'':18}{'codes':>18}{'ratings':>18}")
            print(f"{'':18}{''.join(f'{title:>9}' for title in FIGURES.values())}{'peak MB':>9}")
            compare(path, ways)


if __name__ == "__main__":
    main()
