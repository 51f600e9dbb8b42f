"""Items to look at."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.lenses.items.result import Items
from plurivox.plots import groups as g
from plurivox.plots.layout import Rows, extent, inline, pixels, shorten, ticks, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import across, numbers_told
from plurivox.plots.theme import COLOURS, INK, QUIET, WIDTH, load_altair, saying, themed

_NAMES = {
    "low_group": "lower group", "high_group": "higher group", "low_mean": "lower mean", "high_mean": "higher mean",
    "ci_low": "difference low", "ci_high": "difference high", "n_low": "ratings of lower",
    "n_high": "ratings of higher",
}  # fmt: skip
_NAME = 24


@once
def items_divided_data(items: Items, n: int = 20) -> pl.DataFrame:
    """Return what :func:`items_divided` draws: the clearest differences between two groups on an item."""
    axes = [axis for axis in items.divided["axis"].unique() if not g.names_raters(axis)]
    return items.divided.filter(pl.col("axis").is_in(axes)).head(n).rename(_NAMES)


def items_divided(items: Items, n: int = 20) -> Any:
    """Draw the ``n`` items that divide groups most: the lowest and the highest mean, and whose they are."""
    alt = load_altair()
    title = "Items that divide groups most"
    data = items_divided_data(items, n)
    if data.is_empty():
        return saying(title, "No item has enough ratings from two groups to compare them.")
    twice = data["item"].is_duplicated()
    names = [f"{shorten(item, 18)}, {shorten(axis, 14)}" if again else item
             for item, axis, again in zip(data["item"], data["axis"], twice, strict=True)]  # fmt: skip
    rows = Rows.listed(unique_labels(names, 34))
    groups = pl.concat([data["lower group"], data["higher group"]]).unique(maintain_order=True)
    short = dict(zip(groups, unique_labels(groups, _NAME), strict=True))
    placed = data.with_columns(
        row=pl.Series(range(data.height)),
        low=pl.col("lower group").replace_strict(short),
        high=pl.col("higher group").replace_strict(short),
    )
    room = pixels([*placed["low"], *placed["high"]]) + 12
    marks = ticks(min(data["lower mean"]), max(data["higher mean"]))  # the room for names is no part of the scale
    scale = alt.Scale(zero=False, nice=False, padding=room)
    base = alt.Chart(inline(placed)).encode(y=rows.y())

    def x(column: str) -> Any:
        return alt.X(f"{column}:Q", title="mean rating", scale=scale, axis=alt.Axis(values=marks))

    tooltip = ["item:N", "axis:N", "lower group:N", "higher group:N", alt.Tooltip("difference:Q", format=".2f")]
    layers = [
        base.mark_rule(strokeWidth=2, color=QUIET, opacity=0.5).encode(x=x("lower mean"), x2=alt.X2("higher mean"))
    ]
    for side, column, shape, colour, align, shift in (
        ("low", "lower mean", "circle", COLOURS[0], "right", -8),
        ("high", "higher mean", "square", COLOURS[4], "left", 8),
    ):
        point = base.mark_point(filled=True, size=60, opacity=1, color=colour, shape=shape)
        text = base.mark_text(align=align, dx=shift, fontSize=11, color=INK, limit=room)
        layers += [point.encode(x=x(column), tooltip=tooltip), text.encode(x=x(column), text=f"{side}:N")]
    chart = alt.layer(*layers).properties(width=WIDTH - rows.width - 30, height=rows.height)
    total = items.divided.height
    shown = f"{data.height:,} of {total:,} comparisons shown, the clearest first. " if data.height < total else ""
    return themed(chart, title, shown + "Circle: the lowest mean of a group; square: the highest.")


_UNCERTAIN = {
    "n_ratings": "ratings", "expected_mean": "expected mean", "ci_low": "ci low", "ci_high": "ci high",
    "information_gain": "gain of one more", "ratings_needed": "ratings needed",
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
    tooltip = ["item:N", "ratings:Q", *numbers_told("mean", "gain of one more")]
    layers = [
        base.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(x=x("ci low"), x2=alt.X2("ci high")),
        base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(
            x=x("expected mean"), tooltip=tooltip
        ),
        base.mark_tick(thickness=2, size=11, color=QUIET).encode(x=x("mean")),
    ]
    columns = [("ratings", ",d"), ("gain of one more", ".3f"), ("ratings needed", ",d")]
    room = 64
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
    text += f"Gain: what one more rating is expected to tell, in nats. Needed: for ± {items.settings['precision']:g}."
    return themed(chart, title, shown + text)


_HEADS = {"ratings": "ratings", "gain of one more": "gain", "ratings needed": "needed"}
