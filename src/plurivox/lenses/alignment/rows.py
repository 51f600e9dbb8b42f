"""The rows of an alignment result: how far each voice is from all raters, subset by subset, and from each group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.engine.run import and_all
from plurivox.infer.grouping import Compared
from plurivox.infer.intervals import Interval, percentile_interval
from plurivox.infer.result import Row
from plurivox.lenses.alignment.matching import ALL, Floats
from plurivox.lenses.alignment.sums import STATISTICS, Aligner, MeanDistances
from plurivox.statistics.checks import Level

REFERENCE = "reference"
"""The kind of rows of answers that need no judgement, such as a constant."""


class Group(NamedTuple):
    """A group to show: its position among the sums, its name, and its size."""

    at: int
    axis: str
    name: str
    n_raters: int

    @classmethod
    def everybody(cls, n_raters: int) -> Group:
        """Return all raters as one group."""
        return cls(0, ALL, ALL, n_raters)

    @classmethod
    def shown(cls, compared: Compared) -> Iterator[tuple[Axis, list[Group]]]:
        """Yield each compared axis with its groups that are large enough to show, if there are any."""
        for axis, places in compared.shown:
            if places:
                yield axis, [cls(g, axis.name, axis.groups[g], int(axis.sizes[g])) for g in places]


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One call of :func:`plurivox.alignment`: what all of its axes share.

    Rows of ``reference`` answers are marked as such, and contain only distances.
    """

    aligner: Aligner
    level: Level
    bootstrap: int
    reference: bool = False

    def telling(self, what: str) -> Aligner:
        """Return an aligner that reports the progress of its draws under a name."""
        how = self.aligner.how.doing(what)
        how.tell(0, 1)
        return replace(self.aligner, how=how)

    def overall(self) -> list[Row]:
        """Return the distances from the votes of all raters, for all items and each subset."""
        matched = self.aligner.matched
        n = len(matched.subsets)
        subsets = [(n + 1 if n else 0, ALL), *enumerate(matched.subsets)]
        everybody = [Group.everybody(matched.ratings.n_raters)]
        return self._rows(self.aligner.everybody(), 1, everybody, subsets, "all raters, resampling")

    def groups(self, compared: Compared) -> list[Row]:
        """Return the distances from the votes of each shown group."""
        rows = []
        for axis, shown in Group.shown(compared):
            rows += self._rows(axis.codes, len(axis), shown, [(0, ALL)], f"{axis.name}, resampling")
        return rows

    def _rows(
        self, codes: NDArray[np.int32], n_groups: int, shown: Sequence[Group], subsets: Sequence[tuple[int, str]],
        what: str,
    ) -> list[Row]:  # fmt: skip
        """Return a row for each voice, group, subset and statistic."""
        from plurivox.kernels.alignment import ANSWERED, ITEMS

        aligner, matched = self.aligner, self.aligner.matched
        sums = aligner.distances(codes, n_groups, by_subset=len(subsets) > 1)
        finish, observed = MeanDistances(matched.top), sums.totals()
        total, values = and_all(observed)[0], finish(observed)[0]
        xrr = None if self.reference else aligner.xrr(codes, n_groups, self.level)
        votes = aligner.votes(codes, n_groups)
        draws = sums.resampled(self.bootstrap, aligner.seed, finish, self.telling(what).how)
        interval = percentile_interval(draws) if len(draws) > 1 else None
        rows = []
        for v, (model, prompt) in enumerate(matched.voices):
            for g, axis, group, n_raters in shown:
                for part, subset in subsets:
                    n, answered = (round(float(total[part, v, g, at])) for at in (ITEMS, ANSWERED))
                    given = votes[:, g].sum() if subset == ALL else votes[part, g]
                    base = Row(
                        self._kind(axis), axis, group, "", math.nan, n_raters=n_raters, n_items=n,
                        n_ratings=round(float(given)), subset=subset, model=model, prompt=prompt,
                        note="" if n == answered else f"answered {answered:,} of {n:,} items",
                    )  # fmt: skip
                    rows += self._of_subset(base, values[part, v, g], interval, (part, v, g))
                    if subset == ALL and xrr is not None:
                        rows.append(_with(base, "xrr", float(xrr[v, g])))
        return rows

    def _kind(self, axis: str) -> str:
        return REFERENCE if self.reference else "voice" if axis == ALL else "group"

    def _of_subset(self, base: Row, values: Floats, interval: Interval | None, place: tuple[int, ...]) -> list[Row]:
        """Return the rows of a voice, a group and a subset, one for each mean."""
        rows = []
        for at, statistic in enumerate(STATISTICS):
            row = _with(base, statistic, float(values[at]))
            if interval is not None and not math.isnan(row.value) and base.n_items > 1:
                low, high, undefined = (float(end[(*place, at)]) for end in interval)
                row = row.with_interval(low, high, undefined / self.bootstrap)
            rows.append(row)
        return rows


def _with(base: Row, statistic: str, value: float) -> Row:
    """Return a row with a value, or with why it is undefined."""
    row = replace(base, statistic=statistic, value=value)
    return row.with_note(_undefined(statistic, base.n_items)) if math.isnan(value) else row


def _undefined(statistic: str, n_items: int) -> str:
    """Say why a value is undefined."""
    if statistic == "xrr":
        return "expected disagreement is 0, or no item has both"
    return "no item has both votes and an answer" if n_items == 0 else "no answer can be read"
