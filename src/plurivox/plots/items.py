"""Items: those to look at, the scores of one of them, and what a graded response model says about them."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plurivox.base.wording import withheld_groups
from plurivox.domain.scale import few_points
from plurivox.domain.scale_names import Poles
from plurivox.infer.view import P, written
from plurivox.lenses.item.result import ItemView
from plurivox.lenses.items.result import Items, claimed, comparisons
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.plots import groups as g
from plurivox.plots.layout import (
    ALL_RATERS,
    Rows,
    Texts,
    cut,
    defined,
    extent,
    fitting,
    item_labels,
    pixels,
    shorten,
    told_of,
    unique_labels,
    with_texts,
)
from plurivox.plots.pieces import across, few, legend, looks, once, point_bars, tips, titled, vertical
from plurivox.plots.theme import COLOURS, INK, ON_DARK, ON_LIGHT, QUIET, WIDTH, full_width, narrow, saying, themed
from plurivox.plots.vega import Chart, field, hconcat, layer

DIVIDED = {
    "direction": "rates it", "mean_group": "mean", "mean_rest": "mean of the others", "n_group": "ratings",
    "n_rest": "ratings of the others", "p_value": "p alone", "p_adjusted": "p corrected",
}  # fmt: skip
"""The names that readers see for columns of dividing items."""
CERTAIN, CHANCE = "beyond chance", "not beyond chance"
_NAME = 24


def items_divided_data(items: Items, n: int = 20, *, texts: Texts = None) -> pl.DataFrame:
    """Return what :func:`items_divided` draws: the clearest differences between a group and the others on an item.

    ``chance`` is the raw difference that the largest of all exceeds in 5 of 100 shuffles, for an item and groups of
    these sizes; null where it would reveal single ratings.
    """
    return with_texts(_divided(items, n), texts)


@once
def _divided(items: Items, n: int) -> pl.DataFrame:
    largest = items.settings["largest_z_by_chance"]
    error = pl.when(pl.col("z").abs() > _LEAST).then((pl.col("difference") / pl.col("z")).abs())
    sure = claimed(items).select("item", "axis").with_columns(finding=pl.lit(CERTAIN))
    rows = items.divided.head(n).with_columns(chance=error * largest["95 %"] if largest else pl.lit(None, pl.Float64))
    found = rows.join(sure, on=["item", "axis"], how="left", maintain_order="left")
    return found.with_columns(pl.col("finding").fill_null(CHANCE)).rename(DIVIDED)


def items_divided(items: Items, n: int = 20, *, texts: Texts = None) -> Chart:
    """Draw the ``n`` clearest differences between a group and the others on an item, and what chance gives.

    Parameters
    ----------
    texts
        The text of items, by id; its start is then shown next to the id.
    """
    title = "Differences between groups on items"
    data = items_divided_data(items, n, texts=texts)
    if data.is_empty():
        return saying(title, "No difference between groups on an item can be shown.")
    # Labels have the axis where an item divides by several.
    names = [f"{shorten(item, fitting(18))}, {shorten(axis, fitting(14))}" if again else item for item, axis, again
             in zip(data["item"], data["axis"], data["item"].is_duplicated(), strict=True)]  # fmt: skip
    known = None
    if texts is not None:
        known = {name: texts.get(str(item), "") for name, item in zip(names, data["item"], strict=True)}
    rows = Rows.listed(item_labels(names, known, *((_SHORT, 34) if narrow() else ())))
    groups = data["group"].unique(maintain_order=True)
    short = dict(zip(groups, unique_labels(groups, 19 if narrow() else _NAME), strict=True))
    placed = cut(data).with_columns(
        row=pl.Series(range(data.height)), named=pl.col("group").replace_strict(short), low=-pl.col("chance"),
        p=pl.col("p corrected").map_elements(lambda p: written(p, P), return_dtype=pl.String, skip_nulls=False),
    )  # fmt: skip
    columns = [("named:N", "group", pixels(placed["named"]), "left", ""), ("p:N", "p", 44, "right", "")]
    columns = columns[: 1 if narrow() else 2]
    width = rows.plot_width(sum(one[2] + 8 for one in columns))
    ends = [*placed["low"], *placed["chance"], *placed["difference"], *placed["shrunken"], 0.0]
    x = across("difference from the others", extent(ends), width)
    told = tips(
        *told_of(placed), "axis", "group", "shrunken", "difference", "chance", "p corrected", "finding", names=_TOLD
    )
    colours, shapes = zip(g.LOOKS[g.AFTER], g.LOOKS[g.CHANCE], strict=True)
    look = looks("finding", [CERTAIN, CHANCE], None, color=colours, shape=shapes)
    base = Chart.of(placed).encode(y=rows.y())
    chart = layer(
        base.mark("bar", height=9, color=QUIET, opacity=0.25).encode(x=x("low"), x2="chance"),
        vertical(0.0, x, QUIET),
        base.mark("tick", thickness=2, size=11, color=INK).encode(x=x("difference")),
        base.mark("point", filled=True, size=60, opacity=1).encode(x=x("shrunken"), tooltip=told, **look),
    ).properties(width=width, height=rows.height)
    total, largest = items.divided.height, items.settings["largest_z_by_chance"]
    text = f"{data.height:,} of {total:,} items and axes shown, the clearest first. " if data.height < total else ""
    text += "Dot: the difference, shrunken for chance; a blue diamond if it is beyond chance. "
    text += "Tick: the raw difference, where there are enough ratings to show it."
    if largest is not None:
        text += " Grey: the range that contains the largest of all in 95 of 100 shuffles; "
        text += f"p is {comparisons(items.settings)}."
    return themed(_beside(chart, base, rows, columns), title, text)


Beside = tuple[str, str, int, str, str]
"""Text next to the rows of a chart: a field, what is above it, its width, on which side it is aligned, its format."""


def _beside(chart: Chart, base: Chart, rows: Rows, columns: Sequence[Beside]) -> Chart:
    """Return a chart of rows with columns of text next to it."""
    drawn = [chart]
    for name, words, width, align, form in columns:
        left = align == "left"
        text = base.mark("text", align=align, fontSize=11, color=INK).encode(
            x={"value": 0 if left else width}, y=rows.y(labels=False),
            text=field(name, **({"format": form} if form else {})),
        )  # fmt: skip
        head = {"text": words, "fontSize": 11, "fontWeight": "normal", "color": INK}
        head["anchor"] = "start" if left else "end"
        drawn.append(text.properties(width=width, height=rows.height, title=head))
    return hconcat(*drawn, spacing=8)


_LEAST = 1e-9  # a z below this has no standard error to read off
_SHORT = 22  # length of a label where there is little room
_TOLD = {
    "shrunken": "difference, shrunken for chance", "difference": "raw difference", "chance": "by chance up to",
}  # fmt: skip


_UNCERTAIN = {
    "n_ratings": "ratings", "expected_mean": "expected mean", "ci_low": "ci low", "ci_high": "ci high",
    "information_gain": "gain of one more", "ratings_needed": "ratings needed",
    "prior_share": "share of prior",
}  # fmt: skip


def items_uncertain_data(items: Items, n: int = 20, *, texts: Texts = None) -> pl.DataFrame:
    """Return what :func:`items_uncertain` draws: the items about which one more rating reveals most."""
    return with_texts(_uncertain(items, n), texts)


@once
def _uncertain(items: Items, n: int) -> pl.DataFrame:
    return items.uncertain.head(n).rename(_UNCERTAIN)


def items_uncertain(items: Items, n: int = 20, *, texts: Texts = None) -> Chart:
    """Draw the ``n`` items that deserve more ratings: where their mean score lies, and how sure that is.

    Parameters
    ----------
    texts
        The text of items, by id; its start is then shown next to the id.
    """
    title = "Items that deserve more ratings"
    data = items_uncertain_data(items, n, texts=texts)
    if data.is_empty():
        return saying(title, "There are no items.")
    rows = Rows.listed(item_labels(data["item"].to_list(), texts, _SHORT if narrow() else 34))
    placed = cut(data).with_columns(row=pl.Series(range(data.height)))
    columns = [
        ("ratings:Q", "ratings", 56, "right", ",d"), ("share of prior:Q", "prior", 56, "right", ".0%"),
        ("gain of one more:Q", "gain", 56, "right", ".3f"), ("ratings needed:Q", "needed", 56, "right", ",d"),
    ]  # fmt: skip
    whole = not narrow() and (texts is None or full_width() > WIDTH)
    columns = columns if whole else columns[:1]
    width = rows.plot_width(sum(one[2] + 8 for one in columns))
    x = across("mean score", extent([*placed["ci low"], *placed["ci high"], *placed["mean"]]), width)
    told = tips(
        *told_of(placed), "expected mean", "ci low", "ci high", "mean", "ratings", "share of prior", "gain of one more",
        "ratings needed", names={"mean": "mean of the ratings", "ratings needed": "ratings needed"},
    )  # fmt: skip
    base = Chart.of(placed).encode(y=rows.y())
    chart = layer(
        base.mark("rule", strokeWidth=2, color=COLOURS[0]).encode(x=x("ci low"), x2="ci high"),
        base.mark("point", filled=True, size=60, opacity=1, color=COLOURS[0]).encode(
            x=x("expected mean"), tooltip=told
        ),
        base.mark("tick", thickness=2, size=11, color=QUIET).encode(x=x("mean")),
    ).properties(width=width, height=rows.height)
    total = items.uncertain.height
    text = f"The first {data.height:,} of {total:,} items. " if data.height < total else ""
    text += "Circle and line: the expected mean score and its 95 % credible interval; tick: the mean of the ratings. "
    if whole:
        text += "Prior: its share of both. Gain: information expected from one more rating, in nats. "
        text += f"Needed: for ± {items.settings['precision']:g}."
    return themed(_beside(chart, base, rows, columns), title, text)


# One item: the scores that all raters and each group gave -------------------------------------------------------------


_KEYS = ["axis", "group"]


@once
def item_groups_data(view: ItemView, *, max_groups: int | None = 40) -> pl.DataFrame:
    """Return what :func:`item_groups` draws: how often each group gave each point, all raters first.

    ``most often`` marks a group's plurality; tied points are all marked.
    """
    groups = view.to_frame().select(*_KEYS, "n_ratings")
    groups = pl.concat([groups[:1], g.largest(groups[1:], "n_ratings", max_groups)])
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
    scale = {"domain": [0, 1], "nice": False}
    title = titled("share of ratings, lowest point at the left", width)
    x = field("start:Q", title=title, scale=scale, axis={"format": "%", "tickCount": few(5, width)})
    bars = point_bars(placed, rows, names, x)
    marked = Chart.of(placed.filter(pl.col("most often"))).encode(y=rows.y())
    marks = marked.mark("point", filled=True, size=30, opacity=1, fill=ON_DARK, stroke=ON_LIGHT, strokeWidth=1).encode(
        x=field("middle:Q", scale=scale)
    )
    beside = Chart.of(numbers).mark("text", align="right", fontSize=11, color=INK).encode(
        y=rows.y(), x={"value": width + room}, text=field("ratings:Q", format=",d")
    )  # fmt: skip
    chart = layer(bars, marks, beside).properties(width=width, height=rows.height)
    groups, total = data.select(_KEYS).unique().height - 1, view.to_frame().height - 1
    text = f"{groups:,} of {total:,} groups shown, those with the most ratings. " if groups < total else ""
    text += "Circle: the most frequent score, several if they tie. On the right: number of ratings."
    n_withheld, least = sum(view.settings["withheld"].values()), view.settings["min_group_size"]
    if n_withheld:
        text += f" {withheld_groups(n_withheld, verb=False)}, to protect those with fewer than {least} ratings."
    return themed(chart, f"Scores of item {shorten(view.settings['item'])}", text)


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


_DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [4, 4], [1, 3], [10, 4])
_ON_TICK = 1e-9  # how close to a whole number a severity must be to have a dot
_SEVERITY = {"n_scores": "scores", "ci_low": "ci low", "ci_high": "ci high"}
_SCALE = "how {how}, in standard deviations from the mean item"
NO_MODEL = "There is no model to show: it needs three raters or groups, and ten items that two of them scored."


def item_severity_data(
    result: Psychometrics, axis: str | None = None, n: int = 10, *, texts: Texts = None
) -> pl.DataFrame:
    """Return what :func:`item_severity` draws: the most and the least severe items, in order."""
    return with_texts(_severity(result, axis, n), texts)


@once
def _severity(result: Psychometrics, axis: str | None, n: int) -> pl.DataFrame:
    g.check_axis(result, axis)
    whole = result.severity().filter((pl.col("axis") == _axis(result, axis)) & (pl.col("subset") == "all"))
    ordered = defined(whole, "severity").sort("severity", descending=True, maintain_order=True)
    shown = ordered if ordered.height <= 2 * n else pl.concat([ordered.head(n), ordered.tail(n)])
    return shown.select("item", "severity", "ci_low", "ci_high", "n_scores").rename(_SEVERITY)


def item_severity(result: Psychometrics, axis: str | None = None, n: int = 10, *, texts: Texts = None) -> Chart:
    """Draw the model's severity of the most and the least severe items, with 95 % intervals.

    Parameters
    ----------
    axis
        The axis whose scores to use; by default the one with the most raters or groups in its model.
    n
        How many items to show at either end.
    texts
        The text of items, by id; its start is then shown next to the id.
    """
    poles = Poles.of(result.settings)
    title = poles.fill("How {how} items are, by the graded response model")
    data = item_severity_data(result, axis, n, texts=texts)
    if data.is_empty():
        return saying(title, NO_MODEL)
    rows = Rows.listed(item_labels(data["item"].to_list(), texts))
    placed = cut(data).with_columns(row=pl.Series(range(data.height)))
    width = rows.plot_width()
    x = across(poles.fill(_SCALE), extent([*placed["ci low"], *placed["ci high"]]), width)
    base = Chart.of(placed).encode(y=rows.y())
    names = {"severity": poles.fill("how {how}")}
    tooltip = tips(*told_of(placed), "severity", "ci low", "ci high", "scores", form=".2f", names=names)
    chart = layer(
        base.mark("rule", strokeWidth=2, color=COLOURS[0]).encode(x=x("ci low"), x2="ci high"),
        base.mark("point", filled=True, size=60, opacity=1, color=COLOURS[0]).encode(x=x("severity"), tooltip=tooltip),
    ).properties(width=width, height=rows.height)
    chosen = _axis(result, axis)
    total = defined(result.severity().filter((pl.col("axis") == chosen) & (pl.col("subset") == "all")), "severity")
    ends = f"The {n} items at the {poles.high} end and the {n} at the {poles.low} end, of {total.height:,}. "
    shown = ends if total.height > 2 * n else ""
    who = "raters" if g.names_raters(chosen) else f"groups of {shorten(chosen)}"
    return themed(chart, title, f"{shown}Line: 95 % interval, given the scores of {who}.")


def _axis(result: Psychometrics, axis: str | None) -> str:
    """Return the requested axis, or the one whose model has the most raters or groups."""
    if axis is not None:
        return axis
    fits = result.fits().filter(pl.col("subset") == "all").sort("n_fitted", descending=True, maintain_order=True)
    return str(fits["axis"][0]) if fits.height else ""


@once
def score_curves_data(
    result: Psychometrics, axis: str, *, subset: str | None = None, max_groups: int | None = 7
) -> pl.DataFrame:
    """Return what :func:`score_curves` draws: the expected score of each group at severities from −3 to 3."""
    g.check_axis(result, axis)
    subset = g.chosen_subset(result, subset)
    rows = g.group_rows(result, ("grm_a",), axis, subset)
    shown = [group for _, group in g.most_notable(result, rows, subset, max_groups)]
    curves = result.curves(axis, subset)
    return curves.filter(pl.col("group").is_in(shown)).rename({"expected_score": "expected score"})


def score_curves(result: Psychometrics, axis: str, *, subset: str | None = None, max_groups: int = 7) -> Chart:
    """Draw the score that each group is expected to give as severity rises.

    Of many groups, those whose discrimination differs most are shown, at most seven.
    """
    max_groups = min(max_groups, len(COLOURS))
    poles = Poles.of(result.settings)
    title = f"Expected score as items get {poles.more}, by {shorten(axis)}"
    data = score_curves_data(result, axis, subset=subset, max_groups=max_groups)
    if data.is_empty():
        return saying(title, "Individual raters are not listed by name." if g.names_raters(axis) else NO_MODEL)
    names = data["group"].unique(maintain_order=True).to_list()
    labels = unique_labels(names)
    placed = data.with_columns(label=pl.col("group").replace_strict(names, labels))
    look = looks("label", labels, legend(labels, symbolType="stroke"), color=COLOURS, strokeDash=_DASHES)
    values = result.settings["values"]
    y = field("expected score:Q", scale={"domain": [values[0], values[-1]]}, axis={"tickCount": 5})
    width = full_width() - 76
    x = field(
        "severity:Q", title=titled(poles.fill(_SCALE), width), scale={"nice": False},
        axis={"tickCount": few(7, width)},
    )  # fmt: skip
    lines = Chart.of(placed).mark("line", strokeWidth=2).encode(x=x, y=y, **look)
    whole = placed.filter((pl.col("severity") - pl.col("severity").round()).abs() < _ON_TICK)
    told = tips("group", "severity", "expected score", form=".2f", names={"severity": poles.fill("how {how}")})
    dots = Chart.of(whole).mark("point", filled=True, size=22, opacity=1).encode(
        x=x, y=y, color=look["color"], tooltip=told
    )  # fmt: skip
    middle = Chart.of([{"x": 0}]).mark("rule", color=QUIET, strokeDash=[2, 3]).encode(x="x:Q")
    chart = layer(middle, lines, dots).properties(width=width, height=260)
    total = len(g.group_rows(result, ("grm_a",), axis, subset))
    text = g.shown_words(len(names), len(names), total, "those whose discrimination differs most")
    return themed(chart, title, text + "Steep: small differences are told apart. High: high scores are given early.")
