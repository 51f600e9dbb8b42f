"""Agreement with raters and distance from them, for models, two raters, constants and draws from all votes."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from plurivox.engine.pool import Running
from plurivox.engine.run import Sums
from plurivox.infer.families import adjust
from plurivox.infer.intervals import Interval
from plurivox.infer.jackknife import LeftOut, number_of_blocks
from plurivox.lenses.alignment.matching import AnsweredItems, Floats
from plurivox.lenses.judge.sums import (
    LEAST_TESTED,
    RESAMPLED,
    AgreementFinish,
    Agreements,
    Judged,
    agreement_of_shares,
    constant_distances,
    left_out,
    shares_of,
    weights_of,
)
from plurivox.statistics.checks import Level

TESTED = {"agreement": "agreement", "half_gap": "relative", "lead": "lead"}
"""Values that are tested against 0, corrected together over all models, and the quantity that gets the p-value."""
_SCALES = {"agreement": "fisher", "human_agreement": "complement"}
_AT = {name: place for place, name in enumerate(RESAMPLED)}
Cells = dict[str, dict[str, Any]]
"""Cells of the card by quantity."""


class Measured(NamedTuple):
    """Sums over all items, values without each unit, and what follows from them."""

    sums: Sums
    left: LeftOut
    interval: Interval
    p_value: Floats
    p_adjusted: Floats

    def cells(self, v: int, name: str) -> dict[str, Any]:
        """Return a value of a voice with its interval, or why there is none."""
        at, value = _AT[name], float(self.left.observed[v, _AT[name]])
        why = self._undefined(v, name) if math.isnan(value) else ""
        ends = {"ci_low": float(self.interval.low[v, at]), "ci_high": float(self.interval.high[v, at])}
        return {"value": value, **ends, "note": why}

    def _undefined(self, v: int, name: str) -> str:
        """Say why a value is undefined."""
        if not self.sums["far"][0, v, 1]:
            return "no item has both a rating and a readable answer"
        if name == "agreement":
            return "expected disagreement is 0"
        if math.isnan(self.left.observed[v, _AT["human_agreement"]]):
            return "no item has two ratings, or ratings do not vary"
        return "raters do not agree with each other beyond chance"

    def humans(self, v: int, name: str) -> dict[str, Any]:
        """Return a value of raters with its interval."""
        own = self.cells(v, name)
        return {"humans": own["value"], "humans_low": own["ci_low"], "humans_high": own["ci_high"]}

    def tested(self, v: int, name: str) -> dict[str, Any]:
        """Return the p-values of a quantity, alone and corrected over models."""
        at = list(TESTED.values()).index(name)
        return {"p_value": float(self.p_value[v, at]), "p_adjusted": float(self.p_adjusted[v, at])}


def agreements_of(matched: AnsweredItems, level: Level, resample: str, how: Running) -> list[Cells]:
    """Return agreement, relative agreement, distance and lead of each voice; ``same`` is how often two raters agree."""
    ratings, n_points = matched.ratings, matched.top + 1
    values = np.array(ratings.scale.values, dtype=float)
    blocks = number_of_blocks(ratings.parts())
    n_raters = ratings.n_raters if ratings.has_raters else 0
    weights = weights_of(ratings)
    work = Agreements(Judged.of(matched), values, n_raters, blocks, apart(level, n_points), weights=weights)
    sums, left = left_out(matched, work, AgreementFinish(level, values, len(weights) > 0), how, resample)
    few = sums["far"][0, :, 1:2] < LEAST_TESTED
    raw = np.where(few, np.nan, left.p_value()[:, [_AT[name] for name in TESTED]])
    found = Measured(sums, left, _interval(left), raw, adjust(raw, "holm"))
    shares = shares_of(sums["other"][0])
    drawn = agreement_of_shares(sums, shares, level, values)
    constants = [
        agreement_of_shares(sums, np.broadcast_to(one, shares.shape), level, values) for one in np.eye(n_points)
    ]
    return [
        _cells(found, v, largest(np.array([one[v] for one in constants])), float(drawn[v]), shares[v], _labels(matched))
        for v in range(len(matched.voices))
    ]


def _cells(found: Measured, v: int, constant: float, marginal: float, shares: Floats, labels: list[str]) -> Cells:
    far = constant_distances(found.sums)[0, v]
    best = "" if np.isnan(far).all() else labels[int(np.nanargmin(far))]
    flat, drawn = (found.cells(v, name)["value"] for name in ("constant_distance", "marginal_distance"))
    return {
        "agreement": {**found.cells(v, "agreement"), **found.humans(v, "human_agreement"),
                      **found.tested(v, "agreement"), "constant": constant, "marginal": marginal},
        "relative": {**found.cells(v, "relative"), **found.tested(v, "relative")},
        "distance": {**found.cells(v, "distance"), **found.humans(v, "human_distance"), "constant": flat,
                     "constant_answer": best, "marginal": drawn},
        "lead": {**found.cells(v, "lead"), **found.tested(v, "lead"), "constant_answer": best},
        "same": {**found.humans(v, "same"), "marginal": float((shares**2).sum())},
    }  # fmt: skip


def _labels(matched: AnsweredItems) -> list[str]:
    return [str(label) for label in matched.scale.labels]


def _interval(left: LeftOut) -> Interval:
    scales = [_SCALES.get(name, "plain") for name in RESAMPLED]
    return left.interval(scales, [(-1.0, 1.0) if name == "agreement" else (-math.inf, math.inf) for name in RESAMPLED])


def apart(level: Level, n_points: int) -> Floats:
    """Return how far apart two points are: positions, or 0 and 1 on the nominal level, or a matrix itself."""
    if not isinstance(level, str):
        return level
    at = np.arange(n_points, dtype=float)
    return 1.0 - np.eye(n_points) if level == "nominal" else np.abs(at[:, np.newaxis] - at)


def largest(values: Floats) -> float:
    """Return the largest of some values, NaN if none are defined."""
    return math.nan if np.isnan(values).all() else float(np.nanmax(values))
