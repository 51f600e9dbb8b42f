"""Power: how often a study of some size would claim that a group agrees with itself more than with others.

A group is claimed if its GAI, in standard deviations of shuffled raters, exceeds what the largest value of the call
reaches by chance in 5 of 100 shuffles: the threshold, which comes from shuffles of the real study with all its axes.
Simulated studies of several shapes, each with a group that has a view of its own, show three things about its GAI: how
far it lies above that of shuffled raters, how much that varies, and how much shuffled raters vary. Each is fitted as a
smooth function of the shape, so that all simulated studies count for every size asked about::

    variance of shuffled raters = Σ a_k·f_k,  a_k ≥ 0,  f = 1/n, 1/r, 1/n², 1/(n·i), 1/(r·i), 1/(n²·i), 1/(n·r·i)

for n raters of the group, r others and i items. A group's own variance, from the shuffles of the real study, corrects
it by a factor, so that power at the current size is based on the study itself.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plurivox.actions.plan.crowd import SHUFFLES, Crowd, Floats, Layout, Shape, Studies
from plurivox.engine.pool import Running, in_batches
from plurivox.infer.families import SIGNIFICANT

BATCHES = 10
"""Parts of the simulations; leaving out each in turn gives the Monte Carlo error."""
MOST_RATINGS, MOST_RATERS, FEWEST_ITEMS = 60_000, 400, 20
"""The size of a simulated study; larger studies are simulated smaller, and the fit extrapolates to them."""
UNEQUAL = (0.0, 0.3, 0.6, 1.0, 1.5)
"""How far raters may differ in their noise; the study's own value is interpolated."""
CALIBRATED = 16
"""Simulated studies for each of these."""
_SMOOTH = 0.4  # standard deviations
_BATCH = 4


