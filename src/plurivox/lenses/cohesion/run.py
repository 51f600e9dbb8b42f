"""One call of cohesion: all raters, the groups of every axis, contrasts and pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from plurivox.base.errors import SelectionError
from plurivox.base.settings.shared import AUTO
from plurivox.base.wording import NO_GROUPS
from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.domain.scale import few_points
from plurivox.engine.draws import Draws as Shuffles
from plurivox.engine.pool import Running
from plurivox.engine.run import Values
from plurivox.infer.call import Call, Comparison, MeasuredGroups
from plurivox.infer.families import corrected, standardised
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.inference import Shuffled, Sizes
from plurivox.infer.intervals import with_interval
from plurivox.infer.lens import keywords
from plurivox.infer.permutation import max_t, upper_p
from plurivox.infer.result import AxisDraws, Row
from plurivox.lenses.cohesion import CohesionSettings
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.lenses.cohesion.sums import TOO_MANY, GroupAgreement, place_of, scores_of, tested_with
from plurivox.statistics.checks import Level, level_of, usual_level
from plurivox.statistics.records import Statistic
from plurivox.statistics.registry import STATISTICS, of_role

NO_GAI = "no group of this axis has a GAI"
NOT_WEIGHTED = "it counts all raters equally"
"""The note on a value that does not use the weights of raters."""


@dataclass(frozen=True, eq=False)
class Agreeing(Comparison):
    """How far the groups of a call agree."""

    settings: CohesionSettings
    level: Level

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics that are tested."""
        return tuple(record.name for record in tested_with(self.settings.gai))

    @property
    def mirrored(self) -> tuple[str, ...]:
        """Those that say the same about both of two groups."""
        return tuple(name for name in self.names if STATISTICS[name].symmetric)

    def measure(self, grouping: Grouping, *, alike: bool = False) -> GroupAgreement:
        """Measure all statistics of some groups; weights are those of the grouping."""
        asked = self.settings
        return GroupAgreement.of(
            self.ratings, grouping, level=self.level, published=asked.convention == "published", ties=asked.ties,
            seed=asked.seed, gai=asked.gai,
        )  # fmt: skip

    def overall(self) -> list[Row]:
        """Return the rows of all raters together, who have no rest."""
        ratings = self.ratings
        grouping = Grouping.together(ratings)
        measured, plain = self.measure(grouping), self.unweighted(grouping)
        interval = self.inference.spread(measured, "all").interval((*measured.tested, *measured.beside))
        sizes = (ratings.n_raters, ratings.n_items, len(ratings))
        rows = []
        for kind, records, n_raters in (("overall", measured.tested, sizes[0]), ("beside", measured.beside, None)):
            columns = [one for one in _columns(measured, records) if STATISTICS[one[1]].needs == "group"]  # no rest
            notes = {name: measured.why(name, 0, n_raters) for _, name in columns}
            rows += self.inference.rows(
                kind, "all", ("all",), columns, measured.value, [sizes], [notes], interval, unweighted=plain
            )
        return rows + self._whole("all", "all", np.ones(ratings.n_raters, bool), sizes)

    def found(self, name: str, prepared: Sequence[MeasuredGroups]) -> tuple[list[Row], AxisDraws]:
        """Return the rows of the groups of an axis, and its draws."""
        rows: list[Row] = []
        records = (*tested_with(self.settings.gai), *of_role("beside"))
        spreads = [self.inference.spread(one.measured, one.axis.name).of(one.places) for one in prepared]
        for one, spread in zip(prepared, spreads, strict=True):
            sizes, interval = _sizes(self.ratings, one.axis), spread.interval(records)
            for kind, own in (("group", one.measured.tested), ("beside", one.measured.beside)):
                columns = _columns(one.measured, own)
                notes = [
                    {name: one.measured.why(name, g, int(one.axis.sizes[g])) for _, name in columns} for g in one.places
                ]
                rows += self.inference.rows(
                    kind, name, one.groups, columns, one.measured.value[one.places],
                    [sizes[group] for group in one.groups], notes, interval, one.tested if kind == "group" else None,
                    None if one.unweighted is None else one.unweighted[one.places],
                )  # fmt: skip
            for g in one.places:
                rows += self._whole(name, one.axis.groups[g], one.axis.codes == g, sizes[one.axis.groups[g]])
        return rows, self.draws_of(name, prepared, spreads, tuple(record.name for record in records))

    # Which axis divides most ------------------------------------------------------------------------------------------

    def dsi(
        self, prepared: Mapping[str, Sequence[MeasuredGroups]], rows: Sequence[Row], adjusted: NDArray[np.float64]
    ) -> list[Row]:
        """Return the largest GAI of each axis with a p-value of its own, raw and standardised.

        In the published convention, the raw maximum has the p-values of its group. ``adjusted`` holds the corrected
        p-value of each axis, if there are any.
        """
        found, asked = [], self.settings
        for at, (name, each) in enumerate(prepared.items()):
            shown = [group for one in each for group in one.groups]
            null = [np.zeros((len(each[0].tested.null) if each else 0, 0)), *(gai_of(one)[1] for one in each)]
            maxima = max_t(
                np.concatenate([np.zeros(0), *(gai_of(one)[0] for one in each)]), np.concatenate(null, axis=1)
            )
            gai = [row for row in rows if (row.axis, row.statistic, row.kind) == (name, "gai", "group")]
            plain = [row.unweighted for row in gai if row.unweighted is not None]
            p = float(adjusted[at]) if len(adjusted) else math.nan
            for raw, statistic, maximum in zip((True, False), ("dsi", "dsi_standardised"), maxima, strict=True):
                group = shown[maximum.index] if maximum.index >= 0 else ""
                sizes = next(((one.n_raters, one.n_items, one.n_ratings) for one in rows
                              if (one.axis, one.group) == (name, group)), (0, 0, 0))  # fmt: skip
                row = Row(
                    "dsi", name, group, statistic, maximum.value, note="" if group else NO_GAI,
                    unweighted=_top(np.array(plain)) if plain and raw else None,
                ).with_sizes(*sizes)  # fmt: skip
                if asked.permutations:
                    median = float(np.nanmedian(maximum.null)) if np.isfinite(maximum.null).any() else None
                    row = replace(
                        row, p_value=maximum.p_value, null_median=median, p_adjusted=p if raw else None,
                        n_permutations=len(maximum.null),
                    )  # fmt: skip
                if raw or asked.permutations:
                    found.append(row)
        if self.settings.correction != "maxt":
            corrected(found, self.settings.correction)
        if self.settings.convention == "published":
            winners = {(row.axis, row.group): row for row in rows if (row.kind, row.statistic) == ("group", "gai")}
            for at, row in enumerate(found):
                own = winners.get((row.axis, row.group))
                if own is not None and row.statistic == "dsi":
                    found[at] = replace(
                        row, p_value=own.p_value, p_adjusted=own.p_adjusted, null_median=own.null_median,
                        direction=own.direction, n_permutations=own.n_permutations,
                    )  # fmt: skip
        # An axis is only said to divide raters where one of its groups stands apart, so that the family is not tested
        # twice.
        apart = {row.axis for row in rows if row.claim and row.statistic == "gai"}
        return [
            row.with_claim(row.axis in apart and self.inference.claims(row)) if row.tested else row for row in found
        ]

    def dsi_adjusted(self, prepared: Mapping[str, Sequence[MeasuredGroups]]) -> NDArray[np.float64]:
        """Return each axis's p-value from the largest standardised GAI of all axes in each shuffle."""
        each = [(name, one) for name, several in prepared.items() for one in several]
        z, draws = standardised(
            np.concatenate([gai_of(one)[0] for _, one in each]),
            np.concatenate([gai_of(one)[1] for _, one in each], axis=1),
        )
        owner = np.repeat([name for name, _ in each], [len(one.places) for _, one in each])
        largest = np.fmax.reduce(draws, axis=1, initial=np.nan)
        return np.array([float(upper_p(_top(z[owner == name]), largest)) for name in prepared])

    # Two groups -------------------------------------------------------------------------------------------------------

    def contrast(self, axis: Axis, groups: tuple[str, str]) -> list[Row]:
        """Return the difference of two groups; only their raters are shuffled, and only with each other."""
        two = self.two(axis, groups)
        pair, measured = two.pair, two.measured
        assert pair is not None
        self.inference.decide([two.tested])
        spread = self.inference.spread(measured, pair.what).made(pair.difference)
        first, second = (_sizes(self.ratings, axis)[group] for group in groups)
        sizes = (first[0] + second[0], self.ratings.n_items, first[2] + second[2])
        columns = _columns(measured, measured.tested)
        return self.of_two(two, columns, sizes, spread)

    def pairs(self, axes: Sequence[Axis]) -> list[Row]:
        """Return XRR of every pair of groups of each axis, with the IRR of each group on the diagonal."""
        found: list[list[Row]] = []
        tests: list[tuple[list[Row], dict[str, Sizes], str, tuple[str, str], str, Shuffled, Values | None]] = []
        irr, xrr = place_of("irr"), place_of("xrr")
        for axis in axes:
            shown, sizes = np.flatnonzero(~axis.withheld).tolist(), _sizes(self.ratings, axis)
            grouping = Grouping.of(self.ratings, axis.codes, len(axis))
            values, plain = self.measure(grouping).value, self.unweighted(grouping)
            found.append([
                Row(
                    "pair", axis.name, axis.groups[g], "irr", float(values[g, irr]), other=axis.groups[g],
                    unweighted=None if plain is None else float(plain[g, irr]),
                ).with_sizes(*sizes[axis.groups[g]])
                for g in shown
            ])  # fmt: skip
            for a, b in combinations(shown, 2):
                codes = np.select([axis.codes == a, axis.codes == b], [0, 1], -1).astype(np.int32)
                grouping = Grouping.of(self.ratings, codes, 2, self.inference.exchange.strata)
                names = (axis.groups[a], axis.groups[b])
                measured, plain = self.measure(grouping), self.unweighted(grouping)

                def make(shuffles: Shuffles, how: Running, measured: GroupAgreement = measured) -> Values:
                    return measured.null(shuffles, how)[:, :1, [xrr]]

                what, values = f"{axis.name}: {names[0]} and {names[1]}", measured.value[:1, [xrr]]
                tested = Shuffled(what, ("xrr",), values, make, ~grouping.exchangeable[:1])
                note, plain = measured.why("xrr", 0, int(axis.sizes[a])), None if plain is None else plain[:1, [xrr]]
                tests.append((found[-1], sizes, axis.name, names, note, tested, plain))
        self.inference.decide([tested for *_, tested, _ in tests], further=False)
        for rows, sizes, name, (first, second), note, tested, plain in tests:
            n_raters, n_items, n_ratings = (sum(pair) for pair in zip(sizes[first], sizes[second], strict=True))
            (row,) = self.inference.rows(
                "pair", name, (first,), [(0, "xrr")], tested.observed, [(n_raters, n_items, n_ratings)],
                [{"xrr": note}], tested=tested, unweighted=plain,
            )  # fmt: skip
            rows.append(replace(row, other=second))
        return [row for rows in found for row in rows]

    def _whole(self, axis: str, group: str, chosen: NDArray[np.bool_], sizes: Sizes) -> list[Row]:
        """Return the statistics of a group that are not sums over items."""
        records = of_role("whole")
        scores = scores_of(self.ratings, chosen & raters_who_rated(self.ratings)) if records else None
        rows = []
        for record in records:
            assert record.whole is not None
            value, note = (math.nan, TOO_MANY) if scores is None else record.whole(scores)
            if self.ratings.weights is not None:
                note = f"{note}; {NOT_WEIGHTED}" if note else NOT_WEIGHTED
            rows.append(Row("beside", axis, group, record.name, value, note=note).with_sizes(*sizes))
        return rows


