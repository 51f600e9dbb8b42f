"""Which group of raters a model's answers lie closest to, two groups at a time on the items of both, and how surely.

A group is claimed to be the closest only if three conditions hold, each of which guards against a different error:

- its lead, and its difference from every other group, are larger than shuffled raters give, so that the groups differ;
- it is closer than every other group by an interval over items, so that the answers were not lucky;
- both hold beyond what the same answers give in random order, so that they follow the group item by item: a coin is
  closer to a group with less extreme scores, in every study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws as Shuffles
from plurivox.engine.pool import Running
from plurivox.engine.run import UnitSums, Values
from plurivox.infer.families import adjust, step_down
from plurivox.infer.grouping import Grouping
from plurivox.infer.inference import Inference, Shuffled
from plurivox.infer.permutation import upper_p
from plurivox.infer.result import AxisDraws, Row
from plurivox.lenses.alignment.matching import Floats
from plurivox.lenses.alignment.pairs import GroupPairs, OverItems, influences, shifted, wins
from plurivox.lenses.alignment.settings import AlignmentSettings
from plurivox.lenses.alignment.sums import Aligner

GAP = "closest_gap"
MANY_VOTES = 10.0
"""With this many votes of the smallest group per item or more, modes decide which group is closest; below, votes."""
MISSED = 0.02
"""How often any interval over items may miss: for a coin, two groups with unrelated views differ by that alone."""
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


@dataclass(frozen=True, slots=True, eq=False)
class Closest:
    """The groups of an axis compared with each voice.

    Attributes
    ----------
    axis, pairs
        The groups; only those shown are compared, each with each.
    by
        The distance that decides, ``ada_met`` or ``voter_distance``.
    found
        The differences of the pairs, as they are and beyond random order, with intervals over items.
    margins
        Voices × shown groups: by how much each is closer than every other group.
    won, matched
        How often each has the largest margin with other items, voices × shown groups; and the differences at equal
        group sizes, voices × pairs.
    tested
        The differences of the pairs, voices × pairs, and those of shuffled raters.
    fixed
        Which of the groups shown have no raters to be exchanged with.
    """

    axis: Axis
    pairs: GroupPairs
    by: str
    found: OverItems
    margins: Floats
    won: Floats
    matched: Floats
    tested: Shuffled
    fixed: NDArray[np.bool_]

    @classmethod
    def of(
        cls, aligner: Aligner, axis: Axis, inference: Inference, settings: AlignmentSettings, level: float
    ) -> Closest:
        """Compare the groups of an axis; ``level`` is that of the intervals over items."""
        pairs, ratings = GroupPairs.of(axis), aligner.matched.ratings
        by = decided_by(ratings, axis, settings.closest_by)
        to_voters = by == "voter_distance"
        sums = aligner.pairs(axis, pairs, to_voters=to_voters)
        errors = influences(sums.by_unit)
        found = OverItems.of(sums, errors, level)
        margins = pairs.margins(found.value[..., 0])
        grouping = Grouping.of(ratings, axis.codes, len(axis), inference.exchange.strata)

        def make(shuffles: Shuffles, how: Running) -> Values:
            return aligner.shuffled(grouping, pairs, shuffles, how, to_voters=to_voters)

        observed = found.value[..., 0]
        return cls(
            axis, pairs, by, found, margins,
            _won(aligner, pairs, UnitSums(errors, sums.starts), found.value[..., 0], settings.bootstrap),
            _mean(aligner.equal_sizes(axis, pairs, settings.subsamples, to_voters=to_voters)),
            Shuffled(f"{axis.name}, closest group", (), observed, make, np.zeros(len(observed), dtype=bool)),
            ~grouping.exchangeable[list(pairs.groups)],
        )  # fmt: skip

    def winner(self, v: int) -> int | None:
        """Return the closest group of a voice among those shown; None if no group is closer than the others."""
        row = self.margins[v]
        return None if np.isnan(row).all() or not np.nanmax(row) > 1e-12 else int(np.nanargmax(row))

    def rows(self, voices: Any, inference: Inference, adjusted: Floats) -> list[Row]:
        """Return the lead of the closest group of each voice, with its test and whether it is claimed.

        ``adjusted`` holds the corrected p-values of voices, see :func:`corrected_leads`.
        """
        found, leads = [], self.leads()
        for v, (model, prompt) in enumerate(voices):
            g = self.winner(v)
            if g is None:
                continue
            place = self.pairs.groups[g]
            row = Row(
                "closest", self.axis.name, self.axis.groups[place], GAP, float(self.margins[v, g]), model=model,
                prompt=prompt, n_raters=int(self.axis.sizes[place]), n_items=round(self._items(v, g)[self._next(v, g)]),
            )  # fmt: skip
            if len(leads):
                row = self._with_test(row, g, leads[:, v], float(adjusted[v]), inference)
            found.append(row.with_claim(inference.claims(row) and all(self.conditions(v, g))) if row.tested else row)
        return found

    def _with_test(self, row: Row, g: int, leads: Floats, adjusted: float, inference: Inference) -> Row:
        """Return a row with its test against the leads of shuffled raters, if they could have been exchanged."""
        known = leads[~np.isnan(leads)]
        p = float(inference.looks.told_of(lambda n: upper_p(row.value, leads[:n]), len(leads)))
        median = float(np.median(known)) if len(known) else np.nan
        if self.fixed[g]:
            row, p, median = row.with_note(inference.exchange.alone), np.nan, np.nan
        above = None if np.isnan(median) else "above" if row.value > median else "below"
        undefined = 1 - len(known) / len(leads)
        return row.with_test(p, above, median, undefined, n_permutations=len(leads), p_adjusted=adjusted)

    def least_sure(self, v: int) -> int | None:
        """Return the pair of the closest group and the one that it differs from least surely; None if there is none."""
        g, test = self.winner(v), self.tested.test
        if g is None or test is None or self.fixed[g]:
            return None
        own = ((self.pairs.first == g) | (self.pairs.second == g)) & ~np.isnan(self.found.value[v, :, 0])
        p = np.where(own, test.p_value[v], -1.0)
        return int(np.nanargmax(p))

    def leads(self) -> Floats:
        """Return the largest margin of each voice under each shuffle, draws × voices."""
        return np.asarray(np.fmax.reduce(self.pairs.margins(self.tested.null), axis=-1, initial=np.nan))

    def conditions(self, v: int, g: int) -> tuple[bool, bool]:
        """Return whether a group is closer than every other it is compared with over items, and beyond random order."""
        low, high = (self.pairs.against(end[v].T) for end in (self.found.low, self.found.high))
        # For a reversed pair, the ends are swapped.
        worst = np.where(np.arange(low.shape[-1]) > g, low[:, g], high[:, g])
        return tuple(bool((side[~np.isnan(side)] > 1e-9).all()) for side in worst)  # type: ignore[return-value]

    def _next(self, v: int, g: int) -> int:
        """Return the group that is next to the closest one."""
        return int(np.nanargmin(self.pairs.against(self.found.value[v, :, 0])[g]))

    def _items(self, v: int, g: int) -> list[float]:
        """Return the number of items on which a group is compared with each other one."""
        known = np.where(np.isnan(self.found.value[v, :, 0]), 0.0, self.found.n_items[v])
        n: list[float] = np.nan_to_num(np.abs(self.pairs.against(known)[g])).tolist()
        return n

    # Tables -----------------------------------------------------------------------------------------------------------

    def closest(self, voices: Any) -> list[tuple[Any, ...]]:
        """Return the closest group of each voice, the next one, and which conditions hold."""
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
        """Return for each voice and shown group its distance, its margin over the others, and how often it wins.

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

    def contrasts(self, voices: Any) -> pl.DataFrame:
        """Return for each pair of groups, in the order of the axis, how much farther the second is."""
        n, names = len(self.pairs), [self._name(g) for g in range(len(self.pairs.groups))]
        groups, others = ([names[g] for g in places.tolist()] for places in (self.pairs.first, self.pairs.second))
        numbers = (*(end[..., k] for k in range(2) for end in self.found[:3]), self.matched)
        columns = [
            [model for model, _ in voices for _ in range(n)], [prompt for _, prompt in voices for _ in range(n)],
            [self.axis.name] * (n * len(voices)), groups * len(voices), others * len(voices),
            [self.by] * (n * len(voices)), *(pl.Series(values.ravel(), nan_to_null=True) for values in numbers),
            self.found.n_items.ravel().round().astype(np.int64),
        ]  # fmt: skip
        return pl.DataFrame(dict(zip(CONTRASTS, columns, strict=True)), schema=CONTRASTS)

    def draws(self, voices: Any) -> AxisDraws:
        """Return the permutation draws of the leads."""
        names = tuple(str(voice) for voice in voices)
        return AxisDraws(self.axis.name, names, (GAP,), self.leads()[..., np.newaxis], (), np.zeros((0, len(names), 0)))

    def _name(self, g: int) -> str:
        return self.axis.groups[self.pairs.groups[g]]


