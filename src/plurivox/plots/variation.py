"""What scores vary by, what more raters would add, groups after accounting for others, and ratings of an item again."""

from __future__ import annotations

import polars as pl

from plurivox.base.wording import interval_method
from plurivox.lenses.variation.result import Variation
from plurivox.lenses.variation.tables import COMPONENTS
from plurivox.plots import groups as g
from plurivox.plots.forests import forest, forest_data, leniency_forest
from plurivox.plots.layout import ALL_RATERS, Rows, defined, extent, pixels, row_axis, shorten, unique_labels
from plurivox.plots.pieces import across, few, legend, looks, once, tips, titled, twice, vertical
from plurivox.plots.theme import COLOURS, INK, ON_DARK, ON_LIGHT, QUIET, full_width, narrow, saying, themed
from plurivox.plots.vega import Chart, Spec, field, hconcat, layer, vconcat

ORDER = ("item", "rater", "group", "group_item", "rest")
"""The components from left to right."""
_FILL = {"item": COLOURS[0], "rater": COLOURS[1], "group": COLOURS[4], "group_item": COLOURS[3], "rest": "#b4b4b4"}
_DARK = (COMPONENTS["item"],)  # fills that need light text
_OF_GROUPS = ("group", "group_item")
_BAR = 26  # height of a row of the stacked bar, which holds text
_WHEN = {"alone": "this attribute alone", "accounted for": "accounting for the other attributes"}
_RELIABLE = {"line": "of", "value": "reliability of the mean", "low": "95 % interval from", "high": "to"}
KINDS = {"relative": "relative: which item is higher", "absolute": "absolute: how high each item is"}
"""The two reliabilities, and what each is for."""


# What scores vary by --------------------------------------------------------------------------------------------------


@once
def variance_shares_data(result: Variation, *, subset: str | None = None) -> pl.DataFrame:
    """Return what :func:`variance_shares` draws: one row per attribute and component, all raters first."""
    frame = _part(result.components(), result, subset)
    named = pl.when(pl.col("axis") == "all").then(pl.lit(ALL_RATERS)).otherwise("axis")
    component = pl.col("component").cast(pl.Enum(ORDER))
    placed = frame.with_columns(axis=named, at=pl.col("axis").rle_id(), component=component)
    return placed.sort("at", "component").select(
        "axis", pl.col("component").cast(pl.String).replace(COMPONENTS), "variance", "share",
        pl.col("ci_low").alias("ci low"), pl.col("ci_high").alias("ci high"), "note",
    )  # fmt: skip


def variance_shares(result: Variation, *, subset: str | None = None) -> Chart:
    """Draw how the variance in scores divides into items, raters, groups and the rest, one bar per attribute."""
    title = "What scores vary by"
    data = variance_shares_data(result, subset=subset)
    drawn = defined(data, "share")
    if drawn.is_empty():
        return saying(title, f"This is unknown: {'; '.join(data['note'].unique(maintain_order=True)) or 'no ratings'}.")
    axes = drawn["axis"].unique(maintain_order=True).to_list()
    rows = Rows([("all" if axis == ALL_RATERS else axis, axis) for axis in axes], unique_labels(axes))
    end = pl.col("share").cum_sum().over("axis")  # of each part of a bar
    placed = drawn.join(pl.DataFrame({"axis": axes}).with_row_index("row"), on="axis", maintain_order="left")
    placed = placed.with_columns(end=end, start=end - pl.col("share"))
    beside = _beside(placed, rows)
    room = 0 if beside is None or narrow() else 2 * _COLUMN + 10
    bar = _bar(placed, rows, rows.plot_width(room))
    chart = bar if beside is None else (vconcat if narrow() else hconcat)(bar, beside, spacing=10)
    missing = [axis for axis in data["axis"].unique(maintain_order=True) if axis not in axes]
    text = f"Unknown for {', '.join(map(shorten, missing))}. " if missing else ""
    if drawn["ci low"].is_not_null().any() and (drawn["component"] == COMPONENTS["group"]).any():
        text += f"In brackets: 95 % interval {interval_method(result.settings)}. "
    negative = drawn.filter(pl.col("variance") < 0).select("component", "axis").rows()
    if negative:
        which = ", ".join(f"{component} ({shorten(axis)})" for component, axis in negative)
        text += f"Estimates below 0 are counted as 0: {which}. "
    return themed(chart, title, text + "Rest: single ratings, including noise.")


