"""How fast 100 models are compared with 20 groups on 100,000 items, next to a literal loop.

``python -m benchmarks.alignment``. Five ratings per item by 2,000 raters of 20 groups; every model answers every item.
The literal loop is numpy, one model and group at a time, on a part of the data, extrapolated; both are checked equal.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

import plurivox as pv
from plurivox.statistics.alignment import ada_met

N_MODELS, N_ITEMS, N_RATERS, N_GROUPS, PER_ITEM = 100, 100_000, 2_000, 20, 5


def study(n_models: int, n_items: int) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return ratings and answers at random."""
    rng = np.random.default_rng(0)
    rater = np.concatenate([rng.choice(N_RATERS, PER_ITEM, replace=False) for _ in range(n_items)])
    score = rng.integers(0, 5, n_items * PER_ITEM)
    frame = pl.DataFrame({"item": np.repeat(np.arange(n_items), PER_ITEM), "rater": rater, "score": score})
    raters = pl.DataFrame({"rater": np.arange(N_RATERS), "group": [f"g{r % N_GROUPS:02}" for r in range(N_RATERS)]})
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, 4), raters=raters)
    point = rng.integers(0, 5, n_models * n_items)
    state = pl.Series(["answered", "refused"]).gather((rng.random(len(point)) < 0.03).astype(np.uint32))
    answers = pl.DataFrame({
        "model": pl.Series([f"m{m:03}" for m in range(n_models)]).gather(np.repeat(np.arange(n_models), n_items)),
        "item": np.tile(np.arange(n_items), n_models), "point": point, "state": state,
    })  # fmt: skip
    return ratings, answers


def peak() -> float:
    """Return the peak memory of this process, in GB."""
    with open("/proc/self/status", encoding="ascii") as status:
        line = next(line for line in status if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1e6


def timed(ratings: pv.Ratings, answers: pl.DataFrame, bootstrap: int) -> tuple[float, pv.Alignment]:
    """Return the seconds of an analysis, and what it found."""
    start = time.perf_counter()
    found = pv.alignment(
        ratings, answers, by="group", bootstrap=bootstrap, permutations=0, subsamples=0, as_rater=False
    )
    return time.perf_counter() - start, found


def literal(ratings: pv.Ratings, answers: pl.DataFrame, found: pv.Alignment) -> float:
    """Return the seconds that one model takes by a loop over groups, checked against the analysis."""
    own = answers.filter(pl.col("model") == "m000").sort("item")
    given = [point if state == "answered" else None for point, state in own.select("point", "state").iter_rows()]
    start = time.perf_counter()
    for g in range(2):
        group = ratings.where(raters={"group": f"g{g:02}"})
        counts = np.zeros((ratings.n_items, 5), dtype=np.int64)
        places = group.items["item"].cast(pl.Int64).to_numpy()
        counts[places] = group.counts()
        value = ada_met(counts, given)
        assert abs(value - found.value("m000", axis="group", group=f"g{g:02}")) < 1e-9
    return (time.perf_counter() - start) / 2


def main() -> None:
    """Measure."""
    small, few = study(2, 2_000)
    timed(small, few, 10)  # compile
    ratings, answers = study(N_MODELS, N_ITEMS)
    base = peak()
    seconds, found = timed(ratings, answers, 0)
    print(
        f"{N_MODELS} models × {N_ITEMS:,} items × {N_GROUPS} groups: {seconds:.1f} s, peak {peak():.2f} GB, "
        f"{base:.2f} GB of it before the call"
    )
    one = literal(ratings, answers, found)
    print(f"a loop over models and groups takes {one * N_MODELS * N_GROUPS / seconds:.0f} times as long (extrapolated)")
    if "--quick" not in sys.argv:
        seconds, _ = timed(ratings, answers, 1000)
        print(f"with 1,000 bootstrap draws: {seconds:.0f} s, peak {peak():.2f} GB")


if __name__ == "__main__":
    main()
