"""Soft scores as tables of text."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from plurivox.lenses.soft.matching import REFERENCES
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.sums import ALL
from plurivox.results.result import Row
from plurivox.results.text import Shown, p_cell, score_cell
from plurivox.statistics.registry import LABELS
from plurivox.statistics.soft_blocks import EMPIRICAL

BY_BIN = ("expected_cross_entropy", "expected_emd")
SHOWN_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
MOST_NOTES = 12


def tables(found: SoftScores) -> list[Shown]:
    """Return all tables of a result as text."""
    expected = [name for name in found.metrics if name not in EMPIRICAL]
    empirical = [name for name in found.metrics if name in EMPIRICAL]
    shown = []
    if expected:
        shown.append(_scores(found, expected, "Expected scores, given the prior and the ratings"))
    if empirical:
        shown.append(_scores(found, empirical, "Scores against the shares of each item's ratings"))
    by_bin = [name for name in BY_BIN if name in found.metrics] or found.metrics[:1]
    shown += [_bins(found, name) for name in by_bin if len(found.bins) > 1]
    return shown + _intervals(found, by_bin) + _comparisons(found, by_bin) + _curve(found, by_bin) + _more(found)


def _names(found: SoftScores, statistic: str) -> list[str]:
    return [*found.ranking(statistic), *REFERENCES]


def _cell(row: Row, rank: int | None) -> str:
    return score_cell(row.value) + (f" ({rank})" if rank and not math.isnan(row.value) else "")


def _rank(order: list[str], name: str) -> int | None:
    """Return the rank of a model among several."""
    return order.index(name) + 1 if len(order) > 1 and name in order else None


def _scores(found: SoftScores, metrics: list[str], title: str) -> Shown:
    order = {metric: found.ranking(metric) for metric in metrics}
    lines = []
    for name in _names(found, metrics[-2] if len(metrics) > 1 else metrics[0]):
        cells = [_cell(found.row(name, metric), _rank(order[metric], name)) for metric in metrics]
        lines.append([name, *cells])
    n = f"{found.settings['n_items']:,} items, {found.settings['n_ratings']:,} ratings"
    return Shown(f"{title}: {n}", ["model", *(LABELS[metric] for metric in metrics)], lines)


def _bins(found: SoftScores, metric: str) -> Shown:
    weight = dict(found.prior_weight().select("bin", "prior_share").iter_rows())
    n_items = dict(found.prior_weight().select("bin", "n_items").iter_rows())
    lines = []
    for name in _names(found, metric):
        cells = []
        for one in found.bins:
            order = found.ranking(metric, one)
            cells.append(_cell(found.row(name, metric, one), _rank(order, name)))
        lines.append([name, *cells])
    lines.append(["items", *(f"{n_items[one]:,}" for one in found.bins)])
    lines.append(["prior's share of the weight", *(_percent(weight[one]) for one in found.bins)])
    return Shown(f"{LABELS[metric]} by number of ratings of an item", ["model", *found.bins], lines)


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.0%}"


def _intervals(found: SoftScores, metrics: list[str]) -> list[Shown]:
    if not found.settings["bootstrap"]:
        return []
    lines = []
    for name in _names(found, metrics[-1]):
        rows = [found.row(name, metric) for metric in metrics]
        lines.append(
            [name, *(f"{score_cell(row.value)} [{score_cell(row.ci_low)}, {score_cell(row.ci_high)}]" for row in rows)]
        )
    return [Shown("95 % intervals, items resampled", ["model", *(LABELS[metric] for metric in metrics)], lines)]


def _comparisons(found: SoftScores, metrics: list[str]) -> list[Shown]:
    frame = found.comparisons().filter(
        pl.col("bin") == ALL, pl.col("statistic").is_in(metrics), pl.col("ci_low").is_not_null()
    )
    lines = [
        [
            f"{row['model']} − {row['other']}", LABELS[row["statistic"]],
            f"{score_cell(row['difference'])} [{score_cell(row['ci_low'])}, {score_cell(row['ci_high'])}]",
            f"{row['p_better']:.0%}", p_cell(row["p_value"]), p_cell(row["p_adjusted"]),
        ]
        for row in frame.iter_rows(named=True)
    ]  # fmt: skip
    header = ["", "metric", "difference", "first is better", "p", "p corrected"]
    return [Shown("Two predictions on the same items", header, lines)] if lines else []


def _curve(found: SoftScores, metrics: list[str]) -> list[Shown]:
    frame = found.sensitivity()
    shown = []
    for metric in metrics if frame.height else ():
        own = frame.filter(pl.col("statistic") == metric, pl.col("strength").is_in(SHOWN_STRENGTHS))
        if not own.height:
            continue
        cells = {
            (name, strength): score_cell(value) + (f" ({rank})" if rank and len(found.models) > 1 else "")
            for strength, name, value, rank in own.select("strength", "model", "value", "rank").iter_rows()
        }
        strengths = own["strength"].unique(maintain_order=True).to_list()
        lines = [[name, *(cells[name, strength] for strength in strengths)] for name in _names(found, metric)]
        title = f"{LABELS[metric]} by strength of the prior (mean weight of a point)"
        shown.append(Shown(title, ["model", *(f"{strength:g}" for strength in strengths)], lines))
    return shown


def _more(found: SoftScores) -> list[Shown]:
    """Return calibration, and scores against groups."""
    lines = [
        [
            row["model"], f"{row['pit_mean']:.3f}", f"{12 * row['pit_variance']:.2f}",
            f"{row['calibration_error']:.3f}", _slope(row), f"{row['ks']:.3f}", p_cell(row["p_value"]),
        ]
        for row in found.calibration().iter_rows(named=True)
    ]  # fmt: skip
    header = ["model", "mean PIT (.5)", "12 × variance (1)", "error (0)", "slope (1)", "KS", "p"]
    shown = [Shown("Calibration; in parentheses what is right", header, lines)] if lines else []
    metric = BY_BIN[-1] if BY_BIN[-1] in found.metrics else found.metrics[0]
    keys = list(dict.fromkeys((row.axis, row.group) for row in found.rows if row.axis != ALL))
    for axis in dict.fromkeys(axis for axis, _ in keys):
        lines = []
        for group in (group for one, group in keys if one == axis):
            own = {
                row.model: row for row in found.rows if (row.axis, row.group, row.statistic) == (axis, group, metric)
            }
            order = found.ranking(metric, ALL, axis, group)
            first = next(iter(own.values()))
            cells = [_cell(own[name], _rank(order, name)) for name in found.models]
            cells += [score_cell(own[name].value) if name in own else "–" for name in REFERENCES]
            lines.append([group, f"{first.n_raters:,}", f"{first.n_items:,}", *cells])
        header = ["group", "raters", "items", *found.models, *REFERENCES]
        shown.append(Shown(f"{LABELS[metric]} against the ratings of each group: {axis}", header, lines))
    return shown


def _slope(row: dict[str, Any]) -> str:
    if math.isnan(row["slope"]):
        return "–"
    return f"{row['slope']:.2f} [{row['slope_low']:.2f}, {row['slope_high']:.2f}]"


def notes(found: SoftScores) -> list[str]:
    """Return why scores are infinite or undefined, the first of many."""
    notes: dict[tuple[str, str], list[str]] = {}
    for row in found.rows:
        if row.note and row.subset == ALL and row.axis == ALL:
            notes.setdefault((row.model, row.note), []).append(LABELS[row.statistic])
    return [f"{model}, {', '.join(names)}: {note}" for (model, note), names in notes.items()][:MOST_NOTES]
