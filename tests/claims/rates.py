"""How often a lens claims something, over studies of one design."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import plurivox as pv
from claims import designs
from claims.designs import Made
from plurivox.results.result import Statement

DESIGNS = {**designs.NULL, **designs.ENTANGLED, "planted": designs.planted, "steady": designs.steady}
DRAWS = 199


class Rate(NamedTuple):
    """In how many of so many studies something happened."""

    count: int
    n: int

    @property
    def share(self) -> float:
        """The share."""
        return self.count / self.n

    @property
    def low(self) -> float:
        """The lower end of its 95 % interval, after Wilson."""
        return self._end(-1)

    @property
    def high(self) -> float:
        """The upper end."""
        return self._end(1)

    def _end(self, sign: int) -> float:
        z, p, n = 1.96, self.share, self.n
        centre = (p + z * z / (2 * n)) / (1 + z * z / n)
        return centre + sign * z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))

    def __str__(self) -> str:
        return f"{self.count:4} of {self.n} = {self.share:.3f} ({self.low:.3f} to {self.high:.3f})"


def cohesion(made: Made) -> list[Statement]:
    """Return what cohesion says of a study."""
    return pv.cohesion(made.ratings, made.by, permutations=DRAWS, threads=1, **made.options).statements()


def crowd(made: Made) -> list[Statement]:
    """Return what responsiveness against the crowd says of a study."""
    asked: dict[str, Any] = {"permutations": DRAWS, "threads": 1}
    return pv.responsiveness(made.ratings, by=made.by, **asked, **made.options).statements()


def trained(made: Made) -> list[Statement]:
    """Return what responsiveness to trained raters says of a study."""
    asked: dict[str, Any] = {"permutations": DRAWS, "threads": 1}
    return pv.responsiveness(made.ratings, made.trained, by=made.by, **asked, **made.options).statements()


def items(made: Made) -> list[Statement]:
    """Return what the list of items says of a study."""
    return pv.items(made.ratings, by=made.by, permutations=DRAWS, threads=1).statements()


LENSES: dict[str, Callable[[Made], list[Statement]]] = {
    "cohesion": cohesion, "crowd": crowd, "trained": trained, "items": items,
}  # fmt: skip


def any_claim(said: list[Statement]) -> bool:
    """Tell whether anything is claimed."""
    return any(one.claim for one in said)


def claimed(design: str, lens: str, seed: int) -> bool:
    """Tell whether a lens claims anything of one study of a design."""
    made = DESIGNS[design](np.random.default_rng([seed, sum(map(ord, design))]))
    return any_claim(LENSES[lens](made))


def rate(happens: Callable[[int], bool], n: int, first: int = 0) -> Rate:
    """Count in how many of n studies something happens."""
    workers = int(os.environ.get("PLURIVOX_CLAIMS_WORKERS", "1"))
    numbers = range(first, first + n)
    if workers == 1:
        return Rate(sum(map(happens, numbers)), n)
    with ProcessPoolExecutor(workers) as pool:
        return Rate(sum(pool.map(happens, numbers, chunksize=5)), n)


if __name__ == "__main__":
    import sys

    n = int(sys.argv[1])
    lenses = sys.argv[2].split(",") if len(sys.argv) > 2 else list(LENSES)
    for name in sys.argv[3].split(",") if len(sys.argv) > 3 else DESIGNS:
        for lens in lenses:
            print(f"{name:10} {lens:10} {rate(partial(claimed, name, lens), n)}", flush=True)
