"""What several charts are made of: axes, legends, looks of names, panels in lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from plurivox.plots.layout import Rows, inline, pixels
from plurivox.plots.theme import COLOURS, INK, STEP, WIDTH, load_altair


def across(title: str, ends: tuple[float, float], n_ticks: int = 6) -> Callable[[str], Any]:
    """Return what encodes a column from left to right between two ends."""
    alt = load_altair()
    scale = alt.Scale(domain=list(ends), nice=False, zero=False)
    return lambda column: alt.X(f"{column}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=n_ticks))


def vertical(value: float, x: Callable[[str], Any], colour: str = INK) -> Any:
    """Return a line from top to bottom at a value of what :func:`across` encodes."""
    alt = load_altair()
    return alt.Chart(alt.InlineData(values=[{"at": value}])).mark_rule(color=colour, strokeWidth=1).encode(x=x("at"))


def twice(placed: pl.DataFrame, rows: Rows, names: dict[str, str], x: Callable[[str], Any], layers: list[Any]) -> Any:
    """Draw two values of each row, one above the other, upon layers; names tell the columns and their words."""
    alt = load_altair()
    legend = alt.Legend(title=None, symbolOpacity=1, **rows.legend(28))
    scales = looks("when", list(names.values()), legend, color=COLOURS[1::-1], shape=("square", "circle"))
    for at, (name, words) in enumerate(names.items()):
        layers = layers + _dots(placed, rows, name, words, x, scales, 4 * (2 * at - 1))
    return alt.layer(*layers).properties(width=WIDTH - rows.width - 30, height=alt.Step(STEP + 6), name="twice")


def _dots(
    placed: pl.DataFrame, rows: Rows, name: str, words: str, x: Callable[[str], Any], scales: dict[str, Any], down: int
) -> list[Any]:
    """Return one of two dots of each row with its interval, so many pixels below the middle."""
    alt = load_altair()
    base = alt.Chart(inline(placed.with_columns(when=pl.lit(words)))).encode(y=rows.y(), color=scales["color"])
    told = ["axis:N", "group:N", "when:N", *numbers_told(name, f"{name} low", f"{name} high")]
    return [
        base.mark_rule(strokeWidth=1.5, clip=True, yOffset=down).encode(x=x(f"{name} low"), x2=alt.X2(f"{name} high")),
        base.mark_point(filled=True, size=55, opacity=1, yOffset=down).encode(
            x=x(name), shape=scales["shape"], tooltip=told
        ),
    ]


def numbers_told(*columns: str, form: str = ".3f") -> list[Any]:
    """Return numbers that a reader sees beside the pointer."""
    return [load_altair().Tooltip(f"{column}:Q", format=form) for column in columns]


def looks(column: str, names: Sequence[str], legend: Any, **ranges: Sequence[Any]) -> dict[str, Any]:
    """Return colour, shape and so on of names, each from its range; all share one legend."""
    alt = load_altair()
    kinds = {"color": alt.Color, "fill": alt.Fill, "shape": alt.Shape, "strokeDash": alt.StrokeDash}
    return {
        kind: kinds[kind](
            f"{column}:N", legend=legend, scale=alt.Scale(domain=list(names), range=list(values)[: len(names)])
        )
        for kind, values in ranges.items()
    }


def point_legend(rows: Rows, names: Sequence[str]) -> Any:
    """Return the legend of the points of a scale above the rows, in as many lines as it takes."""
    columns = max(1, min(len(names), (WIDTH - 20) // (pixels(names) + 30)))
    up = 14 + 16 * -(-len(names) // columns)
    return load_altair().Legend(title=None, **rows.legend(up, columns=columns, symbolType="square"))


def panel(chart: Any, label: str, at: int, width: int, height: int, **heading: Any) -> Any:
    """Return a chart as a panel with its heading and a name that tests and styles can find."""
    title = load_altair().TitleParams(label, fontSize=12, anchor="start", **heading)
    return chart.properties(width=width, height=height, title=title, name=f"panel_{at}")


def in_lines(panels: Sequence[Any], n: int, beside: int, beneath: int) -> Any:
    """Return panels, so many beside each other, with so much room between them."""
    alt = load_altair()
    lines = [alt.hconcat(*panels[at : at + n], spacing=beside) for at in range(0, len(panels), n)]
    return alt.vconcat(*lines, spacing=beneath)
