"""What a question of a packed study costs: seconds and bytes for each rating, draw and group, and for more of them.

``python -m benchmarks.cost`` measures permutations of all cohesion statistics at some sizes, numbers of draws and of
groups, fits what each of these adds, and holds that against three other sizes; then it tells what 10 billion ratings
would take. Studies are those of :mod:`benchmarks.scale`: 100 ratings of an item, as many raters as items.
"""

from __future__ import annotations

import argparse
import pickle
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import nnls

import plurivox as pv
from benchmarks.scale import PER_ITEM, make, pack, small
from plurivox.domain.part import SIZE
from plurivox.engine.pool import Parcel, digest_of

FITTED = [(10**6, 16, 8), (10**6, 96, 8), (10**6, 48, 24), (10**7, 16, 8), (10**7, 48, 8), (10**7, 32, 24),
          (4 * 10**7, 16, 8), (4 * 10**7, 32, 8), (10**8, 16, 8)]  # fmt: skip
CHECKED = [(3 * 10**6, 64, 8), (2 * 10**7, 32, 8), (6 * 10**7, 24, 8)]
CACHED = 100_000  # raters whose groups a processor has at hand
WITHIN = 0.3


class Case(NamedTuple):
    """How many ratings, draws and groups."""

    ratings: int
    draws: int
    groups: int

    @property
    def raters(self) -> int:
        """As many as items."""
        return max(self.ratings // PER_ITEM, 4000)

    def terms(self) -> list[float]:
        """Return what seconds are made of: passes without draws, draws, groups, and raters out of reach of a cache."""
        n, draws, items = self.ratings, self.draws, self.ratings / PER_ITEM
        far = max(0.0, float(np.log2(self.raters / CACHED)))
        return [n, n * draws, items * self.groups * draws, n * draws * far, n * far]


NAMES = ("a rating, once", "a rating and draw", "an item, group and draw",
         "a rating and draw, each doubling of raters above 100,000", "a rating, once, each doubling")  # fmt: skip


@dataclass
class Counted(Executor):
    """An executor that does all at once, and counts what would travel to workers and back."""

    content: int = 0
    results: int = 0
    tasks: int = 0

    def __post_init__(self) -> None:
        self.arrays: dict[str, int] = {}

    def ship(self, work: Callable[[int, int], Any]) -> Sent:
        """Take work apart as it would be sent."""
        content, arrays = Parcel.of(work)
        self.arrays |= {digest_of(array): array.nbytes for array in arrays}
        return Sent(self, work, len(content))


class Sent(NamedTuple):
    """Work that stays here."""

    to: Counted
    work: Callable[[int, int], Any]
    size: int

    def submit(self, first: int, last: int) -> Future[Any]:
        """Do some of it."""
        done: Future[Any] = Future()
        done.set_result(self.work(first, last))
        self.to.content += self.size
        self.to.results += len(pickle.dumps(done.result(), pickle.HIGHEST_PROTOCOL))
        self.to.tasks += 1
        return done

    def watch(self) -> None:
        """Wait for nobody."""

    def forget(self) -> None:
        """Keep nothing."""


def ask(folder: Path, name: str, draws: int, **how: Any) -> None:
    """Make permutations of all cohesion statistics."""
    pv.cohesion(pv.read_ratings(folder / name), "group", permutations=draws, max_permutations=draws, interval="none",
                **how)  # fmt: skip


def seconds(case: Case, folder: Path) -> tuple[float, float]:
    """Return the processor seconds of a case, and the bytes on disk of a rating."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        here = Path(name)
        make(here, case.ratings, groups=case.groups)
        pack(here, "2GB")
        small(here)
        ask(here, "small.pvx", 16, threads=1)
        start = time.process_time()
        ask(here, "study.pvx", case.draws, threads=1)
        taken = time.process_time() - start
        size = sum(one.stat().st_size for one in (here / "study.pvx").glob("part-*"))
        return taken, size / case.ratings


def travelling(case: Case, folder: Path) -> Counted:
    """Return what travels."""
    with tempfile.TemporaryDirectory(dir=folder) as name:
        make(Path(name), case.ratings, groups=case.groups)
        pack(Path(name), "2GB")
        counted = Counted()
        ask(Path(name), "study.pvx", case.draws, executor=counted)
        return counted


def named(case: Case) -> str:
    """Return a case in words."""
    return f"{case.ratings:>13,} ratings, {case.draws:>3} draws, {case.groups:>2} groups"


def main() -> None:
    """Measure, fit, check and extrapolate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", default=None)
    parser.add_argument("--largest", type=float, default=1e8, help="leave out larger cases")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="plurivox-cost-", dir=asked.folder) as name:
        folder = Path(name)
        fitted = [Case(*one) for one in FITTED if one[0] <= asked.largest]
        taken = []
        for case in fitted:
            taken.append(seconds(case, folder)[0])
            print(f"{named(case)}: {taken[-1]:7.2f} s", flush=True)
        weights = 1 / np.array(taken)  # so that what counts is by how many per cent it is off
        terms = np.array([case.terms() for case in fitted])
        cost, _ = nnls(terms * weights[:, None], np.ones(len(taken)))
        for what, value in zip(NAMES, cost, strict=True):
            print(f"  {value * 1e9:8.2f} ns for {what}")
        off = check(cost, [Case(*one) for one in CHECKED if one[0] <= asked.largest], folder)
        extrapolate(cost, travelling(Case(10**7, 32, 8), folder))
        if off > WITHIN:
            sys.exit(f"off by {off:.0%}")


def check(cost: Any, cases: list[Case], folder: Path) -> float:
    """Hold the model against other sizes, and return by how much it is off at most."""
    off = 0.0
    for case in cases:
        found, size = seconds(case, folder)
        said = float(np.dot(cost, case.terms()))
        off = max(off, abs(said / found - 1))
        print(f"{named(case)}: {found:7.2f} s, {said:7.2f} s by the model ({said / found - 1:+.0%}); {size:.1f} bytes "
              "on disk for each rating", flush=True)  # fmt: skip
    return off


def extrapolate(cost: Any, sent: Counted) -> None:
    """Print what 10 billion ratings by 10 million raters would take on different numbers of workers."""
    blocks, parts = 2, 10  # of the case that was counted: 32 draws, 10 million ratings
    ratings, raters, draws = 10**10, 10**7, 1000
    far = float(np.log2(raters / CACHED))
    terms = [ratings, ratings * draws, ratings / PER_ITEM * 8 * draws, ratings * draws * far, ratings * far]
    total, alone = float(np.dot(cost, terms)), cost[0] * terms[0] + cost[4] * terms[4]
    n_blocks, n_parts = -(-draws // 16), ratings // SIZE
    back = sent.results / sent.tasks * n_blocks * n_parts * sent.tasks / (blocks * parts)
    out = sent.content / sent.tasks * n_blocks * n_parts * sent.tasks / (blocks * parts)
    once = sum(sent.arrays.values()) / 10**5 * raters
    print(f"10 billion ratings, 10 million raters, 1,000 draws: {total / 3600:.0f} processor hours, of which "
          f"{alone / 3600:.1f} where the question is asked")  # fmt: skip
    for workers in (10, 100, 1000):
        hours = (alone + (total - alone) / workers) / 3600
        print(f"  {workers:>5} workers: {hours:6.1f} hours; {once * workers / 1e9:8.1f} GB out for raters, "
              f"{out / 1e9:.1f} GB for tasks; {back / 1e9:.1f} GB of sums back")  # fmt: skip


if __name__ == "__main__":
    main()