_COLUMN = 104  # width of a column of shares with their intervals


def _bar(placed: pl.DataFrame, rows: Rows, width: int) -> Chart:
    names = [COMPONENTS[name] for name in ORDER if COMPONENTS[name] in set(placed["component"])]
    fills = {COMPONENTS[name]: _FILL[name] for name in ORDER}
    legend = rows.legend(names, symbolType="square")
    fill = field("component:N", legend=legend, scale={"domain": names, "range": [fills[name] for name in names]})
    axis = {"format": "%", "tickCount": few(5, width)}

    def x(column: str) -> Spec:
        title = titled("share of the variance in scores", width)
        return field(f"{column}:Q", title=title, scale={"domain": [0, 1]}, axis=axis)

    base = Chart.of(placed).encode(y=rows.y())
    told = tips("axis", "component", "share", "ci low", "ci high", form=".1%", names={"share": "share of the variance"})
    parts = base.mark("bar", height=18).encode(x=x("start"), x2="end", fill=fill, tooltip=told)
    written = Chart.of(_labelled(placed, width)).encode(y=rows.y(), x=x("middle"), text="text:N")
    texts = [
        written.filter(f"(datum.dark === {str(dark).lower()})").mark("text", fontSize=11, color=colour)
        for dark, colour in ((True, ON_DARK), (False, ON_LIGHT))
    ]
    return layer(parts, *texts).properties(width=width, height={"step": _BAR}, name="bars")


def _labelled(placed: pl.DataFrame, width: int) -> pl.DataFrame:
    """Return what is written on the parts of bars: name and share, the share alone, or nothing, depending on room."""
    cells = []
    for row in placed.iter_rows(named=True):
        share = f"{100 * row['share']:.0f} %"
        fits = [text for text in (f"{row['component']} {share}", share) if pixels([text]) <= row["share"] * width]
        if fits:
            cells.append((row["row"], (row["start"] + row["end"]) / 2, fits[0], row["component"] in _DARK))
    schema = {"row": pl.Int64, "middle": pl.Float64, "text": pl.String, "dark": pl.Boolean}
    return pl.DataFrame(cells, schema=schema, orient="row")


def _beside(placed: pl.DataFrame, rows: Rows) -> Chart | None:
    """Return the shares of groups, mostly too small to be seen in a bar, as text; None without groups."""
    cells = []
    for row in placed.iter_rows(named=True):
        for at, name in enumerate(_OF_GROUPS):
            if row["component"] == COMPONENTS[name]:
                share, low, high = (row[one] for one in ("share", "ci low", "ci high"))
                ends = "" if low is None or low != low else f" ({100 * low:.1f}–{100 * high:.1f})"
                cells.append({"row": row["row"], "column": at, "text": f"{100 * share:.1f}{ends}"})
    if not cells:
        return None
    heads = row_axis([f"{COMPONENTS[name]}, %" for name in _OF_GROUPS], orient="top", labelAngle=0)
    own = sorted({cell["row"] for cell in cells}) if narrow() else None  # rows below bars without a share are unused
    texts = Chart.of(cells).mark("text", fontSize=11, color=INK).encode(
        x=field("column:O", axis=heads), y=rows.y(labels=narrow(), only=own), text="text:N"
    )  # fmt: skip
    width = rows.plot_width() if narrow() else 2 * _COLUMN
    return texts.properties(width=width, height={"step": _BAR}, name="of_groups")


# What more raters would add -------------------------------------------------------------------------------------------

_CURVE = {
    "axis": "axis", "group": "group", "k": "raters", "relative": "relative", "relative_low": "relative low",
    "relative_high": "relative high", "absolute": "absolute", "absolute_low": "absolute low",
    "absolute_high": "absolute high", "ceiling": "ceiling",
}  # fmt: skip


@once
def rater_reliability_data(
    result: Variation, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 6
) -> pl.DataFrame:
    """Return what :func:`rater_reliability` draws: one row per group and number of raters, all raters first."""
    g.check_axis(result, axis)
    frame = _part(result.reliability(), result, subset)
    whole = frame.filter(axis="all").with_columns(group=pl.lit(ALL_RATERS))
    rows = g.group_rows(result, ("leniency",), axis, subset) if axis is not None else {}
    largest = sorted(rows, key=lambda key: -(rows[key]["leniency"].n_raters or 0))[:max_groups]
    shown = [group for _, group in rows if (axis, group) in largest]
    own = frame.filter(pl.col("axis") == (axis or ""), pl.col("group").is_in(shown))
    return pl.concat([whole, own]).select(pl.col(name).alias(shown) for name, shown in _CURVE.items())


