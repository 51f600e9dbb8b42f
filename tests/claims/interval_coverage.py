"""How often the default 95 % intervals hold what very many items and raters would say, in studies with a known truth.

``python tests/claims/interval_coverage.py`` draws studies of five designs and prints for each statistic the share of
intervals that hold the truth, with Wilson's 95 % bounds, and how wide they are: the half-width of the middle interval
over 1.96 standard deviations of the value between studies. ``--studies 400`` sets how many studies, ``--alike`` lets
the two groups see all items in the same way, ``--only 3`` takes one design.

A rater r of group g scores item i by cutting severity_i + view_gi + leniency_r + noise_ir at four points. For cohesion
the truth is that of infinitely many items and raters, by integration over what two raters of an item share. The vote of
a group depends on its size. So for MPA and WRA the truth is the mean over groups of that size, each on very many items,
against trained raters who cut severity at fixed points. Both are computed here, without a line of the package.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv
from plurivox.engine.pool import Running
from plurivox.infer.grouping import Grouping
from plurivox.infer.intervals import wilson
from plurivox.lenses.cohesion.sums import GroupAgreement
from plurivox.lenses.responsiveness.references import resolve
from plurivox.lenses.responsiveness.sums import Responses
from plurivox.statistics.records import scales_of
from plurivox.statistics.responsiveness import MEASURED_ON, MEASURES

Floats = NDArray[np.float64]
STATISTICS = ("irr", "xrr", "gai", "percent_agreement", "mpa", "wra")
N_POINTS, CUTS = 5, np.array([-1.2, -0.4, 0.4, 1.2])
TRAINED = np.array([NormalDist().inv_cdf(share) for share in np.linspace(0.5, 0.9, 9)])
"""Where each trained rater begins to call an item unsafe."""


@dataclass(frozen=True)
class Design:
    """Items, raters of the group and of the rest, and how many of them rate an item: all, if None."""

    n_items: int
    group: int
    rest: int
    per_item: int | None = None

    def __str__(self) -> str:
        of = "" if self.per_item is None else f", {self.per_item} per item"
        return f"{self.n_items} × {self.group}+{self.rest}{of}"

    @property
    def n_raters(self) -> int:
        """How many raters there are."""
        return self.group + self.rest


DESIGNS = (Design(350, 10, 94), Design(100, 20, 60), Design(60, 8, 40), Design(30, 25, 125), Design(300, 80, 120, 4))


@dataclass(frozen=True)
class Population:
    """Standard deviations of a group's view of single items, of leniency and of noise, beside 1 of severity."""

    view: float = 0.5
    leniency: float = 0.5
    noise: float = 0.7


DIFFERENT, ALIKE = Population(), Population(view=0.0)


