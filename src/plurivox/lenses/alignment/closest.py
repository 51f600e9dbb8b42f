"""Which group of raters a model's answers lie closest to, two groups at a time on the items of both, and how sure.

A group is claimed to be the closest one only if three things hold, each of which fails where another does not:

- its lead is larger than shuffled raters give, so that the groups differ;
- it is closer than every other group by an interval over items, so that the answers were not lucky;
- both hold beyond what the same answers give in random order, so that they follow the group item by item: a coin is
  nearer to a group with less extreme scores, in every study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from plurivox.axis import Axis
from plurivox.engine.draws import Draws as Shuffles
from plurivox.engine.families import SIGNIFICANT
from plurivox.engine.grouping import Grouping
from plurivox.engine.permutation import compare, upper_p
from plurivox.engine.run import Values
from plurivox.engine.running import Running
from plurivox.engine.units import UnitSums
from plurivox.lenses.alignment.matching import Floats
from plurivox.lenses.alignment.pairs import OverItems, Pairs, influences, shifted, wins
from plurivox.lenses.alignment.settings import AlignmentSettings
from plurivox.lenses.alignment.sums import Aligner
from plurivox.lenses.inference import Inference, Shuffled
from plurivox.ratings import Ratings
from plurivox.results.result import Draws, Row

GAP = "closest_gap"
MANY_VOTES = 10.0
"""From so many votes of the smallest group for an item, modes decide which group is closest; below, single votes."""
_KEYS = {"model": pl.String, "prompt": pl.String, "axis": pl.String, "group": pl.String}
CLOSEST = {
    **_KEYS, "next": pl.String, "by": pl.String, "gap": pl.Float64, "beyond_order": pl.Float64,
    "over_items": pl.Boolean, "follows": pl.Boolean, "n_compared": pl.Int64, "n_groups": pl.Int64, "n_items": pl.Int64,
}  # fmt: skip
STANDINGS = {
    **_KEYS, "by": pl.String, "value": pl.Float64, "margin": pl.Float64, "wins": pl.Float64, "matched": pl.Float64,
    "n_raters": pl.Int64, "n_items": pl.Int64,
}  # fmt: skip
CONTRASTS = {
    **_KEYS, "other": pl.String, "by": pl.String, "difference": pl.Float64, "ci_low": pl.Float64,
    "ci_high": pl.Float64, "beyond_order": pl.Float64, "beyond_low": pl.Float64, "beyond_high": pl.Float64,
    "matched": pl.Float64, "n_items": pl.Int64,
}  # fmt: skip


@dataclass(slots=True, eq=False)
class LeadTest(Shuffled):
    """The largest margins of voices beside those of shuffled raters: only a large one tells anything."""

    def compare(self, convention: str) -> None:
        """Find how many shuffles have a margin as large."""
        test = compare(self.observed, self.null)
        test.p_value[:] = upper_p(self.observed, self.null)
        test.p_value[self.alone], test.direction[self.alone], test.null_median[self.alone] = np.nan, None, np.nan
        self.test = test


@dataclass(frozen=True, slots=True, eq=False)
class Closest:
    """The groups of an axis beside each voice.

    Attributes
    ----------
    axis, pairs
        The groups, of which only shown ones are compared, each with each.
    by
        The distance that decides, ``ada_met`` or ``voter_distance``.
    found
        The differences of the pairs, as they are and beyond random order, with intervals over items.
    margins
        Voices × shown groups: by how much each is closer than every other.
    won, matched
        How often each has the largest margin with other items, voices × shown groups; and the differences at equal
        group sizes, voices × pairs.
    tested
        The largest margins, and those of shuffled raters.
    """

    axis: Axis
    pairs: Pairs
    by: str
    found: OverItems
    margins: Floats
    won: Floats
    matched: Floats
    tested: LeadTest

    @classmethod
    def of(
        cls, aligner: Aligner, axis: Axis, inference: Inference, settings: AlignmentSettings, level: float
    ) -> Closest:
        """Compare the groups of an axis; ``level`` is that of the intervals over items."""
        pairs, ratings = Pairs.of(axis), aligner.matched.ratings
        by = decided_by(ratings, axis, settings.closest_by)
        to_voters = by == "voter_distance"
        sums = aligner.pairs(axis, pairs, to_voters=to_voters)
        errors = influences(sums.by_unit)
        found = OverItems.of(sums, errors, level)
        margins = pairs.margins(found.value[..., 0])
        grouping = Grouping.of(ratings, axis.codes, len(axis), inference.exchange.strata)
        fixed = ~grouping.exchangeable[list(pairs.groups)]

        def make(shuffles: Shuffles, how: Running) -> Values:
            return aligner.leads(grouping, pairs, shuffles, how, to_voters=to_voters)[..., np.newaxis]

        leads = np.fmax.reduce(margins, axis=-1, initial=np.nan)
        alone = np.array([fixed[np.nanargmax(row)] if not np.isnan(row).all() else fixed.all() for row in margins])
        return cls(
            axis, pairs, by, found, margins,
            _won(aligner, pairs, UnitSums(errors, sums.starts), found.value[..., 0], settings.bootstrap),
            _mean(aligner.equal_sizes(axis, pairs, settings.subsamples, to_voters=to_voters)),
            LeadTest(f"{axis.name}, closest group", (GAP,), leads[:, np.newaxis], make, alone),
        )  # fmt: skip

    def winner(self, v: int) -> int | None:
        """Return the closest group of a voice among those shown; None if no group is closer than those beside it."""
        row = self.margins[v]
        return None if np.isnan(row).all() or not np.nanmax(row) > 1e-12 else int(np.nanargmax(row))

    def rows(self, voices: Any, inference: Inference) -> list[Row]:
        """Return the lead of the closest group of each voice, with its test and whether it is claimed."""
        found = []
        for v, (model, prompt) in enumerate(voices):
            g = self.winner(v)
            if g is None:
                continue
            place = self.pairs.groups[g]
            row = Row(
                "closest", self.axis.name, self.axis.groups[place], GAP, float(self.margins[v, g]), model=model,
                prompt=prompt, n_raters=int(self.axis.sizes[place]), n_items=round(self._items(v, g)[self._next(v, g)]),
            )  # fmt: skip
            row = inference.with_test(row, v, self.tested)
            found.append(row.with_claim(bool(row.claim) and all(self.conditions(v, g))) if row.tested else row)
        return found

    def conditions(self, v: int, g: int) -> tuple[bool, bool]:
        """Tell whether a group is closer than every other it is compared with over items, and beyond random order."""
        low, high = (self.pairs.against(end[v].T) for end in (self.found.low, self.found.high))
        # Of a pair the other way round, the ends change places.
        worst = np.where(np.arange(low.shape[-1]) > g, low[:, g], high[:, g])
        return tuple(bool((side[~np.isnan(side)] > 1e-9).all()) for side in worst)  # type: ignore[return-value]

    def _next(self, v: int, g: int) -> int:
        """Return the group that is next to the closest one."""
        return int(np.nanargmin(self.pairs.against(self.found.value[v, :, 0])[g]))

    def _items(self, v: int, g: int) -> list[float]:
        """Return on how many items a group is compared with each other one."""
        known = np.where(np.isnan(self.found.value[v, :, 0]), 0.0, self.found.n_items[v])
        n: list[float] = np.nan_to_num(np.abs(self.pairs.against(known)[g])).tolist()
        return n

    # Tables -----------------------------------------------------------------------------------------------------------

    def closest(self, voices: Any) -> list[tuple[Any, ...]]:
        """Return the closest group of each voice, which is next, and what holds of it."""
        found = []
        for v, (model, prompt) in enumerate(voices):
            g = self.winner(v)
            if g is None:
                continue
            against = self.pairs.against(self.found.value[v].T)[:, g]
            h = self._next(v, g)
            found.append((
                model, prompt, self.axis.name, self._name(g), self._name(h), self.by, float(against[0, h]),
                float(np.nanmin(against[1])), *self.conditions(v, g), int(np.count_nonzero(~np.isnan(against[0]))),
                len(self.pairs.groups) - 1, round(self._items(v, g)[h]),
            ))  # fmt: skip
        return found

    def standings(self, voices: Any, values: Mapping[tuple[str, str, str, str, str], float]) -> list[tuple[Any, ...]]:
        """Return for each voice and shown group its distance, by how much it is closer than others, how often it wins.

        ``values`` holds the distances by model, prompt, axis, group and statistic.
        """
        level = self.pairs.margins(self.matched)
        return [
            (model, prompt, self.axis.name, self._name(g), self.by,
             values.get((model, prompt, self.axis.name, self._name(g), self.by), np.nan),
             float(self.margins[v, g]), float(self.won[v, g]), float(level[v, g]), int(self.axis.sizes[place]),
             round(min((n for n in self._items(v, g) if n), default=0.0)))
            for v, (model, prompt) in enumerate(voices)
            for g, place in enumerate(self.pairs.groups)
        ]  # fmt: skip

    def contrasts(self, voices: Any) -> list[tuple[Any, ...]]:
        """Return for each pair of groups, in the order of the axis, how much farther the second is."""
        return [
            (model, prompt, self.axis.name, self._name(g), self._name(h), self.by,
             *(_known(end[v, at, 0]) for end in self.found[:3]), *(_known(end[v, at, 1]) for end in self.found[:3]),
             _known(self.matched[v, at]), round(float(self.found.n_items[v, at])))
            for v, (model, prompt) in enumerate(voices)
            for at, (g, h) in enumerate(zip(self.pairs.first.tolist(), self.pairs.second.tolist(), strict=True))
        ]  # fmt: skip

    def draws(self, voices: Any) -> Draws:
        """Return the permutation draws of the leads."""
        names = tuple(str(voice) for voice in voices)
        return Draws(self.axis.name, names, (GAP,), self.tested.null, (), np.zeros((0, len(names), 0)))

    def _name(self, g: int) -> str:
        return self.axis.groups[self.pairs.groups[g]]


def decided_by(ratings: Ratings, axis: Axis, asked: str) -> str:
    """Return the distance that decides: as asked, or by modes if the smallest group has votes enough for them.

    How many votes it has is told from all votes and its share of the raters, so that shuffles cannot change it.
    """
    if asked != "auto":
        return asked
    group = axis.codes[ratings.codes_of_raters]
    votes = np.bincount(ratings.item_codes[group >= 0], minlength=ratings.n_items)
    sizes = axis.sizes[~axis.withheld]
    least = np.median(votes[votes > 0]) * sizes.min() / max(axis.sizes.sum(), 1) if len(sizes) and votes.any() else 0.0
    return "ada_met" if least >= MANY_VOTES else "voter_distance"


def level_over(n: int) -> float:
    """Return the level of each of n intervals that hold together at 95 % (Šidák), for voices and axes of a call."""
    return float((1 - SIGNIFICANT) ** (1 / max(n, 1)))


def _won(aligner: Aligner, pairs: Pairs, errors: UnitSums, farther: Floats, n: int) -> Floats:
    """Return how often each group has the largest margin when items are drawn anew, to first order."""
    return wins(pairs.margins(farther + errors.resampled(n, aligner.seed, shifted, aligner.how)))


def _mean(draws: Floats) -> Floats:
    """Return means over draws, NaN without any."""
    if not len(draws):
        return np.full(draws.shape[1:], np.nan)
    n = np.count_nonzero(~np.isnan(draws), axis=0)
    return np.where(n > 0, np.nansum(draws, axis=0) / np.maximum(n, 1), np.nan)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def frames(
    closest: Sequence[Closest], voices: Any, values: Mapping[tuple[str, str, str, str, str], float]
) -> dict[str, pl.DataFrame]:
    """Return the tables about groups beside each other."""
    each = {
        "closest": (CLOSEST, [row for one in closest for row in one.closest(voices)]),
        "standings": (STANDINGS, [row for one in closest for row in one.standings(voices, values)]),
        "contrasts": (CONTRASTS, [row for one in closest for row in one.contrasts(voices)]),
    }
    return {name: pl.DataFrame(rows, schema=schema, orient="row") for name, (schema, rows) in each.items()}
