"""Responsiveness: whose scores distinguish the ends of the scale, and grade what is between."""

from __future__ import annotations

import math

import polars as pl

from plurivox import plots
from plurivox.actions.advise.result import LISTS, MEANING, NAMES, NEXT, REMINDER, Advice
from plurivox.actions.advise.run import advice_on
from plurivox.base.wording import counted, in_words, listed, named
from plurivox.domain.scale_names import Poles
from plurivox.infer.view import RANGE, Column, view_of
from plurivox.lenses.psychometrics import MANY
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.lenses.responsiveness.references import CROWD
from plurivox.lenses.responsiveness.result import Responsiveness, verdicts
from plurivox.plots.responsiveness import correlation_words
from plurivox.report.parts import (
    CHECK,
    Action,
    Block,
    Brief,
    DataTable,
    Figure,
    Prose,
    Section,
    Tile,
    drawn,
    findings_of,
    headline,
    remarks_of,
    shown,
    slug,
    switched,
    table,
    undefined_remarks,
    values,
    with_text,
)
from plurivox.statistics.graded_fit import MAX_CELLS
from plurivox.statistics.registry import names_of
from plurivox.statistics.responsiveness import MEASURES

LEAD = (
    "Does a higher score mean {more} by the reference (MPA), and do items that it calls {high} get higher scores than "
    "those that it calls {low} (WRA)? A group's own raters are never part of the reference."
)
WITHOUT_REFERENCE = (
    "Two further values need no reference; they measure how {how} an item is by what groups have in common: "
    "Mokken's H_j, whether a group orders items as the others do, and the discrimination a of a graded response model, "
    "how sharply its scores rise with that."
)
SOME_PAIRS = 5  # pairs of items of each group
SEVEREST = 500  # items in the table of severities
MAX_ROWS = 200
MAX_SHOWN = 10  # groups in the first chart
MAX_AXES = 8
MAX_IN_PART = 8  # groups in a chart of a part of the items
MAX_PARTS = 6  # parts of the items with a chart of their own
REGIONS = (
    "Both high: scores grade from {low} to {high} and distinguish the two. MPA low: broad distinctions without "
    "grades; look at unused scores and at those over which precision is flat. WRA low: {low} and {high} items share "
    "scores; look at such pairs. Both low: the scale or the reference may be misunderstood, or the view truly "
    "differs; go through known items together. A low value is a reason to look, never to drop a group."
)


def found_in(brief: Brief) -> Responsiveness:
    """Return the lens's result for the report."""
    found: Responsiveness = brief.ask("responsiveness", psychometrics=True) if brief.by else brief.ask("responsiveness")
    return found


def advice_in(brief: Brief, found: Responsiveness) -> Advice:
    """Return the advice that belongs to it."""
    reference = brief.study.inputs.get("reference", CROWD)
    advice: Advice = brief.study.once(
        ("advice", id(found)), lambda: advice_on(found, brief.ratings, reference, how=brief.study.how), found
    )
    return advice


def section(brief: Brief) -> Section | None:
    """Compare the scores of groups with the reference or, without one, with the rest of the crowd."""
    poles = Poles.named(brief.ratings.scale.poles)
    if not brief.ratings.has_raters:
        remark = "Responsiveness needs ratings of known raters."
        return Section("responsiveness", "Responsiveness", poles.fill(LEAD), remarks=[remark])
    reference = brief.study.inputs.get("reference")
    if not brief.by:  # without groups, nobody in the crowd is left to be the reference
        if reference is None:
            return None
        found = found_in(brief)
        lead = poles.fill(LEAD).partition(" A group's own")[0] + f" {_reference(found)}"
        findings = findings_of(found, "responsiveness-table")
        return Section(
            "responsiveness", "Whether scores convey severity", lead, [_table(found)], findings, remarks_of(found),
            tiles=_tiles(found),
        )  # fmt: skip
    found = found_in(brief)
    advice = advice_in(brief, found)
    plane = drawn(
        "mpa_wra_plane", found, "responsiveness-plane", "The MPA–WRA plane",
        "Each group by its MPA and WRA, in four regions.", poles.fill(
            "Further right, scores grade better from {low} to {high}; further up, they distinguish the two better."
        ),
    )  # fmt: skip
    main: list[Block] = [_forest(found)]
    more: list[Block] = [*_curves(found), plane, Prose(poles.fill(REGIONS)), *_advice(advice, brief)]
    parts = [(one, _forest(found, one)) for one in found.subsets[1 : MAX_PARTS + 1]]
    more += switched("responsiveness-parts", "MPA and WRA on", parts)
    more += [*_beside(found), *_scales(found, brief), _table(found)]
    remarks = remarks_of(found)
    if reference is None:
        remarks.append(
            "No reference was given, so scores are compared with the rest of the crowd; ratings by trained raters "
            "would be a firmer reference."
        )
    findings = findings_of(found, "responsiveness-forest", dict.fromkeys(names_of("scaled"), "scale-forest"))
    remarks += undefined_remarks(found, "mpa")
    lead = f"{poles.fill(LEAD)} {_reference(found)}"
    return Section(
        "responsiveness", "Whose scores convey severity", lead, main, findings, remarks, more, "", _tiles(found),
        _actions(found, advice),
    )  # fmt: skip


