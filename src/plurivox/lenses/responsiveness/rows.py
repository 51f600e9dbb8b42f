"""The rows of a responsiveness result: all raters, the groups of an axis, raters one by one, contrasts and families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.grouping import raters_who_rated, warn_apart
from plurivox.engine.intervals import Interval
from plurivox.engine.permutation import PermutationResult, among_peers, upper_p
from plurivox.engine.run import Values
from plurivox.lenses.inference import Inference, Pair, Sizes
from plurivox.lenses.responsiveness.raters import RaterResponses
from plurivox.lenses.responsiveness.references import CROWD, Reference
from plurivox.lenses.responsiveness.result import Scored
from plurivox.lenses.responsiveness.settings import ResponsivenessSettings
from plurivox.lenses.responsiveness.sums import Responses, Support
from plurivox.ratings import Ratings, chosen_rows
from plurivox.results.result import Draws, Row
from plurivox.scale import Scale
from plurivox.statistics import undefined
from plurivox.statistics.registry import with_trait
from plurivox.statistics.responsiveness_records import MEASURES

COLUMNS = tuple(enumerate(MEASURES))
"""All statistics, and where each stands among the values."""
MIN_SUPPORT = 5
"""A score given to fewer items than this is noted beside what weighs every score alike."""


class Found(NamedTuple):
    """Rows of an axis, its draws, and the tables behind its values."""

    rows: list[Row]
    draws: Draws
    scored: Scored


@dataclass(frozen=True, slots=True, eq=False)
class Analysis:
    """One call of :func:`plurivox.responsiveness` on one set of items: what all of its axes share."""

    ratings: Ratings
    reference: Reference
    settings: ResponsivenessSettings
    strata: NDArray[np.int32] | None
    inference: Inference

    @property
    def subset(self) -> str:
        """The set of items."""
        return self.inference.subset

    def overall(self) -> Found:
        """Return the rows of all raters together; against the crowd there is nobody left to compare them with."""
        responses = self._responses(np.zeros(self.ratings.n_raters, np.int32), 1)
        nobody = np.full((self.settings.bootstrap, 1, len(MEASURES)), np.nan)
        resampled = nobody if self.reference.kind == CROWD else self.inference.resampled(responses, "all")
        usage = np.bincount(self.ratings.scores, minlength=len(self.ratings.scale))[np.newaxis]
        n_rated = int(np.count_nonzero(raters_who_rated(self.ratings)))
        sizes = np.array([self.ratings.n_raters if self.subset == "all" else n_rated])
        return self._found("overall", "all", ("all",), responses, sizes, usage, None, resampled)

    def axis(self, axis: Axis) -> Found:
        """Return the rows of the groups of an axis."""
        if axis.attributes == ("rater",):
            return self._raters(axis)
        if self.subset == "all" and self.settings.permutations:
            warn_apart(self.ratings, axis)
        responses = self._responses(axis.codes, len(axis))
        null = self.inference.null(responses, axis.name)
        resampled = self.inference.resampled(responses, axis.name)
        return self._found(
            "group", axis.name, axis.groups, responses, axis.sizes, _usage(self.ratings, axis), null, resampled,
            axis.withheld,
        )  # fmt: skip

    def values(self, name: str, axes: Sequence[Axis]) -> Found:
        """Return the rows of overlapping groups, each the first of two on an axis of its own."""
        rows, draws, found = self.inference.overlapping(name, axes, self.axis, MEASURES, MEASURES)
        n_points = len(self.ratings.scale)

        def together(arrays: list[NDArray[Any]], *like: int) -> NDArray[Any]:
            return np.concatenate([np.zeros((0, *like)), *(array[:1] for array in arrays)])

        tables = together([one.scored.tables for one in found], n_points, self.reference.n_points)
        votes = together([one.scored.votes for one in found], n_points)
        usage = together([one.scored.usage for one in found], n_points)
        return Found(rows, draws, Scored(name, draws.groups, tables, votes, usage, self.subset))

    def contrast(self, axis: Axis, groups: tuple[str, str], found: Found, kind: str = "contrast") -> list[Row]:
        """Return the difference of two groups; only their raters are shuffled, and only among each other."""
        pair = Pair.of(axis, groups)
        responses = self._responses(axis.codes, len(axis), among=pair.among)
        _, values = responses.observed()
        null = self.inference.null(responses, pair.what)
        first, second = (found.draws.bootstrap[:, [found.draws.groups.index(group)]] for group in groups)
        support, both = responses.votes(), [pair.a, pair.b]
        sizes = (
            int(axis.sizes[both].sum()), int(support.n_items[both].min()), int(support.n_ratings[both].sum())
        )  # fmt: skip
        return self.inference.contrast(kind, pair, COLUMNS, values, null, first - second, sizes)

    def pairs(self, axis: Axis, found: Found) -> list[Row]:
        """Return the difference of every two groups."""
        return [row for two in combinations(axis.shown, 2) for row in self.contrast(axis, two, found, kind="pair")]

    def family(self, axis: Axis, condition: dict[str, Any], found: Found) -> list[Row]:
        """Return how the groups that share a value lie against all others: mean difference, all lowest, all highest.

        "All lowest" is the gap from the highest of them up to the lowest other group: positive if every one of them
        lies below every other.
        """
        members = np.unique(axis.codes[chosen_rows(self.ratings.raters, condition, "rater")])
        inside = np.isin([axis.groups.index(group) for group in axis.shown], members)
        if inside.all() or not inside.any():
            return []
        observed = np.array([[row.value for row in found.rows if row.group == group] for group in axis.shown])
        name = " and ".join(f"{attribute} = {value}" for attribute, value in condition.items())
        own = [row for row in found.rows if row.statistic == MEASURES[0] and row.group in np.array(axis.shown)[inside]]
        sizes = (sum(row.n_raters for row in own), max(row.n_items for row in own), sum(row.n_ratings for row in own))
        rows = []
        for what, measure in (("against the others", _difference), ("all lowest", _lowest), ("all highest", _highest)):
            values = measure(observed[np.newaxis], inside)
            null = measure(found.draws.null, inside)[:, np.newaxis]
            test = self.inference.test(values, null)
            if test is not None and measure is not _difference:
                test = test._replace(p_value=upper_p(values, null))
            interval = self.inference.interval(measure(found.draws.bootstrap, inside)[:, np.newaxis])
            reason = "undefined in all of them, or in all others"
            notes = {name: reason for at, name in COLUMNS if np.isnan(values[0, at])}
            label = (f"{name} ({len(own)} of {len(inside)} groups), {what}",)
            rows += self.inference.rows("family", axis.name, label, COLUMNS, values, [sizes], [notes], interval, test)
        return rows

    def _raters(self, axis: Axis) -> Found:
        """Return the rows of every rater, compared with the other raters of their stratum."""
        responses = RaterResponses.of(self.ratings, self.reference, capped=self._capped)
        tables, values = responses.observed()
        usage = _usage(self.ratings, axis)
        order = np.argsort(axis.codes, kind="stable")  # raters by their names' order
        order = order[~axis.withheld[axis.codes[order]]]
        support = responses.votes().of(order)
        interval, kept = None, np.zeros((0, len(axis.codes), len(MEASURES)))
        if self.settings.bootstrap:
            how = self.inference.doing("resampling raters")
            whole, kept = responses.bootstrap(self.settings.bootstrap, self.settings.seed, how)
            interval = Interval(whole.low[order], whole.high[order], whole.n_undefined[order])
        test = None
        if self.settings.permutations:
            test = among_peers(values[order], None if self.strata is None else self.strata[order])
            test = test._replace(n_undefined=np.zeros_like(test.n_undefined))  # of raters, not of draws
        rows = self._rows(
            "rater", axis.name, axis.shown, tables[order], values[order], np.ones(len(order), np.int64), support,
            interval, test,
        )  # fmt: skip
        null = np.zeros((0, len(order), len(MEASURES)))
        return Found(
            rows,
            Draws(axis.name, axis.shown, MEASURES, null, MEASURES, kept[:, order], self.subset),
            Scored(axis.name, axis.shown, tables[order], support.votes, usage[~axis.withheld], self.subset),
        )

    def _found(
        self,
        kind: str,
        name: str,
        groups: tuple[str, ...],
        responses: Responses,
        sizes: NDArray[np.int64],
        usage: NDArray[np.int64],
        null: Values | None,
        resampled: Values,
        withheld: NDArray[np.bool_] | None = None,
    ) -> Found:
        """Return the rows of the groups that may be shown."""
        shown = np.arange(len(groups)) if withheld is None else np.flatnonzero(~withheld)
        names = tuple(groups[g] for g in shown)
        tables, values = (array[shown] for array in responses.observed())
        support = responses.votes().of(shown)
        everyone = kind == "overall" and self.reference.kind in (CROWD, "group")
        alone = "nobody is left as the reference" if everyone else undefined.NO_REFERENCE
        null = np.zeros((0, len(shown), len(MEASURES))) if null is None else null[:, shown]
        rows = self._rows(
            kind, name, names, tables, values, sizes[shown], support, self.inference.interval(resampled[:, shown]),
            self.inference.test(values, null) if len(null) else None, alone,
        )  # fmt: skip
        return Found(
            rows,
            Draws(name, names, MEASURES, null, MEASURES, resampled[:, shown], self.subset),
            Scored(name, names, tables, support.votes, usage[shown], self.subset),
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
        test: PermutationResult | None,
        alone: str = undefined.NO_REFERENCE,
    ) -> list[Row]:
        """Put rows together, with notes on why values are undefined or what to beware of."""
        sizes: list[Sizes] = list(
            zip(n_raters.tolist(), support.n_items.tolist(), support.n_ratings.tolist(), strict=True)
        )
        notes = notes_of(tables, values, support.votes, self.ratings.scale, self.settings.min_support, alone)
        return self.inference.rows(kind, axis, groups, COLUMNS, values, sizes, notes, interval, test)

    def _responses(
        self, codes: NDArray[np.int32], n_groups: int, *, among: NDArray[np.bool_] | None = None
    ) -> Responses:
        wanted = self.settings
        return Responses.of(
            self.ratings, codes, n_groups, self.reference, group_score=wanted.group_score, ties=wanted.ties,
            seed=wanted.seed, capped=self._capped, strata=self.strata, among=among,
        )  # fmt: skip

    @property
    def _capped(self) -> bool:
        return self.settings.convention != "published"


def notes_of(
    tables: Values,
    values: Values,
    votes: Values,
    scale: Scale,
    min_support: float = MIN_SUPPORT,
    alone: str = undefined.NO_REFERENCE,
) -> list[dict[str, str]]:
    """Tell for each group why values are undefined, or what to beware of; ``alone`` if it meets no reference."""
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
            left_out = f"{n_boundaries - n_defined[g]} of {n_boundaries} boundaries have a single class, left out"
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
    group = axis.codes[ratings.codes_of_raters]
    inside = group >= 0
    cells = group[inside].astype(np.int64) * len(ratings.scale) + ratings.scores[inside]
    return np.bincount(cells, minlength=len(axis) * len(ratings.scale)).reshape(len(axis), -1).astype(np.int64)


def _difference(values: Values, inside: NDArray[np.bool_]) -> Values:
    return _over(np.nanmean, values[:, inside]) - _over(np.nanmean, values[:, ~inside])


def _lowest(values: Values, inside: NDArray[np.bool_]) -> Values:
    return _over(np.nanmin, values[:, ~inside]) - _over(np.nanmax, values[:, inside])


def _highest(values: Values, inside: NDArray[np.bool_]) -> Values:
    return _over(np.nanmin, values[:, inside]) - _over(np.nanmax, values[:, ~inside])


def _over(reduce: Any, values: Values) -> Values:
    """Reduce over the defined groups; NaN where there is none."""
    empty: NDArray[np.bool_] = np.asarray(np.isnan(values).all(axis=1))
    filled = np.where(empty[:, np.newaxis], 0.0, values)
    return np.where(empty, np.nan, reduce(filled, axis=1))
