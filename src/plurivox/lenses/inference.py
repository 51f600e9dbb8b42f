"""Draws, tests and intervals of groups' values, and the rows they make: the same in every lens that compares groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.intervals import Interval, percentile_interval
from plurivox.engine.permutation import PermutationResult, compare
from plurivox.engine.run import Values
from plurivox.engine.running import Running
from plurivox.errors import SelectionError
from plurivox.results.result import Draws, Row

Sizes = tuple[int, int, int]
"""Raters, items and ratings that a value rests on."""


class Asked(Protocol):
    """The settings that draws depend on."""

    @property
    def permutations(self) -> int:
        """How often raters are shuffled."""

    @property
    def bootstrap(self) -> int:
        """How often items, raters or both are drawn."""

    @property
    def resample(self) -> str:
        """Which of them."""

    @property
    def seed(self) -> int:
        """Where chance starts."""


class Measures(Protocol):
    """Something with values of groups, draws × groups × statistics."""

    def null(self, permutations: int, seed: int, how: Running) -> Values:
        """Return the values of shuffled raters."""

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return the values of items or raters drawn with replacement."""


class Grouped(Protocol):
    """What a lens found for the groups of one axis."""

    @property
    def rows(self) -> list[Row]:
        """Their rows."""

    @property
    def draws(self) -> Draws:
        """The draws behind them."""


G = TypeVar("G", bound=Grouped)


class Pair(NamedTuple):
    """Two groups of an axis that are compared: only their raters are shuffled, and only among each other."""

    axis: Axis
    names: tuple[str, str]
    a: int
    b: int

    @classmethod
    def of(cls, axis: Axis, names: tuple[str, str]) -> Pair:
        """Find two groups that may be shown."""
        a, b = (axis.groups.index(name) for name in names)
        if axis.withheld[a] or axis.withheld[b]:
            raise SelectionError(
                f"{names[0]} or {names[1]} is withheld: it is too small to show, or would reveal one that is"
            )
        return cls(axis, names, a, b)

    @property
    def among(self) -> NDArray[np.bool_]:
        """Which raters are shuffled."""
        return np.isin(self.axis.codes, (self.a, self.b))

    @property
    def label(self) -> str:
        """What their difference is called."""
        return f"{self.names[0]} − {self.names[1]}"

    @property
    def what(self) -> str:
        """What is being done, for who is told how far it is."""
        return f"{self.axis.name}: {self.label}"

    def difference(self, values: Values) -> Values:
        """Return the difference of the two along the last dimension but one, which stays."""
        return values[..., [self.a], :] - values[..., [self.b], :]


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """How the values of one call, on one set of items, are tested and resampled.

    Attributes
    ----------
    asked
        How many draws of what.
    how
        Who makes them, and who is told.
    convention
        Whose rule p-values follow.
    subset
        The set of items.
    """

    asked: Asked
    how: Running
    convention: str = "default"
    subset: str = "all"

    def doing(self, what: str) -> Running:
        """Return how something is run."""
        where = "" if self.subset == "all" else f"{self.subset}: "
        return self.how.doing(where + what)

    def null(self, measured: Measures, what: str) -> Values:
        """Return the values under permutations."""
        return measured.null(self.asked.permutations, self.asked.seed, self.doing(f"permuting {what}"))

    def resampled(self, measured: Measures, what: str) -> Values:
        """Return the values under bootstrap draws."""
        asked = self.asked
        return measured.bootstrap(asked.bootstrap, asked.seed, asked.resample, self.doing(f"resampling {what}"))

    def test(self, values: Values, null: Values) -> PermutationResult | None:
        """Return where values lie among their permutations, if there are any."""
        return compare(values, null, convention=self.convention) if self.asked.permutations else None

    def interval(self, resampled: Values | None) -> Interval | None:
        """Return the interval of bootstrap draws, if there are any."""
        return percentile_interval(resampled) if self.asked.bootstrap and resampled is not None else None

    def rows(
        self,
        kind: str,
        axis: str,
        groups: Sequence[str],
        columns: Sequence[tuple[int, str]],
        values: Values,
        sizes: Sequence[Sizes],
        notes: Sequence[Mapping[str, str]],
        interval: Interval | None = None,
        test: PermutationResult | None = None,
    ) -> list[Row]:
        """Return a row for each group and statistic, with all that belongs to it.

        Parameters
        ----------
        columns
            Which statistics, and where each stands in values, interval and test, which are groups × statistics.
        sizes, notes
            Of each group, notes by statistic.
        """
        rows = []
        for g, group in enumerate(groups):
            n_raters, n_items, n_ratings = sizes[g]
            for at, name in columns:
                row = Row(
                    kind, axis, group, name, float(values[g, at]),
                    ci_low=None if interval is None else float(interval.low[g, at]),
                    ci_high=None if interval is None else float(interval.high[g, at]),
                    p_value=None if test is None else float(test.p_value[g, at]),
                    direction=None if test is None else test.direction[g, at],
                    null_median=None if test is None else float(test.null_median[g, at]),
                    n_raters=n_raters, n_items=n_items, n_ratings=n_ratings,
                    note=notes[g].get(name, ""), subset=self.subset,
                )  # fmt: skip
                if interval is not None:
                    undefined = int(interval.n_undefined[g, at]) / self.asked.bootstrap
                    row = row.with_undefined(undefined, "bootstrap draws")
                if test is not None:
                    row = row.with_undefined(int(test.n_undefined[g, at]) / self.asked.permutations)
                rows.append(row)
        return rows

    def contrast(
        self,
        kind: str,
        pair: Pair,
        columns: Sequence[tuple[int, str]],
        observed: Values,
        null: Values,
        resampled: Values,
        sizes: Sizes,
    ) -> list[Row]:
        """Return the difference of two groups.

        Parameters
        ----------
        observed, null
            Groups × statistics, and those of shuffled raters.
        resampled
            Draws × 1 × statistics: bootstrap draws of the difference; of no use without them.
        """
        values = pair.difference(observed)
        undefined = {name: "undefined in one of the two" for at, name in columns if np.isnan(values[0, at])}
        test = self.test(values, pair.difference(null))
        interval = self.interval(resampled)
        return self.rows(kind, pair.axis.name, (pair.label,), columns, values, [sizes], [undefined], interval, test)

    def overlapping(
        self,
        name: str,
        axes: Sequence[Axis],
        analyse: Callable[[Axis], G],
        tested: tuple[str, ...],
        resampled: tuple[str, ...],
    ) -> tuple[list[Row], Draws, list[G]]:
        """Put the first groups of several axes together, each of which has a group and its rest, and their draws.

        All axes shuffle the same raters in the same way, so one draw is one shuffle of whole profiles. Also return what
        was found for each axis.
        """
        found = [(axis.groups[0], analyse(axis)) for axis in axes if not axis.withheld.any()]
        rows = [
            row for group, one in found for row in one.rows if row.group == group and row.kind in ("group", "beside")
        ]
        null = [np.zeros((self.asked.permutations, 0, len(tested))), *(one.draws.null[:, :1] for _, one in found)]
        kept = [np.zeros((self.asked.bootstrap, 0, len(resampled))), *(one.draws.bootstrap[:, :1] for _, one in found)]
        shown = tuple(group for group, _ in found)
        null_together, kept_together = (np.concatenate(draws, axis=1) for draws in (null, kept))
        draws = Draws(name, shown, tested, null_together, resampled, kept_together, self.subset)
        return rows, draws, [one for _, one in found]
