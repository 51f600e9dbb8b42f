"""How raters scale together, as tables of text."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import polars as pl

from plurivox.domain.axis import names_raters
from plurivox.domain.scale_names import Poles
from plurivox.infer.compact import MOST_LINES, Compact, compact
from plurivox.infer.result import Row
from plurivox.infer.text import Shown, notes_of, quantile_cells, spread_header, value_cell
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.statistics.registry import LABELS, names_of


def tables(found: Psychometrics, top: int = 5) -> list[Shown]:
    """Return all tables of a result as text."""
    shown: list[Shown] = []
    for subset in found.subsets:
        where = "" if subset == "all" else f"On {subset}: "
        for axis in found.axes:
            make = _raters if names_raters(axis) else _groups
            shown.append(make(found, axis, subset, f"{where}{axis}"))
    return [*shown, _fits(found), *_items(found, top)]


def brief(found: Psychometrics, top: int = 0) -> list[Shown | Compact]:
    """Return groups of all axes in one table, how values spread over raters, and items if requested."""
    alone = list(filter(names_raters, found.axes))
    title = "Do groups order items as others do (H), and how sharply (a)"
    view = compact(found, MOST_LINES, without=alone, title=title, over="95 % intervals")
    shown: list[Shown | Compact] = [view] if view.lines else []
    for subset in found.subsets:
        where = "" if subset == "all" else f"On {subset}: "
        shown += [_raters(found, axis, subset, f"{where}{axis}") for axis in alone]
    return [*shown, *(_items(found, top) if top else ())]


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


def _own(found: Psychometrics, axis: str, subset: str) -> list[Row]:
    return [row for row in found.rows if (row.axis, row.subset) == (axis, subset) and row.kind != "scale"]


def _groups(found: Psychometrics, axis: str, subset: str, title: str) -> Shown:
    checks = {
        group: (scale, crit)
        for group, scale, crit in _of(found.checks(), axis, subset).select("group", "scale", "crit").iter_rows()
    }
    cuts: dict[str, list[str]] = {}
    for group, threshold in _of(found.thresholds(), axis, subset).select("group", "threshold").iter_rows():
        cuts.setdefault(group, []).append(_number(threshold, 2))
    rows: dict[str, dict[str, Row]] = {}
    for row in _own(found, axis, subset):
        rows.setdefault(row.group, {})[row.statistic] = row
    lines = []
    for group, own in rows.items():
        scale, crit = checks.get(group, (0, math.nan))
        first = own["mokken_h"]
        lines.append(
            [
                group, f"{first.n_raters:,}", f"{first.n_items:,}", value_cell(first, intervals=True),
                str(scale) if scale else "–", _number(crit, 0), value_cell(own["grm_a"], intervals=True),
                " ".join(cuts.get(group, [])),
            ]
        )  # fmt: skip
    header = ["group", "raters", "items", "H_j [95 %]", "scale", "crit", "a [95 %]", "thresholds"]
    return Shown(title, header, lines)


def _raters(found: Psychometrics, axis: str, subset: str, title: str) -> Shown:
    """Return how values spread over raters, who are not named here."""
    lines = []
    for name in names_of("scaled"):
        values = np.array([row.value for row in _own(found, axis, subset) if row.statistic == name])
        lines.append([LABELS[name], *quantile_cells(values)])
    crit = _of(found.checks(), axis, subset)["crit"].to_numpy()
    lines.append(["crit of monotonicity", *quantile_cells(crit)])
    return Shown(f"{title}, individually (--csv names them)", spread_header(), lines)


def _fits(found: Psychometrics) -> Shown:
    scales = {(row.axis, row.subset): row for row in found.rows if row.kind == "scale"}
    lines = []
    for fit in found.fits().iter_rows(named=True):
        where = fit["axis"] if fit["subset"] == "all" else f"{fit['axis']} on {fit['subset']}"
        h = scales[fit["axis"], fit["subset"]]
        model = ["–", "–", "–"]
        if not math.isnan(fit["log_likelihood"]):
            model = [f"{fit['log_likelihood']:,.2f}", f"{fit['iterations']:,}", "yes" if fit["converged"] else "no"]
        pairs = [f"{fit['smallest_pair']:,}", f"{fit['n_undefined_pairs']:,}"]
        lines.append([where, value_cell(h, intervals=True), *pairs, str(fit["n_fitted"]), *model])
    header = ["", "H [95 %]", "fewest common items", "undefined pairs", "in the model", "log-likelihood", "iterations",
              "converged"]  # fmt: skip
    return Shown("All together", header, lines)


def _items(found: Psychometrics, top: int) -> list[Shown]:
    """Return the items at both ends of each scale."""
    shown = []
    for axis in found.axes:
        known = _of(found.severity(), axis, "all").filter(pl.col("severity").is_not_nan())
        if known.is_empty() or not top:
            continue
        ordered = known.sort("severity", descending=True, maintain_order=True)
        chosen = ordered if ordered.height <= 2 * top else pl.concat([ordered.head(top), ordered.tail(top)])
        lines = [
            [item, f"{value:.2f}", f"[{low:.2f}, {high:.2f}]", f"{n:,}"]
            for item, value, low, high, n in chosen.select(
                "item", "severity", "ci_low", "ci_high", "n_scores"
            ).iter_rows()
        ]
        n_top, n_low = (int((known["severity"] - end).abs().lt(1e-9).sum()) for end in _ends(ordered))
        poles = Poles.of(found.settings)
        ends = ((n_top, poles.high), (n_low, poles.low))
        tied = ", ".join(f"{n:,} tie at the {end} end" for n, end in ends if n > top)
        title = f"How {poles.how} items are by {axis}: the {poles.high} and the {poles.low} end of {known.height:,}"
        title += f"; {tied}" if tied else ""
        shown.append(Shown(title, ["item", "severity", "95 % interval", "scores"], lines))
    return shown


def _ends(ordered: pl.DataFrame) -> tuple[float, float]:
    return float(ordered["severity"][0]), float(ordered["severity"][-1])


def _of(frame: pl.DataFrame, axis: str, subset: str) -> pl.DataFrame:
    return frame.filter((pl.col("axis") == axis) & (pl.col("subset") == subset))


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{round(value, digits) + 0.0:.{digits}f}"
