"""Variation as tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from plurivox.base.wording import interval_method, intervals_over, named
from plurivox.domain.axis import names_raters
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
from plurivox.infer.weighting import beside_unweighted, not_both
from plurivox.lenses.variation.result import Variation
from plurivox.statistics.registry import LABELS, of_role

COMPONENTS = {
    "item": "item", "group": "group", "rater": "rater", "group_item": "group × item", "rest": "rest",
}  # fmt: skip
"""What tables call the components of variance, in their order."""
REPEATED = {"percent": "same point", "alpha": "alpha", "change": "mean change"}
SHARES = "Shares of the variance in scores, in %; a negative estimate counts as 0"
NOT_WEIGHTED = "Components of variance, reliability, drift and repeats are unweighted: all raters count equally."
SHOWN_K = (1, 2, 3, 5, 10, 20, 50)
TESTS = columns(P, ("p", "p corrected"))


def tables(found: Variation) -> list[View]:
    """Return all tables of a result."""
    shown = [*_groups(found), _contrasts(found), *_pairs(found), _adjusted(found)]
    shown += beside_unweighted([row for row in found.rows if row.kind == "group"], _headings())
    return filled(*shown, _drifts(found), *_repeats(found), components(found), reliability(found))


def brief(found: Variation) -> list[View]:
    """Return the groups of all axes in one table, shares of variance, and whatever else was requested."""
    alone = list(filter(names_raters, found.axes))
    title, over = "Who rates higher on the same items", intervals_over(found.settings)
    view = compact(found, without=alone, title=title, over=over)
    shares = components(found, f"{SHARES}; intervals with --all", intervals=False)
    more = [*_raters(found), _contrasts(found), *_pairs(found), _adjusted(found), _drifts(found), *_repeats(found)]
    return filled(view, *more, shares)


def _headings() -> dict[str, str]:
    return {record.name: record.heading for record in of_role("higher")}


def _groups(found: Variation) -> list[View]:
    """Return who rates higher, one table per axis and set of items."""
    headings = _headings()
    header = ["group", "raters", "items", *columns(TESTED_RANGE, headings.values()), *TESTS]
    over = f"; 95 % intervals {interval_method(found.settings)}" if found.settings["interval"] != "none" else ""
    shown = []
    for axis, subset, rows in _places(found):
        groups: dict[str, dict[str, Row]] = {}
        for row in rows:
            if row.kind == "group" and row.statistic in headings:
                groups.setdefault(row.group, {})[row.statistic] = row
        lines = [
            [group, first.n_raters, first.n_items, *(own[name] for name in headings), first.p_value, first.p_adjusted]
            for group, own in groups.items()
            for first in [own["leniency"]]
        ]
        title = f"{axis}: who rates higher on the same items{'' if subset == 'all' else f', {subset}'}"
        shown += [View(f"{title}{over}", header, lines), _of_raters(subset, rows)]
    return shown


def _raters(found: Variation) -> list[View]:
    return [_of_raters(subset, rows) for _, subset, rows in _places(found)]


def _of_raters(subset: str, rows: list[Row]) -> View:
    """Return how values spread over individual raters."""
    values: dict[str, list[float]] = {LABELS[name]: [] for name in (*_headings(), "drift")}
    for row in rows:
        if row.kind == "rater":
            values[LABELS[row.statistic]].append(row.value)
    title = f"Individual raters{'' if subset == 'all' else f', {subset}'}"
    return spread_view(title, {name: own for name, own in values.items() if own})


def _places(found: Variation) -> Iterable[tuple[str, str, list[Row]]]:
    """Yield each axis and set of items with its rows."""
    for axis in found.axes:
        for subset in dict.fromkeys(row.subset for row in found.rows if row.axis == axis):
            yield axis, subset, [row for row in found.rows if (row.axis, row.subset) == (axis, subset)]


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
    for row in _on(found.components(), parts).iter_rows(named=True):
        share, low, high = (None if row[name] is None else 100 * row[name] for name in ("share", "ci_low", "ci_high"))
        value = Value(share, low, high, "(negative)" * (row["variance"] < 0))
        by = ALL_RATERS if row["axis"] == "all" else row["axis"]
        lines.setdefault(_where(by, row), {})[row["component"]] = value
    header = ["by", *columns(".1f [.1f]" if intervals else ".1f", COMPONENTS.values())]
    return View(title, header, [[by, *(own.get(name, "") for name in COMPONENTS)] for by, own in lines.items()])


def _on(frame: pl.DataFrame, parts: bool) -> pl.DataFrame:
    return frame if parts else frame.filter(subset="all")


def _where(name: str, row: dict[str, Any]) -> str:
    return name if row["subset"] == "all" else f"{name}, {row['subset']}"


def reliability(found: Variation, *, parts: bool = False) -> View:
    """Return how reliable means of some raters are, and how many raters a reliable mean needs."""
    keys, lines = ("axis", "group", "subset"), []
    curves = {key: dict(own.select("k", "relative").iter_rows()) for key, own in found.reliability().group_by(*keys)}
    for row in _on(found.needed(), parts).iter_rows(named=True):
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
