"""How often a judge is called good, biased or fond of places, in studies of known humans and judges.

``python tests/claims/judging.py 200`` prints the rates of every design and judge. Humans see an item's severity with
noise and a leniency of their own, and cut it into five points; items have parts, and humans groups, which mean nothing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv
from claims.rates import MORE_DRAWS, Rate, each
from plurivox.lenses.judge import biases as places

CUTS = (-1.2, -0.4, 0.4, 1.2)
Points = NDArray[np.int64]
DRAWS = MORE_DRAWS
"""How often orders of options are shuffled, and ten times that where p is undecided; the script does as users do."""


class Design(NamedTuple):
    """Items, humans, how many of them rate an item (all, if None), their noise, and the spread of their leniency."""

    n_items: int
    n_humans: int
    per_item: int | None = None
    noise: float = 0.8
    lenient: float = 0.5


DESIGNS = {
    "crossed": Design(120, 24), "few raters": Design(200, 8), "sparse": Design(400, 60, 4),
    "alike": Design(120, 24, lenient=0.0),
}  # fmt: skip


class World(NamedTuple):
    """What judges can see of a study."""

    severity: NDArray[np.float64]
    design: Design
    rng: np.random.Generator

    def seen(self, noise: float, lenient: NDArray[np.float64] | float = 0.0) -> Points:
        """Return what somebody says who sees severities with noise and leniency."""
        chance = self.rng.normal(size=self.severity.shape)
        return np.searchsorted(CUTS, self.severity + noise * chance + lenient).astype(np.int64)

    def leniency(self, size: int | None = None) -> Any:
        """Return a leniency like that of a human."""
        return self.design.lenient * self.rng.normal(size=size)


JUDGES: dict[str, Callable[[World], Points]] = {
    "human of each item": lambda world: world.seen(world.design.noise, world.leniency(len(world.severity))),
    "one human": lambda world: world.seen(world.design.noise, world.leniency()),
    "no noise": lambda world: world.seen(0.0),
    "higher": lambda world: world.seen(world.design.noise / 2, 2.0),
    "always 2": lambda world: np.full(len(world.severity), 2),
    "coin": lambda world: 4 * world.rng.integers(2, size=len(world.severity)),
    "backwards": lambda world: 4 - world.seen(world.design.noise / 2),
    "first place": lambda world: world.seen(world.design.noise / 2),
}
NULL = ("human of each item", "one human")


def studied(design: str, judge: str, seed: int) -> tuple[pv.Ratings, pl.DataFrame]:
    """Return ratings and answers of one study; options are shuffled, and one judge is drawn to the first of them."""
    made, rng = DESIGNS[design], np.random.default_rng((seed, sorted(JUDGES).index(judge), list(DESIGNS).index(design)))
    severity = rng.normal(size=made.n_items)
    world = World(severity, made, rng)
    humans = World(np.repeat(severity[:, np.newaxis], made.n_humans, axis=1), made, rng)
    scores = humans.seen(made.noise, world.leniency(made.n_humans))
    item, human = np.nonzero(rng.random(scores.shape).argsort(axis=1) < (made.per_item or made.n_humans))
    frame = pl.DataFrame(
        {"item": item, "rater": human, "score": scores[item, human], "sex": human % 2, "kind": item % 3}
    )
    ratings = pv.Ratings.from_frame(frame, scale="0:4", rater_attributes=["sex"], item_attributes=["kind"])
    points = JUDGES[judge](world)
    orders = np.array([rng.permutation(5) for _ in severity])
    if judge == "first place":
        drawn = rng.random(made.n_items) < 0.25
        points = np.where(drawn, orders[:, 0], points)
    return ratings, pl.DataFrame(
        {"model": "m", "item": range(made.n_items), "point": points, "order": orders.tolist()},
        schema_overrides={"order": pl.List(pl.Int64)},
    )


class Called(NamedTuple):
    """What a card calls a judge."""

    good: bool
    ruled_out: bool
    biased: bool
    shifted: bool
    places: bool
    covered: bool


def called(design: str, judge: str, seed: int) -> Called:
    """Return what the card says of a judge in one study."""
    ratings, answers = studied(design, judge, seed)
    with mock.patch.multiple(places, DRAWS=DRAWS, MORE_DRAWS=10 * DRAWS + 9):
        found = pv.judge(ratings, answers, by="sex", subset="kind", seed=seed, threads=1)
    kind, biases = found.verdict(found.voices[0]).kind, found.biases()
    liking = found.cell("m", "position_bias")
    liked = liking["p_adjusted"] is not None and liking["p_adjusted"] < 0.05
    whole = biases.filter(axis="all", subset="all").row(0, named=True)
    covered = whole["ci_low"] <= 0 <= whole["ci_high"]
    return Called(
        kind == "good", kind == "not", bool(biases["biased"].any()) or liked, bool(biases["shifted"].any()), liked,
        covered,
    )  # fmt: skip


def rates(design: str, judge: str, n: int, first: int = 0) -> dict[str, Rate]:
    """Return in how many of n studies each is said."""
    found = each(partial(called, design, judge), n, first)
    return {name: Rate(sum(getattr(one, name) for one in found), n) for name in Called._fields}


if __name__ == "__main__":
    DRAWS = places.DRAWS
    for design in DESIGNS:
        for judge in JUDGES:
            told = rates(design, judge, int(sys.argv[1]) if len(sys.argv) > 1 else 40)
            print(f"{design:12} {judge:20}", *(f"{name} {one}" for name, one in told.items()), sep="  ", flush=True)
