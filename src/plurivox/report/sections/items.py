"""Items to look at."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from plurivox import plots
from plurivox.base.wording import counted
from plurivox.lenses.items import result as views
from plurivox.lenses.items.result import Items, claimed, comparisons
from plurivox.report.parts import (
    CHECK,
    COLLECT,
    Action,
    Block,
    Brief,
    DataTable,
    Section,
    drawn,
    findings_of,
    headline,
    shown,
    with_text,
)

LEAD = "Where do groups part ways beyond what chance gives, and which items deserve more ratings?"
EVERYBODY = "Which items deserve more ratings, and on which do raters disagree most?"
SHOWN = 100
IN_CHART = 8


def section(brief: Brief) -> Section:
    """List the clearest differences between groups on items, and the items that deserve more ratings."""
    found: Items = brief.ask("items")
    main: list[Block] = []
    more: list[Block] = []
    remarks = []
    if found.divided.height:
        chart, *every = _divided(found, brief)
        main.append(chart)
        more += every
    elif brief.by and brief.ratings.has_raters:
        remarks.append("No item has two ratings from a shown group and two from the others, so none is compared.")
    chart, *every = _uncertain(found, brief)
    (main if _wanting(found) else more).append(chart)
    main += [] if brief.axes else _disagreed(found, brief)
    lead = LEAD if brief.axes else EVERYBODY
    return Section(
        "items", "Items to look at", lead, main, findings_of(found, "items-chart"), remarks, [*more, *every],
        actions=_actions(found),
    )  # fmt: skip


def _actions(found: Items) -> list[Action]:
    """Return which items to read, and which to have rated again."""
    actions, certain = [], claimed(found)["item"].n_unique()
    if certain:
        which = "the item" if certain == 1 else f"the {certain:,} items"
        first = "" if certain == 1 else ", the clearest first"
        said = tuple(one for one in found.statements() if one.claim)
        actions.append(Action(CHECK, f"{which} on which groups part ways{first}.", "items-chart", 1, said))
    wanting = _wanting(found)
    if wanting:
        text = (
            f"more ratings of {counted(wanting, 'item')} of {found.uncertain.height:,}, whose mean is not yet known to "
            f"± {found.settings['precision']:g} points."
        )
        actions.append(Action(COLLECT, text, "items-unsure", 3))
    return actions


def _wanting(found: Items) -> int:
    """Return how many items have fewer ratings than they need."""
    needed = pl.col("ratings_needed").fill_null(math.inf)
    return found.uncertain.filter(needed > pl.col("n_ratings")).height


def _divided(found: Items, brief: Brief) -> tuple[Block, ...]:
    title = headline(found.statements(), "items", otherwise="No item is certain to divide groups")
    chart = drawn(
        "items_divided", found, "items-chart", title,
        "For the clearest differences between a group and the others on an item, the shrunken difference, the raw one "
        "and what chance gives.",
        "Shrunken: what remains of a difference after allowing for chance.",
        IN_CHART, texts=brief.texts, measure="Difference between a group and the others on an item, in points.",
    )  # fmt: skip
    note = (
        f"For {min(SHOWN, found.divided.height):,} of {found.divided.height:,} items and axes, the group that differs "
        f"most from the others of its axis. p is that of the difference alone, and {comparisons(found.settings)} by "
        "the largest of all in each shuffle. With few ratings on a side, only the rounded shrunken difference is shown."
    )
    view = views.divided(found, SHOWN)
    return chart, *shown("items-divided", view, note, title="Differences on items", brief=brief)


def _how_many(found: Items) -> str:
    """Say how many ratings the items shown have, compared with all items."""
    shown, everywhere = plots.items_uncertain_data(found, IN_CHART)["ratings"], found.uncertain["n_ratings"]
    text = "The higher up, the more one more rating is expected to reveal."
    if shown.is_empty():
        return text
    return f"{text} Ratings of the items shown: {_numbers(shown)}; of all {len(everywhere):,}: {_numbers(everywhere)}."


def _numbers(counts: pl.Series) -> str:
    low, middle, high = np.quantile(counts.to_numpy(), [0, 0.5, 1])
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}, median {middle:,g}"


def _disagreed(found: Items, brief: Brief) -> list[Block]:
    """Return the items whose ratings differ most, if there are no groups to compare."""
    several = found.uncertain.filter(pl.col("n_ratings") > 1)
    if several.is_empty():
        return []
    frame = several.select("item", "entropy", "mean", ratings="n_ratings")
    frame = with_text(frame.sort("entropy", "item", descending=[True, False]).head(SHOWN), brief)
    note = (
        f"The {frame.height:,} of {several.height:,} items with two ratings or more whose ratings have the highest "
        "entropy, in nats: 0 if all raters gave the same score, and higher the more evenly they used more points. "
        "Nothing is tested here; among many items some differ much by chance, especially if they have few ratings."
    )
    return [DataTable("items-disagreed", "Items on which raters disagree most", frame, {"mean": 2}, note, search=True)]


def _uncertain(found: Items, brief: Brief) -> tuple[Block, ...]:
    wanting, precision = _wanting(found), f"{found.settings['precision']:g}"
    title = f"The mean of every item is known to ± {precision} points"
    if wanting:
        title = f"{counted(wanting, 'item')} of {found.uncertain.height:,} {'needs' if wanting == 1 else 'need'} more "
        title += f"ratings for a mean to ± {precision}"
    share, of_prior = plots.items_uncertain_data(found, IN_CHART)["share of prior"].drop_nulls().to_list(), ""
    if share:
        low, high = f"{min(share):.0%}", f"{max(share):.0%}"
        part = low if low == high else f"{low} to {high}"
        of_prior = f"The prior makes up {part} of circle and line, the ratings the rest."
    chart = drawn(
        "items_uncertain", found, "items-unsure", title,
        "For the items about which one more rating reveals most, the expected mean score with its credible interval.",
        f"{_how_many(found)} {of_prior}",
        IN_CHART, texts=brief.texts, measure="Expected mean of the items about which one more rating reveals most.",
    )  # fmt: skip
    note = (
        f"The {min(SHOWN, found.uncertain.height):,} of {found.uncertain.height:,} items about which one more rating "
        "reveals most: what it is expected to reveal, and the entropy of the ratings, in nats; the expected mean "
        f"score, its 95 % credible interval; how many ratings the mean ± {found.settings['precision']:g} takes. "
        f"{found.settings['prior_note']}"
    )
    view = views.uncertain(found, SHOWN)
    return chart, *shown("items-uncertain", view, note, title="More ratings needed", brief=brief)
