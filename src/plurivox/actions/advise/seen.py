"""What stands out in raters and groups: the verdict on MPA and WRA, and habits, each tested against chance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.advise.habits import Habit, HabitRules, Looked, adjusted, habits, marks, of_raters
from plurivox.actions.advise.settings import Thresholds
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared
from plurivox.infer.inference import MOST_KEPT
from plurivox.lenses.responsiveness.raters import RaterResponses
from plurivox.lenses.responsiveness.references import Reference
from plurivox.lenses.responsiveness.result import CHANCE, Responsiveness, Verdict, verdicts
from plurivox.lenses.responsiveness.sums import Responses

Floats = NDArray[np.float64]

MIN_ITEMS = 20
"""Nothing is looked for if fewer items with a reference have a score."""
LEAST_SHUFFLES = 199
"""Shuffles of groups that are always made, however many marks there are."""
FEW_ITEMS = f"fewer than {MIN_ITEMS} items with a reference, too few to examine"
FEW_PEERS = "too few others rated the same items to compare with"


class HabitsSeen(NamedTuple):
    """The remarks on one rater or group, each with whether it is clear; or why nothing could be examined."""

    habits: list[tuple[Habit, bool]]
    why: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Looking:
    """What to examine: a result of responsiveness, its data, and the thresholds."""

    found: Responsiveness
    ratings: Ratings
    reference: Reference
    thresholds: Thresholds
    how: Running

    @property
    def labels(self) -> list[str]:
        """The points of the scale."""
        return [str(label) for label in self.ratings.scale.labels]

    @property
    def items(self) -> list[str]:
        """The ids of the items."""
        return self.ratings.items["item"].cast(pl.String).to_list()

    def seen(self, axes: Sequence[Compared]) -> dict[tuple[str, str], HabitsSeen]:
        """Return the remarks on every rater or group that may be shown, by axis and name."""
        within = self.found.settings["within"]
        exchange = Exchange.of(self.ratings, None if within is None else tuple(within))
        groups = [one for one in axes if one.axis.attributes != ("rater",)]
        found = dict(self._groups(groups, exchange)) if groups else {}
        for one in axes:
            if one not in groups:
                found |= dict(self._raters(one, exchange))
        return found

    # Groups ----------------------------------------------------------------------------------------------------------

    def _groups(self, axes: Sequence[Compared], exchange: Exchange) -> Iterator[tuple[tuple[str, str], HabitsSeen]]:
        """Yield the remarks on groups.

        The verdict on MPA and WRA is what the lens claims, at an error rate of .05 over all groups. Habits are a
        separate family, reported at ``error_rate`` if they may explain the verdict, and at the rate ``alone``
        elsewhere.
        """
        at, settings = self.thresholds, self.found.settings
        judged = verdicts(self.found.rows, settings)
        # the shuffles of the lens, or fewer, since those of all marks are held in memory
        n_marks = len(marks(len(self.ratings.scale))) * sum(len(places) for one in axes for _, places in one.shown)
        most = min(settings["permutations"], max(LEAST_SHUFFLES, MOST_KEPT // max(n_marks, 1)))
        shuffles, looked = Draws.permuted(most, settings["seed"]), []
        for compared_by, (axis, places) in ((one, shown) for one in axes for shown in one.shown):
            responses = Responses.of(
                self.ratings, axis.codes, len(axis), self.reference, strata=exchange.strata,
                **{name: settings[name] for name in ("group_score", "ties", "seed")},
            )  # fmt: skip
            name = compared_by.axis.name
            how = self.how.doing(f"examining {name}")
            own = Looked.of(self.ratings, responses, places, shuffles, how, settings["min_support"])
            looked.append((name, axis, places, own))
        p_values = adjusted([one for *_, one in looked])
        for (name, axis, places, own), p in zip(looked, p_values, strict=True):
            usual = own.usual
            for row, place in enumerate(places):
                key = (name, axis.groups[place])
                verdict = judged[key]
                why = FEW_ITEMS if verdict.mpa.n_items < MIN_ITEMS else verdict.why
                first = [] if why else list(_of_verdict(verdict))
                rate = at.error_rate if first else at.alone
                more = [] if why else self._habits(own.observed[row], usual[row], p[row], rate)
                yield key, HabitsSeen([(one, one.p <= at.alone) for one in [*first, *more]], why)

    def _habits(self, values: Floats, usual: Floats, p: Floats, rate: float) -> list[Habit]:
        at = self.thresholds
        return habits(values, usual, p, rate, len(self.ratings.scale), HabitRules(at.part, at.most))

    # Raters ----------------------------------------------------------------------------------------------------------

    def _raters(self, one: Compared, exchange: Exchange) -> Iterator[tuple[tuple[str, str], HabitsSeen]]:
        """Yield the remarks on individual raters, compared with other raters of the same items.

        p-values are corrected over everything examined for one rater, so that few who score like all others get a
        remark; what also survives correction over all raters is clear.
        """
        settings, axis, rate = self.found.settings, one.axis, self.thresholds.error_rate
        responses = RaterResponses.of(self.ratings, self.reference)
        beside = of_raters(self.ratings, responses, exchange, settings["min_support"])
        n_items, codes = responses.votes().n_items, axis.codes.tolist()
        n_raters = max(len(codes), 1)
        for rater, code in enumerate(codes):
            if axis.withheld[code]:
                continue
            values, usual, p = (part[rater] for part in beside)
            why = FEW_ITEMS if n_items[rater] < MIN_ITEMS else FEW_PEERS if np.isnan(p).all() else ""
            own = [] if why else [*_low_areas(values[-2:], usual[-2:], p[-2:], rate),
                                  *self._habits(values[:-2], usual[:-2], p[:-2], rate)]  # fmt: skip
            yield (axis.name, axis.groups[code]), HabitsSeen([(each, each.p * n_raters <= rate) for each in own], why)


def _of_verdict(verdict: Verdict) -> Iterator[Habit]:
    """Yield the verdict on a group as a remark."""
    rows = (verdict.mpa, verdict.wra)
    low = [row for row, is_low in zip(rows, (verdict.low_mpa, verdict.low_wra), strict=True) if is_low]
    if low:
        p = max(row.p_adjusted or 0.0 for row in low)
        usual = np.nan if low[0].null_median is None else low[0].null_median
        yield Habit("both_low" if len(low) == 2 else f"low_{low[0].statistic}", (), low[0].value, usual, p)
    if verdict.against:
        yield Habit("against", (), verdict.auroc.value, CHANCE, verdict.p_against)


def _low_areas(values: Floats, usual: Floats, p: Floats, rate: float) -> Iterator[Habit]:
    """Yield whether a rater's MPA, WRA or both are below what other raters of the same items have."""
    low = (values < usual) & (p <= rate)
    first = 0 if low[0] else 1
    if low.any():
        name = "both_low" if low.all() else ("low_mpa", "low_wra")[first]
        yield Habit(name, (), float(values[first]), float(usual[first]), float(p[low].max()))