def corrected_leads(found: Sequence[Closest], correction: str) -> Floats:
    """Return the corrected p-value of each axis and voice, axes × voices, NaN where there is no closest group.

    A group is the closest only if it is closer than each other group, so its lead is as sure as the least sure of these
    differences, two-sided. Testing the lead alone would not suffice: where two of three groups see alike, the gap
    between them is larger than that between the first two of three shuffled groups. One difference for each voice and
    axis is corrected together, from the same shuffles.
    """
    cells = [
        (one, v, pair) for one in found for v in range(len(one.margins)) if (pair := one.least_sure(v)) is not None
    ]
    adjusted = np.full((len(found), max((len(one.margins) for one in found), default=0)), np.nan)
    if not cells:
        return adjusted
    leads = {id(one): one.leads() for one in found}
    alone = [float(upper_p(np.nanmax(one.margins[v]), leads[id(one)][:, v])) for one, v, _ in cells]
    p = np.fmax(alone, [one.tested.test.p_value[v, pair] for one, v, pair in cells if one.tested.test is not None])
    if correction == "maxt":
        observed = [one.tested.observed[v, pair] for one, v, pair in cells]
        p = np.fmax(p, step_down(observed, np.stack([one.tested.null[:, v, pair] for one, v, pair in cells], axis=1)))
    else:
        p = adjust(p, correction)
    places = {id(one): place for place, one in enumerate(found)}
    for (one, v, _), value in zip(cells, p.tolist(), strict=True):
        adjusted[places[id(one)], v] = value
    return adjusted