def rater_reliability(
    result: Variation, axis: str | None = None, *, subset: str | None = None, max_groups: int = 6
) -> Chart:
    """Draw how reliable the mean of a number of raters is, and where it reaches the target.

    Parameters
    ----------
    axis
        The axis whose groups to show in addition to all raters, by their relative reliability; by default all raters
        alone, with both reliabilities and their intervals.
    max_groups
        If there are more groups, the largest are shown; at most six.
    """
    max_groups = min(max_groups, len(COLOURS) - 1)
    title = "What more raters add" if axis is None else f"What more raters add, by {shorten(axis)}"
    data = rater_reliability_data(result, axis, subset=subset, max_groups=max_groups)
    drawn = defined(data, "relative")
    if drawn.filter(pl.col("axis") == (axis or "all")).is_empty():
        if axis is not None:
            return saying(title, g.RATERS_UNNAMED if g.names_raters(axis) else "There are no groups to show.")
        why = _part(result.needed(), result, subset).filter(axis="all")["note"]
        return saying(title, f"This is unknown: {why[0] or 'items do not differ'}." if len(why) else "This is unknown.")
    if axis is None:  # both reliabilities of all raters, one line each
        frames = [
            drawn.select("raters", line=pl.lit(label), value=name, low=f"{name} low", high=f"{name} high")
            for name, label in KINDS.items()
        ]
        lines = pl.concat(frames).with_columns(dashed=pl.lit(False))
    else:  # the relative reliability of all raters and of each group
        keys = drawn.select("axis", "group").unique(maintain_order=True)
        names = keys.with_columns(line=pl.Series(unique_labels(keys["group"]), dtype=pl.String))
        lines = drawn.join(names, on=["axis", "group"], how="left", maintain_order="left").select(
            "raters", "line", value="relative", low="relative low", high="relative high", dashed=pl.col("axis") == "all"
        )
    chart = _curves(lines, float(result.settings["target"]), bands=axis is None)
    return themed(chart, title, _curve_words(result, axis, subset, data, drawn))


def _curves(lines: pl.DataFrame, target: float, *, bands: bool) -> Chart:
    names = lines["line"].unique(maintain_order=True).to_list()
    whole = set(lines.filter("dashed")["line"])
    hues = iter(COLOURS)
    colours = [QUIET if name in whole else next(hues) for name in names]
    dashes = [[4, 3] if name in whole or name == KINDS["absolute"] else [1, 0] for name in names]
    scales = looks("line", names, legend(names, symbolType="stroke"), color=colours, strokeDash=dashes)
    width = full_width() - 70
    ticks = [k for k in (1, 2, 3, 5, 10, 20, 30, 50, 100) if k <= lines["raters"].max()]  # type: ignore[operator]
    x = field(
        "raters:Q", title="number of raters in the mean", scale={"type": "log", "nice": False},
        axis={"values": ticks, "format": "d", "grid": True},
    )  # fmt: skip

    def y(column: str) -> Spec:
        return field(f"{column}:Q", title="reliability of the mean", scale={"domain": [0, 1]})

    base = Chart.of(lines).encode(x=x, color=scales["color"])
    layers = []
    if bands and defined(lines, "low", "high").height:
        layers.append(base.mark("area", opacity=0.18, clip=True).encode(y=y("low"), y2="high"))
    told = tips("line", "raters", "value", "low", "high", names=_RELIABLE)
    layers.append(
        base.mark("line", strokeWidth=2.2 if bands else 1.5).encode(y=y("value"), strokeDash=scales["strokeDash"])
    )
    dots = Chart.of(lines.filter(pl.col("raters").is_in(ticks))).mark("point", filled=True, size=28, opacity=1)
    layers.append(dots.encode(x=x, y=y("value"), color=scales["color"], tooltip=told))
    goal = Chart.of([{"at": target, "text": f"target {target:g}"}]).encode(y=y("at"))
    layers.append(goal.mark("rule", color=INK, strokeWidth=1, strokeDash=[2, 3]))
    layers.append(goal.mark("text", color=INK, align="right", dx=-4, dy=-7, fontSize=11).encode(
        x={"value": width}, text="text:N"
    ))  # fmt: skip
    return layer(*layers).properties(width=width, height=260, name="curves")


