"""What :func:`plurivox.advise` found, as tables and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.actions.advise.habits import Habit
from plurivox.base.errors import SelectionError
from plurivox.base.wording import are, counted, listed, withheld_sentence, without_value
from plurivox.domain.scale_names import Poles
from plurivox.infer.result import Row, p_text
from plurivox.infer.tables import TableResult
from plurivox.infer.view import RANGE, Column, View, filled, view_of, written

_KEYS = {"axis": pl.String, "group": pl.String}
_SIZES = {"n_raters": pl.Int64, "n_items": pl.Int64}
SCHEMAS: dict[str, dict[str, Any]] = {
    "advice": _KEYS | {"habit": pl.String, "scores": pl.String}
    | dict.fromkeys(("value", "usual", "p_adjusted"), pl.Float64)
    | dict.fromkeys(("sure", "seen", "meaning", "next"), pl.String) | _SIZES,
    "members": _KEYS
    | dict.fromkeys(("mpa", "mpa_low", "mpa_high", "wra", "wra_low", "wra_high", "same_score"), pl.Float64)
    | {"habits": pl.String} | _SIZES | {"note": pl.String},
    "precision": _KEYS | {"score": pl.String}
    | dict.fromkeys(("precision", "ci_low", "ci_high", "n_items"), pl.Float64),
    "pairs": _KEYS | {"score": pl.String, "unsafe_item": pl.String, "unsafe_share": pl.Float64}
    | {"safe_item": pl.String, "safe_share": pl.Float64},
    "items": _KEYS | dict.fromkeys(("list", "score", "item"), pl.String) | {"unsafe_share": pl.Float64},
}  # fmt: skip
"""The tables and their columns."""
NAMES = {
    "both_low": "low MPA and WRA",
    "low_mpa": "low MPA",
    "low_wra": "low WRA",
    "against": "scores run against the reference",
    "unused": "scores hardly used",
    "extreme": "ends preferred",
    "central": "ends avoided",
    "piled": "one score for most items",
    "reversed": "precision falls over the whole scale",
    "falling": "precision falls",
    "still": "precision is flat",
}
"""The names of habits."""
MEANING = {
    "both_low": "The scale or the reference is understood differently, the reference is noisy, or items are truly "
    "seen differently.",
    "low_mpa": "Scores make broad distinctions, but finer steps do not follow this reference.",
    "low_wra": "Items that the reference calls {high} and items that it calls {low} often share a score.",
    "against": "The scale may be read the other way round, or items are seen the other way round.",
    "unused": "Parts of the scale may seem not to apply, or the instructions do not say when to use them.",
    "extreme": "The scale may be used as yes and no, with little between.",
    "central": "The ends may be reserved for rare cases, out of caution or by instruction.",
    "piled": "Most items may look alike under these instructions, or this score is a way to avoid deciding.",
    "reversed": "The scale may be read the other way round, or items are seen the other way round.",
    "falling": "Over these scores a higher one does not mean {more} by this reference: a habit, or a different view.",
    "still": "Over these scores a higher one does not mean {more} by this reference: they may be chosen at random, or "
    "by something the reference does not consider.",
}  # fmt: skip
NEXT = {
    "both_low": "Go through the items listed, on which the reference is most certain, and check the reference itself; "
    "revise the instructions of both sides if necessary.",
    "low_mpa": "Look at the use of the scale and at the range where precision is flat; compare the items listed, "
    "which are {high} by the reference but have different scores.",
    "low_wra": "Look at the pairs of items listed, one {high} and one {low} with the same score: are they hard to tell "
    "apart?",
    "against": "Ask how the highest and the lowest score are understood, and go through the items listed, on which "
    "the reference is most certain.",
    "unused": "Show what these scores are for, with examples, and encourage the use of the whole scale.",
    "extreme": "Show examples of items in between, and ask what would make them so.",
    "central": "Show examples of items at both ends.",
    "piled": "Look at different items with this score; show examples of the other scores.",
    "reversed": "Ask how the highest and the lowest score are understood, with an item of each.",
    "falling": "Look at the items of this range side by side, and ask what makes those with higher scores {more}.",
    "still": "Look at the items of this range side by side, and ask what makes those with higher scores {more}.",
}
"""What habits may mean and what to look at next, with the names of the scale's ends in braces."""
REMINDER = (
    "Lower values mean distance from this reference, which has its own view; they are a reason to look and ask, never "
    "to leave raters or groups out."
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Advice(TableResult):
    """What the scores of raters or groups show, and what to look at next.

    Tables: ``advice`` (one row for each remark), ``members`` (MPA, WRA and the share of unsafe–safe pairs with the same
    score of each rater or group), ``precision`` (at each score, with intervals), ``pairs`` (items to compare) and
    ``items`` (those behind the remarks: in a *range* over which precision is flat or falls, those that the reference
    calls *high* at every score, and *golden* ones, on which it is most certain).
    """

    KIND: ClassVar[str] = "advice"

    def __repr__(self) -> str:
        members = self.table("members").height
        return f"<Advice: {self.to_frame().height} remarks on {members} raters or groups>"

    @property
    def axes(self) -> list[str]:
        """The names of the axes, in the requested order."""
        return list(self.settings["outside"])

    def of(self, group: str, axis: str | None = None) -> pl.DataFrame:
        """Return the remarks on one rater or group."""
        frame = self.to_frame().filter(pl.col("group") == group)
        return frame if axis is None else frame.filter(pl.col("axis") == axis)

    def _said(self) -> list[str]:
        """Return the remarks: on groups one by one, on raters as counts."""
        sentences = []
        for axis in self.axes:
            own = self.to_frame().filter(pl.col("axis") == axis)
            n_members = self.table("members").filter(pl.col("axis") == axis).height
            if not n_members:
                continue
            if own.is_empty():
                sentences.append(self.nothing(axis))
            elif axis == "rater":
                counts = own.group_by("habit").agg(pl.col("group").n_unique().alias("n"))
                sorted_ = counts.sort("n", "habit", descending=[True, False])
                parts = ", ".join(f"{NAMES[habit]} {n}" for habit, n in sorted_.iter_rows())
                n_seen = own["group"].n_unique()
                sentences.append(f"Of {n_members} raters, something stands out for {n_seen}: {parts}.")
            else:
                sentences += [f"{group}: {text}" for group, text in own.select("group", "seen").iter_rows()]
        return sentences + self.closing()

    def nothing(self, axis: str) -> str:
        """Say that nothing stands out on an axis, or that nothing could."""
        members = self.table("members").filter(pl.col("axis") == axis)
        if members.is_empty():
            raise SelectionError(f"no advice was requested for {axis!r}")
        who = counted(members.height, "rater") if axis == "rater" else f"{counted(members.height, 'group')} of {axis}"
        n_looked = members.filter(pl.col("note") == "").height
        if not n_looked:
            return f"Nothing could be examined for {who}: {members['note'][0]}."
        return f"Nothing stands out in how {who} {'uses' if members.height == 1 else 'use'} the scale."

    def closing(self) -> list[str]:
        """Return what holds for all: which groups are withheld, and how to read the values."""
        n_withheld = sum(self.settings["withheld"].values())
        n_revealing = sum(self.settings["revealing"].values())
        said = withheld_sentence(n_withheld, n_revealing, self.settings["min_group_size"])
        return [*said, *without_value(self.settings["outside"]), REMINDER]


def seen(one: Habit, labels: Sequence[str], mpa: Row, wra: Row, poles: Poles) -> str:
    """Describe a remark with its numbers, what is usual, and how unlikely it is by chance."""
    scores = [labels[c] for c in one.scores]
    whose = "other raters of the same items have" if mpa.kind == "rater" else "random groups of its size have"
    end = f"; {p_text(one.p)} after correction."
    if one.name in ("both_low", "low_mpa", "low_wra"):
        rows = {"both_low": (mpa, wra), "low_mpa": (mpa,), "low_wra": (wra,)}[one.name]
        values = " and ".join(f"{row.statistic.upper()} {written(row, RANGE)}"
                              for row in rows)  # fmt: skip
        return f"{values}, below what {whose}{'' if len(rows) == 2 else f' (about {one.usual:.2f})'}{end}"
    if one.name == "against":
        return f"AUROC {one.value:.2f}: higher scores go with what the reference calls {poles.low}{end}"
    if one.name == "unused":
        return (
            f"{listed(scores)} {are(len(scores))} hardly used: {one.value:.1%} of the ratings, where {whose} "
            f"{one.usual:.1%}{end}"
        )
    if one.name in ("piled", "extreme", "central"):
        which = {"piled": scores[0], "extreme": f"{scores[0]} or {scores[-1]}", "central": "between the ends"}
        return f"{one.value:.0%} of the ratings are {which[one.name]}, where {whose} {one.usual:.0%}{end}"
    change = f"the share of {poles.high} changes by {one.value:+.2f}"
    return f"From {scores[0]} to {scores[-1]} {change}, where {whose} {one.usual:+.2f}{end}"


# Tables ---------------------------------------------------------------------------------------------------------------


REMARK = {"group": "group ", "seen": "seen", "meaning": "may mean", "next": "look at next", "sure": "sure"}
LOW = ["low_wra", "both_low"]
"""Habits of groups whose pairs of items are worth comparing."""
LISTS = {
    "range": "items of a range over which precision is flat or falls",
    "high": "items that the reference calls {high}, at every score",
    "golden": "items on which the reference is most certain, those scored farthest from it first",
}
"""The titles of the lists of items."""


def tables(found: Advice) -> list[View]:
    """Return all tables of a result; raters are counted, not named."""
    shown = []
    for axis in found.axes:
        own, members = found.to_frame().filter(axis=axis), found.table("members").filter(axis=axis)
        if axis == "rater":
            shown += filled(counted_raters(own, members.height))
        else:
            remarks = view_of(f"{axis}: what was seen", own, REMARK)
            shown += [members_of(axis, members), *filled(remarks, pairs_of(axis, found), *lists_of(axis, found))]
    return shown


def counted_raters(own: pl.DataFrame, n_raters: int) -> View:
    """Return how many raters show each habit."""
    counts = (
        own.unique(["group", "habit"], maintain_order=True)
        .group_by("habit", maintain_order=True)
        .agg(pl.len(), (pl.col("sure") == "clear").sum(), pl.col("meaning").first(), pl.col("next").first())
        .sort("len", descending=True, maintain_order=True)
        .with_columns(pl.col("habit").replace(NAMES))
    )
    names = {"habit": "what was seen", "len": "raters", "sure": "clear", "meaning": "may mean", "next": "look at next"}
    return view_of(f"{n_raters:,} individual raters (--csv names them)", counts, names)


def members_of(axis: str, members: pl.DataFrame) -> View:
    """Return the values of each group."""
    seen = [", ".join(dict.fromkeys(NAMES[one] for one in habits.split(", ") if one)) for habits in members["habits"]]
    names = {
        "group": "group", "n_raters": "raters", "n_items": "items", "mpa": Column("MPA [95 %]", RANGE),
        "wra": Column("WRA [95 %]", RANGE), "same_score": Column("same score", ".0%"), "habits": "what was seen",
    }  # fmt: skip
    return view_of(axis, members.with_columns(pl.Series("habits", [one or None for one in seen], pl.String)), names)


def pairs_of(axis: str, found: Advice, most: int = 3) -> View:
    """Return pairs of items of groups whose WRA is low."""
    low = found.to_frame().filter(pl.col("habit").is_in(LOW), axis=axis)
    pairs = found.table("pairs").filter(pl.col("group").is_in(low["group"].implode()), axis=axis)
    first = pairs.group_by("group", maintain_order=True).head(most)
    lines = [
        [group, score, _with_share(unsafe, high), _with_share(safe, low)]
        for _, group, score, unsafe, high, safe, low in first.iter_rows()
    ]
    poles = Poles.of(found.settings)
    header = ["group ", "score", poles.fill("{high} item (share of {high})"), poles.fill("{low} item")]
    return View(f"{axis}: items to compare, {poles.high} and {poles.low} with the same score", header, lines)


def lists_of(axis: str, found: Advice, most: int = 3) -> list[View]:
    """Return the items behind the remarks on groups, a table for each list."""
    poles, items = Poles.of(found.settings), found.table("items").filter(axis=axis)
    header = ["group ", "score", poles.fill("item (share of {high})")]
    shown = []
    for name, title in LISTS.items():
        first = items.filter(list=name).group_by("group", "score", maintain_order=True).head(most)
        each = first.select("group", "score", "item", "unsafe_share").iter_rows()
        lines = [[group, score, _with_share(item, share)] for group, score, item, share in each]
        shown.append(View(f"{axis}: {poles.fill(title)}", header, lines))
    return filled(*shown)


def _with_share(item: str, share: float | None) -> str:
    return item if share is None else f"{item} ({share:.0%})"
