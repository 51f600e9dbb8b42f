"""How many shuffles are made where shuffling may stop early, what that saves, and whether the same is claimed.

``python -m benchmarks.stopping [STUDIES]``. Studies of 80 raters × 60 items by gender and age, in three kinds:
without any difference; with one that is found in some of them; and with one that nobody would miss. Each is asked with
and without ``stop_early``: 1,000 shuffles and up to 10,000 where a p-value is undecided, which is the default; and
10,000 at once. For each lens, shuffles made and how many claims are the same. Before, the processor time of cohesion on
a million ratings without any difference, where shuffling is most of the work.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import plurivox as pv
from benchmarks.variation import study

BY = ["gender", "age"]
MAN = {"gender": "Man"}
KINDS: dict[str, dict[str, list[pv.Effect]]] = {
    "variation": {
        "nothing": [], "in between": [pv.Effect(MAN, bias=0.25)], "clear": [pv.Effect(MAN, bias=1.5)],
    },
    "cohesion": {
        "nothing": [], "in between": [pv.Effect(MAN, shared_sd=0.35)], "clear": [pv.Effect(MAN, shared_sd=2.0)],
    },
    "items": {
        "nothing": [], "in between": [pv.Effect(MAN, shared_sd=0.5)], "clear": [pv.Effect(MAN, shared_sd=2.0)],
    },
}  # fmt: skip
ASKED = {"1,000, more if undecided": (1000, 10_000), "10,000": (10_000, 10_000)}


class Made(NamedTuple):
    """What a call made: shuffles and claims."""

    draws: int
    claims: frozenset[tuple[str, ...]]


def asked(lens: str, ratings: pv.Ratings, **options: Any) -> Made:
    """Ask a lens."""
    function: Callable[..., Any] = getattr(pv, lens)
    more = {} if lens == "items" else {"interval": "none"}
    found = function(ratings, BY, min_group_size=3, **more, **options)
    if lens == "items":
        certain = found.divided.filter(found.divided["p_adjusted"] < 0.05)
        return Made(found.settings["n_permutations"], frozenset(certain.select("axis", "item").iter_rows()))
    rows = [row for row in found.rows if row.kind == "group" and row.n_permutations]
    return Made(
        max(row.n_permutations for row in rows),
        frozenset((row.axis, row.group, row.statistic) for row in rows if row.claim),
    )  # fmt: skip


def large(n_ratings: int = 1_000_000) -> None:
    """Print the processor time of cohesion on a large study without a difference; one shuffle shows the fixed cost."""
    ratings = study(n_ratings)
    asked: dict[str, dict[str, Any]] = {
        "compiled": {"permutations": 1}, "1 shuffle": {"permutations": 1}, "1,000 shuffles": {"permutations": 1000},
        "1,000 shuffles, stop_early": {"permutations": 1000, "stop_early": True},
    }  # fmt: skip
    for words, options in asked.items():
        start = time.process_time()
        found = pv.cohesion(ratings, "a0", interval="none", **options)
        seconds = time.process_time() - start
        print(f"{n_ratings:,} ratings, {words}: {seconds:.1f} s, {found.n_shuffles:,} made", flush=True)


def main(n: int = 20) -> None:
    """Print how long a large study takes, and a table of small ones: means of shuffles, and sums of claims."""
    large()
    print("| lens | study | shuffles asked for | made | with `stop_early` | claims | with `stop_early` | in both |")
    print("|---|---|---|---|---|---|---|---|")
    for lens, kinds in KINDS.items():
        for kind, effects in kinds.items():
            studies = [pv.simulate(n_items=60, n_raters=80, effects=effects, seed=seed).ratings for seed in range(n)]
            for words, (draws, most) in ASKED.items():
                options = {"permutations": draws, "max_permutations": most}
                every = [asked(lens, one, **options) for one in studies]
                early = [asked(lens, one, stop_early=True, **options) for one in studies]
                made = [np.mean([one.draws for one in each]) for each in (every, early)]
                claims = [sum(len(one.claims) for one in each) for each in (every, early)]
                both = sum(len(one.claims & other.claims) for one, other in zip(every, early, strict=True))
                print(
                    f"| {lens} | {kind} | {words} | {made[0]:,.0f} | {made[1]:,.0f} | "
                    f"{claims[0]} | {claims[1]} | {both} |", flush=True,
                )  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