def _tiles(found: Responsiveness) -> list[Tile]:
    """Return how well all raters distinguish the ends of the scale."""
    row, poles = found.row("all", "all", "wra"), Poles.of(found.settings)
    if math.isnan(row.value):
        return []
    name = poles.fill("of pairs of {high} and {low} items by the reference are put in that order (WRA)")
    beside = "the others get equal scores, or the reverse order"
    return [Tile(f"{row.value:.0%}", name, beside, "responsiveness-forest")]


def _actions(found: Responsiveness, advice: Advice) -> list[Action]:
    """Return the groups to go through items with: those that certainly stand out."""
    low = [one for one in verdicts(found.rows, found.settings).values() if one.low_wra or one.low_mpa or one.against]
    if not low:
        return []
    listing = "advice-pairs" if advice.table("pairs").height else "advice"
    who = listed([named(one.axis, one.group) for one in low], 2)
    high = Poles.of(found.settings).high
    text = f"what {high} means to {who}: go through items together before calling anybody wrong."
    return [Action(CHECK, text, listing, 0, tuple(one for one in found.statements() if one.claim))]


def _advice(advice: Advice, brief: Brief) -> list[Block]:
    """Return the remarks on each group next to its MPA and WRA, and what they may mean."""
    poles = Poles.of(advice.settings)
    seen = advice.to_frame().select("axis", "group", "seen", "sure")
    whole = advice.table("members").join(seen, on=["axis", "group"], how="left", maintain_order="left")
    whole = whole.with_columns(pl.col("seen").fill_null("nothing stands out"), pl.col("sure").fill_null(""))
    names = {"axis": "axis", "group": "group", "mpa": Column("MPA", RANGE), "wra": Column("WRA", RANGE),
             "sure": "sure", "seen": "seen"}  # fmt: skip
    blocks = shown("advice", view_of("What to look at, group by group", whole, names), REMINDER)
    habits = list(dict.fromkeys(advice.to_frame()["habit"]))
    if habits:
        columns = {
            "seen": [NAMES[one] for one in habits], "may mean": [poles.fill(MEANING[one]) for one in habits],
            "look at next": [poles.fill(NEXT[one]) for one in habits],
        }  # fmt: skip
        blocks.append(DataTable("advice-meaning", "What it may mean, and what to look at next", pl.DataFrame(columns)))
    low = advice.to_frame().filter(pl.col("habit").is_in(["low_wra", "both_low"])).select("axis", "group").unique()
    pairs = advice.table("pairs").join(low, on=["axis", "group"], how="semi", maintain_order="left")
    if pairs.height:
        first = pairs.group_by("axis", "group", maintain_order=True).head(SOME_PAIRS).select(pairs.columns)
        ends = {"unsafe": poles.high, "safe": poles.low}
        names = {f"{end}_{what}": f"{word} {what}" for end, word in ends.items() for what in ("item", "share")}
        title = f"Items to compare: one {poles.high} and one {poles.low}, with the same score"
        digits = {f"{word} share": 2 for word in ends.values()}
        blocks.append(DataTable("advice-pairs", title, first.rename(names), digits, search=True))
    for name, title in LISTS.items():  # the items behind the remarks
        own = advice.table("items").filter(list=name).drop("list")
        if own.height:
            first = own.group_by("axis", "group", "score", maintain_order=True).head(SOME_PAIRS).select(own.columns)
            share = f"{poles.high} share"
            frame, full = with_text(first.rename({"unsafe_share": share}), brief), poles.fill(title)
            full = full[0].upper() + full[1:]
            blocks.append(table(f"advice-{name}", full, frame, SEVEREST, digits={share: 2}, search=True))
    return blocks


def _reference(found: Responsiveness) -> str:
    reference = found.settings["reference"]
    boundaries = reference["boundaries"]
    split = f"split at each of {len(boundaries)} points in turn, with values averaged"
    if len(boundaries) == 1:
        split = f"{Poles.of(found.settings).high} from “{boundaries[0]}” on"
    size = f"{reference['n_ratings']:,} ratings of {reference['n_items']:,} items"
    name = "" if reference["name"] == "the reference" else f"{reference['name']}, "
    return f"The reference: {name}{size}, {split}."


def _forest(found: Responsiveness, subset: str = "all") -> Figure:
    where = "" if subset == "all" else f" on {subset}"
    number = found.subsets.index(subset)
    own = [one for one in found.statements() if one.subset == subset]
    nobody = f"No group is certain to grade or distinguish differently{where}"
    title = headline(own, "mpa", "wra", "hm", otherwise=nobody)
    return drawn(
        "responsiveness_forest", found, f"responsiveness-part-{number}" if number else "responsiveness-forest", title,
        f"MPA and WRA of each group{where} with 95 % intervals, over the values of random groups of the same size.",
        "What chance gives depends on the size of a group: compare a point with its grey strip, not with other groups.",
        subset=subset, max_groups=MAX_IN_PART if where else MAX_SHOWN,
        measure=f"MPA, whether higher scores mean more, and WRA, whether the ends are distinguished{where}.",
    )  # fmt: skip


