"""What :func:`plurivox.select_raters` found, as tables and sentences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import polars as pl

from plurivox.actions.select.settings import OWN_GROUP as OWN_GROUP
from plurivox.base.wording import are, counted, listed, named, withheld_sentence, without_value
from plurivox.infer.families import SIGNIFICANT
from plurivox.infer.tables import TableResult
from plurivox.statistics.registry import LABELS

FEW = 5
"""How many groups or tied raters are named; the others are counted."""
LEAST_OTHERS = 3
"""With fewer others of the group per item, a sentence says that its own view is hardly known."""
ENOUGH = 0.8
"""A group is named if its chosen raters certainly keep less of its deviation."""
NOISE = "its deviation from the others cannot be distinguished from noise"
VALUES = {
    "value": pl.Float64, "ci_low": pl.Float64, "ci_high": pl.Float64, "mpa": pl.Float64, "wra": pl.Float64,
    "hm": pl.Float64, "n_ratings": pl.Int64,
}  # fmt: skip
"""The columns with what is known about a rater."""
SCHEMAS: dict[str, dict[str, Any]] = {
    "chosen": {
        "axis": pl.String, "group": pl.String, "rank": pl.Int64, "rater": pl.String, **VALUES, "tied": pl.Boolean,
        "note": pl.String,
    },
    "groups": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_eligible": pl.Int64, "n_too_few": pl.Int64,
        "n_undefined": pl.Int64, "n_asked": pl.Int64, "n_chosen": pl.Int64, "others_per_item": pl.Float64,
        "note": pl.String,
    },
    "candidates": {
        "axis": pl.String, "group": pl.String, "rank": pl.Int64, "rater": pl.String, **VALUES,
        "eligible": pl.Boolean, "chosen": pl.Boolean, "tied": pl.Boolean, "note": pl.String,
    },
    "fairness": {
        "axis": pl.String, "group": pl.String, "n_raters": pl.Int64, "n_eligible": pl.Int64, "n_chosen": pl.Int64,
        "share_raters": pl.Float64, "share_eligible": pl.Float64, "share_chosen": pl.Float64, "rate": pl.Float64,
        "rate_ratio": pl.Float64, "eligible_ratio": pl.Float64, "eligible_ratio_low": pl.Float64,
        "eligible_ratio_high": pl.Float64, "kept": pl.Float64, "kept_low": pl.Float64, "kept_high": pl.Float64,
        "n_items": pl.Int64, "mean_score": pl.Float64, "mean_chosen": pl.Float64, "hard_eligible": pl.Float64,
        "hard_chosen": pl.Float64, "note": pl.String,
    },
    "look_at": {
        "rater": pl.String, "sign": pl.String, "value": pl.Float64, "z": pl.Float64, "p_value": pl.Float64,
        "p_adjusted": pl.Float64, "n_peers": pl.Int64, "note": pl.String,
    },
    "raters": {"rater": pl.String, "shown": pl.String},
    "alarms": {
        "axis": pl.String, "group": pl.String, "sign": pl.String, "n_raters": pl.Int64, "n_listed": pl.Int64,
        "share_listed": pl.Float64, "share_by_chance": pl.Float64, "share_low": pl.Float64,
        "share_low_others": pl.Float64, "p_value": pl.Float64,
        "p_adjusted": pl.Float64,
    },
}  # fmt: skip
"""The tables and their columns."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Selection(TableResult):
    """The raters to ask from every group.

    Attributes
    ----------
    tables
        ``chosen``: one row per axis, group and chosen rater, with their ``rank`` in the group; a group with nobody
        eligible has one row without a rater and a note that says why. ``groups``: how many raters each group has, how
        many are eligible, have too few ratings, have no defined value, are asked for and chosen, and how many others of
        the group rated an item. ``candidates``: every rater of every group that may be shown, in the order of choice,
        and why they are not eligible. ``fairness``: for each group its share of raters, of eligible ones and of the
        chosen, next to the rate of all groups; ``kept``, how much of its deviation from the others the chosen keep,
        with a 95 % interval over items; the mean score of its raters and, unless few are chosen or few are not, of the
        chosen; the share of eligible raters and of chosen ones who had a harder batch. ``look_at``: raters who stand
        out from raters of the same items by a sign of carelessness. ``alarms``: how many of each group are listed,
        which share of ordinary raters would be by chance, and which share of the group and of the others has p ≤ .05,
        where chance gives 5 % of each. ``raters``: what the chosen are called when ids are not shown.
    settings
        The settings, including the seed and what is known about the reference; ``withheld``, ``revealing`` and
        ``outside`` give for each axis how many groups are not shown, how many of those only because they would reveal a
        small one, and how many raters have no value on it.
    """

    KIND: ClassVar[str] = "selection"

    def __repr__(self) -> str:
        n_raters = self.to_frame()["rater"].drop_nulls().n_unique()
        return f"<Selection: {counted(n_raters, 'rater')} of {counted(self._groups.height, 'group')} by {self._name}>"

    def shown_frame(self) -> pl.DataFrame:
        """Return the chosen raters as they are shown to people: numbered as in ``table("raters")``, unless by id."""
        chosen = self.to_frame()
        if self.settings.get("ids"):
            return chosen
        known = self.table("raters")
        return chosen.with_columns(rater=pl.col("rater").replace_strict(known["rater"], known["shown"], default=None))

    @property
    def _name(self) -> str:
        return LABELS[self.settings["metric"]]

    @property
    def _groups(self) -> pl.DataFrame:
        return self.table("groups")

    def _said(self) -> list[str]:
        """Return who is chosen and how, which groups have nobody and why, ties, and how to read the result."""
        return [
            *self._overall(),
            *self._without(),
            *self._ties(),
            *self._not_eligible(),
            *self._in_no_group(),
            *self._few_others(),
            *self._keeps(),
            *self._batches(),
            *self._to_look_at(),
            *self._alarms(),
            "Raters chosen for a high value tend to have a lower one in new ratings.",
            self._closing(),
        ]

    def _closing(self) -> str:
        if self.settings["reference"]["kind"] == OWN_GROUP:
            return "A lower value means further from others of the same group; it does not make anybody's rating wrong."
        return (
            f"A lower value means further from {self.settings['reference']['name']}, which has its own view; it does "
            "not make anybody's rating wrong."
        )

    def _overall(self) -> list[str]:
        chosen = self.to_frame().filter(pl.col("rater").is_not_null())
        n_raters, n_groups = chosen["rater"].n_unique(), self._groups.height
        n_served = self._groups.filter(pl.col("n_chosen") > 0).height
        order = "the lower end of its 95 % interval" if self.settings["order"] == "lower" else "the value itself"
        order += peers(self.settings)
        found = [
            f"{counted(n_raters, 'rater')} from {n_served:,} of {counted(n_groups, 'group')} {are(n_raters)} "
            f"chosen by {self._name} against {self.settings['reference']['name']}, in the order of {order}, "
            f"{self._how_many()}."
        ]
        repeated = chosen["rater"].value_counts().filter(pl.col("count") > 1).height
        if repeated:
            found.append(f"{counted(repeated, 'rater')} {are(repeated)} chosen in several groups.")
        return found

    def _how_many(self) -> str:
        keep = self.settings["keep"]
        if keep is None:
            return f"up to {self.settings['per_group']:,} from each group"
        return f"{keep:,} in total, from each group in proportion to its raters"

    def _without(self) -> list[str]:
        """Return the groups from which nobody, or fewer than requested, could be chosen."""
        empty = self._groups.filter(pl.col("n_chosen") == 0)
        found = [
            f"Nobody is chosen from {group} ({axis}): {note}."
            for axis, group, note in empty.head(FEW).select("axis", "group", "note").iter_rows()
        ]
        if empty.height > FEW:
            more = counted(empty.height - FEW, "more group")
            found.append(f"Nobody is chosen from {more} either; the table groups says why.")
        short = self._groups.filter((pl.col("n_chosen") > 0) & (pl.col("n_chosen") < pl.col("n_asked")))
        if short.height:
            found.append(f"Fewer than {self.settings['per_group']:,} are eligible in {_places(short)}.")
        keep, n_chosen = self.settings["keep"], int(self._groups["n_chosen"].sum())
        if keep is not None and n_chosen < keep:
            found.append(f"Only {n_chosen:,} of the {keep:,} places could be filled; no more raters are eligible.")
        return found

    def _ties(self) -> list[str]:
        """Return the groups in which not all tied raters could be chosen."""
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
            own = self.settings["reference"]["kind"] == OWN_GROUP
            what = f"{least:,} ratings of items that {'others of the group rated' if own else 'have a reference'}"
            found.append(f"{counted(n_few, 'rater')} {are(n_few)} not eligible yet, having fewer than {what}.")
        if n_undefined:
            what = ordering(self.settings)
            found.append(f"{counted(n_undefined, 'rater')} {are(n_undefined)} not eligible, having no defined {what}.")
        return found

    def _in_no_group(self) -> list[str]:
        n_withheld = sum(self.settings["withheld"].values())
        n_revealing = sum(self.settings["revealing"].values())
        said = withheld_sentence(n_withheld, n_revealing, self.settings["min_group_size"])
        return [*without_value(self.settings["outside"]), *said]

    def _few_others(self) -> list[str]:
        """Return the groups in which hardly anybody rated the same items, if raters are compared with their own."""
        if self.settings["reference"]["kind"] != OWN_GROUP:
            return []
        few = self._groups.filter(pl.col("others_per_item") < LEAST_OTHERS, pl.col("n_chosen") > 0)
        if few.is_empty():
            return []
        return [
            f"On average, fewer than {LEAST_OTHERS} others of the group rated an item in {_places(few)}: the group's "
            "own view is hardly known there, and the order depends much on chance. A reference by trained raters "
            "helps."
        ]

    def _keeps(self) -> list[str]:
        """Return how much of their groups' views the chosen keep."""
        rows = self.table("fairness").filter(pl.col("kept").is_not_nan()).sort("kept", maintain_order=True)
        found = [
            f"The chosen of {named(axis, group)} keep {share:.0%} [{low:.0%}, {high:.0%}] of its deviation from the "
            f"others on {counted(n, 'item')}."
            for axis, group, share, low, high, n in rows.select(
                "axis", "group", "kept", "kept_low", "kept_high", "n_items"
            )
            .head(FEW)
            .iter_rows()
        ]
        if rows.height > FEW:
            n = rows.height - FEW
            found.append(f"{counted(n, 'more group')} {'keeps' if n == 1 else 'keep'} more; see the table fairness.")
        low = rows.filter(pl.col("kept_high") < ENOUGH)
        if low.height:
            found.append(
                f"Less than {ENOUGH:.0%} of the group's deviation is certainly kept in {_places(low)}: the chosen "
                "raters there see things more like the others than their group does."
            )
        unknown = self.table("fairness").filter(pl.col("note") == NOISE)
        if unknown.height:
            n = unknown.height
            found.append(
                f"For {counted(n, 'group')}, the deviation from the others cannot be distinguished from noise, so how "
                "much is kept cannot be measured."
            )
        return found

    def _batches(self) -> list[str]:
        rows = self.table("fairness").drop_nulls("hard_eligible").filter(pl.col("n_chosen") > 0)
        if rows.is_empty():
            return []
        n = int(rows["n_chosen"].sum())
        eligible = float((rows["hard_eligible"] * rows["n_eligible"]).sum()) / max(int(rows["n_eligible"].sum()), 1)
        chosen = float((rows["hard_chosen"] * rows["n_chosen"]).sum()) / max(n, 1)
        return [
            f"{chosen:.0%} of the chosen had a harder batch of items, and {eligible:.0%} of the eligible; each batch "
            "has its share of the places."
        ]

    def _to_look_at(self) -> list[str]:
        """Return how many raters are worth a look, and what for."""
        listed_ones = self.table("look_at")
        looked, missing = self.settings["looked_for"], self.settings["not_looked_for"]
        found = []
        if listed_ones.height:
            counts = listed_ones.group_by("sign", maintain_order=True).len().iter_rows()
            n = listed_ones["rater"].n_unique()
            what = listed(f"{sign} ({count:,})" for sign, count in counts)
            found.append(
                f"{counted(n, 'rater')} {are(n)} worth a look for {what}, compared with raters of the same items (p ≤ "
                ".05, "
                "corrected over raters by Benjamini and Hochberg); the table look_at names them."
            )
            both = len(set(listed_ones["rater"]) & set(self.to_frame()["rater"].drop_nulls()))
            chosen = f" {both:,} of them {are(both)} among the chosen." if both else ""
            found.append(f"Nobody is dropped for that: a person should look first.{chosen}")
        elif looked:
            found.append(f"Nobody stands out from raters of the same items by {listed(looked, word='or')}.")
        if missing:
            found.append(f"Not looked for: {'; '.join(f'{sign}, since {why}' for sign, why in missing.items())}.")
        return found

    def _alarms(self) -> list[str]:
        """Return the groups in which more raters look careless than in others."""
        rows = self.table("alarms").filter(pl.col("p_adjusted") <= SIGNIFICANT)
        return [
            f"Of {named(axis, group)} {share:.0%} have p ≤ .05 for {sign}, of the other groups {rest:.0%}: check "
            "whether the sign means the same in this group before blaming anybody."
            for axis, group, sign, share, rest in rows.select("axis", "group", "sign", "share_low", "share_low_others")
            .head(FEW)
            .iter_rows()
        ]


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