def shapes_around(sizes: Sequence[tuple[int, int]], n_items: int) -> tuple[Shape, ...]:
    """Return shapes that differ in each of their sizes, around those of some groups and their rests."""
    ordered = sorted(sizes)
    small, middle, large = ordered[0], ordered[len(ordered) // 2], ordered[-1]
    few, many = max(n_items // 3, 3), 2 * n_items
    return tuple(
        Shape(max(n, 2), max(rest, 2), items)
        for (n, rest), items in (
            (small, n_items), (middle, n_items), (large, n_items), (small, few), (middle, few), (large, few),
            (middle, many), ((3 * small[0], small[1]), n_items), ((3 * middle[0], middle[1]), n_items),
            ((2 * middle[0], 2 * middle[1]), n_items), ((3 * small[0], 3 * small[1]), few),
            ((4 * large[0], large[1]), few),
        )
    )  # fmt: skip


def _features(shapes: Sequence[Shape]) -> Floats:
    """Return what variances are made of, shapes × parts."""
    n, rest, items = (np.array([shape[at] for shape in shapes], float) for at in range(3))
    u, v, i = 1 / n, 1 / rest, 1 / items
    return np.stack([u, v, u * u, u * i, v * i, u * u * i, u * v * i], axis=1)


def _fitted(features: Floats, values: Floats, fixed: float = 0.0) -> Floats:
    """Return non-negative parts that, with a fixed one, fit the values, all about equally closely."""
    from scipy.optimize import nnls

    known = np.isfinite(values) & (values > 0)
    if not known.any():  # too few studies to tell
        return np.zeros(features.shape[1])
    scaled = features[known] / values[known, None]
    size = np.maximum(np.linalg.norm(scaled, axis=0), 1e-300)
    parts, _ = nnls(scaled / size, 1 - fixed / values[known])
    return np.asarray(parts / size)


@dataclass(frozen=True, slots=True, eq=False)
class PowerFit:
    """How far GAI lies above chance in studies of any shape, in standard deviations of shuffled raters.

    Attributes
    ----------
    apart
        Coefficients of 1 and 1/n for how far GAI lies above that of shuffled raters.
    null, shuffled
        Parts of the variance of shuffled raters without and with a view.
    ratio
        The average ratio of a study's own standard deviations to those of the fit.
    spread
        Parts of the variance of standard deviations beyond that of chance, see :func:`_spread_of`.
    residuals
        How far studies are from what is expected, in units of that variance; −∞ where GAI was undefined.
    """

    apart: Floats
    null: Floats
    shuffled: Floats
    ratio: float
    spread: Floats
    residuals: Floats

    @classmethod
    def of(cls, shapes: Sequence[Shape], seen: Floats) -> PowerFit:
        """Fit what simulated studies show, studies × fields of :class:`SimulatedGroup`; shapes take turns."""
        features = _features(shapes)
        known = np.isfinite(seen).all(axis=1) & (seen[:, 1] > 0)
        each = [np.flatnonzero(known & (np.arange(len(seen)) % len(shapes) == j)) for j in range(len(shapes))]
        shuffled, null = (_fitted(features, _means(seen[:, column], each)) for column in (1, 3))
        smooth = features @ shuffled
        # By chance alone no group is apart, so the effect of chance on this one is subtracted.
        gain = seen[:, 0] - seen[:, 2]
        design = np.stack([np.ones(len(shapes)), features[:, 0]], axis=1)
        some = [j for j, own in enumerate(each) if len(own)]
        weight = 1 / np.sqrt(smooth[some])
        fitted = np.linalg.lstsq(design[some] * weight[:, None], _means(gain, each)[some] * weight, rcond=None)[0]
        apart = np.asarray(fitted, dtype=np.float64)
        expected = design @ apart / np.sqrt(smooth)
        deviation = np.sqrt(np.where(known, seen[:, 1], np.nan)) * _TOO_LARGE
        z = seen[:, 0] / deviation
        ratio = float(np.mean(_means(gain / deviation, each)[some]) / np.mean(expected[some]))
        parts = _spread_of(ratio * expected, np.array([shape.n_items for shape in shapes]), smooth)
        error = 1 / SHUFFLES + (ratio * expected) ** 2 / (2 * (SHUFFLES - 1))  # of few shuffles
        varies = np.array([z[own].var(ddof=1) if len(own) > 1 else np.nan for own in each])
        spread = _fitted(parts, varies - error, _CHANCE)
        which = np.arange(len(seen)) % len(shapes)
        residuals = (z - ratio * expected[which]) / np.sqrt(_CHANCE + parts @ spread + error)[which]
        return cls(apart, null, shuffled, ratio, spread, np.where(known, residuals, -np.inf))

    def null_variance(self, shape: Shape) -> float:
        """Return the variance of shuffled raters where no group has a view of its own."""
        return float(_features([shape])[0] @ self.null)

    def power(self, shape: Shape, factor: float, threshold: float) -> float:
        """Return how often a study of a shape claims a group whose own variance is this many times the usual one."""
        from scipy.special import ndtr

        features = _features([shape])
        variance = np.maximum(factor * (features @ self.shuffled), 1e-12)
        expected = self.ratio * (self.apart @ [1.0, features[0, 0]]) / np.sqrt(variance)
        spread = _CHANCE + _spread_of(expected, np.array([shape.n_items]), variance) @ self.spread
        needed, kept = float((threshold - expected[0]) / math.sqrt(spread[0])), math.sqrt(1 - _SMOOTH**2)
        above = ndtr((kept * self.residuals - needed) / _SMOOTH)  # smoothed with a little normal noise
        return float(np.mean(above)) if len(above) else 0.0


_CHANCE = 1.0  # the variance of standard deviations where all labellings are alike
_TOO_LARGE = 1 + 3 / (4 * (SHUFFLES - 1))  # times: one over the standard deviation of few shuffles


def _spread_of(expected: Floats, n_items: Floats, variance: Floats) -> Floats:
    """Return what else varies standard deviations besides chance: views of few items, and unequal studies."""
    return np.stack([1 / (n_items * variance), expected**2], axis=1)


def _means(values: Floats, each: Sequence[NDArray[np.int64]]) -> Floats:
    return np.array([values[own].mean() if len(own) else np.nan for own in each])


# Simulations --------------------------------------------------------------------------------------------------------


def unequal_as(crowd: Crowd, layout: Layout, shape: Shape, variance: float, seed: int, how: Running) -> Crowd:
    """Return a crowd whose random groups differ in GAI as much as those of the study."""
    logs: list[float] = []
    if not variance > 0:
        return crowd
    for number, unequal in enumerate(UNEQUAL):
        work = Studies(crowd.fitted(unequal), layout, (shape,), 0.0, seed)
        part = how.within(number * CALIBRATED, len(UNEQUAL) * CALIBRATED)
        seen = [study for some in in_batches(work, CALIBRATED, part, batch=_BATCH) for study in some]
        null = np.array([study.null_variance for study in seen])
        null = null[np.isfinite(null) & (null > 0)]
        logs.append(float(np.log(null.mean())) if len(null) else math.nan)
        if logs[-1] > math.log(variance):
            break
    how.tell(len(UNEQUAL) * CALIBRATED, len(UNEQUAL) * CALIBRATED)
    known = [at for at, value in enumerate(logs) if math.isfinite(value)]
    if not known:
        return crowd
    rising = np.maximum.accumulate([logs[at] for at in known])
    return crowd.fitted(float(np.interp(math.log(variance), rising, [UNEQUAL[at] for at in known])))


def simulated(work: Studies, total: int, how: Running) -> Floats:
    """Return what simulated studies show, with a given number of each shape."""
    made = in_batches(work, total * len(work.shapes), how, batch=_BATCH)
    return np.array([study for some in made for study in some])


@dataclass(frozen=True, slots=True, eq=False)
class Powers:
    """Fits to all simulations and to all but each part of them, with their thresholds."""

    fits: tuple[PowerFit, ...]
    thresholds: tuple[float, ...]

    @classmethod
    def of(cls, shapes: Sequence[Shape], seen: Floats, largest: Floats) -> Powers:
        """Fit simulations; ``largest`` is the largest deviation of each shuffle of the real study."""
        rounds = np.arange(len(seen)) // len(shapes) % BATCHES
        shuffles = np.arange(len(largest)) % BATCHES
        n_batches = BATCHES if len(seen) >= 3 * BATCHES * len(shapes) else 0  # otherwise too few to estimate
        each = [(seen, largest), *((seen[rounds != at], largest[shuffles != at]) for at in range(n_batches))]
        # A threshold is what the largest deviation of a shuffle rarely exceeds; a value beyond it is claimed.
        thresholds = tuple(float(np.quantile(own, 1 - SIGNIFICANT)) for _, own in each)
        return cls(tuple(PowerFit.of(shapes, own) for own, _ in each), thresholds)

    def power(self, shape: Shape, factors: Floats) -> tuple[float, float, float]:
        """Return the power of a study of a shape with its 95 % Monte Carlo interval."""
        found = [
            fit.power(shape, factor, threshold)
            for fit, factor, threshold in zip(self.fits, factors.tolist(), self.thresholds, strict=True)
        ]
        error = 0.5
        if n := len(found) - 1:  # the jackknife over parts of the simulations
            without = np.array(found[1:])
            error = math.sqrt((n - 1) / n * float(((without - without.mean()) ** 2).sum()))
        return found[0], max(found[0] - 1.96 * error, 0.0), min(found[0] + 1.96 * error, 1.0)

    def value(self, shape: Shape, factors: Floats) -> float:
        """Return the power alone."""
        return self.fits[0].power(shape, float(factors[0]), self.thresholds[0])

    def factors(self, shape: Shape, variance: float) -> Floats:
        """Return a group's variance as a multiple of the usual one, by each fit."""
        return np.array([variance / max(fit.null_variance(shape), 1e-12) for fit in self.fits])
