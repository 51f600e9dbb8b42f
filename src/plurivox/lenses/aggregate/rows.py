"""The rows of an aggregation: how far labels of each method lie from what groups say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from plurivox.infer.call_of import Comparison, MeasuredGroups
from plurivox.infer.grouping import Compared, Grouping
from plurivox.infer.held import held
from plurivox.infer.inference import Shuffled, Sizes
from plurivox.infer.jackknife import LeftOut
from plurivox.infer.result import Draws, Row
from plurivox.infer.spread import Spread
from plurivox.infer.weighting import tells_unweighted
from plurivox.lenses.aggregate.labels import MethodLabels
from plurivox.lenses.aggregate.settings import AggregateSettings
from plurivox.lenses.aggregate.sums import STATISTICS, LabelDepartures, OfMethod, of_columns
from plurivox.statistics.registry import of_role

ONE_EACH = "no item has two ratings from this group"
NOTHING = "this group rated nothing"


@dataclass(frozen=True, eq=False)
class Departures(Comparison):
    """How far the labels of each method lie from what the groups of a call say."""

    settings: AggregateSettings
    labels: Sequence[MethodLabels]
    alike: Sequence[MethodLabels]
    """The same with all raters counted equally."""
    prior: NDArray[np.float64]

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics that are tested."""
        return STATISTICS

    @property
    def both_ways(self) -> bool:
        """Whether values are also measured with all raters counted equally; not if both would reveal a group's mean."""
        return tells_unweighted(self.ratings, self.settings.min_group_size)

    def measure(self, grouping: Grouping, *, alike: bool = False) -> LabelDepartures:
        """Compare some groups with the labels of all methods."""
        if alike:
            return LabelDepartures(self.ratings.unweighted(), grouping, self.alike, self.prior)
        return LabelDepartures(self.ratings, grouping, self.labels, self.prior)

    def by_method(self, one: Compared) -> list[list[MeasuredGroups]]:
        """Measure the groups of an axis by all methods, overlapping groups each on an axis of their own."""
        found = []
        for (whole, _), (axis, places) in zip(one.shown, one.told, strict=True):
            self.inference.check(self.ratings, one.axis.name, self.grouping(whole))
            grouping = self.grouping(axis)
            each = map(self.measure(grouping).of, range(len(self.labels)))
            shuffled = self.inference.shuffled
            found.append([
                MeasuredGroups(axis, places, own, shuffled(own, grouping, STATISTICS, own.value, places, axis.name))
                for own in each
            ])  # fmt: skip
        return found

    def overall(self) -> list[Row]:
        """Return how far labels lie from what all raters together say."""
        measured = self.measure(Grouping.together(self.ratings))
        sizes = (self.ratings.n_raters, self.ratings.n_items, len(self.ratings))
        left = self._left_out(measured, "all raters")
        return [row for at in range(len(self.labels))
                for row in self._rows("overall", "all", ("all",), measured.of(at), [0], [sizes], left)]  # fmt: skip

    def rows(self, name: str, each: Sequence[MeasuredGroups]) -> list[Row]:
        """Return the rows of the groups of an axis, by method."""
        first = each[0]
        if not first.places:
            return []
        n_items, n_ratings = self.ratings.sizes(first.axis.codes, len(first.axis))
        sizes = [(int(first.axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g in first.places]
        left = self._left_out(first.measured.measured, name)
        return [
            row for one in each
            for row in self._rows("group", name, one.groups, one.measured, one.places, sizes, left, one.tested)
        ]  # fmt: skip

    def _rows(
        self, kind: str, name: str, groups: Sequence[str], own: OfMethod, places: list[int], sizes: Sequence[Sizes],
        left: LeftOut | None, tested: Shuffled | None = None,
    ) -> list[Row]:  # fmt: skip
        plain = self.unweighted(own.measured.grouping)
        spread = Spread() if left is None else Spread(left=of_columns(left, own.columns)).of(places)
        rows = self.inference.rows(
            kind, name, groups, list(enumerate(STATISTICS)), own.value[places], sizes,
            [_why(own.measured, g) for g in places], spread.interval(of_role("hidden")), tested,
            None if plain is None else plain[places][:, own.columns],
        )  # fmt: skip
        return [_claimed(replace(row, model=self.labels[own.at].method)) for row in rows]

    def _left_out(self, measured: LabelDepartures, name: str) -> LeftOut | None:
        if self.settings.interval == "none":
            return None
        return measured.left_out(self.settings.resample, self.inference.doing(f"resampling {name}"))

    def draws(self, name: str, prepared: Sequence[Sequence[MeasuredGroups]]) -> list[Draws]:
        """Return the shuffles behind the groups of an axis, a set for each method, those of each value sorted.

        Anyone who knows which shuffle gave which value has one equation per shuffle, and can solve for what each rater
        said.
        """
        found = []
        for at, one in enumerate(self.labels):
            null = [np.zeros((len(prepared[0][at].tested.null) if prepared else 0, 0, len(STATISTICS)))]
            null += [own[at].tested.null for own in prepared]
            groups = tuple(group for own in prepared for group in own[at].groups)
            ordered = np.sort(np.concatenate(null, axis=1), axis=0)
            none = np.zeros((0, len(groups), len(STATISTICS)))
            found.append(Draws(name, groups, STATISTICS, ordered, STATISTICS, none, one.method))
        return found

    def held_by_method(
        self, prepared: Mapping[str, Sequence[Sequence[MeasuredGroups]]], rows: Sequence[Row]
    ) -> list[Row]:
        """Test claims about groups again, within each other attribute of the call."""

        def measure(one: MeasuredGroups, strata: NDArray[np.int32]) -> OfMethod:
            return self.measure(Grouping.of(self.ratings, one.axis.codes, len(one.axis), strata)).of(one.measured.at)

        found = []
        for at, labels in enumerate(self.labels):
            known = {
                (name, group): own[at] for name, each in prepared.items() for own in each for group in own[at].groups
            }
            own_rows = [row for row in rows if row.model == labels.method]
            found += held(self.inference, self.ratings, self.settings.by, own_rows, known, measure)
        return found


def _claimed(row: Row) -> Row:
    """Return a row that claims nothing where labels lie close: labels near a noisy group's mean do so by themselves."""
    return row.with_claim(False) if row.claim and row.direction != "above" else row


def _why(measured: LabelDepartures, g: int) -> dict[str, str]:
    """Return why values of a group are undefined."""
    rated, twice = measured.observed["groups"][0, g, :2]
    if rated == 0:
        return dict.fromkeys(STATISTICS, NOTHING)
    return {} if twice else {"departure": ONE_EACH}
