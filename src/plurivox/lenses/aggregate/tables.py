"""Aggregation as tables of text."""

from __future__ import annotations

from collections.abc import Sequence

from plurivox.base.wording import intervals_over
from plurivox.infer.result import Row
from plurivox.infer.text import Shown, interval_text, mark_of, notes_of, number_cell
from plurivox.lenses.aggregate.result import Aggregation
from plurivox.lenses.aggregate.settings import CALLED
from plurivox.statistics.registry import LABELS, of_role

TITLES = {
    "departure": "how far labels lie from what a group says, in points",
    "overruled": "share of items whose label is not the group's most frequent point, in %",
    "label_shift": "how far a group's mean lies above the labels, in points",
}
"""What the table of a statistic is called."""
NOT_WEIGHTED = (
    "Plurality, mean and posterior, and what groups say, are weighted. Dawid–Skene, MACE and the ordinal model count "
    "all raters equally: their truth is not the view of a population."
)


def tables(found: Aggregation) -> list[Shown]:
    """Return all tables of a result as text."""
    shown = [*_groups(found, [record.name for record in of_role("hidden")], intervals=True), *_methods(found)]
    return [one for one in (*shown, *_differing(found)) if one.rows]


def brief(found: Aggregation) -> list[Shown]:
    """Return how far labels lie from each group, how often its majority is overruled, and how methods differ."""
    shown = [*_groups(found, ["departure", "overruled"], intervals=False), *_methods(found)]
    return [one for one in shown if one.rows]


def _groups(found: Aggregation, statistics: Sequence[str], *, intervals: bool) -> list[Shown]:
    """Return a table per statistic: a line for each group, a column for each method."""
    methods = found.settings["methods"]
    shown = []
    for name in statistics:
        lines, last = [], ""
        for (axis, group), rows in _by_group(found, name).items():
            if axis not in (last, "all"):
                lines.append([axis, *[""] * (len(methods) + 1)])
            last = axis
            first = next(iter(rows.values()))
            called = "all raters" if axis == "all" else f" {group}"
            cells = [_cell(rows[method], intervals=intervals) for method in methods]
            lines.append([called, f"{first.n_raters:,}", *cells])
        over = intervals_over(found.settings) if intervals else ""
        title = f"What one label per item hides: {TITLES[name]}{f'; {over}' if over else ''}"
        shown.append(Shown(title, ["group", "raters", *(CALLED[method] for method in methods)], lines))
    return shown


def _by_group(found: Aggregation, statistic: str) -> dict[tuple[str, str], dict[str, Row]]:
    grouped: dict[tuple[str, str], dict[str, Row]] = {}
    for row in found.rows:
        if row.statistic == statistic:
            grouped.setdefault((row.axis, row.group), {})[row.model] = row
    return grouped


def _cell(row: Row, *, intervals: bool) -> str:
    scale, form = (100.0, ".0f") if row.statistic == "overruled" else (1.0, ".2f")
    low, high = (None if end is None else scale * end for end in (row.ci_low, row.ci_high))
    value, low, high = (None if one is None else round(one, 2) + 0.0 for one in (scale * row.value, low, high))
    text = interval_text(value, *((low, high) if intervals else (None, None)), form, ends=form)
    mark = mark_of(row)
    return f"{text} {mark}" if mark and text != "–" else text


def _methods(found: Aggregation) -> list[Shown]:
    """Return how sure the labels of each method are, and how its fit went."""
    differing = found.differing()
    first = found.settings["methods"][0]
    beside = {row["other"]: row for row in differing.iter_rows(named=True) if row["method"] == first}
    lines = [
        [
            CALLED[row["method"]], number_cell(row["mean_confidence"]), f"{row['n_tied']:,}",
            f"{beside[row['method']]['n_differ']:,}" if row["method"] in beside else "–",
            "–" if row["iterations"] is None else f"{row['iterations']:,}",
            {None: "–", True: "yes", False: "no"}[row["converged"]],
        ]
        for row in found.methods().iter_rows(named=True)
    ]  # fmt: skip
    header = ["method", "mean confidence", "tied", f"differ from {CALLED[first]}", "rounds", "converged"]
    return [Shown("Methods, each of which assumes one true label per item", header, lines)]


def _differing(found: Aggregation) -> list[Shown]:
    lines = [
        [CALLED[row["method"]], CALLED[row["other"]], f"{row['n_differ']:,}", number_cell(row["share"])]
        for row in found.differing().iter_rows(named=True)
    ]
    return [Shown("Items to which two methods give different labels", ["method", "other", "items", "share"], lines)]


def notes(found: Aggregation) -> list[str]:
    """Return why values are undefined, and what to be careful about; notes shared by all methods appear once."""
    first = found.settings["methods"][0]
    said = notes_of([row for row in found.rows if row.model == first], LABELS)
    return [*said, NOT_WEIGHTED] if "weights" in found.settings else said
