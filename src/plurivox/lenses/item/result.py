"""What :func:`plurivox.item_view` found, as frames, sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.base.wording import counted, listed, one_line, withheld_groups
from plurivox.infer.claims import COUNTED_ALIKE, weighted_statements
from plurivox.infer.families import SIGNIFICANT, undecided
from plurivox.infer.result import Row, p_text
from plurivox.infer.tables import TableResult
from plurivox.infer.view import BARS, Column, P, View, columns, filled, view_of

FEW = 3
"""The most points given most often that are named; more are counted."""


@dataclass(frozen=True, slots=True)
class ItemRow(Row):
    """A group of an item's raters: what they gave, and how far that is from what the others gave."""

    plurality: str = ""
    mean: float = math.nan
    difference: float = math.nan
    p_adjusted_items: float | None = None
    unweighted_mean: float | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ItemView(TableResult):
    """What is known about one item.

    Its tables are:

    ``groups``
        One row for all raters (axis and group ``all``) and one for each group shown: ``plurality``, the points given
        most often; ``mean``; ``difference``, the group's mean minus that of the item's other raters on the axis;
        ``value``, the earth mover's distance between the two distributions, 1 being the length of the scale;
        ``null_median``, ``p_value`` and ``p_adjusted``, what shuffled raters give for this item on its own;
        ``p_adjusted_items``, p of the difference of means among all items and groups, as :func:`plurivox.items` lists
        it, null if the item was ``fixed``; ``direction`` of the difference.
    ``distribution``
        How often all raters and each group gave each point.
    ``use``
        How often each point was given to this item, and its share among all ratings of the study. Like the other
        scores it is empty for an item on which :func:`plurivox.items` says that a few raters differ.
    ``attributes``
        What the study says about the item, such as its text.
    """

    KIND: ClassVar[str] = "item"

    def __repr__(self) -> str:
        frame = self.to_frame()
        shown = ""
        if self.settings["withheld"]:
            axes = counted(len(self.settings["withheld"]), "axis", "axes")
            shown = f", {counted(frame.height - 1, 'group')} on {axes}"
        return f"<ItemView: item {self.settings['item']}, {counted(frame['n_ratings'][0], 'rating')}{shown}>"

    def _said(self) -> list[str]:
        """Return what matters, one sentence each: the item's scores, groups that stand apart, and what is not shown."""
        return [*self._scores(), *self._apart(), *self._unseen()]

    def _scores(self) -> Iterator[str]:
        """Say which point the item got most often, and how often it is given in the study as a whole."""
        use = self.table("use")
        if use.is_empty():
            yield (
                f"Item {self.settings['item']}: {counted(self.to_frame()['n_ratings'][0], 'rating')}. Its scores are "
                f"not shown: a group with fewer than {self.settings['min_group_size']} ratings of it, or with as few "
                "others, is among those that differ for certain, and both together would tell what these few said."
            )
            return
        n, most = sum(use["n_ratings"]), max(use["n_ratings"])
        top = use.filter(pl.col("n_ratings") == most)
        start = f"Item {self.settings['item']}: {counted(n, 'rating')}"
        if top.height == 1:
            yield f"{start}, most often {top['point'][0]} ({most:,} of {n:,})."
            if self.settings["n_items"] > 1:
                share, usual = top["share"][0], top["share_of_study"][0]
                yield f"That score is {share:.0%} of the item's ratings and {usual:.0%} of all ratings in the study."
        elif top.height <= FEW:
            yield f"{start}, most often {listed(top['point'].to_list())} ({most:,} of {n:,} each)."
        else:
            yield f"{start}; {top.height} points tie as the most frequent ({most:,} of {n:,} each)."

    def _apart(self) -> Iterator[str]:
        """Say which groups stand apart, the surest first."""
        settings, rows = self.settings, self.to_frame()[1:]
        tested = rows.filter(pl.col("p_value").is_not_null())
        if not settings["withheld"] or self.table("use").is_empty():
            return
        if tested.is_empty():
            if rows.is_empty():
                yield "No group gave enough ratings of this item to be shown."
            elif not settings["permutations"]:
                yield "Without permutations, groups are not compared with chance."
            return
        over = f"over {counted(tested.height, 'group')}"
        alone = settings["fixed"] or settings["n_items"] == 1  # not chosen among others for its differences

        def sure(row: dict[str, Any]) -> str:
            own, p = f"{p_text(row['p_adjusted'])} after correction {over}", row["p_adjusted_items"]
            among = f"among all {settings['n_items']:,} items {'not compared' if p is None else p_text(p)}"
            return own if alone else f"on its own {own}; {among}"

        certain = tested["p_adjusted"] < SIGNIFICANT
        if not alone:  # undecided ones may not be said to stand apart
            p = tested["p_adjusted_items"].fill_null(1.0)
            certain = (p < SIGNIFICANT) & ~pl.Series(undecided(p.to_numpy(), settings["permutations"]))
        apart = tested.filter(certain).sort("p_adjusted", "value", descending=[False, True])
        told: set[str] = set()
        for row in apart.iter_rows(named=True):
            axis, both = row["axis"], rows.filter(axis=row["axis"])
            if both.height == 2 and not settings["withheld"][axis] and axis not in settings["several"]:
                if axis not in told:  # each of the two is the other's rest
                    yield _pair_sentence(both, sure(row))
                told.add(axis)
            else:
                yield _group_sentence(row, sure(row))
        if not apart.is_empty():
            return
        first = tested.sort("p_adjusted", "value", descending=[False, True]).row(0, named=True)
        if not alone and first["p_adjusted"] < SIGNIFICANT:
            yield f"No group certainly stands apart. The surest is {first['axis']}: {first['group']}: {sure(first)}."
            return
        least = float(tested["p_value"].to_numpy().min())
        before = f"; before correction the smallest is {p_text(least)}" if least < SIGNIFICANT else ""
        yield f"After correction {over}, no group stands apart from chance{before}."

    def _unseen(self) -> Iterator[str]:
        """Say what is not shown, what weights amount to, and what does not use them."""
        least = self.settings["min_group_size"]
        for axis, n in self.settings["withheld"].items():
            if n:
                why = f"a group with fewer than {least} ratings of this item could be recognised"
                yield f"{axis}: {withheld_groups(n)}, since otherwise {why}."
        for axis, n in self.settings["outside"].items():
            if n:
                are = "1 rater of this item is" if n == 1 else f"{n:,} raters of this item are"
                yield f"{axis}: {are} in no group because the value is missing."
        if not self.settings["has_raters"]:
            yield "The table holds counts per scale point; to show groups, it would have to say who gave which rating."
        for one in weighted_statements(self.settings, (), "distance"):
            used = "unweighted" in self.table("use").columns
            rest = "Counts, and p-values over all items, count all raters equally." if used else COUNTED_ALIKE
            yield f"{one.text} {rest}"


