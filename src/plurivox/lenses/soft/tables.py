"""Soft scores as tables of text."""

from __future__ import annotations

import math
from typing import Any

import polars as pl

from plurivox.base.wording import counted
from plurivox.infer.result import Row
from plurivox.infer.text import Shown, p_cell, score_cell
from plurivox.infer.weighting import TITLE
from plurivox.lenses.soft.interactions import BINS
from plurivox.lenses.soft.matching import REFERENCES
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.sums import ALL
from plurivox.statistics.registry import LABELS
from plurivox.statistics.soft_blocks import EMPIRICAL

BESIDE, CE = "expected_emd", "cross_entropy"
"""Shown by bins in addition to the leading metric."""
SHOWN_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)
MOST_NOTES = 12


NOT_WEIGHTED = (
    "Scores are weighted: a rating counts by its rater's weight, also against the prior. A fitted prior, the PIT, "
    "calibration, and the test of whether groups change how models compare count all raters equally."
)


def tables(found: SoftScores) -> list[Shown]:
    """Return all tables of a result as text."""
    by_bin = _leading(found, found.main, BESIDE)
    with_ce = _leading(found, found.main, CE, BESIDE)
    shown = _all_scores(found)
    shown += [_bins(found, name) for name in with_ce if len(found.bins) > 1]
    shown += _parts(found, with_ce)
    shown += _intervals(found, by_bin) + _comparisons(found, by_bin) + _interactions(found)
    return shown + _curve(found, by_bin) + _more(found) + _unweighted(found)


def _unweighted(found: SoftScores) -> list[Shown]:
    """Return weighted scores of all raters with the unweighted ones, if raters have weights."""
    rows = [row for row in found.rows if row.unweighted is not None and (row.axis, row.subset) == (ALL, ALL)]
    names = list(dict.fromkeys(row.statistic for row in rows))
    cells = {(row.model, row.statistic): f"{score_cell(row.value)} ({score_cell(row.unweighted)})" for row in rows}
    lines = [[model, *(cells[model, name] for name in names)] for model in dict.fromkeys(row.model for row in rows)]
    return [Shown(TITLE, ["model", *(LABELS[name] for name in names)], lines)] if lines else []


def brief(found: SoftScores) -> list[Shown]:
    """Return the scores of all predictions, intervals of the main ones, and parts of items."""
    leading = _leading(found, found.main, BESIDE)
    return [*_all_scores(found), *_parts(found, leading[:1]), *_intervals(found, leading)]


def _leading(found: SoftScores, *names: str) -> list[str]:
    """Return the main metrics, as far as they were requested."""
    return [name for name in dict.fromkeys(names) if name in found.metrics]


def _all_scores(found: SoftScores) -> list[Shown]:
    expected = [name for name in found.metrics if name not in EMPIRICAL]
    empirical = [name for name in found.metrics if name in EMPIRICAL]
    shown = []
    if empirical:
        shown.append(_scores(found, empirical, "Scores against the shares of each item's ratings"))
    if expected:
        (share,) = found.prior_weight().filter(bin=ALL)["prior_share"]
        title = f"Expected scores, in which the prior has {_percent(share)} of the weight on average"
        shown.append(_scores(found, expected, title))
    return shown


def _names(found: SoftScores) -> list[str]:
    """Return all predictions, models by the leading metric."""
    return [*found.ranking(), *REFERENCES]


def _cell(row: Row, rank: int | None) -> str:
    return score_cell(row.value) + (f" ({rank})" if rank and not math.isnan(row.value) else "")


def _rank(order: list[str], name: str) -> int | None:
    """Return the rank of a model among several."""
    return order.index(name) + 1 if len(order) > 1 and name in order else None


def _scores(found: SoftScores, metrics: list[str], title: str) -> Shown:
    order = {metric: found.ranking(metric) for metric in metrics}
    lines = []
    for name in _names(found):
        cells = [_cell(found.row(name, metric), _rank(order[metric], name)) for metric in metrics]
        lines.append([name, *cells])
    n = f"{counted(found.settings['n_items'], 'item')}, {counted(found.settings['n_ratings'], 'rating')}"
    return Shown(f"{title}: {n}", ["model", *(LABELS[metric] for metric in metrics)], lines)


def _bins(found: SoftScores, metric: str) -> Shown:
    weight = dict(found.prior_weight().select("bin", "prior_share").iter_rows())
    n_items = dict(found.prior_weight().select("bin", "n_items").iter_rows())
    lines = []
    for name in _names(found):
        cells = []
        for one in found.bins:
            order = found.ranking(metric, one)
            cells.append(_cell(found.row(name, metric, one), _rank(order, name)))
        lines.append([name, *cells])
    lines.append(["items", *(f"{n_items[one]:,}" for one in found.bins)])
    if metric not in EMPIRICAL:
        lines.append(["prior's share of the weight", *(_percent(weight[one]) for one in found.bins)])
    return Shown(f"{LABELS[metric]} by number of ratings of an item", ["model", *found.bins], lines)