def decided_by(ratings: Ratings, axis: Axis, asked: str) -> str:
    """Return the distance that decides: as requested, or by modes if the smallest group has enough votes for them.

    Its number of votes is computed from all votes and its share of the raters, so that shuffles cannot change it.
    """
    if asked != "auto":
        return asked
    group = axis.codes[ratings.codes_of_raters]
    votes = np.bincount(ratings.item_codes[group >= 0], minlength=ratings.n_items)
    sizes = axis.sizes[~axis.withheld]
    least = np.median(votes[votes > 0]) * sizes.min() / max(axis.sizes.sum(), 1) if len(sizes) and votes.any() else 0.0
    return "ada_met" if least >= MANY_VOTES else "voter_distance"


def level_over(n: int) -> float:
    """Return the level of each of n intervals that hold together at 98 % (Šidák), for voices and axes of a call."""
    return float((1 - MISSED) ** (1 / max(n, 1)))


def _won(aligner: Aligner, pairs: GroupPairs, errors: UnitSums, farther: Floats, n: int) -> Floats:
    """Return how often each group has the largest margin when items are resampled, to first order."""
    return wins(pairs.margins(farther + errors.resampled(n, aligner.seed, shifted, aligner.how)))


def _mean(draws: Floats) -> Floats:
    """Return means over draws, NaN without any."""
    if not len(draws):
        return np.full(draws.shape[1:], np.nan)
    n = np.count_nonzero(~np.isnan(draws), axis=0)
    return np.where(n > 0, np.nansum(draws, axis=0) / np.maximum(n, 1), np.nan)


def frames(
    closest: Sequence[Closest], voices: Any, values: Mapping[tuple[str, str, str, str, str], float]
) -> dict[str, pl.DataFrame]:
    """Return the tables that compare groups."""
    each = {
        "closest": (CLOSEST, [row for one in closest for row in one.closest(voices)]),
        "standings": (STANDINGS, [row for one in closest for row in one.standings(voices, values)]),
    }
    found = {name: pl.DataFrame(rows, schema=schema, orient="row") for name, (schema, rows) in each.items()}
    return {
        **found,
        "contrasts": pl.concat([pl.DataFrame(schema=CONTRASTS), *(one.contrasts(voices) for one in closest)]),
    }
