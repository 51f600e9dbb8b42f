"""One call: what belongs to it rather than to any lens, settled once before anything is measured.

::

    by, several, min_group_size ──▶ axes        whose groups are withheld together, over all axes of the call
    items_by ─────────────────────▶ parts       of the items, in which groups are withheld together with the whole
    within ───────────────────────▶ exchange    who is shuffled with whom, the same shuffles for all axes
    permutations, interval, … ────▶ inference   draws, families, intervals, rows
    weights of the ratings ───────▶ the same measure again with all raters counted equally, shown beside

A lens says what it measures for a grouping of the raters (:meth:`Comparison.measure`); who is compared and how the
values are tested follows from the call. What a result remembers of all this is :meth:`Call.kept`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError
from plurivox.domain.axis import Axis, names_raters
from plurivox.domain.ratings import Ratings
from plurivox.engine.draws import Draws as Shuffles
from plurivox.engine.pool import Running
from plurivox.engine.run import Values
from plurivox.infer.claims import weights_in
from plurivox.infer.exchange import ALONE, Exchange
from plurivox.infer.families import adjust
from plurivox.infer.grouping import (
    Compared,
    Grouping,
    compared,
    compared_in_parts,
    counting,
    overlapping_axes,
    raters_who_rated,
    subsets_by,
    together,
)
from plurivox.infer.inference import Inference, Shuffled, Sizes, TwoGroups
from plurivox.infer.intervals import Spread
from plurivox.infer.result import AxisDraws, Row


class CallPart(NamedTuple):
    """All items, or those of one value of ``items_by``: the ratings, what is compared, and what is compared besides."""

    ratings: Ratings
    axes: list[Compared]
    also: list[Compared]
    inference: Inference


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One call of a lens.

    Attributes
    ----------
    overlapping
        The attributes of which a rater may have several values, with their separators.
    axes
        The groups that are compared.
    parts
        All items and, if they are split, each part of them.
    """

    ratings: Ratings
    settings: Any
    overlapping: dict[str, str]
    axes: list[Compared]
    inference: Inference
    parts: tuple[CallPart, ...]

    @classmethod
    def of(
        cls, ratings: Ratings, settings: Any, how: Running, *, by: Sequence[Any] | None = None,
        also: Sequence[Any] = (), answered: NDArray[np.bool_] | None = None,
        rated: NDArray[np.bool_] | None = None, exchanged: bool = True, convention: str = "default",
    ) -> Self:  # fmt: skip
        """Settle what a call compares.

        Parameters
        ----------
        by
            The axes, if not those of the settings.
        also
            Further axes of which something is shown, so that they are withheld together with the others.
        answered
            Which items are compared with answers; groups consist of the raters of these.
        rated
            Only these raters count towards the sizes of groups.
        exchanged
            Whether raters are shuffled at all.
        """
        by = settings.by if by is None else by
        if answered is not None and ("all",) in by:
            raise SelectionError("an attribute is called 'all', which stands for all raters", hint="Rename it.")
        overlapping = overlapping_axes(by, settings.several, pairs=getattr(settings, "pairs", False))
        axes = compared(ratings, [*by, *also], overlapping, settings.min_group_size)
        if answered is not None and axes:
            axes = together(counting(axes, raters_who_rated(ratings)), raters_who_rated(ratings, answered))
        if rated is not None:
            axes = counting(axes, rated)
        exchange = Exchange.of(ratings, getattr(settings, "within", None) if exchanged else None)
        inference = Inference(settings, how, exchange, convention)
        split = getattr(settings, "items_by", None) if rated is None else None
        subsets = subsets_by(ratings, split)
        parts = tuple(
            CallPart(part, shown[: len(by)], shown[len(by) :], replace(inference, subset=name))
            for (name, part), shown in zip(subsets.items(), compared_in_parts(axes, subsets), strict=True)
        )
        return cls(ratings, settings, overlapping, axes[: len(by)], inference, parts)

    def check_design(self, axes: Iterable[Compared]) -> None:
        """Find out how far who rated what depends on the groups of each axis; individual raters are not shuffled."""
        for one in axes:
            for axis, _ in one.shown if not names_raters(one.axis.name) else ():
                grouping = Grouping.of(self.ratings, axis.codes, len(axis), self.inference.exchange.strata)
                self.inference.check(self.ratings, one.axis.name, grouping)

    def kept(self, **told: Any) -> dict[str, Any]:
        """Return what every result keeps: who is not shown, and the settings with what else it was told."""
        return {
            "withheld": {
                one.axis.name if part.inference.subset == "all" else f"{one.axis.name}, {part.inference.subset}":
                one.n_withheld
                for part in self.parts for one in part.axes
            },
            "revealing": {one.axis.name: one.n_revealing for one in self.axes},
            "outside": {one.axis.name: one.axis.n_outside for one in self.axes},
            "settings": {
                **self.settings.as_dict(), "several": self.overlapping, **told,
                **weights_in(self.ratings, self.settings.min_group_size),
            },
        }  # fmt: skip

    def decide(self, each: Sequence[AxisMeasured], also: Sequence[Shuffled] = ()) -> None:
        """Shuffle until it is clear which groups of all axes and parts differ, then which two; no further for pairs."""
        self.inference.decide([*(one.tested for axis in each for one in axis.prepared), *also])
        self.inference.decide([one.tested for axis in each for one in axis.contrasts])
        self.inference.decide([one.tested for axis in each for one in axis.pairs], further=False)

    def refuse_missing(self, rows: Iterable[Row]) -> str:
        """Raise if no axis has both groups of the requested contrast; return a hint with the groups that are shown."""
        shown = ", ".join(group for one in self.axes for group in one.axis.shown[:20]) or "none"
        contrast, hint = self.settings.contrast, f"The groups shown are: {shown}."
        if contrast is not None and not any(row.kind == "contrast" for row in rows):
            raise SelectionError(f"no axis has both groups {contrast[0]!r} and {contrast[1]!r}", hint=hint)
        return hint


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredGroups:
    """The groups of an axis that are shown, measured and ready to be tested.

    ``unweighted`` are the values with all raters counted equally, all groups × statistics; None without weights. Where
    it is a difference that is tested, ``pair`` has the two groups.
    """

    axis: Axis
    places: list[int]
    measured: Any
    tested: Shuffled
    unweighted: Values | None = None
    pair: TwoGroups | None = None

    @property
    def groups(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(self.axis.groups[g] for g in self.places)


class AxisMeasured(NamedTuple):
    """The groups of an axis on one set of items, ready to be tested, and differences of two of them."""

    work: Any
    one: Compared
    prepared: list[MeasuredGroups]
    contrasts: list[MeasuredGroups]
    pairs: list[MeasuredGroups]


@dataclass(frozen=True, eq=False)
class Comparison(ABC):
    """The groups of a call, compared on one set of items by what a lens measures."""

    ratings: Ratings
    settings: Any
    inference: Inference

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The statistics that are tested, in the order of values."""

    @abstractmethod
    def measure(self, grouping: Grouping, *, alike: bool = False) -> Any:
        """Return the :class:`~plurivox.infer.inference.Measures` of some groups; raters count equally if ``alike``."""

    @property
    def mirrored(self) -> tuple[str, ...]:
        """Statistics that are the same for both of two groups."""
        return ()

    @property
    def both_ways(self) -> bool:
        """Whether values are also measured with all raters counted equally."""
        return self.ratings.weights is not None

    @property
    def subset(self) -> str:
        """The set of items."""
        return self.inference.subset

    def grouping(self, axis: Axis, among: NDArray[np.bool_] | None = None) -> Grouping:
        """Return the groups of an axis, and who is shuffled."""
        return Grouping.of(self.ratings, axis.codes, len(axis), self.inference.exchange.strata, among)

    def unweighted(self, grouping: Grouping) -> Values | None:
        """Return the values with all raters counted equally, groups × statistics; None without weights."""
        if not self.both_ways:
            return None
        return np.asarray(self.measure(replace(grouping, weights=np.zeros(0)), alike=True).value)

    def prepare(self, one: Compared, *, check: bool = True) -> list[MeasuredGroups]:
        """Measure the groups of an axis; overlapping groups are each the first group of an axis of their own.

        The design is checked with the groups as they are, values with withheld groups as one.
        """
        found = []
        for (whole, _), (axis, places) in zip(one.shown, one.told, strict=True):
            if check:
                self.inference.check(self.ratings, one.axis.name, self.grouping(whole))
            found.append(self.groups(axis, places, self.grouping(axis)))
        return found

    def groups(self, axis: Axis, places: list[int], grouping: Grouping) -> MeasuredGroups:
        """Measure some groups."""
        measured = self.measure(grouping)
        values = measured.value[:, : len(self.names)]
        mirrored = self.mirrored if len(axis) == 2 else ()
        tested = self.inference.shuffled(measured, grouping, self.names, values, places, axis.name, mirrored)
        return MeasuredGroups(axis, places, measured, tested, self.unweighted(grouping))

    def two(self, axis: Axis, names: tuple[str, str]) -> MeasuredGroups:
        """Measure how two groups differ; only their raters are shuffled, and only with each other."""
        pair = TwoGroups.of(axis, names)
        grouping = self.grouping(axis, pair.among)
        measured, plain = self.measure(grouping), self.unweighted(grouping)

        def make(shuffles: Shuffles, how: Running) -> Values:
            return pair.difference(measured.null(shuffles, how))

        observed = pair.difference(measured.value[:, : len(self.names)])
        tested = Shuffled(pair.what, self.names, observed, make, ~grouping.exchangeable[[pair.a]])
        plain = None if plain is None else pair.difference(plain)
        return MeasuredGroups(axis, [pair.a], measured, tested, plain, pair)

    def of_two(
        self, two: MeasuredGroups, columns: Sequence[tuple[int, str]], sizes: Sizes, spread: Spread,
        kind: str = "contrast",
    ) -> list[Row]:  # fmt: skip
        """Return the rows of a difference that was tested; ``spread`` is that of the difference."""
        assert two.pair is not None
        values, interval = two.tested.observed, spread.difference(two.measured.value.shape[-1])
        undefined = {name: "undefined in one of the two" for at, name in columns if np.isnan(values[0, at])}
        return self.inference.rows(
            kind, two.axis.name, (two.pair.label,), columns, values, [sizes], [undefined], interval, two.tested,
            two.unweighted,
        )  # fmt: skip

    def draws_of(
        self, name: str, prepared: Sequence[MeasuredGroups], spreads: Sequence[Spread], kept: tuple[str, ...], *,
        ordered: bool = False,
    ) -> AxisDraws:  # fmt: skip
        """Return the shuffles and the bootstrap draws behind the groups of an axis.

        Parameters
        ----------
        spreads
            What the values of each set of groups become with other items or raters, for the statistics ``kept``.
        ordered
            Whether the draws of each value are sorted: anyone who knows which shuffle gave which mean has one equation
            per shuffle, and so every rater's mean.
        """
        null = [np.zeros((max([len(one.tested.null) for one in prepared], default=0), 0, len(self.names)))]
        null += [one.tested.null for one in prepared]
        drawn = [np.zeros((self.settings.bootstrap, 0, len(kept)))]
        drawn += [
            own.kept(len(one.places), len(kept)) for one, own in zip(prepared, spreads, strict=True) if one.places
        ]
        groups = tuple(group for one in prepared for group in one.groups)
        shuffled, resampled = (np.concatenate(arrays, axis=1) for arrays in (null, drawn))
        if ordered:
            shuffled, resampled = np.sort(shuffled, axis=0), np.sort(resampled, axis=0)
        return AxisDraws(name, groups, self.names, shuffled, kept, resampled, self.subset)

    def asked(self, one: Compared) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return the two groups to contrast, if an axis has them, and all pairs, if these are requested."""
        if one.overlapping:
            return [], []
        # A group that is too small in a part of the items is not an error.
        groups, wanted = one.axis.groups if self.subset == "all" else one.axis.shown, self.settings.contrast
        contrasts = [wanted] if wanted is not None and set(wanted) <= set(groups) else []
        return contrasts, list(combinations(one.axis.shown, 2)) if self.settings.pairs else []

    def everything(self, one: Compared, *, check: bool = True) -> AxisMeasured:
        """Measure the groups of an axis, and pairs of them as requested; individual raters are not shuffled."""
        if one.axis.attributes == ("rater",):
            return AxisMeasured(self, one, [], [], [])
        contrasts, pairs = ([self.two(one.axis, names) for names in each] for each in self.asked(one))
        return AxisMeasured(self, one, self.prepare(one, check=check), contrasts, pairs)

    def again(self, one: MeasuredGroups, strata: NDArray[np.int32]) -> Any:
        """Measure some groups once more, to shuffle their raters within other strata."""
        return self.measure(Grouping.of(self.ratings, one.axis.codes, len(one.axis), strata))

    def held(self, prepared: Mapping[str, Iterable[MeasuredGroups]], rows: Sequence[Row]) -> list[Row]:
        """Test claims about groups again, with raters shuffled within each other attribute of the call.

        A group whose raters also differ from others in a second attribute may stand apart because of that attribute.
        Where a claim also holds within the second attribute, it does not explain the claim. p-values are corrected by
        Holm's method over the other attributes. ``prepared`` is what was measured, by the name of its axis.
        """
        known = {(name, group): one for name, each in prepared.items() for one in each for group in one.groups}
        others = list(dict.fromkeys(name for one in self.settings.by for name in one if name != "rater"))
        tests: dict[tuple[int, str], Shuffled] = {}
        found = []
        for row in (row for row in rows if row.claim and row.kind == "group" and row.subset == "all"):
            one, own = known[row.axis, row.group], []
            for other in (attribute for attribute in others if attribute not in one.axis.attributes):
                if (id(one), other) not in tests:
                    tests[id(one), other] = self._within(one, other)
                again, g = tests[id(one), other], one.groups.index(row.group)
                test, s = again.test, again.names.index(row.statistic)
                assert test is not None
                own.append(replace(
                    row, kind="held", other=other, p_value=float(test.p_value[g, s]), direction=test.direction[g, s],
                    null_median=float(test.null_median[g, s]), n_permutations=len(again.null), claim=None,
                    p_adjusted=None, ci_low=None, ci_high=None,
                    note=ALONE.format(where=other) if again.alone[g] else "",
                ))  # fmt: skip
            p = adjust([math.nan if each.p_value is None else each.p_value for each in own], "holm").tolist()
            found += [replace(each, p_adjusted=value) for each, value in zip(own, p, strict=True)]
        return found

    def _within(self, one: MeasuredGroups, other: str) -> Shuffled:
        """Shuffle the raters of an axis within another attribute."""
        inference = self.inference
        strata = inference.exchange.finer(Axis.of(self.ratings, other, min_group_size=1).codes)
        grouping = Grouping.of(self.ratings, one.axis.codes, len(one.axis), strata)
        observed = np.full((len(one.axis), one.tested.observed.shape[1]), np.nan)
        observed[one.places] = one.tested.observed
        what = f"{one.axis.name} within {other}"
        tested = inference.shuffled(self.again(one, strata), grouping, one.tested.names, observed, one.places, what)
        shuffles = Shuffles.permuted(inference.asked.permutations, inference.asked.seed)
        tested.null = tested.make(shuffles, inference.doing(f"permuting {tested.what}"))
        tested.compare(inference.convention)
        return tested
