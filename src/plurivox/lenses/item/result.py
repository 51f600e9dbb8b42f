"""What :func:`plurivox.item_view` found, as tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.base.wording import counted, listed, withheld_groups
from plurivox.infer.families import SIGNIFICANT, undecided
from plurivox.infer.result import Row, p_text
from plurivox.infer.tables import TableResult
from plurivox.infer.weighting import COUNTED_ALIKE, weighted_statements

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
        return [*self._scores(), *self._apart(), *self._unseen(), *self._weighted()]

    def _weighted(self) -> Iterator[str]:
        """Say what weights amount to, and what does not use them."""
        for one in weighted_statements(self.settings, (), "distance"):
            used = "unweighted" in self.table("use").columns
            rest = "Counts, and p-values over all items, count all raters equally." if used else COUNTED_ALIKE
            yield f"{one.text} {rest}"

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
        rows = self.to_frame()[1:]
        tested = rows.filter(pl.col("p_value").is_not_null())
        if not self.settings["withheld"] or self.table("use").is_empty():
            return
        if tested.is_empty():
            if rows.is_empty():
                yield "No group gave enough ratings of this item to be shown."
            elif not self.settings["permutations"]:
                yield "Without permutations, groups are not compared with chance."
            return
        over = f"over {counted(tested.height, 'group')}"
        apart = tested.filter(self._certain(tested)).sort("p_adjusted", "value", descending=[False, True])
        told: set[str] = set()
        for row in apart.iter_rows(named=True):
            both = rows.filter(pl.col("axis") == row["axis"])
            if self._mirrored(row["axis"], both.height):
                if row["axis"] not in told:
                    yield _pair_sentence(both, self._sure(row, over))
                told.add(row["axis"])
            else:
                yield _group_sentence(row, self._sure(row, over))
        if apart.is_empty():
            yield self._nothing(tested, over)

    @property
    def _alone(self) -> bool:
        """Whether the item is tested on its own: it was not chosen among others for its differences."""
        return bool(self.settings["fixed"] or self.settings["n_items"] == 1)

    def _certain(self, tested: pl.DataFrame) -> pl.Series:
        """Return which groups may be said to stand apart: on their own, or among all items; undecided ones may not."""
        if self._alone:
            return tested["p_adjusted"] < SIGNIFICANT
        p = tested["p_adjusted_items"].fill_null(1.0)
        return (p < SIGNIFICANT) & ~pl.Series(undecided(p.to_numpy(), self.settings["permutations"]))

    def _sure(self, row: dict[str, Any], over: str) -> str:
        """Say how sure a difference is, on its own and among all items."""
        own = f"{p_text(row['p_adjusted'])} after correction {over}"
        if self._alone:
            return own
        return f"on its own {own}; {self._among(row['p_adjusted_items'])}"

    def _among(self, p: float | None) -> str:
        every = f"among all {self.settings['n_items']:,} items"
        return f"{every} not compared" if p is None else f"{every} {p_text(p)}"

    def _nothing(self, tested: pl.DataFrame, over: str) -> str:
        """Say that no group stands apart, and what p would be for the item on its own."""
        first = tested.sort("p_adjusted", "value", descending=[False, True]).row(0, named=True)
        if not self._alone and first["p_adjusted"] < SIGNIFICANT:
            who, sure = f"{first['axis']}: {first['group']}", self._sure(first, over)
            return f"No group certainly stands apart. The surest is {who}: {sure}."
        least = float(tested["p_value"].to_numpy().min())
        before = f"; before correction the smallest is {p_text(least)}" if least < SIGNIFICANT else ""
        return f"After correction {over}, no group stands apart from chance{before}."

    def _mirrored(self, axis: str, n_shown: int) -> bool:
        """Return whether an axis has two groups, of which each is the other's rest."""
        return n_shown == 2 and not self.settings["withheld"][axis] and axis not in self.settings["several"]

    def _unseen(self) -> Iterator[str]:
        """Say what is not shown."""
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
