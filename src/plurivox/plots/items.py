"""Items to look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from plurivox.infer.view import P, written
from plurivox.lenses.items.result import Items
from plurivox.lenses.items.words import claimed, comparisons
from plurivox.plots import groups as g
from plurivox.plots.layout import Rows, extent, fitting, inline, pixels, shorten, unique_labels
from plurivox.plots.once import once
from plurivox.plots.pieces import across, looks, tips, vertical
from plurivox.plots.texts import Texts, cut, item_labels, told_of, with_texts
from plurivox.plots.theme import COLOURS, INK, QUIET, WIDTH, full_width, load_altair, narrow, saying, themed

DIVIDED = {
    "direction": "rates it", "mean_group": "mean", "mean_rest": "mean of the others", "n_group": "ratings",
    "n_rest": "ratings of the others", "p_value": "p alone", "p_adjusted": "p corrected",
}  # fmt: skip
"""The names that readers see for columns of dividing items."""
CERTAIN, CHANCE = "beyond chance", "not beyond chance"
_NAME = 24


def items_divided_data(items: Items, n: int = 20, *, texts: Texts = None) -> pl.DataFrame:
    """Return what :func:`items_divided` draws: the clearest differences between a group and the others on an item.

    ``chance`` is the raw difference that the largest of all exceeds in 5 of 100 shuffles, for an item and groups of
    these sizes; null where it would reveal single ratings.
    """
    return with_texts(_divided(items, n), texts)


@once
def _divided(items: Items, n: int) -> pl.DataFrame:
    largest = items.settings["largest_z_by_chance"]
    error = pl.when(pl.col("z").abs() > _LEAST).then((pl.col("difference") / pl.col("z")).abs())
    sure = claimed(items).select("item", "axis").with_columns(finding=pl.lit(CERTAIN))
    rows = items.divided.head(n).with_columns(chance=error * largest["95 %"] if largest else pl.lit(None, pl.Float64))
    found = rows.join(sure, on=["item", "axis"], how="left", maintain_order="left")
    return found.with_columns(pl.col("finding").fill_null(CHANCE)).rename(DIVIDED)


def items_divided(items: Items, n: int = 20, *, texts: Texts = None) -> Any:
    """Draw the ``n`` clearest differences between a group and the others on an item, and what chance gives.

    Parameters
    ----------
    texts
        The text of items, by id; its start is then shown next to the id.
    """
    title = "Differences between groups on items"
    data = items_divided_data(items, n, texts=texts)
    if data.is_empty():
        return saying(title, "No difference between groups on an item can be shown.")
    rows = Rows.listed(_rows_of(data, texts))
    groups = data["group"].unique(maintain_order=True)
    short = dict(zip(groups, unique_labels(groups, 19 if narrow() else _NAME), strict=True))
    placed = cut(data).with_columns(
        row=pl.Series(range(data.height)), named=pl.col("group").replace_strict(short), low=-pl.col("chance"),
        p=pl.col("p corrected").map_elements(lambda p: written(p, P), return_dtype=pl.String, skip_nulls=False),
    )  # fmt: skip
    beside = [_Column("named:N", "group", pixels(placed["named"]), "left"), _Column("p:N", "p", 44)]
    return themed(
        _beside(_differences(placed), placed, rows, beside[: 1 if narrow() else 2]), title, _divided_words(items, data)
    )


def _rows_of(data: pl.DataFrame, texts: Texts) -> list[str]:
    """Return the labels of dividing items, with the axis where an item divides by several."""
    twice = data["item"].is_duplicated()
    names = [f"{shorten(item, fitting(18))}, {shorten(axis, fitting(14))}" if again else item
             for item, axis, again in zip(data["item"], data["axis"], twice, strict=True)]  # fmt: skip
    known = (
        None if texts is None else dict(zip(names, (texts.get(str(item), "") for item in data["item"]), strict=True))
    )
    return item_labels(names, known, *((_SHORT, 34) if narrow() else ()))


def _differences(placed: pl.DataFrame) -> _Layers:
    def layers(base: Any, width: int) -> list[Any]:
        alt = load_altair()
        ends = [*placed["low"], *placed["chance"], *placed["difference"], *placed["shrunken"], 0.0]
        x = across("difference from the others", extent(ends), width)
        told = tips(
            *told_of(placed), "axis", "group", "shrunken", "difference", "chance", "p corrected", "finding", names=_TOLD
        )
        colours, shapes = zip(g.LOOKS[g.AFTER], g.LOOKS[g.CHANCE], strict=True)
        look = looks("finding", [CERTAIN, CHANCE], None, color=colours, shape=shapes)
        return [
            base.mark_bar(height=9, color=QUIET, opacity=0.25).encode(x=x("low"), x2=alt.X2("chance")),
            vertical(0.0, x, QUIET),
            base.mark_tick(thickness=2, size=11, color=INK).encode(x=x("difference")),
            base.mark_point(filled=True, size=60, opacity=1).encode(x=x("shrunken"), tooltip=told, **look),
        ]

    return layers


_Layers = Callable[[Any, int], list[Any]]
"""What draws rows: from a chart of them and its width to layers."""


class _Column(NamedTuple):
    """Text next to the rows of a chart."""

    field: str
    head: str
    width: int
    align: str = "right"
    form: str | None = None


def _beside(layers: _Layers, placed: pl.DataFrame, rows: Rows, columns: Sequence[_Column]) -> Any:
    """Draw rows with columns of text next to them."""
    alt = load_altair()
    base = alt.Chart(inline(placed)).encode(y=rows.y())
    width = rows.plot_width(sum(one.width + 8 for one in columns))
    drawn = [alt.layer(*layers(base, width)).properties(width=width, height=rows.height)]
    for one in columns:
        text = base.mark_text(align=one.align, fontSize=11, color=INK).encode(
            x=alt.value(0 if one.align == "left" else one.width), y=rows.y(labels=False),
            text=alt.Text(one.field, format=one.form or alt.Undefined),
        )  # fmt: skip
        head = alt.TitleParams(one.head, fontSize=11, fontWeight="normal", color=INK,
                               anchor="start" if one.align == "left" else "end")  # fmt: skip
        drawn.append(text.properties(width=one.width, height=rows.height, title=head))
    return alt.hconcat(*drawn, spacing=8)


_LEAST = 1e-9  # a z below this has no standard error to read off
_SHORT = 22  # length of a label where there is little room
_TOLD = {
    "shrunken": "difference, shrunken for chance", "difference": "raw difference", "chance": "by chance up to",
}  # fmt: skip


def _divided_words(items: Items, data: pl.DataFrame) -> str:
    """Say what the chart of dividing items shows."""
    total, largest = items.divided.height, items.settings["largest_z_by_chance"]
    shown = f"{data.height:,} of {total:,} items and axes shown, the clearest first. " if data.height < total else ""
    marks = (
        "Dot: the difference, shrunken for chance; a blue diamond if it is beyond chance. Tick: the raw difference, "
    )
    marks += "where there are enough ratings to show it."
    if largest is None:
        return f"{shown}{marks}"
    over = f"p is {comparisons(items.settings)}."
    return f"{shown}{marks} Grey: the range that contains the largest of all in 95 of 100 shuffles; {over}"


_UNCERTAIN = {
    "n_ratings": "ratings", "expected_mean": "expected mean", "ci_low": "ci low", "ci_high": "ci high",
    "information_gain": "gain of one more", "ratings_needed": "ratings needed",
    "prior_share": "share of prior",
}  # fmt: skip


def items_uncertain_data(items: Items, n: int = 20, *, texts: Texts = None) -> pl.DataFrame:
    """Return what :func:`items_uncertain` draws: the items about which one more rating reveals most."""
    return with_texts(_uncertain(items, n), texts)


@once
def _uncertain(items: Items, n: int) -> pl.DataFrame:
    return items.uncertain.head(n).rename(_UNCERTAIN)


def items_uncertain(items: Items, n: int = 20, *, texts: Texts = None) -> Any:
    """Draw the ``n`` items that deserve more ratings: where their mean score lies, and how sure that is.

    Parameters
    ----------
    texts
        The text of items, by id; its start is then shown next to the id.
    """
    title = "Items that deserve more ratings"
    data = items_uncertain_data(items, n, texts=texts)
    if data.is_empty():
        return saying(title, "There are no items.")
    rows = Rows.listed(item_labels(data["item"].to_list(), texts, _SHORT if narrow() else 34))
    placed = cut(data).with_columns(row=pl.Series(range(data.height)))
    columns = [
        _Column(f"{name}:Q", head, 56, form=form)
        for name, head, form in (("ratings", "ratings", ",d"), ("share of prior", "prior", ".0%"),
                                 ("gain of one more", "gain", ".3f"), ("ratings needed", "needed", ",d"))
    ]  # fmt: skip
    whole = not narrow() and (texts is None or full_width() > WIDTH)
    chart = _beside(_expected(placed), placed, rows, columns if whole else columns[:1])
    total = items.uncertain.height
    text = f"The first {data.height:,} of {total:,} items. " if data.height < total else ""
    text += "Circle and line: the expected mean score and its 95 % credible interval; tick: the mean of the ratings. "
    if whole:
        text += "Prior: its share of both. Gain: information expected from one more rating, in nats. "
        text += f"Needed: for ± {items.settings['precision']:g}."
    return themed(chart, title, text)


def _expected(placed: pl.DataFrame) -> _Layers:
    def layers(base: Any, width: int) -> list[Any]:
        alt = load_altair()
        x = across("mean score", extent([*placed["ci low"], *placed["ci high"], *placed["mean"]]), width)
        told = tips(
            *told_of(placed), *_OF_ITEM, names={"mean": "mean of the ratings", "ratings needed": "ratings needed"}
        )
        return [
            base.mark_rule(strokeWidth=2, color=COLOURS[0]).encode(x=x("ci low"), x2=alt.X2("ci high")),
            base.mark_point(filled=True, size=60, opacity=1, color=COLOURS[0]).encode(
                x=x("expected mean"), tooltip=told
            ),
            base.mark_tick(thickness=2, size=11, color=QUIET).encode(x=x("mean")),
        ]

    return layers


_OF_ITEM = (
    "expected mean", "ci low", "ci high", "mean", "ratings", "share of prior", "gain of one more", "ratings needed",
)  # fmt: skip
