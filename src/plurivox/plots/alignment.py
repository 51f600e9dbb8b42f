"""Models compared with humans: distances with intervals, refusals, and how far answers lie from the mode."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from plurivox.base.wording import counted, withheld_words
from plurivox.domain.answers import Voice
from plurivox.domain.axis import CROSS
from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.alignment.result import Alignment
from plurivox.plots import groups as g
from plurivox.plots.layout import (
    ALL_RATERS,
    LABEL,
    Rows,
    defined,
    extent,
    fitting,
    model_labels,
    pixels,
    shorten,
    unique_labels,
)
from plurivox.plots.pieces import Grid, across, few, looks, once, panel, tips, titled
from plurivox.plots.theme import COLOURS, HIGH_HUE, INK, LINE, QUIET, narrow, saying, themed
from plurivox.plots.vega import Chart, field, layer

CLOSER = ("xrr", "mpa", "wra")
"""Statistics that are higher where a model is closer; the others are distances."""
_UNITS = {"ada_met": ", points", "ada_met_answered": ", points", "voter_distance": ", points"}
_VALUES = ("model", "prompt", "axis", "group", "value", "ci low", "ci high", "raters", "items", "note")


def with_unit(statistic: str) -> str:
    """Return the axis title of a statistic."""
    return g.name_of(statistic) + _UNITS.get(statistic, "")


def axes_of(found: Alignment, axis: str | None) -> list[str]:
    """Return the axes to show: the requested one, or all; never raters."""
    g.known("axis", axis, (None, *found.axes))
    return [name for name in found.axes if axis in (None, name) and not g.names_raters(name)]


def values_of(found: Alignment, statistic: str, axis: str | None = None) -> pl.DataFrame:
    """Return the values of each voice for all raters, and for the groups of the axes to show, on all items."""
    g.known("statistic", statistic, dict.fromkeys(row.statistic for row in found.rows if row.kind != "closest"))
    axes = (ALL, *axes_of(found, axis))
    rows = [row for row in found.rows if (row.statistic, row.subset) == (statistic, ALL) and row.axis in axes]
    frame = g.row_frame((row for row in rows if row.kind != "closest"), *_VALUES)
    return frame.with_columns(
        group=pl.when(axis=ALL).then(pl.lit(ALL_RATERS)).otherwise("group"),
        reference=pl.col("model").is_in(found.settings["references"]),
    )


class Voices(NamedTuple):
    """The models of a chart in order, each with each of its prompts: who they are, and their labels.

    They may be followed by some for comparison, ``beside``: answers without judgement.
    """

    keys: list[Voice]
    labels: list[str]
    total: int
    beside: int = 0

    @classmethod
    def of(cls, found: Alignment, at_most: int | None, statistic: str = "ada_met", *, length: int = LABEL) -> Voices:
        """Return the voices that are closest to all raters, the closest first."""
        sign = -1.0 if statistic in CLOSER else 1.0
        whole = {
            Voice(row.model, row.prompt): sign * row.value
            for row in found.rows
            if (row.kind, row.axis, row.subset, row.statistic) == ("voice", ALL, ALL, statistic)
        }

        def place(voice: Voice) -> tuple[float, Voice]:
            value = whole.get(voice, math.nan)
            return (math.inf if math.isnan(value) else value), voice

        return cls.listed(sorted(found.voices, key=place), at_most, length)

    def with_references(self, found: Alignment, statistic: str) -> Voices:
        """Return them followed by the closest constant and random answers, if those have the statistic."""
        names = found.references(statistic)
        mark = "ref." if narrow() else "reference"
        labels = unique_labels([*self.labels, *(f"{name} ({mark})" for name in names)], LABEL)
        return Voices([*self.keys, *(Voice(name, "") for name in names)], labels, self.total, len(names))

    @classmethod
    def listed(cls, voices: Sequence[Voice], at_most: int | None, length: int = LABEL) -> Voices:
        """Return the first voices, named with their prompt if there are several."""
        shown = list(voices)[:at_most]
        several = len({voice.prompt for voice in voices}) > 1
        names = [f"{one.model} ({one.prompt})" if several and one.prompt else one.model for one in shown]
        return cls(shown, model_labels(names, length), len(voices))

    def place(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the rows of these voices, in their order, each with the number of its ``voice`` and its name."""
        lines = [(*voice, at, label) for at, (voice, label) in enumerate(zip(self.keys, self.labels, strict=True))]
        schema = {"model": pl.String, "prompt": pl.String, "voice": pl.Int64, "who": pl.String}
        own = pl.DataFrame(lines, schema=schema, orient="row")
        return own.join(frame, on=["model", "prompt"], how="inner", maintain_order="left_right")

    def words(self, which: str = "those closest to all raters") -> str:
        """Say how many are shown, if not all, and what they are compared with."""
        shown = len(self.keys) - self.beside
        text = "" if shown >= self.total else f"{shown:,} of {self.total:,} models shown, {which}. "
        of = "Reference: answers without judgement; of constants, the closest to all raters. "
        return text + of if self.beside else text


