"""MPA against WRA: four habits of grading."""

from __future__ import annotations

import math
import statistics as averages
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from plurivox.base.wording import interval_method
from plurivox.domain.scale_names import Poles
from plurivox.infer.result import Row
from plurivox.lenses.responsiveness.result import Responsiveness
from plurivox.plots import groups as g
from plurivox.plots.groups import AFTER, BEFORE
from plurivox.plots.layout import defined, extent, pixels, unique_labels
from plurivox.plots.pieces import few, once, tips, titled
from plurivox.plots.theme import COLOURS, INK, QUIET, full_width, lines, narrow, saying, themed
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
    subset, raters = g.chosen_subset(result, subset), _of_raters(result, axis)
    rows = g.rater_rows(result, subset) if raters else g.group_rows(result, ("mpa", "wra"), axis, subset)
    *split, _ = _split(result, rows, subset)
    shown = rows if raters else set(g.most_notable(result, rows, subset, max_groups))
    cells = [_cell(key, own, split) for key, own in rows.items() if key in shown]
    frame = pl.DataFrame(cells, schema=_PLANE, orient="row")
    if not raters:
        return frame
    frame = frame.drop("axis", "group", "raters", "items")
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
    *split, met = _split(result, rows, subset)
    ends = (_range(drawn, name, middle, raters) for name, middle in zip(("MPA", "WRA"), split, strict=True))
    frame = Frame(full_width() - 76, 340 if narrow() else 400, *ends)
    poles = Poles.of(result.settings)
    layers = _regions(frame, split, poles)
    placed = drawn
    if raters:
        dots = Chart.of(drawn.select("MPA", "WRA")).encode(**_axes(frame, poles), tooltip=tips("MPA", "WRA"))
        layers.append(dots.mark("point", filled=True, size=36, opacity=0.35, color=COLOURS[0], clip=True))
    else:
        placed = labelled(drawn, frame, (split[0], split[1]))
        layers += _groups(frame, placed, poles)
    chart = layer(*layers).properties(width=frame.width, height=frame.height)
    over = interval_method(result.settings)
    return themed(chart, title, _plane_words(data, placed, len(rows), raters, met, over))


def _of_raters(result: Responsiveness, axis: str | None) -> bool:
    """Return whether to draw raters, because they were requested or because there is nothing else."""
    g.check_axis(result, axis)
    if axis is not None:
        return g.names_raters(axis)
    return bool(result.axes) and all(g.names_raters(name) for name in result.axes)


def _cell(key: tuple[str, str], own: dict[str, Row], split: Sequence[float]) -> tuple[Any, ...]:
    mpa, wra = own["mpa"], own["wra"]
    known = g.finite_or_none(mpa.value) is not None and g.finite_or_none(wra.value) is not None
    region = REGIONS[mpa.value >= split[0], wra.value >= split[1]] if known else None
    numbers = [number for row in (mpa, wra) for number in (row.value, row.ci_low, row.ci_high, row.null_median)]
    return (*key, *numbers, region, g.state(mpa), g.state(wra), mpa.n_raters, mpa.n_items)


def _split(result: Responsiveness, rows: g.ByGroup, subset: str) -> tuple[float, float, str]:
    """Return the MPA and the WRA where the regions meet, and in words what that is."""
    overall = {row.statistic: row.value for row in result.rows if row.kind == "overall" and row.subset == subset}
    choices: dict[str, Callable[[str], list[float | None]]] = {
        "what chance gives": lambda name: [own[name].null_median for own in rows.values()],
        "the value of all raters together": lambda name: [overall.get(name)],
        "the median group": lambda name: [own[name].value for own in rows.values()],
    }
    for words, values in choices.items():
        mpa, wra = ([one for one in map(g.finite_or_none, values(name)) if one is not None] for name in ("mpa", "wra"))
        if mpa and wra:
            return averages.median(mpa), averages.median(wra), words
    return 0.5, 0.5, "the middle"


def _range(drawn: pl.DataFrame, name: str, split: float, raters: bool) -> tuple[float, float]:
    """Return the range of an axis, with room for the words of the regions on both sides of the split."""
    around = [] if raters else [*drawn[f"{name} low"], *drawn[f"{name} high"]]
    low, high = extent([*drawn[name], split], around)
    third = (high - low) / 3
    low, high = min(low, split - third), max(high, split + third)
    margin = 0.07 * (high - low) if name == "WRA" else 0.0  # the words are above and below all points
    return low - margin, high + margin


def _axes(frame: Frame, poles: Poles) -> Spec:
    words = {"MPA": "do higher scores mean {more}? →", "WRA": "are {high} and {low} told apart? →"}
    x, y = (
        field(f"{column}:Q", title=titled(f"{column}: {poles.fill(words[column])}", frame.width), scale=_scale(domain),
              axis={"tickCount": few(6, frame.width), "grid": False})
        for column, domain in (("MPA", frame.x), ("WRA", frame.y))
    )  # fmt: skip
    return {"x": x, "y": y}


def _scale(domain: tuple[float, float]) -> Spec:
    return {"domain": list(domain), "nice": False, "zero": False}


def _regions(frame: Frame, split: Sequence[float], poles: Poles) -> list[Chart]:
    """Return the lines between the regions and their names in the corners."""
    dashes = Chart.of([{"MPA": split[0], "WRA": split[1]}]).mark("rule", strokeDash=[4, 4], color=QUIET)
    axes = _axes(frame, poles)
    layers = [dashes.encode(x=axes["x"]), dashes.encode(y=axes["y"])]
    for (right, up), words in REGIONS.items():
        said = frame.region(words)
        text = Chart.of([{"region": "\n".join(said)}]).mark("text",
            align="right" if right else "left", baseline="top" if up else "bottom", lineBreak="\n", lineHeight=14,
            color=QUIET, fontSize=12, fontStyle="italic", dy=0 if up else -14 * (len(said) - 1),
        )  # fmt: skip
        x, y = frame.width - 6 if right else 6, 6 if up else frame.height - 6
        layers.append(text.encode(x={"value": x}, y={"value": y}, text="region:N"))
    return layers


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


