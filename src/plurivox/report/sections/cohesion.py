"""Cohesion: which groups see things alike."""

from __future__ import annotations

import polars as pl

from plurivox import plots
from plurivox.axis import Axis
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.report.parts import (
    Block,
    Brief,
    DataTable,
    Figure,
    Finding,
    Section,
    remarks_of,
    slug,
    top_rows,
    undefined_remarks,
)
from plurivox.results.result import Statement
from plurivox.statistics.registry import LABELS, of_role

LEAD = (
    "Which groups agree among themselves more than with others? GAI is agreement within a group (IRR) over agreement "
    "with "
    "all others (XRR). Its value under chance is not 1, so each group is compared with the same number of raters "
    "drawn at "
    "random, and what that gives stands beneath the value."
)
MAX_ROWS = 200
MAX_PAIRED = 12  # groups of an axis up to which every pair is compared


def section(brief: Brief) -> Section:
    """Compare groups by how far they agree."""
    if not brief.ratings.has_raters or not brief.by:
        return Section("cohesion", "Cohesion", LEAD, remarks=["Cohesion needs groups of raters: give them with --by."])
    paired = _paired(brief)
    found: Cohesion = brief.ask("cohesion", pairs=paired)
    blocks: list[Block] = [_forest(found)]
    if found.settings["permutations"]:
        blocks.append(_histograms(found))
    blocks += _matrices(found)
    if found.ranked_axes():
        blocks.append(_ranking(found))
    blocks.append(_table(found))
    remarks = remarks_of(found)
    return Section("cohesion", "Cohesion", LEAD, blocks, _findings(found), remarks + _undefined(found))


def _paired(brief: Brief) -> bool:
    """Tell whether every axis is small enough to compare all pairs, and none has overlapping groups."""
    axes = [Axis.of(brief.ratings, one, min_group_size=brief.asked.min_group_size) for one in brief.by]
    return not brief.asked.several and all(len(axis.shown) <= MAX_PAIRED for axis in axes)


def _forest(found: Cohesion) -> Figure:
    return Figure(
        "cohesion-forest", "Group agreement (GAI)", plots.gai_forest(found),
        "GAI of each group with its 95 % interval, over the values of random groups of the same size.",
        "The further a point lies outside its grey strip, the less it looks like chance.",
        plots.gai_forest_data(found),
    )  # fmt: skip


def _histograms(found: Cohesion) -> Figure:
    return Figure(
        "cohesion-null", "Observed against shuffled raters", plots.null_histograms(found),
        "For the most notable groups, the histogram of GAI over shuffled raters and the observed value as a line.",
        "Raters are shuffled between groups, each with all of their ratings. The further the line is from the "
        "histogram, "
        "the less it looks like chance.",
        plots.null_histograms_data(found),
    )  # fmt: skip


def _matrices(found: Cohesion) -> list[Block]:
    axes = dict.fromkeys(row.axis for row in found.pair_rows)
    return [
        Figure(
            slug("cohesion-pairs", axis), f"Agreement between groups: {axis}", plots.xrr_matrix(found, axis),
            f"XRR between the groups of {axis}, with each group's IRR on the diagonal.",
            "Off the diagonal: how far two groups agree with each other beyond chance (XRR). On it: how far a group "
            "agrees "
            "within itself (IRR).",
            plots.xrr_matrix_data(found, axis),
        )
        for axis in axes
    ]  # fmt: skip


def _ranking(found: Cohesion) -> Figure:
    return Figure(
        "cohesion-dsi", "Which attribute divides the raters most", plots.dsi_ranking(found),
        "Attributes ranked by their largest GAI.",
        "DSI is the largest GAI of an attribute's groups; its p-value compares it with the largest GAI of shuffled "
        "raters.",
        plots.dsi_ranking_data(found),
    )  # fmt: skip


def _table(found: Cohesion) -> DataTable:
    names = [record.name for record in of_role("tested", "beside", "whole")]
    frame = found.to_frame().filter(pl.col("statistic").is_in(names))
    frame = frame.filter(pl.col("group") != "").select(
        "axis", "group", pl.col("statistic").replace(LABELS), "value", low="ci_low", high="ci_high",
        chance="null_median", p="p_value", p_corrected="p_adjusted", raters="n_raters", items="n_items", note="note",
    )  # fmt: skip
    shown, note = top_rows(frame, MAX_ROWS * len(names))
    return DataTable(
        "cohesion-table", "All cohesion values", shown.rename({"p_corrected": "p corrected"}), note=note, search=True
    )


def _findings(found: Cohesion) -> list[Finding]:
    def anchor(statement: Statement) -> str:
        return "cohesion-dsi" if statement.statistic == "dsi" else "cohesion-forest"

    return [Finding(s.text, s.weight, anchor(s)) for s in found.statements() if s.weight > 0]


def _undefined(found: Cohesion) -> list[str]:
    rows = [row for row in found.rows if row.value != row.value and row.kind == "group" and row.statistic == "gai"]
    return undefined_remarks("GAI", rows)
