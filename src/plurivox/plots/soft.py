"""Predicted rating distributions: ranking, few and many ratings, strength of the prior, calibration."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from plurivox.lenses.soft.matching import MARGINAL, POSTERIOR_MEAN, REFERENCES, UNIFORM
from plurivox.lenses.soft.result import SoftScores
from plurivox.lenses.soft.sums import ALL
from plurivox.plots import groups as g
from plurivox.plots.layout import Rows, defined, extent, model_labels, row_axis, shorten, unique_labels
from plurivox.plots.pieces import Grid, few, legend, looks, once, panel, tips
from plurivox.plots.theme import COLOURS, GRID, QUIET, SEQUENCE, SHAPES, blend, saying, themed
from plurivox.plots.vega import Chart, Spec, field, layer, vconcat
from plurivox.statistics.registry import LABELS
from plurivox.statistics.soft_blocks import EMPIRICAL

DRAWN = ("rps", "cross_entropy", "js", "emd", "expected_rps", "expected_cross_entropy", "expected_js", "expected_emd")
"""The leading metric first. KL is left out: it differs between two predictions by as much as cross-entropy does."""
_EXPECTED = DRAWN[4:]
_DASHES = {UNIFORM: [1, 3], MARGINAL: [5, 3], POSTERIOR_MEAN: [8, 3, 1, 3]}
_LABEL = 22
_STRENGTHS = (0.01, 0.1, 1.0, 10.0, 100.0)  # prior strengths with a number on the axis and a dot
_GAP = 28
_FAR = 4


@once
def soft_ranking_data(result: SoftScores, bin: str = ALL) -> pl.DataFrame:  # noqa: A002
    """Return what :func:`soft_ranking` draws: every score with its interval, the best model first."""
    order = [*_chosen(result, bin), *REFERENCES]
    frame = result.to_frame().filter(axis=ALL, group=ALL, subset=ALL, bin=bin)
    place = pl.col("model").replace_strict(order, range(len(order)), default=None, return_dtype=pl.Int64)
    frame = frame.with_columns(place=place, kind=pl.col("statistic").is_in(EMPIRICAL).replace_strict(_KINDS))
    return frame.filter(pl.col("place").is_not_null()).sort("place", maintain_order=True).select(
        "model", "kind", metric=pl.col("statistic").replace_strict(LABELS), score="value", **{"ci low": "ci_low",
        "ci high": "ci_high"}, rank="rank", items="n_items", ratings="n_ratings", note="note",
    )  # fmt: skip


def soft_ranking(result: SoftScores, bin: str = ALL) -> Chart:  # noqa: A002
    """Draw how good each model is by every metric, with 95 % intervals, and predictions for comparison.

    ``bin`` selects items by their number of ratings, all by default.
    """
    title = "How good predictions are, by each metric"
    drawn = defined(soft_ranking_data(result, bin), "score")
    if drawn.is_empty():
        return saying(title, "No score is defined or finite.")
    models = drawn["model"].unique(maintain_order=True).to_list()
    rows = Rows([("", name) for name in models], model_labels(models))
    placed = rows.place(drawn.with_columns(axis=pl.lit(""), group=pl.col("model")))
    known = placed["metric"].to_list()
    columns = [LABELS[name] for name in DRAWN[:4] if LABELS[name] in known or f"E[{LABELS[name]}]" in known]
    grid = Grid.of(len(columns), 80, gap=16, first=rows.width + 16)
    lines = []
    for kind, form in (("empirical", "{}"), ("expected", "E[{}]")):
        names = [form.format(name) for name in columns if form.format(name) in known]
        panels = []
        for at, name in enumerate(names):
            part = _scores(placed.filter(metric=name), name, rows, grid.width, labels=grid.starts(at))
            panels.append(part.properties(width=grid.width, height=rows.height, name=f"{kind}_{at}"))
        if panels:
            lines.append(grid.lines(panels, 14))
    return themed(vconcat(*lines, spacing=14), title, _ranking_words(result, bin, drawn))


def _scores(placed: pl.DataFrame, name: str, rows: Rows, width: int, *, labels: bool) -> Chart:
    axis_scale = _scale(name, placed["score"], [*placed["ci low"], *placed["ci high"]])
    model = f"indexof({list(REFERENCES)!r}, datum.model) < 0"

    def x(column: str) -> Spec:
        return field(f"{column}:Q", title=name, scale=axis_scale, axis={"tickCount": few(3, width), "format": "~g"})

    base = Chart.of(placed).encode(y=rows.y(labels=labels))
    colour = {"condition": {"test": model, "value": COLOURS[0]}, "value": QUIET}
    tooltip = tips("model", "score", "ci low", "ci high", "items", names={"score": name})
    return layer(
        base.mark("rule", strokeWidth=1.5, clip=True).encode(x=x("ci low"), x2="ci high", color=colour),
        base.mark("point", filled=True, size=60, opacity=1).encode(
            x=x("score"), color=colour, tooltip=tooltip,
            shape={"condition": {"test": model, "value": "circle"}, "value": "square"},
        ),
    )  # fmt: skip


def _ranking_words(result: SoftScores, bin_: str, drawn: pl.DataFrame) -> str:
    text = _shown_words(result, drawn["model"].unique().to_list())
    text += "" if bin_ == ALL else f"Items with {bin_} ratings. "
    circles = f"Circles: models, the lowest {LABELS[result.main]} at the top"
    text += f"Further left is better. {circles}; squares: predictions for comparison. "
    if drawn["ci low"].is_not_null().any():
        text += f"Line: 95 % interval from {result.settings['bootstrap']:,} bootstrap draws of items. "
    endless = sorted({row.model for row in result.rows if row.value == float("inf") and row.subset == bin_})
    if endless:
        text += f"Infinite scores of {', '.join(map(shorten, endless[:3]))} are not drawn. "
    return text


@once
def soft_by_bin_data(result: SoftScores) -> pl.DataFrame:
    """Return what :func:`soft_by_bin` draws: every score by the number of ratings that items have."""
    shown = [*_chosen(result, ALL), *REFERENCES]
    known = pl.col("bin").is_in(result.bins), pl.col("model").is_in(shown)
    frame = result.to_frame().filter(*known, axis=ALL)
    weight = result.prior_weight().select("bin", **{"share of prior": "prior_share"})
    place = {name: at for at, name in enumerate(result.bins)}
    return frame.join(weight, on="bin", how="left", maintain_order="left").select(
        "model", pl.col("bin").alias("ratings of an item"), pl.col("bin").replace_strict(place).alias("position"),
        metric=pl.col("statistic").replace_strict(LABELS), score="value",
        **{"ci low": "ci_low", "ci high": "ci_high", "share of prior": "share of prior"}, items="n_items",
    )  # fmt: skip


def soft_by_bin(result: SoftScores) -> Chart:
    """Draw the leading score, CE and expected scores by the number of ratings of items, a line per model."""
    title = "With few ratings and with many"
    if len(result.bins) < 2:
        return saying(title, "All items have about the same number of ratings.")
    data = soft_by_bin_data(result)
    drawn = defined(data, "score")
    wanted = dict.fromkeys((result.main, "cross_entropy", *_EXPECTED[1:]))
    names = [LABELS[name] for name in wanted if LABELS[name] in drawn["metric"].to_list()]
    if not names:
        return saying(title, "No score is defined.")
    labels = unique_labels(result.bins, 10)
    axis = row_axis(labels, title="ratings of an item", domain=True, ticks=True, labelAngle=0)
    x = field("position:O", axis=axis, scale={"domain": list(range(len(labels)))})
    text = _shown_words(result, drawn["model"].unique().to_list())
    text += "Lower is better. Grey: predictions for comparison. Lines between bins only guide the eye. "
    return _panels(drawn, names, x, title, text, shown=_in_order(result, drawn), points=True)


@once
def prior_sensitivity_data(result: SoftScores) -> pl.DataFrame:
    """Return what :func:`prior_sensitivity` draws: expected scores and ranks by the strength of the prior."""
    shown = [*_chosen(result, ALL), *REFERENCES]
    return result.sensitivity().filter(pl.col("model").is_in(shown)).select(
        "strength", "model", metric=pl.col("statistic").replace_strict(LABELS), score="value", rank="rank",
        **{"share of prior": "prior_share"},
    )  # fmt: skip


def prior_sensitivity(result: SoftScores) -> Chart:
    """Draw how expected scores, and with them the ranking, change with the strength of the prior."""
    title = "How scores change with the prior"
    drawn = defined(prior_sensitivity_data(result), "score")
    names = [LABELS[name] for name in _EXPECTED if LABELS[name] in drawn["metric"].to_list()]
    if not names:
        return saying(title, "The curve over priors was not requested, or no score is finite.")
    x = field(
        "strength:Q", title="prior weight of a point", scale={"type": "log"},
        axis={"values": list(_STRENGTHS), "format": "~g"},
    )  # fmt: skip
    used = sum(result.settings["prior"]) / len(result.settings["prior"])
    text = _shown_words(result, drawn["model"].unique().to_list())
    text += f"Where lines cross, the ranking changes. Vertical line: the prior used, {used:.3g}. "
    if result.settings["n_items_of_curve"] < result.settings["n_items"]:
        text += f"A sample of {result.settings['n_items_of_curve']:,} items. "
    return _panels(drawn, names, x, title, text, shown=_in_order(result, drawn), mark=used)


def _panels(
    drawn: pl.DataFrame, names: Sequence[str], x: Spec, title: str, subtitle: str, *, shown: Sequence[str],
    points: bool = False, mark: float | None = None,
) -> Chart:  # fmt: skip
    """Draw lines of all predictions, a panel for each metric, two side by side."""
    labels = dict(zip(shown, model_labels(shown, _LABEL), strict=True))
    placed = drawn.with_columns(label=pl.col("model").replace_strict(labels))
    encoded = _encodings(shown, list(labels.values()))
    grid = Grid.of(len(names), 200, most=2, gap=_GAP, each=60)
    told = tips("model", "metric", "strength" if mark else "ratings of an item", "score", "ci low", "ci high", "items",
                names={"strength": "prior weight of a point"})  # fmt: skip
    panels = []
    for at, name in enumerate(names):
        own = placed.filter(metric=name)
        models = own.filter(~pl.col("model").is_in(REFERENCES))
        ends = [*models["ci low"], *models["ci high"]] if points else []
        scale = _scale(name, models["score"], [*own["score"], *ends])
        y = field("score:Q", title=name, scale=scale, axis={"tickCount": 5, "format": "~g"})
        base = Chart.of(own).encode(x=x, color=encoded["color"])
        layers = [base.mark("line", strokeWidth=1.8, clip=True).encode(y=y, strokeDash=encoded["strokeDash"])]
        few_dots = own if points else own.filter(pl.col("strength").is_in(_STRENGTHS))
        dots = Chart.of(few_dots).mark("point", filled=True, size=45 if points else 22, opacity=1, clip=True)
        dots = dots.encode(x=x, color=encoded["color"], y=y, tooltip=told)
        if points:
            sure = Chart.of(models).encode(x=x, color=encoded["color"]).mark("rule", strokeWidth=1.2, clip=True)
            layers.append(sure.encode(y=field("ci low:Q", scale=scale), y2="ci high"))
        layers.append(dots.encode(shape=encoded["shape"]) if points else dots)
        if mark is not None:
            rule = Chart.of([{"strength": mark}]).mark("rule", color=QUIET, strokeWidth=1)
            layers.append(rule.encode(x=x))
        panels.append(layer(*layers).properties(width=grid.width, height=170, name=f"panel_{at}"))
    return themed(grid.lines(panels), title, subtitle)


def _scale(name: str, core: pl.Series, around: Sequence[float | None]) -> Spec:
    """Return the scale of scores: logarithmic for cross-entropies if the worst is many times the best."""
    known = [value for value in core if value is not None] or [value for value in around if value is not None]
    if "CE" in name and min(known) > 0 and max(known) > _FAR * min(known):
        inner = [value for value in (*known, *around) if value is not None and value > 0]
        return {"type": "log", "domain": [min(inner) / 1.1, max(inner) * 1.1], "nice": False}
    low, high = extent(known, around)
    return {"domain": [low, high], "nice": False, "zero": False}


def _encodings(shown: Sequence[str], labels: Sequence[str]) -> Spec:
    """Return the colour, dashes and shape of each prediction: models in colour, the others grey and dashed."""
    each = [
        (QUIET, _DASHES[name], "stroke") if name in REFERENCES
        else (COLOURS[number % len(COLOURS)], [1, 0], SHAPES[number % len(SHAPES)])
        for number, name in enumerate(shown)
    ]  # fmt: skip
    colours, dashes, shapes = zip(*each, strict=True)
    return looks("label", labels, legend(labels, symbolSize=100), color=colours, strokeDash=dashes, shape=shapes)


_KINDS = {True: "empirical", False: "expected"}


def _chosen(result: SoftScores, bin_: str) -> list[str]:
    """Return the best models, as many as there are colours."""
    return result.ranking(result.main, g.known("bin", bin_, (ALL, *result.bins)))[: len(COLOURS)]


def _in_order(result: SoftScores, drawn: pl.DataFrame) -> list[str]:
    known = set(drawn["model"])
    return [name for name in (*_chosen(result, ALL), *REFERENCES) if name in known]


def _shown_words(result: SoftScores, shown: Sequence[str]) -> str:
    n = len([name for name in shown if name not in REFERENCES])
    return f"The best {n} of {len(result.models)} models. " if n < len(result.models) else ""


# Calibration of predicted rating distributions ------------------------------------------------------------------------


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
    labels = _labels(result)
    n_bars = data.filter(model=data["model"][0]).height
    top = max(0.2, 1.05 * max(data["ci high"]))
    grid = Grid.of(len(labels), 100, most=3, each=44)
    told, panels = tips("model", "from", "to", "share", "ci low", "ci high", form=".2f", names=_PIT), []
    for at, (model, label) in enumerate(labels.items()):
        base = Chart.of(data.filter(model=model))
        y = field("share:Q", title="share of ratings" if grid.starts(at) else None,
                  scale={"domain": [0, top], "nice": False}, axis={"format": "%", "tickCount": 4})  # fmt: skip
        x = field("from:Q", title="PIT", scale={"domain": [0, 1]}, axis={"tickCount": 3})
        bars = base.mark("bar", color=COLOURS[0], opacity=0.75, stroke=GRID, strokeWidth=1)
        halfway = [{"calculate": "(datum.from + datum.to) / 2", "as": "middle"}]
        ends = base.properties(transform=halfway).mark("rule", strokeWidth=1.5, color=QUIET)
        fair = Chart.of([{"fair": 1 / n_bars}]).mark("rule", color=QUIET, strokeDash=[4, 3])
        layers = [
            bars.encode(x=x, x2="to", y=y, y2={"datum": 0}, tooltip=told),
            ends.encode(x=field("middle:Q"), y="ci low:Q", y2="ci high"),
            fair.encode(y="fair:Q"),
        ]
        panels.append(panel(layer(*layers), label, at, grid.width, 130))
    text = _shown_words(result, _shown(result)) + (
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
    at = pl.col("threshold").is_in(points[:: max(step, 1)])
    return result.reliability().filter(pl.col("model").is_in(_shown(result)), at).rename(names)


def reliability_curves(result: SoftScores) -> Chart:
    """Draw how often ratings reach a point, by the probability that was predicted for it."""
    title = "Do predicted probabilities come true?"
    data = reliability_curves_data(result)
    if data.is_empty():
        return saying(title, "No item has a rating.")
    thresholds = data["at least"].unique(maintain_order=True).to_list()
    known = dict(zip(thresholds, unique_labels(thresholds, 18), strict=True))
    labels = _labels(result)
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
    text = _shown_words(result, _shown(result)) + (
        "On the straight line, what was predicted happens. Flatter: too sure; steeper: too vague. Vertical "
        f"lines: 95 % intervals, counting items. Dots of fewer than {_FEWEST} items are not drawn. "
    )
    return themed(grid.lines(panels), title, text)


def _shown(result: SoftScores) -> list[str]:
    known = set(result.calibration()["model"])
    return [name for name in result.ranking(result.main) if name in known][:_MODELS]


def _labels(result: SoftScores) -> dict[str, str]:
    return dict(zip(_shown(result), model_labels(_shown(result), 24), strict=True))
