"""Items to look at."""

from __future__ import annotations

from plurivox import plots
from plurivox.lenses.items.result import Items
from plurivox.report.parts import Block, Brief, DataTable, Figure, Finding, Section, with_text

LEAD = "Where do groups part ways, and which items deserve more ratings? Of many items some differ by chance."
SHOWN = 100


def section(brief: Brief) -> Section:
    """List the items that divide groups most, and those that deserve more ratings."""
    found: Items = brief.ask("items")
    blocks: list[Block] = []
    remarks = []
    if found.divided.height:
        blocks += [_chart(found), _divided(found, brief)]
    elif brief.by and brief.ratings.has_raters:
        least = brief.asked.min_group_size
        remarks.append(f"No item has {least} ratings from each of two groups, so none can be said to divide them.")
    blocks += [_unsure(found), _uncertain(found, brief)]
    return Section("items", "Items to look at", LEAD, blocks, _findings(found), remarks)


def _chart(found: Items) -> Figure:
    return Figure(
        "items-chart", "Items that divide groups most", plots.items_divided(found),
        "For the most dividing items, the lowest and the highest group mean.",
        "Each line joins the groups with the lowest and the highest mean score; the clearest differences are on top.",
        plots.items_divided_data(found),
    )  # fmt: skip


def _divided(found: Items, brief: Brief) -> DataTable:
    frame = with_text(found.divided.head(SHOWN), brief).drop("z")
    names = {
        "low_group": "lowest group", "high_group": "highest group", "low_mean": "its mean", "high_mean": "mean of that",
        "ci_low": "low", "ci_high": "high", "n_low": "ratings", "n_high": "ratings of that",
    }  # fmt: skip
    note = f"The {min(SHOWN, found.divided.height):,} clearest of {found.divided.height:,} comparisons; 95 % intervals."
    return DataTable("items-divided", "The dividing items", frame.rename(names), _digits(2), note, search=True)


def _unsure(found: Items) -> Figure:
    return Figure(
        "items-unsure", "Items that deserve more ratings", plots.items_uncertain(found),
        "For the items that one more rating tells most about, the expected mean score with its credible interval.",
        "One more rating tells most about items with few ratings, and with ratings that differ.",
        plots.items_uncertain_data(found),
    )  # fmt: skip


def _uncertain(found: Items, brief: Brief) -> DataTable:
    frame = with_text(found.uncertain.head(SHOWN), brief).rename(
        {
            "n_ratings": "ratings", "expected_mean": "expected mean", "ci_low": "low", "ci_high": "high",
            "information_gain": "gain of one more", "ratings_needed": "ratings needed",
        }
    )  # fmt: skip
    shown, total = min(SHOWN, found.uncertain.height), found.uncertain.height
    note = (
        f"The {shown:,} of {total:,} items that one more rating tells most about: what it is expected to tell, and "
        "the entropy of the ratings, in nats; the expected mean score, its 95 % credible interval; how many ratings "
        f"the mean ± {found.settings['precision']:g} takes."
    )
    return DataTable("items-uncertain", "More ratings wanted", frame, _digits(2), note, search=True)


def _digits(n: int) -> dict[str, int]:
    columns = ("its mean", "mean of that", "difference", "low", "high", "mean", "expected mean", "entropy")
    return dict.fromkeys(columns, n)


def _findings(found: Items) -> list[Finding]:
    return [Finding(one.text, one.weight, "items-chart") for one in found.statements()]
