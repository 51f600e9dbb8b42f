"""How long soft scores take: exact E[EMD] next to Monte Carlo, all metrics of a million items, and a whole analysis.

``python -m benchmarks.soft``. The Monte Carlo version is the one of the literature: 1,000 draws of each item's
Dirichlet distribution, and the mean of their earth mover's distances. Everything is measured in one run.
"""

from __future__ import annotations

import subprocess
import sys
import time
import warnings
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.cohesion import best
from plurivox.statistics import expected_emd
from plurivox.statistics.soft_blocks import METRICS, Scoring, step_lengths

POINTS, DRAWS = 5, 1000


def table(n_items: int, low: int, high: int, seed: int = 0) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return counts of items with ``low`` to ``high`` ratings, and predictions."""
    rng = np.random.default_rng(seed)
    truth = rng.dirichlet(np.ones(POINTS), n_items)
    counts = rng.multinomial(rng.integers(low, high + 1, n_items), truth).astype(np.int64)
    return counts, rng.dirichlet(np.ones(POINTS), n_items)


def monte_carlo(counts: NDArray[np.int64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return E[EMD] from draws, all items at once for each draw."""
    rng = np.random.default_rng(1)
    foretold = np.cumsum(q, axis=1)[:, :-1]
    total = np.zeros(len(counts))
    for _ in range(DRAWS):
        gamma = rng.standard_gamma(counts + 1.0)
        below = np.cumsum(gamma, axis=1)
        total += np.abs(below[:, :-1] / below[:, -1:] - foretold).sum(axis=1)
    return total / DRAWS / (POINTS - 1)


def exact_beside_draws() -> None:
    """20,000 items × 5 points."""
    counts, q = table(20_000, 2, 20)
    expected_emd(counts[:10], q[:10])
    exact = best(lambda: expected_emd(counts, q), 5)
    start = time.perf_counter()
    drawn = monte_carlo(counts, q)
    slow = time.perf_counter() - start
    gap = np.abs(drawn - expected_emd(counts, q)).max()
    print(
        f"E[EMD] of 20,000 items: exact {exact * 1e3:.1f} ms, {DRAWS:,} draws {slow:.1f} s, {slow / exact:,.0f} times"
    )
    print(f"  the largest difference of the two is {gap:.4f}")


def million() -> None:
    """1 million items × 5 points, 2 to 20 ratings each."""
    counts, q = table(1_000_000, 2, 20)
    steps = step_lengths(POINTS, normalized=True)
    without = tuple(name for name in METRICS if name != "expected_js")
    for metrics, what in ((without, "all metrics but E[JS]"), (METRICS, "all metrics")):
        scoring = Scoring(np.ones(POINTS), steps, steps, metrics=metrics)
        scoring.scores(counts[:10], q[:10])
        seconds = best(partial(scoring.scores, counts, q), 2)
        print(f"1,000,000 items, {what}: {seconds:.1f} s")


WHOLE = """
import time, warnings, numpy as np, polars as pl, plurivox as pv
from benchmarks.soft import table
warnings.simplefilter("ignore")
counts, q = table(1_000_000, 2, 20)
item, score = np.nonzero(counts)
ratings = pv.Ratings(
    pv.Scale.range(1, 5), pl.DataFrame({"item": np.arange(len(counts))}),
    pl.DataFrame({"rater": pl.Series([], dtype=str)}), item.astype(np.int32), None, score.astype(np.uint8),
    counts[item, score], pv.simulate(n_items=2, n_raters=2).ratings.intake,
)
columns = {str(label): q[:, at] for at, label in enumerate(range(1, 6))}
frame = pl.DataFrame({"model": ["one"] * len(q), "item": np.arange(len(q)), **columns})
start = time.perf_counter()
found = pv.soft_scores(ratings, frame, prior=1.0, max_permutations=1000)
print(f"{time.perf_counter() - start:.1f}", end=" ")
print(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
"""


def whole() -> None:
    """Everything that soft_scores does, for one model on a million items, in a process of its own."""
    done = subprocess.run([sys.executable, "-c", WHOLE], capture_output=True, text=True, check=True)
    seconds, kilobytes = done.stdout.split()
    print(
        "soft_scores of 1 model and 3 references on 1,000,000 items, E[JS], 1,000 bootstrap draws, curve over priors "
        f"and calibration included: {seconds} s, {int(kilobytes) / 1e6:.2f} GB"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    exact_beside_draws()
    million()
    whole()