def _group_sentence(row: dict[str, Any], sure: str) -> str:
    """Say by how much a group stands apart."""
    mean, difference = row["mean"], row["difference"]
    if row["direction"] is None:
        means = f"its mean equals that of the others, {mean:.2f}, but its scores are distributed differently"
    else:
        means = f"its mean, {mean:.2f}, is {abs(difference):.2f} {row['direction']} that of the others"
    return f"{row['axis']}: {row['group']} stands apart from the item's other raters: {means}; {_distance(row, sure)}."


def _pair_sentence(both: pl.DataFrame, sure: str) -> str:
    """Say by how much two groups that are each other's rest stand apart."""
    first, second = both.iter_rows(named=True)
    means = f"their means are {first['mean']:.2f} and {second['mean']:.2f}"
    names = f"{first['group']} and {second['group']}"
    return f"{first['axis']}: {names} stand apart from each other: {means}; {_distance(first, sure)}."


def _distance(row: dict[str, Any], sure: str) -> str:
    apart = f"the distributions are {row['value']:.0%} of the scale's length apart, {row['null_median']:.0%} by chance"
    return f"{apart} ({sure})"


# Tables of text -------------------------------------------------------------------------------------------------------

MAX_TEXT = 4000
MAX_POINTS = 25
MAX_TIED = 4
MAX_LABEL = 20
_COLUMNS = [
    "group", "ratings", "plurality", Column("mean", ".2f"), Column("difference", "+.2f"), "distance", "chance",
    *columns(P, ("p", "p groups", "p items")),
]  # fmt: skip
_VALUES = ("mean", "difference", "value", "null_median", "p_value", "p_adjusted", "p_adjusted_items")
_USE = {"point": "point", "n_ratings": "ratings", "share": Column("share", ".1%"),
        "share_of_study": Column("all items", ".1%")}  # fmt: skip


def use_of(found: ItemView) -> View:
    """Return how often each point was given, here and in the study; for a long scale, only its two ends."""
    frame = found.table("use").with_columns(pl.Series("point", list(map(one_line, found.table("use")["point"]))))
    view = view_of("Scores of all raters, compared with all items of the study", frame, _USE)
    half, rows = MAX_POINTS // 2, view.rows
    return view if len(rows) <= MAX_POINTS else view._replace(rows=[*rows[:half], ["…", "", "", ""], *rows[-half:]])


def tables(found: ItemView) -> list[View]:
    """Return everything that the terminal shows as tables."""
    known = [[one_line(name), one_line(value[:MAX_TEXT])] for name, value in found.table("attributes").iter_rows()]
    about = View(one_line(f"Item {found.settings['item']}"), ["attribute", "value"], known)
    return filled(about, use_of(found)) + group_tables(found)


def group_tables(found: ItemView) -> list[View]:
    """Return a table for each axis."""
    parts = found.table("distribution").partition_by("axis", "group", as_dict=True)
    points = found.settings["points"]
    header = [*_COLUMNS, "distribution"] if len(points) <= MAX_POINTS else _COLUMNS
    shown: list[View] = []
    if found.table("use").is_empty():
        return shown
    for axis, n_withheld in found.settings["withheld"].items():
        counted = "n_ratings" if "weights" not in found.settings else "share"
        lines = []
        for row in found.to_frame()[1:].filter(axis=axis).iter_rows(named=True):
            counts = parts[axis, row["group"]][counted].to_list()
            top = max(counts)
            tied = [_cut(point) for point, n in zip(points, counts, strict=True) if n == top]
            plurality = ", ".join(tied) if len(tied) <= MAX_TIED else f"{len(tied)} tied"
            bars = "".join("·" if n == 0 else BARS[int(-(-8 * n // top)) - 1] for n in counts)
            line = [one_line(row["group"]), row["n_ratings"], plurality, *(row[name] for name in _VALUES), bars]
            lines.append(line[: len(header)])
        withheld = f", {n_withheld:,} withheld" if n_withheld else ""
        shown.append(View(f"{one_line(axis)}{withheld}", header, lines))
    return shown


def _cut(text: str) -> str:
    line = one_line(text)
    return line if len(line) <= MAX_LABEL else f"{line[: MAX_LABEL - 1].rstrip()}…"
