"""Items to look at: those behind each remark, one list for each question it raises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.lenses.responsiveness.habits import Habit
from plurivox.lenses.responsiveness.raters import RaterResponses
from plurivox.lenses.responsiveness.references import Reference
from plurivox.lenses.responsiveness.sums import Responses

RANGE, HIGH, GOLDEN = "range", "high", "golden"
"""Items of a range over which precision is flat or falls; items that the reference calls high; its surest ones."""
ORDERED = ("still", "falling", "reversed")
"""Habits that name a range of scores."""


class ScoredItems(NamedTuple):
    """Scores of items with their reference ratings; ``ones`` of ``total`` are unsafe."""

    member: NDArray[np.int64]
    item: NDArray[np.int64]
    point: NDArray[np.int64]
    share: NDArray[np.float64]
    ones: NDArray[np.float64]
    total: NDArray[np.float64]

    @classmethod
    def of(
        cls, ratings: Ratings, axis: Axis, reference: Reference, group_score: str, ties: str, seed: int
    ) -> ScoredItems:
        """Return the scores of all members of an axis."""
        if axis.attributes == ("rater",):
            passes = RaterResponses.of(ratings, reference)
            rater = np.repeat(np.arange(ratings.n_raters), np.diff(passes.bounds))
            member, item, point = axis.codes[rater], passes.items, passes.scores
            share, references = np.ones(len(item)), passes.references
        else:
            made = Responses.of(
                ratings, axis.codes, len(axis), reference, group_score=group_score, ties=ties, seed=seed
            )
            offsets, places, share, references = made.entries()
            item = np.repeat(np.arange(ratings.n_items), np.diff(offsets))
            member, point = places.T
        steps = np.arange(references.shape[1]) / (references.shape[1] - 1)  # the mean over all boundaries
        ones, total = (references * steps).sum(axis=1), references.sum(axis=1)
        whole = (member.astype(np.int64), item.astype(np.int64), point.astype(np.int64), share)
        return cls(*whole, ones.astype(float), total.astype(float))

    def of_each(self, members: Sequence[int]) -> list[ScoredItems]:
        """Return the scores of some members, one by one."""
        order = np.argsort(self.member, kind="stable")
        ordered = self.member[order]
        found = []
        for member in members:
            own = order[np.searchsorted(ordered, member) : np.searchsorted(ordered, member, side="right")]
            found.append(ScoredItems._make(part[own] for part in self))
        return found

    def settled(self) -> ScoredItems:
        """Return those with a reference and a single score; tied points give none."""
        return ScoredItems._make(part[(self.total > 0) & (self.share == 1)] for part in self)

    @property
    def unsafe(self) -> NDArray[np.float64]:
        """The share of their reference ratings that is unsafe, or the mean of the reference from 0 to 1."""
        return np.asarray(self.ones / self.total)


class Listed(NamedTuple):
    """An item to look at: on which list, at which score, and the share of unsafe among its reference ratings."""

    list: str
    point: int
    item: int
    share: float
    n_reference: int


def listed(own: ScoredItems, habits: Iterable[Habit], n_points: int, most: int) -> list[Listed]:
    """Return the items behind the remarks on one member, with a limit for each list and score.

    Low MPA calls for the items of ranges over which precision is flat or falls, and for those that the reference calls
    high at every score; if both are low, or scores run against the reference, for items on which the reference is most
    certain.
    """
    known, seen = own.settled(), list(habits)
    names = {one.name for one in seen}
    found: list[Listed] = []
    for one in seen:
        if one.name in ORDERED:
            found += _range(known, range(one.scores[0], one.scores[-1] + 1), most)
    if names & {"low_mpa", "both_low", *ORDERED}:
        found += _high(known, n_points, most)
    if names & {"both_low", "against"}:
        found += _golden(known, n_points, most)
    return list(dict.fromkeys(found))


def _range(known: ScoredItems, scores: range, most: int) -> Iterator[Listed]:
    """Yield items of each score of a range: the most unsafe in its lower half, the least unsafe in its upper half."""
    for c in scores:
        down = c - scores.start < len(scores) / 2
        yield from _at(known, RANGE, np.flatnonzero(known.point == c), -known.unsafe if down else known.unsafe, most)


def _high(known: ScoredItems, n_points: int, most: int) -> Iterator[Listed]:
    for c in range(n_points):
        yield from _at(known, HIGH, np.flatnonzero((known.point == c) & (known.unsafe > 0.5)), -known.unsafe, most)


def _golden(known: ScoredItems, n_points: int, most: int) -> Iterator[Listed]:
    """Yield the items on which the reference is most certain, those scored farthest from it first."""
    sure = np.abs(known.unsafe - 0.5)
    surest = np.flatnonzero(sure >= np.sort(sure)[-min(len(sure), 5 * most) :][0]) if len(sure) else np.zeros(0, int)
    off = np.abs(known.unsafe - known.point / max(n_points - 1, 1))
    yield from _at(known, GOLDEN, surest, -off, most)


def _at(
    known: ScoredItems, name: str, places: NDArray[np.intp], order: NDArray[np.float64], most: int
) -> Iterator[Listed]:
    first = places[np.lexsort((known.item[places], -known.total[places], order[places]))[:most]]
    for place in first.tolist():
        yield Listed(
            name, int(known.point[place]), int(known.item[place]), float(known.unsafe[place]),
            int(known.total[place]),
        )  # fmt: skip


def pairs_of(own: ScoredItems, n_points: int, most: int) -> tuple[list[tuple[int, int, float, int, float]], float]:
    """Return pairs of an unsafe and a safe item with the same score, the clearest first, and the share of all that tie.

    An item is unsafe if most of its reference ratings say so, safe if most do not; against a reference without a
    single boundary, if their mean lies above or below the middle of the scale. A pair is the score, the unsafe item and
    its share of unsafe, the safe one and its share.
    """
    known = own.settled()
    share, item, point = known.unsafe, known.item, known.point
    unsafe, safe = share > 0.5, share < 0.5
    same = np.bincount(point[unsafe], minlength=n_points) * np.bincount(point[safe], minlength=n_points)
    found: list[tuple[float, tuple[int, int, float, int, float]]] = []
    for c in np.flatnonzero(same).tolist():
        highs, lows = (np.flatnonzero((point == c) & side) for side in (unsafe, safe))
        highs = highs[np.argsort(-share[highs], kind="stable")]
        lows = lows[np.argsort(share[lows], kind="stable")]
        for k in range(min(max(len(highs), len(lows)), most)):
            high, low = highs[k % len(highs)], lows[k % len(lows)]
            pair = (c, int(item[high]), float(share[high]), int(item[low]), float(share[low]))
            found.append((float(share[low] - share[high]), pair))
    found.sort(key=lambda one: one[0])
    n_all = float(unsafe.sum() * safe.sum())
    return [pair for _, pair in found[:most]], float(same.sum()) / n_all if n_all else np.nan
