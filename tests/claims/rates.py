"""How often a lens claims something, over studies of one design."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import plurivox as pv
from claims import designs
from claims.designs import Made
from plurivox.report.build import top_findings
from plurivox.report.parts import Finding, Section
from plurivox.results.result import Statement

DESIGNS = {**designs.NULL, **designs.ENTANGLED, "planted": designs.planted, "steady": designs.steady,
           "lenient": designs.lenient, "lenient, sparse": designs.lenient_sparse}  # fmt: skip
DRAWS = 199


class Rate(NamedTuple):
    """In how many of so many studies something happened."""

    times: int
    n: int

    @property
    def share(self) -> float:
        """The share."""
        return self.times / self.n

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
        return f"{self.times:4} of {self.n} = {self.share:.3f} ({self.low:.3f} to {self.high:.3f})"


ASKED: dict[str, Any] = {"permutations": DRAWS, "threads": 1}


def cohesion(made: Made, **asked: Any) -> list[Statement]:
    """Return what cohesion says of a study; no claim needs an interval, but one of a view."""
    return pv.cohesion(made.ratings, made.by, **{**ASKED, "interval": "none", **asked}).statements()


def views(made: Made) -> list[Statement]:
    """Return what cohesion says of views."""
    said = cohesion(made, interval="jackknife")
    return [one for one in said if "view of their own" in one.text]


def crowd(made: Made, **asked: Any) -> list[Statement]:
    """Return what responsiveness against the crowd says of a study."""
    return pv.responsiveness(made.ratings, by=made.by, **{**ASKED, "interval": "none", **asked}).statements()


def trained(made: Made) -> list[Statement]:
    """Return what responsiveness to trained raters says of a study."""
    assert made.trained is not None
    return pv.responsiveness(made.ratings, made.trained, by=made.by, interval="none", **ASKED).statements()


def variation(made: Made, **asked: Any) -> list[Statement]:
    """Return what variation says of a study."""
    return pv.variation(made.ratings, made.by, **{**ASKED, "interval": "none", **asked}).statements()


def items(made: Made, **asked: Any) -> list[Statement]:
    """Return what the list of items says of a study."""
    return pv.items(made.ratings, by=made.by, **{**ASKED, **asked}).statements()


def headlines(made: Made, looks: int = 1) -> list[Statement]:
    """Return the claims at the top of a report of a study, without its charts; of one that grows, at one look."""
    asked = {"n_lenses": 4 * looks}
    lenses = {"variation": variation(made, **asked), "cohesion": cohesion(made, **asked), "crowd": crowd(made, **asked),
              "items": items(made, **asked)}  # fmt: skip
    sections = [
        Section(name, name, "", findings=[Finding(one, "") for one in said if one.weight > 0])
        for name, said in lenses.items()
    ]
    return [one.said for one in top_findings(sections, looks)]


def at_looks(made: Made, looks: int, corrected: int) -> list[bool]:
    """Tell at which looks at a study that grows anything is claimed: raters come in equal shares."""
    ratings = made.ratings
    found = []
    for look in range(1, looks + 1):
        there = np.arange(ratings.n_raters) < round(ratings.n_raters * look / looks)
        found.append(any_claim(headlines(replace(made, ratings=ratings.chosen(None, there)), corrected)))
    return found


def claimed_at_any_look(design: str, looks: int, seed: int) -> bool:
    """Tell whether a headline claims anything at any of the looks that were planned at a growing study."""
    made = DESIGNS[design](np.random.default_rng([seed, sum(map(ord, design))]))
    return any(at_looks(made, looks, looks))


LENSES: dict[str, Callable[[Made], list[Statement]]] = {
    "cohesion": cohesion, "crowd": crowd, "trained": trained, "items": items, "headlines": headlines, "views": views,
    "variation": variation,
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
