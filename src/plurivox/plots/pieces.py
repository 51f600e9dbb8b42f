"""What several charts share: axes, legends, looks of names, panels in lines, tooltips; tables that are made once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

import polars as pl

from plurivox.plots.layout import Rows, legend_columns
from plurivox.plots.theme import COLOURS, INK, STEP, diverging, full_width, lines
from plurivox.plots.vega import Chart, Encoder, Spec, field, hconcat, layer, vconcat

_WORDS = {
    "axis": "attribute", "who": "model", "other": "with", "p corrected": "p, corrected", "chance": "by chance",
    "chance low": "by chance from", "chance high": "to",
}  # fmt: skip
"""What columns are called in tooltips, where that is not their name; a "to" belongs to the "from" before it."""
_ENDS = {" low": "95 % interval from", " high": "to"}
"""What the two ends of an interval are called."""
_TEXTS = (
    "axis", "group", "other", "item", "text", "model", "who", "finding", "metric", "statistic", "component", "when",
    "state", "point", "score", "what", "line", "at least", "MPA finding", "WRA finding", "region", "ratings of an item",
    "pattern", "prediction", "column", "source", "row",
)  # fmt: skip
_WHOLE = ("raters", "items", "ratings", "scores", "permutations", "rated items", "without an answer", "pairs",
          "ratings needed")  # fmt: skip
_SHARES = ("share", "share rated", "share of prior", "wins")
_GRADES = ("p", "p corrected")


def tips(*columns: str, form: str = ".3f", names: Mapping[str, str] | None = None) -> list[Spec]:
    """Return what is said about a mark, in words: in a tooltip, and to those who cannot see it.

    ``form`` is how numbers other than counts, shares and p-values are written; ``names`` renames columns.
    """
    ends = {column: words for column in columns for end, words in _ENDS.items() if column.endswith(end)}
    words = {**ends, **_WORDS, **(names or {})}
    kinds = ((_WHOLE, ",d"), (_SHARES, ".1%"), (_GRADES, ".2~g"))
    return [
        field(f"{column}:N", title=words.get(column, column)) if column in _TEXTS
        else field(f"{column}:Q", title=words.get(column, column),
                   format=next((one for those, one in kinds if column in those), form))
        for column in columns
    ]  # fmt: skip


def across(title: str, ends: tuple[float, float], room: float, n_ticks: int = 6) -> Encoder:
    """Return what encodes a column from left to right between two ends, in this many pixels."""
    scale = {"domain": list(ends), "nice": False, "zero": False}
    axis = {"tickCount": few(n_ticks, room)}
    return lambda column: field(f"{column}:Q", title=titled(title, room), scale=scale, axis=axis)


def few(n_ticks: int, room: float) -> int:
    """Return how many ticks fit on an axis of this many pixels."""
    return max(3, min(n_ticks, int(room / 55)))


def titled(title: str, room: float) -> str | list[str]:
    """Return the title of an axis, in several lines if it is longer than the axis."""
    found = lines(title, max(room, 120))
    return found if len(found) > 1 else title


def vertical(value: float, x: Encoder, colour: str = INK) -> Chart:
    """Return a line from top to bottom at a value of what :func:`across` encodes."""
    return Chart.of([{"at": value}]).mark("rule", color=colour, strokeWidth=1).encode(x=x("at"))


def twice(placed: pl.DataFrame, rows: Rows, names: dict[str, str], x: Encoder, layers: list[Chart]) -> Chart:
    """Draw two values of each row, one above the other, over layers; ``names`` has the columns and their words."""
    return each_value(placed, rows, names, x, layers, color=COLOURS[1::-1], shape=("square", "circle"))


def each_value(
    placed: pl.DataFrame, rows: Rows, names: dict[str, str], x: Encoder, layers: list[Chart],
    **ranges: Sequence[Any],
) -> Chart:  # fmt: skip
    """Draw several values of each row, one below another, over layers; ``ranges`` are colours and shapes."""
    words = list(names.values())
    scales = looks("when", words, rows.legend(words, symbolOpacity=1), **ranges)
    for at, (name, meaning) in enumerate(names.items()):
        down = 4 * (2 * at + 1 - len(names))  # pixels below the middle
        base = Chart.of(placed.with_columns(when=pl.lit(meaning))).encode(y=rows.y(), color=scales["color"])
        told = tips("group", "axis", name, f"{name} low", f"{name} high", "raters", names={name: meaning})
        line = base.mark("rule", strokeWidth=1.5, clip=True, yOffset=down)
        dot = base.mark("point", filled=True, size=55, opacity=1, yOffset=down)
        dot = dot.encode(x=x(name), shape=scales["shape"], tooltip=told)
        layers = [*layers, line.encode(x=x(f"{name} low"), x2=f"{name} high"), dot]
    height = {"step": STEP + 8 * len(names) - 10}
    return layer(*layers).properties(width=rows.plot_width(), height=height, name="twice")


def looks(column: str, names: Sequence[str], legend: Any, **ranges: Sequence[Any]) -> Spec:
    """Return the colours, shapes and so on of names, each from its range; all share one legend."""
    return {
        kind: field(f"{column}:N", legend=legend, scale={"domain": list(names), "range": list(values)[: len(names)]})
        for kind, values in ranges.items()
    }


def legend(names: Sequence[str], **more: Any) -> Spec:
    """Return a legend above a plot, in as many lines as it takes; it starts where the plot does."""
    return {"title": None, "symbolOpacity": 1, "columns": legend_columns(names, 60), **more}


def point_bars(placed: pl.DataFrame, rows: Rows, names: Sequence[str], x: Spec) -> Chart:
    """Draw how often each point of the scale was given, as parts of a bar in each row."""
    colour = field("label:N", sort=names, legend=rows.legend(names, symbolType="square"),
                   scale={"domain": names, "range": diverging(len(names))})  # fmt: skip
    told = tips("group", "point", "share", "ratings", names={"share": "share of ratings"})
    return Chart.of(placed).mark("bar", height=13).encode(y=rows.y(), x=x, x2="end", color=colour, tooltip=told)


class Grid(NamedTuple):
    """Panels in lines: how many side by side, how wide each is, and how far apart."""

    n: int
    width: int
    gap: int

    @classmethod
    def of(cls, n_panels: int, least: int, *, most: int = 4, gap: int = 20, first: int = 0, each: int = 0) -> Grid:
        """Return as many panels side by side as fit, each at least this many pixels wide.

        ``first`` is the space at the left of a line, ``each`` at the left of every panel, such as numbers of an axis.
        """
        room = full_width() - 14 - first
        n = max(1, min(n_panels, most, (room + gap) // (least + each + gap)))
        return cls(n, (room - (n - 1) * gap) // n - each, gap)

    def lines(self, panels: Sequence[Chart], beneath: int = 16) -> Chart:
        """Return the panels in their lines."""
        beside = [hconcat(*panels[at : at + self.n], spacing=self.gap) for at in range(0, len(panels), self.n)]
        return beside[0] if len(beside) == 1 else vconcat(*beside, spacing=beneath)

    def starts(self, at: int) -> bool:
        """Return whether a panel is the first of its line."""
        return at % self.n == 0


def panel(chart: Chart, label: str, at: int, width: int, height: int, **heading: Any) -> Chart:
    """Return a chart as a panel with its heading and a name that tests and styles can find."""
    title = {"text": label, "fontSize": 12, "anchor": "start", **heading}
    return chart.properties(width=width, height=height, title=title, name=f"panel_{at}")


P = ParamSpec("P")
Made = TypeVar("Made", bound=pl.DataFrame)


def once(data: Callable[P, Made]) -> Callable[P, Made]:
    """Keep what was made from a result, the first argument, for as long as the result exists."""
    kept: WeakKeyDictionary[Any, dict[str, Made]] = WeakKeyDictionary()
    signature = inspect.signature(data)

    @functools.wraps(data)
    def asked(*args: P.args, **options: P.kwargs) -> Made:
        given = signature.bind(*args, **options)
        given.apply_defaults()
        result, *rest = given.arguments.values()
        own = kept.setdefault(result, {})
        key = repr([list(one) if isinstance(one, tuple) else one for one in rest])
        if key not in own:
            own[key] = data(*args, **options)
        return own[key]

    return asked
