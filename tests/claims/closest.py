"""How often a model is said to reflect the view of one group, in studies of known groups and models.

``python tests/claims/closest.py 100`` prints the rates of every design and model; ``… 100 sparse/dense coin,echo`` of
some, and ``… 100 sparse echo ada_met`` by a distance of choice. Raters of a group share a view of the items; groups may
also be more extreme or more lenient than others.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv
from claims.designs import EVEN, built
from claims.rates import Rate
from plurivox.infer.families import SIGNIFICANT

Floats = NDArray[np.float64]
LENIENCY, NOISE = 0.5, 0.8
WIDTH = float(np.sqrt(1 + LENIENCY**2 + NOISE**2))


@dataclass(frozen=True)
class Design:
    """Items, raters per group, raters per item (all, if None), and how groups differ.

    ``view`` is the standard deviation of what a group sees in an item by itself, out of 1; ``stretch`` and ``shift`` of
    each group's latent scores. Groups of the same ``sees`` have the same view. A model echoes one of the
    groups in ``echoed``, or of all.
    """

    n_items: int
    sizes: tuple[int, ...]
    per_item: int | None = None
    view: float = 0.0
    stretch: tuple[float, ...] = ()
    shift: tuple[float, ...] = ()
    sees: tuple[int, ...] = ()
    echoed: tuple[int, ...] = ()

    @property
    def n_groups(self) -> int:
        """How many groups there are."""
        return len(self.sizes)


UNEVEN = (112, 70, 50, 30)
STYLES: dict[str, Any] = {"stretch": (1.5, 1.0, 0.6), "shift": (0.4, 0.0, -0.3)}
DESIGNS: dict[str, Design] = {
    "sparse": Design(1500, UNEVEN, 10, view=0.5),
    "sparse, alike": Design(1500, UNEVEN, 10),
    "sparse, styles": Design(1500, (90, 90, 82), 10, **STYLES),
    "sparse, styles and views": Design(1500, (90, 90, 82), 10, view=0.5, **STYLES),
    "sparse, opposed": Design(1500, (131, 131), 10, view=1.0),
    "sparse, two alike": Design(1500, (90, 90, 82), 10, view=0.5, sees=(0, 0, 2), echoed=(0, 1)),
    "sparse, smallest": Design(1500, (182, 50, 30), 10, view=0.4, echoed=(2,)),
    "dense": Design(350, (42, 34, 28), view=0.5),
    "dense, alike": Design(350, (42, 34, 28)),
    "dense, styles": Design(350, (42, 34, 28), **STYLES),
    "dense, extremes": Design(350, (52, 52), stretch=(1.5, 0.6)),
    "dense, opposed": Design(350, (52, 52), view=1.0),
    "dense, two alike": Design(350, (42, 34, 28), view=0.5, sees=(0, 0, 2), echoed=(0, 1)),
}


class Study(NamedTuple):
    """Ratings, and what is needed to answer like somebody."""

    design: Design
    ratings: pv.Ratings
    severity: Floats
    views: Floats
    group: int
    """Whom a model echoes."""
    rng: np.random.Generator

    @classmethod
    def of(cls, design: Design, rng: np.random.Generator) -> Study:
        """Draw a study."""
        n, k = design.n_items, design.n_groups
        severity = rng.normal(size=n)
        own = rng.normal(size=(k, n))[list(design.sees) or list(range(k))]
        views = np.sqrt(1 - design.view**2) * severity + design.view * own
        group = rng.permutation(np.repeat(np.arange(k), design.sizes))
        rated = rng.random((len(group), n)).argsort(axis=0) < (design.per_item or len(group))
        stretch = np.array(design.stretch or (1.0,) * k)
        shift = np.array(design.shift or (0.0,) * k)
        shifted = views + (WIDTH * shift / stretch)[:, np.newaxis]
        made = built(
            rng, rated, {"g": [f"g{number}" for number in group.tolist()]}, ["g"], severity=severity,
            views=shifted[group], spread=stretch[group][:, np.newaxis], leniency=LENIENCY, noise=NOISE,
        )  # fmt: skip
        return cls(design, made.ratings, severity, shifted, int(rng.choice(design.echoed or range(k))), rng)

    def like(self, seen: Floats, n_raters: int = 0, stretch: float = 1.0) -> NDArray[np.int64]:
        """Answer as one who sees items so; as one more rater, or each item as another one; without noise by default."""
        leniency = LENIENCY * self.rng.normal(size=n_raters)[np.arange(len(seen)) % n_raters] if n_raters else 0.0
        noise = NOISE * self.rng.normal(size=len(seen)) if n_raters else 0.0
        return np.searchsorted(EVEN, stretch * (seen + leniency + noise) / WIDTH)

    @property
    def stretch(self) -> float:
        """How extreme the group is that a model echoes."""
        return self.design.stretch[self.group] if self.design.stretch else 1.0


def _half(study: Study) -> NDArray[np.int64]:
    """Answer half of the items by what all groups see in them, the others by chance."""
    n = len(study.severity)
    return np.where(study.rng.random(n) < 0.5, study.like(study.severity), study.rng.integers(0, 5, n))


MODELS: dict[str, Callable[[Study], NDArray[np.int64]]] = {
    "coin": lambda study: study.rng.integers(0, 5, len(study.severity)),
    "marginal": lambda study: study.rng.choice(study.ratings.scores, len(study.severity)).astype(np.int64),
    "middle": lambda study: np.full(len(study.severity), 2), "top": lambda study: np.full(len(study.severity), 4),
    "half": _half, "severity": lambda study: study.like(study.severity),
    "view": lambda study: study.like(study.views[study.group], 0, study.stretch),
    "echo": lambda study: study.like(study.views[study.group], len(study.severity), study.stretch),
    "peer": lambda study: study.like(study.views[study.group], 1, study.stretch),
}  # fmt: skip
"""A coin, a draw from all ratings, constants, a judge of what all groups share who guesses half of the time, the same
without guessing, the view of a group without noise, for each item what a rater of a group would say, and one more rater
of a group, who has a leniency of their own."""


def drawn(design: str, seed: int) -> Study:
    """Return one study of a design."""
    return Study.of(DESIGNS[design], np.random.default_rng([seed, sum(map(ord, design))]))


def found_in(study: Study, model: str, seed: int, by: str = "auto") -> pv.Alignment:
    """Return what alignment finds of a model in a study."""
    points = MODELS[model](study)
    items = [f"i{number:04}" for number in range(len(points))]
    answers = pl.DataFrame({"model": model, "item": items, "point": points})
    return pv.alignment(
        study.ratings, answers, by="g", permutations=199, bootstrap=0, subsamples=0, as_rater=False, threads=1,
        seed=seed, closest_by=by,
    )  # fmt: skip


class Claimed(NamedTuple):
    """What is claimed of a model, and what would be with fewer conditions."""

    any: bool
    """Whether a group is claimed to be the closest."""
    echoed: bool
    """Whether it is the one that is echoed."""
    by_shuffles: bool
    """Whether its lead is more than shuffled raters give."""
    over_items: bool
    """Whether it also is over items."""


def claimed(design: str, model: str, seed: int, by: str = "auto") -> Claimed:
    """Return what is claimed of a model in one study."""
    return claimed_in(drawn(design, seed), model, seed, by)


def claimed_in(study: Study, model: str, seed: int, by: str = "auto") -> Claimed:
    """Return what is claimed of a model in a study."""
    found = found_in(study, model, seed, by)
    groups = [one.group for one in found.statements() if one.claim and one.statistic != "stand_in"]
    sure = found.closest().filter(pl.col("p_adjusted") < SIGNIFICANT)
    return Claimed(bool(groups), groups == [f"g{study.group}"], sure.height > 0, sure["over_items"].any())


def names_any(design: str, models: Sequence[str], seed: int) -> dict[str, bool]:
    """Tell of each of some models, asked about the same study one at a time, whether any group is its closest."""
    study = drawn(design, seed)
    return {model: claimed_in(study, model, seed).any for model in models}


def names_the_group(design: str, models: Sequence[str], seed: int) -> dict[str, bool]:
    """Tell of each of some models whether the group that it echoes is claimed, and no other."""
    study = drawn(design, seed)
    return {model: claimed_in(study, model, seed).echoed for model in models}


def show(n: int, designs: Sequence[str], models: Sequence[str], by: str = "auto") -> None:
    """Print in how many studies a group is claimed, the group that is echoed, and one would be by fewer conditions."""
    for design in designs:
        for model in models:
            found = [claimed(design, model, seed, by) for seed in range(n)]
            some, right, shuffles, over = (Rate(sum(each), n) for each in zip(*found, strict=True))
            print(
                f"{design:26} {model:9} any {some}   the group echoed {right.times:4}   by shuffles alone "
                f"{shuffles.times:4}, also over items {over.times:4}", flush=True,
            )  # fmt: skip


if __name__ == "__main__":
    show(
        int(sys.argv[1]), [one.strip() for one in sys.argv[2].split("/")] if len(sys.argv) > 2 else list(DESIGNS),
        sys.argv[3].split(",") if len(sys.argv) > 3 else list(MODELS), *sys.argv[4:],
    )  # fmt: skip
