"""How often a lens claims something, over studies of one design."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import fields, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

import plurivox as pv
from claims import designs
from claims.designs import Made
from plurivox.infer.lens import Lens
from plurivox.infer.result import Statement
from plurivox.lenses import lenses
from plurivox.report.build import top_findings
from plurivox.report.parts import Finding, Section

DESIGNS = {**designs.NULL, **designs.ENTANGLED, "planted": designs.planted, "steady": designs.steady,
           "lenient": designs.lenient, "lenient, sparse": designs.lenient_sparse}  # fmt: skip
DRAWS = 99
"""Shuffles of a study, and up to ten times as many where p is undecided: so few that a claim is just possible.

The rate of false claims holds for any number of shuffles. docs/claims.md was measured with :data:`MORE_DRAWS`."""
MORE_DRAWS = 199
"""As many as a p-value needs to be certain after correction for four lenses at three looks."""
T = TypeVar("T")


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


def said_by(lens: Lens, made: Made, **asked: Any) -> list[Statement]:
    """Return what a lens says of a study; no claim needs an interval, but one of a view."""
    known = {"threads", *(setting.name for setting in fields(lens.settings))}
    asked = {name: value for name, value in {**ASKED, "interval": "none", **asked}.items() if name in known}
    said: list[Statement] = lens.load("run")(made.ratings, by=made.by, **asked).statements()
    return said


def of_report() -> dict[str, Callable[..., list[Statement]]]:
    """Return what asks each lens of a report of ratings alone, by its name; a lens that is added is one of them."""
    return {lens.name: partial(said_by, lens) for lens in lenses() if lens.headlines and not lens.needs}


cohesion, variation = (of_report()[name] for name in ("cohesion", "variation"))


def views(made: Made) -> list[Statement]:
    """Return what cohesion says of views."""
    said = cohesion(made, interval="jackknife")
    return [one for one in said if "view of their own" in one.text]


def trained(made: Made) -> list[Statement]:
    """Return what responsiveness to trained raters says of a study."""
    assert made.trained is not None
    return pv.responsiveness(made.ratings, made.trained, by=made.by, interval="none", **ASKED).statements()


def by_lens(made: Made, looks: int = 1) -> dict[str, list[Statement]]:
    """Return what the lenses of a report say of a study, and its headlines, without charts; or at one of some looks."""
    each_lens = of_report()
    asked = {"n_lenses": len(each_lens) * looks, "permutations": ASKED["permutations"] if looks == 1 else MORE_DRAWS}
    said = {name: ask(made, **asked) for name, ask in each_lens.items()}
    sections = [
        Section(name, name, "", findings=[Finding(one, "") for one in found if one.weight > 0])
        for name, found in said.items()
    ]
    return said | {"headlines": [one.said for one in top_findings(sections, looks)]}


def headlines(made: Made, looks: int = 1) -> list[Statement]:
    """Return the claims at the top of a report of a study; of one that grows, at one look."""
    return by_lens(made, looks)["headlines"]


def at_looks(made: Made, looks: int, corrected: int) -> Iterator[bool]:
    """Tell at each look at a study that grows whether anything is claimed: raters come in equal shares."""
    ratings = made.ratings
    for look in range(1, looks + 1):
        there = np.arange(ratings.n_raters) < round(ratings.n_raters * look / looks)
        yield any_claim(headlines(replace(made, ratings=ratings.chosen(None, there)), corrected))


def claimed_at_any_look(design: str, looks: int, seed: int) -> bool:
    """Tell whether a headline claims anything at any of the looks that were planned at a growing study."""
    return any(at_looks(study(design, seed), looks, looks))


def asking() -> dict[str, Callable[[Made], list[Statement]]]:
    """Return everything that is asked about a study by its name."""
    return {**of_report(), "trained": trained, "headlines": headlines, "views": views}


def any_claim(said: list[Statement]) -> bool:
    """Tell whether anything is claimed."""
    return any(one.claim for one in said)


def study(design: str, seed: int) -> Made:
    """Return one study of a design."""
    return DESIGNS[design](np.random.default_rng([seed, sum(map(ord, design))]))


def claimed(design: str, lens: str, seed: int) -> bool:
    """Tell whether a lens claims anything of one study of a design."""
    return any_claim(asking()[lens](study(design, seed)))


def claimed_by(design: str, seed: int) -> dict[str, bool]:
    """Tell of one study which lenses claim anything, and whether the headlines of a report of it do."""
    made = study(design, seed)
    return {name: any_claim(said) for name, said in (by_lens(made) | {"trained": trained(made)}).items()}


def each(happens: Callable[[int], T], n: int, first: int = 0) -> list[T]:
    """Return what happens in each of n studies."""
    workers = int(os.environ.get("PLURIVOX_CLAIMS_WORKERS", "1"))
    numbers = range(first, first + n)
    if workers == 1:
        return list(map(happens, numbers))
    with ProcessPoolExecutor(workers) as pool:
        return list(pool.map(happens, numbers, chunksize=5))


def rate(happens: Callable[[int], bool], n: int, first: int = 0) -> Rate:
    """Count in how many of n studies something happens."""
    return Rate(sum(each(happens, n, first)), n)


def rates(happen: Callable[[int], Mapping[str, bool]], n: int, first: int = 0) -> dict[str, Rate]:
    """Count in how many of n studies each of some things happens."""
    found = each(happen, n, first)
    return {name: Rate(sum(one[name] for one in found), n) for name in found[0]}


def studies(all_of_them: int) -> int:
    """Return how many studies of a design a test draws: 40, but all of them for ``make proof``."""
    return all_of_them if "PLURIVOX_PROOF" in os.environ else min(40, all_of_them)


OTHERS = 100_000
"""How far the numbers of studies of a second look are from those of the first."""


def confirmed(
    count: Callable[[int, int], Mapping[str, Rate]], wrong: Callable[[str, Rate], bool], n: int, first: int = 0
) -> dict[str, str]:
    """Return the rates that are wrong in n studies, counted from the first on, and again in three times as many others.

    So a right rate is seldom called wrong, though there are many, and most cost no more than n studies.
    """
    doubted = [name for name, one in count(n, first).items() if wrong(name, one)]
    again = count(3 * n, first + OTHERS) if doubted else {}
    return {name: str(again[name]) for name in doubted if wrong(name, again[name])}


def too_often(
    happen: Callable[[int], Mapping[str, bool]], n: int, share: float = 0.05, first: int = 0
) -> dict[str, str]:
    """Return what happens in more than a share of studies: both times the lower end of its 95 % interval is above.

    Of 40 studies these are five, and eleven of 120 others. A rate of .05 is called too high in 2 of 1,000 runs, one of
    .1 in 25 of 100, of .15 in 72 and of .2 in 92; with 30 studies in 2 of 1,000, and in 19, 64 and 87 of 100.
    """
    return confirmed(partial(rates, happen), lambda _, found: found.low > share, n, first)


def alone(happens: Callable[[int], bool], seed: int) -> dict[str, bool]:
    """Tell whether the one thing happens that is counted."""
    return {"it": happens(seed)}


if __name__ == "__main__":
    import sys

    n, ASKED["permutations"] = int(sys.argv[1]), MORE_DRAWS
    asked = sys.argv[2].split(",") if len(sys.argv) > 2 else list(asking())
    for name in sys.argv[3].split(",") if len(sys.argv) > 3 else DESIGNS:
        for lens in asked:
            print(f"{name:10} {lens:10} {rate(partial(claimed, name, lens), n)}", flush=True)
