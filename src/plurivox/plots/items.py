"""Items to look at."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.lenses.items.result import Items
from plurivox.lenses.items.words import claimed, comparisons
from plurivox.plots.layout import Rows, extent, inline, pixels, shorten, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import across, numbers_told, vertical
from plurivox.plots.theme import COLOURS, INK, QUIET, WIDTH, load_altair, saying, themed
from plurivox.results.text import p_cell

DIVIDED = {
    "direction": "rates it", "mean_group": "mean", "mean_rest": "mean of the others", "n_group": "ratings",
    "n_rest": "ratings of the others", "p_value": "p alone", "p_adjusted": "p corrected",
}  # fmt: skip
"""What readers see columns of dividing items called."""
CERTAIN, CHANCE = "beyond chance", "not beyond chance"
_NAME = 24


@once
def items_divided_data(items: Items, n: int = 20) -> pl.DataFrame:
    """Return what :func:`items_divided` draws: the clearest differences between a group and the others on an item.

    ``chance`` is the raw difference that the largest of all exceeds in 5 of 100 shuffles, for an item and groups like
    these; null where it would tell single ratings.
    """
    largest = items.settings["largest_z_by_chance"]
    error = pl.when(pl.col("z").abs() > _LEAST).then((pl.col("difference") / pl.col("z")).abs())
    sure = claimed(items).select("item", "axis").with_columns(finding=pl.lit(CERTAIN))
    rows = items.divided.head(n).with_columns(chance=error * largest["95 %"] if largest else pl.lit(None, pl.Float64))
    found = rows.join(sure, on=["item", "axis"], how="left", maintain_order="left")
    return found.with_columns(pl.col("finding").fill_null(CHANCE)).rename(DIVIDED)


def items_divided(items: Items, n: int = 20) -> Any:
    """Draw the ``n`` clearest differences between a group and the others on an item, and what chance gives."""
    alt = load_altair()
    title = "Differences between groups on items"
    data = items_divided_data(items, n)
    if data.is_empty():
        return saying(title, "No item has two ratings from a group and two from the others.")
    twice = data["item"].is_duplicated()
    names = [f"{shorten(item, 18)}, {shorten(axis, 14)}" if again else item
             for item, axis, again in zip(data["item"], data["axis"], twice, strict=True)]  # fmt: skip
    rows = Rows.listed(unique_labels(names, 34))
    groups = data["group"].unique(maintain_order=True)
    short = dict(zip(groups, unique_labels(groups, _NAME), strict=True))
    placed = data.with_columns(
        row=pl.Series(range(data.height)), named=pl.col("group").replace_strict(short), low=-pl.col("chance"),
        p=pl.col("p corrected").map_elements(p_cell, return_dtype=pl.String, skip_nulls=False),
    )  # fmt: skip
    room = pixels(placed["named"]) + 12
    base = alt.Chart(inline(placed)).encode(y=rows.y())
    x = across("difference from the others", extent([*placed["low"], *placed["chance"], *placed["difference"],
                                                    *placed["shrunken"], 0.0]))  # fmt: skip
    tooltip = ["item:N", "axis:N", "group:N", *numbers_told("difference", "shrunken", "p corrected")]
    colour = alt.Color("finding:N", legend=None, scale=alt.Scale(domain=[CERTAIN, CHANCE], range=[COLOURS[0], QUIET]))
    layers = [
        base.mark_bar(height=9, color=QUIET, opacity=0.25).encode(x=x("low"), x2=alt.X2("chance")),
        vertical(0.0, x, QUIET),
        base.mark_tick(thickness=2, size=11, color=INK).encode(x=x("difference"), tooltip=tooltip),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x("shrunken"), color=colour, tooltip=tooltip),
    ]
    beside = [
        base.mark_text(align=align, fontSize=11, color=INK).encode(x=alt.value(at), text=text, y=rows.y(labels=False))
        .properties(width=width, height=rows.height, title=alt.TitleParams(head, fontSize=11, fontWeight="normal",
                    anchor=anchor, color=INK))
        for text, head, align, at, width, anchor in (("named:N", "group", "left", 0, room, "start"),
                                                     ("p:N", "p", "right", _P, _P, "end"))
    ]  # fmt: skip
    width = WIDTH - rows.width - 30 - room - _P - 16
    chart = alt.hconcat(alt.layer(*layers).properties(width=width, height=rows.height), *beside, spacing=8)
    return themed(chart, title, _divided_words(items, data))


_LEAST = 1e-9  # a z below this has no standard error to read off
_P = 44


def _divided_words(items: Items, data: pl.DataFrame) -> str:
    """Tell what the chart of dividing items shows."""
    total, largest = items.divided.height, items.settings["largest_z_by_chance"]
    shown = f"{data.height:,} of {total:,} items and axes shown, the clearest first. " if data.height < total else ""
    marks = "Circle: the difference, shrunken for chance; tick: as it is, where enough ratings allow to show it."
    if largest is None:
        return f"{shown}{marks}"
    over = f"p is {comparisons(items.settings)}."
    return f"{shown}{marks} Grey: what the largest of all stays within in 95 of 100 shuffles; {over}"


_UNCERTAIN = {
    "n_ratings": "ratings", "expected_mean": "expected mean", "ci_low": "ci low", "ci_high": "ci high",
    "information_gain": "gain of one more", "ratings_needed": "ratings needed",
    "prior_share": "share of prior",
}  # fmt: skip


@once
def items_uncertain_data(items: Items, n: int = 20) -> pl.DataFrame:
    """Return what :func:`items_uncertain` draws: the items that one more rating tells most about."""
    return items.uncertain.head(n).rename(_UNCERTAIN)


def items_uncertain(items: Items, n: int = 20) -> Any:
    """Draw the ``n`` items that deserve more ratings: where their mean score lies, and how sure that is."""
    alt = load_altair()
    title = "Items that deserve more ratings"
    data = items_uncertain_data(items, n)
    if data.is_empty():
        return saying(title, "There is no item.")
    rows = Rows.listed(unique_labels(data["item"], 34))
    placed = data.with_columns(row=pl.Series(range(data.height)))
    x = across("mean score", extent([*placed["ci low"], *placed["ci high"], *placed["mean"]]))
    base = alt.Chart(inline(placed)).encode(y=rows.y())
    tooltip = ["item:N", "ratings:Q", *numbers_told("mean", "gain of one more", "share of prior")]
    layers = [
        base.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(x=x("ci low"), x2=alt.X2("ci high")),
        base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(
            x=x("expected mean"), tooltip=tooltip
        ),
        base.mark_tick(thickness=2, size=11, color=QUIET).encode(x=x("mean")),
    ]
    columns = [("ratings", ",d"), ("share of prior", ".0%"), ("gain of one more", ".3f"), ("ratings needed", ",d")]
    room = 56
    beside = [
        base.mark_text(align="right", fontSize=11, color=INK)
        .encode(x=alt.value(room), text=alt.Text(f"{column}:Q", format=form), y=rows.y(labels=False))
        .properties(width=room, height=rows.height, title=alt.TitleParams(_HEADS[column], fontSize=11,
                    fontWeight="normal", anchor="end", color=INK))
        for column, form in columns
    ]  # fmt: skip
    width = WIDTH - rows.width - 30 - len(columns) * (room + 8)
    chart = alt.hconcat(alt.layer(*layers).properties(width=width, height=rows.height), *beside, spacing=8)
    total = items.uncertain.height
    shown = f"The first {data.height:,} of {total:,} items. " if data.height < total else ""
    text = "Circle and line: the expected mean score and its 95 % credible interval; tick: the mean of the ratings. "
    text += "Prior: its share of both. "
    text += f"Gain: what one more rating is expected to tell, in nats. Needed: for ± {items.settings['precision']:g}."
    return themed(chart, title, shown + text)


_HEADS = {"ratings": "ratings", "share of prior": "prior", "gain of one more": "gain", "ratings needed": "needed"}
