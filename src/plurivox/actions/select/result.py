"""What :func:`plurivox.select_raters` found, as tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.results.tables import TableResult
from plurivox.results.wording import are, counted, listed, withheld_sentence, without_value
from plurivox.statistics.registry import LABELS

FEW = 5
"""Groups, or raters of a tie, that are named; the others are counted."""
VALUES = {
    "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "mpa": pl.Float64, "wra": pl.Float64,
    "hm": pl.Float64, "n_ratings": pl.Int64,
}  # fmt: skip
"""The columns with what is known of a rater."""
SCHEMAS: dict[str, dict[str, Any]] = {
    "chosen": {
        "axis": pl.String, "group": pl.String, "rank": pl.Int64, "rater": pl.String, **VALUES, "tied": pl.Boolean,
        "note": pl.String,
    },
    "groups": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_eligible": pl.Int64, "n_too_few": pl.Int64,
        "n_undefined": pl.Int64, "n_chosen": pl.Int64, "note": pl.String,
    },
    "candidates": {
        "axis": pl.String, "group": pl.String, "rank": pl.Int64, "rater": pl.String, **VALUES,
        "eligible": pl.Boolean, "chosen": pl.Boolean, "tied": pl.Boolean, "note": pl.String,
    },
}  # fmt: skip
"""The tables and their columns."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selection(TableResult):
    """Whom to ask of every group.

    Attributes
    ----------
    tables
        ``chosen``: one row per axis, group and chosen rater, with their ``rank`` in the group; a group of which nobody
        is eligible has one row without a rater, and a note why. ``groups``: how many raters each group has, how many
        are eligible, have too few ratings, have no defined value, and are chosen. ``candidates``: every rater of every
        group that may be shown, in the order of choice, and why they are not eligible.
    settings
        What was asked for, the seed and what is known of the reference included; ``withheld``, ``revealing``
        and ``outside`` tell for each axis how many groups are not shown, how many of them are so only because they
        would reveal a small one, and how many raters have no value on it.
    """

    KIND: ClassVar[str] = "selection"

    def __repr__(self) -> str:
        n_raters = self.to_frame()["rater"].drop_nulls().n_unique()
        return f"<Selection: {counted(n_raters, 'rater')} of {counted(self._groups.height, 'group')} by {self._name}>"

    @property
    def _name(self) -> str:
        return LABELS[self.settings["metric"]]

    @property
    def _groups(self) -> pl.DataFrame:
        return self.table("groups")

    def _said(self) -> list[str]:
        """Return who is chosen by what, which groups have nobody and why, ties, and how to read it all."""
        return [
            *self._overall(),
            *self._without(),
            *self._ties(),
            *self._not_eligible(),
            *self._in_no_group(),
            "Whoever is chosen for a high value tends to have a lower one in new ratings.",
            f"A lower value means further from {self.settings['reference']['name']}, which has a view of its own; "
            "nobody's rating is wrong for that.",
        ]

    def _overall(self) -> list[str]:
        chosen = self.to_frame().filter(pl.col("rater").is_not_null())
        n_raters, n_groups = chosen["rater"].n_unique(), self._groups.height
        n_served = self._groups.filter(pl.col("n_chosen") > 0).height
        order = "the lower end of its 95 % interval" if self.settings["order"] == "lower" else "the value itself"
        order += peers(self.settings)
        found = [
            f"{counted(n_raters, 'rater')} from {n_served:,} of {counted(n_groups, 'group')} {are(n_raters)} "
            f"chosen by {self._name} against {self.settings['reference']['name']}, in the order of {order}, up to "
            f"{self.settings['per_group']:,} of each group."
        ]
        repeated = chosen["rater"].value_counts().filter(pl.col("count") > 1).height
        if repeated:
            found.append(f"{counted(repeated, 'rater')} {are(repeated)} chosen in several groups.")
        return found

    def _without(self) -> list[str]:
        """Return the groups of which nobody, or fewer than asked for, could be chosen."""
        empty = self._groups.filter(pl.col("n_chosen") == 0)
        found = [
            f"Nobody of {group} ({axis}) is chosen: {note}."
            for axis, group, note in empty.head(FEW).select("axis", "group", "note").iter_rows()
        ]
        if empty.height > FEW:
            more = counted(empty.height - FEW, "more group")
            found.append(f"Nobody is chosen of {more} either; the table groups says why.")
        asked = self.settings["per_group"]
        short = self._groups.filter((pl.col("n_chosen") > 0) & (pl.col("n_chosen") < asked))
        if short.height:
            found.append(f"Fewer than {asked:,} are eligible of {_places(short)}.")
        return found

    def _ties(self) -> list[str]:
        """Return the groups in which not all who are tied could be chosen."""
        left_out = self.table("candidates").filter("tied", ~pl.col("chosen"))
        if left_out.is_empty():
            return []
        return [
            f"The last place is a tie in {_places(left_out)}: more ratings come first, then an order drawn by the "
            "seed; the table candidates marks all who are tied."
        ]

    def _not_eligible(self) -> list[str]:
        least, found = self.settings["min_ratings"], []
        others = self.table("candidates").filter(~pl.col("eligible"))
        n_few = others.filter(pl.col("n_ratings") < least)["rater"].n_unique()
        n_undefined = others.filter(pl.col("n_ratings") >= least)["rater"].n_unique()
        if n_few:
            what = f"{least:,} ratings of items that have a reference"
            found.append(f"{counted(n_few, 'rater')} {are(n_few)} not eligible yet, with fewer than {what}.")
        if n_undefined:
            what = ordering(self.settings)
            found.append(f"{counted(n_undefined, 'rater')} {are(n_undefined)} not eligible, without a defined {what}.")
        return found

    def _in_no_group(self) -> list[str]:
        n_withheld = sum(self.settings["withheld"].values())
        n_revealing = sum(self.settings["revealing"].values())
        said = withheld_sentence(n_withheld, n_revealing, self.settings["min_group_size"])
        return [*without_value(self.settings["outside"]), *said]


def ordering(settings: Mapping[str, Any]) -> str:
    """Name what raters are ordered by."""
    name = LABELS[settings["metric"]]
    return f"{f'lower end of {name}' if settings['order'] == 'lower' else name}{peers(settings)}"


def peers(settings: Mapping[str, Any]) -> str:
    """Name whom raters are compared with, if not with all."""
    among = settings.get("compared", {})
    if among.get("kind") == "within":
        return f" within {', '.join(among['within'])}"
    return " among those who saw the same items" if among.get("kind") == "blocks" and among["blocks"] > 1 else ""


def _places(frame: pl.DataFrame) -> str:
    """Name groups with their axes."""
    pairs = frame.select("axis", "group").unique(maintain_order=True)
    return listed((f"{group} ({axis})" for axis, group in pairs.iter_rows()), FEW)
