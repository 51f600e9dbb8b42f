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
from plurivox.infer.view import RANGE, SIZES, Column, Value, View, columns, written
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
_GROUP = {"axis": pl.String, "group": pl.String}
SCHEMAS: dict[str, dict[str, Any]] = {
    "chosen": {**_GROUP, "rank": pl.Int64, "rater": pl.String, **VALUES, "tied": pl.Boolean, "note": pl.String},
    "groups": _GROUP
    | dict.fromkeys(("n_raters", "n_eligible", "n_too_few", "n_undefined", "n_asked", "n_chosen"), pl.Int64)
    | {"others_per_item": pl.Float64, "note": pl.String},
    "candidates": {**_GROUP, "rank": pl.Int64, "rater": pl.String, **VALUES}
    | dict.fromkeys(("eligible", "chosen", "tied"), pl.Boolean) | {"note": pl.String},
    "fairness": _GROUP | dict.fromkeys(("n_raters", "n_eligible", "n_chosen"), pl.Int64)
    | dict.fromkeys(
        ("share_raters", "share_eligible", "share_chosen", "rate", "rate_ratio", "eligible_ratio", "eligible_ratio_low",
         "eligible_ratio_high", "kept", "kept_low", "kept_high"), pl.Float64,
    )
    | {"n_items": pl.Int64} | dict.fromkeys(("mean_score", "mean_chosen", "hard_eligible", "hard_chosen"), pl.Float64)
    | {"note": pl.String},
    "look_at": {"rater": pl.String, "sign": pl.String}
    | dict.fromkeys(("value", "z", "p_value", "p_adjusted"), pl.Float64) | {"n_peers": pl.Int64, "note": pl.String},
    "raters": {"rater": pl.String, "shown": pl.String},
    "alarms": {**_GROUP, "sign": pl.String, "n_raters": pl.Int64, "n_listed": pl.Int64}
    | dict.fromkeys(
        ("share_listed", "share_by_chance", "share_low", "share_low_others", "p_value", "p_adjusted"), pl.Float64
    ),
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
        kind, name = (self.settings["reference"][key] for key in ("kind", "name"))
        closing = f"A lower value means further from {name}, which has its own view; it does not make anybody's rating "
        if kind == OWN_GROUP:
            closing = "A lower value means further from others of the same group; it does not make anybody's rating "
        return [
            *self._chosen(), *self._without(), *self._not_eligible(), *self._keeps(), *self._to_look_at(),
            "Raters chosen for a high value tend to have a lower one in new ratings.", f"{closing}wrong.",
        ]  # fmt: skip

    def _chosen(self) -> list[str]:
        settings, groups = self.settings, self._groups
        chosen = self.to_frame().filter(pl.col("rater").is_not_null())
        n_raters, n_served = chosen["rater"].n_unique(), groups.filter(pl.col("n_chosen") > 0).height
        order = "the lower end of its 95 % interval" if settings["order"] == "lower" else "the value itself"
        how_many = f"up to {settings['per_group']:,} from each group"
        if settings["keep"] is not None:
            how_many = f"{settings['keep']:,} in total, from each group in proportion to its raters"
        found = [
            f"{counted(n_raters, 'rater')} from {n_served:,} of {counted(groups.height, 'group')} {are(n_raters)} "
            f"chosen by {self._name} against {settings['reference']['name']}, in the order of {order}"
            f"{peers(settings)}, {how_many}."
        ]
        repeated = chosen["rater"].value_counts().filter(pl.col("count") > 1).height
        if repeated:
            found.append(f"{counted(repeated, 'rater')} {are(repeated)} chosen in several groups.")
        return found

    def _without(self) -> list[str]:
        """Return the groups from which nobody, fewer than requested, or not all who are tied could be chosen."""
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
        left_out = self.table("candidates").filter("tied", ~pl.col("chosen"))
        if left_out.height:
            found.append(
                f"The last place is a tie in {_places(left_out)}: more ratings come first, then an order drawn by the "
                "seed; the table candidates marks all who are tied."
            )
        return found

    def _not_eligible(self) -> list[str]:
        """Return who is not eligible, in no group, or compared with hardly anybody."""
        least, found = self.settings["min_ratings"], []
        own = self.settings["reference"]["kind"] == OWN_GROUP
        others = self.table("candidates").filter(~pl.col("eligible"))
        n_few = others.filter(pl.col("n_ratings") < least)["rater"].n_unique()
        n_undefined = others.filter(pl.col("n_ratings") >= least)["rater"].n_unique()
        if n_few:
            what = f"{least:,} ratings of items that {'others of the group rated' if own else 'have a reference'}"
            found.append(f"{counted(n_few, 'rater')} {are(n_few)} not eligible yet, having fewer than {what}.")
        if n_undefined:
            what = ordering(self.settings)
            found.append(f"{counted(n_undefined, 'rater')} {are(n_undefined)} not eligible, having no defined {what}.")
        n_withheld, n_revealing = (sum(self.settings[name].values()) for name in ("withheld", "revealing"))
        found += without_value(self.settings["outside"])
        found += withheld_sentence(n_withheld, n_revealing, self.settings["min_group_size"])
        few = self._groups.filter(pl.col("others_per_item") < LEAST_OTHERS, pl.col("n_chosen") > 0)
        if own and few.height:
            found.append(
                f"On average, fewer than {LEAST_OTHERS} others of the group rated an item in {_places(few)}: the "
                "group's own view is hardly known there, and the order depends much on chance. A reference by trained "
                "raters helps."
            )
        return found

    def _keeps(self) -> list[str]:
        """Return how much of their groups' views the chosen keep, and whether they had harder batches."""
        rows = self.table("fairness").filter(pl.col("kept").is_not_nan()).sort("kept", maintain_order=True)
        first = rows.select("axis", "group", "kept", "kept_low", "kept_high", "n_items").head(FEW)
        found = [
            f"The chosen of {named(axis, group)} keep {share:.0%} [{low:.0%}, {high:.0%}] of its deviation from the "
            f"others on {counted(n, 'item')}."
            for axis, group, share, low, high, n in first.iter_rows()
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
        rows = self.table("fairness").drop_nulls("hard_eligible").filter(pl.col("n_chosen") > 0)
        if rows.height:
            eligible, chosen = (
                float((rows[f"hard_{name}"] * rows[f"n_{name}"]).sum()) / max(int(rows[f"n_{name}"].sum()), 1)
                for name in ("eligible", "chosen")
            )
            found.append(
                f"{chosen:.0%} of the chosen had a harder batch of items, and {eligible:.0%} of the eligible; each "
                "batch has its share of the places."
            )
        return found

    def _to_look_at(self) -> list[str]:
        """Return how many raters are worth a look, what for, and the groups in which more are than in others."""
        listed_ones = self.table("look_at")
        looked, missing = self.settings["looked_for"], self.settings["not_looked_for"]
        found = []
        if listed_ones.height:
            counts = listed_ones.group_by("sign", maintain_order=True).len().iter_rows()
            n = listed_ones["rater"].n_unique()
            what = listed(f"{sign} ({count:,})" for sign, count in counts)
            found.append(
                f"{counted(n, 'rater')} {are(n)} worth a look for {what}, compared with raters of the same items (p ≤ "
                ".05, corrected over raters by Benjamini and Hochberg); the table look_at names them."
            )
            both = len(set(listed_ones["rater"]) & set(self.to_frame()["rater"].drop_nulls()))
            chosen = f" {both:,} of them {are(both)} among the chosen." if both else ""
            found.append(f"Nobody is dropped for that: a person should look first.{chosen}")
        elif looked:
            found.append(f"Nobody stands out from raters of the same items by {listed(looked, word='or')}.")
        if missing:
            found.append(f"Not looked for: {'; '.join(f'{sign}, since {why}' for sign, why in missing.items())}.")
        rows = self.table("alarms").filter(pl.col("p_adjusted") <= SIGNIFICANT).head(FEW)
        found += [
            f"Of {named(axis, group)} {share:.0%} have p ≤ .05 for {sign}, of the other groups {rest:.0%}: check "
            "whether the sign means the same in this group before blaming anybody."
            for axis, group, sign, share, rest in rows.select(
                "axis", "group", "sign", "share_low", "share_low_others"
            ).iter_rows()
        ]
        return found


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


# Tables ---------------------------------------------------------------------------------------------------------------


def tables(found: Selection) -> list[View]:
    """Return the chosen raters of each axis, how groups fare, and raters to look at."""
    return [*_chosen(found), *_fairness(found), *_look_at(found)]


def _chosen(found: Selection) -> list[View]:
    metric = found.settings["metric"]
    others = [name for name in ("mpa", "wra", "hm") if name != metric]
    values = (Column(f"{LABELS[metric]} [95 %]", SIZES[0]), *(LABELS[name] for name in others))
    header = ["group", "rank", "rater", *values, "ratings", "tied"]
    lines: dict[str, list[list[Any]]] = {}
    for row in found.shown_frame().iter_rows(named=True):
        told = [Value(row["value"], row["ci_low"], row["ci_high"]), *(row[name] for name in others)]
        rank = None if row["rank"] is None else str(row["rank"])
        tied = "yes" if row["tied"] else ""
        line = [row["group"], rank, row["rater"] or "nobody", *told, row["n_ratings"], tied]
        lines.setdefault(row["axis"], []).append(line)
    named = "" if found.settings.get("ids") else " (numbered; --ids names them)"
    title = "The most responsive raters by {}" + named
    return [View(title.format(axis), header, rows) for axis, rows in lines.items()]


def _fairness(found: Selection) -> list[View]:
    """Return how the groups of each axis fare."""
    frame = found.table("fairness")
    batches = frame["hard_eligible"].null_count() < frame.height
    lines: dict[str, list[list[Any]]] = {}
    for row in frame.iter_rows(named=True):
        shares = [_counted(row, name) for name in ("raters", "eligible", "chosen")]
        kept = Value(row["kept"], row["kept_low"], row["kept_high"])
        line = [row["group"], *shares, row["rate"], row["rate_ratio"], kept, row["mean_score"], row["mean_chosen"]]
        if batches:
            line.append(f"{_share(row['hard_chosen'])} (eligible {_share(row['hard_eligible'])})")
        lines.setdefault(row["axis"], []).append(line)
    header = [
        "group", "raters", "eligible", "chosen", Column("rate", ".0%"), Column("× overall", ".2f"),
        Column("view kept [95 %]", RANGE), *columns(".2f", ("mean score", "of chosen")),
    ]  # fmt: skip
    header += ["of chosen in a harder batch"] if batches else []
    return [View(f"Fairness by {axis}", header, rows) for axis, rows in lines.items()]


def _look_at(found: Selection) -> list[View]:
    """Return how many raters of each group are listed, compared with chance; their names are in the CSV."""
    signs = found.table("look_at")["sign"].unique()
    lines: dict[str, list[list[Any]]] = {}
    for row in found.table("alarms").filter(pl.col("sign").is_in(signs.implode())).iter_rows(named=True):
        line = [row["group"], row["sign"], row["n_raters"], _counted(row, "listed")]
        lines.setdefault(row["axis"], []).append([*line, row["share_by_chance"], row["share_low"]])
    header = ["group", "sign", "raters", "listed", Column("by chance", ".2%"), Column("p ≤ .05", ".0%")]
    return [View(f"Raters to look at by {axis}", header, rows) for axis, rows in lines.items()]


def _counted(row: dict[str, Any], what: str) -> str:
    return f"{row[f'n_{what}']:,} ({_share(row[f'share_{what}'])})"


def _share(value: float | None) -> str:
    return written(value, ".0%")
