"""How long a plan takes, compared with the analysis that it plans and with simulating that analysis itself.

``python -m benchmarks.plan``; ``PLURIVOX_TEST_DATA=../shared`` adds DICES-350. A plan answers for every group, now and
for any number of raters and items. The plain way to one such number is to simulate studies and to run the whole
analysis on each; a hundred of them estimate a power to ± .08.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import plurivox as pv

STUDIES = 100


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that work takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def studies() -> dict[str, pv.Ratings]:
    """Return studies by name."""
    found = {"simulated, 120 raters × 300 items": pv.simulate(seed=1).ratings}
    folder = Path(os.environ.get("PLURIVOX_TEST_DATA", "")) / "data" / "dices350"
    if folder.is_dir():
        scale = pv.Scale(["No", "Unsure", "Yes"])
        ratings = pv.read_ratings(folder / "ratings.csv", raters=folder / "raters.csv", scale=scale)
        found["DICES-350, 104 raters × 350 items"] = ratings.where(raters={"removed": "False"})
    return found


def main() -> None:
    """Measure and print."""
    pv.plan(pv.simulate(n_items=20, n_raters=20).ratings, "gender", simulations=1)  # compiled, or loaded
    for name, ratings in studies().items():
        by = [one for one in ratings.raters.columns[1:] if ratings.raters[one].n_unique() > 1]
        analysis, _ = timed(lambda ratings=ratings, by=by: pv.cohesion(ratings, by, interval="none"))  # type: ignore[misc]
        seconds, plan = timed(lambda ratings=ratings: pv.plan(ratings))  # type: ignore[misc]
        print(
            f"{name}: a plan of {plan.table('power').height} groups {seconds:.1f} s, one analysis {analysis:.1f} s "
            f"({seconds / analysis:.1f} times as long); {STUDIES} analyses for one number would take "
            f"{STUDIES * analysis / seconds:.0f} times as long as the plan"
        )


if __name__ == "__main__":
    main()
