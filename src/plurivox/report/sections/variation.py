"""Variation: who rates higher on the same items, and what scores vary by."""

from __future__ import annotations

import math

import polars as pl

from plurivox.base.wording import counted, listed
from plurivox.lenses.variation import tables as views
from plurivox.lenses.variation.result import Variation, at_hand, below_one
from plurivox.report.parts import (
    CHECK,
    COLLECT,
    Action,
    Block,
    Brief,
    Figure,
    Prose,
    Section,
    Tile,
    drawn,
    findings_of,
    remarks_of,
    shown,
    slug,
    switched,
    undefined_remarks,
    values,
)
from plurivox.statistics.registry import LABELS, names_of

LEAD = (
    "Leniency is how many points of the scale higher a group rates than the others, on the items that both rated. "
    "Scores also vary by item, by rater, and by how groups see single items."
)
EVERYBODY = (
    "How much of the variation in scores is due to items, and how much to raters? And how many raters are needed to "
    "trust a mean?"
)
SHARES_OF_ALL = (
    "Scores differ because items differ, and because some raters give higher scores to everything (rater). The rest "
    "belongs to single ratings: a rater's own view of an item, and noise. Each component is a share of all variance; "
    "its interval shows how it would change with other items and other raters."
)
SHARES = (
    "Scores differ because items differ, because some raters give higher scores to everything (rater), because whole "
    "groups do (group), and because groups see single items differently (group × item). The rest belongs to single "
    "ratings: a rater's own view of an item, and noise. Each component is a share of all variance. The one between "
    "groups is for these groups only; its interval shows how it would change with other items and other raters."
)
RELIABILITY = (
    "A mean of several raters is less noisy than one score. Its relative reliability says how reliably it orders "
    "items if the same raters rate all items; the absolute one says how reliably it gives each item's level if "
    "different raters may rate each item. The ceiling, in the table, is the highest correlation with such means that "
    "any model can be expected to reach."
)
ADJUSTED = (
    "Attributes are correlated: a difference by age may be one of gender. So all attributes are fitted at once, on "
    "the same items, and each group is compared with the largest group of its attribute, the reference. If a group "
    "keeps its distance from the reference, the other attributes do not explain it."
)
REPEATS = (
    "Some raters rated items again. How often they repeat their own score is compared with how often two raters of "
    "the same items agree: nobody can be expected to agree with others more than with themselves."
)
ANCHORS = {
    "components": "variation-shares", "reliability": "variation-reliability", "repeats": "variation-repeats",
    "drift": "variation-drift",
}  # fmt: skip
"""The evidence for findings that are not about leniency."""
MAX_ROWS = 200
MAX_SHOWN = 12  # groups in the first chart
MAX_IN_PART = 8  # groups in a chart of a part of the items
MAX_PARTS = 6  # parts of the items with a chart of their own
MAX_ADJUSTED = 200  # groups up to which all are fitted at once: the work grows with their fourth power
MAX_CURVES = 6  # groups of an attribute up to which each has a curve


def found_in(brief: Brief) -> Variation:
    """Return the lens's result for the report."""
    asked, adjust = brief.asked, _several_attributes(brief) and _groups_alone(brief) <= MAX_ADJUSTED
    if adjust:
        from plurivox.lenses.variation.run import adjusts_alike

        adjust = adjusts_alike(brief.ratings, brief.axes, asked.several, asked.items_by, asked.min_group_size)
    found: Variation = brief.ask("variation", adjust=adjust)
    return found


def section(brief: Brief) -> Section:
    """Compare the scores of groups on the same items, and divide their variance."""
    if not brief.ratings.has_raters:
        remark = "Who rates higher is unknown, because the ratings do not say who gave them."
        return Section("variation", "Who rates higher", LEAD, remarks=[remark])
    several, n_groups, found = _several_attributes(brief), _groups_alone(brief), found_in(brief)
    prose = Prose(SHARES if found.axes else SHARES_OF_ALL)
    main: list[Block] = [_shares(found), _reliability(found)]
    more: list[Block] = [prose, Prose(RELIABILITY), *_adjusted(found), *_of_groups(found), *_again(found)]
    more += [*_over_time(found), *_parts(found), *_tables(found)]
    anchor = "variation-forest" if found.axes else "variation-shares"
    title, lead = ("Who rates higher, and what varies", LEAD) if found.axes else ("What scores vary by", EVERYBODY)
    remarks = [*remarks_of(found), *undefined_remarks(found, "leniency")]
    if several and n_groups > MAX_ADJUSTED:
        remarks.append(
            f"Attributes together have {n_groups:,} groups. Above {MAX_ADJUSTED}, effects adjusted for the other "
            "attributes are left out, since they take long; plurivox variation --adjust computes them."
        )
    return Section(
        "variation", title, lead, main, findings_of(found, anchor, ANCHORS), remarks, more, "", _tiles(found),
        _actions(found), _lead_figure(found) if found.axes else None,
    )  # fmt: skip


