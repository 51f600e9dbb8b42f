"""How long the variation lens takes on ten million ratings, compared with numpy, and how much memory it needs.

``python -m benchmarks.variation [RATINGS]``. 100 ratings of an item by 10,007 raters, five attributes of four groups
each at random, a scale of five points. The whole call is that of a user: leniency and dominance of 20 groups under
1,000 shuffles of the raters, intervals over items and raters, components of variance, reliability, and then all
attributes at once, too. Only shuffling further where a p-value is undecided is off, so that every run does the same.

The numpy version does the shuffles alone, as a careful user would write them: one ``bincount`` by item, group and
point, from which both statistics of all groups follow. A few of its shuffles are timed in the same run, and multiplied.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv
from benchmarks.cohesion import _memory, _reset_peak
from plurivox.domain.axis import Axis
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.grouping import Grouping
from plurivox.lenses.variation.sums import Measured

N_RATERS, PER_ITEM, POINTS, ATTRIBUTES, GROUPS, SHUFFLES, TIMED = 10_007, 100, 5, 5, 4, 1000, 2


def study(n_ratings: int) -> pv.Ratings:
    """Return ratings of which no two are of one rater and one item."""
    rng = np.random.default_rng(0)
    n_items = n_ratings // PER_ITEM
    first, step = rng.integers(0, N_RATERS, n_items), rng.integers(1, N_RATERS, n_items)
    raters = (first[:, np.newaxis] + step[:, np.newaxis] * np.arange(PER_ITEM)) % N_RATERS  # distinct, as it is prime
    raters = np.sort(raters, axis=1).ravel().astype(np.int32)
    groups = {f"a{k}": rng.integers(0, GROUPS, N_RATERS).astype(str) for k in range(ATTRIBUTES)}
    item = np.repeat(np.arange(n_items, dtype=np.int32), PER_ITEM)
    latent = rng.normal(size=n_items)[item] + 0.5 * rng.normal(size=N_RATERS)[raters] + rng.normal(size=len(item))
    return pv.Ratings(
        pv.Scale.range(0, POINTS - 1), pl.DataFrame({"item": np.arange(n_items)}),
        pl.DataFrame({"rater": np.arange(N_RATERS), **groups}), item, raters,
        np.searchsorted([-1.2, -0.4, 0.4, 1.2], latent).astype(np.uint8), None,
        pv.simulate(n_items=1, n_raters=1).ratings.intake,
    )  # fmt: skip


def with_numpy(ratings: pv.Ratings, codes: NDArray[np.int32]) -> NDArray[np.float64]:
    """Leniency and dominance of all groups, groups × 2, from one bincount."""
    cell = (ratings.item_codes.astype(np.int64) * GROUPS + codes[ratings.codes_of_raters]) * POINTS + ratings.scores
    counts = np.bincount(cell, minlength=ratings.n_items * GROUPS * POINTS).reshape(-1, GROUPS, POINTS)
    rest = counts.sum(axis=1, keepdims=True) - counts
    n, m = counts.sum(axis=2), rest.sum(axis=2)
    values = np.array(ratings.scale.values)
    weight = n * m / np.maximum(n + m, 1)
    gap = (counts @ values) / np.maximum(n, 1) - (rest @ values) / np.maximum(m, 1)
    higher = (counts * (np.cumsum(rest, axis=2) - 0.5 * rest)).sum(axis=(0, 2))
    return np.stack([(weight * gap).sum(axis=0) / weight.sum(axis=0), higher / (n * m).sum(axis=0)], axis=1)


def shuffles(ratings: pv.Ratings) -> None:
    """Print what a shuffle of all axes takes, here and there, and check that they agree."""
    axes = [Axis.of(ratings, f"a{k}") for k in range(ATTRIBUTES)]
    works = [Measured(ratings, Grouping.of(ratings, axis.codes, len(axis))) for axis in axes]
    for work in works:
        work.null(Draws.permuted(1, 0), Running())
    n, ours, numpy_time = 50, 0.0, 0.0
    for work in works:
        start = time.perf_counter()
        found = work.null(Draws.permuted(n, 0), Running())
        ours += (time.perf_counter() - start) / n
        labels = work.grouping.labels(Draws.permuted(TIMED, 0))
        start = time.perf_counter()
        beside = [with_numpy(ratings, codes) for codes in labels]
        numpy_time += (time.perf_counter() - start) / TIMED
        assert np.abs(np.array(beside) - found[:TIMED]).max() < 1e-9
    print(f"  a shuffle of all axes       {ours * 1e3:9.1f} ms", flush=True)
    print(f"  numpy, bincount             {numpy_time * 1e3:9.1f} ms, {numpy_time / ours:.0f} times as long; "
          f"{numpy_time * SHUFFLES:,.0f} s for {SHUFFLES:,} shuffles alone", flush=True)  # fmt: skip


def whole(ratings: pv.Ratings, **asked: Any) -> None:
    """Print the time and memory of a call."""
    arrays = (ratings.item_codes, ratings.codes_of_raters, ratings.scores, ratings.offsets)
    prebuilt = sum(array.nbytes for array in arrays)
    _reset_peak()
    before, start = _memory("VmRSS"), time.perf_counter()
    found = pv.variation(
        ratings, [f"a{k}" for k in range(ATTRIBUTES)], permutations=SHUFFLES, max_permutations=SHUFFLES, **asked
    )
    seconds, grown = time.perf_counter() - start, _memory("VmHWM") - before
    assert len(found.to_frame()) == 2 * ATTRIBUTES * GROUPS
    name = "with all attributes at once" if asked else "the whole call"
    print(f"  {name:27} {seconds:9.1f} s, peak {(prebuilt + grown) / prebuilt:.2f} times the "
          f"{prebuilt / 1e6:,.0f} MB of arrays", flush=True)  # fmt: skip


def main() -> None:
    """Measure."""
    n_ratings = int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000
    small = study(20_000)
    pv.variation(small, ["a0", "a1"], permutations=20, adjust=True)  # compiles
    ratings = study(n_ratings)
    print(f"{len(ratings):,} ratings, {ratings.n_raters:,} raters, {ratings.n_items:,} items, {ATTRIBUTES * GROUPS} "
          f"groups on {ATTRIBUTES} axes, {SHUFFLES:,} shuffles", flush=True)  # fmt: skip
    whole(ratings)
    whole(ratings, adjust=True)
    shuffles(ratings)


if __name__ == "__main__":
    main()