# Names next to points, placed so that none covers another -------------------------------------------------------------


REGIONS = {
    (True, True): "grades finely, tells apart",
    (True, False): "grades finely, mixes up",
    (False, True): "tells apart, few grades",
    (False, False): "neither",
}
"""What the corners of the plane say, by whether MPA and WRA are above the split."""
_LINE = 13  # height of a name in pixels
_GAP = 8  # from the middle of a point to its name


class Frame(NamedTuple):
    """The size of a plot in pixels, and the values at the ends of its two axes."""

    width: int
    height: int
    x: tuple[float, float]
    y: tuple[float, float]

    def to_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point lies, from the top left."""
        across = (x - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        return across * self.width, (1 - up) * self.height

    def region(self, words: str) -> list[str]:
        """Return the words of a corner, in lines that leave room for the opposite corner."""
        return lines(words, self.width / 2 - 12, 12)

    def from_pixels(self, x: float, y: float) -> tuple[float, float]:
        """Undo :meth:`to_pixels`."""
        across, up = x / self.width, 1 - y / self.height
        return self.x[0] + across * (self.x[1] - self.x[0]), self.y[0] + up * (self.y[1] - self.y[0])


class _Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def inside(self, frame: Frame) -> bool:
        return self.left >= 0 and self.right <= frame.width and self.top >= 0 and self.bottom <= frame.height

    def meets(self, other: _Box) -> bool:
        beside = self.left < other.right and other.left < self.right
        return beside and self.top < other.bottom and other.top < self.bottom


def labelled(data: pl.DataFrame, frame: Frame, split: tuple[float, float]) -> pl.DataFrame:
    """Add to points of MPA and WRA a ``label``, where it goes (``label x``, ``label y``) and its ``label side``.

    A name goes to the first free place around its point, away from lines if possible; if no place is free, it is left
    out (null).
    """
    names = unique_labels(data["group"], 24)
    centres = [frame.to_pixels(x, y) for x, y in data.select("MPA", "WRA").iter_rows()]
    said = [frame.region(words) for words in REGIONS.values()]
    corner, high = pixels([line for own in said for line in own], 12), 10 + 14 * max(map(len, said))
    taken = [_Box(x - 5, y - 5, x + 5, y + 5) for x, y in centres]
    taken += [
        _Box(left, top, left + corner, top + high)
        for left in (0, frame.width - corner)
        for top in (0, frame.height - high)
    ]
    strokes = _lines(data, frame, split)
    spots: list[tuple[float | None, float | None, str | None]] = [(None, None, None)] * len(names)
    # First come points that stand out from chance, then those far from the split.
    ranks = [
        min((at for at, state in enumerate((AFTER, BEFORE)) if state in pair), default=2)
        for pair in data.select("MPA finding", "WRA finding").iter_rows()
    ]
    middle = frame.to_pixels(*split)
    for at in sorted(range(len(centres)), key=lambda at: (ranks[at], -math.dist(centres[at], middle))):
        places = [place for place in _places(*centres[at], pixels([names[at]])) if place[2].inside(frame)]
        places = [place for place in places if not any(place[2].meets(other) for other in taken)]
        clear = [place for place in places if not any(place[2].meets(line) for line in strokes)]
        if places:
            side, anchor, box = (clear or places)[0]
            taken.append(box)
            spots[at] = (*frame.from_pixels(anchor, (box.top + box.bottom) / 2), side)
    schema = {"label x": pl.Float64, "label y": pl.Float64, "label side": pl.String}
    places_found = pl.DataFrame(spots, schema=schema, orient="row")
    return data.with_columns(pl.Series("label", names, dtype=pl.String)).hstack(places_found)


def _places(x: float, y: float, width: float) -> list[tuple[str, float, _Box]]:
    """Return where a name could go, the best first: the side at which it begins, where that is, and its box."""
    near, high = _LINE / 2 + 2, _GAP + _LINE / 2
    found = []
    for side, shifts in (
        ("left", (-near, near)), ("right", (-near, near)), ("center", (-high, high)), ("left", (0,)), ("right", (0,)),
        ("left", (-2 * near, 2 * near)), ("right", (-2 * near, 2 * near)),
    ):  # fmt: skip
        anchor = x + {"left": _GAP, "right": -_GAP, "center": 0}[side]
        left = anchor - {"left": 0, "right": width, "center": width / 2}[side]
        found += [
            (side, anchor, _Box(left, y + shift - _LINE / 2, left + width, y + shift + _LINE / 2)) for shift in shifts
        ]
    return found


def _lines(data: pl.DataFrame, frame: Frame, split: tuple[float, float]) -> list[_Box]:
    """Return the lines between the regions, and the whiskers."""
    x, y = frame.to_pixels(*split)
    lines = [_Box(x, 0, x, frame.height), _Box(0, y, frame.width, y)]
    names = ("MPA", "WRA", "MPA low", "MPA high", "WRA low", "WRA high")
    for mpa, wra, left, right, low, high in data.select(names).iter_rows():
        if left is not None and right is not None:
            (a, at), (b, _) = frame.to_pixels(left, wra), frame.to_pixels(right, wra)
            lines.append(_Box(a, at, b, at))
        if low is not None and high is not None:
            (at, b), (_, a) = frame.to_pixels(mpa, low), frame.to_pixels(mpa, high)
            lines.append(_Box(at, a, at, b))
    return lines
