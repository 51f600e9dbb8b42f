"""Shuffles, families, intervals and rows of groups' values: the same in every lens that compares groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws as Shuffles
from plurivox.engine.pool import Running
from plurivox.engine.run import Values
from plurivox.infer.exchange import ENTANGLED, Entanglement, Exchange
from plurivox.infer.families import ALL_DRAWS, DrawPlan, Looks, adjust_families, most_shuffles, step_down
from plurivox.infer.grouping import Grouping
from plurivox.infer.intervals import Interval, Spread
from plurivox.infer.jackknife import LeftOut
from plurivox.infer.permutation import PermutationResult, compare
from plurivox.infer.result import Row
from plurivox.statistics.registry import with_trait

Sizes = tuple[int, int, int]
"""Raters, items and ratings that a value rests on."""
MOST_KEPT = 50_000_000
"""The most values that further shuffles may add, since a result keeps all of them."""


class Measures(Protocol):
    """What a lens measures of some groups: values, draws × groups × statistics."""

    @property
    def value(self) -> Values:
        """The values of the raters as they are, groups × statistics; those that are tested come first."""

    def null(self, shuffles: Shuffles, how: Running) -> Values:
        """Return the values of shuffled raters, draws × groups × tested statistics."""

    def bootstrap(self, draws: int, seed: int, resample: str, how: Running) -> Values:
        """Return the values of items or raters drawn with replacement."""

    def left_out(self, resample: str, how: Running) -> LeftOut:
        """Return the values without each item or rater."""


class TwoGroups(NamedTuple):
    """Two groups of an axis to compare: only their raters are shuffled, and only with each other."""

    axis: Axis
    names: tuple[str, str]
    a: int
    b: int

    @classmethod
    def of(cls, axis: Axis, names: tuple[str, str]) -> TwoGroups:
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
        """What is being done, as shown in progress messages."""
        return f"{self.axis.name}: {self.label}"

    def difference(self, values: Values) -> Values:
        """Return the difference of the two along the second-to-last dimension, which is kept."""
        return values[..., [self.a], :] - values[..., [self.b], :]


@dataclass(slots=True, eq=False)
class Shuffled:
    """Values of some groups alongside those of shuffled raters; more shuffles can be made.

    Attributes
    ----------
    what
        The name shown in progress messages.
    names
        The statistics of the columns.
    observed
        Groups × statistics.
    make
        From shuffles to values, draws × groups × statistics.
    alone
        Which groups have no raters to be exchanged with.
    mirrored
        Statistics that are the same for all groups: one hypothesis.
    null, test
        What :meth:`Inference.decide` found: values of the shuffles made so far, and their test.
    p_value, adjusted
        The p-values to report, uncorrected and corrected.
    looked
        Both, as they were at each look at the shuffles.
    """

    what: str
    names: tuple[str, ...]
    observed: Values
    make: Callable[[Shuffles, Running], Values]
    alone: NDArray[np.bool_]
    mirrored: tuple[str, ...] = ()
    null: Values = field(default_factory=lambda: np.zeros(0))
    test: PermutationResult | None = None
    p_value: Values = field(default_factory=lambda: np.zeros(0))
    adjusted: Values = field(default_factory=lambda: np.zeros(0))
    looked: list[tuple[Values, Values]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.null = np.zeros((0, *self.observed.shape))
        self.adjusted = np.full(self.observed.shape, np.nan)

    def compare(self, convention: str) -> None:
        """Find where the values lie among the shuffles, except for groups that cannot be exchanged."""
        test = compare(self.observed, self.null, convention=convention)
        test.p_value[self.alone], test.direction[self.alone], test.null_median[self.alone] = np.nan, None, np.nan
        self.test = test

    def look(self) -> None:
        """Remember the p-values of the shuffles made so far."""
        assert self.test is not None
        self.looked.append((self.test.p_value, self.adjusted.copy()))

    def tell(self, looks: Looks) -> None:
        """Set the p-values to report from those at all looks."""
        self.p_value, self.adjusted = (looks.told(p, len(self.null)) for p in zip(*self.looked, strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class Inference:
    """How the values of one call, on one set of items, are tested and resampled.

    Attributes
    ----------
    asked
        The settings, which say how many draws of what.
    how
        Who makes them, and who hears of progress.
    exchange
        Who may be exchanged with whom.
    convention
        The convention that p-values follow.
    subset
        The set of items.
    design
        For each axis, how far the assignment of raters to items depends on its groups; filled by :meth:`check`.
    times
        For each axis, how likely it is that raters of a group rate items in as similar an order by chance; only where
        times are known.
    looks
        After how many shuffles fewer than requested may be enough; no lens asks for that yet.
    """

    asked: Any
    how: Running
    exchange: Exchange
    convention: str = "default"
    subset: str = "all"
    design: dict[str, Entanglement] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    looks: Looks = ALL_DRAWS

    def doing(self, what: str) -> Running:
        """Return how something is run."""
        where = "" if self.subset == "all" else f"{self.subset}: "
        return self.how.doing(where + what)

    # Tests ------------------------------------------------------------------------------------------------------------

    def shuffled(
        self, measured: Measures, grouping: Grouping, names: Sequence[str], observed: Values, shown: Sequence[int],
        what: str, mirrored: tuple[str, ...] = (),
    ) -> Shuffled:  # fmt: skip
        """Prepare the test of some groups, whose values are groups × statistics."""
        places = list(shown)
        what = what if self.subset == "all" else f"{self.subset}: {what}"

        def make(shuffles: Shuffles, how: Running) -> Values:
            return measured.null(shuffles, how)[:, places]

        return Shuffled(what, tuple(names), observed[places], make, ~grouping.exchangeable[places], mirrored)

    def check(self, ratings: Ratings, name: str, grouping: Grouping) -> None:
        """Remember how far the assignment depends on the groups of an axis, unless blocks take care of it."""
        asked, how = self.asked, self.doing(f"checking the design of {name}")
        found = self.exchange.check(ratings, grouping, asked.permutations, asked.seed, how, self.design.get(name))
        if found is not None:
            self.design[name] = found

    def decide(
        self, tested: Sequence[Shuffled], also: Callable[[], Values] | None = None, *, further: bool = True
    ) -> Values:
        """Shuffle raters until each corrected p-value of a family is on one side of .05, or as often as allowed.

        Parameters
        ----------
        tested
            All values of one kind of hypothesis; the shuffles are the same for all.
        also
            Further p-values that should be decided, from the shuffles made so far. If any of ``tested`` may be claimed,
            they are claimed only alongside one of these.
        further
            Whether to shuffle more often than asked where p-values are undecided.

        Returns
        -------
        NDArray[np.float64]
            The further p-values to report.
        """
        asked, looks = self.asked.permutations, self.looks
        if not asked or not tested:
            return np.zeros(0)
        room = MOST_KEPT // max(sum(one.observed.size for one in tested), 1)
        most = max(asked, min(most_shuffles(asked, self.asked.max_permutations), room)) if further else asked
        if self.convention == "published":
            most, looks = asked, ALL_DRAWS
        plan = DrawPlan(asked, most, self.asked.n_lenses, looks)

        def step(made: int, wanted: int) -> tuple[Values, Values]:
            shuffles = Shuffles.permuted(wanted, self.asked.seed).between(made, wanted)
            for one in tested:
                more = one.make(shuffles, self.doing(f"permuting {one.what}"))
                one.null = np.concatenate([one.null, more])
                one.compare(self.convention)
            self._adjust(tested)
            for one in tested:
                one.look()
            claims = with_trait("claims")
            p = np.concatenate([one.adjusted[:, [name in claims for name in one.names]].ravel() for one in tested])
            return p, np.zeros(0) if also is None else also()

        beside = plan.run(step)[1]
        for one in tested:
            one.tell(looks)
        return looks.told(beside, len(tested[0].null))

    def _adjust(self, tested: Sequence[Shuffled]) -> None:
        """Correct the p-values of all statistics that make claims together, and those of each other one on its own."""
        claims = with_trait("claims")
        cells = sorted(
            (
                ("" if name in claims and self.asked.correction == "maxt" else name, t, g, s)
                for t, one in enumerate(tested)
                for g in np.flatnonzero(~one.alone).tolist()
                for s, name in enumerate(one.names)
            )
        )
        for _, family in groupby(cells, key=lambda cell: cell[0]):
            places = [(tested[t], g, s) for _, t, g, s in family]
            p = np.array([one.test.p_value[g, s] for one, g, s in places if one.test is not None])
            if self.asked.correction == "maxt":
                observed = np.array([one.observed[g, s] for one, g, s in places])
                null = np.stack([one.null[:, g, s] for one, g, s in places], axis=1)
                adjusted = np.fmax(p, step_down(observed, null))
            else:
                same = [id(one) if one.names[s] in one.mirrored else (id(one), g) for one, g, s in places]
                adjusted = np.array(adjust_families(p.tolist(), [0] * len(p), same, self.asked.correction))
            for (one, g, s), value in zip(places, adjusted.tolist(), strict=True):
                one.adjusted[g, s] = value

    # Intervals --------------------------------------------------------------------------------------------------------

    def spread(self, measured: Measures, what: str) -> Spread:
        """Return what values become with other items, raters or both, if intervals are requested."""
        asked = self.asked
        if asked.interval == "none":
            return Spread()
        how = self.doing(f"resampling {what}")
        if asked.interval == "jackknife":
            return Spread(left=measured.left_out(asked.resample, how))
        return Spread(measured.bootstrap(asked.bootstrap, asked.seed, asked.resample, how))

    # Rows -------------------------------------------------------------------------------------------------------------

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
        tested: Shuffled | None = None,
        unweighted: Values | None = None,
    ) -> list[Row]:
        """Return a complete row for each group and statistic.

        Parameters
        ----------
        columns
            The statistics, and the position of each in values, interval and unweighted values, which are groups ×
            statistics.
        sizes, notes
            Sizes of each group, and its notes by statistic.
        """
        return [
            self._row(
                Row(
                    kind, axis, group, name, float(values[g, at]),
                    ci_low=None if interval is None else float(interval.low[g, at]),
                    ci_high=None if interval is None else float(interval.high[g, at]),
                    n_raters=sizes[g][0], n_items=sizes[g][1], n_ratings=sizes[g][2],
                    note=notes[g].get(name, ""), subset=self.subset,
                    unweighted=None if unweighted is None else float(unweighted[g, at]),
                ).with_undefined(
                    0.0 if interval is None else float(interval.n_undefined[g, at]),
                    "values without an item or rater" if self.asked.interval == "jackknife" else "bootstrap draws",
                ),
                g, tested,
            )
            for g, group in enumerate(groups)
            for at, name in columns
        ]  # fmt: skip

    def _row(self, row: Row, g: int, tested: Shuffled | None) -> Row:
        """Return a row with its test."""
        if tested is None or tested.test is None:
            return row
        test = tested.test
        s = tested.names.index(row.statistic)
        if tested.alone[g] and not math.isnan(row.value):  # else there is a reason already
            row = row.with_note(self.exchange.alone)
        n_permutations = len(tested.null)
        row = row.with_test(
            tested.p_value[g, s], test.direction[g, s], test.null_median[g, s],
            0.0 if tested.alone[g] else int(test.n_undefined[g, s]) / n_permutations,
            n_permutations=n_permutations, p_adjusted=float(tested.adjusted[g, s]),
        )  # fmt: skip
        return row.with_claim(self.claims(row))

    def claims(self, row: Row) -> bool:
        """Return whether a difference may be claimed: tested against the right null, corrected and decided."""
        design = self.design.get(row.axis)
        entangled = design is not None and design.entangled
        if row.statistic == "drift":  # which shuffles times: what counts is whether they and items are entangled
            entangled = self.times.get(row.axis, 1.0) <= ENTANGLED
        return (
            row.survives and not row.undecided and self.asked.correction != "none" and self.convention != "published"
            and row.statistic in with_trait("claims") and not entangled
        )  # fmt: skip

    def remembered(self) -> dict[str, Any]:
        """Return what a result keeps about the design."""
        return {
            **self.exchange.as_dict(),
            "axes": {name: found.as_dict() for name, found in self.design.items()},
            **({"times": dict(self.times)} if self.times else {}),
        }


def with_tests(rows: Sequence[Row], test: PermutationResult, n_permutations: int | None = None) -> list[Row]:
    """Return rows, in the order of groups × statistics, with tests of that shape."""
    flat = zip(*(np.asarray(part).ravel().tolist() for part in test), strict=True)
    return [
        row.with_test(p, direction, median, undefined / (n_permutations or 1), n_permutations=n_permutations)
        for row, (p, direction, median, undefined) in zip(rows, flat, strict=True)
    ]
