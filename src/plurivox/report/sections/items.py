"""Items to look at."""

from __future__ import annotations

import numpy as np
import polars as pl

from plurivox import plots
from plurivox.lenses.items.result import Items
from plurivox.report.making import drawn, findings_of, with_text
from plurivox.report.parts import Block, Brief, DataTable, Section

LEAD = "Where do groups part ways, and which items deserve more ratings? Of many items some differ by chance."
SHOWN = 100
_DIGITS = dict.fromkeys(
    ("its mean", "mean of that", "difference", "low", "high", "mean", "expected mean", "entropy"), 2
)  # fmt: skip


def section(brief: Brief) -> Section:
    """List the items that divide groups most, and those that deserve more ratings."""
    found: Items = brief.ask("items")
    blocks: list[Block] = []
    remarks = []
    if found.divided.height:
        blocks += _divided(found, brief)
    elif brief.by and brief.ratings.has_raters:
        least = brief.asked.min_group_size
        remarks.append(f"No item has {least} ratings from each of two groups, so none can be said to divide them.")
    blocks += _uncertain(found, brief)
    return Section("items", "Items to look at", LEAD, blocks, findings_of(found, "items-chart"), remarks)


def _divided(found: Items, brief: Brief) -> list[Block]:
    chart = drawn(
        "items_divided", found, "items-chart", "Items that divide groups most",
        "For the most dividing items, the lowest and the highest group mean.",
        "Each line joins the groups with the lowest and the highest mean score; the clearest differences are on top.",
    )  # fmt: skip
    names = {
        "low_group": "lowest group", "high_group": "highest group", "low_mean": "its mean", "high_mean": "mean of that",
        "ci_low": "low", "ci_high": "high", "n_low": "ratings", "n_high": "ratings of that",
    }  # fmt: skip
    frame = with_text(found.divided.head(SHOWN), brief).drop("z").rename(names)
    note = f"The {min(SHOWN, found.divided.height):,} clearest of {found.divided.height:,} comparisons; 95 % intervals."
    return [chart, DataTable("items-divided", "The dividing items", frame, _DIGITS, note, search=True)]


def _how_many(found: Items) -> str:
    """Tell how many ratings the items shown have, beside those of all."""
    shown, everywhere = plots.items_uncertain_data(found)["ratings"], found.uncertain["n_ratings"]
    text = "The further up, the more one more rating is expected to tell."
    if shown.is_empty():
        return text
    return f"{text} Ratings of the items shown: {_numbers(shown)}; of all {len(everywhere):,}: {_numbers(everywhere)}."


def _numbers(counts: pl.Series) -> str:
    low, middle, high = np.quantile(counts.to_numpy(), [0, 0.5, 1])
    return f"{low:,.0f}" if low == high else f"{low:,.0f} to {high:,.0f}, median {middle:,g}"


def _uncertain(found: Items, brief: Brief) -> list[Block]:
    chart = drawn(
        "items_uncertain", found, "items-unsure", "Items that deserve more ratings",
        "For the items that one more rating tells most about, the expected mean score with its credible interval.",
        _how_many(found),
    )  # fmt: skip
    names = {
        "n_ratings": "ratings", "expected_mean": "expected mean", "ci_low": "low", "ci_high": "high",
        "information_gain": "gain of one more", "ratings_needed": "ratings needed",
    }  # fmt: skip
    frame = with_text(found.uncertain.head(SHOWN), brief).rename(names)
    note = (
        f"The {frame.height:,} of {found.uncertain.height:,} items that one more rating tells most about: what it is "
        "expected to tell, and the entropy of the ratings, in nats; the expected mean score, its 95 % credible "
        f"interval; how many ratings the mean ± {found.settings['precision']:g} takes."
    )
    return [chart, DataTable("items-uncertain", "More ratings wanted", frame, _DIGITS, note, search=True)]