# Studies -------------------------------------------------------------------------------------------------------------
def scores_of(people: Population, seen: Floats, n_raters: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return scores, items × raters, of raters of one group that see items so."""
    latent = seen[:, None] + people.leniency * rng.standard_normal(n_raters)
    latent += people.noise * rng.standard_normal(latent.shape)
    return np.searchsorted(CUTS, latent)


def studies(design: Design, people: Population, n: int, seed: int) -> Iterator[tuple[pv.Ratings, pv.Ratings]]:
    """Yield the ratings of each study and those of trained raters."""
    sizes = (design.group, design.rest)
    raters = pl.DataFrame({"rater": range(design.n_raters), "g": ["a"] * design.group + ["b"] * design.rest})
    for number in range(n):
        rng = np.random.default_rng([seed, number])
        severity = rng.standard_normal(design.n_items)
        seen = [severity + people.view * rng.standard_normal(design.n_items) for _ in sizes]
        scores = np.concatenate([scores_of(people, x, n, rng) for x, n in zip(seen, sizes, strict=True)], axis=1)
        rank = rng.random(scores.shape).argsort(axis=1).argsort(axis=1)
        item, rater = np.nonzero(rank < (design.per_item or design.n_raters))
        frame = pl.DataFrame({"item": item, "rater": rater, "score": scores[item, rater]})
        unsafe = severity[:, None] > TRAINED
        item, rater = np.nonzero(np.ones_like(unsafe))
        trained = pl.DataFrame({"item": item, "rater": rater + 10_000, "score": unsafe.ravel().astype(int)})
        yield (
            pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, N_POINTS - 1), raters=raters),
            pv.Ratings.from_frame(trained, scale=pv.Scale.range(0, 1)),
        )


class Intervals(NamedTuple):
    """Values of the group and the ends of their intervals, in the order of :data:`STATISTICS`."""

    value: Floats
    low: Floats
    high: Floats


def intervals_of(ratings: pv.Ratings, trained: pv.Ratings, resample: str = "both") -> Intervals:
    """Return the intervals of the group: cohesion at ordinal level, and responsiveness to the trained raters."""
    codes = (ratings.raters["g"] == "b").to_numpy().astype(np.int32)
    how = Running(threads=1)
    measured = GroupAgreement.of(ratings, Grouping.of(ratings, codes, 2), level="ordinal")
    responses = Responses.of(ratings, codes, 2, resolve(ratings, trained))
    records = (*measured.tested, *measured.beside)
    names = (*(record.name for record in records), *MEASURES)
    chosen = [names.index(name) for name in STATISTICS]
    values, found = [], []
    for left, scales in (
        (measured.left_out(resample, how), scales_of(records)),
        (responses.left_out(resample, how), MEASURED_ON),
    ):
        values.append(left.observed[0])
        found.append(left.interval(*scales))
    ends = (np.concatenate([one[at][0] for one in found])[chosen] for at in range(2))
    return Intervals(np.concatenate(values)[chosen], *ends)


# The truth -----------------------------------------------------------------------------------------------------------
@cache
def truth(design: Design, people: Population) -> Mapping[str, float]:
    """Return what the intervals of the group are about."""
    return cohesion_truth(design, people) | responsiveness_truth(design, people)


def cohesion_truth(design: Design, people: Population) -> dict[str, float]:
    """Return the values of infinitely many items and raters.

    Given what two raters of an item share, their scores are independent: two of a group share severity and view, two of
    different groups severity alone. Groups have the same margins, so the ordinal distances are theirs.
    """
    own = math.hypot(people.leniency, people.noise)
    within = _together(math.hypot(1.0, people.view), own)
    across = _together(1.0, math.hypot(people.view, own))
    margins = within.sum(axis=0)
    middle = np.cumsum(margins) - margins / 2
    apart = (middle[:, None] - middle) ** 2
    by_chance = margins @ apart @ margins
    irr, xrr = (1 - float((pairs * apart).sum() / by_chance) for pairs in (within, across))
    return {"irr": irr, "xrr": xrr, "gai": irr / xrr, "percent_agreement": float(np.trace(within))}


def _together(shared_sd: float, own_sd: float) -> Floats:
    """Return how often two raters give an item two points, points × points."""
    seen, weight = np.polynomial.hermite_e.hermegauss(120)
    weight = weight / weight.sum()
    below = [[NormalDist(shared_sd * x, own_sd).cdf(cut) for cut in CUTS] for x in seen]
    points = np.diff(np.array(below), prepend=0, append=1, axis=1)
    found: Floats = np.einsum("x,xc,xk->ck", weight, points, points)
    return found


def responsiveness_truth(design: Design, people: Population, groups: int = 400, items: int = 8000) -> dict[str, float]:
    """Return the mean of MPA and WRA over groups of the design's size, each on very many items."""
    rng, found = np.random.default_rng(99), np.zeros((groups, 2))
    for number in range(groups):
        severity = rng.standard_normal(items)
        seen = severity + people.view * rng.standard_normal(items)
        counts = np.zeros((items, N_POINTS))
        if design.per_item is None:
            scores = scores_of(people, seen, design.group, rng)
            for point in range(N_POINTS):
                counts[:, point] = (scores == point).sum(axis=1)
        else:  # as many of the group as are among those who rate the item, without choosing one twice
            n = rng.hypergeometric(design.group, design.rest, design.per_item, size=items)
            leniency = people.leniency * rng.standard_normal(design.group)
            first = rng.integers(design.group, size=items)
            for at in range(design.per_item):
                own = leniency[(first + at * (design.group // design.per_item)) % design.group]
                scores = np.searchsorted(CUTS, seen + own + people.noise * rng.standard_normal(items))
                counts[np.arange(items), scores] += at < n
        rated = counts.sum(axis=1) > 0
        top = (counts == counts.max(axis=1, keepdims=True)) & rated[:, None]
        votes = top / np.maximum(top.sum(axis=1, keepdims=True), 1)
        unsafe = (severity[:, None] > TRAINED).sum(axis=1)
        found[number] = _mpa_and_wra(votes.T @ unsafe, votes.T @ (len(TRAINED) - unsafe))
    return dict(zip(("mpa", "wra"), found.mean(axis=0).tolist(), strict=True))


def _mpa_and_wra(one: Floats, zero: Floats) -> tuple[float, float]:
    """Return MPA, by its definition, and WRA of the weights of scores that met unsafe and safe."""
    used = [s for s in range(N_POINTS) if one[s] + zero[s] > 0]
    precision = {s: one[s] / (one[s] + zero[s]) for s in used}
    area = sum(precision[s] - max(precision[j] for j in used if j <= i) for s in used for i in used if i < s)
    ranked = sum(one[s] * zero[:s].sum() for s in range(N_POINTS)) / (one.sum() * zero.sum())
    return max(0.0, area / (math.ceil(N_POINTS / 2) * (N_POINTS // 2))), float(ranked)


# What share holds it -------------------------------------------------------------------------------------------------
class Coverage(NamedTuple):
    """Of how many defined intervals which share holds the truth, and misses it on which side."""

    n: int
    share: float
    low: float
    """Wilson's lower bound of the share."""
    high: float
    truth_below: float
    truth_above: float
    width: float
    """The middle half-width over 1.96 standard deviations of the value between studies: 1 is as wide as needed."""


def coverage(design: Design, people: Population, n: int, seed: int = 0) -> dict[str, Coverage]:
    """Draw studies and count."""
    made = [intervals_of(*study) for study in studies(design, people, n, seed)]
    value, low, high = (np.stack([getattr(one, field) for one in made]) for field in Intervals._fields)
    found = {}
    for at, name in enumerate(STATISTICS):
        true, defined = truth(design, people)[name], ~np.isnan(low[:, at])
        below, above = (true < low[defined, at]).mean(), (true > high[defined, at]).mean()
        share = float(1 - below - above)
        half = np.median(high[defined, at] - low[defined, at]) / 2
        width = float(half / (1.96 * value[defined, at].std()))
        count = int(defined.sum())
        found[name] = Coverage(count, share, *wilson(share, count), float(below), float(above), width)
    return found


def main() -> None:
    """Print the coverage of each statistic in each design."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--alike", action="store_true")
    parser.add_argument("--only", type=int, choices=range(len(DESIGNS)))
    given = parser.parse_args()
    people = ALIKE if given.alike else DIFFERENT
    for design in DESIGNS if given.only is None else (DESIGNS[given.only],):
        for name, one in coverage(design, people, given.studies, given.seed).items():
            print(
                f"{design!s:26} {name:18} truth {truth(design, people)[name]:.3f} coverage {one.share:.3f} "
                f"[{one.low:.3f}, {one.high:.3f}] below {one.truth_below:.3f} above {one.truth_above:.3f} "
                f"width {one.width:.2f} of {one.n}",
                flush=True,
            )


if __name__ == "__main__":
    main()