# Precision at each score, with its error ------------------------------------------------------------------------------


class PrecisionCurve(NamedTuple):
    """Precision at each score, with its standard error and the number of items it is based on; NaN where unused."""

    precision: Floats
    error: Floats
    n_items: Floats


def curve_of(point: NDArray[np.int64], share: Floats, ones: Floats, total: Floats, n_points: int) -> PrecisionCurve:
    """Return the precision at each score of one member, from its scores of items and the reference ratings they meet.

    Items are treated as drawn at random: of a score's items with reference ratings n_i, of which u_i are unsafe, the
    error of Σu/Σn is √Σ(u_i − P·n_i)² / Σn, with m/(m − 1) for m items.
    """
    met = total > 0
    point, share, ones, total = point[met], share[met], ones[met], total[met]
    weight = np.bincount(point, share * total, n_points)
    n_items = np.bincount(point, share, n_points).astype(float)
    with np.errstate(invalid="ignore", divide="ignore"):
        precision = np.bincount(point, share * ones, n_points) / weight
        off = share * (ones - precision[point] * total)
        spread = np.bincount(point, off**2, n_points)
        error = np.sqrt(spread * n_items / np.maximum(n_items - 1, 0.0)) / weight
    known = n_items > 1
    return PrecisionCurve(np.where(known, precision, np.nan), np.where(known, error, np.nan), n_items)


# Items to look at: those behind each remark, one list for each question it raises -------------------------------------


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
        scores = range(one.scores[0], one.scores[-1] + 1) if one.name in ORDERED else range(0)
        for c in scores:  # the most unsafe in the lower half, the least unsafe in the upper half
            order = -known.unsafe if c - scores.start < len(scores) / 2 else known.unsafe
            found += _at(known, RANGE, np.flatnonzero(known.point == c), order, most)
    if names & {"low_mpa", "both_low", *ORDERED}:
        for c in range(n_points):
            high = np.flatnonzero((known.point == c) & (known.unsafe > 0.5))
            found += _at(known, HIGH, high, -known.unsafe, most)
    if names & {"both_low", "against"}:  # those scored farthest from the reference first
        sure = np.abs(known.unsafe - 0.5)
        surest = (
            np.flatnonzero(sure >= np.sort(sure)[-min(len(sure), 5 * most) :][0]) if len(sure) else np.zeros(0, int)
        )
        off = np.abs(known.unsafe - known.point / max(n_points - 1, 1))
        found += _at(known, GOLDEN, surest, -off, most)
    return list(dict.fromkeys(found))


def _at(
    known: ScoredItems, name: str, places: NDArray[np.intp], order: NDArray[np.float64], most: int
) -> Iterator[Listed]:
    first = places[np.lexsort((known.item[places], -known.total[places], order[places]))[:most]]
    about = (known.point, known.item, known.unsafe, known.total.astype(np.int64))
    yield from (Listed(name, *row) for row in zip(*(one[first].tolist() for one in about), strict=True))


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