def tidy(frame: pl.DataFrame) -> pl.DataFrame:
    """Return a table for readers: without the positions of a chart, and without prompts if none has a name."""
    frame = frame.drop("voice", "who", strict=False)
    return frame if (frame["prompt"] != "").any() else frame.drop("prompt")


def withheld_on(found: Alignment, axes: Sequence[str]) -> str:
    """Say how many groups of some axes are withheld, and why."""
    n, revealing = (sum(counts.get(axis, 0) for axis in axes) for counts in (found.withheld, found.revealing))
    return withheld_words(n, revealing, found.settings["min_group_size"])


MAX_ROWS = 44
MAX_PANELS = 9
_GROUP = "a group"
_FAR = {"what": "item with", "distance": "points from the mode", "share": "share of items"}
_STATES = {
    "answered": COLOURS[0], "refused": COLOURS[4], "unreadable": COLOURS[1], "failed": QUIET, "missing": LINE,
}  # fmt: skip


@once
def alignment_dots_data(
    found: Alignment, statistic: str = "ada_met", axis: str | None = None, *, max_rows: int = MAX_ROWS
) -> pl.DataFrame:
    """Return what :func:`alignment_dots` draws: for each model, all raters, then groups, the closest first."""
    return tidy(_dots(found, statistic, axis, max_rows)[1])


def alignment_dots(
    found: Alignment, statistic: str = "ada_met", axis: str | None = None, *, max_rows: int = MAX_ROWS
) -> Chart:
    """Draw how far each model is from all raters and from each group, with 95 % intervals, the closest first.

    Parameters
    ----------
    statistic
        The statistic to show; see :func:`alignment_heat`.
    max_rows
        Where not all groups fit, the closest and the farthest of each axis are shown; where these do not fit either,
        only all raters.
    """
    name = g.name_of(statistic)
    title = f"How {'close' if statistic in CLOSER else 'far'} each model is: {name}, with 95 % intervals"
    voices, data, which = _dots(found, statistic, axis, max_rows)
    drawn = defined(data, "value")
    if drawn.is_empty():
        return saying(title, "No model has a value: no rated item has a readable answer.")
    placed, labels, bold = _dot_rows(drawn, voices)
    rows = Rows([(ALL if at in bold else "", str(at)) for at in range(len(labels))], labels)
    width = rows.plot_width()
    x = across(with_unit(statistic), extent(placed["value"], [*placed["ci low"], *placed["ci high"]]), width)
    kinds = [ALL_RATERS, _GROUP] if (placed["of"] == _GROUP).any() else [ALL_RATERS]
    key = rows.legend(kinds, symbolOpacity=1) if len(kinds) > 1 else None
    look = looks("of", kinds, key, color=(INK, COLOURS[2]), shape=("circle", "square"))
    base = Chart.of(placed).encode(y=rows.y())
    tooltip = tips("who", "group", "axis", "value", "ci low", "ci high", "raters", "items", names={"value": name})
    layers = [
        base.mark("rule", strokeWidth=1.5, clip=True).encode(x=x("ci low"), x2="ci high", color=look["color"]),
        base.mark("point", filled=True, size=60, opacity=1).encode(x=x("value"), tooltip=tooltip, **look),
    ]
    chart = layer(*layers).properties(width=width, height=rows.height)
    text = voices.words() + which + ("Higher is closer. " if statistic in CLOSER else "Further left is closer. ")
    if drawn["ci low"].is_not_null().any():
        text += f"Line: 95 % interval from {found.settings['bootstrap']:,} bootstrap draws of items. "
    undefined = data.height - drawn.height
    text += f"{counted(undefined, 'value is', 'values are')} undefined and not drawn. " if undefined else ""
    return themed(chart, title, text + withheld_on(found, axes_of(found, axis)))