def _parts(found: SoftScores, metrics: list[str]) -> list[Shown]:
    """Return the scores on each part of the items, one line for a part."""
    frame = found.parts()
    shown = []
    for metric in metrics if frame.height else ():
        lines = []
        for (part,), rows in frame.filter(statistic=metric).group_by("subset", maintain_order=True):
            own = {row["model"]: row for row in rows.iter_rows(named=True)}
            several = len(found.models) > 1
            cells = [
                score_cell(own[name]["value"]) + (f" ({own[name]['rank']})" if several and own[name]["rank"] else "")
                for name in _names(found)
            ]
            lines.append([str(part), f"{rows.item(0, 'n_items'):,}", *cells])
        title = f"{LABELS[metric]} on parts of the items: {found.settings['items_by']}"
        shown.append(Shown(title, ["part", "items", *_names(found)], lines))
    return shown


def _percent(share: float) -> str:
    return "–" if math.isnan(share) else f"{share:.0%}"


def _intervals(found: SoftScores, metrics: list[str]) -> list[Shown]:
    if not found.settings["bootstrap"]:
        return []
    lines = []
    for name in _names(found):
        rows = [found.row(name, metric) for metric in metrics]
        lines.append(
            [name, *(f"{score_cell(row.value)} [{score_cell(row.ci_low)}, {score_cell(row.ci_high)}]" for row in rows)]
        )
    return [Shown("95 % intervals over items", ["model", *(LABELS[metric] for metric in metrics)], lines)]


def _comparisons(found: SoftScores, metrics: list[str]) -> list[Shown]:
    known = pl.col("ci_low").is_not_null() | pl.col("p_value").is_not_null()
    frame = found.comparisons().filter(pl.col("bin") == ALL, pl.col("statistic").is_in(metrics), known)
    lines = [
        [
            f"{row['model']} − {row['other']}", LABELS[row["statistic"]],
            score_cell(row["difference"]) + _ends(row), "" if row["p_better"] is None else f"{row['p_better']:.0%}",
            _p(row["p_value"]), _p(row["p_adjusted"]), row["note"],
        ]
        for row in frame.iter_rows(named=True)
    ]  # fmt: skip
    header = ["", "metric", "difference", "first is better", "p", "p corrected", "note"]
    if not any(line[-1] for line in lines):
        header, lines = header[:-1], [line[:-1] for line in lines]
    title = "Two predictions on the same items: intervals over items, p by sign-flips of items"
    return [Shown(title, header, lines)] if lines else []


def _ends(row: dict[str, Any]) -> str:
    return "" if row["ci_low"] is None else f" [{score_cell(row['ci_low'])}, {score_cell(row['ci_high'])}]"


def _p(value: float | None) -> str:
    return "–" if value is None else p_cell(value)


def _interactions(found: SoftScores) -> list[Shown]:
    lines = [
        [
            f"{row['model']} − {row['other']}",
            f"{row['group']} ratings" if row["kind"] == BINS else f"{row['axis']}: {row['group']}",
            score_cell(row["difference"]), score_cell(row["elsewhere"]), f"{row['n_items']:,}", _p(row["p_value"]),
            _p(row["p_adjusted"]),
        ]
        for row in found.interactions().sort("p_adjusted", maintain_order=True, nulls_last=True).iter_rows(named=True)
    ]  # fmt: skip
    header = ["", "where", "difference there", "elsewhere", "items", "p", "p corrected"]
    cut = f", the first {MOST_NOTES} of {len(lines)}" if len(lines) > MOST_NOTES else ""
    where = "in a bin or for a group" if found.settings["items_by"] is None else "in a bin, on a part or for a group"
    title = f"Does the difference in {LABELS[found.main]} between two models change {where}{cut}"
    return [Shown(title, header, lines[:MOST_NOTES])] if lines else []


def _curve(found: SoftScores, metrics: list[str]) -> list[Shown]:
    frame = found.sensitivity()
    shown = []
    for metric in [name for name in metrics if name not in EMPIRICAL] if frame.height else ():
        own = frame.filter(pl.col("statistic") == metric, pl.col("strength").is_in(SHOWN_STRENGTHS))
        if not own.height:
            continue
        cells = {
            (name, strength): score_cell(value) + (f" ({rank})" if rank and len(found.models) > 1 else "")
            for strength, name, value, rank in own.select("strength", "model", "value", "rank").iter_rows()
        }
        strengths = own["strength"].unique(maintain_order=True).to_list()
        lines = [[name, *(cells[name, strength] for strength in strengths)] for name in _names(found)]
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
    shown = [Shown("Calibration, ideal values in parentheses", header, lines)] if lines else []
    metric = found.main
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
    """Return why scores are infinite or undefined, the first few of many."""
    notes: dict[tuple[str, str], list[str]] = {}
    for row in found.rows:
        if row.note and row.subset == ALL and row.axis == ALL:
            notes.setdefault((row.model, row.note), []).append(LABELS[row.statistic])
    said = [f"{model}, {', '.join(names)}: {note}" for (model, note), names in notes.items()][:MOST_NOTES]
    return [*said, NOT_WEIGHTED] if "weights" in found.settings else said
