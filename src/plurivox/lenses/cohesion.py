"""Cohesion: which groups see things alike, and is it more than chance.

The six statistics, GAI and DSI are those of Prabhakaran et al., *GRASP: A Disagreement Analysis Framework to Assess
Group Associations in Perspectives* (NAACL 2024); percent agreement and Gwet's AC1 and AC2 stand beside alpha.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plurivox.axis import MIN_GROUP_SIZE, Axis, By, memberships
from plurivox.errors import DifferentItemsWarning, InputError, SelectionError
from plurivox.inference.bootstrap import Interval, percentile_interval
from plurivox.inference.multiplicity import METHODS, adjust
from plurivox.inference.permutation import CONVENTIONS, compare, max_t
from plurivox.lenses.cohesion_result import Cohesion, Row
from plurivox.lenses.passes import BESIDE, OF_ONE_SIDE, STATISTICS, Parts, Passes, Running, Values, strata_of
from plurivox.ratings import Ratings
from plurivox.statistics import cohesion_parts, undefined
from plurivox.statistics.checks import level_of
from plurivox.statistics.levels import Level
from plurivox.statistics.ties import TIES
from plurivox.tallies import Counts, tally

RESAMPLE = ("items", "raters", "both")
SKEWED = 0.9
"""From this share of one point on, with high percent agreement, a low alpha misleads."""
APART = 0.5
"""Below this share of items in common with the rest, a group is said to have seen different items."""
MANY_UNDEFINED = 0.05

Report = Callable[[str, int, int], object]
"""Progress: what is being done, how many draws are done, how many there are."""


def cohesion(
    ratings: Ratings,
    by: By | Sequence[By],
    *,
    level: str | ArrayLike = "nominal",
    permutations: int = 1000,
    bootstrap: int = 0,
    resample: str = "items",
    seed: int = 0,
    convention: str = "default",
    within: str | tuple[str, ...] | None = None,
    correction: str = "bh",
    ties: str = "share",
    several: Mapping[str, str] | None = None,
    pairs: bool = False,
    contrast: tuple[str, str] | None = None,
    min_group_size: int = MIN_GROUP_SIZE,
    threads: int | None = None,
    executor: Executor | None = None,
    progress: Report | None = None,
) -> Cohesion:
    """Tell which groups of raters agree among themselves more than with the others.

    Parameters
    ----------
    ratings
        Who rated what.
    by
        Rater attributes, and crossings of several: ``["age", ("race", "gender")]``.
    level
        How far apart two points are: ``"nominal"``, ``"ordinal"``, ``"interval"``, or a matrix of distances.
    permutations
        How often rater profiles are shuffled to see what chance does; 0 for values without p.
    bootstrap, resample
        How many bootstrap draws for 95 % intervals, of ``"items"``, ``"raters"`` (within their groups) or ``"both"``.
    seed
        Same seed, same result, whatever the threads and the order of rows.
    convention
        ``"default"``, or ``"published"`` for the p-values and the cross-negentropy of the GRASP paper.
    within
        A rater attribute (or several) whose values raters are only shuffled within, such as recruitment batch.
    correction
        How p-values of one statistic over all groups are corrected: bh, by, holm, bonferroni or none.
    ties
        Who gets an item's vote when points tie: they ``"share"`` it, the ``"lowest"``, or one at ``"random"`` by seed.
    several
        Attributes of which a rater may have several values, and what separates them: ``{"race": ";"}``. Each value
        makes a group, whose rest are those without it. Such groups overlap, so they are neither crossed nor paired.
    pairs
        Whether to compare every pair of groups of an axis, too.
    contrast
        Two groups of one axis whose difference to report.
    min_group_size
        Groups with fewer raters are withheld and counted.
    threads, executor
        How many threads to use, all by default; or whose threads.
    progress
        Called with what is being done, how far it is, and how far it goes.

    Returns
    -------
    Cohesion
        With ``to_frame()``, ``findings()``, ``pairs``, ``to_json()`` and the draws.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=40, n_raters=60, effects=[pv.Effect({"gender": "Man"}, shared_sd=1.5)], seed=4)
    >>> result = pv.cohesion(study.ratings, "gender", permutations=99)
    >>> result.value("gender", "Man", "gai") > 1
    True
    """
    axes_by: list[By] = [by] if isinstance(by, str) or _is_crossing(by) else list(by)  # type: ignore[list-item]
    _check_choice("resample", resample, RESAMPLE)
    _check_choice("convention", convention, CONVENTIONS)
    _check_choice("correction", correction, tuple(METHODS))
    _check_choice("ties", ties, TIES)
    known_level = level_of(level, len(ratings.scale))
    overlapping = _overlapping(axes_by, several or {}, pairs=pairs)
    axes = [Axis.of(ratings, one, min_group_size=min_group_size) for one in axes_by]
    if len({axis.name for axis in axes}) < len(axes):
        raise SelectionError("an axis is listed twice", hint="List each attribute or crossing once.")
    work = _Work(
        ratings, known_level, permutations, bootstrap, resample, seed, convention, correction,
        strata_of(ratings, within), ties, Running(threads, executor), progress,
    )  # fmt: skip
    rows = work.overall()
    draws: dict[str, dict[str, Any]] = {}
    pair_rows: list[Row] = []
    withheld, outside = {}, {}
    for axis in axes:
        values = [axis]
        if axis.name in overlapping:
            values = memberships(ratings, axis.name, overlapping[axis.name], min_group_size=min_group_size)
            axis_rows, axis_draws = work.values(axis.name, values)
        else:
            axis_rows, axis_draws = work.axis(axis)
        rows += axis_rows
        draws[axis.name] = axis_draws
        withheld[axis.name] = axis.n_withheld if values == [axis] else sum(one.n_withheld > 0 for one in values)
        outside[axis.name] = axis.n_outside
        if axis.name in overlapping:
            continue
        if contrast is not None and set(contrast) <= set(axis.groups):
            rows += work.contrast(axis, contrast)
        if pairs:
            pair_rows += work.pairs(axis)
    if contrast is not None and not any(row.kind == "contrast" for row in rows):
        raise SelectionError(
            f"no axis has both groups {contrast[0]!r} and {contrast[1]!r}",
            hint=f"The groups shown are: {', '.join(g for axis in axes for g in axis.shown)}.",
        )
    settings = {
        "by": [list(axis.attributes) for axis in axes], "level": level if isinstance(level, str) else "matrix",
        "permutations": permutations, "bootstrap": bootstrap, "resample": resample, "seed": seed,
        "convention": convention, "within": within, "correction": correction, "ties": ties,
        "min_group_size": min_group_size, "several": overlapping, "question": "all",
    }  # fmt: skip
    return Cohesion(
        rows=tuple(_corrected(rows, axes, correction)),
        pair_rows=tuple(_corrected(pair_rows, axes, correction)),
        withheld=withheld,
        outside=outside,
        draws=draws,
        settings=settings,
    )


class _Work:
    """One call of :func:`cohesion`: what all axes share."""

    def __init__(
        self,
        ratings: Ratings,
        level: Level,
        permutations: int,
        bootstrap: int,
        resample: str,
        seed: int,
        convention: str,
        correction: str,
        strata: NDArray[np.int32] | None,
        ties: str,
        running: Running,
        progress: Report | None,
    ) -> None:
        if permutations < 0 or bootstrap < 0:
            raise InputError("permutations and bootstrap count draws", hint="Give 0 or more.")
        self._ratings = ratings
        self._level = level
        self._permutations = permutations
        self._bootstrap = bootstrap
        self._resample = resample
        self._seed = seed
        self._convention = convention
        self._strata = strata
        self._ties = ties
        self._running = running
        self._progress = progress

    def overall(self) -> list[Row]:
        """Return the rows of all raters together, who have no rest."""
        ratings = self._ratings
        passes = self._passes(np.zeros(ratings.n_raters, np.int32), 1)
        parts = passes.observed()
        values = passes.values(parts)[0, 0]
        interval = percentile_interval(self._resampled(passes, "all")) if self._bootstrap else None
        rows = []
        for name in OF_ONE_SIDE:
            at = STATISTICS.index(name)
            note = self._reason(name, parts, 0, ratings.n_raters, values) or ""
            row = Row("overall", "all", "all", name, float(values[at]), note=note)
            rows.append(row if interval is None else row.with_interval(interval.low[0, at], interval.high[0, at]))
        rows += self._beside("all", ("all",), None, interval)
        return _sized(rows, {"all": (ratings.n_raters, ratings.n_items, len(ratings))})

    def axis(self, axis: Axis) -> tuple[list[Row], dict[str, Any]]:
        """Return the rows of an axis, DSI among them, and its draws."""
        passes = self._passes(axis.codes, len(axis), strata=self._strata)
        parts = passes.observed()
        values = passes.values(parts)[0]
        null = self._shuffled(passes, axis.name)
        resampled = self._resampled(passes, axis.name) if self._bootstrap else None
        test = compare(values, null, convention=self._convention)
        interval = None if resampled is None else percentile_interval(resampled)
        rows = []
        for g in np.flatnonzero(~axis.withheld).tolist():
            for at, name in enumerate(STATISTICS):
                reason = self._reason(name, parts, g, int(axis.sizes[g]), values[g])
                row = Row("group", axis.name, axis.groups[g], name, float(values[g, at]), note=reason or "")
                if interval is not None:
                    row = row.with_interval(interval.low[g, at], interval.high[g, at])
                if self._permutations:
                    undefined_share = int(test.n_undefined[g, at]) / self._permutations
                    row = row.with_test(
                        test.p_value[g, at], test.direction[g, at], test.null_median[g, at], undefined_share
                    )
                rows.append(row)
        shown = np.flatnonzero(~axis.withheld)
        rows += self._beside(axis.name, axis.groups, axis, interval)
        self._warn_apart(axis, parts)
        sized = _sized(rows, _sizes(self._ratings, axis))
        sized += self._dsi(axis.name, axis.shown, values[shown], null[:, shown], sized)
        draws = {
            "groups": [axis.groups[g] for g in shown],
            "statistics": list(STATISTICS),
            "null": null[:, shown],
            "resampled": [*STATISTICS, *BESIDE],
            "bootstrap": np.zeros((0, len(shown), len(STATISTICS) + len(BESIDE)))
            if resampled is None
            else resampled[:, shown],
        }
        return sized, draws

    def values(self, name: str, axes: Sequence[Axis]) -> tuple[list[Row], dict[str, Any]]:
        """Return the rows of overlapping groups, each the first of two on an axis of its own, and their draws.

        All axes shuffle the same raters in the same way, so one draw is one shuffle of whole profiles.
        """
        rows: list[Row] = []
        shown: list[str] = []
        null, resampled = [], []
        for axis in axes:
            if axis.withheld.any():
                continue
            found, draws = self.axis(axis)
            rows += [row for row in found if row.kind != "dsi" and row.group == axis.groups[0]]
            shown.append(axis.groups[0])
            null.append(draws["null"][:, :1])
            resampled.append(draws["bootstrap"][:, :1])
        n_values = len(STATISTICS) + len(BESIDE)
        together = np.concatenate([np.zeros((self._permutations, 0, len(STATISTICS))), *null], axis=1)
        observed = np.array(
            [[row.value for row in rows if row.group == group and row.kind == "group"] for group in shown]
        ).reshape(len(shown), len(STATISTICS))
        rows += self._dsi(name, shown, observed, together, rows)
        draws = {
            "groups": shown,
            "statistics": list(STATISTICS),
            "null": together,
            "resampled": [*STATISTICS, *BESIDE],
            "bootstrap": np.concatenate([np.zeros((self._bootstrap, 0, n_values)), *resampled], axis=1),
        }
        return rows, draws

    def _dsi(self, name: str, shown: Sequence[str], values: Values, null: Values, rows: Sequence[Row]) -> list[Row]:
        """Return the largest GAI of the axis with a p-value of its own, raw and standardised."""
        at = STATISTICS.index("gai")
        largest = max_t(values[:, at], null[:, :, at])
        found = []
        for statistic, maximum in (("dsi", largest.raw), ("dsi_standardised", largest.standardised)):
            group = shown[maximum.index] if maximum.index >= 0 else ""
            sizes = next((row for row in rows if row.group == group), None)
            note = "" if group else "no group of this axis has a GAI"
            if statistic == "dsi_standardised" and not self._permutations:
                continue
            found.append(
                Row(
                    "dsi", name, group, statistic, maximum.value,
                    p_value=maximum.p_value if self._permutations else None,
                    null_median=float(np.nanmedian(maximum.null)) if np.isfinite(maximum.null).any() else None,
                    n_raters=sizes.n_raters if sizes else 0, n_items=sizes.n_items if sizes else 0,
                    n_ratings=sizes.n_ratings if sizes else 0, note=note,
                )
            )  # fmt: skip
        return found

    def contrast(self, axis: Axis, groups: tuple[str, str]) -> list[Row]:
        """Return the difference of two groups; only their raters are shuffled, and only among each other."""
        a, b = (axis.groups.index(group) for group in groups)
        if axis.withheld[a] or axis.withheld[b]:
            raise SelectionError(f"{groups[0]} or {groups[1]} is withheld as too small to show")
        among = (axis.codes == a) | (axis.codes == b)
        passes = self._passes(axis.codes, len(axis), strata=self._strata, among=among)
        values = passes.values(passes.observed())[0]
        null = self._shuffled(passes, f"{axis.name}: {groups[0]} − {groups[1]}")
        test = compare(values[a] - values[b], null[:, a] - null[:, b], convention=self._convention)
        interval = None
        if self._bootstrap:
            resampled = self._resampled(passes, f"{axis.name}: {groups[0]} − {groups[1]}")
            interval = percentile_interval(resampled[:, a] - resampled[:, b])
        sizes = _sizes(self._ratings, axis)
        n = [sum(pair) for pair in zip(sizes[groups[0]], sizes[groups[1]], strict=True)]
        rows = []
        for at, name in enumerate(STATISTICS):
            value = float(values[a, at] - values[b, at])
            note = "undefined in one of the two" if np.isnan(value) else ""
            row = Row("contrast", axis.name, f"{groups[0]} − {groups[1]}", name, value, note=note,
                      n_raters=n[0], n_items=self._ratings.n_items, n_ratings=n[2])  # fmt: skip
            if interval is not None:
                row = row.with_interval(interval.low[at], interval.high[at])
            if self._permutations:
                share = int(test.n_undefined[at]) / self._permutations
                row = row.with_test(test.p_value[at], test.direction[at], test.null_median[at], share)
            rows.append(row)
        return rows

    def pairs(self, axis: Axis) -> list[Row]:
        """Return XRR of every pair of groups, with the IRR of each group on the diagonal."""
        rows = []
        shown = np.flatnonzero(~axis.withheld).tolist()
        sizes = _sizes(self._ratings, axis)
        own = self._passes(axis.codes, len(axis))
        alone = own.values(own.observed())[0, :, STATISTICS.index("irr")]
        for g in shown:
            name = axis.groups[g]
            rows.append(Row("pair", axis.name, name, "irr", float(alone[g]), other=name).with_sizes(*sizes[name]))
        at = STATISTICS.index("xrr")
        for a, b in combinations(shown, 2):
            codes = np.select([axis.codes == a, axis.codes == b], [0, 1], -1).astype(np.int32)
            passes = self._passes(codes, 2, strata=self._strata)
            parts = passes.observed()
            values = passes.values(parts)[0, 0]
            first, second = axis.groups[a], axis.groups[b]
            reason = self._reason("xrr", parts, 0, int(axis.sizes[a]), values)
            row = Row("pair", axis.name, first, "xrr", float(values[at]), other=second, note=reason or "")
            row = row.with_sizes(*(a + b for a, b in zip(sizes[first], sizes[second], strict=True)))
            if self._permutations:
                null = self._shuffled(passes, f"{axis.name}: {first} and {second}")[:, 0, at]
                test = compare(values[at], null, convention=self._convention)
                share = int(test.n_undefined) / self._permutations
                row = row.with_test(float(test.p_value), test.direction.item(), float(test.null_median), share)
            rows.append(row)
        return rows

    def _beside(self, axis_name: str, groups: Sequence[str], axis: Axis | None, interval: Interval | None) -> list[Row]:
        """Return percent agreement, AC1 and AC2 of each group."""
        ratings = self._ratings
        numbers = np.array(ratings.scale.values)
        ac1 = tally(ratings, cohesion_parts.ac_parts, axis).total()
        ac2 = tally(ratings, partial(_ac2_parts, values=numbers), axis).total()
        rows: list[Row] = []
        for g, group in enumerate(groups):
            if axis is not None and axis.withheld[g]:
                continue
            found = {
                "percent_agreement": cohesion_parts.mean_from(ac1[g, 0], ac1[g, 1]),
                "ac1": cohesion_parts.ac_from(ac1[g, 0], ac1[g, 1], ac1[g, 2], ac1[g, 3:]),
                "ac2": cohesion_parts.ac_from(ac2[g, 0], ac2[g, 1], ac2[g, 2], ac2[g, 3:], numbers),
            }
            n_raters = None if axis is None else int(axis.sizes[g])
            note = undefined.why_mean(ac1[g, 1], "pairable", n_raters=n_raters) or ""
            for at, name in enumerate(BESIDE, start=len(STATISTICS)):
                row = Row("beside", axis_name, group, name, float(found[name]), note=note)
                rows.append(row if interval is None else row.with_interval(interval.low[g, at], interval.high[g, at]))
        return rows

    def _passes(
        self,
        codes: NDArray[np.int32],
        n_groups: int,
        *,
        strata: NDArray[np.int32] | None = None,
        among: NDArray[np.bool_] | None = None,
    ) -> Passes:
        return Passes.of(
            self._ratings, codes, n_groups, level=self._level, published=self._convention == "published",
            ties=self._ties, seed=self._seed, strata=strata, among=among,
        )  # fmt: skip

    def _shuffled(self, passes: Passes, what: str) -> Values:
        return passes.null(self._permutations, self._seed, self._telling(f"permuting {what}"))

    def _resampled(self, passes: Passes, what: str) -> Values:
        return passes.bootstrap(self._bootstrap, self._seed, self._resample, self._telling(f"resampling {what}"))

    def _telling(self, what: str) -> Running:
        return (
            self._running if self._progress is None else self._running._replace(progress=partial(self._progress, what))
        )

    def _reason(self, name: str, parts: Parts, g: int, n_raters: int, values: Values) -> str | None:
        """Tell why a value is undefined, or what to beware of."""
        from plurivox.kernels import cohesion as k

        sums, vectors = parts.sums[0, g], parts.vectors[0, g]
        why_irr = undefined.why_irr(vectors[k.MARGINALS], self._level, n_raters=n_raters)
        why_xrr = undefined.why_xrr(vectors[k.OWN], vectors[k.REST], self._level)
        reasons = {
            "irr": why_irr,
            "xrr": why_xrr,
            "gai": undefined.why_gai(float(values[STATISTICS.index("xrr")]), why_irr, why_xrr),
            "negentropy": undefined.why_mean(sums[k.RATED]),
            "plurality_size": undefined.why_mean(sums[k.RATED]),
            "cross_negentropy": undefined.why_mean(sums[k.SHARED], "common"),
            "voting_agreement": undefined.why_voting(vectors[k.OWN_VOTES], vectors[k.REST_VOTES]),
        }
        reason = reasons[name]
        if reason is None and name == "irr" and self._level == "nominal":
            return _skew(vectors[k.MARGINALS], sums[k.COINCIDENT], float(values[STATISTICS.index("irr")]))
        return reason

    def _warn_apart(self, axis: Axis, parts: Parts) -> None:
        from plurivox.kernels import cohesion as k

        shared, rated = parts.sums[0, :, k.SHARED], parts.sums[0, :, k.RATED]
        apart = [g for g in np.flatnonzero(~axis.withheld) if rated[g] > 0 and shared[g] < APART * rated[g]]
        if apart and len(axis) > 1:
            names = ", ".join(axis.groups[g] for g in apart[:3]) + (" and others" if len(apart) > 3 else "")
            warnings.warn(
                f"{axis.name}: {names} rated mostly items that nobody else did, so a difference may be one of items; "
                "if raters were assigned by batch or region, give it as within=",
                DifferentItemsWarning,
                stacklevel=4,
            )


def _ac2_parts(counts: Counts, values: NDArray[Any]) -> NDArray[Any]:
    return cohesion_parts.ac_parts(counts, values)


def _overlapping(by: Sequence[By], several: Mapping[str, str], *, pairs: bool) -> dict[str, str]:
    """Return the attributes of ``by`` with several values per rater; refuse what their groups cannot give."""
    found = {}
    for one in by:
        attributes = (one,) if isinstance(one, str) else tuple(one)
        overlap = [attribute for attribute in attributes if attribute in several]
        if overlap and (len(attributes) > 1 or pairs):
            what = "crossed with others" if len(attributes) > 1 else "compared in pairs"
            raise InputError(
                f"a rater may have several values of '{overlap[0]}', so its groups overlap and cannot be {what}",
                hint="Analyse it on its own, without pairs.",
            )
        found.update({attribute: several[attribute] for attribute in overlap})
    return found


def _is_crossing(by: object) -> bool:
    """Tell ``("race", "gender")``, one crossing, from ``["race", "gender"]``, two axes."""
    return isinstance(by, tuple) and all(isinstance(part, str) for part in by)


def _check_choice(name: str, value: str, allowed: Sequence[str]) -> None:
    if value not in allowed:
        raise InputError(f"{name} is {value!r}", hint=f"Choose one of {', '.join(allowed)}.")


def _skew(marginals: NDArray[Any], coincident: float, alpha: float) -> str | None:
    total = float(marginals.sum())
    top, agreement = float(marginals.max()) / total, float(coincident) / total
    if top < SKEWED or alpha > 0.5 * agreement:
        return None
    return f"{top:.0%} of the ratings are one point, where alpha is low even if raters agree; see AC1"


def _sizes(ratings: Ratings, axis: Axis) -> dict[str, tuple[int, int, int]]:
    """Return raters, items and ratings of each group."""
    group = axis.codes[ratings.codes_of_raters]
    inside = group >= 0
    n_ratings = np.bincount(group[inside], minlength=len(axis))
    cells = np.unique(group[inside].astype(np.int64) * ratings.n_items + ratings.item_codes[inside])
    n_items = np.bincount(cells // max(ratings.n_items, 1), minlength=len(axis))
    return {name: (int(axis.sizes[g]), int(n_items[g]), int(n_ratings[g])) for g, name in enumerate(axis.groups)}


def _sized(rows: Sequence[Row], sizes: dict[str, tuple[int, int, int]]) -> list[Row]:
    return [row.with_sizes(*sizes[row.group]) for row in rows]


def _corrected(rows: Sequence[Row], axes: Sequence[Axis], correction: str) -> list[Row]:
    """Correct p-values over each family: one statistic, one kind of hypothesis, all axes of the call."""
    binary = {axis.name for axis in axes if len(axis) == 2}
    families: dict[tuple[str, str], dict[tuple[str, ...], list[int]]] = {}
    for number, row in enumerate(rows):
        if row.p_value is None:
            continue
        # What the first group of two says of the second, the second says of the first: one hypothesis.
        same = row.kind == "group" and row.axis in binary and row.statistic in ("xrr", "voting_agreement")
        hypothesis = (row.axis,) if same else (row.axis, row.group, row.other)
        families.setdefault((row.kind, row.statistic), {}).setdefault(hypothesis, []).append(number)
    result = list(rows)
    for family in families.values():
        p = np.array([rows[numbers[0]].p_value for numbers in family.values()], dtype=float)
        for numbers, adjusted in zip(family.values(), adjust(p, correction), strict=True):
            for number in numbers:
                result[number] = result[number].with_adjusted(float(adjusted))
    return result
