"""Models compared: which is better, by how much, how sure that is, and their ranking."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from plurivox.engine.pool import Running
from plurivox.infer.flips import Flips
from plurivox.infer.intervals import percentile_interval
from plurivox.lenses.soft.interactions import INTERACTIONS, Tests
from plurivox.lenses.soft.matching import MARGINAL, REFERENCES, UNIFORM, Floats
from plurivox.lenses.soft.settings import SoftSettings
from plurivox.lenses.soft.sums import ALL, Scored
from plurivox.lenses.soft.testing import Block, Family, InBins, PairSums, decide
from plurivox.statistics.soft_blocks import EMPIRICAL

LEADING = ("rps", "cross_entropy", "expected_rps", "expected_cross_entropy", "expected_emd")
"""The metric that sentences, tables and charts lead with: the first of these that was requested."""
ROUNDING = 1e-11
"""Scores with a smaller relative difference are equal."""

COMPARISONS = {
    "bin": pl.String, "statistic": pl.String, "model": pl.String, "other": pl.String, "difference": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "p_better": pl.Float64, "p_value": pl.Float64,
    "p_adjusted": pl.Float64, "n_items": pl.Int64, "n_permutations": pl.Int64, "exact": pl.Boolean,
    "claim": pl.Boolean, "note": pl.String,
}  # fmt: skip


def leading(metrics: Sequence[str]) -> str:
    """Return the metric that sentences, tables and charts lead with.

    RPS is a proper score of the ratings themselves: it needs no prior, and however few ratings there are, it is lowest
    on average for the true distribution. It uses the order of points and is never infinite, unlike CE, the next choice.

    Examples
    --------
    >>> leading(["cross_entropy", "emd", "rps"]), leading(["cross_entropy", "expected_emd"])
    ('rps', 'cross_entropy')
    """
    return next((name for name in LEADING if name in metrics), metrics[-1])


@dataclass(frozen=True, slots=True, eq=False)
class Comparing:
    """Every two models, and each with uniform and marginal, per bin and metric.

    ``values`` and ``draws`` are the scores of all raters, and those of resampled items.
    """

    scored: Scored
    values: Floats
    draws: Floats
    asked: SoftSettings
    how: Running

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """Every two models, and each model with uniform and marginal."""
        models = [name for name in self.scored.target.predictions if name not in REFERENCES]
        return [(one, other) for at, one in enumerate(models) for other in (*models[at + 1 :], UNIFORM, MARGINAL)]

    def frames(self, interactions: Sequence[Tests] = ()) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Return all comparisons, and the interactions.

        All that may be claimed is one family: all pairs by the leading metric on all items, and the interactions.
        Every other metric is a family of its own on all items, and each metric is another one over its bins.
        """
        main = leading(self.scored.metrics)
        names, n_bins = list(self.scored.target.predictions), len(self.scored.target.bins)
        places = [(names.index(one), names.index(other)) for one, other in self.pairs]
        found, claims = {}, Family.untested(0)
        for metric in self.scored.metrics:
            scores = self.scored.of_metric(metric)
            flips = Flips.of(scores.sums.n_units, self.asked.seed)
            sums = PairSums.of(scores, places, flips)
            bins = decide([InBins(sums, range(n_bins))], self.asked, self.how, exact=flips.number, further=False)
            if metric == main and interactions:
                random = replace(sums, flips=Flips.of(flips.n_units, flips.seed, every=False))
                blocks: list[Block] = [InBins(random, [n_bins]), *(one.block for one in interactions)]
                claims = whole = decide(blocks, self.asked, self.how)
            else:
                whole = decide(
                    [InBins(sums, [n_bins])], self.asked, self.how, exact=flips.number, further=metric == main
                )
            found[metric] = (sums.why, whole, bins)
        rows = [self._row(b, at, m, *found[metric], metric == main) for b in (n_bins, *range(n_bins))
                for at in range(len(places)) for m, metric in enumerate(self.scored.metrics)]  # fmt: skip
        frame = pl.DataFrame(rows, schema=COMPARISONS, orient="row")
        return frame, _interactions(interactions, claims, main, len(places))

    def _row(
        self, b: int, at: int, m: int, why: list[list[str]], whole: Family, bins: Family, leads: bool
    ) -> tuple[object, ...]:
        """Return the row of one pair in a bin by one metric."""
        target, metric, (one, other) = self.scored.target, self.scored.metrics[m], self.pairs[at]
        overall, names = b == len(target.bins), list(target.predictions)
        rated = np.atleast_1d(target.counts[slice(None) if overall else target.codes == b].any(axis=1))
        n_items = int(np.count_nonzero(rated)) if metric in EMPIRICAL else len(rated)
        first, second = names.index(one), names.index(other)
        family, place = (whole, at) if overall else (bins, b * len(self.pairs) + at)
        p, adjusted = float(family.p_value[place]), float(family.p_adjusted[place])
        tested = not math.isnan(p)
        return (
            ALL if overall else target.bins[b], metric, one, other,
            *_difference(self.values[b, :, m], self.draws[:, b, :, m], first, second, n_items),
            p if tested else None, adjusted if tested else None, n_items, family.n_draws if tested else None,
            family.exact if tested else None,
            bool(family.claims[place]) and leads and overall, why[b][at],
        )  # fmt: skip


