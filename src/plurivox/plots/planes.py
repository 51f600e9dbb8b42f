"""MPA against WRA: four habits of grading."""

from __future__ import annotations

import statistics as averages
from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl

from plurivox.base.wording import interval_method
from plurivox.domain.poles import Poles
from plurivox.infer.result import Row
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.plots import groups as g
from plurivox.plots.labelling import REGIONS, Frame, labelled
from plurivox.plots.layout import defined, extent
from plurivox.plots.once import once
from plurivox.plots.pieces import few, tips, titled
from plurivox.plots.theme import COLOURS, INK, QUIET, full_width, narrow, saying, themed
from plurivox.plots.vega import Chart, Spec, field, layer

MAX_RATERS = 2000
_STRONGEST = (g.AFTER, g.BEFORE, g.CHANCE)
_TOLD = (
    "group", "axis", "MPA", "MPA low", "MPA high", "MPA finding", "WRA", "WRA low", "WRA high", "WRA finding", "region",
)  # fmt: skip
_MANY = 15  # with more points, whiskers are fainter
_PLANE = (
    g.texts("axis", "group")
    | g.numbers("MPA", "MPA low", "MPA high", "MPA chance", "WRA", "WRA low", "WRA high", "WRA chance")
    | g.texts("region", "MPA finding", "WRA finding")
    | g.counts("raters", "items")
)