def _lead_figure(found: Variation) -> Figure:
    """Return who rates higher or lower, the lowest first, with what chance gives."""
    return drawn(
        "leniency_forest", found, "variation-forest", "No group is certain to rate the same items higher or lower",
        "How many points higher each group rates the same items, with 95 % intervals, over the values of random "
        "groups of the same size.",
        "Right of the line, a group rates higher than the others. The further a point lies outside its grey strip, the "
        "less it looks like chance.",
        order="value", max_groups=MAX_SHOWN, measure="Leniency: points above or below the others on the same items.",
    )  # fmt: skip


def _share_of(found: Variation, component: str) -> float:
    """Return the share of a component in the variance of all raters' scores."""
    shares = found.components().filter(subset="all", axis="all", component=component)["share"].to_list()
    return math.nan if not shares or shares[0] is None else float(shares[0])


def _at_hand(found: Variation) -> tuple[float, float, int]:
    """Return how reliable a mean of these raters is, how many raters the target needs, and how many rate an item."""
    here = at_hand(found)
    if not here or math.isnan(here["relative"]):
        return math.nan, math.nan, 0
    return here["value"], float(here[here["kind"]]), here["k"]


def _tiles(found: Variation) -> list[Tile]:
    """Return the items' share of the variance, and how reliable means are."""
    item, rater = _share_of(found, "item"), _share_of(found, "rater")
    tiles = []
    if not math.isnan(item):
        name = "of the variance in scores lies between items"
        tiles.append(Tile(f"{item:.0%}", name, f"{rater:.0%} in raters' leniency", "variation-shares"))
    reached, needed, k = _at_hand(found)
    if k:
        target = found.settings["target"]
        takes = (
            f"{target:g} needs {counted(int(needed), 'rater')}"
            if math.isfinite(needed)
            else f"{target:g} is out of reach"
        )
        name = f"reliability of an item's mean of {counted(k, 'rater')}"
        tiles.append(Tile(below_one(reached), name, takes, "variation-reliability"))
    return tiles


def _actions(found: Variation) -> list[Action]:
    """Return how many raters to collect if means are not reliable, and what leniency means for averages."""
    actions = []
    reached, needed, k = _at_hand(found)
    target = found.settings["target"]
    if k and reached < target and math.isfinite(needed):
        text = (
            f"about {counted(int(needed), 'rater')} for each item: a mean of {k} has a reliability of {reached:.2f}, "
            f"and {target:g} needs {int(needed):,}."
        )
        actions.append(Action(COLLECT, text, "variation-reliability", 1))
    claims = [one for one in found.statements() if one.claim and one.short and one.statistic == "leniency"]
    if claims:
        who = listed(dict.fromkeys(one.subject for one in claims), 2)
        text = f"averages over raters: {who} rate differently, so a mean depends on who rated."
        actions.append(Action(CHECK, text, "variation-forest", 2, tuple(claims)))
    return actions


def _several_attributes(brief: Brief) -> bool:
    """Return whether there are two uncrossed attributes that could explain each other."""
    return len({one for one in brief.axes if len(one) == 1} - {(name,) for name in brief.asked.several}) > 1


def _groups_alone(brief: Brief) -> int:
    """Return how many groups the uncrossed attributes have."""
    alone = [one[0] for one in brief.axes if len(one) == 1]
    return sum(len(axis.groups) for axis in brief.ask("overview").description.axes if axis.name in alone)


def _parts(found: Variation) -> list[Block]:
    """Return leniency on parts of the items."""
    return switched("variation-parts", "Leniency on", [
        (subset, drawn(
            "leniency_forest", found, f"variation-part-{number}", f"Leniency of each group on {subset}",
            f"How many points higher each group rates the same items on {subset}, with 95 % intervals, over the values "
            "of random groups of the same size.",
            "Right of the line, a group rates higher than the others.",
            subset=subset, max_groups=MAX_IN_PART,
        ))
        for number, subset in enumerate(found.subsets[1 : MAX_PARTS + 1], 1)
    ])  # fmt: skip


