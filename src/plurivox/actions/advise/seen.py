"""What stands out in raters and groups: the verdict on MPA and WRA, and habits, each tested against chance."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from plurivox.actions.advise.settings import Thresholds
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws
from plurivox.engine.pool import Running
from plurivox.infer.exchange import Exchange
from plurivox.infer.grouping import Compared
from plurivox.infer.inference import MOST_KEPT
from plurivox.lenses.responsiveness.habits import Habit, HabitRules, Looked, adjusted, habits, marks, of_raters
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
        at, judged = self.thresholds, verdicts(self.found.rows, self.found.settings)
        shuffles = self._shuffles(sum(len(places) for one in axes for _, places in one.shown))
        looked = [(one.axis.name, axis, places, self._looked(one, axis, places, exchange, shuffles))
                  for one in axes for axis, places in one.shown]  # fmt: skip
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

    def _shuffles(self, n_groups: int) -> Draws:
        """Return the number of shuffles of the lens, or fewer, since those of all marks are held in memory."""
        settings, n_marks = self.found.settings, len(marks(len(self.ratings.scale)))
        room = max(LEAST_SHUFFLES, MOST_KEPT // max(n_groups * n_marks, 1))
        return Draws.permuted(min(settings["permutations"], room), settings["seed"])

    def _looked(self, one: Compared, axis: Axis, places: list[int], exchange: Exchange, shuffles: Draws) -> Looked:
        settings = self.found.settings
        responses = Responses.of(
            self.ratings, axis.codes, len(axis), self.reference, strata=exchange.strata,
            **{name: settings[name] for name in ("group_score", "ties", "seed")},
        )  # fmt: skip
        how = self.how.doing(f"examining {one.axis.name}")
        return Looked.of(self.ratings, responses, places, shuffles, how, settings["min_support"])

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
