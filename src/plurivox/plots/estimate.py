"""Estimates from few human ratings and many model answers: both together, humans alone and models alone."""

from __future__ import annotations

from typing import Any

import polars as pl

from plurivox.base.wording import resampled, withheld_words
from plurivox.domain.answers import Voice
from plurivox.infer.result import Row
from plurivox.lenses.alignment.matching import ALL
from plurivox.lenses.estimate.measuring import TOGETHER
from plurivox.lenses.estimate.result import Estimate
from plurivox.lenses.estimate.settings import MEAN
from plurivox.lenses.estimate.words import voices_shown
from plurivox.plots import groups as g
from plurivox.plots.layout import ALL_RATERS, Rows, defined, extent, model_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import across, each_value
from plurivox.plots.theme import COLOURS, QUIET, saying, themed

JUDGES = "judge"
_VALUES = {"estimate": "together", "estimate_humans": "humans", "estimate_model": "model"}
_SCHEMA = {
    "axis": pl.String, "group": pl.String,
    **{f"{name}{end}": pl.Float64 for name in _VALUES.values() for end in ("", " low", " high")},
    "λ": pl.Float64, "worth": pl.Float64, "raters": pl.Int64, "rated items": pl.Int64, "further items": pl.Int64,
    "note": pl.String,
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
    return pl.DataFrame([_cells(key, found[key]) for key in order[:max_groups]], schema=_SCHEMA, orient="row")


def _cells(key: tuple[str, str], rows: dict[str, Row]) -> tuple[Any, ...]:
    ends = [end for name in _VALUES for end in (rows[name].value, rows[name].ci_low, rows[name].ci_high)]
    both, humans = rows["estimate"], rows["estimate_humans"]
    lam = rows["ppi_lambda"].value if "ppi_lambda" in rows else None
    return (*key, *ends, lam, rows["ppi_worth"].value, humans.n_raters, humans.n_items, both.n_items - humans.n_items,
            both.note)  # fmt: skip


def estimate_forest(
    result: Estimate, of: str | None = None, *, axis: str | None = None, max_groups: int | None = 40
) -> Any:
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
    text = (
        f"Line: 95 % interval over {resampled(result.settings)}, for {'models' if several else 'the model'} alone over "
    )
    text += "items. "
    text += "Groups and parts of the items use all judges together. " if several and drawn.height > 1 else ""
    missing = data.height - drawn.height
    text += f"{missing} cannot be estimated. " if missing else ""
    n, revealing = sum(result.withheld.values()), sum(result.revealing.values())
    return text + withheld_words(n, revealing, result.settings["min_group_size"])
