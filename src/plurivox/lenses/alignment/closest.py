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
from scipy.special import stdtrit

from plurivox.domain.answers import Voice
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.engine.run import UnitSums, Values
from plurivox.infer.families import adjust, step_down
from plurivox.infer.grouping import Grouping
from plurivox.infer.inference import Inference, Shuffled
from plurivox.infer.permutation import upper_p
from plurivox.infer.result import AxisDraws, Row
from plurivox.infer.tables import typed
from plurivox.lenses.alignment import AlignmentSettings
from plurivox.lenses.alignment.matching import Floats
from plurivox.lenses.alignment.sums import Aligner, GroupPairs, differences, influences, shifted, wins

GAP = "closest_gap"
MANY_VOTES = 10.0
"""With this many votes of the smallest group per item or more, modes decide which group is closest; below, votes."""
MISSED = 0.02
"""How often any interval over items may miss: for a coin, two groups with unrelated views differ by that alone."""
CLOSEST = typed("model prompt axis group next by gap beyond_order over_items follows n_compared n_groups n_items")
STANDINGS = typed("model prompt axis group by value margin wins matched n_raters n_items")
CONTRASTS = typed(
    "model prompt axis group other by difference ci_low ci_high beyond_order beyond_low beyond_high matched n_items"
)


@dataclass(frozen=True, slots=True, eq=False)
class Closest:
    """The groups of an axis compared with each voice.

    Attributes
    ----------
    voices
        Who answers.
    axis, pairs
        The groups; only those shown are compared, each with each.
    by
        The distance that decides, ``ada_met`` or ``voter_distance``.
    value, low, high
        The differences of the pairs with intervals over items, voices × pairs × 2: as they are and beyond random order.
    n_items
        How many items have both groups of a pair, voices × pairs.
    margins
        By how much each group is closer than every other one: voices × shown groups.
    won, matched
        How often each has the largest margin with other items, voices × shown groups; and the differences at equal
        group sizes, voices × pairs.
    tested
        The differences of the pairs, voices × pairs, and those of shuffled raters.
    fixed
        Which of the groups shown have no raters to be exchanged with.
    """

    voices: Sequence[Voice]
    axis: Axis
    pairs: GroupPairs
    by: str
    value: Floats
    low: Floats
    high: Floats
    n_items: Floats
    margins: Floats
    won: Floats
    matched: Floats
    tested: Shuffled
    fixed: NDArray[np.bool_]

    @classmethod
    def of(
        cls, aligner: Aligner, axis: Axis, inference: Inference, settings: AlignmentSettings, level: float
    ) -> Closest:
        """Compare the groups of an axis; intervals over items each miss the truth with probability ``1 − level``."""
        from plurivox.kernels.alignment import COMPARED

        pairs, ratings = GroupPairs.of(axis), aligner.matched.ratings
        by = decided_by(ratings, axis, settings.closest_by)
        to_voters, how = by == "voter_distance", aligner.how.doing(f"{axis.name}, closest group")
        how.tell(0, 1)
        sums = aligner.pairs(axis, pairs, to_voters=to_voters)
        errors, whole = influences(sums.by_unit), sums.by_unit.sum(axis=0)
        value = differences(whole)
        n = np.count_nonzero(sums.by_unit[..., COMPARED] > 0, axis=0)[..., np.newaxis].astype(np.float64)
        with np.errstate(invalid="ignore", divide="ignore"):
            error = np.sqrt(np.einsum("uvpk,uvpk->vpk", errors, errors) * n / (n - 1))
            reach = stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) * error
        farther = value[..., 0]
        moved = UnitSums(errors, sums.starts).resampled(settings.bootstrap, aligner.seed, shifted, how)
        shown = np.isin(axis.codes, np.flatnonzero(~axis.withheld))
        own, some = Grouping.of(ratings, axis.codes, len(axis), among=shown), settings.subsamples
        equal = aligner.shuffled(own, pairs, Draws.subsampled(some, aligner.seed), how, to_voters=to_voters)
        known = np.count_nonzero(~np.isnan(equal), axis=0)
        mean = np.where(known > 0, np.nansum(equal, axis=0) / np.maximum(known, 1), np.nan)
        grouping = Grouping.of(ratings, axis.codes, len(axis), inference.exchange.strata)

        def make(shuffles: Draws, how: Running) -> Values:
            return aligner.shuffled(grouping, pairs, shuffles, how, to_voters=to_voters)

        alone = np.zeros(len(farther), dtype=bool)
        return cls(
            aligner.matched.voices, axis, pairs, by, value, value - reach, value + reach, whole[..., COMPARED],
            pairs.margins(farther), wins(pairs.margins(farther + moved)), mean,
            Shuffled(f"{axis.name}, closest group", (), farther, make, alone),
            ~grouping.exchangeable[list(pairs.groups)],
        )  # fmt: skip

    def winner(self, v: int) -> int | None:
        """Return the closest group of a voice among those shown; None if no group is closer than the others."""
        row = self.margins[v]
        return None if np.isnan(row).all() or not np.nanmax(row) > 1e-12 else int(np.nanargmax(row))

    def least_sure(self, v: int) -> int | None:
        """Return the pair of the closest group and the one that it differs from least surely; None if there is none."""
        g, test = self.winner(v), self.tested.test
        if g is None or test is None or self.fixed[g]:
            return None
        own = ((self.pairs.first == g) | (self.pairs.second == g)) & ~np.isnan(self.value[v, :, 0])
        return int(np.nanargmax(np.where(own, test.p_value[v], -1.0)))

    def leads(self) -> Floats:
        """Return the largest margin of each voice under each shuffle, draws × voices."""
        return np.asarray(np.fmax.reduce(self.pairs.margins(self.tested.null), axis=-1, initial=np.nan))

    def conditions(self, v: int, g: int) -> tuple[bool, bool]:
        """Return whether a group is closer than every other it is compared with over items, and beyond random order."""
        low, high = (self.pairs.against(end[v].T) for end in (self.low, self.high))
        # For a reversed pair, the ends are swapped.
        worst = np.where(np.arange(low.shape[-1]) > g, low[:, g], high[:, g])
        return tuple(bool((side[~np.isnan(side)] > 1e-9).all()) for side in worst)  # type: ignore[return-value]

    def items(self, v: int, g: int) -> list[float]:
        """Return the number of items on which a group is compared with each other one."""
        known = np.where(np.isnan(self.value[v, :, 0]), 0.0, self.n_items[v])
        n: list[float] = np.nan_to_num(np.abs(self.pairs.against(known)[g])).tolist()
        return n

    # Rows and tables --------------------------------------------------------------------------------------------------

    def rows(self, inference: Inference, adjusted: Floats) -> tuple[list[Row], list[tuple[Any, ...]]]:
        """Return the lead of the closest group of each voice, with its test and whether it is claimed.

        And the next group, and which conditions hold, as a row of :data:`CLOSEST`. ``adjusted`` holds the corrected
        p-values of voices, see :func:`corrected_leads`.
        """
        rows, table, leads = [], [], self.leads()
        for v, (model, prompt) in enumerate(self.voices):
            g = self.winner(v)
            if g is None:
                continue
            place, against = self.pairs.groups[g], self.pairs.against(self.value[v].T)[:, g]
            h, holding = int(np.nanargmin(against[0])), self.conditions(v, g)
            n = round(self.items(v, g)[h])
            row = Row("closest", self.axis.name, self.axis.groups[place], GAP, float(self.margins[v, g]), model=model,
                      prompt=prompt, n_raters=int(self.axis.sizes[place]), n_items=n)  # fmt: skip
            if len(leads):
                row = self._with_test(row, g, leads[:, v], float(adjusted[v]), inference)
            rows.append(row.with_claim(inference.claims(row) and all(holding)) if row.tested else row)
            table.append((
                model, prompt, self.axis.name, row.group, self.axis.groups[self.pairs.groups[h]], self.by,
                float(against[0, h]), float(np.nanmin(against[1])), *holding,
                int(np.count_nonzero(~np.isnan(against[0]))), len(self.pairs.groups) - 1, n,
            ))  # fmt: skip
        return rows, table

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

    def standings(self, values: Mapping[tuple[str, str, str, str, str], float]) -> list[tuple[Any, ...]]:
        """Return for each voice and shown group its distance, its margin over the others, and how often it wins.

        ``values`` holds the distances by model, prompt, axis, group and statistic.
        """
        level = self.pairs.margins(self.matched)
        keys = [(self.axis.name, self.axis.groups[place]) for place in self.pairs.groups]
        return [
            (*voice, *keys[g], self.by, values.get((*voice, *keys[g], self.by), np.nan),
             float(self.margins[v, g]), float(self.won[v, g]), float(level[v, g]), int(self.axis.sizes[place]),
             round(min((n for n in self.items(v, g) if n), default=0.0)))
            for v, voice in enumerate(self.voices)
            for g, place in enumerate(self.pairs.groups)
        ]  # fmt: skip

    def contrasts(self) -> pl.DataFrame:
        """Return for each pair of groups, in the order of the axis, how much farther the second is."""
        names = [self.axis.groups[place] for place in self.pairs.groups]
        keys = [
            (*voice, self.axis.name, names[g], names[h], self.by)
            for voice in self.voices
            for g, h in zip(self.pairs.first.tolist(), self.pairs.second.tolist(), strict=True)
        ]
        numbers = (*(end[..., k] for k in range(2) for end in (self.value, self.low, self.high)), self.matched)
        own, rest = list(CONTRASTS.items())[:6], list(CONTRASTS)[6:]
        columns = [*numbers, self.n_items.round().astype(np.int64)]
        more = [pl.Series(name, one.ravel(), nan_to_null=True) for name, one in zip(rest, columns, strict=True)]
        return pl.DataFrame(keys, schema=own, orient="row").with_columns(more)

    def draws(self) -> AxisDraws:
        """Return the permutation draws of the leads."""
        names = tuple(str(voice) for voice in self.voices)
        return AxisDraws(self.axis.name, names, (GAP,), self.leads()[..., np.newaxis], (), np.zeros((0, len(names), 0)))


