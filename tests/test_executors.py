"""Every lens gives the same bits on threads and on processes, for every kind of draw."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest

import plurivox as pv
from plurivox.lenses import lenses

Call = Callable[..., Any]


@pytest.fixture(scope="module")
def processes() -> Iterator[Executor]:
    with ProcessPoolExecutor(2, mp_context=get_context("forkserver")) as pool:
        yield pool


@pytest.fixture(scope="module")
def study() -> pv.Simulation:
    return pv.simulate(n_items=40, n_raters=30, ratings_per_item=(4, 12), seed=7)


DRAWS: dict[str, Any] = {"permutations": 12, "bootstrap": 10}
CASES: dict[str, Call] = {
    "variation": lambda s, **how: pv.variation(
        s.ratings, ["age", "ethnicity"], adjust=True, pairs=True, permutations=12, min_group_size=1, **how
    ),
    "variation drawn": lambda s, **how: pv.variation(s.ratings, "age", adjust=True, min_group_size=1, **DRAWS, **how),
    "aggregate": lambda s, **how: pv.aggregate(s.ratings, ["gender", "age"], permutations=12, **how),
    "cohesion items": lambda s, **how: pv.cohesion(s.ratings, ["gender", "age"], resample="items", **DRAWS, **how),
    "cohesion raters": lambda s, **how: pv.cohesion(s.ratings, "gender", resample="raters", **DRAWS, **how),
    "cohesion both, ordinal, tied at random": lambda s, **how: pv.cohesion(
        s.ratings, ("gender", "age"), level="ordinal", ties="random", resample="both", min_group_size=1, **DRAWS, **how
    ),
    "responsiveness items": lambda s, **how: pv.responsiveness(s.ratings, s.trained, "gender", **DRAWS, **how),
    "responsiveness raters": lambda s, **how: pv.responsiveness(
        s.ratings, "crowd", "gender", resample="raters", **DRAWS, **how
    ),
    "responsiveness of each rater": lambda s, **how: pv.responsiveness(s.ratings, by="rater", **DRAWS, **how),
    "psychometrics": lambda s, **how: pv.psychometrics(s.ratings, ["gender", "rater"], **how),
    "soft_scores": lambda s, **how: pv.soft_scores(s.ratings, s.predictions, by="gender", bootstrap=10, **how),
    "alignment": lambda s, **how: pv.alignment(s.ratings, s.answers, "gender", subsamples=8, **DRAWS, **how),
    "judge": lambda s, **how: pv.judge(s.ratings, s.answers, "gender", **how),
    "estimate": lambda s, **how: pv.estimate(s.ratings, s.answers, "gender", **how),
    "items": lambda s, **how: pv.items(s.ratings, "gender", **how),
    "item_view": lambda s, **how: pv.item_view(s.ratings, s.ratings.items["item"][0], "gender", permutations=20, **how),
}


QUICK = ("cohesion items", "responsiveness items", "alignment", "items")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in CASES]
)
def test_processes_give_the_bits_of_threads(name: str, study: pv.Simulation, processes: Executor) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pv.PlurivoxWarning)
        here = CASES[name](study, threads=1)
        there = CASES[name](study, threads=2, executor=processes)
    assert there.to_json() == here.to_json()


def test_no_lens_is_left_out() -> None:
    assert {lens.name for lens in lenses()} == {name.split()[0] for name in CASES}


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux lets a process be kept on some processors")
def test_as_many_threads_as_processors_that_may_be_used() -> None:
    code = (
        "import os; from plurivox.engine.pool import processors; before = processors(), len(os.sched_getaffinity(0));"
        "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}); print(*before, processors())"
    )
    all_of_them, allowed, one = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert all_of_them == allowed
    assert one == "1"
