"""Alignment: whose view language models reflect."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plurivox.base.settings import Axes
from plurivox.domain.axis import CROSS
from plurivox.domain.ratings import Ratings
from plurivox.lenses.alignment import result as views
from plurivox.lenses.alignment.matching import ALL, as_answers
from plurivox.lenses.alignment.result import Alignment
from plurivox.report.parts import (
    Block,
    Brief,
    Prose,
    Section,
    Terms,
    Tile,
    drawn,
    findings_of,
    headline,
    remarks_of,
    shown,
    slug,
    switched,
    values,
)
from plurivox.statistics.alignment import LEAST_ITEMS

LEAD = (
    "ADA-Met is the average distance of a model's answer from what most raters say, in points of the scale; lower is "
    "closer, and no answer costs the whole scale. References answer without judging: always one point, or at random."
)
METHODS = (
    "Groups are compared two at a time, on the items that both rated. The closest group of an attribute is claimed "
    "only if its lead over the next is larger than when whole raters are shuffled between groups, if intervals over "
    "items exclude 0 against every other group, and if they also do beyond what the same answers give in random "
    "order: answers that follow no group item by item, such as coin tosses, are nearer to a group with less extreme "
    "scores. Distances are from modes, or from single votes if groups have few for an item. At equal sizes, as many "
    "raters are drawn from each group as the smallest has."
)
STANDING_IN = (
    "Each human with 30 or more items that others also rated is compared with the model: which of the two is closer "
    "to the other raters of an item? A tie counts as a win for both, a refusal as a loss. ρ is the share of items "
    "that the model wins "
    "or ties. ω is the share of humans who do not win more often than the model by the tolerance or more (one-sided "
    "t-test, corrected over humans). The published test lets a model stand in if ω is at least one half. If one point "
    "dominates, a constant answer passes too. So a model stands in here only if its ρ is also above that of the best "
    "constant (items resampled, corrected over models)."
)
TERMS = (
    ("Mode", "The most frequent point; if several tie, their mean."),
    ("Failed, missing", "The question was never answered, for reasons unrelated to the model, or never asked. Such "
                        "items cost nothing and are left out for that model."),
    ("Wins", "How often a group is the closest one when items are resampled; ties are shared."),
    ("Follows", "The lead is larger than that of the same answers in random order, by an interval over items."),
    ("At equal sizes", "The mean lead over draws of raters in which every group is as large as the smallest."),
    ("ω, ρ", "The share of humans for whom a model may stand in, and how often it is at least as close to the others "
    "as the human is (the alternative annotator test, Calderon et al. 2025)."),
    ("Reference", "Answers that judge nothing: each point given always, a draw from all votes, a uniform draw. They "
    "are not models, and are never said to stand in."),
    ("Alpha", "Krippendorff's alpha: 1 is full agreement, 0 what chance gives."),
)  # fmt: skip
SCORED = (
    "Of the rated items, those that each model answered are scored. With repeated answers, the best of them counts for "
    "an item."
)
CLOSEST = (
    "Gap: how much farther the next group is; chance: what shuffled raters give; beyond order: the least lead beyond "
    "what the same answers give in random order. Over items, follows: whether intervals over items exclude 0 for both. "
    "p is corrected over all models and attributes."
)
PAIRS = (
    "By how many points the other group is farther than the first, on the items that both rated. Intervals are over "
    "items, and hold at 98 % over all models and attributes together; pairs are in a fixed order."
)
ALPHAS = "Compare alpha among models with that among humans: if it is higher, models agree more than people do."
ASKED = {
    "alignment-prompts": "Answers of one model to the same items, asked with two prompts.",
    "alignment-stability": "Items with repeated answers: the share with only one answer, and the mean spread in "
                           "points.",
    "alignment-positions": "Options were shown in different orders; without a preference for positions, each is "
                           "chosen equally often.",
}  # fmt: skip
"""The tables of what only some answers allow, in the order of the lens."""
ANSWERS = (
    ("refusals", "alignment-refusals", "What models answer, and what they do not",
     "Share of the rated items that each model answered, refused, or left without a readable answer.",
     "In ADA-Met a refusal counts as the largest distance; ADA-Met of answered items leaves it out."),
    ("distance_histogram", "alignment-distances", "How far answers are from the mode",
     "For each model, the share of items by the distance of its answer from the mode of all raters.",
     "Of two models with the same mean distance, one may be slightly off on many items and the other far off on a "
     "few."),
    ("alignment_items", "alignment-item-map", "What models answer, item by item",
     "The mean rating of each item, or band of items, and what each model answers.",
     "The first row rises from left to right. A model that sees what raters see also rises; one in a single colour "
     "gives the same answer to everything."),
)  # fmt: skip
"""Charts of what models answer: their names, anchors, titles, alternative texts and captions."""
SHOWN_ITEMS = 20
MAX_TOGETHER = 10  # models up to which all attributes share a heat map
MAX_AXES = 6
MAX_DOTS = 20  # rows of the first chart
_ANCHORS = {
    "closest_gap": "alignment-closest", "stand_in": "alignment-stand-in", "alpha": "alignment-alpha",
    "position": "alignment-positions",
}  # fmt: skip


def section(brief: Brief) -> Section | None:
    """Compare the answers of models with the votes of raters, if there are any."""
    if "answers" not in brief.study.inputs:
        return None
    found, remarks = found_in(brief), compared_axes(brief)[1]
    findings = findings_of(found, "alignment-dots", _ANCHORS)
    more: list[Block] = [
        *shown("alignment-accounts", views.accounts(found, parts=True), SCORED), *_heats(found),
        *shown("alignment-closest", views.closest(found), CLOSEST, title="The closest groups"),
        *shown("alignment-contrasts", views.contrasts(found), PAIRS),
        *(drawn(chart, found, *texts) for chart, *texts in ANSWERS),
        *shown("alignment-alpha", views.alphas(found), ALPHAS, title="Do models agree with each other?"),
        *_stand_ins(found),
    ]  # fmt: skip
    as_rater = views.overall(found)[1]
    if len(as_rater.header) > 1:
        more += shown("alignment-judged", as_rater, "The section on responsiveness explains these.")
    for (name, note), view in zip(ASKED.items(), views.asked(found), strict=True):
        more += shown(name, view, note)
    terms = tuple((slug("alignment-term", name), name, text) for name, text in TERMS)
    frame = found.to_frame().filter(pl.col("statistic") != "closest_gap")
    table = values("alignment-table", "All alignment values", frame)
    more += [*_items(found, brief), table, Prose(METHODS), Terms(terms)]
    return Section(
        "alignment", "Whose view models reflect", LEAD, _dots(found), findings, remarks + remarks_of(found), more, "",
        _tiles(found),
    )  # fmt: skip


def _tiles(found: Alignment) -> list[Tile]:
    """Return how far the nearest model is from raters, next to the best answer without judgement."""
    frame = found.to_frame().filter(pl.col("value").is_not_nan(), statistic="ada_met", axis=ALL, subset=ALL)
    frame = frame.sort("value", "model").unique("reference", keep="first", maintain_order=True)
    if frame.height < 2:
        return []
    model, constant = frame.sort("reference").iter_rows(named=True)
    name = f"points from the mode of raters: {model['model']}, the nearest model"
    return [Tile(f"{model['value']:.2f}", name, f"{constant['model']}: {constant['value']:.2f}", "alignment-dots")]


def found_in(brief: Brief) -> Alignment:
    """Return what the lens found; trained raters judge models if they rated what models answered."""
    answers = as_answers(brief.study.inputs["answers"], brief.ratings)
    prior, trained = brief.asked.prior, None
    reference = brief.study.inputs.get("reference")
    if isinstance(reference, Ratings):
        known = answers.items.is_in(reference.items["item"].cast(pl.String).implode())
        trained = reference if known.any() else None
    found: Alignment = brief.ask(
        "alignment", inputs={"answers": answers, "trained": trained}, by=compared_axes(brief)[0], several={},
        subset=brief.asked.items_by, prior=1.0 if isinstance(prior, str) else prior,
        threshold=None if trained is None else brief.asked.threshold,
    )  # fmt: skip
    return found


def compared_axes(brief: Brief) -> tuple[Axes, list[str]]:
    """Return the axes whose groups do not overlap, and what is left out."""
    several = [one for one in brief.axes if any(name in brief.asked.several for name in one)]
    if not several:
        return brief.axes, []
    remark = f"Alignment compares groups that do not overlap, so it leaves out: {', '.join(map(CROSS.join, several))}."
    return tuple(one for one in brief.axes if one not in several), [remark]


def _heats(found: Alignment) -> list[Block]:
    """Return one heat map of all attributes, or, with many models, one for each."""
    together = len(found.voices) <= MAX_TOGETHER or len(found.axes) < 2
    axes: Sequence[str | None] = [None] if together else found.axes[:MAX_AXES]
    return [
        drawn(
            "alignment_heat", found, slug("alignment-heat", *([] if axis is None else [axis])),
            f"Models and groups of raters{'' if axis is None else f': {axis}'}",
            f"ADA-Met of each model for all raters and for each group{'' if axis is None else f' of {axis}'}.",
            "Compare the cells of a row within one attribute: the lightest is the group whose view is nearest to the "
            "answers. A row that is dark throughout is far from everybody.", axis,
        )
        for axis in axes
    ]  # fmt: skip


def _dots(found: Alignment) -> list[Block]:
    """Return how far models are from groups, a chart for each attribute, those with a claim first."""
    said = found.statements()
    claimed = [one.axis for one in said if one.claim and one.statistic == "closest_gap"]
    axes: Sequence[str | None] = sorted(found.axes, key=lambda axis: axis not in claimed)[:MAX_AXES]
    return switched("alignment-dots", "Distance from groups of", [
        (axis or "all raters", drawn(
            "alignment_dots", found, slug("alignment-dots", axis or "all-raters"), _closest_to(found, axis),
            "ADA-Met of each model for all raters and for groups, with 95 % intervals.",
            "Groups may clearly differ even if their intervals overlap.", "ada_met", axis, max_rows=MAX_DOTS,
            measure="ADA-Met: distance from what most raters say, in points.",
        ))
        for axis in axes or [None]
    ])  # fmt: skip


def _closest_to(found: Alignment, axis: str | None) -> str:
    """Say what is claimed about models and the groups of an attribute; without one, who may stand in."""
    if axis is None:
        return headline(found.statements(), "stand_in", otherwise="How far models are from raters")
    said = [one for one in found.statements() if one.axis == axis]
    return headline(said, "closest_gap", otherwise=f"No model is certain to be closer to one group of {axis}")


def _stand_ins(found: Alignment) -> list[Block]:
    few = int(found.stand_ins()["n_few"].max() or 0) if found.stand_ins().height else 0  # type: ignore[arg-type]
    note = (
        f"Tolerance {found.settings['tolerance']:g}: how much more often than the model a human may win. Best "
        "constant: the point with the highest ρ when it is always given, on the items of the model."
    )
    note += f" Humans with fewer than {LEAST_ITEMS} such items are left out: up to {few:,}." if few else ""
    table = shown("alignment-stand-in", views.stand_ins(found), note, title="Could a model stand in for a rater?")
    return [Prose(STANDING_IN), *table] if table else []


def _items(found: Alignment, brief: Brief) -> list[Block]:
    view = views.items(found, SHOWN_ITEMS)
    note = (
        f"The {len(view.rows):,} of {found.items().height:,} items whose mean rating and mean answer are farthest "
        "apart. Distance: of answers from single ratings, on average."
    )
    if not found.in_numbers:
        note += f" Means use the numbers of the points, {found.numbered_ends}."
    title = "Items that models and humans see most differently"
    return shown("alignment-items", view, note, title=title, brief=brief)
