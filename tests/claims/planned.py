"""Whether plans keep what they promise: planned power beside the share of studies that claim a group by its GAI.

``python tests/claims/planned.py [STUDIES PILOTS DESIGN …]`` prints the table of docs/acting.md. A study is made by none
of the planner's own code: severity, leniency, noise and some raters who do not look, cut into points; members of one
group share a view. How large that view must be for a GAI comes from very large studies. A plan is made from a pilot,
which is one study of the design without any view; then fresh studies with the view go through the whole of
:func:`plurivox.cohesion`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv
from plurivox.statistics import gai as gai_of

Rated = NDArray[np.bool_]
EVEN = (-0.84, -0.25, 0.25, 0.84)


@dataclass(frozen=True)
class Study:
    """A design: who rates what, the sizes of groups by axis, and what raters are like.

    The first group of the first axis is the one with a view of its own.
    """

    name: str
    rated: Callable[[np.random.Generator, int], Rated]
    sizes: tuple[tuple[int, ...], ...]
    gai: float
    cuts: tuple[float, ...] = EVEN
    leniency: float = 0.5
    noise: float = 0.8
    blind: float = 0.05

    @property
    def n_raters(self) -> int:
        """How many raters there are; on the first axis all of them have a group."""
        return sum(self.sizes[0])

    @property
    def by(self) -> list[str]:
        """The axes."""
        return [f"axis{number}" for number in range(len(self.sizes))]

    def larger(self, n_group: int) -> Study:
        """Return the design with so many raters in the group with a view; on other axes they join the last group."""
        more = n_group - self.sizes[0][0]
        first = (n_group, *self.sizes[0][1:])
        others = ((*sizes[:-1], sizes[-1] + more) for sizes in self.sizes[1:])
        return replace(self, sizes=(first, *others))


def crossed(n_items: int) -> Callable[[np.random.Generator, int], Rated]:
    """Let everybody rate everything."""
    return lambda rng, n_raters: np.ones((n_raters, n_items), bool)


def some(n_items: int, share: float) -> Callable[[np.random.Generator, int], Rated]:
    """Let each item be rated by a share of the raters, drawn by chance."""
    return lambda rng, n_raters: rng.random((n_raters, n_items)).argsort(axis=0) < round(share * n_raters)


def batches(n_batches: int, n_items: int) -> Callable[[np.random.Generator, int], Rated]:
    """Let raters take turns in batches, each with items of its own."""

    def rated(rng: np.random.Generator, n_raters: int) -> Rated:
        return np.equal.outer(np.arange(n_raters) % n_batches, np.arange(n_batches * n_items) // n_items)

    return rated


STUDIES = (
    Study("104 raters × 350 items, all rated, three axes", crossed(350), ((21, 23, 22, 13, 25), (47, 57), (27, 49, 28)),
          1.3, (0.4, 0.7), 0.6, 1.4, 0.08),
    Study("40 raters × 60 items, all rated, two axes", crossed(60), ((10, 12, 18), (20, 20)), 1.25, blind=0.0),
    Study("300 items, 12 of 120 raters each, two axes", some(300, 0.1), ((30, 40, 50), (60, 60)), 1.3),
    Study("four batches of 20 raters × 40 items, two axes", batches(4, 40), ((24, 26, 30), (40, 40)), 1.35),
    Study("60 raters × 150 items, 70 % rated, seven points, three axes", some(150, 0.7),
          ((15, 20, 25), (30, 30), (20, 40)), 1.3, (-1.5, -0.8, -0.3, 0.3, 0.8, 1.5), 0.8, 1.0, 0.1),
    Study("60 raters × 100 items, all rated, two axes", crossed(100), ((30, 30), (20, 20, 20)), 1.15,
          leniency=0.3, noise=0.6, blind=0.0),
)  # fmt: skip


def scores_of(
    study: Study, member: Rated, n_items: int, view: float, rng: np.random.Generator, *, fresh: bool = False
) -> NDArray[np.int64]:
    """Return scores, raters × items; with ``fresh`` each item has raters of its own."""
    shape, each = (len(member), n_items), (len(member), n_items if fresh else 1)
    leniency = study.leniency * rng.normal(size=each)
    seen = rng.normal(size=n_items) + member[:, None] * view * rng.normal(size=n_items)
    blind = np.hypot(1.0, study.noise) * rng.normal(size=shape)
    looks = rng.random(each) >= study.blind
    latent = leniency + np.where(looks, seen + study.noise * rng.normal(size=shape), blind)
    return np.searchsorted(study.cuts, latent.ravel()).reshape(shape)


def true_gai(study: Study, view: float, seed: int = 0, n_items: int = 200_000) -> float:
    """Return the GAI of very many raters and items: each item has four raters of either side, whom no other has."""
    member = np.arange(8) < 4
    scores = scores_of(study, member, n_items, view, np.random.default_rng(seed), fresh=True)
    own, rest = (
        np.stack([(scores[side] == c).sum(axis=0) for c in range(len(study.cuts) + 1)], axis=1)
        for side in (member, ~member)
    )
    return gai_of(own, rest, "ordinal")


@cache
def view_for(study: Study) -> float:
    """Return the standard deviation of a view that gives the GAI."""
    low, high = 0.0, 2.0
    for _ in range(8):
        view = (low + high) / 2
        low, high = (view, high) if true_gai(study, view) < study.gai else (low, view)
    return (low + high) / 2


def made(study: Study, view: float, seed: int) -> pv.Ratings:
    """Return the ratings of one study."""
    rng = np.random.default_rng([seed, 7])
    groups: Mapping[str, list[str]] = {
        axis: rng.permutation(np.repeat([f"g{k}" for k in range(len(sizes))], sizes)).tolist()
        for axis, sizes in zip(study.by, study.sizes, strict=True)
    }
    rated = study.rated(rng, study.n_raters)
    scores = scores_of(study, np.array(groups["axis0"]) == "g0", rated.shape[1], view, rng)
    rater, item = np.nonzero(rated)
    frame = pl.DataFrame({"item": item, "rater": rater, "score": scores[rater, item]})
    raters = pl.DataFrame({"rater": np.arange(study.n_raters), **groups})
    return pv.Ratings.from_frame(frame, scale=pv.Scale(range(len(study.cuts) + 1)), raters=raters)


class Claimed(NamedTuple):
    """The share of studies that claim the group: by GAI, as agreeing with itself more, and by any statistic."""

    gai: float
    any: float


def claimed(study: Study, n: int, **asked: Any) -> Claimed:
    """Return how often studies claim the group."""
    view, times = view_for(study), np.zeros(2)
    for number in range(n):
        found = pv.cohesion(made(study, view, 1000 + number), study.by, **{"interval": "none", **asked})
        claims = [row for row in found.rows if (row.axis, row.group, row.claim) == ("axis0", "g0", True)]
        times += any((row.statistic, row.direction) == ("gai", "above") for row in claims), bool(claims)
    return Claimed(*(times / n).tolist())


class Planned(NamedTuple):
    """Power now and raters needed, by plans from several pilots."""

    power: list[float]
    raters: list[int | None]


def planned(study: Study, pilots: int, **asked: Any) -> Planned:
    """Return what plans from some pilots promise."""
    rows = [
        pv.plan(made(study, 0.0, number), study.by, gai=study.gai, **asked).table("power").row(0, named=True)
        for number in range(pilots)
    ]
    return Planned([row["power_now"] for row in rows], [row["raters_needed"] for row in rows])


def main() -> None:
    """Measure and print."""
    n, pilots = (int(word) for word in (*sys.argv[1:3], "100", "6")[:2]) if len(sys.argv) > 2 else (100, 6)
    for study in STUDIES:
        if len(sys.argv) > 3 and not any(word in study.name for word in sys.argv[3:]):
            continue
        plans = planned(study, pilots)
        share = claimed(study, n)
        needs = sorted(need for need in plans.raters if need)
        print(f"{study.name} | GAI {study.gai:g} | planned {np.mean(plans.power):.2f} "
              f"({min(plans.power):.2f}–{max(plans.power):.2f}) | claimed by GAI {share.gai:.2f}, by any statistic "
              f"{share.any:.2f} of {n}", flush=True)  # fmt: skip
        if needs:
            middle = needs[len(needs) // 2]
            again = claimed(study.larger(middle), n // 2).gai
            print(f"  needed {needs} | claimed with {middle}: {again:.2f} of {n // 2}", flush=True)


if __name__ == "__main__":
    main()
