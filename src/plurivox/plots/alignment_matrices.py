"""Models as rows of cells: how far they are from groups, which group is closest how often, and answers to items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.alignment.result import Alignment
from plurivox.plots import groups as g
from plurivox.plots.alignment import CLOSER, Voices, axes_of, tidy, values_of, withheld_on
from plurivox.plots.layout import (
    ALL_RATERS,
    Texts,
    cut,
    defined,
    item_labels,
    pixels,
    row_axis,
    shorten,
    told_of,
    unique_labels,
    with_texts,
)
from plurivox.plots.pieces import once, tips, titled
from plurivox.plots.theme import (
    AGREEMENT,
    DARK,
    HIGH_HUE,
    INK,
    LOW_HUE,
    MIDDLE_HUE,
    ON_DARK,
    ON_LIGHT,
    SEQUENCE,
    full_width,
    narrow,
    saying,
    themed,
)
from plurivox.plots.vega import Chart, Spec, field, hconcat, layer, vconcat

MAX_MODELS, MAX_GROUPS = 30, 24
_STEP, _HIGH, _GAP = 46, 22, 16
_READABLE = 27  # pixels that a cell needs for its number
_LABEL = 22
_LEAST_RANGE = 0.15
_MARGIN = {"margin at equal sizes": "lead at equal sizes"}
_SLANTED = {"labelAngle": -45, "labelAlign": "right", "labelBaseline": "middle", "orient": "bottom"}
_KEYS = ["model", "prompt", "axis", "group"]
_CLOSEST = "the closest group of each model and axis, comparing each pair of groups on the items that both rated"


@once
def alignment_heat_data(
    found: Alignment, axis: str | None = None, statistic: str = "ada_met", *, max_models: int | None = MAX_MODELS,
    max_groups: int | None = MAX_GROUPS,
) -> pl.DataFrame:  # fmt: skip
    """Return what :func:`alignment_heat` draws: a row for each model and group, including those without a value."""
    voices = Voices.of(found, max_models, statistic).with_references(found, statistic)
    return tidy(_heat_cells(found, voices, axis, statistic, max_groups))


def alignment_heat(
    found: Alignment, axis: str | None = None, statistic: str = "ada_met", *, max_models: int | None = MAX_MODELS,
    max_groups: int | None = MAX_GROUPS,
) -> Chart:  # fmt: skip
    """Draw how far each model is from each group of raters; the closest group of each axis has a frame.

    Parameters
    ----------
    axis
        The axis whose groups to show in addition to all raters; by default all axes.
    statistic
        The statistic to show: ``ada_met``, ``ada_met_answered``, ``voter_distance``, ``expected_emd``, ``xrr`` …
    max_models, max_groups
        If there are more models, those closest to all raters are shown; of an axis with more groups, the groups that
        are closest to some model, then the largest.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=40, n_raters=40, seed=1)
    >>> chart = alignment_heat(pv.alignment(study.ratings, study.answers, "gender", bootstrap=0, permutations=19))
    >>> chart.to_dict()["title"]["text"]
    'How far models are from groups of raters: ADA-Met'
    """
    name = g.name_of(statistic)
    how = "close models are to" if statistic in CLOSER else "far models are from"
    title = f"How {how} groups of raters: {name}"
    voices = Voices.of(found, max_models, statistic).with_references(found, statistic)
    cells = _heat_cells(found, voices, axis, statistic, max_groups)
    if defined(cells, "value").is_empty():
        return saying(title, "No model has a value: no rated item has a readable answer.")
    star = pl.when(pl.col("claim").fill_null(False)).then(pl.lit("*")).otherwise(pl.lit(""))
    marked = cells.with_columns(text=pl.format("{}{}", pl.col("value").map_elements(g.two_decimals, pl.String), star))
    told = ("who", "group", "axis", "value", "ci low", "ci high", "p", "p corrected", "items")
    colours = AGREEMENT if statistic == "xrr" else _range(values_of(found, statistic)["value"])  # one for all axes
    chart = _matrix(marked, voices.labels, colours, tips(*told, names={"value": name}), legend=name)
    return themed(chart, title, _heat_words(found, voices, cells, statistic, axes_of(found, axis)))


@once
def alignment_wins_data(
    found: Alignment, axis: str, *, max_models: int | None = MAX_MODELS, max_groups: int | None = MAX_GROUPS
) -> pl.DataFrame:
    """Return what :func:`alignment_wins` draws: how often each group wins, its distance and margins."""
    return tidy(_win_cells(found, Voices.of(found, max_models), axis, max_groups))


def alignment_wins(
    found: Alignment, axis: str, *, max_models: int | None = MAX_MODELS, max_groups: int | None = MAX_GROUPS
) -> Chart:
    """Draw how often each group of an axis is the closest to a model when items are resampled.

    Parameters are those of :func:`alignment_heat`.
    """
    title = f"Which group of {shorten(axis)} is closest when items are resampled"
    voices = Voices.of(found, max_models)
    cells = _win_cells(found, voices, axis, max_groups)
    if g.names_raters(axis):
        return saying(title, "Individual raters are not listed by name.")
    if defined(cells, "wins").is_empty():
        return saying(title, "Items were not resampled." if cells.height else "There are no two groups to compare.")
    marked = cells.with_columns(value=pl.col("wins"), text=pl.col("wins").map_elements(_percent, pl.String))
    told = ("who", "group", "wins", "margin", "margin at equal sizes", "raters")
    tooltip = tips(*told, names={"wins": "closest in", "margin": "lead over the next", **_MARGIN})
    chart = _matrix(marked, voices.labels, (0.0, 1.0), tooltip, legend="share of draws")
    text = f"Share of {found.settings['bootstrap']:,} draws of items in which a group is closest; ties are shared. "
    text = f"{voices.words()}{_shown_groups(found, cells, [axis])}{text}Framed: {_CLOSEST}. "
    return themed(chart, title, text + withheld_on(found, [axis]))


@once
def _band_rows(found: Alignment, max_models: int | None) -> pl.DataFrame:
    return tidy(Voices.of(found, max_models).place(found.bands()))


def alignment_items_data(found: Alignment, *, max_models: int | None = MAX_MODELS, texts: Texts = None) -> pl.DataFrame:
    """Return what :func:`alignment_items` draws: a row for each model and item, or band of items."""
    return with_texts(_band_rows(found, max_models), texts)


def alignment_items(found: Alignment, *, max_models: int | None = MAX_MODELS, texts: Texts = None) -> Chart:
    """Draw what each model answers to each item, with the mean rating, by which items are sorted.

    If there are more items than fit, neighbours are combined, and a cell is the mean of their answers.

    Parameters
    ----------
    max_models
        If there are more models, those closest to all raters are shown.
    texts
        What items say, by id.
    """
    title = "What models answer, item by item"
    voices, bands = Voices.of(found, max_models), found.bands()
    if defined(bands, "answer").is_empty():
        why = "no rated item has an answer" if found.settings["humans"] else "items are sorted by ratings"
        return saying(title, f"There is nothing to draw: {why}.")
    answers = voices.place(bands).with_columns(value=pl.col("answer"), voice=pl.col("voice") + 1)
    humans = bands.unique("band", keep="first", maintain_order=True).with_columns(
        value=pl.col("rating"), voice=pl.lit(0, pl.Int64), who=pl.lit(ALL_RATERS), answer=None, n_silent=None
    )
    shared = ["band", "item", "n_items", "rating", "answer", "n_silent", "value", "voice", "who"]
    cells = pl.concat([humans.select(shared), answers.select(shared)], how="vertical_relaxed").rename(
        {"n_items": "items", "rating": "mean rating", "answer": "mean answer", "n_silent": "without an answer"}
    )
    names = humans["item"].to_list()
    labels = None if None in names else item_labels(names, texts, _LABEL, _LABEL + 6)
    shown = cells.drop("item") if labels is None else cut(with_texts(cells, texts))
    chart = _items(shown, len(names), labels, [ALL_RATERS, *voices.labels], found.settings["values"])
    return themed(chart, title, voices.words() + _band_words(found, humans["n_items"].to_list(), cells))


def _items(
    cells: pl.DataFrame, n: int, labels: Sequence[str] | None, rows: Sequence[str], values: Sequence[float]
) -> Chart:
    """Draw cells, items from left to right."""
    step = max(3, min(_STEP, (full_width() - pixels(rows) - 20) // n))
    ordered = titled("items, from the lowest mean rating to the highest", step * n)
    axis = {"title": ordered, "labels": False, "ticks": False, "domain": False}
    if step >= _READABLE - 12 and labels is not None:
        axis = row_axis(labels, **_SLANTED)
    ends = {
        "domain": [values[0], (values[0] + values[-1]) / 2, values[-1]], "range": [LOW_HUE, MIDDLE_HUE, HIGH_HUE],
        "interpolate": "rgb",
    }  # fmt: skip
    key = {"title": "point of the scale", "gradientLength": 120, "tickCount": 4}
    told = tips("who", *told_of(cells), "mean answer", "mean rating", "items", "without an answer", form=".2f")
    drawn = Chart.of(cells).filter("isValid(datum.value)").mark("rect").encode(
        x=field("band:O", scale=_bands(n, 0.04 if step > 9 else 0), axis=axis),
        y=field("voice:O", scale=_bands(len(rows)), axis=row_axis(rows)),
        color=field("value:Q", scale=ends, legend=key), tooltip=told,
    )  # fmt: skip
    return drawn.properties(width={"step": step}, height={"step": _HIGH})


def _bands(n: int, gap: float = 0.04) -> Spec:
    """Return the scale of rows or columns of cells."""
    return {"domain": list(range(n)), "paddingInner": gap, "paddingOuter": 0}


def _band_words(found: Alignment, sizes: Sequence[int], cells: pl.DataFrame) -> str:
    text = "The first row is the mean rating, by which items are sorted. A model whose row does not follow it sees "
    text += "other differences than raters do. "
    if max(sizes) > 1:
        of = f"{min(sizes):,}" if min(sizes) == max(sizes) else f"{min(sizes):,} or {max(sizes):,}"
        text = f"{sum(sizes):,} items in {len(sizes):,} bands of {of}; a cell is the mean. {text}"
    if not found.in_numbers:
        text += f"Colours show the numbers of the points, {found.numbered_ends}. "
    if cells["value"].null_count():
        text += "Empty cells have no readable answer. "
    return text


def _heat_cells(
    found: Alignment, voices: Voices, axis: str | None, statistic: str, max_groups: int | None
) -> pl.DataFrame:
    """Return the values of models and groups, and whether a group is the closest, with the test of that."""
    tests = {"p": "p_value", "p corrected": "p_adjusted"}
    closest = found.closest().select(*_KEYS, "claim", closest=pl.lit(True), **tests)
    joined = values_of(found, statistic, axis).join(closest, on=_KEYS, how="left", maintain_order="left")
    joined = joined.with_columns(pl.col("closest").fill_null(False))
    shown = [(ALL, ALL_RATERS)]
    for name in axes_of(found, axis):
        shown += [(name, group) for group in _chosen(joined.filter(axis=name), max_groups)]
    return voices.place(_only(joined, shown)).sort("voice", maintain_order=True)


def _win_cells(found: Alignment, voices: Voices, axis: str, max_groups: int | None) -> pl.DataFrame:
    closest = found.closest().select(*_KEYS, closest=pl.lit(True))
    frame = found.standings().filter(pl.col("axis").is_in(axes_of(found, axis)))
    frame = frame.rename({"matched": "margin at equal sizes", "n_raters": "raters", "n_items": "items"})
    frame = frame.join(closest, on=_KEYS, how="left", maintain_order="left")
    frame = frame.with_columns(pl.col("closest").fill_null(False))
    return voices.place(_only(frame, [(axis, group) for group in _chosen(frame, max_groups)]))


def _chosen(frame: pl.DataFrame, at_most: int | None) -> list[str]:
    """Return the groups of an axis to show: all, or those closest to a model, then the largest; in order."""
    sizes = frame.group_by("group", maintain_order=True).agg(pl.col("closest").any(), pl.col("raters").max())
    sizes = sizes.with_row_index("at")
    if at_most is not None and sizes.height > at_most:
        sizes = sizes.sort("closest", "raters", "at", descending=[True, True, False]).head(at_most).sort("at")
    return sizes["group"].to_list()


def _only(frame: pl.DataFrame, keys: Sequence[tuple[str, str]]) -> pl.DataFrame:
    shown = pl.DataFrame(keys, schema={"axis": pl.String, "group": pl.String}, orient="row")
    return frame.join(shown, on=["axis", "group"], how="semi", maintain_order="left")


class _Panel(NamedTuple):
    """The cells of one axis: labels of columns, how wide one is, how wide all are, how far labels reach left."""

    axis: str
    heading: str
    groups: list[str]
    labels: list[str]
    step: int
    width: int
    overhang: int


def _matrix(
    cells: pl.DataFrame, rows: Sequence[str], values: tuple[float, float], tooltip: list[Spec], legend: str
) -> Chart:
    """Draw cells with their text, a panel for each axis, as many side by side as fit."""
    room = full_width() - pixels(rows) - 20
    panels = []
    for (axis,), own in cells.group_by("axis", maintain_order=True):
        groups = own["group"].unique(maintain_order=True).to_list()
        labels = unique_labels(groups, _LABEL)
        beside = 0 if narrow() else _STEP + _GAP + _overhang(labels, 8)  # all raters fit to the left
        step = max(8, min(_STEP, (room - beside) // len(groups)))
        heading, overhang = "" if axis == ALL else shorten(str(axis)), _overhang(labels, step)
        width = max(step * len(groups), pixels([heading])) + overhang
        panels.append(_Panel(str(axis), heading, groups, labels, step, width, overhang))
    readable = all(panel.step >= _READABLE for panel in panels)
    colour = _colour(values, None if readable else legend)
    lines: list[list[_Panel]] = []
    for panel in panels:
        line = lines[-1] if lines else []
        taken = sum(one.width + _GAP for one in line) - (line[0].overhang if line else 0)  # it is under row labels
        if line and taken + panel.width <= room:
            line.append(panel)
        else:
            lines.append([panel])
    drawn = []
    for number, line in enumerate(lines):
        parts = []
        for at, panel in enumerate(line):
            part = _cells(cells, panel, rows if at == 0 else None, len(rows), values, colour, tooltip)
            parts.append(part.properties(name=f"panel_{number}_{at}"))
        drawn.append(hconcat(*parts, spacing=_GAP))
    return vconcat(*drawn, spacing=18)


def _cells(
    cells: pl.DataFrame, panel: _Panel, rows: Sequence[str] | None, n_rows: int, values: tuple[float, float],
    colour: Spec, tooltip: list[Spec],
) -> Chart:  # fmt: skip
    places = {name: at for at, name in enumerate(panel.groups)}
    placed = cells.filter(axis=panel.axis).with_columns(
        column=pl.col("group").replace_strict(places, return_dtype=pl.Int64)
    )
    base = Chart.of(placed).encode(
        x=field("column:O", scale=_bands(len(panel.groups)), axis=row_axis(panel.labels, **_SLANTED)),
        y=field("voice:O", scale=_bands(n_rows), axis=None if rows is None else row_axis(rows)),
    )
    known = base.filter("isValid(datum.value)")
    layers = [known.mark("rect").encode(color=colour, tooltip=tooltip)]
    if panel.step >= _READABLE:
        low, high = values
        ink = {"condition": {"test": f"datum.value > {low + DARK * (high - low)}", "value": ON_DARK}, "value": ON_LIGHT}
        size = 11 if panel.step >= 38 else 9
        layers.append(known.mark("text", fontSize=size, baseline="middle").encode(text="text:N", color=ink))
    frame = known.filter("datum.closest").mark("rect", fill=None, stroke=HIGH_HUE, strokeWidth=2.5)
    heading = {"text": panel.heading, "fontSize": 12, "anchor": "start", "frame": "group", "color": INK}
    return layer(*layers, frame).properties(width={"step": panel.step}, height={"step": _HIGH}, title=heading)


def _overhang(labels: Sequence[str], step: int) -> int:
    """Return roughly how far slanted labels reach to the left of the first column."""
    return max(0, max(round(0.75 * pixels([label]) - (at + 0.5) * step) for at, label in enumerate(labels)))


def _colour(values: tuple[float, float], legend: str | None) -> Spec:
    low, high = values
    parts = len(SEQUENCE) - 1
    stops = [low + (high - low) * at / parts for at in range(parts + 1)]
    scale = {"domain": stops, "range": list(SEQUENCE), "interpolate": "rgb", "clamp": True}
    key = None if legend is None else {"title": shorten(legend), "gradientLength": 120, "tickCount": 4}
    return field("value:Q", scale=scale, legend=key)


def _range(values: pl.Series) -> tuple[float, float]:
    """Return the ends of the colours, far enough apart that small differences look small."""
    known = [value for value in values if g.finite_or_none(value) is not None]
    low, high = min(known), max(known)
    spare = max(0.0, _LEAST_RANGE - (high - low)) / 2
    return low - spare, high + spare


def _heat_words(found: Alignment, voices: Voices, cells: pl.DataFrame, statistic: str, axes: Sequence[str]) -> str:
    text = voices.words() + _shown_groups(found, cells, axes)
    text += "Higher is closer. " if statistic in CLOSER else "Lower is closer. "
    if cells["closest"].any():
        text += f"Framed: {_CLOSEST}. "
    if cells["claim"].any():
        text += "Star: this is claimed, because the lead exceeds chance in raters, items and the order of answers. "
    elif cells["p corrected"].is_not_null().any():
        text += "None of them is claimed: no lead exceeds chance in raters, items and the order of answers. "
    if defined(cells, "value").height < cells.height:
        text += "Empty cells have no value. "
    return text + withheld_on(found, axes)


def _shown_groups(found: Alignment, cells: pl.DataFrame, axes: Sequence[str]) -> str:
    known = {(row.axis, row.group) for row in found.rows if row.kind == "group" and row.axis in axes}
    shown = cells.filter(pl.col("axis") != ALL).select("axis", "group").n_unique()
    if shown >= len(known):
        return ""
    return f"{shown:,} of {len(known):,} groups shown: those closest to a model and the largest. "


def _percent(value: float) -> str:
    return "< 1 %" if 0 < value < 0.005 else "> 99 %" if 0.995 <= value < 1 else f"{value:.0%}".replace("%", " %")