def corrected_leads(found: Sequence[Closest], correction: str) -> Floats:
    """Return the corrected p-value of each axis and voice, axes × voices, NaN where there is no closest group.

    A group is the closest only if it is closer than each other group, so its lead is as sure as the least sure of these
    differences, two-sided. Testing the lead alone would not suffice: where two of three groups see alike, the gap
    between them is larger than that between the first two of three shuffled groups. One difference for each voice and
    axis is corrected together, from the same shuffles.
    """
    each = [(i, v, one.least_sure(v)) for i, one in enumerate(found) for v in range(len(one.margins))]
    cells = [(i, found[i], v, pair) for i, v, pair in each if pair is not None]
    adjusted = np.full((len(found), max((len(one.margins) for one in found), default=0)), np.nan)
    if not cells:
        return adjusted
    leads = [one.leads() for one in found]
    alone = [float(upper_p(np.nanmax(one.margins[v]), leads[i][:, v])) for i, one, v, _ in cells]
    p = np.fmax(alone, [one.tested.test.p_value[v, pair] for _, one, v, pair in cells if one.tested.test is not None])
    if correction == "maxt":
        observed = [one.tested.observed[v, pair] for _, one, v, pair in cells]
        null = np.stack([one.tested.null[:, v, pair] for _, one, v, pair in cells], axis=1)
        p = np.fmax(p, step_down(observed, null))
    else:
        p = adjust(p, correction)
    for (i, _, v, _), value in zip(cells, p.tolist(), strict=True):
        adjusted[i, v] = value
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


def frames(
    closest: Sequence[Closest], rows: Sequence[tuple[Any, ...]], values: Mapping[tuple[str, str, str, str, str], float]
) -> dict[str, pl.DataFrame]:
    """Return the tables that compare groups; ``rows`` are those of the closest ones."""
    standings = [row for one in closest for row in one.standings(values)]
    return {
        "closest": pl.DataFrame(rows, schema=CLOSEST, orient="row"),
        "standings": pl.DataFrame(standings, schema=STANDINGS, orient="row"),
        "contrasts": pl.concat([pl.DataFrame(schema=CONTRASTS), *(one.contrasts() for one in closest)]),
    }
