"""Responsiveness: whose scores convey severity."""

from __future__ import annotations

import polars as pl

from plurivox import plots
from plurivox.lenses.responding import STATISTICS
from plurivox.lenses.responsiveness import responsiveness
from plurivox.lenses.responsiveness_result import Responsiveness
from plurivox.report.parts import (
    Block,
    DataTable,
    Figure,
    Finding,
    Inputs,
    Prose,
    Section,
    remarks_of,
    slug,
    top_rows,
    undefined_remarks,
)
from plurivox.statistics.registry import LABELS

LEAD = (
    "Does a higher score mean more severe (MPA), and do unsafe items get higher scores than safe ones (WRA)? Scores "
    "are held "
    "against a reference that a group's own raters are never part of."
)
MAX_ROWS = 200
MAX_PARTS = 6  # parts of the items with a chart of their own
REGIONS = (
    "Both high: scores grade severity and tell unsafe from safe. MPA low: broad distinctions without grades; look at "
    "unused "
    "scores and at those over which precision stands still. WRA low: safe and unsafe items share scores; look at such "
    "pairs. Both low: the scale or the reference may be misunderstood, or the view truly differs; go through known "
    "items "
    "together. A low value is a reason to look, never one to drop a group."
)


def section(inputs: Inputs) -> Section:
    """Hold the scores of groups against the reference, or, without one, against the rest of the crowd."""
    if not inputs.ratings.has_raters or not inputs.by:
        remark = "Responsiveness needs groups of raters: give them with --by."
        return Section("responsiveness", "Responsiveness", LEAD, remarks=[remark])
    against = "crowd" if inputs.reference is None else inputs.reference
    found = responsiveness(
        inputs.ratings, against, inputs.by, threshold=inputs.threshold, items_by=inputs.items_by,
        permutations=inputs.permutations, bootstrap=inputs.bootstrap, seed=inputs.seed, several=inputs.several,
        min_group_size=inputs.min_group_size, progress=inputs.progress,
    )  # fmt: skip
    blocks: list[Block] = [Prose(_reference(found)), _forest(found), _plane(found), Prose(REGIONS)]
    blocks += [_forest(found, subset) for subset in found.subsets[1 : MAX_PARTS + 1]]
    for axis in found.axes:
        blocks += _of_axis(found, axis)
    blocks.append(_table(found))
    remarks = remarks_of(found)
    if inputs.reference is None:
        remarks.append(
            "No reference was given, so scores are held against the rest of the crowd. Give ratings of trained "
            "raters with "
            "--reference."
        )
    findings = [Finding(s.text, s.weight, "responsiveness-forest") for s in found.statements() if s.weight > 0]
    return Section("responsiveness", "Responsiveness", LEAD, blocks, findings, remarks + _undefined(found))


def _reference(found: Responsiveness) -> str:
    reference = found.settings["reference"]
    boundaries = reference["boundaries"]
    split = (
        f"unsafe from “{boundaries[0]}” on"
        if len(boundaries) == 1
        else f"split at each of {len(boundaries)} points in turn, and values averaged"
    )
    size = f"{reference['n_ratings']:,} ratings of {reference['n_items']:,} items"
    return f"The reference: {reference['name']}, {size}, {split}."


def _forest(found: Responsiveness, subset: str = "all") -> Figure:
    where = "" if subset == "all" else f" on {subset}"
    number = found.subsets.index(subset)
    return Figure(
        f"responsiveness-part-{number}" if number else "responsiveness-forest", f"MPA and WRA of each group{where}",
        plots.responsiveness_forest(found, subset=subset),
        f"MPA and WRA of each group{where} with 95 % intervals, over the values of random groups of the same size.",
        "Small groups have lower values by chance alone: compare a point with its grey strip, not with other groups.",
        plots.responsiveness_forest_data(found, subset=subset),
    )  # fmt: skip


def _plane(found: Responsiveness) -> Figure:
    return Figure(
        "responsiveness-plane", "The MPA–WRA plane", plots.mpa_wra_plane(found),
        "Each group by its MPA and WRA, in four regions.",
        "Further right, scores grade severity better; further up, unsafe and safe are told apart better.",
        plots.mpa_wra_plane_data(found),
    )  # fmt: skip


def _of_axis(found: Responsiveness, axis: str) -> list[Block]:
    blocks: list[Block] = [
        Figure(
            slug("responsiveness-precision", axis), f"Precision and recall at each score: {axis}",
            plots.precision_recall(found, axis),
            f"Precision and recall at each score for groups of {axis}.",
            "Precision: the share of unsafe among the reference ratings of items with that score; it should rise "
            "from score "
            "to score. Recall: the share of all unsafe reference ratings that met that score.",
            plots.precision_recall_data(found, axis),
        )
    ]  # fmt: skip
    n_groups = len({row.group for row in found.rows if row.axis == axis and row.kind == "group"})
    if n_groups > 2:
        blocks.append(
            Figure(
                slug("responsiveness-metrics", axis), f"Beside rank correlation and AUROC: {axis}",
                plots.metric_comparison(found, axis),
                f"MPA and WRA against Kendall's τ_b and AUROC over groups of {axis}.",
                "Traditional metrics go with WRA more than with MPA: whether scores grade severity is a question of "
                "its own.",
                plots.metric_comparison_data(found, axis),
            )
        )  # fmt: skip
    return blocks


def _table(found: Responsiveness) -> DataTable:
    frame = found.to_frame().select(
        "axis", "group", "subset", pl.col("statistic").replace(LABELS), "value", low="ci_low", high="ci_high",
        chance="null_median", p="p_value", p_corrected="p_adjusted", raters="n_raters", items="n_items", note="note",
    )  # fmt: skip
    shown, note = top_rows(frame, MAX_ROWS * len(STATISTICS))
    return DataTable(
        "responsiveness-table", "All responsiveness values", shown.rename({"p_corrected": "p corrected"}), note=note,
        search=True,
    )  # fmt: skip


def _undefined(found: Responsiveness) -> list[str]:
    rows = [row for row in found.rows if row.value != row.value and row.kind == "group" and row.statistic == "mpa"]
    return undefined_remarks("MPA", rows)
