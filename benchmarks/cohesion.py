"""How long one permutation of all six cohesion statistics takes, compared with numpy, krippendorff and the bound.

``python -m benchmarks.cohesion``. Everything is measured in one run on one machine; the ratios are what counts.
The numpy version counts with ``bincount`` and finishes with whole-array arithmetic, as a careful user would write it.
Ours, at the nominal level like the other two, also computes GAI and the view correlation.
The krippendorff package gives IRR alone, group by group, so its time is a lower bound of what all six would take.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import polars as pl
from numba import njit
from numpy.typing import NDArray

import plurivox as pv
from plurivox.domain.axis import Axis
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.grouping import Grouping
from plurivox.lenses.cohesion.sums import Measured
from plurivox.statistics.checks import votes
from plurivox.statistics.cohesion import parts as parts


def dices_shape(n_points: int = 3) -> tuple[pv.Ratings, list[Axis]]:
    """104 raters × 350 items, crossed, 3 points or 5, 20 groups on 4 axes."""
    rng = np.random.default_rng(0)
    shares = {3: [0.6, 0.1, 0.3], 5: [0.4, 0.2, 0.15, 0.15, 0.1]}
    item, rater = (a.ravel() for a in np.mgrid[:350, :104])
    frame = pl.DataFrame({"item": item, "rater": rater, "score": rng.choice(n_points, len(item), p=shares[n_points])})
    return _study(frame, 104, {"age": 3, "gender": 2, "race": 5}, [("race", "gender")], n_points)


def d3_shape() -> tuple[pv.Ratings, list[Axis]]:
    """4,309 raters, 4,554 items, 150,000 ratings, 5 points, 38 groups on 4 axes."""
    rng = np.random.default_rng(0)
    cells = rng.choice(4_309 * 4_554, 150_000, replace=False)
    score = rng.choice(5, len(cells), p=[0.4, 0.2, 0.15, 0.15, 0.1])
    frame = pl.DataFrame({"item": cells // 4_309, "rater": cells % 4_309, "score": score})
    return _study(frame, 4_309, {"gender": 2, "age": 3, "region": 8}, [("region", "age", "half")], 5, extra=25)


def _study(
    frame: pl.DataFrame,
    n_raters: int,
    sizes: dict[str, int],
    crossings: list[tuple[str, ...]],
    n_points: int,
    extra: int = 0,
) -> tuple[pv.Ratings, list[Axis]]:
    rng = np.random.default_rng(1)
    raters = pl.DataFrame({"rater": range(n_raters), **{n: rng.integers(0, k, n_raters) for n, k in sizes.items()}})
    by: list[Any] = [*sizes, *crossings]
    if extra:  # one axis of many groups instead of a crossing
        raters = raters.with_columns(pl.Series("fine", rng.integers(0, extra, n_raters)))
        by = [*sizes, "fine"]
    ratings = pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, n_points - 1), raters=raters)
    return ratings, [Axis.of(ratings, one, min_group_size=1) for one in by]


def with_numpy(ratings: pv.Ratings, codes: NDArray[np.int32], n_groups: int) -> dict[str, NDArray[Any]]:
    """All six statistics of all groups from one bincount."""
    n_points, n_items = len(ratings.scale), ratings.n_items
    cell = (ratings.item_codes.astype(np.int64) * n_groups + codes[ratings.codes_of_raters]) * n_points + ratings.scores
    counts = np.bincount(cell, minlength=n_items * n_groups * n_points).reshape(n_items, n_groups, n_points)
    rest = counts.sum(axis=1, keepdims=True) - counts
    alpha = parts.alpha_nominal_parts(counts).sum(axis=0)
    cross = parts.xrr_nominal_parts(counts, rest).sum(axis=0)
    plurality, entropy = parts.plurality_parts(counts).sum(axis=0), parts.entropy_parts(counts).sum(axis=0)
    cross_entropy = parts.cross_entropy_parts(counts, rest).sum(axis=0)
    vote = parts.voting_parts(votes(counts), votes(rest)).sum(axis=0)
    return {
        "irr": parts.alpha_nominal_from(alpha[:, 0], alpha[:, 1:]),
        "xrr": parts.xrr_nominal_from(cross[:, 0], cross[:, 1 : n_points + 1], cross[:, n_points + 1 :]),
        "plurality": parts.ratio(plurality[:, 0], plurality[:, 1]),
        "negentropy": parts.negentropy_from(entropy[:, 0], entropy[:, 1], n_points),
        "cross": parts.negentropy_from(cross_entropy[:, 0], cross_entropy[:, 1], n_points),
        "votes": parts.voting_from(vote[:, 0], vote[:, 1 : n_points + 1], vote[:, n_points + 1 :]),
    }


def with_krippendorff(ratings: pv.Ratings, codes: NDArray[np.int32], n_groups: int) -> list[float]:
    """IRR of all groups, one call of the package each."""
    table = np.full((ratings.n_raters, ratings.n_items), np.nan)
    table[ratings.codes_of_raters, ratings.item_codes] = ratings.scores
    return [
        krippendorff.alpha(reliability_data=table[codes == g], level_of_measurement="nominal") for g in range(n_groups)
    ]


@njit(nogil=True)
def increments(raters, scores, group_of, counts):  # type: ignore[no-untyped-def]
    """Nothing but the histogram: one increment per rating."""
    for k in range(len(raters)):
        counts[group_of[raters[k]], scores[k]] += np.int32(1)


def best(work: Callable[[], object], rounds: int = 5) -> float:
    """Return the shortest time of several."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(name: str, ratings: pv.Ratings, axes: list[Axis]) -> None:
    """Print one shape."""
    groupings = [Grouping.of(ratings, axis.codes, len(axis)) for axis in axes]
    passes = [Measured.of(ratings, one, level="nominal") for one in groupings]
    n = 1000 if len(ratings) < 50_000 else 200
    many, fewer = Draws.permuted(n, 0), Draws.permuted(n // 4, 0)
    for one in passes:
        one.null(Draws.permuted(2, 0), Running())
    times: dict[str, list[float]] = {"ours": [], "single": [], "numpy": [], "package": []}
    for _ in range(4):  # in turn, so that a slow moment of the machine meets all of them
        times["ours"].append(best(lambda: [one.null(many, Running()) for one in passes], 1) / n)
        times["single"].append(best(lambda: [one.null(fewer, Running(threads=1)) for one in passes], 1) / (n // 4))
        times["numpy"].append(best(lambda: [with_numpy(ratings, axis.codes, len(axis)) for axis in axes], 1))
        times["package"].append(best(lambda: [with_krippendorff(ratings, axis.codes, len(axis)) for axis in axes], 1))
    ours, single, numpy_time, package = (min(of) for of in times.values())
    groups = axes[0].codes.astype(np.uint8)
    counts = np.zeros((len(axes[0]), len(ratings.scale)), np.int32)
    increments(ratings.codes_of_raters, ratings.scores, groups, counts)
    bare = best(lambda: increments(ratings.codes_of_raters, ratings.scores, groups, counts), 20) / len(ratings)
    per_rating = ours / len(ratings) / len(axes)
    print(f"{name}: {len(ratings):,} ratings, {sum(map(len, axes))} groups on {len(axes)} axes")
    print(f"  plurivox                    {ours * 1e3:9.3f} ms a permutation (one thread {single * 1e3:.3f})")
    print(f"  numpy, bincount             {numpy_time * 1e3:9.1f} ms, {numpy_time / ours:7.0f} times as long")
    print(f"  krippendorff, IRR alone     {package * 1e3:9.1f} ms, {package / ours:7.0f} times as long")
    print(f"  per rating and axis         {per_rating * 1e9:9.2f} ns, {per_rating / bare:.1f} bare increments "
          f"({bare * 1e9:.2f} ns each)")  # fmt: skip


def levels(name: str, ratings: pv.Ratings, axis: Axis) -> None:
    """Print what ordinal and interval levels take compared with nominal, and what view_correlation adds to each."""
    n, works = (512 if len(ratings) < 50_000 else 128), {}
    draws = Draws.permuted(n, 0)
    for level in ("nominal", "ordinal", "interval"):
        whole = Measured.of(ratings, Grouping.of(ratings, axis.codes, len(axis)), level=level)
        others = tuple(one for one in whole.tested if not one.of_moments)
        works[level, "with"] = whole
        works[level, "without"] = replace(whole, tested=others, agreement=replace(whole.agreement, means=np.zeros(0)))
    times: dict[tuple[str, str], float] = {}
    for _ in range(6):
        for key, work in works.items():
            seconds = best(lambda work=work: work.null(draws, Running(threads=1)), 1) / n  # type: ignore[misc]
            times[key] = min(seconds, times.get(key, seconds))
    nominal = times["nominal", "without"]
    print(f"{name}, {len(axis)} groups, one thread")
    for level in ("nominal", "ordinal", "interval"):
        bare, whole_time = times[level, "without"], times[level, "with"]
        print(f"  {level:9} {bare * 1e6:9.0f} µs a permutation, {bare / nominal:.2f} times nominal; "
              f"view_correlation adds {whole_time / bare - 1:.0%}")  # fmt: skip


def large(n_ratings: int) -> None:
    """Print the cost of the kernel on many ratings, 8 groups."""
    rng = np.random.default_rng(0)
    n_items, n_raters = n_ratings // 100, 50_000
    raters = rng.integers(0, n_raters, n_ratings, dtype=np.int32)
    ratings = pv.Ratings(
        pv.Scale.range(0, 4),
        pl.DataFrame({"item": np.arange(n_items)}),
        pl.DataFrame({"rater": np.arange(n_raters)}),
        np.repeat(np.arange(n_items, dtype=np.int32), 100),
        raters,
        rng.integers(0, 5, n_ratings, dtype=np.uint8),
        None,
        pv.simulate(n_items=1, n_raters=1).ratings.intake,
    )
    passes = Measured.of(ratings, Grouping.of(ratings, (np.arange(n_raters) % 8).astype(np.int32), 8))
    arrays = (ratings.item_codes, raters, ratings.scores, ratings.offsets)
    prebuilt = sum(array.nbytes for array in arrays)
    _reset_peak()
    before = _memory("VmRSS")
    seconds = best(lambda: passes.null(Draws.permuted(2, 0), Running(threads=2)), 1) / 2
    grown = _memory("VmHWM") - before
    print(f"{n_ratings:,} ratings, 8 groups: {seconds / n_ratings * 1e9:.2f} ns per rating and permutation; "
          f"peak {(prebuilt + grown) / prebuilt:.2f} times the {prebuilt / 1e9:.2f} GB of arrays")  # fmt: skip


def _memory(what: str) -> int:
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(lines[what].split()[0]) * 1024


def _reset_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Measure all shapes."""
    measure("DICES shape", *dices_shape())
    measure("D3 shape", *d3_shape())
    ratings, axes = dices_shape(5)
    levels("DICES shape, 5 points", ratings, axes[2])
    ratings, axes = d3_shape()
    levels("D3 shape", ratings, axes[2])
    large(int(float(sys.argv[1])) if len(sys.argv) > 1 else 100_000_000)


if __name__ == "__main__":
    main()