@once
def refusals_data(found: Alignment, subset: str = ALL, *, max_models: int | None = MAX_ROWS) -> pl.DataFrame:
    """Return what :func:`refusals` draws: how many rated items each model answered, refused and so on."""
    return tidy(_states(found, subset, max_models)[1])


def refusals(found: Alignment, subset: str = ALL, *, max_models: int | None = MAX_ROWS) -> Chart:
    """Draw the share of rated items that each model answered, refused, or left without a readable answer.

    Parameters
    ----------
    subset
        A part of the items, by default all.
    max_models
        If there are more models, those that answered least are shown.
    """
    where = "" if subset == ALL else f" on {shorten(subset)}"
    title = f"What models answer, and what they do not{where}"
    voices, data = _states(found, subset, max_models)
    rows = Rows.listed(voices.labels)
    used = [state for state in _STATES if state == "answered" or data.filter(state=state)["items"].sum()]
    data, ends = data.with_columns(row=pl.col("voice")), pl.col("share").cum_sum().over("voice")
    placed = data.filter(pl.col("state").is_in(used)).with_columns(start=ends - pl.col("share"), end=ends)
    whole = data.filter(state="answered")
    scored = [f"{n:,} of {rated:,}" for n, rated in whole.select("items", "rated items").iter_rows()]
    whole = whole.with_columns(scored=pl.Series(scored, dtype=pl.String))
    if defined(placed, "share").is_empty():
        return saying(title, "There are no rated items.")
    legend = rows.legend(used, symbolType="square")
    width = rows.plot_width(pixels(scored) - 14)
    bars = Chart.of(placed).mark("bar", height=12).encode(
        y=rows.y(),
        x=field("start:Q", title=titled("share of the rated items", width), scale={"domain": [0, 1]},
                axis={"format": "%", "tickCount": few(5, width)}),
        x2="end",
        color=field("state:N", legend=legend, sort=used,
                    scale={"domain": used, "range": [_STATES[state] for state in used]}),
        tooltip=tips("who", "state", "share", "items", "rated items", names={"share": "share of the rated items"}),
    )  # fmt: skip
    text = Chart.of(whole).mark("text", align="left", color=INK, fontSize=11)
    beside = text.encode(y=rows.y(), x={"value": width + 10}, text="scored:N")
    chart = layer(bars, beside).properties(width=width, height=rows.height)
    said = f"{voices.words('those that answered least')}Next to each bar: answered items out of all rated ones. "
    if {"refused", "unreadable"} & set(used):
        said += "Refused and unreadable answers cost the whole scale in ADA-Met; failed and missing ones cost nothing. "
    return themed(chart, title, said)


@once
def distance_histogram_data(found: Alignment, *, max_models: int | None = MAX_PANELS) -> pl.DataFrame:
    """Return what :func:`distance_histogram` draws: items by distance from the mode; null where no answer was given."""
    return tidy(_distances(found, Voices.of(found, max_models)))


