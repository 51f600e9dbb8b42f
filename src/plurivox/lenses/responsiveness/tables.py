"""Responsiveness as tables."""

from __future__ import annotations

import math
from collections.abc import Sequence

import polars as pl

from plurivox.base.wording import interval_method, intervals_over
from plurivox.domain.axis import names_raters
from plurivox.domain.scale_names import Poles
from plurivox.infer.claims import beside_unweighted
from plurivox.infer.result import Row
from plurivox.infer.view import (
    ALL_RATERS,
    RANGE,
    SIZES,
    TESTED,
    Column,
    P,
    Value,
    View,
    columns,
    compact,
    filled,
    notes_of,
    spread_view,
)
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.statistics.registry import LABELS, names_of, with_trait

MAIN, TRADITIONAL, SCALED = (names_of(role) for role in ("main", "traditional", "scaled"))
MAX_COLUMNS = 12
NOT_WEIGHTED = "Use of the scale and psychometrics count all raters equally."
SHORTER = ".2f"


def tables(found: Responsiveness) -> list[View]:
    """Return all tables of a result."""
    shown: list[View] = []
    for subset in found.subsets:
        if any(row.subset == subset and row.kind == "overall" and not math.isnan(row.value) for row in found.rows):
            shown.append(_values(found, "all", subset, f"{_on(subset)}all raters together"))
        shown += [
            (_raters if names_raters(axis) else _values)(found, axis, subset, f"{_on(subset)}{axis}")
            for axis in found.axes
        ]
    contrasts, families, pairs = _differences(found)
    shown += filled(_intervals(found), contrasts, families, pairs)
    beside = [("How MPA and WRA correlate with other metrics: Pearson's r over groups", TRADITIONAL)]
    if found.tables:  # those that need no reference
        beside.append(("How they correlate with Mokken's H_j and the discrimination", SCALED))
    shown += filled(_precision(found), *(_correlated(found, *one) for one in beside))
    main = [row for row in found.rows if row.kind in ("overall", "group")]
    return shown + beside_unweighted(main, {name: LABELS[name] for name in MAIN})


def brief(found: Responsiveness) -> list[View]:
    """Return the groups of all axes in one table, how values spread over raters, and whatever else was requested."""
    alone = list(filter(names_raters, found.axes))
    title = f"Whose scores convey severity, against {found.settings['reference']['name']}"
    view = compact(found, without=alone, title=title, over=intervals_over(found.settings))
    raters = [_raters(found, axis, subset, f"{_on(subset)}{axis}") for subset in found.subsets for axis in alone]
    contrasts, _, pairs = _differences(found)
    return [*filled(view), *raters, *filled(contrasts, pairs)]


def notes(found: Responsiveness) -> list[str]:
    """Return why values are undefined, and what to be careful about; all raters have no value against the crowd."""
    against = found.settings["reference"]["kind"] == "crowd"
    kinds = ("group", "contrast") if against else ("overall", "group", "contrast")
    main = [row for row in found.rows if row.kind in kinds and row.statistic not in with_trait("one class")]
    said = notes_of(main, LABELS)
    return [*said, NOT_WEIGHTED] if "weights" in found.settings else said


def _on(subset: str) -> str:
    return "" if subset == "all" else f"On {subset}: "


def _who(name: str, subset: str) -> str:
    return name if subset == "all" else f"{name} on {subset}"


def _groups(found: Responsiveness, axis: str, subset: str) -> dict[str, dict[str, Row]]:
    """Return the rows of an axis by group and statistic."""
    groups: dict[str, dict[str, Row]] = {}
    for row in found.rows:
        if (row.axis, row.subset) == (axis, subset) and row.kind in ("overall", "group"):
            groups.setdefault(row.group, {})[row.statistic] = row
    return groups


def _values(found: Responsiveness, axis: str, subset: str, title: str) -> View:
    """Return the values of the groups, MPA and WRA with what chance gives."""
    tested = with_trait("stated") if found.settings["permutations"] and axis != "all" else ()
    header = ["group", "raters", "items"]
    for name in MAIN:
        header += [Column(LABELS[name], TESTED), *([Column("chance", SHORTER)] if name in tested else [])]
    lines = []
    for group, own in _groups(found, axis, subset).items():
        line = [group, own["mpa"].n_raters, own["mpa"].n_items]
        for name in MAIN:
            line += [own[name], *([own[name].null_median] if name in tested else [])]
        lines.append([*line, *(own[name].value for name in TRADITIONAL)])
    return View(title, [*header, *columns(SHORTER, (LABELS[name] for name in TRADITIONAL))], lines)