@once
def mpa_wra_plane_data(
    result: Responsiveness, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 40
) -> pl.DataFrame:
    """Return what :func:`mpa_wra_plane` draws: one row per group, or per rater without a name."""
    subset = g.chosen_subset(result, subset)
    if not _of_raters(result, axis):
        rows = g.group_rows(result, ("mpa", "wra"), axis, subset)
        shown = set(g.most_notable(result, rows, subset, max_groups))
        split = _split(result, rows, subset)
        cells = [_cell(key, own, split) for key, own in rows.items() if key in shown]
        return pl.DataFrame(cells, schema=_PLANE, orient="row")
    rows = g.rater_rows(result, subset)
    split = _split(result, rows, subset)
    cells = [_cell(key, own, split) for key, own in rows.items()]
    frame = pl.DataFrame(cells, schema=_PLANE, orient="row").drop("axis", "group", "raters", "items")
    frame = frame.sort("MPA", "WRA", nulls_last=True)  # an order that does not reveal who is who
    step = -(-frame.height // MAX_RATERS)
    return frame.gather_every(step) if step > 1 else frame


def mpa_wra_plane(
    result: Responsiveness, axis: str | None = None, *, subset: str | None = None, max_groups: int | None = 40
) -> Chart:
    """Draw MPA against WRA, one point per group, and the four habits that they distinguish.

    The regions meet at the median over groups of what chance gives; without permutations, at the value of all raters
    together, or at the median group.

    Parameters
    ----------
    axis
        The axis whose groups to show, by default all; ``"rater"`` for a dot per rater, without names.
    """
    title = "Fine grading against telling apart: MPA and WRA"
    data = mpa_wra_plane_data(result, axis, subset=subset, max_groups=max_groups)
    drawn = defined(data, "MPA", "WRA")
    if drawn.is_empty():
        return saying(title, "MPA and WRA are undefined everywhere." if data.height else "There are no groups to show.")
    subset = g.chosen_subset(result, subset)
    raters = _of_raters(result, axis)
    rows = g.rater_rows(result, subset) if raters else g.group_rows(result, ("mpa", "wra"), axis, subset)
    split = _split(result, rows, subset)
    ends = (_range(drawn, name, middle, raters) for name, middle in (("MPA", split.mpa), ("WRA", split.wra)))
    frame = Frame(full_width() - 76, 340 if narrow() else 400, *ends)
    poles = Poles.of(result.settings)
    layers = _regions(frame, split, poles)
    placed = drawn if raters else labelled(drawn, frame, (split.mpa, split.wra))
    layers += _dots(frame, drawn, poles) if raters else _groups(frame, placed, poles)
    chart = layer(*layers).properties(width=frame.width, height=frame.height)
    over = interval_method(result.settings)
    return themed(chart, title, _plane_words(data, placed, len(rows), raters, split.words, over))


def _of_raters(result: Responsiveness, axis: str | None) -> bool:
    """Return whether to draw raters, because they were requested or because there is nothing else."""
    g.check_axis(result, axis)
    if axis is not None:
        return g.names_raters(axis)
    return bool(result.axes) and all(g.names_raters(name) for name in result.axes)


def _cell(key: tuple[str, str], own: dict[str, Row], split: _Split) -> tuple[Any, ...]:
    mpa, wra = own["mpa"], own["wra"]
    known = g.finite_or_none(mpa.value) is not None and g.finite_or_none(wra.value) is not None
    region = REGIONS[mpa.value >= split.mpa, wra.value >= split.wra] if known else None
    numbers = [number for row in (mpa, wra) for number in (row.value, row.ci_low, row.ci_high, row.null_median)]
    return (*key, *numbers, region, g.state(mpa), g.state(wra), mpa.n_raters, mpa.n_items)


class _Split(NamedTuple):
    """Where the regions meet, and in words what that is."""

    mpa: float
    wra: float
    words: str


def _split(result: Responsiveness, rows: g.ByGroup, subset: str) -> _Split:
    overall = {row.statistic: row.value for row in result.rows if row.kind == "overall" and row.subset == subset}
    choices: dict[str, Callable[[str], list[float | None]]] = {
        "what chance gives": lambda name: [own[name].null_median for own in rows.values()],
        "the value of all raters together": lambda name: [overall.get(name)],
        "the median group": lambda name: [own[name].value for own in rows.values()],
    }
    for words, values in choices.items():
        mpa, wra = ([one for one in map(g.finite_or_none, values(name)) if one is not None] for name in ("mpa", "wra"))
        if mpa and wra:
            return _Split(averages.median(mpa), averages.median(wra), words)
    return _Split(0.5, 0.5, "the middle")


def _range(drawn: pl.DataFrame, name: str, split: float, raters: bool) -> tuple[float, float]:
    """Return the range of an axis, with room for the words of the regions on both sides of the split."""
    around = [] if raters else [*drawn[f"{name} low"], *drawn[f"{name} high"]]
    low, high = extent([*drawn[name], split], around)
    third = (high - low) / 3
    low, high = min(low, split - third), max(high, split + third)
    margin = 0.07 * (high - low) if name == "WRA" else 0.0  # the words are above and below all points
    return low - margin, high + margin


def _axes(frame: Frame, poles: Poles) -> Spec:
    return {
        name: field(
            f"{column}:Q", title=titled(f"{column}: {words}", frame.width), scale=_scale(domain),
            axis={"tickCount": few(6, frame.width), "grid": False},
        )
        for name, column, domain, words in (
            ("x", "MPA", frame.x, poles.fill("do higher scores mean {more}? →")),
            ("y", "WRA", frame.y, poles.fill("are {high} and {low} told apart? →")),
        )
    }  # fmt: skip


def _scale(domain: tuple[float, float]) -> Spec:
    return {"domain": list(domain), "nice": False, "zero": False}


def _regions(frame: Frame, split: _Split, poles: Poles) -> list[Chart]:
    """Return the lines between the regions and their names in the corners."""
    dashes = Chart.of([{"MPA": split.mpa, "WRA": split.wra}]).mark("rule", strokeDash=[4, 4], color=QUIET)
    axes = _axes(frame, poles)
    layers = [dashes.encode(x=axes["x"]), dashes.encode(y=axes["y"])]
    for (right, up), words in REGIONS.items():
        said = frame.region(words)
        text = Chart.of([{"region": "\n".join(said)}]).mark("text",
            align="right" if right else "left", baseline="top" if up else "bottom", lineBreak="\n", lineHeight=14,
            color=QUIET, fontSize=12, fontStyle="italic", dy=0 if up else -14 * (len(said) - 1),
        )  # fmt: skip
        layers.append(
            text.encode(
                x={"value": frame.width - 6 if right else 6},
                y={"value": 6 if up else frame.height - 6},
                text="region:N",
            )
        )
    return layers


def _dots(frame: Frame, drawn: pl.DataFrame, poles: Poles) -> list[Chart]:
    dots = Chart.of(drawn.select("MPA", "WRA")).mark(
        "point", filled=True, size=36, opacity=0.35, color=COLOURS[0], clip=True
    )
    return [dots.encode(**_axes(frame, poles), tooltip=tips("MPA", "WRA"))]


def _groups(frame: Frame, labelled_points: pl.DataFrame, poles: Poles) -> list[Chart]:
    """Return points with whiskers and the names that find room, coloured by how far either value stands out."""
    pairs = labelled_points.select("MPA finding", "WRA finding").iter_rows()
    states = [next((state for state in _STRONGEST if state in pair), g.UNTESTED) for pair in pairs]
    placed = labelled_points.with_columns(finding=pl.Series(states, dtype=pl.String))
    colour, shape = g.state_scales(states)
    base, axes = Chart.of(placed), _axes(frame, poles)
    domain_x, domain_y = (_scale(domain) for domain in (frame.x, frame.y))
    whisker = {"strokeWidth": 1, "opacity": 0.35 if placed.height <= _MANY else 0.15, "clip": True}
    across = base.mark("rule", **whisker).encode(
        x=field("MPA low:Q", scale=domain_x), x2="MPA high", y=axes["y"], color=colour
    )
    along = base.mark("rule", **whisker).encode(
        x=axes["x"], y=field("WRA low:Q", scale=domain_y), y2="WRA high", color=colour
    )
    points = base.mark("point", filled=True, size=60, opacity=1)
    points = points.encode(**axes, color=colour, shape=shape, tooltip=tips(*_TOLD))
    named = Chart.of(defined(placed, "label x"))
    texts = [
        named.filter(f"datum['label side'] == '{side}'")
        .mark("text", align=side, baseline="middle", fontSize=11, color=INK)
        .encode(x=field("label x:Q", scale=domain_x), y=field("label y:Q", scale=domain_y), text="label:N")
        for side in ("left", "right", "center")
    ]
    return [across, along, points, *texts]


def _plane_words(data: pl.DataFrame, drawn: pl.DataFrame, total: int, raters: bool, met: str, over: str) -> str:
    if raters:
        few = f"{drawn.height:,} of {total:,} raters shown, evenly spread over MPA. " if data.height < total else ""
        return few + f"One dot per rater, {total:,} in total, without names. The regions meet at {met}. "
    text = g.shown_words(drawn.height, data.height, total)
    text += f"The regions meet at {met}. "
    if drawn["MPA low"].is_not_null().any():
        text += f"Whiskers: 95 % intervals {over}. "
    nameless = drawn["label x"].null_count()
    if nameless:
        text += f"{'1 name is' if nameless == 1 else f'{nameless:,} names are'} left out for lack of space. "
    return text
