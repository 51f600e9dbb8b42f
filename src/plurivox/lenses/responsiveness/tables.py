"""Responsiveness as tables of text."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import polars as pl

from plurivox.base.wording import interval_method, intervals_over
from plurivox.domain.axis import names_raters
from plurivox.domain.scale_names import Poles
from plurivox.infer.compact import MOST_LINES, Compact, compact
from plurivox.infer.result import Row
from plurivox.infer.text import Shown, notes_of, p_cell, quantile_cells, spread_header, value_cell
from plurivox.infer.weighting import beside_unweighted
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.statistics.registry import LABELS, names_of, with_trait

MAIN, TRADITIONAL, SCALED = (names_of(role) for role in ("main", "traditional", "scaled"))
MAX_COLUMNS = 12
NOT_WEIGHTED = "Use of the scale and psychometrics count all raters equally."


def tables(found: Responsiveness) -> list[Shown]:
    """Return all tables of a result as text."""
    shown: list[Shown] = []
    for subset in found.subsets:
        title = "" if subset == "all" else f"On {subset}: "
        if any(row.subset == subset and row.kind == "overall" and not math.isnan(row.value) for row in found.rows):
            shown.append(_values(found, "all", subset, f"{title}all raters together"))
        for axis in found.axes:
            make = _raters if names_raters(axis) else _values
            shown.append(make(found, axis, subset, f"{title}{axis}"))
    shown += _intervals(found) + _more(found) + _precision(found) + _correlations(found)
    main = [row for row in found.rows if row.kind in ("overall", "group")]
    return shown + beside_unweighted(main, {name: LABELS[name] for name in MAIN})


def brief(found: Responsiveness) -> list[Shown | Compact]:
    """Return the groups of all axes in one table, how values spread over raters, and whatever else was requested."""
    alone = list(filter(names_raters, found.axes))
    title = f"Whose scores convey severity, against {found.settings['reference']['name']}"
    view = compact(found, MOST_LINES, without=alone, title=title, over=intervals_over(found.settings))
    shown: list[Shown | Compact] = [view] if view.lines else []
    for subset in found.subsets:
        where = "" if subset == "all" else f"On {subset}: "
        shown += [_raters(found, axis, subset, f"{where}{axis}") for axis in alone]
    return shown + _contrasts(found) + _pairs(found)


def notes(found: Responsiveness) -> list[str]:
    """Return why values are undefined, and what to be careful about; all raters have no value against the crowd."""
    against = found.settings["reference"]["kind"] == "crowd"
    kinds = ("group", "contrast") if against else ("overall", "group", "contrast")
    main = [row for row in found.rows if row.kind in kinds and row.statistic not in with_trait("one class")]
    said = notes_of(main, LABELS)
    return [*said, NOT_WEIGHTED] if "weights" in found.settings else said


def _own(found: Responsiveness, axis: str, subset: str) -> dict[str, dict[str, Row]]:
    """Return the rows of an axis by group and statistic."""
    rows = [row for row in found.rows if (row.axis, row.subset) == (axis, subset)]
    groups: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row.kind in ("overall", "group"):
            groups.setdefault(row.group, {})[row.statistic] = row
    return groups


def _values(found: Responsiveness, axis: str, subset: str, title: str) -> Shown:
    """Return the values of the groups, MPA and WRA with what chance gives."""
    tested = bool(found.settings["permutations"]) and axis != "all"
    lines = []
    for group, own in _own(found, axis, subset).items():
        first = own["mpa"]
        line = [group, f"{first.n_raters:,}", f"{first.n_items:,}"]
        for name in MAIN:
            line.append(value_cell(own[name]))
            if tested and name in with_trait("stated"):
                line.append(_short(own[name].null_median))
        lines.append([*line, *(_short(own[name].value) for name in TRADITIONAL)])
    header = ["group", "raters", "items"]
    for name in MAIN:
        header += [LABELS[name], "chance"] if tested and name in with_trait("stated") else [LABELS[name]]
    return Shown(title, [*header, *(LABELS[name] for name in TRADITIONAL)], lines)


def _raters(found: Responsiveness, axis: str, subset: str, title: str) -> Shown:
    """Return how values spread over raters, who are not named here."""
    own = [row for row in found.rows if (row.axis, row.subset) == (axis, subset)]
    lines = []
    for name in (*MAIN, *TRADITIONAL, *(SCALED if found.tables else ())):
        values = np.array([row.value for row in own if row.statistic == name and row.kind in ("rater", "group")])
        lines.append([LABELS[name], *quantile_cells(values)])
    return Shown(f"{title}, individually (--csv names them)", spread_header(), lines)


def _intervals(found: Responsiveness) -> list[Shown]:
    lines: list[list[str]] = []
    if found.settings["interval"] == "none":
        return []
    columns = (*MAIN, *SCALED) if found.tables else MAIN
    for subset in found.subsets:
        for axis in ("all", *found.axes):
            for group, own in _own(found, axis, subset).items():
                if not math.isnan(own["mpa"].value):
                    where = "" if subset == "all" else f" on {subset}"
                    name = "all raters" if axis == "all" else group
                    cells = [_interval(own[one]) if one in own else "" for one in columns]
                    lines.append([f"{name}{where}", *cells])
    title = f"95 % intervals {interval_method(found.settings)}"
    title += "; for H by the delta method, for a by the information" if found.tables else ""
    return [Shown(title, ["group", *(LABELS[name] for name in columns)], lines)] if lines else []


def _interval(row: Row) -> str:
    if row.ci_low is None or row.ci_high is None or math.isnan(row.ci_low):
        return f"{row.value:.3f}"
    return f"{row.value:.3f} [{row.ci_low:.2f}, {row.ci_high:.2f}]"


def _more(found: Responsiveness) -> list[Shown]:
    """Return differences, families and pairs."""
    families = [row for row in found.rows if row.kind == "family" and row.statistic in MAIN]
    return [*_contrasts(found), *_differences("Groups that share a value", families), *_pairs(found)]


def _contrasts(found: Responsiveness) -> list[Shown]:
    rows = [row for row in found.rows if row.kind == "contrast" and row.statistic in MAIN]
    return _differences("Difference of two groups", rows)


def _pairs(found: Responsiveness) -> list[Shown]:
    rows = [row for row in found.pair_rows if row.statistic in MAIN and row.subset == "all"]
    return _differences("Every two groups", rows)


def _differences(title: str, rows: list[Row]) -> list[Shown]:
    lines = []
    for row in rows:
        where = "" if row.subset == "all" else f" on {row.subset}"
        numbers = [_interval(row), _number(row.null_median), p_cell(row.p_value), p_cell(row.p_adjusted)]
        lines.append([f"{row.group}{where}", LABELS[row.statistic], *numbers])
    return [Shown(title, ["", "statistic", "difference", "chance", "p", "p corrected"], lines)] if lines else []


def _precision(found: Responsiveness) -> list[Shown]:
    """Return Precision(s) and use of each score, where there is one boundary and the scale is short."""
    points = found.settings["points"]
    if len(found.settings["reference"]["boundaries"]) > 1 or len(points) > MAX_COLUMNS:
        return []
    lines = []
    for scored in found.scored:
        if scored.subset != "all" or scored.axis == "rater":
            continue
        ones, total = scored.tables[:, :, 1], scored.tables.sum(axis=2)
        for g, group in enumerate(scored.groups):
            shares = scored.usage[g] / max(scored.usage[g].sum(), 1)
            cells = [f"{ones[g, s] / total[g, s]:.2f}" if total[g, s] > 0 else "–" for s in range(len(points))]
            uses = [f"{share:.0%}" for share in shares]
            lines.append(["all raters" if scored.axis == "all" else group, *cells, " ".join(uses)])
    header = ["group", *points, "use of the scale"]
    high = Poles.of(found.settings).high
    return [Shown(f"Precision: share of {high} among the reference ratings of items with each score", header, lines)]


def _correlations(found: Responsiveness) -> list[Shown]:
    """Return how MPA and WRA correlate with other metrics; those that need no reference have their own table."""
    title = "How MPA and WRA correlate with other metrics: Pearson's r over groups"
    shown = [_correlated(found, title, TRADITIONAL)]
    if found.tables:
        shown.append(_correlated(found, "How they correlate with Mokken's H_j and the discrimination", SCALED))
    return [table for table in shown if table.rows]


def _correlated(found: Responsiveness, title: str, others: Sequence[str]) -> Shown:
    frame = found.correlations().filter((pl.col("subset") == "all") & pl.col("other").is_in(others))
    lines: dict[tuple[str, str], list[str]] = {}
    groups: dict[tuple[str, str], int] = {}
    for axis, _, first, _, r, low, high, n, _ in frame.iter_rows():
        interval = "" if math.isnan(low) else f" [{low:.2f}, {high:.2f}]"
        lines.setdefault((axis, first), []).append("–" if math.isnan(r) else f"{r:.2f}{interval}")
        groups[axis, first] = max(n, groups.get((axis, first), 0))
    rows = [[key[0], LABELS[key[1]], str(groups[key]), *cells] for key, cells in lines.items() if set(cells) != {"–"}]
    return Shown(title, ["axis", "", "groups", *(f"with {LABELS[name]}" for name in others)], rows)


def _number(value: float | None, digits: int = 3) -> str:
    if value is None or math.isnan(value):
        return "–"
    return f"{round(value, digits) + 0.0:.{digits}f}"  # + 0 makes -0 0


def _short(value: float | None) -> str:
    return _number(value, 2)
