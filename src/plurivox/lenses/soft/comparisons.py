"""Models compared: which is better, how sure that is, and whether it depends on the items or on whose ratings count.

**Bins.** For two models and a bin, the difference of their scores in the bin is compared with that in all other bins,
in its own standard errors (Welch's t). Items are assigned to bins at random; with its own standard errors, the test is
also valid where items of some bins vary more (Chung & Romano 2013, Annals of Statistics 41, 484–507). Parts of the
items by an attribute are tested in the same way.

**Groups.** Only scores that are means over an item's ratings, CE and RPS, can be compared between groups of unequal
size. With δ = score of one model − score of the other for a single rating, and δ̄_i its mean over all ratings of item i
by raters of the axis, a group's sum of δ − δ̄_i over its ratings is::

    Σ_i n_gi n_ri / (n_gi + n_ri) · (mean δ of the group − mean δ of the rest)

so items are compared with themselves. Raters, each with the sum over their own ratings, are shuffled between groups:
raters have habits, so flipping the signs of items would mistake a few raters' leniency for a view of their group.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.domain.axis import names_raters
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws, orders
from plurivox.engine.pool import Running, batched
from plurivox.engine.run import UnitSums
from plurivox.infer.families import SIGNIFICANT, DrawPlan, adjust, most_shuffles, step_down, undecided
from plurivox.infer.grouping import Compared, Grouping
from plurivox.infer.intervals import percentile_interval
from plurivox.infer.permutation import EXACT, ROUNDING, Flips, compare, exact_p
from plurivox.infer.tables import typed
from plurivox.lenses.soft import SoftSettings
from plurivox.lenses.soft.matching import MARGINAL, REFERENCES, UNIFORM, Floats
from plurivox.lenses.soft.sums import ALL, MetricSums, ScoreSums, ScoringTarget, bins_and_all, leading
from plurivox.statistics.soft_blocks import EMPIRICAL, Scoring

# Tests of models ------------------------------------------------------------------------------------------------------
# All that one call may claim is one family. Its null values are made draw by draw: draw number d flips the signs of
# items for every two predictions, puts items into other bins, and shuffles raters between groups. All values are
# compared with the largest deviation in each draw (:func:`plurivox.infer.families.step_down`).

ALIKE = "both score alike on every item"
ENDLESS = "infinite on some items; --floor (floor=) makes this finite"
ONE_ITEM = "one item says nothing about others"
NO_ITEM = "no item with a score"
SAME = 1e-11
"""Scores with a smaller relative difference are equal."""

Pairs = Sequence[tuple[int, int]]
"""Two predictions each, by their positions."""


class FamilyTests(NamedTuple):
    """The tests of one family: p of each hypothesis, alone and corrected, the number of draws, and if these are all."""

    p_value: Floats
    p_adjusted: Floats
    n_draws: int
    exact: bool
    corrected: bool = True

    @classmethod
    def untested(cls, n: int) -> FamilyTests:
        """Return hypotheses that were not tested."""
        return cls(np.full(n, np.nan), np.full(n, np.nan), 0, False)

    def cells(self, place: int) -> tuple[float | None, float | None, int | None, bool]:
        """Return p of a hypothesis, alone and corrected, the number of draws, and whether it is certain.

        That is: below .05 after correction, which more draws would not change.
        """
        p, adjusted = float(self.p_value[place]), float(self.p_adjusted[place])
        if math.isnan(p):
            return None, None, None, False
        certain = adjusted < SIGNIFICANT and self.corrected
        return p, adjusted, self.n_draws, bool(certain and (self.exact or not undecided(adjusted, self.n_draws)))


def decide(
    blocks: Sequence[Block], asked: SoftSettings, how: Running, *, exact: int = 0, further: bool = True
) -> FamilyTests:
    """Test some hypotheses together.

    Parameters
    ----------
    exact
        How many draws there are if all are used; otherwise as many as requested are made, and with ``further``, more
        until no p-value is too close to .05.
    """
    observed = np.concatenate([np.zeros(0), *(block.observed for block in blocks)])
    if not asked.permutations or not len(observed):
        return FamilyTests.untested(len(observed))
    n, null = exact or asked.permutations, np.zeros((0, len(observed)))
    found, ends = FamilyTests.untested(len(observed)), np.cumsum([len(block.observed) for block in blocks])[:-1]

    def step(made: int, wanted: int) -> tuple[Floats, Floats]:
        nonlocal null, found
        more = [block.null(made + 1, wanted + 1, how) for block in blocks]
        null = np.concatenate([null, np.concatenate(more, axis=1)])
        own = zip(blocks, np.split(null, ends, axis=1), strict=True)
        p = np.concatenate([block.p(values) for block, values in own])
        corrected = step_down(observed, null) if asked.correction == "maxt" else adjust(p, asked.correction)
        adjusted = np.where(np.isnan(p), np.nan, np.fmax(p, corrected))
        found = FamilyTests(p, adjusted, len(null) + bool(exact), bool(exact), asked.correction != "none")
        return adjusted, np.zeros(0)

    DrawPlan(n, most_shuffles(n, asked.max_permutations) if further and not exact else n, asked.n_lenses).run(step)
    return found


# Two predictions on the same items -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class InBins:
    """Hypotheses of a family: that some pairs of predictions do not differ by one metric, in some bins.

    Attributes
    ----------
    scores
        Scores by units of items.
    pairs
        Which predictions are compared.
    flips
        Which signs are flipped.
    why
        For each bin and, last, all items: why a pair cannot be tested, or nothing.
    bins
        The positions of the bins; the one after the last stands for all items.
    """

    scores: MetricSums
    pairs: Pairs
    flips: Flips
    why: list[list[str]]
    bins: Sequence[int]

    @classmethod
    def of(cls, scores: MetricSums, pairs: Pairs, seed: int) -> InBins:
        """Find out what can be tested in each bin, and, last, on all items."""
        why = [[_reason(scores, pair, part) for pair in pairs] for part in scores.bounds]
        return cls(scores, pairs, Flips.of(scores.sums.n_units, seed), why, range(len(why)))

    @property
    def observed(self) -> Floats:
        """The differences of sums, NaN where there is a reason not to test."""
        known = np.array([[not why for why in self.why[b]] for b in self.bins], dtype=bool)
        return np.where(known.reshape(len(self.bins), len(self.pairs)), self._totals()[list(self.bins)], np.nan).ravel()

    def null(self, first: int, last: int, how: Running) -> Floats:
        """Return the differences under sign-flips ``first`` to ``last``, draws × hypotheses."""
        sums = self.scores.sums
        work = partial(_from, partial(_flipped, sums, self.flips), first)
        cost, width = sums.by_unit.size / 1e9 + sums.n_units * 2e-8, sums.n_units + sums.by_unit[:1].size
        made = self._paired(np.concatenate(batched(work, last - first, how, cost=cost, width=width)))
        return made[:, list(self.bins)].reshape(last - first, -1)

    def p(self, null: Floats) -> Floats:
        """Return p of each hypothesis, exact where few items differ, otherwise from ``null``, draws × hypotheses."""
        each, bounds, totals = null.reshape(len(null), len(self.bins), -1), self.scores.bounds, self._totals()
        found = np.full((len(self.bins), len(self.pairs)), np.nan)
        for at, b in enumerate(self.bins):
            for k, pair in enumerate(self.pairs):
                if self.why[b][k]:
                    continue
                own = _differences(self.scores, pair, bounds[b])
                if np.count_nonzero(own) <= EXACT:
                    found[at, k] = exact_p(own)
                else:
                    least = abs(totals[b, k]) - ROUNDING * np.abs(own).sum()
                    found[at, k] = (np.count_nonzero(np.abs(each[:, at, k]) >= least) + 1) / (len(null) + 1)
        return found.ravel()

    def _totals(self) -> Floats:
        """Return the differences of sums, bins and, last, all items × pairs."""
        return np.asarray(self._paired(bins_and_all(self.scores.sums.totals()))[0])

    def _paired(self, sums: Floats) -> Floats:
        one, other = (np.array([pair[side] for pair in self.pairs], dtype=np.intp) for side in (0, 1))
        return sums[..., one] - sums[..., other]


def _differences(scores: MetricSums, pair: tuple[int, int], inside: slice) -> Floats:
    """Return the difference of each unit, 0 where it is only rounding error."""
    one, other = (scores.sums.by_unit[inside, at] for at in pair)
    return np.where(np.abs(one - other) <= SAME * np.abs(other), 0.0, one - other)


def _reason(scores: MetricSums, pair: tuple[int, int], inside: slice) -> str:
    """Say why a pair cannot be tested, or nothing."""
    n = float(scores.n_items[inside].sum())
    if n < 2:
        return ONE_ITEM if n else NO_ITEM
    if scores.endless[inside][:, list(pair)].any():
        return ENDLESS
    return "" if _differences(scores, pair, inside).any() else ALIKE


def _flipped(sums: UnitSums, flips: Flips, first: int, last: int) -> Floats:
    """Return sums by bins under some sign-flips."""
    return bins_and_all(2 * sums.totals(flips.kept(first, last)) - sums.totals())


def _from(make: Callable[[int, int], Floats], start: int, first: int, last: int) -> Floats:
    """Return draws that a function makes, counted from a number."""
    return make(start + first, start + last)


class Drawn(NamedTuple):
    """Hypotheses whose null values a function makes; p is two-sided, by rank."""

    observed: Floats
    make: Callable[[int, int], Floats]
    cost: float
    width: int

    def null(self, first: int, last: int, how: Running) -> Floats:
        """Return the values of some draws."""
        work = partial(_from, self.make, first)
        return np.concatenate(batched(work, last - first, how, cost=self.cost, width=self.width))

    def p(self, null: Floats) -> Floats:
        """Return p of each hypothesis."""
        return np.asarray(compare(self.observed, null).p_value)


Block = InBins | Drawn
"""Some hypotheses of a family: a value for each, NaN if it cannot be tested, null values draw by draw, and p alone."""


# Interactions ---------------------------------------------------------------------------------------------------------

FEWEST = 5
"""The fewest items that a bin and all others must have to be compared."""
BY_RATING = {"rps": "rps", "cross_entropy": "cross_entropy", "kl": "cross_entropy"}
"""Metrics whose differences are means over single ratings, and what these are scored by."""
BINS, GROUPS, PARTS = "ratings of an item", "group", "items"

INTERACTIONS = typed(
    "kind axis group statistic model other difference elsewhere p_value p_adjusted n_items n_permutations claim"
)
Tests = tuple[list[tuple[object, ...]], Drawn]
"""What is tested, as the first cells of rows of :data:`INTERACTIONS`, and how null values are made."""
Two = tuple[NDArray[np.intp], NDArray[np.intp]]


def _rows(
    kind: str, axis: str, group: str, metric: str, names: Sequence[str], pairs: Two, means: Sequence[Floats], n: int
) -> Iterator[tuple[object, ...]]:
    """Yield what is tested in a bin or for a group: the difference of each two models there and elsewhere."""
    for a, b in zip(*(side.tolist() for side in pairs), strict=True):
        here, elsewhere = (float(mean[a] - mean[b]) for mean in means)
        yield kind, axis, group, metric, names[a], names[b], here, elsewhere, n


# Bins ----------------------------------------------------------------------------------------------------------------


def welch(
    differences: Floats, sizes: NDArray[np.int64], chosen: NDArray[np.intp], order: NDArray[np.int64] | None = None
) -> Floats:
    """Return Welch's t of each tested bin against all others, for differences of pairs by unit, sorted by bin.

    ``sizes`` are the units of each bin, ``chosen`` the bins that are tested, ``order`` another order of the units.
    """
    own = differences if order is None else differences[order]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    sums, squares = (np.add.reduceat(values, starts, axis=0) for values in (own, own**2))
    n, total = sizes[chosen, np.newaxis], len(own)
    mean, variance = _moments(n, sums[chosen], squares[chosen])
    rest = _moments(total - n, sums.sum(axis=0) - sums[chosen], squares.sum(axis=0) - squares[chosen])
    spread = np.sqrt(variance / n + rest[1] / (total - n))
    known = spread > 1e-12 * np.abs(own).max(axis=0, initial=0.0)
    return np.asarray(np.divide(mean - rest[0], spread, out=np.full(mean.shape, np.nan), where=known)).ravel()


def _moments(n: NDArray[np.int64], sums: Floats, squares: Floats) -> tuple[Floats, Floats]:
    mean = sums / n
    return mean, np.maximum(squares - n * mean**2, 0.0) / (n - 1)


def _in_other_bins(
    differences: Floats, sizes: NDArray[np.int64], chosen: NDArray[np.intp], seed: int, first: int, last: int
) -> Floats:
    """Return the same with units put into other bins, draws × hypotheses; draw 0 is as observed."""
    each = orders(len(differences), last - first, seed, first)
    return np.array([welch(differences, sizes, chosen, order) for order in each]).reshape(last - first, -1)


def over_bins(
    scores: MetricSums, target: ScoringTarget, metric: str, pairs: Two, seed: int, kind: str = BINS, axis: str = "all"
) -> Iterator[Tests]:
    """Yield the tests of how pairs of models compare in each bin, by ratings or by another attribute of items.

    Nothing if there are not two bins to compare.
    """
    names, starts = list(target.predictions), scores.sums.starts
    inside = [np.flatnonzero(scores.n_items[a:b] > 0) + a for a, b in itertools.pairwise(starts[:-1])]
    kept = [b for b, units in enumerate(inside) if len(units)]
    if len(kept) < 2:
        return
    sizes = np.array([len(inside[b]) for b in kept])
    chosen = np.flatnonzero((sizes >= FEWEST) & (sizes.sum() - sizes >= FEWEST))[: 1 if len(kept) == 2 else None]
    units = np.concatenate([inside[b] for b in kept])
    endless = scores.endless[units].any(axis=0)
    usable = ~(endless[pairs[0]] | endless[pairs[1]])
    one, other = own = pairs[0][usable], pairs[1][usable]
    if not len(chosen) or not len(one):
        return
    items, summed = scores.n_items[units, np.newaxis], scores.sums.by_unit[units]
    values = summed / items
    differences = values[:, one] - values[:, other]
    differences = differences - differences.mean(axis=0)
    differences = np.where(np.abs(differences) <= 1e-14, 0.0, differences)  # which is only rounding error
    ends, rows = np.cumsum(sizes), list[tuple[object, ...]]()
    for at in chosen.tolist():
        here = np.arange(ends[at] - sizes[at], ends[at])
        rest = np.setdiff1d(np.arange(len(units)), here)
        means = [summed[some].sum(axis=0) / items[some].sum() for some in (here, rest)]
        rows += _rows(kind, axis, target.bins[kept[at]], metric, names, own, means, int(items[here].sum()))
    make, size = partial(_in_other_bins, differences, sizes, chosen, seed), differences.size
    yield rows, Drawn(welch(differences, sizes, chosen), make, cost=1e-5 + size * 2e-8, width=2 * size)


# Groups --------------------------------------------------------------------------------------------------------------


def scored_votes(
    ratings: Ratings, target: ScoringTarget, models: Sequence[str], scoring: Scoring
) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
    """Score every single rating of scored items by every model.

    Return its item, counted from the first scored, its rater, and its scores.
    """
    place, n = np.full(ratings.n_items, -1), len(target.items)
    place[target.items] = np.arange(n)
    item, score = place[ratings.item_codes], ratings.scores.astype(np.int64)
    inside = item >= 0
    votes = [np.broadcast_to(one, (n, len(one))) for one in np.eye(target.counts.shape[1], dtype=np.int64)]
    given = [np.stack([scoring.scores(one, target.predictions[name])[:, 0] for one in votes]) for name in models]
    found = np.stack([table[score[inside], item[inside]] for table in given], axis=1)
    return item[inside], ratings.codes_of_raters[inside].astype(np.int64), found


def over_groups(
    ratings: Ratings, votes: tuple[NDArray[np.int64], NDArray[np.int64], Floats], models: Sequence[str], metric: str,
    pairs: Two, axes: Sequence[Compared], strata: NDArray[np.int32] | None, seed: int,
) -> Iterator[Tests]:  # fmt: skip
    """Yield the tests of how pairs of models compare for the groups of each axis whose raters can be exchanged."""
    usable = np.atleast_1d(np.isfinite(votes[2]).all(axis=0))
    chosen = usable[pairs[0]] & usable[pairs[1]]
    own = (pairs[0][chosen], pairs[1][chosen])
    for one in axes if len(own[0]) else ():
        for axis, shown in one.shown if not names_raters(one.axis.name) else ():
            grouping = Grouping.of(ratings, axis.codes, len(axis), strata)
            listed = [g for g in shown if grouping.exchangeable[g]]
            if len(axis) == 2 and not one.overlapping:
                listed = listed[:1]  # the second only mirrors the first
            if listed:
                each, drawn = _of_axis(*votes, grouping, listed, own, seed)
                yield [
                    row for g, (means, n) in zip(listed, each, strict=True)
                    for row in _rows(GROUPS, one.axis.name, axis.groups[g], metric, models, own, means, n)
                ], drawn  # fmt: skip


def _of_axis(
    item: NDArray[np.int64], rater: NDArray[np.int64], scores: Floats, grouping: Grouping, listed: list[int],
    pairs: Two, seed: int,
) -> tuple[list[tuple[list[Floats], int]], Drawn]:  # fmt: skip
    """Return the mean scores of models by each group and by others, with the number of items, and how to test them."""
    n_items, n_raters, group = int(item.max(initial=0)) + 1, len(grouping.codes), grouping.codes[rater]
    known = group >= 0
    item, rater, scores, group = item[known], rater[known], scores[known], group[known]
    n = np.maximum(np.bincount(item, minlength=n_items), 1)
    totals = _summed(item, scores, n_items)
    by_rater = _summed(rater, scores - (totals / n[:, np.newaxis])[item], n_raters)
    found = []
    for g in listed:
        mine = group == g
        count = np.bincount(item[mine], minlength=n_items)
        both = (count > 0) & (count < n)
        weight = (count * (n - count) / n)[both, np.newaxis]
        own = _summed(item[mine], scores[mine], n_items)
        means = [
            (weight * sums[both] / number[both, np.newaxis]).sum(axis=0) / max(float(weight.sum()), 1e-300)
            for sums, number in ((own, count), (totals - own, n - count))
        ]
        found.append((means, int(np.count_nonzero(both))))
    make = partial(_in_other_groups, grouping, listed, by_rater[:, pairs[0]] - by_rater[:, pairs[1]], seed)
    size = n_raters * len(pairs[0]) * len(listed)
    return found, Drawn(make(0, 1)[0], make, cost=1e-6 + size * 3e-9, width=n_raters * (len(listed) + 1) + size)


def _in_other_groups(
    grouping: Grouping, listed: list[int], by_rater: Floats, seed: int, first: int, last: int
) -> Floats:
    """Return the sums over the raters of each group of what they add, under shuffles, draws × hypotheses."""
    labels = grouping.labels(Draws("permuted", first, last, seed))
    made = [np.einsum("dr,rp->dp", (labels == g).astype(float), by_rater) for g in listed]  # not by BLAS
    return np.stack(made, axis=1).reshape(last - first, -1)


def _summed(place: NDArray[np.int64], values: Floats, n: int) -> Floats:
    """Return the sum of values for each position, positions × columns."""
    return np.stack([np.bincount(place, column, n) for column in values.T], axis=1).astype(np.float64)


# All comparisons ------------------------------------------------------------------------------------------------------

MOST_MODELS = 10
"""Of more models, only this many are compared in pairs, best first; that order does not depend on bins or groups."""
COMPARISONS = typed(
    "bin statistic model other difference ci_low ci_high p_better p_value p_adjusted n_items n_permutations exact "
    "claim note"
)


def compared(
    scored: ScoreSums, values: Floats, draws: Floats, asked: SoftSettings, how: Running, interactions: Sequence[Tests]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare every two models, and each with uniform and marginal, per bin and metric.

    From the scores of all raters, and those of resampled items. Return all comparisons, and the interactions. All that
    may be claimed is one family: all pairs by the leading metric on all items, and the interactions. Every other
    metric is a family of its own on all items, and each metric is another one over its bins.
    """
    target, main, claims = scored.target, leading(scored.metrics), FamilyTests.untested(0)
    names, n_bins = list(target.predictions), len(target.bins)
    models = [name for name in names if name not in REFERENCES]
    pairs = [(one, other) for at, one in enumerate(models) for other in (*models[at + 1 :], UNIFORM, MARGINAL)]
    places, tests = [(names.index(one), names.index(other)) for one, other in pairs], []
    for metric in scored.metrics:
        sums = InBins.of(scored.of_metric(metric), places, asked.seed)
        exact, overall = sums.flips.number, replace(sums, bins=[n_bins])
        bins = decide([replace(sums, bins=range(n_bins))], asked, how, exact=exact, further=False)
        if metric == main and interactions:
            random = Flips.of(sums.flips.n_units, asked.seed, every=False)
            whole = claims = decide([replace(overall, flips=random), *(one for _, one in interactions)], asked, how)
        else:
            whole = decide([overall], asked, how, exact=exact, further=metric == main)
        tests.append((metric, sums.why, whole, bins))
    rows = []
    for b in (n_bins, *range(n_bins)):
        name = ALL if b == n_bins else target.bins[b]
        rated = np.asarray(target.counts[slice(None) if b == n_bins else target.codes == b].any(axis=1))
        for at, (one, other) in enumerate(pairs):
            for m, (metric, why, whole, bins) in enumerate(tests):
                n_items = int(np.count_nonzero(rated)) if metric in EMPIRICAL else len(rated)
                family, place = (whole, at) if b == n_bins else (bins, b * len(pairs) + at)
                said = _difference(values[b, :, m], draws[:, b, :, m], *places[at], n_items)
                p, adjusted, n_draws, claimed = family.cells(place)
                rows.append((
                    name, metric, one, other, *said, p, adjusted, n_items, n_draws,
                    None if p is None else family.exact, claimed and metric == main and b == n_bins, why[b][at],
                ))  # fmt: skip
    listed = [row for part, _ in interactions for row in part]
    found = [claims.cells(place) for place in range(len(pairs), len(pairs) + len(listed))]
    lines = [(*own, p, adjusted, n, n_draws, claimed)
             for (*own, n), (p, adjusted, n_draws, claimed) in zip(listed, found, strict=True)]  # fmt: skip
    moved = pl.DataFrame(lines, schema=INTERACTIONS, orient="row")
    return pl.DataFrame(rows, schema=COMPARISONS, orient="row"), moved


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
        return np.where(np.isfinite(other) & (np.abs(difference) <= SAME * np.abs(other)), 0.0, difference)


def two_by_two(models: Sequence[str], order: Sequence[str]) -> Two:
    """Return the positions of every two of the first models, in the order in which they are listed."""
    chosen = [at for at, name in enumerate(models) if name in order[:MOST_MODELS]]
    one, other = np.triu_indices(len(chosen), 1)
    return np.array(chosen, dtype=np.intp)[one], np.array(chosen, dtype=np.intp)[other]