def _interactions(tests: Sequence[Tests], found: Family, metric: str, start: int) -> pl.DataFrame:
    """Return the interactions, whose tests follow those of pairs."""
    rows = []
    for at, one in enumerate((row for part in tests for row in part.rows), start):
        p, adjusted = float(found.p_value[at]), float(found.p_adjusted[at])
        known = None if math.isnan(p) else found.n_draws
        rows.append((
            one.kind, one.axis, one.group, metric, one.model, one.other, one.difference, one.elsewhere,
            None if known is None else p, None if known is None else adjusted, one.n_items, known,
            bool(found.claims[at]),
        ))  # fmt: skip
    return pl.DataFrame(rows, schema=INTERACTIONS, orient="row")


def _difference(values: Floats, draws: Floats, one: int, other: int, n_items: int) -> tuple[float | None, ...]:
    """Return the difference, its interval over resampled items, and how often the first is better in them."""
    difference = float(_less(values[one], values[other]))
    drawn = _less(draws[:, one], draws[:, other])
    drawn = drawn[~np.isnan(drawn)]
    if math.isnan(difference) or len(drawn) < 2 or n_items < 2:
        return difference, None, None, None
    interval = percentile_interval(drawn)
    lower, higher = int(np.count_nonzero(drawn < 0)), int(np.count_nonzero(drawn > 0))
    better = (lower + (len(drawn) - lower - higher) / 2) / len(drawn)
    return difference, float(interval.low), float(interval.high), better


def _less(one: Any, other: Any) -> Any:
    """Return a difference, 0 where it is only rounding error, NaN where both are infinite."""
    with np.errstate(invalid="ignore"):
        difference = one - other
        return np.where(np.isfinite(other) & (np.abs(difference) <= ROUNDING * np.abs(other)), 0.0, difference)


def ranked(values: Mapping[str, float]) -> list[str]:
    """Return names from the lowest value, which is the best, to the highest; undefined ones last, ties by name."""
    return sorted(values, key=lambda name: (math.isnan(values[name]), shortened(values[name]), name))


def ranks(values: Mapping[str, float]) -> dict[str, int | None]:
    """Return the rank of each name, 1 for the lowest value; ties share a rank, undefined ones have none."""
    known = [shortened(value) for value in values.values() if not math.isnan(value)]
    return {
        name: None if math.isnan(value) else 1 + sum(other < shortened(value) for other in known)
        for name, value in values.items()
    }


def shortened(value: float) -> float:
    """Return a score without the digits that are only rounding error."""
    return float(f"{value:.11g}")
