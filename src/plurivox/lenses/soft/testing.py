"""Tests of models: which of two is better, and whether that depends on the number of ratings or on whose they are.

All that one call may claim is one family. Its null values are made draw by draw: draw number d flips the signs of items
for every two predictions, puts items into other bins, and shuffles raters between groups. All values are compared with
the largest deviation in each draw (:func:`plurivox.infer.families.step_down`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from plurivox.engine.pool import Running, batched
from plurivox.engine.run import UnitSums
from plurivox.infer.families import SIGNIFICANT, adjust, most_shuffles, step_down, undecided
from plurivox.infer.flips import EXACT, ROUNDING, Flips, exact_p
from plurivox.infer.permutation import compare
from plurivox.infer.stopping import ALL_DRAWS, Looks, Plan
from plurivox.lenses.soft.matching import Floats
from plurivox.lenses.soft.settings import SoftSettings
from plurivox.lenses.soft.sums import MetricSums, bins_and_all

ALIKE = "both score alike on every item"
ENDLESS = "infinite on some items; --floor (floor=) makes this finite"
ONE_ITEM = "one item says nothing about others"
NO_ITEM = "no item with a score"
SAME = 1e-11
"""Scores of an item with a smaller relative difference are equal."""

Pairs = Sequence[tuple[int, int]]
"""Two predictions each, by their positions."""


class Block(Protocol):
    """Some hypotheses of a family."""

    @property
    def observed(self) -> Floats:
        """One value for each hypothesis, NaN if it cannot be tested."""

    def null(self, first: int, last: int, how: Running) -> Floats:
        """Return the values of draws ``first`` to ``last``, draws × hypotheses."""

    def p(self, null: Floats) -> Floats:
        """Return the p-value of each hypothesis alone."""


class Family(NamedTuple):
    """The tests of one family: p of each hypothesis, alone and corrected, the number of draws, and if these are all."""

    p_value: Floats
    p_adjusted: Floats
    n_draws: int
    exact: bool
    corrected: bool = True

    @classmethod
    def untested(cls, n: int) -> Family:
        """Return hypotheses that were not tested."""
        return cls(np.full(n, np.nan), np.full(n, np.nan), 0, False)

    @property
    def claims(self) -> NDArray[np.bool_]:
        """Which hypotheses are certain: below .05 after correction, which more draws would not change."""
        certain = (np.nan_to_num(self.p_adjusted, nan=1.0) < SIGNIFICANT) & self.corrected
        return certain if self.exact else certain & ~undecided(self.p_adjusted, self.n_draws)


def decide(
    blocks: Sequence[Block], asked: SoftSettings, how: Running, *, exact: int = 0, further: bool = True
) -> Family:
    """Test some hypotheses together.

    Parameters
    ----------
    exact
        How many draws there are if all are used; otherwise as many as requested are made, and with ``further``, more
        until no p-value is too close to .05.
    """
    observed = np.concatenate([np.zeros(0), *(block.observed for block in blocks)])
    if not asked.permutations or not len(observed):
        return Family.untested(len(observed))
    n, null = exact or asked.permutations, np.zeros((0, len(observed)))
    looked: list[Family] = []
    looks = Looks.of(n, n_lenses=asked.n_lenses) if asked.stop_early and not exact else ALL_DRAWS
    most = most_shuffles(n, asked.max_permutations) if further and not exact else n
    plan = Plan(n, most, asked.n_lenses, looks)
    while not plan.enough([one.p_adjusted for one in looked], len(null)):
        more = [block.null(len(null) + 1, plan.after(len(null)) + 1, how) for block in blocks]
        null = np.concatenate([null, np.concatenate(more, axis=1)])
        looked.append(_tested(blocks, observed, null, asked.correction, bool(exact)))
    return looked[-1]._replace(
        p_value=looks.told([one.p_value for one in looked], len(null)),
        p_adjusted=looks.told([one.p_adjusted for one in looked], len(null)),
    )


def _tested(blocks: Sequence[Block], observed: Floats, null: Floats, correction: str, exact: bool) -> Family:
    at = np.cumsum([0, *(len(block.observed) for block in blocks)])
    own = [block.p(null[:, a:b]) for block, a, b in zip(blocks, at[:-1], at[1:], strict=True)]
    p = np.concatenate([np.zeros(0), *own])
    adjusted = step_down(observed, null) if correction == "maxt" else adjust(p, correction)
    return Family(
        p, np.where(np.isnan(p), np.nan, np.fmax(p, adjusted)), len(null) + exact, exact, correction != "none"
    )


# Two predictions on the same items -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class PairSums:
    """The differences of some pairs of predictions by one metric, in every bin and over all items.

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
    """

    scores: MetricSums
    pairs: Pairs
    flips: Flips
    why: list[list[str]]

    @classmethod
    def of(cls, scores: MetricSums, pairs: Pairs, flips: Flips) -> PairSums:
        """Find out what can be tested."""
        return cls(scores, pairs, flips, [[_reason(scores, pair, part) for pair in pairs] for part in scores.bounds])

    def totals(self) -> Floats:
        """Return the differences of sums, bins and, last, all items × pairs."""
        return np.asarray(self._paired(bins_and_all(self.scores.sums.totals()))[0])

    def flipped(self, first: int, last: int, how: Running) -> Floats:
        """Return the same under sign-flips ``first`` to ``last``, draws × bins and all × pairs."""
        sums = self.scores.sums
        cost, width = sums.by_unit.size / 1e9 + sums.n_units * 2e-8, sums.n_units + sums.by_unit[:1].size
        made = batched(_Flipped(sums, self.flips, first), last - first, how, cost=cost, width=width)
        return self._paired(np.concatenate(made))

    def _paired(self, sums: Floats) -> Floats:
        one, other = (np.array([pair[side] for pair in self.pairs], dtype=np.intp) for side in (0, 1))
        return sums[..., one] - sums[..., other]

    def p(self, null: Floats, b: int) -> Floats:
        """Return p of each pair in a bin, exact where few items differ, otherwise from ``null``, draws × pairs."""
        found = np.full(len(self.pairs), np.nan)
        inside, totals = self.scores.bounds[b], self.totals()[b]
        for pair in range(len(self.pairs)):
            if self.why[b][pair]:
                continue
            own = _differences(self.scores, self.pairs[pair], inside)
            if np.count_nonzero(own) <= EXACT:
                found[pair] = exact_p(own)
            else:
                least = abs(totals[pair]) - ROUNDING * np.abs(own).sum()
                found[pair] = (np.count_nonzero(np.abs(null[:, pair]) >= least) + 1) / (len(null) + 1)
        return found


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


@dataclass(frozen=True, slots=True, eq=False)
class _Flipped:
    """Sums by bins under some sign-flips."""

    sums: UnitSums
    flips: Flips
    start: int

    def __call__(self, first: int, last: int) -> Floats:
        kept = self.flips.kept(self.start + first, self.start + last)
        return bins_and_all(2 * self.sums.totals(kept) - self.sums.totals())


@dataclass(frozen=True, slots=True, eq=False)
class InBins:
    """Pairs in some bins (positions, -1 for all items) as hypotheses of a family."""

    of: PairSums
    bins: Sequence[int]

    @property
    def observed(self) -> Floats:
        """The differences of sums, NaN where there is a reason not to test."""
        known = np.array([[not why for why in self.of.why[b]] for b in self.bins], dtype=bool)
        known = known.reshape(len(self.bins), len(self.of.pairs))
        return np.where(known, self.of.totals()[list(self.bins)], np.nan).ravel()

    def null(self, first: int, last: int, how: Running) -> Floats:
        """Return the differences under sign-flips."""
        chosen = self.of.flipped(first, last, how)[:, list(self.bins)]
        return chosen.reshape(last - first, len(self.bins) * len(self.of.pairs))

    def p(self, null: Floats) -> Floats:
        """Return p of each pair."""
        each = null.reshape(len(null), len(self.bins), len(self.of.pairs))
        return np.concatenate([np.zeros(0), *(self.of.p(each[:, at], b) for at, b in enumerate(self.bins))])


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Hypotheses whose null values a function makes; p is two-sided, by rank."""

    observed: Floats
    make: Callable[[int, int], Floats]
    cost: float
    width: int

    def null(self, first: int, last: int, how: Running) -> Floats:
        """Return the values of some draws."""
        work = _From(self.make, first)
        return np.concatenate(batched(work, last - first, how, cost=self.cost, width=self.width))

    def p(self, null: Floats) -> Floats:
        """Return p of each hypothesis."""
        return np.asarray(compare(self.observed, null).p_value)


@dataclass(frozen=True, slots=True, eq=False)
class _From:
    """Draws counted from a number."""

    make: Callable[[int, int], Floats]
    start: int

    def __call__(self, first: int, last: int) -> Floats:
        return self.make(self.start + first, self.start + last)