def distance_histogram(found: Alignment, *, max_models: int | None = MAX_PANELS) -> Chart:
    """Draw how far each model's answers lie from the mode of all raters; of many models, those closest to them."""
    title = "How far answers lie from the mode of all raters"
    voices = Voices.of(found, max_models, length=22)
    data = _distances(found, voices)
    if data.is_empty():
        return saying(title, "No rated item has an answer.")
    top = max(len(found.settings["labels"]) - 1, 1)
    silent = top * 1.16 if top > 6 else top + 1.0
    grid = Grid.of(len(voices.labels), 100, most=4, each=42)
    size = max(1.0, min(16.0, 0.8 * grid.width / (2.0 * (silent + top * 0.1))))
    highest = 1.05 * max(data["share"])
    placed = data.with_columns(
        at=pl.col("distance").fill_null(silent),
        what=pl.col("distance").is_null().replace_strict({True: "no answer", False: "an answer"}),
    )
    none = "none" if grid.width > 130 else "–"
    words = f"datum.value > {top} ? '{none}' : format(datum.value, 'd')"
    marks = [*(range(top + 1) if top <= 6 else range(0, top + 1, -(-top // 5))), silent]
    x_axis = {"values": marks, "labelExpr": words, "grid": False, "labelOverlap": False}
    colour = {"condition": {"test": "datum.what == 'no answer'", "value": HIGH_HUE}, "value": COLOURS[0]}
    panels = []
    for at, label in enumerate(voices.labels):
        own = placed.filter(voice=at)
        x = field("at:Q", title="points from the mode", axis=x_axis,
                  scale={"domain": [-0.06 * silent, silent * 1.06], "nice": False})  # fmt: skip
        y = field("share:Q", title="share of items" if grid.starts(at) else None,
                  scale={"domain": [0, highest], "nice": False}, axis={"format": "%", "tickCount": 4})  # fmt: skip
        tooltip = tips("who", "what", "distance", "share", "items", form="~g", names=_FAR)
        bars = Chart.of(own).mark("bar", size=size).encode(x=x, y=y, color=colour, tooltip=tooltip)
        panels.append(panel(bars, label, at, grid.width, 110, color=INK))
    text = voices.words() + "Orange: no answer (refused or unreadable). Halves come from ties of two modes. "
    return themed(grid.lines(panels), title, text)


def _dots(found: Alignment, statistic: str, axis: str | None, max_rows: int) -> tuple[Voices, pl.DataFrame, str]:
    """Return the models, their rows in order, and a sentence on groups left out."""
    frame = values_of(found, statistic, axis).filter(~pl.col("reference") | (pl.col("axis") == ALL))
    voices = Voices.of(found, max_rows, statistic).with_references(found, statistic)
    descending = statistic in CLOSER
    value = pl.col("value").fill_nan(None)
    frame = voices.place(frame).sort(
        pl.col("voice"), pl.col("axis") != ALL, value, descending=[False, False, descending], nulls_last=True,
        maintain_order=True,
    )  # fmt: skip
    if frame.height <= max_rows:
        return voices, frame, ""
    known = frame.with_columns(value).filter(pl.col("value").is_not_null() | (pl.col("axis") == ALL))
    first, last = pl.int_range(pl.len()) == 0, pl.int_range(pl.len(), 0, -1) == 1
    outer = known.filter((first | last).over("voice", "axis"))
    if outer.height <= max_rows:
        return voices, outer, "Only the closest and the farthest group of each axis are shown. "
    return voices, frame.filter(pl.col("axis") == ALL), "Groups do not fit; the heat map shows them. "


def _dot_rows(drawn: pl.DataFrame, voices: Voices) -> tuple[pl.DataFrame, list[str], list[int]]:
    """Return the frame with rows of the chart, their labels, and which rows are for all raters, in bold."""
    several = drawn.filter(pl.col("axis") != ALL)["axis"].n_unique() > 1
    names: list[str] = []
    bold: list[int] = []
    for at, (voice, axis, group) in enumerate(drawn.select("voice", "axis", "group").iter_rows()):
        if axis == ALL:
            bold.append(at)
            names.append(voices.labels[voice])
        elif not several or CROSS in axis:  # the names of groups of a crossing contain their attributes' values
            names.append(shorten(group, fitting()))
        else:
            names.append(f"{shorten(group, fitting(22))} ({shorten(axis, fitting(12))})")
    placed = drawn.with_columns(
        row=pl.int_range(pl.len()), of=pl.when(pl.col("axis") == ALL).then(pl.lit(ALL_RATERS)).otherwise(pl.lit(_GROUP))
    )
    return placed, names, bold


def _states(found: Alignment, subset: str, max_models: int | None) -> tuple[Voices, pl.DataFrame]:
    accounts = found.accounts()
    g.known("subset", subset, accounts["subset"].unique(maintain_order=True))
    own = accounts.filter(pl.col("subset") == subset).sort("answered", "model", "prompt")
    voices = Voices.listed([Voice(*pair) for pair in own.select("model", "prompt").iter_rows()], max_models)
    long = own.unpivot(list(_STATES), index=["model", "prompt", "n_items"], variable_name="state", value_name="items")
    long = long.with_columns(share=pl.col("items") / pl.col("n_items")).rename({"n_items": "rated items"})
    return voices, voices.place(long.select("model", "prompt", "state", "items", "rated items", "share"))


def _distances(found: Alignment, voices: Voices) -> pl.DataFrame:
    counted = found.distances().rename({"n_items": "items"})
    share = pl.col("items") / pl.col("items").sum().over("model", "prompt")
    return voices.place(counted.with_columns(share=share))
