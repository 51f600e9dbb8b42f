"""Variation as tables: what scores vary by, what more raters buy, and what a terminal shows of everything."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from plurivox.base.wording import interval_method, intervals_over, named
from plurivox.domain.axis import names_raters
from plurivox.engine.run import Values
from plurivox.infer.claims import beside_unweighted, not_both
from plurivox.infer.intervals import NORMAL_95
from plurivox.infer.jackknife import LeftOut
from plurivox.infer.result import Row
from plurivox.infer.view import (
    ALL_RATERS,
    RANGE,
    TESTED_RANGE,
    Column,
    P,
    Value,
    View,
    columns,
    compact,
    filled,
    notes_of,
    spread_view,
    view_of,
)
from plurivox.lenses.variation.result import Variation
from plurivox.lenses.variation.sums import COMPARED, GroupLeniency
from plurivox.statistics.registry import LABELS, of_role
from plurivox.statistics.variance import NESTED, WITHIN, raters_needed, shares
from plurivox.statistics.variance import reliability as reliability_of

# Components of variance and reliability -------------------------------------------------------------------------------

MOST_RATERS = 100
"""The most raters for which the reliability of their mean is given."""
SCHEMAS: dict[str, dict[str, Any]] = {"components": {
    "subset": pl.String, "axis": pl.String, "component": pl.String, "variance": pl.Float64, "share": pl.Float64,
    "ci_low": pl.Float64, "ci_high": pl.Float64, "n_raters": pl.Int64, "n_items": pl.Int64, "n_ratings": pl.Int64,
    "note": pl.String,
}, "reliability": {
    "subset": pl.String, "axis": pl.String, "group": pl.String, "k": pl.Int64, "relative": pl.Float64,
    "relative_low": pl.Float64, "relative_high": pl.Float64, "absolute": pl.Float64, "absolute_low": pl.Float64,
    "absolute_high": pl.Float64, "ceiling": pl.Float64, "note": pl.String,
}, "needed": {
    "subset": pl.String, "axis": pl.String, "group": pl.String, "target": pl.Float64, "relative": pl.Float64,
    "relative_low": pl.Float64, "relative_high": pl.Float64, "absolute": pl.Float64, "absolute_low": pl.Float64,
    "absolute_high": pl.Float64, "ratings_per_item": pl.Float64, "note": pl.String,
}}  # fmt: skip
"""What scores vary by, how reliable means of raters are, and how many raters reach a reliability."""
_SCALES = {"item": "logit", "rater": "logit", "rest": "logit", "group": "plain", "group_item": "plain"}
_FIRST = len(COMPARED)
_NEGATIVE = "the estimate is negative, so the variance is small compared with sampling error; it counts as 0"
_Parts = Callable[[Values], tuple[Values, Values, Values]]  # variance of items, and of relative and absolute errors
_Rows = list[tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class ComponentTables:
    """The source of the tables of one axis on one set of items.

    Attributes
    ----------
    subset, axis
        Their names.
    groups
        The groups that are shown, and the position of each among the values.
    measured
        The sums.
    left
        Values without each item and rater, None without intervals.
    target
        The reliability to reach.
    overlapping
        Whether a rater may be in several groups, so that no variance lies between them.
    """

    subset: str
    axis: str
    groups: Sequence[tuple[str, int]]
    measured: GroupLeniency
    left: LeftOut | None
    target: float
    overlapping: bool = False

    def rows(self) -> dict[str, _Rows]:
        """Return the rows of all tables, in the order of the columns of :data:`SCHEMAS`."""
        # What a mean of raters of all groups, and of one, measures and how it errs, each from its own components.
        each: list[tuple[str, slice, _Parts, str]] = []
        if self.axis != "all" and not self.overlapping:

            def of_axis(values: Values) -> tuple[Values, Values, Values]:
                item, group, rater, crossed, rest = np.moveaxis(values[..., -1, _FIRST:], -1, 0)
                relative = np.maximum(rest, 0.0) + np.maximum(crossed, 0.0)
                return item, relative, relative + np.maximum(rater, 0.0) + np.maximum(group, 0.0)

            each.append(("all", slice(None), of_axis, self._why(self.values[-1, _FIRST:], NESTED)))
        here = slice(_FIRST, _FIRST + len(WITHIN))
        for name, at in self.groups:

            def of_group(values: Values, at: int = at) -> tuple[Values, Values, Values]:
                item, rater, rest = np.moveaxis(values[..., at, here], -1, 0)
                relative = np.maximum(rest, 0.0)
                return item, relative, relative + np.maximum(rater, 0.0)

            each.append((name, slice(at, at + 1), of_group, self._why(self.values[at, here], WITHIN)))
        curves = [self._curve(*one) for one in each]
        return {
            "components": self._components(), "reliability": [row for rows, _ in curves for row in rows],
            "needed": [needed for _, needed in curves],
        }  # fmt: skip

    @cached_property
    def values(self) -> Values:
        """Groups and axis × statistics, as observed."""
        if self.left is not None:
            return self.left.observed
        values: Values = self.measured.finish(self.measured.observed)[0]
        return values

    def _components(self) -> _Rows:
        if self.axis != "all" and self.overlapping:
            return []
        names, row = (WITHIN, 0) if self.axis == "all" else (NESTED, -1)
        here = slice(_FIRST, _FIRST + len(names))
        variances = self.values[row, here]
        low = high = np.full(len(names), np.nan)
        if self.left is not None:
            made = self._made(lambda values: shares(values[..., row, here]))
            ranges = [(-np.inf, np.inf) if name == "group" else (0.0, 1.0) for name in names]
            ends = made.interval([_SCALES[name] for name in names], ranges)
            low, high = ends.low[0], ends.high[0]
            if row < 0:
                at = names.index("group")
                low[at], high[at] = np.clip(self._widened(low[at], high[at], variances), 0.0, 1.0)
        note, sizes = self._why(variances, names), self._sizes(slice(None))
        numbers = np.stack([variances, np.clip(shares(variances), 0.0, 1.0), low, high], axis=1).tolist()
        return [
            (self.subset, self.axis, name, *own, *sizes, note or (_NEGATIVE if own[0] < 0 else ""))
            for name, own in zip(names, numbers, strict=True)
        ]

    def _widened(self, low: float, high: float, variances: Values) -> tuple[float, float]:
        """Return an interval for the share of groups that allows for sampling error where groups hardly differ.

        The estimate is a mean square of group means minus τ, what sampling adds to it. Near 0, a square hardly moves
        when a unit is left out, so the jackknife misses the variance 2τ²/(G − 1) that the mean square has by itself.
        """
        from plurivox.kernels.variation import CELLS, RATINGS

        sums, codes = self.measured.observed, self.measured.grouping.codes
        groups = sums["groups"][0]
        rated = groups[:, RATINGS] > 0
        counts = np.bincount(codes[codes >= 0], sums["raters"][0, codes >= 0, 0] ** 2, minlength=len(groups))
        n, cells, raters = groups[rated, RATINGS], groups[rated, CELLS], counts[rated]
        _, _, rater, crossed, rest = np.maximum(variances, 0.0)
        whole = float(np.maximum(variances, 0.0).sum())
        if whole == 0.0:  # all scores are the same
            return low, high
        sampling = float(np.mean(rater * raters / n**2 + crossed / cells + rest / n))
        spread = math.sqrt(2 / max(len(n) - 1, 1)) * sampling / whole
        middle, half = (low + high) / 2, math.hypot((high - low) / 2, NORMAL_95 * spread)
        return middle - half, middle + half

    def _made(self, change: Callable[[Values], Values]) -> LeftOut:
        """Return what a function of all values becomes without each unit; it removes the dimension of groups."""
        assert self.left is not None
        return self.left.made(lambda values: change(values)[..., np.newaxis, :])

    def _curve(self, group: str, at: slice, parts: _Parts, note: str) -> tuple[_Rows, tuple[Any, ...]]:
        """Return how reliable means of raters are, a row for each number of raters, and how many reach the target.

        For one rater, relative reliability is r; for k raters, its log odds are those of r plus log k, and the same
        holds for the ends of its interval (Spearman and Brown).
        """
        item, *errors = (float(part) for part in parts(self.values))
        ends = np.full((2, 2), np.nan)
        if self.left is not None:

            def single(values: Values) -> Values:
                own, *errors = parts(values)
                return np.stack([reliability_of(own, error) for error in errors], axis=-1)

            found = self._made(single).interval(["logit"] * 2, [(0.0, 1.0)] * 2)
            ends = np.stack([found.low[0], found.high[0]], axis=1)
        n_raters, n_items, n_ratings = self._sizes(at)
        if not note and not item > 0:
            note = "items do not differ by more than chance, so there is nothing to tell apart"
        k = np.arange(1, MOST_RATERS + 1, dtype=float)
        columns: list[Values] = []
        needed: list[float] = []
        for error, (low, high) in zip(errors, ends, strict=True):
            columns += [reliability_of(item, error, k), *(k * end / (1 + (k - 1) * end) for end in (low, high))]
            needed.append(float(raters_needed(item, error, self.target)))
            needed += [float(raters_needed(end, 1 - end, self.target)) for end in (high, low)]
        columns.append(np.sqrt(columns[0] if n_ratings == n_raters * n_items else columns[3]))  # the same rated all
        key = (self.subset, self.axis, group)
        numbers = zip(*(column.tolist() for column in columns), strict=True)
        rows = [(*key, at, *own, note) for at, own in enumerate(numbers, 1)]
        return rows, (*key, self.target, *needed, n_ratings / max(n_items, 1), note)

    def _sizes(self, at: slice) -> tuple[int, int, int]:
        """Return raters, items and ratings of one group, or of all."""
        from plurivox.kernels.variation import CELLS, ITEMS, RATINGS

        sums, codes = self.measured.observed, self.measured.grouping.codes
        groups = sums["groups"][0, at]
        n_items = sums["items"][0, ITEMS] if at == slice(None) else groups[0, CELLS]
        inside = codes >= 0 if at == slice(None) else codes == at.start
        n_raters = np.count_nonzero(sums["raters"][0, inside, 0] > 0)
        return int(n_raters), int(n_items), int(groups[:, RATINGS].sum())

    def _why(self, variances: Values, names: Sequence[str]) -> str:
        """Say why components cannot be separated."""
        if np.isfinite(variances).all():
            return "" if (variances > 0).any() else "all scores are the same"
        from plurivox.kernels.variation import CELLS, RATINGS

        n_raters, n_items, n_ratings = self._sizes(slice(None))
        groups = self.measured.observed["groups"][0]
        if len(names) == len(NESTED) and np.count_nonzero(groups[:, RATINGS]) < 2:
            return "there is only one group"
        if n_items < 2 or n_raters < 2:
            return f"there is only one {'item' if n_items < 2 else 'rater'}"
        if len(names) == len(NESTED) and groups[:, CELLS].sum() == n_ratings:
            return "no two raters of one group rated the same item"
        return "the design leaves them undetermined: too few raters share items, or raters rated only single items"


# Tables of text -------------------------------------------------------------------------------------------------------

COMPONENTS = {
    "item": "item", "group": "group", "rater": "rater", "group_item": "group × item", "rest": "rest",
}  # fmt: skip
"""What tables call the components of variance, in their order."""
REPEATED = {"percent": "same point", "alpha": "alpha", "change": "mean change"}
SHARES = "Shares of the variance in scores, in %; a negative estimate counts as 0"
NOT_WEIGHTED = "Components of variance, reliability, drift and repeats are unweighted: all raters count equally."
SHOWN_K = (1, 2, 3, 5, 10, 20, 50)
TESTS = columns(P, ("p", "p corrected"))
HEADINGS = {record.name: record.heading for record in of_role("higher")}


def tables(found: Variation) -> list[View]:
    """Return all tables of a result."""
    shown = [*_groups(found), _contrasts(found), *_pairs(found), _adjusted(found)]
    shown += beside_unweighted([row for row in found.rows if row.kind == "group"], HEADINGS)
    return filled(*shown, _drifts(found), *_repeats(found), components(found), reliability(found))


def brief(found: Variation) -> list[View]:
    """Return the groups of all axes in one table, shares of variance, and whatever else was requested."""
    alone = list(filter(names_raters, found.axes))
    title, over = "Who rates higher on the same items", intervals_over(found.settings)
    view = compact(found, without=alone, title=title, over=over)
    shares = components(found, f"{SHARES}; intervals with --all", intervals=False)
    raters = [_of_raters(subset, rows) for _, subset, rows in _places(found)]
    more = [*raters, _contrasts(found), *_pairs(found), _adjusted(found), _drifts(found), *_repeats(found)]
    return filled(view, *more, shares)


def _groups(found: Variation) -> list[View]:
    """Return who rates higher, one table per axis and set of items."""
    header = ["group", "raters", "items", *columns(TESTED_RANGE, HEADINGS.values()), *TESTS]
    over = f"; 95 % intervals {interval_method(found.settings)}" if found.settings["interval"] != "none" else ""
    shown = []
    for axis, subset, rows in _places(found):
        groups: dict[str, dict[str, Row]] = {}
        for row in rows:
            if row.kind == "group" and row.statistic in HEADINGS:
                groups.setdefault(row.group, {})[row.statistic] = row
        lines = [
            [group, first.n_raters, first.n_items, *(own[name] for name in HEADINGS), first.p_value, first.p_adjusted]
            for group, own in groups.items()
            for first in [own["leniency"]]
        ]
        title = f"{axis}: who rates higher on the same items{'' if subset == 'all' else f', {subset}'}"
        shown += [View(f"{title}{over}", header, lines), _of_raters(subset, rows)]
    return shown


def _of_raters(subset: str, rows: list[Row]) -> View:
    """Return how values spread over individual raters."""
    own = [row for row in rows if row.kind == "rater"]
    values = {name: [row.value for row in own if row.statistic == name] for name in (*HEADINGS, "drift")}
    title = f"Individual raters{'' if subset == 'all' else f', {subset}'}"
    return spread_view(title, {LABELS[name]: each for name, each in values.items() if each})


def _places(found: Variation) -> Iterable[tuple[str, str, list[Row]]]:
    """Yield each axis and set of items with its rows."""
    for axis in found.axes:
        own = [row for row in found.rows if row.axis == axis]
        for subset in dict.fromkeys(row.subset for row in own):
            yield axis, subset, [row for row in own if row.subset == subset]


def _contrasts(found: Variation) -> View:
    rows = [row for row in found.rows if row.kind == "contrast"]
    lines = [[row.group, row.subset, LABELS[row.statistic], row, row.p_value] for row in rows]
    header = ["groups", "items", "statistic", Column("value", TESTED_RANGE), TESTS[0]]
    return View("Two groups on the items that both rated", header, lines)


def _pairs(found: Variation) -> list[View]:
    rows = [row for row in found.pair_rows if row.statistic == "leniency"]
    header = ["group", "compared with", "items", Column("higher by", TESTED_RANGE), *TESTS]
    return [
        View(f"{axis}: every pair of groups", header, [
            [row.group, row.other, row.subset, row, row.p_value, row.p_adjusted] for row in rows if row.axis == axis
        ])
        for axis in dict.fromkeys(row.axis for row in rows)
    ]  # fmt: skip


def _adjusted(found: Variation) -> View:
    frame = found.adjusted()
    references = frame.unique("attribute", maintain_order=True).select("attribute", "reference").iter_rows()
    beside = ", ".join(": ".join(pair) for pair in references)
    names = {
        "attribute": "attribute", "group": "group", "n_raters": "raters", "unadjusted": Column("alone", RANGE),
        "effect": Column("with the others", RANGE), "deviation": Column("against all raters", RANGE),
    }  # fmt: skip
    return view_of(f"All attributes at once, compared with the reference ({beside})", frame.filter(subset="all"), names)


def _drifts(found: Variation) -> View:
    unit = "day" if found.settings["time_unit"] == "days" else "unit of time"
    lines = [
        [named(row.axis, row.group), row.n_raters, row.n_ratings, row, row.p_value, row.p_adjusted]
        for row in found.rows
        if row.statistic == "drift" and row.kind == "group"
    ]
    header = ["raters", "n", "ratings", Column(f"points per {unit}", ".2g [.2g]"), *TESTS]
    return View("Drift: do scores of the same items rise or fall over time", header, lines)


def _repeats(found: Variation) -> list[View]:
    frame = found.repeats()
    lines = [
        [
            named(row["axis"], row["group"]), row["n_raters"], row["n_pairs"], REPEATED[row["statistic"]],
            Value(row["within"], row["ci_low"], row["ci_high"]),
            Value(row["between"], row["between_ci_low"], row["between_ci_high"]),
        ]
        for row in frame.filter(pl.col("axis") != "rater").iter_rows(named=True)
    ]  # fmt: skip
    header = ["raters", "n", "pairs", "statistic", *columns(RANGE, ("with themselves", "with each other"))]
    alone = frame.filter(axis="rater")
    values = {to: alone.filter(statistic=name)["within"].to_list() for name, to in REPEATED.items() if alone.height}
    return [
        View("Items rated again: raters with themselves, and with each other on these items", header, lines),
        spread_view("Items rated again: individual raters, with themselves", values),
    ]


def components(found: Variation, title: str = SHARES, *, intervals: bool = True, parts: bool = False) -> View:
    """Return the shares of the components of variance, overall and for each axis; of parts of the items if wanted."""
    lines: dict[str, dict[str, Value]] = {}
    frame = found.components()
    for row in (frame if parts else frame.filter(subset="all")).iter_rows(named=True):
        share, low, high = (None if row[name] is None else 100 * row[name] for name in ("share", "ci_low", "ci_high"))
        value = Value(share, low, high, "(negative)" * (row["variance"] < 0))
        by = ALL_RATERS if row["axis"] == "all" else row["axis"]
        lines.setdefault(_where(by, row), {})[row["component"]] = value
    header = ["by", *columns(".1f [.1f]" if intervals else ".1f", COMPONENTS.values())]
    return View(title, header, [[by, *(own.get(name, "") for name in COMPONENTS)] for by, own in lines.items()])


def _where(name: str, row: dict[str, Any]) -> str:
    return name if row["subset"] == "all" else f"{name}, {row['subset']}"


def reliability(found: Variation, *, parts: bool = False) -> View:
    """Return how reliable means of some raters are, and how many raters a reliable mean needs."""
    keys, lines = ("axis", "group", "subset"), []
    curves = {key: dict(own.select("k", "relative").iter_rows()) for key, own in found.reliability().group_by(*keys)}
    frame = found.needed()
    for row in (frame if parts else frame.filter(subset="all")).iter_rows(named=True):
        if row["axis"] != "all" and row["group"] == "all":
            continue  # nearly the same as of all raters
        at = curves[tuple(row[key] for key in keys)]
        who = ALL_RATERS if row["axis"] == "all" else f"{row['axis']}: {row['group']}"
        needed = [Value(row[kind], row[f"{kind}_low"], row[f"{kind}_high"]) for kind in ("relative", "absolute")]
        lines.append([_where(who, row), row["ratings_per_item"], *(at[k] for k in SHOWN_K), *needed])
    target = f"{found.settings['target']:g}".removeprefix("0")
    header = ["raters", Column("per item", ".1f"), *columns(".2f", (f"k = {k}" for k in SHOWN_K))]
    header += columns(",.0f", (f"k for {target}", "if raters differ"))
    return View("Reliability of a mean of k raters", header, lines)


def notes(found: Variation) -> list[str]:
    """Return why values are undefined, and what to be careful about."""
    main = [row for row in found.rows if row.kind in ("group", "contrast")]
    said = notes_of(main, LABELS)
    if "weights" in found.settings:
        said += [NOT_WEIGHTED, *not_both(found.settings, found.rows)]
    said += [
        f"{row['attribute']} {row['group']}, all attributes at once: {row['note']}"
        for row in found.adjusted().filter(pl.col("note") != "").iter_rows(named=True)
    ]
    return said
