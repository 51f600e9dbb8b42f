"""The rows of a responsiveness result: all raters, the groups of an axis, raters one by one, contrasts and families."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plurivox.axis import Axis
from plurivox.engine.grouping import warn_apart
from plurivox.engine.intervals import Interval, percentile_interval
from plurivox.engine.permutation import PermutationResult, among_peers, compare, upper_p
from plurivox.engine.run import Values
from plurivox.engine.running import Running
from plurivox.errors import SelectionError
from plurivox.lenses.responsiveness.passes import STATISTICS, RaterResponses, Responses, Support
from plurivox.lenses.responsiveness.references import CROWD, Reference
from plurivox.lenses.responsiveness.result import Scored
from plurivox.ratings import Ratings, chosen_rows
from plurivox.results.result import Draws, Row
from plurivox.scale import Scale
from plurivox.statistics import undefined

WEIGHED_BY_SCORE = ("mpa_raw", "mpa", "hm", "hm_of_means")
"""What weighs every score alike, so that rarely used ones matter."""
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
    permutations: int
    bootstrap: int
    resample: str
    seed: int
    convention: str
    strata: NDArray[np.int32] | None
    group_score: str
    ties: str
    min_support: float
    subset: str
    running: Running

    def overall(self) -> Found:
        """Return the rows of all raters together; against the crowd there is nobody left to compare them with."""
        passes = self._passes(np.zeros(self.ratings.n_raters, np.int32), 1)
        nobody = np.full((self.bootstrap, 1, len(STATISTICS)), np.nan)
        resampled = nobody if self.reference.kind == CROWD else self._resampled(passes, "all")
        usage = np.bincount(self.ratings.scores, minlength=len(self.ratings.scale))[np.newaxis]
        n_rated = len(np.unique(self.ratings.codes_of_raters))
        sizes = np.array([self.ratings.n_raters if self.subset == "all" else n_rated])
        return self._found("overall", "all", ("all",), passes, sizes, usage, None, resampled)

    def axis(self, axis: Axis) -> Found:
        """Return the rows of the groups of an axis."""
        if axis.attributes == ("rater",):
            return self._raters(axis)
        if self.subset == "all" and self.permutations:
            warn_apart(self.ratings, axis)
        passes = self._passes(axis.codes, len(axis))
        null = passes.null(self.permutations, self.seed, self._telling(f"permuting {axis.name}"))
        resampled = self._resampled(passes, axis.name)
        usage = _usage(self.ratings, axis)
        return self._found("group", axis.name, axis.groups, passes, axis.sizes, usage, null, resampled, axis.withheld)

    def values(self, name: str, axes: Sequence[Axis]) -> Found:
        """Return the rows of overlapping groups, each the first of two on an axis of its own."""
        parts = [(axis.groups[0], self.axis(axis)) for axis in axes if not axis.withheld.any()]
        rows = [row for group, found in parts for row in found.rows if row.group == group]

        def together(arrays: list[Any], like: tuple[int, ...], along: int) -> NDArray[Any]:
            return np.concatenate([np.zeros(like), *arrays], axis=along)

        shown = tuple(group for group, _ in parts)
        n_points, n_statistics = len(self.ratings.scale), len(STATISTICS)
        null = together([found.draws.null[:, :1] for _, found in parts], (self.permutations, 0, n_statistics), 1)
        kept = together([found.draws.bootstrap[:, :1] for _, found in parts], (self.bootstrap, 0, n_statistics), 1)
        scored = [found.scored for _, found in parts]
        tables = together([one.tables[:1] for one in scored], (0, n_points, self.reference.n_points), 0)
        votes = together([one.votes[:1] for one in scored], (0, n_points), 0)
        usage = together([one.usage[:1] for one in scored], (0, n_points), 0)
        return Found(
            rows,
            Draws(name, shown, STATISTICS, null, STATISTICS, kept, self.subset),
            Scored(name, shown, tables, votes, usage, self.subset),
        )

    def contrast(self, axis: Axis, groups: tuple[str, str], found: Found, kind: str = "contrast") -> list[Row]:
        """Return the difference of two groups; only their raters are shuffled, and only among each other."""
        a, b = (axis.groups.index(group) for group in groups)
        if axis.withheld[a] or axis.withheld[b]:
            raise SelectionError(f"{groups[0]} or {groups[1]} is withheld as too small to show")
        what = f"{axis.name}: {groups[0]} − {groups[1]}"
        passes = self._passes(axis.codes, len(axis), among=(axis.codes == a) | (axis.codes == b))
        _, values = passes.observed()
        null = passes.null(self.permutations, self.seed, self._telling(f"permuting {what}"))
        first, second = (found.draws.bootstrap[:, [found.draws.groups.index(group)]] for group in groups)
        return self._rows(
            kind,
            axis.name,
            (f"{groups[0]} − {groups[1]}",),
            values[[a]] - values[[b]],
            percentile_interval(first - second) if self.bootstrap else None,
            self._test(values[[a]] - values[[b]], null[:, [a]] - null[:, [b]]),
            axis.sizes[[a, b]].sum(keepdims=True),
            _together(passes.votes(), [a, b]),
            _where_undefined(values[a] - values[b], "undefined in one of the two"),
        )  # fmt: skip

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
        own = [row for row in found.rows if row.statistic == "mpa" and row.group in np.array(axis.shown)[inside]]
        sizes = np.array([sum(row.n_raters for row in own)])
        support = Support(
            np.zeros((1, 0)), np.array([max(row.n_items for row in own)]), np.array([sum(row.n_ratings for row in own)])
        )
        rows = []
        for what, measure in (("against the others", _difference), ("all lowest", _lowest), ("all highest", _highest)):
            values = measure(observed[np.newaxis], inside)
            null = measure(found.draws.null, inside)
            test = self._test(values, null[:, np.newaxis])
            if test is not None and measure is not _difference:
                test = test._replace(p_value=upper_p(values, null[:, np.newaxis]))
            kept = found.draws.bootstrap
            interval = percentile_interval(measure(kept, inside)[:, np.newaxis]) if len(kept) else None
            note = _where_undefined(values[0], "undefined in all of them, or in all others")
            label = (f"{name} ({len(own)} of {len(inside)} groups), {what}",)
            rows += self._rows("family", axis.name, label, values, interval, test, sizes, support, note)
        return rows

    def _raters(self, axis: Axis) -> Found:
        """Return the rows of every rater, compared with the other raters of their stratum."""
        passes = RaterResponses.of(self.ratings, self.reference, capped=self.convention != "published")
        tables, values = passes.observed()
        support, usage = passes.votes(), _usage(self.ratings, axis)
        order = np.argsort(axis.codes, kind="stable")  # raters by their names' order
        order = order[~axis.withheld[axis.codes[order]]]
        interval, kept = None, np.zeros((0, len(axis.codes), len(STATISTICS)))
        if self.bootstrap:
            interval, kept = passes.bootstrap(self.bootstrap, self.seed, self._telling("resampling raters"))
            interval = Interval(interval.low[order], interval.high[order], interval.n_undefined[order])
        strata = None if self.strata is None else self.strata[order]
        test = among_peers(values[order], strata) if self.permutations else None
        support = support.of(order)
        rows = self._rows(
            "rater", axis.name, axis.shown, values[order], interval, test, np.ones(len(order), np.int64), support,
            self._notes(tables[order], support.votes),
        )  # fmt: skip
        null = np.zeros((0, len(order), len(STATISTICS)))
        return Found(
            rows,
            Draws(axis.name, axis.shown, STATISTICS, null, STATISTICS, kept[:, order], self.subset),
            Scored(axis.name, axis.shown, tables[order], support.votes, usage[~axis.withheld], self.subset),
        )

    def _found(
        self,
        kind: str,
        name: str,
        groups: tuple[str, ...],
        passes: Responses,
        sizes: NDArray[np.int64],
        usage: NDArray[np.int64],
        null: Values | None,
        resampled: Values,
        withheld: NDArray[np.bool_] | None = None,
    ) -> Found:
        """Return the rows of the groups that may be shown."""
        shown = np.arange(len(groups)) if withheld is None else np.flatnonzero(~withheld)
        names = tuple(groups[g] for g in shown)
        tables, values = passes.observed()
        votes = passes.votes()
        support = votes.of(shown)
        everyone = kind == "overall" and self.reference.kind in (CROWD, "group")
        alone = "nobody is left as the reference" if everyone else undefined.NO_REFERENCE
        empty = np.zeros((0, len(groups), len(STATISTICS)))
        null = empty if null is None else null
        rows = self._rows(
            kind, name, names, values[shown],
            percentile_interval(resampled[:, shown]) if self.bootstrap else None,
            self._test(values[shown], null[:, shown]) if len(null) else None,
            sizes[shown], support, self._notes(tables[shown], support.votes, alone),
        )  # fmt: skip
        return Found(
            rows,
            Draws(name, names, STATISTICS, null[:, shown], STATISTICS, resampled[:, shown], self.subset),
            Scored(name, names, tables[shown], support.votes, usage[shown], self.subset),
        )

    def _rows(
        self,
        kind: str,
        axis: str,
        groups: Sequence[str],
        values: Values,
        interval: Interval | None,
        test: PermutationResult | None,
        sizes: NDArray[np.int64],
        support: Support,
        notes: Sequence[dict[str, str]],
    ) -> list[Row]:
        """Put rows together, groups × statistics."""
        rows = []
        for g, group in enumerate(groups):
            for at, name in enumerate(STATISTICS):
                row = Row(
                    kind, axis, group, name, float(values[g, at]),
                    ci_low=None if interval is None else float(interval.low[g, at]),
                    ci_high=None if interval is None else float(interval.high[g, at]),
                    p_value=None if test is None else float(test.p_value[g, at]),
                    direction=None if test is None else test.direction[g, at],
                    null_median=None if test is None else float(test.null_median[g, at]),
                    n_raters=int(sizes[g]), n_items=int(support.n_items[g]), n_ratings=int(support.n_ratings[g]),
                    note=notes[g].get(name, ""), subset=self.subset,
                )  # fmt: skip
                if interval is not None:
                    row = row.with_undefined(int(interval.n_undefined[g, at]) / self.bootstrap, "bootstrap draws")
                if not row.note and np.isnan(row.value) and name in ("hm", "hm_of_means"):
                    row = row.with_note("MPA and WRA add up to 0")  # where MPA is not capped
                if test is not None and kind != "rater":  # raters are compared with each other, without draws
                    row = row.with_undefined(int(test.n_undefined[g, at]) / self.permutations)
                rows.append(row)
        return rows

    def _notes(self, tables: Values, votes: Values, alone: str = undefined.NO_REFERENCE) -> list[dict[str, str]]:
        return notes_of(tables, votes, self.ratings.scale, self.min_support, alone)

    def _passes(self, codes: NDArray[np.int32], n_groups: int, *, among: NDArray[np.bool_] | None = None) -> Responses:
        return Responses.of(
            self.ratings, codes, n_groups, self.reference, group_score=self.group_score, ties=self.ties, seed=self.seed,
            capped=self.convention != "published", strata=self.strata, among=among,
        )  # fmt: skip

    def _resampled(self, passes: Responses, what: str) -> Values:
        return passes.bootstrap(self.bootstrap, self.seed, self.resample, self._telling(f"resampling {what}"))

    def _test(self, values: Values, null: Values) -> PermutationResult | None:
        return compare(values, null) if self.permutations else None

    def _telling(self, what: str) -> Running:
        where = "" if self.subset == "all" else f"{self.subset}: "
        return self.running.doing(where + what)


def notes_of(
    tables: Values, votes: Values, scale: Scale, min_support: float = MIN_SUPPORT, alone: str = undefined.NO_REFERENCE
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
    notes: list[dict[str, str]] = []
    for g in range(len(tables)):
        if total[g] == 0:
            notes.append(dict.fromkeys(STATISTICS, alone))
            continue
        if n_defined[g] == 0:
            reason = _single_class(by_point[g], n_boundaries)
            notes.append({name: reason for name in STATISTICS if name != "mpa_raw"})
            continue
        note = dict.fromkeys(STATISTICS, "")
        if n_defined[g] < n_boundaries:
            left_out = f"{n_boundaries - n_defined[g]} of {n_boundaries} boundaries have a single class, left out"
            note = dict.fromkeys(STATISTICS, left_out)
        if one_score[g]:
            note["kendall_tau_b"] = note["spearman_rho"] = undefined.ONE_SCORE
        elif rare[g].any():
            scores = ", ".join(str(scale.labels[c]) for c in np.flatnonzero(rare[g]))
            remark = f"fewer than {min_support:g} items with score {scores}"
            for name in WEIGHED_BY_SCORE:
                note[name] = f"{note[name]}; {remark}" if note[name] else remark
        notes.append(note)
    return notes


def _single_class(by_point: Values, n_boundaries: int) -> str:
    if n_boundaries > 1:
        return "all reference ratings are the same point"
    return undefined.ALL_UNSAFE if by_point[1] > 0 else undefined.ALL_SAFE


def _together(support: Support, groups: list[int]) -> Support:
    """Return what two groups rest on: the items of the one that has fewer, and the ratings of both."""
    n_items, n_ratings = support.n_items[groups], support.n_ratings[groups]
    return Support(support.votes[:1], n_items.min(keepdims=True), n_ratings.sum(keepdims=True))


def _where_undefined(values: Values, reason: str) -> list[dict[str, str]]:
    """Return the notes of one group: a reason beside each undefined value."""
    return [{name: reason for name, value in zip(STATISTICS, values, strict=True) if np.isnan(value)}]


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