def _curves(found: Responsiveness) -> list[Block]:
    """Return precision and recall at each score, a chart for each attribute."""
    poles = Poles.of(found.settings)
    return switched("responsiveness-precision", "Precision and recall by", [
        (axis, drawn(
            "precision_recall", found, slug("responsiveness-precision", axis), _rising(found, axis),
            f"Precision and recall at each score for groups of {axis}.",
            poles.fill(
                "Precision: the share of {high} among the reference ratings of items with that score; it should rise "
                "from score to score. Recall: the share of all {high} reference ratings that met that score."
            ), axis, measure="Precision and recall at each score.",
        ))
        for axis in found.axes[:MAX_AXES]
    ])  # fmt: skip


def _rising(found: Responsiveness, axis: str) -> str:
    """Say in how many groups precision rises from score to score."""
    frame = plots.precision_recall_data(found, axis).filter(pl.col("group") != "all")
    parts = frame.sort("position").group_by("group", maintain_order=True)
    groups = [part["precision"].drop_nulls().drop_nans() for _, part in parts]
    n = sum(bool((values.diff().drop_nulls() > 0).all()) for values in groups)
    if len(groups) == 1:
        return f"A higher score {'always' if n else 'does not always'} means a higher precision"
    of_all = f"{in_words(n)} of {counted(len(groups), 'group')} of {axis}"
    return f"A higher score always means a higher precision in {of_all}"


def _beside(found: Responsiveness) -> list[Block]:
    """Return MPA and WRA next to other measures, if there are enough groups."""
    axes = [axis for axis in found.axes if len({row.group for row in found.rows if row.axis == axis}) > 2]
    return switched("responsiveness-metrics", "Beside rank correlation and AUROC, by", [
        (axis, drawn(
            "metric_comparison", found, slug("responsiveness-metrics", axis),
            f"MPA and WRA beside rank correlation and AUROC, by {axis}",
            f"MPA and WRA against Kendall's τ_b and AUROC over groups of {axis}.",
            correlation_words(plots.metric_comparison_data(found, axis)), axis,
        ))
        for axis in axes[:MAX_AXES]
    ])  # fmt: skip


def _scales(found: Responsiveness, brief: Brief) -> list[Block]:
    """Return how groups relate to each other, regardless of the reference, and the severity that items are given."""
    scales, poles = found.psychometrics(), Poles.of(found.settings)
    if all(math.isnan(row.value) for row in scales.rows):
        return []
    blocks: list[Block] = [
        Prose(poles.fill(WITHOUT_REFERENCE)),
        drawn(
            "scale_forest", scales, "scale-forest", "Beside MPA and WRA: groups held against each other",
            "Mokken's H_j and the discrimination of a graded response model of each group, with 95 % intervals.",
            "Further right, a group orders items as the others do, and its scores rise more sharply with theirs. "
            "Scores of a larger group are based on more raters: compare groups of similar size.",
        ),
    ]  # fmt: skip
    blocks += switched("scale-curves", "Expected scores by", [
        (axis, drawn(
            "score_curves", scales, slug("scale-curves", axis), f"Expected score as items get {poles.more}, by {axis}",
            f"The score that groups of {axis} are expected to give as items get {poles.more}.",
            "A higher curve gives high scores earlier, a steeper one distinguishes smaller differences.", axis,
        ))
        for axis in scales.axes[:MAX_AXES]
        if not plots.score_curves_data(scales, axis).is_empty()
    ])  # fmt: skip
    few = brief.ratings.n_raters <= MANY and brief.ratings.n_raters * brief.ratings.n_items <= MAX_CELLS
    by_rater = brief.study.ask("psychometrics", by="rater") if few else None
    best = scales if by_rater is None or plots.item_severity_data(by_rater).is_empty() else by_rater
    return [*blocks, *_severity(best, brief)]


def _severity(scales: Psychometrics, brief: Brief) -> list[Block]:
    if plots.item_severity_data(scales).is_empty():
        return []
    whose = "individual raters" if "rater" in scales.axes else "groups, as there are too many raters"
    poles = Poles.of(scales.settings)
    chart = drawn(
        "item_severity", scales, "item-severity", f"How {poles.how} items are",
        f"For items at the {poles.high} and at the {poles.low} end, where the model puts them, with its 95 % interval.",
        "The model's scale is what the scores have in common: 0 is the mean item, 1 a standard deviation above it. It "
        f"is that of {whose}.", texts=brief.texts,
    )  # fmt: skip
    everything = with_text(plots.item_severity_data(scales, n=scales.severity().height), brief)
    frame = everything.rename({"ci low": "low", "ci high": "high"})
    digits = dict.fromkeys(("severity", "low", "high"), 2)
    title = f"How {poles.how} every item is"
    return [chart, table("every-item-severity", title, frame, SEVEREST, digits=digits, search=True)]


def _table(found: Responsiveness) -> DataTable:
    most = MAX_ROWS * (len(MEASURES) + len(names_of("scaled")))
    return values("responsiveness-table", "All responsiveness values", found.to_frame(), most)
