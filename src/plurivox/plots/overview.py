"""The study: who rated what, how large groups are, and how they use the scale."""

from __future__ import annotations

import polars as pl

from plurivox.base.wording import withheld_words
from plurivox.domain.scale import few_points
from plurivox.lenses.overview.run import Overview
from plurivox.plots import groups as g
from plurivox.plots.layout import ALL_RATERS, Rows, defined, pixels, shorten, unique_labels
from plurivox.plots.pieces import few, once, point_bars, tips, titled
from plurivox.plots.theme import COLOURS, INK, SEQUENCE, full_width, narrow, saying, themed
from plurivox.plots.vega import Chart, Spec, field, layer

LARGEST = "the largest"
_WHERE = "← lower points · share of ratings · higher points →"
_SPANS = {"raters to": "to", "items to": "to"}
_SIZES = g.texts("axis", "group") | g.counts("raters", "items", "ratings")


@once
def design_data(overview: Overview) -> pl.DataFrame:
    """Return what :func:`design` draws: rectangles of raters × items and the share of their pairs that was rated."""
    names = {"rater_from": "raters from", "rater_to": "raters to", "item_from": "items from", "item_to": "items to"}
    return overview.design.rename({**names, "share": "share rated"})


def design(overview: Overview) -> Chart:
    """Draw who rated what: items across, raters down, those with the most ratings first.

    Examples
    --------
    >>> import plurivox as pv
    >>> chart = design(pv.overview(pv.simulate(n_items=20, n_raters=10).ratings))
    >>> chart.to_dict()["title"]["subtitle"]
    ['10 raters × 20 items, fully crossed: everybody rated everything.']
    """
    title = "Who rated what"
    data, about = design_data(overview), overview.description
    if data.is_empty():
        return saying(title, "The table holds counts per scale point, so who rated what is unknown.")
    n_items, n_raters, seam = max(data["items to"]), max(data["raters to"]), 0.6  # pixels by which neighbours overlap
    if data["share rated"].n_unique() == 1:  # one rectangle, as in a study in which everybody rated everything
        starts, ends = (pl.col("raters from", "items from").min(), pl.col("raters to", "items to").max())
        data = data.select(starts, ends, pl.col("share rated").first()).select(data.columns)
    width, height = full_width() - (76 if narrow() else 156), 240
    placed = data.with_columns(
        x=pl.col("items from") - 1, x2=pl.col("items to") + seam * n_items / width,
        y=pl.col("raters from") - 1, y2=pl.col("raters to") + seam * n_raters / height,
    )  # fmt: skip
    scale = {"domain": [0, 0.5, 1], "range": list(SEQUENCE[:3]), "interpolate": "rgb", "clamp": True}
    legend = {
        "type": "gradient", "title": "share rated", "orient": "top" if narrow() else "right", "format": "%",
        "values": [0, 0.5, 1], "gradientLength": 120,
    }  # fmt: skip
    share = field("share rated:Q", scale=scale, legend=legend)

    def axis(title: str) -> Spec:
        return {"title": title, "grid": False, "tickCount": few(6, width), "format": ",d", "tickMinStep": 1}

    down = {"domain": [0, n_raters], "nice": False, "reverse": True}
    chart = Chart.of(placed).mark("rect", clip=True).encode(
        x=field("x:Q", axis=axis("items, most rated first"), scale={"domain": [0, n_items], "nice": False}), x2="x2",
        y=field("y:Q", axis=axis("raters, busiest first"), scale=down), y2="y2", color=share,
        tooltip=tips(*data.columns[:4], "share rated", form=",d", names=_SPANS),
    ).properties(width=width, height=height)  # fmt: skip
    size = f"{about.n_raters:,} raters × {about.n_items:,} items"
    rated = f"{about.density:.1%}" if about.density < 0.1 else f"{about.density:.0%}"
    how = "fully crossed: everybody rated everything." if about.crossed else f"sparse: {rated} of all pairs rated."
    return themed(chart, title, f"{size}, {how}")


@once
def ratings_per_item_data(overview: Overview) -> pl.DataFrame:
    """Return what :func:`ratings_per_item` draws: the number of items by number of ratings."""
    spread = overview.description.per_item
    low, high = (pl.Series(edges, dtype=pl.Float64).cast(pl.Int64) for edges in (spread.edges[:-1], spread.edges[1:]))
    return pl.DataFrame({"from": low, "to": high - 1, "items": pl.Series(spread.counts, dtype=pl.Int64)})


