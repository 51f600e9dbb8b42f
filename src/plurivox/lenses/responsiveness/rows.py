"""The rows of a responsiveness result: all raters, the groups of an axis, individual raters, contrasts and families."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.domain.axis import Axis
from plurivox.domain.ratings import Ratings
from plurivox.domain.raw import chosen_rows
from plurivox.domain.scale import Scale
from plurivox.engine.run import Values
from plurivox.infer.call import Comparison, MeasuredGroups
from plurivox.infer.grouping import Grouping, raters_who_rated
from plurivox.infer.inference import Shuffled, Sizes, TwoGroups, with_tests
from plurivox.infer.intervals import Interval, Spread
from plurivox.infer.permutation import among_peers, compare, upper_p
from plurivox.infer.result import AxisDraws, Row
from plurivox.lenses.responsiveness.raters import RaterResponses
from plurivox.lenses.responsiveness.references import CROWD, Reference
from plurivox.lenses.responsiveness.result import ScoreTables
from plurivox.lenses.responsiveness.settings import ResponsivenessSettings
from plurivox.lenses.responsiveness.sums import Responses, Support
from plurivox.statistics import undefined
from plurivox.statistics.registry import with_trait
from plurivox.statistics.responsiveness import MEASURED, MEASURES

COLUMNS = tuple(enumerate(MEASURES))
"""All statistics, and the position of each among the values."""
MIN_SUPPORT = 5
"""A score given to fewer items than this is noted for statistics that weigh every score equally."""


class Contrast(NamedTuple):
    """The difference of two groups, ready to be tested."""

    pair: TwoGroups
    two: MeasuredGroups
    sizes: Sizes

    @property
    def tested(self) -> Shuffled:
        """Its test."""
        return self.two.tested


class ScoredAxis(NamedTuple):
    """Rows of an axis, its draws, and the tables behind its values."""

    rows: list[Row]
    draws: AxisDraws
    scored: ScoreTables
    spread: Spread = Spread()


@dataclass(frozen=True, eq=False)
class Responding(Comparison):
    """How the groups of a call respond to a reference, on one set of items."""

    settings: ResponsivenessSettings
    reference: Reference

    @property
    def names(self) -> tuple[str, ...]:
        """The statistics that are tested."""
        return MEASURES

    @property
    def both_ways(self) -> bool:
        """Whether values are also measured with all raters counted equally, those of the reference included."""
        return self.ratings.weights is not None or len(self.reference.weights) > 0

    def measure(self, grouping: Grouping, *, alike: bool = False) -> Responses:
        """Measure all statistics of some groups."""
        asked, ratings, reference = self.settings, self.ratings, self.reference
        if alike:
            ratings, reference = ratings.unweighted(), reference.counting_alike()
        return Responses.by(
            ratings, grouping, reference, group_score=asked.group_score, ties=asked.ties, seed=asked.seed,
            capped=self._capped,
        )  # fmt: skip

    def overall(self) -> ScoredAxis:
        """Return the rows of all raters together; against the crowd, nobody is left to compare them with."""
        everybody = np.zeros(self.ratings.n_raters, np.int32)
        grouping = Grouping.of(self.ratings, everybody, 1, self.inference.exchange.strata)
        responses = self.measure(grouping)
        spread = Spread() if self.reference.kind == CROWD else self.inference.spread(responses, "all")
        usage = self.ratings.used()[np.newaxis]
        n_rated = int(np.count_nonzero(raters_who_rated(self.ratings)))
        sizes = np.array([self.ratings.n_raters if self.subset == "all" else n_rated])
        plain = self.unweighted(grouping)
        return self._found("overall", "all", ("all",), [0], responses, sizes, usage, None, spread, plain)

    def found(self, name: str, prepared: Sequence[MeasuredGroups]) -> ScoredAxis:
        """Return the rows of the groups of an axis, its draws, and the tables behind its values."""
        each = [
            self._found(
                "group", name, one.axis.groups, one.places, one.measured, one.axis.sizes,
                _usage(self.ratings, one.axis), one.tested, self.inference.spread(one.measured, one.axis.name),
                one.unweighted,
            )
            for one in prepared
        ]  # fmt: skip
        if len(each) == 1:
            return each[0]
        n_points, n_draws = len(self.ratings.scale), max([len(one.draws.null) for one in each], default=0)

        def together(arrays: list[NDArray[Any]], *like: int, axis: int = 0) -> NDArray[Any]:
            return np.concatenate([np.zeros(like), *arrays], axis=axis)

        groups = tuple(group for one in each for group in one.draws.groups)
        null = together([one.draws.null for one in each], n_draws, 0, len(MEASURES), axis=1)
        kept = together([one.draws.bootstrap for one in each], self.settings.bootstrap, 0, len(MEASURES), axis=1)
        scored = ScoreTables(
            name, tuple(group for one in each for group in one.scored.groups),
            together([one.scored.tables for one in each], 0, n_points, self.reference.n_points),
            together([one.scored.votes for one in each], 0, n_points),
            together([one.scored.usage for one in each], 0, n_points), self.subset,
        )  # fmt: skip
        draws = AxisDraws(name, groups, MEASURES, null, MEASURES, kept, self.subset)
        return ScoredAxis([row for one in each for row in one.rows], draws, scored)

    def two(self, axis: Axis, names: tuple[str, str]) -> Contrast:
        """Prepare the difference of two groups."""
        pair, two = self.difference(axis, names)
        support, both = two.measured.votes(), [pair.a, pair.b]
        sizes = (
            int(axis.sizes[both].sum()), int(support.n_items[both].min()), int(support.n_ratings[both].sum())
        )  # fmt: skip
        return Contrast(pair, two, sizes)

    def compared(self, contrast: Contrast, found: ScoredAxis, kind: str) -> list[Row]:
        """Return the rows of a difference that was tested."""
        a, b = (found.draws.groups.index(group) for group in contrast.pair.names)
        interval = found.spread.made(lambda values: values[:, [a]] - values[:, [b]]).difference(len(MEASURES))
        return self.inference.contrast(
            contrast.pair, COLUMNS, contrast.sizes, interval, contrast.tested, kind, contrast.two.unweighted
        )

    def family(self, axis: Axis, condition: Mapping[str, Any], found: ScoredAxis) -> list[Row]:
        """Return how the groups that share a value compare with all others: mean difference, all lowest, all highest.

        "All lowest" is the gap from the highest of them up to the lowest other group: positive if each of them lies
        below every other group.
        """
        members = np.unique(axis.codes[chosen_rows(self.ratings.raters, condition, "rater")])
        inside = np.isin([axis.groups.index(group) for group in axis.shown], members)
        if inside.all() or not inside.any():
            return []
        observed = np.array([[row.value for row in found.rows if row.group == group] for group in axis.shown])
        name = family_name(condition)
        own = [row for row in found.rows if row.statistic == MEASURES[0] and row.group in np.array(axis.shown)[inside]]
        sizes = (sum(row.n_raters for row in own), max(row.n_items for row in own), sum(row.n_ratings for row in own))
        rows: list[Row] = []
        for what, measure in (("against the others", _difference), ("all lowest", _lowest), ("all highest", _highest)):
            values = measure(observed[np.newaxis], inside)
            null = measure(found.draws.null, inside)[:, np.newaxis]
            interval = found.spread.made(partial(_over_groups, measure, inside)).difference(len(MEASURES))
            reason = "undefined in all of them, or in all others"
            notes = {name: reason for at, name in COLUMNS if np.isnan(values[0, at])}
            label = (f"{name} ({len(own)} of {len(inside)} groups), {what}",)
            own_rows = self.inference.rows("family", axis.name, label, COLUMNS, values, [sizes], [notes], interval)
            if len(null):
                test = compare(values, null)
                test = test if measure is _difference else test._replace(p_value=upper_p(values, null))
                own_rows = with_tests(own_rows, test, len(null))
            rows += own_rows
        return rows

    def _among_peers(self, rows: list[Row], values: Values, order: NDArray[np.intp]) -> list[Row]:
        """Return the rows of raters with where they lie among the others of their stratum."""
        strata = self.inference.exchange.strata
        test = among_peers(values, None if strata is None else strata[order])
        test = test._replace(n_undefined=np.zeros_like(test.n_undefined))  # these are raters, not draws
        return with_tests(rows, test)

    def raters(self, axis: Axis) -> ScoredAxis:
        """Return the rows of every rater, compared with the other raters of their stratum."""
        responses = RaterResponses.of(self.ratings, self.reference, capped=self._capped)
        tables, values = responses.observed()
        plain = None
        if len(self.reference.weights):
            alike = RaterResponses.of(self.ratings, self.reference.counting_alike(), capped=self._capped)
            plain = alike.observed()[1]
        usage = _usage(self.ratings, axis)
        order = np.argsort(axis.codes, kind="stable")  # raters in the order of their names
        order = order[~axis.withheld[axis.codes[order]]]
        support = responses.votes().of(order)
        interval, kept = None, np.zeros((0, len(axis.codes), len(MEASURES)))
        how, n_draws = self.inference.doing("resampling raters"), self.settings.bootstrap
        if self.settings.interval != "none":
            if n_draws:
                whole, kept = responses.bootstrap(n_draws, self.settings.seed, how)
            else:
                whole = responses.jackknife(how)
            undefined_share = whole.n_undefined[order] / max(n_draws, self.ratings.n_items, 1)
            interval = Interval(whole.low[order], whole.high[order], undefined_share)
        rows = self._rows(
            "rater", axis.name, axis.shown, tables[order], values[order], np.ones(len(order), np.int64), support,
            interval, None, unweighted=None if plain is None else plain[order],
        )  # fmt: skip
        if self.settings.permutations:
            rows = self._among_peers(rows, values[order], order)
        null = np.zeros((0, len(order), len(MEASURES)))
        return ScoredAxis(
            rows,
            AxisDraws(axis.name, axis.shown, MEASURES, null, MEASURES, kept[:, order], self.subset),
            ScoreTables(axis.name, axis.shown, tables[order], support.votes, usage[~axis.withheld], self.subset),
        )

    def _found(
        self,
        kind: str,
        name: str,
        groups: tuple[str, ...],
        places: list[int],
        responses: Responses,
        sizes: NDArray[np.int64],
        usage: NDArray[np.int64],
        tested: Shuffled | None,
        spread: Spread,
        unweighted: Values | None = None,
    ) -> ScoredAxis:
        """Return the rows of the groups that may be shown, and their scores."""
        shown = np.array(places, dtype=np.intp)
        names = tuple(groups[g] for g in places)
        tables, values = (array[shown] for array in responses.observed())
        support = responses.votes().of(shown)
        everyone = kind == "overall" and self.reference.kind in (CROWD, "group")
        alone = "nobody is left as the reference" if everyone else undefined.NO_REFERENCE
        null = np.zeros((0, len(shown), len(MEASURES))) if tested is None else tested.null
        own = spread.of(places)
        rows = self._rows(
            kind, name, names, tables, values, sizes[shown], support, own.interval(MEASURED), tested, alone,
            None if unweighted is None else unweighted[shown],
        )  # fmt: skip
        return ScoredAxis(
            rows,
            AxisDraws(name, names, MEASURES, null, MEASURES, own.kept(len(shown), len(MEASURES)), self.subset),
            ScoreTables(name, names, tables, support.votes, usage[shown], self.subset),
            own,
        )

    def _rows(
        self,
        kind: str,
        axis: str,
        groups: Sequence[str],
        tables: Values,
        values: Values,
        n_raters: NDArray[np.int64],
        support: Support,
        interval: Interval | None,
        tested: Shuffled | None,
        alone: str = undefined.NO_REFERENCE,
        unweighted: Values | None = None,
    ) -> list[Row]:
        """Combine rows, with notes on why values are undefined or what to be careful about."""
        sizes: list[Sizes] = list(
            zip(n_raters.tolist(), support.n_items.tolist(), support.n_ratings.tolist(), strict=True)
        )
        notes = notes_of(tables, values, support.votes, self.ratings.scale, self.settings.min_support, alone)
        return self.inference.rows(kind, axis, groups, COLUMNS, values, sizes, notes, interval, tested, unweighted)

    @property
    def _capped(self) -> bool:
        return self.settings.convention != "published"


def family_name(condition: Mapping[str, Any]) -> str:
    """Return what groups that share a value are called together."""
    return " and ".join(f"{attribute} = {value}" for attribute, value in condition.items())


def notes_of(
    tables: Values,
    values: Values,
    votes: Values,
    scale: Scale,
    min_support: float = MIN_SUPPORT,
    alone: str = undefined.NO_REFERENCE,
) -> list[dict[str, str]]:
    """Say for each group why values are undefined, or what to be careful about; ``alone`` if it meets no reference."""
    by_point = tables.sum(axis=1)
    below = np.cumsum(by_point, axis=1)[:, :-1]
    total = by_point.sum(axis=1)
    above = by_point[:, ::-1].cumsum(axis=1)[:, -2::-1]
    two_classes = (below > 0) & (above > 0)
    n_defined, n_boundaries = two_classes.sum(axis=1), two_classes.shape[1]
    one_score = (tables.sum(axis=2) > 0).sum(axis=1) == 1
    rare = (votes > 0) & (votes < min_support)
    one_class, by_score, of_parts = (with_trait(trait) for trait in ("one class", "scores alike", "of parts"))
    notes: list[dict[str, str]] = []
    for g in range(len(tables)):
        if total[g] == 0:
            notes.append(dict.fromkeys(MEASURES, alone))
            continue
        if n_defined[g] == 0:
            reason = _single_class(by_point[g], n_boundaries)
            notes.append({name: reason for name in MEASURES if name not in one_class})
            continue
        note = dict.fromkeys(MEASURES, "")
        if n_defined[g] < n_boundaries:
            left_out = (
                f"{n_boundaries - n_defined[g]} of {n_boundaries} boundaries have a single class and are left out"
            )
            note = dict.fromkeys(MEASURES, left_out)
        if one_score[g]:
            note |= dict.fromkeys(with_trait("two scores"), undefined.ONE_SCORE)
        elif rare[g].any():
            scores = ", ".join(str(scale.labels[c]) for c in np.flatnonzero(rare[g]))
            remark = f"fewer than {min_support:g} items with score {scores}"
            for name in by_score:
                note[name] = f"{note[name]}; {remark}" if note[name] else remark
        for name in of_parts:
            if not note[name] and np.isnan(values[g, MEASURES.index(name)]):
                note[name] = "MPA and WRA add up to 0"  # where MPA is not capped
        notes.append(note)
    return notes


def _single_class(by_point: Values, n_boundaries: int) -> str:
    if n_boundaries > 1:
        return "all reference ratings are the same point"
    return undefined.ALL_UNSAFE if by_point[1] > 0 else undefined.ALL_SAFE


def _usage(ratings: Ratings, axis: Axis) -> NDArray[np.int64]:
    """Return how often each group gave each point, groups × points."""
    return ratings.profiles(axis.codes, len(axis))


def _over_groups(measure: Any, inside: NDArray[np.bool_], values: Values) -> Values:
    """Return a function of all groups as the value of one."""
    return np.asarray(measure(values, inside))[:, np.newaxis]


def _difference(values: Values, inside: NDArray[np.bool_]) -> Values:
    return _over(np.nanmean, values[:, inside]) - _over(np.nanmean, values[:, ~inside])


def _lowest(values: Values, inside: NDArray[np.bool_]) -> Values:
    return _over(np.nanmin, values[:, ~inside]) - _over(np.nanmax, values[:, inside])


def _highest(values: Values, inside: NDArray[np.bool_]) -> Values:
    return _over(np.nanmin, values[:, inside]) - _over(np.nanmax, values[:, ~inside])


def _over(reduce: Any, values: Values) -> Values:
    """Reduce over the defined groups; NaN if there are none."""
    empty: NDArray[np.bool_] = np.asarray(np.isnan(values).all(axis=1))
    filled = np.where(empty[:, np.newaxis], 0.0, values)
    return np.where(empty, np.nan, reduce(filled, axis=1))
