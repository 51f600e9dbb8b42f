"""Variation as tables of text."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.base.wording import interval_method, intervals_over, named
from plurivox.domain.axis import names_raters
from plurivox.infer.compact import MOST_LINES, Compact, compact
from plurivox.infer.result import Row
from plurivox.infer.text import (
    Shown,
    interval_text,
    notes_of,
    number_cell,
    p_cell,
    quantile_cells,
    spread_header,
    value_cell,
)
from plurivox.infer.weighting import beside_unweighted, not_both
from plurivox.lenses.variation.result import Variation
from plurivox.statistics.registry import LABELS, of_role

COMPONENTS = {
    "item": "item", "group": "group", "rater": "rater", "group_item": "group × item", "rest": "rest",
}  # fmt: skip
"""What tables call the components of variance, in their order."""
SHARES = "Shares of the variance in scores, in %; a negative estimate counts as 0"
NOT_WEIGHTED = "Components of variance, reliability, drift and repeats are unweighted: all raters count equally."
SHOWN_K = (1, 2, 3, 5, 10, 20, 50)


def tables(found: Variation) -> list[Shown]:
    """Return all tables of a result as text."""
    shown = _groups(found) + _contrasts(found) + _pairs(found) + _adjusted(found)
    shown += beside_unweighted([row for row in found.rows if row.kind == "group"], _headings())
    shown += [*_drifts(found), *_repeats(found), *_components(found), *_reliability(found)]
    return [one for one in shown if one.rows]


def brief(found: Variation) -> list[Shown | Compact]:
    """Return the groups of all axes in one table, shares of variance, and whatever else was requested."""
    alone = list(filter(names_raters, found.axes))
    title, over = "Who rates higher on the same items", intervals_over(found.settings)
    view = compact(found, MOST_LINES, without=alone, title=title, over=over)
    more = [one for one in _groups(found) if one.header == spread_header()]
    more += [*_contrasts(found), *_pairs(found), *_adjusted(found), *_drifts(found), *_repeats(found)]
    shares = _components(found, f"{SHARES}; intervals with --all", intervals=False)
    return [*([view] if view.lines else []), *(one for one in (*more, *shares) if one.rows)]


def _headings() -> dict[str, str]:
    return {record.name: record.heading for record in of_role("higher")}


def _groups(found: Variation) -> list[Shown]:
    """Return who rates higher, one table per axis and set of items."""
    headings = _headings()
    shown = []
    for axis in found.axes:
        for subset in dict.fromkeys(row.subset for row in found.rows if row.axis == axis):
            rows = [row for row in found.rows if (row.axis, row.subset) == (axis, subset)]
            title = f"{axis}: who rates higher on the same items{'' if subset == 'all' else f', {subset}'}"
            own = [row for row in rows if row.kind == "group" and row.statistic in headings]
            lines = [
                [group, f"{own_rows['leniency'].n_raters:,}", f"{own_rows['leniency'].n_items:,}",
                 *(value_cell(own_rows[name], intervals=True) for name in headings),
                 p_cell(own_rows["leniency"].p_value), p_cell(own_rows["leniency"].p_adjusted)]
                for group, own_rows in _by_group(own).items()
            ]  # fmt: skip
            if own:
                header = ["group", "raters", "items", *headings.values(), "p", "p corrected"]
                shown.append(Shown(f"{title}; 95 % intervals {interval_method(found.settings)}"
                                   if found.settings["interval"] != "none" else title, header, lines))  # fmt: skip
            each = [row for row in rows if row.kind == "rater"]
            known = [name for name in (*headings, "drift") if any(row.statistic == name for row in each)]
            if each:
                shown.append(Shown(f"Individual raters{'' if subset == 'all' else f', {subset}'}", spread_header(), [
                    [LABELS[name], *quantile_cells(_values(each, name))] for name in known
                ]))  # fmt: skip
    return shown


def _values(rows: list[Row], name: str) -> Any:
    import numpy as np

    return np.array([row.value for row in rows if row.statistic == name])


def _by_group(rows: list[Row]) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.group, {})[row.statistic] = row
    return found


def _contrasts(found: Variation) -> list[Shown]:
    rows = [row for row in found.rows if row.kind == "contrast"]
    lines = [
        [row.group, row.subset, LABELS[row.statistic], value_cell(row, intervals=True), p_cell(row.p_value)]
        for row in rows
    ]
    return [Shown("Two groups on the items that both rated", ["groups", "items", "statistic", "value", "p"], lines)]


def _pairs(found: Variation) -> list[Shown]:
    rows = [row for row in found.pair_rows if row.statistic == "leniency"]
    shown = []
    for axis in dict.fromkeys(row.axis for row in rows):
        own = [row for row in rows if row.axis == axis]
        lines = [
            [row.group, row.other, row.subset, value_cell(row, intervals=True), p_cell(row.p_value),
             p_cell(row.p_adjusted)]
            for row in own
        ]  # fmt: skip
        header = ["group", "compared with", "items", "higher by", "p", "p corrected"]
        shown.append(Shown(f"{axis}: every pair of groups", header, lines))
    return shown


def _adjusted(found: Variation) -> list[Shown]:
    lines = [
        [
            row["attribute"], row["group"], f"{row['n_raters']:,}",
            interval_text(row["unadjusted"], row["unadjusted_low"], row["unadjusted_high"]),
            interval_text(row["effect"], row["ci_low"], row["ci_high"]),
            interval_text(row["deviation"], row["deviation_low"], row["deviation_high"]),
        ]
        for row in found.adjusted().filter(pl.col("subset") == "all").iter_rows(named=True)
    ]  # fmt: skip
    references = found.adjusted().unique("attribute", maintain_order=True).iter_rows(named=True)
    beside = ", ".join(f"{row['attribute']}: {row['reference']}" for row in references)
    header = ["attribute", "group", "raters", "alone", "with the others", "against all raters"]
    return [Shown(f"All attributes at once, compared with the reference ({beside})", header, lines)]


def _drifts(found: Variation) -> list[Shown]:
    unit = "day" if found.settings["time_unit"] == "days" else "unit of time"
    lines = [
        [named(row.axis, row.group), f"{row.n_raters:,}", f"{row.n_ratings:,}",
         interval_text(row.value, row.ci_low, row.ci_high, ".2g", ends=".2g"), p_cell(row.p_value),
         p_cell(row.p_adjusted)]
        for row in found.rows
        if row.statistic == "drift" and row.kind == "group"
    ]  # fmt: skip
    header = ["raters", "n", "ratings", f"points per {unit}", "p", "p corrected"]
    return [Shown("Drift: do scores of the same items rise or fall over time", header, lines)]


def _repeats(found: Variation) -> list[Shown]:
    names = {"percent": "same point", "alpha": "alpha", "change": "mean change"}
    lines = [
        [
            named(row["axis"], row["group"]), f"{row['n_raters']:,}", f"{row['n_pairs']:,}", names[row["statistic"]],
            interval_text(row["within"], row["ci_low"], row["ci_high"]),
            interval_text(row["between"], row["between_ci_low"], row["between_ci_high"]),
        ]
        for row in found.repeats().iter_rows(named=True)
        if row["axis"] != "rater"
    ]  # fmt: skip
    header = ["raters", "n", "pairs", "statistic", "with themselves", "with each other"]
    alone = found.repeats().filter(axis="rater")
    each = [
        [names[name], *quantile_cells(alone.filter(statistic=name)["within"].to_numpy())]
        for name in (names if alone.height else ())
    ]
    return [
        Shown("Items rated again: raters with themselves, and with each other on these items", header, lines),
        Shown("Items rated again: individual raters, with themselves", spread_header(), each),
    ]


def _components(found: Variation, title: str = SHARES, *, intervals: bool = True) -> list[Shown]:
    frame = found.components()
    lines = []
    for axis in frame["axis"].unique(maintain_order=True):
        own = {
            row["component"]: row
            for row in frame.filter((pl.col("axis") == axis) & (pl.col("subset") == "all")).iter_rows(named=True)
        }
        lines.append(
            ["all raters" if axis == "all" else axis, *(_share(own.get(name), intervals) for name in COMPONENTS)]
        )
    return [Shown(title, ["by", *COMPONENTS.values()], lines)]


def _share(row: dict[str, Any] | None, intervals: bool) -> str:
    if row is None:
        return ""
    share, low, high = (None if row[name] is None else 100 * row[name] for name in ("share", "ci_low", "ci_high"))
    text = interval_text(share, *((low, high) if intervals else (None, None)), ".1f", ends=".1f")
    return f"{text} (negative)" if row["variance"] < 0 else text


def _reliability(found: Variation) -> list[Shown]:
    curve, needed = found.reliability(), found.needed()
    lines = []
    for row in needed.filter(pl.col("subset") == "all").iter_rows(named=True):
        if row["axis"] != "all" and row["group"] == "all":
            continue  # nearly the same as of all raters
        own = curve.filter(
            (pl.col("subset") == "all") & (pl.col("axis") == row["axis"]) & (pl.col("group") == row["group"])
        )
        at = dict(zip(own["k"].to_list(), own["relative"].to_list(), strict=True))
        who = "all raters" if row["axis"] == "all" else f"{row['axis']}: {row['group']}"
        lines.append([
            who, f"{row['ratings_per_item']:.1f}", *(number_cell(at[k]) for k in SHOWN_K),
            number_cell(row["relative"], ",.0f"), number_cell(row["absolute"], ",.0f"),
        ])  # fmt: skip
    target = f"{found.settings['target']:g}".removeprefix("0")
    header = ["raters", "per item", *(f"k = {k}" for k in SHOWN_K), f"k for {target}", "if raters differ"]
    return [Shown("Reliability of a mean of k raters", header, lines)]


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