def ratings_per_item(overview: Overview) -> Chart:
    """Draw how many ratings items have."""
    data, spread = ratings_per_item_data(overview), overview.description.per_item
    names = [f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in data.select("from", "to").iter_rows()]
    placed = data.with_columns(bin=pl.Series(names, dtype=pl.String))
    step = min(46, (full_width() - 80) // len(names))
    width = max(min(240, full_width() - 80), step * len(names))
    crowded = pixels(names) > step
    base = Chart.of(placed).encode(
        x=field("bin:O", sort=names, title="ratings of an item", scale={"paddingInner": 0.08},
                axis={"labelAngle": -40 if crowded else 0, "ticks": False, "grid": False}),
        y=field("items:Q", title="items", axis={"tickCount": 5, "tickMinStep": 1, "format": ",d"}),
    )  # fmt: skip
    bars = base.mark("bar", color=COLOURS[0], size=max(step - 4, 1)).encode(
        tooltip=tips("from", "to", "items", form=",d", names={"from": "ratings of an item from"})
    )
    numbers = base.mark("text", color=INK, fontSize=11, dy=-7).encode(text=field("items:Q", format=",d"))
    chart = layer(bars, numbers).properties(width=width, height=170)
    said = f"{spread.low:,} ratings each" if spread.low == spread.high else (
        f"{spread.low:,} to {spread.high:,} ratings, median {spread.median:,g}"
    )  # fmt: skip
    return themed(chart, "Ratings per item", f"{overview.description.n_items:,} items; {said}.")


@once
def group_sizes_data(overview: Overview, *, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`group_sizes` draws: one row per group."""
    cells = [
        (axis.name, group.name, group.n_raters, group.n_items, group.n_ratings)
        for axis in overview.description.axes
        if not g.names_raters(axis.name)
        for group in axis.groups
    ]
    return g.largest(pl.DataFrame(cells, schema=_SIZES, orient="row"), "raters", max_groups)


def group_sizes(overview: Overview, *, max_groups: int | None = 40) -> Chart:
    """Draw how many raters each group has, by axis; of many groups, the largest."""
    title = "Raters per group"
    data = group_sizes_data(overview, max_groups=max_groups)
    axes = [axis for axis in overview.description.axes if not g.names_raters(axis.name)]
    least = overview.description.min_group_size
    hidden = withheld_words(sum(axis.n_withheld for axis in axes), sum(axis.n_revealing for axis in axes), least)
    if data.is_empty():
        return saying(title, hidden or "The raters have no attributes to group them by.")
    rows = Rows.of(data.select("axis", "group").iter_rows())
    base = Chart.of(rows.place(data)).encode(y=rows.y(), x=field("raters:Q", axis=None))
    bars = base.mark("bar", color=COLOURS[0], height=11).encode(
        tooltip=tips("group", "axis", "raters", "items", "ratings")
    )
    numbers = base.mark("text", align="left", dx=4, color=INK, fontSize=11).encode(text=field("raters:Q", format=",d"))
    chart = layer(bars, numbers).properties(width=rows.plot_width(20), height=rows.height)
    total = sum(len(axis.groups) for axis in axes)
    subtitle = g.shown_words(data.height, data.height, total, LARGEST)
    subtitle += f"{overview.description.n_raters:,} raters. {hidden}"
    unknown = {axis.name: axis.n_outside for axis in axes if axis.n_outside}
    if unknown:
        worst = max(unknown, key=lambda name: unknown[name])
        subtitle += f"Up to {unknown[worst]:,} raters are in no group of an axis ({shorten(worst)}). "
    return themed(chart, title, subtitle)


@once
def scale_use_data(overview: Overview, axis: str | None = None, *, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`scale_use` draws: how often each group gave each point, all raters first."""
    n_points = len(overview.description.points)
    frames = [overview.usage.head(n_points).with_columns(group=pl.lit(ALL_RATERS))]
    axis = _checked(overview, axis)
    if axis is not None and not g.names_raters(axis):
        own = overview.usage.slice(n_points).filter(pl.col("axis") == axis)
        sizes = own.group_by("axis", "group", maintain_order=True).agg(pl.col("n_ratings").sum().alias("ratings"))
        chosen = g.largest(sizes, "ratings", max_groups).select("axis", "group")
        frames.append(own.join(chosen, on=["axis", "group"], how="semi", maintain_order="left"))
    return pl.concat(frames).rename({"n_ratings": "ratings"})


def scale_use(overview: Overview, axis: str | None = None, *, max_groups: int | None = 40) -> Chart:
    """Draw which points each group gives: low ones to the left, high ones to the right, a middle one across the line.

    Parameters
    ----------
    axis
        The axis whose groups to show below all raters; by default, and with ``"all"``, none.
    max_groups
        If there are more groups, the largest are shown.
    """
    few_points(overview.description.points, "a chart of each point")
    axis = _checked(overview, axis)
    title = "How the scale is used" if axis is None else f"How groups of {shorten(axis)} use the scale"
    data = scale_use_data(overview, axis, max_groups=max_groups)
    names = unique_labels(overview.description.points, 20)
    rows = _with_all(data)
    placed = _stacked(rows.place(data), names)
    reach = max(max(placed["end"]), -min(placed["start"]), 0.05)
    width = rows.plot_width()
    x = field(
        "start:Q", title="← lower · share of ratings · higher →" if narrow() else _WHERE,
        scale={"domain": [-1.02 * reach, 1.02 * reach], "nice": False},
        axis={"tickCount": few(7, width), "labelExpr": "format(abs(datum.value), '.0%')"},
    )  # fmt: skip
    line = Chart.of([{"zero": 0}]).mark("rule", color=INK, strokeWidth=1).encode(x="zero:Q")
    chart = layer(point_bars(placed, rows, names, x), line).properties(width=width, height=rows.height)
    middle = f"The middle point, {names[len(names) // 2]}, is centred on the line."
    odd = len(names) % 2 == 1 and len(names) > 1
    return themed(chart, title, _words(overview, axis, data) + (middle if odd else ""))


def _stacked(placed: pl.DataFrame, names: list[str]) -> pl.DataFrame:
    """Return where the bar of each point starts and ends, the middle of the scale at zero, and the point's label."""
    keys, share, middle = ["axis", "group"], pl.col("share"), (len(names) - 1) / 2
    below = share.filter(pl.col("position") < middle).sum().over(keys)
    centre = below + share.filter(pl.col("position") == middle).sum().over(keys) / 2
    ends = share.cum_sum().over(keys) - centre
    label = pl.col("position").replace_strict(dict(enumerate(names)), return_dtype=pl.String)
    return placed.with_columns(start=ends - share, end=ends, label=label)


@once
def response_styles_data(overview: Overview, axis: str | None = None, *, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`response_styles` draws: how raters of each group answer, all raters first."""
    frames = [overview.styles.head(1).with_columns(group=pl.lit(ALL_RATERS))]
    axis = _checked(overview, axis)
    if axis is not None and not g.names_raters(axis):
        frames.append(g.largest(overview.styles.slice(1).filter(pl.col("axis") == axis), "n_raters", max_groups))
    names = {
        "n_raters": "raters", "ends_low": "ends 10 %", "ends_median": "ends median", "ends_high": "ends 90 %",
        "middle_median": "middle median", "one_score": "one score only",
    }  # fmt: skip
    return pl.concat(frames).rename(names)


def response_styles(overview: Overview, axis: str | None = None, *, max_groups: int | None = 40) -> Chart:
    """Draw how often raters of each group choose an end of the scale: the median rater and the middle 80 %."""
    axis = _checked(overview, axis)
    title = "Response styles" if axis is None else f"Response styles by {shorten(axis)}"
    data = response_styles_data(overview, axis, max_groups=max_groups)
    drawn = defined(data, "ends median")
    if drawn.is_empty():
        two = len(overview.description.points) <= 2 and overview.description.has_raters
        why = "With two points, every rating is at an end." if two else "Who gave the ratings is unknown."
        return saying(title, why)
    rows = _with_all(drawn)
    width = rows.plot_width()

    def x(column: str) -> Spec:
        return field(
            f"{column}:Q", title=titled("share of a rater's ratings at either end of the scale", width),
            scale={"domain": [0, 1]}, axis={"format": "%", "tickCount": few(6, width)},
        )  # fmt: skip

    base = Chart.of(rows.place(drawn)).encode(y=rows.y())
    colour, shape = g.LOOKS[g.UNTESTED]
    line = base.mark("rule", strokeWidth=2, color=colour, opacity=0.6).encode(x=x("ends 10 %"), x2="ends 90 %")
    told = tips("group", *_STYLES, "raters", form=".1%", names=_STYLES)
    dot = base.mark("point", filled=True, size=65, opacity=1, color=colour, shape=shape).encode(
        x=x("ends median"), tooltip=told
    )
    chart = layer(line, dot).properties(width=width, height=rows.height)
    words = _words(overview, axis, data) + "Dot: the median rater; line: from 10 to 90 % of raters."
    return themed(chart, title, words)


_STYLES = {
    "ends median": "ratings at an end, median rater", "ends 10 %": "middle 80 % of raters from",
    "ends 90 %": "to", "middle median": "ratings in the middle, median rater",
    "one score only": "raters who give only one score",
}  # fmt: skip


def _with_all(data: pl.DataFrame) -> Rows:
    """Return the rows of one axis with all raters at the top, whose label is bold like a heading."""
    keys: list[tuple[str, str | None]] = list(data.select("axis", "group").unique(maintain_order=True).iter_rows())
    return Rows(keys, unique_labels(group or "" for _, group in keys))


def _words(overview: Overview, axis: str | None, data: pl.DataFrame) -> str:
    if axis is None:
        return ""
    if g.names_raters(axis):
        return "Individual raters are not listed by name. "
    total = overview.usage.filter(pl.col("axis") == axis)["group"].n_unique()
    shown = data["group"].filter(data["axis"] == axis).n_unique()
    return g.shown_words(shown, shown, total, LARGEST)


def _checked(overview: Overview, axis: str | None) -> str | None:
    """Return the axis if there is one of that name, None for ``"all"``."""
    names = [one.name for one in overview.description.axes]
    return None if axis == "all" and axis not in names else g.known("axis", axis, (None, *names))