def _raters(found: Responsiveness, axis: str, subset: str, title: str) -> View:
    """Return how values spread over raters, who are not named here."""
    names = (*MAIN, *TRADITIONAL, *(SCALED if found.tables else ()))
    values: dict[str, list[float]] = {LABELS[name]: [] for name in names}
    for row in found.rows:
        if (row.axis, row.subset) == (axis, subset) and row.kind in ("rater", "group") and row.statistic in names:
            values[LABELS[row.statistic]].append(row.value)
    return spread_view(f"{title}, individually (--csv names them)", values)


def _intervals(found: Responsiveness) -> View:
    names = (*MAIN, *SCALED) if found.tables else MAIN
    shown = found.settings["interval"] != "none"
    lines = [
        [_who(ALL_RATERS if axis == "all" else group, subset), *(own.get(name, "") for name in names)]
        for subset in found.subsets
        for axis in ("all", *found.axes)
        for group, own in (_groups(found, axis, subset) if shown else {}).items()
        if not math.isnan(own["mpa"].value)
    ]
    title = f"95 % intervals {interval_method(found.settings)}"
    title += "; for H by the delta method, for a by the information" if found.tables else ""
    return View(title, ["group", *columns(SIZES[0], (LABELS[name] for name in names))], lines)


def _differences(found: Responsiveness) -> list[View]:
    """Return the tables of two groups, of groups that share a value against the others, and of all pairs."""
    header = ["", "statistic", Column("difference", SIZES[0]), "chance", *columns(P, ("p", "p corrected"))]
    whole = [row for row in found.pair_rows if row.subset == "all"]
    kinds = {"contrast": "Difference of two groups", "family": "Groups that share a value", "pair": "Every two groups"}
    return [
        View(title, header, [
            [_who(row.group, row.subset), LABELS[row.statistic], row, row.null_median, row.p_value, row.p_adjusted]
            for row in (whole if kind == "pair" else found.rows) if row.kind == kind and row.statistic in MAIN
        ])
        for kind, title in kinds.items()
    ]  # fmt: skip


def _precision(found: Responsiveness) -> View:
    """Return Precision(s) and use of each score, where there is one boundary and the scale is short."""
    points = found.settings["points"]
    fits = len(found.settings["reference"]["boundaries"]) == 1 and len(points) <= MAX_COLUMNS
    lines = []
    for scored in found.scored if fits else ():
        if scored.subset != "all" or scored.axis == "rater":
            continue
        ones, total = scored.tables[:, :, 1], scored.tables.sum(axis=2)
        for g, group in enumerate(scored.groups):
            shares = scored.usage[g] / max(scored.usage[g].sum(), 1)
            cells = [ones[g, s] / total[g, s] if total[g, s] > 0 else None for s in range(len(points))]
            uses = " ".join(f"{share:.0%}" for share in shares)
            lines.append([ALL_RATERS if scored.axis == "all" else group, *cells, uses])
    header = ["group", *columns(SHORTER, points), "use of the scale"]
    high = Poles.of(found.settings).high
    return View(f"Precision: share of {high} among the reference ratings of items with each score", header, lines)


def _correlated(found: Responsiveness, title: str, others: Sequence[str]) -> View:
    frame = found.correlations().filter((pl.col("subset") == "all") & pl.col("other").is_in(others))
    lines: dict[tuple[str, str], list[Value]] = {}
    sizes: dict[tuple[str, str], int] = {}
    for axis, _, first, _, r, low, high, n, _ in frame.iter_rows():
        lines.setdefault((axis, first), []).append(Value(r, low, high))
        sizes[axis, first] = max(n, sizes.get((axis, first), 0))
    rows = [
        [axis, LABELS[name], sizes[axis, name], *values]
        for (axis, name), values in lines.items()
        if any(value.defined for value in values)
    ]
    header = ["axis", "", "groups", *columns(RANGE, (f"with {LABELS[name]}" for name in others))]
    return View(title, header, rows)
