"""Models in place of raters: the card of a judge, and estimates from few human ratings and many answers of models."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import polars as pl

from plurivox.base.wording import counted, listed, named, resampled, withheld_words
from plurivox.domain.answers import Voice
from plurivox.infer.result import Row
from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.estimate import MEAN
from plurivox.lenses.estimate.measuring import TOGETHER
from plurivox.lenses.estimate.result import Estimate, voices_shown
from plurivox.lenses.judge.result import JudgeCard
from plurivox.lenses.judge.settings import OF
from plurivox.lenses.judge.verdicts import KINDS, MEANING
from plurivox.plots import groups as g
from plurivox.plots.layout import (
    ALL_RATERS,
    Rows,
    defined,
    extent,
    legend_columns,
    model_labels,
    shorten,
    unique_labels,
)
from plurivox.plots.pieces import across, each_value, looks, once, tips, vertical
from plurivox.plots.theme import COLOURS, GRID, INK, LINE, QUIET, full_width, lines, saying, themed
from plurivox.plots.vega import Chart, layer, vconcat

SHARES = ("agreement", "omega", "advantage", "consistency", "answered", "position_bias")
"""What the first panel holds, from 0 to 1."""
MOST_BIASES = 16
"""The most rows of bias; of more, the largest are shown."""
MOST_CARDS = 6
JUDGE, RATERS, CONSTANT, DRAWN = "this model", "two raters", "best constant", "draw from votes"
_LOOKS = {
    JUDGE: (COLOURS[0], "circle"), RATERS: (COLOURS[4], "diamond"), CONSTANT: (QUIET, "square"),
    DRAWN: (QUIET, "triangle-up"),
}  # fmt: skip
_BESIDE = {"humans": RATERS, "constant": CONSTANT, "marginal": DRAWN}
_TOLD = {"what": "quantity", "of": "for", "value": "amount"}
_NUMBER = 48  # pixels of the column of values
_LABEL = 32
_MARKS = {
    **g.texts("model", "prompt", "panel", "what", "of"), **g.numbers("value", "ci low", "ci high"),
    **g.counts("items"), **g.texts("certain", "note"),
}  # fmt: skip


@once
def judge_card_data(found: JudgeCard, model: str | None = None) -> pl.DataFrame:
    """Return what :func:`judge_card` draws: each quantity of the model, and what it is compared with.

    For bias, ``two raters`` spans nine in ten raters, and has no value.
    """
    voices = _voices(found, model)[:MOST_CARDS]
    rows = [row for voice in voices for row in (*_shares(found, voice), *_points(found, voice))]
    frame = pl.DataFrame(rows, schema=_MARKS, orient="row")
    return frame if (frame["prompt"] != "").any() else frame.drop("prompt")


def judge_card(found: JudgeCard, model: str | None = None) -> Chart:
    """Draw the card of a model: a point and an interval for each quantity, with what it is compared with.

    Parameters
    ----------
    model
        The model to draw; without one, all of them one below another, six at most.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=60, n_raters=40, seed=1)
    >>> chart = judge_card(pv.judge(study.ratings, study.answers), "model-a")
    >>> chart.to_dict()["title"]["text"].startswith("model-a can ")
    True
    """
    voices = _voices(found, model)
    shown = voices[:MOST_CARDS]
    cards = [(_shares(found, voice), _points(found, voice)) for voice in shown]
    names = [[mark[3] for mark in marks] for card in cards for marks in card]
    width = min(Rows.listed(unique_labels(dict.fromkeys(own), _LABEL)).plot_width(_NUMBER) for own in names)
    panels: list[Chart] = []
    for at, (voice, (shares, points)) in enumerate(zip(shown, cards, strict=True)):
        heading = f"{voice} {MEANING[found.verdict(voice).kind]}" if len(voices) > 1 else ""
        panels += [_panel(shares, "share or coefficient", width, heading, key=at == 0),
                   _panel(points, "points of the scale", width)]  # fmt: skip
    chart = vconcat(*panels, spacing=14).properties(resolve={"scale": {"color": "independent", "shape": "independent"}})
    words = (
        "ω: share of raters it holds its own against; ρ: share of items it wins or ties against one. Line: 95 % "
        f"interval over {resampled(found.settings)}, where there is one. Grey strip: how far nine in ten raters are "
        "off from the others. * certainly off, ** also farther than single raters, after correction. "
    )
    left = f"{len(shown)} of {len(voices)} models shown. " if len(shown) < len(voices) else ""
    kinds = Counter(found.verdict(voice).kind for voice in voices)
    title = f"Of {counted(len(voices), 'model')} as judges: {listed([f'{kinds[k]} {k}' for k in KINDS if kinds[k]])}"
    if len(voices) == 1:
        title = f"{voices[0]} {MEANING[found.verdict(voices[0]).kind]}"
    return themed(chart, title, left + words)


def _voices(found: JudgeCard, model: str | None) -> list[Voice]:
    """Return the models to draw."""
    g.known("model", model, (None, *dict.fromkeys(voice.model for voice in found.voices)))
    return [voice for voice in found.voices if model in (None, voice.model)]


Mark = tuple[Any, ...]
"""A row of :data:`_MARKS`."""


def _shares(found: JudgeCard, voice: Voice) -> list[Mark]:
    """Return the marks of the first panel."""
    return [mark for name in SHARES for mark in _of(found, voice, name, "share")]


def _of(found: JudgeCard, voice: Voice, name: str, panel: str) -> list[Mark]:
    """Return a quantity of a model, then what it is compared with."""
    one = found.cell(voice.model, name, prompt=voice.prompt)
    label = OF[name].label
    own = (*voice, panel, label, JUDGE, one["value"], one["ci_low"], one["ci_high"], one["scored"], "", one["note"])
    beside = [
        (*voice, panel, label, of, one[column], None, None, None, "", "")
        for column, of in _BESIDE.items()
        if one[column] is not None and not math.isnan(one[column]) and not math.isnan(one["value"])
    ]
    return [*beside, own]


def _points(found: JudgeCard, voice: Voice) -> list[Mark]:
    """Return the marks of the second panel: distance, and bias for all raters, groups, and parts of the items."""
    frame = found.biases().filter(model=voice.model, prompt=voice.prompt)
    if frame.height > MOST_BIASES:
        whole = (pl.col("axis") == "all") & (pl.col("subset") == "all")
        largest = frame.filter(~whole).sort(pl.col("value").abs(), descending=True).head(MOST_BIASES - 1)
        frame = pl.concat([frame.filter(whole), largest])
    marks = _of(found, voice, "distance", "points")
    for one in frame.iter_rows(named=True):
        label = "bias" if one["axis"] == "all" else f"bias, {named(one['axis'], one['group'])}"
        if one["subset"] != "all":
            label = f"bias, {named(found.settings['subset'], one['subset'])}"
        if one["humans_low"] is not None:
            marks.append((*voice, "points", label, RATERS, None, one["humans_low"], one["humans_high"], None, "", ""))
        certain = "**" if one["biased"] else "*" if one["shifted"] else ""
        ends = (one["ci_low"], one["ci_high"], one["n_items"], certain, one["note"])
        marks.append((*voice, "points", label, JUDGE, one["value"], *ends))
    return marks


# Drawing -------------------------------------------------------------------------------------------------------------


def _panel(marks: list[Mark], title: str, width: int, heading: str = "", *, key: bool = False) -> Chart:
    """Draw marks: comparisons as single points, the model on top with its interval, and its value next to it."""
    rows, frame, x = _laid(marks, title, width)
    kinds = [kind for kind in _LOOKS if frame.filter(pl.col("of") == kind)["value"].is_not_null().any()]
    legend = rows.legend(kinds, symbolOpacity=1) if key and len(kinds) > 1 else None
    colours, shapes = ([_LOOKS[kind][at] for kind in kinds] for at in (0, 1))
    look = looks("of", kinds, legend, color=colours, shape=shapes)
    base = Chart.of(frame).encode(y=rows.y())
    judge = base.filter(f"(datum.of === {JUDGE!r})")
    strips = base.filter(f"((datum.of === {RATERS!r}) && (datum.value === null))")
    told = tips("model", "what", "of", "value", "ci low", "ci high", "items", names=_TOLD)
    line = judge.mark("rule", strokeWidth=2.5, strokeCap="round", clip=True, color=COLOURS[0])
    others = base.filter(f"(datum.of !== {JUDGE!r})").mark("point", filled=True, size=70, opacity=1)
    known = judge.filter("(datum.why === '')").mark("rule", color=GRID, strokeWidth=1)
    layers = [
        known.encode(x={"value": 0}, x2={"value": width}),
        strips.mark("bar", color=QUIET, opacity=0.22, height=10, clip=True).encode(x=x("ci low"), x2="ci high"),
        vertical(0.0, x, LINE),
        line.encode(x=x("ci low"), x2="ci high"),
        others.encode(x=x("value"), tooltip=told, **look),
        judge.mark("point", filled=True, size=90, opacity=1).encode(x=x("value"), tooltip=told, **look),
        judge.mark("text", align="left", fontSize=12, color=INK).encode(x={"value": width + 8}, text="shown:N"),
        judge.mark("text", align="left", fontSize=11, color=QUIET).encode(x={"value": 4}, text="why:N"),
    ]
    chart = layer(*layers).properties(width=width, height={"step": 22})
    if not heading:
        return chart
    above = 14 + 16 * -(-len(kinds) // legend_columns(kinds)) if key else 8
    said = lines(heading, full_width() - 50, 12, bold=True)
    look = {"text": said, "fontSize": 12, "anchor": "start", "frame": "bounds", "color": INK, "offset": above}
    return chart.properties(title=look)


def _laid(marks: list[Mark], title: str, width: int) -> tuple[Rows, pl.DataFrame, Any]:
    """Return the rows, the marks in their rows with the text next to them, and the encoding from left to right."""
    frame = pl.DataFrame(marks, schema=_MARKS, orient="row").with_columns(pl.col("value").fill_nan(None))
    names = list(dict.fromkeys(frame["what"]))
    whole = [1.0] if frame["panel"][0] == "share" else []
    ends = extent([0.0, *frame["value"], *whole], [*frame["ci low"], *frame["ci high"]])
    shown, why = [], []
    for what, of, value, certain, note in frame.select("what", "of", "value", "certain", "note").iter_rows():
        signed = f"{value or 0.0:+.2f}".replace("-", "−") if what.startswith("bias") else f"{value or 0.0:.2f}"
        shown.append("" if value is None or of != JUDGE else f"{signed}{certain}")
        why.append(shorten(f"unknown: {note}", width // 6) if value is None and of == JUDGE else "")
    placed = frame.with_columns(
        pl.Series("shown", shown, dtype=pl.String), pl.Series("why", why, dtype=pl.String),
        row=pl.col("what").replace_strict(names, range(len(names)), return_dtype=pl.Int64),
    )  # fmt: skip
    return Rows.listed(unique_labels(names, _LABEL)), placed, across(title, ends, width)


JUDGES = "judge"
_VALUES = {"estimate": "together", "estimate_humans": "humans", "estimate_model": "model"}
_ESTIMATES = {
    **g.texts("axis", "group"),
    **g.numbers(*(f"{name}{end}" for name in _VALUES.values() for end in ("", " low", " high")), "λ", "worth"),
    **g.counts("raters", "rated items", "further items"), **g.texts("note"),
}  # fmt: skip


@once
def estimate_forest_data(
    result: Estimate, of: str | None = None, *, axis: str | None = None, max_groups: int | None = 40
) -> pl.DataFrame:
    """Return what :func:`estimate_forest` draws: all raters, each judge, each part of the items, each group."""
    of = result.of[0] if of is None else of
    g.known("of", of, result.of)
    g.known("axis", axis, (None, *result.axes))
    main = result.voices[0] if len(result.voices) == 1 else Voice(TOGETHER, "")
    found: dict[tuple[str, str], dict[str, Row]] = {}
    labels = dict(zip(voices_shown(result), model_labels([str(one) for one in voices_shown(result)]), strict=True))
    for row in result.rows:
        voice = Voice(row.model, row.prompt)
        if row.other != of or (row.axis != ALL and axis not in (None, row.axis)) or g.names_raters(row.axis):
            continue
        if (row.axis, row.subset) == (ALL, ALL):
            place = (ALL, ALL_RATERS) if voice == main else (JUDGES, labels[voice])
            found.setdefault(place, {})[row.statistic] = row
        elif voice == main:
            place = (row.axis, row.group) if row.subset == ALL else (result.settings["subset"], row.subset)
            found.setdefault(place, {})[row.statistic] = row
    order = sorted(found, key=lambda key: (key[0] != ALL, key[0] != JUDGES))
    return pl.DataFrame([_cells(key, found[key]) for key in order[:max_groups]], schema=_ESTIMATES, orient="row")


def _cells(key: tuple[str, str], rows: dict[str, Row]) -> tuple[Any, ...]:
    ends = [end for name in _VALUES for end in (rows[name].value, rows[name].ci_low, rows[name].ci_high)]
    both, humans = rows["estimate"], rows["estimate_humans"]
    lam = rows["ppi_lambda"].value if "ppi_lambda" in rows else None
    return (*key, *ends, lam, rows["ppi_worth"].value, humans.n_raters, humans.n_items, both.n_items - humans.n_items,
            both.note)  # fmt: skip


def estimate_forest(
    result: Estimate, of: str | None = None, *, axis: str | None = None, max_groups: int | None = 40
) -> Chart:
    """Draw humans alone, humans and model together, and the model alone: for all raters, judges, parts and groups.

    Parameters
    ----------
    of
        What was estimated, by default the first; ``result.of`` lists all.
    max_groups
        The most rows to draw.

    Examples
    --------
    >>> import plurivox as pv
    >>> study = pv.simulate(n_items=200, n_raters=40, n_rated=40, seed=1)
    >>> chart = estimate_forest(pv.estimate(study.ratings, study.answers, "age"))
    >>> chart.to_dict()["title"]["text"]
    'The mean score over all items, from human ratings of some'
    """
    of = result.of[0] if of is None else of
    data = estimate_forest_data(result, of, axis=axis, max_groups=max_groups)
    what = "mean score" if of == MEAN else of
    title = f"The {what} over all items, from human ratings of some"
    drawn = defined(data, "together")
    if drawn.is_empty():
        return saying(title, f"It cannot be estimated: {data['note'][0] if data.height else 'there are no ratings'}.")
    several = len(result.voices) > 1
    names = {
        "humans": "humans alone", "together": f"humans and {'models' if several else 'the model'} together",
        "model": f"{'models' if several else 'the model'} alone",
    }  # fmt: skip
    rows = Rows.of(drawn.select("axis", "group").iter_rows())
    ends = [value for name in names for end in ("", " low", " high") for value in drawn[f"{name}{end}"]]
    x = across(what, extent(ends), rows.plot_width(), 7)
    colours, shapes = (QUIET, COLOURS[0], COLOURS[1]), ("square", "circle", "triangle-up")
    chart = each_value(rows.place(drawn), rows, names, x, [], color=colours, shape=shapes)
    return themed(chart, title, _words(result, data, drawn, several=several))


def _words(result: Estimate, data: pl.DataFrame, drawn: pl.DataFrame, *, several: bool) -> str:
    """Say what lines are, and what is left out."""
    text = f"Line: 95 % interval over {resampled(result.settings)}, for {'models' if several else 'the model'} "
    text += "alone over items. "
    text += "Groups and parts of the items use all judges together. " if several and drawn.height > 1 else ""
    missing = data.height - drawn.height
    text += f"{missing} cannot be estimated. " if missing else ""
    n, revealing = sum(result.withheld.values()), sum(result.revealing.values())
    return text + withheld_words(n, revealing, result.settings["min_group_size"])