def gai_of(one: MeasuredGroups) -> tuple[Values, Values]:
    """Return GAI of each group, and under each shuffle, draws × groups."""
    at = place_of("gai")
    return one.tested.observed[:, at], one.tested.null[:, :, at]


def _top(z: Values) -> float:
    """Return the largest defined value, NaN if there is none."""
    return float(np.fmax.reduce(z, initial=np.nan))


def _columns(measured: GroupAgreement, records: Sequence[Statistic]) -> list[tuple[int, str]]:
    """Return the positions of some statistics among the values, and their names."""
    return [(at, one.name) for at, one in enumerate((*measured.tested, *measured.beside)) if one in records]


def _sizes(ratings: Ratings, axis: Axis) -> dict[str, Sizes]:
    """Return raters, items and ratings of each group."""
    n_items, n_ratings = ratings.sizes(axis.codes, len(axis))
    return {name: (int(axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g, name in enumerate(axis.groups)}


# The call -------------------------------------------------------------------------------------------------------------

LEVEL_NOTE = "The scale has {:,} points, too many for the ordinal level: alpha, XRR and GAI use the interval level."


@keywords(CohesionSettings, weights=True)
def cohesion(ratings: Ratings, *, settings: CohesionSettings, how: Running) -> Cohesion:
    """Find the groups of raters who agree among themselves more than with the others.

    Returns
    -------
    Cohesion
        With ``to_frame()``, ``findings()``, ``pairs``, ``to_json()`` and the draws.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=40, n_raters=60, effects=[pv.Effect({"age": "18-29"}, shared_sd=1.5)], seed=4)
    >>> result = pv.cohesion(study.ratings, "age", permutations=99)
    >>> result.value("age", "18-29", "gai") > 1
    True
    """
    n_points, auto = len(ratings.scale), settings.level == AUTO
    published, correction = settings.convention == "published", settings.correction
    settings = with_interval(replace(
        settings, level=usual_level(settings.level, n_points, published=published),
        correction="bh" if published and correction == "maxt" else correction,
    ))  # fmt: skip
    note = LEVEL_NOTE.format(n_points) if auto and settings.level == "interval" else ""
    few_points(ratings.scale, "cohesion")
    call = Call.of(ratings, settings, how, convention=settings.convention)
    work = Agreeing(ratings, settings, call.inference, level_of(settings.level, n_points))
    rows = work.overall()
    prepared = {one.axis.name: work.prepare(one) for one in call.axes}
    tested = [one.tested for each in prepared.values() for one in each]
    divides = call.inference.decide(tested, lambda: work.dsi_adjusted(prepared))
    draws = []
    for one in call.axes:
        axis_rows, axis_draws = work.found(one.axis.name, prepared[one.axis.name])
        rows += axis_rows
        draws.append(axis_draws)
        rows += [row for two in work.asked(one)[0] for row in work.contrast(one.axis, two)]
    contrast = settings.contrast
    if contrast is not None and not any(row.kind == "contrast" for row in rows):
        shown = ", ".join(group for one in call.axes for group in one.axis.shown)
        raise SelectionError(
            f"no axis has both groups {contrast[0]!r} and {contrast[1]!r}",
            hint=f"The groups shown are: {shown}." if call.axes else NO_GROUPS,
        )
    rows += work.dsi(prepared, rows, divides)
    named_level = settings.level if isinstance(settings.level, str) else "matrix"
    return Cohesion(
        rows=tuple(rows),
        draws=tuple(draws),
        pair_rows=tuple(work.pairs([one.axis for one in call.axes]) if settings.pairs else ()),
        held_rows=tuple(work.held(prepared, rows)),
        **call.kept(level=named_level, question="all", design=call.inference.remembered(), level_note=note),
    )
