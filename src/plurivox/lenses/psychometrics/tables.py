"""How raters scale together, as tables."""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl

from plurivox.domain.axis import names_raters
from plurivox.domain.scale_names import Poles
from plurivox.infer.result import Row
from plurivox.infer.view import (
    INTERVAL,
    TESTED_RANGE,
    Column,
    View,
    compact,
    filled,
    notes_of,
    spread_view,
    view_of,
    written,
)
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.statistics.registry import LABELS, names_of


def tables(found: Psychometrics, top: int = 5) -> list[View]:
    """Return all tables of a result."""
    groups = [
        (_raters if names_raters(axis) else _groups)(found, axis, subset)
        for subset in found.subsets
        for axis in found.axes
    ]
    return [*groups, _fits(found), *_items(found, top)]


def brief(found: Psychometrics, top: int = 0) -> list[View]:
    """Return groups of all axes in one table, how values spread over raters, and items if requested."""
    alone = list(filter(names_raters, found.axes))
    title = "Do groups order items as others do (H), and how sharply (a)"
    view = compact(found, without=alone, title=title, over="95 % intervals")
    raters = [_raters(found, axis, subset) for subset in found.subsets for axis in alone]
    return [*filled(view), *raters, *(_items(found, top) if top else ())]


def notes(found: Psychometrics) -> list[str]:
    """Return the notes on groups, without what findings say about the fit as a whole."""
    fits = {(axis, subset): note for axis, subset, note in found.fits().select("axis", "subset", "note").iter_rows()}
    rows = []
    for row in found.rows:
        if row.kind == "group" and not names_raters(row.axis):
            whole = fits.get((row.axis, row.subset), "")
            own = [note for note in row.note.split("; ") if note not in whole.split("; ")]
            rows.append(replace(row, note="; ".join(own)))
    return notes_of(rows, LABELS)


def _title(axis: str, subset: str) -> str:
    return axis if subset == "all" else f"On {subset}: {axis}"


def _rows(found: Psychometrics, axis: str, subset: str) -> list[Row]:
    return [row for row in found.rows if (row.axis, row.subset) == (axis, subset) and row.kind != "scale"]


def _groups(found: Psychometrics, axis: str, subset: str) -> View:
    checks = {
        group: (str(scale) if scale else None, crit)
        for group, scale, crit in _of(found.checks(), axis, subset).select("group", "scale", "crit").iter_rows()
    }
    cuts: dict[str, list[str]] = {}
    for group, threshold in _of(found.thresholds(), axis, subset).select("group", "threshold").iter_rows():
        cuts.setdefault(group, []).append(written(round(threshold, 2), ".2f"))
    rows: dict[str, dict[str, Row]] = {}
    for row in _rows(found, axis, subset):
        rows.setdefault(row.group, {})[row.statistic] = row
    lines = []
    for group, own in rows.items():
        h, a = own["mokken_h"], own["grm_a"]
        scale, crit = checks.get(group, (None, None))
        lines.append([group, h.n_raters, h.n_items, h, scale, crit, a, " ".join(cuts.get(group, []))])
    header = ["group", "raters", "items", Column("H_j [95 %]", TESTED_RANGE), "scale", Column("crit", ".0f"),
              Column("a [95 %]", TESTED_RANGE), "thresholds"]  # fmt: skip
    return View(_title(axis, subset), header, lines)


def _raters(found: Psychometrics, axis: str, subset: str) -> View:
    """Return how values spread over raters, who are not named here."""
    values = {
        LABELS[name]: [row.value for row in _rows(found, axis, subset) if row.statistic == name]
        for name in names_of("scaled")
    }
    values["crit of monotonicity"] = _of(found.checks(), axis, subset)["crit"].to_list()
    return spread_view(f"{_title(axis, subset)}, individually (--csv names them)", values)


def _fits(found: Psychometrics) -> View:
    scales = {(row.axis, row.subset): row for row in found.rows if row.kind == "scale"}
    lines = []
    for fit in found.fits().iter_rows(named=True):
        where = fit["axis"] if fit["subset"] == "all" else f"{fit['axis']} on {fit['subset']}"
        fitted = not math.isnan(fit["log_likelihood"])
        model = [fit[name] if fitted else None for name in ("log_likelihood", "iterations", "converged")]
        pairs = fit["smallest_pair"], fit["n_undefined_pairs"]
        lines.append([where, scales[fit["axis"], fit["subset"]], *pairs, str(fit["n_fitted"]), *model])
    header = ["", Column("H [95 %]", TESTED_RANGE), "fewest common items", "undefined pairs", "in the model",
              Column("log-likelihood", ",.2f"), "iterations", "converged"]  # fmt: skip
    return View("All together", header, lines)


def _items(found: Psychometrics, top: int) -> list[View]:
    """Return the items at both ends of each scale."""
    shown = []
    for axis in found.axes:
        known = _of(found.severity(), axis, "all").filter(pl.col("severity").is_not_nan())
        if known.is_empty() or not top:
            continue
        ordered = known.sort("severity", descending=True, maintain_order=True)
        chosen = ordered if ordered.height <= 2 * top else pl.concat([ordered.head(top), ordered.tail(top)])
        n_top, n_low = (int((known["severity"] - end).abs().lt(1e-9).sum()) for end in _ends(ordered))
        poles = Poles.of(found.settings)
        ends = ((n_top, poles.high), (n_low, poles.low))
        tied = ", ".join(f"{n:,} tie at the {end} end" for n, end in ends if n > top)
        title = f"How {poles.how} items are by {axis}: the {poles.high} and the {poles.low} end of {known.height:,}"
        title += f"; {tied}" if tied else ""
        names = {
            "item": "item", "severity": Column("severity", ".2f"), "ci_low": Column("95 % interval", INTERVAL),
            "n_scores": "scores",
        }  # fmt: skip
        shown.append(view_of(title, chosen, names))
    return shown


def _ends(ordered: pl.DataFrame) -> tuple[float, float]:
    return float(ordered["severity"][0]), float(ordered["severity"][-1])


def _of(frame: pl.DataFrame, axis: str, subset: str) -> pl.DataFrame:
    return frame.filter((pl.col("axis") == axis) & (pl.col("subset") == subset))
