"""Which group of raters a model's answers lie closest to, on the same items, and how sure that is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.intervals import percentile_interval
from plurivox.engine.permutation import upper_p
from plurivox.lenses.alignment.matching import Floats
from plurivox.lenses.alignment.settings import AlignmentSettings
from plurivox.lenses.alignment.sums import Aligner, means, means_of_all
from plurivox.results.result import Draws, Row

GAP = "closest_gap"
STANDINGS = {
    "model": pl.String, "prompt": pl.String, "axis": pl.String, "group": pl.String, "value": pl.Float64,
    "wins": pl.Float64, "matched": pl.Float64, "n_raters": pl.Int64, "n_items": pl.Int64,
}  # fmt: skip
CONTRASTS = {
    "model": pl.String, "prompt": pl.String, "axis": pl.String, "group": pl.String, "other": pl.String,
    "difference": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "matched": pl.Float64,
    "matched_low": pl.Float64, "matched_high": pl.Float64, "n_items": pl.Int64,
}  # fmt: skip


@dataclass(slots=True)
class Closest:
    """The groups of an axis beside each voice.

    Attributes
    ----------
    axis
        The groups, of which only shown ones are compared.
    value
        Voices × groups: mean distance from the mode, on items on which every shown group voted; NaN where withheld.
    n_items
        How many items these are, for each voice.
    resampled, null, matched, matched_resampled
        Draws × voices × groups: over items, over shuffled raters, at equal sizes, and at equal sizes over items.
    """

    axis: Axis
    value: Floats
    n_items: Floats
    resampled: Floats
    null: Floats
    matched: Floats
    matched_resampled: Floats

    @classmethod
    def of(cls, aligner: Aligner, axis: Axis, strata: NDArray[np.int32] | None, settings: AlignmentSettings) -> Closest:
        """Compare the groups of an axis."""
        bootstrap, subsamples = settings.bootstrap, settings.subsamples
        sums = aligner.common(axis)
        total = sums.by_unit.sum(axis=0)
        shown = ~axis.withheld

        def only(draws: Floats) -> Floats:
            return np.where(shown, draws, np.nan)

        return cls(
            axis, only(means(total)), total[:, 0],
            only(sums.resampled(bootstrap, aligner.seed, means_of_all, aligner.how)),
            only(aligner.permuted(axis, strata, settings.permutations)),
            only(aligner.equal_sizes(axis, subsamples, resample="")),
            only(aligner.equal_sizes(axis, subsamples if bootstrap else 0, resample="items")),
        )  # fmt: skip

    def winner(self, v: int) -> int | None:
        """Return the closest group of a voice, None if no two groups can be compared."""
        row = self.value[v]
        if np.nanmax(row, initial=-1.0) - np.nanmin(row, initial=np.inf) <= 0:
            return None  # nothing but refusals, or no difference at all
        return None if np.count_nonzero(~np.isnan(row)) < 2 else int(np.nanargmin(row))

    def rows(self, voices: Any) -> list[Row]:
        """Return the gap between the closest and the second group of each voice, with its test."""
        gaps, null = gap(self.value), gap(self.null)
        found = []
        for v, (model, prompt) in enumerate(voices):
            g = self.winner(v)
            if g is None:
                continue
            row = Row(
                "closest", self.axis.name, self.axis.groups[g], GAP, float(gaps[v]), model=model, prompt=prompt,
                n_raters=int(self.axis.sizes[g]), n_items=round(float(self.n_items[v])),
            )  # fmt: skip
            if len(null):
                defined = null[~np.isnan(null[:, v]), v]
                p = float(upper_p(gaps[v], defined)) if len(defined) else math.nan
                median = float(np.median(defined)) if len(defined) else math.nan
                row = row.with_test(p, None, median, 1 - len(defined) / len(null))
            found.append(row)
        return found

    def draws(self, voices: Any) -> Draws:
        """Return the permutation draws of the gaps."""
        names = tuple(str(voice) for voice in voices)
        null = gap(self.null)[:, :, np.newaxis]
        return Draws(self.axis.name, names, (GAP,), null, (), np.zeros((0, len(names), 0)))

    def standings(self, voices: Any) -> list[tuple[Any, ...]]:
        """Return for each voice and shown group the distance, how often it wins, and the distance at equal sizes."""
        won = wins(self.resampled)
        level = mean_of(self.matched)
        return [
            (model, prompt, self.axis.name, name, float(self.value[v, g]), float(won[v, g]), float(level[v, g]),
             int(self.axis.sizes[g]), round(float(self.n_items[v])))
            for v, (model, prompt) in enumerate(voices)
            for g, name in enumerate(self.axis.groups) if not self.axis.withheld[g]
        ]  # fmt: skip

    def contrasts(self, voices: Any) -> list[tuple[Any, ...]]:
        """Return how much farther each other group is than the closest one, also at equal sizes, with intervals."""
        level, found = mean_of(self.matched), []
        for v, (model, prompt) in enumerate(voices):
            g = self.winner(v)
            for h, name in enumerate(self.axis.groups):
                if g is None or h == g or self.axis.withheld[h]:
                    continue
                found.append((
                    model, prompt, self.axis.name, self.axis.groups[g], name,
                    float(self.value[v, h] - self.value[v, g]),
                    *_interval(self.resampled[:, v, h] - self.resampled[:, v, g]), float(level[v, h] - level[v, g]),
                    *_interval(self.matched_resampled[:, v, h] - self.matched_resampled[:, v, g]),
                    round(float(self.n_items[v])),
                ))  # fmt: skip
        return found


def gap(values: Floats) -> Floats:
    """Return the second smallest less the smallest of the last dimension; NaN where fewer than two are defined."""
    ordered = np.sort(values, axis=-1)  # NaN come last
    if ordered.shape[-1] < 2:
        return np.full(ordered.shape[:-1], np.nan)
    return np.asarray(ordered[..., 1] - ordered[..., 0])


def wins(draws: Floats) -> Floats:
    """Return how often each group is the closest: voices × groups; ties share. NaN without draws."""
    if not len(draws):
        return np.full(draws.shape[1:], np.nan)
    known = ~np.isnan(draws).all(axis=-1, keepdims=True)
    lowest = np.nanmin(np.where(known, draws, 0.0), axis=-1, keepdims=True)
    closest = (draws <= lowest + 1e-12) & known
    with np.errstate(invalid="ignore"):
        share = closest / closest.sum(axis=-1, keepdims=True)
    won = np.nansum(share, axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(np.isnan(draws).all(axis=0), np.nan, won)


def mean_of(draws: Floats) -> Floats:
    """Return means over draws, NaN without any."""
    if not len(draws):
        return np.full(draws.shape[1:], np.nan)
    n = np.count_nonzero(~np.isnan(draws), axis=0)
    return np.where(n > 0, np.nansum(draws, axis=0) / np.maximum(n, 1), np.nan)


def _interval(draws: Floats) -> tuple[float | None, float | None]:
    if len(draws) < 2 or np.isnan(draws).all():
        return None, None
    low, high, _ = percentile_interval(draws)
    return float(low), float(high)
