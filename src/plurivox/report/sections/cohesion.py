"""Cohesion: which groups see things alike."""

from __future__ import annotations

import math

import polars as pl

from plurivox.infer.claims import interval_words
from plurivox.infer.grouping import axes_of
from plurivox.lenses.cohesion.result import Cohesion
from plurivox.report.parts import (
    CAUTION,
    Action,
    Block,
    Brief,
    DataTable,
    Figure,
    Section,
    Tile,
    drawn,
    findings_of,
    headline,
    remarks_of,
    slug,
    switched,
    undefined_remarks,
    values,
)
from plurivox.statistics.registry import of_role

LEAD = (
    "GAI is agreement within a group (IRR) over agreement with all others (XRR). Chance does not give 1, so each "
    "group is compared with as many raters drawn at random."
)
EVERYBODY = (
    "How far do two raters of the same item agree? Alpha (IRR) is agreement beyond chance: 1 if all agree, 0 if "
    "scores might as well be drawn from the pool of all scores. Other measures of agreement are next to it."
)
MAX_ROWS = 200
MAX_SHOWN = 10  # groups in the first chart
MAX_AXES = 8
MAX_NULLS = 8
STRENGTHS = (  # Krippendorff (2004) relies on data from .8 upwards, and with caution from .667
    (0.8, "agree well"), (0.667, "agree well enough for tentative conclusions"), (0.4, "agree moderately"),
    (0.2, "agree weakly"), (0.0, "hardly agree"), (-math.inf, "disagree more than expected by chance"),
)  # fmt: skip
MAX_PAIRED = 12  # groups of an axis up to which every pair is compared


def found_in(brief: Brief) -> Cohesion:
    """Return the lens's result for the report."""
    found: Cohesion = brief.ask("cohesion", pairs=_paired(brief)) if brief.by else brief.ask("cohesion")
    return found


def section(brief: Brief) -> Section:
    """Compare groups by how far they agree."""
    if not brief.ratings.has_raters:
        return Section("cohesion", "Cohesion", LEAD, remarks=["Cohesion needs ratings of known raters."])
    found = found_in(brief)
    sentence, tiles = "", []
    row = next((row for row in found.rows if (row.axis, row.statistic) == ("all", "irr")), None)
    if row is not None and not math.isnan(row.value):
        strength = next(word for least, word in STRENGTHS if row.value >= least)
        sentence = (
            f"Two raters of the same item {strength}: alpha {interval_words(row, found.settings)}, where 1 is full "
            "agreement and 0 what chance gives."
        )
        tiles = [Tile(f"{row.value:.2f}", "alpha, agreement beyond chance", f"raters {strength}", "cohesion")]
    if not brief.by:
        findings = findings_of(found, "cohesion-table")
        title = "Agreement of all raters"
        return Section("cohesion", title, EVERYBODY, [_table(found)], findings, remarks_of(found), (), sentence, tiles)
    findings = findings_of(found, "cohesion-forest", {"dsi": "cohesion-dsi"})
    remarks = remarks_of(found) + undefined_remarks(found, "gai")
    if not _paired(brief) and not brief.asked.several:
        remarks.append(
            f"Pairs of groups are not compared, since an attribute has more than {MAX_PAIRED} groups; "
            "plurivox cohesion --pairs compares them."
        )
    actions = [
        Action(CAUTION, f"anything by {one.axis}: who rated what depends on it.", "cohesion", 1)
        for one in found.statements() if one.statistic == "design"
    ]  # fmt: skip
    return Section(
        "cohesion", "Who sees things alike", LEAD, [_forest(found), *_pairs(found)], findings, remarks, _more(found),
        sentence, tiles, actions,
    )  # fmt: skip


def _paired(brief: Brief) -> bool:
    """Return whether every axis is small enough to compare all pairs, and none has overlapping groups."""
    axes = axes_of(brief.ratings, brief.by, brief.asked.min_group_size)
    return not brief.asked.several and all(len(axis.shown) <= MAX_PAIRED for axis in axes)


def _forest(found: Cohesion) -> Figure:
    said, nobody = found.statements(), "No group is certain to agree more, or less, than a random group"
    title = headline(said, "gai", "view_correlation", otherwise=headline(said, "irr", "xrr", otherwise=nobody))
    return drawn(
        "gai_forest", found, "cohesion-forest", title,
        "GAI of each group with its 95 % interval, over the values of random groups of the same size.",
        "The further a point lies outside its grey strip, the less it looks like chance.",
        measure=f"GAI, agreement within a group over agreement with the others, {found.settings['level']} level.",
        max_groups=MAX_SHOWN,
    )  # fmt: skip


def _pairs(found: Cohesion) -> list[Block]:
    """Return how far groups agree with each other, a matrix for each attribute."""
    axes = list(dict.fromkeys(row.axis for row in found.pair_rows))[:MAX_AXES]
    level = found.settings["level"]
    return switched("cohesion-pairs", "Agreement between groups of", [
        (axis, drawn(
            "xrr_matrix", found, slug("cohesion-pairs", axis), _range(found, axis),
            f"XRR between the groups of {axis}, with each group's IRR on the diagonal.",
            "Off the diagonal: how far two groups agree with each other beyond chance (XRR). On the diagonal: how far "
            "a group agrees within itself (IRR).", axis, measure=f"Agreement within and between groups, {level} level.",
        ))
        for axis in axes
    ])  # fmt: skip


def _range(found: Cohesion, axis: str) -> str:
    """Say within which range the agreement of two groups lies."""
    values = [
        row.value for row in found.pair_rows
        if (row.axis, row.statistic) == (axis, "xrr") and not math.isnan(row.value)
    ]  # fmt: skip
    if not values:
        return f"Agreement between groups of {axis}"
    low, high = f"{min(values):.2f}", f"{max(values):.2f}"
    return f"Two groups of {axis} agree by {low if low == high else f'{low} to {high}'}"


def _more(found: Cohesion) -> list[Block]:
    level = found.settings["level"]
    blocks: list[Block] = []
    if found.settings["permutations"]:
        blocks.append(drawn(
            "null_histograms", found, "cohesion-null", "Observed against shuffled raters",
            "For the most notable groups, the histogram of GAI over shuffled raters and the observed value as a line.",
            "Raters are shuffled between groups, each with all of their ratings. The further the line is from the "
            "histogram, the less it looks like chance.", max_groups=MAX_NULLS,
        ))  # fmt: skip
    if found.ranked_axes():
        title = headline(found.statements(), "dsi", otherwise="No attribute is certain to divide the raters")
        blocks.append(drawn(
            "dsi_ranking", found, "cohesion-dsi", title, "Attributes ranked by their largest GAI.",
            "DSI is the largest GAI of an attribute's groups; its p-value compares it with the largest GAI of shuffled "
            "raters, its corrected one with the largest of all attributes.", measure=f"DSI, {level} level.",
        ))  # fmt: skip
    return [*blocks, _table(found)]


def _table(found: Cohesion) -> DataTable:
    names = [record.name for record in of_role("tested", "asked", "beside", "whole")]
    frame = found.to_frame().filter(pl.col("statistic").is_in(names), pl.col("group") != "")
    title = f"All cohesion values, {found.settings['level']} level"
    return values("cohesion-table", title, frame, MAX_ROWS * len(names))
