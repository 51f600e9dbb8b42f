"""Calibration of predicted rating distributions."""

from __future__ import annotations

import polars as pl

from plurivox.lenses.soft.result import SoftScores
from plurivox.plots.layout import model_labels, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import Grid, legend, looks, panel, tips
from plurivox.plots.theme import COLOURS, GRID, QUIET, SEQUENCE, blend, saying, themed
from plurivox.plots.vega import Chart, field, layer

_MODELS = 6
_THRESHOLDS = 6
_FEWEST = 5
_PIT = {"from": "PIT from", "share": "share of ratings"}
_KEPT = {"at least": "rating of at least"}


@once
def pit_histograms_data(result: SoftScores) -> pl.DataFrame:
    """Return what :func:`pit_histograms` draws: the share of PITs in each bar, with its interval."""
    names = {"low": "from", "high": "to", "ci_low": "ci low", "ci_high": "ci high"}
    return result.pit().filter(pl.col("model").is_in(_shown(result))).rename(names)


def pit_histograms(result: SoftScores) -> Chart:
    """Draw where in their predicted distribution ratings fall; all bars are equal if predictions are right."""
    title = "Where ratings fall in their predicted distribution"
    data = pit_histograms_data(result)
    if data.is_empty():
        return saying(title, "No item has a rating.")
    labels = dict(zip(_shown(result), model_labels(_shown(result), 24), strict=True))
    n_bars = data.filter(model=data["model"][0]).height
    top = max(0.2, 1.05 * max(data["ci high"]))
    grid = Grid.of(len(labels), 100, most=3, each=44)
    panels = []
    for at, (model, label) in enumerate(labels.items()):
        base = Chart.of(data.filter(model=model))
        y = field("share:Q", title="share of ratings" if grid.starts(at) else None,
                  scale={"domain": [0, top], "nice": False}, axis={"format": "%", "tickCount": 4})  # fmt: skip
        x = field("from:Q", title="PIT", scale={"domain": [0, 1]}, axis={"tickCount": 3})
        middle = field("middle:Q")
        bars = base.mark("bar", color=COLOURS[0], opacity=0.75, stroke=GRID, strokeWidth=1)
        halfway = [{"calculate": "(datum.from + datum.to) / 2", "as": "middle"}]
        ends = base.properties(transform=halfway).mark("rule", strokeWidth=1.5, color=QUIET)
        fair = Chart.of([{"fair": 1 / n_bars}]).mark("rule", color=QUIET, strokeDash=[4, 3])
        layers = [
            bars.encode(
                x=x,
                x2="to",
                y=y,
                y2={"datum": 0},
                tooltip=tips("model", "from", "to", "share", "ci low", "ci high", form=".2f", names=_PIT),
            ),
            ends.encode(x=middle, y="ci low:Q", y2="ci high"),
            fair.encode(y="fair:Q"),
        ]
        panels.append(panel(layer(*layers), label, at, grid.width, 130))
    text = _words(result) + (
        "Dashed: ideal. High at both ends: too sure. High in the middle: too vague. Higher to the right: "
        "ratings are higher than predicted. Vertical lines: 95 % intervals over items. "
    )
    return themed(grid.lines(panels), title, text)


@once
def reliability_curves_data(result: SoftScores) -> pl.DataFrame:
    """Return what :func:`reliability_curves` draws: predicted and observed shares of ratings at or above a point."""
    points = result.settings["points"][1:]
    step = -(-len(points) // _THRESHOLDS)
    names = {"threshold": "at least", "low": "from", "high": "to", "ci_low": "ci low", "ci_high": "ci high",
             "n_items": "items", "n_ratings": "ratings"}  # fmt: skip
    frame = result.reliability().filter(
        pl.col("model").is_in(_shown(result)), pl.col("threshold").is_in(points[:: max(step, 1)])
    )
    return frame.rename(names)


def reliability_curves(result: SoftScores) -> Chart:
    """Draw how often ratings reach a point, by the probability that was predicted for it."""
    title = "Do predicted probabilities come true?"
    data = reliability_curves_data(result)
    if data.is_empty():
        return saying(title, "No item has a rating.")
    thresholds = data["at least"].unique(maintain_order=True).to_list()
    known = dict(zip(thresholds, unique_labels(thresholds, 18), strict=True))
    labels = dict(zip(_shown(result), model_labels(_shown(result), 24), strict=True))
    placed = data.with_columns(label=pl.col("at least").replace_strict(known)).filter(pl.col("items") >= _FEWEST)
    spread = [at / max(len(thresholds) - 1, 1) for at in range(len(thresholds))]
    colours = [blend(SEQUENCE[1], SEQUENCE[3], share) for share in spread]
    dashes = [[1, 0], [6, 2], [3, 2], [1, 2], [8, 2, 1, 2], [4, 4]]
    names = list(known.values())
    key = legend(names, title="rating of at least", symbolType="stroke")
    look = looks("label", names, key, color=colours, strokeDash=dashes)
    grid = Grid.of(len(labels), 100, most=3, each=44)
    panels = []
    for at, (model, label) in enumerate(labels.items()):
        base = Chart.of(placed.filter(model=model)).encode(
            x=field("predicted:Q", title="predicted", scale={"domain": [0, 1]}, axis={"tickCount": 3}),
            color=look["color"],
        )
        y = field("observed:Q", title="observed" if grid.starts(at) else None, scale={"domain": [0, 1]})
        line = Chart.of([{"at": 0.0}, {"at": 1.0}]).mark("line", color=QUIET, strokeWidth=1)
        told = tips("model", "at least", "predicted", "observed", "ci low", "ci high", "items", form=".2f", names=_KEPT)
        layers = [
            line.encode(x="at:Q", y="at:Q"),
            base.mark("rule", strokeWidth=1, opacity=0.35).encode(y="ci low:Q", y2="ci high"),
            base.mark("line", strokeWidth=1.8).encode(y=y, strokeDash=look["strokeDash"]),
            base.mark("point", filled=True, size=25, opacity=1).encode(y=y, tooltip=told),
        ]
        panels.append(panel(layer(*layers), label, at, grid.width, min(grid.width, 240)))
    text = _words(result) + (
        "On the straight line, what was predicted happens. Flatter: too sure; steeper: too vague. Vertical "
        f"lines: 95 % intervals, counting items. Dots of fewer than {_FEWEST} items are not drawn. "
    )
    return themed(grid.lines(panels), title, text)


def _shown(result: SoftScores) -> list[str]:
    known = set(result.calibration()["model"])
    return [name for name in result.ranking(result.main) if name in known][:_MODELS]


def _words(result: SoftScores) -> str:
    shown, total = len(_shown(result)), len(result.models)
    return f"The best {shown} of {total} models. " if shown < total else ""
