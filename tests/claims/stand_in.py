"""How often an answerer is said to stand in for a rater, in studies of known humans and answerers.

``python tests/claims/stand_in.py 100`` prints for every design and answerer in how many studies ω reaches one half, and
in how many it is said to stand in. Humans see an item's severity with noise, and cut it into three points of which the
first dominates, as on DICES.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv
from claims.rates import Rate

CUTS = (0.4, 0.55)
"""Where the latent score of an item becomes the second and the third point."""
Points = NDArray[np.int64]
QUICK: dict[str, Any] = {"bootstrap": 0, "permutations": 0, "subsamples": 0, "as_rater": False, "threads": 1}


class Design(NamedTuple):
    """Items, humans, how many of them rate an item (all, if None), their noise, the level, and the tolerance."""

    n_items: int
    n_humans: int
    per_item: int | None = None
    noise: float = 1.2
    level: str = "ordinal"
    tolerance: float = 0.1


DESIGNS = {
    "crossed": Design(350, 60), "crossed, nominal": Design(350, 60, level="nominal"),
    "three experts": Design(100, 3, noise=0.6, tolerance=0.2), "sparse": Design(1500, 80, 5),
}  # fmt: skip


def seen(severity: NDArray[np.float64], noise: float, rng: np.random.Generator) -> Points:
    """Return what somebody says who sees the severities with noise."""
    return np.searchsorted(CUTS, severity + noise * rng.normal(size=severity.shape)).astype(np.int64)


Answerer = Callable[[NDArray[np.float64], Points, float, np.random.Generator], Points]
ANSWERERS: dict[str, Answerer] = {
    "coin": lambda severity, votes, noise, rng: 2 * rng.integers(2, size=len(severity)),
    "uniform": lambda severity, votes, noise, rng: rng.integers(3, size=len(severity)),
    "marginal": lambda severity, votes, noise, rng: rng.choice(votes, size=len(severity)),
    "always the first": lambda severity, votes, noise, rng: np.zeros(len(severity), dtype=np.int64),
    "always the second": lambda severity, votes, noise, rng: np.ones(len(severity), dtype=np.int64),
    "first, 1 in 20 at random": lambda severity, votes, noise, rng: np.where(
        rng.random(len(severity)) < 0.05, rng.integers(3, size=len(severity)), 0
    ),
    "another human": lambda severity, votes, noise, rng: seen(severity, noise, rng),
    "half the noise": lambda severity, votes, noise, rng: seen(severity, noise / 2, rng),
    "no noise": lambda severity, votes, noise, rng: seen(severity, 0.0, rng),
}  # fmt: skip
JUDGES = ("another human", "half the noise", "no noise")


def tested(design: str, answerer: str, seed: int) -> dict[str, Any]:
    """Return the row of an answerer in one study."""
    made, rng = DESIGNS[design], np.random.default_rng((seed, sorted(ANSWERERS).index(answerer)))
    severity = rng.normal(size=made.n_items)
    scores = seen(np.repeat(severity[:, None], made.n_humans, axis=1), made.noise, rng)
    given = rng.random(scores.shape).argsort(axis=1) < (made.per_item or made.n_humans)
    item, human = np.nonzero(given)
    frame = pl.DataFrame({"item": item, "rater": human, "score": scores[given]})
    ratings = pv.Ratings.from_frame(frame, scale="0:2")
    points = ANSWERERS[answerer](severity, scores[given], made.noise, rng)
    answers = pl.DataFrame({"model": "m", "item": range(made.n_items), "point": points})
    asked = {"level": made.level, "tolerance": made.tolerance, "seed": seed, **QUICK}
    return pv.alignment(ratings, answers, **asked).stand_ins().row(0, named=True)


def stands_in(design: str, answerer: str, seed: int) -> bool:
    """Tell whether an answerer is said to stand in."""
    return bool(tested(design, answerer, seed)["stands_in"])


def main() -> None:
    """Print all rates."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for design in DESIGNS:
        for answerer in ANSWERERS:
            found = [tested(design, answerer, seed) for seed in range(n)]
            published = Rate(sum(one["omega"] >= 0.5 for one in found), n)
            print(f"{design:18} {answerer:26} ω ≥ ½ {published}   stands in "
                  f"{Rate(sum(one['stands_in'] for one in found), n)}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
