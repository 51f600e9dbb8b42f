"""What values of groups become with other items or raters, and the intervals that follow from that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from plurivox.base.settings.record import Settings
from plurivox.base.settings.shared import settled_interval
from plurivox.engine.run import Values
from plurivox.infer.intervals import Interval, percentile_interval
from plurivox.infer.jackknife import LeftOut
from plurivox.statistics.records import Statistic, scales_of

S = TypeVar("S", bound="Settings")


def with_interval(settings: S) -> S:
    """Return settings that say how intervals are made, and with how many draws."""
    given: Any = settings
    interval, draws = settled_interval(given.interval, given.bootstrap)
    return settings.replace(interval=interval, bootstrap=draws)


class Spread(NamedTuple):
    """What values of groups become with other items or raters: bootstrap draws, values without each unit, or nothing.

    Draws are draws × groups × statistics.
    """

    draws: Values | None = None
    left: LeftOut | None = None

    def made(self, change: Callable[[Values], Values]) -> Spread:
        """Apply a function of all groups' values: from … × groups × statistics to … × 1 × statistics."""
        left = self.left
        return Spread(
            None if self.draws is None else change(self.draws),
            None if left is None else LeftOut(
                change(left.observed[np.newaxis])[0], tuple(change(values) for values in left.each),
                None if left.ratings is None else change(left.ratings),
            ),
        )  # fmt: skip

    def of(self, places: Sequence[int]) -> Spread:
        """Return the same for some of the groups."""
        return self.made(lambda values: values[:, list(places)])

    def kept(self, n_groups: int, n_statistics: int) -> Values:
        """Return the bootstrap draws that a result keeps."""
        return np.zeros((0, n_groups, n_statistics)) if self.draws is None else self.draws

    def interval(self, records: Sequence[Statistic]) -> Interval | None:
        """Return the intervals of statistics, if there are any; they stay within the range of each."""
        return self._interval(*scales_of(records))

    def difference(self, n_statistics: int) -> Interval | None:
        """Return the intervals of differences, which have no scale or range of their own."""
        return self._interval(["plain"] * n_statistics, [(-np.inf, np.inf)] * n_statistics)

    def _interval(self, scales: Sequence[str], ranges: Any) -> Interval | None:
        if self.draws is not None:
            low, high, n_undefined = percentile_interval(self.draws)
            return Interval(low, high, n_undefined / max(len(self.draws), 1))
        if self.left is None:
            return None
        low, high, n_undefined = self.left.interval(scales, ranges)
        return Interval(low, high, n_undefined / max(self.left.n_units, 1))
