"""How often 95 % intervals of variation hold what very many items and raters would say, in studies with a known truth.

``python tests/claims/variation_coverage.py --studies 400`` prints for each design and value the share of intervals that
hold the truth, with Wilson's 95 % bounds, which side it is missed on, and how wide they are, as
``interval_coverage`` does. ``--only 3`` takes one design.

A rater r of group g scores item i by cutting severity_i + view_gi + shift_g + leniency_r + noise_ir at four points.

- Two groups of the designs of ``interval_coverage``, the first of which scores higher: leniency and dominance, and
  effects with a second attribute accounted for that goes along with the first and does nothing.
- All raters alike, in the same designs: shares of items, raters and the rest, and the reliability of one rater.
- Several groups of equal size whose shifts are fixed: shares of all five components. Intervals generalise over items
  and raters, not over groups, so the truth is the variance of these groups' means, and all else a mean over groups.

Truths are integrals over what two scores share, without a line of the package.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

import plurivox as pv
from claims.interval_coverage import CUTS, DESIGNS, N_POINTS, Coverage, Design
from plurivox.infer.intervals import wilson

Floats = NDArray[np.float64]


class People(NamedTuple):
    """Shifts of groups, and standard deviations of views of single items, leniency and noise, beside 1 of severity."""

    shifts: tuple[float, ...]
    view: float = 0.5
    leniency: float = 0.5
    noise: float = 0.7

    @property
    def apart(self) -> float:
        """The standard deviation of what is left of a score given its item and group."""
        return math.hypot(self.leniency, self.noise)


TWO = People((0.3, 0.0))
ALIKE = People((0.0, 0.0), view=0.0)
GROUPS = {
    "no difference": People((0.0,) * 6), "small": People((0.25, 0.1, 0.0, -0.05, -0.1, -0.2)),
    "large": People((0.8, 0.3, 0.0, -0.2, -0.3, -0.6)),
}  # fmt: skip
OF_GROUPS = {"100 × 6·15": (100, 15, None), "60 × 6·8": (60, 8, None), "300 × 6·30, 6 per item": (300, 30, 6)}
"""Items, raters of each of the groups, and how many of all rate an item."""


# The truth ------------------------------------------------------------------------------------------------------------
def _mean(shift: float, own_sd: float, seen: Floats) -> Floats:
    """Return the mean score given what is seen, over the rest."""
    return np.array([sum(1 - NormalDist(shift + x, own_sd).cdf(cut) for cut in CUTS) for x in seen])


def _together(one: float, other: float, shared_sd: float, own_sd: float, other_sd: float) -> float:
    """Return the covariance of two scores of groups with these shifts that share something normal."""
    seen, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    a, b = (_mean(shift, sd, shared_sd * seen) for shift, sd in ((one, own_sd), (other, other_sd)))
    return float(weight @ (a * b) - (weight @ a) * (weight @ b))


def _moments(shift: float, sd: float) -> tuple[float, float]:
    """Return mean and variance of all scores of a group."""
    above = np.array([1 - NormalDist(shift, sd).cdf(cut) for cut in CUTS])
    mean = float(above.sum())
    return mean, float(((2 * np.arange(1, N_POINTS) - 1) * above).sum() - mean**2)


@cache
def components_of(people: People) -> dict[str, float]:
    """Return the variances of the five components for groups of equal size."""
    view, apart = people.view, people.apart
    whole = math.sqrt(1 + view**2 + apart**2)
    means, variances = np.array([_moments(shift, whole) for shift in people.shifts]).T
    across = [
        _together(a, b, 1.0, math.hypot(view, apart), math.hypot(view, apart))
        for at, a in enumerate(people.shifts) for b in people.shifts[:at]
    ]  # fmt: skip
    within = [_together(a, a, math.hypot(1, view), apart, apart) for a in people.shifts]
    around = math.sqrt(1 + view**2 + people.noise**2)
    same = [_together(a, a, people.leniency, around, around) for a in people.shifts]
    item, rater = float(np.mean(across)), float(np.mean(same))
    crossed = float(np.mean(within)) - item
    rest = float(np.mean(variances)) - item - rater - crossed
    return {
        "item": item, "group": float(np.var(means, ddof=1)), "rater": rater, "group_item": crossed, "rest": rest
    }  # fmt: skip


@cache
def truth_of_two(people: People) -> dict[str, float]:
    """Return leniency and dominance of the first of two groups, and the effects of two attributes."""
    first, second = people.shifts
    whole = math.sqrt(1 + people.view**2 + people.apart**2)
    leniency = _moments(first, whole)[0] - _moments(second, whole)[0]
    seen, weight = np.polynomial.hermite_e.hermegauss(80)
    weight = weight / weight.sum()
    own = math.hypot(people.view, people.apart)
    points = [np.diff([[0.0, *(NormalDist(shift + x, own).cdf(cut) for cut in CUTS), 1.0] for x in seen], axis=1)
              for shift in people.shifts]  # fmt: skip
    below = np.cumsum(points[1], axis=1) - points[1] / 2
    dominance = float(weight @ (points[0] * below).sum(axis=1))
    return {"leniency": leniency, "dominance": dominance, "effect": leniency, "effect of nothing": 0.0}


@cache
def truth_of_all(people: People) -> dict[str, float]:
    """Return the shares of items, raters and the rest, and the reliability of one rater, where all are alike."""
    own = components_of(people)
    whole = own["item"] + own["rater"] + own["rest"]
    found = {f"share of {name}": own[name] / whole for name in ("item", "rater", "rest")}
    return found | {"relative": own["item"] / (own["item"] + own["rest"]), "absolute": own["item"] / whole}


def truth_of_groups(people: People) -> dict[str, float]:
    """Return the shares of all components."""
    own = components_of(people)
    return {f"share of {name}": value / sum(own.values()) for name, value in own.items()}


# Studies --------------------------------------------------------------------------------------------------------------
def study(people: People, sizes: Sequence[int], n_items: int, per_item: int | None, seed: Sequence[int]) -> pv.Ratings:
    """Return one study; attribute h goes along with g in three of four raters."""
    rng = np.random.default_rng(seed)
    g = np.repeat(np.arange(len(sizes)), sizes)
    n_raters = len(g)
    seen = rng.normal(size=(n_items, 1)) + people.view * rng.normal(size=(n_items, len(sizes)))[:, g]
    latent = seen + np.array(people.shifts)[g] + people.leniency * rng.normal(size=n_raters)
    scores = np.searchsorted(CUTS, (latent + people.noise * rng.normal(size=latent.shape)).ravel())
    rank = rng.random((n_items, n_raters)).argsort(axis=1).argsort(axis=1)
    item, rater = np.nonzero(rank < (per_item or n_raters))
    frame = pl.DataFrame({"item": item, "rater": rater, "score": scores.reshape(latent.shape)[item, rater]})
    with_first = (g == 0) == (rng.random(n_raters) < 0.75)
    raters = pl.DataFrame({
        "rater": range(n_raters), "g": [f"g{k}" for k in g], "h": np.where(with_first, "p", "q"),
    })  # fmt: skip
    return pv.Ratings.from_frame(frame, scale=pv.Scale.range(0, N_POINTS - 1), raters=raters)


Ends = dict[str, tuple[float, float, float]]
"""Value, low and high of each name."""


def two(people: People, design: Design, seed: Sequence[int]) -> Ends:
    """Return the intervals of two groups, and of all attributes at once."""
    ratings = study(people, (design.group, design.rest), design.n_items, design.per_item, seed)
    found = pv.variation(ratings, ["g", "h"], adjust=True, reference={"g": "g1", "h": "q"}, permutations=0,
                         min_group_size=1, threads=1)  # fmt: skip
    rows = {row.statistic: row for row in found.rows if (row.axis, row.group) == ("g", "g0")}
    made: Ends = {
        name: (row.value, _number(row.ci_low), _number(row.ci_high)) for name, row in rows.items() if name in NAMES
    }
    effects = {(row["attribute"], row["group"]): row for row in found.adjusted().iter_rows(named=True)}
    for name, at in (("effect", ("g", "g0")), ("effect of nothing", ("h", "p"))):
        made[name] = tuple(_number(effects[at][column]) for column in ("effect", "ci_low", "ci_high"))  # type: ignore[assignment]
    return made


NAMES = ("leniency", "dominance")


def together(people: People, design: Design, seed: Sequence[int]) -> Ends:
    """Return the intervals of components and reliability of all raters."""
    ratings = study(people, (design.group, design.rest), design.n_items, design.per_item, seed)
    found = pv.variation(ratings, permutations=0, threads=1)
    one = found.reliability().row(0, named=True)
    made = _shares(found, "all")
    for name in ("relative", "absolute"):
        made[name] = (one[name], one[f"{name}_low"], one[f"{name}_high"])
    return made


def groups(people: People, design: tuple[int, int, int | None], seed: Sequence[int]) -> Ends:
    """Return the intervals of the components of several groups."""
    n_items, size, per_item = design
    ratings = study(people, (size,) * len(people.shifts), n_items, per_item, seed)
    return _shares(pv.variation(ratings, "g", permutations=0, threads=1), "g")


def _shares(found: pv.Variation, axis: str) -> Ends:
    own = found.components().filter((pl.col("axis") == axis) & (pl.col("subset") == "all"))
    return {
        f"share of {row['component']}": (row["share"], _number(row["ci_low"]), _number(row["ci_high"]))
        for row in own.iter_rows(named=True)
    }


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def coverage(make: Callable[[Sequence[int]], Ends], truth: dict[str, float], n: int, seed: int) -> dict[str, Coverage]:
    """Draw studies and count."""
    made = [make((seed, number)) for number in range(n)]
    found = {}
    for name, true in truth.items():
        value, low, high = np.array([one[name] for one in made]).T
        defined = ~np.isnan(low)
        below, above = (true < low[defined]).mean(), (true > high[defined]).mean()
        share = float(1 - below - above)
        half, spread = np.median(high[defined] - low[defined]) / 2, 1.96 * value[defined].std()
        found[name] = Coverage(
            int(defined.sum()), share, *wilson(share, int(defined.sum())), float(below), float(above),
            float(half / spread) if spread > 0 else math.nan,
        )  # fmt: skip
    return found


def cases() -> dict[str, tuple[Callable[[Sequence[int]], Ends], dict[str, float]]]:
    """Return what makes the intervals of each case, and the truth."""
    made: dict[str, tuple[Callable[[Sequence[int]], Ends], dict[str, float]]] = {}
    for design in DESIGNS:
        made[f"two groups, {design}"] = partial(two, TWO, design), truth_of_two(TWO)
        made[f"all raters, {design}"] = partial(together, ALIKE, design), truth_of_all(ALIKE)
    for name, shape in OF_GROUPS.items():
        for kind, people in GROUPS.items():
            made[f"groups, {kind}, {name}"] = partial(groups, people, shape), truth_of_groups(people)
    return made


QUICK = [name for name in cases() if "two groups" in name or "small" in name or name.endswith(("8+40", "4 per item"))]
"""Those that the suite of tests draws, too."""


def main() -> None:
    """Print the coverage of every case, or of those whose name has some words."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    for case, (make, truth) in cases().items():
        if given.only in case:
            for name, one in coverage(make, truth, given.studies, given.seed).items():
                print(
                    f"{case:44} {name:20} truth {truth[name]:.3f} coverage {one.share:.3f} [{one.low:.3f}, "
                    f"{one.high:.3f}] below {one.truth_below:.3f} above {one.truth_above:.3f} width {one.width:.2f} "
                    f"of {one.n}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