def _adjusted(found: Variation) -> list[Block]:
    """Return effects before and after adjusting for the other attributes, if two attributes allow it."""
    shown = found.adjusted().filter(pl.col("subset") == "all").filter(pl.len().over("attribute") > 1)
    if shown["attribute"].n_unique() < 1 or found.adjusted()["attribute"].n_unique() < 2:
        return []
    return [Prose(ADJUSTED), drawn(
        "adjusted_effects", found, "variation-adjusted", "Before and after adjusting for the other attributes",
        "How many points higher each group rates than the reference group of its attribute, before and after "
        "adjusting for the other attributes, with 95 % intervals.",
        "Two marks in the same place: the other attributes change nothing. A mark that moves to the line: they "
        "explain the difference.",
    )]  # fmt: skip


def _shares(found: Variation) -> Figure:
    item, rater = _share_of(found, "item"), _share_of(found, "rater")
    title = "What scores vary by cannot be estimated"
    if not math.isnan(item):
        title = f"{item:.0%} of the variance lies between items, {rater:.0%} in raters' leniency"
    return drawn(
        "variance_shares", found, "variation-shares", title,
        "One bar per attribute, divided into the shares of variance of item, rater, group, group × item and the rest."
        if found.axes
        else "One bar, divided into the shares of variance of item, rater and the rest.",
        "A long first part: items differ, and raters see it. A long second part: some raters give higher scores to "
        "everything." + " The parts of groups show how much the attribute matters in total." * bool(found.axes),
        measure="Shares of the variance in scores.", half=True,
    )  # fmt: skip


def _reliability(found: Variation) -> Figure:
    reached, needed, k = _at_hand(found)
    title = "How reliable means are cannot be estimated"
    if k:
        takes = f"{counted(int(needed), 'rater')} reach" if math.isfinite(needed) else "No number of raters reaches"
        title = f"{takes} a reliability of {found.settings['target']:g}; a mean of {k:,} has {below_one(reached)}"
    return drawn(
        "rater_reliability", found, "variation-reliability", title,
        "Reliability of a mean against the number of raters, relative and absolute, with 95 % intervals.",
        "Where a curve crosses the dotted line, that many raters are enough. Where it is flat, more raters add little.",
        measure="Reliability of a mean of this many raters.", half=True,
    )  # fmt: skip


def _of_groups(found: Variation) -> list[Block]:
    """Return what more raters of each group add."""
    groups = {axis: {row.group for row in found.rows if (row.axis, row.kind) == (axis, "group")} for axis in found.axes}
    return switched("variation-reliability-groups", "What more raters add, by", [
        (axis, drawn(
            "rater_reliability", found, slug("variation-reliability", axis), f"What more raters of each {axis} add",
            f"Relative reliability of a mean against the number of raters, for groups of {axis}.",
            "A higher curve: raters of that group agree more on which item is higher, so fewer are enough.", axis,
        ))
        for axis, own in groups.items() if 1 < len(own) <= MAX_CURVES
    ])  # fmt: skip


def _again(found: Variation) -> list[Block]:
    """Return how far raters agree with themselves, if some rated items again."""
    if found.repeats().is_empty():
        return []
    return [Prose(REPEATS), drawn(
        "repeat_agreement", found, "variation-repeats", "Who agrees with themselves",
        "For each group the share of repeats with the same score, and the share of pairs of raters with the same score "
        "on the same items, with 95 % intervals.",
        "Both marks in the same place: a rater's own score, given again, is as uncertain as another rater's.",
    )]  # fmt: skip


def _over_time(found: Variation) -> list[Block]:
    """Return whose scores drift, if it is known when ratings were given."""
    if not any(row.statistic == "drift" and not math.isnan(row.value) for row in found.rows):
        return []
    return [drawn(
        "drift_forest", found, "variation-drift", "Whose scores drift over time",
        "How many points the scores of each group rise from one unit of time to the next, with 95 % intervals, "
        "compared with shuffled times.",
        "Right of the line, a group scores the same items higher as time goes on. Chance is shown by shuffling each "
        "rater's own times.",
    )]  # fmt: skip


def _tables(found: Variation) -> list[Block]:
    """Return all values, shares of variance, and how many raters are needed."""
    frame = found.to_frame().filter(pl.col("group") != "")
    names = listed(LABELS[name] for name in frame["statistic"].unique(maintain_order=True))
    most = MAX_ROWS * len(names_of("higher"))
    note = f"The last columns: how many raters a mean needs for a reliability of {found.settings['target']:g}."
    return [
        *([values("variation-table", f"All values of {names}", frame, most)] if frame.height else []),
        *shown("variation-components", views.components(found, parts=True)),
        *shown("variation-needed", views.reliability(found, parts=True), note),
    ]
