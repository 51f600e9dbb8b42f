"""Cohesion: which groups see things alike."""

from __future__ import annotations

import polars as pl

from plurivox.engine.grouping import axes_of
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.report.making import drawn, findings_of, remarks_of, table, tested_values, undefined_remarks
from plurivox.report.parts import Block, Brief, DataTable, Section, slug
from plurivox.statistics.registry import of_role

LEAD = (
    "Which groups agree among themselves more than with others? GAI is agreement within a group (IRR) over agreement "
    "with all others (XRR). Its value under chance is not 1, so each group is compared with the same number of raters "
    "drawn at random, and what that gives stands beneath the value."
)
EVERYBODY = (
    "How far do two raters of the same item agree? Alpha (IRR) is agreement beyond chance: 1 if all agree, 0 if scores "
    "are as good as drawn from the pool of all. Other measures of the same stand beside it."
)
MAX_ROWS = 200
MAX_PAIRED = 12  # groups of an axis up to which every pair is compared


def section(brief: Brief) -> Section:
    """Compare groups by how far they agree."""
    if not brief.ratings.has_raters:
        return Section("cohesion", "Cohesion", LEAD, remarks=["Cohesion needs ratings of known raters."])
    if not brief.by:
        return _everybody(brief)
    found: Cohesion = brief.ask("cohesion", pairs=_paired(brief))
    findings = findings_of(found, "cohesion-forest", {"dsi": "cohesion-dsi"})
    remarks = remarks_of(found) + undefined_remarks(found, "gai")
    return Section("cohesion", "Cohesion", LEAD, [*_charts(found), _table(found)], findings, remarks)


def _everybody(brief: Brief) -> Section:
    """Tell how far all raters agree, where no groups are compared."""
    found: Cohesion = brief.ask("cohesion")
    findings = findings_of(found, "cohesion-table")
    return Section("cohesion", "Agreement of all raters", EVERYBODY, [_table(found)], findings, remarks_of(found))


def _paired(brief: Brief) -> bool:
    """Tell whether every axis is small enough to compare all pairs, and none has overlapping groups."""
    axes = axes_of(brief.ratings, brief.by, brief.asked.min_group_size)
    return not brief.asked.several and all(len(axis.shown) <= MAX_PAIRED for axis in axes)


def _charts(found: Cohesion) -> list[Block]:
    level = found.settings["level"]
    blocks: list[Block] = [drawn(
        "gai_forest", found, "cohesion-forest", f"Group agreement (GAI), {level} level",
        "GAI of each group with its 95 % interval, over the values of random groups of the same size.",
        "The further a point lies outside its grey strip, the less it looks like chance.",
    )]  # fmt: skip
    if found.settings["permutations"]:
        blocks.append(drawn(
            "null_histograms", found, "cohesion-null", "Observed against shuffled raters",
            "For the most notable groups, the histogram of GAI over shuffled raters and the observed value as a line.",
            "Raters are shuffled between groups, each with all of their ratings. The further the line is from the "
            "histogram, the less it looks like chance.",
        ))  # fmt: skip
    blocks += [
        drawn(
            "xrr_matrix", found, slug("cohesion-pairs", axis), f"Agreement between groups: {axis}, {level} level",
            f"XRR between the groups of {axis}, with each group's IRR on the diagonal.",
            "Off the diagonal: how far two groups agree with each other beyond chance (XRR). On it: how far a group "
            "agrees within itself (IRR).", axis,
        )
        for axis in dict.fromkeys(row.axis for row in found.pair_rows)
    ]  # fmt: skip
    if found.ranked_axes():
        blocks.append(drawn(
            "dsi_ranking", found, "cohesion-dsi", f"Which attribute divides the raters most, {level} level",
            "Attributes ranked by their largest GAI.",
            "DSI is the largest GAI of an attribute's groups; its p-value compares it with the largest GAI of shuffled "
            "raters, its corrected one with the largest of all attributes.",
        ))  # fmt: skip
    return blocks


def _table(found: Cohesion) -> DataTable:
    names = [record.name for record in of_role("tested", "asked", "beside", "whole")]
    frame = found.to_frame().filter(pl.col("statistic").is_in(names), pl.col("group") != "")
    values = tested_values(frame)
    if not found.axes:  # nothing is tested, so nothing stands beside chance
        values = values.drop("axis", "group", "chance", "p", "p corrected")
    return table(
        "cohesion-table",
        f"All cohesion values, {found.settings['level']} level",
        values,
        MAX_ROWS * len(names),
        search=True,
    )
