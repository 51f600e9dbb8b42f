"""One item: the scores that all raters and each group gave."""

from __future__ import annotations

import polars as pl

from plurivox.base.wording import withheld_groups
from plurivox.domain.scale import few_points
from plurivox.lenses.item.result import ItemView
from plurivox.plots.layout import ALL_RATERS, Rows, fitting, pixels, shorten, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import few, point_legend, tips, titled
from plurivox.plots.theme import INK, ON_DARK, ON_LIGHT, diverging, saying, themed
from plurivox.plots.vega import Chart, field, layer

_KEYS = ["axis", "group"]


@once
def item_groups_data(view: ItemView, *, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`item_groups` draws: how often each group gave each point, all raters first.

    ``most often`` marks a group's plurality; tied points are all marked.
    """
    groups = view.to_frame().select(*_KEYS, "n_ratings").with_row_index("_at")
    if max_groups is not None:
        rest = groups[1:].sort("n_ratings", "_at", descending=[True, False]).head(max_groups)
        groups = pl.concat([groups[:1], rest]).sort("_at")
    chosen = view.table("distribution").join(groups.select(_KEYS), on=_KEYS, how="semi", maintain_order="left")
    everybody = pl.col("axis") == "all"
    return chosen.with_columns(
        pl.when(everybody).then(pl.lit(ALL_RATERS)).otherwise("group").alias("group"),
        (pl.col("n_ratings") == pl.col("n_ratings").max().over(_KEYS)).alias("most often"),
    ).rename({"n_ratings": "ratings"})


def item_groups(view: ItemView, *, max_groups: int | None = 40) -> Chart:
    """Draw the scores that all raters and each group gave to an item, the most frequent one marked.

    Of many groups, those with the most ratings are shown.
    """
    few_points(view.settings["points"], "a chart of each point")
    data = item_groups_data(view, max_groups=max_groups)
    if data.is_empty():
        return saying(f"Scores of item {shorten(view.settings['item'])}", "They are not shown, to protect few raters.")
    names = unique_labels(view.settings["points"], 20)
    rows = _rows(data)
    placed = _stacked(rows.place(data), names)
    numbers = placed.group_by(*_KEYS, "row", maintain_order=True).agg(pl.col("ratings").sum())
    room = pixels([f"{n:,}" for n in numbers["ratings"]])
    width = rows.plot_width(room)
    base = Chart.of(placed).encode(y=rows.y())
    scale = {"domain": [0, 1], "nice": False}
    bars = base.mark("bar", height=13).encode(
        x=field("start:Q", title=titled("share of ratings, lowest point at the left", width), scale=scale,
                axis={"format": "%", "tickCount": few(5, width)}),
        x2="end",
        color=field("label:N", sort=names, legend=point_legend(rows, names),
                        scale={"domain": names, "range": diverging(len(names))}),
        tooltip=tips("group", "point", "share", "ratings", names={"share": "share of ratings"}),
    )  # fmt: skip
    marked = Chart.of(placed.filter(pl.col("most often"))).encode(y=rows.y())
    marks = marked.mark("point", filled=True, size=30, opacity=1, fill=ON_DARK, stroke=ON_LIGHT, strokeWidth=1).encode(
        x=field("middle:Q", scale=scale)
    )
    beside = Chart.of(numbers).mark("text", align="right", fontSize=11, color=INK).encode(
        y=rows.y(), x={"value": width + room}, text=field("ratings:Q", format=",d")
    )  # fmt: skip
    chart = layer(bars, marks, beside).properties(width=width, height=rows.height)
    return themed(chart, f"Scores of item {shorten(view.settings['item'])}", _words(view, data))


def _rows(data: pl.DataFrame) -> Rows:
    """Return all raters at the top, then the groups of each axis beneath its name."""
    keys: list[tuple[str, str | None]] = [("all", ALL_RATERS)]
    labels = [ALL_RATERS]
    for (axis,), part in data.filter(pl.col("axis") != "all").group_by("axis", maintain_order=True):
        groups = part["group"].unique(maintain_order=True).to_list()
        keys += [(str(axis), None), *((str(axis), group) for group in groups)]
        labels += [shorten(str(axis), fitting()), *unique_labels(groups)]
    return Rows(keys, labels)


def _stacked(placed: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return where the bar of each point starts, ends and has its middle, and the point's label."""
    end = pl.col("share").cum_sum().over(_KEYS)
    position = pl.int_range(pl.len()).over(_KEYS)
    return placed.with_columns(
        start=end - pl.col("share"), middle=end - pl.col("share") / 2, end=end,
        label=position.replace_strict(dict(enumerate(names)), return_dtype=pl.String),
    )  # fmt: skip


def _words(view: ItemView, data: pl.DataFrame) -> str:
    shown, total = data.select(_KEYS).unique().height - 1, view.to_frame().height - 1
    some = f"{shown:,} of {total:,} groups shown, those with the most ratings. " if shown < total else ""
    n_withheld, least = sum(view.settings["withheld"].values()), view.settings["min_group_size"]
    groups = withheld_groups(n_withheld, verb=False)
    hidden = f" {groups}, to protect those with fewer than {least} ratings." if n_withheld else ""
    return f"{some}Circle: the most frequent score, several if they tie. On the right: number of ratings.{hidden}"