def _curve_words(
    result: Variation, axis: str | None, subset: str | None, data: pl.DataFrame, drawn: pl.DataFrame
) -> str:
    text = ""
    if axis is not None:
        total = len(g.group_rows(result, ("leniency",), axis, subset))
        listed = data.filter(pl.col("axis") != "all")["group"].n_unique()
        shown = drawn.filter(pl.col("axis") != "all")["group"].n_unique()
        text += g.shown_words(shown, listed, total, "the largest") + "Relative reliability. "
    elif drawn["relative low"].is_not_null().any():
        text += f"Bands: 95 % intervals {interval_method(result.settings)}. "
    needed = _part(result.needed(), result, subset).filter(axis="all")
    if axis is None and needed.height:  # how many raters reach the target
        row = needed.row(0, named=True)
        told = [f"{name} {int(row[name]):,}" for name in KINDS if row[name] is not None and row[name] == row[name]]
        text += f"Raters for {row['target']:g}: {', '.join(told)}." if told else ""
    return text


# All attributes at once -----------------------------------------------------------------------------------------------


@once
def adjusted_effects_data(result: Variation, *, subset: str | None = None, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`adjusted_effects` draws: one row per group, its effect before and after adjustment."""
    names = {
        "attribute": "axis", "group": "group", "reference": "reference", "unadjusted": "alone",
        "unadjusted_low": "alone low", "unadjusted_high": "alone high", "effect": "accounted for",
        "ci_low": "accounted for low", "ci_high": "accounted for high", "n_raters": "raters", "note": "note",
    }  # fmt: skip
    kept = g.largest(_part(result.adjusted(), result, subset), "n_raters", max_groups)
    return kept.select(pl.col(name).alias(shown) for name, shown in names.items())


def adjusted_effects(result: Variation, *, subset: str | None = None, max_groups: int | None = 40) -> Chart:
    """Draw how much higher each group rates than the reference, before and after accounting for other attributes."""
    title = "Before and after accounting for the other attributes"
    data = adjusted_effects_data(result, subset=subset, max_groups=max_groups)
    drawn = defined(data, "accounted for").filter(pl.len().over("axis") > 1)  # a reference alone says nothing
    if drawn.is_empty():
        asked = "An adjusted fit was not requested (adjust), or no group is shown."
        return saying(title, asked if data.is_empty() else "The effect is unknown for every group.")
    rows = Rows.of(drawn.select("axis", "group").iter_rows())
    references = set(drawn.select("axis", "reference").iter_rows())
    labels = zip(rows.keys, rows.labels, strict=True)
    rows = rows._replace(labels=[f"{one} (reference)" if key in references else one for key, one in labels])
    ends = [value for name in _WHEN for end in (" low", " high") for value in drawn[f"{name}{end}"]]
    core = [*drawn["alone"], *drawn["accounted for"], 0.0, *ends]
    x = across("points higher than the reference group", extent(core), rows.plot_width())
    placed = rows.place(drawn)
    held = Chart.of(placed.filter(pl.col("group") == pl.col("reference"))).encode(y=rows.y(), x=x("alone"))
    told = tips("group", "axis", "alone", "raters", names={"alone": "reference group, points"})
    reference = held.mark("point", size=45, color=INK, opacity=1, strokeWidth=1.5).encode(tooltip=told)
    layers = [vertical(0.0, x), reference]
    chart = twice(placed.filter(pl.col("group") != pl.col("reference")), rows, _WHEN, x, layers)
    left = data.filter(~pl.col("axis").is_in(drawn["axis"].implode()))
    total = _part(result.adjusted(), result, subset).height - left.height
    text = g.shown_words(drawn.height, data.height - left.height, total, "the largest")
    for (axis,), own in left.group_by("axis", maintain_order=True):
        why = next((note for note in own["note"] if note), "only the reference group is shown")
        text += f"{shorten(str(axis))} is left out: {shorten(why, 120)}. "
    if drawn["accounted for low"].is_not_null().any():
        text += f"Line: 95 % interval {interval_method(result.settings)}. "
    text += "Each group is compared with the reference group of its attribute, on the same items."
    return themed(chart, title, text)


# All of it ------------------------------------------------------------------------------------------------------------


def together(result: Variation) -> Chart:
    """Draw everything that a result has on one sheet."""
    charts = [leniency_forest(result)] if g.group_rows(result, ("leniency",), None, None) else []
    charts += [adjusted_effects(result)] if result.adjusted().height else []
    charts += [variance_shares(result), rater_reliability(result)]
    charts += [repeat_agreement(result)] if result.repeats().height else []
    charts += [drift_forest(result)] if g.group_rows(result, ("drift",), None, None) else []
    parts = [Chart({name: part for name, part in chart.spec.items() if name != "config"}) for chart in charts]
    own = dict.fromkeys(("color", "fill", "shape", "strokeDash"), "independent")
    return vconcat(*parts, spacing=28).properties(resolve={"scale": own}, config=charts[0].spec["config"])


def _part(frame: pl.DataFrame, result: Variation, subset: str | None) -> pl.DataFrame:
    """Return the rows of one set of items, all of them by default."""
    known = list(dict.fromkeys(["all", *frame["subset"]]))
    return frame.filter(pl.col("subset") == g.known("subset", subset or "all", known)).drop("subset")


_AGAIN = {"with each other": "with each other, on the same items", "with themselves": "with themselves, rating again"}
_TITLES = {
    "percent": "share of pairs with the same score", "alpha": "Krippendorff's alpha",
    "change": "mean difference of two scores, in points",
}  # fmt: skip


@once
def repeat_agreement_data(
    result: Variation, statistic: str = "percent", *, max_groups: int | None = 40
) -> pl.DataFrame:
    """Return what :func:`repeat_agreement` draws: one row per group, all raters first."""
    g.known("statistic", statistic, _TITLES)
    names = {
        "axis": "axis", "group": "group", "within": "with themselves", "ci_low": "with themselves low",
        "ci_high": "with themselves high", "between": "with each other", "between_ci_low": "with each other low",
        "between_ci_high": "with each other high", "n_raters": "raters", "n_items": "items", "n_pairs": "pairs",
        "note": "note",
    }  # fmt: skip
    frame = result.repeats().filter(statistic=statistic)
    whole = frame.filter(axis="all").with_columns(group=pl.lit(ALL_RATERS))
    own = frame.filter(~pl.col("axis").map_elements(g.names_raters, pl.Boolean), pl.col("axis") != "all")
    own = g.largest(own, "n_raters", max_groups)
    return pl.concat([whole, own]).select(pl.col(name).alias(shown) for name, shown in names.items())


def repeat_agreement(result: Variation, statistic: str = "percent", *, max_groups: int | None = 40) -> Chart:
    """Draw how far raters of each group agree with themselves on items that they rated again, and with each other.

    Parameters
    ----------
    statistic
        ``"percent"``, the share of equal pairs; ``"alpha"``; or ``"change"``, the mean absolute difference in points.
    """
    title = "Who agrees with themselves"
    data = repeat_agreement_data(result, statistic, max_groups=max_groups)
    drawn = defined(data, "with themselves")
    if drawn.is_empty():
        return saying(title, "Nobody rated an item again, or repeats were not kept.")
    rows = Rows.of(drawn.select("axis", "group").iter_rows())
    ends = [value for name in _AGAIN for end in ("", " low", " high") for value in drawn[f"{name}{end}"]]
    chart = twice(rows.place(drawn), rows, _AGAIN, across(_TITLES[statistic], extent(ends), rows.plot_width()), [])
    total = repeat_agreement_data(result, statistic, max_groups=None).height
    text = g.shown_words(drawn.height, data.height, total, "the largest")
    if drawn["with themselves low"].is_not_null().any():
        text += f"Line: 95 % interval {interval_method(result.settings)}. "
    return themed(chart, title, text)


@once
def drift_forest_data(result: Variation, axis: str | None = None, *, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`drift_forest` draws: one row per group, including undefined values."""
    found = forest_data(result, ("drift",), axis, None, max_groups)
    return found.with_columns(group=pl.when(pl.col("axis") == "all").then(pl.lit(ALL_RATERS)).otherwise("group"))


def drift_forest(result: Variation, axis: str | None = None, *, max_groups: int | None = 40) -> Chart:
    """Draw by how many points the scores of each group rise with time, over what shuffled times give."""
    data = drift_forest_data(result, axis, max_groups=max_groups)
    title = "Whose scores drift over time, on the same items"
    total = len(g.group_rows(result, ("drift",), axis, None))
    measured = "points higher from one unit of time to the next"
    return forest(
        result, data, title, axis, total, neutral=0.0, measured=measured, shuffled="times shuffled within raters"
    )
