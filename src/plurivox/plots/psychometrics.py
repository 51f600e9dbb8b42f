"""What a graded response model says: the severity of items, and the score to expect at each severity."""

from __future__ import annotations

import polars as pl

from plurivox.domain.poles import Poles
from plurivox.lenses.psychometrics.result import Psychometrics
from plurivox.plots import groups as g
from plurivox.plots.layout import Rows, defined, extent, shorten, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import across, few, legend, looks, tips, titled
from plurivox.plots.texts import Texts, cut, item_labels, told_of, with_texts
from plurivox.plots.theme import COLOURS, QUIET, full_width, saying, themed
from plurivox.plots.vega import Chart, field, layer

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
    tooltip = tips(
        *told_of(placed),
        "severity",
        "ci low",
        "ci high",
        "scores",
        form=".2f",
        names={"severity": poles.fill("how {how}")},
    )
    layers = [
        base.mark("rule", strokeWidth=2, color=COLOURS[0]).encode(x=x("ci low"), x2="ci high"),
        base.mark("point", filled=True, size=60, opacity=1, color=COLOURS[0]).encode(x=x("severity"), tooltip=tooltip),
    ]
    chosen = _axis(result, axis)
    total = defined(result.severity().filter((pl.col("axis") == chosen) & (pl.col("subset") == "all")), "severity")
    ends = f"The {n} items at the {poles.high} end and the {n} at the {poles.low} end, of {total.height:,}. "
    shown = ends if total.height > 2 * n else ""
    who = "raters" if g.names_raters(chosen) else f"groups of {shorten(chosen)}"
    chart = layer(*layers).properties(width=width, height=rows.height)
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
